//! Making and proving the chain.
//!
//! A file is the canonical JSON of `{"key", "record", "signature"}`. The signature is over the record's canonical
//! form, and so is the digest that the next record names. Someone who can write the branch but has no key can
//! therefore change nothing in the middle without breaking a signature, drop nothing without leaving a gap, swap
//! nothing without two records standing in the wrong place, and move nothing to another change. What they can do is
//! cut off the end: that shows by the [`Anchor`], which the bot keeps on the merge check, where only this App can write.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::fold::FoldError;
use super::record::{Prev, Record};
use super::state::State;
use super::unsigned::ADVISORY;
use super::{CHECKPOINT_FILE, file_name, folder};
use crate::ids::{ChangeNumber, Digest, RepoId};

/// Signs records. The App's key does.
pub trait Signer: Send + Sync {
    /// The digest of the public key.
    fn key(&self) -> Digest;
    fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, String>;
}

/// Knows public keys by their digest.
pub trait KeyRing: Send + Sync {
    /// `None`: the key is not known here.
    fn verify(&self, key: &Digest, bytes: &[u8], signature: &[u8]) -> Option<bool>;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Sealed<T> {
    key: Digest,
    record: T,
    signature: String,
}

/// A checkpoint of the fold: the state after its `seq` records. Signed like a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Checkpoint {
    schema: String,
    repo: RepoId,
    state: State,
}

const CHECKPOINT_SCHEMA: &str = "phasegate/checkpoint@1";

/// The newest record's number and digest, kept where only the bot can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    pub change: ChangeNumber,
    pub seq: u64,
    pub tip: Digest,
}

impl Anchor {
    /// The anchor of the newest record that says something of the change.
    pub fn newest(state: &State) -> Self {
        let (seq, tip) = state.newest();
        Self { change: state.change, seq, tip: tip.clone() }
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pg1:{}:{}:{}", self.change.0, self.seq, self.tip)
    }
}

impl std::str::FromStr for Anchor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("an anchor looks like pg1:CHANGE:SEQ:DIGEST, not like {text:?}");
        let mut parts = text.splitn(4, ':');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some("pg1"), Some(change), Some(seq), Some(tip)) => Ok(Self {
                change: ChangeNumber(change.parse().map_err(|_| wrong())?),
                seq: seq.parse().map_err(|_| wrong())?,
                tip: Digest::new(tip).map_err(|_| wrong())?,
            }),
            _ => Err(wrong()),
        }
    }
}

/// All anchors that a merge check carries. One commit may be the head of several pull requests, and has one check: each
/// of them keeps its anchor there, and leaves the others' as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Anchors(BTreeMap<ChangeNumber, Anchor>);

impl Anchors {
    /// Longer than this GitHub might not keep an `external_id`.
    const LONGEST: usize = 255;
    /// Longer than this a check run's text can't be, with what is around them.
    const LONGEST_TEXT: usize = 65_000;

    /// What of this text are anchors. Anything else is left out.
    pub fn read(text: &str) -> Self {
        let anchors = text.split(' ').filter_map(|part| part.parse::<Anchor>().ok());
        anchors.fold(Self::default(), |all, anchor| all.newest(Self(BTreeMap::from([(anchor.change, anchor)]))))
    }

    pub fn of(&self, change: ChangeNumber) -> Option<&Anchor> {
        self.0.get(&change)
    }

