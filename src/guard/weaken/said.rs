//! What is written out in an expression: its numbers and texts in their order, with what is done to them.
//!
//! It is the same under other names, in other quotes and over more lines, and not with a sign before a number, in another order, or with
//! something added. So it tells whether what a test says is still said somewhere, without knowing what it means.

use std::collections::HashMap;

use super::compare::gained;
use super::model::{Form, Suite, Unit};
use super::pair::File;
use super::tree::{Sort, Token, hash};
use super::values::decided;
use super::{Weaker, What};

/// The numbers and texts of an expression, each with a sign that stands before it, and the words that are values.
pub(super) fn said(tokens: &[Token<'_>]) -> Vec<u64> {
    let mut said = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.sort {
            Sort::Number => said.push(hash(&number(token.text))),
            Sort::Text => said.push(hash(&format!("\"{}", token.text))),
            Sort::Mark if matches!(token.text, "-" | "+" | "!" | "~") => {
                let follows = tokens.get(at + 1).is_some_and(|next| next.sort != Sort::Mark || next.text == "(");
                if follows && token.text != "!" || token.text == "!" && is_denied(tokens, at) {
                    said.push(hash(token.text));
                }
            }
            Sort::Word => {
                let word = token.text.to_ascii_lowercase();
                if matches!(word.as_str(), "true" | "false" | "none" | "null" | "nil" | "undefined" | "not" | "nan") {
                    said.push(hash(&word));
                }
            }
            Sort::Mark => {}
        }
    }
    said
}

/// `!x`, and not a macro's name.
fn is_denied(tokens: &[Token<'_>], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| tokens.get(before)).is_none_or(|before| before.sort == Sort::Mark)
}

/// A whole number in its plain form, however it is written.
fn number(text: &str) -> String {
    let plain = text.replace('_', "").to_ascii_lowercase();
    let (digits, radix) = match plain.get(..2) {
        Some("0x") => (&plain[2..], 16),
        Some("0o") => (&plain[2..], 8),
        Some("0b") => (&plain[2..], 2),
        _ => (plain.as_str(), 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (value, rest) = digits.split_at(end);
    let suffix = rest.is_empty() || rest.starts_with(['u', 'i', 'n', 'l']);
    match u128::from_str_radix(value, radix) {
        Ok(value) if suffix => value.to_string(),
        _ => plain,
    }
}

/// Whether one says all of the other in its order, and more beside it.
pub(super) fn holds(more: &[u64], less: &[u64]) -> bool {
    let signs = |said: &[u64]| said.iter().filter(|one| ["-", "+", "!", "~"].map(hash).contains(one)).count();
    let mut rest = more.iter();
    signs(more) == signs(less) && less.iter().all(|one| rest.any(|other| other == one))
}

/// Checks of tests that were there before, and that say something which no check of the change says any more.
///
/// What is gone without anything in its place is told elsewhere, and does no harm here: it keeps a change from passing by itself
/// twice.
pub(super) fn unsaid(files: &[File<'_>]) -> Vec<(usize, Weaker)> {
    let mut left: HashMap<u64, usize> = HashMap::new();
    let new = || files.iter().filter_map(|file| file.new.as_ref()).flat_map(|suite| &suite.units);
    gained(std::iter::empty(), new().flat_map(signatures), &mut left);
    let mut found = Vec::new();
    for file in files {
        let Some(old) = &file.old else { continue };
        for unit in old.units.iter().filter(|unit| unit.test) {
            let mut lost = None;
            for check in unit.checks.iter().filter(|check| counts(check)) {
                match left.get_mut(&signature(&check.said)) {
                    Some(more) if *more > 0 => *more -= 1,
                    _ => lost = lost.or(Some(check)),
                }
            }
            if let (Some(check), Some(new)) = (lost, file.new.as_ref()) {
                let says = format!("`{}` is not asked in these words any more.", check.shown);
                found.push((file.index, at(new, unit, decided(unit, check.line, says))));
            }
        }
    }
    found
}

/// Told where the test is now, if it is still there.
fn at(new: &Suite, old: &Unit, weaker: Weaker) -> Weaker {
    match new.units.iter().find(|unit| unit.test && unit.name == old.name) {
        Some(now) => Weaker { line: now.line, ..weaker },
        None => Weaker { gone: true, ..weaker },
    }
}

fn counts(check: &super::model::Check) -> bool {
    match check.form {
        Form::Nothing | Form::Helper => false,
        Form::Exact => true,
        _ => !check.said.is_empty(),
    }
}

fn signatures(unit: &Unit) -> impl Iterator<Item = u64> {
    unit.checks.iter().filter(|check| counts(check)).map(|check| signature(&check.said))
}

fn signature(said: &[u64]) -> u64 {
    let text: Vec<String> = said.iter().map(u64::to_string).collect();
    hash(&text.join(" "))
}

/// One finding of a kind for a test is enough.
pub(super) fn added(decided: &mut Vec<Weaker>, more: impl Iterator<Item = Weaker>) {
    for one in more {
        debug_assert_eq!(one.what, What::ExpectationChanged);
        if decided.iter().all(|there| there.test != one.test) {
            decided.push(one);
        }
    }
}
