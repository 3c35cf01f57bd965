//! Sections, and the items in them.

use super::names::{heading_words, names_of};
use super::text::{is_bare_none, is_empty_label, is_none, says_something, sentences, words};
use super::{BOLD, Block, Heading, Line, Name, Paper, Piece, RUN_IN, later};

/// A part of a document: a section, or what stands below some heading.
#[derive(Debug, Clone)]
pub struct Part<'p> {
    /// Where its heading stands.
    pub line: u32,
    pub heading: String,
    pub(super) blocks: Vec<&'p Block>,
    /// Words in the heading after its name and a colon.
    pub(super) rest: Option<Piece>,
}

impl Paper {
    /// The title: the first heading, where it is alone at its level and others stand below it.
    pub(super) fn title(&self) -> Option<u32> {
        let mut headings = self.headings();
        let first = headings.next()?;
        let mut others = headings.peekable();
        others.peek()?;
        others.all(|other| other.level > first.level).then_some(first.line)
    }

    fn headings(&self) -> impl Iterator<Item = &Heading> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Heading(heading) => Some(heading),
            _ => None,
        })
    }

    /// Whether a link's anchor leads to one of the headings.
    pub fn has_anchor(&self, anchor: &str) -> bool {
        let anchor = anchor.to_lowercase();
        // The second of a name has a number behind it.
        let bare = anchor.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
        self.headings().map(|heading| slug(&heading.text)).any(|slug| slug == anchor || slug == bare)
    }

    /// Bold words begin a section where they name one that is required, or stand outside any; elsewhere they are text.
    pub(super) fn settle_bold(&mut self) {
        let title = self.title();
        let mut inside: Option<u8> = None;
        let mut settled = Vec::with_capacity(self.blocks.len());
        for block in std::mem::take(&mut self.blocks) {
            let heading = match &block {
                Block::Heading(heading) | Block::Bold(heading, ..) => Some(heading),
                _ => None,
            };
            let named = heading.is_some_and(|heading| {
                let whole = heading.level == RUN_IN || title == Some(heading.line);
                !names_of(&heading_words(&heading.text), self.names, whole).is_empty()
            });
            if let Some(heading) = heading {
                if named {
                    inside = Some(heading.level.min(BOLD));
                } else if inside.is_some_and(|level| heading.level <= level) && !is_text(&block) {
                    inside = None;
                }
            }
            match block {
                Block::Bold(heading, _, rest) if named || inside.is_none() && heading.level != RUN_IN => {
                    settled.push(Block::Heading(Heading { level: heading.level.min(BOLD), ..heading }));
                    settled.extend(rest.map(|rest| Block::Paragraph(*rest)));
                }
                Block::Bold(_, whole, _) => settled.push(Block::Paragraph(*whole)),
                other => settled.push(other),
            }
        }
        self.blocks = settled;
        let title = self.title();
        let known = self.names;
        for block in &mut self.blocks {
            if let Block::Heading(heading) = block {
                heading.names = names_of(&heading_words(&heading.text), known, title == Some(heading.line));
            }
        }
    }

    /// A required section by its name; all of that name read as one.
    pub fn section(&self, name: &str) -> Option<Part<'_>> {
        let mut part: Option<Part<'_>> = None;
        let mut inside: Option<u8> = None;
        for block in &self.blocks {
            if let Block::Heading(heading) = block {
                let called = &heading.names;
                match called.iter().any(|called| called.name == name) {
                    true => {
                        inside = Some(heading.level);
                        let rest = after_colon(heading, self.names);
                        let part = part.get_or_insert_with(|| Part {
                            line: heading.line,
                            heading: heading.text.clone(),
                            blocks: Vec::new(),
                            rest: None,
                        });
                        if part.rest.is_none() {
                            part.rest = rest;
                        }
                        continue;
                    }
                    false if !called.is_empty() => inside = None,
                    false if inside.is_some_and(|level| heading.level <= level) => inside = None,
                    false => {}
                }
            }
            if let (Some(part), Some(_)) = (&mut part, inside) {
                part.blocks.push(block);
            }
        }
        part
    }
}

/// The anchor that GitHub gives to a heading.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// So many colons of a heading are looked at.
const COLONS: usize = 4;

/// Bold words that end no section: a lead-in, or a criterion.
fn is_text(block: &Block) -> bool {
    match block {
        Block::Bold(heading, _, rest) => rest.is_some() || super::ids::leading(&heading.text).is_some(),
        _ => false,
    }
}

