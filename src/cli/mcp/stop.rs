//! `raise_decision`: an agent that can't go on says so by an empty commit, which a person answers.
//!
//! The commit is made beside the index and the working tree: neither is read or touched. Its trailer is what the bot looks for.

use git2::{ErrorCode, Repository, RepositoryState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::Refused;
use crate::cli::status::{self, Place};
use crate::cli::{explain, out};
use crate::ids::CommitId;
use crate::ledger::record::Condition;
use crate::ledger::unsigned::ADVISORY;
use crate::repo::LocalRepo;

/// How long a reason is, in characters.
const SHORTEST: usize = 3;
const LONGEST: usize = 1_000;
/// So much of it is in the commit's subject.
const SUBJECT: usize = 60;

const NEXT: &str = "Push it; then wait: a person answers in an issue.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Given {
    /// stuck: the same error after three approaches. scope: much larger than the scope says. dependency: missing or broken.
    /// unsafe: nobody knows whether it is safe
    condition: Why,
    /// What was tried and what is asked, in one line of 3 to 1000 characters
    reason: String,
}

/// Those of the conditions that somebody may stop for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Why {
    Stuck,
    Scope,
    Dependency,
    Unsafe,
}

impl From<Why> for Condition {
    fn from(why: Why) -> Self {
        match why {
            Why::Stuck => Self::Stuck,
            Why::Scope => Self::Scope,
            Why::Dependency => Self::Dependency,
            Why::Unsafe => Self::Unsafe,
        }
    }
}

/// The stop that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Raised {
    schema: &'static str,
    commit: String,
    branch: String,
    message: String,
    next: &'static str,
}

/// The commit's message: a subject for people, and the trailer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message(String);

impl Message {
    pub(super) fn of(given: &Given) -> Result<Self, Refused> {
        let words: Vec<&str> = given.reason.split_whitespace().collect();
        let reason = words.join(" ");
        let length = reason.chars().count();
        if !(SHORTEST..=LONGEST).contains(&length) {
            let says = format!("The reason has {length} characters, and {SHORTEST} to {LONGEST} are taken.");
            return Err(Refused::new(says, "Say in a sentence what was tried and what is asked, and call again."));
        }
        if !reason.chars().any(char::is_alphanumeric) {
            let says = "The reason has no word in it.";
            return Err(Refused::new(says, "Say in a sentence what was tried and what is asked, and call again."));
        }
        if out::plain(&reason) != reason {
            return Err(Refused::new(
                "The reason has control characters, or marks that turn the reading direction.",
                "Leave them out, and call again.",
            ));
        }
        let condition = Condition::from(given.condition).as_str();
        let subject: String = reason.chars().take(SUBJECT).collect();
        Ok(Self(format!("stop: {}\n\nPhasegate-Stop: {condition}: {reason}\n", subject.trim_end())))
    }
}

/// The branch that a stop is put on.
pub(super) struct Spot {
    repo: Repository,
    pub(super) branch: String,
    pub(super) head: CommitId,
}

impl Spot {
    /// The branch checked out here, where it may be put there.
    pub(super) fn find(place: &Place) -> Result<Self, Refused> {
        let Some(here) = place.here() else {
            return Err(Refused::new(
                "With --github there is no working tree, and so no branch to put the stop on.",
                "Start the server with --repo in a clone, or say `/stop CONDITION: REASON` on the pull request.",
            ));
        };
        let repo = Repository::discover(here).map_err(|error| no_tree(here, error.message()))?;
        if repo.is_bare() {
            return Err(no_tree(here, "it is bare"));
        }
        if repo.state() != RepositoryState::Clean {
            return Err(Refused::new(
                format!("A merge, rebase or the like is under way ({:?}).", repo.state()),
                "End it, or call it off; then call again.",
            ));
        }
        let detached = || {
            Refused::new(
                "HEAD is detached: no branch is checked out.",
                "Check out the change's branch, and call again.",
            )
        };
        let head = repo.head().map_err(|error| match error.code() {
            ErrorCode::UnbornBranch | ErrorCode::NotFound => Refused::new(
                "The branch checked out has no commit yet.",
                "Check out the change's branch, and call again.",
            ),
            _ => broken(&error),
        })?;
        if !head.is_branch() {
            return Err(detached());
        }
        let branch = head.shorthand().map_err(|_| detached())?.to_owned();
        let tip = head.peel_to_commit().map_err(|error| broken(&error))?.id();
        let id = CommitId::new(tip.to_string()).map_err(|error| Refused::from(anyhow::Error::new(error)))?;
        drop(head);
        if let Some(what) = kept(&repo, &branch, place) {
            return Err(Refused::new(
                format!("{} is the repository's {what} branch, and no change's.", out::plain(&branch)),
                "Check out the change's branch, and call again.",
            ));
        }
        Ok(Self { repo, branch, head: id })
    }

