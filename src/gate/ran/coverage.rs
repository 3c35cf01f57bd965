//! `coverage_decreased`: no smaller part of the lines is covered than on the base.

use crate::finding::{Finding, Severity};
use crate::runner::artefact::Facts;
use crate::runner::coverage::Coverage;
use crate::runner::earned::Earned;
use crate::runner::text;

/// Of a run whose commands have passed. Where the policy does not ask for it, nothing is said.
pub(super) fn judge(facts: &Facts<'_>) -> Option<Finding> {
    let head = match facts.coverage?.known() {
        Ok(head) => head,
        Err(why) => {
            return Some(Finding::error(
                "coverage_decreased",
                format!("How much is covered is not known: {}.", text::line(why, 300)),
                "Have the commands write LCOV or Cobertura's XML where `gates.verify.coverage` says, and keep no report in the \
                 repository.",
            ));
        }
    };
    let totals = facts.totals;
    match facts.earned {
        Some(earned) => held(head, earned),
        // What is red is not run on the base.
        None if totals.failed > 0 || totals.errors > 0 || totals.ran() == 0 => None,
        None => Some(Finding::warning(
            "coverage_decreased",
            format!(
                "{} are covered. Whether that is less than before is not known: nothing was run on the base.",
                head.shown()
            ),
            "Let it be run on a commit, in a checkout that has the base.",
        )),
    }
}

fn held(head: &Coverage, earned: &Earned) -> Option<Finding> {
    let (base, side) = (earned.base.short(), &earned.on_base);
    let before = side.coverage.as_ref().map_or(Err("nothing was measured there"), Coverage::known);
    let why = match before {
        Ok(before) if head.is_less_than(before) => {
            return Some(Finding::error(
                "coverage_decreased",
                format!("Less is covered than on the base ({base}): {}, before {}.", head.shown(), before.part()),
                "Test what the change adds, or bring back the tests of what is there.",
            ));
        }
        Ok(_) => return None,
        Err(why) => side.trouble().unwrap_or_else(|| why.to_owned()),
    };
    // A base without a test may have nothing to run yet. One that nothing was run on could have any.
    let (severity, next) = match (&side.why, side.totals.ran()) {
        (Some(_), _) => (Severity::Error, "Let it be run there: mend what is named here."),
        (None, 0) => (Severity::Warning, "Look whether the commands work on the base."),
        (None, _) => (Severity::Error, "Let the base's commands write the same reports, in a change of its own."),
    };
    let says = format!("How much was covered on the base ({base}) is not known: {}.", text::line(&why, 300));
    Some(Finding { severity, ..Finding::warning("coverage_decreased", says, next) })
}

#[cfg(test)]
mod tests;
