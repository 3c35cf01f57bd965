//! `phasegate status`: where a change stands by its records, on a local copy of the ledger's branch or on GitHub.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Exit, app, out, replay};
use crate::finding::{Finding, GateName, Verdict};
use crate::flow::pipeline::{waits_for_human, words};
use crate::flow::{FlowName, Stage};
use crate::gate::goal::Goal;
use crate::github::store::GitHubStore;
use crate::ids::{Digest, RepoId, Slug};
use crate::ledger::chain::{self, KeyRing};
use crate::ledger::incident;
use crate::ledger::state::Judged;
use crate::ledger::store::{Folder, Store};
use crate::ledger::unsigned::{ADVISORY, Unsigned};
use crate::ledger::{By, State};
use crate::policy::Policy;
use crate::surface::incident::says;

/// Which change, and where its records are.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The change's number, or that of an issue or pull request that belongs to it
    #[arg(value_parser = replay::number)]
    pub(super) change: u64,
    #[command(flatten)]
    pub(super) place: Place,
    #[command(flatten)]
    pub(super) form: Form,
}

/// Where the records are.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Place {
    /// A local repository that has the ledger's branch
    #[arg(long, default_value = ".", value_name = "PATH")]
    pub(super) repo: PathBuf,
    /// Read the ledger from GitHub instead: as the App with APP_ID and its private key, or with GITHUB_TOKEN
    #[arg(long, value_name = "OWNER/REPO", conflicts_with = "repo")]
    pub(super) github: Option<Slug>,
    /// The ledger's branch [default: phasegate/ledger, or the advisory one beside it where there is no other]
    #[arg(long)]
    pub(super) branch: Option<String>,
    /// A PEM file with a key of the App, public or private. Without one, signatures are not looked at
    #[arg(long = "key", value_name = "FILE")]
    pub(super) keys: Vec<PathBuf>,
}

impl Place {
    /// The repository on this machine, where the ledger is read there.
    pub(super) fn here(&self) -> Option<&Path> {
        self.github.is_none().then_some(self.repo.as_path())
    }
}

/// How it is told.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Form {
    /// Print one object, with a field `schema`
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Report {
    schema: &'static str,
    pub(super) change: u64,
    /// `enforcing` or `advisory`.
    pub(super) mode: &'static str,
    /// Whether the signatures were held against a key.
    pub(super) proven: bool,
    #[schemars(with = "String")]
    flow: FlowName,
    pub(super) stage: String,
    pub(super) open: bool,
    pub(super) merged: Option<String>,
    pub(super) head: Option<String>,
    records: u64,
    gates: BTreeMap<String, &'static str>,
    /// Whether each criterion cites what verifies it; none where nothing of them is on record.
    // An agent pays for the schema each time, and this explains itself.
    #[schemars(skip)]
    goal: Option<String>,
    /// Why a person must decide.
    pub(super) waits_for: Option<String>,
    /// What a person answered last.
    // An agent pays for the schema each time, and few changes have this or the next.
    #[schemars(with = "serde_json::Value")]
    answer: Option<Answered>,
    /// What went around the gate.
    #[schemars(with = "Vec<serde_json::Value>")]
    incidents: Vec<Incident>,
    findings: Vec<Finding>,
    /// The branch that was read.
    #[serde(skip)]
    pub(super) ledger: String,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let (_, report) = read(args.change, &args.place).await?;
    if args.form.json {
        out::json(&report)?;
    } else {
        out::text(&told(&report))?;
    }
    Ok(exit(&report))
}

/// What the records of a change come to, and where it stands by them.
pub(super) async fn read(number: u64, place: &Place) -> anyhow::Result<(State, Report)> {
    let read = match &place.github {
        Some(slug) => on_github(number, place, slug).await?,
        None => locally(number, place).await?,
    };
    let Read { branch, change, folder, advisory, repo } = read;
    let Some(repo) = repo.or_else(|| replay::claimed_repository(&folder.files)) else {
        bail!("the ledger on {} has no records of #{number}", out::plain(&branch));
    };
    let (ring, proven) = ring(place, advisory)?;
    let state = chain::prove(repo, change, &folder.files, ring.as_ref(), chain::From::Beginning).map_err(|broken| {
        anyhow::anyhow!("the ledger's chain is broken at {broken}").context("`phasegate replay` says what to do")
    })?;
    let Some(state) = state.state else { bail!("the ledger on {} has no records of #{number}", out::plain(&branch)) };
    let report = Report { ledger: branch, ..report(&state, advisory, proven) };
    Ok((state, report))
}

