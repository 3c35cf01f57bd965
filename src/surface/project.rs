//! From state to what is to be seen.

use std::collections::BTreeSet;

use super::text::{Links, counted, items, one_line, plain, strange_files};
use super::{answers, comment, task};
use crate::finding::quoted;
use crate::flow::merge::Stage as MergeStage;
use crate::flow::pipeline::{phase_of, waits_for_human, words};
use crate::flow::{Phase, Stage};
use crate::gate::phase::{self, Outcome};
use crate::gate::task::change;
use crate::gate::world::World;
use crate::gate::{Finding, Severity, Verdict, evidence, merge, only_waiting};
use crate::ids::{CommitId, Digest, RepoId, Slug};
use crate::ledger::record::Evidence;
use crate::ledger::{Anchor, State};
use crate::policy::{Approver, Enforce};

/// What the projection needs beside the state: how the gates look now, and what to call things.
pub struct Seen<'a> {
    pub slug: &'a Slug,
    /// Where GitHub's pages are, without a slash at the end.
    pub server: &'a str,
    pub world: &'a World,
    pub merge: &'a merge::Judgement,
    pub phase: Option<&'a (Phase, phase::Judgement)>,
    /// The same of a task.
    pub task: Option<&'a change::Judgement>,
    /// The repository has no issues, so a stop can only be asked about in the comment.
    pub no_issues: bool,
    /// Whoever can push a workflow can forge what is shown here, so it is advice and no gate.
    pub advisory: bool,
    /// Where the change's evidence page is.
    pub evidence: &'a str,
    pub repo: RepoId,
    /// The code owners of what the change touches, where they are to be asked about a stop.
    pub owners: &'a [Approver],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surface {
    /// The label that the change is to have; every other one of ours is to go.
    pub label: Option<Label>,
    /// Every label that is ours to set and to take off.
    pub our_labels: Vec<String>,
    pub checks: Vec<Check>,
    pub comment: String,
    /// The files that it asks somebody to accept.
    pub files: Option<Digest>,
    pub replies: Vec<Reply>,
    /// Comments that were commands, and whether all in them went well.
    pub reactions: Vec<(u64, bool)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub name: String,
    pub color: &'static str,
    pub description: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    Success,
    Failure,
    /// Someone has to do something. Unlike neutral, it does not let a required check pass.
    ActionRequired,
    /// Only with `enforce: observe`: it lets a required check pass.
    Neutral,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub head: CommitId,
    pub external_id: String,
    pub conclusion: Conclusion,
    pub title: String,
    pub summary: String,
    pub annotations: Vec<Annotation>,
    /// It is brought up to date where it stands, but not made anew: only the current gate is.
    pub only_if_there: bool,
    /// It is red only because another pull request with the same head is.
    pub for_another: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    pub path: String,
    pub line: u32,
    pub failure: bool,
    pub title: String,
    pub message: String,
}

/// An answer to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub on: u64,
    pub key: String,
    pub body: String,
    /// When the command was recorded: the answer is not older.
    pub since: jiff::Timestamp,
}

pub fn project(state: &State, seen: &Seen<'_>) -> Surface {
    let prefix = seen.world.policy().map_or_else(|| "phase:".to_owned(), |policy| policy.labels.prefix.clone());
    let links = pages(state, seen);
    Surface {
        label: label(state, &prefix),
        our_labels: our_labels(&prefix),
        checks: checks(state, seen, &links),
        comment: comment::render(state, seen, &links),
        files: evidence::print(state, seen.world),
        replies: answers::replies(state, seen, &links).into_iter().chain(task::requests(state, seen)).collect(),
        reactions: answers::reactions(state),
    }
}

/// Where links lead.
pub(super) fn pages(state: &State, seen: &Seen<'_>) -> Links {
    Links {
        server: seen.server.to_owned(),
        slug: seen.slug.clone(),
        // Also where its content can't be read: that is to be said there.
        head: match &state.subject {
            Some(about) if !state.open => about.head.clone(),
            _ => seen.world.pull.head.clone(),
        },
        default_branch: seen.world.default_branch.clone(),
        merged_into: state.merged.as_ref().map(|_| seen.world.pull.base_ref.clone()),
    }
}

/// Every label that a change may have from us.
pub fn our_labels(prefix: &str) -> Vec<String> {
    LABELS.iter().chain(&task::LABELS).map(|name| format!("{prefix}{name}")).collect()
}

