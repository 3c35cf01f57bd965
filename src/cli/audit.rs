//! `phasegate audit`: every finished change of a ledger once more, by its records alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use serde::Serialize;

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
use crate::ledger::{folder, manifest_path};

/// Check every finished change once more, by its records
///
/// Each record of a merged change is proven and held against what had to be: that the gate had passed for the content that was
/// merged, that what was frozen is known, that nobody accepted what nobody may. Exits with 1 where something is found. Changes that
/// are open or were closed unmerged are counted, not judged.
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
    /// How many are not finished.
    unfinished: usize,
    /// What was found, by change. Those without a finding are not listed.
    changes: BTreeMap<u64, Vec<Finding>>,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let (store, branch, given) = open(&args.place).await?;
    let advisory = branch.ends_with(ADVISORY);
    let (ring, proven) = status::ring(&args.place, advisory)?;
    let numbers = match args.changes.is_empty() {
        true => numbers(store.as_ref()).await?,
        false => args.changes.iter().copied().collect(),
    };
    let mut report = Report {
        schema: "phasegate/audit@1",
        verdict: "PASS",
        ledger: branch.clone(),
        proven,
        audited: 0,
        unfinished: 0,
        changes: BTreeMap::new(),
    };
    for number in numbers {
        match one(store.as_ref(), ChangeNumber(number), given, ring.as_ref()).await? {
            None if args.changes.is_empty() => report.unfinished += 1,
            None => bail!(
                "#{number} is not finished, so there is nothing to audit yet; `phasegate status {number}` says where it stands"
            ),
            Some(found) => {
                report.audited += 1;
                if !found.is_empty() {
                    report.changes.insert(number, found);
                }
            }
        }
    }
    let against = report.changes.values().flatten().any(Finding::blocks);
    if against {
        report.verdict = "FAIL";
    }
    match args.form.json {
        true => out::json(&report)?,
        false => out::text(&told(&report, advisory))?,
    }
    Ok(if advisory && !against { Exit::Human } else { Exit::found(against) })
}

/// The ledger, the branch that it is on, and the repository's id where that is known.
async fn open(place: &Place) -> anyhow::Result<(Box<dyn Store>, String, Option<RepoId>)> {
    let branches = status::branches(place);
    if let Some(slug) = &place.github {
        let (repo, id) = app::reader(slug).await?;
        for branch in branches {
            let store = GitHubStore::new(repo.clone(), &branch);
            if store.head().await.context("can't read the ledger")?.is_some() {
                return Ok((Box::new(store), branch, Some(id)));
            }
        }
        bail!("{slug} has no ledger");
    }
    let mut missing = None;
    for branch in branches {
        match replay::store(&place.repo, &branch) {
            Ok(store) => return Ok((Box::new(store), branch, None)),
            Err(error) => missing = missing.or(Some(error)),
        }
    }
    Err(missing.unwrap_or_else(|| anyhow::anyhow!("there is no ledger")))
}

/// Every change that has records.
async fn numbers(store: &dyn Store) -> anyhow::Result<BTreeSet<u64>> {
    let root = store.names(&["changes".to_owned()]).await.context("can't read the ledger")?;
    let shards: Vec<String> = root.into_iter().flatten().map(|shard| format!("changes/{shard}")).collect();
    let mut found = BTreeSet::new();
    // A page of folders at a time: a call has its limits.
    for some in shards.chunks(50) {
        let names = store.names(some).await.context("can't read the ledger")?;
        let known = some.iter().zip(names).flat_map(|(shard, names)| names.into_iter().map(move |name| (shard, name)));
        found.extend(known.filter_map(|(shard, name)| {
            let number: u64 = name.parse().ok()?;
            (folder(ChangeNumber(number)) == format!("{shard}/{name}")).then_some(number)
        }));
    }
    Ok(found)
}

/// What is found of a change; none where it is not finished.
async fn one(
    store: &dyn Store,
    change: ChangeNumber,
    given: Option<RepoId>,
    ring: &dyn KeyRing,
) -> anyhow::Result<Option<Vec<Finding>>> {
    let files = store.folder(&folder(change)).await.context("can't read the ledger")?.files;
    let Some(repo) = given.or_else(|| replay::claimed_repository(&files)) else {
        bail!("the ledger has no records of {change}");
    };
    let proven = match chain::prove(repo, change, &files, ring, From::Beginning) {
        Ok(proven) => proven,
        Err(broken) => {
            let says = format!("Its records can't be proved: {broken}.");
            let next =
                format!("`phasegate replay {}` locates what was altered, and says how to put it back.", change.0);
            return Ok(Some(vec![Finding::error("malformed_gate_record", says, next).at(broken.path(change), None)]));
        }
    };
    let Some(mut found) = audit(&proven.records) else { return Ok(None) };
    found.extend(lost_manifests(store, change, &proven.records).await?);
    Ok(Some(found))
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

fn told(report: &Report, advisory: bool) -> String {
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
    if advisory {
        text.push_str(
            "\nnote: The ledger is advisory: anyone who can push a workflow could have written these records.\n",
        );
    } else if !report.proven {
        text.push_str(
            "\nnote: Signatures were not looked at: give the App's key, public or private, with --key FILE.\n",
        );
    }
    text
}
