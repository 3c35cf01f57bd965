//! What a module does with the names of what is documented: whoever gives one another meaning turns its examples off, because
//! `doctest` looks for them by the names that the module has in the end.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Defined, Walk, word};
use crate::guard::inline::Sort;
use crate::guard::inline::nodes::At;
use crate::ids::Digest;

/// Ways to set a name that is written as text.
pub(super) const INDIRECT: &[&str] =
    &["globals", "locals", "vars", "setattr", "delattr", "modules", "__dict__", "__setattr__", "__delattr__"];

/// How a module's own documentation is set.
const OWN: &str = "__doc__";

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The name with its dots that words begin with.
fn dotted(words: &[&str]) -> Option<String> {
    let words = words.iter().skip_while(|word| matches!(**word, "(" | "[" | "*"));
    let name: String = words.take_while(|word| is_name(word) || **word == ".").copied().collect();
    (!name.is_empty()).then_some(name)
}

/// The names that a statement gives another meaning to.
fn set(words: &[&str]) -> Vec<String> {
    let parts = |words: &[&str]| words.split(|word| *word == ",").filter_map(dotted).collect::<Vec<_>>();
    match words {
        all if all.iter().any(|word| INDIRECT.contains(word)) => {
            all.iter().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
        }
        ["del", rest @ ..] => parts(rest),
        ["import", rest @ ..] => rest.split(|word| *word == ",").filter_map(imported).collect(),
        ["from", rest @ ..] => {
            let names = rest.split(|word| *word == "import").nth(1).unwrap_or_default();
            names.split(|word| *word == ",").filter_map(imported).collect()
        }
        words => {
            let mut depth = 0_i32;
            let mut ends = Vec::new();
            for (at, word) in words.iter().enumerate() {
                match *word {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => depth -= 1,
                    ":=" => ends.push(at),
                    word if depth == 0 && word.ends_with('=') && !matches!(word, "==" | "!=" | "<=" | ">=") => {
                        ends.push(at)
                    }
                    _ => {}
                }
            }
            let mut found = Vec::new();
            let mut from = 0;
            for end in ends {
                let side = words.get(from..end).unwrap_or_default();
                if words.get(end) == Some(&":=") {
                    found.extend(side.last().map(|name| (*name).to_owned()));
                } else {
                    found.extend(parts(side));
                }
                from = end + 1;
            }
            found
        }
    }
}

/// What a part of an import is called here.
fn imported(words: &[&str]) -> Option<String> {
    let words: Vec<&str> = words.iter().copied().filter(|word| is_name(word)).collect();
    match words.as_slice() {
        [.., "as", name] | [name, ..] => Some((*name).to_owned()),
        [] => None,
    }
}

impl Walk<'_, '_> {
    /// A statement of the module or of a class.
    pub(super) fn meaning(&mut self, at: At, kind: &str) {
        let kinds = [
            "expression_statement",
            "delete_statement",
            "import_statement",
            "import_from_statement",
            "type_alias_statement",
        ];
        if !kinds.contains(&kind) {
            return;
        }
        let tokens = self.nodes.tokens(at);
        let words: Vec<&str> = tokens.iter().filter_map(|token| word(*token)).collect();
        let words = if kind == "type_alias_statement" { words.get(1..).unwrap_or_default().to_vec() } else { words };
        self.means(at, set(&words));
    }

    /// What a loop, a `with` or an `except` gives a name to.
    pub(super) fn heads(&mut self, at: At, kind: &str) {
        let nodes = self.nodes;
        let left = nodes.field(at, "left").filter(|_| kind == "for_statement");
        let is_head = |child: &At| {
            let kind = nodes.kind(*child);
            kind == "with_clause" || kind != "block" && !kind.ends_with("_clause")
        };
        let parts = nodes.children(at).filter(is_head).flat_map(|part| part..nodes.next(part));
        let targets = parts.filter(|inner| nodes.kind(*inner) == "as_pattern_target");
        // A name alone in a pattern takes what is there.
        let patterns = nodes.children(at).filter(|child| kind == "case_clause" && nodes.kind(*child) == "case_pattern");
        let inside = patterns.flat_map(|pattern| pattern..nodes.next(pattern));
        let captures = inside.filter(|inner| {
            nodes.kind(*inner) == "dotted_name"
                && inner.checked_sub(1).is_none_or(|of| nodes.kind(of) != "class_pattern")
        });
        let captures = captures.filter(|inner| !nodes.text(*inner).contains('.'));
        let targets: Vec<At> = left.into_iter().chain(targets).chain(captures).collect();
        for target in targets {
            let tokens = nodes.tokens(target);
            let words: Vec<&str> = tokens.iter().filter_map(|token| word(*token)).collect();
            self.means(target, words.split(|word| *word == ",").filter_map(dotted).collect());
        }
    }

