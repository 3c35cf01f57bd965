//! The ledger's branch on GitHub: read with one tree query, written with one commit that names the head it expects.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::calls::git::{Addition, TreeEntry};
use super::{Error, Repo};
use crate::fault::around;
use crate::ids::{BlobId, CommitId};
use crate::ledger::store::{Folder, NewFile, Store, StoreError};

pub struct GitHubStore {
    repo: Repo,
    branch: String,
}

impl GitHubStore {
    pub fn new(repo: Repo, branch: &str) -> Self {
        Self { repo, branch: branch.to_owned() }
    }

    /// Makes the branch, as an orphan with its first files. A ref can be made only once, so of two that begin at the
    /// same time one is told that the branch has moved.
    async fn begin(&self, message: &str, files: &[NewFile]) -> Result<CommitId, StoreError> {
        let mut entries = Vec::new();
        for file in files {
            let text = String::from_utf8(file.bytes.clone())
                .map_err(|_| StoreError::Refused(format!("{} is not text", file.path)))?;
            entries.push(TreeEntry::file(file.path.clone(), text));
        }
        let tree = self.repo.create_tree(None, &entries).await.map_err(store_error)?;
        let commit = self.repo.create_commit(message, &tree, &[]).await.map_err(store_error)?;
        match self.repo.create_ref(&format!("heads/{}", self.branch), &commit).await {
            Ok(true) => Ok(commit),
            Ok(false) => Err(StoreError::Conflict),
            Err(error) => Err(store_error(error)),
        }
    }
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

#[derive(Deserialize)]
struct Asked {
    repository: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    #[serde(rename = "ref")]
    branch: Option<Branch>,
    object: Option<Object>,
}

#[derive(Deserialize)]
struct Branch {
    target: Oid,
}

#[derive(Deserialize)]
struct Oid {
    oid: CommitId,
}

#[derive(Deserialize)]
struct Object {
    entries: Option<Vec<Entry>>,
    oid: Option<BlobId>,
    text: Option<String>,
    #[serde(default, rename = "isTruncated")]
    truncated: bool,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    object: Option<Object>,
}

#[derive(Deserialize)]
struct Listed {
    repository: Option<BTreeMap<String, Option<Object>>>,
}

const FOLDER: &str = "query($owner: String!, $name: String!, $ref: String!, $at: String!) { \
    repository(owner: $owner, name: $name) { \
    ref(qualifiedName: $ref) { target { oid } } \
    object(expression: $at) { ... on Tree { entries { name object { ... on Blob { oid text isTruncated } } } } } } }";

const FILE: &str = "query($owner: String!, $name: String!, $ref: String!, $at: String!) { \
    repository(owner: $owner, name: $name) { \
    ref(qualifiedName: $ref) { target { oid } } \
    object(expression: $at) { ... on Blob { oid text isTruncated } } } }";

impl GitHubStore {
    async fn ask(&self, query: &str, path: &str) -> Result<Repository, StoreError> {
        let variables = json!({
            "owner": self.repo.slug().owner(),
            "name": self.repo.slug().name(),
            "ref": format!("refs/heads/{}", self.branch),
            // The whole name: of a short one a tag would come first, and tags are for anyone with write access.
            "at": format!("refs/heads/{}:{path}", self.branch),
        });
        let asked: Asked = self.repo.graphql(query, variables).await.map_err(store_error)?;
        asked.repository.ok_or_else(|| StoreError::Refused(format!("{} can't be seen", self.repo.slug())))
    }

    /// These folders in one query, with so much of their entries.
    async fn trees(&self, folders: &[String], entry: &str) -> Result<Vec<Option<Object>>, StoreError> {
        let mut variables = json!({ "owner": self.repo.slug().owner(), "name": self.repo.slug().name() });
        let (mut declared, mut asked) = (String::new(), String::new());
        for (at, path) in folders.iter().enumerate() {
            declared.push_str(&format!(", $at{at}: String!"));
            asked.push_str(&format!(
                "at{at}: object(expression: $at{at}) {{ ... on Tree {{ entries {{ {entry} }} }} }} "
            ));
            variables[format!("at{at}")] = format!("refs/heads/{}:{path}", self.branch).into();
        }
        let query = format!(
            "query($owner: String!, $name: String!{declared}) {{ repository(owner: $owner, name: $name) {{ {asked}}} }}"
        );
        let asked: Listed = self.repo.graphql(&query, variables).await.map_err(store_error)?;
        let mut found =
            asked.repository.ok_or_else(|| StoreError::Refused(format!("{} can't be seen", self.repo.slug())))?;
        Ok((0..folders.len()).map(|at| found.remove(&format!("at{at}")).flatten()).collect())
    }

    async fn files(&self, tree: Option<Object>) -> Result<BTreeMap<String, String>, StoreError> {
        let mut files = BTreeMap::new();
        for entry in tree.and_then(|tree| tree.entries).unwrap_or_default() {
            let Some(blob) = entry.object else { continue };
            if let Some(text) = self.whole(blob).await? {
                files.insert(entry.name, text);
            }
        }
        Ok(files)
    }

    /// The whole text of a file. GraphQL gives only the beginning of a large one.
    async fn whole(&self, blob: Object) -> Result<Option<String>, StoreError> {
        match blob {
            Object { truncated: true, oid: Some(id), .. } => {
                let bytes = self.repo.blob(&id).await.map_err(store_error)?;
                Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
            }
            Object { text, .. } => Ok(text),
        }
    }
}

#[async_trait::async_trait]
impl Store for GitHubStore {
    async fn head(&self) -> Result<Option<CommitId>, StoreError> {
        self.repo.branch_head(&self.branch).await.map_err(store_error)
    }

    async fn folder(&self, path: &str) -> Result<Folder, StoreError> {
        let repository = self.ask(FOLDER, path).await?;
        let files = self.files(repository.object).await?;
        Ok(Folder { head: repository.branch.map(|branch| branch.target.oid), files })
    }

    async fn folders(&self, paths: &[String]) -> Result<Vec<BTreeMap<String, String>>, StoreError> {
        let mut all = Vec::new();
        for tree in self.trees(paths, "name object { ... on Blob { oid text isTruncated } }").await? {
            all.push(self.files(tree).await?);
        }
        Ok(all)
    }

    async fn file(&self, path: &str) -> Result<Option<String>, StoreError> {
        match self.ask(FILE, path).await?.object {
            Some(blob) => self.whole(blob).await,
            None => Ok(None),
        }
    }

    async fn names(&self, folders: &[String]) -> Result<Vec<Vec<String>>, StoreError> {
        let names = |tree: Option<Object>| {
            let entries = tree.and_then(|tree| tree.entries).unwrap_or_default();
            entries.into_iter().map(|entry| entry.name).collect()
        };
        Ok(self.trees(folders, "name").await?.into_iter().map(names).collect())
    }

    async fn commit(
        &self,
        expected: Option<&CommitId>,
        message: &str,
        files: &[NewFile],
    ) -> Result<CommitId, StoreError> {
        let Some(expected) = expected else { return around!("ledger.begin", self.begin(message, files).await) };
        let additions: Vec<Addition> =
            files.iter().map(|file| Addition { path: file.path.clone(), contents: file.bytes.clone() }).collect();
        let made = self.repo.create_commit_on_branch(&self.branch, expected, message, &additions);
        around!("ledger.commit", made.await).map_err(store_error)
    }
}
