//! Escalations: stops that need a person. Each follows from the records alone, so that a lost database loses none.
//!
//! One opens with the record that stopped the change: a gate that blocked, a `/stop`, the brake, a stepped wait. It ends
//! with the record that lifted the stop or ended the change. Its id is the sequence number of the record that opened it:
//! the issue that shows it is known by that, however often it is written.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::record::{About, Body, By, Claim, Condition, Outcome, Record};
use super::resolution::{Remedy, Settled};
use super::state::{Declined, State, Stop};
use crate::finding::{Finding, GateName, Verdict, only_waiting};
use crate::flow::pipeline::phase_of;
use crate::flow::{FlowName, Phase, Stage};
use crate::ids::{ChangeNumber, CommitId, Digest, RepoId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// The sequence number of the record that opened it.
    pub id: u64,
    pub cause: Cause,
    /// The phase in which it stopped, or that it waits to begin. The merge flow has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    pub since: jiff::Timestamp,
    /// The content at that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// The issue that shows it, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<u64>,
    /// What was said when it was let go on. The step that follows ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The resolution that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
    /// How often it was brought to mind.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub reminded: u32,
    /// When it was, last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminded_at: Option<jiff::Timestamp>,
    /// Comments that were kept as notes.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub noted: BTreeSet<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<End>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_none_yet(count: &u32) -> bool {
    *count == 0
}

impl Escalation {
    /// The name of its artefact. Made of what it is known by, so that whoever decides needs neither a clock nor luck.
    pub fn artefact(repo: RepoId, change: ChangeNumber, id: u64) -> String {
        let digest = Digest::of_parts([repo.0.to_string(), change.0.to_string(), id.to_string()]);
        format!("ESC-{}", digest.as_str().get(..8).unwrap_or_default())
    }
}

/// Why a change waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A gate failed as often as it may.
    Gate,
    /// Reconcile found what only a person can decide.
    Reconcile,
    /// Somebody said `/stop`.
    Stop,
    /// A concern about the design itself.
    Brake,
    /// More pushes were red at a gate than may be without a person's look.
    Reds,
    /// Stepped mode: a gate passed, and a person is to look before the next phase begins.
    Pause,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The sequence number of the record that ended it.
    pub seq: u64,
    pub how: Ending,
    pub by: By,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<jiff::Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Somebody let it go on.
    Lifted,
    /// Somebody sent it back to its scope.
    Rescoped,
    /// Somebody sent it back to its design.
    Replanned,
    GivenUp,
    Closed,
    Merged,
    /// Something else took its place: another stop, other content, another policy.
    Overtaken,
}

/// A gate's verdict that counted, for the trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Try {
    pub seq: u64,
    pub gate: GateName,
    pub verdict: Verdict,
    pub head: CommitId,
    /// How it was claimed, and by whom. The merge gate is nobody's claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<Claim>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// The rules that stood against it, each once.
    pub rules: Vec<String>,
    /// What the first of them said.
    pub says: String,
    /// What stood against it at a place: rule, file and what was said there, without the line.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub places: BTreeSet<String>,
}

/// The rule of the complexity brake that looks back.
const THIRD_APPROACH: &str = "BRK-03";
/// What stands between a verdict and what it leaves undone, in the reason of the stop that it is.
pub const LEAVES: &str = " leaves ";
/// So many approaches to the same failure may fail; the next one is a person's to think about.
const APPROACHES: usize = 2;

impl Stop {
    /// It, and those that were called beside it, as stops of another change of the same work.
    #[must_use]
    pub(super) fn on(mut self, change: ChangeNumber) -> Self {
        self.of = self.of.or(Some(change));
        self.also = self.also.into_iter().map(|one| one.on(change)).collect();
        self
    }

    /// Whether the brake was pulled before a third approach to the same failure.
    pub fn is_third_approach(&self) -> bool {
        self.by == By::Bot && self.raised.is_none() && self.reason.starts_with(THIRD_APPROACH)
    }

