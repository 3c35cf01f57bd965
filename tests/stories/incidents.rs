//! What goes around the gate is told to a person, once, in an issue of its own.

use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use phasegate::rehearsal::{Bot, MERGE_POLICY, REPO, Rehearsal, Setup};
use phasegate::twin::Issue;
use serde_json::{Value, json};

use super::{green, kinds, merge_flow, proposes};

fn people() -> String {
    format!("{MERGE_POLICY}people: {{ escalate: [\"@mia\", \"@octo-org/leads\"] }}\n")
}

/// The one incident.
#[track_caller]
fn told(on: &Rehearsal) -> Issue {
    let mut issues = on.incidents().unwrap();
    assert_eq!(issues.len(), 1, "{issues:#?}");
    issues.remove(0)
}

fn count(on: &Rehearsal, number: u64, kind: &str) -> usize {
    kinds(on, number).iter().filter(|one| *one == kind).count()
}

/// An admin takes the rules away and merges a change that nobody has approved.
async fn bypassed(on: &Rehearsal) -> u64 {
    let number = proposes(on, "work").await;
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    on.lifts_the_rules().unwrap();
    on.merges("root", number).await.unwrap().unwrap();
    number
}

async fn closes(on: &Rehearsal, login: &str, issue: u64) {
    on.does(login, "PATCH", &format!("/issues/{issue}"), json!({ "state": "closed" })).await.unwrap();
}

