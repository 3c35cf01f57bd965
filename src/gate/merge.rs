//! The merge gate: may this content go into that branch?

use std::collections::BTreeSet;

use super::alone;
use super::evidence::{self, listed};
use super::frozen;
use super::memory;
use super::residue;
use super::review;
use super::risk;
use super::{Finding, Verdict, bounded, verdict};
use crate::finding::quoted;
use crate::flow::pipeline::{phase_of, waits_for_human, words};
use crate::flow::{FlowName, Phase, Stage, task};
use crate::gate::people::who_decides_first;
use crate::gate::world::{CheckRun, Law, Proposal, UNREADABLE, World};
use crate::ids::CommitId;
use crate::ledger::record::Evidence;
use crate::ledger::state::{State, Stop};
use crate::policy::{Autonomy, Commands, Deploy, Policy, Require};

/// The name of the check that a ruleset requires.
pub const CHECK_NAME: &str = "phasegate/merge";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub findings: Vec<Finding>,
    pub evidence: Vec<Evidence>,
}

/// Judges the change for merging. Each rule is a function of its own; the order is the order people read them in.
pub fn judge(state: &State, world: &World) -> Judgement {
    let (mut findings, mut evidence) = (Vec::new(), Vec::new());
    match &world.law {
        // Without a valid law nothing else can be judged.
        Law::Invalid(problems) => {
            findings.extend(problems.iter().cloned());
            findings.extend(mends(world));
        }
        Law::Valid(policy) => {
            findings.extend(right_base(policy, world));
            findings.extend(nothing_required(policy));
            findings.extend(proposed(world));
            findings.extend(rivals(world));
            findings.extend(unproved(world));
            findings.extend(stopped(state, policy));
            findings.extend(audit(state, policy));
            findings.extend(audit_owed(state, &policy.commands));
            findings.extend(memory::findings(state, world));
            findings.extend(forged(&world.checks, world.app));
            findings.extend(frozen::tripwire(state, world));
            findings.extend(frozen::reported(state));
            findings.extend(risk::over(state, &policy.commands));
            findings.extend(unread(world.checks_unread, &world.pull.head));
            findings.extend(weakened(state, policy, world));
            findings.extend(super::weakened::findings(state, world));
            findings.extend(residue::findings(world));
            findings.extend(high_risk(state, policy, world));
            findings.extend(world.pull.header.findings(state.autonomy));
            if world.subject.is_none() {
                findings.push(Finding::error(
                    "MRG-01",
                    "The content of this change could not be read, so nothing can be said of it.",
                    UNREADABLE,
                ));
            } else {
                if let Some(phases) = phases(state, policy) {
                    findings.push(phases);
                }
                let (more, proof) = verified(state, policy, world);
                findings.extend(more);
                evidence.extend(proof);
                let (more, proof) = reviewed(state, policy, world);
                findings.extend(more);
                evidence.extend(proof);
            }
        }
    }
    risk::accept(&mut findings, state);
    let by_itself =
        world.policy().filter(|policy| policy.merge.require.contains(&Require::Verify)).and_then(|policy| {
            let approved = !review::approvals(policy, state, world).by.is_empty();
            let rung = if approved { Autonomy::Manual } else { alone::rung(policy, state, world) };
            alone::by_itself(verdict(&findings), rung, &evidence)
        });
    evidence.extend(by_itself);
    Judgement { verdict: verdict(&findings), findings: bounded(findings), evidence }
}