    /// The rules of what it leaves undone, where it is of a verdict.
    pub fn leaves(&self) -> impl Iterator<Item = &'static str> {
        const KINDS: [(&str, &str); 3] = [
            ("security", "residue_security"),
            ("concurrency", "residue_concurrency"),
            ("architecture", "residue_architecture"),
        ];
        let left = self.reason.split_once(LEAVES).filter(|_| self.raised.is_some()).map_or("", |(_, left)| left);
        let kinds: BTreeSet<&str> = left.split("; ").filter_map(|one| Some(one.split_once(": ")?.0)).collect();
        KINDS.into_iter().filter(move |(kind, _)| kinds.contains(kind)).map(|(_, rule)| rule)
    }

    /// Whether it is of a verdict that leaves something of security: that is nobody's to let go.
    pub fn leaves_security(&self) -> bool {
        self.leaves().any(|rule| rule == "residue_security")
    }
}

/// What a person said when they let a change go on, or ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'s> {
    pub by: &'s str,
    /// What they chose, where it was a resolution.
    pub action: Option<Remedy>,
    pub says: &'s str,
    pub issue: Option<u64>,
}

impl State {
    /// The last word of a person about a stop, or about the round that was proposed last. A wait that was ended without one hides none that came before.
    pub fn last_word(&self) -> Option<Word<'_>> {
        if let Some(Declined { by: By::Person { person, .. }, reason, .. }) = &self.declined {
            return Some(Word { by: &person.login, action: None, says: reason, issue: None });
        }
        self.escalated.iter().rev().find_map(|one| {
            let end = one.ended.as_ref()?;
            let By::Person { person, .. } = &end.by else { return None };
            let action = one.settled.as_ref().map(|settled| settled.resolution.remedy());
            Some(Word { by: &person.login, action, says: end.reason.as_deref()?, issue: one.issue })
        })
    }
}

/// So many places are kept of a try.
const MOST_PLACES: usize = 50;

/// The failures that have a place, each by what it is known again by. Lines move, so they are not part of it.
fn places(findings: &[Finding]) -> BTreeSet<String> {
    let wrong = findings.iter().filter(|finding| finding.blocks() && !finding.waiting);
    let placed =
        wrong.filter_map(|finding| Some(format!("{} {}: {}", finding.rule, finding.path.as_ref()?, finding.says)));
    placed.map(|text| text.chars().take(LONGEST).collect()).take(MOST_PLACES).collect()
}

/// How many verdicts are kept for the trail. The records keep all of them.
const TRIES: usize = 12;
/// How many escalations that have ended are kept, for their issues to be closed.
const ENDED: usize = 8;
/// So many stops of one person are kept beside the first.
const MOST_STOPS: usize = 20;
/// The longest text of a try.
const LONGEST: usize = 300;

/// What is asked about first: whether it is safe, then what brakes, then what has a question of its own.
fn weight(stop: &Stop) -> u8 {
    match stop.condition {
        Some(Condition::Unsafe | Condition::HealExhausted) => 3,
        Some(Condition::Scope) => 2,
        Some(Condition::Stuck | Condition::Dependency) => 1,
        None => 0,
    }
}

/// Why the change waits for a person now, if it does.
fn waits(state: &State) -> Option<(Cause, Option<Phase>)> {
    if state.given_up.is_some() || (!state.open && state.merged.is_none()) {
        return None;
    }
    let pipeline = state.pipeline.as_ref();
    let phase = pipeline.and_then(|pipeline| phase_of(pipeline.stage).or(pipeline.return_to.and_then(phase_of)));
    // What was merged before it was through is not judged any more: nobody has to let it go on.
    if state.merged.is_some() && phase != Some(Phase::Deploy) {
        return None;
    }
    let cause = match pipeline.map(|pipeline| pipeline.stage) {
        Some(Stage::ComplexityBrakeTriggered) => Cause::Brake,
        _ if state.stopped.is_some() => Cause::Stop,
        Some(Stage::BlockedOnGate) => Cause::Gate,
        Some(Stage::ReconcileBlocked) => Cause::Reconcile,
        Some(Stage::SteppedModePaused) => Cause::Pause,
        _ => {
            let (at, _) = state.red_pushes.filter(|_| state.open)?;
            return Some((Cause::Reds, Some(at)));
        }
    };
    Some((cause, phase))
}

