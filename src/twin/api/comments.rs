//! Comments on issues and pull requests, and the reactions to them.

use serde_json::{Value, json};

use super::super::auth::Actor;
use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;
use super::super::view::{REACTIONS, merge};
use super::bounded;

const READ: Access = Access::Repo(&[("issues", Level::Read), ("pull_requests", Level::Read)], Role::Read);
const WRITE: Access = Access::Repo(&[("issues", Level::Write), ("pull_requests", Level::Write)], Role::Read);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}/issues/comments", access: READ, run: list_all },
    Route { method: "GET", path: "/repos/{owner}/{repo}/issues/{n}/comments", access: READ, run: list },
    Route { method: "POST", path: "/repos/{owner}/{repo}/issues/{n}/comments", access: WRITE, run: create },
    Route { method: "GET", path: "/repos/{owner}/{repo}/issues/comments/{id}", access: READ, run: get },
    Route { method: "PATCH", path: "/repos/{owner}/{repo}/issues/comments/{id}", access: WRITE, run: edit },
    Route { method: "DELETE", path: "/repos/{owner}/{repo}/issues/comments/{id}", access: WRITE, run: delete },
    Route { method: "GET", path: "/repos/{owner}/{repo}/issues/comments/{id}/reactions", access: READ, run: reactions },
    Route { method: "POST", path: "/repos/{owner}/{repo}/issues/comments/{id}/reactions", access: WRITE, run: react },
];

fn since(call: &Call) -> jiff::Timestamp {
    call.query("since").and_then(|text| text.parse().ok()).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

fn list(state: &mut State, call: &Call) -> Answer {
    let (repo, number) = (state.repo(call.repo)?, state.issue(call.repo, call.number("n"))?.number);
    let since = since(call);
    let found = repo.comments.values().filter(|one| one.issue == number && one.updated_at >= since);
    Ok(Reply::List(found.map(|one| state.comment_json(repo, one)).collect()))
}

fn list_all(state: &mut State, call: &Call) -> Answer {
    let (repo, since) = (state.repo(call.repo)?, since(call));
    let mut found: Vec<&Comment> = repo.comments.values().filter(|one| one.updated_at >= since).collect();
    if call.query("sort") == Some("updated") {
        found.sort_by_key(|one| (one.updated_at, one.id));
    }
    if call.query("direction") == Some("desc") {
        found.reverse();
    }
    Ok(Reply::List(found.into_iter().map(|one| state.comment_json(repo, one)).collect()))
}

fn find<'a>(state: &'a State, call: &Call) -> Result<&'a Comment, Problem> {
    state.repo(call.repo)?.comments.get(&call.number("id")).ok_or_else(Problem::not_found)
}

fn get(state: &mut State, call: &Call) -> Answer {
    Ok(Reply::Ok(state.comment_json(state.repo(call.repo)?, find(state, call)?)))
}

fn tell(state: &mut State, repo: u64, comment: &Comment, action: &str, by: &Account, more: Value) -> Answer {
    let about = state.repo(repo)?;
    let told = state.comment_json(about, comment);
    let mut fields = json!({
        "issue": state.issue_json(about, state.issue(repo, comment.issue)?), "comment": told,
    });
    merge(&mut fields, more);
    state.emit(repo, "issue_comment", Some(action), by, fields);
    Ok(Reply::Ok(told))
}

fn create(state: &mut State, call: &Call) -> Answer {
    let (repo, number, by) = (call.repo, call.number("n"), call.account()?);
    let body = call.required("IssueComment", "body")?.to_owned();
    bounded("IssueComment", Some(&body))?;
    if body.trim().is_empty() {
        return Err(Problem::field("IssueComment", "body", "custom", Some("body cannot be blank")));
    }
    let (id, at) = (state.new_id(), state.now());
    state.issue_mut(repo, number)?.updated_at = at;
    let via_app = match call.actor {
        Actor::Installation { .. } => call.actor.app(),
        _ => None,
    };
    let comment = Comment {
        id,
        issue: number,
        user: by.clone(),
        body,
        via_app,
        reactions: Vec::new(),
        created_at: at,
        updated_at: at,
        edited: None,
    };
    state.repo_mut(repo)?.comments.insert(id, comment.clone());
    match tell(state, repo, &comment, "created", &by, json!({}))? {
        Reply::Ok(value) => Ok(Reply::Created(value)),
        other => Ok(other),
    }
}

/// The author, and everyone with write access: people can edit the bot's comments, and GitHub lets them.
fn may_touch(state: &State, call: &Call) -> Result<Comment, Problem> {
    let comment = find(state, call)?.clone();
    if let Actor::User(account) = &call.actor
        && account.id != comment.user.id
        && state.role(state.repo(call.repo)?, account.id) < Role::Write
    {
        return Err(Problem::new(403, "Must have admin rights to Repository."));
    }
    Ok(comment)
}

fn edit(state: &mut State, call: &Call) -> Answer {
    let by = call.account()?;
    let mut comment = may_touch(state, call)?;
    let body = call.required("IssueComment", "body")?.to_owned();
    bounded("IssueComment", Some(&body))?;
    let from = std::mem::replace(&mut comment.body, body);
    if from == comment.body {
        return get(state, call);
    }
    comment.updated_at = state.now();
    comment.edited = Some((comment.updated_at, by.clone()));
    state.repo_mut(call.repo)?.comments.insert(comment.id, comment.clone());
    tell(state, call.repo, &comment, "edited", &by, json!({"changes": {"body": {"from": from}}}))
}

fn delete(state: &mut State, call: &Call) -> Answer {
    let by = call.account()?;
    let comment = may_touch(state, call)?;
    tell(state, call.repo, &comment, "deleted", &by, json!({}))?;
    state.repo_mut(call.repo)?.comments.remove(&comment.id);
    Ok(Reply::NoContent)
}

fn reactions(state: &mut State, call: &Call) -> Answer {
    let wanted = call.query("content");
    let found = find(state, call)?.reactions.iter().filter(|one| wanted.is_none_or(|wanted| wanted == one.content));
    Ok(Reply::List(found.map(|one| state.reaction_json(one)).collect()))
}

/// The same reaction twice is one reaction, and is answered 200 the second time.
fn react(state: &mut State, call: &Call) -> Answer {
    let by = call.account()?;
    let content = call.required("Reaction", "content")?.to_owned();
    if !REACTIONS.contains(&content.as_str()) {
        return Err(Problem::field("Reaction", "content", "invalid", None));
    }
    let old = find(state, call)?.reactions.iter().find(|one| one.user.id == by.id && one.content == content);
    if let Some(old) = old {
        return Ok(Reply::Ok(state.reaction_json(old)));
    }
    let reaction = Reaction { id: state.new_id(), user: by, content, created_at: state.now() };
    let value = state.reaction_json(&reaction);
    let repo = state.repo_mut(call.repo)?;
    let comment = repo.comments.get_mut(&call.number("id")).ok_or_else(Problem::not_found)?;
    comment.reactions.push(reaction);
    Ok(Reply::Created(value))
}
