//! `read`: a part of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MOST_TEXT;
use crate::cli::mcp::answer::Refused;
use crate::cli::mcp::content::{self, Content, Found, Got, Item, What, path_of};
use crate::finding::quoted;

/// So many lines, where nobody says how many.
const LINES: usize = 400;
const MOST_LINES: usize = 2_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    path: String,
    /// The first line [1]
    #[serde(default)]
    line: Option<usize>,
    /// How many [400, at most 2000]
    #[serde(default)]
    lines: Option<usize>,
    /// Begin at this byte of the file instead
    #[serde(default)]
    byte: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Read {
    schema: &'static str,
    at: String,
    path: String,
    /// The first line of the text.
    line: usize,
    text: String,
    /// Of the whole file.
    lines: usize,
    bytes: usize,
    /// Some of it is not UTF-8, and is shown as U+FFFD.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
    /// The byte to go on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
}

pub(crate) fn read(content: &Content, given: &Given) -> Result<Read, Refused> {
    let path = path_of(&given.path)?;
    let item = match content.find(&path)? {
        Found::Item(item) => item,
        Found::Folder => {
            let says = format!("{} is a folder.", quoted(&given.path));
            return Err(Refused::new(says, "`ls` tells what it has."));
        }
    };
    let bytes = bytes(content, &item)?;
    let start = match (given.byte, given.line) {
        (Some(_), Some(_)) => {
            return Err(Refused::new("`line` and `byte` are both given.", "Give one of the two."));
        }
        (Some(byte), None) => boundary(&bytes, byte),
        (None, line) => start_of(&bytes, line.unwrap_or(1)),
    };
    let lines = lines_of(&bytes);
    if start > bytes.len() || (start == bytes.len() && !bytes.is_empty()) {
        let says =
            format!("{} has {lines} lines and {} bytes, and ends before that.", quoted(&given.path), bytes.len());
        return Err(Refused::new(says, "Begin within the file."));
    }
    let most = given.lines.unwrap_or(LINES).clamp(1, MOST_LINES);
    let end = end_of(&bytes, start, most);
    let part = &bytes[start..end];
    let text = String::from_utf8_lossy(part);
    Ok(Read {
        schema: "phasegate/mcp-read@1",
        at: content.at.clone(),
        path: item.path.to_string(),
        line: lines_before(&bytes, start) + 1,
        lossy: std::str::from_utf8(part).is_err(),
        text: text.into_owned(),
        lines,
        bytes: bytes.len(),
        next: (end < bytes.len()).then_some(end),
    })
}

fn bytes(content: &Content, item: &Item) -> Result<Vec<u8>, Refused> {
    let path = quoted(&item.path.to_string());
    match item.what {
        What::File => {}
        What::Link => {
            let leads = content.leads(item).map(|leads| format!(" that leads to {}", quoted(&leads)));
            let says = format!("{path} is a link{}.", leads.unwrap_or_default());
            return Err(Refused::new(
                says,
                "Read what it leads to by its own path, where that is a part of the content.",
            ));
        }
        What::Other => {
            return Err(Refused::new(
                format!("{path} is no file."),
                "Submodules, pipes and the like have no text here.",
            ));
        }
    }
    match content.bytes(item) {
        Got::Bytes(bytes) if content::is_binary(&bytes) => Err(Refused::new(
            format!("{path} is binary ({} bytes).", bytes.len()),
            "No tool here reads that; say what you need of it, or run a program that does.",
        )),
        Got::Bytes(bytes) => Ok(bytes),
        Got::TooLarge(size) => {
            let says = format!("{path} has {size} bytes, and at most {} are read of a file.", content::LARGEST);
            Err(Refused::new(says, "Look at a part of it with a program of the machine, where you have one."))
        }
        Got::Gone => Err(Refused::new(format!("{path} could not be read."), "Call again; it may be back.")),
    }
}

fn lines_before(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().filter(|byte| **byte == b'\n').count()
}

fn lines_of(bytes: &[u8]) -> usize {
    lines_before(bytes, bytes.len()) + usize::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

/// Where a line begins; behind the end where there is none.
fn start_of(bytes: &[u8], line: usize) -> usize {
    match line.saturating_sub(1) {
        0 => 0,
        skip => {
            let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            ends.map(|(at, _)| at + 1).nth(skip - 1).unwrap_or(bytes.len() + 1)
        }
    }
}

/// Whether a byte goes on with a character.
fn goes_on(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Not within a character: a few bytes earlier, where that is one.
fn boundary(bytes: &[u8], at: usize) -> usize {
    if at >= bytes.len() {
        return at;
    }
    (at.saturating_sub(3)..=at).rev().find(|at| !goes_on(bytes[*at])).unwrap_or(at)
}

/// So many lines on, or as much as there is room for.
fn end_of(bytes: &[u8], start: usize, most: usize) -> usize {
    let rest = &bytes[start..];
    let ends = rest.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let whole = ends.clone().nth(most - 1).unwrap_or(rest.len());
    if whole <= MOST_TEXT {
        return start + whole;
    }
    // Whole lines, where one ends within the room.
    match ends.take_while(|end| *end <= MOST_TEXT).last() {
        Some(end) => start + end,
        None => boundary(bytes, start + MOST_TEXT).max(start + 1),
    }
}
