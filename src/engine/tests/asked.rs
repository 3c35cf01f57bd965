//! Runs of the trusted workflow: when they are asked for, and what their answers are worth.

use crate::engine::kit::*;
use crate::engine::{Answer, Happened};
use crate::flow::{Phase, Stage};
use crate::gate::asked;
use crate::gate::phase::{self, Outcome as GateOutcome};
use crate::gate::world::{AskedRun, Asks};
use crate::gate::{Finding, Verdict};
use crate::ids::{Digest, Role};
use crate::ledger::record::{Evidence, Job, Ran};
use crate::ledger::{Body, By};
use crate::policy::Source;

const ACTIONS: &str = "gates: { verify: { from: [actions], run: [make test], reports: [out.xml] } }";

fn merge() -> Game {
    Game::with(ACTIONS)
}

/// The newest run that was asked for answers with these findings.
fn answers(game: &mut Game, findings: &[Finding]) {
    let newest = game.now().asked.last().unwrap();
    let nonce = newest.nonce.clone();
    answers_to(game, nonce, findings);
}

fn answers_to(game: &mut Game, nonce: Digest, findings: &[Finding]) {
    answers_at(game, nonce, 1, findings);
}

fn answers_at(game: &mut Game, nonce: Digest, attempt: u32, findings: &[Finding]) {
    let run = game.now().asks;
    let workflow = "octo/lamp/.github/workflows/phasegate-evidence.yml@refs/heads/main".to_owned();
    let by = Job { run, attempt, workflow, sha: commit("main"), actor: 1 };
    let log = format!("{{\"run\":{run}}}");
    let ran = Ran { nonce, log: Digest::of(&log), tests: 3, findings: findings.to_vec() };
    game.happens(&[Happened::Ran(Box::new(Answer { by, ran, log: log.into() }))]);
}

fn asks(game: &Game) -> usize {
    game.log.iter().filter(|entry| matches!(entry.body, Body::Asked { .. })).count()
}

fn red() -> Finding {
    Finding::error("VER-01", "The test `dims` failed.", "Mend the change.")
}

fn idle() -> Finding {
    Finding::error("VER-12", "The new test `idle` passes on the base's code too.", "Let it ask for something.")
}

#[test]
fn each_content_is_asked_for_once_and_its_answer_decides() {
    let mut game = merge();
    game.opened().look();
    assert_eq!(asks(&game), 1, "a second look asks for nothing");
    assert!(game.finding("MRG-01").waiting);
    game.approved_by("mia").may_not_merge(&["MRG-01"]);
    answers(&mut game, &[]);
    game.may_merge();
    let evidence = &game.recorded().evidence;
    assert!(
        evidence.iter().any(|one| matches!(one, Evidence::Run { tests: 3, verdict: Verdict::Pass, .. })),
        "{evidence:?}"
    );
    // A second delivery of the same answer leaves nothing.
    let (records, nonce) = (game.log.len(), game.now().asked[0].nonce.clone());
    answers_to(&mut game, nonce, &[red()]);
    assert_eq!(game.log.len(), records);
    game.may_merge().push("two");
    assert_eq!(asks(&game), 2);
    game.approved_by("mia").may_not_merge(&["MRG-01"]);
    assert_ne!(game.now().asked[0].nonce, game.now().asked[1].nonce);
}

#[test]
fn an_answer_for_other_content_counts_for_that_alone() {
    let mut game = merge();
    game.opened();
    let first = game.now().asked[0].nonce.clone();
    game.push("two").approved_by("mia");
    answers_to(&mut game, first, &[]);
    game.may_not_merge(&["MRG-01"]);
    assert!(asked::open(game.now(), Source::Actions).is_some(), "the run of this content is still waited for");
    assert_eq!(game.now().asked[0].answer.as_ref().map(|answer| answer.by.run), Some(2));
}

