//! The pipeline, from scope to deployment.

use crate::engine::Happened;
use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::aside::tests::PROPOSAL;
use crate::gate::world::Untold;
use crate::gate::{Finding, GateName, Severity, Verdict};
use crate::ids::Role;
use crate::ledger::Body;
use crate::ledger::record::{Claim, Impact, Outcome};
use crate::policy::Commands;
use crate::surface::capsule::Capsule;

const STEPPED: &str = "mode: stepped\n";

fn fails(game: &Game, phase: Phase) -> u8 {
    game.table().fails(phase)
}

fn counted(game: &Game, gate: Phase) -> Vec<(Verdict, Claim)> {
    let runs = game.log.iter().filter_map(|entry| match &entry.body {
        Body::Judged { gate: GateName::Phase(phase), verdict, claimed: Some(how), .. } if *phase == gate => {
            Some((*verdict, *how))
        }
        _ => None,
    });
    runs.collect()
}

fn steps(game: &Game) -> Vec<&'static str> {
    let steps = game.log.iter().filter_map(|entry| match entry.body {
        Body::Step { action, .. } => Some(action.as_str()),
        _ => None,
    });
    steps.collect()
}

/// A claimed red of the build on a head of its own.
fn red_build(game: &mut Game, head: &str) {
    game.push(head).red();
    game.says("ada", Role::Write, "/build").done();
}

#[test]
fn the_whole_way_in_auto_mode() {
    let mut game = Game::with("flow: pipeline");
    game.opened().at(Stage::PreferencesConfigured).may_not_merge(&["MRG-01", "MRG-02"]);
    game.says("ada", Role::Write, "/expand a small shop").done().at(Stage::Expanding);
    game.push("scope").green().at(Stage::Expanding);
    game.push_with("scope again", |game| {
        game.documents();
    });
    // Documents are judged by themselves; what is built, by its checks.
    game.at(Stage::Building).green().at(Stage::Reviewing);
    assert_eq!(counted(&game, Phase::Expand), [(Verdict::Pass, Claim::Preview)]);
    game.may_not_merge(&["MRG-01", "MRG-02"]);
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    assert!(game.table().proven());
    game.merged().at(Stage::Deploying);
    assert!(game.now().merged.clone().unwrap().bypassed.is_empty());
    game.deployment("in_progress").at(Stage::Deploying);
    game.deployment("success").at(Stage::PipelineComplete);
    assert!(game.surface().comment.contains("FULL PIPELINE COMPLETE"));
}

#[test]
fn each_command_of_a_comment_finds_what_became_of_the_one_before() {
    let mut game = Game::pipeline_with(STEPPED);
    game.green().look();
    game.says("ada", Role::Write, "/expand\n/expand\n/continue\n/design\n/continue").at(Stage::Analyzing);
    let outcomes = game.outcomes();
    assert_eq!(outcomes.len(), 5);
    assert!(outcomes.iter().all(|(_, outcome)| **outcome == Outcome::Done), "{outcomes:#?}");
}

#[test]
fn the_whole_way_in_stepped_mode() {
    let mut game = Game::pipeline_with(STEPPED);
    game.says("ada", Role::Write, "/expand").done().green().at(Stage::Expanding);
    for (claim, next) in [
        ("/expand", Stage::Designing),
        ("/design", Stage::Analyzing),
        ("/analyze", Stage::Building),
        ("/build", Stage::Reviewing),
    ] {
        game.says("ada", Role::Write, claim).done().at(Stage::SteppedModePaused);
        game.says("ada", Role::Write, "/continue").done().at(next);
    }
    game.approved_by("mia").at(Stage::Reviewing);
    game.says("ada", Role::Write, "/review").done().at(Stage::SteppedModePaused);
    game.says("ada", Role::Write, "/continue").done().at(Stage::Reconciling);
    game.says("ada", Role::Write, "/reconcile").done().at(Stage::Verifying);
    game.says("ada", Role::Write, "/verify").done().at(Stage::VerifyGatePassed).may_merge();
    game.merged().at(Stage::SteppedModePaused).deployment("success").at(Stage::SteppedModePaused);
    game.says("ada", Role::Write, "/continue").done().at(Stage::PipelineComplete);
}

#[test]
fn a_claim_of_a_later_phase_is_refused() {
    let mut game = Game::pipeline();
    game.until_designing();
    for later in ["/analyze", "/build", "/review", "/verify", "/deploy", "/expand"] {
        game.says("ada", Role::Write, later).refused_with("CMD-03");
    }
    game.at(Stage::Designing);
}

#[test]
fn three_claimed_failures_block_and_only_an_independent_person_unblocks() {
    let mut game = Game::pipeline();
    game.until_building();
    for (head, fails_now) in [("b1", 1), ("b2", 2)] {
        red_build(&mut game, head);
        game.at(Stage::BuildRetrying);
        assert_eq!(fails(&game, Phase::Build), fails_now);
    }
    red_build(&mut game, "b3");
    game.at(Stage::BlockedOnGate);
    assert!(game.against().contains("MRG-05"));
    // Work goes on, the block stays.
    game.push("b4").green().at(Stage::BlockedOnGate);
    game.says("ada", Role::Write, "/build").refused_with("SNP-10");
    game.says("ada", Role::Admin, "/unblock please").refused_with("CMD-07");
    game.says("bob", Role::Write, "/unblock please").refused_with("CMD-02");
    game.at(Stage::BlockedOnGate);
    game.says("mia", Role::Maintain, "/unblock one cause, mended").done().at(Stage::Building);
    assert_eq!(fails(&game, Phase::Build), 0);
    game.audited().at(Stage::Reviewing);
}

