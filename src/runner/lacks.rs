//! Whether a test failed in what it asserts, or because something that it needs is not there.
//!
//! On the base a new test must fail in what it asserts. One that names a function which the base does not have fails too, and would
//! whatever it asserts: that proves nothing. Frameworks tell the two apart only in their words.

/// What a report says of a failure.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told<'a> {
    /// The `type` of it.
    pub(super) kind: &'a str,
    pub(super) message: &'a str,
    /// All that is said of it.
    pub(super) body: &'a str,
}

/// What they say then, in the languages whose reports are known. Each stands at the start of the message, or after a class.
const STARTS: &[&str] = &[
    // Python
    "AttributeError",
    "ImportError",
    "IndentationError",
    "ModuleNotFoundError",
    "NameError",
    "NotImplementedError",
    "SyntaxError",
    "fixture ",
    "Failed: Timeout",
    // JavaScript and TypeScript
    "ReferenceError",
    "Cannot find module",
    "Cannot find package",
    "Test suite failed to run",
    "Exceeded timeout of",
    "thrown: ",
    // Java, Kotlin, Scala
    "java.lang.NoClassDefFoundError",
    "java.lang.NoSuchFieldError",
    "java.lang.NoSuchMethodError",
    "java.lang.ClassNotFoundException",
    "java.lang.ExceptionInInitializerError",
    "java.lang.UnsupportedOperationException",
    "kotlin.NotImplementedError",
    // Ruby
    "LoadError",
    "NoMethodError",
    // C#
    "System.MissingMethodException",
    "System.NotImplementedException",
    "System.TypeLoadException",
];
/// What they say somewhere in it.
const PARTS: &[&str] = &[
    // JavaScript and TypeScript
    " is not a function",
    " is not iterable",
    "Cannot convert undefined or null",
    "Cannot destructure",
    "Cannot read propert",
    " is not a constructor",
    " is not defined",
    " does not provide an export named ",
    // Ruby
    "uninitialized constant ",
    "undefined method ",
    "undefined local variable ",
    // PHP
    "Call to undefined ",
    // Go
    "[build failed]",
    "[setup failed]",
    // Rust
    "not implemented",
    "not yet implemented",
    "error[E0",
    "could not compile",
    "called `Option::unwrap()` on a `None` value",
    "called `Option::expect()` on a `None` value",
    "called `Result::unwrap()` on an `Err` value",
];
/// What they say somewhere in it where nothing was asserted.
const BREAKS: &[&str] = &[
    // Any: what the system says.
    "ENOENT",
    "o such file or directory",
    "Command failed",
    "timed out",
    "Timeout of ",
    // Rust: what `expect` shows of an error, and what the language itself panics with.
    "Os { code: ",
    "Error { ",
    "Error(",
    "index out of bounds: ",
    " out of range for slice",
    " with overflow",
    "attempt to divide by zero",
    "entered unreachable code",
];
/// What the `type` of a failure is where the test was ended: by a signal, by the time.
const ENDED: &[&str] = &["test abort", "test timeout"];
/// What is said of a test that was never begun: it could not be loaded, built or set up. Each stands at the start of the message.
const UNLOADED: &[&str] = &[
    "collection failure",
    "fixture ",
    "failed on setup with \"file ",
    "failed on setup with \"fixture ",
    "ImportError",
    "ModuleNotFoundError",
    "LoadError",
    "Cannot find module",
    "Cannot find package",
    "Test suite failed to run",
    "java.lang.NoClassDefFoundError",
    "java.lang.ClassNotFoundException",
];
const UNBUILT: &[&str] = &["[build failed]", "[setup failed]", "could not compile", "error[E0"];

/// Whether it failed otherwise than in what it asserts.
pub(super) fn says(told: &Told<'_>) -> bool {
    let message = told.message.trim_start_matches(['●', ' ']);
    // Rust says where it panicked, and in the next line why.
    let mut lines = told.body.lines().skip_while(|line| !line.contains(" panicked at "));
    let message = &match lines.nth(1) {
        Some(why) => format!("{message} {why}"),
        None => message.to_owned(),
    };
    if STARTS.iter().any(|start| message.starts_with(start)) || PARTS.iter().any(|part| message.contains(part)) {
        return true;
    }
    if let Some(cause) = cause_for_node(told) {
        return !is_asserted(cause);
    }
    let asserts = message.to_ascii_lowercase().contains("assert") || is_asserted(message);
    is_thrown(message, message)
        || is_thrown(told.kind, message)
        || ENDED.contains(&told.kind)
        || told.body.lines().any(|line| line.trim_start().starts_with("panic: "))
        || (!asserts && BREAKS.iter().any(|part| message.contains(part)))
}

/// Whether it was never begun.
pub(super) fn was_unloaded(told: &Told<'_>) -> bool {
    let message = told.message.trim_start_matches(['●', ' ']);
    UNLOADED.iter().any(|start| message.starts_with(start)) || UNBUILT.iter().any(|part| message.contains(part))
}

