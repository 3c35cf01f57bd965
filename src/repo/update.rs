//! Whether a push only brought a branch up to date with its base.

use super::{Compared, LocalRepo, Reader, Result};
use crate::ids::CommitId;

/// So many commits are looked at.
const MOST: usize = 100;

/// Whether a branch that went from one commit to another took in its base and nothing else: by merges that are made of
/// their two sides alone, or as the same commits, file for file, on a newer part of it. It is each commit that counts and
/// not what they come to: what a push brings and takes back is there to be gone back to. What is not at hand was not seen
/// to be harmless.
pub fn only_updates(repo: &LocalRepo, before: &CommitId, after: &CommitId, base: &CommitId) -> bool {
    let holds = |answer: Result<bool>| answer.unwrap_or(false);
    holds(merged(repo, before, after, base)) || holds(rebased(repo, before, after, base))
}

fn merged(repo: &LocalRepo, before: &CommitId, after: &CommitId, base: &CommitId) -> Result<bool> {
    let mut at = after.clone();
    for _ in 0..MOST {
        if at == *before {
            return Ok(true);
        }
        let parents = repo.commit(&at)?.parents;
        let [first, second] = parents.as_slice() else { return Ok(false) };
        let clean = Compared::Differs(Vec::new());
        if !repo.is_ancestor(second, base)?
            || repo.merge_and_compare(first, std::slice::from_ref(second), &at)? != clean
        {
            return Ok(false);
        }
        at = first.clone();
    }
    Ok(false)
}

fn rebased(repo: &LocalRepo, before: &CommitId, after: &CommitId, base: &CommitId) -> Result<bool> {
    let old = repo.commits_between(base, before, MOST)?;
    let new = repo.commits_between(base, after, MOST)?;
    if old.len() != new.len() || new.len() >= MOST {
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
        fn updates(&self, after: &CommitId) -> bool {
            only_updates(&self.repo.reader(), &self.work, after, &self.main)
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
    fn what_is_not_there_was_not_seen_to_be_harmless() {
        let on = branch();
        let unknown = CommitId::new("e".repeat(40)).unwrap();
        assert!(!only_updates(&on.repo.reader(), &unknown, &on.work, &on.main));
        assert!(!on.updates(&unknown));
    }
}
