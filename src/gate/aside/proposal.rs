//! The proposal of another round: what it is to bring, where that comes from, and what it does to the architecture.

use std::collections::BTreeSet;

use super::{Aside, ITERATION};
use crate::finding::{Finding, quoted};
use crate::gate::expand::{self, inputs::unnamed_in};
use crate::gate::paper::{Name, Paper, Part, Piece, names, text};
use crate::gate::papers::{Document, Sheet, excerpt};
use crate::gate::world::{CheckRun, World};
use crate::ledger::record::{Change, Impact};
use crate::ledger::state::{Declined, RED};

/// A proposal that can be decided about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    pub changes: Vec<Change>,
    pub impact: Impact,
    /// That of the scope that was delivered.
    pub version: u32,
}

/// A rule over the proposal.
pub struct Rule {
    pub id: &'static str,
    /// One sentence.
    pub about: &'static str,
}

pub const RULES: &[Rule] = &[
    Rule { id: "ITR-01", about: "The proposal exists and can be read." },
    Rule { id: "ITR-02", about: "Each required section is there and says something." },
    Rule { id: "ITR-03", about: "Each change has a `CH-*` identifier of its own and a priority." },
    Rule { id: "ITR-04", about: "Each change has a source that exists." },
    Rule { id: "ITR-05", about: "The impact on the architecture is none, minor or major." },
    Rule { id: "ITR-06", about: "New input and what was deferred are used or set aside by name." },
    Rule { id: "ITR-07", about: "What is red before the round begins is listed." },
    Rule {
        id: "ITR-08",
        about: "What was rejected, or proposed for an earlier round, is not proposed again as it was.",
    },
];

/// The checks that are red on what was delivered, by their newest runs.
pub fn red(world: &World) -> BTreeSet<String> {
    let newest = |run: &&CheckRun| {
        let later = |other: &CheckRun| other.name == run.name && other.id > run.id;
        !world.is_ours(run) && !world.merge_checks.iter().any(later)
    };
    let is_red = |run: &&CheckRun| run.conclusion.as_deref().is_some_and(|conclusion| RED.contains(&conclusion));
    world.merge_checks.iter().filter(newest).filter(is_red).map(|run| run.name.clone()).collect()
}

/// What the proposal comes to, or what is found of it, where these checks are red.
pub fn proposed(aside: &Aside, red: &BTreeSet<String>) -> Result<Proposed, Vec<Finding>> {
    let paper = read(aside.iteration.as_ref()).map_err(|finding| vec![*finding])?;
    let mut found = sections(&paper);
    let changes = changes(&paper, aside, &mut found);
    let impact = impact(&paper, &mut found);
    found.extend(left_out(&paper, aside));
    found.extend(unlisted(&paper, red));
    match (found.is_empty(), impact) {
        (true, Some(impact)) => {
            let scope = aside.scope.as_ref().and_then(|sheet| Paper::read(sheet.text()?, names::SCOPE).ok());
            let version = scope.as_ref().and_then(expand::version).unwrap_or(1);
            Ok(Proposed { changes, impact, version })
        }
        _ => Err(found),
    }
}

/// `ITR-08`: somebody has read exactly this, and does not want it; or it is what an earlier round was to bring.
pub fn again(aside: &Aside, declined: Option<&Declined>) -> Option<Finding> {
    let document = aside.iteration.as_ref()?.blob.as_ref()?;
    if aside.earlier.as_ref() == Some(document) {
        let says = "It stood there before this change was begun, so it is the proposal of an earlier round.";
        return Some(error("ITR-08", None, says, "Write what this round is to bring, and say it again."));
    }
    let Declined { by, reason, .. } = declined.filter(|declined| declined.document == *document)?;
    let says = format!("{} has rejected exactly this proposal: {}.", by.name(), quoted(reason));
    Some(error("ITR-08", None, says, "Change what the reason names, and say it again."))
}

fn error(rule: &str, line: Option<u32>, says: impl Into<String>, next: &str) -> Finding {
    Finding::error(rule, says, next).at(ITERATION, line)
}

