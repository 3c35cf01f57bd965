//! The action and the workflows of `templates/`, run by a real workflow runner (`act`), on the twin and on an
//! emulator that nobody here wrote.
//!
//! GitHub's part is played: for what happens on the twin the runner is started with the event that a workflow would get.
//! Everything else is real: the workflow files with their conditions, the composite action, the binary, the results.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

mod act;
mod asked;
mod at_once;
mod audited;
mod bad_input;
mod binary;
mod emulated;
#[path = "../support/emulator.rs"]
mod emulator;
mod stories;
