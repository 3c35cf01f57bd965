//! What a worker hands in: `SUMMARY.md` with its verdict, and `deltas.md` with what it learned.
//!
//! A worker proposes and somebody else records: nothing here moves anything. A proposal is read out of the branch's own
//! commits, because a file that is only in a worktree is gone with it, and it is held to what no worker may decide:
//! a finding of security is a HARD-STOP, and a risk that tests can't show goes to a person.

mod block;
mod read;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::cell::{TaskId, shown};
use crate::finding::Finding;

pub use read::{Unread, handed_in, lessons, read};

/// The verdict's file.
pub const SUMMARY: &str = "SUMMARY.md";
/// The file beside it.
pub const DELTAS: &str = "deltas.md";
/// A longer file is not read.
pub const LARGEST: usize = 256 * 1024;

/// The rule of a verdict that is missing or not in its form.
pub const MALFORMED: &str = "malformed_gate_record";
/// The rule of a verdict that says another thing than the ledger or git.
pub const MISMATCH: &str = "gate_record_mismatch";

/// How the work on a task ended, by its worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Outcome {
    #[serde(rename = "PASS")]
    Pass,
    #[serde(rename = "RISK-ACCEPTED")]
    RiskAccepted,
    #[serde(rename = "ESCALATE")]
    Escalate,
    #[serde(rename = "HARD-STOP")]
    HardStop,
}

impl Outcome {
    pub const ALL: [Self; 4] = [Self::Pass, Self::RiskAccepted, Self::HardStop, Self::Escalate];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::RiskAccepted => "RISK-ACCEPTED",
            Self::HardStop => "HARD-STOP",
            Self::Escalate => "ESCALATE",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| text.eq_ignore_ascii_case(outcome.as_str()))
    }

    /// Whether it stops the task.
    pub fn stops(self) -> bool {
        matches!(self, Self::HardStop | Self::Escalate)
    }
}

/// What kind of risk was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Security,
    Concurrency,
    Architecture,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Security, Self::Concurrency, Self::Architecture];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Security => "security",
            Self::Concurrency => "concurrency",
            Self::Architecture => "architecture",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| text.eq_ignore_ascii_case(kind.as_str()))
    }
}

/// A risk that the tests do not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Residue {
    pub kind: Kind,
    pub says: String,
    pub line: u32,
}

/// A worker's verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proposal {
    pub task: String,
    pub outcome: Outcome,
    pub evidence: Vec<String>,
    pub residue: Vec<Residue>,
    pub deltas: Vec<String>,
    /// Where the outcome stands.
    #[serde(skip)]
    pub line: u32,
    /// Where the task stands.
    #[serde(skip)]
    pub task_line: u32,
}

impl Proposal {
    /// What the outcome comes to, whatever was said: security stops, and a PASS over another risk goes to a person.
    pub fn weighed(&self) -> Outcome {
        let has = |kind: Kind| self.residue.iter().any(|residue| residue.kind == kind);
        let least = match self.outcome {
            _ if has(Kind::Security) => Outcome::HardStop,
            Outcome::Pass if has(Kind::Concurrency) || has(Kind::Architecture) => Outcome::Escalate,
            said => said,
        };
        self.outcome.max(least)
    }
}

/// A file as it is committed: where, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub path: String,
    pub bytes: Vec<u8>,
}

/// What a branch has of a verdict's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filed {
    pub summary: Option<Committed>,
    pub deltas: Option<Committed>,
    /// Where a summary should be and something else stands: a link.
    pub link: Option<String>,
    /// Where several summaries could be the task's: which.
    pub several: Vec<String>,
}

/// A proposal as far as it can be read, with all that is wrong with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judged {
    pub proposal: Option<Proposal>,
    /// What `deltas.md` has, an entry each.
    pub lessons: Vec<String>,
    pub findings: Vec<Finding>,
}

