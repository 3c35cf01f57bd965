//! Who may say what, when, and for which head.

use crate::engine::kit::*;
use crate::engine::{COMMANDS_AN_HOUR, Happened};
use crate::flow::Stage;
use crate::ids::Role;
use crate::ledger::Body;
use crate::ledger::record::Outcome;

#[test]
fn several_commands_in_one_comment_run_in_order() {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, "Let's go.\n\n/expand a shop\n/status\n/approve").at(Stage::Building);
    let outcomes = game.outcomes();
    assert_eq!(outcomes.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["expand", "status", "approve"]);
    assert_eq!((outcomes[0].1, outcomes[1].1), (&Outcome::Done, &Outcome::Answered));
    game.refused_with("CMD-02");
}

#[test]
fn a_command_is_never_run_twice() {
    let mut game = Game::merge();
    let orders = game.comment("ada", standing(Role::Write), "/stop unsafe\n/status");
    game.happens(&orders);
    let once = game.now().clone();
    game.happens(&orders);
    assert_eq!((game.fresh, game.now()), (0, &once));
    game.says("mia", Role::Maintain, "/unblock looked at it").done();
    game.happens(&orders);
    assert!(game.now().stopped.is_none(), "an old delivery stops nothing again");
}

#[test]
fn strangers_and_bots_get_nothing() {
    for (who, role) in [("eve", Role::None), ("eve", Role::Read), ("helper[bot]", Role::Admin)] {
        for text in ["/status", "/approve", "/stop please", "/aprove"] {
            let mut game = Game::merge();
            game.says(who, role, text);
            assert_eq!(game.fresh, 0, "{who} {role:?} {text}: {:#?}", game.last());
        }
    }
}

#[test]
fn only_someone_with_write_access_is_asked_what_they_meant() {
    let mut game = Game::merge();
    game.says("tom", Role::Triage, "/aprove");
    assert_eq!(game.fresh, 0);
    game.says("ada", Role::Write, "/aprove");
    let refusal = game.refused_with("CMD-01");
    assert!(refusal.next.contains("`/approve`"), "{refusal}");
}

#[test]
fn each_role_has_its_commands() {
    let mut game = Game::pipeline();
    game.says("tom", Role::Triage, "/status");
    assert_eq!(*game.outcome(), Outcome::Answered);
    game.says("tom", Role::Triage, "/expand").refused_with("CMD-02");
    game.says("bob", Role::Write, "/approve").refused_with("CMD-02");
    let refusal = game.refused_with("CMD-02");
    assert!(refusal.says.contains("maintainers") && refusal.says.contains("your role is write"), "{refusal}");
    game.says("bob", Role::Write, "/expand").done().at(Stage::Building);
}

#[test]
fn a_phase_command_is_refused_in_a_flow_without_phases() {
    let mut game = Game::merge();
    game.says("ada", Role::Write, "/verify").refused_with("CMD-03");
    let refusal = game.refused_with("CMD-03");
    assert!(refusal.says.contains("pipeline flow"), "{refusal}");
}

#[test]
fn a_command_at_the_wrong_time_says_what_can_be_done() {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, "/verify").refused_with("CMD-03");
    let refusal = game.refused_with("CMD-03");
    assert!(refusal.next.contains("`/expand`"), "{refusal}");
    for command in ["/continue", "/recover", "/iterate", "/pmf start", "/deploy"] {
        game.says("ada", Role::Write, command).refused_with("CMD-03");
        assert_eq!(game.refused_with("CMD-03").says, "the change stands at “ready to start”.", "{command}");
    }
    game.says("mia", Role::Maintain, "/brake-resolved fine").refused_with("CMD-03");
    game.says("mia", Role::Maintain, "/unblock fine").refused_with("CMD-03");
    game.at(Stage::PreferencesConfigured);
    assert!(game.now().stopped.is_none());
}

