//! Raises that wait for a person: what opens them, what ends them, who answers.

use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::world::Raises;
use crate::ids::{Digest, Role};
use crate::ledger::escalation::{Cause, Ending, Escalation};
use crate::ledger::record::{By, Condition, Raised};
use crate::ledger::{Body, State};

fn open(game: &Game) -> &Escalation {
    game.now().escalation.as_ref().unwrap_or_else(|| panic!("no escalation is open: {:#?}", game.last()))
}

#[track_caller]
fn ended(game: &Game) -> (Ending, String, Option<String>) {
    assert_eq!(game.now().escalation, None);
    let end = game.now().escalated.last().and_then(|last| last.ended.clone()).expect("one has ended");
    let by = match end.by {
        By::Person { person, .. } => person.login,
        By::Bot | By::Workflow(_) | By::Runner(_) => "bot".to_owned(),
    };
    (end.how, by, end.reason)
}

fn lifted(how: Ending, by: &str, reason: Option<&str>) -> (Ending, String, Option<String>) {
    (how, by.to_owned(), reason.map(str::to_owned))
}

/// BUILD has failed three times.
fn blocked() -> Game {
    let mut game = Game::pipeline();
    game.until_building();
    for head in ["b1", "b2", "b3"] {
        assert_eq!(game.now().escalation, None);
        game.push(head).red().says("ada", Role::Write, "/build");
    }
    game.at(Stage::BlockedOnGate);
    game
}

fn paused() -> Game {
    let mut game = Game::pipeline_with("mode: stepped\n");
    game.says("ada", Role::Write, "/expand").green();
    game.says("ada", Role::Write, "/expand").at(Stage::SteppedModePaused);
    game
}

/// Other criteria, for this reason.
fn amends(why: &str) -> String {
    format!("/resolve B\n```yaml\namended_acceptance_criteria: [less]\namendment_rationale: {why}\n```")
}

/// The sequence number of the last record of a kind.
fn last_seq(game: &Game, of: impl Fn(&Body) -> bool) -> u64 {
    game.log.iter().rposition(|entry| of(&entry.body)).expect("such a record") as u64 + 1
}

#[test]
fn the_third_fail_opens_one_and_an_answer_ends_it() {
    let mut game = blocked();
    let one = open(&game).clone();
    assert_eq!((one.cause, one.phase, one.issue), (Cause::Gate, Some(Phase::Build), None));
    assert_eq!(one.id, last_seq(&game, |body| matches!(body, Body::Step { .. })));
    assert_eq!(one.about, game.now().subject);
    // Pushing, looking and talking change nothing about it.
    game.push("b4").red().says("ada", Role::Write, "/status");
    assert_eq!(*open(&game), one);
    game.says("mia", Role::Maintain, "/unblock another approach").done();
    assert_eq!(ended(&game), lifted(Ending::Lifted, "mia", Some("another approach")));
    assert_eq!(game.now().escalated.last().map(|last| last.id), Some(one.id));
}

#[test]
fn the_trail_has_what_was_tried_and_by_whom() {
    let mut game = blocked();
    let tries = game.now().tries.iter().filter(|one| one.verdict == crate::gate::Verdict::Fail);
    let tried: Vec<_> = tries.map(|one| (one.head.clone(), one.rules.clone(), one.by.clone())).collect();
    let by = By::Person { person: person("ada"), role: "write".to_owned() };
    let expected = ["b1", "b2", "b3"].map(|head| (commit(head), vec!["BLD-02".to_owned()], Some(by.clone())));
    assert_eq!(tried, expected);
    // However often it fails, the trail stays short; a pass is through with it.
    for round in 0..4 {
        game.says("mia", Role::Maintain, "/unblock again");
        for try_ in 0..3 {
            if game.now().audit_owed().is_some() {
                game.audited();
            }
            game.push(&format!("r{round}-{try_}")).red().says("ada", Role::Write, "/build");
        }
    }
    assert!(game.now().tries.len() <= 12, "{}", game.now().tries.len());
    game.says("mia", Role::Maintain, "/unblock again").audited().push("good").green();
    assert!(game.now().tries.iter().all(|one| one.verdict == crate::gate::Verdict::Pass));
}

