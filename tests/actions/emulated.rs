//! The advisory road on a GitHub that nobody here wrote: the npm package `emulate`.
//!
//! It has no GraphQL, no git over HTTP, no reactions and no deployments, and that is no error. Neither has it what a verdict
//! rests on: it makes no workflow runs, says of no check run which App made it, and of no pull request what happened to it.
//! These are played here, by a counter in front of it that adds them to its answers. All other answers are its own.
//!
//! There a pull request stays at the head that it was opened with, so all of this change is there when `/expand` is said.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, Request, Response, StatusCode, header};
use phasegate::gate::merge::CHECK_NAME;
use phasegate::ledger::unsigned::ADVISORY;
use phasegate::rehearsal::{LEDGER, papers};
use serde_json::{Value, json};

use crate::act::{Act, GATES, Identity, Place, Run, git, said};
use crate::emulator::Emulator;
use crate::stories::{TEST, phased};

const REPO: &str = "mia/lantern";
const BRANCH: &str = "agent/dimmer";
/// The id of GitHub Actions' App: not github.com's, as on any Enterprise Server.
const ACTIONS: u64 = 4;
/// The token that a workflow is given.
const TOKEN: &str = "actions-token";
const SEED: &str = "\
tokens:
  mia: { login: mia, scopes: [repo] }
  ada: { login: ada, scopes: [repo] }
  rover: { login: rover, scopes: [repo] }
  actions-token: { login: 'github-actions[bot]', scopes: [repo] }
github:
  users:
    - { login: mia }
    - { login: ada }
    - { login: rover }
    - { login: 'github-actions[bot]' }
  repos:
    - { owner: mia, name: lantern, auto_init: false }
";

/// What Actions knows.
#[derive(Default)]
struct Told {
    /// The check runs that were made with a workflow's token.
    made: BTreeSet<u64>,
    runs: Vec<Value>,
    jobs: Vec<Value>,
}

/// The emulator, with Actions in front of it.
struct Counter {
    emulator: Emulator,
    url: String,
    http: reqwest::Client,
    told: Mutex<Told>,
}

impl Counter {
    async fn open() -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let this = Arc::new(Self { emulator: Emulator::start(SEED), url, http, told: Mutex::default() });
        let router = axum::Router::new().fallback(answer).with_state(Arc::clone(&this));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        this
    }

    /// What someone asks of it; their token is their name.
    async fn ask(&self, who: &str, method: &str, path: &str, body: Value) -> Value {
        self.emulator.ask(who, method, &format!("/repos/{REPO}{path}"), body).await
    }

    async fn get(&self, path: &str) -> Value {
        self.ask("mia", "GET", path, Value::Null).await
    }

    /// A job has ended: Actions makes its check run, and tells of the run from now on.
    async fn job_ended(&self, run: u64, name: &str, head: &str, conclusion: &str) {
        let body = json!({ "name": name, "head_sha": head, "status": "completed", "conclusion": conclusion });
        let made = self.ask(TOKEN, "POST", "/check-runs", body).await;
        let repo = self.get("").await;
        let at = jiff::Timestamp::now().to_string();
        let mut told = self.told.lock().unwrap();
        told.made.insert(made["id"].as_u64().unwrap());
        told.runs.push(json!({
            "id": run, "name": "phasegate-gates", "path": GATES, "event": "pull_request", "status": "completed",
            "conclusion": conclusion, "head_sha": head, "head_branch": BRANCH, "head_repository": repo,
            "check_suite_id": made["check_suite"]["id"], "run_attempt": 1, "created_at": at,
        }));
        told.jobs.push(json!({
            "id": made["id"], "run_id": run, "run_attempt": 1, "name": name, "status": "completed",
            "conclusion": conclusion, "started_at": at, "head_sha": head,
        }));
    }

    /// What the emulator has no answer to.
    fn lacking(&self, path: &str) -> Option<Value> {
        let told = self.told.lock().unwrap();
        if path == "/apps/github-actions" {
            return Some(json!({ "id": ACTIONS, "slug": "github-actions" }));
        }
        // Nobody gives the pull request another base here.
        if path == format!("/repos/{REPO}/issues/1/events") {
            return Some(json!([]));
        }
        let rest = path.strip_prefix(&format!("/repos/{REPO}/actions/runs"))?;
        if rest.is_empty() {
            return Some(json!({ "total_count": told.runs.len(), "workflow_runs": told.runs }));
        }
        let run: u64 = rest.strip_prefix('/')?.strip_suffix("/jobs")?.parse().ok()?;
        let jobs: Vec<&Value> = told.jobs.iter().filter(|job| job["run_id"] == run).collect();
        Some(json!({ "total_count": jobs.len(), "jobs": jobs }))
    }

    /// The App of each check run that it knows to be Actions' own.
    fn with_apps(&self, mut answer: Value) -> Value {
        let told = self.told.lock().unwrap();
        let stamp = |run: &mut Value| {
            if run["id"].as_u64().is_some_and(|id| told.made.contains(&id)) {
                run["app"] = json!({ "id": ACTIONS, "slug": "github-actions" });
            }
        };
        match answer["check_runs"].as_array_mut() {
            Some(runs) => runs.iter_mut().for_each(stamp),
            None => stamp(&mut answer),
        }
        answer
    }
}

