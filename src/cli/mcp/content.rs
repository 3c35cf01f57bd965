//! What the tools that read look at: the commit that is checked out, or the copy that an agent works on, as far as the role's pack
//! goes.
//!
//! What the pack leaves out is not there, in the same words as what is not there at all.

use std::path::Path;

use super::answer::Refused;
use crate::finding::quoted;
use crate::ids::{BlobId, CommitId};
use crate::policy::{Sight, folded};
use crate::repo::{self, Below, Filter, LocalRepo, ReadBelow, Reader as _, RepoPath, Stands};

/// A larger file is not read.
pub(super) const LARGEST: u64 = 8 * 1024 * 1024;
/// So many files of a copy are listed. A commit has its own bound.
const MOST_FILES: usize = 200_000;
/// A longer path is none.
const LONGEST_PATH: usize = 4096;
/// In so many bytes a file shows that it is no text.
const TELLING: usize = 8_000;

pub(super) struct Content {
    /// What is read, for whoever reads the answer.
    pub(super) at: String,
    sight: Sight,
    of: Of,
}

enum Of {
    Commit(LocalRepo, CommitId),
    Folder(Below),
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    File,
    Link,
    /// A submodule, a pipe: something that has no text here.
    Other,
}

#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) path: RepoPath,
    pub(super) what: What,
    blob: Option<BlobId>,
}

/// What stands at a path.
pub(super) enum Found {
    Folder,
    Item(Item),
}

pub(super) struct Listing {
    pub(super) items: Vec<Item>,
    /// There is more than is listed.
    pub(super) cut: bool,
}

/// What came of reading a file.
pub(super) enum Got {
    Bytes(Vec<u8>),
    TooLarge(u64),
    /// It went in the meantime, or can't be read.
    Gone,
}

impl Content {
    /// The commit that is checked out in a clone.
    pub(super) fn of_clone(repo: LocalRepo, commit: CommitId, sight: Sight) -> Self {
        Self { at: commit.to_string(), sight, of: Of::Commit(repo, commit) }
    }

    /// A folder that somebody works in.
    pub(super) fn of_folder(folder: &Path, at: String, sight: Sight) -> Result<Self, Refused> {
        let below = Below::open(folder).map_err(|error| unreadable(&error))?;
        Ok(Self { at, sight, of: Of::Folder(below) })
    }

    /// Everything below a path that is no folder itself, sorted by the bytes of the paths.
    pub(super) fn list(&self, under: &RepoPath) -> Result<Listing, Refused> {
        let (mut items, cut) = match &self.of {
            Of::Commit(repo, commit) => {
                let entries = repo.tree(commit, Filter::Under(under)).map_err(|error| no_tree(&error))?;
                let items = entries.into_iter().map(|entry| {
                    let what = match entry.mode {
                        mode if mode.is_file() => What::File,
                        mode if mode.is_symlink() => What::Link,
                        _ => What::Other,
                    };
                    Item { path: entry.path, what, blob: Some(entry.blob) }
                });
                (items.collect::<Vec<_>>(), false)
            }
            Of::Folder(below) => self.below(below, under)?,
        };
        items.retain(|item| self.sight.takes_in(item.path.as_bytes()));
        Ok(Listing { items, cut })
    }

    fn below(&self, below: &Below, under: &RepoPath) -> Result<(Vec<Item>, bool), Refused> {
        if is_git(under) {
            return Ok((Vec::new(), false));
        }
        let item = |(path, stands): (RepoPath, Stands)| Item { path, what: what(stands), blob: None };
        match below.stands(under).map_err(|error| unreadable(&error))? {
            None => Ok((Vec::new(), false)),
            Some(Stands::Folder) => {
                let (found, whole) =
                    below.list(under, MOST_FILES, &|path| !is_git(path)).map_err(|error| unreadable(&error))?;
                let found = found.into_iter().filter(|(path, _)| !is_git(path));
                Ok((found.map(item).collect(), !whole))
            }
            Some(stands) => Ok((vec![item((under.clone(), stands))], false)),
        }
    }

    /// What stands at a path, or why nothing does.
    pub(super) fn find(&self, path: &RepoPath) -> Result<Found, Refused> {
        let listing = self.list(path)?;
        match listing.items.into_iter().find(|item| item.path == *path) {
            Some(item) => Ok(Found::Item(item)),
            None if self.has_folder(path)? => Ok(Found::Folder),
            None => Err(self.not_there(path)),
        }
    }

