//! Whether scope names each file that the change was asked with.

use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;

use super::super::paper::Paper;
use super::super::paper::seen::seen;
use super::super::papers::{Desk, Found};

/// Names with blanks and the like are looked for one by one, and no more of them than this.
const MOST_ODD: usize = 100;

pub(super) fn unnamed(desk: &Desk<'_>) -> Vec<Found> {
    let Some(paper) = &desk.scope else { return Vec::new() };
    let says = |path: &String| Found::in_file(path, format!("`{path}` is neither used nor set aside in scope."));
    unnamed_in(paper, &desk.papers.inputs.iter().collect::<Vec<_>>()).into_iter().map(says).collect()
}

/// Of these files, those that a document does not name.
pub(in crate::gate) fn unnamed_in<'i>(paper: &Paper, inputs: &[&'i String]) -> Vec<&'i String> {
    let is_hidden = |path: &&&String| path.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
    let inputs: Vec<&String> = inputs.iter().filter(|path| !is_hidden(path)).copied().collect();
    if inputs.is_empty() {
        return Vec::new();
    }
    // A link writes a name in its own way; a text that is no link may have a `%` of its own.
    let plain = paper.everything();
    let text = format!("{plain}\n{}", percent_decode_str(&plain).decode_utf8_lossy()).to_lowercase();
    let said = Said::new(&text);
    let mut odd = 0;
    let mut found = Vec::new();
    for path in inputs {
        let small = seen(path).to_lowercase();
        let named = if small.chars().all(joins) {
            said.names(&small)
        } else {
            odd += 1;
            odd <= MOST_ODD && small.rsplit('/').next().is_some_and(|name| text.contains(name))
        };
        if !named {
            found.push(path);
        }
    }
    found
}

fn joins(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+' | '@' | '~')
}

/// What in a text could be a path, by its last part.
struct Said<'t>(HashMap<&'t str, HashSet<&'t str>>);

impl<'t> Said<'t> {
    fn new(text: &'t str) -> Self {
        let mut said: HashMap<&str, HashSet<&str>> = HashMap::new();
        for word in text.split(|c| !joins(c)) {
            let word = word.trim_end_matches(['.', '-', '/']).trim_start_matches("./").trim_start_matches(['/', '-']);
            if let Some(name) = word.rsplit('/').next().filter(|name| !name.is_empty()) {
                said.entry(name).or_default().insert(word);
            }
        }
        Self(said)
    }

    /// The file's name by itself, or as the end of its path.
    fn names(&self, path: &str) -> bool {
        let Some(words) = path.rsplit('/').next().and_then(|name| self.0.get(name)) else { return false };
        words.iter().any(|word| {
            path.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')) || word.ends_with(path)
        })
    }
}
