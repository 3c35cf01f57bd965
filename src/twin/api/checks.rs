//! Check runs and suites. Only Apps write them, and each App only its own.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::auth::Actor;
use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;
use super::super::view::checks::latest;
use super::repos::commit_of;

const READ: Access = Access::Repo(&[("checks", Level::Read)], Role::Read);
const WRITE: Access = Access::Repo(&[("checks", Level::Write)], Role::Read);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "POST", path: "/repos/{owner}/{repo}/check-runs", access: WRITE, run: create },
    Route { method: "GET", path: "/repos/{owner}/{repo}/check-runs/{id}", access: READ, run: get },
    Route { method: "PATCH", path: "/repos/{owner}/{repo}/check-runs/{id}", access: WRITE, run: update },
    Route { method: "GET", path: "/repos/{owner}/{repo}/check-runs/{id}/annotations", access: READ, run: annotations },
    Route {
        method: "POST",
        path: "/repos/{owner}/{repo}/check-runs/{id}/rerequest",
        access: Access::Repo(&[("checks", Level::Write)], Role::Write),
        run: rerequest,
    },
    Route { method: "GET", path: "/repos/{owner}/{repo}/commits/{ref*}/check-runs", access: READ, run: of_commit },
    Route { method: "GET", path: "/repos/{owner}/{repo}/commits/{ref*}/check-suites", access: READ, run: suites },
    Route { method: "GET", path: "/repos/{owner}/{repo}/check-suites/{id}", access: READ, run: suite },
    Route { method: "GET", path: "/repos/{owner}/{repo}/check-suites/{id}/check-runs", access: READ, run: of_suite },
];

const STATUSES: &[&str] = &["queued", "in_progress", "completed", "waiting", "requested", "pending"];
const CONCLUSIONS: &[&str] =
    &["action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"];

fn writer(call: &Call) -> Result<u64, Problem> {
    match &call.actor {
        Actor::Installation { scope, .. } => Ok(scope.app),
        _ => Err(Problem::new(403, "You must authenticate via a GitHub App.")),
    }
}

fn too_long(field: &str, limit: usize) -> Problem {
    let told = format!("Invalid request.\n\nOnly {limit} characters are allowed; {field} was supplied with more.");
    Problem::invalid(told)
}

/// Lays what a request says over a run, within GitHub's limits.
fn apply(run: &mut CheckRun, call: &Call, now: Timestamp) -> Result<(), Problem> {
    if let Some(name) = call.text("name") {
        run.name = name.to_owned();
    }
    if let Some(url) = call.text("details_url") {
        run.details_url = Some(url.to_owned());
    }
    if let Some(id) = call.text("external_id") {
        run.external_id = Some(id.to_owned());
    }
    let time = |field: &str| -> Result<Option<Timestamp>, Problem> {
        let invalid = |_| Problem::invalid(format!("Invalid request.\n\n{field} is not a valid date-time."));
        call.text(field).map(|text| text.parse().map_err(invalid)).transpose()
    };
    if let Some(at) = time("started_at")? {
        run.started_at = at;
    }
    if let Some(conclusion) = call.text("conclusion") {
        if !CONCLUSIONS.contains(&conclusion) {
            return Err(Problem::invalid(format!(
                "Invalid request.\n\n{conclusion} is not a member of {CONCLUSIONS:?}."
            )));
        }
        run.conclusion = Some(conclusion.to_owned());
        run.status = "completed".into();
        run.completed_at = Some(time("completed_at")?.unwrap_or(now));
    } else if let Some(status) = call.text("status") {
        if !STATUSES.contains(&status) {
            return Err(Problem::invalid(format!("Invalid request.\n\n{status} is not a member of {STATUSES:?}.")));
        }
        if status == "completed" && run.conclusion.is_none() {
            return Err(Problem::invalid("Invalid request.\n\nMissing required field \"conclusion\"."));
        }
        // A completed run never opens again.
        if run.status != "completed" {
            run.status = status.to_owned();
        }
    }
    if let Some(output) = call.body.get("output").filter(|output| !output.is_null()) {
        apply_output(run, output)?;
    }
    if let Some(actions) = call.body.get("actions").and_then(Value::as_array) {
        run.actions = actions.iter().map(action).collect::<Result<_, _>>()?;
        if run.actions.len() > 3 {
            return Err(Problem::invalid("Invalid request.\n\nNo more than 3 items are allowed; actions has more."));
        }
    }
    Ok(())
}