/// Whether what it was opened for still stands. What comes on top of it does not take its place.
fn stands(cause: Cause, state: &State) -> bool {
    let stage = state.pipeline.as_ref().map(|pipeline| pipeline.stage);
    match cause {
        Cause::Gate => stage == Some(Stage::BlockedOnGate),
        Cause::Reconcile => stage == Some(Stage::ReconcileBlocked),
        // A stop that brakes is called first and brakes then; red pushes are told beside whatever else stops it.
        Cause::Stop | Cause::Brake | Cause::Pause | Cause::Reds => false,
    }
}

/// Whether the same stop may go by the second cause now. A stop is called first and then brakes or blocks; while it is
/// being lifted, the stage is left last.
fn same_stop(was: Cause, now: Cause) -> bool {
    was == now || (was != Cause::Pause && now != Cause::Pause)
}

impl State {
    /// Opens and ends escalations by what this record has made of the change.
    pub(super) fn escalate(&mut self, record: &Record) {
        if let (Some(open), Body::Resumed { reason, .. }) = (&mut self.escalation, &record.body) {
            open.answer = Some(reason.clone());
        }
        if let (Some(open), Body::Resolved(resolved)) = (&mut self.escalation, &record.body)
            && open.id == resolved.of
        {
            open.answer = resolved.resolution.reason();
            let (record, digest) = (record.seq, resolved.digest.clone());
            let resolution = resolved.resolution.in_short();
            open.settled = Some(Settled { record, digest, resolution, issues: Vec::new() });
        }
        self.amend(record);
        let now = waits(self);
        if let Some(open) = self.escalation.take_if(|open| now.is_none_or(|(now, _)| !same_stop(open.cause, now))) {
            self.end(open, record, now.is_some());
        }
        let Some((cause, phase)) = now else { return };
        let stands = self.escalation.as_ref().is_some_and(|open| stands(open.cause, self));
        match &mut self.escalation {
            Some(open) => {
                // What is being lifted keeps its name to the end.
                if open.answer.is_none() && open.cause != cause && !stands {
                    (open.cause, open.phase) = (cause, phase);
                }
            }
            None => self.escalation = Some(self.revived(record, cause, phase)),
        }
        if let (Some(open), Body::Escalated { id, issue }) = (&mut self.escalation, &record.body)
            && open.id == *id
        {
            open.issue = Some(*issue);
        }
    }

    /// What somebody called on top of what a person is asked about.
    pub fn also_stopped(&self) -> Vec<&Stop> {
        let Some(stop) = &self.stopped else { return Vec::new() };
        let own = self.escalation.as_ref().is_none_or(|open| matches!(open.cause, Cause::Stop | Cause::Brake));
        Some(stop).filter(|_| !own).into_iter().chain(&stop.also).collect()
    }

    /// Several stops stand beside each other, and the first is what a person is asked about. Nothing that was said before the last of
    /// them lifts them.
    pub(super) fn stop(&mut self, stop: Stop) {
        let Some(shown) = &mut self.stopped else {
            self.stopped = Some(stop);
            return;
        };
        let more = stop.also.clone();
        for one in [Stop { also: Vec::new(), ..stop }].into_iter().chain(more) {
            let same = |other: &Stop| other.reason == one.reason && other.by == one.by;
            if same(shown) || shown.also.iter().any(same) {
                continue;
            }
            // Nobody crowds out anybody else.
            let theirs = |other: &Stop| other.by == one.by && other.raised.is_some() == one.raised.is_some();
            shown.also.push(one.clone());
            // The oldest of their lightest goes.
            let least = shown.also.iter().filter(|other| theirs(other)).map(weight).min();
            if shown.also.iter().filter(|other| theirs(other)).count() > MOST_STOPS
                && let Some(at) = shown.also.iter().position(|other| theirs(other) && Some(weight(other)) == least)
            {
                shown.also.remove(at);
            }
        }
        let heaviest = shown.also.iter().map(weight).max().unwrap_or_default();
        if (shown.by != By::Bot || shown.raised.is_some())
            && heaviest > weight(shown)
            && let Some(at) = shown.also.iter().position(|one| weight(one) == heaviest)
        {
            let mut first = shown.also.remove(at);
            let also = std::mem::take(&mut shown.also);
            first.also = [std::mem::replace(shown, Stop::new("", &By::Bot))].into_iter().chain(also).collect();
            *shown = first;
        }
    }

