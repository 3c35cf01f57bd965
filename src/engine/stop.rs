//! Stops: what keeps a change where it is until a person decides.
//!
//! A person calls one by a comment, the bot where a limit is reached, and an agent by its head commit. Agents are often bots, and
//! nothing that a bot says in a comment is a command; but whoever pushes can ask to be stopped.

use std::collections::BTreeSet;

use super::decide::Draft;
use crate::flow::Refusal;
use crate::flow::pipeline::Beside;
use crate::ids::CommitId;
use crate::ledger::record::{Condition, Moment};
use crate::ledger::{Body, By};

/// What a change is stopped for.
pub(super) struct Call {
    pub reason: String,
    pub said: Option<Moment>,
    pub condition: Option<Condition>,
    /// The head that asks for it.
    pub raised: Option<CommitId>,
}

impl Call {
    pub(super) fn new(reason: String) -> Self {
        Self { reason, said: None, condition: None, raised: None }
    }
}

/// Stops it. In the pipeline that is a fact beside the table: a scope that outgrew its design is a concern about the design
/// itself, the rest is for a person to unblock.
pub(super) fn call(draft: &mut Draft<'_>, by: By, call: Call) -> Result<(), Refusal> {
    let Call { reason, said, condition, raised } = call;
    let structural = condition.is_some_and(Condition::is_structural);
    draft.by(by.clone(), Body::Stopped { reason, said, concerns: BTreeSet::new(), condition, raised })?;
    match draft.state.pipeline {
        Some(_) => draft.by(by, Body::Beside { fact: Beside::Stopped { structural } }),
        None => Ok(()),
    }
}

/// `Phasegate-Stop: REASON` on the head commit, once for each head.
pub(super) fn raised(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let open = draft.state.open && draft.state.merged.is_none() && draft.world.policy().is_some();
    let Some(subject) = draft.world.subject.as_ref().filter(|_| open) else { return Ok(()) };
    let (Some(reason), Some(about)) = (&subject.stops, &draft.state.subject) else { return Ok(()) };
    if draft.state.raised.as_ref() == Some(&about.head) {
        return Ok(());
    }
    let (condition, raised) = (Condition::of(reason), Some(about.head.clone()));
    call(draft, By::Bot, Call { condition, raised, ..Call::new(reason.clone()) })
}
