use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::engine::kit::{Game, REPORT, blob};
use crate::ids::{ChangeNumber, Role};
use crate::ledger::memory::{Source, Taken};
use crate::ledger::snapshot::tests::{edited, edits};
use crate::ledger::snapshot::{Cap, Fact, Fails, IssueId, SliceId, path_of, write};

const SLICE: &str = "/slice \"Parse dates\" --scope \"The parser. in: src/**, tests/** out: src/gen/**\"";

/// A change with a declared slice, and nothing known yet: what the bot writes as a slice begins is taken out, so that numbers begin
/// at one.
fn declared() -> Game {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, SLICE).done();
    let memory = game.state.as_mut().unwrap().memory.as_mut().unwrap();
    memory.latest.context.clear();
    memory.latest.evidence.clear();
    memory.given.clear();
    (memory.before, memory.last_fact) = (None, 0);
    game
}

fn memory(game: &Game) -> &Memory {
    game.now().memory.as_ref().unwrap()
}

/// The snapshot that would follow, with nothing new in it.
fn next(game: &Game) -> Snapshot {
    let latest = memory(game).latest.clone();
    Snapshot { iteration: latest.iteration + 1, parent: Some(latest.iteration), resolved: Vec::new(), ..latest }
}

fn judged(game: &Game, text: &str) -> Result<Taken, Vec<String>> {
    let path = path_of(game.now().change, memory(game).latest.iteration + 1);
    let taken = claim(game.now(), &path, text, &blob("x"));
    taken.map_err(|found| found.into_iter().map(|finding| finding.rule).collect())
}

/// What is wrong with the next snapshot after this was done to it.
fn wrong(game: &Game, spoil: impl FnOnce(&mut Snapshot)) -> Vec<String> {
    let mut next = next(game);
    spoil(&mut next);
    judged(game, &write(&next)).err().unwrap_or_default()
}

fn fact(id: u32, text: &str) -> Fact {
    Fact { id: FactId(id), text: text.to_owned() }
}

#[test]
fn what_follows_is_taken() {
    let game = declared();
    let mut next = next(&game);
    next.evidence.push(fact(1, "`src/date.rs` has `fn zone`."));
    next.context.push(fact(1, "`src/date.rs` has `fn zone`."));
    next.context.push(fact(2, "Dates have a zone (given: scope.md)."));
    let taken = judged(&game, &write(&next)).unwrap();
    assert_eq!((taken.evidence.len(), taken.context.len()), (1, 2));
}

#[test]
fn numbers_parents_and_names_are_the_next_ones() {
    let game = declared();
    assert_eq!(wrong(&game, |next| next.iteration += 1), ["SNP-02"]);
    assert_eq!(wrong(&game, |next| next.iteration -= 1), ["SNP-03", "SNP-02"], "a parent that is itself");
    assert_eq!(wrong(&game, |next| next.parent = None), ["SNP-03"]);
    assert_eq!(wrong(&game, |next| next.parent = Some(1)), ["SNP-03"], "an older one is not the latest");
    assert_eq!(wrong(&game, |next| next.parent = Some(99)), ["SNP-03"]);
}

#[test]
fn a_slice_keeps_its_number_or_begins_with_what_is_known_of_it() {
    let game = declared();
    assert_eq!(wrong(&game, |next| next.slice = "In other words.".to_owned()), [""; 0]);
    assert_eq!(wrong(&game, |next| next.slice_id = SliceId(9)), ["SNP-05"]);
    let begin = |next: &mut Snapshot| next.slice_id = SliceId(2);
    assert_eq!(wrong(&game, begin), ["SNP-05"], "its context is empty");
    let known = |next: &mut Snapshot| {
        next.slice_id = SliceId(2);
        next.context.push(fact(1, "AC-1 (given: scope.md)"));
    };
    assert_eq!(wrong(&game, known), [""; 0]);
    assert_eq!(wrong(&game, |next| next.cap = Cap::undeclared()), ["SNP-07"]);
}

#[test]
fn counters_follow_from_gate_runs_alone() {
    let mut game = declared();
    game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    game.says("ada", Role::Write, "/expand").done();
    assert_eq!(memory(&game).latest.fails.iteration, 1);
    assert_eq!(wrong(&game, |next| next.fails.iteration = 0), ["SNP-06"]);
    assert_eq!(wrong(&game, |next| next.fails.exit = 1), ["SNP-06"]);
    assert_eq!(wrong(&game, |next| next.last = None), ["SNP-06"]);
    let begin = |next: &mut Snapshot| {
        next.slice_id = SliceId(2);
        (next.fails, next.last) = (Fails::default(), None);
        next.context.push(fact(1, "AC-1 (given: scope.md)"));
    };
    assert_eq!(wrong(&game, begin), ["SNP-06"], "another slice shakes no FAIL off");
    let refused = game.says("ada", Role::Write, SLICE).refused_with("SNP-06").clone();
    assert!(refused.next.contains("/slice S-0001 \"WHAT\""), "{refused:?}");
    game.says("mia", Role::Maintain, SLICE).done();
    assert_eq!(memory(&game).latest.slice_id, SliceId(2), "who may approve may begin another");
}

#[test]
fn gates_are_those_that_are_run() {
    let game = declared();
    assert_eq!(wrong(&game, |next| next.gates.exit = vec!["build".to_owned()]), ["SNP-12"]);
    assert_eq!(wrong(&game, |next| next.gates.iteration = Vec::new()), ["SNP-12"]);
}

