//! The buttons on the merge check.

use phasegate::rehearsal::{CHECK, LEDGER, PIPELINE_POLICY, REPO, Rehearsal, Setup, WORKFLOW, papers};
use serde_json::json;

use super::page::on_ledger;
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
    let begin = "Somebody with write access says `/expand`.";
    // The first item has this, and nothing says that phases are not through which have not begun.
    let first = |text: &str| {
        let (_, list) = text.split_once("1. ").unwrap_or_else(|| panic!("{text}"));
        let item = list.split("2. ").next().unwrap();
        item.contains("MRG-01") && item.contains(begin) && !text.contains("not through")
    };
    let (_, told) = explained(&on, number, &[]);
    assert!(first(&told), "{told}");
    on.says("tim", number, "/explain").await.unwrap();
    let said = on.bot_comments(number).unwrap().pop().unwrap();
    assert!(first(&said), "{said}");
    let page = on_ledger(&on, number);
    let (_, page) = page.split_once("What to do first").unwrap();
    let item = page.split("</li>").next().unwrap();
    assert!(item.contains("The pipeline has not begun.") && item.contains("<code>/expand</code>"), "{item}");

    on.says("ada", number, "/expand").await.unwrap();
    let (_, told) = explained(&on, number, &[]);
    assert!(!told.contains(begin), "{told}");
    on.end().await;
}

/// What a phase waits for is on no record. Where the content is at hand it is judged there; for the rest the check is named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_tells_what_the_present_phase_waits_for_without_github() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let readiness = papers::READINESS.replace("tests/test_dimmer.py::test_dark", "tests/test_dark.py::test_dark");
    let all = papers::ALL.iter().chain(&papers::CODE);
    let files: Vec<(&str, &str)> = all
        .map(|(path, text)| (*path, if path.ends_with("readiness.md") { readiness.as_str() } else { *text }))
        .collect();
    let head = on.pushes("rover", "work", "the dimmer", &files).await.unwrap();
    on.ci(&head, "success").await.unwrap();

    // In REVIEW the person is who it waits for, and that comes before what follows from it.
    on.says("tim", number, "/explain").await.unwrap();
    let said = on.bot_comments(number).unwrap().pop().unwrap();
    let at = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in\n{text}"));
    assert!(at(&said, "REV-01") < at(&said, "The pipeline is not through"), "{said}");
    assert!(!said.contains("`/status` says"), "{said}");

    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:reconcile"));
    let clone = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let done = std::process::Command::new("git").args(args).current_dir(clone.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["clone", "-q", &format!("{}/{REPO}.git", on.url()), "here"]);
    git(&["-C", "here", "fetch", "-q", "origin", &format!("{LEDGER}:{LEDGER}")]);
    let here = clone.path().join("here");
    let told = |command: &str| {
        let mut phasegate = assert_cmd::cargo::cargo_bin_cmd!("phasegate");
        let output = phasegate.env_clear().current_dir(&here).args([command, &number.to_string()]).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let explained = told("explain");
    let line = readiness.lines().position(|line| line.contains("test_dark.py")).unwrap() + 1;
    let place = format!("scaffolding/readiness.md:{line}");
    assert!(at(&explained, &place) < at(&explained, "The pipeline is not through"), "{explained}");
    assert!(at(&explained, "1. ") < at(&explained, &place) && !explained.contains("2. REC"), "{explained}");
    assert!(explained.contains("what only GitHub knows stands in the check `phasegate/reconcile`"), "{explained}");
    let status = told("status");
    assert!(
        status.contains("The check `phasegate/reconcile` says what to do.") && !status.contains("/status"),
        "{status}"
    );
    let page = on_ledger(&on, number);
    assert!(page.contains("RECONCILE waits.") && page.contains(&format!("/pull/{number}/checks")), "{page}");

    // The same from the ledger on GitHub, where no content is at hand.
    let (_, explained) = self::explained(&on, number, &[]);
    assert!(explained.contains("RECONCILE waits. What for stands in the check `phasegate/reconcile`"), "{explained}");
    on.end().await;
}

/// A gate that would pass and only waits to be claimed says so, with the content at hand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_waits_to_be_claimed_is_told_first() {
    let on = Rehearsal::start(Setup::with_policy(&format!("{PIPELINE_POLICY}mode: stepped\n"))).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    on.pushes("rover", "work", "the scope", &papers::of("scaffolding/scope.md")).await.unwrap();
    let clone = tempfile::tempdir().unwrap();
    let told = |command: &str| {
        let here = clone.path().join("here");
        drop(std::fs::remove_dir_all(&here));
        let git = |args: &[&str]| {
            let done = std::process::Command::new("git").args(args).current_dir(clone.path()).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["clone", "-q", &format!("{}/{REPO}.git", on.url()), "here"]);
        git(&["-C", "here", "fetch", "-q", "origin", &format!("{LEDGER}:{LEDGER}"), "work:work"]);
        let mut phasegate = assert_cmd::cargo::cargo_bin_cmd!("phasegate");
        let output = phasegate.env_clear().current_dir(&here).args([command, &number.to_string()]).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let claim = "MRG-01 The expand gate would pass, and nobody has claimed it.";
    let (next, explained) = (told("next"), told("explain"));
    assert!(next.contains("allowed: /expand: claim it;") && next.contains(&format!("failing:\n- {claim}")), "{next}");
    assert!(explained.contains(&format!("1. {claim}")) && !explained.contains("EXPAND waits"), "{explained}");
    // What is not as it should be comes first, and is not said to pass.
    let bare = papers::SCOPE.replace("AC-1", "One");
    on.pushes("rover", "work", "no criteria", &[("scaffolding/scope.md", &bare)]).await.unwrap();
    let (next, explained) = (told("next"), told("explain"));
    assert!(!next.contains("claim it") && next.contains("allowed: write scaffolding/scope.md"), "{next}");
    assert!(explained.contains("1. EXP-03") && !explained.contains("would pass"), "{explained}");
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
