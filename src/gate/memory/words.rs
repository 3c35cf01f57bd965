//! What words tell: a proposal, a prescription, a proof.

use super::paths::paths;
use crate::finding::{GateName, Verdict};
use crate::flow::Phase;
use crate::gate::paper::text::says_something;
use crate::ledger::State;
use crate::ledger::memory::is_nothing;
use crate::ledger::snapshot;

/// The text without what stands in code or quotation marks: that is somebody else's words.
fn own_words(text: &str) -> String {
    let mut out = String::new();
    let mut inside: Option<char> = None;
    for c in text.chars() {
        let closes = match inside {
            Some('“') => c == '”',
            Some(open) => c == open,
            None => false,
        };
        match inside {
            Some(_) if closes => inside = None,
            Some(_) => {}
            None if matches!(c, '`' | '"' | '“') => {
                inside = Some(c);
                out.push(' ');
            }
            None => out.push(c),
        }
    }
    out
}

/// Words that propose, wherever they stand.
const PROPOSALS: [&str; 59] = [
    "should create",
    "should write",
    "should implement",
    "you must",
    "you need to",
    "you have to",
    "should use",
    "should add",
    "should change",
    "we should",
    "you should",
    "we must",
    "we need to",
    "needs to be changed",
    "needs to be rewritten",
    "needs refactoring",
    "needs a rewrite",
    "i recommend",
    "i suggest",
    "i propose",
    " i would ",
    " i'd ",
    "recommend to",
    "recommendation:",
    "suggestion:",
    "proposal:",
    "let's ",
    "the fix is to",
    "the fix would be",
    "the solution is to",
    "the remedy is to",
    "a fix is to",
    "it would be better",
    "would be better to",
    "would be better with",
    "has to go into",
    "should go into",
    "it is better to",
    "better to use",
    "might want to",
    "may want to",
    "can be fixed by",
    "could be fixed by",
    "why not use",
    "let us ",
    "we propose",
    "we suggest",
    "we recommend",
    "we need a",
    "one has to",
    "one must",
    "one should",
    "ought to fix",
    "ought to change",
    "ought to add",
    "is necessary to add",
    "will want to",
    "the correct code",
    "the right code",
];
/// What proposes where an order follows: `the next step is rewriting it`, and not `the next step is the header`.
const TOWARD: [&str; 6] =
    ["must now ", " best to ", "next step is ", "next step is to ", "it is necessary to ", "it would be necessary to "];
/// What could be done is proposed, and what could be seen is told.
const POSSIBLE: [&str; 2] = ["we could ", " one could "];
const SEEN: [&str; 14] = [
    "confirm",
    "explain",
    "find",
    "get",
    "measure",
    "never",
    "neither",
    "not",
    "observe",
    "only",
    "rarely",
    "read",
    "reproduce",
    "see",
];
/// A duty proposes where nothing is told beside it: `the status should be 200 and is 500` is what is unmet.
const OUGHT: [&str; 4] = ["should have been", "should be", "should not", "shouldn't"];
/// What is, held against what ought to be.
const UNMET: [&str; 29] = [
    " returns ",
    " and should be ",
    " where it should",
    " and is ",
    " but is ",
    ", is ",
    " and was ",
    " but was ",
    ", was ",
    " and are ",
    " but are ",
    " but were ",
    " and returns ",
    " but returns ",
    " and has ",
    " but has ",
    " but there ",
    " and does ",
    " but does ",
    " but it ",
    " and it ",
    " got ",
    " instead it ",
    " actual",
    "expected",
    "according to",
    " says ",
    " asks ",
    " requires ",
];

/// The words of a proposal, if there are any.
pub(super) fn proposes(text: &str) -> Option<&'static str> {
    let lower = format!(" {}", own_words(text).to_lowercase().replace('’', "'"));
    if let Some(words) = PROPOSALS.into_iter().find(|words| lower.contains(words)) {
        return Some(words.trim());
    }
    let text = lower.as_str();
    let after = |words: &'static str| {
        text.match_indices(words).map(move |(at, _)| (words, first_word(&text[at + words.len()..])))
    };
    let orders = |next: &str| {
        ORDERS.contains(&next)
            || MORE_ORDERS.contains(&next)
            || MAKES.contains(&next)
            || next == "make"
            || is_doing(next)
    };
    let toward = TOWARD.into_iter().flat_map(after).find(|(_, next)| orders(next));
    let possible = || POSSIBLE.into_iter().flat_map(after).find(|(_, next)| !SEEN.contains(next));
    if let Some((words, _)) = toward.or_else(possible) {
        return Some(words.trim());
    }
    // A full stop within a number or a name ends no sentence.
    let sentences = lower.split(". ").flat_map(|part| part.split(';'));
    sentences.flat_map(|sentence| OUGHT.into_iter().map(move |words| (sentence, words))).find_map(
        |(sentence, words)| {
            let at = sentence.find(words)?;
            let next = sentence[at + words.len()..].split_whitespace().next().unwrap_or_default();
            let told = UNMET.iter().any(|unmet| sentence.contains(unmet)) && !is_done(next);
            (!told).then_some(words)
        },
    )
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-')).find(|word| !word.is_empty()).unwrap_or_default()
}

