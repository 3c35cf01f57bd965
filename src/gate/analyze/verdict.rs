//! Whether the verdict is READY, and nothing takes it back.

use std::collections::HashSet;

use super::super::paper::{Piece, later, text};
use super::super::papers::{Desk, Found, READINESS, excerpt};
use super::said;

pub(super) fn not_ready(desk: &Desk<'_>) -> Vec<Found> {
    let Some(part) = said(desk, "Verdict") else { return Vec::new() };
    let Some(first) = part.first() else { return Vec::new() };
    let whole = part.text();
    let cells = || first.cells.iter().filter(|cell| text::says_something(&cell.text, &[]) && is_word(&cell.text));
    // A column of its own, or the first that says anything.
    let own = cells().find(|cell| text::words(&cell.header).iter().any(|word| word == "verdict"));
    let start = own.or_else(|| cells().next()).map_or(first.text.as_str(), |cell| cell.text.as_str());
    let line = first.lines.iter().find(|line| is_word(&line.text)).map_or(first.line.max(part.line), |line| line.at);
    let not = |says: String| vec![Found::at(READINESS, line, says)];
    if !is_ready(start) {
        return not(format!("The verdict is “{}”, not READY.", excerpt(start)));
    }
    if first.open {
        return not(format!("The box of “{}” is not ticked.", excerpt(start)));
    }
    // Of boxes, one that is ticked decides; where none is, an open one is something to be done first.
    let boxes: Vec<Piece> = part.pieces().into_iter().filter(|piece| piece.open).collect();
    let open = boxes.iter().find(|piece| !first.ticked && !piece.text.is_empty());
    if let Some(open) = open {
        return not(format!("READY is taken back by the open box “{}”.", excerpt(&open.text)));
    }
    let rest = whole.split_once(start).map_or("", |(_, rest)| rest);
    let left_open: HashSet<&str> = boxes.iter().flat_map(|piece| piece.text.lines()).collect();
    let rest: Vec<&str> = rest.lines().filter(|line| !left_open.contains(line)).collect();
    match taken_back(start, &rest.join("\n")) {
        Some((by, sentence)) => not(format!("READY is taken back by “{by}”: “{}”.", excerpt(&sentence))),
        None => Vec::new(),
    }
}

fn is_word(text: &str) -> bool {
    let words = text::words(text);
    !words.is_empty() && words != ["verdict"] && words != ["status"]
}

/// What may stand beside the word: a label before it, a date after it.
#[rustfmt::skip]
const LABELS: &[&str] = &[
    "are", "change", "consider", "declare", "deem", "design", "everything", "find", "i", "is", "it", "judge", "our", "overall",
    "plan", "project", "result", "status", "the", "this", "to", "be", "verdict", "we", "work",
];
#[rustfmt::skip]
const BESIDE: &[&str] = &[
    "as", "of", "on", "for", "to", "the", "with", "ahead", "begin", "build", "building", "code", "coding", "develop",
    "development", "go", "implement", "implementation", "implementing", "move", "on", "phase", "proceed", "stage", "start",
    "starting", "utc", "work", "z",
];

/// What takes a verdict back, wherever it stands.
#[rustfmt::skip]
const TAKEN_BACK: &[&str] = &[
    "but", "except", "once", "unless", "provided", "only if", "not ready", "not yet ready", "as soon as",
    "assuming", "subject to", "apart from", "modulo", "however", "although", "though", "almost", "nearly",
    "on condition", "still open", "still need", "still needs", "still unclear",
];

/// The same, unless it is denied: `nothing is blocked`.
const STATES: &[&str] = &["pending", "blocked", "conditional", "conditionally"];

/// The same, in the verdict's own sentence, or where one that follows begins with it.
#[rustfmt::skip]
const BEGINNINGS: &[&str] = &[
    "if", "until", "when", "after", "before", "not", "only", "awaiting", "contingent", "depending", "depends", "draft", "tentative",
    "tentatively", "waiting",
];

