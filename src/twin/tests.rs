//! Stories over real HTTP and real git: what a maintainer would see if they tried it on GitHub.

use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::*;

/// One webhook as it arrived.
#[derive(Clone)]
struct Letter {
    event: String,
    guid: String,
    signature: String,
    raw: Vec<u8>,
    body: Value,
}

/// A tiny receiver that keeps all it gets, and answers what it is told to.
struct Receiver {
    url: String,
    letters: Arc<Mutex<Vec<Letter>>>,
    status: Arc<Mutex<u16>>,
}

impl Receiver {
    async fn start() -> Self {
        let letters: Arc<Mutex<Vec<Letter>>> = Arc::default();
        let status = Arc::new(Mutex::new(200_u16));
        let (kept, answers) = (letters.clone(), status.clone());
        let app = axum::Router::new().fallback(move |headers: ::http::HeaderMap, raw: bytes::Bytes| {
            let text = |name: &str| headers[name].to_str().unwrap().to_owned();
            kept.lock().unwrap().push(Letter {
                event: text("x-github-event"),
                guid: text("x-github-delivery"),
                signature: text("x-hub-signature-256"),
                body: serde_json::from_slice(&raw).unwrap(),
                raw: raw.to_vec(),
            });
            let status = *answers.lock().unwrap();
            async move { ::http::StatusCode::from_u16(status).unwrap() }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, letters, status }
    }

    fn told(&self, event: &str, action: &str) -> Vec<Letter> {
        let letters = self.letters.lock().unwrap();
        let fits = |letter: &&Letter| letter.event == event && letter.body["action"].as_str().unwrap_or("") == action;
        letters.iter().filter(fits).cloned().collect()
    }
}

struct Stage {
    twin: Twin,
    admin: Admin,
    ada: UserHandle,
    app: AppHandle,
    installation: u64,
    receiver: Receiver,
    http: reqwest::Client,
    dir: tempfile::TempDir,
}

const EVENTS: &[&str] = &[
    "pull_request",
    "pull_request_review",
    "issue_comment",
    "issues",
    "check_run",
    "check_suite",
    "workflow_run",
    "push",
    "deployment_status",
];

fn permissions() -> Vec<(String, Level)> {
    ["checks", "pull_requests", "issues", "contents", "actions"]
        .into_iter()
        .map(|name| (name.to_owned(), Level::Write))
        .collect()
}

impl Stage {
    /// `ada` owns `ada/site`; the App `Gate` is installed on it.
    async fn set() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { listen: "127.0.0.1:0".parse().unwrap(), data: dir.path().join("git") };
        let twin = Twin::start(options).await.unwrap();
        let (admin, receiver) = (twin.admin(), Receiver::start().await);
        let ada = admin.create_user("ada").unwrap();
        admin.create_repo("ada/site", NewRepo::default()).unwrap();
        let app = NewApp {
            name: "Gate".into(),
            webhook_url: Some(receiver.url.clone()),
            webhook_secret: "s3cret".into(),
            permissions: permissions(),
            events: EVENTS.iter().map(|event| (*event).to_owned()).collect(),
        };
        let app = admin.register_app("ada", app).unwrap();
        let installation = admin.install(app.id, "ada/site").unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { twin, admin, ada, app, installation, receiver, http, dir }
    }

    async fn ask(&self, token: &str, method: Method, path: &str, body: Value) -> (u16, Value) {
        let mut request = self.http.request(method, format!("{}{path}", self.twin.api_url())).bearer_auth(token);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or(Value::Null))
    }

    async fn get(&self, token: &str, path: &str) -> (u16, Value) {
        self.ask(token, Method::GET, path, Value::Null).await
    }

    async fn post(&self, token: &str, path: &str, body: Value) -> (u16, Value) {
        self.ask(token, Method::POST, path, body).await
    }

    /// The installation token, by way of the JWT.
    async fn app_token(&self) -> String {
        let path = format!("/app/installations/{}/access_tokens", self.installation);
        let (status, body) = self.post(&self.app.jwt().unwrap(), &path, json!({})).await;
        assert_eq!(status, 201, "{body}");
        body["token"].as_str().unwrap().to_owned()
    }

    async fn graphql(&self, token: &str, query: &str, variables: Value) -> Value {
        let request = self.http.post(self.twin.graphql_url()).bearer_auth(token);
        let response = request.json(&json!({"query": query, "variables": variables})).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.json().await.unwrap()
    }

    /// Runs plain git. Answers whether it went well, and all it said.
    async fn git(&self, at: &Path, arguments: &[&str]) -> (bool, String) {
        let output = tokio::process::Command::new("git")
            .current_dir(at)
            .args(["-c", "user.name=ada", "-c", "user.email=ada@example.com", "-c", "credential.helper="])
            .args(arguments)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .await
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    async fn must_git(&self, at: &Path, arguments: &[&str]) -> String {
        let (fine, said) = self.git(at, arguments).await;
        assert!(fine, "git {arguments:?}: {said}");
        said.trim().to_owned()
    }

    fn remote(&self, token: &str) -> String {
        format!("{}/ada/site.git", self.twin.url().replace("http://", &format!("http://x-access-token:{token}@")))
    }

    /// A branch `work` with one commit, and a pull request from it.
    fn propose(&self) -> (u64, String) {
        let head = self.admin.commit("ada/site", "ada", "work", "Work", &[("a.txt", Some("a\n"))]).unwrap();
        (self.admin.open_pull("ada/site", "ada", "Work", "work", "main").unwrap(), head)
    }
}

