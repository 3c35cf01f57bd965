//! Confirmed cheats of a piece of work, under whatever numbers it is tried. Each is known by the record that made it, and none is
//! ever taken back: so the count only grows.

use serde::{Deserialize, Serialize};

use super::against::{Against, Mark};
use super::record::{By, Raised};
use crate::ids::Digest;

/// So many confirmed cheats are healed; the next one stops the change for a person.
pub const MOST_HEALED: usize = 3;

/// A confirmed cheat.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Caught {
    pub mark: Mark,
    /// What was caught: it is one cheat, however often it is looked at.
    pub content: Digest,
    /// Who reported it and why, where no wire has found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Report>,
}

/// Somebody's report of a cheat.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Report {
    pub by: String,
    pub reason: String,
}

impl Report {
    pub(super) fn new(by: &By, raised: Option<&Raised>, reason: &str) -> Self {
        let commit = raised.map(|raised| format!("commit {}", raised.commit.short()));
        Self { by: commit.unwrap_or_else(|| by.name().to_owned()), reason: reason.to_owned() }
    }
}

impl Against {
    /// What was caught of this content.
    pub fn caught(&self, content: &Digest) -> Option<&Caught> {
        self.cheats.iter().find(|one| one.content == *content)
    }

    /// The report that stands against this content.
    pub fn reported(&self, content: &Digest) -> Option<&Report> {
        self.cheats.iter().filter(|one| one.content == *content).find_map(|one| one.reported.as_ref())
    }
}
