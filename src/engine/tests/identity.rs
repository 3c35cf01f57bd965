//! The same work under another number, and what is bound to which content.

use crate::engine::Target;
use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::people::Standing;
use crate::ids::{ChangeNumber, Digest, Role};
use crate::ledger::Body;
use crate::ledger::origin::{Same, hands_down};

/// A game that begins with what this one left behind.
fn heir(earlier: &Game, yaml: &str) -> Game {
    let mut game = Game::with(yaml).later_than(earlier);
    game.world.earlier = vec![earlier.as_three()];
    game
}

#[test]
fn three_fails_and_the_block_are_taken_over() {
    let mut first = Game::pipeline();
    first.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    for _ in 0..3 {
        first.says("ada", Role::Write, "/expand").done();
    }
    first.at(Stage::BlockedOnGate);
    let mut second = heir(&first, "flow: pipeline\n");
    second.documents().look().at(Stage::BlockedOnGate);
    assert_eq!(second.table().fails(Phase::Expand), 3);
    let comment = second.surface().comment;
    assert!(comment.contains("Carries on from #3: 3 FAILs at expand; "), "{comment}");
    assert!(comment.contains("it waits for a person"), "{comment}");
    second.green().approved_by("mia").may_not_merge(&["MRG-01", "MRG-05", "MRG-06"]);
    assert!(comment.contains("an audit of S-0001 is owed"), "{comment}");
    second.says("ada", Role::Write, "/expand").refused_with("SNP-10");
    // All that it takes is there, so a verifier's report and a person's word are enough.
    second.audited().says("mia", Role::Maintain, "/unblock go on").done().may_merge();
    assert_eq!(second.table().fails(Phase::Expand), 0);
}

#[test]
fn two_fails_and_one_more_block() {
    let mut first = Game::pipeline();
    first.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    for _ in 0..2 {
        first.says("ada", Role::Write, "/expand").done();
    }
    let mut second = heir(&first, "flow: pipeline\n");
    second.look().at(Stage::PreferencesConfigured);
    second.says("ada", Role::Write, "/expand").done().says("ada", Role::Write, "/expand").at(Stage::BlockedOnGate);
}

/// The other one may go on, under its own number. What is news is taken over then, and nothing twice; and what a person
/// has lifted does not come back.
#[test]
fn what_comes_later_is_taken_over_later() {
    let mut first = Game::pipeline();
    first.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    for _ in 0..2 {
        first.says("ada", Role::Write, "/expand").done();
    }
    let mut second = heir(&first, "flow: pipeline\n");
    second.without("scaffolding/scope.md").look();
    let before = second.now().seq;
    second.look();
    assert_eq!((second.now().seq, second.table().fails(Phase::Expand)), (before, 2));

    first.says("ada", Role::Write, "/expand").done().at(Stage::BlockedOnGate);
    second.world.earlier = vec![first.as_three()];
    second.look().at(Stage::BlockedOnGate);
    assert_eq!(second.table().fails(Phase::Expand), 3);
    second.says("mia", Role::Maintain, "/unblock talked it over").done().at(Stage::Expanding);
    second.look().at(Stage::Expanding);
    assert_eq!(second.table().fails(Phase::Expand), 0);

    // A third one finds both: the first still blocked, and the second where that was lifted.
    let mut third = Game::with("flow: pipeline\n");
    let lifted = crate::ledger::State { change: ChangeNumber(5), ..second.now().clone() };
    third.world.earlier = vec![first.as_three(), lifted];
    third.look().at(Stage::PreferencesConfigured);
    assert_eq!(third.table().fails(Phase::Expand), 0);
}

#[test]
fn fails_of_several_numbers_add_up() {
    let failed = || {
        let mut game = Game::pipeline();
        game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
        game.says("ada", Role::Write, "/expand").done().says("ada", Role::Write, "/expand").done();
        game
    };
    let (first, mut second) = (failed(), failed());
    assert_eq!(second.table().fails(Phase::Expand), 2);
    second.world.earlier = vec![first.as_three()];
    second.look().at(Stage::BlockedOnGate);
    assert_eq!(second.table().fails(Phase::Expand), 4);
}