#[tokio::test]
async fn a_change_travels_from_clone_to_merge_and_every_step_is_told() {
    let stage = Stage::set().await;
    let work = stage.dir.path().join("clone");
    stage.must_git(stage.dir.path(), &["clone", "-q", &stage.remote(&stage.ada.token), "clone"]).await;
    std::fs::write(work.join("a.txt"), "one\n").unwrap();
    stage.must_git(&work, &["checkout", "-qb", "work"]).await;
    stage.must_git(&work, &["add", "."]).await;
    stage.must_git(&work, &["commit", "-qm", "Add a"]).await;
    stage.must_git(&work, &["push", "-q", "origin", "work"]).await;
    let first = stage.must_git(&work, &["rev-parse", "HEAD"]).await;

    let body = json!({"title": "Add a", "head": "work", "base": "main", "body": "please"});
    let (status, pull) = stage.post(&stage.ada.token, "/repos/ada/site/pulls", body).await;
    assert_eq!((status, pull["head"]["sha"].as_str()), (201, Some(first.as_str())));

    std::fs::write(work.join("a.txt"), "two\n").unwrap();
    stage.must_git(&work, &["commit", "-qam", "Change a"]).await;
    stage.must_git(&work, &["push", "-q", "origin", "work"]).await;
    let second = stage.must_git(&work, &["rev-parse", "HEAD"]).await;
    stage.admin.wait_idle().await;

    let synchronized = stage.receiver.told("pull_request", "synchronize");
    assert_eq!(synchronized.len(), 1);
    let told = &synchronized[0].body;
    assert_eq!((told["before"].as_str(), told["after"].as_str()), (Some(first.as_str()), Some(second.as_str())));
    assert_eq!(told["sender"]["login"], "ada");
    assert_eq!(told["installation"]["id"], stage.installation);
    assert_eq!(stage.receiver.told("push", "").len(), 2);
    assert_eq!(stage.receiver.told("installation", "created").len(), 1);

    // A checkout in CI: nothing but the pull request's head, one commit deep.
    let bare = stage.dir.path().join("ci");
    std::fs::create_dir(&bare).unwrap();
    stage.must_git(&bare, &["init", "-q"]).await;
    let remote = stage.remote(&stage.ada.token);
    stage.must_git(&bare, &["fetch", "-q", "--depth=1", &remote, &second]).await;
    stage.must_git(&bare, &["fetch", "-q", &remote, "refs/pull/1/head"]).await;
    assert_eq!(stage.must_git(&bare, &["rev-parse", "FETCH_HEAD"]).await, second);

    let (status, said) =
        stage.ask(&stage.ada.token, Method::PUT, "/repos/ada/site/pulls/1/merge", json!({"sha": first})).await;
    assert_eq!(status, 409, "{said}");
    let (status, merged) =
        stage.ask(&stage.ada.token, Method::PUT, "/repos/ada/site/pulls/1/merge", json!({"sha": second})).await;
    assert_eq!(status, 200, "{merged}");
    stage.admin.wait_idle().await;
    let closed = stage.receiver.told("pull_request", "closed");
    assert_eq!(closed.len(), 1, "a merge is told once");
    assert_eq!(closed[0].body["pull_request"]["merged"], true);
    stage.must_git(&work, &["fetch", "-q", "origin"]).await;
    assert_eq!(stage.must_git(&work, &["rev-parse", "origin/main"]).await, merged["sha"].as_str().unwrap());
    assert_eq!(stage.must_git(&work, &["show", "origin/main:a.txt"]).await, "two");
    stage.twin.shutdown().await;
}

