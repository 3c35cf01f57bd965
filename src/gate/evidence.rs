//! Which greens count.
//!
//! A check run with the right name proves nothing by itself. A check that a workflow makes is read from the jobs of its
//! runs, never from check runs: a workflow's token can write, rename and end those. A job counts only where the
//! workflow's file, local actions and scripts are the default branch's own at this head: the workflow of a pull request
//! is the change's own file, so an agent can write any green it likes into it. And it counts only where its run was
//! started by what runs the head, or its merge into *this* base. A check run of another App counts when policy names that
//! App. Commit statuses never do.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::{Finding, asked, frozen, weakened};
use crate::finding::quoted;
use crate::gate::world::{ACTIONS_APP, Beneath, CheckRun, Sibling, UNREADABLE, Untold, WorkflowRun, World};
use crate::ids::{BlobId, CommitId, Digest};
use crate::ledger::record::Evidence;
use crate::ledger::state::{RED, Red, State};
use crate::policy::{Check, MadeBy, Policy, Source};
use crate::repo::meaning::{Changed, Drift};

/// Changed files that a person has accepted, each with the content they saw (none: that it is gone).
pub type Accepted = BTreeMap<String, BTreeSet<Option<BlobId>>>;

/// What a source of evidence came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    pub evidence: Vec<Evidence>,
    pub findings: Vec<Finding>,
}

impl Heard {
    pub fn failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.blocks() && !finding.waiting)
    }

    pub fn passed(&self) -> bool {
        !self.findings.iter().any(Finding::blocks)
    }

    /// Whether nothing is told yet, for or against.
    fn waits(&self) -> bool {
        !self.passed() && !self.failed()
    }
}

/// What the policy's sources of evidence show for this head: each that it names has to.
pub fn proof(rule: &str, policy: &Policy, state: &State, world: &World) -> Heard {
    let verify = &policy.gates.verify;
    let mut heard = if verify.has(Source::Checks) { checks(rule, policy, state, world) } else { Heard::default() };
    let asked = |source: Source| verify.has(source).then(|| asked::heard(source, rule, policy, state, world));
    let runs = Source::ASKED.map(asked);
    let word = verify.has(Source::People).then(|| asked::tried(rule, policy, state, world));
    for more in runs.into_iter().chain([word]).flatten() {
        heard.findings.extend(more.findings);
        heard.evidence.extend(more.evidence);
    }
    heard
}

/// The checks that policy names, on this head.
fn checks(rule: &str, policy: &Policy, state: &State, world: &World) -> Heard {
    let drift = world.subject.as_ref().map(|subject| &subject.drift);
    let (head, runs) = (&world.pull.head, world.checks.as_slice());
    let mut heard = all(&Sought { head, runs, drift, ..Sought::of(rule, policy, state, world) });
    // While the checks of the bot's own commit have not told, those of what it stands on do: it is the same content.
    for Beneath { head, checks, workflow_runs } in
        world.beneath.iter().filter(|below| is_on_record(below, policy, state, world))
    {
        if !heard.waits() {
            break;
        }
        let below = all(&Sought { head, runs: checks, workflow_runs, drift, ..Sought::of(rule, policy, state, world) });
        if !below.waits() {
            heard.evidence.extend(below.evidence);
            heard.findings = below.findings;
        }
    }
    heard
}

/// Whether all that the policy's checks have told of an earlier head was counted there, for this very content. What nobody has looked
/// at while it was the head may be of another base.
fn is_on_record(below: &Beneath, policy: &Policy, state: &State, world: &World) -> bool {
    let content = world.subject.as_ref().map(|subject| &subject.about.content);
    let named = |run: &&CheckRun| policy.gates.verify.checks.iter().any(|check| check.name == run.name);
    content.is_some()
        && state.heads.get(&below.head) == content
        && below.checks.iter().filter(named).all(|run| state.ran_for.get(&run.id) == content)
}

