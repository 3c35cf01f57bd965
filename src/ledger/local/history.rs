//! What a branch's own history tells of the records on it. The product only ever adds a record: a commit that took one away, or
//! wrote another in its place, was somebody's. It may have been somebody who put right what a third had done; that is to be told by
//! the records that were there, and not here.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::Path;

use git2::{Commit, Delta, ErrorCode, FileMode, ObjectType, Oid, Repository};

use super::{LocalStore, commit_id, refused};
use crate::ids::{ChangeNumber, CommitId};
use crate::ledger::store::StoreError;
use crate::ledger::{file_name, folder};

/// What the commits that led to a branch's head have done to its records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// In the order of their changes and numbers.
    pub undone: Vec<Undone>,
    /// The history does not go back to its beginning here: the clone is shallow.
    pub cut: bool,
}

/// A record's place, where something stood that the head does not have there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    pub change: ChangeNumber,
    pub seq: u64,
    /// What stood there before some commit ended it, oldest first.
    pub were: Vec<Former>,
    /// What stands there now.
    pub now: Option<String>,
}

/// A file that was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Former {
    pub text: String,
    /// The newest commit that ended it.
    pub by: CommitId,
}

impl Undone {
    /// The oldest file of this kind that stood there, if it does not stand there now. Whatever came later was not there first.
    pub fn lost(&self, is_such: impl Fn(&str) -> bool) -> Option<&Former> {
        let first = self.were.iter().find(|former| is_such(&former.text))?;
        (self.now.as_ref() != Some(&first.text)).then_some(first)
    }
}

impl LocalStore {
    pub async fn history(&self) -> Result<History, StoreError> {
        self.blocking(|store| {
            let repo = store.open()?;
            let Some(tip) = store.tip(&repo)? else { return Ok(History::default()) };
            let (touched, cut) = walk(&repo, tip).map_err(|e| refused(&e))?;
            let head = repo.find_commit(tip).and_then(|commit| commit.tree()).map_err(|e| refused(&e))?;
            let text = |blob: Oid| {
                let blob = repo.find_blob(blob).map_err(|e| refused(&e))?;
                Ok::<_, StoreError>(String::from_utf8_lossy(blob.content()).into_owned())
            };
            let mut undone = Vec::new();
            for ((change, seq), touches) in touched {
                let path = format!("{}/{}", folder(change), file_name(seq));
                let entry = head.get_path(Path::new(&path)).ok().filter(|entry| entry.kind() == Some(ObjectType::Blob));
                let now = entry.map(|entry| entry.id());
                if touches.iter().all(|touch| Some(touch.was) == now) {
                    continue;
                }
                // Oldest first; of several commits that ended the same file, the newest is the one to be reverted.
                let mut were: Vec<(Oid, Oid)> = Vec::new();
                for touch in touches.iter().rev() {
                    match were.iter_mut().find(|(was, _)| *was == touch.was) {
                        Some((_, by)) => *by = touch.by,
                        None => were.push((touch.was, touch.by)),
                    }
                }
                let former = |(was, by): (Oid, Oid)| Ok(Former { text: text(was)?, by: commit_id(by)? });
                let were = were.into_iter().map(former).collect::<Result<_, StoreError>>()?;
                undone.push(Undone { change, seq, were, now: now.map(text).transpose()? });
            }
            Ok(History { undone, cut })
        })
        .await
    }
}

/// A commit that a record did not come through as it was.
struct Touch {
    was: Oid,
    by: Oid,
}

type Touched = BTreeMap<(ChangeNumber, u64), Vec<Touch>>;

