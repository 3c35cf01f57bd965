//! `WAVE.md`: who works on what, on which branch, forked from where.
//!
//! ```text
//! wave: parsers status: live
//! base: 0123456789abcdef0123456789abcdef01234567
//!
//! ### Roster
//!
//! | task | worker | branch | lease | fork-base |
//! |---|---|---|---|---|
//! | dates | worker-1 | wave/dates | 2h since 2026-03-01T10:00:00Z | 0123456789abcdef0123456789abcdef01234567 |
//! ```
//!
//! Between the base and the roster stand the notes, if there are any: `stopped: dates 0123abc` for work that was stopped, which
//! nobody makes good by giving its task to another, `early: dates 0123abc` for what came in while the wave was live, and `left: dates 0123abc`
//! for what a worker left who does not hold the task any more. `into: develop` before them is the branch that the wave goes into.
//!
//! Spacing, line ends, a byte order mark, the alignment of the table and letter case have no meaning. Everything else has:
//! a line that is not of the template is refused, because a ledger that two people read in two ways proves nothing.

mod read;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wrong;

use std::fmt::Write as _;

use serde::Serialize;

use super::cell::{Branch, Digits, Echo, TaskId, WaveName, Worker};
use super::lease::Lease;
use crate::finding::Finding;
use crate::ids::CommitId;

pub use read::read;

/// The rule of a ledger that is not as the template has it.
pub const MALFORMED: &str = "wave_ledger_malformed";
/// Where the ledger is, unless somebody says otherwise.
pub const FILE: &str = "WAVE.md";
/// A longer file is not read.
pub const LARGEST: usize = 256 * 1024;
/// A roster has no more rows.
pub const MOST_ROWS: usize = 200;
/// Nor are there more notes.
pub const MOST_NOTES: usize = 400;
/// More problems than these are counted, not told.
pub const MOST_PROBLEMS: usize = 50;

/// Whether workers are still at it, or their branches are being merged back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Live,
    Merging,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Merging => "merging",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Live, Self::Merging].into_iter().find(|status| text.eq_ignore_ascii_case(status.as_str()))
    }
}

/// What a note remembers of a task that its row does not show any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// Its work at this commit was stopped, or refused and released: nothing of that comes in, whoever has the task now.
    Stopped,
    /// It came in with this commit while the wave was live.
    Early,
    /// What a worker had there whose lease had run out when somebody else took the task, or it was released.
    Left,
}

impl NoteKind {
    pub const ALL: [Self; 3] = [Self::Stopped, Self::Early, Self::Left];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Early => "early",
            Self::Left => "left",
        }
    }
}

/// A line between the base and the roster: `stopped: dates 0123abc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    pub kind: NoteKind,
    pub task: TaskId,
    pub commit: Digits,
    /// Where it stands in the file.
    pub line: u32,
}

impl Note {
    /// Whether both remember the same.
    pub fn is(&self, other: &Self) -> bool {
        self.kind == other.kind && self.task == other.task && self.commit.agree(&other.commit)
    }

    /// Whether it remembers work of this row that was stopped.
    pub fn stops(&self, row: &Row) -> bool {
        self.kind == NoteKind::Stopped && self.task == row.task
    }
}

/// A row of the roster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    pub task: TaskId,
    /// None: nobody, which only a row that is released or stopped may say.
    pub worker: Option<Worker>,
    pub branch: Branch,
    pub lease: Lease,
    pub fork_base: Echo,
    /// Where it stands in the file.
    pub line: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ledger {
    pub name: WaveName,
    pub status: Status,
    /// What every fork must have as its base: the orchestrator's `HEAD` when the wave was opened.
    pub base: Digits,
    /// Where `base:` stands in the file.
    pub base_line: u32,
    /// The branch that everything is merged back into, where that was named when the wave was opened.
    pub into: Option<Branch>,
    /// What is to be remembered of tasks, whatever becomes of their rows.
    pub notes: Vec<Note>,
    /// In the order of the merge-back.
    pub rows: Vec<Row>,
}

impl Ledger {
    pub fn row(&self, task: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.task.as_str() == task)
    }

    pub(super) fn row_mut(&mut self, task: &str) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.task.as_str() == task)
    }

    /// Remembers something of a task, once.
    pub(super) fn note(&mut self, kind: NoteKind, task: &str, commit: &CommitId) {
        let Some(task) = self.row(task).map(|row| row.task.clone()) else { return };
        let note = Note { kind, task, commit: Digits::from(commit), line: 0 };
        if !self.notes.iter().any(|other| other.is(&note)) {
            self.notes.push(note);
        }
    }

    /// The file. Reading it gives the same ledger.
    pub fn write(&self) -> String {
        let mut text = format!("wave: {} status: {}\nbase: {}\n", self.name, self.status.as_str(), self.base);
        if let Some(into) = &self.into {
            let _ = writeln!(text, "into: {into}");
        }
        for Note { kind, task, commit, .. } in &self.notes {
            let _ = writeln!(text, "{}: {task} {commit}", kind.as_str());
        }
        text.push_str("\n### Roster\n\n| task | worker | branch | lease | fork-base |\n|---|---|---|---|---|\n");
        for Row { task, worker, branch, lease, fork_base, .. } in &self.rows {
            let worker = worker.as_ref().map_or("-", Worker::as_str);
            let _ = writeln!(text, "| {task} | {worker} | {branch} | {lease} | {fork_base} |");
        }
        text
    }
}

/// What a problem is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Field {
    File,
    Wave,
    Status,
    Base,
    Into,
    Note,
    Roster,
    Row,
    Task,
    Worker,
    Branch,
    Lease,
    ForkBase,
}

/// One thing that is wrong with the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub line: u32,
    pub field: Field,
    pub says: String,
    pub next: String,
}

impl Problem {
    pub fn finding(&self, path: &str) -> Finding {
        Finding::error(MALFORMED, self.says.clone(), self.next.clone()).at(path, Some(self.line))
    }
}
