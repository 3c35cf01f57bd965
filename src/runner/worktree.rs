//! A copy of a commit's content in a folder of its own, in which nothing lies that the commit does not have.
//!
//! It is a clone that borrows the objects of the repository it comes from: the history is there, and nothing is copied but the
//! files. It has no hook, no configuration of the machine's, and no remote, so that what was fetched with a token can't be fetched
//! again with it. Submodules and large files (LFS) are not fetched.
//!
//! One that is [packed](Worktree::packed) borrows nothing: it has a part of the content, and no history, in objects of its own.

use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use tempfile::TempDir;

use crate::ids::CommitId;
use crate::policy::Sight;
use crate::repo::{self, Laid};

/// What the folder around a copy begins with.
pub(super) const PREFIX: &str = "phasegate-";
/// Making one takes at most so long.
const LONGEST: Duration = Duration::from_secs(600);

/// A copy, which goes when this goes.
#[derive(Debug)]
pub struct Worktree {
    dir: Option<TempDir>,
    folder: PathBuf,
    scratch: PathBuf,
    objects: PathBuf,
    /// It has objects of its own.
    packed: bool,
    /// The commit that was laid out.
    at: CommitId,
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
        let ground = Ground::new(git_folder, below)?;
        let at = repo::borrowed(&ground.folder, &ground.from, commit, over, LONGEST)
            .await
            .with_context(|| format!("the content of {} can't be laid out", commit.short()))?;
        ground.given(user, at, false)
    }

    /// Makes one of the part of a commit that is in sight, with objects of its own; none where nothing is. Answers how many files the
    /// commit has, too.
    pub async fn packed(
        git_folder: &Path,
        commit: &CommitId,
        sight: &Sight,
        below: &Path,
        user: Option<u32>,
    ) -> anyhow::Result<(Option<Self>, usize)> {
        let ground = Ground::new(git_folder, below)?;
        let (at, of) = repo::packed(&ground.folder, &ground.from, commit, sight, LONGEST)
            .await
            .with_context(|| format!("the content of {} can't be laid out", commit.short()))?;
        let copy = at.map(|at| ground.given(user, at, true)).transpose()?;
        Ok((copy, of))
    }

    /// The content.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it is not at the commit any more that was laid out: somebody in it has committed, or left it for a branch. Its
    /// repository is not opened for that.
    pub fn has_moved(&self) -> bool {
        let head = std::fs::read_to_string(self.folder.join(".git/HEAD")).unwrap_or_default();
        head.trim() != self.at.as_str()
    }

    /// An empty folder beside it.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// The objects of the repository that it was made of.
    pub fn objects(&self) -> &Path {
        &self.objects
    }

    /// Those objects, where it borrows them.
    pub fn borrows(&self) -> Option<&Path> {
        (!self.packed).then_some(&self.objects)
    }
}

/// Where a copy is being made. It goes, unless the copy was.
struct Ground {
    dir: TempDir,
    from: PathBuf,
    folder: PathBuf,
    scratch: PathBuf,
}

impl Ground {
    fn new(git_folder: &Path, below: &Path) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(below);
        let dir = dir.with_context(|| format!("no folder can be made in {}", below.display()))?;
        let place = dir.path().canonicalize().context("the new folder can't be found")?;
        // Others may pass through, and see nothing.
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o711))?;
        let (folder, scratch) = (place.join("work"), place.join("home"));
        std::fs::create_dir(&scratch)?;
        let from = git_folder.canonicalize().context("the repository can't be found")?;
        Ok(Self { dir, from, folder, scratch })
    }

    fn given(self, user: Option<u32>, at: CommitId, packed: bool) -> anyhow::Result<Worktree> {
        let Self { dir, from, folder, scratch } = self;
        if let Some(user) = user {
            for folder in [&folder, &scratch] {
                give(folder, user).with_context(|| format!("{} can't be given away", folder.display()))?;
            }
        }
        Ok(Worktree { dir: Some(dir), folder, scratch, objects: from.join("objects"), packed, at })
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        let Some(dir) = self.dir.take() else { return };
        remove(&dir.keep());
    }
}

/// Removes a folder in which commands have run. They may have locked their own folders, and nested them deeper than a path can tell,
/// or than a function can call itself. What can't be removed at all is left: it is in a place of its own.
pub fn remove(place: &Path) {
    let _ = level(place).and_then(|()| std::fs::remove_dir(place));
}

/// Empties a folder, with each folder in it brought up before it is emptied itself, so that none lies deep.
fn level(top: &Path) -> std::io::Result<()> {
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_dir());
    let open = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    let mark = uuid::Uuid::new_v4();
    let mut moved: u64 = 0;
    open(top)?;
    loop {
        let mut folders: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(top)? {
            let path = entry?.path();
            match is_folder(&path) {
                true => folders.push(path),
                false => std::fs::remove_file(path)?,
            }
        }
        if folders.is_empty() {
            return Ok(());
        }
        for folder in folders {
            open(&folder)?;
            for entry in std::fs::read_dir(&folder)? {
                let path = entry?.path();
                if !is_folder(&path) {
                    std::fs::remove_file(path)?;
                    continue;
                }
                // One that is locked can't be moved either.
                open(&path)?;
                std::fs::rename(path, top.join(format!("{mark}-{moved}")))?;
                moved += 1;
            }
            std::fs::remove_dir(folder)?;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::testing::Scratch;

    #[tokio::test]
    async fn what_a_compiler_kept_is_not_laid_out() {
        let repo = Scratch::new();
        let files: &[(&[u8], u32, &[u8])] = &[
            (b"lamp.py", 0o100_644, b"1"),
            (b"__pycache__/lamp.cpython-311.pyc", 0o100_644, b"2"),
            (b"tests/__pycache__/a/b.pyc", 0o100_644, b"3"),
            (b"tests/__pycache__.txt", 0o100_644, b"4"),
        ];
        let commit = repo.commit(&[], files);
        let below = tempfile::tempdir().unwrap();
        let git = repo.reader().common_folder();
        let copy = Worktree::of(&git, (&commit, &[]), below.path(), None).await.unwrap();
        let there = |path: &str| copy.folder().join(path).exists();
        assert!(there("lamp.py") && there("tests/__pycache__.txt"));
        assert!(!there("__pycache__") && !there("tests/__pycache__"));
        // To git nothing is missing.
        let mut status = std::process::Command::new("git");
        status.arg("-C").arg(copy.folder()).args(["status", "--short"]);
        assert_eq!(String::from_utf8(status.output().unwrap().stdout).unwrap(), "");
    }

    #[test]
    fn what_is_nested_deeper_than_a_path_can_tell_is_removed_too() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        std::fs::create_dir_all(place.join("wide/below")).unwrap();
        std::fs::write(place.join("wide/below/file"), "").unwrap();
        std::os::unix::fs::symlink(dir.path(), place.join("wide/link")).unwrap();
        // With names that no path has room for.
        let name = "n".repeat(100);
        for _ in 0..2_000 {
            let (inner, outer) = (dir.path().join("inner"), place.join(&name));
            if outer.exists() {
                std::fs::rename(&outer, &inner).unwrap();
            }
            std::fs::create_dir(&outer).unwrap();
            if inner.exists() {
                std::fs::rename(&inner, outer.join(&name)).unwrap();
            }
        }
        std::fs::set_permissions(place.join("wide"), std::fs::Permissions::from_mode(0o000)).unwrap();
        remove(&place);
        assert!(!place.exists() && dir.path().exists(), "and nothing behind a link");
    }
}
