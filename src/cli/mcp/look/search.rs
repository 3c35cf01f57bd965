//! `search`: passages that have the words, the best first.
//!
//! A passage is a run of lines without an empty one. It is ranked by BM25 over all of them: a word counts for more the rarer it is,
//! again for less each time, and in a long passage for less. Names are words, and so are their parts (`on_switch`, `onSwitch`).
//! The same content gives the same answer.

use std::cmp::Ordering;
use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Budget, Unread, cut, files, matcher};
use crate::cli::mcp::answer::Refused;
use crate::cli::mcp::content::{Content, Got, Item};
use crate::repo::RepoPath;

const HITS: usize = 20;
const MOST_WORDS: usize = 20;
const LONGEST_QUESTION: usize = 1_000;
/// A passage has no more lines.
const LINES: usize = 20;
/// So many passages are ranked.
const MOST_PASSAGES: usize = 100_000;
/// So much of one is shown.
const SHOWN: usize = 600;
const K1: f64 = 1.2;
const B: f64 = 0.75;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    words: String,
    /// Only these files: `docs/**`
    #[serde(default)]
    glob: Option<String>,
    /// `next` of the last answer
    #[serde(default)]
    after: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Searched {
    schema: &'static str,
    at: String,
    hits: Vec<Hit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Hit {
    path: String,
    line: usize,
    score: f64,
    text: String,
}

/// A passage that has one of the words.
struct Passage {
    file: usize,
    line: usize,
    span: (usize, usize),
    counts: Box<[u32]>,
    length: usize,
}

pub(crate) fn find(content: &Content, given: &Given) -> Result<Searched, Refused> {
    let words = asked(&given.words)?;
    let glob = given.glob.as_deref().map(matcher).transpose()?;
    let listing = content.list(&RepoPath::from(""))?;
    let items: Vec<&Item> = files(&listing.items, glob.as_ref()).collect();
    let (mut budget, mut unread) = (Budget::new(), Unread::default());
    let mut all = All { words: &words, passages: Vec::new(), count: 0, length: 0 };
    for (file, item) in items.iter().enumerate() {
        if budget.is_over() || all.passages.len() >= MOST_PASSAGES {
            unread.note(format!("{} files for want of time: name fewer with `glob`", items.len() - file));
            break;
        }
        let Some(bytes) = unread.text(content, item) else { continue };
        budget.spend(bytes.len().max(1));
        all.take(file, &String::from_utf8_lossy(&bytes));
    }
    if listing.cut {
        unread.note("files beyond those that are listed");
    }
    let ranked = all.ranked(&items);
    let from = given.after.unwrap_or(0).min(ranked.len());
    let hits = ranked.iter().skip(from).take(HITS).map(|(score, passage)| {
        let item = items[passage.file];
        // It is read again: all of them would not fit into memory.
        let text = match content.bytes(item) {
            Got::Bytes(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let (start, end) = passage.span;
                cut(text.get(start..end).unwrap_or_default().trim_end(), SHOWN)
            }
            Got::TooLarge(_) | Got::Gone => String::new(),
        };
        Hit { path: item.path.to_string(), line: passage.line, score: f64::from(*score) / 1000.0, text }
    });
    let hits: Vec<Hit> = hits.collect();
    let to = from + hits.len();
    let next = (to < ranked.len()).then_some(to);
    Ok(Searched { schema: "phasegate/mcp-search@1", at: content.at.clone(), hits, next, unread: unread.told() })
}

/// The words of a question, each once.
fn asked(text: &str) -> Result<Vec<String>, Refused> {
    let next = "Give a few words that stand there, such as `retry budget`. For signs there is `grep`.";
    if text.len() > LONGEST_QUESTION {
        return Err(Refused::new(format!("A question has at most {LONGEST_QUESTION} bytes."), next));
    }
    let mut words: Vec<String> = Vec::new();
    each_word(text, &mut |word| {
        if !words.iter().any(|known| known == word) && words.len() < MOST_WORDS {
            words.push(word.to_owned());
        }
    });
    if words.is_empty() { Err(Refused::new("The question has no word.", next)) } else { Ok(words) }
}

/// Every word of a text, in small letters: names whole, and their parts.
fn each_word(text: &str, heard: &mut dyn FnMut(&str)) {
    for name in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()) {
        let parts = parts(name);
        heard(&name.to_lowercase());
        if parts.len() > 1 {
            for part in parts {
                heard(&part.to_lowercase());
            }
        }
    }
}

