//! Documents that the bot puts right by itself, where the policy says so.
//!
//! What it is going to write is recorded first, blob by blob: what stands for the old documents at the gates is then known before
//! the commit is there, and a process that dies in between finds in the record what it was about to do.

use super::decide::Draft;
use crate::flow::{Phase, Refusal, Stage};
use crate::gate::reconcile::repair::Rewritten;
use crate::ledger::Body;
use crate::ledger::record::Mended;
use crate::policy::Repairs;

/// Records what is put right, once for each head that RECONCILE waits on.
pub(super) fn record(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let state = &draft.state;
    let (Some(pipeline), Some(subject)) = (&state.pipeline, &draft.world.subject) else { return Ok(()) };
    let wanted = draft.world.policy().is_some_and(|policy| policy.gates.reconcile.repairs == Repairs::Commit);
    let may = wanted && draft.world.commits && !draft.world.pull.fork && state.open && state.stopped.is_none();
    // What nobody has approved yet is theirs to write: a look that somebody asks for meanwhile writes nothing.
    let passed = [Phase::Build, Phase::Review].into_iter().all(|gate| pipeline.holds(gate));
    let waits = pipeline.stage == Stage::Reconciling && pipeline.return_to.is_none() && passed;
    let done = state.repairs.iter().any(|repair| repair.head == subject.about.head);
    let Some(repair) = subject.repair.as_ref().filter(|_| may && waits && !done) else { return Ok(()) };
    let mended = |file: &Rewritten| Mended { path: file.path.to_owned(), was: file.was.clone(), is: file.is.clone() };
    let files = repair.files.iter().map(mended).collect();
    draft.bot(Body::Repaired { files })
}
