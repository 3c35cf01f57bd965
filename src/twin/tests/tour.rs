//! A tour of every route: each answers well at least once, over HTTP. What it answers is kept, with all else that is said
//! in the tests, and held against GitHub's description (`tests/oracles/description.cjs`).

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::super::route::{all, template};
use super::super::*;
use super::stage::Stage;

struct Tour {
    stage: Stage,
    visited: BTreeSet<(String, &'static str)>,
}

impl Tour {
    /// Calls, and expects it to go well. A path that begins with a slash is one of the API's, others are the
    /// repository's.
    async fn call(&mut self, token: &str, method: Method, path: &str, body: Value) -> Value {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/repos/ada/site/{path}") };
        let plain = path.split('?').next().unwrap();
        let route = template(method.as_str(), plain).unwrap_or_else(|| panic!("{method} {path} leads nowhere"));
        let (status, answer) = self.stage.ask(token, method.clone(), &path, body).await;
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        self.visited.insert((method.to_string(), route));
        answer
    }

    async fn get(&mut self, token: &str, path: &str) -> Value {
        self.call(token, Method::GET, path, Value::Null).await
    }

    async fn post(&mut self, token: &str, path: &str, body: Value) -> Value {
        self.call(token, Method::POST, path, body).await
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// Who it is, and where it is installed.
async fn apps(on: &mut Tour, jwt: &str, app: &str, ada: &str) {
    let (slug, installation) = (on.stage.app.slug.clone(), on.stage.installation);
    on.get(jwt, "/app").await;
    on.get(jwt, "/app/installations").await;
    on.get(jwt, &format!("/app/installations/{installation}")).await;
    on.get(jwt, "installation").await;
    on.post(jwt, &format!("/app/installations/{installation}/access_tokens"), json!({})).await;
    on.get(ada, &format!("/apps/{slug}")).await;
    on.get(app, "/installation/repositories").await;
    on.stage.admin.wait_idle().await;
    let deliveries = on.get(jwt, "/app/hook/deliveries").await;
    let delivery = format!("/app/hook/deliveries/{}", deliveries[0]["id"]);
    on.get(jwt, &delivery).await;
    on.post(jwt, &format!("{delivery}/attempts"), Value::Null).await;
    for path in ["/meta", "/rate_limit", "/user", "/users/ada"] {
        on.get(ada, path).await;
    }
    on.get(ada, "/orgs/club/teams/gate/memberships/ada").await;
    on.get(app, "collaborators/ada/permission").await;
}

/// Its files, by contents and by git's objects.
async fn git(on: &mut Tour, app: &str, ada: &str) {
    let id = on.get(app, "/repos/ada/site").await["id"].clone();
    on.get(app, &format!("/repositories/{id}")).await;
    let content = json!({"message": "Note", "content": STANDARD.encode("note\n"), "branch": "notes"});
    let main = on.get(app, "git/ref/heads/main").await;
    let tip = text(&main["object"]["sha"]);
    on.post(app, "git/refs", json!({"ref": "refs/heads/notes", "sha": tip})).await;
    let put = on.call(ada, Method::PUT, "contents/docs/note.md", content).await;
    on.get(app, "contents").await;
    on.get(app, "contents/docs?ref=notes").await;
    on.get(app, "contents/docs/note.md?ref=notes").await;
    let gone = json!({"message": "Gone", "sha": put["content"]["sha"], "branch": "notes"});
    on.call(ada, Method::DELETE, "contents/docs/note.md", gone).await;
    let blob = on.post(app, "git/blobs", json!({"content": "a\n", "encoding": "utf-8"})).await;
    on.get(app, &format!("git/blobs/{}", text(&blob["sha"]))).await;
    let entry = json!({"path": "a.md", "mode": "100644", "type": "blob", "sha": blob["sha"]});
    let tree = on.post(app, "git/trees", json!({"base_tree": tip, "tree": [entry]})).await;
    on.get(app, &format!("git/trees/{}?recursive=1", text(&tree["sha"]))).await;
    let commit = json!({"message": "By hand", "tree": tree["sha"], "parents": [tip]});
    let commit = text(&on.post(app, "git/commits", commit).await["sha"]);
    on.get(app, &format!("git/commits/{commit}")).await;
    on.call(app, Method::PATCH, "git/refs/heads/notes", json!({"sha": commit, "force": true})).await;
    on.get(app, "git/matching-refs/heads/no").await;
    on.get(app, "branches").await;
    on.get(app, "branches/main").await;
    on.get(app, "commits?sha=notes").await;
    on.get(app, &format!("commits/{commit}")).await;
    on.get(app, "compare/main...notes").await;
    on.get(app, "activity?ref=refs/heads/notes").await;
    on.call(app, Method::DELETE, "git/refs/heads/notes", Value::Null).await;
}

/// Issues, their labels and what binds them together.
async fn issues(on: &mut Tour, app: &str, ada: &str) {
    on.post(ada, "labels", json!({"name": "bug", "color": "d73a4a", "description": "Broken"})).await;
    on.call(ada, Method::PATCH, "labels/bug", json!({"new_name": "fault", "color": "000000"})).await;
    on.get(app, "labels").await;
    on.get(app, "labels/fault").await;
    let mut made = Vec::new();
    for title in ["One", "Two"] {
        let issue = on.post(ada, "issues", json!({"title": title, "labels": ["fault"], "assignees": ["ada"]})).await;
        made.push((issue["number"].to_string(), issue["id"].clone()));
    }
    let [(one, _), (two, id)] = &made[..] else { panic!("two issues") };
    on.get(app, "issues?state=all").await;
    on.get(app, &format!("issues/{one}")).await;
    on.call(ada, Method::PATCH, &format!("issues/{one}"), json!({"body": "More", "state": "open"})).await;
    on.get(app, &format!("issues/{one}/events")).await;
    on.post(ada, &format!("issues/{one}/labels"), json!({"labels": ["new"]})).await;
    on.post(app, &format!("issues/{one}/assignees"), json!({"assignees": ["ada", "nobody"]})).await;
    on.get(app, &format!("issues/{one}/labels")).await;
    on.call(ada, Method::PUT, &format!("issues/{one}/labels"), json!({"labels": ["fault", "new"]})).await;
    on.call(ada, Method::DELETE, &format!("issues/{one}/labels/new"), Value::Null).await;
    on.call(ada, Method::DELETE, &format!("issues/{one}/labels"), Value::Null).await;
    on.call(ada, Method::DELETE, "labels/fault", Value::Null).await;
    let comment = on.post(app, &format!("issues/{one}/comments"), json!({"body": "Hello"})).await;
    let comment = format!("issues/comments/{}", comment["id"]);
    on.get(app, "issues/comments").await;
    on.get(app, &format!("issues/{one}/comments")).await;
    on.get(app, &comment).await;
    on.call(app, Method::PATCH, &comment, json!({"body": "Hello again"})).await;
    on.post(app, &format!("{comment}/reactions"), json!({"content": "eyes"})).await;
    on.get(app, &format!("{comment}/reactions")).await;
    on.call(app, Method::DELETE, &comment, Value::Null).await;
    on.post(ada, &format!("issues/{one}/sub_issues"), json!({"sub_issue_id": id})).await;
    on.get(app, &format!("issues/{one}/sub_issues")).await;
    on.get(app, &format!("issues/{two}/parent")).await;
    on.call(ada, Method::DELETE, &format!("issues/{one}/sub_issue"), json!({"sub_issue_id": id})).await;
    on.post(ada, &format!("issues/{one}/dependencies/blocked_by"), json!({"issue_id": id})).await;
    on.get(app, &format!("issues/{one}/dependencies/blocked_by")).await;
    on.get(app, &format!("issues/{two}/dependencies/blocking")).await;
    on.call(ada, Method::DELETE, &format!("issues/{one}/dependencies/blocked_by/{id}"), Value::Null).await;
}

/// What is said about a commit: checks, statuses, runs, deployments.
async fn proofs(on: &mut Tour, app: &str, ada: &str, head: &str) {
    let note = json!({"path": "a.txt", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"});
    let output = json!({"title": "t", "summary": "s", "annotations": [note]});
    let run =
        json!({"name": "gate", "head_sha": head, "status": "completed", "conclusion": "success", "output": output});
    let run = on.post(app, "check-runs", run).await;
    let (id, suite) = (format!("check-runs/{}", run["id"]), format!("check-suites/{}", run["check_suite"]["id"]));
    on.get(app, &id).await;
    on.get(app, &format!("{id}/annotations")).await;
    on.call(app, Method::PATCH, &id, json!({"conclusion": "neutral"})).await;
    on.post(ada, &format!("{id}/rerequest"), Value::Null).await;
    on.get(app, &suite).await;
    on.get(app, &format!("{suite}/check-runs")).await;
    on.get(app, &format!("commits/{head}/check-runs?filter=all")).await;
    on.get(app, &format!("commits/{head}/check-suites")).await;
    on.post(ada, &format!("statuses/{head}"), json!({"state": "success", "context": "by hand"})).await;
    on.get(ada, &format!("commits/{head}/status")).await;
    on.get(ada, &format!("commits/{head}/statuses")).await;

    let file = ".github/workflows/ci.yml";
    let jobs = [("test", Some("success"))];
    let id = on.stage.admin.workflow_run("ada/site", head, file, "pull_request", &jobs).unwrap();
    on.get(app, "actions/runs?event=pull_request").await;
    let run = format!("actions/runs/{id}");
    on.get(app, &run).await;
    let job = on.get(app, &format!("{run}/jobs")).await["jobs"][0]["id"].clone();
    on.get(app, &format!("actions/jobs/{job}")).await;
    on.stage.admin.artifact("ada/site", id, "results", b"as it is").unwrap();
    let artifact = on.get(app, &format!("{run}/artifacts?name=results")).await["artifacts"][0]["id"].clone();
    on.get(app, &format!("actions/artifacts/{artifact}/zip")).await;
    on.post(ada, "actions/workflows/ci.yml/dispatches", json!({"ref": "main", "inputs": {"a": "b"}})).await;
    on.get(app, "actions/workflows/ci.yml/runs?event=workflow_dispatch").await;
    on.post(ada, "dispatches", json!({"event_type": "nudge", "client_payload": {"a": 1}})).await;
    on.call(ada, Method::DELETE, &run, Value::Null).await;

    let deployment = on.post(ada, "deployments", json!({"ref": head, "environment": "test", "payload": {}})).await;
    let deployment = format!("deployments/{}", deployment["id"]);
    on.get(ada, "deployments").await;
    on.get(ada, &deployment).await;
    let status = json!({"state": "success", "log_url": "https://example.com/log", "description": "done"});
    on.post(ada, &format!("{deployment}/statuses"), status).await;
    on.get(ada, &format!("{deployment}/statuses")).await;
}

/// A pull request from its opening to its merge, and the rules of the branch that it goes into.
async fn pulls(on: &mut Tour, app: &str, ada: &str) {
    on.stage
        .admin
        .commit("ada/site", "ada", "work", "Work", &[("a.txt", Some("a\n")), ("b.txt", Some("b\n"))])
        .unwrap();
    let pull =
        on.post(ada, "pulls", json!({"title": "Work", "head": "work", "base": "main", "body": "It works."})).await;
    let (number, head) = (pull["number"].to_string(), text(&pull["head"]["sha"]));
    let path = format!("pulls/{number}");
    proofs(on, app, ada, &head).await;
    on.get(app, "pulls?state=open&head=ada:work").await;
    on.get(app, &path).await;
    on.call(ada, Method::PATCH, &path, json!({"title": "Works"})).await;
    on.get(app, &format!("{path}/commits")).await;
    on.get(app, &format!("{path}/files")).await;
    on.get(app, &format!("commits/{head}/pulls")).await;
    let bob = on.stage.admin.create_user("bob").unwrap();
    on.stage.admin.set_role("ada/site", "bob", Role::Write).unwrap();
    let review = on.post(&bob.token, &format!("{path}/reviews"), json!({"event": "APPROVE", "body": "Good"})).await;
    on.get(app, &format!("{path}/reviews")).await;
    let review = format!("{path}/reviews/{}", review["id"]);
    on.get(app, &review).await;
    on.call(&bob.token, Method::PUT, &review, json!({"body": "Very good"})).await;
    on.call(ada, Method::PUT, &format!("{review}/dismissals"), json!({"message": "Old"})).await;
    on.call(ada, Method::PUT, &format!("{path}/merge"), json!({"merge_method": "squash", "sha": head})).await;
    on.get(app, &format!("{path}/merge")).await;

    let application = on.stage.app.id;
    on.stage.admin.require_checks("ada/site", &[("gate", Some(application))]).unwrap();
    on.get(app, "rules/branches/main").await;
    let rules = on.get(app, "rulesets").await;
    on.get(app, &format!("rulesets/{}", rules[0]["id"])).await;
}

#[tokio::test]
async fn every_route_answers_well() {
    let stage = Stage::set().await;
    stage.admin.create_org("club").unwrap();
    stage.admin.set_team("club", "gate", &[("ada", TeamRole::Member)]).unwrap();
    let workflow = [(
        ".github/workflows/ci.yml",
        Some("on:\n  push:\n  workflow_dispatch:\n    inputs:\n      a:\n        type: string\njobs: {}\n"),
    )];
    stage.admin.commit("ada/site", "ada", "main", "CI", &workflow).unwrap();
    let (jwt, app, ada) = (stage.app.jwt().unwrap(), stage.app_token().await, stage.ada.token.clone());
    let mut on = Tour { stage, visited: BTreeSet::new() };
    git(&mut on, &app, &ada).await;
    issues(&mut on, &app, &ada).await;
    pulls(&mut on, &app, &ada).await;
    apps(&mut on, &jwt, &app, &ada).await;
    let missed: Vec<_> = all().filter(|(method, path)| !on.visited.contains(&((*method).to_owned(), *path))).collect();
    assert!(missed.is_empty(), "the tour does not go by {missed:#?}");
}
