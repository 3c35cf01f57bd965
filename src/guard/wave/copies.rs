//! Stopped work under other commits: amended, picked or squashed, it has another id and the same files.
//!
//! What is held against each other is content: the files that the stopped work had of its own, by path, and where they have
//! another name. All of them again are that work. Some of them may be what was sound of it, so that is told and stops nobody; so is
//! a single file under another name, which may be nobody's. Files that were written anew in between are not seen, whatever
//! they do.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::cell::{TaskId, shown};
use super::git::{Known, Piles, RowFacts, Target, name_of, told};
use super::lease::Lease;
use super::ledger::{FILE, Ledger, NoteKind, Row};
use super::stack::STOPPED;
use super::verdict::{DELTAS, SUMMARY};
use super::verify::{BYPASSED, Found, several};
use super::{Facts, way::Work};
use crate::finding::Finding;
use crate::ids::{BlobId, CommitId};
use crate::repo::{Delta, RepoPath};

/// Files of the stopped work, and where each is again.
type Places = BTreeMap<RepoPath, RepoPath>;

/// What stands at each path; none: it was deleted.
type Content = BTreeMap<RepoPath, Option<BlobId>>;

/// An empty file is the same in all work.
const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
/// A file of fewer bytes is known by its path only.
const TELLING: usize = 64;
/// Stopped work that took in more from elsewhere is held by that much.
const MOST_TAKEN_IN: usize = 200;

/// Content of stopped work, where it is under other commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Whose work it was.
    pub of: TaskId,
    /// Where that was stopped.
    pub stopped: CommitId,
    /// The row that has it; none: it is in the target, and no row brought it.
    pub row: Option<usize>,
    /// The target's own commit that brought it; none: it is not in.
    pub with: Option<CommitId>,
    pub paths: Vec<String>,
    /// That is all there was.
    pub whole: bool,
}

/// Where all the work that was stopped is again.
pub(super) fn copies(piles: &mut Piles<'_>, ledger: &Ledger, rows: &[RowFacts], target: &Target) -> Known<Vec<Copied>> {
    let stopped = stopped(piles, ledger, rows)?;
    if stopped.is_empty() {
        return Ok(Vec::new());
    }
    let tip = content(told(piles.git.deltas(piles.base, &target.tip))?);
    let mut all = Vec::new();
    for (of, commit) in stopped {
        let mut look = Look { rows: Vec::new(), of, stopped: commit, own: Content::new() };
        look.own = look.own_content(piles, ledger, rows)?;
        if !look.own.is_empty() {
            look.rows(piles, (ledger, rows), &tip)?;
            look.target(piles, &tip)?;
        }
        all.append(&mut look.rows);
    }
    Ok(all)
}

/// The work that was stopped, each once.
fn stopped(piles: &Piles<'_>, ledger: &Ledger, rows: &[RowFacts]) -> Known<Vec<(TaskId, CommitId)>> {
    let mut found: Vec<(TaskId, CommitId)> = Vec::new();
    for note in ledger.notes.iter().filter(|note| note.kind == NoteKind::Stopped) {
        found.extend(told(piles.git.commit(&note.commit))?.map(|commit| (note.task.clone(), commit)));
    }
    for (row, known) in ledger.rows.iter().zip(rows).filter(|(row, _)| matches!(row.lease, Lease::Stopped(_))) {
        found.extend(known.subject().map(|commit| (row.task.clone(), commit.clone())));
    }
    let mut seen = HashSet::new();
    found.retain(|(_, commit)| commit != piles.base && seen.insert(commit.clone()));
    Ok(found)
}

struct Look {
    rows: Vec<Copied>,
    of: TaskId,
    stopped: CommitId,
    own: Content,
}

impl Look {
    /// The content that the stopped work had of its own: not what it took in with the target, or of another row.
    fn own_content(&self, piles: &mut Piles<'_>, ledger: &Ledger, rows: &[RowFacts]) -> Known<Content> {
        let work = piles.work(&self.stopped)?;
        let others = self.others(piles, ledger, rows);
        let came = piles.way.nth(&self.stopped);
        let foreign = |commit: &CommitId| {
            let before = piles.way.nth(commit).is_some_and(|nth| came.is_none_or(|came| nth < came));
            before || others.contains(commit)
        };
        if foreign(&self.stopped) {
            return Ok(Content::new());
        }
        let mut own = content(told(piles.git.deltas(piles.base, &self.stopped))?);
        own.retain(|path, blob| counts(path, blob.as_ref()));
        for taken in taken_in(piles, &work, foreign)?.iter().take(MOST_TAKEN_IN) {
            let differs = content(told(piles.git.deltas(taken, &self.stopped))?);
            own.retain(|path, _| differs.contains_key(path));
        }
        Ok(own)
    }

