//! Macros that tests speak through, which another file of the change gives another meaning to.
//!
//! A file's own items are held by their scopes ([`super::Shades`]). A macro goes further: to the modules behind it, with
//! `#[macro_use]` or `#[macro_export]` through the whole package, and an import through each `*` that takes it along.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::places::package;
use super::{Became, FrozenItems, Item, Now, takes};
use crate::guard::inline::rust::is_voice;
use crate::ids::Digest;

/// Those that make a test fail. Whoever takes one of them speaks for the tests of files that nobody has looked at, too.
const FAILURES: &[&str] = &["assert!", "assert_eq!", "assert_ne!", "panic!", "test!"];

/// A new item that takes names in other files.
#[derive(Clone, Copy)]
struct Voice<'a> {
    path: &'a str,
    item: &'a Item,
}

/// New items that take names, by where they are heard and the name.
#[derive(Default)]
pub(super) struct Voices<'a> {
    /// In a package: of two files, because none is another to itself.
    spread: HashMap<(&'a str, &'a str), Vec<Voice<'a>>>,
    /// In the folder of the modules below.
    lent: HashMap<(String, &'a str), Voice<'a>>,
    /// Macros that take a name from all tests of a package.
    loud: BTreeMap<(&'a str, &'a str), Voice<'a>>,
}

impl<'a> Voices<'a> {
    pub(super) fn new(
        frozen: &BTreeMap<String, FrozenItems>,
        now: &'a BTreeMap<String, Now>,
        macros: &HashSet<&str>,
    ) -> Self {
        let mut all = Vec::new();
        for (path, file) in now {
            let items = file.items.iter().flatten().flatten();
            let loud = items.filter(|item| !item.spreads.is_empty() || !item.lends.is_empty());
            all.extend(loud.map(|item| Voice { path, item }));
        }
        if all.is_empty() {
            return Self::default();
        }
        // One that was there, wherever it stood, is not new.
        let known: HashSet<&Digest> = frozen.values().flatten().map(|(_, item)| &item.digest).collect();
        all.retain(|voice| !known.contains(&voice.item.digest));
        let mut voices = Self::default();
        for voice in &all {
            for name in voice.item.spreads.iter().filter(|name| takes(voice.item, name, macros)) {
                let heard = voices.spread.entry((package(voice.path), name)).or_default();
                if heard.len() < 2 && heard.iter().all(|other| other.path != voice.path) {
                    heard.push(*voice);
                }
                if FAILURES.contains(&name.as_str()) && !is_alone(voice.path) && !voice.item.name.contains("use ") {
                    voices.loud.entry((package(voice.path), name)).or_insert(*voice);
                }
            }
            for name in voice.item.lends.iter().filter(|name| takes(voice.item, name, macros)) {
                voices.lent.entry((below(voice.path), name)).or_insert(*voice);
            }
        }
        voices
    }

    /// The first of another file that takes a name which an item uses.
    pub(super) fn over(&self, path: &str, item: &Item) -> Option<Became> {
        if self.spread.is_empty() && self.lent.is_empty() {
            return None;
        }
        let folders = || path.match_indices('/').filter_map(|(at, _)| path.get(..=at)).chain([""]);
        let voice = item.mentions.iter().filter(|name| is_voice(name)).find_map(|name| {
            let spread = self.spread.get(&(package(path), name.as_str())).into_iter().flatten();
            let lent = folders().filter_map(|folder| self.lent.get(&(folder.to_owned(), name.as_str())));
            spread.chain(lent).find(|voice| voice.path != path)
        })?;
        Some(Became::Shadowed { by: format!("{} in {}", voice.item.name, voice.path), line: item.line })
    }

    /// Those that take a name from all tests of a package, each with its file.
    pub(super) fn loudest(&self) -> impl Iterator<Item = (&'a str, String, Became)> {
        self.loud.iter().map(|((_, of), voice)| {
            let became = Became::Speaks { of: (*of).to_owned(), line: voice.item.line };
            (voice.path, voice.item.name.clone(), became)
        })
    }
}

/// Whether a file is of a program of tests, or of another that nobody else's tests are in.
fn is_alone(path: &str) -> bool {
    let folder = package(path).rsplit('/').next().unwrap_or_default();
    matches!(folder, "tests" | "examples" | "benches")
}

/// The folder of the files that are modules below a file's own.
fn below(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let own = if matches!(stem, "lib" | "main" | "mod") { String::new() } else { format!("{stem}/") };
    if folder.is_empty() { own } else { format!("{folder}/{own}") }
}
