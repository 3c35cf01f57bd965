//! A tree laid out flat: each node knows where its subtree ends, so that walking it takes no recursion, however deep it is.

use std::sync::LazyLock;

use super::attr::LINTS;
use crate::guard::parse::{Language, parse};

/// A tree with more nodes than this is not read.
const MOST_NODES: usize = 6_000_000;

#[derive(Debug, Clone, Copy)]
struct Node {
    kind: &'static str,
    field: &'static str,
    start: u32,
    end: u32,
    /// The first node behind its subtree.
    next: u32,
    broken: bool,
}

/// The place of a node. The root is 0.
pub(super) type At = usize;

/// A text and its tree.
pub(super) struct Nodes<'t> {
    pub(super) text: &'t str,
    language: Language,
    nodes: Vec<Node>,
    /// Where lines begin.
    lines: Vec<usize>,
}

/// One word of a text as a compiler sees it, or an edge of the tree's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Word {
        text: &'t str,
        inside: At,
    },
    /// A string between quotes that may be single or double.
    Quoted {
        text: &'t str,
    },
    Open,
    Close,
}

/// Literals: what is in them counts to the last space.
const WHOLE: &[&str] =
    &["string_literal", "raw_string_literal", "char_literal", "string", "template_string", "regex", "jsx_text"];

const COMMENTS: &[&str] = &["line_comment", "block_comment", "comment", "html_comment"];

/// The grammars' names for children that are asked for.
const FIELDS: &[&str] = &[
    "name",
    "body",
    "type",
    "trait",
    "macro",
    "definition",
    "superclasses",
    "left",
    "condition",
    "function",
    "arguments",
    "object",
    "property",
    "consequence",
    "alternative",
    "value",
];

/// Where a comma before the closing bracket means something.
const TUPLES: &[&str] = &["tuple_expression", "tuple_pattern", "tuple_type", "tuple", "subscript", "array_pattern"];

