//! `phasegate explain`: why a change is not merging, by its records, first things first.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use owo_colors::OwoColorize as _;
use schemars::JsonSchema;
use serde::Serialize;

use super::status::{self, Place, Report};
use super::{Exit, check, out};
use crate::finding::{Finding, Severity};
use crate::flow::{Phase, Stage};
use crate::gate::aside::{self, Aside};
use crate::gate::papers::{self, Papers};
use crate::gate::{GateName, build, first, reconcile, verify};
use crate::ledger::State;
use crate::ledger::state::Judged;
use crate::policy::{self, Commands, Policy};
use crate::repo::{LocalRepo, Reader as _, RepoPath};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Explained {
    schema: &'static str,
    change: u64,
    /// `enforcing` or `advisory`.
    mode: &'static str,
    /// Whether the signatures were held against a key.
    proven: bool,
    stage: String,
    open: bool,
    merged: Option<String>,
    head: Option<String>,
    /// Why a person must decide.
    waits_for: Option<String>,
    /// Not where the pipeline waits for somebody to say `/expand`, before anything else.
    begun: bool,
    /// The phase whose gate waits: what for is on no record. What of it can be seen in the content is among the findings where
    /// `looked` says so, and the check `phasegate/PHASE` has all of it.
    #[schemars(with = "Option<String>")]
    waiting: Option<Phase>,
    looked: bool,
    /// What stands against merging, what to do first at its beginning.
    findings: Vec<Finding>,
    /// What is to be done after the merge, in words.
    #[serde(skip)]
    after: Option<String>,
}

pub(super) async fn run(args: &status::Args) -> anyhow::Result<Exit> {
    let (explained, report) = of(args.change, &args.place).await?;
    if args.form.json {
        out::json(&explained)?;
    } else {
        out::text(&told(&explained, &report))?;
    }
    Ok(status::exit(&report))
}

/// Why a change is not merging, and where it stands.
pub(super) async fn of(change: u64, place: &Place) -> anyhow::Result<(Explained, Report)> {
    let (state, report) = status::read(change, place).await?;
    Ok((explained(&state, &report, seen(place, &state), &commands(place)), report))
}

/// What stands against a change by its records and, where it is here, by its content: first things first.
pub(super) fn against(place: &Place, state: &State) -> Vec<Finding> {
    in_order(state, seen(place, state), &commands(place))
}

/// How commands are written here, by the default branch's policy; as usual where that is not here.
pub(super) fn commands(place: &Place) -> Commands {
    let policy = place.here().and_then(|repo| policy(&LocalRepo::around(repo).ok()?));
    policy.map(|policy| policy.commands).unwrap_or_default()
}

fn in_order(state: &State, seen: Option<Vec<Finding>>, commands: &Commands) -> Vec<Finding> {
    let claim = first::claimable(state).filter(|phase| would_pass(state, *phase, seen.as_deref()));
    let all = first::first_things_first(seen.into_iter().flatten().chain(first::against(state)));
    match claim {
        Some(phase) => first::to_claim(all, phase, commands),
        None => all,
    }
}

/// Whether the gate of a document would pass, by its content and by what is on record of it. Of another gate GitHub knows more.
fn would_pass(state: &State, phase: Phase, seen: Option<&[Finding]>) -> bool {
    let present = state.subject.as_ref().map(|about| &about.content);
    let fails = |judged: &Judged| Some(&judged.about.content) == present && judged.findings.iter().any(Finding::blocks);
    papers::document(phase).is_some()
        && seen.is_some_and(|found| !found.iter().any(Finding::blocks))
        && !state.gates.get(&GateName::Phase(phase)).is_some_and(fails)
}

/// What the content shows, where a gate waits and it is here.
fn seen(place: &Place, state: &State) -> Option<Vec<Finding>> {
    let repo = place.here()?;
    match first::unrecorded(state) {
        Some(phase) => look(repo, state, phase),
        None => unproposed(repo, state),
    }
}

/// What the proposal of another round lacks, while it is written. Which checks are red on what was delivered only GitHub knows.
fn unproposed(repo: &Path, state: &State) -> Option<Vec<Finding>> {
    state.pipeline.as_ref().filter(|pipeline| pipeline.stage == Stage::Iterating)?;
    let repo = LocalRepo::around(repo).ok()?;
    let at = match &state.merged {
        Some(_) => check::default_tip(&repo).ok()?,
        None => state.subject.as_ref()?.head.clone(),
    };
    let begun = state.subject.as_ref().map(|about| &about.base);
    let aside = Aside::read(&repo, &at, begun).ok()?;
    let mut found = aside::proposed(&aside, &BTreeSet::new()).err().unwrap_or_default();
    found.extend(aside::again(&aside, state.declined.as_ref()));
    Some(found)
}

