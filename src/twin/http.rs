//! The door: turns HTTP into calls and answers into HTTP, with the headers GitHub puts on everything.
//!
//! Rate limits are counted here, per token; entity tags are made and honoured here; lists are cut into pages here; and
//! every request is logged here, so that a test can count them.

use axum::body::Body;
use axum::extract::State as Extract;
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::api::artifacts;
use super::auth::Actor;
use super::bad_day::Asked;
use super::exchange::Exchange;
use super::feature::Feature;
use super::model::Logged;
use super::reply::{Problem, Reply};
use super::route::{Request, parse_query};
use super::state::{Effect, State};
use super::view::escape_path;
use super::{Admin, Shared, exchange, graphql, lock, oidc, pages, smart_http};
use crate::ids::Digest;

/// More than GitHub takes of JSON, enough for a packed push.
const BODY_LIMIT: usize = 256 * 1024 * 1024;

/// The first segments that the API answers to without `/api/v3`, as api.github.com does.
const ROOTS: &[&str] =
    &["repos", "app", "apps", "user", "users", "orgs", "installation", "rate_limit", "meta", "graphql"];

/// After a hit of the primary limit that is played.
const RESETS_IN: jiff::SignedDuration = jiff::SignedDuration::from_secs(20);

pub(crate) struct Incoming {
    method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Incoming {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

#[derive(Default)]
pub(crate) struct Outgoing {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// Break the connection instead of answering.
    broken: bool,
    /// A failure was played: the answer is not what GitHub would say to this.
    played: bool,
}

impl Outgoing {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        let headers = vec![("content-type", "application/json; charset=utf-8".to_owned())];
        Self { status, headers, body: value.to_string().into_bytes(), ..Self::default() }
    }

    pub(crate) fn bytes(kind: &str, body: Vec<u8>) -> Self {
        Self { status: 200, headers: vec![("content-type", kind.to_owned())], body, ..Self::default() }
    }
}

/// Where a path below the host leads: the API path, if it is the API's.
fn api_path(path: &str) -> Option<&str> {
    if let Some(rest) = path.strip_prefix("/api/v3") {
        return Some(if rest.is_empty() { "/" } else { rest });
    }
    if path == "/api/graphql" {
        return Some("/graphql");
    }
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    ROOTS.contains(&first).then_some(path)
}

pub(crate) async fn handle(Extract(shared): Extract<Shared>, request: axum::extract::Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, BODY_LIMIT).await else {
        return respond(Outgoing::json(413, &json!({"message": "Payload too large"})));
    };
    let incoming = Incoming {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body: body.to_vec(),
    };
    if api_path(&incoming.path).is_some() {
        // Git work is done under the lock: keep it off the threads that serve sockets.
        let served = tokio::task::spawn_blocking(move || serve(&shared, &incoming)).await;
        return respond(served.unwrap_or_else(|_| Outgoing::json(500, &json!({"message": "Server Error"}))));
    }
    if incoming.path.starts_with(artifacts::ROOT) {
        return respond(lock(&shared).serve_artifact(&incoming));
    }
    if incoming.path.starts_with(oidc::ROOT) {
        return respond(lock(&shared).serve_tokens(&incoming));
    }
    if let Some((slug, rest)) = incoming.path.split_once(".git/").or(incoming.path.split_once(".git?")) {
        let (slug, rest) = (slug.trim_matches('/').to_owned(), rest.to_owned());
        if lock(&shared).without.contains(&Feature::GitOverHttp) {
            return respond(Outgoing::json(404, &Problem::not_found().json()));
        }
        return smart_http::handle(shared, &slug, &rest, incoming.method, &incoming.query, &incoming.headers, body)
            .await;
    }
    // A page reads git under the lock too.
    let house = shared.clone();
    let shown = tokio::task::spawn_blocking(move || show(&house, &incoming)).await;
    let Ok((mut shown, next)) = shown else {
        return respond(Outgoing { status: 500, ..Outgoing::default() });
    };
    if let Some(next) = next {
        let settles = lock(&shared).settles.clone();
        let settled = match settles {
            Some(settles) => settles(Admin::new(shared)).await,
            None => false,
        };
        shown.headers.push(("location", next.address(next.waits && !settled)));
    }
    respond(shown)
}

