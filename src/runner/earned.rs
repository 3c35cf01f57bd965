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
use super::coverage::Coverage;
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
    /// hundred. Those that stand among code which the change touches go with it, and those that the base itself would not run twice are
    /// not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The base's tests on the head's code. None where the change touches no file of tests: then the head's own run is that.
    #[serde(default)]
    pub old_tests: Option<OldTests>,
    /// What is frozen of the tests, on the head's code without files of tests that came later. None where nothing is known to be frozen,
    /// or none came later: then the head's own run is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<OldTests>,
    /// What the new tests say about the base's code.
    pub new_tests: NewTests,
}

impl Earned {
    /// Where there is nothing to hold it against.
    pub fn unknown(demanded: bool, base: CommitId, why: String) -> Self {
        let (on_base, new_tests) = (Side::not_run(why), NewTests::default());
        let (gone, now_skipped, missing) = (Vec::new(), Vec::new(), Vec::new());
        Self { demanded, base, on_base, gone, now_skipped, missing, old_tests: None, frozen: None, new_tests }
    }
}

/// One more run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    pub duration_ms: u64,
    pub commands: Vec<CommandRun>,
    pub totals: Counts,
    /// How many lines they reached, on the base and where the policy asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
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

/// The base's tests, or those that are frozen, on the head's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OldTests {
    /// The files that were put back as they were, or taken away; the first two hundred.
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
    /// These; the first two hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// They may change what is tested: a runner loads them by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_bend: bool,
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
    /// New tests that the head skips, or lets fail; the first two hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

/// What is laid over what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sides {
    /// Over the head: the base's tests, and nothing in place of what the base does not have.
    pub old_tests: Vec<Laid>,
    /// Over the base: the head's tests.
    pub new_tests: Vec<Laid>,
    pub among: Among,
}

impl Sides {
    /// Of what the change does to the base, and which files are tests.
    pub fn of(deltas: &[Delta], among: Among, is_test: impl Fn(&RepoPath) -> bool) -> Self {
        let mut sides = Self { among, ..Self::default() };
        for Delta { path, old, new } in deltas.iter().filter(|delta| is_test(&delta.path)) {
            // A new file of tests could bend what the old ones ask, so they are asked without it first.
            sides.old_tests.push(Laid { path: path.clone(), file: old.clone() });
            sides.new_tests.push(Laid { path: path.clone(), file: new.clone() });
        }
        sides
    }

    /// The base's tests with new files of tests left beside them, those that are meant: what is laid over the head, and which stay.
    pub fn beside(&self, stays: impl Fn(&RepoPath) -> bool) -> (Vec<Laid>, Vec<String>) {
        let is_left = |laid: &&Laid| laid.file.is_none() && stays(&laid.path);
        let left = self.old_tests.iter().filter(is_left).map(|laid| laid.path.to_string()).collect();
        (self.old_tests.iter().filter(|laid| !is_left(laid)).cloned().collect(), left)
    }

    /// The head's files of tests, to be laid over the base one by one. None where there is but one, or more than so many.
    pub fn each_by_itself(&self, most: usize) -> impl Iterator<Item = &Laid> {
        let files: Vec<&Laid> = self.new_tests.iter().filter(|laid| laid.file.is_some()).collect();
        let some = (2..=most).contains(&files.len());
        files.into_iter().filter(move |_| some)
    }
}

/// Tests that stand among the code: no file of tests can be put back for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Among {
    /// The change touches code of the base in which tests may stand.
    touched: bool,
    /// Modules that are files of tests: the folder of their crate, where it has a name here, and their path.
    held: Vec<(Option<String>, String)>,
}

impl Among {
    /// Of what the change does, and of all files that the base has.
    pub fn of<'a>(
        deltas: &[Delta],
        base: impl Iterator<Item = &'a RepoPath>,
        is_test: impl Fn(&RepoPath) -> bool,
        may_hold: impl Fn(&RepoPath) -> bool,
    ) -> Self {
        let is_code = |delta: &Delta| delta.old.is_some() && may_hold(&delta.path) && !is_test(&delta.path);
        let held = base.filter(|path| is_test(path)).filter_map(|path| module(path.as_str()?)).collect();
        Self { touched: deltas.iter().any(is_code), held }
    }

    /// Whether a test may have gone with the code that it stands in.
    fn may_go(&self, test: &Listed) -> bool {
        if !self.touched {
            return false;
        }
        if let Some(place) = &test.place {
            return [".rs", ".zig"].iter().any(|end| place.path.ends_with(end));
        }
        // Rust's have a module, their file, or a program; Zig's a word. A crate's own tests in files are each a crate, named after it.
        let class = test.stem.strip_suffix(&test.bare).unwrap_or_default().trim();
        let program = class.contains("::bin/") || class.contains("::example/");
        if class.contains("::") && !program {
            return false;
        }
        let is_inline = program || test.bare.contains("::") || test.bare.contains(".rs") || test.bare.contains("test.");
        let own = class.split("::").next().unwrap_or_default().replace('-', "_");
        let is_held = |(folder, module): &(Option<String>, String)| {
            let there = folder.as_ref().is_none_or(|folder| own.is_empty() || *folder == own);
            there && test.bare.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with("::"))
        };
        is_inline && !self.held.iter().any(is_held)
    }
}

