//! Reading an artefact that somebody else's job made.
//!
//! Everything in it may have been written by the change, and the folder too: it came out of an archive. So the file is
//! opened step by step below the folder, without following a link and without waiting for anything; its size is bounded
//! before it is read, its depth and its keys before it is understood; and what it must say is not taken from it, but from
//! what GitHub tells of the run.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::{Artefact, CommandOutcome, Counts, FILE, MOST_BYTES, ReportState, SCHEMA};
use crate::finding::{Verdict, quoted, verdict};
use crate::gate::ran;
use crate::ids::{CommitId, Slug};
use crate::policy::RunGate;
use crate::runner::coverage::Coverage;
use crate::runner::{screenshots, text};

const DEEPEST: usize = 16;
/// Those of a gate, and those of the audit.
const MOST_COMMANDS: usize = 40;
const MOST_PROOFS: usize = 100;
/// No scope has more criteria or truths.
const MOST_ASKED: usize = 2_000;
const MOST_REPORTS: usize = 1_500;
const MOST_FAILING: usize = 100;
const MOST_FINDINGS: usize = 500;
const MOST_ATTEMPTS: usize = 100;
const MOST_VARIABLES: usize = 10_000;

/// What the artefact must be of. From the event and the API, never from the artefact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    pub gate: RunGate,
    pub repository: Slug,
    pub head: CommitId,
    pub run: u64,
    pub attempt: u32,
}

