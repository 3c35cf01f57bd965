//! What the records add up to. State is the fold of the records and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::against::{Against, Mark, things_against};
use super::escalation::{Escalation, Try};
use super::objection::{Objector, Rejection, objectors};
use super::origin::Inherited;
use super::record::{About, Body, By, Claim, Evidence, Grouped, Moment, Outcome, Record, Why};
use crate::finding::{Finding, GateName, Verdict};
use crate::flow::pipeline::{self, Beside, Step};
use crate::flow::{FlowName, Mode, Phase, Refusal, Stage, merge};
use crate::ids::{BlobId, ChangeNumber, CommitId, Digest, Person};
use crate::policy::Autonomy;

/// A record that does not follow from the ones before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    #[error("record {seq} comes before the change has begun")]
    NotBegun { seq: u64 },
    #[error("record {seq} begins a change that has begun")]
    BegunTwice { seq: u64 },
    #[error("record {seq} takes a step that the law refuses: {refusal}")]
    Unlawful { seq: u64, refusal: Refusal },
    #[error("record {seq} takes a step of the pipeline, and the change is in no pipeline")]
    NoPipeline { seq: u64 },
    #[error("record {seq} says nothing of the content it is about")]
    NoSubject { seq: u64 },
}

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
    /// The last verdict of each gate.
    pub gates: BTreeMap<GateName, Judged>,
    /// Red previews of each gate since its last counted PASS.
    pub previews: BTreeMap<Phase, u32>,
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
    /// Changed files that a person has accepted, each with the content they saw (none: that it is gone).
    pub accepted: BTreeMap<String, BTreeSet<Option<BlobId>>>,
    pub linked: BTreeSet<u64>,
    /// The latest things that were tampered with and put right, newest last.
    pub tampered: Vec<String>,
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
    /// The latest verdicts that counted, newest last.
    #[serde(default)]
    pub tries: Vec<Try>,
    /// Who made the claim that is not judged yet.
    #[serde(default)]
    pub claimant: Option<By>,
    /// What EXPAND read when the change was sent back to its scope, until it has passed again.
    #[serde(default)]
    pub rescoped: Option<Digest>,
    /// Somebody gave the change up, for this reason.
    #[serde(default)]
    pub given_up: Option<Stop>,
    /// The newest command that answered a stop, a block or a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Answer>,
}

/// A command that let a change go on, sent it back or gave it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub by: By,
    /// The command's name.
    pub name: String,
    pub said: Moment,
}

/// A job that ended red when it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Red {
    pub workflow_run: u64,
    pub name: String,
    pub head: CommitId,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    pub reason: String,
    pub by: By,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Moment>,
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
}

/// How many of the latest commands are kept in the state. The records keep all of them.
const RECENT: usize = 40;
/// How many times of one person are kept. More than the most that one may say in an hour.
const TIMES: usize = 64;
/// The rule of the refusal that tells a person that they have said too much within an hour.
pub const OVER_THE_HOUR: &str = "CMD-09";

/// The commands that answer a stop, a block or a pause.
const ANSWERS: [&str; 4] = ["unblock", "resolve", "brake-resolved", "continue"];

pub fn same_person(a: &By, b: &By) -> bool {
    match (a, b) {
        (By::Person { person: a, .. }, By::Person { person: b, .. }) => a.id == b.id,
        _ => false,
    }
}

/// Conclusions of a job that ran and did not succeed.
pub const RED: [&str; 4] = ["failure", "timed_out", "action_required", "startup_failure"];

/// How many merge groups are kept in the state. The records keep all of them.
const GROUPS: usize = 8;

/// How many tampering notes are kept in the state. The records keep all of them.
const TAMPER_NOTES: usize = 5;

