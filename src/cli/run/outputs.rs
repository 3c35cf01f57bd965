//! What the steps after a run get: `verdict`, `reason` and `json`.

use crate::action::report::MOST_OF_JSON;
use crate::finding::Verdict;
use crate::runner::artefact::Artefact;
use crate::runner::text;

const LONGEST_REASON: usize = 300;

/// The outputs by name. There are none for a phase or a change: a run knows of commands alone.
pub(super) fn of(artefact: &Artefact) -> anyhow::Result<[(&'static str, String); 3]> {
    let verdict = match artefact.verdict {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
    };
    Ok([("verdict", verdict.to_owned()), ("reason", reason(artefact)), ("json", json(artefact)?)])
}

/// Why, in a line.
fn reason(artefact: &Artefact) -> String {
    let mut against = artefact.findings.iter().filter(|finding| finding.blocks());
    let reason = match (against.next(), against.count()) {
        (None, _) if artefact.totals.tests > 0 => artefact.totals.shown(),
        (None, _) => "Each command passed; no report was read.".to_owned(),
        (Some(first), 0) => format!("{} {}", first.rule, first.says),
        (Some(first), more) => {
            // Its own words may be long, and how many there are is to be seen.
            let first = text::line(&format!("{} {}", first.rule, first.says), LONGEST_REASON - 20);
            format!("{first} (and {more} more)")
        }
    };
    text::line(&reason, LONGEST_REASON)
}

/// The artefact without what commands and tests printed: `execution_log.json` has that. Empty where it is too large all the same.
fn json(artefact: &Artefact) -> anyhow::Result<String> {
    let mut short = artefact.clone();
    for output in short.commands.iter_mut().filter_map(|command| command.output.as_mut()) {
        output.whole &= output.tail.is_empty();
        output.tail.clear();
    }
    short.failing.iter_mut().for_each(|test| test.details.clear());
    let text = serde_json::to_string(&short)?;
    Ok(if text.len() <= MOST_OF_JSON { text } else { String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Finding;
    use crate::runner::artefact::sample;

    #[test]
    fn a_reason_is_one_line_and_counts_the_rest() {
        let mut artefact = sample();
        assert!(reason(&artefact).starts_with("VER-01 The test `a::b` failed"), "{}", reason(&artefact));
        artefact.findings.push(Finding::error("VER-09", "no", "mend"));
        assert!(reason(&artefact).ends_with(" (and 1 more)"), "{}", reason(&artefact));
        artefact.findings[0].says = "x\n".repeat(900);
        let long = reason(&artefact);
        assert!(long.ends_with("… (and 1 more)") && long.chars().count() <= LONGEST_REASON, "{long}");
        artefact.findings = vec![Finding::warning("VER-01", "slow", "look")];
        assert_eq!(reason(&artefact), "4 tests: 2 passed (1 at a later try), 1 failed, 1 skipped");
    }

    #[test]
    fn the_object_is_an_artefact_without_what_was_printed() {
        let mut artefact = sample();
        artefact.failing[0].details = "a trace".to_owned();
        let short: Artefact = serde_json::from_str(&json(&artefact).unwrap()).unwrap();
        let kept = short.commands[0].output.as_ref().unwrap();
        assert_eq!((kept.tail.as_str(), kept.whole, kept.bytes), ("", false, 3));
        assert_eq!((short.failing[0].details.as_str(), short.failing[0].name.as_str()), ("", "a::b"));
        artefact.flaky = vec!["x".repeat(MOST_OF_JSON)];
        assert_eq!(json(&artefact).unwrap(), "");
    }
}
