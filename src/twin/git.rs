//! The bare repositories on disk: everything the twin says about commits is read from real git objects.

use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use git2::build::TreeUpdateBuilder;
use git2::{Delta, DiffFindOptions, DiffOptions, FileMode, Oid, Patch, Repository, RepositoryInitOptions, Signature};
use git2::{ObjectType, Sort};

/// One file to write (`Some`) or to delete (`None`).
pub(crate) type Change = (String, Option<Vec<u8>>);

/// A file's part in a diff.
#[derive(Debug)]
pub(crate) struct FileDiff {
    pub(crate) path: String,
    pub(crate) previous: Option<String>,
    pub(crate) status: &'static str,
    pub(crate) additions: usize,
    pub(crate) deletions: usize,
    pub(crate) blob: Option<Oid>,
    pub(crate) binary: bool,
    pub(crate) patch: Option<String>,
}

/// What a merge of two commits comes to.
pub(crate) enum Merged {
    Tree(Oid),
    Conflict,
}

pub(crate) struct Git(pub(crate) Lent);

/// Repositories that were opened and that nobody works with. Opening one reads a lot of configuration.
pub(crate) type Shelf = Arc<Mutex<Vec<Repository>>>;

/// An open repository, which goes back to its shelf.
pub(crate) struct Lent {
    repo: Option<Repository>,
    shelf: Shelf,
}

impl Lent {
    fn new(repo: Repository, shelf: Shelf) -> Self {
        Self { repo: Some(repo), shelf }
    }
}

impl Deref for Lent {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        match &self.repo {
            Some(repo) => repo,
            None => unreachable!("it is taken out only when this is dropped"),
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).extend(self.repo.take());
    }
}

impl Git {
    pub(crate) fn init(path: &Path, default_branch: &str) -> Result<Self, git2::Error> {
        let mut options = RepositoryInitOptions::new();
        options.bare(true).external_template(false).initial_head(default_branch);
        let repo = Repository::init_opts(path, &options)?;
        let mut config = repo.config()?;
        // A checkout in CI fetches one commit by its id, reachable from a branch or not, as GitHub allows.
        config.set_bool("uploadpack.allowAnySHA1InWant", true)?;
        config.set_bool("uploadpack.allowFilter", true)?;
        config.set_bool("http.receivepack", true)?;
        // Objects must never vanish under a running story.
        config.set_i32("gc.auto", 0)?;
        Ok(Self(Lent::new(repo, Shelf::default())))
    }

    /// One from the shelf, or opened for it.
    pub(crate) fn open(path: &Path, shelf: Shelf) -> Result<Self, git2::Error> {
        let there = shelf.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let repo = there.map_or_else(|| Repository::open_bare(path), Ok)?;
        Ok(Self(Lent::new(repo, shelf)))
    }

    pub(crate) fn branch(&self, name: &str) -> Option<Oid> {
        self.reference(&format!("refs/heads/{name}"))
    }

    /// The names of all branches, in alphabetical order.
    pub(crate) fn branches(&self) -> Vec<String> {
        let Ok(found) = self.0.references_glob("refs/heads/*") else { return Vec::new() };
        let name =
            |full: &[u8]| String::from_utf8_lossy(full.strip_prefix(b"refs/heads/").unwrap_or(full)).into_owned();
        let mut names: Vec<String> = found.filter_map(Result::ok).map(|one| name(one.name_bytes())).collect();
        names.sort();
        names
    }

    pub(crate) fn reference(&self, full: &str) -> Option<Oid> {
        self.0.refname_to_id(full).ok()
    }

    /// A branch, a tag, a full ref name or a commit id (whole, or at least seven digits), as a commit.
    pub(crate) fn resolve(&self, rev: &str) -> Option<Oid> {
        if rev == "HEAD" {
            return self.0.head().and_then(|head| head.peel_to_commit()).map(|commit| commit.id()).ok();
        }
        let candidates =
            [format!("refs/heads/{rev}"), format!("refs/tags/{rev}"), format!("refs/{rev}"), rev.to_owned()];
        for name in candidates.iter().filter(|name| name.starts_with("refs/")) {
            if let Ok(commit) = self.0.find_reference(name).and_then(|found| found.peel_to_commit()) {
                return Some(commit.id());
            }
        }
        let hex = (7..=40).contains(&rev.len()) && rev.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex.then(|| self.0.find_commit_by_prefix(rev).ok().map(|commit| commit.id())).flatten()
    }

    pub(crate) fn set_ref(&self, full: &str, oid: Oid) -> Result<(), git2::Error> {
        self.0.reference(full, oid, true, "twin").map(drop)
    }

    pub(crate) fn delete_ref(&self, full: &str) -> Result<(), git2::Error> {
        self.0.find_reference(full)?.delete()
    }