#[test]
fn issues_are_carried_forward_and_a_gates_own_are_the_gates_to_close() {
    let mut game = declared();
    game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    game.says("ada", Role::Write, "/expand").done();
    let open = memory(&game).latest.open.len();
    assert!(open > 0);
    let lost = wrong(&game, |next| next.open.clear());
    assert!(lost.len() == open && lost.iter().all(|rule| rule == "SNP-09"), "{lost:?}");
    let closed = wrong(&game, |next| {
        let one = next.open.remove(0);
        next.resolved.push(snapshot::Resolved { id: one.id, text: one.text, by: "I looked".to_owned() });
    });
    assert_eq!(closed, ["SNP-09"]);
    let reworded = wrong(&game, |next| next.open[0].text = "All is well here.".to_owned());
    assert_eq!(reworded, ["SNP-09"]);
    let strange = wrong(&game, |next| {
        next.resolved.push(snapshot::Resolved { id: IssueId(99), text: "x".to_owned(), by: "y".to_owned() });
    });
    assert_eq!(strange, ["SNP-09"]);
}

#[test]
fn a_fact_enters_the_context_with_what_shows_it_and_keeps_its_words() {
    let mut game = declared();
    assert_eq!(wrong(&game, |next| next.context.push(fact(1, "It is fast."))), ["SNP-08"]);
    let two = |next: &mut Snapshot| {
        next.evidence.push(fact(1, "It is slow."));
        next.context.push(fact(1, "It is fast."));
    };
    assert_eq!(wrong(&game, two), ["SNP-08"]);
    game.says("ada", Role::Write, REPORT).done();
    assert_eq!(wrong(&game, |next| next.evidence[0].text = "Something else.".to_owned()), ["SNP-08"]);
    assert_eq!(wrong(&game, |next| next.slice = "By F-0001.".to_owned()), ["SNP-08"]);
    let promoted = |next: &mut Snapshot| {
        let first = next.evidence[0].clone();
        next.slice = "By F-0001.".to_owned();
        next.context.push(first);
    };
    assert_eq!(wrong(&game, promoted), [""; 0]);
    let dropped = |next: &mut Snapshot| {
        next.evidence.remove(0);
        next.evidence.push(fact(1, "Another first."));
    };
    assert_eq!(wrong(&game, dropped), ["SNP-08"]);
    assert_eq!(wrong(&game, |next| next.evidence.clear()), ["SNP-10"], "a report is carried forward");
}

/// A change for which a person has said what the criteria are now.
fn amended() -> Game {
    let mut game = declared();
    let memory = game.state.as_mut().unwrap().memory.as_mut().unwrap();
    let given = crate::ledger::memory::Given {
        source: Source::Decided { remedy: crate::ledger::resolution::Remedy::AmendSpec, by: "mia".to_owned() },
        seq: 3,
    };
    memory.latest.context.push(fact(1, "AC-1: it has 24 levels. (given: AMEND_SPEC by mia)"));
    memory.latest.context.push(fact(2, "It is read once (given: scaffolding/scope.md)."));
    memory.given.insert(FactId(1), given);
    memory.last_fact = 2;
    game
}

#[test]
fn what_a_person_gave_is_neither_left_out_nor_reworded() {
    let game = amended();
    assert_eq!(wrong(&game, |_| {}), [""; 0]);
    assert_eq!(wrong(&game, |next| drop(next.context.remove(1))), [""; 0], "agents distil their own");
    assert_eq!(wrong(&game, |next| drop(next.context.remove(0))), ["SNP-08"]);
    let demoted = |next: &mut Snapshot| {
        let given = next.context.remove(0);
        next.evidence.push(given);
    };
    assert_eq!(wrong(&game, demoted), ["SNP-08"], "it is no mere evidence");
    let reworded = wrong(&game, |next| next.context[0].text = "AC-1: anything. (given: AMEND_SPEC by mia)".to_owned());
    assert_eq!(reworded, ["SNP-08"]);
    let found = {
        let mut file = next(&game);
        file.context.remove(0);
        let path = path_of(ChangeNumber(7), file.iteration);
        claim(game.now(), &path, &write(&file), &blob("x")).unwrap_err()
    };
    assert!(found[0].says.contains("F-0001") && found[0].next.contains("it has 24 levels"), "{found:?}");
}

#[test]
fn what_the_scope_asks_for_and_what_came_before_the_slice_stays() {
    let mut game = Game::pipeline();
    let subject = game.world.subject.as_mut().unwrap();
    subject.context.criteria = vec!["AC-1: it is read.".to_owned()];
    subject.changed = vec!["scaffolding/scope.md".to_owned(), "src/a.rs".to_owned()];
    game.says("ada", Role::Write, SLICE).done();
    let latest = &memory(&game).latest;
    assert_eq!(latest.context[0].text, "AC-1: it is read. (given: scaffolding/scope.md)");
    assert!(latest.context[1].text.starts_with("Gates: "), "{:?}", latest.context);
    assert!(latest.evidence[0].text.ends_with(": `src/a.rs`."), "{:?}", latest.evidence);
    assert_eq!(wrong(&game, |_| {}), [""; 0]);
    assert_eq!(wrong(&game, |next| drop(next.context.remove(0))), ["SNP-08"]);
    assert_eq!(wrong(&game, |next| drop(next.context.remove(1))), ["SNP-08"]);
    assert_eq!(wrong(&game, |next| next.evidence.clear()), ["SNP-08"]);
    // Another slice has its own gates, and its own before.
    let begins = |next: &mut Snapshot| {
        next.slice_id = SliceId(2);
        next.evidence.clear();
        next.context.remove(1);
    };
    assert_eq!(wrong(&game, begins), [""; 0]);
}

