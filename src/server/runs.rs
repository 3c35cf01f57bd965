//! What ran on a commit: its check runs, and the jobs of its workflow runs.
//!
//! A workflow's token may write, rename and end the check runs of Actions' App. So where policy says that a workflow makes
//! a check, Actions itself is asked: which runs there are, of which file, and what became of their jobs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::memory::Kept;
use crate::gate::world::{ACTIONS_APP, ACTIONS_SLUG, CheckRun, WorkflowRun};
use crate::github::calls::actions::{Job, WorkflowRun as Run};
use crate::github::calls::checks::{CheckRun as Listed, Conclusion, Status};
use crate::github::{Error, Repo, Result};
use crate::ids::{CommitId, Digest, RepoId};
use crate::ledger::origin::Branch;
use crate::policy::Policy;
use crate::surface::sync::Memory as _;

#[derive(Debug, Default)]
pub(super) struct Found {
    /// The check runs as they are listed, and the jobs that policy could count in place of theirs.
    pub(super) checks: Vec<CheckRun>,
    /// The workflow runs that there are.
    pub(super) workflow_runs: BTreeSet<u64>,
    /// GitHub does not tell which they are.
    pub(super) untold: bool,
}

/// What Actions told, kept for as long as the list of its check runs is the same.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    listed: Digest,
    workflow_runs: BTreeSet<u64>,
    jobs: Vec<CheckRun>,
}

/// Every check run on a commit; or, where there are more than can be read, our own and that it is so.
pub(super) async fn listed(repo: &Repo, app: u64, commit: &CommitId) -> Result<(Vec<Listed>, bool)> {
    match repo.list_check_runs(commit).await {
        Err(Error::TooMany { .. }) => Ok((repo.check_runs_of(app, commit).await?, true)),
        listed => Ok((listed?, false)),
    }
}

pub(super) async fn on(
    repo: &Repo,
    memory: &Kept,
    commit: &CommitId,
    listed: &[Listed],
    policy: Option<&Policy>,
) -> Result<Found> {
    let mut found = Found { checks: listed.iter().map(plain).collect(), ..Found::default() };
    let made = policy.iter().flat_map(|policy| &policy.gates.verify.checks).filter(|check| check.workflow.is_some());
    let named: BTreeSet<(&str, &str)> =
        made.map(|check| (check.workflow.as_deref().unwrap_or_default(), check.name.as_str())).collect();
    let of_actions: Vec<&Listed> = listed.iter().filter(|run| app(run) == ACTIONS_APP).collect();
    // Every job has a check run: without any there is nothing to ask for.
    if named.is_empty() || of_actions.is_empty() {
        return Ok(found);
    }
    let runs = of_actions.iter().map(|run| format!("{} {:?} {:?} {}", run.id, run.status, run.conclusion, run.name));
    let print = Digest::of_parts(runs.chain(named.iter().map(|(path, name)| format!("{path}\n{name}"))));
    let key = format!("runs:{commit}");
    let kept = memory.recall(&key).await.and_then(|text| serde_json::from_str::<Told>(&text).ok());
    let told = match kept.filter(|told| told.listed == print) {
        Some(told) => told,
        None => {
            let Some((told, ended)) = ask(repo, memory, commit, &of_actions, &named, print).await? else {
                found.untold = true;
                return Ok(found);
            };
            // What still runs will change without a word in that list.
            if ended && let Ok(text) = serde_json::to_string(&told) {
                memory.keep(&key, &text).await;
            }
            told
        }
    };
    // A check run under its job's name says nothing that the job does not; under another name it is one more check.
    found.checks.retain(|run| !told.jobs.iter().any(|job| job.id == run.id && job.name == run.name));
    found.checks.extend(told.jobs);
    found.workflow_runs = told.workflow_runs;
    Ok(found)
}

/// The jobs of every run of a file that policy names; and of others where a check run of theirs has a name that counts, so
/// that it can be said what it is. Also whether all of it has ended. None: GitHub does not tell.
async fn ask(
    repo: &Repo,
    memory: &Kept,
    commit: &CommitId,
    listed: &[&Listed],
    named: &BTreeSet<(&str, &str)>,
    print: Digest,
) -> Result<Option<(Told, bool)>> {
    let Some(runs) = repo.workflow_runs_on(commit).await? else { return Ok(None) };
    let name_counts = |name: &str| named.iter().any(|(_, known)| *known == name);
    let mut told = Told { listed: print, workflow_runs: BTreeSet::new(), jobs: Vec::new() };
    let mut ended = true;
    for run in runs {
        told.workflow_runs.insert(run.id);
        // Some answers carry the ref behind the path. A file's name may have an `@` too, so only a ref is taken off.
        let path = match run.path.rsplit_once('@') {
            Some((path, name)) if name.starts_with("refs/") => path,
            _ => run.path.as_str(),
        };
        let of_this = |check: &&&Listed| check.check_suite.as_ref().map(|suite| suite.id) == run.check_suite_id;
        let counts = named.iter().any(|(known, _)| *known == path);
        if !counts && !listed.iter().filter(of_this).any(|check| name_counts(&check.name)) {
            continue;
        }
        ended &= run.status == "completed";
        for job in jobs(repo, memory, &run).await?.into_iter().filter(|job| name_counts(&job.name)) {
            ended &= job.conclusion.is_some();
            told.jobs.push(CheckRun { job_of: Some(about(&run, path, job.attempt)), ..job.plain() });
        }
    }
    Ok(Some((told, ended)))
}

