//! The attempts that a folder knows of, by what they were made on: whoever runs something else in between, and comes back, finds
//! them again.

use std::io::Read as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Artefact, Attempt, FILE, MOST_BYTES, PAGE, gone, put};
use crate::ids::{CommitId, Digest};
use crate::policy::RunGate;

/// The file in the artefact's folder.
const KNOWN: &str = "execution_log.earlier.json";
/// The contents of which they are kept, the newest.
const MOST_CONTENTS: usize = 100;

/// What attempts were made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    gate: RunGate,
    policy: Digest,
    head: CommitId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    #[serde(flatten)]
    key: Key,
    attempts: Vec<Attempt>,
}

/// Takes the artefact of an earlier run out of a folder, and notes it among the attempts that are known there. Says which those are of
/// this gate by this policy, on a commit that `is_content` holds for.
pub(super) fn put_aside(
    folder: &Path,
    gate: RunGate,
    policy: &Digest,
    is_content: impl Fn(&CommitId) -> bool,
) -> anyhow::Result<Vec<Attempt>> {
    let mut known: Vec<Known> =
        text(folder, KNOWN).and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    if let Some(this) = text(folder, FILE).and_then(|text| of(&text)) {
        known.retain(|one| one.key != this.key);
        known.push(this);
        known.drain(..known.len().saturating_sub(MOST_CONTENTS));
        put(folder, KNOWN, &serde_json::to_string(&known)?)?;
    }
    // Not before they are noted.
    gone(folder, FILE)?;
    gone(folder, PAGE)?;
    let same = |one: &Known| one.key.gate == gate && one.key.policy == *policy && is_content(&one.key.head);
    let mut attempts: Vec<Attempt> = known.into_iter().filter(same).flat_map(|one| one.attempts).collect();
    attempts.sort_by(|a, b| (a.executed_at, &a.log).cmp(&(b.executed_at, &b.log)));
    attempts.dedup();
    attempts.drain(..attempts.len().saturating_sub(super::log::MOST_ATTEMPTS));
    Ok(attempts)
}

fn text(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(folder.join(name)).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text)).ok()?;
    Some(text)
}

/// What a log says was attempted. None where nobody could run the same again.
fn of(text: &[u8]) -> Option<Known> {
    let artefact: Artefact = serde_json::from_slice(text).ok()?;
    let head = artefact.subject.head.clone().filter(|_| !artefact.subject.uncommitted)?;
    let key = Key { gate: artefact.gate, policy: artefact.policy.digest.clone(), head };
    Some(Known { key, attempts: artefact.into_attempts(text) })
}
