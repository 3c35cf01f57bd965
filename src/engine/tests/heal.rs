//! Confirmed cheats: what counts as one, how often it may be healed, what the next one comes to.

use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::world::Raises;
use crate::ids::{Digest, Role};
use crate::ledger::Body;
use crate::ledger::record::{Condition, Raised};

const TEST_FILE: &str = "tests/lamp.rs";

/// Built and frozen, before REVIEW.
fn built() -> Game {
    let mut game = Game::pipeline();
    game.test_says(TEST_FILE, "it shines");
    game.says("ada", Role::Write, "/expand").green().at(Stage::Reviewing);
    game
}

fn caught(game: &Game) -> usize {
    game.now().against.cheats.len()
}

/// A push that rewrites the frozen test, with its green.
fn cheats(game: &mut Game, head: &str) {
    game.push_with(head, |game| {
        game.test_says(TEST_FILE, head);
    });
    game.green();
}

/// The file as it was frozen, with its green.
fn heals(game: &mut Game, head: &str) {
    game.push_with(head, |game| {
        game.test_says(TEST_FILE, "it shines");
    });
    game.green();
}

#[test]
fn a_green_that_only_the_wire_stands_against_is_a_cheat_once_for_each_content() {
    let mut game = built();
    game.approved_by("mia").at(Stage::VerifyGatePassed);
    // Nothing counts while the checks run: it may not be done.
    game.push_with("weaker", |game| {
        game.test_says(TEST_FILE, "it exists");
    });
    assert_eq!(caught(&game), 0);
    game.green();
    game.approved_by("mia");
    assert_eq!(caught(&game), 1, "{:?}", game.stage());
    let fails: u8 = Phase::ALL.into_iter().map(|phase| game.table().fails(phase)).sum();
    assert_eq!(fails, 0, "nobody has claimed anything");
    // Another look, a claim and another green are the same cheat.
    game.look().green();
    game.says("ada", Role::Write, "/build").done();
    assert_eq!((caught(&game), game.table().fails(Phase::Build)), (1, 1));
    let comment = game.surface().comment;
    assert!(comment.contains("**Confirmed cheats: 1** (records "), "{comment}");
    assert!(comment.contains("2 more may be healed by an honest build"), "{comment}");
    // An honest build goes on as if nothing had been, and nothing is forgotten.
    heals(&mut game, "honest");
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    assert_eq!(caught(&game), 1);
}

#[test]
fn what_is_unfinished_and_what_is_missing_is_no_cheat() {
    let mut game = built();
    game.push_with("red", |game| {
        game.test_says(TEST_FILE, "half of it");
    });
    game.red();
    assert_eq!(caught(&game), 0, "the gate would not pass anyway, and nobody has claimed it");
    game.says("ada", Role::Write, "/build").done();
    assert_eq!(caught(&game), 1, "whoever claims it says that it is done");
}

#[test]
fn who_says_what_was_changed_and_asks_for_it_cheats_nobody() {
    let mut game = built();
    game.push_with("other", |game| {
        game.test_says(TEST_FILE, "it shines for an hour");
        game.subject().asks_refreeze = Some("AC-1 says an hour".to_owned());
    });
    game.green().approved_by("mia");
    assert_eq!(caught(&game), 0);
    let findings = game.surface().comment;
    assert!(findings.contains("Its commit asks for that: `AC-1 says an hour`."), "{findings}");
    assert!(game.against().iter().any(|rule| rule.starts_with("build_tampered")), "nothing passes by asking");
    game.says("mia", Role::Maintain, "/refreeze it does say an hour").done();
    game.green().approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    assert_eq!(caught(&game), 0);
}

#[test]
fn an_honest_build_passes_at_the_third_attempt_and_the_fourth_cheat_stops_for_a_person() {
    let mut game = built();
    for (at, head) in ["one", "two", "three"].into_iter().enumerate() {
        cheats(&mut game, head);
        game.approved_by("mia");
        assert_eq!(caught(&game), at + 1);
        assert!(game.now().stopped.is_none(), "{head}");
        heals(&mut game, &format!("honest {head}"));
        game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    }
    cheats(&mut game, "four");
    game.approved_by("mia");
    assert_eq!(caught(&game), 4);
    let stop = game.now().stopped.clone().expect("it is stopped");
    assert_eq!(stop.condition, Some(Condition::HealExhausted));
    assert_eq!(stop.reason, "heal_exhausted: 4 confirmed cheats, and 3 may be healed");
    let notice = game.notice().expect("a person is asked");
    assert_eq!(notice.title, "Phasegate: #7 is stopped after 4 confirmed cheats");
    assert!(notice.body.contains("**Recommendation:** (C) `ABANDON_TASK`"), "{}", notice.body);
    // Putting it back does not lift the stop, and neither does whoever wrote it.
    heals(&mut game, "late");
    assert!(game.against().contains("MRG-05"));
    game.says("ada", Role::Maintain, "/unblock fine now").refused_with("CMD-07");
    // A person may, and the next one stops it at once.
    game.says("mia", Role::Maintain, "/unblock once more").done();
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    cheats(&mut game, "five");
    game.approved_by("mia");
    assert_eq!(caught(&game), 5);
    assert!(game.now().stopped.is_some());
}