#[tokio::test]
async fn only_the_pinned_apps_check_lets_a_change_in() {
    let stage = Stage::set().await;
    let (number, head) = stage.propose();
    stage.admin.require_checks("ada/site", &[("gate/merge", Some(stage.app.id))]).unwrap();
    let merge = format!("/repos/ada/site/pulls/{number}/merge");
    let refused = |said: &Value| said["message"].as_str().unwrap_or_default().to_owned();

    let (status, said) = stage.ask(&stage.ada.token, Method::PUT, &merge, json!({})).await;
    assert_eq!(status, 405);
    assert!(refused(&said).contains("Required status check \"gate/merge\" is expected."), "{said}");

    // The right name from the wrong hands: Actions, and anyone who can write a status.
    let green = json!({"name": "gate/merge", "head_sha": head, "conclusion": "success"});
    stage.admin.check_run_as(ACTIONS_APP, "ada/site", green.clone()).unwrap();
    stage.admin.commit_status("ada/site", "ada", &head, "gate/merge", "success").unwrap();
    assert_eq!(stage.ask(&stage.ada.token, Method::PUT, &merge, json!({})).await.0, 405);

    // The App itself, not yet content.
    let token = stage.app_token().await;
    let open = json!({"name": "gate/merge", "head_sha": head, "status": "in_progress"});
    let (status, run) = stage.post(&token, "/repos/ada/site/check-runs", open).await;
    assert_eq!((status, run["app"]["id"].as_u64()), (201, Some(stage.app.id)));
    assert_eq!(stage.ask(&stage.ada.token, Method::PUT, &merge, json!({})).await.0, 405);
    let run = format!("/repos/ada/site/check-runs/{}", run["id"]);
    let failing = json!({"conclusion": "action_required"});
    assert_eq!(stage.ask(&token, Method::PATCH, &run, failing).await.0, 200);
    let (status, said) = stage.ask(&stage.ada.token, Method::PUT, &merge, json!({})).await;
    assert_eq!(status, 405);
    assert!(refused(&said).contains("is failing"), "{said}");

    // A completed run stays completed.
    let (_, still) = stage.ask(&token, Method::PATCH, &run, json!({"status": "in_progress"})).await;
    assert_eq!(still["status"], "completed");
    let rules = stage.get(&token, "/repos/ada/site/rules/branches/main").await.1;
    assert_eq!(rules[0]["parameters"]["required_status_checks"][0]["integration_id"], stage.app.id);

    // Neutral passes: on GitHub it does.
    let neutral = json!({"name": "gate/merge", "head_sha": head, "conclusion": "neutral"});
    assert_eq!(stage.post(&token, "/repos/ada/site/check-runs", neutral).await.0, 201);
    let (status, said) = stage.ask(&stage.ada.token, Method::PUT, &merge, json!({"merge_method": "squash"})).await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(stage.admin.file("ada/site", "main", "a.txt").unwrap().as_deref(), Some("a\n"));
}

#[tokio::test]
async fn a_webhook_is_signed_and_comes_again_under_its_guid_only_when_asked() {
    let stage = Stage::set().await;
    stage.admin.wait_idle().await;
    *stage.receiver.status.lock().unwrap() = 502;
    stage.propose();
    stage.admin.wait_idle().await;
    let letter = stage.receiver.told("pull_request", "opened").remove(0);
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, b"s3cret");
    let tag = hex::decode(letter.signature.strip_prefix("sha256=").unwrap()).unwrap();
    aws_lc_rs::hmac::verify(&key, &letter.raw, &tag).unwrap();

    let jwt = stage.app.jwt().unwrap();
    let (status, list) = stage.get(&jwt, "/app/hook/deliveries?per_page=100").await;
    assert_eq!(status, 200);
    let missed = list.as_array().unwrap().iter().find(|one| one["guid"] == letter.guid.as_str()).unwrap();
    assert_eq!((missed["status_code"].as_u64(), missed["redelivery"].as_bool()), (Some(502), Some(false)));

    *stage.receiver.status.lock().unwrap() = 204;
    let path = format!("/app/hook/deliveries/{}/attempts", missed["id"]);
    assert_eq!(stage.post(&jwt, &path, Value::Null).await.0, 202);
    stage.admin.wait_idle().await;
    let again = stage.receiver.told("pull_request", "opened");
    assert_eq!(again.len(), 2);
    assert_eq!(again[0].guid, again[1].guid);
    assert_eq!(again[0].raw, again[1].raw);
    let (_, newest) = stage.get(&jwt, "/app/hook/deliveries?per_page=1").await;
    assert_eq!(
        (newest[0]["guid"].as_str(), newest[0]["redelivery"].as_bool()),
        (Some(letter.guid.as_str()), Some(true))
    );

    // The cursor walks back through all of them.
    let first = stage.http.get(format!("{}/app/hook/deliveries?per_page=1", stage.twin.api_url()));
    let link = first.bearer_auth(&jwt).send().await.unwrap().headers()["link"].to_str().unwrap().to_owned();
    assert!(link.contains("cursor=v1_") && link.ends_with("rel=\"next\""), "{link}");

    // What happens quietly is not told at all.
    let before = stage.receiver.letters.lock().unwrap().len();
    stage.admin.quiet().comment("ada/site", "ada", 1, "psst").unwrap();
    stage.admin.wait_idle().await;
    assert_eq!(stage.receiver.letters.lock().unwrap().len(), before);
    assert_eq!(stage.admin.comments("ada/site", 1).unwrap().len(), 1);
}

