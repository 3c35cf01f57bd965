//! Issues. Pull requests are issues too, and answer here as such.

use serde_json::{Value, json};

use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;
use super::bounded;
use super::labels::{label_ids, names};
use super::pulls::{may_edit, new_issue, reopen};

const READ: Access = Access::Repo(&[("issues", Level::Read), ("pull_requests", Level::Read)], Role::Read);
const WRITE: Access = Access::Repo(&[("issues", Level::Write), ("pull_requests", Level::Write)], Role::Read);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}/issues", access: READ, run: list },
    Route {
        method: "POST",
        path: "/repos/{owner}/{repo}/issues",
        access: Access::Repo(&[("issues", Level::Write)], Role::Read),
        run: create,
    },
    Route { method: "GET", path: "/repos/{owner}/{repo}/issues/{n}", access: READ, run: get },
    Route { method: "PATCH", path: "/repos/{owner}/{repo}/issues/{n}", access: WRITE, run: edit },
    Route { method: "GET", path: "/repos/{owner}/{repo}/issues/{n}/events", access: READ, run: events },
    Route {
        method: "POST",
        path: "/repos/{owner}/{repo}/issues/{n}/assignees",
        access: Access::Repo(&[("issues", Level::Write), ("pull_requests", Level::Write)], Role::Triage),
        run: assign,
    },
];

fn list(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let wanted = call.query("state").unwrap_or("open");
    let labels: Vec<&str> = call.query("labels").map(|text| text.split(',').collect()).unwrap_or_default();
    let since = call.query("since").and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let mut list: Vec<&Issue> = repo
        .issues
        .values()
        .filter(|issue| wanted == "all" || (wanted == "open") == issue.open)
        .filter(|issue| since.is_none_or(|since| issue.updated_at >= since))
        .filter(|issue| call.query("creator").is_none_or(|login| issue.user.login.eq_ignore_ascii_case(login)))
        .filter(|issue| {
            labels.iter().all(|name| {
                let mut has = issue.labels.iter().filter_map(|id| repo.labels.get(id));
                has.any(|label| label.name.eq_ignore_ascii_case(name))
            })
        })
        .collect();
    if call.query("sort") == Some("updated") {
        list.sort_by_key(|issue| (issue.updated_at, issue.number));
    }
    if call.query("direction") != Some("asc") {
        list.reverse();
    }
    Ok(Reply::List(list.into_iter().map(|issue| state.issue_json(repo, issue)).collect()))
}

fn get(state: &mut State, call: &Call) -> Answer {
    let issue = state.issue(call.repo, call.number("n"))?;
    let mut value = state.issue_json(state.repo(call.repo)?, issue);
    value["closed_by"] = Value::Null;
    Ok(Reply::Ok(value))
}

/// Of a pull request's events, the changes of its base.
fn events(state: &mut State, call: &Call) -> Answer {
    let (repo, issue) = (state.repo(call.repo)?, state.issue(call.repo, call.number("n"))?);
    let retargets = issue.pull.iter().flat_map(|pull| &pull.retargets);
    let told = retargets.map(|(id, by, at)| {
        json!({
            "id": id, "node_id": super::super::view::node("BRCE", *id), "event": "base_ref_changed",
            "url": format!("{}/issues/events/{id}", state.repo_api(repo)), "actor": state.user_json(by),
            "commit_id": null, "commit_url": null, "created_at": at, "performed_via_github_app": null,
        })
    });
    Ok(Reply::List(told.collect()))
}

fn create(state: &mut State, call: &Call) -> Answer {
    let (repo, by) = (call.repo, call.account()?);
    if !state.repo(repo)?.has_issues {
        return Err(Problem::new(410, "Issues has been disabled in this repository."));
    }
    let title = call.required("Issue", "title")?.to_owned();
    let body = call.text("body").map(str::to_owned);
    bounded("Issue", body.as_deref())?;
    let assignees = assignees(state, call);
    let labels = match call.body.get("labels") {
        Some(given) => label_ids(state, repo, &names(given)?)?,
        None => Vec::new(),
    };
    let (id, number) = (state.new_id(), state.next_number(repo)?);
    let mut issue = new_issue(id, number, title, body, by.clone(), None, state.now());
    issue.labels = labels;
    issue.assignees = assignees.unwrap_or_default();
    state.repo_mut(repo)?.issues.insert(number, issue);
    tell(state, repo, number, "opened", &by, json!({}))?;
    Ok(Reply::Created(state.issue_json(state.repo(repo)?, state.issue(repo, number)?)))
}

/// People named as assignees; GitHub drops those it does not know, silently.
fn assignees(state: &State, call: &Call) -> Option<Vec<Account>> {
    let given = call.body.get("assignees")?.as_array()?;
    Some(given.iter().filter_map(Value::as_str).filter_map(|login| state.account(login)).cloned().collect())
}