/// What a verifier prescribes: a change of code, in the imperative.
const ORDERS: [&str; 36] = [
    "apply",
    "update",
    "commit",
    "replace",
    "rewrite",
    "refactor",
    "rename",
    "remove",
    "delete",
    "implement",
    "fix",
    "move",
    "change",
    "add",
    "use",
    "revert",
    "swap",
    "extract",
    "introduce",
    "inline",
    "wrap",
    "split",
    "convert",
    "switch",
    "patch",
    "rework",
    "restructure",
    "simplify",
    "migrate",
    "upgrade",
    "downgrade",
    "drop",
    "modify",
    "edit",
    "cache",
    "correct",
];
/// More of them, which also begin a step to find out, or what somebody did to see it fail.
const MORE_ORDERS: [&str; 44] = [
    "increase",
    "decrease",
    "reduce",
    "lower",
    "raise",
    "return",
    "guard",
    "set",
    "call",
    "handle",
    "put",
    "enable",
    "disable",
    "ensure",
    "initialise",
    "initialize",
    "lock",
    "unlock",
    "release",
    "catch",
    "validate",
    "sanitise",
    "sanitize",
    "escape",
    "pin",
    "bump",
    "install",
    "configure",
    "retry",
    "await",
    "protect",
    "limit",
    "extend",
    "shorten",
    "skip",
    "bypass",
    "mock",
    "store",
    "avoid",
    "insert",
    "override",
    "declare",
    "define",
    "register",
];
/// Orders to make something that was not there. They are orders also where it is said how to find something out.
const MAKES: [&str; 14] = [
    "write", "create", "document", "merge", "produce", "generate", "fill", "build", "give", "provide", "include",
    "combine", "restore", "complete",
];
/// What is made without an article.
const MADE_BARE: [&str; 5] = ["test", "tests", "code", "docs", "documentation"];
/// Orders that nobody gives to find something out: what they change stays changed.
const LASTING: [&str; 21] = [
    "apply",
    "update",
    "upgrade",
    "downgrade",
    "move",
    "patch",
    "convert",
    "split",
    "commit",
    "wrap",
    "rewrite",
    "refactor",
    "rename",
    "implement",
    "extract",
    "inline",
    "rework",
    "restructure",
    "simplify",
    "migrate",
    "correct",
];
/// What is brought in to find something out, and taken out again.
const INSTRUMENTS: [&str; 27] = [
    "log",
    "logging",
    "print",
    "printf",
    "println",
    "trace",
    "tracing",
    "breakpoint",
    "counter",
    "timer",
    "timestamp",
    "assert",
    "assertion",
    "probe",
    "delay",
    "sleep",
    "test",
    "case",
    "dump",
    "line",
    "flag",
    "option",
    "watch",
    "span",
    "metric",
    "debug",
    "sample",
];
/// Words of somebody who has mended it.
const MENDED: [&str; 5] = ["it works", "works now", "is fixed", "is mended", "is gone"];
/// What makes a step one to find something out.
const LOOKS: [&str; 32] = [
    "run",
    "rerun",
    "re-run",
    "compare",
    "look",
    "see",
    "check",
    "whether",
    "observe",
    "measure",
    "log",
    "print",
    "trace",
    "debug",
    "debugger",
    "breakpoint",
    "reproduce",
    "count",
    "watch",
    "inspect",
    "confirm",
    "verify",
    "again",
    "locally",
    "temporarily",
    "alone",
    "twice",
    "once",
    "bisect",
    "profile",
    "capture",
    "repeat",
];
/// What came of something that somebody did.
const CAME_OF_IT: [&str; 14] = [
    "fails", "failed", "still", "answers", "gives", "got", "raises", "shows", "prints", "returned", "instead",
    "expected", "but", "crashes",
];
/// What an order is about begins with one of these, or with code. `Use of a stale cache` is no order.
const ABOUT: [&str; 15] =
    ["the", "a", "an", "one", "this", "that", "it", "all", "each", "every", "its", "their", "some", "to", "both"];
