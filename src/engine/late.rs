//! Commands that are heard after newer ones. Webhooks come in any order, wait for their next try, or are given a new life
//! when they were dead for days; what somebody said first must not undo what was said after it.

use std::collections::BTreeSet;

use super::command::{Spec, Verb};
use super::decide::{Draft, Order, Shown};
use super::verbs::on_escalation;
use crate::finding::quoted;
use crate::flow::Refusal;
use crate::ids::{CommitId, Digest};
use crate::ledger::objection::Rejection;
use crate::ledger::record::{Moment, Outcome};
use crate::ledger::state::{State, same_person};
use crate::ledger::{Body, By};
use crate::policy::Commands;

/// `CMD-11`: something newer stands. `/stop` is never overtaken: it only tightens, and whoever let the change go on may
/// not have seen it.
pub(super) fn overtaken(spec: &Spec, draft: &Draft<'_>, order: &Order, commands: &Commands) -> Result<(), Refusal> {
    let said = order.said();
    let by = By::Person { person: order.comment.author.clone(), role: String::new() };
    let newer = match spec.verb {
        Verb::Approve => rejected_since(&draft.state, &by, said, commands),
        Verb::Reject => approved_since(&draft.state, &by, said, commands),
        Verb::Unblock | Verb::BrakeResolved | Verb::Resolve | Verb::Continue => {
            stopped_since(&draft.state, said, commands).or_else(|| answered_since(&draft.state, said, commands))
        }
        _ => None,
    };
    match newer {
        None => Ok(()),
        Some(newer) => Err(Refusal::new(
            "CMD-11",
            format!("it was said before {newer}, and is heard only now."),
            "Look at where it stands, and if you still mean it, say it again.",
        )),
    }
}

pub(super) fn reject(draft: &mut Draft<'_>, order: &Order, by: &By, instead: BTreeSet<Digest>) -> Result<(), Refusal> {
    let (comment, reason, said) = (order.comment.id, order.given.args.clone(), Some(order.said()));
    draft.by(by.clone(), Body::Rejected { comment, reason, said, instead })
}

/// A rejection that a push has overtaken is refused for what is there now, and stands for what its author saw: that can be
/// pushed back.
pub(super) fn outrun(
    draft: &mut Draft<'_>,
    order: &Order,
    by: &By,
    shown: Option<&Shown>,
    mut refusal: Refusal,
) -> Result<Outcome, Refusal> {
    let seen = seen(draft, order, shown);
    if seen.is_empty() {
        return Err(refusal);
    }
    reject(draft, order, by, seen)?;
    refusal.says.push_str(" It stands for what was there before.");
    Ok(Outcome::Refused(refusal))
}

/// The contents that its author may have had before their eyes.
fn seen(draft: &Draft<'_>, order: &Order, shown: Option<&Shown>) -> BTreeSet<Digest> {
    let (state, given) = (&draft.state, &order.given);
    let elsewhere = order.comment.number != state.change.0 && !on_escalation(draft, order);
    let content = |head: &CommitId| state.heads.get(head).cloned();
    match (&given.head, shown) {
        (Some(named), _) => {
            let is_it = |head: &&CommitId| head.as_str().starts_with(named.as_str());
            state.heads.keys().filter(is_it).filter_map(content).collect()
        }
        (None, _) if given.short_head.is_some() || elsewhere => BTreeSet::new(),
        (None, Some(shown)) if shown.since <= order.comment.created_at => {
            shown.content.clone().or_else(|| content(&shown.head)).into_iter().collect()
        }
        // What was shown then is not known any more. What is there now counts only if it was there before.
        _ => {
            let now = state.subject.as_ref().map(|about| &about.content).filter(|_| !state.returned);
            state.heads.values().filter(|content| Some(*content) != now).cloned().collect()
        }
    }
}

fn rejected_since(state: &State, by: &By, said: Moment, commands: &Commands) -> Option<String> {
    let theirs = state.rejections.iter().filter(|one| same_person(&one.by, by) && one.is_after(Some(said)));
    let newest: &Rejection = theirs.max_by_key(|one| one.said)?;
    let what =
        if newest.standing { "your review".to_owned() } else { format!("your `{}`", commands.written("reject")) };
    Some(format!("{what} ({}), which stands", quoted(&newest.reason)))
}

fn approved_since(state: &State, by: &By, said: Moment, commands: &Commands) -> Option<String> {
    let mut theirs = state.approvals.iter().filter(|one| same_person(&one.by, by));
    theirs.any(|one| one.said > Some(said)).then(|| format!("your `{}`, which stands", commands.written("approve")))
}

fn stopped_since(state: &State, said: Moment, commands: &Commands) -> Option<String> {
    let stops = state.stopped.iter().flat_map(|stop| [stop].into_iter().chain(&stop.also));
    let stop = stops.max_by_key(|stop| stop.said).filter(|stop| stop.said > Some(said))?;
    Some(format!("{}'s `{}` ({}), which stands", login(&stop.by), commands.written("stop"), quoted(&stop.reason)))
}

/// What stands after a newer answer was carried out was put after that.
fn answered_since(state: &State, said: Moment, commands: &Commands) -> Option<String> {
    let answer = state.answered.as_ref().filter(|answer| answer.said > said)?;
    Some(format!("{}'s `{}`, which was carried out", login(&answer.by), commands.written(&answer.name)))
}

fn login(by: &By) -> &str {
    match by {
        By::Person { person, .. } => &person.login,
        By::Bot | By::Workflow(_) | By::Runner(_) => "the bot",
    }
}
