//! What a change remembers: its latest snapshot, and what the next one follows from.
//!
//! Like the rest of the state it is the fold of the records. A counted gate run makes the next snapshot by itself, and so does
//! each record that says something of the slice, its scope or its context. The file of a snapshot is written in the commit of
//! the record that made it, and nothing is read back from it: somebody who edits one edits a copy.

mod context;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::record::{Body, By, Outcome, Record};
use super::snapshot::{
    self, Action, Cap, FAILS_THAT_ASK, Fact, FactId, Fails, Gates, IssueId, Kind, LARGEST, LONGEST, MOST_FACTS,
    MOST_ISSUES, Open, Resolved, SliceId, Snapshot, line,
};
use super::state::State;
use crate::finding::{Finding, GateName, Verdict, only_waiting};
use crate::flow::{FlowName, Phase};
use crate::ids::{BlobId, ChangeNumber, Digest};
use crate::repo::{RepoPath, Written, blob_of};

pub use context::{Begun, Decided, Given, MOST_BEFORE, Source, said};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub latest: Snapshot,
    /// What the issues that gates opened are known again by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub watched: BTreeMap<IssueId, Watched>,
    /// The highest numbers that were given so far.
    #[serde(default)]
    pub last_fact: u32,
    #[serde(default)]
    pub last_issue: u32,
    #[serde(default)]
    pub last_slice: u32,
    /// A verifier's audit that is asked for, or handed in and not yet taken to heart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// The FAILs in a row that the last audit was about. One more asks for another.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub audited: Fails,
    /// What the last audit that was asked for brought, and somebody has drawn from it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub concluded: BTreeSet<FactId>,
    /// The gate whose row of FAILs that one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concluded_of: Option<Kind>,
    /// The latest phase whose gate is in the row of FAILs of the iteration gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<Phase>,
    /// What was said last about how to go on after a FAIL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Laddered>,
    /// The content that the exit gate was last passed with, while it has not failed since. A check that runs again on the same
    /// content passes nothing anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Digest>,
    /// What the context has by records: what people decided, what the scope asks for. It stays there as it was given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<FactId, Given>,
    /// What stands in the evidence by a record, and not because an agent wrote it there: it stays until the next of its kind.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub kept: BTreeSet<FactId>,
    /// What tells of the work that was there before the slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FactId>,
    /// The files of agents that were taken in: what each was then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub taken: BTreeMap<u32, BlobId>,
    /// The snapshots as they were written: what git names each by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub written: BTreeMap<u32, BlobId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_none_yet(fails: &Fails) -> bool {
    !fails.any()
}

/// An issue that a gate opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    pub gate: GateName,
    /// The rule and the file.
    pub place: String,
    /// What was found there, but for commits.
    pub says: String,
}

/// A verifier's audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Why it is asked for; none where somebody handed one in unasked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Kind>,
    /// The slice, and the FAILs in a row that it is about.
    pub slice_id: SliceId,
    pub fails: Fails,
    /// The record that asked for it.
    pub since: u64,
    /// The facts of its report, once that is in the evidence.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub facts: BTreeSet<FactId>,
}

/// How somebody means to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Laddered {
    pub action: Action,
    pub reason: String,
    pub by: By,
    /// The snapshot in which it was first said.
    pub iteration: u32,
    /// Whether it was said after an audit, and cites what that brought.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grounded: bool,
    /// What says so in the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<FactId>,
}

/// A snapshot of an agent's, taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The file that it came in.
    pub blob: BlobId,
    pub slice_id: SliceId,
    pub slice: String,
    pub cap: Cap,
    pub evidence: Vec<Fact>,
    pub context: Vec<Fact>,
    pub open: Vec<Open>,
    pub resolved: Vec<Resolved>,
    /// What of its evidence is the report of the audit that was owed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub report: BTreeSet<FactId>,
    /// Where a slice begins with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Begun>,
}