/// For whoever has no browser.
const PLAIN: &str = "text/plain; charset=utf-8";

/// A page for people, or what came of the form that they sent: then with where to go.
fn show(shared: &Shared, incoming: &Incoming) -> (Outgoing, Option<pages::Next>) {
    let mut go = None;
    let mut headers = vec![
        ("content-type", "text/html; charset=utf-8".to_owned()),
        // What people wrote is shown escaped; this is the second lock on the same door.
        (
            "content-security-policy",
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
                .to_owned(),
        ),
    ];
    let (status, html) = if incoming.method == Method::POST {
        let form = pages::Form { path: &incoming.path, body: &incoming.body, origin: incoming.header("origin") };
        match pages::act(&mut lock(shared), &form) {
            Ok(next) => {
                // A browser goes there; somebody with curl reads where.
                let done = format!("done: {}\n", next.path);
                headers[0].1 = PLAIN.to_owned();
                go = Some(next);
                (303, done)
            }
            Err(problem) => {
                let as_page = incoming.header("accept").is_some_and(|accept| accept.contains("text/html"));
                if !as_page {
                    headers[0].1 = PLAIN.to_owned();
                }
                (problem.status, pages::refused(&problem, &incoming.path, as_page))
            }
        }
    } else {
        match pages::page(&lock(shared), &incoming.path, incoming.query == "fresh") {
            Some(html) => (200, html),
            None => (404, pages::not_found()),
        }
    };
    (Outgoing { status, headers, body: html.into_bytes(), ..Outgoing::default() }, go)
}

fn serve(shared: &Shared, incoming: &Incoming) -> Outgoing {
    let outgoing = lock(shared).serve(incoming);
    if exchange::wanted() {
        let story = lock(shared).story.clone();
        keep(&story, incoming, &outgoing);
    }
    outgoing
}

/// Keeps what was said, for those who compare it with what GitHub would say.
fn keep(story: &str, incoming: &Incoming, outgoing: &Outgoing) {
    let Some(path) = api_path(&incoming.path) else { return };
    let kind = outgoing.headers.iter().find(|(name, _)| *name == "content-type").map(|(_, value)| value.as_str());
    let is_json = kind.is_some_and(|kind| kind.contains("application/json"));
    let (request, response) = (exchange::Body::Text(&incoming.body), exchange::Body::Text(&outgoing.body));
    let bot = incoming.header("user-agent").is_some_and(|agent| agent.starts_with("phasegate/"));
    let played = outgoing.played;
    let exchange = match path {
        // What is refused before anybody looks at the query is no answer to it.
        "/graphql" => Exchange::GraphQl { bot, played: played || outgoing.status != 200, request, response },
        path => Exchange::Rest {
            method: incoming.method.as_str(),
            path,
            query: &incoming.query,
            status: outgoing.status,
            bot,
            played,
            raw: !outgoing.body.is_empty() && !is_json,
            request: Some(request),
            response: is_json.then_some(response),
        },
    };
    exchange::keep(story, exchange);
}

