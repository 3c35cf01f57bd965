//! The summary of a run on the page of its job.

use std::fmt::Write as _;

use crate::finding::{Severity, Verdict, quoted};
use crate::runner::artefact::{Artefact, PolicyFrom, ShownCommand, shown_time};
use crate::surface::plain;

/// For somebody who wants to know what broke, and what to do about it, without opening the log.
pub(super) fn markdown(artefact: &Artefact) -> String {
    let shown = artefact.shown();
    let (mark, word) = match artefact.verdict {
        Verdict::Pass => ("✅", "passed"),
        Verdict::Fail => ("❌", "failed"),
    };
    let mut page = format!("### {mark} {} {word}\n\n", artefact.gate.as_str().to_uppercase());
    let mut facts: Vec<String> = Vec::new();
    facts.extend(shown.tests.clone());
    facts.extend(artefact.subject.head.as_ref().map(|head| format!("head `{}`", head.short())));
    facts.push(match (artefact.policy.from, &artefact.policy.commit) {
        (PolicyFrom::Base, Some(commit)) => format!("policy of `{}`", commit.short()),
        _ => "**policy of this checkout or of a file, not of the default branch**".to_owned(),
    });
    facts.push(shown_time(artefact.duration_ms));
    let _ = writeln!(page, "{}\n", facts.join(" · "));

    page.push_str("| | command | |\n|---|---|---|\n");
    for command in &shown.commands {
        let mark = match (command.passed, command.left_out) {
            (true, _) => "✓",
            (false, true) => "·",
            (false, false) => "✗",
        };
        let _ = writeln!(page, "| {mark} | {} | {} |", cell(&quoted(&command.text)), cell(&command.ended));
    }
    page.push('\n');
    if let Some(proofs) = artefact.proofs.as_ref().filter(|proofs| !proofs.ran.is_empty()) {
        page.push_str("| | what shows the criteria | of | |\n|---|---|---|---|\n");
        for (proof, proved) in proofs.each() {
            let mark = if proof.is_shown_by(&proved.run) { "✓" } else { "✗" };
            let of = if proof.criteria.is_empty() { "a truth".to_owned() } else { proof.criteria.join(", ") };
            let (command, ended) = (cell(&quoted(&proof.command)), cell(&proved.run.ending()));
            let _ = writeln!(page, "| {mark} | {command} | {of} | {ended} |");
        }
        page.push('\n');
    }

    for (severity, heading) in [(Severity::Error, "What stands against it"), (Severity::Warning, "Worth a look")] {
        let told: Vec<_> = artefact.findings.iter().filter(|finding| finding.severity == severity).collect();
        if told.is_empty() {
            continue;
        }
        let _ = writeln!(page, "**{heading}**\n");
        for finding in told {
            let place = finding.place().map(|place| format!(" ({})", quoted(&plain(&place)))).unwrap_or_default();
            let _ =
                writeln!(page, "- `{}` {}{place}<br>→ {}", finding.rule, plain(&finding.says), plain(&finding.next));
        }
        page.push('\n');
    }
    for command in shown.commands.iter().filter(|command| !command.passed && !command.tail.trim().is_empty()) {
        page.push_str(&said(command));
    }
    page
}

/// A cell of a table: the bar would end it, also inside of code.
fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|")
}

/// The last lines of a command that failed, folded.
fn said(command: &ShownCommand) -> String {
    // A fence of its own words can't end one that is longer.
    let longest = command.tail.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let title = plain(&command.text).replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<details><summary>The end of what <code>{title}</code> said</summary>\n\n{fence}text\n{}\n{fence}\n\n</details>\n\n",
        command.tail.trim_end()
    )
}

#[cfg(test)]
mod tests;
