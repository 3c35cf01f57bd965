use super::*;
use crate::finding::{Verdict, verdict};
use crate::runner::artefact::{Confinement, Counts, FailingKind, Summary};
use crate::runner::wall::{Open, Wall};

fn command(text: &str, outcome: CommandOutcome, status: Option<i32>) -> CommandRun {
    let (signal, why) = (None, None);
    let command = text.to_owned();
    CommandRun {
        command,
        outcome,
        status,
        signal,
        why,
        started: None,
        ended: None,
        duration_ms: 1_500,
        output: None,
        audit: false,
    }
}

fn passed(text: &str) -> CommandRun {
    command(text, CommandOutcome::Exited, Some(0))
}

struct Run {
    gate: RunGate,
    commands: Vec<CommandRun>,
    promised: Vec<String>,
    reports: Vec<Report>,
    totals: Counts,
    failing: Vec<Failing>,
    left_out: u64,
    flaky: Vec<String>,
    attempts: Vec<Attempt>,
    confinement: Confinement,
    test_files: Option<u64>,
    rewritten: Vec<String>,
}

/// One that meets every rule.
fn good(gate: RunGate) -> Run {
    Run {
        gate,
        commands: vec![passed("make"), passed("make check")],
        promised: vec!["junit.xml".to_owned()],
        reports: vec![Report { path: Some("junit.xml".to_owned()), ..Report::new("junit.xml", ReportState::Read) }],
        totals: Counts { tests: 3, passed: 2, skipped: 1, ..Counts::default() },
        failing: Vec::new(),
        left_out: 0,
        flaky: Vec::new(),
        attempts: Vec::new(),
        confinement: Confinement { confined: true, ..Confinement::default() },
        test_files: Some(3),
        rewritten: Vec::new(),
    }
}

impl Run {
    fn judged(&self) -> Vec<Finding> {
        judge(&Facts {
            gate: self.gate,
            timeout_s: 60,
            confinement: &self.confinement,
            commands: &self.commands,
            promised: &self.promised,
            reports: &self.reports,
            totals: &self.totals,
            failing: &self.failing,
            failing_left_out: self.left_out,
            flaky: &self.flaky,
            skipped: &[],
            attempts: &self.attempts,
            coverage: None,
            earned: None,
            proofs: None,
            test_files: self.test_files,
            rewritten: &self.rewritten,
        })
    }

    /// `RULE says` of each, with a mark before a warning.
    fn told(&self) -> Vec<String> {
        let mark = |finding: &Finding| if finding.blocks() { "" } else { "~" };
        self.judged().iter().map(|finding| format!("{}{} {}", mark(finding), finding.rule, finding.says)).collect()
    }
}

fn failing(name: &str, message: &str) -> Failing {
    let (kind, path, line) = (FailingKind::Failed, Some("src/a.rs".to_owned()), Some(3));
    let [name, suite, message, details, report] = [name, "", message, "", "junit.xml"].map(str::to_owned);
    Failing { kind, name, suite, message, details, path, line, report }
}

#[test]
fn a_run_that_shows_what_was_promised_passes() {
    for gate in RunGate::EACH {
        assert_eq!(good(gate).judged(), [], "{gate}");
    }
}

#[test]
fn each_command_that_fails_is_told_and_what_follows_from_it_is_not() {
    let mut run = good(RunGate::Build);
    run.commands =
        vec![command("make", CommandOutcome::Exited, Some(2)), command("make check", CommandOutcome::NotRun, None)];
    // No report was written, because nothing got that far.
    run.reports = vec![Report::new("junit.xml", ReportState::Missing)];
    run.totals = Counts::default();
    assert_eq!(run.told(), ["BLD-01 `make` ended with exit status 2 after 1.5 s."]);
    run.gate = RunGate::Verify;
    assert_eq!(run.told(), ["VER-01 `make` ended with exit status 2 after 1.5 s."]);
    assert!(run.judged()[0].next.contains("`phasegate run verify`"));

    run.commands = vec![command("sleep 1d", CommandOutcome::TimedOut, None)];
    assert_eq!(run.told(), ["VER-01 `sleep 1d` was not done after 1.5 s, when the gate's time was over."]);
    assert!(run.judged()[0].next.contains("`gates.verify.timeout`, which is 60 s"));
    run.commands = vec![passed("make"), command("late", CommandOutcome::NotRun, None)];
    assert_eq!(run.told(), ["VER-01 `late` was not run: the gate's time was over."]);
    run.commands.clear();
    assert_eq!(run.told(), ["VER-01 Nothing was run: there are no commands."]);
}