const APPEND: &str =
    "mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid url } } }";

fn append(head: &str, path: &str) -> Value {
    json!({"input": {
        "branch": {"repositoryNameWithOwner": "ada/site", "branchName": "phasegate/ledger"},
        "message": {"headline": "Append"}, "expectedHeadOid": head,
        "fileChanges": {"additions": [{"path": path, "contents": STANDARD.encode("{}")}]},
    }})
}

#[tokio::test]
async fn the_ledger_belongs_to_the_app_and_two_writers_can_not_both_win() {
    let stage = Stage::set().await;
    stage.admin.reserve_branch("ada/site", "phasegate/ledger", stage.app.id).unwrap();
    let token = stage.app_token().await;

    // The App starts it with an orphan commit; a second start finds it taken.
    let tree = json!({"tree": [{"path": "README.md", "mode": "100644", "type": "blob", "content": "ledger\n"}]});
    let (status, tree) = stage.post(&token, "/repos/ada/site/git/trees", tree).await;
    assert_eq!(status, 201, "{tree}");
    let commit = json!({"message": "Start", "tree": tree["sha"], "parents": []});
    let (status, commit) = stage.post(&token, "/repos/ada/site/git/commits", commit).await;
    assert_eq!(status, 201, "{commit}");
    let start = json!({"ref": "refs/heads/phasegate/ledger", "sha": commit["sha"]});
    let (status, said) = stage.post(&stage.ada.token, "/repos/ada/site/git/refs", start.clone()).await;
    assert_eq!(status, 422, "a person may not create it: {said}");
    assert_eq!(stage.post(&token, "/repos/ada/site/git/refs", start.clone()).await.0, 201);
    let (status, said) = stage.post(&token, "/repos/ada/site/git/refs", start).await;
    assert_eq!((status, said["message"].as_str()), (422, Some("Reference already exists")));

    let head = commit["sha"].as_str().unwrap();
    let won = stage.graphql(&token, APPEND, append(head, "changes/0/1/0001.json")).await;
    let new = won["data"]["createCommitOnBranch"]["commit"]["oid"].as_str().unwrap().to_owned();
    let lost = stage.graphql(&token, APPEND, append(head, "changes/0/1/0001.json")).await;
    assert_eq!(lost["errors"][0]["type"], "STALE_DATA");
    let told = format!("Expected branch to point to \"{head}\" but it did not. Pull and try again.");
    assert_eq!(lost["errors"][0]["message"], told.as_str());
    assert_eq!(lost["data"]["createCommitOnBranch"], Value::Null);
    assert_eq!(stage.admin.branch("ada/site", "phasegate/ledger").unwrap(), Some(new.clone()));

    // The owner of the repository can push anything but this.
    let work = stage.dir.path().join("clone");
    stage.must_git(stage.dir.path(), &["clone", "-q", &stage.remote(&stage.ada.token), "clone"]).await;
    stage.must_git(&work, &["checkout", "-q", "phasegate/ledger"]).await;
    stage.must_git(&work, &["commit", "-q", "--allow-empty", "-m", "forge"]).await;
    for push in [
        &["push", "origin", "HEAD:phasegate/ledger"][..],
        &["push", "--force", "origin", "main:phasegate/ledger"],
        &["push", "origin", ":phasegate/ledger"],
    ] {
        let (fine, said) = stage.git(&work, push).await;
        assert!(!fine && said.contains("remote: error: GH013: Repository rule violations found"), "{said}");
    }
    let said = stage.graphql(&stage.ada.token, APPEND, append(&new, "x")).await;
    assert!(said["errors"][0]["message"].as_str().unwrap().contains("Cannot update this protected ref."), "{said}");
    assert_eq!(stage.admin.branch("ada/site", "phasegate/ledger").unwrap(), Some(new));

    // A change's records are read in one query.
    let query = "query($o: String!, $e: String!) { r: repository(owner: $o, name: \"site\") { object(expression: $e) {
        oid ... on Tree { entries { name type object { ... on Blob { text byteSize isBinary } } } } } }
        rateLimit { remaining } }";
    let read = stage.graphql(&token, query, json!({"o": "ada", "e": "phasegate/ledger:changes/0/1"})).await;
    let entry = &read["data"]["r"]["object"]["entries"][0];
    assert_eq!((entry["name"].as_str(), entry["object"]["text"].as_str()), (Some("0001.json"), Some("{}")));
    assert!(read["data"]["rateLimit"]["remaining"].as_u64().unwrap() < 5_000);
    let unknown = stage.graphql(&token, "{ viewer { login shoeSize } }", json!({})).await;
    assert_eq!(unknown["errors"][0]["extensions"]["code"], "undefinedField");
    assert!(unknown.get("data").is_none());
}