/// The same, in the verdict's own sentence, unless it is denied: `no caveats`.
#[rustfmt::skip]
const BESIDE_IT: &[&str] = &[
    "caveat", "caveats", "condition", "conditions", "dependent", "depends", "exception", "exceptions", "excluded",
    "excluding", "needs", "open", "outstanding", "partial", "partially", "requires", "reservation", "reservations", "tba",
    "tbc", "tbd", "todo",
];

/// A label of what has to be there first.
#[rustfmt::skip]
const FIRST: &[&str] = &[
    "blocker", "blockers", "caveat", "caveats", "condition", "conditions", "precondition", "preconditions",
    "outstanding", "prerequisite", "prerequisites", "reservation", "reservations",
];

/// Whether a sentence is such a label, with something behind it or in the next: `Conditions: none` asks for nothing.
fn asks_first(sentence: &str, next: Option<&&str>) -> Option<&'static str> {
    let (label, value) = sentence.split_once(':').unwrap_or((sentence, ""));
    let words = text::words(label);
    // `No blockers` is no label.
    if words.first().is_some_and(|first| matches!(first.as_str(), "no" | "without" | "zero")) {
        return None;
    }
    let by = FIRST.iter().find(|by| words.len() <= 2 && words.last().is_some_and(|last| last == *by))?;
    let value = if value.contains(char::is_alphanumeric) { value } else { next.copied().unwrap_or_default() };
    let zero = text::words(value) == ["0"];
    (value.contains(char::is_alphanumeric) && !text::is_none(value) && !zero).then_some(by)
}

/// Whether the first sentence of a text is READY.
fn is_ready(text: &str) -> bool {
    let sentences = text::sentences(text);
    let Some(first) = sentences.first() else { return false };
    let mut clauses = first.split(['—', '–', ':', ';', '(', ',']).map(str::trim);
    let clause = clauses.find(|clause| {
        let words = text::words(clause);
        !words.is_empty() && !words.iter().all(|word| LABELS.contains(&word.as_str()))
    });
    // `Ready: no`, `❌ READY`, `READY (80 %)`
    let half = first.contains('%') && !text::words(first).iter().any(|word| word == "100");
    if half || first.contains(CROSSES) || clauses.next().is_some_and(is_no) {
        return false;
    }
    let Some(clause) = clause.map(|clause| clause.split(" - ").next().unwrap_or(clause)) else { return false };
    let words = text::words(clause);
    // `READY with no conditions`, `READY without reservations`: of what follows it is asked below.
    let denies =
        |at: usize| words[at] == "without" || words[at] == "with" && words.get(at + 1).is_some_and(|next| next == "no");
    let end = (0..words.len()).find(|at| denies(*at)).unwrap_or(words.len());
    let mut words = words[..end].iter().map(String::as_str).skip_while(|word| LABELS.contains(word));
    let beside = |word: &str| {
        let digits = word.starts_with(|c: char| c.is_ascii_digit());
        let month = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        digits || BESIDE.contains(&word) || word.len() >= 3 && month.iter().any(|name| word.starts_with(name))
    };
    words.next() == Some("ready") && words.all(beside) && !first.contains('?')
}

/// Marks of what is not so.
const CROSSES: [char; 9] = ['❌', '✗', '✘', '✖', '🔴', '🟡', '🚫', '⛔', '⚠'];

fn is_no(text: &str) -> bool {
    matches!(&text::words(text)[..], [one] if matches!(one.as_str(), "no" | "false" | "nope" | "not"))
}

