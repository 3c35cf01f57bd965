//! Where the ledger's branch is. The ledger is given one of these and never talks to GitHub itself.

use std::collections::BTreeMap;

use crate::ids::CommitId;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The branch is not where it was expected to be. Nothing was written.
    #[error("the ledger's branch has moved")]
    Conflict,
    /// Nobody knows whether it was written: a time-out, a 5xx. Look before writing again.
    #[error("it is unclear whether the ledger was written: {0}")]
    Unclear(String),
    /// GitHub asks to wait.
    #[error("the ledger can't be reached before {until}")]
    Later { until: jiff::Timestamp },
    /// It will not work by trying again.
    #[error("the ledger can't be written: {0}")]
    Refused(String),
    /// We have not been given what reading and writing it takes.
    #[error("the ledger can't be read or written: {0}")]
    NotPermitted(String),
    #[error("the ledger can't be reached: {0}")]
    Unreachable(String),
}

/// The text files directly in a folder, at the head of the branch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// `None`: there is no such branch yet.
    pub head: Option<CommitId>,
    pub files: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    pub path: String,
    pub bytes: Vec<u8>,
}

#[async_trait::async_trait]
pub trait Store: Send + Sync {
    /// The head of the branch, if it exists.
    async fn head(&self) -> Result<Option<CommitId>, StoreError>;

    /// The files of one folder, in one call.
    async fn folder(&self, path: &str) -> Result<Folder, StoreError>;

    /// The files of each of these folders. A folder that is not there has none.
    async fn folders(&self, paths: &[String]) -> Result<Vec<BTreeMap<String, String>>, StoreError> {
        let mut all = Vec::new();
        for path in paths {
            all.push(self.folder(path).await?.files);
        }
        Ok(all)
    }

    /// One file, if it is there.
    async fn file(&self, path: &str) -> Result<Option<String>, StoreError>;

    /// The names of what is in each of these folders, in one call. A folder that is not there has none.
    async fn names(&self, folders: &[String]) -> Result<Vec<Vec<String>>, StoreError>;

    /// One commit that adds these files, if the branch is still at `expected`. With `None` the branch is made, as an
    /// orphan, if it does not exist.
    async fn commit(
        &self,
        expected: Option<&CommitId>,
        message: &str,
        files: &[NewFile],
    ) -> Result<CommitId, StoreError>;
}