/// Why an artefact is not taken. Whatever of it is told may be its author's own word, so it stands in these texts as code
/// that it can't end (`theirs`), in one line and without control characters: nothing for a page or a terminal to act on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("There is no artefact: the folder {0} is not there.")]
    NoFolder(String),
    #[error("There is no artefact: {what} is {is}, and not a folder.")]
    NotFolder { what: String, is: &'static str },
    #[error("The artefact is empty: there is no {0} in it.")]
    NoFile(String),
    #[error("{what} of the artefact is {is}, and not a plain file.")]
    NotPlain { what: String, is: &'static str },
    #[error("{0} is not a path inside the artefact.")]
    Outside(String),
    #[error("The artefact has {bytes} bytes or more; at most {MOST_BYTES} are read.")]
    TooLarge { bytes: u64 },
    #[error("The artefact can't be read: {0}.")]
    Unreadable(String),
    #[error("The artefact is not JSON: {0}.")]
    NotJson(String),
    #[error("The artefact is nested deeper than {DEEPEST} levels.")]
    TooDeep,
    #[error("The artefact has the key {0} twice in one object.")]
    Twice(String),
    #[error("The artefact is of the form {0}, which is newer than this version of Phasegate.")]
    Newer(String),
    #[error("The artefact is of the form {0}, and not `{SCHEMA}`.")]
    Unknown(String),
    #[error("The artefact does not have the form that it names: {0}.")]
    Malformed(String),
    #[error("The artefact is of {what} {found}, and not of {expected}.")]
    Another { what: &'static str, found: String, expected: String },
    #[error("The artefact's numbers do not add up: {0}.")]
    DoesNotAddUp(String),
}

impl Refused {
    /// What to do about it.
    pub fn next(&self) -> &'static str {
        match self {
            Self::NoFolder(_) | Self::NoFile(_) => {
                "See that the job runs `phasegate run`, and that the step after it uploads the folder, also when it fails \
                 (`if: always()`)."
            }
            Self::NotFolder { .. } => {
                "Let the step that downloads the artefact put it into a folder of that name, which holds nothing else."
            }
            Self::NotPlain { .. } | Self::Outside(_) => {
                "Look at what the change does to the artefact's folder: `phasegate run` writes one plain file."
            }
            Self::TooLarge { .. } | Self::TooDeep | Self::Twice(_) | Self::NotJson(_) | Self::DoesNotAddUp(_) => {
                "Look at what the change does to the artefact: `phasegate run` does not write such a file. Run the job again."
            }
            Self::Unreadable(_) => "Run the job again.",
            Self::Newer(_) => "Update Phasegate where it reads the artefact, to the version that wrote it.",
            Self::Unknown(_) | Self::Malformed(_) => {
                "Use the same version of Phasegate in both jobs, and see that the change does not write the artefact."
            }
            Self::Another { .. } => "Let the gate run on this head, and take the artefact of that run.",
        }
    }
}

/// Reads the artefact in a folder, or says why it can't be taken for the one that is expected.
pub fn read(folder: &Path, expected: &Expected) -> Result<Artefact, Refused> {
    understand(&content(folder, Path::new(FILE))?, expected)
}

/// The same of its file's bytes.
pub fn understand(bytes: &[u8], expected: &Expected) -> Result<Artefact, Refused> {
    let artefact = understood(bytes)?;
    belongs(&artefact, expected)?;
    bounded(&artefact)?;
    adds_up(&artefact)?;
    Ok(artefact)
}

/// Somebody else's words, as they stand in a text of ours.
pub(super) fn theirs(words: &str, most: usize) -> String {
    quoted(&text::line(words, most))
}

fn shown(path: &Path) -> String {
    theirs(&path.to_string_lossy(), 300)
}

/// A file's content. The folder is ours to name, and what is below it is not.
fn content(folder: &Path, file: &Path) -> Result<Vec<u8>, Refused> {
    let parts: Option<Vec<_>> = file
        .components()
        .map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let Some((last, folders)) = parts.as_deref().and_then(<[_]>::split_last) else {
        return Err(Refused::Outside(shown(file)));
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // With a slash at its end, a link would be followed.
    let folder: PathBuf = folder.components().collect();
    let folder = folder.as_path();
    let mut here: OwnedFd =
        rustix::fs::open(folder, flags | OFlags::DIRECTORY, Mode::empty()).map_err(|error| {
            match (error, folder.symlink_metadata()) {
                (Errno::NOTDIR, Ok(about)) if !about.is_symlink() => {
                    let is = if about.is_file() { "a file" } else { "a device or a pipe" };
                    Refused::NotFolder { what: shown(folder), is }
                }
                (error, about) => {
                    refused(error, folder, about.is_ok_and(|about| about.is_symlink()), Refused::NoFolder)
                }
            }
        })?;
    for part in folders {
        here = rustix::fs::openat(&here, *part, flags | OFlags::DIRECTORY, Mode::empty()).map_err(|error| {
            let about = rustix::fs::statat(&here, *part, AtFlags::SYMLINK_NOFOLLOW);
            let is_link = about.is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::Symlink);
            refused(error, file, is_link, Refused::NoFile)
        })?;
    }
    // A pipe that nobody writes to would be waited for.
    let opened = rustix::fs::openat(&here, *last, flags | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty())
        .map_err(|error| refused(error, file, false, Refused::NoFile))?;
    let opened = File::from(opened);
    let about = opened.metadata().map_err(|error| Refused::Unreadable(error.to_string()))?;
    let not_plain = |is| Err(Refused::NotPlain { what: shown(file), is });
    if about.is_dir() {
        return not_plain("a folder");
    }
    if !about.is_file() {
        return not_plain("a device or a pipe");
    }
    // The other name may be of a file that is nobody's to show.
    if about.nlink() > 1 {
        return not_plain("a file with several names");
    }
    if about.len() > MOST_BYTES {
        return Err(Refused::TooLarge { bytes: about.len() });
    }
    let mut bytes = Vec::new();
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| Refused::Unreadable(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Refused::TooLarge { bytes: MOST_BYTES + 1 });
    }
    Ok(bytes)
}

fn refused(error: Errno, path: &Path, is_link: bool, gone: impl Fn(String) -> Refused) -> Refused {
    match error {
        Errno::LOOP | Errno::MLINK => Refused::NotPlain { what: shown(path), is: "a link" },
        // Of a link where a folder is asked for, some systems say that it is none.
        Errno::NOTDIR if is_link => Refused::NotPlain { what: shown(path), is: "a link" },
        Errno::NOENT | Errno::NOTDIR => gone(shown(path)),
        // A socket can't be opened at all.
        Errno::NXIO => Refused::NotPlain { what: shown(path), is: "a device or a pipe" },
        error => Refused::Unreadable(error.to_string()),
    }
}