#[tokio::test]
async fn everyone_may_do_what_their_role_allows_and_no_more() {
    let stage = Stage::set().await;
    let (number, head) = stage.propose();
    let rex = stage.admin.create_user("rex").unwrap();
    let tess = stage.admin.create_user("tess").unwrap();
    stage.admin.set_role("ada/site", "tess", Role::Triage).unwrap();
    let labels = format!("/repos/ada/site/issues/{number}/labels");
    assert_eq!(stage.post(&rex.token, &labels, json!({"labels": ["x"]})).await.0, 403);
    assert_eq!(stage.post(&tess.token, &labels, json!({"labels": ["x"]})).await.0, 200);
    assert_eq!(stage.admin.labels("ada/site", number).unwrap(), ["x"]);

    let (_, told) = stage.get(&stage.ada.token, "/repos/ada/site/collaborators/tess/permission").await;
    assert_eq!((told["permission"].as_str(), told["role_name"].as_str()), (Some("read"), Some("triage")));
    let bot = "/repos/ada/site/collaborators/gate%5Bbot%5D/permission";
    assert_eq!(stage.get(&stage.ada.token, bot).await.0, 404, "an App is nobody's collaborator");

    let run = json!({"name": "x", "head_sha": head});
    let (status, said) = stage.post(&stage.ada.token, "/repos/ada/site/check-runs", run.clone()).await;
    assert_eq!((status, said["message"].as_str()), (403, Some("You must authenticate via a GitHub App.")));
    let id = stage.admin.check_run_as(ACTIONS_APP, "ada/site", run).unwrap();
    let token = stage.app_token().await;
    let steal = json!({"conclusion": "success"});
    assert_eq!(stage.ask(&token, Method::PATCH, &format!("/repos/ada/site/check-runs/{id}"), steal).await.0, 403);
    let (status, said) = stage.get(&token, &format!("/repos/ada/site/commits/{head}/status")).await;
    assert_eq!((status, said["message"].as_str()), (403, Some("Resource not accessible by integration")));

    // Narrowed to nothing but reading, the same App can't comment.
    let narrow = json!({"permissions": {"issues": "read"}});
    let path = format!("/app/installations/{}/access_tokens", stage.installation);
    let (_, narrow) = stage.post(&stage.app.jwt().unwrap(), &path, narrow).await;
    let comments = format!("/repos/ada/site/issues/{number}/comments");
    let hello = json!({"body": "hello"});
    assert_eq!(stage.post(narrow["token"].as_str().unwrap(), &comments, hello.clone()).await.0, 403);
    assert_eq!(stage.post(&token, &comments, hello).await.0, 201);
    assert_eq!(stage.post(&token, &comments, json!({"body": "x".repeat(65_537)})).await.0, 422);

    let review = format!("/repos/ada/site/pulls/{number}/reviews");
    assert_eq!(stage.post(&stage.ada.token, &review, json!({"event": "APPROVE"})).await.0, 422, "one's own work");
    assert_eq!(stage.post(&tess.token, &review, json!({"event": "APPROVE"})).await.0, 200);

    stage.admin.create_repo("ada/secret", NewRepo { private: true, ..NewRepo::default() }).unwrap();
    assert_eq!(stage.get(&rex.token, "/repos/ada/secret").await.0, 404);
    assert_eq!(stage.get(&token, "/repos/ada/secret").await.0, 404, "not installed there");
    assert_eq!(stage.get("ghp_wrong", "/repos/ada/site").await.0, 401);
    let now = jiff::Timestamp::now().as_second();
    let long = stage.app.jwt_with(&json!({"iat": now, "exp": now + 3600, "iss": stage.app.client_id})).unwrap();
    assert_eq!(stage.get(&long, "/app").await.0, 401);
    let other = stage.app.jwt_with(&json!({"iat": now - 60, "exp": now + 60, "iss": "1"})).unwrap();
    assert_eq!(stage.get(&other, "/app").await.0, 401);
    stage.admin.expire_installation_tokens();
    assert_eq!(stage.get(&token, "/repos/ada/site").await.0, 401);

    let work = stage.dir.path().join("clone");
    stage.must_git(stage.dir.path(), &["clone", "-q", &stage.remote(&rex.token), "clone"]).await;
    let (fine, said) = stage.git(&work, &["push", "origin", "main:evil"]).await;
    assert!(!fine && said.contains("403"), "{said}");
}

