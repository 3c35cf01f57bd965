//! The examples in a docstring, as the `doctest` module takes them out of it.

use super::Walk;
use crate::guard::inline::Sort;
use crate::guard::inline::found::{Beyond, Draft, Uses};
use crate::guard::inline::nodes::{At, Nodes, Token};
use crate::guard::inline::print::Print;
use crate::guard::parse::Language;
use crate::ids::Digest;

impl<'t> Walk<'_, 't> {
    /// The examples in the docstring that a body begins with.
    pub(super) fn examples(&mut self, body: At, of: &str) {
        let nodes = self.nodes;
        let first = nodes.children(body).find(|child| !nodes.is_comment(*child));
        let Some(first) = first.filter(|first| nodes.kind(*first) == "expression_statement") else { return };
        let Some(text) = nodes.children(first).next() else { return };
        if !matches!(nodes.kind(text), "string" | "concatenated_string") || !nodes.text(text).contains(">>>") {
            return;
        }
        // One that is made when the program runs, or of bytes, documents nothing.
        let literals = nodes.children(text).filter(|child| nodes.kind(*child) == "string").chain([text]);
        let mut heads = literals.map(|at| head(nodes.text(at)));
        if heads.any(|head| head.contains(['f', 'F', 'b', 'B', 't', 'T'])) {
            return;
        }
        let raw = head(nodes.text(text)).contains(['r', 'R']);
        let inner = self.top().inner;
        let under = self.top().under;
        let blank = |row: &&str| row.trim().is_empty() || row.trim_start().starts_with('#');
        for example in split(nodes.text(text), nodes.start(text)) {
            // A prompt alone is no example.
            if example.source.iter().all(blank) {
                continue;
            }
            let mut print = Print::default();
            print.word(under.as_ref().map_or("", Digest::as_str));
            let meant = |row: &&str| if raw { (*row).to_owned() } else { unescaped(row) };
            let source: Vec<String> = example.source.iter().map(|row| meant(&row.trim_end())).collect();
            print_source(&mut print, &source);
            print.part();
            example.wants.iter().for_each(|row| print.word(&meant(&row.trim_end())));
            let words: Vec<Token<'t>> = example.source.iter().flat_map(|row| words(row)).collect();
            let skipped = inner || example.source.iter().any(|row| row.contains("doctest:") && row.contains("+SKIP"));
            self.found.0.push(Draft {
                name: format!("doc of {of}"),
                scope: format!("doc of {of}"),
                digest: print.digest(),
                line: nodes.line_of(example.start),
                bytes: example.start..example.end,
                skipped,
                sort: Sort::Doc,
                defines: defines(&words),
                beyond: Beyond::default(),
                uses: Uses::of(&words),
            });
        }
    }
}

struct Example<'t> {
    start: usize,
    end: usize,
    source: Vec<&'t str>,
    wants: Vec<&'t str>,
}

/// The letters before a literal's quotes.
fn head(literal: &str) -> &str {
    literal.get(..literal.find(['"', '\'']).unwrap_or(0)).unwrap_or_default()
}

/// A row without the escapes that stand for one sign each. A backslash before anything else is a backslash.
fn unescaped(row: &str) -> String {
    let mut found = String::with_capacity(row.len());
    let mut chars = row.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.next_if(|next| c == '\\' && matches!(next, '\\' | '"' | '\'' | 'n' | 't'));
        found.push(match next {
            Some('n') => '\n',
            Some('t') => '\t',
            Some(mark) => mark,
            None => c,
        });
    }
    found
}

/// The words of an example's source, and what its comments say to `doctest`.
fn print_source(print: &mut Print, source: &[String]) {
    let text = source.join("\n") + "\n";
    match Nodes::read(Language::Python, &text) {
        Ok(nodes) if nodes.mistake().is_none() => {
            print.tokens(&nodes.tokens(0));
            for row in source {
                let told =
                    row.rsplit_once('#').map(|(_, told)| told.trim()).filter(|told| told.starts_with("doctest:"));
                told.into_iter().for_each(|told| print.word(told));
            }
        }
        _ => source.iter().for_each(|row| print.word(row)),
    }
}

/// What comes behind a prompt in a row.
fn behind<'t>(row: &'t str, prompt: &str) -> Option<&'t str> {
    let rest = row.trim_start().strip_prefix(prompt)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix([' ', '\t']) }
}