/// `MRG-08`: what stands against the same work under another number is not known.
fn unproved(world: &World) -> Vec<Finding> {
    let ledger = &world.ledger;
    let broken = world.broken.iter().map(|number| {
        Finding::error(
            "MRG-08",
            format!("The records of {number}, another change of the same work, can't be proved: what stands against it is not known."),
            format!(
                "`phasegate replay {} --github OWNER/REPO --branch {}` locates what was altered or taken away, and says how to put \
                 it back.",
                number.0, ledger,
            ),
        )
    });
    let unread = (world.unread > 0).then(|| {
        Finding::error(
            "MRG-08",
            format!("There are {} more changes of the same work than can be read: what stands against them is not known.", world.unread),
            "Bring it in with fewer commits at a time, or begin anew from the base with commits that were in no pull request.",
        )
    });
    let unseen = world.unseen_moves.then(|| {
        Finding::error(
            "MRG-08",
            format!(
                "Others than Phasegate have moved the ledger's branch `{ledger}` so often that it is not known what they took away, \
                 and with it what stands against this work."
            ),
            "Let nobody else write that branch. The page on the Action says how to go on (\"When the ledger was taken \
             away\").",
        )
    });
    broken.chain(unread).chain(unseen).collect()
}

/// The autonomy that holds after what the change does to itself.
pub fn autonomy(state: &State, world: &World) -> Autonomy {
    if world.self_weakening().is_empty() { state.autonomy } else { Autonomy::Manual }
}

/// `MRG-11`: a branch whose law is not the default branch's gets no green, or the App itself would green a commit for
/// a soft branch that is then merged into a hard one.
fn right_base(policy: &Policy, world: &World) -> Option<Finding> {
    let base = &world.pull.base_ref;
    if !policy.may_merge_into(base, &world.default_branch) {
        return Some(Finding::error(
            "MRG-11",
            format!(
                "{} is not a branch that the policy covers, so nothing that goes into it can be green.",
                quoted(base)
            ),
            format!("Retarget to `{}`, or add the branch to `branches` in the policy.", world.default_branch),
        ));
    }
    // Anyone could push to it past the gate, and merge the green commit from there into a branch that is protected.
    (!world.base_protected).then(|| {
        Finding::error(
            "MRG-11",
            format!(
                "The policy names {}, but it is not protected, so nothing that goes into it can be green.",
                quoted(base)
            ),
            format!(
                "Protect it with a ruleset that requires `{CHECK_NAME}`, and say `{}`; or take it out of `branches`.",
                policy.commands.written("status")
            ),
        )
    })
}

/// `MRG-07`: a law that asks for nothing is valid, and hardly meant.
fn nothing_required(policy: &Policy) -> Option<Finding> {
    policy.merge.require.is_empty().then(|| {
        Finding::warning(
            "MRG-07",
            "Nothing is required: `merge.require` is empty, so every change is green as it comes.",
            "Ask for `verify`, `review` or both in the policy on the default branch.",
        )
    })
}

/// `MRG-12`: what the change makes of the policy. A mistake in it would hold up everything, its own repair too.
fn proposed(world: &World) -> Vec<Finding> {
    match world.subject.as_ref().map(|subject| &subject.proposal) {
        Some(Proposal::Invalid(problems)) => problems
            .iter()
            .map(|problem| Finding {
                rule: "MRG-12".to_owned(),
                says: format!("The change would leave an invalid policy: {}", problem.says),
                ..problem.clone()
            })
            .collect(),
        Some(Proposal::Removed) => {
            let gone = Finding::warning(
                "MRG-12",
                format!("The change removes the policy: `{CHECK_NAME}` will not come any more, required or not."),
                "Before it is merged, take the required check out of the branch's rules.",
            );
            vec![gone]
        }
        _ => Vec::new(),
    }
}

/// The change that mends an invalid policy can't be let through by it.
fn mends(world: &World) -> Option<Finding> {
    let valid = world.subject.as_ref().is_some_and(|subject| subject.proposal == Proposal::Valid);
    valid.then(|| {
        Finding::warning(
            "MRG-07",
            "This change would leave a valid policy, but there is no valid one to judge it by.",
            "Somebody who may go around the branch's rules merges it; that is recorded.",
        )
    })
}

/// `MRG-10`: a check belongs to a commit, so it is green only when it is for every open pull request with that head.
fn rivals(world: &World) -> Vec<Finding> {
    let red = world.rivals.iter().filter(|rival| !rival.green);
    red.map(|rival| {
        Finding::error(
            "MRG-10",
            format!("#{} (into {}) has the same head and is not green.", rival.number, quoted(&rival.base_ref)),
            "Close it, or bring it to green: one commit has one verdict.",
        )
    })
    .collect()
}