    pub(crate) fn is_ancestor(&self, old: Oid, new: Oid) -> bool {
        old == new || self.0.graph_descendant_of(new, old).unwrap_or(false)
    }

    pub(crate) fn empty_tree(&self) -> Result<Oid, git2::Error> {
        self.0.treebuilder(None)?.write()
    }

    /// A tree like `base` (or the empty one) with these changes.
    pub(crate) fn tree_with(&self, base: Option<Oid>, changes: &[Change]) -> Result<Oid, git2::Error> {
        let base = match base {
            Some(tree) => tree,
            None => self.empty_tree()?,
        };
        let base = self.0.find_tree(base)?;
        let mut update = TreeUpdateBuilder::new();
        for (path, content) in changes {
            let old_mode = base.get_path(Path::new(path)).ok().map(|entry| entry.filemode());
            match content {
                Some(bytes) => {
                    let mode = match old_mode {
                        Some(0o100755) => FileMode::BlobExecutable,
                        _ => FileMode::Blob,
                    };
                    update.upsert(path.as_str(), self.0.blob(bytes)?, mode);
                }
                None => {
                    update.remove(path.as_str());
                }
            }
        }
        update.create_updated(&self.0, &base)
    }

    pub(crate) fn commit(
        &self,
        tree: Oid,
        parents: &[Oid],
        message: &str,
        author: (&str, &str),
        committer: (&str, &str),
    ) -> Result<Oid, git2::Error> {
        let tree = self.0.find_tree(tree)?;
        let parents = parents.iter().map(|id| self.0.find_commit(*id)).collect::<Result<Vec<_>, _>>()?;
        let parents: Vec<_> = parents.iter().collect();
        let author = Signature::now(author.0, author.1)?;
        let committer = Signature::now(committer.0, committer.1)?;
        self.0.commit(None, &author, &committer, message, &tree, &parents)
    }

    pub(crate) fn tree_of(&self, commit: Oid) -> Result<Oid, git2::Error> {
        Ok(self.0.find_commit(commit)?.tree_id())
    }

    pub(crate) fn merge_base(&self, one: Oid, other: Oid) -> Option<Oid> {
        self.0.merge_base(one, other).ok()
    }

    /// The commits of `head` that `base` does not have, oldest first.
    pub(crate) fn commits_between(&self, base: Option<Oid>, head: Oid) -> Result<Vec<Oid>, git2::Error> {
        let mut walk = self.0.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
        walk.push(head)?;
        if let Some(base) = base {
            walk.hide(base)?;
        }
        walk.collect()
    }

    /// The files that differ between two commits; without `old`, from nothing.
    pub(crate) fn diff(&self, old: Option<Oid>, new: Oid) -> Result<Vec<FileDiff>, git2::Error> {
        let old = old.map(|id| self.0.find_commit(id)?.tree()).transpose()?;
        let new = self.0.find_commit(new)?.tree()?;
        let mut diff = self.0.diff_tree_to_tree(old.as_ref(), Some(&new), Some(&mut DiffOptions::new()))?;
        diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
        let mut files = Vec::new();
        for (index, delta) in diff.deltas().enumerate() {
            let path_of = |file: git2::DiffFile<'_>| file.path_bytes().map(|p| String::from_utf8_lossy(p).into_owned());
            let (old_path, new_path) = (path_of(delta.old_file()), path_of(delta.new_file()));
            let status = match delta.status() {
                Delta::Added => "added",
                Delta::Deleted => "removed",
                Delta::Renamed => "renamed",
                Delta::Copied => "copied",
                _ => "modified",
            };
            let mut patch = Patch::from_diff(&diff, index)?;
            let (additions, deletions) = match &patch {
                Some(patch) => patch.line_stats().map(|(_, added, deleted)| (added, deleted))?,
                None => (0, 0),
            };
            let text = match &mut patch {
                Some(patch) => String::from_utf8_lossy(&patch.to_buf()?).into_owned(),
                None => String::new(),
            };
            let oid = if status == "removed" { delta.old_file().id() } else { delta.new_file().id() };
            files.push(FileDiff {
                path: if status == "removed" { old_path.clone() } else { new_path }.unwrap_or_default(),
                previous: (status == "renamed").then_some(old_path).flatten(),
                status,
                additions,
                deletions,
                blob: Some(oid),
                // Known once its patch was made.
                binary: patch.as_ref().is_none_or(|patch| patch.delta().flags().is_binary()),
                patch: text.find("\n@@").map(|at| text[at + 1..].trim_end_matches('\n').to_owned()),
            });
        }
        Ok(files)
    }

