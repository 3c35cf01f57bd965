//! Workflow runs and their jobs, and asking a workflow to run.

use serde_json::json;

use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;
use super::super::view::node;

const READ: Access = Access::Repo(&[("actions", Level::Read)], Role::Read);
const WRITE: Access = Access::Repo(&[("actions", Level::Write)], Role::Write);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}/actions/runs", access: READ, run: list },
    Route { method: "GET", path: "/repos/{owner}/{repo}/actions/runs/{id}", access: READ, run: get },
    Route { method: "DELETE", path: "/repos/{owner}/{repo}/actions/runs/{id}", access: WRITE, run: delete },
    Route { method: "GET", path: "/repos/{owner}/{repo}/actions/runs/{id}/jobs", access: READ, run: jobs },
    Route { method: "GET", path: "/repos/{owner}/{repo}/actions/jobs/{id}", access: READ, run: job },
    Route {
        method: "GET",
        path: "/repos/{owner}/{repo}/actions/workflows/{workflow}/runs",
        access: READ,
        run: of_file,
    },
    Route {
        method: "POST",
        path: "/repos/{owner}/{repo}/actions/workflows/{workflow}/dispatches",
        access: WRITE,
        run: dispatch,
    },
];

/// The runs of one workflow, by its number or its file's name.
fn of_file(state: &mut State, call: &Call) -> Answer {
    let (repo, workflow) = (state.repo(call.repo)?, call.param("workflow"));
    let is_it = |run: &WorkflowRun| run.workflow.to_string() == workflow || run.path.ends_with(&format!("/{workflow}"));
    let known = repo.workflow_runs.values().any(is_it)
        || repo.workflows.values().any(|one| one.path.ends_with(&format!("/{workflow}")))
        || on_default(state, call.repo, workflow)?.is_some();
    if !known {
        return Err(Problem::not_found());
    }
    let fits = |run: &&WorkflowRun| is_it(run) && call.query("event").is_none_or(|event| event == run.event);
    let found = repo.workflow_runs.values().rev().filter(fits);
    Ok(Reply::Counted("workflow_runs", found.map(|run| state.workflow_run_json(repo, run)).collect()))
}

/// A workflow's file on the default branch.
fn on_default(state: &State, repo: u64, file: &str) -> Result<Option<String>, Problem> {
    let git = state.git(repo)?;
    let tip = git.branch(&state.repo(repo)?.default_branch);
    Ok(tip.and_then(|tip| git.text(tip, &format!(".github/workflows/{file}"))))
}

fn list(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let suite = call.query("check_suite_id").and_then(|text| text.parse::<u64>().ok());
    let fits = |name: &str, value: &str| call.query(name).is_none_or(|wanted| wanted == value);
    let found = repo
        .workflow_runs
        .values()
        .rev()
        .filter(|run| suite.is_none_or(|suite| run.suite == suite) && fits("head_sha", &run.head_sha))
        .filter(|run| fits("event", &run.event) && fits("branch", run.head_branch.as_deref().unwrap_or_default()))
        .filter(|run| {
            // `status` takes a conclusion, too.
            fits("status", &run.status) || call.query("status") == run.conclusion.as_deref()
        });
    Ok(Reply::Counted("workflow_runs", found.map(|run| state.workflow_run_json(repo, run)).collect()))
}

fn find<'a>(state: &'a State, call: &Call) -> Result<&'a WorkflowRun, Problem> {
    state.repo(call.repo)?.workflow_runs.get(&call.number("id")).ok_or_else(Problem::not_found)
}

fn get(state: &mut State, call: &Call) -> Answer {
    Ok(Reply::Ok(state.workflow_run_json(state.repo(call.repo)?, find(state, call)?)))
}

/// A run that is deleted takes its jobs, its suite and their check runs along.
fn delete(state: &mut State, call: &Call) -> Answer {
    let run = find(state, call)?.clone();
    if run.status != "completed" {
        return Err(Problem::new(403, "Cannot delete a workflow run that has not completed"));
    }
    let repo = state.repo_mut(call.repo)?;
    repo.workflow_runs.remove(&run.id);
    repo.suites.remove(&run.suite);
    repo.jobs.retain(|id, _| !run.jobs.contains(id));
    repo.artifacts.retain(|_, one| one.run != run.id);
    repo.check_runs.retain(|id, _| !run.jobs.contains(id));
    Ok(Reply::NoContent)
}

