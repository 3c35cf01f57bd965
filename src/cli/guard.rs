//! `phasegate guard`: what would be frozen of a commit here, whether what was frozen is still there, what got weaker in tests,
//! the tests inside of source files, and the report of one's own build.

mod heal;
mod items;
mod weaker;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Subcommand;
use jiff::Timestamp;
use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::check::{self, Told};
use super::{Exit, out, replay, wave};
use crate::gate::{Finding, Verdict, verdict};
use crate::github::Keys;
use crate::guard::manifest::LONGEST;
use crate::guard::tripwire::Accepted;
use crate::guard::{Kind, Manifest, Scene, hold};
use crate::ids::{CommitId, Digest};
use crate::ledger::store::Store as _;
use crate::ledger::unsigned::{ADVISORY, Unsigned};
use crate::ledger::{KeyRing, chain, manifest_path};
use crate::repo::{LocalRepo, Reader as _};

/// Freeze the tests of a change, look whether they are as they were frozen, or what got weaker in them
///
/// `freeze` and `check` do the same as the App does at the freezing point and at every gate behind it, on a repository
/// here. docs/guard.md says what is frozen and what trips.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the manifest of a commit: its tests, its contract, and what decides what a test run means
    Freeze {
        /// The commit
        #[arg(value_name = "REV", default_value = "HEAD")]
        rev: String,
        /// The branch that the change goes into [default: origin/HEAD, else main, else master]
        #[arg(long, value_name = "REV")]
        base: Option<String>,
        /// Leave lock files out, as the App does before BUILD has passed
        #[arg(long)]
        without_locks: bool,
        /// Write it to this file, and print what it has
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Print `phasegate/freeze@1` where it is written to a file (a manifest is JSON anyway)
        #[arg(long)]
        json: bool,
    },
    /// Hold a manifest against a commit, and exit with 1 where something frozen is not as it was
    ///
    /// Where the commit, its base or the branch that it goes into has a WAVE.md, that is looked at too, and without a manifest it alone.
    Check {
        /// The file with the manifest
        manifest: Option<PathBuf>,
        /// Take the newest manifest of this change from the ledger's branch here, whose records are proved first
        #[arg(long, value_name = "CHANGE", value_parser = replay::number, conflicts_with = "manifest")]
        ledger: Option<u64>,
        /// The ledger's branch
        #[arg(long, default_value = "phasegate/ledger", requires = "ledger")]
        branch: String,
        /// A PEM file with a key of the App, as for `phasegate replay`
        #[arg(long = "key", value_name = "FILE", requires = "ledger")]
        keys: Vec<PathBuf>,
        /// The branch that the change goes into [default: origin/HEAD, else main, else master]
        #[arg(long, value_name = "REV")]
        base: Option<String>,
        /// The commit
        #[arg(long, value_name = "REV", default_value = "HEAD")]
        head: String,
        /// Print `phasegate/guard@1`
        #[arg(long)]
        json: bool,
    },
    /// Say what got weaker in the tests that a change touches, and exit with 1 where something did
    Weaker {
        /// The branch that the change goes into [default: origin/HEAD, else main, else master]
        #[arg(long, value_name = "REV")]
        base: Option<String>,
        /// The commit
        #[arg(long, value_name = "REV", default_value = "HEAD")]
        head: String,
        /// Print `phasegate/weaker@1`
        #[arg(long)]
        json: bool,
    },
    /// Report your own build as not honest, by an empty commit on the branch that is checked out
    ///
    /// For what no wire sees: overfit, empty or stubbed. When it is pushed, this content passes no gate any more; honest content is judged
    /// anew. It counts as a confirmed cheat, three of which may be healed. `/heal` on the pull request is the same, of anybody's build.
    Heal {
        /// What is not honest about it, in one line of 3 to 1000 characters
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        reason: String,
        /// The ledger's branch [default: phasegate/ledger, or the advisory one beside it where there is no other]
        #[arg(long)]
        branch: Option<String>,
        /// Print `phasegate/heal@1`
        #[arg(long)]
        json: bool,
    },
    /// Print the tests that stand inside of source files, each with its name, its line and its digest
    Items {
        /// The source files, named from the top of the repository
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<String>,
        /// The commit
        #[arg(long, value_name = "REV", default_value = "HEAD")]
        at: String,
        /// Print `phasegate/items@1`
        #[arg(long)]
        json: bool,
    },
}

