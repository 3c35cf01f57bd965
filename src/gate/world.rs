//! What the world looks like at the moment of a decision: read by the caller, judged here.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::aside::Aside;
use super::header::Header;
use super::papers::{Followed, Judged};
use super::people::Standing;
use super::reconcile::repair::Repair;
use super::task::look::Look;
use crate::flow::Phase;
use crate::gate::Finding;
use crate::guard::Guard;
use crate::guard::set;
use crate::guard::wave::verdict;
use crate::guard::weaken::Weakened;
use crate::ids::{BlobId, ChangeNumber, CommitId, Digest, Person};
use crate::ledger::origin::{Branch, Origin};
use crate::ledger::record::Raised;
use crate::ledger::{About, State};
use crate::policy::{Effective, Policy, Source, Tier};
use crate::repo::RepoPath;
use crate::repo::meaning::{self, Drift};

/// GitHub Actions' own App. Everything that a workflow's token writes belongs to it. This is its id on github.com, and what
/// it is called by in here; on an Enterprise Server it has another, and the same slug.
pub const ACTIONS_APP: u64 = 15368;
/// Its name, which no other App can have.
pub const ACTIONS_SLUG: &str = "github-actions";

/// What to do where the content can't be read.
pub const UNREADABLE: &str = "Check that the head and the base branch exist and share history. Where they were merged \
     into each other crosswise, merge the base into the branch.";

/// The policy at the tip of the default branch, or what is wrong with it.
#[derive(Debug, Clone)]
pub enum Law {
    Valid(Box<Policy>),
    Invalid(Vec<Finding>),
}

#[derive(Debug, Clone)]
pub struct World {
    pub default_branch: String,
    /// This App's id: a check of our name from anyone else is a forgery.
    pub app: u64,
    pub law: Law,
    pub effective: Effective,
    pub pull: Pull,
    /// `None` when the content could not be read. Then nothing is judged: unknown is not fine.
    pub subject: Option<Subject>,
    /// Every check run on the head, and every job that policy could count.
    pub checks: Vec<CheckRun>,
    /// The workflow runs that there are on the head.
    pub workflow_runs: BTreeSet<u64>,
    /// The same on the heads below this one that have the same content: the bot has only put copies on top of them. Nearest first.
    pub beneath: Vec<Beneath>,
    /// There are more than can be read, and `checks` has only our own.
    pub checks_unread: bool,
    /// Every check run on the merge commit, once there is one.
    pub merge_checks: Vec<CheckRun>,
    pub deployments: Vec<Deployment>,
    /// What of this GitHub does not tell at all. It is empty above, and that means nothing.
    pub untold: BTreeSet<Untold>,
    pub reviews: Vec<Review>,
    /// Where those stand now who were asked about in this look, by their ids: reviewers, and whoever approved this
    /// content by a comment.
    pub standings: BTreeMap<u64, Standing>,
    /// Since when the base branch and the law are as they are, on GitHub's clock. It is asked for only where the
    /// content changed under the same head; none where it is not known.
    pub settled: Option<Timestamp>,
    /// Since when the pull request goes into its present base, on GitHub's clock; none where it was not asked.
    pub based_since: Option<Timestamp>,
    /// Whether a run of the trusted workflow can be asked for from here.
    pub asks: Asks,
    /// Whether a commit of the bot's has its checks run, so that it may make one.
    pub commits: bool,
    /// What GitHub tells of the run that was asked for last and has not answered.
    pub asked_run: AskedRun,
    /// The same two of the server's own runner.
    pub runner: Offer,
    /// What lies beside the phases; none where no stage asks for it, or where it can't be read.
    pub aside: Option<Aside>,
    /// The change whose confirmed round this says it is the work of, where that is not on record.
    pub continues: Option<(ChangeNumber, Followed)>,
    /// Other pull requests of the same branch. They are looked for only where everything else is green.
    pub siblings: Vec<Sibling>,
    /// Other open pull requests with this head.
    pub rivals: Vec<Rival>,
    /// Whether the base branch is protected. The default branch is taken to be: that is what installing is about.
    pub base_protected: bool,
    /// Earlier changes of the same work. They are looked for once, when there is content for the first time.
    pub earlier: Vec<State>,
    /// Those of them whose records can't be proved.
    pub broken: BTreeSet<ChangeNumber>,
    /// How many more of them there are than can be read.
    pub unread: usize,
    /// Others have moved the ledger's branch more often than is looked into.
    pub unseen_moves: bool,
    /// The branch that the ledger is on.
    pub ledger: String,
    /// Changes that it took over from because of commits which are not in it any more: they were merged into its base.
    /// For each, whether it was green then.
    pub landed: BTreeMap<ChangeNumber, bool>,
}

/// What bears on a verdict, and not every GitHub tells: a stand-in, an old Enterprise Server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Untold {
    WorkflowRuns,
    Deployments,
    /// What happened to a pull request, and with it since when it goes into its base.
    PullEvents,
}

