//! How far the law is explored: each exploration lets some things happen, and is then walked to its end.
//!
//! The model in Rust (`model.rs`, for tests) and the exported one for TLC have their bounds from here, so that they walk
//! the same states. `docs/model.md` has the counts.

use super::super::{Action, Mode, Phase};

/// What one exploration may do.
#[derive(Debug, Clone, Copy)]
pub(in crate::flow) struct Exploration {
    pub(in crate::flow) name: &'static str,
    /// The gates that may fail as often as the law lets them.
    pub(in crate::flow) fails: &'static [Phase],
    /// How many FAILs of all other gates may be open at once.
    pub(in crate::flow) others: u8,
    /// The first documents that may be rewritten.
    pub(in crate::flow) rewrites: &'static [Phase],
    /// Whether the content may become another one.
    pub(in crate::flow) pushes: bool,
    pub(in crate::flow) modes: &'static [Mode],
    /// Whether stops are called.
    pub(in crate::flow) stops: bool,
    /// Whether what comes before and after the phases is explored: ideas, set-up, another round.
    pub(in crate::flow) beyond: bool,
}

/// A change in auto mode that nothing is done to.
const CALM: Exploration = Exploration {
    name: "",
    fails: &[],
    others: 0,
    rewrites: &[],
    pushes: false,
    modes: &[Mode::Auto],
    stops: false,
    beyond: false,
};

const BOTH: &[Mode] = &[Mode::Auto, Mode::Stepped];

const fn fails(name: &'static str, fails: &'static [Phase]) -> Exploration {
    Exploration { name, fails, stops: true, ..CALM }
}

pub(in crate::flow) const EXPLORATIONS: &[Exploration] = &[
    Exploration { name: "content", pushes: true, ..CALM },
    Exploration { name: "documents", rewrites: &[Phase::Expand, Phase::Analyze], ..CALM },
    Exploration { name: "pauses", pushes: true, modes: BOTH, ..CALM },
    Exploration { name: "stops", others: 1, modes: BOTH, stops: true, ..CALM },
    Exploration { name: "rounds", pushes: true, beyond: true, ..CALM },
    Exploration { name: "rounds of one content", beyond: true, ..CALM },
    fails("FAILs of EXPAND", &[Phase::Expand]),
    fails("FAILs of DESIGN", &[Phase::Design]),
    fails("FAILs of ANALYZE", &[Phase::Analyze]),
    fails("FAILs of BUILD", &[Phase::Build]),
    fails("FAILs of RECONCILE", &[Phase::Reconcile]),
    fails("FAILs of DEPLOY", &[Phase::Deploy]),
    // A fix is a push.
    Exploration { pushes: true, ..fails("FAILs of REVIEW", &[Phase::Review]) },
    Exploration { pushes: true, ..fails("FAILs of VERIFY", &[Phase::Verify]) },
];

/// What leads into another round or comes from one.
pub(in crate::flow) fn outer(action: Action) -> bool {
    use Action as A;
    matches!(
        action,
        A::StartIteration
            | A::StartPMFValidation
            | A::DistillFromComplete
            | A::DistillFromIdeating
            | A::DistillFromConfigured
            | A::AuditStackFromConfigured
            | A::ReenterFromIdeation
            | A::CommitToBuild
    )
}
