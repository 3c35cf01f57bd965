//! The gates of the pipeline's phases, as far as they exist.
//!
//! EXPAND, DESIGN and ANALYZE are judged by their documents ([`super::papers`]), BUILD by what the change adds
//! ([`super::build`]) and by checks, REVIEW by reviews, RECONCILE by both ([`super::reconcile`]) and VERIFY by what was run, and DEPLOY by
//! what GitHub tells of deployments ([`super::deploy`]).

use super::alone;
use super::deploy;
use super::evidence::{self, Heard};
use super::frozen;
use super::goal::Goal;
use super::memory;
use super::merge;
use super::reconcile;
use super::residue;
use super::review;
use super::risk;
use super::verify;
use super::weakened;
use super::{Finding, Severity, Verdict, bounded};
use crate::finding::quoted;
use crate::flow::Phase;
use crate::flow::pipeline::phase_of;
use crate::gate::world::{Law, Subject, UNREADABLE, World};
use crate::ledger::record::Evidence;
use crate::ledger::state::State;
use crate::policy::{Autonomy, Policy, Proofs};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Pass,
    Fail,
    /// It can't be said yet; nothing counts.
    Pending,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub outcome: Outcome,
    pub findings: Vec<Finding>,
    pub evidence: Vec<Evidence>,
}

/// What people are told about how a phase is judged in this version.
pub fn judged_by(phase: Phase) -> &'static str {
    match phase {
        Phase::Review => {
            "Judged by reviews of entitled people for this content, and by what reviewers found (REV-01 to REV-10)."
        }
        Phase::Verify => {
            "Judged by the evidence that the policy names, on this head (VER-01 to VER-04, VER-07 to VER-16), by who tells of its \
             security (VER-05), by the content (VER-06, VER-08), and on a lowered rung of autonomy by a person (VER-17)."
        }
        Phase::Expand => "Judged by `scaffolding/scope.md` at this head, by the rules EXP-01 to EXP-14.",
        Phase::Design => "Judged by `scaffolding/design.md` at this head, by the rules DSN-01 to DSN-11.",
        Phase::Analyze => "Judged by `scaffolding/readiness.md` at this head, by the rules ANL-01 to ANL-09.",
        Phase::Build => {
            "Judged by what the change adds, by the rules BLD-03 to BLD-09, and by the checks that the policy names, on this \
             head (BLD-02)."
        }
        Phase::Reconcile => {
            "Judged by the documents beside what was built, by the rules REC-01 to REC-10, and by the checks that the policy names, \
             on this head (REC-07)."
        }
        Phase::Deploy => {
            "Judged by the newest deployment of the commit to each environment (without any, by the checks that the policy \
             names on it), and by `README.md` and `DELIVERY.md`, by the rules DEP-01 to DEP-07. That it can be reached is \
             what these say: nobody here opens it."
        }
    }
}

pub fn judge(phase: Phase, state: &State, world: &World) -> Judgement {
    let mut judged = unbounded(phase, state, world);
    // No gate behind the freeze passes over what was done to it.
    let mut tripped = Vec::new();
    if phase >= Phase::Build {
        tripped.extend(frozen::tripwire(state, world));
        tripped.extend(frozen::reported(state));
    }
    if !tripped.is_empty() {
        judged.outcome = Outcome::Fail;
        judged.findings.splice(0..0, tripped);
    }
    judged.findings.extend(claimed_ahead(phase, world));
    let against = if phase == Phase::Deploy { Vec::new() } else { memory::against(state, world) };
    if !against.is_empty() {
        if judged.outcome == Outcome::Pass {
            judged.outcome = Outcome::Fail;
        }
        judged.findings.extend(against);
    }
    Judgement { findings: bounded(judged.findings), ..judged }
}

