//! Commit statuses, the older and forgeable sibling of checks; and deployments.

use serde_json::{Value, json};

use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;
use super::repos::commit_of;

const READ: Access = Access::Repo(&[("statuses", Level::Read)], Role::Read);
const READ_DEPLOYS: Access = Access::Repo(&[("deployments", Level::Read)], Role::Read);
const WRITE_DEPLOYS: Access = Access::Repo(&[("deployments", Level::Write)], Role::Write);

pub(crate) const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/repos/{owner}/{repo}/statuses/{sha}",
        access: Access::Repo(&[("statuses", Level::Write)], Role::Write),
        run: create,
    },
    Route { method: "GET", path: "/repos/{owner}/{repo}/commits/{ref*}/status", access: READ, run: combined },
    Route { method: "GET", path: "/repos/{owner}/{repo}/commits/{ref*}/statuses", access: READ, run: list },
    Route { method: "GET", path: "/repos/{owner}/{repo}/deployments", access: READ_DEPLOYS, run: deployments },
    Route { method: "POST", path: "/repos/{owner}/{repo}/deployments", access: WRITE_DEPLOYS, run: deploy },
    Route { method: "GET", path: "/repos/{owner}/{repo}/deployments/{id}", access: READ_DEPLOYS, run: deployment },
    Route {
        method: "GET",
        path: "/repos/{owner}/{repo}/deployments/{id}/statuses",
        access: READ_DEPLOYS,
        run: deployment_statuses,
    },
    Route {
        method: "POST",
        path: "/repos/{owner}/{repo}/deployments/{id}/statuses",
        access: WRITE_DEPLOYS,
        run: deployment_status,
    },
];

fn create(state: &mut State, call: &Call) -> Answer {
    let by = call.account()?;
    let sha = commit_of(&state.git(call.repo)?, call.param("sha"))?.to_string();
    let told = call.required("Status", "state")?;
    if !matches!(told, "error" | "failure" | "pending" | "success") {
        return Err(Problem::field("Status", "state", "custom", Some("state is not included in the list")));
    }
    let status = CommitStatus {
        id: state.new_id(),
        sha,
        context: call.text("context").unwrap_or("default").to_owned(),
        state: told.to_owned(),
        description: call.text("description").map(str::to_owned),
        target_url: call.text("target_url").map(str::to_owned),
        creator: by.clone(),
        created_at: state.now(),
    };
    let value = state.status_json(state.repo(call.repo)?, &status);
    let fields = json!({
        "id": status.id, "sha": status.sha, "name": state.repo(call.repo)?.full_name(), "context": status.context,
        "state": status.state, "description": status.description, "target_url": status.target_url, "branches": [],
        "created_at": status.created_at, "updated_at": status.created_at,
    });
    state.repo_mut(call.repo)?.statuses.push(status);
    state.emit(call.repo, "status", None, &by, fields);
    Ok(Reply::Created(value))
}

/// Newest first.
fn of<'a>(repo: &'a Repo, sha: &str) -> Vec<&'a CommitStatus> {
    repo.statuses.iter().rev().filter(|status| status.sha == sha).collect()
}

fn list(state: &mut State, call: &Call) -> Answer {
    let sha = commit_of(&state.git(call.repo)?, call.param("ref"))?.to_string();
    let repo = state.repo(call.repo)?;
    Ok(Reply::List(of(repo, &sha).into_iter().map(|status| state.status_json(repo, status)).collect()))
}

fn combined(state: &mut State, call: &Call) -> Answer {
    let sha = commit_of(&state.git(call.repo)?, call.param("ref"))?.to_string();
    let repo = state.repo(call.repo)?;
    let mut newest: Vec<&CommitStatus> = Vec::new();
    for status in of(repo, &sha) {
        if newest.iter().all(|one| one.context != status.context) {
            newest.push(status);
        }
    }
    let any = |states: &[&str]| newest.iter().any(|one| states.contains(&one.state.as_str()));
    let overall = if any(&["error", "failure"]) {
        "failure"
    } else if newest.is_empty() || any(&["pending"]) {
        "pending"
    } else {
        "success"
    };
    let url = format!("{}/commits/{sha}", state.repo_api(repo));
    // Whose they are, only the list of all statuses tells.
    let brief = |status: &CommitStatus| {
        let mut told = state.status_json(repo, status);
        told.as_object_mut().and_then(|told| told.remove("creator"));
        told
    };
    Ok(Reply::Ok(json!({
        "state": overall, "sha": sha, "total_count": newest.len(),
        "statuses": newest.iter().map(|one| brief(one)).collect::<Vec<_>>(),
        "repository": state.repo_json(repo), "commit_url": url, "url": format!("{url}/status"),
    })))
}

