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

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Action, Actor, Mode, Phase, Refusal, Stage, TRANSITIONS};
use crate::ids::Digest;

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

/// The phase whose work or gate a stage belongs to.
pub fn phase_of(stage: Stage) -> Option<Phase> {
    use Stage as S;
    Some(match stage {
        S::Expanding | S::ExpandGatePassed | S::ExpandRetrying => Phase::Expand,
        S::Designing | S::DesignGatePassed | S::DesignRetrying => Phase::Design,
        S::Analyzing | S::AnalyzeGatePassed | S::AnalyzeRetrying => Phase::Analyze,
        S::Building | S::BuildGatePassed | S::BuildRetrying => Phase::Build,
        S::Reviewing | S::ReviewGatePassed | S::ReviewFixing | S::ReviewRetrying => Phase::Review,
        S::Reconciling | S::ReconcileBlocked => Phase::Reconcile,
        S::Verifying | S::VerifyGatePassed | S::VerifyFixing | S::VerifyRetrying => Phase::Verify,
        S::Deploying | S::DeployRetrying => Phase::Deploy,
        _ => return None,
    })
}

/// The gate that has just passed in a stage, for the stages that say so.
fn gate_passed(stage: Stage) -> Option<Phase> {
    use Stage as S;
    Some(match stage {
        S::ExpandGatePassed => Phase::Expand,
        S::DesignGatePassed => Phase::Design,
        S::AnalyzeGatePassed => Phase::Analyze,
        S::BuildGatePassed => Phase::Build,
        S::ReviewGatePassed => Phase::Review,
        S::VerifyGatePassed => Phase::Verify,
        _ => return None,
    })
}

fn after(phase: Phase) -> Phase {
    Phase::ALL.into_iter().find(|next| *next > phase).unwrap_or(Phase::Deploy)
}

/// What an action does to the gates, if it is a gate's verdict.
enum GateEffect {
    Pass(Phase),
    Fail(Phase),
}

fn gate_effect(action: Action) -> Option<GateEffect> {
    use Action as A;
    use GateEffect::{Fail, Pass};
    Some(match action {
        A::PassExpandGate => Pass(Phase::Expand),
        A::PassDesignGate => Pass(Phase::Design),
        A::PassAnalyzeGate => Pass(Phase::Analyze),
        A::PassBuildGate => Pass(Phase::Build),
        A::PassReviewGate => Pass(Phase::Review),
        A::ReconcileClean | A::ReconcileRepaired => Pass(Phase::Reconcile),
        A::PassVerifyGate => Pass(Phase::Verify),
        A::PassDeployGate => Pass(Phase::Deploy),
        A::FailExpandGate => Fail(Phase::Expand),
        A::FailDesignGate => Fail(Phase::Design),
        A::FailAnalyzeGate => Fail(Phase::Analyze),
        A::FailBuildGate => Fail(Phase::Build),
        A::FailReviewGate => Fail(Phase::Review),
        A::ReconcileBlocked => Fail(Phase::Reconcile),
        A::FailVerifyGate => Fail(Phase::Verify),
        A::FailDeployGate => Fail(Phase::Deploy),
        _ => return None,
    })
}

/// The verdict of a gate as a step of the table.
pub fn verdict_action(phase: Phase, pass: bool) -> Action {
    use Action as A;
    match (phase, pass) {
        (Phase::Expand, true) => A::PassExpandGate,
        (Phase::Design, true) => A::PassDesignGate,
        (Phase::Analyze, true) => A::PassAnalyzeGate,
        (Phase::Build, true) => A::PassBuildGate,
        (Phase::Review, true) => A::PassReviewGate,
        (Phase::Reconcile, true) => A::ReconcileClean,
        (Phase::Verify, true) => A::PassVerifyGate,
        (Phase::Deploy, true) => A::PassDeployGate,
        (Phase::Expand, false) => A::FailExpandGate,
        (Phase::Design, false) => A::FailDesignGate,
        (Phase::Analyze, false) => A::FailAnalyzeGate,
        (Phase::Build, false) => A::FailBuildGate,
        (Phase::Review, false) => A::FailReviewGate,
        (Phase::Reconcile, false) => A::ReconcileBlocked,
        (Phase::Verify, false) => A::FailVerifyGate,
        (Phase::Deploy, false) => A::FailDeployGate,
    }
}