async fn answer(State(at): State<Arc<Counter>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let with = |status: StatusCode, kind: &str, bytes: Vec<u8>| {
        Response::builder().status(status).header(header::CONTENT_TYPE, kind).body(Body::from(bytes)).unwrap()
    };
    if let Some(told) = at.lacking(&path).filter(|_| parts.method == Method::GET) {
        return with(StatusCode::OK, "application/json", told.to_string().into_bytes());
    }
    let body: Bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let url = format!("{}{}", at.emulator.url, parts.uri.path_and_query().map_or("/", |path| path.as_str()));
    let mut asked = at.http.request(parts.method.clone(), url).body(body);
    for name in [header::AUTHORIZATION, header::ACCEPT, header::CONTENT_TYPE, header::USER_AGENT] {
        if let Some(value) = parts.headers.get(&name) {
            asked = asked.header(name, value);
        }
    }
    let answer = asked.send().await.unwrap();
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("text/plain");
    let kind = kind.to_owned();
    let bytes = answer.bytes().await.unwrap().to_vec();
    if !path.contains("/check-runs") || !status.is_success() {
        return with(status, &kind, bytes);
    }
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    let by_workflow = parts
        .headers
        .get(header::AUTHORIZATION)
        .is_some_and(|value| value.to_str().is_ok_and(|value| value.split(' ').next_back() == Some(TOKEN)));
    if by_workflow && parts.method == Method::POST {
        at.told.lock().unwrap().made.extend(answer["id"].as_u64());
    }
    with(status, &kind, at.with_apps(answer).to_string().into_bytes())
}

/// The clone that everybody works in. What is committed there gets to the emulator by git's own objects over REST, because
/// it takes no push, and has the same ids there.
struct Desk {
    folder: PathBuf,
}

const DATE: &str = "2026-01-01T00:00:00Z";

impl Desk {
    async fn new(at: &Counter) -> Self {
        let folder = at.emulator.dir().join("clone");
        std::fs::create_dir(&folder).unwrap();
        git(&folder, &["init", "--quiet", "--initial-branch", "main"]).await.unwrap();
        Self { folder }
    }

    fn path(&self) -> &Path {
        &self.folder
    }

    async fn says(&self, args: &[&str]) -> String {
        let ended = tokio::process::Command::new("git").arg("-C").arg(self.path()).args(args).output().await.unwrap();
        assert!(ended.status.success(), "git {args:?}: {}", said(&ended));
        String::from_utf8(ended.stdout).unwrap().trim().to_owned()
    }

