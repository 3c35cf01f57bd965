//! A folder that somebody else may write at the same time, read and written without ever following a link.
//!
//! Whoever owns the folder may put a link where a folder was, between two looks. So no path is opened as a whole: each of its parts
//! is opened from the one before, and a part that is a link is none.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid};

use super::RepoPath;

/// Folders deeper than this are not looked into.
const DEEPEST: usize = 100;
/// So many bytes the paths of a list have together: whoever works there may nest long names.
const MOST_PATHS: usize = 64 * 1024 * 1024;

/// The folder itself.
#[derive(Debug)]
pub struct Below {
    root: OwnedFd,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    File {
        bytes: u64,
    },
    Folder,
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// What came of reading a file.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadBelow {
    Bytes(Vec<u8>),
    TooLarge(u64),
    /// It is not there, or it is no plain file.
    NotAFile,
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A pipe that nobody writes to would be waited for.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

impl Below {
    pub fn open(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::open(folder, flags, Mode::empty())? })
    }

    /// The folder at a path. The empty path is the folder itself.
    fn folder(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let mut here = self.root.try_clone()?;
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            here = rustix::fs::openat(&here, checked(part)?, FOLDER, Mode::empty())?;
        }
        Ok(here)
    }

    /// What stands at a path; none where nothing does, or a link is on the way.
    pub fn stands(&self, path: &RepoPath) -> io::Result<Option<Stands>> {
        let (folder, name) = split(path);
        if name.is_empty() {
            return Ok(Some(Stands::Folder));
        }
        let found = self.folder(folder).and_then(|folder| stands(&folder, checked(name)?));
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_none(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What a folder has, by the bytes of the names, and whether that is all: at most so many are told.
    fn entries(&self, folder: &RepoPath, most: usize) -> io::Result<(Vec<(RepoPath, Stands)>, bool)> {
        let opened = self.folder(folder.as_bytes())?;
        let (mut found, mut whole) = (Vec::new(), true);
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if found.len() >= most {
                whole = false;
                break;
            }
            match stands(&opened, name) {
                Ok(what) => found.push((folder.join(name), what)),
                // It went in the meantime.
                Err(error) if is_none(&error) => {}
                Err(error) => return Err(error),
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok((found, whole))
    }

    /// Everything below a folder that is no folder itself, sorted by the bytes of the paths, and whether that is all: at most so many
    /// are listed. `enters` says which folders are looked into.
    pub fn list(
        &self,
        under: &RepoPath,
        most: usize,
        enters: &dyn Fn(&RepoPath) -> bool,
    ) -> io::Result<(Vec<(RepoPath, Stands)>, bool)> {
        let (mut found, mut open, mut whole) = (Vec::new(), vec![under.clone()], true);
        let (mut seen, mut bytes) = (0_usize, 0_usize);
        while let Some(folder) = open.pop() {
            let (entries, all) = match self.entries(&folder, most.saturating_sub(seen)) {
                Ok(entries) => entries,
                Err(error) if folder == *under => return Err(error),
                // It went, or its owner has locked it.
                Err(_) => {
                    whole = false;
                    continue;
                }
            };
            seen += entries.len();
            whole &= all;
            for (path, what) in entries {
                bytes += path.as_bytes().len();
                match what {
                    Stands::Folder if !enters(&path) => {}
                    Stands::Folder if path.as_bytes().split(|byte| *byte == b'/').count() > DEEPEST => whole = false,
                    Stands::Folder => open.push(path),
                    _ => found.push((path, what)),
                }
            }
            if seen >= most || bytes >= MOST_PATHS {
                whole &= open.is_empty();
                break;
            }
        }
        found.sort_by(|(one, _): &(RepoPath, Stands), (other, _)| one.cmp(other));
        Ok((found, whole))
    }

    /// A plain file's bytes, up to so many.
    pub fn read(&self, path: &RepoPath, most: u64) -> io::Result<ReadBelow> {
        let (folder, name) = split(path);
        let opened = self.folder(folder).and_then(|folder| {
            let file = rustix::fs::openat(&folder, checked(name)?, FILE | OFlags::RDONLY, Mode::empty())?;
            Ok(std::fs::File::from(file))
        });
        let file = match opened {
            Ok(file) => file,
            Err(error) if is_none(&error) => return Ok(ReadBelow::NotAFile),
            Err(error) => return Err(error),
        };
        let about = file.metadata()?;
        if !about.is_file() {
            return Ok(ReadBelow::NotAFile);
        }
        let mut bytes = Vec::new();
        // It may grow while it is read.
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        let read = bytes.len() as u64;
        Ok(if read > most { ReadBelow::TooLarge(about.len().max(read)) } else { ReadBelow::Bytes(bytes) })
    }

    /// Where a link leads, in its own words.
    pub fn leads(&self, path: &RepoPath) -> io::Result<Vec<u8>> {
        let (folder, name) = split(path);
        let folder = self.folder(folder)?;
        Ok(rustix::fs::readlinkat(&folder, checked(name)?, Vec::new())?.into_bytes())
    }

    /// Puts a plain file at a path, in a folder that is there: another plain file is written over, and nothing else is. It belongs to
    /// this user afterwards, where one is named.
    pub fn put(&self, path: &RepoPath, bytes: &[u8], owner: Option<u32>) -> io::Result<()> {
        let (folder, name) = split(path);
        let (folder, name) = (self.folder(folder)?, checked(name)?);
        match stands(&folder, name) {
            Ok(Stands::File { .. }) => {}
            Ok(_) => return Err(io::Error::other("what is there is no plain file")),
            Err(error) if is_none(&error) => {}
            Err(error) => return Err(error),
        }
        let made = format!(".phasegate-{}", uuid::Uuid::new_v4());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, made.as_str(), flags, Mode::from_raw_mode(0o644))?;
        let mut file = std::fs::File::from(file);
        let mut written = || -> io::Result<()> {
            file.write_all(bytes)?;
            if let Some(owner) = owner {
                rustix::fs::fchown(&file, Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)))?;
            }
            // The name is taken in one step: whoever reads it meets the old file or the new one.
            Ok(rustix::fs::renameat(&folder, made.as_str(), &folder, name)?)
        };
        let done = written();
        if done.is_err() {
            let _ = rustix::fs::unlinkat(&folder, made.as_str(), AtFlags::empty());
        }
        done
    }
}

