//! What a command said: passed on as it comes, counted, and its end kept.

use sha2::{Digest as _, Sha256};

use super::environ::Masks;
use super::search::Search;
use super::text;
use crate::ids::Digest;

/// So many bytes of what a command said are kept, from its end.
pub const LONGEST_TAIL: usize = 64 * 1024;

/// Takes everything that a command says, in bounded memory.
pub(crate) struct Output<'m> {
    masks: &'m Masks,
    hash: Sha256,
    bytes: u64,
    /// The end of it, and whether anything was before.
    kept: Vec<u8>,
    cut: bool,
    search: Option<Search<'m>>,
}

/// What is known of it in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) bytes: u64,
    pub(crate) digest: Digest,
    pub(crate) tail: String,
    /// Whether the tail is all of it.
    pub(crate) whole: bool,
    /// Whether any of it is what was looked for.
    pub(crate) said: Option<bool>,
}

impl<'m> Output<'m> {
    pub(crate) fn new(masks: &'m Masks, looked_for: Option<&str>) -> Self {
        let search = looked_for.map(|text| Search::new(masks, text));
        Self { masks, hash: Sha256::new(), bytes: 0, kept: Vec::new(), cut: false, search }
    }

    /// Twice what is kept in the end, because secrets, colours and broken characters shrink; and one secret more, which
    /// may be cut in two by the beginning.
    fn room(&self) -> usize {
        2 * LONGEST_TAIL + self.masks.longest()
    }

    pub(crate) fn take(&mut self, chunk: &[u8]) {
        self.hash.update(chunk);
        self.bytes += chunk.len() as u64;
        self.search.iter_mut().for_each(|search| search.take(chunk));
        self.kept.extend_from_slice(chunk);
        // Moved seldom, so that each byte is moved once on average.
        if self.kept.len() > 2 * self.room() {
            self.kept.drain(..self.kept.len() - self.room());
            self.cut = true;
        }
    }

    pub(crate) fn end(self) -> Said {
        let room = self.room();
        let from = self.kept.len().saturating_sub(room);
        let (kept, cut) = (&self.kept[from..], self.cut || from > 0);
        // The first bytes may be the end of a secret that can't be known any more.
        let hidden = self.masks.hide(kept, if cut { self.masks.longest() } else { 0 });
        let shown = text::block(&String::from_utf8_lossy(&hidden));
        // Taking colours out may have put a secret together.
        let shown = self.masks.hide_text(&shown);
        let tail = text::tail(&shown, LONGEST_TAIL);
        Said {
            bytes: self.bytes,
            digest: Digest::of_hash(self.hash),
            whole: !cut && tail.len() == shown.len(),
            tail: tail.to_owned(),
            said: self.search.map(Search::end),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn said(masks: &Masks, chunks: &[&[u8]]) -> Said {
        let mut output = Output::new(masks, None);
        chunks.iter().for_each(|chunk| output.take(chunk));
        output.end()
    }

    #[test]
    fn what_is_said_is_counted_and_kept() {
        let said = said(&Masks::default(), &[b"one\n", b"\x1b[31mtwo\x1b[0m\xff\n"]);
        assert_eq!((said.bytes, said.tail.as_str(), said.whole), (18, "one\ntwo\u{fffd}\n", true));
        assert_eq!(said.digest, Digest::of(b"one\n\x1b[31mtwo\x1b[0m\xff\n"), "of what was said, not of what is shown");
    }

    #[test]
    fn much_is_kept_from_its_end() {
        let lines: Vec<String> = (0..200_000).map(|n| format!("line {n}\n")).collect();
        let chunks: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        let said = said(&Masks::default(), &chunks);
        assert_eq!(said.digest, Digest::of(lines.concat()));
        assert!(!said.whole && said.tail.len() <= LONGEST_TAIL && said.tail.len() > LONGEST_TAIL - 20);
        assert!(said.tail.starts_with("line ") && said.tail.ends_with("line 199999\n"));
    }

    #[test]
    fn no_secret_is_left_in_the_tail_however_it_is_cut() {
        let masks = Masks::of([(OsString::from("A_TOKEN"), OsString::from("s3cr3t-value"))]);
        assert_eq!(said(&masks, &[b"a s3cr3t-", b"value b, s3c\x1b[0mr3t-value"]).tail, "a *** b, ***");
        // Nothing but secrets, which shrink to a quarter: the beginning of what was kept is seen.
        for lead in 0..12 {
            let text = format!("{}{}", "x".repeat(lead), "s3cr3t-value".repeat(40_000));
            let said = said(&masks, &[text.as_bytes()]);
            assert!(said.tail.bytes().all(|byte| byte == b'*') && !said.tail.is_empty(), "{lead}: {:.40}", said.tail);
        }
    }
}
