//! The ledger on a branch of another name: a slip in the policy does not lose it, and it can be moved.

use phasegate::rehearsal::{MERGE_POLICY, REPO};
use serde_json::json;

use super::{assert_merge, green, merge_flow, proposes, proves};

fn policy(branch: &str) -> String {
    format!("{MERGE_POLICY}ledger: {{ branch: {branch} }}\n")
}

const PATH: &str = ".github/phasegate.yml";

/// Moved, then a policy that is wrong elsewhere, then one that can't be read at all: each time it is said what is wrong
/// with the policy, and the records are found when it is mended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slip_in_the_policy_does_not_lose_the_ledger() {
    let on = merge_flow().await;
    on.lands("root", "another branch", &[(PATH, &policy("records/gate"))]).await.unwrap();
    let number = green(&on, "work").await;
    assert!(on.admin().branch(REPO, "records/gate").unwrap().is_some());

    for slip in [format!("{}flwo: merge\n", policy("records/gate")), "flow: [".to_owned()] {
        on.lands("root", "a slip", &[(PATH, &slip)]).await.unwrap();
        assert_merge(&on, number, "failure");
        let run = on.merge_run(number).unwrap();
        let summary = run.summary.unwrap();
        assert!(summary.contains("MRG-07") && !summary.contains("MRG-08"), "{summary}");
        assert!(summary.contains("/blob/main/.github/phasegate.yml#L"), "{summary}");
        assert_eq!(run.annotations[0]["path"], PATH);
        on.lands("root", "mended", &[(PATH, &policy("records/gate"))]).await.unwrap();
        assert_merge(&on, number, "success");
    }
    assert_eq!(on.admin().branch(REPO, "phasegate/ledger").unwrap(), None, "nothing went elsewhere");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_was_renamed_is_brought_along_by_a_push() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    on.lands("root", "another branch", &[(PATH, &policy("records/gate"))]).await.unwrap();
    for _ in 0..6 {
        on.time_passes(std::time::Duration::from_secs(3600)).await.unwrap();
    }
    assert_merge(&on, number, "failure");
    let summary = on.merge_run(number).unwrap().summary.unwrap();
    assert!(summary.contains("MRG-08") && summary.contains("no records of this change"), "{summary}");
    assert!(summary.contains("`git push origin phasegate/ledger:records/gate`"), "{summary}");

    let tip = on.admin().branch(REPO, "phasegate/ledger").unwrap().unwrap();
    let body = json!({ "ref": "refs/heads/records/gate", "sha": tip });
    on.admin().call_as("root", "POST", &format!("/repos/{REPO}/git/refs"), body).unwrap();
    on.settle().await.unwrap();
    // The policy is another one, so what was shown under the old one is shown again.
    proves(&on, number).await;
    assert_merge(&on, number, "success");
    on.end().await;
}

/// The records would be commits on somebody's change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_is_not_put_on_the_branch_of_a_change() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let head = on.head(number).unwrap();
    on.lands("root", "a bad idea", &[(PATH, &policy("work"))]).await.unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "failure");
    let run = on.merge_run(number).unwrap();
    let summary = run.summary.unwrap();
    assert!(summary.contains("it is the head of the open pull request #"), "{summary}");
    let line = policy("work").lines().count();
    assert_eq!(run.annotations[0]["start_line"], line, "{:?}", run.annotations);
    assert_eq!(on.head(number).unwrap(), head, "nothing was written there");
    on.end().await;
}

/// Nor is a change made of the ledger.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_from_the_ledgers_branch_is_refused_and_harms_nobody() {
    let on = merge_flow().await;
    // A branch that began as one of code; from an orphan GitHub lets nobody open a pull request.
    on.pushes("root", "records/gate", "begin", &[("notes.md", "Records.\n")]).await.unwrap();
    on.lands("root", "another branch", &[(PATH, &policy("records/gate"))]).await.unwrap();
    let number = green(&on, "work").await;
    let other = on.opens("ada", "The records", "records/gate").await.unwrap();
    let tip = on.head(other).unwrap();
    assert_merge(&on, other, "failure");
    assert!(on.merge_run(other).unwrap().summary.unwrap().contains("`records/gate` is the ledger's branch"));
    assert_merge(&on, number, "success");
    assert_eq!(on.head(other).unwrap(), tip, "nothing is recorded about it");
    on.end().await;
}
