//! A change that is a task: what its `STATE.md` claims, what agents are asked, and who decides.

use std::collections::BTreeSet;

use crate::engine::kit::*;
use crate::engine::{Happened, decide};
use crate::flow::task::{Progress, Stage, State, apply};
use crate::flow::{Actor, FlowName};
use crate::gate::task::look::{Folder, Look};
use crate::gate::task::pass::Changed;
use crate::gate::task::{Field, STATE, read};
use crate::gate::{Finding, GateName, Verdict};
use crate::ids::{ChangeNumber, Digest, Role};
use crate::ledger::Body;
use crate::ledger::record::Claim;
use crate::ledger::task::Task;

const FOLDER: &str = "tasks/T-1";
const AGENT: &str = "flow: task\nagents: { main: { comment: \"@rover\", timeout: 2h } }";

/// A sheet in this phase that says all that any phase asks for.
fn whole(phase: Stage) -> String {
    let template = include_str!("../../../templates/task/STATE.md").replace("{{today}}", "2026-01-31");
    let fields = [
        (Field::Phase, phase.as_str()),
        (Field::Objective, "The lamp can be dimmed in steps of ten."),
        (Field::DoneGate, "Each step is seen on the meter."),
        (Field::NotDoing, "none"),
        (Field::Constraints, "The old dimmer stays."),
        (Field::ValidationPlan, "`cargo test dim`"),
        (Field::CandidateDone, "yes"),
        (Field::EvidenceLocation, "EVIDENCE.md"),
        (Field::EvidenceLink, "https://example.org/tasks/T-1/EVIDENCE.md"),
        (Field::ValidatorStatus, "pass"),
        (Field::RevalidationStatus, "pending"),
        (Field::Blockers, "The meter is broken; somebody has to get another."),
    ];
    fields.iter().fold(template, |text, (field, value)| set(&text, *field, value))
}

fn set(text: &str, field: Field, value: &str) -> String {
    read(STATE, text.as_bytes()).unwrap().with(field, value)
}

fn seen(text: &str, changed: &[&str], content: &str) -> Look {
    Look {
        folder: Folder::One(FOLDER.to_owned()),
        after: Some(text.as_bytes().to_vec()),
        before: None,
        changed: Some(changed.iter().map(|path| Changed { path: (*path).to_owned(), gone: false }).collect()),
        evidence: "What was seen.".to_owned(),
        files: vec![("EVIDENCE.md".to_owned(), 1), (STATE.to_owned(), 1)],
        content: Digest::of(content),
        located: BTreeSet::from([format!("{FOLDER}/EVIDENCE.md")]),
    }
}

fn own(file: &str) -> String {
    format!("{FOLDER}/{file}")
}

/// A push in which `STATE.md` says this, and these files are different from what they were when the task came to its phase.
fn pushes<'g>(game: &'g mut Game, head: &str, text: &str, changed: &[&str]) -> &'g mut Game {
    let claim = own(STATE);
    let changed: Vec<&str> = [claim.as_str()].into_iter().chain(changed.iter().copied()).collect();
    game.push_with(head, |game| game.subject().task = Some(seen(text, &changed, head)))
}

fn begun(policy: &str) -> Game {
    let mut game = Game::with(policy);
    game.subject().task = Some(seen(&whole(Stage::Intake), &[], "one"));
    game.look();
    game
}

fn task(game: &Game) -> &Task {
    game.now().task.as_ref().expect("a task")
}

#[track_caller]
fn is_at(game: &Game, stage: Stage) {
    assert_eq!(task(game).state.stage, stage, "{:#?}", game.now().gates.get(&GateName::Task));
}

/// Goes there by the shortest way: checks are green where that takes them.
fn until(game: &mut Game, stage: Stage) {
    for (number, next) in [Stage::Shape, Stage::Implement, Stage::Verify, Stage::Review].into_iter().enumerate() {
        if task(game).state.stage == stage {
            return;
        }
        pushes(game, &format!("way {number}"), &whole(next), &[]);
        if next == Stage::Review {
            game.green();
        }
        is_at(game, next);
    }
    is_at(game, stage);
}