#[test]
fn a_red_stands_until_a_person_has_it_run_again_and_is_told_for_good() {
    let mut game = merge();
    game.opened().approved_by("mia");
    answers(&mut game, &[red()]);
    game.may_not_merge(&["MRG-01"]);
    assert_eq!(game.finding("MRG-01").says, "VER-01: The test `dims` failed.");
    game.look();
    assert_eq!(asks(&game), 1, "nobody asked for another try");
    game.says("ada", Role::Write, "/verify").done();
    assert_eq!(asks(&game), 2);
    game.says("ada", Role::Write, "/verify");
    assert!(game.refused_with("CMD-03").says.contains("a run is under way"));
    answers(&mut game, &[]);
    game.may_merge();
    let told = game.findings();
    assert!(
        told.iter().any(|one| one.says == "The same content was red before, in run 1." && !one.blocks()),
        "{told:#?}"
    );
}

/// The same patch on another base is a tree that nobody has run; on the same one it is the tree that was.
#[test]
fn a_rebase_onto_another_base_is_run_anew_and_another_message_is_not() {
    let mut game = merge();
    game.opened().approved_by("mia");
    answers(&mut game, &[]);
    game.may_merge().rebase("reworded", "one").may_merge();
    assert_eq!(asks(&game), 1);
    game.push_with("moved", |game| {
        let about = &mut game.subject().about;
        (about.base, about.content) = (commit("newer main"), Digest::of("one"));
    });
    assert_eq!(asks(&game), 2);
    game.may_not_merge(&["MRG-01"]);
    answers(&mut game, &[red()]);
    game.may_not_merge(&["MRG-01"]);
    assert_eq!(game.finding("MRG-01").says, "VER-01: The test `dims` failed.");
}

#[test]
fn a_run_that_was_kept_from_answering_is_told_beside_the_green_that_follows() {
    let mut game = merge();
    game.opened().approved_by("mia");
    let (page, ended) = (String::new(), Some("cancelled".to_owned()));
    game.world.asked_run = AskedRun::Seen { run: 5, page, ended, refused: None };
    game.look().says("ada", Role::Write, "/verify").done();
    answers(&mut game, &[]);
    game.may_merge();
    let says = |game: &Game| game.findings().iter().map(|one| one.says.clone()).collect::<Vec<_>>();
    assert_eq!(says(&game), ["A run of the same content was asked for before, and has not answered."]);
    // One that was started again had something to say before.
    game.push("two").approved_by("mia");
    let nonce = game.now().asked.last().unwrap().nonce.clone();
    answers_at(&mut game, nonce, 2, &[]);
    game.may_merge();
    assert_eq!(says(&game), ["Run 3 has answered at attempt 2. What came of it before was not told."]);
    // What answered at once leaves nothing to ask about.
    game.push("three").approved_by("mia");
    answers(&mut game, &[]);
    assert_eq!(says(&game), [""; 0]);
}

#[test]
fn what_a_run_shows_of_its_tests_an_independent_person_may_agree_to() {
    let mut game = merge();
    game.opened().approved_by("mia");
    answers(&mut game, &[idle()]);
    let finding = game.finding("MRG-01");
    assert!(finding.next.ends_with("says `/agree VER-12 REASON`."), "{}", finding.next);
    game.says("ada", Role::Maintain, "/agree VER-12 a refactoring");
    game.refused_with("CMD-07");
    game.says("mia", Role::Maintain, "/agree VER-11 a refactoring");
    game.refused_with("CMD-03");
    game.may_not_merge(&["MRG-01"]);
    game.says("mia", Role::Maintain, "/agree VER-12 a refactoring").done().may_merge();
    assert!(matches!(game.now().agreed[0].by, By::Person { .. }));
    game.says("mia", Role::Maintain, "/agree VER-12 once more");
    game.refused_with("CMD-03");
    // Nobody agrees to a failed test, also not together with what can be agreed to.
    game.push("two").approved_by("mia");
    answers(&mut game, &[idle(), red()]);
    game.says("mia", Role::Maintain, "/agree VER-12 a refactoring").done().may_not_merge(&["MRG-01"]);
}

