//! What a server asks of a runner of its own.
//!
//! That is a process of the same program, which is told all that it needs in a file: it has nothing of the server's environment,
//! and no event of Actions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Around;
use super::artefact::{ActionsRun, Subject};
use crate::ids::{CommitId, Slug};
use crate::policy::Source;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    pub repository: Slug,
    pub change: u64,
    pub base: CommitId,
    pub head: CommitId,
    /// The default branch's commit, whose policy is taken.
    pub law: CommitId,
    /// The manifest of what is frozen.
    #[serde(default)]
    pub frozen: Option<String>,
    /// What the run is told by.
    pub run: u64,
    /// What the commands are not to see, wherever it lies: keys, databases, other repositories.
    pub hides: Vec<PathBuf>,
}

impl Order {
    /// What the run is about.
    pub fn around(&self) -> Around {
        let subject = Subject {
            repository: Some(self.repository.clone()),
            change: Some(self.change),
            base: Some(self.base.clone()),
            head: Some(self.head.clone()),
            ..Subject::default()
        };
        let run = ActionsRun { id: self.run, attempt: 1, event: None, workflow: Some(Source::Runner.to_string()) };
        Around { subject, run: Some(run), law: Some(self.law.clone()) }
    }
}
