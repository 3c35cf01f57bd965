//! Work that is built on another row's: what comes in with a branch that its own verdict does not speak of.

#[cfg(test)]
mod tests;

use jiff::Timestamp;

use super::cell::shown;
use super::git::Facts;
use super::lease::{Lease, State};
use super::ledger::{Ledger, Note, NoteKind, Row, Status};
use super::verdict::Judged;
use super::verify::{BYPASSED, Found, Hold, UNVERIFIED};
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
                add(Finding::error(BYPASSED, says, before_it(other > nth && !is_dead(there, now))));
            }
        }
        for note in known.stack.notes.iter().filter_map(|note| ledger.notes.get(*note)) {
            if note.kind == NoteKind::Left {
                add(on_what_was_left(&branch, note));
                continue;
            }
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

/// What to do about work of a row that nobody has let in.
fn before_it(later: bool) -> &'static str {
    match later {
        true => {
            "Swap the two rows in `WAVE.md` while the wave is live: what others are built on comes first. Once it merges, take the other's work out \
             of the branch and hand it in again; or release this row (`phasegate wave release TASK`), which lets the other by, and take it again \
             with a new branch when that is merged."
        }
        false => "Take that out of the branch and hand it in again, or hand in and merge the other row first.",
    }
}

pub(super) const STOPPED: &str = "contains the work of the stopped row";

fn on_what_was_stopped(branch: &str, task: &str) -> Finding {
    let says = format!("{branch} {STOPPED} {task}.");
    let next = "Fork the work anew from the base, without what was stopped, and hand it in again; a person decides about the other.";
    Finding::error(BYPASSED, says, next)
}

fn on_what_was_left(branch: &str, note: &Note) -> Finding {
    let commit = note.commit.as_str();
    let says = format!(
        "{branch} contains {}, which a worker left of {} who did not hold it any more.",
        commit.get(..12).unwrap_or(commit),
        shown(note.task.as_str())
    );
    let next = "It is not taken for sound: fork the work anew from the base, and hand it in again. A worker who needs longer says `phasegate wave extend \
                TASK` before somebody else takes the task.";
    Finding::error(UNVERIFIED, says, next)
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
