//! `phasegate audit`: every finished change of a ledger once more, by its records and by what is known of them from elsewhere.

mod known;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use serde::Serialize;

use self::known::Known;
use super::status::{self, Form, Place};
use super::{Exit, app, out, replay};
use crate::finding::Finding;
use crate::gate::audit::audit;
use crate::github::store::GitHubStore;
use crate::ids::{ChangeNumber, Digest, RepoId};
use crate::ledger::chain::{self, From, KeyRing};
use crate::ledger::record::{Body, Record};
use crate::ledger::store::Store;
use crate::ledger::unsigned::ADVISORY;
use crate::ledger::{Break, folder, manifest_path};

/// Check every finished change once more, by its records
///
/// Each record of a change is proven, and those of a merged one are held against what had to be: that the gate had passed for the
/// content that was merged, that what was frozen is known, that nobody accepted what nobody may. What is known from elsewhere, by
/// the history of the ledger's branch in a clone and by GitHub's own word with --github, must be on the ledger. Exits with 1 where
/// something is found. Whether changes that are open or were closed unmerged had to pass is not judged.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only these changes [default: all on the ledger]
    #[arg(value_parser = replay::number)]
    changes: Vec<u64>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    verdict: &'static str,
    ledger: String,
    /// Whether the signatures were held against a key.
    proven: bool,
    /// How many finished changes were looked at.
    audited: usize,
    /// How many are not finished. Their records are proven too.
    unfinished: usize,
    /// What was found, by change. Those without a finding are not listed.
    changes: BTreeMap<u64, Vec<Finding>>,
    /// What was not looked at, or can't be seen, and why.
    notes: Vec<String>,
    /// What was asked for, and has nothing to audit yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missed: Vec<String>,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let report = audited(args).await?;
    match args.form.json {
        true => out::json(&report)?,
        false => out::text(&told(&report))?,
    }
    let against = report.verdict == "FAIL";
    for missed in &report.missed {
        out::complain(&format!("error: {missed}\n"));
    }
    if !against && !report.missed.is_empty() {
        return Ok(Exit::Usage);
    }
    Ok(if report.ledger.ends_with(ADVISORY) && !against { Exit::Human } else { Exit::found(against) })
}

async fn audited(args: &Args) -> anyhow::Result<Report> {
    let Ledger { store, branch, repo, ring, proven, known } = open(args).await?;
    let advisory = branch.ends_with(ADVISORY);
    let mut report = Report {
        schema: "phasegate/audit@1",
        verdict: "PASS",
        ledger: branch,
        proven,
        audited: 0,
        unfinished: 0,
        changes: BTreeMap::new(),
        notes: Vec::new(),
        missed: Vec::new(),
    };
    let numbers = match args.changes.is_empty() {
        true => all(store.as_ref(), &known, &mut report).await?,
        false => args.changes.iter().copied().collect(),
    };
    for number in numbers {
        let change = ChangeNumber(number);
        let Looked { standing, mut found } = one(store.as_ref(), change, repo, ring.as_ref(), &known).await?;
        match standing {
            Standing::Finished => report.audited += 1,
            Standing::Unfinished => report.unfinished += 1,
            Standing::NotThere => {}
        }
        if found.is_empty() {
            match (standing, args.changes.is_empty()) {
                (Standing::Finished, _) | (Standing::Unfinished, true) => continue,
                (Standing::NotThere, true) => found.push(empty(change)),
                (Standing::Unfinished, false) => {
                    report.missed.push(format!(
                        "{change} is not finished, so there is nothing to audit yet; `phasegate status {number}` says where it stands"
                    ));
                    continue;
                }
                (Standing::NotThere, false) => {
                    let ledger = out::plain(&report.ledger);
                    report.missed.push(format!("the ledger on {ledger} has no records of {change}"));
                    continue;
                }
            }
        }
        report.changes.entry(number).or_default().extend(found);
    }
    if report.audited == 0 && report.changes.is_empty() && !report.missed.is_empty() {
        bail!("{}", report.missed.join("; "));
    }
    if report.changes.values().flatten().any(Finding::blocks) {
        report.verdict = "FAIL";
    }
    report.notes.extend(known.notes);
    if advisory {
        let note = "The ledger is advisory: anyone who can push a workflow could have written these records.";
        report.notes.push(note.to_owned());
    } else if !proven {
        let note = "Signatures were not looked at: give the App's key, public or private, with --key FILE.";
        report.notes.push(note.to_owned());
    }
    Ok(report)
}

