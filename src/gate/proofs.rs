//! What readiness says is run to show each criterion, read from the documents.
//!
//! Nothing in a document is run unless it is written as a command: in code, behind the `$` of a shell. What it has to print stands in
//! code behind a word that says so, or below it in a block:
//!
//! ```text
//! | AC-1 | Interfaces | tests/test_dim.py | `$ dim 3` prints `2` |
//! ```

use std::collections::HashSet;

use super::expand;
use super::paper::{Paper, Piece, ids, names, numbers, text};
use super::papers::{Papers, excerpt};
use crate::runner::proofs::{Asked, Criterion, Proof, Truth, Unread, UnreadKind};

/// More commands than these are not run.
const MOST: usize = 100;
const LONGEST_COMMAND: usize = 4096;
const LONGEST_PRINTS: usize = 2000;
/// So much of what is not read is told.
const LONGEST_TOLD: usize = 200;

/// Where a criterion's proof may stand, the first of them rather.
const SECTIONS: [&str; 2] = ["Key Links", "Acceptance Criteria Coverage"];

/// Words that stand before what a command prints.
const PRINTS: &[&str] = &["answers", "gives", "outputs", "print", "prints", "returns", "says", "shows", "writes"];

/// What a change's documents ask for. None where they are not there, or are those of an earlier change.
pub fn asked(papers: &Papers) -> Option<Asked> {
    let scope_text = papers.scope.as_ref()?.text()?;
    if papers.base_scope.as_ref().and_then(|sheet| sheet.text()) == Some(scope_text) {
        return None;
    }
    let scope = Paper::read(scope_text, names::SCOPE).ok()?;
    let mut seen = HashSet::new();
    let own = expand::criteria(&scope).into_iter().filter_map(|(id, item)| Some((id?, item)));
    let own: Vec<(String, Piece)> = own.filter(|(id, _)| seen.insert(id.clone())).collect();
    let known: Vec<String> = own.iter().map(|(id, _)| id.clone()).collect();
    let text = papers.readiness.as_ref().and_then(|sheet| sheet.text());
    let Some(readiness) = text.and_then(|text| Paper::read(text, names::READINESS).ok()) else {
        return Some(Asked { unwritten: own.first().map(|(_, item)| item.line), ..Asked::default() });
    };

    let mut unread = Vec::new();
    let mut proofs: Vec<Proof> = Vec::new();
    let mut lines: Vec<Option<u32>> = vec![None; known.len()];
    let parts = SECTIONS.map(|name| readiness.section(name));
    for item in parts.iter().flatten().flat_map(|part| part.items()) {
        let named = ids::named(&item.all_text(), &known);
        for id in &named {
            let at = known.iter().position(|one| one == *id);
            if let Some(line) = at.and_then(|at| lines.get_mut(at)) {
                line.get_or_insert(item.line);
            }
        }
        for written in commands(&item, &mut unread) {
            let criteria = named.iter().map(|id| (*id).clone());
            match proofs.iter_mut().find(|one| one.command == written.command && agree(one, &written)) {
                Some(same) => {
                    let more: Vec<String> = criteria.filter(|id| !same.criteria.contains(id)).collect();
                    same.criteria.extend(more);
                    same.prints = same.prints.take().or(written.prints);
                }
                None => proofs.push(Proof { criteria: criteria.collect(), ..written }),
            }
        }
    }
    let mut truths = Vec::new();
    for item in readiness.section("Truths").map(|part| part.items()).unwrap_or_default() {
        let all = item.all_text();
        if text::is_none(&all) {
            continue;
        }
        let written = commands(&item, &mut unread).into_iter();
        proofs.extend(written.map(|proof| Proof { truth: Some(item.line), ..proof }));
        let criteria = ids::named(&all, &known).into_iter().cloned().collect();
        truths.push(Truth { line: item.line, says: excerpt(all.trim_end_matches('.')), criteria });
    }
    if let Some(Proof { command, line, .. }) = proofs.get(MOST) {
        unread.push(Unread { line: *line, command: command.clone(), what: UnreadKind::Many });
    }
    proofs.truncate(MOST);
    unread.truncate(MOST);
    let heading = parts.iter().flatten().next().map_or(1, |part| part.line);
    let criteria = own.iter().zip(lines).map(|((id, item), line)| Criterion {
        id: id.clone(),
        line: line.unwrap_or(heading),
        load: is_under_load(&item.all_text()),
    });
    Some(Asked { criteria: criteria.collect(), truths, proofs, unread, unwritten: None })
}

