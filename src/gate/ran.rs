//! BUILD and VERIFY as far as running the policy's commands shows them: `phasegate run`.
//!
//! Pure, over what was seen ([`Facts`]). An exit status of 0 is not believed alone: where the policy has promised reports,
//! they must be there, be of this run, and show that tests ran and that none failed.

mod coverage;
mod earned;
pub mod proofs;

use crate::finding::{Finding, quoted};
use crate::gate::build;
use crate::policy::RunGate;
use crate::runner::artefact::{Attempt, CommandOutcome, CommandRun, Facts, Failing, Report, ReportState};
use crate::runner::text;

/// The rules of a gate.
struct Rules {
    /// Each command passed.
    commands: &'static str,
    /// No test failed.
    tests: &'static str,
    /// It is shown that tests ran.
    ran: &'static str,
    /// No red attempt is hidden.
    again: &'static str,
}

const BUILD: Rules = Rules { commands: "BLD-01", tests: "BLD-02", ran: "BLD-02", again: "BLD-02" };
const VERIFY: Rules = Rules { commands: "VER-01", tests: "VER-01", ran: "VER-09", again: "VER-13" };

pub fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let rules = match facts.gate {
        RunGate::Build => BUILD,
        RunGate::Verify => VERIFY,
    };
    let mut findings = commands(&rules, facts);
    let all_passed = !facts.commands.is_empty() && facts.commands.iter().all(|one| one.audit || one.passed());
    findings.extend(failing(&rules, facts));
    // After a command that failed, what comes after it is missing because of that.
    if all_passed {
        findings.extend(reports(&rules, facts));
    }
    if let Some(earned) = facts.earned {
        findings.extend(earned::judge(earned, facts.totals));
    }
    if all_passed {
        findings.extend(coverage::judge(facts));
    }
    // What shows the criteria is run on what was built, so after a failure it says nothing.
    if let Some(proofs) = facts.proofs.filter(|_| all_passed) {
        findings.extend(proofs::judge(proofs));
    }
    findings.extend(unfrozen(facts));
    findings.extend(rewritten(facts));
    findings.extend(wordless(facts));
    findings.extend(attempts(&rules, facts));
    findings.extend(confinement(&rules, facts));
    findings
}

/// Attempts before this one that ended badly: they are told as long as there are any.
fn attempts(rules: &Rules, facts: &Facts<'_>) -> Option<Finding> {
    let red: Vec<&Attempt> = facts.attempts.iter().filter(|attempt| attempt.is_red()).collect();
    let last = red.last()?;
    let times = if red.len() == 1 { "once".to_owned() } else { format!("{} times", red.len()) };
    let names: Vec<String> = last.failing.iter().take(5).map(|name| shown(name)).collect();
    let more = if last.summary.failed > names.len() as u64 { " and others" } else { "" };
    let (what, by) = match names.as_slice() {
        [] if last.rules.is_empty() => ("This gate", String::new()),
        [] => ("This gate", format!(" by {}", last.rules.join(", "))),
        names => ("Tests", format!(": {}{more}", names.join(", "))),
    };
    Some(Finding::warning(
        rules.again,
        format!("{what} failed {times} before on the same content, last at {}{by}.", last.executed_at),
        "Find out why. A later green does not take that back.",
    ))
}

fn shown(text: &str) -> String {
    quoted(&text::line(text, 200))
}

