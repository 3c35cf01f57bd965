//! What a file's tests are, whatever the language: units of code, each with what it checks.

use std::collections::{HashMap, HashSet};

use super::tree::{Token, digest, hash};
use super::values::{Constant, Row};

/// How much a check holds, from nothing to all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// It holds whatever the code does: `assert True`, `x == x`.
    Nothing,
    /// Something is there, or is true: `assert x`, `is_some()`, `toBeDefined()`.
    Truth,
    /// It is of a type.
    Type,
    /// It is not a certain value.
    Differs,
    /// It is above or below something.
    Order,
    /// A part of it is as said: contains, begins with, matches.
    Part,
    /// It is a number within a tolerance.
    Near,
    /// It is this value.
    Exact,
    /// It fails in this way.
    Raises,
    /// A function that checks is called.
    Helper,
    /// A check that can't be compared with others.
    Other,
}

/// How far a number may be off. What is larger is looser.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tolerance(pub(super) f64);

impl Tolerance {
    /// As people would write it: what the arithmetic adds far behind the point says nothing.
    pub(super) fn shown(self) -> String {
        let text = format!("{:.9}", self.0);
        match text.trim_end_matches('0').trim_end_matches('.') {
            "0" => format!("{:e}", self.0),
            short => short.to_owned(),
        }
    }
}

/// Something that a test holds true.
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub(super) line: u32,
    pub(super) form: Form,
    /// It says what must not be.
    pub(super) negative: bool,
    /// A digest of the whole of it.
    pub(super) text: u64,
    /// A digest of what is looked at, and its tokens that tell.
    pub(super) subject: u64,
    pub(super) about: Vec<u64>,
    /// A digest of what is expected; 0 where nothing is.
    pub(super) expected: u64,
    /// The expectation is written out.
    pub(super) literal: bool,
    /// Numbers, texts and constants of the expectation.
    pub(super) values: Vec<u64>,
    /// The expectation is empty, none, true or false.
    pub(super) trivial: bool,
    /// Names of functions that are called on the side that is looked at, and on the side that is expected.
    pub(super) calls: Vec<u64>,
    pub(super) expects_calls: Vec<u64>,
    /// Names with a capital that are called on either side: functions in Go.
    pub(super) made: Vec<u64>,
    pub(super) expects_made: Vec<u64>,
    /// The expectation is recorded from what the code gave.
    pub(super) recorded: bool,
    /// The value is cut to a whole number before; and what is expected has a fraction.
    pub(super) cut: bool,
    pub(super) fraction: bool,
    /// The pattern that it must fit, word by word.
    pub(super) pattern: Vec<u64>,
    /// What is called there, with what stands before its dot; and the first words of such paths.
    pub(super) links: Vec<u64>,
    pub(super) roots: Vec<u64>,
    /// Names that the expectation uses; and those of them that stand before any dot.
    pub(super) expects_names: Vec<u64>,
    pub(super) expects_roots: Vec<u64>,
    /// Both sides are the same words.
    pub(super) same: bool,
    /// The expectation is a whole that is written out, part by part: a list, a map.
    pub(super) listed: bool,
    /// How many parts such a whole has; 0 where it is none.
    pub(super) parts: usize,
    /// Wildcards in the expectation.
    pub(super) wild: usize,
    pub(super) tolerance: Option<Tolerance>,
    /// For a failure that is expected: any failure will do.
    pub(super) broad: bool,
    /// For a failure that is expected: its message is looked at too.
    pub(super) message: bool,
    /// The tolerance is the library's usual one; how much that is here, where it can be told.
    pub(super) usual: Option<f64>,
    /// It is only said that it is not so, and nothing fails.
    pub(super) told: bool,
    /// The expectation is an error.
    pub(super) fails: bool,
    /// A digest of what has the length, the number or the type that is looked at.
    pub(super) part_of: u64,
    /// For a failure that is expected: the types that will do, each a digest.
    pub(super) types: Vec<u64>,
    /// What also suffices, each a digest.
    pub(super) either: Vec<u64>,
    /// It stands under a condition.
    pub(super) guarded: bool,
    /// How many checks it stands for.
    pub(super) weight: usize,
    /// Its tokens that tell.
    pub(super) bag: Vec<u64>,
    /// The source, for the message.
    pub(super) shown: String,
}