/// What was written.
#[derive(Serialize)]
struct Froze {
    schema: &'static str,
    commit: CommitId,
    manifest: Digest,
    tests: usize,
    contracts: usize,
    meaning: usize,
    locks: usize,
    /// Source files with tests inside, which are frozen one by one.
    inside: usize,
    out: String,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    verdict: Verdict,
    head: CommitId,
    /// None: there is no manifest, or only the wave is looked at.
    manifest: Option<Digest>,
    files: u64,
    findings: Vec<Told>,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let repo = LocalRepo::around(".").context("this is not in a git repository")?;
    match &args.command {
        Command::Freeze { rev, base, without_locks, out, json } => {
            let (head, tip, base) = sides(&repo, rev, base.as_deref())?;
            let policy = check::policy_at(&repo, &tip)?;
            let mut scene = Scene::read(&repo, Some(&base), &head)?;
            scene.look_inside(&repo, (Some(&base), &head), &policy, None)?;
            let manifest = scene.manifest(&policy);
            let manifest = if *without_locks { manifest.without_locks() } else { manifest };
            freeze(&head, &manifest, out.as_deref(), *json)
        }
        Command::Check { manifest, ledger, branch, keys, base, head, json } => {
            let (commit, tip, base) = sides(&repo, head, base.as_deref())?;
            let frozen = match (manifest, ledger) {
                (Some(file), _) => Some((from_file(file)?, Accepted::default())),
                (None, Some(change)) => Some(from_ledger(*change, branch, keys).await?),
                (None, None) => None,
            };
            let wave = wave::standing(&repo, (&tip, &base), &commit, Timestamp::now())?;
            let looked = match (frozen, &wave) {
                (Some((frozen, accepted)), _) => {
                    if head == "HEAD" {
                        warn_of_uncommitted(&repo, frozen.as_ref())?;
                    }
                    let mut scene = Scene::read(&repo, Some(&base), &commit)?;
                    let known = frozen.as_ref().ok().map(|(manifest, _)| manifest);
                    scene.look_inside(&repo, (Some(&base), &commit), &check::policy_at(&repo, &tip)?, known)?;
                    held(frozen, &scene, &accepted)
                }
                (None, Some(_)) => Frozen::default(),
                (None, None) => {
                    out::complain(&format!(
                        "note: no manifest is named, nor a change with --ledger, and there is no {} here: nothing is held.\n",
                        wave::FILE
                    ));
                    Frozen::default()
                }
            };
            report(commit, looked, wave, *json)
        }
        Command::Weaker { base, head, json } => {
            let (head, tip, base) = sides(&repo, head, base.as_deref())?;
            weaker::run(&repo, &check::policy_at(&repo, &tip)?, (base, head), *json)
        }
        Command::Heal { reason, branch, json } => heal::run(reason, branch.as_deref(), *json).await,
        Command::Items { paths, at, json } => items::run(&repo, paths, check::revision(&repo, at)?, *json),
    }
}

/// The commit, the tip that it goes to, and where it began.
fn sides(repo: &LocalRepo, rev: &str, base: Option<&str>) -> anyhow::Result<(CommitId, CommitId, CommitId)> {
    let head = check::revision(repo, rev)?;
    let tip = match base {
        Some(base) => check::revision(repo, base)?,
        None => check::default_tip(repo)?,
    };
    let base = repo.merge_base(&tip, &head)?.context("the commit and its base share no history")?;
    Ok((head, tip, base))
}

fn freeze(head: &CommitId, manifest: &Manifest, file: Option<&Path>, json: bool) -> anyhow::Result<Exit> {
    let sealed = manifest.seal().map_err(|why| anyhow::anyhow!("nothing is frozen: {why}"))?;
    let Some(file) = file else {
        out::raw(&format!("{}\n", sealed.text))?;
        return Ok(Exit::Fine);
    };
    let name = out::plain(&file.display().to_string());
    std::fs::write(file, format!("{}\n", sealed.text)).with_context(|| format!("can't write {name}"))?;
    let count = |kind| manifest.count(kind);
    let froze = Froze {
        schema: "phasegate/freeze@1",
        commit: head.clone(),
        manifest: sealed.digest,
        tests: count(Kind::Test),
        contracts: count(Kind::Contract),
        meaning: count(Kind::Meaning),
        locks: count(Kind::Lock),
        inside: manifest.within(),
        out: name,
    };
    if json {
        out::json(&froze)?;
    } else {
        out::text(&format!(
            "{} of {}: tests {}, contracts {}, files that give a run its meaning {}, lock files {}, source files with tests inside {}.\n{} has the manifest {}.\n",
            "FROZEN".bold(),
            head.short(),
            froze.tests,
            froze.contracts,
            froze.meaning,
            froze.locks,
            froze.inside,
            froze.out,
            froze.manifest.short(),
        ))?;
    }
    Ok(Exit::Fine)
}

/// A manifest and its digest; none where there is no such file.
type Found = Result<(Manifest, Digest), String>;

fn from_file(file: &Path) -> anyhow::Result<Found> {
    let name = out::plain(&file.display().to_string());
    let size = match std::fs::metadata(file) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Err(format!("There is no manifest {name}.")));
        }
        Err(error) => return Err(error).with_context(|| format!("can't read {name}")),
    };
    if size > LONGEST as u64 {
        bail!("{name} has {size} bytes; a manifest has at most {LONGEST}");
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("can't read {name}"))?;
    let manifest = Manifest::parse(&text).map_err(|why| anyhow::anyhow!("{name} is no manifest: {why}"))?;
    let digest = manifest.seal().map_err(|why| anyhow::anyhow!("{name} is no manifest: {why}"))?.digest;
    Ok(Ok((manifest, digest)))
}