/// `on_switch` and `onSwitch` are two words each.
fn parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in name.split('_').filter(|piece| !piece.is_empty()) {
        let (mut start, mut small) = (0, false);
        for (at, c) in piece.char_indices() {
            if c.is_uppercase() && small {
                parts.push(&piece[start..at]);
                start = at;
            }
            small = c.is_lowercase() || c.is_numeric();
        }
        parts.push(&piece[start..]);
    }
    parts
}

/// What was seen of all passages.
struct All<'w> {
    words: &'w [String],
    passages: Vec<Passage>,
    /// How many there are, with those that have none of the words, and how many words they have.
    count: u64,
    length: u64,
}

impl All<'_> {
    fn take(&mut self, file: usize, text: &str) {
        let known: HashMap<&str, usize> = self.words.iter().enumerate().map(|(at, word)| (word.as_str(), at)).collect();
        let mut at = 0;
        let mut open: Option<(usize, usize, usize)> = None;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let (start, end) = (at, at + line.len());
            at = end;
            let blank = line.trim().is_empty();
            let full = open.is_some_and(|(_, first, _)| number - first >= LINES);
            if (blank || full)
                && let Some((from, first, to)) = open.take()
            {
                self.passage(file, &known, text, (from, to), first + 1);
            }
            if !blank {
                open = Some(open.map_or((start, number, end), |(from, first, _)| (from, first, end)));
            }
        }
        if let Some((from, first, to)) = open {
            self.passage(file, &known, text, (from, to), first + 1);
        }
    }

    fn passage(&mut self, file: usize, known: &HashMap<&str, usize>, text: &str, span: (usize, usize), line: usize) {
        let mut counts = vec![0_u32; self.words.len()];
        let mut length = 0;
        each_word(&text[span.0..span.1], &mut |word| {
            length += 1;
            if let Some(at) = known.get(word) {
                counts[*at] += 1;
            }
        });
        self.count += 1;
        self.length += length as u64;
        if counts.iter().any(|count| *count > 0) && self.passages.len() < MOST_PASSAGES {
            self.passages.push(Passage { file, line, span, counts: counts.into(), length });
        }
    }

    /// The best first, with thousandths of their score: in finer steps the order would hang on how a machine rounds.
    #[allow(clippy::cast_precision_loss, reason = "counts of passages and words are far below where that begins")]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a score is small and not negative")]
    fn ranked(&self, items: &[&Item]) -> Vec<(u32, &Passage)> {
        let total = self.count.max(1) as f64;
        let average = (self.length as f64 / total).max(1.0);
        let weights: Vec<f64> = (0..self.words.len())
            .map(|at| {
                let having = self.passages.iter().filter(|one| one.counts[at] > 0).count() as f64;
                (1.0 + (total - having + 0.5) / (having + 0.5)).ln()
            })
            .collect();
        let score = |passage: &Passage| -> u32 {
            let room = K1 * (1.0 - B + B * passage.length as f64 / average);
            let of = |(count, weight): (&u32, &f64)| {
                let count = f64::from(*count);
                weight * count * (K1 + 1.0) / (count + room)
            };
            (passage.counts.iter().zip(&weights).map(of).sum::<f64>() * 1000.0).round() as u32
        };
        let mut ranked: Vec<(u32, &Passage)> = self.passages.iter().map(|one| (score(one), one)).collect();
        ranked.sort_by(|(one_score, one), (other_score, other)| {
            let place = |passage: &Passage| (&items[passage.file].path, passage.line);
            match other_score.cmp(one_score) {
                Ordering::Equal => place(one).cmp(&place(other)),
                order => order,
            }
        });
        ranked
    }
}
