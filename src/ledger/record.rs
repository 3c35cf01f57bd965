//! What is written down: one record a fact, in a form that does not change.
//!
//! A record names the change it belongs to, follows the one before it by digest, says when, by whom and about which
//! content, and carries one [`Body`]. Integers stay within 2^53 and there are no floats, so that canonical JSON is the
//! same everywhere.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::findings::{Axis, Reviewed};
use super::incident::Breach;
use super::memory::{Begun, Taken};
use super::origin::{Inherited, Origin};
use super::resolution::Resolved;
use super::risk::Waiver;
use super::snapshot::{self, Cap, FactId, SliceId};
use crate::finding::{Finding, GateName, Verdict};
use crate::flow::pipeline::Beside;
use crate::flow::task;
use crate::flow::{Action, Actor, FlowName, Mode, Phase, Refusal};
use crate::ids::{BlobId, ChangeNumber, CommitId, Digest, Person, RepoId};
use crate::policy::{Autonomy, Declared, RunGate};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub repo: RepoId,
    pub change: ChangeNumber,
    pub seq: u64,
    pub prev: Prev,
    /// UTC, to the millisecond.
    pub at: jiff::Timestamp,
    pub by: By,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    pub body: Body,
}

/// What a record follows. The first of a change follows nothing, and says which change it begins, so that a chain
/// can't be passed off as another change's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prev {
    Begins { repo: RepoId, change: ChangeNumber },
    Follows(Digest),
}

/// Who a record is due to. The bot writes every record; this says whose act it records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Bot,
    /// With the permission they had at that moment.
    Person {
        person: Person,
        role: String,
    },
    /// A workflow's job, as GitHub has signed what it is.
    Workflow(Job),
    /// The server's own runner: a process that it has started itself.
    Runner(Job),
}

impl By {
    /// Who it was, as people call them.
    pub fn name(&self) -> &str {
        match self {
            Self::Person { person, .. } => &person.login,
            Self::Bot | Self::Workflow(_) | Self::Runner(_) => "the bot",
        }
    }
}

/// Whose job answered, by the claims of its token, or by what GitHub tells of its run. Of the server's own
/// runner it is the server that knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Job {
    pub run: u64,
    pub attempt: u32,
    /// The workflow's file and the ref that it was read at; `runner`: none, it is the server's own.
    pub workflow: String,
    /// The commit that the file was read at, or the policy that the server's own runner went by.
    pub sha: CommitId,
    /// The account that started it; 0 is the server itself.
    pub actor: u64,
}

/// When something was said, on GitHub's clock. That has whole seconds; within one, comments are in the order of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Moment {
    pub at: jiff::Timestamp,
    pub comment: u64,
}

/// The content that a record is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct About {
    /// The branch that the change is to be merged into.
    pub base_ref: String,
    /// Where head and base part.
    pub base: CommitId,
    pub head: CommitId,
    pub content: Digest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    Opened,
    Pushed,
    Retargeted,
    /// The base branch or the policy moved under it.
    BaseMoved,
}

/// At which point the proof was frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Froze {
    /// Somebody claimed that the proof is there, while it was being built.
    Claimed,
    /// BUILD passed for this content.
    Built,
    /// An entitled person accepted what is there now.
    Refrozen,
}

/// What was there when a detour began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distilled: BTreeMap<String, BlobId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferences: Option<BlobId>,
    /// The report of an audit of the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<BlobId>,
}

/// Another round after a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub changes: Vec<Change>,
    pub impact: Impact,
    /// The proposal.
    pub document: BlobId,
    /// The version of the scope that was delivered, and that scope itself, which is to be kept.
    pub version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<BlobId>,
    /// The design that was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<BlobId>,
    /// Those of the changes that somebody wants; none while nobody has decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<BTreeSet<String>>,
}

impl Round {
    /// The changes that were proposed and that nobody wants, if there are such.
    pub fn left_out(&self) -> Option<String> {
        let accepted = self.accepted.as_ref()?;
        let out: Vec<&str> =
            self.changes.iter().map(|one| one.id.as_str()).filter(|id| !accepted.contains(*id)).collect();
        (!out.is_empty()).then(|| out.join(", "))
    }
}

