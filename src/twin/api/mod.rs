//! The REST API, one file a corner of it. Each file is a table of routes and the functions behind them.

pub(crate) mod actions;
pub(crate) mod activity;
pub(crate) mod apps;
pub(crate) mod artifacts;
pub(crate) mod checks;
pub(crate) mod comments;
pub(crate) mod contents;
pub(crate) mod gitdata;
pub(crate) mod issues;
pub(crate) mod labels;
pub(crate) mod merges;
pub(crate) mod people;
pub(crate) mod pulls;
pub(crate) mod relations;
pub(crate) mod repos;
pub(crate) mod reviews;
pub(crate) mod statuses;

use super::reply::Problem;

/// The most characters a title's body, comment or review may have.
const BODY_LIMIT: usize = 65_536;

/// Refuses a body that GitHub would find too long.
fn bounded(resource: &str, body: Option<&str>) -> Result<(), Problem> {
    match body {
        Some(text) if text.chars().count() > BODY_LIMIT => {
            Err(Problem::field(resource, "body", "custom", Some("body is too long (maximum is 65536 characters)")))
        }
        _ => Ok(()),
    }
}
