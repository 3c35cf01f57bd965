//! Whether a green was earned: what the same commands say on other content.
//!
//! Three more runs show what a green run alone can't. The *base* tells how many tests there were before. The base's own tests, laid
//! over the head's code, tell whether the head still does what they ask, whatever it made of them. And the head's tests, laid over
//! the base's code, tell whether the new ones ask for anything: a test that passes without the change proves nothing about it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Carried;
use super::artefact::{CommandRun, Counts, Failing, FailingKind, TestResult};
use super::reports::Listed;
use crate::ids::CommitId;
use crate::repo::{Delta, Laid, RepoPath};

/// How many names are kept of each list.
const MOST_NAMES: usize = 200;

/// What the same commands say on other content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Earned {
    /// Whether what is found against it counts.
    pub demanded: bool,
    /// Where the change left the branch that it goes into; or a later commit of that branch, where no test ran there yet.
    #[schemars(with = "String", extend("pattern" = super::artefact::COMMIT))]
    pub base: CommitId,
    /// The commands on the base.
    pub on_base: Side,
    /// Tests that ran there and not on the head; the first two hundred.
    pub gone: Vec<String>,
    /// Tests that ran there and were skipped on the head; the first two hundred.
    pub now_skipped: Vec<String>,
    /// Tests that pass on the base and did not run on the head's code, also where their files are as the base has them; the first two
    /// hundred. None where tests may stand among the code: then they go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The base's tests on the head's code. None where the change touches no file of tests: then the head's own run is that.
    #[serde(default)]
    pub old_tests: Option<OldTests>,
    /// What the new tests say about the base's code.
    pub new_tests: NewTests,
}

impl Earned {
    /// Where there is nothing to hold it against.
    pub fn unknown(demanded: bool, base: CommitId, why: String) -> Self {
        let (on_base, new_tests) = (Side::not_run(why), NewTests::default());
        let (gone, now_skipped, missing) = (Vec::new(), Vec::new(), Vec::new());
        Self { demanded, base, on_base, gone, now_skipped, missing, old_tests: None, new_tests }
    }
}

/// One more run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    pub duration_ms: u64,
    pub commands: Vec<CommandRun>,
    pub totals: Counts,
    /// Why it was not carried out.
    #[serde(default)]
    pub why: Option<String>,
}

impl Side {
    /// One that was not carried out.
    pub fn not_run(why: String) -> Self {
        Self { why: Some(why), ..Self::default() }
    }

    /// The first command that did not pass, and how it ended; or why nothing was run.
    pub fn trouble(&self) -> Option<String> {
        let failed = self.commands.iter().find(|command| !command.passed());
        let told = |command: &CommandRun| format!("{} {}", crate::finding::quoted(&command.command), command.ending());
        self.why.clone().or_else(|| failed.map(told))
    }
}

/// The base's tests on the head's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OldTests {
    /// The files that were put back as the base has them; the first two hundred.
    pub files: Vec<String>,
    pub run: Side,
    /// The tests that failed there and not on the base, the first hundred.
    pub failing: Vec<Failing>,
    /// How many more there are.
    pub failing_left_out: u64,
    /// Tests that ran on the base and were skipped there; the first two hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// The head's new files of tests stayed beside them: without these they could not be carried out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside_new: bool,
}

/// Where a test is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// What the new tests say about the base's code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewTests {
    /// The head's tests on the base's code. None where there is no new test.
    #[serde(default)]
    pub run: Option<Side>,
    /// Tests that are red there by a failed assertion.
    pub proved: u64,
    /// Tests that are green there too: they prove nothing about the change.
    pub idle: u64,
    /// Tests that could not be carried out there.
    pub unproven: u64,
    /// Names of the idle ones, the first two hundred.
    pub idle_names: Vec<String>,
    /// Where those are, by their names, as far as the reports tell it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub idle_places: BTreeMap<String, Place>,
    /// Names of the unproven ones, the first two hundred.
    pub unproven_names: Vec<String>,
}

/// What is laid over what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sides {
    /// Over the head: the base's tests, and nothing in place of what the base does not have.
    pub old_tests: Vec<Laid>,
    /// The same, with what the base does not have left where it is.
    pub beside_new: Vec<Laid>,
    /// Over the base: the head's tests.
    pub new_tests: Vec<Laid>,
    /// Tests may stand among the code.
    pub inline: bool,
}