    pub(crate) fn merge(&self, base: Oid, head: Oid) -> Result<Merged, git2::Error> {
        let mut index = self.0.merge_commits(&self.0.find_commit(base)?, &self.0.find_commit(head)?, None)?;
        if index.has_conflicts() {
            return Ok(Merged::Conflict);
        }
        Ok(Merged::Tree(index.write_tree_to(&self.0)?))
    }

    /// Replays the commits of `base..head` on top of `base`. `None` on a conflict.
    pub(crate) fn rebase(&self, base: Oid, head: Oid, who: (&str, &str)) -> Result<Option<Oid>, git2::Error> {
        let mut tip = base;
        for id in self.commits_between(Some(base), head)? {
            let commit = self.0.find_commit(id)?;
            if commit.parent_count() != 1 {
                return Ok(None);
            }
            let mut index = self.0.cherrypick_commit(&commit, &self.0.find_commit(tip)?, 0, None)?;
            if index.has_conflicts() {
                return Ok(None);
            }
            let tree = self.0.find_tree(index.write_tree_to(&self.0)?)?;
            let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
            let committer = Signature::now(who.0, who.1)?;
            tip = self.0.commit(None, &commit.author(), &committer, &message, &tree, &[&self.0.find_commit(tip)?])?;
        }
        Ok(Some(tip))
    }

    /// Copies one commit and all it needs from another repository on this disk, and names it.
    pub(crate) fn bring(&self, from: &Path, source: &str, target: &str) -> Result<(), git2::Error> {
        let mut remote = self.0.remote_anonymous(&from.to_string_lossy())?;
        remote.fetch(&[format!("+{source}:{target}")], None, None)
    }

    /// A file's text, where it is text.
    pub(crate) fn text(&self, commit: Oid, path: &str) -> Option<String> {
        let (oid, kind, _) = self.entry(commit, path)?;
        let blob = self.0.find_blob(oid).ok().filter(|_| kind == ObjectType::Blob)?;
        String::from_utf8(blob.content().to_vec()).ok()
    }

    /// The object at a path below a commit: its id, kind and mode.
    pub(crate) fn entry(&self, commit: Oid, path: &str) -> Option<(Oid, ObjectType, i32)> {
        let tree = self.0.find_commit(commit).ok()?.tree().ok()?;
        if path.is_empty() {
            return Some((tree.id(), ObjectType::Tree, 0o040000));
        }
        let entry = tree.get_path(Path::new(path)).ok()?;
        Some((entry.id(), entry.kind()?, entry.filemode()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: (&str, &str) = ("ada", "ada@example.com");

    fn write(git: &Git, parent: Option<Oid>, changes: &[(&str, Option<&str>)]) -> Oid {
        let changes: Vec<Change> =
            changes.iter().map(|(path, text)| ((*path).to_owned(), text.map(|t| t.as_bytes().to_vec()))).collect();
        let base = parent.map(|id| git.tree_of(id).unwrap());
        let tree = git.tree_with(base, &changes).unwrap();
        git.commit(tree, &parent.into_iter().collect::<Vec<_>>(), "m", WHO, WHO).unwrap()
    }

    #[test]
    fn nested_files_come_and_go() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::init(&dir.path().join("r.git"), "main").unwrap();
        let one = write(&git, None, &[("a/b/c.txt", Some("1\n")), ("d.txt", Some("2\n"))]);
        let two = write(&git, Some(one), &[("a/b/c.txt", None), ("a/e.txt", Some("3\n"))]);
        let diff = git.diff(Some(one), two).unwrap();
        let told: Vec<_> = diff.iter().map(|file| (file.path.as_str(), file.status)).collect();
        assert_eq!(told, [("a/b/c.txt", "removed"), ("a/e.txt", "added")]);
        assert_eq!(diff[1].patch.as_deref(), Some("@@ -0,0 +1 @@\n+3"));
        assert!(git.entry(two, "a/b").is_none(), "an emptied folder is gone");
    }

    #[test]
    fn a_conflict_is_told_and_a_clean_merge_has_both_sides() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::init(&dir.path().join("r.git"), "main").unwrap();
        let base = write(&git, None, &[("f", Some("1\n"))]);
        let left = write(&git, Some(base), &[("f", Some("2\n"))]);
        let right = write(&git, Some(base), &[("f", Some("3\n"))]);
        let aside = write(&git, Some(base), &[("g", Some("4\n"))]);
        assert!(matches!(git.merge(left, right).unwrap(), Merged::Conflict));
        assert!(matches!(git.merge(left, aside).unwrap(), Merged::Tree(_)));
        assert!(git.rebase(left, right, WHO).unwrap().is_none());
        assert!(git.is_ancestor(left, git.rebase(left, aside, WHO).unwrap().unwrap()));
    }
}