fn status(on: &Rehearsal, number: u64) -> (Value, String) {
    let run = |json: &[&str]| {
        let mut command = cargo_bin_cmd!("phasegate");
        command.env_clear().env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
        command.env("GITHUB_API_URL", on.api_url()).args(["status", &number.to_string(), "--github", REPO]);
        String::from_utf8(command.args(json).output().unwrap().stdout).unwrap()
    };
    (serde_json::from_str(&run(&["--json"])).unwrap(), run(&[]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_around_the_gate_is_told_once_to_whoever_is_named_and_closing_it_is_noted() {
    let on = Rehearsal::start(Setup::with_policy(&people())).await.unwrap();
    let number = bypassed(&on).await;
    let issue = told(&on);
    let body = issue.body.clone().unwrap();
    let commit = on.pull(number).unwrap()["merge_commit_sha"].as_str().unwrap().to_owned();
    assert!(issue.open && issue.title == format!("Phasegate: #{number} was merged around the gate"), "{issue:#?}");
    assert_eq!(issue.assignees.iter().map(|who| who.login.as_str()).collect::<Vec<_>>(), ["mia"]);
    let labels = on.admin().repo(REPO).unwrap().labels;
    assert_eq!(issue.labels.iter().map(|id| labels[id].name.as_str()).collect::<Vec<_>>(), ["phasegate:incident"]);
    for part in [
        "was merged by `root` while `MRG-02` stood against it",
        "Nobody entitled has approved this content yet",
        &format!("/pull/{number}/files"),
        &format!("git revert {commit}"),
        "Bypass list",
        "@octo-org/leads",
    ] {
        assert!(body.contains(part), "{part:?} is not in {body}");
    }
    let pointer = format!("Incident #{} is open", issue.number);
    assert!(on.status_comment(number).unwrap().body.contains(&pointer));
    on.says("ada", number, "/status").await.unwrap();
    assert!(on.bot_comments(number).unwrap().last().unwrap().contains(&pointer));
    let (report, text) = status(&on, number);
    assert_eq!(report["incidents"][0]["issue"], issue.number, "{report:#}");
    assert!(text.contains(&format!("incident #{}: it was merged around the gate by root", issue.number)), "{text}");
    // Another look opens nothing, and it holds nothing back.
    assert_eq!((on.incidents().unwrap().len(), count(&on, number, "incident")), (1, 1));
    assert!(on.escalations().unwrap().is_empty());

    closes(&on, "mia", issue.number).await;
    assert!(!told(&on).open);
    let records = on.records(number).unwrap();
    let noted = records.iter().find(|record| record["record"]["body"]["kind"] == "incident_noted").unwrap();
    assert_eq!(noted["record"]["by"]["person"]["person"]["login"], "mia", "{noted:#}");
    let said = format!("Incident #{} was closed by `mia`", issue.number);
    assert!(on.status_comment(number).unwrap().body.contains(&said));
    assert!(status(&on, number).1.contains("; closed by mia"));
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(on.incidents().unwrap().len(), 1);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_through_the_gate_or_is_only_observed_is_no_incident() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    on.lifts_the_rules().unwrap();
    on.merges("root", number).await.unwrap().unwrap();
    assert_eq!((on.incidents().unwrap().len(), count(&on, number, "incident")), (0, 0));
    on.end().await;

    let on = Rehearsal::start(Setup::with_policy(&format!("{MERGE_POLICY}enforce: observe\n"))).await.unwrap();
    let number = bypassed(&on).await;
    assert_eq!((on.incidents().unwrap().len(), count(&on, number, "incident")), (0, 0));
    on.end().await;
}

/// Nothing that is lost makes a second one, and what somebody deletes is not taken note of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incident_survives_a_lost_database_a_deletion_and_an_edit() {
    let mut on = merge_flow().await;
    let number = bypassed(&on).await;
    let first = told(&on);
    on.loses_its_database().await.unwrap();
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(told(&on).number, first.number);
    on.does("root", "PATCH", &format!("/issues/{}", first.number), json!({ "body": "Nothing to see." })).await.unwrap();
    assert_eq!(on.incidents().unwrap()[0].body, first.body, "it says what it said");
    on.deletes_issue("root", first.number).await.unwrap();
    let second = told(&on);
    assert!(second.open && second.number > first.number);
    // What was closed while nobody listened is seen at the next look.
    on.stop_server().await;
    closes(&on, "mia", second.number).await;
    on.loses_its_database().await.unwrap();
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!((count(&on, number, "incident_shown"), count(&on, number, "incident_noted")), (2, 1));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_the_action_tells_of_it_too_and_once() {
    for bot in [Bot::Action, Bot::Advisory] {
        let on = Rehearsal::start(Setup { bot, ..Setup::with_policy(&people()) }).await.unwrap();
        let number = bypassed(&on).await;
        let issue = told(&on);
        on.says("ada", number, "/status").await.unwrap();
        closes(&on, "mia", issue.number).await;
        on.says("ada", number, "/status").await.unwrap();
        assert!(!told(&on).open, "{bot:?}");
        let comment = on.bot_comments(number).unwrap().remove(0);
        assert!(comment.contains(&format!("Incident #{} was closed by `mia`", issue.number)), "{bot:?}: {comment}");
        on.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_issues_the_comment_tells_it() {
    let on = merge_flow().await;
    on.admin().set_issues(REPO, false).unwrap();
    let number = bypassed(&on).await;
    assert!(on.incidents().unwrap().is_empty());
    assert!(on.status_comment(number).unwrap().body.contains("`bypassed_gate`"));
    assert_eq!(count(&on, number, "incident"), 1);
    on.end().await;
}

/// So long the rules of a branch are not read again.
const EVERY: Duration = Duration::from_mins(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ruleset_that_is_taken_away_is_told_once_and_every_time() {
    let mut on = Rehearsal::start(Setup::with_policy(&people())).await.unwrap();
    let number = proposes(&on, "work").await;
    on.lifts_the_rules().unwrap();
    on.says("ada", number, "/status").await.unwrap();
    assert!(on.incidents().unwrap().is_empty(), "the rules are not read with every event");
    on.time_passes(EVERY).await.unwrap();
    on.says("ada", number, "/status").await.unwrap();
    let issue = told(&on);
    assert_eq!(issue.title, "Phasegate: `phasegate/merge` is not required on main any more");
    assert_eq!(issue.assignees.iter().map(|who| who.login.as_str()).collect::<Vec<_>>(), ["mia"]);
    let body = issue.body.clone().unwrap();
    for part in [
        "requires `phasegate/merge` from this App on `main`",
        "/rules)",
        "docs/install.md",
        "is:merged base:main",
        "@octo-org/leads",
    ] {
        assert!(body.contains(part), "{part:?} is not in {body}");
    }
    assert!(on.status_comment(number).unwrap().body.contains(&format!("Incident #{} is open", issue.number)));
    let (report, text) = status(&on, number);
    assert_eq!(report["incidents"][0]["issue"], issue.number, "{report:#}");
    assert!(
        text.contains(&format!("incident #{}: phasegate/merge is not required on main any more", issue.number)),
        "{text}"
    );

    // Whoever looks later, with whatever change, and whatever was forgotten: it is told.
    let other = proposes(&on, "other").await;
    on.time_passes(EVERY).await.unwrap();
    on.says("ada", other, "/status").await.unwrap();
    on.loses_its_database().await.unwrap();
    on.says("ada", other, "/status").await.unwrap();
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!((told(&on).number, count(&on, number, "incident"), count(&on, other, "incident")), (issue.number, 1, 0));
    closes(&on, "mia", issue.number).await;
    assert_eq!(count(&on, number, "incident_noted"), 1);

    // It is back, and then it takes anybody's check, which is as good as none.
    on.requires_the_gate_of(Some(on.app().id)).unwrap();
    on.time_passes(EVERY).await.unwrap();
    on.says("ada", other, "/status").await.unwrap();
    on.lifts_the_rules().unwrap();
    on.requires_the_gate_of(None).unwrap();
    on.time_passes(EVERY).await.unwrap();
    on.says("ada", other, "/status").await.unwrap();
    let issues = on.incidents().unwrap();
    assert_eq!(issues.iter().map(|issue| issue.open).collect::<Vec<_>>(), [false, true], "{issues:#?}");
    assert_eq!(count(&on, other, "incident"), 1);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_that_was_never_required_or_only_observes_is_not_missed() {
    let observes = format!("{MERGE_POLICY}enforce: observe\n");
    for (policy, guarded) in [(MERGE_POLICY, false), (observes.as_str(), true)] {
        let on = Rehearsal::start(Setup::with_policy(policy)).await.unwrap();
        if !guarded {
            on.lifts_the_rules().unwrap();
        }
        let number = proposes(&on, "work").await;
        on.lifts_the_rules().ok();
        for _ in 0..2 {
            on.time_passes(EVERY).await.unwrap();
            on.says("ada", number, "/status").await.unwrap();
        }
        assert_eq!((on.incidents().unwrap().len(), count(&on, number, "incident")), (0, 0), "{policy}");
        on.end().await;
    }
}
