//! The gates that read documents: EXPAND, DESIGN and ANALYZE.
//!
//! [`judge`] is a function of what was read ([`Papers`]) and the policy, and of nothing else: the same documents always
//! get the same findings, in the App as in `phasegate check`. Each gate is a list of [`Rule`]s in a file of its own;
//! `docs/gates.md` says what each looks for.

mod read;

pub use read::read_sheet;

use std::collections::BTreeMap;

use super::paper::{LARGEST, Paper, names};
use super::{Finding, Severity, analyze, design, expand};
use crate::flow::Phase;
use crate::ids::{BlobId, ChangeNumber, Digest};
use crate::ledger::record::Round;
use crate::policy::{Policy, Tier};
use crate::repo::{RepoPath, Written, written_over};

pub const SCOPE: &str = "scaffolding/scope.md";
pub const DESIGN: &str = "scaffolding/design.md";
pub const READINESS: &str = "scaffolding/readiness.md";
pub const LOG: &str = "scaffolding/log.md";
pub const PREFERENCES: &str = "preferences.md";
/// The folder of what the change was asked with.
pub const INPUT: &str = "docs/input";

/// The document that a phase produces.
pub fn document(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Expand => Some(SCOPE),
        Phase::Design => Some(DESIGN),
        Phase::Analyze => Some(READINESS),
        _ => None,
    }
}

/// What the gates read. What is not there is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Papers {
    pub scope: Option<Sheet>,
    pub design: Option<Sheet>,
    pub readiness: Option<Sheet>,
    pub log: Option<Sheet>,
    /// At the tip of the default branch: a change does not choose what it is held against.
    pub preferences: Option<Sheet>,
    /// The scope where the change began.
    pub base_scope: Option<Sheet>,
    /// The files below `docs/input` at the head.
    pub inputs: Vec<String>,
    /// The confirmed round that this change is the work of.
    pub round: Option<Followed>,
    /// The scope of the version before, where it is to be kept.
    pub kept: Option<Sheet>,
}

/// A round that a change says it is the work of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    Round(Box<Round>),
    /// That change has no confirmed round.
    Nothing(ChangeNumber),
}

impl Followed {
    /// Where the scope is to be kept that was delivered.
    pub fn keeps(&self) -> Option<String> {
        match self {
            Self::Round(round) => Some(format!("scaffolding/scope-v{}.md", round.version)),
            Self::Nothing(_) => None,
        }
    }
}

impl Papers {
    pub fn of(&self, phase: Phase) -> Option<&Sheet> {
        match phase {
            Phase::Expand => self.scope.as_ref(),
            Phase::Design => self.design.as_ref(),
            Phase::Analyze => self.readiness.as_ref(),
            _ => None,
        }
    }
}

/// A file as it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// `None` where it is no plain file, or too large to be read.
    pub blob: Option<BlobId>,
    pub document: Document,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    Text(String),
    /// Bytes that are no text: not UTF-8, or with a NUL.
    NotText,
    /// A link, a folder or another repository.
    NotAFile,
    TooLarge,
}

impl Document {
    pub fn of(bytes: Vec<u8>) -> Self {
        if bytes.len() > LARGEST {
            return Self::TooLarge;
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Self::Text(text),
            _ => Self::NotText,
        }
    }
}

