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

/// A pattern of Rust, word by word: a name that takes whatever comes is `_`.
pub(super) fn pattern(tokens: Tokens<'_, '_>) -> Vec<u64> {
    let text = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map_or("", |token| token.text);
    let takes = |at: usize, token: &super::tree::Token<'_>| {
        token.sort == Sort::Word
            && token.text.starts_with(char::is_lowercase)
            && !matches!(token.text, "true" | "false" | "if" | "ref" | "mut")
            && !matches!(text(Some(at + 1)), "(" | "{" | "::" | ":" | "!" | ".")
            && !matches!(text(at.checked_sub(1)), "::" | ".")
    };
    // What a condition asks beside it is compared as it is written.
    let end = tokens.iter().position(|token| token.text == "if").unwrap_or(tokens.len());
    let one = |(at, token): (usize, &super::tree::Token<'_>)| {
        hash(if at < end && takes(at, token) { "_" } else { token.text })
    };
    tokens.iter().enumerate().map(one).collect()
}

/// Whether a pattern fits all that another one does, and more: it is the same but for `_` and `..` in the place of what was said.
pub(super) fn fits_more(before: &[u64], after: &[u64]) -> bool {
    let [any, rest, comma, guard] = ["_", "..", ",", "if"].map(hash);
    let [opens, closes] = [["(", "[", "{"], [")", "]", "}"]].map(|all| all.map(hash));
    // A condition beside the pattern that is gone.
    let asked = |pattern: &[u64]| pattern.iter().position(|word| *word == guard);
    let (was, is) = (asked(before), asked(after));
    if is.is_some() && was.and_then(|at| before.get(at..)) != is.and_then(|at| after.get(at..)) || before.is_empty() {
        return false;
    }
    let plain = before.get(..was.unwrap_or(before.len())).unwrap_or_default();
    let wide = after.get(..is.unwrap_or(after.len())).unwrap_or_default();
    let (mut at, mut more) = (0, was.is_some() && is.is_none());
    for word in wide {
        if *word != any && *word != rest {
            if plain.get(at) != Some(word) {
                return false;
            }
            at += 1;
            continue;
        }
        let from = at;
        let mut depth = 0_usize;
        while let Some(next) = plain.get(at) {
            let ends = closes.contains(next) || *next == comma && *word == any;
            if depth == 0 && ends {
                break;
            }
            depth += usize::from(opens.contains(next));
            depth -= usize::from(closes.contains(next));
            at += 1;
        }
        more |= plain.get(from..at) != Some(&[*word]);
    }
    more && at == plain.len()
}
