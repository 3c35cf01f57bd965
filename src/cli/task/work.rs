//! One pass at a task: what it is asked, what is taken of it, what is shown of that, and what is written down.
//!
//! The order is that of a crash: that a pass begins is on record before anything is started, and what came of it after its commit is
//! there. A pass that has begun and not ended was lost, and the next one says so.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use super::desk::Desk;
use crate::cli::agent::{Asked, BY, Came, message};
use crate::cli::mcp;
use crate::finding::{Finding, Verdict, bounded, verdict};
use crate::flow::Actor;
use crate::flow::task::{Progress, Stage, State};
use crate::gate::pass as rules;
use crate::gate::task::pass::{Changed, Claim, Measured, Work, claimed, progress, still};
use crate::gate::task::prompt::Ask;
use crate::gate::task::review;
use crate::gate::task::shown::{self, Ran, Seen};
use crate::gate::task::{Field, STATE, Sheet, read};
use crate::ids::{CommitId, Digest};
use crate::ledger::task::{Begun, Ended};
use crate::ledger::{Body, By, Entry};
use crate::policy::{Policy, Role, Sight};
use crate::repo::{Filter, Reader as _, RepoPath, advance, committed};
use crate::runner::pass::Passed;
use crate::surface::page::{bundle, is_ours};

/// What a pass came to, for whoever started it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Told {
    /// Its number; none where none was begun.
    pub(super) pass: Option<u32>,
    pub(super) from: Stage,
    pub(super) to: Stage,
    /// The phase that it claimed.
    pub(super) claims: Option<Stage>,
    pub(super) gained: BTreeSet<Progress>,
    /// The branch's commit after it, where it is another.
    pub(super) commit: Option<CommitId>,
    pub(super) findings: Vec<Finding>,
    /// It was stopped by a signal.
    #[serde(skip)]
    pub(super) interrupted: bool,
}

impl Told {
    fn nothing(stage: Stage, findings: Vec<Finding>) -> Self {
        let (pass, claims, gained, commit) = (None, None, BTreeSet::new(), None);
        Self { pass, from: stage, to: stage, claims, gained, commit, findings, interrupted: false }
    }

    /// Whether another pass may bring it further.
    pub(super) fn may_go_on(&self) -> bool {
        self.pass.is_some() && !self.interrupted && !self.to.is_terminal() && !self.gained.is_empty()
    }
}

/// Where the policy comes from, for what is run beside the agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct From<'a> {
    pub(super) base: Option<&'a str>,
    pub(super) policy: Option<&'a Path>,
}

/// What has been found out of a pass so far.
#[derive(Default)]
struct Outcome {
    claims: Option<Stage>,
    /// Where it goes, as long as nothing speaks against that.
    to: Option<Stage>,
    ran: bool,
    findings: Vec<Finding>,
    commit: Option<CommitId>,
    sheet: Option<Box<Sheet>>,
}

impl Outcome {
    fn against(&mut self, findings: Vec<Finding>) {
        if !findings.is_empty() {
            self.findings.extend(findings);
            self.to = None;
        }
    }
}

