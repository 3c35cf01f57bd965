//! What documents and tests say of the criteria and of the tier: `REC-03`, `REC-08`, `REC-09`, `REC-10`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Table;
use crate::gate::build::covered::{is_test, names, test_text};
use crate::gate::build::{Bench, wanted};
use crate::gate::expand;
use crate::gate::paper::text::{is_denied, words};
use crate::gate::paper::{Paper, ids, names as sections};
use crate::gate::papers::{DESIGN, Found, LOG, READINESS, SCOPE};

/// So many identifiers that scope does not have are told.
const MOST_UNKNOWN: usize = 10;

fn known(scope: Option<&Paper>) -> BTreeSet<String> {
    wanted(scope).into_iter().map(|(id, _)| id.to_ascii_uppercase()).collect()
}

/// What scope puts off, by its identifiers.
fn put_off(table: &Table<'_>) -> BTreeSet<String> {
    let deferred = table.bench.scope.as_ref().and_then(|scope| scope.section("Deferred"));
    let all = deferred.map(|part| ids::written(&part.text())).unwrap_or_default();
    let known = known(table.bench.scope.as_ref());
    all.into_iter().map(|id| id.to_ascii_uppercase()).filter(|id| !known.contains(id)).collect()
}

/// The lines that the change added to tests: path, number and text.
fn added<'t>(table: &'t Table<'_>) -> impl Iterator<Item = (&'t str, u32, &'t str)> {
    let tests = table.bench.site.files.iter().filter(|file| is_test(&file.path));
    tests.flat_map(|file| {
        let lines = (1_u32..).zip(file.text.split('\n')).zip(&file.lines);
        lines.filter(|(_, added)| **added).map(|((number, line), _)| (file.path.as_str(), number, line))
    })
}

/// Each identifier in a test that scope does not have, and that the scope before did not have either.
pub(super) fn unknown(table: &Table<'_>) -> Vec<Found> {
    let base = table.papers.base_scope.as_ref().and_then(|sheet| Paper::read(sheet.text()?, sections::SCOPE).ok());
    let mut told = known(table.bench.scope.as_ref());
    if told.is_empty() {
        return Vec::new();
    }
    told.extend(known(base.as_ref()));
    told.extend(put_off(table));
    let mut all = Vec::new();
    for (path, number, line) in added(table) {
        for id in ids::written(line) {
            if all.len() < MOST_UNKNOWN && told.insert(id.to_ascii_uppercase()) {
                all.push(Found::at(path, number, format!("this names `{id}`, which `{SCOPE}` does not have.")));
            }
        }
    }
    all
}

/// `REC-08`: each criterion that scope defers and that a test of the change is for.
pub(super) fn deferred(table: &Table<'_>) -> Vec<Found> {
    let mut left = put_off(table);
    let mut all = Vec::new();
    for (path, number, line) in added(table) {
        let named: Vec<String> = left.iter().filter(|id| names(line, id)).cloned().collect();
        for id in named {
            all.push(Found::at(
                path,
                number,
                format!("this tests `{id}`, which scope defers: it is outside of the scope."),
            ));
            left.remove(&id);
        }
    }
    all
}

/// `REC-09`: each line that says of a criterion that it can't be met. What may happen, or has been, is none.
pub(super) fn impossible(table: &Table<'_>) -> Vec<Found> {
    const SAYS: &[&str] = &[
        "impossible",
        "infeasible",
        "cannot be met",
        "can not be met",
        "cant be met",
        "wont be met",
        "will not be met",
        "cannot be built",
        "cant be built",
        "cannot be done",
        "cant be done",
        "not possible",
        "not feasible",
    ];
    const MAYBE: &[&str] = &[
        "could", "may", "might", "would", "if", "unless", "risk", "risks", "was", "were", "been", "until", "before",
        "longer", "when", "without",
    ];
    let known: Vec<String> = wanted(table.bench.scope.as_ref()).into_iter().map(|(id, _)| id).collect();
    let papers = [(DESIGN, &table.bench.design), (READINESS, &table.bench.readiness), (LOG, &table.log)];
    let mut all = Vec::new();
    for (path, paper) in papers {
        for line in paper.iter().flat_map(Paper::lines) {
            let Some(id) = ids::named(&line.text, &known).first().map(|id| (*id).clone()) else { continue };
            let said = words(&ids::without(&line.text));
            let at = |phrase: &&&str| {
                let phrase = words(phrase);
                said.windows(phrase.len()).position(|some| some == phrase).map(|at| (at, phrase[0] == "not"))
            };
            let says =
                SAYS.iter().find_map(|phrase| at(&phrase)).is_some_and(|(at, denies)| denies || !is_denied(&said, at));
            let of_it = || !is_of_something_else(&line.text, &id, &said);
            if says && !said.iter().any(|word| MAYBE.contains(&word.as_str())) && of_it() {
                all.push(Found::at(
                    path,
                    line.at,
                    format!("this says that `{id}` can't be met, and scope still asks for it."),
                ));
            }
        }
    }
    all
}

