//! How work came into the target: with which of its own commits, together with what, and whether it was taken out again.
//!
//! Only git is asked, and only for commits: a branch that is deleted, or put back to where it was handed in, does not
//! change what was merged.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::git::{Git, Known, told};
use super::ledger::FILE;
use crate::ids::{BlobId, CommitId};
use crate::repo::{Delta, RepoPath};

/// More commits since the base are not looked at.
pub(super) const MOST_COMMITS: usize = 50_000;
/// How many of the target's own commits behind an arrival are looked at for its revert.
const MOST_STEPS: usize = 2_000;
/// An arrival of more files is not looked for in what came later.
const MOST_FILES: usize = 3_000;

/// How a commit came into the target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// Counted from the oldest of the target's own commits that was looked at.
    pub nth: usize,
    /// The target's own commit that brought it.
    pub commit: CommitId,
    /// The merge that brought it: that commit, or one behind it, where several branches were put together on the way.
    pub merge: CommitId,
    /// What came in.
    pub what: CommitId,
    /// What was merged in fact, where that is another commit which has this one behind it.
    pub more: Option<CommitId>,
    /// The target's own commit that took its content out again.
    pub out: Option<CommitId>,
}

impl Arrival {
    /// Whether its content is in the target still.
    pub fn stays(&self) -> bool {
        self.out.is_none()
    }

    /// There is no merge that shows what came in.
    pub fn is_forward(&self) -> bool {
        self.commit == self.what
    }
}

/// What of a branch is not in the base.
pub(super) struct Work {
    pub(super) all: HashSet<CommitId>,
    /// Its own commits, newest first: not those that it merged.
    pub(super) own: Vec<CommitId>,
}

impl Work {
    pub(super) fn of(git: &dyn Git, base: &CommitId, tip: &CommitId) -> Known<Self> {
        let all: HashSet<CommitId> = bounded(git, base, tip)?.into_iter().collect();
        let mut own = Vec::new();
        let mut at = Some(tip.clone()).filter(|tip| all.contains(tip));
        while let Some(commit) = at {
            at = told(git.parents(&commit))?.into_iter().next().filter(|first| all.contains(first));
            own.push(commit);
        }
        Ok(Self { all, own })
    }
}

fn bounded(git: &dyn Git, base: &CommitId, tip: &CommitId) -> Known<Vec<CommitId>> {
    let since = told(git.since(base, tip, MOST_COMMITS + 1))?;
    if since.len() > MOST_COMMITS {
        return Err(format!("there are more than {MOST_COMMITS} commits since the base"));
    }
    Ok(since)
}

/// The target since the base.
pub(super) struct Way<'g> {
    git: &'g dyn Git,
    base: CommitId,
    /// The target's own commits, oldest first.
    own: Vec<CommitId>,
    parents: HashMap<CommitId, Vec<CommitId>>,
    /// With which of its own commits each commit came in.
    with: HashMap<CommitId, usize>,
    steps: RefCell<HashMap<usize, Rc<Vec<Delta>>>>,
}

impl<'g> Way<'g> {
    /// Goes along the target's own commits, oldest first: what each of them brings is what is behind it and was not there
    /// before. Each commit is looked at once, however many rows ask for theirs.
    pub(super) fn of(git: &'g dyn Git, base: &CommitId, tip: &CommitId) -> Known<Self> {
        let mut parents: HashMap<CommitId, Vec<CommitId>> = HashMap::new();
        for commit in bounded(git, base, tip)? {
            let of = told(git.parents(&commit))?;
            parents.insert(commit, of);
        }
        let own = std::iter::successors(parents.contains_key(tip).then_some(tip), |commit| {
            parents.get(*commit).and_then(|parents| parents.first()).filter(|first| parents.contains_key(*first))
        });
        let mut own: Vec<CommitId> = own.cloned().collect();
        own.reverse();
        let mut with = HashMap::new();
        for (nth, step) in own.iter().enumerate() {
            let mut open = vec![step];
            while let Some(commit) = open.pop() {
                let Some(before) = parents.get(commit).filter(|_| !with.contains_key(commit)) else { continue };
                with.insert(commit.clone(), nth);
                open.extend(before);
            }
        }
        Ok(Self { git, base: base.clone(), own, parents, with, steps: RefCell::default() })
    }

    pub(super) fn has(&self, commit: &CommitId) -> bool {
        self.with.contains_key(commit)
    }

    /// With which of the target's own commits this one came in, counted from the oldest.
    pub(super) fn nth(&self, commit: &CommitId) -> Option<usize> {
        self.with.get(commit).copied()
    }

