//! What passes by itself, and what lowers the rung so that a person decides.

use std::collections::BTreeSet;

use crate::engine::kit::*;
use crate::flow::Stage;
use crate::gate::Verdict;
use crate::gate::world::{HandedIn, Raises};
use crate::guard::wave::verdict::{self, Outcome};
use crate::guard::weaken::{Edit, Found, Weaker, What};
use crate::ids::{Digest, Role};
use crate::ledger::record::{Evidence, Raised};
use crate::policy::Autonomy;

/// A green is enough, and a critic is asked for.
const CRITIC: &str = "merge: { require: [verify] }";

fn shown(game: &Game, rule: &str) -> bool {
    game.findings().iter().any(|finding| finding.rule == rule)
}

/// The runs that a verdict names as those by which it passed alone.
fn runs(evidence: &[Evidence]) -> Option<&[String]> {
    evidence.iter().find_map(|one| match one {
        Evidence::Auto { runs } => Some(runs.as_slice()),
        _ => None,
    })
}

#[test]
fn what_passes_by_itself_says_so_and_names_its_run() {
    let mut game = Game::with(ALONE);
    game.opened().green().may_merge();
    let recorded = game.recorded();
    assert_eq!(recorded.verdict, Verdict::Pass);
    let named = runs(&recorded.evidence).expect("it passed by itself").to_vec();
    assert_eq!(named.len(), 1);
    assert!(named[0].starts_with("ci / test, workflow run "), "{named:?}");
    let comment = game.surface().comment;
    assert!(comment.contains("*Passed by itself*: the autonomy is auto, and nobody approved it."), "{comment}");
    // With a person's approval it is theirs.
    game.approved_by("mia").may_merge();
    assert_eq!(runs(&game.recorded().evidence), None);
    assert!(!game.surface().comment.contains("Passed by itself"));
}

#[test]
fn where_a_review_is_required_nothing_passes_by_itself() {
    let mut game = Game::merge();
    game.opened().green().may_not_merge(&["MRG-02"]);
    assert!(!shown(&game, "critic_open"), "a person is asked anyway, so nobody is told of a critic");
    game.approved_by("mia").may_merge();
    assert_eq!(runs(&game.recorded().evidence), None);
}

#[test]
fn in_the_pipeline_verify_says_that_nobody_resolved_it() {
    let mut game = Game::pipeline();
    game.through_verify().at(Stage::VerifyGatePassed);
    let gate = crate::gate::GateName::Phase(crate::flow::Phase::Verify);
    assert!(runs(&game.now().gates[&gate].evidence).is_some());
}

#[test]
fn a_critic_has_to_miss_nothing() {
    let mut game = Game::with(CRITIC);
    game.opened().green().may_not_merge(&["MRG-03"]);
    let silent = game.finding("critic_open");
    assert!(!silent.blocks() && silent.says.starts_with("Nobody has looked for what is missing"), "{silent:?}");
    assert!(game.finding("MRG-03").says.contains("(autonomy is auto, for this content conservative by `critic_open`)"));
    assert_eq!(game.now().autonomy, Autonomy::Auto, "it is this content's, not the change's");
    game.finds("helper[bot]", Role::None, "gaps: [AC-2 has no test for the dark]").may_not_merge(&["MRG-03"]);
    assert_eq!(game.finding("critic_open").says, "`helper[bot]` misses something: `AC-2 has no test for the dark`.");
    game.finds("helper[bot]", Role::None, "gaps: []").may_merge();
    // Another critic's gap is another's to close.
    game.finds("eye[bot]", Role::None, "gaps: [the docs are old]").may_not_merge(&["MRG-03"]);
    game.finds("helper[bot]", Role::None, "gaps: []").may_not_merge(&["MRG-03"]);
    // A person takes it as it is.
    game.approved_by("mia").may_merge();
    // What was said is for what was there.
    game.push("two").green().may_not_merge(&["MRG-03"]);
    assert!(game.finding("critic_open").says.starts_with("Nobody"));
}

#[test]
fn nobody_is_the_critic_of_their_own() {
    let mut game = Game::with(CRITIC);
    game.opened().green();
    game.finds("ada", Role::Write, "gaps: []").may_not_merge(&["MRG-03"]);
    game.finds("github-actions[bot]", Role::None, "gaps: []").may_not_merge(&["MRG-03"]);
    game.finds("tim", Role::Read, "gaps: []").may_not_merge(&["MRG-03"]);
    game.finds("max", Role::Write, "gaps: []").may_merge();
}

#[test]
fn a_gap_holds_where_no_critic_is_asked_for() {
    let mut game = Game::with(ALONE);
    game.opened().green().may_merge();
    game.finds("helper[bot]", Role::None, "gaps: [nobody tests the dark]").may_not_merge(&["MRG-03"]);
}

