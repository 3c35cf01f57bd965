//! The standing monitor: what `guard check` says of a wave whenever it looks.
//!
//! It is red where branches are merged back without proof, and warns while workers are still at it. It also holds a ledger
//! against the one before it: a base that is bent until it fits, or a ledger that is deleted before its end, would prove
//! anything.

#[cfg(test)]
mod tests;

use super::cell::shown;
use super::ledger::{Ledger, MALFORMED, Status};
use super::verify::{BYPASSED, UNVERIFIED};
use super::{Looked, life};
use crate::finding::{Finding, Severity};

/// What is to be told of a wave: fork bases are a warning as long as it is live.
pub fn standing(looked: &Looked) -> Vec<Finding> {
    let live = looked.ledger.status == Status::Live;
    let mut findings = looked.findings();
    for finding in findings.iter_mut().filter(|finding| live && finding.rule == UNVERIFIED) {
        finding.severity = Severity::Warning;
    }
    findings
}

/// What may not have changed since a ledger that was there before, of the same wave.
pub fn follows(path: &str, before: &Ledger, now: &Ledger) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut error = |rule: &str, line: u32, says: String, next: &str| {
        findings.push(Finding::error(rule, says, next).at(path, Some(line)));
    };
    if before.name != now.name {
        let says =
            format!("The wave {} stands where {} was open.", shown(now.name.as_str()), shown(before.name.as_str()));
        error(MALFORMED, 1, says, "Close the one before the next is opened.");
        return findings;
    }
    if !before.base.agree(&now.base) {
        let says = format!("The base was {} and is {}.", shown(before.base.as_str()), shown(now.base.as_str()));
        let next = "Put it back: a wave keeps the base that it was opened at, and forks are held to it.";
        error(UNVERIFIED, now.base_line, says, next);
    }
    if before.status == Status::Merging && now.status == Status::Live {
        let next = "Put it back: once branches are merged back, each row is held to its fork base.";
        error(MALFORMED, 1, "The status was `merging` and is `live`.".to_owned(), next);
    }
    for row in before.rows.iter().filter(|row| now.row(row.task.as_str()).is_none()) {
        let says = format!("The row of {} is gone.", shown(row.task.as_str()));
        error(MALFORMED, now.base_line, says, "Put it back, and stop it if it is not to be merged.");
    }
    if before.status == Status::Merging {
        let known = |ledger: &Ledger, other: &Ledger| -> Vec<String> {
            let tasks = ledger.rows.iter().map(|row| row.task.as_str());
            tasks.filter(|task| other.row(task).is_some()).map(str::to_owned).collect()
        };
        if known(before, now) != known(now, before) {
            let next = "Put them back into their order: it is that of the merge-back.";
            error(
                MALFORMED,
                now.base_line,
                "The rows are in another order than when merge-back began.".to_owned(),
                next,
            );
        }
        for row in now.rows.iter().filter(|row| before.row(row.task.as_str()).is_none()) {
            let says = format!("The row of {} came when merge-back had begun.", shown(row.task.as_str()));
            error(MALFORMED, row.line, says, "Leave it to the next wave.");
        }
    }
    findings
}

/// What is wrong with the deletion of a ledger, by how it was last found.
pub fn vanished(path: &str, before: &Looked) -> Vec<Finding> {
    let open = life::open_ends(before);
    let one = |finding: Finding| {
        let says = format!("The ledger is gone, and {}", finding.says);
        Finding::error(BYPASSED, says, "Bring it back; `phasegate wave close` deletes it at its end.").at(path, None)
    };
    open.into_iter().map(one).collect()
}
