//! Each rule on a scope that meets it and on one that does not. (More documents are in `tests/corpus`.)

use crate::engine::kit::{good_papers, sheet};
use crate::flow::Phase;
use crate::gate::papers::tests::told;
use crate::gate::papers::{Document, Followed, Papers, Sheet, judge};
use crate::ids::ChangeNumber;
use crate::ledger::record::{Impact, Round};
use crate::policy::{Policy, Tier};
use crate::rehearsal::papers as good;

fn policy() -> Policy {
    Policy { tier: Tier::Shed, ..Policy::default() }
}

/// The findings for the good scope with something else in it.
#[track_caller]
fn with(old: &str, new: &str) -> Vec<String> {
    assert!(good::SCOPE.contains(old), "{old}");
    of(Papers { scope: Some(sheet(&good::SCOPE.replace(old, new))), ..good_papers() })
}

fn of(papers: Papers) -> Vec<String> {
    told(&judge(Phase::Expand, &papers, &policy()))
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn the_good_scope_has_nothing_against_it() {
    assert_eq!(of(good_papers()), none());
}

/// `EXP-02`
#[test]
fn each_section_is_there_and_says_something() {
    assert_eq!(with("## Stack\n", "## Something\n"), ["EXP-02 scope.md"]);
    assert_eq!(with("A level: a whole number from 0 to 10. It is not kept.", "TBD"), ["EXP-02 scope.md:25"]);
    assert_eq!(with("A level: a whole number from 0 to 10. It is not kept.", "none"), ["EXP-02 scope.md:25"]);
    assert_eq!(with("- Fading from one level to the next.", "None."), none());
    assert_eq!(with("- Fading from one level to the next.", "<!-- later -->"), ["EXP-02 scope.md:41"]);
    // Decoration does not matter.
    assert_eq!(with("## Stack\n", "#### 4. **Tech Stack** (ours):\n"), none());
    assert_eq!(with("## Stack\n\nPython 3.11", "**Stack:** Python 3.11"), none());
}

/// `EXP-03`
#[test]
fn criteria_have_identifiers_of_their_own() {
    assert_eq!(with("- AC-2: dimming", "- Dimming"), ["EXP-03 scope.md:15"]);
    assert_eq!(with("- AC-2:", "- ac-1:"), ["EXP-03 scope.md:15"]);
    assert_eq!(with("- AC-2:", "- AC-01:"), none());
    assert_eq!(
        with("- AC-2: dimming from level 0 stays at level 0, with zero errors.", "- AC-2: TBD"),
        ["EXP-03 scope.md:15"]
    );
    let bare = good::SCOPE.replace("AC-1: ", "").replace("AC-2: ", "");
    assert_eq!(of(Papers { scope: Some(sheet(&bare)), ..good_papers() })[0], "EXP-03 scope.md:12");
}

/// `EXP-04`
#[test]
fn a_criterion_can_be_measured() {
    let warned = with(", with zero errors", "");
    assert_eq!(warned, ["EXP-04 warning scope.md:15"]);
    let vague = good::SCOPE.replace(", within 10 ms", "").replace(", with zero errors", "");
    let found = of(Papers { scope: Some(sheet(&vague)), ..good_papers() });
    assert_eq!(found, ["EXP-04 scope.md:12", "EXP-04 warning scope.md:14", "EXP-04 warning scope.md:15"]);
}

/// `EXP-05`
#[test]
fn a_version_keeps_to_the_tiers_size() {
    let many = |count: usize| (3..3 + count).map(|n| format!("- AC-{n}: at most {n} steps\n")).collect::<String>();
    assert_eq!(with("- AC-2:", &format!("{}- AC-2:", many(13))), none());
    assert_eq!(with("- AC-2:", &format!("{}- AC-2:", many(14))), ["EXP-05 scope.md:12"]);
    let parts = |count: usize| "- a part\n".repeat(count);
    assert_eq!(with("- a function that dims by one step\n", &parts(8)), none());
    assert_eq!(with("- a function that dims by one step\n", &parts(9)), ["EXP-05 scope.md:8"]);
    assert_eq!(
        with("- a function that dims by one step\n", &format!("It is:\n\n### Components\n\n{}", parts(9))),
        ["EXP-05 scope.md:8"]
    );
}

/// `EXP-06`
#[test]
fn the_tier_is_one_of_three_and_not_below_the_policys() {
    assert_eq!(with("\nhouse\n", "\nA fine cottage\n"), ["EXP-06 scope.md:33"]);
    assert_eq!(with("\nhouse\n", "\nshed or house\n"), ["EXP-06 scope.md:33"]);
    assert_eq!(with("\nhouse\n", "\n**Skyscraper**\n"), none());
    assert_eq!(with("\nhouse\n", "\nA house, not a skyscraper.\n"), none());
    let low = Papers { scope: Some(sheet(&good::SCOPE.replace("\nhouse\n", "\nshed\n"))), ..good_papers() };
    assert_eq!(told(&judge(Phase::Expand, &low, &Policy::default())), ["EXP-06 scope.md:33"]);
    assert_eq!(of(low), none());
}

/// `EXP-07`
#[test]
fn the_cost_is_by_the_month() {
    assert_eq!(with("$0 a month.", "60 euros a year"), ["EXP-07 scope.md:29"]);
    assert_eq!(with("$0 a month.", "5 euros a month"), none());
}

/// `EXP-08`
#[test]
fn a_conflict_with_the_preferences_is_named() {
    let against = |preferences: &str, scope: &str| {
        let papers = Papers {
            preferences: Some(sheet(preferences)),
            scope: Some(sheet(&good::SCOPE.replace("Python 3.11, without dependencies.", scope))),
            ..good_papers()
        };
        of(papers)
    };
    let rust = "# Preferences\n\n## Stack\n- Language: Rust\n";
    assert_eq!(against(rust, "- Language: Python"), ["EXP-08 scope.md:17"]);
    assert_eq!(against(rust, "- Language: Python, instead of Rust: the lantern has no compiler."), none());
    assert_eq!(against(rust, "Python on the lantern"), ["EXP-08 scope.md:17"]);
    assert_eq!(against(rust, "Rust calling Python"), none());
    assert_eq!(against("## Stack\nPython 2.7\n", "Python on the lantern"), none());
    assert_eq!(against("## Deployment Target\nKubernetes\n", "Python"), ["EXP-08 scope.md:21"]);
    assert_eq!(
        against("## Deployment Target\nKubernetes\n", "Python. The target conflicts with the preferences."),
        none()
    );
    let both = "## Stack\n- Language: Rust\n\n## Deployment Target\nKubernetes\n";
    let one_of_two = "- Language: Python, which is not one of the preferences, instead of Rust.";
    assert_eq!(against(both, one_of_two), ["EXP-08 scope.md:21"], "the target is not named");
    assert_eq!(
        against(both, "- Language: Python\n\nThe stack deviates from the preferences."),
        ["EXP-08 scope.md:23"],
        "the target is not named"
    );
    assert_eq!(against(both, "- Language: Python\n\nAll of this deviates from the preferences."), none());
}

/// `EXP-08`
#[test]
fn preferences_that_cannot_be_read_are_told() {
    let with = |document: Document| of(Papers { preferences: Some(Sheet { blob: None, document }), ..good_papers() });
    assert_eq!(with(Document::NotText), ["EXP-08"]);
    assert_eq!(with(Document::NotAFile), ["EXP-08"]);
    assert_eq!(with(Document::TooLarge), ["EXP-08"]);
    assert_eq!(with(Document::Text(">".repeat(5_000))), ["EXP-08"]);
    assert_eq!(with(Document::Text("\n".to_owned())), none());
}

/// `EXP-09`
#[test]
fn each_input_is_named() {
    let inputs = |paths: &[&str]| {
        of(Papers { inputs: paths.iter().map(|path| format!("docs/input/{path}")).collect(), ..good_papers() })
    };
    assert_eq!(inputs(&["idea.md", ".keep"]), none());
    assert_eq!(
        inputs(&["no such idea.md", "idea.md.bak"]),
        ["EXP-09 docs/input/no such idea.md", "EXP-09 docs/input/idea.md.bak"]
    );
    assert_eq!(inputs(&["a/notes.txt"]), ["EXP-09 docs/input/a/notes.txt"]);
}

/// `EXP-10`
#[test]
fn the_log_names_stack_and_target() {
    let log = |text: Option<&str>| of(Papers { log: text.map(sheet), ..good_papers() });
    assert_eq!(log(None), ["EXP-10"]);
    assert_eq!(log(Some("Nothing happened.")), ["EXP-10 log.md", "EXP-10 log.md"]);
    assert_eq!(log(Some("Python is in use.")), ["EXP-10 log.md"]);
    assert_eq!(log(Some("Python is in use, on the lantern.")), none());
}

/// `EXP-11`
#[test]
fn an_identifier_keeps_its_meaning() {
    let base =
        |old: &str, new: &str| of(Papers { base_scope: Some(sheet(&good::SCOPE.replace(old, new))), ..good_papers() });
    assert_eq!(base("within 10 ms", "within 50 ms"), none());
    assert_eq!(base("dimming from level 3 gives level 2", "mails are sent every morning"), ["EXP-11 scope.md:14"]);
}

/// `EXP-12`
#[test]
fn a_scope_is_the_changes_own() {
    let base = |text: String| of(Papers { base_scope: Some(sheet(&text)), ..good_papers() });
    assert_eq!(base(good::SCOPE.to_owned()), ["EXP-12 scope.md"]);
    assert_eq!(base(good::SCOPE.replace("## ", "### ").replace('\n', "\r\n")), ["EXP-12 scope.md"]);
    assert_eq!(base(good::SCOPE.replace("Four of ten", "Five of ten")), none());
}

/// `EXP-13`
#[test]
fn the_scope_of_a_round_is_the_next_version_and_keeps_the_one_before() {
    let round = Round {
        changes: Vec::new(),
        impact: Impact::None,
        document: crate::engine::kit::blob("proposal"),
        version: 1,
        scope: Some(crate::engine::kit::blob("delivered")),
        design: None,
        accepted: Some(["CH-1".to_owned(), "CH-3".to_owned()].into()),
    };
    let says = |scope: &str, kept: Option<&str>| {
        let papers = Papers {
            scope: Some(sheet(scope)),
            round: Some(Followed::Round(Box::new(round.clone()))),
            kept: kept.map(sheet),
            ..good_papers()
        };
        let found = judge(Phase::Expand, &papers, &policy());
        found.into_iter().filter(|one| one.rule == "EXP-13").map(|one| one.says).collect::<Vec<_>>()
    };
    let second = good::SCOPE.replacen("\n## ", "\nVersion: 2, for CH-1 and (CH-3).\n\n## ", 1);
    assert_eq!(says(&second, Some("delivered")), none());
    assert_eq!(says(&second, None), ["`scaffolding/scope-v1.md` is not the scope that was delivered."]);
    assert_eq!(says(&second, Some("rewritten")).len(), 1);
    let third = second.replace("Version: 2", "Version: 3");
    assert_eq!(says(&third, Some("delivered")), ["This is not version 2 of the scope."]);
    let less = second.replace(" and (CH-3)", "");
    assert_eq!(says(&less, Some("delivered")), ["`CH-3` was confirmed for this round, and scope does not name it."]);
    assert_eq!(says(good::SCOPE, Some("delivered")).len(), 3);
    // Whoever names a change without a round is told.
    let papers = Papers { round: Some(Followed::Nothing(ChangeNumber(9))), ..good_papers() };
    assert_eq!(of(papers), ["EXP-13 scope.md"]);
    assert_eq!(of(good_papers()), none());
}
