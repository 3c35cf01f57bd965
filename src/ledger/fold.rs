//! What each record does to the state of a change.

use std::collections::{BTreeMap, BTreeSet};

use super::against::{Against, Mark, things_against};
use super::diary::Diary;
use super::face::Face;
use super::findings::Findings;
use super::heal::{Caught, Report};
use super::objection::{Rejection, objectors};
use super::record::{About, Body, By, Claim, Evidence, Grouped, Impact, Moment, Outcome, Ran, Record, Round, Why};
use super::resolution::{Fix, Resolution, Resolved, Split, in_order};
use super::risk::Accepted;
use super::state::*;
use crate::finding::{Finding, GateName, Verdict};
use crate::flow::pipeline::{self, Beside, Step};
use crate::flow::{Action, FlowName, Mode, Phase, Refusal, Stage, merge};
use crate::ids::{ChangeNumber, CommitId, Digest, Person};
use crate::policy::{Autonomy, Declared, Source};

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
    #[error("record {seq} is about a task, and the change is none")]
    NoTask { seq: u64 },
    #[error("record {seq} begins or ends a pass that can't be begun or ended")]
    NoPass { seq: u64 },
    #[error("record {seq} says nothing of the content it is about")]
    NoSubject { seq: u64 },
    #[error("record {seq} answers a run that was not asked for, or was answered")]
    NotAsked { seq: u64 },
}

