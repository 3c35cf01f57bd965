//! Words, and what is none: placeholders, instructions, template text.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use super::{ids, later, seen};

/// The words of a text, in small letters. Everything else stands between them.
pub fn words(text: &str) -> Vec<String> {
    let clean = text.replace(['\'', '’', '‘', 'ʼ', '′'], "");
    clean.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(seen::word).collect()
}

/// Whether these words stand together in a text of words.
pub fn has_phrase(words: &[String], phrase: &str) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    words.windows(phrase.len()).any(|window| window.iter().zip(&phrase).all(|(word, part)| word == part))
}

/// Whether a word, or words that stand together, are among these.
pub fn says_any(words: &[String], phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| has_phrase(words, phrase))
}

/// What stands where nothing was written yet.
#[rustfmt::skip]
const PLACEHOLDERS: &[&str] = &[
    "to be determined", "to be decided", "to be written", "to be done", "to be defined", "to be added",
    "to be confirmed", "to be specified", "to be clarified", "to be completed", "to be discussed",
    "to be filled", "to be provided", "to follow", "to come", "will follow", "will be added", "will be decided",
    "will be defined", "will be written", "coming soon", "fill this in", "fill in", "see above", "see below", "skip",
    "skipped",
    "see the ticket", "see ticket", "nothing here",
    "not yet", "none yet", "nothing yet", "not written", "not decided", "not defined", "not determined",
    "not known", "not planned", "not specified", "work in progress", "n a", "t b d", "t b a", "t b c",
    "placeholder", "tbd", "tba", "tbc", "fixme", "wip", "pending", "missing", "unknown", "undecided",
    "undefined", "undetermined", "unspecified", "later", "na",
];

/// Words around a placeholder that say nothing more.
#[rustfmt::skip]
const NOTHING_MORE: &[&str] = &[
    "a", "add", "added", "all", "an", "and", "are", "as", "at", "be", "been", "being", "by", "complete",
    "completed", "confirmed", "content", "currently", "decide", "decided", "define", "defined", "describe",
    "described", "details", "determined", "done", "filled", "for", "has", "have", "here", "in", "is", "it",
    "known", "later", "list", "me", "more", "next", "now", "of", "on", "or", "our", "part", "pending",
    "planned", "please", "point", "remains", "section", "so", "soon", "specified", "still", "text", "that",
    "the", "them", "there", "these", "this", "to", "us", "we", "well", "will", "with", "write", "written",
    "yet", "your",
];

/// The documents that Phasegate brings: what they say is nobody's answer.
const TEMPLATES: [&str; 5] = [
    include_str!("../../../templates/pipeline/scaffolding/scope.md"),
    include_str!("../../../templates/pipeline/scaffolding/design.md"),
    include_str!("../../../templates/pipeline/scaffolding/readiness.md"),
    include_str!("../../../templates/pipeline/scaffolding/log.md"),
    include_str!("../../../templates/pipeline/preferences.md"),
];

/// Their lines, and the sentences in these: by their words, so that it does not matter where a line was broken.
static TEMPLATE_TEXT: LazyLock<HashSet<Vec<String>>> = LazyLock::new(|| {
    let lines = TEMPLATES.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with('#'));
    let said = lines.flat_map(|line| std::iter::once(line).chain(sentences(line)));
    said.map(words).filter(|words| words.len() > 2).collect()
});

/// Whether a text says anything below a heading of these words: one of its sentences does.
pub fn says_something(text: &str, heading: &[String]) -> bool {
    let said = words(text);
    if said.is_empty() || is_instruction(text) || TEMPLATE_TEXT.contains(&said) {
        return false;
    }
    if has_phrase(&said[..said.len().min(2)], "lorem ipsum") {
        return false;
    }
    sentences(text).into_iter().any(|sentence| {
        let mut said = words(sentence);
        let marked = || later::is_marked(sentence) || later::is_put_off(&said, heading);
        if said.is_empty() || is_same(&said, heading) || TEMPLATE_TEXT.contains(&said) || marked() {
            return false;
        }
        if later::has_loud_todo(sentence) {
            said.iter_mut().filter(|word| *word == "todo").for_each(|word| "tbd".clone_into(word));
        }
        !holds_place(&said, heading)
    })
}

/// Whether two texts have the same words, articles aside: `The problem` below `Problem` says nothing.
fn is_same(one: &[String], other: &[String]) -> bool {
    let means = |word: &&String| !matches!(word.as_str(), "a" | "an" | "its" | "our" | "the" | "this");
    one.iter().filter(means).eq(other.iter().filter(means))
}

