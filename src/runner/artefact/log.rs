//! The part of an artefact that an execution log has: each test by its name, how it ended, and the attempts before.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Artefact, Counts, FailingKind};
use crate::finding::Verdict;
use crate::ids::Digest;

/// A test that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestRun {
    /// No other test of the run has it.
    pub name: String,
    pub result: TestResult,
    pub duration_ms: u64,
    /// How it did not pass: by a failed assertion, or because it could not be carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<FailingKind>,
    /// Each try of it, where there was more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<TestResult>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TestResult {
    Pass,
    Fail,
}

/// The tests that were carried out, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub total: u64,
    pub passed: u64,
    pub failed: u64,
}

impl Summary {
    pub(crate) fn of(counts: &Counts) -> Self {
        Self { total: counts.ran(), passed: counts.passed, failed: counts.failed.saturating_add(counts.errors) }
    }
}

/// Where the commands ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The system by the name that it gives itself.
    pub os: String,
    pub kernel: String,
    pub arch: String,
    /// How many processors there are for it.
    pub cpus: u32,
    /// The image of GitHub's own runners.
    #[serde(default)]
    pub image: Option<String>,
    /// The names of the variables that the commands were given.
    pub variables: Vec<String>,
}

/// An attempt before this one, on the same head and by the same policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub executed_at: Timestamp,
    pub verdict: Verdict,
    pub summary: Summary,
    /// Names of tests that failed, the first twenty.
    pub failing: Vec<String>,
    /// Rules that stood against it, the first twenty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// SHA-256 of its log.
    #[schemars(with = "String", extend("pattern" = super::DIGEST))]
    pub log: Digest,
}

/// The attempts that are kept, the newest.
pub(super) const MOST_ATTEMPTS: usize = 100;
const MOST_NAMES: usize = 20;

impl Attempt {
    /// Whether it ended badly, by a test that failed or by anything else.
    pub fn is_red(&self) -> bool {
        self.verdict == Verdict::Fail || self.summary.failed > 0
    }
}

impl Artefact {
    /// This one as an attempt, after those before it, for the next on the same subject.
    pub(super) fn into_attempts(self, text: &[u8]) -> Vec<Attempt> {
        let failing = self.tests.iter().filter(|test| test.result == TestResult::Fail).take(MOST_NAMES);
        let rules: BTreeSet<String> =
            self.findings.iter().filter(|finding| finding.blocks()).map(|finding| finding.rule.clone()).collect();
        let this = Attempt {
            executed_at: self.executed_at,
            verdict: self.verdict,
            summary: self.summary,
            failing: failing.map(|test| test.name.clone()).collect(),
            rules: rules.into_iter().take(MOST_NAMES).collect(),
            log: Digest::of(text),
        };
        let mut all = self.attempts;
        all.push(this);
        all.drain(..all.len().saturating_sub(MOST_ATTEMPTS));
        all
    }

    /// Why its list of tests can't be what it says it is.
    pub(super) fn listed_wrongly(&self) -> Option<String> {
        let failed = self.tests.iter().filter(|test| test.result == TestResult::Fail).count() as u64;
        let total = self.tests.len() as u64;
        let listed = Summary { total, passed: total - failed, failed };
        if self.summary != listed || listed != Summary::of(&self.totals) {
            return Some("the summary is not the count of the tests".to_owned());
        }
        if self.skipped.len() as u64 != self.totals.skipped {
            return Some("there are not as many names of skipped tests as were skipped".to_owned());
        }
        let mut names = BTreeSet::new();
        if !self.tests.iter().all(|test| names.insert(test.name.as_str())) {
            return Some("two tests have one name".to_owned());
        }
        let kind = |test: &TestRun| test.kind.is_some() == (test.result == TestResult::Fail);
        if !self.tests.iter().all(kind) {
            return Some("a test does not end as it is said to".to_owned());
        }
        (self.executed_at != self.started).then(|| "it was executed at another time than it started".to_owned())
    }
}
