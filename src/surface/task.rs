//! What people and agents see of a task: its phases in a line, its label, its check, what is asked of an agent, and what is next.

use std::fmt::Write as _;

use super::comment::{commands, cut};
use super::project::{Check, Conclusion, Label, Reply, Seen, clip, evidence_line, headline};
use super::text::{Links, items, plain, plain_to};
use crate::finding::{Finding, quoted};
use crate::flow::task::{Drive, Stage, listed};
use crate::gate::task::change::{JUDGED_BY, Judgement, Outcome};
use crate::gate::task::prompt::Ask;
use crate::gate::task::{STATE, prompt};
use crate::gate::world::World;
use crate::ledger::State;
use crate::ledger::task::Task;
use crate::policy::{Adapter, Agent, Role};

/// The check's name.
pub(super) const CHECK: &str = "phasegate/task";

/// The way that a task goes when nothing has to be mended.
const WAY: [Stage; 6] = [Stage::Intake, Stage::Shape, Stage::Implement, Stage::Verify, Stage::Review, Stage::Done];

/// The task of a change that is in the flow of tasks.
pub(super) fn of(state: &State) -> Option<&Task> {
    state.task.as_deref().filter(|_| state.flow == crate::flow::FlowName::Task)
}

/// The phases as a line, with the present one in bold.
pub(super) fn phases(task: &Task) -> String {
    let at = task.state.left.filter(|_| task.state.stage.is_waiting()).unwrap_or(task.state.stage);
    // What is mended was verified before, and is again.
    let beside = [(Stage::Repair, Stage::Verify)];
    let mut parts: Vec<String> = Vec::new();
    for stage in WAY {
        for (shown, before) in beside {
            if at == shown && stage == before {
                parts.push(format!("**{shown}**"));
            }
        }
        parts.push(if stage == at { format!("**{stage}**") } else { stage.to_string() });
    }
    let waits = if task.state.stage.is_waiting() { format!(" (`{}`)", task.state.stage) } else { String::new() };
    format!("{}{waits}", parts.join(" · "))
}

/// Where it stands, in a few words.
pub(super) fn standing(task: &Task) -> String {
    match task.state.stage {
        Stage::Blocked => "the task is blocked".to_owned(),
        Stage::NeedsUserDecision => "the task needs a person's decision".to_owned(),
        stage => format!("the task is in {stage}"),
    }
}

/// The label's name, how it looks, and what it says.
pub(super) fn label(state: &State, prefix: &str) -> Option<Label> {
    let task = of(state)?;
    let (name, color, description) = match task.state.stage {
        _ if state.stopped.is_some() => ("blocked", "b60205", "Waits for a person's decision"),
        Stage::Intake => ("intake", "ededed", "What the task is to come to is being said"),
        Stage::Shape => ("shape", "c5def5", "What has to be shown is being said"),
        Stage::Implement => ("implement", "fef2c0", "Being built"),
        Stage::Verify => ("verify", "d4c5f9", "Being verified"),
        Stage::Review => ("review", "f9d0c4", "Waits for a review or is being fixed after one"),
        Stage::Repair => ("repair", "e99695", "What failed is being mended"),
        Stage::Done => ("done", "0e8a16", "Verified and reviewed for this content"),
        Stage::Blocked | Stage::NeedsUserDecision => ("blocked", "b60205", "Waits for a person's decision"),
    };
    Some(Label { name: format!("{prefix}{name}"), color, description })
}

/// The labels that only tasks have.
pub(super) const LABELS: [&str; 5] = ["intake", "shape", "implement", "repair", "done"];

/// The run of the task's gate.
pub(super) fn check(state: &State, seen: &Seen<'_>, links: &Links) -> Option<Check> {
    let judged = seen.task?;
    let at = of(state).map(|task| task.state.stage);
    let name = at.map_or_else(|| "TASK".to_owned(), |stage| format!("TASK {stage}"));
    let first = || headline(&judged.findings);
    let wrong = judged.findings.iter().any(|finding| finding.blocks() && !finding.waiting);
    let (conclusion, title) = match &judged.outcome {
        _ if state.stopped.is_some() || at.is_some_and(Stage::is_waiting) => {
            (Conclusion::Failure, format!("{name}: it waits for a person"))
        }
        Outcome::Nothing if wrong => (Conclusion::Failure, format!("{name}: {}", first())),
        Outcome::Nothing if at == Some(Stage::Done) => (Conclusion::Success, "TASK done".to_owned()),
        Outcome::Nothing => (Conclusion::ActionRequired, format!("{name}: {}", asked(state, judged))),
        Outcome::Pending { claims } => {
            (Conclusion::ActionRequired, format!("{name}: {claims} is claimed. {}", first()))
        }
        Outcome::Fail { claims } => (Conclusion::Failure, format!("{name}: {claims} does not hold. {}", first())),
        Outcome::Goes { to, .. } => (Conclusion::Success, format!("{name}: it may be {to}")),
    };
    let mut summary = format!("{JUDGED_BY}\n\n");
    summary.push_str(&items(&judged.findings, usize::MAX, links));
    summary.push_str(&evidence_line(seen));
    Some(Check {
        name: CHECK.to_owned(),
        head: links.head.clone(),
        external_id: format!("pg1-task:{}", state.change.0),
        conclusion,
        title: clip(&title),
        summary,
        annotations: super::project::annotations(&judged.findings, &links.default_branch),
        only_if_there: false,
        for_another: false,
    })
}