    /// The commits of what other rows have handed in, as far as those are not built on what was stopped.
    fn others(&self, piles: &mut Piles<'_>, ledger: &Ledger, rows: &[RowFacts]) -> HashSet<CommitId> {
        let mut others = HashSet::new();
        for (_, subject) in done(ledger, rows) {
            if let Ok(work) = piles.work(subject)
                && !work.all.contains(&self.stopped)
            {
                others.extend(work.all.iter().cloned());
            }
        }
        others
    }

    /// What the rows have of it that are done. Of those which have the commit itself that is told.
    fn rows(&mut self, piles: &mut Piles<'_>, (ledger, rows): (&Ledger, &[RowFacts]), tip: &Content) -> Known<()> {
        for (nth, subject) in done(ledger, rows) {
            let Some(known) = rows.get(nth) else { continue };
            let work = piles.work(subject)?;
            if work.all.contains(&self.stopped) || known.arrived.as_ref().is_ok_and(|one| gone(one.as_ref())) {
                continue;
            }
            let arrival = known.came_in();
            let from = match arrival.filter(|arrival| !arrival.is_forward()) {
                Some(arrival) => piles.way.first_parent(&arrival.merge).map(|first| (first, &arrival.merge)),
                None => None,
            };
            let (before, after) = from.unwrap_or((piles.base, subject));
            let mut has = content(told(piles.git.deltas(before, after))?);
            if arrival.is_none() {
                has.retain(|path, blob| tip.get(path) != Some(blob));
            }
            let with = arrival.map(|arrival| arrival.commit.clone());
            let same = self.same(piles, &has)?;
            self.add(Some(nth), with, &same);
        }
        Ok(())
    }

    /// What is in the target, and came in with no row.
    fn target(&mut self, piles: &Piles<'_>, tip: &Content) -> Known<()> {
        if piles.way.has(&self.stopped) {
            return Ok(());
        }
        let brought: BTreeSet<&String> =
            self.rows.iter().filter(|one| one.with.is_some()).flat_map(|one| &one.paths).collect();
        let mut same = self.same(piles, tip)?;
        same.retain(|path, at| !brought.contains(&named(path, at)));
        let Some((path, at)) = same.first_key_value() else { return Ok(()) };
        let with = piles.way.put(at, self.own.get(path).and_then(Option::as_ref))?;
        self.add(None, with, &same);
        Ok(())
    }

    /// Which of its files are there again, and where.
    fn same(&self, piles: &Piles<'_>, has: &Content) -> Known<Places> {
        let by_blob: BTreeMap<&BlobId, &RepoPath> =
            has.iter().rev().filter_map(|(path, blob)| Some((blob.as_ref()?, path))).collect();
        let mut same = Places::new();
        for (path, blob) in &self.own {
            if has.get(path) == Some(blob) {
                same.insert(path.clone(), path.clone());
            } else if let Some(at) = blob.as_ref().and_then(|blob| by_blob.get(blob))
                && self.is_telling(piles, path)?
            {
                same.insert(path.clone(), (*at).clone());
            }
        }
        Ok(same)
    }

    /// Whether a file is long enough to be known under another name: a few short ones are the same everywhere.
    fn is_telling(&self, piles: &Piles<'_>, path: &RepoPath) -> Known<bool> {
        let Some(path) = path.as_str() else { return Ok(false) };
        Ok(told(piles.git.file(&self.stopped, path))?.is_some_and(|bytes| bytes.len() >= TELLING))
    }

    /// That some files are gone in both says nothing by itself.
    fn add(&mut self, row: Option<usize>, with: Option<CommitId>, same: &Places) {
        let there = same.keys().filter(|path| self.own.get(*path).is_some_and(Option::is_some)).count();
        // What was deleted for another name need not be gone in both.
        let put = self.own.values().filter(|blob| blob.is_some()).count();
        let moved = same.iter().filter(|(path, at)| path != at).count();
        let whole = match moved {
            0 => same.len() == self.own.len(),
            _ => there == put && there > 1,
        };
        if there > 0 || whole {
            let paths = same.iter().map(|(path, at)| named(path, at)).collect();
            self.rows.push(Copied { of: self.of.clone(), stopped: self.stopped.clone(), row, with, paths, whole });
        }
    }
}

/// The rows that have handed in, and what.
fn done<'r>(ledger: &'r Ledger, rows: &'r [RowFacts]) -> impl Iterator<Item = (usize, &'r CommitId)> {
    let all = ledger.rows.iter().zip(rows).enumerate();
    all.filter(|(_, (row, _))| matches!(row.lease, Lease::Done(_)))
        .filter_map(|(nth, (_, known))| Some((nth, known.subject()?)))
}

