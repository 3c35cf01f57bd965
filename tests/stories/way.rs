//! Stopping and going on: leases, recovery, reconcile on demand, what comes after the delivery.

use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use phasegate::rehearsal::{Bot, CHECK, LEDGER, PIPELINE_POLICY, REPO, Rehearsal, Setup, WORKFLOW, papers};

use super::{assert_merge, kinds, proposes};

const HOUR: Duration = Duration::from_secs(3600);

#[track_caller]
fn assert_label(on: &Rehearsal, number: u64, label: &str) {
    assert_eq!(on.label(number).unwrap().as_deref(), Some(label), "{}", on.status_comment(number).unwrap().body);
}

fn count(on: &Rehearsal, number: u64, kind: &str) -> usize {
    kinds(on, number).iter().filter(|one| *one == kind).count()
}

fn leased(bot: Bot) -> Setup {
    Setup { bot, ..Setup::with_policy(&format!("{PIPELINE_POLICY}agents: {{ lease: 2h }}\n")) }
}

/// The steps that were taken, by their names.
fn steps(on: &Rehearsal, number: u64) -> Vec<String> {
    let records = on.records(number).unwrap();
    let bodies = records.iter().map(|sealed| sealed.pointer("/record/body").unwrap_or(&sealed["body"]));
    bodies.filter(|body| body["kind"] == "step").filter_map(|body| Some(body["action"].as_str()?.to_owned())).collect()
}