/// What our labels are called behind the prefix.
const LABELS: &[&str] = &[
    "start",
    "expand",
    "design",
    "analyze",
    "build",
    "review",
    "reconcile",
    "verify",
    "verified",
    "deploy",
    "complete",
    "blocked",
    "paused",
    "dropped",
];

/// The label that a change is to have.
pub fn label(state: &State, prefix: &str) -> Option<Label> {
    use Stage as S;
    if !state.open && state.merged.is_none() {
        return None;
    }
    if let Some(of_task) = task::label(state, prefix) {
        return Some(of_task);
    }
    let stage = state.pipeline.as_ref()?.stage;
    let (name, color, description) = match stage {
        // A stop in a stepped wait stands beside it, and comes first.
        stage if waits_for_human(stage) || state.stopped.is_some() => {
            ("blocked", "b60205", "Waits for a person's decision")
        }
        S::SteppedModePaused => ("paused", "fbca04", "Waits for /continue"),
        S::SessionDropped => ("dropped", "d4c5f9", "The agent is gone; /recover takes it up"),
        S::PipelineComplete => ("complete", "0e8a16", "Through all phases"),
        S::VerifyGatePassed => ("verified", "0e8a16", "Verified and reviewed for this content"),
        stage => match phase_of(stage) {
            Some(Phase::Expand) => ("expand", "c5def5", "The scope is being written"),
            Some(Phase::Design) => ("design", "bfd4f2", "The design is being written"),
            Some(Phase::Analyze) => ("analyze", "bfdadc", "The readiness is being analysed"),
            Some(Phase::Build) => ("build", "fef2c0", "Being built"),
            Some(Phase::Review) => ("review", "f9d0c4", "Waits for a review or is being fixed after one"),
            Some(Phase::Reconcile) => ("reconcile", "e99695", "Documents and code are compared"),
            Some(Phase::Verify) => ("verify", "d4c5f9", "Being verified"),
            Some(Phase::Deploy) => ("deploy", "c2e0c6", "Being deployed"),
            None => ("start", "ededed", "Not begun, or between two rounds"),
        },
    };
    Some(Label { name: format!("{prefix}{name}"), color, description })
}

fn checks(state: &State, seen: &Seen<'_>, links: &Links) -> Vec<Check> {
    // A merged or closed change's head is not judged any more; what it got stays.
    if !state.open {
        return shown_as(seen, deploy_check(state, seen, links).into_iter().collect());
    }
    let mut checks = Vec::new();
    if let Some((current, judged)) = seen.phase {
        checks.push(current_check(state, seen, *current, judged, links));
    }
    if state.pipeline.is_some() {
        let others = Phase::ALL.into_iter().filter(|phase| seen.phase.is_none_or(|(current, _)| current != phase));
        checks.extend(others.map(|phase| past_check(state, phase, links)));
    }
    checks.extend(task::check(state, seen, links));
    checks.push(merge_check(state, seen, links));
    shown_as(seen, checks)
}

/// The checks with what they are worth: observed, advice, or a gate.
fn shown_as(seen: &Seen<'_>, mut checks: Vec<Check>) -> Vec<Check> {
    if observes(seen) {
        checks.iter_mut().for_each(only_observed);
    }
    if seen.advisory {
        checks.iter_mut().for_each(|check| check.summary.push_str(&format!("\n_{ADVISORY}_\n")));
    }
    checks
}

/// What is said wherever something advisory is shown.
pub(super) const ADVISORY: &str = "Advisory: this was made with a workflow's own token, so anyone who can push a workflow \
    can forge it. Give the Action an App's key from a protected environment to make it count.";

/// After the merge, DEPLOY is judged on the merge commit, and shown there.
fn deploy_check(state: &State, seen: &Seen<'_>, links: &Links) -> Option<Check> {
    let merged = state.merged.as_ref().filter(|merged| merged.bypassed.is_empty())?;
    let pipeline = state.pipeline.as_ref()?;
    let links = Links { head: merged.commit.clone(), ..links.clone() };
    match seen.phase {
        Some((Phase::Deploy, judged)) => Some(current_check(state, seen, Phase::Deploy, judged, &links)),
        _ => pipeline.passed.contains_key(&Phase::Deploy).then(|| past_check(state, Phase::Deploy, &links)),
    }
}

