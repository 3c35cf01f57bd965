//! Values that tests expect and that stand beside the check: rows of tables, and constants of the file.
//!
//! A row or a constant that was written out and asks now the very function that the tests look at holds nothing: it is what the
//! code gives, whatever that is. A constant that asks anything else is the tests' own affair.

use std::collections::HashSet;

use super::compare::say;
use super::model::{Suite, Unit, bag, shown};
use super::tree::{Token, Tree, digest, hash};
use super::truth::{self, bare};
use super::walk::Walk;
use super::{Weaker, What};

/// So many constants of a file are kept, and rows of a table.
const MOST_KEPT: usize = 2_000;
const MOST_ROWS: usize = 2_000;

/// A row of a table.
#[derive(Debug, Clone)]
pub(super) struct Row {
    line: u32,
    text: u64,
    /// Names of functions that it calls.
    calls: Vec<u64>,
    bag: Vec<u64>,
    shown: String,
}

/// What a name of the file stands for, beside the tests.
#[derive(Debug, Clone)]
pub(super) struct Constant {
    pub(super) literal: bool,
    line: u32,
    name: String,
    calls: Vec<u64>,
    bag: Vec<u64>,
    shown: String,
    rows: Vec<Row>,
}

/// The rows of a list that is written out.
pub(super) fn rows(tree: &Tree<'_>, list: usize) -> Vec<Row> {
    let of = |row: usize| {
        let tokens = tree.tokens_within(row, 200);
        Row {
            line: tree.line(row),
            text: digest(bare(&tokens)),
            calls: called(&tokens),
            bag: bag(&tokens),
            shown: shown(&tokens),
        }
    };
    tree.parts(list).take(MOST_ROWS).map(of).collect()
}

fn called(tokens: &[Token<'_>]) -> Vec<u64> {
    let mut calls = truth::called(tokens);
    calls.extend(truth::made(tokens));
    calls
}

/// The list that a value is, if it is written out as one.
pub(super) fn list(tree: &Tree<'_>, value: usize) -> Option<usize> {
    const DEEPEST: usize = 6;
    let mut at = value;
    for _ in 0..DEEPEST {
        match tree.kind(at) {
            "list" | "tuple" | "set" | "array" | "array_expression" | "dictionary" | "literal_value" => {
                return Some(at);
            }
            "composite_literal" => at = tree.field(at, "body")?,
            "reference_expression" => at = tree.field(at, "value")?,
            // `[…].iter()`, `[…] as const`, `vec![…]` is one token tree to the parser.
            "call_expression" => at = tree.field(at, "function")?,
            "field_expression" => at = tree.field(at, "value")?,
            "expression_list" | "as_expression" | "satisfies_expression" => at = tree.parts(at).next()?,
            _ => return None,
        }
    }
    None
}

impl<'t> Walk<'t> {
    /// A name of the file is given a value, beside the tests.
    pub(super) fn keeps(&mut self, name: usize, value: usize) {
        if self.inside() || self.suite.constants.len() >= MOST_KEPT {
            return;
        }
        let tokens = self.tokens(value);
        let constant = Constant {
            literal: self.is_written_out(value, &tokens),
            line: self.tree.line(name),
            name: self.tree.words(name).to_owned(),
            calls: called(&tokens),
            bag: bag(&tokens),
            shown: shown(&tokens),
            rows: list(self.tree, value).map(|list| rows(self.tree, list)).unwrap_or_default(),
        };
        self.suite.constants.insert(hash(self.tree.words(name)), constant);
    }

    /// The rows of a table of the test that is open.
    pub(super) fn has_rows(&mut self, value: usize) {
        let rows = list(self.tree, value).map(|list| rows(self.tree, list)).unwrap_or_default();
        if let Some(unit) = self.unit() {
            unit.rows.extend(rows);
        }
    }

    /// Whether a value is written out: of Go's lists, what stands in the braces.
    pub(super) fn is_written_out(&self, value: usize, tokens: &[Token<'t>]) -> bool {
        let whole = list(self.tree, value).filter(|list| self.tree.kind(*list) == "literal_value");
        match whole {
            Some(list) => truth::is_written(&self.tree.tokens_within(list, 2_000)),
            None => truth::is_written(bare(tokens)),
        }
    }

    /// Names that stand for a row after another, or for parts of one: they are as written out as the rows are.
    pub(super) fn each(&mut self, names: usize, over: usize) {
        if !self.inside() {
            return;
        }
        let tokens = self.tree.tokens_within(over, 2_000);
        let known = match truth::without_calls(bare(&tokens)) {
            [one] => Some(hash(one.text)),
            _ => None,
        };
        let constant = known.and_then(|name| self.suite.constants.get(&name)).is_some_and(|constant| constant.literal);
        let written = self.is_written_out(over, truth::without_calls(bare(&tokens)));
        let words = bag(&self.tree.tokens_within(names, 50));
        self.has_rows(over);
        let Some(unit) = self.unit() else { return };
        let given = known.and_then(|name| unit.given.get(&name));
        let literal = written || constant || given.is_some_and(|given| given.literal && !given.again);
        for name in words {
            let again = unit.given.contains_key(&name);
            let given = super::model::Given { literal, again, ..Default::default() };
            unit.given.insert(name, given);
        }
    }
}

/// The functions that the checks of a test look at.
fn looked_at(unit: &Unit) -> HashSet<u64> {
    let mut found: HashSet<u64> = HashSet::new();
    for check in &unit.checks {
        found.extend(check.calls.iter().chain(&check.made));
        let given = check.about.iter().filter_map(|name| unit.given.get(name));
        found.extend(given.flat_map(|given| given.calls.iter().chain(&given.made)));
    }
    found
}

/// Rows that were written out, and ask what the test looks at.
pub(super) fn in_rows(old: &Unit, new: &Unit) -> Option<Weaker> {
    let row = asking(&old.rows, &new.rows, &looked_at(new))?;
    let says = format!("`{}` expects what the code gives; the row was written out before.", row.shown);
    Some(say(new, What::ExpectationFromCode, row.line, false, says, "Write the expected value out."))
}

fn asking<'r>(old: &[Row], new: &'r [Row], looked: &HashSet<u64>) -> Option<&'r Row> {
    let known: HashSet<u64> = new.iter().map(|row| row.text).collect();
    let had: HashSet<u64> = old.iter().flat_map(|row| &row.calls).copied().collect();
    let gone = old.iter().any(|row| !known.contains(&row.text));
    // The same is written out, and what is called of it has another name.
    let renamed = |row: &Row| {
        let before = old.iter().filter(|row| !known.contains(&row.text));
        before.into_iter().any(|before| before.calls.len() == row.calls.len() && uncalled(before) == uncalled(row))
    };
    let asks = |row: &&Row| row.calls.iter().any(|name| looked.contains(name) && !had.contains(name));
    new.iter().find(|row| asks(row) && !renamed(row)).filter(|_| gone)
}

