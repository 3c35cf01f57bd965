//! What formatters do to a file is no edit, and what looks like it and means something else is one.

use super::{all_free, all_told, told};

const SCRIPT: &str = r#"import { on } from '../lamp';
describe('it\'s a lamp', () => {
  it('shines', done => {
    expect(on({ 'a': 1, b: "it's" })).toEqual({ a: 1, 2: 3 });
    expect(on('say "hi"', [1.50, 0XAB])).toBe((a && b) || c && d);
    expect((on?.b).c).toBe(x && (y && z));
    expect(new Lamp).toBe(`${ a } ${b}`);
    const [one,] = on(/x/mg, [, 2], [3, , ]);
    for (;;) { on(); }
    for (let i = 0; ; i++) { on(i); }
    if (one) ;
    (function () { on(1); }());
  });
  test.each`a|b
    ${1}|${2}
    `('is $a', ({ a, b }) => { expect(on(a)).toBe(b); });
  it.each([[1, 2], [3, 4]])('is %d', (a, b) => { expect(on(a)).toBe(b); });
});
"#;

#[test]
fn what_prettier_does_is_free() {
    all_free(
        "test/lamp.test.js",
        SCRIPT,
        &[
            (r"describe('it\'s a lamp'", r#"describe("it's a lamp""#),
            ("it('shines', done =>", "it(\"shines\", (done) =>"),
            ("{ 'a': 1, b: \"it's\" }", "{ a: 1, \"b\": 'it\\'s' }"),
            ("{ 'a': 1, b: \"it's\" }", "{\n      'a': 1,\n      b: \"it's\",\n    }"),
            ("2: 3 }", "'2': 3 }"),
            ("'say \"hi\"'", "\"say \\\"hi\\\"\""),
            ("[1.50, 0XAB]", "[1.5, 0xab,]"),
            ("(a && b) || c && d", "a && b || (c && d)"),
            ("x && (y && z)", "x && y && z"),
            ("x && (y && z)", "(x && y) && z"),
            ("new Lamp", "(new Lamp())"),
            ("`${ a } ${b}`", "`${a} ${ b }`"),
            ("const [one,] =", "const [one] ="),
            ("/x/mg", "/x/gm"),
            ("[3, , ]", "[\n      3,\n      ,\n    ]"),
            ("{ on(); }", "{ on(); ; }"),
            ("{ on(); }", "{\n      on()\n    }"),
            ("(function () { on(1); }());", "(function () {\n      on(1);\n    })();"),
            ("a|b\n    ${1}|${2}\n    `", "\n    a    | b\n    ${1} | ${2}\n  `"),
            ("[1, 2], [3, 4]]", "[1, 2],\n    [3, 4],\n    ['5', 6],\n  ]"),
            ("import { on } from '../lamp';\n", "import { on } from \"../lamp\";\r\n"),
        ],
    );
    let typed = "type A = | 'a' | (B)[];\ninterface I { 'a': string, b(): void }\nconst on = (x: number) => (x as any).y;\n\
                 const f = x => x;\nclass T { 'a' = 1; b() {} }\n";
    all_free(
        "test/lamp.test.ts",
        typed,
        &[
            ("| 'a' | (B)[]", "\"a\" | B[]"),
            ("{ 'a': string, b(): void }", "{\n  a: string;\n  b(): void;\n}"),
            ("(x as any).y", "((x as any).y)"),
            ("x => x;", "(x) => x;"),
            ("class T { 'a' = 1; b() {} }", "class T {\n  a = 1;\n  b() {}\n}"),
        ],
    );
    let page =
        "it('is', () => { expect(on(<p className='a'>  dim <b>lamp</b> of {x} and a long\n  line</p>)).toBe(1); });\n";
    all_free(
        "test/lamp.test.jsx",
        page,
        &[
            ("'a'", "\"a\""),
            (
                "<p className='a'>  dim <b>lamp</b> of {x} and a long\n  line</p>",
                "(\n  <p className=\"a\">\n    {\" \"}\n    dim <b>lamp</b> of{\" \"}\n    {x} and\n    a long line\n  </p>\n)",
            ),
        ],
    );
}

#[test]
fn what_only_looks_like_it_is_told_in_javascript() {
    all_told(
        "test/lamp.test.js",
        SCRIPT,
        &[
            ("'a': 1, b", "'c': 1, b"),
            ("'a': 1, b", "['a']: 2, b"),
            ("\"it's\"", "\"its\""),
            ("\"it's\"", "\"it\\\\'s\""),
            ("\"it's\"", "`it's`"),
            ("2: 3 }", "'02': 3 }"),
            ("2: 3 }", "2: '3' }"),
            ("'say \"hi\"'", "'say \\n\"hi\"'"),
            ("1.50", "1.05"),
            ("1.50", "'1.50'"),
            ("0XAB", "0xac"),
            ("(a && b) || c && d", "a && (b || c) && d"),
            ("x && (y && z)", "x && (z && y)"),
            ("x && (y && z)", "x && y || z"),
            ("(on?.b).c", "on?.b.c"),
            ("`${ a } ${b}`", "`${ a }  ${b}`"),
            ("`${ a } ${b}`", "`${ b } ${a}`"),
            ("new Lamp", "new Lamp(1)"),
            ("const [one,]", "const [,one]"),
            ("/x/mg", "/x/mi"),
            ("/x/mg", "/X/mg"),
            ("[, 2]", "[2]"),
            ("[3, , ]", "[3]"),
            ("[3, , ]", "[3, , , ]"),
            ("for (let i = 0; ; i++)", "for (let i = 0; i++; )"),
            ("if (one) ;\n", ""),
            ("done =>", "({ done }) =>"),
            ("done =>", "async done =>"),
            ("${1}|${2}", "${1}|${3}"),
            ("a|b\n", "b|a\n"),
            ("'is $a'", "'is $b'"),
        ],
    );
    let directive = "it('is', () => { ('use strict'); expect(on()).toBe(1); });\n";
    all_told("test/lamp.test.js", directive, &[("('use strict')", "'use strict'")]);
    let page = "it('is', () => { expect(on(<p className='a'>dim <b>lamp</b></p>)).toBe(1); });\n";
    all_told(
        "test/lamp.test.jsx",
        page,
        &[("dim <b>", "dim<b>"), ("dim <b>", "dim\n<b>"), ("'a'", "'b'"), ("'a'", r"'\a'"), ("lamp", "lamps")],
    );
    let holes = "const a = [,];\nit('is', () => { expect(on(a)).toBe(1); });\n";
    all_told("test/lamp.test.js", holes, &[("[,]", "[]")]);
}

const PYTHON: &str = r#"
import pytest
class TestLamp():
    def test_one(self):
        assert on(1) == \
            3, ('dim')
        a = 1; b = 2
        for (x, y) in on(2): assert x == y
        with open(a) as f, \
             open(b) as g:
            pass
        assert on(U'it\'s', F'\'{a["b"]}\'', R'\d', 0XAB, 1E5) == (x and y)
        t = 1, 2
        s = t[1, 2]
        u = 'ab' 'cd'
        del (a), b
        from lamp import a
        for x in on(5): assert x == '\uABCD\N{dash}'
        assert on(6) == b'\uABCD' and f'{a:>3}'
        assert not (on(3) or on(4)) and (a < b) < c
        return (1,)
@pytest.mark.parametrize('a, b', [(1, 2), (3, 4)])
def test_rows(a, b):
    """Rows.

      >>> on(1)
      3
    """
    assert on(a) == b
"#;

#[test]
fn what_black_does_is_free() {
    all_free(
        "tests/test_lamp.py",
        PYTHON,
        &[
            ("class TestLamp():", "class TestLamp:"),
            ("assert on(1) == \\\n            3, ('dim')", "assert (\n            on(1) == 3\n        ), \"dim\""),
            ("a = 1; b = 2", "a = 1\n        b = 2"),
            ("for (x, y) in on(2): assert x == y", "for x, y in on(2):\n            assert x == y"),
            ("with open(a) as f, \\\n             open(b) as g:", "with open(a) as f, open(b) as g:"),
            (
                "with open(a) as f, \\\n             open(b) as g:",
                "with (\n            open(a) as f,\n            open(b) as g,\n        ):",
            ),
            ("U'it\\'s'", "\"it's\""),
            (r#"F'\'{a["b"]}\''"#, r#"f"'{a["b"]}'""#),
            (r"R'\d'", r#"r"\d""#),
            ("0XAB, 1E5", "0xAB, 1e5"),
            ("(x and y)", "((x and y))"),
            ("t = 1, 2", "t = (\n            1,\n            2,\n        )"),
            ("t[1, 2]", "t[\n            1,\n            2,\n        ]"),
            ("'ab' 'cd'", "\"ab\" \"cd\""),
            ("'ab' 'cd'", "(\n            'ab'\n            'cd'\n        )"),
            ("'ab' 'cd'", "'abcd'"),
            ("del (a), b", "del a, b"),
            ("{a[\"b\"]}", "{ a[\"b\"] }"),
            (r"'\uABCD\N{dash}'", r#""\uabcd\N{DASH}""#),
            ("from lamp import a", "from lamp import (\n            a,\n        )"),
            ("for x in on(5)", "for (\n            x\n        ) in on(5)"),
            ("[(1, 2), (3, 4)]", "[\n        (1, 2),\n        (3, 4),\n        (5, 6),\n    ]"),
            ("\"\"\"Rows.\n\n      >>> on(1)\n      3\n    \"\"\"", "\"\"\"Rows.\n\n    >>> on(1)\n    3\n    \"\"\""),
        ],
    );
}

#[test]
fn what_only_looks_like_it_is_told_in_python() {
    all_told(
        "tests/test_lamp.py",
        PYTHON,
        &[
            ("assert on(1) == \\\n            3, ('dim')", "assert (on(1) == 3, 'dim')"),
            ("class TestLamp():", "class TestLamp(Lamp):"),
            ("a = 1; b = 2", "b = 2; a = 1"),
            ("for (x, y) in", "for (y, x) in"),
            ("U'it\\'s'", "'it\\\\\\'s'"),
            ("U'it\\'s'", "b'it\\'s'"),
            (r#"{a["b"]}"#, r#"{a["c"]}"#),
            (r#"F'\'{a["b"]}\''"#, r#"'\'{a["b"]}\''"#),
            (r"R'\d'", r"'\n'"),
            (r"R'\d'", r"r'\\d'"),
            ("0XAB", "0xAC"),
            ("1E5", "1E6"),
            ("1E5", "1E5, 7"),
            ("t = 1, 2", "t = 1, 2, 3"),
            ("t = 1, 2", "t = [1, 2]"),
            ("t = 1, 2", "t = 1"),
            ("t[1, 2]", "t[1,]"),
            ("'ab' 'cd'", "'cd' 'ab'"),
            ("'ab' 'cd'", "'ab', 'cd'"),
            ("del (a), b", "del b"),
            ("(x and y)", "x and y"),
            ("not (on(3) or on(4)) and", "not on(3) or on(4) and"),
            ("(a < b) < c", "a < b < c"),
            ("(a < b) < c", "a < (b < c)"),
            (r"\uABCD\N", r"\uabce\N"),
            (r"b'\uABCD'", r"b'\uabcd'"),
            ("{a:>3}", "{a: >3}"),
            ("{a:>3}", "{a:>4}"),
            ("{a:>3}", "{b:>3}"),
            ("from lamp import a", "from lamp import b"),
            ("(1,)", "(1)"),
            ("(1,)", "1"),
            (">>> on(1)\n      3", ">>> on(1)\n      4"),
            (">>> on(1)\n      3", ">>> on(1)\n        3"),
        ],
    );
    // A digit behind an octal sign is part of it.
    let octal = "def test_one():\n    assert on() == '\\1' '2'\n";
    all_told("tests/test_lamp.py", octal, &[("'\\1' '2'", "'\\12'")]);
    let shown = "def test_one():\n    assert on() == f'{x=}'\n";
    all_told("tests/test_lamp.py", shown, &[("{x=}", "{x = }")]);
}

const RUST: &str = r#"
macro_rules! own { ($x:expr) => ( on($x) ) }
impl<A: Send, B> On<A> for Lamp<B> { fn on() {} }
fn check<A, B>(a: A, b: B) where A: Into<B> { on(a, b); }
#[test]
fn one() {
    assert_eq!(on(1, (2,)), vec![1, 2]);
    assert_eq!(on(&[3], Lamp { a: 4 }), 5);
    own!(6, 7);
    on((5));
    on(|x| if x { 1 } else { 2 });
    let a = on(8).map(|x| x + 1);
    match a { | 9 => on(9), 10 => { on(10) } _ => {} }
    let (b,) = (on.field)(11);
    if b { return 12 }
    on(13)
}
"#;

#[test]
fn what_rustfmt_does_is_free() {
    all_free(
        "tests/lamp.rs",
        RUST,
        &[
            ("where A: Into<B> {", "\nwhere\n    A: Into<B>,\n{"),
            ("fn check<A, B>(a: A, b: B)", "fn check<\n    A,\n    B,\n>(\n    a: A,\n    b: B,\n)"),
            ("vec![1, 2]", "vec![\n        1,\n        2,\n    ]"),
            (
                "assert_eq!(on(1, (2,)), vec![1, 2]);",
                "assert_eq!(\n        on(\n            1,\n            (2,),\n        ),\n        vec![1, 2],\n    );",
            ),
            (
                "on(&[3], Lamp { a: 4 })",
                "on(\n            &[3,],\n            Lamp {\n                a: 4,\n            },\n        )",
            ),
            ("on((5))", "on(((5)))"),
            (
                "|x| if x { 1 } else { 2 }",
                "|x| {\n        if x {\n            1\n        } else {\n            2\n        }\n    }",
            ),
            ("( on($x) ) }", "{\n        on($x)\n    };\n}"),
            ("impl<A: Send, B> On<A> for Lamp<B>", "impl<\n    A: Send,\n    B,\n> On<A,> for Lamp<B>"),
            ("|x| x + 1", "|x| {\n        x + 1\n    }"),
            (
                "{ | 9 => on(9), 10 => { on(10) } _ => {} }",
                "{\n        9 => {\n            on(9)\n        }\n        10 => on(10),\n        _ => {},\n    }",
            ),
            ("{ return 12 }", "{\n        return 12;\n    }"),
        ],
    );
}

#[test]
fn what_only_looks_like_it_is_told_in_rust() {
    all_told(
        "tests/lamp.rs",
        RUST,
        &[
            ("(2,)", "(2)"),
            ("( on($x) )", "(( on($x) ))"),
            ("{ 1 } else { 2 }", "{ 1; } else { 2 }"),
            ("fn on() {}", "fn on() { dim(); }"),
            ("own!(6, 7)", "own!(6, 7,)"),
            ("(on.field)(11)", "on.field(11)"),
            ("on(13)\n", "on(13);\n"),
            ("on(1, (2,))", "on(1, 2,)"),
            ("let (b,) =", "let (b) ="),
            ("| 9 =>", "| 9 | 11 =>"),
            ("{ on(10) }", "{ on(10); }"),
            ("|x| x + 1", "|x| { x + 1; }"),
            ("vec![1, 2]", "vec![1; 2]"),
        ],
    );
}

const GO: &str = "package lamp

import \"testing\"

func TestOn(t *testing.T) {
	if (On(1) != 3) { t.Fatal(0XAB, 1E5) }
	for i := 0; i < 3; i++ { On(i); On(i + 1) }
	for ; Next(); { On(2) }
	x := []int{1, 2}; On(x, (&y).z)
}
";

#[test]
fn what_gofmt_does_is_free() {
    all_free(
        "lamp_test.go",
        GO,
        &[
            ("if (On(1) != 3) { t.Fatal(0XAB, 1E5) }", "if On(1) != 3 {\n\t\tt.Fatal(0xAB, 1e5)\n\t}"),
            ("{ On(i); On(i + 1) }", "{\n\t\tOn(i)\n\t\tOn(i+1)\n\t}"),
            ("{1, 2}; On", "{\n\t\t1,\n\t\t2,\n\t}\n\tOn"),
        ],
    );
    all_told(
        "lamp_test.go",
        GO,
        &[
            ("!= 3", "!= 4"),
            ("On(i); On(i + 1)", "On(i + 1); On(i)"),
            ("for ; Next(); {", "for ; ; Next() {"),
            ("for ; Next(); {", "for Next(); ; {"),
            ("(&y).z", "&y.z"),
            ("0XAB", "\"0XAB\""),
        ],
    );
}

/// However deep it nests, and however long a chain is.
#[test]
fn parentheses_and_chains_are_read_at_once() {
    let deep = |inner: &str| format!("def test_one():\n    assert {}{inner}{}\n", "(".repeat(400), ")".repeat(400));
    assert_eq!(told("tests/test_a.py", &deep("on(1)"), "def test_one():\n    assert on(1)\n"), []);
    let long = |last: &str| format!("it('is', () => {{ expect({}x{last}).toBe(1); }});\n", "a && ".repeat(3_000));
    assert_eq!(told("a.test.js", &long(""), &long("").replace("a && a && ", "a && (a) && ")), []);
    assert_eq!(told("a.test.js", &long(""), &long("2")).len(), 1);
    let list =
        |comma: &str| format!("#[test]\nfn one() {{\n    on(vec![{}]);\n}}\n", format!("[1{comma}], ").repeat(20_000));
    assert_eq!(told("tests/a.rs", &list(""), &list(",")), []);
}
