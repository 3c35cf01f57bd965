//! What of a task is to be seen in the content of a change: read by the caller, judged in [`super::change`].

use std::collections::{BTreeMap, BTreeSet};

use super::pass::Changed;
use super::shown::candidates;
use super::{STATE, Sheet};
use crate::ids::{CommitId, Digest};
use crate::ledger::About;
use crate::ledger::task::Task;
use crate::repo::{Delta, Error, Filter, Mode, Reader, RepoPath, Result, blob_of};

/// More folders of tasks in one change are not named.
const MOST_FOLDERS: usize = 5;
/// `EVIDENCE.md` is read so far, in bytes.
const LONGEST_EVIDENCE: usize = 1024 * 1024;

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub folder: Folder,
    /// `STATE.md`; none where it is gone.
    pub after: Option<Vec<u8>>,
    /// The same, as it was when the task came to the phase that it is in.
    pub before: Option<Sheet>,
    /// The files that are different since then. None: what was there then is gone, so nobody can tell.
    pub changed: Option<Vec<Changed>>,
    /// `EVIDENCE.md`.
    pub evidence: String,
    /// Files below the task's folder, by their paths in it; with 0 where one has nothing in it, else with 1.
    pub files: Vec<(String, u64)>,
    /// What the change is made of, but for the claim: what leads back to it is no news.
    pub content: Digest,
    /// The paths that `Evidence location` may mean and that are there.
    pub located: BTreeSet<String>,
}

impl Look {
    /// Of a change that is no task, or of which nobody can tell which one.
    fn at(folder: Folder, content: Digest) -> Self {
        let (evidence, files, located) = (String::new(), Vec::new(), BTreeSet::new());
        Self { folder, after: None, before: None, changed: None, evidence, files, content, located }
    }
}

/// The folder of the task that a change is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Folder {
    /// The change has no `STATE.md`.
    #[default]
    None,
    One(String),
    /// It has several, and no record says which it is: these.
    Several(Vec<String>),
}

impl Folder {
    /// Of the `STATE.md` files that a change brings.
    pub fn of(mut folders: Vec<String>) -> Self {
        match folders.len() {
            0 => Self::None,
            1 => Self::One(folders.remove(0)),
            _ => Self::Several(folders),
        }
    }

    pub fn one(&self) -> Option<&str> {
        match self {
            Self::One(folder) => Some(folder),
            Self::None | Self::Several(_) => None,
        }
    }
}

/// Looks at a change. `deltas` are what it is made of.
pub fn look<R: Reader + ?Sized>(
    reader: &R,
    about: (&CommitId, &CommitId),
    deltas: &[Delta],
    task: Option<&Task>,
) -> Result<Look> {
    let (base, head) = about;
    let folder = match task {
        Some(task) => Folder::One(task.folder.clone()),
        None => Folder::of(folders(deltas)),
    };
    let Some(at) = folder.one().map(str::to_owned) else {
        return Ok(Look::at(folder, Digest::of("no task")));
    };
    let claim = path(&at, STATE);
    let parts = deltas.iter().filter(|delta| delta.path != claim).map(|delta| {
        let new = delta.new.as_ref().map(|(mode, blob)| format!("{mode} {blob}")).unwrap_or_default();
        format!("{}\0{new}", delta.path)
    });
    let content = Digest::of_parts(parts);
    let after = text(reader, head, &claim)?;
    let sheet = after.as_deref().and_then(|bytes| super::read(STATE, bytes).ok());
    let then = task.and_then(|task| task.at.as_ref());
    let changed = match then {
        Some(then) => since(reader, then, (base, head)),
        None => {
            Some(deltas.iter().map(|delta| Changed { path: name(&delta.path), gone: delta.new.is_none() }).collect())
        }
    };
    let before = then.and_then(|then| text(reader, &then.head, &claim).ok().flatten());
    let before = before.and_then(|bytes| super::read(STATE, &bytes).ok());
    let evidence = text(reader, head, &path(&at, "EVIDENCE.md"))?.unwrap_or_default();
    let evidence = String::from_utf8_lossy(evidence.get(..LONGEST_EVIDENCE).unwrap_or(&evidence)).into_owned();
    let mut located = BTreeSet::new();
    for path in sheet.iter().flat_map(|sheet| candidates(&at, sheet)) {
        if reader.mode(head, &path)?.is_some() {
            located.insert(path.to_string());
        }
    }
    Ok(Look { files: files(reader, head, &at)?, folder, after, before, changed, evidence, content, located })
}

/// The folders of the `STATE.md` files that a change brings or edits.
fn folders(deltas: &[Delta]) -> Vec<String> {
    let there = deltas.iter().filter(|delta| delta.new.is_some()).map(|delta| name(&delta.path));
    let folders = there.filter_map(|path| Some(path.strip_suffix(STATE)?.strip_suffix('/')?.to_owned()));
    folders.take(MOST_FOLDERS).collect()
}

/// The files that are different from what the task had then: on whatever base it stands now, what the change is made of is compared.
fn since<R: Reader + ?Sized>(reader: &R, then: &About, (base, head): (&CommitId, &CommitId)) -> Option<Vec<Changed>> {
    let made = |base: &CommitId, head: &CommitId| {
        let deltas = reader.diff(base, head).ok()?;
        Some(deltas.into_iter().map(|delta| (delta.path, delta.new)).collect::<BTreeMap<_, _>>())
    };
    let (before, now) = (made(&then.base, &then.head)?, made(base, head)?);
    let paths: BTreeSet<&RepoPath> = before.keys().chain(now.keys()).collect();
    let changed = paths.into_iter().filter(|path| before.get(path) != now.get(path));
    let gone = |path: &RepoPath| now.get(path).is_some_and(Option::is_none);
    Some(changed.map(|path| Changed { path: name(path), gone: gone(path) }).collect())
}

fn files<R: Reader + ?Sized>(reader: &R, head: &CommitId, folder: &str) -> Result<Vec<(String, u64)>> {
    let (below, empty) = (format!("{folder}/"), blob_of(b""));
    let entries = reader.tree(head, Filter::Under(&RepoPath::from(folder)))?;
    let inside = entries.into_iter().filter_map(|entry| {
        let size = u64::from(Some(&entry.blob) != empty.as_ref());
        Some((name(&entry.path).strip_prefix(&below)?.to_owned(), size))
    });
    Ok(inside.collect())
}

/// A file's bytes; none where it is no file that can be read.
fn text<R: Reader + ?Sized>(reader: &R, at: &CommitId, path: &RepoPath) -> Result<Option<Vec<u8>>> {
    match reader.blob(at, path) {
        Ok(blob) => Ok(blob.filter(|blob| blob.mode != Mode::SYMLINK).map(|blob| blob.bytes)),
        Err(Error::TooLarge { .. } | Error::NotAFile(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn path(folder: &str, file: &str) -> RepoPath {
    RepoPath::from(format!("{folder}/{file}").as_str())
}

fn name(path: &RepoPath) -> String {
    String::from_utf8_lossy(path.as_bytes()).into_owned()
}

#[cfg(test)]
mod tests;
