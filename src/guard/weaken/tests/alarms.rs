//! What was called weaker on published history and was not, each with what must be found all the same.

use super::super::What::*;
use super::*;

fn found_in(all: &[(&str, Option<&str>, Option<&str>)]) -> Vec<What> {
    let all: Vec<Changed<'_>> =
        all.iter().map(|(path, old, new)| (*path, old.map(str::as_bytes), new.map(str::as_bytes))).collect();
    weaker_all(&all).into_iter().flat_map(|report| report.found).map(|one| one.what).collect()
}

#[test]
fn copies_that_became_one_are_not_gone() {
    let two = "def test_dim():\n    level = dim(u'a', 2)\n    assert level == 3\n    assert glow(level, 7) == 5\n";
    let three = two.replace("u'a'", "'a'").replace("glow(level, 7)", "glow(level, base=7)");
    assert_eq!(
        found_in(&[
            ("lib2/test_a.py", Some(two), None),
            ("lib3/test_a.py", Some(&three), None),
            ("lib/test_a.py", None, Some(&three))
        ]),
        []
    );
    // The same words twice, of which one is left.
    let rest = "def test_a():\n    assert a() == 1\n";
    let both = format!("{rest}{three}");
    assert_eq!(found_in(&[("test_a.py", Some(&both), Some(rest)), ("test_b.py", Some(&three), Some(&both))]), []);
    // A test of the same name that looks at something else is not a copy, and neither is one of a file that is there still.
    let other = "def test_dim():\n    lamp = Lamp()\n    assert lamp.colour == 'red'\n";
    assert_eq!(
        found_in(&[
            ("lib2/test_a.py", Some(other), None),
            ("lib3/test_a.py", Some(&three), Some(&format!("{three}\n\n")))
        ]),
        [TestRemoved]
    );
    let weak = both.replace("7) == 5", "8) == 9");
    assert_eq!(
        found_in(&[("test_a.py", Some(&weak), Some(rest)), ("test_b.py", Some(&three), Some(&both))]),
        [TestRemoved]
    );
}

#[test]
fn a_test_that_hands_its_checks_on_asserts_something() {
    let other = "def test_a():\n    assert a()\n";
    let fresh = |text: &str| kinds("test_a.py", other, &format!("{other}{text}"));
    assert_eq!(fresh("def test_b():\n    for a in cases:\n        yield run, a\n"), []);
    assert_eq!(fresh("def test_b():\n    test_a()\n"), []);
    assert_eq!(
        fresh(
            "class TestB:\n    def test_b(self):\n        self.test_c()\n    def test_c(self):\n        assert c()\n"
        ),
        []
    );
    assert_eq!(fresh("def test_b():\n    b()\n    yield\n"), [AssertsNothing]);
    assert_eq!(fresh("def test_b():\n    test_c()\ndef test_c():\n    c()\n"), [AssertsNothing]);
}

#[test]
fn a_test_that_is_made_in_a_test_is_what_that_looks_at() {
    let of = |inner: &str| {
        format!("tap.test('times out', (tt) => {{ const test = tape.make(); {inner} tt.equal(a(), 1); }});\n")
    };
    let none = of("");
    assert_eq!(kinds("test/a.js", &none, &of("test('inner', (t) => { b(); });")), []);
    assert_eq!(kinds("test/a.js", &none, &of("tt.test('inner', (t) => { b(); });")), [AssertsNothing]);
}

#[test]
fn a_line_that_stood_there_twice_is_not_gone() {
    let twice = "assert dim(6.5, '0') == '6'\nassert dim(6.5, '0') == '6'\nassert glow(1) == 2";
    let once = "assert dim(6.5, '0') == '6'\nassert glow(1) == 2";
    quiet(python::PATH, python::file, &[(twice, once)]);
    // Between the two the lamp may have become another.
    let twice =
        "lamp = Lamp()\nassert lamp.level(6) == '6'\nlamp.dim()\nassert lamp.level(6) == '6'\nassert glow(1) == 2";
    let once = "lamp = Lamp()\nassert lamp.level(6) == '6'\nlamp.dim()\nassert glow(1) == 2";
    told(python::PATH, python::file, &[(AssertionRemoved, twice, once)]);
}

#[test]
fn what_is_written_out_under_the_same_name_is_no_value_of_the_code() {
    // Both sides are stripped, and something else of the test changed.
    let stripped = "def test_a():\n    want = 'b'\n    warm(1)\n    assert tidy('a').strip() == want.strip()\n";
    let one = stripped.replace("warm(1)", "warm(2)");
    assert_eq!(kinds("test_a.py", stripped, &one), []);
    for code in ["want = tidy('a')", "want = tidy('a').strip()"] {
        assert_eq!(kinds("test_a.py", stripped, &one.replace("want = 'b'", code)), [ExpectationFromCode], "{code}");
    }
    assert_eq!(
        kinds("test_a.py", stripped, &one.replace("== want.strip()", "== tidy(want).strip()")),
        [ExpectationFromCode]
    );
    // A row whose function has another name.
    let rows = "def test_a():\n    for a, list in [('a,a', old_list('a', 2)), ('b', old_list('b', 4))]:\n        assert list.parse(a) == split(a)\n    with raises(ValueError):\n        old_list('a', 0)\n        assert List('a', 0).parse('a') == 1\n";
    let renamed = rows.replace("old_list", "List");
    assert_eq!(kinds("test_a.py", rows, &renamed), []);
    let asked = rows.replace("('a,a', old_list", "(List('a', 2).parse('a'), old_list");
    assert_eq!(kinds("test_a.py", rows, &asked), [ExpectationFromCode]);
    // What is built for the tests, and is expected nowhere, was not written out before either.
    let form = "class F(Form):\n    a = Field([('a', 'b')])\n\ndef test_a():\n    assert F().a.html == 'c'\n    assert Choice('a', 'b').html == 'd'\n";
    assert_eq!(kinds("test_a.py", form, &form.replace("[('a', 'b')]", "[Choice('a', 'b')]")), []);
    let want = "WANT = str(4)\n\ndef test_a():\n    assert double(2) == WANT\n";
    assert_eq!(kinds("test_a.py", want, &want.replace("str(4)", "str(double(2))")), [ExpectationFromCode]);
}
