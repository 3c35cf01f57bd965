//! The one comment: where it stands, the phases, what was found, the next step.

use std::fmt::Write as _;

use super::Seen;
use super::project::{headline, standing};
use super::text::{Links, items, marks, plain, plain_to};
use crate::engine::possible;
use crate::flow::pipeline::{self, waits_for_human};
use crate::flow::{Phase, Stage, TRANSITIONS};
use crate::gate::phase::Outcome as GateOutcome;
use crate::gate::{Finding, GateName, Verdict};
use crate::ledger::State;
use crate::ledger::record::{By, Outcome};
use crate::policy::{Commands, Enforce};

/// At most this many findings of a gate are listed; the check run has them all.
const MOST_FINDINGS: usize = 12;

pub(super) fn render(state: &State, seen: &Seen<'_>, links: &Links) -> String {
    let mut out = format!("### Phasegate: {}\n\n", standing(state, seen));
    if let Some(pipeline) = &state.pipeline {
        let _ = writeln!(out, "{}\n", marks(pipeline));
    }
    if seen.world.policy().is_some_and(|policy| policy.enforce == Enforce::Observe) {
        out.push_str("_Observing only: nothing is blocked._\n\n");
    }
    let _ = writeln!(out, "**Next:** {}\n", next_step(state, seen));

    if let Some((phase, judged)) =
        seen.phase.filter(|(phase, _)| state.open || (state.merged.is_some() && *phase == Phase::Deploy))
    {
        findings(&mut out, &format!("{} gate", phase.as_str().to_uppercase()), &judged.findings, links);
    }
    if state.open {
        // What the phase's gate already says is not said twice.
        let said: Vec<&str> =
            seen.phase.iter().flat_map(|(_, judged)| &judged.findings).map(|finding| finding.says.as_str()).collect();
        let rest: Vec<Finding> =
            seen.merge.findings.iter().filter(|finding| !said.contains(&finding.says.as_str())).cloned().collect();
        findings(&mut out, "Merge gate", &rest, links);
    }
    for taken in &state.inherited {
        let what = taken.says();
        if !what.is_empty() {
            let _ = writeln!(out, "Carries on from {}: {}.\n", taken.from, plain_to(400, &what.join("; ")));
        }
    }
    if let Some(merged) = &state.merged {
        let _ = writeln!(out, "Merged as `{}`.\n", merged.commit.short());
        if !merged.bypassed.is_empty() {
            let rules: Vec<String> = merged.bypassed.iter().map(|rule| format!("`{rule}`")).collect();
            let _ = writeln!(out, "❌ `bypassed_gate` It was merged while {} stood against it.\n", rules.join(", "));
        }
    }
    if let Some(last) = state.recent.last() {
        let who = match &last.by {
            By::Person { person, .. } => format!("`{}`", plain(&person.login)),
            By::Bot => "the bot".to_owned(),
        };
        let came = match &last.outcome {
            Outcome::Done => "done".to_owned(),
            Outcome::Answered => "answered".to_owned(),
            Outcome::Refused(refusal) => format!("refused by `{}`", refusal.rule),
        };
        let written = commands(seen).written(&last.name);
        let _ = writeln!(out, "Last command: `{}` by {who}: {came}.\n", plain(&written));
    }
    for what in &state.tampered {
        let _ = writeln!(out, "⚠️ {}\n", plain_to(400, what));
    }
    details(&mut out, state);
    if let Some(about) = &state.subject {
        let _ = write!(out, "Head `{}` · ", about.head.short());
    }
    let commands = commands(seen);
    let _ = write!(out, "flow {} · record {} · `{}`", state.flow, state.seq, commands.written("help"));
    out
}

pub(super) fn commands(seen: &Seen<'_>) -> Commands {
    seen.world.policy().map(|policy| policy.commands.clone()).unwrap_or_default()
}

fn findings(out: &mut String, title: &str, findings: &[Finding], links: &Links) {
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(out, "**{title}**\n\n{}", items(findings, MOST_FINDINGS, links));
}

