//! An execution log: what was run, what it said, which tests there were.

use std::fmt::Write as _;

use super::html::{block, code, finding, folded, link, linked, moment, names, prose, safe, table, word};
use super::{Home, Room};
use crate::policy::Source;
use crate::runner::artefact::{
    Artefact, CommandRun, Failing, FailingKind, PolicyFrom, ReportState, TestResult, TestRun, shown_time,
};
use crate::runner::coverage::Coverage;
use crate::runner::earned::{Earned, Side};
use crate::runner::proofs::{Proof, Proofs, Proved};
use crate::runner::screenshots::Screenshot;
use crate::runner::text;

/// Of what one command printed, at most.
const LONGEST_OUTPUT: usize = 64 * 1024;
/// A longer command is told in full below its title.
const LONGEST_TITLE: usize = 200;
/// Of what is told of one failed test.
const LONGEST_DETAILS: usize = 4 * 1024;
/// So many tests are listed by name, and the rest are counted.
const MOST_TESTS: usize = 2_000;
const MOST_NAMES: usize = 200;

/// The verdict of a run, in the words that stand above it.
pub(super) fn title(log: &Artefact) -> String {
    format!("{} {}", log.gate.as_str().to_uppercase(), word(log.verdict))
}

/// All of it, below a heading of the level before `level`.
pub(super) fn log(log: &Artefact, home: Option<&Home<'_>>, level: u8, room: &mut Room) -> String {
    let mut out = facts(log, home);
    let heading = |text: &str| format!("<h{level}>{text}</h{level}>");
    if !log.findings.is_empty() {
        let each = log.findings.iter().map(|one| finding(one, home.and_then(|home| home.place(&log.subject, one))));
        let _ = write!(out, "{}<ul>{}</ul>", heading("What was found"), each.collect::<String>());
    }
    let _ = write!(out, "{}", heading("Commands"));
    for one in &log.commands {
        out.push_str(&room.of(|| command(one), || format!("<p>{} {}</p>", code(&one.command), safe(&one.ending()))));
    }
    if let Some(proofs) = &log.proofs {
        out.push_str(&heading("What shows the criteria"));
        out.push_str(&self::proofs(proofs, room));
    }
    out.push_str(&heading("Tests"));
    out.push_str(&tests(log, room));
    if let Some(earned) = &log.earned {
        out.push_str(&heading("Was the green earned?"));
        out.push_str(&room.of(|| self::earned(earned, home), String::new));
    }
    out.push_str(&heading("Walls"));
    out.push_str(&walls(log));
    if !log.attempts.is_empty() {
        let _ = write!(out, "{}{}", heading("Attempts before this one"), attempts(log));
    }
    // Last, because they take the most room.
    if !log.screenshots.is_empty() {
        out.push_str(&heading("Screenshots"));
        out.extend(log.screenshots.iter().map(|one| {
            room.of(|| screenshot(one), || format!("<p>{}: there is no room for it here.</p>", code(&one.path)))
        }));
    }
    out
}

/// What it was run on, by which policy, when and where.
fn facts(log: &Artefact, home: Option<&Home<'_>>) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let subject = &log.subject;
    rows.push(("of", safe(&log.module_id)));
    let commits = [("head", &subject.head), ("base", &subject.base), ("checked out", &subject.checkout)];
    for (what, commit) in commits {
        let shown =
            |commit: &crate::ids::CommitId| linked(home.map(|home| home.commit(commit)), &code(commit.as_str()));
        rows.extend(commit.as_ref().map(|commit| (what, shown(commit))));
    }
    if subject.uncommitted {
        rows.push(("not committed", "Tracked files were not as in that commit.".to_owned()));
    }
    let from = match log.policy.from {
        PolicyFrom::Base => "of the default branch, or of the revision that was named",
        PolicyFrom::Checkout => "of the checkout itself: the change could have written it",
        PolicyFrom::File => "of a file that was named",
    };
    let at = log.policy.commit.as_ref().map(|commit| format!(" at {}", code(commit.short()))).unwrap_or_default();
    rows.push(("policy", format!("{}{at}, {from}", code(log.policy.digest.short()))));
    let own = Source::Runner.to_string();
    if log.run.as_ref().is_some_and(|run| run.event.is_none() && run.workflow.as_ref() == Some(&own)) {
        rows.push(("by", "the server's own runner".to_owned()));
    } else if let Some(run) = &log.run {
        let shown = format!("run {}, attempt {}", run.id, run.attempt);
        rows.push(("in Actions", linked(home.map(|home| home.attempt(run.id, run.attempt)), &shown)));
    }
    rows.push(("when", format!("{}, {}", moment(log.executed_at), shown_time(log.duration_ms))));
    let at = &log.environment;
    let machine: Vec<String> =
        [&at.os, &at.kernel, &at.arch].into_iter().filter(|text| !text.is_empty()).map(|text| safe(text)).collect();
    rows.push(("where", format!("{}, {} processors", machine.join(", "), at.cpus)));
    rows.push(("by", format!("Phasegate {}, {}", safe(&log.phasegate), code(&log.shell))));
    let rows: String = rows.iter().map(|(what, is)| format!("<dt>{what}</dt><dd>{is}</dd>")).collect();
    format!("<dl>{rows}</dl>")
}