    /// What a commit of the target's has over the one that it stands on.
    pub(super) fn first_parent(&self, commit: &CommitId) -> Option<&CommitId> {
        self.parents.get(commit).and_then(|parents| parents.first())
    }

    /// The last of the target's own commits that put this file there.
    pub(super) fn put(&self, path: &RepoPath, blob: Option<&BlobId>) -> Known<Option<CommitId>> {
        for nth in (0..self.own.len()).rev().take(MOST_STEPS) {
            let puts = |delta: &Delta| delta.path == *path && delta.new.as_ref().map(|(_, blob)| blob) == blob;
            if self.step(nth)?.iter().any(puts) {
                return Ok(self.own.get(nth).cloned());
            }
        }
        Ok(None)
    }

    /// Whether this is one of the target's own commits, and nobody has worked since the base: there are only merges, and the ledger.
    /// Then a branch that stands there has no commit of its own.
    pub(super) fn is_bare(&self, tip: &CommitId) -> bool {
        let Some(nth) = self.nth(tip).filter(|nth| self.own.get(*nth) == Some(tip)) else { return false };
        let is_ledger = |delta: &Delta| delta.path.as_str() == Some(FILE);
        let kept = |nth: usize| self.step(nth).is_ok_and(|step| !step.is_empty() && step.iter().all(is_ledger));
        (0..=nth).all(|nth| self.own.get(nth).is_some_and(|own| !self.sides(own).is_empty()) || kept(nth))
    }

