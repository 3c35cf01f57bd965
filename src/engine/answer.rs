//! Answers to a stop: what lets a change go on, sends it back or gives it up.

use super::decide::Draft;
use super::task;
use super::verbs::not_now;
use crate::flow::{Action, Actor, Refusal, Stage};
use crate::ledger::record::{Moment, Outcome};
use crate::ledger::resolution::{Remedy, Resolution, Resolved};
use crate::ledger::{Body, By};
use crate::policy::Commands;

/// Who answers.
pub(super) struct Answerer<'a> {
    pub(super) actor: Actor,
    pub(super) by: &'a By,
    pub(super) said: Moment,
    pub(super) commands: &'a Commands,
}

impl Answerer<'_> {
    fn step(&self, draft: &mut Draft<'_>, action: Action) -> Result<(), Refusal> {
        draft.step(action, self.actor, self.by.clone())
    }

    fn refuse(&self, draft: &Draft<'_>) -> Result<Outcome, Refusal> {
        Err(not_now(draft, self.commands))
    }

    /// `/unblock`: lets a blocked or stopped change go on, or ends an audit.
    pub(super) fn unblock(&self, draft: &mut Draft<'_>, reason: &str) -> Result<Outcome, Refusal> {
        // The brake has a command of its own.
        if draft.stage() == Some(Stage::ComplexityBrakeTriggered) {
            return self.refuse(draft);
        }
        let over = draft.world.policy().map_or(u32::MAX, |policy| policy.limits.previews);
        let audit = draft.state.audit_due(over).is_some();
        let said = Some(self.said);
        let standing = draft.state.rejections.iter().any(|one| one.standing && !one.is_after(said));
        if blocked(draft).is_none() && draft.state.stopped.is_none() && !audit && !standing {
            return self.refuse(draft);
        }
        self.lift(draft, reason)?;
        draft.settle()?;
        Ok(Outcome::Done)
    }

    pub(super) fn release_brake(&self, draft: &mut Draft<'_>, reason: &str) -> Result<Outcome, Refusal> {
        if draft.stage() != Some(Stage::ComplexityBrakeTriggered) {
            return self.refuse(draft);
        }
        self.lift(draft, reason)?;
        draft.settle()?;
        Ok(Outcome::Done)
    }

    /// `/continue`: goes on after a stepped wait.
    pub(super) fn go_on(&self, draft: &mut Draft<'_>) -> Result<Outcome, Refusal> {
        let Some(action) = resumes(draft).filter(|_| draft.state.stopped.is_none()) else { return self.refuse(draft) };
        self.step(draft, action)?;
        draft.settle()?;
        Ok(Outcome::Done)
    }

    /// `/resolve`: answers the stop that there is. What was read and offered is recorded first, then what follows from it.
    pub(super) fn resolve(&self, draft: &mut Draft<'_>, resolution: Resolution) -> Result<Outcome, Refusal> {
        let Some(of) = draft.state.escalation.as_ref().map(|open| open.id) else { return self.refuse(draft) };
        let (remedy, reason) = (resolution.remedy(), resolution.reason().unwrap_or_default());
        let (digest, said) = (resolution.digest(), self.said);
        draft.by(self.by.clone(), Body::Resolved(Box::new(Resolved { of, resolution, digest, said })))?;
        let paused = draft.stage() == Some(Stage::SteppedModePaused) && draft.state.stopped.is_none();
        match remedy {
            Remedy::Continue => return self.go_on(draft),
            Remedy::ApproveOverride | Remedy::ProvideFix => self.lift(draft, &reason)?,
            Remedy::AmendSpec | Remedy::RevisePlan => {
                if !paused {
                    self.lift(draft, &reason)?;
                }
                if draft.state.pipeline.is_some() {
                    let back = if remedy == Remedy::AmendSpec { Body::Rescoped {} } else { Body::Replanned {} };
                    draft.by(self.by.clone(), back)?;
                }
            }
            Remedy::AbandonTask | Remedy::SplitTask => draft.by(self.by.clone(), Body::GivenUp { reason })?,
        }
        draft.settle()?;
        Ok(Outcome::Done)
    }

    /// Lifts a stop that is no pause.
    fn lift(&self, draft: &mut Draft<'_>, reason: &str) -> Result<(), Refusal> {
        let action = blocked(draft);
        draft.by(self.by.clone(), Body::Resumed { reason: reason.to_owned(), said: Some(self.said) })?;
        match action {
            Some(action) => self.step(draft, action),
            None => task::reopened(draft, self.by, reason),
        }
    }
}

/// The step that leaves a stage which only a person leaves.
fn blocked(draft: &Draft<'_>) -> Option<Action> {
    match draft.stage()? {
        Stage::ComplexityBrakeTriggered => Some(Action::ResolveComplexityBrake),
        Stage::BlockedOnGate => Some(Action::UnblockByUser),
        Stage::ReconcileBlocked => Some(Action::ResolveReconcileBlock),
        _ => None,
    }
}

/// The step that ends a stepped wait.
fn resumes(draft: &Draft<'_>) -> Option<Action> {
    let pipeline = draft.state.pipeline.as_ref().filter(|pipeline| pipeline.stage == Stage::SteppedModePaused)?;
    Some(match pipeline.return_to? {
        Stage::Designing => Action::ResumeToDesign,
        Stage::Analyzing => Action::ResumeToAnalyze,
        Stage::Building => Action::ResumeToBuild,
        Stage::Reviewing => Action::ResumeToReview,
        Stage::Reconciling => Action::ResumeToReconcile,
        Stage::Verifying => Action::ResumeToVerify,
        Stage::Deploying => Action::ResumeToDeploy,
        _ => return None,
    })
}