fn commands(rules: &Rules, facts: &Facts<'_>) -> Vec<Finding> {
    let gate = facts.gate;
    if facts.commands.is_empty() {
        let next = format!("Name them under `gates.{gate}.run` in the policy.");
        return vec![Finding::error(rules.commands, "Nothing was run: there are no commands.", next)];
    }
    let failed = |command: &&CommandRun| !command.passed() && command.outcome != CommandOutcome::NotRun;
    let told = |command: &CommandRun| {
        let next = match command.outcome {
            CommandOutcome::TimedOut => format!(
                "Find what hangs, or give the gate more time: `gates.{gate}.timeout`, which is {} s.",
                facts.timeout_s
            ),
            CommandOutcome::OverLimit => {
                format!("Find what it needs that for, or allow more: `gates.{gate}.confine` in the policy.")
            }
            CommandOutcome::NotStarted => "See that there is a shell, and that the folder can be entered.".to_owned(),
            _ if command.audit => {
                "Update what it names, or do without it. What it must not count is for the audit's own settings to say."
                    .to_owned()
            }
            _ => format!("Read what it said, mend the change, and try it here: `phasegate run {gate}`."),
        };
        let says = format!("{} {}.", shown(&command.command), command.ending());
        let last = if command.audit { said_last(command) } else { String::new() };
        Finding::error(rule(rules, command), format!("{says}{last}"), next)
    };
    let mut findings: Vec<Finding> = facts.commands.iter().filter(failed).map(told).collect();
    // Without one that failed before it, it should have been its turn.
    if findings.is_empty()
        && let Some(left_out) = facts.commands.iter().find(|command| !command.passed())
    {
        findings.push(Finding::error(
            rule(rules, left_out),
            format!("{} was not run: the gate's time was over.", shown(&left_out.command)),
            format!("Give the gate more time: `gates.{gate}.timeout`, which is {} s.", facts.timeout_s),
        ));
    }
    findings
}

/// `BLD-05` for what audits the dependencies.
fn rule(rules: &Rules, command: &CommandRun) -> &'static str {
    if command.audit { "BLD-05" } else { rules.commands }
}

/// How a command ended, in its own words: an audit's last lines name what it found.
fn said_last(command: &CommandRun) -> String {
    let tail = command.output.as_ref().map(|output| output.tail.as_str()).unwrap_or_default();
    let lines: Vec<&str> = tail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(6)..].join(" · ");
    if last.is_empty() { String::new() } else { format!(" It said last: {}", quoted(&text::line(&last, 500))) }
}

/// `VER-16`: whoever is to mend it can see what went wrong.
fn wordless(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.gate != RunGate::Verify {
        return Vec::new();
    }
    let silent = |command: &&CommandRun| {
        let said = command.output.as_ref();
        !command.passed() && !command.audit && said.is_some_and(|output| output.tail.trim().is_empty())
    };
    let next = "Let it say what was asked for and what came. Until then, run the command itself at this commit.";
    let commands =
        facts.commands.iter().filter(silent).map(|command| {
            Finding::warning("VER-16", format!("{} failed without a word.", shown(&command.command)), next)
        });
    let tests = facts.failing.iter().filter(|test| test.message.trim().is_empty() && test.details.trim().is_empty());
    let tests = tests.map(|test| {
        let finding =
            Finding::warning("VER-16", format!("The test {} failed without a word.", shown(&test.name)), next);
        match &test.path {
            Some(path) => finding.at(path.clone(), test.line),
            None => finding,
        }
    });
    commands.chain(tests).collect()
}

/// `VER-11`, before anything is held against the base: tests that nobody knows as such can be bent without a word.
fn unfrozen(facts: &Facts<'_>) -> Option<Finding> {
    let totals = facts.totals;
    let is_green = totals.ran() > 0 && totals.failed == 0 && totals.errors == 0;
    if facts.gate != RunGate::Verify || !is_green || facts.test_files != Some(0) {
        return None;
    }
    let tests = if totals.ran() == 1 { "A test".to_owned() } else { format!("{} tests", totals.ran()) };
    let says = format!("{tests} ran, and no file of this content is known as a test: nothing of the tests is frozen.");
    let next = "Name their files in the policy: `freeze: { tests: [\"checks/**\"] }`. Known are folders and files that are called as \
                usual, such as `tests/` and `test_*.py`.";
    Some(Finding::warning("VER-11", says, next))
}

/// `VER-15`: what was judged is what is there.
fn rewritten(facts: &Facts<'_>) -> Vec<Finding> {
    let told = |path: &String| {
        let says = "The commands wrote this file anew, so what they judged is not what is there.";
        let next = format!(
            "Commit what they write, or let `gates.{}.run` leave it alone (`--locked`, `--ci`, no update of snapshots).",
            facts.gate
        );
        // A tool brings its lock up to date by itself. That it is in step is asked elsewhere (`BLD-06`).
        let finding = match build::is_lock(path) {
            true => Finding::warning("VER-15", says, next),
            false => Finding::error("VER-15", says, next),
        };
        finding.at(path.clone(), None)
    };
    facts.rewritten.iter().map(told).collect()
}

