//! The wire against a server that misbehaves as GitHub does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use wiremock::matchers::{any, header, method, path, query_param};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::auth::tests::fresh_key;
use super::calls::comments::Marker;
use super::clock::stopped::StoppedClock;
use super::clock::{Clock, after};
use super::*;
use crate::ids::Role;
use crate::ids::{CommitId, InstallationId, Slug};

pub(super) const SHA: &str = "5bd5f196a46b8222fb7484f05faba41a73cf34bd";

pub(super) fn sha() -> CommitId {
    CommitId::new(SHA).unwrap()
}

/// A stand-in for an Enterprise Server with the App installed as 9 on `o/r`.
pub(super) struct Stage {
    pub(super) server: MockServer,
    pub(super) hub: Hub,
    pub(super) repo: Repo,
    pub(super) clock: Arc<StoppedClock>,
    minted: Arc<AtomicUsize>,
}

/// Mints `secret-token-1`, `secret-token-2`, …, each good for an hour.
struct Mint(Arc<StoppedClock>, Arc<AtomicUsize>);

impl Respond for Mint {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let n = self.1.fetch_add(1, Ordering::SeqCst) + 1;
        let expires = after(self.0.now(), Duration::from_secs(3600)).to_string();
        let body = json!({"token": format!("secret-token-{n}"), "expires_at": expires, "permissions": {}});
        ResponseTemplate::new(201).set_body_json(body).set_delay(Duration::from_millis(20))
    }
}

/// Answers one after the other; the last one for ever.
pub(super) struct InTurn(Vec<ResponseTemplate>, AtomicUsize);

pub(super) fn in_turn(answers: impl IntoIterator<Item = ResponseTemplate>) -> InTurn {
    InTurn(answers.into_iter().collect(), AtomicUsize::new(0))
}

impl Respond for InTurn {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let n = self.1.fetch_add(1, Ordering::SeqCst);
        self.0[n.min(self.0.len() - 1)].clone()
    }
}

pub(super) fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

pub(super) fn status(code: u16) -> ResponseTemplate {
    ResponseTemplate::new(code).set_body_json(json!({"message": "as told"}))
}

pub(super) async fn stage() -> Stage {
    let server = MockServer::start().await;
    let clock = StoppedClock::new();
    let minted = Arc::new(AtomicUsize::new(0));
    Mock::given(method("POST"))
        .and(path("/api/v3/app/installations/9/access_tokens"))
        .respond_with(Mint(Arc::clone(&clock), Arc::clone(&minted)))
        .mount(&server)
        .await;
    let app = json!({"id": 3, "slug": "phasegate"});
    Mock::given(method("GET")).and(path("/api/v3/app")).respond_with(ok(app)).mount(&server).await;
    let endpoint = Endpoint::new(&format!("{}/api/v3", server.uri())).unwrap();
    let credentials = Credentials::App { issuer: "3".into(), key: Arc::new(fresh_key()) };
    let options = Options { clock: clock.clone(), patience: Duration::from_millis(400), ..Options::default() };
    let hub = Hub::with_options(endpoint, credentials, options).unwrap();
    let repo = hub.repo(InstallationId(9), Slug::new("o", "r").unwrap());
    Stage { server, hub, repo, clock, minted }
}

impl Stage {
    pub(super) async fn answers(&self, verb: &str, at: &str, with: impl Respond + 'static) {
        Mock::given(method(verb)).and(path(format!("/api/v3{at}"))).respond_with(with).mount(&self.server).await;
    }

    /// How often this was asked.
    pub(super) async fn asked(&self, verb: &str, at: &str) -> usize {
        let requests = self.server.received_requests().await.unwrap();
        requests
            .iter()
            .filter(|request| request.method.as_str() == verb && request.url.path() == format!("/api/v3{at}"))
            .count()
    }

    /// The bodies that were sent there.
    pub(super) async fn sent(&self, verb: &str, at: &str) -> Vec<Value> {
        let requests = self.server.received_requests().await.unwrap();
        requests
            .iter()
            .filter(|request| request.method.as_str() == verb && request.url.path() == at)
            .map(|request| request.body_json().unwrap())
            .collect()
    }

