//! Tables that tests are run with: what stands in a row is said of a test.

use std::sync::LazyLock;

use regex::Regex;

use super::super::code::Language;
use super::{Case, File, fits, reach};

/// So many tables of a file are looked at, and so much of each.
const MOST: usize = 20;
const LONGEST: usize = 100_000;

impl File<'_> {
    /// The strings of the tables that one of these tests uses: `CASES = [("AC-1", 4, 2)]` below `parametrize(…, CASES)`. A comment
    /// in a table is no row, and a row that is skipped is none either.
    pub(super) fn tables(&self, tests: &[&Case]) -> String {
        let mut said = String::new();
        let mut spans: Vec<(usize, usize)> = tests.iter().map(|case| (case.from, case.to)).collect();
        spans.sort_unstable();
        let ends = reach(&spans);
        let within = |at: usize| {
            let before = spans.partition_point(|(from, _)| *from <= at);
            before > 0 && ends[before - 1] > at
        };
        let holds = |from: usize, to: usize| {
            let first = spans.partition_point(|(begins, _)| *begins < from);
            spans.get(first).is_some_and(|(begins, _)| *begins < to)
        };
        let all = definition(self.language).into_iter().flat_map(|pattern| pattern.captures_iter(self.code));
        let named = all.filter_map(|one| Some((one.get(1)?, one.get(0)?.end() - 1)));
        for (name, open) in named.filter(|(name, _)| !within(name.start())).take(MOST) {
            let to = self.bracketed(open);
            if self.is_used(name.as_str(), open..to, &within, &holds) {
                said.push_str(&self.strings(open, to));
                said.push('\n');
            }
        }
        said
    }

    /// Where the brackets end that begin here, with those that follow at once: `[]struct{ … }{ … }`.
    fn bracketed(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        let bytes = self.code.as_bytes();
        for (at, byte) in bytes.iter().enumerate().skip(open).take(LONGEST) {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    let goes_on = self.language == Language::Go
                        && self
                            .code
                            .get(at + 1..)
                            .is_some_and(|rest| !rest.trim_start_matches(' ').starts_with(['\n', '\r']));
                    if depth == 0 && !goes_on {
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        (open + LONGEST).min(self.code.len())
    }

    /// Whether a test has the name in it, or stands in a loop over it.
    fn is_used(
        &self,
        name: &str,
        own: std::ops::Range<usize>,
        within: &dyn Fn(usize) -> bool,
        holds: &dyn Fn(usize, usize) -> bool,
    ) -> bool {
        let part_of_a_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        self.code.match_indices(name).filter(|(at, _)| !own.contains(at)).any(|(at, _)| {
            let (before, after) = (&self.code[..at], &self.code[at + name.len()..]);
            if before.ends_with(part_of_a_name) || before.ends_with('.') || after.starts_with(part_of_a_name) {
                return false;
            }
            if within(at) {
                return true;
            }
            let is_loop = before.trim_end().ends_with(" of") || before.trim_end().ends_with(" in");
            let open = if is_loop {
                after.find('{').filter(|open| after[..*open].trim() == ")").map(|open| at + name.len() + open)
            } else {
                [".forEach(", ".map("]
                    .iter()
                    .find(|call| after.starts_with(**call))
                    .map(|call| at + name.len() + call.len() - 1)
            };
            open.and_then(|open| Some((open, self.close(open)?))).is_some_and(|(from, to)| holds(from, to))
        })
    }

    /// What stands in strings, line by line.
    fn strings(&self, from: usize, to: usize) -> String {
        static SKIPS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b(?:skip|xfail|todo)\b").ok());
        let mut said = Vec::new();
        let mut quote = None;
        let mut at = from;
        for line in self.code[from..to].split_inclusive('\n') {
            let skipped = fits(SKIPS.as_ref(), line);
            for (own, byte) in line.bytes().enumerate() {
                match quote {
                    Some(open) if byte == open => {
                        quote = None;
                        said.push(b' ');
                    }
                    Some(_) if !skipped => said.extend(self.text.as_bytes().get(at + own)),
                    None if b"\"'`".contains(&byte) => quote = Some(byte),
                    _ => {}
                }
            }
            at += line.len();
            said.push(b'\n');
        }
        String::from_utf8_lossy(&said).into_owned()
    }
}

/// How a table begins that does not stand in a test, up to its first bracket.
fn definition(language: Language) -> Option<&'static Regex> {
    macro_rules! pattern {
        ($text:expr) => {{
            static MADE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
            MADE.as_ref()
        }};
    }
    match language {
        Language::Python => pattern!(r"(?m)^[ \t]*([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=[ \t]*[\[({]"),
        Language::JavaScript => {
            pattern!(r"(?m)^[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+([\w$]+)[^=\n]*=[ \t]*[\[{]")
        }
        Language::Rust => {
            pattern!(r"(?m)^[ \t]*(?:pub[ \t]+)?(?:const|static)[ \t]+(\w+)[ \t]*:[^=]*=\s*&?[\[(]")
        }
        Language::Go => pattern!(r"(?m)^var[ \t]+(\w+)[ \t]*=[ \t]*(?:\[|map\[)"),
        _ => None,
    }
}