fn apply_output(run: &mut CheckRun, output: &Value) -> Result<(), Problem> {
    let text = |field: &str| output.get(field).and_then(Value::as_str);
    if text("summary").is_none() {
        return Err(Problem::invalid("Invalid request.\n\n\"summary\" wasn't supplied."));
    }
    if text("title").is_none() && run.title.is_none() {
        return Err(Problem::invalid("Invalid request.\n\n\"title\" wasn't supplied."));
    }
    for field in ["summary", "text"] {
        if text(field).is_some_and(|text| text.chars().count() > 65_535) {
            return Err(too_long(field, 65_535));
        }
    }
    run.title = text("title").map(str::to_owned).or(run.title.take());
    run.summary = text("summary").map(str::to_owned);
    run.text = text("text").map(str::to_owned).or(run.text.take());
    let given = output.get("annotations").and_then(Value::as_array).cloned().unwrap_or_default();
    if given.len() > 50 {
        return Err(Problem::invalid("Invalid request.\n\nNo more than 50 items are allowed; annotations has more."));
    }
    for annotation in &given {
        for field in ["path", "start_line", "end_line", "annotation_level", "message"] {
            if annotation.get(field).is_none_or(Value::is_null) {
                return Err(Problem::invalid(format!("Invalid request.\n\n\"{field}\" wasn't supplied.")));
            }
        }
    }
    run.annotations.extend(given);
    Ok(())
}

fn action(given: &Value) -> Result<CheckAction, Problem> {
    let field = |name: &str, limit: usize| {
        let text = given.get(name).and_then(Value::as_str);
        let text = text.ok_or_else(|| Problem::invalid(format!("Invalid request.\n\n\"{name}\" wasn't supplied.")))?;
        if text.chars().count() > limit { Err(too_long(name, limit)) } else { Ok(text.to_owned()) }
    };
    Ok(CheckAction {
        label: field("label", 20)?,
        description: field("description", 40)?,
        identifier: field("identifier", 20)?,
    })
}

fn create(state: &mut State, call: &Call) -> Answer {
    let (app, by) = (writer(call)?, call.account()?);
    let missing = |field: &str| Problem::invalid(format!("Invalid request.\n\n\"{field}\" wasn't supplied."));
    let name = call.text("name").ok_or_else(|| missing("name"))?.to_owned();
    let sha = call.text("head_sha").ok_or_else(|| missing("head_sha"))?;
    let sha = commit_of(&state.git(call.repo)?, sha)?.to_string();
    let suite = state.suite_for(call.repo, app, &sha, None)?;
    let mut run = CheckRun {
        id: state.new_id(),
        suite,
        app,
        name,
        head_sha: sha,
        external_id: None,
        details_url: None,
        status: "queued".into(),
        conclusion: None,
        started_at: state.now(),
        completed_at: None,
        title: None,
        summary: None,
        text: None,
        annotations: Vec::new(),
        actions: Vec::new(),
    };
    apply(&mut run, call, state.now())?;
    let value = state.put_run(call.repo, run, None, &by)?;
    Ok(Reply::Created(value))
}

fn find<'a>(state: &'a State, call: &Call) -> Result<&'a CheckRun, Problem> {
    state.repo(call.repo)?.check_runs.get(&call.number("id")).ok_or_else(Problem::not_found)
}

fn get(state: &mut State, call: &Call) -> Answer {
    Ok(Reply::Ok(state.check_run_json(state.repo(call.repo)?, find(state, call)?)))
}

fn update(state: &mut State, call: &Call) -> Answer {
    let (app, by) = (writer(call)?, call.account()?);
    let mut run = find(state, call)?.clone();
    if run.app != app {
        let told =
            format!("Invalid app_id `{app}` - check run can only be modified by the GitHub App that created it.");
        return Err(Problem::new(403, told));
    }
    let before = run.status.clone();
    apply(&mut run, call, state.now())?;
    Ok(Reply::Ok(state.put_run(call.repo, run, Some(&before), &by)?))
}

fn annotations(state: &mut State, call: &Call) -> Answer {
    let run = find(state, call)?;
    let base = format!("{}/blob/{}", state.repo_html(state.repo(call.repo)?), run.head_sha);
    let told = run.annotations.iter().map(|one| {
        let path = one.get("path").and_then(Value::as_str).unwrap_or_default();
        let mut value = json!({
            "start_column": null, "end_column": null, "title": null, "raw_details": null,
            "blob_href": format!("{base}/{path}"),
        });
        super::super::view::merge(&mut value, one.clone());
        value
    });
    Ok(Reply::List(told.collect()))
}

fn rerequest(state: &mut State, call: &Call) -> Answer {
    let (id, by) = (find(state, call)?.id, call.account()?);
    state.tell_run(call.repo, id, "rerequested", &by, json!({}))?;
    Ok(Reply::Created(json!({})))
}

fn filtered(state: &State, call: &Call, of: impl Fn(&CheckRun) -> bool) -> Answer {
    let repo = state.repo(call.repo)?;
    let runs = repo.check_runs.values().filter(|run| of(run));
    let runs: Vec<&CheckRun> = match call.query("filter") {
        Some("all") => runs.collect(),
        _ => latest(runs),
    };
    let app = call.query("app_id").and_then(|text| text.parse::<u64>().ok());
    let mut runs: Vec<&CheckRun> = runs
        .into_iter()
        .filter(|run| call.query("check_name").is_none_or(|name| run.name == name))
        .filter(|run| call.query("status").is_none_or(|status| run.status == status))
        .filter(|run| app.is_none_or(|app| run.app == app))
        .collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.id));
    Ok(Reply::Counted("check_runs", runs.into_iter().map(|run| state.check_run_json(repo, run)).collect()))
}