/// Whether these words are a placeholder, wherever it stands among words that say nothing more, or that are `known`.
pub fn holds_place<W: PartialEq<String>>(said: &[String], known: &[W]) -> bool {
    let (mut at, mut found) = (0, false);
    while at < said.len() {
        if let Some(length) = placeholder(&said[at..]).or_else(|| still_to_do(said, at)) {
            found = true;
            at += length;
        } else if NOTHING_MORE.contains(&said[at].as_str()) || known.iter().any(|word| *word == said[at]) {
            at += 1;
        } else {
            return false;
        }
    }
    found
}

/// How many of these words are the placeholder that they begin with.
fn placeholder(said: &[String]) -> Option<usize> {
    let first = said.first()?;
    if first.len() > 2 && first.bytes().all(|b| b == b'x') {
        return Some(1);
    }
    let begins = |phrase: &&&str| {
        let mut parts = phrase.split(' ');
        let mut said = said.iter();
        phrase.starts_with(first.as_str()) && parts.all(|part| said.next().is_some_and(|word| word == part))
    };
    PLACEHOLDERS.iter().find(begins).map(|phrase| phrase.split(' ').count())
}

/// The same of `to do`, which may also be what the product is about: where it stands alone, or something is said to be so.
fn still_to_do(said: &[String], at: usize) -> Option<usize> {
    let length = match &said[at..] {
        [todo, ..] if todo == "todo" => 1,
        [to, work, ..] if to == "to" && work == "do" => 2,
        _ => return None,
    };
    let so = |word: &String| matches!(word.as_str(), "are" | "is" | "remains" | "still");
    (said.len() == length || at > 0 && so(&said[at - 1])).then_some(length)
}

/// `Schema: TBD`: a label, and a placeholder for what it labels. An identifier is none: of what it says the rules about criteria tell.
pub fn is_empty_label(text: &str) -> bool {
    let Some((label, value)) = text.split_once([':', '—', '–', '→', '=']) else { return false };
    let short = words(label).len() <= SHORT && !label.contains(['.', '?']) && value.contains(char::is_alphanumeric);
    short && ids::leading(label).is_none() && !says_something(value, &[])
}

/// `[Describe the problem]`, `{{cost}}`, `<your stack>`: the whole of a text in brackets. What has the marks of data in it is
/// data: `{"id": 1}`, `{unit: string}`, `["a"]`, `<br/>`.
pub fn is_instruction(text: &str) -> bool {
    let opens = |c: char| c.is_alphanumeric() || matches!(c, '[' | '<' | '{');
    let text = text.trim_start_matches(|c| !opens(c)).trim().trim_end_matches(['.', ':']);
    [('[', ']'), ('<', '>'), ('{', '}')].into_iter().any(|(open, close)| {
        let inner = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inner.is_some_and(|inner| {
            let data = match open {
                '{' => inner.contains([':', ',', '"', '=']),
                '[' => inner.starts_with(['{', '"', '[']),
                _ => inner.ends_with('/') || inner.contains('='),
            };
            !data && !inner.trim_end_matches(close).contains(close)
        })
    })
}

/// A line that says that there is none, and asks nothing: it begins with `none` or `nothing`, or is no more than a few
/// words that begin with `no`, or says of all that is asked for here that it is not there; or the same after `there are` or
/// `this tool has`. What follows in another clause is the reason, unless it takes that back.
pub fn is_none(line: &str) -> bool {
    let line = unnumbered(line);
    let said = words(line);
    let there = |begins: &&&str| has_phrase(&said[..said.len().min(2)], begins);
    let from =
        if ["there are", "there is", "there were", "we have"].iter().any(|begins| there(&begins)) { 2 } else { 0 };
    says_none(line, &said[from..]) || denies_at_first(line)
}

/// `No open questions; all were settled in review`, `This tool has no integrations.`
fn denies_at_first(line: &str) -> bool {
    #[rustfmt::skip]
    const BACK: &[&str] = &[
        "apart", "besides", "but", "except", "however", "idea", "one", "only", "other", "pending", "remaining", "remains",
        "still", "two", "unclear", "undecided", "unknown", "unless", "yet",
    ];
    let (first, rest) = line.split_once([';', ',', '.', '—', '–']).unwrap_or((line, ""));
    let said = words(first);
    let begins =
        |word: &String| NOT_THERE.contains(&word.as_str()) || matches!(word.as_str(), "has" | "have" | "makes");
    let at = said.iter().take(BEFORE_NO).take_while(|word| begins(word)).count();
    let none = said.get(at).is_some_and(|word| word == "no") && denies_all(&said[at + 1..]);
    none && !line.contains('?') && !words(rest).iter().any(|word| BACK.contains(&word.as_str()))
}

