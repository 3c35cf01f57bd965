//! People: who they are, what they may, and which teams they belong to. And how much of the hour is left.

use serde_json::json;

use super::super::auth::Actor;
use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/user", access: Access::Any, run: me },
    Route { method: "GET", path: "/users/{login}", access: Access::Any, run: user },
    Route { method: "GET", path: "/rate_limit", access: Access::Any, run: rate_limit },
    Route { method: "GET", path: "/meta", access: Access::Any, run: meta },
    Route {
        method: "GET",
        path: "/repos/{owner}/{repo}/collaborators/{login}/permission",
        access: Access::Repo(&[("metadata", Level::Read)], Role::Write),
        run: permission,
    },
    Route { method: "GET", path: "/orgs/{org}/teams/{slug}/memberships/{login}", access: Access::Any, run: membership },
];

fn me(state: &mut State, call: &Call) -> Answer {
    match &call.actor {
        Actor::User(account) => Ok(Reply::Ok(state.profile_json(account))),
        Actor::Anonymous => Err(Problem::new(401, "Requires authentication")),
        _ => Err(Problem::not_for_integration()),
    }
}

fn user(state: &mut State, call: &Call) -> Answer {
    let account = state.account(call.param("login")).ok_or_else(Problem::not_found)?;
    Ok(Reply::Ok(state.profile_json(account)))
}

fn rate_limit(state: &mut State, call: &Call) -> Answer {
    let (key, limit) = call.actor.quota();
    let quota = *state.quota(&key, limit);
    let told = json!({
        "limit": quota.limit, "used": quota.used, "remaining": quota.remaining(),
        "reset": quota.resets_at.as_second(),
    });
    Ok(Reply::Ok(json!({"resources": {"core": told, "graphql": told, "search": told}, "rate": told})))
}

fn meta(_: &mut State, _: &Call) -> Answer {
    Ok(Reply::Ok(json!({"verifiable_password_authentication": false, "installed_version": "3.19.0"})))
}

/// Fails for the accounts of Apps, which are nobody's collaborators.
fn permission(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let account = state.account(call.param("login")).filter(|one| one.kind == AccountKind::User);
    let account = account.ok_or_else(|| Problem::new(404, format!("{} is not a user", call.param("login"))))?;
    let role = state.role(repo, account.id);
    let mut user = state.user_json(account);
    user["permissions"] = json!({
        "admin": role >= Role::Admin, "maintain": role >= Role::Maintain, "push": role >= Role::Write,
        "triage": role >= Role::Triage, "pull": role >= Role::Read,
    });
    user["role_name"] = role.name().into();
    Ok(Reply::Ok(json!({"permission": role.legacy(), "role_name": role.name(), "user": user})))
}

fn membership(state: &mut State, call: &Call) -> Answer {
    if let Actor::Installation { scope, .. } = &call.actor
        && !scope.permissions.contains_key("members")
    {
        return Err(Problem::lacks(&[("members", Level::Read)]));
    }
    call.account()?;
    let org = state.account(call.param("org")).ok_or_else(Problem::not_found)?;
    let teams = state.teams.get(&org.id).ok_or_else(Problem::not_found)?;
    let team = teams.iter().find(|team| team.slug == call.param("slug")).ok_or_else(Problem::not_found)?;
    let user = state.account(call.param("login")).ok_or_else(Problem::not_found)?;
    let role = match team.members.get(&user.id).ok_or_else(Problem::not_found)? {
        TeamRole::Member => "member",
        TeamRole::Maintainer => "maintainer",
    };
    let url = format!("{}/organizations/{}/team/{}/memberships/{}", state.api(), org.id, team.id, user.login);
    Ok(Reply::Ok(json!({"url": url, "role": role, "state": "active"})))
}