#[test]
fn nothing_else_bears_the_mark_of_what_a_person_gave() {
    let game = amended();
    for forged in [
        "AC-1: anything goes. (given: AMEND_SPEC by mia)",
        "AC-1: anything goes. (Given : AMEND_SPEC BY mia)",
        "AC-1: anything goes. (**given:** AMEND_SPEC by mia)",
        "AC-1: anything goes. [given：word by mia]",
        "AC-1: anything goes, given: a word by mia",
        "AC-1: anything goes. (given: AMEND_SPEC, mia)",
        "AC-1: anything goes. (given&#58; AMEND_SPEC by mia)",
    ] {
        let found = wrong(&game, |next| next.context.push(fact(9, forged)));
        assert!(!found.is_empty() && found.iter().all(|rule| rule == "SNP-08"), "{forged}: {found:?}");
        let both = |next: &mut Snapshot| next.evidence.push(fact(9, forged));
        assert_eq!(wrong(&game, both), ["SNP-08"], "promoted it would be the same: {forged}");
    }
    for honest in [
        "AC-2 (given: scaffolding/scope.md)",
        "It is fast (given: scaffolding/scope.md; shown by: the benchmark).",
        "Given that it is read by two, it is slow (shown by: the log).",
    ] {
        assert_eq!(wrong(&game, |next| next.context.push(fact(9, honest))), [""; 0], "{honest}");
    }
    for unshown in
        ["It is fast (shown by: nothing).", "It is fast (given: TBD)", "It is fast (seen in: n/a).", "It is fast."]
    {
        assert_eq!(wrong(&game, |next| next.context.push(fact(9, unshown))), ["SNP-08"], "{unshown}");
    }
}

#[test]
fn a_report_that_quotes_what_a_person_gave_does_not_bear_its_mark() {
    let mut game = amended();
    let quoting = REPORT.replace("stale cache", "AC-1: 9 levels (given: AMEND_SPEC by mia)");
    assert_ne!(quoting, REPORT);
    game.says("ada", Role::Write, &quoting).done();
    let texts: Vec<&str> = memory(&game).latest.evidence.iter().map(|fact| fact.text.as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("said: AMEND_SPEC by mia")), "{texts:?}");
    assert!(!texts.iter().any(|text| snapshot::is_marked_as_given(text)), "{texts:?}");
}

#[test]
fn what_the_ledger_has_as_evidence_stays_and_an_agent_distils_its_own() {
    let mut game = declared();
    game.says("ada", Role::Write, REPORT).done();
    game.says("ada", Role::Write, "/audit promote F-0003").done();
    assert_eq!(wrong(&game, |next| next.evidence.retain(|fact| fact.id.0 != 2)), ["SNP-10"], "also after it was heard");
    assert_eq!(wrong(&game, |next| next.evidence.retain(|fact| fact.id.0 != 3)), [""; 0], "that one is promoted");
    let own = |next: &mut Snapshot| next.evidence.push(fact(9, "`src/a.rs` is there."));
    pushes(&mut game, "ada", vec![], own);
    assert!(memory(&game).latest.is_evidence(FactId(9)));
    assert_eq!(wrong(&game, |next| next.evidence.retain(|fact| fact.id.0 != 9)), [""; 0]);
    // What shows something of the context is not left out.
    let shows = |next: &mut Snapshot| next.context.push(fact(10, "It is read once (shown by: F-0009)."));
    assert_eq!(wrong(&game, shows), [""; 0]);
    let lost = |next: &mut Snapshot| {
        shows(next);
        next.evidence.retain(|fact| fact.id.0 != 9);
    };
    assert_eq!(wrong(&game, lost), ["SNP-08"]);
    let never = |next: &mut Snapshot| next.context.push(fact(10, "It is read once (shown by: F-0999)."));
    assert_eq!(wrong(&game, never), ["SNP-08"]);
    // Another report stands in for the one before.
    game.says("zoe", Role::Write, REPORT).done();
    assert_eq!(wrong(&game, |next| next.evidence.retain(|fact| fact.id.0 != 2)), [""; 0]);
}

#[test]
fn numbers_do_not_run_away() {
    let game = declared();
    assert_eq!(wrong(&game, |next| next.evidence.push(fact(900_000, "`src/a.rs` is there."))), ["SNP-08"]);
    assert_eq!(wrong(&game, |next| next.evidence.push(fact(7, "`src/a.rs` is there."))), [""; 0]);
}

