//! What reviewers found, as they gave it in the block of a review, and what became of it.
//!
//! A review can be edited and dismissed by others than its giver. So its block is written down when it is first read, and
//! from then on the record holds: what was found stays found until somebody settles it in a later block.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::State;
use crate::ids::{ChangeNumber, CommitId, Digest, Person};
use crate::policy::{Word, words};

words! {
    /// What a review looks at.
    Axis {
        Correctness = "correctness",
        Readability = "readability",
        Architecture = "architecture",
        Security = "security",
        Performance = "performance",
    }
}
words! {
    /// What a review looks for by name.
    Sought { ScopeReduction = "scope_reduction", Placeholders = "placeholders", Traceability = "traceability" }
}
words! {
    /// How much a finding weighs.
    Weight { Critical = "critical", Required = "required", Optional = "optional", Nit = "nit" }
}
words! {
    /// What is settled or written down, however little it weighs.
    Concern { DeadCode = "dead_code", Dependency = "dependency", Scope = "scope" }
}

impl Axis {
    pub const EACH: [Self; 5] =
        [Self::Correctness, Self::Readability, Self::Architecture, Self::Security, Self::Performance];
}

impl Sought {
    pub const EACH: [Self; 3] = [Self::ScopeReduction, Self::Placeholders, Self::Traceability];
}

impl Weight {
    /// Whether nothing goes on while it is open.
    pub fn blocks(self) -> bool {
        matches!(self, Self::Critical | Self::Required)
    }
}

/// What a reviewer says in a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub axes: BTreeSet<Axis>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub looked_for: BTreeSet<Sought>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Found>,
    /// What a completeness critic misses; none: it did not look. An empty list says that nothing is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Vec<String>>,
    /// Findings that are no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub close: Vec<Named>,
    /// Findings that stay, and that somebody answers for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<Named>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub id: String,
    pub axis: Axis,
    pub severity: Weight,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concern: Option<Concern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub what: String,
    #[serde(rename = "do")]
    pub remedy: String,
}

/// A finding by its name, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub finding: String,
    pub reason: String,
}

/// What is wrong with a block, at a line of the review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flaw {
    pub line: u32,
    pub says: String,
    pub next: String,
}

/// The block of a review as it was first read, by somebody whose word counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    pub review: u64,
    pub by: Person,
    pub role: String,
    /// They might approve.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approves: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The digest of the review's text.
    pub text: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// Why there is no block that can be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
}

/// All blocks of a change, and what is found in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// By the review that they stand in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blocks: BTreeMap<u64, Seen>,
    /// By review and id: `123/F1`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<String, Held>,
}

/// What is kept of a block besides its findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub by: Person,
    pub role: String,
    /// The content it was given for, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    pub text: Digest,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub axes: BTreeSet<Axis>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub looked_for: BTreeSet<Sought>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
    /// What it would settle, and is there not at all or more than once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched: Vec<String>,
}

/// A finding, and who has settled it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub found: Found,
    pub review: u64,
    pub by: Person,
    pub role: String,
    /// The change on which it was found, where that is an earlier one of the same work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<ChangeNumber>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<Settled>,
}

/// Somebody's word that a finding is no more, or that they answer for it. Whether it counts is asked when it matters:
/// they may push since, or lose their role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub by: Person,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approves: bool,
    pub review: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    pub reason: String,
}

/// A login without what marks a bot's.
pub fn plain_login(login: &str) -> &str {
    login.strip_suffix("[bot]").unwrap_or(login)
}

impl Held {
    pub fn key(&self) -> String {
        format!("{}/{}", self.review, self.found.id)
    }

    /// Whether somebody means this one: `F1` is one's own, `mia/F1` is mia's, `123/F1` stands in the review 123.
    fn is_named(&self, name: &str, by: &Person) -> bool {
        let (whose, id) = name.rsplit_once('/').map_or((None, name), |(whose, id)| (Some(whose), id));
        let theirs = match whose {
            None => self.by.id == by.id,
            Some(whose) => {
                whose == self.review.to_string() || plain_login(whose).eq_ignore_ascii_case(plain_login(&self.by.login))
            }
        };
        theirs && id.eq_ignore_ascii_case(&self.found.id)
    }
}

impl Findings {
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.held.is_empty()
    }

    /// What people call a finding: with its giver's name while that is enough.
    pub fn name_of(&self, held: &Held) -> String {
        let same = |other: &&Held| {
            other.by.id == held.by.id && other.found.id.eq_ignore_ascii_case(&held.found.id) && other.settled.is_empty()
        };
        match self.held.values().filter(same).count() {
            0 | 1 => format!("{}/{}", plain_login(&held.by.login), held.found.id),
            _ => held.key(),
        }
    }

    /// The one that is meant: of several, the one that nobody has settled.
    fn meant(&self, name: &str, by: &Person) -> Option<String> {
        let all = || self.held.iter().filter(|(_, held)| held.is_named(name, by));
        let only = |mut some: Box<dyn Iterator<Item = (&String, &Held)> + '_>| match (some.next(), some.next()) {
            (Some((key, _)), None) => Some(key.clone()),
            _ => None,
        };
        only(Box::new(all())).or_else(|| only(Box::new(all().filter(|(_, held)| held.settled.is_empty()))))
    }

    /// What of it a later number takes over: what nothing goes on with, and nobody has settled.
    pub(super) fn handed_down(&self, from: ChangeNumber, heir: &Self) -> Vec<Held> {
        let open = self.held.iter().filter(|(key, held)| {
            held.found.severity.blocks() && held.settled.is_empty() && !heir.held.contains_key(*key)
        });
        open.map(|(_, held)| Held { on: held.on.or(Some(from)), ..held.clone() }).collect()
    }

    pub(super) fn take_over(&mut self, taken: &[Held]) {
        for held in taken {
            self.held.entry(held.key()).or_insert_with(|| held.clone());
        }
    }
}

