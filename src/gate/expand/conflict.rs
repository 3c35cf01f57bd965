//! Where scope goes against the preferences without saying so.

use std::collections::{BTreeMap, BTreeSet};

use super::super::paper::{LARGEST, Paper, Part, names, text};
use super::super::papers::{Desk, Document, Found, PREFERENCES, SCOPE, excerpt};
use super::said;

/// What somebody says who goes against a preference on purpose.
#[rustfmt::skip]
const NAMING: &[&str] = &[
    "conflict", "conflicts", "conflicting", "instead of", "rather than", "differs", "differ", "different from",
    "deviates", "deviate", "deviation", "departs", "depart", "departure", "override", "overrides",
    "overriding", "exception to", "exceptions to", "exception from", "an exception", "unlike", "contrary to",
];

/// Whether a clause says so, and does not deny it: `there are no conflicts`.
fn names_one(clause: &str) -> bool {
    let words = text::words(clause);
    NAMING.iter().any(|phrase| {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let mut places = words.windows(parts.len()).enumerate();
        places.any(|(at, window)| {
            let same = window.iter().zip(&parts).all(|(word, part)| word == part);
            // `Not Rust: Go instead of it` denies something else.
            let deniable = !matches!(*phrase, "instead of" | "rather than" | "unlike" | "contrary to");
            same && !(deniable && text::is_denied(&words, at))
        })
    })
}

const SECTIONS: [&str; 2] = ["Stack", "Deployment Target"];

/// More conflicts than this are more than anyone reads.
const MOST: usize = 100;

struct Conflict {
    section: &'static str,
    line: u32,
    says: String,
    preferred: BTreeSet<String>,
    /// What scope has in its place.
    used: BTreeSet<String>,
}

pub(super) fn unnamed(desk: &Desk<'_>) -> Vec<Found> {
    let Some(scope) = &desk.scope else { return Vec::new() };
    let Some(preferences) = &desk.preferences else { return unread(desk).into_iter().collect() };
    let mut conflicts = Vec::new();
    for section in SECTIONS {
        if let (Some(wanted), Some(chosen)) = (Wanted::of(preferences, section), said(scope, section)) {
            compare(section, &wanted, &chosen, &mut conflicts);
        }
    }
    if conflicts.is_empty() {
        return Vec::new();
    }
    conflicts.truncate(MOST);
    // An item is looked at as a whole, a paragraph by its sentences.
    let statements = scope.sentences().into_iter().chain(scope.items_text());
    let mut naming: Vec<(Vec<String>, BTreeSet<String>)> = Vec::new();
    // `preferences.md has Docker on VPS, scope ECS Fargate`: both are said.
    let mut said: Vec<BTreeSet<String>> = Vec::new();
    for statement in statements {
        if text::words(statement).iter().any(|word| word.starts_with("preference")) {
            said.push(text::names(statement));
        }
        if text::clauses(statement).into_iter().any(names_one) {
            naming.push((text::words(statement), text::names(statement)));
        }
    }
    let wanted = SECTIONS.into_iter().filter_map(|section| Wanted::of(preferences, section));
    let preferred: BTreeSet<String> = wanted.flat_map(|wanted| text::names(&wanted.text)).collect();
    let is_named = |one: &Conflict| {
        let both = |names: &BTreeSet<String>| !names.is_disjoint(&one.preferred) && !names.is_disjoint(&one.used);
        said.iter().any(both)
            || naming.iter().any(|(words, names)| match names.is_disjoint(&preferred) {
                true => speaks_of_all(words, one.section),
                false => !names.is_disjoint(&one.preferred),
            })
    };
    conflicts.retain(|one| !is_named(one));
    conflicts.into_iter().map(|one| Found::at(SCOPE, one.line, one.says)).collect()
}