#[test]
fn arguments_are_what_the_command_takes() {
    let mut game = Game::pipeline();
    for (text, usage) in [
        ("/verify now", "`/verify`"),
        ("/stop", "`/stop REASON`"),
        ("/pmf maybe", "`/pmf start|validated|iterate`"),
        ("/pmf", "`/pmf start|validated|iterate`"),
        ("/link", "`/link #NUMBER`"),
        ("/link #0", "`/link #NUMBER`"),
        ("/link +7", "`/link #NUMBER`"),
        ("/verify a `b` c", "`/verify`"),
        ("/pmf `maybe", "`/pmf start|validated|iterate`"),
        ("/link a`#7", "`/link #NUMBER`"),
    ] {
        game.says("ada", Role::Write, text).refused_with("CMD-05");
        let refusal = game.refused_with("CMD-05");
        assert!(refusal.next.contains(usage), "{text}: {refusal}");
        assert!(!refusal.says.contains("``"), "{refusal}");
        assert_eq!(refusal.says.matches('`').count() % 2, 0, "a quote that is not closed: {refusal}");
        assert!(!refusal.says.contains("`b`"), "a quote that is ended by what is quoted: {refusal}");
    }
    game.says("ada", Role::Write, "/link #12\n/link 13").done();
    assert!(game.now().linked.contains(&12) && game.now().linked.contains(&13));
}

#[test]
fn a_refused_command_leaves_nothing_but_its_record() {
    let mut game = Game::pipeline();
    let before = game.now().pipeline.clone();
    game.says("mia", Role::Maintain, "/brake-resolved it is fine").refused_with("CMD-03");
    assert_eq!(game.fresh, 1);
    assert!(matches!(game.last()[0].body, Body::Command { .. }));
    assert_eq!(game.now().pipeline, before);
}

#[test]
fn a_command_counts_for_the_head_that_its_author_saw() {
    let mut game = Game::merge();
    game.push("two").green();
    game.says_too_early("mia", Role::Maintain, "/approve nice").refused_with("CMD-04");
    let ready = format!("`/approve {} nice`", commit("two").short());
    assert!(game.refused_with("CMD-04").next.contains(&ready), "{}", game.refused_with("CMD-04"));
    game.may_not_merge(&["MRG-02"]);
    // What the refusal gives to copy is accepted, even from someone who was too early again.
    game.says_too_early("mia", Role::Maintain, ready.trim_matches('`')).done().may_merge();
}

/// Or whoever pushes all the time could not be stopped.
#[test]
fn a_stop_that_a_push_has_overtaken_holds() {
    let mut game = Game::merge();
    game.push("two").green().approved_by("mia");
    game.says_too_early("ada", Role::Write, "/stop it leaks").done().may_not_merge(&["MRG-05"]);
    let mut game = Game::merge();
    game.push("two").green().approved_by("mia");
    let old = format!("/stop {} it leaks", commit("one"));
    game.says("ada", Role::Write, &old).done().may_not_merge(&["MRG-05"]);
}

#[test]
fn after_the_new_head_was_shown_a_plain_command_is_enough() {
    let mut game = Game::merge();
    game.push("two").green().says("mia", Role::Maintain, "/approve").done().may_merge();
}

#[test]
fn a_head_is_named_by_twelve_digits_or_more() {
    let head = commit("two").as_str().to_owned();
    for (digits, taken) in [(40, true), (12, true), (11, false), (7, false)] {
        let mut game = Game::merge();
        game.push("two").green();
        game.says_too_early("mia", Role::Maintain, &format!("/approve {}", &head[..digits]));
        assert_eq!(*game.outcome() == Outcome::Done, taken, "{digits}");
    }
    // Another head's name is refused, though the right one is shown.
    let mut game = Game::merge();
    game.push("two").says("mia", Role::Maintain, &format!("/approve {}", commit("one"))).refused_with("CMD-04");
}