/// The same on the commit that the change was merged as. It is the default branch's own, workflows included.
pub fn merged(rule: &str, policy: &Policy, commit: &CommitId, state: &State, world: &World) -> Heard {
    if !policy.gates.verify.has(Source::Checks) {
        let waits = Finding::waiting(
            rule,
            format!(
                "Nothing tells of {}: GitHub knows no deployment of it, and the policy names no check.",
                commit.short()
            ),
            "Deploy it through GitHub's deployments; or name a check under `gates.verify.checks`, and `checks` in `from`.",
        );
        return Heard { findings: vec![waits], ..Heard::default() };
    }
    let workflows = policy.gates.verify.checks.iter().filter_map(|check| check.workflow.clone());
    let drift = workflows.map(|path| (path, Ok(BTreeMap::new()))).collect();
    let (head, runs) = (commit, world.merge_checks.as_slice());
    all(&Sought { head, runs, drift: Some(&drift), ..Sought::of(rule, policy, state, world) })
}

/// The same on the commit of a merge queue's group, which belongs to no pull request.
pub struct GroupRuns<'a> {
    pub head: &'a CommitId,
    pub runs: &'a [CheckRun],
    pub workflow_runs: &'a BTreeSet<u64>,
    pub drift: &'a BTreeMap<String, Drift>,
    /// The files that a person has accepted for the member that brings them.
    pub accepted: &'a Accepted,
    /// Reds that are on record for the group.
    pub reds: &'a BTreeSet<Red>,
}

pub fn grouped(rule: &str, policy: &Policy, group: &GroupRuns<'_>) -> Heard {
    let GroupRuns { head, runs, workflow_runs, drift, accepted, reds } = *group;
    if !policy.gates.verify.has(Source::Checks) {
        let none = Finding::error(
            rule,
            "The policy takes evidence from no check, and no other source is asked for a merge group.",
            "Name a check that runs on `merge_group` under `gates.verify.checks`, and `checks` in `from`; or let the queue carry \
             what its members have proved: `merge: { queue: carry }`.",
        );
        return Heard { findings: vec![none], ..Heard::default() };
    }
    all(&Sought { rule, policy, head, runs, workflow_runs, drift: Some(drift), accepted, reds, change: None })
}

fn all(sought: &Sought<'_>) -> Heard {
    let Sought { rule, policy, head, runs, .. } = *sought;
    let mut heard = Heard::default();
    if policy.gates.verify.checks.is_empty() {
        heard.findings.push(Finding::error(
            rule,
            "The policy names no check that could show that the change works.",
            "Name one under `gates.verify.checks` in .github/phasegate.yml on the default branch.",
        ));
    }
    let named = |run: &&CheckRun| policy.gates.verify.checks.iter().any(|check| check.name == run.name);
    let many = runs.iter().filter(named).count();
    if many > MOST_RUNS {
        // None of them ever goes away again, so on this head it stays so: nothing has to be kept to know that.
        heard.findings.push(Finding::error(
            rule,
            format!(
                "There are {many} runs of the policy's checks on {}; more than {MOST_RUNS} are not read.",
                head.short()
            ),
            "Find out what makes them, and push a new head.",
        ));
        return heard;
    }
    for check in &policy.gates.verify.checks {
        one_check(sought, check, &mut heard);
        deleted(sought, check, &mut heard);
    }
    heard
}

/// A red of this head that was recorded stays red when its run is gone: whoever can write can delete a run.
fn deleted(sought: &Sought<'_>, check: &Check, heard: &mut Heard) {
    let Sought { rule, head, reds, workflow_runs, .. } = *sought;
    let gone = |red: &&Red| red.head == *head && red.name == check.name && red.content.is_none();
    let gone = |red: &&Red| gone(red) && !workflow_runs.contains(&red.workflow_run);
    if let Some(red) = reds.iter().find(gone) {
        heard.findings.push(Finding::error(
            rule,
            format!(
                "`{}` ended red on {} in a run that has been deleted ({}).",
                check.name,
                head.short(),
                red.workflow_run
            ),
            "Push a new head.",
        ));
    }
}

