//! What is told of tests that were edited, and what is free; in each language.

mod formats;

use super::super::Changed;
use super::{Edit, edits};

/// What is told of a change to one file.
fn told(path: &str, old: &str, new: &str) -> Vec<Edit> {
    edits(&[(path, Some(old.as_bytes()), Some(new.as_bytes()))]).pop().unwrap_or_default()
}

/// Each part of the text replaced by itself is told.
fn all_told(path: &str, old: &str, parts: &[(&str, &str)]) {
    let silent: Vec<_> =
        parts.iter().filter(|(from, to)| told(path, old, &replaced(old, from, to)).is_empty()).collect();
    assert!(silent.is_empty(), "{path}: {silent:#?}");
    assert_eq!(told(path, old, old), []);
}

fn all_free(path: &str, old: &str, parts: &[(&str, &str)]) {
    for (from, to) in parts {
        let found = told(path, old, &replaced(old, from, to));
        assert!(found.is_empty(), "{path}: {from:?} to {to:?}: {found:#?}");
    }
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from:?} stands there once");
    text.replace(from, to)
}

const PYTHON: &str = "\
import pytest
from lamp import on, Color
from .helper import check

WANT = [1, 2, 3]
CASES = [(1, 2), (3, 4)]

@pytest.fixture
def want():
    return 3

def lit(level):
    assert on(level) == 5

class TestLamp:
    def setup_method(self):
        self.level = 7

    def test_level(self):
        self.assertTrue(on(self.level))

@pytest.mark.parametrize('a, b', [(1, 2), (3, 4)])
def test_rows(a, b):
    assert on(a) == b

def test_one(want):
    check(on(1), 30)
    assert on(2) == Color.RED
    assert on(4) == b'a'
    assert on(5) == (6,)
    expected = dedent('''
        a
    ''')
    assert expected == on(3)
    with pytest.raises(ValueError):
        on(9)
    for a, b in CASES:
        assert on(a) == b
";

#[test]
fn an_edit_of_what_was_there_is_told_in_python() {
    all_told(
        "tests/test_lamp.py",
        PYTHON,
        &[
            ("check(on(1), 30)", "check(on(1), 40)"),
            ("Color.RED", "Color.BLUE"),
            ("from lamp import on, Color", "from fake import on, Color"),
            ("from lamp import on, Color", "from lamp import off as on, Color"),
            ("from lamp import on, Color", "from lamp import on, Color\nfrom fake import *"),
            ("from .helper import check", "from .other import check"),
            ("import pytest\n", "import pytest\nfrom fake import dedent\n"),
            ("[1, 2, 3]", "[1, 2, 4]"),
            ("[1, 2, 3]", "[1, 2, 3, 4]"),
            ("CASES = [(1, 2), (3, 4)]", "CASES = [(1, 2), (3, 4), (5, 6)]"),
            ("    assert on(4)", "    assert on(7) == 8\n    assert on(4)"),
            ("[1, 2, 3]\nCASES = [(1, 2), (3, 4)]", "[]\nCASES = [(1, 2), (3, 4)]\nWANT = [1, 2, 3]"),
            ("(3, 4)])\n", "(3, 4), pytest.param(5, 6, marks=pytest.mark.skip)])\n"),
            ("import pytest\n", "# coding: latin-1\nimport pytest\n"),
            ("import pytest\n", "import pytest\nf\"{pytest.skip('x', allow_module_level=True)}\"\n"),
            ("import pytest\n", "import pytest\nx = pytest.importorskip('nothing')\n"),
            ("WANT = [", "_ = CASES.append(4)\nWANT = ["),
            ("class TestLamp:", "class TestLamp:\n    level = 8\n"),
            ("class TestLamp:", "class TestLamp(Common):"),
            ("return 3", "return 4"),
            ("== 5", "== 6"),
            ("self.level = 7", "self.level = 8"),
            ("assertTrue", "assertFalse"),
            ("[(1, 2), (3, 4)])", "[(1, 2), (3, 5)])"),
            ("CASES = [(1, 2), (3, 4)]", "CASES = [(1, 2), (3, 4, 5)]"),
            ("b'a'", "'a'"),
            ("(6,)", "(6)"),
            ("        a\n    '''", "        b\n    '''"),
            ("'''\n        a", "'''\n        A"),
            ("raises(ValueError)", "raises(Exception)"),
            ("raises(ValueError):\n", "raises(ValueError):\n        assert on(8)\n"),
            ("def test_one(want):\n", "def test_one(want):\n    return\n"),
            ("    assert expected ==", "    expected = 'x'\n    assert expected =="),
            ("def test_one(want)", "def _test_one(want)"),
            ("class TestLamp:", "class Lamp:"),
            ("class TestLamp:", "class TestLamp:\n    __test__ = False\n"),
            ("class TestLamp:", "class TestLamp:\n    def run(self, result=None):\n        pass\n"),
            ("class TestLamp:", "class TestLamp:\n    def assertTrue(self, what):\n        pass\n"),
            ("def lit(level):", "def on(level):\n    return 5\n\ndef lit(level):"),
            ("WANT = [", "on = lambda level: 5\nWANT = ["),
            ("WANT = [", "Color.RED = Color.BLUE\nWANT = ["),
            ("WANT = [", "lamp.on()\nWANT = ["),
            ("WANT = [", "pytestmark = pytest.mark.skip\nWANT = ["),
            ("WANT = [", "@pytest.fixture(autouse=True)\ndef lamps():\n    pass\n\nWANT = ["),
            ("import pytest\n", "import pytest\nif True:\n    on = 1\n"),
        ],
    );
}

