//! What the gates' run left behind: shown, and believed by nobody.
//!
//! The artefact of a run that executed the change's code is the change's own word. Whose it is comes from the event that
//! GitHub sent, never from the artefact; what counts is how the job ended, which Actions tells.
//!
//! It promises that nothing of an artefact is read as markup: the page is a privileged job's, and any fork may have
//! written these words. So each of them stands as code, also where a reader would not mind a bold one.

use std::fmt::Write as _;
use std::path::Path;

use super::event::WorkflowRun;
use crate::finding::{Verdict, quoted};
use crate::ids::Slug;
use crate::policy::RunGate;
use crate::runner::artefact::{self, Expected, Refused, Shown};
use crate::surface::plain;

/// The templates' workflow that runs the gates.
const GATES: &str = ".github/workflows/phasegate-gates.yml";

/// What a folder has of a run's artefacts, as parts of a summary: of each gate the folder `phasegate-GATE` in it, and
/// nothing else.
pub fn shown(folder: &Path, slug: &Slug, after: &WorkflowRun) -> Vec<String> {
    let mut parts = Vec::new();
    for gate in RunGate::EACH {
        let at = folder.join(format!("phasegate-{gate}"));
        // A link is there too, and is refused below.
        if at.symlink_metadata().is_err() {
            continue;
        }
        let expected = Expected {
            gate,
            repository: slug.clone(),
            head: after.head_sha.clone(),
            run: after.id,
            attempt: u32::try_from(after.run_attempt).unwrap_or(u32::MAX),
        };
        parts.push(match artefact::read(&at, &expected) {
            Ok(artefact) => part(&artefact.shown()),
            Err(refused) => {
                let says = plain(&refused.to_string());
                format!("⚠️ What the run left of {gate} is not shown. {says} {}\n", refused.next())
            }
        });
    }
    // Other workflows leave nothing, and nobody expects it.
    if parts.is_empty() && after.path.split('@').next() == Some(GATES) {
        let none = Refused::NoFolder(quoted("phasegate-verify"));
        parts.push(format!(
            "⚠️ The run of the gates left nothing to show. {none} {} See, too, that the step before this one downloads it, \
             into a folder of that name.\n",
            none.next()
        ));
    }
    parts
}

/// Words of the artefact.
fn theirs(words: &str) -> String {
    quoted(&plain(words))
}

fn part(shown: &Shown) -> String {
    let sign = if shown.verdict == Verdict::Pass { "✅" } else { "❌" };
    let tests = shown.tests.as_ref().map(|tests| format!(" {tests}.")).unwrap_or_default();
    let mut out = format!("### {sign} {}, as its run tells it\n\n", shown.gate);
    let _ = writeln!(out, "What counts is how the job ended, not this.{tests}\n");
    if shown.own_policy {
        out.push_str("⚠️ The commands were not read from the default branch.\n\n");
    }
    for command in &shown.commands {
        let sign = if command.passed { "✅" } else { "❌" };
        let sign = if command.left_out { "▫️" } else { sign };
        let _ = writeln!(out, "- {sign} {}: {}", theirs(&command.text), plain(&command.ended));
    }
    for test in &shown.failing {
        let place = match (&test.path, test.line) {
            (Some(path), Some(line)) => format!(" {}", theirs(&format!("{path}:{line}"))),
            (Some(path), None) => format!(" {}", theirs(path)),
            (None, _) => String::new(),
        };
        let _ = writeln!(out, "- ❌ {}{place}: {}", theirs(&test.name), theirs(&test.message));
    }
    if shown.more > 0 {
        let _ = writeln!(out, "- and {} more", shown.more);
    }
    if !shown.flaky.is_empty() {
        let names: Vec<String> = shown.flaky.iter().map(|name| theirs(name)).collect();
        let _ = writeln!(out, "\nPassed only when tried again: {}.", names.join(", "));
    }
    out
}

#[cfg(test)]
mod tests;
