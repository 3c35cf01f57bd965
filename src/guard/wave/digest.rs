//! The digest of a wave: what became of it, in a text for the log, before its ledger is deleted.

use std::fmt::Write as _;

use serde::Serialize;

use super::Looked;
use super::cell::{harmless, shown};
use super::git::Fork;
use super::ledger::NoteKind;
use super::order::Turn;
use super::verdict::{Judged, Outcome, Proposal};
use super::verify::BYPASSED;
use crate::ids::CommitId;

/// What became of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    pub task: String,
    pub worker: Option<String>,
    pub branch: String,
    /// The branch's tip: what was handed in, else where it is.
    pub tip: Option<CommitId>,
    /// Where git says that it left the base.
    pub forked_from: Option<CommitId>,
    /// What was pasted.
    pub fork_base: String,
    pub outcome: Option<Outcome>,
    pub residue: Vec<String>,
    pub deltas: Vec<String>,
    /// The target's own commit that brought it.
    pub came_with: Option<CommitId>,
    /// The one that took it out again.
    pub out_with: Option<CommitId>,
    #[serde(flatten)]
    pub turn: Turn,
}

/// Work that was stopped on the way, whoever had its task afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stopped {
    pub task: String,
    /// Where it was stopped.
    pub commit: String,
    /// What the verdict there comes to; none: it had none that can be read.
    pub outcome: Option<Outcome>,
    pub residue: Vec<String>,
    pub deltas: Vec<String>,
}

/// A wave as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Digest {
    pub wave: String,
    pub base: String,
    pub target: String,
    /// In the order in which they came in.
    pub merged: Vec<Line>,
    /// What is in all the same, though it was not let in; in the roster's order.
    pub past: Vec<Line>,
    /// In the roster's order.
    pub left: Vec<Line>,
    /// One for each note of stopped work.
    pub stopped: Vec<Stopped>,
    /// What stood against it at the end.
    pub against: Vec<String>,
    /// What is told of it beside.
    pub told: Vec<String>,
    /// Why somebody closed it all the same.
    pub despite: Option<String>,
}

impl Digest {
    pub fn of(looked: &Looked) -> Self {
        let (mut merged, mut past, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let rows = looked.ledger.rows.iter().zip(&looked.facts.rows).zip(&looked.judged).zip(&looked.turns);
        for (((row, known), judged), turn) in rows {
            let proposal = judged.proposal.as_ref();
            let arrival = known.arrived.as_ref().ok().and_then(Option::as_ref);
            let tip = [&known.handed, &known.tip].into_iter().find_map(|tip| tip.clone().ok().flatten());
            let line = Line {
                task: row.task.to_string(),
                worker: row.worker.as_ref().map(ToString::to_string),
                branch: row.branch.to_string(),
                tip,
                forked_from: match &known.fork {
                    Ok(Some(Fork::At(at))) => Some(at.clone()),
                    _ => None,
                },
                fork_base: row.fork_base.to_string(),
                outcome: proposal.map(Proposal::weighed),
                residue: residue(judged),
                deltas: deltas(judged),
                came_with: arrival.map(|arrival| arrival.commit.clone()),
                out_with: arrival.and_then(|arrival| arrival.out.clone()),
                turn: turn.clone(),
            };
            match (turn, known.came_in()) {
                (Turn::Merged { .. }, Some(arrival)) => merged.push((arrival.nth, line)),
                (_, Some(_)) => past.push(line),
                (_, None) => left.push(line),
            }
        }
        // Those that came in with one commit stay in the roster's order.
        merged.sort_by_key(|(nth, _)| *nth);
        let base = match &looked.facts.base {
            Ok(Some(id)) => id.to_string(),
            _ => looked.ledger.base.to_string(),
        };
        let merged = merged.into_iter().map(|(_, line)| line).collect();
        let said = |against: bool| -> Vec<String> {
            let found = looked.found.iter().map(|one| &one.finding);
            let found = found.filter(|one| one.blocks() == against && (against || one.rule == BYPASSED));
            found.map(|one| format!("{}: {}", one.rule, one.says)).collect()
        };
        Self {
            wave: looked.ledger.name.to_string(),
            base,
            target: looked.facts.target.name.clone(),
            merged,
            past,
            left,
            stopped: stopped(looked),
            against: said(true),
            told: said(false),
            despite: None,
        }
    }

    /// For people, as Markdown. Nothing of anybody's words is read as markup.
    pub fn text(&self) -> String {
        let mut text = format!("## Wave {}\n\nbase: {}\n", self.wave, self.base);
        let _ = writeln!(text, "\nMerged into {}, in this order:\n", shown(&self.target));
        for (nth, line) in self.merged.iter().enumerate() {
            let _ = writeln!(text, "{}. {}", nth + 1, line.text());
            line.more(&mut text);
        }
        if self.merged.is_empty() {
            text.push_str("Nothing.\n");
        }
        for (what, lines) in [("In it all the same", &self.past), ("Not merged", &self.left)] {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n{what}:\n");
            }
            for line in lines {
                let _ = writeln!(text, "- {}", line.text());
                line.more(&mut text);
            }
        }
        if !self.stopped.is_empty() {
            text.push_str("\nStopped on the way:\n\n");
        }
        for one in &self.stopped {
            let outcome = one.outcome.map_or("no verdict that can be read", Outcome::as_str);
            let _ = writeln!(text, "- {} at {}: {outcome}.", shown(&one.task), one.commit);
            more(&one.residue, &one.deltas, &mut text);
        }
        for (what, said) in [("What stood against it", &self.against), ("What is told of it", &self.told)] {
            if !said.is_empty() {
                let _ = writeln!(text, "\n{what}:\n");
            }
            for one in said {
                let _ = writeln!(text, "- {one}");
            }
        }
        if let Some(despite) = &self.despite {
            let _ = writeln!(text, "\nClosed despite that: {}", whole(despite));
        }
        text
    }
}