fn understood(bytes: &[u8]) -> Result<Artefact, Refused> {
    let said = |error: &serde_json::Error| theirs(&error.to_string(), 300);
    let mut first = serde_json::Deserializer::from_slice(bytes);
    let looked = Strict(0).deserialize(&mut first).and_then(|()| first.end());
    if let Err(error) = looked {
        let text = error.to_string();
        let twice = text.strip_prefix(TWICE).and_then(|rest| rest.rsplit_once(" at line ")).map(|(key, _)| key);
        return Err(match twice {
            Some(key) => Refused::Twice(theirs(key, 100)),
            None if text.starts_with(DEEP) || text.starts_with("recursion limit") => Refused::TooDeep,
            None => Refused::NotJson(said(&error)),
        });
    }
    #[derive(Deserialize)]
    struct Named {
        schema: Option<serde_json::Value>,
    }
    let named: Named = serde_json::from_slice(bytes).map_err(|error| Refused::Malformed(said(&error)))?;
    match named.schema.as_ref().and_then(|schema| schema.as_str()) {
        Some(SCHEMA) => {}
        Some(other) => {
            let name = theirs(other, 100);
            let number = other.strip_prefix("phasegate/run@").and_then(|number| number.parse::<u32>().ok());
            return Err(if number.is_some_and(|number| number > 1) {
                Refused::Newer(name)
            } else {
                Refused::Unknown(name)
            });
        }
        None => return Err(Refused::Unknown("`(none)`".to_owned())),
    }
    serde_json::from_slice(bytes).map_err(|error| Refused::Malformed(said(&error)))
}

fn belongs(artefact: &Artefact, expected: &Expected) -> Result<(), Refused> {
    let none = || "none".to_owned();
    let Expected { gate, repository, head, run, attempt } = expected;
    let of = |what, found: String, expected: String| {
        if found == expected { Ok(()) } else { Err(Refused::Another { what, found, expected }) }
    };
    of("the gate", artefact.gate.to_string(), gate.to_string())?;
    let subject = &artefact.subject;
    // GitHub's names are the same in any case.
    let lower = |slug: &Slug| slug.to_string().to_lowercase();
    of("the repository", subject.repository.as_ref().map_or_else(none, lower), lower(repository))?;
    of("the head", subject.head.as_ref().map_or_else(none, CommitId::to_string), head.to_string())?;
    let ran = artefact.run.as_ref();
    of("the run", ran.map_or_else(none, |ran| ran.id.to_string()), run.to_string())?;
    of("attempt", ran.map_or_else(none, |ran| ran.attempt.to_string()), attempt.to_string())
}

fn bounded(artefact: &Artefact) -> Result<(), Refused> {
    let covered = || artefact.covered().flat_map(|coverage| &coverage.reports);
    let lists = [
        ("commands", artefact.commands.len(), MOST_COMMANDS),
        ("reports", artefact.reports.len(), MOST_REPORTS),
        // Of both sides.
        ("coverage reports", covered().count(), 2 * MOST_REPORTS),
        ("promised reports", artefact.promised.len(), MOST_REPORTS),
        ("screenshots", artefact.screenshots.len(), screenshots::MOST),
        ("failing tests", artefact.failing.len(), MOST_FAILING),
        ("flaky tests", artefact.flaky.len(), MOST_FAILING),
        ("findings", artefact.findings.len(), MOST_FINDINGS),
        ("attempts", artefact.attempts.len(), MOST_ATTEMPTS),
        ("variables", artefact.environment.variables.len(), MOST_VARIABLES),
        ("files written anew", artefact.rewritten.len(), MOST_FAILING),
        ("proofs", artefact.proofs.as_ref().map_or(0, |proofs| proofs.asked.proofs.len()), MOST_PROOFS),
        ("criteria", artefact.proofs.as_ref().map_or(0, |proofs| proofs.asked.criteria.len()), MOST_ASKED),
        ("things unread", artefact.proofs.as_ref().map_or(0, |proofs| proofs.asked.unread.len()), MOST_PROOFS),
        ("truths", artefact.proofs.as_ref().map_or(0, |proofs| proofs.asked.truths.len()), MOST_ASKED),
    ];
    if let Some((what, count, most)) = lists.into_iter().find(|(_, count, most)| count > most) {
        return Err(Refused::Malformed(format!("it has {count} {what}, and {most} are the most")));
    }
    // They are shown as places in the repository.
    let tests = artefact.failing.iter().filter_map(|test| test.path.as_ref());
    let reports = artefact.reports.iter().filter_map(|report| report.path.as_ref());
    let reports = reports.chain(covered().map(|report| &report.path));
    let findings = artefact.findings.iter().filter_map(|finding| finding.path.as_ref());
    let findings = findings.chain(&artefact.rewritten);
    let old = artefact.earned.iter().flat_map(|earned| &earned.old_tests).flat_map(|old| &old.failing);
    let idle = artefact.earned.iter().flat_map(|earned| earned.new_tests.idle_places.values());
    let earned = old.filter_map(|test| test.path.as_ref()).chain(idle.map(|place| &place.path));
    let leads_out = |path: &&String| {
        let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
        path.is_empty() || path.contains('\0') || !Path::new(path.as_str()).components().all(inside)
    };
    match tests.chain(reports).chain(findings).chain(earned).find(leads_out) {
        Some(path) => Err(Refused::Outside(theirs(path, 300))),
        None => Ok(()),
    }
}

