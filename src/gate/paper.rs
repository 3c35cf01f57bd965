//! A document of the pipeline as the gates read it: sections, items and lines, out of Markdown.
//!
//! `docs/gates.md` says what counts as a section, as content and as an item; this room is that page in code. It
//! promises:
//!
//! - **a line is a line of the file**, whatever stands before it: front matter, a byte order mark, `CRLF`;
//! - **decoration has no meaning**: heading levels, numbering, emphasis, tables or lists;
//! - **what nobody sees is not there**, and a letter is the one that it looks like ([`seen`]);
//! - **a hostile document ends in an answer**, quickly: bytes, lines and depth are bounded, nothing here calls itself,
//!   and each step is linear in what it reads.

mod below;
mod html;
pub mod ids;
pub mod later;
mod listed;
pub mod names;
pub mod numbers;
mod read;
pub mod section;
pub mod seen;
mod several;
pub mod text;

use std::collections::BTreeSet;
use std::fmt;

pub use names::Name;
pub use section::Part;

/// A larger document is not read.
pub const LARGEST: usize = 1024 * 1024;
/// One with more lines neither.
pub const MOST_LINES: usize = 20_000;
/// Lists and quotes in each other, at most.
pub const DEEPEST: usize = 32;

/// Why a text is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    TooManyLines,
    TooDeep,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyLines => write!(f, "has more than {MOST_LINES} lines"),
            Self::TooDeep => write!(f, "is nested more than {DEEPEST} deep"),
        }
    }
}

/// A document.
#[derive(Debug, Clone, Default)]
pub struct Paper {
    blocks: Vec<Block>,
    names: &'static [Name],
    turned: BTreeSet<u32>,
}

/// A piece of the document between blank lines.
#[derive(Debug, Clone)]
enum Block {
    Heading(Heading),
    /// Bold words that could be a heading, with the paragraph that they are or begin, and what of it comes after them.
    /// None is left once the sections are known.
    Bold(Heading, Box<Piece>, Option<Box<Piece>>),
    Paragraph(Piece),
    /// The entries of a list, or the rows of a table.
    Items(Vec<Piece>),
    Code(Code),
}

#[derive(Debug, Clone)]
struct Heading {
    /// The required sections that it begins. They are known once bold words are settled.
    names: Vec<&'static Name>,
    line: u32,
    /// 1 to 6; [`BOLD`] for bold words that stand as one.
    level: u8,
    text: String,
}

/// The level of bold words: below every real heading.
const BOLD: u8 = 7;
/// That of bold words which run into their paragraph without a mark (`**Problem** Nobody knows …`): a heading only where they
/// are a section's name.
const RUN_IN: u8 = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub at: u32,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    pub language: String,
    pub lines: Vec<Line>,
}

/// A paragraph, a list's entry with what is nested in it, a table's row, or a sub-heading with what stands below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    pub line: u32,
    /// What it says, without decoration. Entries, cells and paragraphs in it are lines of their own; a paragraph that
    /// is wrapped is one line.
    pub text: String,
    /// The same, by the lines of the file.
    pub lines: Vec<Line>,
    /// Code in the text.
    pub spans: Vec<String>,
    /// Where links and images lead.
    pub targets: Vec<String>,
    /// Of a table's row.
    pub cells: Vec<Cell>,
    /// Of a list: this entry's own text, then that of each entry below it.
    pub entries: Vec<Line>,
    pub ticked: bool,
    /// A box that is not ticked.
    pub open: bool,
    pub code: Vec<Code>,
    /// The headers of tables that stand in it.
    pub headers: Vec<String>,
    pub image: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    pub header: String,
    pub text: String,
}