/// What is said of the task's claim now, of what blocks.
fn rules(game: &Game) -> Vec<String> {
    let judged = crate::engine::task_gate(game.now(), &game.world).unwrap();
    judged.findings.into_iter().filter(Finding::blocks).map(|one| one.rule).collect()
}

fn label(game: &Game) -> String {
    game.surface().label.expect("a label").name
}

#[test]
fn a_task_goes_from_intake_to_done_and_is_merged() {
    let mut game = begun("flow: task");
    assert_eq!((game.now().flow, task(&game).folder.as_str()), (FlowName::Task, FOLDER));
    assert_eq!(label(&game), "phase:intake");
    game.green().approved_by("mia").may_not_merge(&["MRG-01"]);
    until(&mut game, Stage::Review);
    assert_eq!(label(&game), "phase:review");
    pushes(&mut game, "done", &whole(Stage::Done), &[]);
    is_at(&game, Stage::Review);
    assert_eq!(rules(&game).first().map(String::as_str), Some("TSK-12"), "its checks have yet to run");
    game.green();
    assert_eq!(rules(&game), ["TSK-21", "TSK-22", "TSK-23", "TSK-24", "TSK-25"], "and somebody has yet to look");
    assert!(game.surface().comment.contains("Nothing pretends"), "whoever looks reads what is asked");
    game.approved_by("mia");
    is_at(&game, Stage::Done);
    game.may_merge();
    assert_eq!(label(&game), "phase:done");
    let ways: Vec<&str> = game
        .log
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::TaskMoved { to, .. } => Some(to.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ways, ["shape", "implement", "verify", "review", "done"]);
    let claimed = |entry: &crate::ledger::Entry| {
        matches!(
            entry.body,
            Body::Judged { gate: GateName::Task, verdict: Verdict::Pass, claimed: Some(Claim::Sheet), .. }
        )
    };
    assert_eq!(game.log.iter().filter(|entry| claimed(entry)).count(), 5);
}

#[test]
fn every_transition_that_the_table_has_not_is_refused() {
    let (mut refused, mut taken) = (0, 0);
    for from in [Stage::Intake, Stage::Shape, Stage::Implement, Stage::Verify, Stage::Review] {
        for to in Stage::ALL.into_iter().filter(|to| *to != from) {
            let mut game = begun("flow: task");
            until(&mut game, from);
            pushes(&mut game, "claim", &whole(to), &[]);
            game.green().approved_by("mia");
            match apply(State { stage: from, left: None }, to, Actor::Agent) {
                Ok(_) => {
                    is_at(&game, to);
                    taken += 1;
                }
                Err(refusal) => {
                    is_at(&game, from);
                    assert_eq!(rules(&game), [refusal.rule.as_str()], "{from} to {to}");
                    assert_eq!(game.now().gates[&GateName::Task].claimed, Some(Claim::Sheet));
                    game.may_not_merge(&["MRG-01"]);
                    refused += 1;
                }
            }
        }
    }
    assert_eq!((taken, refused), (1 + 3 + 3 + 4 + 3, 5 * 8 - 14));
}