/// One change of a proposed round.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Change {
    pub id: String,
    pub priority: String,
    /// The beginning of what it is.
    pub says: String,
}

/// What a round does to the architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Impact {
    None,
    Minor,
    Major,
}

impl Impact {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minor => "minor",
            Self::Major => "major",
        }
    }
}

/// What an agent stops for, beside a gate: the reason of a stop begins with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The same error after three approaches.
    Stuck,
    /// It is much larger than its scope says.
    Scope,
    /// Something that it depends on is not there, or does not do what it should.
    Dependency,
    /// Nobody knows whether it is safe.
    Unsafe,
    /// It was caught cheating once more than may be healed. Nobody says this one, the bot finds it.
    HealExhausted,
}

impl Condition {
    /// Those that somebody may stop for.
    pub const ALL: [Condition; 4] = [Self::Stuck, Self::Scope, Self::Dependency, Self::Unsafe];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Scope => "scope",
            Self::Dependency => "dependency",
            Self::Unsafe => "unsafe",
            Self::HealExhausted => "heal_exhausted",
        }
    }

    /// The condition that a reason begins with.
    pub fn of(reason: &str) -> Option<Self> {
        let end = reason.find(|c: char| !c.is_alphanumeric()).unwrap_or(reason.len());
        let (first, rest) = reason.split_at(end);
        // `scope-guard leaks` speaks of something else.
        let ends =
            rest.chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, ':' | ',' | '.' | ';' | '(' | '!'));
        Self::ALL.into_iter().find(|one| ends && first.eq_ignore_ascii_case(one.as_str()))
    }

    /// A concern about the design itself, which is not for a gate to unblock.
    pub fn is_structural(self) -> bool {
        self == Self::Scope
    }
}

/// How a gate run was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    Command,
    Trailer,
    ReadyForReview,
    /// A preview that passed, in auto mode.
    Preview,
    /// A reviewer's verdict: it is a run of the review gate by itself.
    Reviewer,
    /// The phase that a task's `STATE.md` has.
    Sheet,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    /// Answered, nothing moved.
    Answered,
    Refused(Refusal),
}

/// A merge queue's group and what was found of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grouped {
    /// The group's own commit.
    pub head: CommitId,
    /// The commit that it stands on.
    pub base: CommitId,
    /// The branch that it goes into.
    pub base_ref: String,
    /// The branch that the queue keeps it on.
    pub head_ref: String,
    /// The changes in it, each with the head it entered with.
    pub members: Vec<GroupMember>,
    pub verdict: Verdict,
    pub findings: Vec<Finding>,
    pub evidence: Vec<Evidence>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMember {
    pub change: ChangeNumber,
    pub head: CommitId,
}

impl Grouped {
    /// Whether this change is in it with this head.
    pub fn has(&self, change: ChangeNumber, head: &CommitId) -> bool {
        self.members.iter().any(|member| member.change == change && member.head == *head)
    }

    /// The rules that were red.
    pub fn red(&self) -> BTreeSet<String> {
        self.findings.iter().filter(|finding| finding.blocks()).map(|finding| finding.rule.clone()).collect()
    }

    /// Whether it says the same as another: texts may differ.
    pub fn same(&self, other: &Self) -> bool {
        self.meaning() == other.meaning()
    }

    /// What it says, in short.
    pub fn meaning(&self) -> Digest {
        let waits = crate::finding::only_waiting(&self.findings);
        let says = (&self.head, &self.members, self.verdict, self.red(), waits);
        Digest::of(serde_json::to_vec(&says).unwrap_or_default())
    }
}

