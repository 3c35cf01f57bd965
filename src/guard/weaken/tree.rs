//! A parsed text as a flat list in the order of reading, so that no walk of it needs recursion, however deep it nests.

use crate::guard::parse::{Language, parse};

/// A node of the tree. What is below it follows it, up to [`Node::last`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) kind: &'static str,
    pub(super) field: &'static str,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) row: u32,
    /// The first node that is not below this one.
    pub(super) last: usize,
    pub(super) up: usize,
    /// It is no keyword and no sign.
    pub(super) named: bool,
}

const OUTSIDE: Node = Node { kind: "", field: "", start: 0, end: 0, row: 0, last: 0, up: 0, named: false };

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sort {
    Word,
    Number,
    Text,
    Mark,
}

/// A word, a number, a string without its quotes, or a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Token<'t> {
    pub(super) text: &'t str,
    pub(super) sort: Sort,
}

impl Token<'_> {
    /// Whether it tells one statement from another.
    pub(super) fn tells(&self) -> bool {
        self.sort != Sort::Mark
    }
}

/// No expression is read beyond this many tokens.
const MOST_TOKENS: usize = 4_000;

/// Strings are one token each, whatever stands in them.
const TEXTS: [&str; 11] = [
    "string",
    "concatenated_string",
    "template_string",
    "string_literal",
    "raw_string_literal",
    "char_literal",
    "interpreted_string_literal",
    "rune_literal",
    "regex",
    "byte_string_literal",
    "c_string_literal",
];

/// Comments, and what lets a line of Python go on in the next one.
const COMMENTS: [&str; 4] = ["comment", "line_comment", "block_comment", "line_continuation"];

pub(super) fn is_comment(kind: &str) -> bool {
    COMMENTS.contains(&kind)
}

pub(super) fn is_text(kind: &str) -> bool {
    TEXTS.contains(&kind)
}

const NUMBERS: [&str; 7] =
    ["integer", "float", "number", "integer_literal", "float_literal", "int_literal", "imaginary_literal"];

pub(super) fn is_number(kind: &str) -> bool {
    NUMBERS.contains(&kind)
}

pub(super) struct Tree<'t> {
    pub(super) text: &'t str,
    nodes: Vec<Node>,
    /// The first line that the parser could make nothing of.
    pub(super) broken: Option<u32>,
}

impl<'t> Tree<'t> {
    /// The list, or none where the parser gave up.
    pub(super) fn read(language: Language, text: &'t str) -> Option<Self> {
        let parsed = parse(language, text.as_bytes())?;
        let grammar = language.grammar();
        let mut nodes: Vec<Node> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut broken = None;
        let mut cursor = parsed.walk();
        loop {
            let node = cursor.node();
            let up = open.last().copied().unwrap_or(0);
            let row = u32::try_from(node.start_position().row).unwrap_or(u32::MAX);
            if broken.is_none() && (node.is_error() || node.is_missing()) {
                broken = Some(row.saturating_add(1));
            }
            open.push(nodes.len());
            nodes.push(Node {
                kind: grammar.node_kind_for_id(node.kind_id()).unwrap_or("ERROR"),
                field: cursor.field_id().and_then(|id| grammar.field_name_for_id(id.get())).unwrap_or(""),
                start: node.start_byte(),
                end: node.end_byte(),
                row,
                last: 0,
                up,
                named: node.is_named(),
            });
            if cursor.goto_first_child() {
                continue;
            }
            loop {
                let so_far = nodes.len();
                if let Some(node) = open.pop().and_then(|closed| nodes.get_mut(closed)) {
                    node.last = so_far;
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return Some(Self { text, nodes, broken });
                }
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, at: usize) -> &Node {
        self.nodes.get(at).unwrap_or(&OUTSIDE)
    }

    pub(super) fn kind(&self, at: usize) -> &'static str {
        self.node(at).kind
    }

    /// The line, counted from one.
    pub(super) fn line(&self, at: usize) -> u32 {
        self.node(at).row.saturating_add(1)
    }

    pub(super) fn words(&self, at: usize) -> &'t str {
        let node = self.node(at);
        self.text.get(node.start..node.end).unwrap_or("")
    }

