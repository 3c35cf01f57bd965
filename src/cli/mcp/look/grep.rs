//! `grep`: the lines that fit a regular expression.

use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Budget, MOST_TEXT, Unread, cut, files, matcher};
use crate::cli::mcp::answer::Refused;
use crate::cli::mcp::content::Content;
use crate::finding::quoted;
use crate::repo::RepoPath;

const MOST_MATCHES: usize = 100;
const LONGEST_PATTERN: usize = 1_000;
/// A pattern that becomes larger takes too long to look for: a line's time is its length times this.
const LARGEST_PROGRAM: usize = 256 * 1024;
/// Of a longer line only the beginning is looked at.
const LONGEST_LINE: usize = 16 * 1024;
/// So much of a line is shown.
const SHOWN: usize = 300;
/// So much of it before what fits, where that stands further on.
const BEFORE: usize = 80;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    /// A regular expression (Rust's), line by line
    pattern: String,
    /// Only these files: `src/**`
    #[serde(default)]
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    /// `next` of the last answer
    #[serde(default)]
    after: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Grepped {
    schema: &'static str,
    at: String,
    matches: Vec<Match>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Match {
    path: String,
    line: usize,
    text: String,
}

pub(crate) fn find(content: &Content, given: &Given) -> Result<Grepped, Refused> {
    let pattern = pattern(given)?;
    let glob = given.glob.as_deref().map(matcher).transpose()?;
    let after = given.after.as_deref().map(cursor).transpose()?;
    let listing = content.list(&RepoPath::from(""))?;
    let (mut budget, mut unread) = (Budget::new(), Unread::default());
    let (mut matches, mut bytes, mut long): (Vec<Match>, usize, u64) = (Vec::new(), 0, 0);
    let mut next = None;
    let begins = |path: &RepoPath| after.as_ref().is_none_or(|(from, _)| path >= from);
    'files: for item in files(&listing.items, glob.as_ref()).filter(|item| begins(&item.path)) {
        if budget.is_over() {
            next = Some(format!("{}:0", item.path));
            break;
        }
        let Some(text) = unread.text(content, item) else { continue };
        budget.spend(text.len().max(1));
        let done = after.as_ref().filter(|(from, _)| *from == item.path).map_or(0, |(_, line)| *line);
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate().skip(done) {
            let number = at + 1;
            long += u64::from(line.len() > LONGEST_LINE);
            let line = &line[..line.len().min(LONGEST_LINE)];
            let Some(found) = pattern.find(line) else {
                if number.is_multiple_of(1_000) && budget.is_over() {
                    next = Some(format!("{}:{number}", item.path));
                    break 'files;
                }
                continue;
            };
            let text = shown(line, found.start());
            bytes += text.len();
            matches.push(Match { path: item.path.to_string(), line: number, text });
            if matches.len() == MOST_MATCHES || bytes >= MOST_TEXT || budget.is_over() {
                next = Some(format!("{}:{number}", item.path));
                break 'files;
            }
        }
    }
    if long > 0 {
        unread.note(format!("{long} lines beyond their first {LONGEST_LINE} bytes"));
    }
    if listing.cut {
        unread.note("files beyond those that are listed");
    }
    Ok(Grepped { schema: "phasegate/mcp-grep@1", at: content.at.clone(), matches, next, unread: unread.told() })
}

fn pattern(given: &Given) -> Result<Regex, Refused> {
    let text = &given.pattern;
    if text.is_empty() || text.len() > LONGEST_PATTERN {
        return Err(Refused::new(
            format!("A pattern has 1 to {LONGEST_PATTERN} bytes, and this has {}.", text.len()),
            "Look for a part of it.",
        ));
    }
    let made =
        RegexBuilder::new(text).case_insensitive(given.ignore_case).size_limit(LARGEST_PROGRAM).nest_limit(50).build();
    made.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => Refused::new(
            format!("{} becomes too large to be looked for.", quoted(text)),
            "Write it with smaller counts, or without `\\w` and the like under a count.",
        ),
        error => {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
            Refused::new(
                format!("{} is no regular expression: {why}.", quoted(text)),
                "Put `\\` before a sign that is meant as itself. There are no look-arounds and no back-references.",
            )
        }
    })
}

/// The part of a line that shows what fits.
fn shown(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let from = if at > SHOWN - BEFORE { at.saturating_sub(BEFORE).min(line.len()) } else { 0 };
    let text = String::from_utf8_lossy(&line[from..]);
    let sign = if from > 0 { "…" } else { "" };
    cut(&format!("{sign}{text}"), SHOWN)
}

/// The file and the line up to which all was told.
fn cursor(text: &str) -> Result<(RepoPath, usize), Refused> {
    let parsed = text.rsplit_once(':').and_then(|(path, line)| {
        let path = RepoPath::parse(path).ok()?;
        Some((path, line.parse().ok()?))
    });
    parsed.ok_or_else(|| {
        Refused::new("`after` is no place such as `src/lamp.rs:12`.", "Give `next` of the answer before, as it is.")
    })
}
