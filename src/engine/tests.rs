//! Stories about changes, and properties of every story.

mod alone;
mod asked;
mod asked_of_the_server;
mod autonomy;
mod commands;
mod delivery;
mod escalation;
mod evidence;
mod freeze;
mod heal;
mod identity;
mod merge;
mod model;
mod pipeline;
mod properties;
mod reconcile;
mod review;
mod risk;
mod task;
mod way;
mod weakened;
