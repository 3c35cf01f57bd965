//! `VER-10`, `VER-11`, `VER-12`: whether the green was earned.

use super::{said_last, shown};
use crate::finding::{Finding, Severity};
use crate::runner::artefact::{Counts, Failing};
use crate::runner::earned::{Earned, NewTests, OldTests};
use crate::runner::text;

/// So many tests are told one by one.
const MOST_TOLD: usize = 20;

pub(super) fn judge(earned: &Earned, head: &Counts) -> Vec<Finding> {
    let mut findings = fewer(earned, head);
    findings.extend(missing(earned, head));
    findings.extend(earned.old_tests.iter().flat_map(|old| old_tests(earned, old)));
    findings.extend(earned.frozen.iter().flat_map(|frozen| frozen_tests(earned, frozen)));
    findings.extend(new_tests(&earned.new_tests, left_to_people(earned)));
    if !earned.demanded {
        findings.iter_mut().for_each(|finding| finding.severity = Severity::Warning);
    }
    findings
}

/// What there is for a change that has its reasons.
fn left_to_people(earned: &Earned) -> &'static str {
    match earned.demanded {
        true => "somebody who may approve can agree to it on the pull request.",
        false => "the reviewers judge that.",
    }
}

/// Names in a sentence.
fn listed(names: &[String], count: u64) -> String {
    let told: Vec<String> = names.iter().take(5).map(|name| shown(name)).collect();
    let more = if count > told.len() as u64 { " and others" } else { "" };
    format!("{}{more}", told.join(", "))
}

fn tests(count: u64) -> String {
    if count == 1 { "1 test".to_owned() } else { format!("{count} tests") }
}

/// `VER-10`: no fewer than on the base.
fn fewer(earned: &Earned, head: &Counts) -> Vec<Finding> {
    let (base, before) = (earned.base.short(), earned.on_base.totals.ran());
    if let (0, Some(trouble)) = (before, earned.on_base.trouble()) {
        // A base whose commands fail may have none yet. One that nothing was run on could have any.
        let (severity, next) = match earned.on_base.why.is_some() {
            true => (
                Severity::Error,
                "Let it be run there: mend what is named here. Where it is about commits in common, merge the branch that it goes \
                 into.",
            ),
            false => (Severity::Warning, "Look whether the commands work on the base."),
        };
        let says =
            format!("How many tests there were on the base ({base}) is not known: {}.", text::line(&trouble, 300));
        let finding = Finding::warning("VER-10", says, next);
        return vec![Finding { severity, ..finding }];
    }
    let mut findings = Vec::new();
    if head.ran() < before {
        let gone = if earned.gone.is_empty() {
            String::new()
        } else {
            format!(" Gone: {}.", listed(&earned.gone, before.saturating_sub(head.ran())))
        };
        findings.push(Finding::error(
            "VER-10",
            format!("{} ran on the base ({base}), and {} on the head.{gone}", tests(before), head.ran()),
            "Bring them back, let them run again, or bring the branch up to date with where it goes.",
        ));
    } else if !earned.gone.is_empty() {
        findings.push(Finding::warning(
            "VER-10",
            format!(
                "Tests of the base are gone or have another name: {}.",
                listed(&earned.gone, earned.gone.len() as u64)
            ),
            "Look whether what they asked for is asked for by others now.",
        ));
    }
    if !earned.now_skipped.is_empty() {
        findings.push(Finding::error(
            "VER-10",
            format!(
                "Skipped now, and run on the base: {}.",
                listed(&earned.now_skipped, earned.now_skipped.len() as u64)
            ),
            "Let them run again.",
        ));
    }
    findings
}

/// `VER-11`: each of the base's tests runs on the head's code. Others in their place are others.
fn missing(earned: &Earned, head: &Counts) -> Option<Finding> {
    let fewer = head.ran() < earned.on_base.totals.ran();
    let told = earned.old_tests.as_ref().is_some_and(|old| old.run.totals.ran() < earned.on_base.totals.ran());
    if earned.missing.is_empty() || fewer || told {
        return None;
    }
    let says = format!(
        "Tests that pass on the base did not run on the head's code, with their files as on the base: {}.",
        listed(&earned.missing, earned.missing.len() as u64)
    );
    let next = format!(
        "Let the head run them again: look at what collects them, and at the data that they are made from. Where what is asked for \
         has changed, {}",
        left_to_people(earned)
    );
    Some(Finding::error("VER-11", says, next))
}

