//! Paths, which are bytes.

use std::fmt;

use globset::{Candidate, GlobSet};
use serde::{Deserialize, Serialize};

/// A path in a repository: bytes, with `/` between its parts.
///
/// Shown and written as text: as it is where it is plain text, else in git's quoted form (`"caf\303\251\377"`). No two
/// paths have the same text, and [`RepoPath::parse`] gives the bytes back. Invisible and reordering characters are
/// quoted too, so that nobody is shown another path than the one that is meant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// A path from its own bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// A path from its shown form, quoted or not.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(body) = text.strip_prefix('"') else { return Ok(Self(text.into())) };
        let bad = || format!("{text:?} is not a quoted path");
        let body = body.strip_suffix('"').ok_or_else(bad)?.as_bytes();
        let mut bytes = Vec::with_capacity(body.len());
        let mut rest = body.iter().copied();
        while let Some(b) = rest.next() {
            bytes.push(match b {
                b'"' => return Err(bad()),
                b'\\' => match rest.next().ok_or_else(bad)? {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    b'r' => b'\r',
                    b'"' => b'"',
                    b'\\' => b'\\',
                    high @ b'0'..=b'3' => {
                        let mut digit =
                            || rest.next().filter(|d| (b'0'..=b'7').contains(d)).map(|d| d - b'0').ok_or_else(bad);
                        (high - b'0') << 6 | digit()? << 3 | digit()?
                    }
                    _ => return Err(bad()),
                },
                plain => plain,
            });
        }
        Ok(Self(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text, when it is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Whether a glob of the set matches. Works on the bytes.
    pub fn matches(&self, globs: &GlobSet) -> bool {
        globs.is_match_candidate(&Candidate::from_bytes(&self.0))
    }

    /// Whether this is `other` or below it. Everything is below the empty path.
    pub fn is_under(&self, other: &RepoPath) -> bool {
        match self.0.strip_prefix(other.0.as_slice()) {
            Some(rest) => rest.is_empty() || other.0.is_empty() || rest[0] == b'/',
            None => false,
        }
    }

    pub(super) fn join(&self, name: &[u8]) -> Self {
        let mut path = Vec::with_capacity(self.0.len() + 1 + name.len());
        path.extend_from_slice(&self.0);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        Self(path)
    }
}

fn must_be_quoted(c: char) -> bool {
    c.is_control()
        || matches!(c, '"' | '\\' | '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.as_str()
            && !text.chars().any(must_be_quoted)
        {
            return f.write_str(text);
        }
        f.write_str("\"")?;
        for b in &self.0 {
            match b {
                0x07 => f.write_str("\\a")?,
                0x08 => f.write_str("\\b")?,
                b'\t' => f.write_str("\\t")?,
                b'\n' => f.write_str("\\n")?,
                0x0b => f.write_str("\\v")?,
                0x0c => f.write_str("\\f")?,
                b'\r' => f.write_str("\\r")?,
                b'"' => f.write_str("\\\"")?,
                b'\\' => f.write_str("\\\\")?,
                0x20..=0x7e => write!(f, "{}", *b as char)?,
                other => write!(f, "\\{other:03o}")?,
            }
        }
        f.write_str("\"")
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The text as it is: a path that happens to start with a quote is that path.
impl From<&str> for RepoPath {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl TryFrom<String> for RepoPath {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<RepoPath> for String {
    fn from(path: RepoPath) -> String {
        path.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_text_stays_plain_and_the_rest_is_quoted_as_git_does() {
        let cases: [(&[u8], &str); 7] = [
            (b"src/main.rs", "src/main.rs"),
            ("café/日本.txt".as_bytes(), "café/日本.txt"),
            (b"a b", "a b"),
            (b"caf\xe9", r#""caf\351""#),
            (b"a\"b\\c", r#""a\"b\\c""#),
            (b"a\nb\t\x01", r#""a\nb\t\001""#),
            ("a\u{202e}b".as_bytes(), r#""a\342\200\256b""#),
        ];
        for (bytes, text) in cases {
            assert_eq!(RepoPath::new(bytes).to_string(), text);
            assert_eq!(RepoPath::parse(text).unwrap().as_bytes(), bytes);
        }
        for bad in [r#"""#, r#""a"#, r#""a"b""#, r#""\9""#, r#""\40""#, r#""\777""#, r#""a\""#] {
            assert!(RepoPath::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn below_means_below() {
        let path = RepoPath::from("src/auth/x.rs");
        assert!(path.is_under(&"src".into()) && path.is_under(&"src/auth/x.rs".into()) && path.is_under(&"".into()));
        assert!(!path.is_under(&"src/au".into()) && !path.is_under(&"src/auth/x.rs/y".into()));
    }

    #[test]
    fn globs_see_bytes() {
        let set = crate::policy::globs(["src/**", "*.rs"]).unwrap();
        assert!(RepoPath::new(b"src/\xff\n".as_slice()).matches(&set));
        assert!(RepoPath::from("a.rs").matches(&set) && !RepoPath::from("a/b.rs").matches(&set));
        assert!(!RepoPath::from("SRC/a").matches(&set));
    }

    proptest! {
        #[test]
        fn every_path_comes_back_and_none_collide(a: Vec<u8>, b: Vec<u8>) {
            let (a, b) = (RepoPath::new(a), RepoPath::new(b));
            prop_assert_eq!(&RepoPath::parse(&a.to_string()).unwrap(), &a);
            prop_assert_eq!(a == b, a.to_string() == b.to_string());
        }

        #[test]
        fn parsing_never_panics(text in "\"?[\\\\\"0-9a-z\u{e9}]{0,12}\"?") {
            let _ = RepoPath::parse(&text);
        }
    }
}
