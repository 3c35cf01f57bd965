use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::engine::kit::{blob, sheet};

fn notes(of: &[(&str, &str)]) -> BTreeMap<String, BlobId> {
    of.iter().map(|(path, text)| ((*path).to_owned(), blob(text))).collect()
}

#[test]
fn distilling_ends_with_a_document_that_was_written_meanwhile() {
    let with = |of: &[(&str, &str)]| Aside { distilled: notes(of), ..Aside::default() };
    let began = with(&[("docs/input/distilled-old.md", "old")]).noted();
    let says = |now: &Aside| distilled(&began, now).map_err(|refusal| refusal.says);
    assert_eq!(says(&with(&[])).unwrap_err(), "there is no `docs/input/distilled-*.md` with something to read.");
    let old = with(&[("docs/input/distilled-old.md", "old")]);
    assert_eq!(says(&old).unwrap_err(), "no `docs/input/distilled-*.md` was written since it began.");
    assert_eq!(says(&with(&[("docs/input/distilled-old.md", "rewritten")])), Ok(()));
    assert_eq!(says(&with(&[("docs/input/distilled-new.md", "new")])), Ok(()));
}

#[test]
fn a_title_or_a_placeholder_is_nothing_to_read() {
    for nothing in ["", "# Topic\n", "# Topic\n\nTBD\n", "# Topic\n\n## Users\n\n- TODO\n", "<!-- later -->\n"] {
        assert!(!says_something(&sheet(nothing)), "{nothing:?}");
    }
    let table = "| who | wants |\n|---|---|\n| skippers | the tide |\n";
    for something in ["They want tides.", "# Topic\n\n- Tides.\n", table, "# Format\n\n```\n12:40 1.2 m\n```\n"] {
        assert!(says_something(&sheet(something)), "{something:?}");
    }
}

#[test]
fn an_audit_of_the_stack_reports_and_never_edits_the_preferences() {
    const REPORT: &str =
        "# Audit\n\n## Findings\n\n- Python 3.9 is out of support.\n\n## Recommendation\n\nMove to 3.13.\n";
    let now = |report: Option<&str>, preferences: &str| Aside {
        audit: report.map(sheet),
        preferences: Some(blob(preferences)),
        ..Aside::default()
    };
    let began = now(None, "as they were").noted();
    let says = |now: &Aside| audited(&began, now).map_err(|refusal| (refusal.rule, refusal.says));
    assert_eq!(says(&now(Some(REPORT), "as they were")), Ok(()));
    let (rule, text) = says(&now(Some(REPORT), "others")).unwrap_err();
    assert!(rule == "CMD-12" && text.contains("`preferences.md` was changed"), "{text}");
    assert!(says(&Aside { preferences: None, ..now(Some(REPORT), "") }).is_err(), "nor deletes them");
    assert_eq!(says(&now(None, "as they were")).unwrap_err().1, "`scaffolding/stack-audit.md` does not exist.");
    let half = REPORT.replace("Move to 3.13.", "TBD");
    assert_eq!(
        says(&now(Some(&half), "as they were")).unwrap_err().1,
        "`scaffolding/stack-audit.md` says nothing under “Recommendation”."
    );
    // Said in other words, in a table.
    let table = "## Results\n\n| what | why |\n|---|---|\n| Python 3.9 | out of support |\n\n## Recommendations\n\n1. Move to 3.13.\n";
    assert_eq!(says(&now(Some(table), "as they were")), Ok(()));
}

pub(crate) const PROPOSAL: &str = "\
# Iteration 2

## Summary

Exports, and a faster list.

## Prioritised Changes

- CH-1 (high): export as CSV. Source: `docs/input/feedback.md`.
- CH-2 (low): a faster list. Source: bug.

## Architecture Impact

None: both stay within the list.

## Risk

Large lists may take long to export.

## Recommended Approach

CH-1 first.

## Pre-existing Failures

none
";

fn round(proposal: &str) -> Aside {
    let inputs = BTreeMap::from([("docs/input/feedback.md".to_owned(), blob("feedback"))]);
    let scope = sheet("# Scope\n\n## Deferred\n\n- none\n");
    Aside { inputs, iteration: Some(sheet(proposal)), scope: Some(scope), ..Aside::default() }
}

/// `ITR-08`
#[test]
fn what_was_there_before_the_change_is_no_proposal_of_its_next_round() {
    let mut aside = round("# Iteration\n");
    assert_eq!(again(&aside, None), None);
    aside.earlier = aside.iteration.as_ref().and_then(|sheet| sheet.blob.clone());
    assert!(aside.earlier.is_some());
    assert_eq!(again(&aside, None).map(|found| found.rule), Some("ITR-08".to_owned()));
    aside.earlier = Some(blob("another"));
    assert_eq!(again(&aside, None), None);
}

