//! Whether a design was gone through: scenarios traced, concerns with severities.

use super::super::paper::{Line, Part, Piece, text};
use super::super::papers::{DESIGN, Desk, Found};
use crate::policy::Tier;

pub(super) fn is_missing(desk: &Desk<'_>) -> Vec<Found> {
    let Some(paper) = &desk.design else { return Vec::new() };
    if desk.tier < Tier::House {
        return Vec::new();
    }
    let begins =
        |words: &[String], starts: &[&str]| words.iter().any(|word| starts.iter().any(|start| word.starts_with(start)));
    let place = |parts: &[Part<'_>], says: String| match parts.first() {
        Some(part) => Found::at(DESIGN, part.line, says),
        None => Found::in_file(DESIGN, says),
    };
    let mut found = Vec::new();
    let is_trace = |words: &[String]| {
        begins(words, &["scenario", "walk"])
            || words.iter().any(|word| matches!(word.as_str(), "trace" | "traces" | "traced"))
    };
    let scenarios = paper.below(is_trace, "Observability");
    let count = |parts: &[Part<'_>]| parts.iter().map(scenarios_traced).sum::<usize>();
    let traced = count(&scenarios).max(count(&paper.below_label(is_trace)));
    // `Design Review`, in which it is said that scenarios were gone through.
    let reviews = paper.below(|words| begins(words, &["review"]), "Observability");
    let speaks = |part: &&Part<'_>| begins(&text::words(&part.text()), &["scenario"]);
    let traced = traced.max(reviews.iter().filter(speaks).map(paragraphs_traced).sum());
    // `Scenario one, flip: …`, wherever it stands.
    let told = |piece: &Piece| {
        let named = text::words(&piece.text).iter().take(2).any(|word| matches!(word.as_str(), "scenario" | "trace"));
        let column = piece.cells.iter().any(|cell| is_trace(&text::words(&cell.header)));
        (named || column).then(|| traced_in(piece))
    };
    let traced = traced.max(paper.pieces().filter_map(told).sum());
    if traced < 2 {
        let says = format!("A {} wants two or three scenarios traced; {traced} is.", desk.tier);
        let says = if traced == 0 { says.replace("0 is", "none is") } else { says };
        found.push(
            place(&scenarios, says)
                .next("Walk through two or three of them, step by step, below a heading “Scenarios”."),
        );
    }
    let of_concerns = |words: &[String]| begins(words, &["concern", "risk", "review"]);
    let mut concerns = paper.below(of_concerns, "");
    concerns.extend(paper.below_label(of_concerns));
    // By severity, or each with its own.
    let grouped = |part: &Part<'_>| part.groups().into_iter().any(has_severity);
    let graded = |part: &Part<'_>| part.says_none() || part.items().iter().any(has_severity) || grouped(part);
    // `Concerns: critical, key rotation; low, wording.`
    let in_one = |piece: &Piece| {
        text::words(&piece.text).first().is_some_and(|first| first.starts_with("concern")) && has_severity(piece)
    };
    if !concerns.iter().any(graded) && !paper.pieces().any(in_one) {
        let says = format!("A {} wants its concerns written down with their severities; there are none.", desk.tier);
        let next = "List what could go wrong below a heading “Review Concerns”, each with a severity, or write `none`.";
        found.push(place(&concerns, says).next(next));
    }
    found
}

fn has_severity(item: &Piece) -> bool {
    const SEVERITIES: &[&str] =
        &["critical", "high", "medium", "low", "major", "minor", "required", "blocker", "severe", "moderate", "middle"];
    // `[S1]`, `P2`, `sev3`
    let graded = |word: &String| {
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
        word.len() == bare.len() + 1 && matches!(bare, "s" | "p" | "sev")
    };
    text::words(&item.text).iter().any(|word| SEVERITIES.contains(&word.as_str()) || graded(word))
}

fn paragraphs_traced(part: &Part<'_>) -> usize {
    part.paragraphs().iter().map(traced_in).sum()
}

/// How many scenarios are traced here. A section of nothing but steps is one.
fn scenarios_traced(part: &Part<'_>) -> usize {
    let items = part.described();
    let count = |items: &[Piece]| items.iter().map(traced_in).sum::<usize>();
    // Beside a table of concerns the scenarios may be paragraphs.
    let traced = count(&items).max(count(&part.paragraphs())).max(part.groups().len());
    if traced == 0 && items.len() >= 2 { 1 } else { traced }
}

/// How many scenarios an item traces: lines that each tell one and end it are several.
fn traced_in(item: &Piece) -> usize {
    let plain = item.cells.is_empty() && item.entries.is_empty() && item.code.is_empty() && !item.text.contains('\n');
    let whole = |line: &Line| {
        let piece = Piece { line: line.at, text: line.text.clone(), ..Piece::default() };
        line.text.trim_end().ends_with(['.', '!', ')']) && is_traced(&piece)
    };
    match plain && item.lines.len() > 1 && item.lines.iter().all(whole) {
        true => item.lines.len(),
        false => usize::from(is_traced(item)),
    }
}

fn is_traced(item: &Piece) -> bool {
    let text = item.all_text();
    ["→", "->", "=>"].iter().any(|arrow| text.contains(arrow))
        || text::words(&text).iter().any(|word| word == "then")
        || item.entries.len() > 2
        || item.lines.len() > 2 && item.entries.len() > 1
        || steps(item) >= 2 + usize::from(item.entries.is_empty() && item.text.contains('\n'))
}

/// What happens one after the other: sentences and their parts up to a semicolon, or three parts up to a comma.
fn steps(item: &Piece) -> usize {
    let told = |clause: &&str| text::words(clause).len() > 1;
    let sentences = item.text.lines().flat_map(text::sentences);
    let steps: usize = sentences.clone().map(|sentence| sentence.split(';').filter(told).count().max(1)).sum();
    let parts = |sentence: &str| sentence.split([';', ',', ':']).filter(told).count();
    if sentences.map(parts).any(|parts| parts > 2) { steps.max(3) } else { steps }
}
