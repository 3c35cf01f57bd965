//! Evidence from the trusted workflow: asked for, run, answered, judged.

use phasegate::rehearsal::{REPO, Rehearsal, Setup};
use serde_json::{Value, json};

use super::trusted::{self, Trusted, brings};
use super::{assert_merge, merge_says};

const POLICY: &str = "\
version: 1
flow: merge
gates:
  verify:
    from: [actions]
    run: [sh test.sh]
    reports: [out.xml]
";

/// A test runner in a few lines: each file of `tests` is a test, and passes where it exits with 0.
const RUNNER: &str = "\
status=0
{
  echo '<testsuites><testsuite name=\"lamp\">'
  for test in tests/*.sh; do
    if sh \"$test\" > /dev/null 2>&1; then
      echo \"<testcase name=\\\"$test\\\"/>\"
    else
      echo \"<testcase name=\\\"$test\\\"><failure type=\\\"AssertionError\\\" message=\\\"assertion failed\\\"/></testcase>\"
      status=1
    fi
  done
  echo '</testsuite></testsuites>'
} > out.xml
exit $status
";

pub(crate) fn setup() -> Setup {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    Setup {
        files: vec![
            file(trusted::WORKFLOW, trusted::FILE),
            file("test.sh", RUNNER),
            file("lamp.sh", "level=5\n"),
            file("tests/level.sh", ". ./lamp.sh\n[ \"$level\" = 5 ]\n"),
        ],
        ..Setup::with_policy(POLICY)
    }
}

/// A change that has a test of its own.
pub(crate) const DIM: &[(&str, &str)] =
    &[("lamp.sh", "level=5\ndim=1\n"), ("tests/dim.sh", ". ./lamp.sh\n[ \"$dim\" = 1 ]\n")];

pub(crate) async fn proposes(on: &Rehearsal, branch: &str, files: &[(&str, &str)]) -> u64 {
    on.pushes("rover", branch, &format!("work on {branch}"), files).await.unwrap();
    on.opens("rover", "Dim", branch).await.unwrap()
}

pub(crate) fn bodies(on: &Rehearsal, number: u64, kind: &str) -> Vec<Value> {
    let records = on.records(number).unwrap().into_iter().map(|sealed| sealed["record"].clone());
    records.filter(|record| record["body"]["kind"] == kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_merges_on_what_the_trusted_workflow_ran() {
    let on = Rehearsal::start(setup()).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    assert_merge(&on, number, "action_required");
    let asked = bodies(&on, number, "asked");
    assert_eq!(asked.len(), 1, "{asked:#?}");
    let trusted = Trusted::asked(&on);
    assert_eq!(trusted.input("nonce"), asked[0]["body"]["nonce"]);
    assert_eq!(trusted.input("head"), on.head(number).unwrap());
    assert!(merge_says(&on, number).contains("phasegate-evidence.yml"), "{}", merge_says(&on, number));

    trusted.answers(&on).await;
    let ran = bodies(&on, number, "ran");
    assert_eq!(ran.len(), 1, "{ran:#?}");
    assert_eq!(ran[0]["by"]["workflow"]["run"], trusted.run);
    assert_eq!((&ran[0]["body"]["tests"], &ran[0]["body"]["findings"]), (&json!(2), &json!([])), "{:#}", ran[0]);
    // The log stands beside the records, under its digest.
    let log = ran[0]["body"]["log"].as_str().unwrap();
    let path = format!("changes/0/{number}/evidence/{log}.json");
    let kept = on.admin().file(REPO, phasegate::rehearsal::LEDGER, &path).unwrap().expect("the log is on the ledger");
    assert_eq!(phasegate::ids::Digest::of(&kept).as_str(), log);

    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    // One run for one content, however often it is looked at.
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(on.admin().dispatched(REPO, trusted::WORKFLOW).unwrap().len(), 1);
    on.merges("mia", number).await.unwrap().unwrap();
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_red_run_holds_it_back_and_a_later_green_does_not_take_it_back() {
    let on = Rehearsal::start(setup()).await.unwrap();
    // It passes from the second try on, in whatever place it is run.
    let flag = tempfile::tempdir().unwrap();
    let flaky = format!(". ./lamp.sh\n[ \"$dim\" = 1 ] && [ -e {}/on ]\n", flag.path().display());
    let policy = format!("{POLICY}    earned: show\n    confine: {{ read: [\"{}\"] }}\n", flag.path().display());
    on.lands("mia", "read there", &[(".github/phasegate.yml", &policy)]).await.unwrap();
    let number = proposes(&on, "dim", &[DIM[0], ("tests/dim.sh", &flaky)]).await;
    Trusted::asked(&on).answers(&on).await;
    assert_merge(&on, number, "failure");
    let says = merge_says(&on, number);
    assert!(says.contains("VER-01") && says.contains("tests/dim.sh"), "{says}");
    assert_eq!(on.admin().dispatched(REPO, trusted::WORKFLOW).unwrap().len(), 1, "nobody has asked again");

    std::fs::write(flag.path().join("on"), "").unwrap();
    on.says("ada", number, "/verify").await.unwrap();
    assert_merge(&on, number, "action_required");
    let again = Trusted::asked(&on);
    assert_eq!(bodies(&on, number, "asked")[1]["by"]["person"]["person"]["login"], "ada");
    again.answers(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    assert!(merge_says(&on, number).contains("The same content was red before"), "{}", merge_says(&on, number));
    // There is nothing left to run.
    on.says("ada", number, "/verify").await.unwrap();
    assert!(on.bot_comments(number).unwrap().pop().unwrap().contains("There is nothing to run again."));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_put_in_the_place_of_another_is_told() {
    let on = Rehearsal::start(setup()).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    let first = Trusted::asked(&on);
    // Whoever can write cancels the App's run before it answers, and starts another for the same nonce.
    on.admin().end_run(REPO, first.run, "cancelled").unwrap();
    let body = json!({ "ref": "main", "inputs": first.inputs });
    let path = format!("/repos/{REPO}/actions/workflows/phasegate-evidence.yml/dispatches");
    on.admin().call_as("ada", "POST", &path, body).unwrap();
    on.settle().await.unwrap();
    let second = Trusted::asked(&on);
    assert_ne!(first.run, second.run);
    second.answers(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    let says = merge_says(&on, number);
    let told = format!("VER-13: Run {} was started for the same, and what it came to was not told.", first.run);
    assert!(says.contains(&told), "{says}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_green_that_was_not_earned_is_for_an_independent_person_to_agree_to() {
    let on = Rehearsal::start(setup()).await.unwrap();
    let idle = [("lamp.sh", "level=5\n# tidied\n"), ("tests/idle.sh", "true\n")];
    let number = proposes(&on, "idle", &idle).await;
    Trusted::asked(&on).answers(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "failure");
    let says = merge_says(&on, number);
    assert!(says.contains("VER-12: The new test") && says.contains("/agree VER-12 REASON"), "{says}");
    let answer = async |who: &str, words: &str| {
        on.says(who, number, words).await.unwrap();
        on.bot_comments(number).unwrap().pop().unwrap()
    };
    assert!(answer("ada", "/agree VER-12 it is a refactoring").await.contains("CMD-02"));
    assert!(answer("mia", "/agree VER-12").await.contains("the reason is missing"));
    assert!(answer("mia", "/agree VER-01 never mind").await.contains("VER-10, VER-11, VER-12"));
    assert!(answer("mia", "/agree VER-10 never mind").await.contains("no run of this content was held back by VER-10"));
    assert_merge(&on, number, "failure");
    on.says("mia", number, "/agree ver-12 it is a refactoring").await.unwrap();
    assert_merge(&on, number, "success");
    assert!(merge_says(&on, number).contains("`mia` has agreed to it: `it is a refactoring`"));
    // It is for that content: what is pushed now is run and judged anew.
    on.pushes("rover", "idle", "more", &[("tests/idle_too.sh", "true\n")]).await.unwrap();
    Trusted::asked(&on).answers(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "failure");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_not_the_trusted_jobs_is_refused_by_name() {
    let on = Rehearsal::start(setup()).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    let trusted = Trusted::asked(&on);
    trusted.executes(&on);
    let (log, ours) = (trusted.written().to_string(), on.server_url());
    let good = on.admin().token_claims(REPO, trusted.run, &ours).unwrap();
    let bent = |claims: &[(&str, Value)]| {
        let mut all = good.clone();
        all["jti"] = json!(uuid::Uuid::new_v4().to_string());
        claims.iter().for_each(|(name, value)| all[*name] = value.clone());
        on.admin().token_with(&all).unwrap()
    };
    let now = jiff::Timestamp::now().as_second();
    let elsewhere = format!("{REPO}/.github/workflows/ci.yml@refs/heads/main");
    let on_a_branch = format!("{REPO}/{}@refs/heads/dim", trusted::WORKFLOW);
    let cases = [
        (None, 401, "no_token"),
        (Some("not.a.token".to_owned()), 401, "malformed_token"),
        (Some(on.admin().forged_token(&good).unwrap()), 401, "forged_token"),
        (Some(bent(&[("exp", json!(now - 120))])), 401, "expired_token"),
        (Some(bent(&[("nbf", json!(now + 600))])), 401, "expired_token"),
        (Some(bent(&[("aud", json!("https://elsewhere.example"))])), 401, "other_audience"),
        (Some(bent(&[("iss", json!("https://elsewhere.example"))])), 401, "other_issuer"),
        (Some(bent(&[("repository", json!("eve/lantern")), ("repository_id", json!("999999"))])), 403, "foreign_token"),
        (Some(bent(&[("repository_id", json!("999999"))])), 403, "foreign_token"),
        (Some(bent(&[("repository_owner_id", json!("1"))])), 403, "foreign_token"),
        (Some(bent(&[("job_workflow_ref", json!(elsewhere))])), 403, "wrong_workflow"),
        (
            Some(bent(&[("job_workflow_ref", json!(on_a_branch)), ("ref", json!("refs/heads/dim"))])),
            403,
            "wrong_workflow",
        ),
        (Some(bent(&[("workflow_ref", json!(elsewhere))])), 403, "wrong_workflow"),
        (Some(bent(&[("event_name", json!("pull_request_target"))])), 403, "wrong_workflow"),
        (Some(bent(&[("ref_protected", json!("false"))])), 403, "unprotected_ref"),
        (Some(bent(&[("run_id", json!("424242"))])), 403, "other_run"),
        (Some(bent(&[("run_attempt", json!("2"))])), 403, "other_run"),
        (Some(bent(&[("sha", json!(on.head(number).unwrap()))])), 403, "other_run"),
    ];
    for (token, status, name) in cases {
        let (told, says) = brings(&on, &trusted, token.as_deref(), &log).await;
        assert_eq!((told, says["refused"].as_str()), (status, Some(name)), "{says}");
        assert!(says["says"].as_str().is_some_and(|text| text.ends_with('.')) && says["next"].is_string(), "{says}");
        assert!(token.is_none_or(|token| !says.to_string().contains(&token)), "a token is in the answer");
    }
    // Nothing of it counts, and what a job of this repository tried is on record.
    assert!(bodies(&on, number, "ran").is_empty());
    assert_merge(&on, number, "action_required");
    let tried = bodies(&on, number, "tampered");
    assert_eq!(tried.len(), 4, "three of the run that tried most, and one of another: {tried:#?}");
    assert!(tried[0]["body"]["what"].as_str().unwrap().contains("(wrong_workflow)"), "{:#}", tried[0]);

    // The real one is taken, once.
    let token = on.admin().token_with(&good).unwrap();
    assert_eq!(brings(&on, &trusted, Some(&token), &log).await.0, 202);
    let (status, says) = brings(&on, &trusted, Some(&token), &log).await;
    assert_eq!((status, says["refused"].as_str()), (401, Some("replayed_token")), "{says}");
    let another = on.admin().token_with(&on.admin().token_claims(REPO, trusted.run, &ours).unwrap()).unwrap();
    let (status, says) = brings(&on, &trusted, Some(&another), &log).await;
    assert_eq!((status, says["refused"].as_str()), (409, Some("answered")), "{says}");
    assert_eq!(bodies(&on, number, "ran").len(), 1);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_not_of_what_was_asked_for_is_refused_and_its_own_verdict_counts_for_nothing() {
    let on = Rehearsal::start(setup()).await.unwrap();
    // The change breaks what the base tests.
    let number = proposes(&on, "dim", &[("lamp.sh", "level=0\ndim=1\n"), DIM[1]]).await;
    let trusted = Trusted::asked(&on);
    assert_eq!(trusted.executes(&on).status.code(), Some(1));
    let honest = trusted.written();
    let main = on.admin().branch(REPO, "main").unwrap().unwrap();
    let bent = |at: &str, value: Value| {
        let mut log = honest.clone();
        *log.pointer_mut(at).unwrap() = value;
        log.to_string()
    };
    let cases = [
        ("{}".to_owned(), "unreadable_log"),
        (bent("/subject/head", json!(main)), "unreadable_log"),
        (bent("/subject/repository", json!("eve/lantern")), "unreadable_log"),
        (bent("/run/id", json!(1)), "unreadable_log"),
        (bent("/subject/checkout", json!(main)), "other_content"),
        (bent("/subject/base", json!(on.head(number).unwrap())), "other_content"),
        (bent("/policy/digest", json!("0".repeat(64))), "other_content"),
        (bent("/policy/from", json!("file")), "other_content"),
        (bent("/commands/0/command", json!("true")), "other_content"),
        (bent("/promised", json!([])), "other_content"),
        ("x".repeat(9 * 1024 * 1024), "too_large"),
    ];
    let token =
        || on.admin().token_with(&on.admin().token_claims(REPO, trusted.run, &on.server_url()).unwrap()).unwrap();
    for (log, name) in cases {
        let (_, says) = brings(&on, &trusted, Some(&token()), &log).await;
        assert_eq!(says["refused"].as_str(), Some(name), "{says}");
    }
    // It says PASS of itself, and that nothing was found.
    let mut vain = honest.clone();
    (vain["verdict"], vain["findings"]) = (json!("PASS"), json!([]));
    let (status, says) = brings(&on, &trusted, Some(&token()), &vain.to_string()).await;
    assert_eq!((status, says["refused"].as_str()), (422, Some("unreadable_log")), "{says}");
    assert!(says["says"].as_str().unwrap().contains("it says PASS"), "{says}");
    assert_merge(&on, number, "action_required");
    // As it is, it is a red.
    assert_eq!(brings(&on, &trusted, Some(&token()), &honest.to_string()).await.0, 202);
    assert_merge(&on, number, "failure");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_the_change_bends_runs_and_proves_nothing() {
    let on = Rehearsal::start(setup()).await.unwrap();
    let says_so = "echo '<testsuite><testcase name=\"tests/level.sh\"/></testsuite>' > out.xml\n";
    let number = proposes(&on, "bent", &[("lamp.sh", "level=0\n"), ("test.sh", says_so)]).await;
    Trusted::asked(&on).answers(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "failure");
    let says = merge_says(&on, number);
    assert!(says.contains("does not count: made by a changed workflow (`test.sh`"), "{says}");
    // An honest change to the runner is for a person to read.
    on.pushes("rover", "bent", "mend", &[("lamp.sh", "level=5\n"), ("test.sh", &format!("# tidy\n{RUNNER}"))])
        .await
        .unwrap();
    Trusted::asked(&on).answers(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "failure");
    on.says("mia", number, "/refreeze a comment, no more").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_for_older_content_counts_for_that_alone() {
    let on = Rehearsal::start(setup()).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    let first = Trusted::asked(&on);
    on.pushes("rover", "dim", "break it", &[("lamp.sh", "level=0\ndim=1\n")]).await.unwrap();
    let second = Trusted::asked(&on);
    assert_ne!(first.input("nonce"), second.input("nonce"));
    first.answers(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "action_required");
    assert_eq!(bodies(&on, number, "ran")[0]["about"]["head"], first.input("head"));
    second.answers(&on).await;
    assert_merge(&on, number, "failure");
    // Back at the content that was run, its run counts again: it was for that.
    on.force_pushes("rover", "dim", first.input("head")).await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_that_can_not_be_started_or_never_answers_is_told_and_asked_again() {
    let mut on = Rehearsal::start(Setup { files: setup().files[1..].to_vec(), ..setup() }).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    let says = merge_says(&on, number);
    assert!(says.contains("could not be started") && says.contains("/verify"), "{says}");
    on.lands("mia", "the workflow", &[(trusted::WORKFLOW, trusted::FILE)]).await.unwrap();
    on.says("ada", number, "/verify").await.unwrap();
    let lost = Trusted::asked(&on);
    assert!(merge_says(&on, number).contains("is asked to run the commands"), "{}", merge_says(&on, number));
    on.admin().end_run(REPO, lost.run, "failure").unwrap();
    on.settle().await.unwrap();
    let says = merge_says(&on, number);
    assert!(says.contains(&format!("Run {} of", lost.run)) && says.contains("without an answer"), "{says}");
    // Without its memory it asks for nothing twice.
    on.loses_its_database().await.unwrap();
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(on.admin().dispatched(REPO, trusted::WORKFLOW).unwrap().len(), 1);
    on.says("ada", number, "/verify").await.unwrap();
    let again = Trusted::asked(&on);
    assert_ne!(lost.run, again.run);
    // Meanwhile Actions has another key.
    on.admin().replace_token_key();
    again.answers(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}
