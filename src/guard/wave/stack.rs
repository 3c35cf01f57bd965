//! Work that is built on another row's: what comes in with a branch that its own verdict does not speak of.

#[cfg(test)]
mod tests;

use jiff::Timestamp;

use super::cell::shown;
use super::git::Facts;
use super::lease::{Lease, State};
use super::ledger::{Ledger, Row, Status};
use super::verdict::Judged;
use super::verify::{BYPASSED, Found, Hold};
use crate::finding::Finding;

/// What each row would bring with it that nobody has let in.
pub fn findings(
    hold: Hold,
    path: &str,
    (ledger, facts, judged): (&Ledger, &Facts, &[Judged]),
    now: Timestamp,
) -> Vec<Found> {
    let merging = hold == Hold::AsAtMergeBack || ledger.status == Status::Merging;
    let mut found = Vec::new();
    for (nth, (row, known)) in ledger.rows.iter().zip(&facts.rows).enumerate() {
        let mut add =
            |finding: Finding| found.push(Found { row: Some(nth), finding: finding.at(path, Some(row.line)) });
        let branch = shown(row.branch.as_str());
        for (other, there) in known.stack.rows.iter().filter_map(|other| Some((*other, ledger.rows.get(*other)?))) {
            let task = shown(there.task.as_str());
            if is_stopped(there, judged.get(other)) {
                add(on_what_was_stopped(&branch, &task));
            } else if merging && (other > nth || is_dead(there, now)) {
                let says = format!("{branch} contains the work of the row {task}, which nobody has let in yet.");
                let next =
                    "Take that out of the branch and hand it in again, or hand in and merge the other row first.";
                add(Finding::error(BYPASSED, says, next));
            }
        }
        for note in known.stack.notes.iter().filter_map(|note| ledger.notes.get(*note)) {
            let told = known.stack.rows.iter().filter_map(|other| ledger.rows.get(*other));
            let task = shown(note.task.as_str());
            if !told.into_iter().any(|there| there.task == note.task) {
                add(on_what_was_stopped(&branch, &task));
            }
        }
        for there in known.stack.parts.iter().filter_map(|other| ledger.rows.get(*other)) {
            let says = format!("{branch} has commits that the stopped row {} has too.", shown(there.task.as_str()));
            let next = "Look at whether they are what it was stopped for.";
            add(Finding::warning(BYPASSED, says, next));
        }
    }
    found
}

/// Those of a row that are about work that was stopped: it can't be handed in.
pub fn stopped(found: &[Found], nth: usize) -> Vec<Finding> {
    let of_row = found.iter().filter(|one| one.row == Some(nth) && one.finding.says.contains(STOPPED));
    of_row.filter(|one| one.finding.blocks()).map(|one| one.finding.clone()).collect()
}

const STOPPED: &str = "contains the work of the stopped row";

fn on_what_was_stopped(branch: &str, task: &str) -> Finding {
    let says = format!("{branch} {STOPPED} {task}.");
    let next = "Fork the work anew from the base, without what was stopped, and hand it in again; a person decides about the other.";
    Finding::error(BYPASSED, says, next)
}

fn is_stopped(row: &Row, judged: Option<&Judged>) -> bool {
    let weighed = judged.and_then(|judged| judged.proposal.as_ref()).map(super::verdict::Proposal::weighed);
    match row.lease {
        Lease::Stopped(_) => true,
        Lease::Done(_) => weighed.is_some_and(super::verdict::Outcome::stops),
        _ => false,
    }
}

/// Its worker is taken for dead, and what it left not for sound.
fn is_dead(row: &Row, now: Timestamp) -> bool {
    row.lease != Lease::Released && row.lease.state(now) == State::Ready
}
