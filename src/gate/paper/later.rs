//! What puts a thing off: a mark of unfinished work, or words that leave something out.

use super::seen;
use super::text::{has_phrase, words};

/// Words after which `to be decided` is still no decision: who, when, on what condition.
#[rustfmt::skip]
const WHO_AND_WHEN: &[&str] = &[
    "after", "at", "before", "by", "during", "in", "later", "next", "once", "soon", "when", "with",
];

#[rustfmt::skip]
const TO_BE: &[&str] = &[
    "added", "agreed", "announced", "clarified", "completed", "confirmed", "decided", "defined", "described", "designed",
    "determined", "discussed", "documented", "done", "drafted", "filled", "finalised", "finalized", "modelled", "planned",
    "provided", "refined", "settled", "specified", "supplied", "written",
];

/// Of those what is said of no product: `will be written in Rust` tells something, `will be decided in May` does not.
#[rustfmt::skip]
const OPEN: &[&str] = &[
    "added", "agreed", "clarified", "confirmed", "decided", "defined", "designed", "determined", "discussed", "drafted",
    "finalised", "finalized", "refined", "settled", "specified",
];

/// Occasions at which something is to be decided.
#[rustfmt::skip]
const OCCASIONS: &[&str] = &[
    "build", "building", "call", "coding", "contract", "design", "development", "friday", "implementation", "interview", "iteration", "kickoff", "launch", "meeting",
    "monday", "month", "phase", "quarter", "review", "sprint", "thursday", "tuesday", "wednesday", "week", "workshop",
];

/// What people do with what they have not done yet.
#[rustfmt::skip]
const WORK: &[&str] = &[
    "add", "agree", "analyse", "analyze", "clarify", "collect", "complete", "confirm", "decide", "define", "describe",
    "design", "determine", "discuss", "document", "draft", "figure", "fill", "finish", "gather", "investigate", "model",
    "outline", "plan", "refine", "research", "settle", "specify", "think", "work", "write",
];

/// Whether words name a time to come: `later`, `after the kickoff`, `in the design phase`.
fn names_a_time(words: &[String]) -> bool {
    let is = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    is(&["later", "soon", "tomorrow"])
        || is(&["after", "at", "before", "during", "in", "next", "with"]) && is(OCCASIONS)
}

fn is_participle(word: &str) -> bool {
    word.len() > 4 && ["ed", "en", "wn", "lt"].iter().any(|end| word.ends_with(end))
}

/// Whether words say of what the heading asks for that it is still to come: `Will be defined in the design phase`, `Not yet
/// designed`, `Still to be analysed`, `We will write this up tomorrow`.
pub fn is_put_off(said: &[String], heading: &[String]) -> bool {
    #[rustfmt::skip]
    const BEFORE: &[&str] = &[
        "are", "be", "been", "has", "have", "is", "it", "must", "need", "needs", "not", "shall", "should", "still", "that",
        "the", "these", "they", "this", "to", "will", "yet",
    ];
    if let [who, will, work, rest @ ..] = said
        && matches!((who.as_str(), will.as_str()), ("we" | "i" | "somebody" | "someone", "will" | "shall"))
    {
        return WORK.contains(&work.as_str()) && names_a_time(rest);
    }
    if said.first().is_some_and(|first| first == "fill") && names_a_time(said) {
        return true;
    }
    if let [to, follow, rest @ ..] = said
        && to == "to"
        && follow == "follow"
    {
        return rest.first().is_none_or(|next| WHO_AND_WHEN.contains(&next.as_str()));
    }
    let begins = |word: &&String| BEFORE.contains(&word.as_str()) || heading.contains(word);
    let (before, rest) = said.split_at(said.iter().take_while(begins).count());
    let has = |words: &[String], one: &str| words.iter().any(|word| word == one);
    let [done, rest @ ..] = rest else { return false };
    let alone = rest.is_empty() || matches!(rest, [yet] if yet == "yet");
    // `Not yet modelled`, `Not analysed yet`, `Still to be analysed`, `To be collected`
    let not_yet = has(before, "not") && (has(before, "yet") || has(rest, "yet"));
    let to_be = has(before, "to") && has(before, "be");
    if alone
        && is_participle(done)
        && (not_yet || to_be && (before.len() == 2 || has(before, "still") || has(before, "yet")))
    {
        return true;
    }
    let comes = has(before, "be") || has(before, "yet");
    let when = |word: &String| WHO_AND_WHEN.contains(&word.as_str()) && !matches!(word.as_str(), "by" | "with");
    comes
        && (OPEN.contains(&done.as_str()) && rest.first().is_none_or(when)
            || is_participle(done) && will_work(done) && names_a_time(rest))
}

