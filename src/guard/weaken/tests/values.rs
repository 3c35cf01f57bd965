//! Expectations that stand beside the check: in rows, under names of the file, under names of a loop.

use super::super::What::*;
use super::*;

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
