//! What only the bot may write is put right, noted and recorded; a broken ledger stops everything and says where.

use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use phasegate::gate::merge::CHECK_NAME;
use phasegate::ids::ChangeNumber;
use phasegate::ledger::Anchors;
use phasegate::rehearsal::{REPO, Rehearsal, Setup};
use serde_json::{Value, json};

use super::{assert_merge, green, kinds, merge_flow, proposes};

fn tampered(on: &Rehearsal, number: u64) -> usize {
    kinds(on, number).iter().filter(|kind| *kind == "tampered").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_of_the_teams_own_that_begins_like_ours_is_theirs() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.does("root", "POST", "/labels", json!({ "name": "phase:2 rollout", "description": "ours" })).await.unwrap();
    on.puts_label("tim", number, "phase:2 rollout").await.unwrap();
    on.takes_label("tim", number, "phase:2 rollout").await.unwrap();
    assert_eq!(tampered(&on, number), 0);
    on.puts_label("tim", number, "phase:verified").await.unwrap();
    assert_eq!(tampered(&on, number), 1);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_is_put_back_whatever_is_done_to_it() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:start"));

    on.takes_label("tim", number, "phase:start").await.unwrap();
    assert_eq!(on.admin().labels(REPO, number).unwrap(), ["phase:start"]);
    assert_eq!(tampered(&on, number), 1);
    let body = on.status_comment(number).unwrap().body;
    assert!(body.contains("tim changed the label from `phase:start` to none; it was put right."), "{body}");

    on.puts_label("tim", number, "phase:verified").await.unwrap();
    assert_eq!(on.admin().labels(REPO, number).unwrap(), ["phase:start"]);
    assert_eq!(tampered(&on, number), 2);
    let body = on.status_comment(number).unwrap().body;
    assert!(body.contains("to `phase:start`, `phase:verified`; it was put right."), "{body}");

    // Moved, in one go.
    let labels = json!({ "labels": ["phase:complete", "bug"] });
    on.does("tim", "PUT", &format!("/issues/{number}/labels"), labels).await.unwrap();
    assert_eq!(on.admin().labels(REPO, number).unwrap(), ["bug", "phase:start"], "the other label is not ours");
    assert_eq!(tampered(&on, number), 3);

    // A label that is not ours is nobody's business.
    on.takes_label("tim", number, "bug").await.unwrap();
    assert_eq!(tampered(&on, number), 3);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_comment_is_put_back_when_it_is_edited_or_deleted() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let ours = on.status_comment(number).unwrap();
    let path = format!("/issues/comments/{}", ours.id);
    on.does("ada", "PATCH", &path, json!({ "body": "### Phasegate: may merge" })).await.unwrap();
    let after = on.status_comment(number).unwrap();
    assert_eq!(after.id, ours.id);
    assert!(after.body.contains("ada edited this comment; it was put right."), "{}", after.body);
    assert!(after.body.contains("### Phasegate: waiting"), "{}", after.body);
    assert_eq!(tampered(&on, number), 1);

    on.does("ada", "DELETE", &path, Value::Null).await.unwrap();
    let after = on.status_comment(number).unwrap();
    assert_ne!(after.id, ours.id);
    assert!(after.body.contains("ada deleted this comment; it was put right."), "{}", after.body);
    assert_eq!(tampered(&on, number), 2);
    on.end().await;
}

/// People edit their own comments all day. That is no tampering, and costs no write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edited_comment_of_somebody_elses_is_left_alone_and_is_no_command() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let theirs = on.says("mia", number, "Hm.").await.unwrap();
    on.admin().clear_log();
    let body = json!({ "body": "/approve" });
    on.does("mia", "PATCH", &format!("/issues/comments/{theirs}"), body).await.unwrap();
    on.does("mia", "DELETE", &format!("/issues/comments/{theirs}"), Value::Null).await.unwrap();
    assert!(on.writes().is_empty(), "{:?}", on.writes());
    assert_eq!(tampered(&on, number), 0);
    on.end().await;
}

/// The program itself, as the App, on the twin.
fn replay(on: &Rehearsal, number: u64) -> (i32, Value) {
    let mut command = cargo_bin_cmd!("phasegate");
    command.env_clear().env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
    command.env("GITHUB_API_URL", on.api_url());
    let output = command.args(["replay", &number.to_string(), "--github", REPO, "--json"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("PRIVATE KEY"), "{said}");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code().unwrap(), report)
}

fn broken_at(report: &Value) -> (u64, String) {
    let finding = &report["findings"][0];
    assert_eq!(finding["rule"], "MRG-08", "{report:#}");
    (finding["seq"].as_u64().unwrap(), finding["kind"].as_str().unwrap().to_owned())
}