    fn minted(&self) -> usize {
        self.minted.load(Ordering::SeqCst)
    }
}

fn reference() -> ResponseTemplate {
    ok(json!({"ref": "refs/heads/main", "object": {"sha": SHA, "type": "commit"}}))
}

const REF: &str = "/repos/o/r/git/ref/heads/main";
const COMMENTS: &str = "/repos/o/r/issues/7/comments";

fn a_comment(id: u64, login: &str, body: &str) -> Value {
    json!({"id": id, "body": body, "created_at": "2026-11-01T12:00:00Z",
           "user": {"id": 1, "login": login, "type": "Bot"}})
}

#[tokio::test]
async fn eight_cold_calls_mint_one_token() {
    let stage = stage().await;
    stage.answers("GET", REF, reference()).await;
    let results = join_all((0..8).map(|_| stage.repo.branch_head("main"))).await;
    assert!(results.into_iter().all(|result| result == Ok(Some(sha()))));
    assert_eq!(stage.minted(), 1);
}

#[tokio::test]
async fn those_who_wait_for_a_token_share_its_failure_too() {
    let stage = stage().await;
    stage.answers("POST", "/app/installations/10/access_tokens", status(503)).await;
    let repo = stage.hub.repo(InstallationId(10), Slug::new("o", "r").unwrap());
    let results = join_all((0..8).map(|_| repo.branch_head("main"))).await;
    assert!(results.iter().all(|result| matches!(result, Err(Error::Server { .. }))), "{results:?}");
    assert!(stage.asked("POST", "/app/installations/10/access_tokens").await <= 16, "not four for each of the eight");
}

#[tokio::test]
async fn a_token_is_replaced_five_minutes_before_its_end() {
    let stage = stage().await;
    stage.answers("GET", REF, reference()).await;
    stage.repo.branch_head("main").await.unwrap();
    stage.clock.advance(Duration::from_secs(54 * 60));
    stage.repo.branch_head("main").await.unwrap();
    assert_eq!(stage.minted(), 1);
    stage.clock.advance(Duration::from_secs(2 * 60));
    let auth = stage.repo.git_auth().await.unwrap();
    assert_eq!((auth.password().expose_secret(), stage.minted()), ("secret-token-2", 2));
    assert_eq!(auth.url, format!("{}/o/r.git", stage.server.uri()));
}

#[tokio::test]
async fn a_refused_token_is_replaced_once_for_all_and_a_write_goes_through() {
    let stage = stage().await;
    let refused = Mock::given(method("POST")).and(header("authorization", "Bearer secret-token-1"));
    refused.respond_with(status(401)).with_priority(1).mount(&stage.server).await;
    stage.answers("POST", COMMENTS, ResponseTemplate::new(201).set_body_json(a_comment(1, "x", ""))).await;
    let marker = Marker::new("k").unwrap();
    let results = join_all((0..4).map(|_| stage.repo.create_comment(7, "hi", &marker))).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(stage.minted(), 2);
}

#[tokio::test]
async fn credentials_that_stay_refused_are_given_up_after_one_new_token() {
    let stage = stage().await;
    stage.answers("GET", REF, status(401)).await;
    assert!(matches!(stage.repo.branch_head("main").await, Err(Error::Unauthorized { .. })));
    assert_eq!((stage.minted(), stage.asked("GET", REF).await), (2, 2));
}

#[tokio::test]
async fn an_installation_that_is_gone_does_not_look_like_a_deleted_comment() {
    let stage = stage().await;
    let gone = stage.hub.repo(InstallationId(404), Slug::new("o", "r").unwrap());
    assert!(matches!(gone.get_comment(1).await, Err(Error::NotInstalled)));
    assert!(matches!(gone.permission("ann").await, Err(Error::NotInstalled)));
    assert_eq!(stage.repo.get_comment(1).await, Ok(None));
    assert_eq!(stage.repo.permission("ann").await, Ok(Role::None));
}

