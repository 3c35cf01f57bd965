//! What a change remembers, held against what it does and claims (`SNP-…`).
//!
//! The snapshots on the ledger are ours. What agents push to `agent/context/` is a claim: [`claim`] says whether it follows from
//! the latest snapshot, rule by rule, and only then it is taken in. [`findings`] is what the gates see of all that: work outside
//! of the declared scope, files that were taken in and are not what they were, documents that plan on what nobody has
//! consolidated.

mod claim;
mod heeded;
mod paths;
mod report;
mod words;

use std::collections::BTreeMap;

use super::brief::Brief;
use super::{Finding, Severity};
use crate::finding::quoted;
use crate::gate::world::{Subject, World};
use crate::ids::BlobId;
use crate::ledger::State;
use crate::ledger::memory::{Begun, MOST_BEFORE, Memory};
use crate::ledger::snapshot::{self, FOLDER, FactId, Snapshot, name};
use crate::policy::{Commands, Slices};

pub use claim::claim;
pub use heeded::unheeded;
pub use report::{EXAMPLE, Report, report, undiagnosed};
pub use snapshot::Field;

/// What a change has of agents' snapshots at its head, as far as it touches them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// By their paths.
    pub there: BTreeMap<String, File>,
    /// Where its documents cite facts.
    pub cited: Vec<Cited>,
    /// The acceptance criteria of the scope that it brings.
    pub criteria: Vec<String>,
    /// Its documents in short.
    pub brief: Brief,
    /// The design that it brings.
    pub design: Option<String>,
    /// What is called almost as a snapshot is, or stands almost where one belongs: nobody reads it.
    pub astray: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub number: u32,
    /// None where it can't be read.
    pub blob: Option<BlobId>,
    /// Its text; only of the one that could be taken in. Or why it can't be read.
    pub text: Option<Result<String, Unread>>,
}

/// Why a file can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    NoFile,
    NoText,
    TooLarge,
}