/// Whether it is something else than the criterion that can't be: what must not happen (`impossible to fail AC-1`), or what the line
/// says of it by itself (`AC-2: negative levels are not possible`).
fn is_of_something_else(line: &str, id: &str, said: &[String]) -> bool {
    const MEET: &[&str] = &[
        "meet",
        "satisfy",
        "fulfil",
        "fulfill",
        "reach",
        "achieve",
        "implement",
        "build",
        "do",
        "pass",
        "verify",
        "test",
        "show",
        "deliver",
        "guarantee",
        "keep",
        "have",
        "get",
        "make",
    ];
    const FILL: &[&str] = &[
        "it",
        "this",
        "that",
        "is",
        "are",
        "seems",
        "proves",
        "remains",
        "still",
        "also",
        "now",
        "simply",
        "just",
        "as",
        "written",
        "stated",
        "to",
        "be",
        "technically",
        "physically",
        "currently",
        "not",
    ];
    // That it can't be met is said of nothing else.
    if ["met", "built", "done"].iter().any(|word| said.iter().any(|own| own == word)) {
        return false;
    }
    let Some(at) =
        said.iter().position(|word| matches!(word.as_str(), "impossible" | "infeasible" | "possible" | "feasible"))
    else {
        return false;
    };
    if said.get(at + 1).is_some_and(|word| word == "to") {
        return said.get(at + 2).is_some_and(|verb| !MEET.contains(&verb.as_str()));
    }
    let small = line.to_ascii_lowercase();
    let behind = small.find(&id.to_ascii_lowercase()).map_or("", |at| &small[at + id.len()..]);
    match behind.trim_start_matches(['*', '`', ')', ' ']).strip_prefix(':') {
        Some(rest) => {
            let own = words(rest);
            let is_end =
                |word: &&String| !matches!(word.as_str(), "impossible" | "infeasible" | "possible" | "feasible");
            own.iter().take_while(is_end).any(|word| !FILL.contains(&word.as_str()))
        }
        None => false,
    }
}

/// `REC-10`: each line of design and readiness with another tier than scope's.
pub(super) fn other_tier(table: &Table<'_>) -> Vec<Found> {
    static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let begins = r"(?:^|[.;!(|]\s*|\b(?:quality|the)\s+)";
        Regex::new(&format!(r#"(?i){begins}tier\s*[:=]\s*[`"*]*(shed|house|skyscraper)\b\s*(?:$|[.,;!)(`"*|–—])"#)).ok()
    });
    let Some(tier) = table.bench.scope.as_ref().and_then(expand::tier) else { return Vec::new() };
    let mut all = Vec::new();
    for (path, paper) in [(DESIGN, &table.bench.design), (READINESS, &table.bench.readiness)] {
        for line in paper.iter().flat_map(Paper::lines) {
            let Some(found) = LABEL.as_ref().and_then(|label| label.captures(&line.text)) else { continue };
            let other = found[1].to_ascii_lowercase();
            if other != tier.as_str() {
                let says = format!("this is made for a {other}, and scope asks for a {tier}.");
                all.push(Found::at(path, line.at, says));
            }
        }
    }
    all
}

/// Where a test is that names the criterion which a sentence names first.
pub(super) fn tested_in(bench: &Bench<'_>, sentence: &str) -> Option<String> {
    let id = ids::written(sentence).into_iter().next()?;
    let mut tests = bench.site.texts().filter(|(path, _)| is_test(path));
    let named = |(path, text): &(&str, &str)| test_text(path, text, true).is_some_and(|test| names(&test, &id));
    tests.find(named).map(|(path, _)| path.to_owned())
}
