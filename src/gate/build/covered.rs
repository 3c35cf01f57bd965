//! Which files are tests, and which criteria they name.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::cases;
use super::code::Language;
use crate::guard::set;

/// Whether a file is a test by its path: one of the guard's, with something in it that can be run. What else lies in a folder of
/// tests is what they are held against.
pub(in crate::gate) fn is_test(path: &str) -> bool {
    static RUNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let ends = "rs|py|[cm]?[jt]sx?|go|java|kts?|scala|groovy|cs|fs|vb|rb|php|phpt|swift|dart|exs?|c|cc|cpp|cxx|m|mm|hs|ml|\
                    clj[cs]?|lua|jl|r|R|sh|ps1|zig|nim|erl|sol|vue|svelte|feature|robot|bats|t";
        Regex::new(&format!(r"\.(?:{ends})$")).ok()
    });
    RUNS.as_ref().is_some_and(|pattern| pattern.is_match(path)) && set::is_test(path)
}

/// Whether a file is a test, or lies where tests have what they need.
pub(in crate::gate) fn is_of_tests(path: &str) -> bool {
    const FOLDERS: &[&str] = &["spec", "specs", "fixtures", "snapshots", "mocks"];
    set::is_test(path) || path.split('/').any(|part| FOLDERS.contains(&part))
}

/// Whether a file may have tests among its code.
pub(in crate::gate) fn may_have_inline(path: &str) -> bool {
    Language::of(path) == Some(Language::Rust)
}

/// What is said in and at the tests of a file, comments and strings with it; nothing where no test runs. In a file that is no
/// test by its path, only Rust has some. Of languages that are not looked into it is all of a file in which something is run as a
/// test.
pub(in crate::gate) fn test_text<'t>(path: &str, text: &'t str, by_path: bool) -> Option<Cow<'t, str>> {
    match Language::of(path) {
        Some(language) if by_path || language == Language::Rust && text.contains("test") => {
            cases::said(text, language).by_tests.map(Cow::Owned)
        }
        None if by_path && has_test(text) => Some(Cow::Borrowed(text)),
        _ => None,
    }
}

/// The same of the tests that never run or look at nothing.
pub(in crate::gate) fn said_in_vain(path: &str, text: &str, by_path: bool) -> String {
    let language = Language::of(path).filter(|own| by_path || *own == Language::Rust && text.contains("test"));
    language.map(|language| cases::said(text, language).in_vain).unwrap_or_default()
}

/// Whether what stands before a block of Rust makes it a test.
pub(in crate::gate) fn is_rust_test(header: &str) -> bool {
    static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"#\s*\[\s*(?:cfg\s*\(\s*(?:test\b|all\s*\(\s*test\b|any\s*\(\s*test\b)|(?:\w+::)*test\b|rstest\b|test_case\b|proptest\b)")
            .ok()
    });
    MARK.as_ref().is_some_and(|mark| mark.is_match(header))
        || header.trim_end().ends_with("proptest!")
        || header.trim() == "mod tests"
}

/// Whether something in there is run as a test.
fn has_test(code: &str) -> bool {
    static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let marks = [
            r"\bdef\s+test",
            r"\bclass\s+\w*[Tt]est",
            r"\bfunc\s+(?:Test|Fuzz|Benchmark|test)\w*",
            r"\bfunction\s+test\w*",
            r"@\w*Test\b",
            r"\[(?:Fact|Theory|Test|TestMethod|TestCase)\b",
            r"\b(?:it|test|describe|specify|scenario|suite|property)\s*[.(!]",
            r"\b(?:it|test|describe|context|specify)\s+[\x22']",
            r"\bT(?:EST|YPED_TEST)(?:_F|_P|_CASE)?\s*\(",
            r"(?m)^\s*(?:Scenario(?: Outline)?|Example):",
            r"(?m)^@test ",
            r"\*\*\* Test Cases \*\*\*",
        ];
        Regex::new(&marks.join("|")).ok()
    });
    MARK.as_ref().is_some_and(|mark| mark.is_match(code))
}

/// Whether a text names a criterion: `AC-1`, and as names are written `ac_1`, `ac1`, `AC 1`, `TestAC1`. `AC-10` does not name
/// `AC-1`.
pub(in crate::gate) fn names(text: &str, id: &str) -> bool {
    let parts: Vec<&str> = id.split(['-', '.']).filter(|part| !part.is_empty()).collect();
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(found) =
        bytes.get(from..).and_then(|rest| rest.windows(2).position(|two| two.eq_ignore_ascii_case(b"ac")))
    {
        let at = from + found;
        from = at + 1;
        let begins = match at.checked_sub(1).map(|before| bytes[before]) {
            None => true,
            // `testAC1`
            Some(before) if before.is_ascii_alphanumeric() => before.is_ascii_lowercase() && bytes[at] == b'A',
            Some(_) => true,
        };
        if begins && rest_is(&bytes[at..], &parts) {
            return true;
        }
    }
    false
}