/// So many words may stand before `no`.
const BEFORE_NO: usize = 5;

fn says_none(line: &str, said: &[String]) -> bool {
    let says_more = || line.split_once([':', ',']).is_some_and(|(_, rest)| rest.contains(char::is_alphanumeric));
    let begins = match said.first().map(String::as_str) {
        Some("none" | "nothing" | "nil") => !says_any(said, &["except", "but", "besides", "apart from"]),
        // Papers are read in English; what says no more than that there is none is understood anyway.
        Some("keine" | "nichts" | "aucun" | "aucune" | "rien" | "nope" | "ninguna" | "nada" | "nessuno") => true,
        Some("no") => (said.len() <= SHORT || denies_all(&said[1..])) && !says_more(),
        Some("not") => matches!(said.get(1).map(String::as_str), Some("needed" | "applicable" | "required")),
        _ => false,
    };
    let open = |word: &String| matches!(word.as_str(), "yet" | "unclear" | "unknown" | "undecided" | "idea");
    begins && !line.contains('?') && !said.iter().any(open)
}

/// A text without the number that it begins with: `6.1 None.`, `(a) AC-1: …`, `IV. …`
pub fn unnumbered(text: &str) -> &str {
    let start = text.trim_start();
    let Some((first, rest)) = start.split_once(char::is_whitespace) else { return text };
    let bare = first.trim_matches(['(', ')', '.', ':', '[', ']', '§', '*', '_', '#']);
    let digits = bare.bytes().all(|b| b.is_ascii_digit() || b == b'.') && bare.len() < 12;
    let dotted = digits && (bare.contains('.') || bare.len() < first.len());
    let letter = bare.len() < first.len()
        && (bare.len() == 1 && bare.bytes().all(|b| b.is_ascii_alphabetic())
            || bare.len() < 6 && bare.bytes().all(|b| b"IVXivx".contains(&b)));
    if !bare.is_empty() && (dotted || letter) { rest.trim_start() } else { text }
}

/// What a section may ask for, and words that go before it.
#[rustfmt::skip]
const ASKED_FOR: &[&str] = &[
    "clarification", "clarifications", "complexity", "dependencies", "exception", "exceptions", "external", "further",
    "integration", "integrations", "known", "open", "other", "outstanding", "party", "point", "points", "question",
    "questions", "remaining", "risk", "risks", "service", "services", "such", "third", "unresolved",
];
/// What may be said of it without taking back that it is not there.
#[rustfmt::skip]
const NOT_THERE: &[&str] = &[
    "a", "affect", "affects", "anywhere", "app", "application", "are", "at", "blocking", "by", "call", "called", "change",
    "changes", "currently", "design", "exist", "exists", "expected", "fail", "feature", "first", "for", "here", "in", "involved", "is", "it", "iteration", "left", "meaning", "moment", "mvp",
    "need", "needed", "of", "or", "our", "page", "part", "pass", "phase", "present", "product", "project", "release", "remain", "remains", "require",
    "required", "script", "scope", "service", "stage", "system", "that", "the", "these", "they", "this", "time", "to", "today",
    "tool", "use", "used", "uses", "v1", "version", "was", "we", "were", "work",
];

/// `external integrations are used by this tool`: what was asked for, and that it is not there.
fn denies_all(said: &[String]) -> bool {
    let asked = said.iter().take_while(|word| ASKED_FOR.contains(&word.as_str())).count();
    asked > 0
        && said[asked..].iter().all(|word| NOT_THERE.contains(&word.as_str()) || ASKED_FOR.contains(&word.as_str()))
}

/// A line of so many words is short.
const SHORT: usize = 5;

/// A line that says `none` and little else. Where `none` is no answer, it is not content. With a reason it is one (`None:
/// $0`, `None (stateless)`), and so is a statement (`Nothing is stored`).
pub fn is_bare_none(line: &str) -> bool {
    let said = words(line);
    if said.len() > SHORT || !says_none(line, &said) {
        return false;
    }
    let behind = line.split_once([':', ',', ';', '—', '–', '(']).or_else(|| line.split_once(" - "));
    let reason = behind.is_some_and(|(_, reason)| {
        let means = |word: &String| !NOTHING_MORE.contains(&word.as_str());
        says_something(reason, &[]) && !is_none(reason) && words(reason).iter().any(means)
    });
    let what = said.windows(2).rfind(|two| matches!(two[0].as_str(), "is" | "are")).map(|two| two[1].as_str());
    let states = what.is_some_and(|what| !UNSTATED.contains(&what) && !NOTHING_MORE.contains(&what));
    !reason && !states
}

