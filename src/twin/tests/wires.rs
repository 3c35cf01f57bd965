//! Webhooks, counting, checks and clients.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::*;
use super::stage::Stage;

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
    assert_eq!(pulls, json!([]), "#{fork} is from a fork");

    for path in ["/", "/ada/site", "/ada/site/pull/1", "/ada"] {
        let page = stage.http.get(format!("{}{path}", stage.twin.url())).send().await.unwrap();
        assert_eq!(page.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn a_client_made_for_github_does_not_notice() {
    let stage = Stage::set().await;
    let (number, head) = stage.propose();
    let key = jsonwebtoken::EncodingKey::from_rsa_pem(stage.app.pem.as_bytes()).unwrap();
    let app = octocrab::Octocrab::builder()
        .base_uri(stage.twin.api_url())
        .unwrap()
        .app(octocrab::models::AppId(stage.app.id), key)
        .build_with_reqwest(stage.http.clone())
        .unwrap();
    assert_eq!(app.current().app().await.unwrap().slug.as_deref(), Some("gate"));
    let found = app.apps().get_repository_installation("ada", "site").await.unwrap();
    assert_eq!(found.id.0, stage.installation);
    let client = app.installation(found.id).unwrap();
    let pull = client.pulls("ada", "site").get(number).await.unwrap();
    assert_eq!(pull.head.sha, head);
    let comment = client.issues("ada", "site").create_comment(number, "hello").await.unwrap();
    assert_eq!(comment.user.login, "gate[bot]");
    let run = client.checks("ada", "site").create_check_run("gate/plan", &head).send().await.unwrap();
    assert_eq!(run.head_sha, head);
    let listed = client.checks("ada", "site").list_check_runs_for_git_ref(head.into()).send().await.unwrap();
    assert_eq!(listed.total_count, 1);
    client.issues("ada", "site").add_labels(number, &["phase: plan".to_owned()]).await.unwrap();
    client.issues("ada", "site").remove_label(number, "phase: plan").await.unwrap();
    assert_eq!(client.repos("ada", "site").get().await.unwrap().id.0, stage.admin.repo("ada/site").unwrap().id);
    let missing = client.pulls("ada", "site").get(99).await.unwrap_err();
    assert!(missing.to_string().contains("Not Found") || format!("{missing:?}").contains("Not Found"), "{missing:?}");
}

#[tokio::test]
async fn issues_have_parents_and_blockers() {
    let stage = Stage::set().await;
    let token = stage.app_token().await;
    let mut ids = Vec::new();
    for title in ["plan", "step", "other"] {
        let (_, issue) = stage.post(&token, "/repos/ada/site/issues", json!({"title": title})).await;
        ids.push(issue["id"].clone());
    }
    let adopt = json!({"sub_issue_id": ids[1]});
    assert_eq!(stage.post(&token, "/repos/ada/site/issues/1/sub_issues", adopt.clone()).await.0, 201);
    assert_eq!(stage.post(&token, "/repos/ada/site/issues/3/sub_issues", adopt).await.0, 422, "one parent only");
    let circle = json!({"sub_issue_id": ids[0]});
    assert_eq!(stage.post(&token, "/repos/ada/site/issues/2/sub_issues", circle).await.0, 422, "no circles");
    let (_, below) = stage.get(&token, "/repos/ada/site/issues/1/sub_issues").await;
    assert_eq!(below[0]["number"], 2);
    assert_eq!(stage.get(&token, "/repos/ada/site/issues/2/parent").await.1["number"], 1);
    let blocked = "/repos/ada/site/issues/2/dependencies/blocked_by";
    assert_eq!(stage.post(&token, blocked, json!({"issue_id": ids[2]})).await.0, 201);
    assert_eq!(stage.post(&token, blocked, json!({"issue_id": ids[2]})).await.0, 422);
    let gone = format!("{blocked}/{}", ids[2]);
    assert_eq!(stage.ask(&token, Method::DELETE, &gone, Value::Null).await.0, 200);
    assert_eq!(stage.get(&token, blocked).await.1, json!([]));
}