/// The policy of the default branch, where it is here and can be read.
pub(super) fn policy(repo: &LocalRepo) -> Option<Policy> {
    let tip = check::default_tip(repo).ok()?;
    let blob = repo.blob(&tip, &RepoPath::from(policy::PATH)).ok()??;
    policy::parse(&blob.bytes).ok()
}

/// What the content shows of what a gate waits for, judged here as the App does it. None where it is not here, or can't be read: the
/// records are told all the same.
fn look(repo: &Path, state: &State, phase: Phase) -> Option<Vec<Finding>> {
    let (repo, about) = (LocalRepo::around(repo).ok()?, state.subject.as_ref()?);
    let (base, head) = (&about.base, &about.head);
    let tip = check::default_tip(&repo).ok()?;
    let policy = policy(&repo)?;
    let papers = Papers::read(&repo, &tip, base, head).ok()?;
    let site = || build::site(&repo, base, head, &papers).ok().flatten();
    Some(match phase {
        Phase::Expand | Phase::Design | Phase::Analyze => papers::judge(phase, &papers, &policy),
        Phase::Build => build::judge(&site()?, &papers, &policy),
        Phase::Reconcile => reconcile::look(&repo, head, &site()?, &papers, &policy).ok()?.0,
        Phase::Verify => verify::look(&repo, head, &site()?, &papers, &policy).ok()?,
        // Of people and of deployments only GitHub knows.
        Phase::Review | Phase::Deploy => return None,
    })
}

/// Of the merge gate, and of the gate of the phase that it is in.
fn explained(state: &State, report: &Report, seen: Option<Vec<Finding>>, commands: &Commands) -> Explained {
    let Report { change, mode, proven, stage, open, merged, head, waits_for, .. } = report;
    Explained {
        schema: "phasegate/explain@1",
        change: *change,
        mode,
        proven: *proven,
        stage: stage.clone(),
        open: *open,
        merged: merged.clone(),
        head: head.clone(),
        waits_for: waits_for.clone(),
        begun: !first::not_begun(state),
        waiting: first::unrecorded(state),
        looked: seen.is_some(),
        findings: in_order(state, seen, commands),
        after: after_merge(state, commands),
    }
}

/// What a change that was merged is at.
fn after_merge(state: &State, commands: &Commands) -> Option<String> {
    let stage = state.pipeline.as_ref().filter(|_| !state.open && state.merged.is_some())?.stage;
    Some(match stage {
        _ if first::is_delivered(state) => "It is merged, and not delivered yet.".to_owned(),
        Stage::Iterating => {
            let say = commands.written("iterate");
            format!("Another round is to be proposed: write `{}`, and say `{say}`.", aside::ITERATION)
        }
        Stage::IterationProposed => {
            let (yes, no) = (commands.written("approve"), commands.written("reject"));
            format!("Another round is proposed: `{yes}` takes it, `{no} REASON` does not.")
        }
        Stage::IterationConfirmed => format!(
            "Another round is confirmed: open a pull request with `Phasegate-Change: {}` as the last line of its text.",
            state.change
        ),
        _ => return None,
    })
}

fn told(explained: &Explained, report: &Report) -> String {
    let mut text = status::heading(report);
    if !explained.open && explained.findings.is_empty() {
        text.extend(explained.after.iter().map(|says| format!("{}\n", out::plain(says))));
        return text;
    }
    if let Some(why) = &explained.waits_for {
        let _ = writeln!(text, "waits for a person: {}", out::plain(why));
    }
    if !explained.open {
        let after = explained.after.as_deref().unwrap_or("It is merged.");
        let _ = writeln!(text, "{} First things first:", out::plain(after));
    } else if !explained.findings.iter().any(Finding::blocks) {
        text.push_str("Nothing stands against merging, by its records.\n");
    } else {
        text.push_str("Why it is not merging, first things first:\n");
    }
    for (at, finding) in explained.findings.iter().enumerate() {
        let rule = match finding.severity {
            Severity::Error if finding.waiting => finding.rule.yellow().to_string(),
            Severity::Error => finding.rule.red().to_string(),
            Severity::Warning => format!("{} (warning)", finding.rule).yellow().to_string(),
        };
        let place = finding.place().map(|place| format!("{place}: ")).unwrap_or_default();
        let says = out::plain(&format!("{place}{}", finding.says));
        let _ = writeln!(text, "{:>3}. {rule} {says}\n     → {}", at + 1, out::plain(&finding.next));
    }
    if let Some(phase) = explained.waiting.filter(|_| !first::is_to_claim(&explained.findings)) {
        let name = phase.as_str().to_uppercase();
        let _ = match explained.looked {
            true => writeln!(
                text,
                "{name} waits. Its content was looked at here; what only GitHub knows stands in the check `phasegate/{phase}` of \
                 this head."
            ),
            false => writeln!(text, "{name} waits. What for stands in the check `phasegate/{phase}` of this head."),
        };
    }
    text
}