/// What is said of things that are not there, without saying anything of them.
const UNSTATED: &[&str] = &["applicable", "available", "missing", "necessary", "needed", "required", "wrong"];

/// Words that name nothing.
#[rustfmt::skip]
const FILLER: &[&str] = &[
    "all", "also", "an", "and", "any", "anything", "app", "application", "are", "as", "at", "be", "by", "can", "dependencies",
    "dependency", "does", "nothing", "other", "own", "standard", "without",
    "for", "framework", "from", "has", "have", "if", "in", "into", "is", "it", "its", "language", "latest",
    "library", "must", "no", "not", "of", "on", "one", "only", "or", "our", "platform", "plus", "project",
    "runtime", "server", "service", "shall", "should", "stable", "stack", "system", "target", "than", "that",
    "test", "tested", "tests", "the", "their", "then", "there", "this", "to", "tool", "tools", "use", "used", "user", "users", "uses",
    "using", "version", "via", "was", "we", "when", "which", "will", "with", "you",
];

/// The names in a text: words of two letters or more, `C` and `R`, without their versions, that are no filler.
pub fn names(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for word in words(text) {
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
        // `s3` is no version of `s`, and `v2` is nothing but one.
        let name = if bare.chars().count() >= 2 || bare.is_empty() { bare } else { word.as_str() };
        let letters = name.chars().filter(|c| c.is_alphabetic()).count();
        let version =
            name.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
        let long = letters >= 2 || letters == 1 && name.chars().count() >= 2 && !version;
        if (long || matches!(name, "c" | "r")) && !FILLER.contains(&name) {
            found.insert(name.to_owned());
        }
    }
    found
}

/// The sentences of a text, each with the mark that ends it. A line is never one sentence with the next.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut from = 0;
        for (at, c) in line.char_indices() {
            let end = at + c.len_utf8();
            if matches!(c, '.' | '!' | '?')
                && line[end..].chars().next().is_none_or(|next| next.is_whitespace() || matches!(next, ')' | '"' | '*'))
            {
                found.push(line[from..end].trim());
                from = end;
            }
        }
        found.push(line[from..].trim());
    }
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// The clauses of a text: what stands between commas, semicolons, full stops and lines.
pub fn clauses(text: &str) -> Vec<&str> {
    let clauses = sentences(text).into_iter().flat_map(|sentence| sentence.split([',', ';', '|'])).map(str::trim);
    clauses.filter(|clause| !clause.is_empty()).collect()
}