/// The step that takes a failed gate's work up again.
pub fn retry_action(stage: Stage) -> Option<Action> {
    use Action as A;
    use Stage as S;
    Some(match stage {
        S::ExpandRetrying => A::RetryExpand,
        S::DesignRetrying => A::RetryDesign,
        S::AnalyzeRetrying => A::RetryAnalyze,
        S::BuildRetrying => A::RetryBuild,
        S::ReviewFixing => A::FixReviewFindings,
        S::ReviewRetrying => A::RetryReview,
        S::VerifyFixing => A::FixVerifyFailures,
        S::VerifyRetrying => A::RetryVerify,
        S::DeployRetrying => A::RetryDeploy,
        _ => return None,
    })
}

/// Doors that open only to people.
fn needs_human(action: Action) -> bool {
    use Action as A;
    matches!(
        action,
        A::CommitToBuild
            | A::UnblockByUser
            | A::ResolveComplexityBrake
            | A::ResolveReconcileBlock
            | A::ResumeToDesign
            | A::ResumeToAnalyze
            | A::ResumeToBuild
            | A::ResumeToReview
            | A::ResumeToVerify
            | A::ResumeToDeploy
            | A::ResumeToReconcile
            | A::ConfirmIteration
            | A::RejectIteration
            | A::StartPMFValidation
            | A::PMFNeedsIteration
            | A::PMFValidated
            | A::ReenterFromIdeation
    )
}