/// Papers for the next round, by a pull request that has nothing else: it is shown and reviewed, and has no phases.
async fn brings(on: &Rehearsal, branch: &str, path: &str, text: &str) {
    let head = on.pushes("rover", branch, "papers", &[(path, text)]).await.unwrap();
    let number = on.opens("rover", "Papers", branch).await.unwrap();
    assert_merge(on, number, "action_required");
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(on, number, "success");
    on.merges("ada", number).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_agent_is_taken_to_be_gone_once_and_its_next_push_takes_it_up() {
    let mut on = Rehearsal::start(leased(Bot::Server)).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    on.time_passes(HOUR).await.unwrap();
    assert_label(&on, number, "phase:expand");
    // A word of whoever works on it renews it; a reader's does not.
    on.says("rover", number, "still at it").await.unwrap();
    on.time_passes(HOUR + HOUR / 2).await.unwrap();
    assert_label(&on, number, "phase:expand");
    on.says("eve", number, "any news?").await.unwrap();
    // The timer outlives the process.
    on.stop_server().await;
    on.start_server().await.unwrap();
    on.settle().await.unwrap();
    on.time_passes(HOUR).await.unwrap();
    assert_label(&on, number, "phase:dropped");
    let comment = on.status_comment(number).unwrap().body;
    assert!(comment.contains("Nobody who works on it was heard of for 2h"), "{comment}");
    for _ in 0..3 {
        on.time_passes(HOUR * 3).await.unwrap();
    }
    assert_eq!((count(&on, number, "lapsed"), count(&on, number, "active")), (1, 1));
    on.pushes("rover", "work", "scope", &papers::of("scaffolding/scope.md")).await.unwrap();
    assert_label(&on, number, "phase:design");
    let taken_up: Vec<String> = steps(&on, number).into_iter().filter(|one| one.starts_with("RecoverTo")).collect();
    assert_eq!(taken_up, ["RecoverToExpand"]);
    on.end().await;
}

/// A run of a workflow has no timer: it looks at the clock whenever something starts it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_notices_at_its_next_run() {
    let on = Rehearsal::start(leased(Bot::Action)).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    on.time_passes(HOUR * 3).await.unwrap();
    assert_label(&on, number, "phase:expand");
    on.says("mia", number, "/status").await.unwrap();
    assert_label(&on, number, "phase:dropped");
    assert_eq!(count(&on, number, "lapsed"), 1);
    on.says("ada", number, "/recover").await.unwrap();
    assert_label(&on, number, "phase:expand");
    let answer = on.bot_comments(number).unwrap().into_iter().find(|one| one.contains("Taken up again at")).unwrap();
    assert!(answer.contains("EXPAND: scope.md is not there"), "{answer}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconcile_that_is_asked_for_comes_back_to_each_phase() {
    let on = Rehearsal::start(Setup::with_policy(&format!("{PIPELINE_POLICY}mode: stepped\n"))).await.unwrap();
    let files: Vec<(&str, &str)> = papers::ALL.into_iter().chain(papers::CODE).collect();
    let head = on.pushes("rover", "work", "all of it", &files).await.unwrap();
    let number = on.opens("rover", "Add a dimmer", "work").await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.says("ada", number, "/expand").await.unwrap();
    for (claim, next) in [
        ("expand", "design"),
        ("design", "analyze"),
        ("analyze", "build"),
        ("build", "review"),
        ("review", "reconcile"),
    ] {
        if claim == "review" {
            on.reviews("mia", number, "APPROVE").await.unwrap();
        }
        on.says("ada", number, &format!("/{claim}")).await.unwrap();
        on.says("ada", number, "/continue").await.unwrap();
        if next == "reconcile" {
            on.says("ada", number, "/reconcile").await.unwrap();
            assert_label(&on, number, "phase:verify");
        }
        on.says("ada", number, "/reconcile").await.unwrap();
        let back = if next == "reconcile" { "verify" } else { next };
        assert_label(&on, number, &format!("phase:{back}"));
    }
    let taken = steps(&on, number);
    for phase in ["Designing", "Analyzing", "Building", "Reviewing", "Verifying"] {
        let there = taken.iter().position(|one| *one == format!("ManualReconcileFrom{phase}"));
        let back = taken.iter().position(|one| *one == format!("ResumeAfterReconcileTo{phase}"));
        assert!(there.is_some() && there < back, "{phase}: {taken:#?}");
    }
    on.end().await;
}

const PROPOSAL: &str = "\
# Iteration 2

## Summary

Brighter, and by remote.

## Prioritised Changes

| Change | What | Priority | Source |
|---|---|---|---|
| CH-1 | brighter steps | high | docs/input/distilled-feedback.md |
| CH-2 | a remote | low | docs/input/distilled-feedback.md |

## Architecture Impact

Minor: one more input.

## Risk

Little.

## Recommended Approach

CH-1 first. Fading from one level to the next is set aside again.

## Pre-existing Failures

none
";

/// A change that is delivered.
async fn delivered(on: &Rehearsal) -> u64 {
    let files: Vec<(&str, &str)> = papers::ALL.into_iter().chain(papers::CODE).collect();
    let head = on.pushes("rover", "work", "all of it", &files).await.unwrap();
    let number = on.opens("rover", "Add a dimmer", "work").await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.says("ada", number, "/expand").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    let commit = on.merges("ada", number).await.unwrap().unwrap();
    on.admin().workflow_run(REPO, &commit, WORKFLOW, "push", &[(CHECK, Some("success"))]).unwrap();
    on.settle().await.unwrap();
    assert_label(on, number, "phase:complete");
    number
}

/// The scope of the second round, with a criterion that readiness does not have yet.
fn second_scope() -> String {
    let scope = papers::SCOPE
        .replacen("\n## ", "\nVersion: 2, with CH-1, from docs/input/distilled-feedback.md.\n\n## ", 1)
        .replacen("- AC-1", "- AC-9: The lamp is at full light within 2 seconds (CH-1).\n- AC-1", 1);
    assert!(scope.contains("AC-9"), "{scope}");
    scope
}

/// Without a touch of the architecture the second version goes to ANALYZE with the design that was delivered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_within_the_architecture_goes_on_with_the_design_that_is_there() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = delivered(&on).await;
    on.says("mia", number, "/iterate").await.unwrap();
    let proposal = PROPOSAL.replace("Minor: one more input.", "None: the same parts.");
    let files = [
        ("scaffolding/iteration.md", proposal.as_str()),
        ("docs/input/distilled-feedback.md", "# Feedback\n\nToo dark.\n"),
    ];
    on.lands("root", "proposal", &files).await.unwrap();
    on.says("ada", number, "/iterate").await.unwrap();
    on.says("mia", number, "/approve CH-1").await.unwrap();
    let (line, scope) = (format!("the second version\n\nPhasegate-Change: #{number}\n"), second_scope());
    let files = [("scaffolding/scope.md", scope.as_str()), ("scaffolding/scope-v1.md", papers::SCOPE)];
    on.pushes("rover", "round", &line, &files).await.unwrap();
    let round = on.opens("rover", "Brighter", "round").await.unwrap();
    on.says("ada", round, "/expand").await.unwrap();
    assert_label(&on, round, "phase:analyze");
    on.end().await;
}