#[test]
fn what_was_mended_is_verified_again() {
    let mut game = begun("flow: task");
    until(&mut game, Stage::Verify);
    pushes(&mut game, "repair", &whole(Stage::Repair), &[]);
    is_at(&game, Stage::Repair);
    assert_eq!(label(&game), "phase:repair");
    for to in [Stage::Done, Stage::Review] {
        pushes(&mut game, &format!("to {to}"), &whole(to), &["src/dim.rs"]);
        is_at(&game, Stage::Repair);
        assert_eq!(rules(&game), ["TSK-08"]);
    }
    let mended = set(&whole(Stage::Verify), Field::RepairApplied, "yes");
    pushes(&mut game, "mended", &mended, &["src/dim.rs"]);
    is_at(&game, Stage::Verify);
    let review = set(&mended, Field::Phase, "review");
    pushes(&mut game, "not again", &review, &[]).green();
    assert_eq!(rules(&game), ["TSK-08"], "it says itself that it was not verified again");
    pushes(&mut game, "again", &set(&review, Field::RevalidationStatus, "pass"), &[]).green();
    is_at(&game, Stage::Review);
}

#[test]
fn a_phase_in_which_nothing_is_built_takes_no_code() {
    for (at, next) in [(Stage::Intake, Stage::Shape), (Stage::Verify, Stage::Review)] {
        let mut game = begun("flow: task");
        until(&mut game, at);
        pushes(&mut game, "code", &whole(next), &["src/dim.rs"]).green();
        is_at(&game, at);
        assert_eq!(rules(&game), ["TSK-05"]);
        let judged = &game.now().gates[&GateName::Task];
        assert_eq!((judged.verdict, judged.claimed), (Verdict::Fail, None), "it is shown, and no claim was judged");
        pushes(&mut game, "taken back", &whole(next), &[]).green();
        is_at(&game, next);
    }
}

#[test]
fn verify_is_left_by_what_was_run_and_not_by_what_is_said() {
    let mut game = begun("flow: task");
    until(&mut game, Stage::Verify);
    pushes(&mut game, "claim", &whole(Stage::Review), &[]);
    is_at(&game, Stage::Verify);
    assert_eq!(rules(&game), ["TSK-12"]);
    assert!(game.now().gates.get(&GateName::Task).is_none_or(|one| one.verdict == Verdict::Pass), "nothing failed yet");
    game.red();
    is_at(&game, Stage::Verify);
    let fails = |game: &Game| {
        let failed = |entry: &&crate::ledger::Entry| {
            matches!(entry.body, Body::Judged { gate: GateName::Task, verdict: Verdict::Fail, claimed: Some(_), .. })
        };
        game.log.iter().filter(failed).count()
    };
    assert_eq!(fails(&game), 1);
    game.look().red();
    assert_eq!(fails(&game), 1, "one content fails once");

    // A policy that names nothing that could show it lets nobody through.
    let mut game = begun("flow: task\nmerge: { require: [review] }\ngates: { verify: { from: [checks] } }");
    until(&mut game, Stage::Verify);
    pushes(&mut game, "claim", &whole(Stage::Review), &[]);
    game.look().may_not_merge(&["MRG-01", "MRG-02"]);
    assert_eq!(rules(&game), ["TSK-12"]);
}

/// What somebody makes of a task that could be done.
type Bend = fn(&mut Look, String);

#[test]
fn the_eight_gates_stand_before_done() {
    let broken: [(&str, Bend); 4] = [
        ("TSK-11", |look, text| look.after = Some(set(&text, Field::Objective, "Something else.").into_bytes())),
        ("TSK-13", |look, text| {
            look.after = Some(set(&text, Field::ValidationPlan, "`cargo test dim`\n- turn the knob").into_bytes());
        }),
        ("TSK-16", |look, _| look.located.clear()),
        ("TSK-18", |look, _| {
            look.files.extend([("artifacts/a.png".to_owned(), 1), ("artifacts/b.png".to_owned(), 1)]);
        }),
    ];
    for (rule, bend) in broken {
        let mut game = begun("flow: task");
        until(&mut game, Stage::Review);
        game.push_with("done", |game| {
            let text = whole(Stage::Done);
            let mut look = seen(&text, &[], "done");
            bend(&mut look, text);
            game.subject().task = Some(look);
        });
        game.green().approved_by("mia");
        is_at(&game, Stage::Review);
        assert!(rules(&game).contains(&rule.to_owned()), "{rule}: {:?}", rules(&game));
    }
}

