//! Each rule on a paper that meets it and on one that does not. (More documents are in `tests/corpus`.)

use crate::engine::kit::{blob, good_papers, sheet};
use crate::flow::Phase;
use crate::gate::papers::tests::told;
use crate::gate::papers::{Papers, judge};
use crate::ids::Digest;
use crate::policy::Policy;
use crate::rehearsal::papers as good;

#[track_caller]
fn with(old: &str, new: &str) -> Vec<String> {
    assert!(good::READINESS.contains(old), "{old}");
    let papers = Papers { readiness: Some(sheet(&good::READINESS.replace(old, new))), ..good_papers() };
    told(&judge(Phase::Analyze, &papers, &Policy::default()))
}

fn none() -> Vec<String> {
    Vec::new()
}

/// `ANL-02`
#[test]
fn each_section_is_there_and_says_something() {
    assert_eq!(with("## Truths\n", "## Beliefs\n"), ["ANL-02 readiness.md"]);
    assert_eq!(with("- Levels are whole numbers from 0 to 10 (AC-1, AC-2).", "…"), ["ANL-02 readiness.md:7"]);
    assert_eq!(with("## Truths\n", "# II. Facts\n"), none());
}

/// `ANL-03`
#[test]
fn the_verdict_is_ready() {
    assert_eq!(with("READY\n", "NOT READY\n"), ["ANL-03 readiness.md:5"]);
    assert_eq!(with("READY\n", "READY once the lantern is here\n"), ["ANL-03 readiness.md:5"]);
    assert_eq!(with("READY\n", "**READY** (2026-11-15)\n"), none());
}

/// `ANL-04`
#[test]
fn each_criterion_is_linked() {
    let row = "| AC-2 | Interfaces | `tests/test_dimmer.py::test_dark` | `$ cd src && python3 -c 'import dimmer; print(dimmer.dim(0))'` prints `0` |\n";
    assert_eq!(with(row, ""), ["ANL-04 readiness.md:11"]);
    assert_eq!(with(row, "| AC-2 | Interfaces | TBD | - |\n"), ["ANL-04 readiness.md:16", "ANL-04 readiness.md:16"]);
    assert_eq!(with(row, "| AC-2 | the end of the scale | a test of 0 | a run with 0 |\n"), none());
}

/// `ANL-05`
#[test]
fn each_criterion_has_a_planned_test_and_proof() {
    let row = "| AC-2 | no step from 0 | `$ cd src && python3 -c 'import dimmer; print(dimmer.dim(0))'` |\n";
    assert_eq!(with(row, ""), ["ANL-05 readiness.md:18"]);
    assert_eq!(
        with(row, "| AC-2 | | `$ cd src && python3 -c 'import dimmer; print(dimmer.dim(0))'` |\n"),
        ["ANL-05 readiness.md:23"]
    );
    assert_eq!(with(row, "| AC-2 | no step from 0 | n/a |\n"), ["ANL-05 readiness.md:23"]);
}

/// `ANL-06`
#[test]
fn the_build_order_has_each_criterion() {
    assert_eq!(with("2. AC-2: the end of the steps.", "2. the rest"), ["ANL-06 readiness.md:33"]);
    assert_eq!(with("1. AC-1: the step.\n2. AC-2: the end of the steps.", "First AC-1 to AC-2."), none());
}

/// `ANL-06`
#[test]
fn what_is_left_out_is_not_built() {
    let both = "1. AC-1: the step.\n2. AC-2: the end of the steps.";
    assert_eq!(with(both, "AC-1, not AC-2"), ["ANL-06 readiness.md:33"]);
    assert_eq!(with(both, "Skipped: AC-1, AC-2"), ["ANL-06 readiness.md:33", "ANL-06 readiness.md:33"]);
    assert_eq!(with(both, "AC-1 (not the hard one), AC-2"), none());
}

/// `ANL-07`
#[test]
fn truths_and_clarifications_are_not_mixed() {
    let truth = "- Levels are whole numbers from 0 to 10 (AC-1, AC-2).";
    assert_eq!(with(truth, "- Are levels whole numbers?"), ["ANL-07 readiness.md:9"]);
    assert_eq!(with(truth, "- We assume that levels are whole."), ["ANL-07 readiness.md:9"]);
    let asked = "## Clarifications Needed\n\nnone\n";
    assert_eq!(with(asked, "## Clarifications Needed\n\n- Levels are whole.\n"), ["ANL-07 readiness.md:31"]);
    assert_eq!(with(asked, "## Clarifications Needed\n\n- Are levels whole?\n"), none());
}

/// `ANL-08`
#[test]
fn no_open_clarification_changes_pass_or_fail() {
    let asked = "## Clarifications Needed\n\nnone\n";
    let ask = |text: &str| with(asked, &format!("## Clarifications Needed\n\n- {text}\n"));
    assert_eq!(ask("Which lantern? It changes pass/fail."), ["ANL-08 readiness.md:31"]);
    assert_eq!(ask("Which lantern? It does not change pass/fail."), none());
    assert_eq!(ask("Which lantern? Blocking. Resolved: the old one."), none());
}

/// `ANL-09`
#[test]
fn identifiers_and_digests_are_those_of_the_documents() {
    assert_eq!(with("1. AC-1: the step.", "1. AC-1: the step, and AC-7."), ["ANL-09 readiness.md:35"]);
    let digest = |digest: &str| with("READY\n", &format!("READY\n\nscope.md, blob {digest}\n"));
    assert_eq!(digest(&blob(good::SCOPE).as_str()[..12]), none());
    assert_eq!(digest(Digest::of(good::SCOPE).as_str()), none());
    assert_eq!(digest(&blob(good::DESIGN).as_str()[..12]), ["ANL-09 readiness.md:7"]);
    let papers = Papers { scope: None, ..good_papers() };
    assert_eq!(told(&judge(Phase::Analyze, &papers, &Policy::default())), ["ANL-09 readiness.md"]);
}
