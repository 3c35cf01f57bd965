//! Attributes and comments: what is pending for the next item, and the examples in documentation.

use super::{Pending, Walk, under};
use crate::guard::inline::attr::{Attr, word};
use crate::guard::inline::doc::{Docs, Side, side};
use crate::guard::inline::found::{Beyond, Draft, Found, Uses, joined};
use crate::guard::inline::nodes::At;
use crate::guard::inline::print::Print;
use crate::guard::inline::{Item, Sort};
use crate::ids::Digest;

impl<'t> Walk<'_, '_, 't> {
    pub(super) fn attribute(&self, pending: &mut Pending<'t>, at: At) -> At {
        let attr = Attr::of(self.nodes, at);
        pending.start.get_or_insert(self.nodes.start(at));
        let mut docs = std::mem::take(&mut pending.docs);
        if !self.written(&mut docs, at, &attr) {
            pending.fetched.push(at);
        }
        pending.docs = docs;
        if !attr.is_text() {
            pending.attrs.push(attr);
        }
        self.nodes.next(at)
    }

    /// Takes the documentation out of an attribute, also where there is a condition on it. False where it is fetched from elsewhere.
    pub(super) fn written(&self, docs: &mut Docs, at: At, attr: &Attr<'t>) -> bool {
        let texts = std::iter::once(attr.clone()).chain(attr.given()).filter(Attr::is_text);
        let mut read = true;
        for text in texts {
            let value = text.0.get(2..).unwrap_or_default();
            let literal = (at..self.nodes.next(at)).find(|at| value.first() == Some(&self.nodes.text(*at)));
            read &= docs.attribute(self.line(literal.unwrap_or(at)), value);
        }
        read
    }

    pub(super) fn inner(&mut self, at: At) -> At {
        let attr = Attr::of(self.nodes, at);
        let mut docs = self.docs.pop().unwrap_or_default();
        if !self.written(&mut docs, at, &attr) {
            let owner = self.owner();
            self.fetched(at, &owner);
        }
        self.docs.push(docs);
        if let Some(scope) = self.scopes.last_mut().filter(|_| !attr.is_text()) {
            scope.test |= attr.for_tests();
            if !attr.is_harmless() && !attr.is_plain() {
                scope.under = under(scope.under.as_ref(), [&attr].into_iter());
                scope.always = false;
            }
        }
        self.nodes.next(at)
    }

    pub(super) fn comment(&mut self, pending: &mut Pending<'t>, at: At) -> At {
        let (text, line) = (self.nodes.text(at), self.line(at));
        match side(text) {
            Some(Side::Outer) => {
                pending.start.get_or_insert(self.nodes.start(at));
                pending.docs.comment(line, text);
            }
            Some(Side::Inner) => {
                if let Some(docs) = self.docs.last_mut() {
                    docs.comment(line, text);
                }
            }
            None => {}
        }
        self.nodes.next(at)
    }

    /// Ends a scope: what was written inside of it about it is its documentation.
    pub(super) fn leave(&mut self) {
        let owner = self.owner();
        let docs = self.docs.pop().unwrap_or_default();
        if let Some(scope) = self.scopes.pop().filter(|scope| !scope.test) {
            self.examples(&docs, &owner, scope.under.as_ref());
        }
    }

    pub(super) fn owner(&self) -> String {
        let path = self.top().path;
        if path.is_empty() { "this module".to_owned() } else { path }
    }

    /// The examples in what is written about something.
    pub(super) fn documented(&mut self, at: At, before: &Pending<'t>) {
        if before.docs.is_empty() && before.fetched.is_empty() {
            return;
        }
        let scope = self.top();
        let name = joined(&scope.path, "::", &self.name(at));
        for fetched in &before.fetched {
            self.fetched(*fetched, &name);
        }
        let under = under(scope.under.as_ref(), before.attrs.iter().filter(|attr| attr.decides()));
        self.examples(&before.docs, &name, under.as_ref());
    }

    pub(super) fn examples(&mut self, docs: &Docs, of: &str, under: Option<&Digest>) {
        for example in docs.examples() {
            let mut print = Print::default();
            print.word(under.map_or("", Digest::as_str));
            example.print(&mut print);
            self.found.0.push(Draft {
                name: format!("doc of {of}"),
                scope: String::new(),
                digest: print.digest(),
                line: example.line,
                bytes: 0..0,
                skipped: example.skipped,
                sort: Sort::Doc,
                defines: Vec::new(),
                beyond: Beyond::default(),
                uses: Uses::default(),
            });
        }
    }

    /// Documentation that another file has: the line that fetches it is the item, and tells where it is.
    pub(super) fn fetched(&mut self, at: At, of: &str) {
        let before = Pending { start: Some(self.nodes.start(at)), ..Pending::default() };
        let words: Vec<&str> = self.nodes.tokens(at).iter().filter_map(|token| word(*token)).collect();
        let beyond = Beyond { fetches: place(self.file, &words), ..Beyond::default() };
        self.draft(at, &before, Sort::Doc, format!("doc of {of}{ELSEWHERE}"), beyond);
    }
}

/// How the name of an item ends that fetches documentation.
const ELSEWHERE: &str = ", from elsewhere";

/// Where `include_str!("…")` of a file takes its text from. What is put together when it is compiled is not known.
fn place(file: &str, words: &[&str]) -> Option<String> {
    let [_, _, _, literal, _] = words.windows(5).find(|five| matches!(five, ["include_str", "!", "(", _, ")"]))? else {
        return None;
    };
    let relative = literal.trim_start_matches('r').trim_matches('#').strip_prefix('"')?.strip_suffix('"')?;
    if relative.starts_with('/') || relative.contains('\\') {
        return None;
    }
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The examples of the file that an item fetches. They are named by it, because it is what makes them examples.
pub(in crate::guard::inline) fn fetched(item: &Item, text: &str) -> Vec<Item> {
    let mut docs = Docs::default();
    docs.plain(text);
    let mut found = Found::default();
    let owner = item.name.split(ELSEWHERE).next().unwrap_or(&item.name);
    for example in docs.examples() {
        let mut print = Print::default();
        example.print(&mut print);
        found.0.push(Draft {
            name: format!("{owner}, from {}", item.fetches.as_deref().unwrap_or_default()),
            scope: item.scope.clone(),
            digest: print.digest(),
            line: item.line,
            bytes: item.bytes.clone(),
            skipped: example.skipped,
            sort: Sort::Doc,
            defines: Vec::new(),
            beyond: Beyond::default(),
            uses: Uses::default(),
        });
    }
    found.items()
}