/// `ITR-01`
fn read(sheet: Option<&Sheet>) -> Result<Paper, Box<Finding>> {
    let Some(sheet) = sheet else {
        let next = "Write down what the round is to bring, bring it to the default branch, and say it again.";
        return Err(Box::new(Finding::error("ITR-01", format!("`{ITERATION}` does not exist."), next)));
    };
    let text = match &sheet.document {
        Document::Text(text) => text,
        _ => {
            return Err(Box::new(error(
                "ITR-01",
                None,
                "It is no text that can be read.",
                "Write it as a plain file.",
            )));
        }
    };
    match Paper::read(text, names::ITERATION) {
        Ok(paper) if paper.is_blank() => {
            Err(Box::new(error("ITR-01", None, "There is nothing to read in it.", "Write what the round is to bring.")))
        }
        Ok(paper) => Ok(paper),
        Err(unread) => Err(Box::new(error("ITR-01", None, format!("It {unread}; it is not read."), "Shorten it."))),
    }
}

/// `ITR-02`
fn sections(paper: &Paper) -> Vec<Finding> {
    let lacks = |name: &&Name| !paper.section(name.name).is_some_and(|part| part.has_content(name.none));
    let said = |name: &Name| {
        let line = paper.section(name.name).map(|part| part.line);
        let none = if name.none { " `none` is an answer." } else { "" };
        let (says, add) = match line {
            Some(_) => (format!("Nothing is said under “{}”.", name.name), "Add what belongs below it."),
            None => (format!("There is no heading “{}”.", name.name), "Add it, and what belongs below it."),
        };
        error("ITR-02", line, says, &format!("{add}{none}"))
    };
    names::ITERATION.iter().filter(lacks).map(said).collect()
}

fn said<'p>(paper: &'p Paper, name: &str) -> Option<Part<'p>> {
    paper.section(name).filter(|part| part.has_content(true))
}

/// One change of the list, as it is written.
struct Listed {
    line: u32,
    id: Option<String>,
    text: String,
    priority: Option<String>,
}

/// `ITR-03` and `ITR-04`
fn changes(paper: &Paper, aside: &Aside, found: &mut Vec<Finding>) -> Vec<Change> {
    let Some(part) = said(paper, "Prioritised Changes") else { return Vec::new() };
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for one in part.described().into_iter().flat_map(listed) {
        let shown = excerpt(&one.text);
        let Some(id) = one.id.clone() else {
            let says = format!("“{shown}” has no identifier.");
            found.push(error("ITR-03", Some(one.line), says, "Begin each change with one of its own, such as `CH-1`."));
            continue;
        };
        if !seen.insert(id.clone()) {
            let says = format!("`{id}` stands for two changes.");
            found.push(error("ITR-03", Some(one.line), says, "Give each change an identifier of its own."));
        }
        if one.priority.is_none() {
            let says = format!("`{id}` has no priority.");
            found.push(error("ITR-03", Some(one.line), says, "Say `high`, `medium` or `low`, or `P1` to `P5`."));
        }
        if let Some(says) = unsourced(&id, &one.text, aside) {
            let next = "Name the file of `docs/input/`, or say deferred, limitation, bug or debt.";
            found.push(error("ITR-04", Some(one.line), says, next));
        }
        let priority = one.priority.unwrap_or_default();
        all.push(Change { says: excerpt(after_id(&one.text)), id, priority });
    }
    all
}

