use serde_json::{Value, json};

use super::*;
use crate::engine::kit::{commit, law};
use crate::ids::{InstallationId, RepoId};
use crate::ledger::About;
use crate::runner::artefact::sample;

pub(in crate::server) fn policy() -> Policy {
    law("gates: { verify: { from: [actions], run: [make check], reports: [\"out/*.xml\"] } }")
}

/// What was asked for, and the log of an honest run of it.
pub(in crate::server) fn honest() -> (Artefact, Policy, Asked) {
    let (policy, mut log) = (policy(), sample());
    let head = log.subject.head.clone().unwrap();
    let about =
        About { base_ref: "main".to_owned(), base: commit("base"), head: head.clone(), content: Digest::of("content") };
    log.policy.digest = policy.digest();
    (log.subject.checkout, log.subject.base) = (Some(head), Some(about.base.clone()));
    let asked = Asked {
        gate: RunGate::Verify,
        nonce: Digest::of("nonce"),
        workflow: policy.gates.verify.workflow.clone(),
        about,
        record: 4,
        at: jiff::Timestamp::UNIX_EPOCH,
        answer: None,
    };
    (log, policy, asked)
}

#[test]
fn a_log_of_what_was_asked_for_is_taken() {
    let (log, policy, asked) = honest();
    assert_eq!(same(&log, &policy, &asked, None), Ok(()));
}

#[test]
fn one_of_anything_else_is_not() {
    type Bend = fn(&mut Artefact);
    let bends: [(Bend, &str); 8] = [
        (|log| log.policy.digest = Digest::of("soft"), "another policy"),
        (|log| log.policy.from = PolicyFrom::Checkout, "another policy"),
        (|log| log.subject.checkout = None, "none was checked out"),
        (|log| log.subject.uncommitted = true, "as it is"),
        (|log| log.subject.base = Some(commit("other")), "its base is"),
        (|log| log.commands[0].command = "true".to_owned(), "not those of the policy"),
        (|log| log.commands.clear(), "not those of the policy"),
        (|log| log.promised.clear(), "not those of the policy"),
    ];
    for (bend, says) in bends {
        let (mut log, policy, asked) = honest();
        bend(&mut log);
        let why = same(&log, &policy, &asked, None).unwrap_err();
        assert!(why.contains(says), "{why}");
    }
}

/// What is to be shown is what the documents ask for, and the audit's commands are among those that were to be run.
#[test]
fn one_that_shows_less_is_not() {
    let (mut log, policy, asked) = honest();
    let wanted = gate::proofs::asked(&crate::engine::kit::good_papers()).unwrap();
    let why = same(&log, &policy, &asked, Some(&wanted)).unwrap_err();
    assert!(why.contains("not what the documents"), "{why}");
    let mut soft = wanted.clone();
    soft.proofs[0].prints = None;
    log.proofs = Some(proofs::Proofs { demanded: true, asked: soft, ran: Vec::new() });
    same(&log, &policy, &asked, Some(&wanted)).unwrap_err();
    same(&log, &policy, &asked, None).unwrap_err();
    log.proofs = Some(proofs::Proofs { demanded: true, asked: wanted.clone(), ran: Vec::new() });
    assert_eq!(same(&log, &policy, &asked, Some(&wanted)), Ok(()));

    let audited = law(
        "gates: { build: { run: [make], audit: [pip-audit] }, verify: { from: [actions], run: [make check], reports: [\"out/*.xml\"] } }",
    );
    log.policy.digest = audited.digest();
    let why = same(&log, &audited, &asked, Some(&wanted)).unwrap_err();
    assert!(why.contains("not those of the policy"), "{why}");
}

/// That what was to be shown was not run, or counts for nothing, is the policy's to say too.
#[test]
fn proofs_that_were_left_out_hold_it_back() {
    let (mut log, _, _) = honest();
    (log.totals.failed, log.totals.passed, log.failing) = (0, 3, Vec::new());
    log.reports[0].counts = log.totals;
    let asked = gate::proofs::asked(&crate::engine::kit::good_papers()).unwrap();
    log.proofs = Some(proofs::Proofs { demanded: false, asked, ran: Vec::new() });
    let with = |more: &str| {
        let verify = "from: [actions], run: [make check], reports: [\"out/*.xml\"], earned: show";
        let policy = law(&format!("flow: pipeline\ngates: {{ verify: {{ {verify}{more} }} }}"));
        let found = judged(log.clone(), &policy);
        found.iter().any(|finding| finding.rule == "VER-02" && finding.blocks())
    };
    assert!(with(""));
    assert!(!with(", proofs: show"));
}

