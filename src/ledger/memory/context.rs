//! What plans rest on: what people decided, what the scope asks for, and how all of it is kept within what a snapshot may have.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{LARGEST, LONGEST, MOST_FACTS, Memory, ROOM, gates_of, unmarked};
use crate::flow::FlowName;
use crate::ids::CommitId;
use crate::ledger::record::{By, Round};
use crate::ledger::resolution::{Module, Remedy, Resolution};
use crate::ledger::snapshot::{self, Fact, FactId, Snapshot};

/// So many facts does one decision give.
const MOST_GIVEN: usize = 100;
/// What entries are cut to where a snapshot would grow too large, in bytes, a step at a time.
const STEPS: [usize; 7] = [2_000, 1_000, 500, 250, 120, 80, 60];
/// So many of the files that were there before a slice are named.
pub const MOST_BEFORE: usize = 10;

/// A fact of the context that stands there by a record, and not because an agent wrote it there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    pub source: Source,
    /// The record that has all of it.
    pub seq: u64,
}

/// Where such a fact comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A person's decision.
    Decided { remedy: Remedy, by: String },
    /// A criterion of the scope, as it was when the slice began or EXPAND passed.
    Scope,
    /// The gates that the slice is held to.
    Gates,
    /// A change that was confirmed for the round.
    Round,
}

/// A fact that another change of the same work has by a person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub text: String,
    pub remedy: Remedy,
    pub by: String,
}

/// What was there when a slice began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The acceptance criteria of the scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// The head at which it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitId>,
    /// Files of the work that were changed there already; not more of them than are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// How many there were.
    #[serde(default)]
    pub changed: usize,
}

impl Source {
    /// Why it stays, for whoever left it out.
    pub fn why(&self) -> &'static str {
        match self {
            Self::Decided { .. } => "a person gave it",
            Self::Scope => "it is a criterion of the scope",
            Self::Gates => "it says which gates the slice is held to",
            Self::Round => "it was confirmed for this round",
        }
    }
}

impl Given {
    /// How a fact says who gave it, and where all of it is if this is not.
    fn mark(&self, cut: bool) -> String {
        let more = if cut { format!("; cut, all of it is in record {}", self.seq) } else { String::new() };
        match &self.source {
            Source::Decided { remedy, by } => format!("(given: {remedy} by {by}{more})"),
            Source::Scope => format!("(given: scaffolding/scope.md{more})"),
            Source::Gates => format!("(given: the flow{more})"),
            Source::Round => format!("(given: the confirmed round{more})"),
        }
    }

    /// The text of a fact with its mark.
    fn marked(&self, text: &str) -> String {
        let mark = self.mark(false);
        let text = unmarked(text, LONGEST.saturating_sub(mark.chars().count() + 1));
        format!("{text} {mark}").trim_start().to_owned()
    }
}

/// `AC-1` of `AC-1: …`: what a criterion is known by.
fn name_of(criterion: &str) -> Option<String> {
    let first = criterion.split([':', ' ', '(']).next().unwrap_or_default().to_ascii_uppercase();
    first.starts_with("AC-").then_some(first)
}

/// A fact without its mark.
pub fn said(text: &str) -> &str {
    text.rfind("(given: ").map_or(text, |at| &text[..at]).trim_end()
}