impl Untold {
    /// The endpoint that is missing.
    pub fn endpoint(self) -> &'static str {
        match self {
            Self::WorkflowRuns => "GET /repos/{owner}/{repo}/actions/runs",
            Self::Deployments => "GET /repos/{owner}/{repo}/deployments",
            Self::PullEvents => "GET /repos/{owner}/{repo}/issues/{number}/events",
        }
    }
}

/// Whether a run can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks {
    Yes,
    /// The server does not know where it could be answered.
    NoAddress,
    /// The server runs nothing itself for this repository.
    NoRunner,
    /// There is no server.
    NoServer,
    /// The policy gives the commands this, and whoever hosts the server does not.
    Beyond(String),
}

/// What the server's own runner does here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub asks: Asks,
    /// What became of the run that was asked for last and has not answered.
    pub run: AskedRun,
}

/// What became of a run that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AskedRun {
    /// It is not there yet.
    #[default]
    Unseen,
    /// The workflow can't be started, for this reason.
    Refused(String),
    Seen {
        run: u64,
        /// Where people read its log.
        page: String,
        /// How it ended, if it has.
        ended: Option<String>,
        /// Why what it left is not taken.
        refused: Option<String>,
    },
}

impl AskedRun {
    /// Whether nothing more comes of it by itself.
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Seen { ended: Some(_), .. })
    }
}

#[derive(Debug, Clone)]
pub struct Pull {
    pub number: u64,
    pub open: bool,
    pub draft: bool,
    pub merged: Option<CommitId>,
    /// Who merged it, where GitHub tells.
    pub merged_by: Option<Person>,
    /// When that was, where GitHub tells.
    pub merged_at: Option<Timestamp>,
    pub author: Person,
    pub head: CommitId,
    pub base_ref: String,
    /// Its branch is in another repository, or that is gone.
    pub fork: bool,
    /// The branch that the head is on; none when its repository is gone.
    pub branch: Option<Branch>,
    /// What its description declares.
    pub header: Header,
}

#[derive(Debug, Clone)]
pub struct Subject {
    pub about: About,
    /// Where the base branch is: its tip.
    pub base_tip: CommitId,
    /// It can't be merged there as it is.
    pub conflicts: bool,
    /// The patch id of the change, where it is not as recorded.
    pub patch: Option<Digest>,
    /// The newest commits that the change is made of, where its head or its base is not as recorded.
    pub commits: Vec<CommitId>,
    /// Who stands on these as an author, by the addresses that GitHub gives out. Anybody can write anybody's.
    pub signers: BTreeSet<String>,
    /// What each gate would be bound to.
    pub present: BTreeMap<Phase, Digest>,
    /// The paths that the change touches.
    pub changed: Vec<String>,
    /// What the document gates, and BUILD in what the change adds, find by this law; empty where no pipeline asks for it.
    pub documents: Judged,
    /// The documents as RECONCILE would have them, where a machine can write that.
    pub repair: Option<Repair>,
    /// The tier that its scope names; not read where no pipeline asks for it.
    pub tier: Option<Tier>,
    /// What becomes of the policy when this is merged.
    pub proposal: Proposal,
    /// For each workflow that a required check comes from: the files that give its run a meaning and are not the
    /// default branch's at the head.
    pub drift: BTreeMap<String, Drift>,
    /// What would be frozen here, and what became of what was; not read where no pipeline asks for it.
    pub guard: Guard,
    /// What got weaker in the tests that the change touches.
    pub weakened: Weakened,
    /// What agents have pushed of snapshots.
    pub context: super::memory::Files,
    /// What the log tells of ([`crate::ledger::diary::told_in`]).
    pub logged: BTreeSet<String>,
    /// The heads on which this one only has the bot's own files on top, the nearest first.
    pub beneath: Vec<CommitId>,
    /// `Phasegate-Claim:` on the head commit.
    pub trailer: Option<Phase>,
    /// What such a line has where a phase belongs.
    pub no_trailer: Option<String>,
    /// `Phasegate-Refreeze:` on the head commit: why what is frozen has to change, in the words of whoever changed it.
    pub asks_refreeze: Option<String>,
    /// `Phasegate-Stop:` in the messages of its commits, the oldest first: what agents stop for.
    pub stops: Vec<Raises>,
    /// `Phasegate-Heal:` in the messages of those of its commits that have this content: whoever built it reports that it is not
    /// honest.
    pub heals: Vec<Raises>,
    /// Contracts of the base that the change edits, each with its content now (none: it is gone).
    pub contracts: BTreeMap<String, Option<BlobId>>,
    /// The paths that were changed since a gate failed, and that it did not ask for; none where nobody can tell any more.
    pub beyond: Option<BTreeSet<String>>,
    /// The verdicts that the change brings.
    pub handed_in: Vec<HandedIn>,
    /// Whether what was pushed since VERIFY failed adds a file, touches a dependency manifest or changes an interface.
    pub structural_fix: bool,
    /// What is to be seen of the task that it is; not read where no task asks for it.
    pub task: Option<Look>,
}