#[test]
fn a_stop_a_rejection_and_the_operators_are_taken_over() {
    let mut first = Game::merge();
    first.pushed_by("mia", "one").says("root", Role::Admin, "/reject it leaks").done();
    first.says("root", Role::Admin, "/stop it leaks").done();
    let mut second = heir(&first, "");
    second.look().green().approved_by("mia").may_not_merge(&["MRG-02", "MRG-05"]);
    assert!(second.findings().iter().any(|finding| finding.says.contains("rejects it: `it leaks`")));
    let asked = second.notice().expect("a person is asked").body;
    assert!(asked.contains("`root`, on #3, stopped #7: `it leaks`"), "{asked}");
    assert!(asked.contains("what is answered there is answered for #3 alone"), "{asked}");
    second.says("root", Role::Admin, "/unblock it does not").done();
    second.says("root", Role::Admin, "/approve").done();
    let says = second.findings();
    second.may_merge();
    assert!(says.iter().all(|finding| finding.rule != "MRG-05"));
}

#[test]
fn what_a_label_tightened_stays_tight_under_the_same_policy() {
    let yaml = "match: [{ label: careful, flow: pipeline, mode: stepped, autonomy: manual }]\n";
    let mut first = Game::with(yaml);
    first.look().labelled("careful");
    let mut second = heir(&first, yaml);
    second.look();
    assert_eq!((second.now().flow, second.now().autonomy), (first.now().flow, first.now().autonomy));
    assert_eq!(second.now().mode, first.now().mode);
    let mut other = heir(&first, "limits: { previews: 4 }\n");
    other.look();
    assert_ne!(other.now().flow, first.now().flow, "another policy is another law");
}

#[test]
fn a_run_that_went_stale_is_not_fresh_under_another_number() {
    let mut first = Game::merge();
    first.green();
    let runs = first.world.checks.clone();
    first.subject().about.content = Digest::of("the base moved");
    first.look();
    let mut second = heir(&first, "");
    second.subject().about.content = Digest::of("the base moved");
    second.world.checks = runs;
    second.look().approved_by("mia").may_not_merge(&["MRG-01"]);
    assert!(second.finding("MRG-01").waiting);
}

#[test]
fn nothing_to_take_over_is_no_record() {
    let mut first = Game::merge();
    first.green();
    let mut second = heir(&first, "");
    second.look();
    assert!(!second.log.iter().any(|entry| matches!(entry.body, Body::Inherited(_))));
}

#[test]
fn a_merged_change_hands_down_by_head_and_patch_but_not_by_branch() {
    let mut game = Game::merge();
    let keys = game.world.origin().keys(&game.world.pull.head);
    let only = |same: Same| keys.iter().filter(|(kind, _)| *kind == same).cloned().collect::<Vec<_>>();
    assert_eq!(keys.len(), 3);
    for same in [Same::Head, Same::Branch, Same::Patch] {
        assert!(hands_down(game.now(), &only(same), "main", false), "{same:?}");
    }
    game.merged();
    assert!(
        hands_down(game.now(), &only(Same::Head), "main", false)
            && hands_down(game.now(), &only(Same::Patch), "main", false)
    );
    assert!(!hands_down(game.now(), &only(Same::Branch), "main", false));
    assert!(!hands_down(game.now(), &[(Same::Head, Digest::of("another"))], "main", false));
}

/// A review and a run come in, and the base moves under the head, before anyone looks.
fn together(settled: i64, came: i64) -> Game {
    let mut game = Game::merge();
    let mut run = game.job(TEST, CI, 1, "success");
    run.started_at = jiff::Timestamp::from_second(came).ok();
    game.world.checks.push(run);
    let mut early = Game::merge();
    early.approved_by("mia");
    let mut review = early.world.reviews.remove(0);
    review.submitted_at = jiff::Timestamp::from_second(came).ok();
    game.world.reviews.push(review);
    game.subject().about.content = Digest::of("the base moved");
    game.world.settled = jiff::Timestamp::from_second(settled).ok();
    game.look();
    game
}