#[test]
fn a_stop_opens_one_in_both_flows() {
    let mut game = Game::merge();
    game.says("ada", Role::Write, "/stop it leaks").done();
    assert_eq!((open(&game).cause, open(&game).phase), (Cause::Stop, None));
    assert_eq!(open(&game).id, last_seq(&game, |body| matches!(body, Body::Stopped { .. })));
    game.may_not_merge(&["MRG-01", "MRG-02", "MRG-05"]);
    game.says("mia", Role::Maintain, "/resolve A it is tight now").done();
    assert_eq!(ended(&game), lifted(Ending::Lifted, "mia", Some("it is tight now")));
    assert!(!game.against().contains("MRG-05"));

    let mut game = Game::pipeline();
    game.until_building().says("ada", Role::Write, "/stop the service is down").done().at(Stage::BlockedOnGate);
    assert_eq!((open(&game).cause, open(&game).phase), (Cause::Stop, Some(Phase::Build)));
    game.says("mia", Role::Maintain, "/unblock it is up").done();
    assert_eq!(ended(&game), lifted(Ending::Lifted, "mia", Some("it is up")));

    // The brake is a stop too, and the same one from its beginning.
    game.says("ada", Role::Write, "/stop scope: doubled").done().at(Stage::ComplexityBrakeTriggered);
    assert_eq!(open(&game).cause, Cause::Brake);
    assert_eq!(open(&game).id, last_seq(&game, |body| matches!(body, Body::Stopped { .. })));
    game.says("mia", Role::Maintain, "/brake-resolved fine").done();
    assert_eq!(ended(&game), lifted(Ending::Lifted, "mia", Some("fine")));
}

/// A head whose commit message has `Phasegate-Stop:`, on top of those before.
fn raises(game: &mut Game, head: &str, reason: &str) {
    let raised = Raised { commit: commit(head), key: Digest::of(reason) };
    game.push_with(head, |game| game.subject().stops.push(Raises { raised, reason: reason.to_owned() }));
}

fn stops(game: &Game) -> usize {
    game.now().stopped.iter().map(|stop| 1 + stop.also.len()).sum()
}

#[test]
fn a_commit_that_asks_for_a_person_stops_it_once_in_both_flows() {
    let mut game = Game::merge();
    raises(&mut game, "one", "stuck: three approaches, and the lamp flickers still");
    assert_eq!((open(&game).cause, open(&game).phase), (Cause::Stop, None));
    game.asked_in(12);
    let stop = game.now().stopped.clone().unwrap();
    assert_eq!((stop.condition, stop.raised), (Some(Condition::Stuck), Some(commit("one"))));
    assert!(game.against().contains("MRG-05"));
    // Whatever else is told about this head, it has said so once.
    game.green().says("ada", Role::Write, "/status");
    assert_eq!(stops(&game), 1);
    game.says("mia", Role::Maintain, "/unblock try the capacitor").done();
    assert_eq!(ended(&game), lifted(Ending::Lifted, "mia", Some("try the capacitor")));
    game.green();
    assert!(!game.against().contains("MRG-05"), "it was answered");
    // The next one that asks is another.
    raises(&mut game, "two", "unsafe: it switches the mains");
    assert_eq!(game.now().stopped.as_ref().map(|stop| stop.condition), Some(Some(Condition::Unsafe)));
    // Nobody's push takes it back, and what was answered is not asked again: not by a rebase, nor by an earlier head.
    game.push_with("three", |game| game.subject().stops.clear()).green();
    assert!(game.against().contains("MRG-05"));
    game.says("mia", Role::Maintain, "/unblock there is a fuse").done();
    raises(&mut game, "four", "stuck: three approaches, and the lamp flickers still");
    raises(&mut game, "five", "unsafe: it switches the mains");
    assert_eq!(stops(&game), 0);
    // Two that come with one push are both asked.
    game.push_with("six", |game| game.subject().stops.clear());
    let two = ["unsafe: it smokes", "stuck: so do I"].map(|reason| Raises {
        raised: Raised { commit: commit(reason), key: Digest::of(reason) },
        reason: reason.to_owned(),
    });
    game.push_with("seven", |game| game.subject().stops.extend(two));
    assert_eq!(stops(&game), 2);

    let mut game = Game::pipeline();
    raises(game.until_building(), "b1", "dependency: the service is down");
    game.at(Stage::BlockedOnGate);
    assert_eq!((open(&game).cause, open(&game).phase), (Cause::Stop, Some(Phase::Build)));
    // What comes on top is told beside it, what is about the design brakes, and what is about safety is asked first.
    raises(&mut game, "b2", "scope: it has doubled");
    game.at(Stage::ComplexityBrakeTriggered);
    raises(&mut game, "b3", "unsafe: it switches the mains");
    assert_eq!(
        game.now().stopped.as_ref().map(|stop| (stop.condition, stop.also.len())),
        Some((Some(Condition::Unsafe), 2))
    );
}