/// Something that was run or read, by whom, on which content. What does not count is kept too, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "evidence", rename_all = "snake_case")]
pub enum Evidence {
    Check {
        name: String,
        app: u64,
        run: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workflow_run: Option<u64>,
        conclusion: String,
        head: CommitId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discounted: Option<String>,
    },
    Review {
        by: Person,
        role: String,
        /// The review's id; absent for an approval by a comment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<u64>,
        commit: CommitId,
        state: String,
        /// When it was given, on GitHub's clock; absent for an approval by a comment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<jiff::Timestamp>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        self_approved: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discounted: Option<String>,
    },
    Deployment {
        environment: String,
        state: String,
        commit: CommitId,
        /// Whoever said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Person>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discounted: Option<String>,
    },
    /// A run of the policy's commands that was asked for, and what was found of it.
    Run {
        workflow: String,
        run: u64,
        attempt: u32,
        /// The digest of its execution log, which stands in the change's folder.
        log: Digest,
        verdict: Verdict,
        /// How many tests it ran.
        tests: u64,
        head: CommitId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discounted: Option<String>,
    },
    /// What somebody who may approve says of it, having tried it.
    Word { by: Person, role: String, says: String, head: CommitId },
    /// That it passed by itself: the autonomy was auto, and nobody's word is in it. The runs that showed it.
    Auto { runs: Vec<String> },
    /// Who says of a subject of security that nothing is wrong there.
    Security { subject: String, by: String },
    /// The block of a review, which stands in a record of its own: what it looked at, and which of its findings are open.
    Findings {
        by: Person,
        role: String,
        review: u64,
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        axes: BTreeSet<Axis>,
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        open: BTreeSet<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discounted: Option<String>,
    },
}