/// Before the merge the round is made where it was confirmed, and its scope comes first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_before_the_merge_goes_on_with_the_design_that_is_there() {
    let (on, number) = round_before_the_merge("/approve CH-1").await;
    assert_label(&on, number, "phase:analyze");
    on.end().await;
}

/// Who confirms it may ask for more design than was proposed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_before_the_merge_is_designed_where_somebody_asks_for_it() {
    let (on, number) = round_before_the_merge("/approve CH-1\n/iterate design").await;
    assert_label(&on, number, "phase:design");
    let comment = on.status_comment(number).unwrap().body;
    assert!(comment.contains("`DSN-10`"), "{comment}");
    on.end().await;
}

/// A round within the architecture, confirmed by this word, with its scope written.
async fn round_before_the_merge(confirm: &str) -> (Rehearsal, u64) {
    let policy = format!("{}deploy: before_merge\n", PIPELINE_POLICY);
    let on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    let papers_of_delivery = [("README.md", papers::README), ("DELIVERY.md", papers::DELIVERY)];
    let files: Vec<(&str, &str)> = papers::ALL.into_iter().chain(papers::CODE).chain(papers_of_delivery).collect();
    let head = on.pushes("rover", "work", "all of it", &files).await.unwrap();
    let number = on.opens("rover", "Add a dimmer", "work").await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.says("ada", number, "/expand").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_label(&on, number, "phase:complete");
    on.says("ada", number, "/iterate").await.unwrap();
    let proposal = PROPOSAL.replace("Minor: one more input.", "None: the same parts.");
    let files = [
        ("scaffolding/iteration.md", proposal.as_str()),
        ("docs/input/distilled-feedback.md", "# Feedback\n\nToo dark.\n"),
    ];
    on.pushes("rover", "work", "a proposal", &files).await.unwrap();
    on.says("ada", number, "/iterate").await.unwrap();
    on.says("mia", number, confirm).await.unwrap();
    assert_eq!(count(&on, number, "accepted"), 1, "{}", on.status_comment(number).unwrap().body);
    let scope = second_scope();
    let files = [("scaffolding/scope.md", scope.as_str()), ("scaffolding/scope-v1.md", papers::SCOPE)];
    on.pushes("rover", "work", "the second version", &files[..1]).await.unwrap();
    assert_label(&on, number, "phase:expand");
    let comment = on.status_comment(number).unwrap().body;
    assert!(comment.contains("`EXP-13`"), "{comment}");
    on.pushes("rover", "work", "kept", &files[1..]).await.unwrap();
    (on, number)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_delivery_users_are_asked_input_is_distilled_and_a_round_is_proposed() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = delivered(&on).await;
    let next = |on: &Rehearsal| {
        let body = on.status_comment(number).unwrap().body;
        body.lines().find(|line| line.starts_with("**Next:**")).unwrap().to_owned()
    };
    // Its users are content; later they are not.
    for (said, then) in [("/pmf start", "/pmf validated"), ("/pmf start", "/pmf iterate")] {
        on.says("mia", number, said).await.unwrap();
        assert!(next(&on).contains("`/pmf validated`"), "{}", next(&on));
        on.says("mia", number, then).await.unwrap();
    }
    assert!(next(&on).contains("Collect what the users said"), "{}", next(&on));
    // Distilling ends with a document, not with a word.
    on.says("ada", number, "/distill").await.unwrap();
    on.says("ada", number, "/distill").await.unwrap();
    let said = on.bot_comments(number).unwrap().pop().unwrap();
    assert!(said.starts_with("`CMD-12`") && said.contains("docs/input/distilled-"), "{said}");
    assert!(said.contains("bring it to the default branch"), "{said}");
    brings(&on, "distilled", "docs/input/distilled-feedback.md", "# Feedback\n\nToo dark.\n").await;
    on.says("ada", number, "/distill").await.unwrap();
    assert!(next(&on).contains("Collect what the users said"), "{}", next(&on));
    on.says("mia", number, "/iterate").await.unwrap();
    // No proposal, none to decide about.
    on.says("ada", number, "/iterate").await.unwrap();
    let said = on.bot_comments(number).unwrap().pop().unwrap();
    assert!(said.starts_with("`ITR-01`"), "{said}");
    brings(&on, "proposal", "scaffolding/iteration.md", PROPOSAL).await;
    on.says("ada", number, "/iterate").await.unwrap();
    let comment = on.status_comment(number).unwrap().body;
    assert!(comment.contains("- `CH-1` (high): brighter steps"), "{comment}");
    on.says("rover", number, "/approve").await.unwrap();
    assert_eq!(count(&on, number, "accepted"), 0, "it is not the agent's to decide");
    on.says("mia", number, "/approve CH-1").await.unwrap();
    assert!(on.status_comment(number).unwrap().body.contains("`CH-2` (low, not in this round)"));
    assert_eq!((count(&on, number, "proposed"), count(&on, number, "accepted")), (1, 1));

    // The round's work is a pull request of its own, which says whose round it is.
    let line = format!("the second version\n\nPhasegate-Change: #{number}\n");
    let second = second_scope();
    let files = [("scaffolding/scope.md", second.as_str())];
    on.pushes("rover", "round", &line, &files).await.unwrap();
    let round = on.opens("rover", "Brighter", "round").await.unwrap();
    on.says("ada", round, "/expand").await.unwrap();
    assert_label(&on, round, "phase:expand");
    let comment = on.status_comment(round).unwrap().body;
    assert!(comment.contains("`scaffolding/scope-v1.md` is not the scope that was delivered."), "{comment}");
    on.pushes("rover", "round", "kept", &[("scaffolding/scope-v1.md", papers::SCOPE)]).await.unwrap();
    assert_eq!(count(&on, round, "continues"), 1);
    // It touches the architecture, so the design that was delivered is not enough.
    assert_label(&on, round, "phase:design");
    let comment = on.status_comment(round).unwrap().body;
    assert!(comment.contains("`DSN-10`"), "{comment}");
    let design = papers::DESIGN.replacen("\n## ", "\nVersion 2 has one more input.\n\n## ", 1);
    on.pushes("rover", "round", "designed", &[("scaffolding/design.md", design.as_str())]).await.unwrap();
    assert_label(&on, round, "phase:analyze");
    // A change that has no confirmed round lends none.
    let line = format!("more\n\nPhasegate-Change: #{round}\n");
    let third = papers::SCOPE.replacen("\n## ", "\nMore of docs/input/distilled-feedback.md.\n\n## ", 1);
    on.pushes("rover", "other", &line, &[("scaffolding/scope.md", third.as_str())]).await.unwrap();
    let other = on.opens("rover", "More", "other").await.unwrap();
    on.says("ada", other, "/expand").await.unwrap();
    assert_label(&on, other, "phase:expand");
    let comment = on.status_comment(other).unwrap().body;
    assert!(comment.contains("names a change that has no confirmed round"), "{comment}");
    assert_eq!(count(&on, other, "continues"), 0);
    on.end().await;
}

