//! What a gate says: its name, its verdict, what it found. Words that the gates, the ledger and the surface share.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow::Phase;

/// A gate's name, as people see it in `phasegate/<name>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GateName {
    Phase(Phase),
    /// Whether what a task claims holds.
    Task,
    Merge,
}

impl GateName {
    pub fn as_str(self) -> &'static str {
        match self {
            GateName::Phase(phase) => phase.as_str(),
            GateName::Task => "task",
            GateName::Merge => "merge",
        }
    }
}

impl fmt::Display for GateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for GateName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for GateName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        for gate in [GateName::Task, GateName::Merge] {
            if text == gate.as_str() {
                return Ok(gate);
            }
        }
        Phase::parse(&text)
            .map(GateName::Phase)
            .ok_or_else(|| serde::de::Error::custom(format!("there is no gate {text:?}")))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    Pass,
    Fail,
}

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub rule: String,
    pub severity: Severity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub says: String,
    pub next: String,
    /// Nothing is wrong, something has not happened yet. Shown as waiting, not as failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
}

impl Finding {
    pub fn error(rule: &str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            rule: rule.to_owned(),
            severity: Severity::Error,
            path: None,
            line: None,
            says: says.into(),
            next: next.into(),
            waiting: false,
        }
    }

    pub fn warning(rule: &str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(rule, says, next) }
    }

    pub fn waiting(rule: &str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { waiting: true, ..Self::error(rule, says, next) }
    }

    #[must_use]
    pub fn at(mut self, path: impl Into<String>, line: Option<u32>) -> Self {
        self.path = Some(path.into());
        self.line = line;
        self
    }

    /// `path:line` or `path`; none where it is nowhere.
    pub fn place(&self) -> Option<String> {
        let path = self.path.as_ref()?;
        Some(self.line.map_or_else(|| path.clone(), |line| format!("{path}:{line}")))
    }

    pub fn blocks(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Somebody's own words inside a sentence of ours: as code, where nothing in them is read as markup, a link or a
/// reference to another issue, and where they can't end it.
pub fn quoted(text: &str) -> String {
    let inside: String = text.chars().map(|c| if c == '`' { '\'' } else { c }).collect();
    match inside.trim() {
        "" => "(nothing)".to_owned(),
        inside => format!("`{inside}`"),
    }
}

/// More findings of one rule than this are counted, not told.
const MOST_OF_A_RULE: usize = 50;
/// A finding's texts are this long at most: names in them are somebody else's words.
const LONGEST_TEXT: usize = 1_000;

/// The findings within bounds, because they are recorded, and whoever makes one can make thousands. No rule is lost:
/// of each the first ones are told and the rest are counted. A verdict is the same with them as without.
pub fn bounded(findings: Vec<Finding>) -> Vec<Finding> {
    let mut seen: BTreeMap<(String, Severity, bool), usize> = BTreeMap::new();
    let mut kept: Vec<Finding> = Vec::new();
    for mut finding in findings {
        let key = (finding.rule.clone(), finding.severity, finding.waiting);
        let count = seen.entry(key).or_default();
        *count += 1;
        if *count > MOST_OF_A_RULE {
            continue;
        }
        finding.says = clipped(&finding.says);
        finding.next = clipped(&finding.next);
        // Half a path is another path.
        finding.path = finding.path.filter(|path| path.chars().count() <= LONGEST_TEXT);
        kept.push(finding);
    }
    for ((rule, severity, waiting), count) in seen {
        if let Some(more) = count.checked_sub(MOST_OF_A_RULE).filter(|more| *more > 0) {
            let says = format!("And {more} more of this kind.");
            let finding = Finding::error(&rule, says, "Put right those that are told, and the next ones show.");
            kept.push(Finding { severity, waiting, ..finding });
        }
    }
    kept
}

fn clipped(text: &str) -> String {
    if text.chars().count() <= LONGEST_TEXT {
        return text.to_owned();
    }
    text.chars().take(LONGEST_TEXT - 1).chain(['…']).collect()
}

/// PASS only without an error.
pub fn verdict(findings: &[Finding]) -> Verdict {
    if findings.iter().any(Finding::blocks) { Verdict::Fail } else { Verdict::Pass }
}

/// Whether all that stands in the way is something that has not happened yet.
pub fn only_waiting(findings: &[Finding]) -> bool {
    findings.iter().filter(|finding| finding.blocks()).all(|finding| finding.waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_bounded_and_no_rule_is_lost() {
        let forged = |n: usize| Finding::error("MRG-04", format!("forged {n} {}", "x".repeat(5_000)), "Push.");
        let mut all: Vec<Finding> = (0..1_500).map(forged).collect();
        all.push(Finding::waiting("MRG-02", "nobody has approved", "Wait.").at("é".repeat(2_000), None));
        let kept = bounded(all.clone());
        assert_eq!(kept.len(), 50 + 1 + 1);
        assert_eq!(verdict(&kept), verdict(&all));
        assert!(kept[49].says.starts_with("forged 49") && kept[49].says.chars().count() == 1_000);
        assert_eq!((kept[50].rule.as_str(), kept[50].path.as_deref()), ("MRG-02", None), "half a path is another path");
        assert_eq!((kept[51].rule.as_str(), kept[51].says.as_str()), ("MRG-04", "And 1450 more of this kind."));
        assert_eq!(bounded(kept.clone())[..51], kept[..51]);
    }

    #[test]
    fn waiting_stays_waiting() {
        let all: Vec<Finding> = (0..60).map(|n| Finding::waiting("MRG-01", n.to_string(), "Wait.")).collect();
        assert!(only_waiting(&bounded(all)));
    }
}