#[test]
fn what_is_found_is_by_the_policy_and_not_by_the_log() {
    let (mut log, policy, _) = honest();
    // A test failed; the log forgets to say so.
    log.findings.clear();
    log.verdict = crate::finding::Verdict::Pass;
    assert!(judged(log, &policy).iter().any(|finding| finding.blocks() && finding.rule == "VER-01"));
}

/// Neither that nothing is said of it, nor that it was held against nothing, is a pass.
#[test]
fn a_coverage_that_was_left_out_holds_it_back() {
    use crate::runner::coverage::Coverage;
    let (mut log, policy, asked) = honest();
    let asks = law(
        "gates: { verify: { from: [actions], run: [make check], reports: [\"out/*.xml\"], earned: show, coverage: [lcov.info] } }",
    );
    log.policy.digest = asks.digest();
    let why = same(&log, &asks, &asked, None).unwrap_err();
    assert!(why.contains("how much is covered"), "{why}");
    log.coverage = Some(Coverage { covered: 9, lines: 10, ..Coverage::default() });
    assert_eq!(same(&log, &asks, &asked, None), Ok(()));
    log.policy.digest = policy.digest();
    same(&log, &policy, &asked, None).unwrap_err();

    (log.totals.failed, log.totals.passed, log.failing) = (0, 3, Vec::new());
    log.reports[0].counts = log.totals;
    let found = judged(log, &asks);
    assert!(found.iter().any(|finding| finding.rule == "coverage_decreased" && finding.blocks()), "{found:#?}");
}

#[test]
fn a_green_whose_earning_was_left_out_is_held_back() {
    let (mut log, policy, _) = honest();
    log.failing.clear();
    (log.totals.failed, log.totals.passed) = (0, 3);
    log.reports[0].counts = log.totals;
    let found = judged(log.clone(), &policy);
    assert!(found.iter().any(|finding| finding.rule == "VER-10" && finding.blocks()), "{found:#?}");
    let shown =
        law("gates: { verify: { from: [actions], run: [make check], reports: [\"out/*.xml\"], earned: show } }");
    assert!(!judged(log, &shown).iter().any(Finding::blocks));
}

#[test]
fn each_refusal_has_its_name_a_sentence_and_a_next_step() {
    let all = [
        Refused::Token(oidc::Refused::Missing),
        Refused::Token(oidc::Refused::NoKeys { issuer: "https://a".into(), why: "b".into() }),
        Refused::Replayed,
        Refused::Foreign("a".into()),
        Refused::WrongWorkflow { found: "a".into(), wanted: "b".into() },
        Refused::Unprotected("a".into()),
        Refused::NotWanted("a".into()),
        Refused::OtherRun { run: 1, what: "a".into() },
        Refused::Unasked(1),
        Refused::Answered(1),
        Refused::OtherContent("a".into()),
        Refused::TooLarge(1),
        Refused::Log(artefact::Refused::TooDeep),
        Refused::Archive(archive::Refused::Twice),
        Refused::LargeArchive(1),
        Refused::OtherArtefact("a".into()),
        Refused::Several(2),
        Refused::Gone,
        Refused::NoNonce,
        Refused::NoAddress,
        Refused::NotNow("a".into()),
    ];
    let names: std::collections::BTreeSet<&str> = all.iter().map(Refused::name).collect();
    assert_eq!(names.len(), all.len());
    for refused in all {
        let says = refused.to_string();
        assert!(says.ends_with('.') && refused.next().ends_with('.'), "{says} {}", refused.next());
        assert!(refused.status().is_client_error() || refused.status().is_server_error());
    }
}

pub(in crate::server) fn home() -> RepoRef {
    let slug = "octo/garden".parse().unwrap();
    RepoRef { id: RepoId(7), slug, installation: InstallationId(1), default_branch: "main".to_owned() }
}

/// A run of what was asked for, as GitHub tells of it.
pub(in crate::server) fn run_of(asked: &Asked) -> Value {
    json!({
        "id": 42, "name": "phasegate-evidence", "display_title": title(Start::App, 3, asked), "path": asked.workflow,
        "head_sha": "a".repeat(40), "head_branch": "main", "repository": { "id": 7 }, "head_repository": { "id": 7 },
        "event": "workflow_dispatch", "status": "completed", "conclusion": "success", "run_attempt": 1,
        "run_started_at": "2026-01-02T03:04:05Z", "html_url": "https://github.com/octo/garden/actions/runs/42",
    })
}

