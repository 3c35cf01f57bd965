//! The tests of a file, one by one, with what stands at them: a name, a string, a comment inside or directly above.
//!
//! What is only near a test says nothing of it, and a test that is skipped whatever happens, or looks at nothing, shows nothing. A
//! table that a test is run with belongs to it.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::code::{Block, Language, Masked, blocks};

mod hollow;
mod tables;

/// More tests of a file than these are not looked at.
const MOST: usize = 5_000;
const MOST_BLOCKS: usize = 50_000;
const MOST_MACROS: usize = 10;
/// Longer than this is nothing that stands before a test's body.
const LONGEST_HEAD: usize = 4_000;
/// So many lines of a decorator are looked at.
const LONGEST_DECORATOR: usize = 50;
/// And so many conditions that never hold.
const MOST_NEVER: usize = 200;

/// A test, or what tests stand in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Case {
    from: usize,
    /// Where what is said of it ends: for a test with itself, for what tests stand in with its head.
    said: usize,
    to: usize,
    holds_others: bool,
    is_skipped: bool,
    /// Of a test, what it does.
    body: Option<(usize, usize)>,
}

/// What is said in and at the tests of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// Nothing where it has none that runs.
    pub(super) by_tests: Option<String>,
    /// By those that never run, or look at nothing.
    pub(super) in_vain: String,
}

pub(super) fn said(text: &str, language: Language) -> Told {
    let code = Masked::new(text, language).code;
    let file = File { text, code: &code, language, closes: closes(&code) };
    let mut all = match language {
        Language::Python => file.python(),
        Language::Ruby => file.ruby(),
        Language::JavaScript => file.calls(),
        Language::Go | Language::Php | Language::Swift | Language::Kotlin => [file.blocks(), file.calls()].concat(),
        _ => file.blocks(),
    };
    all.extend(file.marked(&all));
    let never_built = file.is_never_built();
    for case in &mut all {
        let hollow = case.body.is_some_and(|(from, to)| {
            let (code, text) = (code.get(from..to), text.get(from..to));
            hollow::is_one(code.unwrap_or_default(), text.unwrap_or_default(), language)
        });
        case.is_skipped |= never_built || hollow && !case.holds_others;
    }
    all.extend(file.never());
    all.sort_by_key(|case| case.from);
    let skipped: Vec<(usize, usize)> =
        all.iter().filter(|case| case.is_skipped).map(|case| (case.from, case.to)).collect();
    let ends = reach(&skipped);
    let is_alive = |case: &&Case| {
        let before = skipped.partition_point(|(from, _)| *from <= case.from);
        before == 0 || ends[before - 1] <= case.from
    };
    let alive: Vec<&Case> = all.iter().filter(is_alive).collect();
    let tests: Vec<usize> = alive.iter().filter(|case| !case.holds_others).map(|case| case.from).collect();
    let has_one = |case: &Case| {
        let first = tests.partition_point(|from| *from < case.from);
        tests.get(first).is_some_and(|from| *from < case.to)
    };
    let mut parts = String::new();
    let mut done = 0;
    for case in alive.iter().filter(|case| !case.holds_others || has_one(case)) {
        // What stands in another is said with it, but for what shows nothing.
        let mut from = case.from.max(done);
        let first = skipped.partition_point(|(begins, _)| *begins < from);
        for (begins, ends) in skipped[first..].iter().take_while(|(begins, _)| *begins < case.said) {
            parts.push_str(text.get(from..*begins).unwrap_or_default());
            parts.push('\n');
            from = from.max((*ends).min(case.said));
        }
        parts.push_str(text.get(from..case.said).unwrap_or_default());
        parts.push('\n');
        done = done.max(case.said);
    }
    let own: Vec<&Case> = alive.iter().copied().filter(|case| !case.holds_others).collect();
    parts.push_str(&file.tables(&own));
    let idle = skipped.iter().filter_map(|(from, to)| text.get(*from..*to));
    Told { by_tests: (!tests.is_empty()).then_some(parts), in_vain: idle.collect::<Vec<_>>().join("\n") }
}

