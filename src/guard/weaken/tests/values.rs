//! Expectations that stand beside the check: in rows, under names of the file, under names of a loop.

use super::super::What::*;
use super::*;

/// What tests that were there before expect, where it is another value, and what is weaker.
fn both(path: &str, old: &str, new: &str) -> (Vec<u32>, Vec<What>) {
    let report = weaker(path, Some(old.as_bytes()), Some(new.as_bytes()));
    (report.decided.iter().map(|one| one.line).collect(), report.found.iter().map(|one| one.what).collect())
}

#[test]
fn an_expectation_of_go_that_became_what_the_code_gives_is_told() {
    let table = "tests := []struct{ in, want int }{{1, 2}, {3, 4}}\nfor _, tt := range tests {\n\tif got := F(tt.in); got != tt.want {\n\t\tt.Error(got)\n\t}\n}";
    let cases =
        "cases := []int{1, 2}\nfor i, w := range cases {\n\tgot := F(i)\n\tif got != w {\n\t\tt.Error(got)\n\t}\n}";
    let local = "const want = 3\nif got := F(1); got != want {\n\tt.Error(got)\n}";
    let top =
        "const want = 3\n\nfunc TestF(t *testing.T) {\n\tif got := F(1); got != want {\n\t\tt.Error(got)\n\t}\n}\n";
    for (old, new) in [
        (table, table.replace("got != tt.want", "got != F(tt.in)")),
        (table, table.replace("{1, 2}", "{1, F(1)}")),
        (cases, cases.replace("got != w", "got != F(i)")),
        (local, local.replace("const want = 3", "var want = F(1)")),
        (local, local.replace("const want = 3", "want := F(1)")),
        (top, top.replace("const want = 3", "var want = F(1)")),
    ] {
        told(go::PATH, go::file, &[(ExpectationFromCode, old, &new)]);
    }
    let more = table.replace("{3, 4}}", "{3, 4}, {5, 6}}");
    let named = table.replace("{1, 2}, {3, 4}", "{in: 1, want: 2}, {in: 3, want: 4}");
    for (old, new) in [
        (table, more),
        (table, named),
        (table, table.replace("tests", "cases")),
        (table, table.replace("{1, 2}", "{Seed(1), 2}")),
        (top, top.replace("const want = 3", "var want = Level(\"low\")")),
    ] {
        quiet(go::PATH, go::file, &[(old, &new)]);
    }
}

#[test]
fn an_expectation_of_the_other_languages_that_became_what_the_code_gives_is_told() {
    let python = "WANT = 3\nROWS = [(1, 2), (3, 4)]\n\ndef test_one():\n    assert f(1) == WANT\n\n@pytest.mark.parametrize('a, b', [(1, 2), (3, 4)])\ndef test_two(a, b):\n    assert f(a) == b\n\n@pytest.mark.parametrize('a, b', ROWS)\ndef test_three(a, b):\n    assert f(a) == b\n\ndef test_four():\n    for a, b in ((1, 2), (3, 5)):\n        assert f(a) == b\n";
    for (from, to) in [
        ("WANT = 3", "WANT = f(1)"),
        ("ROWS = [(1, 2)", "ROWS = [(1, f(1))"),
        ("'a, b', [(1, 2)", "'a, b', [(1, f(1))"),
        ("((1, 2), (3, 5))", "((1, f(1)), (3, 5))"),
    ] {
        told(python::PATH, str::to_owned, &[(ExpectationFromCode, python, &python.replace(from, to))]);
    }
    let rust = "const WANT: i32 = 3;\n#[test]\nfn one() {\n    assert_eq!(f(1), WANT);\n}\n#[test]\nfn two() {\n    for (a, b) in [(1, 2), (3, 4)] {\n        assert_eq!(f(a), b);\n    }\n}\n";
    for (from, to) in
        [("const WANT: i32 = 3;", "static WANT: LazyLock<i32> = LazyLock::new(|| f(1));"), ("[(1, 2)", "[(1, f(1))")]
    {
        told(rust::PATH, str::to_owned, &[(ExpectationFromCode, rust, &rust.replace(from, to))]);
    }
    let script = "const WANT = 3;\nconst ROWS = [[1, 2], [3, 4]];\nit('a', () => { expect(f(1)).toBe(WANT); });\nit.each([[1, 2], [3, 5]])('b', (a, b) => { expect(f(a)).toBe(b); });\nit.each(ROWS)('c', (a, b) => { expect(f(a)).toBe(b); });\n";
    for (from, to) in
        [("WANT = 3", "WANT = f(1)"), ("ROWS = [[1, 2]", "ROWS = [[1, f(1)]"), ("each([[1, 2]", "each([[1, f(1)]")]
    {
        told(script::PATH, str::to_owned, &[(ExpectationFromCode, script, &script.replace(from, to))]);
    }
    for (from, to) in [
        ("WANT = 3", "WANT = int(os.environ.get('WANT', 3))"),
        ("WANT = 3", "WANT = LEVEL"),
        ("ROWS = [(1, 2)", "ROWS = [(seed(1), 2)"),
        ("ROWS = [(1, 2)", "ROWS = [(0, f(0)), (1, 2)"),
        ("(3, 4)]\n\ndef", "(3, 4), (5, 6)]\n\ndef"),
    ] {
        quiet(python::PATH, str::to_owned, &[(python, &python.replace(from, to))]);
    }
}