/// An agent that remembers nothing and reads nothing but the capsule gets through the documents.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_starts_fresh_goes_on_by_the_capsule_alone() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    for _ in 0..6 {
        // Each turn of the loop is another agent.
        let text = capsule(&on, number);
        assert!(text.len() < 1024, "{} bytes\n{text}", text.len());
        let allowed = text.lines().find_map(|line| line.strip_prefix("allowed: ")).unwrap();
        let Some(document) = allowed.strip_prefix("write scaffolding/") else { break };
        let document = format!("scaffolding/{}", document.split(';').next().unwrap());
        on.pushes("rover", "work", &document, &papers::of(&document)).await.unwrap();
    }
    let text = capsule(&on, number);
    assert!(text.contains("phase: BUILD") && text.contains("allowed: write code and tests; /build"), "{text}");
    assert!(text.contains("forbidden: to claim REVIEW or later"), "{text}");
    // The comment has the same block.
    let comment = on.status_comment(number).unwrap().body;
    assert!(comment.contains("For an agent that starts fresh") && comment.contains("\nphase: BUILD\n"), "{comment}");
    let found = cli(&on, &["next", &number.to_string(), "--json"]);
    let object: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&object["schema"], &object["change"]), (&"phasegate/next@1".into(), &number.into()));

    // In a clone nobody has to know the number.
    let clone = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let done = std::process::Command::new("git").args(args).current_dir(clone.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["clone", "-q", "-b", "work", &format!("{}/{REPO}.git", on.url()), "here"]);
    git(&["-C", "here", "fetch", "-q", "origin", &format!("{LEDGER}:{LEDGER}")]);
    let told = || {
        let mut phasegate = cargo_bin_cmd!("phasegate");
        phasegate.env_clear().current_dir(clone.path().join("here")).arg("next").output().unwrap()
    };
    let text = String::from_utf8(told().stdout).unwrap();
    assert!(text.starts_with(&format!("change #{number}, head ")) && text.contains("phase: BUILD"), "{text}");
    // Of two with this head, the one that is open has something to go on with.
    on.pushes("ada", "again", "something else", &[("src/else.py", "pass\n")]).await.unwrap();
    let second = on.opens("ada", "Again", "again").await.unwrap();
    on.force_pushes("ada", "again", &on.head(number).unwrap()).await.unwrap();
    git(&["-C", "here", "fetch", "-q", "origin", &format!("{LEDGER}:{LEDGER}")]);
    assert!(String::from_utf8(told().stdout).unwrap().starts_with(&format!("change #{second}, head ")), "the newest");
    on.closes("ada", second).await.unwrap();
    git(&["-C", "here", "fetch", "-q", "origin", &format!("{LEDGER}:{LEDGER}")]);
    let text = String::from_utf8(told().stdout).unwrap();
    assert!(text.starts_with(&format!("change #{number}, head ")), "{text}");
    assert!(cli(&on, &["next", &second.to_string()]).contains(", closed\n"));
    git(&["-C", "here", "checkout", "-q", "main"]);
    let lost = told();
    let says = String::from_utf8(lost.stderr).unwrap();
    assert!(lost.status.code() == Some(2) && says.contains("no change on the ledger has"), "{says}");
    on.end().await;
}

fn capsule(on: &Rehearsal, number: u64) -> String {
    cli(on, &["next", &number.to_string()])
}

fn cli(on: &Rehearsal, args: &[&str]) -> String {
    let mut command = cargo_bin_cmd!("phasegate");
    command.env_clear().env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
    let ran = command.env("GITHUB_API_URL", on.api_url()).args(args).args(["--github", REPO]).output().unwrap();
    let says = String::from_utf8(ran.stderr).unwrap();
    assert!([Some(0), Some(1)].contains(&ran.status.code()), "{:?}\n{says}", ran.status);
    String::from_utf8(ran.stdout).unwrap()
}
