//! What is shown is there once and whole, whatever happened on the way.

use std::time::Duration;

use phasegate::rehearsal::{MERGE_POLICY, REPO, Rehearsal, Setup};
use phasegate::twin::{Effect, Fault};
use serde_json::{Value, json};

use super::{assert_merge, proposes, proves};

const GATE: &str = "phasegate/expand";

fn strikes(on: &Rehearsal, method: &str, path: &str, effect: Effect, times: u32) {
    on.admin().inject(Fault { method: Some(method.to_owned()), path_contains: path.to_owned(), effect, times });
}

/// A scope with more findings than GitHub takes in one call, brought while batches of annotations fail.
async fn brings_a_poor_scope(on: &Rehearsal, effect: Effect, times: u32) -> u64 {
    on.everybody_is_patient(true);
    let criteria: String = (0..120).map(|i| format!("- AC-{i}X It is fine.\n")).collect();
    let scope = format!("# Scope\n\n## Problem\n\nDark.\n\n## Acceptance Criteria\n\n{criteria}");
    on.pushes("rover", "work", "work", &[("scaffolding/scope.md", scope.as_str())]).await.unwrap();
    strikes(on, "PATCH", "/check-runs/", effect, times);
    let number = on.opens("rover", "Shine", "work").await.unwrap();
    on.says("ada", number, "/expand").await.unwrap();
    number
}