fn jobs(state: &mut State, call: &Call) -> Answer {
    let (repo, run) = (state.repo(call.repo)?, find(state, call)?);
    let all = call.query("filter") == Some("all");
    let jobs = run.jobs.iter().filter_map(|id| repo.jobs.get_key_value(id));
    let jobs = jobs.filter(|(_, job)| all || job.attempt == run.attempt);
    Ok(Reply::Counted("jobs", jobs.map(|job| state.job_json(repo, run, job)).collect()))
}

fn job(state: &mut State, call: &Call) -> Answer {
    let (repo, id) = (state.repo(call.repo)?, call.number("id"));
    let run = repo.workflow_runs.values().find(|run| run.jobs.contains(&id)).ok_or_else(Problem::not_found)?;
    let job = repo.jobs.get_key_value(&id).ok_or_else(Problem::not_found)?;
    Ok(Reply::Ok(state.job_json(repo, run, job)))
}

fn dispatch(state: &mut State, call: &Call) -> Answer {
    let sender = call.account()?;
    let repo = state.repo(call.repo)?;
    let git = state.git(call.repo)?;
    let workflow = call.param("workflow").to_owned();
    let reference = call.required("WorkflowDispatch", "ref")?.to_owned();
    let tip = git.resolve(&reference).ok_or_else(|| Problem::invalid(format!("No ref found for: {reference}")))?;
    // By number for one that has run, by file name for one that is on the default branch.
    let file = repo
        .workflows
        .values()
        .find(|one| one.id.to_string() == workflow || one.path.ends_with(&format!("/{workflow}")));
    let path = match file {
        Some(known) => known.path.clone(),
        None => format!(".github/workflows/{workflow}"),
    };
    if file.is_none() && on_default(state, call.repo, &workflow)?.is_none() {
        return Err(Problem::not_found());
    }
    let text = git.text(tip, &path).ok_or_else(Problem::not_found)?;
    if !text.contains("workflow_dispatch") {
        return Err(Problem::invalid("Workflow does not have 'workflow_dispatch' trigger"));
    }
    let inputs = call.body.get("inputs").cloned().unwrap_or_else(|| json!({}));
    if inputs.as_object().is_some_and(|inputs| inputs.len() > 25) {
        return Err(Problem::invalid("Invalid request.\n\nNo more than 25 properties are allowed; inputs has more."));
    }
    let given: Vec<(String, String)> = inputs.as_object().into_iter().flatten().map(text_of).collect();
    let declared = |name: &str| text.lines().any(|line| line.trim_start().starts_with(&format!("{name}:")));
    if let Some((name, _)) = given.iter().find(|(name, _)| !declared(name)) {
        return Err(Problem::invalid(format!("Unexpected inputs provided: [\"{name}\"]")));
    }
    let named = given.iter().map(|(input, value)| (format!("inputs.{input}"), value.clone())).collect::<Vec<_>>();
    let title = titled(&text, &named);
    let (tip, branch) = (tip.to_string(), reference.trim_start_matches("refs/heads/"));
    // Of a tag it is not said that it is one.
    let branch = branch.trim_start_matches("refs/tags/").to_owned();
    let run = state.begin(call.repo, "workflow_dispatch", (&tip, branch), &path, title, &sender)?;
    let at = state.now();
    state.repo_mut(call.repo)?.dispatches.push(Dispatch {
        run: Some(run),
        workflow: Some(workflow),
        event_type: None,
        reference: Some(reference),
        inputs,
        sender,
        at,
    });
    Ok(Reply::NoContent)
}

