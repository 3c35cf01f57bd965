//! Reads stories, plays them and counts.

pub(crate) mod asked;
pub(crate) mod expect;
pub(crate) mod hostile;
pub(crate) mod issue;
pub(crate) mod ledger;
pub(crate) mod stage;
pub(crate) mod story;
pub(crate) mod tally;
#[path = "../support/trusted.rs"]
pub(crate) mod trusted;
pub(crate) mod weather;
