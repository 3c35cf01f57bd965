//! By what a new pull request is known as the continuation of an earlier change, and what it takes over.
//!
//! Closing a pull request and opening another with the same work must shake off nothing that stood against it. What
//! tells that it is the same work: the head commit, also where it is now among the commits of another; the branch; the
//! patch. Each is a key; under the key the ledger keeps, in the commit that has the records, a file a change (`origins/…/42`), so that nobody's entry is
//! written over. The files only find a change. What it is and hands down stands in its signed records, and taking over
//! only ever makes things tighter: a forged file grants nothing, a missing one is as if there had been no index.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::record::{By, Evidence};
use super::state::{Red, Rejection, State, Stop};
use crate::finding::{GateName, quoted};
use crate::flow::pipeline::{waits_for_human, words};
use crate::flow::{Phase, Stage};
use crate::ids::{ChangeNumber, CommitId, Digest, Person, RepoId};

/// Where the content of a change comes from, beside its head.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// None when the repository that had it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// The patch id of what is between base and head, whatever commits it is made of. None where it is not known, or
    /// as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    pub repo: RepoId,
    pub name: String,
}

/// In what a pull request is the same as an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    Head,
    Branch,
    Patch,
    /// One of its commits was a head.
    Commit,
}

fn head_key(head: &CommitId) -> Digest {
    Digest::of_parts(["head", head.as_str()])
}

/// The keys of the commits that a change is made of.
pub fn commit_keys(commits: &[CommitId]) -> impl Iterator<Item = (Same, Digest)> {
    commits.iter().map(|commit| (Same::Commit, head_key(commit)))
}

impl Origin {
    /// The keys that a change with this head is found by.
    pub fn keys(&self, head: &CommitId) -> Vec<(Same, Digest)> {
        let mut keys = vec![(Same::Head, head_key(head))];
        if let Some(branch) = &self.branch {
            keys.push((Same::Branch, Digest::of_parts(["branch", &branch.repo.0.to_string(), &branch.name])));
        }
        keys.extend(self.patch.as_ref().map(|patch| (Same::Patch, Digest::of_parts(["patch", patch.as_str()]))));
        keys
    }
}

/// The folder of a key: in it a file for each change that had it, named by its number.
pub fn folder(key: &Digest) -> String {
    let (shard, rest) = key.as_str().split_at(2);
    format!("origins/{shard}/{rest}")
}

/// Whether an earlier change, by its own records, has one of these keys and hands down by it. A branch whose work was
/// merged is free for other work, and so is what is built on its commits.
pub fn hands_down(earlier: &State, keys: &[(Same, Digest)]) -> bool {
    let counts = |same: Same| matches!(same, Same::Head | Same::Patch) || earlier.merged.is_none();
    keys.iter().any(|(same, key)| earlier.origins.contains(key) && counts(*same))
}

/// The newest reds are taken over; there are as many heads as somebody likes to push.
const MOST_REDS: usize = 100;

/// What a change takes over from an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inherited {
    pub from: ChangeNumber,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub operators: BTreeSet<Person>,
    /// FAILs of each gate.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attempts: BTreeMap<Phase, u8>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub previews: BTreeMap<Phase, u32>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reds_at_pass: BTreeMap<Phase, u32>,
    /// A stage that only a person leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stop>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejections: Vec<Rejection>,
    /// Check runs on the head that were first seen with this content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Ran>,
    /// Jobs that ended red.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reds: BTreeSet<Red>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub stage: Stage,
    pub return_to: Option<Stage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    pub run: u64,
    pub content: Digest,
}

impl Inherited {
    /// What this change, going into `base_ref` with these check runs on its head, takes over. None: nothing.
    pub fn of(earlier: &State, heir: &State, base_ref: &str, runs: &BTreeSet<u64>) -> Option<Self> {
        let pipeline = earlier.pipeline.as_ref();
        let blocked = pipeline.filter(|pipeline| waits_for_human(pipeline.stage));
        // A run before the base was a change of its own is taken as it comes; one that went stale under the same base
        // does not become fresh by a new number.
        let same_base = earlier.subject.as_ref().is_some_and(|about| about.base_ref == base_ref);
        let mut rejections = earlier.rejections.clone();
        rejections.extend(asked_for_changes(earlier));
        let inherited = Self {
            from: earlier.change,
            operators: earlier.operators.difference(&heir.operators).cloned().collect(),
            attempts: pipeline.map(|pipeline| pipeline.attempts.clone()).unwrap_or_default(),
            previews: earlier.previews.clone(),
            reds_at_pass: earlier.reds_at_pass.clone(),
            blocked: blocked.map(|at| Blocked { stage: at.stage, return_to: at.return_to }),
            stopped: earlier.stopped.clone(),
            rejections,
            runs: earlier
                .ran_for
                .iter()
                .filter(|(run, _)| same_base && runs.contains(run))
                .map(|(run, content)| Ran { run: *run, content: content.clone() })
                .collect(),
            reds: earlier.reds.iter().rev().take(MOST_REDS).cloned().collect(),
        };
        let nothing = inherited.says().is_empty() && inherited.runs.is_empty() && inherited.reds.is_empty();
        (!nothing).then_some(inherited)
    }