/// Whether a command that is written twice is to print the same.
fn agree(one: &Proof, other: &Proof) -> bool {
    one.prints == other.prints || one.prints.is_none() || other.prints.is_none()
}

/// The commands in an item.
fn commands(item: &Piece, unread: &mut Vec<Unread>) -> Vec<Proof> {
    let mut found = spans(item, unread);
    for code in &item.code {
        let mut open: Option<Proof> = None;
        let mut lines = code.lines.iter();
        while let Some(line) = lines.next() {
            let Some(begun) = line.text.trim_start().strip_prefix("$ ") else {
                if let Some(proof) = &mut open {
                    let prints = proof.prints.get_or_insert_default();
                    if !prints.is_empty() {
                        prints.push('\n');
                    }
                    prints.push_str(line.text.trim_end());
                }
                continue;
            };
            // What ends with `\` goes on in the next line, behind the mark that a shell asks for more with.
            let mut text = begun.trim_end().to_owned();
            while goes_on(&text)
                && let Some(next) = lines.next()
            {
                text.pop();
                text.push_str(next.text.trim_start().trim_start_matches("> ").trim_end());
            }
            found.extend(open.take().map(closed));
            open = taken(&text, line.at, unread);
        }
        found.extend(open.map(closed));
    }
    found
}

/// A command that was written, if it can be run.
fn taken(text: &str, line: u32, unread: &mut Vec<Unread>) -> Option<Proof> {
    let text = text.trim();
    let what = match text {
        "" => return None,
        _ if text.len() > LONGEST_COMMAND => UnreadKind::Long,
        _ if goes_on(text) => UnreadKind::GoesOn,
        _ => return Some(proof(text, line)).filter(|_| !text.contains('\0')),
    };
    unread.push(Unread { line, command: cut(text, LONGEST_TOLD).to_owned(), what });
    None
}