fn adds_up(artefact: &Artefact) -> Result<(), Refused> {
    let wrong = |what: String| Err(Refused::DoesNotAddUp(what));
    if artefact.ended < artefact.started {
        return wrong("it ended before it started".to_owned());
    }
    let sums = |counts: &Counts| {
        let parts = [counts.passed, counts.failed, counts.errors, counts.skipped];
        parts.into_iter().try_fold(0, u64::checked_add) == Some(counts.tests) && counts.flaky <= counts.passed
    };
    let mut totals = Counts::default();
    for report in &artefact.reports {
        if !sums(&report.counts) || (report.state != ReportState::Read && report.counts != Counts::default()) {
            let path = theirs(report.path.as_deref().unwrap_or(&report.glob), 200);
            return wrong(format!("the tests of {path} are not the sum of how they ended"));
        }
        totals.add(&report.counts);
    }
    if !sums(&artefact.totals) || totals != artefact.totals {
        return wrong("the totals are not those of the reports".to_owned());
    }
    let failed = artefact.totals.failed.saturating_add(artefact.totals.errors);
    if (artefact.failing.len() as u64).checked_add(artefact.failing_left_out) != Some(failed) {
        return wrong(format!("{failed} tests failed, and others are told"));
    }
    if !artefact.covered().all(Coverage::adds_up) {
        return wrong("more lines are covered than there are".to_owned());
    }
    if let Some(why) = artefact.listed_wrongly() {
        return wrong(why);
    }
    let proofs = artefact.proofs.as_ref();
    if let Some(proofs) = proofs.filter(|proofs| !proofs.ran.is_empty()) {
        let same = proofs.each().all(|(proof, proved)| proof.command == proved.run.command);
        if !same || proofs.ran.len() != proofs.asked.proofs.len() {
            return wrong("what was run to show the criteria is not what was asked for".to_owned());
        }
    }
    let proved = proofs.into_iter().flat_map(|proofs| &proofs.ran);
    let proved = proved.flat_map(|proved| std::iter::once(&proved.run).chain(&proved.on_base));
    for command in artefact.commands.iter().chain(proved) {
        let exited = command.outcome == CommandOutcome::Exited;
        let signalled = command.outcome == CommandOutcome::Signalled;
        if exited != command.status.is_some() || signalled != command.signal.is_some() {
            let shown = theirs(&command.command, 100);
            return wrong(format!("{shown} does not end as it is said to"));
        }
    }
    // A later version may find more in the same facts, but none finds less.
    let said = artefact.verdict == Verdict::Pass;
    if said != (verdict(&artefact.findings) == Verdict::Pass) {
        return wrong("the verdict is not that of the findings".to_owned());
    }
    if said && verdict(&ran::judge(&artefact.facts())) == Verdict::Fail {
        return wrong("it says PASS, and has what fails a gate".to_owned());
    }
    Ok(())
}

const TWICE: &str = "twice: ";
const DEEP: &str = "too deep";

/// Looks at a whole text without keeping it: how deep it goes, and whether a key stands twice, of which another reader
/// may take the other.
struct Strict(usize);

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Strict {
    fn below<E: serde::de::Error>(&self) -> Result<usize, E> {
        if self.0 < DEEPEST { Ok(self.0 + 1) } else { Err(E::custom(DEEP)) }
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let depth = self.below()?;
        while items.next_element_seed(Strict(depth))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let depth = self.below()?;
        let mut seen: HashSet<String> = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format_args!("{TWICE}{key}")));
            }
            seen.insert(key);
            entries.next_value_seed(Strict(depth))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
