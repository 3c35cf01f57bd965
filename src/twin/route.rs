//! One table of what the API can do: method, path, who may, and the function that does it.
//!
//! The dispatcher answers the questions that every call has in common, in GitHub's order: is there such a path, are
//! the credentials good (401), can the caller see the repository at all (404), may they do this (403). A handler
//! starts when all are answered.

use std::sync::LazyLock;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::api;
use super::auth::Actor;
use super::model::{Account, Level, Role};
use super::reply::{Answer, Problem};
use super::state::State;

pub(crate) type Handler = fn(&mut State, &Call) -> Answer;

/// Who may use a route.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    /// Anyone; the handler looks closer.
    Any,
    /// An App as itself, by JWT.
    Jwt,
    /// Below `/repos/{owner}/{repo}`: an App with one of these permissions, or a person with this role.
    Repo(&'static [(&'static str, Level)], Role),
}

pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// Segments; `{name}` takes one, `{name*}` one or more, and `{n}`, `{id}` and `{…_id}` only a number.
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) run: Handler,
}

/// A request that has found its route.
pub(crate) struct Call {
    pub(crate) actor: Actor,
    pub(crate) repo: u64,
    params: Vec<(&'static str, String)>,
    query: Vec<(String, String)>,
    pub(crate) body: Value,
    pub(crate) accept: String,
}

impl Call {
    pub(crate) fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }

    /// A numeric parameter. The pattern has made sure that it is one.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.param(name).parse().unwrap_or_default()
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        self.body.get(field).and_then(Value::as_str)
    }

    /// A field that must be there, or the 422 that names it.
    pub(crate) fn required(&self, resource: &str, field: &str) -> Result<&str, Problem> {
        self.text(field).ok_or_else(|| Problem::field(resource, field, "missing_field", None))
    }

    pub(crate) fn account(&self) -> Result<Account, Problem> {
        self.actor.account()
    }
}

/// A request as it comes in, by HTTP or from inside.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// Below the API base, without the query.
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) body: Value,
}

fn tables() -> impl Iterator<Item = &'static Route> {
    [
        api::apps::ROUTES,
        api::repos::ROUTES,
        api::activity::ROUTES,
        api::contents::ROUTES,
        api::pulls::ROUTES,
        api::reviews::ROUTES,
        api::merges::ROUTES,
        api::issues::ROUTES,
        api::relations::ROUTES,
        api::comments::ROUTES,
        api::labels::ROUTES,
        api::checks::ROUTES,
        api::statuses::ROUTES,
        api::actions::ROUTES,
        api::artifacts::ROUTES,
        api::gitdata::ROUTES,
        api::people::ROUTES,
    ]
    .into_iter()
    .flatten()
}

/// Undoes percent-encoding, and `+` in queries.
pub(crate) fn unescape(text: &str, plus: bool) -> String {
    let text = if plus { text.replace('+', " ") } else { text.to_owned() };
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

pub(crate) fn parse_query(query: &str) -> Vec<(String, String)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (unescape(key, true), unescape(value, true)))
        .collect()
}

type Params = Vec<(&'static str, String)>;

/// A route with its pattern taken apart.
struct Pattern {
    route: &'static Route,
    segments: Vec<&'static str>,
    /// One of its segments takes several.
    wide: bool,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let parted = |route: &'static Route| {
        let segments: Vec<&'static str> = route.path.split('/').filter(|part| !part.is_empty()).collect();
        Pattern { route, wide: segments.iter().any(|part| part.ends_with("*}")), segments }
    };
    tables().map(parted).collect()
});