#[test]
fn a_row_is_not_shaken_off_by_an_audit_of_ones_own() {
    let mut game = declared();
    game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    game.says("ada", Role::Write, "/expand").done();
    game.says("ada", Role::Write, REPORT).done();
    game.says("ada", Role::Write, "/slice \"By F-0003\" --scope \"It. in: src/**\"").refused_with("SNP-08");
    game.says("ada", Role::Write, "/audit promote F-0003").done();
    game.says("ada", Role::Write, "/ladder re-plan F-0003 says so").done();
    game.says("ada", Role::Write, SLICE).refused_with("SNP-06");
    for none in ["TBD", "none", "<what>"] {
        game.says("ada", Role::Write, &format!("/slice S-0001 \"{none}\"")).refused_with("CMD-05");
    }
    // After the audit that was asked for, a step that cites it opens the way.
    game.says("ada", Role::Write, "/expand").done();
    game.says("ada", Role::Write, "/expand").done();
    game.says("mia", Role::Maintain, "/unblock look again").done();
    game.says("zoe", Role::Write, &REPORT.replace("stale cache (confidence: high)", "none")).refused_with("SNP-14");
    game.audited().says("ada", Role::Write, "/ladder re-plan F-0003 says so").done();
    game.says("ada", Role::Write, SLICE).refused_with("SNP-06");
    // Its verdict is nothing to rest on.
    let mut verdicts = memory(&game).latest.evidence.iter().filter(|fact| fact.text.starts_with("Audit, verdict:"));
    let verdict = verdicts.next_back().unwrap().id;
    game.says("ada", Role::Write, &format!("/audit promote {verdict}")).refused_with("SNP-08");
    let fact = memory(&game).concluded.first().unwrap().to_string();
    game.says("ada", Role::Write, &format!("/ladder re-plan {fact} says so")).done();
    game.says("ada", Role::Write, SLICE).done();
    assert_eq!((memory(&game).latest.slice_id, memory(&game).latest.fails), (SliceId(2), Fails::default()));
}

/// A PASS ends the row that an audit was about, and the next one has had none.
#[test]
fn an_old_audit_opens_no_way_out_of_a_new_row() {
    let mut game = stuck();
    game.audited();
    let fact = memory(&game).concluded.first().unwrap().to_string();
    game.documents().without("scaffolding/design.md").says("ada", Role::Write, "/expand").done();
    assert!(!memory(&game).latest.fails.any(), "{:?}", memory(&game).latest);
    game.says("ada", Role::Write, "/design").done();
    assert_eq!(memory(&game).latest.fails.iteration, 1);
    game.says("ada", Role::Write, &format!("/ladder re-plan {fact} says so")).done();
    game.says("ada", Role::Write, SLICE).refused_with("SNP-06");
}

/// A report in the words of a snapshot, as `/audit` would write them.
fn reported(diagnosis: &str) -> Vec<Fact> {
    let parts = [
        "verdict: FAIL",
        "mismatches: AC-1 is unmet",
        diagnosis,
        "evidence gaps: none",
        "risk flags: it drifts into `docs/api.md`",
        "verification suggestions: compare the two logs",
    ];
    (1..).zip(parts).map(|(id, part)| fact(id, &format!("Audit, {part}"))).collect()
}

const CAUSE: &str = "diagnosis: a stale cache (confidence: high)";

/// A change that owes an audit.
fn stuck() -> Game {
    let mut game = declared();
    game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    for _ in 0..3 {
        game.says("ada", Role::Write, "/expand").done();
    }
    game.says("mia", Role::Maintain, "/unblock look again").done();
    assert!(game.now().audit_owed().is_some());
    game
}

/// Pushes the next snapshot, with this report.
fn pushes(game: &mut Game, by: &str, report: Vec<Fact>, spoil: impl FnOnce(&mut Snapshot)) {
    let mut file = next(game);
    file.evidence.extend(report);
    spoil(&mut file);
    let there = File { number: file.iteration, blob: Some(blob("report")), text: Some(Ok(write(&file))) };
    game.subject().context.there.insert(path_of(ChangeNumber(7), file.iteration), there);
    let there = game.subject().context.clone();
    game.push_untold("with a report").subject().context = there;
    game.happens(&[crate::engine::Happened::Pushed(crate::engine::kit::person(by))]);
}

#[test]
fn a_report_that_is_owed_may_come_as_evidence() {
    let mut game = stuck();
    pushes(&mut game, "ada", reported(CAUSE), |_| {});
    let audit = game.now().audit_owed().cloned().unwrap();
    // The verdict and what says `none` are nothing to rest on.
    assert_eq!(audit.facts, BTreeSet::from([2, 3, 5, 6].map(FactId)));
    game.says("ada", Role::Write, REPORT).refused_with("CMD-03");
    game.says("ada", Role::Write, "/audit promote F-0003").done();
    assert!(game.now().audit_owed().is_none());
    // Or with what is drawn from it, at once.
    let mut game = stuck();
    pushes(&mut game, "ada", reported(CAUSE), |file| file.context.push(fact(3, &format!("Audit, {CAUSE}"))));
    assert!(game.now().audit_owed().is_none());
    assert!(memory(&game).concluded.contains(&FactId(3)));
    let mut game = stuck();
    pushes(&mut game, "ada", reported(CAUSE), |file| file.context.push(fact(1, "Audit, verdict: FAIL")));
    assert!(game.now().audit_owed().is_some(), "a verdict is no conclusion");
}

#[test]
fn while_an_audit_is_owed_a_file_moves_neither_slice_nor_scope() {
    let mut game = stuck();
    let wider = |next: &mut Snapshot| next.cap = Cap::declared("All. in: src/**, tests/**, lib/**").unwrap();
    let reworded = |next: &mut Snapshot| next.slice = "Something else.".to_owned();
    assert_eq!(wrong(&game, wider), ["SNP-10"]);
    assert_eq!(wrong(&game, reworded), ["SNP-10"]);
    let both = |next: &mut Snapshot| {
        next.evidence.extend(reported(CAUSE));
        wider(next);
        reworded(next);
    };
    assert_eq!(wrong(&game, both), ["SNP-10", "SNP-10"], "with the report as without");
    assert_eq!(wrong(&game, |next| next.evidence.push(fact(9, "`src/a.rs` is there."))), [""; 0]);
    pushes(&mut game, "ada", vec![], wider);
    assert!(!memory(&game).latest.cap.allows("lib/a.rs"));
    let found = game.finding("SNP-10");
    assert!(found.next.contains("in: src/**, tests/** out: src/gen/**"), "{found:?}");
    pushes(&mut game, "ada", reported(CAUSE), |file| file.context.push(fact(3, &format!("Audit, {CAUSE}"))));
    assert!(game.now().audit_owed().is_none());
    assert_eq!(wrong(&game, wider), [""; 0], "then it is free");
}

