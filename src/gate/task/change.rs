//! The gate of a task that is a change on GitHub: whether what its `STATE.md` claims holds.
//!
//! - The phase is on record; `STATE.md` says where whoever works on it thinks it is. A claim that does not hold moves nothing, and what
//!   was pushed stays where it is: nobody writes on an agent's branch for it.
//! - What has to be shown is what a merge needs, too: the same runs and checks, and the approval of somebody entitled for this very
//!   content. So a task claims `done` first, and is looked at with that claim in it: an approval of what came before would be for other
//!   content.
//! - One content is answered once. A task that a person has taken up again still says `blocked`, and is not blocked again by that.

use super::look::{Folder, Look};
use super::pass::{Claim, Work, claimed};
use super::review::CHECKS;
use super::shown::{self, Ran, Seen, lacks};
use super::{STATE, Sheet};
use crate::finding::{Finding, quoted};
use crate::flow::task::Stage;
use crate::gate::world::{Law, UNREADABLE, World};
use crate::gate::{bounded, evidence, frozen, memory, merge, review};
use crate::ledger::record::Evidence;
use crate::ledger::state::State;
use crate::ledger::task::Task;
use crate::policy::{Policy, Source};
use crate::repo::RepoPath;

/// What came of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is claimed; the findings say what speaks against the content as it is, if anything does.
    Nothing,
    /// What is claimed can't be judged yet.
    Pending {
        claims: Stage,
    },
    /// It does not hold.
    Fail {
        claims: Stage,
    },
    Goes {
        sheet: Box<Sheet>,
        to: Stage,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub outcome: Outcome,
    pub findings: Vec<Finding>,
    pub evidence: Vec<Evidence>,
    /// What `STATE.md` says, where it can be read.
    pub sheet: Option<Box<Sheet>>,
}

impl Judgement {
    fn nothing(findings: Vec<Finding>) -> Self {
        Self { outcome: Outcome::Nothing, findings, evidence: Vec::new(), sheet: None }
    }

    /// The phase that is claimed and is not the task's.
    pub fn claims(&self) -> Option<Stage> {
        match &self.outcome {
            Outcome::Nothing => None,
            Outcome::Pending { claims } | Outcome::Fail { claims } => Some(*claims),
            Outcome::Goes { to, .. } => Some(*to),
        }
    }
}

/// What people are told about how it is judged.
pub const JUDGED_BY: &str = "Judged by the task's `STATE.md` at this head beside the records (TSK-01 to TSK-08), and before `review` and `done` by \
                             the evidence that the policy names, by the task's own files and by who approves this content (TSK-11 to TSK-25).";

/// Judges the change as the task that it is.
pub fn judge(state: &State, world: &World) -> Judgement {
    let policy = match &world.law {
        Law::Valid(policy) => policy,
        Law::Invalid(problems) => return Judgement::nothing(problems.clone()),
    };
    let Some(subject) = &world.subject else {
        return Judgement::nothing(vec![Finding::waiting(
            "MRG-01",
            "The content of this change could not be read.",
            UNREADABLE,
        )]);
    };
    let Some(look) = &subject.task else { return Judgement::nothing(Vec::new()) };
    let Some(task) = &state.task else { return Judgement::nothing(no_task(&look.folder)) };
    let mut judged = of_task(task, look, policy, state, world);
    // What was frozen, and what somebody reported, stands against every claim but that of a person's help.
    let onward = judged.claims().is_some_and(|claims| !claims.is_waiting() && claims != Stage::Repair);
    let mut held: Vec<Finding> = frozen::tripwire(state, world).into_iter().chain(frozen::reported(state)).collect();
    if onward {
        held.extend(memory::against(state, world));
    }
    if !held.is_empty() {
        if let (true, Some(claims)) = (onward, judged.claims()) {
            judged.outcome = Outcome::Fail { claims };
        }
        judged.findings.splice(0..0, held);
    }
    judged.findings = bounded(judged.findings);
    judged
}

/// `TSK-02`: there is no task, or more than one.
fn no_task(folder: &Folder) -> Vec<Finding> {
    let found = match folder {
        Folder::One(_) => return Vec::new(),
        Folder::None => Finding::error(
            "TSK-02",
            format!("The change has no task: no `{STATE}` comes with it."),
            "Write one with `phasegate task init tasks/NAME`, say what is to be done, and push it with the change.",
        ),
        Folder::Several(folders) => {
            let named: Vec<String> = folders.iter().map(|one| quoted(one)).collect();
            Finding::error(
                "TSK-02",
                format!("The change brings more than one task: {}.", named.join(", ")),
                "One change is one task: take the others to changes of their own.",
            )
        }
    };
    vec![found]
}