#[test]
fn a_run_that_was_started_for_it_is_known_by_all_that_github_tells() {
    let (_, _, asked) = honest();
    let (home, good) = (home(), run_of(&asked));
    let asking = Asking { home: &home, change: 3, asked: &asked, start: Start::App, frozen: false };
    let read = |told: Value| serde_json::from_value::<WorkflowRun>(told).unwrap();
    assert_eq!(asking.is_answered_by(&read(good.clone())), Ok(()));
    let at = format!("{}@refs/heads/main", asked.workflow);
    for (field, value) in [
        ("path", json!(".github/workflows/ci.yml")),
        ("event", json!("push")),
        ("event", json!("pull_request_target")),
        ("head_branch", json!("work")),
        ("head_branch", Value::Null),
        ("repository", json!({ "id": 8 })),
        ("repository", Value::Null),
        ("head_repository", json!({ "id": 8 })),
        ("head_repository", Value::Null),
        ("display_title", json!(title(Start::App, 4, &asked))),
        ("display_title", json!(title(Start::App, 3, &Asked { nonce: Digest::of("another"), ..asked.clone() }))),
    ] {
        let mut bent = good.clone();
        bent[field] = value.clone();
        let refused = asking.is_answered_by(&read(bent)).unwrap_err();
        assert_eq!(refused.name(), "other_run", "{field}: {value}");
        assert!(note(42, &refused).starts_with("Evidence of run 42 was refused (other_run). "), "{refused}");
    }
    // Some servers tell the ref behind the path.
    let mut told = good;
    told["path"] = json!(at);
    assert_eq!(asking.is_answered_by(&read(told)), Ok(()));
}

#[test]
fn a_run_that_another_runs_end_started_is_known_by_the_head_that_it_names() {
    let (_, _, asked) = honest();
    let (home, mut good) = (home(), run_of(&asked));
    let asking = Asking { home: &home, change: 3, asked: &asked, start: Start::WorkflowRun, frozen: false };
    let read = |told: &Value| serde_json::from_value::<WorkflowRun>(told.clone()).unwrap();
    // The App's own start is not what this policy names.
    assert_eq!(asking.is_answered_by(&read(&good)).unwrap_err().name(), "other_run");
    good["event"] = json!("workflow_run");
    assert_eq!(asking.is_answered_by(&read(&good)).unwrap_err().name(), "other_run");
    good["display_title"] = json!(format!("Phasegate verify {}", asked.about.head));
    assert_eq!(asking.is_answered_by(&read(&good)), Ok(()));
    let started_by_app = Asking { start: Start::App, ..asking };
    assert_eq!(started_by_app.is_answered_by(&read(&good)).unwrap_err().name(), "other_run");
    good["display_title"] = json!(format!("Phasegate verify {}", "f".repeat(40)));
    let refused = asking.is_answered_by(&read(&good)).unwrap_err().to_string();
    assert!(refused.contains("and not `Phasegate verify "), "{refused}");
}

#[test]
fn runs_that_were_started_for_the_same_are_told() {
    let (_, _, asked) = honest();
    let run = |id: u64| {
        let mut told = run_of(&asked);
        told["id"] = json!(id);
        serde_json::from_value::<WorkflowRun>(told).unwrap()
    };
    assert_eq!(besides(&[], 42), None);
    assert_eq!(besides(&[run(42)], 42), None);
    let one = besides(&[run(43), run(42)], 43).unwrap();
    assert_eq!((one.rule.as_str(), one.blocks()), ("VER-13", false));
    assert_eq!(one.says, "Run 42 was started for the same, and what it came to was not told.");
    let two = besides(&[run(44), run(43), run(42)], 44).unwrap();
    assert_eq!(two.says, "Runs 43, 42 were started for the same, and what they came to was not told.");
}

/// A fork's run after another one does not know the pull request, and what is frozen of that.
#[test]
fn what_is_frozen_was_run_by_itself_only_where_the_run_knew_of_it() {
    let (mut log, policy, asked) = honest();
    let home = home();
    log.subject.repository = Some(home.slug.clone());
    let (run, attempt) = log.run.as_ref().map(|run| (run.id, run.attempt)).unwrap();
    let (sha, workflow) = (commit("main"), String::new());
    let by = Job { run, attempt, workflow, sha, actor: 1 };
    let shows = log.proofs.as_ref().map(|proofs| proofs.asked.clone());
    let mut found = |change: Option<u64>, frozen: bool| {
        log.subject.change = change;
        let asking = Asking { home: &home, change: 3, asked: &asked, start: Start::WorkflowRun, frozen };
        let (ran, _) = asking.judged(log.text().unwrap().as_bytes(), &policy, shows.as_ref(), &by).unwrap();
        ran.findings.into_iter().filter(|one| one.rule == "VER-11" && one.says.contains("which pull request")).count()
    };
    assert_eq!((found(Some(3), true), found(None, false)), (0, 0));
    assert_eq!((found(None, true), found(Some(4), true)), (1, 1));
}