/// What is audited.
struct Ledger {
    store: Box<dyn Store>,
    branch: String,
    /// The repository's id, where that is known.
    repo: Option<RepoId>,
    ring: Box<dyn KeyRing>,
    /// Whether that is keys.
    proven: bool,
    known: Known,
}

async fn open(args: &Args) -> anyhow::Result<Ledger> {
    let place = &args.place;
    let branches = status::branches(place);
    if let Some(slug) = &place.github {
        let (repo, id) = app::reader(slug).await?;
        for branch in branches {
            let store = GitHubStore::new(repo.clone(), &branch);
            if store.head().await.context("can't read the ledger")?.is_some() {
                let (ring, proven) = status::ring(place, branch.ends_with(ADVISORY))?;
                let known = Known::on_github(&repo, branch.ends_with(ADVISORY), &args.changes).await?;
                return Ok(Ledger { store: Box::new(store), branch, repo: Some(id), ring, proven, known });
            }
        }
        bail!("{slug} has no ledger");
    }
    let mut missing = None;
    for branch in branches {
        match replay::store(&place.repo, &branch) {
            Ok(store) => {
                let (ring, proven) = status::ring(place, branch.ends_with(ADVISORY))?;
                let known = Known::of_clone(&store, &branch, ring.as_ref()).await?;
                return Ok(Ledger { store: Box::new(store), branch, repo: None, ring, proven, known });
            }
            Err(error) => missing = missing.or(Some(error)),
        }
    }
    Err(missing.unwrap_or_else(|| anyhow::anyhow!("there is no ledger")))
}

/// Every change that has a folder, and every other one that something is known of. What is in no change's folder is told at once.
async fn all(store: &dyn Store, known: &Known, report: &mut Report) -> anyhow::Result<BTreeSet<u64>> {
    let root = store.names(&["changes".to_owned()]).await.context("can't read the ledger")?;
    let shards: Vec<String> = root.into_iter().flatten().map(|shard| format!("changes/{shard}")).collect();
    let mut numbers: BTreeSet<u64> = known.changes().map(|change| change.0).collect();
    // A page of folders at a time: a call has its limits.
    for some in shards.chunks(50) {
        let names = store.names(some).await.context("can't read the ledger")?;
        let within = |(shard, names): (&String, Vec<String>)| {
            let shard = shard.clone();
            names.into_iter().map(move |name| (format!("{shard}/{name}"), name.parse::<u64>()))
        };
        for (path, number) in some.iter().zip(names).flat_map(within) {
            match number {
                Ok(number) if folder(ChangeNumber(number)) == path => {
                    numbers.insert(number);
                }
                Ok(number) => {
                    report.changes.entry(number).or_default().push(out_of_place(ChangeNumber(number), path));
                }
                Err(_) => report.notes.push(format!("{path} is no change's folder, and was not looked at.")),
            }
        }
    }
    Ok(numbers)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Finished,
    Unfinished,
    /// The ledger has no record of it.
    NotThere,
}

/// What a look at a change brings.
struct Looked {
    standing: Standing,
    found: Vec<Finding>,
}