impl Line {
    fn text(&self) -> String {
        let by = self.worker.as_ref().map(|worker| format!(" by {}", shown(worker))).unwrap_or_default();
        let tip = self.tip.as_ref().map(|tip| format!(" at {}", tip.short())).unwrap_or_default();
        let outcome = match (self.outcome, &self.turn) {
            (Some(said), Turn::Stopped { outcome }) if said != *outcome => format!(", handed in as {}", said.as_str()),
            (Some(said), _) => format!(", {}", said.as_str()),
            (None, _) => String::new(),
        };
        let fork = self.forked_from.as_ref().map(|fork| format!(", forked from {}", fork.short())).unwrap_or_default();
        let past = self.past();
        format!("{}{by}: {}{tip}{fork}{outcome}; it {past}.", shown(&self.task), shown(&self.branch))
    }

    fn past(&self) -> String {
        let words = self.turn.words();
        match (&self.turn, &self.came_with, &self.out_with) {
            (Turn::Merged { with }, _, _) => format!("came in with {}", with.short()),
            (_, Some(with), None) => format!("{words}; it came in with {}", with.short()),
            (_, Some(with), Some(out)) => {
                format!("{words}; it came in with {}, and {} took it out again", with.short(), out.short())
            }
            _ => words,
        }
    }

    fn more(&self, text: &mut String) {
        more(&self.residue, &self.deltas, text);
    }
}

fn more(residue: &[String], deltas: &[String], text: &mut String) {
    for residue in residue {
        let _ = writeln!(text, "   - residue: {}", whole(residue));
    }
    for delta in deltas {
        let _ = writeln!(text, "   - delta: {}", whole(delta));
    }
}

/// What was handed in where work was stopped: the branch may say otherwise since, and its task may be another's.
fn stopped(looked: &Looked) -> Vec<Stopped> {
    let notes = looked.ledger.notes.iter().zip(&looked.stopped);
    let notes = notes.filter(|(note, _)| note.kind == NoteKind::Stopped);
    notes
        .map(|(note, judged)| Stopped {
            task: note.task.to_string(),
            commit: note.commit.as_str().chars().take(12).collect(),
            outcome: judged.proposal.as_ref().map(Proposal::weighed),
            residue: residue(judged),
            deltas: deltas(judged),
        })
        .collect()
}

fn residue(judged: &Judged) -> Vec<String> {
    let all = judged.proposal.iter().flat_map(|proposal| &proposal.residue);
    all.map(|one| format!("{}: {}", one.kind.as_str(), one.says)).collect()
}

/// The lessons of both files, each once.
fn deltas(judged: &Judged) -> Vec<String> {
    let mut deltas = judged.lessons.clone();
    let said = judged.proposal.iter().flat_map(|proposal| &proposal.deltas);
    deltas.extend(said.filter(|one| !judged.lessons.contains(one)).cloned());
    deltas
}

/// Somebody's words on one line, as code.
fn whole(words: &str) -> String {
    harmless(&words.split_whitespace().collect::<Vec<_>>().join(" "))
}
