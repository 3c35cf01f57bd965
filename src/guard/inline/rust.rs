//! The tests among Rust code: what `cfg(test)` keeps, functions that an attribute makes tests, and doctests.
//!
//! In a module of tests everything is an item of its own, so that a new test is free and a helper or an expectation is not.
//! Outside of one, only what an attribute or a macro gives to tests is one, and the lines that make files part of the program.

mod docs;
mod macros;
mod names;

use std::borrow::Cow;
use std::collections::HashSet;

pub(super) use docs::fetched;
pub(super) use names::places_of;

use super::Sort;
use super::attr::{Attr, speaks_of_tests, word};
use super::doc::Docs;
use super::found::{Beyond, Draft, Found, Uses, joined};
use super::nodes::{At, Nodes, Token};
use super::print::Print;
use crate::guard::parse::Language;
use crate::ids::Digest;

/// Macros of the standard library that tests speak through. Whoever defines one anew decides what tests say.
const VOICES: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "assert_matches",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "panic",
    "unreachable",
    "matches",
    "vec",
    "format",
    "todo",
    "unimplemented",
];

/// Whether this is the name of such a macro as an item mentions it, or of the attribute that makes a test.
pub(super) fn is_voice(name: &str) -> bool {
    name.strip_suffix('!').is_some_and(|name| name == "test" || VOICES.contains(&name))
}

/// Those of them that modules and functions are called by too.
const COMMON: &[&str] = &["format", "vec", "matches", "todo"];

/// A name without the mark that lets a keyword be one: `r#f` is `f`.
pub(super) fn bare(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// The text with `macro_rules !` as one word, in which the grammar alone knows it. Everything else stays where it is.
pub(super) fn joined_marks(text: &str) -> Cow<'_, str> {
    const WORD: &str = "macro_rules";
    let mut moved: Option<Vec<u8>> = None;
    for (at, _) in text.match_indices(WORD) {
        let from = at + WORD.len();
        let mark = text.get(from..).and_then(gap).map(|gap| from + gap).filter(|mark| *mark > from);
        if let Some(part) = mark.and_then(|mark| moved.get_or_insert_with(|| text.into()).get_mut(from..=mark)) {
            part.rotate_right(1);
        }
    }
    moved.and_then(|bytes| String::from_utf8(bytes).ok()).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// How many bytes of spaces and comments stand before the `!` that a text begins with.
fn gap(text: &str) -> Option<usize> {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if rest.starts_with('!') {
            return Some(text.len() - rest.len());
        }
        let end =
            if rest.starts_with("//") { rest.find('\n') } else { rest.strip_prefix("/*")?.find("*/").map(|at| at + 4) };
        rest = rest.get(end?..)?;
    }
}

/// What is declared, and may have attributes and documentation.
const DECLARED: &[&str] = &[
    "function_item",
    "function_signature_item",
    "mod_item",
    "const_item",
    "static_item",
    "struct_item",
    "enum_item",
    "union_item",
    "type_item",
    "associated_type",
    "trait_item",
    "impl_item",
    "use_declaration",
    "extern_crate_declaration",
    "macro_definition",
    "macro_invocation",
    "foreign_mod_item",
    "field_declaration",
    "enum_variant",
];

/// How often a macro's content is read as code again.
const DEEPEST: u8 = 3;

#[derive(Clone)]
struct Scope {
    end: At,
    path: String,
    /// Of the conditions on it and around it.
    under: Option<Digest>,
    /// Everything in it is there for tests.
    test: bool,
    /// A file or a module, where a macro stands for items.
    items: bool,
    /// A file or a module, and all around it are: what stands in a function is run by nobody.
    run: bool,
    /// No condition but `cfg(test)` is on it or around it.
    always: bool,
    /// A file, or a module whose macros are seen behind it.
    macros: bool,
    /// Folders that inline modules add to the place of a file.
    folders: String,
}

impl Scope {
    fn file(test: bool) -> Self {
        let (path, folders) = (String::new(), String::new());
        Self { end: usize::MAX, path, under: None, test, items: true, run: true, always: true, macros: true, folders }
    }
}