/// `## Verdict: READY`: what follows the name and a colon. In `## Section 1: Verdict` nothing does.
fn after_colon(heading: &Heading, known: &'static [Name]) -> Option<Piece> {
    let named = |part: &str| !names_of(&heading_words(part), known, false).is_empty();
    let (at, _) = heading.text.match_indices(':').take(COLONS).find(|(at, _)| named(&heading.text[..*at]))?;
    let rest = heading.text[at + 1..].trim();
    let line = Line { at: heading.line, text: rest.to_owned() };
    let piece = Piece { line: heading.line, text: rest.to_owned(), lines: vec![line], ..Piece::default() };
    (!rest.is_empty()).then_some(piece)
}

/// Whether a paragraph begins with an identifier, or with a name that is set off: `Slack. It posts …`, `Slack: posts …`.
fn is_named(text: &str) -> bool {
    let name = text.split_once([':', '.', '—', '–']).filter(|(_, rest)| rest.contains(char::is_alphanumeric));
    super::ids::leading(text).is_some() || name.is_some_and(|(name, _)| (1..=NAME).contains(&words(name).len()))
}

/// A name has at most so many words.
const NAME: usize = 3;

/// The name of a group has at most so many words.
pub(super) const LABEL: usize = 6;

impl<'p> Part<'p> {
    /// The first ones: a heading that is a chapter is compared with nothing.
    fn heading_words(&self) -> Vec<String> {
        let mut words = heading_words(&self.heading);
        words.truncate(16);
        words
    }

    /// Every piece in it, without headings.
    pub fn pieces(&self) -> Vec<Piece> {
        let mut all: Vec<Piece> = self.rest.iter().cloned().collect();
        for block in &self.blocks {
            match block {
                Block::Heading(_) | Block::Bold(..) => {}
                Block::Paragraph(piece) => all.push((*piece).clone()),
                Block::Items(items) => all.extend(items.iter().cloned()),
                Block::Code(code) => all.push(Piece { code: vec![code.clone()], ..Piece::default() }),
            }
        }
        all
    }

    /// Whether anything is said here. `none` is something where it is an answer.
    pub fn has_content(&self, none: bool) -> bool {
        let heading = self.heading_words();
        let says = |piece: &Piece| {
            let bare =
                |line: &str| !none && is_bare_none(line) || is_empty_label(line) || !says_something(line, &heading);
            let nothing = || piece.code.is_empty() && !piece.image && piece.text.lines().all(bare);
            piece.says_something(&heading) && !nothing()
        };
        self.pieces().iter().any(says)
    }

    /// What is said here first.
    pub fn first(&self) -> Option<Piece> {
        let heading = self.heading_words();
        self.pieces().into_iter().find(|piece| piece.says_something(&heading))
    }

    /// All that it says, by lines; of a sub-heading's words those below which something is said.
    pub fn text(&self) -> String {
        self.told(Piece::all_text)
    }

    /// The words of each sentence, up to a semicolon and from it, and of each row.
    pub fn statements(&self) -> Vec<Vec<String>> {
        let row = |item: &Piece| match item.cells.is_empty() {
            true => item.all_text(),
            false => item.cells.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(" "),
        };
        sentences(&self.told(row)).into_iter().flat_map(|sentence| sentence.split(';')).map(words).collect()
    }

    fn told(&self, of_item: impl Fn(&Piece) -> String) -> String {
        let mut text = String::new();
        let mut pending: Option<&str> = None;
        for piece in self.rest.iter() {
            text.push_str(&piece.text);
            text.push('\n');
        }
        for block in &self.blocks {
            let said = match block {
                Block::Heading(heading) | Block::Bold(heading, ..) => {
                    pending = Some(&heading.text);
                    continue;
                }
                Block::Paragraph(piece) => piece.text.clone(),
                Block::Items(items) => items.iter().map(&of_item).collect::<Vec<_>>().join("\n"),
                Block::Code(code) => code.lines.iter().map(|line| line.text.clone() + "\n").collect(),
            };
            if let Some(heading) = pending.filter(|_| !said.trim().is_empty() && !is_none(&said)) {
                text.push_str(heading);
                text.push('\n');
                pending = None;
            }
            text.push_str(&said);
            text.push('\n');
        }
        text
    }

    /// Its lines, code too.
    pub fn lines(&self) -> Vec<Line> {
        let all = self.pieces();
        all.into_iter()
            .flat_map(|piece| piece.lines.into_iter().chain(piece.code.into_iter().flat_map(|c| c.lines)))
            .collect()
    }