/// `worked out`, `collected`, `analysed`: the work of those who write the paper, not of the product.
fn will_work(done: &str) -> bool {
    WORK.iter().any(|work| {
        let stem = work.trim_end_matches('e');
        done.strip_prefix(stem).is_some_and(|end| matches!(end, "ed" | "ned" | "led" | "ied"))
    }) || matches!(done, "written" | "filled" | "modelled")
}

/// Whether a sentence is marked as unfinished: at its beginning, where what follows says who, when or why, and not what is
/// asked for (`TODO(kim): describe it`, `TBD by Kim`, `To be confirmed by Friday`); or at its end, set off from the rest
/// (`AWS or GCP, to be decided`, `Postgres (TBD)`).
pub fn is_marked(sentence: &str) -> bool {
    begins_marked(sentence) || ends_marked(sentence)
}

fn ends_marked(sentence: &str) -> bool {
    let end = sentence.trim_end_matches(|c: char| !c.is_alphanumeric());
    let Some((before, mark)) = end.rsplit_once([',', ';', '(', '[', '–', '—']) else { return false };
    before.contains(char::is_alphanumeric)
        && match &words(mark)[..] {
            [one] => matches!(one.as_str(), "tbd" | "tba" | "tbc" | "undecided"),
            [to, be, done] => to == "to" && be == "be" && TO_BE.contains(&done.as_str()),
            _ => false,
        }
}

fn begins_marked(sentence: &str) -> bool {
    let start = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = start.find(|c: char| !c.is_alphanumeric()).unwrap_or(start.len());
    let (mark, rest) = start.split_at(end);
    match seen::word(mark).as_str() {
        "tbd" | "tba" | "tbc" | "fixme" => true,
        "todo" | "wip" => is_loud(mark) || is_owner(rest) || rest.trim_start().starts_with('@'),
        "to" => match &words(sentence)[..] {
            [_, be, done] => be == "be" && TO_BE.contains(&done.as_str()),
            [_, be, done, next, ..] => {
                be == "be" && TO_BE.contains(&done.as_str()) && WHO_AND_WHEN.contains(&next.as_str())
            }
            _ => false,
        },
        _ => false,
    }
}

/// `(kim)`: one word in parentheses.
fn is_owner(rest: &str) -> bool {
    rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).is_some_and(|(inside, _)| words(inside).len() == 1)
}

/// Whether `TODO` stands in a text in capitals. In small letters it may be what the product is about.
pub fn has_loud_todo(text: &str) -> bool {
    let mut tokens = text.split(|c: char| !c.is_alphanumeric());
    tokens.any(|token| is_loud(token) && seen::word(token) == "todo")
}

fn is_loud(word: &str) -> bool {
    !word.is_empty() && !word.chars().any(char::is_lowercase)
}