    /// Whose they are.
    pub fn changes(&self) -> impl Iterator<Item = ChangeNumber> + '_ {
        self.0.keys().copied()
    }

    /// The first of them, if there are any.
    pub fn first(&self) -> Option<&Anchor> {
        self.0.values().next()
    }

    /// These, with the others', of each change the one with more records.
    #[must_use]
    pub fn newest(mut self, others: Self) -> Self {
        for anchor in others.0.into_values() {
            if self.of(anchor.change).is_none_or(|known| known.seq < anchor.seq) {
                self.0.insert(anchor.change, anchor);
            }
        }
        self
    }

    /// These, with the newer ones of the others.
    #[must_use]
    pub fn with(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// As many as an `external_id` has room for: this change's, then those with the highest numbers. Sorted, so that whoever
    /// writes the same writes it alike.
    pub fn in_short(&self, change: ChangeNumber) -> String {
        self.fitting(change, Self::LONGEST)
    }

    /// As many as a check run's text has room for, some eight hundred: those with the highest numbers.
    pub fn in_full(&self) -> String {
        self.fitting(ChangeNumber(0), Self::LONGEST_TEXT)
    }

    fn fitting(&self, first: ChangeNumber, longest: usize) -> String {
        let (mut taken, mut length) = (BTreeMap::new(), 0);
        let others = self.0.values().rev().filter(|anchor| anchor.change != first);
        for anchor in self.of(first).into_iter().chain(others) {
            let written = anchor.to_string();
            length += written.len() + 1;
            if length > longest + 1 {
                break;
            }
            taken.insert(anchor.change, written);
        }
        taken.into_values().collect::<Vec<_>>().join(" ")
    }

    /// Whether more than one change has its anchor here.
    pub fn shared(&self) -> bool {
        self.0.len() > 1
    }
}

impl std::str::FromStr for Anchors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(' ').try_fold(Self::default(), |all, part| {
            let anchor: Anchor = part.parse()?;
            Ok(all.with(Self(BTreeMap::from([(anchor.change, anchor)]))))
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakKind {
    /// Its text is not what was signed.
    Altered,
    /// It is missing between others.
    Dropped,
    /// It stands in another's place.
    Reordered,
    /// It and all after it are missing.
    CutOff,
    /// It was signed with a key that is not this App's.
    UnknownKey,
    /// It belongs to another change or repository.
    Foreign,
    /// It is signed and in its place, but the law does not allow it.
    Unlawful,
}

/// Where the chain breaks, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("record {seq}: {says}")]
pub struct Break {
    pub seq: u64,
    pub kind: BreakKind,
    pub says: String,
}

impl Break {
    fn new(seq: u64, kind: BreakKind, says: impl Into<String>) -> Self {
        Self { seq, kind, says: says.into() }
    }
}

impl Break {
    /// The file that it is about. A broken checkpoint has no number: records start at 1.
    pub fn path(&self, change: ChangeNumber) -> String {
        let file = if self.seq == 0 { CHECKPOINT_FILE.to_owned() } else { file_name(self.seq) };
        format!("{}/{file}", folder(change))
    }

    /// How to put it right. Nobody is told to move the branch back: other changes have recorded on it since.
    pub fn mend(&self, change: ChangeNumber, branch: &str) -> String {
        let path = self.path(change);
        // A workflow's token could not get past a ruleset.
        let protect = match branch.ends_with(ADVISORY) {
            true => "Nobody but Phasegate has anything to write there.",
            false => "Then let only the App write the branch (a ruleset).",
        };
        match self.kind {
            BreakKind::Altered | BreakKind::Dropped | BreakKind::Reordered | BreakKind::Foreign => format!(
                "`git log -p {branch} -- {path}` shows the commit that did it. Revert that one commit on {branch}; \
                 moving the branch back would take away what other changes have recorded since. {protect}"
            ),
            BreakKind::CutOff => format!(
                "`git log {branch} -- {folder}` shows the commit that took the records away, if one did: revert that \
                 one. If the branch was rewound, find the lost commit in another clone or in the branch's activity \
                 on GitHub, and bring back this change's files and the index alone: `git checkout LOST -- {folder} origins`, \
                 commit, push.",
                folder = folder(change)
            ),
            BreakKind::UnknownKey => {
                "If the App's key was changed, the old key's public half proves what it signed: a \
                                      server takes it by `PREVIOUS_KEYS_PATH`, the Action by its input \
                                      `previous-keys`. If the App never had that key, somebody else wrote the record: \
                                      revert the one commit that did."
                    .to_owned()
            }
            BreakKind::Unlawful => "It is signed, so either another version of Phasegate wrote it, or the App's key \
                                    is in wrong hands: compare with the version that runs, and if that is not it, \
                                    change the key."
                .to_owned(),
        }
    }
}

/// The canonical form, or why the value has none that is the same everywhere.
pub fn canonical<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    let value = serde_json::to_value(value).map_err(|e| e.to_string())?;
    exact(&value)?;
    serde_json_canonicalizer::to_vec(&value).map_err(|e| e.to_string())
}

/// RFC 8785 writes numbers as doubles: an integer above 2^53 would silently become another, and floats invite
/// differences between implementations. Neither belongs in a record.
fn exact(value: &serde_json::Value) -> Result<(), String> {
    match value {
        serde_json::Value::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) if n <= 1 << 53 => Ok(()),
            (None, Some(n)) if n >= -(1 << 53) => Ok(()),
            _ => Err(format!("{n} is not an integer within 2^53")),
        },
        serde_json::Value::Array(items) => items.iter().try_for_each(exact),
        serde_json::Value::Object(fields) => fields.values().try_for_each(exact),
        _ => Ok(()),
    }
}