/// A verdict of whoever built the change, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedIn {
    pub path: String,
    pub read: Result<verdict::Proposal, verdict::Unread>,
    /// What the `deltas.md` beside it has, an entry each.
    pub lessons: Vec<String>,
}

/// What a commit stops for or reports, in the words of whoever made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raises {
    pub raised: Raised,
    pub reason: String,
}

/// What a change does to the policy file. It is not judged by its own version, but that version has to be one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Proposal {
    #[default]
    Untouched,
    Valid,
    Removed,
    Invalid(Vec<Finding>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    pub id: u64,
    pub name: String,
    pub app: u64,
    /// `None` while it runs.
    pub conclusion: Option<String>,
    pub started_at: Option<Timestamp>,
    /// The workflow run that it is a job of: then all of this is told by Actions. A check run has none; a workflow's
    /// token can write what it likes into it.
    pub job_of: Option<WorkflowRun>,
}

/// A head with the same content, on which the present one only has the bot's own copies on top.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beneath {
    pub head: CommitId,
    pub checks: Vec<CheckRun>,
    pub workflow_runs: BTreeSet<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowRun {
    pub id: u64,
    /// Which try of the run it was: a rerun has the same id and a higher number.
    pub attempt: u64,
    /// The workflow's file.
    pub path: String,
    pub head: CommitId,
    /// What started it: `push`, `pull_request`, …
    pub event: String,
    /// When it was first started. A rerun repeats what was to be run then.
    pub created_at: Option<Timestamp>,
    /// The branch that it ran for.
    pub branch: Option<Branch>,
}

/// Another pull request of the same branch. A run for a pull request runs its merge with its own base, but its jobs land
/// on the head, which both have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sibling {
    pub number: u64,
    pub base_ref: String,
    /// Whether the policy covers the base, which is protected, and always did: it was never another.
    pub covered: bool,
    pub opened: Timestamp,
    /// Where it is closed: since when nothing has happened on it any more.
    pub quiet_since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    pub environment: String,
    pub state: String,
    pub commit: CommitId,
    /// Whoever says that this is its state.
    pub by: Person,
}

#[derive(Debug, Clone)]
pub struct Review {
    pub id: u64,
    pub by: Person,
    pub standing: Standing,
    /// `APPROVED`, `CHANGES_REQUESTED`, `DISMISSED`, `COMMENTED`.
    pub state: String,
    pub commit: Option<CommitId>,
    pub submitted_at: Option<Timestamp>,
    /// Its text, where that may have a block.
    pub body: Option<String>,
    /// How its text begins, in a line.
    pub says: String,
}

/// Another open pull request with the same head. A check belongs to a commit, so what is green for one would be green
/// for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rival {
    pub number: u64,
    pub base_ref: String,
    pub green: bool,
}

impl World {
    /// Where the content comes from.
    pub fn origin(&self) -> Origin {
        let patch = self.subject.as_ref().and_then(|subject| subject.patch.clone());
        Origin { branch: self.pull.branch.clone(), patch }
    }

    /// Whether the bot may commit to the branch of this change. The default branch is nobody's to answer a stop with.
    pub fn bot_may_commit(&self) -> bool {
        let branch = self.pull.branch.as_ref().filter(|branch| branch.name != self.default_branch);
        self.commits && self.pull.open && !self.pull.fork && branch.is_some()
    }

    pub fn policy(&self) -> Option<&Policy> {
        match &self.law {
            Law::Valid(policy) => Some(policy),
            Law::Invalid(_) => None,
        }
    }

    /// Whether runs can be asked of a source, and what became of the one that is waited for.
    pub fn offers(&self, source: Source) -> (&Asks, &AskedRun) {
        match source {
            Source::Runner => (&self.runner.asks, &self.runner.run),
            Source::Actions | Source::Checks | Source::People => (&self.asks, &self.asked_run),
        }
    }

    /// Whether we made this check run. With a workflow's own token everything that Actions makes has our id; then our name
    /// tells, as far as it can.
    pub fn is_ours(&self, run: &CheckRun) -> bool {
        run.app == self.app && (self.app != ACTIONS_APP || (run.job_of.is_none() && run.name.starts_with("phasegate/")))
    }

    /// Whether anything in the change changes what a green run means, or who may say so.
    pub fn self_weakening(&self) -> BTreeSet<&str> {
        let Some(subject) = &self.subject else { return BTreeSet::new() };
        let named = self.policy().and_then(|policy| crate::policy::globs(&policy.freeze.meaning).ok());
        let meaning = |path: &str| named.as_ref().is_some_and(|named| named.is_match(path));
        let configures = |path: &str| meaning::configuration(&RepoPath::from(path)).is_some();
        let drifted = |path: &str| subject.drift.values().flatten().any(|files| files.contains_key(path));
        let touched = subject.changed.iter().map(String::as_str);
        touched.filter(|path| set::is_law(path) || meaning(path) || configures(path) || drifted(path)).collect()
    }
}
