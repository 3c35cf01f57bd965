//! The audit of a finished change: what its records say was done, held against what had to be.
//!
//! It reads nothing but the records, so it finds the same at any time, whoever runs it, and whatever became of the repository. A gate
//! judges before the merge; this looks whether the merge is what the gate had passed.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::risk::{Never, acceptable};
use super::{Finding, GateName, Verdict, alone};
use crate::finding::quoted;
use crate::flow::Phase;
use crate::flow::pipeline::words;
use crate::ids::{Digest, Person};
use crate::ledger::findings::Axis;
use crate::ledger::heal::MOST_HEALED;
use crate::ledger::record::{Body, By, Condition, Evidence, Froze, Record};
use crate::ledger::state::{Judged, State};
use crate::policy::Autonomy;

/// What is wrong with a change that was merged, by its proven records. None: it is not finished.
pub fn audit(records: &[Record]) -> Option<Vec<Finding>> {
    let mut state: Option<State> = None;
    let mut found = Vec::new();
    let mut merged = false;
    for record in records {
        if let (Some(before), Body::Merged { bypassed, .. }) = (&state, &record.body) {
            found.extend(at_the_merge(before, bypassed, record.at));
            merged = true;
        }
        found.extend(of_itself(record));
        // They are proven, so they fold.
        state = Some(State::fold(state.take(), record, Digest::of("")).ok()?);
    }
    found.dedup();
    merged.then_some(found)
}

/// What is wrong with a record by itself.
fn of_itself(record: &Record) -> Option<Finding> {
    match &record.body {
        Body::Judged { gate, verdict: Verdict::Pass, findings, .. } => {
            let against: BTreeSet<&str> =
                findings.iter().filter(|finding| finding.blocks()).map(|finding| finding.rule.as_str()).collect();
            (!against.is_empty()).then(|| {
                let rules: Vec<&str> = against.into_iter().collect();
                mismatch(format!("record {} passes {} against {}", record.seq, gate.as_str(), rules.join(", ")))
            })
        }
        Body::Frozen { why: Froze::Refrozen, .. } if !matches!(record.by, By::Person { .. }) => Some(Finding::error(
            "unstamped_freeze",
            format!("Record {} freezes anew what was changed, and no person has signed it.", record.seq),
            "Find out how it came into the ledger; look at the tests as they are now.",
        )),
        Body::RiskAccepted { waiver, said } => {
            let rule = |rule: &String| acceptable(rule).err();
            let never = waiver.rules.iter().filter_map(rule).find(|never| *never != Never::Other);
            if never == Some(Never::Security) {
                return Some(Finding::error(
                    "risk_accepted_security",
                    format!("Record {} accepts a risk of security: {}.", record.seq, waiver.told()),
                    "Mend it; nobody may accept that.",
                ));
            }
            let empty = [&waiver.owner, &waiver.ticket, &waiver.reason].into_iter().any(|text| text.trim().is_empty());
            if empty || waiver.rules.is_empty() || !matches!(record.by, By::Person { .. }) {
                return Some(Finding::error(
                    "waiver_incomplete",
                    format!("Record {} accepts a risk without a person, an owner, a ticket or a reason.", record.seq),
                    "Have it accepted anew by somebody who answers for it, or mended.",
                ));
            }
            (waiver.ends() <= said.at).then(|| {
                Finding::error(
                    "waiver_expired",
                    format!(
                        "Record {} accepts a risk until {}, which was over when it was said.",
                        record.seq, waiver.until
                    ),
                    "Have it accepted anew, or mended.",
                )
            })
        }
        _ => None,
    }
}

fn mismatch(says: String) -> Finding {
    Finding::error(
        "gate_record_mismatch",
        format!("The records do not fit together: {says}."),
        "Look at what was merged as if no gate had passed it, and find out how the record came into the ledger.",
    )
}

/// Whether a person has approved what a gate has passed, by the evidence that it names.
fn approved(judged: &Judged) -> bool {
    judged.evidence.iter().any(|one| {
        matches!(one, Evidence::Review { by: Person { bot: false, .. }, state, discounted: None, .. } if state == "APPROVED")
    })
}