/// What stands before an item and belongs to it.
#[derive(Default)]
struct Pending<'t> {
    start: Option<usize>,
    attrs: Vec<Attr<'t>>,
    docs: Docs,
    /// Documentation that is fetched from elsewhere.
    fetched: Vec<At>,
}

struct Walk<'n, 'f, 't> {
    nodes: &'n Nodes<'t>,
    found: &'f mut Found<'t>,
    scopes: Vec<Scope>,
    /// What is written inside of each scope about it.
    docs: Vec<Docs>,
    file: &'n str,
    /// Macros of this file that make tests.
    makers: HashSet<String>,
    /// Where the text begins in its file: the byte, and the lines before it.
    base: (usize, u32),
    depth: u8,
}

pub(super) fn read<'t>(path: &str, text: &'t str, is_test: bool) -> Result<Found<'t>, String> {
    let nodes = Nodes::read(Language::Rust, text)?;
    if let Some(line) = nodes.torn() {
        return Err(format!("a mistake in line {line} leaves open where its items begin and end"));
    }
    let mut found = Found::default();
    let walk = Walk {
        nodes: &nodes,
        found: &mut found,
        scopes: vec![Scope::file(is_test)],
        docs: vec![Docs::default()],
        file: path,
        makers: macros::makers(&nodes),
        base: (0, 0),
        depth: 0,
    };
    walk.all();
    Ok(found)
}

/// The digest of conditions, around those that were there before.
fn under<'a, 't: 'a>(before: Option<&Digest>, attrs: impl Iterator<Item = &'a Attr<'t>>) -> Option<Digest> {
    let mut print = Print::default();
    let mut any = false;
    for attr in attrs {
        if !any {
            print.word(before.map_or("", Digest::as_str));
        }
        any = true;
        for word in &attr.0 {
            print.word(word);
        }
        print.part();
    }
    if any { Some(print.digest()) } else { before.cloned() }
}

impl<'t> Walk<'_, '_, 't> {
    fn all(mut self) {
        let mut pending = Pending::default();
        let mut at = 1;
        while at < self.nodes.len() {
            while self.scopes.len() > 1 && self.scopes.last().is_some_and(|scope| scope.end <= at) {
                self.leave();
                pending = Pending::default();
            }
            at = match self.nodes.kind(at) {
                "ERROR" => {
                    pending = Pending::default();
                    self.nodes.next(at)
                }
                "attribute_item" => self.attribute(&mut pending, at),
                "inner_attribute_item" => self.inner(at),
                "line_comment" | "block_comment" => self.comment(&mut pending, at),
                kind => {
                    let before = std::mem::take(&mut pending);
                    // A macro that stands for items may end in a semicolon.
                    let inner = if kind == "expression_statement" { at + 1 } else { at };
                    if DECLARED.contains(&kind) || kind != self.nodes.kind(inner) && self.stands_for_items(inner) {
                        self.declared(inner, before)
                    } else {
                        self.other(at, &before)
                    }
                }
            };
        }
        while !self.scopes.is_empty() {
            self.leave();
        }
    }

    fn stands_for_items(&self, at: At) -> bool {
        self.nodes.kind(at) == "macro_invocation" && self.top().items
    }

    fn top(&self) -> Scope {
        // There is always the file's; another one stands in for what can't be.
        self.scopes.last().cloned().unwrap_or_else(|| Scope::file(false))
    }

    fn line(&self, at: At) -> u32 {
        self.nodes.line(at) + self.base.1
    }

    /// Something that is declared; gives where to go on.
    fn declared(&mut self, at: At, before: Pending<'t>) -> At {
        let scope = self.top();
        let kind = self.nodes.kind(at);
        let body = self.nodes.field(at, "body");
        let for_tests = scope.test || before.attrs.iter().any(Attr::for_tests);
        if kind == "mod_item" {
            return match body {
                Some(_) => self.enter(at, before, for_tests),
                None => self.file_module(at, &before, for_tests),
            };
        }
        let makes = kind == "function_item" && before.attrs.iter().any(Attr::makes_test);
        if kind == "macro_invocation" {
            return self.invoked(at, &before, for_tests);
        }
        if kind == "use_declaration" {
            self.imports(at, &before, for_tests);
            return self.nodes.next(at);
        }
        let beyond = self.spreading(at, kind, &before);
        let voice = !beyond.spreads.is_empty() || self.is_voice(at, kind);
        if for_tests || makes || voice || kind == "macro_definition" && self.makes_tests(at) {
            let sort = if makes { Sort::Test } else { Sort::Helper };
            if !scope.test && kind == "extern_crate_declaration" {
                self.documented(at, &before);
            }
            self.item(at, &before, sort, beyond);
            return self.nodes.next(at);
        }
        if kind == "macro_definition" {
            self.documented(at, &before);
            self.docs_among_words(at, "macro_rules");
            return self.nodes.next(at);
        }
        self.enter(at, before, false)
    }