/// `MRG-05`: somebody called a stop, a gate blocked, or a person is to look before the next phase.
fn stopped(state: &State, policy: &Policy) -> Option<Finding> {
    let pipeline = state.pipeline.as_ref();
    let stage = pipeline.map(|pipeline| pipeline.stage);
    let brake = stage == Some(Stage::ComplexityBrakeTriggered);
    let issue = state.escalation.as_ref().and_then(|open| open.issue);
    let asked = issue.map(|issue| format!(" It is asked in #{issue}.")).unwrap_or_default();
    let next = lifted_by(state, policy, if brake { "brake-resolved" } else { "unblock" });
    let also = state.also_stopped();
    if let Some(stop) = state.stopped.as_ref().filter(|stop| also.first() != Some(stop)) {
        let more = and_more(&also, |one| format!("; and {}", quoted(&one.reason)));
        let asked = issue.map_or_else(|| ".".to_owned(), |issue| format!(". It is asked in #{issue}."));
        let says = format!("The change is stopped: {}{more}{asked}", quoted(&stop.reason));
        return Some(Finding::error("MRG-05", says, next));
    }
    let more = and_more(&also, |one| format!(" It is stopped, too: {}.", quoted(&one.reason)));
    let asked = format!("{asked}{more}");
    let to = pipeline.and_then(|pipeline| pipeline.return_to).and_then(phase_of);
    if let (Some(Stage::SteppedModePaused), Some(phase)) = (stage, to) {
        return Some(Finding::waiting(
            "MRG-05",
            format!("The change waits for a person before {phase} begins.{asked}"),
            format!("Someone with write access looks at it and says `{}`.", policy.commands.written("continue")),
        ));
    }
    let pipeline = match pipeline.filter(|pipeline| waits_for_human(pipeline.stage)) {
        Some(pipeline) => pipeline,
        // Red pushes are asked about, and told by their own rule.
        None if more.is_empty() => return None,
        None => return Some(Finding::error("MRG-05", asked.trim_start().to_owned(), next)),
    };
    let says = match to {
        Some(phase) if !brake => format!("The change is blocked at {phase} and waits for a person.{asked}"),
        _ => format!("The change waits for a person: {}.{asked}", words(pipeline.stage)),
    };
    Some(Finding::error("MRG-05", says, next))
}

/// A few of several stops, and how many more there are: all of them stand in the issue.
fn and_more(also: &[&Stop], tell: impl Fn(&Stop) -> String) -> String {
    const TOLD: usize = 2;
    let told: String = also.iter().take(TOLD).map(|one| tell(one)).collect();
    match also.len().saturating_sub(TOLD) {
        0 => told,
        more => format!("{}; and {more} more", told.trim_end_matches('.')),
    }
}

fn lifted_by(state: &State, policy: &Policy, command: &str) -> String {
    let who = who_decides_first(policy, &state.operators);
    format!("{who} looks at it and says `{} REASON`.", policy.commands.written(command))
}

/// `MRG-06`: pushing until a preview turns green is no way round a gate.
fn audit(state: &State, policy: &Policy) -> Option<Finding> {
    let (phase, reds) = state.audit_due(policy.limits.previews)?;
    Some(Finding::error(
        "MRG-06",
        format!("{reds} pushes were red at {phase}; more than {} ask for an audit.", policy.limits.previews),
        lifted_by(state, policy, "unblock"),
    ))
}

/// `MRG-06`: a slice that failed three times in a row is looked at by somebody who does not build it.
pub(super) fn audit_owed(state: &State, commands: &Commands) -> Option<Finding> {
    let audit = state.audit_owed()?;
    let kind = audit.asked?;
    let written = commands.written("audit");
    let next = match audit.facts.iter().next() {
        None => format!("`{written}` says what is asked for, and takes the report."),
        Some(fact) => format!("`{written} promote {fact}` lets plans rest on what the report found."),
    };
    let fails = audit.fails.of(kind);
    let says =
        format!("The {kind} gate of {} failed {fails} times in a row, and a verifier's audit is owed.", audit.slice_id);
    Some(Finding::error("MRG-06", says, next))
}

