//! BUILD reads what a change adds: whether it is what scope and design ask for, and fit to be kept.
//!
//! [`judge`] is a function of what was read ([`Site`] and [`Papers`]) and the policy. That it compiles and that its tests pass is
//! not seen here: that is told by the checks that the policy names, and by `phasegate run build`. `docs/gates.md` says what each
//! rule looks for.

mod brake;
mod cases;
pub(super) mod code;
pub(super) mod covered;
pub(super) mod criteria;
mod locks;
mod placeholder;
mod read;
mod secrets;
pub(super) mod structure;

pub use read::{is_manifest, look, site, unseen};
pub(crate) use secrets::{is_lock, is_one as is_secret};

use std::collections::{BTreeMap, BTreeSet};

use super::paper::{Paper, names};
use super::papers::{Found, Papers};
use super::{Finding, Severity, expand};
use crate::ledger::snapshot::FOLDER;
use crate::policy::Policy;

/// What a change adds, and what of the rest the rules ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Site {
    /// The text files that the change adds or changes.
    pub files: Vec<Touched>,
    /// Files that it leaves as they are, and that tell something.
    pub beside: Vec<(String, String)>,
    /// The paths that were not there before, of whatever kind.
    pub added: BTreeSet<String>,
    /// Of these, those that were only moved, with the same content or most of it; and how many files the change takes away.
    pub moved: BTreeSet<String>,
    pub removed: usize,
    /// Files of the project's record that the change takes away, and that are nowhere else below it.
    pub lost: BTreeSet<String>,
    /// Of the paths that the design names, those that are there.
    pub there: BTreeSet<String>,
    /// Manifests that the change touches itself or by their locks, and all that is there of locks and manifests that they need;
    /// `None` for what is no text.
    pub manifests: BTreeSet<String>,
    pub locks: BTreeMap<String, Option<String>>,
    /// The same manifests where the change began.
    pub manifests_before: BTreeMap<String, String>,
    /// Files that the change adds or changes and that are no text: only what has the form of a secret is looked for there.
    pub opaque: Vec<Touched>,
    /// Files of the change that are too large to be looked through.
    pub unread: Vec<String>,
    /// Links of the change that are called like a source. What they lead to is not followed.
    pub links: Vec<String>,
    /// There is more than is looked through at all.
    pub more: bool,
}

/// A text file that the change adds or changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    pub path: String,
    pub text: String,
    /// Of each line, whether the change added it.
    pub lines: Vec<bool>,
    /// How many lines it had before; `None` where it was not there.
    pub lines_before: Option<usize>,
}

impl Touched {
    /// A file that was not there before.
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            lines: vec![true; text.split('\n').count()],
            lines_before: None,
        }
    }
}

impl Site {
    /// The text of a file, where it was read.
    fn text(&self, path: &str) -> Option<&str> {
        let touched = self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
        touched.or_else(|| self.beside.iter().find(|(own, _)| own == path).map(|(_, text)| text.as_str()))
    }

    /// Every file that was read.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let touched = self.files.iter().map(|file| (file.path.as_str(), file.text.as_str()));
        touched.chain(self.beside.iter().map(|(path, text)| (path.as_str(), text.as_str())))
    }
}

/// A rule, in the manner of those that read documents.
pub struct Rule {
    pub id: &'static str,
    /// One sentence.
    pub about: &'static str,
    pub severity: Severity,
    pub check: fn(&Bench<'_>) -> Vec<Found>,
    /// What to do, where what was found does not say it better.
    pub next: &'static str,
}

/// Everything that lies before the gate, read.
pub struct Bench<'p> {
    pub site: &'p Site,
    pub policy: &'p Policy,
    pub scope: Option<Paper>,
    pub design: Option<Paper>,
    pub readiness: Option<Paper>,
}

impl<'p> Bench<'p> {
    pub(super) fn new(site: &'p Site, papers: &Papers, policy: &'p Policy) -> Self {
        Self {
            site,
            policy,
            scope: paper(papers.scope.as_ref(), names::SCOPE),
            design: design(papers),
            readiness: paper(papers.readiness.as_ref(), names::READINESS),
        }
    }
}