/// The words of a row, without what is called in it.
fn uncalled(row: &Row) -> Vec<u64> {
    row.bag.iter().filter(|word| !row.calls.contains(word)).copied().collect()
}

/// What became of the constants that the tests of a file use.
pub(super) fn constants(path: &str, old: &Suite, new: &Suite) -> Vec<Weaker> {
    let tests = || new.units.iter().filter(|unit| unit.test);
    let used: HashSet<u64> = tests().flat_map(|unit| unit.tokens.iter().copied()).collect();
    let mut looked: Option<HashSet<u64>> = None;
    let mut found = Vec::new();
    for (name, after) in &new.constants {
        let before = old.constants.get(name).filter(|before| before.bag != after.bag && used.contains(name));
        let Some(before) = before else { continue };
        let looked = looked.get_or_insert_with(|| tests().flat_map(looked_at).collect());
        let asks = |name: &u64| looked.contains(name) && !before.calls.contains(name);
        if after.calls.iter().any(asks)
            && (before.literal || is_expected(name, old))
            && (after.rows.is_empty() || asking(&before.rows, &after.rows, looked).is_some())
        {
            let says = format!("`{} = {}` is what the code gives; it was written out before.", after.name, after.shown);
            found.push(Weaker {
                what: What::ExpectationFromCode,
                test: path.to_owned(),
                line: after.line,
                gone: false,
                says,
                next: "Write the expected value out.".to_owned(),
            });
        }
    }
    found
}

/// Whether a test expects something by this name.
fn is_expected(name: &u64, suite: &Suite) -> bool {
    let mut checks = suite.units.iter().filter(|unit| unit.test).flat_map(|unit| &unit.checks);
    checks.any(|check| check.expects_names.contains(name))
}
