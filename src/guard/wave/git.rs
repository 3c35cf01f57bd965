//! What git itself says of a wave: the commits behind the words of its ledger.
//!
//! Everything is asked through [`Git`], so that any reader of a repository will do, and put down as [`Facts`], so that
//! what is made of it needs no repository. What can't be found out is told as such, and proves nothing.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::cell::{Branch, Digits};
use super::lease::Lease;
use super::ledger::{FILE, Ledger, Row};
use super::verdict::{Committed, DELTAS, Filed, SUMMARY};
use crate::ids::CommitId;
use crate::repo::{Error, LocalRepo, Reader as _, RepoPath, Result};

/// A fact, or why it is not known.
pub type Known<T> = std::result::Result<T, String>;

/// What a wave asks of a repository.
pub trait Git {
    /// The one commit whose id begins with these digits. A branch or tag that is called so is none.
    fn commit(&self, digits: &Digits) -> Result<Option<CommitId>>;

    /// The tip of a branch: of this repository, else of `origin`.
    fn branch(&self, name: &Branch) -> Result<Option<CommitId>>;

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

/// With which commit a branch came into the target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// Counted from the oldest of the target's own commits that was looked at.
    pub nth: usize,
    pub commit: CommitId,
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
    /// How it came into the target; none: it has not, or has nothing of its own. Asked of all rows that are not released.
    pub arrived: Known<Option<Arrival>>,
    /// The files of its verdict. Asked of rows that are done or stopped.
    pub filed: Known<Filed>,
    /// What was handed in has another ledger than the commit at which it left the target. Asked of rows that are done.
    pub wrote_ledger: Known<bool>,
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
}

/// More commits since the base are not looked at.
const MOST_COMMITS: usize = 50_000;

fn told<T>(result: Result<T>) -> Known<T> {
    result.map_err(|error| error.to_string())
}

impl Facts {
    /// Asks git for all that a ledger speaks of.
    pub fn gather(git: &dyn Git, ledger: &Ledger, target: Target) -> Self {
        let base = told(git.commit(&ledger.base));
        let id = base.clone().ok().flatten();
        let based = match &id {
            Some(id) => told(git.is_ancestor(id, &target.tip)),
            None => Err("the base is not known".to_owned()),
        };
        let arrivals = match &id {
            Some(base) if ledger.rows.iter().any(may_not_be_in) => arrivals(git, base, &target.tip),
            Some(_) => Ok(HashMap::new()),
            None => Err("the base is not known".to_owned()),
        };
        let rows = ledger.rows.iter().map(|row| of_row(git, row, id.as_ref(), &target, &arrivals)).collect();
        Self { base, target, based, rows }
    }
}

/// Nobody works on it any more.
fn is_settled(row: &Row) -> bool {
    matches!(row.lease, Lease::Done(_) | Lease::Stopped(_))
}

/// Whether it matters that its branch is in the target. About one that is released somebody has decided.
fn may_not_be_in(row: &Row) -> bool {
    row.lease != Lease::Released
}

fn of_row(git: &dyn Git, row: &Row, base: Option<&CommitId>, target: &Target, arrivals: &Known<Arrivals>) -> RowFacts {
    let tip = told(git.branch(&row.branch));
    let handed = match &row.lease {
        Lease::Done(digits) => told(git.commit(digits)),
        _ => Ok(None),
    };
    // What was handed in is what counts, wherever the branch is now.
    let subject = handed.clone().ok().flatten().or_else(|| tip.clone().ok().flatten());
    let forked = tip.clone().map(|tip| tip.or_else(|| handed.clone().ok().flatten()));
    let fork = forked.and_then(|tip| match (base, tip) {
        (Some(base), Some(tip)) => told(git.fork(base, &tip)).map(Some),
        (None, Some(_)) => Err("the base is not known".to_owned()),
        (_, None) => Ok(None),
    });
    let (mut arrived, mut filed) = (Ok(None), Ok(Filed::default()));
    if let Some(subject) = subject.as_ref().filter(|_| may_not_be_in(row) && base.is_some()) {
        arrived = arrivals.as_ref().map(|arrivals| arrivals.get(subject).cloned()).map_err(Clone::clone);
    }
    if let (true, Some(base), Some(subject)) = (is_settled(row), base, &subject) {
        filed = told(files(git, row, base, subject));
    }
    let wrote_ledger = match (&row.lease, &handed) {
        (Lease::Done(_), Ok(Some(handed))) => told(wrote_ledger(git, &target.tip, handed)),
        _ => Ok(false),
    };
    RowFacts { tip, handed, fork, arrived, filed, wrote_ledger }
}

