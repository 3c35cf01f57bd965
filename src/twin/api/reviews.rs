//! Reviews of pull requests.

use serde_json::{Value, json};

use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;
use super::bounded;

const READ: Access = Access::Repo(&[("pull_requests", Level::Read)], Role::Read);
const WRITE: Access = Access::Repo(&[("pull_requests", Level::Write)], Role::Read);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}/pulls/{n}/reviews", access: READ, run: list },
    Route { method: "POST", path: "/repos/{owner}/{repo}/pulls/{n}/reviews", access: WRITE, run: create },
    Route { method: "GET", path: "/repos/{owner}/{repo}/pulls/{n}/reviews/{review_id}", access: READ, run: get },
    Route {
        method: "PUT",
        path: "/repos/{owner}/{repo}/pulls/{n}/reviews/{review_id}",
        access: Access::Repo(&[("pull_requests", Level::Write)], Role::Write),
        run: edit,
    },
    Route {
        method: "PUT",
        path: "/repos/{owner}/{repo}/pulls/{n}/reviews/{review_id}/dismissals",
        access: Access::Repo(&[("pull_requests", Level::Write)], Role::Write),
        run: dismiss,
    },
];

fn list(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let (issue, pull) = state.pull(call.repo, call.number("n"))?;
    Ok(Reply::List(pull.reviews.iter().map(|review| state.review_json(repo, issue, review)).collect()))
}

fn get(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let (issue, pull) = state.pull(call.repo, call.number("n"))?;
    let review = pull.reviews.iter().find(|review| review.id == call.number("review_id"));
    Ok(Reply::Ok(state.review_json(repo, issue, review.ok_or_else(Problem::not_found)?)))
}

fn create(state: &mut State, call: &Call) -> Answer {
    let (repo, number, by) = (call.repo, call.number("n"), call.account()?);
    let body = call.text("body").unwrap_or_default().to_owned();
    bounded("PullRequestReview", Some(&body))?;
    let (issue, pull) = state.pull(repo, number)?;
    let unprocessable =
        |message: &str| Problem { errors: Some(json!([message])), ..Problem::new(422, "Unprocessable Entity") };
    let verdict = match call.text("event") {
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
        Some("COMMENT") => "COMMENTED",
        // Without an event GitHub keeps a pending draft that only its author sees; nobody needs one here.
        _ => return Err(unprocessable("Variable $event of type PullRequestReviewEvent was provided invalid value")),
    };
    if issue.user.id == by.id && verdict != "COMMENTED" {
        let what = if verdict == "APPROVED" { "approve" } else { "request changes on" };
        return Err(unprocessable(&format!("Can not {what} your own pull request")));
    }
    if verdict != "APPROVED" && body.is_empty() {
        return Err(unprocessable("Review cannot have a blank body"));
    }
    let commit_id = call.text("commit_id").unwrap_or(&pull.head_sha).to_owned();
    let review = Review {
        id: state.new_id(),
        user: by.clone(),
        body,
        state: verdict.into(),
        commit_id,
        submitted_at: state.now(),
    };
    let id = review.id;
    state.pull_mut(repo, number)?.reviews.push(review);
    tell(state, repo, number, id, ("submitted", json!({})), &by)
}

/// Its giver's words become others. On the page of a pull request anybody with write access can do that.
fn edit(state: &mut State, call: &Call) -> Answer {
    let (repo, number, by) = (call.repo, call.number("n"), call.account()?);
    let body = call.required("PullRequestReview", "body")?.to_owned();
    bounded("PullRequestReview", Some(&body))?;
    let pull = state.pull_mut(repo, number)?;
    let review = pull.reviews.iter_mut().find(|review| review.id == call.number("review_id"));
    let review = review.ok_or_else(Problem::not_found)?;
    let (id, old) = (review.id, std::mem::replace(&mut review.body, body));
    tell(state, repo, number, id, ("edited", json!({"changes": {"body": {"from": old}}})), &by)
}

fn dismiss(state: &mut State, call: &Call) -> Answer {
    let (repo, number, by) = (call.repo, call.number("n"), call.account()?);
    call.required("PullRequestReview", "message")?;
    let pull = state.pull_mut(repo, number)?;
    let review = pull.reviews.iter_mut().find(|review| review.id == call.number("review_id"));
    let review = review.ok_or_else(Problem::not_found)?;
    if !matches!(review.state.as_str(), "APPROVED" | "CHANGES_REQUESTED") {
        return Err(Problem::invalid("Can not dismiss a commented pull request review"));
    }
    review.state = "DISMISSED".into();
    let id = review.id;
    tell(state, repo, number, id, ("dismissed", json!({})), &by)
}

fn tell(
    state: &mut State,
    repo: u64,
    number: u64,
    id: u64,
    (action, mut fields): (&str, Value),
    by: &Account,
) -> Answer {
    let about = state.repo(repo)?;
    let (issue, pull) = state.pull(repo, number)?;
    let review = pull.reviews.iter().find(|review| review.id == id).ok_or_else(Problem::not_found)?;
    let value = state.review_json(about, issue, review);
    let mut told = value.clone();
    // Webhooks spell the state in lower case, the API in upper case.
    told["state"] = review.state.to_lowercase().into();
    fields["review"] = told;
    fields["pull_request"] = state.pull_json(about, issue)?;
    state.emit(repo, "pull_request_review", Some(action), by, fields);
    Ok(Reply::Ok(value))
}
