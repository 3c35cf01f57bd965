//! Python.

use super::*;

pub(super) const PYTHON: &str = r#"#!/usr/bin/env python3
"""Dates.

>>> parse("2026")
2026
"""
import unittest


def parse(text):
    """Reads a year.

    >>> parse("1")
    1
    >>> years = [parse(text)
    ...          for text in "12"]
    >>> years
    [1, 2]

    The end.
    """
    return int(text)


class Year:
    """A year.

    >>> Year(1).next()  # doctest: +ELLIPSIS
    2
    """

    def __init__(self, year):
        self.year = year

    def next(self):
        '''The next one.

        >>> Year(2).next()
        3'''
        return self.year + 1

    def test_drive(self):
        return 1


class TestClient:
    def get(self):
        return 1


class TestDates(unittest.TestCase):
    """Tests."""

    limit = 3

    def setUp(self):
        self.year = Year(1)

    def test_next(self):
        for year in []:
            self.fail(year)
        self.assertEqual(self.year.next(), 2)

    @unittest.skip("slow")
    def test_slow(self):
        self.assertEqual(parse("9"), 9)


def test_parse():
    # A comment.
    assert parse("1") == 1
    assert [parse("2"), parse("3")] == [2, 3]


if __name__ == "__main__":
    import doctest

    doctest.testmod()
    unittest.main()
"#;

#[test]
fn python_has_names() {
    assert_eq!(
        names("src/dates.py", PYTHON),
        [
            "doc of this module",
            "doc of parse",
            "doc of parse#2",
            "doc of parse#3",
            "doc of Year",
            "doc of Year.next",
            "TestDates.limit",
            "TestDates.setUp",
            "TestDates.test_next",
            "TestDates.test_slow",
            "test_parse",
            "run doctest.testmod",
            "run unittest.main",
        ]
    );
}

#[test]
fn python_is_free_around_its_tests() {
    edits(
        "src/dates.py",
        PYTHON,
        &[
            ("the code", "return int(text)", "return int(text.strip())", &[]),
            ("prose", "The end.", "This is the end.", &[]),
            ("a new example", "    The end.", "    >>> parse(\"7\")\n    7\n\n    The end.", &[]),
            (
                "an example with names of its own",
                "    The end.",
                "    >>> years = []\n    >>> years\n    []\n\n    The end.",
                &[],
            ),
            ("a new test", "def test_parse", "def test_more():\n    assert True\n\n\ndef test_parse", &[]),
            ("a new method", "    def setUp", "    def test_more(self):\n        pass\n\n    def setUp", &[]),
            ("a comment", "    # A comment.\n", "    # Another one,\n    # of two lines.\n", &[]),
            (
                "spaces and a comma",
                "[parse(\"2\"), parse(\"3\")] == [2, 3]",
                "[\n        parse(\"2\"),\n        parse(\"3\"),\n    ] == [2, 3]",
                &[],
            ),
            ("one that runs again", "    @unittest.skip(\"slow\")\n", "", &[]),
            ("what only looks like tests", "def get(self):\n        return 1", "def get(self):\n        return 2", &[]),
            (
                "a method that is called so",
                "def test_drive(self):\n        return 1",
                "def test_drive(self):\n        return 2",
                &[],
            ),
            ("a docstring of a class of tests", "\"\"\"Tests.\"\"\"", "\"\"\"Tests of dates.\"\"\"", &[]),
        ],
    );
}