/// A command: its exact text, how it ended, what it said.
fn command(one: &CommandRun) -> String {
    let mark = match (one.passed(), one.output.is_some()) {
        (true, _) => "<span class=\"mark ok\">✓</span>",
        (false, true) => "<span class=\"mark bad\">✗</span>",
        (false, false) => "<span class=\"mark sub\">·</span>",
    };
    let mut inside = format!("<p>{}</p>", prose(&one.ending()));
    if one.command.contains('\n') || one.command.chars().count() > LONGEST_TITLE {
        inside.push_str(&block(&one.command, LONGEST_OUTPUT));
    }
    match &one.output {
        Some(output) => {
            let whole = match output.whole {
                true => "all of it",
                false => "the end of it",
            };
            let _ = write!(
                inside,
                "<p class=\"sub\">It said {} bytes, SHA-256 {}; {whole}:</p>{}",
                output.bytes,
                code(output.digest.as_str()),
                block(&output.tail, LONGEST_OUTPUT)
            );
        }
        None => inside.push_str("<p class=\"sub\">It said nothing, because it was not run.</p>"),
    }
    let summary = format!(
        "{mark} {} <span class=\"sub\">{}</span>",
        code(&text::line(&one.command, LONGEST_TITLE)),
        safe(&shown_time(one.duration_ms))
    );
    folded(!one.passed() && one.output.is_some(), &summary, &inside)
}

/// What was run for each criterion, with what it said; and what nothing was run for.
fn proofs(proofs: &Proofs, room: &mut Room) -> String {
    let counts =
        if proofs.demanded { "What is found here counts." } else { "It is shown; the policy does not demand it." };
    let mut out = format!("<p>The commands that readiness has for them. {counts}</p>");
    for (proof, proved) in proofs.each() {
        out.push_str(&room.of(|| shows(proof, proved), || format!("<p>{}</p>", code(&proof.command))));
    }
    if proofs.ran.is_empty() && !proofs.asked.proofs.is_empty() {
        out.push_str("<p>None was run, because a command of the gate failed before.</p>");
    }
    let bare = proofs.asked.criteria.iter().filter(|criterion| proofs.asked.of(&criterion.id).next().is_none());
    let bare: Vec<String> = bare.map(|criterion| criterion.id.clone()).collect();
    if !bare.is_empty() {
        let _ = write!(out, "<p><b class=\"wait\">Nothing is run for</b>{}</p>", names(&bare, MOST_NAMES));
    }
    out
}

fn shows(proof: &Proof, proved: &Proved) -> String {
    let of = match proof.criteria.is_empty() {
        true => "a truth".to_owned(),
        false => proof.criteria.join(", "),
    };
    let shown = match proof.is_shown_by(&proved.run) {
        true => "<span class=\"ok\">shown</span>",
        false => "<b class=\"bad\">not shown</b>",
    };
    let prints = proof.prints.as_ref().map(|text| format!(" It is to print:{}", block(text, LONGEST_OUTPUT)));
    let base = match &proved.on_base {
        Some(_) if proved.is_idle(proof) => " On the base it shows the same.".to_owned(),
        Some(base) => format!(" On the base it {}.", safe(&base.ending())),
        None => String::new(),
    };
    format!("<p>{}: {shown}.{base}{}</p>{}", safe(&of), prints.unwrap_or_default(), command(&proved.run))
}