    fn has_folder(&self, path: &RepoPath) -> Result<bool, Refused> {
        Ok(path.as_bytes().is_empty() || !self.list(path)?.items.is_empty())
    }

    /// That a path is not there, with the one that was meant, where only the letters' case or form is another.
    fn not_there(&self, path: &RepoPath) -> Refused {
        let says = format!("There is no {} in what this role gets.", quoted(&path.to_string()));
        let alike = |item: &&Item| folded(&item.path.to_string()) == folded(&path.to_string());
        let all = self.list(&RepoPath::from("")).ok();
        match all.as_ref().and_then(|all| all.items.iter().find(alike)) {
            Some(item) => {
                let other = quoted(&item.path.to_string());
                Refused::new(
                    format!("{says} There is {other}: letter case and form count."),
                    format!("Write it as {other}."),
                )
            }
            None => Refused::new(says, "Look with `ls` or `glob` what is there, and name that."),
        }
    }

    /// A file's bytes.
    pub(super) fn bytes(&self, item: &Item) -> Got {
        match (&self.of, &item.blob) {
            (Of::Commit(repo, _), Some(blob)) => match repo.bytes_of(blob, LARGEST) {
                Ok(Ok(bytes)) => Got::Bytes(bytes),
                Ok(Err(size)) => Got::TooLarge(size),
                Err(_) => Got::Gone,
            },
            (Of::Folder(below), _) => match below.read(&item.path, LARGEST) {
                Ok(ReadBelow::Bytes(bytes)) => Got::Bytes(bytes),
                Ok(ReadBelow::TooLarge(size)) => Got::TooLarge(size),
                Ok(ReadBelow::NotAFile) | Err(_) => Got::Gone,
            },
            (Of::Commit(..), None) => Got::Gone,
        }
    }

    /// Where a link leads, in its own words.
    pub(super) fn leads(&self, item: &Item) -> Option<String> {
        let target = match (&self.of, &item.blob) {
            (Of::Commit(repo, _), Some(blob)) => repo.bytes_of(blob, LONGEST_PATH as u64).ok()?.ok()?,
            (Of::Folder(below), _) => below.leads(&item.path).ok()?,
            (Of::Commit(..), None) => return None,
        };
        Some(RepoPath::new(target).to_string())
    }
}

fn what(stands: Stands) -> What {
    match stands {
        Stands::File { .. } => What::File,
        Stands::Link => What::Link,
        Stands::Folder | Stands::Other => What::Other,
    }
}

/// git's own folder is no content.
fn is_git(path: &RepoPath) -> bool {
    path.as_bytes().split(|byte| *byte == b'/').any(|part| part == b".git")
}

fn unreadable(error: &std::io::Error) -> Refused {
    Refused::new(format!("The content can't be read: {error}."), "Call again; if it stays so, tell a person.")
}

fn no_tree(error: &repo::Error) -> Refused {
    Refused::new(format!("The commit can't be read: {error}."), "Fetch what is missing, and call again.")
}

/// Whether these are the bytes of no text.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(TELLING).any(|byte| *byte == 0)
}

/// A path that an agent names, from the root of the content.
pub(super) fn path_of(text: &str) -> Result<RepoPath, Refused> {
    let next = "Name a path from the root of the content, such as `src/lamp.rs`, as `ls` and `glob` tell it.";
    if text.len() > LONGEST_PATH {
        return Err(Refused::new(format!("A path of more than {LONGEST_PATH} bytes is none."), next));
    }
    let trimmed = text.strip_suffix('/').unwrap_or(text);
    if matches!(trimmed, "" | ".") && !text.starts_with('/') {
        return Ok(RepoPath::from(""));
    }
    let wrong =
        |why: &str| Refused::new(format!("{} {why}.", quoted(&text.chars().take(200).collect::<String>())), next);
    let path = RepoPath::parse(trimmed).map_err(|_| wrong("is not a quoted path"))?;
    if text.starts_with('/') || path.as_bytes().starts_with(b"/") {
        return Err(wrong("begins outside of the content"));
    }
    for part in path.as_bytes().split(|byte| *byte == b'/') {
        match part {
            b".." => return Err(wrong("leads out of a folder, and paths lead down")),
            b"" | b"." => return Err(wrong("has a part that says nothing")),
            part if part.contains(&0) => return Err(wrong("has a NUL")),
            _ => {}
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests;