impl Unread {
    fn says(self) -> (String, &'static str) {
        match self {
            Self::NoFile => ("It is no plain file.".to_owned(), "Make it a plain text file."),
            Self::NoText => ("It is not UTF-8.".to_owned(), "Make it a plain text file."),
            Self::TooLarge => (
                format!("It is too large; a snapshot has at most {} bytes.", snapshot::LARGEST),
                "Keep what plans rest on, and leave the rest to the files that it names.",
            ),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    pub path: String,
    pub line: u32,
    pub fact: FactId,
}

/// What belongs to the process, and to no slice: the pipeline's documents and the snapshots themselves.
const OWN: [&str; 3] = ["scaffolding/", FOLDER, "agent/context.md"];

/// So many paths outside of the scope are told one by one.
const MOST_PATHS: usize = 10;

/// What stands against a change by what it remembers. None of it is about an audit: that holds everything, and `MRG-06` says so.
pub fn findings(state: &State, world: &World) -> Vec<Finding> {
    let (Some(memory), Some(policy)) = (&state.memory, world.policy()) else { return Vec::new() };
    let Some(subject) = world.subject.as_ref().filter(|_| state.merged.is_none()) else { return Vec::new() };
    let mut found = Vec::new();
    if policy.slices == Slices::Declared && !memory.is_declared() && work(subject).next().is_some() {
        let slice = policy.commands.written("slice");
        found.push(Finding::error(
            "SNP-05",
            "There is work, and nobody has said which slice it is and what is in its scope: the policy asks for that first.",
            format!("Say `{slice} \"WHAT\" --scope \"WHY in: GLOBS out: GLOBS\"`, or push `{}` with it.", snapshot::path_of(state.change, memory.latest.iteration + 1)),
        ));
    }
    if memory.is_declared() {
        found.extend(outside(memory, work(subject), &policy.commands.written("scope")));
    }
    found.extend(files(state, memory, &subject.context));
    for path in &subject.context.astray {
        let says = "It looks like a snapshot of this change, and stands where none is read.";
        let next = format!(
            "Call it `{}`, with its number in four digits.",
            snapshot::path_of(state.change, memory.latest.iteration + 1)
        );
        found.push(Finding::warning("SNP-02", says, next).at(path, None));
    }
    for Cited { path, line, fact } in &subject.context.cited {
        if let Some((why, next)) = loose(memory, *fact, &policy.commands) {
            found.push(Finding::error("SNP-08", format!("It rests on {fact}, {why}."), next).at(path, Some(*line)));
        }
    }
    found
}

/// The paths of the work itself.
fn work(subject: &Subject) -> impl Iterator<Item = &String> {
    subject.changed.iter().filter(|path| !OWN.iter().any(|own| path.starts_with(own)))
}

/// What is there when a slice begins.
pub fn begun(subject: &Subject) -> Begun {
    Begun {
        criteria: subject.context.criteria.clone(),
        head: Some(subject.about.head.clone()),
        before: work(subject).take(MOST_BEFORE).cloned().collect(),
        changed: work(subject).count(),
    }
}

/// Why nothing can rest on a fact, and what to do: it is only evidence, it is gone, or it never was.
pub fn loose(memory: &Memory, fact: FactId, commands: &Commands) -> Option<(String, String)> {
    let latest = &memory.latest;
    if latest.is_consolidated(fact) {
        return None;
    }
    let promote = commands.written("audit");
    Some(if latest.is_evidence(fact) {
        (
            "which is evidence and no more: nobody has promoted it".to_owned(),
            format!(
                "Promote it: a newer snapshot that has {fact} in its Consolidated Context, or `{promote} promote {fact}`."
            ),
        )
    } else if fact.0 > 0 && fact.0 <= memory.last_fact {
        (
            format!("which {} does not have any more", latest.name()),
            "Write what is true now as a fact of its own, with what shows it, and cite that; or leave it out."
                .to_owned(),
        )
    } else {
        (
            "and there is no such fact".to_owned(),
            format!(
                "Cite a fact of the Consolidated Context{}; or leave it out, and write it otherwise if no fact is meant.",
                known(latest)
            ),
        )
    })
}

/// The facts that could be meant, the latest first.
fn known(latest: &Snapshot) -> String {
    let ids: Vec<String> = latest.context.iter().rev().take(8).map(|fact| fact.id.to_string()).collect();
    if ids.is_empty() { ", which is empty".to_owned() } else { format!(" ({})", ids.join(", ")) }
}

/// `SNP-07`: paths that the slice's scope does not have.
fn outside<'p>(memory: &Memory, work: impl Iterator<Item = &'p String>, scope: &str) -> Vec<Finding> {
    let Snapshot { slice_id, cap, .. } = &memory.latest;
    let out: Vec<&String> = work.filter(|path| !cap.allows(path)).collect();
    let next = format!(
        "Take it out, or revise the cap first: `{scope} WHY in: GLOBS out: GLOBS`. It is now {}.",
        quoted(&cap.to_string())
    );
    let mut found: Vec<Finding> = out
        .iter()
        .take(MOST_PATHS)
        .map(|path| {
            Finding::error("SNP-07", format!("It is outside of the scope of {slice_id}."), next.clone()).at(*path, None)
        })
        .collect();
    if let Some(more) = out.len().checked_sub(MOST_PATHS).filter(|more| *more > 0) {
        found.push(Finding::error(
            "SNP-07",
            format!("And {more} more paths outside of the scope of {slice_id}."),
            next,
        ));
    }
    found
}

/// `SNP-02` and `SNP-04`, and all that is wrong with the file that would be next.
fn files(state: &State, memory: &Memory, files: &Files) -> Vec<Finding> {
    let mut found = Vec::new();
    let latest = memory.latest.iteration;
    let upcoming = snapshot::path_of(state.change, latest + 1);
    for (number, blob) in &memory.taken {
        let written = memory.written.get(number);
        let there: Vec<_> = files.there.iter().filter(|(_, file)| file.number == *number).collect();
        let (same, others): (Vec<_>, Vec<_>) = there.iter().partition(|(_, file)| file.blob.as_ref() == Some(blob));
        let next = format!("Bring it back as it was (blob {}), and write what is new into {upcoming}.", blob.short());
        let mut find = |path: String, says: &str, next: String| {
            let says = format!("{} was taken in, and {says}", name(*number));
            found.push(Finding::error("SNP-04", says, next).at(path, None));
        };
        // The bot's copy may stand beside it.
        let edited = others.into_iter().filter(|(_, file)| file.blob.is_none() || file.blob.as_ref() != written);
        for (path, _) in edited {
            match same.is_empty() {
                true => find((*path).clone(), "was edited since. A snapshot is never changed.", next.clone()),
                false => find(
                    (*path).clone(),
                    "this is another of that number. A snapshot is never changed.",
                    format!(
                        "Make it as it was (blob {}) or take it out, and write what is new into {upcoming}.",
                        blob.short()
                    ),
                ),
            }
        }
        if same.is_empty() && !there.iter().any(|(_, file)| file.blob.as_ref() != written) {
            find(snapshot::path_of(state.change, *number), "is gone. A snapshot is never deleted.", next);
        }
    }
    if let Some((one, other)) = twice(files, latest + 1) {
        let says = format!("{} is here twice, and in {} it says something else.", name(latest + 1), quoted(other));
        found.push(Finding::error("SNP-02", says, "Leave one of the two: the other is never read.").at(one, None));
    }
    for (path, file) in &files.there {
        let number = file.number;
        // A copy of what is on the ledger says nothing else, wherever it stands.
        let copied = file.blob.is_some() && memory.written.get(&number) == file.blob.as_ref();
        if copied || memory.taken.contains_key(&number) {
            continue;
        }
        if number == latest + 1 {
            found.extend(match (&file.text, &file.blob) {
                (Some(Ok(text)), Some(blob)) => claim(state, path, text, blob).err().unwrap_or_default(),
                (Some(Err(why)), _) => {
                    let (says, next) = why.says();
                    vec![Finding::error("SNP-01", says, next).at(path, None)]
                }
                _ => Vec::new(),
            });
            continue;
        }
        let (rule, says) = match number <= latest {
            true if *path == snapshot::path_of(state.change, number) => (
                "SNP-04",
                format!(
                    "{} is on the ledger, and says something else there. A snapshot is never changed.",
                    name(number)
                ),
            ),
            true => ("SNP-02", format!("{} is on the ledger already, and this is another.", name(number))),
            false => ("SNP-02", format!("It skips a number: the latest is {}.", name(latest))),
        };
        let next = match rule {
            "SNP-04" => format!("Delete this one, and write what is new into `{upcoming}`."),
            _ => format!("Name it `{upcoming}`, with {} as its parent.", name(latest)),
        };
        found.push(Finding::error(rule, says, next).at(path, None));
    }
    found
}

/// Two files that claim a number, and differ.
pub fn twice(files: &Files, number: u32) -> Option<(&String, &String)> {
    let mut of = files.there.iter().filter(|(_, file)| file.number == number);
    let (one, first) = of.next()?;
    of.find(|(_, file)| file.blob != first.blob).map(|(other, _)| (one, other))
}

/// What ends a row of FAILs, for whoever wants to begin something else.
pub const ENDS_A_ROW: &str = "Pass its gate, or re-plan by something that an audit found, beside its verdict; somebody who may approve can begin another slice at any time.";

/// Whether anybody may begin another slice: a row of FAILs is not shaken off by that.
pub fn may_begin(memory: &Memory) -> Result<(), String> {
    let Snapshot { slice_id, fails, .. } = &memory.latest;
    let replanned =
        memory.ladder.as_ref().is_some_and(|ladder| ladder.grounded && ladder.action == snapshot::Action::RePlan);
    if !fails.any() || replanned {
        return Ok(());
    }
    Err(format!(
        "{slice_id} has failed its gates {} times in a row, and another slice would count from zero.",
        fails.iteration + fails.exit
    ))
}

/// Findings that stand against going on.
pub fn against(state: &State, world: &World) -> Vec<Finding> {
    findings(state, world).into_iter().filter(|finding| finding.severity == Severity::Error).collect()
}

#[cfg(test)]
mod tests;
