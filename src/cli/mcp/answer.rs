//! What a call comes to: an object, or a refusal with its next step.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

use crate::cli::raise;
use crate::finding::Finding;

/// A result as text, with the fields in their order, and as an object.
pub(super) struct Answer {
    text: String,
    object: Value,
}

impl Answer {
    pub(super) fn of(value: &impl Serialize) -> Result<Self, Refused> {
        let written = serde_json::to_string(value).and_then(|text| Ok((text, serde_json::to_value(value)?)));
        let (text, object) = written.map_err(|error| Refused::from(anyhow::Error::new(error)))?;
        Ok(Self { text, object })
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    pub(super) fn result(self) -> CallToolResult {
        let mut result = CallToolResult::success(vec![ContentBlock::text(self.text)]);
        result.structured_content = Some(self.object);
        result
    }
}

/// What stands against a call, and what to do about it.
#[derive(Debug, Serialize)]
pub(super) struct Refused {
    schema: &'static str,
    says: String,
    next: String,
    /// What the rules found, where it was rules that refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Found>,
}

/// A finding about a text that was not written, so it stands at an entry of it and not on a line.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    #[serde(flatten)]
    pub(super) finding: Finding,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) entry: Option<String>,
}

impl Refused {
    pub(super) fn new(says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { schema: "phasegate/mcp-refusal@1", says: says.into(), next: next.into(), findings: Vec::new() }
    }

    #[must_use]
    pub(super) fn with(mut self, findings: Vec<Found>) -> Self {
        self.findings = findings;
        self
    }

    /// The same, said of something else.
    #[must_use]
    pub(super) fn about(mut self, says: &str) -> Self {
        says.clone_into(&mut self.says);
        self
    }

    pub(super) fn bug() -> Self {
        let report = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");
        Self::new(
            "This is a bug; the server's stderr says where.",
            format!("Tell a person, who may report it: {report}"),
        )
    }

    /// As text alone: the schema of a tool's output is that of what it is good for, and this is something else. With how many bytes
    /// that has.
    pub(super) fn result(&self, tool: &str) -> (usize, CallToolResult) {
        let text = serde_json::to_string(self).unwrap_or_else(|_| format!("{tool}: {} {}", self.says, self.next));
        (text.len(), CallToolResult::error(vec![ContentBlock::text(text)]))
    }
}

/// What stands against an empty commit.
impl From<raise::Refused> for Refused {
    fn from(refused: raise::Refused) -> Self {
        Self::new(refused.says, refused.next)
    }
}

/// What the command line would have said. Its words have the way out where there is one.
impl From<anyhow::Error> for Refused {
    fn from(error: anyhow::Error) -> Self {
        let mut says = String::new();
        for cause in error.chain().map(ToString::to_string) {
            // Some say their cause themselves.
            if !says.ends_with(&cause) {
                let between = if says.is_empty() { "" } else { ": " };
                says = format!("{says}{between}{cause}");
            }
        }
        Self::new(says, "Do what it says, or ask a person to; then call again.")
    }
}