/// Every record that some commit has touched, with the commits that did so, newest first; and whether the history is cut. Each
/// commit is held against all of its parents: a merge that leaves out what one of them had takes it away.
fn walk(repo: &Repository, tip: Oid) -> Result<(Touched, bool), git2::Error> {
    let (mut touched, mut cut) = (Touched::new(), false);
    let (mut seen, mut next) = (HashSet::from([tip]), VecDeque::from([tip]));
    while let Some(id) = next.pop_front() {
        let commit = repo.find_commit(id)?;
        let after = changes(&commit)?;
        for parent in parents(&commit) {
            let parent = match repo.find_commit(parent) {
                Ok(parent) => parent,
                Err(error) if error.code() == ErrorCode::NotFound => {
                    cut = true;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(before) = changes(&parent)?.filter(|before| Some(*before) != after) {
                compare(repo, before, after, id, &mut touched)?;
            }
            if seen.insert(parent.id()) {
                next.push_back(parent.id());
            }
        }
    }
    Ok((touched, cut))
}

/// The parents that a commit was written with. Of one where a shallow clone ends, git itself says that it has none.
fn parents(commit: &Commit<'_>) -> Vec<Oid> {
    let header = String::from_utf8_lossy(commit.raw_header_bytes());
    header.lines().filter_map(|line| Oid::from_str(line.strip_prefix("parent ")?.trim()).ok()).collect()
}

/// The folder that all changes are in.
fn changes(commit: &Commit<'_>) -> Result<Option<Oid>, git2::Error> {
    let tree = commit.tree()?;
    let entry = tree.get_name("changes").filter(|entry| entry.kind() == Some(ObjectType::Tree));
    Ok(entry.map(|entry| entry.id()))
}

/// Notes the records of a folder of changes that are not in the other as they were.
fn compare(
    repo: &Repository,
    before: Oid,
    after: Option<Oid>,
    by: Oid,
    touched: &mut Touched,
) -> Result<(), git2::Error> {
    let before = repo.find_tree(before)?;
    let after = after.map(|after| repo.find_tree(after)).transpose()?;
    for delta in repo.diff_tree_to_tree(Some(&before), after.as_ref(), None)?.deltas() {
        // What was a submodule has no text.
        if delta.status() == Delta::Added || delta.old_file().mode() == FileMode::Commit {
            continue;
        }
        if let Some(record) = delta.old_file().path().and_then(record) {
            touched.entry(record).or_default().push(Touch { was: delta.old_file().id(), by });
        }
    }
    Ok(())
}

/// Whose record it is that has this path in the folder of all changes, and which one. Anything else there is none.
fn record(path: &Path) -> Option<(ChangeNumber, u64)> {
    let path = path.to_str()?;
    let mut parts = path.splitn(3, '/');
    let (_, change, file) = (parts.next()?, parts.next()?, parts.next()?);
    let (change, seq) = (ChangeNumber(change.parse().ok()?), file.strip_suffix(".json")?.parse().ok()?);
    (format!("changes/{path}") == format!("{}/{}", folder(change), file_name(seq))).then_some((change, seq))
}

#[cfg(test)]
mod tests {
    use git2::Signature;
    use git2::build::TreeUpdateBuilder;

    use super::*;

    const BRANCH: &str = "phasegate/ledger";

    /// A branch that is written commit by commit.
    struct Branch {
        dir: tempfile::TempDir,
        repo: Repository,
    }

    impl Branch {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let repo = Repository::init(dir.path()).unwrap();
            Self { dir, repo }
        }

        /// A commit on these parents that writes or removes files of the first one's.
        fn commit(&self, parents: &[Oid], files: &[(&str, Option<&str>)]) -> Oid {
            let parents: Vec<Commit<'_>> = parents.iter().map(|id| self.repo.find_commit(*id).unwrap()).collect();
            let empty = self.repo.treebuilder(None).unwrap().write().unwrap();
            let base = parents.first().map_or_else(|| self.repo.find_tree(empty).unwrap(), |one| one.tree().unwrap());
            let mut update = TreeUpdateBuilder::new();
            for (path, text) in files {
                match text {
                    Some(text) => update.upsert(*path, self.repo.blob(text.as_bytes()).unwrap(), FileMode::Blob),
                    None => update.remove(*path),
                };
            }
            let tree = self.repo.find_tree(update.create_updated(&self.repo, &base).unwrap()).unwrap();
            let who = Signature::now("somebody", "s@example.com").unwrap();
            let parents: Vec<&Commit<'_>> = parents.iter().collect();
            let id = self.repo.commit(None, &who, &who, "a commit", &tree, &parents).unwrap();
            self.repo.reference(&format!("refs/heads/{BRANCH}"), id, true, "moved").unwrap();
            id
        }

        async fn history(&self) -> History {
            LocalStore::new(self.dir.path(), BRANCH).history().await.unwrap()
        }

        /// The first of each place that is not there any more, the commit that ended it, and whether another stands there.
        async fn lost(&self) -> Vec<(u64, u64, Oid, bool)> {
            let lost = |one: &Undone| {
                let by = Oid::from_str(one.lost(|_| true)?.by.as_str()).unwrap();
                Some((one.change.0, one.seq, by, one.now.is_some()))
            };
            self.history().await.undone.iter().filter_map(lost).collect()
        }
    }

    #[tokio::test]
    async fn what_only_grows_has_lost_nothing() {
        let on = Branch::new();
        assert_eq!(on.history().await, History::default(), "there is no branch");
        let first = on.commit(&[], &[("changes/0/7/0001.json", Some("one")), ("aliases/9", Some("7"))]);
        let second =
            on.commit(&[first], &[("changes/0/7/0002.json", Some("two")), ("changes/0/7/checkpoint.json", Some("1"))]);
        // A checkpoint and whatever else is made of the records is written anew; only records stay.
        let third = on.commit(&[second], &[("changes/0/7/checkpoint.json", Some("2")), ("aliases/9", None)]);
        on.commit(&[third], &[("changes/0/7/context/latest.md", Some("x")), ("changes/2/2042/0001.json", Some("one"))]);
        assert_eq!(on.history().await, History::default());
    }

    #[tokio::test]
    async fn what_a_commit_has_taken_away_is_told_with_that_commit() {
        let on = Branch::new();
        let both = [("changes/0/7/0001.json", Some("one")), ("changes/0/7/0002.json", Some("two"))];
        let first = on.commit(&[], &both);
        let second = on.commit(&[first], &[("changes/2/2042/0001.json", Some("one"))]);
        let cut = on.commit(&[second], &[("changes/0/7/0002.json", None)]);
        assert_eq!(on.lost().await, [(7, 2, cut, false)]);
        let gone = on.commit(&[cut], &[("changes/2/2042/0001.json", None)]);
        let later = on.commit(&[gone], &[("changes/0/8/0001.json", Some("one"))]);
        assert_eq!(on.lost().await, [(7, 2, cut, false), (2042, 1, gone, false)]);
        // Another one in its place is not the one that was there.
        let other = on.commit(&[later], &[("changes/0/7/0002.json", Some("other"))]);
        assert_eq!(on.lost().await, [(7, 2, cut, true), (2042, 1, gone, false)]);
        // Put back as they were.
        let back = on.commit(&[other], &[both[1], ("changes/2/2042/0001.json", Some("one"))]);
        assert_eq!(on.lost().await, []);
        // The commit to be reverted is the last one that did it.
        let again = on.commit(&[back], &[("changes/0/7/0002.json", None)]);
        assert_eq!(on.lost().await, [(7, 2, again, false)]);
        // So is a whole folder, or all of it.
        let all = on.commit(&[again], &[("changes", None), ("aliases/9", Some("7"))]);
        assert_eq!(
            on.lost().await,
            [(7, 1, all, false), (7, 2, again, false), (8, 1, all, false), (2042, 1, all, false)]
        );
    }

    #[tokio::test]
    async fn one_that_was_written_over_is_told_too() {
        let on = Branch::new();
        let first = on.commit(&[], &[("changes/0/7/0001.json", Some("one"))]);
        let over = on.commit(&[first], &[("changes/0/7/0001.json", Some("other"))]);
        assert_eq!(on.lost().await, [(7, 1, over, true)]);
        on.commit(&[over], &[("changes/0/7/0001.json", Some("one"))]);
        assert_eq!(on.lost().await, []);
    }

    /// Somebody writes what is no record of ours, another one reverts that. It can be told what was there.
    #[tokio::test]
    async fn all_that_stood_in_a_place_is_told_oldest_first() {
        let on = Branch::new();
        let place = "changes/0/7/0001.json";
        let forged = on.commit(&[], &[(place, Some("forged"))]);
        let reverted = on.commit(&[forged], &[(place, None), ("aliases/9", Some("7"))]);
        let ours = on.commit(&[reverted], &[(place, Some("ours"))]);
        let cut = on.commit(&[ours], &[(place, None)]);
        let [one] = on.history().await.undone.try_into().unwrap();
        let were: Vec<&str> = one.were.iter().map(|former| former.text.as_str()).collect();
        assert_eq!((were, &one.now), (vec!["forged", "ours"], &None));
        assert_eq!(one.lost(|text| text == "ours").unwrap().by.as_str(), cut.to_string());
        assert_eq!(one.lost(|text| text == "forged").unwrap().by.as_str(), reverted.to_string());
        assert_eq!(one.lost(|_| false), None);
    }

    /// Nobody has to force-push for that: a merge has every record before it, and need not have kept it.
    #[tokio::test]
    async fn a_merge_that_leaves_records_out_takes_them_away() {
        let on = Branch::new();
        let first = on.commit(&[], &[("changes/0/7/0001.json", Some("one"))]);
        let second = on.commit(&[first], &[("changes/0/7/0002.json", Some("two"))]);
        let merge = on.commit(&[first, second], &[("README", Some("hello"))]);
        assert_eq!(on.lost().await, [(7, 2, merge, false)]);
        // One that keeps both sides takes nothing.
        let side = on.commit(&[second], &[("changes/0/8/0001.json", Some("one"))]);
        let other = on.commit(&[second], &[("changes/0/9/0001.json", Some("one"))]);
        on.commit(&[side, other], &[("changes/0/9/0001.json", Some("one"))]);
        assert_eq!(on.history().await, History::default());
    }

    #[tokio::test]
    async fn a_shallow_clone_says_that_it_does_not_know() {
        let on = Branch::new();
        let first = on.commit(&[], &[("changes/0/7/0001.json", Some("one"))]);
        let second = on.commit(&[first], &[("changes/0/7/0002.json", Some("two"))]);
        on.commit(&[second], &[("changes/0/7/0002.json", None)]);
        // What a clone with `--depth 2` has: a parent that is not there.
        let name = first.to_string();
        std::fs::remove_file(on.dir.path().join(".git/objects").join(&name[..2]).join(&name[2..])).unwrap();
        std::fs::write(on.dir.path().join(".git/shallow"), format!("{second}\n")).unwrap();
        let history = on.history().await;
        assert!(history.cut);
        assert_eq!(history.undone.len(), 1, "what can be seen is told all the same");
    }

    #[test]
    fn a_record_has_one_path() {
        assert_eq!(record(Path::new("2/2042/0007.json")), Some((ChangeNumber(2042), 7)));
        for none in
            ["0/2042/0007.json", "2/2042/7.json", "2/2042/checkpoint.json", "2/2042/context/0007.json", "2/2042"]
        {
            assert_eq!(record(Path::new(none)), None, "{none}");
        }
    }
}
