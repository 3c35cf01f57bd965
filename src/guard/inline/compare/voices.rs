//! Macros that tests speak through, which another file of the change gives another meaning to.
//!
//! A file's own items are held by their scopes ([`super::Shades`]). A macro goes further: to the modules behind it, with
//! `#[macro_use]` or `#[macro_export]` through the whole package, and an import through each `*` that takes it along.

use std::collections::{BTreeMap, HashSet};

use super::places::package;
use super::{Became, FrozenItems, Item, Now};
use crate::ids::Digest;

/// Those that make a test fail. Whoever takes one of them speaks for the tests of files that nobody has looked at, too.
const FAILURES: &[&str] = &["assert!", "assert_eq!", "assert_ne!", "panic!", "test!"];

/// A new item that takes names in other files.
struct Voice<'a> {
    path: &'a str,
    item: &'a Item,
}

pub(super) struct Voices<'a>(Vec<Voice<'a>>);

impl<'a> Voices<'a> {
    pub(super) fn new(frozen: &BTreeMap<String, FrozenItems>, now: &'a BTreeMap<String, Now>) -> Self {
        let mut new = Vec::new();
        for (path, file) in now {
            let items = file.items.iter().flatten().flatten();
            let loud = items.filter(|item| !item.spreads.is_empty() || !item.lends.is_empty());
            new.extend(loud.map(|item| Voice { path, item }));
        }
        if !new.is_empty() {
            // One that was there, wherever it stood, is not new.
            let known: HashSet<&Digest> =
                frozen.values().flat_map(|items| items.values().map(|item| &item.digest)).collect();
            new.retain(|voice| !known.contains(&voice.item.digest));
        }
        Self(new)
    }

    /// The first of another file that takes a name which an item uses.
    pub(super) fn over(&self, path: &str, item: &Item) -> Option<Became> {
        let voice = self.0.iter().filter(|voice| voice.path != path).find(|voice| {
            let takes = |names: &[String]| names.iter().any(|name| item.mentions.contains(name));
            let spreads = package(voice.path) == package(path) && takes(&voice.item.spreads);
            spreads || takes(&voice.item.lends) && is_below(voice.path, path)
        })?;
        Some(Became::Shadowed { by: format!("{} in {}", voice.item.name, voice.path), line: item.line })
    }

    /// Those that take a name from all tests of a package, each with its file.
    pub(super) fn loudest(&self) -> impl Iterator<Item = (&'a str, String, Became)> {
        let loud = self.0.iter().filter(|voice| {
            let alone = package(voice.path)
                .rsplit('/')
                .next()
                .is_some_and(|folder| matches!(folder, "tests" | "examples" | "benches"));
            !alone && !voice.item.name.contains("use ")
        });
        loud.filter_map(|voice| {
            let taken = voice.item.spreads.iter().find(|name| FAILURES.contains(&name.as_str()))?;
            let became = Became::Speaks { of: taken.clone(), line: voice.item.line };
            Some((voice.path, voice.item.name.clone(), became))
        })
    }
}

/// Whether a file has a module that is below that of another.
fn is_below(above: &str, path: &str) -> bool {
    let (folder, name) = above.rsplit_once('/').map_or(("", above), |(folder, name)| (folder, name));
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let own = if matches!(stem, "lib" | "main" | "mod") { String::new() } else { format!("{stem}/") };
    let folder = if folder.is_empty() { own } else { format!("{folder}/{own}") };
    path.starts_with(&folder)
}
