//! What git itself says of a wave: the commits behind the words of its ledger.
//!
//! Everything is asked through [`Git`], so that any reader of a repository will do, and put down as [`Facts`], so that
//! what is made of it needs no repository. What can't be found out is told as such, and proves nothing.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::cell::{Branch, Digits, TaskId};
use super::copies::{Copied, copies};
use super::lease::Lease;
use super::ledger::{FILE, Ledger, Note, NoteKind, Row};
use super::verdict::{Committed, DELTAS, Filed, SUMMARY};
use super::way::{Way, Work};
use crate::ids::{CommitId, Digest};
use crate::repo::{Delta, Error, LocalRepo, Reader as _, RepoPath, Result};

pub use super::way::Arrival;

/// A fact, or why it is not known.
pub type Known<T> = std::result::Result<T, String>;

/// What a wave asks of a repository.
pub trait Git {
    /// The one commit whose id begins with these digits. A branch or tag that is called so is none.
    fn commit(&self, digits: &Digits) -> Result<Option<CommitId>>;

    /// The tip of a branch: of this repository, else of `origin`.
    fn branch(&self, name: &Branch) -> Result<Option<CommitId>>;

    /// The tip of a branch at `origin`, as it was fetched last.
    fn at_origin(&self, name: &Branch) -> Result<Option<CommitId>>;

    /// Where a branch left the base.
    fn fork(&self, base: &CommitId, tip: &CommitId) -> Result<Fork>;

    /// Whether `old` is `new` or before it.
    fn is_ancestor(&self, old: &CommitId, new: &CommitId) -> Result<bool>;

    /// The commits after one up to another, at most so many.
    fn since(&self, base: &CommitId, tip: &CommitId, most: usize) -> Result<Vec<CommitId>>;

    /// The commits that this one follows, that of its own branch first.
    fn parents(&self, of: &CommitId) -> Result<Vec<CommitId>>;

    /// The paths that are plain text and differ between two commits.
    fn changed(&self, from: &CommitId, to: &CommitId) -> Result<Vec<String>>;

    /// All that differs between two commits.
    fn deltas(&self, from: &CommitId, to: &CommitId) -> Result<Vec<Delta>>;

    /// What a merge has otherwise than git makes it of what it merged, but for what people had to settle.
    fn otherwise(&self, merge: &CommitId) -> Result<Vec<Delta>>;

    /// The same for the same lines taken out and put in; none where nobody can tell.
    fn patch(&self, from: &CommitId, to: &CommitId) -> Result<Option<Digest>>;

    /// A plain file; none where there is none, or a link or folder stands there.
    fn file(&self, at: &CommitId, path: &str) -> Result<Option<Vec<u8>>>;
}

/// Where two histories part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fork {
    At(CommitId),
    /// They share nothing.
    Nowhere,
    /// They were merged into each other crosswise.
    Several,
}

/// The branch that everything is merged back into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub name: String,
    pub tip: CommitId,
}

impl Target {
    /// Whether a row's branch is this one. Names that differ only in case are one file on some systems.
    pub fn is(&self, branch: &Branch) -> bool {
        let name = ["refs/heads/", "refs/remotes/", "origin/"]
            .iter()
            .fold(self.name.as_str(), |name, lead| name.strip_prefix(lead).unwrap_or(name));
        name.eq_ignore_ascii_case(branch.as_str())
    }
}

/// What git says of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFacts {
    /// The branch's tip; none: there is no such branch.
    pub tip: Known<Option<CommitId>>,
    /// The commit that the row says was handed in; none: there is no such commit, or nothing was.
    pub handed: Known<Option<CommitId>>,
    /// Where the branch left the base; where it is gone, what was handed in. None: neither is there.
    pub fork: Known<Option<Fork>>,
    /// How it came into the target; none: it has not, or has nothing of its own. Of a row that was stopped, a part of it too.
    pub arrived: Known<Option<Arrival>>,
    /// What stands on it where a fast-forward brought it: whether that came with it can't be told. Asked of rows that are done.
    pub followed: Known<Option<CommitId>>,
    /// What the merge that brought it has otherwise than git makes it. Asked of rows that are done.
    pub altered: Known<Vec<String>>,
    /// Where `origin` is, with commits that were not handed in. Asked of rows that are done.
    pub ahead: Known<Option<CommitId>>,
    /// All that it changes is in the target, and its commits are not. Asked of rows that are done.
    pub squashed: Known<bool>,
    /// What it has of others that is not in the target. Asked of rows that are done and not in it either.
    pub stack: Stack,
    /// The files of its verdict. Asked of rows that are done or stopped.
    pub filed: Known<Filed>,
    /// What was handed in has another ledger than the commit at which it left the target. Asked of rows that are done.
    pub wrote_ledger: Known<bool>,
}

