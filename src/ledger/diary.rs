//! The diary of a change: every run of a gate that counted, and what was learned when one blocked.
//!
//! It outlives what it tells of: a gate that passes is through with its tries, but who meets it again later should know what was
//! tried before.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::record::{Body, Record};
use super::state::State;
use crate::finding::{Finding, GateName, Verdict};
use crate::flow::{Action, Phase};
use crate::ids::CommitId;

/// So many lines are kept. The records keep all of them.
const LINES: usize = 40;
/// The longest text of one.
const LONGEST: usize = 200;
/// So many next steps of the last findings are kept.
const STEPS: usize = 2;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diary {
    /// Newest last.
    pub lines: Vec<Line>,
    /// What was learned when a gate blocked last.
    pub learned: BTreeMap<Phase, PostMortem>,
}

/// A run of a gate that counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The record that has it.
    pub record: u64,
    pub phase: Phase,
    pub verdict: Verdict,
    pub head: CommitId,
    /// The rules that stood against it, each once, and what the first of them said.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub rules: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub says: String,
}

/// What is known of why a gate blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostMortem {
    /// The record that blocked.
    pub record: u64,
    /// The rules that stood against every try.
    pub rules: BTreeSet<String>,
    /// What the last try was told.
    pub says: String,
    /// What it was told to do.
    pub steps: Vec<String>,
    /// Where it was tried.
    pub heads: Vec<CommitId>,
}

impl Diary {
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.learned.is_empty()
    }
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

impl State {
    /// Writes down what a record tells.
    pub(super) fn diarise(&mut self, record: &Record) {
        match (&record.body, &record.about) {
            (Body::Judged { gate: GateName::Phase(phase), verdict, claimed: Some(_), findings, .. }, Some(about)) => {
                let against = || findings.iter().filter(|finding| finding.blocks() && *verdict == Verdict::Fail);
                self.diary.lines.push(Line {
                    record: record.seq,
                    phase: *phase,
                    verdict: *verdict,
                    head: about.head.clone(),
                    rules: against().map(|finding| finding.rule.clone()).take(8).collect(),
                    says: against().next().map(|finding| short(&finding.says)).unwrap_or_default(),
                });
                if self.diary.lines.len() > LINES {
                    self.diary.lines.remove(0);
                }
            }
            (Body::Step { action: Action::BlockAfterThreeRetries, .. }, _) => {
                let phase = self.pipeline.as_ref().and_then(crate::flow::pipeline::State::phase);
                let learned = phase.and_then(|phase| Some((phase, self.post_mortem(phase, record.seq)?)));
                self.diary.learned.extend(learned);
            }
            _ => {}
        }
    }

    fn post_mortem(&self, phase: Phase, record: u64) -> Option<PostMortem> {
        let lines = self.diary.lines.iter().rev().filter(|line| line.phase == phase);
        let tries: Vec<&Line> = lines.take_while(|line| line.verdict == Verdict::Fail).take(4).collect();
        let last = tries.first()?;
        let common = tries.iter().map(|line| line.rules.clone()).reduce(|all, one| &all & &one).unwrap_or_default();
        let judged = self.gates.get(&GateName::Phase(phase));
        let steps = judged.iter().flat_map(|judged| judged.findings.iter().filter(|one| Finding::blocks(one)));
        let mut heads: Vec<CommitId> = tries.iter().rev().map(|line| line.head.clone()).collect();
        heads.dedup();
        Some(PostMortem {
            record,
            rules: common,
            says: last.says.clone(),
            steps: steps.map(|finding| short(&finding.next)).take(STEPS).collect(),
            heads,
        })
    }
}
