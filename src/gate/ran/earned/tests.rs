use super::*;
use crate::ids::CommitId;
use crate::runner::artefact::{CommandOutcome, CommandRun, FailingKind};
use crate::runner::earned::Side;

fn counts(ran: u64) -> Counts {
    Counts { tests: ran, passed: ran, ..Counts::default() }
}

fn side(ran: u64) -> Side {
    Side { totals: counts(ran), ..Side::default() }
}

/// Three tests before, and one more that is red without the change.
fn good() -> Earned {
    Earned {
        demanded: true,
        base: CommitId::new("b".repeat(40)).unwrap(),
        on_base: side(3),
        gone: Vec::new(),
        now_skipped: Vec::new(),
        missing: Vec::new(),
        old_tests: None,
        frozen: None,
        new_tests: NewTests { run: Some(side(4)), proved: 1, ..NewTests::default() },
    }
}

fn told(earned: &Earned, head: u64) -> Vec<String> {
    let mark = |finding: &Finding| if finding.blocks() { "" } else { "~" };
    judge(earned, &counts(head)).iter().map(|one| format!("{}{} {}", mark(one), one.rule, one.says)).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn an_earned_green_has_nothing_against_it() {
    assert_eq!(told(&good(), 4), [""; 0]);
}

#[test]
fn fewer_tests_than_on_the_base_are_counted() {
    let earned = Earned { gone: names(&["b"]), ..good() };
    let says = "VER-10 3 tests ran on the base (bbbbbbbbbbbb), and 2 on the head. Gone: `b`.";
    assert_eq!(told(&earned, 2), [says]);
    // As many, but others.
    assert_eq!(told(&earned, 3), ["~VER-10 Tests of the base are gone or have another name: `b`."]);
    let earned = Earned { now_skipped: names(&["c"]), ..good() };
    let skipped = "VER-10 Skipped now, and run on the base: `c`.";
    assert_eq!(told(&earned, 2)[1], skipped);
    assert_eq!(told(&earned, 3), [skipped]);
    // A base without tests is one, and a base that could not be run is not known.
    assert_eq!(told(&Earned { on_base: side(0), ..good() }, 1), [""; 0]);
    let unknown = Earned { on_base: Side::not_run("no room".to_owned()), ..good() };
    let says = "VER-10 How many tests there were on the base (bbbbbbbbbbbb) is not known: no room.";
    assert_eq!(told(&unknown, 1), [says]);
}

#[test]
fn the_bases_tests_must_pass_as_the_base_has_them() {
    let failing = |name: &str| {
        let [name, suite, message, details, report] = [name, "", "3 is not 4", "", "a.xml"].map(str::to_owned);
        let (kind, path, line) = (FailingKind::Failed, Some("tests/a.rs".to_owned()), Some(7));
        Failing { kind, name, suite, message, details, path, line, report }
    };
    let old = |run: Side, failing: Vec<Failing>| {
        let old = OldTests {
            files: names(&["tests/a.rs"]),
            run,
            failing,
            failing_left_out: 0,
            skipped: Vec::new(),
            beside_new: false,
            beside: Vec::new(),
            may_bend: false,
        };
        Earned { old_tests: Some(old), ..good() }
    };
    assert_eq!(told(&old(side(3), Vec::new()), 4), [""; 0]);
    let red = old(side(3), vec![failing("a")]);
    assert_eq!(told(&red, 4), ["VER-11 The test `a`, as the base has it, fails on the head's code: 3 is not 4"]);
    let found = judge(&red, &counts(4));
    assert_eq!((found[0].path.as_deref(), found[0].line), (Some("tests/a.rs"), Some(7)));
    let many = old(side(30), (0..25).map(|n| failing(&n.to_string())).collect());
    assert_eq!(told(&many, 30).last().unwrap(), "VER-11 5 more of the base's tests fail on the head's code.");
    assert_eq!(
        told(&old(Side { why: Some("no room".to_owned()), ..side(1) }, Vec::new()), 4),
        ["VER-11 With `tests/a.rs` as on the base, 1 of the base's 3 tests ran on the head's code (no room)."]
    );
    let mut hidden = old(side(3), Vec::new());
    hidden.old_tests.as_mut().unwrap().skipped = names(&["b"]);
    assert_eq!(
        told(&hidden, 4),
        ["VER-11 Tests of the base, as the base has them, are skipped on the head's code: `b`."]
    );
    // As many ran, and not these: others in their place are others.
    let mut others = old(side(3), Vec::new());
    others.missing = names(&["c"]);
    let missing =
        "VER-11 Tests that pass on the base did not run on the head's code, with their files as on the base: `c`.";
    assert_eq!(told(&others, 4), [missing]);
    others.old_tests = None;
    assert_eq!(told(&others, 4), [missing], "the head's own run is that");
    let mut beside = old(side(3), Vec::new());
    let told_of = beside.old_tests.as_mut().unwrap();
    (told_of.beside_new, told_of.beside) = (true, names(&["tests/b.rs"]));
    let only =
        "VER-11 The base's tests can be carried out on the head's code only beside new files of tests: `tests/b.rs`.";
    assert_eq!(told(&beside, 4), [format!("~{only}")]);
    // A person looks at what a runner loads by itself.
    beside.old_tests.as_mut().unwrap().may_bend = true;
    assert_eq!(told(&beside, 4), [only]);
    let next = &judge(&beside, &counts(4))[0].next;
    assert!(next.ends_with("Where it is so, somebody who may approve can agree to it on the pull request."), "{next}");
}

/// A command without a report asks too. Coverage that only the new tests reach is no such question.
#[test]
fn a_command_that_is_red_with_the_bases_tests_is_told() {
    let command = |text: &str, status: i32| CommandRun {
        command: text.to_owned(),
        outcome: CommandOutcome::Exited,
        status: Some(status),
        signal: None,
        why: None,
        started: None,
        ended: None,
        duration_ms: 20,
        output: None,
        audit: false,
    };
    let run = |commands: &[(&str, i32)]| Side {
        commands: commands.iter().map(|(text, status)| command(text, *status)).collect(),
        ..side(3)
    };
    let told = |before: &[(&str, i32)], now: &[(&str, i32)]| {
        let old = OldTests {
            files: names(&["tests/smoke.sh"]),
            run: run(now),
            failing: Vec::new(),
            failing_left_out: 0,
            skipped: Vec::new(),
            beside_new: false,
            beside: Vec::new(),
            may_bend: false,
        };
        told(&Earned { on_base: run(before), old_tests: Some(old), ..good() }, 4)
    };
    let says = |text: &str| {
        format!(
            "VER-11 With the tests as on the base, `{text}` ended with exit status 1 after 20 ms on the head's code, and passes on the base."
        )
    };
    let (smoke, covered) = ("sh ./tests/smoke.sh", "pytest --cov-fail-under=90");
    assert_eq!(told(&[(smoke, 0)], &[(smoke, 0)]), [""; 0]);
    assert_eq!(told(&[(smoke, 0)], &[(smoke, 1)]), [says(smoke)]);
    assert_eq!(told(&[(smoke, 1)], &[(smoke, 1)]), [""; 0], "it is red on the base too");
    assert_eq!(told(&[(covered, 0)], &[(covered, 1)]), [format!("~{}", says(covered))]);
}

#[test]
fn what_is_frozen_must_pass_without_what_came_later() {
    let failing = |name: &str| {
        let [name, suite, message, details, report] = [name, "", "3 is not 4", "", "a.xml"].map(str::to_owned);
        Failing { kind: FailingKind::Failed, name, suite, message, details, path: None, line: None, report }
    };
    let frozen = OldTests {
        files: names(&["tests/z.py"]),
        run: side(4),
        failing: Vec::new(),
        failing_left_out: 0,
        skipped: Vec::new(),
        beside_new: false,
        beside: Vec::new(),
        may_bend: false,
    };
    let of = |frozen: OldTests| Earned { frozen: Some(frozen), ..good() };
    assert_eq!(told(&of(frozen.clone()), 5), [""; 0]);
    let red = OldTests { failing: vec![failing("b")], ..frozen.clone() };
    let says = "VER-11 Without `tests/z.py`, which came after the freeze, the test `b` fails: 3 is not 4";
    assert_eq!(told(&of(red.clone()), 5), [says]);
    // What the base's tests tell is told once.
    let both = Earned { old_tests: Some(red.clone()), ..of(red) };
    assert_eq!(told(&both, 5), ["VER-11 The test `b`, as the base has it, fails on the head's code: 3 is not 4"]);
    let skipped = OldTests { skipped: names(&["c"]), ..frozen.clone() };
    assert_eq!(told(&of(skipped), 5), ["VER-11 Tests that are frozen are skipped on the head's code: `c`."]);
    let broken = OldTests { run: Side::not_run("no room".to_owned()), ..frozen };
    let says =
        "VER-11 Without `tests/z.py`, which came after the freeze, what is frozen can't be carried out: no room.";
    assert_eq!(told(&of(broken), 5), [says]);
}

#[test]
fn new_tests_that_are_skipped_are_told() {
    let new = NewTests { skipped: names(&["x"]), ..good().new_tests };
    let says = "~VER-12 New tests are skipped on the head, or fail as they are marked to, so they show nothing: `x`.";
    assert_eq!(told(&Earned { new_tests: new, ..good() }, 4), [says]);
}

#[test]
fn a_new_test_must_be_red_without_the_change() {
    let new = NewTests {
        run: Some(side(4)),
        idle: 22,
        idle_names: (0..22).map(|n| format!("t{n}")).collect(),
        ..NewTests::default()
    };
    let found = told(&Earned { new_tests: new, ..good() }, 25);
    assert_eq!(
        found[0],
        "VER-12 The new test `t0` passes on the base's code too, so it proves nothing about the change."
    );
    assert_eq!((found.len(), found[20].as_str()), (21, "VER-12 2 tests more pass on the base's code too."));
    let unproven = NewTests { run: Some(side(4)), unproven: 1, unproven_names: names(&["x"]), ..NewTests::default() };
    assert_eq!(
        told(&Earned { new_tests: unproven.clone(), ..good() }, 4),
        ["~VER-12 Unproven: 1 new test did not come as far as a failed assertion on the base's code: `x`."]
    );
    let inline = NewTests { run: None, ..unproven };
    assert_eq!(
        told(&Earned { new_tests: inline, ..good() }, 4),
        [
            "~VER-12 Unproven: 1 new test did not come as far as a failed assertion on the base's code (they are not in files of their own): `x`."
        ]
    );
}

#[test]
fn where_it_is_only_shown_nothing_blocks() {
    let idle = NewTests { run: Some(side(4)), idle: 1, idle_names: names(&["x"]), ..NewTests::default() };
    let earned = Earned { demanded: false, new_tests: idle, ..good() };
    let found = judge(&earned, &counts(2));
    assert_eq!((found.len(), found.iter().any(Finding::blocks)), (2, false));
    // What to do is something that can be done: one way out where it counts, another where it does not.
    assert!(found[1].next.ends_with("Where it tests what was there, the reviewers judge that."), "{}", found[1].next);
    let demanded = judge(&Earned { demanded: true, ..earned }, &counts(4));
    assert!(demanded[0].next.contains("can agree to it on the pull request"), "{}", demanded[0].next);
}
