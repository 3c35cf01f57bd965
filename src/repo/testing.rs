//! Small real repositories for tests.

use std::collections::BTreeMap;
use std::path::Path;

use git2::{ObjectType, Oid, Repository, Signature, Time};

use crate::ids::CommitId;
use crate::repo::LocalRepo;

/// A file of a test: its mode and content; for a submodule, the hexadecimal commit.
pub(crate) type File<'a> = (&'a [u8], u32, &'a [u8]);

type Files = BTreeMap<Vec<u8>, (u32, Vec<u8>)>;

pub(crate) struct Scratch {
    /// Removed with it.
    _dir: tempfile::TempDir,
    repo: Repository,
    clock: std::cell::Cell<i64>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        Self { _dir: dir, repo, clock: std::cell::Cell::new(1_700_000_000) }
    }

    /// The same repository, once more. Whoever made it keeps it.
    pub(crate) fn at(path: &Path) -> Self {
        let (dir, repo) = (tempfile::tempdir().unwrap(), Repository::open_bare(path).unwrap());
        Self { _dir: dir, repo, clock: std::cell::Cell::new(1_800_000_000) }
    }

    /// A minute later than the last commit.
    pub(crate) fn tick(&self) -> i64 {
        self.clock.set(self.clock.get() + 60);
        self.clock.get()
    }

    pub(crate) fn path(&self) -> &Path {
        self.repo.path()
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    pub(crate) fn reader(&self) -> LocalRepo {
        LocalRepo::open(self.path()).unwrap()
    }

    /// A commit of exactly these files.
    pub(crate) fn commit(&self, parents: &[&CommitId], files: &[File<'_>]) -> CommitId {
        let files: Files =
            files.iter().map(|(path, mode, content)| (path.to_vec(), (*mode, content.to_vec()))).collect();
        self.commit_tree(parents, self.tree(&files))
    }

    /// A commit of plain text files.
    pub(crate) fn text(&self, parents: &[&CommitId], files: &[(&str, &str)]) -> CommitId {
        let files: Vec<File<'_>> =
            files.iter().map(|(path, content)| (path.as_bytes(), 0o100_644, content.as_bytes())).collect();
        self.commit(parents, &files)
    }

    pub(crate) fn commit_tree(&self, parents: &[&CommitId], tree: Oid) -> CommitId {
        let who = Signature::new("A", "a@example.com", &Time::new(self.tick(), 0)).unwrap();
        let parents: Vec<git2::Commit<'_>> =
            parents.iter().map(|id| self.repo.find_commit(Oid::from_str(id.as_str()).unwrap()).unwrap()).collect();
        let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
        let tree = self.repo.find_tree(tree).unwrap();
        let id = self.repo.commit(None, &who, &who, "a commit\n\nPhasegate-Claim: build\n", &tree, &parents).unwrap();
        CommitId::new(id.to_string()).unwrap()
    }

    /// A tree as written, well formed or not.
    pub(crate) fn raw_tree(&self, entries: &[(u32, &[u8], Oid)]) -> Oid {
        let mut raw = Vec::new();
        for (mode, name, id) in entries {
            raw.extend_from_slice(format!("{mode:o} ").as_bytes());
            raw.extend_from_slice(name);
            raw.push(0);
            raw.extend_from_slice(id.as_bytes());
        }
        self.repo.odb().unwrap().write(ObjectType::Tree, &raw).unwrap()
    }

    pub(crate) fn blob(&self, content: &[u8]) -> Oid {
        self.repo.blob(content).unwrap()
    }

    fn tree(&self, files: &Files) -> Oid {
        let mut here: BTreeMap<Vec<u8>, (u32, Oid)> = BTreeMap::new();
        let mut below: BTreeMap<Vec<u8>, Files> = BTreeMap::new();
        for (path, (mode, content)) in files {
            match path.iter().position(|b| *b == b'/') {
                Some(i) => {
                    let sub = below.entry(path[..i].to_vec()).or_default();
                    sub.insert(path[i + 1..].to_vec(), (*mode, content.clone()));
                }
                None if *mode == 0o160_000 => {
                    let id = Oid::from_str(std::str::from_utf8(content).unwrap()).unwrap();
                    here.insert(path.clone(), (*mode, id));
                }
                None => {
                    here.insert(path.clone(), (*mode, self.blob(content)));
                }
            }
        }
        for (name, files) in below {
            here.insert(name, (0o040_000, self.tree(&files)));
        }
        let mut entries: Vec<(u32, &[u8], Oid)> =
            here.iter().map(|(name, (mode, id))| (*mode, name.as_slice(), *id)).collect();
        // Git sorts a directory as if its name ended in a slash.
        entries.sort_by_key(|(mode, name, _)| {
            let mut key = name.to_vec();
            key.extend((*mode == 0o040_000).then_some(b'/'));
            key
        });
        self.raw_tree(&entries)
    }

    pub(crate) fn point(&self, name: &str, at: &CommitId) {
        self.repo.reference(name, Oid::from_str(at.as_str()).unwrap(), true, "test").unwrap();
    }

    /// Names another repository, in place of what had the name.
    pub(crate) fn remote(&self, name: &str, url: &str) {
        let _ = self.repo.remote_delete(name);
        self.repo.remote(name, url).unwrap();
    }
}