/// Every run of a named check is evidence, and evidence is recorded. Nobody needs more runs of one head than this.
const MOST_RUNS: usize = 500;

/// What a run is an attempt of: a workflow run's job can be run again, and so can another App's check. Of all attempts
/// the newest that was not cancelled decides; the others stay on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Attempts {
    WorkflowRun(u64),
    App(u64),
}

fn attempts_of(run: &CheckRun) -> (Attempts, u64) {
    match &run.job_of {
        Some(workflow) => (Attempts::WorkflowRun(workflow.id), workflow.attempt),
        None => (Attempts::App(run.app), run.id),
    }
}

/// Where the checks are looked for, and what is known there.
struct Sought<'a> {
    rule: &'a str,
    policy: &'a Policy,
    head: &'a CommitId,
    runs: &'a [CheckRun],
    workflow_runs: &'a BTreeSet<u64>,
    drift: Option<&'a BTreeMap<String, Drift>>,
    accepted: &'a Accepted,
    reds: &'a BTreeSet<Red>,
    /// The change that it is about; none for a merge group.
    change: Option<(&'a State, &'a World)>,
}

impl<'a> Sought<'a> {
    fn of(rule: &'a str, policy: &'a Policy, state: &'a State, world: &'a World) -> Self {
        Self {
            rule,
            policy,
            head: &world.pull.head,
            runs: &[],
            workflow_runs: &world.workflow_runs,
            drift: None,
            accepted: &state.accepted,
            reds: &state.reds,
            change: Some((state, world)),
        }
    }
}

fn is_cancelled(run: &CheckRun) -> bool {
    run.conclusion.as_deref() == Some("cancelled")
}

/// The runs that decide, by their ids: of each workflow run, and of each App, the newest attempt that tells something. A
/// cancelled job tells nothing, so the attempt before it still does. Jobs of one name (a matrix) can't be told apart, so
/// an attempt is replaced only when as many of them have told since as it had.
fn deciding<'a>(runs: impl Iterator<Item = &'a CheckRun>) -> BTreeSet<u64> {
    let mut attempts: BTreeMap<Attempts, BTreeMap<u64, Vec<&CheckRun>>> = BTreeMap::new();
    for run in runs {
        let (of, attempt) = attempts_of(run);
        attempts.entry(of).or_default().entry(attempt).or_default().push(run);
    }
    let mut deciding = BTreeSet::new();
    for of_one in attempts.values() {
        let mut told = 0;
        for jobs in of_one.values().rev() {
            if told < jobs.len() {
                let tell = jobs.iter().filter(|job| !is_cancelled(job));
                deciding.extend(tell.clone().map(|job| job.id));
                told += tell.count();
            }
        }
    }
    deciding
}

/// Whether a workflow run has jobs of one name of which some have told and others were cancelled, also when they were run
/// again, and no newer run of its kind has told of as many. Whoever can cancel could otherwise let only the quick ones end.
fn is_half_told<'a>(runs: impl Iterator<Item = &'a CheckRun>) -> bool {
    // By event and workflow run: of each attempt the jobs, and those of them that have told.
    type Attempts<'e> = BTreeMap<(&'e str, u64), BTreeMap<u64, (usize, usize)>>;
    let mut attempts = Attempts::new();
    for run in runs {
        let Some(workflow) = &run.job_of else { continue };
        let of_one = attempts.entry((workflow.event.as_str(), workflow.id)).or_default();
        let (jobs, told) = of_one.entry(workflow.attempt).or_default();
        *jobs += 1;
        *told += usize::from(!is_cancelled(run));
    }
    // Of each run: how many jobs of the name it has, and how many of them have told.
    let ended: Vec<(&str, u64, usize, usize)> = attempts
        .iter()
        .map(|((event, id), of_one)| {
            let jobs = of_one.values().map(|(jobs, _)| *jobs).max().unwrap_or_default();
            let told = of_one.values().rev().fold(0, |sum, (jobs, told)| if sum < *jobs { sum + told } else { sum });
            (*event, *id, jobs, told)
        })
        .collect();
    ended.iter().any(|(event, id, jobs, told)| {
        let made_good = ended.iter().any(|(other, newer, _, told)| other == event && newer > id && told >= jobs);
        *told > 0 && told < jobs && !made_good
    })
}

