//! Passes that are asked of an agent by starting a workflow: each is started once.
//!
//! GitHub takes a wish for a run without saying which run it becomes. So the workflow's `run-name` bears the change and the pass, and
//! before a run is started it is looked for by that; one whose wish was made a moment ago is on its way. Where it can't be started the pass
//! is over. A comment that asks an agent is one of the answers, and written as these are.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::pass::{Pass, Raced};
use super::route::Halt;
use crate::engine::Happened;
use crate::gate::world::World;
use crate::github::Error;
use crate::ledger::State;
use crate::ledger::task::{Begun, Task};
use crate::policy::{Adapter, Role};
use crate::surface::pass_request;
use crate::surface::sync::Memory as _;

/// A wish that is older is not made again: the pass ends when its time is over, and the next one is another wish.
const UNDER_WAY: SignedDuration = SignedDuration::from_mins(10);

/// What the run of a pass is called, by its `run-name`.
fn title(change: u64, pass: u32) -> String {
    format!("Phasegate pass #{change} {pass}")
}

fn sent_key(change: u64, pass: u32) -> String {
    format!("pass:{change}:{pass}")
}

fn refused_key(change: u64, pass: u32) -> String {
    format!("unpassed:{change}:{pass}")
}

/// The pass that is open.
fn open(state: &State) -> Option<(&Task, &Begun)> {
    let task = state.task.as_deref().filter(|_| state.open)?;
    Some((task, task.open.as_ref()?))
}

impl Pass<'_> {
    /// What keeps the pass that is open from being made.
    pub(super) async fn unreached(&self, state: &State) -> Option<Happened> {
        let (_, begun) = open(state)?;
        let why = self.memory.recall(&refused_key(state.change.0, begun.pass)).await?;
        Some(Happened::Unreached { pass: begun.pass, why })
    }

    /// Starts the workflow for the pass that is open, where that is how the agent is reached. Says whether it can't be, so that this is to be
    /// looked at again.
    pub(super) async fn start_pass(&self, state: &State, world: &World) -> Result<Raced, Halt> {
        let no = Raced::No(super::kin::Moved::default());
        let agent = self.policy().and_then(|policy| policy.agents.of(Role::Main));
        let Some(Adapter::Workflow(workflow)) = agent.map(|agent| agent.adapter()) else { return Ok(no) };
        let Some((task, begun)) = open(state) else { return Ok(no) };
        let (change, pass) = (state.change.0, begun.pass);
        let (sent, refused) = (sent_key(change, pass), refused_key(change, pass));
        let old = begun.at.is_none_or(|at| self.app.inbox.now().duration_since(at) > UNDER_WAY);
        if old || self.memory.recall(&sent).await.is_some() || self.memory.recall(&refused).await.is_some() {
            return Ok(no);
        }
        let file = workflow.rsplit('/').next().unwrap_or(workflow);
        let there = match self.repo.runs_of(file, "workflow_dispatch").await {
            Err(Error::NotFound { .. } | Error::NoEndpoint { .. }) => Vec::new(),
            runs => runs?,
        };
        if there.iter().any(|run| run.display_title == title(change, pass)) {
            self.memory.keep(&sent, "seen").await;
            return Ok(no);
        }
        let branch = world.pull.branch.as_ref().map(|branch| branch.name.clone()).unwrap_or_default();
        let inputs = BTreeMap::from([
            ("change", change.to_string()),
            ("pass", pass.to_string()),
            ("branch", branch),
            ("head", world.pull.head.to_string()),
            ("prompt", pass_request(state, task, world)),
        ]);
        match self.repo.dispatch(file, &self.home.default_branch, &inputs).await {
            Ok(()) => {
                self.memory.keep(&sent, "sent").await;
                Ok(no)
            }
            Err(error) if error.is_for_a_person() => {
                self.memory.keep(&refused, &error.to_string()).await;
                // A run in a workflow remembers that no longer than it lasts, and looks again at once.
                Ok(Raced::Yes)
            }
            Err(error) => Err(error.into()),
        }
    }
}