#[test]
fn a_commit_that_asks_for_a_person_is_named_and_its_words_are_quoted() {
    let mut game = Game::merge();
    raises(&mut game, "one", "stuck: @everyone <b>look</b>");
    game.asked_in(12);
    let (comment, issue) = (game.surface().comment, game.notice().unwrap().body);
    for text in [&comment, &issue] {
        assert!(text.contains("stuck: ") && text.contains("look"), "{text}");
        assert!(!text.contains("@everyone") && !text.contains("<b>"), "{text}");
    }
    assert!(issue.contains(&format!("commit {} stopped", commit("one").short())), "{issue}");
}

#[test]
fn commits_that_ask_crowd_out_nobody() {
    let mut game = Game::merge();
    game.says("ada", Role::Write, "/stop it leaks").done();
    for at in 0..30 {
        raises(&mut game, &format!("h{at}"), &format!("stuck: at {at}"));
    }
    let stop = game.now().stopped.clone().unwrap();
    let all = [vec![stop.clone()], stop.also].concat();
    assert!(all.iter().any(|one| one.reason == "it leaks"), "{all:#?}");
    assert!(all.len() <= 22, "{}", all.len());
}

#[test]
fn a_stepped_wait_opens_one_and_continue_ends_it() {
    let mut game = paused();
    assert_eq!((open(&game).cause, open(&game).phase), (Cause::Pause, Some(Phase::Design)));
    game.asked_in(12);
    assert!(game.finding("MRG-05").says.ends_with("It is asked in #12."), "{:?}", game.finding("MRG-05"));
    game.answers("tom", Role::Triage, "/continue").refused_with("CMD-02");
    game.answers("ada", Role::Write, "/continue").done().at(Stage::Designing);
    assert_eq!(ended(&game), lifted(Ending::Lifted, "ada", None));
    // Other content is another reason to wait, or none.
    let mut game = paused();
    game.push_with("other", |game| {
        game.rewrites_documents("second");
    });
    assert_eq!(ended(&game), lifted(Ending::Overtaken, "bot", None));
    // A stop in the middle of a wait is another one.
    let mut game = paused();
    let wait = open(&game).id;
    game.says("ada", Role::Write, "/stop wrong repository").done().at(Stage::SteppedModePaused);
    assert!(open(&game).id > wait && open(&game).cause == Cause::Stop);
    assert_eq!(game.now().escalated.last().map(|last| last.id), Some(wait));
}

#[test]
fn closing_and_merging_end_it_and_reopening_takes_it_up() {
    let mut game = blocked();
    let id = open(&game).id;
    game.asked_in(12).closed();
    assert_eq!(ended(&game), lifted(Ending::Closed, "bot", None));
    game.reopened().at(Stage::BlockedOnGate);
    assert_eq!((open(&game).id, open(&game).issue), (id, Some(12)), "it is the same stop");
    assert!(game.now().escalated.is_empty());
    game.merged();
    assert_eq!(ended(&game), lifted(Ending::Merged, "bot", None));
}

#[test]
fn a_block_after_the_merge_is_asked_about_too() {
    let mut game = Game::pipeline();
    game.through_verify().merged();
    for _ in 0..3 {
        game.deployment("failure").says("ada", Role::Write, "/deploy");
    }
    game.at(Stage::BlockedOnGate);
    assert_eq!((open(&game).cause, open(&game).phase), (Cause::Gate, Some(Phase::Deploy)));
    game.says("mia", Role::Maintain, &amends("smaller")).refused_with("CMD-03");
    game.says("mia", Role::Maintain, "/resolve C not worth it").done();
    assert_eq!(ended(&game), lifted(Ending::GivenUp, "mia", Some("not worth it")));
}

