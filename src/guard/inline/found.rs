//! The items of a file as they are found, until they have their names.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::attr::Attr;
use super::nodes::Token;
use super::print::Print;
use super::rust::is_voice;
use super::{Item, Sort};
use crate::ids::Digest;

/// What gives this name a meaning decides over each test of its scope.
pub(super) const EVERY_TEST: &str = "every test";

/// A name is not longer than this; what is longer ends in a digest of it.
const LONGEST: usize = 240;

/// An item that is about to be written down.
pub(super) struct Draft<'t> {
    pub(super) name: String,
    pub(super) scope: String,
    pub(super) digest: Digest,
    pub(super) line: u32,
    pub(super) bytes: Range<usize>,
    pub(super) skipped: bool,
    pub(super) sort: Sort,
    pub(super) defines: Vec<String>,
    pub(super) beyond: Beyond,
    pub(super) uses: Uses<'t>,
}

/// What an item does beyond its own words.
#[derive(Default)]
pub(super) struct Beyond {
    /// Where the file may be that it makes part of the program.
    pub(super) opens: Vec<String>,
    /// Where the file is whose examples it takes for its own.
    pub(super) fetches: Option<String>,
    /// It does so wherever tests are run.
    pub(super) always: bool,
    /// Names that it gives a meaning to in the other files of its package too.
    pub(super) spreads: Vec<String>,
    /// Names that it gives a meaning to in the files of the modules below.
    pub(super) lends: Vec<String>,
    /// It may give none of its macros' names a meaning: modules and functions are called so too.
    pub(super) unsure: bool,
}

/// The names that an item calls things by. `.name` is one behind a dot or a path, `self.name` one of its own
/// object, `name!` a macro.
#[derive(Default)]
pub(super) struct Uses<'t>(HashSet<(Form, &'t str)>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Plain,
    Behind,
    /// Behind the object that a method is of.
    Own,
    Macro,
}

impl<'t> Uses<'t> {
    pub(super) fn of(tokens: &[Token<'t>]) -> Self {
        let words: Vec<&'t str> = tokens.iter().filter_map(|token| super::attr::word(*token)).collect();
        let mut uses = HashSet::new();
        for (at, word) in words.iter().enumerate() {
            if !word.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$') {
                continue;
            }
            let word = super::rust::bare(word);
            let before = at.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or_default();
            let form = match words.get(at + 1) {
                Some(&"!") => Form::Macro,
                _ if matches!(before, "." | "::" | "?." | "?") => Form::Behind,
                _ => Form::Plain,
            };
            uses.insert((form, word));
            let on = at.checked_sub(2).and_then(|at| words.get(at)).copied().unwrap_or_default();
            if before == "." && matches!(on, "self" | "cls") {
                uses.insert((Form::Own, word));
            }
        }
        Self(uses)
    }

    /// Adds what it is called by.
    pub(super) fn calls(&mut self, name: &'t str) {
        self.0.insert((Form::Plain, name));
    }

    /// Whether it calls something by this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(&(Form::Plain, name))
    }

    /// Adds what attributes are called by: one without a path is called as a macro is.
    pub(super) fn called<'a>(&mut self, attrs: impl Iterator<Item = &'a Attr<'t>>)
    where
        't: 'a,
    {
        let all = attrs.flat_map(|attr| std::iter::once(attr.clone()).chain(attr.given()));
        for attr in all {
            match attr.0.as_slice() {
                ["cfg" | "cfg_attr", ..] | [] => {}
                [first, "::", ..] => drop(self.0.insert((Form::Plain, first))),
                [name, given @ ..] => {
                    self.0.insert((Form::Macro, super::rust::bare(name)));
                    let names = given.iter().filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'));
                    self.0.extend(names.map(|word| (Form::Plain, *word)));
                }
            }
        }
    }

    fn names(&self, known: &HashSet<&str>) -> BTreeSet<String> {
        let named = self.0.iter().map(|(form, word)| match form {
            Form::Plain => (*word).to_owned(),
            Form::Behind => format!(".{word}"),
            Form::Own => format!("self.{word}"),
            Form::Macro => format!("{word}!"),
        });
        named.filter(|name| known.contains(name.as_str()) || is_voice(name)).collect()
    }
}

/// All that was found in a file.
#[derive(Default)]
pub(super) struct Found<'t>(pub(super) Vec<Draft<'t>>);

impl Found<'_> {
    /// The items with their names: a name that comes again gets a number.
    pub(super) fn items(self) -> Vec<Item> {
        let known: HashSet<String> = self.0.iter().flat_map(|draft| draft.defines.iter().cloned()).collect();
        let known: HashSet<&str> = known.iter().map(String::as_str).collect();
        let mut counts: HashMap<String, u32> = HashMap::new();
        let mut taken: HashSet<String> = HashSet::new();
        let mut items = Vec::with_capacity(self.0.len());
        for draft in self.0 {
            let base = short(&draft.name);
            let count = counts.entry(base.clone()).or_insert(0);
            let name = loop {
                *count += 1;
                let name = if *count == 1 { base.clone() } else { format!("{base}#{count}") };
                if taken.insert(name.clone()) {
                    break name;
                }
            };
            let mut mentions = draft.uses.names(&known);
            // Whoever gives a name another meaning takes what is written about it.
            if let Some(owner) = draft.scope.strip_prefix("doc of ").filter(|_| draft.sort == Sort::Doc) {
                let ends = owner.match_indices('.').map(|(at, _)| at).chain([owner.len()]);
                let around = ends.filter_map(|end| owner.get(..end)).map(|owner| format!("doc {owner}"));
                mentions.extend(around.filter(|owner| known.contains(owner.as_str())));
            }
            if draft.sort == Sort::Test && known.contains(EVERY_TEST) {
                mentions.insert(EVERY_TEST.to_owned());
            }
            for own in &draft.defines {
                mentions.remove(own);
            }
            items.push(Item {
                name,
                digest: draft.digest,
                line: draft.line,
                skipped: draft.skipped,
                sort: draft.sort,
                scope: draft.scope,
                defines: draft.defines,
                unsure: draft.beyond.unsure,
                mentions: mentions.into_iter().collect(),
                opens: draft.beyond.opens,
                fetches: draft.beyond.fetches,
                always: draft.beyond.always,
                spreads: draft.beyond.spreads,
                lends: draft.beyond.lends,
                bytes: draft.bytes,
            });
        }
        items
    }
}

/// A name on one line, and no longer than names are.
pub(super) fn short(name: &str) -> String {
    let plain = |c: char| if c.is_control() || c.is_whitespace() { ' ' } else { c };
    if name.len() <= LONGEST {
        return name.chars().map(plain).collect();
    }
    let mut print = Print::default();
    print.word(name);
    let head: String = name.chars().map(plain).take(LONGEST / 4).collect();
    format!("{head}…{}", print.digest().as_str().get(..16).unwrap_or_default())
}

/// A name in a place.
pub(super) fn joined(scope: &str, by: &str, name: &str) -> String {
    if scope.is_empty() { short(name) } else { short(&format!("{scope}{by}{name}")) }
}