fn one_check(sought: &Sought<'_>, check: &Check, heard: &mut Heard) {
    let Sought { rule, head, .. } = *sought;
    let mut discounts = BTreeSet::new();
    let (mut counted, mut cancelled) = (Vec::new(), false);
    let mine: Vec<(&CheckRun, Option<String>)> = sought
        .runs
        .iter()
        .filter(|run| run.name == check.name)
        .map(|run| (run, discount(check, run, sought)))
        .collect();
    let deciding = deciding(mine.iter().filter(|(_, discounted)| discounted.is_none()).map(|(run, _)| *run));
    let unanswered = unanswered(sought, &mine, &deciding);
    let half_told = is_half_told(mine.iter().filter(|(_, discounted)| discounted.is_none()).map(|(run, _)| *run));
    for (run, discounted) in mine {
        let decides = deciding.contains(&run.id);
        let idle = (!decides).then(|| if is_cancelled(run) { SAYS_NOTHING } else { NEWER_DECIDES }.to_owned());
        heard.evidence.push(Evidence::Check {
            name: run.name.clone(),
            app: run.app,
            run: run.id,
            workflow_run: run.job_of.as_ref().map(|workflow| workflow.id),
            conclusion: run.conclusion.clone().unwrap_or_else(|| "running".to_owned()),
            head: head.clone(),
            discounted: discounted.clone().or(idle),
        });
        match discounted {
            None if decides => counted.push(run),
            None => cancelled |= is_cancelled(run),
            Some(why) => drop(discounts.insert(why)),
        }
    }
    let name = &check.name;
    let conflicts =
        sought.change.and_then(|(_, world)| world.subject.as_ref()).is_some_and(|subject| subject.conflicts);
    let pending = counted.iter().any(|run| run.conclusion.is_none());
    let shows_nothing = |conclusion: &&str| ["neutral", "skipped", "stale"].contains(conclusion);
    let ended: BTreeSet<&str> = counted.iter().filter_map(|run| run.conclusion.as_deref()).collect();
    let mut bad: Vec<&str> = ended.into_iter().filter(|conclusion| *conclusion != "success").collect();
    // Where nothing else tells, or a part of a matrix was never told, it has to be run again.
    if cancelled && (counted.is_empty() || half_told) {
        bad.push("cancelled");
    }
    if let Some(conclusion) = bad.iter().find(|one| !shows_nothing(one)).or(bad.first()) {
        let (says, next) = match *conclusion {
            "skipped" | "neutral" => (
                format!("`{name}` ended as {conclusion} on {}: it ran nothing, so it shows nothing.", head.short()),
                "Let it run for real on this head.".to_owned(),
            ),
            "cancelled" | "stale" => {
                (format!("`{name}` was {conclusion} on {}.", head.short()), "Run it again on this head.".to_owned())
            }
            _ => (
                format!("`{name}` ended as {conclusion} on {}{}.", head.short(), beside_a_green(&counted, conclusion)),
                match sought.change.map(|(state, _)| state.merged.is_some()) {
                    Some(false) => {
                        "Read its log, mend the change and push; where it is not to blame, run that job again."
                            .to_owned()
                    }
                    Some(true) => "Read its log; run it again, or mend it in another pull request.".to_owned(),
                    None => "Read its log, mend the change that breaks it, and put it into the queue again.".to_owned(),
                },
            ),
        };
        heard.findings.push(Finding::error(rule, says, next));
    } else if pending {
        heard.findings.push(Finding::waiting(
            rule,
            format!("`{name}` is still running on {}.", head.short()),
            "Nothing to do: it is looked at again when it ends.",
        ));
    } else if counted.is_empty() {
        heard.findings.push(match discounts.first() {
            Some(why) => {
                let says = format!("`{name}` on {} does not count: {why}.", head.short());
                let next = if conflicts { IN_CONFLICT.to_owned() } else { remedy(sought.policy, check, why) };
                // Nobody did anything wrong where only the ground moved.
                if [RAN_BEFORE, OTHER_BASE].contains(&why.as_str()) || why.starts_with(MAYBE_FOR) {
                    Finding::waiting(rule, says, next)
                } else {
                    Finding::error(rule, says, next)
                }
            }
            None => Finding::waiting(
                rule,
                format!("`{name}` has not run on {}.", head.short()),
                match conflicts {
                    true => IN_CONFLICT,
                    false => "It is looked at again when it has. If it never runs, check the workflow's triggers.",
                },
            ),
        });
    } else if let Some((red, why)) = unanswered {
        let says = format!(
            "`{name}` ended red on {} in run {red}, and nothing of its kind that counts has run since: {why}.",
            head.short()
        );
        heard.findings.push(Finding::waiting(rule, says, remedy(sought.policy, check, &why)));
    }
}