#[test]
fn who_looked_and_is_against_it_may_name_the_check_that_fails() {
    let mut game = begun("flow: task");
    until(&mut game, Stage::Review);
    pushes(&mut game, "done", &whole(Stage::Done), &[]).green();
    game.review_saying("mia", Role::Maintain, "CHANGES_REQUESTED", "TSK-22: the meter is drawn, not read").look();
    is_at(&game, Stage::Review);
    assert_eq!(rules(&game), ["TSK-22", "TSK-15"]);
    pushes(&mut game, "repair", &whole(Stage::Repair), &[]);
    is_at(&game, Stage::Repair);

    // An operator's word is no look.
    let mut game = begun("flow: task");
    until(&mut game, Stage::Review);
    pushes(&mut game, "done", &whole(Stage::Done), &[]).green().approved_by("ada");
    is_at(&game, Stage::Review);
    assert_eq!(rules(&game).len(), 5);
}

#[test]
fn what_waits_for_a_person_goes_on_where_it_was_left_and_only_by_their_word() {
    for waiting in [Stage::Blocked, Stage::NeedsUserDecision] {
        let mut game = begun("flow: task");
        until(&mut game, Stage::Implement);
        pushes(&mut game, "stuck", &whole(waiting), &[]);
        is_at(&game, waiting);
        assert_eq!(label(&game), "phase:blocked");
        assert!(game.now().escalation.is_some(), "an issue asks somebody");
        assert!(game.now().stopped.as_ref().unwrap().reason.contains("The meter is broken"));
        pushes(&mut game, "goes on", &whole(Stage::Implement), &["src/dim.rs"]);
        is_at(&game, waiting);
        game.asked_in(70).answers("ada", Role::Maintain, "/unblock it is mended").refused_with("CMD-07");
        game.answers("mia", Role::Maintain, "/unblock the meter is there").done();
        is_at(&game, Stage::Implement);
        assert!(game.now().stopped.is_none());
        game.look();
        is_at(&game, Stage::Implement);
    }
    // What was said before they answered does not block it once more.
    let mut game = begun("flow: task");
    until(&mut game, Stage::Implement);
    pushes(&mut game, "stuck", &whole(Stage::Blocked), &[]);
    game.asked_in(70).answers("mia", Role::Maintain, "/unblock the meter is there").done().look();
    is_at(&game, Stage::Implement);
    pushes(&mut game, "stuck again", &whole(Stage::Blocked), &[]);
    is_at(&game, Stage::Blocked);
}

#[test]
fn without_a_word_on_what_is_in_the_way_nothing_is_blocked() {
    let mut game = begun("flow: task");
    until(&mut game, Stage::Implement);
    pushes(&mut game, "stuck", &set(&whole(Stage::Blocked), Field::Blockers, "none"), &[]);
    is_at(&game, Stage::Implement);
    assert_eq!(rules(&game), ["TSK-03"]);
}

#[test]
fn what_is_pushed_after_done_is_verified_again() {
    let mut game = begun("flow: task");
    until(&mut game, Stage::Review);
    pushes(&mut game, "done", &whole(Stage::Done), &[]).green().approved_by("mia");
    is_at(&game, Stage::Done);
    game.may_merge();
    pushes(&mut game, "one more thing", &whole(Stage::Done), &["src/more.rs"]).green().approved_by("mia");
    is_at(&game, Stage::Verify);
    game.may_not_merge(&["MRG-01"]);
    assert_eq!(rules(&game), [""; 0], "what came is verified with the rest");
    pushes(&mut game, "through again", &whole(Stage::Review), &[]).green();
    is_at(&game, Stage::Review);
    pushes(&mut game, "done again", &whole(Stage::Done), &[]).green().approved_by("mia");
    is_at(&game, Stage::Done);
    game.may_merge();
}