#[test]
fn python_tells_what_was_changed() {
    edits(
        "src/dates.py",
        PYTHON,
        &[
            ("an expected line", "    1\n    >>> years = ", "    2\n    >>> years = ", &["doc of parse: changed"]),
            ("a source line", ">>> years\n", ">>> len(years)\n", &["doc of parse#3: changed"]),
            (
                "a further line",
                "...          for text in \"12\"]",
                "...          for text in \"\"]",
                &["doc of parse#2: changed"],
            ),
            ("an option", "# doctest: +ELLIPSIS", "# doctest: +NORMALIZE_WHITESPACE", &["doc of Year: changed"]),
            ("one that is not run", "# doctest: +ELLIPSIS", "# doctest: +SKIP", &["doc of Year: skipped"]),
            ("one that is prose now", ">>> Year(2).next()", "Year(2).next()", &["doc of Year.next: gone"]),
            (
                "one in front that takes a name",
                "    >>> years\n",
                "    >>> years = [1, 2]\n    >>> years\n",
                &["doc of parse#3: shadowed by doc of parse#3"],
            ),
            (
                "the first takes a name",
                "    >>> parse(\"1\")\n",
                "    >>> parse = int\n    >>> parse(\"1\")\n",
                &[
                    "doc of parse: shadowed by doc of parse",
                    "doc of parse#2: shadowed by doc of parse",
                    "doc of parse#3: moved to doc of parse#4",
                ],
            ),
            (
                "an assertion",
                "self.assertEqual(self.year.next(), 2)",
                "self.assertTrue(self.year.next())",
                &["TestDates.test_next: changed"],
            ),
            (
                "how deep an assertion stands",
                "        self.assertEqual(self.year.next(), 2)",
                "            self.assertEqual(self.year.next(), 2)",
                &["TestDates.test_next: changed"],
            ),
            ("what is set up", "self.year = Year(1)", "self.year = Fake(1)", &["TestDates.setUp: changed"]),
            ("an expectation", "    limit = 3", "    limit = 4", &["TestDates.limit: changed"]),
            (
                "a test that is skipped",
                "    def test_next",
                "    @unittest.skip(\"later\")\n    def test_next",
                &["TestDates.test_next: skipped"],
            ),
            (
                "a test that is skipped on a condition",
                "    def test_next",
                "    @unittest.skipIf(True, \"\")\n    def test_next",
                &["TestDates.test_next: changed"],
            ),
            ("a test of another name", "def test_next", "def next_test", &["TestDates.test_next: gone"]),
            (
                "a class that is skipped",
                "class TestDates",
                "@unittest.skip(\"x\")\nclass TestDates",
                &[
                    "TestDates.limit: changed",
                    "TestDates.setUp: changed",
                    "TestDates.test_next: changed",
                    "TestDates.test_slow: changed",
                ],
            ),
            (
                "other bases",
                "(unittest.TestCase)",
                "(Quiet, unittest.TestCase)",
                &[
                    "TestDates.limit: changed",
                    "TestDates.setUp: changed",
                    "TestDates.test_next: changed",
                    "TestDates.test_slow: changed",
                ],
            ),
            ("a function that is gone", "    assert parse(\"1\") == 1\n", "", &["test_parse: changed"]),
            (
                "a condition around",
                "def test_parse():\n    # A comment.\n    assert parse(\"1\") == 1\n    assert [parse(\"2\"), parse(\"3\")] == [2, 3]\n",
                "if False:\n    def test_parse():\n        assert parse(\"1\") == 1\n        assert [parse(\"2\"), parse(\"3\")] == [2, 3]\n",
                &["test_parse: changed"],
            ),
            (
                "defined once more",
                "if __name__",
                "def test_parse():\n    pass\n\n\nif __name__",
                &["test_parse: shadowed by test_parse#2"],
            ),
            (
                "taken away",
                "if __name__",
                "del test_parse\n\n\nif __name__",
                &["test_parse: shadowed by what test_parse means"],
            ),
            (
                "another meaning",
                "if __name__",
                "test_parse = None\n\n\nif __name__",
                &["test_parse: shadowed by what test_parse means"],
            ),
            ("never run", "    doctest.testmod()\n", "", &["run doctest.testmod: gone"]),
            (
                "run by nobody",
                "__name__ == \"__main__\"",
                "__name__ == \"never\"",
                &["run doctest.testmod: changed", "run unittest.main: changed"],
            ),
        ],
    );
    let count = frozen("src/dates.py", PYTHON).len();
    for (from, to) in [
        ("import unittest\n", "import unittest\npytestmark = skip()\n"),
        ("import unittest\n", "import unittest\nraise unittest.SkipTest\n"),
        ("import unittest\n", "import unittest\n__test__ = False\n"),
    ] {
        let all = became("src/dates.py", PYTHON, &PYTHON.replacen(from, to, 1));
        assert!(all.len() == count && all.iter().all(|said| said.ends_with(": changed")), "{to}: {all:?}");
    }
}