fn split(literal: &str, at: usize) -> Vec<Example<'_>> {
    let head = literal.len() - literal.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
    let quote = if literal.get(head..).is_some_and(|text| text.starts_with("\"\"\"") || text.starts_with("'''")) {
        3
    } else {
        1
    };
    let (from, to) = (head + quote, literal.len().saturating_sub(quote));
    let text = literal.get(from..to.max(from)).unwrap_or_default();
    let mut found: Vec<Example<'_>> = Vec::new();
    let mut reached = at + from;
    // What the rows that come next are: more of the source, what is expected, or neither.
    let (mut in_source, mut in_wants) = (false, false);
    for row in text.split('\n') {
        let (start, end) = (reached, reached + row.len());
        reached = end + 1;
        let bare = row.trim_end_matches('\r');
        if let Some(source) = behind(bare.trim_end(), ">>>") {
            let start = start + (bare.len() - bare.trim_start().len());
            found.push(Example { start, end, source: vec![source], wants: Vec::new() });
            (in_source, in_wants) = (true, false);
            continue;
        }
        let Some(last) = found.last_mut() else { continue };
        if let Some(more) = behind(bare.trim_end(), "...").filter(|_| in_source) {
            last.source.push(more);
            last.end = end;
        } else if bare.trim().is_empty() {
            (in_source, in_wants) = (false, false);
        } else if in_source || in_wants {
            last.wants.push(bare.trim_start());
            last.end = end;
            (in_source, in_wants) = (false, true);
        }
    }
    found
}

/// The words of a row, roughly: names, and everything else sign by sign.
fn words(row: &str) -> Vec<Token<'_>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = row.split('#').next().unwrap_or_default().trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_name(first) { rest.find(|c| !is_name(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (text, more) = rest.split_at(length);
        found.push(Token::Word { text, inside: 0 });
        rest = more.trim_start();
    }
    found
}

/// The names that an example gives a meaning to.
fn defines(words: &[Token<'_>]) -> Vec<String> {
    let words: Vec<&str> = words.iter().filter_map(|token| crate::guard::inline::attr::word(*token)).collect();
    let is_name = |word: &&&str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let owned = |names: &[&str]| names.iter().filter(is_name).map(|name| (*name).to_owned()).collect();
    match words.as_slice() {
        ["def" | "class", name, ..] => vec![(*name).to_owned()],
        all if all.iter().any(|word| super::bindings::INDIRECT.contains(word)) => owned(all),
        ["async", "def", name, ..] => vec![(*name).to_owned()],
        ["for", rest @ ..] | ["async", "for", rest @ ..] => {
            owned(rest.split(|word| *word == "in").next().unwrap_or_default())
        }
        ["with", ..] | ["try", ..] => {
            let pairs = words.windows(2).filter(|pair| matches!(pair, ["as", _]));
            owned(&pairs.filter_map(|pair| pair.last().copied()).collect::<Vec<_>>())
        }
        ["del" | "type", rest @ ..] => owned(rest.split(|word| *word == "=").next().unwrap_or_default()),
        all if all.windows(3).any(|three| matches!(three, [_, ":", "="])) => {
            let named = all.windows(3).filter(|three| matches!(three, [_, ":", "="]));
            owned(&named.filter_map(|three| three.first().copied()).collect::<Vec<_>>())
        }
        ["import", names @ ..] => owned(names),
        ["from", rest @ ..] => {
            let import = rest.iter().position(|word| *word == "import").unwrap_or(rest.len());
            owned(rest.get(import..).unwrap_or_default())
        }
        all => {
            let mut depth = 0_i32;
            let equals = all.iter().position(|word| {
                depth += match *word {
                    "(" | "[" | "{" => 1,
                    ")" | "]" | "}" => -1,
                    _ => 0,
                };
                *word == "=" && depth == 0
            });
            let equals = equals.filter(|at| all.get(at + 1) != Some(&"="));
            let left = equals.and_then(|at| all.get(..at)).unwrap_or_default();
            let plain = left.iter().all(|word| is_name(&word) || matches!(*word, "," | "(" | ")" | "*"));
            if plain { owned(left) } else { Vec::new() }
        }
    }
}
