//! Stopping and going on: drops, leases, recovery.

use crate::engine::kit::*;
use crate::engine::{Happened, runs_out};

use crate::flow::{Phase, Stage};
use crate::gate::Finding;
use crate::ids::Role;
use crate::ledger::Body;
use crate::ledger::record::Condition;

const LEASE: &str = "agents: { lease: 2h }\n";

/// Why the change was taken up where it was, as it is recorded.
fn whys(game: &Game) -> Vec<&str> {
    let whys = game.log.iter().filter_map(|entry| match &entry.body {
        Body::Step { why: Some(why), .. } => Some(why.as_str()),
        _ => None,
    });
    whys.collect()
}

fn lapses(game: &Game) -> usize {
    game.log.iter().filter(|entry| matches!(entry.body, Body::Lapsed { .. })).count()
}

#[test]
fn recovery_says_which_phase_and_why_in_the_record_the_answer_and_the_comment() {
    let mut game = Game::pipeline();
    game.until_designing().says("ada", Role::Write, "/drop").done().at(Stage::SessionDropped);
    game.says("ada", Role::Write, "/recover").done().at(Stage::Designing);
    let why = "DESIGN: scope.md passed, and design.md is not there";
    assert_eq!(whys(&game), [why]);
    let surface = game.surface();
    assert!(surface.comment.contains(&format!("Taken up again at {why}.")), "{}", surface.comment);
    assert_eq!(surface.replies.last().unwrap().body, format!("Taken up again at {why}."));
    // Once that is behind it, only the answer and the record tell.
    game.push_with("design", |game| {
        game.documents();
    });
    game.at(Stage::Building);
    assert!(!game.surface().comment.contains("Taken up again"));
    assert_eq!(game.surface().replies.last().unwrap().body, format!("Taken up again at {why}."));
}

#[test]
fn what_follows_by_itself_says_why_too() {
    // A push that makes a pass stale.
    let mut game = Game::pipeline();
    game.until_reviewing();
    game.push_with("rewritten", |game| {
        game.rewrites_documents("second").without("scaffolding/design.md");
    });
    game.at(Stage::Designing);
    assert_eq!(
        whys(&game),
        ["EXPAND: scope.md or what it rests on is not what passed"],
        "it passes there, and goes on"
    );
    // A reopening.
    let mut game = Game::pipeline();
    game.until_reviewing().closed().reopened().at(Stage::Reviewing);
    assert_eq!(whys(&game), ["REVIEW: BUILD passed, and REVIEW has not passed"]);
    // A brake that is released, and a block that is lifted.
    for (stop, go_on) in
        [("/stop scope outgrew its design", "/brake-resolved fine"), ("/stop it leaks", "/unblock fine")]
    {
        let mut game = Game::pipeline();
        game.until_building().says("ada", Role::Write, stop).done();
        game.says("mia", Role::Maintain, go_on).done().at(Stage::Building);
        let last = whys(&game).last().copied();
        assert_eq!(last, Some("BUILD: readiness.md passed, and BUILD passed for other content"), "{stop}");
        assert!(game.surface().comment.contains("Taken up again at BUILD"), "{stop}");
    }
}

#[test]
fn a_lease_that_runs_out_drops_the_change_once() {
    let mut game = Game::pipeline_with(LEASE);
    game.until_designing().hours_pass(1).at(Stage::Designing);
    assert_eq!(lapses(&game), 0);
    game.hours_pass(1).at(Stage::SessionDropped);
    // A timer that fires again, or late, finds nothing to drop.
    game.hours_pass(1).hours_pass(5).at(Stage::SessionDropped);
    assert_eq!(lapses(&game), 1);
    assert_eq!(runs_out(game.now(), game.world.policy()), None);
    let comment = game.surface().comment;
    assert!(comment.contains("Nobody who works on it was heard of for 2h"), "{comment}");
    game.says("mia", Role::Maintain, "/recover").done().at(Stage::Designing);
    // Whoever takes it up has the whole time.
    game.hours_pass(1).at(Stage::Designing).hours_pass(2).at(Stage::SessionDropped);
    assert_eq!(lapses(&game), 2);
}

#[test]
fn a_lease_runs_in_another_try_as_well() {
    let mut game = Game::pipeline_with(LEASE);
    game.until_building().red().says("ada", Role::Write, "/build").at(Stage::BuildRetrying);
    assert!(runs_out(game.now(), game.world.policy()).is_some());
    game.hours_pass(2).at(Stage::SessionDropped);
    assert_eq!(lapses(&game), 1);
    game.push("mended").at(Stage::Building);
}

