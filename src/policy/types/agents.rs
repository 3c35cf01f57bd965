//! Agents at work: who they are, and what a pass of one may take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Word;
use super::gates::{Confine, Network, Timeout, is_default};

words! {
    /// What an agent is asked for. Only the main one's changes become a commit; the others look, and may write nothing.
    Role {
        Main = "main",
        Scout = "scout",
        Verifier = "verifier",
        Reviewer = "reviewer",
        Critic = "critic",
        Challenger = "challenger",
        Arbiter = "arbiter",
    }
}

impl Role {
    pub const EACH: [Self; 7] =
        [Self::Main, Self::Scout, Self::Verifier, Self::Reviewer, Self::Critic, Self::Challenger, Self::Arbiter];

    /// Whether it may write nothing but its answer.
    pub fn is_read_only(self) -> bool {
        self != Self::Main
    }
}

/// Agents at work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Agents {
    /// How long nobody who works on a change may be silent before the agent is taken to be gone. Without it, nobody is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Timeout>,
    /// Who does the work: the one whose changes become commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main: Option<Agent>,
    /// Who looks and writes nothing but an answer: scouts, verifiers, reviewers, critics, challengers and arbiters. Without it, the
    /// main one's program is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader: Option<Agent>,
}

impl Agents {
    /// A policy written before the key was there keeps its digest.
    pub(super) fn says_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub fn of(&self, role: Role) -> Option<&Agent> {
        match role {
            Role::Main => self.main.as_ref(),
            // Nothing keeps an agent from writing that works elsewhere.
            _ => self.reader.as_ref().or(self.main.as_ref().filter(|main| !main.command.is_empty())),
        }
    }
}

/// A program that works on a prompt. It is run in a copy of the content, behind the walls that the commands of a gate have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// The program and its arguments. The prompt is its standard input, and the file that `PHASEGATE_PROMPT` names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 50), inner(length(max = 4096)))]
    pub command: Vec<String>,
    /// In place of a program: whom a comment on the pull request begins with, such as `@copilot`. What it pushes is its pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 100))]
    pub comment: Option<String>,
    /// In place of a program: the file of a workflow on the default branch that is started. What is pushed after that is its pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub workflow: Option<String>,
    /// How long a pass may take, with every attempt.
    #[serde(skip_serializing_if = "is_default")]
    pub timeout: Timeout,
    /// How often it is asked in one pass, where its answer is not of the form [default: 2].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    pub attempts: Option<u32>,
    /// Whether it reaches the network. One that asks a model elsewhere has to.
    #[serde(skip_serializing_if = "is_default")]
    pub network: Network,
    /// The walls around it.
    #[serde(skip_serializing_if = "is_default")]
    pub confine: Confine,
    /// What of the content it gets. Without it, all.
    #[serde(skip_serializing_if = "is_default")]
    pub pack: Pack,
}

/// What of the content an agent gets: its copy has nothing else, and neither have its tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pack {
    /// Globs of what it gets; none: everything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200), inner(length(max = 512)))]
    pub only: Vec<String>,
    /// Globs of what it does not get, with all that is below, in any letter case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200), inner(length(max = 512)))]
    pub hide: Vec<String>,
}

/// How an agent is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapter<'a> {
    /// As a program, behind walls.
    Command(&'a [String]),
    /// By a comment that begins with this.
    Comment(&'a str),
    /// By starting this workflow.
    Workflow(&'a str),
}

impl Agent {
    pub fn adapter(&self) -> Adapter<'_> {
        match (&self.comment, &self.workflow) {
            (Some(mention), _) => Adapter::Comment(mention),
            (None, Some(workflow)) => Adapter::Workflow(workflow),
            (None, None) => Adapter::Command(&self.command),
        }
    }

    pub fn attempts(&self) -> u32 {
        self.attempts.unwrap_or(2)
    }
}

/// What the passes of one task may take together. Without a number there is no limit of that kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Minutes that agents were at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub minutes: Option<u32>,
    /// Passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub passes: Option<u32>,
    /// What the passes cost, in whatever unit the agents report it. One that reports nothing has used up all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub credits: Option<u64>,
}

impl Budget {
    /// A policy written before the key was there keeps its digest.
    pub(super) fn says_nothing(&self) -> bool {
        *self == Self::default()
    }
}