    /// The items: entries and rows, unless the sub-headings stand for them; the sub-headings with what is below them,
    /// where there are neither; or else the paragraphs.
    pub fn items(&self) -> Vec<Piece> {
        let (subs, listed) = (self.subs(), self.listed());
        let marked = |item: &Piece| super::ids::leading(item.start()).is_some();
        // Entries with identifiers below sub-headings are a list in groups.
        let grouped = listed.iter().any(marked) && !subs.iter().any(marked);
        let stands =
            |sub: &Piece| marked(sub) || !sub.entries.is_empty() || !sub.headers.is_empty() || !sub.code.is_empty();
        let paired = || self.paired(marked);
        let items: Vec<Piece> = if let Some(paired) = paired() {
            paired
        } else if !subs.is_empty() && !grouped && self.direct().is_empty() && subs.iter().all(stands) {
            subs
        } else if !listed.is_empty() {
            listed
        } else if !subs.is_empty() && !self.above().iter().any(marked) {
            subs
        } else if !subs.is_empty() {
            self.paragraphs().into_iter().filter(marked).collect()
        } else {
            self.paragraphs()
        };
        self.with_content(items)
    }

    /// The same for what is described at length: a sub-heading is one item with all that is below it, lists too, unless
    /// entries or rows stand directly in the section.
    pub fn described(&self) -> Vec<Piece> {
        let direct = self.direct();
        if !direct.is_empty() {
            return self.with_content(self.paired(|label| !label.text.ends_with([':', '.', '?'])).unwrap_or(direct));
        }
        let subs = self.subs();
        self.with_content(if subs.is_empty() { self.paragraphs() } else { subs })
    }

    /// Short paragraphs, each with a list of several entries or rows right below it: names of groups.
    pub fn groups(&self) -> Vec<&Piece> {
        let pairs = self.blocks.windows(2).filter_map(|two| match two {
            [Block::Paragraph(label), Block::Items(items)] if items.len() > 1 => Some(label),
            _ => None,
        });
        pairs.filter(|label| words(&label.text).len() <= LABEL && !label.text.ends_with('.')).collect()
    }

    /// Short paragraphs that are so, each with the list below it, where every list has one: `**Stripe**`, and below it what
    /// there is to say of it.
    fn paired(&self, so: impl Fn(&Piece) -> bool) -> Option<Vec<Piece>> {
        let mut found: Vec<Piece> = Vec::new();
        let mut label: Option<&Piece> = None;
        for block in &self.blocks {
            match block {
                Block::Heading(_) | Block::Bold(..) => return None,
                Block::Paragraph(piece) => label = Some(piece),
                Block::Items(items) => {
                    let named = label.take().filter(|label| so(label) && words(&label.text).len() <= LABEL)?;
                    let mut whole = named.clone();
                    items.iter().for_each(|item| whole.take(item));
                    found.push(whole);
                }
                Block::Code(_) => {}
            }
        }
        (found.len() > 1).then_some(found)
    }

    /// Paragraphs that stand above any sub-heading.
    fn above(&self) -> Vec<Piece> {
        let above = self.blocks.iter().take_while(|block| !matches!(block, Block::Heading(_)));
        let paragraphs = above.filter_map(|block| match block {
            Block::Paragraph(piece) => Some(piece.clone()),
            _ => None,
        });
        paragraphs.collect()
    }

    /// Entries and rows that stand directly in the section, above any sub-heading.
    pub fn direct(&self) -> Vec<Piece> {
        let above = self.blocks.iter().take_while(|block| !matches!(block, Block::Heading(_)));
        let lists = above.filter_map(|block| match block {
            Block::Items(items) => Some(items.iter().cloned()),
            _ => None,
        });
        self.with_content(lists.flatten().collect())
    }

    /// The same, without lists of what is left out.
    pub fn included(&self) -> Vec<Piece> {
        let above: Vec<&Block> =
            self.blocks.iter().copied().take_while(|block| !matches!(block, Block::Heading(_))).collect();
        let out = |at: usize| match at.checked_sub(1).map(|before| above[before]) {
            Some(Block::Paragraph(label)) => {
                label.text.trim_end().ends_with(':') && later::leaves_out(&words(&label.text))
            }
            _ => false,
        };
        let lists = above.iter().enumerate().filter_map(|(at, block)| match block {
            Block::Items(items) if !out(at) => Some(items.iter().cloned()),
            _ => None,
        });
        self.with_content(lists.flatten().collect())
    }

