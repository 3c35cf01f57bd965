//! A repository on GitHub as the `repo` room reads it: what `git` needs, and each object through the API.

use async_trait::async_trait;
use jiff::Timestamp;

use super::calls::git::TreeId as Id;
use super::calls::objects::{Listed as Commit, Signed};
use super::{Error, Part, Repo};
use crate::ids::{BlobId, CommitId};
use crate::repo::{self, Access, Hand, Listed, Listing, Mode, Page, Remote, Result, Sealed, Told, TreeId};

fn remote(error: Error) -> repo::Error {
    repo::Error::Remote(Box::new(error))
}

#[async_trait]
impl Remote for Repo {
    async fn access(&self) -> Result<Access> {
        let auth = self.git_auth().await.map_err(remote)?;
        Ok(Access { password: Some(auth.password().clone()), url: auth.url })
    }

    fn lacks_git(&self) -> bool {
        self.hub().lacks(Part::GitOverHttp)
    }

    /// The API has the default branch, so `git` would have found the repository: with the same token, under the same
    /// name. A repository that only the API tells of, and not what is in it, proves nothing.
    async fn is_without_git(&self) -> Result<bool> {
        let branch = match self.get_repo().await {
            Ok(repository) => repository.default_branch,
            Err(Error::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(remote(error)),
        };
        let proved = self.find_ref(&format!("refs/heads/{branch}")).await?.is_some();
        if proved {
            self.hub().found_lacking(Part::GitOverHttp);
        }
        Ok(proved)
    }

    async fn find_ref(&self, name: &str) -> Result<Option<CommitId>> {
        match self.get_ref(name.strip_prefix("refs/").unwrap_or(name)).await {
            // In a repository without commits there is none.
            Err(Error::Conflict { .. }) => Ok(None),
            found => found.map_err(remote),
        }
    }

    async fn history(&self, from: &CommitId, page: u32) -> Result<Option<Page>> {
        let found = Repo::history(self, from, page).await.map_err(remote)?;
        Ok(found.map(|found| Page { commits: found.commits.into_iter().map(told).collect(), more: found.more }))
    }

    async fn tree(&self, id: &TreeId, recursive: bool) -> Result<Option<Listing>> {
        let found = Repo::tree(self, &Id(id.to_string()), recursive).await.map_err(remote)?;
        let Some(found) = found else { return Ok(None) };
        let entry = |entry: super::calls::objects::GitEntry| {
            let mode = Mode::try_from(entry.mode).map_err(repo::Error::Unproved)?;
            Ok(Listed { path: entry.path, mode, id: entry.sha })
        };
        let entries = found.entries.into_iter().map(entry).collect::<Result<_>>()?;
        Ok(Some(Listing { entries, truncated: found.truncated }))
    }

    async fn blob(&self, id: &BlobId) -> Result<Option<Vec<u8>>> {
        self.find_blob(id).await.map_err(remote)
    }
}

fn told(commit: Commit) -> Told {
    let Commit { sha, commit, parents } = commit;
    let sealed = commit.verification.and_then(|told| {
        Some(Sealed { payload: told.payload.filter(|payload| !payload.is_empty())?, signature: told.signature? })
    });
    Told {
        id: sha,
        tree: TreeId(commit.tree.sha.0),
        parents: parents.into_iter().map(|parent| parent.sha).collect(),
        author: hand(commit.author),
        committer: hand(commit.committer),
        message: commit.message,
        sealed,
    }
}

/// A time that can't be read is as good as any: what is wrong has another hash.
fn hand(signed: Signed) -> Hand {
    let at = signed.date.parse::<Timestamp>().map_or(0, Timestamp::as_second);
    Hand { name: signed.name, email: signed.email, at, zone: zone(&signed.date) }
}

/// The zone in a date such as `2026-11-01T12:00:00+05:30`. `Z` is none: GitHub says it of every commit.
fn zone(date: &str) -> Option<i32> {
    let at = date.rfind(['+', '-']).filter(|at| *at > date.find('T').unwrap_or(usize::MAX))?;
    let digits: String = date[at + 1..].chars().filter(char::is_ascii_digit).collect();
    let minutes = digits.get(..2)?.parse::<i32>().ok()? * 60 + digits.get(2..4)?.parse::<i32>().ok()?;
    Some(if date[at..].starts_with('-') { -minutes } else { minutes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_tells_its_zone_where_it_has_one() {
        assert_eq!(zone("2026-11-01T12:00:00+05:30"), Some(330));
        assert_eq!(zone("2026-11-01T12:00:00-0345"), Some(-225));
        assert_eq!(zone("2026-11-01T12:00:00Z"), None);
        assert_eq!(zone("2026-11-01T12:00:00.123Z"), None);
        assert_eq!(zone("2026-11-01"), None);
        assert_eq!(zone("T+1"), None);
    }
}