/// Node's own runner wraps what a test threw: its message has no class. What it wraps stands in the body, and is not there where the
/// time was over.
fn cause_for_node<'a>(told: &Told<'a>) -> Option<&'a str> {
    let (_, about) = told.body.split_once("code: 'ERR_TEST_FAILURE'")?;
    let cause = about.split_once("cause: ").map_or("", |(_, cause)| cause);
    Some(cause.lines().next().unwrap_or_default())
}

/// The name that a text begins with: up to the first colon, and as a whole. `PHPUnit\Framework\…`, `java.lang.…`; what begins with two
/// colons is cut at them in the first.
fn names(text: &str) -> (&str, &str) {
    fn last(name: &str) -> &str {
        name.rsplit(['.', '\\', ':']).next().unwrap_or_default()
    }
    let name = text.split([':', ' ', '(', '\n']).next().unwrap_or_default();
    let whole = text.split([' ', '\n']).next().unwrap_or_default().trim_end_matches(':');
    (last(name), last(whole))
}

/// Whether it is the name of what an assertion throws.
fn asserts(name: &str) -> bool {
    const ASSERTS: &[&str] = &["assert", "comparison", "conditionnot", "expect", "failure", "testfailed", "xunit"];
    let name = name.to_ascii_lowercase();
    ASSERTS.iter().any(|word| name.contains(word))
}

/// Whether a text says itself that an assertion failed. A plain `Error` is what some assertions throw, and they say so at once.
fn is_asserted(text: &str) -> bool {
    let (name, whole) = names(text);
    let rest = text.strip_prefix("Error: ").unwrap_or_default().to_ascii_lowercase();
    asserts(name)
        || asserts(whole)
        || text.starts_with("Xunit.Sdk.")
        || text.contains("Assert.")
        || text.contains("expect(")
        || text.contains(": assert ")
        || rest.starts_with("assert")
        || rest.starts_with("expect")
}

