//! Runs of the trusted workflow that the records ask for: each is started once, and looked for.
//!
//! GitHub takes a wish for a run without saying which run it becomes. So the workflow's `run-name` bears the nonce: before a run
//! is started it is looked for by that, and a wish that nobody knows the fate of is not made twice. Should two come of one all
//! the same, the first that answers counts, and the other is told so.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::pass::Pass;
use super::proof::{Asking, Refused};
use super::route::Halt;
use crate::gate::asked::open;
use crate::gate::world::{AskedRun, World};
use crate::github::Error;
use crate::github::calls::actions::WorkflowRun;
use crate::ids::Digest;
use crate::ledger::State;
use crate::ledger::state::Asked;
use crate::policy::Source;
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

/// What is there under the nonce that is waited for.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) seen: AskedRun,
    /// The runs that were started for it, newest first: one, unless a person has started another.
    pub(super) runs: Vec<WorkflowRun>,
    /// Runs that only bear its title, newest first.
    pub(super) others: Vec<(WorkflowRun, Refused)>,
}

/// So many runs are looked at of either kind.
const MOST_RUNS: usize = 3;

/// A run as the gates know it.
pub(super) fn known(run: &WorkflowRun, refused: Option<String>) -> AskedRun {
    let ended = run.conclusion.clone().filter(|_| run.status == "completed");
    AskedRun::Seen { run: run.id, page: run.html_url.clone(), ended, refused }
}

impl Pass<'_> {
    /// What GitHub tells of the run that is waited for.
    pub(super) async fn asked_run(&self, state: Option<&State>) -> Result<Looked, Halt> {
        let waited_for = state.filter(|state| state.open).and_then(|state| open(state, Source::Actions));
        let waited_for = waited_for.filter(|_| self.app.takes_evidence());
        let (Some(state), Some(asked)) = (state, waited_for) else { return Ok(Looked::default()) };
        let mut looked = self.seen(state.change.0, asked).await?;
        let wanted = self.policy().is_some_and(|policy| policy.gates.verify.has(Source::Actions));
        if looked.seen == AskedRun::Unseen && wanted && !self.app.remembers() {
            // Nobody remembers whether it could be started. What it comes to is to be known before anything is decided.
            looked.seen = self.start(state.change.0, asked).await?;
        }
        Ok(looked)
    }

    async fn seen(&self, change: u64, asked: &Asked) -> Result<Looked, Halt> {
        if let Some(why) = self.memory.recall(&refused_key(&asked.nonce)).await {
            return Ok(Looked { seen: AskedRun::Refused(why), ..Looked::default() });
        }
        let runs = match self.repo.dispatched(file(&asked.workflow)).await {
            Ok(runs) => runs,
            Err(Error::NotFound { .. } | Error::NoEndpoint { .. }) => return Ok(Looked::default()),
            Err(error) => return Err(error.into()),
        };
        let (title, asking) = (title(change, &asked.nonce), Asking { home: self.home, change, asked });
        let mut looked = Looked::default();
        // Anybody who may write can start a run under this title, with another file on another branch.
        for run in runs.into_iter().filter(|run| run.display_title == title) {
            match asking.is_answered_by(&run) {
                Ok(()) => looked.runs.push(run),
                Err(refused) => looked.others.push((run, refused)),
            }
        }
        looked.runs.truncate(MOST_RUNS);
        looked.others.truncate(MOST_RUNS);
        if let Some(run) = looked.runs.first() {
            looked.seen = known(run, None);
        }
        Ok(looked)
    }

    /// Starts the run that is waited for, where it is not on its way. What the world knows is of the one that was waited for
    /// before.
    pub(super) async fn start_asked(
        &self,
        before: Option<&State>,
        state: &State,
        world: &mut World,
    ) -> Result<(), Halt> {
        let open = |state| open(state, Source::Actions);
        let Some(asked) = open(state).filter(|_| state.open && self.app.takes_evidence()) else { return Ok(()) };
        if before.and_then(open).is_none_or(|before| before.nonce != asked.nonce) {
            world.asked_run = AskedRun::Unseen;
        }
        if world.asked_run != AskedRun::Unseen || self.is_under_way(asked).await {
            return Ok(());
        }
        world.asked_run = self.seen(state.change.0, asked).await?.seen;
        if world.asked_run == AskedRun::Unseen {
            world.asked_run = self.start(state.change.0, asked).await?;
        }
        Ok(())
    }

    /// Whether it was started a moment ago.
    async fn is_under_way(&self, asked: &Asked) -> bool {
        let sent = self.memory.recall(&sent_key(&asked.nonce)).await.and_then(|at| at.parse::<jiff::Timestamp>().ok());
        sent.is_some_and(|sent| self.app.inbox.now().duration_since(sent) < UNDER_WAY)
    }

    /// Starts a run that nobody has seen.
    async fn start(&self, change: u64, asked: &Asked) -> Result<AskedRun, Halt> {
        if self.is_under_way(asked).await {
            return Ok(AskedRun::Unseen);
        }
        let about = &asked.about;
        let inputs = BTreeMap::from([
            ("change", change.to_string()),
            ("base", about.base.to_string()),
            ("head", about.head.to_string()),
            ("nonce", asked.nonce.to_string()),
        ]);
        match self.repo.dispatch(file(&asked.workflow), &self.home.default_branch, &inputs).await {
            Ok(()) => {
                self.memory.keep(&sent_key(&asked.nonce), &self.app.inbox.now().to_string()).await;
                Ok(AskedRun::Unseen)
            }
            Err(error) if error.is_for_a_person() => {
                let why = error.to_string();
                self.memory.keep(&refused_key(&asked.nonce), &why).await;
                Ok(AskedRun::Refused(why))
            }
            Err(error) => Err(error.into()),
        }
    }
}
