//! The anchors on the merge check: what witnesses how long the chains of records were. Nobody but the App can write there.

use crate::gate::merge::CHECK_NAME;
use crate::github::calls::checks::CheckRun;
use crate::ledger::Anchors;

/// The anchors on our merge checks among these runs, of each change the newest.
pub fn anchors(runs: &[CheckRun], app: u64) -> Anchors {
    let ours = |run: &&CheckRun| run.name == CHECK_NAME && run.app.as_ref().is_some_and(|made_by| made_by.id == app);
    runs.iter().filter(ours).map(carried).fold(Anchors::default(), Anchors::newest)
}

/// What a run of ours carries.
pub(super) fn carried(run: &CheckRun) -> Anchors {
    Anchors::read(&run.external_id)
}