/// What `make it …` makes of it. `Make a request and compare` is a look.
const MADE: [&str; 27] = [
    "return",
    "use",
    "accept",
    "take",
    "be",
    "throw",
    "raise",
    "call",
    "read",
    "write",
    "keep",
    "async",
    "private",
    "public",
    "optional",
    "static",
    "lazy",
    "atomic",
    "const",
    "immutable",
    "int",
    "integer",
    "float",
    "string",
    "nullable",
    "required",
    "constant",
];
/// Words before an order that leave it one.
const SOFT: [&str; 24] = [
    "please",
    "then",
    "first",
    "next",
    "now",
    "just",
    "simply",
    "instead",
    "also",
    "so",
    "therefore",
    "or",
    "kindly",
    "better",
    "to",
    "todo",
    "fixme",
    "=>",
    "->",
    "→",
    "*",
    "-",
    "•",
    "finally",
];
/// Advice to do something, which follows as `replacing`.
const ADVICE: [&str; 6] = ["consider", "try", "suggest", "recommend", "propose", "worth"];
/// Advice that comes as a fact.
const DUTIES: [&str; 8] =
    ["needs to be", "need to be", "has to be", "have to be", "must be", "ought to be", "could be", "can be"];
const DONE: [&str; 16] = [
    "cleared",
    "flushed",
    "replaced",
    "rewritten",
    "removed",
    "deleted",
    "renamed",
    "added",
    "changed",
    "refactored",
    "swapped",
    "extracted",
    "moved",
    "split",
    "wrapped",
    "reworked",
];

fn is_done(word: &str) -> bool {
    DONE.iter().any(|done| word.starts_with(done))
}

/// `replacing`, of one of the orders.
fn is_doing(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphabetic());
    let Some(stem) = bare.strip_suffix("ing") else { return false };
    let doubled = stem.len() > 2 && stem.as_bytes()[stem.len() - 1] == stem.as_bytes()[stem.len() - 2];
    let single = if doubled { stem.get(..stem.len() - 1).unwrap_or(stem) } else { stem };
    ORDERS
        .iter()
        .chain(&["make"])
        .any(|order| *order == stem || order.strip_suffix('e') == Some(stem) || *order == single)
}

/// The words that prescribe how to change the code, if there are any. Where it is said how to find something out (`looking`), a step
/// that ends in a look is what is asked for: to remove the cache and run it again changes nothing for good.
pub(super) fn prescribes(text: &str, looking: bool) -> Option<String> {
    if let Some(words) = proposes(text) {
        return Some(words.to_owned());
    }
    let own = own_words(text);
    let whole = text.to_lowercase();
    // A call is code, also without its marks.
    let lower = calls_marked(&own.to_lowercase()).replace("todo:", "todo").replace("fixme:", "fixme");
    let has = |text: &str, words: &[&str]| {
        let mut said = text.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        said.any(|word| words.contains(&word))
    };
    let looks = has(&lower, &LOOKS);
    // Who sees that it works has mended it.
    let tried = looking && looks && !MENDED.iter().any(|words| lower.contains(words));
    for duty in DUTIES {
        for (at, _) in lower.match_indices(duty) {
            let next = lower[at + duty.len()..].split_whitespace().next().unwrap_or_default();
            if is_done(next) {
                return Some(format!("{duty} {next}"));
            }
        }
    }
    let words: Vec<&str> = lower.split_whitespace().collect();
    let advised = words.windows(2).find(|two| ADVICE.iter().any(|one| two[0].starts_with(one)) && is_doing(two[1]));
    if let Some(two) = advised.filter(|_| !tried) {
        return Some(two.join(" "));
    }
    // An order begins its sentence, or goes on behind an `and`.
    let orders = lower.split(['.', ';']).flat_map(|sentence| {
        // A remark behind it takes no order back; what came of it stands in its own sentence.
        let told = has(sentence, &LOOKS) || has(sentence, &CAME_OF_IT);
        let parts = sentence.split([':', ',', '(', '–', '—']).flat_map(|part| part.split(" and "));
        parts.map(str::trim_start).filter_map(move |part| Some((ordered(part, looking, told)?, part)))
    });
    let mut orders = orders.filter(|(order, part)| !tried || lasts(order, part, &whole));
    orders.next().map(|(order, _)| order.to_owned())
}

/// Whether what an order changes stays changed. What is brought in to look with is taken out again; what is deleted by its path is
/// a file of the project.
fn lasts(order: &str, part: &str, text: &str) -> bool {
    let mut said = part.split(|c: char| !c.is_alphanumeric());
    match order {
        "add" | "introduce" => {
            !said.any(|word| INSTRUMENTS.iter().any(|one| word.strip_suffix('s').unwrap_or(word) == *one))
        }
        "remove" | "delete" | "drop" => {
            let after = text.find(&format!("{order} ")).map(|at| text[at + order.len()..].trim_start());
            let named = after.and_then(|after| after.trim_start_matches('`').split([' ', '`']).next());
            named.is_some_and(|named| named.contains('/') && !named.ends_with('/'))
        }
        // A seed that is fixed to a number is one that is tried.
        "fix" => !part.contains(" to "),
        _ => LASTING.contains(&order),
    }
}

