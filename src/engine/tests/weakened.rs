//! Tests that got weaker: told to whoever reviews, and held by policy.

use crate::engine::kit::*;
use crate::flow::Stage;
use crate::guard::weaken::{Found, Unread, Weaker, What};
use crate::ids::{BlobId, Role};

const PATH: &str = "tests/lamp.rs";

fn blob(name: &str) -> Option<BlobId> {
    BlobId::new(commit(name).as_str()).ok()
}

fn weaker(name: &str) -> Found {
    let says = "It does not say any more that it shines.".to_owned();
    let (test, next) = ("shines".to_owned(), "Put the assertion back.".to_owned());
    let weaker = Weaker { what: What::AssertionRemoved, test, line: 7, gone: false, says, next };
    Found { path: PATH.to_owned(), now: blob(name), weaker }
}

/// A change that may merge but for what got weaker in it.
fn reviewed(policy: &str, head: &str) -> Game {
    let mut game = Game::pipeline_with(policy);
    game.says("ada", Role::Write, "/expand");
    weakens(&mut game, head);
    game
}

fn weakens(game: &mut Game, head: &str) {
    game.push_with(head, |game| game.subject().weakened.found = vec![weaker(head)]);
    game.green().approved_by("mia");
}

#[test]
fn as_a_warning_it_is_shown_and_holds_nothing() {
    let mut game = reviewed("", "one");
    game.may_merge();
    let comment = game.surface().comment;
    assert!(
        comment.contains("test_weakened") && comment.contains("It does not say any more that it shines."),
        "{comment}"
    );
    assert!(!comment.contains("Tests that got weaker"), "there is nothing to accept: {comment}");
}

#[test]
fn where_it_blocks_a_person_accepts_what_is_there_and_no_more() {
    let mut game = reviewed("freeze: {weakened: block}\n", "one");
    game.at(Stage::Reviewing);
    assert!(game.against().contains("test_weakened"), "{:?}", game.against());
    // Not who wrote it.
    game.says("rover", Role::Write, "/refreeze it is enough");
    assert!(game.against().contains("test_weakened"));
    game.says("mia", Role::Maintain, "/refreeze the dimmer is gone").done();
    game.green().approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    // Other content is another question.
    weakens(&mut game, "two");
    assert!(game.against().contains("test_weakened"), "{:?}", game.against());
}

#[test]
fn what_could_not_be_read_blocks_with_it() {
    let mut game = reviewed("freeze: {weakened: block}\n", "one");
    let unread = Unread { path: PATH.to_owned(), now: blob("two"), why: "It is nested too deeply.".to_owned() };
    game.push_with("two", |game| {
        game.subject().weakened.found = Vec::new();
        game.subject().weakened.unread = vec![unread];
    });
    game.green().approved_by("mia");
    assert!(game.against().contains("test_weakened"), "{:?}", game.against());
    game.push_with("three", |game| game.subject().weakened.unread = Vec::new());
    game.green().approved_by("mia").may_merge();
}

#[test]
fn too_many_are_told_by_their_number() {
    let mut game = reviewed("freeze: {weakened: block}\n", "one");
    game.push_with("two", |game| game.subject().weakened.found = vec![weaker("two"); 300]);
    let told = crate::gate::weakened::findings(game.now(), &game.world);
    assert_eq!(told.len(), 51);
    assert!(told.last().is_some_and(|last| last.says.contains("250 more")), "{:?}", told.last());
}