impl Piece {
    /// Adds what stands below.
    fn take(&mut self, more: &Piece) {
        if self.line == 0 {
            self.line = more.line;
        }
        if !self.text.is_empty() && !more.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&more.text);
        self.lines.extend_from_slice(&more.lines);
        self.spans.extend_from_slice(&more.spans);
        self.targets.extend_from_slice(&more.targets);
        self.entries.extend_from_slice(&more.entries);
        self.code.extend_from_slice(&more.code);
        self.headers.extend(more.cells.iter().map(|cell| cell.header.clone()));
        self.headers.extend_from_slice(&more.headers);
        self.image |= more.image;
    }

    /// Whether it says anything, below a heading of these words.
    pub fn says_something(&self, heading: &[String]) -> bool {
        let says = |text: &str| text::says_something(text, heading);
        let coded = || self.code.iter().flat_map(|code| &code.lines).any(|line| says(&line.text));
        if !self.cells.is_empty() {
            return self.image || self.cells.iter().any(|cell| says(&cell.text)) || coded();
        }
        self.image || self.text.lines().any(says) || coded()
    }

    /// Where its text begins: a row's first cell, or the second where that one has an identifier, or the text itself.
    pub fn start(&self) -> &str {
        self.cells.get(self.id_cell()).map_or(&self.text, |cell| &cell.text)
    }

    /// `| 1 | AC-1 | … |`
    fn id_cell(&self) -> usize {
        let marked = |cell: &Cell| ids::leading(&cell.text).is_some();
        match &self.cells[..] {
            [first, second, ..] if !marked(first) && marked(second) => 1,
            _ => 0,
        }
    }

    /// What it says from its start on, code too.
    pub fn from_start(&self) -> String {
        match self.id_cell() {
            0 => self.all_text(),
            at => self.cells[at..].iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join("\n"),
        }
    }

    /// The criteria in an entry: itself, and each that is nested below it with an identifier of its own. Without one
    /// of its own it is their group.
    pub fn criteria(self) -> Vec<Piece> {
        // A list's entry is its own first one; a sub-heading has none of its own.
        let own = self.entries.first().filter(|entry| entry.at == self.line);
        let nested = &self.entries[usize::from(own.is_some())..];
        if !nested.iter().any(|entry| ids::leading(&entry.text).is_some()) {
            return vec![self];
        }
        let text = own.map_or_else(|| self.text.lines().next().unwrap_or_default(), |entry| &entry.text).to_owned();
        let first = Piece { text, entries: Vec::new(), lines: Vec::new(), ..self.clone() };
        let mut found = vec![first];
        for entry in nested {
            match found.last_mut() {
                Some(last) if ids::leading(&entry.text).is_none() => {
                    last.text.push('\n');
                    last.text.push_str(&entry.text);
                }
                _ => found.push(Piece { line: entry.at, text: entry.text.clone(), ..Piece::default() }),
            }
        }
        found.retain(|piece| ids::leading(&piece.text).is_some());
        found
    }
}

impl Paper {
    /// Reads a document whose sections have these names.
    pub fn read(text: &str, names: &'static [Name]) -> Result<Self, Unread> {
        let (blocks, turned) = read::blocks(&listed::as_headings(text, names))?;
        let mut paper = Self { blocks, names, turned };
        paper.settle_bold();
        Ok(paper)
    }

    /// Every line with words, in the order of the document, headings and code too.
    pub fn lines(&self) -> Vec<Line> {
        let mut all = Vec::new();
        for block in &self.blocks {
            match block {
                Block::Heading(heading) => all.push(Line { at: heading.line, text: heading.text.clone() }),
                Block::Paragraph(piece) => in_order(piece, &mut all),
                Block::Items(items) => items.iter().for_each(|piece| in_order(piece, &mut all)),
                Block::Code(code) => all.extend_from_slice(&code.lines),
                Block::Bold(..) => {}
            }
        }
        all
    }

    /// The lines in which a character turns the direction of writing.
    pub fn turned(&self) -> impl Iterator<Item = u32> {
        self.turned.iter().copied()
    }

    /// Whether there is nothing in it to read.
    pub fn is_blank(&self) -> bool {
        self.lines().iter().all(|line| line.text.trim().is_empty()) && !self.pieces().any(|piece| piece.image)
    }

    /// Whether it says anything below its headings that is no placeholder.
    pub fn says_something(&self) -> bool {
        let coded = |code: &Code| code.lines.iter().any(|line| text::says_something(&line.text, &[]));
        let code = self.blocks.iter().any(|block| matches!(block, Block::Code(code) if coded(code)));
        code || self.pieces().any(|piece| piece.says_something(&[]))
    }

    /// Everything that it says, for looking something up, with the targets of its links.
    pub fn everything(&self) -> String {
        let mut all: String = self.lines().into_iter().map(|line| line.text + "\n").collect();
        for piece in self.pieces() {
            for target in &piece.targets {
                all.push_str(target);
                all.push('\n');
            }
        }
        all
    }

    /// The words of the document, without any decoration.
    pub fn words(&self) -> Vec<String> {
        self.lines().iter().flat_map(|line| text::words(&line.text)).collect()
    }

    /// Its paragraphs, entries and rows.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Paragraph(piece) => std::slice::from_ref(piece),
            Block::Items(items) => items.as_slice(),
            _ => &[],
        })
    }

    /// The names of the sections that it should have.
    pub fn names(&self) -> &'static [Name] {
        self.names
    }

    /// The sentences of the document.
    pub fn sentences(&self) -> Vec<&str> {
        self.pieces().flat_map(|piece| text::sentences(&piece.text)).collect()
    }

    /// What each item says as a whole.
    pub fn items_text(&self) -> impl Iterator<Item = &str> {
        let items = self.blocks.iter().filter_map(|block| match block {
            Block::Items(items) => Some(items.iter().map(|item| item.text.as_str())),
            _ => None,
        });
        items.flatten()
    }
}

fn in_order(piece: &Piece, all: &mut Vec<Line>) {
    let from = all.len();
    all.extend_from_slice(&piece.lines);
    all.extend(piece.code.iter().flat_map(|code| code.lines.iter().cloned()));
    if !piece.code.is_empty() {
        all[from..].sort_by_key(|line| line.at);
    }
}

#[cfg(test)]
mod tests;
