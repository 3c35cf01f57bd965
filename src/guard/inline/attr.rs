//! What an attribute of Rust says about tests.

use super::nodes::{At, Nodes, Token};

/// Attributes that make a test of a function, by the last name of their path.
const TESTS: &[&str] = &[
    "test",
    "rstest",
    "test_case",
    "test_matrix",
    "quickcheck",
    "proptest",
    "property_test",
    "bench",
    "gtest",
    "parameterized",
    "theory",
    "fixture",
    "traced_test",
];

/// Attributes that neither decide whether something is compiled nor make something else of it.
const HARMLESS: &[&str] = &[
    "allow",
    "warn",
    "deny",
    "forbid",
    "expect",
    "derive",
    "inline",
    "cold",
    "must_use",
    "deprecated",
    "non_exhaustive",
    "repr",
    "track_caller",
    "automatically_derived",
    "default",
    "macro_use",
    "macro_export",
    "unsafe",
    "no_mangle",
    "export_name",
    "link",
    "link_name",
    "link_section",
    "target_feature",
    "feature",
    "no_std",
    "recursion_limit",
    "type_length_limit",
    "crate_type",
    "crate_name",
    "windows_subsystem",
    "stable",
    "unstable",
    "diagnostic",
    "rustfmt",
    "clippy",
    "serde",
    "error",
    "from",
    "source",
    "rustc_const_stable",
    "rustc_const_unstable",
    "lang",
];

/// Attributes that say how lints are to be taken.
pub(super) const LINTS: &[&str] = &["allow", "warn", "deny", "forbid", "expect"];

/// Conditions that hold only where something is tested.
const TESTING: &[&str] = &["test", "doctest", "miri", "kani", "fuzzing", "loom", "bench"];

/// Whether a feature is one for tests, by its name.
fn is_about_tests(value: &str) -> bool {
    ["test", "mock", "fuzz", "bench", "proptest", "quickcheck", "arbitrary"].iter().any(|word| value.contains(word))
}

/// A group of conditions: whether it can hold, and can fail, where nothing is tested.
struct Group {
    name: String,
    any: (bool, bool),
    all: (bool, bool),
}

impl Group {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), any: (false, false), all: (true, true) }
    }

    fn add(&mut self, (holds, fails): (bool, bool)) {
        self.any = (self.any.0 || holds, self.any.1 || fails);
        self.all = (self.all.0 && holds, self.all.1 && fails);
    }

    fn is(&self) -> (bool, bool) {
        match self.name.as_str() {
            "any" => (self.any.0, self.all.1),
            "all" => (self.all.0, self.any.1),
            "not" => (self.any.1, self.any.0),
            _ => (true, true),
        }
    }
}

/// The words of an attribute, between its brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attr<'t>(pub(super) Vec<&'t str>);

impl<'t> Attr<'t> {
    /// Of an attribute's node.
    pub(super) fn of(nodes: &Nodes<'t>, at: At) -> Self {
        let words = nodes.tokens(at).into_iter().filter_map(word).collect::<Vec<_>>();
        let first = words.iter().position(|word| *word == "[").map_or(0, |at| at + 1);
        let last = words.len().saturating_sub(1).max(first);
        Self(words.get(first..last).unwrap_or_default().to_vec())
    }

    /// The names of its path.
    fn path(&self) -> impl Iterator<Item = &'t str> + '_ {
        let is_name = |word: &&&str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let head = self.0.iter().take_while(move |word| **word == "::" || is_name(word));
        head.filter(|word| **word != "::").map(|word| word.trim_start_matches("r#"))
    }

    pub(super) fn is(&self, name: &str) -> bool {
        let mut path = self.path();
        path.next() == Some(name) && path.next().is_none()
    }

    /// The attributes that a `cfg_attr` gives.
    pub(super) fn given(&self) -> Vec<Attr<'t>> {
        if !self.is("cfg_attr") {
            return Vec::new();
        }
        let mut parts: Vec<Vec<&'t str>> = vec![Vec::new()];
        let mut depth = 0_usize;
        let inner = self.0.get(2..self.0.len().saturating_sub(1)).unwrap_or_default();
        for word in inner {
            match *word {
                "," if depth == 0 => {
                    parts.push(Vec::new());
                    continue;
                }
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if let Some(last) = parts.last_mut() {
                last.push(word);
            }
        }
        parts.into_iter().skip(1).filter(|part| !part.is_empty()).map(Attr).collect()
    }

