//! The things GitHub knows about, as the twin remembers them.
//!
//! Plain data: nothing here decides or speaks JSON. Snapshots handed to tests are clones of these, so an assertion
//! reads the same fields that the API answers from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

/// The App that GitHub Actions posts as.
pub const ACTIONS_APP: u64 = 15_368;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountKind {
    User,
    Organization,
    Bot,
}

impl AccountKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Organization => "Organization",
            Self::Bot => "Bot",
        }
    }
}

/// Someone who can own, say or do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub id: u64,
    pub login: String,
    pub kind: AccountKind,
}

/// What a person may do in a repository. Ordered: each role includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    None,
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

impl Role {
    /// The fine-grained name, GitHub's `role_name`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The legacy name, GitHub's `permission`: triage is told as read and maintain as write.
    pub fn legacy(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read | Self::Triage => "read",
            Self::Write | Self::Maintain => "write",
            Self::Admin => "admin",
        }
    }
}

/// How much of a permission an App has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Read,
    Write,
    Admin,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Read, Self::Write, Self::Admin].into_iter().find(|level| level.name() == text)
    }
}

/// An App's permissions, `checks → write` and so on.
pub type Permissions = BTreeMap<String, Level>;

#[derive(Debug, Clone)]
pub struct Team {
    pub id: u64,
    pub slug: String,
    pub members: BTreeMap<u64, TeamRole>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamRole {
    Member,
    Maintainer,
}

#[derive(Debug, Clone)]
pub struct App {
    pub id: u64,
    pub slug: String,
    pub name: String,
    pub client_id: String,
    pub owner: Account,
    pub bot: Account,
    pub hook_id: u64,
    pub webhook_url: Option<String>,
    pub webhook_secret: String,
    pub permissions: Permissions,
    pub events: BTreeSet<String>,
    /// DER of the public key that its JWTs are verified with. Empty for GitHub's own Apps, which nobody can pose as.
    pub public_key: Vec<u8>,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct Installation {
    pub id: u64,
    pub app: u64,
    pub account: Account,
    pub repos: BTreeSet<u64>,
    pub permissions: Permissions,
    pub created_at: Timestamp,
    pub suspended_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub struct Repo {
    pub id: u64,
    pub owner: Account,
    pub name: String,
    pub private: bool,
    pub default_branch: String,
    pub fork_of: Option<u64>,
    pub has_issues: bool,
    pub roles: BTreeMap<u64, Role>,
    pub issues: BTreeMap<u64, Issue>,
    /// Numbers that are not given again.
    pub deleted_issues: BTreeSet<u64>,
    pub labels: BTreeMap<u64, Label>,
    pub comments: BTreeMap<u64, Comment>,
    pub suites: BTreeMap<u64, CheckSuite>,
    pub check_runs: BTreeMap<u64, CheckRun>,
    pub workflows: BTreeMap<u64, Workflow>,
    pub workflow_runs: BTreeMap<u64, WorkflowRun>,
    /// By their ids, which are those of their check runs.
    pub jobs: BTreeMap<u64, Job>,
    pub artifacts: BTreeMap<u64, Artifact>,
    pub statuses: Vec<CommitStatus>,
    pub rulesets: BTreeMap<u64, Ruleset>,
    /// Merge queues, by the branch that they lead into; first in line first.
    pub queues: BTreeMap<String, Vec<QueueEntry>>,
    pub deployments: BTreeMap<u64, Deployment>,
    pub dispatches: Vec<Dispatch>,
    /// Oldest first.
    pub activities: Vec<Activity>,
    pub created_at: Timestamp,
    pub pushed_at: Timestamp,
}

impl Repo {
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner.login, self.name)
    }

    /// Open pull requests of this repository whose head is this commit.
    pub fn pulls_at<'a>(&'a self, sha: &'a str) -> impl Iterator<Item = (&'a Issue, &'a Pull)> {
        self.issues
            .values()
            .filter_map(|issue| issue.pull.as_ref().map(|pull| (issue, pull)))
            .filter(move |(issue, pull)| issue.open && pull.head_sha == sha)
    }
}

/// An issue, and also the outer half of a pull request: they share numbers, labels and comments.
#[derive(Debug, Clone)]
pub struct Issue {
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    /// When that was last changed, and by whom; REST does not tell.
    pub edited: Option<(Timestamp, Account)>,
    pub open: bool,
    pub state_reason: Option<String>,
    pub user: Account,
    pub labels: Vec<u64>,
    pub assignees: Vec<Account>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    /// The number of the issue that this is a sub-issue of.
    pub parent: Option<u64>,
    /// The numbers of the issues that this waits for.
    pub blocked_by: Vec<u64>,
    pub pull: Option<Pull>,
}