/// It came in, and was taken out again.
fn gone(arrival: Option<&super::git::Arrival>) -> bool {
    arrival.is_some_and(|arrival| !arrival.stays())
}

/// What work was built on, or merged, that is not its own.
fn taken_in(piles: &Piles<'_>, work: &Work, foreign: impl Fn(&CommitId) -> bool) -> Known<BTreeSet<CommitId>> {
    let mut taken = BTreeSet::new();
    for commit in work.all.iter().filter(|commit| !foreign(commit)) {
        let parents = told(piles.git.parents(commit))?;
        taken.extend(parents.into_iter().filter(|parent| foreign(parent) || !work.all.contains(parent)));
    }
    Ok(taken)
}

fn content(deltas: Vec<Delta>) -> Content {
    deltas.into_iter().map(|delta| (delta.path, delta.new.map(|(_, blob)| blob))).collect()
}

/// A file, and its other name.
fn named(path: &RepoPath, at: &RepoPath) -> String {
    if path == at { path.to_string() } else { format!("{path}, now {at}") }
}

/// Verdicts and the ledger are no work, and what is empty is nobody's.
fn counts(path: &RepoPath, blob: Option<&BlobId>) -> bool {
    let name = path.as_str().map(name_of);
    !matches!(name, Some(SUMMARY | DELTAS | FILE)) && blob.is_none_or(|blob| blob.as_str() != EMPTY)
}

/// What is told of it.
pub(super) fn findings(path: &str, ledger: &Ledger, facts: &Facts) -> Vec<Found> {
    match &facts.copies {
        Ok(copies) => copies.iter().map(|copied| found(path, ledger, facts, copied)).collect(),
        Err(why) => {
            let says = format!("Whether stopped work is there under other commits can't be told: {why}.");
            let next = "Put right what keeps git from telling, and verify again.";
            vec![Found { row: None, finding: Finding::error(BYPASSED, says, next).at(path, Some(ledger.base_line)) }]
        }
    }
}

fn found(path: &str, ledger: &Ledger, facts: &Facts, copied: &Copied) -> Found {
    let nth = copied.row.or_else(|| ledger.rows.iter().position(|row| row.task == copied.of));
    let row = nth.and_then(|nth| ledger.rows.get(nth));
    let finding = match (copied.row.and(row), copied.whole) {
        (Some(row), true) => again(row, copied),
        (Some(row), false) => in_part(&shown(row.branch.as_str()), copied),
        (None, whole) => in_target(&shown(&facts.target.name), copied, whole),
    };
    Found { row: nth, finding: finding.at(path, row.map(|row| row.line)) }
}

fn again(row: &Row, copied: &Copied) -> Finding {
    let (branch, task) = (shown(row.branch.as_str()), shown(copied.of.as_str()));
    let came = copied.with.as_ref().map(|with| format!(", and came in with {}", with.short())).unwrap_or_default();
    let says = format!(
        "{branch} {STOPPED} {task} under other commits ({} as at {}){came}.",
        paths(copied),
        copied.stopped.short()
    );
    let next = match &copied.with {
        None => {
            "Write it anew without what was stopped, and hand it in again. Where it is to come in as it is, a person merges it, and closes the \
             wave with `--despite REASON`."
        }
        Some(_) => LOOK,
    };
    Finding::error(BYPASSED, says, next)
}

fn in_part(branch: &str, copied: &Copied) -> Finding {
    let says = format!(
        "{branch} has files as the stopped work of {} had them at {}: {}.",
        shown(copied.of.as_str()),
        copied.stopped.short(),
        paths(copied)
    );
    Finding::warning(BYPASSED, says, "Look at whether they are what it was stopped for.")
}

fn in_target(target: &str, copied: &Copied, whole: bool) -> Finding {
    let since = copied.with.as_ref().map(|with| format!(" since {}", with.short())).unwrap_or_default();
    let (task, stopped) = (shown(copied.of.as_str()), copied.stopped.short());
    match whole {
        true => {
            let says = format!(
                "Work of {task} that was stopped ({stopped}) is in {target}{since} under other commits: {}.",
                paths(copied)
            );
            Finding::error(BYPASSED, says, LOOK)
        }
        false => {
            let says = format!(
                "{target} has files{since} as the stopped work of {task} had them at {stopped}: {}.",
                paths(copied)
            );
            Finding::warning(BYPASSED, says, "Look at whether they are what it was stopped for.")
        }
    }
}

const LOOK: &str = "Look at what was merged, and revert it: once its content is out again, nothing is told of it. Where it is to stay, a person \
                    decides, and closes the wave with `--despite REASON`.";

fn paths(copied: &Copied) -> String {
    several(copied.paths.iter().map(String::as_str))
}