    /// What was taken over, in a few words each.
    pub fn says(&self) -> Vec<String> {
        let mut says = Vec::new();
        let fails = self.attempts.iter().filter(|(_, fails)| **fails > 0);
        says.extend(fails.map(|(phase, fails)| match fails {
            1 => format!("1 FAIL at {phase}"),
            fails => format!("{fails} FAILs at {phase}"),
        }));
        let reds = self.previews.iter().chain(&self.reds_at_pass).filter(|(_, reds)| **reds > 0);
        says.extend(reds.map(|(phase, reds)| match reds {
            1 => format!("1 red push at {phase}"),
            reds => format!("{reds} red pushes at {phase}"),
        }));
        says.extend(self.blocked.as_ref().map(|blocked| format!("it waits for a person ({})", words(blocked.stage))));
        says.extend(self.stopped.as_ref().map(|stop| format!("it is stopped ({})", quoted(&stop.reason))));
        says.extend(self.rejections.iter().filter_map(|rejection| match &rejection.by {
            By::Person { person, .. } => Some(format!("{} is against this content", person.login)),
            By::Bot => None,
        }));
        if !self.operators.is_empty() {
            let logins: Vec<&str> = self.operators.iter().map(|person| person.login.as_str()).collect();
            says.push(format!("{} worked on it", logins.join(", ")));
        }
        says
    }
}

/// Reviews that ask for changes belong to their pull request. For the next one of the same content they are what a
/// rejection is.
fn asked_for_changes(earlier: &State) -> Vec<Rejection> {
    let judged = earlier.gates.get(&GateName::Merge).filter(|judged| Some(&judged.about) == earlier.subject.as_ref());
    let evidence = judged.iter().flat_map(|judged| judged.evidence.iter().map(|one| (one, &judged.about.content)));
    evidence
        .filter_map(|(one, content)| match one {
            Evidence::Review { by, role, state, discounted: None, .. } if state != "APPROVED" => Some(Rejection {
                by: By::Person { person: by.clone(), role: role.clone() },
                content: content.clone(),
                reason: format!("asked for changes on {}", earlier.change),
            }),
            _ => None,
        })
        .collect()
}

/// The greater of two tallies, for each phase.
fn raise<N: Copy + Ord>(mine: &mut BTreeMap<Phase, N>, theirs: &BTreeMap<Phase, N>) {
    for (phase, count) in theirs {
        mine.entry(*phase).and_modify(|own| *own = *count.max(own)).or_insert(*count);
    }
}

impl State {
    /// Takes over what stood against an earlier change. Nothing in here makes anything looser.
    pub(super) fn inherit(&mut self, taken: &Inherited) {
        self.operators.extend(taken.operators.iter().cloned());
        raise(&mut self.previews, &taken.previews);
        raise(&mut self.reds_at_pass, &taken.reds_at_pass);
        if self.stopped.is_none() {
            self.stopped.clone_from(&taken.stopped);
        }
        for rejection in &taken.rejections {
            if !self.rejections.contains(rejection) {
                self.rejections.push(rejection.clone());
            }
        }
        for ran in &taken.runs {
            self.ran_for.entry(ran.run).or_insert_with(|| ran.content.clone());
        }
        self.reds.extend(taken.reds.iter().cloned());
        if let Some(pipeline) = &mut self.pipeline {
            raise(&mut pipeline.attempts, &taken.attempts);
            if let Some(blocked) = taken.blocked.as_ref().filter(|_| !waits_for_human(pipeline.stage)) {
                pipeline.stage = blocked.stage;
                pipeline.return_to = blocked.return_to;
            }
        }
        self.inherited.push(taken.clone());
    }
}
