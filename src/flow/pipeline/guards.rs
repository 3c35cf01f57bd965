//! What stands in the way of an action, as data: [`apply`](super::apply) refuses by it, and the exporter prints it.

use super::super::Action;

/// What an action asks for beside its line in the table, and what it does to the way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::flow) enum Guard {
    /// Nothing of its own.
    Free,
    /// The gate has failed for the last time. The way back is its phase.
    Blocks,
    /// The FAILs of the gate that blocked are forgotten.
    Unblocks,
    /// The gate has a try left.
    Tries,
    /// The change is in auto mode.
    GoesOn,
    /// The change is in stepped mode. The way back is the next phase.
    Pauses,
    /// The way back is where it is left.
    Leaves,
    /// As [`Leaves`](Guard::Leaves), but an outer way back stays, and a gate without a try left is not to be left so.
    Drops,
    /// It leads to the way back.
    Returns,
    /// The same; after delivery that is another round.
    Distilled,
    /// It leads to the first phase whose gate does not hold.
    Recovers,
    /// The scope is confirmed, and everything after the design is to be shown again.
    Confirms,
    /// The design is to be shown again.
    Redesigns,
    /// What is there now is what was delivered.
    Delivered,
}

impl Guard {
    pub(in crate::flow) const ALL: [Guard; 14] = [
        Guard::Free,
        Guard::Blocks,
        Guard::Unblocks,
        Guard::Tries,
        Guard::GoesOn,
        Guard::Pauses,
        Guard::Leaves,
        Guard::Drops,
        Guard::Returns,
        Guard::Distilled,
        Guard::Recovers,
        Guard::Confirms,
        Guard::Redesigns,
        Guard::Delivered,
    ];
}

pub(in crate::flow) fn guard(action: Action) -> Guard {
    use Action as A;
    match action {
        A::BlockAfterThreeRetries => Guard::Blocks,
        A::UnblockByUser => Guard::Unblocks,
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
        | A::ResolveReconcileBlock => Guard::Tries,
        A::AutoContinueToDesign
        | A::AutoContinueToAnalyze
        | A::AutoContinueToBuild
        | A::AutoContinueToReview
        | A::AutoContinueToReconcile
        | A::AutoContinueToDeploy => Guard::GoesOn,
        A::PauseForSteppedMode => Guard::Pauses,
        A::ManualReconcileFromDesigning
        | A::ManualReconcileFromAnalyzing
        | A::ManualReconcileFromBuilding
        | A::ManualReconcileFromReviewing
        | A::ManualReconcileFromVerifying
        | A::DistillFromConfigured
        | A::DistillFromComplete
        | A::DistillFromIdeating
        | A::TriggerComplexityBrake => Guard::Leaves,
        A::DropSession => Guard::Drops,
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
        | A::ResumeAfterReconcileToVerifying => Guard::Returns,
        A::DistillCompleteToExpand | A::DistillCompleteToIterate | A::DistillCompleteToIdeating => Guard::Distilled,
        A::RecoverToExpand
        | A::RecoverToDesign
        | A::RecoverToAnalyze
        | A::RecoverToBuild
        | A::RecoverToReview
        | A::RecoverToReconcile
        | A::RecoverToVerify
        | A::RecoverToDeploy => Guard::Recovers,
        A::ConfirmIteration => Guard::Confirms,
        A::IterateToDesign => Guard::Redesigns,
        A::RejectIteration | A::PMFValidated => Guard::Delivered,
        _ => Guard::Free,
    }
}

/// A detour into reconcile, or its being taken up again: the phase's own work does not begin with it.
pub(in crate::flow) fn detour(action: Action) -> bool {
    use Action as A;
    matches!(
        action,
        A::ManualReconcileFromDesigning
            | A::ManualReconcileFromAnalyzing
            | A::ManualReconcileFromBuilding
            | A::ManualReconcileFromReviewing
            | A::ManualReconcileFromVerifying
            | A::ResolveReconcileBlock
    )
}
