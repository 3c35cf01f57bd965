//! A task and its records: where its folder is, which branch is worked on, and what the ledger says of it.
//!
//! The records are on a branch of this clone that nobody signs. They chain as all records do, and `phasegate replay` proves them; whoever
//! can write the clone can write them anew, so they count for nothing on GitHub.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};

use crate::cli::out;
use crate::flow::{FlowName, Mode};
use crate::gate::task::STATE;
use crate::ids::{ChangeNumber, CommitId, Digest, Person, RepoId};
use crate::ledger::local::LocalStore;
use crate::ledger::store::Store as _;
use crate::ledger::task::Task;
use crate::ledger::unsigned::Unsigned;
use crate::ledger::{Body, By, Entry, Ledger, Loaded, State};
use crate::policy::{Autonomy, Policy};
use crate::repo::{Filter, LocalRepo, Reader as _, RepoPath, branch_of};

/// The branch of the records.
pub(super) const BRANCH: &str = "phasegate/tasks-advisory";
/// The repository that they name: none of a host's.
const HERE: RepoId = RepoId(0);

pub(super) struct Desk {
    pub(super) repo: LocalRepo,
    pub(super) root: PathBuf,
    /// The task's folder, from the root.
    pub(super) folder: String,
    ledger: Ledger,
    /// As it was read last; none while that is being appended to.
    loaded: Option<Loaded>,
    /// Nobody else works on a task of this clone as long as this is held.
    _lock: File,
}

impl Desk {
    /// Opens the task in a folder, and begins its records where there are none.
    pub(super) async fn open(folder: &Path, law: &Policy) -> anyhow::Result<Self> {
        let absolute = folder.canonicalize().with_context(|| format!("there is no folder {}", folder.display()))?;
        let repo =
            LocalRepo::around(&absolute).with_context(|| format!("{} is in no git repository", folder.display()))?;
        let root = repo.root().context("this repository has no working tree")?.canonicalize()?;
        let inside = absolute.strip_prefix(&root).context("it is outside of the repository's working tree")?;
        let inside = inside.to_str().filter(|path| !path.is_empty() && !path.contains(['\n', '`']));
        let inside =
            inside.context("a task has a folder of its own below the repository's root, with a plain name")?.to_owned();
        if branch_of(&root)?.is_none() {
            bail!("no branch is checked out here, and a task's work goes onto one; `git switch -c BRANCH` makes one");
        }
        let head = repo.resolve("HEAD")?.context("there is no commit here yet; commit the task's files first")?;
        if repo.blob(&head, &RepoPath::from(format!("{inside}/{STATE}").as_str()))?.is_none() {
            bail!(
                "{inside}/{STATE} is not committed, so no agent would see it\nBegin the task with `phasegate task init {inside}`, and \
                 commit its folder"
            );
        }
        if repo.is_modified()? {
            bail!(
                "files here are changed and not committed, and an agent works on what is committed; commit or stash them first"
            );
        }
        let common = repo.common_folder();
        let lock = locked(&common)?;
        let (ledger, numbers, found) = loaded(&common, &inside).await?;
        let mut desk = Self { repo, root, folder: inside, ledger, loaded: found, _lock: lock };
        if desk.loaded.is_none() {
            let change = ChangeNumber(numbers.last().map_or(1, |last| last + 1));
            desk.loaded = Some(desk.ledger.load(change).await?);
            desk.begin(law).await?;
        }
        Ok(desk)
    }

    async fn begin(&mut self, law: &Policy) -> anyhow::Result<()> {
        let author = Person { id: 0, login: name(&self.root), bot: false };
        let bodies = [
            Body::Opened { author },
            Body::Law { policy: law.digest(), flow: FlowName::Task, mode: Mode::Auto, autonomy: Autonomy::Manual },
            Body::TaskBegun { folder: self.folder.clone() },
        ];
        self.append(bodies.map(|body| Entry::new(By::Bot, None, body)).into()).await
    }

    /// Writes down what has happened, all of it or nothing.
    pub(super) async fn append(&mut self, entries: Vec<Entry>) -> anyhow::Result<()> {
        let loaded = self.loaded.take().context("an earlier record of this task could not be written")?;
        let appended = self.ledger.append(loaded, jiff::Timestamp::now(), entries).await;
        self.loaded = Some(appended.context("the task's records can't be written")?.loaded());
        Ok(())
    }

