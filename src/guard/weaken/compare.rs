//! An old test beside the new one: what it held and holds no more.

use std::collections::{HashMap, HashSet};

use super::checks::checks;
use super::mocks::{Taken, mocked};
use super::model::{Mark, Table, Unit};
use super::pair::{counted, shared};
use super::values;
use super::{Weaker, What};

/// What the rest of the change gained: a check that moved there is not gone.
pub(super) struct Around {
    /// Texts of checks that stand more often in the new files than in the old ones.
    pub(super) texts: HashMap<u64, usize>,
    /// Tokens that tests gained.
    tokens: HashMap<u64, usize>,
    /// Names of functions that check and stand on both sides.
    pub(super) helpers: HashSet<u64>,
    /// Tokens of tests that repeat what they do now, over cases.
    repeated: HashSet<u64>,
}

type Pair<'a> = ((usize, &'a Unit), (usize, &'a Unit));

impl Around {
    pub(super) fn of(pairs: &[Pair<'_>], helpers: &[Pair<'_>], fresh: &[(usize, &Unit)], beside: [&[u64]; 2]) -> Self {
        let mut texts: HashMap<u64, usize> = HashMap::new();
        let mut tokens: HashMap<u64, usize> = HashMap::new();
        let mut repeated: HashSet<u64> = HashSet::new();
        for ((_, old), (_, new)) in pairs.iter().chain(helpers) {
            if old.body == new.body {
                continue;
            }
            gained(old.checks.iter().map(|check| check.text), new.checks.iter().map(|check| check.text), &mut texts);
            gained(old.tokens.iter().copied(), new.tokens.iter().copied(), &mut tokens);
            if new.repeats() > old.repeats() {
                repeated.extend(&new.tokens);
            }
        }
        for (_, new) in fresh {
            gained([].into_iter(), new.checks.iter().map(|check| check.text), &mut texts);
            gained([].into_iter(), new.tokens.iter().copied(), &mut tokens);
            if new.repeats() > 0 {
                repeated.extend(&new.tokens);
            }
        }
        let mut more: HashMap<u64, usize> = HashMap::new();
        gained(beside[0].iter().copied(), beside[1].iter().copied(), &mut more);
        repeated.extend(more.keys());
        for (token, count) in more {
            *tokens.entry(token).or_insert(0) += count;
        }
        let name = |unit: &Unit| super::tree::hash(super::model::last_name(&unit.name));
        let helpers = helpers.iter().map(|(_, (_, new))| name(new)).collect();
        Self { texts, tokens, helpers, repeated }
    }

    /// Whether so many hundredths of these tokens were gained by tests of the change.
    pub(super) fn has_most_of(&self, tokens: &[u64], hundredths: usize) -> bool {
        !tokens.is_empty() && shared(tokens, &self.tokens) * 100 >= tokens.len() * hundredths
    }

    /// Whether a test became a case of one that repeats what it does: its words, or all of its strings, stand there.
    pub(super) fn repeats(&self, old: &Unit) -> bool {
        const MOST: usize = 75;
        let distinct: HashSet<u64> = old.tokens.iter().copied().collect();
        let there = distinct.iter().filter(|token| self.repeated.contains(token)).count();
        let strings = !old.strings.is_empty() && old.strings.iter().all(|one| self.repeated.contains(one));
        there > 0 && (strings || there * 100 >= distinct.len() * MOST)
    }
}

/// What the new has more often than the old.
pub(super) fn gained(old: impl Iterator<Item = u64>, new: impl Iterator<Item = u64>, into: &mut HashMap<u64, usize>) {
    let mut had: HashMap<u64, usize> = HashMap::new();
    for one in old {
        *had.entry(one).or_insert(0) += 1;
    }
    for one in new {
        match had.get_mut(&one) {
            Some(left) if *left > 0 => *left -= 1,
            _ => *into.entry(one).or_insert(0) += 1,
        }
    }
}

pub(super) fn say(unit: &Unit, what: What, line: u32, gone: bool, says: String, next: &str) -> Weaker {
    Weaker { what, test: unit.name.clone(), line, gone, says, next: next.to_owned() }
}

/// What is wrong with a test that is new.
pub(super) fn fresh(new: &Unit, taken: &Taken) -> Vec<Weaker> {
    if let Some(mark) = &new.skip {
        // What is only planned says so.
        return if mark.what == "`todo`" { Vec::new() } else { vec![skipped(new, mark)] };
    }
    if let Some(mark) = &new.asks {
        return vec![asked(new, mark)];
    }
    let mut found: Vec<Weaker> = late(new, &[]).into_iter().collect();
    found.extend(caught(new, 0));
    found.extend(mocked(new, &[], taken));
    found.extend(ended(new, &[]));
    if new.says_the_same() && found.is_empty() {
        found.push(nothing(new));
    }
    if new.asserts_nothing() && found.is_empty() {
        found.push(nothing(new));
    }
    found
}

/// What the new test holds no more. Functions that check are compared in the same way.
/// None: there are more checks than can be compared.
pub(super) fn units(old: &Unit, new: &Unit, around: &Around, taken: &Taken) -> Option<Vec<Weaker>> {
    if new.test {
        match (&old.skip, &new.skip) {
            (None, Some(mark)) => return Some(vec![skipped(new, mark)]),
            (Some(_), Some(_)) => return Some(Vec::new()),
            _ => {}
        }
    }
    if let Some(mark) = new.asks.as_ref().filter(|_| new.test && old.skip.is_none() && old.asks.is_none()) {
        return Some(vec![asked(new, mark)]);
    }
    if let Some(mark) = new.limited.as_ref().filter(|_| new.test && old.skip.is_none() && old.limited.is_none()) {
        let says = format!("The test is not run as usual: {}.", mark.what);
        let next = "Run it always, or say in the commit why not.";
        return Some(vec![say(new, What::Skipped, mark.line, false, says, next)]);
    }
    if old.body == new.body {
        // A class may have been given a mock for all of its tests.
        return Some(mocked(new, &old.mocks, taken).into_iter().collect());
    }
    let mut found: Vec<Weaker> = late(new, &old.dead).into_iter().collect();
    found.extend(caught(new, old.caught.len()).or_else(|| evaded(old, new)));
    found.extend(spared(old, new));
    found.extend(mocked(new, &old.mocks, taken));
    found.extend(panics(old, new));
    found.extend(ended(new, &old.exits));
    let late = !found.is_empty();
    if !late && new.test && new.asserts_nothing() && old.holds().next().is_some() {
        found.push(nothing(new));
        return Some(found);
    }
    found.extend(tables(old, new, around));
    found.extend(thrown_away(old, new));
    found.extend(values::in_rows(old, new));
    found.extend(checks(old, new, around, late)?);
    Some(found)
}

fn skipped(new: &Unit, mark: &Mark) -> Weaker {
    let says = format!("The test is not run, or may fail: {}.", mark.what);
    say(new, What::Skipped, mark.line, false, says, "Make it run, or say in the commit why it can't.")
}

/// Where the code is wrong the test is not run.
fn asked(new: &Unit, mark: &Mark) -> Weaker {
    let says = format!("The test is left out where the code is wrong: {}.", mark.what);
    say(new, What::Skipped, mark.line, false, says, "Ask only where the test runs, and check what the code gives.")
}

/// A test whose class is none that a runner takes.
pub(super) fn uncollected(old: &Unit, new: &Unit) -> Option<Weaker> {
    let mark = new.uncollected.as_ref().filter(|_| old.uncollected.is_none() && old.skip.is_none())?;
    let says = format!("The test is not run: no runner takes `{}` for a class of tests.", mark.what);
    Some(say(new, What::Skipped, mark.line, false, says, "Name it `Test…`, or let it be a `TestCase`."))
}

fn nothing(new: &Unit) -> Weaker {
    let says = "The test asserts nothing: it passes whatever the code gives back.".to_owned();
    say(new, What::AssertsNothing, new.line, false, says, "Assert what the code must do.")
}

fn late(new: &Unit, before: &[Mark]) -> Option<Weaker> {
    let mark = new.dead.first().filter(|_| before.is_empty())?;
    let says = format!("What the test checks is never reached: `{}`.", mark.what);
    Some(say(new, What::Skipped, mark.line, false, says, "Take the early end or the dead condition away."))
}

/// A check of what the test is left for early where it is not so: it never fails.
fn ended(new: &Unit, before: &[(u64, u64)]) -> Option<Weaker> {
    let exits: HashSet<&(u64, u64)> = new.exits.iter().filter(|exit| !before.contains(exit)).collect();
    let check = new.checks.iter().find(|check| {
        !check.negative && exits.contains(&(check.subject, check.expected)) && check.form >= super::model::Form::Near
    })?;
    let says = format!("`{}` never fails: the test is left before it where that is not so.", check.shown);
    Some(say(new, What::AssertionLoosened, check.line, false, says, "Take the early end away."))
}

fn caught(new: &Unit, before: usize) -> Option<Weaker> {
    let mark = new.caught.first().filter(|_| new.caught.len() > before)?;
    let says = format!("A failure of `{}` is caught and forgotten.", mark.what);
    Some(say(new, What::CatchAll, mark.line, false, says, "Let the failure through, or catch only what may happen."))
}

/// The test ends where the code fails, which it did not before.
fn evaded(old: &Unit, new: &Unit) -> Option<Weaker> {
    let mark = new.evaded.get(old.evaded.len()).filter(|_| old.holds().next().is_some())?;
    let says = format!("Where `{}` fails the test ends, and fails not.", mark.what);
    Some(say(new, What::CatchAll, mark.line, false, says, "Let the failure through, or catch only what may happen."))
}

/// A function of a file without tests whose name says that it checks, and that checks nothing any more.
pub(super) fn emptied(old: &Unit, new: &Unit) -> Option<Weaker> {
    let name = super::model::last_name(&new.name);
    let checks = super::walk::says_check(name) && old.holds().next().is_some() && new.asserts_nothing();
    let says = format!("`{name}` checks nothing any more: whatever calls it passes.");
    checks.then(|| say(new, What::AssertsNothing, new.line, false, says, "Let it check what it did."))
}

fn spared(old: &Unit, new: &Unit) -> Option<Weaker> {
    let mark = new.spared.get(old.spared.len()).filter(|_| new.test)?;
    let says = format!("A case of it is not run, or may fail: {}.", mark.what);
    Some(say(new, What::Skipped, mark.line, false, says, "Make it run, or say in the commit why it can't."))
}

fn panics(old: &Unit, new: &Unit) -> Option<Weaker> {
    let (line, said) = new.panics?;
    let next = "Say which panic is expected: `#[should_panic(expected = \"…\")]`.";
    match old.panics {
        Some((_, true)) if !said => {
            let says = "Any panic will do: the expected message is gone.".to_owned();
            Some(say(new, What::AssertionLoosened, line, false, says, next))
        }
        None if !said
            && old.checks.iter().map(|check| check.text).eq(new.checks.iter().map(|check| check.text))
            && !old.checks.is_empty() =>
        {
            let says = "The same checks pass by any panic now, their own failure included.".to_owned();
            Some(say(new, What::AssertionLoosened, line, false, says, next))
        }
        _ => None,
    }
}

/// Cases that are gone. Cases that changed, and such that stand elsewhere now, are not.
fn tables(old: &Unit, new: &Unit, around: &Around) -> Option<Weaker> {
    let count = |unit: &Unit| unit.tables.iter().map(|table| table.items.len()).sum::<usize>();
    // A table that went elsewhere, or was built otherwise, can't be counted.
    if new.tables.len() != old.tables.len() || old.tables.is_empty() || count(new) >= count(old) {
        return None;
    }
    let there: HashSet<u64> = new.tables.iter().flat_map(|table| table.items.iter().copied()).collect();
    let here: HashSet<u64> = old.tables.iter().flat_map(|table| table.items.iter().copied()).collect();
    let fresh = there.iter().filter(|item| !here.contains(item)).count();
    let words = counted(&new.tokens);
    let rows = |table: &Table| table.items.iter().copied().zip(table.bags.clone()).collect::<Vec<_>>();
    let gone = old.tables.iter().flat_map(rows).filter(|(item, _)| !there.contains(item)).filter(|(_, bag)| {
        // A row whose words all stand in the test still was only written in another way.
        bag.iter().any(|token| !words.contains_key(token)) && !around.has_most_of(bag, 90)
    });
    let gone = gone.count();
    let table = new.tables.first()?;
    let lost = gone.saturating_sub(fresh);
    let says = format!("It is run with {lost} fewer cases than before.");
    let next = "Put the cases back, or say in the commit why they need not hold any more.";
    (lost > 0).then(|| say(new, What::AssertionRemoved, table.line, false, says, next))
}

/// A result that was unwrapped and is thrown away now.
fn thrown_away(old: &Unit, new: &Unit) -> Option<Weaker> {
    let before: HashSet<u64> = old.discarded.iter().map(|(subject, _)| *subject).collect();
    let held: HashSet<u64> = old.soft.iter().copied().filter(|subject| *subject != 0).collect();
    let still: HashSet<u64> = new.soft.iter().copied().collect();
    let lost =
        |(subject, _): &&(u64, u32)| held.contains(subject) && !before.contains(subject) && !still.contains(subject);
    let (_, line) = new.discarded.iter().find(lost)?;
    let says = "A result that had to be good is thrown away.".to_owned();
    Some(say(new, What::AssertionLoosened, *line, false, says, "Unwrap it again, or assert what it must be."))
}
