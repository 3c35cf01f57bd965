//! What got weaker in the tests that a change touches, told by a parser: Rust, Python, JavaScript and TypeScript, Go.
//!
//! A false alarm costs trust, so it says "weaker" only where the old test and the new one are clearly the same test and
//! the new one clearly holds less. What it promises:
//!
//! - **the same text is never weaker**, and neither is a test that only gained checks, was renamed, moved, reformatted or
//!   parametrised, or expects another value: a changed literal is somebody's decision, and [`Weakened::edits`] has it;
//! - **what can't be seen is taken for a check**: a helper of another file, a fixture, an inherited method;
//! - **it is bounded**: a file too large or too nested to read is [`Report::unread`], with the reason, never "fine".
//!
//! It never decides alone: it is for whoever reviews. What got weaker does not pass by itself, and blocks only where the policy
//! says so; a person's approval takes it as it is.

mod asks;
mod cfg;
mod chains;
mod change;
mod checks;
mod compare;
mod constant;
mod errors;
mod go;
mod kept;
mod matchers;
mod mocks;
mod model;
mod pair;
mod place;
mod python;
mod reach;
mod rust;
mod script;
mod tree;
mod truth;
mod unittest;
mod values;
mod walk;
mod words;

use std::borrow::Cow;

use serde::Serialize;

pub use change::{Edit, Found, Unread, Weakened, weakened};

use super::parse::{Language, MOST_BYTES};
use model::Suite;
use tree::Tree;
use walk::Walk;

/// Something that a test held and holds no more, or a new test that holds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weaker {
    pub what: What,
    /// The test's qualified name; the file's path for what concerns all of them.
    pub test: String,
    /// Counted from one; in the new file, or in the old one where `gone` says so.
    pub line: u32,
    /// The line is one of the old file: what stood there is gone.
    pub gone: bool,
    pub says: String,
    pub next: String,
}

/// In which way a test is weaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A check, or a case of a table, is gone, and nothing else took its place.
    AssertionRemoved,
    /// The same thing is looked at, and less is said of it: any value, any error, a part of it, only under a condition.
    AssertionLoosened,
    /// The expectation was written out and is now computed by the code that is tested.
    ExpectationFromCode,
    /// The test, or what it checks, is not run any more, or is expected to fail.
    Skipped,
    /// A failure of the checks is caught and forgotten.
    CatchAll,
    /// A number may be further off than before.
    ToleranceWidened,
    /// What the test checks is replaced by a mock.
    MocksSubject,
    /// Nothing in the test can fail but by accident.
    AssertsNothing,
    /// The test is gone from the whole change.
    TestRemoved,
}

/// What was found in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub found: Vec<Weaker>,
    /// How many of its tests are new, gone or not as they were.
    pub changed: usize,
    /// Why it could not be read. It is not "fine" then, but unknown.
    pub unread: Option<String>,
}

/// A file of a change: its path, its old text (none: it is new) and its new text (none: it is gone).
pub type Changed<'a> = (&'a str, Option<&'a [u8]>, Option<&'a [u8]>);

