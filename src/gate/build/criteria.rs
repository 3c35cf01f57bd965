//! Whether each criterion has its test, and readiness the way to it.

use super::super::paper::ids;
use super::super::papers::{Found, READINESS, SCOPE};
use super::covered::{is_test, may_have_inline, names, said_in_vain, test_text};
use super::{Bench, wanted};
use crate::finding::quoted;

/// The criteria of scope that no test names.
pub(in crate::gate) fn unnamed(bench: &Bench<'_>) -> Vec<Found> {
    let wanted = wanted(bench.scope.as_ref());
    let mut missing: Vec<&(String, u32)> = wanted.iter().collect();
    for (path, text) in bench.site.texts() {
        if missing.is_empty() {
            break;
        }
        let Some(test) = test_text(path, text, is_test(path)) else { continue };
        missing.retain(|(id, _)| !(names(&test, id) || is_test(path) && names(path, id)));
    }
    let mut vain: Vec<(&str, String)> = Vec::new();
    if !missing.is_empty() {
        let tests = bench.site.texts().filter(|(path, _)| is_test(path) || may_have_inline(path));
        vain.extend(tests.map(|(path, text)| (path, said_in_vain(path, text, is_test(path)))));
    }
    let in_vain = |id: &str| vain.iter().find(|(_, said)| names(said, id)).map(|(path, _)| *path);
    let told = missing.into_iter().map(|(id, line)| match in_vain(id) {
        Some(path) => {
            let says =
                format!("No test names `{id}` but one that never runs or looks at nothing, in {}.", quoted(path));
            Found::at(SCOPE, *line, says).next("Let that test look at what the criterion asks for, and push.")
        }
        None => Found::at(SCOPE, *line, format!("No test names `{id}`.")),
    });
    told.collect()
}

/// A test file that Key Links leads to, and that is not there.
pub(in crate::gate) struct Lost {
    /// The criterion that it is the test of.
    pub(in crate::gate) id: String,
    pub(in crate::gate) path: String,
    /// Where its entry in readiness begins.
    pub(in crate::gate) line: u32,
}

/// A finding for each of these.
pub(in crate::gate) fn astray(bench: &Bench<'_>) -> Vec<Found> {
    let says = |lost: Lost| {
        let says = format!("The test of `{}` should be in `{}`, which is not there.", lost.id, lost.path);
        Found::at(READINESS, lost.line, says)
    };
    lost(bench).into_iter().map(says).collect()
}

pub(in crate::gate) fn lost(bench: &Bench<'_>) -> Vec<Lost> {
    let Some(part) = bench.readiness.as_ref().and_then(|paper| paper.section("Key Links")) else { return Vec::new() };
    let mut found = Vec::new();
    for item in part.items() {
        let Some(id) = ids::written(&item.all_text()).into_iter().next() else { continue };
        let mut told = std::collections::BTreeSet::new();
        for path in paths(&item.all_text()) {
            if is_test(path) && bench.site.text(path).is_none() && told.insert(path) {
                found.push(Lost { id: id.clone(), path: path.to_owned(), line: item.line });
            }
        }
    }
    found
}

/// The words of a text that are paths of files: `tests/test_dimmer.py::test_dark` names one.
pub(in crate::gate) fn paths(text: &str) -> impl Iterator<Item = &str> {
    let words = text
        .split(|c: char| c.is_whitespace() || matches!(c, '`' | '(' | ')' | '[' | ']' | '"' | '\'' | ',' | ';' | '|'));
    words.filter_map(|word| {
        let path = word.split("::").next().unwrap_or(word).split('#').next().unwrap_or(word);
        let path = path.trim_start_matches("./").trim_end_matches(['.', ':']);
        let plain = path.contains('/')
            && !path.contains("://")
            && !path.contains(['*', '<', '{', '$'])
            && !path.starts_with('/');
        plain.then_some(path)
    })
}