/// One pass of the main agent, and of a reviewer where nothing else speaks against its being done.
pub(super) async fn pass(desk: &mut Desk, law: &Policy, from: From<'_>) -> anyhow::Result<Told> {
    lost(desk).await?;
    let state = desk.task()?.state;
    if state.stage.is_terminal() {
        return Ok(Told::nothing(state.stage, Vec::new()));
    }
    if let Some(over) = over(desk, law)? {
        return Ok(Told::nothing(state.stage, vec![over]));
    }
    let head = desk.head()?;
    let lacked = desk.task()?.lacked.clone();
    let prompt = Ask { folder: &desk.folder, stage: state.stage, lacked: &lacked, elsewhere: false }.text();
    let Some((number, came)) = asked(desk, law, Role::Main, &prompt, &head).await? else {
        return Ok(Told { interrupted: true, ..Told::nothing(state.stage, Vec::new()) });
    };
    let before = desk.file(&head, STATE)?.and_then(|bytes| read(STATE, &bytes).ok());
    let changed = changed(&came);
    let mut outcome = taken(desk, state, &head, before.as_ref(), &changed, &came)?;
    if let (Some(_), Some(sheet)) = (&outcome.commit, outcome.sheet.as_deref()) {
        outcome.commit = joined(desk, sheet)?.or(outcome.commit);
    }
    let ran = match outcome.to {
        Some(Stage::Review | Stage::Done) => Some(commands(desk, law, from).await?),
        _ => None,
    };
    outcome.ran = matches!(ran, Some(Ran::Found(_)));
    match outcome.to {
        Some(Stage::Review) => outcome.against(shown::commands(ran.as_ref())),
        Some(Stage::Done) => {
            let lacks = unshown(desk, &outcome, ran.as_ref())?;
            outcome.against(lacks);
        }
        _ => {}
    }
    let now = desk.head()?;
    let content = desk.content(&now)?;
    let returned = desk.task()?.contents.contains(&content);
    let kept = if outcome.commit.is_some() { &changed[..] } else { &[] };
    let work = Work { folder: &desk.folder, state, before: before.as_ref(), after: None, changed: kept };
    let measured = Measured {
        moved: outcome.to.is_some_and(|to| to != Stage::Done),
        // Where nothing is claimed, nothing is held against it.
        against: match outcome.claims.is_some_and(|claims| claims != state.stage) {
            true => (errors(&lacked), errors(&outcome.findings)),
            false => (0, 0),
        },
        returned,
        ran: outcome.ran,
    };
    let mut gained = progress(&work, outcome.sheet.as_deref(), measured);
    let log = serde_json::to_string_pretty(&came.passed.report)?;
    let ended = Ended {
        pass: number,
        took_ms: came.passed.report.duration_ms,
        credits: came.passed.answer.as_ref().and_then(rules::credits),
        log: Some(Digest::of(&log)),
        head: outcome.commit.clone(),
        content,
        claims: outcome.claims,
        gained: gained.clone(),
        findings: bounded(outcome.findings.clone()),
    };
    let mut entries =
        vec![Entry { file: Some(log.into()), ..Entry::new(By::Bot, None, Body::PassEnded(Box::new(ended))) }];
    entries.extend(outcome.to.filter(|to| *to != Stage::Done).map(|to| moved(to, outcome.sheet.as_deref())));
    desk.append(entries).await?;

    if outcome.to == Some(Stage::Done) {
        let Some(against) = reviewed(desk, law, &now).await? else {
            return Ok(Told { interrupted: true, ..Told::nothing(state.stage, Vec::new()) });
        };
        outcome.against(against);
        if outcome.to.is_some() {
            desk.append(vec![moved(Stage::Done, outcome.sheet.as_deref())]).await?;
            gained.insert(Progress::State);
        }
    }
    if outcome.to.is_none() && outcome.claims.is_some() {
        outcome.commit = put_back(desk, state.stage)?.or(outcome.commit);
    }
    if gained.is_empty() {
        outcome.findings.push(still(state.stage));
    }
    Ok(Told {
        pass: Some(number),
        from: state.stage,
        to: desk.task()?.state.stage,
        claims: outcome.claims,
        gained,
        commit: outcome.commit,
        findings: bounded(outcome.findings),
        interrupted: false,
    })
}

fn changed(came: &Came) -> Vec<Changed> {
    let left = came.passed.left.iter().flat_map(|left| &left.taken.deltas);
    left.map(|delta| Changed { path: delta.path.to_string(), gone: delta.new.is_none() }).collect()
}

fn moved(to: Stage, sheet: Option<&Sheet>) -> Entry {
    let why = sheet.filter(|_| to.is_waiting()).map(|sheet| sheet.value(Field::Blockers).to_owned());
    let frame = sheet.filter(|_| to == Stage::Implement).map(shown::frame);
    Entry::new(By::Bot, None, Body::TaskMoved { to, actor: Actor::Agent, why, frame })
}

/// What is not shown of a task that claims to be done. Whether anything pretends is the reviewer's to say, and not asked yet.
fn unshown(desk: &Desk, outcome: &Outcome, ran: Option<&Ran>) -> anyhow::Result<Vec<Finding>> {
    let Some(sheet) = outcome.sheet.as_deref() else { return Ok(Vec::new()) };
    let head = desk.head()?;
    let evidence = desk.file(&head, "EVIDENCE.md")?.unwrap_or_default();
    let files = desk.files(&head)?;
    let is_there =
        |path: &RepoPath| desk.repo.tree(&head, Filter::Under(path)).is_ok_and(|entries| !entries.is_empty());
    Ok(shown::lacks(&Seen {
        folder: &desk.folder,
        sheet,
        frame: desk.task()?.frame.as_ref(),
        ran,
        honest: Some(true),
        evidence: &String::from_utf8_lossy(&evidence),
        files: &files,
        is_there: &is_there,
    }))
}

