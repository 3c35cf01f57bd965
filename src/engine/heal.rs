//! Confirmed cheats and the way back: a change that passes by a weakened proof builds once more, honestly, three times at most.
//!
//! - **The wire finds one** where a gate run counts, or where nothing else keeps the gate from passing: that is a green that was
//!   not earned, whether or not somebody claims it. One content is one cheat.
//!   A commit that says itself why what is frozen has to change (`Phasegate-Refreeze:`) is none: it waits for a person.
//! - **A person reports one** that no wire can see (`/heal`): overfit, empty or stubbed. That content passes no gate any more.
//!   So does whoever built it, by a commit (`Phasegate-Heal:`): agents are often bots, and what those write in comments is no command.
//! - **Nothing lowers the count**: no PASS, no new slice, no earlier phase, no new number for the same work, no person. The
//!   fourth stops the change for a person; what they let go on stops again at the next one.

use std::collections::BTreeSet;

use super::decide::{Draft, Order};
use super::stop;
use crate::finding::Finding;
use crate::flow::{Phase, Refusal, task};
use crate::gate::frozen::{self, is_cheat};
use crate::gate::world::Raises;
use crate::ledger::heal::MOST_HEALED;
use crate::ledger::record::{Condition, Outcome};
use crate::ledger::task::Task;
use crate::ledger::{Body, By};

/// So many codes are kept of one cheat.
const MOST_CODES: usize = 50;

/// Whether a green is there and only the wire stands against it.
pub(super) fn is_unearned(findings: &[Finding]) -> bool {
    let mut blocks = findings.iter().filter(|finding| finding.blocks()).peekable();
    blocks.peek().is_some() && blocks.all(is_cheat)
}

/// Whether this content was caught before.
pub(super) fn is_caught(draft: &Draft<'_>) -> bool {
    draft.state.subject.as_ref().is_some_and(|about| draft.state.against.caught(&about.content).is_some())
}

/// Counts what a gate run has found, once for each content.
pub(super) fn catch(draft: &mut Draft<'_>, findings: &[Finding]) -> Result<bool, Refusal> {
    let codes = findings.iter().filter(|finding| finding.blocks() && is_cheat(finding));
    let codes: BTreeSet<String> = codes.map(|finding| finding.rule.clone()).take(MOST_CODES).collect();
    // Whoever says what was changed, and asks for it, hides nothing.
    if codes.is_empty() || is_caught(draft) || frozen::asked(draft.world).is_some() {
        return Ok(false);
    }
    draft.bot(Body::Cheated { codes, reason: None, said: None, raised: None })?;
    Ok(true)
}

/// The fourth one stops it for a person.
pub(super) fn exhaust(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let caught = draft.state.against.cheats.len();
    let standing = draft.state.stopped.iter().flat_map(|stop| stop.also.iter().chain([stop]));
    let stands = standing.filter(|stop| stop.condition == Some(Condition::HealExhausted)).count() > 0;
    if caught <= MOST_HEALED || stands {
        return Ok(());
    }
    let reason = format!("heal_exhausted: {caught} confirmed cheats, and {MOST_HEALED} may be healed");
    stop::call(draft, By::Bot, stop::Call { condition: Some(Condition::HealExhausted), ..stop::Call::new(reason) })
}

/// `/heal REASON`.
pub(super) fn report(draft: &mut Draft<'_>, order: &Order, by: &By) -> Result<Outcome, Refusal> {
    let refused = |says: &str, next: &str| Err(Refusal::new("CMD-03", says, next));
    if draft.state.merged.is_some() {
        return refused("it is merged.", "What is wrong with it is mended, or reverted, in a pull request of its own.");
    }
    if !is_built(draft) {
        return refused(
            "nothing is built yet that could pass without being earned.",
            "What is wrong with a paper is said in a review.",
        );
    }
    if is_caught(draft) {
        return refused(
            "this content is known as a cheat already.",
            "It passes no gate; the next push is judged anew.",
        );
    }
    let (reason, said) = (Some(order.given.args.clone()), Some(order.said()));
    draft.by(by.clone(), Body::Cheated { codes: BTreeSet::new(), reason, said, raised: None })?;
    exhaust(draft)?;
    Ok(Outcome::Done)
}

/// Whether there is anything that could pass without being earned.
fn is_built(draft: &Draft<'_>) -> bool {
    let written = |task: &Task| matches!(task.state.stage, task::Stage::Intake | task::Stage::Shape);
    if draft.state.task.as_deref().is_some_and(written) {
        return false;
    }
    draft.state.pipeline.as_ref().is_none_or(|at| match at.phase() {
        Some(phase) => phase >= Phase::Build,
        None => at.passed.contains_key(&Phase::Build),
    })
}

/// `Phasegate-Heal: REASON` in the message of a commit with this content: each reports once. All that follows is that the content
/// is held back, so nobody has to be asked who made the commit.
pub(super) fn raised(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let open = draft.state.open && draft.state.merged.is_none() && draft.world.policy().is_some();
    let Some(subject) = draft.world.subject.as_ref().filter(|_| open && is_built(draft)) else { return Ok(()) };
    for Raises { raised, reason } in &subject.heals {
        if draft.state.raised.contains(&raised.key) || is_caught(draft) {
            continue;
        }
        let (reason, raised) = (Some(reason.clone()), Some(raised.clone()));
        draft.bot(Body::Cheated { codes: BTreeSet::new(), reason, said: None, raised })?;
        exhaust(draft)?;
    }
    Ok(())
}