fn of_commit(state: &mut State, call: &Call) -> Answer {
    let sha = commit_of(&state.git(call.repo)?, call.param("ref"))?.to_string();
    filtered(state, call, |run| run.head_sha == sha)
}

fn of_suite(state: &mut State, call: &Call) -> Answer {
    let id = call.number("id");
    if !state.repo(call.repo)?.suites.contains_key(&id) {
        return Err(Problem::not_found());
    }
    filtered(state, call, |run| run.suite == id)
}

fn suites(state: &mut State, call: &Call) -> Answer {
    let sha = commit_of(&state.git(call.repo)?, call.param("ref"))?.to_string();
    let repo = state.repo(call.repo)?;
    let app = call.query("app_id").and_then(|text| text.parse::<u64>().ok());
    let found = repo.suites.values().filter(|one| one.head_sha == sha && app.is_none_or(|app| one.app == app));
    let told = found.map(|one| {
        let mut value = state.suite_json(repo, one);
        value["repository"] = state.repo_json(repo);
        value
    });
    Ok(Reply::Counted("check_suites", told.collect()))
}

fn suite(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let one = repo.suites.get(&call.number("id")).ok_or_else(Problem::not_found)?;
    let mut value = state.suite_json(repo, one);
    value["repository"] = state.repo_json(repo);
    Ok(Reply::Ok(value))
}

impl State {
    /// Keeps a run and tells of it: `created` when it is new, `completed` when it has just ended, and the suite's
    /// end when this was its last.
    pub(crate) fn put_run(
        &mut self,
        repo: u64,
        run: CheckRun,
        before: Option<&str>,
        by: &Account,
    ) -> Result<Value, Problem> {
        let (id, suite) = (run.id, run.suite);
        let ended = run.status == "completed" && before != Some("completed");
        let now = self.now();
        let about = self.repo_mut(repo)?;
        about.check_runs.insert(id, run);
        if let Some(suite) = about.suites.get_mut(&suite) {
            suite.updated_at = now;
        }
        if before.is_none() {
            self.tell_run(repo, id, "created", by, json!({}))?;
        }
        if ended {
            self.tell_run(repo, id, "completed", by, json!({}))?;
            let about = self.repo(repo)?;
            if about.suites.get(&suite).is_some_and(|one| Self::suite_outcome(about, one).0 == "completed") {
                self.tell_suite(repo, suite, "completed", by, None)?;
            }
        }
        let about = self.repo(repo)?;
        Ok(self.check_run_json(about, about.check_runs.get(&id).ok_or_else(Problem::not_found)?))
    }

    /// Someone presses a button of a check run.
    pub(crate) fn press(&mut self, repo: u64, run: u64, identifier: &str, by: &Account) -> Result<(), Problem> {
        let about = self.repo(repo)?;
        if self.role(about, by.id) < Role::Write {
            return Err(Problem::new(403, "Must have write access to press a button."));
        }
        let check = about.check_runs.get(&run).ok_or_else(Problem::not_found)?;
        if check.actions.iter().all(|action| action.identifier != identifier) {
            return Err(Problem::not_found());
        }
        self.tell_run(repo, run, "requested_action", by, json!({"requested_action": {"identifier": identifier}}))
    }

    /// Sends a `check_run` webhook. Buttons and re-requests go to the App that owns the run, and to no other.
    pub(crate) fn tell_run(
        &mut self,
        repo: u64,
        run: u64,
        action: &str,
        by: &Account,
        more: Value,
    ) -> Result<(), Problem> {
        let about = self.repo(repo)?;
        let run = about.check_runs.get(&run).ok_or_else(Problem::not_found)?;
        let mut told = self.check_run_json(about, run);
        if let Some(suite) = about.suites.get(&run.suite) {
            told["check_suite"] = self.brief_suite_json(about, suite);
        }
        let only = matches!(action, "rerequested" | "requested_action").then_some(run.app);
        let mut fields = json!({"check_run": told});
        super::super::view::merge(&mut fields, more);
        self.emit_to(repo, "check_run", Some(action), by, fields, only);
        Ok(())
    }

    /// Sends a `check_suite` webhook.
    pub(crate) fn tell_suite(
        &mut self,
        repo: u64,
        suite: u64,
        action: &str,
        by: &Account,
        only: Option<u64>,
    ) -> Result<(), Problem> {
        let about = self.repo(repo)?;
        let suite = about.suites.get(&suite).ok_or_else(Problem::not_found)?;
        let fields = json!({"check_suite": self.suite_json(about, suite)});
        self.emit_to(repo, "check_suite", Some(action), by, fields, only);
        Ok(())
    }
}
