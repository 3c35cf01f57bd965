//! What stands against a piece of work, under whatever numbers it is tried.
//!
//! A FAIL, a block and a stop are known by the record that made them. So taking them over from another change is adding to
//! a set: however often it is done, and in whatever order, one FAIL counts once; and what a PASS or a person has settled
//! under one number does not come back under the next. What speaks against a gate (a review, a red run, a rejection) is
//! kept for good once it was counted, so that no push, no other base and no new number counts it again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::heal::Caught;
use super::objection::Rejection;
use super::record::{By, Evidence};
use super::state::State;
use crate::finding::Verdict;
use crate::flow::pipeline::{self, waits_for_human};
use crate::flow::{Phase, Stage};
use crate::ids::{ChangeNumber, Digest};

/// A record, by the change it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mark {
    pub change: ChangeNumber,
    pub seq: u64,
}

/// How often each thing was counted.
pub type Counted = BTreeMap<String, u32>;

/// Up to which record of each change something is settled. What is known of a change's records is always all of them up
/// to one, so a number says it.
type Upto = BTreeMap<ChangeNumber, u64>;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Against {
    /// FAILs of each gate since its last PASS or a person's unblock.
    pub fails: BTreeMap<Phase, BTreeSet<Mark>>,
    pub settled: BTreeMap<Phase, Upto>,
    /// Where it came to a stage that only a person leaves, and has not left it.
    pub blocks: BTreeSet<Mark>,
    pub stops: BTreeSet<Mark>,
    /// The blocks and stops that a person has lifted.
    pub lifted: Upto,
    /// What was counted as a FAIL of each gate.
    pub counted: BTreeMap<Phase, Counted>,
    /// Confirmed cheats. None is ever settled.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub cheats: BTreeSet<Caught>,
    /// The rules of what a verdict of whoever built it has left undone. That it is not left any more is theirs to say, and somebody
    /// else's to believe.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub left: BTreeSet<String>,
}

impl Mark {
    fn is_within(self, upto: &Upto) -> bool {
        upto.get(&self.change).is_some_and(|seq| self.seq <= *seq)
    }

    fn settles(self, upto: &mut Upto) {
        let seq = upto.entry(self.change).or_default();
        *seq = self.seq.max(*seq);
    }
}

impl Against {
    fn settle(&mut self, phase: Phase) {
        for mark in self.fails.remove(&phase).unwrap_or_default() {
            mark.settles(self.settled.entry(phase).or_default());
        }
    }

    pub(super) fn lift_blocks(&mut self) {
        for mark in std::mem::take(&mut self.blocks) {
            mark.settles(&mut self.lifted);
        }
    }

    pub(super) fn lift_stops(&mut self) {
        for mark in std::mem::take(&mut self.stops) {
            mark.settles(&mut self.lifted);
        }
    }

    pub(super) fn fails(&self, phase: Phase) -> u8 {
        self.fails.get(&phase).map_or(0, |marks| u8::try_from(marks.len()).unwrap_or(u8::MAX))
    }

    /// Whether a FAIL of this gate is settled here.
    pub(super) fn has_settled(&self, phase: Phase, mark: Mark) -> bool {
        self.settled.get(&phase).is_some_and(|upto| mark.is_within(upto))
    }

    pub(super) fn has_lifted(&self, mark: Mark) -> bool {
        mark.is_within(&self.lifted)
    }

    pub(super) fn count(&mut self, phase: Phase, things: &Counted) {
        raise(self.counted.entry(phase).or_default(), things);
    }
}

/// The greater of two tallies, for each key.
pub(super) fn raise<K: Clone + Ord, N: Copy + Ord>(mine: &mut BTreeMap<K, N>, theirs: &BTreeMap<K, N>) {
    for (key, count) in theirs {
        mine.entry(key.clone()).and_modify(|own| *own = *count.max(own)).or_insert(*count);
    }
}

/// A review, as a thing that speaks against something.
pub(super) fn review_key(by: u64, review: Option<u64>) -> String {
    format!("review {by} {review:?}")
}