/// Whether a command is not at its end with the end of its line.
fn goes_on(command: &str) -> bool {
    command.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Without the empty lines at the end of what it prints.
fn closed(mut proof: Proof) -> Proof {
    let prints = proof.prints.take().map(|text| cut(text.trim_end(), LONGEST_PRINTS).to_owned());
    proof.prints = prints.filter(|text| !text.trim().is_empty());
    proof
}

/// Those that stand in its text, each with what it is to print.
fn spans(item: &Piece, unread: &mut Vec<Unread>) -> Vec<Proof> {
    let all = item.text.as_str();
    let mut found: Vec<Proof> = Vec::new();
    let mut at = 0;
    let mut spans = item.spans.iter().peekable();
    while let Some(span) = spans.next() {
        let Some(begin) = all.get(at..).and_then(|rest| rest.find(span.as_str())).map(|next| at + next) else {
            continue;
        };
        at = begin + span.len();
        let Some(text) = span.strip_prefix("$ ") else { continue };
        let line = item.lines.iter().find(|line| line.text.contains(span.as_str())).map_or(item.line, |line| line.at);
        let Some(mut one) = taken(text, line, unread) else { continue };
        let rest = all.get(at..).unwrap_or_default();
        let next = spans.peek().and_then(|next| Some((next.as_str(), &rest[..rest.find(next.as_str())?])));
        match next {
            Some((next, between)) if is_before_output(between) && !next.starts_with("$ ") => {
                one.prints = Some(cut(next.trim(), LONGEST_PRINTS).to_owned()).filter(|text| !text.is_empty());
            }
            _ => {
                let between = next.map_or(rest, |(_, between)| between);
                let prints = output_in_words(between).map(|text| cut(text, LONGEST_TOLD).to_owned());
                unread.extend(prints.map(|text| {
                    let command = cut(&one.command, LONGEST_TOLD).to_owned();
                    Unread { line, command, what: UnreadKind::Prints(text) }
                }));
            }
        }
        found.push(one);
    }
    found
}

const ARROWS: [&str; 5] = ["→", "⇒", "⟶", "->", "=>"];

fn is_before_output(between: &str) -> bool {
    let said = between.trim();
    let word = said.trim_end_matches(':').rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    // What stands in another cell is something else.
    !between.contains('\n')
        && (ARROWS.iter().any(|arrow| said.ends_with(arrow)) || PRINTS.contains(&word.to_lowercase().as_str()))
}

/// What a command is to print, by words that are not code: `prints 77`. What tells of it (`shows the level`) is no output.
fn output_in_words(behind: &str) -> Option<&str> {
    let line = behind.lines().next().unwrap_or_default().trim();
    let line = line.trim_start_matches([',', ':', '(']).trim_start();
    let line =
        ["which ", "that ", "and ", "it "].iter().fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
    let word = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let arrow = ARROWS.iter().find_map(|arrow| line.strip_prefix(arrow));
    let rest = match arrow {
        Some(rest) => rest,
        None if PRINTS.contains(&word.to_lowercase().as_str()) => &line[word.len()..],
        None => return None,
    };
    let end = [". ", "; ", ", ", " ("].iter().filter_map(|mark| rest.find(mark)).min().unwrap_or(rest.len());
    let value = rest[..end].trim().trim_start_matches(':').trim_end_matches(['.', ',', ';', ')', ':']).trim();
    let words: Vec<&str> = value.split_whitespace().collect();
    let is_number = |c: char| c.is_ascii_digit();
    let is_text = |c: char| matches!(c, '"' | '\'' | '“' | '”' | '‘' | '’' | '«' | '»');
    let first = words.first()?.to_lowercase();
    // `returns 0` is most often said of the exit status, which has to be 0 anyway.
    if word.eq_ignore_ascii_case("returns") && matches!(value, "0" | "zero") {
        return None;
    }
    let begins = value.starts_with(is_text) || value.trim_start_matches(['-', '+', '$', '€']).starts_with(is_number);
    let is_short = words.len() == 1 || words.len() == 2 && value.contains(is_number);
    (begins || is_short && !TELLING.contains(&first.as_str())).then_some(value)
}

/// Words that begin to tell of an output.
#[rustfmt::skip]
const TELLING: &[&str] = &[
    "a", "about", "above", "all", "an", "at", "below", "exactly", "how", "in", "it", "less", "more", "no", "nothing", "only", "over", "so",
    "success", "that", "the", "them", "this", "under", "up", "what", "whether", "within",
];

fn proof(command: &str, line: u32) -> Proof {
    Proof { command: command.to_owned(), prints: None, line, criteria: Vec::new(), truth: None }
}

fn cut(text: &str, most: usize) -> &str {
    let end = text.char_indices().map(|(at, _)| at).chain([text.len()]).take_while(|at| *at <= most).last();
    &text[..end.unwrap_or(0)]
}

/// Whether a criterion has a threshold that only shows under load.
fn is_under_load(criterion: &str) -> bool {
    const WORDS: &[&str] = &[
        "concurrent",
        "concurrently",
        "simultaneous",
        "simultaneously",
        "throughput",
        "rps",
        "qps",
        "tps",
        "p95",
        "p99",
    ];
    const THINGS: &[&str] = &[
        "calls",
        "events",
        "messages",
        "operations",
        "queries",
        "reads",
        "requests",
        "transactions",
        "updates",
        "writes",
    ];
    let words = text::words(criterion);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let rate = has(THINGS) && (text::has_phrase(&words, "per second") || criterion.to_lowercase().contains("/s"));
    numbers::has_threshold(criterion) && (has(WORDS) || rate || text::has_phrase(&words, "under load"))
}

/// Whether a command puts load on something, by what is known of such programs: one of them is started, or something that is
/// called a benchmark or a load test.
pub fn puts_load(command: &str) -> bool {
    #[rustfmt::skip]
    const TOOLS: &[&str] = &[
        "ab", "artillery", "autocannon", "bombardier", "fortio", "gatling", "ghz", "h2load", "hey", "jmeter", "k6", "locust",
        "oha", "pgbench", "siege", "sysbench", "vegeta", "wrk", "wrk2",
    ];
    const NAMES: &[&str] = &["bench", "benches", "benchmark", "benchmarks", "load", "loadtest", "stress"];
    const SAYS: &[&str] = &[":", "cat", "echo", "false", "printf", "true"];
    let code = command.split(" #").next().unwrap_or_default();
    code.split(['|', ';', '&', '\n']).any(|part| {
        let mut words = part.split_whitespace().skip_while(|word| word.contains('=') && !word.starts_with('-'));
        let Some(program) = words.next() else { return false };
        let name = program.rsplit('/').next().unwrap_or(program).to_ascii_lowercase();
        let parts = |word: &str| {
            let word = word.to_ascii_lowercase();
            let mut parts = word.split(|c: char| !c.is_ascii_alphanumeric());
            parts.any(|part| NAMES.contains(&part) || TOOLS.contains(&part))
        };
        // Of what a program is given, only what comes before its options says what it is: `npm run bench`, `python3 load.py`.
        let named = || words.take_while(|word| !word.starts_with("--")).take(4).any(parts);
        !SAYS.contains(&name.as_str()) && (TOOLS.contains(&name.as_str()) || parts(&name) || named())
    })
}

mod reads;

pub use reads::only_reads;

#[cfg(test)]
mod tests;