    /// A commit on the branch that is checked out, and the same commit on the emulator's branch.
    async fn commits(&self, at: &Counter, who: &str, branch: &str, files: &[(String, String)]) -> String {
        for (path, text) in files {
            let path = self.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        git(self.path(), &["add", "--all"]).await.unwrap();
        let email = format!("{who}@example.org");
        let mut command = tokio::process::Command::new("git");
        command.arg("-C").arg(self.path()).args(["commit", "--quiet", "--message", "work"]);
        for role in ["AUTHOR", "COMMITTER"] {
            let set = |what: &str| format!("GIT_{role}_{what}");
            command.env(set("NAME"), who).env(set("EMAIL"), &email).env(set("DATE"), DATE);
        }
        let ended = command.output().await.unwrap();
        assert!(ended.status.success(), "{}", said(&ended));
        let head = self.says(&["rev-parse", "HEAD"]).await;

        let listed = self.says(&["rev-list", "--parents", "--max-count=1", "HEAD"]).await;
        let parents: Vec<&str> = listed.split(' ').skip(1).collect();
        let entries: Vec<Value> = files
            .iter()
            .map(|(path, text)| json!({ "path": path, "mode": "100644", "type": "blob", "content": text }))
            .collect();
        let mut tree = json!({ "tree": entries });
        if let Some(parent) = parents.first() {
            tree["base_tree"] = self.says(&["rev-parse", &format!("{parent}^{{tree}}")]).await.into();
        }
        let tree = at.ask(who, "POST", "/git/trees", tree).await;
        let person = json!({ "name": who, "email": email, "date": DATE });
        let commit = json!({
            "message": "work", "tree": tree["sha"], "parents": parents, "author": person, "committer": person,
        });
        let commit = at.ask(who, "POST", "/git/commits", commit).await;
        assert_eq!(commit["sha"], head.as_str(), "its ids are git's");
        at.ask(who, "POST", "/git/refs", json!({ "ref": format!("refs/heads/{branch}"), "sha": head })).await;
        head
    }
}

fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Where a change stands, as the emulator tells it.
async fn stands(at: &Counter, number: u64, head: &str) -> (Vec<String>, String, String) {
    let pull = at.get(&format!("/pulls/{number}")).await;
    let labels = pull["labels"].as_array().unwrap().iter().map(|label| label["name"].as_str().unwrap().to_owned());
    let runs = at.get(&format!("/commits/{head}/check-runs?check_name={CHECK_NAME}&filter=all")).await;
    let runs = runs["check_runs"].as_array().unwrap().clone();
    assert_eq!(runs.len(), 1, "one check, changed in its place: {runs:#?}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (labels.collect(), text(&runs[0]["conclusion"]), text(&runs[0]["output"]["title"]))
}

#[tokio::test]
async fn a_change_goes_from_expand_to_its_green_where_github_is_an_emulator() {
    let at = Counter::open().await;
    let (act, desk) = (Act::new(), Desk::new(&at).await);
    let mut files = phased("advisory");
    files.extend(owned(&[("test.sh", TEST), ("src/lamp.py", "def shine(): pass\n")]));
    desk.commits(&at, "mia", "main", &files).await;
    // It tells of `push` where GitHub tells of `write`, so only an administrator's role is one that is known.
    for (who, permission) in [("ada", "admin"), ("rover", "push"), ("github-actions[bot]", "push")] {
        at.ask("mia", "PUT", &format!("/collaborators/{who}"), json!({ "permission": permission })).await;
    }
    git(desk.path(), &["checkout", "--quiet", "-b", BRANCH]).await.unwrap();
    let mut files = owned(&papers::ALL);
    files.extend(owned(&papers::CODE));
    let head = desk.commits(&at, "rover", BRANCH, &files).await;
    git(desk.path(), &["checkout", "--quiet", "main"]).await.unwrap();

    let place = Place {
        slug: REPO.to_owned(),
        api: at.url.clone(),
        server: at.url.clone(),
        graphql: format!("{}/graphql", at.url),
        git: desk.path().display().to_string(),
        identity: Identity::Token(TOKEN.to_owned()),
    };
    let told = |action: &str, more: Value, repo: &Value, sender: &Value| {
        let mut payload = json!({ "action": action, "repository": repo, "sender": sender });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    let repo = at.get("").await;
    let pull = json!({ "title": "Add a dimmer", "head": BRANCH, "base": "main" });
    let pull = at.ask("rover", "POST", "/pulls", pull).await;
    let number = pull["number"].as_u64().unwrap();
    let opened = told("opened", json!({ "number": number, "pull_request": pull }), &repo, &pull["user"]);

    let gates = Run { event: "pull_request", workflow: GATES, payload: opened.clone(), at: &head, id: 11 };
    let ended = act.run(&place, &gates).await.unwrap();
    assert!(ended.status.success(), "{}", said(&ended));
    act.referees(&place, "pull_request_target", opened, 12).await.unwrap();
    assert_eq!(stands(&at, number, &head).await.0, ["phase:start"]);
    at.job_ended(11, "verify", &head, "success").await;
    let run = json!({ "id": 11, "run_attempt": 1, "head_sha": head, "head_branch": BRANCH, "name": "phasegate-gates" });
    let run = told("completed", json!({ "workflow_run": run }), &repo, &pull["user"]);
    act.referees(&place, "workflow_run", run.clone(), 13).await.unwrap();
    assert_eq!(stands(&at, number, &head).await.0, ["phase:start"]);

    // Within one second nobody knows what the bot's comment showed when this was written, so the head stands in it.
    let body = json!({ "body": format!("/expand {} a dimmer for the lantern", &head[..12]) });
    let comment = at.ask("ada", "POST", &format!("/issues/{number}/comments"), body).await;
    let issue = json!({ "number": number, "pull_request": { "url": pull["url"] }, "user": pull["user"] });
    let comment = told("created", json!({ "issue": issue, "comment": comment }), &repo, &comment["user"]);
    act.referees(&place, "issue_comment", comment, 14).await.unwrap();
    let (labels, conclusion, title) = stands(&at, number, &head).await;
    assert_eq!(
        (labels.as_slice(), conclusion.as_str()),
        (["phase:review".to_owned()].as_slice(), "action_required"),
        "{title}"
    );

    let review = json!({ "event": "APPROVE", "body": "Looked at it.", "commit_id": head });
    at.ask("mia", "POST", &format!("/pulls/{number}/reviews"), review).await;
    act.referees(&place, "workflow_run", run, 15).await.unwrap();
    let (labels, conclusion, title) = stands(&at, number, &head).await;
    assert_eq!(
        (labels.as_slice(), conclusion.as_str()),
        (["phase:verified".to_owned()].as_slice(), "success"),
        "{title}"
    );
    assert_eq!(title, "Advisory: May merge");

    let comments = at.get(&format!("/issues/{number}/comments")).await;
    let ours = comments.as_array().unwrap().iter().filter(|one| one["user"]["login"] == "github-actions[bot]");
    let ours: Vec<&str> = ours.map(|one| one["body"].as_str().unwrap()).collect();
    assert!(ours.len() == 1 && ours[0].contains("Advisory:"), "{ours:#?}");
    at.get(&format!("/git/ref/heads/{LEDGER}{ADVISORY}")).await;
}
