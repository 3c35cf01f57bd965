//! What GitHub tells of deployments, and by whom.

use crate::gate::phase::{Judgement, Outcome, settled};
use crate::gate::world::{Deployment, Untold, World};
use crate::gate::{Finding, evidence};
use crate::ids::CommitId;
use crate::ledger::record::Evidence;
use crate::ledger::state::State;
use crate::policy::Policy;

/// `DEP-01`: what was deployed was not red before. A check that does not run there says nothing.
fn preflight(policy: &Policy, commit: &CommitId, state: &State, world: &World) -> Vec<Finding> {
    let heard = match state.merged.is_some() {
        true => evidence::merged("DEP-01", policy, commit, state, world),
        false => evidence::proof("DEP-01", policy, state, world),
    };
    heard.findings.into_iter().filter(|finding| finding.blocks() && !finding.waiting).collect()
}

/// The newest deployment to each environment. One that another has replaced says nothing, unless there is no other.
fn newest<'w>(all: &[&'w Deployment]) -> Vec<&'w Deployment> {
    let is_newest = |one: &&&Deployment| {
        let later = all.iter().rev().find(|other| other.environment == one.environment);
        later.is_some_and(|other| std::ptr::eq(**one, *other))
    };
    let each: Vec<&Deployment> = all.iter().filter(is_newest).copied().collect();
    let active: Vec<&Deployment> = each.iter().filter(|one| one.state != "inactive").copied().collect();
    if active.is_empty() { each } else { active }
}

/// Why nobody takes their word for it that a deployment has succeeded. That one has failed, anybody may say.
fn in_vain(one: &Deployment, policy: &Policy, state: &State) -> Option<(&'static str, &'static str)> {
    if one.state != "success" {
        return None;
    }
    let by = &policy.gates.deploy.by;
    if !by.is_empty() {
        let named = by.iter().any(|name| name.is(&one.by.login));
        let says = "whom `gates.deploy.by` does not name";
        return (!named).then_some((says, "Let one of those deploy it, or name this account there too."));
    }
    let own = state.operators.iter().any(|person| person.id == one.by.id);
    let next =
        "Let somebody else deploy it, or a workflow; or say in the policy, under `gates.deploy.by`, who deploys.";
    (own && !policy.people.solo).then_some(("who wrote or pushed the change", next))
}

/// What the newest deployment to an environment comes to; none: it has succeeded.
fn unfinished(one: &Deployment, policy: &Policy, state: &State) -> Option<Finding> {
    let (commit, to) = (one.commit.short(), &one.environment);
    match one.state.as_str() {
        "success" => in_vain(one, policy, state).map(|(who, next)| {
            let says =
                format!("That the deployment of {commit} to {to} succeeded is said by @{}, {who}.", one.by.login);
            Finding::waiting("DEP-03", says, next)
        }),
        "failure" | "error" => {
            let says = format!("The deployment of {commit} to {to} ended as {}.", one.state);
            Some(Finding::error(
                "DEP-03",
                says,
                "Mend the deployment and run it again: a success of this commit in the same environment takes its place.",
            ))
        }
        "inactive" => {
            let says = format!("The deployment of {commit} to {to} is inactive: nobody saw that it succeeded.");
            Some(Finding::waiting("DEP-03", says, "Deploy this commit again, or a later one with a change of its own."))
        }
        other => {
            let says = format!("The deployment of {commit} to {to} is {other}.");
            Some(Finding::waiting("DEP-03", says, "Nothing to do: it is looked at again when it ends."))
        }
    }
}

/// `DEP-01`, `DEP-03`, `DEP-04`.
pub(in crate::gate) fn told(policy: &Policy, state: &State, world: &World) -> Judgement {
    let commit = state.merged.as_ref().map_or(&world.pull.head, |merged| &merged.commit);
    let wanted = &policy.gates.deploy.environments;
    let is_to = |name: &str, one: &Deployment| one.environment.eq_ignore_ascii_case(name);
    let counts =
        |one: &&Deployment| one.commit == *commit && (wanted.is_empty() || wanted.iter().any(|name| is_to(name, one)));
    let mine: Vec<&Deployment> = world.deployments.iter().filter(counts).collect();
    let shown = |one: &&Deployment| Evidence::Deployment {
        environment: one.environment.clone(),
        state: one.state.clone(),
        commit: one.commit.clone(),
        by: Some(one.by.clone()),
        discounted: in_vain(one, policy, state).map(|(who, _)| format!("by @{}, {who}", one.by.login)),
    };
    let evidence = mine.iter().map(shown).collect();
    // That none is told of does not mean that there is none, or that none failed.
    if mine.is_empty() && world.untold.contains(&Untold::Deployments) {
        let says = format!(
            "This GitHub does not tell of deployments (it has no `{}`), so it is not known what became of {}.",
            Untold::Deployments.endpoint(),
            commit.short()
        );
        let findings = vec![Finding::waiting("DEP-03", says, "Use a GitHub that tells of them.")];
        return Judgement { outcome: Outcome::Pending, findings, evidence };
    }
    if mine.is_empty() && wanted.is_empty() {
        let mut judged = settled(
            match state.merged.is_some() {
                true => evidence::merged("DEP-04", policy, commit, state, world),
                false => evidence::proof("DEP-04", policy, state, world),
            },
            state,
        );
        if judged.outcome == Outcome::Pass {
            // A library is never deployed. Of anything else nobody has seen that it was.
            let says = format!(
                "GitHub tells of no deployment of {}: that its checks are green stands for it, and nobody saw it deployed.",
                commit.short()
            );
            let next = "Nothing, where nothing is deployed. Otherwise name where it goes under `gates.deploy.environments`, and \
                        it is waited for.";
            judged.findings.push(Finding::warning("DEP-04", says, next));
        }
        return judged;
    }
    let missing = wanted.iter().filter(|name| !mine.iter().any(|one| is_to(name, one))).map(|name| {
        let says = format!("Nobody has told of a deployment of {} to {name}.", commit.short());
        Finding::waiting(
            "DEP-03",
            says,
            "Deploy it there, by a job with `environment:` or by the API of deployments, so that GitHub knows of it.",
        )
    });
    let mut findings: Vec<Finding> =
        newest(&mine).into_iter().filter_map(|one| unfinished(one, policy, state)).chain(missing).collect();
    if findings.is_empty() {
        findings = preflight(policy, commit, state, world);
    }
    let outcome = match findings.iter().any(|finding| !finding.waiting) {
        true => Outcome::Fail,
        false if findings.is_empty() => Outcome::Pass,
        false => Outcome::Pending,
    };
    Judgement { outcome, findings, evidence }
}
