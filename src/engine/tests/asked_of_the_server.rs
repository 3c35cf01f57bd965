//! Runs of the server's own runner: when they are asked for, and beside those of the trusted workflow.

use crate::engine::kit::*;
use crate::engine::{Answer, Happened};
use crate::gate::asked;
use crate::gate::world::{AskedRun, Asks, Offer};
use crate::gate::{Finding, Verdict};
use crate::ids::{Digest, RepoId, Role};
use crate::ledger::record::{Evidence, Job, Prev, Ran};
use crate::ledger::{Body, By, Record, State};
use crate::policy::Source;

fn from(sources: &str) -> Game {
    Game::with(&format!("gates: {{ verify: {{ from: [{sources}], run: [make test], reports: [out.xml] }} }}"))
}

/// Who was asked last, and has not answered, answers with these findings.
fn answers(game: &mut Game, source: Source, findings: &[Finding]) {
    let asked = asked::open(game.now(), source).expect("somebody is waited for").clone();
    let log = format!("{{\"nonce\":\"{}\"}}", asked.nonce);
    let ran = Ran { nonce: asked.nonce.clone(), log: Digest::of(&log), tests: 3, findings: findings.to_vec() };
    let by = match source {
        Source::Runner => asked.own_job(commit("main")),
        _ => Job { run: 7, attempt: 1, workflow: asked.workflow.clone(), sha: commit("main"), actor: 1 },
    };
    game.happens(&[Happened::Ran(Box::new(Answer { by, ran, log: log.into() }))]);
}

fn asked_of(game: &Game) -> Vec<&str> {
    let of = |body: &'_ Body| matches!(body, Body::Asked { .. });
    let asked = game.log.iter().filter(|entry| of(&entry.body));
    asked.map(|entry| if let Body::Asked { workflow, .. } = &entry.body { workflow.as_str() } else { "" }).collect()
}

fn red() -> Finding {
    Finding::error("VER-01", "The test `dims` failed.", "Mend the change.")
}

#[test]
fn each_content_is_run_once_and_the_record_says_by_whom() {
    let mut game = from("runner");
    game.opened().look();
    assert_eq!(asked_of(&game), ["runner"], "a second look asks for nothing");
    let finding = game.finding("MRG-01");
    assert!(finding.waiting && finding.says.starts_with("The server's own runner is asked"), "{finding:?}");
    game.approved_by("mia").may_not_merge(&["MRG-01"]);
    answers(&mut game, Source::Runner, &[]);
    game.may_merge();
    let ran = game.log.iter().rev().find(|entry| matches!(entry.body, Body::Ran(_))).unwrap();
    assert!(
        matches!(&ran.by, By::Runner(job) if job.workflow == "runner" && job.sha == commit("main")),
        "{:?}",
        ran.by
    );
    let evidence = &game.recorded().evidence;
    let own =
        |one: &Evidence| matches!(one, Evidence::Run { workflow, verdict: Verdict::Pass, .. } if workflow == "runner");
    assert!(evidence.iter().any(own), "{evidence:?}");
    game.push("two");
    assert_eq!(asked_of(&game).len(), 2);
}

#[test]
fn where_both_are_named_both_have_to_show_it() {
    let mut game = from("runner, actions");
    game.opened().approved_by("mia");
    assert_eq!(asked_of(&game), [".github/workflows/phasegate-evidence.yml", "runner"]);
    answers(&mut game, Source::Runner, &[]);
    game.may_not_merge(&["MRG-01"]);
    answers(&mut game, Source::Actions, &[red()]);
    game.may_not_merge(&["MRG-01"]);
    // The green one stands, and only the red one is run again.
    game.says("ada", Role::Write, "/verify").done();
    assert_eq!(asked_of(&game)[2..], [".github/workflows/phasegate-evidence.yml"]);
    answers(&mut game, Source::Actions, &[]);
    game.may_merge();
}

#[test]
fn neither_answers_what_the_other_was_asked_for() {
    let mut game = from("runner");
    game.opened();
    let asked = asked::open(game.now(), Source::Runner).unwrap().clone();
    let ran = Ran { nonce: asked.nonce.clone(), log: Digest::of("log"), tests: 3, findings: Vec::new() };
    let job = asked.own_job(commit("main"));
    let state = game.now();
    let takes = |by: By| {
        let record = Record {
            repo: RepoId(1),
            change: state.change,
            seq: state.seq + 1,
            prev: Prev::Follows(state.tip.clone()),
            at: asked.at,
            by,
            about: Some(asked.about.clone()),
            body: Body::Ran(Box::new(ran.clone())),
        };
        State::fold(Some(state.clone()), &record, Digest::of("tip"))
    };
    assert!(takes(By::Workflow(job.clone())).is_err() && takes(By::Bot).is_err());
    assert!(takes(By::Runner(job)).is_ok());
}

#[test]
fn where_it_is_not_offered_that_is_said_and_nothing_is_asked() {
    let refusals = [
        (Asks::NoRunner, "PHASEGATE_RUNNER"),
        (Asks::NoServer, "`from: [actions]`"),
        (Asks::Beyond("the network".to_owned()), "PHASEGATE_RUNNER_NETWORK"),
    ];
    for (asks, next) in refusals {
        let mut game = from("runner");
        game.world.runner = Offer { asks, run: AskedRun::Unseen };
        game.opened();
        assert!(asked_of(&game).is_empty());
        let finding = game.finding("MRG-01");
        assert!(!finding.waiting && finding.next.contains(next), "{finding:?}");
        game.says("ada", Role::Write, "/verify");
        assert!(game.refused_with("CMD-03").says.contains("can't be run from here"));
    }
}

#[test]
fn a_fork_is_not_run_unasked_and_what_came_to_nothing_is_told() {
    let mut game = from("runner");
    game.world.pull.fork = true;
    game.opened();
    assert!(asked_of(&game).is_empty());
    game.says("ada", Role::Write, "/verify").done();
    assert_eq!(asked_of(&game), ["runner"]);
    let why = "The run took longer than the 60 seconds that this server gives it, and was ended.";
    game.world.runner.run = AskedRun::Seen {
        run: 5,
        page: String::new(),
        ended: Some("failure".to_owned()),
        refused: Some(why.to_owned()),
    };
    game.look();
    let finding = game.finding("MRG-01");
    assert!(finding.waiting && finding.says == why && finding.next.contains("`/verify`"), "{finding:?}");
    game.says("ada", Role::Write, "/verify").done();
    assert_eq!(asked_of(&game).len(), 2);
}

#[test]
fn a_check_that_is_called_like_the_source_is_another_thing() {
    let mut game = from("runner");
    game.opened().approved_by("mia");
    answers(&mut game, Source::Runner, &[red()]);
    let head = game.world.pull.head.clone();
    assert!(game.now().reds.iter().any(|red| red.name == "runner" && red.head == head && red.content.is_some()));
    // The policy takes a check of that name now, and there is a green one.
    let mut other = Game::with("gates: { verify: { checks: [{ name: runner, app: 5 }] } }");
    other.opened();
    assert!(!other.findings().iter().any(|finding| finding.says.contains("has been deleted")));
}
