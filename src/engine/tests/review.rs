//! What reviewers find: in blocks of their reviews, held until it is settled.

use crate::engine::kit::*;
use crate::flow::{Phase, Stage};
use crate::gate::{Finding, Severity};
use crate::ids::{ChangeNumber, Role};
use crate::ledger::Body;
use crate::ledger::record::Evidence;

const LEAK: &str = "findings:
  - { id: F1, axis: security, severity: critical, path: src/lamp.py, line: 3, what: The password is logged., do: Take it out. }";
const NIT: &str = "findings: [{ id: F1, axis: readability, severity: nit, what: A long name., do: Shorten it. }]";
const ALL: &str = "axes: [correctness, readability, architecture, security, performance]
looked_for: [scope_reduction, placeholders, traceability]";
const DEMAND: &str = "gates:
  review: { axes: demand }
  verify: { checks: [{ name: ci / test, workflow: .github/workflows/ci.yml }] }
";

fn close(name: &str) -> String {
    format!("close: [{{ finding: {name}, reason: It is gone. }}]")
}

/// `rule severity` of what the review gate finds, without what only has to happen yet.
fn told(game: &Game) -> Vec<Finding> {
    crate::gate::phase::judge(Phase::Review, game.now(), &game.world).findings
}

fn rules(game: &Game) -> Vec<String> {
    let word = |finding: &Finding| match (finding.severity, finding.waiting) {
        (Severity::Warning, _) => "warning",
        (_, true) => "waiting",
        (_, false) => "error",
    };
    told(game).iter().map(|finding| format!("{} {}", finding.rule, word(finding))).collect()
}

#[test]
fn a_critical_finding_blocks_the_merge_flow_too_until_its_giver_closes_it() {
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("zoe", Role::Write, LEAK).may_not_merge(&["REV-03"]);
    let finding = game.finding("REV-03");
    assert_eq!((finding.path.as_deref(), finding.line), (Some("src/lamp.py"), Some(3)));
    assert!(
        finding.says.contains("`zoe` found (critical, security), as `zoe/F1`: `The password is logged`."),
        "{finding:?}"
    );
    assert!(finding.next.contains("`Take it out`") && finding.next.contains("zoe/F1"), "{finding:?}");
    // Neither a push, nor another's approval, nor one of hers takes it back unsaid.
    game.push("two").green().approved_by("mia").may_not_merge(&["REV-03"]);
    game.review("zoe", Role::Write, "APPROVED").may_not_merge(&["REV-03"]);
    game.finds("zoe", Role::Write, &close("F1")).may_merge();
}

#[test]
fn what_weighs_less_blocks_nothing() {
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("zoe", Role::Write, NIT).may_merge();
    game.finds("zoe", Role::Write, &LEAK.replace("critical", "required")).may_not_merge(&["REV-03"]);
}

#[test]
fn only_the_giver_and_those_who_may_approve_settle_a_finding() {
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("zoe", Role::Write, LEAK);
    game.finds("bob", Role::Write, &close("zoe/F1")).may_not_merge(&["REV-03"]);
    assert!(game.finding("REV-03").says.contains("That `bob` settled it does not count"));
    game.finds("ada", Role::Admin, &close("zoe/F1")).may_not_merge(&["REV-03"]);
    game.finds("helper[bot]", Role::None, &close("zoe/F1")).may_not_merge(&["REV-03"]);
    game.finds("eve", Role::Read, &close("zoe/F1")).may_not_merge(&["REV-03"]);
    game.finds("mia", Role::Maintain, "accept: [{ finding: zoe/F1, reason: It is a test account. }]").may_merge();
    // Who pushes afterwards is an operator, and their word was not independent.
    game.pushed_by("mia", "two").green().review("max", Role::Maintain, "APPROVED").may_not_merge(&["REV-03"]);
    game.finds("max", Role::Maintain, &close("zoe/F1")).may_merge();
}

#[test]
fn a_role_that_was_lost_settles_nothing_any_more() {
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("zoe", Role::Write, LEAK).finds("max", Role::Maintain, &close("zoe/F1"));
    game.may_merge();
    game.world.reviews.last_mut().unwrap().standing = standing(Role::Write);
    game.look().may_not_merge(&["REV-03"]);
}

