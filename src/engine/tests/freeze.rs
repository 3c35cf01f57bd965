//! What is frozen when, and what becomes of a change that touches it.

use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::phase::{self, Outcome as GateOutcome};
use crate::gate::{Finding, Verdict};
use crate::ids::Role;
use crate::ledger::Body;
use crate::ledger::record::{By, Froze};

const TEST_FILE: &str = "tests/lamp.rs";
const TAMPERED: &str = "build_tampered:tests/lamp.rs";

/// A pipeline with a test, on its way.
fn with_a_test() -> Game {
    let mut game = Game::pipeline();
    game.test_says(TEST_FILE, "it shines").test_says("Cargo.lock", "one");
    game
}

/// The rules of a gate that fails now.
fn against(game: &Game, gate: Phase) -> Vec<String> {
    let judged = phase::judge(gate, game.now(), &game.world);
    assert_eq!(judged.outcome, GateOutcome::Fail, "{judged:#?}");
    judged.findings.into_iter().filter(|finding| !finding.waiting).map(|finding| finding.rule).collect()
}

#[test]
fn the_pass_of_build_freezes_what_is_there() {
    let mut game = with_a_test();
    game.says("ada", Role::Write, "/expand").done().at(Stage::Building);
    assert!(game.freezes().is_empty(), "nobody has claimed anything, and nothing has passed");
    game.green().at(Stage::Reviewing);
    assert_eq!(game.freezes(), ["built 2"]);
    let frozen = game.now().frozen.clone().unwrap();
    assert_eq!((frozen.files, frozen.why, frozen.by), (2, Froze::Built, By::Bot));
    assert_eq!(frozen.head, commit("one"));
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    assert_eq!(game.freezes(), ["built 2"], "the same proof is not frozen twice");
    assert!(game.surface().comment.contains("frozen: 2 files at"), "{}", game.surface().comment);
}

/// BUILD asks for a test of each criterion, and whoever writes it must not trip over a freeze.
#[test]
fn a_claim_without_a_test_for_each_criterion_freezes_nothing() {
    let mut game = with_a_test();
    game.says("ada", Role::Write, "/expand").done();
    let missing = Finding::error("BLD-03", "`AC-2` is named by no test.", "Write one.");
    let documents =
        |game: &mut Game, found| drop(game.world.subject.as_mut().unwrap().documents.insert(Phase::Build, found));
    documents(&mut game, vec![missing]);
    game.says("ada", Role::Write, "/build").done();
    assert!(game.freezes().is_empty());
    // A warning of it is none that is missing.
    documents(&mut game, vec![Finding::warning("BLD-03", "It stands elsewhere.", "Look.")]);
    game.says("ada", Role::Write, "/build").done();
    assert_eq!(game.freezes(), ["claimed 1"]);
}

#[test]
fn a_claim_freezes_the_tests_before_anything_is_built_and_leaves_lock_files_open() {
    let mut game = with_a_test();
    game.says("ada", Role::Write, "/expand").done();
    game.says("ada", Role::Write, "/build").done();
    assert_eq!(game.freezes(), ["claimed 1"]);
    // Building adds a dependency and a test, and takes nothing away.
    game.push_with("built", |game| {
        game.test_says("Cargo.lock", "two").test_says("tests/more.rs", "more");
    });
    game.green().at(Stage::Reviewing);
    assert_eq!(game.freezes(), ["claimed 1", "built 3"]);
    game.push_with("lock", |game| {
        game.test_says("Cargo.lock", "three");
    });
    assert_eq!(against(&game, Phase::Build), ["build_tampered:Cargo.lock"]);
}

#[test]
fn every_claim_of_build_freezes_and_only_the_first_does() {
    let claims: [fn(&mut Game); 3] = [
        |game| {
            game.says("ada", Role::Write, "/build").done();
        },
        |game| {
            game.ready();
        },
        |game| {
            game.push_with("claimed", |game| game.subject().trailer = Some(Phase::Build));
        },
    ];
    for claim in claims {
        let mut game = with_a_test();
        game.says("ada", Role::Write, "/expand").done();
        claim(&mut game);
        assert_eq!(game.freezes(), ["claimed 1"]);
        game.push_with("again", |game| {
            game.test_says("tests/more.rs", "more").subject().trailer = Some(Phase::Build);
        });
        assert_eq!(game.freezes(), ["claimed 1"], "a second claim is no second freeze");
    }
}