/// Of each, how far it and all before it go.
fn reach(spans: &[(usize, usize)]) -> Vec<usize> {
    let mut most = 0;
    let further = |(_, to): &(usize, usize)| {
        most = most.max(*to);
        most
    };
    spans.iter().map(further).collect()
}

struct File<'t> {
    text: &'t str,
    code: &'t str,
    language: Language,
    /// Of each parenthesis and brace that is opened, where it is closed; in their order.
    closes: Vec<(usize, usize)>,
}

fn closes(code: &str) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let (mut round, mut curly) = (Vec::new(), Vec::new());
    for (at, byte) in code.bytes().enumerate() {
        let open = match byte {
            b'(' => {
                round.push(at);
                None
            }
            b'{' => {
                curly.push(at);
                None
            }
            b')' => round.pop(),
            b'}' => curly.pop(),
            _ => None,
        };
        all.extend(open.map(|open| (open, at + 1)));
    }
    all.sort_unstable();
    all
}

/// The beginning of something, which says what it is.
fn beginning(text: &str) -> &str {
    let end = (0..=text.len().min(LONGEST_HEAD)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    &text[..end]
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A pattern that is made once.
macro_rules! pattern {
    ($text:expr) => {{
        static MADE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
        MADE.as_ref()
    }};
}

fn fits(pattern: Option<&Regex>, text: &str) -> bool {
    pattern.is_some_and(|pattern| pattern.is_match(text))
}

impl File<'_> {
    fn line_start(&self, at: usize) -> usize {
        self.code[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        self.code[at..].find('\n').map_or(self.code.len(), |end| at + end + 1)
    }

    /// Where the comment lines begin that stand directly above a line.
    fn above(&self, at: usize) -> usize {
        let mut from = self.line_start(at);
        while from > 0 {
            let line = self.line_start(from - 1);
            let is_comment =
                self.code[line..from].trim().is_empty() && !self.text.get(line..from).unwrap_or("").trim().is_empty();
            if !is_comment {
                break;
            }
            from = line;
        }
        from
    }

    /// The same with the decorators of Python between it and the line.
    fn decorated(&self, at: usize) -> usize {
        let mut from = self.above(at);
        while from > 0 {
            let mut line = self.line_start(from - 1);
            let mut open = open_in(&self.code[line..from]);
            // A decorator of several lines ends with its parenthesis.
            for _ in 0..LONGEST_DECORATOR {
                if open >= 0 || line == 0 {
                    break;
                }
                line = self.line_start(line - 1);
                open += open_in(&self.code[line..self.line_end(line)]);
            }
            if open != 0 || !self.code[line..].trim_start_matches([' ', '\t']).starts_with('@') {
                break;
            }
            from = self.above(line);
        }
        from
    }

    /// Where what is indented below a line ends, with its comments.
    fn below(&self, head: usize, own: usize, closes: &[&str]) -> usize {
        let mut at = self.line_end(head);
        let mut to = at;
        while at < self.code.len() {
            let end = self.line_end(at);
            let (code, text) = (&self.code[at..end], self.text.get(at..end).unwrap_or_default());
            if !code.trim().is_empty() && indent(code) <= own {
                if code.trim_start().starts_with(')') {
                    to = end;
                } else {
                    let first = code.split_whitespace().next().unwrap_or_default();
                    return if indent(code) == own && closes.contains(&first) { end } else { to };
                }
            } else if !text.trim().is_empty() && (!code.trim().is_empty() || indent(text) > own) {
                to = end;
            }
            at = end;
        }
        to
    }

    fn python(&self) -> Vec<Case> {
        let head = pattern!(r"(?m)^([ \t]*)(?:(?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*[\[(]|class[ \t]+(\w+))");
        let module = pattern!(
            r"(?m)^(?:pytestmark[ \t]*=[ \t]*\[?[ \t]*(?:pytest\.)?mark\.skip(?:[ \t\r]*(?:\(|\]|,|$)|if[ \t]*\(\s*(?:True|1)\s*[,)])|pytest\.skip[ \t]*\(|raise[ \t]+(?:unittest\.)?SkipTest\b|__test__[ \t]*=[ \t]*False\b)"
        );
        // Under a condition that always holds it is under none.
        let skip = pattern!(
            r"(?m)^[ \t]*@(?:[\w.]+\.)?(?:skip[ \t\r]*(?:\(|$)|skip[iI]f[ \t]*\(\s*(?:True|1|not[ \t]+False)\s*[,)]|skipUnless[ \t]*\(\s*(?:False|0|None|not[ \t]+True)\s*[,)]|xfail[ \t]*\((?:[^()]*,)?\s*run[ \t]*=[ \t]*False)"
        );
        let own_mark = pattern!(r"(?m)^[ \t]+__test__[ \t]*=[ \t]*False\b");
        let mark = pattern!(r"(?m)^[ \t]*(\w+)\.__test__[ \t]*=[ \t]*False\b");
        let marked: BTreeSet<&str> = mark
            .iter()
            .flat_map(|mark| mark.captures_iter(self.code))
            .filter_map(|one| one.get(1).map(|name| name.as_str()))
            .collect();
        let inner = self.in_functions();
        // What it does stands in a file of its own: `@scenario("dim.feature", "AC-1")`.
        let elsewhere = pattern!(r"(?m)^[ \t]*@(?:[\w.]+\.)?scenarios?[ \t]*\(");
        let fixture = pattern!(r"(?m)^[ \t]*@(?:[\w.]+\.)?fixture\b");
        let first = pattern!(r"^(?:pytest\.skip[ \t]*\(|self\.skipTest[ \t]*\(|raise[ \t]+(?:[\w.]+\.)?SkipTest\b)");
        let all_skipped = fits(module, self.code);
        let mut all = Vec::new();
        for one in head.iter().flat_map(|head| head.captures_iter(self.code)).take(MOST) {
            let (Some(whole), Some(own)) = (one.get(0), one.get(1)) else { continue };
            let (from, to) = (self.decorated(whole.start()), self.below(whole.start(), own.len(), &[]));
            let decorators = &self.code[from..whole.start()];
            let holds_others = one.get(3).is_some();
            if !holds_others && (fits(fixture, decorators) || inner.contains(&whole.start())) {
                continue;
            }
            let name = one.get(2).or(one.get(3)).map_or("", |name| name.as_str());
            let body = self.code.get(whole.end()..to).unwrap_or_default();
            let body = behind_signature(body);
            // Behind the docstring.
            let statement = body.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
            let docstring = self.code.len().min(self.line_end(whole.end()));
            let said = if holds_others { docstring + self.docstring(docstring) } else { to };
            let own = self.code.get(whole.end()..to).unwrap_or_default();
            let is_skipped = all_skipped
                || fits(skip, decorators)
                || marked.contains(name)
                || !holds_others && fits(first, statement)
                || holds_others && fits(own_mark, own);
            let does = !holds_others && !body.is_empty() && !fits(elsewhere, decorators);
            let body = does.then(|| (to - body.len(), to));
            all.push(Case { from, said, to, holds_others, is_skipped, body });
        }
        all
    }

    /// The functions of Python called like tests that stand in another function, by where their lines begin. Nothing runs them but
    /// what they stand in. (In `describe_…` a plugin does.)
    fn in_functions(&self) -> BTreeSet<usize> {
        let def = pattern!(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)");
        let (mut all, mut open): (BTreeSet<usize>, Vec<(usize, bool)>) = (BTreeSet::new(), Vec::new());
        let mut at = 0;
        for line in self.code.split_inclusive('\n') {
            let begins = at;
            at += line.len();
            // The end of a list of parameters, or of a string, is no line of its own.
            if line.trim_start().is_empty() || line.trim_start().starts_with([')', ']', '}', '"', '\'']) {
                continue;
            }
            while open.last().is_some_and(|(own, _)| *own >= indent(line)) {
                open.pop();
            }
            let Some(name) = def.and_then(|def| def.captures(line)).and_then(|found| found.get(1)) else {
                if line.trim_start().starts_with("class ") {
                    open.push((indent(line), false));
                }
                continue;
            };
            if open.last().is_some_and(|(_, is_function)| *is_function) {
                all.insert(begins);
            }
            open.push((indent(line), !name.as_str().starts_with("describe")));
        }
        all
    }

    /// What stands under a condition that never holds.
    fn never(&self) -> Vec<Case> {
        let dead =
            |from: usize, to: usize| Case { from, said: from, to, holds_others: true, is_skipped: true, body: None };
        if self.language == Language::Python {
            let head = pattern!(r"(?m)^([ \t]*)(?:if|while)[ \t]+(?:False|0|(?:typing\.)?TYPE_CHECKING)[ \t]*:");
            let all = head.iter().flat_map(|head| head.captures_iter(self.code)).take(MOST_NEVER);
            let own = all.filter_map(|one| Some((one.get(0)?.start(), one.get(1)?.len())));
            return own.map(|(from, own)| dead(from, self.below(from, own, &[]))).collect();
        }
        let head = pattern!(r"\b(?:if|while)\s*(?:\(\s*(?:false|0)\s*\)|false)\s*\{");
        let found = head.iter().flat_map(|head| head.find_iter(self.code)).take(MOST_NEVER);
        let mut all: Vec<Case> = found.filter_map(|one| Some(dead(one.start(), self.close(one.end() - 1)?))).collect();
        if matches!(self.language, Language::CSharp | Language::Swift) {
            let head = pattern!(r"(?m)^[ \t]*#if[ \t]+(?:false|0)\b");
            let found = head.iter().flat_map(|head| head.find_iter(self.code)).take(MOST_NEVER);
            let end = |from: usize| self.code[from..].find("#e").map_or(self.code.len(), |end| from + end);
            all.extend(found.map(|one| dead(one.start(), end(one.end()))));
        }
        all
    }

    /// Whether the file says of itself that it is no part of any build.
    fn is_never_built(&self) -> bool {
        match self.language {
            Language::Rust => fits(pattern!(r"(?m)^#!\s*\[\s*cfg\s*\(\s*(?:any\s*\(\s*\)|false)\s*\)"), self.code),
            Language::Go => fits(
                pattern!(r"\A(?:[ \t]*(?://[^\n]*)?\n)*//(?:go:build|[ \t]*\+build)[ \t]+ignore[ \t]*\r?\n"),
                self.text,
            ),
            _ => false,
        }
    }

    /// How long the docstring is that begins on this line, if one does.
    fn docstring(&self, at: usize) -> usize {
        let rest = &self.code[at..];
        let begins = rest.trim_start();
        if !begins.starts_with(['"', '\'']) {
            return 0;
        }
        let quote = &begins[..1];
        let lead = rest.len() - begins.len();
        let close = begins[1..].find(quote).map_or(begins.len(), |close| close + 1);
        // The mask has one quote at each end of a string, however many there were.
        lead + close
    }

    fn ruby(&self) -> Vec<Case> {
        let head = pattern!(
            r"(?m)^([ \t]*)(?:def[ \t]+test_\w+|(x?(?:it|specify|scenario|example|test|should)|(?:skip|pending))\b[ \t]*(?:[({]|['\x22]|do\b)|(x?(?:describe|context|feature)|(?:RSpec\.)?(?:x?describe|feature)|class|module)\b[ \t(])"
        );
        let first = pattern!(r"^(?:skip|pending)\b[ \t]*(?:\(|['\x22]|$|\n)");
        let mut all = Vec::new();
        for one in head.iter().flat_map(|head| head.captures_iter(self.code)).take(MOST) {
            let (Some(whole), Some(own)) = (one.get(0), one.get(1)) else { continue };
            let end = self.line_end(whole.start());
            let line = self.code[whole.start()..end].trim();
            let name = one.get(2).or(one.get(3)).map_or("def", |name| name.as_str());
            let has_body = name == "def" || line.contains(" do") || line.contains('{');
            let to = if has_body { self.below(whole.start(), own.len(), &["end", "}"]) } else { end };
            let body = self.code.get(end..to).unwrap_or_default().trim_start();
            let holds_others = one.get(3).is_some();
            let is_skipped = name.starts_with('x')
                || matches!(name, "skip" | "pending")
                || !holds_others && (!has_body || fits(first, body))
                || line.contains("skip: true")
                || line.contains(":skip");
            let from = self.above(whole.start());
            let is_block = name == "def" && !line.contains(';') || line.ends_with(" do") || line.ends_with('|');
            let inside = self.code.get(end..to).unwrap_or_default().trim_end();
            let body = match self.code[whole.start()..end].find('{') {
                _ if holds_others => None,
                _ if is_block => inside.strip_suffix("end").map(|inside| (end, end + inside.len())),
                Some(open) if name != "def" => {
                    let open = whole.start() + open;
                    self.close(open).map(|close| (open + 1, close - 1))
                }
                _ => None,
            };
            all.push(Case { from, said: if holds_others { end } else { to }, to, holds_others, is_skipped, body });
        }
        all
    }

    /// Tests that are calls: `it('…', () => { … })`.
    fn calls(&self) -> Vec<Case> {
        let head = pattern!(
            r"(?m)(?:^|[^\w.$>])((?:(?:Deno|QUnit|t|tap|ava)\.)?(?:[fx]?(?:it|test|specify|scenario|describe|context)|suite|bench|It|Specify|Describe|DescribeTable|Context|When|[XP](?:It|Describe|Context)))((?:\.\w+)*)\s*(\(|`)"
        );
        let holder = pattern!(r"^(?:[fxXP]?(?:describe|context|Describe|Context)|suite|DescribeTable|When)$");
        let option = pattern!(r"\{[^{}]*\b(?:skip|todo)\s*:\s*(?:true\b|['\x22`])");
        let first = pattern!(
            r"^(?:(?:this|t|ctx|context|test|it)\.(?:skip|todo|fixme)|\$this->markTest(?:Skipped|Incomplete)|Skip)\s*\(\s*(?:\)|['\x22`])"
        );
        let mut all = Vec::new();
        for one in head.iter().flat_map(|head| head.captures_iter(self.code)).take(MOST) {
            let (Some(name), Some(more), Some(open)) = (one.get(1), one.get(2), one.get(3)) else { continue };
            let Some((begins, mut to)) = self.arguments(open.start()) else { continue };
            // What stands behind it in braces is its body too: `it("…") { … }`.
            let mut inside = &self.code[begins..to];
            let behind = self.code[to..].trim_start_matches([' ', ')']);
            if behind.starts_with('{') {
                let at = self.code.len() - behind.len();
                let end = self.close(at).unwrap_or(self.code.len());
                inside = &self.code[begins..end];
                to = end;
            }
            let (whole, inside) = (inside, beginning(inside));
            let own = name.as_str().rsplit('.').next().unwrap_or_default();
            let holds_others = fits(holder, own);
            let mut modifiers = more.as_str().split('.');
            // `test.skipIf(true)(…)`
            let under =
                self.close(open.start()).filter(|end| *end < begins).map(|end| self.code[open.end()..end - 1].trim());
            let never = matches!(
                (more.as_str().rsplit('.').next(), under),
                (Some("skipIf"), Some("true" | "1" | "!false" | "!0" | "!!1"))
                    | (Some("runIf" | "if"), Some("false" | "0" | "!true" | "!1" | "null" | "undefined"))
            );
            let body = inside.find("=>").or(inside.find("function")).or(inside.find("func")).or(inside.find('{'));
            let arguments = &inside[..body.unwrap_or(inside.len())];
            let statement = body.and_then(|at| inside[at..].split_once('{')).map_or("", |(_, body)| body.trim_start());
            let only_named = !inside.contains([',', '{']) && !inside.contains("=>");
            let is_skipped = never
                || own.starts_with(['x', 'X'])
                || own.starts_with('P') && own.len() > 1
                || modifiers.any(|word| matches!(word, "skip" | "todo" | "fixme"))
                || !holds_others && (only_named || fits(first, statement))
                || fits(option, arguments)
                || fits(option, inside.split("=>").next().unwrap_or_default());
            let from = self.above(name.start());
            let said = if holds_others { self.line_end(begins).min(to) } else { to };
            // What is longer than its beginning does something.
            let does = body.filter(|_| !holds_others && whole.len() == inside.len());
            let body = does.and_then(|at| self.done_by(begins + at, begins + whole.len()));
            all.push(Case { from, said, to, holds_others, is_skipped, body });
        }
        all
    }

    /// What a function does that begins here: between its braces, or behind its arrow.
    fn done_by(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        let code = self.code.get(from..to)?;
        if let Some(rest) = code.strip_prefix("=>")
            && !rest.trim_start().starts_with('{')
        {
            return Some((from + 2, to - usize::from(code.ends_with(')'))));
        }
        let open = from + code.find('{')?;
        let close = self.close(open).filter(|close| *close <= to)?;
        // `{ level -> … }` of Kotlin is a list of what it takes first.
        (!self.code[open..close].contains("->")).then_some((open + 1, close - 1))
    }

    /// Where the last list of arguments of a call begins and ends: `test.each([…])('…', …)` has two.
    fn arguments(&self, open: usize) -> Option<(usize, usize)> {
        let mut at = open;
        loop {
            let rest = &self.code[at..];
            let end = match rest.strip_prefix('`') {
                Some(table) => at + table.find('`')? + 2,
                None => self.close(at)?,
            };
            let next = self.code[end..].trim_start();
            if !next.starts_with(['(', '`']) {
                return Some((at + 1, end));
            }
            at = self.code.len() - next.len();
        }
    }

    /// Behind the sign that closes what is opened here.
    fn close(&self, open: usize) -> Option<usize> {
        let at = self.closes.binary_search_by_key(&open, |(open, _)| *open).ok()?;
        Some(self.closes[at].1)
    }

    /// Tests that are blocks: `#[test] fn dims() { … }`.
    fn blocks(&self) -> Vec<Case> {
        let all = blocks(self.code);
        let own = 0..all.len().min(MOST_BLOCKS);
        let own = own.filter(|at| !self.is_of_idle_macro(&all, *at));
        let own = own.filter_map(|at| self.block(&all[at], self.begin(&all, at)));
        let made = all.iter().filter_map(|block| self.maker(block)).take(MOST_MACROS).flat_map(|name| self.made(name));
        own.chain(made).collect()
    }

    /// Whether a block stands in a macro of Rust that nothing here calls, and that nothing elsewhere can.
    fn is_of_idle_macro(&self, all: &[Block], at: usize) -> bool {
        let mut above = all[at].parent.filter(|_| self.language == Language::Rust);
        for _ in 0..MOST_MACROS {
            let Some(block) = above.map(|above| &all[above]) else { return false };
            if let Some((before, name)) = block.header.rsplit_once("macro_rules!") {
                let name = name.trim();
                let shared = before.contains("macro_export") || self.code.contains(&format!("use {name}"));
                return !shared && !before.contains("macro_use") && self.made(name).is_empty();
            }
            above = block.parent;
        }
        false
    }

    /// The name of a macro of Rust that makes tests.
    fn maker(&self, block: &Block) -> Option<&str> {
        let header = self.code.get(block.begins..block.from - 1).filter(|_| self.language == Language::Rust)?;
        let name = header.rsplit_once("macro_rules!")?.1.trim();
        self.code[block.from..block.to].contains("#[test]").then_some(name).filter(|name| !name.is_empty())
    }

    /// The tests that it makes.
    fn made(&self, name: &str) -> Vec<Case> {
        let calls = self
            .code
            .match_indices(name)
            .filter(|(at, _)| !self.code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        let case = |(at, _): (usize, &str)| {
            let rest = self.code[at + name.len()..].strip_prefix('!')?.trim_start();
            let to = self.close(self.code.len() - rest.len())?;
            Some(Case { from: self.above(at), said: to, to, holds_others: false, is_skipped: false, body: None })
        };
        calls.take(MOST).filter_map(case).collect()
    }

    /// Where what stands before a block begins. A list in braces among it, `@ValueSource(ints = {1, 2})`, is a part of it.
    fn begin(&self, all: &[Block], at: usize) -> usize {
        let mut own = at;
        for before in (at.saturating_sub(LONGEST_DECORATOR)..at).rev() {
            if !self.code[all[own].begins..].starts_with(')') {
                break;
            }
            if all[before].parent == all[at].parent {
                own = before;
            }
        }
        all[own].begins
    }

    fn block(&self, block: &Block, begins: usize) -> Option<Case> {
        let header = self.code.get(begins..block.from - 1).unwrap_or_default().trim();
        if open_in(header) > 0 {
            return None;
        }
        let is_test = match self.language {
            Language::Rust => fits(
                pattern!(
                    r"#\s*\[\s*(?:\w+\s*::\s*)*(?:\w*test\w*|bench|quickcheck|case)\b|\b\w*(?:test|prop|case)\w*!\s*$"
                ),
                header,
            ),
            Language::Go => fits(
                pattern!(
                    r"\bfunc\s*(?:\([^)]*\)\s*)?(?:Test(?:[^a-zM]|M[^a]|Ma[^i])\w*|Test|(?:Fuzz|Benchmark|Example)\w*)\s*\("
                ),
                header,
            ),
            Language::Java | Language::Kotlin => fits(
                pattern!(
                    r#"@(?:\w+\.)*(?:\w*Test(?:Factory|Template)?|Property|Example|Scenario)\b|\b(?:void|fun)\s+test\w*\s*\(|^"\s*"(?:\.config\(.*\))?$|\b(?:should|expect|then|Then|given|Given)\s*\(\s*""#
                ),
                header,
            ),
            Language::CSharp => fits(pattern!(CSHARP), header),
            Language::Php => {
                let above = self.text.get(self.above(begins)..begins).unwrap_or_default();
                fits(pattern!(r"\bfunction\s+test\w*\s*\(|#\[\s*(?:[\w\\]+\\)?Test\b"), header)
                    || above.contains("@test") && header.contains("function")
            }
            Language::Swift => fits(pattern!(r"\bfunc\s+test\w*\s*\(|@Test\b"), header),
            _ => false,
        };
        let is_type = fits(
            pattern!(r"\b(?:class|object|struct|record|namespace|mod|impl|extension|interface|enum|suite)\b"),
            header,
        ) && !fits(pattern!(r"\b(?:fn|fun|func|function|void)\b"), header);
        if !is_test && !is_type {
            return None;
        }
        let skip = match self.language {
            Language::Rust => pattern!(
                r"#\s*\[\s*(?:ignore\b|cfg\s*\(\s*(?:any\s*\(\s*\)|false|not\s*\(\s*(?:all\s*\(\s*\)|true)\s*\))\s*\)|cfg_attr\s*\(\s*(?:all\s*\(\s*\)|true|not\s*\(\s*(?:any\s*\(\s*\)|false)\s*\))\s*,[^\]]*\bignore\b)"
            ),
            Language::CSharp => pattern!(r"\bSkip\s*=|\[\s*(?:Ignore|Explicit)\b"),
            Language::Swift => pattern!(r"\.disabled\s*\("),
            _ => pattern!(r"@(?:\w+\.)*(?:Disabled|Ignore)\b"),
        };
        let first = pattern!(
            r"^(?:\w+\.Skip(?:Now|f)?\s*\(|\$this->markTest(?:Skipped|Incomplete)\s*\(|throw\s+XCTSkip\b|Assert\.(?:Ignore|Inconclusive|Skip)\s*\()"
        );
        let body = self.code[block.from..block.to].trim_start();
        let to = (block.to + 1).min(self.code.len());
        let is_skipped = fits(skip, header) || is_test && !is_type && fits(first, body);
        let said = if is_type { block.from } else { to };
        // What stands in the argument of an attribute is no body: `#[test_case(json!({}))]`. And an application that starts is the
        // test there.
        let follows = header.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | '>' | '_' | '`' | '"' | '?'));
        let of_function = self.language != Language::Rust || fits(pattern!(r"\bfn\s+\$?\w+[^;]*$"), header);
        let does =
            !is_type && follows && of_function && !header.contains("contextLoads") && !header.contains("#[template]");
        let body = does.then_some((block.from, block.to));
        Some(Case { from: self.above(begins), said, to, holds_others: is_type, is_skipped, body })
    }

    /// Tests that are marked and have no block of their own: `@Test fun dims() = assertEquals(2, dim(3))`.
    fn marked(&self, known: &[Case]) -> Vec<Case> {
        let mark = match self.language {
            Language::CSharp => pattern!(CSHARP),
            Language::Java | Language::Kotlin => pattern!(r"@(?:\w+\.)*\w*Test\b"),
            Language::JavaScript => pattern!(r"(?m)^\s*@(?:test|Test)\b"),
            _ => None,
        };
        let mut spans: Vec<(usize, usize)> =
            known.iter().filter(|case| !case.holds_others).map(|case| (case.from, case.to)).collect();
        spans.sort_unstable();
        let ends = reach(&spans);
        let is_known = |at: usize| {
            let before = spans.partition_point(|(from, _)| *from <= at);
            before > 0 && ends[before - 1] > at
        };
        let found = mark.into_iter().flat_map(|mark| mark.find_iter(self.code)).take(MOST);
        let new = found.filter(|one| !is_known(one.start())).map(|one| {
            let mut from = self.above(one.start());
            // Other marks may stand above it.
            for _ in 0..LONGEST_DECORATOR {
                let line = self.line_start(from.saturating_sub(1));
                if from == 0 || !self.code[line..from].trim_start().starts_with(['@', '[']) {
                    break;
                }
                from = self.above(line);
            }
            let rest = beginning(&self.code[one.start()..]);
            let to = one.start() + rest.find("\n\n").unwrap_or(rest.len());
            let skip = pattern!(r"@(?:\w+\.)*(?:Disabled|Ignore)\b|\bSkip\s*=");
            let is_skipped = fits(skip, &self.code[from..to]);
            Case { from, said: to, to, holds_others: false, is_skipped, body: None }
        });
        new.collect()
    }
}

const CSHARP: &str =
    r"\[\s*(?:\w+\.)*(?:Fact|Theory|Test|TestMethod|TestCase|TestCaseSource|DataTestMethod|Property|Scenario)\b";

/// What comes behind the colon of a signature of Python whose parenthesis has just been opened.
fn behind_signature(code: &str) -> &str {
    let mut depth = 1_i32;
    for (at, byte) in code.bytes().enumerate().take(LONGEST_HEAD) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b':' if depth == 0 => return &code[at + 1..],
            _ => {}
        }
    }
    ""
}

/// How many more parentheses are opened than closed.
fn open_in(code: &str) -> i32 {
    let count = |c: char| i32::try_from(code.matches(c).count()).unwrap_or(i32::MAX / 2);
    count('(') - count(')')
}

#[cfg(test)]
mod tests;
