//! Who moved a branch.

use jiff::Timestamp;
use serde::Deserialize;

use super::{ghost, someone, text};
use crate::github::{Error, Repo, Result};
use crate::ids::Person;

/// One move of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Activity {
    /// Where the branch was; zeros when it was made.
    #[serde(default, deserialize_with = "text")]
    pub before: String,
    /// Where the branch was afterwards; zeros when it was deleted.
    #[serde(default, deserialize_with = "text")]
    pub after: String,
    /// `push`, `force_push`, `branch_creation`, `branch_deletion`, `pr_merge`, `merge_queue_merge`, and whatever comes.
    #[serde(default, deserialize_with = "text")]
    pub activity_type: String,
    #[serde(default = "ghost", deserialize_with = "someone")]
    pub actor: Person,
    pub timestamp: Timestamp,
}

/// More pages than this are not asked for.
const MOST_PAGES: usize = 3;
/// So many moves of one branch are read at most.
pub const MOST_MOVES: usize = MOST_PAGES * 100;

impl Repo {
    /// What moved a branch last; none where GitHub does not tell.
    pub async fn last_activity(&self, branch: &str) -> Result<Option<Activity>> {
        let request = self.get("/repos/{owner}/{repo}/activity", &[])?;
        let request = request.query("ref", &format!("refs/heads/{branch}")).query("per_page", "1");
        match self.fetch::<Vec<Activity>>(request).await {
            Ok(found) => Ok(found.into_iter().next()),
            Err(Error::NotFound { .. } | Error::NoEndpoint { .. } | Error::Forbidden { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What moved a branch, newest first, back to where it was last made. None where GitHub does not tell: a fork that
    /// the App can't see, an Enterprise Server that is too old.
    pub async fn branch_activity(&self, branch: &str) -> Result<Option<Vec<Activity>>> {
        self.moves(branch, |one| one.activity_type == "branch_creation").await
    }

    /// The same, and of the branches before it that had its name.
    pub async fn name_activity(&self, branch: &str) -> Result<Option<Vec<Activity>>> {
        self.moves(branch, |_| false).await
    }

    /// Back to the one with which it begins.
    async fn moves(&self, branch: &str, begins: impl Fn(&Activity) -> bool) -> Result<Option<Vec<Activity>>> {
        let request = self.get("/repos/{owner}/{repo}/activity", &[])?.query("ref", &format!("refs/heads/{branch}"));
        let (mut found, mut pages) = (Vec::new(), 0);
        let take = |page: Vec<Activity>| {
            pages += 1;
            for one in page {
                let last = begins(&one);
                found.push(one);
                if last {
                    return false;
                }
            }
            pages < MOST_PAGES
        };
        match self.wire().pages(self.lane(), request, None, MOST_PAGES, take).await {
            Ok(()) => Ok(Some(found)),
            Err(Error::NotFound { .. } | Error::NoEndpoint { .. } | Error::Forbidden { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