fn seal<T: Serialize>(value: &T, signer: &dyn Signer) -> Result<(Vec<u8>, Digest), String> {
    let text = canonical(value)?;
    let signature = BASE64.encode(signer.sign(&text)?);
    let sealed = Sealed { key: signer.key(), record: value, signature };
    Ok((canonical(&sealed)?, Digest::of(&text)))
}

/// A record's file, and the digest that the next one follows.
pub fn seal_record(record: &Record, signer: &dyn Signer) -> Result<(Vec<u8>, Digest), String> {
    seal(record, signer)
}

/// A checkpoint's file.
pub fn seal_checkpoint(repo: RepoId, state: &State, signer: &dyn Signer) -> Result<Vec<u8>, String> {
    let checkpoint = Checkpoint { schema: CHECKPOINT_SCHEMA.to_owned(), repo, state: state.clone() };
    Ok(seal(&checkpoint, signer)?.0)
}

fn open<T: Serialize + for<'a> Deserialize<'a>>(
    seq: u64,
    text: &str,
    keys: &dyn KeyRing,
) -> Result<(T, Digest), Break> {
    let altered = |says: &str| Break::new(seq, BreakKind::Altered, says);
    // What became a link has the text of where it leads.
    if !text.starts_with('{') {
        return Err(altered("it is no record any more: the file was replaced, or became a link"));
    }
    let sealed: Sealed<T> = serde_json::from_str(text).map_err(|e| altered(&format!("it can't be read: {e}")))?;
    let whole = canonical(&sealed).map_err(|e| altered(&e))?;
    if whole != text.as_bytes() {
        return Err(altered("its text is not in canonical form, so it is not the text that was written"));
    }
    let body = canonical(&sealed.record).map_err(|e| altered(&e))?;
    let signature = BASE64.decode(&sealed.signature).map_err(|_| altered("its signature can't be read"))?;
    match keys.verify(&sealed.key, &body, &signature) {
        Some(true) => Ok((sealed.record, Digest::of(&body))),
        Some(false) => Err(altered("its text is not what was signed")),
        None => Err(Break::new(
            seq,
            BreakKind::UnknownKey,
            format!("it is signed with a key that is not known here (key id {})", sealed.key.short()),
        )),
    }
}

/// A record's file by itself, whatever stands around it: the record, if it was signed and is that of this place.
pub fn alone(change: ChangeNumber, seq: u64, text: &str, keys: &dyn KeyRing) -> Result<Record, Break> {
    let (record, _) = open::<Record>(seq, text, keys)?;
    match record.change == change && record.seq == seq {
        true => Ok(record),
        false => {
            Err(Break::new(seq, BreakKind::Foreign, format!("record {} of {} stands here", record.seq, record.change)))
        }
    }
}

/// What a proven chain says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proven {
    pub state: Option<State>,
    /// The records that were read: all of them, or those after the checkpoint.
    pub records: Vec<Record>,
}

