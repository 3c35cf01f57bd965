//! The diary in words: what was tried before at a gate, and what belongs into `scaffolding/log.md`.

use std::fmt::Write as _;

use super::Seen;
use super::text::{one_line, plain, plain_to};
use crate::finding::{Verdict, quoted};
use crate::flow::{Phase, Stage};
use crate::gate::papers::LOG;
use crate::gate::phase::Outcome;
use crate::ledger::State;
use crate::ledger::diary::{Line, PostMortem};
use crate::policy::LogWrite;

/// What was learned when this gate blocked before, while it fails again.
pub(super) fn tried_before(state: &State, seen: &Seen<'_>) -> Option<String> {
    let (phase, judged) = seen.phase?;
    let pipeline = state.pipeline.as_ref().filter(|pipeline| pipeline.stage != Stage::BlockedOnGate)?;
    let fails = judged.outcome == Outcome::Fail || pipeline.fails(*phase) > 0;
    let learned = state.diary.learned.get(phase).filter(|_| fails && state.open)?;
    let [wrong, differently, avoid] = parts(learned);
    Some(format!(
        "**Tried before:** {} was blocked (record {}). {} {} {}\n",
        phase.as_str().to_uppercase(),
        learned.record,
        plain_to(300, &wrong),
        plain_to(400, &differently),
        plain_to(300, &avoid)
    ))
}

/// The three parts: what went wrong, what to try, what to avoid.
fn parts(learned: &PostMortem) -> [String; 3] {
    let rules: Vec<String> = learned.rules.iter().map(|rule| quoted(rule)).collect();
    let wrong = match rules.as_slice() {
        [] => format!("Each try failed by something else, the last one so: {}", learned.says),
        rules => format!("{} stood against every try: {}", rules.join(", "), learned.says),
    };
    let heads: Vec<String> = learned.heads.iter().map(|head| quoted(head.short())).collect();
    let differently = match learned.steps.as_slice() {
        [] => "Whoever let it go on said what to try.".to_owned(),
        steps => steps.join(" "),
    };
    [wrong, differently, format!("What was tried on {} failed.", heads.join(", "))]
}

/// What belongs into the log and is not there: a line for each run that counted, and what was learned of a block.
pub(super) fn to_append(state: &State, seen: &Seen<'_>) -> Option<String> {
    let wanted = seen.world.policy().is_some_and(|policy| policy.log.write == LogWrite::Propose);
    let subject = seen.world.subject.as_ref().filter(|_| wanted && state.open && state.pipeline.is_some())?;
    let mut all: Vec<(u64, String)> = state.diary.lines.iter().map(|one| (one.record, line(one))).collect();
    all.extend(state.diary.learned.iter().map(|(phase, learned)| (learned.record, post_mortem(*phase, learned))));
    all.retain(|(record, _)| !subject.logged.contains(record));
    all.sort();
    let newest = all.len().saturating_sub(MOST);
    let text: String = all.into_iter().skip(newest).map(|(_, text)| text).collect();
    (!text.is_empty()).then(|| {
        format!(
            "<details><summary>What belongs into <code>{LOG}</code></summary>\n\nAppend it with the next push:\n\n```markdown\n{text}```\n\n\
             </details>\n"
        )
    })
}

/// So many entries are shown at once.
const MOST: usize = 12;

/// A text that neither ends the block that it stands in nor begins another line.
fn safe(text: &str) -> String {
    one_line(&text.replace('`', "'"))
}

fn line(one: &Line) -> String {
    let verdict = if one.verdict == Verdict::Pass { "PASS" } else { "FAIL" };
    let mut out =
        format!("- record {}: {} {verdict} on {}", one.record, one.phase.as_str().to_uppercase(), one.head.short());
    if !one.rules.is_empty() {
        let rules: Vec<String> = one.rules.iter().map(|rule| safe(rule)).collect();
        let _ = write!(out, " ({}): {}", rules.join(", "), safe(&one.says));
    }
    out.push('\n');
    out
}

fn post_mortem(phase: Phase, learned: &PostMortem) -> String {
    let [wrong, differently, avoid] = parts(learned).map(|part| safe(&plain(&part)));
    format!(
        "- record {}: post-mortem of {}\n  - What went wrong: {wrong}\n  - What to try differently: {differently}\n  - What to avoid: {avoid}\n",
        learned.record,
        phase.as_str().to_uppercase()
    )
}
