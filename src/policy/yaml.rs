//! A small tree of a YAML file in which every node knows where it stands.
//!
//! The file is written by people, so we want every mistake at once with its exact line; serde stops at the first one.
//! The tree is built from the parser's events with limits on bytes, events and depth, and with what a policy has no
//! use for refused by name: anchors and aliases (a few lines of them expand without end), tags, several documents,
//! and characters that make a reader see another text than the machine.

use serde_yaml::granit_parser::{self, Event, Marker, Parser, ScalarStyle, Span};

use super::problem::{MAX_PROBLEMS, Problem, excerpt, join};

/// The largest file that is read at all.
pub(crate) const MAX_BYTES: usize = 256 * 1024;
/// More parser events than any policy needs.
const MAX_EVENTS: usize = 50_000;
/// Deeper than any policy needs.
const MAX_DEPTH: usize = 24;
/// More keys than any mapping of a policy has; keeps the search for doubled keys short.
const MAX_KEYS: usize = 200;

/// A line and a column, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl At {
    pub(crate) const START: At = At { line: 1, column: 1 };

    fn of(marker: &Marker) -> At {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        At { line: small(marker.line()).max(1), column: small(marker.col()).saturating_add(1) }
    }

    fn of_byte(text: &str, byte: usize) -> At {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let before = &text[..byte];
        let line = before.rsplit('\n').next().unwrap_or_default();
        At { line: small(before.matches('\n').count() + 1), column: small(line.chars().count() + 1) }
    }
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) at: At,
    pub(crate) kind: Kind,
}

impl Node {
    /// A value that was left out, or `null`.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain } if scalar(text, *plain) == Scalar::Nothing)
    }
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// `plain` is a scalar without quotes: only such a one may be a number, a boolean or nothing.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) at: At,
    pub(crate) name: String,
}

/// What a plain scalar means by YAML 1.2's core schema: `y` and `no` are text there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Nothing,
    Bool(bool),
    Number,
    Text,
}

pub(crate) fn scalar(text: &str, plain: bool) -> Scalar {
    if !plain {
        return Scalar::Text;
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Nothing,
        "true" | "True" | "TRUE" => Scalar::Bool(true),
        "false" | "False" | "FALSE" => Scalar::Bool(false),
        _ if looks_like_a_number(text) => Scalar::Number,
        _ => Scalar::Text,
    }
}

fn looks_like_a_number(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix("0o") {
        return !digits.is_empty() && digits.bytes().all(|b| (b'0'..=b'7').contains(&b));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    }
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(body, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    body.bytes().any(|b| b.is_ascii_digit())
        && body.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-' | b'+'))
        && body.parse::<f64>().is_ok()
}

/// Characters that have no business in a policy: NUL and other control characters, and those that reorder or hide
/// what a person reads.
fn is_hostile(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
        || matches!(c, '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Bytes to text, or the one reason why not.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Problem> {
    if bytes.len() > MAX_BYTES {
        return Err(Problem::at(
            At::START,
            "",
            format!("the file has more than {MAX_BYTES} bytes, which is the most that a policy may have"),
            "Shorten the file; list globs instead of single paths",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|b| **b != b'\n').filter(|b| (**b as i8) >= -0x40).count() + 1;
        let at = At { line: line as u32, column: column as u32 };
        Problem::at(at, "", "the file is not UTF-8 text from here on", "Save the file as UTF-8")
    })?;
    // A byte order mark at the very beginning is what some editors write; anywhere else it hides something.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut line, mut column) = (1, 1);
    for c in text.chars() {
        if is_hostile(c) {
            return Err(hostile(At { line, column }, c));
        }
        if c == '\n' {
            (line, column) = (line + 1, 1);
        } else {
            column += 1;
        }
    }
    Ok(text)
}

fn hostile(at: At, c: char) -> Problem {
    Problem::at(
        at,
        "",
        format!("the character U+{:04X} is not allowed: it is invisible or changes how the text reads", c as u32),
        "Remove the character",
    )
}

/// Builds the tree. `None` means an empty file. Problems that do not end the reading are added to `found`; an `Err`
/// is one that does.
pub(crate) fn tree(text: &str, found: &mut Vec<Problem>) -> Result<Option<Node>, Problem> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        disallow_directives: true,
        emit_unresolved_aliases: true,
    };
    let mut build = Build { text, found, open: Vec::new(), root: None, documents: 0 };
    for (count, step) in Parser::new_from_str_with_options(text, options).enumerate() {
        let (event, span) = step.map_err(|e| syntax(&e))?;
        if count >= MAX_EVENTS {
            return Err(Problem::at(
                At::of(&span.start),
                "",
                format!("the file has more than {MAX_EVENTS} YAML elements"),
                "Shorten the file; list globs instead of single paths",
            ));
        }
        build.take(event, &span)?;
    }
    Ok(build.root)
}

fn syntax(error: &granit_parser::ScanError) -> Problem {
    let at = At::of(error.marker());
    if matches!(error.kind(), granit_parser::ErrorKind::RecursionLimitExceeded) {
        return too_deep(at);
    }
    Problem::at(
        at,
        "",
        format!("not valid YAML: {}", excerpt(&error.kind().to_string())),
        "Correct the YAML at this line",
    )
}