fn tests(log: &Artefact, room: &mut Room) -> String {
    let mut out = if log.totals.tests > 0 {
        format!("<p>{}.</p>", safe(&log.totals.shown()))
    } else {
        "<p>No report was read, so there is no test that is known by its name.</p>".to_owned()
    };
    if let Some(coverage) = &log.coverage {
        out.push_str(&covered(coverage));
    }
    for test in &log.failing {
        out.push_str(&room.of(|| failing(test), || format!("<p>{} failed.</p>", code(&test.name))));
    }
    if log.failing_left_out > 0 {
        let _ = write!(out, "<p>And {} more that failed.</p>", log.failing_left_out);
    }
    if !log.tests.is_empty() {
        let shown = || {
            let rows = table(&["result", "test", "took"], log.tests.iter().take(MOST_TESTS).map(row));
            let more = log.tests.len().saturating_sub(MOST_TESTS);
            let more = if more > 0 { format!("<p>And {more} more, in the log.</p>") } else { String::new() };
            folded(false, &format!("Each test by its name ({})", log.tests.len()), &format!("{rows}{more}"))
        };
        out.push_str(&room.of(shown, || "<p>The names of all tests are in the log.</p>".to_owned()));
    }
    if !log.skipped.is_empty() {
        let shown = || folded(false, &format!("Skipped ({})", log.skipped.len()), &names(&log.skipped, MOST_NAMES));
        out.push_str(&room.of(shown, String::new));
    }
    if !log.reports.is_empty() {
        let rows = log.reports.iter().take(MOST_NAMES).map(|report| {
            let state = match report.state {
                ReportState::Read => "read".to_owned(),
                ReportState::Missing => "<b class=\"bad\">missing</b>".to_owned(),
                ReportState::Stale => "<b class=\"bad\">stale</b>".to_owned(),
                ReportState::Unreadable => "<b class=\"bad\">unreadable</b>".to_owned(),
            };
            let digest = report.digest.as_ref().map(|digest| code(digest.short())).unwrap_or_default();
            let why = report.why.as_ref().map(|why| format!(" {}", prose(why))).unwrap_or_default();
            vec![
                code(report.path.as_ref().unwrap_or(&report.glob)),
                format!("{state}{why}"),
                report.counts.tests.to_string(),
                digest,
            ]
        });
        let rows = table(&["report", "state", "tests", "SHA-256"], rows);
        out.push_str(&folded(false, &format!("Reports ({})", log.reports.len()), &rows));
    }
    out
}

fn covered(coverage: &Coverage) -> String {
    let mut out = match coverage.known() {
        Ok(known) => format!("<p>{} are covered.</p>", known.shown()),
        Err(why) => format!("<p><b class=\"bad\">How much is covered is not known:</b> {}</p>", prose(why)),
    };
    if !coverage.reports.is_empty() {
        let rows = coverage.reports.iter().take(MOST_NAMES);
        let rows = rows.map(|report| vec![code(&report.path), report.bytes.to_string(), code(report.digest.short())]);
        let title = format!("Coverage reports ({})", coverage.reports.len());
        out.push_str(&folded(false, &title, &table(&["report", "bytes", "SHA-256"], rows)));
    }
    out
}

fn failing(test: &Failing) -> String {
    let kind = match test.kind {
        FailingKind::Failed => "failed",
        FailingKind::Error => "could not be carried out",
    };
    let place = match (&test.path, test.line) {
        (Some(path), Some(line)) => format!(" at {}", code(&format!("{path}:{line}"))),
        (Some(path), None) => format!(" in {}", code(path)),
        _ => String::new(),
    };
    let details = match test.details.trim() {
        "" => String::new(),
        details => block(&text::head(details, LONGEST_DETAILS), 4 * LONGEST_DETAILS),
    };
    let summary = format!("<span class=\"mark bad\">✗</span> {} <span class=\"sub\">{kind}</span>", code(&test.name));
    folded(true, &summary, &format!("<p>{}{place}</p>{details}", safe(&test.message)))
}

fn row(test: &TestRun) -> Vec<String> {
    let tried = |result: &TestResult| if *result == TestResult::Pass { "✓" } else { "✗" };
    let tries = match test.attempts.is_empty() {
        true => String::new(),
        false => format!(" <span class=\"sub\">tries: {}</span>", test.attempts.iter().map(tried).collect::<String>()),
    };
    let result = match (test.result, test.kind) {
        (TestResult::Pass, _) => "<span class=\"ok\">✓ passed</span>",
        (TestResult::Fail, Some(FailingKind::Error)) => "<span class=\"bad\">✗ broke</span>",
        (TestResult::Fail, _) => "<span class=\"bad\">✗ failed</span>",
    };
    vec![result.to_owned(), format!("{}{tries}", code(&test.name)), safe(&shown_time(test.duration_ms))]
}

