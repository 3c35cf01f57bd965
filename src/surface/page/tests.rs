//! The page, read as its source. That it reads well is for a browser to show (`tests/oracles`).

use super::*;
use crate::engine::kit::*;
use crate::finding::{Finding, Verdict};
use crate::ids::Role;
use crate::ledger::record::{Claim, Evidence};
use crate::ledger::{By, Record};
use crate::runner::artefact::Artefact;
use crate::runner::artefact::{TestResult, TestRun, sample};
use crate::runner::proofs::{Asked, Criterion, Proof, Proofs, Proved};

fn painter() -> Painter {
    Painter {
        server: "https://github.com".to_owned(),
        slug: "octo/demo".parse().unwrap(),
        branch: "phasegate/ledger".to_owned(),
        advisory: false,
    }
}

fn page_of(game: &Game) -> String {
    painter().paint(game.now(), &game.records, &[])
}

/// Where each of these stands, and that each does, one after the other.
#[track_caller]
fn in_order(page: &str, parts: &[&str]) {
    let mut rest = page;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("no {part:?} after the others in\n{rest}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn a_change_is_told_from_where_it_stands_to_its_records() {
    let mut game = Game::pipeline();
    game.until_building().red().says("ada", Role::Write, "/build").done();
    game.says("mia", Role::Maintain, "/reject too much in one file").done();
    let page = page_of(&game);
    in_order(
        &page,
        &[
            "<h1>octo/demo <a href=\"https://github.com/octo/demo/pull/7\" rel=\"noreferrer\">#7</a></h1>",
            "<b>BUILD",
            "◐ build",
            "BUILD: FAIL 1 of 3: the third blocks.",
            "by <b>ada</b>",
            "<dt>head</dt>",
            "<dt>content</dt>",
            "What to do first</h2>",
            "<ol><li><b class=\"bad\">BLD-02</b> <span class=\"sub\">error</span>",
            "→ ",
            "Gates</h2>",
            "<b>BUILD</b></td><td><b class=\"bad\">FAIL</b>",
            "BUILD: what was counted",
            "check <a href=\"https://github.com/octo/demo/runs/",
            "<code>ci / test</code></a>: failure",
            "Records</h2>",
            "The change begins, by <b>ada</b>.",
            "<b>EXPAND</b> <b class=\"ok\">PASS</b> <span class=\"sub\">claimed by a look that passed</span>",
            "<code>/build</code></a>: done.",
            "<b>BUILD</b> <b class=\"bad\">FAIL</b> <span class=\"sub\">claimed by a command</span>",
            "<b>mia</b> (maintain) <a href=\"https://github.com/octo/demo/issues/7#issuecomment-",
            "sends it back</a>: <code>too much in one file</code>.",
            "<code>phasegate replay 7</code> proves the records",
        ],
    );
    game.push("better").green().approved_by("mia").says("mia", Role::Maintain, "/approve").done();
    game.merged();
    let page = page_of(&game);
    in_order(
        &page,
        &["merged; DEPLOY", "Nothing: it is not open any more.", "review by <b>mia</b> (maintain)", "Merged as <a"],
    );
    assert_eq!(page, page_of(&game), "the same records are the same page");
    game.deployment("failure");
    in_order(&page_of(&game), &["merged; ", "What to do first</h2><ol><li><b class=\"bad\">DEP-03</b>"]);
}

/// Whatever somebody can write: it is there as text, and nothing of it is read by a browser.
#[test]
fn nothing_that_somebody_wrote_is_more_than_text() {
    let bad = "</pre></code>\"><script>alert(1)</script><img src=x onerror='y'>&lt;\u{202e}\u{1b}[31m`";
    let mut game = Game::pipeline();
    game.until_building();
    let hostile = Finding::error(bad, bad, bad).at(bad, Some(3));
    let about = game.now().subject.clone();
    let evidence = vec![
        Evidence::Check {
            name: bad.into(),
            app: 1,
            run: 2,
            workflow_run: Some(3),
            conclusion: bad.into(),
            head: commit("x"),
            discounted: Some(bad.into()),
        },
        Evidence::Deployment {
            environment: bad.into(),
            state: bad.into(),
            commit: commit("x"),
            by: None,
            discounted: Some(bad.into()),
        },
    ];
    let gate = GateName::Phase(crate::flow::Phase::Build);
    let bodies = [
        Body::Judged {
            gate,
            verdict: Verdict::Fail,
            claimed: Some(Claim::Trailer),
            findings: vec![hostile],
            evidence,
            criteria: vec![],
        },
        Body::Tampered { what: bad.to_owned(), told: None },
        Body::Stopped { reason: bad.to_owned(), said: None, concerns: BTreeSet::new(), condition: None, raised: None },
        Body::GivenUp { reason: bad.to_owned() },
    ];
    for (at, body) in bodies.into_iter().enumerate() {
        let last = game.records.last().unwrap().clone();
        let by = By::Person { person: person(bad), role: bad.to_owned() };
        game.records.push(Record { seq: last.seq + 1 + at as u64, by, about: about.clone(), body, ..last });
    }
    let mut log = sample();
    log.commands[0].command = bad.to_owned();
    log.commands[0].output.as_mut().unwrap().tail = bad.to_owned();
    log.failing[0] = crate::runner::artefact::Failing {
        name: bad.into(),
        message: bad.into(),
        details: bad.into(),
        path: Some(bad.into()),
        ..log.failing[0].clone()
    };
    log.module_id = bad.to_owned();
    log.proofs = Some(shown(&log, bad));
    log.skipped = vec![bad.to_owned()];
    log.environment.os = bad.to_owned();
    let home = Home { server: "https://github.com", slug: &"octo/demo".parse().unwrap(), ledger: "x", change: 7 };
    for page in [
        painter().paint(game.now(), &game.records, std::slice::from_ref(&log)),
        run(&log, Some(&home)),
        run(&log, None),
    ] {
        assert!(page.matches("alert(1)").count() >= 3, "{page}");
        for tag in ["<script", "<img", "onerror='", "\u{202e}", "\u{1b}"] {
            assert!(!page.contains(tag), "{tag:?} in\n{page}");
        }
        for link in page.split("href=\"").skip(1) {
            assert!(link.starts_with("https://github.com/octo/demo/"), "{link:.80}");
        }
        assert_eq!(page.matches("<pre").count(), page.matches("</pre>").count());
        in_order(
            &page,
            &[
                "Content-Security-Policy\" content=\"default-src &#39;none&#39;; style-src &#39;sha256-",
                "<title>",
                "</html>",
            ],
        );
    }
}

/// One criterion that is shown, one that nothing is run for.
fn shown(log: &Artefact, says: &str) -> Proofs {
    let criterion = |id: &str| Criterion { id: id.to_owned(), line: 3, load: false };
    let criteria = vec![says.to_owned()];
    let proof = Proof { command: says.to_owned(), prints: Some(says.to_owned()), line: 3, criteria, truth: None };
    let mut run = log.commands[0].clone();
    run.command = says.to_owned();
    run.output.as_mut().unwrap().tail = says.to_owned();
    let criteria = vec![criterion(says), criterion("AC-2")];
    let asked = Asked { criteria, proofs: vec![proof], ..Asked::default() };
    Proofs { demanded: true, asked, ran: vec![Proved { on_base: Some(run.clone()), run }] }
}

#[test]
fn a_run_is_told_with_what_shows_the_criteria() {
    let mut log = sample();
    log.proofs = Some(shown(&log, "AC-1"));
    in_order(
        &run(&log, None),
        &[
            "What shows the criteria</h2>",
            "What is found here counts.",
            "<p>AC-1: <span class=\"ok\">shown</span>. On the base it shows the same. It is to print:",
            "<code>AC-1</code>",
            "Nothing is run for",
            "AC-2",
            "Tests</h2>",
        ],
    );
}

#[test]
fn a_run_is_told_with_its_commands_tests_and_walls() {
    let mut log = sample();
    log.attempts = vec![crate::runner::artefact::Attempt {
        executed_at: log.executed_at,
        verdict: Verdict::Fail,
        summary: log.summary,
        failing: vec!["a::b".to_owned()],
        rules: vec!["VER-01".to_owned()],
        log: Digest::of("log"),
    }];
    let page = run(&log, None);
    in_order(
        &page,
        &[
            "<h1>A run of VERIFY of octo/lamp</h1>",
            "<b class=\"bad\">FAIL</b>",
            "One finding stands against it.",
            &format!("<dt>head</dt><dd><code>{}</code>", "a".repeat(40)),
            "run 99, attempt 2",
            "What was found</h2>",
            "VER-01",
            "Commands</h2>",
            "<code>make check</code> <span class=\"sub\">1.0 s</span>",
            "It said 3 bytes, SHA-256 <code>",
            "all of it:</p><pre tabindex=\"0\">ok</pre>",
            "Tests</h2>",
            "4 tests: 2 passed (1 at a later try), 1 failed, 1 skipped.",
            "<code>a::b</code> <span class=\"sub\">failed</span>",
            "Each test by its name (3)",
            "✗ failed",
            "tries: ✗✓",
            "Skipped (1)",
            "Walls</h2>",
            "Confined",
            "Attempts before this one</h2>",
            "3 ran, 1 failed <code>a::b</code>",
            "<code>execution_log.json</code>",
        ],
    );
    log.confinement.confined = false;
    log.confinement.why = Some("--in-place was asked for".to_owned());
    in_order(&run(&log, None), &["Unconfined", "They ran without any wall"]);
}

#[test]
fn a_page_has_a_size_that_it_does_not_pass() {
    let mut game = Game::pipeline();
    game.until_building();
    let last = game.records.last().unwrap().clone();
    let findings: Vec<Finding> =
        (0..300).map(|n| Finding::error("VER-01", format!("{n} {}", "<".repeat(900)), "mend")).collect();
    let gate = GateName::Phase(crate::flow::Phase::Verify);
    for seq in last.seq + 1..last.seq + 400 {
        let (findings, evidence) = (findings.clone(), Vec::new());
        let body = Body::Judged { gate, verdict: Verdict::Fail, claimed: None, findings, evidence, criteria: vec![] };
        game.records.push(Record { seq, body, ..last.clone() });
    }
    let page = page_of(&game);
    assert!(page.len() <= MOST_BYTES, "{}", page.len());
    assert!(page.contains("Up to record ") && page.contains("/tree/phasegate/ledger/changes/0/7"), "{page:.9000}");
    let mut log = sample();
    log.tests = (0..5_000)
        .map(|n| TestRun {
            name: format!("t{n}{}", "<".repeat(300)),
            result: TestResult::Pass,
            duration_ms: 1,
            kind: None,
            attempts: Vec::new(),
        })
        .collect();
    log.commands = vec![log.commands[0].clone(); 20];
    for command in &mut log.commands {
        command.output.as_mut().unwrap().tail = "<\n".repeat(32 * 1024);
    }
    assert!(run(&log, None).len() <= MOST_BYTES_OF_A_RUN + 256 * 1024);
    assert!(painter().paint(game.now(), &game.records, &vec![log; 8]).len() <= MOST_BYTES_OF_A_RUN);
}

#[test]
fn how_much_is_covered_is_shown_where_it_was_asked_for() {
    use crate::ids::Digest;
    use crate::runner::coverage::{Coverage, CoverageReport};
    let mut log = sample();
    assert!(!run(&log, None).contains("covered"));
    log.coverage = Some(Coverage { covered: 812, lines: 1000, ..Coverage::default() });
    let page = run(&log, None);
    assert!(page.contains("<p>812 of 1000 lines are covered.</p>") && !page.contains("Coverage reports"));
    let report = CoverageReport { path: "out/<b>.info".to_owned(), digest: Digest::of(b"SF:a"), bytes: 4 };
    log.coverage = log.coverage.map(|coverage| Coverage { reports: vec![report.clone()], ..coverage });
    let page = run(&log, None);
    assert!(page.contains("Coverage reports (1)") && page.contains("<code>out/&lt;b&gt;.info</code>"), "{page}");
    assert!(page.contains(report.digest.short()), "{page}");
    log.coverage = Some(Coverage { why: Some("nothing matches `<b>`".to_owned()), ..Coverage::default() });
    let page = run(&log, None);
    assert!(page.contains("How much is covered is not known:</b> nothing matches <code>&lt;b&gt;</code>"), "{page}");
}

/// A dot, in PNG.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn pictures_are_shown_and_what_only_says_that_it_is_one_is_not() {
    use crate::runner::screenshots::Screenshot;
    let shot = |path: &str, data: &str| Screenshot {
        path: path.to_owned(),
        digest: None,
        bytes: 70,
        data: Some(data.to_owned()),
        why: None,
    };
    let mut log = sample();
    log.screenshots = vec![shot("shots/lamp.png", DOT), shot("x\"><script>.png", DOT), shot("no.png", "PHNjcmlwdD4=")];
    let page = run(&log, None);
    assert!(page.contains(&format!("<img src=\"data:image/png;base64,{DOT}\" alt=\"shots/lamp.png\">")), "{page}");
    assert!(page.contains("<code>no.png</code> is left out: it is no picture."), "{page}");
    assert!(!page.contains("<script>") && !page.contains("PHNjcmlwdD4="), "{page}");
}