/// What a row's work is built on, beside the base.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stack {
    /// The rows whose work it has as a whole.
    pub rows: Vec<usize>,
    /// The rows that were stopped, and of whose own commits it has some.
    pub parts: Vec<usize>,
    /// The notes of the ledger whose work was stopped, or left by a worker who did not hold the task any more.
    pub notes: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// None: no one commit has an id that begins so.
    pub base: Known<Option<CommitId>>,
    pub target: Target,
    /// Whether the base is in the target's history.
    pub based: Known<bool>,
    /// One for each row, in the roster's order.
    pub rows: Vec<RowFacts>,
    /// Where `origin` has the target, with commits that are not here.
    pub behind: Known<Option<CommitId>>,
    /// One for each note: how work that was stopped, or left, came in all the same.
    pub noted: Vec<Known<Option<Arrival>>>,
    /// One for each note: the verdict's files where work was stopped.
    pub left: Vec<Known<Filed>>,
    /// Where the content of stopped work is under other commits.
    pub copies: Known<Vec<Copied>>,
}

pub(super) fn told<T>(result: Result<T>) -> Known<T> {
    result.map_err(|error| error.to_string())
}

impl Facts {
    /// Asks git for all that a ledger speaks of.
    pub fn gather(git: &dyn Git, ledger: &Ledger, target: Target) -> Self {
        let base = told(git.commit(&ledger.base));
        let id = base.clone().ok().flatten();
        let based = match &id {
            Some(id) => told(git.is_ancestor(id, &target.tip)),
            None => Err(unknown(&base)),
        };
        let way = match &id {
            Some(base) => Way::of(git, base, &target.tip),
            None => Err(unknown(&base)),
        };
        let mut rows: Vec<RowFacts> =
            ledger.rows.iter().map(|row| of_row(git, row, base.as_ref(), &target, way.as_ref())).collect();
        let left = ledger.notes.iter().map(|note| left(git, note, id.as_ref())).collect::<Vec<_>>();
        for (row, known) in ledger.rows.iter().zip(&mut rows).filter(|(row, _)| matches!(row.lease, Lease::Stopped(_)))
        {
            // What was stopped is what counts, whatever the branch says since.
            let mine = ledger.notes.iter().zip(&left).rfind(|(note, _)| note.stops(row));
            known.filed = mine.map_or(known.filed.clone(), |(_, filed)| filed.clone());
        }
        let (noted, copies) = match (&way, &id) {
            (Ok(way), Some(base)) => {
                let mut piles = Piles { git, base, way, known: HashMap::new() };
                (piles.look(ledger, &mut rows), copies(&mut piles, ledger, &rows, &target))
            }
            (Err(why), _) => (ledger.notes.iter().map(|_| Err(why.clone())).collect(), Ok(Vec::new())),
            (Ok(_), None) => (Vec::new(), Ok(Vec::new())),
        };
        let behind = told(is_behind(git, &target));
        Self { base, target, based, behind, rows, noted, left, copies }
    }
}

impl Facts {
    /// Whether something of it is not known because the history is cut.
    pub fn is_cut(&self) -> bool {
        fn cut<T>(fact: &Known<T>) -> bool {
            fact.as_ref().is_err_and(|why| *why == Error::Shallow.to_string())
        }
        let row = |row: &RowFacts| {
            cut(&row.tip)
                || cut(&row.handed)
                || cut(&row.fork)
                || cut(&row.arrived)
                || cut(&row.filed)
                || cut(&row.altered)
        };
        cut(&self.base) || cut(&self.based) || cut(&self.behind) || cut(&self.copies) || self.rows.iter().any(row)
    }
}

/// What a worker had handed in, or left, where its work was stopped.
fn left(git: &dyn Git, note: &Note, base: Option<&CommitId>) -> Known<Filed> {
    match (note.kind, base, told(git.commit(&note.commit))?) {
        (NoteKind::Stopped, Some(base), Some(commit)) => told(files(git, &note.task, base, &commit)),
        _ => Ok(Filed::default()),
    }
}

const UNKNOWN: &str = "the base is not known";

/// Why what hangs on the base can't be told.
fn unknown(base: &Known<Option<CommitId>>) -> String {
    base.as_ref().err().cloned().unwrap_or_else(|| UNKNOWN.to_owned())
}

/// Nobody works on it any more.
fn is_settled(row: &Row) -> bool {
    matches!(row.lease, Lease::Done(_) | Lease::Stopped(_))
}

