//! Who may do what, and what only the App may.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::super::*;
use super::stage::Stage;

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
    let told = format!("Expected branch to point to \"{head}\" but it did not.  Pull and try again.");
    assert_eq!(lost["errors"][0]["message"], told.as_str());
    assert_eq!(lost["data"]["createCommitOnBranch"], Value::Null);
    assert_eq!(stage.admin.branch("ada/site", "phasegate/ledger").unwrap(), Some(new.clone()));
    let refused = stage.graphql(&token, APPEND, append(&new, ".github/workflows/a.yml")).await;
    let told = "refusing to allow a GitHub App to create or update workflow `.github/workflows/a.yml` without `workflows` \
                permission";
    assert_eq!((&refused["errors"][0]["type"], &refused["errors"][0]["message"]), (&json!("FORBIDDEN"), &json!(told)));
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
    let circle = "{ viewer { ...a } } fragment a on Actor { login ...b ...b } fragment b on Actor { ...a ...a }";
    let refused = stage.graphql(&token, circle, json!({})).await;
    assert_eq!(refused["errors"][0]["message"], "Query has a depth that is too great");
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