/// Reads and weighs what a branch hands in for a task.
pub fn judge(task: &TaskId, branch: &str, filed: &Filed) -> Judged {
    let mut judged = Judged::default();
    let Some(summary) = &filed.summary else {
        judged.findings.push(no_summary(task, branch, filed));
        return judged;
    };
    let path = summary.path.as_str();
    match &filed.deltas {
        None => {
            let beside = path.strip_suffix(SUMMARY).unwrap_or_default();
            let says = format!("{} is not committed on {}.", shown(&format!("{beside}{DELTAS}")), shown(branch));
            let next = "Commit it beside SUMMARY.md, a lesson an entry; where nothing was learned, it says `None.`";
            judged.findings.push(Finding::error(MALFORMED, says, next).at(path, None));
        }
        Some(deltas) => match lessons(&deltas.path, &deltas.bytes) {
            Ok(found) => judged.lessons = found,
            Err(finding) => judged.findings.push(*finding),
        },
    }
    match read(path, &summary.bytes) {
        Err(mut findings) => judged.findings.append(&mut findings),
        Ok(proposal) => {
            judged.findings.extend(held(task, path, &proposal));
            judged.findings.extend(told_apart(path, &proposal, &judged.lessons, filed.deltas.as_ref()));
            judged.proposal = Some(proposal);
        }
    }
    judged
}

fn no_summary(task: &TaskId, branch: &str, Filed { several, link, .. }: &Filed) -> Finding {
    if let Some(link) = link {
        let says = format!("{} on {} is a link, or no plain file.", shown(link), shown(branch));
        let next = format!("Commit {SUMMARY} itself: where a link leads is not looked at.");
        return Finding::error(MALFORMED, says, next);
    }
    if several.is_empty() {
        let says = format!("{} has no {SUMMARY} of its own committed.", shown(branch));
        let next = format!(
            "Commit {SUMMARY} and {DELTAS} in the task's folder on that branch; what is only in a worktree is not handed in, and \
             one that the base has is another's."
        );
        return Finding::error(MALFORMED, says, next);
    }
    let names = super::verify::several(several.iter().map(String::as_str));
    let says = format!("{} has several summaries: {names}.", shown(branch));
    let next = format!("Keep one, in a folder that is called {}.", shown(task.as_str()));
    Finding::error(MALFORMED, says, next)
}

/// What no worker may decide.
fn held(task: &TaskId, path: &str, proposal: &Proposal) -> Vec<Finding> {
    let mut findings = Vec::new();
    if proposal.task != task.as_str() {
        let says =
            format!("The verdict is for the task {}, and the row for {}.", shown(&proposal.task), shown(task.as_str()));
        let next = "Hand in the verdict of this task on this branch.";
        findings.push(Finding::error(MISMATCH, says, next).at(path, Some(proposal.task_line)));
    }
    for residue in &proposal.residue {
        let found = format!("{}: {}", residue.kind.as_str(), shown(&residue.says));
        let outcome = proposal.outcome.as_str();
        let finding = match (residue.kind, proposal.outcome) {
            (Kind::Security, Outcome::RiskAccepted) => Finding::error(
                "risk_accepted_security",
                format!("A security finding is accepted as a risk ({found})."),
                "Security is never waived: hand it in as `HARD-STOP`, and a person decides.",
            ),
            (Kind::Security, Outcome::Pass | Outcome::Escalate) => Finding::error(
                "residue_security",
                format!("The outcome is {outcome}, and a security finding is left ({found})."),
                "Hand it in as `HARD-STOP`, and a person decides.",
            ),
            (Kind::Concurrency, Outcome::Pass) => passed_over("residue_concurrency", &found),
            (Kind::Architecture, Outcome::Pass) => passed_over("residue_architecture", &found),
            _ => continue,
        };
        findings.push(finding.at(path, Some(residue.line)));
    }
    findings
}

fn passed_over(rule: &str, found: &str) -> Finding {
    let says = format!("The outcome is PASS, and a risk is left that tests do not show ({found}).");
    Finding::error(rule, says, "Hand it in as `ESCALATE`, and a person looks at it.")
}

/// The two files say the same, and no lesson hides a finding of security.
fn told_apart(path: &str, proposal: &Proposal, lessons: &[String], file: Option<&Committed>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.is_some() && proposal.deltas.is_empty() != lessons.is_empty() {
        let (with, without) = if lessons.is_empty() { (SUMMARY, DELTAS) } else { (DELTAS, SUMMARY) };
        let says = format!("{with} tells of lessons, and {without} of none.");
        findings
            .push(Finding::error(MISMATCH, says, "Write the same lessons into both.").at(path, Some(proposal.line)));
    } else if file.is_some() && words(&proposal.deltas) != words(lessons) {
        let says = format!("{SUMMARY} and {DELTAS} tell of different lessons.");
        let next = "Write the same lessons into both, in the same words; their order does not matter.";
        findings.push(Finding::error(MISMATCH, says, next).at(path, Some(proposal.line)));
    }
    findings.extend(unescalated(path, proposal, lessons));
    findings
}

