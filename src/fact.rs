//! What happened, in our own words.
//!
//! A fact is normalised from a webhook, an event file, a clock tick or a command line. It says what happened and who
//! did it; it never says what the world looks like now. The engine reads the world afresh on every pass, so a fact
//! that is lost, doubled or late costs time and nothing else. The exceptions are the things that can't be read again
//! afterwards and are therefore acted on from the payload: a comment as it was created, and who pushed.

use serde::{Deserialize, Serialize};

use crate::ids::{CommitId, Digest, InstallationId, Person, RepoRef};
use crate::ledger::record::{Job, Ran};

/// One delivery, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Absent for deliveries about an installation as a whole.
    pub repo: Option<RepoRef>,
    pub fact: Fact,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// Something happened to a pull request. `label` is the one that was put on or taken off.
    Pull {
        number: u64,
        what: PullEvent,
        head: CommitId,
        sender: Person,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The head before a push.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<CommitId>,
    },
    /// A review was submitted, edited or dismissed.
    Review {
        pull: u64,
        sender: Person,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<u64>,
    },
    /// A comment was made on an issue or a pull request. Only these can be commands.
    Comment(Comment),
    /// A comment was edited or deleted. Never a command; looked at because it may be one of ours.
    CommentChanged { number: u64, comment: u64, deleted: bool, author: Person, sender: Person },
    /// Something happened to an issue (not a pull request).
    Issue { number: u64, action: String, sender: Person },
    /// A check, a suite or a workflow run moved on this commit. `app` is the App that owns it, where told.
    Checks {
        head: CommitId,
        app: Option<u64>,
        /// The check run that completed, where it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed: Option<u64>,
        /// The branch that it ran for, where told: a merge queue keeps its groups on branches of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// Whose repository that branch is in, where told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
    },
    /// Someone pressed a button on one of our check runs, or asked for it to run again (run 0: for all of them).
    Button { head: CommitId, run: u64, run_name: String, button: Button, sender: Person, pulls: Vec<u64> },
    /// A merge queue wants this commit judged.
    MergeGroup { head: CommitId, base: CommitId, base_ref: String, head_ref: String },
    /// A branch moved. `branch` is the name without `refs/heads/`.
    Push { branch: String, before: Option<CommitId>, after: Option<CommitId>, forced: bool, sender: Person },
    /// A deployment of this commit changed its state.
    Deployment { commit: CommitId, environment: String, state: String, url: Option<String> },
    /// The App was installed, changed or removed, or repositories were added or taken away.
    Installation { id: InstallationId, action: String, repos: Vec<(u64, String)> },
    /// A run that this change asked for has answered, and was proved.
    Ran { number: u64, by: Job, ran: Box<Ran>, log: String },
    /// Somebody of the repository answered with what can't be taken.
    Refused { number: u64, what: String },
    /// A run that this change asks the server's own runner for is to be carried out. `turn` tells apart the times that it was not
    /// its time.
    Run { number: u64, nonce: Digest, turn: u32 },
    /// The lease on this change may have run out: look at it then.
    Lease { number: u64, until: jiff::Timestamp },
    /// The gate had been required on this branch since then, was so when it was last seen, and is not any more. It was noticed
    /// with this change.
    Unguarded { number: u64, branch: String, since: jiff::Timestamp, seen: jiff::Timestamp },
    /// Look at this change again: something it rests on has moved.
    Look { number: u64 },
    /// Look at everything that is open in this repository: the App was let in.
    LookAround,
    /// A repository was created, renamed, archived and so on.
    Repository { action: String, from_template: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullEvent {
    Opened,
    Reopened,
    /// New commits, or a force-push. The sender is who pushed.
    Synchronize,
    Closed,
    /// Title, body or base branch.
    Edited,
    ReadyForReview,
    ConvertedToDraft,
    Labeled,
    Unlabeled,
    /// Something else that does not change what we judge.
    Other,
}

/// A comment as it was when it was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// The issue or pull request it stands on.
    pub number: u64,
    pub on_pull: bool,
    pub id: u64,
    pub author: Person,
    pub body: String,
    /// GitHub's time, whole seconds.
    pub created_at: jiff::Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Button {
    Rerequested,
    Pressed(String),
}
