//! A change that is a task: what its `STATE.md` claims is judged, and agents are asked for passes.
//!
//! - *The claim is judged on what is there*, on every look: a push, a check that ended, an approval. What holds moves the task, once for
//!   each content; what does not is a FAIL, once for each content. Nothing is written on the branch for it.
//! - *A pass is over* when what it left is judged, when it updated `STATE.md` and claimed nothing, or when its time is. While a claim
//!   waits for a run or for a person, its pass waits with it, and no other begins.
//! - *Where a person has let a blocked task go on*, it goes on where it was left, and the claim that blocked it is answered.
//! - *What it was done with is not there any more*: it is verified again. That is a fact beside the table.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::command::Given;
use super::decide::{Draft, Happened, record_judgement};
use super::{heal, memory, stop};
use crate::finding::{Finding, GateName, Verdict};
use crate::flow::task::{Drive, Progress, Stage};
use crate::flow::{Actor, FlowName, Refusal};
use crate::gate::bounded;
use crate::gate::pass::{BROKE_OFF, BUDGET, over};
use crate::gate::task::change::{self, Judgement, Outcome};
use crate::gate::task::look::Look;
use crate::gate::task::pass::{Measured, Work, progress, still};
use crate::gate::task::{Field, Sheet, shown};
use crate::ids::Digest;
use crate::ledger::record::{Claim, Outcome as Came};
use crate::ledger::task::{Begun, Ended, Task};
use crate::ledger::{Body, By};
use crate::policy::{Adapter, Agent, Commands, Role};

/// Judges what the task claims. Says whether it moved.
pub(super) fn judge(draft: &mut Draft<'_>, now: Option<Timestamp>) -> Result<bool, Refusal> {
    let alive = draft.state.open && draft.state.merged.is_none() && draft.state.subject.is_some();
    let look = draft.world.subject.as_ref().and_then(|subject| subject.task.as_ref());
    let Some(look) = look.filter(|_| draft.state.flow == FlowName::Task && alive && draft.world.policy().is_some())
    else {
        return Ok(false);
    };
    if let (None, Some(folder)) = (&draft.state.task, look.folder.one()) {
        draft.bot(Body::TaskBegun { folder: folder.to_owned() })?;
    }
    let Some(task) = draft.state.task.clone() else { return preview(draft, change::judge(&draft.state, draft.world)) };
    let content = draft.state.subject.as_ref().map(|about| &about.content);
    if task.state.stage == Stage::Done && task.at.as_ref().map(|at| &at.content) != content {
        draft.bot(Body::TaskReturned {})?;
    }
    if draft.state.stopped.is_some() || memory::is_held(draft) {
        return Ok(false);
    }
    let judged = change::judge(&draft.state, draft.world);
    // Where nothing may be built, what was frozen is touched by nobody's mistake, claimed or not.
    if is_looked_at(&task) {
        let caught = heal::catch(draft, &judged.findings)?;
        if heal::is_caught(draft) {
            match judged.claims() {
                Some(_) => fail(draft, &judged)?,
                None => drop(preview(draft, judged.clone())?),
            }
            back(draft)?;
            if caught {
                heal::exhaust(draft)?;
            }
            end(draft, &task, look, &judged, judged.claims(), now)?;
            return Ok(false);
        }
    }
    match judged.outcome.clone() {
        Outcome::Nothing => {
            end(draft, &task, look, &judged, None, now)?;
            preview(draft, judged)
        }
        Outcome::Pending { .. } => Ok(false),
        Outcome::Fail { claims } => {
            fail(draft, &judged)?;
            if heal::catch(draft, &judged.findings)? {
                heal::exhaust(draft)?;
            }
            end(draft, &task, look, &judged, Some(claims), now)?;
            Ok(false)
        }
        Outcome::Goes { sheet, to } => {
            goes(draft, &sheet, to, judged.clone())?;
            end(draft, &task, look, &judged, Some(to), now)?;
            Ok(true)
        }
    }
}

