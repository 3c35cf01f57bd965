//! What a gate is judged by.

use super::{Artefact, Attempt, CommandRun, Confinement, Counts, Failing, Report};
use crate::policy::RunGate;
use crate::runner::coverage::Coverage;
use crate::runner::earned::Earned;
use crate::runner::proofs::Proofs;

/// What a gate is judged by: that part of an artefact which was seen, and not concluded.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub gate: RunGate,
    pub timeout_s: u32,
    pub confinement: &'a Confinement,
    pub commands: &'a [CommandRun],
    pub promised: &'a [String],
    pub reports: &'a [Report],
    pub totals: &'a Counts,
    pub failing: &'a [Failing],
    pub failing_left_out: u64,
    pub flaky: &'a [String],
    pub skipped: &'a [String],
    pub attempts: &'a [Attempt],
    pub coverage: Option<&'a Coverage>,
    pub earned: Option<&'a Earned>,
    pub proofs: Option<&'a Proofs>,
    pub test_files: Option<u64>,
    pub rewritten: &'a [String],
}

impl Artefact {
    pub fn facts(&self) -> Facts<'_> {
        Facts {
            gate: self.gate,
            timeout_s: self.timeout_s,
            confinement: &self.confinement,
            commands: &self.commands,
            promised: &self.promised,
            reports: &self.reports,
            totals: &self.totals,
            failing: &self.failing,
            failing_left_out: self.failing_left_out,
            flaky: &self.flaky,
            skipped: &self.skipped,
            attempts: &self.attempts,
            coverage: self.coverage.as_ref(),
            earned: self.earned.as_ref(),
            proofs: self.proofs.as_ref(),
            test_files: self.test_files,
            rewritten: &self.rewritten,
        }
    }
}
