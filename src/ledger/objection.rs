//! Who is against a change, by a comment or by a review, and what takes that back.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::record::{By, Evidence, Moment};
use super::state::{State, same_person};
use crate::ids::{ChangeNumber, Digest};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    pub by: By,
    pub content: Digest,
    pub reason: String,
    /// It is for whatever content comes, until they say otherwise: it was a review that asked for changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub standing: bool,
    /// The change on which it was said, where that is an earlier one of the same work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<ChangeNumber>,
    /// That review. Who asks for changes once more says something new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Moment>,
}

impl Rejection {
    pub fn is_for(&self, content: &Digest) -> bool {
        self.standing || self.content == *content
    }

    /// Whether it was said after that. Where it is not known of both, the records' order tells.
    pub fn is_after(&self, said: Option<Moment>) -> bool {
        matches!((self.said, said), (Some(own), Some(said)) if own > said)
    }

    /// Whether another one is the same, told once more. Older records do not name the review.
    pub(super) fn is_again(&self, other: &Self) -> bool {
        let one = self.on == other.on && same_person(&self.by, &other.by);
        match (self.standing && other.standing, self.review, other.review) {
            (true, Some(own), Some(other)) => one && own == other,
            (true, _, _) => one && self.reason == other.reason,
            (false, _, _) => self == other,
        }
    }

    /// Whether its giver asks for changes once more, on the same change.
    pub(super) fn renews(&self, older: &Self) -> bool {
        let one = self.on == older.on && same_person(&self.by, &older.by);
        one && self.standing && older.standing && older.review < self.review
    }

    /// Whether this approving review by its giver takes it back: it was given later, for what it stands against (`now`: the
    /// content that is there). What they approved of something else, or before, says nothing about it.
    pub fn is_lifted_by(&self, review: u64, at: Option<Timestamp>, of: Option<&Digest>, now: &Digest) -> bool {
        let later = match (self.review, self.said) {
            (Some(own), _) => review > own,
            // Which came first within a second is not known.
            (None, Some(said)) => at.is_some_and(|at| at > said.at),
            (None, None) => self.standing,
        };
        later && of == Some(if self.standing { now } else { &self.content })
    }
}

/// Somebody who asks for changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objector {
    pub by: By,
    pub review: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// Those who ask for changes, by a list of reviews.
pub fn objectors(evidence: &[Evidence]) -> BTreeMap<u64, Objector> {
    let all = evidence.iter().filter_map(|one| match one {
        Evidence::Review { by, role, review, state, at, discounted: None, .. } if state != "APPROVED" => {
            let person = By::Person { person: by.clone(), role: role.clone() };
            Some((by.id, Objector { by: person, review: *review, at: *at }))
        }
        _ => None,
    });
    all.collect()
}

impl State {
    /// Notes for which content reviews were given and ask for changes, and what their givers have taken back.
    pub(super) fn reviews(&mut self, evidence: &[Evidence], now: &Digest) {
        for one in evidence {
            let Evidence::Review { by, review: Some(id), commit, state, at, discounted, .. } = one else { continue };
            if let Some(content) = self.heads.get(commit) {
                self.reviewed.entry(*id).or_insert_with(|| content.clone());
            }
            match state.as_str() {
                "CHANGES_REQUESTED" if discounted.is_none() => drop(self.objections.insert(*id, now.clone())),
                "APPROVED" => {
                    let of = self.reviewed.get(id);
                    let theirs = |rejection: &Rejection| matches!(&rejection.by, By::Person { person, .. } if person.id == by.id);
                    self.rejections.retain(|one| !theirs(one) || !one.is_lifted_by(*id, *at, of, now));
                    let own = self.objectors.get(&by.id).and_then(|objector| objector.review);
                    let same = |own: &u64| own < id && of.is_some() && self.reviewed.get(own) == of;
                    self.withdrawn.extend(own.filter(same));
                }
                _ => {}
            }
        }
    }
}