impl Sides {
    /// Of what the change does to the base, and which files are tests.
    pub fn of(deltas: &[Delta], inline: bool, is_test: impl Fn(&RepoPath) -> bool) -> Self {
        let mut sides = Self { inline, ..Self::default() };
        for Delta { path, old, new } in deltas.iter().filter(|delta| is_test(&delta.path)) {
            // A new file of tests could bend what the old ones ask, so they are asked without it first.
            let before = Laid { path: path.clone(), file: old.clone() };
            sides.beside_new.extend(old.is_some().then(|| before.clone()));
            sides.old_tests.push(before);
            sides.new_tests.push(Laid { path: path.clone(), file: new.clone() });
        }
        sides
    }

    /// The head's files of tests, to be laid over the base one by one. None where there is but one, or more than so many.
    pub fn each_by_itself(&self, most: usize) -> impl Iterator<Item = &Laid> {
        let files: Vec<&Laid> = self.new_tests.iter().filter(|laid| laid.file.is_some()).collect();
        let some = (2..=most).contains(&files.len());
        files.into_iter().filter(move |_| some)
    }
}

/// Whether the base's tests lack something on the head's code that new files of tests may bring: some of those that pass on the base
/// could not be carried out, and none failed in what it asserts.
pub fn lack_something(base: &Carried, alone: &Tried) -> bool {
    let Ok(alone) = alone else { return true };
    let there: BTreeMap<&str, &Listed> = alone.read.tests.iter().map(|test| (test.run.name.as_str(), test)).collect();
    let skipped: BTreeSet<&str> = alone.read.skipped.iter().map(String::as_str).collect();
    let passes = base.read.tests.iter().filter(|test| test.run.result == TestResult::Pass);
    let mut lacks = false;
    for name in passes.map(|test| test.run.name.as_str()) {
        match there.get(name) {
            Some(test) if test.run.result == TestResult::Pass => {}
            Some(test) if test.run.kind == Some(FailingKind::Failed) && !test.lacks => return false,
            None if skipped.contains(name) => {}
            _ => lacks = true,
        }
    }
    lacks
}

/// The tests of the head that the base does not have. One that moved is not new: it has the name of one that is gone.
fn new_ones<'a>(head: &'a Carried, base: &Carried) -> Vec<&'a Listed> {
    let before: BTreeSet<&str> = names(base).collect();
    let now: BTreeSet<&str> = names(head).collect();
    let mut moved: BTreeMap<&str, usize> = BTreeMap::new();
    for gone in base.read.tests.iter().filter(|test| !now.contains(test.run.name.as_str())) {
        *moved.entry(&gone.bare).or_default() += 1;
    }
    let is_new = |test: &&Listed| {
        let moved = moved.get_mut(test.bare.as_str()).filter(|left| **left > 0);
        !before.contains(test.run.name.as_str()) && moved.map(|left| *left -= 1).is_none()
    };
    head.read.tests.iter().filter(is_new).collect()
}

fn names(carried: &Carried) -> impl Iterator<Item = &str> {
    carried.read.tests.iter().map(|test| test.run.name.as_str())
}

/// Whether there is a test on the head that the base does not have.
pub fn has_new(head: &Carried, base: &Carried) -> bool {
    !new_ones(head, base).is_empty()
}

/// A run, or why there was none.
pub type Tried = Result<Carried, String>;

/// The base's tests on the head's code, and whether the head's new files of tests stayed beside them.
pub type Asked = (Tried, bool);

