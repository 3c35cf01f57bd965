//! Stops: what keeps a change where it is until a person decides.
//!
//! A person calls one by a comment, the bot where a limit is reached, and an agent by a commit. Agents are often bots, and
//! nothing that a bot says in a comment is a command; but whoever pushes can ask to be stopped.

use std::collections::BTreeSet;

use super::decide::Draft;
use crate::flow::Refusal;
use crate::flow::pipeline::Beside;
use crate::gate::world::Raises;
use crate::ledger::record::{Condition, Moment, Raised};
use crate::ledger::{Body, By};

/// What a change is stopped for.
pub(super) struct Call {
    pub reason: String,
    pub said: Option<Moment>,
    pub condition: Option<Condition>,
    /// The commit that asks for it.
    pub raised: Option<Raised>,
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

/// `Phasegate-Stop: REASON` in the messages of its commits: each is asked once, whatever is pushed over it.
pub(super) fn raised(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let open = draft.state.open && draft.state.merged.is_none() && draft.world.policy().is_some();
    let Some(subject) = draft.world.subject.as_ref().filter(|_| open) else { return Ok(()) };
    for Raises { raised, reason } in &subject.stops {
        if !draft.state.raised.contains(&raised.key) {
            let (condition, raised) = (Condition::of(reason), Some(raised.clone()));
            call(draft, By::Bot, Call { condition, raised, ..Call::new(reason.clone()) })?;
        }
    }
    Ok(())
}
