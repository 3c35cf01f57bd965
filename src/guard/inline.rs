//! Tests that stand among the code of a source file, each frozen by itself.
//!
//! A test file is frozen as a whole. Rust keeps its unit tests in the file that they test, and Rust and Python have examples in
//! documentation that are run; such a file must stay free to be edited. So a real parser finds the tests in it ([`items`]), each
//! has a name and a digest of its words, and [`compare`] says what became of them.
//!
//! What it promises:
//!
//! - **what is around is free**: code, comments, spaces, the order of things, new tests;
//! - **what is in an item is not**: its words, its attributes, and the conditions that it stands under;
//! - **nothing is switched off from outside**: a condition on a module around it, a `mod` line that is gone, a helper or a macro
//!   that is new and takes the name of what a frozen test calls ([`Became::Shadowed`]), also from another file;
//! - **the same words mean the same**: what moves to where its names may be other things has changed ([`Became::Elsewhere`]);
//! - **what can't be read has changed**: a text that the parser can't make out hides what was frozen in it.
//!
//! Rust, Python, JavaScript and TypeScript are read so. Go has its tests in files of their own. Everything else (Elixir, D, Zig,
//! Haskell and whatever has tests in its sources) is frozen by whole files only.

mod attr;
mod compare;
mod doc;
mod found;
mod nodes;
mod print;
mod python;
mod rust;
mod script;
mod taken;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use serde::{Deserialize, Serialize};

pub use compare::{Became, FrozenItems, Now, compare, compare_all};
pub use taken::Taken;

use crate::guard::parse::{Language, MOST_BYTES};
use crate::ids::Digest;

/// A file with more items than this is not read.
pub const MOST_ITEMS: usize = 50_000;

/// Which reading made a digest. It goes up whenever the same text gets other items or digests: by a newer grammar, say.
pub const READING: u32 = 2;

/// What an item is to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    Test,
    /// What tests are made with: a helper, an expectation, an import.
    Helper,
    /// An example in documentation.
    Doc,
    /// The line that makes a file part of the program.
    Module,
}

impl Sort {
    /// What such an item is called in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Helper => "part of tests",
            Self::Doc => "example",
            Self::Module => "line",
        }
    }
}

/// A test that stands inside of a source file, or what belongs to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Where it is and what it is called, the same wherever it stands in its module: `tests::parses_dates`, `doc of parse`.
    pub name: String,
    /// Of its words, its attributes, and the conditions around it.
    pub digest: Digest,
    /// Where it begins, from 1.
    pub line: u32,
    /// It is not run as it is.
    pub skipped: bool,
    pub sort: Sort,
    /// The module, class or suite that it is in.
    pub scope: String,
    /// Names that it gives a meaning to: `name`, `.method`, `macro!`.
    pub defines: Vec<String>,
    /// An import of a name that modules and functions have too: it takes the macro only where one is known to be called so.
    pub unsure: bool,
    /// Names that it uses and that another item of the file defines, and the macros that it speaks through.
    pub mentions: Vec<String>,
    /// Where the file may be that this line makes part of the program.
    pub opens: Vec<String>,
    /// Where the file is whose examples it takes for its own, as documentation.
    pub fetches: Option<String>,
    /// It does so wherever tests are run: under no condition but `cfg(test)`, and in no function or macro.
    pub always: bool,
    /// Names of [`defines`](Self::defines) that it gives a meaning to in the other files of its package too.
    pub spreads: Vec<String>,
    /// The same in the files of the modules below.
    pub lends: Vec<String>,
    /// Where it stands in the text, attributes and all.
    pub bytes: Range<usize>,
}

/// An item as it was frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenItem {
    pub digest: Digest,
    pub sort: Sort,
    /// It was not run then. That it is now is no fault.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
}

/// The items of a source file in their order, or why they could not be read. None: its language has no tests inside.
pub fn items(path: &str, bytes: &[u8]) -> Result<Option<Vec<Item>>, String> {
    read(path, bytes, false)
}

