//! A check belongs to a commit, a pull request to a branch: one commit with two pull requests, other branches, old heads.

use phasegate::gate::merge::CHECK_NAME;
use phasegate::rehearsal::{MERGE_POLICY, REPO, Rehearsal, Setup, papers};
use phasegate::twin::{RequiredCheck, Rule};

use super::{assert_merge, green, kinds, merge_flow, proposes, proves};

#[track_caller]
fn assert_red(on: &Rehearsal, number: u64) {
    let run = on.merge_run(number).unwrap();
    let lets_through = ["success", "neutral", "skipped"].contains(&run.conclusion.as_deref().unwrap_or("none"));
    assert!(!lets_through, "{:?}: {:?}", run.title, run.summary);
}

/// The branch `stable`, protected as the policy asks for it.
pub(super) async fn stable(on: &Rehearsal) {
    on.pushes("root", "stable", "stable", &[("STABLE", "yes\n")]).await.unwrap();
    let check = RequiredCheck { context: CHECK_NAME.to_owned(), integration_id: Some(on.app().id) };
    let rules = vec![Rule::RequiredChecks { checks: vec![check], strict: false }];
    on.admin().add_ruleset(REPO, "stable", &["refs/heads/stable"], rules, Vec::new()).unwrap();
}

/// A stage with a second branch that the policy covers, `stable`.
async fn two_branches() -> Rehearsal {
    let policy = format!("{MERGE_POLICY}branches: [stable]\n");
    let on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    stable(&on).await;
    on
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_commit_is_green_when_it_is_for_every_pull_request() {
    let on = two_branches().await;
    let first = green(&on, "work").await;
    let second = on.opens_into("rover", "Shine on stable", "work", "stable").await.unwrap();
    assert_eq!(on.head(first).unwrap(), on.head(second).unwrap());
    assert_red(&on, first);
    assert!(on.merges("ada", first).await.unwrap().is_err(), "one of two was enough");
    let body = on.status_comment(first).unwrap().body;
    assert!(body.contains("MRG-10") && body.contains(&format!("#{second}")), "{body}");
    let title = on.merge_run(first).unwrap().title.unwrap();
    let whose = [first, second].map(|number| format!("#{number}: "));
    assert!(whose.iter().any(|whose| title.starts_with(whose)), "{title}");
    on.admin().clear_log();
    on.presses("ada", first, "rerun").await.unwrap();
    on.presses("ada", second, "rerun").await.unwrap();
    let again = on.merge_run(first).unwrap().title.unwrap();
    assert!(whose.iter().any(|whose| again.starts_with(whose)), "{again}");
    on.says("eve", first, "Just talk.").await.unwrap();
    on.admin().clear_log();
    on.says("eve", second, "Just talk.").await.unwrap();
    assert!(on.writes().is_empty(), "another look writes nothing: {:?}", on.writes());

    // What ran for the one base is nothing for the other: the second has a run of its own.
    on.ci(&on.head(second).unwrap(), "success").await.unwrap();
    on.reviews("mia", second, "APPROVE").await.unwrap();
    assert_merge(&on, first, "success");
    assert!(on.status_comment(first).unwrap().body.contains("may merge"));
    assert!(on.status_comment(second).unwrap().body.contains("may merge"));
    on.merges("ada", first).await.unwrap().expect("both are green");
    on.end().await;
}

/// What is worst is said, with whose it is, whoever was looked at last; and no longer than it is so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_check_shows_the_worst() {
    let on = two_branches().await;
    let first = green(&on, "work").await;
    let second = on.opens_into("rover", "Shine on stable", "work", "stable").await.unwrap();
    on.says("mia", first, "/stop it leaks the key").await.unwrap();
    let shown = |on: &Rehearsal| on.merge_run(second).unwrap().title.unwrap();
    let stopped = format!("#{first}: May not merge: The change is stopped: it leaks the key");
    assert!(shown(&on).starts_with(&stopped), "{}", shown(&on));
    // The other has news, and they are not as bad.
    on.reviews("tim", second, "COMMENT").await.unwrap();
    on.ci(&on.head(second).unwrap(), "success").await.unwrap();
    on.says("tim", second, "/status").await.unwrap();
    assert!(shown(&on).starts_with(&stopped), "{}", shown(&on));
    on.closes("rover", first).await.unwrap();
    assert!(shown(&on).starts_with(&format!("#{second}: ")), "{}", shown(&on));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_the_rival_frees_the_other() {
    let on = two_branches().await;
    let first = green(&on, "work").await;
    let second = on.opens_into("rover", "Shine on stable", "work", "stable").await.unwrap();
    assert_red(&on, first);
    on.closes("rover", second).await.unwrap();
    assert_merge(&on, first, "success");
    on.reopens("rover", second).await.unwrap();
    assert_red(&on, first);
    on.closes("rover", second).await.unwrap();
    on.merges("ada", first).await.unwrap().expect("nobody is in the way");
    on.end().await;
}

/// The rival moves on to a commit of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rival_that_moves_on_frees_the_other() {
    let on = two_branches().await;
    let first = green(&on, "work").await;
    let head = on.head(first).unwrap();
    on.admin().commit_onto(REPO, "rover", "copy", Some("main"), "start", &[("x", Some("x"))]).unwrap();
    on.force_pushes("rover", "copy", &head).await.unwrap();
    let second = on.opens_into("rover", "Shine on stable", "copy", "stable").await.unwrap();
    assert_red(&on, first);
    on.pushes("rover", "copy", "its own way", &[("src/own.py", "pass\n")]).await.unwrap();
    assert_ne!(on.head(second).unwrap(), head);
    assert_merge(&on, first, "success");
    on.merges("ada", first).await.unwrap().expect("nobody is in the way");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_that_the_policy_does_not_cover_gets_no_green() {
    let on = merge_flow().await;
    on.pushes("root", "soft", "soft", &[("SOFT", "yes\n")]).await.unwrap();
    on.pushes("rover", "work", "work", &[("src/lamp.py", "def shine(): pass\n")]).await.unwrap();
    let number = on.opens_into("rover", "Shine", "work", "soft").await.unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "failure");
    assert!(on.merge_run(number).unwrap().summary.unwrap().contains("MRG-11"));
    on.retargets("rover", number, "main").await.unwrap();
    assert!(!on.merge_run(number).unwrap().summary.unwrap().contains("MRG-11"));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retargeting_starts_the_gates_again() {
    let on = two_branches().await;
    let number = proposes(&on, "work").await;
    on.says("mia", number, "/approve").await.unwrap();
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_merge(&on, number, "success");
    on.retargets("rover", number, "stable").await.unwrap();
    assert_merge(&on, number, "action_required");
    assert!(on.merge_run(number).unwrap().summary.unwrap().contains("MRG-02"), "the approval was for another branch");
    let head = on.head(number).unwrap();
    on.says("mia", number, &format!("/approve {head}")).await.unwrap();
    assert_merge(&on, number, "action_required");
    on.ci(&head, "success").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

/// A review names a commit, and not the branch that it was meant for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_for_one_branch_is_none_for_another() {
    let on = two_branches().await;
    let number = green(&on, "work").await;
    on.retargets("rover", number, "stable").await.unwrap();
    assert_merge(&on, number, "action_required");
    on.reviews("mia", number, "APPROVE").await.unwrap();
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_merge(&on, number, "success");
    on.retargets("rover", number, "main").await.unwrap();
    assert_red(&on, number);
    on.end().await;
}

/// The base moves where the change is: what was reviewed is not what would be merged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_that_moves_under_the_change_makes_its_review_stale() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    on.lands("root", "elsewhere", &[("docs/other.md", "Other.\n")]).await.unwrap();
    assert_merge(&on, number, "success");
    on.lands("root", "the same file", &[("src/lamp.py", "def shine(): return 1\n")]).await.unwrap();
    assert_merge(&on, number, "action_required");
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "action_required");
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