/// What a reviewer finds; none where that was stopped. They cost, so they are asked last.
async fn reviewed(desk: &mut Desk, law: &Policy, commit: &CommitId) -> anyhow::Result<Option<Vec<Finding>>> {
    let question = review::asked(&desk.folder);
    let Some((number, came)) = asked(desk, law, Role::Reviewer, &question, commit).await? else { return Ok(None) };
    let mut findings: Vec<Finding> = came.findings.iter().filter(|finding| finding.blocks()).cloned().collect();
    findings.extend(came.passed.answer.as_ref().map(review::judge).unwrap_or_default());
    // The second of the five is the fifth of the eight.
    if findings.iter().any(|finding| finding.rule == "TSK-22") {
        findings.push(shown::pretends());
    }
    let log = serde_json::to_string_pretty(&came.passed.report)?;
    let ended = Ended {
        pass: number,
        took_ms: came.passed.report.duration_ms,
        credits: came.passed.answer.as_ref().and_then(rules::credits),
        log: Some(Digest::of(&log)),
        head: None,
        content: desk.content(commit)?,
        claims: None,
        gained: BTreeSet::new(),
        findings: bounded(findings.clone()),
    };
    desk.append(vec![Entry { file: Some(log.into()), ..Entry::new(By::Bot, None, Body::PassEnded(Box::new(ended))) }])
        .await?;
    Ok(Some(findings))
}

fn errors(findings: &[Finding]) -> usize {
    findings.iter().filter(|finding| finding.blocks()).count()
}

/// A pass that began and never ended: whoever was at it is gone, for nobody else has the lock.
async fn lost(desk: &mut Desk) -> anyhow::Result<()> {
    let Some(open) = desk.task()?.open.clone() else { return Ok(()) };
    let says =
        format!("Pass {} began and never ended: what it did is not there, and what it cost is not known.", open.pass);
    let found = Finding::error(rules::BROKE_OFF, says, "It counts as a pass. The next one begins where the branch is.");
    let content = desk.content(&desk.head()?)?;
    desk.append(vec![ended_by(open.pass, content, found)]).await
}

/// The end of a pass that has nothing to show.
fn ended_by(pass: u32, content: Digest, found: Finding) -> Entry {
    let ended = Ended {
        pass,
        took_ms: 0,
        credits: None,
        log: None,
        head: None,
        content,
        claims: None,
        gained: BTreeSet::new(),
        findings: vec![found],
    };
    Entry::new(By::Bot, None, Body::PassEnded(Box::new(ended)))
}

/// What all passes may take together, where that is used up.
fn over(desk: &Desk, law: &Policy) -> anyhow::Result<Option<Finding>> {
    let next = "A person looks at it, and gives it more by `budget` of the policy; or claims `blocked`.";
    let says = rules::over(desk.task()?, &law.budget);
    Ok(says.map(|says| Finding::error(rules::BUDGET, sentence(&says), next)))
}