/// How many of the latest commands are kept in the state. The records keep all of them.
const RECENT: usize = 40;
/// How many times of one person are kept. More than the most that one may say in an hour.
const TIMES: usize = 64;
/// The commands that answer a stop, a block or a pause.
const ANSWERS: [&str; 4] = ["unblock", "resolve", "brake-resolved", "continue"];
/// How many merge groups are kept in the state. The records keep all of them.
const GROUPS: usize = 8;
/// How many runs that were asked for are kept in the state: more than one person may ask for within an hour. The records keep
/// all of them.
const RUNS: usize = 40;
/// How many repairs of documents are kept in the state. The records keep all of them.
const REPAIRS: usize = 20;
/// How many tampering notes are kept in the state. The records keep all of them.
const TAMPER_NOTES: usize = 5;
/// How many deliveries that told of some are: more than can be under way at once.
const TAMPERING_TOLD: usize = 50;

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
            declared: Declared::default(),
            waivers: Vec::new(),
            raised: BTreeSet::new(),
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
            fixing_since: None,
            failed: None,
            gates: BTreeMap::new(),
            previews: BTreeMap::new(),
            red_pushes: None,
            reds_at_pass: BTreeMap::new(),
            readied: None,
            spent_reviews: BTreeSet::new(),
            commands: BTreeSet::new(),
            stopped: None,
            braked: BTreeSet::new(),
            repairs: Vec::new(),
            accepted: BTreeMap::new(),
            frozen: None,
            asks: 0,
            asked: Vec::new(),
            agreed: Vec::new(),
            linked: BTreeSet::new(),
            tampered: Vec::new(),
            tampering_told: Vec::new(),
            approvals: Vec::new(),
            reviewed: BTreeMap::new(),
            objections: BTreeMap::new(),
            withdrawn: BTreeSet::new(),
            findings: Findings::default(),
            ran_for: BTreeMap::new(),
            based_since: None,
            reds: BTreeSet::new(),
            rejections: Vec::new(),
            groups: Vec::new(),
            recent: Vec::new(),
            said: BTreeMap::new(),
            escalation: None,
            escalated: Vec::new(),
            incidents: Vec::new(),
            tries: Vec::new(),
            claimant: None,
            rescoped: None,
            replanned: None,
            fix: None,
            split: None,
            given_up: None,
            diary: Diary::default(),
            round: None,
            declined: None,
            noted: None,
            active: Some(record.at),
            lapsed: None,
            recovered: None,
            answered: None,
            face: Face { began: Some(record.at), ..Face::default() },
            memory: None,
            task: None,
        })
    }

    /// One record further.
    pub fn fold(state: Option<State>, record: &Record, tip: Digest) -> Result<State, FoldError> {
        let Some(mut state) = state else { return Self::begin(record, tip) };
        let run = state.gate_run(record);
        state.apply(record)?;
        state.heard_of(record);
        state.diarise(record);
        state.face(record);
        state.remember(record, run);
        state.escalate(record);
        state.incident(record);
        state.seq = record.seq;
        state.tip = tip;
        Ok(state)
    }

    fn apply(&mut self, record: &Record) -> Result<(), FoldError> {
        let seq = record.seq;
        match &record.body {
            Body::Opened { .. } => return Err(FoldError::BegunTwice { seq }),
            Body::Declared(declared) => self.declared = self.declared.and(*declared),
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
                    (FlowName::Merge | FlowName::Task, _) => self.pipeline = None,
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
                    // It was for what was there, or it is there now.
                    self.fix = None;
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
            Body::Step { action, actor, why } => {
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
                if new.passed.contains_key(&Phase::Design) {
                    self.replanned = None;
                }
                // Whoever asks for a design is not served with the delivered one.
                if let (Action::IterateToDesign, Some(round)) = (*action, &mut self.round) {
                    round.impact = round.impact.max(Impact::Minor);
                }
                // It stays in the record.
                if *action == Action::RejectIteration {
                    self.round = None;
                }
                let phase = new.phase();
                self.pipeline = Some(new);
                self.note(&old, seq);
                self.note_fix();
                match (why, phase) {
                    (Some(why), Some(phase)) => {
                        self.recovered = Some(Recovered { phase, why: why.clone(), record: seq });
                    }
                    // What was taken up there is done, or left again.
                    _ => self.recovered = self.recovered.take().filter(|one| Some(one.phase) == phase),
                }
            }
            Body::TaskBegun { .. }
            | Body::TaskMoved { .. }
            | Body::TaskReturned {}
            | Body::TaskDriven { .. }
            | Body::PassBegun(_)
            | Body::PassEnded(_) => self.tasked(&record.body, record.about.as_ref(), seq)?,
            Body::Beside { fact } => self.beside(fact, seq),
            Body::Claimed { phase, how } => {
                if *how == Claim::ReadyForReview {
                    self.readied = record.about.as_ref().map(|about| about.head.clone());
                }
                self.claim = Some((*phase, *how));
                self.claimant = Some(record.by.clone());
            }
            Body::Judged { gate, verdict, claimed, findings, evidence, .. } => {
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
                match Failed::of(*gate, &about, findings) {
                    Some(failed) if *verdict == Verdict::Fail => self.failed = Some(failed),
                    _ if *verdict == Verdict::Pass
                        && matches!(gate, GateName::Merge | GateName::Phase(Phase::Verify)) =>
                    {
                        self.failed = None;
                    }
                    _ => {}
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
                // The step of a recovery stands right before the command that led to it.
                let taken_up = self.recovered.as_ref().filter(|one| one.record + 1 == seq && *outcome == Outcome::Done);
                let says = taken_up.map(|one| one.why.clone());
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
                    says,
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
            Body::Proposed(round) | Body::Continues { round, .. } => {
                self.round = Some(Round::clone(round));
                self.declined = None;
            }
            Body::Accepted { changes } => {
                if let Some(round) = &mut self.round {
                    round.accepted = Some(changes.clone());
                }
            }
            Body::Declined { reason } => {
                let (by, reason) = (record.by.clone(), reason.clone());
                let document = self.round.as_ref().map(|round| round.document.clone());
                self.declined = document.map(|document| Declined { document, by, reason });
            }
            Body::Detoured(noted) => self.noted = Some(noted.clone()),
            Body::Active { .. } => {}
            Body::Lapsed { since, lease } => {
                self.beside(&Beside::Dropped, seq);
                self.lapsed = Some(Lapsed { since: *since, lease: lease.clone() });
            }
            Body::Shown { .. } if record.about.is_none() => return Err(FoldError::NoSubject { seq }),
            // What they say is remembered.
            Body::Shown { .. }
            | Body::Sliced { .. }
            | Body::Scoped { .. }
            | Body::Laddered { .. }
            | Body::Remembered(_)
            | Body::Audited { .. }
            | Body::Promoted { .. } => {}
            Body::Objected { evidence } => {
                let about = record.about.as_ref().ok_or(FoldError::NoSubject { seq })?;
                self.reviews(evidence, &about.content);
                self.objectors = objectors(evidence);
            }
            Body::Reviewed(given) => self.review_block(given),
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
            Body::Stopped { reason, said, concerns, condition, raised } => {
                self.braked.extend(concerns.iter().cloned());
                self.against.stops.insert(Mark { change: self.change, seq });
                self.raised.extend(raised.iter().map(|raised| raised.key.clone()));
                let (said, condition) = (*said, *condition);
                let raised = raised.as_ref().map(|raised| raised.commit.clone());
                let stop = Stop { said, condition, raised, ..Stop::new(reason, &record.by) };
                self.against.left.extend(stop.leaves().map(str::to_owned));
                self.stop(stop);
            }
            Body::Cheated { reason, raised, .. } => {
                let content = record.about.as_ref().ok_or(FoldError::NoSubject { seq })?.content.clone();
                self.raised.extend(raised.iter().map(|raised| raised.key.clone()));
                let reported = reason.as_deref().map(|reason| Report::new(&record.by, raised.as_ref(), reason));
                self.against.cheats.insert(Caught { mark: Mark { change: self.change, seq }, content, reported });
            }
            Body::RiskAccepted { waiver, .. } => {
                let content = record.about.as_ref().ok_or(FoldError::NoSubject { seq })?.content.clone();
                let by = record.by.name().to_owned();
                self.waivers.push(Accepted { seq, by, content, waiver: waiver.clone(), over: false });
            }
            Body::RiskOver { of } => {
                self.waivers.iter_mut().filter(|one| one.seq == *of).for_each(|one| one.over = true);
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
                self.red_pushes = None;
                self.reds_at_pass.clear();
            }
            Body::Refrozen { paths, .. } => {
                for (path, blob) in paths {
                    self.accepted.entry(path.clone()).or_default().insert(blob.clone());
                }
            }
            Body::Frozen { manifest, files, why } => {
                let about = record.about.as_ref().ok_or(FoldError::NoSubject { seq })?;
                self.frozen = Some(Frozen {
                    manifest: manifest.clone(),
                    files: *files,
                    why: *why,
                    by: record.by.clone(),
                    head: about.head.clone(),
                    record: seq,
                    of: self.change,
                });
            }
            Body::Asked { gate, nonce, workflow } => {
                let about = record.about.clone().ok_or(FoldError::NoSubject { seq })?;
                let (gate, nonce, workflow) = (*gate, nonce.clone(), workflow.clone());
                self.asks += 1;
                let asked = Asked { gate, nonce, workflow, about, record: seq, at: record.at, answer: None };
                keep_newest(&mut self.asked, asked, RUNS);
            }
            Body::Ran(ran) => {
                // Neither may answer what the other was asked for.
                let (by, source) = match &record.by {
                    By::Workflow(by) => (by, Source::Actions),
                    By::Runner(by) => (by, Source::Runner),
                    By::Bot | By::Person { .. } => return Err(FoldError::NotAsked { seq }),
                };
                let open = |asked: &&mut Asked| asked.nonce == ran.nonce && asked.answer.is_none();
                let asked = self.asked.iter_mut().find(open).filter(|asked| asked.source() == source);
                let asked = asked.ok_or(FoldError::NotAsked { seq })?;
                asked.answer = Some(Answering { by: by.clone(), ran: Ran::clone(ran) });
                // Unlike what was asked for, this goes along with the work: to another base, and to another number.
                if ran.findings.iter().any(Finding::blocks) {
                    let (name, About { head, content, .. }) = (asked.workflow.clone(), asked.about.clone());
                    self.reds.insert(Red { workflow_run: by.run, name, head, content: Some(content) });
                }
            }
            Body::Repaired { files } => {
                let About { head, content, .. } = record.about.clone().ok_or(FoldError::NoSubject { seq })?;
                keep_newest(&mut self.repairs, Repair { head, content, files: files.clone() }, REPAIRS);
            }
            Body::Agreed { rule, reason } => {
                let content = record.about.clone().ok_or(FoldError::NoSubject { seq })?.content;
                let (rule, by, reason) = (rule.clone(), record.by.clone(), reason.clone());
                self.agreed.push(Agreed { rule, by, reason, content });
            }
            Body::Tampered { what, told } => {
                keep_newest(&mut self.tampered, what.clone(), TAMPER_NOTES);
                if let Some(told) = told {
                    keep_newest(&mut self.tampering_told, told.clone(), TAMPERING_TOLD);
                }
            }
            Body::Grouped(grouped) => {
                self.groups.retain(|known| known.head != grouped.head);
                keep_newest(&mut self.groups, Grouped::clone(grouped), GROUPS);
            }
            Body::Linked { number } => {
                self.linked.insert(*number);
            }
            Body::Escalated { issue, .. } | Body::IncidentShown { issue, .. } => {
                self.linked.insert(*issue);
            }
            Body::Incident(_) | Body::IncidentNoted { .. } => {}
            Body::Rescoped {} => {
                let present = |pipeline: &pipeline::State| pipeline.present.get(&Phase::Expand).cloned();
                self.rescoped = self.pipeline.as_ref().and_then(present);
                self.beside(&Beside::Rescoped, seq);
            }
            Body::Replanned {} => {
                let present = |pipeline: &pipeline::State| pipeline.present.get(&Phase::Design).cloned();
                self.replanned = self.pipeline.as_ref().and_then(present);
                self.beside(&Beside::Replanned, seq);
            }
            Body::Resolved(resolved) => self.resolved(record, resolved),
            Body::Reminded { of, number } => {
                if let Some(open) = self.escalation.as_mut().filter(|open| open.id == *of) {
                    open.reminded = open.reminded.max(*number);
                    open.reminded_at = Some(record.at);
                }
            }
            Body::Noted { of, comment, .. } => {
                if let Some(open) = self.escalation.as_mut().filter(|open| open.id == *of) {
                    open.noted.insert(*comment);
                }
            }
            Body::RedPushes { at, reds } => self.red_pushes = at.map(|phase| (phase, *reds)),
            Body::Unfixed { of } => {
                let fix = self.fix.take_if(|fix| fix.record == *of).filter(|fix| fix.only_hand);
                if let Some(By::Person { person, .. }) = fix.map(|fix| fix.by) {
                    self.operators.remove(&person);
                    self.own.remove(&person);
                }
            }
            Body::Split { of, issues } => {
                self.split.take_if(|split| split.record == *of);
                let settled =
                    self.escalated.iter_mut().chain(&mut self.escalation).filter_map(|one| one.settled.as_mut());
                if let Some(settled) = settled.into_iter().find(|settled| settled.record == *of) {
                    settled.issues = issues.clone();
                }
            }
            Body::GivenUp { reason } => {
                self.given_up = Some(Stop::new(reason, &record.by));
            }
        }
        Ok(())
    }

    /// What a resolution leaves to be done. Whoever gives files to the branch has a hand in the change.
    fn resolved(&mut self, record: &Record, resolved: &Resolved) {
        let (by, seq) = (record.by.clone(), record.seq);
        match &resolved.resolution {
            Resolution::ProvideFix { fix_description, fix_artifacts } => {
                let mut only_hand = false;
                if let By::Person { person, .. } = &by {
                    only_hand = !self.operators.contains(person);
                    self.worked([person]);
                }
                let head = record.about.as_ref().map(|about| about.head.clone());
                let (description, files) = (fix_description.clone(), fix_artifacts.clone());
                let stood = self.stood();
                self.fix = head.map(|head| Fix { record: seq, head, by, description, files, only_hand, stood });
            }
            Resolution::SplitTask { new_tasks } => {
                let tasks = in_order(new_tasks, |one| &one.name, |one| &one.depends_on);
                let tasks = tasks.unwrap_or_else(|| new_tasks.clone());
                self.split = Some(Split { record: seq, at: record.at, by, tasks });
            }
            _ => {}
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
        // Its proof is the base's now.
        self.frozen.take_if(|frozen| frozen.of == from);
        self.rejections.retain(|one| !green || one.on != Some(from));
        self.findings.held.retain(|_, one| !green || one.on != Some(from));
        let theirs = self.inherited.iter().filter(|taken| !self.released.contains(&taken.from));
        self.operators = theirs.flat_map(|taken| taken.operators.clone()).chain(self.own.clone()).collect();
    }

    /// Notes when somebody who works on it was heard of. What a gate says is told to them: from then on they have their time.
    fn heard_of(&mut self, record: &Record) {
        let heard = match &record.body {
            Body::Subject { why, .. } => matches!(why, Why::Opened | Why::Pushed),
            Body::Command { .. } => self.is_operators(&record.by),
            Body::Judged { gate, .. } => *gate != GateName::Merge,
            Body::Step { .. } | Body::Claimed { .. } | Body::Active { .. } => true,
            _ => false,
        };
        if heard {
            self.active = self.active.max(Some(record.at));
        }
        let dropped = self.pipeline.as_ref().is_some_and(|pipeline| pipeline.stage == Stage::SessionDropped);
        self.lapsed = self.lapsed.take().filter(|_| dropped);
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
                Some((
                    Red { workflow_run: *run, name: name.clone(), head: head.clone(), content: None },
                    conclusion.as_str(),
                ))
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

    /// What was shown and approved for another base branch counts for nothing any more.
    fn retargeted(&mut self, seq: u64) {
        self.beside(&Beside::Retargeted, seq);
        let seen = self.gates.values().flat_map(|judged| &judged.evidence).filter_map(|one| match one {
            Evidence::Review { review, .. } => *review,
            _ => None,
        });
        self.spent_reviews.extend(seen);
        self.spent_reviews.extend(self.findings.blocks.keys());
        self.approvals.clear();
        self.gates.clear();
        self.asked.clear();
        self.agreed.clear();
    }

    fn told(&mut self, told: merge::Told) {
        self.merge = merge::follow(self.merge, told);
    }

    fn beside(&mut self, fact: &Beside, seq: u64) {
        if let Some(old) = self.pipeline.take() {
            self.pipeline = Some(pipeline::beside(&old, fact));
            self.note(&old, seq);
            self.note_fix();
        }
    }

    /// A fix of VERIFY begins where it first failed, and ends where it passes or another phase has the change.
    fn note_fix(&mut self) {
        let Some(stage) = self.pipeline.as_ref().map(|pipeline| pipeline.stage) else { return };
        match pipeline::phase_of(stage) {
            Some(Phase::Verify) if stage == Stage::VerifyFixing => {
                let head = self.subject.as_ref().map(|about| about.head.clone());
                self.fixing_since = self.fixing_since.take().or(head);
            }
            Some(Phase::Verify) if stage != Stage::VerifyGatePassed => {}
            // Blocked or paused, it goes on afterwards.
            None => {}
            Some(_) => self.fixing_since = None,
        }
    }
}

/// Adds the newest, and lets go of the oldest where there are too many.
fn keep_newest<T>(kept: &mut Vec<T>, newest: T, most: usize) {
    kept.push(newest);
    if kept.len() > most {
        kept.remove(0);
    }
}