#[test]
fn an_edited_review_takes_nothing_back() {
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("zoe", Role::Write, LEAK);
    for text in [None, Some(format!("```phasegate-review\n{}\n```", close("F1"))), Some("Fine now.".to_owned())] {
        let review = game.world.reviews.last_mut().unwrap();
        review.body = text;
        game.look().may_not_merge(&["REV-03"]);
        assert!(game.findings().iter().any(|one| one.rule == "REV-10" && one.says.contains("was edited")));
    }
    game.world.reviews.last_mut().unwrap().state = "DISMISSED".to_owned();
    game.look().may_not_merge(&["REV-03"]);
    game.world.reviews.pop();
    game.look().may_not_merge(&["REV-03"]);
    let records = game.log.iter().filter(|entry| matches!(entry.body, Body::Reviewed(_))).count();
    assert_eq!(records, 1, "it was read once");
}

#[test]
fn a_block_that_cant_be_read_is_told_with_its_line_and_holds_until_a_newer_word() {
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("zoe", Role::Write, "axs: [security]").may_not_merge(&["REV-10"]);
    let finding = game.finding("REV-10");
    assert!(finding.waiting && finding.says.contains("at line 4 of the review"), "{finding:?}");
    assert!(finding.says.contains("did you mean `axes`?") && finding.next.contains("new review"), "{finding:?}");
    // Somebody else's counts all the same.
    game.finds("max", Role::Write, LEAK).may_not_merge(&["REV-10", "REV-03"]);
    game.finds("max", Role::Write, &close("F1")).may_not_merge(&["REV-10"]);
    game.review("zoe", Role::Write, "COMMENTED").may_not_merge(&["REV-10"]);
    game.finds("zoe", Role::Write, "axes: [security]").may_merge();

    // Nobody waits for a bot, and strangers get no answer.
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("helper[bot]", Role::None, "axs: [security]").may_merge();
    assert_eq!(game.finding("REV-10").severity, Severity::Warning);
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("eve", Role::Read, "axs: [security]").may_merge();
    assert!(game.findings().iter().all(|finding| finding.rule != "REV-10"));
}

#[test]
fn what_is_settled_and_not_there_is_told() {
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("zoe", Role::Write, &close("mia/F9")).may_merge();
    let finding = game.finding("REV-10");
    assert!(finding.severity == Severity::Warning && finding.says.contains("`mia/F9`"), "{finding:?}");
    // Of two of one name, the review tells which.
    game.finds("zoe", Role::Write, LEAK).finds("zoe", Role::Write, LEAK);
    game.finds("zoe", Role::Write, &close("F1")).may_not_merge(&["REV-03"]);
    let keys: Vec<String> = game.now().findings.held.keys().cloned().collect();
    for key in &keys {
        assert!(game.findings().iter().any(|finding| finding.next.contains(key)), "{key}");
    }
    for key in &keys {
        game.finds("zoe", Role::Write, &close(key));
    }
    game.may_merge();
}

#[test]
fn an_agent_finds_and_settles_its_own_but_not_as_the_one_that_anybody_can_be() {
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("helper[bot]", Role::None, LEAK).may_not_merge(&["REV-03"]);
    game.push("two").green().approved_by("mia").may_not_merge(&["REV-03"]);
    game.finds("other[bot]", Role::None, &close("helper/F1")).may_not_merge(&["REV-03"]);
    game.finds("helper[bot]", Role::None, &close("F1")).may_merge();

    let mut game = Game::merge();
    game.green().approved_by("mia").finds("github-actions[bot]", Role::None, LEAK);
    game.finds("github-actions[bot]", Role::None, &close("F1")).may_not_merge(&["REV-03"]);
    game.finds("mia", Role::Maintain, &close("github-actions/F1")).may_merge();
}

#[test]
fn the_authors_own_block_counts_for_nothing() {
    let mut game = Game::merge();
    game.green().approved_by("mia").finds("ada", Role::Write, LEAK).may_merge();
    assert_eq!(game.finding("REV-04").severity, Severity::Warning);
    game.pushed_by("rover[bot]", "two").green().approved_by("mia");
    game.finds("rover[bot]", Role::None, LEAK).may_merge();
    // A single maintainer may, where the policy says so.
    let mut game = Game::with("people: { solo: true }");
    game.look()
        .green()
        .says("ada", Role::Maintain, "/approve")
        .finds("ada", Role::Maintain, LEAK)
        .may_not_merge(&["REV-03"]);
    game.finds("ada", Role::Maintain, &close("F1")).may_merge();
}