impl State {
    /// The state after a change's first record.
    fn begin(record: &Record, tip: Digest) -> Result<Self, FoldError> {
        let Body::Opened { author } = &record.body else {
            return Err(FoldError::NotBegun { seq: record.seq });
        };
        Ok(Self {
            change: record.change,
            seq: record.seq,
            tip,
            author: author.clone(),
            policy: None,
            flow: FlowName::Merge,
            mode: Mode::Auto,
            autonomy: Autonomy::Auto,
            open: true,
            merged: None,
            subject: None,
            heads: BTreeMap::new(),
            returned: false,
            origins: BTreeSet::new(),
            inherited: Vec::new(),
            against: Against::default(),
            operators: BTreeSet::from([author.clone()]),
            own: BTreeSet::from([author.clone()]),
            released: BTreeSet::new(),
            objectors: BTreeMap::new(),
            pipeline: None,
            merge: merge::Stage::default(),
            claim: None,
            gates: BTreeMap::new(),
            previews: BTreeMap::new(),
            reds_at_pass: BTreeMap::new(),
            readied: None,
            spent_reviews: BTreeSet::new(),
            commands: BTreeSet::new(),
            stopped: None,
            accepted: BTreeMap::new(),
            linked: BTreeSet::new(),
            tampered: Vec::new(),
            approvals: Vec::new(),
            reviewed: BTreeMap::new(),
            objections: BTreeMap::new(),
            withdrawn: BTreeSet::new(),
            ran_for: BTreeMap::new(),
            based_since: None,
            reds: BTreeSet::new(),
            rejections: Vec::new(),
            groups: Vec::new(),
            recent: Vec::new(),
            said: BTreeMap::new(),
            escalation: None,
            escalated: Vec::new(),
            tries: Vec::new(),
            claimant: None,
            rescoped: None,
            given_up: None,
            answered: None,
        })
    }

    /// One record further.
    pub fn fold(state: Option<State>, record: &Record, tip: Digest) -> Result<State, FoldError> {
        let Some(mut state) = state else { return Self::begin(record, tip) };
        state.apply(record)?;
        state.escalate(record);
        state.seq = record.seq;
        state.tip = tip;
        Ok(state)
    }

