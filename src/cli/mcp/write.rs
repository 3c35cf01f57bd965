//! `write_snapshot`: the next snapshot with what an agent adds to it, written only where it would be taken in.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{Found, Refused};
use crate::cli::snapshot;
use crate::cli::status::Place;
use crate::finding::{Finding, quoted};
use crate::ledger::State;
use crate::ledger::snapshot::{Fact, LARGEST, Snapshot, path_of, read};
use crate::repo::{Below, LocalRepo, ReadBelow, RepoPath};

/// What is added to what the latest snapshot says.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Given {
    /// New facts, a line each: `- src/a.rs has fn zone.`
    evidence: String,
    /// Facts that plans rest on: `- F-0003: its words`, or `- words (shown by: F-0003)`
    context: String,
    /// New open issues: `- words Next action: fix` (or re-scout, re-plan)
    issues: String,
    /// Closed ones: `- I-0004: its words Closed by: build PASS`
    resolved: String,
    /// Entries to leave out: F-0003
    drop: Vec<String>,
    /// Begin or name the slice: one sentence
    slice: Option<String>,
    /// WHY in: GLOBS out: GLOBS
    scope: Option<String>,
    /// Write over a draft of the same number
    replace: bool,
}

/// The file, and the numbers of what was added.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Added {
    #[serde(flatten)]
    written: snapshot::Written,
    added: Vec<String>,
    next: &'static str,
}

const NEXT: &str =
    "Commit it with the work that it tells of, and push: it is taken in where it follows from the latest then.";

/// So much of an entry is repeated to whoever wrote it.
const LONGEST_ENTRY: usize = 200;

/// The folder that snapshots are written into.
pub(super) fn working_tree(place: &Place) -> Result<PathBuf, Refused> {
    let Some(here) = place.here() else {
        return Err(Refused::new(
            "With --github there is no working tree to write into.",
            "Start the server with --repo, in a clone that has the ledger's branch.",
        ));
    };
    let root = LocalRepo::around(here).ok().and_then(|repo| repo.root());
    root.ok_or_else(|| {
        Refused::new(
            format!("{} is no working tree of git.", here.display()),
            "Start the server in a clone, or name one with --repo.",
        )
    })
}

pub(super) fn write(state: &State, into: &Path, given: &Given) -> Result<Added, Refused> {
    let next = snapshot::next(state, given.slice.as_deref(), given.scope.as_deref())?;
    let memory = snapshot::remembered(state)?;
    put(state, into, next, (memory.last_fact, memory.last_issue), given)
}

