//! Whether an item is what it was, with more rows in a table that is gone through.

use super::super::tree::{Sort, Tree};
use super::form::{Form, Part, Reading};
use crate::guard::parse::Language;

/// So many nodes are held against each other for an item. Beyond that it was edited.
const MOST_STEPS: usize = 500_000;
/// No item is read more deeply than this.
const DEEPEST: usize = 150;

pub(super) struct Grown<'a, 't> {
    old: Reading<'a, 't>,
    new: Reading<'a, 't>,
    steps: usize,
}

impl<'a, 't> Grown<'a, 't> {
    pub(super) fn new(language: Language, old: &'a Tree<'t>, new: &'a Tree<'t>) -> Self {
        let reading = |tree| Reading { language, tree, remarks: false };
        Self { old: reading(old), new: reading(new), steps: 0 }
    }

    /// Whether these nodes are those, with nothing but rows added.
    pub(super) fn is(mut self, before: &[usize], now: &[usize]) -> bool {
        before.len() == now.len() && before.iter().zip(now).all(|(before, now)| self.holds(*before, *now, 0))
    }

    fn holds(&mut self, before: usize, now: usize, depth: usize) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS || depth > DEEPEST {
            return false;
        }
        let (was, is) = match (self.old.form(before), self.new.form(now)) {
            (Form::Said(was), Form::Said(is)) => return was == is,
            (Form::Of(kind, was), Form::Of(same, is)) if kind == same => (was, is),
            _ => return false,
        };
        let table = is_table(self.old.tree, self.old.inner(before)) && is_table(self.new.tree, self.new.inner(now));
        let told = |parts: Vec<Part>, tree: &Tree<'_>| -> Vec<Part> {
            let is_comma = |part: &Part| matches!(part, Part::Node(at) if tree.kind(*at) == ",");
            parts.into_iter().filter(|part| !(table && is_comma(part))).collect()
        };
        let mut rest = told(is, self.new.tree).into_iter();
        for part in told(was, self.old.tree) {
            loop {
                let Some(next) = rest.next() else { return false };
                let same = match (&part, &next) {
                    (Part::Node(part), Part::Node(next)) => self.holds(*part, *next, depth + 1),
                    (Part::Said(part), Part::Said(next)) => part == next,
                    _ => false,
                };
                if same {
                    break;
                }
                if !(table && self.is_row(&next)) {
                    return false;
                }
            }
        }
        rest.all(|next| table && self.is_row(&next))
    }

    fn is_row(&self, part: &Part) -> bool {
        matches!(part, Part::Node(at) if is_row(self.new.tree, *at))
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
