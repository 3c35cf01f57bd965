//! Texts of JavaScript with something filled in: templates, and what a page shows.

use super::super::super::tree::Tree;
use super::{Part, Reading};

/// A template: its text, and what is filled in.
pub(super) fn template(tree: &Tree<'_>, at: usize) -> Vec<Part> {
    let node = tree.node(at);
    let call = tree.up(at).filter(|up| tree.kind(*up) == "call_expression");
    let callee = call.and_then(|call| tree.field(call, "function"));
    // A table of cases: what stands between the bars is aligned as one likes.
    let table = callee.is_some_and(|callee| tree.words(callee).ends_with(".each"));
    let said = |from: usize, to: usize| {
        let text = tree.text.get(from..to).unwrap_or("").replace("\r\n", "\n");
        Part::Said(format!("~{}", if table { unaligned(&text) } else { text }))
    };
    let (mut parts, mut from) = (Vec::new(), node.start);
    for filled in tree.children(at).filter(|child| tree.kind(*child) == "template_substitution") {
        parts.push(said(from, tree.node(filled).start));
        parts.push(Part::Node(filled));
        from = tree.node(filled).end;
    }
    parts.push(said(from, node.end));
    parts
}

/// Without spaces; where a line ends within it, that stays.
fn unaligned(text: &str) -> String {
    let lines = text.lines().map(|line| line.chars().filter(|c| !c.is_whitespace() && *c != '`').collect::<String>());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// An element of a page: what it holds, with its text as a page would have it, wherever its lines end.
pub(super) fn element(reading: &Reading<'_, '_>, at: usize) -> Vec<Part> {
    let tree = reading.tree;
    let mut parts = Vec::new();
    let (mut raw, mut text) = (String::new(), String::new());
    for child in tree.children(at) {
        match tree.kind(child) {
            "jsx_text" | "html_character_reference" => raw.push_str(tree.words(child)),
            // A space that would not be seen at a line's end.
            "jsx_expression" if is_space(tree, child) => {
                text.push_str(&shown(&std::mem::take(&mut raw)));
                text.push(' ');
            }
            _ => {
                text.push_str(&shown(&std::mem::take(&mut raw)));
                if !text.is_empty() {
                    parts.push(Part::Said(format!("text={}", single_spaced(&std::mem::take(&mut text)))));
                }
                if reading.says(child) {
                    parts.push(Part::Node(child));
                }
            }
        }
    }
    parts
}

fn is_space(tree: &Tree<'_>, at: usize) -> bool {
    let mut parts = tree.parts(at);
    let one = parts.next().filter(|_| parts.next().is_none());
    one.is_some_and(|one| tree.kind(one) == "string" && tree.string(one) == Some(" "))
}

const SPACES: [char; 4] = [' ', '\t', '\n', '\r'];

/// A text of a page: what stands around its line breaks is not shown.
fn shown(raw: &str) -> String {
    let last = raw.split('\n').count().saturating_sub(1);
    let cut = raw.split('\n').enumerate().map(|(at, line)| {
        let line = if at > 0 { line.trim_start_matches(SPACES) } else { line };
        if at < last { line.trim_end_matches(SPACES) } else { line }
    });
    cut.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

fn single_spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if SPACES.contains(&c) { ' ' } else { c };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}
