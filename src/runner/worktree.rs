//! A copy of a commit's content in a folder of its own, in which nothing lies that the commit does not have.
//!
//! It is a clone that borrows the objects of the repository it comes from: the history is there, and nothing is copied but the
//! files. It has no hook, no configuration of the machine's, and no remote, so that what was fetched with a token can't be fetched
//! again with it. Submodules and large files (LFS) are not fetched.

use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use tempfile::TempDir;

use crate::ids::CommitId;
use crate::repo::{self, Laid};

/// Making one takes at most so long.
const LONGEST: Duration = Duration::from_secs(600);

/// A copy, which goes when this goes.
#[derive(Debug)]
pub struct Worktree {
    dir: Option<TempDir>,
    folder: PathBuf,
    scratch: PathBuf,
    objects: PathBuf,
}

impl Worktree {
    /// Makes one of a commit of the repository with this git folder, with other files laid over its own, below another folder, for a
    /// user to write.
    pub async fn of(
        git_folder: &Path,
        (commit, over): (&CommitId, &[Laid]),
        below: &Path,
        user: Option<u32>,
    ) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("phasegate-").tempdir_in(below);
        let dir = dir.with_context(|| format!("no folder can be made in {}", below.display()))?;
        let place = dir.path().canonicalize().context("the new folder can't be found")?;
        // Others may pass through, and see nothing.
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o711))?;
        let (folder, scratch) = (place.join("work"), place.join("home"));
        std::fs::create_dir(&scratch)?;
        let from = git_folder.canonicalize().context("the repository can't be found")?;
        repo::borrowed(&folder, &from, commit, over, LONGEST)
            .await
            .with_context(|| format!("the content of {} can't be laid out", commit.short()))?;
        if let Some(user) = user {
            for folder in [&folder, &scratch] {
                give(folder, user).with_context(|| format!("{} can't be given away", folder.display()))?;
            }
        }
        Ok(Self { dir: Some(dir), folder, scratch, objects: from.join("objects") })
    }

    /// The content.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// An empty folder beside it.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// The objects that it borrows.
    pub fn objects(&self) -> &Path {
        &self.objects
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        let Some(dir) = self.dir.take() else { return };
        remove(&dir.keep());
    }
}

/// Removes a folder in which commands have run.
pub fn remove(place: &Path) {
    if std::fs::remove_dir_all(place).is_err() {
        // A command may have locked its own folders.
        unlock(place);
        let _ = std::fs::remove_dir_all(place);
    }
}

/// Gives a folder and all that is in it to a user.
fn give(path: &Path, user: u32) -> std::io::Result<()> {
    lchown(path, Some(user), Some(user))?;
    if path.symlink_metadata()?.is_dir() {
        for entry in std::fs::read_dir(path)? {
            give(&entry?.path(), user)?;
        }
    }
    Ok(())
}

fn unlock(path: &Path) {
    if path.symlink_metadata().is_ok_and(|about| about.is_dir()) {
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            unlock(&entry.path());
        }
    }
}
