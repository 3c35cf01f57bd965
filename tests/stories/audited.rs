//! `phasegate audit`, the binary, on ledgers that the bot has written.

use assert_cmd::cargo::cargo_bin_cmd;
use phasegate::rehearsal::workflow::TOKEN;
use phasegate::rehearsal::{Bot, MERGE_POLICY, REPO, Rehearsal, Setup};
use phasegate::twin::Level;
use serde_json::{Value, json};

use super::{green, merge_flow, proposes};

/// What it prints and exits with, as the App; without one, with the workflow's token.
fn audit(on: &Rehearsal, more: &[&str]) -> (i32, Value) {
    let mut command = cargo_bin_cmd!("phasegate");
    command.env_clear().env("GITHUB_API_URL", on.api_url());
    match on.bot() {
        Bot::Advisory => command.env("GITHUB_TOKEN", on.admin().actions_token(REPO, TOKEN).unwrap()),
        Bot::Action | Bot::Server => command.env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem),
    };
    let output = command.args(["audit", "--github", REPO, "--json"]).args(more).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("PRIVATE KEY"), "{said}");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code().unwrap(), report)
}

/// What the workflow of `templates/audit` comes to, which has a token that may read and nothing else.
fn audit_by_token(on: &Rehearsal) -> (i32, Value) {
    audit_reading(on, &["contents", "pull_requests", "checks"])
}

