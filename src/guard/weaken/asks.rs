//! Conditions of a skip that ask the code which is tested: where it is wrong, the test is not run, and nothing fails.
//!
//! Most conditions ask where the test runs: the system, a version, a program that must be there. So a condition is told only
//! where it calls what the test calls too, and nothing of its words is the environment's.

use std::collections::HashSet;

use super::model::Mark;
use super::tree::{Sort, Token, Tree, hash};
use super::truth::{self, Tokens, bare, split};
use super::walk::Walk;

/// So many tokens of a test are looked at for the same call.
const MOST: usize = 20_000;

/// So many conditions of a file are held against their tests.
const MOST_HELD: usize = 500;

/// Words of the environment: what runs the test, and what is there.
const AROUND: [&str; 32] = [
    "os",
    "sys",
    "platform",
    "shutil",
    "importlib",
    "socket",
    "subprocess",
    "runtime",
    "exec",
    "testing",
    "process",
    "env",
    "environ",
    "getenv",
    "Getenv",
    "Deno",
    "Bun",
    "navigator",
    "globalThis",
    "Path",
    "pathlib",
    "find_spec",
    "which",
    "LookPath",
    "ctypes",
    "locale",
    "sysconfig",
    "requests",
    "urllib",
    "http",
    "net",
    "config",
];

/// Calls that ask nothing of the code by themselves.
const COMMON: [&str; 22] = [
    "len",
    "str",
    "int",
    "float",
    "bool",
    "list",
    "dict",
    "set",
    "tuple",
    "type",
    "isinstance",
    "issubclass",
    "callable",
    "getattr",
    "hasattr",
    "get",
    "open",
    "exists",
    "any",
    "all",
    "not",
    "require",
];

/// A name by which people ask what there is: `supports_ipv6()`, `has_gpu()`, `is_available()`.
fn is_ability(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["has", "can", "is_", "have", "need", "skip"].iter().any(|word| name.starts_with(word))
        || ["support", "avail", "install", "enabled", "version", "running", "connect", "ping"]
            .iter()
            .any(|word| name.contains(word))
}

fn is_around(tokens: Tokens<'_, '_>) -> bool {
    super::python::is_platform(tokens) || tokens.iter().any(|token| AROUND.contains(&token.text))
}

/// Names that are called there, each as often as it is.
fn calls<'t>(tokens: Tokens<'_, 't>) -> Vec<&'t str> {
    let pairs = tokens.windows(2).filter_map(|pair| match pair {
        [name, open] if open.text == "(" && open.sort == Sort::Mark && name.sort == Sort::Word => Some(name.text),
        _ => None,
    });
    pairs.filter(|name| !COMMON.contains(name) && !is_ability(name)).collect()
}

impl<'t> Walk<'t> {
    /// Each time all of a test is read, so this is bounded.
    fn may_ask(&self) -> bool {
        self.held.set(self.held.get().saturating_add(1));
        self.held.get() <= MOST_HELD
    }

    /// Whether a condition asks the code that `whole` tests.
    pub(super) fn asks_code(&self, whole: usize, condition: Tokens<'_, 't>) -> bool {
        let tree = self.tree;
        let parts = split(bare(condition), &["or", "and", "||", "&&"]);
        let asked: Vec<&str> = parts.iter().filter(|part| !is_around(part)).flat_map(|part| calls(part)).collect();
        let asked: Vec<&str> = asked.into_iter().filter(|name| !self.own.contains(&hash(name))).collect();
        let attributes: Vec<&str> = parts.iter().filter_map(|part| self.attribute_of(part)).collect();
        if asked.is_empty() && attributes.is_empty() || !self.may_ask() {
            return false;
        }
        let all = tree.tokens_within(whole, MOST);
        let (there, here) = (calls(&all), calls(condition));
        let more = |name: &&str| count(&there, name) > count(&here, name);
        let words = |tokens: Tokens<'_, '_>, name: &str| tokens.iter().filter(|token| token.text == name).count();
        asked.iter().any(more) || attributes.iter().any(|name| words(&all, name) > words(condition, name))
    }

