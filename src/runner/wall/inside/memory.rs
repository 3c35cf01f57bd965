//! How much memory the processes of a command have together.
//!
//! What each has for itself is counted first, and what they share as if nobody shared it: that is cheap, and most often it is
//! enough to know that it is not too much. Only where it would be is shared memory divided among those who have it.
//! A file that is in memory alone (`memfd_create`) is nobody's until it is mapped, so those are looked for by who has them open.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::{fs, io};

/// How often the open files are looked through, counted in looks: that takes longer than the rest.
const FILES_EACH: u32 = 10;

/// What the last look found of files.
#[derive(Default)]
pub(super) struct Watch {
    looks: u32,
    in_files: u64,
}

impl Watch {
    /// Whether the processes here have more than so many bytes.
    pub(super) fn is_over(&mut self, limit: u64) -> io::Result<bool> {
        if self.looks.is_multiple_of(FILES_EACH) {
            self.in_files = in_files()?.saturating_add(in_segments());
        }
        self.looks = self.looks.wrapping_add(1);
        let rough = together(&[&ROUGH])?;
        // What is mapped of a file counts once: by whichever way it counts more.
        let most = rough.anonymous.saturating_add(rough.shared.max(self.in_files));
        if most <= limit {
            return Ok(false);
        }
        // A program that nobody may read does not tell its share.
        let exact = together(&[&EXACT, &ROUGH])?;
        Ok(exact.anonymous.saturating_add(exact.shared.max(self.in_files)) > limit)
    }
}

#[derive(Default)]
struct Bytes {
    anonymous: u64,
    shared: u64,
}

/// A file of a process, and what is called in it the memory that the process has for itself and that it shares, in kilobytes.
struct Told {
    file: &'static str,
    anonymous: &'static str,
    shared: &'static str,
}

const ROUGH: Told = Told { file: "status", anonymous: "RssAnon:", shared: "RssShmem:" };
const EXACT: Told = Told { file: "smaps_rollup", anonymous: "Pss_Anon:", shared: "Pss_Shmem:" };

/// The sum over all processes, of each by the first of these files that can be read. A process that has just ended has none.
fn together(ways: &[&Told]) -> io::Result<Bytes> {
    let mut all = Bytes::default();
    for process in processes()? {
        let read = ways.iter().find_map(|told| Some((told, fs::read_to_string(process.join(told.file)).ok()?)));
        let Some((told, text)) = read else { continue };
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let bytes = |name: &str| of(name).unwrap_or(0).saturating_mul(1024);
        all.anonymous = all.anonymous.saturating_add(bytes(told.anonymous));
        all.shared = all.shared.saturating_add(bytes(told.shared));
    }
    Ok(all)
}

/// The bytes of files that are in memory alone, each once, whoever has them open.
fn in_files() -> io::Result<u64> {
    let mut files: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for process in processes()? {
        let Ok(open) = fs::read_dir(process.join("fd")) else { continue };
        for one in open.flatten() {
            let is_one = |leads: &Path| leads.as_os_str().as_encoded_bytes().starts_with(b"/memfd:");
            if fs::read_link(one.path()).is_ok_and(|leads| is_one(&leads))
                && let Ok(about) = fs::metadata(one.path())
            {
                files.insert((about.dev(), about.ino()), about.blocks().saturating_mul(512));
            }
        }
    }
    Ok(files.values().fold(0, |sum, bytes| sum.saturating_add(*bytes)))
}

/// The bytes of System V's shared memory, which outlives who made it.
fn in_segments() -> u64 {
    let text = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let mut lines = text.lines();
    let at = lines.next().and_then(|names| names.split_whitespace().position(|name| name == "rss"));
    let Some(at) = at else { return 0 };
    let rss = |line: &str| line.split_whitespace().nth(at)?.parse::<u64>().ok();
    lines.filter_map(rss).fold(0, u64::saturating_add)
}

fn processes() -> io::Result<impl Iterator<Item = std::path::PathBuf>> {
    let is_process =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit));
    Ok(fs::read_dir("/proc")?.flatten().map(|one| one.path()).filter(move |path| is_process(path)))
}
