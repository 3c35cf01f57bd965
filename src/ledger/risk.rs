//! Risks that somebody has accepted: for one content, with an owner, a ticket and a day on which it ends.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::state::State;
use crate::ids::Digest;

/// What is accepted, and who answers for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// The rules whose findings are accepted.
    pub rules: BTreeSet<String>,
    /// Who answers for it.
    pub owner: String,
    /// Where it is followed.
    pub ticket: String,
    /// The last day on which it holds, by UTC.
    pub until: Date,
    pub reason: String,
}

impl Waiver {
    /// The moment from which it does not hold any more.
    pub fn ends(&self) -> Timestamp {
        let next = self.until.tomorrow().unwrap_or(self.until);
        next.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |at| at.timestamp())
    }

    /// In a line, without who accepted it.
    pub fn told(&self) -> String {
        let rules: Vec<&str> = self.rules.iter().map(String::as_str).collect();
        format!("{} until {} (owner {}, ticket {})", rules.join(", "), self.until, self.owner, self.ticket)
    }
}

/// One that is on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    pub seq: u64,
    pub by: String,
    pub content: Digest,
    pub waiver: Waiver,
    /// Its day is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
}

impl State {
    /// What is accepted of the present content, the newest last. What is over is there too.
    pub fn risks(&self) -> impl Iterator<Item = &Accepted> {
        let content = self.subject.as_ref().map(|about| &about.content);
        self.waivers.iter().filter(move |one| Some(&one.content) == content)
    }

    /// The acceptance that holds for a rule of the present content.
    pub fn accepts(&self, rule: &str) -> Option<&Accepted> {
        self.risks().filter(|one| !one.over && one.waiver.rules.contains(rule)).last()
    }

    /// When the next one ends that holds for the present content.
    pub fn risk_ends(&self) -> Option<Timestamp> {
        self.risks().filter(|one| !one.over).map(|one| one.waiver.ends()).min()
    }
}
