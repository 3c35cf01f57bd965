//! The tokens of workflows' jobs, and runs that somebody asks for.

use serde_json::{Value, json};

use super::stage::Stage;
use crate::github::oidc::{Issuer, Refused};

const FILE: &str =
    "run-name: \"Run #${{ inputs.a }} now\"\non:\n  workflow_dispatch:\n    inputs:\n      a:\n        type: string\n";

#[tokio::test]
async fn a_run_that_was_asked_for_has_its_name_its_branch_and_a_token() {
    let stage = Stage::set().await;
    let admin = &stage.admin;
    let (there, not) = (".github/workflows/ask.yml", ".github/workflows/push.yml");
    admin.commit("ada/site", "ada", "main", "workflows", &[(there, Some(FILE)), (not, Some("on: push\n"))]).unwrap();
    let ask = |file: &str, body: Value| {
        admin.call_as("ada", "POST", &format!("/repos/ada/site/actions/workflows/{file}/dispatches"), body)
    };
    let refused = |answer: crate::twin::Result<Value>| answer.unwrap_err().to_string();
    assert!(refused(ask("none.yml", json!({"ref": "main"}))).contains("404"));
    assert!(refused(ask("push.yml", json!({"ref": "main"}))).contains("does not have 'workflow_dispatch' trigger"));
    assert!(refused(ask("ask.yml", json!({"ref": "main", "inputs": {"b": "1"}}))).contains("Unexpected inputs"));
    ask("ask.yml", json!({"ref": "main", "inputs": {"a": "7"}})).unwrap();
    let (run, inputs) = admin.dispatched("ada/site", there).unwrap().pop().unwrap();
    assert_eq!(inputs, json!({"a": "7"}));
    let told = admin.call_as("ada", "GET", &format!("/repos/ada/site/actions/runs/{run}"), Value::Null).unwrap();
    assert_eq!((&told["display_title"], &told["head_branch"]), (&json!("Run #7 now"), &json!("main")));
    assert_eq!((&told["status"], &told["event"]), (&json!("in_progress"), &json!("workflow_dispatch")));

    let issuer = Issuer::new(&admin.token_issuer(), "https://us.example").unwrap();
    let now = jiff::Timestamp::now();
    let claims = admin.token_claims("ada/site", run, "https://us.example").unwrap();
    let proved = issuer.prove(&admin.token_with(&claims).unwrap(), now).await.unwrap();
    assert_eq!((proved.run_id, proved.run_attempt, proved.event_name.as_str()), (run, 1, "workflow_dispatch"));
    assert_eq!(proved.job_workflow_ref, format!("ada/site/{there}@refs/heads/main"));
    assert!(matches!(issuer.prove(&admin.forged_token(&claims).unwrap(), now).await, Err(Refused::Forged(_))));
    // Another key is fetched when a token names it, but not at every word of a stranger.
    admin.replace_token_key();
    let token = admin.token_with(&claims).unwrap();
    assert!(matches!(issuer.prove(&token, now).await, Err(Refused::Forged(_))), "within the minute nothing is fetched");
    let later = now + jiff::SignedDuration::from_secs(61);
    assert_eq!(issuer.prove(&token, later).await.unwrap().run_id, run);

    admin.end_run("ada/site", run, "failure").unwrap();
    let told = admin.call_as("ada", "GET", &format!("/repos/ada/site/actions/runs/{run}"), Value::Null).unwrap();
    assert_eq!((&told["status"], &told["conclusion"]), (&json!("completed"), &json!("failure")));
}

#[tokio::test]
async fn a_run_that_another_ones_end_has_started_is_of_the_default_branch() {
    let stage = Stage::set().await;
    let (admin, path) = (&stage.admin, ".github/workflows/after.yml");
    let file =
        "run-name: \"Of ${{ github.event.workflow_run.head_sha }}\"\non:\n  workflow_run:\n    workflows: [ci]\n";
    let dispatch = ".github/workflows/ask.yml";
    admin.commit("ada/site", "ada", "main", "workflows", &[(path, Some(file)), (dispatch, Some(FILE))]).unwrap();
    let head = "b".repeat(40);
    assert!(admin.run_after("ada/site", dispatch, &head).unwrap_err().to_string().contains("'workflow_run' trigger"));
    let run = admin.run_after("ada/site", path, &head).unwrap();
    let told = admin.call_as("ada", "GET", &format!("/repos/ada/site/actions/runs/{run}"), Value::Null).unwrap();
    let tip = admin.branch("ada/site", "main").unwrap().unwrap();
    assert_eq!((&told["event"], &told["display_title"]), (&json!("workflow_run"), &json!(format!("Of {head}"))));
    assert_eq!((&told["head_sha"], &told["head_branch"]), (&json!(tip), &json!("main")));
    let claims = admin.token_claims("ada/site", run, "https://us.example").unwrap();
    assert_eq!((&claims["event_name"], &claims["sha"]), (&json!("workflow_run"), &json!(tip)));
}

#[tokio::test]
async fn an_issuer_that_can_not_be_reached_is_told_apart_from_a_forgery() {
    let stage = Stage::set().await;
    let nobody = Issuer::new("http://127.0.0.1:1", "https://us.example").unwrap();
    let token = stage.admin.token_with(&json!({"sub": "x"})).unwrap();
    let refused = nobody.prove(&token, jiff::Timestamp::now()).await.unwrap_err();
    assert!(matches!(&refused, Refused::NoKeys { .. }), "{refused}");
    assert!(!refused.to_string().contains(&token));
}
