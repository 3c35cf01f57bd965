//! The typed calls against a server, where they do more than one request.

use std::time::Duration;

use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, ResponseTemplate};

use super::checks::*;
use super::git::Addition;
use crate::github::Error;
use crate::github::client_tests::{SHA, in_turn, ok, sha, stage, status};
use crate::github::clock::Clock;
use crate::ids::Person;
use crate::ids::Role;

const LABELS: &str = "/repos/o/r/labels";
const RUNS: &str = "/repos/o/r/check-runs";

fn run(id: u64, slug: &str, external: &str, annotations: u64) -> Value {
    json!({"id": id, "name": "gate", "head_sha": SHA, "external_id": external, "status": "completed",
           "conclusion": "success", "app": {"id": 3, "slug": slug}, "check_suite": {"id": 8},
           "output": {"title": "t", "annotations_count": annotations}})
}

fn report(annotations: usize) -> Report {
    let annotation = Annotation {
        path: "src/lib.rs".into(),
        start_line: 0,
        end_line: 0,
        level: Level::Warning,
        title: "t".into(),
        message: "m".into(),
    };
    Report {
        standing: Standing::Completed(Verdict::ActionRequired),
        title: "Waits".into(),
        summary: "é".repeat(70_000),
        text: None,
        details_url: None,
        annotations: vec![annotation; annotations],
        buttons: Buttons::new(vec![RunButton::new("Go", "Go on", "go").unwrap()]).unwrap(),
    }
}