#[test]
fn only_the_pass_of_the_gate_resets_its_count() {
    let mut game = Game::pipeline();
    game.until_building();
    red_build(&mut game, "b1");
    red_build(&mut game, "b2");
    game.says("ada", Role::Write, "/drop").done();
    game.closed().reopened();
    game.push("b3");
    game.at(Stage::SessionDropped).says("ada", Role::Write, "/recover").done().at(Stage::Building);
    assert_eq!(fails(&game, Phase::Build), 2, "a drop, a reopening, a push and a recovery reset nothing");
    game.green().at(Stage::Reviewing);
    assert_eq!(fails(&game, Phase::Build), 0);
}

#[test]
fn previews_never_block_and_are_counted_once_a_head() {
    let mut game = Game::pipeline_with("limits: { previews: 3 }");
    game.until_building();
    for head in ["p1", "p2", "p3"] {
        game.push(head).red().red().look().at(Stage::Building);
        // The base moves under it: still the same push.
        game.subject().about.base = commit("a newer base");
        game.look();
        // Another commit with the same content, as the bot puts its own files on top: no push of anybody's.
        game.rebase(&format!("{head} with copies"), head).red();
    }
    assert_eq!((game.now().previews[&Phase::Build], fails(&game, Phase::Build)), (3, 0));
    assert!(!game.against().contains("MRG-06"));
    assert!(game.surface().checks[0].summary.contains("3 pushes were red"));
    game.push("p4").red();
    assert!(game.against().contains("MRG-06"));
}

#[test]
fn pushing_until_green_is_no_way_round_the_audit() {
    let mut game = Game::pipeline_with("limits: { previews: 2 }");
    game.until_building();
    for head in ["p1", "p2", "p3"] {
        game.push(head).red();
    }
    game.push("p4").green().approved_by("mia").at(Stage::VerifyGatePassed);
    game.may_not_merge(&["MRG-06"]);
    assert!(game.surface().comment.contains("after 3 red pushes"), "{}", game.surface().comment);
    game.says("ada", Role::Admin, "/unblock fine").refused_with("CMD-07");
    game.says("mia", Role::Maintain, "/unblock looked at all three").done().may_merge();
    game.says("mia", Role::Maintain, "/unblock once more").refused_with("CMD-03");
}

#[test]
fn a_few_red_previews_are_printed_on_the_pass() {
    let mut game = Game::pipeline();
    game.until_building().push("p1").red();
    game.push("p2").green().at(Stage::Reviewing);
    assert!(game.surface().comment.contains("build: PASS"), "{}", game.surface().comment);
    assert!(game.surface().comment.contains("after 1 red push"));
}

#[test]
fn a_trailer_claims_the_phase_that_the_change_is_in() {
    let mut game = Game::pipeline();
    game.until_building();
    game.push_with("b1", |game| game.subject().trailer = Some(Phase::Build)).at(Stage::Building);
    assert_eq!(game.now().claim, Some((Phase::Build, Claim::Trailer)));
    game.red().at(Stage::BuildRetrying);
    assert_eq!(counted(&game, Phase::Build).last(), Some(&(Verdict::Fail, Claim::Trailer)));
    // A trailer that names another phase claims nothing.
    game.push_with("b2", |game| game.subject().trailer = Some(Phase::Verify));
    assert_eq!(game.now().claim, None);
}

#[test]
fn marking_it_ready_claims_once_however_often_it_is_told() {
    let mut game = Game::pipeline();
    game.until_building().push("b1").ready();
    assert_eq!(game.now().claim, Some((Phase::Build, Claim::ReadyForReview)));
    game.red().at(Stage::BuildRetrying);
    let once = game.now().clone();
    game.ready();
    assert_eq!(game.now(), &once, "the same delivery, once more");
    // On a new head it is a new claim.
    game.push("b2").ready().red();
    assert_eq!(fails(&game, Phase::Build), 2);
}

#[test]
fn a_claim_waits_for_the_checks_and_dies_with_its_head() {
    let mut game = Game::pipeline();
    game.until_building();
    game.says("ada", Role::Write, "/build").done().check(TEST, "running").at(Stage::Building);
    assert!(game.now().claim.is_some());
    game.push("b1");
    assert_eq!(game.now().claim, None);
    game.red().at(Stage::Building);
    assert_eq!(fails(&game, Phase::Build), 0, "the red of a head that nobody claimed");
}

#[test]
fn the_review_loop_counts_and_renews_what_the_fix_made_stale() {
    let mut game = Game::pipeline();
    game.until_reviewing().review("mia", Role::Maintain, "CHANGES_REQUESTED").at(Stage::ReviewFixing);
    assert_eq!(fails(&game, Phase::Review), 1, "a reviewer's word is a verdict, not a preview");
    game.push("fixed").at(Stage::ReviewFixing);
    game.approved_by("mia").at(Stage::ReviewFixing);
    assert!(!game.table().holds(Phase::Build));
    game.green().at(Stage::VerifyGatePassed).may_merge();
    assert!(game.table().holds(Phase::Build), "made again for the new content");
    assert_eq!(fails(&game, Phase::Review), 0);
}

#[test]
fn three_failed_reviews_block() {
    let mut game = Game::pipeline();
    game.until_reviewing().review("mia", Role::Maintain, "CHANGES_REQUESTED").at(Stage::ReviewFixing);
    game.says("ada", Role::Write, "/review").done().at(Stage::ReviewFixing);
    game.says("ada", Role::Write, "/review").done().at(Stage::BlockedOnGate);
    game.says("mia", Role::Maintain, "/unblock talked it over").done().at(Stage::Reviewing);
}