/// What is told in small letters, as a sentence.
fn sentence(says: &str) -> String {
    let mut letters = says.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// Asks an agent, with its begin on record. None where it was stopped; then its end is.
async fn asked(
    desk: &mut Desk,
    law: &Policy,
    role: Role,
    prompt: &str,
    commit: &CommitId,
) -> anyhow::Result<Option<(u32, Came)>> {
    let Some(agent) = law.agents.of(role) else {
        bail!(
            "the policy names no agent for the {role}\nAdd `agents: {{ main: {{ command: [\"agent-cli\", \"--stdin\"] }} }}` to {} on the \
             default branch",
            crate::policy::PATH
        );
    };
    if !Sight::of(&agent.pack)?.takes_in(desk.path(STATE).as_bytes()) {
        bail!(
            "the pack of the {role}'s agent leaves out {}, and with it the task\nLet {}/** through, in `agents` of {} on the default branch",
            desk.path(STATE),
            desk.folder,
            crate::policy::PATH
        );
    }
    let (pass, stage) = (desk.task()?.passes + 1, desk.task()?.state.stage);
    let lacked = desk.task()?.lacked.clone();
    let task = mcp::Task { folder: desk.folder.clone(), stage, pass: Some(pass), lacked };
    let most = SignedDuration::from_secs(agent.timeout.as_secs().into());
    let until = Timestamp::now().checked_add(most).context("the pass has no end")?;
    desk.append(vec![Entry::new(
        By::Bot,
        None,
        Body::PassBegun(Begun { pass, role, until, at: None, head: None, sheet: None }),
    )])
    .await?;
    let about = [("PHASEGATE_PHASE", stage.to_string()), ("PHASEGATE_PASS", pass.to_string())];
    let left = law.budget.minutes.map(|minutes| {
        let left = (u64::from(minutes) * 60_000).saturating_sub(desk.task().map_or(0, |task| task.spent_ms));
        tokio::time::Instant::now() + std::time::Duration::from_millis(left)
    });
    let asked = Asked { role, prompt, commit, about: &about, until: left, task: Some(task) };
    let came = asked.carried_out(&desk.repo, law).await;
    let says = match &came {
        Ok(Some(_)) => return Ok(came?.map(|came| (pass, came))),
        Ok(None) => "It was stopped by a signal.".to_owned(),
        Err(error) => format!("It could not be carried out: {error:#}."),
    };
    let content = desk.content(&desk.head()?)?;
    let found = Finding::error(rules::BROKE_OFF, says, "Nothing was taken of it. Begin the next pass.");
    desk.append(vec![ended_by(pass, content, found)]).await?;
    came.map(|_| None)
}

/// What is kept of a pass: a commit on the branch, or nothing.
fn taken(
    desk: &Desk,
    state: State,
    head: &CommitId,
    before: Option<&Sheet>,
    changed: &[Changed],
    came: &Came,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome { findings: came.findings.clone(), ..Outcome::default() };
    let Passed { left: Some(left), answer, .. } = &came.passed else { return Ok(outcome) };
    if verdict(&came.findings) == Verdict::Fail {
        return Ok(outcome);
    }
    let after = left.taken.file(&desk.path(STATE))?;
    match claimed(&Work { folder: &desk.folder, state, before, after: after.as_deref(), changed }) {
        Claim::Refused(findings) => {
            outcome.findings.extend(findings);
            return Ok(outcome);
        }
        Claim::Stays { sheet, findings } => {
            outcome.claims = Some(sheet.phase);
            outcome.findings.extend(findings);
            outcome.sheet = Some(sheet);
        }
        Claim::Goes { sheet, to } => {
            (outcome.claims, outcome.to) = (Some(to), Some(to));
            outcome.sheet = Some(sheet);
        }
    }
    if changed.is_empty() {
        return Ok(outcome);
    }
    let summary = answer.as_ref().and_then(|answer| answer.get("summary")).and_then(Value::as_str).unwrap_or_default();
    let title = format!("task({}): a pass in {}", desk.folder, state.stage);
    let commit = left.taken.commit(&desk.repo.common_folder(), head, &message(&title, summary), BY)?;
    advance(&desk.root, head, &commit)?;
    outcome.commit = Some(commit);
    Ok(outcome)
}

/// Several pieces of evidence are joined by a page. One that somebody else made stays.
fn joined(desk: &Desk, sheet: &Sheet) -> anyhow::Result<Option<CommitId>> {
    let head = desk.head()?;
    let mut files = desk.files(&head)?;
    if shown::pieces(&files) < 2 {
        return Ok(None);
    }
    let there = desk.file(&head, shown::PAGE)?;
    files.retain(|(path, _)| path == "EVIDENCE.md" || shown::is_piece(path));
    let page = bundle(&desk.folder, sheet, &files);
    if there.is_some_and(|there| !is_ours(&there) || there == page.as_bytes()) {
        return Ok(None);
    }
    let message = format!("task({}): the evidence on one page\n", desk.folder);
    let commit = committed(&desk.repo.common_folder(), &head, &desk.path(shown::PAGE), page.as_bytes(), &message, BY)?;
    advance(&desk.root, &head, &commit)?;
    Ok(Some(commit))
}

/// The claim with the phase that the task is in: what was claimed was not shown, and the next one is to read what is so.
pub(super) fn put_back(desk: &Desk, stage: Stage) -> anyhow::Result<Option<CommitId>> {
    let head = desk.head()?;
    let Some(sheet) = desk.file(&head, STATE)?.and_then(|bytes| read(STATE, &bytes).ok()) else { return Ok(None) };
    if sheet.phase == stage {
        return Ok(None);
    }
    let text = sheet.with(Field::Phase, stage.as_str());
    let message = format!("task({}): the phase stays {stage}\n", desk.folder);
    let commit = committed(&desk.repo.common_folder(), &head, &desk.path(STATE), text.as_bytes(), &message, BY)?;
    advance(&desk.root, &head, &commit)?;
    Ok(Some(commit))
}

/// The repository's own commands, run on what is at the head now as `phasegate run verify` runs them.
async fn commands(desk: &Desk, law: &Policy, from: From<'_>) -> anyhow::Result<Ran> {
    if law.gates.verify.run.is_empty() {
        return Ok(Ran::NoCommands);
    }
    #[derive(serde::Deserialize)]
    struct Said {
        findings: Vec<Finding>,
    }
    let out = tempfile::tempdir().context("no folder can be made for the run")?;
    let mut run = tokio::process::Command::new(std::env::current_exe().context("this program can't be found")?);
    run.args(["run", "verify", "--json", "--dir"]).arg(&desk.root).arg("--out").arg(out.path());
    if let Some(base) = from.base {
        run.args(["--base", base]);
    }
    if let Some(policy) = from.policy {
        run.arg("--policy").arg(policy);
    }
    let done = run.stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true).output();
    let done = done.await.context("the repository's commands can't be run")?;
    if !matches!(done.status.code(), Some(0 | 1)) {
        bail!("the repository's commands could not be run; `phasegate run verify` says why");
    }
    let said: Said = serde_json::from_slice(&done.stdout).context("what the run says can't be read")?;
    Ok(Ran::Found(said.findings))
}
