//! The scope cap: a sentence for people, and globs for us.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{LONGEST, line};
use crate::policy::globs;

/// What may be looked at and changed for a slice: `The parser. in: src/parser/**, tests/** out: src/parser/generated/**`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cap {
    pub says: String,
    pub within: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// Why a text is no scope cap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCap {
    #[error("the sentence before `in:` is missing")]
    NoSentence,
    #[error("it names no paths: `in:` with at least one glob is missing")]
    NoPaths,
    #[error("`{0}` stands in it twice")]
    Twice(&'static str),
    #[error("`{0}` is no glob of paths in the repository")]
    Glob(String),
    #[error("`{0}` has everything in it, which is no cap")]
    Everything(String),
    #[error("it has more than {MOST_GLOBS} globs")]
    TooMany,
    #[error("it is longer than {LONGEST} characters")]
    TooLong,
}

const MOST_GLOBS: usize = 50;
/// A path that nobody has: what matches it matches everything.
const NOWHERE: [&str; 2] = ["q7~x/k9~y/z3~w.v1~u", "z3~w.v1~u"];

impl Cap {
    /// A cap that nobody has declared: nothing is in it, and nothing is held against it.
    pub fn undeclared() -> Self {
        Self { says: "Nobody has declared one.".to_owned(), ..Self::default() }
    }

    pub fn is_declared(&self) -> bool {
        !self.within.is_empty()
    }

    /// Reads a cap, and says why it is none.
    pub fn declared(text: &str) -> Result<Self, NoCap> {
        let cap = Self::read(text)?;
        if cap.within.is_empty() {
            return Err(NoCap::NoPaths);
        }
        Ok(cap)
    }

    /// The same, where it may name no paths.
    pub(super) fn read(text: &str) -> Result<Self, NoCap> {
        let text = line(text);
        if text.chars().count() > LONGEST {
            return Err(NoCap::TooLong);
        }
        let places = |word: &'static str| -> Result<Option<usize>, NoCap> {
            let mut found = starts(&text, word);
            match (found.next(), found.next()) {
                (_, Some(_)) => Err(NoCap::Twice(word)),
                (at, None) => Ok(at),
            }
        };
        let (within, without) = (places("in:")?, places("out:")?);
        let first = within.into_iter().chain(without).min().unwrap_or(text.len());
        let part = |at: Option<usize>, word: &str, other: Option<usize>| -> Result<Vec<String>, NoCap> {
            let Some(at) = at else { return Ok(Vec::new()) };
            let end = other.filter(|other| *other > at).unwrap_or(text.len());
            listed(&text[at + word.len()..end])
        };
        let cap = Self {
            says: text[..first].trim().trim_end_matches([';', ',', '(']).trim_end().to_owned(),
            within: part(within, "in:", without)?,
            without: part(without, "out:", within)?,
        };
        if cap.says.is_empty() {
            return Err(NoCap::NoSentence);
        }
        cap.check()?;
        Ok(cap)
    }

    fn check(&self) -> Result<(), NoCap> {
        if self.within.len() + self.without.len() > MOST_GLOBS {
            return Err(NoCap::TooMany);
        }
        for glob in self.within.iter().chain(&self.without) {
            let outside = glob.starts_with('/') || glob.split('/').any(|part| part == "..") || glob.contains('\\');
            if outside || globs([glob]).is_err() {
                return Err(NoCap::Glob(glob.clone()));
            }
        }
        let everything = |glob: &&String| NOWHERE.iter().any(|path| has(std::slice::from_ref(*glob), path));
        match self.within.iter().find(everything) {
            Some(glob) => Err(NoCap::Everything(glob.clone())),
            None => Ok(()),
        }
    }

    /// Whether a path is in it.
    pub fn allows(&self, path: &str) -> bool {
        has(&self.within, path) && !has(&self.without, path)
    }
}