/// The words that take READY back, and the sentence that they stand in.
fn taken_back(text: &str, after: &str) -> Option<(&'static str, String)> {
    let mut sentences = text::sentences(text);
    sentences.extend(text::sentences(after));
    sentences.iter().enumerate().find_map(|(n, sentence)| {
        let words = text::words(sentence);
        let denied = |at: usize| {
            let nothing = |word: &String| matches!(word.as_str(), "nothing" | "none");
            text::is_denied(&words, at) || words[at.saturating_sub(3)..at].iter().any(nothing)
        };
        let begins =
            |by: &str| words.first().is_some_and(|first| first == by) || n == 0 && text::has_phrase(&words, by);
        // `All pending questions were answered.`
        let past = text::says_any(&words, &["answered", "closed", "resolved", "settled"])
            && text::says_any(&words, &["all", "every"]);
        let state = |by: &str| !past && words.iter().enumerate().any(|(at, word)| word == by && !denied(at));
        if n > 0 && (later::is_marked(sentence) || n == 1 && is_no(sentence)) {
            return Some((if is_no(sentence) { "no" } else { "what is not done" }, (*sentence).to_owned()));
        }
        // `On 4 May it was NOT READY.`
        let was = text::says_any(&words, &["was not ready", "were not ready", "been not ready"]);
        let by = TAKEN_BACK.iter().find(|by| text::has_phrase(&words, by) && !(was && **by == "not ready"));
        let by = by.or_else(|| BESIDE_IT.iter().find(|by| n == 0 && state(by)));
        let by = by.or_else(|| ["to be", "to follow"].iter().find(|by| n == 0 && text::has_phrase(&words, by)));
        let by = by.or_else(|| STATES.iter().find(|by| state(by))).or_else(|| BEGINNINGS.iter().find(|by| begins(by)));
        let by = by.copied().or_else(|| asks_first(sentence, sentences.get(n + 1)));
        // `Build can start after the contract is signed.`
        let starts =
            |word: &String| matches!(word.as_str(), "begin" | "begins" | "commence" | "start" | "starts" | "proceed");
        let after = words.iter().position(starts).is_some_and(|at| words[at..].iter().any(|word| word == "after"));
        let by = by.or(after.then_some("after"));
        by.map(|by| (by, (*sentence).to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::taken_back;

    fn is_ready(text: &str, after: &str) -> bool {
        super::is_ready(text) && taken_back(text, after).is_none()
    }

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
            "READY. Nothing is blocked.",
            "READY. Open risks: none pending.",
            "READY. The page says so when the table has run out.",
            "READY (no conditions)",
            "READY, without reservations",
            "READY. The page is static and depends on nothing.",
            "READY. Outstanding: none.",
            "READY to proceed to BUILD. All criteria are covered.",
            "READY for implementation",
            "READY to go",
            "The project is READY.",
            "We are READY to build.",
            "We find the plan READY.",
            "READY with no conditions",
            "READY: no open questions",
            "READY. All pending questions were answered.",
            "READY. (On 4 May it was NOT READY for want of a way back.)",
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
            "READY by December",
            "READY. However, AC-3 cannot be built.",
            "READY. If the key arrives.",
            "READY. The tests are pending.",
            "NOT READY, or READY",
            "READY (with conditions)",
            "READY, contingent on approval",
            "READY — awaiting sign-off by legal",
            "READY: waiting for approval",
            "READY — depends on AC-3",
            "READY (AC-3 to be confirmed)",
            "READY (TBC)",
            "READY - TBD",
            "READY (draft)",
            "READY. Outstanding: AC-3 has no test.",
            "READY: No",
            "Ready to build: no",
            "❌ READY",
            "READY (80 %)",
            "READY with changes",
            "READY for review",
            "READY\nTODO: the test of AC-2",
            "READY\nNo",
            "READY. Build may commence after the team has delivered the extract.",
            "READY. Before we start, the museum must confirm the texts.",
        ] {
            assert!(!is_ready(text, ""), "{text}");
        }
        assert!(is_ready("READY", "\nThere is nothing pending."));
        for after in [
            "Conditions: none.",
            "Conditions\nNone.",
            "Caveats\nThere are no open questions.",
            "Conditions",
            "No blockers\nAC-2 is done.",
            "Blockers: 0",
        ] {
            assert!(is_ready("READY", after), "{after}");
        }
        for after in
            ["Conditions\nThe key arrives.", "Conditions: the key arrives.", "Open blockers:\nAC-2 has no test."]
        {
            assert!(!is_ready("READY", after), "{after}");
        }
        for after in [
            "as soon as AC-2 has a test",
            "Assuming the key arrives.",
            "Conditional on the key.",
            "Until AC-2 is proven, do not build.",
        ] {
            assert!(!is_ready("READY", after), "{after}");
        }
        assert_eq!(taken_back("READY", "Not ready.").map(|(by, _)| by), Some("not ready"));
        assert!(!is_ready("READY", "\nOnly if the key arrives; provided that it does."));
    }
}
