//! When a run of the policy's commands is asked of the trusted workflow or of the server's own runner, and what the answer leaves.
//!
//! Each content that needs the evidence is asked for once, unasked by anybody. What comes from a fork is not: running it costs
//! the repository's minutes, so a person says so. Where another workflow's end starts the run, whoever let that one run has said so. After a red, or a run that came to nothing, a person's command asks again.

use super::decide::{Draft, Happened};
use crate::flow::{FlowName, Phase, Refusal};
use crate::gate::task::change;
use crate::gate::world::Asks;
use crate::gate::{asked, build};
use crate::ids::Digest;
use crate::ledger::{Body, By, Entry};
use crate::policy::{Commands, Policy, Require, RunGate, Source, Start};

/// Asks for a run of the present content, where there was none yet.
pub(super) fn by_itself(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    for source in Source::ASKED {
        let first = asked::of_this(&draft.state, source).next().is_none();
        if first && !waits_for_a_word(draft, source) && draft.state.stopped.is_none() && is_needed(draft, source) {
            enter(draft, By::Bot, source)?;
        }
    }
    Ok(())
}

/// Whether somebody has to look at it before it is run.
fn waits_for_a_word(draft: &Draft<'_>, source: Source) -> bool {
    let starts_by_itself =
        |policy: &Policy| source == Source::Actions && policy.gates.verify.start == Start::WorkflowRun;
    draft.world.pull.fork && !draft.world.policy().is_some_and(starts_by_itself)
}

/// Another one, for somebody who wants it. Says whether there is something to wait for now.
pub(super) fn again(draft: &mut Draft<'_>, by: &By) -> Result<bool, Refusal> {
    let mut waits = false;
    for source in Source::ASKED {
        let may = policy(draft, source).is_some() && can_be_read(draft);
        if may && asked::is_spent(&draft.state, draft.world, source) {
            enter(draft, by.clone(), source)?;
            waits = true;
        }
    }
    Ok(waits)
}

/// `/verify` in a flow without phases.
pub(super) fn said(draft: &mut Draft<'_>, by: &By, commands: &Commands) -> Result<(), Refusal> {
    let help = format!("`{}` lists what can be done here.", commands.written("help"));
    if Source::ASKED.into_iter().all(|source| policy(draft, source).is_none()) {
        let says = match draft.world.policy().is_some_and(|policy| policy.gates.verify.asks_for_runs()) {
            true => "what the policy asks for can't be run from here (`gates.verify.from`); the check says why.",
            false => "the policy asks no workflow for evidence (`gates.verify.from`), so there is nothing to run.",
        };
        return Err(Refusal::new("CMD-03", says, help));
    }
    if !can_be_read(draft) {
        return Err(Refusal::new("CMD-03", "there is no content that could be run.", help));
    }
    if again(draft, by)? {
        return Ok(());
    }
    let open = Source::ASKED.into_iter().any(|source| asked::open(&draft.state, source).is_some());
    let (says, next) = match open {
        true => ("a run is under way.", "It is judged when the run answers."),
        false => ("this content has run, and nothing of it holds the change back.", "There is nothing to run again."),
    };
    Err(Refusal::new("CMD-03", says, next))
}

/// The answers that came.
pub(super) fn answered(draft: &mut Draft<'_>, happened: &[Happened]) -> Result<(), Refusal> {
    for one in happened {
        let Happened::Ran(answer) = one else { continue };
        let open = draft.state.asked.iter().find(|asked| asked.nonce == answer.ran.nonce && asked.answer.is_none());
        // A second delivery of the same answer leaves nothing.
        let Some((about, source)) = open.map(|asked| (asked.about.clone(), asked.source())) else { continue };
        let body = Body::Ran(Box::new(answer.ran.clone()));
        let by = match source {
            Source::Runner => By::Runner(answer.by.clone()),
            _ => By::Workflow(answer.by.clone()),
        };
        let entry = Entry::new(by, Some(about), body);
        draft.enter(Entry { file: Some(answer.log.clone()), ..entry })?;
    }
    Ok(())
}

/// The policy, where it takes evidence from this source and that can be asked for here.
fn policy<'d>(draft: &'d Draft<'_>, source: Source) -> Option<&'d Policy> {
    let can = *draft.world.offers(source).0 == Asks::Yes;
    draft.world.policy().filter(|policy| can && policy.gates.verify.has(source))
}

fn can_be_read(draft: &Draft<'_>) -> bool {
    draft.state.open && draft.state.subject.is_some() && draft.world.subject.is_some()
}

/// Whether a gate that stands before this change, now or next, rests on the evidence.
fn is_needed(draft: &Draft<'_>, source: Source) -> bool {
    let Some(policy) = policy(draft, source).filter(|_| can_be_read(draft)) else { return false };
    match (draft.state.flow, &draft.state.pipeline, &draft.world.subject) {
        (FlowName::Pipeline, Some(pipeline), Some(subject)) => {
            pipeline.phase().is_some_and(|phase| phase >= Phase::Build)
                && !subject.changed.iter().all(|path| build::is_paper(path))
        }
        (FlowName::Merge, ..) => policy.merge.require.contains(&Require::Verify),
        // What a task is made of is run when it says that it is through.
        (FlowName::Task, ..) => change::wants_proof(&draft.state, draft.world),
        _ => false,
    }
}

fn enter(draft: &mut Draft<'_>, by: By, source: Source) -> Result<(), Refusal> {
    let (Some(policy), Some(about)) = (policy(draft, source), draft.state.subject.clone()) else { return Ok(()) };
    let workflow = asked::named(policy, source).to_owned();
    // What it is for, and how many came before: the same decision, thought through twice, asks for the same run.
    let (change, asks) = (draft.state.change.0.to_string(), draft.state.asks.to_string());
    let nonce = Digest::of_parts(["run", &change, &asks, about.head.as_str(), about.content.as_str()]);
    draft.by(by, Body::Asked { gate: RunGate::Verify, nonce, workflow })
}
