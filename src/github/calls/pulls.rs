//! Pull requests.

use jiff::Timestamp;
use serde::Deserialize;

use super::issues::Label;
use super::{ghost, somebody, someone, text};
use crate::github::{Error, Repo, Result};
use crate::ids::{CommitId, Person};

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Pull {
    pub number: u64,
    #[serde(default)]
    pub node_id: String,
    /// `open` or `closed`.
    pub state: String,
    #[serde(default)]
    pub draft: bool,
    #[serde(default, deserialize_with = "text")]
    pub title: String,
    #[serde(default, deserialize_with = "text")]
    pub body: String,
    #[serde(default = "ghost", deserialize_with = "someone")]
    pub user: Person,
    pub head: Side,
    pub base: Side,
    #[serde(default)]
    pub labels: Vec<Label>,
    /// Not told in lists; see [`Pull::is_merged`].
    pub merged: Option<bool>,
    pub merged_at: Option<Timestamp>,
    pub merge_commit_sha: Option<CommitId>,
    /// Not told in lists, nor where that account is gone.
    #[serde(default, deserialize_with = "somebody")]
    pub merged_by: Option<Person>,
    /// Not known until GitHub has worked it out, and not told in lists.
    pub mergeable: Option<bool>,
    pub mergeable_state: Option<String>,
    #[serde(default)]
    pub html_url: String,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
    pub changed_files: Option<u64>,
}

/// So many pages are asked for, of those that something happened to last.
const MOST_PAGES: usize = 3;

impl Pull {
    pub fn is_open(&self) -> bool {
        self.state == "open"
    }

    pub fn is_merged(&self) -> bool {
        self.merged.unwrap_or(false) || self.merged_at.is_some()
    }

    /// The head is in another repository, or in one that is gone.
    pub fn is_from_fork(&self) -> bool {
        match (&self.head.repo, &self.base.repo) {
            (Some(head), Some(base)) => head.id != base.id,
            _ => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Side {
    pub sha: CommitId,
    pub r#ref: String,
    /// None when the fork was deleted.
    pub repo: Option<SideRepo>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SideRepo {
    pub id: u64,
    pub full_name: String,
    pub default_branch: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PullFile {
    pub filename: String,
    /// `added`, `removed`, `modified`, `renamed`, `copied`, `changed` or `unchanged`.
    pub status: String,
    pub previous_filename: Option<String>,
    #[serde(default)]
    pub additions: u64,
    #[serde(default)]
    pub deletions: u64,
    pub sha: Option<String>,
    /// Absent for binary and very large files.
    pub patch: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Review {
    pub id: u64,
    #[serde(default = "ghost", deserialize_with = "someone")]
    pub user: Person,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`, `DISMISSED` or `PENDING`.
    pub state: String,
    #[serde(default, deserialize_with = "text")]
    pub body: String,
    /// The commit that was reviewed: an approval counts for this one only.
    pub commit_id: Option<CommitId>,
    pub submitted_at: Option<Timestamp>,
    #[serde(default)]
    pub html_url: String,
}

const BASE_CHANGES: [&str; 2] = ["base_ref_changed", "automatic_base_change_succeeded"];

#[derive(Debug, Deserialize)]
struct IssueEvent {
    #[serde(default)]
    event: String,
    created_at: Timestamp,
}

impl Repo {
    pub async fn get_pull(&self, number: u64) -> Result<Pull> {
        self.fetch(self.get("/repos/{owner}/{repo}/pulls/{number}", &[&number.to_string()])?).await
    }

    /// Open pull requests; `head` is `OWNER:BRANCH`.
    pub async fn list_open_pulls(&self, head: Option<&str>) -> Result<Vec<Pull>> {
        let mut request = self.get("/repos/{owner}/{repo}/pulls", &[])?.query("state", "open");
        if let Some(head) = head {
            request = request.query("head", head);
        }
        self.list(request, None).await
    }

    /// Pull requests of a branch (`OWNER:BRANCH`), open or not.
    pub async fn pulls_from(&self, head: &str) -> Result<Vec<Pull>> {
        let request = self.get("/repos/{owner}/{repo}/pulls", &[])?.query("state", "all").query("head", head);
        self.list(request, None).await
    }

    /// Pull requests that were merged into a branch, as far as they are among the 300 closed ones of that base which
    /// something happened to last.
    pub async fn merged_into(&self, branch: &str) -> Result<Vec<Pull>> {
        let request = self.get("/repos/{owner}/{repo}/pulls", &[])?.query("state", "closed").query("base", branch);
        let request = request.query("sort", "updated").query("direction", "desc");
        let (mut found, mut pages) = (Vec::new(), 0);
        let take = |page: Vec<Pull>| {
            pages += 1;
            found.extend(page.into_iter().filter(Pull::is_merged));
            pages < MOST_PAGES
        };
        self.wire().pages(self.lane(), request, None, MOST_PAGES, take).await?;
        Ok(found)
    }

    /// The pull requests that something happened to last, open or not: at most 300 of them. And whether that is all there are.
    pub async fn latest_pulls(&self) -> Result<(Vec<Pull>, bool)> {
        let request = self.get("/repos/{owner}/{repo}/pulls", &[])?.query("state", "all");
        let request = request.query("sort", "updated").query("direction", "desc");
        let (mut found, mut pages) = (Vec::new(), 0);
        let take = |page: Vec<Pull>| {
            pages += 1;
            found.extend(page);
            pages < MOST_PAGES
        };
        self.wire().pages(self.lane(), request, None, MOST_PAGES, take).await?;
        let all = found.len() < MOST_PAGES * 100;
        Ok((found, all))
    }

    /// When the base of a pull request became another branch, by hand or because the old one was deleted. None: this
    /// GitHub does not tell.
    pub async fn base_changes(&self, number: u64) -> Result<Option<Vec<Timestamp>>> {
        let request = self.get("/repos/{owner}/{repo}/issues/{number}/events", &[&number.to_string()])?;
        let events: Option<Vec<IssueEvent>> = self.list_if_any(request, None).await?;
        let is_change = |event: &IssueEvent| BASE_CHANGES.contains(&event.event.as_str());
        Ok(events.map(|events| events.into_iter().filter(is_change).map(|event| event.created_at).collect()))
    }

    /// Pull requests, open or not, that contain this commit; also those whose head it only was once. On a GitHub that
    /// does not tell, the open ones with this head: those stand in a list that each has.
    pub async fn pulls_for_commit(&self, commit: &CommitId) -> Result<Vec<Pull>> {
        let request = self.get("/repos/{owner}/{repo}/commits/{commit}/pulls", &[commit.as_str()])?;
        let route = request.route;
        match self.list(request, None).await {
            // It may be the commit that is not there; then that stays so.
            Err(Error::NotFound { .. } | Error::NoEndpoint { .. }) => {
                self.tree_of(commit).await?;
                self.hub().found_missing(route);
                let mut open = self.list_open_pulls(None).await?;
                open.retain(|pull| pull.head.sha == *commit);
                Ok(open)
            }
            // That is what it says of a commit that it does not have.
            Err(Error::Unprocessable { .. }) => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// At most 3,000 are told by GitHub: compare with [`Pull::changed_files`].
    pub async fn list_pull_files(&self, number: u64) -> Result<Vec<PullFile>> {
        self.list(self.get("/repos/{owner}/{repo}/pulls/{number}/files", &[&number.to_string()])?, None).await
    }

    pub async fn list_reviews(&self, number: u64) -> Result<Vec<Review>> {
        self.list(self.get("/repos/{owner}/{repo}/pulls/{number}/reviews", &[&number.to_string()])?, None).await
    }
}
