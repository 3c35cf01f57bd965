//! The examples in Rust's documentation, as rustdoc takes them out of it.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::nodes::Nodes;
use super::print::Print;
use crate::guard::parse::Language;

/// The lines of one item's documentation, each with its place in the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Docs {
    lines: Vec<(u32, String)>,
}

/// Which side of an item a comment documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Outer,
    Inner,
}

/// One code block.
pub(super) struct Example {
    pub(super) line: u32,
    pub(super) skipped: bool,
    /// How it is run, and its code.
    flags: Vec<String>,
    code: String,
}

/// Whether a comment is documentation, and of what.
pub(super) fn side(comment: &str) -> Option<Side> {
    let is_outer = comment.starts_with("///") && !comment.starts_with("////")
        || comment.starts_with("/**") && !comment.starts_with("/***") && !comment.starts_with("/**/");
    if is_outer {
        Some(Side::Outer)
    } else if comment.starts_with("//!") || comment.starts_with("/*!") {
        Some(Side::Inner)
    } else {
        None
    }
}

impl Docs {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Adds a comment that begins in this line.
    pub(super) fn comment(&mut self, line: u32, comment: &str) {
        if comment.starts_with("//") {
            let text = comment.get(3..).unwrap_or_default().trim_end_matches(['\n', '\r']);
            self.lines.push((line, text.to_owned()));
            return;
        }
        let text = comment.get(3..).unwrap_or_default();
        let text = text.strip_suffix("*/").unwrap_or(text);
        let rows: Vec<&str> = text.split('\n').map(|row| row.trim_end_matches('\r')).collect();
        // A column of stars is decoration.
        let inner = rows.get(1..).unwrap_or_default();
        let starred = |row: &&str| row.trim_start().starts_with('*');
        let last_is_bare = inner.last().is_some_and(|row| row.trim().is_empty());
        let judged = inner.get(..inner.len().saturating_sub(usize::from(last_is_bare))).unwrap_or_default();
        let stars = !judged.is_empty() && judged.iter().all(starred);
        for (at, row) in (line..).zip(&rows) {
            let bare = if stars && at > line { row.trim_start().strip_prefix('*').unwrap_or(row) } else { row };
            self.lines.push((at, bare.to_owned()));
        }
    }

    /// Adds a text that is documentation as it stands.
    pub(super) fn plain(&mut self, text: &str) {
        self.lines.extend((1..).zip(text.lines().map(str::to_owned)));
    }

    /// Adds the value of a `doc` attribute, as far as it is a literal; else nothing, and that is told.
    pub(super) fn attribute(&mut self, line: u32, value: &[&str]) -> bool {
        let [literal] = value else { return false };
        if let Some(text) = literal.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            let text = unescaped(text);
            self.lines.extend(text.split('\n').map(|row| (line, row.trim_end_matches('\r').to_owned())));
            return true;
        }
        let bare = literal.strip_prefix('r').map(|raw| raw.trim_matches('#'));
        let Some(text) = bare.and_then(|raw| raw.strip_prefix('"')?.strip_suffix('"')) else { return false };
        self.lines.extend((line..).zip(text.split('\n')).map(|(at, row)| (at, row.trim_end_matches('\r').to_owned())));
        true
    }

    /// The code blocks in it, with those that are not run.
    pub(super) fn examples(&self) -> Vec<Example> {
        let may = |(_, row): &(u32, String)| row.contains("```") || row.contains("~~~") || row.starts_with("     ");
        if !self.lines.iter().any(may) {
            return Vec::new();
        }
        let indent = |row: &str| row.len() - row.trim_start_matches([' ', '\t']).len();
        let full = self.lines.iter().filter(|(_, row)| !row.trim().is_empty());
        let least = full.map(|(_, row)| indent(row)).min().unwrap_or(0);
        let mut text = String::new();
        for (_, row) in &self.lines {
            text.push_str(row.get(least..).unwrap_or_default());
            text.push('\n');
        }
        let mut found: Vec<Example> = Vec::new();
        let mut open: Option<Example> = None;
        // The line that was reached, so that lines are counted once.
        let (mut byte, mut row) = (0_usize, 0_usize);
        for (event, range) in Parser::new(&text).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    row += text.get(byte..range.start).unwrap_or_default().matches('\n').count();
                    byte = byte.max(range.start);
                    let line = self.lines.get(row).or(self.lines.last()).map_or(0, |(line, _)| *line);
                    let (flags, runs) = match &kind {
                        CodeBlockKind::Fenced(info) => flags(info),
                        CodeBlockKind::Indented => (Vec::new(), true),
                    };
                    open = Some(Example { line, skipped: !runs, flags, code: String::new() });
                }
                Event::Text(part) => {
                    if let Some(open) = &mut open {
                        open.code.push_str(&part);
                    }
                }
                Event::End(TagEnd::CodeBlock) => found.extend(open.take()),
                _ => {}
            }
        }
        found
    }
}

impl Example {
    pub(super) fn print(&self, print: &mut Print) {
        for flag in &self.flags {
            print.word(flag);
        }
        print.part();
        let code: String = self.code.split('\n').map(shown).fold(String::new(), |code, row| code + row + "\n");
        match Nodes::read(Language::Rust, &code) {
            Ok(nodes) => print.tokens(&nodes.tokens(0)),
            Err(_) => print.word(&code),
        }
    }
}

/// A row as it is compiled: rustdoc hides those that begin with `#`.
fn shown(row: &str) -> &str {
    let bare = row.trim_start();
    if bare.starts_with("##") {
        bare.get(1..).unwrap_or_default()
    } else if bare == "#" {
        ""
    } else {
        bare.strip_prefix("# ").unwrap_or(row)
    }
}

/// What a block's info string says, as rustdoc reads it: how it is run, in one order, and whether it is.
fn flags(info: &str) -> (Vec<String>, bool) {
    let (mut ours, mut others, mut ignored) = (false, false, false);
    let mut flags = Vec::new();
    for word in info.split([',', ' ', '\t']).map(str::trim).filter(|word| !word.is_empty()) {
        let is_code = |word: &str| {
            let digits = word.strip_prefix('E').filter(|digits| digits.len() == 4);
            digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        };
        match word {
            "rust" => ours = true,
            "ignore" => {
                ignored = true;
                ours |= !others;
            }
            "should_panic" | "no_run" => {
                flags.push(word.to_owned());
                ours |= !others;
            }
            "compile_fail" | "test_harness" | "standalone" | "standalone_crate" | "allow_fail" => {
                flags.push(word.to_owned());
                ours |= !others;
            }
            word if word.starts_with("edition") || word.starts_with("ignore-") || is_code(word) => {
                flags.push(word.to_owned());
                ours |= !others && !word.starts_with("edition");
            }
            _ => others = true,
        }
    }
    flags.sort();
    flags.dedup();
    (flags, (ours || !others) && !ignored)
}

/// A literal's text.
fn unescaped(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            found.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => found.push('\n'),
            Some('t') => found.push('\t'),
            Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
            Some(c) => found.push(c),
            None => {}
        }
    }
    found
}