/// GitHub takes no more.
const MOST_ASSIGNEES: usize = 10;

/// Adds assignees: whoever can't write there is left out, silently, and so are those beyond the tenth.
fn assign(state: &mut State, call: &Call) -> Answer {
    let (repo, number, by) = (call.repo, call.number("n"), call.account()?);
    state.issue(repo, number)?;
    let people = assignees(state, call).unwrap_or_default();
    for person in people {
        let may = state.role(state.repo(repo)?, person.id) >= Role::Triage;
        let issue = state.issue_mut(repo, number)?;
        let known = issue.assignees.iter().any(|one| one.id == person.id);
        if may && !known && issue.assignees.len() < MOST_ASSIGNEES {
            issue.assignees.push(person.clone());
            let assignee = json!({"assignee": state.user_json(&person)});
            tell(state, repo, number, "assigned", &by, assignee)?;
        }
    }
    Ok(Reply::Created(state.issue_json(state.repo(repo)?, state.issue(repo, number)?)))
}

fn tell(state: &mut State, repo: u64, number: u64, action: &str, by: &Account, more: Value) -> Result<(), Problem> {
    let mut fields = json!({"issue": state.issue_json(state.repo(repo)?, state.issue(repo, number)?)});
    super::super::view::merge(&mut fields, more);
    state.emit(repo, "issues", Some(action), by, fields);
    Ok(())
}

/// What the GraphQL mutation `deleteIssue` does.
pub(crate) fn delete(state: &mut State, repo: u64, number: u64, by: &Account) -> Result<(), Problem> {
    tell(state, repo, number, "deleted", by, json!({}))?;
    let repo = state.repo_mut(repo)?;
    repo.issues.remove(&number);
    repo.deleted_issues.insert(number);
    repo.comments.retain(|_, comment| comment.issue != number);
    Ok(())
}

fn edit(state: &mut State, call: &Call) -> Answer {
    let (repo, number, by) = (call.repo, call.number("n"), call.account()?);
    let issue = state.issue(repo, number)?;
    may_edit(state, call, &issue.user)?;
    bounded("Issue", call.text("body"))?;
    let old = issue.clone();
    let is_pull = old.pull.is_some();
    let mut changes = json!({});
    if let Some(title) = call.text("title").filter(|title| *title != old.title) {
        changes["title"] = json!({"from": old.title});
        state.issue_mut(repo, number)?.title = title.to_owned();
    }
    if let Some(body) = call.text("body").filter(|body| Some(*body) != old.body.as_deref()) {
        changes["body"] = json!({"from": old.body.unwrap_or_default()});
        let edited = Some((state.now(), by.clone()));
        let issue = state.issue_mut(repo, number)?;
        (issue.body, issue.edited) = (Some(body.to_owned()), edited);
    }
    if let Some(people) = assignees(state, call) {
        state.issue_mut(repo, number)?.assignees = people;
    }
    state.issue_mut(repo, number)?.updated_at = state.now();
    if changes.as_object().is_some_and(|changes| !changes.is_empty()) {
        let more = json!({"changes": changes});
        match is_pull {
            true => state.tell_pull(repo, number, "edited", &by, more)?,
            false => tell(state, repo, number, "edited", &by, more)?,
        }
    }
    if let Some(given) = call.body.get("labels") {
        let ids = label_ids(state, repo, &names(given)?)?;
        super::labels::set(state, repo, number, ids, &by)?;
    }
    match (call.text("state"), old.open, is_pull) {
        (Some("closed"), true, true) => state.close_pull(repo, number, &by)?,
        (Some("open"), false, true) => {
            let merged = old.pull.is_some_and(|pull| pull.merged_at.is_some());
            reopen(state, repo, number, merged, &by)?;
        }
        (Some("closed"), true, false) => {
            let reason = call.text("state_reason").unwrap_or("completed").to_owned();
            let closed_at = Some(state.now());
            let issue = state.issue_mut(repo, number)?;
            issue.open = false;
            issue.closed_at = closed_at;
            issue.state_reason = Some(reason);
            tell(state, repo, number, "closed", &by, json!({}))?;
        }
        (Some("open"), false, false) => {
            let issue = state.issue_mut(repo, number)?;
            issue.open = true;
            issue.closed_at = None;
            issue.state_reason = Some("reopened".into());
            tell(state, repo, number, "reopened", &by, json!({}))?;
        }
        (Some("open" | "closed") | None, ..) => {}
        _ => return Err(Problem::field("Issue", "state", "invalid", None)),
    }
    get(state, call)
}
