//! Resolutions: what a person decides about a stop, as data.
//!
//! There is one kind for each way out. Which of them a stop offers follows from the state alone, so that what the issue
//! lists is what an answer is held against.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::escalation::{Cause, Escalation};
use super::record::{By, Moment};
use super::state::{State, Stop};
use crate::flow::{FlowName, Phase};
use crate::ids::{CommitId, Digest};

/// A way out of a stop. Each has a letter that is the same on every issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Remedy {
    /// It goes on. Whatever has to be shown is still to be shown.
    ApproveOverride,
    /// The criteria change.
    AmendSpec,
    /// It becomes several tasks, and is given up itself.
    SplitTask,
    /// The design changes.
    RevisePlan,
    /// A person's files go onto the branch, and it goes on.
    ProvideFix,
    /// It is given up.
    AbandonTask,
    /// A stepped wait ends.
    Continue,
}

impl Remedy {
    pub const ALL: [Self; 7] = [
        Self::ApproveOverride,
        Self::Continue,
        Self::AmendSpec,
        Self::AbandonTask,
        Self::RevisePlan,
        Self::ProvideFix,
        Self::SplitTask,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApproveOverride => "APPROVE_OVERRIDE",
            Self::AmendSpec => "AMEND_SPEC",
            Self::SplitTask => "SPLIT_TASK",
            Self::RevisePlan => "REVISE_PLAN",
            Self::ProvideFix => "PROVIDE_FIX",
            Self::AbandonTask => "ABANDON_TASK",
            Self::Continue => "CONTINUE",
        }
    }

    /// The short name. A stop offers one of the two that share a letter.
    pub fn letter(self) -> char {
        match self {
            Self::ApproveOverride | Self::Continue => 'A',
            Self::AmendSpec => 'B',
            Self::AbandonTask => 'C',
            Self::RevisePlan => 'D',
            Self::ProvideFix => 'E',
            Self::SplitTask => 'F',
        }
    }

    /// Whether one text is all that it needs, so that it can stand on the command's line.
    pub fn takes_one_text(self) -> bool {
        matches!(self, Self::ApproveOverride | Self::AbandonTask | Self::Continue)
    }
}

impl std::fmt::Display for Remedy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A decision with everything that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", content = "payload", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Resolution {
    ApproveOverride {
        rationale: String,
    },
    AmendSpec {
        amended_acceptance_criteria: Vec<String>,
        amendment_rationale: String,
    },
    SplitTask {
        new_tasks: Vec<NewTask>,
    },
    RevisePlan {
        revised_micro_plan: Vec<Module>,
    },
    ProvideFix {
        fix_description: String,
        /// Whole files by their paths.
        fix_artifacts: BTreeMap<String, String>,
    },
    AbandonTask {
        rationale: String,
    },
    Continue {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rationale: Option<String>,
    },
}

/// A task that a change is split into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    pub name: String,
    pub description: String,
    pub acceptance_criteria: Vec<String>,
    pub depends_on: Vec<String>,
}

/// A module of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    pub module_id: String,
    pub description: String,
    pub depends_on: Vec<String>,
}