/// The module of Rust that a file is, and the folder of its crate.
fn module(path: &str) -> Option<(Option<String>, String)> {
    let parts: Vec<&str> = path.strip_suffix(".rs")?.split('/').collect();
    let src = parts.iter().position(|part| *part == "src")?;
    let folder = src.checked_sub(1).map(|at| parts[at].replace('-', "_"));
    Some((folder, parts[src + 1..].join("::"))).filter(|(_, module)| !module.is_empty())
}

/// The tests of a run, to be found by their names, or by these with their suites.
struct Index<'a>(BTreeMap<&'a str, &'a Listed>);

impl<'a> Index<'a> {
    fn of(carried: &'a Carried) -> Self {
        let tests = &carried.read.tests;
        let mut all: BTreeMap<&str, &Listed> = tests.iter().map(|test| (test.whole.as_str(), test)).collect();
        all.extend(tests.iter().map(|test| (test.run.name.as_str(), test)));
        Self(all)
    }

    fn get(&self, test: &Listed) -> Option<&'a Listed> {
        self.0.get(test.run.name.as_str()).or_else(|| self.0.get(test.whole.as_str())).copied()
    }

    fn has(&self, test: &Listed) -> bool {
        self.get(test).is_some()
    }
}

/// Whether a run has skipped a test.
fn skips(carried: &Carried) -> impl Fn(&Listed) -> bool {
    let all = carried.read.skipped.iter().chain(&carried.read.skipped_whole);
    let all: BTreeSet<&str> = all.map(String::as_str).collect();
    move |test| all.contains(test.run.name.as_str()) || all.contains(test.whole.as_str())
}

fn passing(carried: &Carried) -> impl Iterator<Item = &Listed> {
    carried.read.tests.iter().filter(|test| test.run.result == TestResult::Pass)
}

/// Whether the base's tests lack something on the head's code that new files of tests may bring: some of those that pass on the base
/// were not begun, and none of the others failed. One that ran and ended by an exception has failed: a new file of tests that lets it
/// pass has mended the code, and not the test.
pub fn lack_something(sides: &Sides, base: &Carried, alone: &Tried) -> bool {
    let Ok(alone) = alone else { return true };
    let (there, skipped) = (Index::of(alone), skips(alone));
    let mut lacks = false;
    for test in passing(base).filter(|test| !sides.among.may_go(test)) {
        match there.get(test) {
            Some(test) if test.run.result == TestResult::Pass => {}
            Some(test) if test.unloaded => lacks = true,
            Some(_) => return false,
            None if skipped(test) => {}
            None => lacks = true,
        }
    }
    lacks
}

/// Tests that pass on the base and were not asked on the head's code.
fn missing<'a>(sides: &Sides, base: &'a Carried, asked: &Carried) -> Vec<&'a Listed> {
    let (ran, skipped) = (Index::of(asked), skips(asked));
    passing(base).filter(|test| !ran.has(test) && !skipped(test) && !sides.among.may_go(test)).collect()
}

/// Whether a test of the base was not asked on the head's code: `old` is the run with the base's tests, where there was one.
pub fn misses_some(sides: &Sides, base: &Carried, head: &Carried, old: Option<&Asked>) -> bool {
    let empty = Carried::empty();
    let asked = old.map_or(head, |old| old.tried.as_ref().unwrap_or(&empty));
    !missing(sides, base, asked).is_empty()
}

/// Whether the base gives a test its name twice. A time, a port or a seed in it makes another of it each time. A second run that had
/// other numbers of tests says nothing.
fn repeats(base: &Carried, again: Option<&Carried>) -> impl Fn(&Listed) -> bool {
    let again = again.filter(|again| again.read.tests.len() == base.read.tests.len()).map(Index::of);
    move |test| again.as_ref().is_none_or(|again| again.has(test))
}

/// A name without what may be another each time.
fn masked(name: &str) -> String {
    let is_number = |word: &str| {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        digits.bytes().any(|c| c.is_ascii_digit()) && digits.bytes().all(|c| c.is_ascii_hexdigit())
    };
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.map(|word| if is_number(word) { "0" } else { word }).collect::<Vec<_>>().join(" ")
}