/// Whether it is in a phase that looks at what was built.
fn is_looked_at(task: &Task) -> bool {
    matches!(task.state.stage, Stage::Verify | Stage::Review)
}

/// Content that is known as a cheat, by the wire or by somebody's report, goes back to where it is mended.
fn back(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let why = Some("this content passes without having earned it".to_owned());
    draft.bot(Body::TaskMoved { to: Stage::Repair, actor: Actor::Bot, why, frame: None })
}

fn goes(draft: &mut Draft<'_>, sheet: &Sheet, to: Stage, judged: Judgement) -> Result<(), Refusal> {
    counted(draft, Verdict::Pass, judged)?;
    let blockers = sheet.value(Field::Blockers);
    let why = to.is_waiting().then(|| blockers.to_owned());
    let frame = (to == Stage::Implement).then(|| shown::frame(sheet));
    draft.bot(Body::TaskMoved { to, actor: Actor::Agent, why, frame })?;
    if to.is_waiting() {
        let what = if to == Stage::Blocked { "the task is blocked" } else { "the task needs a person's decision" };
        stop::call(draft, By::Bot, stop::Call::new(format!("{what}: {}", one_line(blockers))))?;
    }
    Ok(())
}

/// What somebody wrote over several lines, as the reason of a stop has it.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|c| !c.is_control()).take(1_000).collect()
}

/// A claim that does not hold counts once for each content.
fn fail(draft: &mut Draft<'_>, judged: &Judgement) -> Result<(), Refusal> {
    let content = draft.state.subject.as_ref().map(|about| &about.content);
    let told = draft.state.gates.get(&GateName::Task).is_some_and(|last| {
        last.verdict == Verdict::Fail && last.claimed.is_some() && Some(&last.about.content) == content
    });
    if told { Ok(()) } else { counted(draft, Verdict::Fail, judged.clone()) }
}

fn counted(draft: &mut Draft<'_>, verdict: Verdict, judged: Judgement) -> Result<(), Refusal> {
    let Judgement { findings, evidence, .. } = judged;
    let claimed = Some(Claim::Sheet);
    draft.bot(Body::Judged { gate: GateName::Task, verdict, claimed, findings, evidence, criteria: Vec::new() })
}

/// What speaks against the content while nothing is claimed is shown, and counts for nothing.
fn preview(draft: &mut Draft<'_>, judged: Judgement) -> Result<bool, Refusal> {
    if judged.findings.iter().any(Finding::blocks) {
        record_judgement(draft, GateName::Task, Verdict::Fail, None, judged.findings, judged.evidence)?;
    }
    Ok(false)
}

/// A person has let it go on: there where it was left.
pub(super) fn reopened(draft: &mut Draft<'_>, by: &By, reason: &str) -> Result<(), Refusal> {
    let waits = draft.state.task.as_ref().map(|task| task.state).filter(|state| state.stage.is_waiting());
    let Some(to) = waits.and_then(|state| state.left) else { return Ok(()) };
    let why = Some(reason.to_owned());
    draft.by(by.clone(), Body::TaskMoved { to, actor: Actor::Human, why, frame: None })
}