#[test]
fn b_goes_back_to_the_scope_from_wherever_it_stopped() {
    for mut game in [blocked(), paused(), {
        let mut game = Game::pipeline();
        game.until_building().says("ada", Role::Write, "/stop scope: it has doubled");
        game
    }] {
        game.says("mia", Role::Maintain, &amends("half of it")).done().at(Stage::Expanding);
        assert_eq!(ended(&game), lifted(Ending::Rescoped, "mia", Some("half of it")));
        assert!(game.table().passed.is_empty() && game.table().attempts.is_empty());
        // The same scope passes only by somebody's word.
        game.green().at(Stage::Expanding);
        if game.now().audit_owed().is_some() {
            game.audited();
        }
        game.subject().context.criteria = vec!["AC-1: less".to_owned()];
        game.says("ada", Role::Write, "/expand").done();
        assert_ne!(game.stage(), Stage::Expanding);
        assert_eq!(game.now().rescoped, None);
    }
    // Another scope passes as ever.
    let mut game = blocked();
    game.says("mia", Role::Maintain, &amends("half of it")).at(Stage::Expanding).audited();
    game.push_with("smaller", |game| {
        game.rewrites_documents("second");
        game.subject().context.criteria = vec!["AC-1: less".to_owned()];
    });
    game.green();
    assert!(game.table().passed.contains_key(&Phase::Expand), "{:?}", game.stage());
}

#[test]
fn c_gives_up_and_reopening_asks_again() {
    let mut game = Game::merge();
    game.says("ada", Role::Write, "/stop it leaks").asked_in(12);
    let id = open(&game).id;
    game.answers("mia", Role::Maintain, "/resolve C nobody needs it").done();
    assert_eq!(ended(&game), lifted(Ending::GivenUp, "mia", Some("nobody needs it")));
    assert!(game.against().contains("MRG-05"), "given up is not lifted");
    game.closed();
    assert_eq!(ended(&game).0, Ending::GivenUp);
    game.reopened();
    assert_eq!((open(&game).id, open(&game).issue), (id, Some(12)));
    assert_eq!(game.now().given_up, None);
}

#[test]
fn only_who_may_answers_and_for_the_head_that_the_issue_shows() {
    let mut game = blocked();
    game.asked_in(12);
    assert!(game.now().linked.contains(&12), "what is said there is said on the change");
    assert!(game.finding("MRG-05").says.ends_with("It is asked in #12."));
    game.answers("ada", Role::Maintain, "/unblock it is fine").refused_with("CMD-07");
    game.answers("zoe", Role::Write, "/resolve A it is fine").refused_with("CMD-02");
    game.answers("mia", Role::Maintain, "/resolve D it is fine").refused_with("CMD-05");
    game.answers("mia", Role::Maintain, "/resolve A").refused_with("CMD-05");
    // What was pushed after the issue was read is not what was answered.
    let stale = game.shown.clone();
    game.push("b4");
    let now = std::mem::replace(&mut game.shown, stale);
    let refusal = game.answers("mia", Role::Maintain, "/resolve A mended").refused_with("CMD-04").clone();
    let again = format!("`/resolve {} A mended`", commit("b4").short());
    assert!(refusal.next.contains(&again), "{refusal}");
    game.shown = now;
    game.answers("mia", Role::Maintain, again.trim_matches('`')).done();
    assert_eq!(ended(&game), lifted(Ending::Lifted, "mia", Some("mended")));
    // What is over is not answered again.
    game.says("mia", Role::Maintain, "/resolve A once more").refused_with("CMD-03");
}

#[test]
fn a_solo_maintainer_answers_and_the_record_says_who() {
    let mut game = Game::with("people: { solo: true }");
    game.opened().says("ada", Role::Maintain, "/stop it leaks").asked_in(12);
    game.answers("ada", Role::Maintain, &amends("a smaller hole")).done();
    assert_eq!(ended(&game), lifted(Ending::Lifted, "ada", Some("a smaller hole")));
}

