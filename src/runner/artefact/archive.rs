//! The archive that Actions keeps an artefact in.
//!
//! A job that ran the change's code has made it, so each of its bytes may be there to deceive. It stays in memory, and nothing of it
//! is ever written anywhere: one plain file is read out of it, by its name, and no more of that than is taken. An archive that two
//! programs could read as two different ones is read as none.

use std::io::{Cursor, Read as _};
use std::path::{Component, Path};

use zip::read::{ArchiveOffset, Config, ZipArchive};
use zip::{CompressionMethod, result::ZipError};

use super::FILE;
use super::read::theirs;

/// `phasegate run` leaves two.
const MOST_FILES: usize = 16;

const LOCAL: &[u8] = b"PK\x03\x04";
const END: &[u8] = b"PK\x05\x06";
/// How long the record at an archive's end is, without a comment.
const END_SIZE: usize = 22;

/// Why an archive is not unpacked. Names of its files are its author's own words, and stand as code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("What was kept is no zip archive.")]
    NotZip,
    #[error("The archive can be read in more than one way: {0}.")]
    Ambiguous(String),
    #[error("The archive has {0} files, and {MOST_FILES} are the most.")]
    TooManyFiles(usize),
    #[error("The archive has two files of one name.")]
    Twice,
    #[error("The archive has a file that would lead out of it: {0}.")]
    LeadsOut(String),
    #[error("{what} of the archive is {is}, and not a plain file.")]
    NotPlain { what: String, is: &'static str },
    #[error("{0} of the archive is encrypted.")]
    Encrypted(String),
    #[error("{0} of the archive is packed in a way that artefacts are not.")]
    OtherMethod(String),
    #[error("The archive has no {FILE}.")]
    NoFile,
    #[error("{FILE} of the archive has more than {most} bytes; no more are unpacked.")]
    TooLarge { most: u64 },
    #[error("The archive is damaged: {0}.")]
    Damaged(String),
}

impl Refused {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotZip => "no_archive",
            Self::Ambiguous(_) => "ambiguous_archive",
            Self::TooManyFiles(_) => "too_many_files",
            Self::Twice => "file_twice",
            Self::LeadsOut(_) => "leads_out",
            Self::NotPlain { .. } => "not_plain",
            Self::Encrypted(_) => "encrypted",
            Self::OtherMethod(_) => "other_method",
            Self::NoFile => "no_log",
            Self::TooLarge { .. } => "unpacks_too_large",
            Self::Damaged(_) => "damaged_archive",
        }
    }

    /// What to do about it.
    pub fn next(&self) -> &'static str {
        match self {
            Self::NoFile => {
                "Let the job upload the folder that `phasegate run verify` has written, as the template does."
            }
            Self::TooLarge { .. } => "Let the commands say less, or split the tests' reports.",
            Self::Damaged(_) => "Ask for another run.",
            _ => {
                "Look at what the change does to the artefact: the template's upload makes no such archive. Then ask for another run."
            }
        }
    }
}

/// The execution log in an archive, of so many bytes at most.
pub fn log(bytes: &[u8], most: u64) -> Result<Vec<u8>, Refused> {
    framed(bytes)?;
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let mut archive = ZipArchive::with_config(config, Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    if archive.has_duplicate_names() {
        return Err(Refused::Twice);
    }
    let mut found = None;
    for at in 0..archive.len() {
        let entry = archive.by_index_data(at).map_err(|error| damaged(&error))?;
        let raw = entry.name_raw();
        let name = || theirs(&String::from_utf8_lossy(raw), 200);
        if entry.is_dir() {
            return Err(Refused::NotPlain { what: name(), is: "a folder" });
        }
        if !stays_inside(raw) {
            return Err(Refused::LeadsOut(name()));
        }
        // What stands there is only meant where the archive comes from a system that has such modes.
        match entry.unix_mode().unwrap_or(0) & 0o170_000 {
            0 | 0o100_000 => {}
            0o120_000 => return Err(Refused::NotPlain { what: name(), is: "a link" }),
            _ => return Err(Refused::NotPlain { what: name(), is: "a folder, a device or a pipe" }),
        }
        if entry.encrypted() {
            return Err(Refused::Encrypted(name()));
        }
        if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(Refused::OtherMethod(name()));
        }
        if raw == FILE.as_bytes() {
            found = Some((at, entry.size()));
        }
    }
    // Each header says the same in both places where it stands, nothing lies over something else, and nothing is hidden between.
    archive.validate_header_consistency().map_err(|error| Refused::Ambiguous(said(&error)))?;
    let (at, size) = found.ok_or(Refused::NoFile)?;
    if size > most {
        return Err(Refused::TooLarge { most });
    }
    let mut bytes = Vec::new();
    let entry = archive.by_index(at).map_err(|error| damaged(&error))?;
    // What it says of its size may be a lie: no more is unpacked than is taken.
    entry.take(most + 1).read_to_end(&mut bytes).map_err(|error| Refused::Damaged(theirs(&error.to_string(), 200)))?;
    match bytes.len() as u64 {
        unpacked if unpacked > most => Err(Refused::TooLarge { most }),
        unpacked if unpacked != size => Err(Refused::Ambiguous(format!("{FILE} is not as large as it is said to be"))),
        _ => Ok(bytes),
    }
}

/// Whether it begins with a file and ends with the list of its files, so that nothing stands before, behind or between.
fn framed(bytes: &[u8]) -> Result<(), Refused> {
    let ambiguous = |what: &str| Err(Refused::Ambiguous(what.to_owned()));
    let Some((rest, end)) = bytes.len().checked_sub(END_SIZE).map(|at| bytes.split_at(at)) else {
        return Err(Refused::NotZip);
    };
    if !end.starts_with(END) {
        return match bytes.windows(END.len()).any(|at| at == END) {
            true => ambiguous("something stands behind it"),
            false => Err(Refused::NotZip),
        };
    }
    let short = |at: usize| u16::from_le_bytes([end[at], end[at + 1]]);
    let long = |at: usize| u64::from(u32::from_le_bytes([end[at], end[at + 1], end[at + 2], end[at + 3]]));
    let (disk, first, here, all) = (short(4), short(6), short(8), short(10));
    if (disk, first) != (0, 0) || here != all || short(20) != 0 {
        return ambiguous("its end is that of a part of one");
    }
    if usize::from(all) > MOST_FILES {
        return Err(Refused::TooManyFiles(all.into()));
    }
    // One of more than 4 GiB says so elsewhere, and none here is.
    if long(16) + long(12) != rest.len() as u64 {
        return ambiguous("its list of files is not where its end says");
    }
    if all > 0 && !bytes.starts_with(LOCAL) {
        return ambiguous("something stands before it");
    }
    Ok(())
}

fn stays_inside(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
    // Another system reads a backslash and a colon as parts of a path.
    !name.is_empty()
        && !name.contains(['\\', ':', '\0'])
        && !name.split('/').any(|part| part.is_empty() || part == ".")
        && Path::new(name).components().all(inside)
}

fn said(error: &ZipError) -> String {
    theirs(&error.to_string(), 200)
}

fn damaged(error: &ZipError) -> Refused {
    Refused::Damaged(said(error))
}

#[cfg(test)]
mod tests;
