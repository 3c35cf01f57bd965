//! A repository that borrows the objects of another, with one commit laid out; or one that has a part of a commit, and nothing else.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::local::commit_id;
use super::program::git;
use super::tree::{Walk, plant};
use super::{Error, Filter, Mode, RepoPath, Result};
use crate::ids::{BlobId, CommitId};
use crate::policy::Sight;

/// A file that stands in the place of the commit's own; none: it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Laid {
    pub path: RepoPath,
    pub file: Option<(Mode, BlobId)>,
}

/// Makes one in a folder that is not there yet. `from` is the git folder that has the objects: its history is there too, as far as
/// it goes, and none of its branches, remotes and settings. With other files laid over the commit's, they are a commit after it.
/// Answers which commit was laid out.
pub async fn borrowed(
    folder: &Path,
    from: &Path,
    commit: &CommitId,
    over: &[Laid],
    limit: Duration,
) -> Result<CommitId> {
    let own = begun(folder)?;
    let objects = from.join("objects");
    let objects = objects.to_str().filter(|path| !path.contains('\n'));
    let objects =
        objects.ok_or_else(|| Error::Fetch("the path of the repository is not one line of text".to_owned()))?;
    std::fs::write(own.join("objects/info/alternates"), format!("{objects}\n")).map_err(cant())?;
    let shallow = from.join("shallow");
    if shallow.is_file() {
        std::fs::copy(shallow, own.join("shallow")).map_err(cant())?;
    }
    let commit = if over.is_empty() { commit.clone() } else { laid_over(&own, commit, over)? };
    laid_out(folder, &own, &commit, limit).await?;
    Ok(commit)
}

/// Makes one with the files of a commit that are in sight, as a commit without parents. It has objects of its own, and no others: what
/// is not in sight is not in its reach by any name, nor is the history, in which the same may lie. None where nothing is in sight; and
/// how many files the commit has.
pub async fn packed(
    folder: &Path,
    from: &Path,
    commit: &CommitId,
    sight: &Sight,
    limit: Duration,
) -> Result<(Option<CommitId>, usize)> {
    let own = begun(folder)?;
    let (made, of) = filled(&own, from, commit, sight)?;
    let Some(made) = made else { return Ok((None, of)) };
    laid_out(folder, &own, &made, limit).await?;
    Ok((Some(made), of))
}

fn cant() -> impl FnOnce(std::io::Error) -> Error {
    Error::io("can't set up the copy")
}

/// An empty repository, set up so that a commit is laid out in it as it was committed. Answers its git folder.
fn begun(folder: &Path) -> Result<PathBuf> {
    let repo = git2::Repository::init(folder)?;
    let own = repo.path().to_owned();
    repo.config()?.set_bool("core.sparseCheckout", true)?;
    drop(repo);
    // What is run is what was committed, byte for byte: a change must not say how its files are written down. These go before its own.
    std::fs::create_dir_all(own.join("info")).map_err(cant())?;
    let plain = "* -text !eol -ident !filter !working-tree-encoding\n";
    std::fs::write(own.join("info/attributes"), plain).map_err(cant())?;
    // What a compiler keeps of a source stands in for it, unread by anybody. It is made anew.
    std::fs::write(own.join("info/sparse-checkout"), "/*\n!__pycache__/\n").map_err(cant())?;
    Ok(own)
}

async fn laid_out(folder: &Path, own: &Path, commit: &CommitId, limit: Duration) -> Result<()> {
    let tree = folder.to_str().ok_or_else(|| Error::Fetch("the path of the copy is not text".to_owned()))?;
    let args = ["--work-tree", tree, "checkout", "--quiet", "--force", "--detach", commit.as_str()];
    git(own, &args.map(str::to_owned), None, limit).await
}

/// Copies what is in sight, and makes a commit of it.
fn filled(own: &Path, from: &Path, commit: &CommitId, sight: &Sight) -> Result<(Option<CommitId>, usize)> {
    let source = git2::Repository::open(from)?;
    let root = source.find_commit(git2::Oid::from_str(commit.as_str())?)?.tree_id();
    let all = Walk::new(&source).list(root, Filter::All)?;
    let of = all.len();
    let into = git2::Repository::open(own)?;
    let (theirs, ours) = (source.odb()?, into.odb()?);
    let mut index = git2::Index::new()?;
    for entry in all.into_iter().filter(|entry| sight.takes_in(entry.path.as_bytes())) {
        let id = git2::Oid::from_str(entry.blob.as_str())?;
        if !entry.mode.is_submodule() && !ours.exists(id) {
            let object = theirs.read(id)?;
            ours.write(object.kind(), object.data())?;
        }
        index.add(&indexed(&entry.path, entry.mode, id))?;
    }
    if index.is_empty() {
        return Ok((None, of));
    }
    let tree = into.find_tree(plant(&ours, &index)?)?;
    let by = git2::Signature::new("phasegate", "phasegate@localhost", &git2::Time::new(0, 0))?;
    let made = into.commit(None, &by, &by, "what this role gets", &tree, &[])?;
    Ok((Some(commit_id(made)?), of))
}

fn indexed(path: &RepoPath, mode: Mode, id: git2::Oid) -> git2::IndexEntry {
    let time = git2::IndexTime::new(0, 0);
    git2::IndexEntry {
        ctime: time,
        mtime: time,
        dev: 0,
        ino: 0,
        mode: mode.bits(),
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// A commit after this one that differs in these files.
fn laid_over(own: &Path, commit: &CommitId, over: &[Laid]) -> Result<CommitId> {
    let repo = git2::Repository::open(own)?;
    let parent = repo.find_commit(git2::Oid::from_str(commit.as_str())?)?;
    let mut index = git2::Index::new()?;
    index.read_tree(&parent.tree()?)?;
    // What goes makes room for what comes: a file for a folder, a folder for a file.
    for gone in over.iter().filter(|laid| laid.file.is_none()) {
        index.remove_path(Path::new(OsStr::from_bytes(gone.path.as_bytes())))?;
    }
    for Laid { path, file } in over {
        let Some((mode, blob)) = file else { continue };
        index.add(&indexed(path, *mode, git2::Oid::from_str(blob.as_str())?))?;
    }
    let tree = repo.find_tree(index.write_tree_to(&repo)?)?;
    let by = git2::Signature::new("phasegate", "phasegate@localhost", &git2::Time::new(0, 0))?;
    let id = repo.commit(None, &by, &by, "other files laid over", &tree, &[&parent])?;
    commit_id(id)
}