/// Whether the word at this place is denied: `no alerts`, `without any tracing`, `not decided`, `to be resolved`.
pub fn is_denied(words: &[String], at: usize) -> bool {
    #[rustfmt::skip]
    const DENY: &[&str] =
        &[
        "no", "not", "without", "never", "neither", "nor", "dont", "doesnt", "isnt", "cannot", "cant", "wont",
        "non", "arent", "couldnt", "didnt", "hadnt", "hasnt", "havent", "nobody", "shouldnt", "wasnt", "werent",
        "wouldnt",
    ];
    let from = at.saturating_sub(3);
    words[from..at].iter().any(|word| DENY.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(line: &str) -> bool {
        says_something(line, &words("Data Model"))
    }

    #[test]
    fn placeholders_are_no_content() {
        for line in [
            "TBD",
            "tbd.",
            "TODO: write this",
            "TBD later",
            "**TODO**",
            "N/A",
            "n/a",
            "NA",
            "…",
            "...",
            "?",
            "-",
            "___",
            "xxx",
            "XXXX",
            "to be determined",
            "To be decided.",
            "coming soon!",
            "fill in",
            "Fill in the data model",
            "placeholder",
            "lorem ipsum dolor sit amet",
            "[Describe the problem]",
            "{{cost}}",
            "Data Model",
            "data model:",
            "✅",
            "FIXME",
            "TODO: describe the data model",
            "Still TBD.",
            "This section is TBD.",
            "Data model TBD.",
            "We will fill this in later.",
            "To be confirmed",
            "TBC",
            "T.B.D.",
            "Not yet written.",
            "WIP",
            "pending",
            "TBD. To follow.",
            "Will be added",
            "see above",
            "Skipped.",
            "TODO: ask Bob whether invoices expire",
            "Data model: TODO",
            "still to do",
            "todo",
            "TBD by Kim",
            "The data model is todo.",
            "What is kept, and in which shape.",
            "The data model.",
            "To be designed later.",
            "Not yet designed.",
            "Will be defined in the design phase.",
            "The data model will be decided later.",
            "Needs to be defined.",
            "Nothing here yet.",
            "See the ticket.",
        ] {
            assert!(!says(line), "{line}");
        }
        for line in [
            "A table of invoices",
            "todo lists are shared",
            "0",
            "$0",
            "[a] and [b]",
            "xxx-large is a size",
            "none",
            "日本",
            "NA region only",
            "Unknown ids are kept apart.",
            "TBD. A table of invoices.",
            "Skip invoices of the past",
            "A to-do list.",
            "Todo: text, done",
            "todo list is complete",
            "See above for invoices",
            "Pending invoices are kept for a year.",
            "{\"id\": 1, \"name\": \"a\"}",
            "{unit: string, restarts: int}",
            "[{\"id\": 1}]",
            "<invoice id=\"1\"/>",
            "To be stored in SQLite.",
            "It will be written in Rust.",
            "The key will be provided by Stripe.",
            "Needs to be encrypted.",
        ] {
            assert!(says(line), "{line}");
        }
    }

    #[test]
    fn a_label_of_a_placeholder_is_empty() {
        for text in ["Schema: TBD", "Schema — to be confirmed.", "Schema: [describe it]", "The schema: still pending"]
        {
            assert!(is_empty_label(text), "{text}");
        }
        for text in ["Schema: a table", "Schema:", "AC-1: TBD", "Which one? Decision: TBD", "TBD", "Storage: none"] {
            assert!(!is_empty_label(text), "{text}");
        }
    }

    #[test]
    fn none_is_said_in_many_ways() {
        for line in
            ["none", "None.", "_none_", "Nothing", "no", "No open questions.", "none needed", "not needed", "Nil"]
        {
            assert!(is_none(line), "{line}");
        }
        for line in ["There are no external integrations.", "There are none.", "There is nothing to clarify."] {
            assert!(is_none(line), "{line}");
        }
        for line in [
            "No external integrations are used by this tool.",
            "There are no open questions at this point.",
            "No further questions remain for this part of the design",
            "There are no external integrations in this version.",
            "This tool has no external integrations.",
            "No open questions; everything was settled in review.",
            "No open questions, all were answered.",
            "No unresolved clarification changes pass/fail meaning.",
        ] {
            assert!(is_none(line), "{line}");
        }
        for line in [
            "No open question was answered by the owner",
            "No integration is safe from the outage of last week",
            "No open questions; one remains, the port.",
            "The tool has no retries",
        ] {
            assert!(!is_none(line), "{line}");
        }
        assert!(!is_none("There are no limits to which we know an answer yet."));
        assert!(!is_bare_none("There is no tide table."));
        for line in
            ["Nobody knows", "no limit?", "North", "No idea which one", "nonetheless", "No database: it is in the URL"]
        {
            assert!(!is_none(line), "{line}");
        }
        assert!(!is_bare_none("No one can find the invoices"));
        for line in
            ["None — $0", "None ($0/month)", "Nothing: $0 per month.", "None (stateless).", "No data is stored."]
        {
            assert!(!is_bare_none(line), "{line}");
        }
        for line in
            ["None.", "None, for now", "none (n/a)", "Nothing is needed.", "None (yet)", "No data.", "None: none"]
        {
            assert!(is_bare_none(line) || !is_none(line), "{line}");
        }
    }

    #[test]
    fn names_have_no_versions_and_no_filler() {
        let names = |text| names(text).into_iter().collect::<Vec<_>>();
        assert_eq!(names("Python 3.11 with Flask, on the server"), ["flask", "python"]);
        assert_eq!(names("C++, R and S3; python3 v2"), ["c", "python", "r", "s3"]);
        assert_eq!(names("AWS Lambda / k8s"), ["aws", "k8s", "lambda"]);
    }

    #[test]
    fn sentences_and_clauses() {
        assert_eq!(sentences("A. B 1.5? C"), ["A.", "B 1.5?", "C"]);
        assert_eq!(clauses("design: x, test: y; z\nw"), ["design: x", "test: y", "z", "w"]);
    }
}