/// In the pipeline the phases begin again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retargeting_starts_the_phases_again() {
    let policy = format!("{}branches: [stable]\n", phasegate::rehearsal::PIPELINE_POLICY);
    let on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    stable(&on).await;
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let head = on.pushes("rover", "work", "scope", &papers::of("scaffolding/scope.md")).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:design"));
    let passed = |on: &Rehearsal| {
        let records = on.records(number).unwrap();
        records.iter().filter(|record| record.to_string().contains("PassExpandGate")).count()
    };
    assert_eq!(passed(&on), 1);
    on.retargets("rover", number, "stable").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:design"));
    assert_eq!(passed(&on), 2, "the expand gate was not judged again: {:?}", kinds(&on, number));
    assert_merge(&on, number, "action_required");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_heads_green_is_flipped_and_going_back_to_it_is_judged_anew() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let old = on.head(number).unwrap();
    on.pushes("rover", "work", "more", &[("src/more.py", "pass\n")]).await.unwrap();
    let flipped = on.run(&old, CHECK_NAME).unwrap().unwrap();
    assert_eq!(flipped.conclusion.as_deref(), Some("action_required"));
    assert!(flipped.title.unwrap().starts_with("Superseded by "));

    // Back to it, before the bot has heard of it: there is nothing to merge on.
    let quiet = on.admin().quiet();
    let body = serde_json::json!({ "sha": old, "force": true });
    quiet.call_as("rover", "PATCH", &format!("/repos/{REPO}/git/refs/heads/work"), body).unwrap();
    assert_eq!(on.head(number).unwrap(), old);
    assert!(on.merges("ada", number).await.unwrap().is_err(), "an old green was merged on");

    // Judged anew, it is what it was: the same content, proven by the same evidence.
    on.says("tim", number, "/status").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}
