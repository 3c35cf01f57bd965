//! What a person may answer for in place of a gate: which rules, and what becomes of their findings.

use std::collections::BTreeSet;

use super::{Finding, Severity};
use crate::finding::quoted;
use crate::ledger::state::State;
use crate::policy::Commands;

/// What may be accepted: what is wrong is known, and somebody answers for it. That tests ran and are green is none of them.
pub const ACCEPTABLE: &[&str] = &[
    "BLD-03", "BLD-06", "BLD-07", "BLD-08", "BLD-09", "REC-01", "REC-02", "REC-03", "REC-04", "REC-05", "REC-06",
    "REC-07", "VER-02", "VER-03", "VER-04", "VER-06", "VER-07", "VER-08", "VER-14", "VER-16",
];
/// What is about security: nobody accepts that.
const SECURITY: &[&str] =
    &["BLD-04", "BLD-05", "VER-05", "residue_security", "risk_accepted_security", "unescalated_security_note"];
/// What is a cheat, or hides one.
const CHEATS: &[&str] =
    &["build_tampered", "contract_tampered", "tripwire_missing", "reported_cheat", "heal_exhausted", "self_weakening"];

/// Why a rule can't be accepted: the code of that, and a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Never {
    Security,
    Cheat,
    Other,
}

/// The rule as it is spelt, where it may be accepted.
pub fn acceptable(rule: &str) -> Result<&'static str, Never> {
    let is = |known: &&&str| known.eq_ignore_ascii_case(rule);
    if let Some(known) = ACCEPTABLE.iter().find(is) {
        return Ok(known);
    }
    let (code, _) = rule.split_once(':').unwrap_or((rule, ""));
    if SECURITY.iter().any(|known| known.eq_ignore_ascii_case(rule)) {
        Err(Never::Security)
    } else if CHEATS.iter().any(|known| known.eq_ignore_ascii_case(code)) {
        Err(Never::Cheat)
    } else {
        Err(Never::Other)
    }
}

/// Findings that somebody answers for are shown, and do not block.
pub fn accept(findings: &mut [Finding], state: &State) {
    for finding in findings.iter_mut().filter(|finding| finding.blocks() && !finding.waiting) {
        let Some(accepted) = acceptable(&finding.rule).ok().and_then(|rule| state.accepts(rule)) else { continue };
        finding.severity = Severity::Warning;
        finding.next = format!(
            "RISK-ACCEPTED by {} until {}: {}, {} ({}).",
            quoted(&accepted.by),
            accepted.waiver.until,
            quoted(&accepted.waiver.owner),
            quoted(&accepted.waiver.ticket),
            quoted(&accepted.waiver.reason)
        );
    }
}

/// `waiver_expired`: what was accepted of this content, and is not any more.
pub fn over(state: &State, commands: &Commands) -> Option<Finding> {
    let rules: BTreeSet<&str> = state
        .risks()
        .filter(|one| one.over)
        .flat_map(|one| &one.waiver.rules)
        .map(String::as_str)
        .filter(|rule| state.accepts(rule).is_none())
        .collect();
    let last = state.risks().filter(|one| one.over).last()?;
    (state.open && !rules.is_empty()).then(|| {
        let rules: Vec<&str> = rules.into_iter().collect();
        Finding::error(
            "waiver_expired",
            format!(
                "The risk of {} was accepted until {}, and that is over.",
                rules.join(", "),
                last.waiver.until
            ),
            format!(
                "Mend what the rules say and push, or somebody who may approve accepts it anew: `{} {} --owner NAME --ticket \
                 TICKET --until YYYY-MM-DD REASON`.",
                commands.written("risk-accept"),
                rules.join(" ")
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_cheats_and_the_tests_themselves_are_never_accepted() {
        assert_eq!(acceptable("bld-07"), Ok("BLD-07"));
        for (rule, never) in [
            ("BLD-04", Never::Security),
            ("ver-05", Never::Security),
            ("build_tampered:tests/a.rs", Never::Cheat),
            ("Contract_Tampered", Never::Cheat),
            ("reported_cheat", Never::Cheat),
            ("VER-01", Never::Other),
            ("VER-09", Never::Other),
            ("VER-12", Never::Other),
            ("MRG-02", Never::Other),
            ("REV-03", Never::Other),
            ("nonsense", Never::Other),
        ] {
            assert_eq!(acceptable(rule), Err(never), "{rule}");
        }
    }
}
