//! The tests among Python code: examples in docstrings, functions and classes of tests, and the lines that run them.
//!
//! In a class of tests each statement is an item of its own. What a test stands under (an `if`, a `try`, the class with its bases)
//! belongs to it, and so do the few names that switch off all of a file.

mod beside;
mod bindings;
mod examples;

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Sort;
use super::attr::word;
use super::found::{Beyond, Draft, Found, Uses, joined};
use super::nodes::{At, Nodes, Token};
use super::print::Print;
use crate::guard::parse::Language;
use crate::ids::Digest;
use beside::{Beside, Kind};

/// Names that decide over all tests of a file.
const SWITCHES: &[&str] =
    &["pytestmark", "__test__", "collect_ignore", "collect_ignore_glob", "load_tests", "__name__"];

/// Calls that run tests, or end them.
const RUNS: &[&str] =
    &["unittest.main", "doctest.testmod", "doctest.testfile", "pytest.main", "doctest.run_docstring_examples"];
const STOPS: &[&str] = &["pytest.skip", "pytest.importorskip", "unittest.SkipTest", "SkipTest", "importorskip"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The module, or a class that is none of tests.
    Open,
    Tests,
    Function,
}

#[derive(Clone)]
struct Scope {
    end: At,
    path: String,
    under: Option<Digest>,
    place: Place,
    top: bool,
    /// It is in a function, where nobody looks for tests or examples.
    inner: bool,
    /// A class of `unittest`.
    unittest: bool,
}

struct Walk<'n, 't> {
    nodes: &'n Nodes<'t>,
    found: Found<'t>,
    scopes: Vec<Scope>,
    /// Statements of the module that give a name another meaning, held until it is known which names are tests.
    bindings: Vec<(At, String)>,
    /// The same for names of documentation, with the class that they stand in.
    meant: Vec<(At, String)>,
    /// Where functions and classes are defined, by their whole names.
    defined: HashMap<String, Vec<Defined>>,
    /// What may belong to the tests of the module.
    besides: Vec<Beside>,
    /// Imports of the module, and what is put in their place.
    imports: Vec<At>,
    /// The words of what decorates tests, and those of the heads of their classes.
    rows: HashSet<&'t str>,
    heads: HashSet<&'t str>,
}

/// One definition of a name.
struct Defined {
    start: usize,
    under: Option<Digest>,
    /// It adds to the one before it: the setter of a property, say.
    adds: bool,
}

pub(super) fn read(text: &str) -> Result<Found<'_>, String> {
    let nodes = Nodes::read(Language::Python, text)?;
    if let Some(line) = nodes.torn() {
        return Err(format!("a mistake in line {line} leaves open where its items begin and end"));
    }
    let mut walk = Walk {
        nodes: &nodes,
        found: Found::default(),
        scopes: Vec::new(),
        bindings: Vec::new(),
        meant: Vec::new(),
        defined: HashMap::new(),
        besides: Vec::new(),
        imports: Vec::new(),
        rows: HashSet::new(),
        heads: HashSet::new(),
    };
    let under = walk.switches();
    walk.scopes.push(Scope {
        end: usize::MAX,
        path: String::new(),
        under,
        place: Place::Open,
        top: true,
        inner: false,
        unittest: false,
    });
    walk.examples(0, "this module");
    walk.all();
    walk.scopes.truncate(1);
    walk.replaced();
    walk.bound();
    walk.beside();
    Ok(walk.found)
}

