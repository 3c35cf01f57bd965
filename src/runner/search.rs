//! Looks for a text in everything that a command says, as it comes and in bounded memory.

use std::collections::VecDeque;

use super::environ::Masks;
use super::proofs::has_between_words;
use super::text;

/// A line is looked at in pieces that are no longer.
const PIECE: usize = 256 * 1024;
/// So near to where a line was cut, what stands beside a word is not known.
const EDGE: usize = 16;

pub(crate) struct Search<'m> {
    masks: &'m Masks,
    /// The lines of what is looked for.
    wanted: Vec<String>,
    /// The line that is being said, and whether its beginning was let go.
    line: Vec<u8>,
    cut: bool,
    after_return: bool,
    /// The last lines, as many as are looked for; none for one that is too long to be any of them.
    last: VecDeque<Option<String>>,
    found: bool,
}

impl<'m> Search<'m> {
    pub(crate) fn new(masks: &'m Masks, text: &str) -> Self {
        let wanted: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        let found = wanted.is_empty();
        let (line, last) = (Vec::new(), VecDeque::new());
        Self { masks, wanted, line, cut: false, after_return: false, last, found }
    }

    pub(crate) fn take(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while !self.found && !rest.is_empty() {
            if self.after_return && rest[0] == b'\n' {
                rest = &rest[1..];
            }
            self.after_return = false;
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (piece, more) = rest.split_at(end.unwrap_or(rest.len()));
            for piece in piece.chunks(PIECE) {
                self.line.extend_from_slice(piece);
                if self.line.len() > PIECE {
                    self.shorten();
                }
            }
            if let Some((ended, more)) = more.split_first() {
                self.after_return = *ended == b'\r';
                self.ended();
                rest = more;
            } else {
                rest = more;
            }
        }
    }

    pub(crate) fn end(mut self) -> bool {
        if !self.found && (self.cut || !self.line.is_empty()) {
            self.ended();
        }
        self.found
    }

    /// As it is kept of an output.
    fn shown(&self) -> String {
        self.masks.hide_text(&text::block(&String::from_utf8_lossy(&self.line)))
    }

    /// Looks at a line that is not at its end, and lets go of its beginning.
    fn shorten(&mut self) {
        if let [one] = &self.wanted[..] {
            let shown = self.shown();
            let from = if self.cut { EDGE } else { 0 };
            let to = shown.len().saturating_sub(EDGE).max(from);
            self.found |= has_between_words(&shown, one.trim(), from..to);
        }
        let longest = self.wanted.iter().map(String::len).max().unwrap_or_default();
        // Colours may stand between, and secrets shrink.
        let kept = (8 * longest + self.masks.longest() + 64 * EDGE).min(self.line.len());
        self.line.drain(..self.line.len() - kept);
        self.cut = true;
    }

    fn ended(&mut self) {
        let shown = self.shown();
        match &self.wanted[..] {
            [one] => {
                let from = if self.cut { EDGE.min(shown.len()) } else { 0 };
                self.found |= has_between_words(&shown, one.trim(), from..shown.len());
            }
            several => {
                if self.last.len() == several.len() {
                    self.last.pop_front();
                }
                self.last.push_back((!self.cut).then(|| shown.trim_end().to_owned()));
                self.found |= self.last.len() == several.len()
                    && self.last.iter().zip(several).all(|(said, wanted)| said.as_ref() == Some(wanted));
            }
        }
        self.line.clear();
        self.cut = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, chunks: &[&[u8]]) -> bool {
        let masks = Masks::default();
        let mut search = Search::new(&masks, text);
        chunks.iter().for_each(|chunk| search.take(chunk));
        search.end()
    }

    #[test]
    fn what_is_said_at_any_time_is_found() {
        let much = "a line of no interest\n".repeat(20_000);
        let first = format!("level 2\n{much}");
        assert!(has("2", &[first.as_bytes()]) && has("level 2", &[b"lev", b"el 2", b"\n", much.as_bytes()]));
        assert!(has("2", &[much.as_bytes(), b"2"]) && has("a\nb", &[b"x\r\na \r\nb\r\n", much.as_bytes()]));
        assert!(!has("2", &[b"12\n2", b"5\n", much.as_bytes()]) && !has("a\nb", &[b"a\nx\nb\n"]));
        assert!(has("", &[b"x"]) && has("red", &[b"\x1b[31mr\x1b[0med\n"]));
    }

    #[test]
    fn a_line_without_an_end_is_looked_at_in_pieces() {
        for before in [PIECE - 4, PIECE, 2 * PIECE + 7] {
            let long = |text: &str| format!("{} {text} {}", "x".repeat(before), "y".repeat(PIECE));
            for size in [PIECE / 4, 10 * PIECE] {
                let in_chunks = |text: &str, wanted: &str| {
                    let line = long(text);
                    has(wanted, &line.as_bytes().chunks(size).collect::<Vec<_>>())
                };
                assert!(in_chunks("level 2", "level 2"), "{before} {size}");
                assert!(!in_chunks("level 25", "level 2") && !in_chunks("1level 2", "level 2"), "{before} {size}");
            }
        }
        let line = format!("a\n{}b\n", "x".repeat(PIECE + 1));
        assert!(!has("a\nb", &[line.as_bytes()]), "the end of a long line is no line");
    }

    #[test]
    fn a_secret_is_not_found_out() {
        let masks = Masks::of([(std::ffi::OsString::from("A_TOKEN"), std::ffi::OsString::from("s3cr3t-value"))]);
        let mut search = Search::new(&masks, "s3cr3t-value");
        search.take(b"a s3cr3t-value b\n");
        assert!(!search.end());
    }
}
