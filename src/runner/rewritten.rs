//! Whether the commands left the files alone that they were to judge.
//!
//! A command that writes its own tests or the code anew has judged something else than what is there. So these files are noted
//! before it, by the digests of their bytes as they lie in the folder, and looked at again when everything has ended.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

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
}

impl Noted {
    /// These files below a folder.
    pub fn of(root: &Path, paths: impl IntoIterator<Item = RepoPath>) -> Self {
        let files = paths.into_iter().map(|path| {
            let print = print(&at(root, &path));
            (path, print)
        });
        Self { root: root.to_owned(), files: files.collect() }
    }

    /// Those that are not as they were, the first hundred. A name that is no plain text is in git's quoted form.
    pub fn changed(&self) -> Vec<String> {
        let other = self.files.iter().filter(|(path, before)| print(&at(&self.root, path)) != **before);
        other.map(|(path, _)| path.to_string()).take(MOST_TOLD).collect()
    }
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
