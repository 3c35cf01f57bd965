//! The buttons on the merge check.

use phasegate::rehearsal::{CHECK, REPO, Rehearsal, Setup, WORKFLOW};
use serde_json::json;

use super::{assert_merge, green, merge_flow, proposes, proves};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_answers_whoever_may_ask() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    assert_eq!(on.bot_comments(number).unwrap().len(), 1);
    on.presses("ada", number, "explain").await.unwrap();
    let said = on.bot_comments(number).unwrap();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[1].starts_with("What stands between this change and its merge, what to do first at the top:"),
        "{}",
        said[1]
    );
    assert!(said[1].contains("MRG-01") && said[1].contains("MRG-02"), "{}", said[1]);

    on.presses("ada", number, "explain").await.unwrap();
    assert_eq!(on.bot_comments(number).unwrap().len(), 3, "a second press is a second question");
    on.end().await;
}

/// The comment, the button and the command line name the same things, in the same order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_says_what_to_do_first_first() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let order = |text: &str| -> Vec<usize> {
        ["1. ", "2. "]
            .iter()
            .zip(["MRG-01", "MRG-02"])
            .map(|(at, rule)| {
                let line = text.lines().position(|line| line.trim_start().starts_with(at) && line.contains(rule));
                line.unwrap_or_else(|| panic!("{at}{rule} is missing in:\n{text}"))
            })
            .collect()
    };
    on.says("tim", number, "/explain").await.unwrap();
    let said = on.bot_comments(number).unwrap().pop().unwrap();
    assert!(order(&said).is_sorted(), "{said}");
    let (code, told) = explained(&on, number, &[]);
    assert!(code == 1 && order(&told).is_sorted(), "{code} {told}");
    assert!(told.contains("Why it is not merging, first things first:"), "{told}");

    // What a person has stopped comes before everything that could be done meanwhile.
    on.says("mia", number, "/stop it deletes the backups").await.unwrap();
    let (code, told) = explained(&on, number, &["--json"]);
    let object: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((code, object["schema"].as_str()), (3, Some("phasegate/explain@1")));
    assert_eq!(object["findings"][0]["rule"], "MRG-05", "{object:#}");
    assert!(object["waits_for"].as_str().unwrap().contains("it deletes the backups"), "{object:#}");
    on.says("mia", number, "/unblock they are kept").await.unwrap();

    proves(&on, number).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    let (code, told) = explained(&on, number, &[]);
    assert!(code == 0 && told.contains("Nothing stands against merging, by its records."), "{code} {told}");
    on.end().await;
}

/// Before a pipeline has begun, that is what to do first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_begins_with_the_beginning() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    let begin = "It has not begun: somebody with write access says `/expand`";
    let (_, told) = explained(&on, number, &[]);
    let at = |text: &str| told.find(text).unwrap_or_else(|| panic!("no {text} in\n{told}"));
    assert!(at(begin) < at("1. "), "{told}");
    on.says("ada", number, "/expand").await.unwrap();
    let (_, told) = explained(&on, number, &[]);
    assert!(!told.contains(begin), "{told}");
    on.end().await;
}

fn explained(on: &Rehearsal, number: u64, args: &[&str]) -> (i32, String) {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("phasegate");
    command.env_clear().env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
    command.env("GITHUB_API_URL", on.api_url());
    let output = command.args(["explain", &number.to_string(), "--github", REPO]).args(args).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), said)
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
