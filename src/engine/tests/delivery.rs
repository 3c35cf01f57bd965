//! The third approach to the same failure, and what is delivered with a deployment.

use std::collections::BTreeSet;

use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::{Finding, phase};
use crate::ids::Role;

/// A claimed run of BUILD on a head of its own, with green checks and this found in what it adds.
fn approach(game: &mut Game, head: &str, found: &[(&str, u32)]) {
    let found = found
        .iter()
        .map(|(path, line)| Finding::error("BLD-08", "This only holds a place.", "Write it.").at(*path, Some(*line)));
    let found: Vec<Finding> = found.collect();
    game.push_with(head, |game| drop(game.subject().documents.insert(Phase::Build, found)));
    game.green().says("ada", Role::Write, "/build").done();
}

fn fails(game: &Game) -> u8 {
    game.table().fails(Phase::Build)
}

/// `BRK-03`.
#[test]
fn the_third_approach_to_the_same_failure_stops_for_a_person() {
    let mut game = Game::pipeline();
    game.until_building();
    approach(&mut game, "one", &[("src/a.rs", 3)]);
    approach(&mut game, "two", &[("src/a.rs", 9), ("src/b.rs", 1)]);
    game.at(Stage::BuildRetrying);
    assert_eq!(fails(&game), 2);
    approach(&mut game, "three", &[("src/a.rs", 12)]);
    game.at(Stage::ComplexityBrakeTriggered);
    assert_eq!(fails(&game), 2, "it is no verdict, so nothing is counted");
    let reason = &game.now().stopped.as_ref().unwrap().reason;
    assert_eq!(
        reason,
        "BRK-03 This is the third approach to the same failure: BLD-08 src/a.rs: This only holds a place."
    );
    assert!(game.against().contains("MRG-05"));
    // The question is what to try, not how complex it may be.
    let notice = game.notice().expect("a person is asked");
    assert_eq!(notice.title, "Phasegate: #7 is stopped before a third approach to the same failure");
    let first = "**Decide what #7 tries in place of a third approach to the same failure.**\n\n**BLOCKED:** the bot pulled the \
                 complexity brake on #7 because two approaches to the same failure failed already, and this would be the third: ";
    assert!(notice.body.starts_with(first), "{}", notice.body);
    assert!(notice.body.contains("**(A) `APPROVE_OVERRIDE`**: say what to try that was not tried, and go on."));
    assert!(notice.body.contains("**Recommendation:** (D) `REVISE_PLAN`: "), "{}", notice.body);
    // A person decides once; the same again is the gate's to count.
    game.says("mia", Role::Maintain, "/brake-resolved try the other library").done();
    approach(&mut game, "four", &[("src/a.rs", 2)]);
    game.at(Stage::BlockedOnGate);
}

#[test]
fn another_failure_or_a_mended_one_is_no_third_approach() {
    // Each approach fails elsewhere: the third blocks, as it does.
    let mut game = Game::pipeline();
    game.until_building();
    for (head, path) in [("one", "src/a.rs"), ("two", "src/b.rs"), ("three", "src/c.rs")] {
        approach(&mut game, head, &[(path, 3)]);
    }
    game.at(Stage::BlockedOnGate);
    // What nobody claims is no approach, however often it is pushed.
    let mut game = Game::pipeline();
    game.until_building();
    for head in ["one", "two", "three", "four"] {
        let found = vec![Finding::error("BLD-08", "This only holds a place.", "Write it.").at("src/a.rs", Some(3))];
        game.push_with(head, |game| drop(game.subject().documents.insert(Phase::Build, found)));
        game.green().at(Stage::Building);
    }
    // And once it is mended, what was tried before is over.
    approach(&mut game, "five", &[("src/a.rs", 3)]);
    approach(&mut game, "six", &[("src/a.rs", 3)]);
    game.push_with("seven", |game| drop(game.subject().documents.insert(Phase::Build, Vec::new())));
    game.green().at(Stage::Reviewing);
    assert_eq!(game.now().tries.iter().filter(|one| !one.places.is_empty()).count(), 0);
    let again = Finding::error("BLD-08", "This only holds a place.", "Write it.").at("src/a.rs", Some(3));
    assert_eq!(game.now().third_approaches(&[again]), BTreeSet::new());
    // What trips the freeze is counted there, and is no approach.
    let mut game = Game::pipeline();
    game.until_building();
    approach(&mut game, "one", &[("src/a.rs", 3)]);
    approach(&mut game, "two", &[("src/a.rs", 9)]);
    let mut state = game.now().clone();
    let rule = format!("build_tampered:{}", "tests/a.rs");
    let cheat = Finding::error(&rule, "It was changed.", "Put it back.").at("tests/a.rs", None);
    let place = "build_tampered:tests/a.rs tests/a.rs: It was changed.".to_owned();
    for one in &mut state.tries {
        one.places.insert(place.clone());
    }
    assert_eq!(state.third_approaches(&[cheat]), BTreeSet::new());
}