/// VERIFY failed once: the check was run again after the review and turned red.
fn verify_fixing() -> Game {
    let mut game = Game::pipeline_with(STEPPED);
    game.says("ada", Role::Write, "/expand").green();
    for claim in ["/expand", "/design", "/analyze", "/build"] {
        game.says("ada", Role::Write, claim).says("ada", Role::Write, "/continue");
    }
    game.approved_by("mia").says("ada", Role::Write, "/review").says("ada", Role::Write, "/continue");
    game.says("ada", Role::Write, "/reconcile").at(Stage::Verifying);
    game.red().says("ada", Role::Write, "/verify").done().at(Stage::VerifyFixing);
    game
}

#[test]
fn the_verify_loop_counts_and_asks_for_the_review_again() {
    let mut game = verify_fixing();
    assert_eq!(fails(&game, Phase::Verify), 1);
    game.push("fix").green().at(Stage::VerifyFixing);
    game.says("ada", Role::Write, "/verify").done().at(Stage::VerifyFixing);
    assert!(game.now().claim.is_some(), "the review is for older content, so the claim waits");
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
}

/// `REV-05`: what a fix has made stale is made again before anything rests on it, and both gates say which it is.
#[test]
fn what_a_fix_made_stale_is_named() {
    let says = |game: &Game| game.surface().comment;
    let mut game = Game::pipeline();
    game.until_reviewing();
    assert!(!says(&game).contains("REV-05"), "nothing is stale");
    game.review("mia", Role::Maintain, "CHANGES_REQUESTED").push("fixed").approved_by("mia").at(Stage::ReviewFixing);
    let told = says(&game);
    assert!(told.contains("REV-05") && told.contains("The build evidence is for older content."), "{told}");
    game.green();
    assert!(!says(&game).contains("REV-05"), "{}", says(&game));

    let mut game = verify_fixing();
    game.push("fix").green().says("ada", Role::Write, "/verify").done().at(Stage::VerifyFixing);
    let told = says(&game);
    assert!(told.contains("REV-05") && told.contains("The review gate passed for older content than this."), "{told}");
    assert!(told.contains("An entitled person reviews the new content."), "{told}");
    game.approved_by("mia").at(Stage::VerifyGatePassed);
    assert!(!says(&game).contains("REV-05"), "{}", says(&game));
}

/// `VER-03` where no source shows what was run: it is said, or where the policy demands it, a person's word is waited for.
#[test]
fn what_nobody_saw_run_is_said_or_a_person_says_it() {
    let of_verify = |game: &Game| -> Vec<(String, Severity)> {
        let findings = &game.now().gates[&GateName::Phase(Phase::Verify)].findings;
        findings.iter().filter(|one| one.rule == "VER-03").map(|one| (one.says.clone(), one.severity)).collect()
    };
    let mut game = Game::pipeline();
    game.through_verify();
    let told = of_verify(&game);
    assert!(
        matches!(told.as_slice(), [(says, Severity::Warning)] if says.starts_with("Nobody has seen run")),
        "{told:?}"
    );

    let mut game = Game::pipeline_with(
        "gates: { verify: { checks: [{ name: ci / test, workflow: .github/workflows/ci.yml }], proofs: demand } }\n",
    );
    game.until_reviewing().approved_by("mia").at(Stage::Verifying);
    assert!(game.surface().comment.contains("/agree VER-03 WHAT THEY RAN AND SAW"), "{}", game.surface().comment);
    game.says("ada", Role::Write, "/agree VER-03 I ran it").refused_with("CMD-02");
    game.says("mia", Role::Maintain, "/agree VER-03 python3 src/lamp.py 4 printed 2")
        .done()
        .at(Stage::VerifyGatePassed)
        .may_merge();
    let told = of_verify(&game);
    assert!(
        matches!(told.as_slice(), [(says, Severity::Warning)] if says.contains("`mia` has agreed to it: `python3 src/lamp.py 4 printed 2`")),
        "{told:?}"
    );
    // It was said of that content.
    game.push("two").green().approved_by("mia").at(Stage::Verifying);
    let mut off = Game::pipeline_with(
        "gates: { verify: { checks: [{ name: ci / test, workflow: .github/workflows/ci.yml }], proofs: off } }\n",
    );
    off.through_verify();
    assert_eq!(of_verify(&off), []);
}

#[test]
fn a_structural_fix_goes_through_reconcile() {
    let mut game = verify_fixing();
    game.push_with("fix", |game| game.subject().structural_fix = true).green().approved_by("mia");
    game.says("ada", Role::Write, "/verify").done().at(Stage::Reconciling);
    game.says("ada", Role::Write, "/reconcile").done().at(Stage::Verifying);
    game.says("ada", Role::Write, "/verify").done().at(Stage::VerifyGatePassed);
}

/// What the fix is held against is where VERIFY failed, whatever was looked at or failed since.
#[test]
fn a_fix_begins_where_verify_first_failed() {
    let mut game = verify_fixing();
    let failed = game.now().subject.as_ref().map(|about| about.head.clone());
    assert_eq!(game.now().fixing_since, failed);
    game.push("fix").red().at(Stage::VerifyFixing);
    let seen = &game.now().gates[&GateName::Phase(Phase::Verify)];
    assert!(seen.verdict == Verdict::Fail && Some(&seen.about.head) != failed.as_ref(), "a look at the fix: {seen:?}");
    assert_eq!(game.now().fixing_since, failed);
    game.says("ada", Role::Write, "/verify").done().at(Stage::VerifyFixing);
    assert_eq!(fails(&game, Phase::Verify), 2);
    assert_eq!(game.now().fixing_since, failed, "what the first fix added is still to be reconciled");
    game.push_with("more", |game| game.subject().structural_fix = true).green().approved_by("mia");
    game.says("ada", Role::Write, "/verify").done().at(Stage::Reconciling);
    assert_eq!(game.now().fixing_since, None);
}

