//! Functions of Python that do nothing: `pass`, `...`, or nothing but a docstring.

use std::sync::LazyLock;

use regex::Regex;

use super::named::{is_abstract as is_abstract_name, is_noop};
use super::{File, MOST, leaves_to_others, puts_off};

/// More functions of a file than these, and longer signatures, are not looked at.
const MOST_FUNCTIONS: usize = 5_000;
const LONGEST_SIGNATURE: usize = 2_000;

/// What makes something of a function that has only a docstring: a group of commands, the shape of a hook.
const DECORATORS: &[&str] =
    &["callback", "fixture", "group", "hookspec", "overload", "singledispatch", "singledispatchmethod"];

/// Methods that the classes of the standard library call, and that may well do nothing.
const ASKED_FOR: &[&str] = &["log_message", "log_request", "log_error", "flush", "close", "finish"];

/// Whether a docstring says that nothing is to happen. That it says what is to happen is no reason for nothing.
fn says_nothing_happens(docstring: &str) -> bool {
    static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:nothing|no-?op|hook|(?:intention|deliberate)\w*|on purpose|(?:in)?compatib\w+|deprecated|reserved|ignored|unused|not needed)\b")
            .ok()
    });
    WORDS.as_ref().is_some_and(|pattern| pattern.is_match(docstring)) || leaves_to_others(docstring)
}

/// What a class is made from, by the last part of each name; `class` is what stands behind that word.
fn made_from(class: &str) -> impl Iterator<Item = (bool, &str)> {
    let bases = class.split_once('(').map_or("", |(_, bases)| bases);
    let bases = bases.rsplit_once(')').map_or(bases, |(bases, _)| bases);
    bases.split(',').map(|base| {
        let base = base.split('[').next().unwrap_or(base);
        let (key, base) = base.split_once('=').map_or(("", base), |(key, base)| (key.trim(), base));
        (key == "metaclass", base.rsplit('.').next().unwrap_or(base).trim())
    })
}

/// Whether a class is one that others are to fill.
pub(super) fn is_abstract(class: &str) -> bool {
    made_from(class).any(|(is_meta, name)| match is_meta {
        true => name == "ABCMeta",
        false => matches!(name, "Protocol" | "ABC" | "Interface"),
    })
}

/// Whether a class fills one that is abstract, of which it may need not all.
pub(super) fn fills(class: &str) -> bool {
    made_from(class).any(|(is_meta, name)| !is_meta && is_abstract_name(name))
}

