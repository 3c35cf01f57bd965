//! Walking git's trees, in bounded time and memory.
//!
//! Own code instead of libgit2's diff: that one normalises modes and trusts trees to be well formed. Here a delta is
//! exactly what two trees say.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Oid, Repository};

use super::{Absent, Delta, Entry, Error, Filter, Mode, RepoPath, Result, TreeId};
use crate::ids::BlobId;

/// More entries than this are not walked: a few trees that hold each other ten times over list as many as they like.
const MAX_ENTRIES: usize = 1_000_000;
/// Deeper than any file system lets a path be.
const MAX_PATH: usize = 16 * 1024;

type Side = Option<(Mode, Oid)>;

pub(super) fn blob_id(oid: Oid) -> Result<BlobId> {
    BlobId::new(oid.to_string()).map_err(|e| Error::Malformed(e.to_string()))
}

pub(super) struct Walk<'r> {
    repo: &'r Repository,
    seen: usize,
}

impl<'r> Walk<'r> {
    pub(super) fn new(repo: &'r Repository) -> Self {
        Self { repo, seen: 0 }
    }

    /// The entries of one tree by name. A name twice, an empty one or one with a slash would let two different trees
    /// look alike.
    fn entries(&mut self, id: Oid, at: &RepoPath) -> Result<BTreeMap<Vec<u8>, (Mode, Oid)>> {
        let tree = self.repo.find_tree(id).map_err(|e| absent(e, || Ok(Absent::Tree(TreeId(id.to_string())))))?;
        self.seen += tree.len() + 1;
        if self.seen > MAX_ENTRIES {
            return Err(Error::TooMany(MAX_ENTRIES));
        }
        let mut entries = BTreeMap::new();
        for entry in &tree {
            let name = entry.name_bytes();
            let path = at.join(name);
            if name.is_empty() || name.contains(&b'/') || name == b"." || name == b".." {
                return Err(Error::Malformed(format!("the name of {path} is not allowed")));
            }
            if path.as_bytes().len() > MAX_PATH {
                return Err(Error::Malformed(format!("a path of more than {MAX_PATH} bytes")));
            }
            let mode = Mode::new(entry.filemode_raw() as u32);
            if entries.insert(name.to_vec(), (mode, entry.id())).is_some() {
                return Err(Error::Malformed(format!("{path} stands twice in its tree")));
            }
        }
        Ok(entries)
    }

    /// What stands at a path: a file, symlink, submodule or tree.
    pub(super) fn find(&mut self, root: Oid, path: &RepoPath) -> Result<Side> {
        let mut here = (Mode::TREE, root);
        let mut at = RepoPath::from("");
        for part in path.as_bytes().split(|b| *b == b'/') {
            if !here.0.is_tree() {
                return Ok(None);
            }
            match self.entries(here.1, &at)?.get(part) {
                Some(found) => here = *found,
                None => return Ok(None),
            }
            at = at.join(part);
        }
        Ok(Some(here))
    }

    pub(super) fn list(&mut self, root: Oid, filter: Filter<'_>) -> Result<Vec<Entry>> {
        let mut found = BTreeMap::new();
        let mut open = vec![(RepoPath::from(""), root)];
        while let Some((at, id)) = open.pop() {
            for (name, (mode, oid)) in self.entries(id, &at)? {
                let path = at.join(&name);
                let wanted = match filter {
                    Filter::All => true,
                    // On the way down to it, or below it.
                    Filter::Under(prefix) => path.is_under(prefix) || (mode.is_tree() && prefix.is_under(&path)),
                    Filter::Globs(globs) => mode.is_tree() || path.matches(globs),
                };
                if !wanted {
                    continue;
                }
                if mode.is_tree() {
                    open.push((path, oid));
                } else {
                    found.insert(path, (mode, oid));
                }
            }
        }
        found.into_iter().map(|(path, (mode, oid))| Ok(Entry { path, mode, blob: blob_id(oid)? })).collect()
    }

    pub(super) fn diff(&mut self, from: Oid, to: Oid) -> Result<Vec<Delta>> {
        self.changed(Some(from), Some(to))
    }

