//! Labels of a repository, and of its issues and pull requests.

use serde_json::{Value, json};

use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;

const READ: Access = Access::Repo(&[("issues", Level::Read), ("pull_requests", Level::Read)], Role::Read);
const WRITE: Access = Access::Repo(&[("issues", Level::Write), ("pull_requests", Level::Write)], Role::Write);
const MOVE: Access = Access::Repo(&[("issues", Level::Write), ("pull_requests", Level::Write)], Role::Triage);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}/labels", access: READ, run: list },
    Route { method: "POST", path: "/repos/{owner}/{repo}/labels", access: WRITE, run: create },
    Route { method: "GET", path: "/repos/{owner}/{repo}/labels/{name}", access: READ, run: get },
    Route { method: "PATCH", path: "/repos/{owner}/{repo}/labels/{name}", access: WRITE, run: edit },
    Route { method: "DELETE", path: "/repos/{owner}/{repo}/labels/{name}", access: WRITE, run: delete },
    Route { method: "GET", path: "/repos/{owner}/{repo}/issues/{n}/labels", access: READ, run: of_issue },
    Route { method: "POST", path: "/repos/{owner}/{repo}/issues/{n}/labels", access: MOVE, run: add },
    Route { method: "PUT", path: "/repos/{owner}/{repo}/issues/{n}/labels", access: MOVE, run: replace },
    Route { method: "DELETE", path: "/repos/{owner}/{repo}/issues/{n}/labels", access: MOVE, run: clear },
    Route { method: "DELETE", path: "/repos/{owner}/{repo}/issues/{n}/labels/{name}", access: MOVE, run: remove },
];

fn by_name<'a>(repo: &'a Repo, name: &str) -> Option<&'a Label> {
    repo.labels.values().find(|label| label.name.to_lowercase() == name.to_lowercase())
}

fn list(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    Ok(Reply::List(repo.labels.values().map(|label| state.label_json(repo, label)).collect()))
}

fn get(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let label = by_name(repo, call.param("name")).ok_or_else(Problem::not_found)?;
    Ok(Reply::Ok(state.label_json(repo, label)))
}

fn color(given: Option<&str>) -> Result<String, Problem> {
    let color = given.unwrap_or("ededed").to_lowercase();
    if color.len() == 6 && color.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(color)
    } else {
        Err(Problem::field("Label", "color", "invalid", None))
    }
}

fn checked_name(name: &str) -> Result<&str, Problem> {
    if name.is_empty() || name.chars().count() > 50 {
        return Err(Problem::field("Label", "name", "custom", Some("name is too long (maximum is 50 characters)")));
    }
    Ok(name)
}

fn checked_description(call: &Call) -> Result<Option<String>, Problem> {
    match call.text("description") {
        Some(text) if text.chars().count() > 100 => {
            let told = "description is too long (maximum is 100 characters)";
            Err(Problem::field("Label", "description", "custom", Some(told)))
        }
        text => Ok(text.map(str::to_owned)),
    }
}

fn create(state: &mut State, call: &Call) -> Answer {
    let name = checked_name(call.required("Label", "name")?)?.to_owned();
    if by_name(state.repo(call.repo)?, &name).is_some() {
        return Err(Problem::field("Label", "name", "already_exists", None));
    }
    let label =
        Label { id: state.new_id(), name, color: color(call.text("color"))?, description: checked_description(call)? };
    state.repo_mut(call.repo)?.labels.insert(label.id, label.clone());
    Ok(Reply::Created(state.label_json(state.repo(call.repo)?, &label)))
}

fn edit(state: &mut State, call: &Call) -> Answer {
    let mut label = by_name(state.repo(call.repo)?, call.param("name")).ok_or_else(Problem::not_found)?.clone();
    if let Some(name) = call.text("new_name") {
        let taken = by_name(state.repo(call.repo)?, name).is_some_and(|other| other.id != label.id);
        if taken {
            return Err(Problem::field("Label", "name", "already_exists", None));
        }
        label.name = checked_name(name)?.to_owned();
    }
    if call.text("color").is_some() {
        label.color = color(call.text("color"))?;
    }
    if let Some(description) = checked_description(call)? {
        label.description = Some(description);
    }
    state.repo_mut(call.repo)?.labels.insert(label.id, label.clone());
    Ok(Reply::Ok(state.label_json(state.repo(call.repo)?, &label)))
}

