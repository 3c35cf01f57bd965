//! RECONCILE holds the documents against what was built: the seven axes as far as a machine can see them, and what goes against
//! the scope itself.
//!
//! [`judge`] is a function of what was read, like BUILD, which it comes after: it reads the same [`Site`]. Code wins over
//! documents that are out of step, so what is found is mostly to be put right in the documents, and the finding says which line.
//! `docs/gates.md` says what each rule looks for, and what nobody can see from here.

mod calls;
mod interfaces;
mod offered;
pub mod repair;
mod said;
pub mod targets;

use std::collections::BTreeSet;

use super::build::{self, Bench, Site, criteria, structure};
use super::paper::Paper;
use super::papers::{self, DESIGN, Found, Papers};
use super::{Finding, Severity};
use crate::finding::quoted;
use crate::flow::Phase;
use crate::ids::CommitId;
use crate::policy::{Policy, Repairs};
use crate::repo::{Reader, Result};
pub use offered::is_structural;
use repair::Repair;

/// How documents and code differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// Nobody is misled by it.
    Cosmetic,
    /// The documents say something else than the code.
    Structural,
    /// The code goes against the scope. A person decides.
    SpecViolating,
}

impl Drift {
    fn severity(self) -> Severity {
        if self == Self::Cosmetic { Severity::Warning } else { Severity::Error }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Cosmetic => "Cosmetic drift",
            Self::Structural => "Structural drift",
            Self::SpecViolating => "Spec-violating drift",
        }
    }
}

/// A rule, in the manner of those that read documents.
pub struct Rule {
    pub id: &'static str,
    /// One sentence.
    pub about: &'static str,
    pub drift: Drift,
    pub check: fn(&Table<'_>) -> Vec<Found>,
    /// What to do, where what was found does not say it better.
    pub next: &'static str,
}

/// Everything that lies before the gate, read.
pub struct Table<'p> {
    pub bench: Bench<'p>,
    pub papers: &'p Papers,
    pub log: Option<Paper>,
    /// The names among the design's interfaces that nothing in the code has.
    pub unseen: &'p BTreeSet<String>,
}

impl Table<'_> {
    /// What scope and design say, in small letters.
    fn told(&self) -> String {
        let both = [&self.bench.scope, &self.bench.design];
        let text: Vec<String> = both.into_iter().flatten().map(Paper::everything).collect();
        text.join("\n").to_lowercase()
    }
}

const DECIDE: &str =
    "A person decides: accept it by a scope that says so, take it out of the change, or make it a change of its own.";

/// The rules of the gate, in their order.
pub const RULES: &[Rule] = &[
    Rule {
        id: "REC-01",
        about: "The directory structure is the one that was built.",
        drift: Drift::Structural,
        check: tree,
        next: "Put the Directory Structure right.",
    },
    Rule {
        id: "REC-02",
        about: "Each interface of the design is in the code.",
        drift: Drift::Structural,
        check: interfaces::missing,
        next: "Write in the design's Interfaces what it is called now, or take it out.",
    },
    Rule {
        id: "REC-02",
        about: "Each interface takes what the design says.",
        drift: Drift::Structural,
        check: interfaces::reshaped,
        next: "Write in the design's Interfaces what it takes now.",
    },
    Rule {
        id: "REC-03",
        about: "Each criterion of scope has a test that names it.",
        drift: Drift::Structural,
        check: |table| criteria::unnamed(&table.bench),
        next: "Write the test, with the identifier in its name or text.",
    },
    Rule {
        id: "REC-03",
        about: "Tests name criteria that scope has.",
        drift: Drift::Cosmetic,
        check: said::unknown,
        next: "Name the criterion by the identifier that scope has for it.",
    },
    Rule {
        id: "REC-04",
        about: "Each service that is called is among the integrations.",
        drift: Drift::Structural,
        check: calls::undesigned,
        next: "Write it into the design's External Integrations, with what happens when it fails.",
    },
    Rule {
        id: "REC-05",
        about: "What is deployed to is what scope or design name.",
        drift: Drift::Structural,
        check: |table| targets::undesigned(&table.bench),
        next: "Name it in scope or design, or take the file out.",
    },
    Rule {
        id: "REC-05",
        about: "The languages in use are those of the stack.",
        drift: Drift::Cosmetic,
        check: calls::languages,
        next: "Write it into the Stack of scope.",
    },
    Rule {
        id: "REC-06",
        about: "The log names the stack and the target in use.",
        drift: Drift::Structural,
        check: logged,
        next: "Write it into the log.",
    },
    Rule {
        id: "REC-07",
        about: "The tests that readiness links a criterion to are there.",
        drift: Drift::Structural,
        check: links,
        next: "Write into Key Links where the test is.",
    },
    Rule {
        id: "REC-08",
        about: "Nothing is built that scope defers.",
        drift: Drift::SpecViolating,
        check: said::deferred,
        next: DECIDE,
    },
    Rule {
        id: "REC-09",
        about: "No document says that a criterion can't be met.",
        drift: Drift::SpecViolating,
        check: said::impossible,
        next: DECIDE,
    },
    Rule {
        id: "REC-10",
        about: "Design and readiness are made for the tier of scope.",
        drift: Drift::SpecViolating,
        check: said::other_tier,
        next: DECIDE,
    },
];