    /// These commits and all before them, as far as they are in the target.
    pub(super) fn behind<'c>(&self, tips: impl Iterator<Item = &'c CommitId>) -> HashSet<CommitId> {
        let mut all = HashSet::new();
        let mut open: Vec<&CommitId> = tips.collect();
        while let Some(commit) = open.pop() {
            if let Some(before) = self.parents.get(commit).filter(|_| all.insert(commit.clone())) {
                open.extend(before);
            }
        }
        all
    }

    /// How this commit came in; none: it has not, or is no later than the base.
    pub(super) fn arrival(&self, what: &CommitId) -> Known<Option<Arrival>> {
        let Some((nth, step)) = self.with.get(what).and_then(|nth| Some((*nth, self.own.get(*nth)?))) else {
            return Ok(None);
        };
        let (merge, more) = self.merged_by(nth, step, what);
        let out = self.taken_out(nth, &merge, what)?;
        Ok(Some(Arrival { nth, commit: step.clone(), merge, what: what.clone(), more, out }))
    }

    /// How a part of some work came in that did not come in as a whole. What it took in itself is not its own, and what is in
    /// the work of another row came in with that.
    pub(super) fn part(&self, work: &Work, others: &HashSet<CommitId>) -> Known<Option<Arrival>> {
        let came = |commit: &&CommitId| {
            let step = self.with.get(*commit).and_then(|nth| self.own.get(*nth));
            step.is_some_and(|step| !work.all.contains(step) && !others.contains(*commit))
        };
        work.own.iter().find(came).map_or(Ok(None), |commit| self.arrival(commit))
    }

    fn sides(&self, merge: &CommitId) -> &[CommitId] {
        self.parents.get(merge).and_then(|parents| parents.get(1..)).unwrap_or_default()
    }

    /// The merge that brought a commit, and what that merged where it is another one.
    fn merged_by(&self, nth: usize, step: &CommitId, what: &CommitId) -> (CommitId, Option<CommitId>) {
        let sides = self.sides(step);
        if step == what || sides.contains(what) {
            return (step.clone(), None);
        }
        // Several branches may be put together on one of their own, by a merge each, and come in with that.
        for side in sides {
            let mut at = Some(side);
            while let Some(commit) = at.filter(|commit| self.with.get(*commit) == Some(&nth)) {
                if self.sides(commit).contains(what) {
                    return (commit.clone(), None);
                }
                at = self.parents.get(commit).and_then(|parents| parents.first());
            }
        }
        (step.clone(), sides.iter().find(|side| self.is_behind(nth, what, side)).cloned())
    }

    /// Whether a commit is behind another, of those that came in with one step.
    fn is_behind(&self, nth: usize, old: &CommitId, new: &CommitId) -> bool {
        let (mut seen, mut open) = (HashSet::new(), vec![new]);
        while let Some(commit) = open.pop() {
            if commit == old {
                return true;
            }
            if self.with.get(commit) == Some(&nth) && seen.insert(commit) {
                open.extend(self.parents.get(commit).into_iter().flatten());
            }
        }
        false
    }

    /// What stands directly on a commit that came in by a fast-forward, and is neither a merge, nor the work of a row, nor
    /// only the ledger. Whether it came with it can't be told.
    pub(super) fn followed(&self, arrival: &Arrival, rows: &HashSet<CommitId>) -> Known<Option<CommitId>> {
        let Some(next) = self.own.get(arrival.nth + 1).filter(|_| arrival.is_forward()) else { return Ok(None) };
        if rows.contains(next) || !self.sides(next).is_empty() {
            return Ok(None);
        }
        let brings = self.step(arrival.nth + 1)?;
        Ok(brings.iter().any(|delta| delta.path.as_str() != Some(FILE)).then(|| next.clone()))
    }

    /// What the merges that brought this have otherwise than git makes them, unless a later commit has put it so. The ledger is
    /// its keeper's, who may write it with a merge.
    pub(super) fn altered(&self, arrival: &Arrival) -> Known<Vec<String>> {
        let mut paths: BTreeSet<String> = BTreeSet::new();
        let merges: BTreeSet<&CommitId> = [&arrival.merge, &arrival.commit].into_iter().collect();
        for merge in merges.into_iter().filter(|merge| !self.sides(merge).is_empty()) {
            let mut deltas = told(self.git.otherwise(merge))?;
            deltas.retain(|delta| delta.path.as_str() != Some(FILE));
            for later in (arrival.nth + 1..self.own.len()).take(MOST_STEPS) {
                if deltas.is_empty() {
                    break;
                }
                let step = self.step(later)?;
                let mended = |delta: &Delta| step.iter().any(|one| one.path == delta.path && one.new == delta.new);
                deltas.retain(|delta| !mended(delta));
            }
            paths.extend(deltas.iter().map(|delta| delta.path.to_string()));
        }
        Ok(paths.into_iter().collect())
    }

    /// What one of the target's own commits changed.
    pub(super) fn step(&self, nth: usize) -> Known<Rc<Vec<Delta>>> {
        if let Some(known) = self.steps.borrow().get(&nth) {
            return Ok(Rc::clone(known));
        }
        let pair = self.own.get(nth).and_then(|commit| Some((self.parents.get(commit)?.first()?, commit)));
        let deltas = Rc::new(pair.map_or(Ok(Vec::new()), |(before, commit)| told(self.git.deltas(before, commit)))?);
        self.steps.borrow_mut().insert(nth, Rc::clone(&deltas));
        Ok(deltas)
    }

    /// The last of the target's own commits that took out what came in, unless a later one has put it back: by its content, or
    /// by the same lines the other way round.
    fn taken_out(&self, nth: usize, merge: &CommitId, what: &CommitId) -> Known<Option<CommitId>> {
        if nth + 1 >= self.own.len() {
            return Ok(None);
        }
        let before = match self.parents.get(merge).and_then(|parents| parents.first()) {
            Some(first) if merge != what => first,
            _ => &self.base,
        };
        let brought = told(self.git.deltas(before, merge))?;
        if brought.is_empty() || brought.len() > MOST_FILES {
            return Ok(None);
        }
        let mut now: BTreeMap<_, _> = brought.iter().map(|delta| (&delta.path, delta.new.clone())).collect();
        let (mut patches, mut out) = (None, None);
        for later in (nth + 1..self.own.len()).take(MOST_STEPS) {
            let step = self.step(later)?;
            let mut touched = false;
            for delta in step.iter() {
                if let Some(place) = now.get_mut(&delta.path) {
                    place.clone_from(&delta.new);
                    touched = true;
                }
            }
            let Some(commit) = self.own.get(later).filter(|_| touched) else { continue };
            if brought.iter().all(|delta| now.get(&delta.path) == Some(&delta.old)) {
                out = Some(commit.clone());
                continue;
            }
            if brought.iter().all(|delta| now.get(&delta.path) == Some(&delta.new)) {
                out = None;
                continue;
            }
            if patches.is_none() {
                patches = Some((told(self.git.patch(before, merge))?, told(self.git.patch(merge, before))?));
            }
            let Some(first) = self.parents.get(commit).and_then(|parents| parents.first()) else { continue };
            let patch = told(self.git.patch(first, commit))?;
            match &patches {
                Some((_, back)) if patch.is_some() && patch == *back => out = Some(commit.clone()),
                Some((forth, _)) if patch.is_some() && patch == *forth => out = None,
                _ => {}
            }
        }
        Ok(out)
    }
}