#[tokio::test]
async fn calls_are_counted_cached_and_can_be_made_to_fail() {
    let stage = Stage::set().await;
    let token = stage.app_token().await;
    stage.admin.clear_log();
    let url = format!("{}/repos/ada/site", stage.twin.api_url());
    let first = stage.http.get(&url).bearer_auth(&token).send().await.unwrap();
    let remaining = first.headers()["x-ratelimit-remaining"].to_str().unwrap().to_owned();
    let etag = first.headers()["etag"].clone();
    let cached = stage.http.get(&url).bearer_auth(&token).header("if-none-match", etag).send().await.unwrap();
    assert_eq!(cached.status(), 304);
    assert_eq!(cached.headers()["x-ratelimit-remaining"].to_str().unwrap(), remaining, "a 304 is free");

    let fault = |effect| Fault { method: Some("POST".into()), path_contains: "/issues".into(), effect, times: 1 };
    let issue = json!({"title": "t"});
    stage.admin.inject(fault(Effect::Refuse(502)));
    assert_eq!(stage.post(&token, "/repos/ada/site/issues", issue.clone()).await.0, 502);
    assert!(stage.admin.repo("ada/site").unwrap().issues.is_empty());
    stage.admin.inject(fault(Effect::Lose(504)));
    assert_eq!(stage.post(&token, "/repos/ada/site/issues", issue.clone()).await.0, 504);
    assert_eq!(stage.admin.repo("ada/site").unwrap().issues.len(), 1, "the write happened all the same");
    stage.admin.inject(fault(Effect::Hang));
    let request = stage.http.post(format!("{url}/issues")).bearer_auth(&token).json(&issue);
    let lost = match request.send().await {
        Ok(response) => response.bytes().await.is_err(),
        Err(_) => true,
    };
    assert!(lost);
    stage.admin.set_remaining(stage.installation, 0);
    assert_eq!(stage.post(&token, "/repos/ada/site/issues", issue).await.0, 403);

    let log = stage.admin.request_log();
    let told: Vec<_> = log.iter().map(|one| (one.method.as_str(), one.status, one.is_write)).collect();
    assert_eq!(
        told,
        [
            ("GET", 200, false),
            ("GET", 304, false),
            ("POST", 502, true),
            ("POST", 504, true),
            ("POST", 201, true),
            ("POST", 403, true)
        ]
    );
    assert!(log.iter().all(|one| one.actor == "gate[bot]" && one.app == Some(stage.app.id)));
}

