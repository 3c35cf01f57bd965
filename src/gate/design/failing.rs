//! Whether an integration says what happens when it fails.

use super::super::paper::Piece;
use super::super::paper::text::{self, is_none};
use super::super::papers::{DESIGN, Desk, Found, excerpt};
use super::said;

pub(super) fn unsaid(desk: &Desk<'_>) -> Vec<Found> {
    let Some(part) = desk.design.as_ref().and_then(|paper| said(paper, "External Integrations")) else {
        return Vec::new();
    };
    if part.is_answered_none() {
        return Vec::new();
    }
    // `Others`, and below it `None.`
    let none_below = |item: &Piece| {
        let mut below = item.text.lines().skip(1).peekable();
        below.peek().is_some() && below.all(is_none)
    };
    let items = part
        .described()
        .into_iter()
        .filter(|item| !is_none(&item.text) && !none_below(item) && !is_no_integration(&item.text));
    // A part of its own that says it of each, or of all at once.
    let apart = part.sub_of(|words| words.iter().any(|word| is_failing(word) || word == "fallback"));
    let apart: Vec<Piece> = apart.map(|part| part.pieces()).unwrap_or_default();
    let silent = items.filter(|item| !is_answered(item) && !apart.iter().any(|piece| is_about(piece, item)));
    silent
        .map(|item| {
            let says = format!("“{}” does not say what happens when it fails.", excerpt(&item.text));
            Found::at(DESIGN, item.line, says)
        })
        .collect()
}

/// `DATEV is a file, no live integration.`
fn is_no_integration(text: &str) -> bool {
    let words = text::words(text);
    let last = words.iter().rposition(|word| matches!(word.as_str(), "integration" | "integrations" | "integrated"));
    last.is_some_and(|at| at + 1 == words.len() && text::is_denied(&words, at))
}

fn is_answered(item: &Piece) -> bool {
    let in_column = item.cells.iter().any(|cell| {
        let words = text::words(&cell.header);
        let column =
            words.iter().any(|word| is_failing(word) || word == "fallback") || text::has_phrase(&words, "time out");
        column && is_answer(&cell.text)
    });
    // `| what | fails how | then |`
    let consequence = item.cells.iter().any(|cell| {
        let after = matches!(
            text::words(&cell.header).first().map(String::as_str),
            Some("then" | "so" | "handling" | "reaction")
        );
        after && is_answer(&cell.text)
    });
    // Where a column for it is left empty, none of the others says it.
    let left_empty = item.cells.iter().any(|cell| {
        text::words(&cell.header).iter().any(|word| is_failing(word)) && !text::says_something(&cell.text, &[])
    });
    let all = item.all_text();
    let sentences = text::sentences(&all);
    // What stands below `Failure handling`, or beside it, is about failing.
    let below = || sentences.windows(2).any(|two| is_label(two[0]) && is_answer(two[1]));
    in_column
        || consequence && !left_empty
        || sentences.iter().any(|sentence| answers(sentence))
        || item.cells.is_empty() && below()
}

/// Whether a piece below `Failure handling` says what is done about an integration: it names it, or speaks of all of them.
fn is_about(piece: &Piece, item: &Piece) -> bool {
    let start = item.start();
    let label = start.split_once([':', '—', '–', '.']).map_or(start, |(label, _)| label);
    let (names, said) = (text::names(label), text::words(&piece.text));
    let all = said.iter().any(|word| matches!(word.as_str(), "all" | "any" | "both" | "each" | "every"));
    let rest: Vec<&String> = said.iter().filter(|word| !names.contains(*word)).collect();
    (all || names.iter().any(|name| said.contains(name)))
        && text::says_something(&piece.text, &[])
        && !text::is_empty_label(&piece.text)
        && rest.iter().any(|word| !is_failing(word) && !AROUND.contains(&word.as_str()))
}

/// `Failure handling`, `When it is down`: words of failing, and none that says what is done.
fn is_label(sentence: &str) -> bool {
    #[rustfmt::skip]
    const BESIDE: &[&str] = &[
        "case", "cases", "goes", "handling", "if", "in", "is", "it", "mode", "modes", "of", "on", "or", "and", "the",
        "when",
    ];
    let words = text::words(sentence);
    !sentence.ends_with('.')
        && words.iter().any(|word| is_failing(word) || word == "fallback")
        && words.iter().all(|word| is_failing(word) || word == "fallback" || BESIDE.contains(&word.as_str()))
}

fn is_answer(text: &str) -> bool {
    let words = text::words(text);
    text::says_something(text, &[])
        && !is_none(text)
        && words.iter().any(|word| !is_failing(word) && word != "silently")
}

fn is_failing(word: &str) -> bool {
    const STARTS: &[&str] = &[
        "fail",
        "error",
        "timeout",
        "outage",
        "reject",
        "limit",
        "unavailab",
        "unreach",
        "offline",
        "invalid",
        "downtime",
        "unplug",
        "disconnect",
        "refus",
        "broken",
        "crash",
        "unable",
        "absent",
        "conflict",
        "corrupt",
        "degrad",
        "expire",
        "hang",
        "interrupt",
        "malform",
        "nonzero",
        "stall",
        "throttl",
        "unknown",
    ];
    let status = || word.len() == 3 && word.starts_with(['4', '5']) && word.bytes().all(|b| b.is_ascii_digit());
    matches!(
        word,
        "4xx"
            | "5xx"
            | "bad"
            | "dead"
            | "dies"
            | "down"
            | "lost"
            | "loss"
            | "timed"
            | "cannot"
            | "cant"
            | "gone"
            | "late"
            | "missing"
            | "slow"
            | "wrong"
    ) || status()
        || STARTS.iter().any(|start| word.starts_with(start))
}

