//! What whoever approves a change has to look at, in short: drawn from its documents for the review of the freeze.

use super::header;
use super::paper::{Paper, Part, ids, names};
use crate::ledger::snapshot;

/// So much of a text is told.
const LONGEST: usize = 160;
/// So many of a list.
const MOST: usize = 12;

/// The documents of a change in short. What a document does not say is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brief {
    /// What its author is least sure of, by `readiness.md`.
    pub least_sure: Option<String>,
    pub problem: Option<String>,
    pub smallest: Option<String>,
    pub interfaces: Vec<String>,
    /// What readiness says of each criterion: its test, and how it is shown.
    pub covered: Vec<String>,
    pub deferred: Vec<String>,
}

impl Brief {
    pub fn of(scope: &str, design: &str, readiness: &str) -> Self {
        let read = |text: &str, known| Paper::read(text, known).ok();
        let (scope, design) = (read(scope, names::SCOPE), read(design, names::DESIGN));
        let coverage = read(readiness, names::READINESS);
        let first = |name| section(&scope, name).and_then(|part| part.first()).map(|piece| short(&piece.text));
        Self {
            least_sure: header::least_sure(readiness),
            problem: first("Problem"),
            smallest: first("Smallest Useful Version"),
            interfaces: listed(section(&design, "Interfaces")),
            covered: listed(section(&coverage, "Acceptance Criteria Coverage"))
                .into_iter()
                .filter(|row| ids::leading(row).is_some())
                .collect(),
            deferred: listed(section(&scope, "Deferred")),
        }
    }
}

fn section<'p>(paper: &'p Option<Paper>, name: &str) -> Option<Part<'p>> {
    paper.as_ref()?.section(name).filter(|part| part.has_content(true))
}

/// The items of a section, or its first sentences where it has none.
fn listed(part: Option<Part<'_>>) -> Vec<String> {
    let Some(part) = part else { return Vec::new() };
    let items = part.items();
    let pieces = if items.is_empty() { part.pieces() } else { items };
    let texts = pieces.into_iter().map(|piece| short(&piece.from_start()));
    texts.filter(|text| !text.is_empty()).take(MOST).collect()
}

/// In a line, not longer than may be.
fn short(text: &str) -> String {
    let line = snapshot::line(text);
    match line.chars().count() > LONGEST {
        true => line.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::papers::Document;

    #[test]
    fn the_documents_are_told_in_short() {
        let papers = crate::engine::kit::good_papers();
        let text = |sheet: &Option<crate::gate::papers::Sheet>| match sheet.as_ref().map(|sheet| &sheet.document) {
            Some(Document::Text(text)) => text.clone(),
            other => panic!("{other:?}"),
        };
        let readiness =
            format!("{}\n\nLeast sure: the dimming curve, because nobody measured it\n", text(&papers.readiness));
        let brief = Brief::of(&text(&papers.scope), &text(&papers.design), &readiness);
        assert_eq!(brief.least_sure.as_deref(), Some("the dimming curve, because nobody measured it"));
        assert!(brief.problem.is_some() && brief.smallest.is_some(), "{brief:?}");
        assert!(!brief.interfaces.is_empty() && !brief.covered.is_empty() && !brief.deferred.is_empty(), "{brief:?}");
        assert!(brief.covered.iter().all(|row| row.contains("AC-")), "{brief:?}");
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        assert_eq!(Brief::of("", "", ""), Brief::default());
        let long = format!("# Scope\n\n## Problem\n\n{}\n", "dark ".repeat(100));
        let told = Brief::of(&long, "", "").problem.expect("there is one");
        assert!(told.chars().count() == LONGEST && told.ends_with('…'), "{told}");
    }
}
