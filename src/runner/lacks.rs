//! Whether a test failed because something that it needs is not there.
//!
//! On the base a new test must fail in what it asserts. One that names a function which the base does not have fails too, and would
//! whatever it asserts: that proves nothing. Frameworks tell the two apart only in their words.

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
    // JavaScript and TypeScript
    "ReferenceError",
    "Cannot find module",
    "Cannot find package",
    "Test suite failed to run",
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
];

pub(super) fn says(message: &str) -> bool {
    let message = message.trim_start();
    STARTS.iter().any(|start| message.starts_with(start))
        || PARTS.iter().any(|part| message.contains(part))
        || is_thrown(message)
}

/// Whether a message begins with the name of an error that is no failed assertion: the test did not come as far as asserting.
/// A plain `Error` is what some assertions throw.
fn is_thrown(message: &str) -> bool {
    const ENDS: &[&str] = &["Error", "Exception", "Exit", "Interrupt"];
    const ASSERTS: &[&str] = &["assert", "comparison", "expect", "failure"];
    let name = message.split([':', ' ', '(', '\n']).next().unwrap_or_default();
    // `PHPUnit\Framework\…`, `java.lang.…`; what begins with two colons was cut at them.
    let whole = message.split([' ', '\n']).next().unwrap_or_default().trim_end_matches(':');
    let last = |name: &str| name.rsplit(['.', '\\', ':']).next().unwrap_or_default().to_owned();
    let (name, whole) = (last(name), last(whole));
    let is_error = |name: &str| name != "Error" && ENDS.iter().any(|end| name.ends_with(end));
    let asserts = |text: &str| ASSERTS.iter().any(|word| text.to_ascii_lowercase().contains(word));
    let says_so = message.contains("Assert.") || message.contains("expect(") || message.contains(": assert ");
    (is_error(&name) || is_error(&whole)) && !asserts(&name) && !asserts(&whole) && !says_so
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "thread 'x' panicked at src/lib.rs:3:5: called `Option::unwrap()` on a `None` value",
            "",
        ] {
            assert!(!says(asserts), "{asserts}");
        }
    }
}
