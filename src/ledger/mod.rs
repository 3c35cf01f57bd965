//! The ledger: what was decided, written down so that it can't be unwritten without showing.
//!
//! - Records are canonical JSON (RFC 8785), one a file, signed with the App's key, each following the one before it
//!   by digest. [`chain`] makes and proves them; an altered, dropped, reordered or cut-off record is located.
//! - State ([`state`]) is the fold ([`fold`]) of the records.
//! - They live on a branch of their own behind a [`store::Store`]: on GitHub, or in a local repository. An append is
//!   one commit with the branch's expected head, which is the compare-and-swap that makes replicas safe.
//! - [`Ledger`] reads and appends for one repository, and puts what several changes append at once into one commit.

pub mod against;
pub mod chain;
pub mod diary;
pub mod escalation;
pub mod face;
pub mod findings;
pub mod fold;
pub mod heal;
pub mod incident;
mod journal;
pub mod local;
pub mod memory;
pub mod objection;
pub mod origin;
pub mod record;
pub mod resolution;
pub mod risk;
pub mod snapshot;
pub mod state;
pub mod store;
pub mod task;
pub mod unsigned;

pub use chain::{Anchor, Anchors, Break, BreakKind, KeyRing, Signer};
pub use escalation::Escalation;
pub use journal::{Appended, Entry, Ledger, LedgerError, Loaded, Pages, Related, sharing};
pub use record::{About, Body, By, Record};
pub use state::{OVER_THE_HOUR, State};

use crate::ids::{ChangeNumber, Digest};

/// How many records a checkpoint of the fold stands for.
pub const CHECKPOINT_EVERY: u64 = 100;

/// A change's folder. Sharded by thousand, so that a commit never rewrites a directory of 100,000 entries.
pub fn folder(change: ChangeNumber) -> String {
    format!("changes/{}/{}", change.0 / 1000, change.0)
}

/// A record's file within its folder.
pub fn file_name(seq: u64) -> String {
    format!("{seq:04}.json")
}

/// Where it is written that an issue or pull request belongs to a change.
pub fn alias_path(number: u64) -> String {
    format!("aliases/{number}")
}

/// Where a change's manifest with this digest stands. Its name is its digest, so none is ever written over by another.
pub fn manifest_path(change: ChangeNumber, manifest: &Digest) -> String {
    format!("{}/freeze/{manifest}.json", folder(change))
}

/// Where an execution log with this digest stands, that a record of this change names.
pub fn log_path(change: ChangeNumber, log: &Digest) -> String {
    format!("{}/evidence/{log}.json", folder(change))
}

/// Where the artefact of an escalation stands. It is written once, in the commit of the record that opened it.
pub fn escalation_path(change: ChangeNumber, name: &str) -> String {
    format!("{}/escalations/{name}.json", folder(change))
}

/// Where a change's page for people stands. It is made of the records and goes into their commit; nothing is read back from
/// it, and it stands in a folder of its own, so that who reads the records does not fetch it.
pub fn evidence_page(change: ChangeNumber) -> String {
    format!("{}/page/evidence.html", folder(change))
}

/// Where a change's snapshot with this number stands.
pub fn snapshot_path(change: ChangeNumber, iteration: u32) -> String {
    format!("{}/context/{}.md", folder(change), snapshot::name(iteration))
}

/// Where the latest one stands for people. Like the page it is made of the records, and nothing is read back from it.
pub fn context_path(change: ChangeNumber) -> String {
    format!("{}/context/latest.md", folder(change))
}

/// Where it is written what changed, why, how it was verified and which risks are known, once a change is through its exit.
pub fn change_record(change: ChangeNumber) -> String {
    format!("{}/context/change-record.md", folder(change))
}

/// The newest checkpoint of a change.
pub const CHECKPOINT_FILE: &str = "checkpoint.json";