    fn apply(&mut self, record: &Record) -> Result<(), FoldError> {
        let seq = record.seq;
        match &record.body {
            Body::Opened { .. } => return Err(FoldError::BegunTwice { seq }),
            Body::Law { policy, flow, mode, autonomy } => {
                self.policy = Some(policy.clone());
                (self.flow, self.mode, self.autonomy) = (*flow, *mode, *autonomy);
                match (flow, &self.pipeline) {
                    // A repository with a valid policy has its preferences configured.
                    (FlowName::Pipeline, None) => {
                        let stage = Stage::PreferencesConfigured;
                        self.pipeline = Some(pipeline::State { stage, mode: *mode, ..pipeline::State::default() });
                        self.hold(seq);
                    }
                    (FlowName::Pipeline, Some(_)) => self.beside(&Beside::Mode { mode: *mode }, seq),
                    (FlowName::Merge, _) => self.pipeline = None,
                }
            }
            Body::Subject { why, pushed_by, present, origin, based_since, older_reviews, older_runs } => {
                let about = record.about.clone().ok_or(FoldError::NoSubject { seq })?;
                if let Some(old) = &self.subject {
                    for review in older_reviews {
                        self.reviewed.entry(*review).or_insert_with(|| old.content.clone());
                    }
                    for run in older_runs {
                        self.ran_for.entry(*run).or_insert_with(|| old.content.clone());
                    }
                }
                self.based_since = based_since.or(self.based_since);
                let keys = origin.iter().flat_map(|origin| origin.keys(&about.head));
                self.origins.extend(keys.map(|(_, key)| key));
                if self.subject.as_ref().is_none_or(|old| old.content != about.content) {
                    self.returned = self.heads.values().any(|content| *content == about.content);
                }
                self.heads.insert(about.head.clone(), about.content.clone());
                self.worked(pushed_by.iter());
                if self.subject.as_ref().is_none_or(|old| old.head != about.head) {
                    self.claim = None;
                }
                if *why == Why::Retargeted {
                    self.retargeted(seq);
                }
                self.beside(&Beside::Content { present: present.clone() }, seq);
                self.subject = Some(about);
            }
            Body::Inherited(taken) => self.inherit(taken, seq),
            Body::Operator { person } => self.worked([person]),
            Body::Released { from, green } => self.release(*from, *green),
            Body::Closed {} => {
                self.open = false;
                self.told(merge::Told::Closed);
            }
            Body::Reopened {} => {
                self.open = true;
                self.given_up = None;
                self.told(merge::Told::Reopened);
                self.beside(&Beside::Reopened, seq);
            }
            Body::Merged { commit, bypassed } => {
                self.open = false;
                self.told(merge::Told::Merged { bypassed: !bypassed.is_empty() });
                self.merged = Some(Merged { commit: commit.clone(), bypassed: bypassed.clone() });
            }
            Body::Step { action, actor } => {
                let old = self.pipeline.as_ref().ok_or(FoldError::NoPipeline { seq })?;
                let step = Step { action: *action, actor: *actor };
                let new = pipeline::apply(old, &step).map_err(|refusal| FoldError::Unlawful { seq, refusal })?;
                let old = old.clone();
                if pipeline::phase_of(new.stage) != pipeline::phase_of(old.stage) {
                    self.claim = None;
                }
                if new.passed.contains_key(&Phase::Expand) {
                    self.rescoped = None;
                }
                self.pipeline = Some(new);
                self.note(&old, seq);
            }
            Body::Beside { fact } => self.beside(fact, seq),
            Body::Claimed { phase, how } => {
                if *how == Claim::ReadyForReview {
                    self.readied = record.about.as_ref().map(|about| about.head.clone());
                }
                self.claim = Some((*phase, *how));
                self.claimant = Some(record.by.clone());
            }
            Body::Judged { gate, verdict, claimed, findings, evidence } => {
                let about = record.about.clone().ok_or(FoldError::NoSubject { seq })?;
                if *gate == GateName::Merge {
                    let green = *verdict == Verdict::Pass;
                    self.told(if green { merge::Told::Green } else { merge::Told::Red });
                }
                let claimed_by = match (gate, &self.claim) {
                    (GateName::Phase(phase), Some((of, _))) if of == phase => self.claimant.clone(),
                    _ => None,
                };
                self.tried(record, claimed_by);
                if let GateName::Phase(phase) = gate {
                    if claimed.is_some() && *verdict == Verdict::Fail {
                        let things = things_against(evidence, self);
                        self.against.count(*phase, &things);
                    }
                    match (claimed, verdict) {
                        (None, Verdict::Fail) => *self.previews.entry(*phase).or_insert(0) += 1,
                        (Some(_), Verdict::Pass) => {
                            if let Some(reds) = self.previews.remove(phase) {
                                let kept = self.reds_at_pass.entry(*phase).or_insert(0);
                                *kept = reds.max(*kept);
                            }
                        }
                        _ => {}
                    }
                    if *claimed == Some(Claim::Command) {
                        let of_it = |one: &&mut Answered| one.name == phase.as_str() && one.outcome == Outcome::Done;
                        if let Some(asked) = self.recent.iter_mut().rfind(of_it) {
                            asked.came.get_or_insert(*verdict);
                        }
                    }
                    // An earlier gate that was made again leaves the claim of the present one standing.
                    if claimed.is_some() && self.claim.is_some_and(|(of, _)| of == *phase) {
                        self.claim = None;
                    }
                }
                self.redden(evidence, &about.head);
                for one in evidence {
                    if let Evidence::Check { run, head, .. } = one
                        && *head == about.head
                    {
                        self.ran_for.entry(*run).or_insert_with(|| about.content.clone());
                    }
                }
                self.reviews(evidence, &about.content);
                if *gate == GateName::Merge {
                    self.objectors = objectors(evidence);
                }
                let judged = Judged {
                    verdict: *verdict,
                    claimed: *claimed,
                    about,
                    findings: findings.clone(),
                    evidence: evidence.clone(),
                };
                self.gates.insert(*gate, judged);
            }
            Body::Command { on, comment, index, name, args, outcome, written, .. } => {
                self.heard(&record.by, written.unwrap_or(record.at), outcome);
                self.commands.insert((*comment, *index));
                self.recent.push(Answered {
                    on: *on,
                    comment: *comment,
                    index: *index,
                    name: name.clone(),
                    args: args.clone(),
                    by: record.by.clone(),
                    at: record.at,
                    outcome: outcome.clone(),
                    came: None,
                });
                if self.recent.len() > RECENT {
                    self.recent.remove(0);
                }
                if let (Outcome::Done, true, Some(at)) = (outcome, ANSWERS.contains(&name.as_str()), *written) {
                    let (by, name, said) = (record.by.clone(), name.clone(), Moment { at, comment: *comment });
                    if self.answered.as_ref().is_none_or(|last| last.said <= said) {
                        self.answered = Some(Answer { by, name, said });
                    }
                }
            }
            Body::Objected { evidence } => {
                let about = record.about.as_ref().ok_or(FoldError::NoSubject { seq })?;
                self.reviews(evidence, &about.content);
                self.objectors = objectors(evidence);
            }
            Body::Rejected { reason, said, instead, .. } => {
                let about = record.about.as_ref().ok_or(FoldError::NoSubject { seq })?;
                self.approvals.retain(|approval| !same_person(&approval.by, &record.by));
                let of = if instead.is_empty() { BTreeSet::from([about.content.clone()]) } else { instead.clone() };
                self.rejections.extend(of.into_iter().map(|content| Rejection {
                    by: record.by.clone(),
                    content,
                    reason: reason.clone(),
                    standing: false,
                    on: None,
                    review: None,
                    said: *said,
                }));
            }
            Body::Approved { comment, self_approved, said } => {
                let about = record.about.as_ref().ok_or(FoldError::NoSubject { seq })?;
                self.rejections
                    .retain(|rejection| !same_person(&rejection.by, &record.by) || rejection.is_after(*said));
                self.approvals.push(Approval {
                    by: record.by.clone(),
                    comment: *comment,
                    head: about.head.clone(),
                    content: about.content.clone(),
                    self_approved: *self_approved,
                    said: *said,
                });
            }
            Body::Stopped { reason, said } => {
                self.against.stops.insert(Mark { change: self.change, seq });
                self.stop(Stop { reason: reason.clone(), by: record.by.clone(), said: *said });
            }
            Body::Resumed { said, .. } => {
                self.stopped = None;
                self.against.lift_stops();
                // In a flow without phases there is no stage to leave.
                if self.pipeline.is_none() {
                    self.against.lift_blocks();
                }
                // Whoever asked for changes under an earlier number may be gone.
                self.rejections.retain(|rejection| !rejection.standing || rejection.is_after(*said));
                self.given_up = None;
                self.previews.clear();
                self.reds_at_pass.clear();
            }
            Body::Refrozen { paths, .. } => {
                for (path, blob) in paths {
                    self.accepted.entry(path.clone()).or_default().insert(blob.clone());
                }
            }
            Body::Tampered { what } => {
                self.tampered.push(what.clone());
                if self.tampered.len() > TAMPER_NOTES {
                    self.tampered.remove(0);
                }
            }
            Body::Grouped(grouped) => {
                self.groups.retain(|known| known.head != grouped.head);
                self.groups.push(Grouped::clone(grouped));
                if self.groups.len() > GROUPS {
                    self.groups.remove(0);
                }
            }
            Body::Linked { number } => {
                self.linked.insert(*number);
            }
            Body::Escalated { issue, .. } => {
                self.linked.insert(*issue);
            }
            Body::Rescoped {} => {
                let present = |pipeline: &pipeline::State| pipeline.present.get(&Phase::Expand).cloned();
                self.rescoped = self.pipeline.as_ref().and_then(present);
                self.beside(&Beside::Rescoped, seq);
            }
            Body::GivenUp { reason } => {
                self.given_up = Some(Stop { reason: reason.clone(), by: record.by.clone(), said: None });
            }
        }
        Ok(())
    }