#[test]
fn weaker_tests_and_contracts_are_a_persons_to_accept() {
    let says = "It does not say any more that it shines.".to_owned();
    let (test, next) = ("shines".to_owned(), "Put it back.".to_owned());
    let weaker = Weaker { what: What::AssertionRemoved, test, line: 7, gone: false, says, next };
    let found = Found { path: "tests/lamp.rs".to_owned(), now: None, weaker };
    let mut game = Game::with(ALONE);
    game.opened().green().may_merge();
    game.push_with("two", |game| game.subject().weakened.found = vec![found]).green().may_not_merge(&["MRG-03"]);
    assert!(game.findings().iter().any(|one| one.rule == "test_weakened" && one.says.contains("pass by itself")));
    game.approved_by("mia").may_merge();

    let mut game = Game::with(ALONE);
    game.opened().push_with("two", |game| {
        game.subject().contracts.insert("api/contract.json".to_owned(), None);
    });
    game.green().may_not_merge(&["MRG-03"]);
    assert_eq!(game.finding("contract_edited").path.as_deref(), Some("api/contract.json"));
    game.approved_by("mia").may_merge();
}

/// What the code gives is green, whatever the test was made to expect.
#[test]
fn a_test_that_was_edited_is_somebodys_to_approve() {
    let says = "`test_dim` is not as it was.".to_owned();
    let changed = Edit { path: "tests/test_lamp.py".to_owned(), now: None, line: Some(7), says };
    let mut game = Game::with(ALONE);
    game.opened().green().may_merge();
    game.push_with("two", |game| game.subject().weakened.edits = vec![changed]).green().may_not_merge(&["MRG-03"]);
    let told = game.finding("test_edited");
    assert_eq!((told.path.as_deref(), told.line, told.blocks()), (Some("tests/test_lamp.py"), Some(7), false));
    assert!(told.says.contains("(`tests/test_lamp.py`; the first: `test_dim` is not as it was)"), "{}", told.says);
    game.approved_by("mia").may_merge();
    // Where somebody reviews anyway it is no finding.
    let mut game = Game::merge();
    game.opened().green();
    assert!(!shown(&game, "test_edited"));
}

#[test]
fn a_fix_that_does_more_is_looked_at() {
    let mut game = Game::with(ALONE);
    game.opened().red().may_not_merge(&["MRG-01"]);
    let failed = game.now().failed.clone().expect("it failed");
    assert!(failed.anywhere && failed.files.is_empty(), "{failed:?}");
    assert_eq!(Some(&failed.about), game.now().subject.as_ref());
    game.push_with("two", |game| game.subject().beyond = Some(BTreeSet::from(["src/extra.rs".to_owned()])));
    game.green().may_not_merge(&["MRG-03"]);
    assert_eq!(game.finding("loops_not_dry").path.as_deref(), Some("src/extra.rs"));
    assert!(game.now().failed.is_some(), "it waits for a person, so the run that failed is still what it answers");
    // What can't be told is not fine.
    game.push_with("three", |game| game.subject().beyond = None).green().may_not_merge(&["MRG-03"]);
    assert!(game.finding("loops_not_dry").says.contains("can't be told"));
    game.push_with("four", |game| game.subject().beyond = Some(BTreeSet::new())).green().may_merge();
    assert_eq!(game.now().failed, None, "it has passed");
}

#[test]
fn a_check_that_is_waited_for_asks_for_nothing() {
    let mut game = Game::with(ALONE);
    game.opened().may_not_merge(&["MRG-01"]);
    assert_eq!(game.now().failed, None);
}

fn handed_in(yaml: &str) -> Vec<HandedIn> {
    let path = "work/SUMMARY.md".to_owned();
    let text = format!("# Lamp\n\n```yaml\ntask: lamp\n{yaml}\nevidence: 4 passed\ndeltas: []\n```\n");
    let read = verdict::handed_in(&path, text.as_bytes()).expect("it has a verdict");
    vec![HandedIn { path, read, lessons: Vec::new() }]
}