/// The text with its calls marked as code: `max(0, 1)`.
fn calls_marked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '(' && out.ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            out.push('\u{1}');
        }
        out.push(c);
    }
    out
}

/// The order that a part of a sentence begins with. Where it is said how to find something out (`looking`), or what came of it
/// (`told`), only one that is nothing else.
fn ordered(part: &str, looking: bool, told: bool) -> Option<&str> {
    let mut part = part;
    let mut polite = false;
    let (word, rest) = loop {
        let (word, rest) = part.split_once(' ')?;
        polite |= matches!(word, "please" | "kindly" | "todo" | "fixme");
        let counts =
            word.len() > 1 && word.ends_with(')') && word[..word.len() - 1].bytes().all(|byte| byte.is_ascii_digit());
        if !SOFT.contains(&word) && !counts {
            break (word, rest);
        }
        part = rest.trim_start();
    };
    let code = rest.starts_with(' ');
    let mut after = rest.split_whitespace();
    if word == "make" {
        return after.take(5).any(|one| MADE.contains(&one)).then_some(word);
    }
    let next = after.next().unwrap_or_default();
    let code = code || next.contains(['/', '\u{1}']);
    // `Rename dim to fade` names what it is about itself.
    let turns = match after.next() {
        Some("to" | "into") => {
            ["rename", "move", "change", "convert", "switch", "merge", "split", "upgrade", "downgrade"].contains(&word)
        }
        Some("in") => word == "split",
        _ => false,
    };
    let named = next.starts_with("ac-") || (word == "revert" && next == "commit");
    let about = code || turns || named || ABOUT.contains(&next);
    // `Call to the API` is none.
    let more = !looking && !told && MORE_ORDERS.contains(&word) && (code || next != "to");
    let makes = !told && MAKES.contains(&word) && (code || next != "to");
    let bare = makes && MADE_BARE.contains(&next);
    // Who asks for it gives an order, whatever it is about.
    let about = about || polite;
    ((ORDERS.contains(&word) || more || makes) && about || bare).then_some(word)
}

/// Whether what closed an issue is a check or evidence that can be looked up; otherwise what it is. Facts that it cites are known to
/// be there.
pub(super) fn check(by: &str, state: &State) -> Result<(), String> {
    let lower = by.to_lowercase();
    let records = lower.match_indices("record ").map(|(at, word)| &lower[at + word.len()..]);
    let digits = records.map(|rest| &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()]);
    let numbers: Vec<u64> =
        digits.filter(|digits| !digits.is_empty()).map(|one| one.parse().unwrap_or(u64::MAX)).collect();
    if numbers.iter().any(|number| !(1..=state.seq).contains(number)) {
        return Err("a record that the ledger does not have".to_owned());
    }
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let named = Phase::ALL.into_iter().map(GateName::Phase).chain([GateName::Task, GateName::Merge]);
    let named: Vec<GateName> = named.filter(|gate| words.contains(&gate.as_str())).collect();
    let has = |of: [&str; 2]| of.iter().any(|word| words.contains(word));
    let (passed, failed) = (has(["pass", "passed"]), has(["fail", "failed"]));
    let by_gate = !named.is_empty() && (passed || failed);
    let shown =
        by.contains("://") || !paths(by).is_empty() || (by.matches('`').count() > 1 && is_code(by.split('`').nth(1)));
    if !numbers.is_empty() || !snapshot::cited(by).is_empty() {
        return Ok(());
    }
    let went = named.iter().any(|gate| state.gates.get(gate).is_some_and(|judged| judged.verdict == Verdict::Pass));
    match by_gate {
        true if !passed => Err("a FAIL, and that closes nothing".to_owned()),
        true if !went => Err("not how that gate went last on the ledger".to_owned()),
        false if !shown => Err("neither a check nor evidence".to_owned()),
        _ => Ok(()),
    }
}

/// Whether a test or a command stands in code marks, and not a word, a letter or `TBD`.
fn is_code(code: Option<&str>) -> bool {
    let code = code.unwrap_or_default();
    // A word alone is a word.
    let shaped = code.trim().contains(|c: char| c.is_whitespace() || c.is_ascii_digit() || "._/:-=".contains(c));
    shaped && code.chars().filter(|c| c.is_alphanumeric()).count() > 3 && !is_nothing(code) && says_something(code, &[])
}

/// Whether a fact says what shows it.
pub(super) fn is_shown(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["shown by:", "given:", "checked by:", "seen in:"].iter().any(|mark| {
        let after = lower.find(mark).map(|at| lower[at + mark.len()..].split(')').next().unwrap_or_default());
        after.is_some_and(|after| !is_nothing(after) && says_something(after, &[]))
    })
}

#[cfg(test)]
mod tests;