fn too_deep(at: At) -> Problem {
    Problem::at(
        at,
        "",
        format!("the file is nested deeper than {MAX_DEPTH} levels"),
        "Flatten it: no key of the policy is that deep",
    )
}

struct Build<'f> {
    text: &'f str,
    found: &'f mut Vec<Problem>,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
}

struct Open {
    node: Node,
    /// In a map: the key that waits for its value. `Some(None)` is a key that was already complained about.
    key: Option<Option<Key>>,
}

impl Build<'_> {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Problem> {
        let at = At::of(&span.start);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Problem::at(
                        at,
                        "",
                        "a second YAML document starts here; there can be only one",
                        "Remove the `---` line and what follows, or join the documents",
                    ));
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => return Err(no_anchors(at)),
            Event::Scalar(text, style, anchor, tag) => {
                self.plainly(&span.start, anchor, tag.is_some())?;
                if let Some(c) = text.chars().find(|c| is_hostile(*c)) {
                    return Err(hostile(at, c));
                }
                let plain = style == ScalarStyle::Plain;
                self.put(Node { at, kind: Kind::Scalar { text: text.into_owned(), plain } })?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.plainly(&span.start, anchor, tag.is_some())?;
                self.enter(Node { at, kind: Kind::List(Vec::new()) })?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.plainly(&span.start, anchor, tag.is_some())?;
                self.enter(Node { at, kind: Kind::Map(Vec::new()) })?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    self.put(open.node)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn plainly(&mut self, start: &Marker, anchor: usize, tagged: bool) -> Result<(), Problem> {
        if anchor != 0 {
            return Err(no_anchors(self.before(start, '&')));
        }
        // More of them than are told are not looked for.
        if tagged && self.found.len() < MAX_PROBLEMS {
            self.found.push(Problem::at(
                self.before(start, '!'),
                self.path(),
                "YAML tags (`!…`) have no meaning here",
                "Remove the tag; quote the value if it is text",
            ));
        }
        Ok(())
    }

    /// Where the word with this first character stands that came last before an element: its anchor or its tag. The
    /// parser tells where the element starts, and a list or mapping may start lines below.
    fn before(&self, start: &Marker, sign: char) -> At {
        let begins = |(at, _): &(usize, &str)| {
            let before = self.text[..*at].chars().next_back();
            let named = sign == '!' || self.text[at + 1..].starts_with(|c: char| !c.is_whitespace());
            named && before.is_none_or(|c| c.is_whitespace() || matches!(c, '[' | '{' | ','))
        };
        // An empty element may be said to start at its own anchor, so the character there is looked at too.
        let end = self.text.char_indices().nth(start.index()).map_or(self.text.len(), |(at, c)| at + c.len_utf8());
        match self.text[..end].rmatch_indices(sign).find(begins) {
            Some((at, _)) => At::of_byte(self.text, at),
            None => At::of(start),
        }
    }

    fn enter(&mut self, node: Node) -> Result<(), Problem> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(node.at));
        }
        self.open.push(Open { node, key: None });
        Ok(())
    }

    /// Where the element that is being read stands, as `gates.verify.checks[0]`.
    fn path(&self) -> String {
        let mut path = String::new();
        for open in &self.open {
            match (&open.node.kind, &open.key) {
                (Kind::List(items), _) => path.push_str(&format!("[{}]", items.len())),
                (_, Some(Some(key))) if path.is_empty() => path.push_str(&excerpt(&key.name)),
                (_, Some(Some(key))) => path.push_str(&format!(".{}", excerpt(&key.name))),
                _ => {}
            }
        }
        path
    }

    fn put(&mut self, node: Node) -> Result<(), Problem> {
        let is_key = self.open.last().is_some_and(|o| o.key.is_none() && matches!(o.node.kind, Kind::Map(_)));
        let path = if is_key { self.path() } else { String::new() };
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return Ok(());
        };
        match &mut open.node.kind {
            Kind::List(items) => items.push(node),
            Kind::Map(entries) if entries.len() >= MAX_KEYS => {
                let says = format!("a mapping with more than {MAX_KEYS} keys");
                return Err(Problem::at(
                    node.at,
                    path,
                    says,
                    "Remove the keys that the policy does not have: `phasegate config schema` prints those that it has",
                ));
            }
            Kind::Map(entries) => match open.key.take() {
                None => open.key = Some(key(node, entries, &path, self.found)),
                Some(Some(key)) => entries.push((key, node)),
                Some(None) => {}
            },
            Kind::Scalar { .. } => {}
        }
        Ok(())
    }
}

fn key(node: Node, entries: &[(Key, Node)], path: &str, found: &mut Vec<Problem>) -> Option<Key> {
    let Kind::Scalar { text: name, .. } = node.kind else {
        found.push(Problem::at(node.at, path, "a key must be a single word", "Write `key: value`"));
        return None;
    };
    if let Some((first, _)) = entries.iter().find(|(key, _)| key.name == name) {
        found.push(Problem::at(
            node.at,
            join(path, &name),
            format!("the key `{}` stands twice; it was first given on line {}", excerpt(&name), first.at.line),
            "Keep one of the two",
        ));
        return None;
    }
    Some(Key { at: node.at, name })
}

fn no_anchors(at: At) -> Problem {
    Problem::at(at, "", "anchors (`&name`) and aliases (`*name`) are not allowed here", "Write the value out")
}