impl Sheet {
    pub fn text(&self) -> Option<&str> {
        match &self.document {
            Document::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a digest that somebody wrote down is this file's.
    pub(super) fn is_digest(&self, digits: &str) -> bool {
        self.blob.as_ref().is_some_and(|blob| blob.as_str().starts_with(digits))
            || self.text().is_some_and(|text| Digest::of(text).as_str().starts_with(digits))
    }
}

/// A rule: what it looks for, and the step that it suggests.
pub struct Rule {
    pub id: &'static str,
    /// One sentence.
    pub about: &'static str,
    pub severity: Severity,
    pub check: fn(&Desk<'_>) -> Vec<Found>,
    /// What to do, where what was found does not say it better.
    pub next: &'static str,
}

/// One thing that breaks a rule.
#[derive(Debug, Default)]
pub struct Found {
    pub path: Option<String>,
    pub line: Option<u32>,
    pub says: String,
    pub next: Option<String>,
}

impl Found {
    /// Something that is not there, and so nowhere.
    pub(super) fn nowhere(says: impl Into<String>) -> Self {
        Self { says: says.into(), ..Self::default() }
    }

    pub(super) fn in_file(path: &str, says: impl Into<String>) -> Self {
        Self { path: Some(path.to_owned()), says: says.into(), ..Self::default() }
    }

    pub(super) fn at(path: &str, line: u32, says: impl Into<String>) -> Self {
        Self { path: Some(path.to_owned()), line: Some(line), says: says.into(), next: None }
    }

    #[must_use]
    pub(super) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

/// Everything that lies before a gate, read.
pub struct Desk<'p> {
    pub papers: &'p Papers,
    pub policy: &'p Policy,
    pub phase: Phase,
    pub scope: Option<Paper>,
    pub design: Option<Paper>,
    pub readiness: Option<Paper>,
    pub log: Option<Paper>,
    pub preferences: Option<Paper>,
    pub base_scope: Option<Paper>,
    /// What the document asks for, and at least what the policy does.
    pub tier: Tier,
}

impl<'p> Desk<'p> {
    fn new(phase: Phase, papers: &'p Papers, policy: &'p Policy) -> Self {
        let read = |sheet: &Option<Sheet>, names| {
            Paper::read(sheet.as_ref()?.text()?, names).ok().filter(|paper| !paper.is_blank())
        };
        let only = |phases: &[Phase], sheet, names| phases.contains(&phase).then(|| read(sheet, names)).flatten();
        let scope = read(&papers.scope, names::SCOPE);
        let named = scope.as_ref().and_then(expand::tier);
        Self {
            papers,
            policy,
            phase,
            tier: named.map_or(policy.tier, |tier| tier.max(policy.tier)),
            scope,
            design: only(&[Phase::Design, Phase::Analyze], &papers.design, names::DESIGN),
            readiness: only(&[Phase::Analyze], &papers.readiness, names::READINESS),
            log: only(&[Phase::Expand], &papers.log, &[]),
            preferences: only(&[Phase::Expand], &papers.preferences, names::PREFERENCES),
            base_scope: only(&[Phase::Expand], &papers.base_scope, names::SCOPE),
        }
    }

    /// The document that this gate is about.
    pub(super) fn paper(&self) -> Option<&Paper> {
        match self.phase {
            Phase::Expand => self.scope.as_ref(),
            Phase::Design => self.design.as_ref(),
            _ => self.readiness.as_ref(),
        }
    }
}

/// The rules of a gate, in their order.
pub fn rules(phase: Phase) -> &'static [Rule] {
    match phase {
        Phase::Expand => expand::RULES,
        Phase::Design => design::RULES,
        Phase::Analyze => analyze::RULES,
        _ => &[],
    }
}

/// What the gate of a phase finds in its documents.
pub fn judge(phase: Phase, papers: &Papers, policy: &Policy) -> Vec<Finding> {
    let desk = Desk::new(phase, papers, policy);
    let mut findings = Vec::new();
    for rule in rules(phase) {
        for found in (rule.check)(&desk) {
            let next = found.next.unwrap_or_else(|| rule.next.to_owned());
            let finding = Finding { severity: rule.severity, ..Finding::error(rule.id, found.says, next) };
            findings.push(match found.path {
                Some(path) => finding.at(path, found.line),
                None => finding,
            });
        }
        // What can't be read, or not as people see it, is told once, and not as a lack of everything.
        if rule.id.ends_with("-01") && (desk.paper().is_none() || !findings.is_empty()) {
            break;
        }
    }
    findings
}

/// What each gate finds, by its phase.
pub type Judged = BTreeMap<Phase, Vec<Finding>>;

/// What all three gates find.
pub fn judge_all(papers: &Papers, policy: &Policy) -> Judged {
    let phases = Phase::ALL.into_iter().filter(|phase| document(*phase).is_some());
    phases.map(|phase| (phase, judge(phase, papers, policy))).collect()
}

/// What each document gate's pass is bound to: its documents and those before them, by their digests, and whatever
/// would keep the gate from passing with them. So a line added to the log, or a preference that nobody goes against,
/// changes nothing, and an input file that scope does not name does.
///
/// A document that the bot has put right counts as it was before.
pub fn bound(papers: &Papers, judged: &Judged, bot: &Written) -> BTreeMap<Phase, Digest> {
    let mut read: Vec<String> = Vec::new();
    let mut all = BTreeMap::new();
    for (phase, path) in Phase::ALL.into_iter().filter_map(|phase| Some((phase, document(phase)?))) {
        let print = match papers.of(phase) {
            Some(Sheet { blob: Some(blob), .. }) => {
                let before = written_over(bot, &RepoPath::from(path), blob).flatten();
                before.as_ref().unwrap_or(blob).as_str().to_owned()
            }
            Some(Sheet { blob: None, .. }) => "unread".to_owned(),
            None => "absent".to_owned(),
        };
        read.push(format!("{path} {print}"));
        let errors = judged.get(&phase).into_iter().flatten().filter(|finding| finding.blocks());
        read.extend(errors.map(|finding| format!("{} {}", finding.rule, finding.says)));
        all.insert(phase, Digest::of_parts(&read));
    }
    all
}

/// The first rule of each gate: the document is there, and can be read.
pub(super) fn document_is_read(desk: &Desk<'_>) -> Vec<Found> {
    let Some(path) = document(desk.phase) else { return Vec::new() };
    let Some(sheet) = desk.papers.of(desk.phase) else {
        let say = desk.policy.commands.written(desk.phase.as_str());
        let found = Found::nowhere(format!("`{path}` does not exist."));
        return vec![found.next(format!("Write it and push; then say `{say}`."))];
    };
    let one = |says: String, next: &str| vec![Found::in_file(path, says).next(next)];
    let text = match &sheet.document {
        Document::NotText => {
            return one(format!("`{path}` is no text: it is not UTF-8, or has a NUL."), "Write it as text.");
        }
        Document::NotAFile => {
            return one(format!("`{path}` is no plain file."), "Make it one: links and folders are not read.");
        }
        Document::TooLarge => {
            let says = format!("`{path}` has more than {LARGEST} bytes; it is not read.");
            return one(says, "Shorten it: people have to read it too.");
        }
        Document::Text(text) => text,
    };
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
        return one(format!("`{path}` is empty."), "Write it and push.");
    }
    let paper = match Paper::read(text, &[]) {
        Err(unread) => {
            return one(format!("`{path}` {unread}; it is not read."), "Shorten it: people have to read it too.");
        }
        Ok(paper) if paper.is_blank() => {
            return one(format!("There is nothing to read in `{path}`."), "Write it and push.");
        }
        Ok(paper) => paper,
    };
    let turned = paper.turned().map(|line| {
        let says = "A character here turns the direction of writing: what people see is not what is judged.";
        Found::at(path, line, says).next("Remove it (U+202A to U+202E, U+2066 to U+2069).")
    });
    turned.collect()
}

/// Whether a finding of the first rule says that there is no such file: one that is there has its path.
pub fn is_absent(finding: &Finding) -> bool {
    ["EXP-01", "DSN-01", "ANL-01"].contains(&finding.rule.as_str()) && finding.path.is_none()
}

/// The second rule of each gate: every section of the document is there and says something.
pub(super) fn sections_have_content(desk: &Desk<'_>) -> Vec<Found> {
    let (Some(path), Some(paper)) = (document(desk.phase), desk.paper()) else { return Vec::new() };
    let mut found = Vec::new();
    for name in paper.names() {
        let none = if name.none { " `none` is an answer here." } else { "" };
        match paper.section(name.name) {
            None => {
                let one = Found::in_file(path, format!("The section “{}” is missing.", name.name));
                found.push(one.next(format!("Add a heading “{}” and write what belongs below it.{none}", name.name)));
            }
            Some(part) if !part.has_content(name.none) => {
                let one = Found::at(path, part.line, format!("The section “{}” says nothing.", name.name));
                found.push(one.next(format!("Write what belongs there, in place of what stands there for it.{none}")));
            }
            Some(_) => {}
        }
    }
    found
}

/// An item in a message: its beginning, on one line.
pub(in crate::gate) fn excerpt(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ").replace('`', "'");
    if line.chars().count() <= 60 {
        return line;
    }
    line.chars().take(59).chain(['…']).collect()
}

#[cfg(test)]
pub(crate) mod tests;