/// A commit that claims a later phase, or none, claims nothing, and its author is told.
fn claimed_ahead(phase: Phase, world: &World) -> Option<Finding> {
    let subject = world.subject.as_ref()?;
    if let Some(word) = &subject.no_trailer {
        return Some(Finding::warning(
            "CMD-03",
            format!(
                "The head commit claims {} (`Phasegate-Claim:`), which is no phase: that counts for nothing.",
                quoted(word)
            ),
            format!("Write `Phasegate-Claim: {phase}` to claim {}.", phase.as_str().to_uppercase()),
        ));
    }
    let claims = subject.trailer.filter(|claims| *claims > phase)?;
    Some(Finding::warning(
        "CMD-03",
        format!(
            "The head commit claims {} (`Phasegate-Claim: {claims}`), and the change is at {}: that counts for nothing.",
            claims.as_str().to_uppercase(),
            phase.as_str().to_uppercase()
        ),
        format!("Phases are passed in their order. Claim {} when the change is there.", claims.as_str().to_uppercase()),
    ))
}

fn unbounded(phase: Phase, state: &State, world: &World) -> Judgement {
    let pending = |findings| Judgement { outcome: Outcome::Pending, findings, evidence: Vec::new() };
    let policy = match &world.law {
        Law::Valid(policy) => policy,
        Law::Invalid(problems) => return pending(problems.clone()),
    };
    if world.subject.is_none() && phase != Phase::Deploy {
        return pending(vec![Finding::waiting("MRG-01", "The content of this change could not be read.", UNREADABLE)]);
    }
    match phase {
        Phase::Expand | Phase::Design | Phase::Analyze => documents(phase, policy, state, world),
        Phase::Build => build(policy, state, world),
        Phase::Review => review(policy, state, world),
        Phase::Reconcile => reconciled(policy, state, world),
        Phase::Verify => verify(policy, state, world),
        Phase::Deploy => deploy(policy, state, world),
    }
}

/// The outcome of a gate, after what somebody answers for.
pub(super) fn settled(mut heard: Heard, state: &State) -> Judgement {
    risk::accept(&mut heard.findings, state);
    let outcome = if heard.failed() {
        Outcome::Fail
    } else if heard.passed() {
        Outcome::Pass
    } else {
        Outcome::Pending
    };
    Judgement { outcome, findings: heard.findings, evidence: heard.evidence }
}

/// A document gate: what its rules find, and for ANALYZE whether it stands on what was judged before (`ANL-09`).
fn documents(phase: Phase, policy: &Policy, state: &State, world: &World) -> Judgement {
    let Some(mut findings) = world.subject.as_ref().and_then(|subject| subject.documents.get(&phase)).cloned() else {
        return settled(Heard::default(), state);
    };
    findings.extend(memory::unheeded(phase, state, world));
    if phase == Phase::Expand {
        let criteria = world.subject.iter().map(|subject| subject.context.criteria.as_slice());
        findings.extend(criteria.filter_map(Goal::of).filter_map(|goal| goal.finding()));
    }
    let mut outcome = if findings.iter().any(Finding::blocks) { Outcome::Fail } else { Outcome::Pass };
    let stale = state.pipeline.as_ref().and_then(|pipeline| phase.before().find(|gate| !pipeline.holds(*gate)));
    if let Some(gate) = stale.filter(|_| phase == Phase::Analyze && outcome == Outcome::Pass) {
        outcome = Outcome::Pending;
        findings.push(Finding::waiting(
            "ANL-09",
            format!("The {gate} gate has not passed for the documents as they are."),
            format!("Say `{}`, or push what it asks for.", policy.commands.written(gate.as_str())),
        ));
    }
    // What VERIFY will ask for is written more easily before anything is built.
    if phase == Phase::Analyze && policy.proofs() == Proofs::Demand {
        findings.extend(of_verify(world).filter(|finding| verify::is_ahead(finding)).cloned());
    }
    Judgement { outcome, findings, evidence: Vec::new() }
}

/// What VERIFY finds in the content.
fn of_verify(world: &World) -> impl Iterator<Item = &Finding> {
    world.subject.iter().filter_map(|subject| subject.documents.get(&Phase::Verify)).flatten()
}