#[test]
fn what_came_before_the_base_moved_is_for_the_content_before() {
    let mut game = together(100, 99);
    game.may_not_merge(&["MRG-01", "MRG-02"]);
    assert!(game.finding("MRG-02").says.contains("it is for other content than this"));
    assert!(game.finding("MRG-01").says.contains("it ran before the base"));
    assert!(game.finding("MRG-01").next.starts_with("Run it again on this head"));
    game.subject().conflicts = true;
    game.look();
    assert!(game.finding("MRG-01").next.contains("there are conflicts"));
    // Within one second nobody knows which came first.
    together(100, 100).may_not_merge(&["MRG-01", "MRG-02"]);
    together(100, 101).may_merge();
    game.world.settled = None;
    game.green().approved_by("mia").may_merge();
}

#[test]
fn an_approval_by_comment_falls_with_the_role() {
    let mut game = Game::merge();
    game.green().says("mia", Role::Maintain, "/approve").done().may_merge();
    let mia = person("mia").id;
    game.world.standings.insert(mia, Standing { role: Role::Write, named: false });
    game.look().may_not_merge(&["MRG-02"]);
    assert!(game.finding("MRG-02").says.contains("`mia`'s approval does not count: their role is write"));
    game.world.standings.insert(mia, Standing { role: Role::Write, named: true });
    game.look().may_merge();
}

#[test]
fn only_an_issue_that_is_there_and_free_is_linked() {
    let mut game = Game::merge();
    for (target, says) in [
        (Target::Nothing, "there is no issue #12."),
        (Target::Pull, "#12 is a pull request"),
        (Target::Issue { of: Some(ChangeNumber(3)) }, "#12 belongs to #3."),
    ] {
        game.target = target;
        let refusal = game.says("ada", Role::Write, "/link #12").refused_with("CMD-05").clone();
        assert!(refusal.says.contains(says), "{refusal:?}");
        assert!(game.now().linked.is_empty());
    }
    game.target = Target::Issue { of: Some(ChangeNumber(7)) };
    game.says("ada", Role::Write, "/link #12").done();
}

/// A block is lifted under whatever flow the person who lifts it finds.
#[test]
fn what_was_lifted_without_phases_does_not_come_back_with_them() {
    let mut game = Game::pipeline();
    game.until_reviewing().says("root", Role::Admin, "/stop it leaks").done().at(Stage::BlockedOnGate);
    game.policy_is("").look();
    game.says("mia", Role::Maintain, "/unblock it does not").done();
    game.policy_is("flow: pipeline\n").look();
    assert_ne!(game.stage(), Stage::BlockedOnGate);
    let comment = game.surface().comment;
    assert!(!comment.contains("it leaks"), "{comment}");
}

/// However often something is taken over from a change, one line tells it.
#[test]
fn one_line_for_each_number() {
    let mut first = Game::merge();
    first.says("root", Role::Admin, "/reject it leaks").done();
    let mut second = heir(&first, "");
    second.look();
    first.says("root", Role::Admin, "/stop it leaks").done();
    second.world.earlier = vec![first.as_three()];
    second.look();
    let comment = second.surface().comment;
    assert_eq!(comment.matches("Carries on from #3").count(), 1, "{comment}");
    assert!(comment.contains("it is stopped") && comment.contains("root is against this content"), "{comment}");
}

