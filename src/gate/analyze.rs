//! ANALYZE reads `scaffolding/readiness.md`: whether what is to be built can be proven, before anything is built.

mod links;
mod verdict;

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Severity;
use super::design::is_resolved;
use super::expand;
use super::paper::text::{self, is_none};
use super::paper::{Paper, Part, Piece, ids, later};
use super::papers::{self, Desk, Found, READINESS, Rule, excerpt};

pub const RULES: &[Rule] = &[
    Rule {
        id: "ANL-01",
        about: "The readiness paper exists and can be read.",
        severity: Severity::Error,
        check: papers::document_is_read,
        next: "Write it and push.",
    },
    Rule {
        id: "ANL-02",
        about: "Each required section is there and says something.",
        severity: Severity::Error,
        check: papers::sections_have_content,
        next: "Write what belongs there.",
    },
    Rule {
        id: "ANL-03",
        about: "The verdict is READY.",
        severity: Severity::Error,
        check: verdict::not_ready,
        next: "Settle what stands in the way; then write `READY`, and nothing that takes it back.",
    },
    Rule {
        id: "ANL-04",
        about: "Each criterion links to the design, a test and a runtime proof.",
        severity: Severity::Error,
        check: unlinked,
        next: "Write for each criterion where the design has it, which test proves it, and what shows it at runtime.",
    },
    Rule {
        id: "ANL-05",
        about: "Each criterion has a planned test and a planned runtime proof.",
        severity: Severity::Error,
        check: uncovered,
        next: "Write which test is planned for it, and what will be run to show it.",
    },
    Rule {
        id: "ANL-06",
        about: "The build order has each criterion.",
        severity: Severity::Error,
        check: unordered,
        next: "Name it in the step that builds it.",
    },
    Rule {
        id: "ANL-07",
        about: "Truths are no questions, and clarifications no truths.",
        severity: Severity::Error,
        check: mixed,
        next: "Move it to where it belongs.",
    },
    Rule {
        id: "ANL-08",
        about: "No open clarification changes pass or fail.",
        severity: Severity::Error,
        check: blocking,
        next: "Get the answer and write it there (`resolved: …`), before anything is built on it.",
    },
    Rule {
        id: "ANL-09",
        about: "Identifiers and digests are those of the documents as they are.",
        severity: Severity::Error,
        check: stale,
        next: "Look at scope and design as they are now, and write this paper by them.",
    },
];

/// More criteria than this no policy allows; a scope that has them has failed before.
const MOST_CRITERIA: usize = 1_000;

/// The identifiers of scope, in their order.
fn known(desk: &Desk<'_>) -> Vec<String> {
    let mut seen = HashSet::new();
    let all = desk.scope.as_ref().map(expand::criteria).unwrap_or_default();
    all.into_iter().filter_map(|(id, _)| id).filter(|id| seen.insert(id.clone())).take(MOST_CRITERIA).collect()
}

/// A section of the paper that says something.
fn said<'p>(desk: &'p Desk<'_>, name: &str) -> Option<Part<'p>> {
    let paper: &Paper = desk.readiness.as_ref()?;
    let none = paper.names().iter().any(|one| one.name == name && one.none);
    paper.section(name).filter(|part| part.has_content(none))
}

fn unlinked(desk: &Desk<'_>) -> Vec<Found> {
    let wanted = [links::Kind::Design, links::Kind::Test, links::Kind::Runtime];
    let mut found =
        traced(desk, "Key Links", &wanted, |id, kind| format!("`{id}` has no link to {} in Key Links.", kind.what()));
    for item in said(desk, "Key Links").map(|part| part.items()).unwrap_or_default() {
        let written = item.text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let written = written.filter(|word| word.contains(".md#"));
        let targets = item.targets.iter().map(String::as_str).chain(written);
        let dead: BTreeSet<&str> = targets.filter(|target| leads_nowhere(desk, target)).collect();
        found.extend(dead.into_iter().map(|target| {
            let says = format!("The link `{}` leads nowhere.", excerpt(target));
            Found::at(READINESS, item.line, says).next("Link to a document and a heading that are there.")
        }));
    }
    found
}

/// Whether a link goes to a heading that scope, design or this paper does not have, or to a name that is nearly theirs.
fn leads_nowhere(desk: &Desk<'_>, target: &str) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    if path.contains("://") {
        return false;
    }
    let paper = match path.rsplit('/').next().unwrap_or(path) {
        "" if path.is_empty() && anchor.is_empty() => return true,
        "" => &desk.readiness,
        "scope.md" => &desk.scope,
        "design.md" => &desk.design,
        "readiness.md" => &desk.readiness,
        other => return strsim::levenshtein(other, "design.md") <= 2,
    };
    !anchor.is_empty() && paper.as_ref().is_some_and(|paper| !paper.has_anchor(anchor))
}

