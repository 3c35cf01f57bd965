//! By git's own data: where there is no GraphQL.
//!
//! Read by the branch's ref, the trees on the way down to the folder, and a blob for each file; all of one commit, so
//! nobody's write in between is seen by half. Written by a tree, a commit and the branch moved forward, which fails where
//! another was faster. An object never changes under its id: what was read once is not asked for again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{StreamExt as _, TryStreamExt as _};

use super::{Place, Result, entries, store_error};
use crate::fault::around;
use crate::github::calls::git::TreeId;
use crate::github::calls::objects::GitEntry;
use crate::ids::{BlobId, CommitId};
use crate::ledger::store::{Folder, NewFile, Store, StoreError};

/// So many files are asked for at a time. GitHub lets nobody ask for more than a hundred things at once, and there may be
/// others.
const AT_ONCE: usize = 8;

/// So much of what was read is kept; after that it is begun anew. A record has about a thousand bytes.
const MOST_KEPT: usize = 16 * 1024 * 1024;

const TREE: &str = "40000";

pub(super) struct Road {
    at: Place,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    roots: HashMap<CommitId, TreeId>,
    trees: HashMap<TreeId, Arc<Vec<GitEntry>>>,
    /// None: it is no text.
    texts: HashMap<BlobId, Option<String>>,
    bytes: usize,
}

impl Kept {
    fn makes_room_for(&mut self, bytes: usize) {
        if self.bytes + bytes > MOST_KEPT {
            *self = Self::default();
        }
        self.bytes += bytes;
    }
}

/// The branch as it was at one moment.
struct Moment {
    head: Option<CommitId>,
    root: Option<TreeId>,
}

fn is_tree(entry: &GitEntry) -> bool {
    entry.mode.trim_start_matches('0') == TREE
}

/// A file. A link's text is where it leads to, and a submodule has none: neither was written by us.
fn is_file(entry: &GitEntry) -> bool {
    entry.mode.starts_with("100")
}

impl Road {
    pub(super) fn new(at: Place) -> Self {
        Self { at, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn now(&self) -> Result<Moment> {
        let head = self.at.head().await?;
        let root = match &head {
            Some(head) => Some(self.root(head).await?),
            None => None,
        };
        Ok(Moment { head, root })
    }

    async fn root(&self, commit: &CommitId) -> Result<TreeId> {
        if let Some(root) = self.kept().roots.get(commit) {
            return Ok(root.clone());
        }
        let root = self.at.repo.tree_of(commit).await.map_err(store_error)?;
        let mut kept = self.kept();
        kept.makes_room_for(2 * root.0.len());
        kept.roots.insert(commit.clone(), root.clone());
        Ok(root)
    }

    async fn tree(&self, id: &TreeId) -> Result<Arc<Vec<GitEntry>>> {
        if let Some(tree) = self.kept().trees.get(id) {
            return Ok(Arc::clone(tree));
        }
        let tree = match self.at.repo.tree(id, false).await.map_err(store_error)? {
            Some(tree) if tree.truncated => {
                return Err(StoreError::Refused(format!("a folder of the ledger has too many entries ({})", id.0)));
            }
            Some(tree) => Arc::new(tree.entries),
            // Its commit is there, so it is a replica that has not heard of it.
            None => return Err(StoreError::Unreachable(format!("GitHub does not have the tree {} yet", id.0))),
        };
        let mut kept = self.kept();
        kept.makes_room_for(tree.iter().map(|entry| entry.path.len() + entry.sha.len()).sum());
        kept.trees.insert(id.clone(), Arc::clone(&tree));
        Ok(tree)
    }

    /// What stands at a path.
    async fn find(&self, root: Option<&TreeId>, path: &str) -> Result<Option<GitEntry>> {
        let Some(root) = root else { return Ok(None) };
        let mut here = GitEntry { path: String::new(), mode: TREE.to_owned(), sha: root.0.clone() };
        for part in path.split('/') {
            if !is_tree(&here) {
                return Ok(None);
            }
            match self.tree(&TreeId(here.sha)).await?.iter().find(|entry| entry.path == part) {
                Some(found) => here = found.clone(),
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    async fn entries(&self, root: Option<&TreeId>, folder: &str) -> Result<Arc<Vec<GitEntry>>> {
        match self.find(root, folder).await? {
            Some(found) if is_tree(&found) => self.tree(&TreeId(found.sha)).await,
            _ => Ok(Arc::default()),
        }
    }

    async fn text(&self, entry: &GitEntry) -> Result<Option<String>> {
        let malformed = |_| StoreError::Unreachable(format!("GitHub gives no id for {}", entry.path));
        let id = BlobId::new(&entry.sha).map_err(malformed)?;
        if let Some(text) = self.kept().texts.get(&id) {
            return Ok(text.clone());
        }
        let text = String::from_utf8(self.at.repo.blob(&id).await.map_err(store_error)?).ok();
        let mut kept = self.kept();
        kept.makes_room_for(id.as_str().len() + text.as_ref().map_or(0, String::len));
        kept.texts.insert(id, text.clone());
        Ok(text)
    }

    async fn files(&self, root: Option<&TreeId>, folder: &str) -> Result<BTreeMap<String, String>> {
        let entries = self.entries(root, folder).await?;
        let files: Vec<GitEntry> = entries.iter().filter(|entry| is_file(entry)).cloned().collect();
        let asked: Vec<_> = files.into_iter().map(|file| self.named(file)).collect();
        let files: Vec<Option<(String, String)>> = futures::stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
        Ok(files.into_iter().flatten().collect())
    }

    async fn named(&self, file: GitEntry) -> Result<Option<(String, String)>> {
        Ok(self.text(&file).await?.map(|text| (file.path, text)))
    }
}

#[async_trait::async_trait]
impl Store for Road {
    async fn head(&self) -> Result<Option<CommitId>> {
        self.at.head().await
    }

    async fn folder(&self, path: &str) -> Result<Folder> {
        let Moment { head, root } = self.now().await?;
        Ok(Folder { head, files: self.files(root.as_ref(), path).await? })
    }

    async fn folders(&self, paths: &[String]) -> Result<Vec<BTreeMap<String, String>>> {
        let now = self.now().await?;
        let mut all = Vec::new();
        for path in paths {
            all.push(self.files(now.root.as_ref(), path).await?);
        }
        Ok(all)
    }

    async fn file(&self, path: &str) -> Result<Option<String>> {
        let now = self.now().await?;
        match self.find(now.root.as_ref(), path).await?.filter(is_file) {
            Some(file) => self.text(&file).await,
            None => Ok(None),
        }
    }

    async fn names(&self, folders: &[String]) -> Result<Vec<Vec<String>>> {
        let now = self.now().await?;
        let mut all = Vec::new();
        for folder in folders {
            let entries = self.entries(now.root.as_ref(), folder).await?;
            all.push(entries.iter().map(|entry| entry.path.clone()).collect());
        }
        Ok(all)
    }

    async fn commit(&self, expected: Option<&CommitId>, message: &str, files: &[NewFile]) -> Result<CommitId> {
        let Some(expected) = expected else { return self.at.begin(message, files).await };
        let files = entries(files)?;
        let made = self.at.repo.append_commit(&self.at.branch, expected, message, &files);
        around!("ledger.commit", made.await).map_err(store_error)
    }
}
