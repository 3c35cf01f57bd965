//! Whether the commands left the files alone that they were to judge.
//!
//! A command that writes its own tests or the code anew has judged something else than what is there. So these files are noted
//! before it, by the digests of their bytes as they lie in the folder, and looked at again when everything has ended.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use crate::ids::BlobId;
use crate::repo::RepoPath;

/// Of a larger file its length is noted.
const LARGEST: u64 = 64 * 1024 * 1024;
/// So many are told.
const MOST_TOLD: usize = 100;

/// Files as they were.
#[derive(Debug)]
pub struct Noted {
    root: PathBuf,
    files: BTreeMap<RepoPath, Option<Vec<u8>>>,
    /// Sources as the commit has them. There may be a hundred thousand, so one is read where somebody has touched it.
    sources: BTreeMap<RepoPath, (BlobId, Option<Stamp>)>,
}

/// What changes with every touch: who writes a file can set its times, but not when that was.
type Stamp = (u64, u64, i64, i64);

impl Noted {
    /// These files below a folder.
    pub fn of(root: &Path, paths: impl IntoIterator<Item = RepoPath>) -> Self {
        let files = paths.into_iter().map(|path| {
            let print = print(&at(root, &path));
            (path, print)
        });
        Self { root: root.to_owned(), files: files.collect(), sources: BTreeMap::new() }
    }

    /// And these, which lie there as they were committed.
    pub fn with_sources(mut self, committed: impl IntoIterator<Item = (RepoPath, BlobId)>) -> Self {
        let new = committed.into_iter().filter(|(path, _)| !self.files.contains_key(path));
        self.sources = new.map(|(path, blob)| (path.clone(), (blob, stamp(&at(&self.root, &path))))).collect();
        self
    }

    /// Those that are not as they were, the first hundred. A name that is no plain text is in git's quoted form.
    pub fn changed(&self) -> Vec<String> {
        let other = self.files.iter().filter(|(path, before)| print(&at(&self.root, path)) != **before);
        let touched = self.sources.iter().filter(|(path, (blob, before))| {
            let file = at(&self.root, path);
            stamp(&file) != *before && !is_blob(&file, blob)
        });
        let all = other.map(|(path, _)| path).chain(touched.map(|(path, _)| path));
        all.map(RepoPath::to_string).take(MOST_TOLD).collect()
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let about = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some((about.ino(), about.len(), about.ctime(), about.ctime_nsec()))
}

/// Whether a file is what the commit has. A larger one than is read is not.
fn is_blob(path: &Path, blob: &BlobId) -> bool {
    let small = path.symlink_metadata().is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    let bytes = if small { std::fs::read(path).ok() } else { None };
    let now = bytes.and_then(|bytes| git2::Oid::hash_object(git2::ObjectType::Blob, &bytes).ok());
    now.is_some_and(|now| now.to_string() == blob.as_str())
}

fn at(root: &Path, path: &RepoPath) -> PathBuf {
    root.join(OsStr::from_bytes(path.as_bytes()))
}

/// What is known of a file. None: there is no plain one.
fn print(path: &Path) -> Option<Vec<u8>> {
    // Neither a link is followed nor a pipe waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).ok()?;
    if path.is_symlink() {
        return std::fs::read_link(path).ok().map(|to| to.as_os_str().as_encoded_bytes().to_vec());
    }
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let about = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    if about.len() > LARGEST {
        return Some(about.len().to_be_bytes().to_vec());
    }
    let (mut hash, mut file, mut buffer) = (Sha256::new(), file.take(LARGEST), vec![0; 64 * 1024]);
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hash.finalize().to_vec()),
            length => hash.update(&buffer[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(dir: &Path, paths: &[&str]) -> Noted {
        Noted::of(dir, paths.iter().map(|path| RepoPath::from(*path)))
    }

    #[test]
    fn a_name_that_is_no_text_is_looked_at_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = RepoPath::new(b"data_\xff.py".as_slice());
        std::fs::write(at(dir.path(), &path), "1").unwrap();
        let noted = Noted::of(dir.path(), [path.clone()]);
        assert_eq!(noted.changed(), [""; 0]);
        std::fs::write(at(dir.path(), &path), "2").unwrap();
        assert_eq!(noted.changed(), [r#""data_\377.py""#]);
    }

    #[test]
    fn a_source_that_is_touched_is_held_against_the_commit() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let blob = |text: &str| {
            let id = git2::Oid::hash_object(git2::ObjectType::Blob, text.as_bytes()).unwrap();
            BlobId::new(id.to_string()).unwrap()
        };
        let names = ["same.py", "touched.py", "other.py", "gone.py", "back.py"];
        for name in names {
            std::fs::write(file(name), "1").unwrap();
        }
        // A copy of a commit has these as they are; of one that lies there otherwise nothing was said before.
        std::fs::write(file("filtered.py"), "1\r\n").unwrap();
        let committed = names.iter().chain(&["filtered.py"]).map(|name| (RepoPath::from(*name), blob("1")));
        let noted = noted(dir.path(), &[]).with_sources(committed);
        std::fs::write(file("touched.py"), "1").unwrap();
        std::fs::write(file("other.py"), "2").unwrap();
        std::fs::remove_file(file("gone.py")).unwrap();
        std::fs::write(file("back.py"), "2").unwrap();
        std::fs::write(file("back.py"), "1").unwrap();
        assert_eq!(noted.changed(), ["gone.py", "other.py"]);
    }

    #[test]
    fn a_file_that_is_written_anew_is_told_of() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["a", "b", "c", "d"] {
            std::fs::write(at(name), name).unwrap();
        }
        let noted = noted(dir.path(), &["a", "b", "c", "d", "e"]);
        assert_eq!(noted.changed(), [] as [&str; 0]);
        std::fs::write(at("a"), "other").unwrap();
        std::fs::remove_file(at("b")).unwrap();
        std::fs::write(at("c"), "c").unwrap();
        std::fs::remove_file(at("d")).unwrap();
        std::os::unix::fs::symlink("a", at("d")).unwrap();
        std::fs::write(at("e"), "new").unwrap();
        assert_eq!(noted.changed(), ["a", "b", "d", "e"]);
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "a").unwrap();
        let noted = noted(dir.path(), &["a"]);
        std::fs::remove_file(dir.path().join("a")).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("a"), mode).unwrap();
        assert_eq!(noted.changed(), ["a"]);
    }
}
