//! Whose turn it is: merge-back goes in the roster's order, one at a time.
//!
//! A row behind one that is not merged waits. A row that was stopped, or that nobody holds, is passed over: the template
//! names no dependencies, so a failure holds up nobody but its own task.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::Serialize;

use super::cell::TaskId;
use super::git::{Arrival, Facts, RowFacts};
use super::lease::{Lease, State};
use super::ledger::{Ledger, Row, Status};
use super::verdict::{Judged, Outcome};
use super::verify::Found;
use crate::ids::CommitId;

/// Where a row is on its way back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "turn", rename_all = "snake_case")]
pub enum Turn {
    /// It is in the target, since this commit.
    Merged { with: CommitId },
    /// It may be merged now.
    Next,
    /// It is handed in, and this task comes first.
    Waits { behind: TaskId },
    /// It is handed in, and the wave is not merging yet.
    Early,
    /// It is handed in, and something stands against it.
    Refused,
    /// Its worker is at it.
    Held { until: Timestamp },
    /// Anyone may take it. Where its lease ran out: when that was.
    Ready { ran_out: Option<Timestamp> },
    /// A person has to decide.
    Stopped { outcome: Outcome },
}

impl Turn {
    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Merged { with } => format!("merged with {}", with.short()),
            Self::Next => "may be merged now".to_owned(),
            Self::Waits { behind } => format!("waits for `{behind}`"),
            Self::Early => "is handed in; the wave is still live".to_owned(),
            Self::Refused => "is handed in and refused".to_owned(),
            Self::Held { until } => format!("is held until {until}"),
            Self::Ready { ran_out: None } => "is released: anyone may take it".to_owned(),
            Self::Ready { ran_out: Some(at) } => {
                format!("ran out at {at}: anyone may take it, on a new branch or one that is put back to the base")
            }
            Self::Stopped { outcome } => format!("is stopped ({}): a person has to decide", outcome.as_str()),
        }
    }

    /// Nothing more is to come of it in this wave.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Merged { .. } | Self::Stopped { .. })
    }

    /// Those behind it need not wait.
    fn lets_by(&self) -> bool {
        matches!(self, Self::Merged { .. } | Self::Stopped { .. } | Self::Ready { .. })
    }
}

/// The turn of each row, in the roster's order. At most one is next.
pub fn turns(ledger: &Ledger, facts: &Facts, judged: &[Judged], found: &[Found], now: Timestamp) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut first: Option<TaskId> = None;
    for (nth, row) in ledger.rows.iter().enumerate() {
        let against = |one: &Found| one.finding.blocks() && one.row.is_none_or(|other| other == nth);
        let arrived = facts.rows.get(nth).and_then(RowFacts::came_in);
        let refused = found.iter().any(against);
        let turn = match (turn(row, judged.get(nth), arrived, refused, now), &first) {
            (Turn::Next, _) if ledger.status == Status::Live => Turn::Early,
            (Turn::Next, Some(behind)) => Turn::Waits { behind: behind.clone() },
            (turn, _) => turn,
        };
        if first.is_none() && !turn.lets_by() {
            first = Some(row.task.clone());
        }
        turns.push(turn);
    }
    turns
}

/// The turn of a row by itself.
fn turn(row: &Row, judged: Option<&Judged>, arrived: Option<&Arrival>, refused: bool, now: Timestamp) -> Turn {
    match (&row.lease, row.lease.state(now)) {
        (Lease::Stopped(stop), _) => Turn::Stopped { outcome: stop.outcome() },
        (Lease::Done(_), _) => {
            let weighed = judged.and_then(|judged| judged.proposal.as_ref()).map(super::verdict::Proposal::weighed);
            match (arrived, weighed) {
                (Some(arrival), _) => Turn::Merged { with: arrival.commit.clone() },
                (None, Some(outcome)) if outcome.stops() => Turn::Stopped { outcome },
                (None, _) if refused => Turn::Refused,
                (None, None) => Turn::Refused,
                (None, Some(_)) => Turn::Next,
            }
        }
        (lease, State::Held) => match lease.ends() {
            Some(until) => Turn::Held { until },
            None => Turn::Ready { ran_out: None },
        },
        (lease, _) => Turn::Ready { ran_out: lease.ends() },
    }
}
