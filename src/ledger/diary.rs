//! The diary of a change: every run of a gate that counted, and what was learned when one blocked.
//!
//! It outlives what it tells of: a gate that passes is through with its tries, but who meets it again later should know what was
//! tried before.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::record::{Body, Record};
use super::snapshot::line;
use super::state::State;
use crate::finding::{Finding, GateName, Verdict, quoted};
use crate::flow::{Action, Phase};
use crate::ids::{ChangeNumber, CommitId, Digest};

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
    /// Every line that the bot may have written into the log of the change, by its print.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub written: BTreeSet<String>,
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

    /// What belongs into the log of the change and is not told there ([`told_in`]), an entry a record.
    pub fn untold(&self, change: ChangeNumber, told: &BTreeSet<String>) -> Vec<String> {
        let mut all: Vec<(u64, String)> = self.lines.iter().map(|one| (one.record, one.entry(change))).collect();
        all.extend(self.learned.iter().map(|(phase, learned)| (learned.record, learned.entry(change, *phase))));
        all.retain(|(_, entry)| !told.contains(&print(entry.lines().next().unwrap_or_default().trim_end())));
        all.sort();
        all.into_iter().map(|(_, text)| text).collect()
    }

    /// The log with that at its end; none where nothing is missing.
    pub fn appended_to(&self, log: &str, change: ChangeNumber, told: &BTreeSet<String>) -> Option<String> {
        let missing = self.untold(change, told);
        if missing.is_empty() {
            return None;
        }
        let log = log.trim_end();
        let begun = if log.is_empty() { HEADING } else { log };
        // Behind what the bot wrote last there is no gap.
        let last = begun.lines().next_back().unwrap_or_default();
        let gap = if self.written.contains(&print(last)) { "\n" } else { "\n\n" };
        Some(format!("{begun}{gap}{}", missing.concat()))
    }

    /// A log without what the bot wrote into it; empty where that was all.
    pub fn without_own(&self, log: &str) -> String {
        let kept: Vec<&str> = log.split('\n').filter(|line| !self.written.contains(&print(line))).collect();
        let text = kept.join("\n");
        match text.trim() {
            "" | HEADING => String::new(),
            _ => format!("{}\n", text.trim_end()),
        }
    }

    fn wrote(&mut self, entry: &str) {
        self.written.extend(entry.lines().map(print));
    }
}

/// What a log begins with that the bot begins.
const HEADING: &str = "# Log";

/// How an entry begins.
const BEGINS: &str = "- record ";

/// What a log tells of: the first lines of entries, as they stand there, by their prints. Of a line that only looks like one nobody
/// knows what it is about, and another change has the same numbers.
pub fn told_in(log: &str) -> BTreeSet<String> {
    log.lines().map(str::trim_end).filter(|line| line.starts_with(BEGINS)).map(print).collect()
}

fn print(line: &str) -> String {
    Digest::of(line).as_str()[..16].to_owned()
}

/// A text that neither ends the block that it stands in nor begins another line.
fn safe(text: &str) -> String {
    line(&text.replace('`', "'"))
}

impl Line {
    /// Its line in the log.
    fn entry(&self, change: ChangeNumber) -> String {
        let verdict = if self.verdict == Verdict::Pass { "PASS" } else { "FAIL" };
        let (record, phase, head) = (self.record, self.phase.as_str().to_uppercase(), self.head.short());
        let against = match self.rules.is_empty() {
            true => String::new(),
            false => {
                let rules: Vec<String> = self.rules.iter().map(|rule| safe(rule)).collect();
                format!(" ({}): {}", rules.join(", "), safe(&self.says))
            }
        };
        format!("{BEGINS}{record} of {change}: {phase} {verdict} on {head}{against}\n")
    }
}