/// The changes in an item: itself, or each entry below it that has an identifier.
fn listed(piece: Piece) -> Vec<Listed> {
    let whole = [piece.text.as_str(), &piece.spans.join(" "), &piece.targets.join(" ")].join("\n");
    let cell = piece.cells.iter().find(|cell| text::words(&cell.header).iter().any(|word| word == "priority"));
    // Below such a heading, a number is one.
    let by_cell =
        cell.and_then(|cell| priority(&cell.text).or_else(|| priority(&format!("priority {}", cell.text.trim()))));
    let cells = piece.cells.iter().find_map(|cell| leading(&cell.text));
    let id = leading(&piece.text).or(cells);
    let nested = piece.entries.iter().filter(|entry| leading(&entry.text).is_some()).count();
    if id.is_some() || nested == 0 {
        let priority = if cell.is_some() { by_cell } else { priority(&whole) };
        return vec![Listed { line: piece.line, id, text: whole, priority }];
    }
    // `### High`, and below it the changes of that priority.
    let heading = piece.text.lines().next().unwrap_or_default().to_owned();
    let mut all: Vec<Listed> = Vec::new();
    for entry in &piece.entries {
        match (leading(&entry.text), all.last_mut()) {
            (None, None) => {}
            (None, Some(last)) => {
                last.text.push('\n');
                last.text.push_str(&entry.text);
            }
            (id, _) => all.push(Listed { line: entry.at, id, text: entry.text.clone(), priority: None }),
        }
    }
    for one in &mut all {
        one.priority = priority(&one.text).or_else(|| priority(&heading));
    }
    all
}

/// The identifier that a text begins with.
fn leading(text: &str) -> Option<String> {
    let text = text::unnumbered(text).trim_start_matches(|c: char| !c.is_alphanumeric());
    identifier(text)
}

fn identifier(text: &str) -> Option<String> {
    let rest = text.get(..3).filter(|start| start.eq_ignore_ascii_case("ch-")).map(|_| &text[3..])?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    (end > 0).then(|| format!("CH-{}", rest[..end].to_ascii_uppercase()))
}

fn after_id(text: &str) -> &str {
    let start = text.to_ascii_lowercase().find("ch-").map_or(0, |at| at + 3);
    let rest = &text[start..];
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric()).lines().next().unwrap_or_default();
    // `(high): …`
    let word = &rest[..rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())];
    match rest[word.len()..].starts_with([')', ':', ']']) && priority(word).is_some() {
        true => rest[word.len()..].trim_start_matches(|c: char| !c.is_alphanumeric()),
        false => rest,
    }
}

/// The identifiers of changes that somebody names.
pub fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter_map(identifier).collect()
}

fn priority(text: &str) -> Option<String> {
    const WORDS: [&str; 6] = ["critical", "urgent", "high", "medium", "low", "blocker"];
    /// In a sentence they say something else.
    const MODALS: [&str; 3] = ["must", "should", "could"];
    let apart = text.split(['(', ')', '[', ']', ':', '|', ',', '\n', '–', '—']);
    let alone = apart.map(|part| part.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase());
    if let Some(modal) = alone.into_iter().find(|part| MODALS.contains(&part.as_str())) {
        return Some(modal);
    }
    let words = text::words(text);
    let by_number = |word: &&String| {
        let digits = word.strip_prefix('p').unwrap_or_default();
        digits.len() == 1 && digits.bytes().all(|b| b.is_ascii_digit())
    };
    let numbered = words.windows(2).find(|two| two[0] == "priority" && two[1].bytes().all(|b| b.is_ascii_digit()));
    let word = words.iter().find(|word| WORDS.contains(&word.as_str())).or_else(|| words.iter().find(by_number));
    word.cloned().or_else(|| numbered.map(|two| format!("p{}", two[1])))
}

/// What is wrong with where a change comes from.
fn unsourced(id: &str, said: &str, aside: &Aside) -> Option<String> {
    let words = text::words(said);
    let named: Vec<String> = inputs_in(said);
    if let Some(missing) = named.iter().find(|path| !aside.inputs.contains_key(*path)) {
        return Some(format!("`{id}` comes from `{}`, which does not exist.", excerpt(missing)));
    }
    let has = |sheet: &Option<Sheet>, names: &'static [Name], section: &str| {
        let paper = sheet.as_ref().and_then(|sheet| Paper::read(sheet.text()?, names).ok());
        paper.is_some_and(|paper| said_section(&paper, section))
    };
    let says = |any: &[&str]| text::says_any(&words, any);
    if !named.is_empty() || says(&["bug", "bugs", "debt"]) {
        return None;
    }
    if says(&["deferred"]) {
        let there = has(&aside.scope, names::SCOPE, "Deferred");
        return (!there).then(|| format!("`{id}` comes from Deferred, and scope defers nothing."));
    }
    if says(&["limitation", "limitations"]) {
        let there = has(&aside.delivery, names::DELIVERY, "Limitations");
        return (!there).then(|| format!("`{id}` comes from a limitation, and `DELIVERY.md` has none."));
    }
    Some(format!("`{id}` does not say where it comes from."))
}