/// Whether a statement that names no preferred thing is about all of them, or about all of a section: `the target goes
/// against the preferences`.
fn speaks_of_all(words: &[String], section: &str) -> bool {
    let says = |one: &str| words.iter().any(|word| word == one);
    let about = |one: &str| says(one) || !(says("stack") || says("target"));
    ["preferences", "preference", "preferred"].into_iter().any(says)
        && about(if section == "Stack" { "stack" } else { "target" })
}

/// Preferences that are there and can't be read: nothing can be held against them.
fn unread(desk: &Desk<'_>) -> Option<Found> {
    let why = match &desk.papers.preferences.as_ref()?.document {
        Document::Text(text) => Paper::read(text, &[]).err()?.to_string(),
        Document::NotText => "is no text: it is not UTF-8, or has a NUL".to_owned(),
        Document::NotAFile => "is no plain file".to_owned(),
        Document::TooLarge => format!("has more than {LARGEST} bytes"),
    };
    let found = Found::nowhere(format!("`{PREFERENCES}` on the default branch {why}; nothing can be held against it."));
    Some(found.next("A maintainer writes it as plain Markdown on the default branch, or removes it."))
}

/// What the preferences say of a section.
struct Wanted {
    text: String,
    entries: BTreeMap<String, String>,
}

impl Wanted {
    /// The names of what there is one of: under such labels, or anywhere where there are none.
    fn of_one_each(&self) -> BTreeSet<String> {
        let one = self.entries.iter().filter(|(label, _)| ONE_EACH.contains(&label.as_str()));
        match self.entries.is_empty() {
            true => text::names(&self.text),
            false => one.flat_map(|(_, value)| text::names(value)).collect(),
        }
    }

    /// From a section of that name, or from entries and rows with that label: `| Stack | Rust, clap |`.
    fn of(preferences: &Paper, section: &str) -> Option<Self> {
        if let Some(part) = said(preferences, section) {
            return Some(Self { text: part.text(), entries: entries(&part) });
        }
        let named = |label: &str| {
            let words = names::heading_words(label);
            names::names_of(&words, preferences.names(), false).iter().any(|name| name.name == section)
        };
        let mut entries = BTreeMap::new();
        let mut values: Vec<String> = Vec::new();
        let labels = preferences.pieces().flat_map(|piece| match &piece.cells[..] {
            [label, value, ..] => vec![(label.text.clone(), value.text.clone())],
            _ => piece.lines.iter().filter_map(|line| labelled(&line.text)).collect(),
        });
        for (label, value) in labels {
            let bare = text::words(&label).join(" ");
            if named(&label) {
                values.push(value);
            } else if section == "Stack" && PARTS.contains(&bare.as_str()) {
                values.push(value.clone());
                entries.insert(bare, value);
            }
        }
        let text = values.join("\n");
        // `whatever board is in the drawer` prefers nothing.
        let any =
            text::words(&text).first().is_some_and(|first| matches!(first.as_str(), "any" | "anything" | "whatever"));
        (!any && text::says_something(&text, &[])).then_some(Self { text, entries })
    }
}

/// `Stack: Rust, clap`
fn labelled(line: &str) -> Option<(String, String)> {
    line.split_once(':').map(|(label, value)| (label.to_owned(), value.to_owned()))
}

/// Labels of what a stack has, where the preferences have no part on it.
const PARTS: &[&str] = &["backend", "database", "db", "framework", "frontend", "language", "runtime", "web"];

/// Things of one kind, of which one is chosen in place of another.
#[rustfmt::skip]
const KINDS: [&[&str]; 3] = [
    &[
        "cassandra", "cockroachdb", "couchdb", "dynamodb", "firestore", "mariadb", "mongo", "mongodb", "mssql", "mysql",
        "postgres", "postgresql", "sqlite",
    ],
    &[
        "c", "clojure", "csharp", "dart", "elixir", "elm", "erlang", "go", "golang", "haskell", "java", "javascript", "kotlin",
        "lua", "ocaml", "perl", "php", "python", "ruby", "rust", "scala", "swift", "typescript", "zig",
    ],
    &["aws", "azure", "digitalocean", "fly", "gcp", "heroku", "hetzner", "netlify", "railway", "render", "vercel"],
];