impl State {
    /// Takes a block in. What it settles was found before it.
    pub(super) fn review_block(&mut self, given: &Reviewed) {
        if self.findings.blocks.contains_key(&given.review) {
            return;
        }
        if let Some(content) = given.commit.as_ref().and_then(|commit| self.heads.get(commit)) {
            self.reviewed.entry(given.review).or_insert_with(|| content.clone());
        }
        let content = given.commit.as_ref().and_then(|_| self.reviewed.get(&given.review)).cloned();
        let block = given.block.clone().unwrap_or_default();
        let mut unmatched = Vec::new();
        let closed = block.close.into_iter().map(|named| (named, false));
        for (named, accepted) in closed.chain(block.accept.into_iter().map(|named| (named, true))) {
            let key = self.findings.meant(&named.finding, &given.by);
            match key.and_then(|key| self.findings.held.get_mut(&key)) {
                None => unmatched.push(named.finding),
                Some(held) => held.settled.push(Settled {
                    by: given.by.clone(),
                    approves: given.approves,
                    review: given.review,
                    accepted,
                    reason: named.reason,
                }),
            }
        }
        for found in block.findings {
            let (by, role) = (given.by.clone(), given.role.clone());
            let held = Held { found, review: given.review, by, role, on: None, settled: Vec::new() };
            self.findings.held.insert(held.key(), held);
        }
        let seen = Seen {
            by: given.by.clone(),
            role: given.role.clone(),
            content,
            text: given.text.clone(),
            axes: block.axes,
            looked_for: block.looked_for,
            gaps: block.gaps,
            flaws: given.flaws.clone(),
            unmatched,
        };
        self.findings.blocks.insert(given.review, seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Body;

    fn person(id: u64, login: &str) -> Person {
        Person { id, login: login.to_owned(), bot: login.ends_with("[bot]") }
    }

    fn held(id: &str, review: u64, by: Person) -> Held {
        let found = Found {
            id: id.to_owned(),
            axis: Axis::Security,
            severity: Weight::Critical,
            concern: None,
            path: None,
            line: None,
            what: "It leaks.".to_owned(),
            remedy: "Stop it.".to_owned(),
        };
        Held { found, review, by, role: "write".to_owned(), on: None, settled: Vec::new() }
    }

    #[test]
    fn a_finding_is_meant_by_its_name_and_not_by_half_of_it() {
        let (mia, helper) = (person(1, "mia"), person(2, "helper[bot]"));
        let all = [held("F1", 10, mia.clone()), held("F1", 11, helper.clone()), held("F2", 12, mia.clone())];
        let findings =
            Findings { held: all.iter().map(|one| (one.key(), one.clone())).collect(), ..Findings::default() };
        let meant = |name: &str, by: &Person| findings.meant(name, by);
        assert_eq!(meant("F1", &mia).as_deref(), Some("10/F1"));
        assert_eq!(meant("f1", &helper).as_deref(), Some("11/F1"));
        assert_eq!(meant("helper/F1", &mia).as_deref(), Some("11/F1"));
        assert_eq!(meant("helper[bot]/F1", &mia).as_deref(), Some("11/F1"));
        assert_eq!(meant("12/F2", &helper).as_deref(), Some("12/F2"));
        for nothing in ["F3", "10/F2", "max/F1", "F"] {
            assert_eq!(meant(nothing, &mia), None, "{nothing}");
        }
        // Of two that mia calls so, nobody knows which; once one is settled, it is the other.
        let mut two = findings.clone();
        two.held.insert("13/F1".to_owned(), held("F1", 13, mia.clone()));
        assert_eq!(two.meant("mia/F1", &helper), None);
        let settled =
            Settled { by: mia.clone(), approves: false, review: 14, accepted: false, reason: "gone".to_owned() };
        two.held.get_mut("10/F1").unwrap().settled.push(settled);
        assert_eq!(two.meant("F1", &mia).as_deref(), Some("13/F1"));
    }

    #[test]
    fn a_record_reads_as_it_was_written_and_states_of_before_read_as_well() {
        let block = Block { findings: vec![held("F1", 10, person(1, "mia")).found], ..Block::default() };
        let (text, block) = (Digest::of("text"), Some(block));
        let (by, role) = (person(1, "mia"), "write".to_owned());
        let given = Reviewed { review: 10, by, role, approves: false, commit: None, text, block, flaws: Vec::new() };
        let body = Body::Reviewed(Box::new(given));
        let json = serde_json::to_value(&body).unwrap();
        assert_eq!((&json["kind"], &json["block"]["findings"][0]["do"]), (&"reviewed".into(), &"Stop it.".into()));
        assert_eq!(serde_json::from_value::<Body>(json).unwrap(), body);
        assert_eq!(serde_json::from_str::<Findings>("{}").unwrap(), Findings::default());
    }
}