#[test]
fn three_failed_verifications_block() {
    let mut game = verify_fixing();
    game.says("ada", Role::Write, "/verify").done().at(Stage::VerifyFixing);
    game.says("ada", Role::Write, "/verify").done().at(Stage::BlockedOnGate);
}

#[test]
fn new_content_makes_a_pass_stale_and_leads_back() {
    let mut game = Game::pipeline();
    game.through_verify().may_merge();
    game.push("two").at(Stage::Building).may_not_merge(&["MRG-01", "MRG-02"]);
    game.green().approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    // Documents lead further back.
    game.push_with("three", |game| {
        game.rewrites_documents("second");
    });
    game.at(Stage::Building);
    game.green().approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
}

#[test]
fn a_rebase_keeps_every_pass() {
    let mut game = Game::pipeline();
    game.through_verify().rebase("rebased", "one").at(Stage::VerifyGatePassed);
    game.may_not_merge(&["MRG-01"]);
    game.green().may_merge();
}

#[test]
fn reconcile_on_demand_comes_back() {
    let mut game = Game::pipeline();
    game.until_building().says("ada", Role::Write, "/reconcile").done().at(Stage::Reconciling);
    assert_eq!(game.table().return_to, Some(Stage::Building));
    game.green().at(Stage::Reviewing);
    assert!(steps(&game).contains(&"ResumeAfterReconcileToBuilding"), "{:?}", steps(&game));
}

#[test]
fn a_reconcile_on_demand_does_not_outlive_the_documents() {
    let mut game = Game::pipeline();
    game.until_building().says("ada", Role::Write, "/reconcile").done().at(Stage::Reconciling);
    game.push_with("scope changed", |game| {
        game.rewrites_documents("second");
    });
    // Documents are judged by themselves; what is built, by its checks.
    game.at(Stage::Building).green().at(Stage::Reviewing);
}

#[test]
fn a_dropped_change_is_taken_up_where_its_gates_stand() {
    let mut game = Game::pipeline();
    game.until_designing().says("ada", Role::Write, "/drop").done().at(Stage::SessionDropped);
    game.documents().green().at(Stage::SessionDropped);
    game.says("ada", Role::Write, "/design").refused_with("CMD-03");
    game.says("ada", Role::Write, "/recover").done().at(Stage::Reviewing);
    // In another try as well.
    let mut game = Game::pipeline();
    game.until_building().red().says("ada", Role::Write, "/build").at(Stage::BuildRetrying);
    game.says("ada", Role::Write, "/drop").done().at(Stage::SessionDropped);
    assert_eq!(game.now().pipeline.as_ref().unwrap().fails(Phase::Build), 1);
    game.says("ada", Role::Write, "/recover").done().at(Stage::Building);
    // From a stage without such an edge it is recorded, and the stage stays.
    let mut game = Game::pipeline();
    game.until_designing().documents().green().at(Stage::Reviewing);
    game.approved_by("mia").at(Stage::VerifyGatePassed);
    game.says("ada", Role::Write, "/drop").done().at(Stage::VerifyGatePassed);
}

#[test]
fn a_stop_blocks_and_unblocking_recovers() {
    let mut game = Game::pipeline();
    game.until_building().says("ada", Role::Write, "/stop a dependency is gone").done().at(Stage::BlockedOnGate);
    game.green().at(Stage::BlockedOnGate);
    assert!(game.against().contains("MRG-05"));
    game.says("mia", Role::Maintain, "/unblock found another").done().at(Stage::Reviewing);
    game.says("ada", Role::Write, "/stop scope has doubled").done().at(Stage::ComplexityBrakeTriggered);
    game.says("mia", Role::Maintain, "/brake-resolved split it").done().at(Stage::Reviewing);
}

/// The brake is no verdict: nothing is counted, and what a person has decided is not asked again.
#[test]
fn what_outgrew_its_design_is_a_persons_to_decide_once() {
    let concern = |path: &str| {
        Finding { severity: Severity::Warning, ..Finding::error("BRK-02", "Too long.", "Split it.") }.at(path, None)
    };
    let mut game = Game::pipeline();
    game.until_building();
    game.subject().documents.insert(Phase::Build, vec![concern("src/a.rs")]);
    // Work in progress is only shown it.
    game.look().at(Stage::Building);
    game.green().at(Stage::ComplexityBrakeTriggered);
    assert_eq!(game.now().stopped.as_ref().unwrap().reason, "BRK-02 src/a.rs: Too long.");
    assert_eq!(game.now().pipeline.as_ref().unwrap().fails(Phase::Build), 0);
    assert!(game.against().contains("MRG-05"));
    game.says("mia", Role::Maintain, "/unblock fine").refused_with("CMD-03");
    game.says("mia", Role::Maintain, "/brake-resolved it has to be that long").done().at(Stage::Reviewing);
    // Another one is another question.
    let mut game = Game::pipeline();
    game.until_building();
    game.subject().documents.insert(Phase::Build, vec![concern("src/a.rs")]);
    game.green().at(Stage::ComplexityBrakeTriggered);
    let both = vec![concern("src/a.rs"), concern("src/b.rs")];
    game.push_with("two", |game| drop(game.subject().documents.insert(Phase::Build, both)));
    game.green().at(Stage::ComplexityBrakeTriggered);
    game.says("mia", Role::Maintain, "/brake-resolved fine").done().at(Stage::ComplexityBrakeTriggered);
    assert_eq!(game.now().stopped.as_ref().unwrap().reason, "BRK-02 src/b.rs: Too long.");
    game.says("mia", Role::Maintain, "/brake-resolved fine too").done().at(Stage::Reviewing);
}

