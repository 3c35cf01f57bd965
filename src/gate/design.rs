//! DESIGN reads `scaffolding/design.md`: how it is to be built, and what happens when something fails.

mod failing;
mod review;
mod shape;
pub(in crate::gate) mod tree;

use super::Severity;
use super::paper::text::{self, is_denied, is_none};
use super::paper::{Code, Paper, Part, Piece, later};
use super::papers::{self, DESIGN, Desk, Followed, Found, Rule, excerpt};
use crate::ledger::record::Impact;
use crate::policy::Tier;

pub const RULES: &[Rule] = &[
    Rule {
        id: "DSN-01",
        about: "The design exists and can be read.",
        severity: Severity::Error,
        check: papers::document_is_read,
        next: "Write it and push.",
    },
    Rule {
        id: "DSN-02",
        about: "Each required section is there and says something.",
        severity: Severity::Error,
        check: papers::sections_have_content,
        next: "Write what belongs there.",
    },
    Rule {
        id: "DSN-03",
        about: "More than two components have a diagram.",
        severity: Severity::Error,
        check: no_diagram,
        next: "Draw them in a code block (`a --> b`, or mermaid), or put an image there.",
    },
    Rule {
        id: "DSN-04",
        about: "Each integration says what happens when it fails.",
        severity: Severity::Error,
        check: failing::unsaid,
        next: "Write what is done when it is down, slow or says no; where there are no integrations, `None`.",
    },
    Rule {
        id: "DSN-05",
        about: "Each open question is resolved, or deferred with a reason.",
        severity: Severity::Error,
        check: open_questions,
        next: "Write `resolved: …` with the answer, or `deferred because …`; where there are no questions, `None`.",
    },
    Rule {
        id: "DSN-06",
        about: "A house or a skyscraper has scenarios traced and concerns with severities.",
        severity: Severity::Error,
        check: review::is_missing,
        next: "Walk through two or three scenarios step by step, and write down what could go wrong, each with its severity.",
    },
    Rule {
        id: "DSN-07",
        about: "What can be observed reaches the tier's depth.",
        severity: Severity::Error,
        check: unobserved,
        next: "Say how it is done.",
    },
    Rule {
        id: "DSN-08",
        about: "The directory structure reads as a tree of paths.",
        severity: Severity::Error,
        check: tree::is_none,
        next: "Write one path a line, in a code block or a list; what else there is to say goes behind a `#`.",
    },
    Rule {
        id: "DSN-09",
        about: "Each interface has a typed shape.",
        severity: Severity::Error,
        check: shape::untyped,
        next: "Write its types: `name(level: int) -> int`, a code block, or a table with a column `type`.",
    },
    Rule {
        id: "DSN-10",
        about: "A round that touches the architecture has another design than was delivered.",
        severity: Severity::Error,
        check: as_delivered,
        next: "Write what the round changes into it; where what was confirmed changes nothing after all, say that there.",
    },
];

/// The proposal said that the architecture is touched, and a person confirmed it so.
fn as_delivered(desk: &Desk<'_>) -> Vec<Found> {
    let Some(Followed::Round(round)) = &desk.papers.round else { return Vec::new() };
    let now = desk.papers.design.as_ref().and_then(|sheet| sheet.blob.as_ref());
    if round.impact == Impact::None || now.is_none() || now != round.design.as_ref() {
        return Vec::new();
    }
    let says = "The confirmed round touches the architecture, and this is the design that was delivered.";
    vec![Found::in_file(DESIGN, says)]
}

/// A section of the design that says something.
fn said<'p>(paper: &'p Paper, name: &str) -> Option<Part<'p>> {
    let none = paper.names().iter().any(|one| one.name == name && one.none);
    paper.section(name).filter(|part| part.has_content(none))
}

fn no_diagram(desk: &Desk<'_>) -> Vec<Found> {
    let Some(part) = desk.design.as_ref().and_then(|paper| said(paper, "Architecture")) else { return Vec::new() };
    let components = match part.sub("components").or_else(|| part.sub("component")) {
        Some(sub) => sub.named_items().len().max(stated(&sub.text(), true)),
        None => part.named_items().len().max(stated(&part.text(), false)),
    };
    let arrows = |text: &str| ["→", "-->", "->"].iter().any(|arrow| text.matches(arrow).count() > 1);
    let drawn = part.has_image()
        || part.all_code().iter().any(is_diagram)
        || part.lines().iter().any(|line| arrows(&line.text));
    if components <= 2 || drawn {
        return Vec::new();
    }
    let says = format!("Architecture names {components} components and has no diagram.");
    vec![Found::at(DESIGN, part.line, says)]
}