#[test]
fn a_report_may_come_in_a_file_also_where_nobody_has_declared_a_slice() {
    let mut game = stuck();
    game.state.as_mut().unwrap().memory.as_mut().unwrap().latest.cap = Cap::undeclared();
    assert_eq!(wrong(&game, |next| next.cap = Cap::declared("All. in: src/**").unwrap()), ["SNP-10"]);
    pushes(&mut game, "ada", reported(CAUSE), |file| file.context.push(fact(3, &format!("Audit, {CAUSE}"))));
    assert!(game.now().audit_owed().is_none() && !memory(&game).is_declared());
    assert_eq!(memory(&game).latest.context.len(), 1, "no slice begins by that: {:?}", memory(&game).latest.context);
}

#[test]
fn a_report_that_comes_as_evidence_is_held_to_the_same() {
    let game = stuck();
    let with = |report: Vec<Fact>| wrong(&game, |next| next.evidence.extend(report));
    assert_eq!(with(reported(CAUSE)), [""; 0]);
    for part in 0..6 {
        let mut report = reported(CAUSE);
        report.remove(part);
        assert_eq!(with(report), ["SNP-14"], "{part}");
    }
    assert_eq!(with(reported("diagnosis: none")), ["SNP-14"], "it is owed");
    assert_eq!(with(reported("diagnosis: a stale cache")), ["SNP-14"], "nobody knows how sure that is");
    assert_eq!(with(reported("diagnosis: Replace the cache (confidence: high)")), ["SNP-11"]);
    let other = reported(CAUSE).into_iter().map(|one| Fact { text: one.text.replace("verdict:", "outcome:"), ..one });
    assert_eq!(with(other.collect()), ["SNP-14"], "it has its own words");
    // What is no part of a report is what it was: evidence.
    assert_eq!(with(vec![fact(1, "Audit logs are written to `src/log.rs`.")]), [""; 0]);
    let calm = declared();
    assert_eq!(wrong(&calm, |next| next.evidence.push(fact(1, "Audit, verdict: FAIL"))), [""; 0], "none is owed");
}

#[test]
fn more_fails_than_ask_for_an_audit_are_told_as_they_are() {
    let mut game = stuck();
    assert!(game.surface().comment.contains("3 of 3 FAILs in a row"), "{}", game.surface().comment);
    game.audited().says("ada", Role::Write, "/expand").done();
    assert!(game.surface().comment.contains(" · 4 FAILs in a row (iteration gate)"), "{}", game.surface().comment);
}

/// Who may not hand a report in by the command may not by a push.
#[test]
fn a_report_as_evidence_is_taken_from_the_same_people() {
    for spoil in [|game: &mut Game| game.world.pull.fork = true, |_: &mut Game| ()] {
        let mut game = stuck();
        spoil(&mut game);
        let by = if game.world.pull.fork { "ada" } else { "helper[bot]" };
        pushes(&mut game, by, reported(CAUSE), |file| file.context.push(fact(3, &format!("Audit, {CAUSE}"))));
        assert!(memory(&game).latest.is_consolidated(FactId(3)), "it is taken in for what it is");
        assert!(game.now().audit_owed().is_some_and(|audit| audit.facts.is_empty()), "{by}");
    }
    // What was there before nobody hands in.
    let mut game = stuck();
    let mut file = next(&game);
    file.evidence.extend(reported(CAUSE));
    let there = File { number: file.iteration, blob: Some(blob("report")), text: Some(Ok(write(&file))) };
    game.subject().context.there.insert(path_of(ChangeNumber(7), file.iteration), there);
    game.look();
    assert!(memory(&game).latest.is_evidence(FactId(3)));
    assert!(game.now().audit_owed().is_some_and(|audit| audit.facts.is_empty()));
}

#[test]
fn a_report_that_does_not_fit_is_refused_with_what_to_do() {
    let mut game = stuck();
    let state = game.state.as_mut().unwrap();
    let memory = state.memory.as_mut().unwrap();
    memory.latest.context = (1..=71).map(|id| fact(id, &"x".repeat(900))).collect();
    memory.last_fact = 71;
    let long = REPORT.replace("stale cache", &"stale cache ".repeat(60));
    let refused = game.says("ada", Role::Write, &long).refused_with("SNP-14").clone();
    assert!(refused.next.contains("agent/context/pr-7/iter-") && refused.next.contains("distilled"), "{refused:?}");
    game.state.as_mut().unwrap().memory.as_mut().unwrap().latest.context.truncate(9);
    game.says("ada", Role::Write, &long).done();
}

#[test]
fn who_may_decide_ends_a_slice_that_owes_an_audit() {
    let mut game = declared();
    game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    for _ in 0..3 {
        game.says("ada", Role::Write, "/expand").done();
    }
    game.says("bob", Role::Write, SLICE).refused_with("SNP-10");
    game.says("mia", Role::Maintain, SLICE).done();
    assert!(game.now().audit_owed().is_none());
}