#[test]
fn a_failing_test_fails_the_gate_also_when_every_command_passes() {
    let mut run = good(RunGate::Verify);
    run.totals = Counts { tests: 5, passed: 2, failed: 3, ..Counts::default() };
    run.failing = vec![failing("a::b", "1 is not 2")];
    run.left_out = 2;
    assert_eq!(run.told(), ["VER-01 The test `a::b` failed: 1 is not 2", "VER-01 2 more tests failed."]);
    let first = &run.judged()[0];
    assert_eq!((first.path.as_deref(), first.line), (Some("src/a.rs"), Some(3)));
    run.gate = RunGate::Build;
    assert_eq!(run.told()[0], "BLD-02 The test `a::b` failed: 1 is not 2");
    // A red command hides no red test.
    run.commands = vec![command("make", CommandOutcome::Exited, Some(1))];
    assert_eq!(run.told().len(), 3);
}

#[test]
fn a_report_must_be_there_be_of_this_run_and_be_readable() {
    let mut run = good(RunGate::Verify);
    let of = |state, why: Option<&str>| Report {
        path: why.map(|_| "out/junit.xml".to_owned()),
        why: why.map(str::to_owned),
        ..Report::new("out/*.xml", state)
    };
    run.reports = vec![
        of(ReportState::Missing, None),
        of(ReportState::Stale, Some("it is older than this run")),
        of(ReportState::Unreadable, Some("it is a link")),
    ];
    assert_eq!(
        run.told(),
        [
            "VER-09 A report was promised and is not there: nothing matches `out/*.xml`.",
            "VER-09 The report `out/junit.xml` is not of this run: it is older than this run.",
            "VER-09 The report `out/junit.xml` can't be read: it is a link.",
        ]
    );
    run.gate = RunGate::Build;
    assert!(run.told().iter().all(|told| told.starts_with("BLD-02 ")), "{:?}", run.told());
}

#[test]
fn at_least_one_test_has_to_run() {
    let mut run = good(RunGate::Verify);
    run.totals = Counts::default();
    assert_eq!(run.told(), ["VER-09 No test ran: the reports have none."]);
    run.totals = Counts { tests: 4, skipped: 4, ..Counts::default() };
    assert_eq!(run.told(), ["VER-09 No test ran: all 4 were skipped."]);
}

#[test]
fn what_is_not_known_is_said() {
    let mut run = good(RunGate::Verify);
    (run.promised, run.reports, run.totals) = (Vec::new(), Vec::new(), Counts::default());
    assert_eq!(run.told(), ["~VER-09 Whether any test ran is not known: the policy names no report."]);
    assert_eq!(verdict(&run.judged()), Verdict::Pass);
    run.gate = RunGate::Build;
    assert_eq!(run.told(), [""; 0], "a build may have no tests");

    let mut run = good(RunGate::Verify);
    run.totals.flaky = 7;
    run.flaky = (0..7).map(|n| format!("t{n}")).collect();
    assert_eq!(run.told(), ["~VER-13 Passed at a later try only: `t0`, `t1`, `t2`, `t3`, `t4` and others."]);
}