/// Minting is asked for with calls that all installations share.
#[tokio::test]
async fn that_an_installation_has_no_token_is_asked_once_a_minute() {
    let stage = stage().await;
    let refused = json!({"message": "This installation has been suspended"});
    let at = "/app/installations/10/access_tokens";
    stage.answers("POST", at, ResponseTemplate::new(403).set_body_json(refused)).await;
    let suspended = stage.hub.repo(InstallationId(10), Slug::new("o", "r").unwrap());
    for _ in 0..5 {
        assert_eq!(suspended.branch_head("main").await, Err(Error::Suspended));
    }
    assert_eq!(stage.asked("POST", at).await, 1);
    stage.clock.advance(Duration::from_secs(60));
    assert_eq!(suspended.branch_head("main").await, Err(Error::Suspended));
    assert_eq!(stage.asked("POST", at).await, 2);
    stage.hub.let_in(InstallationId(10)).await;
    assert_eq!(suspended.branch_head("main").await, Err(Error::Suspended));
    assert_eq!(stage.asked("POST", at).await, 3, "it was told that it is let in again");
}

#[tokio::test]
async fn a_token_of_an_installation_that_was_suspended_since_says_so() {
    let stage = stage().await;
    let refused = json!({"message": "This installation has been suspended"});
    stage.answers("GET", REF, ResponseTemplate::new(403).set_body_json(refused)).await;
    assert_eq!(stage.repo.branch_head("main").await, Err(Error::Suspended));
}

#[tokio::test]
async fn page_two_keeps_the_authorization_and_never_leaves_the_host() {
    let stage = stage().await;
    let label = |name: &str| json!([{"name": name, "color": "ff0000", "description": null}]);
    // The link names another host: only its path and query may be used.
    let next = "<http://evil.invalid/api/v3/repositories/1/labels?page=2>; rel=\"next\", <http://x>; rel=\"last\"";
    let first = Mock::given(path("/api/v3/repos/o/r/labels")).and(query_param("per_page", "100"));
    first.respond_with(ok(label("a")).insert_header("link", next)).expect(1).mount(&stage.server).await;
    Mock::given(path("/api/v3/repositories/1/labels"))
        .and(query_param("page", "2"))
        .and(header("authorization", "Bearer secret-token-1"))
        .respond_with(ok(label("b")))
        .expect(1)
        .mount(&stage.server)
        .await;
    let names: Vec<_> = stage.repo.list_labels().await.unwrap().into_iter().map(|label| label.name).collect();
    assert_eq!(names, ["a", "b"]);
}

#[tokio::test]
async fn a_list_without_end_is_an_error_and_not_a_shortened_list() {
    let stage = stage().await;
    let next = "</api/v3/repos/o/r/labels?page=2>; rel=\"next\"";
    stage.answers("GET", "/repos/o/r/labels", ok(json!([])).insert_header("link", next)).await;
    assert!(matches!(stage.repo.list_labels().await, Err(Error::TooMany { .. })));
    assert_eq!(stage.asked("GET", "/repos/o/r/labels").await, 100);
}

#[tokio::test]
async fn graphql_on_an_enterprise_server_is_beside_rest_and_not_below_it() {
    let stage = stage().await;
    let answer = ok(json!({"data": {"viewer": {"login": "x"}}}));
    let graphql = Mock::given(method("POST")).and(path("/api/graphql"));
    graphql.and(header("authorization", "Bearer secret-token-1")).respond_with(answer).mount(&stage.server).await;
    let data: Value = stage.repo.graphql("query { viewer { login } }", json!({})).await.unwrap();
    assert_eq!(data["viewer"]["login"], "x");
    assert!(stage.repo.graphql::<Value>(" mutation { x }", json!({})).await.is_err());
}

#[tokio::test]
async fn every_request_says_who_we_are_and_which_version_we_speak() {
    let stage = stage().await;
    stage.answers("GET", REF, reference()).await;
    stage.repo.branch_head("main").await.unwrap();
    for request in stage.server.received_requests().await.unwrap() {
        let all = |name: &str| request.headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(all("x-github-api-version"), ["2022-11-28"]);
        assert_eq!(all("user-agent"), [concat!("phasegate/", env!("CARGO_PKG_VERSION"))]);
        assert_eq!(all("accept"), ["application/vnd.github+json"]);
        assert_eq!(all("authorization").len(), 1);
        assert_eq!(all("transfer-encoding").len(), 0, "a known length is told");
        assert_eq!(request.method.as_str() == "GET", all("content-length").is_empty());
    }
}