/// What another change of the same work hands down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handed {
    pub slice_id: SliceId,
    pub slice: String,
    pub cap: Cap,
    pub fails: Fails,
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub audited: Fails,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// What people decided about the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<Decided>,
    /// What agents have left open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Open>,
}

/// A gate run that counts for a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    kind: Kind,
    gate: GateName,
    verdict: Verdict,
}

/// The gates of a slice in this flow, by name.
pub fn gates_of(flow: FlowName) -> Gates {
    match flow {
        FlowName::Merge => Gates { iteration: Vec::new(), exit: vec!["merge".to_owned()] },
        FlowName::Task => Gates { iteration: vec!["task".to_owned()], exit: vec!["merge".to_owned()] },
        FlowName::Pipeline => {
            let names = |of: &dyn Fn(Phase) -> bool| {
                Phase::ALL.into_iter().filter(|phase| of(*phase)).map(|phase| phase.as_str().to_owned()).collect()
            };
            let exit = |phase: Phase| matches!(phase, Phase::Review | Phase::Verify);
            Gates { iteration: names(&|phase| phase != Phase::Verify), exit: names(&exit) }
        }
    }
}

/// Which of a slice's gates a phase's verdict is one of. Review and verify are the exit together: either fails it, and it has
/// passed when verify has.
fn kind_of(phase: Phase, verdict: Verdict) -> Kind {
    match (phase, verdict) {
        (Phase::Verify, _) | (Phase::Review, Verdict::Fail) => Kind::Exit,
        _ => Kind::Iteration,
    }
}

/// Whether somebody can draw anything from an entry of a report: it says more than its verdict, and more than `none`.
pub fn concludes(entry: &str) -> bool {
    let lower = entry.to_ascii_lowercase();
    let said = lower.split_once(": ").map_or(lower.as_str(), |(_, said)| said);
    !lower.starts_with("audit, verdict:") && !is_nothing(said)
}

/// Whether an entry of a report only says that there is nothing to say.
pub fn is_nothing(said: &str) -> bool {
    #[rustfmt::skip]
    const NOTHING: [&str; 29] = [
        "none", "n/a", "na", "no", "nil", "nothing", "not applicable", "unknown", "tbd", "todo", "none found", "none at all",
        "none were found", "nothing found", "nothing was found", "there are none", "there is none", "there were none",
        "no mismatch", "no mismatches", "all criteria are met", "all criteria met", "all acceptance criteria are met",
        "all acceptance criteria met", "all gates are met", "all gates pass", "everything is met", "all is met", "all met",
    ];
    // How sure somebody is of nothing is nothing.
    let said = said.split("(confidence").next().unwrap_or_default();
    let bare = said.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    bare.is_empty() || NOTHING.contains(&bare.as_str())
}

/// What stands for a slice that nobody has put into words.
fn unsaid(change: ChangeNumber) -> String {
    format!("What {change} is about; nobody has said it in words yet.")
}

/// Whether somebody has said what a slice is. A change keeps what was said of it under another number.
fn is_said(slice: &str) -> bool {
    let number =
        slice.strip_prefix("What #").and_then(|rest| rest.split(' ').next()).and_then(|word| word.parse().ok());
    number.is_none_or(|number| slice != unsaid(ChangeNumber(number)))
}

/// The longest text of an issue that a gate opens.
const LONGEST_ISSUE: usize = 300;
/// So much room is left for a verifier's report, in bytes.
pub const ROOM: usize = 8 * 1024;
/// So many issues does one gate open.
const MOST_OF_A_GATE: usize = 20;

