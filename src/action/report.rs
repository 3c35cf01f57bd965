//! What a run says: a summary for people, annotations at the lines, outputs for the steps after it.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use crate::actions::{Annotation, Level};
use crate::finding::Severity;
use crate::github::Speaker;
use crate::server::{Fault, Heard, Standing, Told};
use crate::surface::plain;

/// What came of a run, and how it is to be told.
#[derive(Debug)]
pub struct Report<'a> {
    pub heard: &'a Heard,
    pub advisory: bool,
    /// The repository's page.
    pub page: String,
    pub event: &'a str,
    /// The claims of the workflow run that started this one, where it left any; each as a part of the summary.
    pub claims: Vec<String>,
}

/// The outputs of the action, by name.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Outputs {
    pub phase: String,
    pub verdict: String,
    pub reason: String,
    pub change: String,
    pub json: String,
}

/// What whoever reads the log or the summary is to know where the workflow's own token is used.
pub const ADVISORY: &str = "This run has a workflow's own token, so anyone who can push a workflow can make the same checks. Nothing \
                            here holds a merge back that somebody wants. With an App's id and its key from an environment that \
                            only the default branch may use, it does.";

/// What they are to know while the policy observes.
pub fn observing(advisory: bool) -> String {
    let then = match advisory {
        true => "it says pass or fail; advice it is all the same",
        false => "it is a gate",
    };
    format!(
        "The policy has `enforce: observe`: the check shows what it would do, and holds nobody back, required or not. Take that \
         line out of `.github/phasegate.yml` on the default branch, and {then}."
    )
}

/// Findings that a summary lists of one change; the check run has all of them.
const MOST_FINDINGS: usize = 20;
/// A job's outputs may have so many bytes, and a step that is given more in a variable is not started at all.
pub const MOST_OF_JSON: usize = 1024 * 1024;
/// Changes that a summary tells of.
const MOST_CHANGES: usize = 50;