/// Fits a path to a pattern; the count of literal segments ranks the fits.
fn fit(pattern: &Pattern, path: &[&str]) -> Option<(usize, Params)> {
    let segments = &pattern.segments;
    let extra = match pattern.wide {
        true => path.len().checked_sub(segments.len())?,
        false if path.len() == segments.len() => 0,
        false => return None,
    };
    // Most of the patterns begin alike, and differ in their last segment.
    let last = segments.last().filter(|last| !last.starts_with('{'));
    if last.is_some_and(|last| path.last() != Some(last)) {
        return None;
    }
    let (mut at, mut literal, mut params) = (0, 0, Vec::new());
    for &segment in segments {
        let Some(name) = segment.strip_prefix('{').map(|rest| rest.trim_end_matches('}')) else {
            if path[at] != segment {
                return None;
            }
            (at, literal) = (at + 1, literal + 1);
            continue;
        };
        let (name, take) = match name.strip_suffix('*') {
            Some(name) => (name, 1 + extra),
            None => (name, 1),
        };
        let value = path[at..at + take].iter().map(|part| unescape(part, false)).collect::<Vec<_>>().join("/");
        let numeric = name == "n" || name == "id" || name.ends_with("_id");
        if numeric && value.parse::<u64>().is_err() {
            return None;
        }
        params.push((name, value));
        at += take;
    }
    Some((literal, params))
}

fn find(method: &str, path: &str) -> Option<(&'static Route, Params)> {
    let path: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    PATTERNS
        .iter()
        .filter(|pattern| pattern.route.method == method)
        .filter_map(|pattern| fit(pattern, &path).map(|(rank, params)| (rank, pattern.route, params)))
        .max_by_key(|(rank, ..)| *rank)
        .map(|(_, route, params)| (route, params))
}

/// The pattern that a path belongs to.
pub(crate) fn template(method: &str, path: &str) -> Option<&'static str> {
    find(method, path).map(|(route, _)| route.path)
}

/// Every method and pattern there is.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    tables().map(|route| (route.method, route.path))
}

impl State {
    /// Answers one API request.
    pub(crate) fn answer(&mut self, actor: Actor, request: Request<'_>) -> Answer {
        let (route, params) = find(request.method, request.path).ok_or_else(Problem::not_found)?;
        let mut call = Call {
            actor,
            repo: 0,
            params,
            query: parse_query(request.query),
            body: request.body,
            accept: request.accept.to_owned(),
        };
        let repo = match route.path {
            path if path.starts_with("/repos/{owner}/{repo}") => {
                Some(self.repo_id(call.param("owner"), call.param("repo")))
            }
            // This is where GitHub sends those on who ask by an old name.
            "/repositories/{id}" => Some(call.param("id").parse().ok().filter(|id| self.repos.contains_key(id))),
            _ => None,
        };
        if let Some(repo) = repo {
            let repo = repo.ok_or_else(Problem::not_found)?;
            if !self.sees(&call.actor, self.repo(repo)?) {
                return Err(Problem::not_found());
            }
            call.repo = repo;
        }
        match route.access {
            Access::Any => {}
            Access::Jwt => match call.actor {
                Actor::App { .. } => {}
                _ => return Err(Problem::new(401, "A JSON web token could not be decoded")),
            },
            Access::Repo(any_of, role) => {
                let writes = route.method != "GET";
                self.demand(&call.actor, self.repo(call.repo)?, any_of, role, writes)?;
            }
        }
        let answer = (route.run)(self, &call);
        // What was done may be what a merge queue waits for.
        if route.method != "GET" && self.repos.contains_key(&call.repo) {
            self.advance_queues(call.repo)?;
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &str, path: &str) -> Option<(&'static str, Params)> {
        find(method, path).map(|(route, params)| (route.path, params))
    }

    #[test]
    fn the_most_literal_pattern_wins_and_refs_may_have_slashes() {
        let (path, params) = found("GET", "/repos/o/r/commits/heads/a/b/check-runs").unwrap();
        assert_eq!(path, "/repos/{owner}/{repo}/commits/{ref*}/check-runs");
        assert_eq!(params[2], ("ref", "heads/a/b".to_owned()));
        let (path, _) = found("GET", "/repos/o/r/issues/comments/7").unwrap();
        assert_eq!(path, "/repos/{owner}/{repo}/issues/comments/{id}");
        let (_, params) = found("DELETE", "/repos/o/r/issues/1/labels/phase%3A%20plan").unwrap();
        assert_eq!(params[3], ("name", "phase: plan".to_owned()));
        assert!(found("GET", "/repos/o/r/pulls/x").is_none());
        assert!(found("GET", "/nothing").is_none());
    }
}
