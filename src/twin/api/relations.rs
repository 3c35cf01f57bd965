//! How issues hang together: sub-issues with one parent, and what is blocked by what.

use serde_json::Value;

use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;

const READ: Access = Access::Repo(&[("issues", Level::Read)], Role::Read);
const WRITE: Access = Access::Repo(&[("issues", Level::Write)], Role::Triage);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}/issues/{n}/parent", access: READ, run: parent },
    Route { method: "GET", path: "/repos/{owner}/{repo}/issues/{n}/sub_issues", access: READ, run: children },
    Route { method: "POST", path: "/repos/{owner}/{repo}/issues/{n}/sub_issues", access: WRITE, run: adopt },
    Route { method: "DELETE", path: "/repos/{owner}/{repo}/issues/{n}/sub_issue", access: WRITE, run: release },
    Route {
        method: "GET",
        path: "/repos/{owner}/{repo}/issues/{n}/dependencies/blocked_by",
        access: READ,
        run: blockers,
    },
    Route {
        method: "GET",
        path: "/repos/{owner}/{repo}/issues/{n}/dependencies/blocking",
        access: READ,
        run: blocking,
    },
    Route {
        method: "POST",
        path: "/repos/{owner}/{repo}/issues/{n}/dependencies/blocked_by",
        access: WRITE,
        run: block,
    },
    Route {
        method: "DELETE",
        path: "/repos/{owner}/{repo}/issues/{n}/dependencies/blocked_by/{issue_id}",
        access: WRITE,
        run: unblock,
    },
];

/// The issue with this id (not number) in the same repository.
fn by_id(state: &State, repo: u64, id: Option<u64>) -> Result<u64, Problem> {
    let found = state.repo(repo)?.issues.values().find(|issue| Some(issue.id) == id);
    found.map(|issue| issue.number).ok_or_else(Problem::not_found)
}

fn told(state: &State, repo: u64, number: u64) -> Result<Value, Problem> {
    Ok(state.issue_json(state.repo(repo)?, state.issue(repo, number)?))
}

fn list(state: &State, repo: u64, numbers: impl Iterator<Item = u64>) -> Answer {
    Ok(Reply::List(numbers.map(|number| told(state, repo, number)).collect::<Result<_, _>>()?))
}

fn parent(state: &mut State, call: &Call) -> Answer {
    let parent = state.issue(call.repo, call.number("n"))?.parent.ok_or_else(Problem::not_found)?;
    Ok(Reply::Ok(told(state, call.repo, parent)?))
}

fn children(state: &mut State, call: &Call) -> Answer {
    let number = state.issue(call.repo, call.number("n"))?.number;
    let found = state.repo(call.repo)?.issues.values().filter(|issue| issue.parent == Some(number));
    list(state, call.repo, found.map(|issue| issue.number))
}

fn adopt(state: &mut State, call: &Call) -> Answer {
    let (repo, number) = (call.repo, call.number("n"));
    state.issue(repo, number)?;
    let child = by_id(state, repo, call.body.get("sub_issue_id").and_then(Value::as_u64))?;
    let replace = call.body.get("replace_parent").and_then(Value::as_bool).unwrap_or(false);
    let refused = |why: &str| {
        Err(Problem::invalid(format!("An error occurred while adding the sub-issue to the parent issue. {why}")))
    };
    match state.issue(repo, child)?.parent {
        Some(old) if old == number => return refused("Issue may not contain duplicate sub-issues"),
        Some(_) if !replace => return refused("Sub issue may only have one parent"),
        _ => {}
    }
    // An issue can't be its own ancestor.
    let mut above = Some(number);
    while let Some(at) = above {
        if at == child {
            return refused("Sub-issue may not be an ancestor of its parent");
        }
        above = state.issue(repo, at)?.parent;
    }
    state.issue_mut(repo, child)?.parent = Some(number);
    Ok(Reply::Created(told(state, repo, child)?))
}

fn release(state: &mut State, call: &Call) -> Answer {
    let (repo, number) = (call.repo, call.number("n"));
    let child = by_id(state, repo, call.body.get("sub_issue_id").and_then(Value::as_u64))?;
    if state.issue(repo, child)?.parent != Some(number) {
        return Err(Problem::not_found());
    }
    state.issue_mut(repo, child)?.parent = None;
    Ok(Reply::Ok(told(state, repo, number)?))
}

fn blockers(state: &mut State, call: &Call) -> Answer {
    let found = state.issue(call.repo, call.number("n"))?.blocked_by.clone();
    list(state, call.repo, found.into_iter())
}

fn blocking(state: &mut State, call: &Call) -> Answer {
    let number = state.issue(call.repo, call.number("n"))?.number;
    let found = state.repo(call.repo)?.issues.values().filter(|issue| issue.blocked_by.contains(&number));
    list(state, call.repo, found.map(|issue| issue.number))
}

fn block(state: &mut State, call: &Call) -> Answer {
    let (repo, number) = (call.repo, call.number("n"));
    let blocker = by_id(state, repo, call.body.get("issue_id").and_then(Value::as_u64))?;
    if blocker == number || state.issue(repo, number)?.blocked_by.contains(&blocker) {
        return Err(Problem::invalid("Validation failed: Target issue has already been taken"));
    }
    state.issue_mut(repo, number)?.blocked_by.push(blocker);
    Ok(Reply::Created(told(state, repo, blocker)?))
}

fn unblock(state: &mut State, call: &Call) -> Answer {
    let (repo, number) = (call.repo, call.number("n"));
    let blocker = by_id(state, repo, Some(call.number("issue_id")))?;
    let issue = state.issue_mut(repo, number)?;
    let before = issue.blocked_by.len();
    issue.blocked_by.retain(|one| *one != blocker);
    if issue.blocked_by.len() == before {
        return Err(Problem::not_found());
    }
    Ok(Reply::Ok(told(state, repo, blocker)?))
}