async fn one(
    store: &dyn Store,
    change: ChangeNumber,
    given: Option<RepoId>,
    ring: &dyn KeyRing,
    known: &Known,
) -> anyhow::Result<Looked> {
    let files = store.folder(&folder(change)).await.context("can't read the ledger")?.files;
    let Some(repo) = replay::claimed_repository(&files).map(|claimed| given.unwrap_or(claimed)) else {
        return Ok(Looked { standing: Standing::NotThere, found: known.against(change, None) });
    };
    let proven = match chain::prove(repo, change, &files, ring, From::Beginning) {
        Ok(proven) => proven,
        Err(broken) => {
            let found = [unproven(change, &broken)].into_iter().chain(known.undone(change)).collect();
            return Ok(Looked { standing: Standing::Finished, found });
        }
    };
    let judged = audit(&proven.records);
    let standing = if judged.is_some() { Standing::Finished } else { Standing::Unfinished };
    let mut found = judged.unwrap_or_default();
    if let Err(broken) = replay::hold_against_checkpoint(repo, change, &files, ring, &proven) {
        found.push(unproven(change, &broken));
    }
    found.extend(known.against(change, Some(&proven)));
    found.extend(lost_manifests(store, change, &proven.records).await?);
    Ok(Looked { standing, found })
}

fn unproven(change: ChangeNumber, broken: &Break) -> Finding {
    let says = format!("Its records can't be proved: {broken}.");
    let next = format!("`phasegate replay {}` locates what was altered, and says how to put it back.", change.0);
    Finding::error("malformed_gate_record", says, next).at(broken.path(change), None)
}

/// A folder that nobody reads: where the change's number says, there is another one or none.
fn out_of_place(change: ChangeNumber, path: String) -> Finding {
    let says = format!("{path} is not where its records are: nobody reads what is there.");
    let next = format!(
        "`git log -- {path}` on the ledger's branch shows the commit that made it. Revert that one; what {change} has on record is in \
         {}.",
        folder(change)
    );
    Finding::error("malformed_gate_record", says, next).at(path, None)
}

/// A change that has a folder, and of which nothing else is known.
fn empty(change: ChangeNumber) -> Finding {
    let path = folder(change);
    let next = format!(
        "`git log -- {path}` on the ledger's branch shows the commits that wrote there. Revert the one that took its records away, or \
         remove the folder if it never had any."
    );
    Finding::error("malformed_gate_record", "It has a folder and no records.", next).at(path, None)
}

/// Manifests that are not there as they were frozen: without one nobody can say what the tests were.
async fn lost_manifests(store: &dyn Store, change: ChangeNumber, records: &[Record]) -> anyhow::Result<Vec<Finding>> {
    let mut found = Vec::new();
    for record in records {
        let Body::Frozen { manifest, .. } = &record.body else { continue };
        let path = manifest_path(change, manifest);
        let there = store.file(&path).await.context("can't read the ledger")?;
        if there.is_none_or(|text| Digest::of(&text) != *manifest) {
            let says = format!("The manifest that record {} names is not there as it was written.", record.seq);
            let next =
                format!("`git log -p -- {path}` on the ledger's branch shows the commit that did it: revert that one.");
            found.push(Finding::error("tripwire_missing", says, next).at(path, None));
        }
    }
    Ok(found)
}

fn told(report: &Report) -> String {
    let mut text = String::new();
    let changes = |count: usize| if count == 1 { "1 change".to_owned() } else { format!("{count} changes") };
    let verdict = match report.verdict {
        "PASS" => "PASS".green().to_string(),
        _ => "FAIL".red().to_string(),
    };
    let _ = writeln!(
        text,
        "{verdict}: {} audited on {}, {} not finished",
        changes(report.audited),
        out::plain(&report.ledger),
        report.unfinished
    );
    for (number, found) in &report.changes {
        let _ = writeln!(text, "\n#{number}");
        for finding in found {
            let rule = match finding.blocks() {
                true => finding.rule.red().to_string(),
                false => finding.rule.yellow().to_string(),
            };
            let _ = writeln!(text, "  {rule}: {}\n    next: {}", out::plain(&finding.says), out::plain(&finding.next));
        }
    }
    for note in &report.notes {
        let _ = writeln!(text, "\nnote: {}", out::plain(note));
    }
    text
}

#[cfg(test)]
mod tests;
