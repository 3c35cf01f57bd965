//! Whether the verdict is READY, and nothing takes it back.

use super::super::paper::text;
use super::super::papers::{Desk, Found, READINESS, excerpt};
use super::said;

pub(super) fn not_ready(desk: &Desk<'_>) -> Vec<Found> {
    let Some(part) = said(desk, "Verdict") else { return Vec::new() };
    let Some(first) = part.first() else { return Vec::new() };
    let whole = part.text();
    let start = first
        .cells
        .iter()
        .map(|cell| cell.text.as_str())
        .find(|cell| text::says_something(cell, &[]))
        .unwrap_or(&first.text);
    let rest = whole.split_once(start).map_or("", |(_, rest)| rest);
    if is_ready(start, rest) {
        return Vec::new();
    }
    let line = first.lines.iter().find(|line| is_word(&line.text)).map_or(first.line.max(part.line), |line| line.at);
    let next = "Settle what stands in the way; then write `READY`, and nothing that takes it back.";
    vec![Found::at(READINESS, line, format!("The verdict is “{}”, not READY.", excerpt(start))).next(next)]
}

fn is_word(text: &str) -> bool {
    let words = text::words(text);
    !words.is_empty() && words != ["verdict"] && words != ["status"]
}

/// What may stand beside the word: a label before it, a date after it.
const LABELS: &[&str] = &["verdict", "status", "result", "overall", "is", "the"];
#[rustfmt::skip]
const BESIDE: &[&str] = &[
    "as", "of", "on", "for", "to", "the", "build", "building", "begin", "by", "z", "utc",
];

/// What takes a verdict back, in the sentence itself.
#[rustfmt::skip]
const CONDITIONS: &[&str] = &[
    "once", "if", "except", "pending", "unless", "until", "but", "when", "after", "provided", "conditional",
    "conditionally", "not", "almost", "assuming", "subject to", "apart from", "only", "modulo", "however",
    "nearly",
];

/// The same, in the sentences that follow.
const TAKEN_BACK: &[&str] =
    &["but", "except", "once", "unless", "pending", "not ready", "not yet ready", "blocked", "only if", "provided"];

fn is_ready(text: &str, after: &str) -> bool {
    let sentences = text::sentences(text);
    let Some(first) = sentences.first() else { return false };
    let clause = first.split(['—', '–', ':', ';', '(', ',']).map(str::trim).find(|clause| {
        let words = text::words(clause);
        !words.is_empty() && !words.iter().all(|word| LABELS.contains(&word.as_str()))
    });
    let Some(clause) = clause.map(|clause| clause.split(" - ").next().unwrap_or(clause)) else { return false };
    let words = text::words(clause);
    let mut words = words.iter().map(String::as_str).skip_while(|word| LABELS.contains(word));
    let beside = |word: &str| {
        let digits = word.starts_with(|c: char| c.is_ascii_digit());
        let month = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        digits || BESIDE.contains(&word) || word.len() >= 3 && month.iter().any(|name| word.starts_with(name))
    };
    if words.next() != Some("ready") || !words.all(beside) || first.contains('?') {
        return false;
    }
    let rest: String = sentences[1..].join(" ") + "\n" + after;
    let taken = |text: &str, by: &[&str]| text::says_any(&text::words(text), by);
    !taken(first, CONDITIONS) && !taken(&rest, TAKEN_BACK)
}

#[cfg(test)]
mod tests {
    use super::is_ready;

    #[test]
    fn ready_is_the_whole_verdict() {
        for text in [
            "READY",
            "ready.",
            "✅ READY",
            "READY (2026-01-02)",
            "READY — every criterion has its proof.",
            "Verdict: READY",
            "READY on 3 May 2026",
            "READY. The design does not change the schema.",
        ] {
            assert!(is_ready(text, ""), "{text}");
        }
        for text in [
            "NOT READY",
            "READY once the key is here",
            "READY if AC-2 is dropped",
            "READY except AC-3",
            "READY pending review",
            "almost READY",
            "READY / NOT READY",
            "READY?",
            "not yet",
            "READY (pending)",
            "READY, but AC-2 is open",
            "",
            "READY. Not ready for AC-2.",
            "READY: once reviewed",
            "NOT READY, or READY",
        ] {
            assert!(!is_ready(text, ""), "{text}");
        }
        assert!(!is_ready("READY", "\nOnly if the key arrives; provided that it does."));
    }
}
