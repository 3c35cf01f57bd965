//! Tests that got weaker, at REVIEW and at the merge gate.
//!
//! What the freeze holds can't get weaker behind it. What the change made of tests before, or of those that came later, is put
//! before whoever reviews: as a warning, or by `freeze.weakened: block` as what has to be put back or accepted by a person.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Severity};
use crate::gate::world::World;
use crate::ids::BlobId;
use crate::ledger::state::State;
use crate::policy::{Policy, Weakening};

/// So many are told one by one.
const MOST_TOLD: usize = 50;

/// What stands against a change, or is shown of it, because its tests got weaker.
pub fn findings(state: &State, world: &World) -> Vec<Finding> {
    let (Some(subject), Some(policy)) = (&world.subject, world.policy()) else { return Vec::new() };
    if !state.open {
        return Vec::new();
    }
    let blocks = policy.freeze.weakened == Weakening::Block;
    let severity = if blocks { Severity::Error } else { Severity::Warning };
    let or = format!(
        " Or somebody who may approve, and neither wrote nor pushed to it, looks at it and says `{} REASON`.",
        policy.commands.written("refreeze")
    );
    let open = |path: &str, now: &Option<BlobId>| !is_accepted(state, path, now);
    let told = |mut finding: Finding| {
        if blocks {
            finding.next.push_str(&or);
        }
        finding
    };
    let found = subject.weakened.found.iter().filter(|found| open(&found.path, &found.now));
    let mut findings: Vec<Finding> = found.map(|found| told(found.finding(severity))).collect();
    let unread = subject.weakened.unread.iter().filter(|unread| open(&unread.path, &unread.now));
    findings.extend(unread.map(|unread| told(unread.finding(severity))));
    let more = findings.len().saturating_sub(MOST_TOLD);
    if more > 0 {
        findings.truncate(MOST_TOLD);
        let says = format!("And {more} more got weaker, or could not be read.");
        let next = "`phasegate guard weaker` lists all of them.";
        findings.push(told(Finding { severity, ..Finding::error("test_weakened", says, next) }));
    }
    findings
}

/// The files whose tests got weaker, or can't be read, and that nobody has accepted.
pub fn files<'w>(state: &State, world: &'w World) -> BTreeSet<&'w str> {
    let Some(subject) = &world.subject else { return BTreeSet::new() };
    let found = subject.weakened.found.iter().map(|found| (found.path.as_str(), &found.now));
    let unread = subject.weakened.unread.iter().map(|unread| (unread.path.as_str(), &unread.now));
    found.chain(unread).filter(|(path, now)| !is_accepted(state, path, now)).map(|(path, _)| path).collect()
}

pub fn is_accepted(state: &State, path: &str, now: &Option<BlobId>) -> bool {
    state.accepted.get(path).is_some_and(|seen| seen.contains(now))
}

/// The files whose tests got weaker where that blocks, and that nobody has accepted, each with its content.
pub fn open<'w>(state: &State, world: &'w World) -> BTreeMap<&'w str, &'w Option<BlobId>> {
    let blocks = |policy: &Policy| policy.freeze.weakened == Weakening::Block;
    let Some(subject) = world.subject.as_ref().filter(|_| world.policy().is_some_and(blocks)) else {
        return BTreeMap::new();
    };
    let found = subject.weakened.found.iter().map(|found| (found.path.as_str(), &found.now));
    let unread = subject.weakened.unread.iter().map(|unread| (unread.path.as_str(), &unread.now));
    found.chain(unread).filter(|(path, now)| !is_accepted(state, path, now)).collect()
}
