//! Runs of the trusted workflow that the records ask for: each is started once, and looked for.
//!
//! GitHub takes a wish for a run without saying which run it becomes. So the workflow's `run-name` bears the nonce: before a run
//! is started it is looked for by that, and a wish that nobody knows the fate of is not made twice. Should two come of one all
//! the same, the first that answers counts, and the other is told so.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::pass::Pass;
use super::route::Halt;
use crate::gate::asked::open;
use crate::gate::world::{AskedRun, World};
use crate::github::Error;
use crate::github::calls::actions::WorkflowRun;
use crate::ids::Digest;
use crate::ledger::State;
use crate::ledger::state::Asked;
use crate::surface::sync::Memory as _;

/// What the run for a nonce is called, by the template's `run-name`.
pub(super) fn title(change: u64, nonce: &Digest) -> String {
    format!("Phasegate verify #{change} {nonce}")
}

/// The file's name, by which the API knows a workflow.
fn file(workflow: &str) -> &str {
    workflow.rsplit('/').next().unwrap_or(workflow)
}

/// The file that a run is of. Some answers carry the ref behind the path.
pub(super) fn path_of(run: &WorkflowRun) -> &str {
    match run.path.rsplit_once('@') {
        Some((path, name)) if name.starts_with("refs/") => path,
        _ => run.path.as_str(),
    }
}

/// So long after it was started a run is taken to be on its way.
const UNDER_WAY: SignedDuration = SignedDuration::from_mins(10);

fn sent_key(nonce: &Digest) -> String {
    format!("asked:{nonce}")
}

fn refused_key(nonce: &Digest) -> String {
    format!("unasked:{nonce}")
}

impl Pass<'_> {
    /// What GitHub tells of the run that is waited for.
    pub(super) async fn asked_run(&self, state: Option<&State>) -> Result<AskedRun, Halt> {
        match state.filter(|state| state.open).and_then(open) {
            Some(asked) if self.app.takes_evidence() => self.seen(state.map_or(0, |state| state.change.0), asked).await,
            _ => Ok(AskedRun::Unseen),
        }
    }

    async fn seen(&self, change: u64, asked: &Asked) -> Result<AskedRun, Halt> {
        if let Some(why) = self.memory.recall(&refused_key(&asked.nonce)).await {
            return Ok(AskedRun::Refused(why));
        }
        let runs = match self.repo.dispatched(file(&asked.workflow)).await {
            Ok(runs) => runs,
            Err(Error::NotFound { .. } | Error::NoEndpoint { .. }) => return Ok(AskedRun::Unseen),
            Err(error) => return Err(error.into()),
        };
        let title = title(change, &asked.nonce);
        let found = runs.into_iter().find(|run| run.display_title == title && path_of(run) == asked.workflow);
        Ok(match found {
            Some(run) => AskedRun::Seen { run: run.id, ended: run.conclusion.filter(|_| run.status == "completed") },
            None => AskedRun::Unseen,
        })
    }

    /// Starts the run that is waited for, where it is not on its way.
    pub(super) async fn start_asked(&self, state: &State, world: &mut World) -> Result<(), Halt> {
        let Some(asked) = open(state).filter(|_| state.open && self.app.takes_evidence()) else { return Ok(()) };
        let (key, now) = (sent_key(&asked.nonce), self.app.inbox.now());
        let sent = self.memory.recall(&key).await.and_then(|at| at.parse::<jiff::Timestamp>().ok());
        if sent.is_some_and(|sent| now.duration_since(sent) < UNDER_WAY) {
            return Ok(());
        }
        world.asked_run = self.seen(state.change.0, asked).await?;
        if world.asked_run != AskedRun::Unseen {
            return Ok(());
        }
        let about = &asked.about;
        let inputs = BTreeMap::from([
            ("change", state.change.0.to_string()),
            ("base", about.base.to_string()),
            ("head", about.head.to_string()),
            ("nonce", asked.nonce.to_string()),
        ]);
        match self.repo.dispatch(file(&asked.workflow), &self.home.default_branch, &inputs).await {
            Ok(()) => self.memory.keep(&key, &now.to_string()).await,
            // Nobody but a person can do something about these.
            Err(
                error @ (Error::NotFound { .. }
                | Error::NoEndpoint { .. }
                | Error::Forbidden { .. }
                | Error::Unprocessable { .. }),
            ) => {
                let why = error.to_string();
                self.memory.keep(&refused_key(&asked.nonce), &why).await;
                world.asked_run = AskedRun::Refused(why);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
