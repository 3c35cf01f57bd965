//! The one writer of snapshots.

use std::fmt::Write as _;

use super::read::Field;
use super::{Fact, Snapshot, name};
use crate::finding::Verdict;

/// The file of a snapshot.
pub fn write(snapshot: &Snapshot) -> String {
    let mut out = format!("# {}\n\n", snapshot.name());
    for field in Field::ALL {
        let _ = writeln!(out, "- {}: {}", field.name(), value(snapshot, field));
    }
    section(&mut out, "Evidence (Scout Findings) — NON-AUTHORITATIVE", &snapshot.evidence);
    section(&mut out, "Consolidated Context (Source of Truth) — AUTHORITATIVE", &snapshot.context);
    out.push_str("\n## Issues (State)\n\n### Open Issues\n\n");
    for issue in &snapshot.open {
        let _ = writeln!(out, "- {}: {} Next action: {}", issue.id, issue.text, issue.action);
    }
    if snapshot.open.is_empty() {
        out.push_str("None.\n");
    }
    out.push_str("\n### Resolved This Iteration\n\n");
    for issue in &snapshot.resolved {
        let _ = writeln!(out, "- {}: {} Closed by: {}", issue.id, issue.text, issue.by);
    }
    if snapshot.resolved.is_empty() {
        out.push_str("None.\n");
    }
    out
}

fn value(snapshot: &Snapshot, field: Field) -> String {
    let list = |gates: &[String]| if gates.is_empty() { "none".to_owned() } else { gates.join(", ") };
    match field {
        Field::Iteration => format!("{:04}", snapshot.iteration),
        Field::Parent => snapshot.parent.map_or_else(|| "none".to_owned(), name),
        Field::SliceId => snapshot.slice_id.to_string(),
        Field::Slice => snapshot.slice.clone(),
        Field::Cap => snapshot.cap.to_string(),
        Field::IterationGate => list(&snapshot.gates.iteration),
        Field::ExitGate => list(&snapshot.gates.exit),
        Field::LastRun => snapshot.last.map_or("none", |(kind, _)| kind.as_str()).to_owned(),
        Field::LastOutcome => match snapshot.last {
            None => "none".to_owned(),
            Some((_, Verdict::Pass)) => "PASS".to_owned(),
            Some((_, Verdict::Fail)) => "FAIL".to_owned(),
        },
        Field::IterationFails => snapshot.fails.iteration.to_string(),
        Field::ExitFails => snapshot.fails.exit.to_string(),
    }
}

fn section(out: &mut String, title: &str, facts: &[Fact]) {
    let _ = write!(out, "\n## {title}\n\n");
    for fact in facts {
        let _ = writeln!(out, "- {}: {}", fact.id, fact.text);
    }
    if facts.is_empty() {
        out.push_str("None.\n");
    }
}