#[test]
fn a_claim_that_came_before_the_tests_leaves_nothing_open() {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, "/expand").done();
    game.says("ada", Role::Write, "/build").done();
    game.push_with("built", |game| {
        game.test_says(TEST_FILE, "it shines");
    });
    game.green().at(Stage::Reviewing);
    assert_eq!(game.freezes(), ["claimed 0", "built 1"]);
    game.push_with("weaker", |game| {
        game.test_says(TEST_FILE, "it is there");
    });
    assert_eq!(against(&game, Phase::Build), [TAMPERED]);
}

#[test]
fn a_changed_test_fails_build_until_it_is_back() {
    let mut game = with_a_test();
    game.until_reviewing().push_with("weaker", |game| {
        game.test_says(TEST_FILE, "it is there");
    });
    game.green().at(Stage::Building).may_not_merge(&["MRG-01", "MRG-02", TAMPERED]);
    let finding = game.finding(TAMPERED);
    assert_eq!(finding.path.as_deref(), Some(TEST_FILE));
    assert!(finding.next.starts_with("Put it back as it was (blob ") && finding.next.contains("`/refreeze REASON`"));
    assert_eq!(game.freezes().len(), 1, "what was tampered with is not frozen anew");
    game.push_with("back", |game| {
        game.test_says(TEST_FILE, "it shines");
    });
    game.green().approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
}

#[test]
fn a_claim_on_tampered_proof_is_a_fail_that_counts() {
    let mut game = with_a_test();
    game.until_reviewing().push_with("weaker", |game| {
        game.test_is_gone(TEST_FILE);
    });
    game.green().says("ada", Role::Write, "/build").done();
    game.at(Stage::BuildRetrying);
    assert_eq!(game.table().fails(Phase::Build), 1);
}

#[test]
fn a_tamper_in_review_is_no_reviewers_verdict() {
    let mut game = with_a_test();
    game.until_reviewing().review("mia", Role::Maintain, "CHANGES_REQUESTED").at(Stage::ReviewFixing);
    assert_eq!(game.table().fails(Phase::Review), 1);
    game.push_with("weaker", |game| {
        game.test_says(TEST_FILE, "it is there");
    });
    game.green().approved_by("mia").at(Stage::ReviewFixing);
    assert_eq!(against(&game, Phase::Review)[0], TAMPERED);
    assert_eq!(game.table().fails(Phase::Review), 1);
    game.push_with("back", |game| {
        game.test_says(TEST_FILE, "it shines");
    });
    game.green().approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
}

#[test]
fn every_gate_behind_the_freeze_looks() {
    let mut game = with_a_test();
    game.through_verify().test_says("contract.json", "not frozen, so free").look();
    game.may_merge();
    game.test_says(TEST_FILE, "it is there").look();
    for gate in [Phase::Build, Phase::Review, Phase::Reconcile, Phase::Verify, Phase::Deploy] {
        assert_eq!(against(&game, gate)[0], TAMPERED, "{gate}");
    }
    for gate in [Phase::Expand, Phase::Design, Phase::Analyze] {
        assert_ne!(phase::judge(gate, game.now(), &game.world).outcome, GateOutcome::Fail, "{gate}");
    }
    game.may_not_merge(&[TAMPERED]);
    assert_eq!(game.recorded().verdict, Verdict::Fail);
}

#[test]
fn the_contract_has_a_code_of_its_own() {
    let mut game = with_a_test();
    game.test_says("contract.json", "{}").through_verify().may_merge();
    game.test_says("contract.json", "{\"less\": true}").look();
    game.may_not_merge(&["contract_tampered"]);
}