/// How many components a text says that there are: `Five components: …`, or `Four: …` where it is about nothing else.
fn stated(text: &str, of_components: bool) -> usize {
    #[rustfmt::skip]
    const NUMBERS: &[&str] = &[
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    ];
    let number = |word: &String| NUMBERS.iter().position(|number| word == number).or_else(|| word.parse().ok());
    let components = |word: &String| {
        matches!(word.as_str(), "component" | "components" | "modules" | "services" | "processes" | "programs")
    };
    let words = text::words(text);
    let of_word = words.windows(2).find(|two| components(&two[1])).and_then(|two| number(&two[0]));
    let first = || words.first().filter(|_| of_components).and_then(number);
    of_word.or_else(first).unwrap_or_default()
}

fn is_diagram(code: &Code) -> bool {
    #[rustfmt::skip]
    const MARKS: &[&str] = &[
        "-->", "->", "|", "+--", "┌", "│", "→", "<-", "==>", "└", "▶", "←",
    ];
    matches!(code.language.as_str(), "mermaid" | "plantuml" | "puml" | "dot" | "d2" | "graphviz")
        || code.lines.iter().any(|line| MARKS.iter().any(|mark| line.text.contains(mark)))
}

fn open_questions(desk: &Desk<'_>) -> Vec<Found> {
    let Some(part) = desk.design.as_ref().and_then(|paper| said(paper, "Open Questions")) else { return Vec::new() };
    let items = if part.is_answered_none() { Vec::new() } else { part.items() };
    let items = items.into_iter().filter(|item| !is_none(&item.text));
    let items = items.flat_map(questions);
    let open = items.filter(|item| is_left_open(item) || !is_resolved(item) && !is_deferred(item));
    open.map(|item| {
        let says = format!("“{}” is neither resolved nor deferred with a reason.", excerpt(&item.text));
        Found::at(DESIGN, item.line, says)
    })
    .collect()
}

/// `We are still unsure whether …`, whatever else the same paragraph resolves.
fn is_left_open(item: &Piece) -> bool {
    const OPEN: &[&str] = &[
        "still unsure",
        "are unsure",
        "still undecided",
        "is undecided",
        "still unclear",
        "still not decided",
        "remains open",
        "is still open",
        "are still open",
    ];
    const SETTLED: &[&str] = &["resolved", "answered", "decided", "deferred", "postponed"];
    item.cells.is_empty()
        && text::sentences(&item.text).into_iter().any(|sentence| {
            let words = text::words(sentence);
            let settled = |(at, word): (usize, &String)| SETTLED.contains(&word.as_str()) && !is_denied(&words, at);
            text::says_any(&words, OPEN) && !words.iter().enumerate().any(settled)
        })
}

/// The questions of a paragraph that has several: each begins with a line that asks.
pub(super) fn questions(item: Piece) -> Vec<Piece> {
    let asks = |text: &str| text.contains('?');
    let plain = item.cells.is_empty() && item.entries.is_empty() && item.code.is_empty();
    if !plain || !item.lines.first().is_some_and(|line| asks(&line.text)) || item.text.contains('\n') {
        return vec![item];
    }
    let mut found: Vec<Piece> = Vec::new();
    for line in &item.lines {
        match found.last_mut() {
            Some(last) if !asks(&line.text) => {
                last.text.push(' ');
                last.text.push_str(line.text.trim());
            }
            _ => found.push(Piece { line: line.at, text: line.text.trim().to_owned(), ..item.clone() }),
        }
    }
    found
}

/// What of an item is no question: its sentences that do not end with a question mark.
fn statements(item: &Piece) -> Vec<&str> {
    text::sentences(&item.text).into_iter().filter(|sentence| !sentence.ends_with('?')).collect()
}