#[test]
fn python_has_either_quote() {
    let text = "def test_a():\n    assert f('x') == 'a \"b\"'\n    assert f(b'y') == u'z'\n    assert f(r'\\d', f'{x}')\n    assert f(\'\'\'q\'\'\', 'it\\'s')\n";
    for (from, to) in [
        ("'x'", "\"x\""),
        ("'a \"b\"'", "\"a \\\"b\\\"\""),
        ("b'y'", "b\"y\""),
        ("f'{x}'", "f\"{x}\""),
        ("\'\'\'q\'\'\'", "\"\"\"q\"\"\""),
        ("'it\\'s'", "\"it's\""),
    ] {
        let other = text.replacen(from, to, 1);
        assert_ne!(text, other, "{from}");
        assert_eq!((became("a.py", text, &other), became("a.py", &other, text)), (vec![], vec![]), "{to}");
    }
    for (from, to) in
        [("'x'", "'y'"), ("b'y'", "'y'"), ("r'\\d'", "'\\d'"), ("'it\\'s'", "'its'"), ("'x'", "' x'"), ("'x'", "x")]
    {
        assert_eq!(became("a.py", text, &text.replacen(from, to, 1)), ["test_a: changed"], "{to}");
    }
}

const DOC: &str = "import fast\n\n\ndef f(x):\n    \"\"\"A.\n\n    >>> f('1')\n    1\n    \"\"\"\n    return int(x)\n\n\nclass A:\n    def g(self):\n        \"\"\"B.\n\n        >>> A().g()\n        2\n        \"\"\"\n        return 2\n\n\nlimit = 3\n";

#[test]
fn an_example_is_not_turned_off_beside_it() {
    let end = |line: &str| format!("limit = 3\n{line}\n");
    let f = |by: &str| vec![format!("doc of f: shadowed by {by}")];
    for (from, to, expected) in [
        ("\"\"\"A.", "f\"\"\"A.".to_owned(), vec!["doc of f: gone".to_owned()]),
        ("\"\"\"A.", "b\"\"\"A.".to_owned(), vec!["doc of f: gone".to_owned()]),
        ("\"\"\"A.", "rf\"\"\"A.".to_owned(), vec!["doc of f: gone".to_owned()]),
        ("\"\"\"A.", "f\"{x}\" \"\"\"A.".to_owned(), vec!["doc of f: gone".to_owned()]),
        ("\"\"\"A.", "\"\" + \"\"\"A.".to_owned(), vec!["doc of f: gone".to_owned()]),
        ("\"\"\"A.", "x = 1\n    \"\"\"A.".to_owned(), vec!["doc of f: gone".to_owned()]),
        ("limit = 3", end("def f(x):\n    return x"), vec!["doc of f: skipped".to_owned()]),
        ("limit = 3", end("async def f(x):\n    return x"), vec!["doc of f: skipped".to_owned()]),
        ("limit = 3", end("@cache\nclass f:\n    pass"), vec!["doc of f: skipped".to_owned()]),
        ("limit = 3", end("if True:\n    def f(x):\n        return x"), vec!["doc of f: skipped".to_owned()]),
        ("limit = 3", end("class A:\n    pass"), vec!["doc of A.g: skipped".to_owned()]),
        (
            "        return 2",
            "        return 2\n\n    def g(self):\n        return 3".to_owned(),
            vec!["doc of A.g: skipped".to_owned()],
        ),
        (
            "        return 2",
            "        return 2\n\n    g = None".to_owned(),
            vec!["doc of A.g: shadowed by what A.g means".to_owned()],
        ),
        ("limit = 3", end("f = fast.f"), f("what f means")),
        ("limit = 3", end("f: object = None"), f("what f means")),
        ("limit = 3", end("x = f = None"), f("what f means")),
        ("limit = 3", end("(x, f) = (1, 2)"), f("what f means")),
        ("limit = 3", end("print(f := 1)"), f("what f means")),
        ("limit = 3", end("del limit, f"), f("what f means")),
        ("limit = 3", end("f.__doc__ = ''"), f("what f means")),
        ("limit = 3", end("f.__doc__ += ''"), f("what f means")),
        ("limit = 3", end("f.__module__ = 'x'"), f("what f means")),
        ("limit = 3", end("if x:\n    f.__doc__ = None"), f("what f means")),
        ("limit = 3", end("from fast import f"), f("what f means")),
        ("limit = 3", end("from fast import (g, h as f)"), f("what f means")),
        ("limit = 3", end("import fast as f"), f("what f means")),
        ("limit = 3", end("globals()['f'] = None"), f("what f means")),
        ("limit = 3", end("globals().update(f=None)"), f("what f means")),
        ("limit = 3", end("setattr(sys.modules[__name__], \"f\", None)"), f("what f means")),
        ("limit = 3", end("for f in range(3):\n    pass"), f("what f means")),
        ("limit = 3", end("with open('x') as f:\n    pass"), f("what f means")),
        ("limit = 3", end("del globals()['f']"), f("what f means")),
        ("limit = 3", end("try:\n    pass\nexcept E as f:\n    pass"), f("what f means")),
        (
            "limit = 3",
            end("sys.modules[__name__] = None"),
            vec!["doc of A.g: changed".to_owned(), "doc of f: changed".to_owned()],
        ),
        ("limit = 3", end("A.g = None"), vec!["doc of A.g: shadowed by what A.g means".to_owned()]),
        ("limit = 3", end("A.g.__doc__ = None"), vec!["doc of A.g: shadowed by what A.g means".to_owned()]),
        ("limit = 3", end("A = None"), vec!["doc of A.g: shadowed by what A means".to_owned()]),
        ("limit = 3", end("__test__ = {}"), vec!["doc of A.g: changed".to_owned(), "doc of f: changed".to_owned()]),
        ("limit = 3", end("__name__ = 'x'"), vec!["doc of A.g: changed".to_owned(), "doc of f: changed".to_owned()]),
    ] {
        let after = DOC.replacen(from, &to, 1);
        assert_ne!(after, DOC, "{to}");
        assert_eq!(became("a.py", DOC, &after), expected, "{to}");
    }
    // In another function nobody finds it.
    let inner = DOC.replace("def f(x):\n", "def outer():\n  def f(x):\n");
    assert_eq!(became("a.py", DOC, &inner), ["doc of f: skipped"]);
    let class = DOC.replace(
        "class A:\n    def g(self):\n        \"\"\"B.",
        "def make():\n  class A:\n    def g(self):\n        \"\"\"B.",
    );
    assert_eq!(became("a.py", DOC, &class), ["doc of A.g: skipped"]);
    let module = format!("\"\"\"M.\n\n>>> 1\n1\n\"\"\"\n{DOC}");
    assert_eq!(
        became("a.py", &module, &format!("{module}__doc__ = ''\n")),
        ["doc of this module: shadowed by what this module means"]
    );
    assert_eq!(became("a.py", &module, &format!("f\"\"{module}")), ["doc of this module: gone"]);
}