    /// The same, where a side may be nothing at all.
    pub(super) fn changed(&mut self, from: Option<Oid>, to: Option<Oid>) -> Result<Vec<Delta>> {
        let mut found: BTreeMap<RepoPath, (Side, Side)> = BTreeMap::new();
        let mut open = vec![(RepoPath::from(""), from, to)];
        while let Some((at, from, to)) = open.pop() {
            if from == to {
                continue;
            }
            let old = from.map_or(Ok(BTreeMap::new()), |id| self.entries(id, &at))?;
            let new = to.map_or(Ok(BTreeMap::new()), |id| self.entries(id, &at))?;
            let names: BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
            for name in names {
                let (a, b) = (old.get(name).copied(), new.get(name).copied());
                if a == b {
                    continue;
                }
                let path = at.join(name);
                let split = |side: Side| match side {
                    Some((mode, id)) if mode.is_tree() => (Some(id), None),
                    other => (None, other),
                };
                let ((old_tree, old_leaf), (new_tree, new_leaf)) = (split(a), split(b));
                if old_tree.is_some() || new_tree.is_some() {
                    open.push((path.clone(), old_tree, new_tree));
                }
                if old_leaf != new_leaf {
                    found.insert(path, (old_leaf, new_leaf));
                }
            }
        }
        let side = |side: Side| side.map(|(mode, oid)| blob_id(oid).map(|blob| (mode, blob))).transpose();
        found.into_iter().map(|(path, (old, new))| Ok(Delta { path, old: side(old)?, new: side(new)? })).collect()
    }
}

/// An error about an object that is not there carries its id: it may only not have been fetched.
pub(super) fn absent(error: git2::Error, what: impl FnOnce() -> Result<Absent>) -> Error {
    match error.code() {
        git2::ErrorCode::NotFound => what().map_or_else(|error| error, |what| Error::Absent(vec![what])),
        _ => Error::Git(error),
    }
}

/// A tree as git writes it: in the order of the names, where a directory counts as if its name ended in a slash.
pub(super) fn written<'e>(entries: impl IntoIterator<Item = (&'e [u8], Mode, Oid)>) -> Vec<u8> {
    let mut entries: Vec<(&[u8], Mode, Oid)> = entries.into_iter().collect();
    let key = |(name, mode, _): &(&'e [u8], Mode, Oid)| name.iter().copied().chain(mode.is_tree().then_some(b'/'));
    entries.sort_by(|one, other| key(one).cmp(key(other)));
    let mut bytes = Vec::new();
    for (name, mode, id) in entries {
        bytes.extend_from_slice(format!("{:o} ", mode.bits()).as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(id.as_bytes());
    }
    bytes
}

/// Writes the trees of an index that has no conflicts, and answers the root. libgit2's own way looks at every file of it
/// whether it is there; of files that nobody asked for it is not.
pub(super) fn plant(odb: &git2::Odb<'_>, index: &git2::Index) -> Result<Oid> {
    type Open = (Vec<u8>, Vec<(Vec<u8>, Mode, Oid)>);
    let close = |entries: Vec<(Vec<u8>, Mode, Oid)>| {
        let tree = written(entries.iter().map(|(name, mode, id)| (name.as_slice(), *mode, *id)));
        odb.write(git2::ObjectType::Tree, &tree)
    };
    // The directories that are being filled, from the root down.
    let mut open: Vec<Open> = vec![Default::default()];
    let leave = |open: &mut Vec<Open>| -> Result<()> {
        if let Some((name, entries)) = open.pop()
            && let Some((_, above)) = open.last_mut()
        {
            above.push((name, Mode::TREE, close(entries)?));
        }
        Ok(())
    };
    // The index is in the order of its paths, so a directory that was left does not come again.
    for entry in index.iter() {
        let mut parts: Vec<&[u8]> = entry.path.split(|byte| *byte == b'/').collect();
        let Some(name) = parts.pop() else { continue };
        let same = open.iter().skip(1).zip(&parts).take_while(|((dir, _), part)| dir == *part).count();
        while open.len() > same + 1 {
            leave(&mut open)?;
        }
        open.extend(parts[same..].iter().map(|part| (part.to_vec(), Vec::new())));
        if let Some((_, entries)) = open.last_mut() {
            entries.push((name.to_vec(), Mode::new(entry.mode), entry.id));
        }
    }
    while open.len() > 1 {
        leave(&mut open)?;
    }
    Ok(close(open.pop().map(|(_, entries)| entries).unwrap_or_default())?)
}

/// An error about an object that is not there says so by its name.
pub(super) fn missing(error: git2::Error, what: impl FnOnce() -> String) -> Error {
    if error.code() == git2::ErrorCode::NotFound { Error::Missing(what()) } else { Error::Git(error) }
}
