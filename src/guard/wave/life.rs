//! A wave's life: opened, worked on, merged back, told in a digest, deleted.
//!
//! Each step gives a new ledger or a refusal that says what to do; none of them writes anything. What a refusal protects:
//! a task that somebody holds, a base that every fork is held to, and rows that nobody has decided about.

#[cfg(test)]
mod tests;

use jiff::Timestamp;

use super::Looked;
use super::cell::{Branch, Digits, Echo, TaskId, WaveName, Worker, Wrong, shown};
use super::git::{Arrival, RowFacts};
use super::lease::{Lease, State, Stop, Term};
use super::ledger::{FILE, Ledger, NoteKind, Row, Status};
use super::verdict::Judged;
use super::verify::{BYPASSED, UNVERIFIED};
use crate::finding::Finding;
use crate::ids::CommitId;

/// A step that is not possible now.
const NOT_NOW: &str = "CMD-03";
/// A step that was asked for in words that mean nothing.
const ARGUMENTS: &str = "CMD-05";

/// Somebody who is to work on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hand {
    pub worker: String,
    pub branch: String,
    pub term: Term,
    /// Its worktree comes from a pool, at whatever commit that has.
    pub pool: bool,
}

/// A step's result: the ledger after it, or why not.
pub type Step = Result<Ledger, Vec<Finding>>;

fn not_now(says: impl Into<String>, next: impl Into<String>) -> Vec<Finding> {
    vec![Finding::error(NOT_NOW, says, next)]
}

fn argument(wrong: Wrong) -> Finding {
    Finding::error(ARGUMENTS, wrong.says, wrong.next)
}

/// A new wave, with a row for each task. Whoever writes it must not write over another ([`already_open`]).
pub fn open(name: &str, base: &CommitId, hands: &[(String, Hand)], now: Timestamp) -> Step {
    let mut problems = Vec::new();
    let name = WaveName::parse(name).map_err(|wrong| problems.push(argument(wrong))).ok();
    let rows: Vec<Row> = hands.iter().filter_map(|(task, hand)| row(task, hand, now, &mut problems)).collect();
    let Some(name) = name.filter(|_| problems.is_empty()) else { return Err(problems) };
    let ledger = Ledger {
        name,
        status: Status::Live,
        base: Digits::from(base),
        base_line: 2,
        into: None,
        notes: Vec::new(),
        rows,
    };
    readable(&ledger)
}

fn row(task: &str, hand: &Hand, now: Timestamp, problems: &mut Vec<Finding>) -> Option<Row> {
    let task = TaskId::parse(task).map_err(|wrong| problems.push(argument(wrong))).ok();
    let worker = Worker::parse(&hand.worker).map_err(|wrong| problems.push(argument(wrong))).ok();
    let branch = Branch::parse(&hand.branch).map_err(|wrong| problems.push(argument(wrong))).ok();
    let lease = Lease::Since { at: whole(now), term: hand.term };
    let fork_base = Echo::Pending { pool: hand.pool };
    Some(Row { task: task?, worker: Some(worker?), branch: branch?, lease, fork_base, line: 0 })
}

