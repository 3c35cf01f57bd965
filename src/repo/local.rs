//! A repository on disk, read by libgit2.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use git2::{ErrorCode, Oid, Repository, RepositoryOpenFlags};

use super::tree::{Walk, absent, blob_id, missing, plant};
use super::{Absent, Blob, CommitInfo, Delta, Entry, Error, Filter, Mode, Reader, RepoPath, Result, Signed, TreeId};
use crate::ids::{BlobId, CommitId, Digest};

/// Larger files are not read; they are still listed and compared by their ids.
const BLOB_CAP: u64 = 8 * 1024 * 1024;

/// A change of more files has no patch id: reading every line of it would take too long.
const PATCH_FILES: usize = 3_000;

/// A repository on disk: a checkout, or a bare one.
pub struct LocalRepo {
    /// libgit2's handle may move between threads but not be shared by them.
    repo: Mutex<Repository>,
    cap: u64,
    /// What was looked for and is not here.
    absent: Mutex<BTreeSet<Absent>>,
}

impl LocalRepo {
    /// Opens the repository at exactly this path; it does not look in the directories above.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let none: [&std::ffi::OsStr; 0] = [];
        Self::read_from(Repository::open_ext(path, RepositoryOpenFlags::NO_SEARCH, none)?)
    }

    fn read_from(repo: Repository) -> Result<Self> {
        if is_grafted(&repo)? {
            return Err(Error::Grafted);
        }
        Ok(Self { repo: Mutex::new(repo), cap: BLOB_CAP, absent: Mutex::default() })
    }

    /// Opens the repository that this folder is in.
    pub fn around(path: impl AsRef<Path>) -> Result<Self> {
        Self::read_from(Repository::discover(path)?)
    }

    /// The commit that a revision names, as git reads it: `HEAD~2`, a branch, the beginning of an id.
    pub fn revision(&self, text: &str) -> Result<Option<CommitId>> {
        let repo = self.lock();
        let found = repo.revparse_single(text).and_then(|object| object.peel_to_commit());
        match found {
            Ok(commit) => commit_id(commit.id()).map(Some),
            Err(e) if matches!(e.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec | ErrorCode::Peel) => Ok(None),
            Err(e) if matches!(e.code(), ErrorCode::Ambiguous | ErrorCode::UnbornBranch) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Those of these files and folders that are not in the working tree as they are in its commit.
    pub fn uncommitted(&self, paths: &[&str]) -> Result<Vec<String>> {
        let repo = self.lock();
        if repo.is_bare() {
            return Ok(Vec::new());
        }
        let mut options = git2::StatusOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true).disable_pathspec_match(true);
        for path in paths {
            options.pathspec(path);
        }
        let statuses = repo.statuses(Some(&mut options))?;
        Ok(statuses.iter().map(|entry| String::from_utf8_lossy(entry.path_bytes()).into_owned()).collect())
    }

    /// Whether a tracked file is not as in the commit that is checked out.
    pub fn is_modified(&self) -> Result<bool> {
        let repo = self.lock();
        if repo.is_bare() {
            return Ok(false);
        }
        let mut options = git2::StatusOptions::new();
        options.include_untracked(false).include_ignored(false).exclude_submodules(true);
        Ok(!repo.statuses(Some(&mut options))?.is_empty())
    }

    /// Where `origin` is.
    pub fn origin(&self) -> Result<Option<String>> {
        let repo = self.lock();
        match repo.find_remote("origin") {
            Ok(origin) => Ok(String::from_utf8(origin.url_bytes().to_vec()).ok()),
            Err(e) if matches!(e.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// git's own folder, where a tool may keep what is not part of the working tree.
    pub fn git_folder(&self) -> std::path::PathBuf {
        self.lock().path().to_owned()
    }

    /// The folder of its working tree; none of a bare one.
    pub fn root(&self) -> Option<std::path::PathBuf> {
        self.lock().workdir().map(Path::to_owned)
    }

    /// git's folder that all working trees of the repository share: it has the objects.
    pub fn common_folder(&self) -> std::path::PathBuf {
        self.lock().commondir().to_owned()
    }

    /// The folders of all its working trees, the first one before those that were added to it.
    pub fn working_trees(&self) -> Result<Vec<std::path::PathBuf>> {
        let repo = self.lock();
        let mut trees = Vec::new();
        if let Ok(first) = Repository::open(repo.commondir()) {
            trees.extend(first.workdir().map(Path::to_owned));
        }
        for name in repo.worktrees()?.iter().flatten().flatten() {
            trees.push(repo.find_worktree(name)?.path().to_owned());
        }
        Ok(trees)
    }

    /// Whether the history is cut somewhere, as in a shallow clone.
    pub fn is_shallow(&self) -> Result<bool> {
        Ok(!cuts(&self.lock())?.is_empty())
    }

    /// Reads files up to this size instead of the default 8 MiB.
    pub fn with_blob_cap(mut self, bytes: u64) -> Self {
        self.cap = bytes;
        self
    }

    /// The commit that a ref (`refs/heads/main`) points at.
    pub fn resolve(&self, name: &str) -> Result<Option<CommitId>> {
        let repo = self.lock();
        match repo.find_reference(name) {
            Ok(found) => commit_id(found.peel_to_commit()?.id()).map(Some),
            Err(e) if matches!(e.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// A file's bytes by its own id, up to so many; or how many it has.
    pub fn bytes_of(&self, id: &BlobId, most: u64) -> Result<std::result::Result<Vec<u8>, u64>> {
        let repo = self.lock();
        let at = Oid::from_str(id.as_str())?;
        let what = || Ok(Absent::Blob(id.clone()));
        // The size is asked for first: a packed blob of gigabytes may be a few bytes on disk.
        let (size, _) = repo.odb()?.read_header(at).map_err(|e| absent(e, what))?;
        if size as u64 > most {
            return Ok(Err(size as u64));
        }
        Ok(Ok(repo.find_blob(at).map_err(|e| absent(e, what))?.content().to_vec()))
    }

    /// The patch id: the same for the same lines taken out and put in, wherever they stand in their files, however many commits
    /// they come in, and whatever white space is in or between them. A binary file counts by its content. None for a change
    /// without content, or with more files than anyone reads.
    pub fn patch_id(&self, from: &CommitId, to: &CommitId) -> Result<Option<Digest>> {
        let repo = self.lock();
        self.heed(self.patch_of(&repo, from, to).map_err(|error| {
            lacking(error, &repo, || {
                let deltas = Walk::new(&repo).diff(tree_of(&repo, from)?, tree_of(&repo, to)?)?;
                Ok(deltas.into_iter().flat_map(|delta| [delta.old, delta.new]).flatten().collect())
            })
        }))
    }

    fn patch_of(&self, repo: &Repository, from: &CommitId, to: &CommitId) -> Result<Option<Digest>> {
        let (from, to) = (find(repo, from)?.tree()?, find(repo, to)?.tree()?);
        let mut options = git2::DiffOptions::new();
        options.max_size(i64::try_from(self.cap).unwrap_or(i64::MAX));
        let diff = repo.diff_tree_to_tree(Some(&from), Some(&to), Some(&mut options))?;
        if diff.deltas().len() == 0 || diff.deltas().len() > PATCH_FILES {
            return Ok(None);
        }
        // git's own patch id knows of a binary file no more than that it differs, and an empty line more is another patch to it.
        let parts = RefCell::new(Vec::new());
        let mut file = |delta: git2::DiffDelta<'_>, _: f32| {
            let (old, new) = (delta.old_file(), delta.new_file());
            let said = format!("{:?} {:?} {:?}", delta.status(), old.mode(), new.mode());
            let paths = [old, new].map(|file| file.path_bytes().unwrap_or_default().to_vec());
            parts.borrow_mut().extend([said.into_bytes()].into_iter().chain(paths));
            true
        };
        let mut binary = |delta: git2::DiffDelta<'_>, _: git2::DiffBinary<'_>| {
            parts.borrow_mut().push(delta.new_file().id().to_string().into_bytes());
            true
        };
        let mut line = |_: git2::DiffDelta<'_>, _: Option<git2::DiffHunk<'_>>, line: git2::DiffLine<'_>| {
            let text: Vec<u8> = line.content().iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
            if matches!(line.origin(), '+' | '-') && !text.is_empty() {
                parts.borrow_mut().push([&[line.origin() as u8], text.as_slice()].concat());
            }
            true
        };
        diff.foreach(&mut file, Some(&mut binary), None, Some(&mut line))?;
        Ok(Some(Digest::of_parts(parts.into_inner())))
    }

    /// The commits after `from` up to `to`, newest first, `most` of them.
    pub fn commits_between(&self, from: &CommitId, to: &CommitId, most: usize) -> Result<Vec<CommitId>> {
        let repo = self.lock();
        let mut walk = repo.revwalk()?;
        walk.push(oid(to)?)?;
        walk.hide(oid(from)?)?;
        walk.take(most).map(|one| commit_id(one?)).collect()
    }

    /// Merges these heads into a base, one after the other and only in memory, and holds what comes out against a commit.
    pub fn merge_and_compare(&self, base: &CommitId, heads: &[CommitId], with: &CommitId) -> Result<Compared> {
        Ok(match self.merged(base, heads, with)? {
            Ok(deltas) => Compared::Differs(deltas.into_iter().map(|delta| delta.path).collect()),
            Err(head) => Compared::Conflict(head),
        })
    }

    /// What merging a head brings to a base. `None`: it can't be merged.
    pub fn brings(&self, base: &CommitId, head: &CommitId) -> Result<Option<Vec<Delta>>> {
        Ok(self.merged(base, std::slice::from_ref(head), base)?.ok())
    }

    /// From a commit to what comes of merging these heads into a base; or the first that can't be merged.
    fn merged(&self, base: &CommitId, heads: &[CommitId], with: &CommitId) -> Result<Merged> {
        let repo = self.lock();
        self.heed(self.merge(&repo, base, heads, with))
    }

    fn merge(&self, repo: &Repository, base: &CommitId, heads: &[CommitId], with: &CommitId) -> Result<Merged> {
        // Nothing of it goes to disk.
        let odb = repo.odb()?;
        odb.add_new_mempack_backend(IN_MEMORY)?;
        let by = git2::Signature::new("phasegate", "phasegate@localhost", &git2::Time::new(0, 0))?;
        let mut merged = find(repo, base)?;
        for head in heads {
            let next = find(repo, head)?;
            let index = repo.merge_commits(&merged, &next, None);
            let index = index.map_err(|e| lacking(e.into(), repo, || read_by_merging(repo, &merged, &next)))?;
            if index.has_conflicts() {
                return Ok(Err(head.clone()));
            }
            let tree = repo.find_tree(plant(&odb, &index)?)?;
            let id = repo.commit(None, &by, &by, "merged", &tree, &[&merged, &next])?;
            merged = repo.find_commit(id)?;
        }
        Ok(Ok(Walk::new(repo).diff(tree_of(repo, with)?, merged.tree_id())?))
    }

    /// A commit that is as one head merged into another would be. It is in memory only, and gone with this reader. Where they
    /// conflict it has what the head has that is merged.
    pub fn as_if_merged(&self, into: &CommitId, head: &CommitId) -> Result<CommitId> {
        let repo = self.lock();
        self.heed(Self::if_merged(&repo, into, head))
    }

    fn if_merged(repo: &Repository, into: &CommitId, head: &CommitId) -> Result<CommitId> {
        let odb = repo.odb()?;
        odb.add_new_mempack_backend(IN_MEMORY)?;
        let by = git2::Signature::new("phasegate", "phasegate@localhost", &git2::Time::new(0, 0))?;
        let (one, two) = (find(repo, into)?, find(repo, head)?);
        let index = repo.merge_commits(&one, &two, None);
        let index = index.map_err(|e| lacking(e.into(), repo, || read_by_merging(repo, &one, &two)))?;
        let mut settled = Settled::default();
        let mut clean = settled.take(&index)?;
        // Of those that conflict, the third of the three sides.
        for mut entry in index.iter().filter(|entry| entry.flags & 0x3000 == 0x3000) {
            entry.flags &= !0x3000;
            clean.add(&entry)?;
        }
        let tree = repo.find_tree(plant(&odb, &clean)?)?;
        commit_id(repo.commit(None, &by, &by, "as if merged", &tree, &[&one, &two])?)
    }

    /// What a merge has otherwise than git makes it of those that it merged: `old` is what it has, `new` what git makes. Paths on
    /// which they conflict are for people to settle, and none of these. Nothing for what is no merge.
    pub fn merged_otherwise(&self, merge: &CommitId) -> Result<Vec<Delta>> {
        let parents = Reader::commit(self, merge)?.parents;
        let Some((first, sides)) = parents.split_first() else { return Ok(Vec::new()) };
        for side in sides {
            match self.merge_base(first, side) {
                Ok(_) | Err(Error::Crosswise) => {}
                Err(error) => return Err(error),
            }
        }
        let repo = self.lock();
        self.heed(self.otherwise(&repo, merge, (first, sides)))
    }

    fn otherwise(
        &self,
        repo: &Repository,
        merge: &CommitId,
        (first, sides): (&CommitId, &[CommitId]),
    ) -> Result<Vec<Delta>> {
        if sides.is_empty() {
            return Ok(Vec::new());
        }
        let odb = repo.odb()?;
        odb.add_new_mempack_backend(IN_MEMORY)?;
        let by = git2::Signature::new("phasegate", "phasegate@localhost", &git2::Time::new(0, 0))?;
        let mut merged = find(repo, first)?;
        let mut settled = Settled::default();
        for side in sides {
            let next = find(repo, side)?;
            let index = repo.merge_commits(&merged, &next, None);
            let index = index.map_err(|e| lacking(e.into(), repo, || read_by_merging(repo, &merged, &next)))?;
            let clean = settled.take(&index)?;
            let tree = repo.find_tree(plant(&odb, &clean)?)?;
            let id = repo.commit(None, &by, &by, "merged", &tree, &[&merged, &next])?;
            merged = repo.find_commit(id)?;
        }
        let made = tree_of(repo, merge)?;
        let mut deltas = Walk::new(repo).diff(made, merged.tree_id())?;
        deltas.retain(|delta| !settled.is(delta) && !has_driver(repo, &delta.path));
        let bases = sides.first().map_or(Ok(Vec::new()), |side| merge_bases(repo, oid(first)?, oid(side)?))?;
        without_moved_folders(repo, made, &bases, &mut deltas)?;
        Ok(deltas)
    }

    /// What was looked for so far and is not here, whatever became of the errors that said so: who answers "not known" to
    /// each of them does not know what a fetch would tell.
    pub(super) fn absent(&self) -> Vec<Absent> {
        self.absent.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The commits that are missing for the merge base of two to be certain.
    pub(super) fn lacks_history(&self, a: &CommitId, b: &CommitId) -> Result<Vec<CommitId>> {
        let repo = self.lock();
        let (one, two) = (find(&repo, a)?.id(), find(&repo, b)?.id());
        let (cuts, odb) = (cuts(&repo)?, repo.odb()?);
        let mut lacking = Vec::new();
        for commit in behind(&repo, &[one, two], &merge_bases(&repo, one, two)?)? {
            let commit = commit?;
            if cuts.contains(&commit) {
                lacking.extend(parents_of(odb.read(commit)?.data())?);
            }
        }
        lacking.retain(|id| oid(id).is_ok_and(|id| !odb.exists(id)));
        Ok(lacking)
    }

    fn heed<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(Error::Absent(absent)) = &result {
            self.absent.lock().unwrap_or_else(PoisonError::into_inner).extend(absent.iter().cloned());
        }
        result
    }

    fn blob_in(&self, repo: &Repository, at: &CommitId, path: &RepoPath) -> Result<Option<Blob>> {
        let root = tree_of(repo, at)?;
        let Some((mode, id)) = Walk::new(repo).find(root, path)? else { return Ok(None) };
        if mode.is_tree() {
            return Ok(None);
        }
        if mode.is_submodule() {
            return Err(Error::NotAFile(path.clone()));
        }
        // The size is asked for first: a packed blob of gigabytes may be a few bytes on disk.
        let what = || Ok(Absent::Blob(blob_id(id)?));
        let (size, _) = repo.odb()?.read_header(id).map_err(|e| absent(e, what))?;
        if size as u64 > self.cap {
            return Err(Error::TooLarge { path: path.clone(), size: size as u64, cap: self.cap });
        }
        let blob = repo.find_blob(id).map_err(|e| absent(e, what))?;
        Ok(Some(Blob { id: blob_id(id)?, mode, bytes: blob.content().to_vec() }))
    }

    fn lock(&self) -> MutexGuard<'_, Repository> {
        self.repo.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Above every other store of objects, so that it is the one that is written to.
const IN_MEMORY: i32 = 1000;

type Merged = std::result::Result<Vec<Delta>, CommitId>;

/// What people had to settle, because git could not: the paths, and what stood there on either side.
#[derive(Default)]
struct Settled {
    paths: BTreeSet<Vec<u8>>,
    blobs: BTreeSet<String>,
}

impl Settled {
    /// Keeps what conflicts, and gives the rest.
    fn take(&mut self, index: &git2::Index) -> Result<git2::Index> {
        let mut clean = git2::Index::new()?;
        for entry in index.iter() {
            // Two of its bits say of which side it is; none: of neither.
            if entry.flags & 0x3000 == 0 {
                clean.add(&entry)?;
            } else {
                self.blobs.insert(entry.id.to_string());
                self.paths.insert(entry.path);
            }
        }
        Ok(clean)
    }

    /// Whoever settles a conflict may put what stood there under another name.
    fn is(&self, delta: &Delta) -> bool {
        let moved = |(_, blob): &(Mode, BlobId)| delta.new.is_none() && self.blobs.contains(blob.as_str());
        self.paths.contains(delta.path.as_bytes()) || delta.old.as_ref().is_some_and(moved)
    }
}

/// Whether somebody's own program merges this file (`merge=NAME` in `.gitattributes`): what that makes nobody else can tell.
fn has_driver(repo: &Repository, path: &RepoPath) -> bool {
    let Some(path) = path.as_str() else { return false };
    let name = repo.get_attr(Path::new(path), "merge", git2::AttrCheckFlags::FILE_THEN_INDEX).ok().flatten();
    match git2::AttrValue::from_string(name) {
        git2::AttrValue::String(name) => !matches!(name, "text" | "binary" | "union"),
        _ => false,
    }
}

/// git takes a file that is new in a folder along where the other side has moved all of that folder. libgit2 leaves it behind.
fn without_moved_folders(repo: &Repository, made: Oid, bases: &[Oid], deltas: &mut Vec<Delta>) -> Result<()> {
    let Some(base) = bases.first() else { return Ok(()) };
    let base = repo.find_commit(*base)?.tree_id();
    let name = |path: &RepoPath| path.as_bytes().rsplit(|byte| *byte == b'/').next().map(<[u8]>::to_vec);
    let mut moved: Vec<RepoPath> = Vec::new();
    for left in deltas.iter().filter(|delta| delta.old.is_none()) {
        let bytes = left.path.as_bytes();
        let Some(slash) = bytes.iter().rposition(|byte| *byte == b'/') else { continue };
        let folder = RepoPath::new(bytes.get(..slash).unwrap_or_default());
        let gone = Walk::new(repo).find(made, &folder)?.is_none() && Walk::new(repo).find(base, &folder)?.is_some();
        let same = |there: &&Delta| {
            there.new.is_none() && there.old == left.new && gone && name(&there.path) == name(&left.path)
        };
        if let Some(there) = deltas.iter().find(same) {
            moved.extend([left.path.clone(), there.path.clone()]);
        }
    }
    deltas.retain(|delta| !moved.contains(&delta.path));
    Ok(())
}

/// What merging came to, beside a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compared {
    /// The paths that are not the same; none: it is that commit's content.
    Differs(Vec<RepoPath>),
    /// This head can't be merged.
    Conflict(CommitId),
}

/// An error of libgit2, which does not say which of the files that it went through is not here, with those that are not;
/// or as it is where they all are.
fn lacking(error: Error, repo: &Repository, read: impl FnOnce() -> Result<Vec<(Mode, BlobId)>>) -> Error {
    match &error {
        Error::Git(git) if git.code() == ErrorCode::NotFound => {}
        _ => return error,
    }
    let lacking = || -> Result<Vec<Absent>> {
        let odb = repo.odb()?;
        let here = |id: &BlobId| Oid::from_str(id.as_str()).is_ok_and(|id| odb.exists(id));
        let files = read()?.into_iter().filter(|(mode, id)| !mode.is_submodule() && !here(id));
        Ok(files.map(|(_, id)| Absent::Blob(id)).collect::<BTreeSet<_>>().into_iter().collect())
    };
    match lacking() {
        Ok(none) if none.is_empty() => error,
        Ok(lacking) => Error::Absent(lacking),
        Err(other) => other,
    }
}

/// The files that merging two commits reads: those that both sides have changed, and on each side those that came and
/// went, of which one may be another under a new name. Where they have several bases, those are merged first: then any
/// that differs.
fn read_by_merging(
    repo: &Repository,
    ours: &git2::Commit<'_>,
    theirs: &git2::Commit<'_>,
) -> Result<Vec<(Mode, BlobId)>> {
    let tree = |base: &Oid| Ok(Some(repo.find_commit(*base)?.tree_id()));
    let mut bases = merge_bases(repo, ours.id(), theirs.id())?.iter().map(tree).collect::<Result<Vec<_>>>()?;
    let several = bases.len() > 1;
    let base = bases.pop().flatten();
    let since = |tree: Option<Oid>| Walk::new(repo).changed(base, tree);
    let (ours, theirs) = (since(Some(ours.tree_id()))?, since(Some(theirs.tree_id()))?);
    let touched = |deltas: &[Delta]| deltas.iter().map(|delta| delta.path.clone()).collect::<BTreeSet<_>>();
    let both: BTreeSet<RepoPath> = touched(&ours).intersection(&touched(&theirs)).cloned().collect();
    let moved = |delta: &Delta| delta.old.is_none() || delta.new.is_none();
    let mut read: Vec<Delta> = ours.into_iter().chain(theirs).collect();
    read.retain(|delta| several || both.contains(&delta.path) || moved(delta));
    for other in bases {
        read.extend(since(other)?);
    }
    Ok(read.into_iter().flat_map(|delta| [delta.old, delta.new]).flatten().collect())
}

fn oid(id: &CommitId) -> Result<Oid> {
    Oid::from_str(id.as_str()).map_err(|_| Error::Missing(format!("the commit {id} (SHA-256 is not supported)")))
}

pub(super) fn commit_id(oid: Oid) -> Result<CommitId> {
    CommitId::new(oid.to_string()).map_err(|e| Error::Malformed(e.to_string()))
}

fn tree_of(repo: &Repository, id: &CommitId) -> Result<Oid> {
    Ok(find(repo, id)?.tree_id())
}

fn find<'r>(repo: &'r Repository, id: &CommitId) -> Result<git2::Commit<'r>> {
    repo.find_commit(oid(id)?).map_err(|e| missing(e, || format!("the commit {id}")))
}

/// The parents that a commit names.
pub(super) fn parents_of(commit: &[u8]) -> Result<Vec<CommitId>> {
    let headers = commit.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let parents = headers.filter_map(|line| line.strip_prefix(b"parent "));
    let id = |id: &[u8]| CommitId::new(String::from_utf8_lossy(id)).map_err(|e| Error::Malformed(e.to_string()));
    parents.map(id).collect()
}

/// Whether the folder tells another history than its commits have. It does so to whoever uses it, and no commit shows it.
fn is_grafted(repo: &Repository) -> Result<bool> {
    match std::fs::read_to_string(repo.commondir().join("info/grafts")) {
        Ok(text) => Ok(text.lines().any(|line| !line.trim().is_empty())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io("can't read whether the history is another one")(e)),
    }
}

/// The commits behind which the history is cut.
pub(super) fn cuts(repo: &Repository) -> Result<HashSet<Oid>> {
    match std::fs::read_to_string(repo.commondir().join("shallow")) {
        Ok(text) => Ok(text.lines().filter_map(|line| Oid::from_str(line.trim()).ok()).collect()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(HashSet::new()),
        Err(e) => Err(Error::io("can't read where the history is cut")(e)),
    }
}

/// Whether the history from these commits is cut anywhere that is not behind `hidden`.
fn is_cut(repo: &Repository, from: &[Oid], hidden: &[Oid], cuts: &HashSet<Oid>) -> Result<bool> {
    if cuts.is_empty() {
        return Ok(false);
    }
    for id in behind(repo, from, hidden)? {
        if cuts.contains(&id?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// These commits and all before them, without those that are behind `hidden`.
fn behind<'r>(repo: &'r Repository, from: &[Oid], hidden: &[Oid]) -> Result<git2::Revwalk<'r>> {
    let mut walk = repo.revwalk()?;
    for id in from {
        walk.push(*id)?;
    }
    for id in hidden {
        walk.hide(*id)?;
    }
    Ok(walk)
}

fn merge_bases(repo: &Repository, one: Oid, two: Oid) -> Result<Vec<Oid>> {
    match repo.merge_bases(one, two) {
        Ok(bases) => Ok(bases.iter().copied().collect()),
        Err(e) if e.code() == ErrorCode::NotFound => Ok(Vec::new()),
        Err(e) => Err(e.into()),
    }
}

impl Reader for LocalRepo {
    fn blob(&self, at: &CommitId, path: &RepoPath) -> Result<Option<Blob>> {
        let repo = self.lock();
        self.heed(self.blob_in(&repo, at, path))
    }

    fn mode(&self, at: &CommitId, path: &RepoPath) -> Result<Option<Mode>> {
        let repo = self.lock();
        let root = tree_of(&repo, at)?;
        Ok(self.heed(Walk::new(&repo).find(root, path))?.map(|(mode, _)| mode))
    }

    fn tree(&self, at: &CommitId, filter: Filter<'_>) -> Result<Vec<Entry>> {
        let repo = self.lock();
        let root = tree_of(&repo, at)?;
        self.heed(Walk::new(&repo).list(root, filter))
    }

    fn merge_base(&self, a: &CommitId, b: &CommitId) -> Result<Option<CommitId>> {
        let repo = self.lock();
        let (one, two) = (find(&repo, a)?.id(), find(&repo, b)?.id());
        let bases = merge_bases(&repo, one, two)?;
        // In a cut history a better common ancestor may hide behind a cut, unless every path from both sides leads
        // into those that were found.
        if is_cut(&repo, &[one, two], &bases, &cuts(&repo)?)? {
            return Err(Error::Shallow);
        }
        match bases.as_slice() {
            [] => Ok(None),
            [base] => commit_id(*base).map(Some),
            _ => Err(Error::Crosswise),
        }
    }

    fn diff(&self, from: &CommitId, to: &CommitId) -> Result<Vec<Delta>> {
        let repo = self.lock();
        let (from, to) = (tree_of(&repo, from)?, tree_of(&repo, to)?);
        self.heed(Walk::new(&repo).diff(from, to))
    }

    fn commit(&self, id: &CommitId) -> Result<CommitInfo> {
        let repo = self.lock();
        let commit = find(&repo, id)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let signed = |s: git2::Signature<'_>| Signed {
            name: text(s.name_bytes()),
            email: text(s.email_bytes()),
            at: s.when().seconds(),
        };
        // From the object itself: libgit2 hides the parents of a commit behind which the history is cut.
        let odb = repo.odb()?;
        let raw = odb.read(commit.id())?;
        Ok(CommitInfo {
            message: text(commit.message_raw_bytes()),
            author: signed(commit.author()),
            committer: signed(commit.committer()),
            parents: parents_of(raw.data())?,
            tree: TreeId(commit.tree_id().to_string()),
        })
    }

    fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Result<bool> {
        let repo = self.lock();
        let (old, new) = (find(&repo, ancestor)?.id(), find(&repo, descendant)?.id());
        if old == new || repo.graph_descendant_of(new, old)? {
            return Ok(true);
        }
        if is_cut(&repo, &[new], &[], &cuts(&repo)?)? { Err(Error::Shallow) } else { Ok(false) }
    }
}
