//! What is delivered with a deployment.

use phasegate::rehearsal::{CHECK, REPO, Rehearsal, Setup, WORKFLOW, papers};

#[track_caller]
fn assert_label(on: &Rehearsal, number: u64, label: &str) {
    assert_eq!(on.label(number).unwrap().as_deref(), Some(label), "{}", on.status_comment(number).unwrap().body);
}

/// A change that brings this README goes all the way to its merge, and CI is green on that.
async fn merged_with(on: &Rehearsal, readme: &str) -> u64 {
    let mut files: Vec<(&str, &str)> = papers::ALL.into_iter().chain(papers::CODE).collect();
    files.extend([("README.md", readme), ("docs/input/idea.md", "A dimmer would be nice.\n")]);
    let head = on.pushes("rover", "work", "all of it", &files).await.unwrap();
    let number = on.opens("rover", "Add a dimmer", "work").await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.says("ada", number, "/expand").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_label(on, number, "phase:verified");
    let commit = on.merges("ada", number).await.unwrap().unwrap();
    on.admin().workflow_run(REPO, &commit, WORKFLOW, "push", &[(CHECK, Some("success"))]).unwrap();
    on.settle().await.unwrap();
    number
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn papers_that_lack_are_waited_for_and_may_follow_the_merge() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = merged_with(&on, "# Lantern\n\nA small lamp.\n\n## Run the tests\n\n`make test`.\n").await;
    assert_label(&on, number, "phase:deploy");
    let comment = on.status_comment(number).unwrap().body;
    for part in ["⏳ `DEP-05` The section “Setup” is missing.", "The section “Deploy” is missing."] {
        assert!(comment.contains(part), "no {part} in\n{comment}");
    }
    assert!(!comment.contains("DEP-06"), "{comment}");
    // Somebody says that it is done, and is told that it is not.
    on.says("ada", number, "/deploy").await.unwrap();
    let comment = on.status_comment(number).unwrap().body;
    assert!(comment.contains("**DEPLOY: FAIL 1 of 3: the third blocks.**"), "{comment}");
    // What lacks comes to the branch; the next look finds it there.
    on.lands("root", "papers", &[("README.md", papers::README)]).await.unwrap();
    on.says("ada", number, "/deploy").await.unwrap();
    assert_label(&on, number, "phase:complete");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_that_has_its_papers_is_asked_for_nothing() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = merged_with(&on, &papers::README.replace("A small lamp.", "A small lamp that can be dimmed.")).await;
    assert_label(&on, number, "phase:complete");
    on.end().await;
}