    fn state(&self) -> anyhow::Result<&State> {
        self.loaded.as_ref().and_then(|loaded| loaded.state.as_ref()).context("the task has no records")
    }

    pub(super) fn number(&self) -> anyhow::Result<u64> {
        Ok(self.state()?.change.0)
    }

    pub(super) fn task(&self) -> anyhow::Result<&Task> {
        self.state()?.task.as_deref().context("the records are of no task")
    }

    pub(super) fn head(&self) -> anyhow::Result<CommitId> {
        self.repo.resolve("HEAD")?.context("there is no commit here")
    }

    /// The path of one of the task's files.
    pub(super) fn path(&self, name: &str) -> RepoPath {
        RepoPath::from(format!("{}/{name}", self.folder).as_str())
    }

    pub(super) fn file(&self, at: &CommitId, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
        Ok(self.repo.blob(at, &self.path(name))?.map(|blob| blob.bytes))
    }

    /// What a commit has, but for the claim: what leads back to it is no news.
    pub(super) fn content(&self, at: &CommitId) -> anyhow::Result<Digest> {
        let claim = self.path(STATE);
        let entries = self.repo.tree(at, Filter::All)?;
        let parts = entries.iter().filter(|entry| entry.path != claim);
        Ok(Digest::of_parts(parts.map(|entry| format!("{}\0{}\0{}", entry.path, entry.mode, entry.blob))))
    }

    /// The files below the task's folder, by their paths in it, and how large each is.
    pub(super) fn files(&self, at: &CommitId) -> anyhow::Result<Vec<(String, u64)>> {
        let below = format!("{}/", self.folder);
        let folder = RepoPath::from(self.folder.as_str());
        let mut files = Vec::new();
        for entry in self.repo.tree(at, Filter::Under(&folder))? {
            let path = entry.path.to_string();
            if let Some(name) = path.strip_prefix(&below) {
                let size = self.repo.blob(at, &entry.path)?.map_or(0, |blob| blob.bytes.len() as u64);
                files.push((name.to_owned(), size));
            }
        }
        Ok(files)
    }
}

/// The records here, the numbers of the tasks that have some, and what there is of the one in this folder.
async fn loaded(common: &Path, folder: &str) -> anyhow::Result<(Ledger, Vec<u64>, Option<Loaded>)> {
    let store = Arc::new(LocalStore::new(common, BRANCH));
    let numbers = numbers(&store).await?;
    let ledger = Ledger::new(HERE, store, Arc::new(Unsigned), Arc::new(Unsigned));
    let mut found = None;
    for number in &numbers {
        let loaded = ledger.load(ChangeNumber(*number)).await.context("the records of a task here can't be read")?;
        if loaded.state.as_ref().and_then(|state| state.task.as_ref()).is_some_and(|task| task.folder == folder) {
            found = Some(loaded);
        }
    }
    Ok((ledger, numbers, found))
}

/// What is on record of the task in a folder, for whoever only looks: nothing is begun, and nobody is kept out.
pub(in crate::cli) async fn recorded(repo: &LocalRepo, folder: &str) -> anyhow::Result<Option<Task>> {
    let (_, _, found) = loaded(&repo.common_folder(), folder).await?;
    Ok(found.and_then(|loaded| loaded.state).and_then(|state| state.task).map(|task| *task))
}

/// Whom git takes for the one at work here.
pub(super) fn name(root: &Path) -> String {
    let config = git2::Repository::open(root).and_then(|repo| repo.config());
    let name = config.and_then(|config| config.get_string("user.name")).unwrap_or_default();
    let plain = out::plain(name.trim());
    if plain.is_empty() { "somebody here".to_owned() } else { plain }
}

fn locked(common: &Path) -> anyhow::Result<File> {
    let path = common.join("phasegate-task.lock");
    let what = || format!("can't lock {}", path.display());
    let lock = File::options().create(true).truncate(false).write(true).open(&path).with_context(what)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            bail!("somebody else works on a task of this clone; wait until that has ended")
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(what),
    }
}

/// The numbers of the tasks that have records, in their order.
async fn numbers(store: &LocalStore) -> anyhow::Result<Vec<u64>> {
    let cant = "the tasks' records can't be read";
    let shards = store.names(&["changes".to_owned()]).await.context(cant)?.concat();
    let folders: Vec<String> = shards.iter().map(|shard| format!("changes/{shard}")).collect();
    let names = store.names(&folders).await.context(cant)?.concat();
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
