//! Tests that move to where no runner looks, and to where one does.

use super::super::What::*;
use super::*;

const PYTHON: &str = "def test_dim():\n    assert dim(2) == 3\n";
const GO: &str = "package lamp\n\nfunc TestDim(t *testing.T) {\n\tif Dim(2) != 3 {\n\t\tt.Fatal(1)\n\t}\n}\n";
const RUST: &str = "#[test]\nfn dims() {\n    assert_eq!(dim(2), 3);\n}\n";
const SCRIPT: &str = "it('dims', () => { expect(dim(2)).toBe(3); });\n";

/// What is found where a text goes from one path to another, beside other new texts.
fn moved(text: &str, from: &str, to: &str, others: &[(&str, &str)]) -> Vec<What> {
    let text = Some(text.as_bytes());
    let mut all = vec![(from, text, None), (to, None, text)];
    all.extend(others.iter().map(|(path, new)| (*path, None, Some(new.as_bytes()))));
    weaker_all(&all).iter().flat_map(|report| report.found.iter().map(|one| one.what)).collect()
}

#[test]
fn a_test_that_moves_to_where_no_runner_looks_is_skipped() {
    let lost = [
        (PYTHON, "tests/test_m.py", "tests/checks_m.py"),
        (PYTHON, "tests/m_test.py", "tests/conftest.py"),
        (GO, "m_test.go", "testdata/m_test.go"),
        (GO, "m_test.go", "_old/m_test.go"),
        (GO, "m_test.go", "m_windows_test.go"),
        (GO, "m_test.go", "m_plan9_amd64_test.go"),
        (GO, "a/m_test.go", "a/m_testing.go"),
        (RUST, "tests/a.rs", "tests/common/a.rs"),
        (RUST, "tests/a.rs", "tests/a/mod.rs"),
        (SCRIPT, "a.test.js", "test/a.helper.js"),
        (SCRIPT, "src/a.spec.ts", "src/a.ts"),
    ];
    for (text, from, to) in lost {
        assert_eq!(moved(text, from, to, &[]), [Skipped], "{to}");
    }
    let found = [
        (PYTHON, "tests/test_m.py", "tests/unit/test_m.py"),
        (PYTHON, "tests/test_m.py", "tests/m_test.py"),
        (PYTHON, "tests/checks_m.py", "tests/checks_n.py"),
        (GO, "m_test.go", "lamp/m_test.go"),
        (GO, "m_test.go", "m_linux_test.go"),
        (GO, "m_test.go", "windows_test.go"),
        (GO, "m_windows_test.go", "lamp/m_windows_test.go"),
        (RUST, "tests/a.rs", "tests/b.rs"),
        (RUST, "tests/a.rs", "tests/a/main.rs"),
        (RUST, "tests/a.rs", "crates/lamp/tests/a.rs"),
        (SCRIPT, "a.test.js", "test/a.spec.js"),
        (SCRIPT, "a.test.js", "src/__tests__/a.js"),
        (SCRIPT, "test/a.js", "test/b.js"),
    ];
    for (text, from, to) in found {
        assert_eq!(moved(text, from, to, &[]), [], "{to}");
    }
    assert_eq!(
        moved(PYTHON, "tests/test_m.py", "tests/checks_m.py", &[("tests/test_n.py", "from checks_m import *\n")]),
        []
    );
    assert_eq!(moved(RUST, "tests/a.rs", "tests/common/a.rs", &[("tests/common/mod.rs", "pub mod a;\n")]), []);
    assert_eq!(
        moved(RUST, "tests/a.rs", "tests/common/a.rs", &[("tests/b.rs", "#[path = \"common/a.rs\"]\nmod c;\n")]),
        []
    );
    let node = format!("import test from 'node:test';\nimport {{ expect }} from 'expect';\n{SCRIPT}");
    assert_eq!(moved(&node, "a.test.js", "test/a.js", &[]), []);
}