impl Check {
    pub(super) fn new(line: u32, form: Form, all: &[Token<'_>]) -> Self {
        Self {
            line,
            form,
            negative: false,
            text: digest(all),
            subject: 0,
            about: Vec::new(),
            expected: 0,
            literal: false,
            values: Vec::new(),
            trivial: false,
            calls: Vec::new(),
            expects_calls: Vec::new(),
            made: Vec::new(),
            expects_made: Vec::new(),
            recorded: false,
            cut: false,
            fraction: false,
            pattern: Vec::new(),
            links: Vec::new(),
            roots: Vec::new(),
            expects_names: Vec::new(),
            expects_roots: Vec::new(),
            same: false,
            listed: false,
            parts: 0,
            wild: 0,
            tolerance: None,
            broad: false,
            message: false,
            usual: None,
            told: false,
            fails: false,
            part_of: 0,
            types: Vec::new(),
            either: Vec::new(),
            guarded: false,
            weight: 1,
            bag: bag(all),
            shown: shown(all),
        }
    }
}

/// The tokens that tell, as digests, each as often as it stands there.
pub(super) fn bag(tokens: &[Token<'_>]) -> Vec<u64> {
    tokens.iter().filter(|token| token.tells()).map(|token| hash(token.text)).collect()
}

/// The strings among the tokens, as digests.
pub(super) fn strings(tokens: &[Token<'_>]) -> Vec<u64> {
    let told = |token: &&Token<'_>| token.sort == super::tree::Sort::Text && !token.text.is_empty();
    tokens.iter().filter(told).map(|token| hash(token.text)).collect()
}

/// A few words of the source, in one line.
pub(super) fn shown(tokens: &[Token<'_>]) -> String {
    const LONGEST: usize = 80;
    let mut out = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let glued = before.is_none_or(|before| matches!(before.text, "(" | "[" | "." | "!" | "&" | "::" | "{" | "@"))
            || matches!(token.text, ")" | "]" | "." | "," | "(" | "[" | "::" | ":" | "}" | "?" | "!")
                && !(token.text == "["
                    && before.is_some_and(|before| !matches!(before.text, ")" | "]") && !before.tells()));
        if !glued {
            out.push(' ');
        }
        if token.sort == super::tree::Sort::Text {
            out.push('"');
            out.extend(token.text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }));
            out.push('"');
        } else {
            out.push_str(token.text);
        }
        if out.len() > LONGEST {
            out = out.chars().take(LONGEST).collect();
            out.push('…');
            break;
        }
    }
    out
}

/// A place and what is to be said of it.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) line: u32,
    pub(super) what: String,
}

/// How a mark begins that says under which condition a test is still run.
pub(super) const ONLY: &str = "it is run only with ";

/// How a mark begins of a test that may fail now and then.
pub(super) const AGAIN: &str = "where it fails it is run again, by ";

impl Mark {
    /// Whether it says that a skip asks the code.
    pub(super) fn is_asked(&self) -> bool {
        self.what.ends_with(super::asks::ASKS)
    }

    /// Whether it says under which condition something is still run.
    pub(super) fn is_limit(&self) -> bool {
        self.what.starts_with(ONLY)
    }
}

/// The cases that a test is run with.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) line: u32,
    pub(super) items: Vec<u64>,
    pub(super) bags: Vec<Vec<u64>>,
}

/// A call of a function by its last name.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) name: u64,
    pub(super) line: u32,
    pub(super) guarded: bool,
    pub(super) text: u64,
    pub(super) bag: Vec<u64>,
    pub(super) shown: String,
}