#[tokio::test]
async fn a_secondary_limit_parks_the_installation_without_asking_further() {
    let stage = stage().await;
    let limited = status(403).insert_header("retry-after", "30");
    stage.answers("GET", REF, in_turn([limited, reference()])).await;
    let until = after(stage.clock.now(), Duration::from_secs(30));
    let parked = Err(Error::RateLimited { until, secondary: true });
    assert_eq!(stage.repo.branch_head("main").await, parked);
    assert_eq!(stage.repo.branch_head("main").await, parked);
    assert_eq!(stage.asked("GET", REF).await, 1, "refused here, not there");
    assert_eq!(stage.repo.budget().parked_until(stage.clock.now()), Some(until));
    let other = stage.hub.repo(InstallationId(9), Slug::new("o", "other").unwrap());
    assert!(other.get_repo().await.is_err(), "the limit is the installation's, not the repository's");
    stage.clock.advance(Duration::from_secs(30));
    assert_eq!(stage.repo.branch_head("main").await, Ok(Some(sha())));
}

#[tokio::test]
async fn a_short_limit_is_waited_out() {
    let stage = stage().await;
    let limited = status(429).insert_header("retry-after", "1");
    stage.answers("GET", REF, in_turn([limited, reference()])).await;
    assert_eq!(stage.repo.branch_head("main").await, Ok(Some(sha())));
    assert_eq!(stage.clock.slept(), Duration::from_secs(1));
}

#[tokio::test]
async fn an_ordinary_403_is_forbidden_and_parks_nothing() {
    let stage = stage().await;
    stage.answers("GET", REF, status(403)).await;
    let error = stage.repo.branch_head("main").await.unwrap_err();
    assert!(matches!(&error, Error::Forbidden { message, .. } if message == "as told"), "{error}");
    assert_eq!(stage.repo.budget().parked_until(stage.clock.now()), None);
}

#[tokio::test]
async fn a_permission_that_is_missing_is_named_as_it_is_called_on_the_apps_page() {
    let stage = stage().await;
    let refused = |message: &str, header: &str| {
        let answer = ResponseTemplate::new(403).set_body_json(json!({ "message": message }));
        answer.insert_header("x-accepted-github-permissions", header)
    };
    let lacking = "Resource not accessible by integration";
    let told = [
        refused(lacking, "contents=read"),
        refused(lacking, "issues=write; pull_requests=write,checks=read"),
        refused(lacking, "<b>@all</b>"),
        refused("Repository was archived so is read-only.", "contents=write"),
    ];
    stage.answers("GET", REF, in_turn(told)).await;
    let mut said = Vec::new();
    for _ in 0..4 {
        let error = stage.repo.branch_head("main").await.unwrap_err();
        said.push(error.lacks_permission().map(|needs| needs.map(str::to_owned)));
        let named = matches!(&error, Error::Forbidden { needs: Some(needs), .. } if error.to_string().contains(needs));
        assert_eq!(named, matches!(said.last(), Some(Some(Some(_)))), "{error}");
    }
    let one = |text: &str| Some(Some(text.to_owned()));
    let both = "Issues: write, or Pull requests: write and Checks: read";
    assert_eq!(said, [one("Contents: read"), one(both), Some(None), None]);
}

#[tokio::test]
async fn reading_is_tried_again_with_back_off_and_given_up_in_the_end() {
    let stage = stage().await;
    stage.answers("GET", REF, in_turn([status(502), status(503), status(504), reference()])).await;
    assert_eq!(stage.repo.branch_head("main").await, Ok(Some(sha())));
    assert!(stage.clock.slept() >= Duration::from_millis(1750) && stage.clock.slept() <= Duration::from_millis(3500));

    stage.answers("GET", "/repos/o/r/git/ref/heads/down", status(502)).await;
    let error = stage.repo.branch_head("down").await.unwrap_err();
    assert!(matches!(error, Error::Server { status: 502, unclear: false, .. }));
    assert_eq!(stage.asked("GET", "/repos/o/r/git/ref/heads/down").await, 4);
    stage.answers("GET", "/repos/o/r/git/ref/heads/bug", status(500)).await;
    assert!(stage.repo.branch_head("bug").await.unwrap_err().is_transient());
    assert_eq!(stage.asked("GET", "/repos/o/r/git/ref/heads/bug").await, 1);
}

