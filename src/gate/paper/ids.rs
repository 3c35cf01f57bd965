//! Identifiers of acceptance criteria: `AC-1`, `AC-LOGIN-2`.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::text;

/// An identifier in a text, and where it ends. It is written in capitals: `ac-1` and `AC-1` are one.
fn at(text: &str, from: usize) -> Option<(String, usize)> {
    let start = text.get(from..from + 3)?;
    if !start.eq_ignore_ascii_case("ac-") {
        return None;
    }
    let bytes = text.as_bytes();
    let mut end = from + 3;
    loop {
        let part = bytes[end..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        if part == 0 {
            break;
        }
        end += part;
        let joined = bytes.get(end).is_some_and(|b| matches!(b, b'.' | b'-'))
            && bytes.get(end + 1).is_some_and(u8::is_ascii_alphanumeric);
        // In `AC-1-AC-4` the second one begins.
        if !joined || text.get(end + 1..end + 4).is_some_and(|next| next.eq_ignore_ascii_case("ac-")) {
            break;
        }
        end += 1;
    }
    (end > from + 3).then(|| (text[from..end].to_ascii_uppercase(), end))
}

/// The identifier that a text begins with, whatever decorates it.
pub fn leading(text: &str) -> Option<String> {
    let of = |text: &str| at(text, text.find(char::is_alphanumeric)?).map(|(id, _)| id);
    of(text).or_else(|| of(text::unnumbered(text)))
}

/// A text without the identifier that it begins with.
pub fn after_leading(text: &str) -> &str {
    fn of(text: &str) -> Option<&str> {
        at(text, text.find(char::is_alphanumeric)?).map(|(_, end)| &text[end..])
    }
    of(text).or_else(|| of(text::unnumbered(text))).unwrap_or(text)
}

/// Every identifier in a text with its place.
fn all(text: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    let bytes = text.as_bytes();
    while let Some(dash) = text[from..].find("-").map(|dash| from + dash) {
        from = dash + 1;
        let Some(start) = dash.checked_sub(2) else { continue };
        let inside = start > 0
            && (bytes[start - 1].is_ascii_alphanumeric() || bytes[start - 1] >= 0x80 && !boundary(text, start));
        if inside {
            continue;
        }
        if let Some((id, end)) = at(text, start) {
            found.push((id, start, end));
            from = end;
        }
    }
    found
}

fn boundary(text: &str, at: usize) -> bool {
    text.get(..at).and_then(|before| before.chars().next_back()).is_none_or(|c| !c.is_alphanumeric())
}

/// The identifiers that are written in a text.
pub fn written(text: &str) -> Vec<String> {
    all(text).into_iter().map(|(id, _, _)| id).collect()
}

/// A text without any identifier.
pub fn without(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (_, start, end) in all(text) {
        out.push_str(&text[from..start]);
        out.push(' ');
        from = end;
    }
    out.push_str(&text[from..]);
    out
}

/// Of the identifiers that are known, those that a text names: written, or between two that a range has.
pub fn named<'k>(text: &str, known: &'k [String]) -> Vec<&'k String> {
    let found = all(text);
    let mut ranges: HashMap<&str, BTreeSet<(u64, u64)>> = HashMap::new();
    for (n, (id, _, end)) in found.iter().enumerate() {
        let until = found.get(n + 1).map_or(text.len(), |next| next.1);
        let between = text[*end..until].trim();
        let Some((stem, first)) = numbered(id) else { continue };
        let to = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok());
        let last: Option<u64> = if is_range(between) {
            let next = found.get(n + 1).and_then(|next| numbered(&next.0));
            next.filter(|(other, _)| *other == stem).map(|(_, last)| last)
        } else {
            // `AC-1–4`
            let marks = ["…", "..", "–", "—", "to ", "through "];
            marks.iter().find_map(|mark| between.strip_prefix(mark)).and_then(|rest| to(rest.trim_start()))
        };
        if let Some(last) = last {
            ranges.entry(stem).or_default().insert((first, last));
        }
    }
    let set: HashSet<&str> = found.iter().map(|(id, _, _)| id.as_str()).collect();
    let between = |id: &str| {
        let (stem, n) = numbered(id)?;
        ranges.get(stem)?.iter().find(|(from, to)| (*from..=*to).contains(&n))
    };
    known.iter().filter(|id| set.contains(id.as_str()) || between(id).is_some()).collect()
}

fn is_range(between: &str) -> bool {
    let bare = between.trim_matches(|c: char| matches!(c, '`' | '*' | '[' | ']'));
    matches!(bare.trim(), "…" | "..." | ".." | "to" | "through" | "until" | "–" | "—" | "-")
}

fn numbered(id: &str) -> Option<(&str, u64)> {
    let digits = id.len() - id.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (stem, number) = id.split_at(id.len() - digits);
    number.parse().ok().map(|number| (stem, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_leads_a_text() {
        for text in [
            "AC-1: x",
            "**AC-1**: x",
            "[AC-1] x",
            "`AC-1` x",
            "ac-1 x",
            "AC-1. x",
            "AC-1- x",
            "1. AC-1",
            "3.1 AC-1 x",
            "(a) **AC-1**",
        ] {
            assert_eq!(leading(text).as_deref(), Some("AC-1"), "{text}");
        }
        assert_eq!(leading("AC-LOGIN-2.b: x").as_deref(), Some("AC-LOGIN-2.B"));
        for text in ["the AC-1", "AC 1", "AC-", "AC-*: x", "3 of AC-1", "BAC-1", ""] {
            assert_eq!(leading(text), None, "{text}");
        }
        assert_eq!(after_leading("[AC-1] x"), "] x");
    }

    #[test]
    fn a_text_names_those_that_are_written_and_those_between() {
        let known: Vec<String> = (1..=5).map(|n| format!("AC-{n}")).collect();
        let names = |text: &str| named(text, &known).into_iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(names("AC-1, ac-3 and AC-9"), "AC-1 AC-3");
        for text in ["AC-2 … AC-4", "AC-2 to AC-4", "AC-2–AC-4", "AC-2-AC-4", "AC-2..AC-4", "AC-2–4", "AC-2 to 4"]
        {
            assert_eq!(names(text), "AC-2 AC-3 AC-4", "{text}");
        }
        assert_eq!(names("AC-2 and AC-4"), "AC-2 AC-4");
        assert_eq!(names("all criteria, MAC-1, AC-10"), "");
        assert_eq!(without("x AC-1, y"), "x  , y");
        assert_eq!(written("é AC-7 naïveAC-8"), ["AC-7"]);
    }
}