/// The rules of the gate that look into the content, in their order.
pub const RULES: &[Rule] = &[
    Rule {
        id: "BLD-03",
        about: "Each criterion of scope has a test that names it, runs and looks at something.",
        severity: Severity::Error,
        check: criteria::unnamed,
        next: "Write a test for it with its identifier in the test's name or text (`test_ac_1_…`, `it(\"AC-1: …\")`), and push.",
    },
    Rule {
        id: "BLD-03",
        about: "The tests that readiness links a criterion to are there.",
        severity: Severity::Warning,
        check: criteria::astray,
        next: "Write the test where readiness says that it is, or say there where it is.",
    },
    Rule {
        id: "BLD-04",
        about: "No secret stands in what the change adds.",
        severity: Severity::Error,
        check: secret,
        next: "Take it out, make it worthless where it is used (it is in the history now), and read it from the environment.",
    },
    Rule {
        id: "BLD-04",
        about: "Everything that the change adds was looked through.",
        severity: Severity::Warning,
        check: unread,
        next: "Look through it yourself.",
    },
    Rule {
        id: "BLD-05",
        about: "Somebody looks whether a dependency has a known hole.",
        severity: Severity::Warning,
        check: unaudited,
        next: "Name the command that tells under `gates.build.audit` in the policy (`cargo audit`, `npm audit`, `pip-audit`, …), \
               or let a check that the policy names do it.",
    },
    Rule {
        id: "BLD-06",
        about: "What has dependencies has a lock file that is in step.",
        severity: Severity::Error,
        check: unlocked,
        next: "Commit the lock file that its tool writes.",
    },
    Rule {
        id: "BLD-07",
        about: "The tree is the one that the design draws.",
        severity: Severity::Error,
        check: structure::differs,
        next: "Move it to where the design has it, or write it into the design's Directory Structure and say `/design`.",
    },
    Rule {
        id: "BLD-08",
        about: "Nothing that the change adds only holds a place.",
        severity: Severity::Error,
        check: held,
        next: "Write what it is to do, or take it out; what is meant to do nothing says so in a comment.",
    },
    Rule {
        id: "BLD-09",
        about: "What the project was asked with and planned by stays.",
        severity: Severity::Error,
        check: lost,
        next: "Bring it back: later rounds and whoever asks why rest on it. What is out of date may say so in its text.",
    },
];

/// The complexity brake. Its findings are shown like warnings; a run that would count pulls it instead, and then nothing is
/// counted ([`concerns`]).
pub const BRAKE: &[Rule] = &[
    Rule {
        id: "BRK-01",
        about: "The change adds no more files than its design lets expect.",
        severity: Severity::Warning,
        check: brake::too_many_files,
        next: "Build less, or design what it takes. Otherwise the complexity brake is pulled, and a person decides.",
    },
    Rule {
        id: "BRK-02",
        about: "No source file outgrows what one can read at once.",
        severity: Severity::Warning,
        check: brake::too_long,
        next: "Split it. Otherwise the complexity brake is pulled, and a person decides.",
    },
    Rule {
        id: "BRK-04",
        about: "Each dependency that is added is named by the design.",
        severity: Severity::Warning,
        check: brake::undesigned,
        next: "Do without it, or say in the design why it is needed. Otherwise the complexity brake is pulled, and a person decides.",
    },
];

/// What pulls the brake among a gate's findings, each as it is remembered once a person has decided.
pub fn concerns(findings: &[Finding]) -> BTreeSet<String> {
    let brake = findings.iter().filter(|finding| BRAKE.iter().any(|rule| rule.id == finding.rule));
    let place = |finding: &Finding| finding.path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default();
    brake.map(|finding| format!("{} {}{}", finding.rule, place(finding), finding.says)).collect()
}

/// Whether a person has decided on what pulls the brake, or on more of the same.
pub fn is_decided(concern: &str, decided: &BTreeSet<String>) -> bool {
    brake::is_decided(concern, decided)
}

/// `BLD-04`. What was found is never shown, only where.
fn secret(bench: &Bench<'_>) -> Vec<Found> {
    let allowed = crate::policy::globs(&bench.policy.secrets.allow).ok();
    let is_allowed = |path: &str| allowed.as_ref().is_some_and(|globs| globs.is_match(path));
    let mut found = Vec::new();
    for file in bench.site.files.iter().filter(|file| !is_allowed(&file.path)) {
        for leak in secrets::leaks(&file.path, &file.text, &file.lines) {
            let says = format!("What stands here looks like a secret (`{}`).", leak.rule);
            found.push(Found::at(&file.path, leak.line, says));
        }
    }
    for file in bench.site.opaque.iter().filter(|file| !is_allowed(&file.path)) {
        // A line of what is no text leads nowhere.
        if let Some(leak) = secrets::forms(&file.path, &file.text, &file.lines).first() {
            let says = format!("What stands in this file, which is no text, looks like a secret (`{}`).", leak.rule);
            found.push(Found::in_file(&file.path, says));
        }
    }
    for path in bench.site.added.iter().filter(|path| !is_allowed(path)) {
        if let Some(rule) = secrets::is_key_store(path) {
            found.push(Found::in_file(path, format!("This is a store of keys (`{rule}`).")));
        }
    }
    if bench.site.more {
        let says = "The change is larger than what is looked through for secrets.";
        found.push(Found::nowhere(says).next("Split it into smaller changes."));
    }
    found
}

fn unread(bench: &Bench<'_>) -> Vec<Found> {
    let says = "This file is too large to be looked through for secrets and placeholders.";
    let large = bench.site.unread.iter().map(|path| Found::in_file(path, says));
    let says = "This is a link with the name of a source, and what it leads to was not looked through.";
    let next = "Commit the file itself, or look at where it leads.";
    large.chain(bench.site.links.iter().map(|path| Found::in_file(path, says).next(next))).collect()
}

