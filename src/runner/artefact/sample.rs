//! An artefact for tests.

use jiff::Timestamp;

use super::*;
use crate::gate::ran;

/// What an honest run writes: of a change with a test that fails.
pub(crate) fn sample() -> Artefact {
    let head = CommitId::new("a".repeat(40)).unwrap();
    let at = Timestamp::from_second(1_700_000_000).unwrap();
    let digest = Digest::of(b"x");
    let counts = Counts { tests: 4, passed: 2, failed: 1, skipped: 1, flaky: 1, duration_ms: 900, ..Counts::default() };
    let path = Some("out/junit.xml".to_owned());
    let mut artefact = Artefact {
        schema: SCHEMA.to_owned(),
        module_id: "octo/lamp".to_owned(),
        module_version: head.to_string(),
        executed_at: at,
        tests: vec![
            test("a::a", TestResult::Pass),
            test("a::b", TestResult::Fail),
            TestRun { attempts: vec![TestResult::Fail, TestResult::Pass], ..test("a::c", TestResult::Pass) },
        ],
        summary: Summary { total: 3, passed: 2, failed: 1 },
        skipped: vec!["a::d".to_owned()],
        attempts: Vec::new(),
        environment: Environment { os: "Debian".to_owned(), cpus: 2, ..Environment::default() },
        gate: RunGate::Verify,
        verdict: Verdict::Fail,
        findings: Vec::new(),
        subject: Subject {
            repository: Some("octo/lamp".parse().unwrap()),
            head: Some(head.clone()),
            ..Subject::default()
        },
        policy: PolicyRead { digest: digest.clone(), from: PolicyFrom::Base, commit: Some(head.clone()) },
        run: Some(ActionsRun { id: 99, attempt: 2, event: Some("pull_request".to_owned()), workflow: None }),
        phasegate: "0.1.0".to_owned(),
        shell: "bash -euo pipefail -c".to_owned(),
        started: at,
        ended: at,
        duration_ms: 1_000,
        timeout_s: 60,
        confinement: Confinement { confined: true, ..Confinement::default() },
        commands: vec![CommandRun {
            command: "make check".to_owned(),
            outcome: CommandOutcome::Exited,
            status: Some(0),
            signal: None,
            why: None,
            started: Some(at),
            ended: Some(at),
            duration_ms: 1_000,
            output: Some(OutputKept {
                bytes: 3,
                digest: digest.clone(),
                tail: "ok\n".to_owned(),
                whole: true,
                said: None,
            }),
            audit: false,
        }],
        promised: vec!["out/*.xml".to_owned()],
        reports: vec![Report {
            path,
            digest: Some(digest),
            bytes: 9,
            counts,
            ..Report::new("out/*.xml", ReportState::Read)
        }],
        totals: counts,
        failing: vec![Failing {
            kind: FailingKind::Failed,
            name: "a::b".to_owned(),
            suite: String::new(),
            message: "no".to_owned(),
            details: String::new(),
            path: Some("src/a.rs".to_owned()),
            line: Some(3),
            report: "out/junit.xml".to_owned(),
        }],
        failing_left_out: 0,
        flaky: vec!["a::c".to_owned()],
        coverage: None,
        earned: None,
        proofs: None,
        test_files: None,
        rewritten: Vec::new(),
        screenshots: Vec::new(),
    };
    artefact.findings = ran::judge(&artefact.facts());
    artefact
}

fn test(name: &str, result: TestResult) -> TestRun {
    let kind = (result == TestResult::Fail).then_some(FailingKind::Failed);
    TestRun { name: name.to_owned(), result, duration_ms: 300, kind, attempts: Vec::new() }
}