#[test]
fn it_follows_from_the_records_alone() {
    let mut game = blocked();
    game.asked_in(12).answers("mia", Role::Maintain, &amends("half of it")).done();
    let text = serde_json::to_string(game.now()).unwrap();
    assert_eq!(serde_json::from_str::<State>(&text).unwrap(), *game.now());
    // What a version without escalations has kept is read too.
    let mut old: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in ["escalation", "escalated", "tries", "claimant", "rescoped", "given_up"] {
        old.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(serde_json::from_value::<State>(old).unwrap().escalated, []);
}

#[test]
fn a_new_number_is_asked_about_as_well() {
    let mut first = Game::merge();
    first.says("ada", Role::Write, "/stop it leaks");
    let mut second = Game::with("");
    second.world.earlier = vec![first.as_three()];
    second.opened();
    assert_eq!(open(&second).cause, Cause::Stop);
    assert_eq!(open(&second).id, last_seq(&second, |body| matches!(body, Body::Inherited(_))));
}

/// What only a person lifts is asked in an issue, whatever stopped it.
#[test]
fn too_many_red_pushes_are_asked_about_once() {
    let mut game = Game::pipeline_with("limits: { previews: 1 }\n");
    game.until_building();
    for head in ["r1", "r2"] {
        assert!(game.now().escalation.is_none(), "{head}");
        game.push(head).red();
    }
    let open = game.now().escalation.clone().expect("a person is asked");
    assert_eq!((open.cause, open.phase), (Cause::Reds, Some(Phase::Build)));
    let notice = game.notice().expect("an issue");
    assert_eq!(notice.title, "Phasegate: #7 was red at BUILD too often");
    assert!(
        notice.body.starts_with("**Decide whether #7 is on its way at BUILD, or what becomes of it.**"),
        "{}",
        notice.body
    );
    assert!(notice.body.contains("2 pushes to #7 were red at BUILD"), "{}", notice.body);
    // It is one question, however red it gets.
    game.push("r3").red();
    assert_eq!(game.now().escalation.as_ref().map(|open| open.id), Some(open.id));
    let body = game.notice().expect("an issue").body;
    assert!(body.contains("3 pushes to #7 were red at BUILD") && body.contains("`BLD-02`"), "{body}");
    game.asked_in(12).answers("mia", Role::Maintain, "/resolve A it is nearly there").done();
    assert!(game.now().escalation.is_none() && !game.against().contains("MRG-06"));
    // Each way out leads somewhere.
    for text in ["/resolve C nobody needs it", AMEND] {
        let mut game = Game::pipeline_with("limits: { previews: 1 }\n");
        game.until_building().push("r1").red().push("r2").red();
        game.asked_in(12).answers("mia", Role::Maintain, text).done();
        assert!(game.now().escalation.is_none(), "{text}");
        assert!(game.now().given_up.is_some() || game.stage() == Stage::Expanding, "{text}: {:?}", game.stage());
    }
}

const AMEND: &str =
    "/resolve AMEND_SPEC\n```yaml\namended_acceptance_criteria: [less]\namendment_rationale: too much\n```";

#[test]
fn an_answer_in_the_second_of_its_issue_counts_where_that_showed_nothing_else() {
    let mut game = Game::merge();
    game.opened().push("two");
    raises(&mut game, "three", "unsafe: it smokes");
    game.asked_in(12).answers_at_once("mia", Role::Maintain, "/resolve A there is a fuse").done();
    assert_eq!(ended(&game), lifted(Ending::Lifted, "mia", Some("there is a fuse")));
    // A head that came back: whoever answers may have read the one between.
    raises(&mut game, "four", "unsafe: it smokes again");
    game.asked_in(13).push("five").push("four").answers_at_once("mia", Role::Maintain, "/resolve A it does not");
    game.refused_with("CMD-04");
    assert!(game.now().escalation.is_some());
}

#[test]
fn what_a_commit_asked_is_not_asked_again_under_a_new_number() {
    let mut game = Game::merge();
    raises(game.opened(), "one more", "stuck: three ways, and no light");
    game.says("mia", Role::Maintain, "/unblock take the other lamp").done().closed();
    let asks = game.subject().stops.clone();
    let mut next = Game::merge().later_than(&game);
    next.world.earlier = vec![game.as_three()];
    next.push_with("one more", |next| next.subject().stops = asks);
    assert_eq!(next.now().stopped, None);
    // Long after: the others are looked for once.
    next.world.earlier = Vec::new();
    next.look();
    assert_eq!(next.now().stopped, None);
    raises(&mut next, "two more", "stuck: a fourth way");
    assert!(next.now().stopped.is_some());
}

#[test]
fn the_last_word_of_a_person_is_there_for_whoever_begins_anew() {
    let mut game = paused();
    raises(&mut game, "loki", "dependency: loki is not reachable");
    game.asked_in(12).answers("mia", Role::Maintain, "/resolve A use a file in place of loki").done();
    let capsule = |game: &Game| {
        let commands = crate::policy::Commands::default();
        crate::surface::capsule::Capsule::of(game.now(), &game.findings(), &commands, str::to_owned)
    };
    let told = Some("mia in #12 APPROVE_OVERRIDE: use a file in place of loki".to_owned());
    assert_eq!(capsule(&game).answered, told);
    assert_eq!(capsule(&game).allowed[0], "wait: a person looks and says /continue");
    // A wait that is asked again, and ended without a word, hides nothing.
    game.says("ada", Role::Write, "/continue").done();
    assert_eq!(capsule(&game).answered, told);
    assert!(capsule(&game).text().contains("\nanswered: mia in #12 APPROVE_OVERRIDE: use a file in place of loki\n"));
}
