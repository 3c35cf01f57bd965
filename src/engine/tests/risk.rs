//! Risks that somebody answers for: what can be accepted, by whom, for what and until when.

use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::Finding;
use crate::ids::Role;

/// Built, and a path strays from the design. It is the twelfth of January.
fn stray() -> Game {
    let mut game = Game::pipeline();
    game.until_building();
    game.subject()
        .documents
        .insert(Phase::Build, vec![Finding::error("BLD-07", "`tmp/x` is not in the design.", "Move it.")]);
    game.green().at(Stage::Building);
    game
}

const ACCEPTS: &str =
    "/risk-accept BLD-07 --owner @ada --ticket OPS-12 --until 1970-01-14 it goes with the next release";

#[test]
fn a_person_answers_for_it_until_a_day() {
    let mut game = stray();
    game.says("mia", Role::Maintain, ACCEPTS).done().at(Stage::Reviewing);
    let comment = game.surface().comment;
    assert!(
        comment.contains(
            "**RISK-ACCEPTED** until 1970-01-14: BLD-07 by `mia` (owner `ada`, ticket `OPS-12`): `it goes with the next release`."
        ),
        "{comment}"
    );
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    // Until the end of that day.
    game.hours_pass(24 * 2).may_merge();
    game.hours_pass(24).may_not_merge(&["waiver_expired"]);
    assert_eq!(
        game.finding("waiver_expired").says,
        "The risk of BLD-07 was accepted until 1970-01-14, and that is over."
    );
    game.says("mia", Role::Maintain, &ACCEPTS.replace("01-14", "01-30")).done().may_merge();
}

#[test]
fn it_is_for_the_content_that_was_shown() {
    let mut game = stray();
    game.says("mia", Role::Maintain, ACCEPTS).done().at(Stage::Reviewing);
    game.push("other").green().at(Stage::Building);
    assert!(game.surface().comment.contains("BLD-07") && !game.surface().comment.contains("RISK-ACCEPTED"));
    game.says("mia", Role::Maintain, ACCEPTS).done().at(Stage::Reviewing);
}

#[test]
fn what_is_missing_over_or_unknown_is_refused() {
    let mut game = stray();
    for (args, rule, says) in [
        ("", "CMD-05", "it says nothing"),
        ("--owner @ada", "CMD-05", "one to 20 rules"),
        ("BLD-07", "waiver_incomplete", "an owner"),
        ("BLD-07 --owner @ada", "waiver_incomplete", "a ticket"),
        ("BLD-07 --owner @ada --ticket TBD --until 1970-01-14 why", "waiver_incomplete", "looked up"),
        ("BLD-07 --owner @ada --ticket OPS-1", "waiver_incomplete", "a day"),
        ("BLD-07 --owner @ada --ticket OPS-1 --until 1970-01-14", "waiver_incomplete", "a reason"),
        ("BLD-07 --owner @ada --ticket OPS-1 --until 1970-01-11 why", "waiver_expired", "in the past"),
        ("BLD-07 --owner @ada --ticket OPS-1 --until 1970-02-30 why", "CMD-05", "is no day"),
        ("BLD-07 --owner @ada --ticket OPS-1 --until soon why", "CMD-05", "is no day"),
        ("BLD-07 --owner @ada --ticket OPS-1 --until 1999-01-01 why", "CMD-05", "366 days"),
        ("BLD-07 --owner ad@a --ticket OPS-1 --until 1970-01-14 why", "CMD-05", "nobody's name"),
        ("BLD-07 --owner --ticket OPS-1 --until 1970-01-14 why", "CMD-05", "has no value"),
        ("BLD-07 --owner @a --owner @b --ticket OPS-1 --until 1970-01-14 why", "CMD-05", "there twice"),
        ("BLD-07 --for ever", "CMD-05", "is not known"),
        ("BLD-04 --owner @ada --ticket OPS-1 --until 1970-01-14 why", "risk_accepted_security", "about security"),
        (
            "VER-05,BLD-07 --owner @ada --ticket OPS-1 --until 1970-01-14 why",
            "risk_accepted_security",
            "about security",
        ),
        ("build_tampered:tests/a.rs --owner @ada --ticket OPS-1 --until 1970-01-14 why", "MRG-04", "a cheat"),
        ("VER-01 --owner @ada --ticket OPS-1 --until 1970-01-14 why", "CMD-05", "no rule whose risk"),
        ("BLD-08 --owner @ada --ticket OPS-1 --until 1970-01-14 why", "CMD-03", "finds nothing"),
    ] {
        let refused = game.says("mia", Role::Maintain, &format!("/risk-accept {args}")).refused_with(rule).clone();
        assert!(refused.says.contains(says), "{args}: {refused:?}");
        game.hours_pass(1);
    }
    assert!(game.now().waivers.is_empty());
    game.at(Stage::Building);
}

#[test]
fn whoever_wrote_it_and_whoever_may_not_approve_accept_nothing() {
    let mut game = stray();
    game.says("ada", Role::Maintain, ACCEPTS).refused_with("CMD-07");
    game.says("bea", Role::Write, ACCEPTS).refused_with("CMD-02");
    game.at(Stage::Building);
}

#[test]
fn nothing_is_accepted_for_what_is_of_high_risk_and_runs_by_itself() {
    let mut game = stray();
    game.described("risk: high");
    game.says("mia", Role::Maintain, ACCEPTS).refused_with("unguarded_high_risk_auto");
    // Stopping is never refused.
    game.says("ada", Role::Write, "/stop unsafe it may leak").done();
    assert!(game.now().stopped.is_some());
}
