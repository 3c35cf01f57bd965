//! Whether a push only brought a branch up to date.

use std::collections::{BTreeMap, BTreeSet};

use super::{BlobId, Compared, Delta, Error, LocalRepo, Reader, RepoPath, Result};
use crate::ids::CommitId;

/// So many commits are looked at.
const MOST: usize = 100;

/// What a branch may take in without becoming somebody else's work.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    /// The tips of the branch that it goes into, and of the default branch.
    pub tips: Vec<CommitId>,
    /// Heads of other changes, whose people are known.
    pub parts: Vec<CommitId>,
}

impl Ground {
    /// Whether a branch that went from one commit (or from none) to another took in its ground and nothing else: it is
    /// where that is or was, or it came there by merges that are made of their two sides alone, or as the same commits,
    /// file for file, on a newer part of it. It is each commit that counts and not what they come to: what a push brings
    /// and takes back is there to be gone back to. An error: not all of it is at hand.
    pub fn is_all_of(&self, repo: &LocalRepo, before: Option<&CommitId>, after: &CommitId) -> Result<bool> {
        for tip in &self.tips {
            if parted(repo, tip, after)?.as_ref() == Some(after) {
                return Ok(true);
            }
        }
        let Some(before) = before else { return Ok(false) };
        for tip in &self.tips {
            parted(repo, tip, before)?;
        }
        if self.merged(repo, before, after)? {
            return Ok(true);
        }
        for tip in &self.tips {
            if self.rebased(repo, before, after, tip)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rebased(&self, repo: &LocalRepo, before: &CommitId, after: &CommitId, tip: &CommitId) -> Result<bool> {
        let (Some(old), Some(new)) = (self.own(repo, tip, before)?, self.own(repo, tip, after)?) else {
            return Ok(false);
        };
        if old.len() != new.len() {
            return Ok(false);
        }
        for (old, new) in old.iter().zip(&new) {
            let (was, is) = (repo.commit(old)?.parents, repo.commit(new)?.parents);
            let ([was], [is]) = (was.as_slice(), is.as_slice()) else { return Ok(false) };
            if repo.diff(was, old)? != repo.diff(is, new)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The commits from the base to here, without merges of the ground, which a rebase leaves out. None: too many.
    fn own(&self, repo: &LocalRepo, tip: &CommitId, to: &CommitId) -> Result<Option<Vec<CommitId>>> {
        let all = repo.commits_between(tip, to, MOST)?;
        if all.len() >= MOST {
            return Ok(None);
        }
        let mut own = Vec::new();
        for commit in all {
            let parents = repo.commit(&commit)?.parents;
            match parents.as_slice() {
                [first, second] if self.is_clean_merge(repo, first, second, &commit)? => {}
                _ => own.push(commit),
            }
        }
        Ok(Some(own))
    }

    /// Whether a commit merges the ground, and is made of its two sides alone.
    fn is_clean_merge(&self, repo: &LocalRepo, first: &CommitId, second: &CommitId, at: &CommitId) -> Result<bool> {
        let clean = Compared::Differs(Vec::new());
        Ok(self.has(repo, second)? && repo.merge_and_compare(first, std::slice::from_ref(second), at)? == clean)
    }

    fn merged(&self, repo: &LocalRepo, before: &CommitId, after: &CommitId) -> Result<bool> {
        let mut at = after.clone();
        for _ in 0..MOST {
            if at == *before {
                return Ok(true);
            }
            let parents = repo.commit(&at)?.parents;
            let [first, second] = parents.as_slice() else { return Ok(false) };
            if !self.is_clean_merge(repo, first, second, &at)? {
                return Ok(false);
            }
            at = first.clone();
        }
        Ok(false)
    }

    fn has(&self, repo: &LocalRepo, commit: &CommitId) -> Result<bool> {
        if self.parts.contains(commit) {
            return Ok(true);
        }
        for tip in &self.tips {
            if parted(repo, tip, commit)?.as_ref() == Some(commit) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What was merged into a branch on its way from one commit to another.
pub fn merged_in(repo: &LocalRepo, before: &CommitId, after: &CommitId) -> Result<Vec<CommitId>> {
    let (mut at, mut found) = (after.clone(), Vec::new());
    for _ in 0..MOST {
        let parents = repo.commit(&at)?.parents;
        if at == *before || parents.is_empty() {
            break;
        }
        found.extend(parents.iter().skip(1).cloned());
        at = parents[0].clone();
    }
    Ok(found)
}

/// Where a commit parted from the base, if that is one place. It is an error where the history here does not reach so far.
fn parted(repo: &LocalRepo, tip: &CommitId, at: &CommitId) -> Result<Option<CommitId>> {
    match repo.merge_base(tip, at) {
        Err(Error::Crosswise) => Ok(None),
        found => found,
    }
}

/// Where a head is held against: the base that it goes into, and where in it, or on the way to it, the work in question was
/// merged.
#[derive(Debug, Clone)]
pub struct Landed {
    pub tip: CommitId,
    pub at: CommitId,
}

impl Landed {
    /// In the base itself.
    pub fn in_base(tip: &CommitId) -> Self {
        Self { tip: tip.clone(), at: tip.clone() }
    }

    /// Whether nothing of what these commits brought is at a head and not where they landed: no file there is as a commit
    /// had it (also under another name), unless it landed so, and none that it took away is gone at the head alone.
    pub fn has_all(&self, repo: &LocalRepo, commits: &[CommitId], head: &CommitId) -> Result<bool> {
        if commits.is_empty() {
            return Ok(true);
        }
        let mut here = repo.diff(&self.at, head)?;
        // What is changed there on top of it is not brought back by merging, and what is moved is brought elsewhere.
        if let Some(merge) = repo.brings(&self.at, head)? {
            here.retain(|delta| merge.iter().any(|one| one.path == delta.path));
            here.extend(merge);
        }
        for commit in commits {
            if self.is_in(repo, commit, &here)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether something of what a commit brought, and that did not land, is among these.
    fn is_in(&self, repo: &LocalRepo, commit: &CommitId, here: &[Delta]) -> Result<bool> {
        let Some(base) = parted(repo, &self.tip, commit)? else { return Ok(true) };
        let (brought, lacking) = (repo.diff(&base, commit)?, repo.diff(&self.at, commit)?);
        let lacking: BTreeSet<&RepoPath> = lacking.iter().map(|delta| &delta.path).collect();
        let only: BTreeMap<&RepoPath, Option<&BlobId>> = brought
            .iter()
            .filter(|delta| lacking.contains(&delta.path))
            .map(|delta| (&delta.path, delta.new.as_ref().map(|(_, blob)| blob)))
            .collect();
        let blobs: BTreeSet<&BlobId> = only.values().flatten().copied().filter(|blob| blob.as_str() != EMPTY).collect();
        Ok(here.iter().any(|delta| {
            let new = delta.new.as_ref().map(|(_, blob)| blob);
            only.get(&delta.path) == Some(&new) || new.is_some_and(|blob| blobs.contains(blob))
        }))
    }
}

/// A file of nothing is nobody's, under another name.
const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::testing::Scratch;

    /// `main` has gone on by one commit since the branch was made.
    struct Branch {
        repo: Scratch,
        root: CommitId,
        main: CommitId,
        work: CommitId,
    }

    const ROOT: (&str, &str) = ("a", "1\n");
    const NEWS: (&str, &str) = ("news", "n\n");
    const WORK: (&str, &str) = ("work", "w\n");

    fn branch() -> Branch {
        let repo = Scratch::new();
        let root = repo.text(&[], &[ROOT]);
        let main = repo.text(&[&root], &[ROOT, NEWS]);
        let work = repo.text(&[&root], &[ROOT, WORK]);
        Branch { repo, root, main, work }
    }

    impl Branch {
        fn ground(&self) -> Ground {
            Ground { tips: vec![self.main.clone()], parts: Vec::new() }
        }

        fn updates(&self, after: &CommitId) -> bool {
            self.ground().is_all_of(&self.repo.reader(), Some(&self.work), after).unwrap()
        }
    }

    #[test]
    fn a_merge_of_the_base_is_no_work() {
        let on = branch();
        let merge = on.repo.text(&[&on.work, &on.main], &[ROOT, NEWS, WORK]);
        assert!(on.updates(&merge));
        let with_more = on.repo.text(&[&on.work, &on.main], &[ROOT, NEWS, WORK, ("more", "m\n")]);
        assert!(!on.updates(&with_more), "something came in with the merge");
        let without = on.repo.text(&[&on.work, &on.main], &[ROOT, WORK]);
        assert!(!on.updates(&without), "the base's news were thrown away");
        let other = on.repo.text(&[&on.root], &[ROOT, ("other", "o\n")]);
        let of_other = on.repo.text(&[&on.work, &other], &[ROOT, WORK, ("other", "o\n")]);
        assert!(!on.updates(&of_other), "that is not the base");
    }

    #[test]
    fn the_same_commits_on_a_newer_base_are_no_work() {
        let on = branch();
        assert!(on.updates(&on.repo.text(&[&on.main], &[ROOT, NEWS, WORK])));
        assert!(!on.updates(&on.repo.text(&[&on.main], &[ROOT, NEWS, ("work", "w \n")])), "a space is content");
        let away = on.repo.text(&[&on.main], &[ROOT, NEWS, WORK, ("hers", "h\n")]);
        let back = on.repo.text(&[&away], &[ROOT, NEWS, WORK]);
        assert!(!on.updates(&back), "what is taken back can be gone back to");
    }

    #[test]
    fn what_is_in_the_base_is_no_work() {
        let on = branch();
        let made = |at: &CommitId| on.ground().is_all_of(&on.repo.reader(), None, at).unwrap();
        assert!(made(&on.main), "the branch was made where the base is");
        assert!(made(&on.root), "or was");
        assert!(!made(&on.work), "it was made with work in it");
        assert!(on.updates(&on.root), "the work was thrown away");
    }

    #[test]
    fn an_old_update_is_one_for_ever() {
        let on = branch();
        let merge = on.repo.text(&[&on.work, &on.main], &[ROOT, NEWS, WORK]);
        let later = on.repo.text(&[&on.main], &[ROOT, NEWS, ("later", "l\n")]);
        let rebased = on.repo.text(&[&on.main], &[ROOT, NEWS, WORK]);
        let ground = Ground { tips: vec![later], parts: Vec::new() };
        assert!(ground.is_all_of(&on.repo.reader(), Some(&on.work), &merge).unwrap());
        assert!(ground.is_all_of(&on.repo.reader(), Some(&on.work), &rebased).unwrap());
    }

    #[test]
    fn a_merge_of_another_change_is_no_work_where_that_is_known() {
        let on = branch();
        let other = on.repo.text(&[&on.root], &[ROOT, ("other", "o\n")]);
        let merge = on.repo.text(&[&on.work, &other], &[ROOT, WORK, ("other", "o\n")]);
        assert!(!on.updates(&merge));
        let reader = on.repo.reader();
        assert_eq!(merged_in(&reader, &on.work, &merge).unwrap(), std::slice::from_ref(&other));
        let ground = Ground { parts: vec![other], ..on.ground() };
        assert!(ground.is_all_of(&reader, Some(&on.work), &merge).unwrap());
        let with_more = on.repo.text(&[&merge], &[ROOT, WORK, ("other", "p\n")]);
        assert!(!ground.is_all_of(&reader, Some(&on.work), &with_more).unwrap());
    }

    #[test]
    fn a_rebase_leaves_out_merges_of_the_base() {
        let on = branch();
        let merge = on.repo.text(&[&on.work, &on.main], &[ROOT, NEWS, WORK]);
        let more = on.repo.text(&[&merge], &[ROOT, NEWS, WORK, ("more", "m\n")]);
        let first = on.repo.text(&[&on.main], &[ROOT, NEWS, WORK]);
        let rebased = on.repo.text(&[&first], &[ROOT, NEWS, WORK, ("more", "m\n")]);
        let updates = |after: &CommitId| on.ground().is_all_of(&on.repo.reader(), Some(&more), after).unwrap();
        assert!(updates(&rebased));
        let altered = on.repo.text(&[&first], &[ROOT, NEWS, WORK, ("more", "hers\n")]);
        assert!(!updates(&altered));
    }

    #[test]
    fn what_a_commit_brought_is_spent_when_the_base_has_it() {
        let on = branch();
        let spent = |commit: &CommitId, head: &CommitId, tip: &CommitId| {
            Landed::in_base(tip).has_all(&on.repo.reader(), std::slice::from_ref(commit), head).unwrap()
        };
        let other = on.repo.text(&[&on.root], &[ROOT, ("lower", "l\n")]);
        let head = on.repo.text(&[&other], &[ROOT, ("lower", "l\n"), WORK]);
        assert!(!spent(&other, &head, &on.main), "it is only here");
        let squashed = on.repo.text(&[&on.main], &[ROOT, NEWS, ("lower", "l\n")]);
        assert!(spent(&other, &head, &squashed), "it is in the base as well");
        let mended = on.repo.text(&[&on.main], &[ROOT, NEWS, ("lower", "better\n")]);
        assert!(!spent(&other, &head, &mended), "the base has something else, and this is still here");
        let rebased = on.repo.text(&[&mended], &[ROOT, NEWS, ("lower", "better\n"), WORK]);
        assert!(spent(&other, &rebased, &mended));
        let moved = on.repo.text(&[&other], &[ROOT, ("renamed", "l\n"), WORK]);
        assert!(!spent(&other, &moved, &on.main), "it has another name");
        let away = on.repo.text(&[&on.main], &[ROOT, NEWS]);
        let again = on.repo.text(&[&away], &[ROOT, NEWS, ("lower", "l\n"), WORK]);
        assert!(!spent(&other, &again, &away), "it came back under another commit");
    }

    #[test]
    fn what_landed_on_the_way_is_spent_until_an_older_state_of_it_comes_back() {
        let on = branch();
        let old = on.repo.text(&[&on.root], &[ROOT, ("part", "bad\n")]);
        let part = on.repo.text(&[&old], &[ROOT, ("part", "good\n")]);
        let merge = on.repo.text(&[&on.work, &part], &[ROOT, WORK, ("part", "good\n")]);
        let has_all = |head: &CommitId, at: &CommitId| {
            let landed = Landed { tip: on.main.clone(), at: at.clone() };
            landed.has_all(&on.repo.reader(), &[part.clone(), old.clone()], head).unwrap()
        };
        let more = on.repo.text(&[&merge], &[ROOT, WORK, ("part", "good\n"), ("more", "m\n")]);
        assert!(has_all(&more, &merge));
        assert!(!has_all(&more, &on.main), "the base itself does not have it");
        let back = on.repo.text(&[&more], &[ROOT, WORK, ("part", "bad\n")]);
        assert!(!has_all(&back, &merge));
    }

    #[test]
    fn what_is_not_there_is_not_known() {
        let on = branch();
        let unknown = CommitId::new("e".repeat(40)).unwrap();
        assert!(on.ground().is_all_of(&on.repo.reader(), Some(&unknown), &on.work).is_err());
        assert!(on.ground().is_all_of(&on.repo.reader(), Some(&on.work), &unknown).is_err());
    }
}
