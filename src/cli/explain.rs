//! `phasegate explain`: why a change is not merging, by its records, first things first.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::status::{self, Report};
use super::{Exit, out};
use crate::finding::{Finding, Severity};
use crate::flow::Stage;
use crate::gate::first;
use crate::ledger::State;

#[derive(Debug, Serialize)]
struct Explained {
    schema: &'static str,
    change: u64,
    /// `enforcing` or `advisory`.
    mode: &'static str,
    /// Whether the signatures were held against a key.
    proven: bool,
    stage: String,
    open: bool,
    merged: Option<String>,
    head: Option<String>,
    /// Why a person must decide.
    waits_for: Option<String>,
    /// Not where the pipeline waits for somebody to say `/expand`, before anything else.
    begun: bool,
    /// What stands against merging, what to do first at its beginning.
    findings: Vec<Finding>,
}

pub(super) async fn run(args: &status::Args) -> anyhow::Result<Exit> {
    let (state, report) = status::read(args).await?;
    let explained = explained(&state, &report);
    if args.json {
        out::json(&explained)?;
    } else {
        out::text(&told(&explained, &report))?;
    }
    Ok(status::exit(&report))
}

/// Of the merge gate, and of the gate of the phase that it is in.
fn explained(state: &State, report: &Report) -> Explained {
    let Report { change, mode, proven, stage, open, merged, head, waits_for, .. } = report;
    Explained {
        schema: "phasegate/explain@1",
        change: *change,
        mode,
        proven: *proven,
        stage: stage.clone(),
        open: *open,
        merged: merged.clone(),
        head: head.clone(),
        waits_for: waits_for.clone(),
        begun: state.pipeline.as_ref().is_none_or(|pipeline| pipeline.stage != Stage::PreferencesConfigured),
        findings: first::against(state),
    }
}

fn told(explained: &Explained, report: &Report) -> String {
    let mut text = status::heading(report);
    if !explained.open {
        return text;
    }
    if let Some(why) = &explained.waits_for {
        let _ = writeln!(text, "waits for a person: {}", out::plain(why));
    }
    if !explained.findings.iter().any(Finding::blocks) {
        text.push_str("Nothing stands against merging, by its records.\n");
    } else {
        text.push_str("Why it is not merging, first things first:\n");
    }
    if !explained.begun {
        text.push_str("  → It has not begun: somebody with write access says `/expand` on the pull request.\n");
    }
    for (at, finding) in explained.findings.iter().enumerate() {
        let rule = match finding.severity {
            Severity::Error if finding.waiting => finding.rule.yellow().to_string(),
            Severity::Error => finding.rule.red().to_string(),
            Severity::Warning => format!("{} (warning)", finding.rule).yellow().to_string(),
        };
        let place = finding.place().map(|place| format!("{place}: ")).unwrap_or_default();
        let says = out::plain(&format!("{place}{}", finding.says));
        let _ = writeln!(text, "{:>3}. {rule} {says}\n     → {}", at + 1, out::plain(&finding.next));
    }
    text
}
