//! Who moved which branch, and how.

use serde_json::{Value, json};

use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;
use super::super::view::node;

pub(crate) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/repos/{owner}/{repo}/activity",
    access: Access::Repo(&[("contents", Level::Read)], Role::Read),
    run: list,
}];

fn shown(state: &State, one: &Activity) -> Value {
    json!({
        "id": one.id, "node_id": node("PSH", one.id), "before": one.before, "after": one.after, "ref": one.refname,
        "timestamp": one.at.to_string(), "activity_type": one.kind, "actor": state.user_json(&one.actor),
    })
}

/// Newest first, paged by a cursor that names the last one seen.
fn list(state: &mut State, call: &Call) -> Answer {
    let size = call.query("per_page").and_then(|text| text.parse().ok()).unwrap_or(30_usize).clamp(1, 100);
    let below = match call.query("after").map(str::parse::<u64>) {
        None => u64::MAX,
        Some(Ok(below)) => below,
        Some(Err(_)) => return Err(Problem::invalid("Invalid cursor")),
    };
    let wanted = call.query("ref").map(|name| match name.starts_with("refs/") {
        true => name.to_owned(),
        false => format!("refs/heads/{name}"),
    });
    let fits = |one: &&Activity| one.id < below && wanted.as_ref().is_none_or(|name| one.refname == *name);
    let mut page: Vec<&Activity> = state.repo(call.repo)?.activities.iter().rev().filter(fits).take(size + 1).collect();
    let more = page.len() > size;
    page.truncate(size);
    let next = page.last().filter(|_| more).map(|last| match &wanted {
        Some(name) => format!("after={}&ref={name}", last.id),
        None => format!("after={}", last.id),
    });
    Ok(Reply::Cursor(page.into_iter().map(|one| shown(state, one)).collect(), next))
}
