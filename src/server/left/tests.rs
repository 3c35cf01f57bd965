use std::io::{Cursor, Write as _};

use serde_json::{Value, json};

use super::super::proof::tests::{home, honest, run_of};
use super::*;
use crate::ledger::state::Asked;
use crate::policy::Start;

fn run(asked: &Asked) -> WorkflowRun {
    serde_json::from_value(run_of(asked)).unwrap()
}

fn artifact() -> Value {
    json!({
        "id": 9, "name": NAME, "size_in_bytes": 2000, "expired": false, "created_at": "2026-01-02T03:09:05Z",
        "workflow_run": { "id": 42, "repository_id": 7, "head_repository_id": 7, "head_branch": "main",
            "head_sha": "a".repeat(40) },
    })
}

fn read(told: Value) -> Artifact {
    serde_json::from_value(told).unwrap()
}

#[test]
fn the_one_artefact_of_the_newest_attempt_is_taken() {
    let (_, _, asked) = honest();
    let run = run(&asked);
    let good = [read(artifact())];
    assert_eq!(the_one(&good, &run, RepoId(7)).unwrap(), Some(&good[0]));
    assert_eq!(the_one(&[], &run, RepoId(7)), Ok(None));
    let two = [read(artifact()), read(artifact())];
    assert_eq!(the_one(&two, &run, RepoId(7)).unwrap_err().name(), "several_artefacts");
}

#[test]
fn of_any_other_it_is_said_what_is_wrong() {
    let (_, _, asked) = honest();
    let run = run(&asked);
    for (at, value, name) in [
        ("/workflow_run", Value::Null, "other_artefact"),
        ("/workflow_run/id", json!(41), "other_artefact"),
        ("/workflow_run/head_sha", json!("b".repeat(40)), "other_artefact"),
        ("/workflow_run/head_branch", json!("work"), "other_artefact"),
        ("/workflow_run/repository_id", json!(8), "other_artefact"),
        ("/workflow_run/head_repository_id", json!(8), "other_artefact"),
        ("/created_at", json!("2026-01-02T03:04:04Z"), "other_artefact"),
        ("/created_at", Value::Null, "other_artefact"),
        ("/expired", json!(true), "gone"),
        ("/size_in_bytes", json!(LARGEST_ARCHIVE + 1), "large_archive"),
    ] {
        let mut told = artifact();
        *told.pointer_mut(at).unwrap() = value;
        let refused = the_one(&[read(told)], &run, RepoId(7)).unwrap_err();
        assert_eq!(refused.name(), name, "{at}: {refused}");
    }
    let begun = WorkflowRun { run_started_at: None, ..run };
    assert_eq!(the_one(&[read(artifact())], &begun, RepoId(7)).unwrap_err().name(), "other_artefact");
}

fn packed(log: &str) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("execution_log.json", zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(log.as_bytes()).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn a_log_that_was_left_is_judged_as_one_that_was_posted() {
    let (mut log, policy, asked) = honest();
    let (home, mut run) = (home(), run(&asked));
    let told = log.run.clone().unwrap();
    (run.id, run.run_attempt) = (told.id, u64::from(told.attempt));
    log.subject.repository = Some(home.slug.clone());
    let asking = Asking { home: &home, change: 3, asked: &asked, start: Start::App, frozen: false };
    let archive = packed(&log.text().unwrap());
    let with = |digest: Option<String>| Artifact { digest, ..read(artifact()) };
    let sum = format!("sha256:{}", Digest::of(&archive));
    for known in [None, Some(sum), Some("md5:0".to_owned())] {
        let found = answer(asking, (&policy, None), &run, &with(known), &archive).unwrap();
        assert_eq!((found.ran.log.clone(), found.by.run), (Digest::of(&*found.log), run.id));
        assert_eq!(found.by.workflow, format!("octo/garden/{}@refs/heads/main", asked.workflow));
    }
    let name = |run: &WorkflowRun, digest: Option<String>, bytes: &[u8]| {
        answer(asking, (&policy, None), run, &with(digest), bytes).unwrap_err().name()
    };
    assert_eq!(name(&run, Some(format!("sha256:{}", "0".repeat(64))), &archive), "other_artefact");
    assert_eq!(name(&run, None, b"{}"), "no_archive");
    assert_eq!(name(&run, None, &packed("{}")), "unreadable_log");
    // Of another run, or of another attempt.
    assert_eq!(name(&WorkflowRun { id: run.id + 1, ..run.clone() }, None, &archive), "unreadable_log");
    assert_eq!(
        name(&WorkflowRun { run_attempt: run.run_attempt + 1, ..run.clone() }, None, &archive),
        "unreadable_log"
    );
    log.subject.uncommitted = true;
    assert_eq!(name(&run, None, &packed(&log.text().unwrap())), "other_content");
}