/// `unescalated_security_note`: a lesson that is a finding of security, and no HARD-STOP.
pub fn unescalated(path: &str, proposal: &Proposal, lessons: &[String]) -> Option<Finding> {
    let note = proposal.deltas.iter().chain(lessons).find(|lesson| is_security(lesson))?;
    let says =
        format!("A lesson is marked as security, and the outcome is {} ({}).", proposal.outcome.as_str(), shown(note));
    let next = "Name it under `residue` and hand it in as `HARD-STOP`; if it is no finding, take the mark off.";
    let finding = Finding::error("unescalated_security_note", says, next).at(path, Some(proposal.line));
    (proposal.outcome != Outcome::HardStop).then_some(finding)
}

/// The words of some lessons, whatever their order and what stands between them.
fn words(lessons: &[String]) -> Vec<String> {
    let of = |lesson: &String| lesson.to_lowercase();
    let mut words: Vec<String> = lessons
        .iter()
        .map(of)
        .flat_map(|lesson| {
            let words = lesson.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    words.sort_unstable();
    words
}

/// `security: …`, `security - …`, `SEC: …` and `[security] …` in front, also behind a sign or a word that leads in (`⚠ Security: …`,
/// `NOTE: security: …`) and as a kind of note (`Security finding: …`); `[security]` and `(security)` anywhere.
fn is_security(lesson: &str) -> bool {
    let lower = lesson.to_lowercase();
    let letters = ['*', '_', '`', ' '];
    let marked = lower.match_indices("security").any(|(at, word)| {
        let before = lower.get(..at).unwrap_or_default().trim_end_matches(letters);
        let behind = lower.get(at + word.len()..).unwrap_or_default().trim_start_matches(letters);
        (before.ends_with('[') && behind.starts_with(']')) || (before.ends_with('(') && behind.starts_with(')'))
    });
    let mut bare = signless(&lower);
    // Each turn takes a word away, so it ends.
    while !marked && !is_mark(bare) {
        match LEADS.iter().find_map(|lead| led_in(bare, lead)) {
            Some(rest) => bare = rest,
            None => return false,
        }
    }
    true
}

/// Words that lead in a lesson, and say nothing of it themselves.
const LEADS: [&str; 12] = [
    "note",
    "nb",
    "n.b.",
    "lesson",
    "lesson learned",
    "finding",
    "warning",
    "caution",
    "attention",
    "important",
    "delta",
    "learned",
];
/// What a mark may call itself.
const KINDS: [&str; 10] =
    ["note", "finding", "issue", "risk", "warning", "residue", "lesson", "concern", "problem", "hole"];

/// Without signs in front: of lists, of emphasis, and pictures. What is quoted is spoken of.
fn signless(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '"' | '\'' | '“' | '„' | '«'))
}

/// `security: …`, and with what kind of note it is between: `security finding: …`. That there is none of them is no finding.
fn is_mark(bare: &str) -> bool {
    let kind_of = |behind: &str| {
        let rest = behind.strip_prefix([' ', '-']).unwrap_or_default();
        let kinds = KINDS.iter().filter_map(|kind| rest.strip_prefix(kind));
        kinds.map(|rest| rest.strip_prefix('s').unwrap_or(rest)).any(|rest| in_front(rest) && !is_nothing(rest))
    };
    let marks = |behind: &str| in_front(behind) && !is_nothing(behind) || kind_of(behind);
    ["security", "sec"].iter().filter_map(|word| bare.strip_prefix(word)).any(marks)
}

fn is_nothing(rest: &str) -> bool {
    let said = rest.trim_matches(|c: char| !c.is_alphanumeric());
    matches!(said, "" | "none" | "none found" | "nothing" | "nothing found" | "no" | "n/a" | "0")
}

/// What a word leads in, with what stands between: `note: …`, `lesson, …`, `note …`.
fn led_in<'t>(bare: &'t str, lead: &str) -> Option<&'t str> {
    let rest = bare.strip_prefix(lead)?;
    (!rest.starts_with(char::is_alphanumeric)).then(|| signless(rest)).filter(|rest| !rest.is_empty())
}

/// Whether what stands behind a word makes a mark of it. A hyphen within a word, as in `security-relevant`, does not.
fn in_front(behind: &str) -> bool {
    let rest = behind.trim_start_matches(['*', '_', '`', ' ']);
    let spaced = rest.len() != behind.len();
    let hyphen = |rest: &str| spaced || !rest.starts_with(char::is_alphanumeric);
    rest.starts_with([':', ']', ')', '–', '—']) || rest.strip_prefix('-').is_some_and(hyphen)
}
