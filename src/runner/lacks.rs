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
    STARTS.iter().any(|start| message.starts_with(start)) || PARTS.iter().any(|part| message.contains(part))
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
        ] {
            assert!(says(lacks), "{lacks}");
        }
        for asserts in [
            "AssertionError: assert 3 == 4",
            "assert 3 == 4",
            "Failed: DID NOT RAISE <class 'ValueError'>",
            "TypeError: dim() missing 1 required positional argument: 'by'",
            "ValueError: out of range",
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