#[test]
fn that_less_is_covered_an_independent_person_may_answer_for() {
    let mut game = Game::with(
        "gates: { verify: { from: [actions], run: [make test], reports: [out.xml], coverage: [lcov.info] } }",
    );
    game.opened().approved_by("mia");
    let says = "Less is covered than on the base: 2 of 3 lines, before 2 of 2.";
    answers(&mut game, &[Finding::error("coverage_decreased", says, "Test what the change adds.")]);
    let finding = game.finding("MRG-01");
    assert_eq!(finding.says, format!("coverage_decreased: {says}"));
    assert!(finding.next.ends_with("says `/agree coverage_decreased REASON`."), "{}", finding.next);
    game.says("mia", Role::Maintain, "/agree coverage_decreased");
    game.refused_with("CMD-05");
    game.says("ada", Role::Maintain, "/agree coverage_decreased it is generated");
    game.refused_with("CMD-07");
    game.may_not_merge(&["MRG-01"]);
    game.says("mia", Role::Maintain, "/agree Coverage_Decreased it is generated").done().may_merge();
    assert_eq!(game.now().agreed[0].rule, "coverage_decreased");
    // Other content is asked about anew.
    game.push("two").approved_by("mia");
    answers(&mut game, &[Finding::error("coverage_decreased", says, "Test what the change adds.")]);
    game.may_not_merge(&["MRG-01"]);
}

/// A run executes the head's scripts, so one that the change has bent proves nothing until a person has read it.
#[test]
fn a_run_by_bent_scripts_does_not_count_until_a_person_accepts_them() {
    let mut game = merge();
    game.opened().approved_by("mia");
    answers(&mut game, &[]);
    game.may_merge().push_with("two", |game| {
        game.drifts("test.sh", "bent");
    });
    game.approved_by("mia");
    answers(&mut game, &[]);
    game.may_not_merge(&["MRG-01"]);
    let finding = game.finding("MRG-01");
    assert!(finding.says.contains("does not count: made by a changed workflow (`test.sh`"), "{finding:?}");
    assert!(finding.next.contains("/refreeze REASON"), "{finding:?}");
    game.says("mia", Role::Maintain, "/refreeze it only prints more").done().may_merge();
}

#[test]
fn nothing_of_a_fork_is_run_unasked() {
    let mut game = merge();
    game.world.pull.fork = true;
    game.opened();
    assert_eq!(asks(&game), 0);
    let finding = game.finding("MRG-01");
    assert!(finding.waiting && finding.next.contains("`/verify`"), "{finding:?}");
    game.says("tim", Role::Triage, "/verify");
    game.refused_with("CMD-02");
    game.says("ada", Role::Write, "/verify").done();
    assert_eq!(asks(&game), 1);
}

#[test]
fn where_nobody_can_be_asked_it_is_said_and_not_asked() {
    let mut game = merge();
    game.world.asks = Asks::NoAddress;
    game.opened();
    assert_eq!(asks(&game), 0);
    let finding = game.finding("MRG-01");
    assert!(!finding.waiting && finding.next.contains("PHASEGATE_PUBLIC_URL"), "{finding:?}");
}

#[test]
fn a_run_that_came_to_nothing_is_told_and_can_be_asked_for_again() {
    let ended = |refused: Option<&str>| AskedRun::Seen {
        run: 5,
        page: "https://github.com/octo/garden/actions/runs/5".to_owned(),
        ended: Some("failure".to_owned()),
        refused: refused.map(str::to_owned),
    };
    let refused = AskedRun::Refused("GitHub knows no such thing".to_owned());
    let left = ended(Some("Evidence of run 5 was refused (file_twice)."));
    for (seen, says) in [(ended(None), "Run 5"), (left, "(file_twice)"), (refused, "could not be started")] {
        let mut game = merge();
        game.opened();
        game.world.asked_run = seen;
        game.look();
        let finding = game.finding("MRG-01");
        assert!(finding.waiting && finding.says.contains(says) && finding.next.contains("`/verify`"), "{finding:?}");
        game.says("ada", Role::Write, "/verify").done();
        assert_eq!(asks(&game), 2);
    }
}