#[tokio::test]
async fn not_found_is_asked_again_only_where_the_thing_must_exist() {
    let stage = stage().await;
    let side = json!({"sha": SHA, "ref": "b", "repo": null});
    let pull = json!({"number": 7, "state": "open", "head": side, "base": side});
    stage.answers("GET", "/repos/o/r/pulls/7", in_turn([status(404), ok(pull)])).await;
    assert_eq!(stage.repo.expect_exists().get_pull(7).await.unwrap().number, 7);
    assert!(stage.repo.get_pull(8).await.unwrap_err().is_not_found());
    assert_eq!(stage.asked("GET", "/repos/o/r/pulls/8").await, 1);
}

#[tokio::test]
async fn an_unchanged_answer_is_served_from_the_cache_of_its_installation() {
    let stage = stage().await;
    let unchanged = Mock::given(path("/api/v3/repos/o/r/labels")).and(header("if-none-match", "\"e1\""));
    unchanged.respond_with(ResponseTemplate::new(304)).with_priority(1).expect(1).mount(&stage.server).await;
    let labels = json!([{"name": "a"}]);
    stage.answers("GET", "/repos/o/r/labels", ok(labels).insert_header("etag", "\"e1\"")).await;
    let first = stage.repo.list_labels().await.unwrap();
    assert_eq!(stage.repo.list_labels().await.unwrap(), first);
    let mint = json!({"token": "other", "expires_at": "2030-01-01T00:00:00Z"});
    stage.answers("POST", "/app/installations/10/access_tokens", ok(mint)).await;
    let other = stage.hub.repo(InstallationId(10), Slug::new("o", "r").unwrap());
    assert_eq!(other.list_labels().await.unwrap(), first, "asked afresh, without the other's ETag");
}

#[tokio::test]
async fn a_write_that_happened_before_the_502_is_found_by_its_key_and_not_doubled() {
    let stage = stage().await;
    let marker = Marker::new("phasegate:7:1").unwrap();
    let forged = a_comment(1, "mallory", &marker.put("hi"));
    let ours = a_comment(2, "phasegate[bot]", &marker.put("hi"));
    stage.answers("POST", COMMENTS, status(502)).await;
    stage.answers("GET", COMMENTS, in_turn([ok(json!([forged])), ok(json!([forged, ours]))])).await;
    let comment = stage.repo.create_comment(7, "hi", &marker).await.unwrap();
    assert_eq!(comment.id, 2, "a copied marker in another's comment is not ours");
    assert_eq!(stage.asked("POST", COMMENTS).await, 1);
}

#[tokio::test]
async fn a_write_whose_key_is_absent_is_made_again() {
    let stage = stage().await;
    let made = ResponseTemplate::new(201).set_body_json(a_comment(5, "phasegate[bot]", ""));
    stage.answers("POST", COMMENTS, in_turn([status(502), made])).await;
    stage.answers("GET", COMMENTS, ok(json!([]))).await;
    assert_eq!(stage.repo.create_comment(7, "hi", &Marker::new("k").unwrap()).await.unwrap().id, 5);
    assert_eq!((stage.asked("POST", COMMENTS).await, stage.asked("GET", COMMENTS).await), (2, 2));
}

#[tokio::test]
async fn a_write_whose_fate_cant_be_learnt_is_not_repeated_and_says_so() {
    let stage = stage().await;
    stage.answers("POST", COMMENTS, status(500)).await;
    stage.answers("GET", COMMENTS, status(403)).await;
    let error = stage.repo.create_comment(7, "hi", &Marker::new("k").unwrap()).await.unwrap_err();
    assert!(error.is_unclear(), "{error}");
    assert_eq!(stage.asked("POST", COMMENTS).await, 1);
}

