//! Git over HTTP, for plain `git clone`, `fetch` and `push`.
//!
//! Reading is git's own `upload-pack`, or `http-backend` before it where that has to undo the compression that git puts on
//! long requests. A push is received here: the objects are unpacked first, then each ref is judged by the rules and moved under the lock, so a
//! push and an API call can never both win a race, and a refused push changes nothing.

use std::path::Path;
use std::process::Stdio;
use std::sync::OnceLock;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use git2::Oid;
use http::{HeaderMap, Method, StatusCode};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::auth::Actor;
use super::model::{Level, Role};
use super::reply::Problem;
use super::rules::Move;
use super::state::State;
use super::{Shared, lock};

/// One line of a push: move this ref from there to here.
#[derive(Debug, PartialEq, Eq)]
struct Order {
    old: Option<Oid>,
    new: Option<Oid>,
    refname: String,
}

pub(crate) async fn handle(
    shared: Shared,
    slug: &str,
    rest: &str,
    method: Method,
    query: &str,
    headers: &HeaderMap,
    body: Bytes,
) -> Response {
    let pushes = rest == "git-receive-pack" || query == "service=git-receive-pack";
    let admitted = admit(&lock(&shared), slug, headers, pushes);
    let (repo, actor) = match admitted {
        Ok(admitted) => admitted,
        Err(refusal) => return refusal,
    };
    match (method, rest) {
        (Method::POST, "git-receive-pack") => receive(shared, repo, actor, headers, body).await,
        (Method::GET, "info/refs") | (Method::POST, "git-upload-pack") => {
            let path = lock(&shared).git_path(repo);
            if query == "service=git-receive-pack" || headers.contains_key("content-encoding") {
                return backend(&path, rest, query, headers, &body).await;
            }
            upload(&path, rest == "info/refs", headers, &body).await
        }
        _ => plain(404, "Not found."),
    }
}