#[test]
fn an_entitled_person_accepts_what_is_there_and_nobody_else() {
    let mut game = with_a_test();
    game.until_reviewing().push_with("other", |game| {
        game.test_says(TEST_FILE, "it shines, in the other unit").test_is_gone("Cargo.lock");
    });
    game.green().at(Stage::Building);
    let shown = game.surface().comment;
    assert!(shown.contains("**Not as frozen at `"), "{shown}");
    assert!(shown.contains("The lock file `Cargo.lock` was frozen and is gone."), "{shown}");
    game.says("ada", Role::Admin, "/refreeze I know").refused_with("CMD-07");
    game.says("bob", Role::Write, "/refreeze I know").refused_with("CMD-02");
    game.says("mia", Role::Maintain, "/refreeze").refused_with("CMD-05");
    assert_eq!(game.freezes().len(), 1);
    game.says("mia", Role::Maintain, "/refreeze the unit was wrong in the scope").done().at(Stage::Reviewing);
    assert_eq!(game.freezes(), ["built 2", "refrozen 1"]);
    let by = game.now().frozen.clone().unwrap().by;
    assert!(matches!(&by, By::Person { person, .. } if person.login == "mia"), "{by:?}");
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    game.says("mia", Role::Maintain, "/refreeze again").refused_with("CMD-03");
    // What was accepted is what holds from now on.
    game.push_with("back", |game| {
        game.test_says(TEST_FILE, "it shines");
    });
    assert_eq!(against(&game, Phase::Build), [TAMPERED]);
}

#[test]
fn what_is_accepted_is_what_was_listed() {
    let mut game = with_a_test();
    game.through_verify().test_says(TEST_FILE, "weaker").look();
    let orders = game.comment("mia", standing(Role::Maintain), "/refreeze read it");
    // It became another before this was heard, under the same head.
    game.test_says(TEST_FILE, "weaker still");
    game.happens(&orders);
    game.refused_with("CMD-04");
    game.says("mia", Role::Maintain, "/refreeze read that too").done().may_merge();
}

#[test]
fn a_second_way_through_the_phases_freezes_nothing_that_was_changed() {
    let mut game = with_a_test();
    game.until_reviewing().push_with("another scope", |game| {
        game.test_says(TEST_FILE, "it is there").rewrites_documents("second");
    });
    game.green().approved_by("mia").at(Stage::Building);
    assert_eq!(game.freezes(), ["built 2"]);
    assert_eq!(against(&game, Phase::Build), [TAMPERED]);
}

#[test]
fn a_lost_manifest_is_a_failure_and_a_person_mends_it() {
    let mut game = with_a_test();
    game.through_verify().may_merge();
    game.proof.lost = true;
    // Nothing has changed since, and that can be seen without it.
    game.look().may_merge();
    game.test_says("tests/more.rs", "more").look();
    game.may_not_merge(&["tripwire_missing"]);
    assert!(game.finding("tripwire_missing").says.contains("it is not on the ledger"));
    game.says("mia", Role::Maintain, "/refreeze the ledger was cleaned up").done();
    game.proof.lost = false;
    game.look().may_merge();
}

#[test]
fn a_change_from_before_there_was_a_freeze_is_frozen_where_build_holds_and_asked_about_where_not() {
    let mut game = with_a_test();
    game.through_verify();
    game.state.as_mut().unwrap().frozen = None;
    game.look().may_merge();
    assert_eq!(game.freezes(), ["built 2", "built 2"], "it is the very content that BUILD passed for");

    let mut game = with_a_test();
    game.through_verify();
    game.state.as_mut().unwrap().frozen = None;
    game.push_with("newer", |game| {
        game.test_says(TEST_FILE, "who knows what it was");
    });
    game.green().approved_by("mia").at(Stage::Building);
    assert_eq!(against(&game, Phase::Build), ["tripwire_missing"]);
    assert!(game.finding("tripwire_missing").says.contains("BUILD has passed for older content"));
    game.says("mia", Role::Maintain, "/refreeze read the tests").done();
    game.at(Stage::VerifyGatePassed).may_merge();
}

#[test]
fn what_is_too_much_to_freeze_is_said() {
    let mut game = with_a_test();
    game.proof.unreadable = Some("there are 50001 files to freeze; more than 50000 are not".to_owned());
    game.until_reviewing().may_not_merge(&["MRG-01", "MRG-02", "tripwire_missing"]);
    assert!(game.finding("tripwire_missing").says.contains("50001 files"));
    game.says("mia", Role::Maintain, "/refreeze fine").refused_with("CMD-03");
    assert!(!game.log.iter().any(|entry| matches!(entry.body, Body::Refrozen { .. })), "nothing half done");
}