#[test]
fn a_change_without_a_task_or_with_two_is_told_so() {
    let mut game = Game::with("flow: task");
    let mut look = seen("", &[], "one");
    look.folder = Folder::None;
    game.subject().task = Some(look.clone());
    game.look();
    assert!(game.now().task.is_none());
    assert_eq!(rules(&game), ["TSK-02"]);
    game.green().approved_by("mia").may_not_merge(&["MRG-01"]);
    assert!(game.surface().comment.contains("phasegate task init"), "{}", game.surface().comment);
    look.folder = Folder::Several(vec!["a".to_owned(), "b".to_owned()]);
    game.push_with("two", |game| game.subject().task = Some(look));
    assert!(rules(&game) == ["TSK-02"] && game.surface().comment.contains("more than one task"));
}

#[test]
fn a_sheet_in_no_form_moves_nothing() {
    let mut game = begun("flow: task");
    for (head, text) in
        [("prose", "I am done!"), ("twice", "Phase: shape\nPhase: done\n"), ("word", "Phase: finished\n")]
    {
        pushes(&mut game, head, text, &[]);
        is_at(&game, Stage::Intake);
        assert!(rules(&game).iter().all(|rule| rule == "TSK-02") && !rules(&game).is_empty(), "{head}");
    }
    game.push_with("gone", |game| {
        let mut look = seen("", &[], "gone");
        look.after = None;
        game.subject().task = Some(look);
    });
    assert_eq!(rules(&game), ["TSK-05"]);
}

#[test]
fn three_claims_that_fail_owe_an_audit() {
    let mut game = begun("flow: task");
    for head in ["a", "b", "c"] {
        pushes(&mut game, head, &whole(Stage::Done), &[]);
    }
    assert!(game.now().audit_owed().is_some());
    pushes(&mut game, "d", &whole(Stage::Shape), &[]);
    is_at(&game, Stage::Intake);
    game.audited();
    is_at(&game, Stage::Shape);
}

// Passes that are asked for.

fn at_work(game: &mut Game, said: &str) {
    let at = game.time();
    let mut happened = game.comment("ada", standing(Role::Write), said);
    happened.push(Happened::Now { at });
    game.happens(&happened);
}

/// A push with a clock beside it, as the server tells it.
fn pass<'g>(game: &'g mut Game, head: &str, text: &str, changed: &[&str]) -> &'g mut Game {
    pushes(game, head, text, changed).hours_pass(0)
}

fn ended(game: &Game) -> Vec<(u32, Vec<Progress>)> {
    let ended = game.log.iter().filter_map(|entry| match &entry.body {
        Body::PassEnded(ended) => Some((ended.pass, ended.gained.iter().copied().collect())),
        _ => None,
    });
    ended.collect()
}

#[test]
fn an_agent_is_asked_by_a_comment_and_its_push_is_its_pass() {
    let mut game = begun(AGENT);
    at_work(&mut game, "/task run");
    let open = task(&game).open.clone().expect("a pass is asked for");
    assert_eq!((open.pass, task(&game).drive), (1, None));
    let asked = game.surface().replies.into_iter().find(|reply| reply.key == "pass:7:1").expect("it is asked");
    assert!(asked.body.starts_with("@rover # One pass at the task in `tasks/T-1`"), "{}", asked.body);
    assert!(asked.body.contains("`Phase:` may be `shape`") && asked.body.contains("pass 1 on #7"), "{}", asked.body);
    pass(&mut game, "framed", &whole(Stage::Shape), &[]);
    is_at(&game, Stage::Shape);
    assert_eq!(ended(&game), [(1, vec![Progress::State])]);
    assert!(task(&game).open.is_none(), "one was asked for");
}

