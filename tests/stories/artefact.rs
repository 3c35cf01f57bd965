//! Evidence from the trusted workflow where nothing stays that it could answer: what a run left is fetched by the next look.

use std::io::{Cursor, Write as _};

use assert_cmd::cargo::cargo_bin_cmd;
use phasegate::rehearsal::{Bot, LEDGER, REPO, Rehearsal, Setup};
use phasegate::twin::{Effect, Fault};
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::evidence::{DIM, bodies, proposes, setup};
use super::trusted::{self, Trusted};
use super::{assert_merge, merge_says};

const NAME: &str = "phasegate-verify";

async fn plays() -> Rehearsal {
    Rehearsal::start(Setup { bot: Bot::Action, ..setup() }).await.unwrap()
}

/// An archive as the upload makes it.
fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// What the first job of a run uploads.
pub(crate) fn uploaded(trusted: &Trusted) -> Vec<u8> {
    let read = |name: &str| std::fs::read(trusted.log().join(name)).unwrap();
    packed(&[("evidence.html", &read("evidence.html")), ("execution_log.json", &read("execution_log.json"))])
}

/// The run has left this, and ends.
pub(crate) async fn leaves(on: &Rehearsal, run: u64, bytes: &[u8], conclusion: &str) {
    on.admin().artifact(REPO, run, NAME, bytes).unwrap();
    on.admin().end_run(REPO, run, conclusion).unwrap();
    on.settle().await.unwrap();
}