    /// Whether it makes a test of a function, on some condition or none.
    pub(super) fn makes_test(&self) -> bool {
        let last = self.path().last().unwrap_or_default();
        TESTS.contains(&last)
            || last.ends_with("_test")
            || self.path().next().is_some_and(|first| first.starts_with("test_") || first == "rstest")
            || self.given().iter().any(|given| !given.is("cfg_attr") && given.makes_test())
    }

    /// Whether what it stands on is there for tests alone: a `cfg` that can't hold without `test`, or something that is tests by
    /// its name. What a feature brings into the program is the program's.
    pub(super) fn for_tests(&self) -> bool {
        if !self.is("cfg") || !self.0.contains(&"test") {
            return false;
        }
        let mut open: Vec<Group> = vec![Group::new("all")];
        let mut at = 2;
        while let Some(word) = self.0.get(at) {
            let next = self.0.get(at + 1).copied().unwrap_or_default();
            at += 1;
            match *word {
                "(" | "," => {}
                ")" => {
                    let Some(done) = open.pop() else { return false };
                    match open.last_mut() {
                        Some(around) => around.add(done.is()),
                        // The bracket that closes the `cfg`.
                        None => return !done.is().0,
                    }
                }
                name if next == "(" => open.push(Group::new(name)),
                name => {
                    let value = (next == "=").then(|| self.0.get(at + 1).copied().unwrap_or_default());
                    at += if value.is_some() { 2 } else { 0 };
                    let tests = value.map_or_else(|| TESTING.contains(&name), is_about_tests);
                    if let Some(around) = open.last_mut() {
                        around.add((!tests, true));
                    }
                }
            }
        }
        false
    }

    /// `cfg(test)` and nothing else. A module may be moved to a file of its own, which has no such line in it.
    pub(super) fn is_plain(&self) -> bool {
        self.0 == ["cfg", "(", "test", ")"]
    }

    /// Whether the test does not run any more.
    pub(super) fn skips(&self) -> bool {
        self.is("ignore")
    }

    /// Whether it speaks to a linter or a formatter alone.
    pub(super) fn is_lint(&self) -> bool {
        let given = self.given();
        if !given.is_empty() {
            return given.iter().all(|given| !given.is("cfg_attr") && given.is_lint());
        }
        LINTS.iter().any(|name| self.is(name)) || matches!(self.0.as_slice(), ["clippy" | "rustfmt", "::", ..])
    }

    /// Whether it says nothing about what is compiled.
    pub(super) fn is_harmless(&self) -> bool {
        let given = self.given();
        if !given.is_empty() {
            return given.iter().all(|given| !given.is("cfg_attr") && !given.is_text() && given.is_harmless());
        }
        let first = self.path().next().unwrap_or_default();
        // Text is read as such, and of the rest only what is said about doctests counts.
        HARMLESS.contains(&first) || first == "doc" && !self.0.contains(&"test")
    }

    /// Whether it decides if something is there at all, or how its doctests are run.
    pub(super) fn decides(&self) -> bool {
        !self.is_harmless() && (self.is("cfg") || self.is("cfg_attr") || self.is("doc"))
    }

    /// Whether it is documentation, `doc = …`.
    pub(super) fn is_text(&self) -> bool {
        self.is("doc") && self.0.get(1) == Some(&"=")
    }

    /// Whether it keeps something for doctests.
    pub(super) fn for_doctests(&self) -> bool {
        self.is("cfg") && self.0.contains(&"doctest")
    }

    /// The path that a module's file is at.
    pub(super) fn place(&self) -> Option<&'t str> {
        let value = self.0.get(2).filter(|_| self.is("path") && self.0.get(1) == Some(&"="))?;
        Some(value.trim_matches(['r', '#']).trim_matches('"'))
    }
}

pub(super) fn word<'t>(token: Token<'t>) -> Option<&'t str> {
    match token {
        Token::Word { text, .. } | Token::Quoted { text } => Some(text),
        _ => None,
    }
}

/// Whether there is an attribute among these words that makes or keeps tests.
pub(super) fn speaks_of_tests(words: &[&str]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let behind = words.get(at + 1..).unwrap_or_default();
        let inside = match behind {
            ["[", rest @ ..] | ["!", "[", rest @ ..] if *word == "#" => rest,
            _ => return false,
        };
        // As far as the bracket that closes it; what is longer than this is none of the attributes that are looked for.
        let mut depth = 0_i32;
        let end = inside.iter().take(64).position(|word| {
            depth += match *word {
                "[" => 1,
                "]" => -1,
                _ => 0,
            };
            depth < 0
        });
        let attr = Attr(inside.get(..end.unwrap_or(inside.len().min(64))).unwrap_or_default().to_vec());
        attr.makes_test() || attr.for_tests()
    })
}
