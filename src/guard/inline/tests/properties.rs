//! What holds for any text and any edit.

use proptest::prelude::*;

use super::*;

/// Texts with many kinds of items.
fn corpora() -> [(&'static str, &'static str); 3] {
    [("src/lib.rs", super::rust::RUST), ("src/dates.py", super::python::PYTHON), ("src/year.ts", super::script::SCRIPT)]
}

fn prints(path: &str, text: &str) -> Vec<(String, Digest)> {
    items(path, text.as_bytes()).unwrap().unwrap().into_iter().map(|item| (item.name, item.digest)).collect()
}

/// The lines in which an edit may mean nothing, or something else: comments, and marks that a test is not run.
fn is_told_apart(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with("# ") || line.starts_with("#!") || line.contains("skip(")
}

fn line_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    &text[start..end]
}

/// Words and numbers in an item that can be replaced without breaking the text.
fn words(text: &str, within: Range<usize>) -> Vec<Range<usize>> {
    const KEPT: &[&str] = &[
        "fn",
        "mod",
        "use",
        "const",
        "static",
        "let",
        "super",
        "pub",
        "macro_rules",
        "def",
        "class",
        "return",
        "for",
        "in",
        "if",
        "assert",
        "import",
        "from",
        "async",
        "await",
        "ident",
        "literal",
        "None",
        "self",
        "meta",
        "doctest",
        "u32",
    ];
    let inner = &text[within.clone()];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = inner[at..].find(is_word).map(|start| at + start) {
        let end = inner[start..].find(|c| !is_word(c)).map_or(inner.len(), |end| start + end);
        if !KEPT.contains(&&inner[start..end]) && !is_told_apart(line_at(text, within.start + start)) {
            found.push(within.start + start..within.start + end);
        }
        at = end;
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_in_an_item_changes_it_and_nothing_else(which in 0..3_usize, pick in any::<prop::sample::Index>(), word in any::<prop::sample::Index>()) {
        let (path, text) = corpora()[which];
        let all = items(path, text.as_bytes()).unwrap().unwrap();
        let inside: Vec<&Item> = all.iter().filter(|item| !words(text, item.bytes.clone()).is_empty()).collect();
        let item = inside[pick.index(inside.len())];
        let words = words(text, item.bytes.clone());
        let word = words[word.index(words.len())].clone();
        let new = if text[word.clone()].starts_with(|c: char| c.is_ascii_digit()) { "98765" } else { "zz9" };
        let after = format!("{}{new}{}", &text[..word.start], &text[word.end..]);
        let (before, now) = (prints(path, text), prints(path, &after));
        let own = (item.name.clone(), item.digest.clone());
        prop_assert!(!now.contains(&own), "{} is as it was:\n{after}", item.name);
        for other in before.iter().filter(|other| **other != own) {
            prop_assert!(now.contains(other), "{} was edited and {} is another:\n{after}", item.name, other.0);
        }
        let told = became(path, text, &after);
        prop_assert!(told.iter().any(|said| said.starts_with(&item.name)), "{told:?}");
    }

    #[test]
    fn an_edit_outside_changes_nothing(which in 0..3_usize, at in any::<prop::sample::Index>(), what in 0..4_usize) {
        let (path, text) = corpora()[which];
        let all = items(path, text.as_bytes()).unwrap().unwrap();
        // Before a line that is in no item, and in no documentation.
        let starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).filter(|at| {
            let row = line_at(text, (*at).min(text.len() - 1));
            let quiet = row.starts_with(|c: char| c.is_alphabetic()) || row.is_empty();
            *at < text.len() && quiet && !all.iter().any(|item| item.bytes.contains(at) && item.bytes.start != *at)
        }).filter(|at| !text[..*at].ends_with("]\n") && text[..*at].matches("\"\"\"").count() % 2 == 0).collect();
        let start = starts[at.index(starts.len())];
        let piece = match (which, what) {
            (_, 0) => "\n",
            (1, 1) => "# A comment.\n",
            (_, 1) => "// A comment.\n",
            (0, 2) => "fn more() -> Vec<u8> { vec![b'\"', 1] }\n",
            (1, 2) => "def more():\n    return 1\n\n",
            (_, 2) => "function more() { return `1` }\n",
            (0, _) => "struct More<'a>(&'a str);\n",
            (1, _) => "more = {1: 2}\n",
            _ => "const more = /[\"`]/;\n",
        };
        let inside_block = which == 2 && text[..start].contains("if (import") && !text[..start].contains("\n}\n\ntest");
        prop_assume!(!(inside_block && what >= 2));
        prop_assume!(!(which == 1 && what >= 2 && text[start..].starts_with('\n')));
        let after = format!("{}{piece}{}", &text[..start], &text[start..]);
        prop_assert_eq!(became(path, text, &after), Vec::<String>::new(), "{}", after);
    }

    #[test]
    fn nothing_panics_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), which in 0..3_usize) {
        let path = corpora()[which].0;
        let _ = items(path, &bytes);
        let _ = may_have_items(path, &bytes) || has_marks(path, &bytes);
        let text = String::from_utf8_lossy(&bytes);
        let _ = items_of_test(path, text.as_bytes());
    }

    #[test]
    fn nothing_panics_on_a_text_that_was_cut_up(
        which in 0..3_usize,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..12_usize), 1..5),
    ) {
        const PIECES: [&str; 12] =
            ["", "{", "}", "\"", "/*", "#[cfg(test)]", "mod t {", "```", "\r\n", "\u{feff}é\0", "proptest! {", "#["];
        let (path, text) = corpora()[which];
        let mut bytes = text.as_bytes().to_vec();
        for (from, to, piece) in cuts {
            let (from, to) = (from.index(bytes.len() + 1), to.index(bytes.len() + 1));
            let to = if to.abs_diff(from) < 60 { to.max(from) } else { from };
            bytes.splice(from..to, PIECES[piece].bytes());
        }
        if let Ok(Some(found)) = items(path, &bytes) {
            let frozen = freeze(&found);
            let trips: Vec<_> = compare(&frozen, &found).into_iter().filter(|(_, became)| became.trips()).collect();
            prop_assert_eq!(trips, Vec::new(), "the same text trips nothing");
            // Against what it was cut from, whatever comes of it.
            let whole = items(path, text.as_bytes()).unwrap().unwrap();
            drop((compare(&frozen, &whole), compare(&freeze(&whole), &found)));
        }
    }

    /// What was frozen and does not trip stands somewhere with the same words.
    #[test]
    fn what_does_not_trip_is_there(which in 0..3_usize, line in any::<prop::sample::Index>(), count in 1..6_usize) {
        let (path, text) = corpora()[which];
        let lines: Vec<&str> = text.lines().collect();
        let from = line.index(lines.len());
        let after: String = lines.iter().enumerate().filter(|(at, _)| !(from..from + count).contains(at)).map(|(_, row)| format!("{row}\n")).collect();
        let was = super::frozen(path, text);
        if let Ok(Some(now)) = items(path, after.as_bytes()) {
            let told: BTreeMap<String, Became> = compare(&was, &now).into_iter().collect();
            for (name, item) in &was {
                let fine = told.get(name).is_none_or(|became| !became.trips());
                let stands = now.iter().any(|other| other.digest == item.digest && (!other.skipped || item.skipped));
                prop_assert!(!fine || stands, "{name} is not there and trips nothing:\n{after}");
            }
        }
    }
}