/// The items of a file that is a test as a whole, as if it were the body of a module of tests. What was moved to it is found so.
pub fn items_of_test(path: &str, bytes: &[u8]) -> Result<Option<Vec<Item>>, String> {
    read(path, bytes, true)
}

fn read(path: &str, bytes: &[u8], is_test: bool) -> Result<Option<Vec<Item>>, String> {
    let Some(language) = Language::of(path).filter(|language| *language != Language::Go) else { return Ok(None) };
    if bytes.len() > MOST_BYTES {
        return Err(format!("it has {} bytes; more than {MOST_BYTES} are not parsed", bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| format!("byte {} is no UTF-8", error.valid_up_to()))?;
    let joined = if language == Language::Rust { rust::joined_marks(text) } else { text.into() };
    let text = joined.as_ref();
    let found = match language {
        Language::Rust => rust::read(path, text, is_test)?,
        Language::Python => python::read(text)?,
        Language::JavaScript | Language::TypeScript | Language::Tsx => script::read(language, text)?,
        Language::Go => return Ok(None),
    };
    if found.0.len() > MOST_ITEMS {
        return Err(format!("it has {} items; more than {MOST_ITEMS} are not read", found.0.len()));
    }
    Ok(Some(found.items()))
}

/// The examples of a file that an item takes for its documentation. They stand where the item does.
pub fn fetched(item: &Item, text: &[u8]) -> Vec<Item> {
    let text = std::str::from_utf8(text).unwrap_or_default();
    if text.len() > MOST_BYTES { Vec::new() } else { rust::fetched(item, text) }
}

/// What of it is frozen: all but examples that nobody runs.
pub fn freeze(items: &[Item]) -> BTreeMap<String, FrozenItem> {
    let kept = items.iter().filter(|item| item.sort != Sort::Doc || !item.skipped);
    kept.map(|item| {
        let Item { digest, sort, skipped, .. } = item;
        (item.name.clone(), FrozenItem { digest: digest.clone(), sort: *sort, skipped: *skipped })
    })
    .collect()
}

const RUST_HINTS: &[&str] = &[
    "test",
    "```",
    "~~~",
    "mod ",
    "quickcheck",
    "///     ",
    "//!     ",
    "bench",
    "include!",
    "include_str!",
    "macro_rules",
    "macro_use",
    "assert",
    "panic",
];
const PYTHON_HINTS: &[&str] = &[">>>", "def test", "class Test", "TestCase", "doctest", "unittest"];
const SCRIPT_HINTS: &[&str] = &["import.meta.vitest", "describe", "it(", "it.", "test(", "test.", "suite"];

static HINTS: LazyLock<[Option<AhoCorasick>; 3]> =
    LazyLock::new(|| [RUST_HINTS, PYTHON_HINTS, SCRIPT_HINTS].map(|hints| AhoCorasick::new(hints).ok()));

/// Whether a file may have such items, told by its name and a look for a few words. Only these are worth parsing.
pub fn may_have_items(path: &str, bytes: &[u8]) -> bool {
    let [rust, python, script] = &*HINTS;
    let hints = match Language::of(path) {
        Some(Language::Rust) => rust,
        Some(Language::Python) => python,
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => script,
        Some(Language::Go) | None => return false,
    };
    hints.as_ref().is_none_or(|hints| hints.is_match(bytes))
}

/// Whether the documentation of a file of Rust may be another file.
pub fn may_fetch(bytes: &[u8]) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(["include_str!"]).ok());
    WORDS.as_ref().is_none_or(|words| words.is_match(bytes))
}

/// Whether a file that can't be read is to be frozen as a whole, because these bytes say that tests are in it.
pub fn has_marks(path: &str, bytes: &[u8]) -> bool {
    static MARKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let marks =
            ["#[test", "::test]", "::test(", "cfg(test", ">>>", "import.meta.vitest", "(test,", ", test)", "```"];
        AhoCorasick::new(marks).ok()
    });
    Language::of(path).is_some_and(|language| language != Language::Go)
        && MARKS.as_ref().is_none_or(|marks| marks.is_match(bytes))
}

#[cfg(test)]
mod tests;