#[test]
fn scouts_tell_what_is_there_within_the_scope() {
    let game = declared();
    assert_eq!(wrong(&game, |next| next.evidence.push(fact(1, "We should use a map."))), ["SNP-13"]);
    assert_eq!(wrong(&game, |next| next.evidence.push(fact(1, "Replace the loop with a map."))), ["SNP-13"]);
    assert_eq!(wrong(&game, |next| next.evidence.push(fact(1, "Use of a stale map in `src/a.rs`."))), [""; 0]);
    assert_eq!(wrong(&game, |next| next.evidence.push(fact(1, "`docs/api.md` lists it."))), ["SNP-07"]);
    assert_eq!(wrong(&game, |next| next.evidence.push(fact(1, "`src/gen/a.rs` is written by hand."))), ["SNP-07"]);
    assert_eq!(
        wrong(&game, |next| next.evidence.push(fact(1, "`src/a.rs` and `scaffolding/scope.md` agree."))),
        [""; 0]
    );
}

#[test]
fn what_goes_straight_into_the_context_stays_within_the_scope_too() {
    let mut game = declared();
    let told = |game: &Game, text: &str| wrong(game, |next| next.context.push(fact(9, text)));
    assert_eq!(told(&game, "`lib/secret/key.rs` holds the key (shown by: lib/secret/key.rs)."), ["SNP-07"]);
    assert_eq!(told(&game, "It is read twice (shown by: `src/a.rs`)."), [""; 0]);
    assert_eq!(told(&game, "It is read twice (given: scaffolding/scope.md)."), [""; 0]);
    assert_eq!(told(&game, "All of `lib/{a,b}.rs` is old (shown by: `src/a.rs`)."), ["SNP-07"]);
    let both = |next: &mut Snapshot| {
        next.evidence.push(fact(9, "`lib/a.rs` is there."));
        next.context.push(fact(9, "`lib/a.rs` is there."));
    };
    assert_eq!(wrong(&game, both), ["SNP-07"], "told once");
    // A verifier looks further, and what is drawn from that is told already.
    let report = REPORT.replace("stale cache", "`lib/cache.rs` is stale");
    game.says("ada", Role::Write, &report).done();
    assert_eq!(told(&game, "The cache of `lib/cache.rs` is filled late (shown by: F-0003)."), [""; 0]);
    assert_eq!(told(&game, "The cache of `lib/other.rs` is filled late (shown by: F-0003)."), ["SNP-07"]);
}

#[test]
fn an_issue_is_closed_in_its_own_words_by_something_that_is_there() {
    let mut game = declared();
    let unknown = |next: &mut Snapshot| {
        next.evidence.push(fact(1, "`src/zone.rs` has the table."));
        next.open.push(snapshot::Open {
            id: IssueId(1),
            text: "The zone table is not known.".to_owned(),
            action: snapshot::Action::ReScout,
        });
    };
    pushes(&mut game, "ada", vec![], unknown);
    let closes = |text: &'static str, by: &'static str| {
        move |next: &mut Snapshot| {
            next.open.clear();
            next.resolved.push(snapshot::Resolved { id: IssueId(1), text: text.to_owned(), by: by.to_owned() });
        }
    };
    const WORDS: &str = "The zone table is not known.";
    for by in ["F-0001", "record 1", "`cargo test zone`", "tests/zone.rs names it"] {
        assert_eq!(wrong(&game, closes(WORDS, by)), [""; 0], "{by}");
    }
    for by in
        ["F-9999", "magic", "build PASS", "build PASS on deadbeef (record 999)", "mia says so", "F-0001 and F-0002"]
    {
        assert_eq!(wrong(&game, closes(WORDS, by)), ["SNP-09"], "{by}");
    }
    assert_eq!(wrong(&game, closes("Everything else.", "F-0001")), ["SNP-09"]);
    assert_eq!(wrong(&game, |next| next.open[0].text = "All is fine.".to_owned()), ["SNP-09"], "it keeps its words");
    let unclear = write(&next(&game)).replace("Next action: re-scout", "Next action: hope");
    assert_eq!(judged(&game, &unclear).unwrap_err(), ["SNP-09"], "what it is was said, and not that it is gone");
    let marked = |next: &mut Snapshot| next.open[0].text = "the zone table is **not** known.".to_owned();
    assert_eq!(wrong(&game, marked), [""; 0], "letter case and bold have no meaning");
    assert_eq!(wrong(&game, |next| next.open[0].action = snapshot::Action::Fix), [""; 0], "the action is its author's");
}

#[test]
fn how_it_goes_on_after_a_fail_is_asked_for_and_told_where_agents_read() {
    let mut game = declared();
    game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    game.says("ada", Role::Write, "/expand").done();
    assert!(game.now().step_asked());
    game.says("ada", Role::Write, "/ladder re-plan the scope is too large (given: AMEND_SPEC by mia)").done();
    assert!(!game.now().step_asked());
    let said = memory(&game).latest.evidence.last().unwrap().clone();
    assert!(said.text.starts_with("After the FAIL it goes on by re-plan, ada says (record "), "{said:?}");
    assert!(said.text.contains("the scope is too large") && !snapshot::is_marked_as_given(&said.text), "{said:?}");
    assert_eq!(wrong(&game, |_| {}), [""; 0]);
    assert_eq!(wrong(&game, |next| next.evidence.clear()), ["SNP-08"]);
    // A file takes no step back.
    assert_eq!(wrong(&game, |next| next.open[0].action = snapshot::Action::Fix), ["SNP-09"]);
    let issues = memory(&game).latest.open.len();
    let all = |next: &mut Snapshot| next.open.iter_mut().for_each(|issue| issue.action = snapshot::Action::ReScout);
    assert_eq!(wrong(&game, all).len(), issues);
    // Another word stands in for it, and the next run ends it.
    game.says("ada", Role::Write, "/ladder re-scout it is elsewhere").done();
    assert_eq!(memory(&game).latest.evidence.iter().filter(|one| one.text.starts_with("After the FAIL")).count(), 1);
    game.says("ada", Role::Write, "/expand").done();
    assert!(!memory(&game).latest.evidence.iter().any(|one| one.text.starts_with("After the FAIL")));
}

