//! Stops that wait for a person, and the issue that asks for one.

use assert_cmd::cargo::cargo_bin_cmd;
use phasegate::rehearsal::{Bot, MERGE_POLICY, PIPELINE_POLICY, REPO, Rehearsal, Setup, papers};
use phasegate::twin::Issue;
use serde_json::{Value, json};

use super::{assert_merge, kinds, merge_flow, proposes};

/// The one escalation, which is open.
#[track_caller]
fn asked(on: &Rehearsal) -> Issue {
    let mut issues = on.escalations().unwrap();
    assert_eq!(issues.len(), 1, "{issues:#?}");
    let issue = issues.remove(0);
    assert!(issue.open, "{issue:#?}");
    issue
}

fn count(on: &Rehearsal, number: u64, kind: &str) -> usize {
    kinds(on, number).iter().filter(|one| *one == kind).count()
}

/// `rover`'s change, stopped by `ada`.
async fn stopped(on: &Rehearsal) -> u64 {
    let number = proposes(on, "work").await;
    on.says("ada", number, "/stop it leaks").await.unwrap();
    number
}

/// EXPAND has failed three times.
async fn blocked(on: &Rehearsal) -> u64 {
    let number = proposes(on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    for text in ["1", "2", "3"] {
        on.pushes("rover", "work", "try", &[("src/try.py", text)]).await.unwrap();
        on.says("rover", number, "/expand").await.unwrap();
    }
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:blocked"));
    number
}

fn body(issue: &Issue) -> String {
    issue.body.clone().unwrap_or_default()
}

/// Whoever can write can put any marker into any issue. One answer is then still one change's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_issue_of_one_change_does_not_become_anothers_by_its_marker() {
    for bot in [Bot::Server, Bot::Action] {
        let on = Rehearsal::start(Setup { bot, ..Setup::with_policy(MERGE_POLICY) }).await.unwrap();
        let mut changes = Vec::new();
        for name in ["one", "two"] {
            let file = format!("src/{name}.py");
            on.pushes("rover", name, name, &[(file.as_str(), "pass\n")]).await.unwrap();
            changes.push(on.opens("rover", name, name).await.unwrap());
        }
        on.says("mia", changes[0], "/stop it looks odd").await.unwrap();
        let first = asked(&on);
        let markers: String =
            (1..40).map(|seq| format!("\n<!-- phasegate:escalation:{}:{seq} -->", changes[1])).collect();
        let body = format!("{}{markers}", first.body.unwrap());
        let path = format!("/repos/{REPO}/issues/{}", first.number);
        on.admin().quiet().call_as("rover", "PATCH", &path, json!({ "body": body })).unwrap();
        on.says("mia", changes[1], "/stop it leaks the key").await.unwrap();
        let issues = on.escalations().unwrap();
        assert!(issues.len() == 2 && issues[1].open, "{bot:?}: each is asked about in its own: {issues:#?}");
        on.says("mia", first.number, "/unblock it is only odd").await.unwrap();
        assert!(!on.status_comment(changes[0]).unwrap().body.contains("stopped"), "{bot:?}");
        assert!(on.status_comment(changes[1]).unwrap().body.contains("it leaks the key"), "{bot:?}");
        assert_merge(&on, changes[1], "failure");
        on.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_gate_is_asked_about_in_one_issue_and_answered_there() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = blocked(&on).await;
    let issue = asked(&on);
    assert_eq!(issue.title, format!("Phasegate: #{number} is blocked at EXPAND"));
    assert_eq!(on.admin().labels(REPO, issue.number).unwrap(), ["phasegate:escalation"]);
    let text = body(&issue);
    for words in [
        "**BLOCKED:** EXPAND failed 3 times",
        "`EXP-01`",
        "What went wrong",
        "`/resolve C REASON`",
        "(A) `APPROVE_OVERRIDE`: with",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains('@'), "nobody is mentioned: {text}");
    let link = format!("#{}", issue.number);
    assert!(on.merge_run(number).unwrap().summary.unwrap().contains(&format!("It is asked in {link}.")));
    assert!(on.status_comment(number).unwrap().body.contains(&format!("**Asked in {link}**")));
    assert_eq!(count(&on, number, "escalated"), 1);

    // Neither a reader, nor the agent, nor somebody without the role answers.
    for (login, rule) in [("rover", "CMD-02"), ("ada", "CMD-02")] {
        on.says(login, issue.number, "/unblock please").await.unwrap();
        let said = on.bot_comments(issue.number).unwrap().pop().unwrap();
        assert!(said.starts_with(&format!("`{rule}`")), "{said}");
    }
    let before = on.bot_comments(issue.number).unwrap().len();
    on.says("eve", issue.number, "/resolve A let it through").await.unwrap();
    assert_eq!(on.bot_comments(issue.number).unwrap().len(), before, "a reader gets no answer");
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:blocked"));

    let answer = on.says("mia", issue.number, "/resolve A the scope is clear now").await.unwrap();
    assert_eq!(on.reactions(answer).unwrap(), ["eyes", "rocket"]);
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:expand"));
    let after = on.escalations().unwrap().remove(0);
    assert!(!after.open && after.state_reason.as_deref() == Some("completed"), "{after:#?}");
    let said = on.bot_comments(issue.number).unwrap();
    let last = said.last().unwrap();
    assert!(last.starts_with(&format!("`mia` let #{number} go on: `the scope is clear now`. (Record ")), "{last}");
    assert_eq!(said.iter().filter(|one| one.contains("let #")).count(), 1);
    // Told again, nothing is written.
    on.admin().clear_log();
    on.says("eve", number, "Fine.").await.unwrap();
    on.says("eve", issue.number, "Fine.").await.unwrap();
    assert!(on.writes().is_empty(), "{:?}", on.writes());

    // The ledger is whole, and the issue's number leads to it.
    let mut command = cargo_bin_cmd!("phasegate");
    command.env_clear().env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
    command.env("GITHUB_API_URL", on.api_url());
    let output = command.args(["replay", &issue.number.to_string(), "--github", REPO, "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["verdict"].as_str(), report["change"].as_u64()), (Some("PASS"), Some(number)), "{report:#}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_is_answered_on_the_pull_request_too_and_whoever_is_named_is_mentioned() {
    let policy = format!("{MERGE_POLICY}people: {{ escalate: [\"@octo-org/leads\"] }}\n");
    let on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    let number = stopped(&on).await;
    let issue = asked(&on);
    assert!(body(&issue).contains("`ada` stopped") && body(&issue).contains(" @octo-org/leads\n"), "{}", body(&issue));
    assert_merge(&on, number, "failure");
    on.says("mia", number, "/unblock it is tight").await.unwrap();
    assert!(!on.escalations().unwrap()[0].open);
    // Another stop is another issue.
    on.says("ada", number, "/stop it leaks again").await.unwrap();
    let issues = on.escalations().unwrap();
    assert_eq!(issues.iter().map(|issue| issue.open).collect::<Vec<_>>(), [false, true]);
    // What is over is not answered where it was asked.
    on.says("mia", issues[0].number, "/resolve A once more").await.unwrap();
    let said = on.bot_comments(issues[0].number).unwrap().pop().unwrap();
    assert!(said.starts_with("`CMD-03`") && said.contains("`mia` let it go on"), "{said}");
    assert!(
        said.contains(&format!(
            "Another stop is open. Answer it in #{}, for example, with your own words in it:",
            issues[1].number
        )),
        "{said}"
    );
    assert!(on.escalations().unwrap()[1].open);
    on.end().await;
}

/// Everything is told again, under other names.
async fn told_again(on: &Rehearsal, round: &str) {
    on.admin().clear_log();
    for (at, delivery) in on.deliveries().iter().enumerate() {
        let body = delivery.payload.to_string().into_bytes();
        let status = on.posts(&delivery.event, &format!("{round}-{at}"), body).await.unwrap();
        assert!(status == 200 || status == 202, "{}: {status}", delivery.event);
    }
    on.settle().await.unwrap();
    assert!(on.writes().is_empty(), "{round}: {:?}", on.writes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn told_again_nothing_is_opened_closed_or_said_twice() {
    let on = merge_flow().await;
    let number = stopped(&on).await;
    let issue = asked(&on);
    told_again(&on, "open").await;
    on.says("mia", issue.number, "/resolve A fine").await.unwrap();
    told_again(&on, "ended").await;
    on.says("ada", number, "/stop it leaks again").await.unwrap();
    let second = on.escalations().unwrap().pop().unwrap();
    on.says("mia", second.number, "/resolve C enough").await.unwrap();
    told_again(&on, "given up").await;
    assert_eq!(on.escalations().unwrap().len(), 2);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stepped_wait_is_ended_from_its_issue() {
    let on = Rehearsal::start(Setup::with_policy(&format!("{PIPELINE_POLICY}mode: stepped\n"))).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let head = on.pushes("rover", "work", "scope", &papers::of("scaffolding/scope.md")).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.says("rover", number, "/expand").await.unwrap();
    let issue = asked(&on);
    assert_eq!(issue.title, format!("Phasegate: #{number} waits before DESIGN"));
    on.says("ada", issue.number, "/continue").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:design"));
    assert!(!on.escalations().unwrap()[0].open);
    let last = on.bot_comments(issue.number).unwrap().pop().unwrap();
    assert!(last.starts_with(&format!("`ada` let #{number} go on. (Record ")), "{last}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn giving_up_closes_the_pull_request() {
    let on = merge_flow().await;
    let number = stopped(&on).await;
    let issue = asked(&on);
    on.says("mia", issue.number, "/resolve C nobody needs it").await.unwrap();
    assert_eq!(on.pull(number).unwrap()["state"], "closed");
    assert_eq!(
        kinds(&on, number).iter().rfind(|kind| ["given_up", "closed"].contains(&kind.as_str())).unwrap(),
        "closed"
    );
    let after = on.escalations().unwrap().remove(0);
    assert!(!after.open && after.state_reason.as_deref() == Some("not_planned"), "{after:#?}");
    assert!(on.status_comment(number).unwrap().body.contains("`mia` gave it up (`nobody needs it`)"));
    // Taken up again, it is stopped as it was, and asked in the same issue.
    on.does("rover", "PATCH", &format!("/pulls/{number}"), json!({ "state": "open" })).await.unwrap();
    assert_eq!(asked(&on).number, issue.number);
    assert_eq!(on.pull(number).unwrap()["state"], "open");
    on.says("mia", issue.number, "/resolve A we do after all").await.unwrap();
    assert!(!on.escalations().unwrap()[0].open);
    let said = on.bot_comments(issue.number).unwrap();
    assert_eq!(said.iter().filter(|one| one.contains("(Record ")).count(), 2, "each end has its word: {said:#?}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_issue_that_is_edited_closed_or_deleted_is_put_right() {
    let on = merge_flow().await;
    let number = stopped(&on).await;
    let issue = asked(&on);
    let path = format!("/issues/{}", issue.number);
    let noted = |words: &str| {
        let shown = on.status_comment(number).unwrap().body;
        assert!(shown.contains(words), "{words}\n{shown}");
    };
    on.does("ada", "PATCH", &path, json!({ "body": "All is well." })).await.unwrap();
    assert_eq!(body(&asked(&on)), body(&issue));
    noted(&format!("ada edited the escalation issue #{}; it was put right.", issue.number));
    on.does("ada", "PATCH", &path, json!({ "title": "Nothing" })).await.unwrap();
    assert_eq!(asked(&on).title, issue.title);
    on.does("ada", "PATCH", &path, json!({ "state": "closed" })).await.unwrap();
    assert_eq!(asked(&on).number, issue.number);
    noted(&format!("ada closed the escalation issue #{}; it was put right.", issue.number));
    on.takes_label("tim", issue.number, "phasegate:escalation").await.unwrap();
    assert_eq!(on.admin().labels(REPO, issue.number).unwrap(), ["phasegate:escalation"]);
    on.deletes_issue("root", issue.number).await.unwrap();
    let anew = asked(&on);
    assert_ne!(anew.number, issue.number);
    noted(&format!("root deleted the escalation issue #{}; it was put right.", issue.number));
    assert!(on.status_comment(number).unwrap().body.contains(&format!("**Asked in #{}**", anew.number)));
    assert_eq!((count(&on, number, "escalated"), count(&on, number, "tampered")), (2, 5));
    on.says("mia", anew.number, "/resolve A enough").await.unwrap();
    assert!(!on.escalations().unwrap()[0].open);
    // After its end it is anybody's.
    on.does("ada", "PATCH", &format!("/issues/{}", anew.number), json!({ "body": "It was nothing." })).await.unwrap();
    assert_eq!(count(&on, number, "tampered"), 5);
    // And what people do to their own issues costs nothing.
    let other = on.files_issue("ada", "The lamp").await.unwrap();
    on.admin().clear_log();
    on.does("ada", "PATCH", &format!("/issues/{other}"), json!({ "state": "closed" })).await.unwrap();
    assert!(on.requests().is_empty(), "{:?}", on.requests());
    on.end().await;
}

/// The bot died when the issue was opened, and no record says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_between_the_issue_and_its_record_opens_no_second_one() {
    let mut on = merge_flow().await;
    on.admin().set_issues(REPO, false).unwrap();
    let number = stopped(&on).await;
    on.admin().set_issues(REPO, true).unwrap();
    let seq = kinds(&on, number).iter().position(|kind| kind == "stopped").unwrap() + 1;
    let half = json!({
        "title": "half", "labels": ["phasegate:escalation"],
        "body": format!("half\n\n<!-- phasegate:escalation:{number}:{seq} -->"),
    });
    let path = format!("/repos/{REPO}/issues");
    let made = on.admin().call_as_app(on.app().id, REPO, "POST", &path, half).unwrap();
    on.says("eve", number, "Hm.").await.unwrap();
    let issue = asked(&on);
    assert_eq!(Some(issue.number), made["number"].as_u64(), "it is found by its marker");
    assert!(body(&issue).contains("\n**BLOCKED:** `ada` stopped"), "{}", body(&issue));
    assert_eq!(count(&on, number, "escalated"), 1);

    // A lost database loses nothing: the issue is known by the record, and what it shows is still what it showed.
    on.admin().clear_log();
    on.loses_its_database().await.unwrap();
    on.says("mia", issue.number, "/resolve A found it").await.unwrap();
    let after = on.escalations().unwrap();
    assert_eq!((after.len(), after[0].open), (1, false), "{after:#?}");
    assert!(on.bot_comments(issue.number).unwrap().last().unwrap().starts_with("`mia` let #"));
    on.loses_its_database().await.unwrap();
    let said = on.bot_comments(issue.number).unwrap().len();
    on.says("tim", number, "/status").await.unwrap();
    assert_eq!(on.bot_comments(issue.number).unwrap().len(), said, "what was said is found");
    assert_eq!(on.escalations().unwrap().len(), 1);
    on.end().await;
}

/// Somebody else's issue with the very marker is not ours, and what is said on it is said nowhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_marker_is_not_taken_for_ours() {
    let mut on = merge_flow().await;
    let number = stopped(&on).await;
    let issue = asked(&on);
    let forged = on.files_issue("ada", &issue.title).await.unwrap();
    on.does("ada", "PATCH", &format!("/issues/{forged}"), json!({ "body": body(&issue) })).await.unwrap();
    on.puts_label("ada", forged, "phasegate:escalation").await.unwrap();
    on.loses_its_database().await.unwrap();
    on.deletes_issue("root", issue.number).await.unwrap();
    on.says("tim", number, "/status").await.unwrap();
    let anew = asked(&on);
    assert!(anew.number != forged && anew.number != issue.number);
    on.admin().clear_log();
    on.says("mia", forged, "/resolve A fine").await.unwrap();
    assert!(on.writes().is_empty(), "{:?}", on.writes());
    assert!(asked(&on).open);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_issues_it_is_asked_in_the_comment() {
    let on = merge_flow().await;
    on.admin().set_issues(REPO, false).unwrap();
    let number = stopped(&on).await;
    assert!(on.escalations().unwrap().is_empty());
    let shown = on.status_comment(number).unwrap().body;
    assert!(shown.contains("_Issues are disabled in this repository") && shown.contains("**Options**"), "{shown}");
    on.admin().clear_log();
    on.says("eve", number, "Hm.").await.unwrap();
    assert!(on.writes().is_empty(), "{:?}", on.writes());
    // Switched on again, the next look asks.
    on.admin().set_issues(REPO, true).unwrap();
    on.says("eve", number, "Hm.").await.unwrap();
    let issue = asked(&on);
    assert!(!on.status_comment(number).unwrap().body.contains("**Options**"));
    on.says("mia", issue.number, "/resolve A fine").await.unwrap();
    assert!(!on.escalations().unwrap()[0].open);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observing_opens_no_issue() {
    let on = Rehearsal::start(Setup::with_policy(&format!("{MERGE_POLICY}enforce: observe\n"))).await.unwrap();
    let number = stopped(&on).await;
    assert!(on.escalations().unwrap().is_empty());
    assert!(on.status_comment(number).unwrap().body.contains("_Observing only: no issue is opened for this._"));
    on.end().await;
}
