//! By GraphQL: read with one tree query, written with one commit that names the head it expects.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::{Place, Result, store_error};
use crate::fault::around;
use crate::github::calls::git::Addition;
use crate::ids::{BlobId, CommitId};
use crate::ledger::store::{Folder, NewFile, Store, StoreError};

pub(super) struct Road(Place);

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

impl Road {
    pub(super) fn new(at: Place) -> Self {
        Self(at)
    }

    async fn ask(&self, query: &str, path: &str) -> Result<Repository> {
        let variables = json!({
            "owner": self.0.repo.slug().owner(),
            "name": self.0.repo.slug().name(),
            "ref": format!("refs/heads/{}", self.0.branch),
            "at": self.0.expression(path),
        });
        let asked: Asked = self.0.repo.graphql(query, variables).await.map_err(store_error)?;
        asked.repository.ok_or_else(|| StoreError::Refused(format!("{} can't be seen", self.0.repo.slug())))
    }

    /// These folders in one query, with so much of their entries.
    async fn trees(&self, folders: &[String], entry: &str) -> Result<Vec<Option<Object>>> {
        let mut variables = json!({ "owner": self.0.repo.slug().owner(), "name": self.0.repo.slug().name() });
        let (mut declared, mut asked) = (String::new(), String::new());
        for (at, path) in folders.iter().enumerate() {
            declared.push_str(&format!(", $at{at}: String!"));
            asked.push_str(&format!(
                "at{at}: object(expression: $at{at}) {{ ... on Tree {{ entries {{ {entry} }} }} }} "
            ));
            variables[format!("at{at}")] = self.0.expression(path).into();
        }
        let query = format!(
            "query($owner: String!, $name: String!{declared}) {{ repository(owner: $owner, name: $name) {{ {asked}}} }}"
        );
        let asked: Listed = self.0.repo.graphql(&query, variables).await.map_err(store_error)?;
        let mut found =
            asked.repository.ok_or_else(|| StoreError::Refused(format!("{} can't be seen", self.0.repo.slug())))?;
        Ok((0..folders.len()).map(|at| found.remove(&format!("at{at}")).flatten()).collect())
    }

    async fn files(&self, tree: Option<Object>) -> Result<BTreeMap<String, String>> {
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
    async fn whole(&self, blob: Object) -> Result<Option<String>> {
        match blob {
            Object { truncated: true, oid: Some(id), .. } => {
                let bytes = self.0.repo.blob(&id).await.map_err(store_error)?;
                Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
            }
            Object { text, .. } => Ok(text),
        }
    }
}

#[async_trait::async_trait]
impl Store for Road {
    async fn head(&self) -> Result<Option<CommitId>> {
        self.0.head().await
    }

    async fn folder(&self, path: &str) -> Result<Folder> {
        let repository = self.ask(FOLDER, path).await?;
        let files = self.files(repository.object).await?;
        Ok(Folder { head: repository.branch.map(|branch| branch.target.oid), files })
    }

    async fn folders(&self, paths: &[String]) -> Result<Vec<BTreeMap<String, String>>> {
        let mut all = Vec::new();
        for tree in self.trees(paths, "name object { ... on Blob { oid text isTruncated } }").await? {
            all.push(self.files(tree).await?);
        }
        Ok(all)
    }

    async fn file(&self, path: &str) -> Result<Option<String>> {
        match self.ask(FILE, path).await?.object {
            Some(blob) => self.whole(blob).await,
            None => Ok(None),
        }
    }

    async fn names(&self, folders: &[String]) -> Result<Vec<Vec<String>>> {
        let names = |tree: Option<Object>| {
            let entries = tree.and_then(|tree| tree.entries).unwrap_or_default();
            entries.into_iter().map(|entry| entry.name).collect()
        };
        Ok(self.trees(folders, "name").await?.into_iter().map(names).collect())
    }

    async fn commit(&self, expected: Option<&CommitId>, message: &str, files: &[NewFile]) -> Result<CommitId> {
        let Some(expected) = expected else { return self.0.begin(message, files).await };
        let additions: Vec<Addition> =
            files.iter().map(|file| Addition { path: file.path.clone(), contents: file.bytes.clone() }).collect();
        let made = self.0.repo.create_commit_on_branch(&self.0.branch, expected, message, &additions);
        around!("ledger.commit", made.await).map_err(store_error)
    }
}