/// `VER-11`: the base's tests pass on the head's code, as the base has them.
fn old_tests(earned: &Earned, old: &OldTests) -> Vec<Finding> {
    let people = left_to_people(earned);
    let next = &format!(
        "Mend the code so that the test passes as the base has it. Where what is asked for has changed, {people}"
    );
    let told = |test: &Failing| {
        let message = text::line(&test.message, 300);
        let why = if message.is_empty() { String::new() } else { format!(": {message}") };
        let says = format!("The test {}, as the base has it, fails on the head's code{why}", shown(&test.name));
        let finding = Finding::error("VER-11", says, next);
        match &test.path {
            Some(path) => finding.at(path.clone(), test.line),
            None => finding,
        }
    };
    let mut findings: Vec<Finding> = old.failing.iter().take(MOST_TOLD).map(told).collect();
    let more = (old.failing.len().saturating_sub(MOST_TOLD) as u64).saturating_add(old.failing_left_out);
    if more > 0 {
        findings.push(Finding::error(
            "VER-11",
            format!("{more} more of the base's tests fail on the head's code."),
            next,
        ));
    }
    if !old.skipped.is_empty() {
        findings.push(Finding::error(
            "VER-11",
            format!(
                "Tests of the base, as the base has them, are skipped on the head's code: {}.",
                listed(&old.skipped, old.skipped.len() as u64)
            ),
            format!("Let the code not tell them to. Where what is asked for has changed, {people}"),
        ));
    }
    if !findings.is_empty() {
        return findings;
    }
    let (before, ran) = (earned.on_base.totals.ran(), old.run.totals.ran());
    let files = listed(&old.files, old.files.len() as u64);
    if ran < before {
        let why = old.run.trouble().map(|why| format!(" ({})", text::line(&why, 300))).unwrap_or_default();
        findings.push(Finding::error(
            "VER-11",
            format!("With {files} as on the base, {ran} of the base's {} ran on the head's code{why}.", tests(before)),
            format!("Keep what they use, and what finds them. Where what is asked for has changed, {people}"),
        ));
    } else if old.beside_new && earned.missing.is_empty() {
        let beside = listed(&old.beside, old.beside.len() as u64);
        let says =
            format!("The base's tests can be carried out on the head's code only beside new files of tests: {beside}.");
        let look = "Look whether these bring what the old ones need, and nothing that lets them pass.";
        findings.push(match old.may_bend {
            true => Finding::error(
                "VER-11",
                says,
                format!(
                    "Let the code and its configuration do without them, or bring what they are needed for in a change of its own. \
                     {look} Where it is so, {people}"
                ),
            ),
            false => Finding::warning("VER-11", says, look),
        });
    }
    findings.extend(red_commands(earned, old, people));
    findings
}

/// Commands that pass on the base and fail there, and no report tells why. One that is itself a file of tests asks like a test; of
/// others it may be that new code is not covered without the new tests.
fn red_commands<'a>(earned: &'a Earned, old: &'a OldTests, people: &'a str) -> impl Iterator<Item = Finding> + 'a {
    let pairs = earned.on_base.commands.iter().zip(&old.run.commands);
    let red = pairs.filter(|(before, now)| before.command == now.command && before.passed() && !now.passed());
    red.map(move |(_, command)| {
        let is_test = |file: &String| {
            command
                .command
                .split(|c: char| c.is_whitespace() || "'\"".contains(c))
                .any(|word| word.trim_start_matches("./") == file)
        };
        let says = format!(
            "With the tests as on the base, {} {} on the head's code, and passes on the base.{}",
            shown(&command.command),
            command.ending(),
            said_last(command)
        );
        match old.files.iter().any(is_test) {
            true => Finding::error(
                "VER-11",
                says,
                format!(
                    "Mend the code so that it passes as the base has it. Where what is asked for has changed, {people}"
                ),
            ),
            false => Finding::warning("VER-11", says, "Look why: no test of a report failed there."),
        }
    })
}