/// The manifest that holds for a change by its own records, and the files that a person has accepted beside it.
async fn from_ledger(number: u64, branch: &str, keys: &[PathBuf]) -> anyhow::Result<(Found, Accepted)> {
    let advisory = branch.ends_with(ADVISORY);
    let keys = if advisory { Keys::default() } else { replay::some_keys(keys)? };
    let ring: &dyn KeyRing = if advisory { &Unsigned } else { &keys };
    let store = replay::store(Path::new("."), branch)?;
    let (change, folder) = replay::find(number, &store).await?;
    let Some(repo) = replay::claimed_repository(&folder.files) else {
        bail!("the ledger on {} has no records of change {change}", out::plain(branch));
    };
    let proven = chain::prove(repo, change, &folder.files, ring, chain::From::Beginning).map_err(|broken| {
        anyhow::anyhow!("the records of {change} can't be proved ({broken}); `phasegate replay {}` says more", change.0)
    })?;
    let Some(state) = proven.state else { bail!("the ledger has no records of change {change}") };
    let Some(frozen) = &state.frozen else {
        return Ok((Err(format!("Nothing of {change} is frozen.")), state.accepted));
    };
    let text = store.file(&manifest_path(frozen.of, &frozen.manifest)).await.context("can't read the ledger")?;
    let found = match text {
        Some(text) => Manifest::open(&text, &frozen.manifest)
            .map(|manifest| (manifest, frozen.manifest.clone()))
            .map_err(|why| format!("The manifest of record {} can't be used: {why}.", frozen.record)),
        None => Err(format!("The manifest that record {} names is not on the ledger.", frozen.record)),
    };
    Ok((found, state.accepted))
}

/// What is held is what is committed. Whoever has changed more since should hear that.
fn warn_of_uncommitted(repo: &LocalRepo, frozen: Result<&(Manifest, Digest), &String>) -> anyhow::Result<()> {
    let Ok((manifest, _)) = frozen else { return Ok(()) };
    let all = manifest.files.keys().chain(manifest.inside.iter().flat_map(|inside| inside.keys()));
    let paths: Vec<String> = all.filter_map(|path| path.as_str().map(str::to_owned)).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    for path in repo.uncommitted(&paths)?.into_iter().take(10) {
        let warning = "warning:".yellow().to_string();
        out::complain(&format!(
            "{warning} {} has changes that are not committed, and so not looked at.\n",
            out::plain(&path)
        ));
    }
    Ok(())
}

const OR: &str =
    "or somebody who may approve, and neither wrote nor pushed to it, says `/refreeze REASON` on the pull request.";

/// What became of what was frozen.
#[derive(Default)]
struct Frozen {
    manifest: Option<Digest>,
    files: u64,
    findings: Vec<Finding>,
    /// Otherwise only the wave is looked at.
    asked: bool,
}

fn held(frozen: Found, scene: &Scene, accepted: &Accepted) -> Frozen {
    match frozen {
        Ok((manifest, digest)) => {
            let trips = hold(&manifest, scene, accepted);
            let findings = trips.iter().map(|trip| trip.finding(OR)).collect();
            Frozen { manifest: Some(digest), files: manifest.len() as u64, findings, asked: true }
        }
        Err(why) => {
            let next = "Take the manifest of the commit at which the tests were frozen: `phasegate guard freeze REV --out FILE`.";
            Frozen { findings: vec![Finding::error("tripwire_missing", why, next)], asked: true, ..Frozen::default() }
        }
    }
}

fn report(head: CommitId, frozen: Frozen, wave: Option<Vec<Finding>>, json: bool) -> anyhow::Result<Exit> {
    let Frozen { manifest, files, mut findings, asked } = frozen;
    let unchanged = unchanged(&findings, files);
    let beside = if wave.is_some() { "the wave" } else { "nothing held" };
    findings.extend(wave.into_iter().flatten());
    let verdict = verdict(&findings);
    if json {
        let findings = findings.into_iter().map(Told::from).collect();
        out::json(&Report { schema: "phasegate/guard@1", verdict, head, manifest, files, findings })?;
    } else {
        let what = if asked { format!("{unchanged} of {files} frozen files") } else { beside.to_owned() };
        let end = check::coloured(verdict);
        let mut text = String::new();
        let _ = writeln!(text, "{} {end} {what} at {}", "GUARD".bold(), head.short());
        text.push_str(&check::lines(&findings));
        out::text(&text)?;
    }
    Ok(Exit::found(verdict == Verdict::Fail))
}

/// How many are as they were. Of one file several tests may not be.
fn unchanged(findings: &[Finding], files: u64) -> u64 {
    let paths: std::collections::BTreeSet<&Option<String>> = findings.iter().map(|finding| &finding.path).collect();
    files.saturating_sub(paths.len() as u64)
}
