//! The digest of words.

use sha2::{Digest as _, Sha256};

use super::nodes::Token;

/// What things are named by: a hash of words, each with its length before it, so that no two rows of them run together.
#[derive(Default)]
pub(super) struct Print(Sha256);

impl Print {
    pub(super) fn word(&mut self, text: &str) {
        // The ends of lines are not the author's: git and editors make one of the other.
        if text.contains('\r') {
            self.put(1, &text.replace("\r\n", "\n"));
        } else {
            self.put(1, text);
        }
    }

    fn put(&mut self, class: u8, text: &str) {
        self.0.update([class]);
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text);
    }

    pub(super) fn tokens(&mut self, tokens: &[Token<'_>]) {
        for token in tokens {
            match token {
                Token::Word { text, .. } => self.word(text),
                Token::Open => self.put(2, ""),
                Token::Close => self.put(3, ""),
            }
        }
    }

    /// The end of one part.
    pub(super) fn part(&mut self) {
        self.put(4, "");
    }

    pub(super) fn digest(self) -> crate::ids::Digest {
        crate::ids::Digest::of_hash(self.0)
    }
}