/// The tests of the head that the base does not have, not even skipped. One that moved is not new: it has the name of one that is gone.
/// So has one that is called otherwise each time.
fn new_ones<'a>(head: &'a Carried, base: &Carried, again: Option<&Carried>) -> Vec<&'a Listed> {
    let (before, now, repeats) = (Index::of(base), Index::of(head), repeats(base, again));
    let mut moved: BTreeMap<String, usize> = BTreeMap::new();
    for gone in base.read.tests.iter().filter(|test| !now.has(test)) {
        let name = if repeats(gone) { gone.bare.clone() } else { masked(&gone.bare) };
        *moved.entry(name).or_default() += 1;
    }
    let mut is_moved = |name: &str| match moved.get_mut(name).filter(|left| **left > 0) {
        Some(left) => {
            *left -= 1;
            true
        }
        None => false,
    };
    let skipped = skips(base);
    let is_new =
        |test: &&Listed| !before.has(test) && !skipped(test) && !is_moved(&test.bare) && !is_moved(&masked(&test.bare));
    head.read.tests.iter().filter(is_new).collect()
}

/// Whether there is a test on the head that the base does not have.
pub fn has_new(head: &Carried, base: &Carried) -> bool {
    !new_ones(head, base, None).is_empty()
}

/// A run, or why there was none.
pub type Tried = Result<Carried, String>;

/// The base's tests on the head's code.
#[derive(Debug)]
pub struct Asked {
    pub tried: Tried,
    /// The new files of tests that stayed beside them.
    pub beside: Vec<String>,
    /// These may change what is tested.
    pub may_bend: bool,
}

impl Asked {
    /// Without any.
    pub fn alone(tried: Tried) -> Self {
        Self { tried, beside: Vec::new(), may_bend: false }
    }
}

/// What is frozen, on the head's code.
#[derive(Debug)]
pub struct Frozen {
    /// The files of tests that came later, and were taken away.
    pub without: Vec<String>,
    pub tried: Tried,
}

/// What was run beside the head and the base. Each is none where there was nothing to lay over, or nothing to ask.
#[derive(Debug, Default)]
pub struct Looks {
    pub old: Option<Asked>,
    pub new: Option<Tried>,
    pub frozen: Option<Frozen>,
    /// The base once more.
    pub again: Option<Tried>,
}

/// What was found, held together.
pub fn compared(
    (demanded, base): (bool, &CommitId),
    sides: &Sides,
    head: &Carried,
    on_base: &Tried,
    looks: Looks,
) -> Earned {
    let Looks { old, new, frozen, again } = looks;
    let empty = Carried::empty();
    let before = on_base.as_ref().unwrap_or(&empty);
    let again = again.and_then(Result::ok);
    let repeats = repeats(before, again.as_ref());
    let (now, skipped) = (Index::of(head), skips(head));
    let gone = before.read.tests.iter().filter(|test| !now.has(test) && repeats(test));
    let (now_skipped, gone): (Vec<&Listed>, Vec<&Listed>) = gone.partition(|test| skipped(test));
    let asked = match &old {
        Some(old) => old.tried.as_ref().unwrap_or(&empty),
        None => head,
    };
    let missing = missing(sides, before, asked);
    let new_ones = new_ones(head, before, again.as_ref());
    Earned {
        missing: first(missing.into_iter().filter(|test| repeats(test))),
        demanded,
        base: base.clone(),
        on_base: side(on_base),
        gone: first(gone.into_iter()),
        now_skipped: first(now_skipped.into_iter()),
        old_tests: old.map(|old| old_tests(sides, before, old)),
        frozen: frozen.map(|frozen| frozen_tests(before, frozen)),
        new_tests: NewTests { skipped: newly_skipped(head, before), ..new_tests(&new_ones, new) },
    }
}

/// Tests that the head skips and the base does not have.
fn newly_skipped(head: &Carried, base: &Carried) -> Vec<String> {
    let tests = base.read.tests.iter().flat_map(|test| [&test.run.name, &test.whole]);
    let skipped = base.read.skipped.iter().chain(&base.read.skipped_whole);
    let known: BTreeSet<&str> = tests.chain(skipped).map(String::as_str).collect();
    let named = head.read.skipped.iter().zip(&head.read.skipped_whole);
    let new = named.filter(|(name, whole)| !known.contains(name.as_str()) && !known.contains(whole.as_str()));
    new.map(|(name, _)| name.clone()).take(MOST_NAMES).collect()
}

