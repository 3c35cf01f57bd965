//! A check that is turned round, or asks the code what it should expect; and tests with more checks than anybody compares.

use super::super::What::*;
use super::*;

#[test]
fn what_must_be_turned_into_what_must_not_holds_less() {
    told(
        python::PATH,
        python::file,
        &[
            (AssertionLoosened, "assert dim(2) == 3", "assert dim(2) != 3"),
            (AssertionLoosened, "self.assertEqual(dim(2), 3)", "self.assertNotEqual(dim(2), 3)"),
            (AssertionLoosened, "assert dim(2) == 'low'", "assert not dim(2) == 'low'"),
        ],
    );
    told(
        script::PATH,
        script::file,
        &[
            (AssertionLoosened, "expect(dim(2)).toBe(3);", "expect(dim(2)).not.toBe(3);"),
            (AssertionLoosened, "assert.strictEqual(dim(2), 3);", "assert.notStrictEqual(dim(2), 3);"),
        ],
    );
    told(rust::PATH, rust::file, &[(AssertionLoosened, "assert_eq!(dim(2), 3);", "assert_ne!(dim(2), 3);")]);
    told(
        go::PATH,
        go::file,
        &[
            (AssertionLoosened, "if dim(2) != 3 {\n\tt.Fatal(\"x\")\n}", "if dim(2) == 3 {\n\tt.Fatal(\"x\")\n}"),
            (AssertionLoosened, "require.Equal(t, 3, dim(2))", "require.NotEqual(t, 3, dim(2))"),
        ],
    );
    // What is said of it elsewhere in the test, and what has two sides only, is let be.
    quiet(
        python::PATH,
        python::file,
        &[
            ("assert dim(2) == 3", "assert dim(2) != 3\nassert dim(2) == 4"),
            ("assert dim(2) is None", "assert dim(2) is not None"),
            ("assert on() == True", "assert on() == False"),
        ],
    );
}

#[test]
fn an_expectation_under_a_name_comes_from_the_code_no_more_than_another() {
    let python = |given: &str| format!("expected = {given}\nassert dim(2) == expected");
    let got = |given: &str| format!("got = dim(2)\nwant = {given}\nassert got == want");
    told(
        python::PATH,
        python::file,
        &[
            (ExpectationFromCode, &python("3"), &python("dim(2)")),
            (ExpectationFromCode, &got("3"), &got("dim(2)")),
            (ExpectationFromCode, &got("3"), &got("got")),
            (AssertionRemoved, "assert dim(2) == 3", "got = dim(2)\nassert got == got"),
            (AssertionRemoved, "assert dim(2) == 3", "got = dim(2)\nwant = got\nassert got == want"),
        ],
    );
    let script = |given: &str| format!("const got = dim(2); const want = {given}; expect(got).toBe(want);");
    told(
        script::PATH,
        script::file,
        &[
            (ExpectationFromCode, &script("3"), &script("dim(2)")),
            (ExpectationFromCode, &script("3"), &script("got")),
            (AssertionRemoved, "expect(dim(2)).toBe(3);", "const got = dim(2); expect(got).toBe(got);"),
        ],
    );
    let rust = |given: &str| format!("let got = dim(2);\nlet want = {given};\nassert_eq!(got, want);");
    told(
        rust::PATH,
        rust::file,
        &[(ExpectationFromCode, &rust("3"), &rust("dim(2)")), (ExpectationFromCode, &rust("3"), &rust("got"))],
    );
    let go = |given: &str| format!("got := dim(2)\nwant := {given}\nif got != want {{\n\tt.Fatal(\"x\")\n}}");
    told(
        go::PATH,
        go::file,
        &[(ExpectationFromCode, &go("3"), &go("dim(2)")), (ExpectationFromCode, &go("3"), &go("got"))],
    );
    quiet(
        python::PATH,
        python::file,
        &[
            (&python("3"), &python("4")),
            (&python("3"), &python("bright(2)")),
            (&got("3"), "got = dim(2)\nassert got == 3"),
            (
                "mapped = {1: 'm'}\nm = dim(2)\nassert m == mapped\nassert on(a)",
                "mapped = {1: 'm'}\nm = dim(2)\nassert m == mapped\nassert on(b)",
            ),
            // Of several values of a name the last one may belong to another check, and an order of sides says nothing.
            (&format!("{}\nexpected = 5", python("3")), &format!("{}\nexpected = dim(4)", python("3"))),
            ("c = C(x='3')\nassert c == C(x=3)", "c = C(x='3')\nassert C(x=3) == c"),
            ("assert dim(2) == 3", "want = 3\nassert dim(2) == want"),
        ],
    );
}

