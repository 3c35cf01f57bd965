//! Incidents: something went around the gate. Each has an issue that tells whoever the policy names, and nothing waits for it.
//!
//! An incident is known by the sequence number of its record. A change that was merged before there were such records has
//! none, and nothing is opened for it.

use serde::{Deserialize, Serialize};

use super::record::{Body, By, Record};
use super::state::State;
use crate::finding::Finding;
use crate::ids::Person;

/// What went around the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Breach {
    /// The change was merged while this stood against it.
    Bypassed {
        /// Who merged it, where GitHub tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Person>,
        findings: Vec<Finding>,
    },
    /// The gate is not required on this branch any more. It was known to be since then, and when it was last seen.
    Unguarded { branch: String, since: jiff::Timestamp, seen: jiff::Timestamp },
}

/// So many findings are kept of a bypass.
pub const MOST_FINDINGS: usize = 50;

impl Breach {
    /// The rules that stood against what was merged, each once.
    pub fn rules(&self) -> Vec<&str> {
        let Self::Bypassed { findings, .. } = self else { return Vec::new() };
        let mut rules: Vec<&str> = findings.iter().map(|finding| finding.rule.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// The sequence number of the record that opened it.
    pub id: u64,
    pub breach: Breach,
    pub since: jiff::Timestamp,
    /// The issue that tells it, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<u64>,
    /// Who has taken note of it, by closing the issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noted: Option<By>,
}

/// How many incidents are kept in the state. The records keep all of them.
const KEPT: usize = 8;

impl State {
    /// What this record says of incidents.
    pub(super) fn incident(&mut self, record: &Record) {
        let by_id = |state: &mut Self, id: u64, what: &dyn Fn(&mut Incident)| {
            state.incidents.iter_mut().filter(|one| one.id == id).for_each(what);
        };
        match &record.body {
            Body::Incident(breach) => {
                let (id, since, breach) = (record.seq, record.at, Breach::clone(breach));
                self.incidents.push(Incident { id, breach, since, issue: None, noted: None });
                if self.incidents.len() > KEPT {
                    self.incidents.remove(0);
                }
            }
            Body::IncidentShown { of, issue } => by_id(self, *of, &|one| one.issue = Some(*issue)),
            Body::IncidentNoted { of } => by_id(self, *of, &|one| one.noted = Some(record.by.clone())),
            _ => {}
        }
    }
}
