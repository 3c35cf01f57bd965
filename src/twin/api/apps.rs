//! Apps: themselves, their installations and tokens, and the log of their deliveries.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::auth::{Actor, Grants, Scope, Token};
use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/app", access: Access::Jwt, run: app },
    Route { method: "GET", path: "/app/installations", access: Access::Jwt, run: installations },
    Route { method: "GET", path: "/app/installations/{id}", access: Access::Jwt, run: installation },
    Route { method: "POST", path: "/app/installations/{id}/access_tokens", access: Access::Jwt, run: token },
    Route { method: "GET", path: "/app/hook/deliveries", access: Access::Jwt, run: deliveries },
    Route { method: "GET", path: "/app/hook/deliveries/{id}", access: Access::Jwt, run: delivery },
    Route { method: "POST", path: "/app/hook/deliveries/{id}/attempts", access: Access::Jwt, run: redeliver },
    Route { method: "GET", path: "/apps/{slug}", access: Access::Any, run: public_app },
    Route { method: "GET", path: "/repos/{owner}/{repo}/installation", access: Access::Jwt, run: repo_installation },
    Route { method: "GET", path: "/installation/repositories", access: Access::Any, run: installation_repos },
];

fn me(call: &Call) -> Result<u64, Problem> {
    call.actor.app().ok_or_else(Problem::bad_credentials)
}

fn app(state: &mut State, call: &Call) -> Answer {
    let id = me(call)?;
    let app = state.apps.get(&id).ok_or_else(Problem::not_found)?;
    let mut value = state.app_json(app);
    value["installations_count"] = state.installations.values().filter(|one| one.app == id).count().into();
    Ok(Reply::Ok(value))
}

fn public_app(state: &mut State, call: &Call) -> Answer {
    let app = state.apps.values().find(|app| app.slug == call.param("slug")).ok_or_else(Problem::not_found)?;
    Ok(Reply::Ok(state.app_json(app)))
}

fn installations(state: &mut State, call: &Call) -> Answer {
    let id = me(call)?;
    let mine = state.installations.values().filter(|one| one.app == id);
    Ok(Reply::List(mine.map(|one| state.installation_json(one)).collect()))
}

fn mine<'a>(state: &'a State, call: &Call) -> Result<&'a Installation, Problem> {
    let id = me(call)?;
    let found = state.installations.get(&call.number("id")).filter(|one| one.app == id);
    found.ok_or_else(Problem::not_found)
}

fn installation(state: &mut State, call: &Call) -> Answer {
    Ok(Reply::Ok(state.installation_json(mine(state, call)?)))
}

fn repo_installation(state: &mut State, call: &Call) -> Answer {
    let one = state.installation_on(me(call)?, call.repo).ok_or_else(Problem::not_found)?;
    Ok(Reply::Ok(state.installation_json(one)))
}

fn installation_repos(state: &mut State, call: &Call) -> Answer {
    let Actor::Installation { scope, .. } = &call.actor else { return Err(Problem::not_for_integration()) };
    let reached = state.repos.values().filter(|repo| state.reaches(scope, repo.id));
    Ok(Reply::Counted("repositories", reached.map(|repo| state.repo_json(repo)).collect()))
}

/// Narrows an installation's permissions to what was asked; asking for more is refused.
fn narrowed(granted: &Permissions, asked: Option<&Value>) -> Result<Permissions, Problem> {
    let Some(asked) = asked.and_then(Value::as_object) else { return Ok(granted.clone()) };
    let mut narrowed = Permissions::new();
    for (name, level) in asked {
        let level =
            level.as_str().and_then(Level::parse).ok_or_else(|| Problem::invalid("Invalid permission level."))?;
        if granted.get(name).is_none_or(|given| *given < level) {
            return Err(Problem::invalid("The permissions requested are not granted to this installation."));
        }
        narrowed.insert(name.clone(), level);
    }
    narrowed.entry("metadata".into()).or_insert(Level::Read);
    Ok(narrowed)
}