#[test]
fn a_module_of_tests_that_is_cut_out_needs_its_line() {
    let old = format!("pub fn dim() {{}}\n#[cfg(test)]\nmod tests {{\n    use super::*;\n{RUST}}}\n");
    let cut = |rest: &str| {
        let all =
            [("src/lib.rs", Some(old.as_bytes()), Some(rest.as_bytes())), ("src/test.rs", None, Some(RUST.as_bytes()))];
        weaker_all(&all).iter().flat_map(|report| report.found.iter().map(|one| one.what)).collect::<Vec<_>>()
    };
    assert_eq!(cut("pub fn dim() {}\n"), [Skipped]);
    assert_eq!(cut("pub fn dim() {}\n#[cfg(test)]\nmod test;\n"), []);
    assert_eq!(cut("pub fn dim() {}\n#[cfg(test)]\n#[path = \"test.rs\"]\nmod tests;\n"), []);
}

#[test]
fn a_new_file_that_breaks_off_is_unknown() {
    let unread = |path: &str, old: Option<&str>, new: &str| {
        let report = weaker(path, old.map(str::as_bytes), Some(new.as_bytes()));
        assert_eq!(report.found, []);
        report.unread.is_some()
    };
    assert!(unread("tests/test_a.py", None, "def test_dim():\n    assert dim(2 == 3\n"));
    assert!(unread("tests/a.rs", None, "#[test]\nfn dims() {\n    assert_eq!(dim(2), 3;\n"));
    assert!(unread("m_test.go", None, "package m\n\nfunc TestA(t *testing.T) {\n\tif Dim(2) != {\n"));
    assert!(unread("a.test.js", None, "it('dims', () => { expect(dim(2)).toBe(3;\n"));
    // A sample that is broken on purpose is no file of tests.
    assert!(!unread("tests/data/broken.py", None, "def dim(:\n"));
    assert!(!unread("tests/test_a.py", Some(PYTHON), PYTHON));
}

#[test]
fn a_whole_stands_for_its_parts_and_its_length() {
    let old = "result = dim('1,2')\nassert len(result) == 2\nassert result[0] == 1\nassert result[1] == 2";
    let honest = [
        "result = dim('1,2')\nassert result == [1, 2]",
        "assert dim('1,2') == [1, 2]",
        "result = dim('1,2')\none, two = result\nassert one == 1\nassert two == 2",
        "one, two = dim('1,2')\nassert one == 1\nassert two == 2",
    ];
    quiet(python::PATH, python::file, &honest.map(|new| (old, new)));
    let cheats = [
        "result = dim('1,2')\nassert result[0] == 1\nassert result[1] == 2",
        "result = dim('1,2')\none, *two = result\nassert one == 1\nassert two[0] == 2",
    ];
    told(python::PATH, python::file, &cheats.map(|new| (AssertionRemoved, old, new)));
    quiet(
        script::PATH,
        script::file,
        &[(
            "const a = dim();\nexpect(a.length).toBe(2);\nexpect(a[0]).toBe(1);\nexpect(a[1]).toBe(2);",
            "expect(dim()).toEqual([1, 2]);",
        )],
    );
}

#[test]
fn a_module_that_is_mocked_in_part_is_what_is_left_of_it() {
    let named = "import { dim } from '../thing';\n";
    let test = "it('dims', () => { expect(dim(2)).toBe(3); });\n";
    let old = format!("{named}{test}");
    let with = |factory: &str| format!("{named}vi.mock('../thing', {factory});\n{test}");
    let honest = [
        "async (orig) => ({ ...(await orig()), now: () => 0 })",
        "async (importOriginal) => ({ ...(await importOriginal()), now: () => 0 })",
        "async (orig) => { const real = await orig(); return { ...real, now: () => 0 }; }",
        "async (orig) => { const actual = await orig(); return { ...actual, dim: vi.fn(actual.dim) }; }",
    ];
    for factory in honest {
        quiet(script::PATH, str::to_owned, &[(&old, &with(factory))]);
    }
    let cheats = [
        "async (orig) => ({ ...(await orig()), dim: () => 3 })",
        "async (importOriginal) => ({ ...(await importOriginal()), dim: () => 3 })",
        "() => ({ ...vi.importActual('../thing'), dim() { return 3; } })",
        "async (orig) => { const actual = await orig(); return { ...actual, dim: vi.fn(() => 3) }; }",
    ];
    for factory in cheats {
        told(script::PATH, str::to_owned, &[(MocksSubject, &old, &with(factory))]);
    }
}
