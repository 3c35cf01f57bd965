//! A verifier's report: six parts, and no prescription.

use super::words;
use crate::finding::{Finding, quoted};
use crate::ledger::memory::{concludes, is_nothing};
use crate::ledger::snapshot::{LONGEST, line};

/// The parts of a report, in their order, with the words that their headings may have.
const PARTS: [(&str, &[&str]); 6] = [
    ("Verdict", &["verdict", "outcome", "result"]),
    ("Mismatches", &["mismatches", "mismatch list", "mismatch", "unmet"]),
    ("Diagnosis", &["diagnosis", "diagnoses"]),
    ("Evidence gaps", &["evidence gaps", "evidence gap", "gaps"]),
    ("Risk flags", &["risk flags", "risk flag", "risks"]),
    ("Verification suggestions", &["verification suggestions", "verification", "verification suggestion"]),
];

/// A report that may be taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub pass: bool,
    /// What it says, an entry a line, each with its part in front.
    pub lines: Vec<String>,
}

/// The parts that say what is unmet and why, and the one that says how to find out.
const MISMATCHES: usize = 1;
const DIAGNOSIS: usize = 2;
const LOOKING: usize = 5;
/// So many characters are left for what stands in front of an entry.
const LABEL: usize = 40;
/// So many entries has a report at most.
const MOST: usize = 60;
/// And so many bytes.
const LARGEST: usize = 16 * 1024;

/// How a report is written, for whoever has none. What stands in angle brackets is to be replaced: as it is, it is no report.
pub const EXAMPLE: &str = "### Verdict\n<PASS or FAIL>\n### Mismatches\n- <which criterion or gate is unmet, and by what>\n\
### Diagnosis\n- <what the cause may be> (confidence: <low, medium or high>; evidence: <what supports it>)\n### Evidence gaps\n\
- <which facts, logs or tests are missing>\n### Risk flags\n- <where scope or assumptions break>\n### Verification suggestions\n\
- <how to find out>";

/// What a template left standing in an entry.
fn placeholder(text: &str) -> Option<&str> {
    let ours = EXAMPLE.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(words, _)| words);
    let bare = |text: &str| text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_left =
        |words: &&str| text.contains(&format!("<{words}>")) || words.contains(' ') && bare(text) == bare(words);
    let left = ours.into_iter().find(is_left);
    left.or_else(|| text.strip_prefix('<')?.strip_suffix('>').filter(|words| !words.contains(['<', '>'])))
}

/// Reads a report out of Markdown: `SNP-14` for each part that is missing or empty, `SNP-11` for each line that prescribes.
pub fn report(text: &str) -> Result<Report, Vec<Finding>> {
    if text.len() > LARGEST {
        let says = format!("The report has {} bytes; {LARGEST} are taken at most.", text.len());
        return Err(vec![Finding::error("SNP-14", says, "Say what matters for the decision.")]);
    }
    let mut parts = Parts::default();
    let mut current: Option<usize> = None;
    let is_fence = |raw: &str| ["```", "~~~"].iter().any(|mark| raw.trim_start().starts_with(mark));
    // Where there are headings, they are the headings.
    let headed = text.lines().any(|raw| raw.trim_start().starts_with('#') && called(&undecorated(raw)).is_some());
    for (at, raw) in (1..).zip(text.lines()) {
        if is_fence(raw) {
            continue;
        }
        let bare = raw.trim().trim_start_matches(['-', '*', '+', '>']).trim_start_matches('#').trim();
        let plain = line(&bare.replace("**", "").replace("__", ""));
        if plain.is_empty() {
            continue;
        }
        let (start, rest) = plain.split_once(':').map_or((plain.as_str(), ""), |(start, rest)| (start, rest.trim()));
        // `- Result: 500` is what a part says, and `- Verdict: FAIL` is one.
        let heading = raw.trim_start().starts_with('#');
        let listed = raw.trim_start().starts_with(['-', '*', '+']) && !raw.trim_start().starts_with("**");
        let part = match heading || !headed && !listed {
            true => called(start),
            false => called(start).filter(|part| !(headed && listed) && PARTS[*part].0.eq_ignore_ascii_case(start)),
        };
        if let Some(part) = part {
            current = Some(part);
            if !rest.is_empty() {
                parts[part].push((at, rest.to_owned()));
            }
        } else if let Some(part) = current {
            parts[part].push((at, plain));
        }
    }
    told(&parts).map_err(|found| {
        let line = |finding: Finding| match finding.line {
            Some(at) => Finding { says: format!("Line {at} of the report: {}", finding.says), line: None, ..finding },
            None => finding,
        };
        found.into_iter().map(line).collect()
    })
}

