//! The reports that the commands of a gate have promised: found, told from those that were there before, and read.
//!
//! A report that was there before the run says nothing about it: a change could bring one along, and an honest one may be
//! left of an earlier run. So it is noted before the commands start what is there, and what is the same afterwards, or
//! older than the run, is *stale*. Nothing is deleted. In a folder that is no fresh copy, one with the same content may be an earlier
//! run's, written anew by this one: there it is the same only where nobody has written it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::artefact::{Counts, Failing, FailingKind, Report, ReportState, TestResult, TestRun};
use super::earned::Place;
use super::environ::Masks;
use super::junit::{self, Case, Outcome};
use super::{place, text, worktree};
use crate::ids::Digest;
use crate::policy;

/// What all reports of a run may have together.
pub(super) const MOST_BYTES: u64 = 50 * 1024 * 1024;
const MOST_TESTS: usize = 100_000;
/// Of one test.
const MOST_TRIES: u32 = 100;
/// What the names of all tests may have together.
const MOST_OF_NAMES: usize = 8 * 1024 * 1024;
pub(crate) const MOST_REPORTS: usize = 1_000;
pub(crate) const MOST_FAILING: usize = 100;
pub(crate) const MOST_FLAKY: usize = 100;
/// What a glob may look at.
const MOST_ENTRIES: usize = 200_000;
const DEEPEST: usize = 64;
pub(super) const LONGEST_PATH: usize = 1_024;
/// The clock of a file system may go behind the system's.
const SLACK: Duration = Duration::from_secs(2);

/// What a run's reports say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Read {
    pub(crate) reports: Vec<Report>,
    pub(crate) totals: Counts,
    /// Those that were carried out, each with a name of its own.
    pub(crate) tests: Vec<Listed>,
    pub(crate) skipped: Vec<String>,
    /// The same, each with its suite.
    pub(crate) skipped_whole: Vec<String>,
    pub(crate) failing: Vec<Failing>,
    pub(crate) failing_left_out: u64,
    pub(crate) flaky: Vec<String>,
}

/// A test that was carried out.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) run: TestRun,
    /// Its name without its class.
    pub(crate) bare: String,
    /// Its name before it was told apart from others of the same one.
    pub(crate) stem: String,
    /// Its name with its suite, by which it is known where others have come that share its own.
    pub(crate) whole: String,
    /// The file of the repository that has it, and its line, where the report tells them.
    pub(crate) place: Option<Place>,
    /// It did not fail in what it says, but because something that it needs is not there.
    pub(crate) lacks: bool,
    /// It was never begun: it could not be loaded, built or set up.
    pub(crate) unloaded: bool,
}

impl Read {
    /// Tests that did not pass.
    pub(crate) fn failed(&self) -> u64 {
        self.totals.failed.saturating_add(self.totals.errors)
    }
}

/// The reports that were there before the commands, with their contents. One that could not be read has none.
pub(crate) struct Before {
    files: BTreeMap<PathBuf, Option<(Digest, Written)>>,
    /// Nobody has run anything there before: what is there, the change has brought.
    fresh: bool,
    began: SystemTime,
}

/// By what it is known that a file was written again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Written(Option<SystemTime>, u64);

impl Written {
    fn of(about: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self(about.modified().ok(), about.ino())
    }
}

impl Before {
    pub(crate) fn note(folder: &Path, globs: &[String], fresh: bool) -> Self {
        let mut left = MOST_BYTES;
        let mut files = BTreeMap::new();
        for glob in globs {
            for file in found(folder, glob).unwrap_or_default() {
                let read = content(folder, &file, &mut left).ok();
                let known = read.map(|(content, about)| (Digest::of(content), Written::of(&about)));
                files.entry(file).or_insert(known);
            }
        }
        Self { files, fresh, began: SystemTime::now() }
    }

    /// Why a report can't be of this run.
    pub(super) fn stale(&self, file: &Path, about: &Metadata, digest: &Digest) -> Option<&'static str> {
        let is_same =
            |(before, written): &(Digest, Written)| before == digest && (self.fresh || *written == Written::of(about));
        let same = self.files.get(file).is_some_and(|before| before.as_ref().is_none_or(is_same));
        let older = about.modified().is_ok_and(|at| at + SLACK < self.began);
        match (same, older) {
            (true, _) => Some("it was there before the commands, and is the same as it was"),
            (false, true) => Some("it is older than this run"),
            (false, false) => None,
        }
    }
}