    /// Whether a commit is the tip of the branch, asked of another handle, which remembers nothing.
    fn is_written(&self, commit: git2::Oid) -> bool {
        let branch = format!("refs/heads/{}", self.branch);
        let tip = || Repository::open(self.repo.path())?.find_reference(&branch)?.peel_to_commit().map(|tip| tip.id());
        tip().is_ok_and(|tip| tip == commit)
    }

    /// Puts the stop on top of the branch, with the same content.
    pub(super) fn raise(&self, message: Message) -> Result<Raised, Refused> {
        let Message(message) = message;
        let author = self.repo.signature().map_err(|_| {
            Refused::new(
                "git does not know who makes the commit: user.name or user.email is not set.",
                "Set both (`git config user.name …`, `git config user.email …`), and call again.",
            )
        })?;
        let made = || {
            // A branch that has moved on since is refused by git.
            let tip = self.repo.find_commit(self.head.as_str().parse()?)?;
            let branch = format!("refs/heads/{}", self.branch);
            self.repo.commit(Some(&branch), &author, &author, &message, &tip.tree()?, &[&tip])
        };
        let commit = made().map_err(|error| broken(&error))?;
        // What could not be written is not always told.
        if !self.is_written(commit) {
            return Err(Refused::new(
                "git could not write the commit: the disk may be full, or the repository may not be written.",
                "Put that right, and call again; or say `/stop CONDITION: REASON` on the pull request.",
            ));
        }
        let commit = commit.to_string();
        Ok(Raised { schema: "phasegate/stop@1", commit, branch: self.branch.clone(), message, next: NEXT })
    }
}

/// What kind of branch this is, where it is none of a change.
fn kept(repo: &Repository, branch: &str, place: &Place) -> Option<&'static str> {
    let policy = place.here().and_then(|here| explain::policy(&LocalRepo::around(here).ok()?));
    let mut ledgers = status::branches(place);
    if let Some(policy) = policy {
        let own = policy.ledger.branch;
        ledgers.extend([format!("{own}{ADVISORY}"), own]);
    }
    if ledgers.iter().any(|ledger| ledger == branch) {
        return Some("ledger");
    }
    // What a remote calls its default; where none tells, what is usually called so.
    let remotes = repo.references_glob("refs/remotes/*/HEAD").into_iter().flatten().flatten();
    let named: Vec<String> = remotes
        .filter_map(|head| {
            let remote = head.name().ok()?.strip_suffix("HEAD")?.to_owned();
            let target = head.symbolic_target().ok().flatten()?.to_owned();
            Some(target.strip_prefix(&remote)?.to_owned())
        })
        .collect();
    let is_default = match named.is_empty() {
        false => named.iter().any(|named| named == branch),
        true => ["main", "master", "trunk"].contains(&branch),
    };
    is_default.then_some("default")
}

fn no_tree(here: &std::path::Path, why: &str) -> Refused {
    Refused::new(
        format!("{} is no working tree of git: {why}.", here.display()),
        "Start the server in a clone, or name one with --repo.",
    )
}

fn broken(error: &git2::Error) -> Refused {
    Refused::new(format!("git could not do it: {}.", error.message()), "Look at the repository, and call again.")
}

#[cfg(test)]
mod tests;
