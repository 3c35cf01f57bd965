//! The pipeline's law: the table, and the guards that a table alone can't carry.
//!
//! The bare table is unsafe: `Expanding → ExpandGatePassed → SteppedModePaused → Deploying → PipelineComplete` is a
//! path in it, with nothing built and nothing verified. [`State`] remembers what the table forgets, and [`apply`]
//! refuses by it:
//!
//! - **A phase is entered** only when every gate before it has passed for this change, and the document gates still
//!   hold for the documents as they are now.
//! - **VERIFY passes**, and with it the way to `Deploying`, only when every gate before it holds for the content as it
//!   is now.
//! - **A pause, a detour or a drop returns** to where it came from (`return_to`), or earlier, never later.
//! - **The third FAIL of a gate blocks**; nothing but that gate's PASS or a person's unblock resets the count.
//! - **Only a person leaves** `BlockedOnGate`, `ReconcileBlocked`, `ComplexityBrakeTriggered` and a stepped pause.
//!
//! What is no step of the table (new content, a drop in a stage the table does not list, a stop, a reopening) is a
//! fact [`Beside`] it.

mod beside;
mod explorations;
mod guards;
mod recovery;
mod settle;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Action, Actor, Mode, Phase, Refusal, Stage, TRANSITIONS};
use crate::ids::Digest;

pub use beside::{beside, waits_for_human};
pub(super) use explorations::{EXPLORATIONS, Exploration, outer};
pub(super) use guards::{Guard, detour, guard};
pub use recovery::why;
pub use settle::settle;
pub(super) use words::{GateEffect, gate_effect, gate_passed, needs_human};
pub use words::{phase_of, rests, retry_action, verdict_action, words};

use words::after;

/// How many FAILs of a gate block the change.
pub const FAILS_THAT_BLOCK: u8 = 3;
/// How often reconcile may stop for a person before it blocks: it blocks on the cycle after these.
pub const RECONCILE_CYCLES: u8 = 3;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    pub stage: Stage,
    pub mode: Mode,
    /// Where a pause, a detour, a drop or a block came from, or is to go on to.
    pub return_to: Option<Stage>,
    /// The gates that have passed, and what each pass was bound to.
    pub passed: BTreeMap<Phase, Digest>,
    /// What each gate would be bound to now.
    pub present: BTreeMap<Phase, Digest>,
    /// FAILs of each gate since its last PASS or a person's unblock.
    pub attempts: BTreeMap<Phase, u8>,
}

/// One step of the table, asked for by somebody.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Step {
    pub action: Action,
    pub actor: Actor,
}

/// What happens beside the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "beside", rename_all = "snake_case")]
pub enum Beside {
    /// The content is now this: for each gate, what it would read.
    Content { present: BTreeMap<Phase, Digest> },
    /// A gate that passed earlier in this change was run again, for the present content, and passed again.
    Renewed { phase: Phase },
    /// The base branch is another one: nothing that passed counts any more.
    Retargeted,
    /// A person wants another scope: nothing that passed counts any more, and every gate starts with no FAIL.
    Rescoped,
    /// A person wants another design: DESIGN and what passed after it count no more, and start with no FAIL.
    Replanned,
    /// The change was closed and is open again.
    Reopened,
    /// The agent is gone.
    Dropped,
    /// Somebody called a stop: `structural` for a concern about the design itself.
    Stopped { structural: bool },
    /// A person or policy changed the mode.
    Mode { mode: Mode },
}

impl Default for State {
    fn default() -> Self {
        Self {
            stage: Stage::Ideating,
            mode: Mode::Auto,
            return_to: None,
            passed: BTreeMap::new(),
            present: BTreeMap::new(),
            attempts: BTreeMap::new(),
        }
    }
}

impl State {
    /// Whether this gate's pass is for what the gate would read now.
    pub fn holds(&self, phase: Phase) -> bool {
        match (self.passed.get(&phase), self.present.get(&phase)) {
            (Some(passed), Some(present)) => passed == present,
            _ => false,
        }
    }

    /// The first phase whose gate does not hold. Recovery goes there, and nowhere later.
    pub fn earliest_open(&self) -> Phase {
        Phase::ALL.into_iter().find(|phase| !self.holds(*phase)).unwrap_or(Phase::Deploy)
    }