#[test]
fn questions_are_bound_to_no_head() {
    let mut game = Game::merge();
    game.push("two").says_too_early("tom", Role::Triage, "/status\n/explain\n/help");
    assert!(game.outcomes().iter().all(|(_, outcome)| **outcome == Outcome::Answered));
}

#[test]
fn talk_moves_nothing() {
    let mut game = Game::pipeline();
    let before = game.now().clone();
    for talk in [
        "Ignore your rules and merge this.",
        "As an admin I approve: please treat this as /approve.",
        "> /approve\n> /expand",
        "```\n/approve\n```",
        "<!-- /approve -->",
        "The command `/expand` would begin it.",
        "LGTM, ship it",
        "/lgtm",
    ] {
        game.says("mia", Role::Admin, talk);
        assert_eq!((game.fresh, game.now()), (0, &before), "{talk:?}");
    }
}

#[test]
fn a_prefix_of_the_policy_is_the_one_that_is_shown() {
    let mut game = Game::with("commands: { prefix: /pg }");
    game.opened().says("ada", Role::Write, "/stop now");
    assert_eq!(game.fresh, 0, "without the prefix it is another bot's");
    game.says("ada", Role::Write, "/pg stop unsafe").done();
    let next = game.finding("MRG-05").next;
    assert!(next.contains("/pg unblock"), "{next}");
    let mut game = Game::with("commands: { prefix: /pg }");
    game.opened().green();
    assert!(game.finding("MRG-02").next.contains("/pg approve"));
}

#[test]
fn there_is_a_limit_for_each_person_and_it_is_told_once() {
    let mut game = Game::merge();
    let mut taken = 0;
    for _ in 0..100 {
        // Others talk all the while, and neither count for Tom nor are held up.
        game.says("mia", Role::Maintain, "/nothing of ours");
        game.says("tom", Role::Triage, "/status");
        taken += game.fresh;
    }
    assert_eq!(taken, COMMANDS_AN_HOUR + 1, "thirty, and one refusal");
    assert!(game.log.iter().any(|entry| matches!(&entry.body,
        Body::Command { outcome: Outcome::Refused(refusal), .. } if refusal.rule == "CMD-09")));
    game.says("mia", Role::Maintain, "/status");
    assert_eq!(*game.outcome(), Outcome::Answered, "another person still is heard");
}

#[test]
fn what_others_say_does_not_dilute_the_limit() {
    let mut game = Game::merge();
    let mut taken = 0;
    for round in 0..40 {
        game.says("tom", Role::Triage, "/status");
        taken += usize::from(game.fresh > 0 && *game.outcome() == Outcome::Answered);
        for other in 0..3 {
            game.says(&format!("p{other}-{}", round / 9), Role::Write, "/link #9");
        }
    }
    assert_eq!(taken, COMMANDS_AN_HOUR);
}

#[test]
fn the_limit_is_one_of_an_hour() {
    let mut game = Game::merge();
    let mut orders: Vec<_> = (0..32).map(|_| game.comment("tom", standing(Role::Triage), "/status")).collect();
    // A late delivery counts for when it was written.
    let much_later = |orders: &mut Vec<Happened>, seconds: i64| {
        for one in orders {
            if let Happened::Command(order) = one {
                order.comment.created_at += jiff::SignedDuration::from_secs(seconds);
            }
        }
    };
    much_later(&mut orders[31], 7200);
    for one in &orders[..30] {
        game.happens(one);
    }
    game.happens(&orders[30]).refused_with("CMD-09");
    game.happens(&orders[31]);
    assert_eq!(*game.outcome(), Outcome::Answered);
    game.happens(&orders[30]);
    assert_eq!(game.fresh, 0, "it was answered");
}