/// The digest of something that stands around, and of what is around that.
fn around(before: Option<&Digest>, tokens: &[Token<'_>]) -> Digest {
    let mut print = Print::default();
    print.word(before.map_or("", Digest::as_str));
    print.tokens(tokens);
    print.digest()
}

fn texts(tokens: &[Token<'_>]) -> String {
    tokens.iter().filter_map(|token| word(*token)).collect()
}

impl<'t> Walk<'_, 't> {
    fn top(&self) -> Scope {
        let file = || Scope {
            end: usize::MAX,
            path: String::new(),
            under: None,
            place: Place::Open,
            top: true,
            inner: false,
            unittest: false,
        };
        self.scopes.last().cloned().unwrap_or_else(file)
    }

    /// What switches all of the file off, wherever in the module it stands.
    fn switches(&self) -> Option<Digest> {
        let nodes = self.nodes;
        let mut under = None;
        let mut at = 1;
        while at < nodes.len() {
            let kind = nodes.kind(at);
            match kind {
                "class_definition" | "decorated_definition" | "lambda" => at = nodes.next(at),
                "function_definition" => {
                    if nodes.named(at, "name") == Some("load_tests") {
                        under = Some(around(under.as_ref(), &nodes.tokens(at)));
                    }
                    at = nodes.next(at);
                }
                "expression_statement" | "raise_statement" => {
                    let tokens = nodes.tokens(at);
                    let left = nodes.children(at).find_map(|child| nodes.named(child, "left")).unwrap_or_default();
                    let said = || texts(&tokens);
                    let stops =
                        |said: &str| STOPS.iter().any(|stop| said.trim_start_matches("raise").starts_with(stop));
                    if SWITCHES.contains(&left)
                        || left.starts_with("sys.modules[")
                        || stops(&said())
                        || bends(left, &said())
                    {
                        under = Some(around(under.as_ref(), &tokens));
                    }
                    at = nodes.next(at);
                }
                _ => at += 1,
            }
        }
        under
    }

    fn all(&mut self) {
        let nodes = self.nodes;
        let mut at = 1;
        while at < nodes.len() {
            while self.scopes.len() > 1 && self.scopes.last().is_some_and(|scope| scope.end <= at) {
                self.scopes.pop();
            }
            at = match nodes.kind(at) {
                "ERROR" | "comment" | "string" => nodes.next(at),
                "decorated_definition" => match nodes.field(at, "definition") {
                    Some(inner) => self.defined(inner, at),
                    None => at + 1,
                },
                "function_definition" | "class_definition" => self.defined(at, at),
                kind => self.other(at, kind),
            };
        }
    }

    /// A function or a class, with the decorators that are on it.
    fn defined(&mut self, at: At, whole: At) -> At {
        let nodes = self.nodes;
        let scope = self.top();
        let name = nodes.named(at, "name").unwrap_or_default();
        let path = joined(&scope.path, ".", name);
        let is_class = nodes.kind(at) == "class_definition";
        if !is_class
            && (scope.place == Place::Tests || scope.place == Place::Open && scope.top && name.starts_with("test_"))
        {
            let sort = if name.starts_with("test") { Sort::Test } else { Sort::Helper };
            let in_class = scope.place == Place::Tests;
            let defines = if in_class { self.meanings(whole, name, scope.unittest) } else { vec![name.to_owned()] };
            self.named_by_decorators(whole);
            self.item(whole, at, sort, path, defines);
            return nodes.next(whole);
        }
        if !is_class && scope.place == Place::Open && scope.top && self.is_hook(whole, name) {
            self.besides.push(Beside { whole, at, name: name.to_owned(), kind: Kind::Hook });
        }
        if !scope.inner {
            let decorators = nodes.children(whole).filter(|child| nodes.kind(*child) == "decorator");
            let adds = decorators.filter_map(|child| nodes.text(child).strip_prefix('@')).any(|said| {
                said.trim_start().strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('.'))
            });
            let one = Defined { start: nodes.start(at), under: scope.under.clone(), adds };
            self.defined.entry(path.clone()).or_default().push(one);
        }
        if let Some(body) = nodes.field(at, "body") {
            self.examples(body, &path);
        }
        let tests =
            is_class && (scope.place == Place::Tests || scope.place == Place::Open && self.is_class_of_tests(at, name));
        let place = match (tests, is_class) {
            (true, _) => Place::Tests,
            (false, true) => Place::Open,
            (false, false) => Place::Function,
        };
        // The head of a class of tests: what decorates it, and what it is made of.
        let mut under = scope.under;
        if tests {
            let decorators = nodes.children(whole).filter(|child| nodes.kind(*child) == "decorator");
            let head = decorators.chain(nodes.field(at, "superclasses")).flat_map(|part| nodes.tokens(part));
            let head: Vec<Token<'t>> = head.collect();
            self.heads.extend(head.iter().filter_map(|token| word(*token)));
            if !head.is_empty() {
                under = Some(around(under.as_ref(), &head));
            }
        }
        let inner = scope.inner || !is_class;
        let unittest = nodes.named(at, "superclasses").is_some_and(|bases| bases.contains("TestCase"));
        self.scopes.push(Scope { end: nodes.next(whole), path, under, place, top: false, inner, unittest });
        nodes.field(at, "body").map_or(nodes.next(whole), |body| body + 1)
    }

    fn is_class_of_tests(&self, at: At, name: &str) -> bool {
        let nodes = self.nodes;
        let bases = nodes.field(at, "superclasses").map(|bases| nodes.children(bases)).into_iter().flatten();
        if bases.into_iter().any(|base| nodes.text(base).ends_with("TestCase")) {
            return true;
        }
        let body = nodes.field(at, "body").map(|body| nodes.children(body)).into_iter().flatten();
        let is_test = |child: At| {
            let inner = nodes.field(child, "definition").unwrap_or(child);
            nodes.kind(inner) == "function_definition"
                && nodes.named(inner, "name").is_some_and(|name| name.starts_with("test"))
        };
        name.starts_with("Test") && body.into_iter().any(is_test)
    }

    /// A statement that is no definition.
    fn other(&mut self, at: At, kind: &str) -> At {
        let nodes = self.nodes;
        let scope = self.top();
        let is_statement = kind.ends_with("_statement") || kind == "type_alias_statement";
        let flows = matches!(
            kind,
            "if_statement"
                | "for_statement"
                | "while_statement"
                | "try_statement"
                | "with_statement"
                | "match_statement"
        );
        let branches = kind.ends_with("_clause") && kind != "for_in_clause" && kind != "if_clause";
        if scope.place != Place::Function && (flows || branches) {
            // What it stands under: the condition, and which way of it.
            let head = nodes.children(at).filter(|child| {
                let kind = nodes.kind(*child);
                kind != "block" && !kind.ends_with("_clause")
            });
            let head: Vec<Token<'_>> = head.flat_map(|part| nodes.tokens(part)).collect();
            let under = Some(around(scope.under.as_ref(), &head));
            if scope.place == Place::Open && !scope.inner {
                self.heads(at, kind);
            }
            self.scopes.push(Scope { end: nodes.next(at), under, ..scope });
            return at + 1;
        }
        if !is_statement || scope.place == Place::Function {
            return at + 1;
        }
        if scope.place == Place::Tests {
            // A docstring is text, and its examples are items already.
            let first = nodes.children(at).next();
            if first.is_some_and(|first| nodes.kind(first) == "string") || kind == "pass_statement" {
                return nodes.next(at);
            }
            let name = first.and_then(|first| nodes.named(first, "left")).map(str::to_owned);
            let defines = name.iter().flat_map(|name| self.meanings(at, name, scope.unittest)).collect();
            let called = name.unwrap_or_else(|| texts(&nodes.tokens(at)));
            self.item(at, at, Sort::Helper, joined(&scope.path, ".", &called), defines);
            return nodes.next(at);
        }
        if scope.top {
            let said = texts(&nodes.tokens(at));
            if let Some(run) = RUNS.iter().find(|run| said.contains(**run)) {
                self.item(at, at, Sort::Helper, format!("run {run}"), Vec::new());
                return nodes.next(at);
            }
            self.binding(at, kind);
            self.imports.push(at);
            let left = nodes.children(at).next().and_then(|first| nodes.named(first, "left"));
            if let Some(name) = left.filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_')) {
                self.besides.push(Beside { whole: at, at, name: name.to_owned(), kind: Kind::Value });
            }
        }
        if !scope.inner {
            self.meaning(at, kind);
        }
        nodes.next(at)
    }

    fn binding(&mut self, at: At, kind: &str) {
        let nodes = self.nodes;
        let tokens = nodes.tokens(at);
        let words: Vec<&str> = tokens.iter().filter_map(|token| word(*token)).collect();
        let is_import = kind.starts_with("import");
        let names: Vec<&str> = match words.as_slice() {
            ["del", rest @ ..] => rest.to_vec(),
            [name, "=", ..] => vec![name],
            all if is_import => all.to_vec(),
            all if all.iter().any(|word| bindings::INDIRECT.contains(word)) => all.to_vec(),
            // The attributes of a test.
            all if all.contains(&"=") => all.iter().take_while(|word| **word != "=").copied().collect(),
            _ => Vec::new(),
        };
        let names = names.into_iter().map(|name| name.trim_matches(['"', '\''])).filter(|name| !name.is_empty());
        self.bindings.extend(names.map(|name| (at, name.to_owned())));
    }

    /// The statements that give the name of a test another meaning.
    fn bound(&mut self) {
        let tests: HashSet<String> = self.found.0.iter().flat_map(|draft| draft.defines.iter().cloned()).collect();
        let classes: HashSet<String> = self.found.0.iter().map(|draft| draft.scope.clone()).collect();
        let alone = self.found.0.iter().filter(|draft| draft.sort == Sort::Test && draft.scope.is_empty());
        let alone: HashSet<String> = alone.flat_map(|draft| draft.defines.iter().cloned()).collect();
        // What a loop, a `with`, an `except` or a `case` gives a name to.
        let met = self.meant.iter().filter(|(_, name)| alone.contains(name) || classes.contains(name)).cloned();
        let met: BTreeSet<(At, String)> = met.chain(std::mem::take(&mut self.bindings)).collect();
        for (at, name) in met {
            if !name.is_empty() && classes.contains(&name) {
                self.class_is_set(at, name);
            } else if tests.contains(&name) {
                self.item(at, at, Sort::Helper, format!("what {name} means"), vec![name]);
            }
        }
        self.bound_docs();
    }

    fn item(&mut self, whole: At, at: At, sort: Sort, name: String, mut defines: Vec<String>) {
        let nodes = self.nodes;
        let scope = self.top();
        let skips = |child: At| {
            let said = texts(&nodes.tokens(child));
            let said = said.split('(').next().unwrap_or_default().to_owned();
            nodes.kind(child) == "decorator" && (said.ends_with(".skip") || said == "@skip")
        };
        let skipped = whole != at && nodes.children(whole).any(skips);
        let mut print = Print::default();
        print.word(scope.under.as_ref().map_or("", Digest::as_str));
        let parts: Vec<At> = if whole == at { vec![at] } else { nodes.children(whole).collect() };
        let tokens = parts.into_iter().filter(|part| !skips(*part)).flat_map(|part| nodes.tokens(part));
        let tokens: Vec<Token<'t>> = tokens.collect();
        print.tokens(&tokens);
        defines.retain(|name| !name.is_empty());
        self.found.0.push(Draft {
            name,
            scope: scope.path,
            digest: print.digest(),
            line: nodes.line(at),
            bytes: nodes.start(whole)..nodes.end(whole),
            skipped,
            sort,
            defines,
            beyond: Beyond::default(),
            uses: Uses::of(&tokens),
        });
    }
}

/// Whether a statement gives something of the modules that tests are made with another meaning, or leaves the whole file out.
fn bends(left: &str, said: &str) -> bool {
    let of = |text: &str| ["unittest.", "pytest.", "doctest."].iter().any(|module| text.starts_with(module));
    let harmless = ["maxDiff", "longMessage"].iter().any(|name| left.ends_with(name));
    let sets = said.strip_prefix("setattr(").is_some_and(|on| of(&on.replacen(',', ".", 1)));
    of(left) && !harmless || sets || said.contains("importorskip(") || said.contains("allow_module_level")
}