    /// The sub-section whose heading has this word.
    pub fn sub(&self, word: &str) -> Option<Part<'p>> {
        self.sub_of(|words| words.iter().any(|one| one == word))
    }

    /// The first sub-section of which the heading's words are so.
    pub fn sub_of(&self, so: impl Fn(&[String]) -> bool) -> Option<Part<'p>> {
        let mut part: Option<(u8, Part<'p>)> = None;
        for block in &self.blocks {
            match (block, &mut part) {
                (Block::Heading(heading), Some((level, _))) if heading.level <= *level => break,
                (Block::Heading(heading), None) if so(&words(&heading.text)) => {
                    let (line, text) = (heading.line, heading.text.clone());
                    part = Some((heading.level, Part { line, heading: text, blocks: Vec::new(), rest: None }));
                }
                (block, Some((_, part))) => part.blocks.push(block),
                _ => {}
            }
        }
        part.map(|(_, part)| part)
    }

    fn with_content(&self, mut items: Vec<Piece>) -> Vec<Piece> {
        let heading = self.heading_words();
        items.retain(|item| item.says_something(&heading));
        items
    }

    /// The outermost sub-headings, each with what stands below it.
    fn subs(&self) -> Vec<Piece> {
        let mut subs: Vec<(u8, Piece)> = Vec::new();
        for block in &self.blocks {
            match (block, subs.last_mut()) {
                (Block::Heading(heading), Some((level, open))) if heading.level > *level => {
                    open.take(&heading.as_piece())
                }
                (Block::Heading(heading), _) => subs.push((heading.level, heading.as_piece())),
                (Block::Paragraph(piece), Some((_, open))) => open.take(piece),
                (Block::Items(items), Some((_, open))) => items.iter().for_each(|item| open.take(item)),
                (Block::Code(code), Some((_, open))) => open.code.push(code.clone()),
                _ => {}
            }
        }
        subs.into_iter().map(|(_, piece)| piece).collect()
    }

    /// Each sub-heading with the text below it.
    pub fn labelled(&self) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for block in &self.blocks {
            match (block, found.last_mut()) {
                (Block::Heading(heading), _) => found.push((heading.text.clone(), String::new())),
                (Block::Paragraph(piece), Some((_, below))) => {
                    below.push_str(&piece.text);
                    below.push('\n');
                }
                (Block::Items(items), Some((_, below))) => {
                    for item in items {
                        below.push_str(&item.text);
                        below.push('\n');
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// The paragraphs, each with the code directly below it.
    pub fn paragraphs(&self) -> Vec<Piece> {
        let mut found: Vec<Piece> = self.rest.iter().cloned().collect();
        for block in &self.blocks {
            match (block, found.last_mut()) {
                (Block::Paragraph(piece), _) => found.push(piece.clone()),
                (Block::Code(code), Some(above)) => above.code.push(code.clone()),
                _ => {}
            }
        }
        // What leads in to several that have names or identifiers is none of them.
        let named = found.iter().skip(1).filter(|piece| is_named(&piece.text)).count();
        if named > 0 && named + 1 == found.len() && !is_named(&found[0].text) && found[0].code.is_empty() {
            found.remove(0);
        }
        found
    }

    /// The headers of the tables in it.
    pub fn headers(&self) -> String {
        let rows = self.listed().into_iter().flat_map(|item| item.cells);
        rows.map(|cell| cell.header + " ").collect()
    }

    /// The entries and rows anywhere in it.
    pub fn listed(&self) -> Vec<Piece> {
        let lists = self.blocks.iter().filter_map(|block| match block {
            Block::Items(items) => Some(items.iter().cloned()),
            _ => None,
        });
        lists.flatten().collect()
    }

    /// The items, without paragraphs: what has a name of its own.
    pub fn named_items(&self) -> Vec<Piece> {
        if self.is_prose() { Vec::new() } else { self.items() }
    }

    /// Whether it is paragraphs, and perhaps code, only.
    pub fn is_prose(&self) -> bool {
        self.blocks.iter().all(|block| matches!(block, Block::Paragraph(_) | Block::Code(_)))
    }

    /// Every code block in it, also those in items.
    pub fn all_code(&self) -> Vec<super::Code> {
        self.pieces().into_iter().flat_map(|piece| piece.code).collect()
    }

    /// The code blocks directly in it.
    pub fn code(&self) -> impl Iterator<Item = &'p super::Code> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Code(code) => Some(code),
            _ => None,
        })
    }

    /// Whether an image stands in it.
    pub fn has_image(&self) -> bool {
        self.pieces().iter().any(|piece| piece.image)
    }

    /// Whether it is paragraphs, of which the first says that there is none, and the others why.
    pub fn is_answered_none(&self) -> bool {
        let all = self.pieces();
        self.is_prose()
            && all.first().is_some_and(|first| is_none(&first.text))
            && !all.iter().any(|piece| piece.text.contains('?'))
    }

    /// Whether it says that there is none.
    pub fn says_none(&self) -> bool {
        self.pieces().iter().any(|piece| is_none(&piece.text))
    }
}

impl Heading {
    fn as_piece(&self) -> Piece {
        let line = Line { at: self.line, text: self.text.clone() };
        Piece { line: self.line, text: self.text.clone(), lines: vec![line], ..Piece::default() }
    }
}

impl Piece {
    /// With the code that stands in it.
    pub fn all_text(&self) -> String {
        let mut text = self.text.clone();
        for line in self.code.iter().flat_map(|code| &code.lines) {
            text.push('\n');
            text.push_str(&line.text);
        }
        text
    }
}