fn text_of((name, value): (&String, &serde_json::Value)) -> (String, String) {
    (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// What a file's `run-name` makes of these.
fn titled(file: &str, values: &[(String, String)]) -> Option<String> {
    let name = file.lines().find_map(|line| line.strip_prefix("run-name:"))?;
    let name = name.trim().trim_matches(['"', '\'']).to_owned();
    Some(values.iter().fold(name, |name, (what, value)| name.replace(&format!("${{{{ {what} }}}}"), value)))
}

/// A run of a workflow, as it is told.
pub(crate) struct Ran<'a> {
    /// Where it was given out before.
    pub(crate) id: Option<u64>,
    pub(crate) sha: &'a str,
    pub(crate) path: &'a str,
    pub(crate) event: &'a str,
    /// The branch and the title of one that somebody asked for.
    pub(crate) asked: Option<(&'a str, &'a str)>,
    /// Each with how it ended; none while it runs.
    pub(crate) jobs: &'a [(String, Option<String>)],
}

impl State {
    /// A run begins on a branch. What becomes of it is told later.
    fn begin(
        &mut self,
        repo: u64,
        event: &str,
        (sha, branch): (&str, String),
        path: &str,
        title: Option<String>,
        actor: &Account,
    ) -> Result<u64, Problem> {
        let title = title.unwrap_or_else(|| path.to_owned());
        let (asked, jobs) = (Some((branch.as_str(), title.as_str())), &[("execute".to_owned(), None)]);
        self.record_workflow_run(repo, &Ran { id: None, sha, path, event, asked, jobs }, actor)
    }

    /// A run of the default branch's file that the end of another on this commit has started.
    pub(crate) fn begin_after(&mut self, repo: u64, path: &str, head: &str) -> Result<u64, Problem> {
        let file = path.rsplit('/').next().unwrap_or(path);
        let text = on_default(self, repo, file)?.filter(|text| text.contains("workflow_run"));
        let text = text.ok_or_else(|| Problem::invalid("Workflow does not have 'workflow_run' trigger"))?;
        let title = titled(&text, &[("github.event.workflow_run.head_sha".to_owned(), head.to_owned())]);
        let (actor, branch) = (self.repo(repo)?.owner.clone(), self.repo(repo)?.default_branch.clone());
        let tip = self.git(repo)?.branch(&branch).ok_or_else(Problem::not_found)?.to_string();
        self.begin(repo, "workflow_run", (&tip, branch), path, title, &actor)
    }

    /// The jobs of a run that was going on have ended so.
    pub(crate) fn end_run(&mut self, repo: u64, id: u64, conclusion: &str) -> Result<(), Problem> {
        let at = self.now();
        let about = self.repo_mut(repo)?;
        let run = about.workflow_runs.get_mut(&id).ok_or_else(Problem::not_found)?;
        (run.status, run.conclusion, run.updated_at) = ("completed".into(), Some(conclusion.to_owned()), at);
        let (actor, jobs) = (run.actor.clone(), run.jobs.clone());
        for job in jobs {
            if let Some(known) = about.jobs.get_mut(&job).filter(|job| job.conclusion.is_none()) {
                (known.status, known.conclusion) = ("completed".into(), Some(conclusion.to_owned()));
                known.completed_at = Some(at);
            }
            if let Some(check) = about.check_runs.get_mut(&job).filter(|check| check.conclusion.is_none()) {
                (check.status, check.conclusion) = ("completed".into(), Some(conclusion.to_owned()));
                check.completed_at = Some(at);
            }
        }
        self.tell_workflow_run(repo, id, "completed", &actor)
    }

    /// A workflow run has come to this: the run, its suite, and a check run for each job, whose id is the job's.
    pub(crate) fn record_workflow_run(&mut self, repo: u64, ran: &Ran<'_>, actor: &Account) -> Result<u64, Problem> {
        let Ran { id, sha, path, event, asked, jobs } = *ran;
        let at = self.tick();
        let suite = self.new_suite(repo, ACTIONS_APP, sha, None)?;
        let known = self.repo(repo)?.workflows.values().find(|one| one.path == path).map(|one| one.id);
        let workflow = match known {
            Some(id) => id,
            None => {
                let id = self.new_id();
                self.repo_mut(repo)?.workflows.insert(id, Workflow { id, path: path.to_owned() });
                id
            }
        };
        let id = id.unwrap_or_else(|| self.new_id());
        let about = self.repo(repo)?;
        // A run for a pull request is one for its branch; where several have this head, for the newest from here.
        let pulls = about.pulls_at(sha).filter(|_| event.starts_with("pull_request"));
        let pull = pulls.max_by_key(|(issue, pull)| (pull.head_repo == repo, issue.number));
        let (head_repo, head_branch) = match pull {
            _ if asked.is_some() => (repo, asked.map(|(branch, _)| branch.to_owned())),
            Some((_, pull)) => (pull.head_repo, Some(pull.head_ref.clone())),
            None => (repo, about.suites.get(&suite).and_then(|suite| suite.head_branch.clone())),
        };
        let run_number = about.workflow_runs.values().filter(|run| run.workflow == workflow).count() as u64 + 1;
        let file = path.rsplit('/').next().unwrap_or(path);
        let name = file.trim_end_matches(".yml").trim_end_matches(".yaml").to_owned();
        let run = WorkflowRun {
            id,
            workflow,
            title: asked.map_or_else(|| name.clone(), |(_, title)| title.to_owned()),
            name,
            path: path.to_owned(),
            event: event.to_owned(),
            run_number,
            suite,
            head_sha: sha.to_owned(),
            head_branch,
            head_repo,
            status: "in_progress".into(),
            conclusion: None,
            actor: actor.clone(),
            attempt: 0,
            jobs: Vec::new(),
            created_at: at,
            started_at: at,
            updated_at: at,
        };
        self.repo_mut(repo)?.workflow_runs.insert(id, run);
        self.attempt(repo, id, jobs, actor)?;
        Ok(id)
    }

    /// Another attempt of a workflow run: these of its jobs run again, and end so.
    pub(crate) fn attempt(
        &mut self,
        repo: u64,
        id: u64,
        jobs: &[(String, Option<String>)],
        actor: &Account,
    ) -> Result<(), Problem> {
        let again = self.repo(repo)?.workflow_runs.get(&id).is_some_and(|run| run.attempt > 0);
        let at = if again { self.tick() } else { self.now() };
        let bot = self.apps.get(&ACTIONS_APP).ok_or_else(Problem::not_found)?.bot.clone();
        let run = self.repo_mut(repo)?.workflow_runs.get_mut(&id).ok_or_else(Problem::not_found)?;
        run.attempt += 1;
        run.started_at = at;
        (run.status, run.conclusion) = ("in_progress".into(), None);
        let (attempt, suite, sha) = (run.attempt, run.suite, run.head_sha.clone());
        self.tell_workflow_run(repo, id, "requested", actor)?;
        // All jobs stand before the first ends, so that the suite ends once.
        let mut standing = Vec::new();
        for (name, conclusion) in jobs {
            let job = self.new_id();
            let details = format!("{}/actions/runs/{id}/job/{job}", self.repo_html(self.repo(repo)?));
            let check = CheckRun {
                id: job,
                suite,
                app: ACTIONS_APP,
                name: name.clone(),
                head_sha: sha.clone(),
                external_id: Some(uuid::Uuid::new_v4().to_string()),
                details_url: Some(details),
                status: "in_progress".into(),
                conclusion: None,
                started_at: at,
                completed_at: None,
                title: None,
                summary: None,
                text: None,
                annotations: Vec::new(),
                actions: Vec::new(),
            };
            let about = self.repo_mut(repo)?;
            if let Some(run) = about.workflow_runs.get_mut(&id) {
                run.jobs.push(job);
            }
            let known = Job {
                name: name.clone(),
                attempt,
                status: "in_progress".into(),
                conclusion: None,
                started_at: at,
                completed_at: None,
            };
            about.jobs.insert(job, known);
            self.put_run(repo, check.clone(), None, &bot)?;
            standing.push((check, conclusion.clone()));
        }
        for (check, conclusion) in standing {
            if conclusion.is_some() {
                let done = CheckRun { status: "completed".into(), conclusion, completed_at: Some(self.now()), ..check };
                if let Some(job) = self.repo_mut(repo)?.jobs.get_mut(&done.id) {
                    (job.status, job.conclusion) = (done.status.clone(), done.conclusion.clone());
                    job.completed_at = done.completed_at;
                }
                self.put_run(repo, done, Some("in_progress"), &bot)?;
            }
        }
        let about = self.repo(repo)?;
        let outcome = about.suites.get(&suite).map(|suite| Self::suite_outcome(about, suite));
        if let Some(("completed", conclusion)) = outcome {
            if let Some(run) = self.repo_mut(repo)?.workflow_runs.get_mut(&id) {
                run.status = "completed".into();
                run.conclusion = conclusion.map(str::to_owned);
                run.updated_at = at;
            }
            self.tell_workflow_run(repo, id, "completed", actor)?;
        }
        Ok(())
    }

    fn tell_workflow_run(&mut self, repo: u64, run: u64, action: &str, by: &Account) -> Result<(), Problem> {
        let about = self.repo(repo)?;
        let run = about.workflow_runs.get(&run).ok_or_else(Problem::not_found)?;
        let url = format!("{}/actions/workflows/{}", self.repo_api(about), run.workflow);
        let page = format!("{}/blob/{}/{}", self.repo_html(about), about.default_branch, run.path);
        let workflow = json!({
            "id": run.workflow, "node_id": node("W", run.workflow), "name": run.name, "path": run.path,
            "state": "active", "created_at": about.created_at, "updated_at": about.created_at, "url": url,
            "html_url": page, "badge_url": format!("{page}/badge.svg"),
        });
        let fields = json!({"workflow_run": self.workflow_run_json(about, run), "workflow": workflow});
        self.emit(repo, "workflow_run", Some(action), by, fields);
        Ok(())
    }
}
