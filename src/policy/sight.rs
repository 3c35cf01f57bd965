//! What of the content a role gets, by its pack.
//!
//! What is hidden is hidden in every spelling: a path that a file system may take for another one (letter case, Unicode form) is
//! that one here, and a folder takes along what is below it. What is let through is let through as it is written and no wider. So
//! both err towards less.

use globset::{Candidate, GlobSet};
use unicode_normalization::UnicodeNormalization as _;

use super::law::globs;
use super::types::Pack;

/// Whether a role gets a path.
#[derive(Debug, Clone, Default)]
pub struct Sight {
    /// None: all but what is hidden.
    only: Option<GlobSet>,
    /// None: nothing is.
    hide: Option<GlobSet>,
}

impl Sight {
    /// A pack that was read from a policy always makes one.
    pub fn of(pack: &Pack) -> Result<Self, globset::Error> {
        let set = |list: &[String], made: fn(&str) -> String| -> Result<Option<GlobSet>, globset::Error> {
            let some = !list.is_empty();
            some.then(|| globs(list.iter().map(|glob| made(glob)))).transpose()
        };
        Ok(Self { only: set(&pack.only, str::to_owned)?, hide: set(&pack.hide, folded)? })
    }

    /// Whether it is the whole content.
    pub fn is_all(&self) -> bool {
        self.only.is_none() && self.hide.is_none()
    }

    pub fn takes_in(&self, path: &[u8]) -> bool {
        let lets = self.only.as_ref().is_none_or(|only| only.is_match_candidate(&Candidate::from_bytes(path)));
        lets && !self.hides(path)
    }

    fn hides(&self, path: &[u8]) -> bool {
        let Some(hide) = &self.hide else { return false };
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([path.len()]).any(|end| {
            let part = &path[..end];
            let plain = folded(&String::from_utf8_lossy(part));
            hide.is_match_candidate(&Candidate::from_bytes(part)) || hide.is_match(plain)
        })
    }
}

/// The same for all spellings that a file system may take for each other.
pub fn folded(text: &str) -> String {
    text.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(only: &[&str], hide: &[&str]) -> Sight {
        let owned = |list: &[&str]| list.iter().map(|&glob| glob.to_owned()).collect();
        Sight::of(&Pack { only: owned(only), hide: owned(hide) }).unwrap()
    }

    #[test]
    fn without_a_pack_it_is_everything() {
        assert!(Sight::default().is_all() && sight(&[], &[]).is_all());
        assert!(Sight::default().takes_in(b"any/\xff"));
    }

    #[test]
    fn what_is_let_through_is_as_written() {
        let on = sight(&["src/**", "*.md"], &[]);
        for path in ["src/a.rs", "src/deep/b.rs", "README.md"] {
            assert!(on.takes_in(path.as_bytes()), "{path}");
        }
        for path in ["SRC/a.rs", "src2/a.rs", "docs/x.md", "src", "x.md/secret"] {
            assert!(!on.takes_in(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn what_is_hidden_is_hidden_in_every_spelling_and_with_all_below_it() {
        let on = sight(&[], &["secret/**", "keys", "**/*.pem", "caf\u{e9}/*"]);
        for path in [
            "secret/a",
            "Secret/a",
            "SECRET/deep/a",
            "keys",
            "keys/b",
            "Keys/deep/b",
            "x/y.PEM",
            "x.pem/inside",
            "cafe\u{301}/menu",
            "CAF\u{c9}/menu/deep",
            "\u{ff53}ecret/a",
        ] {
            assert!(!on.takes_in(path.as_bytes()), "{path}");
        }
        assert!(!on.takes_in(b"secret/\xff"));
        for path in ["src/secret.rs", "my/keys2", "secrets/a", "x/pem"] {
            assert!(on.takes_in(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn what_is_hidden_stays_so_where_it_is_let_through_too() {
        let on = sight(&["src/**"], &["src/gen/**"]);
        assert!(on.takes_in(b"src/a") && !on.takes_in(b"src/gen/a"));
    }
}