#[track_caller]
fn found(aside: &Aside) -> Vec<String> {
    let found = proposed(aside, &BTreeSet::new()).err().unwrap_or_default();
    let line = |line: Option<u32>| line.map(|line| format!(":{line}")).unwrap_or_default();
    found.iter().map(|one| format!("{}{} {}", one.rule, line(one.line), one.says)).collect()
}

fn with(was: &str, is: &str) -> Vec<String> {
    assert!(PROPOSAL.contains(was), "{was}");
    found(&round(&PROPOSAL.replace(was, is)))
}

#[test]
fn a_proposal_names_its_changes_with_their_sources_and_priorities() {
    let proposed = proposed(&round(PROPOSAL), &BTreeSet::new()).unwrap();
    let told: Vec<_> = proposed.changes.iter().map(|one| (one.id.as_str(), one.priority.as_str())).collect();
    assert_eq!(told, [("CH-1", "high"), ("CH-2", "low")]);
    assert_eq!(proposed.impact, crate::ledger::record::Impact::None);
    assert_eq!(
        with("- CH-2 (low): a faster list. Source: bug.", "- A faster list, low, a bug."),
        ["ITR-03:10 “A faster list, low, a bug.” has no identifier."]
    );
    assert_eq!(with("CH-2 (low)", "CH-1 (low)"), ["ITR-03:10 `CH-1` stands for two changes."]);
    assert_eq!(with("CH-2 (low)", "CH-2"), ["ITR-03:10 `CH-2` has no priority."]);
    assert_eq!(with(" Source: bug.", ""), ["ITR-04:10 `CH-2` does not say where it comes from."]);
    assert_eq!(
        with("Source: bug.", "Source: docs/input/none.md."),
        ["ITR-04:10 `CH-2` comes from `docs/input/none.md`, which does not exist."]
    );
    let deferred = with("Source: bug.", "Source: deferred.");
    assert_eq!(deferred, ["ITR-04:10 `CH-2` comes from Deferred, and scope defers nothing."]);
    let limits = with("Source: bug.", "Source: a limitation of DELIVERY.md.");
    assert_eq!(limits, ["ITR-04:10 `CH-2` comes from a limitation, and `DELIVERY.md` has none."]);
}

#[test]
fn a_proposal_may_be_written_in_other_ways() {
    let table = PROPOSAL.replace(
        "- CH-1 (high): export as CSV. Source: `docs/input/feedback.md`.\n- CH-2 (low): a faster list. Source: bug.\n",
        "| Change | What | Priority | Source |\n|---|---|---|---|\n| CH-1 | export as CSV | 1 | docs/input/feedback.md |\n| CH-2 | a \
         faster list | 2 | technical debt |\n",
    );
    assert_eq!(found(&round(&table)), Vec::<String>::new());
    let grouped = PROPOSAL.replace(
        "- CH-1 (high): export as CSV. Source: `docs/input/feedback.md`.\n- CH-2 (low): a faster list. Source: bug.\n",
        "### High\n\n- **CH-1**: export as CSV, from [what Eve wrote](docs/input/feedback.md)\n  (docs/input/feedback.md)\n\n### Low\n\n- \
         **CH-2**: a faster list (bug #12)\n",
    );
    assert_eq!(found(&round(&grouped)), Vec::<String>::new());
    let headings = PROPOSAL.replace(
        "- CH-1 (high): export as CSV. Source: `docs/input/feedback.md`.\n- CH-2 (low): a faster list. Source: bug.\n",
        "### CH-1: export as CSV\n\n- Priority: P1\n- Source: docs/input/feedback.md\n\n### CH-2: a faster list\n\nPriority: low. It is a bug.\n",
    );
    assert_eq!(found(&round(&headings)), Vec::<String>::new());
}

#[test]
fn a_proposal_has_every_section_and_says_what_becomes_of_the_architecture() {
    assert_eq!(found(&Aside::default()), ["ITR-01 `scaffolding/iteration.md` does not exist."]);
    assert_eq!(with("## Risk\n\nLarge lists may take long to export.\n\n", ""), ["ITR-02 There is no heading “Risk”."]);
    assert_eq!(with("CH-1 first.", "TBD"), ["ITR-02:20 Nothing is said under “Recommended Approach”."]);
    assert_eq!(
        with("None: both stay within the list.", "It depends."),
        ["ITR-05:12 How much the architecture is changed is not said."]
    );
    let major = PROPOSAL.replace("None: both stay within the list.", "Major, none of the old store stays.");
    assert_eq!(proposed(&round(&major), &BTreeSet::new()).unwrap().impact, crate::ledger::record::Impact::Major);
}