    fn means(&mut self, at: At, names: Vec<String>) {
        let class = self.top().path;
        for name in names {
            let (head, last) = name.rsplit_once('.').unwrap_or(("", &name));
            // What is done to `f.__doc__` is done to `f`.
            let name = if last.starts_with("__") { head } else { name.as_str() };
            let full = match (class.as_str(), name) {
                ("", "") if last == OWN => "this module".to_owned(),
                (_, "") if last != OWN => continue,
                (class, "") => class.to_owned(),
                ("", name) => name.to_owned(),
                (class, name) => format!("{class}.{name}"),
            };
            self.meant.push((at, full));
        }
    }

    /// The statements that give another meaning to the name of something that is documented with examples.
    pub(super) fn bound_docs(&mut self) {
        let mut owners: HashSet<&str> = HashSet::new();
        for draft in self.found.0.iter().filter(|draft| draft.sort == Sort::Doc) {
            let owner = draft.scope.strip_prefix("doc of ").unwrap_or_default();
            let ends = owner.match_indices('.').map(|(at, _)| at).chain([owner.len()]);
            owners.extend(ends.filter_map(|end| owner.get(..end)));
        }
        let nodes = self.nodes;
        let after = |defined: &[Defined], at: At| defined.first().is_some_and(|one| one.start < nodes.start(at));
        let is_meant = |(at, name): &(At, String)| {
            let defined = self.defined.get(name).map(Vec::as_slice).unwrap_or_default();
            owners.contains(name.as_str()) && (name == "this module" || after(defined, *at))
        };
        let meant: BTreeSet<(At, String)> = self.meant.iter().filter(|one| is_meant(one)).cloned().collect();
        for (at, name) in meant {
            self.item(at, at, Sort::Helper, format!("what {name} means"), vec![format!("doc {name}")]);
        }
    }

    /// Leaves out the examples of what is defined once more behind them: nobody finds them.
    pub(super) fn replaced(&mut self) {
        let file = self.scopes.first().and_then(|scope| scope.under.as_ref());
        // Where each name is defined last, under each condition and under any.
        let mut last: HashMap<(&str, Option<&Digest>), usize> = HashMap::new();
        let mut last_of_all: HashMap<&str, usize> = HashMap::new();
        for (name, defined) in &self.defined {
            for one in defined.iter().filter(|one| !one.adds) {
                last.insert((name, one.under.as_ref()), one.start);
                last_of_all.insert(name, one.start);
            }
        }
        for draft in self.found.0.iter_mut().filter(|draft| draft.sort == Sort::Doc) {
            let owner = draft.scope.strip_prefix("doc of ").unwrap_or_default();
            let mut ends = owner.match_indices('.').map(|(at, _)| at).chain([owner.len()]);
            let start = draft.bytes.start;
            draft.skipped |= ends.any(|end| {
                let name = owner.get(..end).unwrap_or_default();
                let defined = self.defined.get(name).map(Vec::as_slice).unwrap_or_default();
                let own = defined.partition_point(|one| one.start < start).checked_sub(1);
                let Some(own) = own.and_then(|own| defined.get(own)) else { return false };
                // What stands under no condition is replaced by whatever comes behind it.
                let under = own.under.as_ref();
                let end = if under == file { last_of_all.get(name) } else { last.get(&(name, under)) };
                end.is_some_and(|end| *end > start)
            });
        }
    }
}