/// Whether a finding goes against the scope, so that only a person can go on.
pub fn is_spec_violating(finding: &Finding) -> bool {
    finding.blocks() && RULES.iter().any(|rule| rule.id == finding.rule && rule.drift == Drift::SpecViolating)
}

/// What the gate finds at the head of a change, and how a machine would put it right.
pub fn look(
    reader: &dyn Reader,
    head: &CommitId,
    site: &Site,
    papers: &Papers,
    policy: &Policy,
) -> Result<(Vec<Finding>, Option<Repair>)> {
    let names = interfaces::names(build::design(papers).as_ref());
    let unseen = build::unseen(reader, head, site, &names)?;
    let found = judge(site, papers, policy, &unseen);
    let wanted = policy.gates.reconcile.repairs != Repairs::Off && found.iter().any(Finding::blocks);
    let repair = wanted.then(|| repair::of(site, papers, policy, &unseen)).flatten();
    Ok((found, repair))
}

pub fn judge(site: &Site, papers: &Papers, policy: &Policy, unseen: &BTreeSet<String>) -> Vec<Finding> {
    let log = papers.log.as_ref().and_then(|sheet| Paper::read(sheet.text()?, &[]).ok());
    let table = Table { bench: Bench::new(site, papers, policy), papers, log, unseen };
    let mut findings = Vec::new();
    for rule in RULES {
        for found in (rule.check)(&table) {
            let next = found.next.unwrap_or_else(|| rule.next.to_owned());
            let says = format!("{}: {}", rule.drift.words(), found.says);
            let finding = Finding { severity: rule.drift.severity(), ..Finding::error(rule.id, says, next) };
            findings.push(match found.path {
                Some(path) => finding.at(path, found.line),
                None => finding,
            });
        }
    }
    findings
}

/// `REC-01`: as BUILD sees it, with the line that puts the design right.
fn tree(table: &Table<'_>) -> Vec<Found> {
    let drawn = |line: u32| {
        let text = table.papers.design.as_ref()?.text()?;
        text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?).map(|line| quoted(&papers::excerpt(line)))
    };
    let all = structure::differs(&table.bench).into_iter().map(|found| {
        let next = match (found.path.as_deref(), found.line) {
            (Some(DESIGN), Some(line)) => {
                let drawn = drawn(line).map(|drawn| format!(", {drawn}")).unwrap_or_default();
                format!("Take line {line} out of `{DESIGN}`{drawn}.")
            }
            (Some(path), _) => format!("Add the line {} to the Directory Structure in `{DESIGN}`.", quoted(path)),
            (None, _) => return found,
        };
        found.next(next)
    });
    all.collect()
}

/// `REC-06`: what EXPAND finds missing in the log as it is now.
fn logged(table: &Table<'_>) -> Vec<Found> {
    let found = papers::judge(Phase::Expand, table.papers, table.bench.policy);
    let of_log = found.into_iter().filter(|finding| finding.rule == "EXP-10");
    of_log
        .map(|finding| Found { path: finding.path, line: finding.line, says: finding.says, next: Some(finding.next) })
        .collect()
}

/// `REC-07`: where readiness leads to nothing, the line with the file that has the test.
fn links(table: &Table<'_>) -> Vec<Found> {
    let all = criteria::astray(&table.bench).into_iter().map(|found| {
        let now = said::tested_in(&table.bench, &found.says);
        match (now, found.line) {
            (Some(now), Some(line)) => {
                let next =
                    format!("Write {} into line {line} of `{}`: the test is there.", quoted(&now), papers::READINESS);
                found.next(next)
            }
            _ => found,
        }
    });
    all.collect()
}

#[cfg(test)]
mod tests;