impl Report<'_> {
    /// The change that the outputs are about: the only one that was looked at.
    fn only(&self) -> Option<&Told> {
        match self.heard.changes.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// One object with everything: `phasegate/action@1`.
    pub fn json(&self) -> Value {
        let faults: Vec<Value> = self
            .heard
            .faults
            .iter()
            .map(|fault| json!({ "about": fault.about, "says": fault.says, "next": fault.next(self.advisory) }))
            .collect();
        json!({
            "schema": "phasegate/action@1",
            "event": self.event,
            "mode": match self {
                Report { advisory: true, .. } => "advisory",
                Report { heard: Heard { observing: true, .. }, .. } => "observing",
                _ => "enforcing",
            },
            "changes": self.heard.changes,
            "notices": self.heard.notices,
            "faults": faults,
        })
    }

    /// What the steps after this one get. Where several changes were looked at, only `json` tells of them.
    pub fn outputs(&self) -> Outputs {
        let only = self.only();
        Outputs {
            phase: only.map(|told| told.phase.clone()).unwrap_or_default(),
            verdict: only.map(|told| told.verdict.as_str().to_owned()).unwrap_or_default(),
            reason: only.map(|told| told.reason.clone()).unwrap_or_default(),
            change: only.map(|told| told.change.to_string()).unwrap_or_default(),
            json: Some(self.json().to_string()).filter(|json| json.len() <= MOST_OF_JSON).unwrap_or_default(),
        }
    }

    pub fn annotations(&self) -> Vec<Annotation> {
        let mut all = Vec::new();
        for fault in &self.heard.faults {
            all.push(mark(Level::Error, &fault.about, &self.told(fault)));
        }
        for notice in &self.heard.notices {
            all.push(mark(Level::Warning, "Phasegate", notice));
        }
        for told in &self.heard.changes {
            for finding in told.findings.iter().filter(|finding| finding.blocks() && !finding.waiting) {
                let level = if finding.severity == Severity::Error { Level::Error } else { Level::Warning };
                let title = format!("{} (#{})", finding.rule, told.change);
                let message = format!("{}. {}", finding.says.trim_end_matches('.'), finding.next);
                all.push(Annotation { level, path: finding.path.clone(), line: finding.line, title, message });
            }
        }
        all
    }

    /// The job's summary.
    pub fn summary(&self) -> String {
        let mut out = String::from("## Phasegate\n\n");
        if self.advisory {
            let _ = writeln!(out, "> **Advisory.** {ADVISORY}\n");
        }
        if self.heard.observing {
            let _ = writeln!(out, "> **Observing.** {}\n", observing(self.advisory));
        }
        for fault in &self.heard.faults {
            let _ = writeln!(out, "❌ **{}**: {}\n", plain(&fault.about), plain(&self.told(fault)));
        }
        for notice in &self.heard.notices {
            let _ = writeln!(out, "⚠️ {}\n", plain(notice));
        }
        if self.heard.changes.is_empty() && self.heard.faults.is_empty() && self.heard.notices.is_empty() {
            out.push_str("There was nothing to look at.\n\n");
        }
        if self.heard.changes.len() > 1 {
            out.push_str("| change | phase | merge | why |\n|---|---|---|---|\n");
            for told in self.heard.changes.iter().take(MOST_CHANGES) {
                let Told { change, phase, reason, verdict, .. } = told;
                let reason = plain(reason).replace('|', "\\|");
                let _ = writeln!(out, "| {} | {} | {} | {reason} |", self.link(*change), plain(phase), verdict.sign());
            }
            let more = self.heard.changes.len().saturating_sub(MOST_CHANGES);
            if more > 0 {
                let _ = writeln!(out, "\nand {more} more");
            }
            out.push('\n');
        }
        if let Some(told) = self.only() {
            self.one(&mut out, told);
        }
        for claim in &self.claims {
            out.push_str(claim);
            out.push('\n');
        }
        out
    }

    /// What went wrong, and what to do.
    fn told(&self, fault: &Fault) -> String {
        match fault.next(self.advisory) {
            Some(next) => format!("{}. {next}", fault.says.trim_end_matches('.')),
            None => fault.says.clone(),
        }
    }

    fn link(&self, change: u64) -> String {
        format!("[#{change}]({}/pull/{change})", self.page)
    }

    fn one(&self, out: &mut String, told: &Told) {
        let Told { change, phase, reason, verdict, findings, head } = told;
        let _ = writeln!(out, "{} {}: **{}**\n", verdict.sign(), self.link(*change), plain(reason));
        let head = head.as_ref().map(|head| format!(", head `{}`", head.short())).unwrap_or_default();
        let _ = writeln!(out, "Phase: {}{head}\n", plain(phase));
        for finding in findings.iter().take(MOST_FINDINGS) {
            let place = match (&finding.path, finding.line) {
                (Some(path), Some(line)) => format!(" `{}:{line}`", plain(path).replace('`', "'")),
                (Some(path), None) => format!(" `{}`", plain(path).replace('`', "'")),
                _ => String::new(),
            };
            let sign = if finding.waiting { "⏳" } else { "❌" };
            let sign = if finding.severity == Severity::Warning { "⚠️" } else { sign };
            let (says, next) = (plain(&finding.says), plain(&finding.next));
            let _ = writeln!(out, "- {sign} `{}`{place} {says} → {next}", finding.rule);
        }
        if findings.len() > MOST_FINDINGS {
            let _ = writeln!(out, "- and {} more, on the check run", findings.len() - MOST_FINDINGS);
        }
        out.push('\n');
    }
}

fn mark(level: Level, title: &str, message: &str) -> Annotation {
    Annotation { level, path: None, line: None, title: title.to_owned(), message: message.to_owned() }
}

impl Standing {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Waiting => "WAITING",
            Self::Over => "OVER",
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Pass => "✅",
            Self::Fail => "❌",
            Self::Waiting => "⏳",
            Self::Over => "🏁",
        }
    }
}

impl Fault {
    /// What to do about it, where that is known.
    pub fn next(&self, advisory: bool) -> Option<String> {
        let speaker = if advisory { Speaker::Token } else { Speaker::App };
        Some(self.hindrance.as_ref()?.next(speaker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that is given more than the system takes in a variable is not started at all.
    #[test]
    fn what_is_longer_than_an_output_may_be_is_left_out() {
        let of = |length: usize| {
            let heard = Heard { notices: vec!["x".repeat(length)], ..Heard::default() };
            let page = "https://github.com/ada/site".to_owned();
            let report = Report { heard: &heard, advisory: false, page, event: "schedule", claims: Vec::new() };
            report.outputs().json
        };
        let around = of(0).len();
        assert_eq!(of(MOST_OF_JSON - around).len(), MOST_OF_JSON);
        assert_eq!(of(MOST_OF_JSON - around + 1), "");
    }
}