/// A glob without a star stands for a file, or for a folder with all that is in it.
fn has(patterns: &[String], path: &str) -> bool {
    let below = |pattern: &String| {
        let folder = pattern.trim_end_matches('/');
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // What does not compile was refused before.
    globs(patterns).is_ok_and(|set| set.is_match(path)) || patterns.iter().any(below)
}

/// Where a word stands as one.
fn starts<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let apart = |at: usize| at == 0 || text[..at].ends_with([' ', ',', ';', '(']);
    // Letter case has no meaning, and these are ASCII, so the places are the same.
    let lower = text.to_ascii_lowercase();
    let found: Vec<usize> = lower.match_indices(word).map(|(at, _)| at).filter(|at| apart(*at)).collect();
    found.into_iter()
}

fn listed(text: &str) -> Result<Vec<String>, NoCap> {
    let mut all = Vec::new();
    let clean = |part: &str| part.trim_matches(['`', '"', '\'', '“', '”', ')', ';']).to_owned();
    for part in text.split([',', ' ']).map(clean).filter(|part| !part.is_empty()) {
        if part.eq_ignore_ascii_case("none") || part == "and" {
            continue;
        }
        // The full stop of a sentence.
        let part = part.strip_prefix("./").unwrap_or(&part).to_owned();
        let glob = part.strip_suffix('.').filter(|rest| !rest.is_empty()).unwrap_or(&part).to_owned();
        if !all.contains(&glob) {
            all.push(glob);
        }
    }
    Ok(all)
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |globs: &[String]| if globs.is_empty() { "none".to_owned() } else { globs.join(", ") };
        write!(f, "{} in: {} out: {}", self.says, list(&self.within), list(&self.without))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "The parser and its tests. in: src/parser/**, tests/parser/** out: src/parser/generated/**";

    fn cap(text: &str) -> Cap {
        Cap::declared(text).unwrap()
    }

    #[test]
    fn a_cap_is_a_sentence_and_globs() {
        let read = cap(EXAMPLE);
        assert_eq!(read.says, "The parser and its tests.");
        assert_eq!(read.within, ["src/parser/**", "tests/parser/**"]);
        assert_eq!(read.without, ["src/parser/generated/**"]);
        assert!(read.allows("src/parser/mod.rs") && !read.allows("src/parser/generated/a.rs"));
        assert!(!read.allows("src/lexer.rs") && !read.allows("src/parser_old/mod.rs"));
        assert_eq!(cap(&read.to_string()), read, "what is written is read back");
    }

    #[test]
    fn a_folder_or_a_file_needs_no_star() {
        let read = cap("Docs OUT: docs/private In: `docs/`, ./README.md.");
        assert!(read.allows("docs/a/b.md") && read.allows("README.md"));
        assert!(!read.allows("docs/private/x.md") && !read.allows("README.md.bak") && !read.allows("docsx/a"));
    }

    #[test]
    fn what_is_no_cap_is_told() {
        let none = |text: &str| Cap::declared(text).unwrap_err();
        assert_eq!(none("Only the parser."), NoCap::NoPaths);
        assert_eq!(none("The parser. in: none"), NoCap::NoPaths);
        assert_eq!(none("in: src/**"), NoCap::NoSentence);
        assert_eq!(none("A. in: a in: b"), NoCap::Twice("in:"));
        assert_eq!(none("All. in: **"), NoCap::Everything("**".to_owned()));
        assert_eq!(none("All. in: **/*"), NoCap::Everything("**/*".to_owned()));
        assert_eq!(none("All. in: *"), NoCap::Everything("*".to_owned()));
        assert_eq!(none("Up. in: ../other/**"), NoCap::Glob("../other/**".to_owned()));
        assert_eq!(none("Root. in: /etc/**"), NoCap::Glob("/etc/**".to_owned()));
        assert_eq!(none("Bad. in: src/[a"), NoCap::Glob("src/[a".to_owned()));
        assert_eq!(none(&format!("Long. in: {}", "a".repeat(2_000))), NoCap::TooLong);
        let many: Vec<String> = (0..60).map(|n| format!("a{n}")).collect();
        assert_eq!(none(&format!("Many. in: {}", many.join(", "))), NoCap::TooMany);
    }

    #[test]
    fn a_word_that_ends_alike_is_no_list() {
        assert_eq!(cap("Begin:x and margin: y. in: src/**").says, "Begin:x and margin: y.");
        assert_eq!(Cap::declared("Built in: src only. in: src/**"), Err(NoCap::Twice("in:")));
    }
}
