//! What tests speak through: where a file takes it from, and what it does to it.
//!
//! The code around tests is free, but not what gives `test`, `expect` or `assert` their meaning.

use std::collections::{BTreeMap, BTreeSet};

use super::Walk;
use crate::guard::inline::Sort;
use crate::guard::inline::attr::word;
use crate::guard::inline::found::{Beyond, Draft, Uses, short};
use crate::guard::inline::nodes::At;
use crate::guard::inline::print::Print;

/// Names of what makes tests and says that they fail.
const VOICES: &[&str] = &[
    "it",
    "test",
    "describe",
    "expect",
    "assert",
    "vi",
    "jest",
    "chai",
    "beforeEach",
    "afterEach",
    "beforeAll",
    "afterAll",
];

/// Those that code has for other things too: they count where tests are made with them.
const COMMON: &[&str] = &["suite", "context", "specify", "bench", "before", "after"];

/// Modules that such things come from. A name of one of them is a voice, whatever it is.
const MODULES: &[&str] = &[
    "test",
    "assert",
    "assert/strict",
    "vitest",
    "@jest/globals",
    "chai",
    "bun:test",
    "mocha",
    "ava",
    "tap",
    "tape",
    "uvu",
    "uvu/assert",
    "expect",
    "power-assert",
    "should",
];

/// What sets something of its first argument.
const SETTERS: &[&str] = &[
    "Object.assign",
    "Object.defineProperty",
    "Object.defineProperties",
    "Object.setPrototypeOf",
    "Reflect.set",
    "Reflect.defineProperty",
    "Reflect.deleteProperty",
    "expect.extend",
    "chai.use",
];

/// A longer piece of code is not looked at for what it sets.
const LONGEST: usize = 4_000;

/// Where a name comes from.
#[derive(Default)]
struct Source {
    /// In words, each way once.
    said: BTreeSet<String>,
    /// It comes from a module of tests, each time.
    known: bool,
}

fn module(text: &str) -> &str {
    let name = text.trim_matches(['"', '\'', '`']);
    name.strip_prefix("node:").unwrap_or(name)
}

fn is_module(name: &str) -> bool {
    MODULES.contains(&name)
        || name.contains("@std/assert")
        || name.contains("/std/testing")
        || name.contains("/std/assert")
}

