//! The sections that the documents should have, by their names.

use super::text::words;

/// A section that a document should have.
#[derive(Debug, PartialEq, Eq)]
pub struct Name {
    pub name: &'static str,
    pub others: &'static [&'static str],
    /// Whether `none` is an answer.
    pub none: bool,
}

const fn named(name: &'static str, others: &'static [&'static str]) -> Name {
    Name { name, others, none: false }
}

const fn or_none(name: &'static str, others: &'static [&'static str]) -> Name {
    Name { name, others, none: true }
}

pub const SCOPE: &[Name] = &[
    named("Problem", &["Problem Statement"]),
    named("Smallest Useful Version", &["MVP", "Minimum Viable Product"]),
    named("Acceptance Criteria", &["Criteria"]),
    named("Stack", &["Technology"]),
    named("Deployment Target", &["Deploy Target", "Deployment", "Target"]),
    named("Data Model", &["Data"]),
    named("Estimated Cost", &["Cost", "Costs", "Cost Estimate"]),
    named("Quality Tier", &["Tier"]),
    or_none("Clarifications Needed", &["Clarifications", "Open Questions"]),
    or_none("Deferred", &["Out of Scope", "Not Now"]),
];

pub const DESIGN: &[Name] = &[
    named("Architecture", &[]),
    named("Directory Structure", &["Directory Layout", "File Tree", "Project Structure"]),
    named("Interfaces", &["Interface"]),
    or_none("External Integrations", &["Integrations"]),
    named("Observability", &["Monitoring"]),
    or_none("Complexity Exceptions", &["Exceptions"]),
    or_none("Open Questions", &["Questions"]),
];

pub const READINESS: &[Name] = &[
    named("Verdict", &[]),
    named("Truths", &["Facts"]),
    named("Key Links", &["Links", "Traceability"]),
    named("Acceptance Criteria Coverage", &["Criteria Coverage", "Coverage"]),
    or_none("Scope Reduction Risks", &["Scope Risks"]),
    or_none("Clarifications Needed", &["Clarifications", "Open Questions"]),
    named("Build Order", &["Order"]),
    or_none("Complexity Exceptions", &["Exceptions"]),
];

/// The name of a README's first part, which may stand below its title.
pub const WHAT_THIS_IS: &str = "What This Is";

pub const README: &[Name] = &[
    named(WHAT_THIS_IS, &["What It Is", "About", "Overview", "Introduction", "Description"]),
    named(
        "Setup",
        &[
            "Set Up",
            "Set Up Locally",
            "Installation",
            "Install",
            "Installing",
            "Getting Started",
            "Quick Start",
            "Quickstart",
            "Development",
            "Running Locally",
            "Run Locally",
            "Usage",
        ],
    ),
    named("Deploy", &["Deployment", "Deploying", "Deploys", "Release", "Releasing", "Releases", "Publishing"]),
    named(
        "Tests",
        &["Test", "Testing", "Run Tests", "Run the Tests", "Running Tests", "Running the Tests", "Run the Test Suite"],
    ),
];

/// Those of a shed, then what a house adds, then what a skyscraper adds.
pub const DELIVERY: &[Name] = &[
    named("Summary", &["What Was Delivered", "Overview"]),
    or_none("Limitations", &["Known Limitations", "Known Issues"]),
    named("Verified Criteria", &["Verified Acceptance Criteria", "Acceptance Criteria", "Criteria", "Verification"]),
    named("Support Terms", &["Support", "Maintenance"]),
    named("Architecture Overview", &["Architecture"]),
    named("Incident Response", &["Incidents", "Rollback", "Runbook"]),
    or_none("Roadmap", &["Next Steps", "Future Work"]),
];

/// Those of an audit of the stack.
pub const AUDIT: &[Name] = &[
    named("Findings", &["Finding", "Results", "What Was Found"]),
    named("Recommendation", &["Recommendations", "Recommended"]),
];

/// Those of a proposal of another round.
pub const ITERATION: &[Name] = &[
    named("Summary", &["Overview"]),
    named("Prioritised Changes", &["Prioritized Changes", "Changes", "Proposed Changes"]),
    or_none("Architecture Impact", &["Impact", "Impact on the Architecture"]),
    named("Risk", &["Risks", "Risk Assessment"]),
    named("Recommended Approach", &["Approach", "Recommendation"]),
    or_none(
        "Pre-existing Failures",
        &["Existing Failures", "Preexisting Failures", "Known Failures", "Failing Tests", "Existing Issues"],
    ),
];

/// What the preferences are read for.
pub const PREFERENCES: &[Name] =
    &[named("Stack", &["Technology"]), named("Deployment Target", &["Deploy Target", "Deployment", "Target"])];

/// The words of a heading that matter: without its numbering and what stands in parentheses.
pub fn heading_words(text: &str) -> Vec<String> {
    let mut depth = 0usize;
    let outside = |c: char| {
        match c {
            '(' => depth += 1,
            ')' if depth > 0 => {
                depth -= 1;
                return ' ';
            }
            _ => {}
        }
        if depth > 0 { ' ' } else { c }
    };
    let text: String = text.chars().map(outside).collect();
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first = text.split_whitespace().next().unwrap_or_default();
    let numeral = |part: &str| {
        let digits = part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let roman = part.bytes().all(|b| b"IVXLivxl".contains(&b));
        !part.is_empty() && (digits || roman)
    };
    let bare = first.trim_end_matches(['.', ')', ':']);
    // A numeral of letters is one only where a mark follows it.
    let numbered = numeral(bare) && (bare.len() < first.len() || bare.starts_with(|c: char| c.is_ascii_digit()));
    words(if numbered { &text[first.len()..] } else { text })
}

/// A heading is at most so many words longer than the name that it has.
const WORDS_BESIDE: usize = 3;

/// The names that a heading has: one at its beginning, one at its end.
pub fn names_of(heading: &[String], names: &'static [Name], whole: bool) -> Vec<&'static Name> {
    let most =
        names.iter().flat_map(|name| name.others.iter().chain([&name.name])).map(|name| name.split(' ').count()).max();
    if heading.len() > most.unwrap_or(0) + WORDS_BESIDE {
        return Vec::new();
    }
    let best = |at_end: bool| {
        let mut best: Option<(usize, &'static Name)> = None;
        for name in names {
            for one in std::iter::once(&name.name).chain(name.others) {
                let parts: Vec<&str> = one.split(' ').collect();
                let beside = heading.len().checked_sub(parts.len()).filter(|beside| *beside <= WORDS_BESIDE);
                let Some(beside) = beside else { continue };
                let from = if at_end { beside } else { 0 };
                let exact = beside == 0 || beside == 1 && heading[0] == "the";
                let same = heading[from..from + parts.len()]
                    .iter()
                    .zip(&parts)
                    .all(|(word, part)| word.eq_ignore_ascii_case(part));
                if same && (exact || !whole) && best.is_none_or(|(longest, _)| parts.len() > longest) {
                    best = Some((parts.len(), name));
                }
            }
        }
        best
    };
    match (best(false), best(true)) {
        (Some((first, start)), Some((last, end))) if start != end && first + last <= heading.len() => vec![start, end],
        (Some((first, start)), Some((last, end))) => vec![if last > first { end } else { start }],
        (one, other) => one.or(other).map(|(_, name)| name).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_known_by_its_name_whatever_decorates_it() {
        let named = |text: &str| names_of(&heading_words(text), SCOPE, false).first().map(|name| name.name);
        for (heading, name) in [
            ("Tech Stack", "Stack"),
            ("2. The Problem", "Problem"),
            ("Stack (from preferences)", "Stack"),
            ("IV. Data Model:", "Data Model"),
            ("§ 2 MVP", "Smallest Useful Version"),
            ("3.1) DEPLOY TARGET", "Deployment Target"),
            ("💰 Estimated cost (monthly)", "Estimated Cost"),
            ("Acceptance-Criteria", "Acceptance Criteria"),
            ("Open questions", "Clarifications Needed"),
            ("Out of scope, for now", "Deferred"),
            ("Quality Tier: house", "Quality Tier"),
            ("(new) Stack", "Stack"),
        ] {
            assert_eq!(named(heading), Some(name), "{heading}");
        }
        for heading in ["Scope", "Stacking", "Why the stack matters", "", "12.", "Vision", "What we think of our stack"]
        {
            assert_eq!(named(heading), None, "{heading}");
        }
        let both = names_of(&heading_words("Stack & Deployment Target"), SCOPE, false);
        assert_eq!(both.iter().map(|name| name.name).collect::<Vec<_>>(), ["Stack", "Deployment Target"]);
    }
}
