//! Stories about changes, and properties of every story.

mod commands;
mod escalation;
mod evidence;
mod freeze;
mod identity;
mod merge;
mod model;
mod pipeline;
mod properties;
mod reconcile;
mod review;