fn first<'a>(tests: impl Iterator<Item = &'a Listed>) -> Vec<String> {
    tests.take(MOST_NAMES).map(|test| test.run.name.clone()).collect()
}

fn side(tried: &Tried) -> Side {
    match tried {
        Ok(carried) => Side {
            duration_ms: carried.duration_ms,
            commands: carried.commands.clone(),
            totals: carried.read.totals,
            coverage: carried.coverage.clone(),
            why: None,
        },
        Err(why) => Side::not_run(why.clone()),
    }
}

fn old_tests(sides: &Sides, base: &Carried, asked: Asked) -> OldTests {
    let Asked { tried, beside, may_bend } = asked;
    let files = sides.old_tests.iter().map(|laid| laid.path.to_string());
    let mut old = held(base, tried, files);
    let known: BTreeSet<&str> =
        base.read.tests.iter().flat_map(|test| [test.run.name.as_str(), test.whole.as_str()]).collect();
    old.skipped.retain(|(name, whole)| known.contains(name.as_str()) || known.contains(whole.as_str()));
    let beside_new = !beside.is_empty();
    let beside = beside.into_iter().take(MOST_NAMES).collect();
    OldTests { beside_new, beside, may_bend, ..old.told() }
}

/// Those that the base skips too are not the change's.
fn frozen_tests(base: &Carried, frozen: Frozen) -> OldTests {
    let mut held = held(base, frozen.tried, frozen.without.into_iter());
    let known: BTreeSet<&str> = base.read.skipped.iter().chain(&base.read.skipped_whole).map(String::as_str).collect();
    held.skipped.retain(|(name, whole)| !known.contains(name.as_str()) && !known.contains(whole.as_str()));
    held.told()
}

/// What came of older tests on the head's code.
struct Held {
    old: OldTests,
    /// Each by its name, and with its suite.
    skipped: Vec<(String, String)>,
}

impl Held {
    fn told(self) -> OldTests {
        let skipped = self.skipped.into_iter().map(|(name, _)| name).take(MOST_NAMES).collect();
        OldTests { skipped, ..self.old }
    }
}

fn held(base: &Carried, tried: Tried, files: impl Iterator<Item = String>) -> Held {
    let run = side(&tried);
    let carried = tried.unwrap_or_else(|_| Carried::empty());
    // Whatever is red on the base is not the change's doing.
    let red = base.read.tests.iter().filter(|test| test.run.result == TestResult::Fail);
    let red: BTreeSet<&str> = red.flat_map(|test| [test.run.name.as_str(), test.whole.as_str()]).collect();
    let fails = |test: &&Listed| {
        let is_red = red.contains(test.run.name.as_str()) || red.contains(test.whole.as_str());
        test.run.result == TestResult::Fail && !is_red
    };
    let names: BTreeSet<&str> = carried.read.tests.iter().filter(fails).map(|test| test.run.name.as_str()).collect();
    let failing: Vec<Failing> =
        carried.read.failing.iter().filter(|one| names.contains(one.name.as_str())).cloned().collect();
    let skipped = carried.read.skipped.iter().cloned().zip(carried.read.skipped_whole.iter().cloned()).collect();
    let old = OldTests {
        files: files.take(MOST_NAMES).collect(),
        run,
        failing_left_out: (names.len() as u64).saturating_sub(failing.len() as u64),
        failing,
        skipped: Vec::new(),
        beside_new: false,
        beside: Vec::new(),
        may_bend: false,
    };
    Held { old, skipped }
}

fn new_tests(new: &[&Listed], tried: Option<Tried>) -> NewTests {
    let mut found = NewTests { run: tried.as_ref().map(side), ..NewTests::default() };
    let carried = tried.and_then(Result::ok).unwrap_or_else(Carried::empty);
    let there = Index::of(&carried);
    // Which of several tests of one name is which is not known where some of them pass and others do not.
    let mut ends: BTreeMap<&str, BTreeSet<bool>> = BTreeMap::new();
    for test in &carried.read.tests {
        ends.entry(&test.stem).or_default().insert(test.run.result == TestResult::Pass);
    }
    for test in new {
        let name = test.run.name.as_str();
        let is_one = ends.get(test.stem.as_str()).is_none_or(|ends| ends.len() == 1);
        let (count, list) = match there.get(test).filter(|_| is_one) {
            Some(test) if test.run.result == TestResult::Pass => (&mut found.idle, Some(&mut found.idle_names)),
            Some(test) if test.run.kind == Some(FailingKind::Failed) && !test.lacks => (&mut found.proved, None),
            _ => (&mut found.unproven, Some(&mut found.unproven_names)),
        };
        *count += 1;
        if let Some(place) = there.get(test).filter(|there| is_one && there.run.result == TestResult::Pass) {
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