/// Reads what the globs match now.
pub(crate) fn read(folder: &Path, globs: &[String], before: &Before, masks: &Masks) -> Read {
    let mut read = Read::default();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut left = Left { bytes: MOST_BYTES, tests: MOST_TESTS, names: MOST_OF_NAMES, cases: Vec::new() };
    'all: for glob in globs {
        let files = match found(folder, glob) {
            Ok(files) => files,
            Err(why) => {
                read.reports.push(Report { why: Some(why), ..Report::new(glob, ReportState::Unreadable) });
                continue;
            }
        };
        if files.is_empty() {
            read.reports.push(Report::new(glob, ReportState::Missing));
        }
        for file in files {
            // Two globs may name one.
            if seen.contains(&file) {
                continue;
            }
            if seen.len() == MOST_REPORTS {
                let why = Some(format!("the globs match more than {MOST_REPORTS} files"));
                read.reports.push(Report { why, ..Report::new(glob, ReportState::Unreadable) });
                break 'all;
            }
            read.one(folder, glob, &file, before, masks, &mut left);
            seen.push(file);
        }
    }
    read.listed(&left.cases, folder, masks);
    read
}

/// What may still be read, and what was, by the report that has it.
struct Left {
    bytes: u64,
    tests: usize,
    names: usize,
    cases: Vec<(String, Vec<Case>)>,
}

/// The names that are given away.
#[derive(Default)]
struct Names {
    /// With the last number that was put after each.
    taken: HashMap<String, u64>,
    /// Those that tests of several suites have, in whatever order these are told: runners tell them as they end.
    shared: HashSet<String>,
}

impl Names {
    fn of<'a>(stems: impl Iterator<Item = (String, &'a str)>) -> Self {
        let mut suites: HashMap<String, &str> = HashMap::new();
        let mut shared = HashSet::new();
        for (stem, suite) in stems {
            match suites.get(&stem) {
                Some(first) if *first != suite => drop(shared.insert(stem)),
                Some(_) => {}
                None => drop(suites.insert(stem, suite)),
            }
        }
        Self { taken: HashMap::new(), shared }
    }

    /// A name that no other test has: with its suite, else with a number.
    fn own(&mut self, name: String, suite: &str) -> String {
        let name = if suite.is_empty() || !self.shared.contains(&name) { name } else { format!("{suite} > {name}") };
        let own = if !self.taken.contains_key(&name) {
            name
        } else {
            let mut number = self.taken.get(&name).copied().unwrap_or(1);
            let own = loop {
                number += 1;
                let own = format!("{name} #{number}");
                if !self.taken.contains_key(&own) {
                    break own;
                }
            };
            self.taken.insert(name, number);
            own
        };
        self.taken.insert(own.clone(), 1);
        own
    }
}

impl Read {
    fn one(&mut self, folder: &Path, glob: &str, file: &Path, before: &Before, masks: &Masks, left: &mut Left) {
        let path = text::head(&masks.hide_text(&file.to_string_lossy()), LONGEST_PATH);
        let report = |state| Report { path: Some(path.clone()), ..Report::new(glob, state) };
        let (content, about) = match content(folder, file, &mut left.bytes) {
            Ok(read) => read,
            Err(why) => return self.reports.push(Report { why: Some(why), ..report(ReportState::Unreadable) }),
        };
        let digest = Digest::of(&content);
        let known = Report { digest: Some(digest.clone()), bytes: content.len() as u64, ..report(ReportState::Read) };
        if let Some(why) = before.stale(file, &about, &digest) {
            return self.reports.push(Report { state: ReportState::Stale, why: Some(why.to_owned()), ..known });
        }
        let cases = junit::read(&content, left.tests).and_then(|cases| {
            let names = cases.iter().map(|case| case.suite.len() + case.class.len() + case.name.len()).sum();
            match left.names.checked_sub(names) {
                Some(rest) => left.names = rest,
                None => return Err(format!("the names of all tests have more than {} MB", MOST_OF_NAMES >> 20)),
            }
            Ok(cases)
        });
        let cases = match cases {
            Ok(cases) => in_the_copy(cases, folder),
            Err(why) => {
                let why = Some(text::line(&masks.hide_text(&why), 300));
                return self.reports.push(Report { state: ReportState::Unreadable, why, ..known });
            }
        };
        left.tests -= cases.len().min(left.tests);
        let mut counts = Counts::default();
        cases.iter().for_each(|case| count(&mut counts, case));
        left.cases.push((path, cases));
        self.totals.add(&counts);
        self.reports.push(Report { counts, ..known });
    }