#[tokio::test]
async fn a_workflow_run_has_jobs_that_are_check_runs_and_buttons_reach_only_their_app() {
    let stage = Stage::set().await;
    let (number, head) = stage.propose();
    let jobs = [("test", Some("success")), ("lint", Some("failure"))];
    let run = stage.admin.workflow_run("ada/site", &head, ".github/workflows/ci.yml", "pull_request", &jobs).unwrap();
    stage.admin.wait_idle().await;
    let done = stage.receiver.told("workflow_run", "completed");
    assert_eq!(done[0].body["workflow_run"]["conclusion"], "failure");
    assert_eq!(done[0].body["workflow_run"]["pull_requests"][0]["number"], number);
    assert_eq!(stage.receiver.told("check_run", "completed").len(), 2);
    assert_eq!(stage.receiver.told("check_suite", "completed").len(), 1);

    let token = stage.app_token().await;
    let (_, told) = stage.get(&token, &format!("/repos/ada/site/actions/runs/{run}/jobs")).await;
    let (_, checks) = stage.get(&token, &format!("/repos/ada/site/commits/{head}/check-runs?check_name=test")).await;
    assert_eq!(told["jobs"][0]["id"], checks["check_runs"][0]["id"]);
    let suite = &checks["check_runs"][0]["check_suite"]["id"];
    let (_, runs) = stage.get(&token, &format!("/repos/ada/site/actions/runs?check_suite_id={suite}")).await;
    assert_eq!(runs["workflow_runs"][0]["id"], run);

    let button = json!([{"label": "Approve", "description": "Approve the plan", "identifier": "approve"}]);
    let mut body = json!({"name": "gate/plan", "head_sha": head, "status": "queued", "actions": button});
    let (_, ours) = stage.post(&token, "/repos/ada/site/check-runs", body.clone()).await;
    body["actions"][0]["label"] = "x".repeat(21).into();
    assert_eq!(stage.post(&token, "/repos/ada/site/check-runs", body).await.0, 422);
    stage.admin.press("ada/site", ours["id"].as_u64().unwrap(), "approve", "ada").unwrap();
    assert!(stage.admin.press("ada/site", ours["id"].as_u64().unwrap(), "other", "ada").is_err());
    let theirs = told["jobs"][0]["id"].as_u64().unwrap();
    stage.admin.call_as("ada", "POST", &format!("/repos/ada/site/check-runs/{theirs}/rerequest"), json!({})).unwrap();
    stage.admin.wait_idle().await;
    let pressed = stage.receiver.told("check_run", "requested_action");
    assert_eq!(pressed[0].body["requested_action"]["identifier"], "approve");
    assert!(stage.receiver.told("check_run", "rerequested").is_empty(), "another App's run is not ours to hear of");
}

