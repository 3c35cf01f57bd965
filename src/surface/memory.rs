//! What people are shown of a change's memory: the slice, how it goes on after a FAIL, an audit that is owed.

use std::fmt::Write as _;

use super::Seen;
use super::comment::commands;
use super::text::plain_to;
use crate::finding::quoted;
use crate::gate::memory::EXAMPLE;
use crate::gate::{GateName, Verdict};
use crate::ledger::memory::{Audit, Memory};
use crate::ledger::snapshot::{Action, FAILS_THAT_ASK, Kind, Snapshot};
use crate::ledger::{State, snapshot_path};

/// The page of the latest snapshot.
pub(super) fn page(state: &State, seen: &Seen<'_>) -> Option<String> {
    let latest = state.snapshot()?;
    let path = snapshot_path(state.change, latest.iteration);
    Some(format!("{}/{}/blob/{}/{path}", seen.server, seen.slug, seen.world.ledger))
}

/// The slice in a line. Nothing where nobody has declared one and nothing failed: there is nothing to know yet.
pub(super) fn slice(state: &State, seen: &Seen<'_>) -> Option<String> {
    let memory = state.memory.as_ref()?;
    let Snapshot { slice_id, slice, cap, fails, .. } = &memory.latest;
    if !memory.is_declared() && !fails.any() {
        return None;
    }
    let mut out = format!("**Slice {slice_id}:** {}", plain_to(300, slice));
    if memory.is_declared() {
        let _ = write!(out, " · scope {}", quoted(&plain_to(300, &cap.to_string())));
    }
    for kind in [Kind::Iteration, Kind::Exit] {
        if fails.of(kind) > 0 {
            let of = if fails.of(kind) > FAILS_THAT_ASK { String::new() } else { format!(" of {FAILS_THAT_ASK}") };
            let _ = write!(out, " · {}{of} FAILs in a row ({kind} gate)", fails.of(kind));
        }
    }
    if let Some(page) = page(state, seen) {
        let _ = write!(out, " · [{}]({page})", memory.latest.name());
    }
    Some(out)
}

/// After a FAIL: how it is to go on, or what was said of that.
pub(super) fn ladder(state: &State, seen: &Seen<'_>) -> Option<String> {
    let memory = state.memory.as_ref().filter(|_| state.open && state.audit_owed().is_none())?;
    let (kind, verdict) = memory.latest.last?;
    if verdict == Verdict::Pass {
        return None;
    }
    let written = commands(seen).written("ladder");
    Some(match &memory.ladder {
        Some(said) => {
            let (step, why) = (said.action.step(), quoted(&plain_to(200, &said.reason)));
            format!("After the FAIL it goes on by **{step}**: {why}.")
        }
        None => {
            let by_itself = Action::after(memory.latest.fails.of(kind)).step();
            let steps = Action::steps();
            format!("How does it go on after the FAIL? `{written} {steps} WHY`. If nobody says, it is {by_itself}.")
        }
    })
}

/// What is owed, in a sentence, for *Next*.
pub(super) fn owed(state: &State, seen: &Seen<'_>) -> Option<String> {
    let (memory, audit) = held(state)?;
    let written = commands(seen).written("audit");
    let slice = memory.latest.slice_id;
    Some(match audit.facts.iter().next() {
        None => format!(
            "`SNP-10` {slice} failed three times or more in a row: a verifier, who edits nothing, looks at it and hands in a report. \
             `{written}` says what is asked; the report stands below that same command. Until then nothing goes on."
        ),
        Some(first) => {
            let all: Vec<String> = audit.facts.iter().map(ToString::to_string).collect();
            format!(
                "`SNP-10` The report is evidence now ({}). Say what plans may rest on: `{written} promote {first}`, with all that matter. \
                 Then say `{}` with one of them.",
                all.join(", "),
                commands(seen).written("ladder re-plan")
            )
        }
    })
}

fn held(state: &State) -> Option<(&Memory, &Audit)> {
    Some((state.memory.as_ref()?, state.audit_owed()?))
}

/// The request: which slice, which gates failed and by what, where the evidence is, what a report has.
pub(super) fn request(state: &State, seen: &Seen<'_>) -> String {
    let Some(memory) = &state.memory else { return "Nothing is remembered of this change yet.".to_owned() };
    let Snapshot { slice_id, slice, cap, fails, .. } = &memory.latest;
    let written = commands(seen).written("audit");
    let mut out = match held(state).and_then(|(_, audit)| Some((audit, audit.asked?))) {
        Some((audit, kind)) => format!(
            "**An audit is owed** (record {}): the {kind} gate of {slice_id} failed {} times in a row.\n\n",
            audit.since,
            audit.fails.of(kind)
        ),
        None => format!(
            "No audit is owed; one may be handed in at any time. FAILs of {slice_id} in a row: {}.\n\n",
            fails.iteration + fails.exit
        ),
    };
    let _ = writeln!(out, "- slice {slice_id}: {}", plain_to(300, slice));
    let _ = writeln!(out, "- scope cap: {}", quoted(&plain_to(300, &cap.to_string())));
    for one in state.tries.iter().filter(|one| one.verdict == Verdict::Fail).rev().take(6) {
        let gate = match one.gate {
            GateName::Phase(phase) => phase.as_str().to_uppercase(),
            GateName::Task => "TASK".to_owned(),
            GateName::Merge => "MERGE".to_owned(),
        };
        let rules: Vec<String> = one.rules.iter().map(|rule| quoted(rule)).collect();
        let _ = writeln!(
            out,
            "- {gate} failed on `{}` by {}: {} (record {})",
            one.head.short(),
            rules.join(", "),
            plain_to(300, &one.says),
            one.seq
        );
    }
    if let Some(page) = page(state, seen) {
        let _ = writeln!(out, "- what is known: [{}]({page})", memory.latest.name());
    }
    let _ = writeln!(out, "- evidence: [page]({})", seen.evidence);
    let _ = write!(
        out,
        "\nThe report has six parts and prescribes nothing: what is unmet, what the cause may be, how to find out. It is handed in as a \
         comment that begins with `{written}`:\n\n```\n{written}\n{}\n```\n\nThen it is evidence, a number an entry, and `{written} promote` with the numbers of what matters, which its verdict is not, lets plans rest on it.",
        EXAMPLE
    );
    out
}
