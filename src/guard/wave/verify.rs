//! Whether every worker began where the wave began: by the pasted echoes, and by git's own merge bases.
//!
//! A row is held to its fork base while somebody works on it or has handed it in. A row that nobody holds, or that was
//! stopped, can't be merged, so it holds up nobody else. On a runner that takes worktrees from a pool, the check of the
//! branch moves from the spawn to the merge-back; it moves, and is never left out.

#[cfg(test)]
mod graphs;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::cell::{Digits, Echo, shown};
use super::git::{Arrival, Facts, Fork, Known, RowFacts};
use super::lease::{LONGEST_LEASE, Lease, State};
use super::ledger::{FILE, Ledger, MALFORMED, Note, NoteKind, Row, Status};
use super::verdict::MISMATCH;
use crate::finding::Finding;
use crate::ids::CommitId;

/// A fork base that is not proved.
pub const UNVERIFIED: &str = "unverified_fork_base";
/// A fork base that is not proved yet, and need not be.
pub const PENDING: &str = "fork_base_pending";
/// Something came in that nobody had let in.
pub const BYPASSED: &str = "bypassed_gate";

const UNDO: &str = "Look at what was merged, and revert it: once its content is out again, nothing is told of it. Where it is to stay, a person \
                    decides, and closes the wave with `--despite REASON`.";

/// What the monitor calls the commit that it looks at, as if that were merged.
pub const AS_IF: &str = "HEAD";

/// How far a worker's clock may be ahead of this one.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// How much of a fork base has to be proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// What its status asks for: while it is live, an echo may still come.
    ByStatus,
    /// All that the merge-back asks for, whatever its status is.
    AsAtMergeBack,
}

/// The first few of some paths, for a message.
pub(super) fn several<'p>(paths: impl ExactSizeIterator<Item = &'p str>) -> String {
    let more = paths.len().saturating_sub(MOST_SHOWN);
    let mut names: Vec<String> = paths.take(MOST_SHOWN).map(shown).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// Of more paths a message tells the number.
const MOST_SHOWN: usize = 3;

/// A finding, and the row that it is about; none: all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub row: Option<usize>,
    pub finding: Finding,
}

/// What of a ledger git does not bear out, in the order of the file.
pub fn verify(hold: Hold, path: &str, ledger: &Ledger, facts: &Facts, now: Timestamp) -> Vec<Found> {
    let mut check = Check { hold, path, ledger, facts, now, found: Vec::new() };
    check.base();
    for (nth, row) in ledger.rows.iter().enumerate() {
        match facts.rows.get(nth) {
            Some(known) => check.row(nth, row, known),
            None => check.unknown((nth, row)),
        }
    }
    check.one_at_a_time();
    check.remembered();
    check.behind();
    check.found
}

struct Check<'c> {
    hold: Hold,
    path: &'c str,
    ledger: &'c Ledger,
    facts: &'c Facts,
    now: Timestamp,
    found: Vec<Found>,
}