/// Labels of what there is one of. Under others (`Sites: Hugo. Tools: Go.`) there may be one for each purpose.
const ONE_EACH: &[&str] = &["database", "db", "deployment", "host", "hosting", "language", "platform", "target"];

/// Other names for the same.
fn same(name: &str) -> &str {
    match name {
        "golang" => "go",
        "mongo" => "mongodb",
        "postgres" => "postgresql",
        "javascript" => "typescript",
        other => other,
    }
}

/// Of one kind the preferences have some and scope has others.
fn swapped(preferred: &BTreeSet<String>, used: &BTreeSet<String>) -> Option<(String, String)> {
    KINDS.iter().find_map(|kind| {
        let of = |names: &BTreeSet<String>| -> Vec<String> {
            names.iter().filter(|name| kind.contains(&name.as_str())).cloned().collect()
        };
        let (want, have) = (of(preferred), of(used));
        let shared = want.iter().any(|one| have.iter().any(|other| same(one) == same(other)));
        let first = want.first().cloned().zip(have.first().cloned());
        first.filter(|_| !shared)
    })
}

fn compare(section: &'static str, wanted: &Wanted, chosen: &Part<'_>, conflicts: &mut Vec<Conflict>) {
    let (want, choose) = (&wanted.entries, entries(chosen));
    let mut by_label = false;
    for (label, value) in want {
        let Some(other) = choose.get(label) else { continue };
        by_label = true;
        let (preferred, used) = (text::names(value), text::names(other));
        if !preferred.is_empty() && !used.is_empty() && preferred.is_disjoint(&used) {
            let says = format!(
                "{section}: the preferences have {} as {label}, scope has {}.",
                excerpt(value.trim().trim_end_matches('.')),
                excerpt(other.trim().trim_end_matches('.'))
            );
            conflicts.push(Conflict { section, line: chosen.line, says, preferred, used });
        }
    }
    if by_label {
        return;
    }
    let (preferred, used) = (text::names(&wanted.text), text::names(&chosen.text()));
    if !preferred.is_empty() && !used.is_empty() && preferred.is_disjoint(&used) {
        let says = format!(
            "{section}: the preferences have {}, scope has {}.",
            excerpt(wanted.text.trim().trim_end_matches('.')),
            excerpt(chosen.text().trim().trim_end_matches('.'))
        );
        conflicts.push(Conflict { section, line: chosen.line, says, preferred, used });
    } else if let Some((want, have)) = swapped(&wanted.of_one_each(), &used) {
        let says = format!("{section}: the preferences have {want}, scope has {have}.");
        let preferred = BTreeSet::from([want]);
        conflicts.push(Conflict { section, line: chosen.line, says, preferred, used: BTreeSet::from([have]) });
    }
}

/// What has a label: `Language: Rust`, a row of two cells, a sub-heading with what is below it.
fn entries(part: &Part<'_>) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut put = |label: &str, value: &str| {
        let label = text::words(label).join(" ");
        if !label.is_empty() && label.split(' ').count() <= 4 && !text::words(value).is_empty() {
            let old = found.entry(label).or_default();
            old.push_str(value);
            old.push('\n');
        }
    };
    for piece in part.pieces() {
        if let [first, rest @ ..] = &piece.cells[..] {
            let value: Vec<&str> = rest.iter().map(|cell| cell.text.as_str()).collect();
            put(&first.text, &value.join(" "));
            continue;
        }
        for line in piece.text.lines() {
            if let Some((label, value)) = line.split_once(':') {
                put(label, value);
            }
        }
    }
    for (label, below) in part.labelled() {
        put(&label, &below);
    }
    found
}
