//! XML that the change may have written, as reports are: what is read is bounded, no entity is followed, and none of it takes long.

use std::borrow::Cow;

use roxmltree::{Document, Node, ParsingOptions};

/// More nodes than the largest report of a [`super::reports`] run has.
const MOST_NODES: u32 = 2_000_000;
/// An element has a handful, and suites are in suites a few levels deep.
const MOST_ATTRIBUTES: usize = 100;
/// Most have none, and surefire's have one or two.
const MOST_NAMESPACES: usize = 20;
const DEEPEST: usize = 100;
/// `&#x10FFFF;` without its ends.
const LONGEST_REFERENCE: usize = 10;

/// What somebody makes of the root of a document; or in one sentence why it can't be read.
pub(super) fn read<T>(bytes: &[u8], look: impl FnOnce(Node<'_, '_>) -> Result<T, String>) -> Result<T, String> {
    let text = decoded(bytes);
    let text = legal(&text);
    let text = without_type(&text);
    if let Some(why) = unheard_of(&text) {
        return Err(why);
    }
    // Without a DTD there are no entities that could grow.
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&text, options)
        .map_err(|error| format!("it is not XML that can be read: {error}"))?;
    look(document.root_element())
}

pub(super) fn is(node: &Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

/// Some systems write UTF-16, which its first bytes tell.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] | [b'<', 0, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] | [0, b'<', ..] => u16::from_be_bytes,
        _ => return String::from_utf8_lossy(bytes),
    };
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    Cow::Owned(text.collect())
}

/// The text without a document type that only says where its definition lies, as Cobertura's reports have one: that is not fetched. One
/// that declares something itself stays, and is refused.
fn without_type(text: &str) -> Cow<'_, str> {
    let mut at = 0;
    let (before, named) = loop {
        let rest = text[at..].trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        at = text.len() - rest.len();
        let aside = [("<!--", "-->"), ("<?", "?>")].into_iter().find(|(begins, _)| rest.starts_with(begins));
        match aside.map(|(begins, ends)| (begins.len() + ends.len(), rest[begins.len()..].find(ends))) {
            Some((ends, Some(length))) => at += ends + length,
            None if rest.starts_with("<!DOCTYPE") => break (&text[..at], &rest[..Tag::at_the_start_of(rest).length]),
            _ => return Cow::Borrowed(text),
        }
    };
    match named[1..].contains(['[', '<']) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{before}{}", &text[at + named.len()..])),
    }
}

/// What no report has and takes the parser long: it holds each attribute of an element against all its others, and hands each
/// namespace down to all that is below. Who is above a test is asked for each.
fn unheard_of(text: &str) -> Option<String> {
    // What each element that is open has declared.
    let (mut rest, mut open) = (text, Vec::new());
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let aside = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((begins, ends)) = aside.into_iter().find(|(begins, _)| rest.starts_with(begins)) {
            // One that does not end is the parser's to tell of.
            let length = rest[begins.len()..].find(ends)?;
            rest = &rest[begins.len() + length + ends.len()..];
            continue;
        }
        let tag = Tag::at_the_start_of(rest);
        if tag.attributes > MOST_ATTRIBUTES {
            return Some(format!("it has an element with more than {MOST_ATTRIBUTES} attributes"));
        }
        if open.iter().sum::<usize>() + tag.namespaces > MOST_NAMESPACES {
            return Some(format!("it has an element for which more than {MOST_NAMESPACES} namespaces are declared"));
        }
        match (rest.starts_with("</"), rest[..tag.length].ends_with("/>")) {
            (true, _) => drop(open.pop()),
            (false, true) => {}
            (false, false) => open.push(tag.namespaces),
        }
        if open.len() > DEEPEST {
            return Some(format!("its elements are nested more than {DEEPEST} deep"));
        }
        rest = &rest[tag.length..];
    }
    None
}

struct Tag {
    length: usize,
    attributes: usize,
    namespaces: usize,
}

impl Tag {
    fn at_the_start_of(text: &str) -> Self {
        let (mut quote, mut before) = (None, b'<');
        let mut tag = Self { length: text.len(), attributes: 0, namespaces: 0 };
        for (at, byte) in text.bytes().enumerate().skip(1) {
            match (quote, byte) {
                (Some(begun), _) if byte == begun => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => tag.attributes += 1,
                (None, b'x') if text.as_bytes()[at..].starts_with(b"xmlns") && !before.is_ascii_alphanumeric() => {
                    tag.namespaces += 1;
                }
                (None, b'>') => {
                    tag.length = at + 1;
                    return tag;
                }
                (None, _) => {}
            }
            before = byte;
        }
        tag
    }
}

/// The text with what XML does not allow made visible: some tools write a program's colours as they come.
fn legal(text: &str) -> Cow<'_, str> {
    let bad = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{7f}'..='\u{9f}'))
            || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    if !text.contains(bad) && !text.contains("&#") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| bad(c) || c == '&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let number = rest.strip_prefix("&#").and_then(|more| {
            let end = more.bytes().take(LONGEST_REFERENCE).position(|byte| byte == b';')?;
            Some(&more[..end])
        });
        let named = number.and_then(|number| match number.strip_prefix('x') {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        });
        match (named, number) {
            (Some(code), Some(number)) if char::from_u32(code).is_none_or(bad) => {
                out.push('\u{fffd}');
                rest = &rest[number.len() + 3..];
            }
            _ => {
                let c = rest.chars().next().unwrap_or_default();
                out.push(if c == '&' { c } else { '\u{fffd}' });
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}
