use super::*;
use crate::gate::ran::judge;
use crate::ids::CommitId;
use crate::policy::RunGate;
use crate::runner::artefact::{CommandOutcome, CommandRun, Confinement, Counts, Report, ReportState};
use crate::runner::earned::{NewTests, Side};

fn of(covered: u64, lines: u64) -> Coverage {
    Coverage { covered, lines, ..Coverage::default() }
}

fn unknown(why: &str) -> Coverage {
    Coverage { why: Some(why.to_owned()), ..of(0, 0) }
}

fn command(status: i32) -> CommandRun {
    CommandRun {
        command: "make check".to_owned(),
        outcome: CommandOutcome::Exited,
        status: Some(status),
        signal: None,
        why: None,
        started: None,
        ended: None,
        duration_ms: 20,
        output: None,
        audit: false,
    }
}

/// Three tests on the base, and this of it covered.
fn base(coverage: Option<Coverage>) -> Earned {
    let totals = Counts { tests: 3, passed: 3, ..Counts::default() };
    Earned {
        demanded: true,
        base: CommitId::new("b".repeat(40)).unwrap(),
        on_base: Side { commands: vec![command(0)], totals, coverage, ..Side::default() },
        gone: Vec::new(),
        now_skipped: Vec::new(),
        missing: Vec::new(),
        old_tests: None,
        frozen: None,
        new_tests: NewTests::default(),
    }
}

fn found(head: Option<&Coverage>, earned: Option<&Earned>, commands: &[CommandRun]) -> Vec<Finding> {
    let totals = Counts { tests: 3, passed: 3, ..Counts::default() };
    let promised = ["a.xml".to_owned()];
    judge(&Facts {
        gate: RunGate::Verify,
        timeout_s: 60,
        confinement: &Confinement { confined: true, ..Confinement::default() },
        commands,
        promised: &promised,
        reports: &[Report { path: Some("a.xml".to_owned()), ..Report::new("a.xml", ReportState::Read) }],
        totals: &totals,
        failing: &[],
        failing_left_out: 0,
        flaky: &[],
        skipped: &[],
        attempts: &[],
        coverage: head,
        earned,
        proofs: None,
        test_files: Some(1),
        rewritten: &[],
    })
}

/// `RULE says` of each, with a mark before a warning.
fn told(head: &Coverage, earned: &Earned) -> Vec<String> {
    let mark = |finding: &Finding| if finding.blocks() { "" } else { "~" };
    let found = found(Some(head), Some(earned), &[command(0)]);
    found.iter().map(|one| format!("{}{} {}", mark(one), one.rule, one.says)).collect()
}

#[test]
fn as_much_as_on_the_base_has_nothing_against_it() {
    for head in [of(815, 1000), of(816, 1000), of(1630, 2000), of(163, 200)] {
        assert_eq!(told(&head, &base(Some(of(815, 1000)))), [""; 0], "{head:?}");
    }
    assert_eq!(told(&of(0, 5), &base(Some(of(0, 4)))), [""; 0]);
    assert_eq!(found(None, Some(&base(None)), &[command(0)]), [], "a policy that does not ask for it");
}

#[test]
fn a_smaller_part_is_told_with_both() {
    let says =
        "coverage_decreased Less is covered than on the base (bbbbbbbbbbbb): 812 of 1000 lines, before 815 of 1000.";
    assert_eq!(told(&of(812, 1000), &base(Some(of(815, 1000)))), [says]);
    // Also where the rest of what is not earned is only shown.
    let shown = Earned { demanded: false, ..base(Some(of(815, 1000))) };
    assert_eq!(told(&of(812, 1000), &shown), [says]);
    assert_eq!(told(&of(900, 1105), &base(Some(of(815, 1000)))).len(), 1, "more lines, and a smaller part of them");
}

#[test]
fn unknown_is_not_fine() {
    let says = "coverage_decreased How much is covered is not known: nothing matches `lcov.info`.";
    assert_eq!(told(&unknown("nothing matches `lcov.info`"), &base(Some(of(1, 2)))), [says]);
    let none = "coverage_decreased How much is covered is not known: the reports name no line.";
    assert_eq!(told(&of(0, 0), &base(Some(of(1, 2)))), [none]);
    // What a command that failed did not write is missing because of it.
    let red = found(Some(&unknown("nothing matches `lcov.info`")), None, &[command(1)]);
    assert_eq!(red.iter().map(|one| one.rule.as_str()).collect::<Vec<_>>(), ["VER-01"]);
}

#[test]
fn a_base_that_is_not_known_is_for_a_person_where_it_had_tests() {
    let begins = "How much was covered on the base (bbbbbbbbbbbb) is not known:";
    let lost = base(Some(unknown("nothing matches `lcov.info`")));
    assert_eq!(told(&of(1, 2), &lost), [format!("coverage_decreased {begins} nothing matches `lcov.info`.")]);
    assert_eq!(
        told(&of(1, 2), &base(None)),
        [format!("coverage_decreased {begins} nothing was measured there.")],
        "a log that leaves it out"
    );
    let apart = Earned { on_base: Side::not_run("no room".to_owned()), ..base(None) };
    let told_of = told(&of(1, 2), &apart);
    assert_eq!(told_of.last().unwrap(), &format!("coverage_decreased {begins} no room."), "{told_of:?}");
    // A project from before its tests has nothing to be less than.
    let mut new = base(Some(unknown("nothing matches `lcov.info`")));
    (new.on_base.totals, new.on_base.commands) = (Counts::default(), vec![command(2)]);
    let ended = "`make check` ended with exit status 2 after 20 ms";
    assert_eq!(told(&of(1, 2), &new).last().unwrap(), &format!("~coverage_decreased {begins} {ended}."));
}

#[test]
fn what_was_not_held_against_the_base_is_told() {
    let found = found(Some(&of(1, 2)), None, &[command(0)]);
    let says = "1 of 2 lines are covered. Whether that is less than before is not known: nothing was run on the base.";
    assert_eq!(found.iter().map(|one| (one.says.as_str(), one.blocks())).collect::<Vec<_>>(), [(says, false)]);
}