fn papers(game: &mut Game, found: Vec<Finding>) {
    game.subject().documents.insert(Phase::Deploy, found);
}

/// `DEP-02`, `DEP-05` to `DEP-07`: they may follow the merge, and are asked for before it is complete.
#[test]
fn what_is_delivered_has_its_papers() {
    let lacks = || Finding::error("DEP-05", "`README.md` does not exist.", "Write it.");
    let mut game = Game::pipeline();
    game.through_verify().merged().at(Stage::Deploying);
    papers(&mut game, vec![lacks()]);
    // It is deployed; the papers are waited for, and nothing is counted.
    game.deployment("success").at(Stage::Deploying);
    assert_eq!(game.table().fails(Phase::Deploy), 0);
    // Whoever says that it is done is told that it is not.
    game.says("ada", Role::Write, "/deploy").done().at(Stage::DeployRetrying);
    assert_eq!(game.table().fails(Phase::Deploy), 1);
    // They come in another pull request.
    papers(&mut game, vec![Finding::warning("DEP-02", "It came late.", "Be earlier.")]);
    game.look().at(Stage::PipelineComplete);

    let mut game = Game::pipeline();
    game.through_verify().merged();
    game.subject().documents.remove(&Phase::Deploy);
    game.deployment("success").at(Stage::Deploying);
    assert_eq!(game.table().fails(Phase::Deploy), 0, "what could not be read is unknown, and not fine");
}

/// `DEP-01`, and `DEP-03` for each environment.
#[test]
fn a_deployment_counts_that_was_green_before_and_failed_nowhere() {
    let mut game = Game::pipeline();
    game.through_verify().merged();
    game.merge_check("failure").deployment("success").at(Stage::DeployRetrying);
    let mut game = Game::pipeline();
    game.through_verify().merged();
    game.deployment("failure").at(Stage::DeployRetrying);
    let mut elsewhere = game.world.deployments[0].clone();
    (elsewhere.environment, elsewhere.state) = ("staging".to_owned(), "success".to_owned());
    game.world.deployments.push(elsewhere);
    game.look().at(Stage::DeployRetrying);
    game.deployment("success").at(Stage::PipelineComplete);
}

#[test]
fn who_wrote_it_does_not_say_that_it_is_deployed() {
    let mut game = Game::pipeline();
    game.through_verify().merged();
    game.deployed("production", "success", "ada").at(Stage::Deploying);
    let told = phase::judge(Phase::Deploy, game.now(), &game.world).findings.remove(0).says;
    assert!(told.ends_with("succeeded is said by @ada, who wrote or pushed the change."), "{told}");
    // That it failed is believed of anybody, and somebody else's word ends it.
    game.deployed("production", "failure", "ada").at(Stage::DeployRetrying);
    game.deployed("production", "success", "github-actions[bot]").at(Stage::PipelineComplete);

    // Where there is nobody else, they may.
    let mut game = Game::pipeline_with("people: { solo: true }");
    game.through_verify().merged().deployed("production", "success", "ada").at(Stage::PipelineComplete);
}

#[test]
fn only_the_accounts_that_the_policy_names_say_that_it_is_deployed() {
    let with = "gates: { deploy: { by: ['@Ada', '@ship-it[bot]'] }, verify: { checks: [{ name: ci / test, workflow: .github/workflows/ci.yml }] } }";
    for (by, stage) in [
        ("ada", Stage::PipelineComplete),
        ("ship-it[bot]", Stage::PipelineComplete),
        ("ship-it", Stage::Deploying),
        ("github-actions[bot]", Stage::Deploying),
    ] {
        let mut game = Game::pipeline_with(with);
        game.through_verify().merged().deployed("production", "success", by).at(stage);
    }
}

#[test]
fn only_the_environments_that_the_policy_names_are_looked_at() {
    let with = "gates: { deploy: { environments: [production, eu] }, verify: { checks: [{ name: ci / test, workflow: .github/workflows/ci.yml }] } }";
    let ci = "github-actions[bot]";
    let mut game = Game::pipeline_with(with);
    game.through_verify().merged();
    // Neither checks nor another place stand for it.
    game.merge_check("success").at(Stage::Deploying);
    game.deployed("playground", "success", ci).at(Stage::Deploying);
    game.deployed("playground", "failure", ci).at(Stage::Deploying);
    game.deployed("Production", "success", ci).at(Stage::Deploying);
    game.deployed("eu", "success", ci).at(Stage::PipelineComplete);
}