/// Words of others in an issue: the marks that an issue ends with are ours.
fn unmarked(text: &str, longest: usize) -> String {
    let text = line(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let marks = ["next action:", "closed by:"];
    while let Some((at, mark)) =
        marks.iter().filter_map(|mark| Some((rest.to_ascii_lowercase().find(mark)?, mark))).min_by_key(|(at, _)| *at)
    {
        let end = at + mark.len();
        out.push_str(&rest[..end - 1]);
        rest = &rest[end..];
    }
    out.push_str(rest);
    if out.chars().count() <= longest { out } else { out.chars().take(longest - 1).chain(['…']).collect() }
}

/// What an issue says that a gate opens.
fn text_of(gate: GateName, finding: &Finding) -> String {
    let place = finding.path.as_deref().map(|path| format!(" {path}:")).unwrap_or_default();
    unmarked(&format!("{gate} {}{place} {}", finding.rule, finding.says), LONGEST_ISSUE)
}

/// A failure is known again on another head: what names a commit is no part of it.
fn without_commits(says: &str) -> String {
    let commit = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        bare.len() >= 7 && bare.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let words = says.split_whitespace().filter(|word| !commit(word));
    words.collect::<Vec<_>>().join(" ").chars().take(LONGEST_ISSUE).collect()
}

impl Memory {
    /// The first snapshot of a change: nobody has said yet what it is to be, so nothing is in its scope.
    fn begin(change: ChangeNumber, flow: FlowName) -> Self {
        let latest = Snapshot {
            iteration: 1,
            parent: None,
            slice_id: SliceId(1),
            slice: unsaid(change),
            cap: Cap::undeclared(),
            gates: gates_of(flow),
            last: None,
            fails: Fails::default(),
            evidence: Vec::new(),
            context: Vec::new(),
            open: Vec::new(),
            resolved: Vec::new(),
        };
        Self {
            latest,
            watched: BTreeMap::new(),
            last_fact: 0,
            last_issue: 0,
            last_slice: 1,
            audit: None,
            audited: Fails::default(),
            concluded: BTreeSet::new(),
            concluded_of: None,
            row: None,
            ladder: None,
            passed: None,
            given: BTreeMap::new(),
            kept: BTreeSet::new(),
            before: None,
            taken: BTreeMap::new(),
            written: BTreeMap::new(),
        }
    }

    /// Whether somebody has said what the slice may touch.
    pub fn is_declared(&self) -> bool {
        self.latest.cap.is_declared()
    }

    /// The files of agents that were taken in and say to the byte what the bot wrote then.
    pub fn pushed_as_written(&self) -> BTreeMap<u32, BlobId> {
        let same = self.taken.iter().filter(|(number, blob)| self.written.get(number) == Some(blob));
        same.map(|(number, blob)| (*number, blob.clone())).collect()
    }

    /// Whether somebody has said what the slice is.
    pub fn is_said(&self) -> bool {
        is_said(&self.latest.slice)
    }

    /// Turns a leaf: the next snapshot, with everything carried forward.
    fn turn(&mut self, flow: FlowName) -> &mut Snapshot {
        let latest = &mut self.latest;
        latest.parent = Some(latest.iteration);
        latest.iteration += 1;
        latest.gates = gates_of(flow);
        latest.resolved.clear();
        latest
    }

    /// Nothing of the slice before counts for the one that begins.
    fn anew(&mut self) {
        self.audited = Fails::default();
        self.concluded.clear();
        self.concluded_of = None;
        self.kept.clear();
        self.row = None;
        self.unsay();
    }

    /// How it goes on is not said any more: there is something else to go on after.
    fn unsay(&mut self) {
        if let Some(fact) = self.ladder.take().and_then(|ladder| ladder.fact) {
            self.latest.evidence.retain(|one| one.id != fact);
        }
    }

    /// Somebody says how it goes on after a FAIL: in the issues that gates opened, and with the reason as evidence, so that who
    /// reads nothing else knows it.
    fn say(&mut self, action: Action, reason: &str, by: &By, grounded: bool, told: Option<u64>) {
        self.unsay();
        for issue in &mut self.latest.open {
            if self.watched.contains_key(&issue.id) {
                issue.action = action;
            }
        }
        let fact = told.map(|seq| {
            let who = match by {
                By::Person { person, .. } => person.login.as_str(),
                By::Bot | By::Workflow(_) | By::Runner(_) => "the bot",
            };
            let says = format!("After the FAIL it goes on by {}, {who} says (record {seq}): {reason}", action.step());
            let id = self.next_fact();
            self.latest.evidence.push(Fact { id, text: snapshot::without_mark(&unmarked(&says, LONGEST)) });
            id
        });
        let (reason, by, iteration) = (reason.to_owned(), by.clone(), self.latest.iteration);
        self.ladder = Some(Laddered { action, reason, by, iteration, grounded, fact });
    }

    fn next_fact(&mut self) -> FactId {
        self.last_fact += 1;
        FactId(self.last_fact)
    }

    /// Whether an audit is asked for whose conclusions are not in the context yet.
    pub fn is_held(&self) -> bool {
        self.audit.as_ref().is_some_and(|audit| audit.asked.is_some())
    }

    fn run(&mut self, run: Run, findings: &[Finding], by: &str, seq: u64, flow: FlowName) {
        let Run { kind, gate, verdict } = run;
        let latest = self.turn(flow);
        latest.last = Some((kind, verdict));
        // A row of a later phase's gate does not end because an earlier one was passed again.
        let phase = match (kind, gate) {
            (Kind::Iteration, GateName::Phase(phase)) => Some(phase),
            _ => None,
        };
        let crossed_again = verdict == Verdict::Pass && phase.is_some() && phase < self.row;
        let latest = &mut self.latest;
        if !crossed_again {
            latest.fails = latest.fails.after(kind, verdict);
        }
        let fails = latest.fails;
        match (phase, verdict) {
            (Some(_), Verdict::Fail) => self.row = self.row.max(phase),
            (Some(_), Verdict::Pass) if !crossed_again => self.row = None,
            _ => {}
        }
        self.issues(gate, verdict, findings, by, fails.of(kind));
        if verdict == Verdict::Pass && !crossed_again {
            match kind {
                Kind::Iteration => self.audited.iteration = 0,
                Kind::Exit => self.audited.exit = 0,
            }
            // What an audit brought is about the row that it was asked for.
            if self.concluded_of.is_none_or(|of| of == kind) {
                self.concluded.clear();
                self.concluded_of = None;
            }
        }
        if verdict == Verdict::Fail || !fails.any() {
            self.unsay();
        }
        let due = fails.of(kind) >= FAILS_THAT_ASK && fails.of(kind) > self.audited.of(kind);
        // One that was handed in unasked, and nobody has drawn anything from, stands in for none.
        if verdict == Verdict::Fail && due && !self.is_held() {
            let slice_id = self.latest.slice_id;
            self.audit = Some(Audit { asked: Some(kind), slice_id, fails, since: seq, facts: BTreeSet::new() });
        }
    }

    /// The issues of a gate, by what it found: those that it does not find any more are resolved. A failure is known again by its
    /// words; where only one is left of a rule in a file on both sides, by that alone.
    fn issues(&mut self, gate: GateName, verdict: Verdict, findings: &[Finding], by: &str, fails: u32) {
        let mut found: Vec<(Watched, &Finding)> = Vec::new();
        for finding in
            findings.iter().filter(|finding| verdict == Verdict::Fail && finding.blocks() && !finding.waiting)
        {
            let place = format!("{} {}", finding.rule, finding.path.as_deref().unwrap_or_default());
            let watched = Watched { gate, place, says: without_commits(&finding.says) };
            if found.len() < MOST_OF_A_GATE && !found.iter().any(|(known, _)| *known == watched) {
                found.push((watched, finding));
            }
        }
        let mut before: Vec<(IssueId, Watched)> =
            self.watched.iter().filter(|(_, one)| one.gate == gate).map(|(id, one)| (*id, one.clone())).collect();
        let mut same: Vec<(IssueId, Watched, &Finding)> = Vec::new();
        found.retain(|(watched, finding)| match before.iter().position(|(_, one)| one == watched) {
            Some(at) => {
                same.push((before.remove(at).0, watched.clone(), *finding));
                false
            }
            None => true,
        });
        let alone = |place: &str, all: &mut dyn Iterator<Item = &str>| all.filter(|one| *one == place).count() == 1;
        let places: Vec<String> = found.iter().map(|(watched, _)| watched.place.clone()).collect();
        found.retain(|(watched, finding)| {
            let at = before.iter().position(|(_, one)| one.place == watched.place);
            let one_each = alone(&watched.place, &mut places.iter().map(String::as_str))
                && alone(&watched.place, &mut before.iter().map(|(_, one)| one.place.as_str()));
            match at.filter(|_| one_each) {
                Some(at) => {
                    same.push((before.remove(at).0, watched.clone(), *finding));
                    false
                }
                None => true,
            }
        });
        for (id, watched, finding) in same {
            if let Some(issue) = self.latest.open.iter_mut().find(|issue| issue.id == id) {
                issue.action = issue.action.max(Action::after(fails));
                issue.text = text_of(gate, finding);
            }
            self.watched.insert(id, watched);
        }
        for (id, _) in before {
            self.watched.remove(&id);
            let Some(at) = self.latest.open.iter().position(|issue| issue.id == id) else { continue };
            let Open { id, text, .. } = self.latest.open.remove(at);
            self.latest.resolved.push(Resolved { id, text, by: by.to_owned() });
        }
        for (watched, finding) in found {
            if self.latest.open.len() >= MOST_ISSUES {
                break;
            }
            self.last_issue += 1;
            let id = IssueId(self.last_issue);
            self.latest.open.push(Open { id, text: text_of(gate, finding), action: Action::Fix });
            self.watched.insert(id, watched);
        }
    }

    /// Whether there is room for all of a report beside what plans rest on.
    pub fn has_room_for(&self, report: &[String]) -> bool {
        let mut with = self.clone();
        with.latest.iteration += 1;
        with.latest.evidence.clear();
        with.latest.resolved.clear();
        with.report(report, 0);
        let entries = with.latest.evidence.len();
        with.fit();
        with.latest.evidence.len() == entries
    }

    /// Takes a report in as evidence.
    fn report(&mut self, lines: &[String], seq: u64) {
        let mut facts = BTreeSet::new();
        for text in lines {
            let id = self.next_fact();
            let text: String = line(text).chars().take(LONGEST).collect();
            let text = text.trim_end().to_owned();
            if concludes(&text) {
                facts.insert(id);
            }
            self.latest.evidence.push(Fact { id, text });
        }
        self.reported(facts, seq);
    }

    /// These facts are what a verifier reports.
    fn reported(&mut self, facts: BTreeSet<FactId>, since: u64) {
        let (slice_id, fails) = (self.latest.slice_id, self.latest.fails);
        let none = || Audit { asked: None, slice_id, fails, since, facts: BTreeSet::new() };
        self.kept.clone_from(&facts);
        self.audit.get_or_insert_with(none).facts = facts;
    }

    fn take(&mut self, taken: &Taken, flow: FlowName) {
        let number = {
            let fails = self.latest.fails;
            let latest = self.turn(flow);
            if latest.slice_id != taken.slice_id {
                latest.fails = Fails::default();
                latest.last = None;
            } else {
                latest.fails = fails;
            }
            latest.slice_id = taken.slice_id;
            latest.slice.clone_from(&taken.slice);
            latest.cap = taken.cap.clone();
            latest.evidence.clone_from(&taken.evidence);
            latest.context.clone_from(&taken.context);
            latest.open.clone_from(&taken.open);
            latest.resolved.clone_from(&taken.resolved);
            latest.iteration
        };
        if self.latest.slice_id.0 > self.last_slice {
            self.anew();
        }
        self.last_slice = self.last_slice.max(self.latest.slice_id.0);
        let facts = taken.evidence.iter().chain(&taken.context).map(|fact| fact.id.0);
        self.last_fact = facts.chain([self.last_fact]).max().unwrap_or_default();
        let issues = taken.open.iter().map(|issue| issue.id.0).chain(taken.resolved.iter().map(|issue| issue.id.0));
        self.last_issue = issues.chain([self.last_issue]).max().unwrap_or_default();
        let open: BTreeSet<IssueId> = taken.open.iter().map(|issue| issue.id).collect();
        self.watched.retain(|id, _| open.contains(id));
        self.taken.insert(number, taken.blob.clone());
        if let Some(audit) = self.audit.as_mut().filter(|_| !taken.report.is_empty()) {
            audit.facts.clone_from(&taken.report);
            self.kept.clone_from(&taken.report);
        }
        self.conclude();
    }

    /// An audit is taken to heart when one of its facts is in the context or cited there, or stands as an unknown among the issues.
    fn conclude(&mut self) {
        let latest = &self.latest;
        let texts = latest.open.iter().map(|issue| &issue.text).chain(latest.context.iter().map(|fact| &fact.text));
        let cited: BTreeSet<FactId> = texts.flat_map(|text| snapshot::cited(text)).collect();
        let drawn = |audit: &mut Audit| audit.facts.iter().any(|id| latest.is_consolidated(*id) || cited.contains(id));
        if let Some(audit) = self.audit.take_if(drawn).filter(|audit| audit.asked.is_some()) {
            self.concluded.clone_from(&audit.facts);
            self.concluded_of = audit.asked;
            self.audited = Fails {
                iteration: self.audited.iteration.max(audit.fails.iteration),
                exit: self.audited.exit.max(audit.fails.exit),
            };
        }
    }
}

impl State {
    /// The latest snapshot.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.memory.as_ref().map(|memory| &memory.latest)
    }

    /// Whether it is asked how it goes on after a FAIL, and nobody has said so.
    pub fn step_asked(&self) -> bool {
        let memory = self.memory.as_ref().filter(|_| self.open && self.audit_owed().is_none());
        memory.is_some_and(|memory| {
            memory.ladder.is_none() && memory.latest.last.is_some_and(|(_, verdict)| verdict == Verdict::Fail)
        })
    }

    /// The audit that is owed. After the merge there is nothing left to keep anybody from.
    pub fn audit_owed(&self) -> Option<&Audit> {
        let memory = self.memory.as_ref().filter(|memory| self.merged.is_none() && memory.is_held())?;
        memory.audit.as_ref()
    }

    /// The gate run that a record is, if it is one that counts for the slice. Asked before the record is applied: afterwards
    /// nobody knows whether it was claimed.
    pub(super) fn gate_run(&self, record: &Record) -> Option<Run> {
        let Body::Judged { gate, verdict, claimed, findings, .. } = &record.body else { return None };
        match gate {
            GateName::Phase(phase) => {
                claimed.map(|_| Run { kind: kind_of(*phase, *verdict), gate: *gate, verdict: *verdict })
            }
            GateName::Task => claimed.map(|_| Run { kind: Kind::Iteration, gate: *gate, verdict: *verdict }),
            GateName::Merge if matches!(self.flow, FlowName::Merge | FlowName::Task) => {
                let about = record.about.as_ref()?;
                let passed = self.memory.as_ref().and_then(|memory| memory.passed.as_ref());
                let counts = match verdict {
                    Verdict::Pass => passed != Some(&about.content),
                    // A push is looked at, not judged.
                    Verdict::Fail => self.claim.is_some() && !only_waiting(findings),
                };
                counts.then_some(Run { kind: Kind::Exit, gate: *gate, verdict: *verdict })
            }
            GateName::Merge => None,
        }
    }

    /// What a record adds to what the change remembers. It has been applied already.
    pub(super) fn remember(&mut self, record: &Record, run: Option<Run>) {
        let (flow, change) = (self.flow, self.change);
        if run.is_some_and(|run| run.gate == GateName::Merge) {
            self.claim = None;
        }
        if self.memory.is_none() && self.policy.is_some() {
            self.memory = Some(Memory::begin(change, flow));
        }
        let Some(memory) = &mut self.memory else { return };
        let before = memory.latest.iteration;
        match &record.body {
            Body::Judged { gate, findings, criteria, .. } => {
                if let Some(run) = run {
                    let verdict = if run.verdict == Verdict::Pass { "PASS" } else { "FAIL" };
                    let on = record.about.as_ref().map(|about| format!(" on {}", about.head.short()));
                    let by = match run.verdict {
                        Verdict::Pass => format!("{gate} {verdict}{}", on.unwrap_or_default()),
                        Verdict::Fail => format!("{gate} did not find it any more{}", on.unwrap_or_default()),
                    };
                    memory.run(run, findings, &format!("{by} (record {})", record.seq), record.seq, flow);
                    if !criteria.is_empty() {
                        memory.asked(criteria, record.seq);
                    }
                    if run.kind == Kind::Exit {
                        let content = record.about.as_ref().map(|about| about.content.clone());
                        memory.passed = content.filter(|_| run.verdict == Verdict::Pass);
                    }
                }
            }
            Body::Sliced { id, slice, cap, begun } => {
                let begins = memory.latest.slice_id != *id || memory.latest.cap == Cap::undeclared();
                let other = memory.latest.slice_id != *id;
                let latest = memory.turn(flow);
                latest.slice_id = *id;
                latest.slice.clone_from(slice);
                if let Some(cap) = cap {
                    latest.cap = cap.clone();
                }
                if begins {
                    latest.last = if other { None } else { latest.last };
                }
                if other {
                    latest.fails = Fails::default();
                    memory.anew();
                    // Only who may approve begins another while one is owed: that slice is over.
                    memory.audit = None;
                }
                memory.last_slice = memory.last_slice.max(id.0);
                if let Some(begun) = begun {
                    memory.begun(begun, record.seq, flow);
                }
            }
            Body::Scoped { cap } => memory.turn(flow).cap = cap.clone(),
            Body::Laddered { action, reason, grounded, told } => {
                memory.turn(flow);
                memory.say(*action, reason, &record.by, *grounded, told.then_some(record.seq));
            }
            Body::Remembered(taken) => {
                memory.take(taken, flow);
                if let Some(begun) = &taken.begun {
                    memory.begun(begun, record.seq, flow);
                }
            }
            Body::Audited { lines } => {
                memory.turn(flow);
                memory.report(lines, record.seq);
            }
            Body::Promoted { facts } => {
                let latest = memory.turn(flow);
                for id in facts {
                    let evidence = latest.evidence.iter().find(|fact| fact.id == *id);
                    if let Some(fact) = evidence.filter(|_| !latest.context.iter().any(|known| known.id == *id)) {
                        latest.context.push(fact.clone());
                    }
                }
                memory.conclude();
            }
            Body::Command { name, args, outcome: Outcome::Done, .. }
                if name == Phase::Expand.as_str() && !args.is_empty() && !memory.is_declared() =>
            {
                // What is no sentence, or rests on what nobody has consolidated, says nothing of the slice; the command is carried out.
                let words = unmarked(args, LONGEST_ISSUE);
                let rests = snapshot::cited(&words).into_iter().all(|id| memory.latest.is_consolidated(id));
                if snapshot::sentence(&words).is_some() && rests && memory.latest.slice != words {
                    memory.turn(flow).slice = words;
                }
            }
            Body::Resolved(resolved) => memory.told(&resolved.resolution, &record.by, record.seq, flow),
            Body::Inherited(taken) => {
                if let Some(handed) = &taken.slice {
                    memory.inherit(handed, record.seq, flow);
                }
            }
            Body::Continues { round, .. } => memory.confirmed(round, record.seq, flow),
            Body::Accepted { .. } => {
                if let Some(round) = &self.round {
                    memory.confirmed(round, record.seq, flow);
                }
            }
            _ => {}
        }
        if memory.latest.iteration != before {
            memory.fit();
        }
        if !memory.written.contains_key(&memory.latest.iteration)
            && let Some(blob) = blob_of(snapshot::write(&memory.latest).as_bytes())
        {
            memory.written.insert(memory.latest.iteration, blob);
        }
    }

    /// The snapshots that may stand on the branch of the change as the bot has written them: copies, which change nothing.
    pub fn snapshots_by_bot(&self) -> Written {
        let written = || self.memory.iter().flat_map(|memory| &memory.written);
        let own = written().map(|(number, blob)| (snapshot::path_of(self.change, *number), blob));
        let latest = written().map(|(_, blob)| (snapshot::latest_of(self.change), blob));
        own.chain(latest).map(|(path, blob)| ((RepoPath::from(path.as_str()), blob.clone()), None)).collect()
    }

    /// What another pull request of the same work is to take over, where it has less than this.
    pub fn hands_down_slice(&self, to: Option<&Memory>) -> Option<Handed> {
        let memory = self.memory.as_ref()?;
        let latest = &memory.latest;
        let (fails, audited) = (latest.fails, memory.audited);
        let less = |theirs: Fails, ours: Fails| theirs.iteration < ours.iteration || theirs.exit < ours.exit;
        let has = to.map(|to| to.latest.fails).unwrap_or_default();
        let held = memory.is_held() && !to.is_some_and(|to| to.is_held() || !less(to.audited, fails));
        let decided = memory.decided(to);
        if !less(has, fails) && !held && decided.is_empty() {
            return None;
        }
        let own = |issue: &&Open| !memory.watched.contains_key(&issue.id);
        let open = latest.open.iter().filter(own).cloned().collect();
        let audit = memory.audit.clone().filter(|_| memory.is_held());
        let (slice_id, slice, cap) = (latest.slice_id, latest.slice.clone(), latest.cap.clone());
        Some(Handed { slice_id, slice, cap, fails, audited, audit, decided, open })
    }
}