#[test]
fn a_rejection_fails_the_review_of_this_content_until_the_same_person_approves_or_there_is_other_content() {
    let mut game = Game::pipeline();
    game.until_reviewing().says("mia", Role::Maintain, "/reject not what we asked for").done().at(Stage::ReviewFixing);
    assert!(game.against().contains("MRG-02"));
    game.approved_by("max").at(Stage::ReviewFixing);
    game.says("mia", Role::Maintain, "/approve I was wrong").done().at(Stage::VerifyGatePassed);
}

#[test]
fn stopping_or_reopening_after_verify_deploys_nothing_before_the_merge() {
    let mut game = Game::pipeline();
    game.through_verify().closed().reopened().at(Stage::VerifyGatePassed).may_merge();
    game.says("ada", Role::Write, "/stop wait").done().at(Stage::BlockedOnGate);
    game.says("mia", Role::Maintain, "/unblock go on").done().at(Stage::VerifyGatePassed).may_merge();
    game.merged().at(Stage::Deploying);
}

#[test]
fn reopening_leads_to_the_earliest_open_gate() {
    let mut game = Game::pipeline();
    game.until_reviewing().closed();
    game.push("while closed");
    game.reopened().at(Stage::Building);
}

#[test]
fn retargeting_starts_the_gates_again() {
    let mut game = Game::pipeline_with("branches: [next]");
    game.through_verify();
    game.retargeted("next").may_not_merge(&["MRG-01", "MRG-02"]);
    // What ran for the other base counts for nothing, as the approval does.
    let anew = game.job(TEST, CI, 2, "success");
    game.run(anew).at(Stage::Reviewing).may_not_merge(&["MRG-01", "MRG-02"]);
    game.approved_by("mia").may_merge();
}

#[test]
fn a_merge_around_the_gate_names_the_rules_and_stays_where_it_is() {
    let mut game = Game::pipeline();
    game.until_reviewing().merged().at(Stage::Reviewing);
    let bypassed = game.now().merged.clone().unwrap().bypassed;
    assert_eq!(bypassed, ["MRG-01".to_owned(), "MRG-02".to_owned()].into());
    game.deployment("success").at(Stage::Reviewing);
    assert!(game.surface().comment.contains("merged around the gate"));
}

#[test]
fn a_policy_that_a_change_brings_is_not_its_own_law() {
    let mut game = Game::merge();
    game.green().approved_by("zoe").may_merge();
    game.world.pull.open = false;
    game.world.pull.merged = Some(commit("merge"));
    game.policy_is("flow: pipeline");
    assert!(game.now().pipeline.is_none() && game.now().merged.as_ref().is_some_and(|at| at.bypassed.is_empty()));
}

#[test]
fn a_failed_deployment_counts_once_for_its_evidence() {
    let mut game = Game::pipeline();
    game.through_verify().merged().deployment("failure").at(Stage::DeployRetrying);
    game.look().look();
    assert_eq!(fails(&game, Phase::Deploy), 1);
    game.deployment("in_progress");
    assert_eq!(fails(&game, Phase::Deploy), 1);
    game.world.deployments.pop();
    game.deployment("error").at(Stage::DeployRetrying);
    assert_eq!(fails(&game, Phase::Deploy), 2);
    game.deployment("failure").at(Stage::BlockedOnGate);
    game.says("mia", Role::Maintain, "/unblock the target was down").done().at(Stage::Deploying);
    game.look().at(Stage::Deploying);
    game.deployment("success").at(Stage::PipelineComplete);
}

#[test]
fn without_deployments_the_checks_of_the_merge_commit_decide() {
    let mut game = Game::pipeline();
    game.through_verify().merged().at(Stage::Deploying);
    game.merge_check("running").at(Stage::Deploying);
    assert!(game.surface().comment.contains("DEP-04"), "{}", game.surface().comment);
    let told = |game: &Game| -> Vec<(String, Severity)> {
        let findings = &game.now().gates[&GateName::Phase(Phase::Deploy)].findings;
        findings.iter().map(|one| (one.rule.clone(), one.severity)).collect()
    };
    game.merge_check("failure").at(Stage::DeployRetrying);
    assert_eq!(told(&game), [("DEP-04".to_owned(), Severity::Error)]);
    game.merge_check("success").at(Stage::PipelineComplete);
    // That nobody saw it deployed is said with the pass.
    assert_eq!(told(&game), [("DEP-04".to_owned(), Severity::Warning)]);
    let mut seen = Game::pipeline();
    seen.through_verify().merged().deployment("success").at(Stage::PipelineComplete);
    assert_eq!(told(&seen), []);
}

#[test]
fn deployments_that_github_does_not_tell_of_are_not_taken_for_none() {
    let mut game = Game::pipeline();
    game.through_verify().merged().at(Stage::Deploying);
    game.world.untold.insert(Untold::Deployments);
    game.merge_check("success").at(Stage::Deploying);
    game.world.untold.clear();
    game.look().at(Stage::PipelineComplete);
}