/// One step of the law. The state is not touched when the step is refused.
pub fn apply(state: &State, step: &Step) -> Result<State, Refusal> {
    use Action as A;
    let action = step.action;
    let Some(to) = action.from(state.stage) else {
        let could = TRANSITIONS
            .iter()
            .filter(|(_, from, _)| *from == state.stage)
            .map(|(action, _, _)| action.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        return Err(not_now(format!("{action} does not lead anywhere from {}.", state.stage), could_be(&could)));
    };
    if needs_human(action) && step.actor != Actor::Human {
        return Err(not_now(
            format!("{action} is a person's decision."),
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

    match action {
        A::BlockAfterThreeRetries => {
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
        A::UnblockByUser => {
            if let Some(phase) = state.return_to.and_then(phase_of) {
                next.attempts.remove(&phase);
            }
        }
        A::RetryExpand
        | A::RetryDesign
        | A::RetryAnalyze
        | A::RetryBuild
        | A::RetryReview
        | A::RetryVerify
        | A::RetryDeploy
        | A::FixReviewFindings
        | A::FixVerifyFailures
        | A::VerifyFixReconcile
        | A::ResolveReconcileBlock => {
            let phase = phase_of(state.stage).unwrap_or(Phase::Expand);
            if state.fails(phase) >= limit(phase) {
                return Err(not_now(
                    format!("{phase} has failed {} times, which blocks the change.", state.fails(phase)),
                    "A person must look at it and say /unblock.".to_owned(),
                ));
            }
        }
        A::AutoContinueToDesign
        | A::AutoContinueToAnalyze
        | A::AutoContinueToBuild
        | A::AutoContinueToReview
        | A::AutoContinueToReconcile
        | A::AutoContinueToDeploy
            if state.mode == Mode::Stepped =>
        {
            return Err(not_now("this change is in stepped mode.".to_owned(), "Say /continue to go on.".to_owned()));
        }
        A::PauseForSteppedMode => {
            if state.mode != Mode::Stepped {
                return Err(not_now("this change is in auto mode.".to_owned(), "It goes on by itself.".to_owned()));
            }
            next.return_to = gate_passed(state.stage).map(|phase| after(phase).stage());
        }
        A::ManualReconcileFromDesigning
        | A::ManualReconcileFromAnalyzing
        | A::ManualReconcileFromBuilding
        | A::ManualReconcileFromReviewing
        | A::ManualReconcileFromVerifying
        | A::DistillFromConfigured
        | A::DistillFromComplete
        | A::DistillFromIdeating
        | A::TriggerComplexityBrake => next.return_to = Some(state.stage),
        // A drop in the middle of a reconcile that was asked for keeps the way back of the outer phase.
        A::DropSession => next.return_to = Some(state.return_to.unwrap_or(state.stage)),
        A::ResumeToDesign
        | A::ResumeToAnalyze
        | A::ResumeToBuild
        | A::ResumeToReview
        | A::ResumeToVerify
        | A::ResumeToDeploy
        | A::ResumeToReconcile
        | A::ResumeAfterReconcileToDesigning
        | A::ResumeAfterReconcileToAnalyzing
        | A::ResumeAfterReconcileToBuilding
        | A::ResumeAfterReconcileToReviewing
        | A::ResumeAfterReconcileToVerifying => {
            if state.return_to != Some(to) {
                return Err(wrong_way(to, state.return_to));
            }
            next.return_to = None;
        }
        A::DistillCompleteToExpand | A::DistillCompleteToIterate | A::DistillCompleteToIdeating => {
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
        A::RecoverToExpand
        | A::RecoverToDesign
        | A::RecoverToAnalyze
        | A::RecoverToBuild
        | A::RecoverToReview
        | A::RecoverToReconcile
        | A::RecoverToVerify
        | A::RecoverToDeploy => {
            let open = state.earliest_open().stage();
            // With everything proven and the deployment yet to come, recovery may show VERIFY once more.
            let again = open == Stage::Deploying && to == Stage::Verifying;
            if to != open && !again {
                return Err(wrong_way(to, Some(open)));
            }
            next.return_to = None;
        }
        A::ConfirmIteration => {
            // The person who confirms the proposal confirms the new scope with it; the design may stand, and
            // everything after it is to be shown again for the new version.
            next.passed.retain(|phase, _| *phase <= Phase::Design);
            if let Some(scope) = state.present.get(&Phase::Expand) {
                next.passed.insert(Phase::Expand, scope.clone());
            }
            next.attempts.clear();
        }
        A::IterateToDesign => {
            next.passed.remove(&Phase::Design);
        }
        _ => {}
    }

    if let Some(phase) = entered(action, to) {
        require_passed(&next, phase)?;
    }
    Ok(next)
}

/// The phase whose work begins with this step. A detour into reconcile and back begins nothing.
fn entered(action: Action, to: Stage) -> Option<Phase> {
    use Action as A;
    let detour = matches!(
        action,
        A::ManualReconcileFromDesigning
            | A::ManualReconcileFromAnalyzing
            | A::ManualReconcileFromBuilding
            | A::ManualReconcileFromReviewing
            | A::ManualReconcileFromVerifying
            | A::ResolveReconcileBlock
    );
    Phase::ALL.into_iter().find(|phase| !detour && phase.stage() == to)
}

fn limit(phase: Phase) -> u8 {
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
        Some(right) => not_now(format!("the way from here leads to {right}, not to {to}."), format!("Go to {right}.")),
        None => not_now(format!("nothing leads to {to} from here."), "Ask for /status.".to_owned()),
    }
}

/// A fact beside the table. It is never refused: it has already happened.
pub fn beside(state: &State, fact: &Beside) -> State {
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
            if !waits_for_human(state.stage) {
                next.return_to = Some(state.return_to.unwrap_or(state.stage));
                next.stage = if *structural { Stage::ComplexityBrakeTriggered } else { Stage::BlockedOnGate };
            }
        }
        Beside::Mode { mode } => next.mode = *mode,
    }
    next
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

#[cfg(test)]
mod tests;
