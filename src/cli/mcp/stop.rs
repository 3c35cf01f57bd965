//! `raise_decision`: an agent that can't go on says so by an empty commit, which a person answers.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::cli::raise::{Kind, Message, Refused};
use crate::ledger::record::Condition;

pub(super) const STOP: Kind = Kind {
    word: "stop",
    trailer: "Phasegate-Stop",
    ask: "Say in a sentence what was tried and what is asked",
    place: "Start the server in a clone, or name one with --repo",
    command: "/stop CONDITION: REASON",
    merged: "nobody will be asked about it",
    schema: "phasegate/stop@1",
    next: "Push it; then wait: a person answers in an issue.",
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Given {
    /// stuck: the same error after three approaches. scope: much larger than the scope says. dependency: missing or broken.
    /// unsafe: nobody knows whether it is safe
    condition: Why,
    /// What was tried and what is asked, in one line of 3 to 1000 characters
    reason: String,
}

/// Those of the conditions that somebody may stop for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Why {
    Stuck,
    Scope,
    Dependency,
    Unsafe,
}

impl From<Why> for Condition {
    fn from(why: Why) -> Self {
        match why {
            Why::Stuck => Self::Stuck,
            Why::Scope => Self::Scope,
            Why::Dependency => Self::Dependency,
            Why::Unsafe => Self::Unsafe,
        }
    }
}

/// The commit's message.
pub(super) fn message(given: &Given) -> Result<Message, Refused> {
    Message::of(STOP, &format!("{}: ", Condition::from(given.condition).as_str()), &given.reason)
}

#[cfg(test)]
mod tests;
