//! What the records add up to. State is the fold of the records and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::against::Against;
use super::diary::Diary;
use super::escalation::{Escalation, Try};
use super::face::Face;
use super::findings::Findings;
use super::incident::Incident;
use super::memory::Memory;
use super::objection::{Objector, Rejection};
use super::origin::Inherited;
use super::record::{
    About, By, Claim, Condition, Evidence, Froze, Grouped, Job, Mended, Moment, Noted, Outcome, Ran, Round,
};
use super::resolution::{Fix, Split};
use super::risk::Accepted;
use super::task::Task;
use crate::finding::{Finding, GateName, Verdict};
use crate::flow::pipeline;
use crate::flow::{FlowName, Mode, Phase, merge};
use crate::ids::{BlobId, ChangeNumber, CommitId, Digest, Person};
use crate::policy::{Autonomy, Declared, RunGate, Source};
use crate::repo::{RepoPath, Written};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub change: ChangeNumber,
    /// How many records there are, and the digest of the newest.
    pub seq: u64,
    pub tip: Digest,
    pub author: Person,
    /// The digest of the policy that the following three come from.
    pub policy: Option<Digest>,
    pub flow: FlowName,
    pub mode: Mode,
    pub autonomy: Autonomy,
    /// What the descriptions of this work have declared.
    #[serde(default, skip_serializing_if = "Declared::is_none")]
    pub declared: Declared,
    /// What commits have asked a person, or reported.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub raised: BTreeSet<Digest>,
    /// Risks that somebody answers for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<Accepted>,
    pub open: bool,
    pub merged: Option<Merged>,
    pub subject: Option<About>,
    /// Every head this change has had, with its content.
    pub heads: BTreeMap<CommitId, Digest>,
    /// The present content was there before, and other content since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub returned: bool,
    /// The keys by which a later pull request of the same work finds this change.
    #[serde(default)]
    pub origins: BTreeSet<Digest>,
    /// What it took over from other changes of the same work.
    #[serde(default)]
    pub inherited: Vec<Inherited>,
    /// What stands against this work.
    #[serde(default)]
    pub against: Against,
    /// The author, and whoever pushed, here or to what of other changes is in it. None of them is an independent human.
    pub operators: BTreeSet<Person>,
    /// Those of them who did so here.
    #[serde(default)]
    pub own: BTreeSet<Person>,
    /// Changes whose commits were in this one and are not any more.
    #[serde(default)]
    pub released: BTreeSet<ChangeNumber>,
    /// Who asks for changes in a review, as it was last seen, and in which.
    #[serde(default)]
    pub objectors: BTreeMap<u64, Objector>,
    pub pipeline: Option<pipeline::State>,
    /// Where it stands in the merge flow. The gate is the same in every flow, so every flow keeps it.
    #[serde(default)]
    pub merge: merge::Stage,
    /// A gate run that was claimed on the present head and is not judged yet.
    pub claim: Option<(Phase, Claim)>,
    /// The head at which VERIFY failed, while that is being fixed: what was pushed since is the fix. Later looks at it don't
    /// move it, nor do more failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixing_since: Option<CommitId>,
    /// The last run that failed, until the proof is there: what is pushed next answers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
    /// The last verdict of each gate.
    pub gates: BTreeMap<GateName, Judged>,
    /// Red previews of each gate since its last counted PASS.
    pub previews: BTreeMap<Phase, u32>,
    /// The gate at which more pushes were red than the policy lets pass, and how many, until a person has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red_pushes: Option<(Phase, u32)>,
    /// How many red previews each gate had when it last passed, until a person has looked at them. Pushing until a
    /// preview is green is no way round the audit.
    #[serde(default)]
    pub reds_at_pass: BTreeMap<Phase, u32>,
    /// The head on which the pull request was last marked ready, so that a delivery that comes twice claims once.
    #[serde(default)]
    pub readied: Option<CommitId>,
    /// Reviews that were given before the base branch became another one.
    #[serde(default)]
    pub spent_reviews: BTreeSet<u64>,
    /// Commands that have been worked off: comment id and place in it.
    pub commands: BTreeSet<(u64, u32)>,
    pub stopped: Option<Stop>,
    /// What the brake was pulled for so far.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub braked: BTreeSet<String>,
    /// Documents that the bot has put right, the newest last.
    #[serde(default)]
    pub repairs: Vec<Repair>,
    /// Changed files that a person has accepted, each with the content they saw (none: that it is gone).
    pub accepted: BTreeMap<String, BTreeSet<Option<BlobId>>>,
    /// What is frozen, by the newest record that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Frozen>,
    /// How many runs were asked for so far.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub asks: u64,
    /// The latest runs that were asked for, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<Asked>,
    /// What people have agreed to, of runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreed: Vec<Agreed>,
    pub linked: BTreeSet<u64>,
    /// The latest things that were tampered with and put right, newest last.
    pub tampered: Vec<String>,
    /// The latest deliveries that told of such, newest last. One that is worked off again, because its look was cut off
    /// before everything was put right, is no news.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tampering_told: Vec<String>,
    /// Approvals by a comment, each for the content it was given for.
    pub approvals: Vec<Approval>,
    /// Reviews that were seen on the head they name, each with the content that head had then: the base may move under
    /// it, or be another.
    #[serde(default)]
    pub reviewed: BTreeMap<u64, Digest>,
    /// Reviews that asked for changes, each with the content for which that last stood. Anybody with write access can
    /// dismiss one; that takes nothing back.
    #[serde(default)]
    pub objections: BTreeMap<u64, Digest>,
    /// Those of them that their givers have taken back, by approving what they were against.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub withdrawn: BTreeSet<u64>,
    /// What reviewers found, and what became of it.
    #[serde(default, skip_serializing_if = "Findings::is_empty")]
    pub findings: Findings,
    /// The content that each check run was first seen with, for the same reason.
    #[serde(default)]
    pub ran_for: BTreeMap<u64, Digest>,
    /// Since when the pull request goes into its present base.
    #[serde(default)]
    pub based_since: Option<jiff::Timestamp>,
    /// Jobs that ended red on a head, by name, with their workflow runs: a run can be deleted.
    #[serde(default)]
    pub reds: BTreeSet<Red>,
    /// Rejections by a comment, each for the content it was given for. The same person's approval lifts it.
    pub rejections: Vec<Rejection>,
    /// The latest merge groups that it was in, newest last, each as it was last judged.
    #[serde(default)]
    pub groups: Vec<Grouped>,
    /// The latest commands and what came of them, newest last: they are answered from here, so that a crash between
    /// the record and the answer loses no answer.
    pub recent: Vec<Answered>,
    /// What each person has said within the last hour, by their id.
    #[serde(default)]
    pub said: BTreeMap<u64, Said>,
    /// The stop that waits for a person.
    #[serde(default)]
    pub escalation: Option<Escalation>,
    /// The latest that have ended, newest last: their issues are closed from here.
    #[serde(default)]
    pub escalated: Vec<Escalation>,
    /// The latest incidents, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<Incident>,
    /// The latest verdicts that counted, newest last.
    #[serde(default)]
    pub tries: Vec<Try>,
    /// Who made the claim that is not judged yet.
    #[serde(default)]
    pub claimant: Option<By>,
    /// What EXPAND read when the change was sent back to its scope, until it has passed again.
    #[serde(default)]
    pub rescoped: Option<Digest>,
    /// What DESIGN read when the change was sent back to its design, until it has passed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replanned: Option<Digest>,
    /// A person's files, which are to be committed on top of this head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// Tasks that it was split into, while their issues are not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// Somebody gave the change up, for this reason.
    #[serde(default)]
    pub given_up: Option<Stop>,
    /// What every gate has said so far, and what was learned.
    #[serde(default, skip_serializing_if = "Diary::is_empty")]
    pub diary: Diary,
    /// The round that is proposed, or confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Round>,
    /// The proposal of a round that was rejected last, while there is no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<Declined>,
    /// What was there when the detour began that it is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noted: Option<Noted>,
    /// When somebody who works on it was last heard of, or something was last told them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<jiff::Timestamp>,
    /// It was dropped because nobody was heard of, and is dropped still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lapsed: Option<Lapsed>,
    /// Where the last recovery took the change up, while that is where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Recovered>,
    /// The newest command that answered a stop, a block or a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Answer>,
    /// What people were shown and what was heard.
    #[serde(default)]
    pub face: Face,
    /// Its latest snapshot; none before there is a law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// The task that it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<Task>>,
}