/// Ends the pass that is open, where what it left is there. `task` is as it was before what it left was judged.
fn end(
    draft: &mut Draft<'_>,
    task: &Task,
    look: &Look,
    judged: &Judgement,
    claims: Option<Stage>,
    now: Option<Timestamp>,
) -> Result<(), Refusal> {
    let Some(open) = task.open.clone().filter(|_| draft.state.task.as_ref().is_some_and(|now| now.open.is_some()))
    else {
        return Ok(());
    };
    let head = draft.state.subject.as_ref().map(|about| about.head.clone());
    let moved_head = open.head != head;
    let updated = moved_head && look.after.as_ref().map(Digest::of) != open.sheet;
    let over = now.is_some_and(|now| now >= open.until);
    if !(updated || moved_head && claims.is_some() || over) {
        return Ok(());
    }
    let mut findings = judged.findings.clone();
    if over && !moved_head {
        let says = format!("Nobody pushed anything in the time that pass {} had.", open.pass);
        findings.push(Finding::error(
            BROKE_OFF,
            says,
            "Look whether the agent was reached; then ask for another pass.",
        ));
    }
    let errors = |all: &[Finding]| all.iter().filter(|one| one.blocks()).count();
    let stays = Vec::new();
    let changed = if moved_head { look.changed.as_ref().unwrap_or(&stays) } else { &stays };
    let work = Work {
        folder: &task.folder,
        state: task.state,
        before: look.before.as_ref(),
        after: look.after.as_deref(),
        changed,
    };
    let measured = Measured {
        moved: draft.state.task.as_ref().is_some_and(|now| now.state.stage != task.state.stage),
        against: if claims.is_some() { (errors(&task.lacked), errors(&findings)) } else { (0, 0) },
        returned: task.contents.contains(&look.content),
        ran: false,
    };
    let gained: BTreeSet<Progress> = progress(&work, judged.sheet.as_deref(), measured);
    if gained.is_empty() {
        findings.push(still(task.state.stage));
    }
    let took = now.zip(open.at).map(|(now, at)| now.duration_since(at).as_millis());
    let ended = Ended {
        pass: open.pass,
        took_ms: took.and_then(|took| u64::try_from(took).ok()).unwrap_or(0),
        credits: None,
        log: None,
        head: head.filter(|_| moved_head),
        content: look.content.clone(),
        claims,
        gained: gained.clone(),
        findings: bounded(findings),
    };
    draft.bot(Body::PassEnded(Box::new(ended)))?;
    let driven = draft.state.task.as_ref().is_some_and(|task| task.drive.is_some());
    if gained.is_empty() && driven {
        let why = Some("the last pass gained nothing (TSK-04)".to_owned());
        draft.bot(Body::TaskDriven { drive: None, why })?;
    }
    Ok(())
}

/// Ends a pass that nobody could be asked for. No other is asked for then: it would go the same way.
pub(super) fn unreached(draft: &mut Draft<'_>, happened: &[Happened]) -> Result<(), Refusal> {
    for one in happened {
        let Happened::Unreached { pass, why } = one else { continue };
        let open = draft.state.task.as_ref().filter(|task| task.open.as_ref().is_some_and(|open| open.pass == *pass));
        let (Some(_), Some(subject)) = (open, &draft.world.subject) else { continue };
        let says = format!("Pass {pass} could not be asked for: {}.", one_line(why).trim_end_matches('.'));
        let next = "See that `agents.main` of the policy names a workflow that is there and takes `workflow_dispatch`; then ask again.";
        let content = subject.task.as_ref().map(|look| look.content.clone());
        let ended = Ended {
            pass: *pass,
            took_ms: 0,
            credits: Some(0),
            log: None,
            head: None,
            content: content.unwrap_or_else(|| subject.about.content.clone()),
            claims: None,
            gained: BTreeSet::new(),
            findings: vec![Finding::error(BROKE_OFF, says.clone(), next)],
        };
        draft.bot(Body::PassEnded(Box::new(ended)))?;
        draft.bot(Body::TaskDriven { drive: None, why: Some(one_line(&format!("{says} {next}"))) })?;
    }
    Ok(())
}

