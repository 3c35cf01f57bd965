//! The tripwire at a gate: what was frozen is as it was.
//!
//! It is looked at by BUILD and every gate behind it, and by the merge gate (`MRG-04`). What is missing is a failure and no
//! skip: where BUILD has passed and nobody can say what was there, nothing passes until a person has looked.

use super::Finding;
use crate::finding::quoted;
use crate::flow::Phase;
use crate::flow::task::Stage;
use crate::gate::world::World;
use crate::guard::Trip;
use crate::ledger::state::State;
use crate::ledger::task::Task;

/// So many are told one by one; the rest is counted. Their codes differ, so nothing else would bound them.
const MOST_TOLD: usize = 50;

/// What stands against a change because of what was frozen.
pub fn tripwire(state: &State, world: &World) -> Vec<Finding> {
    let phased = state.pipeline.is_some() || state.task.is_some();
    let Some(policy) = world.policy().filter(|_| phased) else { return Vec::new() };
    // What is merged does not change any more, and what is closed is judged when it is open again.
    if !state.open || world.subject.is_none() {
        return Vec::new();
    }
    let refreeze = format!("`{} REASON`", policy.commands.written("refreeze"));
    let missing = |says: String, first: &str| {
        let next = format!(
            "{first}Somebody who may approve, and neither wrote nor pushed to it, reads the tests as they are now and says {refreeze}."
        );
        vec![Finding::error("tripwire_missing", says, next)]
    };
    match trips(state, world) {
        Some(Ok(trips)) => told(trips, &refreeze, asked(world)),
        Some(Err(why)) => {
            let says = format!("What was frozen is not known: {why}.");
            missing(says, "If the ledger was altered, put that right first. Otherwise: ")
        }
        None if is_built(state) => {
            let what = if state.task.is_some() { "The work has begun" } else { "BUILD has passed" };
            let says = match world.subject.as_ref().map(|subject| &subject.guard.present) {
                Some(Err(why)) => format!("{what}, and nothing was frozen: {why}."),
                _ => format!("{what} for older content, and nothing was frozen then."),
            };
            missing(says, "")
        }
        None => Vec::new(),
    }
}

/// Whether the point is behind it at which its proof is frozen.
fn is_built(state: &State) -> bool {
    let built = state.pipeline.as_ref().is_some_and(|pipeline| pipeline.passed.contains_key(&Phase::Build));
    let begun = |task: &Task| !matches!(task.state.stage, Stage::Intake | Stage::Shape);
    built || state.task.as_ref().is_some_and(|task| begun(task) && !task.state.stage.is_waiting())
}

/// Whether a finding is a confirmed cheat, once a gate run meets it. What is missing is nobody's cheat.
pub fn is_cheat(finding: &Finding) -> bool {
    finding.rule == "contract_tampered"
        || finding.rule == "build_tampered"
        || finding.rule.starts_with("build_tampered:")
}

/// `reported_cheat`: somebody says of this content that it passes without being earned.
pub fn reported(state: &State) -> Option<Finding> {
    let about = state.subject.as_ref().filter(|_| state.open)?;
    let report = state.against.reported(&about.content)?;
    let says = format!(
        "{} reports that the green of this content is not earned: {}.",
        quoted(&report.by),
        quoted(&report.reason)
    );
    Some(Finding::error(
        "reported_cheat",
        says,
        "Build it honestly and push that. This content passes no gate any more.",
    ))
}

/// The frozen files that are not as they were; or why that is not known. None: nothing is frozen.
pub fn trips<'w>(state: &State, world: &'w World) -> Option<Result<&'w [Trip], &'w str>> {
    let frozen = state.frozen.as_ref().filter(|_| state.pipeline.is_some() || state.task.is_some())?;
    Some(world.subject.as_ref()?.guard.against(&frozen.manifest))
}

/// Why what is frozen has to change, where the head commit says so itself: that is no cheat, and nothing passes by it.
pub fn asked(world: &World) -> Option<&str> {
    world.subject.as_ref()?.asks_refreeze.as_deref()
}

fn told(trips: &[Trip], refreeze: &str, asked: Option<&str>) -> Vec<Finding> {
    let asks = match asked {
        Some(why) => format!(" Its commit asks for that: {}.", quoted(why)),
        None => " Whoever has to change it says why in the commit, `Phasegate-Refreeze: REASON`; without that it counts as a confirmed \
                 cheat when a gate runs."
            .to_owned(),
    };
    let or = format!(
        "or somebody who may approve, and neither wrote nor pushed to it, looks at it and says {refreeze}.{asks}"
    );
    let mut findings: Vec<Finding> = trips.iter().take(MOST_TOLD).map(|trip| trip.finding(&or)).collect();
    if let Some(more) = trips.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
        let says = format!("And {more} more frozen files are not as they were.");
        findings.push(Finding::error("build_tampered", says, "Put right those that are told, and the next ones show."));
    }
    findings
}
