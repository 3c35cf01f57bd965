//! Where the bot is to say nothing, or to say it without blocking anybody; and a policy with a mistake in it.

use phasegate::gate::merge::CHECK_NAME;
use phasegate::rehearsal::{MERGE_POLICY, PIPELINE_POLICY, REPO, Rehearsal, Setup, papers};
use serde_json::json;

use super::{assert_merge, green, merge_flow, proposes, proves};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_policy_nobody_hears_anything() {
    let on = Rehearsal::start(Setup { policy: None, ..Setup::default() }).await.unwrap();
    on.admin().clear_log();
    let number = proposes(&on, "work").await;
    let issue = on.files_issue("ada", "An idea").await.unwrap();
    for login in ["root", "mia", "ada", "tim", "eve"] {
        on.says(login, number, "/status").await.unwrap();
    }
    on.says("root", number, "/approve\n/help\n/expand everything").await.unwrap();
    on.says("root", issue, "/status").await.unwrap();
    on.says("root", number, "/aprove").await.unwrap();
    proves(&on, number).await;
    on.puts_label("tim", number, "phase:complete").await.unwrap();
    on.closes("ada", number).await.unwrap();
    on.reopens("ada", number).await.unwrap();
    on.lands("root", "more", &[("README.md", "# More\n")]).await.unwrap();

    assert!(on.writes().is_empty(), "{:?}", on.writes());
    assert_eq!(on.ledger_head().unwrap(), None);
    assert!(on.bot_comments(number).unwrap().is_empty() && on.bot_comments(issue).unwrap().is_empty());
    assert!(on.run(&on.head(number).unwrap(), CHECK_NAME).unwrap().is_none());
    assert_eq!(on.admin().labels(REPO, number).unwrap(), ["phase:complete"], "nobody's label but theirs");
    on.end().await;
}

/// A policy on the change's own branch is no policy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_only_the_change_has_is_none() {
    let on = Rehearsal::start(Setup { policy: None, ..Setup::default() }).await.unwrap();
    on.admin().clear_log();
    on.pushes("rover", "work", "a policy", &[(".github/phasegate.yml", MERGE_POLICY)]).await.unwrap();
    let number = on.opens("rover", "Adopt it", "work").await.unwrap();
    on.says("root", number, "/status").await.unwrap();
    assert!(on.writes().is_empty(), "{:?}", on.writes());
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observing_shows_what_would_happen_and_blocks_nothing() {
    let on = Rehearsal::start(Setup::with_policy(&format!("{MERGE_POLICY}enforce: observe\n"))).await.unwrap();
    let number = proposes(&on, "work").await;
    assert_merge(&on, number, "neutral");
    on.ci(&on.head(number).unwrap(), "failure").await.unwrap();
    assert_merge(&on, number, "neutral");
    let run = on.merge_run(number).unwrap();
    assert!(run.title.unwrap().starts_with("Observing: it would be stopped."));
    assert!(on.status_comment(number).unwrap().body.contains("_Observing only: nothing is blocked._"));
    on.merges("ada", number).await.unwrap().expect("nothing is blocked");
    on.end().await;
}

/// In the pipeline the gate of the phase is not blocking either, whoever requires it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observing_the_pipeline_blocks_nothing() {
    let on = Rehearsal::start(Setup::with_policy(&format!("{PIPELINE_POLICY}enforce: observe\n"))).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    assert_merge(&on, number, "neutral");
    on.pushes("rover", "work", "more", &papers::of("scaffolding/scope.md")).await.unwrap();
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    // Every head that was ever shown something: a run of a phase may be required as well.
    let ours: Vec<_> = on
        .admin()
        .repo(REPO)
        .unwrap()
        .check_runs
        .into_values()
        .filter(|run| run.app == on.app().id)
        .map(|run| (run.name, run.conclusion))
        .collect();
    assert!(ours.iter().any(|(name, _)| name == "phasegate/expand"), "{ours:?}");
    assert!(ours.iter().all(|(_, conclusion)| conclusion.as_deref() == Some("neutral")), "{ours:?}");
    on.merges("ada", number).await.unwrap().expect("nothing is blocked");
    on.end().await;
}

const MISTAKE: &str = "\
version: 1
flow: merge
gates:
  verify:
    checks:
      - { name: test, workflow: .github/workflows/ci.yml }