    /// The node above, or none for the root.
    pub(super) fn up(&self, at: usize) -> Option<usize> {
        (at != 0).then(|| self.node(at).up)
    }

    pub(super) fn kind_above(&self, at: usize) -> &'static str {
        self.up(at).map_or("", |up| self.kind(up))
    }

    pub(super) fn children(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let last = self.node(at).last;
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let child = (next < last).then_some(next)?;
            next = self.node(child).last.max(child + 1);
            Some(child)
        })
    }

    /// The children that are no signs, keywords or comments.
    pub(super) fn parts(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        self.children(at).filter(|child| self.node(*child).named && !COMMENTS.contains(&self.kind(*child)))
    }

    pub(super) fn field(&self, at: usize, field: &str) -> Option<usize> {
        self.children(at).find(|child| self.node(*child).field == field)
    }

    pub(super) fn child_of_kind(&self, at: usize, kind: &str) -> Option<usize> {
        self.children(at).find(|child| self.kind(*child) == kind)
    }

    /// The tokens of a node, without comments and without commas that only close a list.
    pub(super) fn tokens(&self, at: usize) -> Vec<Token<'t>> {
        self.tokens_within(at, MOST_TOKENS)
    }

    pub(super) fn tokens_within(&self, at: usize, most: usize) -> Vec<Token<'t>> {
        let last = self.node(at).last;
        let mut out: Vec<Token<'t>> = Vec::new();
        let mut next = at;
        while next < last && out.len() < most {
            let node = self.node(next);
            if COMMENTS.contains(&node.kind) {
                next = node.last.max(next + 1);
                continue;
            }
            let text = TEXTS.contains(&node.kind);
            if !text && node.last > next + 1 {
                next += 1;
                continue;
            }
            let words = self.words(next);
            next = node.last.max(next + 1);
            if words.trim().is_empty() {
                continue;
            }
            let sort = if text {
                Sort::Text
            } else if NUMBERS.contains(&node.kind) || words.starts_with(|c: char| c.is_ascii_digit()) {
                Sort::Number
            } else if words.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
                Sort::Word
            } else {
                Sort::Mark
            };
            let words = if text { unquoted(words) } else { words };
            if matches!(words, ")" | "]" | "}" | ">") && out.last().is_some_and(|last| last.text == ",") {
                out.pop();
            }
            // A statement's end is the layout's business.
            if sort == Sort::Mark && words == ";" {
                continue;
            }
            out.push(Token { text: words, sort });
        }
        out
    }

    /// What a string says, where the node is one without parts to be filled in.
    pub(super) fn string(&self, at: usize) -> Option<&'t str> {
        TEXTS.contains(&self.kind(at)).then(|| unquoted(self.words(at)))
    }
}

/// A string without its quotes and the letters before them, so that another style of quotes is no other string.
pub(super) fn unquoted(text: &str) -> &str {
    let inner = text.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '#');
    let Some(quote) = inner.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) else { return text };
    let inner = inner.trim_end_matches('#');
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let bare = |mark: &str| inner.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    bare(&triple).or_else(|| bare(&quote.to_string())).unwrap_or(inner)
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// A digest of tokens; not one that withstands an attack, and nothing but a hint rests on it.
pub(super) fn digest(tokens: &[Token<'_>]) -> u64 {
    tokens.iter().fold(SEED, |so_far, token| mixed(mixed(so_far, token.text), "\0"))
}

pub(super) fn hash(text: &str) -> u64 {
    mixed(SEED, text)
}

fn mixed(seed: u64, text: &str) -> u64 {
    text.bytes().fold(seed, |so_far, byte| (so_far ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