    /// Of several stops the one that was said last is shown: nothing that was said before it lifts it.
    pub(super) fn stop(&mut self, stop: Stop) {
        if self.stopped.as_ref().is_none_or(|shown| shown.said.is_none() || shown.said <= stop.said) {
            self.stopped = Some(stop);
        }
    }

    fn worked<'p>(&mut self, people: impl IntoIterator<Item = &'p Person>) {
        for person in people {
            self.operators.insert(person.clone());
            self.own.insert(person.clone());
        }
    }

    /// What another change brought along is in the base now: who worked on that has no hand in the rest.
    /// Who was against it was heard there, if it was green.
    fn release(&mut self, from: ChangeNumber, green: bool) {
        self.released.insert(from);
        self.rejections.retain(|one| !green || one.on != Some(from));
        let theirs = self.inherited.iter().filter(|taken| !self.released.contains(&taken.from));
        self.operators = theirs.flat_map(|taken| taken.operators.clone()).chain(self.own.clone()).collect();
    }

    /// Notes when somebody gave a command, and forgets what is more than an hour older.
    fn heard(&mut self, by: &By, at: jiff::Timestamp, outcome: &Outcome) {
        let By::Person { person, .. } = by else { return };
        let hour_ago = at - jiff::SignedDuration::from_hours(1);
        self.said.retain(|_, said| said.at.last().is_some_and(|last| *last > hour_ago));
        let said = self.said.entry(person.id).or_default();
        if matches!(outcome, Outcome::Refused(refusal) if refusal.rule == OVER_THE_HOUR) {
            said.told = Some(at);
            return;
        }
        // Deliveries come in any order.
        said.at.push(at);
        said.at.sort_unstable();
        if said.at.len() > TIMES {
            said.at.remove(0);
        }
    }

    /// Notes the reds of workflow runs, and forgets those that the same run has made good.
    fn redden(&mut self, evidence: &[Evidence], on: &CommitId) {
        let jobs = evidence.iter().filter_map(|one| match one {
            Evidence::Check { name, workflow_run: Some(run), conclusion, head, discounted: None, .. } if head == on => {
                Some((Red { workflow_run: *run, name: name.clone(), head: head.clone() }, conclusion.as_str()))
            }
            _ => None,
        });
        let jobs: Vec<(Red, &str)> = jobs.collect();
        let ends = |red: &Red| -> Vec<&str> {
            jobs.iter().filter(|(job, _)| job == red).map(|(_, conclusion)| *conclusion).collect()
        };
        self.reds.retain(|red| ends(red).is_empty() || ends(red).iter().any(|end| *end != "success"));
        let red = jobs.iter().filter(|(_, conclusion)| RED.contains(conclusion));
        self.reds.extend(red.map(|(job, _)| job.clone()));
    }

    /// What stood against merging it as this commit, where a merge queue did that. A queue may merge several groups at once
    /// when the last is green; that one has all of the others in it.
    pub fn red_group(&self, merged: &CommitId) -> BTreeSet<String> {
        let Some(group) = self.groups.iter().find(|group| group.head == *merged) else { return BTreeSet::new() };
        let has_all = |other: &&Grouped| group.members.iter().all(|member| other.has(member.change, &member.head));
        let green = self.groups.iter().filter(has_all).any(|group| group.verdict == Verdict::Pass);
        if green { BTreeSet::new() } else { group.red() }
    }

    /// What was shown and approved for another base branch counts for nothing any more.
    fn retargeted(&mut self, seq: u64) {
        self.beside(&Beside::Retargeted, seq);
        let seen = self.gates.values().flat_map(|judged| &judged.evidence).filter_map(|one| match one {
            Evidence::Review { review, .. } => *review,
            _ => None,
        });
        self.spent_reviews.extend(seen);
        self.approvals.clear();
        self.gates.clear();
    }

    /// The first gate with more red previews than this, passed since or not, that no person has looked at.
    pub fn audit_due(&self, limit: u32) -> Option<(Phase, u32)> {
        let tallies = self.previews.iter().chain(&self.reds_at_pass);
        tallies.map(|(phase, reds)| (*phase, *reds)).find(|(_, reds)| *reds > limit)
    }

    fn told(&mut self, told: merge::Told) {
        self.merge = merge::follow(self.merge, told);
    }

    fn beside(&mut self, fact: &Beside, seq: u64) {
        if let Some(old) = self.pipeline.take() {
            self.pipeline = Some(pipeline::beside(&old, fact));
            self.note(&old, seq);
        }
    }
}
