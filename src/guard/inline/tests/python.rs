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
            "what unittest means",
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

const PYTEST: &str = "import pytest\n\nROWS = [(1, 1)]\n\n\ndef add(a):\n    return a\n\n\n@pytest.fixture\ndef want():\n    return 1\n\n\ndef test_add(want):\n    assert add(1) == want\n\n\nclass TestMore:\n    @pytest.mark.parametrize(\"a, b\", ROWS)\n    def test_rows(self, a, b):\n        assert add(a) == b\n";

#[test]
fn what_pytest_finds_is_not_left_out_from_beside_it() {
    let end = |text: &str| became("a.py", PYTEST, &format!("{PYTEST}{text}"));
    let both = |by: &str| vec![format!("TestMore.test_rows: decided by {by}"), format!("test_add: decided by {by}")];
    for (text, by) in [
        ("\ndef setup_module():\n    pytest.skip('no')\n", "setup_module"),
        ("\ndef setup_function(f):\n    pytest.skip('no')\n", "setup_function"),
        ("\ndef pytest_generate_tests(metafunc):\n    metafunc.parametrize('x', [])\n", "pytest_generate_tests"),
        ("\n@pytest.fixture(autouse=True)\ndef _no():\n    pytest.skip('no')\n", "_no"),
    ] {
        assert_eq!(end(text), both(by), "{text}");
    }
    for (text, by) in [
        ("    def setup_method(self):\n        pytest.skip('no')\n", "TestMore.setup_method"),
        ("    @pytest.fixture(autouse=True)\n    def _no(self):\n        pytest.skip('no')\n", "TestMore._no"),
        ("    __test__ = False\n", "TestMore.__test__"),
        ("    pytestmark = pytest.mark.skip\n", "TestMore.pytestmark"),
        ("    def __init__(self):\n        pass\n", "TestMore.__init__"),
        ("TestMore.__test__ = False\n", "what TestMore means"),
        ("TestMore = None\n", "what TestMore means"),
        ("setattr(TestMore, '__test__', False)\n", "what TestMore means"),
        ("for TestMore in [None]: pass\n", "what TestMore means"),
    ] {
        assert_eq!(end(text), [format!("TestMore.test_rows: decided by {by}")], "{text}");
    }
    for text in ["for test_add in [f]: pass\n", "test_add, x = f, 1\n", "with f() as test_add:\n    pass\n"] {
        assert_eq!(end(text), ["test_add: shadowed by what test_add means"], "{text}");
    }
    let count = frozen("a.py", PYTEST).len();
    for line in [
        "from pytest import skip\nskip('x', allow_module_level=True)",
        "x = pytest.importorskip('none')",
        "pytest.raises = f",
        "setattr(pytest, 'raises', f)",
    ] {
        let told = became("a.py", PYTEST, &PYTEST.replacen("ROWS =", &format!("{line}\nROWS ="), 1));
        let changed = told.iter().filter(|said| said.ends_with(": changed")).count();
        assert_eq!((told.len(), changed), (count, count), "{line}: {told:?}");
    }
    edits(
        "a.py",
        PYTEST,
        &[
            ("a fixture", "    return 1\n", "    return add(1)\n", &["want: changed"]),
            ("rows", "[(1, 1)]", "[]", &["ROWS: changed"]),
            ("another module", "import pytest", "import fake as pytest", &["what pytest means: changed"]),
            ("one more", "import pytest", "import pytest\nfrom fake import pytest", &["what pytest means: changed"]),
            ("the code", "    return a\n", "    return a + 0\n", &[]),
            ("another import", "import pytest", "import os, pytest", &[]),
            ("a constant of the code", "ROWS =", "LIMIT = 3\nROWS =", &[]),
        ],
    );
    for text in [
        "\ndef setup_module():\n    prepare()\n",
        "\n@pytest.fixture\ndef other():\n    pytest.skip('no')\n",
        "\n@pytest.fixture(autouse=True)\ndef clean():\n    yield\n",
        "    def setup_method(self):\n        self.a = 1\n",
        "    def run(self):\n        return 1\n",
        "    limit = 3\n",
        "\nclass TestOther:\n    __test__ = False\n    def setup_method(self):\n        pytest.skip('no')\n    def test_a(self):\n        pass\n",
        "x = TestMore()\n",
        "TestMore.limit = 3\n",
    ] {
        assert_eq!(end(text), [""; 0], "{text}");
    }
    // Fixtures of a file without tests are code.
    assert_eq!(names("plugin.py", "import pytest\n\n\n@pytest.fixture\ndef want():\n    return 1\n"), [""; 0]);
}

