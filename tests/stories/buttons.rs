//! The buttons on the merge check.

use phasegate::rehearsal::{CHECK, REPO, WORKFLOW};
use serde_json::json;

use super::{assert_merge, green, merge_flow, proposes};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_answers_whoever_may_ask() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    assert_eq!(on.bot_comments(number).unwrap().len(), 1);
    on.presses("ada", number, "explain").await.unwrap();
    let said = on.bot_comments(number).unwrap();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].starts_with("What stands between this change and its merge:"), "{}", said[1]);
    assert!(said[1].contains("MRG-01") && said[1].contains("MRG-02"), "{}", said[1]);

    on.presses("ada", number, "explain").await.unwrap();
    assert_eq!(on.bot_comments(number).unwrap().len(), 3, "a second press is a second question");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rerun_looks_again_when_a_delivery_was_lost() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    let head = on.head(number).unwrap();
    on.admin().quiet().workflow_run(REPO, &head, WORKFLOW, "pull_request", &[(CHECK, Some("success"))]).unwrap();
    on.settle().await.unwrap();
    assert_merge(&on, number, "action_required");
    on.presses("ada", number, "rerun").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_asked_for_again_is_completed_again() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let run = on.merge_run(number).unwrap();
    on.admin().clear_log();
    on.does("ada", "POST", &format!("/check-runs/{}/rerequest", run.id), json!({})).await.unwrap();
    let writes: Vec<String> =
        on.writes().iter().map(|request| format!("{} {}", request.method, request.path)).collect();
    assert_eq!(writes, [format!("PATCH /repos/{REPO}/check-runs/{}", run.id)]);
    let after = on.merge_run(number).unwrap();
    assert_eq!((after.id, after.status.as_str(), after.conclusion), (run.id, "completed", run.conclusion));
    on.end().await;
}