#[derive(Debug, Clone)]
pub struct Pull {
    pub id: u64,
    pub head_repo: u64,
    /// Whose that repository was when the pull request was opened: known when it is gone, too.
    pub head_owner: Account,
    pub head_ref: String,
    pub head_sha: String,
    pub base_ref: String,
    pub base_sha: String,
    pub draft: bool,
    pub merged_at: Option<Timestamp>,
    pub merged_by: Option<Account>,
    pub merge_commit_sha: Option<String>,
    pub reviews: Vec<Review>,
    /// Each change of the base: the event's id, who and when.
    pub retargets: Vec<(u64, Account, Timestamp)>,
}

#[derive(Debug, Clone)]
pub struct Review {
    pub id: u64,
    pub user: Account,
    pub body: String,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED` or `DISMISSED`.
    pub state: String,
    pub commit_id: String,
    pub submitted_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub id: u64,
    pub name: String,
    pub color: String,
    pub description: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Comment {
    pub id: u64,
    /// The number of the issue or pull request.
    pub issue: u64,
    pub user: Account,
    pub body: String,
    pub via_app: Option<u64>,
    pub reactions: Vec<Reaction>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When its text was last changed, and by whom; REST does not tell.
    pub edited: Option<(Timestamp, Account)>,
}

#[derive(Debug, Clone)]
pub struct Reaction {
    pub id: u64,
    pub user: Account,
    pub content: String,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct CheckSuite {
    pub id: u64,
    pub app: u64,
    pub head_sha: String,
    pub head_branch: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct CheckRun {
    pub id: u64,
    pub suite: u64,
    pub app: u64,
    pub name: String,
    pub head_sha: String,
    pub external_id: Option<String>,
    pub details_url: Option<String>,
    /// `queued`, `in_progress` or `completed` (and `waiting`, `requested`, `pending` from Actions).
    pub status: String,
    pub conclusion: Option<String>,
    pub started_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<Value>,
    pub actions: Vec<CheckAction>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckAction {
    pub label: String,
    pub description: String,
    pub identifier: String,
}

#[derive(Debug, Clone)]
pub struct Workflow {
    pub id: u64,
    pub path: String,
}

#[derive(Debug, Clone)]
pub struct WorkflowRun {
    pub id: u64,
    pub workflow: u64,
    pub name: String,
    /// What `run-name` makes of it; the name where that says nothing.
    pub title: String,
    pub path: String,
    pub event: String,
    pub run_number: u64,
    pub suite: u64,
    pub head_sha: String,
    pub head_branch: Option<String>,
    /// Where the head is: a fork, or the repository itself.
    pub head_repo: u64,
    pub status: String,
    pub conclusion: Option<String>,
    pub actor: Account,
    pub attempt: u64,
    /// Check run ids, which are the job ids; of every attempt.
    pub jobs: Vec<u64>,
    pub created_at: Timestamp,
    /// When its newest attempt began.
    pub started_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What a workflow run has left.
#[derive(Debug, Clone)]
pub struct Artifact {
    pub id: u64,
    pub run: u64,
    pub name: String,
    pub bytes: Arc<[u8]>,
    /// Whoever has it may have the bytes.
    pub key: String,
    pub expired: bool,
    pub created_at: Timestamp,
    /// What the API tells in place of what is so, by where that stands.
    pub bent: Vec<(String, Value)>,
}

/// What Actions knows of a job. Its check run begins the same, and can be written over.
#[derive(Debug, Clone)]
pub struct Job {
    pub name: String,
    pub attempt: u64,
    pub status: String,
    pub conclusion: Option<String>,
    pub started_at: Timestamp,
    pub completed_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub struct CommitStatus {
    pub id: u64,
    pub sha: String,
    pub context: String,
    pub state: String,
    pub description: Option<String>,
    pub target_url: Option<String>,
    pub creator: Account,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct Deployment {
    pub id: u64,
    pub sha: String,
    pub reference: String,
    pub task: String,
    pub environment: String,
    pub description: Option<String>,
    pub payload: Value,
    pub creator: Account,
    pub created_at: Timestamp,
    pub statuses: Vec<DeploymentStatus>,
}

#[derive(Debug, Clone)]
pub struct DeploymentStatus {
    pub id: u64,
    pub state: String,
    pub description: String,
    pub environment: String,
    pub environment_url: String,
    pub log_url: String,
    pub creator: Account,
    pub created_at: Timestamp,
}

/// A `workflow_dispatch` (with its workflow and ref) or a `repository_dispatch`.
#[derive(Debug, Clone)]
pub struct Dispatch {
    /// The run that it became, of a workflow.
    pub run: Option<u64>,
    pub workflow: Option<String>,
    pub event_type: Option<String>,
    pub reference: Option<String>,
    pub inputs: Value,
    pub sender: Account,
    pub at: Timestamp,
}

/// A move of a branch.
#[derive(Debug, Clone)]
pub struct Activity {
    pub id: u64,
    pub before: String,
    pub after: String,
    pub refname: String,
    pub at: Timestamp,
    /// `push`, `force_push`, `branch_creation`, `branch_deletion` or `pr_merge`.
    pub kind: &'static str,
    pub actor: Account,
}

/// A branch ruleset.
#[derive(Debug, Clone)]
pub struct Ruleset {
    pub id: u64,
    pub name: String,
    /// Patterns of full ref names (`refs/heads/main`, `refs/heads/release/*`), or `~DEFAULT_BRANCH`, or `~ALL`.
    pub include: Vec<String>,
    pub rules: Vec<Rule>,
    pub bypass: Vec<Bypass>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    Creation,
    Update,
    Deletion,
    NonFastForward,
    PullRequest { approvals: u32 },
    RequiredChecks { checks: Vec<RequiredCheck>, strict: bool },
    MergeQueue { method: QueueMethod },
}

/// How a merge queue makes its commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueMethod {
    Merge,
    Squash,
}

/// A pull request in a merge queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEntry {
    pub id: u64,
    pub number: u64,
    /// The head that it entered with.
    pub head: String,
    pub by: Account,
    pub enqueued_at: Timestamp,
    pub group: Option<QueueGroup>,
}

/// The group of an entry: everything ahead of it, and itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueGroup {
    /// The queue's own branch.
    pub branch: String,
    pub head: String,
    /// The commit that it stands on: the base's tip, or the group ahead.
    pub base: String,
}

impl Rule {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::Update => "update",
            Self::Deletion => "deletion",
            Self::NonFastForward => "non_fast_forward",
            Self::PullRequest { .. } => "pull_request",
            Self::RequiredChecks { .. } => "required_status_checks",
            Self::MergeQueue { .. } => "merge_queue",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredCheck {
    pub context: String,
    /// The only App whose check counts. Without it any App's check, or anybody's commit status, does.
    pub integration_id: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    App(u64),
    /// Everyone with at least this role.
    Role(Role),
}

/// Something that happened in a repository, as GitHub tells of it.
#[derive(Debug, Clone)]
pub struct Happened {
    pub repo: String,
    /// The event's name among the webhooks.
    pub event: String,
    pub payload: Value,
}

/// One delivery attempt of a webhook. A redelivery is another attempt with the same guid.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub id: u64,
    pub guid: String,
    pub app: u64,
    pub event: String,
    pub action: Option<String>,
    pub installation: Option<u64>,
    pub repo: Option<u64>,
    pub redelivery: bool,
    pub payload: Value,
    pub delivered_at: Timestamp,
    /// `None` until the attempt was made.
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone)]
pub struct Outcome {
    /// 0 when nothing answered.
    pub status_code: u16,
    pub status: String,
    pub duration: f64,
    pub request_headers: Value,
    pub response_headers: Value,
    pub response_body: String,
}

impl Outcome {
    pub fn ok(&self) -> bool {
        (200..300).contains(&self.status_code)
    }
}

/// One request made to the API, for tests that count calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    pub method: String,
    /// The path below the API base, with its query.
    pub path: String,
    /// `anonymous`, a login, `app:slug` (a JWT) or `slug[bot]` (an installation token).
    pub actor: String,
    pub app: Option<u64>,
    pub status: u16,
    /// Something was to be changed: any method but GET, except a GraphQL query.
    pub is_write: bool,
}

impl Logged {
    /// The request without its numbers and its query, so that the same calls add up.
    pub fn kind(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        let plain = |part: &str| {
            let id = part.parse::<u64>().is_ok() || (part.len() == 40 && part.bytes().all(|b| b.is_ascii_hexdigit()));
            if id { "…".to_owned() } else { part.to_owned() }
        };
        let path: Vec<String> = path.split('/').map(plain).collect();
        format!("{} {}", self.method, path.join("/"))
    }
}
