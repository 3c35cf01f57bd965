//! The change record: what changed, why, how it was verified, which risks are known. Made when the exit is passed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::text::{plain, plain_to};
use crate::finding::{GateName, Severity, Verdict, quoted};
use crate::flow::{FlowName, Phase};
use crate::ledger::State;
use crate::ledger::record::{By, Evidence};
use crate::ledger::state::Judged;

/// The most entries of a part.
const MOST: usize = 20;

/// The record of a change whose exit gate has passed for what is there, or that is merged.
pub fn change_record(state: &State) -> Option<String> {
    let about = state.subject.as_ref()?;
    let exit = match state.flow {
        FlowName::Pipeline => state.pipeline.as_ref().is_some_and(|pipeline| pipeline.holds(Phase::Verify)),
        FlowName::Merge | FlowName::Task => {
            let merge = state.gates.get(&GateName::Merge);
            merge.is_some_and(|judged| judged.verdict == Verdict::Pass && judged.about.content == about.content)
        }
    };
    if !exit && state.merged.is_none() {
        return None;
    }
    let mut out = format!("# Change record of {}\n\n## What changed\n\n", state.change);
    let (base, head) = (about.base.short(), about.head.short());
    let _ =
        writeln!(out, "- `{base}` to `{head}`, into `{}`; content `{}`", plain(&about.base_ref), about.content.short());
    if let Some(merged) = &state.merged {
        let _ = writeln!(out, "- merged as `{}`", merged.commit.short());
    }
    out.push_str("\n## Why\n\n");
    match state.snapshot() {
        Some(latest) => {
            match state.memory.as_ref().is_some_and(|memory| memory.is_declared() || memory.is_said()) {
                true => {
                    let _ = writeln!(out, "- {}: {}", latest.slice_id, plain_to(400, &latest.slice));
                }
                false => out.push_str("- Nobody has declared a slice; the pull request says it in its own words.\n"),
            }
            for fact in latest.context.iter().take(MOST) {
                let _ = writeln!(out, "- {}: {}", fact.id, plain_to(400, &fact.text));
            }
        }
        None => out.push_str("- Nothing is remembered of it.\n"),
    }
    out.push_str("\n## How verified\n\n");
    let shown = verified(state);
    for line in shown.iter().take(MOST) {
        let _ = writeln!(out, "- {line}");
    }
    if shown.is_empty() {
        out.push_str("- By nothing that is on record.\n");
    }
    out.push_str("\n## Known risks\n\n");
    let risks = risks(state);
    for line in risks.iter().take(MOST) {
        let _ = writeln!(out, "- {line}");
    }
    if risks.is_empty() {
        out.push_str("- None that is on record.\n");
    }
    Some(out)
}

/// What shows that it works, and who has looked at it.
fn verified(state: &State) -> Vec<String> {
    let gates: &[GateName] = match state.flow {
        FlowName::Pipeline => &[
            GateName::Phase(Phase::Build),
            GateName::Phase(Phase::Review),
            GateName::Phase(Phase::Verify),
            GateName::Merge,
        ],
        FlowName::Merge => &[GateName::Merge],
        FlowName::Task => &[GateName::Task, GateName::Merge],
    };
    let judged = gates.iter().filter_map(|gate| state.gates.get(gate));
    let evidence = judged.flat_map(|judged| &judged.evidence);
    let mut seen = BTreeSet::new();
    let mut lines = Vec::new();
    for one in evidence {
        let line = match one {
            Evidence::Check { name, conclusion, head, discounted: None, .. } => {
                format!("check {} on `{}`: {}", quoted(&plain(name)), head.short(), plain(conclusion))
            }
            Evidence::Review { by, state, commit, self_approved, discounted: None, .. } => {
                let own = if *self_approved { ", self-approved" } else { "" };
                format!("review of `{}` by {}: {}{own}", commit.short(), quoted(&plain(&by.login)), plain(state))
            }
            Evidence::Run { verdict, tests, head, log, discounted: None, .. } => {
                let verdict = if *verdict == Verdict::Pass { "PASS" } else { "FAIL" };
                format!("the policy's commands on `{}`: {verdict}, {tests} tests, log `{}`", head.short(), log.short())
            }
            Evidence::Word { by, says, head, .. } => {
                format!("{} on `{}`: {}", quoted(&plain(&by.login)), head.short(), quoted(&plain_to(200, says)))
            }
            Evidence::Security { subject, by } => format!("security, {}: {}", plain(subject), plain_to(200, by)),
            Evidence::Deployment { environment, state, commit, discounted: None, .. } => {
                format!("deployment of `{}` to {}: {}", commit.short(), quoted(&plain(environment)), plain(state))
            }
            _ => continue,
        };
        if seen.insert(line.clone()) {
            lines.push(line);
        }
    }
    lines
}

/// What is open, warned of, agreed to or gone around.
fn risks(state: &State) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if let Some(merged) = state.merged.as_ref().filter(|merged| !merged.bypassed.is_empty()) {
        let rules: Vec<&str> = merged.bypassed.iter().map(String::as_str).collect();
        lines.push(format!("it was merged around {}", quoted(&rules.join(", "))));
    }
    let open = state.snapshot().iter().flat_map(|latest| latest.open.clone()).collect::<Vec<_>>();
    lines.extend(
        open.iter().map(|issue| format!("{}: {} (next: {})", issue.id, plain_to(300, &issue.text), issue.action)),
    );
    let content = state.subject.as_ref().map(|about| &about.content);
    for agreed in state.agreed.iter().filter(|agreed| Some(&agreed.content) == content) {
        let who = match &agreed.by {
            By::Person { person, .. } => quoted(&plain(&person.login)),
            By::Bot | By::Workflow(_) | By::Runner(_) => "the bot".to_owned(),
        };
        lines.push(format!("{who} agreed to {}: {}", quoted(&agreed.rule), quoted(&plain_to(200, &agreed.reason))));
    }
    let warnings = |judged: &Judged| {
        let warned = judged.findings.iter().filter(|finding| finding.severity == Severity::Warning);
        warned.map(|finding| format!("{} {}", quoted(&finding.rule), plain_to(300, &finding.says))).collect::<Vec<_>>()
    };
    for line in state.gates.values().filter(|judged| Some(&judged.about.content) == content).flat_map(warnings) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}
