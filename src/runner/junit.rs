//! Reading JUnit XML, as nextest, pytest, jest-junit, gotestsum, surefire and their kin write it.
//!
//! There is no one definition of the format, so this reads what they have in common and knows the few places where one
//! differs. A report is text of the change: what is read is bounded, no entity is followed, and what it says of itself in
//! numbers is believed only where it is the worse.

use std::collections::HashMap;

use roxmltree::Node;

use super::lacks::{self, Told};
use super::text;
use super::xml::{self, is};

/// What a test is called whose report does not say it.
const NO_NAME: &str = "(not named)";
const LONGEST_NAME: usize = 300;
const LONGEST_MESSAGE: usize = 500;
const LONGEST_DETAILS: usize = 2_000;
/// More failures of suites are not told one by one.
const MOST_OF_SUITES: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// An assertion did not hold.
    Failed,
    /// It could not be carried out.
    Error,
    Skipped,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) suite: String,
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    /// It passed, but not at the first try.
    pub(crate) flaky: bool,
    /// How many tries before the last one failed, as far as the report tells them.
    pub(crate) reds: u32,
    pub(crate) millis: u64,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// Why it did not pass, in a line; and all that was said about it.
    pub(crate) message: String,
    pub(crate) details: String,
    /// It did not fail in what it asserts.
    pub(crate) lacks: bool,
    /// It was never begun: it could not be loaded, built or set up.
    pub(crate) unloaded: bool,
}

impl Case {
    pub(crate) fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed | Outcome::Error)
    }
}

/// The tests of a report; or in one sentence why it can't be read. At most `most` are read.
pub(crate) fn read(bytes: &[u8], most: usize) -> Result<Vec<Case>, String> {
    xml::read(bytes, |root| cases(root, most))
}

fn cases(root: Node<'_, '_>, most: usize) -> Result<Vec<Case>, String> {
    if !matches!(root.tag_name().name(), "testsuites" | "testsuite") {
        let name = text::line(root.tag_name().name(), 60);
        return Err(format!("it is no JUnit report: its root is `{name}`, not `testsuites` or `testsuite`"));
    }
    let mut cases = Vec::new();
    for node in root.descendants().filter(|node| is(node, "testcase")) {
        if cases.len() == most {
            return Err(format!("it has more than {most} tests"));
        }
        cases.push(case(node));
    }
    let mut cases = tried_again(&root, cases);
    cases.extend(of_suites(&root));
    Ok(unnamed(&root, cases))
}

fn child<'a, 'i>(node: Node<'a, 'i>, names: &[&str]) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.is_element() && names.contains(&child.tag_name().name()))
}

/// What some write at a test that did not pass, with or without an element in it.
const FAILED: &[&str] = &["fail", "failed", "failure"];
const BROKE: &[&str] = &["aborted", "broken", "crashed", "error", "errored", "timedout", "timeout", "undefined"];