/// What the same commands said on other content.
fn earned(earned: &Earned, home: Option<&Home<'_>>) -> String {
    let base = linked(home.map(|home| home.commit(&earned.base)), &code(earned.base.short()));
    let counts =
        if earned.demanded { "What is found here counts." } else { "It is shown; the policy does not demand it." };
    let mut out = format!("<p>The same commands on other content. {counts}</p><ul>");
    let _ = write!(out, "<li>On the base {base}: {}</li>", side(&earned.on_base));
    for (which, said) in [
        (&earned.gone, "ran there and not on the head"),
        (&earned.now_skipped, "ran there and were skipped on the head"),
    ] {
        if !which.is_empty() {
            let _ = write!(out, "<li><b class=\"wait\">{}</b> {said}:{}</li>", which.len(), names(which, MOST_NAMES));
        }
    }
    match &earned.old_tests {
        Some(old) => {
            let _ = write!(out, "<li>The base's own tests on the head's code: {}", side(&old.run));
            let failing: Vec<String> = old.failing.iter().map(|test| test.name.clone()).collect();
            if !failing.is_empty() {
                let _ =
                    write!(out, " <b class=\"bad\">Red there and not on the base:</b>{}", names(&failing, MOST_NAMES));
            }
            out.push_str("</li>");
        }
        None => out.push_str("<li>The change leaves the base's tests as they are, so its own run is theirs too.</li>"),
    }
    if let Some(frozen) = &earned.frozen {
        let _ = write!(out, "<li>What is frozen, without tests that came later: {}", side(&frozen.run));
        let failing: Vec<String> = frozen.failing.iter().map(|test| test.name.clone()).collect();
        if !failing.is_empty() {
            let _ = write!(out, " <b class=\"bad\">Red there:</b>{}", names(&failing, MOST_NAMES));
        }
        out.push_str("</li>");
    }
    let new = &earned.new_tests;
    match &new.run {
        Some(run) => {
            let _ = write!(
                out,
                "<li>The new tests on the base's code: {} {} red there by a failed assertion, {} green there too, {} could not be \
                 carried out.",
                side(run),
                new.proved,
                new.idle,
                new.unproven
            );
            for (which, said) in
                [(&new.idle_names, "They prove nothing about the change:"), (&new.unproven_names, "Unproven:")]
            {
                if !which.is_empty() {
                    let _ = write!(out, " {said}{}", names(which, MOST_NAMES));
                }
            }
            out.push_str("</li>");
        }
        None => out.push_str("<li>There is no new test.</li>"),
    }
    out.push_str("</ul>");
    out
}

fn side(side: &Side) -> String {
    let known = side.coverage.as_ref().and_then(|coverage| coverage.known().ok());
    let covered = known.map(|known| format!(" {} are covered.", known.shown())).unwrap_or_default();
    match side.trouble() {
        Some(trouble) => format!("{}; {}.{covered}", prose(&trouble), safe(&side.totals.shown())),
        None => format!("{}.{covered}", safe(&side.totals.shown())),
    }
}

/// A picture, or why there is none.
fn screenshot(one: &Screenshot) -> String {
    let path = code(&one.path);
    match (one.address(), &one.why) {
        (Some(address), _) => {
            format!(
                "<figure><img src=\"{address}\" alt=\"{}\"><figcaption>{path}</figcaption></figure>",
                safe(&one.path)
            )
        }
        (None, why) => format!("<p>{path} is left out: {}.</p>", safe(why.as_deref().unwrap_or("it is no picture"))),
    }
}

fn walls(log: &Artefact) -> String {
    let walls = &log.confinement;
    if walls.confined {
        return "<p><b class=\"ok\">Confined</b>: every wall stood around each command.</p>".to_owned();
    }
    let required = if walls.required { " The policy asks for all of them." } else { "" };
    let told: String = walls.told().iter().map(|one| format!("<li>They {}.</li>", prose(one))).collect();
    format!("<p><b class=\"wait\">Unconfined</b>.{required} What the commands could do:</p><ul>{told}</ul>")
}

/// A rerun does not erase a red one.
fn attempts(log: &Artefact) -> String {
    let rows = log.attempts.iter().map(|attempt| {
        let counts = &attempt.summary;
        let failing = attempt.failing.iter().map(|name| code(name)).collect::<Vec<_>>().join(" ");
        let tests = format!("{} ran, {} failed", counts.total, counts.failed);
        vec![
            moment(attempt.executed_at),
            word(attempt.verdict).to_owned(),
            format!("{tests} {failing}"),
            code(attempt.log.short()),
        ]
    });
    table(&["when", "verdict", "tests", "SHA-256 of its log"], rows)
}

/// The page of one run, to stand beside its log.
pub(super) fn heading(log: &Artefact, home: Option<&Home<'_>>) -> String {
    let class = if log.verdict == crate::finding::Verdict::Pass { "ok" } else { "bad" };
    let of = match (home, log.subject.change) {
        (Some(home), Some(change)) => {
            format!(" of {}", link(&home.pull(change), &safe(&format!("{}#{change}", home.slug))))
        }
        _ => format!(" of {}", safe(&log.module_id)),
    };
    let blocking = log.findings.iter().filter(|one| one.blocks()).count();
    let said = match blocking {
        0 => "Nothing stands against it.".to_owned(),
        1 => "One finding stands against it.".to_owned(),
        more => format!("{more} findings stand against it."),
    };
    format!(
        "<h1>A run of {}{of}</h1><div class=\"verdict {class}\">{} <p>{said}</p></div>",
        log.gate.as_str().to_uppercase(),
        word(log.verdict)
    )
}
