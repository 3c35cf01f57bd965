//! `phasegate check`: the document gates, and what BUILD reads, on a repository here.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::{Exit, out};
use crate::flow::Phase;
use crate::gate::build;
use crate::gate::expand;
use crate::gate::goal::Goal;
use crate::gate::papers::{self, Papers, Sheet};
use crate::gate::reconcile;
use crate::gate::{Finding, Severity, Verdict, verdict};
use crate::ids::CommitId;
use crate::policy::{self, Policy};
use crate::repo::{LocalRepo, Reader as _, RepoPath, touched};

/// Judge the documents of a change by the gates expand, design and analyze, and what it adds by the gate build
///
/// With `reconcile` the two are held against each other. Documents are read at the head, policy and preferences at the base's tip, as the App reads them. Nothing of GitHub is
/// needed. Whether it compiles and its tests pass is not seen here: `phasegate run build` does that. docs/gates.md says what
/// each rule looks for.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// `expand`, `design`, `analyze`, `build`, `reconcile`; without any, expand, those whose document exists, and build where the change has
    /// more than documents
    #[arg(value_name = "GATE")]
    gates: Vec<String>,
    /// The branch that the change goes into [default: origin/HEAD, else main, else master]
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// The change's newest commit
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    head: String,
    /// Print `phasegate/check@1`
    #[arg(long)]
    json: bool,
}

const GATES: [Phase; 5] = [Phase::Expand, Phase::Design, Phase::Analyze, Phase::Build, Phase::Reconcile];

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    verdict: Verdict,
    gates: Vec<Judged>,
}

#[derive(Serialize)]
struct Judged {
    gate: Phase,
    verdict: Verdict,
    findings: Vec<Told>,
}

/// A finding with every field, also those that say nothing.
#[derive(Serialize)]
pub(super) struct Told {
    rule: String,
    severity: Severity,
    path: Option<String>,
    line: Option<u32>,
    says: String,
    next: String,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let asked = args.gates.iter().map(|name| gate(name)).collect::<anyhow::Result<Vec<Phase>>>()?;
    let repo = LocalRepo::around(".").context("this is not in a git repository")?;
    let head = revision(&repo, &args.head)?;
    let tip = match &args.base {
        Some(base) => revision(&repo, base)?,
        None => default_tip(&repo)?,
    };
    let base = repo.merge_base(&tip, &head)?.context("head and base share no history")?;
    let policy = policy_at(&repo, &tip)?;
    let papers = Papers::read(&repo, &tip, &base, &head)?;
    if args.head == "HEAD" {
        warn_of_uncommitted(&repo)?;
    }
    let is_built = || -> anyhow::Result<bool> {
        let touched = touched(&repo.diff(&base, &head)?);
        Ok(touched.iter().any(|path| !build::is_paper(&String::from_utf8_lossy(path.as_bytes()))))
    };
    let goal = papers.scope.as_ref().and_then(Sheet::text).and_then(|scope| Goal::of(&expand::asked(scope)));
    let mut judged: Vec<(Phase, Vec<Finding>)> = Vec::new();
    for phase in GATES {
        let wanted = match asked.is_empty() {
            true if phase == Phase::Build => is_built()?,
            // Documents are held against what was built, once it is.
            true if phase == Phase::Reconcile => false,
            true => phase == Phase::Expand || papers.of(phase).is_some(),
            false => asked.contains(&phase),
        };
        match phase {
            _ if !wanted => {}
            Phase::Build => judged.push((phase, build::look(&repo, &base, &head, &papers, &policy)?)),
            Phase::Reconcile => {
                let site = build::site(&repo, &base, &head, &papers)?;
                let found = site.map(|site| reconcile::look(&repo, &head, &site, &papers, &policy)).transpose()?;
                judged.push((phase, found.map(|(found, _)| found).unwrap_or_default()));
            }
            _ => {
                let mut findings = papers::judge(phase, &papers, &policy);
                findings.extend(goal.iter().filter(|_| phase == Phase::Expand).filter_map(Goal::finding));
                judged.push((phase, findings));
            }
        }
    }
    let failed = judged.iter().any(|(_, findings)| verdict(findings) == Verdict::Fail);
    if args.json {
        out::json(&report(judged, failed))?;
    } else {
        out::text(&shown(&judged, goal.as_ref()))?;
    }
    Ok(Exit::found(failed))
}