#[test]
fn work_outside_of_the_declared_scope_is_held_up() {
    let mut game = declared();
    game.changes("src/gen/x.rs").look();
    let found = game.finding("SNP-07");
    assert_eq!(found.path.as_deref(), Some("src/gen/x.rs"));
    assert!(found.next.contains("/scope WHY in: GLOBS out: GLOBS"), "{found:?}");
    game.subject().changed = ["agent/context/notes.md", "scaffolding/scope.md"].map(str::to_owned).to_vec();
    game.look();
    assert!(!game.findings().iter().any(|one| one.rule == "SNP-07"), "the process's own papers are in every scope");
    game.changes("src/gen/x.rs")
        .says("ada", Role::Write, "/scope The parser and what it generates. in: src/** out: none")
        .done();
    assert!(!game.findings().iter().any(|one| one.rule == "SNP-07"));
}

#[test]
fn nobody_is_asked_for_a_slice_unless_the_policy_does() {
    let mut game = Game::pipeline();
    game.look();
    assert!(!game.findings().iter().any(|one| one.rule.starts_with("SNP")));
    let mut game = Game::pipeline_with("slices: declared\n");
    game.look();
    assert!(game.finding("SNP-05").next.contains("/slice \"WHAT\" --scope"));
    game.says("ada", Role::Write, SLICE).done();
    assert!(!game.findings().iter().any(|one| one.rule == "SNP-05"));
}

#[test]
fn a_file_that_was_taken_in_stays_as_it_was() {
    let mut game = declared();
    let mut file = next(&game);
    file.evidence.push(fact(1, "`src/date.rs` has `fn zone`."));
    let number = file.iteration;
    let there = |number: u32, name: &str, text: Option<String>| {
        (format!("agent/context/iter-{number:04}.md"), File { number, blob: Some(blob(name)), text: text.map(Ok) })
    };
    game.subject().context.there.extend([there(number, "first", Some(write(&file)))]);
    game.look();
    assert_eq!(memory(&game).taken.get(&number), Some(&blob("first")));
    assert!(memory(&game).latest.is_evidence(FactId(1)));
    assert!(!game.findings().iter().any(|one| one.rule.starts_with("SNP")), "{:?}", game.findings());
    game.subject().context.there.extend([there(number, "second", None)]);
    game.look();
    assert!(game.finding("SNP-04").says.contains("edited"));
    game.subject().context.there.clear();
    game.look();
    assert!(game.finding("SNP-04").says.contains("gone"));
    game.subject().context.there.extend([there(number, "first", None), there(number + 5, "far", None)]);
    game.look();
    assert!(game.finding("SNP-02").says.contains("skips"));
}

#[test]
fn a_copy_of_the_ledgers_is_a_copy_and_nothing_else() {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, SLICE).done();
    let change = game.now().change;
    let (number, written) =
        memory(&game).written.last_key_value().map(|(number, blob)| (*number, blob.clone())).unwrap();
    assert_eq!(written, crate::repo::blob_of(write(&memory(&game).latest).as_bytes()).unwrap());
    let flat = || format!("agent/context/iter-{number:04}.md");
    let file = |blob: BlobId| File { number, blob: Some(blob), text: None };
    let against = |game: &Game| -> Vec<String> {
        let found = game.findings().into_iter().filter(|one| one.rule.starts_with("SNP"));
        found.map(|one| format!("{} {}", one.rule, one.path.clone().unwrap_or_default())).collect()
    };
    game.subject().context.there.insert(flat(), file(written));
    game.look();
    assert_eq!(against(&game), [""; 0]);
    game.subject().context.there.insert(flat(), file(blob("other")));
    game.look();
    assert_eq!(against(&game), [format!("SNP-02 {}", flat())]);
    game.subject().context.there.clear();
    game.subject().context.there.insert(path_of(change, number), file(blob("other")));
    game.look();
    assert_eq!(against(&game), [format!("SNP-04 {}", path_of(change, number))]);
    assert!(game.finding("SNP-04").says.contains("never changed"));
}

#[test]
fn either_place_of_the_next_one_will_do() {
    for flat in [true, false] {
        let mut game = declared();
        let mut file = next(&game);
        file.evidence.push(fact(1, "`src/date.rs` has `fn zone`."));
        let number = file.iteration;
        let path = if flat { format!("agent/context/iter-{number:04}.md") } else { path_of(game.now().change, number) };
        let there = File { number, blob: Some(blob("first")), text: Some(Ok(write(&file))) };
        game.subject().context.there.insert(path, there);
        game.look();
        assert_eq!(memory(&game).taken.get(&number), Some(&blob("first")), "{flat}");
    }
}