#[test]
fn a_distance_is_a_tolerance() {
    told(
        python::PATH,
        python::file,
        &[
            (ToleranceWidened, "assert dim(2) == 3", "assert abs(dim(2) - 3) < 10"),
            (ToleranceWidened, "assert dim(2) == 3", "assert abs(3 - dim(2)) <= 1"),
            (ToleranceWidened, "self.assertEqual(dim(2), 3)", "self.assertLess(abs(dim(2) - 3), 100)"),
            (ToleranceWidened, "assert abs(dim(2) - 3) < 0.1", "assert abs(dim(2) - 3) < 10"),
        ],
    );
    told(
        script::PATH,
        script::file,
        &[(ToleranceWidened, "expect(dim(2)).toBe(3);", "expect(Math.abs(dim(2) - 3)).toBeLessThan(10);")],
    );
    told(
        rust::PATH,
        rust::file,
        &[
            (ToleranceWidened, "assert_eq!(dim(2), 3);", "assert!((dim(2) - 3).abs() < 100);"),
            (ToleranceWidened, "assert!((dim(2) - 3.0).abs() < 0.1);", "assert!((dim(2) - 3.0).abs() < 5.0);"),
        ],
    );
    quiet(
        python::PATH,
        python::file,
        &[
            ("assert dim(2) == 0.3", "assert abs(dim(2) - 0.3) < 1e-9"),
            ("assert abs(dim(2) - 3) < 10", "assert abs(dim(2) - 3) < 0.1"),
            ("assert abs(dim(2) - 3) < 0.1", "assert dim(2) == 3"),
        ],
    );
}

#[test]
fn cases_that_stand_in_the_loop_are_counted() {
    let of = |cases: &str| {
        format!(
            "for _, c := range []struct{{ in, out int }}{cases} {{\n\tif dim(c.in) != c.out {{\n\t\tt.Fatal(c.in)\n\t}}\n}}"
        )
    };
    let (two, one) = (of("{{1, 2}, {2, 4}}"), of("{{1, 2}}"));
    told(go::PATH, go::file, &[(AssertionRemoved, &two, &one), (Skipped, &two, &of("{}"))]);
    quiet(go::PATH, go::file, &[(&one, &two), (&two, &of("{{1, 2}, {2, 5}}"))]);
    let named = two.replace("range []struct{ in, out int }{{1, 2}, {2, 4}}", "range tests");
    let named = format!("tests := []struct{{ in, out int }}{{{{1, 2}}, {{2, 4}}}}\n{named}");
    quiet(go::PATH, go::file, &[(&two, &named), (&named, &two)]);
}

/// Whoever writes ten thousand checks into a test keeps nobody busy with them.
#[test]
fn more_checks_than_can_be_compared_are_unread() {
    let test = |sign: &str, count: usize| {
        let lines: String = (1..=count).map(|n| format!("    assert dim({n}) {sign} {n}\n")).collect();
        format!("def test_dim():\n{lines}")
    };
    let report = |old: &str, new: &str| weaker(python::PATH, Some(old.as_bytes()), Some(new.as_bytes()));
    let many = report(&test("==", 3_000), &test(">=", 3_000));
    assert_eq!(many.unread.as_deref(), Some("One of its tests has more checks than can be compared."));
    // One that changed among many is compared.
    let old = test("==", 3_000);
    let one = report(&old, &old.replace("assert dim(7) == 7\n", "assert dim(7) >= 7\n"));
    assert_eq!((one.unread, one.found.len()), (None, 1));
    let few = report(&test("==", 100), &test(">=", 100));
    assert_eq!((few.unread, few.found.len()), (None, 100));
}