#[test]
fn somebody_elses_words_stay_words() {
    let mut run = good(RunGate::Verify);
    run.commands = vec![command("a`b\n\u{1b}[2J@all", CommandOutcome::Exited, Some(1))];
    run.failing = vec![failing("x`y\u{202e}", "m\nn")];
    run.totals = Counts { tests: 1, failed: 1, ..Counts::default() };
    assert_eq!(
        run.told(),
        ["VER-01 `a'b @all` ended with exit status 1 after 1.5 s.", "VER-01 The test `x'y` failed: m n"]
    );
}

#[test]
fn what_was_open_is_said_and_the_policy_decides() {
    let open = |wall, why: &str| Open { wall, why: why.to_owned() };
    let walls = vec![open(Wall::User, "only root can choose another"), open(Wall::Network, "there are no namespaces")];
    let mut run = good(RunGate::Verify);
    run.confinement = Confinement { open: walls, stand: vec![Wall::Files], ..Confinement::default() };
    let says = "VER-01 Unconfined: the commands have the files and rights of the user who started them (only root can choose another); \
                reach the network and the machine's sockets (there are no namespaces).";
    assert_eq!(run.told(), [format!("~{says}")]);
    run.confinement.required = true;
    assert_eq!(run.told(), [says]);
    run.confinement = Confinement { why: Some("--in-place was asked for".to_owned()), ..Confinement::default() };
    assert_eq!(run.told(), ["~VER-01 Unconfined: the commands ran without any wall (--in-place was asked for)."]);
}

/// A green after a red says what the red was.
#[test]
fn a_red_attempt_is_told_after_a_green_one() {
    let at = |second| jiff::Timestamp::from_second(second).unwrap();
    let attempt = |second, failed: u64, names: &[&str]| Attempt {
        executed_at: at(second),
        verdict: if failed > 0 { Verdict::Fail } else { Verdict::Pass },
        summary: Summary { total: 9, passed: 9 - failed, failed },
        failing: names.iter().map(|name| (*name).to_owned()).collect(),
        rules: Vec::new(),
        log: crate::ids::Digest::of(b""),
    };
    let mut run = good(RunGate::Verify);
    // One that ended badly in another way is told by its rules.
    run.attempts = vec![Attempt { verdict: Verdict::Fail, rules: vec!["VER-01".to_owned()], ..attempt(0, 0, &[]) }];
    let says = "This gate failed once before on the same content, last at 1970-01-01T00:00:00Z by VER-01.";
    assert_eq!(run.told(), [format!("~VER-13 {says}")]);
    run.attempts.clear();
    run.attempts.extend([attempt(1, 1, &["a"]), attempt(60, 2, &["b"]), attempt(90, 0, &[])]);
    let says = "Tests failed 2 times before on the same content, last at 1970-01-01T00:01:00Z: `b` and others.";
    assert_eq!(run.told(), [format!("~VER-13 {says}")]);
    run.gate = RunGate::Build;
    assert_eq!(run.told(), [format!("~BLD-02 {says}")]);
}

