//! When the proof is frozen: a fact beside the pipeline's table.
//!
//! - A claim of BUILD freezes what is there, if nothing is frozen yet and each criterion has a test: that is where the proof ends
//!   and building begins. Before that BUILD itself asks for more tests. Whether they are red can't be seen here; that they are
//!   there and stay is what the freeze is for.
//! - BUILD's pass freezes what is there then, and so does its pass for newer content. So a claim that came too early, or
//!   none at all, leaves nothing unfrozen behind BUILD.
//! - None of these takes anything back: they come only where everything that was frozen is as it was, so each adds to the
//!   one before it. What was changed is accepted by a person, with `/refreeze`, and by nobody else.

use std::sync::Arc;

use super::decide::Draft;
use crate::flow::pipeline::phase_of;
use crate::flow::{Phase, Refusal, task};
use crate::gate::frozen::tripwire;
use crate::gate::world::World;
use crate::guard::{Present, Sealed};
use crate::ledger::record::Froze;
use crate::ledger::{Body, By, Entry};

/// Freezes what is there, where this is a point for it.
pub(super) fn take(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let Some((why, sealed)) = due(draft) else { return Ok(()) };
    if draft.state.frozen.as_ref().is_some_and(|frozen| frozen.manifest == sealed.digest) {
        return Ok(());
    }
    // Where something frozen was changed, or it is not known whether, a person decides.
    if draft.state.frozen.is_some() && !tripwire(&draft.state, draft.world).is_empty() {
        return Ok(());
    }
    enter(draft, By::Bot, why, &sealed)
}

fn due(draft: &Draft<'_>) -> Option<(Froze, Arc<Sealed>)> {
    if !draft.state.open {
        return None;
    }
    let present = present(draft)?;
    // Without a valid law nobody knows what is a test.
    let policy = draft.world.policy()?;
    if let Some(task) = &draft.state.task {
        let word = draft.world.subject.as_ref().and_then(|subject| subject.no_trailer.as_deref());
        let claimed = word == Some(task::Stage::Implement.as_str());
        let first = claimed || draft.state.frozen.is_none();
        return of_task(task.state.stage, first).map(|why| (why, Arc::clone(&present.claimed)));
    }
    let pipeline = draft.state.pipeline.as_ref()?;
    if pipeline.holds(Phase::Build) {
        // What only the base has changed trips nothing. So one that anybody may write is no ground to freeze anew on: a test
        // that was weakened there would count as frozen when the change goes into main again.
        let World { pull, default_branch, base_protected, .. } = draft.world;
        let firm = *base_protected && policy.may_merge_into(&pull.base_ref, default_branch);
        return (firm || draft.state.frozen.is_none()).then(|| (Froze::Built, Arc::clone(&present.built)));
    }
    let claimed = draft.state.claim.is_some_and(|(phase, _)| phase == Phase::Build);
    let building = phase_of(pipeline.stage) == Some(Phase::Build);
    let first = draft.state.frozen.is_none() && is_tested(draft.world);
    (claimed && building && first).then(|| (Froze::Claimed, Arc::clone(&present.claimed)))
}

/// Of a task: what is there as the work on it begins, what a commit claims in `implement` (`Phasegate-Claim: implement`: the tests are
/// there, and red), and what came to it when that is handed in. What has to be mended may need another version of something, so lock
/// files stay free.
fn of_task(stage: task::Stage, claimed: bool) -> Option<Froze> {
    match stage {
        task::Stage::Implement if claimed => Some(Froze::Claimed),
        task::Stage::Verify | task::Stage::Review | task::Stage::Done => Some(Froze::Built),
        _ => None,
    }
}

/// Whether each criterion has a test that names it, as far as BUILD looks for one.
fn is_tested(world: &World) -> bool {
    let found = world.subject.as_ref().and_then(|subject| subject.documents.get(&Phase::Build));
    found.is_some_and(|found| !found.iter().any(|finding| finding.rule == "BLD-03" && finding.blocks()))
}

fn present<'d>(draft: &'d Draft<'_>) -> Option<&'d Present> {
    draft.world.subject.as_ref()?.guard.present.as_ref().ok()
}

/// What a person freezes who accepts what is there now, all of it.
pub(super) fn anew(draft: &Draft<'_>) -> Result<Arc<Sealed>, Refusal> {
    let built = draft.state.pipeline.as_ref().is_some_and(|pipeline| pipeline.passed.contains_key(&Phase::Build));
    if let Some(present) = present(draft) {
        return Ok(Arc::clone(if built { &present.built } else { &present.claimed }));
    }
    let guard = draft.world.subject.as_ref().map(|subject| &subject.guard.present);
    let why = guard.and_then(|present| present.as_ref().err()).cloned().unwrap_or_default();
    Err(Refusal::new(
        "CMD-03",
        format!("what is there can't be frozen: {why}."),
        "Take files out of the tests' folders that are none, generated ones, say; or split the change.",
    ))
}

pub(super) fn enter(draft: &mut Draft<'_>, by: By, why: Froze, sealed: &Sealed) -> Result<(), Refusal> {
    let body = Body::Frozen { manifest: sealed.digest.clone(), files: sealed.files, why };
    let about = draft.state.subject.clone();
    draft.enter(Entry { file: Some(Arc::clone(&sealed.text)), ..Entry::new(by, about, body) })
}