impl RowFacts {
    /// What counts: what was handed in, wherever the branch is now; else where it is.
    pub fn subject(&self) -> Option<&CommitId> {
        [&self.handed, &self.tip].into_iter().find_map(|one| one.as_ref().ok()?.as_ref())
    }

    /// How it came into the target, unless its content was taken out again.
    pub fn came_in(&self) -> Option<&Arrival> {
        self.arrived.as_ref().ok()?.as_ref().filter(|arrival| arrival.stays())
    }
}

fn of_row(
    git: &dyn Git,
    row: &Row,
    base: std::result::Result<&Option<CommitId>, &String>,
    target: &Target,
    way: std::result::Result<&Way<'_>, &String>,
) -> RowFacts {
    let lost = || base.err().cloned().unwrap_or_else(|| UNKNOWN.to_owned());
    let base = base.ok().and_then(Option::as_ref);
    let tip = told(git.branch(&row.branch));
    let handed = match &row.lease {
        Lease::Done(digits) => told(git.commit(digits)),
        _ => Ok(None),
    };
    let subject = handed.clone().ok().flatten().or_else(|| tip.clone().ok().flatten());
    let forked = tip.clone().map(|tip| tip.or_else(|| handed.clone().ok().flatten()));
    let fork = forked.and_then(|tip| match (base, tip) {
        (Some(base), Some(tip)) => told(git.fork(base, &tip)).map(Some),
        (None, Some(_)) => Err(lost()),
        (_, None) => Ok(None),
    });
    let (mut arrived, mut filed) = (Ok(None), Ok(Filed::default()));
    if let Some(subject) = subject.as_ref().filter(|_| base.is_some()) {
        arrived = way.map_err(Clone::clone).and_then(|way| way.arrival(subject));
    }
    match (is_settled(row), base, &subject) {
        (true, Some(base), Some(subject)) => filed = told(files(git, &row.task, base, subject)),
        (true, None, Some(_)) => filed = Err(lost()),
        (true, _, None) => filed = handed.clone().map(|_| Filed::default()),
        _ => {}
    }
    if !is_settled(row) && way.is_ok_and(|way| subject.as_ref().is_some_and(|subject| way.is_bare(subject))) {
        // A new branch where the target is brings nothing.
        arrived = Ok(None);
    }
    let (mut wrote, mut ahead, mut squashed) = (Ok(false), Ok(None), Ok(false));
    if let (Lease::Done(_), Ok(Some(handed))) = (&row.lease, &handed) {
        wrote = told(wrote_ledger(git, &target.tip, handed));
        ahead = told(is_ahead(git, &row.branch, handed));
        if let (Some(base), Ok(None)) = (base, &arrived) {
            squashed = told(is_squashed(git, (base, handed), &target.tip));
        }
    }
    let (followed, altered, stack) = (Ok(None), Ok(Vec::new()), Stack::default());
    RowFacts { tip, handed, fork, arrived, followed, altered, ahead, squashed, stack, filed, wrote_ledger: wrote }
}

/// Where `origin` has a branch, if there is something there that was not handed in.
fn is_ahead(git: &dyn Git, branch: &Branch, handed: &CommitId) -> Result<Option<CommitId>> {
    let Some(there) = git.at_origin(branch)? else { return Ok(None) };
    Ok(if git.is_ancestor(&there, handed)? { None } else { Some(there) })
}

/// Where `origin` has the target, if there is more there. What is no branch here has no other side.
fn is_behind(git: &dyn Git, target: &Target) -> Result<Option<CommitId>> {
    let Ok(branch) = Branch::parse(&target.name) else { return Ok(None) };
    let Some(there) = git.at_origin(&branch)? else { return Ok(None) };
    Ok(if git.is_ancestor(&there, &target.tip)? { None } else { Some(there) })
}

/// Whether all that a commit changes since the base is as the target has it.
fn is_squashed(git: &dyn Git, (base, tip): (&CommitId, &CommitId), target: &CommitId) -> Result<bool> {
    let own = git.deltas(base, tip)?;
    if own.is_empty() {
        return Ok(false);
    }
    let differs: HashSet<RepoPath> = git.deltas(target, tip)?.into_iter().map(|delta| delta.path).collect();
    Ok(own.iter().all(|delta| !differs.contains(&delta.path)))
}

/// What each row's work has in it.
pub(super) struct Piles<'g> {
    pub(super) git: &'g dyn Git,
    pub(super) base: &'g CommitId,
    pub(super) way: &'g Way<'g>,
    known: HashMap<CommitId, Known<Rc<Work>>>,
}