#[test]
fn the_merge_flow_freezes_nothing() {
    let mut game = Game::merge();
    game.test_says(TEST_FILE, "it shines").green().approved_by("mia").may_merge();
    assert!(game.freezes().is_empty() && game.now().frozen.is_none());
    game.push_with("other", |game| {
        game.test_says(TEST_FILE, "another");
    });
    game.green().approved_by("mia").may_merge();
}

#[test]
fn many_are_told_one_by_one_and_the_rest_is_counted() {
    let mut game = Game::pipeline();
    for n in 0..80 {
        game.test_says(&format!("tests/{n:02}.rs"), "x");
    }
    game.through_verify();
    for n in 0..80 {
        game.test_says(&format!("tests/{n:02}.rs"), "y");
    }
    game.look();
    let told = game.findings();
    assert_eq!(told.iter().filter(|finding| finding.rule.starts_with("build_tampered:")).count(), 50);
    assert_eq!(game.finding("build_tampered").says, "And 30 more frozen files are not as they were.");
    let shown = game.surface().comment;
    assert!(shown.contains("and 30 more; `phasegate guard check` lists them"), "{shown}");
    game.says("mia", Role::Maintain, "/refreeze a formatter went over them").done().may_merge();
}

#[test]
fn a_soft_base_is_no_ground_to_freeze_anew_on() {
    let mut game = with_a_test();
    game.base_has("tests/theirs.rs", "strong").until_reviewing();
    assert_eq!(game.freezes(), ["built 3"]);
    // What only the base has changed trips nothing, there or anywhere.
    game.base_has("tests/theirs.rs", "weak").retargeted("soft");
    game.push("on soft").green().at(Stage::Reviewing);
    assert_eq!(game.freezes(), ["built 3"], "and it is not what is frozen from now on");
    // In front of main it is the change that weakens it.
    game.test_says("tests/theirs.rs", "weak").retargeted("main");
    assert_eq!(against(&game, Phase::Build), ["build_tampered:tests/theirs.rs"]);
    // A base that is under the law may move.
    game.base_has("tests/theirs.rs", "stronger").push("updated");
    game.green().approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    assert_eq!(game.freezes(), ["built 3", "built 3"]);
}

/// Another pull request with this one's head, once this one is closed.
fn heir(first: &mut Game) -> Game {
    first.closed();
    let mut second = Game::with("flow: pipeline").later_than(first);
    second.documents();
    second.world.earlier = vec![first.as_three()];
    second.proof.theirs = first.log.clone();
    second
}

#[test]
fn a_new_number_takes_over_what_is_frozen() {
    let mut first = with_a_test();
    first.until_reviewing();
    let mut second = heir(&mut first);
    second.test_says(TEST_FILE, "it is there").test_says("Cargo.lock", "one").look();
    let frozen = second.now().frozen.clone().unwrap();
    assert_eq!(frozen.manifest, first.now().frozen.clone().unwrap().manifest);
    assert!(second.surface().comment.contains("2 files are frozen"), "{}", second.surface().comment);
    second.says("ada", Role::Write, "/expand").done().green().at(Stage::Building);
    assert_eq!(against(&second, Phase::Build), [TAMPERED]);
    second.push_with("back", |game| {
        game.test_says(TEST_FILE, "it shines");
    });
    second.green().approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
}

#[test]
fn other_work_on_the_same_branch_takes_nothing_over_and_neither_does_what_was_merged() {
    let mut first = with_a_test();
    first.until_reviewing();
    let mut second = heir(&mut first);
    // Another head, another patch, and none of its commits.
    second.push_with("anew", |game| {
        game.test_says("tests/other.rs", "other work");
    });
    assert_eq!(second.now().frozen, None);
    second
        .says("ada", Role::Write, "/expand")
        .done()
        .green()
        .approved_by("mia")
        .at(Stage::VerifyGatePassed)
        .may_merge();

    let mut merged = with_a_test();
    merged.through_verify().merged();
    let mut next = heir(&mut merged);
    next.look();
    assert_eq!(next.now().frozen, None);
}