/// What was open around the commands. Whether that counts is the policy's to say.
fn confinement(rules: &Rules, facts: &Facts<'_>) -> Option<Finding> {
    let gate = facts.gate;
    let told = facts.confinement.told();
    if facts.confinement.confined || told.is_empty() {
        return None;
    }
    let says = format!("Unconfined: the commands {}.", text::line(&told.join("; "), 600));
    Some(match facts.confinement.required {
        true => Finding::error(
            rules.commands,
            says,
            format!(
                "Run it on Linux where namespaces and Landlock can be had, or take `gates.{gate}.confine.required` out of the policy."
            ),
        ),
        false => Finding::warning(
            rules.commands,
            says,
            format!(
                "On Linux with namespaces and Landlock all walls can be put up; `gates.{gate}.confine: {{ required: true }}` asks for them."
            ),
        ),
    })
}

fn failing(rules: &Rules, facts: &Facts<'_>) -> Vec<Finding> {
    let told = |test: &Failing| {
        let message = text::line(&test.message, 300);
        let why = if message.is_empty() { String::new() } else { format!(": {message}") };
        let finding = Finding::error(
            rules.tests,
            format!("The test {} failed{why}", shown(&test.name)),
            format!("Mend the change, and try it here: `phasegate run {}`.", facts.gate),
        );
        match &test.path {
            Some(path) => finding.at(path.clone(), test.line),
            None => finding,
        }
    };
    let mut findings: Vec<Finding> = facts.failing.iter().map(told).collect();
    if facts.failing_left_out > 0 {
        findings.push(Finding::error(
            rules.tests,
            format!("{} more tests failed.", facts.failing_left_out),
            "Their names are in the reports.",
        ));
    }
    if facts.totals.flaky > 0 {
        let names: Vec<String> = facts.flaky.iter().take(5).map(|name| shown(name)).collect();
        let more = if facts.totals.flaky > names.len() as u64 { " and others" } else { "" };
        findings.push(Finding::warning(
            rules.again,
            format!("Passed at a later try only: {}{more}.", names.join(", ")),
            "Find out why the first try failed.",
        ));
    }
    findings
}

fn reports(rules: &Rules, facts: &Facts<'_>) -> Vec<Finding> {
    let gate = facts.gate;
    if facts.promised.is_empty() {
        let unknown = Finding::warning(
            rules.ran,
            "Whether any test ran is not known: the policy names no report.",
            format!("Have the commands write JUnit XML, and name it under `gates.{gate}.reports`."),
        );
        return if facts.gate == RunGate::Verify { vec![unknown] } else { Vec::new() };
    }
    let told = |report: &Report| {
        let name = shown(report.path.as_deref().unwrap_or(&report.glob));
        let why = text::line(report.why.as_deref().unwrap_or_default(), 300);
        let (says, next) = match report.state {
            ReportState::Read => return None,
            ReportState::Missing => (
                format!("A report was promised and is not there: nothing matches {name}."),
                format!("Have the commands write it there, or correct `gates.{gate}.reports`."),
            ),
            ReportState::Stale => (
                format!("The report {name} is not of this run: {why}."),
                "Take it out of the repository, and delete it before the commands are run.".to_owned(),
            ),
            ReportState::Unreadable => (
                format!("The report {name} can't be read: {why}."),
                "Have the commands write JUnit XML there.".to_owned(),
            ),
        };
        let finding = Finding::error(rules.ran, says, next);
        Some(match &report.path {
            Some(path) => finding.at(path.clone(), None),
            None => finding,
        })
    };
    let mut findings: Vec<Finding> = facts.reports.iter().filter_map(told).collect();
    if findings.is_empty() && facts.totals.ran() == 0 {
        let says = match facts.totals.skipped {
            0 => "No test ran: the reports have none.".to_owned(),
            skipped => format!("No test ran: all {skipped} were skipped."),
        };
        findings.push(Finding::error(
            rules.ran,
            says,
            "See that the commands run the tests, and don't leave all of them out.",
        ));
    }
    findings
}

#[cfg(test)]
mod tests;
