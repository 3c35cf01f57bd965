use super::*;
use crate::engine::kit::{Game, REPORT, blob};
use crate::ids::Role;
use crate::ledger::snapshot::{SliceId, path_of, write};

const SLICE: &str = "/slice \"Parse dates\" --scope \"The parser. in: src/**, tests/** out: src/gen/**\"";

/// A change with a declared slice, and something in every section.
fn declared() -> Game {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, SLICE).done();
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
    let memory = memory(game);
    let path = path_of(game.now().change, memory.latest.iteration + 1);
    let taken = claim(memory, game.now().flow, &path, text, &blob("x"));
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
    assert_eq!(wrong(&game, |next| next.iteration -= 1), ["SNP-02", "SNP-03"], "a parent that is itself");
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
    let fact = memory(&game).concluded.first().unwrap().to_string();
    game.says("ada", Role::Write, &format!("/ladder re-plan {fact} says so")).done();
    game.says("ada", Role::Write, SLICE).done();
    assert_eq!((memory(&game).latest.slice_id, memory(&game).latest.fails), (SliceId(2), Fails::default()));
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
    assert_eq!(wrong(&game, |next| next.evidence.push(fact(1, "`docs/api.md` lists it."))), ["SNP-07"]);
    assert_eq!(wrong(&game, |next| next.evidence.push(fact(1, "`src/gen/a.rs` is written by hand."))), ["SNP-07"]);
    assert_eq!(
        wrong(&game, |next| next.evidence.push(fact(1, "`src/a.rs` and `scaffolding/scope.md` agree."))),
        [""; 0]
    );
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
    let mut game = declared();
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

#[test]
fn documents_rest_on_what_was_promoted() {
    let mut game = declared();
    game.says("ada", Role::Write, REPORT).done();
    let cited = Cited { path: "scaffolding/design.md".to_owned(), line: 4, fact: FactId(3) };
    game.subject().context.cited.push(cited);
    game.look();
    let found = game.finding("SNP-08");
    assert_eq!(found.place().as_deref(), Some("scaffolding/design.md:4"));
    game.says("ada", Role::Write, "/audit promote F-0003").done();
    assert!(!game.findings().iter().any(|one| one.rule == "SNP-08"));
}
