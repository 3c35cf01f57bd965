//! RECONCILE: what it waits for, what it stops for, and what it only shows.

use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::reconcile::repair::{Repair, Rewritten};
use crate::gate::{Finding, Severity};
use crate::ids::{BlobId, Role};
use crate::ledger::Body;

fn drifts(game: &mut Game, findings: &[Finding]) {
    game.subject().documents.insert(Phase::Reconcile, findings.to_vec());
}

fn structural() -> Finding {
    Finding::error("REC-02", "Structural drift: the design has `dim(level)`.", "Write it there.")
        .at("scaffolding/design.md", Some(18))
}

fn spec_violating() -> Finding {
    Finding::error("REC-08", "Spec-violating drift: this tests `AC-3`.", "A person decides.")
        .at("tests/test_dimmer.py", Some(9))
}

#[test]
fn documents_that_are_out_of_step_are_waited_for_and_count_no_attempt() {
    let mut game = Game::pipeline();
    game.until_reviewing();
    drifts(&mut game, &[structural()]);
    game.approved_by("mia").at(Stage::Reconciling);
    game.says("ada", Role::Write, "/reconcile").at(Stage::Reconciling);
    assert_eq!(game.table().fails(Phase::Reconcile), 0);
    assert!(game.surface().comment.contains("REC-02"), "{}", game.surface().comment);
    drifts(&mut game, &[Finding { severity: Severity::Warning, ..structural() }]);
    game.look().at(Stage::VerifyGatePassed).may_merge();
}

#[test]
fn what_goes_against_the_scope_stops_for_a_person() {
    let mut game = Game::pipeline();
    game.until_reviewing();
    drifts(&mut game, &[structural(), spec_violating()]);
    game.approved_by("mia").at(Stage::ReconcileBlocked);
    assert!(game.against().contains("MRG-05"));
    let words = "BLOCKED: reconcile found what only a person can decide (cycle 1 of 4). ";
    assert!(game.surface().comment.contains(words), "{}", game.surface().comment);
    assert!(!game.surface().comment.contains("the fourth blocks"), "it has: {}", game.surface().comment);
    game.says("ada", Role::Write, "/unblock fine").refused_with("CMD-02");
    // That somebody lets it go on does not make it fine.
    game.says("mia", Role::Maintain, "/unblock it is in the scope now").done().at(Stage::Reconciling);
    drifts(&mut game, &[]);
    game.look().at(Stage::VerifyGatePassed).may_merge();
}

#[test]
fn a_look_before_anything_is_built_only_shows_what_it_sees() {
    let mut game = Game::pipeline();
    game.until_designing();
    drifts(&mut game, &[structural(), spec_violating()]);
    game.says("ada", Role::Write, "/reconcile").done().at(Stage::Designing);
}

#[test]
fn a_fix_that_leaves_the_documents_behind_is_told_where_verify_waits() {
    let mut game = Game::pipeline();
    game.until_reviewing().approved_by("mia").at(Stage::VerifyGatePassed);
    game.push_with("two", |game| drifts(game, &[structural()]));
    game.green().approved_by("mia");
    assert_ne!(game.stage(), Stage::VerifyGatePassed);
    assert!(game.surface().comment.contains("REC-02"), "{}", game.surface().comment);
    drifts(&mut game, &[]);
    game.look().at(Stage::VerifyGatePassed);
}

#[test]
fn what_reconcile_will_ask_for_is_told_when_it_is_built() {
    let mut game = Game::pipeline();
    game.until_building();
    drifts(&mut game, &[structural(), Finding { rule: "REC-01".to_owned(), ..structural() }]);
    game.look();
    let told = crate::gate::phase::judge(Phase::Build, game.now(), &game.world).findings;
    let early: Vec<&Finding> = told.iter().filter(|finding| finding.rule.starts_with("REC-")).collect();
    assert_eq!(early.len(), 1, "what BUILD says itself is not said twice: {told:#?}");
    assert_eq!((early[0].rule.as_str(), early[0].severity), ("REC-02", Severity::Warning));
    game.green().at(Stage::Reviewing);
}

#[test]
fn a_tamper_that_nobody_claimed_is_no_verdict_of_reconcile() {
    let mut game = Game::pipeline();
    game.test_says("tests/lamp.rs", "one");
    game.until_reviewing();
    drifts(&mut game, &[structural()]);
    game.approved_by("mia").at(Stage::Reconciling);
    game.test_says("tests/lamp.rs", "less").look().at(Stage::Reconciling);
    assert!(game.against().contains("build_tampered:tests/lamp.rs"), "{:?}", game.against());
    assert_eq!(game.table().fails(Phase::Reconcile), 0);
    drifts(&mut game, &[structural(), spec_violating()]);
    game.look().at(Stage::ReconcileBlocked);
}

/// `scaffolding/design.md` with one line more.
fn repair() -> Repair {
    let blob = |digit: &str| BlobId::new(digit.repeat(40)).unwrap();
    let file = Rewritten { path: "scaffolding/design.md", was: blob("a"), is: blob("b"), text: "right\n".to_owned() };
    Repair { files: vec![file], diff: "--- a/scaffolding/design.md\n+```\n".to_owned() }
}

fn repaired(game: &Game) -> usize {
    game.last().iter().filter(|entry| matches!(entry.body, Body::Repaired { .. })).count()
}

#[test]
fn what_a_machine_can_put_right_is_shown_and_by_policy_written() {
    let law = |repairs: &str| {
        format!(
            "gates: {{ reconcile: {{ repairs: {repairs} }}, verify: {{ checks: [{{ name: ci / test, workflow: .github/workflows/ci.yml }}] }} }}"
        )
    };
    for (says, written) in [("suggest", 0), ("commit", 1)] {
        let mut game = Game::pipeline_with(&law(says));
        game.until_reviewing();
        drifts(&mut game, &[structural()]);
        game.subject().repair = Some(repair());
        // Nobody writes into a change that is still reviewed.
        assert_eq!((game.look().stage(), repaired(&game)), (Stage::Reviewing, 0));
        game.approved_by("mia").at(Stage::Reconciling);
        assert_eq!(repaired(&game), written, "{says}");
        // Its fence is longer than any in the documents.
        let comment = game.surface().comment;
        assert!(comment.contains("````diff\n--- a/scaffolding/design.md\n+```\n````\n"), "{comment}");
        assert_eq!(comment.contains("Phasegate commits this"), written == 1, "{comment}");
        // Once for a head.
        game.look().at(Stage::Reconciling);
        assert_eq!(repaired(&game), 0);
    }
    // A detour of somebody's own is no place for it either: nobody has approved anything yet.
    let mut game = Game::pipeline_with(&law("commit"));
    game.until_reviewing();
    drifts(&mut game, &[structural()]);
    game.subject().repair = Some(repair());
    game.says("ada", Role::Write, "/reconcile").done().at(Stage::Reconciling);
    assert_eq!(repaired(&game), 0);
    // From a fork, or where what it pushes starts no checks, it is shown.
    for from_fork in [true, false] {
        let mut game = Game::pipeline_with(&law("commit"));
        game.until_reviewing();
        drifts(&mut game, &[structural()]);
        game.subject().repair = Some(repair());
        (game.world.pull.fork, game.world.commits) = (from_fork, from_fork);
        game.approved_by("mia").at(Stage::Reconciling);
        assert_eq!(repaired(&game), 0);
        assert!(game.surface().comment.contains("`git apply` takes this"), "{}", game.surface().comment);
    }
}
