//! Each rule on a design that meets it and on one that does not. (More documents are in `tests/corpus`.)

use crate::engine::kit::{good_papers, sheet};
use crate::flow::Phase;
use crate::gate::papers::tests::told;
use crate::gate::papers::{Followed, Papers, judge};
use crate::ledger::record::{Impact, Round};
use crate::policy::{Policy, Tier};
use crate::rehearsal::papers as good;

#[track_caller]
fn with(old: &str, new: &str) -> Vec<String> {
    in_a("house", old, new)
}

#[track_caller]
fn in_a(tier: &str, old: &str, new: &str) -> Vec<String> {
    assert!(good::DESIGN.contains(old), "{old}");
    let scope = Some(sheet(&good::SCOPE.replace("\nhouse\n", &format!("\n{tier}\n"))));
    let papers = Papers { scope, design: Some(sheet(&good::DESIGN.replace(old, new))), ..good_papers() };
    told(&judge(Phase::Design, &papers, &Policy { tier: Tier::Shed, ..Policy::default() }))
}

fn none() -> Vec<String> {
    Vec::new()
}

/// `DSN-02`
#[test]
fn each_section_is_there_and_says_something() {
    assert_eq!(with("## Complexity Exceptions\n\nnone\n", ""), ["DSN-02 design.md"]);
    assert_eq!(
        with("## Complexity Exceptions\n\nnone\n", "## Complexity Exceptions\n\nTODO\n"),
        ["DSN-02 design.md:38"]
    );
    assert_eq!(with("## Complexity Exceptions\n\nnone\n", "# 7. Exceptions\nNone.\n"), none());
}

/// `DSN-03`
#[test]
fn three_components_are_drawn() {
    let said = "One module with one function;";
    assert_eq!(with(said, "- the module\n- the button\n- the lamp\n\nThen"), ["DSN-03 design.md:3"]);
    assert_eq!(with(said, "- the module\n- the button\n\nThen"), none());
    assert_eq!(
        with(said, "- the module\n- the button\n- the lamp\n\n```\nbutton --> module --> lamp\n```\n\nThen"),
        none()
    );
    assert_eq!(with(said, "- the module\n- the button\n- the lamp\n\n![all three](three.svg)\n\nThen"), none());
}

/// `DSN-04`
#[test]
fn an_integration_says_what_happens_when_it_fails() {
    let said = "## External Integrations\n\nnone\n";
    let list = |item: &str| format!("## External Integrations\n\n- {item}\n");
    assert_eq!(with(said, &list("The weather service says when it is dark.")), ["DSN-04 design.md:22"]);
    assert_eq!(with(said, &list("The weather service; when it is down, the last answer is used.")), none());
    assert_eq!(with(said, &list("The weather service fails silently.")), ["DSN-04 design.md:22"]);
    let table =
        |cell: &str| format!("## External Integrations\n\n| what | on failure |\n|---|---|\n| weather | {cell} |\n");
    assert_eq!(with(said, &table("the last answer")), none());
    assert_eq!(with(said, &table("n/a")), ["DSN-04 design.md:24"]);
}

/// `DSN-05`
#[test]
fn an_open_question_is_resolved_or_deferred_with_a_reason() {
    let said = "- Should it fade? Deferred until somebody asks for it twice.";
    for closed in [
        "- Should it fade? Resolved: no.",
        "- Should it fade? → not now",
        "- [x] Should it fade?",
        "- Should it fade? Deferred (nobody asked).",
        "None.",
    ] {
        assert_eq!(with(said, closed), none(), "{closed}");
    }
    for open in [
        "- Should it fade?",
        "- Should it fade? Not resolved.",
        "- Should it fade? Unresolved.",
        "- Should it fade? Deferred.",
        "- Should it fade? Needs a decision.",
        "- Should it fade? To be decided.",
        "- Is that resolved?",
    ] {
        assert_eq!(with(said, open), ["DSN-05 design.md:44"], "{open}");
    }
}

/// `DSN-06`
#[test]
fn a_house_has_scenarios_and_concerns() {
    let second = "2. Somebody presses the button at level 0. The lantern calls `dim(0)`, then stays dark.\n";
    assert_eq!(with(second, ""), ["DSN-06 design.md:24"]);
    assert_eq!(in_a("shed", second, ""), none());
    assert_eq!(with("- Low: a level", "- A level"), ["DSN-06 design.md:29"]);
    assert_eq!(with("- Low: a level that is no whole number is not refused.", "none"), none());
    assert_eq!(with("## Review Concerns\n\n- Low:", "- Low:"), ["DSN-06 design.md"]);
}

/// `DSN-07`
#[test]
fn what_can_be_observed_reaches_the_tiers_depth() {
    assert_eq!(with("raise an alert", "are bad"), ["DSN-07 design.md:33"]);
    assert_eq!(with("raise an alert", "raise no alert"), ["DSN-07 design.md:33"]);
    assert_eq!(in_a("shed", "raise an alert", "are bad"), none());
    assert_eq!(in_a("shed", "Each press logs a structured line;", "Each press counts;"), ["DSN-07 design.md:33"]);
    assert_eq!(in_a("skyscraper", "Each press", "Every press"), ["DSN-07 design.md:33", "DSN-07 design.md:33"]);
    let more = "Prometheus scrapes the metrics, which a dashboard shows. Each press";
    assert_eq!(in_a("skyscraper", "Each press", more), none());
}

/// `DSN-08`
#[test]
fn the_directory_structure_is_a_tree() {
    let tree = "```\nsrc/                    # and what it needs beside, …\n  dimmer.py             # the function\ntests/\n  \
                test_dimmer.py\n```\n";
    assert_eq!(with(tree, "- src/\n  - dimmer.py: the function\n- tests/\n"), none());
    assert_eq!(with(tree, "Everything is in one file.\n"), ["DSN-08 design.md:7"]);
    assert_eq!(with("  test_dimmer.py\n", "  one test for each function\n"), ["DSN-08 design.md:13"]);
}

/// `DSN-10`
#[test]
fn a_round_that_touches_the_architecture_has_another_design() {
    let of = |impact: Impact, delivered: Option<&str>| {
        let round = Round {
            changes: Vec::new(),
            impact,
            document: crate::engine::kit::blob("proposal"),
            version: 1,
            scope: None,
            design: delivered.map(crate::engine::kit::blob),
            accepted: Some(["CH-1".to_owned()].into()),
        };
        let papers = Papers { round: Some(Followed::Round(Box::new(round))), ..good_papers() };
        told(&judge(Phase::Design, &papers, &Policy::default()))
    };
    for impact in [Impact::Minor, Impact::Major] {
        assert_eq!(of(impact, Some(good::DESIGN)), ["DSN-10 design.md"]);
        assert_eq!(of(impact, Some("the design before")), none());
        assert_eq!(of(impact, None), none(), "nobody noted it");
    }
    assert_eq!(of(Impact::None, Some(good::DESIGN)), none(), "it goes on with the design that is there");
}

/// `DSN-09`
#[test]
fn an_interface_has_a_typed_shape() {
    let said = "- `dim(level: int) -> int`: one step less, and never below 0.";
    assert_eq!(with(said, "- dim: one step less, and never below 0."), ["DSN-09 design.md:18"]);
    assert_eq!(with(said, "### dim\n\n```python\ndef dim(level: int) -> int: ...\n```"), none());
    assert_eq!(with(said, "### dim\n\nOne step less."), ["DSN-09 design.md:18"]);
    assert_eq!(with(said, "### dim\n\n| field | type |\n|---|---|\n| level | int |"), none());
}
