//! When a run of the policy's commands is asked of the trusted workflow, and what its answer leaves.
//!
//! Each content that needs the evidence is asked for once, unasked by anybody. What comes from a fork is not: running it costs
//! the repository's minutes, so a person says so. After a red, or a run that came to nothing, a person's command asks again.

use super::decide::{Draft, Happened};
use crate::flow::{FlowName, Phase, Refusal};
use crate::gate::world::Asks;
use crate::gate::{asked, build};
use crate::ids::Digest;
use crate::ledger::{Body, By, Entry};
use crate::policy::{Commands, Policy, Require, RunGate, Source};

/// Asks for a run of the present content, where there was none yet.
pub(super) fn by_itself(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let first = asked::of_this(&draft.state).next().is_none();
    if !first || draft.world.pull.fork || draft.state.stopped.is_some() || !is_needed(draft) {
        return Ok(());
    }
    enter(draft, By::Bot)
}

/// Another one, for somebody who wants it. Says whether there is something to wait for now.
pub(super) fn again(draft: &mut Draft<'_>, by: &By) -> Result<bool, Refusal> {
    let may = policy(draft).is_some() && can_be_read(draft);
    if may && asked::is_spent(&draft.state, draft.world) {
        enter(draft, by.clone())?;
        return Ok(true);
    }
    Ok(false)
}

/// `/verify` in a flow without phases.
pub(super) fn said(draft: &mut Draft<'_>, by: &By, commands: &Commands) -> Result<(), Refusal> {
    let help = format!("`{}` lists what can be done here.", commands.written("help"));
    if policy(draft).is_none() {
        return Err(Refusal::new(
            "CMD-03",
            "the policy asks no workflow for evidence (`gates.verify.from`), so there is nothing to run.",
            help,
        ));
    }
    if !can_be_read(draft) {
        return Err(Refusal::new("CMD-03", "there is no content that could be run.", help));
    }
    if again(draft, by)? {
        return Ok(());
    }
    let (says, next) = match asked::open(&draft.state) {
        Some(_) => ("a run is under way.", "It is judged when the run answers."),
        None => ("this content has run, and nothing of it holds the change back.", "There is nothing to run again."),
    };
    Err(Refusal::new("CMD-03", says, next))
}

/// The answers that came.
pub(super) fn answered(draft: &mut Draft<'_>, happened: &[Happened]) -> Result<(), Refusal> {
    for one in happened {
        let Happened::Ran(answer) = one else { continue };
        let open = draft.state.asked.iter().find(|asked| asked.nonce == answer.ran.nonce && asked.answer.is_none());
        // A second delivery of the same answer leaves nothing.
        let Some(about) = open.map(|asked| asked.about.clone()) else { continue };
        let body = Body::Ran(Box::new(answer.ran.clone()));
        let entry = Entry::new(By::Workflow(answer.by.clone()), Some(about), body);
        draft.enter(Entry { file: Some(answer.log.clone()), ..entry })?;
    }
    Ok(())
}

/// The policy, where it takes evidence from the trusted workflow and that can be asked for here.
fn policy<'d>(draft: &'d Draft<'_>) -> Option<&'d Policy> {
    draft.world.policy().filter(|policy| draft.world.asks == Asks::Yes && policy.gates.verify.has(Source::Actions))
}

fn can_be_read(draft: &Draft<'_>) -> bool {
    draft.state.open && draft.state.subject.is_some() && draft.world.subject.is_some()
}

/// Whether a gate that stands before this change, now or next, rests on the evidence.
fn is_needed(draft: &Draft<'_>) -> bool {
    let Some(policy) = policy(draft).filter(|_| can_be_read(draft)) else { return false };
    match (draft.state.flow, &draft.state.pipeline, &draft.world.subject) {
        (FlowName::Pipeline, Some(pipeline), Some(subject)) => {
            pipeline.phase().is_some_and(|phase| phase >= Phase::Build)
                && !subject.changed.iter().all(|path| build::is_paper(path))
        }
        (FlowName::Merge, ..) => policy.merge.require.contains(&Require::Verify),
        _ => false,
    }
}

fn enter(draft: &mut Draft<'_>, by: By) -> Result<(), Refusal> {
    let (Some(policy), Some(about)) = (policy(draft), draft.state.subject.clone()) else { return Ok(()) };
    let workflow = policy.gates.verify.workflow.clone();
    // What it is for, and how many came before: the same decision, thought through twice, asks for the same run.
    let (change, asks) = (draft.state.change.0.to_string(), draft.state.asks.to_string());
    let nonce = Digest::of_parts(["run", &change, &asks, about.head.as_str(), about.content.as_str()]);
    draft.by(by, Body::Asked { gate: RunGate::Verify, nonce, workflow })
}