/// Which run it is, where another has a green of the same name: GitHub shows the newest alone, so the red one is not seen.
fn beside_a_green(counted: &[&CheckRun], conclusion: &str) -> String {
    let ended = |run: &&&CheckRun, wanted: &str| run.conclusion.as_deref() == Some(wanted);
    let run = |check: &CheckRun| check.job_of.as_ref().map(|workflow| workflow.id);
    let red = counted.iter().find(|run| ended(run, conclusion)).and_then(|red| run(red));
    let green = counted.iter().find(|other| ended(other, "success") && run(other) != red).and_then(|green| run(green));
    match (red, green) {
        (Some(red), Some(green)) => format!(" in run {red}, which the green run {green} does not undo"),
        _ => String::new(),
    }
}

/// A red of this head that does not count any more because the ground moved under it, or that another number or branch
/// brought, and why; until a newer run that the same event started is green. Otherwise sending a pull request elsewhere and
/// back would leave the green of a push beside the red of its merge, and of the two only the green.
fn unanswered(
    sought: &Sought<'_>,
    mine: &[(&CheckRun, Option<String>)],
    counted: &BTreeSet<u64>,
) -> Option<(u64, String)> {
    let Sought { head, reds, .. } = *sought;
    let on_record = |run: &CheckRun| {
        let of = run.job_of.as_ref().map(|workflow| workflow.id);
        reds.iter().any(|red| Some(red.workflow_run) == of && red.name == run.name && red.head == *head)
    };
    // Of another repository's runs only those that were taken over: anybody can have a fork with this head, and a red there.
    let mine_too = |run: &CheckRun| {
        let branch = |workflow: &WorkflowRun| workflow.branch.as_ref().map(|branch| branch.repo);
        let own = sought.change.and_then(|(_, world)| world.pull.branch.as_ref()).map(|branch| branch.repo);
        own.is_some() && run.job_of.as_ref().and_then(branch) == own
    };
    let set_aside = |run: &CheckRun, why: &str| {
        [RAN_BEFORE, OTHER_BASE].contains(&why)
            || why.starts_with(MAYBE_FOR)
            || (why == NO_BRANCH || why.starts_with(OTHER_BRANCH)) && (on_record(run) || mine_too(run))
    };
    let aside: Vec<(&CheckRun, &String)> = mine
        .iter()
        .filter_map(|(run, why)| Some((*run, why.as_ref()?)))
        .filter(|(run, why)| set_aside(run, why))
        .collect();
    let decided = deciding(aside.iter().map(|(run, _)| *run));
    let kind = |run: &CheckRun| run.job_of.as_ref().map(|workflow| workflow.event.clone());
    let answers = |red: &CheckRun, run: &CheckRun| match (&red.job_of, &run.job_of) {
        (Some(old), Some(new)) => old.id <= new.id && kind(red) == kind(run),
        (None, None) => red.app == run.app && red.id < run.id,
        _ => false,
    };
    let answered =
        |red: &CheckRun| mine.iter().any(|(run, why)| why.is_none() && counted.contains(&run.id) && answers(red, run));
    let red = |run: &CheckRun| run.conclusion.as_deref().is_some_and(|conclusion| RED.contains(&conclusion));
    let found = aside.into_iter().find(|(run, _)| red(run) && decided.contains(&run.id) && !answered(run))?;
    Some((found.0.job_of.as_ref().map_or(found.0.id, |workflow| workflow.id), found.1.clone()))
}

