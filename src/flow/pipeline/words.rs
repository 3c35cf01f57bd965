//! Which phase a stage belongs to, and what an action means to a gate.

use super::super::{Action, Phase, Stage};

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

/// What a stage is called in front of people. The table's own names are for the exporter and for other programs.
pub fn words(stage: Stage) -> String {
    use Stage as S;
    let phase = phase_of(stage).map(|phase| phase.as_str().to_uppercase()).unwrap_or_default();
    let name = match stage {
        S::Ideating => "collecting ideas",
        S::TemplateForked | S::RepoCloned | S::WorkspaceOpened => "setting up",
        S::PreferencesConfigured => "ready to start",
        S::AuditingStack => "auditing the stack",
        S::Distilling => "distilling",
        S::BlockedOnGate => "BLOCKED",
        S::ReconcileBlocked => "RECONCILE stopped for a person",
        S::ComplexityBrakeTriggered => "stopped by the complexity brake",
        S::SteppedModePaused => "paused",
        S::SessionDropped => "dropped",
        S::ContextRecovering => "recovering",
        S::PipelineComplete => "FULL PIPELINE COMPLETE",
        S::Iterating => "another round, to be proposed",
        S::IterationProposed => "another round, proposed",
        S::IterationConfirmed => "another round, confirmed",
        S::ValidatingPMF => "validating with users",
        S::ReviewFixing | S::VerifyFixing => return format!("{phase}, fixing"),
        _ if gate_passed(stage).is_some() => return format!("{phase} passed"),
        _ if retry_action(stage).is_some() => return format!("{phase}, another try"),
        _ => return phase,
    };
    name.to_owned()
}

/// Stages beyond the phases, in which a delivered change rests or begins another round.
pub fn rests(stage: Stage) -> bool {
    use Stage as S;
    matches!(
        stage,
        S::PipelineComplete
            | S::Ideating
            | S::Iterating
            | S::IterationProposed
            | S::IterationConfirmed
            | S::ValidatingPMF
            | S::Distilling
    )
}

/// The gate that has just passed in a stage, for the stages that say so.
pub(in crate::flow) fn gate_passed(stage: Stage) -> Option<Phase> {
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

pub(super) fn after(phase: Phase) -> Phase {
    Phase::ALL.into_iter().find(|next| *next > phase).unwrap_or(Phase::Deploy)
}

/// What an action does to the gates, if it is a gate's verdict.
pub(in crate::flow) enum GateEffect {
    Pass(Phase),
    Fail(Phase),
}

pub(in crate::flow) fn gate_effect(action: Action) -> Option<GateEffect> {
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
pub(in crate::flow) fn needs_human(action: Action) -> bool {
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
