//! The tests among JavaScript and TypeScript: what stands in `if (import.meta.vitest)`, and calls of `describe`, `it` and `test`
//! at the top of ordinary source.
//!
//! In such a block and in a suite each statement is an item of its own.

mod calls;
mod voices;

use std::collections::HashSet;

use super::Sort;
use super::attr::word;
use super::found::{Beyond, Draft, EVERY_TEST, Found, Uses, joined};
use super::nodes::{At, Nodes, Token};
use super::print::Print;
use crate::guard::parse::Language;
use crate::ids::Digest;
use calls::Call;

/// Calls that put something else in the place of what is tested, wherever in the file they stand.
const MOCKS: &[&str] = &["vi.mock", "vi.doMock", "vi.hoisted", "jest.mock", "jest.doMock", "mock.module"];

/// What knows whether tests are run.
const META: &str = "import.meta";

/// A longer piece of code is not looked at for it.
const LONGEST_META: usize = 400;

#[derive(Clone)]
struct Scope {
    end: At,
    path: String,
    under: Option<Digest>,
    /// Each statement in it is an item.
    test: bool,
    skipped: bool,
    /// It is run where some tests are run alone.
    chosen: bool,
}

struct Walk<'n, 't> {
    nodes: &'n Nodes<'t>,
    found: Found<'t>,
    scopes: Vec<Scope>,
    /// Some tests of the file are run alone.
    alone: bool,
    /// What tests, suites and hooks are called by.
    called: HashSet<&'t str>,
}

pub(super) fn read(language: Language, text: &str) -> Result<Found<'_>, String> {
    let nodes = Nodes::read(language, text)?;
    if let Some(line) = nodes.torn() {
        return Err(format!("a mistake in line {line} leaves open where its items begin and end"));
    }
    let mut walk =
        Walk { nodes: &nodes, found: Found::default(), scopes: Vec::new(), alone: false, called: HashSet::new() };
    let under = walk.whole_file();
    let path = String::new();
    walk.scopes.push(Scope { end: usize::MAX, path, under, test: false, skipped: false, chosen: false });
    walk.all();
    walk.voices();
    Ok(walk.found)
}