#[test]
fn without_the_source_the_command_belongs_to_the_pipeline() {
    let mut game = Game::merge();
    game.opened().says("ada", Role::Write, "/verify");
    assert!(game.refused_with("CMD-03").says.contains("pipeline"));
    assert_eq!(asks(&game), 0);
}

#[test]
fn another_base_takes_the_runs_and_what_was_agreed_along() {
    let mut game = Game::with(&format!("{ACTIONS}\nbranches: [\"release/*\"]"));
    game.opened().approved_by("mia");
    answers(&mut game, &[idle()]);
    game.says("mia", Role::Maintain, "/agree VER-12 a refactoring").done().may_merge();
    game.retargeted("release/1").approved_by("mia");
    assert_eq!((game.now().asked.len(), game.now().agreed.len()), (1, 0), "asked anew");
    game.may_not_merge(&["MRG-01"]);
    // That it was red goes along.
    answers(&mut game, &[]);
    let told = game.may_merge().findings();
    assert!(told.iter().any(|one| one.says == "The same content was red before, in run 1."), "{told:#?}");
}

/// In the pipeline it is asked for from BUILD on, and each gate that rests on it waits.
#[test]
fn the_pipeline_asks_from_build_on() {
    let mut game = Game::pipeline_with(ACTIONS);
    game.says("ada", Role::Write, "/expand").done().at(Stage::Building);
    assert_eq!(asks(&game), 1);
    let judged = phase::judge(Phase::Build, game.now(), &game.world);
    assert_eq!(judged.outcome, GateOutcome::Pending, "{judged:#?}");
    answers(&mut game, &[red()]);
    let judged = phase::judge(Phase::Build, game.now(), &game.world);
    assert_eq!((judged.outcome, judged.findings[0].rule.as_str()), (GateOutcome::Fail, "BLD-02"));
    // A claim on a red has it run again, and is judged by that.
    game.says("ada", Role::Write, "/build").done().at(Stage::Building);
    assert_eq!(asks(&game), 2);
    answers(&mut game, &[]);
    game.at(Stage::Reviewing);
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    assert_eq!(asks(&game), 2, "the same content needs no other run");
}

#[test]
fn at_verify_the_runs_own_rules_are_named() {
    let mut game = Game::pipeline_with(ACTIONS);
    game.says("ada", Role::Write, "/expand").done();
    answers(&mut game, &[idle()]);
    let judged = phase::judge(Phase::Verify, game.now(), &game.world);
    assert_eq!(judged.findings[0].rule, "VER-12");
}

/// What shows the criteria at runtime is VERIFY's to ask for: BUILD tells it, and goes on.
#[test]
fn a_proof_that_failed_holds_verify_and_not_build() {
    let mut game = Game::pipeline_with(ACTIONS);
    game.says("ada", Role::Write, "/expand").done();
    let unshown = Finding::error("VER-02", "`dim 3`, which is to show `AC-1`, said 3.", "Mend the change.");
    answers(&mut game, std::slice::from_ref(&unshown));
    game.at(Stage::Reviewing);
    let judged = phase::judge(Phase::Build, game.now(), &game.world);
    let told: Vec<_> = judged.findings.iter().map(|one| (one.blocks(), one.says.as_str())).collect();
    assert_eq!(told, [(false, "VER-02: `dim 3`, which is to show `AC-1`, said 3.")]);
    game.approved_by("mia").may_not_merge(&["MRG-01"]);
    let judged = phase::judge(Phase::Verify, game.now(), &game.world);
    assert_eq!((judged.outcome, judged.findings[0].rule.as_str()), (GateOutcome::Fail, "VER-02"));
    // Nobody can agree to it.
    game.says("mia", Role::Maintain, "/agree VER-02 it is nearly 2");
    assert!(game.refused_with("CMD-05").says.contains("VER-03"));
}

