//! Macros: those that make tests, those that only wrap code, and rows of tests inside of one.

use std::collections::HashSet;

use super::{DEEPEST, Pending, Scope, Walk, bare, under};
use crate::guard::inline::Sort;
use crate::guard::inline::attr::{Attr, speaks_of_tests, word};
use crate::guard::inline::doc::{Docs, Side, side};
use crate::guard::inline::found::{Beyond, Draft, Uses, joined};
use crate::guard::inline::nodes::{At, Nodes, Token};
use crate::guard::inline::print::Print;
use crate::guard::parse::Language;

/// Macros that hold rows of tests without saying so with an attribute.
const ROWS: &[&str] = &["proptest", "quickcheck"];

/// The macros of a file whose rules have tests in them.
pub(super) fn makers(nodes: &Nodes<'_>) -> HashSet<String> {
    let mut names = HashSet::new();
    for at in 0..nodes.len() {
        if nodes.kind(at) == "macro_definition" {
            let words: Vec<&str> = nodes.tokens(at).into_iter().filter_map(word).collect();
            if let Some(name) = nodes.named(at, "name").map(bare).filter(|_| speaks_of_tests(&words)) {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

/// One test in a row of them.
struct Row<'t> {
    name: &'t str,
    parts: Vec<At>,
    attrs: Vec<Attr<'t>>,
}

impl<'t> Walk<'_, '_, 't> {
    /// A macro that is called.
    pub(super) fn invoked(&mut self, at: At, before: &Pending<'t>, for_tests: bool) -> At {
        let nodes = self.nodes;
        let next = nodes.next(at);
        let path = nodes.named(at, "macro").unwrap_or_default();
        let name = path.rsplit("::").next().unwrap_or_default().trim();
        let Some(tree) = nodes.child(at, "token_tree") else { return next };
        let stands = self.top().items;
        let words: Vec<&str> = nodes.tokens(tree).into_iter().filter_map(word).collect();
        let speaks = speaks_of_tests(&words);
        let is_row = ROWS.contains(&name);
        if (for_tests && stands) || is_row {
            if !self.rows(at, tree, before) {
                self.item(at, before, Sort::Test, Beyond::default());
            }
            return next;
        }
        if for_tests || stands && self.makers.contains(name) {
            self.item(at, before, Sort::Test, Beyond::default());
            return next;
        }
        // A file that is named plainly may have tests, and so may a text that is fetched for them.
        let fetches = name == "include" && words.len() == 3 || name == "doctest";
        if stands && (fetches || before.attrs.iter().any(Attr::for_doctests)) {
            self.item(at, before, Sort::Helper, Beyond::default());
            return next;
        }
        if stands && self.again(tree, path, before) {
            return next;
        }
        if speaks && !self.rows(at, tree, before) {
            self.item(at, before, Sort::Test, Beyond::default());
        } else {
            self.docs_among_words(tree, name);
        }
        next
    }

    /// Reads what is in a macro's brackets as code, where it is that.
    fn again(&mut self, tree: At, name: &'t str, before: &Pending<'t>) -> bool {
        if self.depth >= DEEPEST {
            return false;
        }
        let (start, end) = (self.nodes.start(tree) + 1, self.nodes.end(tree).saturating_sub(1));
        let Some(text) = self.nodes.text.get(start..end) else { return false };
        if !["test", "///", "//!", "/**", "doc", "mod "].iter().any(|mark| text.contains(mark)) {
            return false;
        }
        let Ok(nodes) = Nodes::read(Language::Rust, text) else { return false };
        if nodes.mistake().is_some() {
            return false;
        }
        let around = self.top();
        // A macro may make nothing of what it is given, so it is a condition too.
        let by = Attr(vec![name, "!"]);
        let kept = before.attrs.iter().filter(|attr| !attr.is_harmless()).chain([&by]);
        let scope = Scope { end: usize::MAX, under: under(around.under.as_ref(), kept), always: false, ..around };
        let lines = self.nodes.line_of(start).saturating_sub(1) + self.base.1;
        let walk = Walk {
            nodes: &nodes,
            found: &mut *self.found,
            scopes: vec![scope],
            docs: vec![Docs::default()],
            file: self.file,
            makers: self.makers.clone(),
            base: (self.base.0 + start, lines),
            depth: self.depth + 1,
        };
        walk.all();
        true
    }

    /// A row of functions, as `proptest!` has them: each is a test of its own. False where it is no such row.
    fn rows(&mut self, at: At, tree: At, before: &Pending<'t>) -> bool {
        let nodes = self.nodes;
        let mut rows: Vec<Row<'t>> = Vec::new();
        let mut head: Vec<At> = Vec::new();
        let mut row: Vec<At> = Vec::new();
        let count = nodes.children(tree).count();
        let inner = nodes.children(tree).take(count.saturating_sub(1)).skip(1);
        for child in inner.filter(|child| !nodes.is_comment(*child)) {
            row.push(child);
            let starts = |at: At, text: &str| nodes.kind(at) == "token_tree" && nodes.text(at).starts_with(text);
            if let [.., hash, bang, last] = row.as_slice()
                && nodes.text(*hash) == "#"
                && nodes.text(*bang) == "!"
                && starts(*last, "[")
            {
                head.append(&mut row);
                continue;
            }
            let fun = row.iter().position(|part| nodes.text(*part) == "fn");
            if let Some(fun) = fun.filter(|_| starts(child, "{")) {
                let Some(name) = row.get(fun + 1).map(|name| nodes.text(*name)) else { return false };
                let attrs =
                    row.windows(2).filter(|pair| matches!(pair, [a, b] if nodes.text(*a) == "#" && starts(*b, "[")));
                let attrs = attrs.filter_map(|pair| pair.last()).map(|at| Attr::of(nodes, *at)).collect();
                rows.push(Row { name, parts: std::mem::take(&mut row), attrs });
            }
        }
        if rows.is_empty() || !row.is_empty() {
            return false;
        }
        let mut around: Vec<Token<'t>> = nodes.field(at, "macro").map(|name| nodes.tokens(name)).unwrap_or_default();
        around.extend(head.iter().flat_map(|part| nodes.tokens(*part)));
        let scope = self.top();
        for row in rows {
            let mut print = Print::default();
            print.word(scope.under.as_ref().map_or("", crate::ids::Digest::as_str));
            for attr in before.attrs.iter().chain(&row.attrs).filter(|attr| !attr.skips() && !attr.is_lint()) {
                attr.0.iter().for_each(|word| print.word(word));
                print.part();
            }
            print.tokens(&around);
            print.part();
            let from = row.parts.iter().position(|part| nodes.text(*part) == "fn").unwrap_or(0);
            let own: Vec<Token<'t>> = row.parts.iter().skip(from).flat_map(|part| nodes.tokens(*part)).collect();
            print.tokens(&own);
            let (first, last) = (row.parts.first().copied().unwrap_or(at), row.parts.last().copied().unwrap_or(at));
            let fun = row.parts.get(from).copied().unwrap_or(first);
            let mut uses = Uses::of(&own);
            uses.called(before.attrs.iter().chain(&row.attrs));
            self.found.0.push(Draft {
                name: joined(&scope.path, "::", row.name),
                scope: scope.path.clone(),
                digest: print.digest(),
                line: self.line(fun),
                bytes: nodes.start(first) + self.base.0..nodes.end(last) + self.base.0,
                skipped: row.attrs.iter().any(Attr::skips) || !scope.run,
                sort: Sort::Test,
                defines: vec![row.name.to_owned()],
                beyond: Beyond::default(),
                uses,
            });
        }
        true
    }

    /// Documentation in a macro's words: it becomes that of what the macro makes, if it is called and makes something of them.
    pub(super) fn docs_among_words(&mut self, root: At, by: &'t str) {
        let name = self.nodes.named(root, "name").map_or_else(|| "a macro".to_owned(), |name| format!("{name}!"));
        let name = joined(&self.top().path, "::", &name);
        let mut docs = Docs::default();
        let under = under(self.top().under.as_ref(), [&Attr(vec![by, "!"])].into_iter());
        let end = self.nodes.next(root);
        let mut at = root + 1;
        while at < end {
            if self.nodes.is_comment(at) {
                if side(self.nodes.text(at)) == Some(Side::Outer) {
                    docs.comment(self.line(at), self.nodes.text(at));
                }
                at = self.nodes.next(at);
                continue;
            }
            if !docs.is_empty() {
                self.examples(&std::mem::take(&mut docs), &format!("what {name} makes"), under.as_ref());
            }
            at += 1;
        }
    }
}
