//! From Markdown to blocks.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::seen::{seen, turns};
use super::{BOLD, Block, Cell, Code, DEEPEST, Heading, Line, MOST_LINES, Piece, RUN_IN, Unread, html, several};

/// A line that opens more lists and quotes than this is not given to the parser, which would walk through all of them
/// at every line that follows.
const MOST_MARKS: usize = 100;

/// The blocks of a text, and the lines in which the direction of writing is turned.
pub(super) fn blocks(text: &str) -> Result<(Vec<Block>, BTreeSet<u32>), Unread> {
    let index = Index::new(text);
    if index.0.len() > MOST_LINES {
        return Err(Unread::TooManyLines);
    }
    if text.split(['\n', '\r']).any(|line| marks(line) > MOST_MARKS) {
        return Err(Unread::TooDeep);
    }
    let skipped = before(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let turned = text.char_indices().filter(|(_, c)| turns(*c)).map(|(at, _)| index.line(at)).collect();
    let mut build = Build { index, skipped, turned, ..Build::default() };
    for (event, range) in Parser::new_ext(&text[skipped..], options).into_offset_iter() {
        build.event(event, range)?;
    }
    Ok((build.blocks, build.turned))
}

/// Where each line begins.
#[derive(Default)]
struct Index(Vec<usize>);

impl Index {
    fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let ends = |at: &usize| bytes[*at] == b'\n' || bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n');
        let mut starts: Vec<usize> = vec![0];
        starts.extend((0..bytes.len()).filter(ends).map(|at| at + 1).filter(|start| *start < bytes.len()));
        Self(starts)
    }

    fn line(&self, at: usize) -> u32 {
        u32::try_from(self.0.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }
}

/// The marks of lists and quotes that a line begins with.
fn marks(line: &str) -> usize {
    let mut count = 0;
    let mut rest = line.trim_start();
    // `- - - -` is a rule across the page.
    if rest.chars().all(|c| matches!(c, '-' | '*' | '_' | ' ' | '\t')) {
        return 0;
    }
    loop {
        let after = if let Some(after) = rest.strip_prefix('>') {
            after
        } else if let Some(after) = rest.strip_prefix(['-', '*', '+']) {
            if !after.starts_with([' ', '\t']) {
                return count;
            }
            after
        } else {
            let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            match digits.strip_prefix(['.', ')']) {
                Some(after) if digits.len() < rest.len() && after.starts_with([' ', '\t']) => after,
                _ => return count,
            }
        };
        count += 1;
        rest = after.trim_start();
    }
}

/// The length of a byte order mark and of front matter.
fn before(text: &str) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = text[mark..].split_inclusive('\n');
    let Some(fence) = lines.next().map(str::trim_end).filter(|line| matches!(*line, "---" | "+++")) else {
        return mark;
    };
    let mut end = mark + text[mark..].find('\n').map_or(0, |at| at + 1);
    for line in lines {
        end += line.len();
        if line.trim_end() == fence {
            return end;
        }
    }
    mark
}

#[derive(Default)]
struct Build {
    index: Index,
    skipped: usize,
    blocks: Vec<Block>,
    /// Lists' entries and quotes that are open.
    depth: usize,
    lists: usize,
    /// The entries of the list that is open, or the rows of the table.
    items: Vec<Piece>,
    /// What is written to now.
    piece: Piece,
    /// The next text is a line of its own.
    apart: bool,
    /// The entries that are open, as numbers in `piece.entries`.
    open: Vec<usize>,
    heading: Option<(u8, u32)>,
    /// What is struck out is open.
    struck: usize,
    code: Option<Code>,
    html: Option<(String, u32)>,
    table: Option<Table>,
    lead: Lead,
    turned: BTreeSet<u32>,
}

#[derive(Default)]
struct Table {
    line: u32,
    headers: Vec<String>,
    in_head: bool,
    cell: Option<String>,
    column: usize,
}

/// Bold words that a paragraph begins with.
#[derive(Default)]
struct Lead {
    strong: usize,
    words: String,
    ended: bool,
    /// Whether anything but bold words stands there.
    rest: bool,
}

impl Build {
    fn line(&self, at: usize) -> u32 {
        self.index.line(self.skipped + at)
    }