fn details(out: &mut String, state: &State) {
    let Some(pipeline) = &state.pipeline else { return };
    out.push_str("<details><summary>Where this is in the pipeline</summary>\n\n");
    for (gate, judged) in &state.gates {
        let verdict = if judged.verdict == Verdict::Pass { "PASS" } else { "FAIL" };
        let reds = match gate {
            GateName::Phase(phase) if judged.verdict == Verdict::Pass => state.reds_at_pass.get(phase).copied(),
            _ => None,
        };
        let after = match reds.unwrap_or(0) {
            0 => String::new(),
            1 => ", after 1 red push".to_owned(),
            reds => format!(", after {reds} red pushes"),
        };
        let _ = writeln!(out, "- {gate}: {verdict} on `{}`{after}", judged.about.head.short());
    }
    out.push_str("\n```mermaid\nstateDiagram-v2\n    direction LR\n");
    // The neighbourhood of where it stands: the whole table would be a thicket.
    let here = pipeline.stage;
    for (action, from, to) in TRANSITIONS.iter().filter(|(_, from, to)| *from == here || *to == here) {
        let _ = writeln!(out, "    {from} --> {to}: {action}");
    }
    let _ = writeln!(out, "    classDef here fill:#fef2c0,stroke:#b08800\n    class {here} here\n```\n");
    out.push_str("</details>\n\n");
}

/// The one thing to do now.
pub(super) fn next_step(state: &State, seen: &Seen<'_>) -> String {
    let commands = commands(seen);
    if !state.open && state.merged.is_none() {
        return "Nothing: it is closed. Reopening takes it up where its gates stand.".to_owned();
    }
    if state.merged.as_ref().is_some_and(|merged| !merged.bypassed.is_empty()) {
        return "It was merged around the gate: a maintainer looks at what was skipped and decides whether it stays."
            .to_owned();
    }
    if let Some(stop) = &state.stopped {
        return format!(
            "It is stopped (“{}”). Someone who may approve says `{} REASON`.",
            plain_to(200, &stop.reason),
            commands.written("unblock")
        );
    }
    match &state.pipeline {
        Some(pipeline) => in_pipeline(state, seen, pipeline, &commands),
        None if state.merged.is_some() => "Nothing: it is merged.".to_owned(),
        None => first_step(&seen.merge.findings).unwrap_or_else(|| "It may be merged.".to_owned()),
    }
}

fn first_step(findings: &[Finding]) -> Option<String> {
    let blocking = || findings.iter().filter(|finding| finding.blocks());
    blocking()
        .find(|finding| !finding.waiting)
        .or_else(|| blocking().next())
        .map(|finding| plain_to(400, &finding.next))
}

fn in_pipeline(state: &State, seen: &Seen<'_>, pipeline: &pipeline::State, commands: &Commands) -> String {
    let say = |name: &str| format!("`{}`", commands.written(name));
    match pipeline.stage {
        Stage::PreferencesConfigured => format!("Say {} to begin.", say("expand")),
        Stage::SteppedModePaused => format!("Look at what the phase left behind, then say {}.", say("continue")),
        Stage::SessionDropped => format!("Say {} to take it up again.", say("recover")),
        Stage::BlockedOnGate => blocked(state, pipeline, commands),
        stage if waits_for_human(stage) => format!("A person decides: {}.", possible(stage, commands)),
        Stage::VerifyGatePassed | Stage::PipelineComplete if state.open => {
            first_step(&seen.merge.findings).unwrap_or_else(|| "It may be merged.".to_owned())
        }
        Stage::PipelineComplete => format!("Nothing: it is through. {} begins another round.", say("iterate")),
        stage if state.merged.is_some() && pipeline::phase_of(stage).is_some_and(|at| at < Phase::Deploy) => {
            "Nothing: it was merged before it was through, and its gates are not judged any more.".to_owned()
        }
        stage => match seen.phase {
            Some((phase, judged)) if judged.outcome == GateOutcome::Pass => {
                format!("Say {} to claim it.", say(phase.as_str()))
            }
            Some((_, judged)) => first_step(&judged.findings)
                .unwrap_or_else(|| plain_to(400, &format!("{}.", headline(&judged.findings)))),
            None => format!("Possible: {}.", possible(stage, commands)),
        },
    }
}

/// The report in the form that people know: what is wrong, the options, a recommendation.
fn blocked(state: &State, pipeline: &pipeline::State, commands: &Commands) -> String {
    let phase = pipeline.return_to.and_then(pipeline::phase_of).unwrap_or(Phase::Expand);
    let wrong = state
        .gates
        .get(&GateName::Phase(phase))
        .map_or_else(|| "A person stopped it.".to_owned(), |judged| headline(&judged.findings));
    let unblock = commands.written("unblock");
    format!(
        "BLOCKED: {phase} failed {} times. {} Options: (A) mend it and say `{unblock} REASON`; (B) change the scope \
         and say `{unblock} REASON`; (C) close the pull request. Recommendation: read the findings; if they name one \
         cause, A.",
        pipeline.fails(phase).max(pipeline::FAILS_THAT_BLOCK),
        plain_to(300, &wrong),
    )
}
