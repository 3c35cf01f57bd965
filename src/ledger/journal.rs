//! Reading and appending for one repository.
//!
//! Several changes are worked on at once, and each append is a commit on the same branch. So appends are grouped:
//! whoever gets to commit takes along everything that is waiting. The races, and what is done about each:
//!
//! - *the branch moved, but not in this change's folder*: the same records are appended again on the new head;
//! - *it moved inside the folder* (another replica decided for the same change): the append fails with
//!   [`LedgerError::Moved`], and the caller reads again and decides again;
//! - *nobody knows whether the commit happened* (a time-out): the folder is read; if the records stand there, it did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::chain::{self, Anchor, Break, KeyRing, Proven, Signer};
use super::escalation::Escalation;
use super::fold::FoldError;
use super::origin;
use super::record::{About, Body, By, Prev, Record};
use super::state::State;
use super::store::{NewFile, Store, StoreError};
use super::{
    CHECKPOINT_EVERY, CHECKPOINT_FILE, alias_path, change_record, context_path, escalation_path, evidence_page,
    file_name, folder, log_path, manifest_path, snapshot, snapshot_path,
};
use crate::ids::{ChangeNumber, CommitId, Digest, RepoId};

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("the ledger's chain is broken at {0}")]
    Broken(#[from] Break),
    /// Another writer was faster, on the same change. Read and decide again.
    #[error("the change moved on while this was decided")]
    Moved,
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine asked for something that the fold refuses: a bug, caught before it is written.
    #[error("a decision that does not follow: {0}")]
    Unlawful(#[from] FoldError),
    #[error("a record can't be written: {0}")]
    Unwritable(String),
}

/// A change as it is on the ledger.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub change: ChangeNumber,
    /// `None`: the change has not begun.
    pub state: Option<State>,
    /// The branch's head that it was read at.
    pub head: Option<CommitId>,
    /// The records since the checkpoint, which `state` was folded from.
    pub records: Vec<Record>,
    /// The files of the records before it, as they were read: nothing but a page is made of them.
    pub earlier: BTreeMap<String, String>,
}

/// Makes the page of a change, which is written beside its records, in their commit.
pub trait Pages: Send + Sync {
    /// Of the state, and of the records that it is known by, the oldest first: all, or the newest of them.
    fn page(&self, state: &State, records: &[Record]) -> String;

    /// The change record, once the change is through its exit.
    fn record(&self, state: &State) -> Option<String>;

    /// The artefact of the escalation that is open, from the same.
    fn escalation(&self, _repo: RepoId, _state: &State, _records: &[Record]) -> Option<String> {
        None
    }
}

/// So many records before the checkpoint are proven again for a page. A change with more has only its newest on it.
const MOST_EARLIER: usize = 1_000;

/// What an append came to.
#[derive(Debug, Clone)]
pub struct Appended {
    pub state: State,
    pub commit: CommitId,
    records: Vec<Record>,
    earlier: BTreeMap<String, String>,
}

impl Appended {
    /// The change as it is now, to append to again.
    pub fn loaded(self) -> Loaded {
        let Self { state, commit, records, earlier } = self;
        Loaded { change: state.change, state: Some(state), head: Some(commit), records, earlier }
    }
}

/// One body with whom it is due to and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub by: By,
    pub about: Option<About>,
    pub body: Body,
    /// The text of the file that the body names by its digest. It goes into the same commit.
    pub file: Option<Arc<str>>,
}

impl Entry {
    pub fn new(by: By, about: Option<About>, body: Body) -> Self {
        Self { by, about, body, file: None }
    }
}

struct Waiting {
    change: ChangeNumber,
    /// The newest record that these follow, and the head at which it was the newest.
    after: u64,
    seen_at: Option<CommitId>,
    files: Vec<NewFile>,
    done: oneshot::Sender<Result<CommitId, LedgerError>>,
}

pub struct Ledger {
    repo: RepoId,
    store: Arc<dyn Store>,
    signer: Arc<dyn Signer>,
    keys: Arc<dyn KeyRing>,
    pages: Option<Arc<dyn Pages>>,
    waiting: Mutex<Vec<Waiting>>,
    /// Held while committing.
    committing: tokio::sync::Mutex<Lineage>,
}

/// The commits that this process made in an unbroken row, each with the changes it was about. It tells, without a
/// call, that a change read at one of these heads is still the same at the newest.
#[derive(Default)]
struct Lineage(Vec<(Option<CommitId>, BTreeSet<ChangeNumber>)>);

impl Lineage {
    const KEPT: usize = 256;

    fn head(&self) -> Option<&Option<CommitId>> {
        self.0.last().map(|(head, _)| head)
    }

    fn restart(&mut self, head: Option<CommitId>) {
        self.0 = vec![(head, BTreeSet::new())];
    }