/// Two places make no second snapshot of a number, nor a way to change one.
#[test]
fn a_number_is_one_file_wherever_it_stands() {
    let mut game = declared();
    let mut file = next(&game);
    file.evidence.push(fact(1, "`src/date.rs` has `fn zone`."));
    let number = file.iteration;
    let (own, flat) = (path_of(game.now().change, number), format!("agent/context/iter-{number:04}.md"));
    let of = |text: &str, file: &Snapshot| File { number, blob: Some(blob(text)), text: Some(Ok(write(file))) };
    let one = of("one", &file);
    game.subject().context.there.insert(own.clone(), one.clone());
    file.evidence[0].text = "`src/date.rs` has none.".to_owned();
    game.subject().context.there.insert(flat.clone(), of("other", &file));
    game.look();
    assert!(game.finding("SNP-02").says.contains("is here twice"), "{:?}", game.finding("SNP-02"));
    assert!(!memory(&game).taken.contains_key(&number), "nobody knows which");
    game.subject().context.there.insert(flat.clone(), one.clone());
    game.look();
    assert_eq!(memory(&game).taken.get(&number), Some(&blob("one")));
    assert!(!game.findings().iter().any(|found| found.rule.starts_with("SNP-0")), "{:?}", game.findings());
    game.subject().context.there.insert(own.clone(), of("edited", &file));
    game.look();
    assert!(game.finding("SNP-04").says.contains("another of that number"), "{:?}", game.finding("SNP-04"));
    game.subject().context.there.remove(&flat);
    game.look();
    assert!(game.finding("SNP-04").says.contains("was edited since"), "{:?}", game.finding("SNP-04"));
    game.subject().context.there.remove(&own);
    game.look();
    assert!(game.finding("SNP-04").says.contains("is gone"), "{:?}", game.finding("SNP-04"));
}

#[test]
fn documents_rest_on_what_was_promoted() {
    let mut game = declared();
    game.says("ada", Role::Write, REPORT).done();
    let cited = Cited { path: "scaffolding/design.md".to_owned(), line: 4, fact: FactId(3) };
    game.subject().context.cited.push(cited);
    game.look();
    let found = game.finding("SNP-08");
    assert_eq!(found.place().as_deref(), Some("scaffolding/design.md:4"));
    assert!(found.says.contains("evidence and no more"), "{found:?}");
    game.says("ada", Role::Write, "/audit promote F-0003").done();
    assert!(!game.findings().iter().any(|one| one.rule == "SNP-08"));
    // What was there and is gone, and what never was.
    for (id, last, says) in [(5, 9, "does not have any more"), (9_999, 9, "no such fact")] {
        let state = game.state.as_mut().unwrap().memory.as_mut().unwrap();
        state.last_fact = last;
        state.latest.evidence.retain(|fact| fact.id.0 != 5);
        game.subject().context.cited =
            vec![Cited { path: "scaffolding/design.md".to_owned(), line: 4, fact: FactId(id) }];
        game.look();
        let found = game.finding("SNP-08");
        assert!(found.says.contains(says), "{found:?}");
        assert!(!found.next.contains("promote"), "there is nothing to promote: {found:?}");
    }
}

#[test]
fn a_step_that_rests_on_nothing_is_told_so() {
    let mut game = declared();
    game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
    game.says("ada", Role::Write, "/expand").done();
    game.says("ada", Role::Write, REPORT).done();
    let refused = game.says("ada", Role::Write, "/ladder fix-forward F-9999 x").refused_with("SNP-08").clone();
    assert!(refused.says.contains("no such fact") && !refused.next.contains("promote"), "{refused:?}");
    let refused = game.says("ada", Role::Write, "/ladder fix-forward f-0003 x").refused_with("SNP-08").clone();
    assert!(refused.next.contains("/audit promote F-0003"), "{refused:?}");
}

#[test]
fn a_wider_cap_counts_for_the_next_file() {
    let mut game = declared();
    let wider =
        |next: &mut Snapshot| next.cap = Cap::declared("More. in: src/**, tests/**, etc/** out: src/gen/**").unwrap();
    let told = |next: &mut Snapshot| {
        wider(next);
        next.evidence.push(fact(1, "`etc/passwd.rs` has it."));
    };
    assert_eq!(wrong(&game, told), ["SNP-07"]);
    pushes(&mut game, "ada", vec![], wider);
    assert_eq!(wrong(&game, told), [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// However a file is edited that would be next: it is refused with a reason, or what is kept of it can be read back.
    #[test]
    fn what_is_taken_in_can_be_read_back(edits in edits(), held in any::<bool>()) {
        let mut game = if held { stuck() } else { declared() };
        let mut file = next(&game);
        file.evidence.extend(reported(CAUSE));
        file.context.push(fact(9, "Dates have a zone (given: scope.md)."));
        let text = edited(write(&file), edits);
        let was = memory(&game).latest.clone();
        let refused = judged(&game, &text);
        let there = File { number: file.iteration, blob: Some(blob("edited")), text: Some(Ok(text)) };
        game.subject().context.there.insert(path_of(ChangeNumber(7), file.iteration), there);
        game.look();
        let now = &memory(&game).latest;
        match refused {
            Err(found) => prop_assert!(!found.is_empty() && now == &was),
            Ok(_) => prop_assert_eq!(now.iteration, was.iteration + 1),
        }
        let read = snapshot::read("x.md", &write(now));
        prop_assert_eq!(&read.findings, &[]);
        prop_assert_eq!(read.whole(0, 0), Some(now.clone()));
        prop_assert_eq!(now.fails, was.fails);
    }
}