/// How many annotations each run of the gate has on the head, and how many of them are different ones.
fn annotated(on: &Rehearsal, number: u64) -> Vec<(usize, usize)> {
    let runs = on.admin().check_runs(REPO, &on.head(number).unwrap()).unwrap();
    let counted = |notes: &[Value]| {
        let mut told: Vec<String> = notes.iter().map(Value::to_string).collect();
        told.sort_unstable();
        told.dedup();
        (notes.len(), told.len())
    };
    runs.iter().filter(|run| run.name == GATE).map(|run| counted(&run.annotations)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_cut_off_between_its_annotations_is_finished() {
    let calm = Rehearsal::start(Setup::default()).await.unwrap();
    let number = brings_a_poor_scope(&calm, Effect::Refuse(500), 0).await;
    let whole = annotated(&calm, number);
    assert!(whole.len() == 1 && whole[0].0 > 50 && whole[0].0 == whole[0].1, "{whole:?}");
    calm.end().await;

    // Refused several times over, or done without an answer.
    for effect in [Effect::Refuse(500), Effect::Lose(500)] {
        let on = Rehearsal::start(Setup::default()).await.unwrap();
        let number = brings_a_poor_scope(&on, effect.clone(), 6).await;
        assert_eq!(annotated(&on, number), whole, "{effect:?}");
        on.end().await;
    }
}

/// A kill between two calls, and the loss of all that was remembered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_nobody_remembers_is_finished_too() {
    let mut on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = brings_a_poor_scope(&on, Effect::Refuse(500), u32::MAX).await;
    assert_eq!(annotated(&on, number), [(50, 50)]);
    on.stop_server().await;
    on.admin().clear_faults();
    on.loses_its_database().await.unwrap();
    on.says("ada", number, "/status").await.unwrap();
    let after = annotated(&on, number);
    assert!(after.len() == 1 && after[0].0 > 50 && after[0].0 == after[0].1, "{after:?}");

    // Whole as it is, nothing of it is written again.
    on.admin().clear_log();
    on.says("ada", number, "/status").await.unwrap();
    let runs = on.writes().into_iter().filter(|one| one.path.contains("/check-runs")).map(|one| one.method);
    assert_eq!((annotated(&on, number), runs.filter(|method| method == "POST").count()), (after, 0));
    on.end().await;
}

fn look_of(on: &Rehearsal, name: &str) -> (String, Option<String>) {
    let repo = on.admin().repo(REPO).unwrap();
    let label = repo.labels.values().find(|label| label.name == name).unwrap();
    (label.color.clone(), label.description.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_that_was_deleted_comes_back_as_it_was() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let before = look_of(&on, "phase:expand");
    assert_eq!(before, ("c5def5".to_owned(), Some("The scope is being written".to_owned())));
    on.does("root", "DELETE", "/labels/phase:expand", Value::Null).await.unwrap();
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(
        (on.label(number).unwrap().as_deref(), look_of(&on, "phase:expand")),
        (Some("phase:expand"), before.clone())
    );

    // Also where the pass was cut off when GitHub had made it.
    on.does("root", "DELETE", "/labels/phase:expand", Value::Null).await.unwrap();
    on.puts_label("tim", number, "phase:expand").await.unwrap();
    assert_eq!(look_of(&on, "phase:expand"), before);

    // What people made of it stays.
    on.does("root", "PATCH", "/labels/phase:expand", json!({ "color": "123456" })).await.unwrap();
    on.takes_label("tim", number, "phase:expand").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:expand"));
    assert_eq!(look_of(&on, "phase:expand").0, "123456");

    // That of a stop's issue too.
    const STOP: &str = "phasegate:escalation";
    on.says("ada", number, "/stop it deletes the backups").await.unwrap();
    let (before, first) = (look_of(&on, STOP), on.escalations().unwrap()[0].number);
    assert!(before.1.is_some());
    on.does("root", "DELETE", &format!("/labels/{STOP}"), Value::Null).await.unwrap();
    let other = proposes(&on, "other").await;
    on.says("ada", other, "/stop that one too").await.unwrap();
    let second = on.escalations().unwrap().into_iter().map(|issue| issue.number).max().unwrap();
    assert!(second > first);
    assert_eq!((on.admin().labels(REPO, second).unwrap(), look_of(&on, STOP)), (vec![STOP.to_owned()], before));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_in_another_case_is_the_same_label() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.does("root", "PATCH", "/labels/phase:start", json!({ "new_name": "Phase:Start" })).await.unwrap();
    on.does("root", "POST", "/labels", json!({ "name": "Phase:Verified" })).await.unwrap();
    on.puts_label("tim", number, "Phase:Verified").await.unwrap();
    assert_eq!(on.admin().labels(REPO, number).unwrap(), ["Phase:Start"]);
    let body = on.status_comment(number).unwrap().body;
    assert!(body.contains("to `Phase:Start`, `Phase:Verified`; it was put right."), "{body}");

    on.admin().clear_log();
    on.does("ada", "PATCH", &format!("/pulls/{number}"), json!({ "title": "Shine on" })).await.unwrap();
    let writes: Vec<String> = on.writes().into_iter().map(|one| format!("{} {}", one.method, one.path)).collect();
    assert_eq!(writes, Vec::<String>::new());

    // It goes when its time is over, under the name that it has.
    on.says("ada", number, "/expand").await.unwrap();
    assert_eq!(on.admin().labels(REPO, number).unwrap(), ["phase:expand"]);
    on.end().await;
}

/// Without a permission that only some need, the others are not held up. Whoever needs it reads which one it is, and not that
/// it is still being tried when it is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permission_that_the_app_lacks_is_named_to_those_who_need_it() {
    let policy = format!("{MERGE_POLICY}people: {{ approve: ['@octo-org/leads'] }}\n");
    let on = Rehearsal::start(Setup { lacks: &["members"], ..Setup::with_policy(&policy) }).await.unwrap();
    let number = proposes(&on, "work").await;
    proves(&on, number).await;
    assert_merge(&on, number, "success");
    on.says("root", number, "/reject it leaks").await.unwrap();
    assert_merge(&on, number, "failure");

    let summary = || on.merge_run(number).unwrap().summary.unwrap();
    on.says("ada", number, "/status").await.unwrap();
    on.time_passes(Duration::from_secs(120)).await.unwrap();
    assert_merge(&on, number, "action_required");
    let page = "/blob/main/docs/install.md#1-register-the-app";
    for part in
        ["goes on trying", "it takes the permission Members: read", "give it the permission `Members: read`", page]
    {
        assert!(summary().contains(part), "{part} is missing in: {}", summary());
    }
    assert!(include_str!("../../docs/install.md").contains("\n## 1. Register the App\n"));

    let inbox = on.server().unwrap().inbox().clone();
    while inbox.stats().await.unwrap().dead == 0 {
        on.time_passes(Duration::from_secs(86_400)).await.unwrap();
    }
    for part in ["It tried 8 times and has given up", "`Members: read`", "phasegate inbox retry --all"] {
        assert!(summary().contains(part), "{part} is missing in: {}", summary());
    }
    assert!(!summary().contains("goes on trying"), "{}", summary());
    on.end().await;
}

/// GraphQL does not name what is missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_may_not_be_written_says_what_it_takes() {
    let on = Rehearsal::start(Setup { lacks: &["contents"], ..Setup::with_policy(MERGE_POLICY) }).await.unwrap();
    let number = proposes(&on, "work").await;
    on.time_passes(Duration::from_secs(120)).await.unwrap();
    let summary = on.merge_run(number).unwrap().summary.unwrap();
    for part in ["the ledger can't be read or written", "give it the permission `Contents: write`", "docs/install.md"] {
        assert!(summary.contains(part), "{part} is missing in: {summary}");
    }
    on.end().await;
}