/// The names of a grammar's kinds, by their number. What has none is a mistake.
fn kinds(language: Language) -> &'static [String] {
    static KINDS: LazyLock<Vec<(Language, Vec<String>)>> = LazyLock::new(|| {
        use Language::{JavaScript, Python, Rust, Tsx, TypeScript};
        let names = |language: Language| {
            let grammar = language.grammar();
            let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
            (0..count).map(|id| grammar.node_kind_for_id(id).unwrap_or_default().to_owned()).collect()
        };
        [Rust, Python, JavaScript, TypeScript, Tsx].map(|language| (language, names(language))).into()
    });
    let found = KINDS.iter().find(|(of, _)| *of == language);
    found.map(|(_, names)| names.as_slice()).unwrap_or_default()
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl<'t> Nodes<'t> {
    /// Reads a text; or says why it can't be.
    pub(super) fn read(language: Language, text: &'t str) -> Result<Self, String> {
        let tree = parse(language, text.as_bytes()).ok_or("the parser gave it up as too long or too tangled")?;
        let kinds = kinds(language);
        let mut nodes: Vec<Node> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut cursor = tree.walk();
        'walk: loop {
            if nodes.len() >= MOST_NODES {
                return Err(format!("its tree has more than {MOST_NODES} nodes"));
            }
            let node = cursor.node();
            let at = nodes.len();
            nodes.push(Node {
                kind: kinds.get(usize::from(node.kind_id())).map_or("ERROR", String::as_str),
                field: cursor
                    .field_name()
                    .and_then(|name| FIELDS.iter().find(|field| **field == name))
                    .copied()
                    .unwrap_or_default(),
                start: small(node.start_byte()),
                end: small(node.end_byte()),
                next: small(at + 1),
                broken: node.is_error() || node.is_missing(),
            });
            if cursor.goto_first_child() {
                open.push(at);
                continue;
            }
            while !cursor.goto_next_sibling() {
                let Some(parent) = open.pop().filter(|_| cursor.goto_parent()) else { break 'walk };
                let end = small(nodes.len());
                if let Some(node) = nodes.get_mut(parent) {
                    node.next = end;
                }
            }
        }
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Ok(Self { text, language, nodes, lines })
    }

    fn node(&self, at: At) -> Option<&Node> {
        self.nodes.get(at)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn kind(&self, at: At) -> &'static str {
        self.node(at).map_or("", |node| node.kind)
    }

    /// The first node behind this one's subtree.
    pub(super) fn next(&self, at: At) -> At {
        self.node(at).map_or(usize::MAX, |node| node.next as usize)
    }

    pub(super) fn start(&self, at: At) -> usize {
        self.node(at).map_or(0, |node| node.start as usize)
    }

    pub(super) fn end(&self, at: At) -> usize {
        self.node(at).map_or(0, |node| node.end as usize)
    }

    pub(super) fn text(&self, at: At) -> &'t str {
        self.text.get(self.start(at)..self.end(at)).unwrap_or_default()
    }

    pub(super) fn is_comment(&self, at: At) -> bool {
        COMMENTS.contains(&self.kind(at))
    }

    /// The line that a byte is in, from 1.
    pub(super) fn line_of(&self, byte: usize) -> u32 {
        small(self.lines.partition_point(|start| *start <= byte))
    }

    pub(super) fn line(&self, at: At) -> u32 {
        self.line_of(self.start(at))
    }

    pub(super) fn children(&self, at: At) -> impl Iterator<Item = At> + use<'_, 't> {
        let end = self.next(at);
        let mut child = at + 1;
        std::iter::from_fn(move || {
            let this = (child < end).then_some(child)?;
            child = self.next(this);
            Some(this)
        })
    }

    /// The child that the grammar calls so.
    pub(super) fn field(&self, at: At, name: &str) -> Option<At> {
        self.children(at).find(|child| self.node(*child).is_some_and(|node| node.field == name))
    }

    /// The text of that child.
    pub(super) fn named(&self, at: At, name: &str) -> Option<&'t str> {
        self.field(at, name).map(|child| self.text(child))
    }

    pub(super) fn child(&self, at: At, kind: &str) -> Option<At> {
        self.children(at).find(|child| self.kind(*child) == kind)
    }

    /// The line of the first mistake that leaves it open where things begin and end: a bracket that has no partner in it. What
    /// stands behind such a place can be read as ordinary code by us and as something else by a compiler.
    pub(super) fn torn(&self) -> Option<u32> {
        let mut at = 0;
        while at < self.len() {
            let node = self.node(at)?;
            if !node.broken {
                at += 1;
                continue;
            }
            let mut open: Vec<&str> = Vec::new();
            let lone = node.start == node.end && matches!(node.kind, "{" | "}" | "(" | ")" | "[" | "]");
            let mut fits = !lone;
            for token in self.tokens(at) {
                let (Token::Word { text, .. } | Token::Quoted { text }) = token else { continue };
                match text {
                    "{" | "(" | "[" | "${" | "#{" => open.push(text),
                    "}" | ")" | "]" => fits &= open.pop().is_some_and(|open| pairs(open, text)),
                    // A quote or a comment that never ends.
                    _ => fits &= !text.contains(['"', '`']) && !text.contains("/*") || is_literal(text),
                }
            }
            if !fits || !open.is_empty() {
                return Some(self.line(at));
            }
            at = self.next(at);
        }
        None
    }

    /// The line of the first mistake.
    pub(super) fn mistake(&self) -> Option<u32> {
        self.nodes.iter().find(|node| node.broken).map(|node| self.line_of(node.start as usize))
    }

    /// The words of a subtree, without comments and without the commas that a formatter puts before a closing bracket. Where
    /// lines and their depth mean something, its shape too.
    pub(super) fn tokens(&self, root: At) -> Vec<Token<'t>> {
        let shaped = self.language != Language::Rust;
        let mut found: Vec<Token<'t>> = Vec::new();
        let mut open: Vec<At> = Vec::new();
        let mut reached = self.start(root);
        let mut at = root;
        let end = self.next(root).min(self.len());
        while at < end {
            while open.last().is_some_and(|inside| self.next(*inside) <= at) {
                if let Some(inside) = open.pop() {
                    self.gap(&mut found, &mut reached, self.end(inside), inside);
                    if shaped {
                        found.push(Token::Close);
                    }
                }
            }
            let inside = open.last().copied().unwrap_or(root);
            self.gap(&mut found, &mut reached, self.start(at), inside);
            if self.is_comment(at) || at != root && self.is_lint(at) {
                reached = self.end(at);
                at = self.next(at);
            } else if self.next(at) == at + 1 || WHOLE.contains(&self.kind(at)) {
                let text = self.text(at);
                // Where the shape says where a statement ends, a semicolon says nothing.
                let idle = shaped && text == ";" && self.kind(inside) != "for_statement";
                if shaped && self.kind(at) == "string" {
                    found.push(Token::Quoted { text });
                } else if !text.is_empty() && !idle {
                    found.push(Token::Word { text, inside });
                }
                reached = self.end(at);
                at = self.next(at);
            } else {
                if shaped {
                    found.push(Token::Open);
                }
                open.push(at);
                at += 1;
            }
        }
        while let Some(inside) = open.pop() {
            self.gap(&mut found, &mut reached, self.end(inside), inside);
            if shaped {
                found.push(Token::Close);
            }
        }
        self.without_last_commas(found)
    }

    /// Whether it is an attribute that speaks to a linter alone.
    fn is_lint(&self, at: At) -> bool {
        let attribute = matches!(self.kind(at), "attribute_item" | "inner_attribute_item");
        let inner = || self.text(at).trim_start_matches(|c: char| "#![".contains(c) || c.is_whitespace());
        let takes = |name: &&str| inner().strip_prefix(*name).is_some_and(|rest| rest.trim_start().starts_with('('));
        attribute && LINTS.iter().any(takes)
    }

    /// What stands between two nodes and is no space: the grammar hides some words.
    fn gap(&self, found: &mut Vec<Token<'t>>, reached: &mut usize, to: usize, inside: At) {
        if let Some(text) = self.text.get(*reached..to).map(str::trim).filter(|text| !text.is_empty()) {
            found.push(Token::Word { text, inside });
        }
        *reached = to.max(*reached);
    }

    fn without_last_commas(&self, found: Vec<Token<'t>>) -> Vec<Token<'t>> {
        let word = |at: Option<usize>| match at.and_then(|at| found.get(at)) {
            Some(Token::Word { text, inside }) => Some((*text, *inside)),
            _ => None,
        };
        // The words at which a bracket of this kind was opened, to tell a call from a tuple in a macro.
        let mut opened: Vec<(usize, bool)> = Vec::new();
        let mut drop = vec![false; found.len()];
        for (at, token) in found.iter().enumerate() {
            let Token::Word { text, inside } = token else { continue };
            match *text {
                "(" | "[" | "{" => opened.push((at, false)),
                ")" | "]" | "}" => drop_last(opened.pop(), at, &word, &mut drop, self),
                "," => {
                    // Behind the body of an arm, a comma may stand or not.
                    if self.kind(*inside) == "match_arm" {
                        mark(&mut drop, at);
                    }
                    let next = word(Some(at + 1)).map(|(text, _)| text);
                    if let (Some((_, several)), false) = (opened.last_mut(), matches!(next, Some(")" | "]" | "}"))) {
                        *several = true;
                    }
                }
                _ => {}
            }
        }
        found.into_iter().zip(drop).filter_map(|(token, drop)| (!drop).then_some(token)).collect()
    }
}

