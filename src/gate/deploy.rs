//! DEPLOY's papers: what stands in `README.md` and `DELIVERY.md` when a change is delivered.
//!
//! They are the project's, not the change's: they may have been there before, come with the change, or follow it in a pull
//! request of their own, so they are read on the branch that it was merged into, as it is now. What must have been there
//! before the deployment (`DEP-02`) is held against the commit that was deployed.

#[cfg(test)]
mod tests;
mod told;

pub(in crate::gate) use told::told;

use super::Finding;
use super::expand;
use super::paper::{Name, Paper, Part, Piece, names, text};
use super::papers::{Document, SCOPE, Sheet, read_sheet};
use crate::ids::CommitId;
use crate::policy::{Policy, Tier};
use crate::repo::{Reader, Result};

pub const README: &str = "README.md";
pub const DELIVERY: &str = "DELIVERY.md";

/// What is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivered {
    pub readme: Option<Sheet>,
    pub delivery: Option<Sheet>,
    pub scope: Option<Sheet>,
    /// `DELIVERY.md` at the commit that was deployed.
    pub before: Option<Sheet>,
}

impl Delivered {
    /// As they are at one commit, for a deployment of another, or of the same.
    pub fn read(reader: &dyn Reader, at: &CommitId, deployed: &CommitId) -> Result<Self> {
        Ok(Self {
            readme: read_sheet(reader, at, README)?,
            delivery: read_sheet(reader, at, DELIVERY)?,
            scope: read_sheet(reader, at, SCOPE)?,
            before: read_sheet(reader, deployed, DELIVERY)?,
        })
    }
}

/// A rule over the papers.
pub struct Rule {
    pub id: &'static str,
    /// One sentence.
    pub about: &'static str,
    check: fn(&Desk<'_>) -> Vec<Finding>,
}

pub const RULES: &[Rule] = &[
    Rule { id: "DEP-02", about: "The rollback command was written down before the deployment.", check: rollback },
    Rule { id: "DEP-05", about: "README.md says what it is, how to set it up, deploy and test it.", check: readme },
    Rule { id: "DEP-06", about: "DELIVERY.md has the sections of its tier.", check: delivery },
    Rule { id: "DEP-07", about: "What is stored was shown to persist.", check: persistence },
];

/// The papers, read.
struct Desk<'p> {
    papers: &'p Delivered,
    readme: Option<Paper>,
    delivery: Option<Paper>,
    before: Option<Paper>,
    scope: Option<Paper>,
    tier: Tier,
}

fn read(sheet: Option<&Sheet>, names: &'static [Name]) -> Option<Paper> {
    Paper::read(sheet?.text()?, names).ok().filter(|paper| !paper.is_blank())
}

/// What the papers lack.
pub fn judge(papers: &Delivered, policy: &Policy) -> Vec<Finding> {
    let scope = read(papers.scope.as_ref(), names::SCOPE);
    let named = scope.as_ref().and_then(expand::tier);
    let desk = Desk {
        papers,
        readme: read(papers.readme.as_ref(), names::README),
        delivery: read(papers.delivery.as_ref(), names::DELIVERY),
        before: read(papers.before.as_ref(), names::DELIVERY),
        tier: named.map_or(policy.tier, |tier| tier.max(policy.tier)),
        scope,
    };
    RULES.iter().flat_map(|rule| (rule.check)(&desk)).collect()
}

/// Why a paper is not read at all, for the rule that asks for it.
fn unread(rule: &str, path: &str, sheet: Option<&Sheet>, paper: Option<&Paper>) -> Option<Finding> {
    let next = "Write it, in a pull request of its own where this one is merged already.";
    let Some(sheet) = sheet else {
        return Some(Finding::error(rule, format!("`{path}` does not exist."), next));
    };
    let says = match (&sheet.document, paper) {
        (_, Some(_)) => return None,
        (Document::Text(_), None) => format!("There is nothing to read in `{path}`, or too much of it."),
        (Document::NotText, _) => format!("`{path}` is no text."),
        (Document::NotAFile, _) => format!("`{path}` is no plain file."),
        (Document::TooLarge, _) => format!("`{path}` is too large to be read."),
    };
    Some(Finding::error(rule, says, next).at(path, None))
}

/// A finding for each of these sections that is missing or says nothing.
fn lacking<'n>(rule: &str, path: &str, paper: &Paper, wanted: impl Iterator<Item = &'n Name>) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in wanted {
        let none = if name.none { " `none` is an answer here." } else { "" };
        match paper.section(name.name) {
            None => {
                let next = format!("Add a heading “{}” and write what belongs below it.{none}", name.name);
                found.push(
                    Finding::error(rule, format!("The section “{}” is missing.", name.name), next).at(path, None),
                );
            }
            Some(part) if !part.has_content(name.none) => {
                let next = format!("Write what belongs there, in place of what stands there for it.{none}");
                let says = format!("The section “{}” says nothing.", name.name);
                found.push(Finding::error(rule, says, next).at(path, Some(part.line)));
            }
            Some(_) => {}
        }
    }
    found
}

/// `DEP-05`.
fn readme(desk: &Desk<'_>) -> Vec<Finding> {
    let paper = desk.readme.as_ref();
    if let Some(finding) = unread("DEP-05", README, desk.papers.readme.as_ref(), paper) {
        return vec![finding];
    }
    let Some(paper) = paper else { return Vec::new() };
    // What it is may stand below its title, before anything else.
    let sections = || paper.names().iter().filter_map(|name| paper.section(name.name)).map(|part| part.line);
    let first = sections().min().unwrap_or(u32::MAX);
    let introduced = paper.pieces().any(|piece| piece.line < first && piece.says_something(&[]));
    let wanted = paper.names().iter().filter(|name| !(introduced && name.name == names::WHAT_THIS_IS));
    lacking("DEP-05", README, paper, wanted)
}