fn replays(on: &Rehearsal, number: u64) -> Value {
    let mut command = cargo_bin_cmd!("phasegate");
    command.env_clear().env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
    command.env("GITHUB_API_URL", on.api_url());
    let output = command.args(["replay", &number.to_string(), "--github", REPO, "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_merges_on_what_a_run_has_left() {
    let on = plays().await;
    let number = proposes(&on, "dim", DIM).await;
    assert_merge(&on, number, "action_required");
    let asked = bodies(&on, number, "asked");
    assert_eq!(asked.len(), 1, "{asked:#?}");
    let trusted = Trusted::asked(&on);
    assert_eq!(trusted.input("nonce"), asked[0]["body"]["nonce"]);
    // While it runs, nothing is there to be taken and nothing is asked for twice.
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert!(merge_says(&on, number).contains("phasegate-evidence.yml"), "{}", merge_says(&on, number));
    assert!(trusted.executes(&on).status.success());
    leaves(&on, trusted.run, &uploaded(&trusted), "success").await;

    let ran = bodies(&on, number, "ran");
    assert_eq!(ran.len(), 1, "{ran:#?}");
    assert_eq!((&ran[0]["body"]["tests"], &ran[0]["body"]["findings"]), (&json!(2), &json!([])), "{:#}", ran[0]);
    let by = &ran[0]["by"]["workflow"];
    assert_eq!((&by["run"], &by["attempt"]), (&json!(trusted.run), &json!(1)), "{by:#}");
    assert_eq!(by["workflow"], format!("{REPO}/{}@refs/heads/main", trusted::WORKFLOW));
    let log = ran[0]["body"]["log"].as_str().unwrap();
    let path = format!("changes/0/{number}/evidence/{log}.json");
    let kept = on.admin().file(REPO, LEDGER, &path).unwrap().expect("the log is on the ledger");
    assert_eq!(phasegate::ids::Digest::of(&kept).as_str(), log);

    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    assert_eq!(replays(&on, number)["schema"], "phasegate/replay@1");
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert_eq!(bodies(&on, number, "ran").len(), 1);
    assert_eq!(on.admin().dispatched(REPO, trusted::WORKFLOW).unwrap().len(), 1);
    on.merges("mia", number).await.unwrap().unwrap();
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_red_run_left_holds_it_back() {
    let on = plays().await;
    let number = proposes(&on, "dim", &[("lamp.sh", "level=0\ndim=1\n"), DIM[1]]).await;
    let trusted = Trusted::asked(&on);
    assert_eq!(trusted.executes(&on).status.code(), Some(1));
    leaves(&on, trusted.run, &uploaded(&trusted), "failure").await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "failure");
    assert!(merge_says(&on, number).contains("tests/level.sh"), "{}", merge_says(&on, number));
    // A rerun by hand does not take it back: the nonce was answered.
    on.admin().rerun(REPO, trusted.run, &[("execute", Some("success"))]).unwrap();
    on.settle().await.unwrap();
    assert_merge(&on, number, "failure");
    assert_eq!(bodies(&on, number, "ran").len(), 1);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_was_lost_is_made_good_by_the_schedule() {
    let on = plays().await;
    let number = proposes(&on, "dim", DIM).await;
    let trusted = Trusted::asked(&on);
    trusted.executes(&on);
    // Quiet: no run of the referee is started by it, as if GitHub had cancelled that.
    on.admin().artifact(REPO, trusted.run, NAME, &uploaded(&trusted)).unwrap();
    on.admin().quiet().end_run(REPO, trusted.run, "success").unwrap();
    assert!(bodies(&on, number, "ran").is_empty());
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert_eq!(bodies(&on, number, "ran").len(), 1);
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_that_ends_between_recording_and_showing_is_finished_by_the_next() {
    let on = plays().await;
    let number = proposes(&on, "dim", DIM).await;
    let trusted = Trusted::asked(&on);
    trusted.executes(&on);
    on.reviews("mia", number, "APPROVE").await.unwrap();
    on.admin().artifact(REPO, trusted.run, NAME, &uploaded(&trusted)).unwrap();
    on.admin().quiet().end_run(REPO, trusted.run, "success").unwrap();
    for method in ["PATCH", "POST"] {
        let (method, path_contains) = (Some(method.to_owned()), "/check-runs".to_owned());
        on.admin().inject(Fault { method, path_contains, times: 1000, effect: Effect::Refuse(500) });
    }
    assert!(on.run_on("schedule", &Value::Null).await.is_err());
    assert_eq!(bodies(&on, number, "ran").len(), 1, "it was recorded");
    assert_merge(&on, number, "action_required");
    on.admin().clear_faults();
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert_merge(&on, number, "success");
    assert_eq!(bodies(&on, number, "ran").len(), 1, "once");
    on.end().await;
}

/// What was refused last, by its record.
fn refused(on: &Rehearsal, number: u64) -> (usize, String) {
    let tried = bodies(on, number, "tampered");
    let last = tried.last().map(|one| one["body"]["what"].as_str().unwrap().to_owned());
    (tried.len(), last.unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_what_was_asked_for_is_refused_by_name_and_asked_for_again() {
    let on = plays().await;
    let number = proposes(&on, "dim", DIM).await;
    let first = Trusted::asked(&on);
    first.executes(&on);
    let of_another_run = uploaded(&first);
    // Nothing at all: it was cancelled, or its runner was lost.
    on.admin().end_run(REPO, first.run, "cancelled").unwrap();
    on.settle().await.unwrap();
    let says = merge_says(&on, number);
    let page = format!("{}/{REPO}/actions/runs/{}", on.url(), first.run);
    assert!(says.contains("ended as `cancelled` without an answer") && says.contains(&page), "{says}");
    assert_eq!(refused(&on, number).0, 0);

    let log = |bend: &dyn Fn(&mut Value), trusted: &Trusted| {
        trusted.executes(&on);
        let mut log = trusted.written();
        bend(&mut log);
        packed(&[("execution_log.json", log.to_string().as_bytes())])
    };
    type Leaves<'a> = Box<dyn Fn(&Trusted) -> Vec<u8> + 'a>;
    let main = on.admin().branch(REPO, "main").unwrap().unwrap();
    let cases: [(&str, Leaves<'_>); 9] = [
        ("no_archive", Box::new(|_| b"{}".to_vec())),
        ("no_log", Box::new(|_| packed(&[("evidence.html", b"<p>green</p>")]))),
        ("leads_out", Box::new(|_| packed(&[("../execution_log.json", b"{}"), ("execution_log.json", b"{}")]))),
        ("ambiguous_archive", Box::new(|_| [b"#!/bin/sh\n", of_another_run.as_slice()].concat())),
        ("unpacks_too_large", Box::new(|_| packed(&[("execution_log.json", &vec![b' '; 9 * 1024 * 1024])]))),
        ("unreadable_log", Box::new(|_| of_another_run.clone())),
        ("unreadable_log", Box::new(|run| log(&|log| log["run"]["attempt"] = json!(2), run))),
        ("other_content", Box::new(|run| log(&|log| log["subject"]["checkout"] = json!(main), run))),
        ("other_content", Box::new(|run| log(&|log| log["commands"][0]["command"] = json!("true"), run))),
    ];
    for (at, (name, bytes)) in cases.into_iter().enumerate() {
        on.says("ada", number, "/verify").await.unwrap();
        let trusted = Trusted::asked(&on);
        leaves(&on, trusted.run, &bytes(&trusted), "success").await;
        let (count, what) = refused(&on, number);
        assert_eq!(count, at + 1, "{what}");
        let begins = format!("Evidence of run {} was refused ({name}). ", trusted.run);
        assert!(what.starts_with(&begins) && what.ends_with('.'), "{what}");
        assert!(bodies(&on, number, "ran").is_empty());
        assert_merge(&on, number, "action_required");
        let says = merge_says(&on, number);
        assert!(says.contains(&format!("({name})")) && says.contains("/verify"), "{says}");
        // It is told once, and not fetched again.
        on.admin().clear_log();
        on.run_on("schedule", &Value::Null).await.unwrap();
        assert_eq!(refused(&on, number).0, at + 1);
        let fetched = on.admin().request_log().iter().filter(|one| one.path.contains("/artifacts/")).count();
        assert_eq!(fetched, 0);
        assert!(merge_says(&on, number).contains(&format!("({name})")));
    }

    // The honest one counts all the same.
    on.says("ada", number, "/verify").await.unwrap();
    let honest = Trusted::asked(&on);
    honest.executes(&on);
    leaves(&on, honest.run, &uploaded(&honest), "success").await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_artefact_that_is_not_the_one_of_the_newest_attempt_is_refused() {
    let on = plays().await;
    let number = proposes(&on, "dim", DIM).await;
    type Play<'a> = Box<dyn Fn(&Trusted, &[u8]) + 'a>;
    let admin = on.admin();
    let bent = |trusted: &Trusted, bytes: &[u8], at: &str, value: Value| {
        let id = admin.artifact(REPO, trusted.run, NAME, bytes).unwrap();
        admin.bend_artifact(REPO, id, at, value).unwrap();
    };
    let cases: [(&str, Play<'_>); 6] = [
        (
            "several_artefacts",
            Box::new(|run, bytes| {
                admin.artifact(REPO, run.run, NAME, bytes).unwrap();
                admin.artifact(REPO, run.run, NAME, bytes).unwrap();
            }),
        ),
        (
            "gone",
            Box::new(|run, bytes| {
                let id = admin.artifact(REPO, run.run, NAME, bytes).unwrap();
                admin.expire_artifact(REPO, id).unwrap();
            }),
        ),
        ("other_artefact", Box::new(|run, bytes| bent(run, bytes, "/workflow_run/id", json!(1)))),
        ("other_artefact", Box::new(|run, bytes| bent(run, bytes, "/workflow_run/head_repository_id", json!(1)))),
        (
            "other_artefact",
            Box::new(|run, bytes| bent(run, bytes, "/digest", json!(format!("sha256:{}", "0".repeat(64))))),
        ),
        // It is the first attempt's, and the second has left nothing.
        (
            "other_artefact",
            Box::new(|run, bytes| {
                admin.artifact(REPO, run.run, NAME, bytes).unwrap();
                admin.quiet().end_run(REPO, run.run, "failure").unwrap();
                admin.quiet().rerun(REPO, run.run, &[("execute", None)]).unwrap();
            }),
        ),
    ];
    for (at, (name, play)) in cases.into_iter().enumerate() {
        if at > 0 {
            on.says("ada", number, "/verify").await.unwrap();
        }
        let trusted = Trusted::asked(&on);
        trusted.executes(&on);
        play(&trusted, &uploaded(&trusted));
        admin.end_run(REPO, trusted.run, "success").unwrap();
        on.settle().await.unwrap();
        let (count, what) = refused(&on, number);
        assert_eq!(count, at + 1, "{name}: {what}");
        assert!(what.contains(&format!("({name})")), "{what}");
        assert!(bodies(&on, number, "ran").is_empty());
    }
    assert_merge(&on, number, "action_required");
    on.end().await;
}

/// A run under the title of the one that was asked for, started by somebody else.
async fn poses(on: &Rehearsal, asked: &Trusted, reference: &str, bytes: &[u8]) -> u64 {
    let body = json!({ "ref": reference, "inputs": asked.inputs });
    let path = "/actions/workflows/phasegate-evidence.yml/dispatches";
    on.does("rover", "POST", path, body).await.unwrap();
    let run = on.admin().dispatched(REPO, trusted::WORKFLOW).unwrap().pop().unwrap().0;
    assert_ne!(run, asked.run);
    leaves(on, run, bytes, "success").await;
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_another_file_or_ref_that_bears_the_title_proves_nothing() {
    let on = plays().await;
    let number = proposes(&on, "dim", &[("lamp.sh", "level=0\ndim=1\n"), DIM[1]]).await;
    let asked = Trusted::asked(&on);
    asked.executes(&on);
    // It would be green, and of this content.
    let mut log = asked.written();
    let bent = trusted::FILE.replace("command: run", "command: lie");
    on.pushes("rover", "mine", "my own file", &[(trusted::WORKFLOW, &bent)]).await.unwrap();
    let mine = on.admin().branch(REPO, "mine").unwrap().unwrap();
    // On a branch, and on a tag that is called like the default branch.
    on.does("rover", "POST", "/git/refs", json!({ "ref": "refs/tags/main", "sha": mine })).await.unwrap();
    for (at, reference) in ["mine", "refs/tags/main"].into_iter().enumerate() {
        log["run"]["id"] = json!(asked.run + 1);
        let bytes = packed(&[("execution_log.json", log.to_string().as_bytes())]);
        let run = poses(&on, &asked, reference, &bytes).await;
        let (count, what) = refused(&on, number);
        assert_eq!(count, at + 1, "{what}");
        assert!(what.starts_with(&format!("Evidence of run {run} was refused (other_run). ")), "{what}");
        assert!(bodies(&on, number, "ran").is_empty());
        assert_merge(&on, number, "action_required");
    }
    // A workflow of another name is not looked at at all.
    let other = ".github/workflows/other.yml";
    on.lands("mia", "another workflow", &[(other, &trusted::FILE.replace("phasegate-evidence", "other"))])
        .await
        .unwrap();
    let body = json!({ "ref": "main", "inputs": asked.inputs });
    on.does("rover", "POST", "/actions/workflows/other.yml/dispatches", body).await.unwrap();
    let run = on.admin().dispatched(REPO, other).unwrap().pop().unwrap().0;
    leaves(&on, run, &uploaded(&asked), "success").await;
    assert!(bodies(&on, number, "ran").is_empty());
    assert_eq!(refused(&on, number).0, 2);
    // Behind all of them the real one is found, and it is red.
    leaves(&on, asked.run, &uploaded(&asked), "failure").await;
    assert_eq!(bodies(&on, number, "ran").len(), 1, "{:?}", refused(&on, number));
    assert_merge(&on, number, "failure");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_that_is_not_there_is_told_and_started_when_it_is() {
    let base = setup();
    let on = Rehearsal::start(Setup { bot: Bot::Action, files: base.files[1..].to_vec(), ..setup() }).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    assert!(merge_says(&on, number).contains("could not be started"), "{}", merge_says(&on, number));
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert!(merge_says(&on, number).contains("could not be started"), "{}", merge_says(&on, number));
    on.lands("mia", "the workflow", &[(trusted::WORKFLOW, trusted::FILE)]).await.unwrap();
    on.run_on("schedule", &Value::Null).await.unwrap();
    let asked = Trusted::asked(&on);
    asked.executes(&on);
    leaves(&on, asked.run, &uploaded(&asked), "success").await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_that_ends_between_asking_and_starting_leaves_the_start_to_the_next() {
    let on = plays().await;
    let quiet = on.admin().quiet();
    let files: Vec<(&str, Option<&str>)> = DIM.iter().map(|(path, text)| (*path, Some(*text))).collect();
    quiet.commit(REPO, "rover", "dim", "work", &files).unwrap();
    let number = quiet.open_pull(REPO, "rover", "Dim", "dim", "main").unwrap();
    let (method, path_contains) = (Some("POST".to_owned()), "/dispatches".to_owned());
    on.admin().inject(Fault { method, path_contains, times: 1000, effect: Effect::Refuse(502) });
    assert!(on.run_on("schedule", &Value::Null).await.is_err());
    let runs = || on.admin().dispatched(REPO, trusted::WORKFLOW).unwrap().len();
    assert_eq!((bodies(&on, number, "asked").len(), runs()), (1, 0));
    on.admin().clear_faults();
    for _ in 0..2 {
        on.run_on("schedule", &Value::Null).await.unwrap();
        assert_eq!((bodies(&on, number, "asked").len(), runs()), (1, 1));
    }
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_advice_it_says_which_permission_a_start_takes() {
    let on = Rehearsal::start(Setup { bot: Bot::Advisory, ..setup() }).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    let says = merge_says(&on, number);
    assert!(says.contains("could not be started") && says.contains("Actions: write"), "{says}");
    on.end().await;
}