fn rest_is(mut rest: &[u8], parts: &[&str]) -> bool {
    let mut last_digit = false;
    let mut last = b'C';
    for (n, part) in parts.iter().enumerate() {
        if n > 0 && rest.first().is_some_and(|b| matches!(b, b'-' | b'_' | b' ' | b'.' | b'#')) {
            rest = &rest[1..];
        }
        let mut wanted = part.as_bytes();
        last_digit = wanted.iter().all(u8::is_ascii_digit);
        if last_digit {
            // `AC-01` is `AC-1`.
            while wanted.len() > 1 && wanted[0] == b'0' {
                wanted = &wanted[1..];
            }
            while rest.first() == Some(&b'0') && rest.get(1).is_some_and(u8::is_ascii_digit) {
                rest = &rest[1..];
            }
        }
        if rest.len() < wanted.len() || !rest[..wanted.len()].eq_ignore_ascii_case(wanted) {
            return false;
        }
        last = rest.get(wanted.len().wrapping_sub(1)).copied().unwrap_or(last);
        rest = &rest[wanted.len()..];
    }
    // `AC-1.2` and `AC-1-B` are others than `AC-1`; `ac_1_dims` and `AC-1: …` are not.
    let more = match rest {
        [b'.', next, ..] => next.is_ascii_digit(),
        [b'-', next, then @ ..] => {
            next.is_ascii_digit() || next.is_ascii_uppercase() && !then.first().is_some_and(u8::is_ascii_lowercase)
        }
        _ => false,
    };
    match rest.first() {
        Some(next) if last_digit => !next.is_ascii_digit() && !more,
        // `TestACLoginWorks`
        Some(next) if next.is_ascii_uppercase() => last.is_ascii_lowercase() && !more,
        Some(next) => !next.is_ascii_alphanumeric() && !more,
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_one_by_its_path() {
        for path in [
            "tests/test_dimmer.py",
            "test_dimmer.py",
            "pkg/dimmer_test.go",
            "web/src/App.test.tsx",
            "src/__tests__/app.js",
            "src/test/java/org/x/DimmerTest.java",
            "spec/dimmer_spec.rb",
            "tests/DimmerTest.php",
            "Dimmer.Tests/Levels.cs",
            "tests/e2e/dim.rs",
            "features/dim.feature",
            "cypress/dim.js",
            "specs/dim.ts",
            "checks/dim.robot",
            "integration_tests/dim.go",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in [
            "src/dimmer.py",
            "docs/tests.md",
            "tests/data/levels.json",
            "src/contest.py",
            "src/latest.go",
            "tests/README.md",
            "src/spec/parser.rs",
            "src/commands/test.ts",
        ] {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn a_criterion_is_named_however_names_are_written() {
        for text in [
            "def test_ac_1_dims(): pass",
            "it('AC-1: dims', …)",
            "fn ac1_dims()",
            "func TestAC1(t *testing.T)",
            "testAC1()",
            "// covers AC-01.",
            "AC 1",
        ] {
            assert!(names(text, "AC-1"), "{text}");
        }
        for text in ["AC-10", "ac_12", "mac_1", "AC-1.2", "AC-1-B", "AC", "back1", "ac2", ""] {
            assert!(!names(text, "AC-1"), "{text}");
        }
        assert!(names("test_ac_login_2_x", "AC-LOGIN-2") && !names("test_ac_logins_2", "AC-LOGIN-2"));
        assert!(names("AC-LOGIN: works", "AC-LOGIN") && !names("AC-LOGINS", "AC-LOGIN"));
        assert!(names("ac_1_2", "AC-1.2"));
    }

    #[test]
    fn of_a_source_only_its_tests_are_tests() {
        let source = "/// AC-1\npub fn dim() {}\n\n#[cfg(test)]\nmod tests {\n    // AC-2\n    #[test]\n    fn dims() { dim(); }\n}\n";
        let text = test_text("src/lib.rs", source, false).unwrap();
        assert!(names(&text, "AC-2") && !names(&text, "AC-1"), "{text}");
        let alone = "fn x() {}\n\n// AC-3: dims\n#[test]\nfn dims() { dim(); }\n";
        assert!(names(&test_text("src/lib.rs", alone, false).unwrap(), "AC-3"));
        assert!(test_text("src/lib.rs", "// AC-1\nfn x() {}\n", false).is_none());
        // A file that only lists them tests nothing.
        assert!(test_text("tests/test_x.py", "# AC-1, AC-2\n", true).is_none());
        assert!(test_text("tests/test_x.py", "# AC-1\ndef test_x():\n    assert dim(3) == 2\n", true).is_some());
        // Of other languages more is not known.
        assert!(test_text("tests/dim.bats", "@test \"AC-1\" {\n}\n", true).is_some());
        assert!(test_text("tests/dim.sh", "# AC-1\nassert dim 3\n", true).is_none());
    }
}