fn case(node: Node<'_, '_>) -> Case {
    let suite = node.ancestors().find(|above| is(above, "testsuite"));
    let of = |node: Node<'_, '_>, name: &str| text::line(node.attribute(name).unwrap_or_default(), LONGEST_NAME);
    let marked = |name: &str, words: &[&str]| {
        let value = node.attribute(name).map(|value| value.trim().to_ascii_lowercase());
        value.is_some_and(|value| words.contains(&value.as_str()))
    };
    let (outcome, why) = if let Some(why) = child(node, &["failure"]) {
        (Outcome::Failed, Some(why))
    } else if let Some(why) = child(node, &["error"]) {
        (Outcome::Error, Some(why))
    } else if let Some(why) = child(node, &["rerunFailure"]) {
        // Without the failure that they are the tries of, they are all that is told of it.
        (Outcome::Failed, Some(why))
    } else if let Some(why) = child(node, &["rerunError"]) {
        (Outcome::Error, Some(why))
    } else if marked("status", FAILED) || marked("result", FAILED) {
        (Outcome::Failed, None)
    } else if marked("status", BROKE) || marked("result", BROKE) {
        (Outcome::Error, None)
    } else if child(node, &["skipped", "disabled"]).is_some()
        || marked("status", &["notrun", "skipped", "disabled", "ignored", "pending", "todo"])
        || marked("result", &["suppressed", "skipped"])
    {
        (Outcome::Skipped, None)
    } else {
        (Outcome::Passed, None)
    };
    let again = child(node, &["flakyFailure", "flakyError"]);
    let tries = ["flakyFailure", "flakyError", "rerunFailure", "rerunError"];
    let reds = node.children().filter(|child| child.is_element() && tries.contains(&child.tag_name().name())).count();
    let Said { message, details, lacks, unloaded } = why.or(again).map(said).unwrap_or_default();
    Case {
        suite: suite.map(|suite| of(suite, "name")).unwrap_or_default(),
        class: of(node, "classname"),
        name: Some(of(node, "name")).filter(|name| !name.is_empty()).unwrap_or_else(|| NO_NAME.to_owned()),
        outcome,
        flaky: outcome == Outcome::Passed && again.is_some(),
        reds: u32::try_from(reds).unwrap_or(u32::MAX),
        millis: millis(node.attribute("time")),
        file: node.attribute("file").map(|file| file.to_owned()).filter(|file| !file.trim().is_empty()),
        line: node.attribute("line").and_then(|line| line.trim().parse().ok()).map(|line: u32| {
            // pytest counts lines from 0.
            let from_0 = suite.is_some_and(|suite| suite.attribute("name") == Some("pytest"));
            if from_0 { line.saturating_add(1) } else { line }
        }),
        message,
        details,
        lacks: outcome == Outcome::Error || lacks,
        unloaded,
    }
}

/// What failed of a suite and is no test's: what comes before or after all of them.
fn of_suites(root: &Node<'_, '_>) -> Vec<Case> {
    let is_suite = |node: &Node<'_, '_>| is(node, "testsuite") || is(node, "testsuites");
    let told = |(why, outcome): (Node<'_, '_>, Outcome)| {
        let name = why.parent().and_then(|suite| suite.attribute("name")).unwrap_or_default();
        let Said { message, details, lacks, unloaded } = said(why);
        Case {
            suite: text::line(name, LONGEST_NAME),
            class: String::new(),
            name: "(the suite itself)".to_owned(),
            outcome,
            flaky: false,
            reds: 0,
            millis: 0,
            file: None,
            line: None,
            message,
            details,
            lacks: outcome == Outcome::Error || lacks,
            unloaded,
        }
    };
    let below = root.descendants().filter(|node| node.parent().is_some_and(|above| is_suite(&above)));
    let failed = below.filter_map(|node| match node.tag_name().name() {
        "failure" => Some((node, Outcome::Failed)),
        "error" => Some((node, Outcome::Error)),
        _ => None,
    });
    failed.take(MOST_OF_SUITES).map(told).collect()
}

/// What a failure says.
#[derive(Default)]
struct Said {
    /// In a line.
    message: String,
    /// In full, as far as it is kept.
    details: String,
    lacks: bool,
    unloaded: bool,
}

fn said(why: Node<'_, '_>) -> Said {
    let mut own: String = why.children().filter(Node::is_text).filter_map(|node| node.text()).collect();
    if own.trim().is_empty() {
        own = child(why, &["stackTrace"]).and_then(|node| node.text()).unwrap_or_default().to_owned();
    }
    let details = text::block(&own);
    let details = details.trim_matches('\n');
    // Go says what it runs and how that ended around what the test said.
    let speaks = |line: &&str| !line.trim().is_empty() && !line.starts_with("=== ") && !line.trim().starts_with("--- ");
    let mut lines = details.lines().filter(speaks).map(str::trim);
    let first = lines.next().unwrap_or_default();
    let message = match why.attribute("message").map(str::trim) {
        None | Some("" | "Failed") if !first.is_empty() => first.to_owned(),
        // Rust's first line is where it panicked, and the second why.
        Some(message) if first.trim_end_matches(':') == message => match lines.next() {
            Some(second) => format!("{message}: {second}"),
            None => message.to_owned(),
        },
        message => message.unwrap_or_default().to_owned(),
    };
    let message = text::line(&message, LONGEST_MESSAGE);
    let kind = why.attribute("type").unwrap_or_default().trim();
    let told = Told { kind, message: &message, body: details };
    let (lacks, unloaded) = (lacks::says(&told), lacks::was_unloaded(&told));
    Said { details: text::head(details, LONGEST_DETAILS), lacks, unloaded, message }
}

