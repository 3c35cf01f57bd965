//! A task on record: where its files are, where it stands, and the passes that agents had at it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::fold::FoldError;
use super::record::{About, Body};
use super::state::State;
use crate::finding::Finding;
use crate::flow::task::{self, Drive, Progress, Stage};
use crate::ids::{CommitId, Digest};
use crate::policy::Role;

/// So many contents are remembered that it had. The records keep all of them.
const CONTENTS: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The folder of its files, in the repository.
    pub folder: String,
    pub state: task::State,
    /// How many passes began.
    pub passes: u32,
    /// How long agents were at work, in milliseconds, and what that cost by what they say.
    pub spent_ms: u64,
    pub credits: u64,
    /// A pass that ended and did not say what it cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
    /// The pass that has begun and has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Begun>,
    /// What the last pass came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Ended>,
    /// What its content was after each pass, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<Digest>,
    /// What it is held to, as it was when the work began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Digest>,
    /// What the last passes lacked, since the phase is what it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacked: Vec<Finding>,
    /// Why it waits for a person, in the words of whoever says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The content with which it came to the phase that it is in, on GitHub. What a phase forbids is asked of what came since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<About>,
    /// How agents are to go on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<Drive>,
    /// Why they go on no more, where somebody was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rested: Option<String>,
}

/// A pass at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    pub pass: u32,
    pub role: Role,
    /// When it is over, whether it has ended or not.
    pub until: jiff::Timestamp,
    /// Of one that is asked for on GitHub: when it was, on which head, and what `STATE.md` was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<jiff::Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<Digest>,
}

/// What came of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub pass: u32,
    pub took_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<u64>,
    /// The digest of its report, which stands in the task's folder of the ledger; none where it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Digest>,
    /// The commit that its work became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitId>,
    /// What the content is after it.
    pub content: Digest,
    /// The phase that it claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Stage>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub gained: BTreeSet<Progress>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Task {
    fn of(folder: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            state: task::State::default(),
            passes: 0,
            spent_ms: 0,
            credits: 0,
            unpriced: false,
            open: None,
            last: None,
            contents: Vec::new(),
            frame: None,
            lacked: Vec::new(),
            why: None,
            at: None,
            drive: None,
            rested: None,
        }
    }
}

impl State {
    /// What a record does to a task.
    pub(super) fn tasked(&mut self, body: &Body, about: Option<&About>, seq: u64) -> Result<(), FoldError> {
        if let Body::TaskBegun { folder } = body {
            if self.task.is_some() {
                return Err(FoldError::BegunTwice { seq });
            }
            self.task = Some(Box::new(Task::of(folder)));
            return Ok(());
        }
        let task = self.task.as_mut().ok_or(FoldError::NoTask { seq })?;
        match body {
            Body::TaskMoved { to, actor, why, frame } => {
                let step = task::apply(task.state, *to, *actor);
                let (_, state) = step.map_err(|refusal| FoldError::Unlawful { seq, refusal })?;
                task.state = state;
                task.frame = frame.clone().or(task.frame.take());
                // A repair begins with what failed.
                if *to != Stage::Repair {
                    task.lacked.clear();
                }
                task.why.clone_from(why);
                task.at = about.cloned().or(task.at.take());
                if to.is_terminal() {
                    task.drive = None;
                }
            }
            Body::TaskReturned {} => {
                task.state = task::returned(task.state);
                // What came is verified with the rest, and is none of the phase's own doing.
                task.at = about.cloned().or(task.at.take());
            }
            Body::TaskDriven { drive, why } => {
                task.drive = *drive;
                task.rested.clone_from(why);
            }
            Body::PassBegun(begun) => {
                if task.open.is_some() || begun.pass != task.passes + 1 {
                    return Err(FoldError::NoPass { seq });
                }
                task.passes = begun.pass;
                task.open = Some(begun.clone());
                // One was asked for, and has begun.
                if begun.role == Role::Main && task.drive == Some(Drive::Once) {
                    task.drive = None;
                }
            }
            Body::PassEnded(ended) => {
                if task.open.take().is_none_or(|open| open.pass != ended.pass) {
                    return Err(FoldError::NoPass { seq });
                }
                task.spent_ms = task.spent_ms.saturating_add(ended.took_ms);
                match ended.credits {
                    Some(credits) => task.credits = task.credits.saturating_add(credits),
                    None => task.unpriced = true,
                }
                task.contents.retain(|content| *content != ended.content);
                task.contents.push(ended.content.clone());
                if task.contents.len() > CONTENTS {
                    task.contents.remove(0);
                }
                let against: Vec<Finding> = ended.findings.iter().filter(|one| one.blocks()).cloned().collect();
                if !against.is_empty() {
                    task.lacked = against;
                }
                task.last = Some((**ended).clone());
            }
            _ => {}
        }
        Ok(())
    }
}
