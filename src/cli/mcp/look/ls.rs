//! `ls`: what a folder has.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MOST_ENTRIES;
use crate::cli::mcp::answer::Refused;
use crate::cli::mcp::content::{Content, Found, What, path_of};
use crate::finding::quoted;
use crate::repo::RepoPath;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Given {
    /// The folder; without it, the root
    path: String,
    /// `next` of the last answer
    after: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listed {
    schema: &'static str,
    at: String,
    path: String,
    entries: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<String>,
}

pub(crate) fn list(content: &Content, given: &Given) -> Result<Listed, Refused> {
    let path = path_of(&given.path)?;
    if let Found::Item(_) = content.find(&path)? {
        let says = format!("{} is no folder.", quoted(&path.to_string()));
        return Err(Refused::new(says, "`read` tells what it has."));
    }
    let listing = content.list(&path)?;
    let start = if path.as_bytes().is_empty() { 0 } else { path.as_bytes().len() + 1 };
    let mut names: BTreeMap<Vec<u8>, Option<What>> = BTreeMap::new();
    for item in &listing.items {
        let rest = item.path.as_bytes().get(start..).unwrap_or_default();
        match rest.iter().position(|byte| *byte == b'/') {
            Some(end) => names.insert(rest[..end].to_vec(), None),
            None => names.insert(rest.to_vec(), Some(item.what)),
        };
    }
    let after = given.after.as_deref().map(cursor).transpose()?;
    let mut left = names.into_iter().filter(|(name, _)| after.as_ref().is_none_or(|after| name > after)).peekable();
    let mut entries = Vec::new();
    let mut next = None;
    while let Some((name, what)) = left.next() {
        entries.push(shown(&name, what));
        if entries.len() == MOST_ENTRIES && left.peek().is_some() {
            next = Some(RepoPath::new(name).to_string());
            break;
        }
    }
    let unread = listing.cut.then(|| "there is more below it than is listed: name a folder deeper down".to_owned());
    Ok(Listed { schema: "phasegate/mcp-ls@1", at: content.at.clone(), path: path.to_string(), entries, next, unread })
}

fn cursor(text: &str) -> Result<Vec<u8>, Refused> {
    let path = RepoPath::parse(text);
    let path = path.map_err(|_| Refused::new("`after` is no name.", "Give `next` of the answer before, as it is."))?;
    Ok(path.as_bytes().to_vec())
}

/// A name with the sign of what it is. One that ends with such a sign itself is quoted.
fn shown(name: &[u8], what: Option<What>) -> String {
    let text = RepoPath::new(name).to_string();
    let text = if text.ends_with(['@', '|']) { format!("\"{text}\"") } else { text };
    match what {
        None => format!("{text}/"),
        Some(What::File) => text,
        Some(What::Link) => format!("{text}@"),
        Some(What::Other) => format!("{text}|"),
    }
}