#[tokio::test]
async fn comments_labels_reactions_and_forks_behave() {
    let stage = Stage::set().await;
    let (number, _) = stage.propose();
    let id = stage.admin.comment("ada/site", "ada", number, "/plan").unwrap();
    let comment = format!("/repos/ada/site/issues/comments/{id}");
    let token = stage.app_token().await;
    let eyes = json!({"content": "eyes"});
    assert_eq!(stage.post(&token, &format!("{comment}/reactions"), eyes.clone()).await.0, 201);
    assert_eq!(stage.post(&token, &format!("{comment}/reactions"), eyes).await.0, 200);
    assert_eq!(stage.ask(&stage.ada.token, Method::PATCH, &comment, json!({"body": "/approve"})).await.0, 200);
    assert_eq!(stage.ask(&stage.ada.token, Method::DELETE, &comment, Value::Null).await.0, 204);
    assert_eq!(stage.get(&token, &comment).await.0, 404);
    let labels = format!("/repos/ada/site/issues/{number}/labels");
    stage.ask(&token, Method::PUT, &labels, json!({"labels": ["a", "b"]})).await;
    assert_eq!(stage.ask(&token, Method::DELETE, &format!("{labels}/a"), Value::Null).await.0, 200);
    assert_eq!(stage.ask(&token, Method::DELETE, &format!("{labels}/a"), Value::Null).await.0, 404);
    stage.admin.wait_idle().await;
    let edited = stage.receiver.told("issue_comment", "edited");
    assert_eq!(edited[0].body["changes"]["body"]["from"], "/plan");
    assert_eq!(stage.receiver.told("issue_comment", "deleted").len(), 1);
    assert_eq!(stage.receiver.told("pull_request", "labeled").len(), 2);
    assert_eq!(stage.receiver.told("pull_request", "unlabeled").len(), 1);

    // A fork's head is fetched into the base, and checks on it name no pull request.
    stage.admin.create_user("finn").unwrap();
    stage.admin.fork("ada/site", "finn").unwrap();
    let head = stage.admin.commit("finn/site", "finn", "idea", "Idea", &[("b.txt", Some("b\n"))]).unwrap();
    let fork = stage.admin.open_pull("ada/site", "finn", "Idea", "finn:idea", "main").unwrap();
    let run = json!({"name": "x", "head_sha": head});
    let (status, run) = stage.post(&token, "/repos/ada/site/check-runs", run).await;
    assert_eq!((status, &run["pull_requests"]), (201, &json!([])));
    let (_, pulls) = stage.get(&token, &format!("/repos/ada/site/commits/{head}/pulls")).await;
    assert_eq!(pulls[0]["number"], fork);

    for path in ["/", "/ada/site", "/ada/site/pull/1", "/ada"] {
        let page = stage.http.get(format!("{}{path}", stage.twin.url())).send().await.unwrap();
        assert_eq!(page.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn git_behaves_with_long_requests_large_packs_and_shallow_clones() {
    let stage = Stage::set().await;
    let work = stage.dir.path().join("clone");
    stage.must_git(stage.dir.path(), &["clone", "-q", &stage.remote(&stage.ada.token), "clone"]).await;
    // Over a megabyte git sends a push in chunks, after a probe. The content must not compress away.
    let mut noise = vec![0_u8; 3 << 20];
    aws_lc_rs::rand::fill(&mut noise).unwrap();
    std::fs::write(work.join("noise.bin"), &noise).unwrap();
    stage.must_git(&work, &["add", "."]).await;
    stage.must_git(&work, &["commit", "-qm", "Noise"]).await;
    stage.must_git(&work, &["push", "-q", "origin", "main"]).await;
    for n in 0..40 {
        stage.admin.commit("ada/site", "ada", &format!("b{n}"), "B", &[("n.txt", Some(&n.to_string()))]).unwrap();
    }
    // Many wants make a request long enough for git to compress it, in both versions of the protocol.
    for version in ["protocol.version=0", "protocol.version=2"] {
        let remote = stage.remote(&stage.ada.token);
        stage.must_git(stage.dir.path(), &["-c", version, "clone", "-q", &remote, version]).await;
        let there = stage.dir.path().join(version);
        assert_eq!(stage.must_git(&there, &["show", "origin/b39:n.txt"]).await, "39");
    }
    let remote = stage.remote(&stage.ada.token);
    stage.must_git(stage.dir.path(), &["clone", "-q", "--depth=1", &remote, "shallow"]).await;
    let shallow = stage.dir.path().join("shallow");
    stage.must_git(&shallow, &["commit", "-q", "--allow-empty", "-m", "On top"]).await;
    stage.must_git(&shallow, &["push", "-q", "origin", "HEAD:main"]).await;
    let head = stage.must_git(&shallow, &["rev-parse", "HEAD"]).await;
    assert_eq!(stage.admin.branch("ada/site", "main").unwrap(), Some(head));
    // A push that lost a race is told so, and wins nothing.
    stage.must_git(&work, &["commit", "-q", "--allow-empty", "-m", "Late"]).await;
    let (fine, said) = stage.git(&work, &["push", "origin", "main"]).await;
    assert!(!fine && said.contains("rejected"), "{said}");
}

#[tokio::test]
async fn a_push_that_brings_a_change_in_around_the_gate_is_seen_as_a_merge() {
    let stage = Stage::set().await;
    let (number, head) = stage.propose();
    let body = json!({"sha": head});
    let (status, said) = stage.ask(&stage.ada.token, Method::PATCH, "/repos/ada/site/git/refs/heads/main", body).await;
    assert_eq!(status, 200, "{said}");
    stage.admin.wait_idle().await;
    assert!(stage.admin.issue("ada/site", number).unwrap().pull.unwrap().merged_at.is_some());
    assert_eq!(stage.receiver.told("pull_request", "closed").len(), 1);

    // Deleting a branch closes what was proposed from it.
    stage.admin.commit("ada/site", "ada", "gone", "Gone", &[("g.txt", Some("g\n"))]).unwrap();
    let number = stage.admin.open_pull("ada/site", "ada", "Gone", "gone", "main").unwrap();
    stage.admin.call_as("ada", "DELETE", "/repos/ada/site/git/refs/heads/gone", Value::Null).unwrap();
    let issue = stage.admin.issue("ada/site", number).unwrap();
    assert!(!issue.open && issue.pull.unwrap().merged_at.is_none());
}

#[tokio::test]
async fn a_draft_is_not_merged_until_it_is_ready() {
    let stage = Stage::set().await;
    stage.admin.commit("ada/site", "ada", "work", "Work", &[("a.txt", Some("a\n"))]).unwrap();
    let draft = json!({"title": "Work", "head": "work", "base": "main", "draft": true});
    let (_, pull) = stage.post(&stage.ada.token, "/repos/ada/site/pulls", draft).await;
    let (status, _) = stage.ask(&stage.ada.token, Method::PUT, "/repos/ada/site/pulls/1/merge", json!({})).await;
    assert_eq!(status, 405);
    let ready =
        "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";
    let said = stage.graphql(&stage.ada.token, ready, json!({"id": pull["node_id"]})).await;
    assert_eq!(said["data"]["markPullRequestReadyForReview"]["pullRequest"]["isDraft"], false);
    stage.admin.wait_idle().await;
    assert_eq!(stage.receiver.told("pull_request", "ready_for_review").len(), 1);
    let (status, _) = stage.ask(&stage.ada.token, Method::PUT, "/repos/ada/site/pulls/1/merge", json!({})).await;
    assert_eq!(status, 200);
}