#[test]
fn another_value_is_nothing_weaker_and_is_told_apart() {
    let python = "WANT = 3\n\ndef test_one():\n    assert f(1) == WANT\n    assert names() == ['a', 'b']\n    want = 5\n    assert f(2) == want\n\n@pytest.mark.parametrize('a, b', [(1, 2), (3, 4)])\ndef test_two(a, b):\n    assert f(a) == b\n    with pytest.raises(KeyError):\n        g()\n    assert on()\n";
    for (from, to) in [
        ("WANT = 3", "WANT = 4"),
        ("['a', 'b']", "['WRONG']"),
        ("want = 5", "want = 6"),
        ("(1, 2), (3, 4)", "(1, 2), (3, 5)"),
        ("raises(KeyError)", "raises(ValueError)"),
        ("assert on()", "assert not on()"),
    ] {
        let (decided, found) = both(python::PATH, python, &python.replace(from, to));
        assert!(decided.len() == 1 && found.is_empty(), "{to}: {decided:?} {found:?}");
    }
    for (from, to) in [
        ("['a', 'b']", "[\"a\", \"b\",]"),
        ("(1, 2), (3, 4)", "(1, 2), (3, 4), (5, 6)"),
        ("(1, 2), (3, 4)", "pytest.param(1, 2, id='x'), (3, 4)"),
        ("(1, 2), (3, 4)", "(3, 4), (1, 2)"),
        ("test_one", "test_another"),
        ("def test_one", "def test_new():\n    assert f(1) == 9\n    assert names() == []\n\ndef test_one"),
        ("    want = 5", "    assert h() == 1\n    want = 5"),
        ("want", "wanted"),
        ("assert on()", "assert on() is not None"),
        ("WANT = 3", "OTHER = 4\nWANT = 3"),
    ] {
        let (decided, found) = both(python::PATH, python, &python.replace(from, to));
        assert!(decided.is_empty() && (found.is_empty() || to.contains("on()")), "{to}: {decided:?} {found:?}");
    }
    let rust = rust::file("assert_eq!(f(1), 3);\nassert_eq!(names(), vec![\"a\"]);");
    assert_eq!(both(rust::PATH, &rust, &rust.replace("3", "4")).0.len(), 1);
    assert_eq!(both(rust::PATH, &rust, &rust.replace("vec![\"a\"]", "[\"a\"]")), (vec![], vec![]));
    let go = go::file("if F(1) != 3 {\n\tt.Fatal(1)\n}\nrequire.Equal(t, \"a\", Name())");
    assert_eq!(both(go::PATH, &go, &go.replace("!= 3", "!= 4")).0.len(), 1);
    assert_eq!(both(go::PATH, &go, &go.replace("\"a\"", "\"b\"")).0.len(), 1);
    let script = script::file("expect(f(1)).toBe(3); assert.equal(g(), 'a');");
    assert_eq!(both(script::PATH, &script, &script.replace("toBe(3)", "toBe(4)")).0.len(), 1);
    assert_eq!(both(script::PATH, &script, &script.replace("'a'", "'b'")).0.len(), 1);
    assert_eq!(both(script::PATH, &script, &script.replace("'a'", "\"a\"")), (vec![], vec![]));
    // A file that is new, or gone, expects nothing otherwise.
    assert!(weaker(python::PATH, None, Some(python.as_bytes())).decided.is_empty());
}

