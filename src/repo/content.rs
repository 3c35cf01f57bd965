//! The identity of what is judged.

use std::collections::{BTreeMap, BTreeSet};

use globset::GlobSet;

use super::{Delta, Mode, Reader, RepoPath, Result};
use crate::ids::{BlobId, CommitId, Digest};

/// What the bot itself wrote, by path and blob, and what was there before: nothing, or another blob.
pub type Written = BTreeMap<(RepoPath, BlobId), Option<BlobId>>;

/// The content digest of a change: a hash over every path that differs from the merge base to the head, with its mode
/// and blob on both sides, and the policy's digest. The order of the deltas does not matter.
///
/// A rebase that changes nothing of the change keeps it. No path is left out; but a file that the bot itself wrote counts as what
/// was there before it did: `bot` are the paths and blobs that the ledger recorded. Both must agree, and it must be a plain
/// file. By the blob alone, whoever copies something the bot once wrote over a test would have changed nothing.
pub fn content_digest(deltas: &[Delta], policy: &Digest, bot: &Written) -> Digest {
    let mut counted: Vec<Delta> = deltas.iter().filter_map(|delta| before(bot, delta)).collect();
    counted.sort();
    let mut parts: Vec<Vec<u8>> = vec![b"phasegate/content@1".to_vec(), policy.as_str().into()];
    for delta in counted {
        parts.push(delta.path.as_bytes().to_vec());
        for side in [&delta.old, &delta.new] {
            // Always one part a side: an absent side is an empty part, which no present one can be.
            parts.push(side.as_ref().map_or(Vec::new(), |(mode, blob)| format!("{mode} {blob}").into_bytes()));
        }
    }
    Digest::of_parts(parts)
}

/// A change of a file, without what the bot made of it; none where that was all.
fn before(bot: &Written, delta: &Delta) -> Option<Delta> {
    let mut delta = delta.clone();
    if let Some((Mode::FILE, blob)) = &delta.new
        && let Some(own) = written_over(bot, &delta.path, blob)
    {
        delta.new = own.map(|blob| (Mode::FILE, blob));
        return (delta.old != delta.new).then_some(delta);
    }
    Some(delta)
}

/// What was there before the bot wrote this, however often it did; none where it did not.
pub fn written_over(bot: &Written, path: &RepoPath, blob: &BlobId) -> Option<Option<BlobId>> {
    let mut found = bot.get(&(path.clone(), blob.clone()))?;
    // As often as there is something to follow: two that were written over each other would lead round.
    for _ in 0..bot.len() {
        let Some(next) = found.as_ref().and_then(|blob| bot.get(&(path.clone(), blob.clone()))) else { break };
        found = next;
    }
    Some(found.clone())
}

/// The changes of files without those that are nothing but what the bot wrote.
pub fn without(deltas: Vec<Delta>, bot: &Written) -> Vec<Delta> {
    deltas.into_iter().filter(|delta| before(bot, delta).is_some()).collect()
}

/// What git names a file with this in it by.
pub fn blob_of(bytes: &[u8]) -> Option<BlobId> {
    let id = git2::Oid::hash_object(git2::ObjectType::Blob, bytes).ok()?;
    BlobId::new(id.to_string()).ok()
}

/// Every path that the change adds, changes or removes.
pub fn touched(deltas: &[Delta]) -> BTreeSet<RepoPath> {
    deltas.iter().map(|delta| delta.path.clone()).collect()
}

/// The paths that match the globs and are not the same in both commits: added, removed, changed in content or mode.
/// Empty means that all of them have the same blobs.
pub fn same_blobs(reader: &dyn Reader, a: &CommitId, b: &CommitId, globs: &GlobSet) -> Result<Vec<RepoPath>> {
    Ok(reader.diff(a, b)?.into_iter().map(|delta| delta.path).filter(|path| path.matches(globs)).collect())
}