#[test]
fn a_deployment_of_another_commit_shows_nothing() {
    let mut game = Game::pipeline();
    game.through_verify().merged().deployment("success");
    let mut game = Game::pipeline();
    game.through_verify().merged();
    game.world.deployments.push(deployment_of(commit("one"), "production", "success", "zoe"));
    game.look().at(Stage::Deploying);
}

#[test]
fn before_merge_the_deployment_is_part_of_the_gate() {
    let mut game = Game::pipeline_with("deploy: before_merge");
    game.says("ada", Role::Write, "/expand").green().approved_by("mia").at(Stage::PipelineComplete).may_merge();
    let mut game = Game::pipeline_with("deploy: before_merge");
    game.world.deployments.push(deployment_of(commit("one"), "staging", "failure", "zoe"));
    game.says("ada", Role::Write, "/expand").green().approved_by("mia").at(Stage::Deploying);
    game.may_not_merge(&["MRG-01"]);
}

#[test]
fn a_match_rule_tightens_the_flow_and_taking_the_label_off_loosens_nothing() {
    let mut game = Game::with("match: [{ label: product, flow: pipeline, mode: stepped }]");
    game.documents().opened().green().approved_by("mia").may_merge();
    game.labelled("product").at(Stage::PreferencesConfigured).may_not_merge(&["MRG-01"]);
    game.unlabelled().at(Stage::PreferencesConfigured).may_not_merge(&["MRG-01"]);
    game.says("ada", Role::Write, "/expand\n/expand").done().at(Stage::SteppedModePaused);
    game.policy_is("").may_merge();
    assert!(game.now().pipeline.is_none());
}

#[test]
fn nothing_is_judged_while_the_policy_is_invalid() {
    let mut game = Game::pipeline();
    game.until_building();
    game.world.law = crate::gate::world::Law::Invalid(vec![crate::gate::Finding::error("MRG-07", "bad", "mend")]);
    game.green().at(Stage::Building).may_not_merge(&["MRG-07"]);
}

fn allowed(game: &Game) -> Vec<String> {
    Capsule::of(game.now(), &[], &Commands::default(), str::to_owned).allowed
}

#[test]
fn after_delivery_comes_the_next_round() {
    let mut game = Game::pipeline();
    game.through_verify().merged().deployment("success").at(Stage::PipelineComplete);
    game.says("ada", Role::Write, "/pmf start").done().at(Stage::ValidatingPMF);
    game.says("ada", Role::Write, "/pmf validated").done().at(Stage::PipelineComplete);
    game.says("ada", Role::Write, "/iterate").done().at(Stage::Iterating);
    game.says("ada", Role::Write, "/iterate").refused_with("ITR-01");
    assert!(game.surface().comment.contains("`ITR-01`"), "{}", game.surface().comment);
    game.at(Stage::Iterating)
        .proposal(PROPOSAL)
        .says("ada", Role::Write, "/iterate")
        .done()
        .at(Stage::IterationProposed);
    assert!(game.surface().comment.contains("- `CH-1` (high): export as CSV"), "{}", game.surface().comment);
    game.says("ada", Role::Admin, "/approve").refused_with("CMD-07");
    game.says("mia", Role::Maintain, "/approve CH-1 CH-9").refused_with("CMD-05");
    assert_eq!(allowed(&game)[0], "wait: /approve [CH-1 …] or /reject WHY");
    game.at(Stage::IterationProposed).says("mia", Role::Maintain, "/approve").done().at(Stage::IterationConfirmed);
    assert_eq!(allowed(&game)[0], "a pull request with Phasegate-Change: #7");
    assert_eq!(accepted(&game), ["CH-1", "CH-2"]);
    // The round's work needs a pull request; this one is merged.
    game.says("ada", Role::Write, "/iterate design").refused_with("CMD-03");
    let refusal = game.refused_with("CMD-03");
    assert!(refusal.next.contains("Open a pull request"), "{refusal}");
    game.at(Stage::IterationConfirmed);
}

#[test]
fn a_round_before_the_merge_goes_on_in_the_same_pull_request() {
    let mut game = Game::pipeline_with("deploy: before_merge\n");
    game.says("ada", Role::Write, "/expand").green().approved_by("mia").at(Stage::PipelineComplete);
    game.proposal(PROPOSAL).says("ada", Role::Write, "/iterate").done().says("ada", Role::Write, "/iterate").done();
    for loose in ["/approve ch-1, the rest later", "/approve all but CH-2", "/approve CH-1, not CH-2", "/approve fine"]
    {
        game.says("mia", Role::Maintain, loose).refused_with("CMD-05");
        game.at(Stage::IterationProposed);
    }
    game.says("mia", Role::Maintain, "/approve ch-1").done().at(Stage::IterationConfirmed);
    assert_eq!(accepted(&game), ["CH-1"]);
    assert!(game.surface().comment.contains("`CH-2` (low, not in this round)"), "{}", game.surface().comment);
    assert!(game.surface().comment.contains("Push version 2 of"), "{}", game.surface().comment);
    game.without("scaffolding/design.md").says("ada", Role::Write, "/iterate Design").done().at(Stage::Designing);
    assert_eq!(
        game.now().round.as_ref().map(|round| round.impact),
        Some(Impact::Minor),
        "the delivered design is not enough"
    );
    game.says("ada", Role::Write, "/design").done();
}

fn accepted(game: &Game) -> Vec<&str> {
    let accepted = game.now().round.as_ref().and_then(|round| round.accepted.as_ref());
    accepted.into_iter().flatten().map(String::as_str).collect()
}