const IN_CONFLICT: &str = "Merge the base into the branch, or rebase it, and push: there are conflicts, and GitHub starts no \
                           run for a pull request that can't be merged.";
const RAN_BEFORE: &str = "it ran before the base, the target or the policy moved under this change";
const OTHER_BASE: &str = "it was started before this pull request went into its base, so it ran something else";
const MAYBE_FOR: &str = "it may have run for #";
/// How long after something happened on a pull request a run may still be its consequence.
pub const AFTERMATH: SignedDuration = SignedDuration::from_mins(10);
const OTHER_BRANCH: &str = "it ran for the branch";
const NO_BRANCH: &str = "it is not known which branch it ran for";
const FOR_A_PULL: &str = "it ran for a pull request with this head, not for the merge group";
const NOT_KNOWN: &str = "it is not known whether its workflow is the default branch's own";
const NO_BASE: &str = "this GitHub does not tell since when the pull request goes into its base";
const UNTOLD: &str = "this GitHub does not tell whose job it is";
const CHANGED_WORKFLOW: &str = "made by a changed workflow";
const DIFFERS: &str = "not as on the default branch";
/// The change did nothing to it.
const OLD_WORKFLOW: &str = "made by an outdated workflow";
const MOVED: &str = "moved on the default branch since; bring the branch up to date";
const SAYS_NOTHING: &str = "it was cancelled, so it says nothing";
const NEWER_DECIDES: &str = "a newer attempt decides";
/// What starts a run of the head, or of its merge. Whatever else starts one may have given it inputs.
const EVENTS: [&str; 4] = ["push", "pull_request", "pull_request_target", "merge_group"];

fn remedy(policy: &Policy, check: &Check, why: &str) -> String {
    if why == RAN_BEFORE {
        return "Run it again on this head: re-run its workflow, or push. (Where the base or the target moved, one that \
                `pull_request` starts needs a push, or the pull request to be closed and reopened.)"
            .to_owned();
    }
    if why.starts_with(MAYBE_FOR) {
        return "Close the other one, and let it run anew ten minutes after the last thing that happened there: push, or \
                close and reopen this one. Or let the check run on `push` too."
            .to_owned();
    }
    if why == NO_BRANCH {
        return "Bring the work from a branch that is there, or let the check run on `push` too.".to_owned();
    }
    if why == OTHER_BASE || why.starts_with(OTHER_BRANCH) {
        return "Let it run anew for this pull request: push, or close and reopen it. (A re-run repeats the old one.)"
            .to_owned();
    }
    if why == FOR_A_PULL {
        return "Let its workflow start on `merge_group` too.".to_owned();
    }
    if why.starts_with(NOT_KNOWN) {
        return "Let the workflow use and run only files that are in the repository, and no link that leads out of it."
            .to_owned();
    }
    if why.starts_with(UNTOLD) {
        return "Use a GitHub that tells of workflow runs; or let an App make the check, and name it in the policy by `app`."
            .to_owned();
    }
    if why.starts_with(NO_BASE) {
        return "Let the check run on `push` too: what a push starts does not rest on a base.".to_owned();
    }
    mended(policy, why).unwrap_or_else(|| match check.made_by() {
        Some(MadeBy::Workflow(path)) => {
            format!("Let a job of {path} make it, in a run that a push or a pull request started.")
        }
        Some(MadeBy::App(app)) => format!("Let the App with the id {app} make it."),
        None => "Say in the policy who makes it: `workflow` or `app`.".to_owned(),
    })
}