/// A text with at most so many bytes, and a sign where some are gone.
fn cut(text: &str, most: usize) -> Option<String> {
    if text.len() <= most {
        return None;
    }
    let end = (0..=most.saturating_sub('…'.len_utf8())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    Some(format!("{}…", text[..end].trim_end_matches([' ', '…'])))
}

impl Memory {
    /// Keeps a snapshot within what its reader reads: evidence is only where things come from, and the oldest goes first; what the
    /// context or an open issue names as its proof, after all that nothing names. A report that nobody has drawn anything from goes
    /// last, and where even that is gone, another one is asked for.
    pub(super) fn fit(&mut self) {
        self.cut_down();
        let report = self.audit.as_ref().map(|audit| audit.facts.clone()).unwrap_or_default();
        let latest = &mut self.latest;
        let named = latest.context.iter().map(|fact| &fact.text).chain(latest.open.iter().map(|issue| &issue.text));
        let named: BTreeSet<FactId> = named.flat_map(|text| snapshot::cited(text)).collect();
        while latest.evidence.len() > MOST_FACTS || snapshot::write(latest).len() > LARGEST {
            let first = |kept: &dyn Fn(&FactId) -> bool| latest.evidence.iter().position(|fact| !kept(&fact.id));
            let loose =
                first(&|id| report.contains(id) || named.contains(id)).or_else(|| first(&|id| report.contains(id)));
            match loose {
                Some(at) => drop(latest.evidence.remove(at)),
                None if latest.resolved.pop().is_some() => {}
                None if latest.evidence.is_empty() => break,
                None => drop(latest.evidence.remove(0)),
            }
        }
        if let Some(audit) = &mut self.audit {
            audit.facts.retain(|id| latest.is_evidence(*id) || latest.is_consolidated(*id));
        }
        self.kept.retain(|id| latest.is_evidence(*id) || latest.is_consolidated(*id));
        self.given.retain(|id, _| latest.is_consolidated(*id));
    }

    /// Cuts entries where the context and the issues alone are too large. What the bot wrote itself is cut so that a report has room
    /// beside it: what gates found first, which the next run finds again, then what people gave, with the record that has all of it.
    /// What agents wrote is cut only where nothing else helps.
    fn cut_down(&mut self) {
        let more = self.latest.context.len().saturating_sub(MOST_FACTS);
        for _ in 0..more {
            // What an agent consolidated first is evidence again.
            let at = self.latest.context.iter().position(|fact| !self.given.contains_key(&fact.id));
            let fact = self.latest.context.remove(at.unwrap_or_default());
            if !self.latest.is_evidence(fact.id) {
                self.latest.evidence.push(fact);
            }
        }
        let mut bare = Snapshot { evidence: Vec::new(), resolved: Vec::new(), ..self.latest.clone() };
        let fits = |bare: &Snapshot, most: usize| snapshot::write(bare).len() <= most;
        for step in STEPS {
            if fits(&bare, LARGEST - ROOM) {
                break;
            }
            for issue in bare.open.iter_mut().filter(|issue| self.watched.contains_key(&issue.id)) {
                issue.text = cut(&issue.text, step).unwrap_or_else(|| issue.text.clone());
            }
        }
        for step in STEPS {
            if fits(&bare, LARGEST - ROOM) {
                break;
            }
            for fact in &mut bare.context {
                let Some(given) = self.given.get(&fact.id) else { continue };
                if let Some(short) = cut(said(&fact.text), step) {
                    fact.text = format!("{short} {}", given.mark(true));
                }
            }
        }
        for step in STEPS {
            if fits(&bare, LARGEST) {
                break;
            }
            for fact in bare.context.iter_mut().filter(|fact| !self.given.contains_key(&fact.id)) {
                fact.text = cut(&fact.text, step).unwrap_or_else(|| fact.text.clone());
            }
        }
        for step in STEPS {
            if fits(&bare, LARGEST) {
                break;
            }
            for issue in &mut bare.open {
                issue.text = cut(&issue.text, step).unwrap_or_else(|| issue.text.clone());
            }
        }
        for fact in &mut self.latest.evidence {
            if let Some(cut) = bare.context.iter().find(|one| one.id == fact.id) {
                fact.text.clone_from(&cut.text);
            }
        }
        self.latest.context = bare.context;
        self.latest.open = bare.open;
    }

    /// What a person decides about the work is what plans rest on from then on, in place of what was decided before of the same kind.
    pub(super) fn told(&mut self, resolution: &Resolution, by: &By, seq: u64, flow: FlowName) {
        let said: Vec<String> = match resolution {
            Resolution::AmendSpec { amended_acceptance_criteria, .. } => amended_acceptance_criteria.clone(),
            Resolution::RevisePlan { revised_micro_plan } => {
                let told = |part: &Module| match part.depends_on.as_slice() {
                    [] => format!("{}: {}", part.module_id, part.description),
                    needs => format!("{}: {} (after {})", part.module_id, part.description, needs.join(", ")),
                };
                revised_micro_plan.iter().map(told).collect()
            }
            _ => return,
        };
        let by = by.name().to_owned();
        let remedy = resolution.remedy();
        self.turn(flow);
        // Criteria that a person amends stand in for those of the scope, too.
        self.forget(|source| match source {
            Source::Decided { remedy: other, .. } => *other == remedy,
            Source::Scope => matches!(resolution, Resolution::AmendSpec { .. }),
            Source::Gates | Source::Round => false,
        });
        let given = Given { source: Source::Decided { remedy, by }, seq };
        for text in said.iter().take(MOST_GIVEN) {
            self.give(text, &given);
        }
    }

    fn give(&mut self, text: &str, given: &Given) {
        let id = self.next_fact();
        self.latest.context.push(Fact { id, text: given.marked(text) });
        self.given.insert(id, given.clone());
    }

    fn forget(&mut self, is_over: impl Fn(&Source) -> bool) {
        let over: BTreeSet<FactId> =
            self.given.iter().filter(|(_, given)| is_over(&given.source)).map(|(id, _)| *id).collect();
        self.given.retain(|id, _| !over.contains(id));
        self.latest.context.retain(|fact| !over.contains(&fact.id));
    }

    /// These are the criteria of the scope now. One that says what it said keeps its number; what a person amended stands in for
    /// those of the same name.
    pub(super) fn asked(&mut self, criteria: &[String], seq: u64) {
        let given = Given { source: Source::Scope, seq };
        let is_decided =
            |fact: &&Fact| self.given.get(&fact.id).is_some_and(|given| matches!(given.source, Source::Decided { .. }));
        let amended: BTreeSet<String> =
            self.latest.context.iter().filter(is_decided).filter_map(|fact| name_of(&fact.text)).collect();
        let is_amended = |text: &String| name_of(text).is_some_and(|name| amended.contains(&name));
        let now: Vec<&String> = criteria.iter().filter(|text| !is_amended(text)).take(MOST_GIVEN).collect();
        let texts: BTreeSet<String> = now.iter().map(|text| given.marked(text)).collect();
        let latest = &self.latest;
        let is_over = |id: &FactId, given: &Given| {
            let text = latest.context.iter().find(|fact| fact.id == *id).map(|fact| fact.text.as_str());
            given.source == Source::Scope && !text.is_some_and(|text| texts.contains(text))
        };
        let over: BTreeSet<FactId> =
            self.given.iter().filter(|(id, given)| is_over(id, given)).map(|(id, _)| *id).collect();
        self.given.retain(|id, _| !over.contains(id));
        self.latest.context.retain(|fact| !over.contains(&fact.id));
        for text in now {
            let marked = given.marked(text);
            if !self.latest.context.iter().any(|fact| fact.text == marked) {
                self.give(text, &given);
            }
        }
    }

    /// The criteria that the work is held to: the scope's, and what a person amended of them.
    pub fn criteria(&self) -> Vec<String> {
        let is_one =
            |source: &Source| matches!(source, Source::Scope | Source::Decided { remedy: Remedy::AmendSpec, .. });
        let facts = self.latest.context.iter();
        let own = facts.filter(|fact| self.given.get(&fact.id).is_some_and(|given| is_one(&given.source)));
        own.map(|fact| said(&fact.text).to_owned()).collect()
    }

    /// What was confirmed for another round: each change in the words in which it was proposed.
    pub(super) fn confirmed(&mut self, round: &Round, seq: u64, flow: FlowName) {
        self.turn(flow);
        self.forget(|source| *source == Source::Round);
        let given = Given { source: Source::Round, seq };
        let wanted = |id: &String| round.accepted.as_ref().is_some_and(|accepted| accepted.contains(id));
        for change in round.changes.iter().filter(|change| wanted(&change.id)).take(MOST_GIVEN) {
            self.give(&format!("{} ({}): {}", change.id, change.priority, change.says), &given);
        }
    }

    /// What people decided here, and the other has nothing of.
    pub(super) fn decided(&self, other: Option<&Self>) -> Vec<Decided> {
        let has = |other: &Self, kind: Remedy| {
            let mut given = other.given.values();
            given.any(|given| matches!(given.source, Source::Decided { remedy, .. } if remedy == kind))
        };
        let facts = self.latest.context.iter().filter_map(|fact| Some((fact, self.given.get(&fact.id)?)));
        let decided = facts.filter_map(|(fact, given)| match &given.source {
            Source::Decided { remedy, by } if !other.is_some_and(|other| has(other, *remedy)) => {
                Some(Decided { text: said(&fact.text).to_owned(), remedy: *remedy, by: by.clone() })
            }
            _ => None,
        });
        decided.collect()
    }

    /// What people decided about the same work under another number holds here.
    pub(super) fn take_over(&mut self, decided: &[Decided], seq: u64) {
        if decided.iter().any(|one| one.remedy == Remedy::AmendSpec) {
            self.forget(|source| *source == Source::Scope);
        }
        for Decided { text, remedy, by } in decided {
            self.give(text, &Given { source: Source::Decided { remedy: *remedy, by: by.clone() }, seq });
        }
    }

    /// A slice begins: with what it is to bring, the gates that it is held to, and a word of the work that was there before it.
    pub(super) fn begun(&mut self, begun: &Begun, seq: u64, flow: FlowName) {
        if !begun.criteria.is_empty() {
            self.asked(&begun.criteria, seq);
        }
        self.forget(|source| *source == Source::Gates);
        let gates = gates_of(flow);
        let iteration = match gates.iteration.is_empty() {
            true => "no gate at each iteration".to_owned(),
            false => format!("{} at each iteration", gates.iteration.join(", ")),
        };
        let text = format!("Gates: {iteration}; {} at the exit.", gates.exit.join(", "));
        self.give(&text, &Given { source: Source::Gates, seq });
        self.before = None;
        if begun.before.is_empty() {
            return;
        }
        let named: Vec<String> = begun.before.iter().take(MOST_BEFORE).map(|path| format!("`{path}`")).collect();
        let more = begun.changed.saturating_sub(named.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text =
            format!("When {} was declared, work was there already: {}{more}.", self.latest.slice_id, named.join(", "));
        let id = self.next_fact();
        self.latest.evidence.push(Fact { id, text: unmarked(&text, LONGEST) });
        self.before = Some(id);
    }
}
