//! What lies beside the phases: input that is distilled, an audit of the stack, the proposal of another round.
//!
//! They are read at the head while the change is open, and after the merge on the branch that it went into. What was there when
//! a detour began is on record ([`Noted`]), so that its end can tell what came of it.

mod proposal;

pub use proposal::{Proposed, RULES, Rule, again, named, proposed, red};

use std::collections::BTreeMap;

use super::paper::{Name, Paper, names};
use super::papers::{DESIGN, Document, INPUT, PREFERENCES, SCOPE, Sheet, read_sheet};
use super::world::Subject;
use crate::flow::{Phase, Refusal};
use crate::ids::{BlobId, CommitId};
use crate::ledger::record::Noted;
use crate::repo::{Filter, Reader, RepoPath, Result};

/// The report of an audit of the stack.
pub const AUDIT: &str = "scaffolding/stack-audit.md";
/// The proposal of another round.
pub const ITERATION: &str = "scaffolding/iteration.md";
/// How the documents begin that input was distilled into.
const DISTILLED: &str = "docs/input/distilled-";
/// So many of them are read.
const MOST_DISTILLED: usize = 50;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aside {
    /// The files below `docs/input`.
    pub inputs: BTreeMap<String, BlobId>,
    /// Those of them that input was distilled into, as far as they say something.
    pub distilled: BTreeMap<String, BlobId>,
    pub audit: Option<Sheet>,
    pub preferences: Option<BlobId>,
    pub iteration: Option<Sheet>,
    /// The proposal that was there before the change.
    pub earlier: Option<BlobId>,
    pub scope: Option<Sheet>,
    pub design: Option<BlobId>,
    pub delivery: Option<Sheet>,
}

impl Aside {
    /// Reads it at a commit, for a change that was begun at this one.
    pub fn read(reader: &dyn Reader, at: &CommitId, begun: Option<&CommitId>) -> Result<Self> {
        let under = RepoPath::from(INPUT);
        let mut inputs = BTreeMap::new();
        for entry in reader.tree(at, Filter::Under(&under))? {
            inputs.insert(String::from_utf8_lossy(entry.path.as_bytes()).into_owned(), entry.blob.clone());
        }
        let mut distilled = BTreeMap::new();
        for (path, blob) in inputs.iter().filter(|(path, _)| is_distilled(path)).take(MOST_DISTILLED) {
            if read_sheet(reader, at, path)?.as_ref().is_some_and(says_something) {
                distilled.insert(path.clone(), blob.clone());
            }
        }
        Ok(Self {
            inputs,
            distilled,
            audit: read_sheet(reader, at, AUDIT)?,
            preferences: read_sheet(reader, at, PREFERENCES)?.and_then(|sheet| sheet.blob),
            iteration: read_sheet(reader, at, ITERATION)?,
            earlier: match begun {
                Some(begun) => read_sheet(reader, begun, ITERATION)?.and_then(|sheet| sheet.blob),
                None => None,
            },
            scope: read_sheet(reader, at, SCOPE)?,
            design: read_sheet(reader, at, DESIGN)?.and_then(|sheet| sheet.blob),
            delivery: read_sheet(reader, at, super::deploy::DELIVERY)?,
        })
    }

    pub fn noted(&self) -> Noted {
        let audit = self.audit.as_ref().and_then(|sheet| sheet.blob.clone());
        Noted { distilled: self.distilled.clone(), preferences: self.preferences.clone(), audit }
    }
}

/// Whether a change brings nothing but what a next round rests on, its proposal and distilled input, where something was delivered
/// before, and deletes nothing. It has no scope of its own, so it goes through the merge gate alone; with the first other file it is a
/// change like any other.
pub fn only_brings_papers(subject: &Subject) -> bool {
    let is_paper = |path: &String| path == ITERATION || is_distilled(path);
    let found = |phase: Phase, rule: &str| {
        let found = subject.documents.get(&phase);
        found.map(|found| found.iter().any(|finding| finding.rule == rule))
    };
    // The scope that is there was left by an earlier change, and input that begins one is another thing.
    let delivered = found(Phase::Expand, "EXP-12") == Some(true);
    let deletes = found(Phase::Build, "BLD-09") != Some(false);
    delivered && !deletes && !subject.changed.is_empty() && subject.changed.iter().all(is_paper)
}

fn is_distilled(path: &str) -> bool {
    path.starts_with(DISTILLED) && path.to_ascii_lowercase().ends_with(".md")
}

/// Whether a document has something to read, and not its title alone.
fn says_something(sheet: &Sheet) -> bool {
    sheet.text().and_then(|text| Paper::read(text, &[]).ok()).is_some_and(|paper| paper.says_something())
}

fn refused(says: impl Into<String>, next: impl Into<String>) -> Refusal {
    Refusal::new("CMD-12", says, next)
}

/// Whether distilling has left what it is for.
pub fn distilled(began: &Noted, now: &Aside) -> std::result::Result<(), Refusal> {
    if now.distilled.iter().any(|(path, blob)| began.distilled.get(path) != Some(blob)) {
        return Ok(());
    }
    let says = match now.distilled.is_empty() {
        true => "there is no `docs/input/distilled-*.md` with something to read.",
        false => "no `docs/input/distilled-*.md` was written since it began.",
    };
    Err(refused(says, "Write what the input comes to into `docs/input/distilled-TOPIC.md`, push, and say it again."))
}

/// Whether an audit of the stack has left its report, and nothing else.
pub fn audited(began: &Noted, now: &Aside) -> std::result::Result<(), Refusal> {
    untouched(began, now)?;
    let next = format!("Write `{AUDIT}` with the sections Findings and Recommendation, push, and say it again.");
    let text = match &now.audit {
        None => return Err(refused(format!("`{AUDIT}` does not exist."), next)),
        Some(Sheet { document: Document::Text(text), .. }) => text,
        Some(_) => return Err(refused(format!("`{AUDIT}` can't be read as text."), next)),
    };
    if began.audit.is_some() && now.audit.as_ref().and_then(|sheet| sheet.blob.as_ref()) == began.audit.as_ref() {
        return Err(refused(
            format!("`{AUDIT}` was not written since it began: it is the report of an earlier audit."),
            next,
        ));
    }
    match lacks(text, names::AUDIT) {
        None => Ok(()),
        Some(section) => Err(refused(format!("`{AUDIT}` says nothing under “{section}”."), next)),
    }
}

/// Whether an audit of the stack has left the preferences alone.
pub fn untouched(began: &Noted, now: &Aside) -> std::result::Result<(), Refusal> {
    if now.preferences != began.preferences {
        return Err(refused(
            format!("`{PREFERENCES}` was changed while the stack is audited: an audit reports, and people decide."),
            format!(
                "Take the change of `{PREFERENCES}` back, write it into `{AUDIT}` as a recommendation, and say it again."
            ),
        ));
    }
    Ok(())
}

/// The first section that is missing or empty.
fn lacks(text: &str, sections: &'static [Name]) -> Option<&'static str> {
    let paper = Paper::read(text, sections).unwrap_or_default();
    let said = |name: &&Name| paper.section(name.name).is_some_and(|part| part.has_content(name.none));
    sections.iter().find(|name| !said(name)).map(|name| name.name)
}

#[cfg(test)]
pub(crate) mod tests;