impl Memory {
    /// Takes over what failed in a row under another number: never less than what is here.
    fn inherit(&mut self, handed: &Handed, seq: u64, flow: FlowName) {
        let declared = self.is_declared();
        self.turn(flow);
        self.take_over(&handed.decided, seq);
        for Open { text, action, .. } in &handed.open {
            let there = self.latest.open.iter().any(|issue| issue.text == *text);
            if !there && self.latest.open.len() < MOST_ISSUES {
                self.last_issue += 1;
                let id = IssueId(self.last_issue);
                self.latest.open.push(Open { id, text: text.clone(), action: *action });
            }
        }
        let latest = &mut self.latest;
        latest.fails.iteration = latest.fails.iteration.max(handed.fails.iteration);
        latest.fails.exit = latest.fails.exit.max(handed.fails.exit);
        if !declared {
            latest.slice_id = handed.slice_id;
            if is_said(&handed.slice) {
                latest.slice.clone_from(&handed.slice);
            }
            latest.cap = handed.cap.clone();
        }
        let (slice_id, fails) = (latest.slice_id, latest.fails);
        self.last_slice = self.last_slice.max(slice_id.0);
        if self.audit.is_none() && !fails.any() {
            return;
        }
        // The report, if there is one, is in the evidence of the other change: here it is to be handed in again.
        let asked = handed.audit.as_ref().and_then(|audit| audit.asked.zip(Some(audit.since)));
        if let (None, Some((kind, since))) = (&self.audit, asked) {
            self.audit = Some(Audit { asked: Some(kind), slice_id, fails, since, facts: BTreeSet::new() });
        } else {
            self.audited.iteration = self.audited.iteration.max(handed.audited.iteration);
            self.audited.exit = self.audited.exit.max(handed.audited.exit);
        }
    }
}

#[cfg(test)]
mod tests;