    /// A text as people see it. A character may be written by its number (`&#8238;`): then only here is it known.
    fn seen<'t>(&mut self, text: &'t str, at: usize) -> Cow<'t, str> {
        if text.contains(turns) {
            self.turned.insert(self.line(at));
        }
        seen(text)
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) -> Result<(), Unread> {
        match event {
            Event::Start(tag) => self.start(tag, range.start)?,
            Event::End(tag) => self.end(tag),
            Event::Text(_) | Event::Code(_) if self.struck > 0 => {}
            Event::Text(text) if self.code.is_some() => self.code_text(&seen(&text), range.start),
            Event::Text(text) => {
                let text = self.seen(&text, range.start);
                self.text(&text, range.start);
            }
            Event::Code(text) => {
                let text = seen(&text);
                self.piece.spans.push(text.to_string());
                self.text(&text, range.start);
            }
            Event::SoftBreak => self.text(" ", range.start),
            Event::HardBreak => self.apart = true,
            Event::Html(raw) => {
                if let Some((html, _)) = &mut self.html {
                    html.push_str(&raw);
                }
            }
            Event::InlineHtml(raw) if raw.to_ascii_lowercase().starts_with("<br") => self.text(" ", range.start),
            Event::TaskListMarker(ticked) if self.lists == 1 => {
                self.piece.ticked |= ticked;
                self.piece.open |= !ticked;
            }
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) -> Result<(), Unread> {
        let line = self.line(at);
        match tag {
            Tag::BlockQuote(_) => self.deeper()?,
            Tag::List(_) => self.lists += 1,
            Tag::Item => {
                self.deeper()?;
                if self.lists == 1 {
                    self.begin(line);
                }
                self.apart = true;
                self.open.push(self.piece.entries.len());
                self.piece.entries.push(Line { at: line, text: String::new() });
            }
            Tag::Paragraph | Tag::HtmlBlock if self.lists == 0 => {
                self.begin(line);
                self.html = matches!(tag, Tag::HtmlBlock).then(|| (String::new(), line));
            }
            Tag::HtmlBlock => self.html = Some((String::new(), line)),
            Tag::Heading { level, .. } if self.lists == 0 => {
                self.begin(line);
                self.heading = Some((level_of(level), line));
            }
            Tag::Paragraph | Tag::Heading { .. } => self.apart = true,
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or_default().to_lowercase(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(Code { language, lines: Vec::new() });
            }
            Tag::Table(_) => self.table = Some(Table { line, ..Table::default() }),
            Tag::TableHead => {
                if let Some(table) = &mut self.table {
                    table.in_head = true;
                }
            }
            Tag::TableRow => {
                if self.lists == 0 {
                    self.begin(line);
                }
                if let Some(table) = &mut self.table {
                    table.column = 0;
                }
            }
            Tag::TableCell => {
                self.apart = true;
                if let Some(table) = &mut self.table {
                    table.cell = Some(String::new());
                }
            }
            Tag::Strong => self.lead.strong += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::Link { dest_url, .. } => self.piece.targets.push(seen(&dest_url).into_owned()),
            Tag::Image { dest_url, .. } => {
                self.piece.image = true;
                self.piece.targets.push(seen(&dest_url).into_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn deeper(&mut self) -> Result<(), Unread> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(Unread::TooDeep) } else { Ok(()) }
    }

    fn begin(&mut self, line: u32) {
        self.piece = Piece { line, ..Piece::default() };
        self.lead = Lead::default();
        self.apart = false;
        self.open.clear();
    }

    fn finish(&mut self) -> Piece {
        let mut piece = std::mem::take(&mut self.piece);
        piece.text = piece.text.trim().to_owned();
        piece
    }

    fn text(&mut self, text: &str, at: usize) {
        let line = self.line(at);
        if self.lead.strong > 0 && !self.lead.ended {
            self.lead.words.push_str(text);
        } else if self.lead.strong == 0 {
            self.lead.ended |= !self.lead.words.is_empty() || !text.trim().is_empty();
            self.lead.rest |= text.contains(char::is_alphanumeric);
        } else {
            self.lead.rest = true;
        }
        if let Some(table) = &mut self.table {
            if let Some(cell) = &mut table.cell {
                cell.push_str(text);
            }
            if table.in_head {
                return;
            }
        }
        let piece = &mut self.piece;
        let apart = std::mem::take(&mut self.apart) && !piece.text.is_empty();
        if apart {
            piece.text.push('\n');
        }
        piece.text.push_str(text);
        if let Some(entry) = self.open.last().and_then(|entry| piece.entries.get_mut(*entry)) {
            if apart && !entry.text.is_empty() {
                entry.text.push('\n');
            }
            entry.text.push_str(text);
        }
        match piece.lines.last_mut() {
            Some(last) if last.at == line => {
                last.text.push_str(if apart { " " } else { "" });
                last.text.push_str(text);
            }
            _ if text.trim().is_empty() => {}
            _ => piece.lines.push(Line { at: line, text: text.to_owned() }),
        }
    }

    fn code_text(&mut self, text: &str, at: usize) {
        let first = self.line(at);
        if let Some(code) = &mut self.code {
            for (n, line) in text.lines().enumerate() {
                let at = first.saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
                code.lines.push(Line { at, text: line.to_owned() });
            }
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::BlockQuote(_) => self.depth = self.depth.saturating_sub(1),
            TagEnd::Item => {
                self.depth = self.depth.saturating_sub(1);
                self.open.pop();
                self.apart = true;
                if self.lists == 1 {
                    let item = self.finish();
                    self.items.push(item);
                }
            }
            TagEnd::List(_) => {
                self.lists = self.lists.saturating_sub(1);
                if self.lists == 0 {
                    self.blocks.push(Block::Items(std::mem::take(&mut self.items)));
                }
            }
            TagEnd::Paragraph if self.lists == 0 => self.paragraph(),
            TagEnd::Paragraph => self.apart = true,
            TagEnd::HtmlBlock => self.html_ended(),
            TagEnd::Heading(_) => {
                if let Some((level, line)) = self.heading.take() {
                    let text = self.finish().text;
                    self.blocks.push(Block::Heading(Heading { names: Vec::new(), line, level, text }));
                }
                self.apart = true;
            }
            TagEnd::CodeBlock => {
                if let Some(code) = self.code.take() {
                    match self.lists {
                        0 => self.blocks.push(Block::Code(code)),
                        _ => self.piece.code.push(code),
                    }
                }
            }
            TagEnd::TableHead => {
                let Some(table) = &mut self.table else { return };
                table.in_head = false;
                // A table without a header, whose first row stands in its place.
                let marked = |header: &&String| super::ids::leading(header).is_some();
                if self.lists == 0 && table.headers.iter().filter(marked).count() == 1 {
                    let cells = std::mem::take(&mut table.headers);
                    let text = cells.join("\n");
                    let lines = vec![Line { at: table.line, text: cells.join(" ") }];
                    let cells =
                        cells.into_iter().map(|text| Cell { header: String::new(), text: text.trim().to_owned() });
                    self.items.push(Piece {
                        line: table.line,
                        text,
                        lines,
                        cells: cells.collect(),
                        ..Piece::default()
                    });
                }
            }
            TagEnd::TableCell => self.cell_ended(),
            TagEnd::TableRow if self.lists == 0 => {
                let row = self.finish();
                self.items.push(row);
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    match self.lists {
                        0 => self.blocks.push(Block::Items(several::by_column(
                            &table.headers,
                            table.line,
                            std::mem::take(&mut self.items),
                        ))),
                        _ => self.piece.headers.extend(table.headers),
                    }
                }
                self.apart = true;
            }
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::Strong => {
                self.lead.strong = self.lead.strong.saturating_sub(1);
            }
            _ => {}
        }
    }

    fn cell_ended(&mut self) {
        let Some(table) = &mut self.table else { return };
        let Some(cell) = table.cell.take() else { return };
        if table.in_head {
            table.headers.push(cell);
            return;
        }
        let header = table.headers.get(table.column).cloned().unwrap_or_default();
        table.column += 1;
        if self.lists == 0 {
            self.piece.cells.push(Cell { header, text: cell.trim().to_owned() });
        }
        self.apart = true;
    }

    fn html_ended(&mut self) {
        let Some((raw, line)) = self.html.take() else { return };
        let text = html::text(&raw);
        for (n, one) in text.lines().enumerate().filter(|(_, one)| !one.trim().is_empty()) {
            let at = line.saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
            if one.contains(turns) {
                self.turned.insert(at);
            }
            let one = seen(one.trim());
            if !self.piece.text.is_empty() {
                self.piece.text.push('\n');
            }
            self.piece.text.push_str(&one);
            self.piece.lines.push(Line { at, text: one.into_owned() });
        }
        if self.lists == 0 {
            let piece = self.finish();
            if !piece.text.is_empty() {
                self.blocks.push(Block::Paragraph(piece));
            }
        }
    }

    /// A paragraph, unless it is or begins with bold words that stand as a heading.
    fn paragraph(&mut self) {
        let piece = self.finish();
        let lead = std::mem::take(&mut self.lead);
        let words = lead.words.trim();
        let piece = match <[Piece; 1]>::try_from(several::by_identifier(piece)) {
            Ok([piece]) => piece,
            Err(several) => return self.blocks.extend(several.into_iter().map(Block::Paragraph)),
        };
        if words.is_empty() || !piece.text.starts_with(words) {
            if !piece.text.is_empty() || piece.image {
                self.blocks.push(Block::Paragraph(piece));
            }
            return;
        }
        let heading = Heading { names: Vec::new(), line: piece.line, level: BOLD, text: words.to_owned() };
        let rest = piece.text[words.len()..].trim_start();
        let labels = words.ends_with(':') || rest.starts_with(':');
        if !lead.rest && !piece.image {
            self.blocks.push(Block::Bold(heading, Box::new(piece), None));
        } else if piece.lines.first().is_some_and(|first| first.text.trim_start().starts_with(words)) {
            let level = if labels { BOLD } else { RUN_IN };
            let heading = Heading { level, ..heading };
            let mut after = Piece { text: rest.trim_start_matches([':', ' ']).to_owned(), ..piece.clone() };
            if let Some(first) = after.lines.first_mut() {
                first.text = first.text.trim_start()[words.len()..].trim_start_matches([':', ' ']).to_owned();
            }
            self.blocks.push(Block::Bold(heading, Box::new(piece), Some(Box::new(after))));
        } else {
            self.blocks.push(Block::Paragraph(piece));
        }
    }
}

fn level_of(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