/// Whether a branch itself has changed the ledger. What it took in with the target is not its own.
fn wrote_ledger(git: &dyn Git, target: &CommitId, tip: &CommitId) -> Result<bool> {
    match git.fork(target, tip)? {
        Fork::At(left) => Ok(git.file(&left, FILE)? != git.file(tip, FILE)?),
        // It has no one commit at which it left; where it forked from is refused for that, or proved by the base.
        Fork::Nowhere | Fork::Several => Ok(false),
    }
}

/// How each commit since the base came into the target.
type Arrivals = HashMap<CommitId, Arrival>;

/// Goes along the target's own commits, oldest first: what each of them brings is what is behind it and was not there before.
/// Each commit is looked at once, however many rows ask for theirs.
fn arrivals(git: &dyn Git, base: &CommitId, tip: &CommitId) -> Known<Arrivals> {
    let since = told(git.since(base, tip, MOST_COMMITS + 1))?;
    if since.len() > MOST_COMMITS {
        return Err(format!("there are more than {MOST_COMMITS} commits since the base"));
    }
    let mut parents: HashMap<CommitId, Vec<CommitId>> = HashMap::new();
    for commit in since {
        let of = told(git.parents(&commit))?;
        parents.insert(commit, of);
    }
    let own = std::iter::successors(parents.contains_key(tip).then_some(tip), |commit| {
        parents.get(*commit).and_then(|parents| parents.first()).filter(|first| parents.contains_key(*first))
    });
    let mut own: Vec<&CommitId> = own.collect();
    own.reverse();
    let mut arrivals = Arrivals::new();
    for (nth, step) in own.into_iter().enumerate() {
        let mut open = vec![step];
        while let Some(commit) = open.pop() {
            let Some(before) = parents.get(commit).filter(|_| !arrivals.contains_key(commit)) else { continue };
            arrivals.insert(commit.clone(), Arrival { nth, commit: step.clone() });
            open.extend(before);
        }
    }
    Ok(arrivals)
}

/// The verdict's files that a branch itself has written: in a folder that is called like the task, else the only ones.
fn files(git: &dyn Git, row: &Row, base: &CommitId, tip: &CommitId) -> Result<Filed> {
    let changed = git.changed(base, tip)?;
    let summaries: Vec<&String> = changed.iter().filter(|path| name_of(path) == SUMMARY).collect();
    let own: Vec<&String> =
        summaries.iter().filter(|path| folder_of(path) == Some(row.task.as_str())).copied().collect();
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
    Ok(Filed { summary: read(path)?, deltas: read(&beside)?, several: Vec::new() })
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn folder_of(path: &str) -> Option<&str> {
    path.rsplit('/').nth(1)
}

impl Git for LocalRepo {
    fn commit(&self, digits: &Digits) -> Result<Option<CommitId>> {
        // A ref may be called like the beginning of an id, and git takes that first.
        Ok(self.revision(digits.as_str())?.filter(|id| digits.begin(id)))
    }

    fn branch(&self, name: &Branch) -> Result<Option<CommitId>> {
        for place in ["refs/heads", "refs/remotes/origin"] {
            if let Some(tip) = self.resolve(&format!("{place}/{name}"))? {
                return Ok(Some(tip));
            }
        }
        Ok(None)
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

    fn file(&self, at: &CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        let path = RepoPath::from(path);
        match self.mode(at, &path)? {
            Some(mode) if mode.is_file() => Ok(self.blob(at, &path)?.map(|blob| blob.bytes)),
            _ => Ok(None),
        }
    }
}