/// The merge check is red by the rule and names the record; nothing is appended whatever happens.
async fn assert_broken(on: &Rehearsal, number: u64, record: &str) {
    assert_merge(on, number, "failure");
    let run = on.merge_run(number).unwrap();
    let summary = run.summary.unwrap();
    assert!(summary.contains("MRG-08") && summary.contains(record), "{summary}");
    let shown = on.status_comment(number).unwrap().body;
    assert!(shown.starts_with("### Phasegate: the ledger can't be trusted\n\n❌ `MRG-08` "), "{shown}");
    let head = on.ledger_head().unwrap();
    let answers = on.bot_comments(number).unwrap().len();
    let said = on.says("mia", number, "/approve").await.unwrap();
    // Where the end is missing, each delivery waits for it first: it might be lag.
    for _ in 0..4 {
        if on.reactions(said).unwrap().is_empty() {
            on.time_passes(Duration::from_secs(120)).await.unwrap();
        }
    }
    assert_eq!(on.reactions(said).unwrap(), ["eyes", "confused"]);
    assert!(on.bot_comments(number).unwrap().len() <= answers + 1, "no more than one answer");
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_eq!(on.ledger_head().unwrap(), head, "something was appended to a broken chain");
    assert!(on.merges("ada", number).await.unwrap().is_err(), "merged on a broken chain");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_altered_or_dropped_record_stops_everything_until_it_is_restored() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let (code, report) = replay(&on, number);
    assert_eq!((code, report["verdict"].as_str()), (0, Some("PASS")), "{report:#}");
    assert_eq!(report["records"].as_u64().unwrap() as usize, on.records(number).unwrap().len());
    let good = on.ledger_head().unwrap().unwrap();

    let path = on.record_path(number, 2);
    let altered = on.admin().file(REPO, "phasegate/ledger", &path).unwrap().unwrap().replace("\"auto\"", "\"manual\"");
    on.rewrites_ledger("root", &[(&path, Some(&altered))]).await.unwrap();
    assert_broken(&on, number, "record 2").await;
    let (code, report) = replay(&on, number);
    assert_eq!((code, broken_at(&report).0), (1, 2), "{report:#}");

    on.moves_ledger("root", &good).await.unwrap();
    assert_merge(&on, number, "success");

    let good = on.ledger_head().unwrap().unwrap();
    let path = on.record_path(number, 3);
    on.rewrites_ledger("root", &[(&path, None)]).await.unwrap();
    assert_broken(&on, number, "record 3").await;
    assert_eq!(broken_at(&replay(&on, number).1).0, 3);

    on.moves_ledger("root", &good).await.unwrap();
    assert_merge(&on, number, "success");
    on.merges("ada", number).await.unwrap().expect("it is whole again");
    on.end().await;
}

/// Nobody is left with an old page before them, and nobody wonders why nothing happens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_ledger_is_said_wherever_people_look() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let before = on.status_comment(number).unwrap();
    let path = on.record_path(number, 2);
    let good = on.admin().file(REPO, "phasegate/ledger", &path).unwrap().unwrap();
    on.rewrites_ledger("root", &[(&path, Some(&good.replace("\"auto\"", "\"manual\"")))]).await.unwrap();

    let shown = on.status_comment(number).unwrap();
    assert_eq!(shown.id, before.id, "it is the same comment");
    for words in [
        "### Phasegate: the ledger can't be trusted",
        "❌ `MRG-08` The ledger can't be trusted: the chain of this change's records is broken at record 2: ",
        "no command is carried out, and it can't merge",
        &format!(
            "`phasegate replay {number} --github {REPO} --branch phasegate/ledger`, with `APP_ID` and `PRIVATE_KEY_PATH` of the App set"
        ),
        &format!("`git log -p phasegate/ledger -- {path}` shows the commit that did it. Revert that one commit"),
        "moving the branch back would take away what other changes have recorded since",
    ] {
        assert!(shown.body.contains(words), "{words}\n{}", shown.body);
    }
    assert!(!shown.body.contains("may merge"), "{}", shown.body);

    let said = on.says("mia", number, "/status").await.unwrap();
    assert_eq!(on.reactions(said).unwrap(), ["eyes", "confused"]);
    let answers = on.bot_comments(number).unwrap();
    let start = format!("`MRG-08` `/status` was not done: the ledger of #{number} is broken at record 2: ");
    assert!(answers.last().unwrap().starts_with(&start), "{answers:?}");
    // Told again, it is not said again; a stranger is told nothing.
    on.admin().clear_log();
    on.says("eve", number, "/status").await.unwrap();
    assert!(on.writes().is_empty(), "{:?}", on.writes());
    let again = on.says("mia", number, "/approve").await.unwrap();
    assert_eq!(on.reactions(again).unwrap(), ["eyes", "confused"]);
    assert_eq!(on.bot_comments(number).unwrap().len(), answers.len(), "once an hour");

    // The one file is put back, as the advice says. Others may have recorded meanwhile.
    let other = proposes(&on, "other").await;
    on.rewrites_ledger("root", &[(&path, Some(&good))]).await.unwrap();
    assert_merge(&on, number, "success");
    let after = on.status_comment(number).unwrap();
    assert!(after.id == before.id && after.body.contains("### Phasegate: may merge"), "{}", after.body);
    assert!(!after.body.contains("put right"), "{}", after.body);
    assert!(!on.records(other).unwrap().is_empty());
    assert_eq!(replay(&on, number).0, 0);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_off_end_is_seen_by_the_anchor() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let good = on.ledger_head().unwrap().unwrap();
    let records = on.records(number).unwrap().len() as u64;
    let last = on.record_path(number, records);
    on.rewrites_ledger("root", &[(&last, None)]).await.unwrap();
    // It might be lag: only when it stays so is it taken for a cut.
    for _ in 0..4 {
        on.time_passes(Duration::from_secs(120)).await.unwrap();
    }
    assert_broken(&on, number, &format!("record {records}")).await;
    let (code, report) = replay(&on, number);
    assert_eq!((code, broken_at(&report)), (1, (records, "cut_off".to_owned())), "{report:#}");

    on.moves_ledger("root", &good).await.unwrap();
    on.time_passes(Duration::from_secs(3600)).await.unwrap();
    assert_merge(&on, number, "success");
    assert_eq!(replay(&on, number).0, 0);
    on.end().await;
}

