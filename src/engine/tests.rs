//! Stories about changes, and properties of every story.

mod commands;
mod escalation;
mod evidence;
mod identity;
mod merge;
mod model;
mod pipeline;
mod properties;
