//! What is wrong with a policy file, said so that a person can put it right.

use serde::Serialize;

use super::yaml::At;

/// No more problems than this are listed: a file with more is not read to the end by anyone.
pub(super) const MAX_PROBLEMS: usize = 100;

/// One thing that is wrong with a policy file. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The rule it breaks: always `MRG-07`, "policy valid".
    pub rule: &'static str,
    /// `error`, or `warning` for what is valid and hardly meant.
    pub severity: &'static str,
    pub line: u32,
    pub column: u32,
    /// The key it is about, as `gates.verify.checks[0].workflow`; empty when it is about the file.
    pub path: String,
    /// What was found.
    pub says: String,
    /// What to do about it.
    pub next: String,
}

impl Problem {
    pub(super) fn at(at: At, path: impl Into<String>, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            rule: "MRG-07",
            severity: "error",
            line: at.line,
            column: at.column,
            path: path.into(),
            says: says.into(),
            next: next.into(),
        }
    }
}

impl Problem {
    pub fn is_error(&self) -> bool {
        self.severity == "error"
    }
}

/// A part of someone's text that is safe and short enough to repeat to them.
pub(super) fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(60).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    short
}

/// `path` and one more key.
pub(super) fn join(path: &str, key: &str) -> String {
    let key = excerpt(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// The findings of `config check`, in the shape that machines read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub verdict: &'static str,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub rule: &'static str,
    pub severity: &'static str,
    pub path: String,
    pub line: u32,
    pub column: u32,
    pub says: String,
    pub next: String,
}

impl Report {
    pub fn new(problems: &[Problem]) -> Self {
        let finding = |p: &Problem| Finding {
            rule: p.rule,
            severity: p.severity,
            path: p.path.clone(),
            line: p.line,
            column: p.column,
            says: p.says.clone(),
            next: p.next.clone(),
        };
        Self {
            schema: "phasegate/config-check@1",
            verdict: if problems.iter().any(Problem::is_error) { "FAIL" } else { "PASS" },
            findings: problems.iter().map(finding).collect(),
        }
    }

    pub fn passed(&self) -> bool {
        self.verdict == "PASS"
    }
}
