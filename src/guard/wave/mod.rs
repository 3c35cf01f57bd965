//! Waves: several workers at once, each on a branch of its own, forked from one base and merged back one after the other.
//!
//! The ledger ([`ledger`], `WAVE.md`) says who holds which task. [`verify`] holds it against git ([`git`]), [`verdict`]
//! reads what the workers hand in, [`stack`] what they built it on, `copies` where stopped work is under other commits, [`order`] says whose turn it is, [`life`] opens, moves and closes it, [`monitor`] looks at
//! it on every check. All but [`git`] is pure: the clock and the facts are given.
//!
//! What it promises:
//!
//! - **pasted text proves nothing by itself**: a right echo beside a branch that forked elsewhere is refused, with the
//!   commit that it really forked from;
//! - **a missing fact is no proof**: a branch, a base or a history that is not there is refused, not skipped;
//! - **a failure stays where it is**: a row that was stopped, or whose worker is dead, holds up nobody else, and nothing
//!   of it is merged;
//! - **a lease ends**: at most seven days, so that no dead worker holds a task for ever, and what it left is not taken for
//!   sound;
//! - **what was stopped stays stopped**: neither deleting the ledger, nor giving the task to another, nor another row that was
//!   built on it lets it in;
//! - **a worker proposes**: its verdict is read from its own commits and records nothing.

pub mod cell;
mod copies;
pub mod digest;
pub mod git;
pub mod lease;
pub mod ledger;
pub mod life;
pub mod monitor;
pub mod order;
pub mod stack;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod verdict;
pub mod verify;
mod way;

use jiff::Timestamp;

pub use cell::{Branch, Digits, Echo, TaskId, WaveName, Worker};
pub use git::{Facts, Git, Target};
pub use lease::{Lease, State, Term};
pub use ledger::{FILE, Ledger, Note, NoteKind, Row, Status};
pub use order::Turn;

use crate::finding::Finding;
use cell::shown;
use verdict::Judged;
use verify::Found;

/// A wave as somebody who looks finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    pub ledger: Ledger,
    pub facts: Facts,
    /// What each row hands in, in the roster's order; empty where it has not.
    pub judged: Vec<Judged>,
    /// What was handed in where work was stopped, one for each note.
    pub stopped: Vec<Judged>,
    pub found: Vec<Found>,
    pub turns: Vec<Turn>,
}

impl Looked {
    pub fn findings(&self) -> Vec<Finding> {
        self.found.iter().map(|found| found.finding.clone()).collect()
    }

    /// The row that may be merged now.
    pub fn next(&self) -> Option<&Row> {
        self.ledger.rows.iter().zip(&self.turns).find(|(_, turn)| **turn == Turn::Next).map(|(row, _)| row)
    }
}

/// Reads a ledger and holds it against a repository. `Err`: it is no ledger, and all that is wrong with it.
pub fn look(path: &str, bytes: &[u8], git: &dyn Git, target: Target, now: Timestamp) -> Result<Looked, Vec<Finding>> {
    let ledger = read(path, bytes)?;
    let facts = Facts::gather(git, &ledger, target);
    Ok(judge(path, ledger, facts, now))
}

/// Reads a ledger. `Err`: all that is wrong with it, as findings.
pub fn read(path: &str, bytes: &[u8]) -> Result<Ledger, Vec<Finding>> {
    ledger::read(bytes).map_err(|problems| problems.iter().map(|problem| problem.finding(path)).collect())
}

/// What the facts make of a ledger, by its own status.
pub fn judge(path: &str, ledger: Ledger, facts: Facts, now: Timestamp) -> Looked {
    judge_at(verify::Hold::ByStatus, path, ledger, facts, now)
}

/// What the facts make of a ledger whose fork bases are held to so much.
pub fn judge_at(hold: verify::Hold, path: &str, ledger: Ledger, facts: Facts, now: Timestamp) -> Looked {
    let mut found = verify::verify(hold, path, &ledger, &facts, now);
    let mut judged = Vec::new();
    for (nth, (row, known)) in ledger.rows.iter().zip(&facts.rows).enumerate() {
        let (proposal, findings) = handed_in(path, row, known);
        judged.push(proposal);
        found.extend(findings.into_iter().map(|finding| Found { row: Some(nth), finding }));
    }
    found.extend(stack::findings(hold, path, (&ledger, &facts, &judged), now));
    found.extend(copies::findings(path, &ledger, &facts));
    let turns = order::turns(&ledger, &facts, &judged, &found, now);
    let filed = |(note, filed): (&Note, &git::Known<verdict::Filed>)| match filed {
        Ok(filed) if filed.summary.is_some() => verdict::judge(&note.task, "", filed),
        _ => Judged::default(),
    };
    let stopped = ledger.notes.iter().zip(&facts.left).map(filed).collect();
    Looked { ledger, facts, judged, stopped, found, turns }
}

/// What a row hands in, and what is wrong with that.
fn handed_in(path: &str, row: &Row, known: &git::RowFacts) -> (Judged, Vec<Finding>) {
    let done = match &row.lease {
        Lease::Done(_) => true,
        // Whoever is stopped may have left a verdict, and need not.
        Lease::Stopped(_) => false,
        _ => return (Judged::default(), Vec::new()),
    };
    let filed = match &known.filed {
        Ok(filed) => filed,
        Err(_) if !done => return (Judged::default(), Vec::new()),
        Err(why) => {
            let says = format!("What {} hands in can't be read: {why}.", shown(row.branch.as_str()));
            let next = "Put right what keeps git from telling, and verify again.";
            let finding = Finding::error(verdict::MALFORMED, says, next).at(path, Some(row.line));
            return (Judged::default(), vec![finding]);
        }
    };
    let mut judged = verdict::judge(&row.task, row.branch.as_str(), filed);
    if let (None, Ok(Some(there))) = (&filed.summary, &known.ahead) {
        for finding in &mut judged.findings {
            finding.next = format!(
                "`origin` has more of it, at {}: bring that here (`git fetch`, and `git merge --ff-only origin/{}` in its worktree), and hand it in again.",
                there.short(),
                row.branch
            );
        }
    }
    if !done {
        judged.findings.clear();
        return (judged, Vec::new());
    }
    let mut findings = judged.findings.clone();
    for finding in findings.iter_mut().filter(|finding| finding.path.is_none()) {
        *finding = finding.clone().at(path, Some(row.line));
    }
    let task = shown(row.task.as_str());
    let weighed = judged.proposal.as_ref().map(verdict::Proposal::weighed);
    let stops = weighed.filter(|outcome| outcome.stops());
    match (known.came_in(), stops) {
        (Some(arrival), stops) if stops.is_some() || !findings.is_empty() => {
            let comes_to =
                stops.map_or_else(|| "is refused".to_owned(), |outcome| format!("comes to {}", outcome.as_str()));
            let says = format!("{task} came in with {}, and its verdict {comes_to}.", arrival.commit.short());
            let next = "Look at what was merged, and revert it or let a person decide.";
            findings.push(Finding::error(verify::BYPASSED, says, next).at(path, Some(row.line)));
        }
        // Where the verdict says otherwise, that is told of it already.
        (_, Some(outcome)) if judged.findings.is_empty() => {
            let says = format!("The lease of {task} is `done`, and its verdict {}.", outcome.as_str());
            let next = format!("Write `stopped {}` into the lease.", outcome.as_str());
            findings.push(Finding::error(verdict::MISMATCH, says, next).at(path, Some(row.line)));
        }
        _ => {}
    }
    (judged, findings)
}