fn said_section(paper: &Paper, section: &str) -> bool {
    paper.section(section).is_some_and(|part| part.has_content(false) && !part.says_none())
}

/// The files of `docs/input/` that a text names.
fn inputs_in(text: &str) -> Vec<String> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '`' | ')' | ']' | '"' | '\'' | ',' | ';' | '>' | '|');
    let from = text.match_indices("docs/input/").map(|(at, _)| &text[at..]);
    let paths = from.map(|rest| rest[..rest.find(ends).unwrap_or(rest.len())].trim_end_matches(['.', ':']).to_owned());
    paths.filter(|path| path.len() > "docs/input/".len()).collect()
}

/// `ITR-05`
fn impact(paper: &Paper, found: &mut Vec<Finding>) -> Option<Impact> {
    let part = said(paper, "Architecture Impact")?;
    let words = text::words(&part.text());
    // It comes first, perhaps behind a label: further on a word may mean something else.
    let label = |word: &&String| matches!(word.as_str(), "architecture" | "architectural" | "impact");
    let impact = words.iter().find(|word| !label(word)).and_then(|word| match word.as_str() {
        "none" => Some(Impact::None),
        "no" if !words.iter().any(|word| matches!(word.as_str(), "minor" | "major")) => Some(Impact::None),
        "minor" => Some(Impact::Minor),
        "major" => Some(Impact::Major),
        _ => None,
    });
    if impact.is_none() {
        let says = "How much the architecture is changed is not said.";
        found.push(error("ITR-05", Some(part.line), says, "Say `none`, `minor` or `major` first, then why."));
    }
    impact
}

/// `ITR-07`
fn unlisted(paper: &Paper, red: &BTreeSet<String>) -> Vec<Finding> {
    let Some(part) = said(paper, "Pre-existing Failures") else { return Vec::new() };
    let told = part.text().to_lowercase();
    let lost = red.iter().filter(|name| !names_whole(&told, &name.to_lowercase()));
    let next = "List it, so that nobody takes it for the round's own failure.";
    lost.map(|name| {
        let says = format!("The check `{}` is red on what was delivered, and is not listed.", excerpt(name));
        error("ITR-07", Some(part.line), says, next)
    })
    .collect()
}

/// Whether a text has a name by itself: `tests` is not `test`.
fn names_whole(text: &str, name: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name)
        .any(|(at, name)| !part(text[..at].chars().next_back()) && !part(text[at + name.len()..].chars().next()))
}

/// `ITR-06`. What scope names was dealt with when it was delivered; other input has come since.
fn left_out(paper: &Paper, aside: &Aside) -> Vec<Finding> {
    let next = "Say in the proposal which change it is for, or that it is set aside.";
    let scope = aside.scope.as_ref().and_then(|sheet| Paper::read(sheet.text()?, names::SCOPE).ok());
    let all: Vec<&String> = aside.inputs.keys().collect();
    let new = match &scope {
        Some(scope) => unnamed_in(scope, &all),
        None => all,
    };
    let unread = unnamed_in(paper, &new).into_iter();
    let mut found: Vec<Finding> = unread
        .map(|path| Finding::error("ITR-06", format!("`{path}` is neither used nor set aside."), next).at(path, None))
        .collect();
    let deferred = scope.as_ref().and_then(|scope| scope.section("Deferred")).filter(|part| !part.says_none());
    let told = text::names(&paper.everything());
    for item in deferred.into_iter().filter(|part| part.has_content(false)).flat_map(|part| part.items()) {
        let names = text::names(&item.text);
        // In other words, but of the same thing.
        let known = names.iter().filter(|name| told.contains(*name)).count();
        if known * 2 < names.len() {
            let says = format!("“{}” was deferred, and is neither used nor set aside.", excerpt(&item.text));
            found.push(error("ITR-06", None, says, next));
        }
    }
    found
}