fn gate(name: &str) -> anyhow::Result<Phase> {
    if let Some(phase) = Phase::parse(name).filter(|phase| GATES.contains(phase)) {
        return Ok(phase);
    }
    if let Some(phase) = Phase::parse(name) {
        bail!(
            "the gate `{phase}` reads no document; it is judged on GitHub only. There are expand, design, analyze, build \
             and reconcile"
        );
    }
    let near = GATES
        .iter()
        .map(|phase| (strsim::damerau_levenshtein(&name.to_lowercase(), phase.as_str()), phase.as_str()))
        .min();
    match near.filter(|(distance, _)| *distance <= 2) {
        Some((_, word)) => bail!("there is no gate `{name}`; did you mean `{word}`?"),
        None => bail!("there is no gate `{name}`; there are expand, design, analyze, build and reconcile"),
    }
}

pub(super) fn revision(repo: &LocalRepo, text: &str) -> anyhow::Result<CommitId> {
    repo.revision(text)?.with_context(|| format!("there is no commit `{text}` in this repository"))
}

pub(super) fn default_tip(repo: &LocalRepo) -> anyhow::Result<CommitId> {
    for name in ["origin/HEAD", "main", "origin/main", "master", "origin/master"] {
        if let Some(found) = repo.revision(name)? {
            return Ok(found);
        }
    }
    bail!("there is no default branch here (origin/HEAD, main, master); name the base with --base")
}

pub(super) fn policy_at(repo: &LocalRepo, tip: &CommitId) -> anyhow::Result<Policy> {
    let Some(blob) = repo.blob(tip, &RepoPath::from(policy::PATH))? else {
        let misnamed = repo.mode(tip, &RepoPath::from(policy::MISNAMED))?.is_some();
        let other = if misnamed { format!(" ({} is not read: rename it)", policy::MISNAMED) } else { String::new() };
        out::complain(&format!("note: the base has no {}{other}; judged by the defaults.\n", policy::PATH));
        return Ok(Policy::default());
    };
    policy::parse(&blob.bytes).map_err(|problems| {
        let first = problems.first().map(|problem| format!(" (line {}: {})", problem.line, problem.says));
        anyhow::anyhow!(
            "the policy at the base is invalid{}; `phasegate config check` says more",
            first.unwrap_or_default()
        )
    })
}

/// What is judged is what is committed. Whoever has changed more since should hear that.
fn warn_of_uncommitted(repo: &LocalRepo) -> anyhow::Result<()> {
    let read = [papers::SCOPE, papers::DESIGN, papers::READINESS, papers::LOG, papers::INPUT];
    for path in repo.uncommitted(&read)?.into_iter().take(10) {
        let warning = "warning:".yellow().to_string();
        out::complain(&format!(
            "{warning} {} has changes that are not committed, and so not judged.\n",
            out::plain(&path)
        ));
    }
    Ok(())
}

impl From<Finding> for Told {
    fn from(finding: Finding) -> Self {
        let Finding { rule, severity, path, line, says, next, .. } = finding;
        Self { rule, severity, path, line, says, next }
    }
}

fn report(judged: Vec<(Phase, Vec<Finding>)>, failed: bool) -> Report {
    let gates = judged.into_iter().map(|(gate, findings)| Judged {
        gate,
        verdict: verdict(&findings),
        findings: findings.into_iter().map(Told::from).collect(),
    });
    let verdict = if failed { Verdict::Fail } else { Verdict::Pass };
    Report { schema: "phasegate/check@1", verdict, gates: gates.collect() }
}

fn shown(judged: &[(Phase, Vec<Finding>)], goal: Option<&Goal>) -> String {
    let mut text = String::new();
    for (phase, findings) in judged {
        let name = phase.as_str().to_uppercase();
        let _ = writeln!(text, "{} {}", name.bold(), coloured(verdict(findings)));
        text.push_str(&lines(findings));
        if let Some(goal) = goal.filter(|_| *phase == Phase::Expand) {
            let _ = writeln!(text, "  {}", out::plain(&goal.line()));
        }
    }
    text
}

pub(super) fn coloured(verdict: Verdict) -> String {
    match verdict {
        Verdict::Pass => "PASS".green().to_string(),
        Verdict::Fail => "FAIL".red().to_string(),
    }
}

/// Findings for people, two lines each.
pub(super) fn lines(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let rule = out::plain(&finding.rule);
        let rule = match finding.severity {
            Severity::Error => rule.red().to_string(),
            Severity::Warning => format!("{rule} (warning)").yellow().to_string(),
        };
        let place = match (&finding.path, finding.line) {
            (Some(path), Some(line)) => format!("{}:{line}: ", out::plain(path)),
            (Some(path), None) => format!("{}: ", out::plain(path)),
            _ => String::new(),
        };
        let _ = writeln!(text, "  {rule} {place}{}", out::plain(&finding.says));
        let _ = writeln!(text, "         {}", out::plain(&finding.next).dimmed());
    }
    text
}
