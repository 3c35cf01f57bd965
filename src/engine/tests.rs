//! Stories about changes, and properties of every story.

mod commands;
mod evidence;
mod merge;
mod pipeline;
mod properties;