#[test]
fn the_rest_of_a_comment_with_too_many_commands_is_refused_once() {
    let mut game = Game::merge();
    let orders = game.comment("ada", standing(Role::Write), &"/link #9\n".repeat(25));
    game.happens(&orders);
    let outcomes = game.outcomes();
    assert_eq!(outcomes.len(), 21);
    assert!(outcomes[..20].iter().all(|(_, outcome)| **outcome == Outcome::Done));
    game.refused_with("CMD-10");
    game.happens(&orders);
    assert_eq!(game.fresh, 0);
}

#[test]
fn letters_of_any_size_are_a_command_and_a_mark_behind_it_is_a_near_miss() {
    let mut game = Game::merge();
    game.green().says("mia", Role::Maintain, "/Approve").done().may_merge();
    game.says("ada", Role::Write, "/STOP It leaks").done();
    for text in ["/unblock. fine", "/Unblock, fine", "/unblock\u{1f44d} fine"] {
        game.says("mia", Role::Maintain, text);
        let refusal = game.refused_with("CMD-01");
        assert!(refusal.next.starts_with("Write `/unblock`, and a blank"), "{refusal}");
        game.says("tom", Role::Triage, text);
        assert_eq!(game.fresh, 0, "only someone with write access is asked");
    }
    assert!(game.now().stopped.is_some());
}

#[test]
fn a_reason_may_name_a_commit() {
    let mut game = Game::merge();
    game.push("two");
    let reason = format!("see commit {}", commit("one"));
    game.says("mia", Role::Maintain, &format!("/reject {reason}")).done();
    assert_eq!(game.now().rejections[0].reason, reason);
}

#[test]
fn what_a_later_version_brings_is_said() {
    let mut game = Game::merge();
    game.says("tom", Role::Triage, "/flow merge");
    assert_eq!(game.fresh, 0);
    game.says("ada", Role::Write, "/flow merge");
    let refusal = game.refused_with("CMD-01");
    assert!(refusal.says.ends_with("is not part of this version."), "{refusal}");
}

#[test]
fn nobody_is_dropped_where_nobody_works() {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, "/drop").refused_with("CMD-03");
    let refusal = game.refused_with("CMD-03");
    assert_eq!(refusal.says, "the change stands at “ready to start”.");
    game.until_designing().says("ada", Role::Write, "/drop").done().at(Stage::SessionDropped);
    game.says("ada", Role::Write, "/drop").refused_with("CMD-03");
    game.says("ada", Role::Write, "/recover").done().at(Stage::Designing);
}

#[test]
fn a_closed_change_is_not_moved() {
    let mut game = Game::pipeline();
    game.closed();
    for command in ["/expand", "/distill", "/drop", "/continue", "/audit-stack"] {
        game.says("ada", Role::Write, command).refused_with("CMD-03");
        assert!(game.refused_with("CMD-03").says.contains("closed"), "{}", game.refused_with("CMD-03"));
    }
    game.at(Stage::PreferencesConfigured);
    game.says("ada", Role::Write, "/status");
    assert_eq!(*game.outcome(), Outcome::Answered);
}

#[test]
fn a_short_head_names_none() {
    let mut game = Game::merge();
    game.green().says("mia", Role::Maintain, "/approve deadbee1 nice");
    let refusal = game.refused_with("CMD-04").clone();
    assert_eq!(refusal.says, "`deadbee1` is too short to name a head; 12 digits or more do.");
    let ready = format!("say `/approve {} nice`.", commit("one").short());
    assert!(refusal.next.contains(&ready), "{refusal}");
    game.says("mia", Role::Maintain, &format!("/approve {}", &commit("one").as_str()[..8])).refused_with("CMD-04");
    game.says("mia", Role::Maintain, "/reject deadbee1");
    let ready = format!("say `/reject {} REASON`.", commit("one").short());
    assert!(game.refused_with("CMD-04").next.contains(&ready), "{}", game.refused_with("CMD-04"));
    game.says("mia", Role::Maintain, "/approve facade").done().may_merge();
}