/// A test, or a function beside the tests.
#[derive(Debug, Clone, Default)]
pub(super) struct Unit {
    pub(super) name: String,
    pub(super) test: bool,
    /// It is code under test, not of the tests: what it asserts is its own affair.
    pub(super) apart: bool,
    pub(super) line: u32,
    pub(super) checks: Vec<Check>,
    pub(super) calls: Vec<Call>,
    /// Calls that may check, out of sight.
    pub(super) maybe: usize,
    /// Results that are unwrapped: the subject of each.
    pub(super) soft: Vec<u64>,
    /// Results that are thrown away: the subject of each, and where.
    pub(super) discarded: Vec<(u64, u32)>,
    pub(super) skip: Option<Mark>,
    /// It is run only under this condition: a feature, a word of the environment.
    pub(super) limited: Option<Mark>,
    /// It is left out by what the code gives.
    pub(super) asks: Option<Mark>,
    /// It stands in a class that no runner takes for one of tests.
    pub(super) uncollected: Option<Mark>,
    /// It is run before each test beside it.
    pub(super) before_each: bool,
    /// What ends it early where a check behind would fail: what is looked at, and what is expected.
    pub(super) exits: Vec<(u64, u64)>,
    /// Functions of the test itself that give back what is written out.
    pub(super) locals: Vec<Mark>,
    /// It is a function beside the tests, and gives back what is written out in it.
    pub(super) plain: bool,
    /// Checks that come too late: after a return, or under a condition that never holds.
    pub(super) dead: Vec<Mark>,
    /// Failures that are caught and forgotten.
    pub(super) caught: Vec<Mark>,
    /// Failures of the code by which the test ends, and fails not.
    pub(super) evaded: Vec<Mark>,
    /// Cases of it that are not run, or may fail.
    pub(super) spared: Vec<Mark>,
    pub(super) mocks: Vec<Mark>,
    pub(super) tables: Vec<Table>,
    /// Rows of lists in it that are written out.
    pub(super) rows: Vec<Row>,
    /// Loops in it.
    pub(super) loops: usize,
    /// What is expected to fail as a whole (`#[should_panic]`), and whether its message is said.
    pub(super) panics: Option<(u32, bool)>,
    /// The whole, as digests of its tokens, and one of them all.
    pub(super) body: u64,
    pub(super) tokens: Vec<u64>,
    /// Strings in it.
    pub(super) strings: Vec<u64>,
    /// What is taken apart into so many names as it has parts, each by its words.
    pub(super) unpacked: Vec<Vec<u64>>,
    /// Names of what it is given.
    pub(super) parameters: Vec<u64>,
    /// Functions have names with a capital there: it is Go.
    pub(super) exported: bool,
    /// It has tests inside.
    pub(super) holds_tests: bool,
    /// Values that were given to names.
    pub(super) given: HashMap<u64, Given>,
}

/// What is called to make a value that a name was given.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    pub(super) calls: Vec<u64>,
    pub(super) made: Vec<u64>,
    pub(super) links: Vec<u64>,
    pub(super) roots: Vec<u64>,
    /// The words of it.
    pub(super) names: Vec<u64>,
    /// It is written out, and of so many parts.
    pub(super) literal: bool,
    pub(super) parts: usize,
    /// It is not the first that the name was given.
    pub(super) again: bool,
}

impl Unit {
    /// In how many ways it repeats what it does, over cases.
    pub(super) fn repeats(&self) -> usize {
        self.loops + self.tables.len()
    }

    /// A mark that skips it, or says under which condition it is still run.
    pub(super) fn skipped_by(&mut self, mark: Option<Mark>) {
        let Some(mark) = mark else { return };
        if mark.is_asked() {
            self.asks = Some(mark);
        } else if mark.is_limit() {
            self.limited = Some(mark);
        } else {
            self.skip = Some(mark);
        }
    }

    /// Whether all that it checks is that things are themselves.
    pub(super) fn says_the_same(&self) -> bool {
        let same = |check: &Check| check.same && check.form == Form::Exact && check.links.is_empty();
        let meant = ["eq", "same", "self", "reflexiv", "identi", "nan", "stable"];
        let name = last_name(&self.name).to_ascii_lowercase();
        self.maybe == 0
            && self.holds().next().is_some()
            && self.holds().all(same)
            && !meant.iter().any(|word| name.contains(word))
    }