/// A column of a row with something in it.
fn column(item: &Piece, headers: &[&str]) -> Option<String> {
    let named = |header: &str| text::words(header).iter().any(|word| headers.contains(&word.as_str()));
    let filled = |cell: &str| text::says_something(cell, &[]) && !is_none(cell);
    item.cells.iter().find(|cell| named(&cell.header) && filled(&cell.text)).map(|cell| cell.text.clone())
}

/// Whether a question has its answer.
pub(super) fn is_resolved(item: &Piece) -> bool {
    const ANSWERS: &[&str] =
        &["answer", "answered", "conclusion", "decided", "decision", "outcome", "resolution", "resolved"];
    if item.ticked || column(item, ANSWERS).is_some() {
        return true;
    }
    // A column for the answer that has none outweighs one that says that there is.
    let has_column =
        |cell: &super::paper::Cell| text::words(&cell.header).iter().any(|word| ANSWERS.contains(&word.as_str()));
    if item.cells.iter().any(has_column) {
        return false;
    }
    // `Resolved: does it deduplicate? Yes, for 7 days.`
    let first = text::words(&item.text).into_iter().find(|word| word != "all" && word != "both");
    let begins = first.is_some_and(|word| matches!(word.as_str(), "answered" | "decided" | "resolved"));
    let asked = || text::sentences(&item.text).first().is_some_and(|sentence| sentence.ends_with('?'));
    if begins
        && asked()
        && statements(item).into_iter().any(|said| answers(said) && !later::only_puts_off(&text::words(said)))
    {
        return true;
    }
    statements(item).into_iter().any(|sentence| {
        if ["→", "=>", "->"].iter().any(|arrow| sentence.split_once(arrow).is_some_and(|(_, rest)| answers(rest))) {
            return true;
        }
        // `Decision: …` is one; `needs a decision` is none.
        let small = sentence.to_lowercase();
        let label = |word: &str| {
            small.find(word).is_some_and(|at| {
                let rest = small[at + word.len()..].trim_start_matches(['*', '_', ' ']);
                rest.strip_prefix([':', '—', '–', '-', '=']).or_else(|| rest.strip_prefix("is ")).is_some_and(answers)
            })
        };
        let labelled = ["answer", "decision", "resolution"].map(|word| (word, label(word)));
        text::clauses(sentence).into_iter().any(|clause| {
            let mut words = text::words(clause);
            // `Ask for ANY? No (resolved): nobody answers it.`
            if sentence.starts_with("No (") || sentence.starts_with("no (") {
                words.remove(0);
            }
            let told = |at: usize| {
                let wanted = words[..at].iter().rev().take(3).any(|word| WANTED.contains(&word.as_str()));
                !is_denied(&words, at) && !wanted
            };
            words.iter().enumerate().any(|(at, word)| match word.as_str() {
                "resolved" | "answered" | "decided" | "settled" => told(at) && !is_empty(&small, word),
                word => labelled.contains(&(word, true)) && told(at),
            })
        })
    })
}

/// `Resolved: TBD`, `Decided later`: nothing but a placeholder follows.
fn is_empty(sentence: &str, word: &str) -> bool {
    let rest = sentence.split_once(word).map_or("", |(_, rest)| rest);
    let said = text::words(rest);
    text::holds_place::<String>(&said, &[]) || later::only_puts_off(&said)
}

/// Words before one that says that it is yet to come.
#[rustfmt::skip]
const WANTED: &[&str] =
    &[
    "be", "needs", "need", "awaiting", "pending", "until", "once", "when", "if", "must", "should", "unless",
];

/// `Decision: no` is one, `Decision: none` says that there is none.
fn answers(text: &str) -> bool {
    text::says_something(text, &[])
        && !text.trim_end().ends_with('?')
        && !matches!(&text::words(text)[..], [one] if one == "none" || one == "nil")
}

