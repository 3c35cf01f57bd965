//! Autonomy and risk as a description declares them, and what they ask of a gate.

use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::phase;
use crate::ids::Role;
use crate::ledger::Body;
use crate::policy::Autonomy;

#[test]
fn a_description_lowers_and_never_raises() {
    let mut game = Game::with(ALONE);
    game.opened().green().may_merge();
    game.described("autonomy: conservative\n\nAdds a lamp.").may_not_merge(&["MRG-03"]);
    assert_eq!(game.now().autonomy, Autonomy::Conservative);
    // A line that is taken out again loosens nothing, and neither does another policy.
    game.described("Adds a lamp.").may_not_merge(&["MRG-03"]);
    game.described("autonomy: auto").may_not_merge(&["MRG-03"]);
    let raised = game.finding("unread_header");
    assert!(!raised.blocks() && raised.says.contains("a description raises nothing"), "{raised:?}");
    game.policy_is(&format!("{ALONE}mode: stepped")).may_not_merge(&["MRG-03"]);
    assert_eq!(game.now().autonomy, Autonomy::Conservative);
    game.described("autonomy: manual");
    assert_eq!(game.now().autonomy, Autonomy::Manual);
    let declared = game.log.iter().filter(|record| matches!(record.body, Body::Declared(_))).count();
    assert_eq!(declared, 2, "only what is news is on record");
    game.approved_by("mia").may_merge();
}

#[test]
fn a_new_number_for_the_same_work_forgets_no_declaration() {
    let mut game = Game::with(ALONE);
    game.described("risk: high\nautonomy: manual").closed();
    let mut next = Game::with(ALONE).later_than(&game);
    next.world.earlier = vec![game.as_three()];
    next.green();
    assert!(next.now().declared.high_risk);
    assert_eq!(next.now().autonomy, Autonomy::Manual);
}

#[test]
fn declared_risk_needs_a_lowered_rung_and_a_person() {
    let mut game = Game::with(ALONE);
    game.described("risk: high").green().may_not_merge(&["unguarded_high_risk_auto"]);
    assert_eq!(game.finding("unguarded_high_risk_auto").path, None);
    game.approved_by("mia").may_not_merge(&["unguarded_high_risk_auto"]);
    game.described("risk: high\nautonomy: conservative").may_merge();
    game.push("two").green().may_not_merge(&["MRG-03"]);
    // A rule of the policy lowers it as well.
    let mut game = Game::with(&format!("{ALONE}match: [{{ label: care, autonomy: manual }}]"));
    game.described("risk: high").green().may_not_merge(&["unguarded_high_risk_auto"]);
    game.labelled("care").may_not_merge(&["MRG-03"]);
    game.approved_by("mia").may_merge();
}

#[test]
fn verify_waits_where_nothing_guards_a_high_risk() {
    let mut game = Game::pipeline();
    game.described("risk: high");
    game.says("ada", Role::Write, "/expand").green().approved_by("mia").at(Stage::Verifying);
    let comment = game.surface().comment;
    assert!(comment.contains("unguarded_high_risk_auto"), "{comment}");
    // It waits: whoever claims it has not failed.
    game.says("ada", Role::Write, "/verify").done().at(Stage::Verifying);
    game.described("risk: high\nautonomy: conservative").at(Stage::VerifyGatePassed).may_merge();
}

#[test]
fn on_a_lowered_rung_verify_waits_for_a_person() {
    let waits = |game: &Game| {
        let judged = phase::judge(Phase::Verify, game.now(), &game.world);
        judged.findings.into_iter().find(|finding| finding.rule == "VER-17")
    };
    let mut game = Game::pipeline();
    game.until_reviewing();
    game.finds("helper[bot]", Role::None, "gaps: []");
    assert_eq!(waits(&game), None, "the highest rung waits for nobody here");
    game.described("autonomy: manual");
    let told = waits(&game).expect("it waits");
    assert!(
        told.waiting && told.says.starts_with("The autonomy is manual, and nobody entitled has approved"),
        "{told:?}"
    );
    game.approved_by("ada");
    assert!(waits(&game).is_some(), "its author is nobody to wait for");
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    assert_eq!(waits(&game), None);
}