/// `BLD-02` by the checks, and what the content shows.
fn build(policy: &Policy, state: &State, world: &World) -> Judgement {
    let mut heard = evidence::proof("BLD-02", policy, state, world);
    let Some(subject) = &world.subject else { return settled(heard, state) };
    if subject.changed.iter().all(|path| super::build::is_paper(path)) {
        heard.findings.push(Finding::waiting(
            "BLD-03",
            "Nothing is built yet: the change touches documents only.",
            "Write the code and its tests, and push.",
        ));
        return settled(heard, state);
    }
    match subject.documents.get(&Phase::Build) {
        Some(found) => {
            heard.findings.extend(found.iter().cloned());
            heard.findings.extend(ahead(subject));
        }
        // What was not looked at is not fine.
        None => heard.findings.push(Finding::waiting("BLD-03", "What the change adds could not be read.", UNREADABLE)),
    }
    settled(heard, state)
}

/// What RECONCILE will ask for, beside what BUILD asks for itself: it is put right more easily before the proof is frozen.
fn ahead(subject: &Subject) -> impl Iterator<Item = Finding> {
    let drift = subject.documents.get(&Phase::Reconcile).into_iter().flatten();
    let own = |finding: &&Finding| finding.blocks() && !matches!(finding.rule.as_str(), "REC-01" | "REC-03" | "REC-07");
    drift.filter(own).map(|finding| Finding { severity: Severity::Warning, ..finding.clone() })
}

/// What keeps BUILD from being renewed for this content, for whoever waits for that.
fn unbuilt(world: &World) -> impl Iterator<Item = Finding> {
    unread(world, Phase::Build)
}

/// What keeps a gate that reads the content from being renewed.
fn unread(world: &World, gate: Phase) -> impl Iterator<Item = Finding> {
    let found = world.subject.iter().flat_map(move |subject| subject.documents.get(&gate)).flatten();
    found.filter(|finding| finding.blocks()).map(|finding| Finding { waiting: true, ..finding.clone() })
}

/// `REV-01` to `REV-10`.
fn review(policy: &Policy, state: &State, world: &World) -> Judgement {
    let approvals = review::approvals(policy, state, world);
    let heard = review::findings::heard(policy, state, world);
    let evidence = [approvals.evidence.clone(), heard.evidence].concat();
    let mut findings: Vec<Finding> = approvals
        .against
        .iter()
        .map(|one| {
            let next = format!("Mend what they name and push. {}", one.next(&policy.commands));
            Finding::error("REV-03", format!("`{}` {}.", one.login, one.says), next)
        })
        .collect();
    findings.extend(heard.open);
    let failed = !findings.is_empty();
    findings.extend(heard.unread);
    if failed {
        return Judgement { outcome: Outcome::Fail, findings, evidence };
    }
    findings.extend(heard.asked);
    // What got weaker is put before whoever reviews; where it blocks, it waits for them or for a push.
    findings.extend(weakened::findings(state, world));
    // What is left undone is VERIFY's to stop for; whoever reviews is told.
    findings.extend(residue::findings(world).into_iter().map(|one| Finding { severity: Severity::Warning, ..one }));
    // VERIFY will ask who has looked at it, and that is best done now.
    let (unknown, _) = verify::security(policy, state, world);
    let holds = unknown.filter(Finding::blocks);
    findings.extend(holds.map(|finding| Finding { severity: Severity::Warning, ..finding }));
    if state.pipeline.as_ref().is_some_and(|pipeline| !pipeline.holds(Phase::Build)) {
        findings.push(Finding::waiting(
            "REV-05",
            "The build evidence is for older content.",
            "It is made again when the checks are green on this head.",
        ));
        findings.extend(unbuilt(world));
    }
    findings.extend(unflagged(state, world));
    let (have, wanted) = (approvals.by.len(), approvals.wanted(1));
    if have < wanted {
        let rule = if have == 0 && approvals.discounted.is_empty() { "REV-01" } else { "REV-04" };
        let says = match have {
            0 => "Nobody entitled has approved this content yet.".to_owned(),
            _ => format!("{have} of {wanted} approvals are there."),
        };
        findings.push(Finding::waiting(rule, format!("{says}{}", approvals.in_vain()), merge::entitled(policy, world)));
    }
    let outcome = if findings.iter().any(Finding::blocks) { Outcome::Pending } else { Outcome::Pass };
    Judgement { outcome, findings, evidence }
}

