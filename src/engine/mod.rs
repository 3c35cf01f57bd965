//! Facts in, decisions out.
//!
//! [`decide`] is the one place where it is decided what happens next. It is a pure function: what the ledger says,
//! what the world looks like ([`World`](crate::gate::world::World), read afresh by the caller) and what happened go in;
//! entries for the ledger come out. It reads no clock and talks to nobody, so the same input always gives the same decision, and
//! running it again on its own result decides nothing: that is what makes a repeated delivery harmless.

mod answer;
mod ask;
mod binding;
pub mod command;
mod decide;
mod freeze;
mod heal;
mod hear;
#[cfg(test)]
pub(crate) mod kit;
mod late;
mod lease;
mod memory;
mod repair;
pub(crate) mod resolution;
mod risk;
mod stop;
mod task;

#[cfg(test)]
mod tests;
mod verbs;

pub use decide::{
    Answer, Decision, Happened, MOST_NOTES, Order, Shown, Target, ahead, decide, merge_gate, phase_gate, task_gate,
};
pub use hear::COMMANDS_AN_HOUR;
pub use lease::runs_out;
pub use resolution::fix_of;
pub(crate) use verbs::{possible, possible_names};
