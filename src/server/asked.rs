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
use crate::github::calls::actions::WorkflowRun;
use crate::github::{Error, Repo};
use crate::ids::Digest;
use crate::ledger::State;
use crate::ledger::state::Asked;
use crate::policy::{Source, Start};
use crate::surface::sync::Memory as _;

/// What the run for this is called, by its template's `run-name`. One that the App starts bears the nonce. One that another run's end
/// starts knows of that run's commit, and of nothing that was asked for.
pub(super) fn title(start: Start, change: u64, asked: &Asked) -> String {
    match start {
        Start::App => format!("Phasegate verify #{change} {}", asked.nonce),
        Start::WorkflowRun => format!("Phasegate verify {}", asked.about.head),
    }
}

/// The runs of the trusted workflow that could be for this, newest first: those that bear its title, less those that have answered
/// before.
pub(super) async fn runs_for(
    repo: &Repo,
    start: Start,
    state: &State,
    asked: &Asked,
) -> crate::github::Result<Vec<WorkflowRun>> {
    let mut runs = match repo.runs_of(file(&asked.workflow), start.event()).await {
        Err(Error::NotFound { .. } | Error::NoEndpoint { .. }) => return Ok(Vec::new()),
        runs => runs?,
    };
    let title = title(start, state.change.0, asked);
    // One whose jobs were all skipped has run nothing: so ends what is started by a push of the same commit.
    let ran = |run: &WorkflowRun| run.conclusion.as_deref() != Some("skipped");
    runs.retain(|run| run.display_title == title && ran(run) && !has_answered(state, run.id, run.run_attempt));
    Ok(runs)
}

/// Whether this attempt of a run was an answer already. A run that the App did not start bears no nonce, and it is good for one.
pub(super) fn has_answered(state: &State, run: u64, attempt: u64) -> bool {
    let mut answers = state.asked.iter().filter_map(|asked| asked.answer.as_ref());
    answers.any(|answer| (answer.by.run, u64::from(answer.by.attempt)) == (run, attempt))
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
        let mut looked = self.seen(state, asked).await?;
        if looked.seen == AskedRun::Unseen && self.is_ours_to_start() && !self.app.remembers() {
            // Nobody remembers whether it could be started. What it comes to is to be known before anything is decided.
            looked.seen = self.dispatch(state.change.0, asked).await?;
        }
        Ok(looked)
    }

    pub(super) fn start(&self) -> Start {
        self.policy().map_or(Start::App, |policy| policy.gates.verify.start)
    }

    fn is_ours_to_start(&self) -> bool {
        let verify = self.policy().map(|policy| &policy.gates.verify);
        verify.is_some_and(|verify| verify.has(Source::Actions) && verify.start == Start::App)
    }

    async fn seen(&self, state: &State, asked: &Asked) -> Result<Looked, Halt> {
        if let Some(why) = self.memory.recall(&refused_key(&asked.nonce)).await {
            return Ok(Looked { seen: AskedRun::Refused(why), ..Looked::default() });
        }
        let (start, mut looked) = (self.start(), Looked::default());
        let asking = Asking { home: self.home, change: state.change.0, asked, start, frozen: state.frozen.is_some() };
        // Anybody who may write can start a run under this title, with another file on another branch.
        for run in runs_for(&self.repo, start, state, asked).await? {
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
        world.asked_run = self.seen(state, asked).await?.seen;
        if world.asked_run == AskedRun::Unseen && self.is_ours_to_start() {
            world.asked_run = self.dispatch(state.change.0, asked).await?;
        }
        Ok(())
    }

    /// Whether it was started a moment ago.
    async fn is_under_way(&self, asked: &Asked) -> bool {
        let sent = self.memory.recall(&sent_key(&asked.nonce)).await.and_then(|at| at.parse::<jiff::Timestamp>().ok());
        sent.is_some_and(|sent| self.app.inbox.now().duration_since(sent) < UNDER_WAY)
    }

    /// Starts a run that nobody has seen.
    async fn dispatch(&self, change: u64, asked: &Asked) -> Result<AskedRun, Halt> {
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