#[test]
fn whoever_works_on_it_renews_the_lease() {
    type Renews = fn(&mut Game);
    let renewals: [(&str, Renews); 4] = [
        ("a push", |game| {
            game.push_with("more", |game| {
                game.documents().without("scaffolding/design.md");
            });
        }),
        ("a command", |game| {
            game.says("ada", Role::Write, "/status");
        }),
        ("a claim", |game| {
            game.says("ada", Role::Write, "/design");
        }),
        ("a comment", |game| {
            game.chats("ada");
        }),
    ];
    for (what, renew) in renewals {
        let mut game = Game::pipeline_with(LEASE);
        game.until_designing();
        game.hours_pass(1);
        renew(&mut game);
        game.hours_pass(1);
        assert_eq!(lapses(&game), 0, "{what}");
    }
    // What somebody else says renews nothing.
    let mut game = Game::pipeline_with(LEASE);
    game.until_designing().hours_pass(1).chats("eve").says("mia", Role::Maintain, "/status");
    game.hours_pass(1).at(Stage::SessionDropped);
}

#[test]
fn a_conversation_is_one_record() {
    let mut game = Game::pipeline_with(LEASE);
    game.until_designing().hours_pass(1);
    for _ in 0..20 {
        game.chats("ada");
    }
    let heard = game.log.iter().filter(|entry| matches!(entry.body, Body::Active { .. })).count();
    assert_eq!(heard, 1);
    // Without a lease nobody notes it.
    let mut game = Game::pipeline();
    game.until_designing().hours_pass(500).chats("ada").at(Stage::Designing);
    assert!(!game.log.iter().any(|entry| matches!(entry.body, Body::Active { .. } | Body::Lapsed { .. })));
}

#[test]
fn in_auto_mode_the_next_sign_of_life_takes_it_up() {
    let mut game = Game::pipeline_with(LEASE);
    game.until_designing().hours_pass(2).at(Stage::SessionDropped);
    game.push_with("design", |game| {
        game.documents();
    })
    .at(Stage::Building);
    assert_eq!(whys(&game), ["DESIGN: scope.md passed, and design.md has not passed"]);
    // So does a command, which then finds the phase that it is for.
    let mut game = Game::pipeline_with(LEASE);
    game.until_designing().hours_pass(2).at(Stage::SessionDropped);
    game.says("ada", Role::Write, "/design").done().at(Stage::DesignRetrying);
    let mut game = Game::pipeline_with(LEASE);
    game.until_designing().hours_pass(2).chats("ada").at(Stage::Designing);
    // Somebody else's word does not, nor does what was dropped by a word come back by itself.
    let mut game = Game::pipeline_with(LEASE);
    game.until_designing().hours_pass(2).chats("eve").says("mia", Role::Maintain, "/status").at(Stage::SessionDropped);
    let mut game = Game::pipeline_with(LEASE);
    game.until_designing().says("ada", Role::Write, "/drop").done().chats("ada").at(Stage::SessionDropped);
    game.push_with("design", |game| {
        game.documents();
    })
    .at(Stage::SessionDropped);
    // In stepped mode a person says it.
    let mut game = Game::pipeline_with(&format!("mode: stepped\n{LEASE}"));
    game.without("scaffolding/design.md").says("ada", Role::Write, "/expand").done().at(Stage::Expanding);
    game.hours_pass(2).at(Stage::SessionDropped).chats("ada").push("more").at(Stage::SessionDropped);
    game.says("ada", Role::Write, "/recover").done().at(Stage::Expanding);
}

#[test]
fn what_waits_for_others_is_not_dropped() {
    // For a review, over a weekend.
    let mut game = Game::pipeline_with(LEASE);
    game.until_reviewing().hours_pass(60).at(Stage::Reviewing);
    game.review("mia", Role::Maintain, "CHANGES_REQUESTED").at(Stage::ReviewFixing);
    // From there on it is the agent's turn again, with the whole time.
    game.hours_pass(1).at(Stage::ReviewFixing).hours_pass(1).at(Stage::SessionDropped);
    // For a check that runs.
    let mut game = Game::pipeline_with(LEASE);
    game.until_building().check(TEST, "running").hours_pass(3).at(Stage::Building);
    game.red().hours_pass(1).at(Stage::Building).hours_pass(2).at(Stage::SessionDropped);
    // For a person.
    let mut game = Game::pipeline_with(LEASE);
    game.until_building().says("ada", Role::Write, "/stop it leaks").done().hours_pass(9).at(Stage::BlockedOnGate);
    game.says("mia", Role::Maintain, "/unblock it does not").done().hours_pass(1).at(Stage::Building);
}