fn uncovered(desk: &Desk<'_>) -> Vec<Found> {
    let wanted = [links::Kind::Test, links::Kind::Runtime];
    let says = |id: &str, kind: links::Kind| format!("`{id}` has no planned {}.", kind.plain());
    traced(desk, "Acceptance Criteria Coverage", &wanted, says)
}

/// Each identifier has items in a section, which together have a link of each kind.
fn traced(
    desk: &Desk<'_>,
    section: &str,
    wanted: &[links::Kind],
    says: impl Fn(&str, links::Kind) -> String,
) -> Vec<Found> {
    let Some(part) = said(desk, section) else { return Vec::new() };
    let known = known(desk);
    let items = part.items();
    let design = links::Named::in_design(desk.design.as_ref());
    // What is said to be there may be named in Key Links.
    let linked = if section == "Key Links" { None } else { said(desk, "Key Links") };
    let linked = linked.map(|part| by_id(&part.items(), &known, wanted, |item, kind| links::has(item, kind, &design)));
    let elsewhere = |id: &String, kind: &links::Kind| {
        linked.as_ref().and_then(|linked| linked.get(id)).is_some_and(|(_, kinds)| kinds.contains(kind))
    };
    let by = by_id(&items, &known, wanted, |item, kind| links::has(item, kind, &design));
    let affirmed = by_id(&items, &known, wanted, links::affirms);
    let is_affirmed = |id: &String, kind: &links::Kind| {
        affirmed.get(id).is_some_and(|(_, kinds)| kinds.contains(kind)) && elsewhere(id, kind)
    };
    let mut found = Vec::new();
    for id in &known {
        match by.get(id) {
            None => found.push(Found::at(READINESS, part.line, format!("{section} does not have `{id}`."))),
            Some((line, kinds)) => {
                let missing = wanted.iter().filter(|kind| !kinds.contains(kind) && !is_affirmed(id, kind));
                found.extend(missing.map(|kind| Found::at(READINESS, *line, says(id, *kind))));
            }
        }
    }
    found
}

/// Of each identifier the line of the first item that names it, and the kinds of links that its items have.
fn by_id<'k>(
    items: &[Piece],
    known: &'k [String],
    wanted: &[links::Kind],
    has: impl Fn(&Piece, links::Kind) -> bool,
) -> HashMap<&'k String, (u32, HashSet<links::Kind>)> {
    let mut by: HashMap<&String, (u32, HashSet<links::Kind>)> = HashMap::new();
    for item in items {
        let kinds: Vec<links::Kind> = wanted.iter().copied().filter(|kind| has(item, *kind)).collect();
        for id in ids::named(&item.all_text(), known) {
            by.entry(id).or_insert_with(|| (item.line, HashSet::new())).1.extend(kinds.iter().copied());
        }
    }
    by
}

fn unordered(desk: &Desk<'_>) -> Vec<Found> {
    let Some(part) = said(desk, "Build Order") else { return Vec::new() };
    let known = known(desk);
    let mut named: HashSet<&String> = HashSet::new();
    for line in part.text().lines() {
        named.extend(ids::named(&built(line), &known));
    }
    let missing = known.iter().filter(|id| !named.contains(id));
    missing.map(|id| Found::at(READINESS, part.line, format!("Build Order does not have `{id}`."))).collect()
}

/// What a line builds: its clauses, each up to a word that leaves out what follows, and without those that only go on with
/// what is left out (`Skipped: AC-3, AC-4`).
fn built(line: &str) -> String {
    let mut built = String::with_capacity(line.len());
    for sentence in text::sentences(line) {
        let mut out = false;
        let mut last = built.len();
        for clause in sentence.split([',', ';', '(', ')']) {
            let beside = text::words(&ids::without(clause));
            if later::only_puts_off(&beside) {
                // `AC-3 is postponed`, and `AC-3 (dropped)`.
                match ids::written(clause).is_empty() {
                    true => built.truncate(last),
                    false => out = true,
                }
                continue;
            }
            last = built.len();
            let goes_on = text::words(&ids::without(clause)).iter().all(|word| matches!(word.as_str(), "and" | "or"));
            if !(out && goes_on) {
                let to = left_out(clause);
                out = to.is_some_and(|to| !ids::written(&clause[to..]).is_empty());
                built.push_str(&clause[..to.unwrap_or(clause.len())]);
                built.push(',');
            }
        }
    }
    built
}