#[test]
fn a_loop_asks_for_the_next_until_it_waits_for_somebody() {
    let mut game = begun(AGENT);
    at_work(&mut game, "/task loop");
    for (head, to) in [("a", Stage::Shape), ("b", Stage::Implement), ("c", Stage::Verify)] {
        pass(&mut game, head, &whole(to), if to == Stage::Verify { &["src/dim.rs"] } else { &[] });
        is_at(&game, to);
        assert!(task(&game).open.is_some(), "{to}");
    }
    pass(&mut game, "d", &whole(Stage::Review), &[]);
    assert_eq!((task(&game).open.as_ref().map(|open| open.pass), task(&game).state.stage), (Some(4), Stage::Verify));
    game.green().hours_pass(0);
    is_at(&game, Stage::Review);
    assert_eq!(
        task(&game).open.as_ref().map(|open| open.pass),
        Some(5),
        "its checks were waited for, and then the next came"
    );
    pass(&mut game, "e", &whole(Stage::Done), &[]).green().hours_pass(5);
    assert_eq!(task(&game).open.as_ref().map(|open| open.pass), Some(5), "nobody hurries whoever looks");
    game.approved_by("mia").hours_pass(0);
    is_at(&game, Stage::Done);
    assert_eq!((ended(&game).len(), &task(&game).open, task(&game).drive), (5, &None, None));
    game.may_merge();
}

#[test]
fn a_pass_that_gains_nothing_ends_the_loop() {
    let mut game = begun(AGENT);
    until(&mut game, Stage::Implement);
    at_work(&mut game, "/task loop");
    let same = |note: &str| set(&whole(Stage::Implement), Field::NextStep, note);
    pass(&mut game, "first", &same("go on"), &["src/dim.rs"]);
    assert_eq!(ended(&game).last(), Some(&(1, vec![Progress::Change])));
    // Another word in STATE.md, and nothing else.
    game.push_with("second", |game| {
        let mut look = seen(&same("still at it"), &[&own(STATE), "src/dim.rs"], "first");
        look.content = Digest::of("first");
        game.subject().task = Some(look);
    });
    game.hours_pass(0);
    assert_eq!(ended(&game).last(), Some(&(2, vec![])));
    assert_eq!((task(&game).drive, &task(&game).open), (None, &None));
    assert!(task(&game).last.as_ref().unwrap().findings.iter().any(|one| one.rule == "TSK-04"));
    is_at(&game, Stage::Implement);
    assert!(game.surface().comment.contains("gained nothing (TSK-04)"), "{}", game.surface().comment);
}

#[test]
fn silence_ends_a_pass_when_its_time_is_over() {
    let mut game = begun(AGENT);
    at_work(&mut game, "/task loop");
    game.hours_pass(1);
    assert!(task(&game).open.is_some() && ended(&game).is_empty());
    game.hours_pass(2);
    assert_eq!(ended(&game), [(1, vec![])]);
    assert!(task(&game).last.as_ref().unwrap().findings.iter().any(|one| one.rule == "AGT-01"));
    assert_eq!(task(&game).drive, None);
}

#[test]
fn a_push_without_its_state_is_work_that_goes_on() {
    let mut game = begun(AGENT);
    until(&mut game, Stage::Implement);
    at_work(&mut game, "/task run");
    let text = String::from_utf8(game.subject().task.clone().unwrap().after.unwrap()).unwrap();
    pass(&mut game, "half", &text, &["src/dim.rs"]);
    assert!(task(&game).open.is_some(), "an agent pushes while it works");
    pass(&mut game, "whole", &whole(Stage::Verify), &["src/dim.rs"]);
    is_at(&game, Stage::Verify);
    assert_eq!(ended(&game).len(), 1);
}