#[test]
fn what_is_pushed_in_the_same_look_comes_first() {
    let mut game = Game::pipeline_with(LEASE);
    game.until_designing();
    game.push_untold("late");
    game.documents().without("scaffolding/design.md");
    // The server was down for a day, and learns of both at once.
    let at = game.time() + jiff::SignedDuration::from_hours(24);
    game.happens(&[Happened::Pushed(person("ada")), Happened::Now { at }]).at(Stage::Designing);
    assert_eq!(lapses(&game), 0);
}

#[test]
fn each_condition_of_a_stop_is_recorded_and_said_in_its_own_words() {
    for (reason, condition, stage, words) in [
        ("stuck on the same import error", Some(Condition::Stuck), Stage::BlockedOnGate, "after several approaches"),
        ("Scope: twice what scope.md says", Some(Condition::Scope), Stage::ComplexityBrakeTriggered, "much larger"),
        ("dependency registry is down", Some(Condition::Dependency), Stage::BlockedOnGate, "depends on"),
        ("UNSAFE, it drops a table", Some(Condition::Unsafe), Stage::BlockedOnGate, "nobody knows whether it is safe"),
        ("it leaks", None, Stage::BlockedOnGate, "It is stopped"),
        ("unsafely written", None, Stage::BlockedOnGate, "It is stopped"),
    ] {
        let mut game = Game::pipeline();
        game.until_building().says("ada", Role::Write, &format!("/stop {reason}")).done().at(stage);
        assert_eq!(game.now().stopped.as_ref().unwrap().condition, condition, "{reason}");
        let comment = game.surface().comment;
        let next = comment.lines().find(|line| line.starts_with("**Next:**")).unwrap();
        assert!(next.contains(words), "{next}");
        let form = ["BLOCKED: ", "Options: (A)", "Recommendation: "].iter().all(|part| next.contains(part));
        assert_eq!(form, condition.is_some(), "{next}");
        let lift = if stage == Stage::BlockedOnGate { "/unblock" } else { "/brake-resolved" };
        assert!(next.contains(&format!("`{lift} REASON`")), "{next}");
        game.says("mia", Role::Maintain, &format!("{lift} looked at")).done().at(Stage::Building);
    }
    // Without phases it is recorded too.
    let mut game = Game::merge();
    game.says("ada", Role::Write, "/stop unsafe to deploy").done();
    assert_eq!(game.now().stopped.as_ref().unwrap().condition, Some(Condition::Unsafe));
    assert!(game.surface().comment.contains("BLOCKED: nobody knows whether it is safe"));
}

/// BUILD fails three times by the same rule, and somebody lets it go on.
fn blocked_once(game: &mut Game) {
    game.until_building();
    for head in ["b1", "b2", "b3"] {
        game.push(head).red().says("ada", Role::Write, "/build").done();
    }
    game.at(Stage::BlockedOnGate);
}

#[test]
fn when_a_gate_fails_again_it_says_what_was_tried_before() {
    let mut game = Game::pipeline();
    blocked_once(&mut game);
    assert!(!game.surface().comment.contains("Tried before"), "it is being told");
    game.says("mia", Role::Maintain, "/unblock another way").done().at(Stage::Building).audited();
    game.push("b4").green().at(Stage::Reviewing);
    assert!(!game.surface().comment.contains("Tried before"), "what passes needs no warning");
    game.push("b5").at(Stage::Building).red();
    let comment = game.surface().comment;
    assert!(comment.contains("**Tried before:** BUILD was blocked"), "{comment}");
    assert!(comment.contains("`BLD-02` stood against every try"), "{comment}");
    for head in ["b1", "b2", "b3"] {
        assert!(comment.contains(&format!("`{}`", commit(head).short())), "{comment}");
    }
}