    fn grow(&mut self, head: CommitId, about: BTreeSet<ChangeNumber>) {
        self.0.push((Some(head), about));
        if self.0.len() > Self::KEPT {
            self.0.remove(0);
        }
    }

    /// Whether a change that was read at that head is known not to have moved since.
    fn unmoved(&self, change: ChangeNumber, since: &Option<CommitId>) -> bool {
        match self.0.iter().position(|(head, _)| head == since) {
            Some(at) => self.0[at + 1..].iter().all(|(_, about)| !about.contains(&change)),
            None => false,
        }
    }
}

/// How often a commit is tried on a new head before the work is put back.
const TRIES: usize = 8;

impl Ledger {
    pub fn new(repo: RepoId, store: Arc<dyn Store>, signer: Arc<dyn Signer>, keys: Arc<dyn KeyRing>) -> Self {
        let (waiting, committing) = (Mutex::new(Vec::new()), tokio::sync::Mutex::new(Lineage::default()));
        Self { repo, store, signer, keys, pages: None, waiting, committing }
    }

    /// The same, with a page of each change beside its records.
    #[must_use]
    pub fn with_pages(self, pages: Arc<dyn Pages>) -> Self {
        Self { pages: Some(pages), ..self }
    }

    /// Reads a change, proving its chain from the newest checkpoint.
    pub async fn load(&self, change: ChangeNumber) -> Result<Loaded, LedgerError> {
        let read = self.store.folder(&folder(change)).await?;
        let proven = chain::prove(self.repo, change, &read.files, self.keys.as_ref(), chain::From::Checkpoint)?;
        let newest = proven.state.as_ref().map_or(0, |state| state.seq);
        let before = newest - proven.records.len() as u64;
        let number = |name: &str| name.strip_suffix(".json").and_then(|number| number.parse::<u64>().ok());
        let earlier = read.files.into_iter().filter(|(name, _)| number(name).is_some_and(|number| number <= before));
        let earlier = earlier.collect();
        Ok(Loaded { change, state: proven.state, head: read.head, records: proven.records, earlier })
    }

    /// Proves a change's chain from its first record.
    pub async fn prove(&self, change: ChangeNumber) -> Result<Proven, LedgerError> {
        let read = self.store.folder(&folder(change)).await?;
        Ok(chain::prove(self.repo, change, &read.files, self.keys.as_ref(), chain::From::Beginning)?)
    }

    /// The text of a manifest that a record of this change names, if it is still there.
    pub async fn manifest(&self, change: ChangeNumber, manifest: &Digest) -> Result<Option<String>, LedgerError> {
        Ok(self.store.file(&manifest_path(change, manifest)).await?)
    }

    /// The text of a snapshot of this change, as it stands on the ledger. Whether it is what was written its blob tells.
    pub async fn snapshot(&self, change: ChangeNumber, iteration: u32) -> Result<Option<String>, LedgerError> {
        Ok(self.store.file(&snapshot_path(change, iteration)).await?)
    }

    /// The text of an execution log that a record of this change names, if it is still there.
    pub async fn log(&self, change: ChangeNumber, log: &Digest) -> Result<Option<String>, LedgerError> {
        Ok(self.store.file(&log_path(change, log)).await?)
    }

    /// Which change an issue or pull request belongs to, if that is written down.
    pub async fn alias(&self, number: u64) -> Result<Option<ChangeNumber>, LedgerError> {
        let text = self.store.file(&alias_path(number)).await?;
        Ok(text.and_then(|text| text.trim().parse().ok()).map(ChangeNumber))
    }

    /// Which change an issue belongs to by that change's own records: the alias only finds it.
    pub async fn linked_to(&self, issue: u64) -> Result<Option<ChangeNumber>, LedgerError> {
        let Some(change) = self.alias(issue).await?.filter(|change| change.0 != issue) else { return Ok(None) };
        let linked = match self.load(change).await {
            Ok(loaded) => loaded.state.is_some_and(|state| state.linked.contains(&issue)),
            Err(LedgerError::Broken(_)) => false,
            Err(error) => return Err(error),
        };
        Ok(linked.then_some(change))
    }