merge:
  aprovals: 2
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mistake_in_the_policy_is_shown_at_its_line_and_mended_by_mending_the_policy() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    on.lands("root", "two approvals", &[(".github/phasegate.yml", MISTAKE)]).await.unwrap();
    assert_merge(&on, number, "failure");
    let run = on.merge_run(number).unwrap();
    let places: Vec<_> =
        run.annotations.iter().map(|note| (note["path"].clone(), note["start_line"].clone())).collect();
    assert_eq!(places, [(json!(".github/phasegate.yml"), json!(8))], "{:?}", run.annotations);
    assert!(run.annotations[0]["message"].as_str().unwrap().contains("aprovals"), "{:?}", run.annotations);
    assert!(on.merges("ada", number).await.unwrap().is_err(), "merged under no law");

    on.lands("root", "mended", &[(".github/phasegate.yml", MERGE_POLICY)]).await.unwrap();
    assert_merge(&on, number, "success");
    assert!(on.merge_run(number).unwrap().annotations.is_empty());
    on.merges("ada", number).await.unwrap().expect("it is mended");
    on.end().await;
}

/// The same in the pipeline: what was proven stays proven when the law is what it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mistake_in_the_policy_costs_a_change_none_of_its_phases() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    on.pushes("rover", "work", "documents", &papers::ALL).await.unwrap();
    on.pushes("rover", "work", "the dimmer", &papers::CODE).await.unwrap();
    proves(&on, number).await;
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:verified"));
    assert_merge(&on, number, "success");

    let mistake = PIPELINE_POLICY.replace("flow: pipeline", "flow: pipelin");
    on.lands("root", "a slip", &[(".github/phasegate.yml", &mistake)]).await.unwrap();
    assert_merge(&on, number, "failure");
    on.lands("root", "mended", &[(".github/phasegate.yml", PIPELINE_POLICY)]).await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:verified"));
    assert_merge(&on, number, "success");
    on.end().await;
}

/// From here on anything can be merged.
fn lifts_the_rules(on: &Rehearsal) {
    let rulesets = on.admin().repo(REPO).unwrap().rulesets;
    let (id, _) = rulesets.iter().find(|(_, ruleset)| ruleset.name == "required checks").unwrap();
    on.admin().remove_ruleset(REPO, *id).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ended_before_there_was_a_policy_is_left_alone() {
    let on = Rehearsal::start(Setup { policy: None, ..Setup::default() }).await.unwrap();
    lifts_the_rules(&on);
    let merged = proposes(&on, "one").await;
    on.merges("ada", merged).await.unwrap().expect("there is no rule");
    on.pushes("rover", "two", "dark", &[("src/dark.py", "pass\n")]).await.unwrap();
    let closed = on.opens("rover", "Dark", "two").await.unwrap();
    on.closes("ada", closed).await.unwrap();
    on.pushes("ada", "adopt", "a policy", &[(".github/phasegate.yml", MERGE_POLICY)]).await.unwrap();
    let brings = on.opens("ada", "Adopt it", "adopt").await.unwrap();
    on.merges("ada", brings).await.unwrap().expect("there is no rule");
    for number in [merged, closed, brings] {
        on.says("eve", number, "thanks!").await.unwrap();
        on.puts_label("tim", number, "docs").await.unwrap();
        on.says("root", number, "/status").await.unwrap();
        assert!(on.bot_comments(number).unwrap().is_empty(), "#{number}: {:?}", on.bot_comments(number));
    }
    assert!(on.writes().is_empty(), "{:?}", on.writes());

    // Past a policy that is there, it is noticed, also where nobody had looked before.
    let quiet = on.admin().quiet();
    quiet.commit(REPO, "rover", "three", "fog", &[("src/fog.py", Some("pass\n"))]).unwrap();
    let past = quiet.open_pull(REPO, "rover", "Fog", "three", "main").unwrap();
    on.merges("ada", past).await.unwrap().expect("there is no rule");
    assert!(on.status_comment(past).unwrap().body.contains("`bypassed_gate`"));
    on.end().await;
}

/// A stack is merged from the top: nothing guards the branches in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_into_a_branch_that_nothing_guards_goes_around_nothing() {
    let on = merge_flow().await;
    proposes(&on, "below").await;
    on.admin().commit_onto(REPO, "rover", "above", Some("below"), "more", &[("src/fog.py", Some("pass\n"))]).unwrap();
    let number = on.opens_into("rover", "Fog", "above", "below").await.unwrap();
    assert_merge(&on, number, "failure");
    on.merges("ada", number).await.unwrap().expect("nothing guards it");
    let said = on.status_comment(number).unwrap().body;
    assert!(said.contains("### Phasegate: merged\n") && !said.contains("bypassed_gate"), "{said}");
    on.end().await;
}