/// Where to start proving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Every record, from the first.
    Beginning,
    /// The newest checkpoint, if there is one: a cold read stays short however old the change is.
    Checkpoint,
}

/// Proves the files of a change's folder, and folds them.
pub fn prove(
    repo: RepoId,
    change: ChangeNumber,
    files: &BTreeMap<String, String>,
    keys: &dyn KeyRing,
    from: From,
) -> Result<Proven, Break> {
    let mut numbers: Vec<u64> = files
        .keys()
        .filter_map(|name| Some((name, name.strip_suffix(".json")?.parse::<u64>().ok()?)))
        // A number has one spelling: `+001.json` or `00001.json` is a stray file, and no way to stand in for a record.
        .filter(|(name, number)| **name == file_name(*number))
        .map(|(_, number)| number)
        .collect();
    numbers.sort_unstable();

    let mut state: Option<State> = None;
    if let (From::Checkpoint, Some(text)) = (from, files.get(CHECKPOINT_FILE)) {
        let (checkpoint, _) = open::<Checkpoint>(0, text, keys)
            .map_err(|broken| Break { says: format!("the checkpoint is broken: {}", broken.says), ..broken })?;
        if checkpoint.repo != repo || checkpoint.state.change != change {
            return Err(Break::new(0, BreakKind::Foreign, "the checkpoint belongs to another change"));
        }
        state = Some(checkpoint.state);
    }

    let start = state.as_ref().map_or(0, |state| state.seq);
    let mut records = Vec::new();
    for (expected, number) in (start + 1..).zip(numbers.into_iter().filter(|number| *number > start)) {
        if number != expected {
            return Err(Break::new(
                expected,
                BreakKind::Dropped,
                format!("it is missing; the next one there is {number}"),
            ));
        }
        let (record, digest) = open::<Record>(number, &files[&file_name(number)], keys)?;
        if record.repo != repo || record.change != change {
            return Err(Break::new(
                number,
                BreakKind::Foreign,
                format!("it belongs to change {} of repository {}", record.change, record.repo.0),
            ));
        }
        if record.seq != number {
            return Err(Break::new(number, BreakKind::Reordered, format!("record {} stands in its place", record.seq)));
        }
        let follows = match &state {
            None => record.prev == Prev::Begins { repo, change },
            Some(state) => record.prev == Prev::Follows(state.tip.clone()),
        };
        if !follows {
            return Err(Break::new(
                number,
                BreakKind::Altered,
                "it does not follow from the record before it, so one of the two was replaced",
            ));
        }
        state = Some(State::fold(state, &record, digest).map_err(|error| unlawful(number, &error))?);
        records.push(record);
    }
    Ok(Proven { state, records })
}

fn unlawful(seq: u64, error: &FoldError) -> Break {
    Break::new(seq, BreakKind::Unlawful, error.to_string())
}

/// Holds a proven chain against the anchor that was kept elsewhere.
pub fn hold_against(proven: &Proven, anchor: &Anchor) -> Result<(), Break> {
    let state = proven.state.as_ref();
    let newest = state.map_or(0, |state| state.seq);
    if newest < anchor.seq {
        return Err(Break::new(
            newest + 1,
            BreakKind::CutOff,
            format!("it and all after it are missing; the merge check was made when there were {}", anchor.seq),
        ));
    }
    if newest == anchor.seq && state.is_some_and(|state| state.tip != anchor.tip) {
        return Err(rewritten(anchor.seq));
    }
    // An older anchor names a record in the middle: what follows it says what it was.
    let after = proven.records.iter().find(|record| record.seq == anchor.seq + 1);
    if after.is_some_and(|record| record.prev != Prev::Follows(anchor.tip.clone())) {
        return Err(rewritten(anchor.seq));
    }
    Ok(())
}

fn rewritten(seq: u64) -> Break {
    Break::new(seq, BreakKind::Altered, "it is not the record that the merge check was made on")
}
