//! Answers to commands. They are made from the state, so that a crash between the record and the answer loses none.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Seen;
use super::comment::{commands, cut, next_step};
use super::project::{Reply, standing};
use super::text::{Links, items, marks, plain, plain_to};
use crate::engine::command::COMMANDS;
use crate::flow::Refusal;
use crate::gate::Verdict;
use crate::ledger::State;
use crate::ledger::record::Outcome;

/// One reply for each command that needs words.
pub(super) fn replies(state: &State, seen: &Seen<'_>, links: &Links) -> Vec<Reply> {
    let words = |outcome: &Outcome, name: &str| match (outcome, name) {
        (Outcome::Refused(refusal), name) => Some(refused(&commands(seen).written(name), refusal)),
        (Outcome::Answered, "help") => Some(help(state, seen)),
        (Outcome::Answered, "status") => Some(status(state, seen)),
        (Outcome::Answered, "explain") => Some(explain(state, seen, links)),
        _ => None,
    };
    state
        .recent
        .iter()
        .filter_map(|one| {
            let body = words(&one.outcome, &one.name)?;
            Some(Reply { on: one.on, key: format!("{}:{}", one.comment, one.index), body, since: one.at })
        })
        .collect()
}

/// A comment with several commands went well when all of them did.
pub(super) fn reactions(state: &State) -> Vec<(u64, bool)> {
    let mut fine: BTreeMap<u64, bool> = BTreeMap::new();
    for one in &state.recent {
        *fine.entry(one.comment).or_insert(true) &= !matches!(one.outcome, Outcome::Refused(_));
    }
    fine.into_iter().collect()
}

/// Under 1 KB, so that an agent can read it.
fn refused(written: &str, refusal: &Refusal) -> String {
    format!(
        "`{}` `{}` was not done: {}\n\n{}",
        refusal.rule,
        plain_to(60, written),
        cut(MOST_SAID, plain(&refusal.says)),
        // It may hold a command in code marks, ready to copy.
        cut(MOST_SAID, plain(&refusal.next))
    )
}

/// What half of a refusal may take, in bytes.
const MOST_SAID: usize = 450;

fn help(state: &State, seen: &Seen<'_>) -> String {
    let commands = commands(seen);
    let mut out = String::from("| command | who | what it does |\n|---|---|---|\n");
    for spec in COMMANDS.iter().filter(|spec| spec.flow.is_none_or(|flow| flow == state.flow)) {
        let usage = spec.usage(&commands.written(spec.name)).replace('|', "\\|");
        let _ = writeln!(out, "| `{usage}` | {} | {} |", spec.may.who(), spec.about);
    }
    out.push_str(
        "\nA command stands at the beginning of a line. It counts for the head that was shown when it was written; \
         put 12 digits or more of the head behind its name to be exact.",
    );
    if seen.world.policy().is_none_or(|policy| !policy.people.solo) {
        out.push_str(" What maintainers decide is not for the author of the change, nor for anyone who pushed to it.");
    }
    out
}

fn status(state: &State, seen: &Seen<'_>) -> String {
    let mut out = format!("**{}**\n\n", standing(state, seen));
    if let Some(pipeline) = &state.pipeline {
        let _ = writeln!(out, "{}\n", marks(pipeline));
    }
    let _ = write!(out, "Next: {}", next_step(state, seen));
    out
}

fn explain(state: &State, seen: &Seen<'_>, links: &Links) -> String {
    if !state.open {
        return status(state, seen);
    }
    if seen.merge.verdict == Verdict::Pass {
        return "Nothing stands against merging: what the policy asks for is there, for exactly this content."
            .to_owned();
    }
    let mut out = String::from("What stands between this change and its merge:\n\n");
    out.push_str(&items(&seen.merge.findings, usize::MAX, links));
    if let Some((phase, judged)) = seen.phase.filter(|(_, judged)| !judged.findings.is_empty()) {
        let _ = writeln!(out, "\nAnd at {phase}, the phase it is in:\n");
        out.push_str(&items(&judged.findings, usize::MAX, links));
    }
    let _ = write!(out, "\nNext: {}", next_step(state, seen));
    out
}
