//! The standing monitor: what `guard check` says of a wave whenever it looks.
//!
//! It is red where branches are merged back without proof, and warns while workers are still at it. It also holds a ledger
//! against the one before it: a base that is bent until it fits, or a ledger that is deleted before its end, would prove
//! anything.

#[cfg(test)]
mod tests;

use super::cell::shown;
use super::git::Git;
use super::lease::Lease;
use super::ledger::{Ledger, MALFORMED, Note, NoteKind, Status};
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
    if before.into.is_some() && before.into != now.into {
        let (was, is) = (shown_into(before), shown_into(now));
        let next = "Put it back: what is merged is what is in the branch that the wave was opened for.";
        error(MALFORMED, now.base_line, format!("The wave went into {was} and goes into {is}."), next);
    }
    if before.status == Status::Merging && now.status == Status::Live {
        let next = "Put it back: once branches are merged back, each row is held to its fork base.";
        error(MALFORMED, 1, "The status was `merging` and is `live`.".to_owned(), next);
    }
    findings.extend(forgotten(path, before, now));
    let mut error = |rule: &str, line: u32, says: String, next: &str| {
        findings.push(Finding::error(rule, says, next).at(path, Some(line)));
    };
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

fn shown_into(ledger: &Ledger) -> String {
    ledger.into.as_ref().map_or("no branch by name".to_owned(), |into| shown(into.as_str()))
}

/// What was noted in a ledger, and is not any more.
pub fn forgotten(path: &str, then: &Ledger, now: &Ledger) -> Vec<Finding> {
    let gone = then.notes.iter().filter(|note| !now.notes.iter().any(|other| other.is(note)));
    gone.map(|note| {
        let line = format!("{}: {} {}", note.kind.as_str(), note.task, note.commit);
        let says = format!("The note {} is gone.", shown(&line));
        let next = "Put the line back: what it remembers has happened.";
        Finding::error(MALFORMED, says, next).at(path, Some(now.base_line))
    })
    .collect()
}

/// What came in of the work that the ledger before speaks of, and this one does not: it was stopped and its row says
/// otherwise now, or its row names another branch. `before` is judged by the commit that is checked.
pub fn let_go(path: &str, before: &Looked, now: &Ledger, git: &dyn Git) -> Vec<Finding> {
    let mut findings = Vec::new();
    let rows = before.ledger.rows.iter().zip(&before.facts.rows).zip(&before.judged);
    for ((then, known), judged) in rows {
        let Some(row) = now.row(then.task.as_str()).filter(|_| then.lease != Lease::Released) else { continue };
        let (task, branch) = (shown(then.task.as_str()), shown(then.branch.as_str()));
        let renamed = row.branch != then.branch;
        if renamed && row.lease == then.lease && row.worker == then.worker {
            let says = format!("The branch of {task} was {branch} and is {}.", shown(row.branch.as_str()));
            let next = "Put it back: a row keeps its branch until it is released and taken again.";
            findings.push(Finding::error(MALFORMED, says, next).at(path, Some(row.line)));
        }
        let Some(arrival) = known.came_in() else { continue };
        let mine = |note: &&Note| note.kind == NoteKind::Stopped && note.task == then.task;
        let stops = judged.proposal.as_ref().is_some_and(|proposal| proposal.weighed().stops());
        let stopped = matches!(then.lease, Lease::Stopped(_)) || (matches!(then.lease, Lease::Done(_)) && stops);
        let why = if stopped && !matches!(row.lease, Lease::Stopped(_)) && row.lease != then.lease {
            // Where a note has the commit, that tells it.
            if before.ledger.notes.iter().chain(&now.notes).any(|note| mine(&note)) {
                continue;
            }
            "was stopped"
        } else if renamed && !(stopped && matches!(row.lease, Lease::Stopped(_))) {
            // What is in what was handed in now is spoken of by that verdict.
            if let Lease::Done(digits) = &row.lease
                && let Ok(Some(handed)) = git.commit(digits)
                && matches!(git.is_ancestor(&arrival.what, &handed), Ok(true))
            {
                continue;
            }
            "had that branch"
        } else {
            continue;
        };
        let says = format!(
            "{task} {why}, and of {branch} the commit {} came in with {}.",
            arrival.what.short(),
            arrival.commit.short()
        );
        let next = "Look at what was merged, and revert it or let a person decide: to give the task to another does not let it in.";
        findings.push(Finding::error(BYPASSED, says, next).at(path, Some(row.line)));
    }
    findings
}

/// What is wrong with the deletion of a ledger, by how it was last found: rows that are not at their end, and all that stands
/// against those which are, or came in.
pub fn vanished(path: &str, before: &Looked) -> Vec<Finding> {
    let open = life::open_ends(before);
    let one = |finding: Finding| {
        let says = format!("The ledger is gone, and {}", finding.says);
        Finding::error(BYPASSED, says, GONE).at(path, None)
    };
    let ended = |nth: usize| {
        let came_in = before.facts.rows.get(nth).is_some_and(|known| known.came_in().is_some());
        came_in || before.turns.get(nth).is_some_and(super::Turn::is_over)
    };
    let stands = before.found.iter().filter(|one| one.finding.blocks() && one.row.is_none_or(ended));
    let stands = stands.map(|one| {
        let mut finding = one.finding.clone();
        finding.line = None;
        finding
    });
    open.into_iter().map(one).chain(stands).collect()
}

const GONE: &str = "Bring it back, and commit it in its last state before it is deleted: `phasegate wave close` deletes it at its end.";
