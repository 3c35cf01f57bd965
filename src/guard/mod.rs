//! The guard: what is frozen where proof ends and building begins, and the wire that trips when it is touched.
//!
//! A [`Manifest`] names the git blob of every test file, of the contract, and of every file that decides what a test run
//! means ([`set`]). It is taken at a commit ([`Scene`]) and kept on the ledger. The tripwire ([`hold`]) compares it with a
//! later head. It compares blobs, so it works for any language, and a test that was marked as skipped is a changed one.
//! Tests that stand among the code of a source file are frozen one by one ([`within`]), so that the code stays free.
//! [`wave`] guards workers who work side by side: where each began, and how it comes back.
//!
//! What it promises:
//!
//! - **what the change does not touch is not its fault**: a test that it never touched may become another when the base
//!   does, by a merge or a rebase, and nobody is asked;
//! - **nothing slips through beside a path**: deleted, renamed away, made a link, hidden behind a folder that became a
//!   link, doubled under a name that differs only in case or Unicode form, and a changed file mode all trip it;
//! - **it is bounded** ([`MOST_FILES`]): what is too much to be frozen is said, never left out.

pub mod inline;
pub mod manifest;
pub mod parse;
mod read;
pub mod set;
pub mod tripwire;
pub mod wave;
pub mod weaken;
pub mod within;

pub use manifest::{Frozen, Kind, MOST_FILES, Manifest, Sealed};
pub use tripwire::{How, Scene, Trip, hold};

use std::sync::Arc;

use crate::ids::Digest;

/// The freeze as it stands at a head, read by whoever looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// What would be frozen here, or why that is not known.
    pub present: Result<Present, String>,
    /// What was frozen last, held against this head.
    pub held: Option<Held>,
}

/// What would be frozen: by a claim in the middle of building, and where BUILD has passed. The second has lock files too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    pub claimed: Arc<Sealed>,
    pub built: Arc<Sealed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The manifest that was held against the head.
    pub manifest: Digest,
    /// What tripped, or why it can't be said.
    pub found: Result<Vec<Trip>, String>,
}

impl Default for Guard {
    fn default() -> Self {
        Self { present: Err("it was not looked at".to_owned()), held: None }
    }
}

impl Guard {
    /// What of this manifest is not as it was frozen; or why that is not known.
    pub fn against(&self, manifest: &Digest) -> Result<&[Trip], &str> {
        let of = |sealed: &Arc<Sealed>| sealed.digest == *manifest;
        // Frozen in this very look, or nothing has changed since.
        if self.present.as_ref().is_ok_and(|present| of(&present.claimed) || of(&present.built)) {
            return Ok(&[]);
        }
        match self.held.as_ref().filter(|held| held.manifest == *manifest) {
            Some(held) => held.found.as_deref().map_err(String::as_str),
            None => Err("it was not read"),
        }
    }
}
