//! Pull requests: open, list, read, edit.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;
use super::bounded;

const READ: Access = Access::Repo(&[("pull_requests", Level::Read)], Role::Read);
/// Anyone who can read may open one, from a branch they can write to; the handler looks at the branch.
const OPEN: Access = Access::Repo(&[("pull_requests", Level::Write)], Role::Read);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}/pulls", access: READ, run: list },
    Route { method: "POST", path: "/repos/{owner}/{repo}/pulls", access: OPEN, run: create },
    Route { method: "GET", path: "/repos/{owner}/{repo}/pulls/{n}", access: READ, run: get },
    Route { method: "PATCH", path: "/repos/{owner}/{repo}/pulls/{n}", access: OPEN, run: edit },
    Route { method: "GET", path: "/repos/{owner}/{repo}/pulls/{n}/files", access: READ, run: files },
    Route { method: "GET", path: "/repos/{owner}/{repo}/pulls/{n}/commits", access: READ, run: commits },
];

fn list(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let wanted = call.query("state").unwrap_or("open");
    let mut list = Vec::new();
    for issue in repo.issues.values() {
        let Some(pull) = &issue.pull else { continue };
        let owner = state.repos.get(&pull.head_repo).map_or("", |head| head.owner.login.as_str());
        // `head` is `owner:branch`; GitHub ignores one without an owner.
        let head_fits = call
            .query("head")
            .and_then(|head| head.split_once(':'))
            .is_none_or(|(by, branch)| owner.eq_ignore_ascii_case(by) && pull.head_ref == branch);
        let state_fits = wanted == "all" || (wanted == "open") == issue.open;
        if state_fits && head_fits && call.query("base").is_none_or(|base| pull.base_ref == base) {
            list.push(issue);
        }
    }
    match call.query("sort") {
        Some("updated") => list.sort_by_key(|issue| (issue.updated_at, issue.number)),
        _ => list.sort_by_key(|issue| issue.number),
    }
    // Newest first, unless another order was asked for.
    let ascending =
        call.query("direction").map_or(call.query("sort").is_some_and(|by| by != "created"), |d| d == "asc");
    if !ascending {
        list.reverse();
    }
    Ok(Reply::List(list.into_iter().map(|issue| state.pull_json(repo, issue)).collect::<Result<_, _>>()?))
}

/// Finds the repository and branch of `branch`, `owner:branch`, or `head_repo` with a branch.
fn head_of(state: &State, call: &Call) -> Result<(u64, String), Problem> {
    let head = call.required("PullRequest", "head")?;
    let invalid = || Problem::field("PullRequest", "head", "invalid", None);
    let Some((owner, branch)) = head.split_once(':') else { return Ok((call.repo, head.to_owned())) };
    let base = state.repo(call.repo)?;
    if base.owner.login.eq_ignore_ascii_case(owner) && call.text("head_repo").is_none() {
        return Ok((call.repo, branch.to_owned()));
    }
    let fork = state
        .repos
        .values()
        .find(|repo| repo.owner.login.eq_ignore_ascii_case(owner) && repo.fork_of == Some(call.repo));
    Ok((fork.ok_or_else(invalid)?.id, branch.to_owned()))
}

fn create(state: &mut State, call: &Call) -> Answer {
    let by = call.account()?;
    let title = call.required("PullRequest", "title")?.to_owned();
    let base_ref = call.required("PullRequest", "base")?.to_owned();
    let body = call.text("body").map(str::to_owned);
    bounded("PullRequest", body.as_deref())?;
    let (head_repo, head_ref) = head_of(state, call)?;
    // A branch of the repository itself may be proposed by those who can write to it.
    if head_repo == call.repo && !matches!(call.actor, super::super::auth::Actor::Installation { .. }) {
        let role = state.role(state.repo(call.repo)?, by.id);
        if role < Role::Write {
            return Err(Problem::not_found());
        }
    }
    let invalid = |field: &str| Problem::field("PullRequest", field, "invalid", None);
    let base = state.git(call.repo)?.branch(&base_ref).ok_or_else(|| invalid("base"))?;
    let head = state.git(head_repo)?.branch(&head_ref).ok_or_else(|| invalid("head"))?;
    let custom = |message: String| Problem {
        errors: Some(json!([{"resource": "PullRequest", "code": "custom", "message": message}])),
        ..Problem::new(422, "Validation Failed")
    };
    let repo = state.repo(call.repo)?;
    let twin = repo.issues.values().filter(|issue| issue.open).filter_map(|issue| issue.pull.as_ref());
    let taken = twin.into_iter().any(|p| p.head_repo == head_repo && p.head_ref == head_ref && p.base_ref == base_ref);
    let owner = state.repo(head_repo)?.owner.login.clone();
    if taken {
        return Err(custom(format!("A pull request already exists for {owner}:{head_ref}.")));
    }
    let number = state.next_number(call.repo)?;
    state.fetch_head(call.repo, number, head_repo, &head_ref)?;
    let git = state.git(call.repo)?;
    if git.is_ancestor(head, base) {
        git.delete_ref(&format!("refs/pull/{number}/head"))?;
        return Err(custom(format!("No commits between {base_ref} and {head_ref}")));
    }
    let (issue_id, pull_id) = (state.new_id(), state.new_id());
    let pull = Pull {
        id: pull_id,
        head_repo,
        head_owner: state.repo(head_repo)?.owner.clone(),
        head_ref,
        head_sha: head.to_string(),
        base_ref,
        base_sha: base.to_string(),
        draft: call.body.get("draft").and_then(Value::as_bool).unwrap_or(false),
        merged_at: None,
        merged_by: None,
        merge_commit_sha: None,
        reviews: Vec::new(),
        retargets: Vec::new(),
    };
    let mut issue = new_issue(issue_id, number, title, body, by.clone(), Some(pull), state.now());
    issue.created_at = state.tick();
    state.repo_mut(call.repo)?.issues.insert(number, issue);
    state.tell_pull(call.repo, number, "opened", &by, json!({}))?;
    Ok(Reply::Created(state.full_pull_json(state.repo(call.repo)?, state.issue(call.repo, number)?)?))
}