fn mark(drop: &mut [bool], at: usize) {
    if let Some(place) = drop.get_mut(at) {
        *place = true;
    }
}

/// Drops the comma before a closing bracket, where it says nothing.
fn drop_last<'t>(
    opened: Option<(usize, bool)>,
    closing: usize,
    word: &dyn Fn(Option<usize>) -> Option<(&'t str, At)>,
    drop: &mut [bool],
    nodes: &Nodes<'_>,
) {
    let Some((opening, several)) = opened else { return };
    let Some((",", inside)) = word(closing.checked_sub(1)) else { return };
    let lone = matches!(word(closing.checked_sub(2)), Some(("," | "(" | "[" | "{", _)));
    let kind = nodes.kind(inside);
    if lone || TUPLES.contains(&kind) {
        return;
    }
    // In a macro nobody says what brackets are: `(a,)` is a tuple unless something is called.
    let called = |before: &str| before == "!" || before.ends_with(|c: char| c.is_alphanumeric() || "_)]>".contains(c));
    let round = matches!(word(Some(opening)), Some(("(", _)));
    if kind == "token_tree" && round && !several {
        let is_call = word(opening.checked_sub(1)).is_some_and(|(before, _)| called(before));
        // The outermost brackets of a macro have nothing before them that the tokens show.
        if !is_call && opening != 0 {
            return;
        }
    }
    mark(drop, closing - 1);
}

fn pairs(open: &str, close: &str) -> bool {
    matches!((open, close), ("{" | "${" | "#{", "}") | ("(", ")") | ("[", "]"))
}

/// Whether a word is a literal with both of its ends.
fn is_literal(text: &str) -> bool {
    text.len() > 1
        && ['"', '`', '\'']
            .iter()
            .any(|quote| text.trim_end_matches('#').ends_with(*quote) && text.matches(*quote).count() > 1)
}