#[test]
fn what_reaches_nothing_that_was_there_is_free_in_python() {
    all_free(
        "tests/test_lamp.py",
        PYTHON,
        &[
            ("import pytest\nfrom lamp import on, Color", "from lamp import (\n    Color,\n    on,\n)\nimport pytest"),
            ("from lamp import on, Color", "from lamp import Color, on, off"),
            ("import pytest\n", "\"\"\"Lamps.\"\"\"\nimport os\nimport pytest\n"),
            ("(1, 2), (3, 4)])", "(1, 2), (0, 9), (3, 4), pytest.param(5, 6, id='more')])"),
            ("CASES = [(1, 2), (3, 4)]", "CASES = [\n    (1, 2),  # one\n    (3, 4),\n]"),
            ("assert on(2)", "# Red.\n    assert on( 2 )"),
            ("'a, b'", "\"a, b\""),
            ("def test_one(want):\n", "def test_one(want):\n    \"\"\"One.\"\"\"\n"),
            (
                "        self.assertTrue(on(self.level))",
                "        self.assertTrue(on(self.level))\n\n    def test_off(self):\n        self.assertFalse(on(0))",
            ),
            (
                "def test_one",
                "def helper():\n    return 4\n\ndef test_new():\n    assert on(helper()) == 4\n\ndef test_one",
            ),
            ("WANT = [", "OTHER = 4\nWANT = ["),
            (
                "class TestLamp:",
                "class TestMore:\n    def setup_method(self):\n        self.level = 8\n\n    def test_more(self):\n        assert on(self.level)\n\nclass TestLamp:",
            ),
        ],
    );
}

const SCRIPT: &str = "\
import { on, Color } from '../lamp';
import './setup';
const WANT = ['a', 'b'];
const cases = [[1, 2], [3, 4]];
function check(x, want) { expect(on(x)).toBe(want); }
describe('a lamp', () => {
  let want = 3;
  beforeEach(() => { want = 3; });
  it('shines', async () => {
    check(1, 3);
    expect(on(2)).toEqual({ a: 1 });
    expect(() => { on(9); }).toThrow(TypeError);
    await expect(on(3)).rejects.toThrow();
    expect(on(4)).toBe(`x${want}`);
  });
  it.each([[1, 2], [3, 4]])('is %d', (a, b) => { expect(on(a)).toBe(b); });
});
";

