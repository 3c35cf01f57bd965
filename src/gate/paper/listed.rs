//! Sections that are written as a list.

use std::borrow::Cow;

use super::Name;
use super::names::{heading_words, names_of};

/// So many entries have to be sections: a list that names one of them is a list.
const FEWEST: usize = 3;

/// `2. Stack` with a line of dashes below it: people mean a heading, where Markdown sees a list and a rule. The same with a
/// heading, and nothing in the place of the dashes.
fn underlined<'t>(text: &'t str, names: &'static [Name]) -> Cow<'t, str> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let rules = |line: &str| {
        let bare = line.trim();
        bare.len() > 2 && (bare.bytes().all(|b| b == b'-') || bare.bytes().all(|b| b == b'='))
    };
    let numbered = |line: &str| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        (1..4).contains(&digits) && line[digits..].starts_with(['.', ')'])
    };
    let named = |line: &str| !names_of(&heading_words(line), names, true).is_empty();
    let is_one =
        |at: usize| lines.get(at + 1).is_some_and(|next| rules(next)) && numbered(lines[at]) && named(lines[at]);
    if !(0..lines.len()).any(is_one) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut after = false;
    for (at, line) in lines.iter().enumerate() {
        match (is_one(at), after) {
            (true, _) => {
                out.push_str("## ");
                out.push_str(line);
            }
            (false, true) => out.push('\n'),
            (false, false) => out.push_str(line),
        }
        after = is_one(at);
    }
    Cow::Owned(out)
}

/// A document whose sections are entries of a list, `1. **Problem**` with what is said indented below it: the same with
/// headings. Every line stays where it is.
pub(super) fn as_headings<'t>(text: &'t str, names: &'static [Name]) -> Cow<'t, str> {
    let text = match underlined(text, names) {
        Cow::Owned(text) => return Cow::Owned(entries_as_headings(&text, names).into_owned()),
        Cow::Borrowed(text) => text,
    };
    entries_as_headings(text, names)
}

fn entries_as_headings<'t>(text: &'t str, names: &'static [Name]) -> Cow<'t, str> {
    let section = |name: &str| !names_of(&heading_words(name), names, true).is_empty();
    let entries = text.lines().filter_map(entry).filter(|(name, _)| section(name)).take(FEWEST).count();
    if entries < FEWEST {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut inside: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        if let Some((name, indent)) = entry(line) {
            inside = Some(indent);
            out.push_str("## ");
            out.push_str(name);
            out.push('\n');
        } else if let Some(indent) = inside.filter(|_| blanks > 0) {
            out.push_str(&line[blanks.min(indent)..]);
        } else {
            inside = inside.filter(|_| line.trim().is_empty());
            out.push_str(line);
        }
    }
    Cow::Owned(out)
}

/// Bold words that are an entry by themselves, and how far what is below them is indented.
fn entry(line: &str) -> Option<(&str, usize)> {
    let line = line.trim_end();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+'])?,
        1..=3 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let bold = rest.trim_start();
    let indent = line.len() - bold.len();
    let inner = bold.strip_prefix("**").and_then(|bold| bold.trim_end_matches(':').strip_suffix("**"))?;
    (rest.starts_with(' ') && !inner.contains("**")).then_some((inner, indent))
}

#[cfg(test)]
mod tests {
    use super::super::names::SCOPE;
    use super::*;

    #[test]
    fn entries_that_are_sections_are_headings_on_the_same_lines() {
        let text = "1. Problem\n----------\nSlow.\n\n2) Stack\r\n===\r\nRust\n";
        assert_eq!(as_headings(text, SCOPE), "## 1. Problem\n\nSlow.\n\n## 2) Stack\r\n\nRust\n");
        let text = "# S\n\n1. **Problem**\n\n   Slow.\n2. **Stack**:\n   - Rust\n     - 1.80\n10) **Deferred**\n\n   none\nend\n";
        let read = "# S\n\n## Problem\n\nSlow.\n## Stack\n- Rust\n  - 1.80\n## Deferred\n\nnone\nend\n";
        assert_eq!(as_headings(text, SCOPE), read);
        for text in
            ["- **Stack**\n- **Problem**\n", "1. **Stack** Rust\n2. **Problem** x\n3. **Deferred** y\n", "- é\n-"]
        {
            assert_eq!(as_headings(text, SCOPE), text);
        }
    }
}