    /// Takes the tests of all reports, once all of them are known: a name of its own depends on the others.
    fn listed(&mut self, cases: &[(String, Vec<Case>)], folder: &Path, masks: &Masks) {
        let all = || cases.iter().flat_map(|(_, cases)| cases);
        let mut names = Names::of(all().map(|case| (masks.hide_text(&named(case)), case.suite.as_str())));
        for (report, cases) in cases {
            for case in cases {
                let stem = masks.hide_text(&named(case));
                let name = names.own(stem.clone(), &masks.hide_text(&case.suite));
                self.note(case, &name, report, folder, masks);
                self.list(case, name, stem, folder, masks);
            }
        }
    }

    fn list(&mut self, case: &Case, name: String, stem: String, folder: &Path, masks: &Masks) {
        let suite = masks.hide_text(&case.suite);
        let begins = format!("{suite} > ");
        let whole = if name.starts_with(&begins) { name.clone() } else { format!("{begins}{name}") };
        let (result, kind) = match case.outcome {
            Outcome::Skipped => {
                self.skipped_whole.push(whole);
                return self.skipped.push(name);
            }
            Outcome::Passed => (TestResult::Pass, None),
            Outcome::Failed => (TestResult::Fail, Some(FailingKind::Failed)),
            Outcome::Error => (TestResult::Fail, Some(FailingKind::Error)),
        };
        let reds = case.reds.min(MOST_TRIES) as usize;
        let mut attempts = vec![TestResult::Fail; reds];
        attempts.extend((reds > 0).then_some(result));
        self.tests.push(Listed {
            run: TestRun { name, result, duration_ms: case.millis, kind, attempts },
            bare: masks.hide_text(&case.name),
            stem,
            whole,
            place: case
                .file
                .as_deref()
                .and_then(|file| place::inside(file, folder))
                .map(|path| Place { path: text::head(&masks.hide_text(&path), LONGEST_PATH), line: case.line }),
            lacks: case.failed() && case.lacks,
            unloaded: case.failed() && case.unloaded,
        });
    }

    fn note(&mut self, case: &Case, name: &str, report: &str, folder: &Path, masks: &Masks) {
        let shown = |text: &str| masks.hide_text(text);
        if case.flaky && self.flaky.len() < MOST_FLAKY {
            self.flaky.push(shown(&named(case)));
        }
        if !case.failed() {
            return;
        }
        if self.failing.len() == MOST_FAILING {
            self.failing_left_out += 1;
            return;
        }
        // Where it failed says more than where the test begins.
        let said = place::named(&case.message, folder).or_else(|| place::named(&case.details, folder));
        let given = case.file.as_deref().and_then(|file| place::inside(file, folder));
        let (path, line) = match (said, given) {
            (Some((path, line)), _) => (Some(path), Some(line)),
            (None, Some(path)) => (Some(path), case.line),
            (None, None) => (None, None),
        };
        self.failing.push(Failing {
            kind: if case.outcome == Outcome::Error { FailingKind::Error } else { FailingKind::Failed },
            name: name.to_owned(),
            suite: shown(&case.suite),
            message: shown(&case.message),
            details: shown(&case.details),
            path: path.filter(|path| path.len() <= LONGEST_PATH),
            line,
            report: report.to_owned(),
        });
    }
}

/// Tests as they are called wherever the copy lies. Node's own runner tells of a file without a test in it as of one, by its path: that
/// is none.
fn in_the_copy(mut cases: Vec<Case>, folder: &Path) -> Vec<Case> {
    let is_a_file = |case: &Case| {
        let path = Path::new(&case.name);
        case.outcome == Outcome::Passed && case.class == "test" && path.starts_with(folder) && path.is_file()
    };
    cases.retain(|case| !is_a_file(case));
    // The folder, and what is beside a copy of ours: both are called otherwise each time.
    let here = folder.display().to_string();
    let is_place = |place: &&Path| {
        let name = place.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| name.starts_with(worktree::PREFIX))
    };
    let around = folder.ancestors().skip(1).find(is_place).map(|around| around.display().to_string());
    for case in &mut cases {
        for name in [&mut case.suite, &mut case.class, &mut case.name] {
            if name.contains(&here) {
                *name = name.replace(&format!("{here}/"), "");
            }
            if let Some(around) = around.as_ref().filter(|around| name.contains(around.as_str())) {
                *name = name.replace(&here, ".").replace(around, "~");
            }
        }
    }
    cases
}

