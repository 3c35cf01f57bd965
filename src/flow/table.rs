//! The pipeline's table: every stage, every action, every transition, once.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($variant,)* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => stringify!($variant),)* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(super) use names;

names! {
    /// Where a change stands in the pipeline.
    Stage {
        Ideating,
        TemplateForked,
        RepoCloned,
        WorkspaceOpened,
        PreferencesConfigured,
        AuditingStack,
        Expanding,
        ExpandGatePassed,
        ExpandRetrying,
        Designing,
        DesignGatePassed,
        DesignRetrying,
        Analyzing,
        AnalyzeGatePassed,
        AnalyzeRetrying,
        Building,
        BuildGatePassed,
        BuildRetrying,
        Reviewing,
        ReviewGatePassed,
        ReviewFixing,
        ReviewRetrying,
        Verifying,
        VerifyGatePassed,
        VerifyFixing,
        VerifyRetrying,
        Deploying,
        DeployRetrying,
        PipelineComplete,
        BlockedOnGate,
        ComplexityBrakeTriggered,
        SteppedModePaused,
        SessionDropped,
        ContextRecovering,
        Reconciling,
        ReconcileBlocked,
        Distilling,
        Iterating,
        IterationProposed,
        IterationConfirmed,
        ValidatingPMF,
    }
}

names! {
    /// What can be done to it.
    Action {
        CommitToBuild,
        CloneRepo,
        OpenInEditor,
        ConfigurePreferences,
        RequestBuild,
        AuditStackFromConfigured,
        StackAuditComplete,
        DistillFromConfigured,
        DistillFromComplete,
        DistillCompleteToExpand,
        DistillCompleteToIterate,
        DistillCompleteToIdeating,
        PassExpandGate,
        FailExpandGate,
        RetryExpand,
        AutoContinueToDesign,
        PassDesignGate,
        FailDesignGate,
        RetryDesign,
        AutoContinueToAnalyze,
        PassAnalyzeGate,
        FailAnalyzeGate,
        RetryAnalyze,
        AutoContinueToBuild,
        PassBuildGate,
        FailBuildGate,
        RetryBuild,
        TriggerComplexityBrake,
        AutoContinueToReview,
        PassReviewGate,
        FailReviewGate,
        FixReviewFindings,
        EscalateReviewFailure,
        RetryReview,
        AutoContinueToReconcile,
        ReconcileClean,
        ReconcileRepaired,
        ReconcileBlocked,
        ResolveReconcileBlock,
        PassVerifyGate,
        FailVerifyGate,
        FixVerifyFailures,
        VerifyFixReconcile,
        EscalateVerifyFailure,
        RetryVerify,
        AutoContinueToDeploy,
        PassDeployGate,
        FailDeployGate,
        RetryDeploy,
        BlockAfterThreeRetries,
        UnblockByUser,
        ResolveComplexityBrake,
        PauseForSteppedMode,
        ResumeToDesign,
        ResumeToAnalyze,
        ResumeToBuild,
        ResumeToReview,
        ResumeToVerify,
        ResumeToDeploy,
        ResumeToReconcile,
        DropSession,
        StartContextRecovery,
        RecoverToExpand,
        RecoverToDesign,
        RecoverToAnalyze,
        RecoverToBuild,
        RecoverToReview,
        RecoverToVerify,
        RecoverToDeploy,
        RecoverToReconcile,
        ManualReconcileFromDesigning,
        ManualReconcileFromAnalyzing,
        ManualReconcileFromBuilding,
        ManualReconcileFromReviewing,
        ManualReconcileFromVerifying,
        ResumeAfterReconcileToDesigning,
        ResumeAfterReconcileToAnalyzing,
        ResumeAfterReconcileToBuilding,
        ResumeAfterReconcileToReviewing,
        ResumeAfterReconcileToVerifying,
        StartIteration,
        ProposeIteration,
        ConfirmIteration,
        RejectIteration,
        IterateDirectToAnalyze,
        IterateToDesign,
        StartPMFValidation,
        PMFNeedsIteration,
        PMFValidated,
        ReenterFromIdeation,
        DistillFromIdeating,
    }
}