/// A lease that ran out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lapsed {
    /// When somebody was last heard of.
    pub since: jiff::Timestamp,
    /// How long the policy waits.
    pub lease: String,
}

/// A change that was taken up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    pub phase: Phase,
    /// The phase and the reason, in a sentence.
    pub why: String,
    /// The record that says so.
    pub record: u64,
}

/// A command that let a change go on, sent it back or gave it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub by: By,
    /// The command's name.
    pub name: String,
    pub said: Moment,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_none_yet(count: &u64) -> bool {
    *count == 0
}

/// Documents that the bot has put right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// The commit that it is on top of.
    pub head: CommitId,
    /// What that was.
    pub content: Digest,
    pub files: Vec<Mended>,
}

/// A run that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub gate: RunGate,
    pub nonce: Digest,
    /// The workflow's file, or `runner`.
    pub workflow: String,
    pub about: About,
    /// The record that asks for it.
    pub record: u64,
    pub at: jiff::Timestamp,
    /// What came of it; none while nobody has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answering>,
}

impl Asked {
    /// Who is asked: a workflow by its file, or the server's own runner by its word in the policy, which no file has.
    pub fn source(&self) -> Source {
        if self.workflow == Source::Runner.as_str() { Source::Runner } else { Source::Actions }
    }

