//! Where a repository is read from: by `git`, or object by object through an API.
//!
//! This room does not know GitHub. It is given a [`Remote`], as the ledger is given a store, and trusts it with nothing: an
//! object counts when its bytes have its id as their hash.

use async_trait::async_trait;
use secrecy::SecretString;

use super::{Mode, Result, TreeId};
use crate::ids::{BlobId, CommitId};

/// What `git` needs to fetch.
#[derive(Debug, Clone)]
pub struct Access {
    pub url: String,
    pub password: Option<SecretString>,
}

#[async_trait]
pub trait Remote: Send + Sync {
    async fn access(&self) -> Result<Access>;

    /// Whether `git` is known to find nothing there.
    fn lacks_git(&self) -> bool;

    /// `git` was told that nothing is there. Whether that is so although the repository is: then it is remembered.
    async fn is_without_git(&self) -> Result<bool>;

    /// Where a ref is, by its full name.
    async fn find_ref(&self, name: &str) -> Result<Option<CommitId>>;

    /// A part of the history of a commit, by pages counted from one. None: there is no such commit.
    async fn history(&self, from: &CommitId, page: u32) -> Result<Option<Page>>;

    /// What is in a tree, or all that is below it. None: there is no such tree.
    async fn tree(&self, id: &TreeId, recursive: bool) -> Result<Option<Listing>>;

    /// None: there is no such file.
    async fn blob(&self, id: &BlobId) -> Result<Option<Vec<u8>>>;
}

/// Commits, each with its parents behind it if they are here at all.
#[derive(Debug, Clone, Default)]
pub struct Page {
    pub commits: Vec<Told>,
    pub more: bool,
}

/// A commit as an API tells it: its parts, not its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub id: CommitId,
    pub tree: TreeId,
    pub parents: Vec<CommitId>,
    pub author: Hand,
    pub committer: Hand,
    pub message: String,
    pub sealed: Option<Sealed>,
}

/// Who, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hand {
    pub name: String,
    pub email: String,
    /// Seconds since 1970.
    pub at: i64,
    /// Minutes east of Greenwich, where it is told.
    pub zone: Option<i32>,
}

/// A signature, and the bytes that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub payload: String,
    pub signature: String,
}

#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub entries: Vec<Listed>,
    /// There are more than are told.
    pub truncated: bool,
}

/// An entry of a tree, by its path from the tree that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub path: String,
    pub mode: Mode,
    pub id: String,
}