/// What signatures are held against, and whether that proves anything.
pub(super) fn ring(place: &Place, advisory: bool) -> anyhow::Result<(Box<dyn KeyRing>, bool)> {
    let keys = replay::keys(&place.keys)?;
    let proven = !advisory && !keys.is_empty();
    let ring: Box<dyn KeyRing> = match (advisory, proven) {
        (true, _) => Box::new(Unsigned),
        (false, true) => Box::new(keys) as Box<dyn KeyRing>,
        (false, false) => Box::new(Unproven),
    };
    Ok((ring, proven))
}

pub(super) fn exit(report: &Report) -> Exit {
    if report.mode == "advisory" || report.waits_for.is_some() {
        return Exit::Human;
    }
    Exit::found(report.open && report.gates.get("merge") != Some(&"PASS"))
}

/// Signatures are not looked at where there is no key to hold them against.
struct Unproven;

impl KeyRing for Unproven {
    fn verify(&self, _: &Digest, _: &[u8], _: &[u8]) -> Option<bool> {
        Some(true)
    }
}

struct Read {
    branch: String,
    change: crate::ids::ChangeNumber,
    folder: Folder,
    advisory: bool,
    repo: Option<RepoId>,
}

/// The branches to look at, in turn.
pub(super) fn branches(place: &Place) -> Vec<String> {
    match &place.branch {
        Some(named) => vec![named.clone()],
        None => {
            let usual = Policy::default().ledger.branch;
            vec![usual.clone(), format!("{usual}{ADVISORY}")]
        }
    }
}

async fn locally(number: u64, place: &Place) -> anyhow::Result<Read> {
    let mut missing = None;
    for branch in branches(place) {
        match replay::store(&place.repo, &branch) {
            Ok(store) => {
                let (change, folder) = replay::find(number, &store).await?;
                let advisory = branch.ends_with(ADVISORY);
                return Ok(Read { branch, change, folder, advisory, repo: None });
            }
            Err(error) => missing = missing.or(Some(error)),
        }
    }
    Err(missing.unwrap_or_else(|| anyhow::anyhow!("there is no ledger")))
}

async fn on_github(number: u64, place: &Place, slug: &Slug) -> anyhow::Result<Read> {
    let (repo, id) = app::reader(slug).await?;
    let all = branches(place);
    for (at, branch) in all.iter().enumerate() {
        let store = GitHubStore::new(repo.clone(), branch);
        if at + 1 < all.len() && store.head().await.context("can't read the ledger")?.is_none() {
            continue;
        }
        let (change, folder) = replay::find(number, &store).await?;
        let advisory = branch.ends_with(ADVISORY);
        return Ok(Read { branch: branch.clone(), change, folder, advisory, repo: Some(id) });
    }
    bail!("{slug} has no ledger")
}

fn report(state: &State, advisory: bool, proven: bool) -> Report {
    let (stage, waits) = match &state.pipeline {
        Some(pipeline) => (words(pipeline.stage), waits_for_human(pipeline.stage)),
        None => match state.task.as_ref().filter(|_| state.flow == FlowName::Task && state.merged.is_none()) {
            Some(task) => (format!("task {}", task.state.stage), task.state.stage.is_waiting()),
            None => (state.merge.as_str().to_owned(), false),
        },
    };
    let proposed = state.pipeline.as_ref().is_some_and(|pipeline| pipeline.stage == Stage::IterationProposed);
    let waits_for = match (&state.stopped, &state.escalation) {
        (Some(stop), _) => {
            let reasons: Vec<&str> = [stop].into_iter().chain(&stop.also).map(|one| one.reason.as_str()).collect();
            Some(format!("it is stopped: {}", reasons.join("; ")))
        }
        (None, Some(open)) => Some(match open.issue {
            Some(issue) => format!("the escalation #{issue} is open"),
            None => "an escalation is open".to_owned(),
        }),
        (None, None) if waits => Some(format!("it is {stage}")),
        (None, None) if proposed => Some("somebody decides about the round that is proposed".to_owned()),
        (None, None) => None,
    };
    let word = |verdict| if verdict == Verdict::Pass { "PASS" } else { "FAIL" };
    let merge = state.gates.get(&GateName::Merge);
    Report {
        schema: "phasegate/status@1",
        change: state.change.0,
        mode: if advisory { "advisory" } else { "enforcing" },
        proven,
        flow: state.flow,
        stage,
        open: state.open,
        merged: state.merged.as_ref().map(|merged| merged.commit.to_string()),
        head: state.subject.as_ref().map(|about| about.head.to_string()),
        records: state.seq,
        gates: state
            .gates
            .iter()
            .map(|(gate, judged)| (gate.to_string(), word(stands(state, *gate, judged))))
            .collect(),
        goal: state.memory.as_ref().and_then(|memory| Goal::of(&memory.criteria())).map(|goal| goal.line()),
        waits_for: waits_for.filter(|_| state.open || state.merged.is_some()),
        answer: answered(state),
        incidents: state.incidents.iter().map(Incident::from).collect(),
        findings: merge.filter(|_| state.open).map(|judged| judged.findings.clone()).unwrap_or_default(),
        ledger: String::new(),
    }
}

