//! Stories of the real server on the twin: real git, real HTTP, real signatures, a real database.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

mod action;
mod after_ci;
mod artefact;
mod audited;
mod build;
mod buttons;
mod commands;
mod copies;
mod deploy;
mod endurance;
mod evidence;
mod freeze;
mod heals;
mod identity;
mod incidents;
mod installation;
mod ledger_branch;
mod memory;
mod own_runner;
mod page;
mod playground;
mod queue;
mod reconcile;
mod resolutions;
mod rest_only;
mod review;
mod rivals;
mod server;
mod silence;
mod stepped;
mod stops;
mod surface;
mod tampering;
mod task;
#[path = "../support/trusted.rs"]
mod trusted;
mod way;

use phasegate::rehearsal::{MERGE_POLICY, Rehearsal, Setup};

/// A stage with the policy for the merge flow.
pub(crate) async fn merge_flow() -> Rehearsal {
    Rehearsal::start(Setup::with_policy(MERGE_POLICY)).await.unwrap()
}

/// `rover` proposes one file on a branch of that name, into `main`.
pub(crate) async fn proposes(on: &Rehearsal, branch: &str) -> u64 {
    // Of one second, one message and one content git makes one commit.
    let message = format!("work on {branch}");
    on.pushes("rover", branch, &message, &[("src/lamp.py", "def shine():\n    return 10\n")]).await.unwrap();
    on.opens("rover", "Shine", branch).await.unwrap()
}

/// CI is green on the head and `mia` approves it.
pub(crate) async fn proves(on: &Rehearsal, number: u64) {
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
}

/// A change that may merge.
pub(crate) async fn green(on: &Rehearsal, branch: &str) -> u64 {
    let number = proposes(on, branch).await;
    proves(on, number).await;
    assert_merge(on, number, "success");
    number
}

#[track_caller]
pub(crate) fn assert_merge(on: &Rehearsal, number: u64, conclusion: &str) {
    let run = on.merge_run(number).unwrap();
    assert_eq!(run.conclusion.as_deref(), Some(conclusion), "{:?}: {:?}", run.title, run.summary);
}

/// What the merge check tells.
pub(crate) fn merge_says(on: &Rehearsal, number: u64) -> String {
    let run = on.merge_run(number).unwrap();
    [run.title, run.summary, run.text].into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The body of a record, by its kind.
pub(crate) fn kinds(on: &Rehearsal, number: u64) -> Vec<String> {
    let records = on.records(number).unwrap();
    records.iter().map(|record| kind(record).unwrap_or_default()).collect()
}

fn kind(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Object(fields) => match fields.get("kind").and_then(|kind| kind.as_str()) {
            Some(kind) => Some(kind.to_owned()),
            None => fields.values().find_map(kind),
        },
        _ => None,
    }
}
