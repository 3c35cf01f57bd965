//! VERIFY beside what was run: whether the deployment is the one that scope names, whether readiness still leads where it says, and
//! who says that nothing is wrong with the security of the change.

use super::build::{Bench, Site, criteria};
use super::paper::{Paper, names};
use super::papers::{self, Found, Papers, SCOPE};
use super::reconcile::targets;
use super::review;
use super::world::World;
use super::{Finding, Severity, expand, proofs, ran};
use crate::finding::quoted;
use crate::flow::Phase;
use crate::ids::CommitId;
use crate::ledger::record::Evidence;
use crate::ledger::state::{Agreed, State};
use crate::policy::security::{Assured, Subject};
use crate::policy::{Policy, Proofs, Tier, Verify};
use crate::repo::{Filter, Reader, Result};

/// The rules that read the content, with one sentence each.
pub const RULES: &[(&str, &str)] = &[
    ("VER-06", "What is deployed is configured for the target that scope names."),
    ("VER-08", "Readiness leads from each criterion to the design and to a test that is there."),
];

/// What the gate finds at the head of a change, before anything is run.
pub fn look(
    reader: &dyn Reader,
    head: &CommitId,
    site: &Site,
    papers: &Papers,
    policy: &Policy,
) -> Result<Vec<Finding>> {
    let bench = Bench::new(site, papers, policy);
    let wanted = bench.scope.as_ref().map(targets::named).unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    if !wanted.is_empty() {
        let tree = reader.tree(head, Filter::All)?;
        names.extend(tree.into_iter().map(|entry| String::from_utf8_lossy(entry.path.as_bytes()).into_owned()));
    }
    Ok(judge(&bench, papers, policy, &names))
}

/// The same of what was read. `tree` has the paths at the head, where scope names a target that has a file of its own.
pub fn judge(bench: &Bench<'_>, papers: &Papers, policy: &Policy, tree: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let told = |rule: &str, found: Found, next: &str| {
        let finding = Finding::error(rule, found.says, found.next.unwrap_or_else(|| next.to_owned()));
        match found.path {
            Some(path) => finding.at(path, found.line),
            None => finding,
        }
    };
    let other = targets::undesigned(bench);
    findings.extend(other.into_iter().map(|found| told("VER-06", found, "Take it out, or name the target in scope.")));
    findings.extend(unconfigured(bench.scope.as_ref(), tree));
    let astray = criteria::astray(bench).into_iter();
    findings
        .extend(astray.map(|found| told("VER-08", found, "Write the test there, or say in Key Links where it is.")));
    let links = papers::judge(Phase::Analyze, papers, policy).into_iter().filter(|found| found.rule == "ANL-04");
    findings.extend(links.map(|found| Finding { rule: "VER-08".to_owned(), ..found }));
    findings.extend(ahead(papers, policy));
    findings
}

/// The tier that the scope of a change names.
pub fn tier(papers: &Papers) -> Option<Tier> {
    let scope = Paper::read(papers.scope.as_ref()?.text()?, names::SCOPE).ok()?;
    expand::tier(&scope)
}

/// What will be missing when the criteria are to be shown: it is said before anything is built on it.
pub fn ahead(papers: &Papers, policy: &Policy) -> Vec<Finding> {
    let asked = (policy.proofs() != Proofs::Off).then(|| proofs::asked(papers)).flatten();
    // That there is no readiness yet is for ANALYZE to say.
    let asked = asked.filter(|asked| asked.unwritten.is_none());
    let found = asked.map(|asked| ran::proofs::unasked(&asked)).unwrap_or_default();
    found.into_iter().map(|finding| Finding { severity: Severity::Warning, ..finding }).collect()
}

/// Whether a finding is one of those.
pub fn is_ahead(finding: &Finding) -> bool {
    matches!(finding.rule.as_str(), "VER-03" | "VER-04" | "VER-07" | "VER-14")
}

/// `VER-06`, the other way round: a target that scope names and that nothing is configured for.
fn unconfigured(scope: Option<&Paper>, tree: &[String]) -> Vec<Finding> {
    let Some(scope) = scope else { return Vec::new() };
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    let names: Vec<String> = tree.iter().map(name).collect();
    let line = expand::said(scope, "Deployment Target").map(|part| part.line);
    let missing = targets::named(scope)
        .into_iter()
        .filter(|target| !target.files.iter().any(|file| names.iter().any(|one| one == file)));
    missing
        .map(|target| {
            let says = format!("Scope deploys to {}, and there is no {}.", target.called, quoted(target.files[0]));
            let next = "Add it, or say in the Deployment Target how it is deployed without it.";
            Finding::warning("VER-06", says, next).at(SCOPE, line)
        })
        .collect()
}