/// `BLD-05`: an audit that fails is told as one, in its own words, and hides nothing else.
#[test]
fn an_audit_that_fails_is_no_failure_of_the_build() {
    let said = "Scanning\n\n  left-pad 1.0 \u{1b}[31mRUSTSEC-2026-0001\u{1b}[0m `high`\n1 vulnerability found\n";
    let output = |tail: &str| {
        let (bytes, digest, tail) = (9, crate::ids::Digest::of(tail), tail.to_owned());
        Some(crate::runner::artefact::OutputKept { bytes, digest, tail, whole: true, said: None })
    };
    let audit = |status: i32| {
        let one = command("cargo audit", CommandOutcome::Exited, Some(status));
        CommandRun { audit: true, output: output(said), ..one }
    };
    let judged = |commands: Vec<CommandRun>, promised: &[&str]| {
        let promised: Vec<String> = promised.iter().map(|glob| (*glob).to_owned()).collect();
        let reports = promised.iter().map(|glob| Report::new(glob, ReportState::Missing)).collect();
        let run = Run { commands, promised, reports, ..good(RunGate::Build) };
        run.judged().into_iter().map(|one| (one.rule, one.says)).collect::<Vec<_>>()
    };
    let rules = |found: &[(String, String)]| found.iter().map(|(rule, _)| rule.clone()).collect::<Vec<_>>();
    let found = judged(vec![passed("make"), audit(1)], &[]);
    assert_eq!(rules(&found), ["BLD-05"]);
    let says = &found[0].1;
    assert!(
        says.starts_with("`cargo audit` ended with exit status 1 after 1.5 s. It said last: `Scanning · left-pad 1.0"),
        "{says}"
    );
    assert!(says.ends_with("'high' · 1 vulnerability found`") && !says.contains('\u{1b}'), "{says}");
    assert_eq!(rules(&judged(vec![passed("make"), audit(1)], &["out/*.xml"])), ["BLD-05", "BLD-02"]);
    assert_eq!(rules(&judged(vec![passed("make"), audit(0)], &[])), [] as [&str; 0]);
    // It has not its turn where the build is red, and that is all that is said.
    let left_out = CommandRun { outcome: CommandOutcome::NotRun, status: None, output: None, ..audit(0) };
    let red = command("make", CommandOutcome::Exited, Some(2));
    assert_eq!(rules(&judged(vec![red, left_out.clone()], &[])), ["BLD-01"]);
    assert_eq!(rules(&judged(vec![passed("make"), left_out], &[])), ["BLD-05"]);
}

/// `VER-11`: tests that nobody knows as such are not frozen, and that is said.
#[test]
fn tests_that_are_nowhere_known_are_told() {
    let mut run = good(RunGate::Verify);
    assert_eq!(run.told(), [""; 0]);
    run.test_files = Some(0);
    let found = run.judged();
    assert_eq!(found.len(), 1);
    assert!(found[0].rule == "VER-11" && !found[0].blocks() && found[0].next.contains("freeze: { tests:"), "{found:?}");
    run.test_files = None;
    assert_eq!(run.told(), [""; 0]);
    run = Run { test_files: Some(0), ..good(RunGate::Build) };
    assert_eq!(run.told(), [""; 0]);
}

/// `VER-15`: what was judged is what is there.
#[test]
fn a_file_that_the_commands_wrote_anew_is_told() {
    let mut run = good(RunGate::Verify);
    run.rewritten = vec!["tests/test_clock.py".to_owned(), "Cargo.lock".to_owned()];
    let found = run.judged();
    let told: Vec<_> = found.iter().map(|one| (one.rule.as_str(), one.blocks(), one.path.as_deref())).collect();
    assert_eq!(told, [("VER-15", true, Some("tests/test_clock.py")), ("VER-15", false, Some("Cargo.lock"))]);
}

/// `VER-16`: a failure says what is to be mended.
#[test]
fn a_failure_without_a_word_is_told() {
    let mut run = good(RunGate::Verify);
    run.commands = vec![command("make", CommandOutcome::Exited, Some(2))];
    let said = |text: &str| {
        let (bytes, digest, tail) = (text.len() as u64, crate::ids::Digest::of(text), text.to_owned());
        Some(crate::runner::artefact::OutputKept { bytes, digest, tail, whole: true, said: None })
    };
    run.commands[0].output = said("\n");
    run.failing = vec![failing("a::b", ""), failing("a::c", "expected 2, got 3")];
    let found = run.judged();
    let quiet: Vec<&str> = found
        .iter()
        .filter(|one| one.rule == "VER-16")
        .inspect(|one| assert!(!one.blocks()))
        .map(|one| one.says.as_str())
        .collect();
    assert_eq!(quiet, ["`make` failed without a word.", "The test `a::b` failed without a word."]);
    run.commands[0].output = said("boom");
    run.failing.remove(0);
    assert!(run.judged().iter().all(|one| one.rule != "VER-16"));
    // BUILD has no such rule.
    run.gate = RunGate::Build;
    run.commands[0].output = said("");
    assert!(run.judged().iter().all(|one| one.rule != "VER-16"));
}
