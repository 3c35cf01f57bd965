//! What people see on GitHub: one label, the current gate's check run and `phasegate/merge`, one comment, answers.
//!
//! All of it is computed from the ledger's state and the gates' present verdicts ([`project`]), compared with what is
//! there, and written only where it differs ([`sync`]). Nothing here decides anything, and nothing shown here is ever
//! read back as state: anyone with triage rights can move a label, anyone with write access can edit a comment. Where the
//! ledger is [`broken`] there is no state, and that is what is shown.

mod answers;
pub mod artefact;
pub mod broken;
pub mod capsule;
mod change_record;
pub mod closed;
mod comment;
mod diary;
mod end;
pub mod escalation;
mod freeze_review;
pub mod group;
pub mod hindrance;
pub mod incident;
pub mod issues;
mod labels;
mod memory;
pub mod page;
mod project;
mod stopped;
pub mod sync;
mod task;
pub mod tasks;
#[cfg(test)]
mod tests;
mod text;
pub mod witness;

pub use change_record::change_record;
pub use project::{Annotation, Check, Conclusion, Label, Reply, Seen, Surface, label, our_labels, project, standing};
pub use task::request as pass_request;
pub use text::{MARKS, plain};