/// What a gate comes to now: one that was renewed for this content was not judged anew.
fn stands(state: &State, gate: GateName, judged: &Judged) -> Verdict {
    match gate {
        GateName::Phase(phase) if state.pipeline.as_ref().is_some_and(|pipeline| pipeline.holds(phase)) => {
            Verdict::Pass
        }
        _ => judged.verdict,
    }
}

/// Something that went around the gate.
#[derive(Debug, Serialize)]
struct Incident {
    /// The record that tells of it.
    record: u64,
    says: String,
    issue: Option<u64>,
    /// Whether somebody has taken note of it, by closing the issue.
    noted: bool,
    /// Who did, where that is known.
    noted_by: Option<String>,
}

impl From<&incident::Incident> for Incident {
    fn from(one: &incident::Incident) -> Self {
        let says = says(one);
        let noted_by = match &one.noted {
            Some(By::Person { person, .. }) => Some(person.login.clone()),
            Some(By::Bot | By::Workflow(_) | By::Runner(_)) | None => None,
        };
        Self { record: one.id, says, issue: one.issue, noted: one.noted.is_some(), noted_by }
    }
}

/// A person's answer to a stop.
#[derive(Debug, Serialize)]
struct Answered {
    by: String,
    /// What they chose, such as `APPROVE_OVERRIDE`; none where they said a plain command.
    action: Option<&'static str>,
    /// In their words.
    says: String,
    issue: Option<u64>,
}

fn answered(state: &State) -> Option<Answered> {
    let word = state.last_word()?;
    let action = word.action.map(|action| action.as_str());
    Some(Answered { by: word.by.to_owned(), action, says: word.says.to_owned(), issue: word.issue })
}

/// Which change it is, how far its records can be believed, and what they are of.
pub(super) fn heading(report: &Report) -> String {
    let mut text = String::new();
    let over = match (&report.merged, report.open) {
        (Some(commit), _) => format!(", merged as {commit:.12}"),
        (None, false) => ", closed".to_owned(),
        (None, true) => String::new(),
    };
    let _ = writeln!(text, "{} {}, {} flow{over}", format!("#{}", report.change).bold(), report.stage, report.flow);
    if report.mode == "advisory" {
        text.push_str("advisory: anyone who can push a workflow could have written these records; they are no gate\n");
    } else if !report.proven {
        text.push_str("signatures were not looked at: give the App's key with --key\n");
    }
    if let Some(head) = &report.head {
        let _ = writeln!(text, "head {head:.12}, {} records", report.records);
    }
    text
}

fn told(report: &Report) -> String {
    let mut text = heading(report);
    for (gate, verdict) in &report.gates {
        let _ = writeln!(text, "{gate}: {verdict}");
    }
    if let Some(goal) = &report.goal {
        let _ = writeln!(text, "{}", out::plain(goal));
    }
    if let Some(why) = &report.waits_for {
        let _ = writeln!(text, "waits for a person: {}", out::plain(why));
    }
    if let Some(Answered { by, action, says, issue }) = &report.answer {
        let issue = issue.map(|issue| format!(" (#{issue})")).unwrap_or_default();
        let action = action.map(|action| format!(" {action}")).unwrap_or_default();
        let says = says.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{} answered{issue}{action}: {}", out::plain(by), out::plain(&says));
    }
    for one in &report.incidents {
        let issue = one.issue.map(|issue| format!(" #{issue}")).unwrap_or_default();
        let noted = match (&one.noted_by, one.noted) {
            (Some(who), _) => format!("; closed by {who}"),
            (None, true) => "; closed".to_owned(),
            (None, false) => String::new(),
        };
        let _ = writeln!(text, "incident{issue}: {}{}", out::plain(&one.says), out::plain(&noted));
    }
    for finding in &report.findings {
        let _ = writeln!(text, "  {} {}\n    → {}", finding.rule, out::plain(&finding.says), out::plain(&finding.next));
    }
    text
}
