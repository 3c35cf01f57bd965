//! Whether a command is heard at all, and that it leaves a record, whatever comes of it.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::decide::{Draft, Order, Shown};
use super::{command, verbs};
use crate::flow::Refusal;
use crate::gate::people::May;
use crate::ids::Digest;
use crate::ledger::record::Outcome;
use crate::ledger::{Body, By, OVER_THE_HOUR};

/// How many commands one person may give on one change within an hour.
pub const COMMANDS_AN_HOUR: usize = 30;

/// Hears one command. A comment whose command is passed over because its author was told already that they are over
/// the limit goes to `unheard`: that takes no record, or a flood of comments would be a flood of records.
pub(super) fn hear(
    draft: &mut Draft<'_>,
    order: &Order,
    shown: Option<&Shown>,
    unheard: &mut BTreeSet<u64>,
) -> Result<(), Refusal> {
    let Order { comment, given, standing, .. } = order;
    if draft.state.commands.contains(&(comment.id, given.index)) {
        return Ok(());
    }
    // Strangers get no answer at all, and neither does a bot: another App's words are not ours to judge.
    if comment.author.bot || !May::Ask.allows(*standing) {
        return Ok(());
    }
    // A near miss may be another bot's command; only someone who could have meant it is told.
    if given.spec.is_none() && !May::Move.allows(*standing) {
        return Ok(());
    }
    let by = By::Person { person: comment.author.clone(), role: standing.role.as_str().to_owned() };
    let (kept_state, kept_entries) = (draft.state.clone(), draft.entries.len());
    let heard = match over_the_hour(draft, order) {
        Some(Told::Already) => {
            unheard.insert(comment.id);
            return Ok(());
        }
        Some(Told::Now(refusal)) => Err(refusal),
        None => too_many(order).and_then(|()| verbs::run(draft, order, &by, shown)),
    };
    let outcome = match heard {
        Ok(outcome) => outcome,
        Err(refusal) => {
            // Nothing of a refused command stays.
            draft.state = kept_state;
            draft.entries.truncate(kept_entries);
            Outcome::Refused(refusal)
        }
    };
    draft.by(
        by,
        Body::Command {
            on: comment.number,
            comment: comment.id,
            index: given.index,
            text: Digest::of(&comment.body),
            name: given.name.clone(),
            args: given.args.clone(),
            outcome,
            written: Some(comment.created_at),
        },
    )
}

enum Told {
    Now(Refusal),
    Already,
}

/// `CMD-09`: more than a person may say in an hour. It is counted by when the comments were written, so that neither a
/// late delivery nor what others say makes a difference.
fn over_the_hour(draft: &Draft<'_>, order: &Order) -> Option<Told> {
    let written = order.comment.created_at;
    let hour_ago = written - SignedDuration::from_hours(1);
    let said = draft.state.said.get(&order.comment.author.id)?;
    let within: Vec<&Timestamp> = said.at.iter().filter(|at| **at > hour_ago && **at <= written).collect();
    if within.len() < COMMANDS_AN_HOUR {
        return None;
    }
    if said.told.is_some_and(|told| told > hour_ago && told <= written) {
        return Some(Told::Already);
    }
    // The first of the last thirty is the one whose hour ends first; a whole minute more, because that is what is shown.
    let first = within.len() - COMMANDS_AN_HOUR;
    let free = within.get(first).map_or(written, |at| **at) + SignedDuration::from_mins(61);
    Some(Told::Now(Refusal::new(
        OVER_THE_HOUR,
        format!("you have given {COMMANDS_AN_HOUR} commands on this change within an hour, and more are not taken."),
        format!(
            "Say it again after {} UTC. Until then what you say here gets 😕 and no answer; others are not held up.",
            free.strftime("%H:%M")
        ),
    )))
}

/// `CMD-10`: more than one comment may hold.
fn too_many(order: &Order) -> Result<(), Refusal> {
    let most = command::COMMANDS_A_COMMENT;
    match order.given.too_many {
        0 => Ok(()),
        more => Err(Refusal::new(
            "CMD-10",
            format!(
                "a comment has at most {most} commands. The first {most} were carried out, the other {more} were not."
            ),
            "Give the rest in another comment.",
        )),
    }
}
