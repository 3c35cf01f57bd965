//! Conditions that are as they are whatever the code does: `if True`, `while false`, `x and False`, a loop over nothing.

use super::tree::Sort;
use super::truth::{Tokens, bare, is_literal, number, split};
use super::words::tops;

/// Nests no deeper than this.
const DEEPEST: usize = 16;

/// Whether a condition always holds, or never does; none where it depends on something.
pub(super) fn constant(tokens: Tokens<'_, '_>) -> Option<bool> {
    read(tokens, DEEPEST)
}

fn read(tokens: Tokens<'_, '_>, deep: usize) -> Option<bool> {
    let (tokens, deep) = (bare(tokens), deep.checked_sub(1)?);
    if !tops(tokens, &["if", "lambda", "=>", "?"]).is_empty() {
        return None;
    }
    let any = split(tokens, &["or", "||"]);
    if any.len() > 1 {
        return of_several(&any, true, deep);
    }
    let all = split(tokens, &["and", "&&"]);
    if all.len() > 1 {
        return of_several(&all, false, deep);
    }
    match tokens {
        [first, rest @ ..] if matches!(first.text, "not" | "!") && !rest.is_empty() => {
            read(rest, deep).map(|holds| !holds)
        }
        // `cfg!(any())` is never so, and what is compiled to be tested is compiled for tests.
        [name, sign, open, inner @ .., _] if name.text == "cfg" && sign.text == "!" && open.text == "(" => {
            let inner: String = inner.iter().map(|token| token.text).collect();
            match inner.as_str() {
                "any()" | "not(all())" | "not(test)" => Some(false),
                "all()" | "not(any())" | "test" => Some(true),
                _ => None,
            }
        }
        [one] => of_one(*one),
        _ => compared(tokens),
    }
}

/// `or` holds where one does, `and` fails where one does; both are known where all are.
fn of_several(parts: &[Tokens<'_, '_>], decides: bool, deep: usize) -> Option<bool> {
    let known: Vec<Option<bool>> = parts.iter().map(|part| read(part, deep)).collect();
    if known.contains(&Some(decides)) {
        return Some(decides);
    }
    known.iter().all(Option::is_some).then_some(!decides)
}

fn of_one(token: super::tree::Token<'_>) -> Option<bool> {
    match token.sort {
        Sort::Word => match token.text {
            "True" | "true" => Some(true),
            "False" | "false" | "None" | "null" | "undefined" | "nil" | "NaN" | "TYPE_CHECKING" => Some(false),
            _ => None,
        },
        Sort::Number => number(&[token]).map(|value| value != 0.0),
        // A template may be filled in with nothing.
        Sort::Text => (!token.text.contains("${")).then_some(!token.text.is_empty()),
        Sort::Mark => None,
    }
}

/// `1 == 1`, `0 == 1`, `'a' != 'a'`: two words that are written out.
fn compared(tokens: Tokens<'_, '_>) -> Option<bool> {
    let [left, op, right] = tokens else { return None };
    let written = |token: &super::tree::Token<'_>| {
        token.sort != Sort::Word && is_literal(std::slice::from_ref(token)) || of_one(*token).is_some()
    };
    if !written(left) || !written(right) || left.sort != right.sort || left.text == "TYPE_CHECKING" {
        return None;
    }
    let same = left.text == right.text;
    match op.text {
        "==" | "===" | "is" => Some(same),
        "!=" | "!==" => Some(!same),
        _ => None,
    }
}

/// Whether a list is written out and has nothing in it: `[]`, `range(0)`, `[]int{}`, `0..0`, `Vec::new()`.
pub(super) fn is_nothing(tokens: Tokens<'_, '_>) -> bool {
    let tokens = match tokens {
        [open, close] if open.text == "(" && close.text == ")" => return true,
        _ => bare(tokens),
    };
    let mut text: String = tokens.iter().filter(|token| token.sort != Sort::Text).map(|token| token.text).collect();
    if tokens.iter().any(|token| token.sort == Sort::Text) {
        return false;
    }
    // `[] as [u8; 0]` is a list of nothing too.
    if let Some((list, _)) = text.split_once("as[") {
        text = list.to_owned();
    }
    let go = text.strip_suffix("{}").is_some_and(|kind| kind.starts_with("[]") || kind.starts_with("map["));
    let rust = text.strip_suffix("::new()").is_some_and(|kind| kind.starts_with("Vec"))
        || matches!(text.as_str(), "0..0" | "vec![]" | "std::iter::empty()" | "iter::empty()");
    let calls = ["range(0)", "list()", "dict()", "set()", "tuple()", "newSet()", "newMap()", "newArray()", "iter([])"];
    matches!(text.as_str(), "[]" | "{}" | "()") || go || rust || calls.contains(&text.as_str())
}