/// To the second: a ledger is read by people.
fn whole(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// A ledger as it reads once it is written: with its lines, and refused where it could not be read again.
fn readable(ledger: &Ledger) -> Step {
    super::ledger::read(ledger.write().as_bytes()).map_err(|problems| {
        problems.iter().map(|problem| Finding::error(ARGUMENTS, problem.says.clone(), problem.next.clone())).collect()
    })
}

/// The refusal of a second wave.
pub fn already_open(path: &str) -> Finding {
    let says = format!("{} is there already: one wave is open at a time.", shown(path));
    Finding::error(NOT_NOW, says, "Merge it back and `phasegate wave close` it, then open the next.").at(path, None)
}

/// The same, of one that is open in another working tree of the repository.
pub fn open_elsewhere(path: &str) -> Finding {
    let says = format!("A wave is open in another working tree, {}: one wave is open at a time.", shown_path(path));
    let next = "Go on there, or merge it back and `phasegate wave close` it there, then open the next.";
    Finding::error(NOT_NOW, says, next)
}

/// The same, of one that is committed on a branch.
pub fn open_on(branch: &str) -> Finding {
    let says =
        format!("A wave is open on {}, whose `{FILE}` is committed there: one wave is open at a time.", shown(branch));
    let next = "Go on where that branch is checked out. Where the wave is closed, commit the deletion of `WAVE.md` there, and fetch that.";
    Finding::error(NOT_NOW, says, next)
}

/// As it is: whoever is to go there needs all of it.
fn shown_path(path: &str) -> String {
    super::cell::harmless(path)
}

/// The row of a task, and what is to become of it.
fn with(ledger: &Ledger, task: &str, change: impl FnOnce(&mut Row) -> Result<(), Vec<Finding>>) -> Step {
    let mut ledger = ledger.clone();
    let Some(row) = ledger.row_mut(task) else {
        let tasks: Vec<&str> = ledger.rows.iter().take(10).map(|row| row.task.as_str()).collect();
        let says = format!("The wave has no task {}.", shown(task));
        return Err(vec![Finding::error(ARGUMENTS, says, format!("Name one of its tasks: {}.", tasks.join(", ")))]);
    };
    change(row)?;
    readable(&ledger)
}

/// Somebody takes a task that nobody holds. What a dead worker left is not taken for sound: the branch is a new one, or
/// was put back to the base.
pub fn take(ledger: &Ledger, task: &str, hand: &Hand, base: &CommitId, tip: Option<&CommitId>, now: Timestamp) -> Step {
    let worker = Worker::parse(&hand.worker).map_err(|wrong| vec![argument(wrong)])?;
    let branch = Branch::parse(&hand.branch).map_err(|wrong| vec![argument(wrong)])?;
    with(ledger, task, |row| {
        let state = row.lease.state(now);
        if state != State::Ready {
            let says = format!("{} is {}: {}.", shown(task), state.as_str(), shown(&row.lease.to_string()));
            let next = match state {
                State::Held => {
                    "Wait until its lease runs out, or have its worker release it; whoever needs longer says `phasegate wave extend TASK`."
                }
                State::Stopped => "A person decides first, and releases it: `phasegate wave release TASK`.",
                State::Done | State::Ready => {
                    "It is handed in: merge it back, or release it if it is not to be merged."
                }
            };
            return Err(not_now(says, next));
        }
        if let Some(tip) = tip.filter(|tip| *tip != base) {
            let says =
                format!("The branch {} is there and stands at {}, not at the base.", shown(&hand.branch), tip.short());
            let next = "What somebody left there is not taken for sound: name a new branch, or put it back with `git branch -f BRANCH BASE`. The worker who is at it goes on with `phasegate wave extend TASK`.";
            return Err(vec![Finding::error(UNVERIFIED, says, next)]);
        }
        row.worker = Some(worker);
        row.branch = branch;
        row.lease = Lease::Since { at: whole(now), term: hand.term };
        row.fork_base = Echo::Pending { pool: hand.pool };
        Ok(())
    })
}

/// The work that a worker left whose lease has run out. Whoever is released before that gives the task up by agreement.
fn left(looked: &Looked, nth: usize) -> Option<CommitId> {
    looked.turns.get(nth).filter(|turn| matches!(turn, super::Turn::Ready { ran_out: Some(_) }))?;
    // Where its branch is one of the target's own commits there is nothing of it.
    let empty = looked.facts.rows.get(nth)?.came_in().is_some_and(Arrival::is_forward);
    work(looked, nth).filter(|_| !empty)
}

/// A task that somebody else takes remembers what the one before left there: it is not taken for sound, whatever its branch is
/// called.
pub fn leave(looked: &Looked, task: &str, mut after: Ledger) -> Step {
    let nth = looked.ledger.rows.iter().position(|row| row.task.as_str() == task);
    let (before, now) = (looked.ledger.row(task), after.row(task));
    let same = before.zip(now).is_some_and(|(one, two)| one.worker == two.worker && two.lease != Lease::Released);
    if let Some(work) = nth.filter(|_| !same).and_then(|nth| left(looked, nth)) {
        after.note(NoteKind::Left, task, &work);
    }
    readable(&after)
}

/// The same worker goes on: it is slow and not dead. That may be said after the lease is over, as long as nobody else has taken
/// the task.
pub fn extend(ledger: &Ledger, task: &str, term: Term, now: Timestamp) -> Step {
    with(ledger, task, |row| {
        let (says, next) = match &row.lease {
            Lease::Since { .. } | Lease::Until(_) => {
                row.lease = Lease::Since { at: whole(now), term };
                return Ok(());
            }
            Lease::Released => ("is released", "Take it: `phasegate wave take TASK --worker WORKER --branch BRANCH`."),
            Lease::Done(_) => (
                "is handed in",
                "Nothing runs out any more. What came after is handed in again: `phasegate wave done TASK`.",
            ),
            Lease::Stopped(_) => {
                ("is stopped", "A person decides first, and releases it: `phasegate wave release TASK`.")
            }
        };
        Err(not_now(format!("{} {says}: nobody holds it.", shown(task)), next))
    })
}

/// Nobody holds it any more. What is in the target can't be released; of what was stopped a person has decided. What was
/// stopped or refused is remembered, so that the task may be worked on anew, and that work does not come in.
pub fn release(looked: &Looked, task: &str) -> Step {
    let nth = looked.ledger.rows.iter().position(|row| row.task.as_str() == task);
    let row = nth.and_then(|nth| looked.ledger.rows.get(nth).zip(looked.facts.rows.get(nth)));
    let claimed = |row: &Row| !matches!(row.lease, Lease::Stopped(_) | Lease::Done(_) | Lease::Released);
    if let Some(arrival) = row.filter(|(row, _)| claimed(row)).and_then(|(_, known)| known.came_in()) {
        return Err(past_the_check(task, arrival));
    }
    if let Some(turn @ super::Turn::Merged { .. }) = nth.and_then(|nth| looked.turns.get(nth)) {
        return Err(not_now(format!("{} is {}.", shown(task), turn.words()), "Revert it first, if it is not to stay."));
    }
    let judged = nth.and_then(|nth| looked.judged.get(nth));
    let refused = row.is_some_and(|(row, _)| match row.lease {
        Lease::Stopped(_) => true,
        Lease::Done(_) => !judged.is_some_and(passes),
        _ => false,
    });
    let mut after = with(&looked.ledger, task, |row| {
        row.lease = Lease::Released;
        row.fork_base = Echo::Pending { pool: matches!(row.fork_base, Echo::Synced(_) | Echo::Pending { pool: true }) };
        Ok(())
    })?;
    if let Some(work) = nth.filter(|_| refused).and_then(|nth| work(looked, nth)) {
        after.note(NoteKind::Stopped, task, &work);
    }
    leave(looked, task, after)
}

fn passes(judged: &Judged) -> bool {
    let weighed = judged.proposal.as_ref().map(super::verdict::Proposal::weighed);
    weighed.is_some_and(|outcome| !outcome.stops()) && judged.findings.is_empty()
}

/// Where a row's work is; none: there is none beside the base.
fn work(looked: &Looked, nth: usize) -> Option<CommitId> {
    let base = looked.facts.base.as_ref().ok()?.as_ref();
    looked.facts.rows.get(nth)?.subject().filter(|subject| Some(*subject) != base).cloned()
}

fn past_the_check(task: &str, arrival: &Arrival) -> Vec<Finding> {
    let says =
        format!("The branch of {} came in with {} before it was handed in.", shown(task), arrival.commit.short());
    let next = "Look at what was merged, and revert it; or stop it (`phasegate wave stop TASK ESCALATE`), and the others go on until a person decides.";
    vec![Finding::error(BYPASSED, says, next)]
}

/// What came in with a row that is done, and was not handed in, is not made good by handing in more.
pub fn came_with_more(looked: &Looked, nth: usize, task: &str) -> Option<Vec<Finding>> {
    let row = looked.ledger.rows.get(nth).filter(|row| matches!(row.lease, Lease::Done(_)));
    let arrival = row.and(looked.facts.rows.get(nth)).and_then(RowFacts::came_in)?;
    arrival.more.as_ref().map(|more| after_the_check(task, more, arrival))
}

fn after_the_check(task: &str, tip: &CommitId, arrival: &Arrival) -> Vec<Finding> {
    let with = arrival.commit.short();
    let says = format!("Of {}, {} came in with {with}, and was not handed in.", shown(task), tip.short());
    let next = "Look at the commits that came after what was handed in, and revert them or let a person decide: what is in can't be handed in afterwards.";
    vec![Finding::error(BYPASSED, says, next)]
}

fn taken_out(task: &str, arrival: &Arrival) -> Vec<Finding> {
    let out = arrival.out.as_ref().map(CommitId::short).unwrap_or_default();
    let says = format!("{} came in with {}, and {out} took it out again.", shown(task), arrival.commit.short());
    let next = "To merge it again brings nothing: put the work on a new branch from the base, with new commits.";
    vec![Finding::error(NOT_NOW, says, next)]
}

/// A worker pastes where its worktree stands.
pub fn echo(ledger: &Ledger, task: &str, text: &str) -> Step {
    let said = Echo::parse(text).map_err(|wrong| vec![argument(wrong)])?;
    with(ledger, task, |row| {
        row.fork_base = said;
        Ok(())
    })
}

/// A worker is done: with its branch at this commit, and this verdict. A verdict that stops is recorded as a stop.
pub fn hand_in(
    ledger: &Ledger,
    task: &str,
    (tip, known): (&CommitId, Option<&RowFacts>),
    judged: &Judged,
    now: Timestamp,
) -> Step {
    let mut stopped = false;
    let mut after = with(ledger, task, |row| {
        let arrival = known.and_then(|known| known.arrived.as_ref().ok()?.as_ref());
        match (arrival, &row.lease) {
            (Some(arrival), _) if !arrival.stays() => return Err(taken_out(task, arrival)),
            // Once more, and nothing is new.
            (Some(_), Lease::Done(before)) if before.begin(tip) => {}
            (Some(arrival), Lease::Done(_)) => return Err(after_the_check(task, tip, arrival)),
            (Some(arrival), _) => return Err(past_the_check(task, arrival)),
            (None, _) => {}
        }
        let state = row.lease.state(now);
        if state == State::Ready {
            let says = format!("Nobody holds {}: {}.", shown(task), shown(&row.lease.to_string()));
            let next = match row.lease {
                Lease::Released => "Take it first: `phasegate wave take TASK --worker WORKER --branch BRANCH`.",
                _ => {
                    "Where the same worker was at it all the time, `phasegate wave extend TASK` first, and hand it in then. Somebody else takes it: \
                     what a worker left whose lease ran out is not taken for sound."
                }
            };
            return Err(not_now(says, next));
        }
        if state == State::Stopped {
            return Err(not_now(format!("{} is stopped.", shown(task)), "A person decides first, and releases it."));
        }
        let weighed = judged.proposal.as_ref().map(super::verdict::Proposal::weighed);
        match weighed.and_then(Stop::of) {
            Some(stop) => {
                row.lease = Lease::Stopped(stop);
                stopped = true;
            }
            None if judged.findings.is_empty() && judged.proposal.is_some() => {
                row.lease = Lease::Done(Digits::from(tip))
            }
            None => return Err(judged.findings.clone()),
        }
        Ok(())
    })?;
    if stopped {
        after.note(NoteKind::Stopped, task, tip);
    }
    readable(&after)
}

/// Stopping is never refused, but for what is merged already.
pub fn stop(looked: &Looked, task: &str, stop: Stop) -> Step {
    let turn = looked.ledger.rows.iter().zip(&looked.turns).find(|(row, _)| row.task.as_str() == task);
    if let Some((_, turn @ super::Turn::Merged { .. })) = turn {
        return Err(not_now(format!("{} is {}.", shown(task), turn.words()), "Revert it first, then stop it."));
    }
    let mut after = with(&looked.ledger, task, |row| {
        row.lease = Lease::Stopped(stop);
        Ok(())
    })?;
    let nth = looked.ledger.rows.iter().position(|row| row.task.as_str() == task);
    if let Some(work) = nth.and_then(|nth| work(looked, nth)) {
        after.note(NoteKind::Stopped, task, &work);
    }
    readable(&after)
}

/// The wave as it is once branches are merged back. What came in before is remembered. Whether it may be is for
/// [`super::judge`] to say of that, and [`against_merging`].
pub fn merging(looked: &Looked) -> Ledger {
    let mut after = Ledger { status: Status::Merging, ..looked.ledger.clone() };
    let live = looked.ledger.status == Status::Live;
    for (row, known) in looked.ledger.rows.iter().zip(&looked.facts.rows).filter(|_| live) {
        if let Some(arrival) = known.came_in().filter(|_| matches!(row.lease, Lease::Done(_))) {
            after.note(NoteKind::Early, row.task.as_str(), &arrival.commit);
        }
    }
    // With the lines as they will be.
    readable(&after).unwrap_or(after)
}

/// Whether the merge-back can't begin: something stands against all of the wave, or against a row that is still to be merged.
/// What is merged, and what was stopped, holds up nobody else.
pub fn against_merging(judged: &Looked, now: Timestamp) -> bool {
    let waits = |nth: usize| {
        let row = judged.ledger.rows.get(nth).zip(judged.facts.rows.get(nth));
        row.is_some_and(|(row, known)| match row.lease.state(now) {
            State::Held => true,
            State::Done => known.came_in().is_none(),
            State::Ready | State::Stopped => false,
        })
    };
    judged.found.iter().any(|one| one.finding.blocks() && one.row.is_none_or(waits))
}

/// What keeps a wave from being closed: rows that are neither merged nor stopped.
pub fn open_ends(looked: &Looked) -> Vec<Finding> {
    let rows = looked.ledger.rows.iter().zip(&looked.turns).filter(|(_, turn)| !turn.is_over());
    rows.map(|(row, turn)| {
        let says = format!("{} {}.", shown(row.task.as_str()), turn.words());
        let next = format!(
            "Merge it back into {} with `git merge --no-ff` (a squash leaves no trace of it), or stop it: `phasegate wave stop TASK ESCALATE`. Where \
             the wave goes elsewhere: `--into BRANCH`.",
            shown(&looked.facts.target.name)
        );
        Finding::error(NOT_NOW, says, next).at(FILE, Some(row.line))
    })
    .collect()
}

/// What keeps a wave from being closed by anybody but a person who says why: all that stands against it.
pub fn in_the_way(looked: &Looked) -> Vec<Finding> {
    let mut findings: Vec<Finding> = looked.findings().into_iter().filter(Finding::blocks).collect();
    if !findings.is_empty() {
        let says = format!("The wave can't be closed while this stands against it ({}).", findings.len());
        let next = "Mend it. Where it is to stay as it is, a person decides: `phasegate wave close --despite REASON`.";
        findings.push(Finding::error(NOT_NOW, says, next));
    }
    findings
}

/// The last state of a ledger that is committed is what others find once it is gone.
pub fn not_committed() -> Finding {
    let says = format!("`{FILE}` at `HEAD` is not as it is here.");
    let next = "Commit it in its last state, then close the wave, and commit that too: `phasegate guard check` judges the deletion by the last ledger that was committed.";
    Finding::error(NOT_NOW, says, next).at(FILE, None)
}

/// A digest in the ledger would go with it.
pub fn log_is_ledger(log: &str) -> Finding {
    let says = format!("The log is the ledger itself, {}, which is deleted.", shown(log));
    Finding::error(ARGUMENTS, says, "Name another file: `--log FILE`.")
}

/// Nobody can tell later why.
pub fn no_reason() -> Finding {
    let says = "`--despite` has no reason.";
    Finding::error(ARGUMENTS, says, "Say why the wave is closed all the same: the reason goes into the digest.")
}
