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
use crate::runner::proofs::{Asked, Criterion, Proof, Truth};

/// More commands than these are not run.
const MOST: usize = 100;
const LONGEST_COMMAND: usize = 4096;
const LONGEST_PRINTS: usize = 2000;

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
    let readiness = Paper::read(papers.readiness.as_ref()?.text()?, names::READINESS).ok()?;
    let mut seen = HashSet::new();
    let own = expand::criteria(&scope).into_iter().filter_map(|(id, item)| Some((id?, item)));
    let own: Vec<(String, Piece)> = own.filter(|(id, _)| seen.insert(id.clone())).collect();
    let known: Vec<String> = own.iter().map(|(id, _)| id.clone()).collect();

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
        for written in commands(&item) {
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
        proofs.extend(commands(&item).into_iter().map(|proof| Proof { truth: Some(item.line), ..proof }));
        let criteria = ids::named(&all, &known).into_iter().cloned().collect();
        truths.push(Truth { line: item.line, says: excerpt(all.trim_end_matches('.')), criteria });
    }
    proofs.truncate(MOST);
    let heading = parts.iter().flatten().next().map_or(1, |part| part.line);
    let criteria = own.iter().zip(lines).map(|((id, item), line)| Criterion {
        id: id.clone(),
        line: line.unwrap_or(heading),
        load: is_under_load(&item.all_text()),
    });
    Some(Asked { criteria: criteria.collect(), truths, proofs })
}

/// Whether a command that is written twice is to print the same.
fn agree(one: &Proof, other: &Proof) -> bool {
    one.prints == other.prints || one.prints.is_none() || other.prints.is_none()
}

/// The commands in an item.
fn commands(item: &Piece) -> Vec<Proof> {
    let mut found = spans(item);
    for code in &item.code {
        let mut open: Option<Proof> = None;
        for line in &code.lines {
            match (command(line.text.trim_start()), &mut open) {
                (Some(text), _) => found.extend(open.replace(proof(text, line.at)).map(closed)),
                (None, Some(proof)) => {
                    let prints = proof.prints.get_or_insert_default();
                    if !prints.is_empty() {
                        prints.push('\n');
                    }
                    prints.push_str(line.text.trim_end());
                }
                (None, None) => {}
            }
        }
        found.extend(open.map(closed));
    }
    found
}

/// Without the empty lines at the end of what it prints.
fn closed(mut proof: Proof) -> Proof {
    let prints = proof.prints.take().map(|text| cut(text.trim_end(), LONGEST_PRINTS).to_owned());
    proof.prints = prints.filter(|text| !text.trim().is_empty());
    proof
}

/// Those that stand in its text, each with what it is to print.
fn spans(item: &Piece) -> Vec<Proof> {
    let all = item.text.as_str();
    let mut found: Vec<Proof> = Vec::new();
    let mut at = 0;
    let mut spans = item.spans.iter().peekable();
    while let Some(span) = spans.next() {
        let Some(begin) = all.get(at..).and_then(|rest| rest.find(span.as_str())).map(|next| at + next) else {
            continue;
        };
        at = begin + span.len();
        let Some(text) = command(span) else { continue };
        let line = item.lines.iter().find(|line| line.text.contains(span.as_str())).map_or(item.line, |line| line.at);
        let mut one = proof(text, line);
        if let Some(next) = spans.peek().filter(|next| command(next).is_none())
            && let Some(between) = all.get(at..).and_then(|rest| Some(&rest[..rest.find(next.as_str())?]))
            && is_before_output(between)
        {
            one.prints = Some(cut(next.trim(), LONGEST_PRINTS).to_owned()).filter(|text| !text.is_empty());
        }
        found.push(one);
    }
    found
}

fn is_before_output(between: &str) -> bool {
    const ARROWS: [&str; 5] = ["→", "⇒", "⟶", "->", "=>"];
    let said = between.trim();
    let word = said.trim_end_matches(':').rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    // What stands in another cell is something else.
    !between.contains('\n')
        && (ARROWS.iter().any(|arrow| said.ends_with(arrow)) || PRINTS.contains(&word.to_lowercase().as_str()))
}

fn proof(command: &str, line: u32) -> Proof {
    Proof { command: command.to_owned(), prints: None, line, criteria: Vec::new(), truth: None }
}

/// `$ dim 3`
fn command(code: &str) -> Option<&str> {
    let command = code.strip_prefix("$ ")?.trim();
    (!command.is_empty() && command.len() <= LONGEST_COMMAND && !command.contains('\0')).then_some(command)
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

#[cfg(test)]
mod tests;