    fn makes_tests(&self, at: At) -> bool {
        let words: Vec<&str> = self.nodes.tokens(at).into_iter().filter_map(word).collect();
        speaks_of_tests(&words)
    }

    /// Whether this gives one of the macros another meaning that tests speak through.
    fn is_voice(&self, at: At, kind: &str) -> bool {
        kind == "macro_definition" && self.nodes.named(at, "name").is_some_and(|name| VOICES.contains(&bare(name)))
    }

    /// The voices that it takes in other files too: by a macro that is seen there, or one of another crate.
    fn spreading(&self, at: At, kind: &str, before: &Pending<'t>) -> Beyond {
        let has = |name: &str| before.attrs.iter().any(|attr| attr.is(name));
        let spreads = match kind {
            "macro_definition" if self.is_voice(at, kind) && (self.top().macros || has("macro_export")) => {
                self.defines(at)
            }
            "extern_crate_declaration" if has("macro_use") => {
                let listed = before.attrs.iter().find(|attr| attr.is("macro_use")).map(|attr| attr.0.as_slice());
                let listed = listed.and_then(|words| words.get(2..)).unwrap_or_default();
                let taken = |name: &&&str| listed.is_empty() || listed.contains(*name);
                VOICES.iter().chain(&["test"]).filter(taken).map(|name| format!("{name}!")).collect()
            }
            _ => Vec::new(),
        };
        Beyond { spreads, ..Beyond::default() }
    }

    /// What is imported, name by name: another name beside one is none of its business.
    fn imports(&mut self, at: At, before: &Pending<'t>, for_tests: bool) {
        let scope = self.top();
        if !for_tests {
            self.documented(at, before);
        }
        let Some(leaves) = self.leaves(at) else {
            if for_tests {
                self.item(at, before, Sort::Helper, Beyond::default());
            }
            return;
        };
        let public = self.nodes.child(at, "visibility_modifier").is_some();
        for leaf in leaves {
            let voice = scope.items && leaf.defines.iter().any(|name| is_voice(name));
            if !for_tests && !voice {
                continue;
            }
            let voices = || leaf.defines.iter().filter(|name| voice && is_voice(name)).cloned().collect();
            let beyond = Beyond {
                spreads: if public { voices() } else { Vec::new() },
                lends: if !public && scope.path.is_empty() { voices() } else { Vec::new() },
                unsure: leaf.is_unsure(),
                ..Beyond::default()
            };
            let name = joined(&scope.path, "::", &leaf.name());
            let tokens: Vec<Token<'t>> = leaf.words.iter().map(|text| Token::Word { text, inside: at }).collect();
            self.write(at, before, (Sort::Helper, name, beyond), (&tokens, leaf.defines));
        }
    }

    /// Goes into something, with what is documented of it taken first.
    fn enter(&mut self, at: At, before: Pending<'t>, test: bool) -> At {
        let scope = self.top();
        let is_module = self.nodes.kind(at) == "mod_item";
        if !test {
            self.documented(at, &before);
        }
        let name = self.name(at);
        let path = if name.is_empty() { scope.path.clone() } else { joined(&scope.path, "::", &name) };
        let kept = before.attrs.iter().filter(|attr| !(attr.is_harmless() || is_module && attr.is_plain()));
        let under = under(scope.under.as_ref(), kept);
        let folders = if is_module { joined(&scope.folders, "/", &name) } else { scope.folders };
        let end = self.nodes.next(at);
        let always = scope.always && before.attrs.iter().all(|attr| attr.is_harmless() || attr.is_plain());
        let run = scope.run && is_module;
        let macros = scope.macros && is_module && before.attrs.iter().any(|attr| attr.is("macro_use"));
        self.scopes.push(Scope { end, path, under, test, items: is_module, run, always, macros, folders });
        self.docs.push(Docs::default());
        at + 1
    }