/// What the phase asks for, where nothing is claimed and nothing is wrong.
fn asked(state: &State, judged: &Judgement) -> String {
    let Some(task) = of(state) else { return headline(&judged.findings) };
    let stage = task.state.stage;
    if task.open.is_some() {
        return "an agent is at work".to_owned();
    }
    format!("{STATE} claims nothing new; it may claim {}", listed(stage.next()))
}

/// The next step of a task, for whoever reads the comment.
pub(super) fn next(state: &State, seen: &Seen<'_>) -> Option<String> {
    let judged = seen.task?;
    let Some(task) = of(state) else { return first(&judged.findings) };
    let stage = task.state.stage;
    if let Some(step) = first(&judged.findings) {
        return Some(step);
    }
    if stage == Stage::Done {
        return None;
    }
    let say = |word: &str| commands(seen).written(&format!("task {word}"));
    let path = format!("{}/{STATE}", task.folder);
    Some(match (&task.open, task.drive) {
        (Some(open), drive) => {
            let goes_on = if drive == Some(Drive::Loop) { ", and the next one after it" } else { "" };
            format!(
                "Pass {} is asked of an agent{goes_on}; it has until {}. `{}` ends that.",
                open.pass,
                open.until.round(jiff::Unit::Second).unwrap_or(open.until),
                say("pause")
            )
        }
        (None, _) => {
            let rested = task.rested.as_ref().map(|why| plain_to(400, why.trim_end_matches('.')));
            let rested = rested.map(|why| format!("No more passes are asked for: {why}. "));
            let agent = seen.world.policy().and_then(|policy| policy.agents.of(Role::Main));
            let asks = match agent.map(Agent::adapter) {
                Some(Adapter::Comment(_) | Adapter::Workflow(_)) => {
                    format!(" `{}` asks the agent for it.", say("run"))
                }
                Some(Adapter::Command(_)) | None => String::new(),
            };
            format!(
                "{}{}. Then `Phase:` in {} may be {}.{asks}",
                rested.unwrap_or_default(),
                capital(&prompt::allowed(stage).join(", ")),
                quoted(&plain(&path)),
                listed(stage.next()),
            )
        }
    })
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

fn first(findings: &[Finding]) -> Option<String> {
    super::comment::first_step(findings)
}

/// What is asked of an agent that is reached by a comment: once for each pass.
pub(super) fn requests(state: &State, seen: &Seen<'_>) -> Vec<Reply> {
    let agent = seen.world.policy().and_then(|policy| policy.agents.of(Role::Main));
    let Some(Adapter::Comment(mention)) = agent.map(Agent::adapter) else { return Vec::new() };
    let asked = of(state).and_then(|task| Some((task, task.open.as_ref()?)));
    let Some((task, open)) = asked.filter(|_| state.open) else { return Vec::new() };
    let body = format!("{mention} {}", request(state, task, seen.world));
    let since = open.at.unwrap_or(open.until);
    vec![Reply { on: state.change.0, key: format!("pass:{}:{}", state.change.0, open.pass), body, since }]
}

/// The prompt of a pass, as it may stand in a comment: it holds texts of the repository.
pub fn request(state: &State, task: &Task, world: &World) -> String {
    let prompt = Ask { folder: &task.folder, stage: task.state.stage, lacked: &task.lacked, elsewhere: true }.text();
    let mut out = String::new();
    for line in prompt.lines() {
        let _ = writeln!(out, "{}", plain(line));
    }
    let number = task.open.as_ref().map_or(task.passes, |open| open.pass);
    let branch = world.pull.branch.as_ref().map(|branch| format!(" to {}", quoted(&plain(&branch.name))));
    let _ = write!(
        out,
        "\nThis is pass {number} on #{}. Push what you did{}; the pass is over when `{}/{STATE}` is updated there. A commit with a line \
         `Phasegate-Stop: REASON` stops and asks a person.",
        state.change.0,
        branch.unwrap_or_default(),
        plain(&task.folder),
    );
    cut(MOST_OF_A_REQUEST, out)
}

/// What is asked in one comment, in bytes.
const MOST_OF_A_REQUEST: usize = 16_000;