impl Check<'_> {
    fn find(&mut self, row: Option<usize>, line: u32, finding: Finding) {
        let finding = finding.at(self.path, Some(line));
        self.found.push(Found { row, finding });
    }

    fn error(&mut self, (nth, row): (usize, &Row), rule: &str, says: String, next: impl Into<String>) {
        self.find(Some(nth), row.line, Finding::error(rule, says, next));
    }

    /// The commit that all of them are held to.
    fn base_id(&self) -> Option<&CommitId> {
        self.facts.base.as_ref().ok().and_then(Option::as_ref)
    }

    fn base(&mut self) {
        let (base, target) = (shown(self.ledger.base.as_str()), shown(&self.facts.target.name));
        let (says, next) = match (&self.facts.base, &self.facts.based) {
            (Err(why), _) => (
                format!("Whether the base {base} is a commit can't be told: {why}."),
                "Put right what keeps git from telling, and verify again.",
            ),
            (Ok(None), _) => (
                format!("The base {base} is no commit of this repository, or the beginning of several."),
                "Write all 40 digits of the commit that the wave was opened at, and fetch it.",
            ),
            (Ok(Some(_)), Err(why)) => (
                format!("Whether the base {base} is in {target} can't be told: {why}."),
                "Put right what keeps git from telling, and verify again.",
            ),
            (Ok(Some(_)), Ok(false)) => (
                format!("The base {base} is not in the history of {target}."),
                "Open the wave at a commit of the branch that it is merged back into.",
            ),
            (Ok(Some(_)), Ok(true)) => return,
        };
        self.find(None, self.ledger.base_line, Finding::error(UNVERIFIED, says, next));
    }

    fn row(&mut self, nth: usize, row: &Row, known: &RowFacts) {
        let at = (nth, row);
        self.clock(at);
        match row.lease.state(self.now) {
            State::Ready if row.lease == Lease::Released => {}
            State::Ready => self.came_in(at, known, "was never handed in"),
            State::Stopped => self.came_in(at, known, "was stopped"),
            State::Held | State::Done => {
                if self.facts.target.is(&row.branch) {
                    let says = format!(
                        "The branch {} is the one that everything is merged back into.",
                        shown(row.branch.as_str())
                    );
                    self.error(at, UNVERIFIED, says, "Give the worker a branch of its own, forked from the base.");
                    return;
                }
                if self.echo(at) {
                    self.fork(at, known);
                }
                match &row.lease {
                    Lease::Done(tip) => {
                        self.handed_in(at, tip, known);
                        self.ledger_written(at, known);
                    }
                    _ => self.came_in(at, known, "was not handed in yet"),
                }
            }
        }
    }

    /// Git was not asked of it.
    fn unknown(&mut self, at: (usize, &Row)) {
        let says = format!("Nothing is known of the branch {}.", shown(at.1.branch.as_str()));
        self.error(at, UNVERIFIED, says, "Verify again.");
    }

    /// A lease is no lease where its end can be put off for ever.
    fn clock(&mut self, (nth, row): (usize, &Row)) {
        let ahead = |at: Timestamp, most: SignedDuration| at.duration_since(self.now) > most;
        let says = match &row.lease {
            Lease::Since { at, .. } if ahead(*at, SKEW) => {
                format!("The lease of {} begins at {at}, which is to come.", shown(row.task.as_str()))
            }
            Lease::Until(at) if ahead(*at, LONGEST_LEASE) => {
                format!("The lease of {} ends at {at}, more than 7 days from now.", shown(row.task.as_str()))
            }
            _ => return,
        };
        self.error(
            (nth, row),
            MALFORMED,
            says,
            "Write when it began and how long it holds, at most 7 days: `2h since MOMENT`.",
        );
    }

    /// What is pasted, held against what it should be. True: the branch itself is to be looked at, too.
    fn echo(&mut self, at: (usize, &Row)) -> bool {
        let row = at.1;
        let merging = self.hold == Hold::AsAtMergeBack || self.ledger.status == Status::Merging;
        let task = shown(row.task.as_str());
        let (digits, pool) = match &row.fork_base {
            Echo::Fresh(digits) => (digits, false),
            Echo::Synced(digits) => (digits, true),
            Echo::Missing => {
                let says = format!("The fork-base of {task} is missing.");
                self.error(at, UNVERIFIED, says, format!("Write {}.", Echo::FORM));
                return false;
            }
            Echo::Pending { pool } => {
                let says = format!("The fork-base of {task} is pending.");
                let next = match pool {
                    false => "Paste what `git -C WORKTREE rev-parse HEAD` prints before the worker starts.",
                    true => {
                        "Let the worker merge the base as its first step, and write `step-0` and what `git rev-parse HEAD` prints then."
                    }
                };
                if merging {
                    self.error(at, UNVERIFIED, says, next);
                } else {
                    self.find(Some(at.0), row.line, Finding::warning(PENDING, says, next));
                }
                return false;
            }
        };
        if !self.is_base(digits) {
            let says = format!(
                "The fork-base of {task} is {}, and the base {}.",
                shown(digits.as_str()),
                shown(self.ledger.base.as_str())
            );
            let base = self.ledger.base.as_str();
            let next = format!(
                "Put the worktree at the base before any work, `git reset --hard {base}` in it, or make it anew, `git worktree add -b {} PATH {base}`; \
                 then paste what `git rev-parse HEAD` prints.",
                row.branch
            );
            self.error(at, UNVERIFIED, says, next);
        }
        // A pooled worktree may be behind until its worker has synced it.
        merging || !pool || matches!(row.lease, Lease::Done(_))
    }

    fn is_base(&self, digits: &Digits) -> bool {
        match self.base_id() {
            Some(base) => digits.begin(base),
            None => digits.agree(&self.ledger.base),
        }
    }

    /// The branch as it is.
    fn fork(&mut self, at: (usize, &Row), known: &RowFacts) {
        let branch = shown(at.1.branch.as_str());
        let base = shown(self.ledger.base.as_str());
        let next = "Merge the base into the branch, or fork the work anew from the base: what was built on another commit is not taken for sound.";
        let says = match &known.fork {
            Err(why) => {
                let says = format!("Where {branch} forked can't be told: {why}.");
                self.error(at, UNVERIFIED, says, "Put right what keeps git from telling, and verify again.");
                return;
            }
            Ok(None) => {
                let says = format!("There is no branch {branch} here, so its fork-base is not proved.");
                let base = self.ledger.base.as_str();
                let next = format!(
                    "Fetch the branch, or make it: `git worktree add -b {} PATH {base}`. Or write its name as it is.",
                    at.1.branch
                );
                self.error(at, UNVERIFIED, says, next);
                return;
            }
            Ok(Some(Fork::At(fork))) if Some(fork) == self.base_id() => return,
            Ok(Some(Fork::At(fork))) => {
                format!("{branch} forked from {}, and not from the base {base}.", shown(fork.as_str()))
            }
            Ok(Some(Fork::Nowhere)) => format!("{branch} shares no history with the base {base}."),
            Ok(Some(Fork::Several)) => {
                format!(
                    "{branch} and the base {base} were merged into each other crosswise, so it has no one fork-base."
                )
            }
        };
        self.error(at, UNVERIFIED, says, next);
    }

    /// What was handed in is still what the branch has, or is in the target already; and nothing else came in with it.
    fn handed_in(&mut self, at: (usize, &Row), tip: &Digits, known: &RowFacts) {
        let (branch, tip) = (shown(at.1.branch.as_str()), shown(tip.as_str()));
        if let Err(why) = &known.arrived {
            let says = format!("Whether {branch} is merged can't be told: {why}.");
            self.error(at, MISMATCH, says, "Put right what keeps git from telling, and verify again.");
        }
        let arrival = known.arrived.as_ref().ok().and_then(Option::as_ref);
        if let Some(arrival) = arrival {
            self.as_handed_in(at, arrival, known);
        }
        match (&known.handed, &known.tip) {
            (Err(why), _) | (_, Err(why)) => {
                let says = format!("Whether {branch} is as it was handed in can't be told: {why}.");
                self.error(at, MISMATCH, says, "Put right what keeps git from telling, and verify again.");
            }
            (Ok(None), _) => {
                let says =
                    format!("What was handed in, {tip}, is no commit of this repository, or the beginning of several.");
                self.error(at, MISMATCH, says, "Write all 40 digits of the branch's tip, and fetch it.");
            }
            // It is told what came in.
            (Ok(Some(_)), Ok(Some(now))) if arrival.is_some_and(|one| one.more.as_ref() == Some(now)) => {}
            (Ok(Some(handed)), Ok(Some(now))) if handed != now => {
                let says = format!("{branch} was handed in at {tip} and is at {} now.", shown(now.as_str()));
                let next = match arrival {
                    None => "Look at what came after, and hand it in again; or put the branch back.",
                    Some(_) => {
                        "What was handed in is merged: leave what came after to another task, and put the branch back."
                    }
                };
                self.error(at, MISMATCH, says, next);
            }
            _ => {}
        }
        if known.squashed == Ok(true) {
            let target = shown(&self.facts.target.name);
            let says = format!(
                "All that {branch} changes is in {target} already, and its commits are not: a squash leaves no trace."
            );
            let next = "Merge it with `git merge --no-ff` all the same: that brings nothing but the trace.";
            self.find(Some(at.0), at.1.line, Finding::warning(MISMATCH, says, next));
        }
        let ahead = match &known.ahead {
            Ok(None) => return,
            _ if arrival.is_some() => return,
            Ok(Some(there)) => format!(
                "{branch} is at {} at `origin`, with commits that were not handed in; here it is at {tip}.",
                there.short()
            ),
            Err(why) => format!("Whether {branch} is the same at `origin` can't be told: {why}."),
        };
        let next = "Merge what was handed in, and not what is at `origin`; or fetch that, and hand it in again.";
        self.find(Some(at.0), at.1.line, Finding::warning(MISMATCH, ahead, next));
    }

    /// A row that is done came in: whether with what was handed in, and with nothing else.
    fn as_handed_in(&mut self, at: (usize, &Row), arrival: &Arrival, known: &RowFacts) {
        let (task, with) = (shown(at.1.task.as_str()), arrival.commit.short());
        if let Some(out) = &arrival.out {
            let says = format!("{task} came in with {with}, and {} took it out again.", out.short());
            let next =
                "To merge it again brings nothing. Release it, and take it with a new branch; or revert the revert.";
            self.error(at, MISMATCH, says, next);
            return;
        }
        if let Some(more) = &arrival.more {
            let says = format!(
                "{task} was handed in at {}, and {with} merged {}, which nobody has handed in.",
                arrival.what.short(),
                more.short()
            );
            let next = "Look at the commits between the two, and revert the merge or let a person decide.";
            self.error(at, BYPASSED, says, next);
        }
        self.as_merged(at, arrival, known);
        match &known.followed {
            Ok(None) => {}
            Ok(Some(next)) => {
                let says = format!(
                    "{task} came in by a fast-forward, and {} stands on it: whether that is its branch's can't be told.",
                    next.short()
                );
                let next = "Look at that commit. Merge with `git merge --no-ff`, and git shows what came in.";
                self.find(Some(at.0), at.1.line, Finding::warning(BYPASSED, says, next));
            }
            Err(why) => {
                let says = format!("What came in with {task} can't be told: {why}.");
                self.error(at, BYPASSED, says, "Put right what keeps git from telling, and verify again.");
            }
        }
    }

    /// The merge has what git makes of the two. What somebody put beside it, or left out, nobody has handed in.
    fn as_merged(&mut self, at: (usize, &Row), arrival: &Arrival, known: &RowFacts) {
        let (task, with) = (shown(at.1.task.as_str()), arrival.commit.short());
        match &known.altered {
            Ok(paths) if paths.is_empty() => {}
            Ok(paths) => {
                let says = format!(
                    "{task} came in with {with}, which is not as git merges the two: {}.",
                    several(paths.iter().map(String::as_str))
                );
                let next = "Look at the files, and put right by a commit what the merge has beside what was handed in, or leaves out of it. \
                            What a person wants beside it goes in by a commit of its own.";
                self.error(at, BYPASSED, says, next);
            }
            Err(why) => {
                let says = format!("Whether {with} is as git merges {task} can't be told: {why}.");
                self.error(at, BYPASSED, says, "Put right what keeps git from telling, and verify again.");
            }
        }
    }

    /// A worker that writes the ledger would take down where it began, or who else works on what.
    fn ledger_written(&mut self, at: (usize, &Row), known: &RowFacts) {
        let branch = shown(at.1.branch.as_str());
        match &known.wrote_ledger {
            Ok(false) => {}
            Ok(true) => {
                let says = format!("{branch} changes {FILE}, which no worker writes.");
                self.error(at, MALFORMED, says, "Take that out of the branch, and hand it in again.");
            }
            Err(why) => {
                let says = format!("Whether {branch} changes {FILE} can't be told: {why}.");
                self.error(at, MALFORMED, says, "Put right what keeps git from telling, and verify again.");
            }
        }
    }

    /// Nothing that was stopped comes in, nor what nobody has handed in.
    fn came_in(&mut self, at: (usize, &Row), known: &RowFacts, why: &str) {
        if let Err(why) = &known.arrived {
            let says = format!("Whether anything of {} was merged can't be told: {why}.", shown(at.1.task.as_str()));
            self.error(at, BYPASSED, says, "Put right what keeps git from telling, and verify again.");
        }
        if let (Some(arrival), Ok(Some(tip))) = (known.came_in(), &known.tip) {
            let what = if arrival.what == *tip {
                format!("its branch {} ({})", shown(at.1.branch.as_str()), tip.short())
            } else {
                format!("{} of its branch {}", arrival.what.short(), shown(at.1.branch.as_str()))
            };
            let says = format!(
                "{} {why}, and {what} is in {} since {}.",
                shown(at.1.task.as_str()),
                shown(&self.facts.target.name),
                arrival.commit.short()
            );
            let next = self.undo(at.1, arrival);
            self.error(at, BYPASSED, says, next);
        }
    }

    /// What to do about what came in.
    fn undo(&self, row: &Row, arrival: &Arrival) -> String {
        let mut next = UNDO.to_owned();
        if arrival.is_forward() {
            let base = self.ledger.base.as_str();
            next = format!(
                "A branch without work of its own, made where {} was by then, goes back to the base: `git reset --hard {base}` in its \
                 worktree, or `git branch -f {} {base}`. If it is the branch's work: {UNDO}",
                shown(&self.facts.target.name),
                row.branch
            );
        }
        if self.facts.target.name == AS_IF {
            let held = row.lease.state(self.now) == State::Held;
            let first = if held { "hand it in first (`phasegate wave done TASK`)" } else { "a person decides first" };
            next = format!("Where it is not merged yet, {first}. Where it is: {next}");
        }
        if row.lease.state(self.now) == State::Held {
            next.push_str(" Or stop the row (`phasegate wave stop TASK ESCALATE`): then the others go on.");
        }
        next
    }

    /// What the rows do not show any more: work that was stopped, whoever has its task now; and what came in early.
    fn remembered(&mut self) {
        let (ledger, facts) = (self.ledger, self.facts);
        for (note, noted) in ledger.notes.iter().zip(&facts.noted) {
            let nth = ledger.rows.iter().position(|row| row.task == note.task);
            let task = shown(note.task.as_str());
            if note.kind == NoteKind::Left {
                self.left(nth, note, noted);
                continue;
            }
            if note.kind == NoteKind::Early {
                let with = note.commit.as_str();
                let says = format!("{task} came in with {} while the wave was live.", with.get(..12).unwrap_or(with));
                let next = "Look at what was merged: it came in before the fork bases were proved.";
                self.find(nth, note.line, Finding::warning(BYPASSED, says, next));
                continue;
            }
            // Where the row is stopped still, that tells it.
            let stands = nth.and_then(|nth| ledger.rows.get(nth).zip(facts.rows.get(nth)));
            if stands.is_some_and(|(row, known)| matches!(row.lease, Lease::Stopped(_)) && known.came_in().is_some()) {
                continue;
            }
            match noted {
                Ok(Some(arrival)) if arrival.stays() => {
                    let says = format!(
                        "Work of {task} that was stopped ({}) is in {} since {}.",
                        arrival.what.short(),
                        shown(&facts.target.name),
                        arrival.commit.short()
                    );
                    self.find(nth, note.line, Finding::error(BYPASSED, says, UNDO));
                }
                Ok(_) => {}
                Err(why) => {
                    let says = format!("Whether work of {task} that was stopped came in can't be told: {why}.");
                    let next = "Put right what keeps git from telling, and verify again.";
                    self.find(nth, note.line, Finding::error(BYPASSED, says, next));
                }
            }
        }
    }

    /// What a worker left who did not hold the task any more, and what came in all the same.
    fn left(&mut self, nth: Option<usize>, note: &Note, noted: &Known<Option<Arrival>>) {
        let task = shown(note.task.as_str());
        let (says, next) = match noted {
            Ok(Some(arrival)) if arrival.stays() => (
                format!(
                    "What a worker left of {task} ({}), who did not hold it any more, is in {} since {}.",
                    arrival.what.short(),
                    shown(&self.facts.target.name),
                    arrival.commit.short()
                ),
                UNDO,
            ),
            Ok(_) => return,
            Err(why) => (
                format!("Whether what a worker left of {task} came in can't be told: {why}."),
                "Put right what keeps git from telling, and verify again.",
            ),
        };
        self.find(nth, note.line, Finding::error(BYPASSED, says, next));
    }

    /// Where `origin` has more of the branch that everything goes into, what is here may not show what is merged already.
    fn behind(&mut self) {
        let target = shown(&self.facts.target.name);
        let says = match &self.facts.behind {
            Ok(None) => return,
            Ok(Some(there)) => {
                format!(
                    "{target} is at {} at `origin`, with commits that are not here: what is merged there does not show.",
                    there.short()
                )
            }
            Err(why) => format!("Whether {target} is the same at `origin` can't be told: {why}."),
        };
        let next = "Bring it here first (`git pull`), and look again.";
        self.find(None, self.ledger.base_line, Finding::warning(MISMATCH, says, next));
    }

    /// Merge-back is one after the other, in the roster's order.
    fn one_at_a_time(&mut self) {
        let mut seen: BTreeMap<&CommitId, usize> = BTreeMap::new();
        let mut latest: Option<(usize, usize)> = None;
        let mut awaited: Option<usize> = None;
        let mut forward: Option<usize> = None;
        let rows = self.ledger.rows.iter().zip(&self.facts.rows).enumerate();
        let mut found = Vec::new();
        for (nth, (row, known)) in rows.filter(|(_, (row, _))| matches!(row.lease, Lease::Done(_))) {
            let Some(arrival) = known.came_in() else {
                awaited = awaited.or(known.arrived.is_ok().then_some(nth));
                continue;
            };
            let name = |nth: usize| self.ledger.rows.get(nth).map_or_else(String::new, |row| shown(row.task.as_str()));
            if self.ledger.status == Status::Live {
                let says = format!("{} came in with {} while the wave was live.", name(nth), arrival.commit.short());
                let next =
                    "Begin the merge-back first (`phasegate wave merging`): then each row is held to its fork base.";
                found.push((nth, row, Finding::error(BYPASSED, says, next)));
            }
            if let Some(other) = seen.insert(&arrival.merge, nth) {
                let says = format!(
                    "{} came in with the same commit, {}, as {}.",
                    name(nth),
                    arrival.merge.short(),
                    name(other)
                );
                let next = "Merge one branch at a time, so that each can be looked at and taken back by itself.";
                found.push((nth, row, Finding::error(BYPASSED, says, next)));
            } else if let Some(before) =
                awaited.or(latest.filter(|(later, _)| *later > arrival.nth).map(|(_, before)| before))
            {
                let says = format!("{} came in before {}, which the roster has first.", name(nth), name(before));
                found.push((nth, row, Finding::warning(BYPASSED, says, "Merge in the roster's order.")));
            }
            if let Some(before) = forward.filter(|_| arrival.is_forward()) {
                let says = format!(
                    "{} and {} came in by fast-forward, so whether it was one at a time can't be told.",
                    name(before),
                    name(nth)
                );
                let next = "Merge with `git merge --no-ff`, and git shows each by itself.";
                found.push((nth, row, Finding::warning(BYPASSED, says, next)));
            }
            if arrival.is_forward() {
                forward = Some(nth);
            }
            if latest.is_none_or(|(later, _)| later < arrival.nth) {
                latest = Some((arrival.nth, nth));
            }
        }
        for (nth, row, finding) in found {
            self.find(Some(nth), row.line, finding);
        }
    }
}