impl PostMortem {
    /// Its three parts: what went wrong, what to try, what to avoid.
    pub fn parts(&self) -> [String; 3] {
        let rules: Vec<String> = self.rules.iter().map(|rule| quoted(rule)).collect();
        let wrong = match rules.as_slice() {
            [] => format!("Each try failed by something else, the last one so: {}", self.says),
            rules if self.heads.len() == 1 => format!("{} stood against it: {}", rules.join(", "), self.says),
            rules => format!("{} stood against every try: {}", rules.join(", "), self.says),
        };
        let heads: Vec<String> = self.heads.iter().map(|head| quoted(head.short())).collect();
        let differently = match self.steps.as_slice() {
            [] => "Whoever let it go on said what to try.".to_owned(),
            steps => steps.join(" "),
        };
        [wrong, differently, format!("What was tried on {} failed.", heads.join(", "))]
    }

    /// Its lines in the log.
    fn entry(&self, change: ChangeNumber, phase: Phase) -> String {
        let [wrong, differently, avoid] = self.parts().map(|part| safe(&part));
        format!(
            "{BEGINS}{} of {change}: post-mortem of {}\n  - What went wrong: {wrong}\n  - What to try differently: {differently}\n  - What to avoid: {avoid}\n",
            self.record,
            phase.as_str().to_uppercase()
        )
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
                let line = Line {
                    record: record.seq,
                    phase: *phase,
                    verdict: *verdict,
                    head: about.head.clone(),
                    rules: against().map(|finding| finding.rule.clone()).take(8).collect(),
                    says: against().next().map(|finding| short(&finding.says)).unwrap_or_default(),
                };
                self.diary.wrote(&line.entry(self.change));
                self.diary.lines.push(line);
                if self.diary.lines.len() > LINES {
                    self.diary.lines.remove(0);
                }
            }
            (Body::Step { action: Action::BlockAfterThreeRetries, .. }, _) => {
                let phase = self.pipeline.as_ref().and_then(crate::flow::pipeline::State::phase);
                let learned = phase.and_then(|phase| Some((phase, self.post_mortem(phase, record.seq)?)));
                if let Some((phase, learned)) = learned {
                    self.diary.wrote(&learned.entry(self.change, phase));
                    self.diary.learned.insert(phase, learned);
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kit::Game;

    const CHANGE: ChangeNumber = ChangeNumber(7);

    fn diary() -> Diary {
        let mut game = Game::pipeline();
        game.says("ada", crate::ids::Role::Write, "/expand").look();
        let lines = game.now().diary.clone();
        assert!(!lines.lines.is_empty());
        lines
    }

    #[test]
    fn what_is_appended_is_taken_out_again() {
        let diary = diary();
        for log in ["", "# Log\n", "# Log\n\n- Rust 1.95\n", "- Rust 1.95", "- Rust 1.95\n\n\n"] {
            let appended = diary.appended_to(log, CHANGE, &BTreeSet::new()).unwrap();
            assert!(appended.contains("- record "), "{appended}");
            assert_eq!(diary.without_own(&appended), diary.without_own(log), "{log:?}");
        }
    }

    #[test]
    fn what_others_wrote_stays() {
        let diary = diary();
        let forged = "- record 2: EXPAND PASS on 0123456789ab\n";
        assert_eq!(diary.without_own(forged), forged, "it only looks like one of ours");
        let log = diary.appended_to("- Rust 1.95\n", CHANGE, &BTreeSet::new()).unwrap() + "- and more\n";
        assert!(diary.without_own(&log).ends_with("- and more\n"));
        assert_eq!(diary.appended_to(&log, CHANGE, &told_in(&log)), None, "nothing is told twice");
        assert_eq!(diary.appended_to(&log, CHANGE, &told_in(&log.replace('\n', "  \r\n"))), None);
        // Another change has the same numbers, and words about one are no entry.
        let other = diary.appended_to(&log, ChangeNumber(8), &told_in(&log)).unwrap();
        assert!(other.starts_with(&log) && other.contains(" of #8: "), "{other}");
        let records =
            diary.lines.iter().map(|line| format!("- record {} of #7: told\nrecord {}\n", line.record, line.record));
        assert!(diary.appended_to("", CHANGE, &told_in(&records.collect::<String>())).is_some());
    }
}