fn of_task(task: &Task, look: &Look, policy: &Policy, state: &State, world: &World) -> Judgement {
    let stage = task.state.stage;
    let Some(changed) = look.changed.as_deref() else {
        let says = "What was there when the task came to its phase is gone from the repository, so nobody can tell what was changed since.";
        let next = "Push that commit again, to any branch; then this is looked at anew.";
        return Judgement::nothing(vec![Finding::error(super::pass::FORBIDDEN, says, next)]);
    };
    // It has answered this content: what is claimed there was the way to where the task is.
    let present = state.subject.as_ref();
    let answered =
        task.at.as_ref().zip(present).is_some_and(|(at, now)| at.head == now.head || at.content == now.content);
    if answered || stage == Stage::Done {
        let sheet = look.after.as_deref().and_then(|bytes| super::read(&path(task), bytes).ok()).map(Box::new);
        return Judgement { sheet, ..Judgement::nothing(Vec::new()) };
    }
    let work = Work {
        folder: &task.folder,
        state: task.state,
        before: look.before.as_ref(),
        after: look.after.as_deref(),
        changed,
    };
    match claimed(&work) {
        Claim::Refused(findings) => Judgement::nothing(findings),
        Claim::Stays { sheet, findings } if sheet.phase == stage => {
            Judgement { sheet: Some(sheet), ..Judgement::nothing(findings) }
        }
        Claim::Stays { sheet, findings } => {
            let outcome = Outcome::Fail { claims: sheet.phase };
            Judgement { outcome, findings, evidence: Vec::new(), sheet: Some(sheet) }
        }
        Claim::Goes { sheet, to } => {
            let (findings, evidence) = match to {
                Stage::Review => ran(policy, state, world),
                Stage::Done => finished(task, &sheet, look, policy, state, world),
                _ => Default::default(),
            };
            let blocks = || findings.iter().filter(|finding| finding.blocks());
            let outcome = match (blocks().next().is_some(), blocks().all(|finding| finding.waiting)) {
                (false, _) => Outcome::Goes { sheet: sheet.clone(), to },
                (true, true) => Outcome::Pending { claims: to },
                (true, false) => Outcome::Fail { claims: to },
            };
            Judgement { outcome, findings, evidence, sheet: Some(sheet) }
        }
    }
}

/// Whether the claim rests on what the repository's own commands say.
pub fn wants_proof(state: &State, world: &World) -> bool {
    let (Some(task), Some(subject)) = (&state.task, &world.subject) else { return false };
    let claimed = || {
        let bytes = subject.task.as_ref()?.after.as_deref()?;
        Some(super::read(&path(task), bytes).ok()?.phase)
    };
    match task.state.stage {
        Stage::Verify => matches!(claimed(), Some(Stage::Review)),
        Stage::Review | Stage::Done => true,
        _ => false,
    }
}

fn path(task: &Task) -> String {
    format!("{}/{STATE}", task.folder)
}

/// `TSK-12`: the evidence that the policy names, for this content.
fn ran(policy: &Policy, state: &State, world: &World) -> (Vec<Finding>, Vec<Evidence>) {
    let verify = &policy.gates.verify;
    let runs = verify.asks_for_runs() && !verify.run.is_empty();
    let checks = verify.has(Source::Checks) && !verify.checks.is_empty();
    if !runs && !checks && !verify.has(Source::People) {
        return (shown::commands(Some(&Ran::NoCommands)), Vec::new());
    }
    let heard = evidence::proof(shown::COMMANDS, policy, state, world);
    (heard.findings, heard.evidence)
}

/// What has to be shown before a task is done: eight gates of evidence, and five checks of somebody who looked.
fn finished(
    task: &Task,
    sheet: &Sheet,
    look: &Look,
    policy: &Policy,
    state: &State,
    world: &World,
) -> (Vec<Finding>, Vec<Evidence>) {
    let (mut findings, mut evidence) = ran(policy, state, world);
    let is_there = |path: &RepoPath| look.located.contains(&path.to_string());
    // Whether anything pretends is asked below, with the rest of the five.
    let seen = Seen {
        folder: &task.folder,
        sheet,
        frame: task.frame.as_ref(),
        ran: Some(&Ran::Found(Vec::new())),
        honest: Some(true),
        evidence: &look.evidence,
        files: &look.files,
        is_there: &is_there,
    };
    findings.extend(lacks(&seen));
    let (looked, approvals) = looked_at(policy, state, world);
    findings.extend(looked);
    evidence.extend(approvals);
    (findings, evidence)
}

/// The five checks: whoever approves this content answers all of them, for they stand beside what is approved. Who is against it may name
/// those that fail.
fn looked_at(policy: &Policy, state: &State, world: &World) -> (Vec<Finding>, Vec<Evidence>) {
    let approvals = review::approvals(policy, state, world);
    let mut findings = Vec::new();
    for one in &approvals.against {
        let named: Vec<&str> = CHECKS.iter().map(|(rule, ..)| *rule).filter(|rule| one.says.contains(rule)).collect();
        let rules = if named.is_empty() { vec!["MRG-02"] } else { named.clone() };
        for rule in rules {
            let says = format!("`{}` {}.", one.login, one.says);
            findings.push(Finding::error(rule, says, one.next(&policy.commands)));
        }
        // The second of the five is the fifth of the eight.
        if named.contains(&"TSK-22") {
            findings.push(shown::pretends());
        }
    }
    if findings.is_empty() && approvals.by.is_empty() {
        let next = merge::entitled(policy, world);
        let asked = CHECKS.iter().map(|(rule, asks, _)| {
            Finding::waiting(rule, format!("Nobody entitled has looked yet: {asks}"), next.clone())
        });
        findings.extend(asked);
    }
    (findings, approvals.evidence)
}