#[test]
fn nothing_lowers_the_count() {
    let mut game = built();
    cheats(&mut game, "one");
    game.approved_by("mia");
    assert_eq!(caught(&game), 1);
    game.says("mia", Role::Maintain, "/refreeze the lamp is another").done();
    game.says("ada", Role::Write, "/slice \"Another\" --scope \"All of it. in: src/**\"");
    game.push_with("rescoped", |game| {
        game.rewrites_documents("second");
    });
    game.green();
    game.closed().reopened();
    assert_eq!(caught(&game), 1);
    // The same work under another number is the same work.
    game.closed();
    let mut next = Game::with("flow: pipeline").later_than(&game);
    next.world.earlier = vec![game.as_three()];
    next.documents().look();
    assert_eq!(caught(&next), 1, "{:?}", next.log.last());
    assert!(next.surface().comment.contains("1 confirmed cheat"), "{}", next.surface().comment);
}

#[test]
fn a_report_stands_against_its_content_in_every_flow() {
    let mut game = built();
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    game.says("tim", Role::Triage, "/heal overfit").refused_with("CMD-02");
    game.says("ada", Role::Write, "/heal the table of expected values is compiled in").done();
    assert_eq!(caught(&game), 1);
    assert!(game.against().contains("reported_cheat"), "{:?}", game.against());
    game.says("bea", Role::Write, "/heal the same").refused_with("CMD-03");
    assert_eq!(caught(&game), 1);
    game.push("honest").green();
    game.approved_by("mia").may_merge();
    assert_eq!(caught(&game), 1);
    // Going back to it changes nothing.
    game.push("one").green();
    assert!(game.against().contains("reported_cheat"), "{:?}", game.against());

    let mut game = Game::merge();
    for head in ["a1", "a2", "a3", "a4"] {
        game.push(head).green();
        game.says("bea", Role::Write, "/heal it asserts nothing").done();
        assert!(game.against().contains("reported_cheat"));
    }
    assert_eq!(caught(&game), 4);
    assert_eq!(game.now().stopped.as_ref().and_then(|stop| stop.condition), Some(Condition::HealExhausted));
}

#[test]
fn before_anything_is_built_there_is_nothing_to_report() {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, "/heal overfit").refused_with("CMD-03");
    assert!(!game.log.iter().any(|entry| matches!(entry.body, Body::Cheated { .. })));
}

/// A head whose commit message has `Phasegate-Heal:`, on top of content that stays as it is.
fn reports(game: &mut Game, head: &str, content: &str, reason: &str) {
    let raised = Raised { commit: commit(head), key: Digest::of(reason) };
    let heals = vec![Raises { raised, reason: reason.to_owned() }];
    game.push_empty(head, content, |game| game.subject().heals = heals);
}

#[test]
fn whoever_builds_reports_it_by_a_commit_once_for_the_content() {
    let mut game = built();
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    reports(&mut game, "told", "one", "the table of expected values is compiled in");
    assert_eq!(caught(&game), 1);
    let found = game.finding("reported_cheat");
    assert!(found.says.contains("`commit") && found.says.contains("compiled in"), "{found:?}");
    let seq = game.now().seq;
    // Another look, or the same commit once more, reports nothing more.
    game.look();
    reports(&mut game, "rebased", "one", "the table of expected values is compiled in");
    assert_eq!(caught(&game), 1);
    assert!(game.now().seq >= seq && game.against().contains("reported_cheat"));
    // Other content is judged anew, although the commit is there still.
    game.push("honest").green();
    game.approved_by("mia").may_merge();
    assert_eq!(caught(&game), 1);
}

#[test]
fn a_report_by_a_commit_counts_and_only_where_something_is_built() {
    let mut game = Game::merge();
    for (at, head) in ["a1", "a2", "a3", "a4"].into_iter().enumerate() {
        game.push(head).green();
        reports(&mut game, &format!("told {head}"), head, &format!("it asserts nothing, {head}"));
        assert!(game.against().contains("reported_cheat"));
        assert_eq!(caught(&game), at + 1);
    }
    assert_eq!(game.now().stopped.as_ref().and_then(|stop| stop.condition), Some(Condition::HealExhausted));

    let mut early = Game::pipeline();
    reports(&mut early, "told", "one", "it is empty");
    assert_eq!(caught(&early), 0, "there is nothing yet that could pass");
}