/// `MRG-04`: a check of our name that is not ours.
pub(super) fn forged(checks: &[CheckRun], app: u64) -> Vec<Finding> {
    let ours = |name: &str| name == CHECK_NAME || name.starts_with("phasegate/");
    // Whoever forges one can forge a thousand; each name and App is said once.
    let strange: BTreeSet<(&str, u64)> =
        checks.iter().filter(|run| ours(&run.name) && run.app != app).map(|run| (run.name.as_str(), run.app)).collect();
    strange
        .into_iter()
        .map(|(name, app)| {
            Finding::error(
                "MRG-04",
                format!("A check named {} on this head was made by the App {app}, not by Phasegate.", quoted(name)),
                "Find out what made it, and push a new head without it.",
            )
        })
        .collect()
}

/// `MRG-01`: nobody can tell which greens count where not all of them can be read.
pub(super) fn unread(unread: bool, head: &CommitId) -> Option<Finding> {
    unread.then(|| {
        Finding::error(
            "MRG-01",
            format!("There are more check runs on {} than GitHub tells, so none counts.", head.short()),
            "Find out what makes them, and push a new head.",
        )
    })
}

/// `self_weakening`: shown, and the reason why a person is asked.
fn weakened(state: &State, policy: &Policy, world: &World) -> Option<Finding> {
    let paths: Vec<&str> = world.self_weakening().into_iter().collect();
    (!paths.is_empty()).then(|| {
        Finding::warning(
            "self_weakening",
            format!(
                "The change touches what decides its own green: {}. For this content its autonomy is manual.",
                listed(&paths)
            ),
            match review::approvals(policy, state, world).by.values().next() {
                Some(login) => format!("`{login}` has approved it."),
                None => "A person who is neither author nor operator has to approve it.".to_owned(),
            },
        )
        .at(paths[0], None)
    })
}

/// `unguarded_high_risk_auto`: nothing of high risk passes without a lowered autonomy, whether its description or its paths say so.
pub fn high_risk(state: &State, policy: &Policy, world: &World) -> Option<Finding> {
    let subject = world.subject.as_ref().filter(|_| autonomy(state, world) == Autonomy::Auto)?;
    let high = crate::policy::globs(&policy.risk.high);
    // Globs that can't be read can't come from a policy file; should they, everything is of high risk.
    let risky = |path: &&str| high.as_ref().map_or(true, |high| high.is_match(path));
    let paths: Vec<&str> = subject.changed.iter().map(String::as_str).filter(risky).collect();
    let says = match (paths.is_empty(), state.declared.high_risk) {
        (true, false) => return None,
        (true, true) => "The change is declared to be of high risk while its autonomy is auto.".to_owned(),
        (false, _) => format!("The change touches high-risk paths ({}) while autonomy is auto.", listed(&paths)),
    };
    let next = "Lower it for this change: `autonomy: conservative` on a line of the pull request's description, or a `match` rule in \
                the policy for its branch or a label. Then a person approves it who neither wrote nor pushed to it.";
    let finding = Finding::error("unguarded_high_risk_auto", says, next);
    Some(match paths.first() {
        Some(path) => finding.at(*path, None),
        None => finding,
    })
}

/// In the pipeline, the phases before the merge.
fn phases(state: &State, policy: &Policy) -> Option<Finding> {
    if state.flow == FlowName::Task {
        return task(state);
    }
    if state.flow != FlowName::Pipeline {
        return None;
    }
    let pipeline = state.pipeline.as_ref()?;
    let last = match policy.deploy {
        Deploy::AfterMerge => Phase::Verify,
        Deploy::BeforeMerge => Phase::Deploy,
    };
    let open = Phase::ALL.into_iter().find(|phase| *phase <= last && !pipeline.holds(*phase))?;
    // Before it has begun, and beside the phases, no gate of a phase is looked at.
    let says = match pipeline.phase() {
        Some(present) => format!("The check `phasegate/{present}`"),
        None => "*Next* in the comment".to_owned(),
    };
    Some(Finding::waiting(
        "MRG-01",
        format!("{NOT_THROUGH}: the {open} gate has not passed for this content."),
        format!("{says} says what to do. This follows by itself."),
    ))
}