/// `DEP-06`.
fn delivery(desk: &Desk<'_>) -> Vec<Finding> {
    let paper = desk.delivery.as_ref();
    if let Some(finding) = unread("DEP-06", DELIVERY, desk.papers.delivery.as_ref(), paper) {
        return vec![finding];
    }
    let Some(paper) = paper else { return Vec::new() };
    let most = match desk.tier {
        Tier::Shed => 2,
        Tier::House => 4,
        Tier::Skyscraper => 7,
    };
    lacking("DEP-06", DELIVERY, paper, paper.names().iter().take(most))
}

/// How people name the way back.
#[rustfmt::skip]
const BACK: &[&str] = &[
    "rollback", "roll back", "rolled back", "rolling back", "rolls back", "revert", "reverts", "undo", "restore",
    "go back", "goes back", "going back", "return to the previous", "return to what", "back to the previous",
    "back to the last", "back to what ran", "redeploy the previous", "downgrade",
];

/// Whether a text names the way back, and does not say that there is none.
fn says_back(said: &str) -> bool {
    text::clauses(said).into_iter().any(|clause| {
        let words = text::words(clause);
        let is_there = |phrase: &&str, at: usize| {
            let mut parts = phrase.split(' ').enumerate();
            parts.all(|(next, part)| words.get(at + next).is_some_and(|word| word == part))
        };
        // "There is no way to roll back", "a rollback is not possible".
        let denied = |at: usize| (at..=words.len().min(at + 4)).any(|at| text::is_denied(&words, at));
        (0..words.len()).any(|at| BACK.iter().any(|phrase| is_there(phrase, at)) && !denied(at))
    })
}

/// Whether a section has the way back as a command: the word for it, and code with it, after it or below its heading.
fn has_way_back(part: &Part<'_>) -> bool {
    let pieces = part.pieces();
    let coded = |piece: &Piece| !piece.spans.is_empty() || !piece.code.is_empty();
    let follows = |two: &[Piece]| says_back(&two[0].text) && !two[1].code.is_empty();
    pieces.iter().any(|piece| coded(piece) && (says_back(&piece.text) || says_back(&part.heading)))
        || pieces.windows(2).any(follows)
}

fn way_back(paper: &Paper) -> bool {
    ["Incident Response", "Summary"].iter().filter_map(|name| paper.section(name)).any(|part| has_way_back(&part))
}

/// `DEP-02`.
fn rollback(desk: &Desk<'_>) -> Vec<Finding> {
    // That there is no paper is another rule's to say.
    let Some(paper) = &desk.delivery else { return Vec::new() };
    let part = paper.section("Incident Response").or_else(|| paper.section("Summary"));
    let line = part.map(|part| part.line);
    if !way_back(paper) {
        let says = "No command for going back to what ran before is written down.";
        let next =
            "Write it into “Incident Response” (or “Summary”), as code: `git revert`, the image before this one, …";
        return vec![Finding::error("DEP-02", says, next).at(DELIVERY, line)];
    }
    if desk.before.as_ref().is_none_or(|before| !way_back(before)) {
        let says = "The command for going back was written down after the commit that was deployed.";
        let next = "Write it down before the next deployment: when it is needed, nobody has the time to find it.";
        return vec![Finding::warning("DEP-02", says, next).at(DELIVERY, line)];
    }
    Vec::new()
}

/// Words of a data model that is kept somewhere.
#[rustfmt::skip]
const KEPT: &[&str] = &[
    "stored", "stores", "saved", "saves", "kept", "keeps", "persisted", "persists", "persistent", "database", "databases",
    "sqlite", "postgres", "postgresql", "mysql", "mariadb", "redis", "mongodb", "dynamodb", "s3", "disk", "volume", "bucket",
];
/// Words of somebody who has seen that it is still there.
#[rustfmt::skip]
const SHOWN: &[&str] = &[
    "persist", "persists", "persisted", "persistence", "persistent", "survive", "survives", "survived", "restart", "restarts",
    "restarted", "reboot", "rebooted", "durable", "durability",
];

/// `DEP-07`.
fn persistence(desk: &Desk<'_>) -> Vec<Finding> {
    let (Some(scope), Some(delivery)) = (&desk.scope, &desk.delivery) else { return Vec::new() };
    let Some(model) = expand::said(scope, "Data Model") else { return Vec::new() };
    let stateful = text::sentences(&model.text()).into_iter().any(|sentence| {
        let said = text::words(sentence);
        let denied = |at: usize| {
            text::is_denied(&said, at) || said[at.saturating_sub(3)..at].iter().any(|word| word == "nothing")
        };
        said.iter().enumerate().any(|(at, word)| KEPT.contains(&word.as_str()) && !denied(at))
    });
    let all = delivery.everything();
    let shown = text::sentences(&all).into_iter().any(|sentence| {
        let said = text::words(sentence);
        let mut words = said.iter().enumerate().filter(|(_, word)| SHOWN.contains(&word.as_str())).peekable();
        // "Persistence was not tried" denies it behind the word.
        words.peek().is_some()
            && !words.any(|(at, _)| (at..=said.len().min(at + 3)).any(|at| text::is_denied(&said, at)))
    });
    if !stateful || shown {
        return Vec::new();
    }
    let says = "The scope's data model is stored, and nothing here says that it was still there after a restart.";
    let next = "Restart what was deployed, look, and write down the command and what came of it.";
    let line = delivery.section("Verified Criteria").or_else(|| delivery.section("Summary")).map(|part| part.line);
    vec![Finding::error("DEP-07", says, next).at(DELIVERY, line)]
}
