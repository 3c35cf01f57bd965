//! The parts of `tests/bad_days.rs`.

pub(crate) mod database;
pub(crate) mod picture;
pub(crate) mod stories;
pub(crate) mod tally;