#[test]
fn new_input_and_what_was_deferred_are_used_or_set_aside() {
    let mut aside = round(PROPOSAL);
    aside.inputs.insert("docs/input/interview.md".to_owned(), blob("interview"));
    assert_eq!(found(&aside), ["ITR-06 `docs/input/interview.md` is neither used nor set aside."]);
    // What scope names was dealt with when it was delivered.
    aside.scope = Some(sheet("# Scope\n\n## Problem\n\nAs docs/input/interview.md says.\n"));
    assert_eq!(found(&aside), Vec::<String>::new());
    let mut aside = round(PROPOSAL);
    aside.scope = Some(sheet("# Scope\n\n## Deferred\n\n- Offline synchronisation of photographs\n"));
    let lost = "ITR-06 “Offline synchronisation of photographs” was deferred, and is neither used nor set aside.";
    assert_eq!(found(&aside), [lost]);
    let aside_again =
        PROPOSAL.replace("CH-1 first.", "CH-1 first. Offline synchronisation of photographs is set aside again.");
    aside.iteration = Some(sheet(&aside_again));
    assert_eq!(found(&aside), Vec::<String>::new());
}

#[test]
fn changes_are_named_in_any_writing() {
    let ids = |text: &str| named(text).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(ids("CH-1 CH-3"), "CH-1 CH-3");
    assert_eq!(ids("ch-1, CH-3; looks good"), "CH-1 CH-3");
    assert_eq!(ids("fine, which is all"), "");
}

#[test]
fn what_is_red_before_the_round_begins_is_listed() {
    let red = BTreeSet::from(["ci / Test".to_owned()]);
    let says =
        |text: &str| proposed(&round(text), &red).err().unwrap_or_default().pop().map(|one| (one.rule, one.line));
    assert_eq!(says(PROPOSAL), Some(("ITR-07".to_owned(), Some(24))));
    assert_eq!(says(&PROPOSAL.replace("none\n", "- `ci / test` fails since the clocks went back.\n")), None);
}

/// What a proposal is made of, and what it is not.
const PIECES: [&str; 36] = [
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "- ",
    "1. ",
    "## ",
    "### High\n",
    "#",
    "**",
    "| ",
    "|---|",
    "| ID | Priority |\n|---|---|\n| CH-1 | high |\n",
    "CH-",
    "CH-1",
    "ch-2 (low): ",
    "CH-é",
    "(high)",
    "P1",
    "priority 2",
    "Source: bug.",
    "deferred",
    "limitation",
    "docs/input/feedback.md",
    "docs/input/",
    "## Prioritised Changes\n\n",
    "## Architecture Impact\n\nMinor\n",
    "## Risk\n\n",
    "none",
    "major",
    "`",
    "<!--",
    "é🧭",
    "\0",
    "x",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Any text is a proposal or has something wrong with it, in lines that it has.
    #[test]
    fn any_text_is_a_proposal_or_is_told_why_not(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60), at in any::<prop::sample::Index>(), good in any::<bool>(),
    ) {
        let mut text = if good { PROPOSAL.to_owned() } else { String::new() };
        text.insert_str(at.index(text.len() + 1), &pieces.concat());
        let lines = u32::try_from(text.lines().count().max(text.split('\r').count())).unwrap() + 1;
        match proposed(&round(&text), &BTreeSet::from(["ci".to_owned()])) {
            Ok(taken) => prop_assert!(taken.changes.iter().all(|one| one.id.starts_with("CH-") && !one.priority.is_empty())),
            Err(found) => {
                prop_assert!(!found.is_empty());
                prop_assert!(found.iter().all(|one| one.line.is_none_or(|line| (1..=lines).contains(&line))), "{:?}", found);
            }
        }
    }
}

#[test]
fn a_long_proposal_is_read_to_its_end() {
    for piece in PIECES {
        for mark in ["## Risk", "- CH-1"] {
            let text = PROPOSAL.replacen(mark, &format!("{}\n{mark}", piece.repeat(60_000 / piece.len())), 1);
            assert!(
                proposed(&round(&text), &BTreeSet::new())
                    .map_or_else(|found| !found.is_empty(), |taken| !taken.changes.is_empty()),
                "{piece:?} {mark}"
            );
        }
    }
}