/// What a token comes to that may read so much.
fn audit_reading(on: &Rehearsal, reads: &[&'static str]) -> (i32, Value) {
    let reads: Vec<(&str, Level)> = reads.iter().map(|one| (*one, Level::Read)).collect();
    let mut command = cargo_bin_cmd!("phasegate");
    command.env_clear().env("GITHUB_API_URL", on.api_url());
    command.env("GITHUB_TOKEN", on.admin().actions_token(REPO, &reads).unwrap());
    let output = command.args(["audit", "--github", REPO, "--json"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code().unwrap(), report)
}

/// What was found of a change, in words.
fn says(report: &Value, number: u64) -> Vec<String> {
    let found = report["changes"][number.to_string()].as_array().cloned().unwrap_or_default();
    found.iter().map(|one| one["says"].as_str().unwrap().to_owned()).collect()
}

/// The rules that were found of a change.
fn rules(report: &Value, number: u64) -> Vec<String> {
    let found = report["changes"][number.to_string()].as_array().cloned().unwrap_or_default();
    found.iter().map(|one| one["rule"].as_str().unwrap().to_owned()).collect()
}

/// `rover`'s change with green CI, merged although nobody has approved it.
async fn bypassed(on: &Rehearsal, branch: &str) -> u64 {
    let number = proposes(on, branch).await;
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    on.lifts_the_rules().unwrap();
    on.merges("root", number).await.unwrap().unwrap();
    number
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_went_through_the_gate_is_fine_and_what_went_around_it_is_found() {
    let on = merge_flow().await;
    let fine = green(&on, "work").await;
    on.merges("ada", fine).await.unwrap().unwrap();
    let (code, report) = audit(&on, &[]);
    assert_eq!((code, report["verdict"].as_str()), (0, Some("PASS")), "{report:#}");
    assert_eq!((report["audited"].as_u64(), report["proven"].as_bool()), (Some(1), Some(true)), "{report:#}");

    on.pushes("rover", "dim", "dim", &[("src/dim.py", "pass\n")]).await.unwrap();
    let open = on.opens("rover", "Dim", "dim").await.unwrap();
    on.pushes("rover", "fog", "fog", &[("src/fog.py", "pass\n")]).await.unwrap();
    let past = on.opens("rover", "Fog", "fog").await.unwrap();
    on.ci(&on.head(past).unwrap(), "success").await.unwrap();
    on.lifts_the_rules().unwrap();
    on.merges("root", past).await.unwrap().unwrap();
    let (code, report) = audit(&on, &[]);
    assert_eq!((code, report["verdict"].as_str()), (1, Some("FAIL")), "{report:#}");
    assert_eq!((report["audited"].as_u64(), report["unfinished"].as_u64()), (Some(2), Some(1)), "{report:#}");
    assert_eq!((rules(&report, past), rules(&report, fine)), (vec!["bypassed_gate".to_owned()], Vec::new()));
    assert!(report["changes"][past.to_string()][0]["says"].as_str().unwrap().contains("MRG-02"), "{report:#}");
    // Each by itself; what is open can't be audited.
    assert_eq!(audit(&on, &[&fine.to_string()]).0, 0);
    let mut command = cargo_bin_cmd!("phasegate");
    command.env_clear().env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
    command.env("GITHUB_API_URL", on.api_url()).args(["audit", "--github", REPO, &open.to_string()]);
    command.assert().code(2);
    on.end().await;
}

/// Whoever can write the branch takes the bypass out of its record. They can't sign it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bypass_that_is_taken_out_of_its_record_is_found_all_the_same() {
    let on = merge_flow().await;
    let number = bypassed(&on, "work").await;
    let records = on.records(number).unwrap();
    let at = records.iter().position(|one| one["record"]["body"]["kind"] == "merged").unwrap();
    let path = on.record_path(number, at as u64 + 1);
    let text = on.admin().file(REPO, "phasegate/ledger", &path).unwrap().unwrap();
    let altered = text.replace("\"bypassed\":[\"MRG-02\"]", "\"bypassed\":[]");
    assert_ne!(altered, text);
    on.rewrites_ledger("root", &[(&path, Some(&altered))]).await.unwrap();
    let (code, report) = audit(&on, &[]);
    assert_eq!((code, rules(&report, number)), (1, vec!["malformed_gate_record".to_owned()]), "{report:#}");
    assert_eq!(report["changes"][number.to_string()][0]["path"], path, "{report:#}");
    on.end().await;
}

/// Whoever takes records away leaves a chain that is whole as far as it goes. The merge check has witnessed how far it went.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_were_taken_away_are_found_by_what_github_says() {
    let mut on = merge_flow().await;
    let cut = green(&on, "work").await;
    on.merges("ada", cut).await.unwrap().unwrap();
    on.pushes("rover", "dim", "dim", &[("src/dim.py", "pass\n")]).await.unwrap();
    let gone = on.opens("rover", "Dim", "dim").await.unwrap();
    let (code, report) = audit(&on, &[]);
    assert_eq!((code, &report["audited"], &report["unfinished"]), (0, &1.into(), &1.into()), "{report:#}");
    assert_eq!(report["notes"], json!([]), "nothing is left open");
    assert_eq!(audit_by_token(&on).0, 0);
    // Nobody is there to mend it.
    on.stop_server().await;

    let records = on.records(cut).unwrap();
    let merged = records.iter().position(|one| one["record"]["body"]["kind"] == "merged").unwrap() as u64 + 1;
    let ends: Vec<String> = (merged..=records.len() as u64).map(|seq| on.record_path(cut, seq)).collect();
    let ends: Vec<(&str, Option<&str>)> = ends.iter().map(|path| (path.as_str(), None)).collect();
    let folder = format!("changes/0/{gone}");
    on.rewrites_ledger("root", &ends).await.unwrap();
    on.rewrites_ledger("root", &[(&folder, None)]).await.unwrap();
    on.rewrites_ledger("root", &[("changes/0/999/notes.txt", Some("hello"))]).await.unwrap();
    for (code, report) in [audit(&on, &[]), audit_by_token(&on)] {
        assert_eq!((code, report["verdict"].as_str()), (1, Some("FAIL")), "{report:#}");
        assert_eq!((&report["audited"], &report["unfinished"]), (&0.into(), &1.into()), "{report:#}");
        for number in [cut, gone, 999] {
            assert_eq!(rules(&report, number), ["malformed_gate_record"], "{report:#}");
        }
        let what = format!("Its records are cut off: record {merged}: ");
        assert!(says(&report, cut)[0].starts_with(&what), "{report:#}");
        assert!(says(&report, gone)[0].ends_with("and the ledger has none of them."), "{report:#}");
        assert_eq!(says(&report, 999), ["It has a folder and no records."]);
    }
    for number in [cut, gone] {
        assert_eq!(rules(&audit(&on, &[&number.to_string()]).1, number), ["malformed_gate_record"]);
    }
    // One that may read the ledger and nothing else is told what it can't see.
    let (code, report) = audit_reading(&on, &["contents"]);
    assert_eq!((code, rules(&report, cut), rules(&report, 999).len()), (1, Vec::new(), 1), "{report:#}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("Give the job `pull-requests: read` and `checks: read`"), "{notes}");
    // Where no rule says whose check it is, a token alone does not know, and says so.
    on.lifts_the_rules().unwrap();
    let (code, report) = audit_by_token(&on);
    assert_eq!(
        (code, rules(&report, cut), rules(&report, gone)),
        (1, Vec::new(), Vec::new()),
        "999 is found: {report:#}"
    );
    let notes = report["notes"].as_array().unwrap();
    assert!(
        notes.iter().any(|note| note.as_str().unwrap().contains("Whose check phasegate/merge is ours is not known"))
    );
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_finished_is_proven_too() {
    let mut on = merge_flow().await;
    let number = proposes(&on, "work").await;
    assert_eq!(audit(&on, &[]).1["verdict"], "PASS");
    on.stop_server().await;
    let path = on.record_path(number, 2);
    let text = on.admin().file(REPO, "phasegate/ledger", &path).unwrap().unwrap();
    let altered = text.replace("\"auto\"", "\"manual\"");
    assert_ne!(altered, text);
    on.rewrites_ledger("root", &[(&path, Some(&altered))]).await.unwrap();
    let (code, report) = audit(&on, &[]);
    assert_eq!((code, rules(&report, number)), (1, vec!["malformed_gate_record".to_owned()]), "{report:#}");
    assert!(says(&report, number)[0].starts_with("Its records can't be proved: record 2: "), "{report:#}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_advisory_ledger_proves_nothing_and_a_bypass_on_it_is_still_told() {
    let setup = || Setup { bot: Bot::Advisory, ..Setup::with_policy(MERGE_POLICY) };
    let on = Rehearsal::start(setup()).await.unwrap();
    let fine = green(&on, "work").await;
    on.merges("ada", fine).await.unwrap().unwrap();
    let (code, report) = audit(&on, &[]);
    assert_eq!((code, report["verdict"].as_str(), report["proven"].as_bool()), (3, Some("PASS"), Some(false)));
    on.end().await;

    let on = Rehearsal::start(setup()).await.unwrap();
    let past = bypassed(&on, "work").await;
    let (code, report) = audit(&on, &[]);
    assert_eq!((code, rules(&report, past)), (1, vec!["bypassed_gate".to_owned()]), "{report:#}");
    on.end().await;
}