/// The check of a commit carries the anchors of all pull requests that had it as their head, however many.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_off_end_is_located_on_the_sixth_pull_request_with_one_head() {
    let on = merge_flow().await;
    let mut number = proposes(&on, "work").await;
    for _ in 0..5 {
        on.closes("rover", number).await.unwrap();
        number = on.opens("rover", "Once more", "work").await.unwrap();
    }
    let run = on.merge_run(number).unwrap();
    assert!(run.external_id.unwrap().len() <= 255 && run.title.unwrap().starts_with(&format!("#{number}: ")));
    let records = on.records(number).unwrap().len() as u64;
    for one in [number - 5, number] {
        let (code, report) = replay(&on, one);
        assert_eq!((code, report["verdict"].as_str()), (0, Some("PASS")), "#{one}: {report:#}");
    }
    on.rewrites_ledger("root", &[(&on.record_path(number, records), None)]).await.unwrap();
    let (code, report) = replay(&on, number);
    assert_eq!((code, broken_at(&report)), (1, (records, "cut_off".to_owned())), "{report:#}");
    on.end().await;
}

/// Closed with a head that nobody has looked at: there is no check on it to carry an anchor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_nothing_witnesses_is_not_said_to_be_proved() {
    let mut on = merge_flow().await;
    let number = proposes(&on, "work").await;
    assert_eq!(replay(&on, number).1["verdict"], "PASS");
    on.stop_server().await;
    on.pushes("rover", "work", "more", &[("src/more.py", "pass\n")]).await.unwrap();
    let (code, report) = replay(&on, number);
    assert_eq!((code, report["verdict"].as_str()), (1, Some("UNANCHORED")), "{report:#}");
    assert!(report["notes"][0].as_str().unwrap().contains("It is not anchored"), "{report:#}");
    on.start_server().await.unwrap();
    on.says("tim", number, "/status").await.unwrap();
    assert_eq!(replay(&on, number).1["verdict"], "PASS");
    on.end().await;
}

/// A new head has no anchor of its own yet; the cut shows all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_off_end_is_seen_on_a_new_head_too() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let records = on.records(number).unwrap().len() as u64;
    on.rewrites_ledger("root", &[(&on.record_path(number, records), None)]).await.unwrap();
    let head = on.ledger_head().unwrap();
    on.pushes("rover", "work", "more", &[("src/more.py", "pass\n")]).await.unwrap();
    for _ in 0..4 {
        on.time_passes(Duration::from_secs(120)).await.unwrap();
    }
    assert_eq!(on.ledger_head().unwrap(), head, "something was appended to a chain that was cut");
    assert_merge(&on, number, "failure");
    on.end().await;
}

/// What happens after the merge is recorded too, and its end can't be cut off unseen either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_records_after_the_merge_are_anchored() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let head = on.head(number).unwrap();
    on.merges("ada", number).await.unwrap().expect("it is green");
    let anchor = || {
        let run = on.run(&head, CHECK_NAME).unwrap().unwrap();
        Anchors::read(&run.external_id.unwrap()).of(ChangeNumber(number)).cloned().unwrap()
    };
    assert!(kinds(&on, number).contains(&"merged".to_owned()));
    assert_eq!(anchor().seq, on.records(number).unwrap().len() as u64);
    on.says("mia", number, "/status").await.unwrap();
    assert_eq!(anchor().seq, on.records(number).unwrap().len() as u64);
    assert_merge(&on, number, "success");
    on.end().await;
}
