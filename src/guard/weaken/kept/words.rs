//! What a string, a number or a pattern says, whatever its quotes and its letter case are.
//!
//! Only what formatters turn is taken for the same: which quotes there are, and which of them are escaped for that. No other escape
//! is resolved, so a text that comes out alike is alike once it is read.

use std::borrow::Cow;

use super::super::tree::{Tree, is_number, is_text, unquoted};
use super::form::Part;
use crate::guard::parse::Language;

/// The words of a leaf.
pub(super) fn leaf(language: Language, tree: &Tree<'_>, at: usize) -> String {
    let (kind, words) = (tree.kind(at), tree.words(at));
    // Lines end as one likes; every language here reads them as one sort of end.
    let words: Cow<'_, str> = if words.contains('\r') { words.replace("\r\n", "\n").into() } else { words.into() };
    if is_text(kind) {
        return match language {
            Language::Rust | Language::Go => plain(kind, &words),
            _ => script(tree, at, &words),
        };
    }
    if is_number(kind) {
        let script = matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx);
        return format!("#{}", if script { decimal(&words) } else { words.to_ascii_lowercase() });
    }
    format!("={words}")
}

/// What a string says, where it is one: what it is called by.
pub(super) fn title(language: Language, tree: &Tree<'_>, at: usize) -> Option<String> {
    let text = tree.string(at)?;
    let script = matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx);
    Some(if script && tree.kind(at) == "string" { bare(text) } else { text.to_owned() })
}

/// A string of Rust or Go: their formatters turn no quotes.
fn plain(kind: &str, words: &str) -> String {
    let text = unquoted(words);
    if text.contains(['\\', '"', '\'', '`']) {
        return format!("{kind}={words}");
    }
    let marks: String = words.chars().take_while(char::is_ascii_alphabetic).collect();
    format!("{kind}{}={text}", marks.to_ascii_lowercase().replace('r', ""))
}

fn script(tree: &Tree<'_>, at: usize, words: &str) -> String {
    match tree.kind(at) {
        "regex" => {
            let (pattern, flags) = words.rsplit_once('/').unwrap_or((words, ""));
            let mut flags: Vec<char> = flags.chars().collect();
            flags.sort_unstable();
            format!("regex={pattern}/{}", flags.into_iter().collect::<String>())
        }
        // Nothing is escaped there; a quote may have a name.
        "string" if tree.kind_above(at) == "jsx_attribute" => {
            format!("jsx={}", unquoted(words).replace("&apos;", "'").replace("&quot;", "\""))
        }
        "string" => format!("string={}", bare(unquoted(words))),
        kind => format!("{kind}={words}"),
    }
}

/// A text without the signs that only keep a quote from ending it.
fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some(quote @ ('"' | '\''))) => out.push(quote),
            ('\\', Some(other)) => out.extend(['\\', other]),
            (c, _) => out.push(c),
        }
    }
    out
}

/// A string of Python, or several that follow each other and are one: its words, and what is filled in.
pub(super) fn python(tree: &Tree<'_>, at: usize) -> Vec<Part> {
    let mut joined: Vec<(String, Vec<Part>)> = Vec::new();
    let strings = if tree.kind(at) == "concatenated_string" { tree.parts(at).collect() } else { vec![at] };
    for string in strings {
        let (marks, parts) = quoted(tree, string);
        match joined.last_mut() {
            Some((before, so_far)) if *before == marks && !ends_in_a_number(so_far) => append(so_far, parts),
            _ => joined.push((marks, parts)),
        }
    }
    let marked = |(marks, parts): (String, Vec<Part>)| [Part::Said(format!("string{marks}"))].into_iter().chain(parts);
    joined.into_iter().flat_map(marked).collect()
}

/// Texts that follow each other are one.
fn append(so_far: &mut Vec<Part>, parts: Vec<Part>) {
    for part in parts {
        match (so_far.last_mut(), part) {
            (Some(Part::Said(before)), Part::Said(text)) => before.push_str(text.strip_prefix('~').unwrap_or(&text)),
            (_, part) => so_far.push(part),
        }
    }
}