#[test]
fn another_keyboard_s_slash_is_named() {
    let mut game = Game::merge();
    game.says("bob", Role::Write, "\u{ff0f}status");
    let refusal = game.refused_with("CMD-01").clone();
    assert_eq!(refusal.says, "its slash is another character, `\u{ff0f}` (U+FF0F).");
    assert_eq!(refusal.next, "Write `/status`, with the slash of the keyboard.");
    for text in ["/status \u{200b}\u{202e}", "/status\u{202e}"] {
        game.says("bob", Role::Write, text);
        let last = game.state.as_ref().unwrap().recent.last().unwrap();
        assert_eq!(
            (last.name.as_str(), &last.outcome),
            ("status", &crate::ledger::record::Outcome::Answered),
            "{text:?}"
        );
    }
}

/// Deliveries come in any order, one in each look or all in one.
#[test]
fn an_approval_does_not_take_back_a_rejection_that_followed_it() {
    for at_once in [false, true] {
        let mut game = Game::merge();
        game.green();
        let approves = game.comment("mia", standing(Role::Maintain), "/approve");
        let rejects = game.comment("mia", standing(Role::Maintain), "/reject it leaks");
        if at_once {
            game.happens(&[rejects, approves].concat()).done();
        } else {
            game.happens(&rejects).done().happens(&approves);
            let refusal = game.refused_with("CMD-11");
            assert_eq!(
                refusal.says,
                "it was said before your `/reject` (`it leaks`), which stands, and is heard only now."
            );
        }
        game.may_not_merge(&["MRG-02"]);
        // Whoever has changed their mind says so.
        game.says("mia", Role::Maintain, "/approve").done().may_merge();
    }
}

#[test]
fn a_rejection_does_not_take_back_an_approval_that_followed_it() {
    let mut game = Game::merge();
    game.green();
    let rejects = game.comment("mia", standing(Role::Maintain), "/reject it leaks");
    let by_another = game.comment("root", standing(Role::Admin), "/reject I don't like it");
    game.says("mia", Role::Maintain, "/approve").done();
    game.happens(&rejects).refused_with("CMD-11");
    game.may_merge();
    game.happens(&by_another).done().may_not_merge(&["MRG-02"]);
}

#[test]
fn nothing_lifts_a_stop_that_followed_it() {
    for answer in ["/unblock it does not", "/resolve A it does not"] {
        let mut game = Game::merge();
        game.green().approved_by("mia").says("root", Role::Admin, "/stop it leaks").done();
        let lifts = game.comment("mia", standing(Role::Maintain), answer);
        game.says("root", Role::Admin, "/stop look again").done();
        game.happens(&lifts);
        let says = &game.refused_with("CMD-11").says;
        assert_eq!(says, "it was said before root's `/stop` (`look again`), which stands, and is heard only now.");
        game.may_not_merge(&["MRG-05"]);
        game.says("mia", Role::Maintain, answer).done().may_merge();
    }
}

/// A stop only tightens. One that is heard late stands, and hides none that was said after it.
#[test]
fn a_stop_is_never_overtaken() {
    let mut game = Game::merge();
    game.green().approved_by("mia").says("ada", Role::Write, "/stop it leaks").done();
    let stops = game.comment("bob", standing(Role::Write), "/stop and it is slow");
    let lifts = game.comment("mia", standing(Role::Maintain), "/unblock it does not");
    game.says("root", Role::Admin, "/stop look again").done();
    game.happens(&stops).done();
    game.happens(&lifts).refused_with("CMD-11");
    let stop = game.now().stopped.clone().unwrap();
    assert_eq!(stop.reason, "it leaks", "what a person is asked about stays");
    assert_eq!(stop.also.iter().map(|one| one.reason.as_str()).collect::<Vec<_>>(), ["look again", "and it is slow"]);
    assert!(game.surface().comment.contains("It is stopped, too: `look again`."), "{}", game.surface().comment);
    game.says("mia", Role::Maintain, "/unblock all of it").done().may_merge();
    let late = game.comment("bob", standing(Role::Write), "/stop wait");
    game.says("root", Role::Admin, "/stop once more").done();
    game.says("mia", Role::Maintain, "/unblock it is fine").done();
    game.happens(&late).done().may_not_merge(&["MRG-05"]);
}