fn plain(status: u16, text: &str) -> Response {
    let mut response = Response::new(Body::from(text.to_owned()));
    // By this git knows that it is meant for people, and shows it.
    response.headers_mut().insert("content-type", http::HeaderValue::from_static("text/plain; charset=utf-8"));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

/// Who is this, and may they come in? A private repository does not exist for those who can't see it.
#[allow(clippy::result_large_err)]
fn admit(state: &State, slug: &str, headers: &HeaderMap, pushes: bool) -> Result<(u64, Actor), Response> {
    let challenge = || {
        let mut response = plain(401, "Repository not found.");
        response.headers_mut().insert("www-authenticate", http::HeaderValue::from_static("Basic realm=\"GitHub\""));
        response
    };
    let actor = match headers.get("authorization").and_then(|value| value.to_str().ok()) {
        None => Actor::Anonymous,
        Some(header) => {
            let secret = match header.split_once(' ') {
                Some((scheme, coded)) if scheme.eq_ignore_ascii_case("basic") => STANDARD
                    .decode(coded.trim())
                    .ok()
                    .and_then(|bytes| String::from_utf8(bytes).ok())
                    .and_then(|pair| pair.split_once(':').map(|(_, password)| password.to_owned())),
                Some((_, token)) => Some(token.trim().to_owned()),
                None => None,
            };
            match secret.map(|secret| state.actor_by_token(&secret)) {
                Some(Ok(actor)) => actor,
                _ => return Err(challenge()),
            }
        }
    };
    let anonymous = matches!(actor, Actor::Anonymous);
    let (owner, name) = slug.split_once('/').unwrap_or((slug, ""));
    let repo = state.repo_id(owner, name).and_then(|id| state.repos.get(&id));
    let repo = match repo.filter(|repo| state.sees(&actor, repo)) {
        Some(repo) => repo,
        None if anonymous => return Err(challenge()),
        None => return Err(plain(404, "Repository not found.")),
    };
    // What is public may be read by any token. Of a private one those without that permission know as little as strangers.
    let reads = state.demand(&actor, repo, &[("contents", Level::Read)], Role::Read, false).is_ok();
    if repo.private && !anonymous && !reads {
        return Err(plain(404, "Repository not found."));
    }
    if pushes && !state.may_push(&actor, repo) {
        if anonymous {
            return Err(challenge());
        }
        let told = format!("Permission to {}.git denied to {}.", repo.full_name(), actor.name());
        return Err(plain(403, &told));
    }
    Ok((repo.id, actor))
}

/// What git answers first to those who speak its second protocol: what it can do. It is the same for every repository
/// here, and every fetch asks for it.
static ABLE: OnceLock<Vec<u8>> = OnceLock::new();

/// Answers a clone or fetch, as git's own CGI would.
async fn upload(path: &Path, asks: bool, headers: &HeaderMap, body: &[u8]) -> Response {
    let protocol = headers.get("git-protocol").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let second = protocol.split(':').any(|part| part == "version=2");
    let kind = if asks { "advertisement" } else { "result" };
    let mut answer = match ABLE.get().filter(|_| asks && second) {
        Some(able) => able.clone(),
        None => {
            let mut command = Command::new("git");
            command.args(["upload-pack", "--stateless-rpc"]).args(asks.then_some("--http-backend-info-refs"));
            command.arg(path).env("GIT_PROTOCOL", protocol).env_remove("GIT_DIR");
            match run(command, body).await {
                Ok(answer) => answer,
                Err(error) => return plain(500, &format!("git upload-pack: {error}")),
            }
        }
    };
    if asks && second {
        let _ = ABLE.set(answer.clone());
    } else if asks {
        let service = format!("{}0000", packet("# service=git-upload-pack\n"));
        answer.splice(..0, service.into_bytes());
    }
    let mut response = Response::new(Body::from(answer));
    if let Ok(kind) = format!("application/x-git-upload-pack-{kind}").parse() {
        response.headers_mut().insert("content-type", kind);
    }
    response.headers_mut().insert("cache-control", http::HeaderValue::from_static("no-cache"));
    response
}

/// Runs git's own CGI for one request.
async fn backend(path: &Path, rest: &str, query: &str, headers: &HeaderMap, body: &[u8]) -> Response {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", path)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", format!("/{rest}"))
        .env("REQUEST_METHOD", if body.is_empty() { "GET" } else { "POST" })
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", text("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", text("content-encoding"))
        .env("GIT_PROTOCOL", text("git-protocol"))
        .env("REMOTE_USER", "twin")
        .env_remove("GIT_DIR");
    let output = match run(command, body).await {
        Ok(output) => output,
        Err(error) => return plain(500, &format!("git http-backend: {error}")),
    };
    let Some(end) = output.windows(4).position(|four| four == b"\r\n\r\n") else {
        return plain(500, "git http-backend gave no answer");
    };
    let mut response = Response::new(Body::from(output[end + 4..].to_vec()));
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().and_then(|code| StatusCode::from_bytes(code.as_bytes()).ok());
            *response.status_mut() = code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        } else if let (Ok(name), Ok(value)) = (name.parse::<http::HeaderName>(), value.parse()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Feeds a command and takes what it says, both at once, so that neither side can block the other.
async fn run(mut command: Command, input: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The machine's own git settings must not change how the twin behaves.
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take();
    let feed = async move {
        if let Some(stdin) = &mut stdin {
            // A reader that has heard enough closes its end; its exit status tells whether that was well.
            let _ = stdin.write_all(input).await;
        }
        drop(stdin);
    };
    let ((), output) = tokio::join!(feed, child.wait_with_output());
    let output = output?;
    // What it refuses (a commit that is not there) it says in its own protocol, and ends as a failure: GitHub passes that on.
    if output.status.success() || !output.stdout.is_empty() {
        Ok(output.stdout)
    } else {
        Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

/// Reads the orders and capabilities of a push; what follows them is the pack.
fn orders(body: &[u8]) -> Option<(Vec<Order>, String, &[u8])> {
    let (mut at, mut orders, mut capabilities) = (0, Vec::new(), String::new());
    loop {
        let length = usize::from_str_radix(std::str::from_utf8(body.get(at..at + 4)?).ok()?, 16).ok()?;
        if length == 0 {
            return Some((orders, capabilities, &body[at + 4..]));
        }
        let line = std::str::from_utf8(body.get(at + 4..at + length)?).ok()?;
        at += length;
        if line.starts_with("shallow ") {
            // A shallow clone tells where its history ends; ours goes on from there.
            continue;
        }
        let (line, told) = line.split_once('\0').unwrap_or((line, ""));
        if !told.is_empty() {
            capabilities = told.to_owned();
        }
        let mut parts = line.trim_end().splitn(3, ' ');
        let (old, new, refname) = (parts.next()?, parts.next()?, parts.next()?);
        // Push certificates are not spoken here.
        let id = |text: &str| Oid::from_str(text).ok().map(|id| (!id.is_zero()).then_some(id));
        orders.push(Order { old: id(old)?, new: id(new)?, refname: refname.to_owned() });
    }
}

fn packet(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

async fn receive(shared: Shared, repo: u64, actor: Actor, headers: &HeaderMap, body: Bytes) -> Response {
    if headers.get("content-encoding").is_some_and(|value| value != "identity") {
        // Git compresses what it asks for, never what it sends.
        return plain(415, "A push must not be compressed.");
    }
    if body.as_ref() == b"0000" {
        // Git's probe before a push that it will send in chunks.
        return plain(200, "");
    }
    let Some((orders, capabilities, pack)) = orders(&body) else { return plain(400, "Malformed push.") };
    let path = lock(&shared).git_path(repo);
    let unpacked = match pack.is_empty() {
        true => Ok(()),
        false => {
            let mut command = Command::new("git");
            command.arg("-C").arg(&path).args(["index-pack", "--stdin", "--fix-thin", "--strict"]);
            run(command, pack).await.map(drop)
        }
    };
    let mut report = String::new();
    let mut messages = Vec::new();
    match unpacked {
        Err(error) => {
            report.push_str(&packet(&format!("unpack {}\n", error.to_string().replace('\n', " "))));
            for order in &orders {
                report.push_str(&packet(&format!("ng {} unpacker error\n", order.refname)));
            }
        }
        Ok(()) => {
            let atomic = capabilities.split(' ').any(|one| one == "atomic");
            let ends = tokio::task::spawn_blocking(move || obey(&mut lock(&shared), repo, &actor, orders, atomic));
            let Ok(ends) = ends.await else { return plain(500, "The push failed.") };
            report.push_str(&packet("unpack ok\n"));
            for (refname, end) in ends {
                match end {
                    Ok(()) => report.push_str(&packet(&format!("ok {refname}\n"))),
                    Err(Refused { reason, told }) => {
                        report.push_str(&packet(&format!("ng {refname} {reason}\n")));
                        messages.extend(told);
                    }
                }
            }
        }
    }
    report.push_str("0000");
    answer(&capabilities, &report, &messages)
}

/// Wraps the report as the client asked for it.
fn answer(capabilities: &str, report: &str, messages: &[String]) -> Response {
    let has = |name: &str| capabilities.split(' ').any(|one| one == name);
    let mut body = Vec::new();
    let mut band = |number: u8, bytes: &[u8]| {
        for chunk in bytes.chunks(900) {
            body.extend_from_slice(format!("{:04x}", chunk.len() + 5).as_bytes());
            body.push(number);
            body.extend_from_slice(chunk);
        }
    };
    let reports = has("report-status") || has("report-status-v2");
    if has("side-band-64k") || has("side-band") {
        for line in messages {
            band(2, format!("{line}\n").as_bytes());
        }
        if reports {
            band(1, report.as_bytes());
        }
        body.extend_from_slice(b"0000");
    } else if reports {
        body.extend_from_slice(report.as_bytes());
    }
    let mut response = Response::new(Body::from(body));
    let kind = http::HeaderValue::from_static("application/x-git-receive-pack-result");
    response.headers_mut().insert("content-type", kind);
    response
}

struct Refused {
    reason: String,
    /// Lines that the pusher sees after `remote:`.
    told: Vec<String>,
}

impl Refused {
    fn because(reason: &str) -> Self {
        Self { reason: reason.to_owned(), told: Vec::new() }
    }
}

type End = (String, Result<(), Refused>);

/// Judges all orders, then carries out those that passed: none of them, if the push is atomic and one failed.
fn obey(state: &mut State, repo: u64, actor: &Actor, orders: Vec<Order>, atomic: bool) -> Vec<End> {
    let judged: Vec<(Order, Result<(), Refused>)> = orders
        .into_iter()
        .map(|order| {
            let end = judge(state, repo, actor, &order);
            (order, end)
        })
        .collect();
    let spoiled = atomic && judged.iter().any(|(_, end)| end.is_err());
    judged
        .into_iter()
        .map(|(order, end)| {
            let end = match end {
                Ok(()) if spoiled => Err(Refused::because("atomic push failure")),
                Ok(()) => perform(state, repo, actor, &order).map_err(|error| Refused::because(&error.message)),
                refused => refused,
            };
            (order.refname, end)
        })
        .collect()
}

fn judge(state: &State, repo: u64, actor: &Actor, order: &Order) -> Result<(), Refused> {
    let internal = |error: Problem| Refused::because(&error.message);
    let (about, git) = (state.repo(repo).map_err(internal)?, state.git(repo).map_err(internal)?);
    let name = &order.refname;
    if name.starts_with("refs/pull/") {
        return Err(Refused::because("deny updating a hidden ref"));
    }
    if !git2::Reference::is_valid_name(name) || !(name.starts_with("refs/heads/") || name.starts_with("refs/tags/")) {
        return Err(Refused::because("funny refname"));
    }
    if git.reference(name) != order.old {
        return Err(Refused::because("fetch first"));
    }
    if let Some(new) = order.new
        && git.0.find_object(new, None).is_err()
    {
        return Err(Refused::because("missing necessary objects"));
    }
    if order.new.is_none() && *name == format!("refs/heads/{}", about.default_branch) {
        return Err(Refused::because("refusing to delete the current branch"));
    }
    let step = Move { old: order.old, new: order.new };
    let violations = state.violations(about, &git, actor, name, step);
    if violations.is_empty() {
        return Ok(());
    }
    let mut told = vec![format!("error: GH013: Repository rule violations found for {name}."), String::new()];
    told.extend(violations.into_iter().map(|violation| format!("- {violation}")));
    told.push(String::new());
    Err(Refused { reason: "push declined due to repository rule violations".to_owned(), told })
}

fn perform(state: &mut State, repo: u64, actor: &Actor, order: &Order) -> Result<(), Problem> {
    let by = actor.account()?;
    state.move_ref(repo, &order.refname, Move { old: order.old, new: order.new }, &by)?;
    state.advance_queues(repo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_up_to_the_pack() {
        let zero = "0".repeat(40);
        let one = "1".repeat(40);
        let first = packet(&format!("{zero} {one} refs/heads/a\0 report-status side-band-64k\n"));
        let second = packet(&format!("{one} {zero} refs/heads/b"));
        let body = format!("{first}{second}0000PACK");
        let (orders, capabilities, pack) = orders(body.as_bytes()).unwrap();
        assert_eq!(orders.len(), 2);
        assert_eq!((orders[0].old, orders[1].new), (None, None));
        assert_eq!(orders[1].refname, "refs/heads/b");
        assert!(capabilities.contains("side-band-64k"));
        assert_eq!(pack, b"PACK");
    }

    #[test]
    fn a_broken_push_is_refused_without_a_panic() {
        for body in ["", "00", "zzzz", "0003", "ffff", "0009abcde0000", "0004"] {
            assert!(orders(body.as_bytes()).is_none(), "{body}");
        }
    }
}