/// `MRG-01`: the task is done, or what it is in says what is to be done.
fn task(state: &State) -> Option<Finding> {
    let says = match state.task.as_ref().map(|task| task.state.stage) {
        Some(task::Stage::Done) => return None,
        Some(stage) => format!("{NOT_DONE}: it is in `{stage}`."),
        None => format!("{NOT_DONE}: there is none in this change."),
    };
    Some(Finding::waiting("MRG-01", says, "The check `phasegate/task` says what to do. This follows by itself."))
}

/// How the finding begins that only says that the phases have the change still.
const NOT_THROUGH: &str = "The pipeline is not through";
/// The same of a task.
const NOT_DONE: &str = "The task is not through";

/// Whether a finding says no more than that.
pub(super) fn only_of_the_phases(finding: &Finding) -> bool {
    finding.rule == "MRG-01"
        && finding.waiting
        && [NOT_THROUGH, NOT_DONE].iter().any(|says| finding.says.starts_with(says))
}

/// `MRG-01`: verify evidence for this content.
fn verified(state: &State, policy: &Policy, world: &World) -> (Vec<Finding>, Vec<Evidence>) {
    if !policy.merge.require.contains(&Require::Verify) {
        return Default::default();
    }
    let heard = evidence::proof("MRG-01", policy, state, world);
    (heard.findings, heard.evidence)
}

/// Who approves, and how.
pub(super) fn entitled(policy: &Policy, world: &World) -> String {
    format!(
        "Someone who may approve and neither wrote nor pushed it reviews {}, or says `{}`.",
        world.pull.head.short(),
        policy.commands.written("approve")
    )
}

/// `MRG-02` and `MRG-03`: review evidence for this content, and as many approvals as policy and autonomy ask for.
fn reviewed(state: &State, policy: &Policy, world: &World) -> (Vec<Finding>, Vec<Evidence>) {
    let autonomy = alone::rung(policy, state, world);
    let approvals = review::approvals(policy, state, world);
    let mut findings = Vec::new();
    let have = approvals.by.len();
    for one in &approvals.against {
        let says = format!("`{}` {}.", one.login, one.says);
        findings.push(Finding::error("MRG-02", says, one.next(&policy.commands)));
    }
    let heard = review::findings::heard(policy, state, world);
    findings.extend(heard.open);
    findings.extend(heard.unread);
    let required = policy.merge.require.contains(&Require::Review);
    if required && have == 0 && approvals.against.is_empty() {
        findings.push(Finding::waiting(
            "MRG-02",
            format!("Nobody entitled has approved this content yet.{}", approvals.in_vain()),
            entitled(policy, world),
        ));
    }
    let least = usize::from(required || autonomy < Autonomy::Auto);
    let wanted = approvals.wanted(least.max(if required { policy.merge.approvals as usize } else { 0 }));
    if have < wanted && (have > 0 || !required) {
        findings.extend(alone::unmet(policy, state, world));
        findings.push(Finding::waiting(
            "MRG-03",
            format!(
                "{have} of {wanted} approvals are there ({}).{}",
                alone::told(policy, state, world),
                approvals.in_vain()
            ),
            match have {
                0 => entitled(policy, world),
                _ => "More people who may approve review this content.".to_owned(),
            },
        ));
    }
    let signers = world.subject.iter().flat_map(|subject| approvals.signed(&subject.signers));
    findings.extend(signers.map(|login| {
        Finding::warning(
            "MRG-02",
            format!("`{login}` approved this, and commits of it bear their address as an author's."),
            "Anybody can write an address, so this holds nothing back. If they did write it, somebody else reviews it too.",
        )
    }));
    (findings, [approvals.evidence, heard.evidence].concat())
}