/// Adds a line of evidence to the next snapshot: to the draft, where there is one. Answers where it stands.
pub(super) fn noted(state: &State, into: &Path, line: &str) -> Result<String, Refused> {
    let next = snapshot::next(state, None, None)?;
    let memory = snapshot::remembered(state)?;
    let path = path_of(state.change, next.iteration);
    let below = Below::open(into).map_err(|error| anyhow::Error::new(error).context("can't read the working tree"))?;
    let draft = match below.read(&RepoPath::from(path.as_str()), LARGEST as u64) {
        Ok(ReadBelow::Bytes(bytes)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        // What is there and is no plain file is refused by whoever writes.
        _ => None,
    };
    let mut last = (memory.last_fact, memory.last_issue);
    let base = match &draft {
        None => next,
        Some(text) => {
            let findings = snapshot::wrong(state, &path, text)?;
            let read = read(&path, text);
            let (Some(base), false) = (read.whole(last.0, last.1), findings.iter().any(Finding::blocks)) else {
                let refused = refused(findings, text);
                return Err(
                    refused.about("The draft of the next snapshot would not be taken in, so nothing was added to it.")
                );
            };
            last.0 = base.evidence.iter().chain(&base.context).map(|fact| fact.id.0).fold(last.0, u32::max);
            last.1 = base.open.iter().map(|issue| issue.id.0).fold(last.1, u32::max);
            base
        }
    };
    let given = Given { evidence: line.to_owned(), replace: draft.is_some(), ..Given::default() };
    Ok(put(state, into, base, last, &given)?.written.path)
}

/// Puts what is given to a snapshot, whose last numbers these are, and writes it where it would be taken in.
fn put(state: &State, into: &Path, next: Snapshot, last: (u32, u32), given: &Given) -> Result<Added, Refused> {
    let path = path_of(state.change, next.iteration);
    // Read by itself first: then it has numbers, and is put together by them.
    let own = text_of(&next, given);
    let own_read = read(&path, &own);
    let Some(said) = own_read.whole(last.0, last.1) else {
        return Err(refused(own_read.findings, &own));
    };
    let added = numbers(&said, &next);
    let whole = dropped(joined(next, said), &given.drop)?;
    let text = crate::ledger::snapshot::write(&whole);
    let findings = snapshot::wrong(state, &path, &text)?;
    if findings.iter().any(Finding::blocks) {
        return Err(refused(findings, &text));
    }
    let written = snapshot::create(into, state, &whole, given.replace)?;
    Ok(Added { written, added, next: NEXT })
}

/// The header of the next snapshot, and what is given alone.
fn text_of(next: &Snapshot, given: &Given) -> String {
    let text = crate::ledger::snapshot::write(next);
    let header = text.split_once("\n## ").map_or(text.as_str(), |(header, _)| header);
    let Given { evidence, context, issues, resolved, .. } = given;
    format!(
        "{header}\n## Evidence\n\n{evidence}\n\n## Consolidated Context\n\n{context}\n\n## Issues\n\n### Open Issues\n\n{issues}\n\n\
         ### Resolved This Iteration\n\n{resolved}\n"
    )
}

/// What is carried forward, with what is said of it in its place, and what is new behind it.
fn joined(mut next: Snapshot, said: Snapshot) -> Snapshot {
    joined_by(&mut next.evidence, said.evidence, |fact| fact.id);
    joined_by(&mut next.context, said.context, |fact| fact.id);
    joined_by(&mut next.open, said.open, |issue| issue.id);
    next.open.retain(|issue| !said.resolved.iter().any(|closed| closed.id == issue.id));
    next.resolved.extend(said.resolved);
    next
}

fn joined_by<T, Id: PartialEq>(all: &mut Vec<T>, said: Vec<T>, id: impl Fn(&T) -> Id) {
    for one in said {
        match all.iter_mut().find(|other| id(other) == id(&one)) {
            Some(other) => *other = one,
            None => all.push(one),
        }
    }
}

/// The numbers that were not there before.
fn numbers(said: &Snapshot, next: &Snapshot) -> Vec<String> {
    let known = |fact: &&Fact| !next.is_evidence(fact.id) && !next.is_consolidated(fact.id);
    let facts = said.evidence.iter().chain(&said.context).filter(known).map(|fact| fact.id.to_string());
    let issues = said.open.iter().filter(|issue| next.open.iter().all(|one| one.id != issue.id));
    let mut all: Vec<String> = facts.chain(issues.map(|issue| issue.id.to_string())).collect();
    all.dedup();
    all
}

/// Without these entries. Whether they may be left out is for the rules to say.
fn dropped(mut whole: Snapshot, drop: &[String]) -> Result<Snapshot, Refused> {
    for number in drop {
        let is = |id: String| id.eq_ignore_ascii_case(number.trim());
        let before = (whole.evidence.len(), whole.context.len(), whole.open.len());
        whole.evidence.retain(|fact| !is(fact.id.to_string()));
        whole.context.retain(|fact| !is(fact.id.to_string()));
        whole.open.retain(|issue| !is(issue.id.to_string()));
        if before == (whole.evidence.len(), whole.context.len(), whole.open.len()) {
            let shown: String = number.chars().take(40).collect();
            let says = format!("There is no {} in the snapshot to leave out.", quoted(&shown));
            return Err(Refused::new(says, "Name entries of the latest snapshot by their numbers, such as F-0003."));
        }
    }
    Ok(whole)
}

/// What was found in a text that nobody will see: each with the entry that it is about, in the place of a line.
fn refused(findings: Vec<Finding>, text: &str) -> Refused {
    let lines: Vec<&str> = text.lines().collect();
    let found = findings.into_iter().map(|mut finding| {
        let line = finding.line.take().and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
        let entry = line.and_then(|line| lines.get(line)).map(|line| line.trim()).filter(|line| !line.is_empty());
        Found { finding, entry: entry.map(|line| line.chars().take(LONGEST_ENTRY).collect()) }
    });
    Refused::new("The snapshot would not be taken in, so nothing was written.", "Mend what is found, and call again.")
        .with(found.collect())
}

#[cfg(test)]
mod tests;
