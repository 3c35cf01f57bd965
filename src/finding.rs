//! What a gate says: its name, its verdict, what it found. Words that the gates, the ledger and the surface share.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::flow::Phase;

/// A gate's name, as people see it in `phasegate/<name>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GateName {
    Phase(Phase),
    Merge,
}

impl GateName {
    pub fn as_str(self) -> &'static str {
        match self {
            GateName::Phase(phase) => phase.as_str(),
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
        if text == "merge" {
            return Ok(GateName::Merge);
        }
        Phase::parse(&text)
            .map(GateName::Phase)
            .ok_or_else(|| serde::de::Error::custom(format!("there is no gate {text:?}")))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    Pass,
    Fail,
}

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

    pub fn blocks(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// PASS only without an error.
pub fn verdict(findings: &[Finding]) -> Verdict {
    if findings.iter().any(Finding::blocks) { Verdict::Fail } else { Verdict::Pass }
}

/// Whether all that stands in the way is something that has not happened yet.
pub fn only_waiting(findings: &[Finding]) -> bool {
    findings.iter().filter(|finding| finding.blocks()).all(|finding| finding.waiting)
}
