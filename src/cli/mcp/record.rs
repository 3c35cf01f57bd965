//! Where calls are written down: in a pass by whoever runs it, else in a log beside the clone's objects.
//!
//! The log is for people who want to know what an agent did. It chains, so a line that was changed or taken out is seen; but whoever can
//! write the clone can write it anew, so it proves nothing. Where it can't be written the call is answered all the same: an agent that
//! wants to stop must be able to.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use serde::Serialize;

use crate::cli::status::Place;
use crate::ids::Digest;
use crate::repo::LocalRepo;
use crate::runner::calls::Asked;
use crate::runner::pass::Seat;

/// A log with more bytes is put aside, and the one before it goes.
const MOST: u64 = 1024 * 1024;
/// No line is longer.
const LONGEST_LINE: u64 = 8 * 1024;
const FOLDER: &str = "phasegate";
const NAME: &str = "mcp.jsonl";
const BEFORE: &str = "mcp.1.jsonl";

pub(super) enum Record {
    /// There is no clone here.
    Nowhere,
    Clone(PathBuf),
    Pass(Arc<Seat>),
}

/// A call that is under way.
pub(super) struct Open {
    asked: Asked,
    place: Option<usize>,
    /// How many calls came so far, where that is bounded.
    pub(super) total: u64,
}

impl Record {
    pub(super) fn of(place: &Place) -> Self {
        let repo = place.here().and_then(|here| LocalRepo::around(here).ok());
        repo.map_or(Self::Nowhere, |repo| Self::Clone(repo.common_folder()))
    }

    pub(super) fn begins(&self, asked: Asked) -> Open {
        let (place, total) = match self {
            Self::Pass(seat) => seat.calls.begins(asked.clone()),
            Self::Nowhere | Self::Clone(_) => (None, 0),
        };
        Open { asked, place, total }
    }

    pub(super) fn ends(&self, open: Open, refused: bool, bytes: usize) {
        match self {
            Self::Nowhere => {}
            Self::Pass(seat) => seat.calls.ends(open.place, refused, bytes),
            Self::Clone(git) => {
                if let Err(error) = appended(git, &open.asked, refused, bytes) {
                    tracing::warn!(%error, "the call is not on record: {} can't be written", git.join(FOLDER).display());
                }
            }
        }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    at: jiff::Timestamp,
    #[serde(flatten)]
    asked: &'a Asked,
    refused: bool,
    bytes: usize,
    /// The digest of the line before, without its end; none of the first.
    prev: Option<Digest>,
}

fn appended(git: &Path, asked: &Asked, refused: bool, bytes: usize) -> io::Result<()> {
    let folder = git.join(FOLDER);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !folder.symlink_metadata()?.is_dir() {
        return Err(io::Error::other("what is there is no folder"));
    }
    let mut file = held(&folder)?;
    let mut prev = last(&mut file)?;
    if file.metadata()?.len() >= MOST {
        std::fs::rename(folder.join(NAME), folder.join(BEFORE))?;
        // The chain goes on in the new one.
        file = held(&folder)?;
        prev = last(&mut file)?.or(prev);
    }
    let prev = prev.map(Digest::of);
    let mut line = serde_json::to_vec(&Line { at: jiff::Timestamp::now(), asked, refused, bytes, prev })?;
    line.push(b'\n');
    file.write_all(&line)
}

/// The log, which nobody else appends to as long as this is held. Who waited for it may find that it was put aside meanwhile.
fn held(folder: &Path) -> io::Result<File> {
    let path = folder.join(NAME);
    loop {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file =
            OpenOptions::new().create(true).append(true).read(true).mode(0o600).custom_flags(flags).open(&path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("what is there is no plain file"));
        }
        file.lock()?;
        let there = path.symlink_metadata();
        if there.is_ok_and(|there| there.ino() == file.metadata().map_or(0, |about| about.ino())) {
            return Ok(file);
        }
    }
}

/// The last line, without its end.
fn last(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_LINE)))?;
    let mut end = Vec::new();
    file.take(LONGEST_LINE).read_to_end(&mut end)?;
    let end = end.strip_suffix(b"\n").unwrap_or(&end);
    Ok(end.rsplit(|byte| *byte == b'\n').next().map(<[u8]>::to_vec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn lines(file: &Path) -> Vec<String> {
        std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn call(git: &Path, words: &str) -> io::Result<()> {
        appended(git, &Asked::of("search", &json!({ "words": words })), false, 12)
    }

    /// Each line names the one before it.
    fn chained(lines: &[String], mut before: Option<String>) {
        for line in lines {
            let told: Value = serde_json::from_str(line).unwrap();
            let named = before.map(|before| serde_json::to_value(Digest::of(before)).unwrap());
            assert_eq!(told["prev"], named.unwrap_or(Value::Null), "{line}");
            before = Some(line.clone());
        }
    }

    #[test]
    fn each_call_is_a_line_that_names_the_one_before_it() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let git = dir.path();
                scope.spawn(move || (0..25).for_each(|number| call(git, &format!("{worker} {number}")).unwrap()));
            }
        });
        let lines = lines(&dir.path().join("phasegate/mcp.jsonl"));
        assert_eq!(lines.len(), 100);
        chained(&lines, None);
    }

    #[test]
    fn it_does_not_grow_without_end_and_the_chain_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let (log, old) = (dir.path().join("phasegate/mcp.jsonl"), dir.path().join("phasegate/mcp.1.jsonl"));
        call(dir.path(), "first").unwrap();
        let filler = format!("{}\n", "x".repeat(1_000));
        let mut file = OpenOptions::new().append(true).open(&log).unwrap();
        (0..MOST / 1_000).for_each(|_| file.write_all(filler.as_bytes()).unwrap());
        call(dir.path(), "second").unwrap();
        call(dir.path(), "third").unwrap();
        let (before, now) = (lines(&old), lines(&log));
        assert_eq!(now.len(), 2);
        chained(&now, before.last().cloned());
    }

    #[test]
    fn it_is_not_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("phasegate")).unwrap();
        assert!(call(dir.path(), "x").is_err());
        std::fs::remove_file(dir.path().join("phasegate")).unwrap();
        std::fs::create_dir(dir.path().join("phasegate")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("log"), dir.path().join("phasegate/mcp.jsonl")).unwrap();
        assert!(call(dir.path(), "x").is_err());
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