    /// Appends these entries to a change as it was loaded: all of them in one commit, or none.
    pub async fn append(
        &self,
        loaded: Loaded,
        at: jiff::Timestamp,
        entries: Vec<Entry>,
    ) -> Result<Appended, LedgerError> {
        let change = loaded.change;
        let after = loaded.state.as_ref().map_or(0, |state| state.seq);
        let (mut state, mut records) = (loaded.state, loaded.records);
        let mut files = Vec::new();
        // That something was shown is no news to be shown.
        let news = entries.iter().any(|entry| !matches!(entry.body, Body::Shown { .. }));
        for entry in entries {
            let seq = state.as_ref().map_or(0, |state| state.seq) + 1;
            let prev = match &state {
                None => Prev::Begins { repo: self.repo, change },
                Some(state) => Prev::Follows(state.tip.clone()),
            };
            if let Body::Linked { number }
            | Body::Escalated { issue: number, .. }
            | Body::IncidentShown { issue: number, .. } = entry.body
            {
                files.push(NewFile { path: alias_path(number), bytes: format!("{}\n", change.0).into_bytes() });
            }
            if let (Body::Subject { origin: Some(origin), .. }, Some(about)) = (&entry.body, &entry.about) {
                let known = |key: &Digest| state.as_ref().is_some_and(|state| state.origins.contains(key));
                for (_, key) in origin.keys(&about.head).into_iter().filter(|(_, key)| !known(key)) {
                    let path = format!("{}/{}", origin::folder(&key), change.0);
                    files.push(NewFile { path, bytes: format!("{}\n", change.0).into_bytes() });
                }
            }
            let named = match &entry.body {
                Body::Frozen { manifest, .. } => Some(manifest_path(change, manifest)),
                Body::Ran(ran) => Some(log_path(change, &ran.log)),
                Body::PassEnded(ended) => ended.log.as_ref().map(|log| log_path(change, log)),
                _ => None,
            };
            if let (Some(path), Some(text)) = (named, &entry.file) {
                files.push(NewFile { path, bytes: text.as_bytes().to_vec() });
            }
            let at = jiff::Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
            let record =
                Record { repo: self.repo, change, seq, prev, at, by: entry.by, about: entry.about, body: entry.body };
            let (bytes, digest) = chain::seal_record(&record, self.signer.as_ref()).map_err(LedgerError::Unwritable)?;
            let before = state.as_ref().and_then(State::snapshot).map(|latest| latest.iteration);
            let new = State::fold(state, &record, digest)?;
            if let Some(latest) = new.snapshot().filter(|latest| Some(latest.iteration) != before) {
                let bytes = snapshot::write(latest).into_bytes();
                files.retain(|file| file.path != context_path(change));
                files.push(NewFile { path: snapshot_path(change, latest.iteration), bytes: bytes.clone() });
                files.push(NewFile { path: context_path(change), bytes });
            }
            files.push(NewFile { path: format!("{}/{}", folder(change), file_name(seq)), bytes });
            if seq.is_multiple_of(CHECKPOINT_EVERY) {
                let bytes =
                    chain::seal_checkpoint(self.repo, &new, self.signer.as_ref()).map_err(LedgerError::Unwritable)?;
                let path = format!("{}/{CHECKPOINT_FILE}", folder(change));
                files.retain(|file| file.path != path);
                files.push(NewFile { path, bytes });
            }
            state = Some(new);
            records.push(record);
        }
        let Some(state) = state.filter(|state| state.seq > after) else {
            return Err(LedgerError::Unwritable("there is nothing to append".to_owned()));
        };
        if let Some(pages) = self.pages.as_ref().filter(|_| news) {
            let history = self.history(change, &loaded.earlier, &records);
            let page = pages.page(&state, &history);
            files.push(NewFile { path: evidence_page(change), bytes: page.into_bytes() });
            if let Some(text) = pages.record(&state) {
                files.push(NewFile { path: change_record(change), bytes: text.into_bytes() });
            }
            // One that was open before has its own, which nobody writes over.
            if let Some(open) = state.escalation.as_ref().filter(|open| open.id > after)
                && let Some(text) = pages.escalation(self.repo, &state, &history)
            {
                let name = Escalation::artefact(self.repo, change, open.id);
                files.push(NewFile { path: escalation_path(change, &name), bytes: text.into_bytes() });
            }
        }
        let (done, result) = oneshot::channel();
        self.queue().push(Waiting { change, after, seen_at: loaded.head, files, done });
        let mut lineage = self.committing.lock().await;
        // Whoever held the lock before may have taken ours along.
        self.commit_waiting(&mut lineage).await;
        drop(lineage);
        let commit = result.await.map_err(|_| StoreError::Unclear("the append was given up".to_owned()))??;
        Ok(Appended { state, commit, records, earlier: loaded.earlier })
    }