#[test]
fn an_edit_of_what_was_there_is_told_in_javascript() {
    all_told(
        "test/lamp.test.js",
        SCRIPT,
        &[
            ("from '../lamp'", "from '../fake'"),
            ("import './setup';", "import './other';"),
            ("import './setup';", "import './setup';\nimport './more';"),
            ("['a', 'b']", "['a', 'c']"),
            ("toBe(want)", "toBe(4)"),
            ("let want = 3", "let want = 4"),
            ("{ want = 3; }", "{ want = 4; }"),
            ("check(1, 3)", "check(1, 4)"),
            ("cases = [[1, 2]", "cases = [, [1, 2]"),
            ("const WANT", "test.skip(true, 'later');\nconst WANT"),
            ("const WANT", "// @vitest-environment node\nconst WANT"),
            ("const WANT", "`${want = 4}`;\nconst WANT"),
            ("    check(1, 3);\n", "    check(1, 3);\n    expect(on(5)).toBe(6);\n"),
            ("{ a: 1 }", "{ b: 1 }"),
            ("TypeError", "RangeError"),
            ("{ on(9); }", "{ expect(1).toBe(2); on(9); }"),
            (".rejects.", ".resolves."),
            ("`x${want}`", "'x${want}'"),
            ("[3, 4]])", "[3, 5]])"),
            ("it('shines'", "it.skip('shines'"),
            ("  it('shines'", "  beforeEach(() => { on.mockReturnValue(3); });\n  it('shines'"),
            ("const WANT", "vi.mock('../lamp');\nconst WANT"),
            ("const WANT", "test.beforeEach(() => { on.off(); });\nconst WANT"),
            ("const WANT", "const expect = () => anything;\nconst WANT"),
            ("describe('a lamp'", "describe.skip('a lamp'"),
        ],
    );
    all_free(
        "test/lamp.test.js",
        SCRIPT,
        &[
            ("from '../lamp'", "from \"../lamp\""),
            ("[3, 4]])", "[3, 4], [5, 6]])"),
            ("cases = [[1, 2], [3, 4]]", "cases = [\n  [1, 2],\n  [3, 4],\n]"),
            ("    check(1, 3);\n", "    // More.\n    check(1, 3)\n"),
            ("  it('shines'", "  it('is off', () => { expect(on(0)).toBe(1); });\n  it('shines'"),
            (
                "describe('a lamp'",
                "describe('another', () => { it('is', () => { expect(on(0)).toBe(1); }); });\ndescribe('a lamp'",
            ),
        ],
    );
}

const RUST: &str = "\
use lamp::{Color, on};
const WANT: [i32; 2] = [1, 2];
fn check(level: u8, want: i32) {
    assert_eq!(on(level), want);
}
#[test]
#[should_panic(expected = \"dark\")]
fn goes_dark() {
    on(9).unwrap();
}
#[rstest]
#[case(3, 4)]
fn rows(#[case] a: u8, #[case] b: i32) {
    assert_eq!(on(a), b);
}
mod more {
    use super::*;
    #[test]
    fn shines() {
        check(1, 3);
        assert_eq!(on(2), Color::Red);
        assert_eq!('a', name(3));
        for (a, b) in [(1, 2), (3, 4)] {
            assert_eq!(on(a), b);
        }
    }
}
";

#[test]
fn an_edit_of_what_was_there_is_told_in_rust() {
    all_told(
        "tests/lamp.rs",
        RUST,
        &[
            ("use lamp::{Color, on}", "use fake::{Color, on}"),
            ("use lamp::{Color, on};", "use lamp::Color;\nuse lamp::off as on;"),
            ("use lamp::{Color, on};", "use lamp::{Color, on};\nuse fake::name;"),
            ("[1, 2]", "[1, 3]"),
            ("check(1, 3)", "check(1, 4)"),
            ("Color::Red", "Color::Blue"),
            ("on(9).unwrap();", "assert!(on(8) == 4);\n    on(9).unwrap();"),
            ("[(1, 2), (3, 4)] {", "[(1, 2), (3, 4), (5, 6)] {"),
            ("    use super::*;", "    use super::super::*;"),
            ("'a'", "\"a\""),
            ("expected = \"dark\"", "expected = \"bright\""),
            ("#[should_panic(expected = \"dark\")]\n", ""),
            ("#[case(3, 4)]", "#[case(3, 5)]"),
            ("(3, 4)] {", "(3, 5)] {"),
            ("    #[test]\n    fn shines", "    #[test]\n    #[ignore]\n    fn shines"),
            ("const WANT", "macro_rules! assert_eq { ($($x:tt)*) => {} }\nconst WANT"),
            ("const WANT", "#![cfg(never)]\nconst WANT"),
            ("const WANT", "impl PartialEq<Color> for i32 { fn eq(&self, _: &Color) -> bool { true } }\nconst WANT"),
            ("const WANT", "fn name(_: u8) -> char { 'a' }\nconst WANT"),
            ("mod more {", "#[cfg(never)]\nmod more {"),
            ("        check(1, 3);", "        return;\n        check(1, 3);"),
        ],
    );
    all_free(
        "tests/lamp.rs",
        RUST,
        &[
            ("use lamp::{Color, on};", "use lamp::on;\nuse lamp::{Color, Shade};"),
            ("        check(1, 3);", "        // Bright.\n        check(1, 3);"),
            ("mod more {\n", "mod more {\n    #[test]\n    fn is_off() {\n        assert_eq!(on(0), 1);\n    }\n"),
            ("[1, 2]", "[\n    1,\n    2,\n]"),
        ],
    );
}