/// `unflagged_freeze`: whoever approves is to be told first what the change's author is least sure of.
fn unflagged(state: &State, world: &World) -> Option<Finding> {
    let subject = world.subject.as_ref().filter(|_| state.frozen.as_ref().is_some_and(|frozen| frozen.files > 0))?;
    let said = world.pull.header.least_sure.is_some() || subject.context.brief.least_sure.is_some();
    (!said).then(|| {
        Finding::warning(
            "unflagged_freeze",
            "Nobody has said what is least certain in what is frozen.",
            "Write `least sure: WHAT, because WHY` on a line of the description or of `scaffolding/readiness.md`.",
        )
    })
}

/// A red check is no drift between documents and code, and documents that are out of step are put right by a push: both make
/// reconcile wait. Only what goes against the scope stops for a person. Before something was built there is nothing to hold the
/// documents against: a look that somebody asks for earlier shows what it sees.
fn reconciled(policy: &Policy, state: &State, world: &World) -> Judgement {
    let heard = evidence::proof("REC-07", policy, state, world);
    let built = state.pipeline.as_ref().is_some_and(|pipeline| pipeline.passed.contains_key(&Phase::Build));
    // Asked for from a phase before BUILD, it waits for no check of what nobody was to write yet.
    let back = state.pipeline.as_ref().and_then(|pipeline| pipeline.return_to).and_then(phase_of);
    let early = !built && back.is_some_and(|back| back < Phase::Build);
    let passed = heard.passed() || early;
    let (mut findings, evidence) = (heard.findings, heard.evidence);
    if early {
        findings.iter_mut().for_each(|finding| (finding.severity, finding.waiting) = (Severity::Warning, false));
    }
    match world.subject.as_ref().and_then(|subject| subject.documents.get(&Phase::Reconcile)) {
        Some(drift) if built => findings.extend(drift.iter().cloned()),
        Some(drift) => {
            let shown = drift.iter().cloned();
            findings.extend(shown.map(|finding| Finding { severity: Severity::Warning, ..finding }));
        }
        // What was not looked at is not fine.
        None => findings.push(Finding::waiting("REC-01", "What was built could not be read.", UNREADABLE)),
    }
    risk::accept(&mut findings, state);
    let outcome = if findings.iter().any(reconcile::is_spec_violating) {
        Outcome::Fail
    } else if passed && !findings.iter().any(Finding::blocks) {
        Outcome::Pass
    } else {
        Outcome::Pending
    };
    Judgement { outcome, findings, evidence }
}

/// `VER-01` by the evidence, what the content shows, and who tells of its security.
fn verify(policy: &Policy, state: &State, world: &World) -> Judgement {
    let mut heard = evidence::proof("VER-01", policy, state, world);
    if world.subject.as_ref().is_some_and(|subject| subject.documents.contains_key(&Phase::Verify)) {
        // What a run was asked for is told with what it came to.
        let told = policy.gates.verify.asks_for_runs();
        heard.findings.extend(of_verify(world).filter(|finding| !(told && verify::is_ahead(finding))).cloned());
    } else {
        // What was not looked at is not fine.
        heard.findings.push(Finding::waiting("VER-08", "What readiness leads to could not be read.", UNREADABLE));
    }
    heard.findings.extend(verify::unseen(policy, state));
    heard.findings.extend(residue::findings(world));
    let (unknown, named) = verify::security(policy, state, world);
    heard.findings.extend(unknown);
    heard.evidence.extend(named);
    let mut judgement = settled(heard, state);
    if judgement.outcome != Outcome::Pass {
        return judgement;
    }
    let guarded = guarded(policy, state, world);
    if !guarded.is_empty() {
        judgement.outcome = Outcome::Pending;
        judgement.findings.extend(guarded);
    }
    let stale = state.pipeline.as_ref().and_then(|pipeline| Phase::Verify.before().find(|gate| !pipeline.holds(*gate)));
    if let Some(gate) = stale {
        judgement.outcome = Outcome::Pending;
        judgement.findings.push(Finding::waiting(
            "REV-05",
            format!("The {gate} gate passed for older content than this."),
            match gate {
                Phase::Review => "An entitled person reviews the new content.",
                _ => "It is made again when the checks are green on this head.",
            },
        ));
        if matches!(gate, Phase::Build | Phase::Reconcile) {
            judgement.findings.extend(unread(world, gate));
        }
    }
    let verdict = if judgement.outcome == Outcome::Pass { Verdict::Pass } else { Verdict::Fail };
    let by_itself = alone::by_itself(verdict, merge::autonomy(state, world), &judgement.evidence);
    judgement.evidence.extend(by_itself);
    judgement
}

