//! One event inside GitHub Actions: read what started the run, work it off, and say what came of it.
//!
//! The engine is the server's ([`crate::server::Once`]); this room knows how Actions hands an event over and how a step
//! speaks to its readers. It promises:
//!
//! - **nothing of the change is executed or checked out**: the run reads the event file, GitHub, and a folder of results
//!   that it believes nothing of;
//! - **a run of the change's own workflow file is refused** ([`event`]): whoever can push a branch could have written it;
//! - **it never falls from enforcing to advisory by itself**: an App without its key is a mistake, not a choice.

pub mod claims;
pub mod event;
pub mod report;

pub use event::{BadEvent, Started};
pub use report::Report;