/// What to do about files that are not the default branch's.
fn mended(policy: &Policy, why: &str) -> Option<String> {
    let refreeze = policy.commands.written("refreeze");
    if why.starts_with(OLD_WORKFLOW) {
        return Some(format!(
            "Bring the branch up to date; or a maintainer who finds the older files good says `{refreeze} REASON`."
        ));
    }
    why.starts_with(CHANGED_WORKFLOW).then(|| {
        format!(
            "Take the change to those files out or bring the branch up to date; or a maintainer who has read it says \
             `{refreeze} REASON`."
        )
    })
}

/// Why a run does not count, if it does not.
fn discount(check: &Check, run: &CheckRun, sought: &Sought<'_>) -> Option<String> {
    let Sought { head, change, .. } = *sought;
    // A run shows something of what was there when it ran: the same commit on another base, or under another policy, is
    // other content.
    if let Some((state, world)) = change {
        let content = world.subject.as_ref().map(|subject| &subject.about.content);
        if state.ran_for.get(&run.id).is_some_and(|first| Some(first) != content) {
            return Some(RAN_BEFORE.to_owned());
        }
    }
    match check.made_by()? {
        MadeBy::App(app) if run.app == app => None,
        MadeBy::App(app) => Some(format!("it comes from the App {}, not from {app}", run.app)),
        MadeBy::Workflow(_) if run.app != ACTIONS_APP => {
            Some(format!("it comes from the App {}, not from GitHub Actions", run.app))
        }
        MadeBy::Workflow(path) => match &run.job_of {
            None if change.is_some_and(|(_, world)| world.untold.contains(&Untold::WorkflowRuns)) => {
                Some(format!("{UNTOLD} (it has no `{}`)", Untold::WorkflowRuns.endpoint()))
            }
            None => Some("it is no job of a workflow run; anyone with write access can post such a check".to_owned()),
            Some(workflow) if workflow.path != path => Some(format!("it is a job of {}, not of {path}", workflow.path)),
            Some(workflow) if workflow.head != *head => {
                Some(format!("its workflow run was for {}", workflow.head.short()))
            }
            Some(workflow) => {
                started_otherwise(workflow, sought).or_else(|| drifted(path, sought.drift, sought.accepted))
            }
        },
    }
}

/// Why what started a workflow run may have run something else than this head, or its merge into this base.
fn started_otherwise(run: &WorkflowRun, sought: &Sought<'_>) -> Option<String> {
    if !EVENTS.contains(&run.event.as_str()) {
        return Some(format!("its run was started by `{}`, which can change what is run", run.event));
    }
    // A push runs the head's own files, which are compared.
    if !run.event.starts_with("pull_request") {
        return None;
    }
    // One for a pull request with the group's commit as its head runs the merge of that with whatever base it has.
    let Some((state, world)) = sought.change else { return Some(FOR_A_PULL.to_owned()) };
    match (&run.branch, &world.pull.branch) {
        (Some(of), Some(mine)) if of == mine => {}
        (Some(of), Some(mine)) => {
            return Some(format!("{OTHER_BRANCH} {}, not for {}", quoted(&of.name), quoted(&mine.name)));
        }
        // Its repository is gone: other pull requests of it can't be asked for either.
        _ => return Some(NO_BRANCH.to_owned()),
    }
    if world.untold.contains(&Untold::PullEvents) {
        return Some(format!("{NO_BASE} (it has no `{}`)", Untold::PullEvents.endpoint()));
    }
    // GitHub's times are whole seconds: in the same one it may have been before.
    let (Some(at), Some(since)) = (run.created_at, state.based_since) else { return Some(OTHER_BASE.to_owned()) };
    if at <= since {
        return Some(OTHER_BASE.to_owned());
    }
    // Closing it starts one too, and so does a label or an edit of its title long after that.
    let quiet = |other: &Sibling| other.quiet_since.is_some_and(|since| since + AFTERMATH < at);
    let other = world.siblings.iter().find(|other| !other.covered && other.opened <= at && !quiet(other))?;
    Some(format!("{MAYBE_FOR}{}, which goes into {}", other.number, quoted(&other.base_ref)))
}

