//! The ledger's branch on GitHub.
//!
//! There are two roads to it, and each keeps the store's promises by itself: `graphql` reads a folder in one query and
//! writes with one commit that names the head it expects; `rest` does the same in several steps, where GraphQL is
//! missing. Which one it is, is found out by walking the first: a GitHub that turns out to have no GraphQL has done
//! nothing of what it was asked.

mod graphql;
mod rest;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use futures::future::BoxFuture;

use super::calls::git::TreeEntry;
use super::{Error, Part, Repo};
use crate::fault::around;
use crate::ids::CommitId;
use crate::ledger::store::{Folder, NewFile, Store, StoreError};

type Result<T> = std::result::Result<T, StoreError>;

pub struct GitHubStore {
    repo: Repo,
    graphql: graphql::Road,
    rest: rest::Road,
}

impl GitHubStore {
    pub fn new(repo: Repo, branch: &str) -> Self {
        Self::at(Place { repo, branch: branch.to_owned(), was: None })
    }

    /// The branch as it was at a commit that it may not lead to any more. It can be read.
    pub fn as_it_was(repo: Repo, branch: &str, at: CommitId) -> Self {
        Self::at(Place { repo, branch: branch.to_owned(), was: Some(at) })
    }

    fn at(place: Place) -> Self {
        Self { repo: place.repo.clone(), graphql: graphql::Road::new(place.clone()), rest: rest::Road::new(place) }
    }

    async fn walk<'s, T>(&'s self, go: impl Fn(&'s dyn Store) -> BoxFuture<'s, Result<T>>) -> Result<T> {
        let lacks = || self.repo.hub().lacks(Part::Graphql);
        if !lacks() {
            let gone = go(&self.graphql).await;
            if gone.is_ok() || !lacks() {
                return gone;
            }
        }
        go(&self.rest).await
    }
}

/// A branch of a repository.
#[derive(Clone)]
struct Place {
    repo: Repo,
    branch: String,
    /// What is read is not where it is now, but this.
    was: Option<CommitId>,
}

impl Place {
    async fn head(&self) -> Result<Option<CommitId>> {
        match &self.was {
            Some(was) => Ok(Some(was.clone())),
            None => self.repo.branch_head(&self.branch).await.map_err(store_error),
        }
    }

    /// A path in it, as GraphQL takes it.
    fn expression(&self, path: &str) -> String {
        match &self.was {
            Some(was) => format!("{was}:{path}"),
            // The whole name: of a short one a tag would come first, and tags are for anyone with write access.
            None => format!("refs/heads/{}:{path}", self.branch),
        }
    }

    /// Makes the branch, as an orphan with its first files. A ref can be made only once, so of two that begin at the
    /// same time one is told that the branch has moved.
    async fn begin(&self, message: &str, files: &[NewFile]) -> Result<CommitId> {
        let tree = self.repo.create_tree(None, &entries(files)?).await.map_err(store_error)?;
        let commit = self.repo.create_commit(message, &tree, &[]).await.map_err(store_error)?;
        let name = format!("heads/{}", self.branch);
        match around!("ledger.begin", self.repo.create_ref(&name, &commit).await) {
            Ok(true) => Ok(commit),
            Ok(false) => Err(StoreError::Conflict),
            Err(error) => Err(store_error(error)),
        }
    }
}

/// Files as a tree takes them: as text.
fn entries(files: &[NewFile]) -> Result<Vec<TreeEntry>> {
    let entry = |file: &NewFile| match String::from_utf8(file.bytes.clone()) {
        Ok(text) => Ok(TreeEntry::file(file.path.clone(), text)),
        Err(_) => Err(StoreError::Refused(format!("{} is not text", file.path))),
    };
    files.iter().map(entry).collect()
}

/// What the ledger can do about an error.
fn store_error(error: Error) -> StoreError {
    match error {
        Error::StaleHead | Error::Conflict { .. } => StoreError::Conflict,
        Error::RateLimited { until, .. } => StoreError::Later { until },
        error if error.is_unclear() => StoreError::Unclear(error.to_string()),
        error if error.is_transient() => StoreError::Unreachable(error.to_string()),
        error if error.lacks_permission().is_some() => StoreError::NotPermitted(error.to_string()),
        error => StoreError::Refused(error.to_string()),
    }
}

#[async_trait::async_trait]
impl Store for GitHubStore {
    async fn head(&self) -> Result<Option<CommitId>> {
        self.walk(|road| road.head()).await
    }

    async fn folder(&self, path: &str) -> Result<Folder> {
        self.walk(|road| Box::pin(async move { road.folder(path).await })).await
    }

    async fn folders(&self, paths: &[String]) -> Result<Vec<BTreeMap<String, String>>> {
        self.walk(|road| Box::pin(async move { road.folders(paths).await })).await
    }

    async fn file(&self, path: &str) -> Result<Option<String>> {
        self.walk(|road| Box::pin(async move { road.file(path).await })).await
    }

    async fn names(&self, folders: &[String]) -> Result<Vec<Vec<String>>> {
        self.walk(|road| Box::pin(async move { road.names(folders).await })).await
    }

    async fn commit(&self, expected: Option<&CommitId>, message: &str, files: &[NewFile]) -> Result<CommitId> {
        self.walk(|road| Box::pin(async move { road.commit(expected, message, files).await })).await
    }
}