    /// What a person is asked about now, in a sentence.
    pub(super) fn stood(&self) -> Option<Stop> {
        let open = self.escalation.as_ref()?;
        let phase = open.phase.map(|phase| phase.as_str().to_uppercase()).unwrap_or_default();
        let own = match open.cause {
            Cause::Gate => Some(format!("{phase} failed as often as it may")),
            Cause::Reconcile => Some("RECONCILE found what only a person can decide".to_owned()),
            Cause::Reds => Some(format!("too many pushes were red at {phase}")),
            Cause::Stop | Cause::Brake | Cause::Pause => None,
        };
        let stops = self.stopped.iter().flat_map(|stop| [stop].into_iter().chain(&stop.also));
        let called = stops.map(|stop| match &stop.by {
            By::Person { person, .. } => format!("{} (said by {})", stop.reason, person.login),
            By::Bot | By::Workflow(_) | By::Runner(_) => stop.reason.clone(),
        });
        let reasons: Vec<String> = own.into_iter().chain(called).collect();
        let condition = self.stopped.as_ref().and_then(|stop| stop.condition);
        (!reasons.is_empty()).then(|| Stop { condition, ..Stop::new(&reasons.join("; "), &By::Bot) })
    }

    /// A change that was closed and is open again is stopped as it was: it is the same escalation.
    fn revived(&mut self, record: &Record, cause: Cause, phase: Option<Phase>) -> Escalation {
        let by_closing = |one: &Escalation| {
            one.ended.as_ref().is_some_and(|end| matches!(end.how, Ending::Closed | Ending::GivenUp))
                && same_stop(one.cause, cause)
        };
        let last = self.escalated.pop_if(|one| matches!(record.body, Body::Reopened {}) && by_closing(one));
        match last {
            Some(last) => Escalation { cause, phase, answer: None, settled: None, ended: None, ..last },
            None => Escalation {
                id: record.seq,
                cause,
                phase,
                since: record.at,
                about: self.subject.clone(),
                issue: None,
                answer: None,
                settled: None,
                reminded: 0,
                reminded_at: None,
                noted: BTreeSet::new(),
                ended: None,
            },
        }
    }

    /// What the records after the end still say of it: that it was sent back, and the reason, where only the command has it.
    fn amend(&mut self, record: &Record) {
        let Some(end) = self.escalated.last_mut().and_then(|last| last.ended.as_mut()) else { return };
        let lifted = matches!(end.how, Ending::Lifted | Ending::Rescoped | Ending::Replanned) && end.by == record.by;
        match &record.body {
            Body::Rescoped {} if lifted && end.seq + 1 == record.seq => end.how = Ending::Rescoped,
            Body::Replanned {} if lifted && end.seq + 1 == record.seq => end.how = Ending::Replanned,
            // Ledgers from before there were resolutions have the reason here.
            Body::Command { name, args, outcome: Outcome::Done, .. } if lifted && name == "resolve" => {
                let reason = args.split_once(char::is_whitespace).map(|(_, reason)| reason.trim().to_owned());
                end.reason = end.reason.take().or(reason);
            }
            _ => {}
        }
    }

