//! The block of a Markdown file that has the verdict: fenced, or the front matter.

/// A block and the line that its text begins on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block<'t> {
    pub(super) text: &'t str,
    pub(super) line: u32,
    pub(super) json: bool,
}

/// The blocks that speak of an outcome. What stands in an HTML comment is seen by nobody, and is none.
pub(super) fn verdicts(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut lines = Lines { text, at: 0, line: 0 };
    let mut first = true;
    while let Some((_, raw)) = lines.next() {
        let bare = raw.trim();
        if first && bare == "---" {
            first = false;
            let begin = lines.at;
            let line = lines.line + 1;
            let Some(end) = lines.until(|raw| matches!(raw.trim_end(), "---" | "...")) else {
                // Nothing closes it, so it was a line across the page.
                lines = Lines { text, at: begin, line: line - 1 };
                continue;
            };
            found.push(Block { text: text.get(begin..end).unwrap_or_default(), line, json: false });
            continue;
        }
        first = first && bare.is_empty();
        if let Some(behind) = bare.strip_prefix("<!--") {
            if !behind.contains("-->") {
                let _ = lines.until(|raw| raw.contains("-->"));
            }
            continue;
        }
        let Some((mark, length, info)) = fence(bare) else { continue };
        let (begin, line) = (lines.at, lines.line + 1);
        let closes = |raw: &str| {
            let bare = raw.trim();
            bare.len() >= length && bare.chars().all(|c| c == mark)
        };
        let end = lines.until(closes).unwrap_or(text.len());
        let language = info.split([' ', '{', ',']).next().unwrap_or_default().to_ascii_lowercase();
        if matches!(language.as_str(), "" | "yaml" | "yml" | "json") {
            found.push(Block { text: text.get(begin..end).unwrap_or_default(), line, json: language == "json" });
        }
    }
    found.retain(|block| speaks_of_an_outcome(block.text));
    found
}

/// The sign, the length and what is said behind it.
fn fence(bare: &str) -> Option<(char, usize, &str)> {
    let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = bare.trim_start_matches(mark);
    let length = bare.len() - info.len();
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length, info.trim()))
}

/// Whether there is a key `outcome`, however it is written.
fn speaks_of_an_outcome(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.match_indices("outcome").any(|(at, word)| {
        let before = lower.get(..at).unwrap_or_default().trim_end_matches(['"', '\'']);
        let begins = before.is_empty() || before.ends_with(['\n', ' ', '\t', '{', ',']);
        let rest = lower.get(at + word.len()..).unwrap_or_default().trim_start_matches(['"', '\'']);
        begins && rest.trim_start_matches([' ', '\t']).starts_with(':')
    })
}

struct Lines<'t> {
    text: &'t str,
    /// Where the next line begins.
    at: usize,
    /// The number of the line that was read last.
    line: u32,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<(usize, &'t str)> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at;
        let line = rest.split('\n').next().unwrap_or_default();
        self.at = (start + line.len() + 1).min(self.text.len());
        self.line += 1;
        Some((start, line))
    }

    /// Goes on behind the line that this is true of, and tells where that begins.
    fn until(&mut self, is: impl Fn(&str) -> bool) -> Option<usize> {
        while let Some((start, raw)) = self.next() {
            if is(raw) {
                return Some(start);
            }
        }
        None
    }
}