#[test]
fn security_that_is_left_is_nobodys_to_waive() {
    let mut game = Game::with(ALONE);
    game.opened().green().may_merge();
    let left = handed_in("outcome: PASS\nresidue:\n  - security: the token is in the log");
    game.push_with("two", |game| game.subject().handed_in = left).green().approved_by("mia");
    game.may_not_merge(&["residue_security"]);
    let told = game.finding("residue_security");
    assert_eq!((told.path.as_deref(), told.line.is_some()), (Some("work/SUMMARY.md"), true));
    game.says("mia", Role::Maintain, "/risk-accept residue_security --owner mia --ticket S-1 --until 1970-01-14 fine");
    game.refused_with("risk_accepted_security");
    game.may_not_merge(&["residue_security"]);
    let waived = handed_in("outcome: RISK-ACCEPTED\nresidue:\n  - security: the token is in the log");
    game.push_with("three", |game| game.subject().handed_in = waived).green().approved_by("mia");
    game.may_not_merge(&["risk_accepted_security"]);
    game.push_with("four", |game| game.subject().handed_in = handed_in("outcome: PASS\nresidue: []")).green();
    game.may_merge();
}

#[test]
fn a_note_of_security_and_what_tests_do_not_show_are_told() {
    let mut game = Game::with(ALONE);
    let left = handed_in("outcome: ESCALATE\nresidue:\n  - concurrency: two writers may meet");
    game.opened().push_with("two", |game| game.subject().handed_in = left).green();
    let told = game.finding("residue_concurrency");
    assert!(!told.blocks() && told.says.contains("two writers may meet"), "{told:?}");
    let path = "SUMMARY.md".to_owned();
    let text = "```yaml\ntask: a\noutcome: PASS\nevidence: e\nresidue: []\ndeltas: ['security: it leaks']\n```\n";
    let read = verdict::handed_in(&path, text.as_bytes()).expect("it has a verdict");
    game.push_with("three", |game| game.subject().handed_in = vec![HandedIn { path, read, lessons: Vec::new() }])
        .green();
    game.may_not_merge(&["unescalated_security_note"]);
    // What can't be read is told, and is nobody's red: any project may have a file of this name.
    let read = verdict::handed_in("SUMMARY.md", b"```yaml\noutcome: PASS\n```\n").expect("it has a verdict");
    let bent = HandedIn { path: "SUMMARY.md".to_owned(), read, lessons: Vec::new() };
    game.push_with("four", |game| game.subject().handed_in = vec![bent]).green();
    assert!(!game.finding("malformed_gate_record").blocks());
    // But nobody knows what is left, so it does not pass by itself.
    game.may_not_merge(&["MRG-03"]).approved_by("mia").may_merge();
}

/// Once somebody has let it go on, the next push would pass under the same words.
#[test]
fn what_a_verdict_leaves_is_somebodys_to_approve() {
    let leaves = |yaml: &str| {
        let mut game = Game::with(ALONE);
        let left = handed_in(yaml);
        game.opened().push_with("two", |game| game.subject().handed_in = left).green().may_not_merge(&["MRG-03"]);
        let told: Vec<String> = game
            .findings()
            .iter()
            .filter(|one| one.says.contains("pass by itself"))
            .map(|one| one.rule.clone())
            .collect();
        game.approved_by("mia").may_merge();
        assert_eq!(runs(&game.recorded().evidence), None);
        told.join(" ")
    };
    assert_eq!(leaves("outcome: PASS\nresidue:\n  - concurrency: two writers may meet"), "residue_concurrency");
    assert_eq!(leaves("outcome: ESCALATE\nresidue:\n  - architecture: it knows the clock"), "residue_architecture");
    assert_eq!(leaves("outcome: RISK-ACCEPTED\nresidue: []"), "gate_record_mismatch");
    let mut game = Game::with(ALONE);
    let done = handed_in("outcome: PASS\nresidue: []");
    game.opened().push_with("two", |game| game.subject().handed_in = done).green().may_merge();
}

/// Whoever writes it in a table means it, too.
#[test]
fn a_verdict_in_no_block_is_told_and_prose_is_let_be() {
    let read = |text: &str| verdict::handed_in("SUMMARY.md", text.as_bytes()).map(|read| read.unwrap_err());
    let stops = |text: &str| read(text).and_then(|unread| unread.stops);
    for text in [
        "task: a\noutcome: HARD-STOP\nevidence: it leaks\n",
        "+++\ntask = \"a\"\noutcome = \"HARD-STOP\"\n+++\n",
        "# Done\n\n> ```yaml\n> task: a\n> outcome: HARD STOP\n> ```\n",
        "| task | a |\n|---|---|\n| **outcome** | hard_stop |\n",
        "- **Task:** a\n- **Outcome:** HARD-STOP\n",
    ] {
        assert_eq!(stops(text), Some(Outcome::HardStop), "{text}");
    }
    let leaves = read("task: a\noutcome: PASS\nresidue:\n  - security: it leaks\n").unwrap();
    assert!(leaves.security && leaves.stops == Some(Outcome::HardStop));
    let fine = read("task: a\noutcome: PASS\nevidence: the security review is clean\n").unwrap();
    assert!(!fine.security && fine.stops.is_none() && fine.findings.len() == 1);
    for prose in [
        "# Summary\n\n- [Outcome](outcome.md)\n- [Evidence](evidence.md)\n",
        "The outcome: nobody was hurt.\n",
        "# Summary\n\nOutcome: HARD-STOP of the train.\n",
    ] {
        assert!(read(prose).is_none(), "{prose}");
    }
}