/// Where a clause begins to leave something out: `Not in this build: AC-3`, `but not AC-3`. In `what must not be off: AC-3`
/// it does not.
fn left_out(clause: &str) -> Option<usize> {
    #[rustfmt::skip]
    const OUT: &[&str] = &[
        "not", "skip", "skipped", "skipping", "omitted", "excluded", "excluding", "except", "dropped", "without",
    ];
    let begins = clause.find(char::is_alphanumeric)?;
    let mut at = begins;
    for word in clause[begins..].split(|c: char| !c.is_alphanumeric()) {
        if OUT.iter().any(|out| word.eq_ignore_ascii_case(out)) {
            let mut next =
                clause[at + word.len()..].split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            if at == begins || next.by_ref().take(2).any(|word| word.eq_ignore_ascii_case("ac")) {
                return Some(at);
            }
        }
        at += word.len();
        at += clause[at..].chars().next().map_or(0, char::len_utf8);
    }
    None
}

fn is_question(item: &Piece) -> bool {
    const OPEN: &[&str] = &[
        "unclear",
        "to be decided",
        "to be confirmed",
        "not confirmed",
        "not known yet",
        "unconfirmed",
        "not sure",
        "tbd",
        "maybe",
        "we assume",
        "is unknown",
        "are unknown",
        "remains unknown",
        "still unknown",
        "unknown yet",
    ];
    // `| Encoding of the export | open, ask the bank |`
    let open = |clause: &str| matches!(&text::words(clause)[..], [one] if one == "open");
    let marked = item.cells.iter().skip(1).any(|cell| text::clauses(&cell.text).into_iter().any(open));
    ends_asking(item) || marked || text::says_any(&text::words(&item.text), OPEN)
}

/// Whether one of its sentences, or its cells, ends with a question mark.
fn ends_asking(item: &Piece) -> bool {
    let asks = |text: &str| text::sentences(text).iter().any(|sentence| sentence.ends_with('?'));
    asks(&item.text)
}

fn asks(item: &Piece) -> bool {
    const ASK: &[&str] = &[
        "clarify",
        "confirm",
        "decide",
        "unclear",
        "unknown",
        "which",
        "whether",
        "who",
        "assume",
        "assumed",
        "need to know",
        "needs to know",
        "waiting for",
    ];
    // `Logo colour. Open. It changes nothing.`
    let open = |said: &str| matches!(&text::words(said)[..], [one] if one == "open");
    let behind = |clause: &str| clause.rsplit_once(':').is_some_and(|(_, value)| open(value));
    let open = text::sentences(&item.text).into_iter().any(open) || text::clauses(&item.text).into_iter().any(behind);
    ends_asking(item) || open || text::says_any(&text::words(&item.text), ASK)
}

fn mixed(desk: &Desk<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for item in said(desk, "Truths").map(|part| part.items()).unwrap_or_default() {
        if is_question(&item) {
            let says = format!("“{}” stands among the truths and is a question.", excerpt(&item.text));
            found.push(Found::at(READINESS, item.line, says).next("Move it to Clarifications Needed, or answer it."));
        }
    }
    for item in clarifications(desk) {
        if !asks(&item) && !is_resolved(&item) {
            let says = format!("“{}” stands among the clarifications and asks nothing.", excerpt(&item.text));
            found.push(
                Found::at(READINESS, item.line, says).next(
                    "Move it to Truths, or ask what is to be known; where there is nothing to ask, write `None`.",
                ),
            );
        }
    }
    found
}

fn clarifications(desk: &Desk<'_>) -> Vec<Piece> {
    let part = said(desk, "Clarifications Needed").filter(|part| !part.is_answered_none());
    let items = part.map(|part| part.items()).unwrap_or_default();
    let mut items: Vec<Piece> = items.into_iter().flat_map(super::design::questions).collect();
    items.retain(|item| !is_none(&item.text));
    items
}

fn blocking(desk: &Desk<'_>) -> Vec<Found> {
    let open = clarifications(desk).into_iter().filter(|item| !is_resolved(item) && is_blocking(item));
    open.map(|item| {
        let says = format!("“{}” is open and would change pass or fail.", excerpt(&item.text));
        Found::at(READINESS, item.line, says)
    })
    .collect()
}

const CHANGES: &[&str] = &[
    "pass fail",
    "pass or fail",
    "passes or fails",
    "passes fails",
    "passing or failing",
    "changes the outcome",
    "changes the result",
    "changes the verdict",
    "blocking",
    "blocks",
    "blocker",
    "blockers",
    "affects acceptance",
];