pub(super) fn observes(seen: &Seen<'_>) -> bool {
    seen.world.policy().is_some_and(|policy| policy.enforce == Enforce::Observe)
}

/// Whoever requires one of our runs is not held back by it while we only observe: it is neutral, and its title says
/// what it would be.
fn only_observed(check: &mut Check) {
    let would = match check.conclusion {
        Conclusion::Success => "Observing, would be green",
        Conclusion::Failure => "Observing, would be red",
        Conclusion::ActionRequired => "Observing, would wait",
        Conclusion::Neutral => return,
    };
    check.title = clip(&format!("{would}: {}", check.title));
    check.conclusion = Conclusion::Neutral;
}

/// What somebody answers for in this content, behind a title.
fn accepted(state: &State) -> String {
    let rules: BTreeSet<&str> =
        state.risks().filter(|one| !one.over).flat_map(|one| &one.waiver.rules).map(String::as_str).collect();
    if rules.is_empty() {
        return String::new();
    }
    format!(", RISK-ACCEPTED: {}", rules.into_iter().collect::<Vec<_>>().join(", "))
}

fn gate_key(state: &State, phase: Phase) -> String {
    format!("pg1-gate:{}:{phase}", state.change.0)
}

/// The run of a gate that the change has left, or is not at yet: shown as it stands, where there is one.
fn past_check(state: &State, phase: Phase, links: &Links) -> Check {
    let name = phase.as_str().to_uppercase();
    let (conclusion, title, summary) = if state.pipeline.as_ref().is_some_and(|pipeline| pipeline.holds(phase)) {
        (Conclusion::Success, clip(&format!("{name} passed{}", accepted(state))), phase::judged_by(phase))
    } else {
        let says = "The change is in another phase now.";
        (Conclusion::ActionRequired, format!("{name} is not the current gate"), says)
    };
    Check {
        name: format!("phasegate/{phase}"),
        head: links.head.clone(),
        external_id: gate_key(state, phase),
        conclusion,
        title,
        summary: summary.to_owned(),
        annotations: Vec::new(),
        only_if_there: true,
        for_another: false,
    }
}

fn current_check(state: &State, seen: &Seen<'_>, phase: Phase, judged: &phase::Judgement, links: &Links) -> Check {
    let name = phase.as_str().to_uppercase();
    let pipeline = state.pipeline.as_ref();
    let blocked = pipeline.is_some_and(|pipeline| waits_for_human(pipeline.stage)) || state.stopped.is_some();
    let held = pipeline.is_some_and(|pipeline| pipeline.holds(phase));
    let tries = pipeline.and_then(|pipeline| counted(pipeline, phase)).map(|said| format!("{said}. "));
    let tries = tries.unwrap_or_default();
    let say = |name: &str| comment::commands(seen).written(name);
    let stage = pipeline.map(|pipeline| pipeline.stage);
    let (conclusion, title) = match &judged.outcome {
        _ if stage == Some(Stage::SteppedModePaused) && state.stopped.is_none() => {
            (Conclusion::ActionRequired, format!("{name} has not begun: say {} to go on", say("continue")))
        }
        _ if stage == Some(Stage::SessionDropped) => {
            (Conclusion::ActionRequired, format!("{name} was dropped: say {} to take it up", say("recover")))
        }
        _ if blocked => (Conclusion::Failure, format!("{name} is blocked and waits for a person")),
        _ if held => (Conclusion::Success, format!("{name} passed{}", accepted(state))),
        Outcome::Pass => {
            (Conclusion::ActionRequired, format!("{name} would pass; say {} to claim it", say(phase.as_str())))
        }
        Outcome::Fail => (Conclusion::Failure, format!("{name}: {tries}{}", headline(&judged.findings))),
        Outcome::Pending => {
            (Conclusion::ActionRequired, format!("{name} waits: {tries}{}", headline(&judged.findings)))
        }
    };
    let mut summary = format!("{}\n\n", phase::judged_by(phase));
    summary.push_str(&items(&judged.findings, usize::MAX, links));
    summary.push_str(&comment::repair(state, seen, phase).unwrap_or_default());
    let reds = state.previews.get(&phase).copied().unwrap_or(0);
    if reds > 0 {
        let pushes = if reds == 1 { "push was" } else { "pushes were" };
        summary.push_str(&format!("\n{reds} {pushes} red at this gate since it last passed.\n"));
    }
    summary.push_str(&evidence_line(seen));
    Check {
        name: format!("phasegate/{phase}"),
        head: links.head.clone(),
        external_id: gate_key(state, phase),
        conclusion,
        title: clip(&title),
        summary,
        annotations: annotations(&judged.findings, &links.default_branch),
        only_if_there: false,
        for_another: false,
    }
}