/// What says that a thing is not for now.
#[rustfmt::skip]
const LEFT_OUT: &[&str] = &[
    "after launch", "after release", "cancelled", "canceled", "cut", "deferred", "delayed", "descoped", "dropped",
    "excluded", "future work", "if time allows", "if time permits", "later", "maybe", "nice to have", "not planned",
    "left out", "not be built", "not be done", "not be included", "not built", "not done", "not implemented",
    "not included", "omitted", "on hold", "optional", "out of scope", "parked", "postponed", "rejected", "removed",
    "ruled out", "skipped", "someday", "tba", "tbc", "tbd", "to be decided", "withdrawn", "wont be built", "wont do",
];

/// Words beside those that name nothing.
#[rustfmt::skip]
const BESIDE: &[&str] = &[
    "a", "all", "and", "are", "be", "been", "both", "for", "has", "have", "in", "is", "it", "its", "iteration",
    "milestone", "next", "now", "of", "only", "phase", "release", "so", "sprint", "that", "the", "they", "this", "to",
    "until", "v1", "v2", "version", "was", "we", "were", "will",
];

/// Whether words say that a thing is left out, and nothing else.
pub fn only_puts_off(said: &[String]) -> bool {
    let found = LEFT_OUT.iter().any(|phrase| has_phrase(said, phrase));
    let known = |word: &String| {
        BESIDE.contains(&word.as_str())
            || word.bytes().all(|b| b.is_ascii_digit())
            || LEFT_OUT.iter().any(|phrase| phrase.split(' ').any(|part| word == part))
    };
    found && said.iter().all(known)
}

/// Whether a label says that what stands below it is left out: `Not included:`, `Out of scope for now:`.
pub fn leaves_out(label: &[String]) -> bool {
    LEFT_OUT.iter().chain(&["non goals", "not in"]).any(|phrase| has_phrase(label, phrase))
}

/// Whether what is said after a thing's name takes it back: `Alerts: deferred`, `are out of scope`, `will be added later`.
pub fn takes_back(after: &[String]) -> bool {
    #[rustfmt::skip]
    const PREDICATES: &[&str] = &[
        "out of scope", "future work", "is deferred", "are deferred", "is postponed", "are postponed",
        "is planned for", "are planned for", "added after", "rejected all", "rejected both",
        "are rejected", "is rejected", "not part of", "after launch", "nice to have",
    ];
    only_puts_off(after)
        || PREDICATES.iter().any(|phrase| has_phrase(after, phrase))
        || after.last().is_some_and(|last| last == "later")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_one_whatever_follows() {
        for text in [
            "TODO(kim): describe the problem",
            "TODO @kim",
            "TBD by Kim",
            "tbd (Kim to provide)",
            "**TBD** - see ticket",
            "TBD: waiting for product",
            "WIP - Kim",
            "To be announced",
            "To be confirmed by Kim",
            "To be designed later.",
            "AWS or GCP, to be decided.",
            "**Postgres** (TBD)",
        ] {
            assert!(is_marked(text), "{text}");
        }
        for text in [
            "Todo: text, done",
            "todo(text, done)",
            "todo lists are shared",
            "To be stored in SQLite",
            "To be added to the cart, it",
            "Fly.io (region TBD)",
            "It lists what is still to be decided.",
        ] {
            assert!(!is_marked(text), "{text}");
        }
        assert!(has_loud_todo("the model is TODO") && !has_loud_todo("A todo list"));
    }

    #[test]
    fn what_is_left_out_is_not_there() {
        for text in ["dropped", "is out of scope", "deferred to phase 2", "If time permits:", "nice to have", "later"] {
            assert!(only_puts_off(&words(text)), "{text}");
        }
        for text in ["dropped messages raise an alert", "tests/deferred_jobs.rs", "this and that", "the first version"]
        {
            assert!(!only_puts_off(&words(text)), "{text}");
        }
        for text in ["and alerting are out of scope", "deferred", "will be added after launch", "later"] {
            assert!(takes_back(&words(text)), "{text}");
        }
        for text in ["go to Loki", "raise an alert when a message is dropped twice", "are read by whoever is on call"] {
            assert!(!takes_back(&words(text)), "{text}");
        }
    }
}