/// `"\1"`, of which a digit behind it would make another sign.
fn ends_in_a_number(parts: &[Part]) -> bool {
    let Some(Part::Said(text)) = parts.last() else { return false };
    let digits = text.trim_end_matches(|c: char| c.is_digit(8));
    digits.len() < text.len() && digits.ends_with('\\')
}

/// The letters before a string of Python that make it another sort of string, and what it says: always a text, and then what is
/// filled in with a text behind it.
fn quoted(tree: &Tree<'_>, at: usize) -> (String, Vec<Part>) {
    let words = tree.words(at);
    let marks: String = words.chars().take_while(char::is_ascii_alphabetic).collect();
    let marks = marks.to_ascii_lowercase();
    let raw = marks.contains('r');
    let inner = unquoted(words);
    let begins = tree.node(at).start + inner.as_ptr().addr().saturating_sub(words.as_ptr().addr());
    let ends = begins + inner.len();
    let said = |from: usize, to: usize| -> String {
        let text = tree.text.get(from..to).unwrap_or("").replace("\r\n", "\n");
        // `r"\d"` is `"\\d"`.
        if raw { text.replace('\\', "\\\\") } else { folded(&bare(&text), marks.contains('b')) }
    };
    let (mut parts, mut from) = (Vec::new(), begins);
    for part in tree.children(at).filter(|part| tree.kind(*part) == "interpolation") {
        parts.push(Part::Said(format!("~{}", said(from, tree.node(part).start))));
        // `{x = }` prints its spaces.
        let prints = tree.children(part).any(|child| tree.kind(child) == "=");
        parts.push(if prints { Part::Said(format!("={}", tree.words(part))) } else { Part::Node(part) });
        from = tree.node(part).end;
    }
    let mut last = said(from, ends);
    if parts.is_empty() && tree.kind_above(at) == "expression_statement" {
        last = laid_out(&last);
    }
    parts.push(Part::Said(format!("~{last}")));
    (marks.replace(['r', 'u'], ""), parts)
}

/// The letters of a sign's number and name in one case: `"\xAB"`, `"\N{dash}"`.
fn folded(text: &str, bytes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        out.push_str(before);
        out.push('\\');
        let kind = behind.chars().next();
        let ends = match kind {
            Some('x') => 3,
            Some('u') if !bytes => 5,
            Some('U') if !bytes => 9,
            Some('N') if !bytes => behind.find('}').map_or(1, |at| at + 1),
            Some(other) => other.len_utf8(),
            None => 0,
        };
        let (sign, left) = behind.split_at_checked(ends).unwrap_or((behind, ""));
        match kind {
            Some('x' | 'u' | 'U') if ends > 1 => {
                out.extend(sign.chars().take(1));
                out.push_str(&sign.get(1..).unwrap_or("").to_ascii_lowercase());
            }
            Some('N') => out.push_str(&sign.to_ascii_uppercase()),
            _ => out.push_str(sign),
        }
        rest = left;
    }
    out.push_str(rest);
    out
}

/// A docstring without the spaces around its lines, as whoever reads it takes it.
fn laid_out(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    if let Some(first) = lines.first_mut() {
        *first = first.trim_start();
    }
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least = lines.iter().skip(1).filter(|line| !line.is_empty()).map(indent).min().unwrap_or_default();
    let cut = lines.iter().enumerate().map(|(at, line)| if at == 0 { line } else { line.get(least..).unwrap_or("") });
    cut.collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}

/// A number of JavaScript: it is the same with another zero behind its point, or none before it.
fn decimal(words: &str) -> String {
    let words = words.to_ascii_lowercase();
    let (mantissa, power) = words.split_once('e').unwrap_or((&words, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // `010` is 8, and `0x1e5` no power of ten.
    let octal = whole.len() > 1 && whole.starts_with('0');
    let sign = if power.starts_with('-') { "-" } else { "" };
    let power = power.trim_start_matches(['+', '-']);
    if !digits(whole) || !digits(fraction) || !digits(power) || octal {
        return words;
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    match (fraction.trim_end_matches('0'), power.trim_start_matches('0')) {
        (fraction, "") => format!("{whole}.{fraction}"),
        (fraction, power) => format!("{whole}.{fraction}e{sign}{power}"),
    }
}
