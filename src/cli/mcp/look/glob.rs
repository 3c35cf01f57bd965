//! `glob`: the paths that fit a pattern.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Budget, MOST_ENTRIES, is_match, matcher};
use crate::cli::mcp::answer::Refused;
use crate::cli::mcp::content::Content;
use crate::repo::RepoPath;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    /// Such as `src/**/*.rs`
    pattern: String,
    /// `next` of the last answer
    after: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Globbed {
    schema: &'static str,
    at: String,
    paths: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<String>,
}

pub(crate) fn find(content: &Content, given: &Given) -> Result<Globbed, Refused> {
    let glob = matcher(&given.pattern)?;
    let after = given.after.as_deref().map(|after| {
        let wrong = |_| Refused::new("`after` is no path.", "Give `next` of the answer before, as it is.");
        RepoPath::parse(after).map_err(wrong)
    });
    let after = after.transpose()?;
    let listing = content.list(&RepoPath::from(""))?;
    let budget = Budget::new();
    let mut left = listing.items.iter().filter(|item| after.as_ref().is_none_or(|after| item.path > *after)).peekable();
    let (mut paths, mut next) = (Vec::new(), None);
    while let Some(item) = left.next() {
        if is_match(&glob, item) {
            paths.push(item.path.to_string());
        }
        if left.peek().is_some() && (paths.len() == MOST_ENTRIES || budget.is_over()) {
            next = Some(item.path.to_string());
            break;
        }
    }
    let unread = listing.cut.then(|| "there are more files than are listed: `ls` a folder".to_owned());
    Ok(Globbed { schema: "phasegate/mcp-glob@1", at: content.at.clone(), paths, next, unread })
}
