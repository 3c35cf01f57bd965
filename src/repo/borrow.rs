//! A repository that borrows the objects of another, with one commit laid out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use super::local::commit_id;
use super::program::git;
use super::{Error, Mode, RepoPath, Result};
use crate::ids::{BlobId, CommitId};

/// A file that stands in the place of the commit's own; none: it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Laid {
    pub path: RepoPath,
    pub file: Option<(Mode, BlobId)>,
}

/// Makes one in a folder that is not there yet. `from` is the git folder that has the objects: its history is there too, as far as
/// it goes, and none of its branches, remotes and settings. With other files laid over the commit's, they are a commit after it.
pub async fn borrowed(folder: &Path, from: &Path, commit: &CommitId, over: &[Laid], limit: Duration) -> Result<()> {
    let repo = git2::Repository::init(folder)?;
    let own = repo.path().to_owned();
    repo.config()?.set_bool("core.sparseCheckout", true)?;
    drop(repo);
    let objects = from.join("objects");
    let objects = objects.to_str().filter(|path| !path.contains('\n'));
    let objects =
        objects.ok_or_else(|| Error::Fetch("the path of the repository is not one line of text".to_owned()))?;
    let cant = Error::io("can't set up the copy");
    std::fs::write(own.join("objects/info/alternates"), format!("{objects}\n")).map_err(cant)?;
    // What is run is what was committed, byte for byte: a change must not say how its files are written down. These go before its own.
    std::fs::create_dir_all(own.join("info")).map_err(Error::io("can't set up the copy"))?;
    let plain = "* -text !eol -ident !filter !working-tree-encoding\n";
    std::fs::write(own.join("info/attributes"), plain).map_err(Error::io("can't set up the copy"))?;
    // What a compiler keeps of a source stands in for it, unread by anybody. It is made anew.
    std::fs::write(own.join("info/sparse-checkout"), "/*\n!__pycache__/\n")
        .map_err(Error::io("can't set up the copy"))?;
    let shallow = from.join("shallow");
    if shallow.is_file() {
        std::fs::copy(shallow, own.join("shallow")).map_err(Error::io("can't set up the copy"))?;
    }
    let tree = folder.to_str().ok_or_else(|| Error::Fetch("the path of the copy is not text".to_owned()))?;
    let commit = if over.is_empty() { commit.clone() } else { laid_over(&own, commit, over)? };
    let args = ["--work-tree", tree, "checkout", "--quiet", "--force", "--detach", commit.as_str()];
    git(&own, &args.map(str::to_owned), None, limit).await
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
        let time = git2::IndexTime::new(0, 0);
        index.add(&git2::IndexEntry {
            ctime: time,
            mtime: time,
            dev: 0,
            ino: 0,
            mode: mode.bits(),
            uid: 0,
            gid: 0,
            file_size: 0,
            id: git2::Oid::from_str(blob.as_str())?,
            flags: 0,
            flags_extended: 0,
            path: path.as_bytes().to_vec(),
        })?;
    }
    let tree = repo.find_tree(index.write_tree_to(&repo)?)?;
    let by = git2::Signature::new("phasegate", "phasegate@localhost", &git2::Time::new(0, 0))?;
    let id = repo.commit(None, &by, &by, "other files laid over", &tree, &[&parent])?;
    commit_id(id)
}