/// What is wrong with the merge, by what was on record before it.
fn at_the_merge(state: &State, bypassed: &BTreeSet<String>, at: Timestamp) -> Vec<Finding> {
    let mut found = Vec::new();
    if !bypassed.is_empty() {
        let rules: Vec<&str> = bypassed.iter().map(String::as_str).collect();
        found.push(Finding::error(
            "bypassed_gate",
            format!("It was merged past the gate, while these stood against it: {}.", rules.join(", ")),
            "Look at what was merged; see who may bypass the ruleset.",
        ));
        if bypassed.contains("SNP-07") {
            found.push(Finding::error(
                "scope_violation",
                "It was merged with work outside of its scope cap.",
                "Look at the paths that SNP-07 names, and revert what nobody asked for.",
            ));
        }
        // The rest was known to be missing.
        return found;
    }
    let content = state.subject.as_ref().map(|about| &about.content);
    match state.gates.get(&GateName::Merge) {
        None => {
            found.push(mismatch("it was merged as if it had passed, and the merge gate was never judged".to_owned()))
        }
        Some(judged) if judged.verdict != Verdict::Pass || Some(&judged.about.content) != content => {
            found.push(mismatch("the merge gate has not passed for the content that was merged".to_owned()));
        }
        Some(judged) => found.extend(passed(state, judged)),
    }
    if let Some(pipeline) = &state.pipeline {
        for phase in [Phase::Review, Phase::Verify].into_iter().filter(|phase| !pipeline.holds(*phase)) {
            let says =
                format!("{phase} has not passed for the content that was merged, at “{}”", words(pipeline.stage));
            found.push(mismatch(says));
        }
        if pipeline.passed.contains_key(&Phase::Build) && state.frozen.is_none() {
            found.push(Finding::error(
                "tripwire_missing",
                "BUILD has passed, and nothing was frozen: nobody can say that its tests are those that were promised.",
                "Read the tests that were merged.",
            ));
        }
    }
    let caught = state.against.cheats.len();
    let stopped = state.stopped.iter().flat_map(|stop| stop.also.iter().chain([stop]));
    if caught > MOST_HEALED && stopped.filter(|stop| stop.condition == Some(Condition::HealExhausted)).count() > 0 {
        found.push(Finding::error(
            "heal_exhausted",
            format!("It was merged after {caught} confirmed cheats, and no person has let it go on."),
            "Look at what was merged.",
        ));
    }
    if let Some(report) = content.and_then(|content| state.against.reported(content)) {
        let says = format!("It was merged although {} reports that its green is not earned.", quoted(&report.by));
        found.push(Finding::error("reported_cheat", says, "Look at what was merged."));
    }
    for one in state.risks().filter(|one| one.waiver.ends() <= at && !one.over) {
        found.push(Finding::error(
            "waiver_expired",
            format!("It was merged by a risk that was accepted until {} (record {}).", one.waiver.until, one.seq),
            "Have it accepted anew, or mended.",
        ));
    }
    found.extend(security(state));
    found
}

/// What the gate that has passed leaves to be said.
fn passed(state: &State, judged: &Judged) -> Vec<Finding> {
    let mut found = Vec::new();
    let says = |rule: &str| judged.findings.iter().any(|finding| finding.rule == rule);
    if !approved(judged) {
        if state.declared.high_risk && state.autonomy == Autonomy::Auto {
            found.push(Finding::error(
                "unguarded_high_risk_auto",
                "It is declared to be of high risk, and was merged by itself.",
                "A person looks at what was merged.",
            ));
        }
        if says("self_weakening") {
            found.push(Finding::error(
                "self_weakening",
                "It touches what decides its own green, and was merged without a person's approval.",
                "A person looks at what was merged.",
            ));
        }
        if state.frozen.is_some() {
            found.push(Finding::error(
                "unstamped_freeze",
                "What was frozen was merged without a person's approval of it.",
                "A person reads the tests that were merged.",
            ));
        }
    }
    found.extend(by_itself(judged));
    let noted = |gate: GateName, rule: &str| {
        let judged = state.gates.get(&gate)?;
        judged.findings.iter().find(|finding| finding.rule == rule).cloned()
    };
    found.extend(noted(GateName::Phase(Phase::Review), "unflagged_freeze"));
    found.extend(noted(GateName::Phase(Phase::Expand), "goal_not_auto_ready"));
    found
}

/// A pass that is logged as one by itself, held against what it has to be: a run is named, and nothing is left that wants a person.
fn by_itself(judged: &Judged) -> Vec<Finding> {
    let runs = judged.evidence.iter().find_map(|one| match one {
        Evidence::Auto { runs } => Some(runs),
        _ => None,
    });
    let Some(runs) = runs else { return Vec::new() };
    let mut found = Vec::new();
    if runs.iter().all(|run| run.trim().is_empty()) {
        found.push(mismatch("it passed by itself, and no run is named that showed it".to_owned()));
    }
    for (rule, _) in alone::RULES {
        if let Some(finding) = judged.findings.iter().find(|finding| finding.rule == *rule) {
            let says =
                format!("It passed by itself, and its own record has what a person was to decide: {}", finding.says);
            found.push(Finding::error(rule, says, "A person looks at what was merged."));
        }
    }
    found
}

/// `unescalated_security_note`: what a reviewer has found of security, and nobody has closed.
fn security(state: &State) -> Option<Finding> {
    let open =
        state.findings.held.iter().filter(|(_, held)| held.found.axis == Axis::Security && held.settled.is_empty());
    let names: Vec<String> = open.map(|(name, _)| quoted(name)).take(10).collect();
    (!names.is_empty()).then(|| {
        Finding::error(
            "unescalated_security_note",
            format!("It was merged with findings about security that nobody has answered: {}.", names.join(", ")),
            "Look at them, and mend what they name.",
        )
    })
}

#[cfg(test)]
mod tests;
