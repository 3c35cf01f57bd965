//! Leases on agents' work, where the policy gives one: whoever works on a change is heard of now and then, or is taken to be
//! gone.
//!
//! The time comes in as a fact, and when somebody was last heard of stands in the state. So a timer that fires twice, late or
//! after a restart decides nothing that another look would not decide.

use jiff::{SignedDuration, Timestamp};

use super::command::Verb;
use super::decide::{Draft, Happened, take_up};
use super::task::now;
use crate::flow::pipeline::{phase_of, retry_action};
use crate::flow::{Action, Actor, Mode, Phase, Refusal, Stage};
use crate::gate::GateName;
use crate::gate::phase::{self, Outcome};
use crate::ids::Person;
use crate::ledger::record::Why;
use crate::ledger::{Body, By, Entry, State};
use crate::policy::{Policy, Timeout};

/// When the lease on this change runs out, if an agent is at work on it and the policy gives leases.
pub fn runs_out(state: &State, policy: Option<&Policy>) -> Option<Timestamp> {
    let pass = state.task.as_ref().filter(|_| state.open).and_then(|task| task.open.as_ref()).map(|open| open.until);
    let lease = policy?.agents.lease.filter(|_| works(state)).zip(state.active);
    let lease = lease.map(|(lease, active)| active + length(lease));
    pass.into_iter().chain(lease).min()
}

fn length(lease: Timeout) -> SignedDuration {
    SignedDuration::from_secs(i64::from(lease.as_secs()))
}

/// Whether an agent is at work: then it can be gone.
fn works(state: &State) -> bool {
    let Some(pipeline) = &state.pipeline else { return false };
    let alive = state.open || (state.merged.is_some() && phase_of(pipeline.stage) == Some(Phase::Deploy));
    let stage = pipeline.stage;
    alive && state.stopped.is_none() && (Action::DropSession.from(stage).is_some() || retry_action(stage).is_some())
}

/// Ends another try before the change is dropped: the table knows a drop from the phase's own work alone.
pub(super) fn leave_off(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let stage = draft.stage().filter(|stage| Action::DropSession.from(*stage).is_none());
    match stage.and_then(phase_of) {
        Some(phase) => take_up(draft, phase),
        None => Ok(()),
    }
}

fn lease(draft: &Draft<'_>) -> Option<Timeout> {
    draft.world.policy()?.agents.lease
}

/// Whoever works on the change and spoke, without giving a command.
fn speaker<'h>(draft: &Draft<'_>, happened: &'h [Happened]) -> Option<&'h Person> {
    happened.iter().find_map(|one| match one {
        Happened::Spoke(person) if draft.state.operators.iter().any(|operator| operator.id == person.id) => {
            Some(person)
        }
        _ => None,
    })
}

/// A record by which somebody is known to be at work, or that tells them something new.
fn is_news(state: &State, entry: &Entry) -> bool {
    match &entry.body {
        Body::Subject { why, .. } => matches!(why, Why::Opened | Why::Pushed),
        Body::Command { .. } => state.is_operators(&entry.by),
        Body::Judged { gate, .. } => *gate != GateName::Merge,
        Body::Step { .. } | Body::Claimed { .. } | Body::Active { .. } => true,
        _ => false,
    }
}

/// Notes that somebody was heard of who left no other trace, and takes up what was dropped for silence: in auto mode the next
/// sign of life does it. What somebody dropped by a word stays dropped until somebody says otherwise.
pub(super) fn heard(draft: &mut Draft<'_>, happened: &[Happened]) -> Result<(), Refusal> {
    let Some(lease) = lease(draft) else { return Ok(()) };
    let lapsed = draft.state.lapsed.is_some() && draft.stage() == Some(Stage::SessionDropped);
    if let Some(person) = speaker(draft, happened).cloned() {
        // One record for a conversation is enough.
        let since = draft.state.active.zip(now(happened)).map(|(active, at)| at.duration_since(active));
        let worth = since.is_none_or(|since| since >= length(lease) / 10);
        if (worth && works(&draft.state)) || lapsed {
            draft.bot(Body::Active { person })?;
        }
    }
    let commanded = happened.iter().any(|one| match one {
        Happened::Command(order) => {
            let by = order.comment.author.id;
            let own = matches!(order.given.spec.map(|spec| spec.verb), Some(Verb::Recover | Verb::Drop));
            let done = draft.state.commands.contains(&(order.comment.id, order.given.index));
            !own && !done && draft.state.operators.iter().any(|operator| operator.id == by)
        }
        _ => false,
    });
    let moved = draft.entries.iter().any(|entry| is_news(&draft.state, entry));
    if lapsed && draft.state.mode == Mode::Auto && draft.state.open && (commanded || moved) {
        draft.step(Action::StartContextRecovery, Actor::Bot, By::Bot)?;
        draft.settle()?;
    }
    Ok(())
}

/// Drops a change whose lease has run out, when nothing in this look says otherwise.
pub(super) fn end(draft: &mut Draft<'_>, happened: &[Happened]) -> Result<(), Refusal> {
    let (Some(at), Some(lease), Some(since)) = (now(happened), lease(draft), draft.state.active) else { return Ok(()) };
    let over = runs_out(&draft.state, draft.world.policy()).is_some_and(|until| until <= at);
    let news = draft.entries.iter().any(|entry| is_news(&draft.state, entry));
    if !over || news || is_others_turn(draft) {
        return Ok(());
    }
    leave_off(draft)?;
    draft.bot(Body::Lapsed { since, lease: lease.to_string() })
}

/// Whether it is others that the change waits for: a check that runs, and from REVIEW on whatever a gate waits for. An agent
/// that has done its part and is silent meanwhile is not gone.
fn is_others_turn(draft: &Draft<'_>) -> bool {
    let Some(phase) = draft.stage().and_then(phase_of) else { return false };
    let content = draft.state.subject.as_ref().map(|about| &about.content);
    let named = draft.world.policy().map(|policy| policy.gates.verify.checks.as_slice()).unwrap_or_default();
    let runs = named.iter().any(|wanted| {
        let newest = draft.world.checks.iter().filter(|check| check.name == wanted.name).max_by_key(|check| check.id);
        newest.is_some_and(|check| check.conclusion.is_none())
    });
    let asked = draft.state.asked.last().is_some_and(|asked| {
        let (_, run) = draft.world.offers(asked.source());
        asked.answer.is_none() && Some(&asked.about.content) == content && !run.has_ended()
    });
    let waits = || phase::judge(phase, &draft.state, draft.world).outcome == Outcome::Pending;
    runs || asked || (phase >= Phase::Review && waits())
}