/// `VER-05`: who says of each subject that nothing is wrong. Of what nobody tells it is unknown, which is not fine for what is to
/// last.
pub fn security(policy: &Policy, state: &State, world: &World) -> (Option<Finding>, Vec<Evidence>) {
    let tier = world.subject.as_ref().and_then(|subject| subject.tier);
    let reviewer = review::findings::heard(policy, state, world).security;
    let (mut open, mut evidence) = (Vec::new(), Vec::new());
    for subject in Subject::EACH {
        let by = policy.gates.verify.security.of(subject).cloned().or_else(|| usual(subject, policy));
        let told = match &by {
            Some(Assured::Phasegate) => Some("Phasegate, in what the change adds (`BLD-04`)".to_owned()),
            Some(Assured::Audit) if policy.gates.verify.asks_for_runs() => {
                Some("the commands of `gates.build.audit`, in the run".to_owned())
            }
            // How a check's job ended does not say that it ran them.
            Some(Assured::Audit) => None,
            Some(Assured::Check(name)) => Some(format!("the check {}", quoted(name))),
            Some(Assured::None(reason)) => Some(format!("nobody: it does not apply ({})", quoted(reason))),
            Some(Assured::Review) => reviewer.as_ref().map(|person| format!("the review of `{}`", person.login)),
            None => None,
        };
        match told {
            Some(by) => evidence.push(Evidence::Security { subject: subject.as_str().to_owned(), by }),
            None => open.push(subject),
        }
    }
    (unknown(policy, &open, tier), evidence)
}

/// `VER-03`, where no source shows what was run: a check tells how its job ended. What the policy demands all the same is a person's to
/// say. Where a job runs the policy's own commands, its end tells of the proofs too.
pub(super) fn unseen(policy: &Policy, state: &State) -> Option<Finding> {
    let verify = &policy.gates.verify;
    let demanded = match policy.proofs() {
        Proofs::Off => return None,
        Proofs::Demand if !verify.run.is_empty() => return None,
        wanted => wanted == Proofs::Demand,
    };
    if verify.asks_for_runs() {
        return None;
    }
    let says = "Nobody has seen run what shows the criteria: a check tells how its job ended, and not what it ran.";
    let agree = policy.commands.written("agree");
    Some(match (demanded, agreed_to_unseen(state)) {
        (true, Some(agreed)) => super::asked::accepted(&Finding::error("VER-03", says, ""), agreed),
        (true, None) => {
            let next = format!(
                "Somebody who may approve and neither wrote nor pushed it runs what Key Links name, and says \
                 `{agree} VER-03 WHAT THEY RAN AND SAW`."
            );
            Finding::waiting("VER-03", says, next)
        }
        (false, _) => {
            let next = "Let it be run and recorded: `gates.verify.from: [actions]` or `[runner]`. Or write `proofs: demand` there, and \
                        somebody says what they ran and saw; `proofs: off` leaves this out.";
            Finding::warning("VER-03", says, next)
        }
    })
}

fn agreed_to_unseen(state: &State) -> Option<&Agreed> {
    let content = state.subject.as_ref().map(|about| &about.content);
    state.agreed.iter().rev().find(|one| one.rule == "VER-03" && Some(&one.content) == content)
}

/// Whether a person's word is waited for.
pub fn waits_for_a_word(policy: &Policy, state: &State) -> bool {
    unseen(policy, state).is_some_and(|finding| finding.blocks())
}

/// Who tells of a subject where the policy does not say.
fn usual(subject: Subject, policy: &Policy) -> Option<Assured> {
    match subject {
        Subject::Secrets => Some(Assured::Phasegate),
        Subject::Dependencies if !policy.gates.build.audit.is_empty() && policy.gates.verify.asks_for_runs() => {
            Some(Assured::Audit)
        }
        Subject::Dependencies | Subject::Injection | Subject::Authentication => Some(Assured::Review),
    }
}

fn unknown(policy: &Policy, open: &[Subject], tier: Option<Tier>) -> Option<Finding> {
    open.first()?;
    let subjects: Vec<&str> = open.iter().map(|subject| subject.what()).collect();
    let says = format!("It is unknown whether anything is wrong with {}: nobody has said so.", subjects.join(", "));
    let Verify { security, .. } = &policy.gates.verify;
    let by_run = |subject: Subject| security.of(subject) == Some(&Assured::Audit);
    let named = security.of(Subject::Dependencies).is_some_and(|by| *by != Assured::Audit);
    let idle = !policy.gates.build.audit.is_empty() && !policy.gates.verify.asks_for_runs() && !named;
    let mut next = Vec::new();
    if let Some(first) = open.iter().find(|subject| !by_run(**subject)) {
        next.push(format!(
            "Let somebody review this content with `axes: [security]` in a `phasegate-review` block, or name who tells of it in \
             the policy: `gates.verify.security.{}`.",
            first.as_str()
        ));
    }
    if idle && open.contains(&Subject::Dependencies) {
        next.push(
            "No source of `gates.verify.from` runs `gates.build.audit`: name a check whose job does, with \
             `gates.verify.security.dependencies: { check: NAME }`, or take `actions` or `runner` into `from`."
                .to_owned(),
        );
    }
    let next = next.join(" ");
    Some(match tier {
        Some(Tier::Shed) => Finding::warning("VER-05", says, next),
        Some(Tier::House | Tier::Skyscraper) | None => Finding::error("VER-05", says, next),
    })
}

#[cfg(test)]
mod tests;