    /// What a run of the server's own is told by: a number that no other has, neither here nor among those of Actions.
    pub fn number(&self) -> u64 {
        // As many digits as JSON's numbers hold.
        u64::from_str_radix(self.nonce.as_str().get(..13).unwrap_or_default(), 16).unwrap_or_default()
    }

    /// The job that the server's own runner answers as, by the policy of this commit.
    pub fn own_job(&self, law: CommitId) -> Job {
        Job { run: self.number(), attempt: 1, workflow: Source::Runner.to_string(), sha: law, actor: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answering {
    pub by: Job,
    pub ran: Ran,
}

/// What a person has agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    pub rule: String,
    pub by: By,
    pub reason: String,
    pub content: Digest,
}

/// A manifest that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    pub manifest: Digest,
    pub files: u64,
    pub why: Froze,
    pub by: By,
    /// The head that it was taken at.
    pub head: CommitId,
    /// The record that says so, and the change whose it is: another pull request of the same work takes it over.
    pub record: u64,
    pub of: ChangeNumber,
}

/// A job that ended red when it was last seen, or a run that was asked for and did.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Red {
    pub workflow_run: u64,
    /// The job's; of a run that was asked for, who was.
    pub name: String,
    pub head: CommitId,
    /// What a run was asked for; none of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
}

/// When somebody gave commands, as far as it matters for how many they may give.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The latest commands that were taken, oldest first.
    pub at: Vec<jiff::Timestamp>,
    /// When they were last told that it is too many.
    pub told: Option<jiff::Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    pub commit: CommitId,
    pub bypassed: BTreeSet<String>,
}

/// A proposal that somebody did not want.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declined {
    pub document: BlobId,
    pub by: By,
    pub reason: String,
}

/// A run that failed, and what it asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub about: About,
    /// The files that it named.
    pub files: BTreeSet<String>,
    /// Something that it found is in no file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anywhere: bool,
}