const GO: &str = "\
package lamp

import (
	\"net/http\"
	\"testing\"
)

var want = []string{\"a\"}

func check(t *testing.T, got, want int) {
	if got != want {
		t.Error(got)
	}
}

func ExampleOn() {
	fmt.Println(On(1))
	// Output: 3
}

func TestOn(t *testing.T) {
	check(t, On(1), 3)
	if On(2) != http.StatusOK {
		t.Fatal(2)
	}
	require.Error(t, On(9))
	tests := []struct{ in, want int }{{1, 2}, {3, 4}}
	for _, tt := range tests {
		if got := On(tt.in); got != tt.want {
			t.Error(got)
		}
	}
}
";

#[test]
fn an_edit_of_what_was_there_is_told_in_go() {
    all_told(
        "lamp_test.go",
        GO,
        &[
            ("\"net/http\"", "http \"fake/http\""),
            ("{\"a\"}", "{\"b\"}"),
            ("got != want", "got > want"),
            ("// Output: 3", "// Output: 4"),
            ("check(t, On(1), 3)", "check(t, On(1), 4)"),
            ("StatusOK", "StatusTeapot"),
            ("require.Error(", "require.NoError("),
            ("{3, 4}", "{3, 5}"),
            ("\trequire.Error(", "\trequire.Equal(t, tests, On(7))\n\trequire.Error("),
            ("package lamp", "//go:build s390x\n\npackage lamp"),
            ("func check(", "func TestMain(m *testing.M) {}\n\nfunc check("),
            ("func check(", "func init() { On = nil }\n\nfunc check("),
            ("func check(", "func (l Lamp) Equal(Lamp) bool { return true }\n\nfunc check("),
            ("func check(", "func On(int) int { return 3 }\n\nfunc check("),
            ("\tcheck(t, On(1), 3)", "\tt.Skip()\n\tcheck(t, On(1), 3)"),
        ],
    );
    all_free(
        "lamp_test.go",
        GO,
        &[
            ("\t\"testing\"\n", "\t\"testing\"\n\t\"time\"\n"),
            ("{3, 4}}", "{3, 4}, {5, 6}}"),
            ("func check(", "type lamps []int\n\nfunc (l lamps) Len() int { return 2 }\n\nfunc check("),
            ("func check(", "func TestOff(t *testing.T) {\n\tcheck(t, On(0), 1)\n}\n\nfunc check("),
        ],
    );
}

#[test]
fn a_file_that_was_renamed_is_the_same_and_what_moved_elsewhere_is_told() {
    let old =
        "from lamp import on\n\ndef test_one():\n    assert on(1) == 3\n\ndef test_two():\n    assert on(2) == 3\n";
    let (one, two) = old.split_once("\ndef test_two").unwrap();
    let two = format!("from lamp import on\n\ndef test_two{two}");
    let moved = |to: &str, there: &str, kept: Option<&str>| -> Vec<String> {
        let changed: [Changed<'_>; 2] =
            [("tests/test_a.py", Some(old.as_bytes()), kept.map(str::as_bytes)), (to, None, Some(there.as_bytes()))];
        edits(&changed).into_iter().flatten().map(|(_, says)| says).collect()
    };
    assert_eq!(moved("tests/test_b.py", old, None), [""; 0]);
    assert_eq!(moved("tests/test_b.py", &format!("{old}\ndef test_new():\n    pass\n"), None), [""; 0]);
    assert_eq!(
        moved("tests/test_b.py", &old.replace("on(1) == 3", "on(1) == 4"), None),
        ["`test_one` is not as it was."]
    );
    assert_eq!(
        moved("tests/test_b.py", &old.replace("lamp", "fake"), None),
        ["`on` comes from `fake.on` now, and came from `lamp.on`."]
    );
    let gone = "It is gone, and no file beside it has what it had.";
    assert_eq!(moved("other/test_a.py", old, None), [gone], "another helper may stand beside it");
    assert_eq!(moved("tests/test_b.py", &two, Some(one)), ["`test_two` is not there any more."]);
    // Between groups too.
    let groups = "class TestA:\n    want = 3\n\nclass TestB:\n    want = 4\n";
    let turned = groups.replace('3', "5").replace('4', "3").replace('5', "4");
    assert_eq!(told("tests/test_a.py", groups, &turned).len(), 2);
    let fields = "class Case(NamedTuple):\n    a: int\n    want: int\n";
    let turned = "class Case(NamedTuple):\n    want: int\n    a: int\n";
    assert_eq!(told("tests/test_a.py", fields, turned).len(), 1);
    // What tests read is data, whatever its language is.
    assert_eq!(told("tests/fixtures/a.js", "const a = 1;\n", "const a = 1; // out\n").len(), 1);
}

/// Each name of each item is looked up once.
#[test]
fn a_large_file_that_was_renamed_is_read_at_once() {
    let test = |at: usize| format!("def test_{at}():\n    assert on({at}) == {at}\n\n");
    let text: String = std::iter::once("from lamp import on\n\n".to_owned()).chain((0..3_000).map(test)).collect();
    let found = edits(&[
        ("tests/test_a.py", Some(text.as_bytes()), None),
        ("tests/test_b.py", None, Some(text.replace("on(7) == 7", "on(7) == 8").as_bytes())),
    ]);
    assert_eq!(found[0], [(Some(24), "`test_7` is not as it was.".to_owned())]);
}

#[test]
fn it_says_where_and_of_what() {
    let edit = |from: &str, to: &str| told("tests/test_lamp.py", PYTHON, &replaced(PYTHON, from, to));
    assert_eq!(edit("Color.RED", "Color.BLUE"), [(Some(26), "`test_one` is not as it was.".to_owned())]);
    assert_eq!(edit("assertTrue", "assertFalse"), [(Some(19), "`TestLamp::test_level` is not as it was.".to_owned())]);
    assert_eq!(
        edit("from lamp import on, Color", "from lamp import on\nfrom fake import Color"),
        [(None, "`Color` comes from `fake.Color` now, and came from `lamp.Color`.".to_owned())]
    );
    assert_eq!(
        edit("WANT = [", "lamp.on()\nWANT = ["),
        [(Some(5), "`lamp.on()` is new, and is run beside what was there.".to_owned())]
    );
    // What can't be read is not fine.
    let broken = told("tests/test_lamp.py", PYTHON, &format!("{PYTHON}def (:\n"));
    assert!(matches!(&broken[..], [(None, says)] if says.contains("can't be told: line ")), "{broken:?}");
    let bytes = edits(&[("tests/test_lamp.py", Some(PYTHON.as_bytes()), Some(b"\xff = 1\n"))]);
    assert_eq!(bytes[0].len(), 1);
    // A file that is new takes nothing away, unless it is run around the others.
    assert_eq!(edits(&[("tests/test_new.py", None, Some(PYTHON.as_bytes()))]), [[]]);
    let auto = b"@pytest.fixture(autouse=True)\ndef dim():\n    pass\n";
    assert_eq!(edits(&[("tests/conftest.py", None, Some(auto))])[0].len(), 1);
    assert_eq!(edits(&[("__mocks__/lamp.js", None, Some(b"module.exports = {};\n"))])[0].len(), 1);
}
