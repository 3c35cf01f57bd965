//! What becomes of items, one edit at a time.

mod hostile;
mod moves;
mod properties;
mod python;
mod rust;
mod script;
mod taken;

use super::*;

fn said(became: &Became) -> String {
    match became {
        Became::Changed { .. } => "changed".to_owned(),
        Became::Gone => "gone".to_owned(),
        Became::NewlySkipped { .. } => "skipped".to_owned(),
        Became::Moved { path: None, to, .. } => format!("moved to {to}"),
        Became::Moved { path: Some(path), to, .. } => format!("moved to {path}, {to}"),
        Became::Elsewhere { path: None, to, .. } => format!("elsewhere as {to}"),
        Became::Elsewhere { path: Some(path), to, .. } => format!("elsewhere in {path} as {to}"),
        Became::Aside { path } => format!("aside in {path}"),
        Became::Shadowed { by, .. } => format!("shadowed by {by}"),
        Became::Decided { by, .. } => format!("decided by {by}"),
        Became::Speaks { of, .. } => format!("speaks as {of}"),
        Became::Unread { .. } => "unread".to_owned(),
    }
}

fn frozen(path: &str, text: &str) -> FrozenItems {
    freeze(&items(path, text.as_bytes()).unwrap().unwrap())
}

/// What became of what was frozen in a text, in words.
#[track_caller]
fn became(path: &str, before: &str, after: &str) -> Vec<String> {
    let frozen = BTreeMap::from([(path.to_owned(), frozen(path, before))]);
    let now = BTreeMap::from([(path.to_owned(), Now { items: items(path, after.as_bytes()), new: false })]);
    let all = compare_all(&frozen, &now, &|_| true);
    let all = all.get(path).cloned().unwrap_or_default();
    all.into_iter().map(|(name, became)| format!("{name}: {}", said(&became))).collect()
}

/// One edit of a text, and what must come of it.
type Edit<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

/// Each edit says what it is, what is replaced by what, and what became of the items.
#[track_caller]
fn edits(path: &str, text: &str, edits: &[Edit<'_>]) {
    for (about, from, to, expected) in edits {
        assert!(text.contains(from), "{about}: {from:?} is not in the text");
        let after = text.replacen(from, to, 1);
        assert_ne!(text, after, "{about}: nothing was edited");
        assert_eq!(became(path, text, &after), *expected, "{about}:\n{after}");
    }
}

fn names(path: &str, text: &str) -> Vec<String> {
    items(path, text.as_bytes()).unwrap().unwrap().into_iter().map(|item| item.name).collect()
}

/// Whoever sees this fail has changed what digests are made of, or a grammar: raise `READING`, and write the new one here.
#[test]
fn a_reading_keeps_its_digests() {
    let mut print = print::Print::default();
    for (path, text) in [("src/lib.rs", rust::RUST), ("src/dates.py", python::PYTHON), ("src/year.ts", script::SCRIPT)]
    {
        for (name, item) in frozen(path, text) {
            print.word(&name);
            print.word(item.digest.as_str());
        }
    }
    assert_eq!((READING, &print.digest().as_str()[..16]), (2, "eac2ae4cb9491d00"));
}