fn merge_check(state: &State, seen: &Seen<'_>, links: &Links) -> Check {
    let merge = seen.merge;
    let observe = observes(seen);
    let what = headline(&merge.findings);
    let (conclusion, title) = match (merge.verdict, observe) {
        (Verdict::Pass, false) if seen.world.pull.draft => {
            (Conclusion::Success, "May merge once it is no draft".to_owned())
        }
        (Verdict::Pass, false) => (Conclusion::Success, clip(&format!("May merge{}", accepted(state)))),
        (Verdict::Pass, true) => (Conclusion::Neutral, "Observing: it would be allowed to merge".to_owned()),
        (Verdict::Fail, true) => (Conclusion::Neutral, format!("Observing: it would be stopped. {what}")),
        (Verdict::Fail, false) if only_waiting(&merge.findings) => {
            (Conclusion::ActionRequired, format!("Not yet: {what}"))
        }
        (Verdict::Fail, false) => (Conclusion::Failure, format!("May not merge: {what}")),
    };
    let mut summary = String::new();
    if merge.findings.is_empty() {
        summary.push_str("What the policy asks for is there, for exactly this content.\n");
    }
    summary.push_str(&items(&merge.findings, usize::MAX, links));
    let refreeze = comment::commands(seen).written("refreeze");
    let files = strange_files(state, seen.world, &refreeze, links);
    if !files.is_empty() {
        summary.push_str(&format!("\n{files}"));
    }
    summary
        .extend(self_approved(merge).into_iter().chain(by_itself(&merge.evidence)).map(|said| format!("\n{said}\n")));
    if let Some(about) = state.subject.as_ref().filter(|about| about.head == links.head) {
        summary.push_str(&format!(
            "\nHead `{}`, content `{}`, base {} at `{}`. Record {} of the ledger.\n",
            about.head.short(),
            about.content.short(),
            quoted(&plain(&about.base_ref)),
            about.base.short(),
            state.newest().0,
        ));
    }
    summary.push_str(&evidence_line(seen));
    let blocking = || merge.findings.iter().filter(|finding| finding.blocks());
    let anchor = Anchor::newest(state);
    Check {
        name: merge::CHECK_NAME.to_owned(),
        head: links.head.clone(),
        external_id: anchor.to_string(),
        conclusion,
        title: clip(&title),
        summary,
        annotations: [annotations(&merge.findings, &links.default_branch), strange_notes(state, seen)].concat(),
        only_if_there: false,
        for_another: blocking().next().is_some() && blocking().all(|finding| finding.rule == "MRG-10"),
    }
}

/// Where all of it can be read.
pub(super) fn evidence_line(seen: &Seen<'_>) -> String {
    format!("\n[Evidence]({}): verdicts, what was counted, records.\n", seen.evidence)
}

/// A note in each file that gives the checks their meaning and is not the default branch's.
fn strange_notes(state: &State, seen: &Seen<'_>) -> Vec<Annotation> {
    let (shown, _) = evidence::strange(state, seen.world);
    let there = shown.into_iter().filter(|(_, now)| now.blob.is_some());
    there
        .map(|(path, now)| Annotation {
            path: path.to_owned(),
            line: 1,
            failure: false,
            title: "MRG-01".to_owned(),
            message: format!("This is {}, and it is not as on the default branch.", now.what),
        })
        .collect()
}

/// Who approved what they wrote or pushed themselves, where the policy lets them (`people.solo`).
pub(super) fn self_approved(merge: &merge::Judgement) -> Option<String> {
    let own = |one: &Evidence| match one {
        Evidence::Review { by, self_approved: true, .. } => Some(format!("`{}`", plain(&by.login))),
        _ => None,
    };
    let who: BTreeSet<String> = merge.evidence.iter().filter_map(own).collect();
    let who: Vec<String> = who.into_iter().collect();
    let and = who.join(", ");
    (!who.is_empty()).then(|| format!("*Self-approved*: {and} wrote or pushed to this change (`people.solo`)."))
}

