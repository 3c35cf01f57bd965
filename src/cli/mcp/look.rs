//! The tools that read: `ls`, `glob`, `grep`, `read` and `search`.
//!
//! Each answer is bounded in bytes, and each call in time and in what it looks at. Where there is more, `next` says with what to call
//! again, so that the answers in a row are the whole.

pub(super) mod glob;
pub(super) mod grep;
pub(super) mod ls;
pub(super) mod read;
pub(super) mod search;

use std::time::{Duration, Instant};

use globset::GlobMatcher;

use super::answer::Refused;
use super::content::{self, Content, Got, Item, What};
use crate::finding::quoted;

/// So many entries, or paths, are in an answer.
const MOST_ENTRIES: usize = 500;
/// So many bytes of text are in an answer.
const MOST_TEXT: usize = 32 * 1024;
/// So many bytes of files are looked through in a call.
const MOST_READ: u64 = 32 * 1024 * 1024;
/// So long a call looks.
const LONGEST: Duration = Duration::from_secs(5);
/// A longer glob is none.
const LONGEST_GLOB: usize = 300;
/// A larger file is not looked through; it can be read.
const LARGEST: u64 = 2 * 1024 * 1024;
/// So many files are named that were not looked through.
const MOST_NAMED: usize = 5;

/// What a call may still look at.
struct Budget {
    until: Instant,
    left: u64,
}

impl Budget {
    fn new() -> Self {
        Self { until: Instant::now() + LONGEST, left: MOST_READ }
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes as u64);
    }

    fn is_over(&self) -> bool {
        self.left == 0 || Instant::now() >= self.until
    }
}

/// What was not looked through.
#[derive(Default)]
struct Unread {
    binary: u64,
    large: Vec<String>,
    others: u64,
    more: Vec<String>,
}

impl Unread {
    /// The text of a file, or a note of why it has none.
    fn text(&mut self, content: &Content, item: &Item) -> Option<Vec<u8>> {
        match content.bytes(item) {
            Got::Bytes(bytes) if content::is_binary(&bytes) => self.binary += 1,
            Got::Bytes(bytes) if bytes.len() as u64 > LARGEST => self.large.push(item.path.to_string()),
            Got::Bytes(bytes) => return Some(bytes),
            Got::TooLarge(_) => self.large.push(item.path.to_string()),
            Got::Gone => self.others += 1,
        }
        None
    }

    fn note(&mut self, says: impl Into<String>) {
        self.more.push(says.into());
    }

    /// In words; none where everything was looked at.
    fn told(self) -> Option<String> {
        let mut parts = Vec::new();
        if self.binary > 0 {
            parts.push(format!("{} binary", self.binary));
        }
        if !self.large.is_empty() {
            let named: Vec<String> = self.large.iter().take(MOST_NAMED).map(|path| quoted(path)).collect();
            let mebibytes = LARGEST / (1024 * 1024);
            parts.push(format!("{} of more than {mebibytes} MiB ({})", self.large.len(), named.join(", ")));
        }
        if self.others > 0 {
            parts.push(format!("{} that could not be read", self.others));
        }
        parts.extend(self.more);
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// The files that a glob of the call names, or all.
fn files<'c>(items: &'c [Item], glob: Option<&GlobMatcher>) -> impl Iterator<Item = &'c Item> {
    let fits = move |item: &&Item| item.what == What::File && glob.is_none_or(|glob| is_match(glob, item));
    items.iter().filter(fits)
}

fn is_match(glob: &GlobMatcher, item: &Item) -> bool {
    glob.is_match_candidate(&globset::Candidate::from_bytes(item.path.as_bytes()))
}

/// A glob of a call, read as those of the policy are.
fn matcher(text: &str) -> Result<GlobMatcher, Refused> {
    let next = "Write one such as `src/**/*.rs`: `*` stays within a folder, `**` crosses them.";
    if text.is_empty() || text.len() > LONGEST_GLOB {
        return Err(Refused::new(format!("A glob has 1 to {LONGEST_GLOB} bytes, and this has {}.", text.len()), next));
    }
    crate::policy::glob(text)
        .map_err(|error| Refused::new(format!("{} is no glob: {}.", quoted(text), error.kind()), next))
}

/// The beginning of a text, no more than so many bytes, with a sign where it goes on.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests;