impl Piles<'_> {
    pub(super) fn work(&mut self, tip: &CommitId) -> Known<Rc<Work>> {
        let (git, base) = (self.git, self.base);
        self.known.entry(tip.clone()).or_insert_with(|| Work::of(git, base, tip).map(Rc::new)).clone()
    }

    /// Adds what only all of the rows together tell, and says how the work of the notes came in.
    fn look(&mut self, ledger: &Ledger, rows: &mut [RowFacts]) -> Vec<Known<Option<Arrival>>> {
        let noted: Vec<Known<Option<CommitId>>> = ledger
            .notes
            .iter()
            .map(|note| match note.kind {
                NoteKind::Stopped | NoteKind::Left => told(self.git.commit(&note.commit)),
                NoteKind::Early => Ok(None),
            })
            .collect();
        let stopped = |row: &Row| matches!(row.lease, Lease::Stopped(_));
        let asks = ledger.rows.iter().any(stopped) || noted.iter().any(|commit| *commit != Ok(None));
        let forward = |known: &RowFacts| known.came_in().is_some_and(Arrival::is_forward);
        // What some row has handed in, and came in with that, is that row's.
        let mut others: HashSet<CommitId> = HashSet::new();
        if asks || rows.iter().any(forward) {
            let done = ledger.rows.iter().zip(rows.iter()).filter(|(row, _)| matches!(row.lease, Lease::Done(_)));
            others = self.way.behind(done.filter_map(|(_, known)| known.subject()));
        }
        let subjects: Vec<Option<CommitId>> = rows.iter().map(|known| known.subject().cloned()).collect();
        for (nth, row) in ledger.rows.iter().enumerate() {
            let Some(subject) = subjects.get(nth).and_then(Option::as_ref) else { continue };
            let stack = match (&row.lease, rows.get(nth).map(|known| &known.arrived)) {
                (Lease::Done(_), Some(Ok(None))) => self.stack(ledger, (nth, subject), &subjects, &noted),
                _ => Stack::default(),
            };
            let Some(known) = rows.get_mut(nth) else { continue };
            known.stack = stack;
            if stopped(row) && known.arrived == Ok(None) {
                known.arrived = self.work(subject).and_then(|work| self.way.part(&work, &others));
            }
            if let (Lease::Done(_), Ok(Some(arrival))) = (&row.lease, &known.arrived) {
                known.followed = self.way.followed(arrival, &others);
                known.altered = self.way.altered(arrival);
            }
        }
        let came = |(note, commit): (&Note, Known<Option<CommitId>>)| match (note.kind, commit?) {
            (NoteKind::Left, Some(commit)) if others.contains(&commit) => Ok(None),
            (NoteKind::Left, Some(commit)) => self.way.arrival(&commit),
            (_, Some(commit)) => self.noted(&commit, &others),
            (_, None) => Ok(None),
        };
        ledger.notes.iter().zip(noted).map(came).collect()
    }

    fn noted(&mut self, commit: &CommitId, others: &HashSet<CommitId>) -> Known<Option<Arrival>> {
        if let Some(arrival) = self.way.arrival(commit)? {
            return Ok(Some(arrival));
        }
        let work = self.work(commit)?;
        self.way.part(&work, others)
    }

    fn stack(
        &mut self,
        ledger: &Ledger,
        (nth, subject): (usize, &CommitId),
        subjects: &[Option<CommitId>],
        noted: &[Known<Option<CommitId>>],
    ) -> Stack {
        // What can't be told here is told of the branch itself: where it forked, and whether it is merged.
        let Ok(mine) = self.work(subject) else { return Stack::default() };
        let mut stack = Stack::default();
        let not_in = |way: &Way<'_>, commit: &CommitId| mine.all.contains(commit) && !way.has(commit);
        for (other, row) in ledger.rows.iter().enumerate().filter(|(other, _)| *other != nth) {
            let Some(theirs) = subjects.get(other).and_then(Option::as_ref) else { continue };
            if row.lease == Lease::Released {
                continue;
            }
            if not_in(self.way, theirs) {
                stack.rows.push(other);
            } else if matches!(row.lease, Lease::Stopped(_))
                && let Ok(work) = self.work(theirs)
                && !work.all.contains(subject)
                && work.own.iter().any(|commit| not_in(self.way, commit))
            {
                stack.parts.push(other);
            }
        }
        let here = |commit: &Known<Option<CommitId>>| match commit {
            Ok(Some(commit)) => not_in(self.way, commit),
            _ => false,
        };
        let old = noted.iter().enumerate().filter(|(_, commit)| here(commit));
        stack.notes = old.map(|(nth, _)| nth).collect();
        stack
    }
}