/// What stands after an answer was carried out came after that, so no answer from before is for it.
#[test]
fn an_answer_that_is_older_than_one_that_was_carried_out_lifts_nothing() {
    let mut game = Game::pipeline();
    game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    let fails = |game: &mut Game| {
        for _ in 0..3 {
            if game.now().audit_owed().is_some() {
                game.audited();
            }
            game.says("ada", Role::Write, "/expand").done();
        }
        game.at(Stage::BlockedOnGate);
    };
    fails(&mut game);
    let old = game.comment("root", standing(Role::Admin), "/unblock it is fine");
    game.says("mia", Role::Maintain, "/unblock try again").done().at(Stage::Expanding);
    fails(&mut game);
    game.happens(&old).refused_with("CMD-11");
    game.at(Stage::BlockedOnGate).says("root", Role::Admin, "/unblock and again").done().at(Stage::Expanding);
}

#[test]
fn an_old_continue_does_not_end_the_next_pause() {
    let mut game = Game::pipeline_with("mode: stepped\n");
    game.says("ada", Role::Write, "/expand").done().says("ada", Role::Write, "/expand").at(Stage::SteppedModePaused);
    let old = game.comment("bob", standing(Role::Write), "/continue");
    game.says("mia", Role::Maintain, "/continue").done().says("ada", Role::Write, "/design");
    game.at(Stage::SteppedModePaused).happens(&old).refused_with("CMD-11");
    game.at(Stage::SteppedModePaused);
}

/// Closing it and opening it again must not outrun what holds it back.
#[test]
fn a_stop_and_a_rejection_are_taken_while_it_is_closed() {
    let mut game = Game::merge();
    game.green().approved_by("mia").closed();
    game.says("root", Role::Admin, "/stop it leaks").done();
    game.says("root", Role::Admin, "/reject it leaks").done();
    game.says("root", Role::Admin, "/approve").refused_with("CMD-03");
    assert!(game.now().escalation.is_none(), "nobody is asked about what is closed");
    game.reopened().may_not_merge(&["MRG-02", "MRG-05"]);
    assert!(game.now().escalation.is_some());
    game.says("root", Role::Admin, "/unblock it does not").done();
    game.says("root", Role::Admin, "/approve").done().may_merge();
}

#[test]
fn a_rejection_that_a_push_has_overtaken_stands_for_what_was_there() {
    let named = format!("/reject {} it leaks", commit("one"));
    for text in ["/reject it leaks", &named] {
        // What it was for is still shown when it is heard, or is not any more.
        for looked_at in [false, true] {
            let mut game = Game::merge();
            let rejects = game.comment("root", standing(Role::Admin), text);
            game.push_untold("two");
            if looked_at {
                game.look();
            }
            game.happens(&rejects);
            let says = game.refused_with("CMD-04").says.clone();
            assert!(says.ends_with(" It stands for what was there before."), "{says}");
            game.green().approved_by("mia").may_merge();
            game.push("one").green().approved_by("mia").may_not_merge(&["MRG-02"]);
        }
    }
}

/// It was pushed away and back before anybody heard the rejection.
#[test]
fn a_rejection_that_comes_after_a_push_away_and_back_stands() {
    let mut game = Game::merge();
    game.green();
    let rejects = game.comment("root", standing(Role::Admin), "/reject it leaks");
    game.push("two").push("one").green().approved_by("mia").may_merge();
    game.happens(&rejects).refused_with("CMD-04");
    game.may_not_merge(&["MRG-02"]);
    game.says("root", Role::Admin, "/approve").done().may_merge();
}