    /// What is no declaration, and may still be there for tests: a statement, an arm, a block.
    fn other(&mut self, at: At, before: &Pending<'t>) -> At {
        if before.attrs.iter().any(Attr::for_tests) {
            self.item(at, before, Sort::Helper, Beyond::default());
            return self.nodes.next(at);
        }
        at + 1
    }

    /// A line that makes a file part of the program.
    fn file_module(&mut self, at: At, before: &Pending<'t>, for_tests: bool) -> At {
        let scope = self.top();
        let name = bare(self.nodes.named(at, "name").unwrap_or_default());
        let place = before.attrs.iter().find_map(Attr::place);
        let opens = names::places(self.file, &scope.folders, name, place);
        let holds = |attr: &Attr<'_>| attr.is_harmless() || attr.is_plain() || attr.place().is_some();
        let always = scope.run && scope.always && before.attrs.iter().all(holds);
        let beyond = Beyond { opens, always, ..Beyond::default() };
        let full = format!("mod {}", joined(&scope.path, "::", name));
        if for_tests {
            self.draft(at, before, Sort::Helper, full, beyond);
        } else {
            // Its visibility is the code's matter.
            let under = under(scope.under.as_ref(), before.attrs.iter().filter(|attr| !attr.is_harmless()));
            let mut print = Print::default();
            print.word(under.as_ref().map_or("", Digest::as_str));
            print.word(name);
            let start = before.start.unwrap_or(self.nodes.start(at));
            self.found.0.push(Draft {
                name: full,
                scope: scope.path,
                digest: print.digest(),
                line: self.line(at),
                bytes: start + self.base.0..self.nodes.end(at) + self.base.0,
                skipped: !scope.run,
                sort: Sort::Module,
                defines: Vec::new(),
                beyond,
                uses: Uses::default(),
            });
            self.documented(at, before);
        }
        self.nodes.next(at)
    }

    fn item(&mut self, at: At, before: &Pending<'t>, sort: Sort, beyond: Beyond) {
        let name = joined(&self.top().path, "::", &self.name(at));
        self.draft(at, before, sort, name, beyond);
    }

    /// Writes an item down, with its attributes and what is around it.
    fn draft(&mut self, at: At, before: &Pending<'t>, sort: Sort, name: String, beyond: Beyond) {
        let tokens = self.nodes.tokens(at);
        let mut defines = self.defines(at);
        defines.extend(beyond.spreads.iter().filter(|name| !defines.contains(name)).cloned().collect::<Vec<_>>());
        self.write(at, before, (sort, name, beyond), (&tokens, defines));
    }

    fn write(
        &mut self,
        at: At,
        before: &Pending<'t>,
        (sort, name, beyond): (Sort, String, Beyond),
        (tokens, defines): (&[Token<'t>], Vec<String>),
    ) {
        let scope = self.top();
        let mut print = Print::default();
        print.word(scope.under.as_ref().map_or("", Digest::as_str));
        for attr in before.attrs.iter().filter(|attr| !attr.skips() && !attr.is_lint()) {
            attr.0.iter().for_each(|word| print.word(word));
            print.part();
        }
        print.tokens(tokens);
        let mut uses = Uses::of(tokens);
        uses.called(before.attrs.iter());
        let start = before.start.unwrap_or(self.nodes.start(at));
        self.found.0.push(Draft {
            name,
            scope: scope.path,
            digest: print.digest(),
            line: self.line(at),
            bytes: start + self.base.0..self.nodes.end(at) + self.base.0,
            // The harness finds no tests in a function, a constant or an implementation, and no file that is named there.
            skipped: before.attrs.iter().any(Attr::skips)
                || !scope.run && (sort == Sort::Test || !beyond.opens.is_empty()),
            sort,
            defines,
            beyond,
            uses,
        });
    }
}
