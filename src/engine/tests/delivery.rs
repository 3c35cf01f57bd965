//! What is delivered with a deployment.

use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::Finding;
use crate::ids::Role;

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
