//! Reading git's objects through the API: commits, trees and blobs, for where `git` itself can't fetch them.
//!
//! They are told as JSON, not as they are stored. Whoever puts them together again proves them by their ids.

use serde::{Deserialize, Deserializer};

use super::git::TreeId;
use super::text;
use crate::github::error::maybe;
use crate::github::{Error, Repo, Result};
use crate::ids::{BlobId, CommitId};

/// A commit, as far as the API tells it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GitCommit {
    #[serde(default, deserialize_with = "signed")]
    pub author: Signed,
    #[serde(default, deserialize_with = "signed")]
    pub committer: Signed,
    /// Often without the line break at its end.
    #[serde(default, deserialize_with = "text")]
    pub message: String,
    pub tree: Sha<TreeId>,
    #[serde(default)]
    pub verification: Option<Verification>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Sha<T> {
    pub sha: T,
}

/// Who, and when: on GitHub always in UTC, whatever zone the commit has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Signed {
    #[serde(default, deserialize_with = "text")]
    pub name: String,
    #[serde(default, deserialize_with = "text")]
    pub email: String,
    #[serde(default, deserialize_with = "text")]
    pub date: String,
}

/// GitHub says null where it can't read it.
fn signed<'de, D: Deserializer<'de>>(from: D) -> Result<Signed, D::Error> {
    Option::<Signed>::deserialize(from).map(Option::unwrap_or_default)
}

/// What GitHub makes of a signature. Whether it is good does not matter here.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Verification {
    pub signature: Option<String>,
    /// What was signed: the commit without its signature.
    pub payload: Option<String>,
}

/// A commit with its place in history.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Listed {
    pub sha: CommitId,
    pub commit: GitCommit,
    #[serde(default)]
    pub parents: Vec<Sha<CommitId>>,
}

/// A part of a history, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    pub commits: Vec<Listed>,
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GitTree {
    #[serde(rename = "tree")]
    pub entries: Vec<GitEntry>,
    /// There are more than are told.
    #[serde(default)]
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GitEntry {
    /// In a recursive listing from the tree that was asked for.
    pub path: String,
    /// Octal, six digits.
    pub mode: String,
    /// None of a submodule's commit on some servers.
    #[serde(default, deserialize_with = "text")]
    pub sha: String,
}

impl Repo {
    /// A hundred commits of the history of one, by pages counted from one. None: there is no such commit.
    pub async fn history(&self, from: &CommitId, page: u32) -> Result<Option<History>> {
        let request = self.get("/repos/{owner}/{repo}/commits", &[])?.query("sha", from.as_str());
        let request = request.query("per_page", "100").query("page", &page.to_string());
        match self.call(&request).await {
            Ok(answer) => Ok(Some(History { commits: answer.json()?, more: answer.next.is_some() })),
            // In a repository without commits that is a conflict.
            Err(Error::NotFound { .. } | Error::Conflict { .. } | Error::Unprocessable { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The tree of a commit.
    pub async fn tree_of(&self, commit: &CommitId) -> Result<TreeId> {
        let request = self.get("/repos/{owner}/{repo}/git/commits/{commit}", &[commit.as_str()])?;
        Ok(self.fetch::<HasTree>(request).await?.tree.sha)
    }

    /// The entries of a tree, or all below it too. None: there is no such tree.
    pub async fn tree(&self, id: &TreeId, recursive: bool) -> Result<Option<GitTree>> {
        let mut request = self.get("/repos/{owner}/{repo}/git/trees/{tree}", &[&id.0])?;
        if recursive {
            // Any value asks for it, `false` too.
            request = request.query("recursive", "1");
        }
        maybe(self.fetch(request).await)
    }

    /// The same as [`Repo::blob`], of one that may not be there.
    pub async fn find_blob(&self, id: &BlobId) -> Result<Option<Vec<u8>>> {
        maybe(self.blob(id).await)
    }
}

#[derive(Deserialize)]
struct HasTree {
    tree: Sha<TreeId>,
}