fn about(run: &Run, path: &str, attempt: u64) -> WorkflowRun {
    let branch = match (&run.head_repository, &run.head_branch) {
        (Some(repo), Some(name)) => Some(Branch { repo: RepoId(repo.id), name: name.clone() }),
        _ => None,
    };
    WorkflowRun {
        id: run.id,
        attempt,
        path: path.to_owned(),
        head: run.head_sha.clone(),
        event: run.event.clone(),
        created_at: run.created_at,
        branch,
    }
}

/// A job, as far as it matters.
#[derive(Debug, Serialize, Deserialize)]
struct Ended {
    id: u64,
    attempt: u64,
    name: String,
    conclusion: Option<String>,
    started_at: Option<jiff::Timestamp>,
}

impl Ended {
    fn of(job: Job) -> Self {
        let conclusion = (job.status == "completed").then(|| job.conclusion.unwrap_or_else(|| "unknown".to_owned()));
        Self { id: job.id, attempt: job.run_attempt, name: job.name, conclusion, started_at: job.started_at }
    }

    fn plain(self) -> CheckRun {
        let Self { id, name, conclusion, started_at, .. } = self;
        CheckRun { id, name, app: ACTIONS_APP, conclusion, started_at, job_of: None }
    }
}

/// The jobs of all attempts of a workflow run. Of an attempt that has ended they are asked for once.
async fn jobs(repo: &Repo, memory: &Kept, run: &Run) -> Result<Vec<Ended>> {
    let key = format!("jobs:{}:{}", run.id, run.run_attempt);
    let kept = memory.recall(&key).await.and_then(|text| serde_json::from_str::<Vec<Ended>>(&text).ok());
    if let Some(kept) = kept.filter(|_| run.status == "completed") {
        return Ok(kept);
    }
    let jobs: Vec<Ended> = repo.jobs(run.id).await?.into_iter().map(Ended::of).collect();
    let ended = run.status == "completed" && jobs.iter().all(|job| job.conclusion.is_some());
    if ended && let Ok(text) = serde_json::to_string(&jobs) {
        memory.keep(&key, &text).await;
    }
    Ok(jobs)
}

/// Whose a check run is, as the gates know it.
fn app(run: &Listed) -> u64 {
    match &run.app {
        None => 0,
        Some(app) if app.slug == ACTIONS_SLUG => ACTIONS_APP,
        // On this server that number is another App's, and nobody's word for Actions.
        Some(app) if app.id == ACTIONS_APP && !app.slug.is_empty() => 0,
        Some(app) => app.id,
    }
}

fn plain(run: &Listed) -> CheckRun {
    CheckRun {
        id: run.id,
        name: run.name.clone(),
        app: app(run),
        conclusion: (run.status == Status::Completed).then(|| conclusion(run.conclusion)),
        started_at: run.started_at,
        job_of: None,
    }
}

fn conclusion(conclusion: Option<Conclusion>) -> String {
    let word = match conclusion {
        Some(Conclusion::Success) => "success",
        Some(Conclusion::Failure) => "failure",
        Some(Conclusion::Neutral) => "neutral",
        Some(Conclusion::Skipped) => "skipped",
        Some(Conclusion::ActionRequired) => "action_required",
        Some(Conclusion::Cancelled) => "cancelled",
        Some(Conclusion::TimedOut) => "timed_out",
        Some(Conclusion::Stale) => "stale",
        Some(Conclusion::StartupFailure) => "startup_failure",
        Some(Conclusion::Unknown) | None => "unknown",
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_is_known_by_its_name_whatever_its_id_is() {
        let run = |app: serde_json::Value| -> Listed {
            let body = serde_json::json!({
                "id": 1, "name": "test", "head_sha": "5bd5f196a46b8222fb7484f05faba41a73cf34bd", "external_id": "",
                "status": "completed", "conclusion": "success", "app": app,
            });
            serde_json::from_value(body).unwrap()
        };
        let of = |id: u64, slug: &str| app(&run(serde_json::json!({ "id": id, "slug": slug })));
        assert_eq!(of(ACTIONS_APP, "github-actions"), ACTIONS_APP);
        assert_eq!(of(4, "github-actions"), ACTIONS_APP, "an Enterprise Server");
        assert_eq!(of(ACTIONS_APP, "impostor"), 0, "that number is somebody else's there");
        assert_eq!(of(99, "scanner"), 99);
        assert_eq!(app(&run(serde_json::json!({ "id": ACTIONS_APP }))), ACTIONS_APP);
        assert_eq!(app(&run(serde_json::Value::Null)), 0);
    }
}