/// A test's name with its class before it, where that says more.
fn named(case: &Case) -> String {
    if case.class.is_empty() || case.name.starts_with(&case.class) {
        return case.name.clone();
    }
    format!("{} {}", case.class, case.name)
}

fn count(counts: &mut Counts, case: &Case) {
    counts.tests += 1;
    counts.flaky += u64::from(case.flaky);
    counts.duration_ms = counts.duration_ms.saturating_add(case.millis);
    match case.outcome {
        Outcome::Passed => counts.passed += 1,
        Outcome::Failed => counts.failed += 1,
        Outcome::Error => counts.errors += 1,
        Outcome::Skipped => counts.skipped += 1,
    }
}

/// The content of a plain file below a folder, taken from what is left of the budget; or why not.
pub(super) fn content(folder: &Path, file: &Path, left: &mut u64) -> Result<(Vec<u8>, Metadata), String> {
    let opened = open(folder, file)?;
    let about = opened.metadata().map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    opened.take(*left + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > *left {
        *left = 0;
        return Err(format!("the reports have more than {} MB together", MOST_BYTES / 1024 / 1024));
    }
    *left -= bytes.len() as u64;
    Ok((bytes, about))
}

/// Opens a plain file, step by step. No link is followed: the commands may have put one anywhere, and whoever reads here may read what
/// they may not. A pipe that nobody writes to is not waited for.
fn open(folder: &Path, file: &Path) -> Result<File, String> {
    let on_the_way = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let told = |error: Errno| error.to_string();
    let mut here = rustix::fs::open(folder, on_the_way, Mode::empty()).map_err(told)?;
    let mut parts = file.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { break };
        if parts.peek().is_some() {
            let next = rustix::fs::openat(&here, name, on_the_way | OFlags::NOFOLLOW, Mode::empty());
            here = next.map_err(|error| match error {
                Errno::LOOP | Errno::NOTDIR => BEHIND_A_LINK.to_owned(),
                error => error.to_string(),
            })?;
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&here, name, flags, Mode::empty()).map(File::from);
        let opened =
            opened.map_err(|error| if error == Errno::LOOP { "it is a link".to_owned() } else { told(error) })?;
        return match opened.metadata() {
            Ok(about) if about.is_file() => Ok(opened),
            Ok(_) => Err("it is no plain file".to_owned()),
            Err(error) => Err(error.to_string()),
        };
    }
    Err("it is no file below the folder".to_owned())
}

const BEHIND_A_LINK: &str = "it lies behind a link, and those are not followed";

/// Whether a link, or what is no folder, is on the way to a folder.
fn is_behind_a_link(folder: &Path, below: &Path) -> bool {
    let mut ways = below.ancestors().filter(|way| !way.as_os_str().is_empty());
    ways.any(|way| folder.join(way).symlink_metadata().is_ok_and(|about| !about.is_dir()))
}

/// The files that a glob matches, as seen from the folder, in their order.
pub(super) fn found(folder: &Path, glob: &str) -> Result<Vec<PathBuf>, String> {
    let matcher = policy::glob(glob).map_err(|error| error.to_string())?;
    let plain = |part: &&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\']);
    let parts: Vec<&str> = glob.split('/').collect();
    let start: PathBuf = parts.iter().copied().take_while(plain).collect();
    if parts.iter().all(plain) {
        return Ok(folder.join(&start).symlink_metadata().is_ok().then_some(start).into_iter().collect());
    }
    if is_behind_a_link(folder, &start) {
        return Err(BEHIND_A_LINK.to_owned());
    }
    let mut found = Vec::new();
    let mut open = vec![(start, 0)];
    let mut looked = 0;
    while let Some((below, depth)) = open.pop() {
        let Ok(entries) = std::fs::read_dir(folder.join(&below)) else { continue };
        for entry in entries.flatten() {
            looked += 1;
            if looked > MOST_ENTRIES {
                return Err(format!("there are more than {MOST_ENTRIES} files where it looks; name a folder in it"));
            }
            let path = below.join(entry.file_name());
            // Of the entry itself: a link to a folder may lead anywhere, and round.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth < DEEPEST && entry.file_name() != ".git" {
                    open.push((path, depth + 1));
                }
            } else if matcher.is_match(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;