fn is_deferred(item: &Piece) -> bool {
    const REASONS: &[&str] = &["because", "until", "since", "as", "after", "when", "once", "so that", "due to"];
    if column(item, &["reason", "rationale", "why"]).is_some()
        && text::says_any(&text::words(&item.text), &["deferred", "later", "postponed"])
    {
        return true;
    }
    let all = statements(item).join("\n");
    for word in ["deferred", "postponed", "later"] {
        for (at, _) in all.to_lowercase().match_indices(word).take(8) {
            let (Some(before), Some(after)) = (all.get(..at), all.get(at + word.len()..)) else { continue };
            let words = text::words(before);
            let wordly = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric())
                && after.chars().next().is_none_or(|c| !c.is_alphanumeric());
            if !wordly || is_denied(&words, words.len()) {
                continue;
            }
            let marked =
                after.split_once([':', '—', '–', '(', '-']).is_some_and(|(_, rest)| text::says_something(rest, &[]));
            let said = text::words(after);
            let reason: Vec<String> = said.iter().filter(|word| !REASONS.contains(&word.as_str())).cloned().collect();
            let hollow = text::holds_place::<String>(&reason, &[]);
            // `Deferred; polling is enough`
            let behind = after.trim_start().strip_prefix([';', ',', '.']).map(text::words).unwrap_or_default();
            let told = behind.len() > 2 && !text::holds_place::<String>(&behind, &[]) && !later::only_puts_off(&behind);
            if told || marked || text::says_any(&said, REASONS) && !hollow {
                return true;
            }
        }
    }
    false
}

/// A part of observability: its name, and the words that show it.
type Depth = (&'static str, &'static [&'static str]);

const LOGS: Depth = (
    "logs",
    &[
        "log",
        "logs",
        "logging",
        "logged",
        "logger",
        "logfile",
        "stdout",
        "stderr",
        "journal",
        "journald",
        "syslog",
        "console",
        "standard output",
        "standard error",
        "structured line",
        "structured lines",
        "json line",
        "json lines",
    ],
);
const KEPT: Depth = (
    "logs that are kept somewhere",
    &[
        "loki",
        "elastic*",
        "cloudwatch",
        "splunk",
        "datadog",
        "graylog",
        "papertrail",
        "aggregat*",
        "log store",
        "central*",
        "collector",
        "cloud logging",
        "grafana cloud",
        "honeycomb",
        "kibana",
        "new relic",
        "opensearch",
        "sentry",
    ],
);
const TRACES: Depth = ("traces", &["trace", "traces", "traced", "tracing", "otel", "opentelemetry", "span", "spans"]);
const ALERTS: Depth =
    ("alerts", &["alert*", "alarm*", "pager*", "opsgenie", "slack", "notif*", "paged", "page the", "pages the"]);
const METRICS: Depth = ("metrics", &["metric*", "prometheus", "statsd"]);
const DASHBOARDS: Depth = ("dashboards", &["dashboard*", "grafana"]);

fn unobserved(desk: &Desk<'_>) -> Vec<Found> {
    let Some(part) = desk.design.as_ref().and_then(|paper| said(paper, "Observability")) else { return Vec::new() };
    let wanted: &[Depth] = match desk.tier {
        Tier::Shed => &[LOGS],
        Tier::House => &[TRACES, KEPT, ALERTS],
        Tier::Skyscraper => &[TRACES, METRICS, DASHBOARDS],
    };
    let statements = part.statements();
    let said = |mark: &&str| statements.iter().any(|words| is_said(words, mark));
    let missing = wanted.iter().filter(|(_, marks)| !marks.iter().any(said));
    missing
        .map(|(what, _)| {
            let says = format!("Observability says nothing of {what}, which a {} has.", desk.tier);
            Found::at(DESIGN, part.line, says).next(format!("Say where the {what} go and who looks at them."))
        })
        .collect()
}

fn is_said(words: &[String], mark: &str) -> bool {
    let parts: Vec<&str> = mark.split(' ').collect();
    let fits = |word: &String, part: &str| match part.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == part,
    };
    let mut at = words.windows(parts.len()).enumerate();
    at.any(|(at, window)| {
        let same = window.iter().zip(&parts).all(|(word, part)| fits(word, part));
        same && !is_denied(words, at) && !is_left_out(&words[at + parts.len()..])
    })
}

/// `Traces: none`, `Alerts: not planned`, `| Logs | TBD |`, by what follows.
fn is_left_out(after: &[String]) -> bool {
    match after.first().map(String::as_str) {
        Some("none" | "nil" | "tbd" | "tba" | "tbc" | "todo") => true,
        Some("no" | "n") => after.len() == 1,
        Some("not") => text::holds_place::<&str>(after, &["needed", "applicable", "required", "used"]),
        _ => later::takes_back(after),
    }
}

#[cfg(test)]
mod tests;
