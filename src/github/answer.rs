//! What came back, and what it means.

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::endpoint::Endpoint;
use super::error::{Error, Result, Speaker, clip, is_for_want_of_permission};
use super::request::Request;

/// A good answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) route: &'static str,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Path and query of the next page.
    pub(super) next: Option<String>,
}

impl Answer {
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|error| Error::malformed(self.route, error))
    }
}

/// What came back, good or not.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// What GitHub says when it refuses.
#[derive(Default, Deserialize)]
pub(super) struct Complaint {
    #[serde(default)]
    pub(super) message: String,
    errors: Option<serde_json::Value>,
}

pub(super) fn redirected(request: &Request, reply: &Reply) -> Result<String> {
    let keeps_method = matches!(reply.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let location = reply.headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
    location
        .filter(|_| !request.graphql && (request.method == Method::GET || keeps_method))
        .and_then(Endpoint::path_of)
        .ok_or_else(|| Error::malformed(request.route, format!("a redirect of status {}", reply.status.as_u16())))
}

pub(super) fn refusal(
    request: &Request,
    reply: &Reply,
    complaint: Complaint,
    by: Speaker,
    token: &SecretString,
) -> Error {
    let route = request.route;
    // GitHub does not repeat tokens, but whatever stands in between might.
    let scrub = |text: &str| clip(&text.replace(token.expose_secret(), "[token]"));
    let message = scrub(&complaint.message);
    match reply.status.as_u16() {
        401 => Error::Unauthorized { route, by },
        403 if message.contains("installation has been suspended") => Error::Suspended,
        403 | 451 => {
            let needs = is_for_want_of_permission(&message).then(|| needs(&reply.headers)).flatten();
            Error::Forbidden { route, message, needs }
        }
        // GraphQL itself never says so: what is not there, it tells inside an answer of status 200.
        404 | 405 if request.graphql => Error::NoEndpoint { route },
        // Nobody comes to implement it by waiting; and reading is refused by no method.
        501 => Error::NoEndpoint { route },
        405 if request.reads() => Error::NoEndpoint { route },
        // 410 is what a deleted issue answers.
        404 | 410 => Error::NotFound { route, by, write: !request.reads() },
        408 => Error::Timeout { route, unclear: !request.reads() },
        409 => Error::Conflict { route, message },
        status @ 500.. => Error::Server { route, status, unclear: !request.reads() },
        // A page for people, where GraphQL was asked: it is somebody else's address.
        _ if request.graphql && !is_json(&reply.body) => Error::NoEndpoint { route },
        _ => {
            let errors = match complaint.errors {
                Some(serde_json::Value::Array(errors)) => errors,
                Some(error) => vec![error],
                None => Vec::new(),
            };
            let said = |error: &serde_json::Value| {
                let text = error.get("message").unwrap_or(error);
                scrub(&text.as_str().map_or_else(|| text.to_string(), str::to_owned))
            };
            Error::Unprocessable { route, message, errors: errors.iter().take(10).map(said).collect() }
        }
    }
}

pub(super) fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

/// The permissions that a call takes, as they are called on the App's page. GitHub tells with every answer which they are:
/// `issues=write,checks=read` are both needed, `issues=write; pull_requests=write` one of the two.
fn needs(headers: &HeaderMap) -> Option<String> {
    let told = headers.get("x-accepted-github-permissions")?.to_str().ok()?;
    let known = |letter: char| letter.is_ascii_lowercase() || "_=,; ".contains(letter);
    if told.len() > 200 || !told.chars().all(known) {
        return None;
    }
    let one = |permission: &str| {
        let (name, level) = permission.trim().split_once('=')?;
        let mut letters = name.chars();
        let first = letters.next()?.to_ascii_uppercase();
        Some(format!("{first}{}: {level}", letters.as_str().replace('_', " ")))
    };
    let all = |set: &str| Some(set.split(',').map(one).collect::<Option<Vec<_>>>()?.join(" and "));
    Some(told.split(';').map(all).collect::<Option<Vec<_>>>()?.join(", or "))
}

/// A failed connection, as an error that says whether a write may have happened.
pub(super) fn failure(request: &Request, error: &(dyn std::error::Error + 'static), received: bool) -> Error {
    let route = request.route;
    let mut cause = Some(error);
    let mut http = None;
    while let Some(error) = cause {
        http = http.or_else(|| error.downcast_ref::<reqwest::Error>());
        cause = error.source();
    }
    // Without a connection nothing was sent; with one, who knows.
    let sent = received || !http.is_some_and(reqwest::Error::is_connect);
    let unclear = sent && !request.reads();
    match http {
        Some(http) if http.is_timeout() => Error::Timeout { route, unclear },
        Some(http) if http.is_connect() => Error::Transport { route, message: "no connection".to_owned(), unclear },
        _ if received => {
            Error::Transport { route, message: "the answer broke off or is too large".to_owned(), unclear }
        }
        _ => Error::Transport { route, message: "the request broke off".to_owned(), unclear },
    }
}

/// Path and query of the link to the next page.
pub(super) fn next_link(headers: &HeaderMap) -> Option<String> {
    headers
        .get_all(header::LINK)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|link| {
            let (address, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
            rest.split(';').any(|part| part.trim() == "rel=\"next\"").then(|| Endpoint::path_of(address)).flatten()
        })
}