impl Resolution {
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::ApproveOverride { .. } => Remedy::ApproveOverride,
            Self::AmendSpec { .. } => Remedy::AmendSpec,
            Self::SplitTask { .. } => Remedy::SplitTask,
            Self::RevisePlan { .. } => Remedy::RevisePlan,
            Self::ProvideFix { .. } => Remedy::ProvideFix,
            Self::AbandonTask { .. } => Remedy::AbandonTask,
            Self::Continue { .. } => Remedy::Continue,
        }
    }

    /// Why, in the words of whoever decided; where the kind has no such field, what it comes to.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::ApproveOverride { rationale } | Self::AbandonTask { rationale } => Some(rationale.clone()),
            Self::AmendSpec { amendment_rationale, .. } => Some(amendment_rationale.clone()),
            Self::ProvideFix { fix_description, .. } => Some(fix_description.clone()),
            Self::SplitTask { new_tasks } => {
                let names: Vec<&str> = new_tasks.iter().map(|task| task.name.as_str()).collect();
                Some(format!("split into: {}", names.join("; ")))
            }
            Self::RevisePlan { revised_micro_plan } => {
                let names: Vec<&str> = revised_micro_plan.iter().map(|module| module.module_id.as_str()).collect();
                Some(format!("another plan: {}", names.join("; ")))
            }
            Self::Continue { rationale } => rationale.clone(),
        }
    }

    /// Of its canonical JSON.
    pub fn digest(&self) -> Digest {
        Digest::of(super::chain::canonical(self).unwrap_or_default())
    }

    /// The same without what the files say, which the record has: the state is no place for it.
    pub fn in_short(&self) -> Self {
        match self {
            Self::ProvideFix { fix_description, fix_artifacts } => Self::ProvideFix {
                fix_description: fix_description.clone(),
                fix_artifacts: fix_artifacts.keys().map(|path| (path.clone(), String::new())).collect(),
            },
            other => other.clone(),
        }
    }
}

/// A resolution that was taken: the record's body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// The escalation, by the record that opened it.
    pub of: u64,
    #[serde(flatten)]
    pub resolution: Resolution,
    pub digest: Digest,
    pub said: Moment,
}

/// What is kept of it with the escalation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Its record.
    pub record: u64,
    pub digest: Digest,
    #[serde(flatten)]
    pub resolution: Resolution,
    /// The issues of the tasks that it was split into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<u64>,
}

/// Files that are to go onto the branch, until there is another head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    pub record: u64,
    /// The commit that they go on top of.
    pub head: CommitId,
    pub by: By,
    pub description: String,
    pub files: BTreeMap<String, String>,
    /// Whether this is all that its giver has to do with the change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_hand: bool,
    /// What it was given for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stood: Option<Stop>,
}

/// Tasks whose issues are to be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    pub record: u64,
    pub at: jiff::Timestamp,
    pub by: By,
    /// Each after those it depends on.
    pub tasks: Vec<NewTask>,
}

/// The ways out of this stop, by their letters. `commits`: whether the bot may write to the branch.
pub fn offered(state: &State, open: &Escalation, commits: bool) -> Vec<Remedy> {
    let merged = state.merged.is_some();
    let pipeline = state.flow == FlowName::Pipeline;
    // Before a phase begins there is a design to revise only when that phase comes after DESIGN.
    let designed = open.phase.is_some_and(|phase| match open.cause {
        Cause::Pause => phase > Phase::Design,
        _ => phase >= Phase::Design,
    });
    let waits = open.cause == Cause::Pause;
    let can = |remedy: &Remedy| match remedy {
        Remedy::ApproveOverride => !waits,
        Remedy::Continue => waits,
        Remedy::AbandonTask => true,
        Remedy::AmendSpec => !merged,
        Remedy::RevisePlan => !merged && pipeline && designed,
        // What outgrew its design is not mended by more of it, and of a wait nothing is wrong.
        Remedy::ProvideFix => !merged && commits && !waits && open.cause != Cause::Brake,
        Remedy::SplitTask => !merged && !waits,
    };
    Remedy::ALL.into_iter().filter(can).collect()
}

/// The tasks, each after those of them that it depends on. `None`: they wait for each other.
pub fn in_order<T: Clone>(of: &[T], name: impl Fn(&T) -> &str, needs: impl Fn(&T) -> &[String]) -> Option<Vec<T>> {
    let named = |wanted: &str| of.iter().position(|one| name(one) == wanted);
    let (mut done, mut left): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..of.len()).collect());
    while !left.is_empty() {
        let ready = |at: &usize| {
            let mut inside = needs(&of[*at]).iter().filter_map(|need| named(need));
            inside.all(|need| done.contains(&need))
        };
        let next = left.iter().position(ready)?;
        done.push(left.remove(next));
    }
    Some(done.into_iter().map(|at| of[at].clone()).collect())
}