/// A document that the bot has put right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mended {
    pub path: String,
    pub was: BlobId,
    pub is: BlobId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// The change begins.
    Opened {
        author: Person,
    },
    /// The law that holds for it from now on. Labels and branch names may only tighten it; what they tightened stays
    /// until the policy itself is another.
    Law {
        policy: Digest,
        flow: FlowName,
        mode: Mode,
        autonomy: Autonomy,
    },
    /// What the description of the pull request declares, with all that it has declared before: a description only tightens.
    Declared(Declared),
    /// There is new content (in `about`), and what each gate would be bound to in it.
    Subject {
        why: Why,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pushed_by: Option<Person>,
        present: BTreeMap<Phase, Digest>,
        /// Where it comes from, when that is news: a later pull request of the same work is known by it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
        /// Since when it goes into this base, on GitHub's clock, when that is news.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        based_since: Option<jiff::Timestamp>,
        /// Reviews and check runs that were first seen together with this content and were there before it, under the
        /// same head: they are for the content before.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        older_reviews: BTreeSet<u64>,
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        older_runs: BTreeSet<u64>,
    },
    /// This pull request is the same work as an earlier change, and takes over what stood against that.
    Inherited(Box<Inherited>),
    /// Who pushed, learned apart from the content.
    Operator {
        person: Person,
    },
    Closed {},
    Reopened {},
    /// Merged, as this commit; with the rules that were red when it was (a bypass), if any.
    Merged {
        commit: CommitId,
        bypassed: BTreeSet<String>,
    },
    /// A step of the flow's table.
    Step {
        action: Action,
        actor: Actor,
        /// Of a recovery: the phase that it takes up, and why that one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// It is a task, with its files in this folder.
    TaskBegun {
        folder: String,
    },
    /// A task goes to another phase.
    TaskMoved {
        to: task::Stage,
        actor: Actor,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// What it is held to from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame: Option<Digest>,
    },
    /// What a task was done with is not what is there any more: it is verified again.
    TaskReturned {},
    /// Agents are to make passes at a task: one, or one after the other; with none, no more are.
    TaskDriven {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drive: Option<task::Drive>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// An agent is at work on a task.
    PassBegun(super::task::Begun),
    /// What came of it.
    PassEnded(Box<super::task::Ended>),
    /// A fact beside the table.
    Beside {
        fact: Beside,
    },
    /// Someone claims that a phase is done on this head.
    Claimed {
        phase: Phase,
        how: Claim,
    },
    /// A gate was judged. `claimed` is absent for a preview: it counts for nothing but the tally of previews.
    Judged {
        gate: GateName,
        verdict: Verdict,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claimed: Option<Claim>,
        findings: Vec<Finding>,
        evidence: Vec<Evidence>,
        /// Of EXPAND that passed: the acceptance criteria that it passed with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        criteria: Vec<String>,
    },
    /// Who asks for changes, seen while it is closed. While it is open, the merge gate's judgement has it.
    Objected {
        evidence: Vec<Evidence>,
    },
    /// The block of a review, as it was first read.
    Reviewed(Box<Reviewed>),
    /// A comment that was a command, and what came of it.
    Command {
        /// The issue or pull request that it was written on.
        on: u64,
        comment: u64,
        /// Which of the comment's commands.
        index: u32,
        /// The digest of the comment's text as it was acted on.
        text: Digest,
        name: String,
        args: String,
        outcome: Outcome,
        /// When the comment was written, on GitHub's clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<jiff::Timestamp>,
    },
    /// An entitled person approves this content, by a comment.
    Approved {
        comment: u64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        self_approved: bool,
        /// When. It takes back nothing that they said later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Moment>,
    },
    /// An entitled person sends this content back, by a comment.
    Rejected {
        comment: u64,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Moment>,
        /// What it is for instead, where a push has overtaken it: all that its author may have seen.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        instead: BTreeSet<Digest>,
    },
    /// Somebody called a stop (the merge flow has no stages to hold it), or the bot pulled the brake.
    Stopped {
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Moment>,
        /// What the bot pulled the brake for. A person decides on each of them once.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        concerns: BTreeSet<String>,
        /// Which of the conditions it is called for, where its reason begins with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        condition: Option<Condition>,
        /// The commit whose message asks for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raised: Option<Raised>,
    },
    /// A confirmed cheat: this content passes, or would pass, by a proof that was weakened. It is never taken back.
    Cheated {
        /// What the wire has found.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        codes: BTreeSet<String>,
        /// What somebody reports that no wire sees.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Moment>,
        /// The commit whose message reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raised: Option<Raised>,
    },
    /// A person answers for what a gate finds in this content.
    RiskAccepted {
        #[serde(flatten)]
        waiver: Waiver,
        said: Moment,
    },
    /// The day is over until which the risk in this record was accepted.
    RiskOver {
        of: u64,
    },
    /// More pushes were red at a gate than the policy lets pass without a person; or, with none, that is so no more.
    RedPushes {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Phase>,
        reds: u32,
    },
    /// The files of a person's fix are not on the branch and will not be: what they answered stops the change again.
    Unfixed {
        of: u64,
    },
    /// A person lets it go on: they lift what was put before they said so.
    Resumed {
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Moment>,
    },
    /// A person accepts these changed files as what gives a run its meaning.
    Refrozen {
        paths: BTreeMap<String, Option<BlobId>>,
        reason: String,
    },
    /// The proof of this content is frozen from here on: the manifest with this digest, which stands in the change's folder.
    /// An earlier one stays where it is.
    Frozen {
        manifest: Digest,
        /// How many files it has.
        files: u64,
        why: Froze,
    },
    /// A run of the policy's commands on this content is asked of the trusted workflow, or of the server's own runner. Whoever
    /// answers names the nonce.
    Asked {
        gate: RunGate,
        nonce: Digest,
        /// Its file, or `runner`.
        workflow: String,
    },
    /// Who was asked has answered. A nonce is answered once.
    Ran(Box<Ran>),
    /// Documents that are out of step with the code are put right: the bot commits these on top of this head. As far as gates and
    /// approvals go they stay what they were before.
    Repaired {
        files: Vec<Mended>,
    },
    /// An entitled person agrees that this rule of a run holds nothing back for this content.
    Agreed {
        rule: String,
        reason: String,
    },
    /// Something that only the bot may write was changed by somebody else, and put right.
    Tampered {
        what: String,
        /// The delivery that told of it: however often that is worked off, it is noted once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<String>,
    },
    /// The commits of another change, which were in this one, are in its base now.
    Released {
        from: ChangeNumber,
        /// Its merge gate was green when it was merged.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        green: bool,
    },
    /// A merge queue's group that this change is in was judged.
    Grouped(Box<Grouped>),
    /// This issue or pull request belongs to the change.
    Linked {
        number: u64,
    },
    /// This issue shows the escalation that the record `id` opened.
    Escalated {
        id: u64,
        issue: u64,
    },
    /// Something went around the gate. An issue tells a person; nothing waits for it.
    Incident(Box<Breach>),
    /// This issue tells the incident that is the record `of`.
    IncidentShown {
        of: u64,
        issue: u64,
    },
    /// Somebody has taken note of the incident that is the record `of`: they have closed its issue.
    IncidentNoted {
        of: u64,
    },
    /// A person sends the change back to its scope: no gate that passed counts any more, and EXPAND passes on the same
    /// scope only when somebody claims it.
    Rescoped {},
    /// A person wants another design: DESIGN and what comes after it count no more, and DESIGN passes on the same design
    /// only when somebody claims it.
    Replanned {},
    /// A person's answer to a stop, as it was given. What follows from it are records of their own.
    Resolved(Box<Resolved>),
    /// The stop that the record `of` opened was brought to mind for this time.
    Reminded {
        of: u64,
        number: u32,
    },
    /// What somebody said on the issue of the stop that the record `of` opened, and that is no command. It decides nothing.
    Noted {
        of: u64,
        comment: u64,
        /// The digest of all of it.
        text: Digest,
        /// Its beginning.
        says: String,
    },
    /// The tasks that the resolution in the record `of` splits the change into have these issues, in their order.
    Split {
        of: u64,
        issues: Vec<u64>,
    },
    /// A person gives the change up. Its pull request is closed.
    GivenUp {
        reason: String,
    },
    /// A slice of work begins; one that is known goes by other words, or has its cap now.
    Sliced {
        id: SliceId,
        slice: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<Cap>,
        /// What was there, where it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begun: Option<Box<Begun>>,
    },
    /// The slice may touch this from now on.
    Scoped {
        cap: Cap,
    },
    /// How somebody means to go on after a FAIL.
    Laddered {
        action: snapshot::Action,
        reason: String,
        /// It cites what an audit brought.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        grounded: bool,
        /// It is told in the evidence; those of old are not.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        told: bool,
    },
    /// A snapshot that an agent has pushed is taken in.
    Remembered(Box<Taken>),
    /// A verifier's report is taken in as evidence, an entry a line.
    Audited {
        lines: Vec<String>,
    },
    /// Plans may rest on these facts from now on.
    Promoted {
        facts: BTreeSet<FactId>,
    },
    /// Another round is proposed.
    Proposed(Box<Round>),
    /// This pull request is the work of a round that was confirmed on another change.
    Continues {
        of: ChangeNumber,
        round: Box<Round>,
    },
    /// Of what was proposed, an entitled person wants these changes.
    Accepted {
        changes: BTreeSet<String>,
    },
    /// An entitled person wants nothing of what was proposed.
    Declined {
        reason: String,
    },
    /// What was there when a detour began: its end is held against it.
    Detoured(Noted),
    /// Somebody who works on the change was heard of, by nothing that has a record of its own.
    Active {
        person: Person,
    },
    /// Nobody who works on the change was heard of since then, and so long is what the policy gives them: the agent is taken to
    /// be gone.
    Lapsed {
        since: jiff::Timestamp,
        lease: String,
    },
    /// This content is what the comment shows. Recorded by a run in a workflow, which remembers nothing else.
    Shown {
        comment: u64,
        /// Since when, on GitHub's clock.
        since: jiff::Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files: Option<ShownFiles>,
        /// Whether the pull request was a draft then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        draft: bool,
    },
}

/// What a run that was asked for came to, as it was judged when it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    pub nonce: Digest,
    /// The digest of the execution log, which stands in the change's folder.
    pub log: Digest,
    /// How many tests ran.
    pub tests: u64,
    pub findings: Vec<Finding>,
}

/// A commit that asks for a person, or reports its own build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    pub commit: CommitId,
    /// What it says is known by this, also when it is rebased or amended: each is asked once.
    pub key: Digest,
}

/// The files that the comment asks somebody to accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownFiles {
    pub print: Digest,
    pub since: jiff::Timestamp,
}