fn token(state: &mut State, call: &Call) -> Answer {
    let one = mine(state, call)?.clone();
    if one.suspended_at.is_some() {
        return Err(Problem::suspended());
    }
    let permissions = narrowed(&one.permissions, call.body.get("permissions"))?;
    let missing = || {
        Problem::invalid(
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        )
    };
    let mut repos: BTreeSet<u64> = BTreeSet::new();
    for name in call.body.get("repositories").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        repos.insert(state.repo_id(&one.account.login, name).ok_or_else(missing)?);
    }
    for id in call.body.get("repository_ids").and_then(Value::as_array).into_iter().flatten() {
        repos.insert(id.as_u64().unwrap_or_default());
    }
    if repos.iter().any(|id| !one.repos.contains(id)) {
        return Err(missing());
    }
    let narrowed = !repos.is_empty();
    let expires_at = state.now() + SignedDuration::from_hours(1);
    let secret = format!("ghs_{}", Uuid::new_v4().simple());
    let scope = Scope {
        app: one.app,
        installation: one.id,
        permissions: permissions.clone(),
        repos: narrowed.then_some(repos.clone()),
    };
    state.tokens.insert(secret.clone(), Token { grants: Grants::Installation(scope), expires_at: Some(expires_at) });
    let mut value = json!({
        "token": secret, "expires_at": expires_at, "permissions": State::permissions_json(&permissions),
        "repository_selection": "selected",
    });
    if narrowed {
        value["repositories"] =
            repos.iter().filter_map(|id| state.repos.get(id)).map(|repo| state.repo_json(repo)).collect();
    }
    Ok(Reply::Created(value))
}

fn delivery_json(one: &Delivery, whole: bool) -> Value {
    let outcome = one.outcome.as_ref();
    let mut value = json!({
        "id": one.id, "guid": one.guid, "delivered_at": one.delivered_at, "redelivery": one.redelivery,
        "duration": outcome.map_or(0.0, |end| end.duration),
        "status": outcome.map_or("pending", |end| if end.ok() { "OK" } else { end.status.as_str() }),
        "status_code": outcome.map_or(0, |end| end.status_code), "event": one.event, "action": one.action,
        "installation_id": one.installation, "repository_id": one.repo, "throttled_at": null,
    });
    if whole {
        value["request"] = json!({
            "headers": outcome.map(|end| end.request_headers.clone()), "payload": one.payload,
        });
        value["response"] = json!({
            "headers": outcome.map(|end| end.response_headers.clone()),
            "payload": outcome.map(|end| end.response_body.clone()),
        });
        value["url"] = "".into();
    }
    value
}

/// Newest first, paged by a cursor that names the last one seen.
fn deliveries(state: &mut State, call: &Call) -> Answer {
    let id = me(call)?;
    let size = call.query("per_page").and_then(|text| text.parse().ok()).unwrap_or(30_usize).clamp(1, 100);
    let below = match call.query("cursor").map(|text| text.strip_prefix("v1_").unwrap_or(text).parse::<u64>()) {
        None => u64::MAX,
        Some(Ok(below)) => below,
        Some(Err(_)) => return Err(Problem::invalid("Invalid cursor")),
    };
    let attempted = state.deliveries.range(..below).rev().map(|(_, one)| one);
    let mut page: Vec<&Delivery> =
        attempted.filter(|one| one.app == id && one.outcome.is_some()).take(size + 1).collect();
    let more = page.len() > size;
    page.truncate(size);
    let next = page.last().filter(|_| more).map(|last| format!("cursor=v1_{}", last.id));
    Ok(Reply::Cursor(page.into_iter().map(|one| delivery_json(one, false)).collect(), next))
}

fn my_delivery<'a>(state: &'a State, call: &Call) -> Result<&'a Delivery, Problem> {
    let id = me(call)?;
    state.deliveries.get(&call.number("id")).filter(|one| one.app == id).ok_or_else(Problem::not_found)
}

fn delivery(state: &mut State, call: &Call) -> Answer {
    Ok(Reply::Ok(delivery_json(my_delivery(state, call)?, true)))
}

fn redeliver(state: &mut State, call: &Call) -> Answer {
    let id = my_delivery(state, call)?.id;
    state.redeliver(id);
    Ok(Reply::Accepted(json!({})))
}