#[tokio::test]
async fn annotations_go_in_batches_and_a_batch_that_arrived_is_not_sent_twice() {
    let stage = stage().await;
    stage.answers("POST", RUNS, ResponseTemplate::new(201).set_body_json(run(4, "phasegate", "k", 50))).await;
    let patches = in_turn([status(502), ok(run(4, "phasegate", "k", 120))]);
    stage.answers("PATCH", "/repos/o/r/check-runs/4", patches).await;
    stage.answers("GET", "/repos/o/r/check-runs/4", ok(run(4, "phasegate", "k", 100))).await;
    let made = stage.repo.create_check_run("gate", &sha(), "k", &report(120)).await.unwrap();
    assert_eq!(made.output.annotations_count, 120);

    let posted = &stage.sent("POST", "/api/v3/repos/o/r/check-runs").await[0];
    assert_eq!(posted["conclusion"], "action_required");
    assert_eq!(posted["actions"], json!([{"label": "Go", "description": "Go on", "identifier": "go"}]));
    assert!(posted["output"]["summary"].as_str().unwrap().chars().count() <= 65_535);
    assert_eq!(posted["output"]["annotations"].as_array().unwrap().len(), 50);
    assert_eq!(posted["output"]["annotations"][0]["start_line"], 1);
    let patched = stage.sent("PATCH", "/api/v3/repos/o/r/check-runs/4").await;
    let sizes: Vec<_> = patched.iter().map(|body| body["output"]["annotations"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [50, 20]);
}

/// What a run has is known by what it says, in whatever order it is told.
#[tokio::test]
async fn what_a_run_lacks_is_told_apart_from_what_it_has_of_others() {
    let stage = stage().await;
    let told = |line: u32, message: &str| {
        json!({"path": "src/lib.rs", "start_line": line, "end_line": line, "annotation_level": "warning", "title": "t",
               "message": message, "blob_href": "", "raw_details": null})
    };
    stage.answers("GET", "/repos/o/r/check-runs/4/annotations", ok(json!([told(3, "m"), told(1, "m")]))).await;
    stage.answers("GET", "/repos/o/r/check-runs/5/annotations", ok(json!([told(1, "m"), told(1, "other")]))).await;
    let at = |line: u32| Annotation { start_line: line, end_line: line, ..report(1).annotations.remove(0) };
    let wanted = [at(0), at(0), at(2), at(3)];
    assert_eq!(stage.repo.lacking(4, &wanted).await, Ok(Some(vec![at(0), at(2)])), "one that is to be there twice is");
    assert_eq!(stage.repo.lacking(5, &wanted).await, Ok(None));
}

#[tokio::test]
async fn a_run_is_ours_by_app_name_commit_and_key() {
    let stage = stage().await;
    stage.answers("POST", RUNS, status(504)).await;
    let page = |runs: Value| ok(json!({"total_count": 2, "check_runs": runs}));
    let runs = json!([run(9, "evil", "k", 0), run(2, "phasegate", "other", 0), run(3, "phasegate", "k", 0)]);
    stage.answers("GET", &format!("/repos/o/r/commits/{SHA}/check-runs"), page(runs)).await;
    let made = stage.repo.create_check_run("gate", &sha(), "k", &report(0)).await.unwrap();
    assert_eq!((made.id, stage.asked("POST", RUNS).await), (3, 1));
    assert_eq!(stage.repo.list_check_runs(&sha()).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_label_is_created_changed_or_left_alone() {
    let stage = stage().await;
    let label = |color: &str| json!({"name": "a b", "color": color, "description": "d"});
    stage.answers("GET", "/repos/o/r/labels/a%20b", ok(label("00ff00"))).await;
    stage.answers("PATCH", "/repos/o/r/labels/a%20b", ok(label("ff0000"))).await;
    stage.repo.ensure_label("a b", "#00FF00", "d").await.unwrap();
    assert_eq!(stage.asked("PATCH", "/repos/o/r/labels/a%20b").await, 0);
    assert_eq!(stage.repo.ensure_label("a b", "ff0000", "d").await.unwrap().color, "ff0000");
    assert_eq!(stage.asked("PATCH", "/repos/o/r/labels/a%20b").await, 1);

    let made = json!({"name": "new", "color": "ff0000", "description": "d"});
    stage.answers("POST", LABELS, ResponseTemplate::new(201).set_body_json(made)).await;
    stage.repo.ensure_label("new", "ff0000", "d").await.unwrap();
    assert_eq!(stage.asked("POST", LABELS).await, 1);
    assert_eq!(stage.repo.remove_label(7, "not there").await, Ok(()));
}

#[tokio::test]
async fn a_role_counts_for_the_same_person_only() {
    let stage = stage().await;
    let answer = ok(json!({"permission": "admin", "role_name": "admin", "user": {"id": 7, "login": "ann"}}));
    stage.answers("GET", "/repos/o/r/collaborators/ann/permission", answer).await;
    let person = |id, bot| Person { id, login: "ann".into(), bot };
    assert_eq!(stage.repo.permission("ann").await, Ok(Role::Admin));
    assert_eq!(stage.repo.permission_of(&person(7, false)).await, Ok(Role::Admin));
    assert_eq!(stage.repo.permission_of(&person(8, false)).await, Ok(Role::None), "the login has a new owner");
    assert_eq!(stage.repo.permission_of(&person(7, true)).await, Ok(Role::None));
    assert!(matches!(stage.repo.permission("..").await, Err(Error::Malformed { .. })));
}

fn additions() -> Vec<Addition> {
    vec![Addition { path: "changes/0/7/0001.json".into(), contents: b"{}".to_vec() }]
}

fn stale() -> ResponseTemplate {
    let message = format!("Expected branch to point to \"{SHA}\" but it did not. Pull and try again.");
    ok(json!({"data": {"createCommitOnBranch": null}, "errors": [{"type": "STALE_DATA", "message": message}]}))
}

#[tokio::test]
async fn a_commit_on_a_moved_branch_is_stale() {
    let stage = stage().await;
    Mock::given(path("/api/graphql")).respond_with(stale()).expect(1).mount(&stage.server).await;
    let result = stage.repo.create_commit_on_branch("ledger", &sha(), "m\n\nbody", &additions()).await;
    assert_eq!(result, Err(Error::StaleHead));
    let sent = &stage.sent("POST", "/api/graphql").await[0];
    let input = &sent["variables"]["input"];
    assert_eq!(input["expectedHeadOid"], SHA);
    assert_eq!(input["fileChanges"]["additions"][0]["contents"], "e30=");
    assert!(input["message"]["body"].as_str().unwrap().starts_with("body\n\nWrite-Id: "));
}

/// Lists commits, one of which is the one that was last written.
struct Landed;

impl wiremock::Respond for Landed {
    fn respond(&self, _: &wiremock::Request) -> ResponseTemplate {
        let id = LAST.lock().unwrap().clone();
        let other = json!({"sha": "0".repeat(40), "commit": {"message": "m\n\nWrite-Id: another"}, "parents": []});
        let ours =
            json!({"sha": "1".repeat(40), "commit": {"message": format!("m\n\n{id}")}, "parents": [{"sha": SHA}]});
        ok(json!([other, ours]))
    }
}

/// Fails, but remembers what it was asked to write: the write happened.
struct Lost;

static LAST: std::sync::Mutex<String> = std::sync::Mutex::new(String::new());

impl wiremock::Respond for Lost {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let body: Value = request.body_json().unwrap();
        let id = body["variables"]["input"]["message"]["body"].as_str().unwrap().to_owned();
        *LAST.lock().unwrap() = id;
        status(502)
    }
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_found_by_its_own_name() {
    let stage = stage().await;
    Mock::given(path("/api/graphql")).respond_with(Lost).expect(1).mount(&stage.server).await;
    stage.answers("GET", "/repos/o/r/commits", Landed).await;
    let made = stage.repo.create_commit_on_branch("ledger", &sha(), "m", &additions()).await.unwrap();
    assert_eq!(made.as_str(), "1".repeat(40));
}

#[tokio::test]
async fn a_commit_that_did_not_land_is_made_again_unless_the_branch_moved() {
    let stage = stage().await;
    Mock::given(path("/api/graphql")).respond_with(in_turn([status(502), stale()])).mount(&stage.server).await;
    stage.answers("GET", "/repos/o/r/commits", ok(json!([]))).await;
    let result = stage.repo.create_commit_on_branch("ledger", &sha(), "m", &additions()).await;
    assert_eq!(result, Err(Error::StaleHead));
    assert_eq!(stage.asked("GET", "/repos/o/r/commits").await, 3, "looked once more before calling it another's");
}

#[tokio::test]
async fn graphql_errors_are_told_apart_and_half_an_answer_is_none() {
    for (kind, message, check) in [
        ("NOT_FOUND", "Could not resolve", (|e| matches!(e, Error::NotFound { .. })) as fn(&Error) -> bool),
        ("FORBIDDEN", "Resource not accessible", |e| matches!(e, Error::Forbidden { .. })),
        ("RATE_LIMITED", "API rate limit exceeded", |e| matches!(e, Error::RateLimited { .. })),
        ("", "Something went wrong while executing your query.", |e| matches!(e, Error::Server { .. })),
        ("OTHER", "No", |e| matches!(e, Error::Unprocessable { .. })),
    ] {
        let stage = stage().await;
        let answer = ok(json!({"data": {"x": 1}, "errors": [{"type": kind, "message": message}]}));
        Mock::given(method("POST")).and(path("/api/graphql")).respond_with(answer).mount(&stage.server).await;
        let error = stage.repo.graphql::<Value>("query { x }", json!({})).await.unwrap_err();
        assert!(check(&error), "{kind}: {error:?}");
    }
}

#[tokio::test]
async fn a_ref_is_created_only_where_there_is_none() {
    let stage = stage().await;
    let taken = ResponseTemplate::new(422).set_body_json(json!({"message": "Reference already exists"}));
    let made = ResponseTemplate::new(201).set_body_json(json!({"ref": "refs/heads/x", "object": {"sha": SHA}}));
    stage.answers("POST", "/repos/o/r/git/refs", in_turn([made, taken])).await;
    assert_eq!(stage.repo.create_ref("heads/x", &sha()).await, Ok(true));
    assert_eq!(stage.repo.create_ref("heads/x", &sha()).await, Ok(false));
    let sent = &stage.sent("POST", "/api/v3/repos/o/r/git/refs").await[0];
    assert_eq!(sent, &json!({"ref": "refs/heads/x", "sha": SHA}));
}

#[tokio::test]
async fn deliveries_are_read_until_they_are_old_enough() {
    let stage = stage().await;
    let delivery = |id: u64, at: &str| {
        json!({"id": id, "guid": format!("g{id}"), "delivered_at": at, "status": "OK", "status_code": 200,
               "event": "push", "action": null, "installation_id": null, "repository_id": 1})
    };
    let pages = in_turn([
        ok(json!([delivery(3, "2026-11-01T11:59:00Z"), delivery(2, "2026-11-01T11:58:00Z")]))
            .insert_header("link", "</api/v3/app/hook/deliveries?cursor=v1>; rel=\"next\""),
        ok(json!([delivery(1, "2026-11-01T10:00:00Z")]))
            .insert_header("link", "</api/v3/app/hook/deliveries?cursor=v2>; rel=\"next\""),
    ]);
    stage.answers("GET", "/app/hook/deliveries", pages).await;
    let since = stage.clock.now().checked_sub(Duration::from_secs(3600)).unwrap();
    let ids: Vec<_> = stage.hub.deliveries(since).await.unwrap().into_iter().map(|delivery| delivery.id).collect();
    assert_eq!(ids, [3, 2]);
    assert_eq!(stage.asked("GET", "/app/hook/deliveries").await, 2);

    stage.answers("POST", "/app/hook/deliveries/3/attempts", ResponseTemplate::new(202)).await;
    assert_eq!(stage.hub.redeliver(3).await, Ok(()));
    let here = "o/r".parse().unwrap();
    assert_eq!(stage.hub.installation_for(&here).await, Ok(None));
}

/// Of a repository with many thousands nobody asks for all.
#[tokio::test]
async fn of_pull_requests_only_the_latest_are_asked_for() {
    let side = json!({"sha": SHA, "ref": "work", "repo": null});
    let pulls = |count: u64| -> Vec<Value> {
        (1..=count).map(|number| json!({"number": number, "state": "closed", "head": side, "base": side})).collect()
    };
    let next = "</api/v3/repos/o/r/pulls?page=2>; rel=\"next\"";
    let many = stage().await;
    many.answers("GET", "/repos/o/r/pulls", ok(json!(pulls(100))).insert_header("link", next)).await;
    let (found, all) = many.repo.latest_pulls().await.unwrap();
    assert_eq!((found.len(), all, many.asked("GET", "/repos/o/r/pulls").await), (300, false, 3));
    let few = stage().await;
    few.answers("GET", "/repos/o/r/pulls", ok(json!(pulls(7)))).await;
    let (found, all) = few.repo.latest_pulls().await.unwrap();
    assert_eq!((found.len(), all), (7, true));
}
