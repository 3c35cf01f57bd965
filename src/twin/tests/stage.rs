//! The stage: a twin with `ada/site`, an App installed on it, and a receiver for its webhooks.

use std::path::Path;
use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::{Value, json};

use super::super::*;

/// One webhook as it arrived.
#[derive(Clone)]
pub(super) struct Letter {
    pub(super) event: String,
    pub(super) guid: String,
    pub(super) signature: String,
    pub(super) raw: Vec<u8>,
    pub(super) body: Value,
}

/// A tiny receiver that keeps all it gets, and answers what it is told to.
pub(super) struct Receiver {
    pub(super) url: String,
    pub(super) letters: Arc<Mutex<Vec<Letter>>>,
    pub(super) status: Arc<Mutex<u16>>,
}

impl Receiver {
    pub(super) async fn start() -> Self {
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

    pub(super) fn told(&self, event: &str, action: &str) -> Vec<Letter> {
        let letters = self.letters.lock().unwrap();
        let fits = |letter: &&Letter| letter.event == event && letter.body["action"].as_str().unwrap_or("") == action;
        letters.iter().filter(fits).cloned().collect()
    }
}

pub(super) struct Stage {
    pub(super) twin: Twin,
    pub(super) admin: Admin,
    pub(super) ada: UserHandle,
    pub(super) app: AppHandle,
    pub(super) installation: u64,
    pub(super) receiver: Receiver,
    pub(super) http: reqwest::Client,
    pub(super) dir: tempfile::TempDir,
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

pub(super) fn permissions() -> Vec<(String, Level)> {
    ["checks", "pull_requests", "issues", "contents", "actions"]
        .into_iter()
        .map(|name| (name.to_owned(), Level::Write))
        .collect()
}

impl Stage {
    /// `ada` owns `ada/site`; the App `Gate` is installed on it.
    pub(super) async fn set() -> Self {
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

    pub(super) async fn ask(&self, token: &str, method: Method, path: &str, body: Value) -> (u16, Value) {
        let mut request = self.http.request(method, format!("{}{path}", self.twin.api_url())).bearer_auth(token);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or(Value::Null))
    }

    pub(super) async fn get(&self, token: &str, path: &str) -> (u16, Value) {
        self.ask(token, Method::GET, path, Value::Null).await
    }

    pub(super) async fn post(&self, token: &str, path: &str, body: Value) -> (u16, Value) {
        self.ask(token, Method::POST, path, body).await
    }

    /// The installation token, by way of the JWT.
    pub(super) async fn app_token(&self) -> String {
        let path = format!("/app/installations/{}/access_tokens", self.installation);
        let (status, body) = self.post(&self.app.jwt().unwrap(), &path, json!({})).await;
        assert_eq!(status, 201, "{body}");
        body["token"].as_str().unwrap().to_owned()
    }

    pub(super) async fn graphql(&self, token: &str, query: &str, variables: Value) -> Value {
        let request = self.http.post(self.twin.graphql_url()).bearer_auth(token);
        let response = request.json(&json!({"query": query, "variables": variables})).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.json().await.unwrap()
    }

    /// Runs plain git. Answers whether it went well, and all it said.
    pub(super) async fn git(&self, at: &Path, arguments: &[&str]) -> (bool, String) {
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

    pub(super) async fn must_git(&self, at: &Path, arguments: &[&str]) -> String {
        let (fine, said) = self.git(at, arguments).await;
        assert!(fine, "git {arguments:?}: {said}");
        said.trim().to_owned()
    }

    pub(super) fn remote(&self, token: &str) -> String {
        format!("{}/ada/site.git", self.twin.url().replace("http://", &format!("http://x-access-token:{token}@")))
    }

    /// A branch `work` with one commit, and a pull request from it.
    pub(super) fn propose(&self) -> (u64, String) {
        let head = self.admin.commit("ada/site", "ada", "work", "Work", &[("a.txt", Some("a\n"))]).unwrap();
        (self.admin.open_pull("ada/site", "ada", "Work", "work", "main").unwrap(), head)
    }
}