/// Whether a branch itself has changed the ledger. What it took in with the target is not its own.
fn wrote_ledger(git: &dyn Git, target: &CommitId, tip: &CommitId) -> Result<bool> {
    match git.fork(target, tip)? {
        Fork::At(left) => Ok(git.file(&left, FILE)? != git.file(tip, FILE)?),
        // It has no one commit at which it left; where it forked from is refused for that, or proved by the base.
        Fork::Nowhere | Fork::Several => Ok(false),
    }
}

/// The verdict's files that a branch itself has written: in a folder that is called like the task, else the only ones.
fn files(git: &dyn Git, task: &TaskId, base: &CommitId, tip: &CommitId) -> Result<Filed> {
    let changed = git.changed(base, tip)?;
    let summaries: Vec<&String> = changed.iter().filter(|path| name_of(path) == SUMMARY).collect();
    let own: Vec<&String> = summaries.iter().filter(|path| folder_of(path) == Some(task.as_str())).copied().collect();
    let path = match (own.as_slice(), summaries.as_slice()) {
        ([one], _) | ([], [one]) => *one,
        ([], []) => return Ok(Filed::default()),
        ([], several) | (several, _) => {
            return Ok(Filed { several: several.iter().map(|path| (*path).clone()).collect(), ..Filed::default() });
        }
    };
    let beside = format!("{}{DELTAS}", path.strip_suffix(SUMMARY).unwrap_or_default());
    let read =
        |path: &str| Ok::<_, Error>(git.file(tip, path)?.map(|bytes| Committed { path: path.to_owned(), bytes }));
    let summary = read(path)?;
    let link = summary.is_none().then(|| path.clone());
    Ok(Filed { summary, link, deltas: read(&beside)?, several: Vec::new() })
}

pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn folder_of(path: &str) -> Option<&str> {
    path.rsplit('/').nth(1)
}

impl Git for LocalRepo {
    fn commit(&self, digits: &Digits) -> Result<Option<CommitId>> {
        // A ref may be called like the beginning of an id, and git takes that first.
        match self.revision(digits.as_str())?.filter(|id| digits.begin(id)) {
            // Behind the end of a history that is cut there may be one.
            None if self.is_shallow()? => Err(Error::Shallow),
            found => Ok(found),
        }
    }

    fn branch(&self, name: &Branch) -> Result<Option<CommitId>> {
        for place in ["refs/heads", "refs/remotes/origin"] {
            if let Some(tip) = self.resolve(&format!("{place}/{name}"))? {
                return Ok(Some(tip));
            }
        }
        Ok(None)
    }

    fn at_origin(&self, name: &Branch) -> Result<Option<CommitId>> {
        self.resolve(&format!("refs/remotes/origin/{name}"))
    }

    fn fork(&self, base: &CommitId, tip: &CommitId) -> Result<Fork> {
        match self.merge_base(base, tip) {
            Ok(Some(at)) => Ok(Fork::At(at)),
            Ok(None) => Ok(Fork::Nowhere),
            Err(Error::Crosswise) => Ok(Fork::Several),
            Err(error) => Err(error),
        }
    }

    fn is_ancestor(&self, old: &CommitId, new: &CommitId) -> Result<bool> {
        crate::repo::Reader::is_ancestor(self, old, new)
    }

    fn since(&self, base: &CommitId, tip: &CommitId, most: usize) -> Result<Vec<CommitId>> {
        self.commits_between(base, tip, most)
    }

    fn parents(&self, of: &CommitId) -> Result<Vec<CommitId>> {
        Ok(crate::repo::Reader::commit(self, of)?.parents)
    }

    fn changed(&self, from: &CommitId, to: &CommitId) -> Result<Vec<String>> {
        let deltas = self.diff(from, to)?;
        Ok(deltas
            .iter()
            .filter(|delta| delta.new.is_some())
            .filter_map(|delta| delta.path.as_str().map(str::to_owned))
            .collect())
    }

    fn deltas(&self, from: &CommitId, to: &CommitId) -> Result<Vec<Delta>> {
        self.diff(from, to)
    }

    fn otherwise(&self, merge: &CommitId) -> Result<Vec<Delta>> {
        self.merged_otherwise(merge)
    }

    fn patch(&self, from: &CommitId, to: &CommitId) -> Result<Option<Digest>> {
        self.patch_id(from, to)
    }

    fn file(&self, at: &CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        let path = RepoPath::from(path);
        match self.mode(at, &path)? {
            Some(mode) if mode.is_file() => Ok(self.blob(at, &path)?.map(|blob| blob.bytes)),
            _ => Ok(None),
        }
    }
}