/// What is done about it, and needs no more words of failing.
fn is_remedy(word: &str) -> bool {
    matches!(word, "backoff" | "breaker" | "failover" | "fallback" | "retried" | "retries" | "retry" | "retrying")
        || ["reconnect", "resend", "resent"].iter().any(|start| word.starts_with(start))
}

/// Words that stand around a word of failing and say nothing about it.
#[rustfmt::skip]
const AROUND: &[&str] = &[
    "a", "an", "and", "api", "are", "be", "by", "can", "case", "cases", "could", "does", "failure", "for",
    "goes", "handled", "handles", "handling", "has", "if", "in", "is", "it", "its", "may", "might", "mode",
    "modes", "of", "often", "on", "or", "out", "possible", "rate", "rarely", "service", "silently",
    "sometimes", "that", "the", "then", "this", "to", "was", "we", "when", "will", "with",
];

/// A sentence with a word of failing, and something that is said about it: after the word, or before it where it is a
/// condition (`retried when it is down`).
fn answers(sentence: &str) -> bool {
    #[rustfmt::skip]
    const OPEN: &[&str] = &[
        "do not know", "dont know", "handled accordingly", "handled appropriately", "handled properly", "needs to be",
        "not clear", "not decided", "not sure", "still unclear", "to be agreed", "to be clarified", "to be decided",
        "to be defined", "to be discussed", "unclear what", "unclear how", "will be added", "will be decided",
        "will be defined", "will be described", "will be designed", "will be specified",
    ];
    let words = text::words(&sentence.replace("n/a", " ").replace("N/A", " "));
    if text::says_any(&words, OPEN) {
        return false;
    }
    // `no answer means that we keep the local clock`
    if text::says_any(&words, &["no answer", "no reply", "no response", "non zero"]) && words.len() > SILENT {
        return true;
    }
    // `When Stripe does not answer within 5 s, the hold is released.`
    let condition =
        words.iter().position(|word| matches!(word.as_str(), "if" | "when" | "whenever" | "while" | "without"));
    let denied = |at: usize| {
        let end = words.len().min(at + 1 + NEAR);
        words[at..end].iter().any(|word| {
            matches!(word.as_str(), "not" | "no" | "never" | "nothing" | "without")
                || word.len() > 4 && word.ends_with("nt")
        })
    };
    if condition.is_some_and(denied) && words.len() > SPOKEN {
        return true;
    }
    let speaks = |word: &String| !is_failing(word) && !AROUND.contains(&word.as_str());
    let speaking: Vec<usize> = words.iter().enumerate().filter(|(_, word)| speaks(word)).map(|(at, _)| at).collect();
    let before = |at: usize| speaking.partition_point(|place| *place < at);
    words.iter().enumerate().any(|(at, word)| {
        let times_out =
            word == "out" && at > 0 && matches!(words[at - 1].as_str(), "time" | "times" | "timing" | "timed");
        if !is_failing(word) && !is_remedy(word) && !times_out {
            return false;
        }
        if words.get(at + 1).is_some_and(|next| next == "silently") {
            return false;
        }
        // Looked at with the words around it: `to be determined` is one placeholder.
        let after = &words[at + 1..words.len().min(at + 1 + ENOUGH)];
        if before(at + 1 + after.len()) > before(at + 1) && !text::holds_place(after, AROUND) {
            return true;
        }
        let conditions = ["on", "if", "when", "while", "upon", "after", "during", "case"];
        let near = (at.saturating_sub(4)..at).rfind(|place| conditions.contains(&words[*place].as_str()));
        near.is_some_and(|from| before(from) >= 2)
    })
}

/// More words than say only that there is no answer.
const SILENT: usize = 6;

/// So near to a condition stands what is not so in it.
const NEAR: usize = 6;

/// More words than a condition alone has.
const SPOKEN: usize = 7;

/// So many words are looked at to see whether anything is said about a failure.
const ENOUGH: usize = 50;

#[cfg(test)]
mod tests {
    use super::answers;

    #[test]
    fn a_word_of_failing_alone_says_nothing() {
        for text in [
            "on failure: retry three times",
            "Retried twice on failure.",
            "when it is down, the queue waits",
            "a banner is shown if it is unreachable",
            "times out after 5 s",
            "rate limit 5000 per hour",
            "offline: cached prices",
            "invalid tokens end the session",
            "if the connection cannot be made, the service refuses to start",
            "when unplugged, the daemon exits and systemd restarts it",
            "no answer means we keep the local clock",
            "When Stripe does not answer within 5 s the hold is released",
            "Non-zero exit, or more than 8 minutes: that is an alarm",
            "If it's missing: print its last line and exit with 2",
            "429: back off for a minute",
        ] {
            assert!(answers(text), "{text}");
        }
        for text in [
            "takes payments and may fail",
            "fails silently",
            "error: n/a",
            "error handling: TBD",
            "error handling: to be determined",
            "Error handling: to be defined later",
            "on failure still TBD",
            "failure handling not defined yet",
            "errors: unknown",
            "It can time out.",
            "takes payments",
            "Error handling still needs to be discussed.",
            "We do not know yet what to do when it is down.",
            "What happens when it is down is not clear yet.",
            "Failures will be handled appropriately.",
            "Failure handling will be added during implementation.",
            "When it is not there.",
        ] {
            assert!(!answers(text), "{text}");
        }
    }
}