/// That nobody approved it: it passed by itself, and these runs showed it.
pub(super) fn by_itself(evidence: &[Evidence]) -> Option<String> {
    let runs = evidence.iter().find_map(|one| match one {
        Evidence::Auto { runs } => Some(runs),
        _ => None,
    })?;
    let runs: Vec<String> = runs.iter().map(|run| quoted(&plain(run))).collect();
    Some(format!("*Passed by itself*: the autonomy is auto, and nobody approved it. Shown by {}.", runs.join("; ")))
}

/// The title of a check that several changes share: it says whose words these are.
pub(super) fn titled_for(number: u64, title: &str) -> String {
    clip(&format!("#{number}: {title}"))
}

/// Whose words a title says these are, where it does.
pub(super) fn speaker(title: &str) -> Option<u64> {
    let (word, _) = title.strip_prefix('#')?.split_once(": ")?;
    word.parse().ok().filter(|_| word.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a merge check's title is one of [`merge_check`]'s, and not a notice that something else is the matter.
pub(super) fn is_verdict(title: &str) -> bool {
    let named = speaker(title).and_then(|_| title.split_once(": "));
    let title = named.map_or(title, |(_, rest)| rest);
    ["May merge", "May not merge:", "Not yet:", "Observing:"].iter().any(|begin| title.starts_with(begin))
}

/// The finding that matters most, in a line.
pub(super) fn headline(findings: &[Finding]) -> String {
    let blocking = || findings.iter().filter(|finding| finding.blocks());
    let first = blocking().find(|finding| !finding.waiting).or_else(|| blocking().next());
    match (first, blocking().count().saturating_sub(1)) {
        (None, _) => "nothing is missing".to_owned(),
        (Some(finding), 0) => finding.says.clone(),
        (Some(finding), more) => format!("{} (and {more} more)", finding.says),
    }
}

/// A check's title is one short line. GitHub shows it as it is: marks of Markdown would stand there as such.
pub(super) fn clip(title: &str) -> String {
    let line: String = one_line(title).replace('`', "");
    if line.chars().count() <= 200 { line } else { line.chars().take(199).chain(['…']).collect() }
}

pub(super) fn annotations(findings: &[Finding], default_branch: &str) -> Vec<Annotation> {
    // An annotation's path is read at the run's own head, and the policy there may be another file.
    let whose = |finding: &Finding| match finding.rule.as_str() {
        "MRG-07" => format!("\nThis is about the file on `{}`.", one_line(default_branch)),
        _ => String::new(),
    };
    findings
        .iter()
        .filter_map(|finding| {
            Some(Annotation {
                path: finding.path.clone()?,
                line: finding.line.unwrap_or(1),
                failure: finding.severity == Severity::Error,
                title: one_line(&finding.rule),
                message: format!("{}\n{}{}", one_line(&finding.says), one_line(&finding.next), whose(finding)),
            })
        })
        .collect()
}

/// Where it stands, in a few words.
pub fn standing(state: &State, seen: &Seen<'_>) -> String {
    let name = match (&state.pipeline, state.merge) {
        _ if state.merged.as_ref().is_some_and(|merged| !merged.bypassed.is_empty()) => "merged around the gate",
        (Some(pipeline), _) if state.stopped.is_some() && pipeline.stage == Stage::SteppedModePaused => "stopped",
        (Some(pipeline), _) if state.open || state.merged.is_some() => return words(pipeline.stage),
        (_, MergeStage::Merged) => "merged",
        (_, MergeStage::Closed) => "closed",
        _ if state.stopped.is_some() => "stopped",
        _ if task::of(state).is_some_and(|task| task.state.stage != crate::flow::task::Stage::Done) => {
            return task::of(state).map(task::standing).unwrap_or_default();
        }
        // GitHub itself merges no draft.
        (_, MergeStage::Mergeable) if seen.world.pull.draft => "may merge once it is no draft",
        (_, MergeStage::Mergeable) => "may merge",
        (_, MergeStage::Waiting) if only_waiting(&seen.merge.findings) => "waiting",
        (_, MergeStage::Waiting) if observes(seen) => "would not let it merge (observing)",
        (_, MergeStage::Waiting) => "may not merge",
    };
    name.to_owned()
}