/// Who left it is not who says that it is mended.
#[test]
fn what_a_verdict_had_left_is_somebodys_to_believe() {
    let reason = "unsafe: PASS in work/SUMMARY.md leaves security: the token is in the log; concurrency: two writers";
    let raises = |game: &Game| {
        let raised = Raised { commit: game.world.pull.head.clone(), key: Digest::of(reason) };
        Raises { raised, reason: reason.to_owned() }
    };
    let mut game = Game::with(ALONE);
    game.opened().green().may_merge();
    game.push_with("two", |game| game.subject().stops = vec![raises(game)]).green();
    game.may_not_merge(&["MRG-03", "MRG-05"]);
    game.says("mia", Role::Maintain, "/unblock it will be mended");
    game.push_with("three", |game| game.subject().handed_in = handed_in("outcome: PASS\nresidue: []")).green();
    game.may_not_merge(&["MRG-03"]);
    let told: BTreeSet<String> = game
        .findings()
        .iter()
        .filter(|one| one.says.starts_with("An earlier verdict of this change left"))
        .map(|one| one.rule.clone())
        .collect();
    assert_eq!(told, BTreeSet::from(["residue_concurrency".to_owned(), "residue_security".to_owned()]));
    game.approved_by("mia").may_merge();
    game.push("four").green().may_not_merge(&["MRG-03"]);
}

#[test]
fn a_lesson_beside_the_verdict_hides_no_finding_of_security() {
    let mut game = Game::with(ALONE);
    let mut done = handed_in("outcome: PASS\nresidue: []");
    done[0].lessons = vec!["security: it leaks".to_owned()];
    game.opened().push_with("two", |game| game.subject().handed_in = done).green().approved_by("mia");
    game.may_not_merge(&["unescalated_security_note"]);
}

#[test]
fn a_test_that_no_parser_reads_is_a_persons_to_accept() {
    let mut game = Game::with(ALONE);
    game.opened().push_with("two", |game| {
        game.subject().weakened.unjudged.insert("spec/lamp_spec.rb".to_owned(), None);
    });
    game.green().may_not_merge(&["MRG-03"]);
    let told = game.finding("test_weakened");
    assert!(told.path.as_deref() == Some("spec/lamp_spec.rb") && !told.blocks(), "{told:?}");
    game.approved_by("mia").may_merge();
}

/// A verdict that lacks a field says what it stops for all the same.
#[test]
fn a_verdict_that_is_not_in_its_form_hides_no_finding_of_security() {
    let bent = |yaml: &str| {
        let text = format!("```yaml\n{yaml}\n```\n");
        let read = verdict::handed_in("SUMMARY.md", text.as_bytes()).expect("it has a verdict");
        vec![HandedIn { path: "SUMMARY.md".to_owned(), read, lessons: Vec::new() }]
    };
    for loud in [
        "outcome: PASS\nresidue:\n  - security: the token is in the log",
        "outcome: PASS\nresidue: security",
        "outcome: PASS\nresidue: [Security]",
        "{\"outcome\": \"PASS\", \"residue\": [{\"security\": \"x\"}]}",
        "outcome: PASS\nresidue: [security: \"it leaks",
    ] {
        let mut game = Game::with(ALONE);
        game.opened().push_with("two", |game| game.subject().handed_in = bent(loud)).green().approved_by("mia");
        game.may_not_merge(&["residue_security"]);
    }
    for quiet in ["task: security-headers\noutcome: PASS", "outcome: PASS\nevidence: security review is clean"] {
        let mut game = Game::with(ALONE);
        game.opened().push_with("two", |game| game.subject().handed_in = bent(quiet)).green().approved_by("mia");
        game.may_merge();
    }
    let stops = |yaml: &str| bent(yaml)[0].read.as_ref().unwrap_err().stops;
    assert_eq!(stops("outcome: hard-stop"), Some(Outcome::HardStop));
    assert_eq!(stops("outcome: ESCALATE\nresidue: []"), Some(Outcome::Escalate));
    assert_eq!(stops("outcome: PASS\nresidue: security"), Some(Outcome::HardStop));
    assert_eq!(stops("outcome: PASS | RISK-ACCEPTED | HARD-STOP | ESCALATE"), None);
    assert_eq!(stops("outcome: PASS"), None);
}