#[test]
fn passes_end_with_the_budget() {
    let mut game = begun(&format!("{AGENT}\nbudget: {{ passes: 1 }}"));
    at_work(&mut game, "/task loop");
    pass(&mut game, "framed", &whole(Stage::Shape), &[]);
    assert_eq!((ended(&game).len(), &task(&game).open, task(&game).drive), (1, &None, None));
    assert!(task(&game).rested.as_ref().unwrap().contains("AGT-07"));
    at_work(&mut game, "/task run");
    assert!(game.refused_with("CMD-03").says.contains("1 are given"));

    // An agent that does not say what it costs has used up all of it.
    let mut game = begun(&format!("{AGENT}\nbudget: {{ credits: 100 }}"));
    at_work(&mut game, "/task loop");
    pass(&mut game, "framed", &whole(Stage::Shape), &[]);
    assert!(task(&game).rested.as_ref().unwrap().contains("did not say what it cost"));
}

#[test]
fn nobody_is_asked_who_can_not_be_reached_from_here() {
    let ask = |game: &mut Game, said: &str| {
        at_work(game, said);
        game.refused_with("CMD-03").says.clone()
    };
    assert!(ask(&mut begun("flow: task"), "/task run").contains("names no agent"));
    let mut here = begun("flow: task\nagents: { main: { command: [\"agent-cli\"] } }");
    assert!(ask(&mut here, "/task loop").contains("is a program"));
    assert!(ask(&mut begun(AGENT), "/task pause").contains("no agent is to go on"));
    let mut game = begun(AGENT);
    until(&mut game, Stage::Implement);
    pushes(&mut game, "stuck", &whole(Stage::Blocked), &[]);
    assert!(ask(&mut game, "/task run").contains("waits for a person"));
    let mut merge = Game::merge();
    assert!(ask(&mut merge, "/task run").contains("belongs to the task flow"));
    let mut game = begun(AGENT);
    game.says("tim", Role::Triage, "/task run").refused_with("CMD-02");
}

#[test]
fn what_can_not_be_asked_for_ends_at_once() {
    let mut game = begun("flow: task\nagents: { main: { workflow: .github/workflows/agent.yml } }");
    at_work(&mut game, "/task loop");
    assert!(task(&game).open.is_some() && game.surface().replies.is_empty(), "nobody is mentioned");
    game.happens(&[Happened::Unreached { pass: 1, why: "404 Not Found".to_owned() }]);
    assert_eq!((&task(&game).open, task(&game).drive), (&None, None));
    assert!(task(&game).rested.as_ref().unwrap().contains("404 Not Found"));
    // A second delivery of the same is no news.
    let again = decide(
        ChangeNumber(7),
        Some(game.now()),
        &game.world,
        &[Happened::Unreached { pass: 1, why: "404".to_owned() }],
        None,
    );
    assert!(again.unwrap().entries.is_empty());
}

// What was frozen.

#[test]
fn the_tests_are_frozen_as_the_work_begins_and_what_was_added_when_it_is_handed_in() {
    let mut game = begun("flow: task");
    until(&mut game, Stage::Shape);
    game.push_with("implement", |game| {
        game.subject().task = Some(seen(&whole(Stage::Implement), &[&own(STATE)], "implement"));
        game.test_says("tests/lamp.rs", "it shines");
    });
    is_at(&game, Stage::Implement);
    assert_eq!(game.freezes(), ["claimed 1"]);
    game.push_with("verify", |game| {
        game.subject().task = Some(seen(&whole(Stage::Verify), &[&own(STATE), "src/dim.rs", "tests/dim.rs"], "verify"));
        game.test_says("tests/dim.rs", "it dims");
    });
    is_at(&game, Stage::Verify);
    assert_eq!(game.freezes(), ["claimed 1", "built 2"]);
}