/// Whether a text, which is the message or the `type`, begins with the name of an error that is no failed assertion: the test did not
/// come as far as asserting.
fn is_thrown(text: &str, message: &str) -> bool {
    const ENDS: &[&str] = &["Error", "Exception", "Exit", "Interrupt"];
    let (name, whole) = names(text);
    let is_error = |name: &str| ENDS.iter().any(|end| name.ends_with(end));
    // Beside a plain `Error` as its type, the message is without that word.
    let plain = name == "Error" && message.to_ascii_lowercase().starts_with("expect");
    (is_error(name) || is_error(whole)) && !plain && !is_asserted(text) && !is_asserted(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(message: &str) -> bool {
        super::says(&Told { message, ..Told::default() })
    }

    #[test]
    fn a_test_that_asserts_is_told_from_one_that_misses_something() {
        for lacks in [
            "AttributeError: module 'lamp' has no attribute 'dim'",
            "ImportError while importing test module '/w/test_lamp.py'.",
            "ModuleNotFoundError: No module named 'lamp'",
            "TypeError: lamp.dim is not a function",
            "ReferenceError: dim is not defined",
            "Cannot find module './dim' from 'lamp.test.js'",
            "SyntaxError: The requested module './lamp.js' does not provide an export named 'dim'",
            "NoMethodError: undefined method `dim' for an instance of Lamp",
            "java.lang.NoSuchMethodError: 'int Lamp.dim()'",
            "thread 'dims' panicked at src/lib.rs:3:5: not implemented: dim",
            "thread 'dims' panicked at src/lib.rs:3:5: not yet implemented",
            "Error: Call to undefined function dim()",
            "TypeError: dim() missing 1 required positional argument: 'by'",
            "TypeError: dim() got an unexpected keyword argument 'by'",
            "KeyError: 'CFG'",
            "FileNotFoundError: [Errno 2] No such file or directory: 'level.txt'",
            "subprocess.CalledProcessError: Command '['python3', 'tool.py']' returned non-zero exit status 2.",
            "SystemExit: 1",
            "ValueError: out of range",
            "Cannot read properties of undefined (reading 'a')",
            "java.lang.IllegalStateException: no bulb",
            "Error: ENOENT: no such file or directory, open 'expected.txt'",
            "Error: boom",
            "Error: Unexpected end of file",
            "thrown: \"Exceeded timeout of 5000 ms for a test.",
            "Failed: Timeout (>1.0s) from pytest-timeout.",
            "lamp_test.go:12: open level.txt: no such file or directory",
            "thread 'x' panicked at src/lib.rs:3:5: called `Option::unwrap()` on a `None` value",
            "thread 'x' panicked at src/lib.rs:3:5: called `Result::unwrap()` on an `Err` value: NotFound",
            "thread 'x' panicked at src/lib.rs:3:5: the level: Os { code: 2, kind: NotFound, message: \"No such file\" }",
            "thread 'x' panicked at src/lib.rs:3:5: a number: ParseIntError { kind: Empty }",
            "thread 'x' panicked at src/lib.rs:3:5: index out of bounds: the len is 0 but the index is 3",
        ] {
            assert!(says(lacks), "{lacks}");
        }
        for asserts in [
            "AssertionError: assert 3 == 4",
            "assert 3 == 4",
            "Failed: DID NOT RAISE <class 'ValueError'>",
            "Failed: x",
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal",
            "Error: expect(received).toBe(expected) // Object.is equality",
            "Xunit.Sdk.EqualException: Assert.Equal() Failure",
            "RSpec::Expectations::ExpectationNotMetError: expected: 4",
            "PHPUnit\\Framework\\ExpectationFailedException: Failed asserting that 3 is 4",
            "org.junit.ComparisonFailure: expected:<4> but was:<3>",
            "expect(received).toBe(expected) // Object.is equality",
            "org.opentest4j.AssertionFailedError: expected: <4> but was: <3>",
            "thread 'dims' panicked at tests/lamp.rs:9:5: assertion `left == right` failed",
            "lamp_test.go:12: got 3, want 4",
            "thread 'x' panicked at src/lib.rs:3:5: it stays on",
            "thread 'x' panicked at src/lib.rs:3:5: called `Result::unwrap_err()` on an `Ok` value: 3",
            "AssertionError: assert 'No such file or directory' in ''",
            "AssertionError: Timed out retrying after 4000ms: expected 3 to equal 4",
            "Error: Expected 3 to be 4.",
            "Error: expect(locator).toHaveText(expected)",
            "org.scalatest.exceptions.TestFailedException: 3 did not equal 4",
            "Xunit.Sdk.XunitException: Expected level to be 4, but found 3.",
            "",
        ] {
            assert!(!says(asserts), "{asserts}");
        }
    }

    #[test]
    fn the_type_and_the_body_tell_more_than_the_message() {
        let told = |kind: &str, message: &str, body: &str| super::says(&Told { kind, message, body });
        // Node's own runner has no class in its message.
        let node = |cause: &str| {
            let body = format!(
                "[Error [ERR_TEST_FAILURE]: x] {{\n  code: 'ERR_TEST_FAILURE',\n  failureType: 'testCodeFailure',\n  cause: {cause}\n}}"
            );
            told("testCodeFailure", "x", &body)
        };
        for lacks in ["Error: ENOENT: no such file", "Error: Command failed: node tool.js", "Error: x", "'nope'"] {
            assert!(node(lacks), "{lacks}");
        }
        for lacks in ["TypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument", "'test timed out after 200ms'"] {
            assert!(node(lacks), "{lacks}");
        }
        for asserts in ["AssertionError [ERR_ASSERTION]: 3 == 2", "AssertionError: expected 3 to equal 2"] {
            assert!(!node(asserts), "{asserts}");
        }
        assert!(!node("Error: expect(received).toBe(expected)") && !node("JestAssertionError: expect(received)"));
        assert!(told("test abort", "process aborted with signal 11 (SIGSEGV)", "") && told("test timeout", "", ""));
        assert!(told("java.lang.IllegalStateException", "no bulb", "") && told("TypeError", "x", ""));
        let panic = |why: &str| {
            told("", "thread 'x' panicked at a.rs:3:5", &format!("thread 'x' (1) panicked at a.rs:3:5:\n{why}"))
        };
        assert!(panic("called `Option::unwrap()` on a `None` value") && panic("index out of bounds: the len is 0"));
        assert!(!panic("assertion `left == right` failed") && !panic("it stays on"));
        assert!(told("Error", "no cfg", "") && !told("Error", "expected 3 to be 4", ""));
        for kind in ["", "AssertionError", "org.junit.ComparisonFailure", "test failure with exit code 101", "FAILURE"]
        {
            assert!(!told(kind, "it stays on", ""), "{kind}");
        }
        let nil = "lamp_test.go:9: begins\n--- FAIL: TestDim (0.00s)\npanic: runtime error: invalid memory address";
        assert!(told("", "lamp_test.go:9: begins", nil));
    }

    #[test]
    fn a_test_that_was_never_begun_is_told_from_one_that_broke() {
        let unloaded = |message: &str| was_unloaded(&Told { message, ..Told::default() });
        assert!(unloaded("collection failure") && unloaded("Cannot find module './setup' from 'lamp.test.js'"));
        assert!(unloaded("failed on setup with \"fixture 'lamp' not found\"") && unloaded("lamp [build failed]"));
        assert!(!unloaded("NotImplementedError") && !unloaded("KeyError: 'DIM'") && !unloaded("assert 3 == 4"));
        assert!(!unloaded("failed on setup with \"RuntimeError: no bulb in the box\""));
    }
}
