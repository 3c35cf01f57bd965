//! The checks. A gate is a named list of rules over (subject, evidence, policy); its verdict is PASS or FAIL with
//! findings, each with a rule id, the place, what was found and what to do.
//!
//! Nothing here writes anything or talks to anyone: a gate is a function of what it is given.

pub mod alone;
pub mod analyze;
pub mod aside;
pub mod asked;
pub mod audit;
pub mod brief;
pub mod build;
pub mod deploy;
pub mod design;
pub mod evidence;
pub mod expand;
pub mod first;
pub mod frozen;
pub mod goal;
pub mod header;
pub mod memory;
pub mod merge;
pub mod paper;
pub mod papers;
pub mod pass;
pub mod people;
pub mod phase;
pub mod proofs;
pub mod queue;
pub mod ran;
pub mod reconcile;
pub mod residue;
pub mod review;
pub mod risk;
pub mod task;
pub mod verify;
pub mod weakened;
pub mod world;

pub use crate::finding::{Finding, GateName, Severity, Verdict, bounded, only_waiting, verdict};