impl<'t> Walk<'_, 't> {
    fn words(&self, at: At) -> Vec<&'t str> {
        let short = self.nodes.end(at) - self.nodes.start(at) < LONGEST;
        let tokens = if short { self.nodes.tokens(at) } else { Vec::new() };
        tokens.into_iter().filter_map(word).collect()
    }

    /// Writes down what gives the voices of the file's tests their meaning.
    pub(super) fn voices(&mut self) {
        if !self.found.0.iter().any(|draft| draft.sort == Sort::Test) {
            return;
        }
        let mut sources: BTreeMap<&'t str, Source> = BTreeMap::new();
        let nodes = self.nodes;
        for child in nodes.children(0) {
            let inner = if nodes.kind(child) == "export_statement" {
                nodes.children(child).last().unwrap_or(child)
            } else {
                child
            };
            match nodes.kind(inner) {
                "import_statement" => self.import(inner, &mut sources),
                "lexical_declaration" | "variable_declaration" => self.declared(inner, &mut sources),
                "function_declaration" | "class_declaration" => {
                    if let Some(name) = nodes.named(inner, "name") {
                        note(&mut sources, name, self.words(inner).join(" "), false);
                    }
                }
                _ => {}
            }
        }
        let used = |name: &str| self.called.contains(name) || self.found.0.iter().any(|draft| draft.uses.has(name));
        let makes = |name: &str| COMMON.contains(&name) && self.called.contains(name);
        sources.retain(|name, source| makes(name) || (VOICES.contains(name) || source.known) && used(name));
        for (name, source) in &sources {
            let line = nodes.line(0);
            let defines = if source.known { Vec::new() } else { vec![(*name).to_owned()] };
            self.voice(format!("what {name} means"), &source.said, (line, 0..0), defines);
        }
        let known: BTreeSet<&str> = VOICES.iter().copied().chain(sources.into_keys()).collect();
        for at in 0..nodes.len() {
            if let Some(defines) = self.sets(at, &known).filter(|defines| !defines.is_empty()) {
                let words = self.words(at);
                let name = words.iter().take_while(|word| **word != "=").take(6).copied().collect::<String>();
                let (line, bytes) = (nodes.line(at), nodes.start(at)..nodes.end(at));
                self.voice(
                    short(name.trim_end_matches([',', '{', '('])),
                    &BTreeSet::from([words.join(" ")]),
                    (line, bytes),
                    defines,
                );
            }
        }
    }

    fn voice(
        &mut self,
        name: String,
        said: &BTreeSet<String>,
        (line, bytes): (u32, std::ops::Range<usize>),
        defines: Vec<String>,
    ) {
        let mut print = Print::default();
        said.iter().for_each(|said| print.word(said));
        self.found.0.push(Draft {
            name,
            scope: String::new(),
            digest: print.digest(),
            line,
            bytes,
            skipped: false,
            sort: Sort::Helper,
            defines,
            beyond: Beyond::default(),
            uses: Uses::default(),
        });
    }

    /// The names of an import, each by itself.
    fn import(&self, at: At, sources: &mut BTreeMap<&'t str, Source>) {
        let nodes = self.nodes;
        let Some(from) = nodes.child(at, "string").map(|from| module(nodes.text(from))) else { return };
        let known = is_module(from);
        for inner in at..nodes.next(at) {
            match nodes.kind(inner) {
                "import_specifier" => {
                    let words = self.words(inner);
                    let words =
                        if words.first() == Some(&"type") { words.get(1..).unwrap_or_default() } else { &words };
                    if let (Some(what), Some(name)) = (words.first(), words.last()) {
                        note(sources, name, format!("{what} of {from}"), known);
                    }
                }
                "namespace_import" => {
                    if let Some(name) = self.words(inner).last() {
                        note(sources, name, format!("* of {from}"), known);
                    }
                }
                "import_clause" => {
                    if let Some(name) = nodes.child(inner, "identifier").map(|name| nodes.text(name)) {
                        note(sources, name, format!("default of {from}"), known);
                    }
                }
                _ => {}
            }
        }
    }

    fn declared(&self, at: At, sources: &mut BTreeMap<&'t str, Source>) {
        let nodes = self.nodes;
        for one in nodes.children(at).filter(|child| nodes.kind(*child) == "variable_declarator") {
            let Some(pattern) = nodes.field(one, "name") else { continue };
            let value = nodes.field(one, "value").map(|value| self.words(value)).unwrap_or_default();
            let known = match value.as_slice() {
                ["require", "(", from, ")", ..] | ["await", "import", "(", from, ")", ..] => is_module(module(from)),
                _ => false,
            };
            let value: String = value.iter().map(|word| module(word)).collect::<Vec<_>>().join(" ");
            let mut parts: Vec<At> = nodes.children(pattern).collect();
            if parts.is_empty() {
                parts.push(pattern);
            }
            for part in parts {
                let words = self.words(part);
                if let Some(name) = words.last().filter(|name| name.starts_with(|c: char| c.is_alphabetic())) {
                    note(sources, name, format!("{} of {value}", words.join(" ")), known);
                }
            }
        }
    }

    /// The names that an expression sets of what tests speak through: a method of it, or itself.
    fn sets(&self, at: At, known: &BTreeSet<&str>) -> Option<Vec<String>> {
        let nodes = self.nodes;
        let global = |word: &&&str| matches!(**word, "globalThis" | "window" | "global" | "self");
        match nodes.kind(at) {
            "assignment_expression" | "augmented_assignment_expression" => {
                let left = self.words(nodes.field(at, "left")?);
                let left = match left.as_slice() {
                    [first, ".", rest @ ..] if global(&first) => rest,
                    all => all,
                };
                let (first, rest) = left.split_first().filter(|(first, _)| known.contains(**first))?;
                let last = rest.iter().rev().find(|word| !matches!(**word, "." | "?." | "[" | "]"));
                Some(vec![last.map_or_else(|| (*first).to_owned(), |last| format!(".{}", module(last)))])
            }
            "call_expression" => {
                let function = nodes.named(at, "function").filter(|name| SETTERS.contains(name))?;
                let arguments = nodes.field(at, "arguments")?;
                let mut given =
                    nodes.children(arguments).filter(|child| !matches!(nodes.text(*child), "(" | ")" | ","));
                let on = if matches!(function, "expect.extend" | "chai.use") {
                    "expect"
                } else {
                    *self.words(given.next()?).iter().find(|word| !global(word) && **word != ".")?
                };
                if !known.contains(on) {
                    return None;
                }
                let mut names = Vec::new();
                for part in given {
                    match nodes.kind(part) {
                        "string" => names.push(format!(".{}", module(nodes.text(part)))),
                        "object" => {
                            let inner =
                                nodes.children(part).filter(|child| !matches!(nodes.text(*child), "{" | "}" | ","));
                            let key = |child: At| {
                                self.words(child).into_iter().find(|word| !matches!(*word, "async" | "[" | "*"))
                            };
                            names.extend(inner.filter_map(key).map(|key| format!(".{}", module(key))));
                        }
                        _ if function == "expect.extend" || function == "chai.use" => {}
                        _ => names.push(on.to_owned()),
                    }
                }
                Some(names)
            }
            _ => None,
        }
    }
}

fn note<'t>(sources: &mut BTreeMap<&'t str, Source>, name: &'t str, said: String, known: bool) {
    let source = sources.entry(name).or_insert_with(|| Source { said: BTreeSet::new(), known: true });
    source.said.insert(said);
    source.known &= known;
}