fn deployments(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let found = repo.deployments.values().rev().filter(|one| {
        let fits = |name: &str, value: &str| call.query(name).is_none_or(|wanted| wanted == value);
        fits("sha", &one.sha) && fits("environment", &one.environment) && fits("ref", &one.reference)
    });
    Ok(Reply::List(found.map(|one| state.deployment_json(repo, one)).collect()))
}

fn deploy(state: &mut State, call: &Call) -> Answer {
    let by = call.account()?;
    let reference = call.required("Deployment", "ref")?.to_owned();
    let sha = state.git(call.repo)?.resolve(&reference);
    let sha = sha.ok_or_else(|| Problem::invalid(format!("No ref found for: {reference}")))?.to_string();
    let one = Deployment {
        id: state.new_id(),
        sha,
        reference,
        task: call.text("task").unwrap_or("deploy").to_owned(),
        environment: call.text("environment").unwrap_or("production").to_owned(),
        description: call.text("description").map(str::to_owned),
        payload: call.body.get("payload").cloned().unwrap_or_else(|| json!({})),
        creator: by,
        created_at: state.now(),
        statuses: Vec::new(),
    };
    let value = state.deployment_json(state.repo(call.repo)?, &one);
    state.repo_mut(call.repo)?.deployments.insert(one.id, one);
    Ok(Reply::Created(value))
}

fn find<'a>(state: &'a State, call: &Call) -> Result<&'a Deployment, Problem> {
    state.repo(call.repo)?.deployments.get(&call.number("id")).ok_or_else(Problem::not_found)
}

fn deployment(state: &mut State, call: &Call) -> Answer {
    Ok(Reply::Ok(state.deployment_json(state.repo(call.repo)?, find(state, call)?)))
}

fn deployment_statuses(state: &mut State, call: &Call) -> Answer {
    let (repo, one) = (state.repo(call.repo)?, find(state, call)?);
    let told = one.statuses.iter().rev().map(|status| state.deployment_status_json(repo, one, status));
    Ok(Reply::List(told.collect()))
}

fn deployment_status(state: &mut State, call: &Call) -> Answer {
    let by = call.account()?;
    let told = call.required("DeploymentStatus", "state")?;
    const STATES: &[&str] = &["error", "failure", "inactive", "in_progress", "queued", "pending", "success"];
    if !STATES.contains(&told) {
        return Err(Problem::field("DeploymentStatus", "state", "invalid", None));
    }
    let environment = find(state, call)?.environment.clone();
    let text = |field: &str| call.text(field).unwrap_or_default().to_owned();
    let status = DeploymentStatus {
        id: state.new_id(),
        state: told.to_owned(),
        description: text("description"),
        environment: call.text("environment").map_or(environment, str::to_owned),
        environment_url: text("environment_url"),
        log_url: call.text("log_url").or(call.text("target_url")).unwrap_or_default().to_owned(),
        creator: by.clone(),
        created_at: state.now(),
    };
    let repo = state.repo_mut(call.repo)?;
    let one = repo.deployments.get_mut(&call.number("id")).ok_or_else(Problem::not_found)?;
    one.statuses.push(status.clone());
    let (repo, one) = (state.repo(call.repo)?, find(state, call)?);
    let value = state.deployment_status_json(repo, one, &status);
    let fields = json!({
        "deployment_status": value, "deployment": state.deployment_json(repo, one), "check_run": Value::Null,
        "workflow": Value::Null, "workflow_run": Value::Null,
    });
    state.emit(call.repo, "deployment_status", Some("created"), &by, fields);
    Ok(Reply::Created(value))
}