/// The body of a function: where its code begins and ends, with the comments below it.
struct Body {
    from: usize,
    to: usize,
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

impl File<'_> {
    /// Functions of Python with nothing in them.
    pub(super) fn python_bodies(&self) -> Vec<(usize, &'static str)> {
        static DEF: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r"(?m)^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*(?:\[[^\]\n]*\][ \t]*)?\(").ok()
        });
        let mut found = Vec::new();
        for one in DEF.iter().flat_map(|def| def.captures_iter(self.code)).take(MOST_FUNCTIONS) {
            let (Some(all), Some(own), Some(name)) = (one.get(0), one.get(1), one.get(2)) else { continue };
            if name.as_str().starts_with("__") || is_noop(name.as_str()) || found.len() >= MOST {
                continue;
            }
            let Some(colon) = self.signature_end(all.end()) else { continue };
            let Some(body) = self.body(colon, own.as_str().len()) else { continue };
            // What others' classes do of themselves is turned off by nothing: `log_message` of a server's handler.
            if ASKED_FOR.contains(&name.as_str()) && self.is_made_from_another(body.from) {
                continue;
            }
            if let Some(held) = self.idle(&body, colon)
                && !self.is_decorated(all.start(), own.as_str().len())
                && !self.is_for_others(body.from, true)
                && !self.outer(body.from).iter().any(|line| line.contains("TYPE_CHECKING"))
            {
                found.push(held);
            }
        }
        found
    }

    /// Behind the colon of a signature whose parenthesis has just been opened.
    fn signature_end(&self, from: usize) -> Option<usize> {
        let mut depth = 1_i32;
        for (at, byte) in self.code.bytes().enumerate().skip(from).take(LONGEST_SIGNATURE) {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                b':' if depth == 0 => return Some(at + 1),
                b'\n' if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The lines of a body up to the first that does something; none where one does.
    fn body(&self, colon: usize, own: usize) -> Option<Body> {
        let first = self.code[colon..].lines().next().unwrap_or_default();
        let on_its_line = !first.trim().is_empty();
        let mut at = colon;
        let mut from = None;
        let mut to = colon;
        let mut quotes = 0_usize;
        for (code, text) in self.code[colon..].split_inclusive('\n').zip(self.text[colon..].split_inclusive('\n')) {
            let within_string = !quotes.is_multiple_of(2);
            let is_own = at == colon || within_string || indent(text) > own;
            if !(text.trim().is_empty() || is_own) {
                break;
            }
            if !code.trim().is_empty() {
                from = from.or(Some(at + indent(code)));
                quotes += code.bytes().filter(|byte| matches!(byte, b'"' | b'\'')).count();
                if !is_idle(code) {
                    return None;
                }
            }
            at += code.len();
            if !text.trim().is_empty() {
                to = at;
            }
            if on_its_line && quotes.is_multiple_of(2) {
                break;
            }
        }
        Some(Body { from: from?, to })
    }

    /// What holds the place in a body of which each line does nothing, unless it says why.
    fn idle(&self, body: &Body, colon: usize) -> Option<(usize, &'static str)> {
        let code = &self.code[body.from..body.to];
        let mut quotes = code.match_indices(['"', '\'']).map(|(at, _)| body.from + at);
        let docstring = quotes.next().map(|begin| (begin, quotes.next().unwrap_or(body.to - 1)));
        let said = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        let (before, within, after) = match docstring {
            Some((begin, end)) => (said(colon, begin), said(begin, end), said(end, body.to)),
            None => ("", "", said(colon, body.to)),
        };
        let comments: String = [before, after].iter().flat_map(|part| part.lines()).filter_map(comment).collect();
        let says_why = !comments.trim().is_empty() || says_nothing_happens(within);
        if says_why && !puts_off(&comments) && !puts_off(within) {
            return None;
        }
        // A `None` is an answer, if somebody asks: a docstring may say so, and a class may be made from one that asks.
        if code.contains("return") && (docstring.is_some() || self.is_made_from_another(body.from)) {
            return None;
        }
        let statement = [code.rfind("pass"), code.rfind("..."), code.rfind("return")];
        let statement = statement.into_iter().max().flatten().map(|at| (body.from + at, "an empty body"));
        statement.or(docstring.map(|(begin, _)| (begin, "a docstring without a body")))
    }

    fn is_made_from_another(&self, at: usize) -> bool {
        let above = self.outer(at);
        let class = above.iter().find_map(|line| line.strip_prefix("class "));
        class.is_some_and(|class| made_from(class).any(|(_, name)| !matches!(name, "" | "object")))
    }

    /// Whether what is above a function makes something of it.
    fn is_decorated(&self, def: usize, own: usize) -> bool {
        let above = self.code[..def].lines().rev();
        let lines = above.take(20).take_while(|line| {
            !line.trim().is_empty() && (indent(line) > own || line.trim_start().starts_with(['@', ')']))
        });
        let mut names = lines.filter(|line| indent(line) == own).filter_map(|line| line.trim().strip_prefix('@'));
        names.any(|line| {
            let called = line.split('(').next().unwrap_or_default().trim();
            let name = called.rsplit('.').next().unwrap_or_default();
            name.starts_with("abstract") || DECORATORS.contains(&name)
        })
    }
}

fn comment(line: &str) -> Option<&str> {
    line.split_once('#').map(|(_, comment)| comment)
}

/// Whether a line of masked code is nothing but a string, `pass`, `...` or a `return` of nothing.
fn is_idle(code: &str) -> bool {
    static IDLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"^\s*return(?:\s+None)?\s*;?\s*$|^(?:\s|;|[rRuUbBfF]{0,2}"\s*"|[rRuUbBfF]{0,2}'\s*'|[rRuUbBfF]{0,2}["']|\bpass\b|\.\.\.)*$"#).ok()
    });
    IDLE.as_ref().is_some_and(|idle| idle.is_match(code))
}
