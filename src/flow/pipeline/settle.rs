//! What follows by itself.

use super::words::gate_passed;
use super::{State, Step, apply, limit, phase_of};
use crate::flow::{Action, Actor, Mode, Phase, Stage};

/// The steps that follow by themselves from where the change stands, in order: going on after a passed gate, pausing,
/// blocking after the last try, recovering. `deploys_now` says whether the way from VERIFY to DEPLOY is open (with
/// `deploy: after_merge` it opens when the change has merged).
pub fn settle(state: &State, deploys_now: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut now = state.clone();
    while let Some(action) = follows(&now, deploys_now) {
        let step = Step { action, actor: Actor::Bot };
        let Ok(next) = apply(&now, &step) else { break };
        now = next;
        steps.push(step);
    }
    steps
}

fn follows(state: &State, deploys_now: bool) -> Option<Action> {
    use Action as A;
    use Stage as S;
    if let Some(phase) = gate_passed(state.stage) {
        if state.mode == Mode::Stepped {
            return (phase != Phase::Verify || deploys_now).then_some(A::PauseForSteppedMode);
        }
        return match phase {
            Phase::Expand => Some(A::AutoContinueToDesign),
            Phase::Design => Some(A::AutoContinueToAnalyze),
            Phase::Analyze => Some(A::AutoContinueToBuild),
            Phase::Build => Some(A::AutoContinueToReview),
            Phase::Review => Some(A::AutoContinueToReconcile),
            _ => deploys_now.then_some(A::AutoContinueToDeploy),
        };
    }
    let spent = |phase| state.fails(phase) >= limit(phase);
    match state.stage {
        S::ContextRecovering => Some(match state.earliest_open() {
            Phase::Expand => A::RecoverToExpand,
            Phase::Design => A::RecoverToDesign,
            Phase::Analyze => A::RecoverToAnalyze,
            Phase::Build => A::RecoverToBuild,
            Phase::Review => A::RecoverToReview,
            Phase::Reconcile => A::RecoverToReconcile,
            Phase::Verify => A::RecoverToVerify,
            // Before the merge there is nothing to deploy yet.
            Phase::Deploy if !deploys_now => A::RecoverToVerify,
            Phase::Deploy => A::RecoverToDeploy,
        }),
        S::ReviewFixing if spent(Phase::Review) => Some(A::EscalateReviewFailure),
        S::VerifyFixing if spent(Phase::Verify) => Some(A::EscalateVerifyFailure),
        S::ReviewRetrying if !spent(Phase::Review) => Some(A::RetryReview),
        S::VerifyRetrying if !spent(Phase::Verify) => Some(A::RetryVerify),
        S::ExpandRetrying
        | S::DesignRetrying
        | S::AnalyzeRetrying
        | S::BuildRetrying
        | S::ReviewRetrying
        | S::VerifyRetrying
        | S::DeployRetrying
        | S::ReconcileBlocked
            if phase_of(state.stage).is_some_and(spent) =>
        {
            Some(A::BlockAfterThreeRetries)
        }
        _ => None,
    }
}
