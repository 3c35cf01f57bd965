//! The ledger in a local repository: a branch written with git2, moved only by compare-and-swap.

use std::path::{Path, PathBuf};

use git2::{ErrorCode, ObjectType, Oid, Repository, Signature, Tree};

use super::store::{Folder, NewFile, Store, StoreError};
use crate::ids::CommitId;

mod history;

pub use history::{Former, History, Undone};

pub struct LocalStore {
    path: PathBuf,
    branch: String,
}

impl LocalStore {
    pub fn new(path: &Path, branch: &str) -> Self {
        Self { path: path.to_owned(), branch: branch.to_owned() }
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    fn open(&self) -> Result<Repository, StoreError> {
        Repository::open(&self.path).map_err(|e| StoreError::Unreachable(e.message().to_owned()))
    }

    fn tip(&self, repo: &Repository) -> Result<Option<Oid>, StoreError> {
        match repo.refname_to_id(&self.reference()) {
            Ok(oid) => Ok(Some(oid)),
            Err(e) if e.code() == ErrorCode::NotFound => Ok(None),
            Err(e) => Err(refused(&e)),
        }
    }

    /// Runs git2, which blocks, where blocking does no harm.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&LocalStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let this = Self { path: self.path.clone(), branch: self.branch.clone() };
        tokio::task::spawn_blocking(move || work(&this)).await.map_err(|e| StoreError::Unreachable(e.to_string()))?
    }
}

fn refused(error: &git2::Error) -> StoreError {
    StoreError::Refused(error.message().to_owned())
}

fn commit_id(oid: Oid) -> Result<CommitId, StoreError> {
    CommitId::new(oid.to_string()).map_err(|e| StoreError::Refused(e.to_string()))
}

/// Writes the file into the tree, path part by path part.
fn insert(repo: &Repository, tree: Option<&Tree<'_>>, parts: &[&str], blob: Oid) -> Result<Oid, git2::Error> {
    let mut builder = repo.treebuilder(tree)?;
    match parts {
        [] => return Err(git2::Error::from_str("an empty path")),
        [name] => drop(builder.insert(*name, blob, 0o100_644)?),
        [name, rest @ ..] => {
            let below = match tree.and_then(|tree| tree.get_name(name)) {
                Some(entry) => Some(repo.find_tree(entry.id())?),
                None => None,
            };
            let subtree = insert(repo, below.as_ref(), rest, blob)?;
            builder.insert(*name, subtree, 0o040_000)?;
        }
    }
    builder.write()
}

#[async_trait::async_trait]
impl Store for LocalStore {
    async fn head(&self) -> Result<Option<CommitId>, StoreError> {
        self.blocking(|store| store.tip(&store.open()?)?.map(commit_id).transpose()).await
    }

    async fn folder(&self, path: &str) -> Result<Folder, StoreError> {
        let path = path.to_owned();
        self.blocking(move |store| {
            let repo = store.open()?;
            let Some(tip) = store.tip(&repo)? else { return Ok(Folder::default()) };
            let root = repo.find_commit(tip).and_then(|commit| commit.tree()).map_err(|e| refused(&e))?;
            let mut folder = Folder { head: Some(commit_id(tip)?), ..Folder::default() };
            let entry = root.get_path(Path::new(&path)).ok().filter(|entry| entry.kind() == Some(ObjectType::Tree));
            let Some(entry) = entry else { return Ok(folder) };
            let tree = repo.find_tree(entry.id()).map_err(|e| refused(&e))?;
            for entry in tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Blob)) {
                let blob = repo.find_blob(entry.id()).map_err(|e| refused(&e))?;
                let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
                folder.files.insert(name, String::from_utf8_lossy(blob.content()).into_owned());
            }
            Ok(folder)
        })
        .await
    }

    async fn file(&self, path: &str) -> Result<Option<String>, StoreError> {
        let path = path.to_owned();
        self.blocking(move |store| {
            let repo = store.open()?;
            let Some(tip) = store.tip(&repo)? else { return Ok(None) };
            let root = repo.find_commit(tip).and_then(|commit| commit.tree()).map_err(|e| refused(&e))?;
            let Ok(entry) = root.get_path(Path::new(&path)) else { return Ok(None) };
            let blob = repo.find_blob(entry.id()).map_err(|e| refused(&e))?;
            Ok(Some(String::from_utf8_lossy(blob.content()).into_owned()))
        })
        .await
    }

    async fn names(&self, folders: &[String]) -> Result<Vec<Vec<String>>, StoreError> {
        let folders = folders.to_vec();
        self.blocking(move |store| {
            let repo = store.open()?;
            let Some(tip) = store.tip(&repo)? else { return Ok(vec![Vec::new(); folders.len()]) };
            let root = repo.find_commit(tip).and_then(|commit| commit.tree()).map_err(|e| refused(&e))?;
            let names = |path: &String| {
                let entry = root.get_path(Path::new(path)).ok()?;
                let tree = repo.find_tree(entry.id()).ok()?;
                Some(tree.iter().map(|entry| String::from_utf8_lossy(entry.name_bytes()).into_owned()).collect())
            };
            Ok(folders.iter().map(|path| names(path).unwrap_or_default()).collect())
        })
        .await
    }

    async fn commit(
        &self,
        expected: Option<&CommitId>,
        message: &str,
        files: &[NewFile],
    ) -> Result<CommitId, StoreError> {
        let (expected, message, files) = (expected.cloned(), message.to_owned(), files.to_vec());
        self.blocking(move |store| {
            let repo = store.open()?;
            let tip = store.tip(&repo)?;
            let wanted = expected.map(|id| Oid::from_str(id.as_str())).transpose().map_err(|e| refused(&e))?;
            if tip != wanted {
                return Err(StoreError::Conflict);
            }
            let parent = tip.map(|tip| repo.find_commit(tip)).transpose().map_err(|e| refused(&e))?;
            let mut tree = parent.as_ref().map(|parent| parent.tree()).transpose().map_err(|e| refused(&e))?;
            for file in &files {
                let written = repo
                    .blob(&file.bytes)
                    .and_then(|blob| insert(&repo, tree.as_ref(), &file.path.split('/').collect::<Vec<_>>(), blob))
                    .and_then(|oid| repo.find_tree(oid));
                tree = Some(written.map_err(|e| refused(&e))?);
            }
            let Some(tree) = tree else { return Err(StoreError::Refused("nothing to write".to_owned())) };
            let author = Signature::now("phasegate", "phasegate@users.noreply.github.com").map_err(|e| refused(&e))?;
            let parents: Vec<_> = parent.iter().collect();
            let new = repo.commit(None, &author, &author, &message, &tree, &parents).map_err(|e| refused(&e))?;
            // The swap: another writer may have moved the branch since it was read.
            let swapped = match tip {
                Some(old) => repo.reference_matching(&store.reference(), new, true, old, "append"),
                None => repo.reference(&store.reference(), new, false, "begin the ledger"),
            };
            match swapped {
                Ok(_) => commit_id(new),
                Err(e) if matches!(e.code(), ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked) => {
                    Err(StoreError::Conflict)
                }
                Err(e) => Err(refused(&e)),
            }
        })
        .await
    }
}