#[test]
fn the_log_gets_a_line_for_each_run_and_a_post_mortem_for_each_block() {
    let mut game = Game::pipeline();
    blocked_once(&mut game);
    let comment = game.surface().comment;
    let fails = game.now().diary.lines.iter().filter(|one| one.verdict == crate::gate::Verdict::Fail).count();
    assert_eq!(fails, 3);
    for part in
        ["BUILD FAIL on", "post-mortem of BUILD", "What went wrong:", "What to try differently:", "What to avoid:"]
    {
        assert!(comment.contains(part), "{part}\n{comment}");
    }
    // What the log tells of is not told again.
    let all = game.now().diary.untold(game.now().change, &std::collections::BTreeSet::new()).concat();
    let (told, learned): (Vec<&str>, Vec<&str>) = all.lines().partition(|line| !line.contains("post-mortem"));
    let told_in = |lines: &[&str]| crate::ledger::diary::told_in(&lines.join("\n"));
    game.subject().logged.extend(told_in(&told));
    assert!(!game.surface().comment.contains("BUILD FAIL on"), "{}", game.surface().comment);
    game.subject().logged.extend(told_in(&learned));
    assert!(!game.surface().comment.contains("scaffolding/log.md</code>"));
    let mut game = Game::pipeline_with("log: { write: off }\n");
    blocked_once(&mut game);
    assert!(!game.surface().comment.contains("scaffolding/log.md</code>"));
}

/// Papers for a next round have no scope of their own, so they go through the merge gate alone; with anything else they don't.
#[test]
fn what_only_brings_papers_for_a_round_has_no_phases() {
    let papers = |game: &mut Game, paths: &[&str]| {
        let subject = game.subject();
        subject.changed = paths.iter().map(|path| (*path).to_owned()).collect();
        let left = Finding::error("EXP-12", "This scope was left by an earlier change.", "Write another.");
        subject.documents.insert(Phase::Expand, vec![left]);
        subject.documents.insert(Phase::Build, Vec::new());
    };
    let mut game = Game::with("flow: pipeline");
    papers(&mut game, &["scaffolding/iteration.md", "docs/input/distilled-a.md"]);
    game.look().green().approved_by("mia").may_merge();
    assert!(game.now().pipeline.is_none());
    // The first other file makes it a change like any other, for good.
    game.push_with("more", |game| papers(game, &["scaffolding/iteration.md", "src/a.rs"]));
    assert!(game.now().pipeline.is_some());
    game.green().approved_by("mia").may_not_merge(&["MRG-01"]);
    game.push_with("less", |game| papers(game, &["scaffolding/iteration.md"]));
    assert!(game.now().pipeline.is_some());
    // What deletes, or stands beside the folder, is no paper of a round.
    let gone = Finding::error("BLD-09", "`docs/input/a.md` is deleted.", "Put it back.");
    for (paths, found) in [
        (["docs/input/distilled-a.md"], vec![gone]),
        (["docs/input/a.md"], Vec::new()),
        (["scaffolding/scope.md"], Vec::new()),
    ] {
        let mut game = Game::with("flow: pipeline");
        papers(&mut game, &paths);
        game.subject().documents.insert(Phase::Build, found);
        game.look();
        assert!(game.now().pipeline.is_some(), "{paths:?}");
    }
    // Where nothing was delivered, input begins a change.
    let mut game = Game::with("flow: pipeline");
    papers(&mut game, &["docs/input/distilled-a.md"]);
    game.subject().documents.insert(Phase::Expand, Vec::new());
    game.look();
    assert!(game.now().pipeline.is_some());
}

/// The word of a condition is a word of its own: whoever speaks of something else has their own words.
#[test]
fn a_condition_is_a_word_and_not_the_beginning_of_one() {
    for (reason, is) in [
        ("stuck: three tries", Some(Condition::Stuck)),
        ("Stuck", Some(Condition::Stuck)),
        ("scope, it has doubled", Some(Condition::Scope)),
        ("dependency is down", Some(Condition::Dependency)),
        ("unsafe (it burns)", Some(Condition::Unsafe)),
        ("Stuck-at-zero bug in the ADC", None),
        ("dependency-injection leaks", None),
        ("scope_guard leaks", None),
        ("scopes are wrong", None),
        ("unsafe/unsound", None),
        ("it is stuck", None),
    ] {
        assert_eq!(Condition::of(reason), is, "{reason}");
    }
    let mut game = Game::pipeline();
    game.until_building().says("ada", Role::Write, "/stop scope-guard leaks").at(Stage::BlockedOnGate);
    assert_eq!(game.now().stopped.as_ref().and_then(|stop| stop.condition), None);
}
