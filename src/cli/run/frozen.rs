//! What is frozen of the change that is run, as far as it is known here.
//!
//! A job has no key of the App's, so the ledger's branch is taken as it stands. Who could write there, which a ruleset keeps for the App,
//! could have less taken away; what holds the frozen files themselves is the tripwire, which is judged elsewhere and with the key.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use crate::cli::{out, replay};
use crate::guard::Manifest;
use crate::guard::manifest::LONGEST;
use crate::guard::set::{self, Added};
use crate::ids::{ChangeNumber, CommitId, Digest};
use crate::ledger::{KeyRing, alias_path, chain, folder, manifest_path};
use crate::repo::{self, Filter, Laid, LocalRepo, Reader as _, RepoPath};

/// Takes every signature for one.
struct AsItStands;

impl KeyRing for AsItStands {
    fn verify(&self, _: &Digest, _: &[u8], _: &[u8]) -> Option<bool> {
        Some(true)
    }
}

/// The manifest in a file.
pub(super) fn in_file(file: &Path) -> anyhow::Result<Manifest> {
    let name = out::plain(&file.display().to_string());
    let text = std::fs::read_to_string(file).with_context(|| format!("can't read the manifest {name}"))?;
    Manifest::parse(&text).map_err(|why| anyhow::anyhow!("{name} is no manifest: {why}"))
}

/// The newest manifest of a change on the ledger's branch here. None where there is no such branch, or nothing is frozen.
pub(super) fn on_ledger(repo: &LocalRepo, change: u64, branch: &str) -> anyhow::Result<Option<Manifest>> {
    let names = [format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")];
    let mut at = None;
    for name in &names {
        at = at.or(repo.resolve(name)?);
    }
    let Some(at) = at else { return Ok(None) };
    let text = |path: &str| -> anyhow::Result<Option<String>> {
        let blob = repo.blob(&at, &RepoPath::from(path))?;
        Ok(blob.and_then(|blob| String::from_utf8(blob.bytes).ok()).filter(|text| text.len() <= LONGEST))
    };
    let mut change = ChangeNumber(change);
    let mut files = records(repo, &at, change)?;
    if files.is_empty()
        && let Some(home) = text(&alias_path(change.0))?.and_then(|home| home.trim().parse().ok())
    {
        change = ChangeNumber(home);
        files = records(repo, &at, change)?;
    }
    let Some(id) = replay::claimed_repository(&files) else { return Ok(None) };
    let proven = chain::prove(id, change, &files, &AsItStands, chain::From::Beginning)
        .map_err(|broken| anyhow::anyhow!("the records of {change} can't be read: {broken}"))?;
    let Some(frozen) = proven.state.and_then(|state| state.frozen) else { return Ok(None) };
    let found = text(&manifest_path(frozen.of, &frozen.manifest))?;
    let found = found.with_context(|| format!("the manifest that record {} names is not there", frozen.record))?;
    Manifest::open(&found, &frozen.manifest).map(Some).map_err(anyhow::Error::msg)
}

/// The files in a change's folder, by their names; none of those in folders below it.
fn records(repo: &LocalRepo, at: &CommitId, change: ChangeNumber) -> anyhow::Result<BTreeMap<String, String>> {
    let folder = folder(change);
    let below = format!("{folder}/");
    let mut files = BTreeMap::new();
    for entry in repo.tree(at, Filter::Under(&RepoPath::from(folder.as_str())))? {
        let name = entry.path.as_str().and_then(|path| path.strip_prefix(&below)).filter(|name| !name.contains('/'));
        let Some(name) = name.map(str::to_owned) else { continue };
        let text = repo.blob(at, &entry.path)?.and_then(|blob| String::from_utf8(blob.bytes).ok());
        files.extend(text.map(|text| (name, text)));
    }
    Ok(files)
}

/// What is taken away so that what is frozen is asked by itself: files of tests of the head that neither the freeze nor the base has.
/// One that is part of a program only where its code names it stays: without it that would not compile, and it can do no more than
/// the code.
pub(super) fn later(
    repo: &LocalRepo,
    manifest: &Manifest,
    (base, head): (&CommitId, &CommitId),
    added: &Added,
) -> repo::Result<Vec<Laid>> {
    let came = |delta: &repo::Delta| {
        delta.old.is_none()
            && delta.new.is_some()
            && set::is_among_tests(&delta.path, added)
            && !set::may_hold_tests(&delta.path)
            && !manifest.files.contains_key(&delta.path)
    };
    let deltas = repo.diff(base, head)?;
    Ok(deltas.into_iter().filter(came).map(|delta| Laid { path: delta.path, file: None }).collect())
}