    /// The checks that hold something.
    pub(super) fn holds(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.form != Form::Nothing)
    }

    /// Whether nothing in it can fail but by accident.
    pub(super) fn asserts_nothing(&self) -> bool {
        self.holds().next().is_none()
            && self.maybe == 0
            && self.soft.is_empty()
            && self.panics.is_none()
            && !self.holds_tests
    }
}

/// What a file has.
#[derive(Debug, Clone, Default)]
pub(super) struct Suite {
    pub(super) units: Vec<Unit>,
    /// A test that is run alone, so that the others are not.
    pub(super) only: Option<Mark>,
    /// Tokens of tables and calls of macros that stand beside the tests.
    pub(super) beside: Vec<u64>,
    /// The file as a whole is skipped.
    pub(super) skip: Option<Mark>,
    /// The file as a whole is run only under this condition.
    pub(super) limited: Option<Mark>,
    /// A macro of the file takes the place of an assertion, and asserts nothing.
    pub(super) shadowed: Option<Mark>,
    /// The file replaces the module that it tests.
    pub(super) mocks: Option<Mark>,
    /// Modules that the file replaces; where it does so in part, by these names.
    pub(super) replaced: Vec<(Mark, Option<Vec<String>>)>,
    /// The line at which the parser could make nothing of the text.
    pub(super) broken: Option<u32>,
    /// What names beside the tests stand for.
    pub(super) constants: HashMap<u64, Constant>,
    /// What the file takes from elsewhere: by the name that it has here, where from, and its name there.
    pub(super) taken: HashMap<u64, (String, String)>,
}

impl Suite {
    /// What skips before each test skips them all.
    fn skip_behind(&mut self) {
        let before = self.units.iter().filter(|unit| unit.before_each);
        let marks = before.filter_map(|unit| {
            let group = unit.name.rsplit_once("::").map_or("", |(group, _)| group);
            unit.skip.clone().map(|mark| (group.to_owned(), mark))
        });
        for (group, mark) in marks.take(50).collect::<Vec<_>>() {
            for unit in self.units.iter_mut().filter(|unit| unit.test && unit.skip.is_none()) {
                let rest = unit.name.strip_prefix(group.as_str());
                if group.is_empty() || rest.is_some_and(|rest| rest.starts_with("::")) {
                    unit.skip = Some(mark.clone());
                }
            }
        }
    }

    /// Turns each call of a function of the file that checks into a check.
    pub(super) fn follow(&mut self) {
        const ROUNDS: usize = 4;
        let mut weights: HashMap<u64, usize> = HashMap::new();
        let mut maybes: HashSet<u64> = HashSet::new();
        for _ in 0..ROUNDS {
            let mut changed = false;
            // A test that is called by another one checks for that one too.
            for unit in self.units.iter().filter(|unit| !unit.apart) {
                let name = hash(last_name(&unit.name));
                let own = unit.holds().count() + unit.soft.len().min(1);
                let called = unit.calls.iter().filter(|call| call.name != name);
                let more: usize = called.map(|call| weights.get(&call.name).copied().unwrap_or(0)).sum();
                let weight = own.saturating_add(more).min(1_000);
                changed |= weight > 0 && weights.insert(name, weight) != Some(weight);
                if unit.maybe > 0 || unit.calls.iter().any(|call| maybes.contains(&call.name)) {
                    changed |= maybes.insert(name);
                }
            }
            if !changed {
                break;
            }
        }
        self.skip_behind();
        for unit in &mut self.units {
            let own = hash(last_name(&unit.name));
            for call in &unit.calls {
                if call.name == own {
                    continue;
                }
                if let Some(weight) = weights.get(&call.name) {
                    let mut check = Check::new(call.line, Form::Helper, &[]);
                    (check.text, check.subject, check.weight) = (call.text, call.name, *weight);
                    (check.bag, check.shown, check.guarded) = (call.bag.clone(), call.shown.clone(), call.guarded);
                    unit.checks.push(check);
                } else if maybes.contains(&call.name) {
                    unit.maybe += 1;
                }
            }
            unit.calls = Vec::new();
        }
    }
}

/// The last part of a qualified name.
pub(super) fn last_name(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
