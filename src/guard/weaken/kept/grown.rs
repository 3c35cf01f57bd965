//! Whether an item is what it was, with more rows in a table that is gone through.

use super::super::tree::{Sort, Tree};
use super::items::{is_leaf, leaf, says};
use crate::guard::parse::Language;

/// So many nodes are held against each other for an item. Beyond that it was edited.
const MOST_STEPS: usize = 500_000;
/// No item is read more deeply than this.
const DEEPEST: usize = 150;

pub(super) struct Grown<'a, 't> {
    language: Language,
    old: &'a Tree<'t>,
    new: &'a Tree<'t>,
    steps: usize,
}

impl<'a, 't> Grown<'a, 't> {
    pub(super) fn new(language: Language, old: &'a Tree<'t>, new: &'a Tree<'t>) -> Self {
        Self { language, old, new, steps: 0 }
    }

    /// Whether these nodes are those, with nothing but rows added.
    pub(super) fn is(mut self, before: &[usize], now: &[usize]) -> bool {
        before.len() == now.len() && before.iter().zip(now).all(|(before, now)| self.holds(*before, *now, 0))
    }

    fn holds(&mut self, before: usize, now: usize, depth: usize) -> bool {
        self.steps += 1;
        let (old, new) = (self.old, self.new);
        if old.kind(before) != new.kind(now) || self.steps > MOST_STEPS || depth > DEEPEST {
            return false;
        }
        if is_leaf(old, before) || is_leaf(new, now) {
            return is_leaf(old, before) && is_leaf(new, now) && leaf(old, before) == leaf(new, now);
        }
        let table = is_table(old, before) && is_table(new, now);
        let told = |tree: &Tree<'_>, at: usize| -> Vec<usize> {
            let all = tree.children(at).filter(|child| says(self.language, tree, *child, false));
            all.filter(|child| !table || tree.kind(*child) != ",").collect()
        };
        let (was, is) = (told(old, before), told(new, now));
        let mut rest = is.into_iter();
        for child in was {
            loop {
                let Some(next) = rest.next() else { return false };
                if self.holds(child, next, depth + 1) {
                    break;
                }
                if !(table && is_row(new, next)) {
                    return false;
                }
            }
        }
        rest.all(|next| table && is_row(new, next))
    }
}

/// A row of several parts that takes no test away.
fn is_row(tree: &Tree<'_>, at: usize) -> bool {
    let mut row = at;
    while matches!(tree.kind(row), "literal_element" | "keyed_element") {
        let Some(last) = tree.parts(row).last() else { return false };
        row = last;
    }
    let parts = match tree.kind(row) {
        "call" | "call_expression" => tree.field(row, "arguments"),
        "tuple" | "list" | "dictionary" | "array" | "object" | "literal_value" | "composite_literal" => Some(row),
        _ => None,
    };
    let aside = |text: &str| ["skip", "xfail", "marks", "only"].iter().any(|word| text.contains(word));
    parts.is_some_and(|parts| tree.parts(parts).count() > 1)
        && !tree.tokens_within(at, 400).iter().any(|token| token.sort == Sort::Word && aside(token.text))
}

/// A list of cases: of a decorator, of `.each`, or Go's that is named once and gone through once.
fn is_table(tree: &Tree<'_>, list: usize) -> bool {
    let Some(up) = tree.up(list).filter(|_| matches!(tree.kind(list), "list" | "tuple" | "array" | "literal_value"))
    else {
        return false;
    };
    match tree.kind(up) {
        "argument_list" | "arguments" => {
            let callee = tree.up(up).and_then(|call| tree.field(call, "function")).map(|callee| tree.words(callee));
            callee.is_some_and(|callee| callee.ends_with("mark.parametrize") || callee.ends_with(".each"))
        }
        "composite_literal" => {
            let declared = tree.up(up).and_then(|list| tree.up(list));
            declared.is_some_and(|at| is_ranged_over(tree, at))
        }
        _ => false,
    }
}

/// `tests := …` of which nothing is asked but `range tests`.
fn is_ranged_over(tree: &Tree<'_>, declared: usize) -> bool {
    if tree.kind(declared) != "short_var_declaration" {
        return false;
    }
    let Some(name) = tree.field(declared, "left").map(|left| tree.words(left)) else { return false };
    let mut function = declared;
    while !matches!(tree.kind(function), "function_declaration" | "source_file") {
        match tree.up(function) {
            Some(up) => function = up,
            None => return false,
        }
    }
    let tokens = tree.tokens_within(function, usize::MAX);
    let uses = tokens.iter().filter(|token| token.text == name).count();
    let ranges =
        tokens.windows(2).filter(|pair| matches!(pair, [range, over] if range.text == "range" && over.text == name));
    uses == 2 && ranges.count() == 1
}