fn respond(outgoing: Outgoing) -> Response {
    let mut response =
        Response::builder().status(StatusCode::from_u16(outgoing.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    for (name, value) in outgoing.headers {
        response = response.header(name, value);
    }
    let body = if outgoing.broken {
        let lost = std::io::Error::other("connection dropped on request");
        Body::from_stream(futures::stream::once(async { Err::<Vec<u8>, _>(lost) }))
    } else {
        Body::from(outgoing.body)
    };
    response.body(body).unwrap_or_default()
}

impl State {
    fn serve(&mut self, incoming: &Incoming) -> Outgoing {
        let path = api_path(&incoming.path).unwrap_or_default().to_owned();
        let actor = self.actor(incoming.header("authorization"));
        let parsed = match incoming.body.is_empty() {
            true => Ok(Value::Null),
            false => serde_json::from_slice::<Value>(&incoming.body),
        };
        let is_graphql = path == "/graphql";
        let is_write = match (&parsed, is_graphql) {
            (Ok(body), true) => graphql::is_mutation(body),
            (Err(_), true) => false,
            (_, false) => incoming.method != Method::GET,
        };
        let mut logged = Logged {
            method: incoming.method.to_string(),
            path: if incoming.query.is_empty() { path.clone() } else { format!("{path}?{}", incoming.query) },
            actor: actor.as_ref().map_or_else(|_| "unknown".into(), Actor::name),
            app: actor.as_ref().ok().and_then(Actor::app),
            status: 0,
            is_write,
        };
        let body = parsed.as_ref().unwrap_or(&Value::Null);
        let (method, actor_known) = (incoming.method.as_str(), actor.as_ref().ok());
        let asked = Asked { method, path: &path, is_write, actor: actor_known, body };
        let fault = self.take_fault(&asked);
        if let (Some(Effect::Rival), Ok(actor)) = (&fault, &actor)
            && let Err(problem) = self.rival_wins(actor, &asked)
        {
            tracing::warn!(problem = problem.message, "a rival could not win");
        }
        let refused = |status: u16| {
            let told = if status == 409 { "Conflict" } else { "Server Error" };
            Outgoing::json(status, &Problem::new(status, told).json())
        };
        let mut outgoing = match (&fault, actor) {
            (Some(Effect::Refuse(status)), _) => refused(*status),
            (Some(Effect::Break), _) => Outgoing { broken: true, ..refused(502) },
            (Some(Effect::Secondary { status, retry_after }), _) => {
                let told = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
                let mut outgoing = Outgoing::json(*status, &Problem::new(*status, told).json());
                outgoing.headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
                outgoing
            }
            (Some(Effect::Expire), Ok(_)) => {
                let token = incoming.header("authorization").and_then(|header| header.split_once(' '));
                self.tokens.remove(token.map_or("", |(_, token)| token.trim()));
                let problem = Problem::bad_credentials();
                Outgoing::json(problem.status, &problem.json())
            }
            (_, Err(problem)) => Outgoing::json(problem.status, &problem.json()),
            (Some(Effect::Lag), Ok(actor)) => {
                self.as_if_behind(|state| state.metered(actor, incoming, &path, parsed.ok(), is_graphql))
            }
            (Some(Effect::Primary { status }), Ok(actor)) => {
                self.use_up(&actor, is_graphql);
                let outgoing = self.metered(actor, incoming, &path, parsed.ok(), is_graphql);
                Outgoing { status: *status, ..outgoing }
            }
            (_, Ok(actor)) => {
                if is_write && !path.ends_with("/access_tokens") {
                    self.about_to_write();
                }
                self.metered(actor, incoming, &path, parsed.ok(), is_graphql)
            }
        };
        match fault {
            Some(Effect::Lose(status)) => outgoing = refused(status),
            Some(Effect::Hang) => outgoing.broken = true,
            _ => {}
        }
        outgoing.played = !matches!(fault, None | Some(Effect::Rival | Effect::Lag));
        logged.status = outgoing.status;
        self.log.push(logged);
        outgoing.headers.extend([
            ("server", "github.com".to_owned()),
            ("x-github-request-id", request_id()),
            ("x-github-api-version-selected", "2022-11-28".to_owned()),
            ("x-github-media-type", "github.v3; format=json".to_owned()),
        ]);
        outgoing
    }

    /// What is played on this request: what was asked for, else what the day brings.
    fn take_fault(&mut self, asked: &Asked<'_>) -> Option<Effect> {
        let fault = self.faults.iter_mut().find(|fault| {
            fault.times > 0
                && fault.method.as_deref().is_none_or(|wanted| wanted == asked.method)
                && asked.path.contains(&fault.path_contains)
                && (asked.is_write || !fault.effect.is_for_writes())
        });
        match fault {
            Some(fault) => {
                fault.times -= 1;
                Some(fault.effect.clone())
            }
            None => self.weather.as_mut()?.effect(asked),
        }
    }

    /// Leaves nothing of a caller's hour, which is nearly over.
    fn use_up(&mut self, actor: &Actor, is_graphql: bool) {
        let (key, limit) = actor.quota();
        let key = if is_graphql { format!("{key}:graphql") } else { key };
        let resets_at = self.now() + RESETS_IN;
        let quota = self.quota(&key, limit);
        (quota.used, quota.resets_at) = (quota.limit, resets_at);
    }

    /// Answers within the caller's quota, and tells how much of it is left.
    fn metered(
        &mut self,
        actor: Actor,
        incoming: &Incoming,
        path: &str,
        body: Option<Value>,
        is_graphql: bool,
    ) -> Outgoing {
        let (key, limit) = actor.quota();
        let key = if is_graphql { format!("{key}:graphql") } else { key };
        let quota = self.quota(&key, limit);
        let mut outgoing = if quota.remaining() == 0 {
            let told = format!("API rate limit exceeded for {key}.");
            Outgoing::json(403, &Problem::new(403, told).json())
        } else {
            // Asking what is left costs nothing.
            let free = path == "/rate_limit";
            quota.used += u64::from(!free);
            let built = Feature::of(path).is_none_or(|feature| !self.without.contains(&feature));
            let outgoing = match (body, is_graphql) {
                _ if !built => Outgoing::json(404, &Problem::not_found().json()),
                (None, _) => Outgoing::json(400, &Problem::new(400, "Problems parsing JSON").json()),
                (Some(body), true) => self.serve_graphql(&actor, incoming, &body),
                (Some(body), false) => self.serve_rest(actor, incoming, path, body),
            };
            if outgoing.status == 304 {
                let quota = self.quota(&key, limit);
                quota.used = quota.used.saturating_sub(1);
            }
            outgoing
        };
        let quota = *self.quota(&key, limit);
        outgoing.headers.extend([
            ("x-ratelimit-limit", quota.limit.to_string()),
            ("x-ratelimit-remaining", quota.remaining().to_string()),
            ("x-ratelimit-used", quota.used.to_string()),
            ("x-ratelimit-reset", quota.resets_at.as_second().to_string()),
            ("x-ratelimit-resource", if is_graphql { "graphql" } else { "core" }.to_owned()),
        ]);
        outgoing
    }

    fn serve_graphql(&mut self, actor: &Actor, incoming: &Incoming, body: &Value) -> Outgoing {
        if incoming.method != Method::POST {
            return Outgoing::json(404, &Problem::not_found().json());
        }
        match actor {
            Actor::User(_) | Actor::Installation { .. } => Outgoing::json(200, &graphql::execute(self, actor, body)),
            _ => {
                let told = "This endpoint requires you to be authenticated.";
                Outgoing::json(401, &Problem::new(401, told).json())
            }
        }
    }

    fn serve_rest(&mut self, actor: Actor, incoming: &Incoming, path: &str, body: Value) -> Outgoing {
        let accept = incoming.header("accept").unwrap_or_default();
        let request = Request { method: incoming.method.as_str(), path, query: &incoming.query, accept, body };
        let is_get = incoming.method == Method::GET;
        let mut link = None;
        let mut outgoing = match self.answer(actor, request) {
            Err(problem) => {
                let mut outgoing = Outgoing::json(problem.status, &problem.json());
                outgoing.headers.extend(problem.accepted.map(|told| ("x-accepted-github-permissions", told)));
                outgoing
            }
            Ok(reply) => {
                let page = is_get.then(|| Page::of(&incoming.query));
                let url = format!("{}{path}", self.api());
                let (status, told) = told(reply, page.as_ref(), &url, &incoming.query, &mut link);
                match told {
                    Told::Json(value) => Outgoing::json(status, &value),
                    Told::Raw(body) => {
                        let headers = vec![("content-type", "application/vnd.github.raw; charset=utf-8".to_owned())];
                        Outgoing { status, headers, body, ..Outgoing::default() }
                    }
                    Told::Elsewhere(address) => {
                        Outgoing { status, headers: vec![("location", address)], ..Outgoing::default() }
                    }
                    Told::Nothing => Outgoing { status, ..Outgoing::default() },
                }
            }
        };
        if let Some(link) = link {
            outgoing.headers.push(("link", link));
        }
        if is_get && outgoing.status == 200 {
            let etag = format!("W/\"{}\"", Digest::of(&outgoing.body));
            if incoming.header("if-none-match").is_some_and(|given| given.split(", ").any(|one| one == etag)) {
                outgoing.status = 304;
                outgoing.body.clear();
                outgoing.headers.retain(|(name, _)| *name != "content-type");
            }
            outgoing.headers.push(("etag", etag));
            outgoing.headers.push(("cache-control", "private, max-age=60, s-maxage=60".to_owned()));
        }
        outgoing
    }
}

fn request_id() -> String {
    let id = Uuid::new_v4().simple().to_string().to_uppercase();
    format!("{}:{}:{}:{}:{}", &id[..4], &id[4..10], &id[10..17], &id[17..24], &id[24..32])
}

/// What is left to send of a reply.
pub(crate) enum Told {
    Json(Value),
    Raw(Vec<u8>),
    Elsewhere(String),
    Nothing,
}

struct Page {
    number: usize,
    size: usize,
}

impl Page {
    fn of(query: &str) -> Self {
        let query = parse_query(query);
        let read = |name: &str| query.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.parse().ok());
        Self { number: read("page").unwrap_or(1).max(1), size: read("per_page").unwrap_or(30).clamp(1, 100) }
    }

    /// Cuts this page, and links to the others.
    fn cut(&self, items: Vec<Value>, url: &str, query: &str) -> (Vec<Value>, Option<String>) {
        let last = items.len().div_ceil(self.size).max(1);
        let link = |page: usize, rel: &str| {
            let kept: String = parse_query(query)
                .into_iter()
                .filter(|(key, _)| key != "page")
                .map(|(key, value)| format!("{}={}&", escape_path(&key), escape_path(&value)))
                .collect();
            format!("<{url}?{kept}page={page}>; rel=\"{rel}\"")
        };
        let mut links = Vec::new();
        if self.number > 1 {
            links.push(link(self.number - 1, "prev"));
        }
        if self.number < last {
            links.push(link(self.number + 1, "next"));
            links.push(link(last, "last"));
        }
        if self.number > 1 {
            links.push(link(1, "first"));
        }
        let cut = items.into_iter().skip((self.number - 1) * self.size).take(self.size).collect();
        (cut, (!links.is_empty()).then(|| links.join(", ")))
    }
}

fn told(reply: Reply, page: Option<&Page>, url: &str, query: &str, link: &mut Option<String>) -> (u16, Told) {
    let mut cut = |items: Vec<Value>| match page {
        Some(page) => {
            let (items, links) = page.cut(items, url, query);
            *link = links;
            items
        }
        None => items,
    };
    match reply {
        Reply::Ok(value) => (200, Told::Json(value)),
        Reply::Created(value) => (201, Told::Json(value)),
        Reply::Accepted(value) => (202, Told::Json(value)),
        Reply::NoContent => (204, Told::Nothing),
        Reply::Raw(body) => (200, Told::Raw(body)),
        Reply::Elsewhere(address) => (302, Told::Elsewhere(address)),
        Reply::List(items) => (200, Told::Json(cut(items).into())),
        Reply::Counted(key, items) => {
            let total = items.len();
            (200, Told::Json(json!({"total_count": total, key: cut(items)})))
        }
        Reply::Cursor(items, next) => {
            let size = page.map_or(30, |page| page.size);
            *link = next.map(|next| format!("<{url}?per_page={size}&{next}>; rel=\"next\""));
            (200, Told::Json(items.into()))
        }
    }
}

/// Status and body of a reply that is not paged: for calls from inside.
pub(crate) fn whole(reply: Reply) -> (u16, Told) {
    told(reply, None, "", "", &mut None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_link_to_each_other_and_keep_the_query() {
        let items: Vec<Value> = (0..7).map(Value::from).collect();
        let query = "state=all&per_page=3&page=2";
        let (cut, link) = Page::of(query).cut(items, "http://h/x", query);
        assert_eq!(Value::from(cut), json!([3, 4, 5]));
        let link = link.unwrap();
        assert!(link.contains("<http://h/x?state=all&per_page=3&page=3>; rel=\"next\""), "{link}");
        assert!(link.contains("page=1>; rel=\"prev\""), "{link}");
        let (cut, link) = Page::of("page=9").cut(vec![json!(1)], "u", "page=9");
        assert!(cut.is_empty() && link.is_some());
    }

    #[test]
    fn the_api_is_found_under_both_layouts() {
        assert_eq!(api_path("/api/v3/repos/o/r"), Some("/repos/o/r"));
        assert_eq!(api_path("/repos/o/r"), Some("/repos/o/r"));
        assert_eq!(api_path("/api/graphql"), Some("/graphql"));
        assert_eq!(api_path("/o/r.git/info/refs"), None);
    }
}