/// What each part of a report says, with the lines where it does.
pub(super) type Parts = [Vec<(u32, String)>; 6];

/// A report by its parts, or what is wrong with it, with the line where that is.
pub(super) fn told(parts: &Parts) -> Result<Report, Vec<Finding>> {
    let mut found = Vec::new();
    for ((name, _), said) in PARTS.iter().zip(parts) {
        if said.is_empty() {
            let says = format!("The report has no {}.", quoted(name));
            let next = "A report has six parts: Verdict, Mismatches, Diagnosis, Evidence gaps, Risk flags, Verification suggestions. \
                 Say `none` where there is nothing. In a snapshot each entry begins with its part: `Audit, mismatches: …`.";
            found.push(Finding::error("SNP-14", says, next));
        }
    }
    let verdict = parts[0].first().map(|(_, text)| text.to_uppercase()).unwrap_or_default();
    // `PASS or FAIL` is neither.
    let mut said = verdict.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let (first, second) = (said.next().unwrap_or_default(), said.next().unwrap_or_default());
    let both = ["OR", "AND", "PASS", "FAIL"].contains(&second);
    let (pass, fail) = (first.starts_with("PASS") && !both, first.starts_with("FAIL") && !both);
    if !parts[0].is_empty() && !pass && !fail {
        let says = "The report's verdict is neither PASS nor FAIL.".to_owned();
        found.push(Finding::error("SNP-14", says, "Begin it with one of the two."));
    }
    if !parts[2].is_empty() && !parts[2].iter().any(|(_, text)| is_nothing(text) || has_confidence(text)) {
        let says = "The diagnosis does not say how sure it is.".to_owned();
        let next = "Give each cause its confidence (`low`, `medium`, `high`) and what supports it.";
        found.push(Finding::error("SNP-14", says, next));
    }
    for (part, said) in parts.iter().enumerate() {
        for (at, text) in said {
            if let Some(left) = placeholder(text) {
                let says = format!("{} is still there as the example has it.", quoted(left));
                let next = "Say there what was found, or `none` where there is nothing.";
                found.push(Finding { line: Some(*at), ..Finding::error("SNP-14", says, next) });
            }
            if text.chars().count() > LONGEST - LABEL {
                let says = format!("This entry is longer than {} characters.", LONGEST - LABEL);
                found.push(Finding { line: Some(*at), ..Finding::error("SNP-14", says, "Make it several.") });
            }
            if let Some(order) = words::prescribes(text, part == LOOKING) {
                let says = format!("It prescribes ({}).", quoted(&order));
                let next = "Say what is unmet, what the cause may be and how to find out; what to change is the editor's to decide.";
                found.push(Finding { line: Some(*at), ..Finding::error("SNP-11", says, next) });
            }
        }
    }
    let lines: Vec<String> = PARTS
        .iter()
        .zip(parts)
        .flat_map(|((name, _), said)| said.iter().map(move |(_, text)| entry(name, text)))
        .collect();
    if lines.len() > MOST {
        let says = format!("The report has {} entries; {MOST} are taken at most.", lines.len());
        found.push(Finding::error("SNP-14", says, "Say what matters for the decision."));
    }
    if found.is_empty() { Ok(Report { pass, lines }) } else { Err(found) }
}

/// What is wrong with a report that is owed and names no mismatch, or no cause: `SNP-14`.
pub fn undiagnosed(report: &Report) -> Option<Finding> {
    let says = |part: usize| {
        let label = entry(PARTS[part].0, "");
        report.lines.iter().any(|line| line.starts_with(&label) && concludes(line))
    };
    let (lacks, next) = match (says(MISMATCHES), says(DIAGNOSIS)) {
        (false, _) => (
            "the report names no mismatch",
            "Say which criterion or gate is unmet, and by what; also where the gate seems to be wrong.",
        ),
        (true, false) => (
            "the diagnosis says nothing of why",
            "Say what the cause may be, how sure that is and what supports it; also where the gate seems to be wrong.",
        ),
        (true, true) => return None,
    };
    Some(Finding::error("SNP-14", format!("The gate failed three times or more, and {lacks}."), next))
}

/// Which part of a report an entry of a snapshot is, and what it says: `Audit, diagnosis: …`, as [`report`] writes it.
pub(super) fn labelled(text: &str) -> Option<(usize, &str)> {
    PARTS.iter().enumerate().find_map(|(part, (name, _))| {
        let label = entry(name, "");
        let (start, said) = text.split_at_checked(label.len())?;
        start.eq_ignore_ascii_case(&label).then(|| (part, said.trim()))
    })
}