impl Failed {
    /// What a verdict of REVIEW, VERIFY or the merge gate asks to be mended; none where it only waits.
    pub(super) fn of(gate: GateName, about: &About, findings: &[Finding]) -> Option<Self> {
        let asks = |finding: &&Finding| {
            let proof = match gate {
                GateName::Merge => matches!(finding.rule.as_str(), "MRG-01" | "MRG-02" | "REV-03"),
                GateName::Phase(phase) => phase >= Phase::Review,
                GateName::Task => matches!(finding.rule.as_str(), "TSK-12" | "MRG-02"),
            };
            finding.blocks() && !finding.waiting && proof
        };
        let asked: Vec<&Finding> = findings.iter().filter(asks).collect();
        asked.first()?;
        Some(Self {
            about: about.clone(),
            files: asked.iter().filter_map(|finding| finding.path.clone()).collect(),
            anywhere: asked.iter().any(|finding| finding.path.is_none()),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    pub reason: String,
    pub by: By,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Moment>,
    /// The commit whose message asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<CommitId>,
    /// The change of the same work that was stopped by it, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<ChangeNumber>,
    /// Those that were called while it stood. One answer is for all of them, so all of them are shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Stop>,
}

impl Stop {
    pub fn new(reason: &str, by: &By) -> Self {
        let (reason, by) = (reason.to_owned(), by.clone());
        Self { reason, by, condition: None, said: None, raised: None, of: None, also: Vec::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    pub verdict: Verdict,
    pub claimed: Option<Claim>,
    pub about: About,
    pub findings: Vec<Finding>,
    pub evidence: Vec<Evidence>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub by: By,
    pub comment: u64,
    pub head: CommitId,
    pub content: Digest,
    pub self_approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Moment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub on: u64,
    pub comment: u64,
    pub index: u32,
    pub name: String,
    pub args: String,
    pub by: By,
    pub at: jiff::Timestamp,
    pub outcome: Outcome,
    /// Of a claim: what the gate said to it, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came: Option<Verdict>,
    /// Of what took a change up again: where, and why there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
}

/// The rule of the refusal that tells a person that they have said too much within an hour.
pub const OVER_THE_HOUR: &str = "CMD-09";

pub fn same_person(a: &By, b: &By) -> bool {
    match (a, b) {
        (By::Person { person: a, .. }, By::Person { person: b, .. }) => a.id == b.id,
        _ => false,
    }
}

/// Conclusions of a job that ran and did not succeed.
pub const RED: [&str; 4] = ["failure", "timed_out", "action_required", "startup_failure"];

impl State {
    /// The documents that the bot has put right, and what they were before.
    pub fn written_by_bot(&self) -> Written {
        let files = self.repairs.iter().flat_map(|repair| &repair.files);
        files.map(|file| ((RepoPath::from(file.path.as_str()), file.is.clone()), Some(file.was.clone()))).collect()
    }

    /// Where the last recovery took the change up, while that is what is worked on.
    pub fn taken_up(&self) -> Option<&Recovered> {
        let at = self.pipeline.as_ref().and_then(|pipeline| pipeline::phase_of(pipeline.stage));
        self.recovered.as_ref().filter(|one| self.open && at == Some(one.phase))
    }

    /// Whether this is the act of somebody who works on the change.
    pub fn is_operators(&self, by: &By) -> bool {
        matches!(by, By::Person { person, .. } if self.operators.iter().any(|one| one.id == person.id))
    }

    /// What stood against merging it as this commit, where a merge queue did that. A queue may merge several groups at once
    /// when the last is green; that one has all of the others in it.
    pub fn red_group(&self, merged: &CommitId) -> Vec<Finding> {
        let Some(group) = self.groups.iter().find(|group| group.head == *merged) else { return Vec::new() };
        let has_all = |other: &&Grouped| group.members.iter().all(|member| other.has(member.change, &member.head));
        let green = self.groups.iter().filter(has_all).any(|group| group.verdict == Verdict::Pass);
        if green {
            return Vec::new();
        }
        group.findings.iter().filter(|finding| finding.blocks()).cloned().collect()
    }

    /// The first gate with more red previews than this, passed since or not, that no person has looked at.
    pub fn audit_due(&self, limit: u32) -> Option<(Phase, u32)> {
        let tallies = self.previews.iter().chain(&self.reds_at_pass);
        tallies.map(|(phase, reds)| (*phase, *reds)).find(|(_, reds)| *reds > limit)
    }
}
