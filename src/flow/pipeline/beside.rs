//! What happens beside the table: it is never refused, because it has already happened.

use super::words::{after, gate_passed};
use super::{Beside, State, Step, apply, limit, phase_of};
use crate::flow::{Action, Actor, Phase, Stage};

/// A fact beside the table. It is never refused: it has already happened.
pub fn beside(state: &State, fact: &Beside) -> State {
    let state = &last_try_blocks(state);
    let mut next = state.clone();
    match fact {
        Beside::Content { present } => {
            if *present == state.present {
                return next;
            }
            next.present = present.clone();
            if rests_on_stale(&next) {
                recover(&mut next);
            }
        }
        Beside::Renewed { phase } => {
            if let (true, Some(bound)) = (state.passed.contains_key(phase), state.present.get(phase)) {
                next.passed.insert(*phase, bound.clone());
            }
        }
        Beside::Retargeted => {
            next.passed.clear();
            if rests_on_stale(&next) {
                recover(&mut next);
            }
        }
        Beside::Rescoped => {
            next.passed.clear();
            next.attempts.clear();
            if rests_on_stale(&next) {
                recover(&mut next);
            }
        }
        Beside::Replanned => {
            next.passed.retain(|gate, _| *gate < Phase::Design);
            next.attempts.retain(|gate, _| *gate < Phase::Design);
            if rests_on_stale(&next) {
                recover(&mut next);
            }
        }
        Beside::Reopened => {
            if phase_of(state.stage).is_some() && !waits_for_human(state.stage) {
                recover(&mut next);
            }
        }
        Beside::Dropped => {
            if let Ok(dropped) = apply(state, &Step { action: Action::DropSession, actor: Actor::Bot }) {
                next = dropped;
            }
        }
        Beside::Stopped { structural } => {
            // Who is to look before the next phase still is, when the stop is over.
            if *structural && stopped_only(state) {
                next.stage = Stage::ComplexityBrakeTriggered;
            } else if !waits_for_human(state.stage) && state.stage != Stage::SteppedModePaused {
                next.return_to = Some(state.return_to.unwrap_or(state.stage));
                next.stage = if *structural { Stage::ComplexityBrakeTriggered } else { Stage::BlockedOnGate };
            }
        }
        Beside::Mode { mode } => next.mode = *mode,
    }
    next
}

/// A gate that failed for the last time blocks before anything else happens: neither a push nor a drop is a way round.
fn last_try_blocks(state: &State) -> State {
    match phase_of(state.stage).filter(|phase| state.fails(*phase) >= limit(*phase)) {
        Some(phase) if !waits_for_human(state.stage) => {
            State { stage: Stage::BlockedOnGate, return_to: Some(phase.stage()), ..state.clone() }
        }
        _ => state.clone(),
    }
}

/// Whether it is blocked by a stop alone: no gate has failed as often as it may.
fn stopped_only(state: &State) -> bool {
    let spent = |phase| state.fails(phase) >= limit(phase);
    state.stage == Stage::BlockedOnGate && !state.return_to.and_then(phase_of).is_some_and(spent)
}

fn recover(state: &mut State) {
    state.return_to = Some(state.return_to.unwrap_or(state.stage));
    state.stage = Stage::ContextRecovering;
}

/// Stages that only a person leaves, whatever is pushed meanwhile. What went stale shows when they are left.
pub fn waits_for_human(stage: Stage) -> bool {
    matches!(stage, Stage::BlockedOnGate | Stage::ReconcileBlocked | Stage::ComplexityBrakeTriggered)
}

/// Whether the stage rests on a gate that no longer holds. In a fixing stage the content is there to be changed, so
/// only the documents count; what else went stale is renewed before the next gate can pass.
fn rests_on_stale(state: &State) -> bool {
    use Stage as S;
    let gates_under = match state.stage {
        S::SteppedModePaused => state.return_to.and_then(phase_of),
        // What was delivered is not what is there now.
        S::PipelineComplete => Some(Phase::Deploy),
        // The round was confirmed for the scope as it was.
        S::IterationConfirmed => Some(Phase::Design),
        stage if waits_for_human(stage) => None,
        stage => match gate_passed(stage) {
            Some(phase) => Some(after(phase)),
            None => phase_of(stage),
        },
    };
    let Some(phase) = gates_under else { return false };
    let fixing = matches!(state.stage, S::ReviewFixing | S::ReviewRetrying | S::VerifyFixing | S::VerifyRetrying);
    let asked_for = state.stage == S::Reconciling && state.return_to.is_some();
    if asked_for {
        // It goes back to the phase it came from, which rests on the documents.
        let back = state.return_to.and_then(phase_of);
        return back.is_some_and(|back| back.before().any(|gate| gate.reads_documents() && !state.holds(gate)));
    }
    phase.before().any(|gate| (!fixing || gate.reads_documents()) && !state.holds(gate))
}