/// `BLD-06`.
fn unlocked(bench: &Bench<'_>) -> Vec<Found> {
    let there: locks::There<'_> =
        bench.site.locks.iter().map(|(path, text)| (path.as_str(), text.as_deref())).collect();
    let mut found = Vec::new();
    for path in &bench.site.manifests {
        let Some(Some(text)) = bench.site.locks.get(path) else { continue };
        for loose in locks::loose(path, text, &there) {
            let one = Found { path: Some(path.clone()), line: loose.line, says: loose.says, next: Some(loose.next) };
            found.push(one);
        }
    }
    found
}

/// `BLD-05`. What was found is told by whoever runs the audit; here, that nobody is asked to.
fn unaudited(bench: &Bench<'_>) -> Vec<Found> {
    if !bench.policy.gates.build.audit.is_empty() {
        return Vec::new();
    }
    let there: locks::There<'_> =
        bench.site.locks.iter().map(|(path, text)| (path.as_str(), text.as_deref())).collect();
    let has_some = |path: &&String| {
        let text = bench.site.locks.get(*path).and_then(Option::as_deref);
        text.is_some_and(|text| locks::runtime(path, text, &there).iter().any(|one| !one.indirect))
    };
    let first = bench.site.manifests.iter().find(has_some);
    let says = "Whether a dependency has a known hole is unknown: the policy names no audit.";
    first.map(|path| Found::in_file(path, says)).into_iter().collect()
}

/// `BLD-08`.
fn held(bench: &Bench<'_>) -> Vec<Found> {
    let bases = placeholder::bases(bench.site.texts());
    let mut found = Vec::new();
    for file in &bench.site.files {
        for held in placeholder::held(&file.path, &file.text, &file.lines, &bases) {
            let one = Found::at(&file.path, held.line, format!("This only holds a place: {}.", held.what));
            // A comment excuses what is empty, not what says itself that it is missing.
            let empty = held.what.starts_with("an empty") || held.what.starts_with("a docstring");
            found.push(if empty { one } else { one.next("Write what it is to do, or take it out.") });
        }
    }
    found
}

/// `BLD-09`.
fn lost(bench: &Bench<'_>) -> Vec<Found> {
    let says = |path: &String| Found::in_file(path, format!("`{path}` is deleted by the change."));
    bench.site.lost.iter().map(says).collect()
}

fn paper(sheet: Option<&super::papers::Sheet>, names: &'static [super::paper::names::Name]) -> Option<Paper> {
    Paper::read(sheet?.text()?, names).ok().filter(|paper| !paper.is_blank())
}

/// The design, where there is one that can be read.
pub(super) fn design(papers: &Papers) -> Option<Paper> {
    paper(papers.design.as_ref(), names::DESIGN)
}

/// What the gate finds in what the change adds.
pub fn judge(site: &Site, papers: &Papers, policy: &Policy) -> Vec<Finding> {
    let bench = Bench::new(site, papers, policy);
    let mut findings = Vec::new();
    for rule in RULES.iter().chain(BRAKE) {
        for found in (rule.check)(&bench) {
            let next = found.next.unwrap_or_else(|| rule.next.to_owned());
            let finding = Finding { severity: rule.severity, ..Finding::error(rule.id, found.says, next) };
            findings.push(match found.path {
                Some(path) => finding.at(path, found.line),
                None => finding,
            });
        }
    }
    findings
}

/// Whether a path is one of the papers: where nothing else is touched, nothing is built yet.
pub fn is_paper(path: &str) -> bool {
    path.starts_with("scaffolding/") || path.starts_with("docs/") || path.starts_with(FOLDER)
}

/// Whether a file is a source that somebody wrote, by its name: no tool makes it anew.
pub fn is_written_by_hand(path: &str) -> bool {
    const MADE: [&str; 9] =
        ["dist", "build", "out", "target", "generated", "gen", "coverage", "public", "site-packages"];
    const MARKS: [&str; 6] = [".min.", ".generated.", ".g.", "_pb2", ".pb.", "bundle."];
    let name = path.rsplit('/').next().unwrap_or(path);
    code::Language::of(path).is_some()
        && !is_vendored(path)
        && !path.split('/').any(|part| MADE.contains(&part))
        && !MARKS.iter().any(|mark| name.contains(mark))
}

/// What somebody else's project has.
pub(super) fn is_vendored(path: &str) -> bool {
    const OTHERS: &[&str] = &["node_modules", "vendor", "third_party", "fixtures", "testdata"];
    path.split('/').any(|part| OTHERS.contains(&part))
}

/// The identifiers of scope with the lines that they stand on.
pub(super) fn wanted(scope: Option<&Paper>) -> Vec<(String, u32)> {
    let mut seen = BTreeSet::new();
    let all = scope.map(expand::criteria).unwrap_or_default();
    let named = all.into_iter().filter_map(|(id, item)| Some((id?, item.line)));
    named.filter(|(id, _)| seen.insert(id.clone())).take(MOST_CRITERIA).collect()
}

/// More criteria than these are not looked for.
const MOST_CRITERIA: usize = 200;

#[cfg(test)]
pub(crate) mod tests;