fn around(before: Option<&Digest>, tokens: &[Token<'_>]) -> Digest {
    let mut print = Print::default();
    print.word(before.map_or("", Digest::as_str));
    print.tokens(tokens);
    print.digest()
}

impl<'t> Walk<'_, 't> {
    fn top(&self) -> Scope {
        let none = || Scope { end: 0, path: String::new(), under: None, test: false, skipped: false, chosen: false };
        self.scopes.last().cloned().unwrap_or_else(none)
    }

    /// What decides over every test of the file: mocks, and whether some tests are run alone.
    fn whole_file(&mut self) -> Option<Digest> {
        let nodes = self.nodes;
        let mut under = None;
        for at in 0..nodes.len() {
            if let Some(part) = self.sets_meta(at) {
                under = Some(around(under.as_ref(), &nodes.tokens(part)));
            }
            if nodes.kind(at) != "call_expression" {
                continue;
            }
            let Some(function) = nodes.field(at, "function") else { continue };
            // A name with a dot or two is short; what is longer is a chain of calls.
            if nodes.end(function) - nodes.start(function) < 80 {
                if MOCKS.contains(&nodes.text(function)) {
                    under = Some(around(under.as_ref(), &nodes.tokens(at)));
                }
                self.alone |= Call::of(nodes, at).is_some_and(|call| call.alone);
            }
        }
        under
    }

    /// What gives `import.meta` another meaning: then nobody knows whether a block of tests is run.
    fn sets_meta(&self, at: At) -> Option<At> {
        let nodes = self.nodes;
        let said = |at: At| {
            let short = nodes.end(at) - nodes.start(at) < LONGEST_META;
            let tokens = if short { nodes.tokens(at) } else { Vec::new() };
            tokens.into_iter().filter_map(word).collect::<String>()
        };
        let sets = match nodes.kind(at) {
            "assignment_expression" | "augmented_assignment_expression" => {
                nodes.field(at, "left").is_some_and(|left| said(left).contains(META))
            }
            "unary_expression" => nodes.text(at).starts_with("delete") && said(at).contains(META),
            "call_expression" => {
                let on = nodes.named(at, "function").unwrap_or_default();
                (on.starts_with("Object.") || on.starts_with("Reflect.")) && is_bare(&said(at))
            }
            "variable_declarator" => {
                let name = nodes.field(at, "name").map(|name| nodes.kind(name));
                name == Some("identifier") && nodes.field(at, "value").is_some_and(|value| said(value) == META)
            }
            _ => false,
        };
        sets.then_some(at)
    }

    fn all(&mut self) {
        let nodes = self.nodes;
        let mut at = 1;
        while at < nodes.len() {
            while self.scopes.len() > 1 && self.scopes.last().is_some_and(|scope| scope.end <= at) {
                self.scopes.pop();
            }
            at = match nodes.kind(at) {
                "ERROR" | "comment" | "parenthesized_expression" | "hash_bang_line" => nodes.next(at),
                "statement_block" | "else_clause" | "export_statement"
                    if !self.top().test || nodes.kind(at) != "export_statement" =>
                {
                    at + 1
                }
                "if_statement" => self.condition(at),
                "try_statement" | "catch_clause" | "finally_clause" if !self.top().test => at + 1,
                "expression_statement" => self.expression(at),
                kind if self.top().test && is_statement(kind) => {
                    self.item(at, Sort::Helper);
                    nodes.next(at)
                }
                _ => nodes.next(at),
            };
        }
    }

    fn condition(&mut self, at: At) -> At {
        let nodes = self.nodes;
        let scope = self.top();
        let condition = nodes.field(at, "condition").map(|condition| nodes.tokens(condition)).unwrap_or_default();
        let said: String = condition.iter().filter_map(|token| word(*token)).collect();
        let vitest = said.contains("import.meta.vitest") && !said.contains("!import.meta.vitest");
        if scope.test && !vitest {
            self.item(at, Sort::Helper);
            return nodes.next(at);
        }
        let under = Some(around(scope.under.as_ref(), &condition));
        let test = scope.test || vitest;
        // Only what is done where the condition holds is there for tests.
        let end = nodes.field(at, "consequence").map_or(nodes.next(at), |then| nodes.next(then));
        self.scopes.push(Scope { end, under, test, ..scope });
        at + 1
    }

    fn expression(&mut self, at: At) -> At {
        let nodes = self.nodes;
        let scope = self.top();
        let call = Call::in_statement(nodes, at);
        let Some(call) = call.filter(|call| scope.test || call.is_test() || call.is_hook()) else {
            if scope.test {
                self.item(at, Sort::Helper);
            }
            return nodes.next(at);
        };
        self.called.insert(call.name);
        let Some(body) = call.body.filter(|_| call.is_suite()) else {
            if call.is_test() {
                self.test(&call);
            } else {
                self.item(at, Sort::Helper);
            }
            return nodes.next(at);
        };
        let mut print = Print::default();
        print.word(scope.under.as_ref().map_or("", Digest::as_str));
        call.print_head(&mut print);
        for argument in call.others(nodes) {
            print.tokens(&nodes.tokens(argument));
        }
        // A suite with nothing unusual about it is only a name.
        let under = if call.is_plain(nodes) { scope.under } else { Some(print.digest()) };
        self.scopes.push(Scope {
            end: nodes.next(at),
            path: joined(&scope.path, " > ", &call.title),
            under,
            test: true,
            skipped: scope.skipped || call.skips,
            chosen: scope.chosen || call.alone,
        });
        body + 1
    }

    fn test(&mut self, call: &Call<'t>) {
        let nodes = self.nodes;
        let scope = self.top();
        let mut print = Print::default();
        print.word(scope.under.as_ref().map_or("", Digest::as_str));
        call.print_head(&mut print);
        let tokens = nodes.field(call.at, "arguments").map(|arguments| nodes.tokens(arguments)).unwrap_or_default();
        print.tokens(&tokens);
        let mut uses = Uses::of(&tokens);
        uses.calls(call.name);
        let left_out = self.alone && !scope.chosen && !call.alone;
        self.found.0.push(Draft {
            name: joined(&scope.path, " > ", &call.title),
            scope: scope.path,
            digest: print.digest(),
            line: nodes.line(call.at),
            bytes: nodes.start(call.at)..nodes.end(call.at),
            skipped: scope.skipped || call.skips || left_out,
            sort: Sort::Test,
            defines: Vec::new(),
            beyond: Beyond::default(),
            uses,
        });
    }

    /// Names that are taken out of one value, each with its place in the pattern and in the statement. None where it is anything
    /// else.
    fn taken_out(&self, at: At) -> Option<(Vec<(At, &'t str)>, At)> {
        let nodes = self.nodes;
        let mut declared = nodes.children(at).filter(|child| nodes.kind(*child) == "variable_declarator");
        let one = declared.next().filter(|_| declared.next().is_none())?;
        let pattern = nodes.field(one, "name").filter(|name| nodes.kind(*name) == "object_pattern")?;
        let names = nodes.children(pattern).filter(|child| !matches!(nodes.text(*child), "{" | "}" | ","));
        let names = names.filter(|child| !nodes.is_comment(*child)).map(|child| match nodes.kind(child) {
            "shorthand_property_identifier_pattern" => Some((child, nodes.text(child))),
            "pair_pattern" => {
                let name = nodes.field(child, "value").filter(|value| nodes.kind(*value) == "identifier")?;
                Some((child, nodes.text(name)))
            }
            _ => None,
        });
        Some((names.collect::<Option<Vec<_>>>()?, nodes.field(one, "value")?))
    }

    /// Writes down each of these names by itself: another one beside it is none of its business.
    fn names(&mut self, at: At, (names, value): (Vec<(At, &'t str)>, At)) {
        let nodes = self.nodes;
        let scope = self.top();
        let kind = nodes.children(at).next().map_or("", |first| nodes.text(first));
        let value = nodes.tokens(value);
        for (at, name) in names {
            let mut print = Print::default();
            print.word(scope.under.as_ref().map_or("", Digest::as_str));
            print.word(kind);
            print.tokens(&nodes.tokens(at));
            print.part();
            print.tokens(&value);
            self.found.0.push(Draft {
                name: joined(&scope.path, " > ", name),
                scope: scope.path.clone(),
                digest: print.digest(),
                line: nodes.line(at),
                bytes: nodes.start(at)..nodes.end(at),
                skipped: false,
                sort: Sort::Helper,
                defines: vec![name.to_owned()],
                beyond: Beyond::default(),
                uses: Uses::of(&value),
            });
        }
    }

    fn item(&mut self, at: At, sort: Sort) {
        let nodes = self.nodes;
        if let Some(taken) = self.taken_out(at).filter(|(names, _)| !names.is_empty()) {
            return self.names(at, taken);
        }
        let scope = self.top();
        let tokens = nodes.tokens(at);
        let mut print = Print::default();
        print.word(scope.under.as_ref().map_or("", Digest::as_str));
        print.tokens(&tokens);
        let mut defines = self.defines(at);
        let call = Call::in_statement(nodes, at);
        let ends = call.as_ref().is_some_and(|call| call.ends_tests(&tokens));
        let name = match (defines.as_slice(), call) {
            ([], Some(call)) => call.name.to_owned(),
            ([], None) => {
                let words: Vec<&str> = tokens.iter().filter_map(|token| word(*token)).take(12).collect();
                words.join(" ")
            }
            (names, _) => names.join(", "),
        };
        defines.extend(ends.then(|| EVERY_TEST.to_owned()));
        defines.extend(self.assigned(at));
        self.found.0.push(Draft {
            name: joined(&scope.path, " > ", &name),
            scope: scope.path,
            digest: print.digest(),
            line: nodes.line(at),
            bytes: nodes.start(at)..nodes.end(at),
            skipped: false,
            sort,
            defines,
            beyond: Beyond::default(),
            uses: Uses::of(&tokens),
        });
    }

    /// The name that a statement gives another value.
    fn assigned(&self, at: At) -> Option<String> {
        let nodes = self.nodes;
        let inner = nodes.children(at).next().filter(|inner| nodes.kind(*inner) == "assignment_expression")?;
        let left = nodes.field(inner, "left").filter(|left| nodes.kind(*left) == "identifier")?;
        Some(nodes.text(left).to_owned())
    }

    /// The names that a statement gives a meaning to.
    fn defines(&self, at: At) -> Vec<String> {
        let nodes = self.nodes;
        let names = |at: At| {
            let mut found = Vec::new();
            let mut inner = at;
            while inner < nodes.next(at) {
                if matches!(
                    nodes.kind(inner),
                    "identifier" | "shorthand_property_identifier_pattern" | "type_identifier"
                ) {
                    found.push(nodes.text(inner).to_owned());
                }
                inner += 1;
            }
            found
        };
        match nodes.kind(at) {
            "lexical_declaration" | "variable_declaration" => {
                let declared = nodes.children(at).filter(|child| nodes.kind(*child) == "variable_declarator");
                declared.filter_map(|one| nodes.field(one, "name")).flat_map(names).collect()
            }
            "import_statement" => names(at),
            kind if kind.ends_with("_declaration") => nodes.field(at, "name").map(names).unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// Whether `import.meta` is named as a whole, and not something of it.
fn is_bare(said: &str) -> bool {
    let mut ends = said.match_indices(META).filter_map(|(at, _)| said.get(at + META.len()..));
    ends.any(|rest| !rest.starts_with(|c: char| matches!(c, '.' | '?' | '[') || c.is_alphanumeric()))
}

fn is_statement(kind: &str) -> bool {
    kind.ends_with("_statement") || kind.ends_with("_declaration")
}