/// At most so many files are put before a person at once, and no more are accepted than were put before them.
pub const MOST_SHOWN: usize = 50;

/// The files that give the required checks their meaning, are not the default branch's and nobody has accepted: those
/// that are shown, and how many more there are.
pub fn strange<'w>(state: &State, world: &'w World) -> (BTreeMap<&'w str, &'w Changed>, usize) {
    let drift = world.subject.iter().flat_map(|subject| subject.drift.values()).flatten().flatten();
    let open: BTreeMap<&str, &Changed> = drift
        .filter(|(path, now)| !is_accepted(&state.accepted, path, now))
        .map(|(path, now)| (path.as_str(), now))
        .collect();
    let more = open.len().saturating_sub(MOST_SHOWN);
    (open.into_iter().take(MOST_SHOWN).collect(), more)
}

/// Those that are shown, with their content, what of the frozen files is not as it was, and the tests that got weaker where that
/// blocks, in short. None: there are none.
pub fn print(state: &State, world: &World) -> Option<Digest> {
    let (shown, more) = strange(state, world);
    let content = |blob: Option<&BlobId>| blob.map_or("gone".to_owned(), |blob| blob.as_str().to_owned());
    let lines = shown.iter().map(|(path, now)| format!("{path} {}", content(now.blob.as_ref())));
    let mut lines: Vec<String> = lines.chain([more.to_string()]).collect();
    let trips = frozen::trips(state, world).and_then(Result::ok).unwrap_or_default();
    lines.extend(trips.iter().map(|trip| format!("{} {}", trip.says(), content(trip.now.as_ref()))));
    let weaker = weakened::open(state, world);
    lines.extend(weaker.iter().map(|(path, now)| format!("weaker {path} {}", content(now.as_ref()))));
    (!shown.is_empty() || !trips.is_empty() || !weaker.is_empty()).then(|| Digest::of_parts(&lines))
}

fn is_accepted(accepted: &Accepted, path: &str, now: &Changed) -> bool {
    accepted.get(path).is_some_and(|seen| seen.contains(&now.blob))
}

/// Why a run that is asked of somebody on this head would mean something else than one on the default branch, and what to do.
pub(super) fn bent(asked: &str, policy: &Policy, state: &State, world: &World) -> Option<(String, String)> {
    let drift = world.subject.as_ref().map(|subject| &subject.drift);
    let why = drifted(asked, drift, &state.accepted)?;
    let next = mended(policy, &why).unwrap_or_else(|| UNREADABLE.to_owned());
    Some((why, next))
}

/// Why a workflow's job would mean something else at this head than on the default branch.
fn drifted(path: &str, drift: Option<&BTreeMap<String, Drift>>, accepted: &Accepted) -> Option<String> {
    let drift = match drift.and_then(|drift| drift.get(path)) {
        Some(Ok(drift)) => drift,
        Some(Err(why)) => return Some(format!("{NOT_KNOWN}: {why}")),
        None => return Some(NOT_KNOWN.to_owned()),
    };
    let strange = |touched: bool| -> String {
        let open = |path: &String, now: &Changed| now.touched == touched && !is_accepted(accepted, path, now);
        let strange = drift.iter().filter(|(path, now)| open(path, now));
        few(&strange.map(|(path, now)| format!("{}, {}", quoted(path), now.what)).collect::<Vec<_>>(), "; ")
    };
    let (changed, moved) = (strange(true), strange(false));
    match (changed.is_empty(), moved.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("{OLD_WORKFLOW} ({moved}: {MOVED})")),
        (false, true) => Some(format!("{CHANGED_WORKFLOW} ({changed}: {DIFFERS})")),
        (false, false) => Some(format!("{CHANGED_WORKFLOW} ({changed}: {DIFFERS}; {moved}: {MOVED})")),
    }
}

/// A few names, and how many more there are.
pub fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    few(&names, ", ")
}

fn few(things: &[String], between: &str) -> String {
    let shown = things.get(..3).unwrap_or(things).join(between);
    match things.len().saturating_sub(3) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