#[test]
fn a_round_that_touches_the_architecture_is_designed_first() {
    for (impact, next) in [("None", Stage::Analyzing), ("Minor", Stage::Designing), ("Major", Stage::Designing)] {
        let mut game = Game::pipeline_with("deploy: before_merge\n");
        game.says("ada", Role::Write, "/expand").green().approved_by("mia").at(Stage::PipelineComplete);
        game.proposal(&PROPOSAL.replace("None: both", &format!("{impact}: both")));
        game.says("ada", Role::Write, "/iterate").done().says("ada", Role::Write, "/iterate").done();
        game.says("mia", Role::Maintain, "/approve").done().at(Stage::IterationConfirmed);
        game.without("scaffolding/design.md").without("scaffolding/readiness.md");
        game.says("ada", Role::Write, "/iterate").done().at(next);
    }
}

#[test]
fn a_proposal_that_is_rejected_stays_in_the_record() {
    let mut game = Game::pipeline();
    game.through_verify().merged().deployment("success").at(Stage::PipelineComplete);
    game.proposal(PROPOSAL).says("ada", Role::Write, "/iterate").done().says("ada", Role::Write, "/iterate").done();
    game.says("mia", Role::Maintain, "/reject not now").done().at(Stage::PipelineComplete);
    assert!(game.now().round.is_none() && !game.surface().comment.contains("CH-1"));
    let recorded =
        game.log.iter().any(|entry| matches!(&entry.body, Body::Proposed(round) if round.changes.len() == 2));
    assert!(recorded);
    // Whoever writes the next one knows why, and brings another one.
    let told = |game: &Game| (game.surface().comment.contains("`not now`"), game.now().last_word().is_some());
    assert_eq!(told(&game), (true, true));
    game.says("ada", Role::Write, "/iterate").done().says("ada", Role::Write, "/iterate").refused_with("ITR-08");
    assert!(game.surface().comment.contains("mia has rejected exactly this proposal"), "{}", game.surface().comment);
    game.at(Stage::Iterating).proposal(&PROPOSAL.replace("a faster list", "a list of 100"));
    game.says("ada", Role::Write, "/iterate").done().at(Stage::IterationProposed);
    assert_eq!(told(&game), (false, false));
}

#[test]
fn before_it_begins_there_is_distilling_and_an_audit_of_the_stack() {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, "/audit-stack").done().at(Stage::AuditingStack);
    assert_eq!(allowed(&game)[0], "write scaffolding/stack-audit.md: Findings, Recommendation");
    // Each ends with what it is for.
    assert!(game.says("ada", Role::Write, "/audit-stack").refused_with("CMD-12").says.contains("does not exist"));
    game.aside().audit = Some(sheet("## Findings\n\n- Old.\n\n## Recommendation\n\nRenew it.\n"));
    game.aside().preferences = Some(blob("edited"));
    assert!(game.says("ada", Role::Write, "/audit-stack").refused_with("CMD-12").says.contains("`preferences.md`"));
    game.aside().preferences = None;
    game.says("ada", Role::Write, "/audit-stack").done().at(Stage::PreferencesConfigured);
    // Another audit makes another report.
    game.aside().audit.as_mut().unwrap().blob = Some(blob("first"));
    game.says("ada", Role::Write, "/audit-stack").done().at(Stage::AuditingStack);
    assert!(game.says("ada", Role::Write, "/audit-stack").refused_with("CMD-12").says.contains("an earlier audit"));
    game.aside().audit.as_mut().unwrap().blob = Some(blob("second"));
    game.says("ada", Role::Write, "/audit-stack").done().at(Stage::PreferencesConfigured);
    let old = ("docs/input/distilled-old.md".to_owned(), blob("old"));
    game.aside().distilled.extend([old]);
    game.says("ada", Role::Write, "/distill").done().at(Stage::Distilling);
    assert!(game.says("ada", Role::Write, "/distill").refused_with("CMD-12").says.contains("since it began"));
    game.at(Stage::Distilling).aside().distilled.insert("docs/input/distilled-new.md".to_owned(), blob("new"));
    game.says("ada", Role::Write, "/distill").done().at(Stage::PreferencesConfigured);
    // What can't be read is not fine.
    game.world.aside = None;
    game.says("ada", Role::Write, "/distill").refused_with("CMD-12");
    game.at(Stage::PreferencesConfigured);
}

#[test]
fn a_detour_or_a_round_that_is_not_proposed_is_called_off_by_a_drop() {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, "/distill").done().says("ada", Role::Write, "/drop").done();
    game.at(Stage::PreferencesConfigured).says("ada", Role::Write, "/audit-stack").done();
    // It is no way to keep what the audit must not touch.
    game.aside().preferences = Some(blob("edited"));
    assert!(game.says("ada", Role::Write, "/drop").refused_with("CMD-12").says.contains("`preferences.md`"));
    game.aside().preferences = None;
    game.at(Stage::AuditingStack).says("ada", Role::Write, "/drop").done().at(Stage::PreferencesConfigured);
    game.through_verify().merged().deployment("success").at(Stage::PipelineComplete);
    for begun in ["/iterate", "/distill"] {
        game.says("ada", Role::Write, begun).done();
        let stuck = game.says("ada", Role::Write, "/pmf start").refused_with("CMD-03");
        assert!(stuck.next.contains("`/drop`"), "{stuck}");
        game.says("ada", Role::Write, "/drop").done().at(Stage::PipelineComplete);
        assert!(game.now().round.is_none());
    }
    game.says("ada", Role::Write, "/pmf start").done().says("ada", Role::Write, "/pmf iterate").done();
    game.at(Stage::Ideating).says("ada", Role::Write, "/distill").done().says("ada", Role::Write, "/drop").done();
    game.at(Stage::Ideating);
}