/// What was put under another number is newer than a word that comes late, too.
#[test]
fn a_late_word_lifts_nothing_newer_of_another_number() {
    let mut first = Game::merge();
    let mut second = Game::merge().later_than(&first);
    second.green().approved_by("mia");
    let lifts = second.comment("mia", standing(Role::Maintain), "/unblock it is fine");
    let approves = second.comment("root", standing(Role::Admin), "/approve");
    first = first.later_than(&second);
    first.says("root", Role::Admin, "/stop it leaks").done().says("root", Role::Admin, "/reject it leaks").done();
    second.world.earlier = vec![first.as_three()];
    second.look().may_not_merge(&["MRG-02", "MRG-05"]);
    second.happens(&lifts).refused_with("CMD-11");
    second.happens(&approves).refused_with("CMD-11");
    second.may_not_merge(&["MRG-02", "MRG-05"]);
}

#[test]
fn changes_asked_for_on_a_closed_pull_request_are_taken_over() {
    let mut first = Game::merge();
    first.green().closed().review("root", Role::Admin, "CHANGES_REQUESTED");
    assert!(first.last().iter().any(|entry| matches!(entry.body, Body::Objected { .. })));
    let seq = first.now().seq;
    first.look();
    assert_eq!(first.now().seq, seq, "it is noted once");
    let mut second = heir(&first, "");
    second.look().green().approved_by("mia").may_not_merge(&["MRG-02"]);
    // It is theirs to take back, closed or not.
    first.review("root", Role::Admin, "APPROVED");
    assert!(first.now().objectors.is_empty());
    heir(&first, "").look().green().approved_by("mia").may_merge();
}

/// What its giver approved before, or of something else, takes no objection back.
#[test]
fn an_objection_is_taken_back_by_a_later_approval_of_this_content() {
    let mut second = Game::merge();
    second.push("harmless").review("mia", Role::Maintain, "APPROVED");
    let mut first = Game::merge().later_than(&second);
    first.push("bad").review("mia", Role::Maintain, "CHANGES_REQUESTED");
    let mut second = second.later_than(&first);
    // Later, but still of what was harmless.
    second.review("mia", Role::Maintain, "APPROVED");
    second.world.earlier = vec![first.as_three()];
    second.push("bad").green().approved_by("root").may_not_merge(&["MRG-02"]);
    assert!(second.finding("MRG-02").says.contains("asked for changes on #3"), "{:?}", second.findings());
    second.review("mia", Role::Maintain, "APPROVED").may_merge();
    // Once taken back here it is over, whatever comes.
    second.push("worse").green().approved_by("root").may_merge();
    // Asked for once more, it is another one.
    let mut first = first.later_than(&second);
    first.review("mia", Role::Maintain, "APPROVED").push("worse").review("mia", Role::Maintain, "CHANGES_REQUESTED");
    second.world.earlier = vec![first.as_three()];
    second.look().may_not_merge(&["MRG-02"]);
    let mut second = second.later_than(&first);
    second.says("mia", Role::Maintain, "/approve").done().may_merge();
}

#[test]
fn an_objection_that_is_renewed_stands_once() {
    let mut first = Game::merge();
    first.review("mia", Role::Maintain, "CHANGES_REQUESTED");
    let mut second = heir(&first, "");
    second.look().green().approved_by("root");
    first.review("mia", Role::Maintain, "CHANGES_REQUESTED");
    second.world.earlier = vec![first.as_three()];
    second.look().may_not_merge(&["MRG-02"]);
    assert_eq!(second.now().rejections.len(), 1);
}

/// It was made there, so it can be taken back there; but not by approving something else there.
#[test]
fn an_objection_is_taken_back_where_it_was_made() {
    let mut first = Game::merge();
    first.review("root", Role::Admin, "CHANGES_REQUESTED");
    let mut second = heir(&first, "");
    second.push("more").green().approved_by("mia").may_not_merge(&["MRG-02"]);
    let mut other = Game::merge();
    other.world.reviews = first.world.reviews.clone();
    other.look().push("clean").review("root", Role::Admin, "APPROVED");
    second.world.earlier = vec![other.as_three()];
    second.look().may_not_merge(&["MRG-02"]);
    first.review("root", Role::Admin, "APPROVED");
    second.world.earlier = vec![first.as_three()];
    second.look().may_merge();
}
