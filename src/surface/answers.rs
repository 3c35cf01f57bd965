//! Answers to commands. They are made from the state, so that a crash between the record and the answer loses none.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::comment::{self, commands, cut, next_step};
use super::project::{Reply, standing};
use super::text::{Links, copied, phases, plain, plain_to, steps, strange_files};
use super::{Seen, escalation, incident, memory, task};
use crate::engine::command::COMMANDS;
use crate::flow::{FlowName, Refusal};
use crate::gate::Verdict;
use crate::ledger::State;
use crate::ledger::record::Outcome;
use crate::ledger::state::Answered;

/// One reply for each comment with a command that needs words. What is asked twice in it is answered once.
pub(super) fn replies(state: &State, seen: &Seen<'_>, links: &Links) -> Vec<Reply> {
    let words = |one: &Answered| match (&one.outcome, one.name.as_str()) {
        (Outcome::Refused(refusal), name) => Some(refused(&commands(seen).written(name), refusal)),
        (Outcome::Answered, "help") => Some(help(state, seen)),
        (Outcome::Answered, "status") => Some(status(state, seen)),
        (Outcome::Answered, "explain") => Some(explain(state, seen, links)),
        (Outcome::Answered, "audit") => Some(memory::request(state, seen)),
        (Outcome::Done, "recover") => one.says.as_ref().map(|why| taken_up(why)),
        _ => None,
    };
    let mut found: Vec<(Reply, Vec<String>)> = Vec::new();
    for one in &state.recent {
        let Some(said) = words(one) else { continue };
        // A button is no comment: each press is answered by itself.
        let index = if one.comment == 0 { one.index } else { 0 };
        let key = format!("{}:{index}", one.comment);
        match found.iter_mut().find(|(reply, _)| reply.key == key) {
            Some((_, all)) if all.contains(&said) => {}
            Some((_, all)) => all.push(said),
            None => found.push((Reply { on: one.on, key, body: String::new(), since: one.at }, vec![said])),
        }
    }
    let joined =
        |(reply, all): (Reply, Vec<String>)| Reply { body: cut(MOST_OF_A_REPLY, all.join("\n\n---\n\n")), ..reply };
    found.into_iter().map(joined).collect()
}

/// What GitHub takes of a comment, in bytes, with room for the marker.
const MOST_OF_A_REPLY: usize = 60_000;

/// A comment with several commands went well when all of them did.
pub(super) fn reactions(state: &State) -> Vec<(u64, bool)> {
    let mut fine: BTreeMap<u64, bool> = BTreeMap::new();
    for one in &state.recent {
        *fine.entry(one.comment).or_insert(true) &= !matches!(one.outcome, Outcome::Refused(_));
    }
    fine.into_iter().collect()
}

/// Where a change was taken up again, and why there.
pub(super) fn taken_up(why: &str) -> String {
    format!("Taken up again at {}.", plain_to(300, why))
}

/// Under 1 KB, so that an agent can read it; a whole command to copy comes on top.
fn refused(written: &str, refusal: &Refusal) -> String {
    let example = refusal.example.as_deref().map(|example| format!("\n\n{}", copied(example))).unwrap_or_default();
    let said = format!(
        "`{}` `{}` was not done: {}\n\n{}",
        refusal.rule,
        plain_to(60, written),
        cut(MOST_SAID, plain(&refusal.says)),
        // It may hold a command in code marks, ready to copy.
        cut(MOST_SAID, plain(&refusal.next))
    );
    format!("{said}{example}")
}

/// What half of a refusal may take, in bytes.
const MOST_SAID: usize = 450;

fn help(state: &State, seen: &Seen<'_>) -> String {
    let commands = commands(seen);
    let mut out = String::from("| command | who | what it does |\n|---|---|---|\n");
    for spec in COMMANDS.iter().filter(|spec| spec.is_known_in(state.flow, seen.world.policy())) {
        let usage = spec.usage(&commands.written(spec.name)).replace('|', "\\|");
        let _ = writeln!(out, "| `{usage}` | {} | {} |", spec.may.who(), spec.about);
    }
    if state.flow == FlowName::Pipeline {
        let stop = commands.written("stop");
        let _ = writeln!(
            out,
            "\nA reason of `{stop}` that begins with `stuck`, `scope`, `dependency` or `unsafe` says which kind of stop it is; `scope` \
             pulls the complexity brake."
        );
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
        let _ = writeln!(out, "{}\n", phases(pipeline));
    }
    if let Some(task) = task::of(state) {
        let _ = writeln!(out, "{}\n", task::phases(task));
    }
    let _ = write!(out, "Next: {}", next_step(state, seen));
    let asked = escalation::pointer(state, seen);
    if !asked.is_empty() {
        let _ = write!(out, "\n\n{asked}");
    }
    for line in incident::pointers(state) {
        let _ = write!(out, "\n\n{line}");
    }
    out
}

fn explain(state: &State, seen: &Seen<'_>, links: &Links) -> String {
    let lacks = comment::unproposed(state, seen);
    let lacks = match lacks.is_empty() {
        true => String::new(),
        false => format!("What the proposal lacks:\n\n{}\n", steps(&lacks, links)),
    };
    if !state.open {
        return format!("{lacks}{}", status(state, seen));
    }
    if seen.merge.verdict == Verdict::Pass {
        return format!(
            "{lacks}Nothing stands against merging: what the policy asks for is there, for exactly this content."
        );
    }
    let mut out = lacks;
    out.push_str("What stands between this change and its merge, what to do first at the top:\n\n");
    out.push_str(&steps(&comment::against(state, seen), links));
    let files = strange_files(state, seen.world, &commands(seen).written("refreeze"), links);
    if !files.is_empty() {
        let _ = write!(out, "\n{files}");
    }
    let _ = write!(out, "\nNext: {}", next_step(state, seen));
    out
}