#[test]
fn tampering_is_noted_once_for_each_delivery_that_tells_of_it() {
    let mut game = Game::pipeline();
    let told = |told: &str| Happened::Tampered {
        what: "The label was moved by `eve`.".to_owned(),
        told: Some(told.to_owned()),
    };
    game.happens(&[told("first")]);
    assert!(game.surface().comment.contains("The label was moved by `eve`."));
    game.happens(&[told("first")]);
    assert_eq!(game.now().tampered.len(), 1, "its look was cut off, and is done again");
    game.happens(&[told("second")]);
    assert_eq!(game.now().tampered.len(), 2, "she did it again");
}

/// Before something is built there is nothing that a check could show of it.
#[test]
fn a_reconcile_that_is_asked_for_early_returns_without_any_check() {
    for red in [false, true] {
        let mut game = Game::pipeline();
        game.without("scaffolding/readiness.md").says("ada", Role::Write, "/expand").done().at(Stage::Analyzing);
        if red {
            game.red();
        }
        game.says("ada", Role::Write, "/reconcile").done().at(Stage::Analyzing);
    }
}

#[test]
fn a_commit_that_claims_a_later_phase_is_told_so() {
    let mut game = Game::pipeline();
    game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done().at(Stage::Expanding);
    game.subject().trailer = Some(Phase::Verify);
    game.look();
    let comment = game.surface().comment;
    assert!(comment.contains("The head commit claims VERIFY (`Phasegate-Claim: verify`)"), "{comment}");
    game.subject().trailer = Some(Phase::Expand);
    game.look();
    assert!(!game.surface().comment.contains("counts for nothing"));
    (game.subject().trailer, game.subject().no_trailer) = (None, Some("done".to_owned()));
    game.look();
    let comment = game.surface().comment;
    assert!(comment.contains("claims `done` (`Phasegate-Claim:`), which is no phase"), "{comment}");
}

/// Found by the model: the push and the merge come before anybody looks.
#[test]
fn a_head_that_was_merged_unseen_is_never_complete() {
    let mut game = Game::pipeline();
    game.through_verify();
    game.world.pull.head = commit("unseen");
    game.merged().deployment("success");
    assert_ne!(game.stage(), Stage::PipelineComplete);
    assert!(game.now().merged.as_ref().unwrap().bypassed.contains("MRG-02"));
    assert!(!game.table().proven());
}

/// What a reviewer asked for is one FAIL, however often it is looked at while the author mends it.
#[test]
fn a_push_that_meets_an_old_review_is_no_second_fail() {
    let mut game = Game::pipeline();
    game.until_reviewing();
    game.review("mia", Role::Maintain, "CHANGES_REQUESTED");
    assert_eq!(fails(&game, Phase::Review), 1);
    game.push("two").push("three").green();
    assert_eq!(fails(&game, Phase::Review), 1, "pushes count nothing");
    game.review("bob", Role::Write, "APPROVED").review("bob", Role::Write, "APPROVED");
    assert_eq!(fails(&game, Phase::Review), 1, "an approval is nothing against it");
    game.review("mia", Role::Maintain, "CHANGES_REQUESTED");
    assert_eq!(fails(&game, Phase::Review), 2, "asked again");
    game.push("four").green();
    game.review("mia", Role::Maintain, "APPROVED");
    assert!(game.table().holds(Phase::Review));
}

#[test]
fn the_same_rejection_of_other_content_is_another_fail() {
    let mut game = Game::pipeline();
    game.until_reviewing();
    game.says("mia", Role::Maintain, "/reject not like this").look();
    assert_eq!(fails(&game, Phase::Review), 1);
    game.push("two").green();
    assert_eq!(fails(&game, Phase::Review), 1);
    game.says("mia", Role::Maintain, "/reject not like this");
    assert_eq!(fails(&game, Phase::Review), 2);
}

#[test]
fn a_green_beside_the_same_red_is_no_second_fail_of_deploy() {
    let mut game = Game::pipeline();
    game.through_verify().merged().merge_check("failure").at(Stage::DeployRetrying);
    let mut other = game.world.merge_checks[0].clone();
    (other.id, other.conclusion) = (other.id + 1_000, Some("success".to_owned()));
    if let Some(run) = &mut other.job_of {
        run.id += 1_000;
    }
    game.world.merge_checks.push(other);
    game.look().look();
    assert_eq!(fails(&game, Phase::Deploy), 1);
}

#[test]
fn a_review_counts_once_whatever_it_is_merged_into() {
    let mut game = Game::pipeline_with("branches: [stable]");
    game.world.base_protected = true;
    game.until_reviewing().review("mia", Role::Maintain, "CHANGES_REQUESTED").at(Stage::ReviewFixing);
    for base in ["stable", "main", "stable"] {
        let head = format!("for {base} {}", game.now().seq);
        game.retargeted(base).push(&head).green();
        assert!(game.table().fails(Phase::Review) <= 1, "{:?}", game.table());
        assert_ne!(game.stage(), Stage::BlockedOnGate);
    }
}

#[test]
fn the_way_back_to_what_was_rejected_is_no_fail() {
    let mut game = Game::pipeline();
    game.until_reviewing().says("mia", Role::Maintain, "/reject too slow");
    game.push("two").green().says("mia", Role::Maintain, "/reject still too slow");
    assert_eq!(game.table().fails(Phase::Review), 2);
    game.push("one").green();
    assert_eq!(game.now().heads.len(), 2, "it is back where it began");
    assert_eq!((game.table().fails(Phase::Review), game.stage() == Stage::BlockedOnGate), (2, false));
}
