//! What reviewers find in a block of their review: it stands at its line, is counted, and is settled in a later one.

use phasegate::rehearsal::{REPO, Rehearsal, Setup, papers};
use serde_json::json;

use super::{assert_merge, proposes};

async fn says(on: &Rehearsal, login: &str, number: u64, verdict: &str, yaml: &str) {
    on.is_read();
    let body =
        json!({ "event": verdict, "body": format!("I looked at it.\r\n\r\n```phasegate-review\r\n{yaml}\r\n```\r\n") });
    on.admin().call_as(login, "POST", &format!("/repos/{REPO}/pulls/{number}/reviews"), body).unwrap();
    on.settle().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finding_stands_at_its_line_until_its_giver_closes_it() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    on.pushes("rover", "work", "documents", &papers::ALL).await.unwrap();
    let head = on.pushes("rover", "work", "the dimmer", &papers::CODE).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:review"));

    let found = "axes: [correctness, security]\nfindings:\n  - id: F1\n    axis: correctness\n    severity: required\n    \
                 path: src/dimmer.py\n    line: 2\n    what: A level below 0 is not told.\n    do: Refuse it.";
    says(&on, "ada", number, "COMMENT", found).await;
    let run = on.run(&head, "phasegate/review").unwrap().unwrap();
    assert_eq!(run.conclusion.as_deref(), Some("failure"), "{run:#?}");
    let notes = &run.annotations;
    assert!(
        notes.iter().any(|note| note["path"] == "src/dimmer.py" && note["start_line"] == 2),
        "the finding stands at its line: {notes:#?}"
    );
    let comment = on.bot_comments(number).unwrap().join("\n");
    assert!(comment.contains("ada/F1") && comment.contains("Refuse it"), "{comment}");

    // The approval of another does not take it away, nor does the push that mends it.
    let code = [("src/dimmer.py", "def dim(level):\n    assert level >= 0\n    return max(0, level - 1)\n")];
    let head = on.pushes("rover", "work", "refuses it", &code).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "failure");
    says(&on, "ada", number, "COMMENT", "close:\n  - finding: F1\n    reason: It refuses it now.").await;
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:verified"));
    assert_merge(&on, number, "success");
    let records = serde_json::to_string(&on.records(number).unwrap()).unwrap();
    assert_eq!(records.matches("\"kind\":\"reviewed\"").count(), 2, "{records}");
    assert!(records.contains("It refuses it now."), "{records}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mistake_in_a_block_is_told_with_its_line() {
    let on = super::merge_flow().await;
    let number = super::green(&on, "work").await;
    says(&on, "ada", number, "COMMENT", "axes: [security]\nfindigs: []").await;
    assert_merge(&on, number, "action_required");
    let run = on.merge_run(number).unwrap();
    let said = format!("{:?} {:?} {:?}", run.title, run.summary, on.bot_comments(number).unwrap());
    assert!(said.contains("at line 5 of the review") && said.contains("did you mean `findings`"), "{said}");
    says(&on, "ada", number, "COMMENT", "axes: [security]").await;
    assert_merge(&on, number, "success");
    on.end().await;
}