/// What got weaker from the old text to the new one (old none: the file is new; new none: it is gone).
pub fn weaker(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Report {
    weaker_all(&[(path, old, new)]).pop().unwrap_or_default()
}

/// The same over a whole change, a report for each file, in order. A test that moved from one file to another is the
/// same test.
pub fn weaker_all(changed: &[Changed<'_>]) -> Vec<Report> {
    weaker_beside(changed, &[])
}

/// The same, where the change has other texts beside these, which may open or name a file of tests.
fn weaker_beside(changed: &[Changed<'_>], beside: &[Vec<u8>]) -> Vec<Report> {
    let mut reports = Vec::new();
    let mut files = Vec::new();
    for (index, (path, old, new)) in changed.iter().enumerate() {
        reports.push(Report::default());
        // Blank lines at the end may make a broken text be read in another way, and say nothing.
        if old.map(<[u8]>::trim_ascii_end) == new.map(<[u8]>::trim_ascii_end) {
            continue;
        }
        let Some(language) = Language::of(path) else { continue };
        match (read(language, path, *old), read(language, path, *new)) {
            (Ok(old), Ok(new)) => files.push(pair::File { index, path, old, new }),
            (Err(why), _) | (_, Err(why)) => {
                if let Some(report) = reports.last_mut() {
                    report.unread = Some(why);
                }
            }
        }
    }
    for (index, pair::Found { mut weaker, changed, too_many }) in pair::weaker(&files, &pair::Texts { changed, beside })
    {
        if let Some(report) = reports.get_mut(index) {
            bounded(&mut weaker);
            (report.found, report.changed) = (weaker, changed);
            report.unread = too_many.then(|| "One of its tests has more checks than can be compared.".to_owned());
        }
    }
    for file in &files {
        if let Some(report) = reports.get_mut(file.index) {
            broken(file, report);
        }
    }
    reports
}

/// Nobody knows what a test holds in a text that breaks off: that of a new file, or one that would be told to hold nothing.
fn broken(file: &pair::File<'_>, report: &mut Report) {
    let Some((new, line)) = file.new.as_ref().and_then(|new| Some((new, new.broken?))) else { return };
    let named = || match Language::of(file.path) {
        Some(Language::Rust) => file.path.rsplit('/').nth(1) == Some("tests"),
        _ => place::unlooked(file.path).is_none(),
    };
    let tested = || new.units.iter().any(|unit| unit.test) || named();
    let empty = |one: &Weaker| one.what == What::AssertsNothing;
    let unknown = match &file.old {
        None => tested(),
        Some(old) => old.broken.is_none() && report.found.iter().any(empty),
    };
    if unknown {
        report.found.retain(|one| !empty(one));
        report.unread = Some(format!("Line {line} can't be made out: something is missing there, or too much."));
    }
}

/// More than this says nothing more.
const MOST_FOUND: usize = 200;

fn bounded(found: &mut Vec<Weaker>) {
    found.sort_by(|a, b| (a.gone, a.line, a.what, &a.says).cmp(&(b.gone, b.line, b.what, &b.says)));
    found.dedup();
    found.truncate(MOST_FOUND);
}

/// The tests of a text; none for one that is not there.
fn read(language: Language, path: &str, text: Option<&[u8]>) -> Result<Option<Suite>, String> {
    let Some(bytes) = text else { return Ok(None) };
    if bytes.len() > MOST_BYTES {
        return Err(format!("It has {} bytes; up to {MOST_BYTES} are read.", bytes.len()));
    }
    if [[0xff, 0xfe], [0xfe, 0xff]].iter().any(|mark| bytes.starts_with(mark)) {
        return Err("It is no text in UTF-8.".to_owned());
    }
    let text: Cow<'_, str> = String::from_utf8_lossy(bytes);
    // A mark of the byte order is no part of the code.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let tree = Tree::read(language, text).ok_or_else(|| "The parser gave up on it.".to_owned())?;
    let suite = match language {
        Language::Rust => Walk::through(&tree, path, rust::own(&tree).collect(), rust::enter),
        Language::Python => Walk::through(&tree, path, python::own(&tree).collect(), python::enter),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            Walk::through(&tree, path, script::own(&tree).collect(), script::enter)
        }
        Language::Go => Walk::through(&tree, path, go::own(&tree).collect(), go::enter),
    };
    let suite = suite.map(|suite| Suite { broken: tree.broken, ..suite });
    suite.map(Some).ok_or_else(|| "It nests too deeply to be compared.".to_owned())
}

/// Whether a name says that it holds the cases of a test.
fn names_cases(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["case", "tests", "table", "tcs", "examples", "inputs", "params", "scenarios", "vectors", "fixtures"]
        .iter()
        .any(|word| name.contains(word))
}

#[cfg(test)]
mod tests;