fn is_blocking(item: &Piece) -> bool {
    let denies = |text: &str| {
        matches!(text::words(text).first().map(String::as_str), None | Some("no" | "n" | "none" | "false" | "not"))
    };
    let marked = |cell: &super::paper::Cell| text::says_any(&text::words(&cell.header), CHANGES) && !denies(&cell.text);
    if item.cells.iter().any(marked) {
        return true;
    }
    // `The answer decides whether AC-2 passes`, `If yes, AC-2 cannot be met`
    let decides = |sentence: &str| {
        let words = text::words(sentence);
        let ends = |word: &String| matches!(word.as_str(), "fail" | "fails" | "met" | "pass" | "passes" | "unmet");
        let denied = |at: usize| {
            words[at.saturating_sub(3)..at]
                .iter()
                .any(|word| matches!(word.as_str(), "regardless" | "either" | "anyway"))
        };
        !sentence.ends_with('?')
            && !ids::written(sentence).is_empty()
            && words.iter().enumerate().any(|(at, word)| ends(word) && !denied(at))
            && (text::says_any(&words, &["if", "whether", "decides", "depends", "changes", "cannot", "otherwise"])
                || text::says_any(&words, &["passes", "pass"]) && text::says_any(&words, &["fails", "fail"]))
            && !text::says_any(&words, &["does not", "do not", "not change", "either way", "regardless"])
    };
    if text::sentences(&item.text).into_iter().any(decides) {
        return true;
    }
    text::clauses(&item.text).into_iter().any(|clause| {
        let words = text::words(clause);
        // `This doesn't change whether any criterion passes or fails.`
        const STAYS: &[&str] =
            &["not change", "doesnt change", "wont change", "changes no", "not affect", "doesnt affect"];
        if text::says_any(&words, STAYS) {
            return false;
        }
        CHANGES.iter().any(|phrase| {
            let parts: Vec<&str> = phrase.split(' ').collect();
            words.windows(parts.len()).enumerate().any(|(at, window)| {
                let same = window.iter().zip(&parts).all(|(word, part)| word == part);
                let after =
                    words.get(at + parts.len()).is_some_and(|next| matches!(next.as_str(), "no" | "none" | "false"));
                same && !after && !text::is_denied(&words, at)
            })
        })
    })
}

fn stale(desk: &Desk<'_>) -> Vec<Found> {
    let Some(paper) = &desk.readiness else { return Vec::new() };
    let known: HashSet<String> = known(desk).into_iter().collect();
    let mut found = Vec::new();
    if known.is_empty() {
        let what = if desk.scope.is_some() { "has no identifiers" } else { "can't be read" };
        let says = format!("`{}` {what}: there is nothing that readiness could be about.", papers::SCOPE);
        found.push(Found::in_file(READINESS, says).next("Pass EXPAND first."));
        if desk.scope.is_none() {
            return found;
        }
    }
    let mut told: HashSet<String> = HashSet::new();
    for line in paper.lines() {
        for id in ids::written(&line.text) {
            if !known.is_empty() && !known.contains(&id) && told.insert(id.clone()) {
                let says = format!("`{id}` is no criterion of scope.");
                found.push(
                    Found::at(READINESS, line.at, says).next("Take it out, or write it into scope and expand again."),
                );
            }
        }
        found.extend(foreign_digests(desk, &line.text).map(|says| Found::at(READINESS, line.at, says)));
    }
    found
}

/// Digests on a line that names a document and are not that document's.
fn foreign_digests(desk: &Desk<'_>, line: &str) -> impl Iterator<Item = String> {
    let small = line.to_lowercase();
    // In a table the column says so; a whole one is one anyway.
    let whole = |word: &str| matches!(word.len(), 40 | 64) && word.bytes().all(|b| b.is_ascii_hexdigit());
    let marked = ["sha", "digest", "blob", "hash"].iter().any(|mark| small.contains(mark))
        || small.split(|c: char| !c.is_alphanumeric()).any(whole);
    let documents = [("scope.md", &desk.papers.scope), ("design.md", &desk.papers.design)];
    let named: Vec<_> = documents.into_iter().filter(|(name, _)| marked && small.contains(name)).collect();
    let mut foreign = Vec::new();
    if !named.is_empty() {
        let is_hex = |word: &&str| {
            (7..=64).contains(&word.len())
                && word.bytes().all(|b| b.is_ascii_hexdigit())
                && word.bytes().any(|b| b.is_ascii_digit())
        };
        for digits in small.split(|c: char| !c.is_alphanumeric()).filter(is_hex).take(8) {
            if !named.iter().any(|(_, sheet)| sheet.as_ref().is_some_and(|sheet| sheet.is_digest(digits))) {
                foreign.push(format!("`{}` is not the digest of `{}`.", excerpt(digits), named[0].0));
            }
        }
    }
    foreign.into_iter()
}

#[cfg(test)]
mod tests;