/// What VERIFY waits for by its autonomy: high risk lowers it (`unguarded_high_risk_auto`), and on a lowered rung a person has
/// approved this content (`VER-17`).
fn guarded(policy: &Policy, state: &State, world: &World) -> Vec<Finding> {
    let risky = merge::high_risk(state, policy, world).map(|finding| Finding { waiting: true, ..finding });
    let autonomy = alone::rung(policy, state, world);
    let approvals = review::approvals(policy, state, world);
    let alone = autonomy < Autonomy::Auto && approvals.by.len() < approvals.wanted(1);
    let waits = alone.then(|| {
        Finding::waiting(
            "VER-17",
            format!(
                "The {}, and nobody entitled has approved this content.{}",
                alone::told(policy, state, world),
                approvals.in_vain()
            ),
            merge::entitled(policy, world),
        )
    });
    let why = if alone { alone::unmet(policy, state, world) } else { Vec::new() };
    risky.into_iter().chain(waits).chain(why).collect()
}

/// Whether it is deployed, and delivered.
fn deploy(policy: &Policy, state: &State, world: &World) -> Judgement {
    let mut judged = deploy::told(policy, state, world);
    let mut papers = match world.subject.as_ref().and_then(|subject| subject.documents.get(&Phase::Deploy)) {
        Some(found) => found.clone(),
        // What was not looked at is not fine.
        None => vec![Finding::waiting("DEP-06", "The papers of what is delivered could not be read.", UNREADABLE)],
    };
    if judged.outcome == Outcome::Pass && papers.iter().any(Finding::blocks) {
        // They may follow the merge; until somebody says that it is done, nothing has failed.
        let claimed = state.claim.is_some_and(|(phase, _)| phase == Phase::Deploy);
        judged.outcome = if claimed { Outcome::Fail } else { Outcome::Pending };
    }
    if judged.outcome != Outcome::Fail {
        papers.iter_mut().filter(|finding| finding.blocks()).for_each(|finding| finding.waiting = true);
    }
    judged.findings.extend(papers);
    judged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{analyze, build, deploy, design, expand, reconcile};

    #[test]
    fn people_are_told_of_the_first_and_the_last_rule() {
        fn all(rules: &[crate::gate::papers::Rule]) -> Vec<&'static str> {
            rules.iter().map(|rule| rule.id).collect()
        }
        let gates = [
            // What people decided is held against the documents by what the change remembers.
            (Phase::Expand, all(expand::RULES).into_iter().chain(["EXP-14"]).collect()),
            (Phase::Design, all(design::RULES).into_iter().chain(["DSN-11"]).collect()),
            (Phase::Analyze, all(analyze::RULES)),
            (Phase::Build, build::RULES.iter().map(|rule| rule.id).collect()),
            (Phase::Deploy, ["DEP-01"].into_iter().chain(deploy::RULES.iter().map(|rule| rule.id)).collect()),
            (Phase::Reconcile, reconcile::RULES.iter().map(|rule| rule.id).collect()),
        ];
        for (phase, rules) in gates {
            let ids = || rules.iter().copied();
            let told = judged_by(phase);
            for id in [ids().min(), ids().max()] {
                assert!(id.is_some_and(|id| told.contains(id)), "{id:?} is not in {told:?}");
            }
        }
    }
}
