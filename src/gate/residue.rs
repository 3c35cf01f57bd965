//! What whoever built a change says that is left: the verdict in a `SUMMARY.md` that the change brings.
//!
//! It is a proposal and decides nothing for the better. A finding of security stands against the change for as long as it is named,
//! and nobody waives it; a HARD-STOP, an ESCALATE and a risk that tests do not show stop it for a person, once
//! ([`World::subject`]'s stops).

use super::{Finding, Severity};
use crate::finding::quoted;
use crate::gate::world::World;
use crate::guard::wave::verdict::{self, Kind, Proposal, Unread};

/// What is said of it at REVIEW, VERIFY and the merge.
pub fn findings(world: &World) -> Vec<Finding> {
    let all = world.subject.iter().flat_map(|subject| &subject.handed_in);
    all.flat_map(|one| match &one.read {
        Ok(proposal) => held(&one.path, proposal, &one.lessons),
        Err(unread) => unknown(&one.path, unread),
    })
    .collect()
}

/// Of what can't be read nobody knows what is left. Any project may have a file of this name, so it is a warning, but for security.
fn unknown(path: &str, unread: &Unread) -> Vec<Finding> {
    let security = unread.security.then(|| {
        let says = "The verdict is not in its form and speaks of security, so a finding of security may be left.";
        let next =
            "Write the verdict as the findings beside this one say; what is left of security is mended, never waived.";
        Finding::error("residue_security", says, next).at(path, None)
    });
    unread.findings.iter().map(warned).chain(security).collect()
}

fn warned(finding: &Finding) -> Finding {
    Finding { severity: Severity::Warning, ..finding.clone() }
}

fn held(path: &str, proposal: &Proposal, lessons: &[String]) -> Vec<Finding> {
    let outcome = proposal.outcome.as_str();
    let residue = proposal.residue.iter().map(|left| {
        let found = quoted(&left.says);
        let finding = match left.kind {
            Kind::Security if proposal.outcome == verdict::Outcome::RiskAccepted => Finding::error(
                "risk_accepted_security",
                format!("A finding of security is accepted as a risk: {found}."),
                "Mend it and take it out of the verdict. Security is never waived.",
            ),
            Kind::Security => Finding::error(
                "residue_security",
                format!("A finding of security is left ({outcome}): {found}."),
                "Mend it and take it out of the verdict. Security is never waived.",
            ),
            Kind::Concurrency | Kind::Architecture => Finding::warning(
                &format!("residue_{}", left.kind.as_str()),
                format!("A risk is left that tests do not show ({}, {outcome}): {found}.", left.kind.as_str()),
                "A person decides whether it may stay: the issue of its stop asks for that, and what goes in with it is approved.",
            ),
        };
        finding.at(path, Some(left.line))
    });
    residue.chain(verdict::unescalated(path, proposal, lessons)).collect()
}