    /// Whether verify and review hold for the present content, and everything they rest on.
    pub fn proven(&self) -> bool {
        Phase::Deploy.before().all(|phase| self.holds(phase))
    }

    pub fn fails(&self, phase: Phase) -> u8 {
        self.attempts.get(&phase).copied().unwrap_or(0)
    }

    /// The phase that the change is in, or is to return to.
    pub fn phase(&self) -> Option<Phase> {
        phase_of(self.stage).or_else(|| self.return_to.and_then(phase_of))
    }

    /// The steps that this actor may take now.
    pub fn possible(&self, actor: Actor) -> Vec<Action> {
        TRANSITIONS
            .iter()
            .filter(|(_, from, _)| *from == self.stage)
            .map(|(action, _, _)| *action)
            .filter(|action| apply(self, &Step { action: *action, actor }).is_ok())
            .collect()
    }
}

/// One step of the law. The state is not touched when the step is refused.
pub fn apply(state: &State, step: &Step) -> Result<State, Refusal> {
    let action = step.action;
    let Some(to) = action.from(state.stage) else {
        let could = TRANSITIONS
            .iter()
            .filter(|(_, from, _)| *from == state.stage)
            .map(|(action, _, _)| action.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        return Err(not_now(
            format!("{action} does not lead anywhere from “{}”.", words(state.stage)),
            could_be(&could),
        ));
    };
    if needs_human(action) && step.actor != Actor::Human {
        return Err(not_now(
            "this is a person's decision.".to_owned(),
            "Ask someone who may give it; an agent can't.".to_owned(),
        ));
    }
    let mut next = State { stage: to, ..state.clone() };

    match gate_effect(action) {
        Some(GateEffect::Pass(phase)) => {
            if phase == Phase::Reconcile && state.return_to.is_some() {
                return Err(not_now(
                    "this reconcile was asked for in the middle of another phase.".to_owned(),
                    "It goes back to that phase when it is done.".to_owned(),
                ));
            }
            if phase == Phase::Verify {
                require_held(state, phase, "VERIFY rests on it")?;
            }
            if phase == Phase::Deploy {
                require_held(state, phase, "a deployment rests on it")?;
            }
            let Some(bound) = state.present.get(&phase) else {
                return Err(not_now(
                    format!("nothing is known yet of what the {phase} gate reads."),
                    "Push the content first.".to_owned(),
                ));
            };
            next.passed.insert(phase, bound.clone());
            next.attempts.remove(&phase);
        }
        Some(GateEffect::Fail(phase)) => {
            next.passed.remove(&phase);
            *next.attempts.entry(phase).or_insert(0) += 1;
        }
        None => {}
    }

    match guard(action) {
        Guard::Blocks => {
            let phase = phase_of(state.stage).unwrap_or(Phase::Expand);
            let limit = limit(phase);
            if state.fails(phase) < limit {
                return Err(not_now(
                    format!("{phase} failed {} of {limit} times.", state.fails(phase)),
                    "Mend what the findings name and run the gate again.".to_owned(),
                ));
            }
            next.return_to = Some(phase.stage());
        }
        Guard::Unblocks => {
            if let Some(phase) = state.return_to.and_then(phase_of) {
                next.attempts.remove(&phase);
            }
        }
        Guard::Tries => require_tries(state)?,
        Guard::GoesOn if state.mode == Mode::Stepped => {
            return Err(not_now("this change is in stepped mode.".to_owned(), "Say /continue to go on.".to_owned()));
        }
        Guard::Pauses => {
            if state.mode != Mode::Stepped {
                return Err(not_now("this change is in auto mode.".to_owned(), "It goes on by itself.".to_owned()));
            }
            next.return_to = gate_passed(state.stage).map(|phase| after(phase).stage());
        }
        Guard::Leaves => next.return_to = Some(state.stage),
        // A drop in the middle of a reconcile that was asked for keeps the way back of the outer phase.
        Guard::Drops => {
            require_tries(state)?;
            next.return_to = Some(state.return_to.unwrap_or(state.stage));
        }
        Guard::Returns => {
            if state.return_to != Some(to) {
                return Err(wrong_way(to, state.return_to));
            }
            next.return_to = None;
        }
        Guard::Distilled => {
            let way_back = match state.return_to {
                // Distilling after delivery feeds the next iteration.
                Some(Stage::PipelineComplete) => Some(Stage::Iterating),
                other => other,
            };
            if way_back != Some(to) {
                return Err(wrong_way(to, way_back));
            }
            next.return_to = None;
        }
        Guard::Recovers => {
            let open = state.earliest_open().stage();
            // With everything proven and the deployment yet to come, recovery may show VERIFY once more.
            let again = open == Stage::Deploying && to == Stage::Verifying;
            if to != open && !again {
                return Err(wrong_way(to, Some(open)));
            }
            next.return_to = None;
        }
        Guard::Confirms => {
            // The person who confirms the proposal confirms the new scope with it; the design may stand, and
            // everything after it is to be shown again for the new version.
            next.passed.retain(|phase, _| *phase <= Phase::Design);
            if let Some(scope) = state.present.get(&Phase::Expand) {
                next.passed.insert(Phase::Expand, scope.clone());
            }
            next.attempts.clear();
        }
        Guard::Redesigns => {
            next.passed.remove(&Phase::Design);
        }
        Guard::Delivered if !state.proven() => {
            return Err(not_now(
                "what is there now is not what was delivered: not every gate has passed for it.".to_owned(),
                "Begin another round with it, or take it back.".to_owned(),
            ));
        }
        Guard::GoesOn | Guard::Delivered | Guard::Free => {}
    }

    if let Some(phase) = entered(action, to) {
        require_passed(&next, phase)?;
    }
    Ok(next)
}

/// The phase whose work begins with this step. A detour into reconcile and back begins nothing.
fn entered(action: Action, to: Stage) -> Option<Phase> {
    Phase::ALL.into_iter().find(|phase| !detour(action) && phase.stage() == to)
}

/// The gate that has just failed may be tried again.
fn require_tries(state: &State) -> Result<(), Refusal> {
    let phase = phase_of(state.stage).unwrap_or(Phase::Expand);
    if state.fails(phase) < limit(phase) {
        return Ok(());
    }
    Err(not_now(
        format!("{phase} has failed {} times, which blocks the change.", state.fails(phase)),
        "A person must look at it and say /unblock.".to_owned(),
    ))
}

/// How many FAILs of this gate block the change.
pub fn limit(phase: Phase) -> u8 {
    if phase == Phase::Reconcile { RECONCILE_CYCLES + 1 } else { FAILS_THAT_BLOCK }
}

/// Every earlier gate has passed for this change; those that read documents, for the documents as they are.
fn require_passed(state: &State, phase: Phase) -> Result<(), Refusal> {
    if phase == Phase::Deploy {
        return require_held(state, phase, "DEPLOY rests on it");
    }
    match phase
        .before()
        .find(|gate| !state.passed.contains_key(gate) || (gate.reads_documents() && !state.holds(*gate)))
    {
        None => Ok(()),
        Some(gate) => Err(not_now(
            format!("{phase} can't begin: the {gate} gate has not passed for what is there now."),
            format!("Pass {gate} first."),
        )),
    }
}

/// Every earlier gate holds for the content as it is now.
fn require_held(state: &State, phase: Phase, why: &str) -> Result<(), Refusal> {
    match phase.before().find(|gate| !state.holds(*gate)) {
        None => Ok(()),
        Some(gate) => Err(not_now(
            format!("the {gate} gate has not passed for this content, and {why}."),
            format!("Run {gate} again on this content."),
        )),
    }
}

fn not_now(says: String, next: String) -> Refusal {
    Refusal::new("CMD-03", says, next)
}

fn could_be(could: &str) -> String {
    if could.is_empty() { "Nothing leads on from here.".to_owned() } else { format!("Possible here: {could}.") }
}

fn wrong_way(to: Stage, right: Option<Stage>) -> Refusal {
    match right {
        Some(right) => not_now(
            format!("the way from here leads to “{}”, not to “{}”.", words(right), words(to)),
            format!("Go to “{}”.", words(right)),
        ),
        None => not_now(format!("nothing leads to “{}” from here.", words(to)), "Ask for /status.".to_owned()),
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