/// A fresh issue, or the outer half of a fresh pull request.
pub(crate) fn new_issue(
    id: u64,
    number: u64,
    title: String,
    body: Option<String>,
    user: Account,
    pull: Option<Pull>,
    at: Timestamp,
) -> Issue {
    Issue {
        id,
        number,
        title,
        body,
        open: true,
        state_reason: None,
        user,
        labels: Vec::new(),
        assignees: Vec::new(),
        created_at: at,
        updated_at: at,
        closed_at: None,
        edited: None,
        parent: None,
        blocked_by: Vec::new(),
        pull,
    }
}

fn get(state: &mut State, call: &Call) -> Answer {
    let (issue, _) = state.pull(call.repo, call.number("n"))?;
    Ok(Reply::Ok(state.full_pull_json(state.repo(call.repo)?, issue)?))
}

fn edit(state: &mut State, call: &Call) -> Answer {
    let (repo, number, by) = (call.repo, call.number("n"), call.account()?);
    let (issue, pull) = state.pull(repo, number)?;
    let (old_title, old_body, was_open) = (issue.title.clone(), issue.body.clone(), issue.open);
    let (old_base, old_base_sha, merged) = (pull.base_ref.clone(), pull.base_sha.clone(), pull.merged_at.is_some());
    may_edit(state, call, &issue.user)?;
    bounded("PullRequest", call.text("body"))?;
    let mut changes = json!({});
    if let Some(title) = call.text("title").filter(|title| *title != old_title) {
        changes["title"] = json!({"from": old_title});
        state.issue_mut(repo, number)?.title = title.to_owned();
    }
    if let Some(body) = call.text("body").filter(|body| Some(*body) != old_body.as_deref()) {
        changes["body"] = json!({"from": old_body.unwrap_or_default()});
        state.issue_mut(repo, number)?.body = Some(body.to_owned());
    }
    if let Some(base) = call.text("base").filter(|base| *base != old_base) {
        let invalid = || Problem::field("PullRequest", "base", "invalid", None);
        let tip = state.git(repo)?.branch(base).ok_or_else(invalid)?;
        changes["base"] = json!({"ref": {"from": old_base}, "sha": {"from": old_base_sha}});
        let event = (state.new_id(), by.clone(), state.tick());
        let pull = state.pull_mut(repo, number)?;
        pull.base_ref = base.to_owned();
        pull.base_sha = tip.to_string();
        pull.retargets.push(event);
    }
    if changes.as_object().is_some_and(|changes| !changes.is_empty()) {
        state.issue_mut(repo, number)?.updated_at = state.now();
        state.tell_pull(repo, number, "edited", &by, json!({"changes": changes}))?;
    }
    match call.text("state") {
        Some("closed") if was_open => state.close_pull(repo, number, &by)?,
        Some("open") if !was_open => reopen(state, repo, number, merged, &by)?,
        Some("open" | "closed") | None => {}
        Some(_) => return Err(Problem::field("PullRequest", "state", "invalid", None)),
    }
    get(state, call)
}

/// The author and those with triage access may change what a pull request or an issue says.
pub(crate) fn may_edit(state: &State, call: &Call, author: &Account) -> Result<(), Problem> {
    match &call.actor {
        super::super::auth::Actor::User(account)
            if account.id != author.id && state.role(state.repo(call.repo)?, account.id) < Role::Triage =>
        {
            Err(Problem::new(403, "Must have triage rights to Repository."))
        }
        _ => Ok(()),
    }
}

pub(crate) fn reopen(state: &mut State, repo: u64, number: u64, merged: bool, by: &Account) -> Result<(), Problem> {
    let (_, pull) = state.pull(repo, number)?;
    let (head_repo, head_ref) = (pull.head_repo, pull.head_ref.clone());
    let tip = state.git(head_repo)?.branch(&head_ref);
    let Some(tip) = tip.filter(|_| !merged) else {
        return Err(Problem::field("PullRequest", "state", "invalid", Some("state cannot be changed.")));
    };
    // The branch may have moved while the pull request was closed: it comes back at its head of today.
    state.fetch_head(repo, number, head_repo, &head_ref)?;
    state.pull_mut(repo, number)?.head_sha = tip.to_string();
    let issue = state.issue_mut(repo, number)?;
    issue.open = true;
    issue.closed_at = None;
    state.tell_pull(repo, number, "reopened", by, json!({}))
}

fn files(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let (_, pull) = state.pull(call.repo, call.number("n"))?;
    let (head, files) = state.pull_files(repo, pull)?;
    // GitHub lists at most 3,000 files of a pull request.
    Ok(Reply::List(files.iter().take(3_000).map(|file| state.file_json(repo, head, file)).collect()))
}

fn commits(state: &mut State, call: &Call) -> Answer {
    let (repo, git) = (state.repo(call.repo)?, state.git(call.repo)?);
    let (_, pull) = state.pull(call.repo, call.number("n"))?;
    let (head, base) = (super::super::view::git::oid(&pull.head_sha)?, super::super::view::git::oid(&pull.base_sha)?);
    let mut list = Vec::new();
    for id in git.commits_between(Some(base), head)?.into_iter().take(250) {
        list.push(state.commit_json(repo, &git, id)?);
    }
    Ok(Reply::List(list))
}
