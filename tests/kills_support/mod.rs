//! The parts of `tests/kills.rs`.

pub(crate) mod bot;
pub(crate) mod door;
pub(crate) mod end;
pub(crate) mod errand;
pub(crate) mod plan;
pub(crate) mod points;
pub(crate) mod stories;
pub(crate) mod tally;

#[path = "../bad_days_support/database.rs"]
pub(crate) mod database;
#[path = "../bad_days_support/picture.rs"]
pub(crate) mod picture;
