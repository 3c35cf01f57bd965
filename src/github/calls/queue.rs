//! Merge queues. Only GraphQL tells who is in one.

use serde::Deserialize;
use serde_json::json;

use crate::github::{Repo, Result};
use crate::ids::CommitId;

/// A place in a merge queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEntry {
    /// Counted from one.
    pub position: u64,
    /// The pull request.
    pub number: u64,
    /// Its head, as it is now.
    pub head: CommitId,
    /// The group's commit that this entry is the last of; none until it is made.
    pub group: Option<CommitId>,
}

const ENTRIES: &str = "query($owner: String!, $name: String!, $branch: String!, $after: String) { \
    repository(owner: $owner, name: $name) { mergeQueue(branch: $branch) { entries(first: 100, after: $after) { \
    nodes { position headCommit { oid } pullRequest { number headRefOid } } \
    pageInfo { hasNextPage endCursor } } } } }";

/// No queue is read further than so many times a hundred entries.
const MOST_PAGES: usize = 10;

#[derive(Deserialize)]
struct Asked {
    repository: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    #[serde(rename = "mergeQueue")]
    queue: Option<Queue>,
}

#[derive(Deserialize)]
struct Queue {
    entries: Option<Entries>,
}

#[derive(Deserialize)]
struct Entries {
    nodes: Option<Vec<Option<Node>>>,
    #[serde(rename = "pageInfo")]
    page: Page,
}

#[derive(Deserialize)]
struct Page {
    #[serde(rename = "hasNextPage")]
    more: bool,
    #[serde(rename = "endCursor")]
    end: Option<String>,
}

#[derive(Deserialize)]
struct Node {
    position: u64,
    #[serde(rename = "headCommit")]
    head_commit: Option<Oid>,
    #[serde(rename = "pullRequest")]
    pull: Option<PullRequest>,
}

#[derive(Deserialize)]
struct Oid {
    oid: CommitId,
}

#[derive(Deserialize)]
struct PullRequest {
    number: u64,
    #[serde(rename = "headRefOid")]
    head: CommitId,
}

impl Repo {
    /// The entries of a branch's merge queue, first in line first. `None`: the branch has no queue, or one with an entry
    /// that can't be read: then it is not known who is in it.
    pub async fn merge_queue(&self, branch: &str) -> Result<Option<Vec<QueueEntry>>> {
        let (mut found, mut after) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let variables = json!({
                "owner": self.slug().owner(), "name": self.slug().name(), "branch": branch, "after": after,
            });
            let asked: Asked = self.graphql(ENTRIES, variables).await?;
            let Some(entries) = asked.repository.and_then(|repo| repo.queue).and_then(|queue| queue.entries) else {
                return Ok(None);
            };
            for node in entries.nodes.unwrap_or_default() {
                let Some((node, pull)) = node.and_then(|mut node| node.pull.take().map(|pull| (node, pull))) else {
                    return Ok(None);
                };
                let group = node.head_commit.map(|commit| commit.oid);
                found.push(QueueEntry { position: node.position, number: pull.number, head: pull.head, group });
            }
            match entries.page {
                Page { more: true, end: Some(end) } => after = Some(end),
                _ => {
                    found.sort_by_key(|entry| entry.position);
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}