/// What no machine sees, a person has to have seen.
#[test]
fn a_criterion_that_nothing_is_run_for_an_independent_person_may_have_seen() {
    let mut game = Game::pipeline_with(ACTIONS);
    game.says("ada", Role::Write, "/expand").done();
    answers(&mut game, &[Finding::error("VER-03", "Nothing is run that shows `AC-2`.", "Write it there.")]);
    game.approved_by("mia").may_not_merge(&["MRG-01"]);
    let judged = phase::judge(Phase::Verify, game.now(), &game.world);
    assert!(judged.findings[0].next.ends_with("says `/agree VER-03 REASON`."), "{:?}", judged.findings);
    game.says("mia", Role::Maintain, "/agree VER-03 the lamp is on").done().at(Stage::VerifyGatePassed).may_merge();
}

/// `VER-05`: unknown is not fine for what is to last.
#[test]
fn a_house_waits_for_somebody_who_looked_at_its_security() {
    let mut game = Game::pipeline();
    game.subject().tier = Some(crate::policy::Tier::House);
    game.until_reviewing();
    let told = |game: &Game, phase| phase::judge(phase, game.now(), &game.world);
    let ahead = told(&game, Phase::Review);
    assert!(ahead.findings.iter().any(|one| one.rule == "VER-05" && !one.blocks()), "{ahead:#?}");
    game.approved_by("mia").may_not_merge(&["MRG-01"]);
    let judged = told(&game, Phase::Verify);
    assert_eq!(judged.outcome, GateOutcome::Fail);
    assert!(judged.findings.iter().any(|one| one.rule == "VER-05" && one.blocks()), "{judged:#?}");
    game.finds("zoe", Role::Write, "axes: [security]");
    game.says("ada", Role::Write, "/verify").at(Stage::VerifyGatePassed).may_merge();
    let evidence = &told(&game, Phase::Verify).evidence;
    let named = |one: &&Evidence| matches!(one, Evidence::Security { by, .. } if by.contains("`zoe`"));
    assert_eq!(evidence.iter().filter(named).count(), 3, "{evidence:?}");
}

/// `from: [people]`: the word of somebody independent who tried it, for this content alone.
#[test]
fn where_people_are_the_source_one_of_them_has_tried_it() {
    let mut game = Game::with("gates: { verify: { from: [people] } }");
    game.opened().approved_by("mia").may_not_merge(&["MRG-01"]);
    assert!(game.finding("MRG-01").next.contains("`/agree VER-01 WHAT THEY DID AND SAW`"));
    game.says("ada", Role::Maintain, "/agree VER-01 I pressed the button");
    assert!(game.refused_with("CMD-07").says.contains("wrote"), "it is her own");
    game.says("zoe", Role::Write, "/agree VER-01 I pressed the button");
    game.refused_with("CMD-02");
    game.says("mia", Role::Maintain, "/agree VER-01 pressed it three times, and it went dark").done().may_merge();
    let evidence = &game.recorded().evidence;
    assert!(
        evidence.iter().any(|one| matches!(one, Evidence::Word { says, .. } if says.contains("went dark"))),
        "{evidence:?}"
    );
    game.says("mia", Role::Maintain, "/agree VER-01 once more");
    game.refused_with("CMD-03");
    game.push("two").approved_by("mia").may_not_merge(&["MRG-01"]);
}

/// Several sources are a conjunction, and a word takes no red back.
#[test]
fn a_word_takes_no_red_back() {
    let both = "gates: { verify: { from: [actions, people], run: [make test], reports: [out.xml] } }";
    let mut game = Game::with(both);
    game.opened().approved_by("mia");
    game.says("mia", Role::Maintain, "/agree VER-01 it works here").done().may_not_merge(&["MRG-01"]);
    answers(&mut game, &[red()]);
    game.may_not_merge(&["MRG-01"]);
    game.says("ada", Role::Write, "/verify").done();
    answers(&mut game, &[]);
    game.may_merge();
    // Where nobody's word is asked for it is refused.
    let mut game = merge();
    game.opened().says("mia", Role::Maintain, "/agree VER-01 it works here");
    assert!(game.refused_with("CMD-03").says.contains("nobody's word"));
}