fn millis(seconds: Option<&str>) -> u64 {
    let seconds: Option<f64> = seconds.and_then(|text| text.trim().replace(',', "").parse().ok());
    let millis = seconds.filter(|seconds| seconds.is_finite()).unwrap_or_default().clamp(0.0, 1e9) * 1000.0;
    // At most a thousand years, which fits.
    millis.round() as u64
}

/// gotestsum writes a test that was run again as two. A test's name is its own in a package of Go, and only there: of
/// others the second may be another test, whose green hides no red.
fn tried_again(root: &Node<'_, '_>, cases: Vec<Case>) -> Vec<Case> {
    let go = root.descendants().any(|node| is(&node, "property") && node.attribute("name") == Some("go.version"));
    if !go {
        return cases;
    }
    let mut kept: Vec<Case> = Vec::new();
    let mut known: HashMap<(String, String, String), usize> = HashMap::new();
    for case in cases {
        let key = (case.suite.clone(), case.class.clone(), case.name.clone());
        let Some(at) = known.get(&key) else {
            known.insert(key, kept.len());
            kept.push(case);
            continue;
        };
        let before = &mut kept[*at];
        let flaky = before.failed() && case.outcome == Outcome::Passed;
        let (message, details) = if flaky {
            (before.message.clone(), before.details.clone())
        } else {
            (case.message.clone(), case.details.clone())
        };
        let flaky = flaky || (before.flaky && case.outcome == Outcome::Passed);
        let reds = before.reds.saturating_add(u32::from(before.failed()));
        *before = Case { flaky, reds, message, details, ..case };
    }
    kept
}

/// Failures that are counted and not shown: a package that does not compile, a file that can't be loaded. Where a test passed at
/// a later try, its earlier ones may be counted too. Where one is shown that failed, the report is red as it is.
fn unnamed(root: &Node<'_, '_>, mut cases: Vec<Case>) -> Vec<Case> {
    if cases.iter().any(Case::failed) {
        return cases;
    }
    let again: u64 = cases.iter().filter(|case| case.flaky).map(|case| u64::from(case.reds).max(1)).sum();
    let count = counted(root).saturating_sub(again);
    if count > 0 {
        let what = if count == 1 {
            "a failure that it does not show".to_owned()
        } else {
            format!("{count} failures that it does not show")
        };
        cases.push(Case {
            suite: String::new(),
            class: String::new(),
            name: NO_NAME.to_owned(),
            outcome: Outcome::Error,
            flaky: false,
            reds: 0,
            millis: 0,
            file: None,
            line: None,
            message: format!("The report counts {what}."),
            details: String::new(),
            lacks: true,
            unloaded: true,
        });
    }
    cases
}

/// The failures that a suite counts, itself or in the suites below it, whichever are more: not all of them count what is below.
/// How deep they are nested is bounded.
fn counted(suite: &Node<'_, '_>) -> u64 {
    // As many as there are, in whatever form: what is too large for a number is many.
    let of = |name: &str| {
        let count = suite.attribute(name).and_then(|text| text.trim().parse::<f64>().ok());
        count.filter(|count| count.is_finite()).unwrap_or_default().clamp(0.0, 1e15).ceil() as u64
    };
    let below = suite.children().filter(|node| is(node, "testsuite") || is(node, "testsuites"));
    let below = below.map(|suite| counted(&suite)).fold(0, u64::saturating_add);
    of("failures").saturating_add(of("errors")).max(below)
}

#[cfg(test)]
mod tests;