    /// The class in `hasattr(Lamp, "dim")` that comes from a module of the project's, or of whom else's the code is.
    fn attribute_of(&self, part: Tokens<'_, 't>) -> Option<&'t str> {
        let part = match bare(part) {
            [not, rest @ ..] if not.text == "not" => bare(rest),
            all => all,
        };
        let [has, _, name, comma, ..] = part else { return None };
        let (from, _) = self.suite.taken.get(&hash(name.text))?;
        let first = from.trim_start_matches('.').split('.').next().unwrap_or_default();
        let class = name.text.starts_with(char::is_uppercase) && !from.is_empty() && !AROUND.contains(&first);
        (has.text == "hasattr" && comma.text == "," && class).then_some(name.text)
    }

    /// The same of a condition in the body of a test, where names stand for what calls gave them.
    fn asks_by_name(&mut self, condition: Tokens<'_, 't>) -> bool {
        let check = truth::alone(0, condition);
        let Some(whole) = self.unit_node().filter(|_| check.literal && self.may_ask()) else { return false };
        let all = self.tree.tokens_within(whole, MOST);
        let around: HashSet<u64> = AROUND.iter().map(|word| hash(word)).collect();
        let own = self.own.clone();
        let Some(unit) = self.unit() else { return false };
        let [name] = check.about.as_slice() else { return false };
        let Some(given) = unit.given.get(name).filter(|_| check.literal && !check.trivial) else { return false };
        let told = !given.names.iter().any(|word| around.contains(word));
        let names: Vec<u64> =
            given.calls.iter().chain(&given.made).copied().filter(|name| !own.contains(name)).collect();
        let there: Vec<u64> = calls(&all).into_iter().map(hash).collect();
        told && names.iter().any(|name| there.iter().filter(|one| *one == name).count() > 1)
    }

    /// The test that is open is left here, as skipped, where this holds.
    pub(super) fn skips_where(&mut self, at: usize, condition: &[Token<'t>], before: &[Token<'t>], what: &str) {
        let Some(whole) = self.unit_node().filter(|_| !self.is_dead()) else { return };
        let both: Vec<Token<'t>> = before.iter().chain(condition).copied().collect();
        let given = before.is_empty() || !truth::alone(0, condition).trivial;
        if given && self.asks_code(whole, &both) || self.asks_by_name(condition) {
            let mark = asks(self.tree, at, what);
            if let Some(unit) = self.unit() {
                unit.asks.get_or_insert(mark);
            }
        }
    }

    /// The first condition around a test, outside of any function, that asks the code.
    pub(super) fn stands_under(&self, at: usize) -> Option<Mark> {
        const HIGHEST: usize = 16;
        let mut here = at;
        for _ in 0..HIGHEST {
            here = self.tree.up(here)?;
            let condition = self.tree.field(here, "condition").filter(|_| self.tree.kind(here) == "if_statement");
            let tokens = condition.map(|condition| self.tree.tokens_within(condition, 100)).unwrap_or_default();
            if self.asks_around(at, &tokens) {
                return Some(asks(self.tree, here, "the `if` around it"));
            }
        }
        None
    }

    /// The condition does not stand in the test.
    fn asks_around(&self, test: usize, condition: Tokens<'_, 't>) -> bool {
        let parts = split(bare(condition), &["or", "and", "||", "&&"]);
        let asked: Vec<&str> = parts.iter().filter(|part| !is_around(part)).flat_map(|part| calls(part)).collect();
        if asked.is_empty() || !self.may_ask() {
            return false;
        }
        let there = calls(&self.tree.tokens_within(test, MOST));
        asked.iter().any(|name| !self.own.contains(&hash(name)) && there.contains(name))
    }
}

fn count(all: &[&str], name: &str) -> usize {
    all.iter().filter(|one| **one == name).count()
}

/// The mark of a test that is left out where the code is wrong.
pub(super) fn asks(tree: &Tree<'_>, at: usize, what: &str) -> Mark {
    Mark { line: tree.line(at), what: format!("{what}{ASKS}") }
}

/// How such a mark ends.
pub(super) const ASKS: &str = " asks what the code gives";