/// A rejection is for one content; the same words for another are another. `here`: the change whose state it stands in.
pub(super) fn rejection_key(rejection: &Rejection, here: ChangeNumber) -> String {
    let by = match &rejection.by {
        By::Person { person, .. } => person.id.to_string(),
        By::Bot | By::Workflow(_) | By::Runner(_) => String::new(),
    };
    let on = rejection.on.unwrap_or(here).0.to_string();
    let review = rejection.review.map(|review| review.to_string());
    let parts = [by.as_str(), rejection.content.as_str(), on.as_str(), rejection.reason.as_str()];
    format!("rejection {}", &Digest::of_parts(parts.into_iter().chain(review.as_deref())).as_str()[..16])
}

/// What speaks against a gate, and how often: reviews and rejections of this content, red checks, failed deployments.
pub fn things_against(evidence: &[Evidence], state: &State) -> Counted {
    let findings = evidence.iter().flat_map(|one| match one {
        Evidence::Findings { open, discounted: None, .. } => open.iter().map(|key| format!("finding {key}")).collect(),
        _ => Vec::new(),
    });
    let found = evidence.iter().filter_map(|one| match one {
        Evidence::Review { by, review, state, discounted: None, .. } if state != "APPROVED" => {
            Some(review_key(by.id, *review))
        }
        Evidence::Check { run, conclusion, discounted: None, .. }
            if !matches!(conclusion.as_str(), "success" | "neutral" | "skipped" | "running") =>
        {
            Some(format!("run {run}"))
        }
        Evidence::Run { log, verdict: Verdict::Fail, discounted: None, .. } => Some(format!("log {log}")),
        Evidence::Deployment { environment, state, commit, .. } if matches!(state.as_str(), "failure" | "error") => {
            Some(format!("deployment of {} to {environment}", commit.short()))
        }
        _ => None,
    });
    let content = state.subject.as_ref().map(|about| &about.content);
    let rejected = state.rejections.iter().filter(|rejection| content.is_some_and(|content| rejection.is_for(content)));
    let rejected = rejected.map(|rejection| rejection_key(rejection, state.change));
    let reported = content.filter(|content| state.against.reported(content).is_some());
    let reported = reported.map(|content| format!("cheat {}", content.short()));
    let mut counted = Counted::new();
    for one in found.chain(findings).chain(rejected).chain(reported) {
        *counted.entry(one).or_insert(0) += 1;
    }
    counted
}

impl State {
    /// Notes what a step, or a fact beside the table, did to the counters and to who may go on.
    pub(super) fn note(&mut self, old: &pipeline::State, seq: u64) {
        let Some(new) = &self.pipeline else { return };
        let here = Mark { change: self.change, seq };
        for phase in Phase::ALL {
            match new.fails(phase).cmp(&old.fails(phase)) {
                std::cmp::Ordering::Greater => drop(self.against.fails.entry(phase).or_default().insert(here)),
                std::cmp::Ordering::Less => self.against.settle(phase),
                std::cmp::Ordering::Equal => {}
            }
        }
        match (waits_for_human(old.stage), waits_for_human(new.stage)) {
            (false, true) => drop(self.against.blocks.insert(here)),
            (true, false) => self.against.lift_blocks(),
            _ => {}
        }
    }

    /// Puts the counters where the pipeline looks for them. A gate with its last FAIL that does not hold blocks, also
    /// where the FAILs are of several changes.
    pub(super) fn hold(&mut self, seq: u64) {
        let Some(pipeline) = &mut self.pipeline else { return };
        for phase in Phase::ALL {
            match self.against.fails(phase) {
                0 => drop(pipeline.attempts.remove(&phase)),
                fails => drop(pipeline.attempts.insert(phase, fails)),
            }
        }
        if waits_for_human(pipeline.stage) {
            return;
        }
        let spent = |phase: &Phase| pipeline.fails(*phase) >= pipeline::limit(*phase) && !pipeline.holds(*phase);
        let spent = Phase::ALL.into_iter().find(spent);
        if spent.is_none() && self.against.blocks.is_empty() {
            return;
        }
        let back = spent.unwrap_or(pipeline.phase().unwrap_or(Phase::Expand));
        pipeline.return_to = Some(back.stage());
        pipeline.stage = Stage::BlockedOnGate;
        if self.against.blocks.is_empty() {
            self.against.blocks.insert(Mark { change: self.change, seq });
        }
    }
}