/// Begins the next pass, where somebody wants one and nothing is waited for.
pub(super) fn begin(draft: &mut Draft<'_>, now: Option<Timestamp>) -> Result<(), Refusal> {
    let (Some(task), Some(policy), Some(now)) = (&draft.state.task, draft.world.policy(), now) else { return Ok(()) };
    let idle = task.open.is_none() && !task.state.stage.is_terminal() && draft.state.stopped.is_none();
    let (Some(_), Some(agent)) = (task.drive.filter(|_| idle), policy.agents.of(Role::Main)) else { return Ok(()) };
    if !draft.state.open || memory::is_held(draft) {
        return Ok(());
    }
    if matches!(change::judge(&draft.state, draft.world).outcome, Outcome::Pending { .. }) {
        return Ok(());
    }
    if let Some(why) = over(task, &policy.budget).map(|why| format!("{why} ({BUDGET})")) {
        return draft.bot(Body::TaskDriven { drive: None, why: Some(why) });
    }
    let Some(until) = ends(agent, now) else { return Ok(()) };
    let look = draft.world.subject.as_ref().and_then(|subject| subject.task.as_ref());
    let begun = Begun {
        pass: task.passes + 1,
        role: Role::Main,
        until,
        at: Some(now),
        head: draft.state.subject.as_ref().map(|about| about.head.clone()),
        sheet: look.and_then(|look| look.after.as_ref()).map(Digest::of),
    };
    draft.bot(Body::PassBegun(begun))
}

fn ends(agent: &Agent, now: Timestamp) -> Option<Timestamp> {
    now.checked_add(SignedDuration::from_secs(agent.timeout.as_secs().into())).ok()
}

/// `/task run|loop|pause`.
pub(super) fn said(draft: &mut Draft<'_>, given: &Given, by: &By, commands: &Commands) -> Result<Came, Refusal> {
    let refuse = |says: String, next: String| Err(Refusal::new("CMD-03", says, next));
    let Some(task) = &draft.state.task else {
        let next = "Push a folder with a `STATE.md`: `phasegate task init tasks/NAME` writes one.";
        return refuse("the change has no task yet.".to_owned(), next.to_owned());
    };
    let stage = task.state.stage;
    let word = given.args.to_ascii_lowercase();
    if word == "pause" {
        if task.drive.is_none() {
            let next = format!("`{}` says where it stands.", commands.written("status"));
            return refuse("no agent is to go on with it.".to_owned(), next);
        }
        let why = Some(format!("{} said so", by.name()));
        draft.by(by.clone(), Body::TaskDriven { drive: None, why })?;
        return Ok(Came::Done);
    }
    if stage == Stage::Done {
        let next = "What is to be done beside it is a task of its own.";
        return refuse("the task is done.".to_owned(), next.to_owned());
    }
    if stage.is_waiting() || draft.state.stopped.is_some() {
        let next = format!("Whoever may decide says `{} REASON` first.", commands.written("unblock"));
        return refuse("the task waits for a person.".to_owned(), next);
    }
    match draft.world.policy().and_then(|policy| policy.agents.of(Role::Main)).map(Agent::adapter) {
        Some(Adapter::Comment(_) | Adapter::Workflow(_)) => {}
        Some(Adapter::Command(_)) => {
            let next = "Run `phasegate task loop` where its program is; or name one that is reached from here, with `comment` or `workflow`.";
            return refuse("the policy's agent is a program, and it is not run from here.".to_owned(), next.to_owned());
        }
        None => {
            let next = "Name one in the policy: `agents: { main: { comment: \"@NAME\" } }`.";
            return refuse("the policy names no agent.".to_owned(), next.to_owned());
        }
    }
    if let Some(why) = draft.world.policy().and_then(|policy| over(task, &policy.budget)) {
        return refuse(format!("{why} ({BUDGET})."), "Give it more by `budget` of the policy.".to_owned());
    }
    let drive = if word == "loop" { Drive::Loop } else { Drive::Once };
    draft.by(by.clone(), Body::TaskDriven { drive: Some(drive), why: None })?;
    Ok(Came::Done)
}

/// How late it is, where that was told.
pub(super) fn now(happened: &[Happened]) -> Option<Timestamp> {
    happened.iter().find_map(|one| match one {
        Happened::Now { at } => Some(*at),
        _ => None,
    })
}