#[tokio::test]
async fn a_write_without_a_key_is_never_repeated() {
    let stage = stage().await;
    let graphql = Mock::given(method("POST")).and(path("/api/graphql"));
    graphql.respond_with(status(502)).expect(1).mount(&stage.server).await;
    let error = stage.repo.mutate::<Value>("mutation { x }", json!({})).await.unwrap_err();
    assert!(matches!(error, Error::Server { status: 502, unclear: true, .. }));
}

#[tokio::test]
async fn a_time_out_after_sending_is_unclear_and_no_connection_is_not() {
    let stage = stage().await;
    let slow = ok(json!({"data": {}})).set_delay(Duration::from_secs(5));
    Mock::given(path("/api/graphql")).respond_with(slow).mount(&stage.server).await;
    let error = stage.repo.mutate::<Value>("mutation { x }", json!({})).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { unclear: true, .. }), "{error:?}");

    let credentials = Credentials::workflow(SecretString::from("workflow-secret"));
    let options = Options { clock: stage.clock.clone(), ..Options::default() };
    let nobody = Hub::with_options(Endpoint::new("http://127.0.0.1:1/api/v3").unwrap(), credentials, options).unwrap();
    let repo = nobody.repo(InstallationId(0), Slug::new("o", "r").unwrap());
    let error = repo.mutate::<Value>("mutation { x }", json!({})).await.unwrap_err();
    assert!(matches!(error, Error::Transport { unclear: false, .. }), "{error:?}");
}

#[tokio::test]
async fn a_renamed_repository_is_followed_for_reading_but_no_write_becomes_a_read() {
    let stage = stage().await;
    let moved =
        |code| ResponseTemplate::new(code).insert_header("location", "http://evil.invalid/api/v3/repositories/5");
    stage.answers("GET", "/repos/o/r", moved(301)).await;
    let owner = json!({"id": 1, "login": "o", "type": "User"});
    let repository = json!({"id": 5, "full_name": "o/new", "default_branch": "main", "owner": owner});
    stage.answers("GET", "/repositories/5", ok(repository)).await;
    assert_eq!(stage.repo.get_repo().await.unwrap().full_name, "o/new");

    stage.answers("POST", COMMENTS, moved(301)).await;
    let error = stage.repo.create_comment(7, "hi", &Marker::new("k").unwrap()).await.unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error:?}");
}

#[tokio::test]
async fn nothing_secret_is_shown_by_debug_or_errors() {
    let stage = stage().await;
    let echo = ResponseTemplate::new(422)
        .set_body_json(json!({"message": "bad secret-token-1", "errors": [{"message": "secret-token-1?"}]}));
    stage.answers("GET", REF, echo).await;
    let error = stage.repo.branch_head("main").await.unwrap_err();
    let auth = stage.repo.git_auth().await.unwrap();
    let workflow = Credentials::workflow(SecretString::from("workflow-secret"));
    let shown = format!("{error} {error:?} {auth:?} {:?} {:?} {workflow:?}", stage.hub, stage.repo);
    assert!(!shown.contains("secret"), "{shown}");
    assert!(shown.contains("[token]") && shown.contains("AppKey("), "{shown}");
    let header = auth.header();
    assert!(header.expose_secret().starts_with("Authorization: Basic "));
}

#[tokio::test]
async fn calls_can_be_spawned() {
    let stage = stage().await;
    Mock::given(any()).respond_with(status(404)).mount(&stage.server).await;
    let repo = stage.repo.clone();
    let spawned = tokio::spawn(async move {
        let marker = Marker::new("k").unwrap();
        let _ = repo.create_comment(1, "x", &marker).await;
        let _ = repo.create_issue("t", "b", &[], &marker).await;
        let _ = repo.ensure_label("l", "fff", "d").await;
        let _ = repo.create_ref("heads/x", &sha()).await;
        let _ = repo.create_commit_on_branch("x", &sha(), "m", &[]).await;
        repo.hub().deliveries(jiff::Timestamp::UNIX_EPOCH).await
    });
    assert!(spawned.await.unwrap().is_err());
}
