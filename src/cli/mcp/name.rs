//! The tools: what they are called, and what is told of them.

use rmcp::model::Tool;

use super::look::{glob, grep, ls, read, search};
use super::{claim, schema, stop, task, write};
use crate::cli::explain::Explained;
use crate::cli::raise::Raised;
use crate::cli::status::Report;
use crate::surface::capsule::Capsule;

/// The tools, in the order in which they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Next,
    Status,
    Explain,
    Ls,
    Glob,
    Grep,
    Read,
    Search,
    SubmitEvidenceClaim,
    WriteSnapshot,
    RaiseDecision,
}

impl Name {
    pub(super) const ALL: [Self; 11] = [
        Self::Next,
        Self::Status,
        Self::Explain,
        Self::Ls,
        Self::Glob,
        Self::Grep,
        Self::Read,
        Self::Search,
        Self::SubmitEvidenceClaim,
        Self::WriteSnapshot,
        Self::RaiseDecision,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Status => "status",
            Self::Explain => "explain",
            Self::Ls => "ls",
            Self::Glob => "glob",
            Self::Grep => "grep",
            Self::Read => "read",
            Self::Search => "search",
            Self::SubmitEvidenceClaim => "submit_evidence_claim",
            Self::WriteSnapshot => "write_snapshot",
            Self::RaiseDecision => "raise_decision",
        }
    }

    /// What an agent reads before it knows anything, and pays for each time.
    pub(super) fn tool(self, of_change: bool) -> Tool {
        let name = self.as_str();
        match (self, of_change) {
            (Self::Next, true) => schema::reads::<Capsule>(
                name,
                "What to do now: phase, what is allowed and forbidden, what fails, where the snapshot is.",
            ),
            (Self::Next, false) => schema::reads::<task::Next>(
                name,
                "What to do now: phase, what is allowed and forbidden, what to write, what may come next.",
            ),
            (Self::Status, true) => schema::reads::<Report>(name, "Where the change stands by its signed records."),
            (Self::Status, false) => schema::reads::<task::Status>(name, "Where the task stands, and what it claims."),
            (Self::Explain, true) => schema::reads::<Explained>(
                name,
                "Why it is not merging: every finding with rule, place and next step, first things first.",
            ),
            (Self::Explain, false) => {
                schema::reads::<task::Explained>(name, "What is missing: every finding with rule, place and next step.")
            }
            (Self::Ls, _) => {
                schema::looks::<ls::Given, ls::Listed>(name, "A folder's names: folders end with /, links with @.")
            }
            (Self::Glob, _) => schema::looks::<glob::Given, glob::Globbed>(name, "Paths that fit a pattern."),
            (Self::Grep, _) => {
                schema::looks::<grep::Given, grep::Grepped>(name, "Lines that fit a regular expression.")
            }
            (Self::Read, _) => schema::looks::<read::Given, read::Read>(
                name,
                "A part of a text file. `next` is the byte to go on from.",
            ),
            (Self::Search, _) => {
                schema::looks::<search::Given, search::Searched>(name, "Passages that have the words, the best first.")
            }
            (Self::SubmitEvidenceClaim, _) => schema::writes::<claim::Given, claim::Submitted>(
                name,
                "Write down that something was shown. It is a claim: the gates look for themselves.",
            ),
            (Self::WriteSnapshot, _) => schema::writes::<write::Given, write::Added>(
                name,
                "Write the next context snapshot into the working tree, if it is valid. What the latest says is carried \
                 forward. Commit and push it yourself.",
            ),
            (Self::RaiseDecision, _) => schema::writes::<stop::Given, Raised>(
                name,
                "Stop and ask a person: makes an empty commit on the branch checked out that says why. Push it, then wait.",
            ),
        }
    }
}
