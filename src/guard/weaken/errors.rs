//! Which failures are kinds of others: a check that takes the wider kind holds less.

use std::collections::HashSet;

use super::tree::{Sort, hash};
use super::truth::Tokens;

/// Python's own kinds of errors, each with those that are of its kind.
const KINDS: [(&str, &[&str]); 9] = [
    ("LookupError", &["KeyError", "IndexError"]),
    ("ArithmeticError", &["ZeroDivisionError", "OverflowError", "FloatingPointError"]),
    (
        "OSError",
        &["FileNotFoundError", "FileExistsError", "PermissionError", "NotADirectoryError", "IsADirectoryError"],
    ),
    (
        "ConnectionError",
        &["BrokenPipeError", "ConnectionRefusedError", "ConnectionResetError", "ConnectionAbortedError"],
    ),
    ("ValueError", &["UnicodeError", "UnicodeDecodeError", "UnicodeEncodeError"]),
    ("RuntimeError", &["NotImplementedError", "RecursionError"]),
    ("ImportError", &["ModuleNotFoundError"]),
    ("NameError", &["UnboundLocalError"]),
    ("Warning", &["DeprecationWarning", "UserWarning", "RuntimeWarning", "FutureWarning", "PendingDeprecationWarning"]),
];

/// What takes any failure.
const ALL: [&str; 4] = ["Exception", "BaseException", "Warning", "Throwable"];

/// The types in what is expected to fail: one, or a tuple of them. Those of a module are not what is called so elsewhere.
pub(super) fn types(tokens: Tokens<'_, '_>) -> Vec<String> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let goes_on = tokens.get(at + 1).is_some_and(|next| next.text == "." || next.text == "(");
        let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at)).map_or("", |token| token.text);
        if token.sort == Sort::Word && !goes_on {
            let plain = before(1) != "." || before(2) == "builtins";
            found.push(if plain { token.text.to_owned() } else { format!("{}.{}", before(2), token.text) });
        }
    }
    found
}

pub(super) fn is_any(types: &[String]) -> bool {
    types.iter().any(|name| ALL.contains(&name.as_str()))
}

/// Whether more failures will do now: all that did, and others; or the kind of which the one was.
pub(super) fn wider(before: &[u64], after: &[u64]) -> bool {
    if before.is_empty() || after.is_empty() {
        return false;
    }
    let (was, is): (HashSet<u64>, HashSet<u64>) = (before.iter().copied().collect(), after.iter().copied().collect());
    let covers = |name: &u64| {
        is.contains(name)
            || KINDS.iter().any(|(kind, of)| is.contains(&hash(kind)) && of.iter().any(|one| hash(one) == *name))
    };
    was != is && was.iter().all(covers)
}