#[test]
fn what_only_looks_as_if_it_turned_an_example_off_is_free() {
    let end = |line: &str| format!("limit = 3\n{line}\n");
    for (from, to) in [
        ("\"\"\"A.", "r\"\"\"A.".to_owned()),
        ("\"\"\"A.", "\"\"\"Another.".to_owned()),
        (">>> f('1')", ">>> f(\"1\")".to_owned()),
        (">>> f('1')", ">>> f( '1' )".to_owned()),
        ("limit = 3", end("f.cache = {}")),
        ("limit = 3", end("A.limit = 4")),
        ("limit = 3", end("if x:\n    def h():\n        with y as f:\n            pass")),
        ("limit = 3", end("globals()['x'] = 1")),
        ("limit = 3", end("KNOWN['f'] = f")),
        ("limit = 3", end("register(f)")),
        ("limit = 3", end("x = f(1)")),
        ("limit = 3", end("def h():\n    f = 1\n    del f")),
        ("limit = 3", end("class B:\n    def f(self):\n        return 1")),
        ("limit = 3", end("x = [f for f in y]")),
        ("import fast\n", "import fast\n\ntry:\n    from fast import f\nexcept ImportError:\n    pass\n".to_owned()),
        ("limit = 3", end("if x == f:\n    limit = 4")),
    ] {
        let after = DOC.replacen(from, &to, 1);
        assert_ne!(after, DOC, "{to}");
        assert_eq!(became("a.py", DOC, &after), [""; 0], "{to}");
    }
    let both = "if x:\n    def f():\n        \"\"\"A.\n\n        >>> 1\n        1\n        \"\"\"\nelse:\n    def f():\n        return 2\n";
    assert!(!items("a.py", both.as_bytes()).unwrap().unwrap()[0].skipped);
    let property =
        "class A:\n    @property\n    def f(self):\n        \"\"\"A.\n\n        >>> 1\n        1\n        \"\"\"\n\n";
    let setter = format!("{property}    @f.setter\n    def f(self, x):\n        return 2\n");
    assert_eq!(became("a.py", property, &setter), [""; 0]);
    // A backslash is one or two, as the letters before the quotes say.
    let raw = "def f():\n    r\"\"\"A.\n\n    >>> g('\\d\\n')\n    1\n    \"\"\"\n";
    assert_eq!(became("a.py", raw, &raw.replace("r\"\"\"", "\"\"\"")), ["doc of f: changed"]);
    assert_eq!(became("a.py", raw, &raw.replace("r\"\"\"", "\"\"\"").replace("\\n", "\\\\n")), [""; 0]);
}