#[test]
fn what_unittest_finds_is_not_left_out_from_beside_it() {
    let text = "import unittest\n\n\nclass AddTests(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1).next(), 2)\n";
    let end = |more: &str| became("a.py", text, &format!("{text}{more}"));
    for (more, said) in [
        ("    def setUp(self):\n        self.skipTest('x')\n", "decided by AddTests.setUp"),
        ("    def run(self, result=None):\n        return result\n", "decided by AddTests.run"),
        ("    def assertEqual(self, *a): pass\n", "shadowed by AddTests.assertEqual"),
        ("    assertEqual = print\n", "shadowed by AddTests.assertEqual"),
        ("AddTests.assertEqual = lambda *a: None\n", "shadowed by what AddTests means"),
        ("AddTests.setUp = skip\n", "decided by what AddTests means"),
    ] {
        assert_eq!(end(more), [format!("AddTests.test_add: {said}")], "{more}");
    }
    for more in [
        "    def setUp(self):\n        self.a = 1\n",
        "    def next(self):\n        return 1\n",
        "    def assertNear(self, *a): pass\n",
        "AddTests.near = 1\n",
        "unittest.TestCase.maxDiff = None\n",
    ] {
        assert_eq!(end(more), [""; 0], "{more}");
    }
    let all = ["AddTests.test_add: changed", "what unittest means: changed"];
    assert_eq!(end("unittest.TestCase.assertEqual = print\n"), all);
    let import = |line: &str| became("a.py", text, &text.replacen("import unittest", line, 1));
    assert_eq!(import("import fake as unittest"), ["what unittest means: changed"]);
    assert_eq!(import("import unittest\nfrom fake import unittest"), ["what unittest means: changed"]);
    assert_eq!(import("import unittest\nimport unittest.mock"), [""; 0]);
    assert_eq!(import("import os, unittest"), [""; 0]);
}

#[test]
fn an_example_keeps_its_names_whatever_takes_them() {
    let text = "def f(x):\n    \"\"\"A.\n\n    >>> f(1)\n    1\n    \"\"\"\n";
    for (line, taken) in [
        ("for f in [g]: pass", true),
        ("globals()[\"f\"] = g", true),
        ("with g() as f: pass", true),
        ("(f := g)", true),
        ("del f", true),
        ("for h in [g]: pass", false),
        ("globals()[\"h\"] = g", false),
        ("g(h)", false),
        ("h: int = 1", false),
    ] {
        let after = text.replacen("    >>> f(1)", &format!("    >>> {line}\n    >>> f(1)"), 1);
        let told = became("a.py", text, &after);
        assert_eq!(told.iter().any(|said| said.contains("shadowed")), taken, "{line}: {told:?}");
    }
    for (line, taken) in [
        ("match g:\n    case f:\n        pass", true),
        ("match g:\n    case (1, f):\n        pass", true),
        ("type f = int", true),
        ("match g:\n    case h:\n        pass", false),
        ("match g:\n    case f(1):\n        pass", false),
        ("match g:\n    case a.f:\n        pass", false),
        ("type h = f", false),
    ] {
        let told = became("a.py", text, &format!("{text}\n\n{line}\n"));
        assert_eq!(told == ["doc of f: shadowed by what f means"], taken, "{line}: {told:?}");
    }
}