fn delete(state: &mut State, call: &Call) -> Answer {
    let id = by_name(state.repo(call.repo)?, call.param("name")).ok_or_else(Problem::not_found)?.id;
    let repo = state.repo_mut(call.repo)?;
    repo.labels.remove(&id);
    for issue in repo.issues.values_mut() {
        issue.labels.retain(|label| *label != id);
    }
    Ok(Reply::NoContent)
}

fn of_issue(state: &mut State, call: &Call) -> Answer {
    let issue = state.issue(call.repo, call.number("n"))?;
    Ok(Reply::List(state.labels_json(state.repo(call.repo)?, issue)))
}

/// Names from `["a", {"name": "b"}]`, or from an object with `labels`.
pub(crate) fn names(given: &Value) -> Result<Vec<String>, Problem> {
    let list = given.get("labels").unwrap_or(given);
    let invalid = || Problem::invalid("Invalid request.\n\nFor 'properties/labels', nil is not an array.");
    let list = list.as_array().ok_or_else(invalid)?;
    list.iter()
        .map(|one| one.as_str().or_else(|| one.get("name").and_then(Value::as_str)))
        .map(|name| name.map(str::to_owned).ok_or_else(invalid))
        .collect()
}

/// The ids of these labels; one that does not exist is made, grey, as GitHub does.
pub(crate) fn label_ids(state: &mut State, repo: u64, names: &[String]) -> Result<Vec<u64>, Problem> {
    let mut ids = Vec::new();
    for name in names {
        let known = by_name(state.repo(repo)?, name).map(|label| label.id);
        let id = match known {
            Some(id) => id,
            None => {
                let (id, name) = (state.new_id(), checked_name(name)?.to_owned());
                let label = Label { id, name, color: "ededed".into(), description: None };
                state.repo_mut(repo)?.labels.insert(id, label);
                id
            }
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// Makes these the labels of an issue, and tells what was put on and taken off, one webhook each.
pub(crate) fn set(state: &mut State, repo: u64, number: u64, ids: Vec<u64>, by: &Account) -> Result<(), Problem> {
    let old = state.issue(repo, number)?.labels.clone();
    let off: Vec<u64> = old.iter().copied().filter(|id| !ids.contains(id)).collect();
    let on: Vec<u64> = ids.iter().copied().filter(|id| !old.contains(id)).collect();
    if on.is_empty() && off.is_empty() {
        return Ok(());
    }
    let now = state.now();
    let issue = state.issue_mut(repo, number)?;
    issue.labels = ids;
    issue.updated_at = now;
    for (action, id) in on.into_iter().map(|id| ("labeled", id)).chain(off.into_iter().map(|id| ("unlabeled", id))) {
        let about = state.repo(repo)?;
        let Some(label) = about.labels.get(&id) else { continue };
        let told = state.label_json(about, label);
        let issue = state.issue(repo, number)?;
        if issue.pull.is_some() {
            state.tell_pull(repo, number, action, by, json!({"label": told}))?;
        } else {
            let fields = json!({"issue": state.issue_json(about, issue), "label": told});
            state.emit(repo, "issues", Some(action), by, fields);
        }
    }
    Ok(())
}

fn add(state: &mut State, call: &Call) -> Answer {
    let (repo, number, by) = (call.repo, call.number("n"), call.account()?);
    let mut ids = state.issue(repo, number)?.labels.clone();
    for id in label_ids(state, repo, &names(&call.body)?)? {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    set(state, repo, number, ids, &by)?;
    of_issue(state, call)
}

fn replace(state: &mut State, call: &Call) -> Answer {
    let (repo, number, by) = (call.repo, call.number("n"), call.account()?);
    state.issue(repo, number)?;
    let ids = label_ids(state, repo, &names(&call.body)?)?;
    set(state, repo, number, ids, &by)?;
    of_issue(state, call)
}

fn clear(state: &mut State, call: &Call) -> Answer {
    let by = call.account()?;
    set(state, call.repo, call.number("n"), Vec::new(), &by)?;
    Ok(Reply::NoContent)
}

fn remove(state: &mut State, call: &Call) -> Answer {
    let (repo, number, by) = (call.repo, call.number("n"), call.account()?);
    let missing = || Problem::new(404, "Label does not exist");
    let id = by_name(state.repo(repo)?, call.param("name")).ok_or_else(missing)?.id;
    let mut ids = state.issue(repo, number)?.labels.clone();
    if !ids.contains(&id) {
        return Err(missing());
    }
    ids.retain(|label| *label != id);
    set(state, repo, number, ids, &by)?;
    of_issue(state, call)
}