/// The folder of a path, and its last part.
fn split(path: &RepoPath) -> (&[u8], &[u8]) {
    let bytes = path.as_bytes();
    match bytes.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (&[], bytes),
    }
}

/// A part of a path leads down and nowhere else.
fn checked(part: &[u8]) -> io::Result<&[u8]> {
    match part {
        b"" | b"." | b".." => Err(io::ErrorKind::NotFound.into()),
        part if part.contains(&0) => Err(io::ErrorKind::NotFound.into()),
        part => Ok(part),
    }
}

fn stands(folder: &OwnedFd, name: &[u8]) -> io::Result<Stands> {
    let about = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => Stands::File { bytes: u64::try_from(about.st_size).unwrap_or(0) },
        FileType::Directory => Stands::Folder,
        FileType::Symlink => Stands::Link,
        _ => Stands::Other,
    })
}

/// Nothing is there, or the way there leads through something that is no folder.
fn is_none(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let loops = Errno::from_io_error(error).is_some_and(|errno| [Errno::LOOP, Errno::NXIO].contains(&errno));
    loops || matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn path(text: &str) -> RepoPath {
        RepoPath::from(text)
    }

    fn folder() -> (tempfile::TempDir, Below) {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        std::fs::create_dir_all(inside.join("src/deep")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("key"), "secret").unwrap();
        for file in ["a.txt", "src/b.txt", "src/deep/c.txt"] {
            std::fs::write(inside.join(file), file).unwrap();
        }
        symlink(&outside, inside.join("way")).unwrap();
        symlink(outside.join("key"), inside.join("src/key")).unwrap();
        let below = Below::open(&inside).unwrap();
        (dir, below)
    }

    #[test]
    fn no_link_is_followed() {
        let (dir, below) = folder();
        for leads in ["way/key", "src/key", "way", "../out/key", "src/../../out/key", "/etc/passwd", "a.txt/x", ""] {
            assert_eq!(below.read(&path(leads), 100).unwrap(), ReadBelow::NotAFile, "{leads}");
        }
        assert_eq!(below.read(&path("src/b.txt"), 100).unwrap(), ReadBelow::Bytes(b"src/b.txt".to_vec()));
        assert_eq!(below.read(&path("src/b.txt"), 4).unwrap(), ReadBelow::TooLarge(9));
        assert_eq!(below.stands(&path("src/key")).unwrap(), Some(Stands::Link));
        assert_eq!(below.stands(&path("way/key")).unwrap(), None);
        assert!(below.entries(&path("way"), 9).is_err() && below.leads(&path("way")).unwrap().ends_with(b"/out"));
        for leads in ["way/new", "src/key", "way", "../out/new"] {
            assert!(below.put(&path(leads), b"mine", None).is_err(), "{leads}");
        }
        let outside = dir.path().join("out");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(std::fs::read_to_string(outside.join("key")).unwrap(), "secret");
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let (dir, below) = folder();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("in/pipe"), FileType::Fifo, mode, 0).unwrap();
        assert_eq!(below.read(&path("pipe"), 100).unwrap(), ReadBelow::NotAFile);
        assert_eq!(below.stands(&path("pipe")).unwrap(), Some(Stands::Other));
    }

    #[test]
    fn what_is_below_is_listed_in_order_and_within_bounds() {
        let (_dir, below) = folder();
        let listed = |under: &str, most: usize| {
            let (found, whole) = below.list(&path(under), most, &|path| path.as_bytes() != b".git").unwrap();
            (found.into_iter().map(|(path, _)| path.to_string()).collect::<Vec<_>>(), whole)
        };
        let all = ["a.txt", "src/b.txt", "src/deep/c.txt", "src/key", "way"].map(str::to_owned).to_vec();
        assert_eq!(listed("", 100), (all, true));
        assert_eq!(listed("src/deep", 100), (vec!["src/deep/c.txt".to_owned()], true));
        assert!(!listed("", 3).1);
        let (found, _) = below.list(&path(""), 100, &|path| path.as_bytes() != b"src").unwrap();
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_file_is_put_whole_or_not_at_all() {
        let (dir, below) = folder();
        below.put(&path("src/new.md"), b"1", None).unwrap();
        below.put(&path("src/new.md"), b"2", None).unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("in/src/new.md")).unwrap(), "2");
        assert!(below.put(&path("src/deep"), b"3", None).is_err() && below.put(&path("no/such"), b"3", None).is_err());
        let left = std::fs::read_dir(dir.path().join("in/src")).unwrap().count();
        assert_eq!(left, 4, "and nothing of a try is left");
    }
}