/// `VER-11`: what is frozen passes on the head's code by itself.
fn frozen_tests(earned: &Earned, frozen: &OldTests) -> Vec<Finding> {
    let people = left_to_people(earned);
    let files = listed(&frozen.files, frozen.files.len() as u64);
    let next = &format!(
        "Mend the code so that what is frozen passes without tests that came later. Where what is asked for has changed, {people}"
    );
    // What the run of the base's tests tells is told once.
    let told: Vec<&str> = earned.old_tests.iter().flat_map(|old| &old.failing).map(|test| test.name.as_str()).collect();
    let failing: Vec<&Failing> = frozen.failing.iter().filter(|test| !told.contains(&test.name.as_str())).collect();
    let one = |test: &&Failing| {
        let message = text::line(&test.message, 300);
        let why = if message.is_empty() { String::new() } else { format!(": {message}") };
        let says = format!("Without {files}, which came after the freeze, the test {} fails{why}", shown(&test.name));
        let finding = Finding::error("VER-11", says, next);
        match &test.path {
            Some(path) => finding.at(path.clone(), test.line),
            None => finding,
        }
    };
    let mut findings: Vec<Finding> = failing.iter().take(MOST_TOLD).map(one).collect();
    let more = (failing.len().saturating_sub(MOST_TOLD) as u64).saturating_add(frozen.failing_left_out);
    if more > 0 {
        let says = format!("{more} more tests fail without what came after the freeze.");
        findings.push(Finding::error("VER-11", says, next));
    }
    if !frozen.skipped.is_empty() {
        let names = listed(&frozen.skipped, frozen.skipped.len() as u64);
        findings.push(Finding::error(
            "VER-11",
            format!("Tests that are frozen are skipped on the head's code: {names}."),
            format!("Let the code not tell them to. Where they can't run here, {people}"),
        ));
    }
    if frozen.failing.is_empty()
        && let Some(trouble) = frozen.run.trouble()
    {
        let why = text::line(&trouble, 300);
        let says = format!("Without {files}, which came after the freeze, what is frozen can't be carried out: {why}.");
        findings.push(Finding::error("VER-11", says, next));
    }
    findings
}

/// `VER-12`: each new test is red on the base.
fn new_tests(new: &NewTests, people: &str) -> Vec<Finding> {
    let told = |name: &String| {
        let finding = Finding::error(
            "VER-12",
            format!(
                "The new test {} passes on the base's code too, so it proves nothing about the change.",
                shown(name)
            ),
            format!(
                "Let it ask for what the change brings, and fail without it. Where it tests what was there, {people}"
            ),
        );
        match new.idle_places.get(name) {
            Some(place) => finding.at(place.path.clone(), place.line),
            None => finding,
        }
    };
    let mut findings: Vec<Finding> = new.idle_names.iter().take(MOST_TOLD).map(told).collect();
    if let Some(more) = new.idle.checked_sub(findings.len() as u64).filter(|more| *more > 0) {
        let says = format!("{} more pass on the base's code too.", tests(more));
        findings.push(Finding::error("VER-12", says, "See the names in the log."));
    }
    if !new.skipped.is_empty() {
        findings.push(Finding::warning(
            "VER-12",
            format!(
                "New tests are skipped on the head, or fail as they are marked to, so they show nothing: {}.",
                listed(&new.skipped, new.skipped.len() as u64)
            ),
            "Let them run and pass, or say in the change why they can't yet.",
        ));
    }
    if new.unproven > 0 {
        let trouble = new.run.as_ref().map_or_else(
            || Some("they are not in files of their own".to_owned()),
            |run| run.trouble().filter(|_| run.totals.tests == 0),
        );
        let why = trouble.map(|why| format!(" ({})", text::line(&why, 300))).unwrap_or_default();
        findings.push(Finding::warning(
            "VER-12",
            format!(
                "Unproven: {} did not come as far as a failed assertion on the base's code{why}: {}.",
                if new.unproven == 1 { "1 new test".to_owned() } else { format!("{} new tests", new.unproven) },
                listed(&new.unproven_names, new.unproven)
            ),
            "That a test does not compile or load without the change is no proof. Look at what it asserts.",
        ));
    }
    findings
}

#[cfg(test)]
mod tests;
