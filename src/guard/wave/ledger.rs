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

pub use read::read;

/// The rule of a ledger that is not as the template has it.
pub const MALFORMED: &str = "wave_ledger_malformed";
/// Where the ledger is, unless somebody says otherwise.
pub const FILE: &str = "WAVE.md";
/// A longer file is not read.
pub const LARGEST: usize = 256 * 1024;
/// A roster has no more rows.
pub const MOST_ROWS: usize = 200;
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

    /// The file. Reading it gives the same ledger.
    pub fn write(&self) -> String {
        let mut text = format!(
            "wave: {} status: {}\nbase: {}\n\n### Roster\n\n| task | worker | branch | lease | fork-base |\n|---|---|---|---|---|\n",
            self.name,
            self.status.as_str(),
            self.base
        );
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