/// Every transition: which action leads from which stage to which. An action from a stage has one outcome.
pub const TRANSITIONS: &[(Action, Stage, Stage)] = {
    use Action::*;
    use Stage::*;
    &[
        (CommitToBuild, Ideating, TemplateForked),
        (CloneRepo, TemplateForked, RepoCloned),
        (OpenInEditor, RepoCloned, WorkspaceOpened),
        (ConfigurePreferences, WorkspaceOpened, PreferencesConfigured),
        (RequestBuild, PreferencesConfigured, Expanding),
        (AuditStackFromConfigured, PreferencesConfigured, AuditingStack),
        (StackAuditComplete, AuditingStack, PreferencesConfigured),
        (DistillFromConfigured, PreferencesConfigured, Distilling),
        (DistillFromComplete, PipelineComplete, Distilling),
        (DistillCompleteToExpand, Distilling, PreferencesConfigured),
        (DistillCompleteToIterate, Distilling, Iterating),
        (DistillCompleteToIdeating, Distilling, Ideating),
        (PassExpandGate, Expanding, ExpandGatePassed),
        (FailExpandGate, Expanding, ExpandRetrying),
        (RetryExpand, ExpandRetrying, Expanding),
        (AutoContinueToDesign, ExpandGatePassed, Designing),
        (PassDesignGate, Designing, DesignGatePassed),
        (FailDesignGate, Designing, DesignRetrying),
        (RetryDesign, DesignRetrying, Designing),
        (AutoContinueToAnalyze, DesignGatePassed, Analyzing),
        (PassAnalyzeGate, Analyzing, AnalyzeGatePassed),
        (FailAnalyzeGate, Analyzing, AnalyzeRetrying),
        (RetryAnalyze, AnalyzeRetrying, Analyzing),
        (AutoContinueToBuild, AnalyzeGatePassed, Building),
        (PassBuildGate, Building, BuildGatePassed),
        (FailBuildGate, Building, BuildRetrying),
        (RetryBuild, BuildRetrying, Building),
        (TriggerComplexityBrake, Building, ComplexityBrakeTriggered),
        (AutoContinueToReview, BuildGatePassed, Reviewing),
        (PassReviewGate, Reviewing, ReviewGatePassed),
        (FailReviewGate, Reviewing, ReviewFixing),
        (FixReviewFindings, ReviewFixing, Reviewing),
        (EscalateReviewFailure, ReviewFixing, ReviewRetrying),
        (RetryReview, ReviewRetrying, ReviewFixing),
        (AutoContinueToReconcile, ReviewGatePassed, Reconciling),
        (ReconcileClean, Reconciling, Verifying),
        (ReconcileRepaired, Reconciling, Verifying),
        (Action::ReconcileBlocked, Reconciling, Stage::ReconcileBlocked),
        (ResolveReconcileBlock, Stage::ReconcileBlocked, Reconciling),
        (PassVerifyGate, Verifying, VerifyGatePassed),
        (FailVerifyGate, Verifying, VerifyFixing),
        (FixVerifyFailures, VerifyFixing, Verifying),
        (VerifyFixReconcile, VerifyFixing, Reconciling),
        (EscalateVerifyFailure, VerifyFixing, VerifyRetrying),
        (RetryVerify, VerifyRetrying, VerifyFixing),
        (AutoContinueToDeploy, VerifyGatePassed, Deploying),
        (PassDeployGate, Deploying, PipelineComplete),
        (FailDeployGate, Deploying, DeployRetrying),
        (RetryDeploy, DeployRetrying, Deploying),
        (BlockAfterThreeRetries, ExpandRetrying, BlockedOnGate),
        (BlockAfterThreeRetries, DesignRetrying, BlockedOnGate),
        (BlockAfterThreeRetries, AnalyzeRetrying, BlockedOnGate),
        (BlockAfterThreeRetries, BuildRetrying, BlockedOnGate),
        (BlockAfterThreeRetries, ReviewRetrying, BlockedOnGate),
        (BlockAfterThreeRetries, VerifyRetrying, BlockedOnGate),
        (BlockAfterThreeRetries, DeployRetrying, BlockedOnGate),
        (BlockAfterThreeRetries, Stage::ReconcileBlocked, BlockedOnGate),
        (UnblockByUser, BlockedOnGate, ContextRecovering),
        (ResolveComplexityBrake, ComplexityBrakeTriggered, ContextRecovering),
        (PauseForSteppedMode, ExpandGatePassed, SteppedModePaused),
        (PauseForSteppedMode, DesignGatePassed, SteppedModePaused),
        (PauseForSteppedMode, AnalyzeGatePassed, SteppedModePaused),
        (PauseForSteppedMode, BuildGatePassed, SteppedModePaused),
        (PauseForSteppedMode, ReviewGatePassed, SteppedModePaused),
        (PauseForSteppedMode, VerifyGatePassed, SteppedModePaused),
        (ResumeToDesign, SteppedModePaused, Designing),
        (ResumeToAnalyze, SteppedModePaused, Analyzing),
        (ResumeToBuild, SteppedModePaused, Building),
        (ResumeToReview, SteppedModePaused, Reviewing),
        (ResumeToVerify, SteppedModePaused, Verifying),
        (ResumeToDeploy, SteppedModePaused, Deploying),
        (ResumeToReconcile, SteppedModePaused, Reconciling),
        (DropSession, Expanding, SessionDropped),
        (DropSession, Designing, SessionDropped),
        (DropSession, Analyzing, SessionDropped),
        (DropSession, Building, SessionDropped),
        (DropSession, Reviewing, SessionDropped),
        (DropSession, ReviewFixing, SessionDropped),
        (DropSession, Reconciling, SessionDropped),
        (DropSession, Verifying, SessionDropped),
        (DropSession, VerifyFixing, SessionDropped),
        (DropSession, Deploying, SessionDropped),
        (StartContextRecovery, SessionDropped, ContextRecovering),
        (RecoverToExpand, ContextRecovering, Expanding),
        (RecoverToDesign, ContextRecovering, Designing),
        (RecoverToAnalyze, ContextRecovering, Analyzing),
        (RecoverToBuild, ContextRecovering, Building),
        (RecoverToReview, ContextRecovering, Reviewing),
        (RecoverToVerify, ContextRecovering, Verifying),
        (RecoverToDeploy, ContextRecovering, Deploying),
        (RecoverToReconcile, ContextRecovering, Reconciling),
        (ManualReconcileFromDesigning, Designing, Reconciling),
        (ManualReconcileFromAnalyzing, Analyzing, Reconciling),
        (ManualReconcileFromBuilding, Building, Reconciling),
        (ManualReconcileFromReviewing, Reviewing, Reconciling),
        (ManualReconcileFromVerifying, Verifying, Reconciling),
        (ResumeAfterReconcileToDesigning, Reconciling, Designing),
        (ResumeAfterReconcileToAnalyzing, Reconciling, Analyzing),
        (ResumeAfterReconcileToBuilding, Reconciling, Building),
        (ResumeAfterReconcileToReviewing, Reconciling, Reviewing),
        (ResumeAfterReconcileToVerifying, Reconciling, Verifying),
        (StartIteration, PipelineComplete, Iterating),
        (ProposeIteration, Iterating, IterationProposed),
        (ConfirmIteration, IterationProposed, IterationConfirmed),
        (RejectIteration, IterationProposed, PipelineComplete),
        (IterateDirectToAnalyze, IterationConfirmed, Analyzing),
        (IterateToDesign, IterationConfirmed, Designing),
        (StartPMFValidation, PipelineComplete, ValidatingPMF),
        (PMFNeedsIteration, ValidatingPMF, Ideating),
        (PMFValidated, ValidatingPMF, PipelineComplete),
        (ReenterFromIdeation, Ideating, Iterating),
        (DistillFromIdeating, Ideating, Distilling),
    ]
};

impl Action {
    /// Where this action leads from that stage, if anywhere.
    pub fn from(self, stage: Stage) -> Option<Stage> {
        TRANSITIONS.iter().find(|(action, from, _)| *action == self && *from == stage).map(|(_, _, to)| *to)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_has_the_size_of_the_module() {
        assert_eq!(Stage::ALL.len(), 41);
        assert_eq!(Action::ALL.len(), 91);
        assert_eq!(TRANSITIONS.len(), 112);
        let edges: BTreeSet<_> = TRANSITIONS.iter().map(|(_, from, to)| (from, to)).collect();
        assert_eq!(edges.len(), 110);
    }

    #[test]
    fn an_action_from_a_stage_has_one_outcome_and_every_action_is_used() {
        let pairs: BTreeSet<_> = TRANSITIONS.iter().map(|(action, from, _)| (action, from)).collect();
        assert_eq!(pairs.len(), TRANSITIONS.len());
        let used: BTreeSet<_> = TRANSITIONS.iter().map(|(action, _, _)| *action).collect();
        assert_eq!(used.len(), Action::ALL.len());
    }
}
