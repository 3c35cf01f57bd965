//! The digest of words.

use std::borrow::Cow;

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
                Token::Quoted { text } => self.word(&unquoted(text)),
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

/// A string with double quotes, and no escapes that only those need. A raw or formatted one is left alone where it has a quote or
/// an escape in it, because there they mean something else.
fn unquoted(text: &str) -> Cow<'_, str> {
    let head = text.find(['"', '\'']).unwrap_or(0);
    let (prefix, rest) = text.split_at(head);
    let quote = ["\"\"\"", "\'\'\'", "\"", "\'"]
        .into_iter()
        .find(|quote| rest.starts_with(quote) && rest.len() >= 2 * quote.len());
    let Some(quote) = quote.filter(|quote| rest.ends_with(quote)) else { return Cow::Borrowed(text) };
    let inner = rest.get(quote.len()..rest.len() - quote.len()).unwrap_or_default();
    let double = if quote.len() == 3 { "\"\"\"" } else { "\"" };
    let plain = !inner.contains(['"', '\'', '\\']);
    if quote == double && plain || !plain && (quote.len() == 3 || !matches!(prefix, "" | "u" | "U" | "b" | "B")) {
        return Cow::Borrowed(text);
    }
    let mut found = format!("{prefix}{double}");
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some(mark @ ('"' | '\''))) => found.push(mark),
            (c, escaped) => found.extend([Some(c), escaped].into_iter().flatten()),
        }
    }
    found.push_str(double);
    Cow::Owned(found)
}