#[test]
fn the_pipeline_waits_for_what_the_policy_demands() {
    let mut game = Game::pipeline_with(DEMAND);
    game.until_reviewing().approved_by("mia").at(Stage::Reviewing);
    assert_eq!(rules(&game), ["REV-02 waiting", "REV-07 waiting", "REV-08 waiting", "REV-09 waiting"]);
    game.finds("helper[bot]", Role::None, "axes: [correctness, security]\nlooked_for: [placeholders]");
    assert_eq!(rules(&game), ["REV-02 waiting", "REV-07 waiting", "REV-09 waiting"]);
    assert!(told(&game)[0].says.contains("`readability`, `architecture`, `performance`"));
    // The rest by somebody else; the author's word adds nothing, nor does one that anybody can give.
    game.finds("ada", Role::Write, ALL).finds("github-actions[bot]", Role::None, ALL).at(Stage::Reviewing);
    game.finds("zoe", Role::Write, ALL).at(Stage::VerifyGatePassed).may_merge();
    // It is bound to the content, as the approval is.
    game.push("two").green().approved_by("mia");
    assert_ne!(game.stage(), Stage::VerifyGatePassed);
    game.finds("zoe", Role::Write, ALL).at(Stage::VerifyGatePassed);
}

#[test]
fn what_only_has_to_be_shown_holds_nobody_up() {
    let mut game = Game::pipeline();
    game.until_reviewing();
    assert_eq!(rules(&game), ["REV-01 waiting"], "who gives no blocks is not asked for one");
    game.finds("zoe", Role::Write, "axes: [security]");
    assert!(rules(&game).contains(&"REV-02 warning".to_owned()), "{:?}", rules(&game));
    game.approved_by("mia").at(Stage::VerifyGatePassed).may_merge();
    let mut game = Game::pipeline_with(&DEMAND.replace("demand", "off"));
    game.until_reviewing().finds("zoe", Role::Write, "axes: [security]");
    assert_eq!(rules(&game), ["REV-01 waiting"]);
}

#[test]
fn a_concern_is_settled_or_written_down_where_that_is_demanded() {
    let concern = NIT.replace("severity: nit", "severity: nit, concern: dead_code");
    let mut game = Game::pipeline_with(DEMAND);
    game.until_reviewing()
        .approved_by("mia")
        .finds("zoe", Role::Write, &format!("{ALL}\n{concern}"))
        .at(Stage::Reviewing);
    assert_eq!(rules(&game), ["REV-06 waiting"]);
    assert!(told(&game)[0].says.contains("(dead_code), as `zoe/F1`"), "{:?}", told(&game));
    game.finds("mia", Role::Maintain, "accept: [{ finding: zoe/F1, reason: It is used from March. }]");
    game.at(Stage::VerifyGatePassed);
}

#[test]
fn a_finding_is_a_verdict_of_the_review_gate_and_counts_once() {
    let mut game = Game::pipeline();
    game.until_reviewing().finds("zoe", Role::Write, LEAK).at(Stage::ReviewFixing);
    assert_eq!(game.table().fails(Phase::Review), 1);
    game.push("two").green().at(Stage::ReviewFixing);
    assert_eq!(game.table().fails(Phase::Review), 1, "a push that meets the same finding is not a second one");
    game.approved_by("mia").finds("zoe", Role::Write, &close("F1")).at(Stage::VerifyGatePassed);
    assert_eq!(game.table().fails(Phase::Review), 0);
    let open = |one: &Evidence| matches!(one, Evidence::Findings { open, .. } if !open.is_empty());
    assert!(!game.recorded().evidence.iter().any(open), "{:?}", game.recorded().evidence);
}

#[test]
fn a_new_number_takes_the_findings_over() {
    let mut first = Game::merge();
    first.green().finds("zoe", Role::Write, LEAK).finds("max", Role::Write, NIT).closed();
    let mut game = Game::with("").later_than(&first);
    game.world.earlier = vec![first.as_three()];
    game.look().green().approved_by("mia").may_not_merge(&["REV-03"]);
    assert!(game.finding("REV-03").says.contains("`zoe` found on #3"), "{:?}", game.finding("REV-03"));
    assert_eq!(game.now().findings.held.values().next().and_then(|held| held.on), Some(ChangeNumber(3)));
    game.finds("zoe", Role::Write, &close("F1")).may_merge();
    game.look().may_merge();
}

#[test]
fn the_first_hundred_blocks_are_read_and_the_next_is_told() {
    let mut game = Game::merge();
    game.green().approved_by("mia");
    for _ in 0..crate::gate::review::findings::MOST_BLOCKS {
        game.finds("helper[bot]", Role::None, "axes: [security]");
    }
    game.may_merge().finds("helper[bot]", Role::None, "axes: [security]").may_not_merge(&["REV-10"]);
}