#[test]
fn an_edited_test_is_a_cheat_that_goes_to_repair_and_the_fourth_stops_it() {
    let mut game = begun("flow: task");
    until(&mut game, Stage::Shape);
    game.push_with("implement", |game| {
        game.subject().task = Some(seen(&whole(Stage::Implement), &[&own(STATE)], "implement"));
        game.test_says("tests/lamp.rs", "it shines");
    });
    game.push_with("bent", |game| {
        game.subject().task = Some(seen(&whole(Stage::Verify), &[&own(STATE), "tests/lamp.rs"], "bent"));
        game.test_says("tests/lamp.rs", "true");
    });
    is_at(&game, Stage::Implement);
    assert_eq!(rules(&game), ["build_tampered:tests/lamp.rs"]);
    assert_eq!(game.now().against.cheats.len(), 1);
    // Honest, it goes on.
    game.push_with("honest", |game| {
        game.subject().task = Some(seen(&whole(Stage::Verify), &[&own(STATE), "src/dim.rs"], "honest"));
        game.test_says("tests/lamp.rs", "it shines");
    });
    is_at(&game, Stage::Verify);
    for (number, head) in ["second", "third"].into_iter().enumerate() {
        game.push_with(head, |game| {
            // Also what may not be touched in this phase at all.
            game.subject().task = Some(seen(&whole(Stage::Review), &[&own(STATE), "tests/lamp.rs"], head));
            game.test_says("tests/lamp.rs", head);
        });
        game.green();
        is_at(&game, Stage::Repair);
        assert_eq!(game.now().against.cheats.len(), number + 2);
        let back = set(&whole(Stage::Verify), Field::RepairApplied, "yes");
        game.push_with(&format!("{head} mended"), |game| {
            game.subject().task = Some(seen(&back, &[&own(STATE)], head));
            game.test_says("tests/lamp.rs", "it shines");
        });
        is_at(&game, Stage::Verify);
    }
    game.push_with("fourth", |game| {
        game.subject().task = Some(seen(&whole(Stage::Review), &[&own(STATE), "tests/lamp.rs"], "fourth"));
        game.test_says("tests/lamp.rs", "fourth");
    });
    game.green();
    assert_eq!(game.now().against.cheats.len(), 4);
    assert!(game.now().stopped.as_ref().unwrap().reason.starts_with("heal_exhausted"));
}

#[test]
fn a_commit_in_implement_claims_that_the_tests_are_there_before_the_code() {
    let mut game = begun("flow: task");
    until(&mut game, Stage::Shape);
    game.push_with("implement", |game| {
        game.subject().task = Some(seen(&whole(Stage::Implement), &[&own(STATE)], "implement"));
        game.test_says("tests/lamp.rs", "it shines");
    });
    game.push_with("red", |game| {
        game.subject().task = Some(seen(&whole(Stage::Implement), &[&own(STATE), "tests/dim.rs"], "red"));
        game.subject().no_trailer = Some("implement".to_owned());
        game.test_says("tests/dim.rs", "it dims");
    });
    assert_eq!(game.freezes(), ["claimed 1", "claimed 2"]);
    // What the agent has frozen itself it can't loosen while it builds.
    game.push_with("loosened", |game| {
        game.subject().task =
            Some(seen(&whole(Stage::Verify), &[&own(STATE), "src/dim.rs", "tests/dim.rs"], "loosened"));
        game.test_says("tests/dim.rs", "true");
    });
    is_at(&game, Stage::Implement);
    assert_eq!(rules(&game), ["build_tampered:tests/dim.rs"]);
    assert_eq!(game.now().against.cheats.len(), 1);
}

#[test]
fn what_somebody_reports_goes_to_repair_and_nothing_is_reported_before_it_is_built() {
    let mut game = begun("flow: task");
    game.says("tim", Role::Write, "/heal it only knows the one lamp").refused_with("CMD-03");
    until(&mut game, Stage::Verify);
    game.says("tim", Role::Write, "/heal it only knows the one lamp").done();
    is_at(&game, Stage::Repair);
    assert_eq!(game.now().against.cheats.len(), 1);
    let mended = set(&whole(Stage::Verify), Field::RepairApplied, "yes");
    pushes(&mut game, "honest", &mended, &["src/dim.rs"]);
    is_at(&game, Stage::Verify);
}