/// What is said in other words than before is somebody's decision, whatever the words mean.
#[test]
fn what_a_test_says_is_said_again_or_told() {
    let python = "WANT = 3\n\ndef test_one():\n    assert f(1) == 3\n    assert names() == ['a', 'b']\n    want = 5\n    assert f(2) == want\n    assert f(4) == WANT\n\n@pytest.mark.parametrize('a, b', [(1, 2), (3, 4)])\ndef test_two(a, b):\n    assert f(a) == b\n    with pytest.raises(KeyError, match='bad'):\n        g()\n";
    for (from, to) in [
        ("f(1) == 3", "f(1) == -3"),
        ("f(1) == 3", "f(1) == 3 + 1"),
        ("f(1) == 3", "not f(1)"),
        ("assert f(1) == 3", "r = f(1)\n    assert r == 4"),
        ("assert f(1) == 3", "expected = 4\n    assert f(1) == expected"),
        ("f(1) == 3", "f(1) - 1 == 3"),
        ("['a', 'b']", "['b', 'a']"),
        ("['a', 'b']", "['a', 'b', 'c']"),
        ("names() == ['a', 'b']", "not names()"),
        ("WANT = 3", "WANT = -3"),
        ("== WANT", "== 4"),
        ("== WANT", "== WANT + 1"),
        ("want = 5", "want = -5"),
        ("(3, 4)]", "(4, 3)]"),
        ("(3, 4)]", "(3, -4)]"),
        ("f(a) == b", "f(a) == b + 5"),
        ("match='bad'", "match='good'"),
    ] {
        let (decided, _) = both(python::PATH, python, &python.replace(from, to));
        assert!(!decided.is_empty(), "{from} -> {to}");
    }
    for (from, to) in [
        ("f(1) == 3", "f( 1 ) == (3)"),
        ("f(1) == 3", "f(0x1) == 3"),
        ("f(1)", "lamp.f(1)"),
        ("    assert f(1) == 3\n", "    assert f(1) == 3\n    assert f(9) == 9\n"),
        (
            "    assert f(1) == 3\n    assert names() == ['a', 'b']\n",
            "    assert names() == ['a', 'b']\n    assert f(1) == 3\n",
        ),
        ("(3, 4)]", "(3, 4, 5)]"),
        ("def test_one():", "def test_other():\n    assert f(7) == 8\n\ndef test_one():"),
    ] {
        let (decided, _) = both(python::PATH, python, &python.replace(from, to));
        assert!(decided.is_empty(), "{from} -> {to}: {decided:?}");
    }
    let told = |path: &str, old: &str, from: &str, to: &str| {
        assert!(!both(path, old, &old.replace(from, to)).0.is_empty(), "{from} -> {to}");
    };
    let rust = rust::file("assert_eq!(f(1), 2);\nlet want = 7;\nassert_eq!(g(), want);");
    for (from, to) in [("f(1), 2", "f(1), -2"), ("f(1), 2", "f(1), 2 + 3"), ("want = 7", "want = -7")] {
        told(rust::PATH, &rust, from, to);
    }
    let script = script::file("expect(f(1)).toBe(2);");
    for to in ["toBe(-2)", "toBeFalsy()"] {
        told(script::PATH, &script, "toBe(2)", to);
    }
    let go = go::file(
        "tests := []struct{ in, want int }{{1, 2}, {3, 4}}\nfor _, tt := range tests {\n\tif got := F(tt.in); got != tt.want {\n\t\tt.Error(got)\n\t}\n}",
    );
    for (from, to) in
        [("{3, 4}", "{3, -4}"), ("{3, 4}", "{4, 3}"), ("{3, 4}", "{3, 4 + 5}"), ("got != tt.want", "got != tt.want+5")]
    {
        told(go::PATH, &go, from, to);
    }
    // A test that moved to another file says it there.
    let moved = weaker_all(&[
        (python::PATH, Some(python.as_bytes()), Some(b"def test_new():\n    assert True is not h()\n")),
        ("tests/test_more.py", None, Some(python.as_bytes())),
    ]);
    assert!(moved.iter().all(|report| report.decided.is_empty()), "{moved:?}");
}