/// What was found, held together. `old` and `new` are none where there was nothing to lay over.
pub fn compared(
    (demanded, base): (bool, &CommitId),
    sides: &Sides,
    head: &Carried,
    on_base: &Tried,
    old: Option<Asked>,
    new: Option<Tried>,
) -> Earned {
    let empty = Carried::empty();
    let before = on_base.as_ref().unwrap_or(&empty);
    let now: BTreeSet<&str> = names(head).collect();
    let skipped: BTreeSet<&str> = head.read.skipped.iter().map(String::as_str).collect();
    let (now_skipped, gone): (Vec<&str>, Vec<&str>) =
        names(before).filter(|name| !now.contains(name)).partition(|name| skipped.contains(name));
    let empty = Carried::empty();
    let asked = match &old {
        Some((tried, _)) => tried.as_ref().unwrap_or(&empty),
        None => head,
    };
    let ran: BTreeSet<&str> = names(asked).chain(asked.read.skipped.iter().map(String::as_str)).collect();
    let passes = before.read.tests.iter().filter(|test| test.run.result == TestResult::Pass && !sides.inline);
    let missing = first(passes.map(|test| test.run.name.as_str()).filter(|name| !ran.contains(name)));
    Earned {
        missing,
        demanded,
        base: base.clone(),
        on_base: side(on_base),
        gone: first(gone.into_iter()),
        now_skipped: first(now_skipped.into_iter()),
        old_tests: old.map(|old| old_tests(sides, before, old)),
        new_tests: new_tests(&new_ones(head, before), new),
    }
}

fn first<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.take(MOST_NAMES).map(str::to_owned).collect()
}

fn side(tried: &Tried) -> Side {
    match tried {
        Ok(carried) => Side {
            duration_ms: carried.duration_ms,
            commands: carried.commands.clone(),
            totals: carried.read.totals,
            why: None,
        },
        Err(why) => Side::not_run(why.clone()),
    }
}

fn old_tests(sides: &Sides, base: &Carried, (tried, beside_new): Asked) -> OldTests {
    let run = side(&tried);
    // Whatever is red on the base is not the change's doing.
    let red: BTreeSet<&str> = base
        .read
        .tests
        .iter()
        .filter(|test| test.run.result == TestResult::Fail)
        .map(|test| test.run.name.as_str())
        .collect();
    let carried = tried.unwrap_or_else(|_| Carried::empty());
    let fails = |test: &&Listed| test.run.result == TestResult::Fail && !red.contains(test.run.name.as_str());
    let ran: BTreeSet<&str> = self::names(base).collect();
    let skipped = carried.read.skipped.iter().map(String::as_str).filter(|name| ran.contains(name));
    let skipped = first(skipped);
    let names: BTreeSet<&str> = carried.read.tests.iter().filter(fails).map(|test| test.run.name.as_str()).collect();
    let told: Vec<Failing> =
        carried.read.failing.iter().filter(|one| !red.contains(one.name.as_str())).cloned().collect();
    OldTests {
        files: sides.old_tests.iter().take(MOST_NAMES).map(|laid| laid.path.to_string()).collect(),
        run,
        failing_left_out: (names.len() as u64).saturating_sub(told.len() as u64),
        failing: told,
        skipped,
        beside_new,
    }
}

fn new_tests(new: &[&Listed], tried: Option<Tried>) -> NewTests {
    let mut found = NewTests { run: tried.as_ref().map(side), ..NewTests::default() };
    let carried = tried.and_then(Result::ok).unwrap_or_else(Carried::empty);
    let there: BTreeMap<&str, &Listed> = carried.read.tests.iter().map(|test| (test.run.name.as_str(), test)).collect();
    // Which of several tests of one name is which is not known where some of them pass and others do not.
    let mut ends: BTreeMap<&str, BTreeSet<bool>> = BTreeMap::new();
    for test in &carried.read.tests {
        ends.entry(&test.stem).or_default().insert(test.run.result == TestResult::Pass);
    }
    for test in new {
        let name = test.run.name.as_str();
        let is_one = ends.get(test.stem.as_str()).is_none_or(|ends| ends.len() == 1);
        let (count, list) = match there.get(name).filter(|_| is_one) {
            Some(test) if test.run.result == TestResult::Pass => (&mut found.idle, Some(&mut found.idle_names)),
            Some(test) if test.run.kind == Some(FailingKind::Failed) && !test.lacks => (&mut found.proved, None),
            _ => (&mut found.unproven, Some(&mut found.unproven_names)),
        };
        *count += 1;
        if let Some(place) = there.get(name).filter(|there| is_one && there.run.result == TestResult::Pass) {
            let place = place.place.clone().filter(|_| found.idle_places.len() < MOST_NAMES);
            found.idle_places.extend(place.map(|place| (name.to_owned(), place)));
        }
        if let Some(list) = list.filter(|list| list.len() < MOST_NAMES) {
            list.push(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests;
