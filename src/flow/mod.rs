//! The law: which stage may follow which, and why not.
//!
//! A flow is **data**: one table of `(action, from, to)` that the engine runs, the exporter prints, the comment draws and
//! the model checker explores. There is no second copy. What a bare table can't carry (where to return to, which gates passed
//! for which content, how often one failed) is in the flow's state, and every guard over it is in one function,
//! [`pipeline::apply`].
//!
//! Nothing here reads a clock, a file or the network, and nothing here knows GitHub's words.

pub mod export;
pub mod merge;
pub mod pipeline;
mod table;
pub mod task;

pub use export::{Exported, Format};
pub use table::{Action, Stage, TRANSITIONS};

use std::fmt;

use serde::{Deserialize, Serialize};

/// The flows that this version carries, from the loosest to the tightest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowName {
    /// No phases: only the merge gate on verify and review evidence.
    Merge,
    /// One task, in nine phases.
    Task,
    /// A whole change, from scope to deployment.
    Pipeline,
}

impl FlowName {
    pub const ALL: [FlowName; 3] = [FlowName::Merge, FlowName::Task, FlowName::Pipeline];

    pub const fn as_str(self) -> &'static str {
        match self {
            FlowName::Merge => "merge",
            FlowName::Task => "task",
            FlowName::Pipeline => "pipeline",
        }
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The phases of the pipeline, in their order. Each has one gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Expand,
    Design,
    Analyze,
    Build,
    Review,
    Reconcile,
    Verify,
    Deploy,
}

impl Phase {
    pub const ALL: [Phase; 8] = [
        Phase::Expand,
        Phase::Design,
        Phase::Analyze,
        Phase::Build,
        Phase::Review,
        Phase::Reconcile,
        Phase::Verify,
        Phase::Deploy,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Expand => "expand",
            Phase::Design => "design",
            Phase::Analyze => "analyze",
            Phase::Build => "build",
            Phase::Review => "review",
            Phase::Reconcile => "reconcile",
            Phase::Verify => "verify",
            Phase::Deploy => "deploy",
        }
    }

    pub fn parse(text: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.as_str().eq_ignore_ascii_case(text))
    }

    /// The gates that come before this one.
    pub fn before(self) -> impl Iterator<Item = Phase> {
        Phase::ALL.into_iter().take_while(move |phase| *phase < self)
    }

    /// Whether the gate reads documents only. Its pass is then bound to those documents, not to the code.
    pub fn reads_documents(self) -> bool {
        self <= Phase::Analyze
    }

    /// The stage in which this phase's work is done.
    pub fn stage(self) -> Stage {
        match self {
            Phase::Expand => Stage::Expanding,
            Phase::Design => Stage::Designing,
            Phase::Analyze => Stage::Analyzing,
            Phase::Build => Stage::Building,
            Phase::Review => Stage::Reviewing,
            Phase::Reconcile => Stage::Reconciling,
            Phase::Verify => Stage::Verifying,
            Phase::Deploy => Stage::Deploying,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the pipeline goes on by itself after a gate, or waits for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Auto,
    Stepped,
}

/// Who asks for a step. The law cares, because some doors open only to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The bot itself, following from what it read.
    Bot,
    /// An agent, or whoever drives one.
    Agent,
    /// A person who is entitled to the command that was given.
    Human,
}

/// Something that may not happen, and how to get where one wanted to go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{rule}: {says} {next}")]
pub struct Refusal {
    /// The rule that forbids it, such as `CMD-03`.
    pub rule: String,
    pub says: String,
    pub next: String,
    /// A whole command, of several lines, ready to copy: taken as it stands where it says all, and else with their words in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

impl Refusal {
    pub fn new(rule: &str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { rule: rule.to_owned(), says: says.into(), next: next.into(), example: None }
    }

    /// The same with a command as it is to be written.
    #[must_use]
    pub fn with_example(self, example: String) -> Self {
        Self { example: Some(example), ..self }
    }
}