    /// The records that were read, with those before the checkpoint where they are whole: a page is not to tell what nobody
    /// signed.
    fn history(&self, change: ChangeNumber, earlier: &BTreeMap<String, String>, read: &[Record]) -> Vec<Record> {
        let mut all = Vec::new();
        if (1..=MOST_EARLIER).contains(&earlier.len()) {
            let proven = chain::prove(self.repo, change, earlier, self.keys.as_ref(), chain::From::Beginning);
            let tip = |proven: &Proven| proven.state.as_ref().map(|state| Prev::Follows(state.tip.clone()));
            let follows = |proven: &Proven| tip(proven).as_ref() == read.first().map(|record| &record.prev);
            all.extend(proven.ok().filter(follows).into_iter().flat_map(|proven| proven.records));
        }
        all.extend_from_slice(read);
        all
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn commit_waiting(&self, lineage: &mut Lineage) {
        let mut group: Vec<Waiting> = Vec::new();
        for waiting in std::mem::take(&mut *self.queue()) {
            // Two appends to one change can't both follow the same record: the first to come wins.
            if group.iter().any(|earlier| earlier.change == waiting.change) {
                let _ = waiting.done.send(Err(LedgerError::Moved));
            } else {
                group.push(waiting);
            }
        }
        let Some(first) = group.first() else { return };
        if lineage.head().is_none() {
            lineage.restart(first.seen_at.clone());
        }
        for _ in 0..TRIES {
            group = match self.still_to_do(group, lineage).await {
                Ok(group) => group,
                Err((group, error)) => return fail(group, &error),
            };
            if group.is_empty() {
                return;
            }
            // Looking may have shown that the branch has moved; then the others are to be looked at again.
            if !group.iter().all(|waiting| lineage.unmoved(waiting.change, &waiting.seen_at)) {
                continue;
            }
            let head = lineage.head().cloned().flatten();
            let files: Vec<NewFile> = group.iter().flat_map(|waiting| waiting.files.clone()).collect();
            match self.store.commit(head.as_ref(), &message(&group), &files).await {
                Ok(commit) => {
                    lineage.grow(commit.clone(), group.iter().map(|waiting| waiting.change).collect());
                    for waiting in group {
                        let _ = waiting.done.send(Ok(commit.clone()));
                    }
                    return;
                }
                Err(StoreError::Conflict | StoreError::Unclear(_)) => lineage.0.clear(),
                Err(error) => {
                    lineage.0.clear();
                    return fail(group, &error);
                }
            }
        }
        fail(group, &StoreError::Conflict);
    }

    /// Looks at every change of the group that may have moved since it was read: what is already there is done, what
    /// was overtaken has moved, and the rest is still to be committed, now known to be unmoved at a newer head.
    async fn still_to_do(
        &self,
        group: Vec<Waiting>,
        lineage: &mut Lineage,
    ) -> Result<Vec<Waiting>, (Vec<Waiting>, StoreError)> {
        let mut rest = Vec::new();
        let mut group = group.into_iter();
        while let Some(mut waiting) = group.next() {
            if lineage.unmoved(waiting.change, &waiting.seen_at) {
                rest.push(waiting);
                continue;
            }
            let read = match self.store.folder(&folder(waiting.change)).await {
                Ok(read) => read,
                Err(error) => {
                    rest.push(waiting);
                    rest.extend(group);
                    return Err((rest, error));
                }
            };
            if lineage.head() != Some(&read.head) {
                lineage.restart(read.head.clone());
            }
            let name = file_name(waiting.after + 1);
            let path = format!("{}/{name}", folder(waiting.change));
            let ours = waiting.files.iter().find(|file| file.path == path);
            match (read.files.get(&name), ours, read.head) {
                (None, _, head) => {
                    waiting.seen_at = head;
                    rest.push(waiting);
                }
                (Some(there), Some(ours), Some(head)) if there.as_bytes() == ours.bytes => {
                    let _ = waiting.done.send(Ok(head));
                }
                _ => drop(waiting.done.send(Err(LedgerError::Moved))),
            }
        }
        Ok(rest)
    }

    /// The chain held against an anchor that was kept elsewhere.
    pub fn hold_against(state: Option<&State>, anchor: &Anchor) -> Result<(), Break> {
        chain::hold_against(&Proven { state: state.cloned(), records: Vec::new() }, anchor)
    }
}

fn message(group: &[Waiting]) -> String {
    // Plain numbers: `#12` in a commit message would make GitHub show the commit on the pull request.
    let changes: Vec<String> = group.iter().map(|waiting| waiting.change.0.to_string()).collect();
    format!("record {}", changes.join(", "))
}

fn fail(group: Vec<Waiting>, error: &StoreError) {
    for waiting in group {
        let error = match error {
            StoreError::Conflict => StoreError::Conflict,
            StoreError::Unclear(text) => StoreError::Unclear(text.clone()),
            StoreError::Later { until } => StoreError::Later { until: *until },
            StoreError::Refused(text) => StoreError::Refused(text.clone()),
            StoreError::NotPermitted(text) => StoreError::NotPermitted(text.clone()),
            StoreError::Unreachable(text) => StoreError::Unreachable(text.clone()),
        };
        let _ = waiting.done.send(Err(LedgerError::Store(error)));
    }
}

mod related;
#[cfg(test)]
mod tests;

pub use related::{Related, sharing};
