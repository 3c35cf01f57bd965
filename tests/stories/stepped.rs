//! Stepped mode, and a change that is blocked.

use phasegate::rehearsal::{PIPELINE_POLICY, Rehearsal, Setup, papers};

use super::{assert_merge, proposes};

async fn writes(on: &Rehearsal, path: &str) {
    let mut files = papers::of(path);
    // What is written by the end of the documents is built.
    files.extend(papers::CODE.into_iter().filter(|_| path == "scaffolding/readiness.md"));
    let head = on.pushes("rover", "work", path, &files).await.unwrap();
    on.ci(&head, "success").await.unwrap();
}

#[track_caller]
fn assert_label(on: &Rehearsal, number: u64, label: &str) {
    assert_eq!(on.label(number).unwrap().as_deref(), Some(label));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stepped_mode_pauses_after_each_gate_until_a_person_says_continue() {
    let on = Rehearsal::start(Setup::with_policy(&format!("{PIPELINE_POLICY}mode: stepped\n"))).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    assert_label(&on, number, "phase:expand");
    let phases = [
        ("expand", "scaffolding/scope.md", "design"),
        ("design", "scaffolding/design.md", "analyze"),
        ("analyze", "scaffolding/readiness.md", "build"),
    ];
    for (phase, path, next) in phases {
        writes(&on, path).await;
        // Green, and yet nothing counts before it is claimed.
        assert_label(&on, number, &format!("phase:{phase}"));
        on.says("rover", number, &format!("/{phase}")).await.unwrap();
        assert_label(&on, number, "phase:paused");
        // The work can't go round the pause.
        on.says("rover", number, &format!("/{next}")).await.unwrap();
        assert_label(&on, number, "phase:paused");
        let asked = on.says("tim", number, "/continue").await.unwrap();
        assert_eq!(on.reactions(asked).unwrap(), ["eyes", "confused"]);
        assert_label(&on, number, "phase:paused");
        on.says("ada", number, "/continue").await.unwrap();
        assert_label(&on, number, &format!("phase:{next}"));
    }
    on.says("rover", number, "/build").await.unwrap();
    on.says("ada", number, "/continue").await.unwrap();
    assert_label(&on, number, "phase:review");
    on.reviews("mia", number, "APPROVE").await.unwrap();
    on.says("ada", number, "/review").await.unwrap();
    assert_label(&on, number, "phase:paused");
    assert_merge(&on, number, "action_required");
    on.says("ada", number, "/continue").await.unwrap();
    on.says("ada", number, "/reconcile").await.unwrap();
    for _ in 0..2 {
        if on.label(number).unwrap().as_deref() == Some("phase:paused") {
            on.says("ada", number, "/continue").await.unwrap();
        }
    }
    assert_label(&on, number, "phase:verify");
    on.says("rover", number, "/verify").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_claimed_failures_block_until_a_person_unblocks() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    // Pushes that are red count for nothing.
    for text in ["1", "2", "3", "4"] {
        on.pushes("rover", "work", "wip", &[("src/wip.py", text)]).await.unwrap();
    }
    assert_label(&on, number, "phase:expand");
    for claim in 1..=3 {
        assert_label(&on, number, "phase:expand");
        on.says("rover", number, "/expand").await.unwrap();
        if claim < 3 {
            on.pushes("rover", "work", "try", &[("src/try.py", &format!("{claim}\n"))]).await.unwrap();
        }
    }
    assert_label(&on, number, "phase:blocked");
    assert_merge(&on, number, "failure");
    let body = on.status_comment(number).unwrap().body;
    assert!(body.contains("BLOCKED: expand failed 3 times.") && body.contains("Options: (A)"), "{body}");

    // Neither the agent nor its driver opens that door.
    for login in ["rover", "ada"] {
        on.says(login, number, "/unblock please").await.unwrap();
        assert_label(&on, number, "phase:blocked");
    }
    on.says("mia", number, "/unblock").await.unwrap();
    assert_label(&on, number, "phase:blocked");
    on.says("mia", number, "/unblock the scope is clear now").await.unwrap();
    assert_label(&on, number, "phase:expand");
    // What failed three times in a row is looked at by somebody who does not build it.
    writes(&on, "scaffolding/scope.md").await;
    assert_label(&on, number, "phase:expand");
    on.says("ada", number, super::memory::REPORT).await.unwrap();
    on.says("ada", number, "/audit promote F-0003").await.unwrap();
    assert_label(&on, number, "phase:design");
    on.end().await;
}

/// A push is looked at, not judged: what its document lacks is shown at its line and counts for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_shows_what_a_document_lacks_at_its_line() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let scope = papers::SCOPE.replace("$0 a month.", "a little");
    let files = [("scaffolding/scope.md", scope.as_str()), ("scaffolding/log.md", papers::LOG)];
    let head = on.pushes("rover", "work", "scope", &files).await.unwrap();
    let run = on.run(&head, "phasegate/expand").unwrap().unwrap();
    let places: Vec<String> = run
        .annotations
        .iter()
        .map(|note| format!("{} {}:{}", note["title"], note["path"], note["start_line"]))
        .collect();
    let wanted = ["\"EXP-07\" \"scaffolding/scope.md\":29", "\"goal_not_auto_ready\" \"scaffolding/scope.md\":1"];
    assert_eq!(places, wanted, "{:?}", run.annotations);
    assert_label(&on, number, "phase:expand");
    // Documents pass by themselves: nobody waits for CI.
    on.pushes("rover", "work", "scope", &papers::of("scaffolding/scope.md")).await.unwrap();
    assert_label(&on, number, "phase:design");
    on.end().await;
}