    fn end(&mut self, mut open: Escalation, record: &Record, another: bool) {
        let how = match &record.body {
            Body::GivenUp { .. } => Ending::GivenUp,
            Body::Closed {} => Ending::Closed,
            Body::Merged { .. } => Ending::Merged,
            Body::Rescoped {} => Ending::Rescoped,
            Body::Replanned {} => Ending::Replanned,
            // What a stop stood beside waits again when it is over.
            _ if (another && open.answer.is_none()) || record.by == By::Bot => Ending::Overtaken,
            _ => Ending::Lifted,
        };
        let reason = match &record.body {
            Body::GivenUp { reason } => Some(reason.clone()),
            _ => open.answer.take(),
        };
        open.ended = Some(End { seq: record.seq, how, by: record.by.clone(), reason, at: Some(record.at) });
        self.escalated.push(open);
        if self.escalated.len() > ENDED {
            self.escalated.remove(0);
        }
    }

    /// `BRK-03`: what a run of BUILD that somebody claims now would be the third approach to. An approach is a claimed run, and
    /// the same failure is the same rule at the same place. A red check has no place: which test it was is not told, and its
    /// third FAIL blocks.
    pub fn third_approaches(&self, findings: &[Finding]) -> BTreeSet<String> {
        let build = GateName::Phase(Phase::Build);
        // To put back what was frozen is no approach, and what else fails then fails by it: the tripwire counts by itself. Its codes
        // are words.
        let tripped =
            |places: &BTreeSet<String>| places.iter().any(|one| one.starts_with(|c: char| c.is_ascii_lowercase()));
        let claimed =
            |one: &&Try| one.gate == build && !matches!(one.how, None | Some(Claim::Preview)) && !tripped(&one.places);
        let before: Vec<&Try> = self.tries.iter().filter(claimed).collect();
        let third = |place: &String| before.iter().filter(|one| one.places.contains(place)).count() >= APPROACHES;
        let now = places(findings);
        if tripped(&now) {
            return BTreeSet::new();
        }
        now.into_iter()
            .filter(third)
            .map(|place| format!("{THIRD_APPROACH} This is the third approach to the same failure: {place}"))
            .collect()
    }

    /// Notes a verdict for the trail. A gate that passes is through with what was tried before.
    pub(super) fn tried(&mut self, record: &Record, by: Option<By>) {
        let Body::Judged { gate, verdict, claimed, findings, .. } = &record.body else { return };
        let Some(about) = &record.about else { return };
        let counts = match gate {
            GateName::Phase(_) | GateName::Task => claimed.is_some(),
            // In the pipeline its phases are the trail. What only waits has not failed, and a stop is no try.
            GateName::Merge => self.flow == FlowName::Merge && self.escalation.is_none() && !only_waiting(findings),
        };
        if !counts {
            return;
        }
        // That an audit is owed follows from what failed, and what is waited for has not: they are not what was tried.
        let merge = *gate == GateName::Merge;
        let tried = |one: &&Finding| one.blocks() && (!merge || !one.waiting && one.rule != "MRG-06");
        let against: Vec<&Finding> = findings.iter().filter(tried).collect();
        if merge && *verdict == Verdict::Fail && against.is_empty() {
            return;
        }
        // Every look judges the merge gate; one head is one try.
        self.tries.pop_if(|last| *gate == GateName::Merge && last.gate == *gate && last.head == about.head);
        if *verdict == Verdict::Pass {
            self.tries.retain(|one| one.gate != *gate);
        }
        let mut rules: Vec<String> = against.iter().map(|finding| finding.rule.clone()).collect();
        rules.dedup();
        rules.truncate(8);
        let first = against.iter().find(|finding| !finding.waiting).or(against.first());
        self.tries.push(Try {
            seq: record.seq,
            gate: *gate,
            verdict: *verdict,
            head: about.head.clone(),
            how: *claimed,
            by,
            rules,
            says: first.map(|finding| finding.says.chars().take(LONGEST).collect()).unwrap_or_default(),
            places: if *verdict == Verdict::Fail { places(findings) } else { BTreeSet::new() },
        });
        if self.tries.len() > TRIES {
            self.tries.remove(0);
        }
    }
}