fn entry(part: &str, text: &str) -> String {
    let whole = format!("Audit, {}: {text}", part.to_lowercase());
    whole.chars().take(LONGEST).collect()
}

fn called(heading: &str) -> Option<usize> {
    // `1. Verdict`
    let bare = heading.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '));
    PARTS.iter().position(|(_, names)| names.iter().any(|name| bare.eq_ignore_ascii_case(name)))
}

/// A line without the marks of lists and headings.
fn undecorated(raw: &str) -> String {
    let bare = raw.trim().trim_start_matches(['-', '*', '+', '>']).trim_start_matches('#').trim();
    let plain = line(&bare.replace("**", "").replace("__", ""));
    plain.split_once(':').map_or(plain.as_str(), |(start, _)| start).to_owned()
}

fn has_confidence(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.contains("confidence") && ["low", "medium", "high"].iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "### Verdict\nFAIL\n### Mismatches\n- AC-2: no test names it\n### Diagnosis\n- stale cache (confidence: high; \
evidence: F-0003)\n### Evidence gaps\n- no log of the failing request\n### Risk flags\n- the scope drifts into `src/auth`\n\
### Verification suggestions\n- run the test alone and compare the two logs";

    #[test]
    fn the_example_is_no_report_before_it_is_filled_in() {
        let found = report(EXAMPLE).unwrap_err();
        assert!(found.iter().all(|one| one.rule == "SNP-14"), "{found:?}");
        for words in EXAMPLE.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(words, _)| words) {
            let one = GOOD.replace("no log of the failing request", &format!("no log <{words}>"));
            let found = report(&one).unwrap_err();
            assert!(found.len() == 1 && found[0].says.contains(words), "{words}: {found:?}");
        }
        assert_eq!(report(&GOOD.replace("no log of the failing request", "<what>")).unwrap_err().len(), 1);
        assert!(report(&GOOD.replace("no log of", "no `Vec<String>` and no Vec<u8> of")).is_ok());
    }

    #[test]
    fn a_verdict_is_one_of_two() {
        for verdict in ["PASS", "pass.", "FAIL: AC-2 is unmet", "Failed", "FAIL, since it does not pass"] {
            assert!(report(&GOOD.replacen("FAIL", verdict, 1)).is_ok(), "{verdict}");
        }
        for verdict in ["PASS or FAIL", "PASS/FAIL", "pass and fail", "perhaps"] {
            assert_eq!(report(&GOOD.replacen("FAIL", verdict, 1)).unwrap_err()[0].rule, "SNP-14", "{verdict}");
        }
    }

    #[test]
    fn a_diagnosis_says_something() {
        let diagnosed = |says: &str| {
            let of = |line: &String| line.starts_with("Audit, diagnosis:");
            let mut good = report(GOOD).unwrap();
            let at = good.lines.iter().position(of).unwrap();
            good.lines[at] = format!("Audit, diagnosis: {says}");
            undiagnosed(&good)
        };
        for says in ["?", "- (confidence: low)", "… (confidence: high)", "none (confidence: low)", "n/a", "TBD"] {
            assert_eq!(diagnosed(says).map(|found| found.rule), Some("SNP-14".to_owned()), "{says}");
        }
        for says in ["stale cache (confidence: high)", "None of the callers lock it (confidence: low)"] {
            assert_eq!(diagnosed(says), None, "{says}");
        }
        let copied = "which criterion or gate is unmet, and by what";
        assert_eq!(report(&GOOD.replace("AC-2: no test names it", copied)).unwrap_err()[0].rule, "SNP-14");
        for nothing in ["There are none.", "All criteria are met."] {
            let hollow = report(&GOOD.replace("AC-2: no test names it", nothing)).unwrap();
            assert!(undiagnosed(&hollow).is_some(), "{nothing}");
        }
        let unmet = report(&GOOD.replace("AC-2: no test names it", "none")).map(|report| undiagnosed(&report));
        assert!(unmet.unwrap().unwrap().says.ends_with("the report names no mismatch."));
    }

    #[test]
    fn what_a_part_says_begins_no_other_part() {
        let with = |line: &str| report(&GOOD.replace("- AC-2: no test names it", line)).map(|report| report.lines);
        for line in [
            "- Result: 500 and expected 200",
            "- Outcome: 500",
            "Risks: many",
            "- Verification: red",
            "* Diagnosis: late",
        ] {
            let lines = with(line).unwrap();
            assert_eq!(lines.len(), 6, "{line}");
            assert!(lines[1].starts_with("Audit, mismatches: "), "{lines:?}");
        }
        let plain = "- Verdict: FAIL\n- Mismatches:\n- Result: 500 and expected 200\n- Diagnosis: late (confidence: low)\n\
                     - Evidence gaps: none\n- Risk flags: none\n- Verification suggestions: none";
        assert_eq!(report(plain).unwrap().lines[1], "Audit, mismatches: Result: 500 and expected 200");
    }

    #[test]
    fn marks_of_code_are_no_entries_and_a_long_one_is_told() {
        let fenced = format!("```\n{GOOD}\n```");
        assert_eq!(report(&fenced).unwrap(), report(GOOD).unwrap());
        let found = report(&GOOD.replace("stale cache", &"stale ".repeat(200))).unwrap_err();
        assert!(found.len() == 1 && found[0].says.contains("longer than"), "{found:?}");
    }

    #[test]
    fn a_report_has_six_parts() {
        let taken = report(GOOD).unwrap();
        assert!(!taken.pass);
        assert_eq!(taken.lines.len(), 6);
        assert_eq!(taken.lines[1], "Audit, mismatches: AC-2: no test names it");
        let plain = "Verdict: PASS\n**Mismatches:** none\n1. Diagnosis: none\nEvidence gaps: none.\nRisks: none\nVerification: none";
        assert!(report(plain).unwrap().pass);
    }

    #[test]
    fn each_part_that_is_missing_is_told() {
        for (name, _) in PARTS {
            let without: Vec<&str> = GOOD.split("### ").filter(|part| !part.starts_with(name)).collect();
            let found = report(&without.join("### ")).unwrap_err();
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            assert!(found[0].rule == "SNP-14" && found[0].says.contains(name), "{found:?}");
        }
        assert_eq!(report("").unwrap_err().len(), 6);
        assert_eq!(report(&GOOD.replace("FAIL", "perhaps")).unwrap_err()[0].rule, "SNP-14");
        assert_eq!(report(&GOOD.replace("confidence: high; ", "")).unwrap_err()[0].rule, "SNP-14");
        assert_eq!(report(&"x\n".repeat(20_000)).unwrap_err().len(), 1);
    }

    #[test]
    fn a_prescription_is_refused_with_its_line() {
        let found = report(&GOOD.replace("- stale cache", "- Replace the cache. It is stale")).unwrap_err();
        assert_eq!((found.len(), found[0].rule.as_str()), (1, "SNP-11"));
        assert!(found[0].says.starts_with("Line 6 of the report"), "{found:?}");
        let found =
            report(&GOOD.replace("- run the test", "- We should rewrite the parser and run the test")).unwrap_err();
        assert_eq!(found[0].rule, "SNP-11");
    }

    /// What a report is made of, and what it is not.
    const PIECES: [&str; 34] = [
        "\n",
        "\n",
        "\n",
        "\r\n",
        " ",
        "- ",
        "* ",
        "> ",
        "### ",
        "**",
        "__",
        "1. ",
        "Verdict",
        "Verdict: PASS\n",
        "### Verdict\nFAIL\n",
        "Mismatches: none\n",
        "Diagnosis: x (confidence: low)\n",
        "Diagnosis",
        "Evidence gaps: none\n",
        "Gaps",
        "Risk flags:",
        "Risks: none\n",
        "Verification: none\n",
        "Verification suggestions",
        ":",
        "none",
        "Replace the loop",
        "`code`",
        "\"",
        "“",
        "é🧭",
        "\0",
        "\u{202e}",
        "<!--",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

        /// Any text is a report or has something wrong with it; what a report says is a report again, entry by entry.
        #[test]
        fn any_text_is_a_report_or_is_told_why_not(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60), good in any::<bool>()) {
            let text = if good { format!("{GOOD}\n{}", pieces.concat()) } else { pieces.concat() };
            match report(&text) {
                Err(found) => prop_assert!(!found.is_empty() && found.iter().all(|one| ["SNP-11", "SNP-14"].contains(&one.rule.as_str()))),
                Ok(taken) => {
                    prop_assert!(taken.lines.len() <= MOST && taken.lines.iter().all(|line| line.chars().count() <= LONGEST));
                    let mut parts = Parts::default();
                    for line in &taken.lines {
                        let (part, said) = labelled(line).unwrap();
                        parts[part].push((1, said.to_owned()));
                    }
                    prop_assert_eq!(told(&parts), Ok(taken));
                }
            }
        }
    }

    #[test]
    fn a_long_report_is_read_to_its_end() {
        for piece in PIECES {
            let text = format!("{GOOD}\n{}", piece.repeat((LARGEST - GOOD.len() - 1) / piece.len()));
            assert!(report(&text).err().is_none_or(|found| !found.is_empty()), "{piece:?}");
        }
    }
}
