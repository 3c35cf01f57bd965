//! Phasegate: a referee for AI coding agents' pull requests.
//!
//! Data walks one way: a webhook becomes a [`fact`], is kept in the [`inbox`], meets the law in the [`engine`]
//! (which asks [`gate`] for verdicts and [`flow`] for what may happen next), is recorded by the [`ledger`], and is
//! shown by the [`surface`] through [`github`].

pub mod action;
pub mod actions;
pub mod cli;
pub mod engine;
pub mod fact;
pub mod fault;
pub mod finding;
pub mod flow;
pub mod gate;
pub mod github;
pub mod guard;
pub mod ids;
pub mod inbox;
pub mod ledger;
#[cfg(test)]
mod model;
pub mod policy;
pub mod rehearsal;
pub mod repo;
pub mod runner;
pub mod server;
pub mod surface;
pub mod twin;
