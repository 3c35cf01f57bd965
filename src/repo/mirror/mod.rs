//! A bare mirror that the server keeps for each repository.
//!
//! It is a cache: it may be deleted at any time, and a broken one is made again. There are two ways to fill one, each with
//! a folder of its own, because the second leaves out what nobody asked for: [`by_git`] with the `git` program, which costs
//! no API calls, and [`by_api`] where git over HTTP is missing. Which one it is, is for this door alone to know: whoever
//! fetches and reads says what, not how.
//!
//! Races: one fetch at a time for a mirror, by a lock that all [`Mirror`] values of one directory share, because two
//! would fight over git's `shallow` file. Readers need no lock: a fetch only adds objects, nothing is ever pruned.

mod by_api;
mod by_git;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use by_api::{ByApi, Spent};
use by_git::ByGit;

use super::{Absent, Error, LocalRepo, Reader as _, Remote, Result};
use crate::fault::around;
use crate::ids::{CommitId, Digest, RepoId};

static LOCKS: LazyLock<Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>> = LazyLock::new(Mutex::default);

/// A bare mirror on disk, and where it is filled from.
#[derive(Clone)]
pub struct Mirror {
    remote: Arc<dyn Remote>,
    by_git: ByGit,
    by_api: ByApi,
}

impl Mirror {
    /// The mirror of a repository below this directory. Nothing is made on disk before the first fetch.
    pub fn open(dir: impl AsRef<Path>, repo: RepoId, remote: Arc<dyn Remote>) -> Result<Self> {
        // By its id: a repository that is renamed keeps its mirror, and another that takes its name gets its own.
        let room = |end: &str| Room::open(dir.as_ref().join(format!("{}{end}", repo.0)));
        Ok(Self { remote, by_git: ByGit::new(room(".git")?), by_api: ByApi::new(room(".api.git")?) })
    }

    /// Fetches refs and commits, and says which commits they are, in the same order.
    pub async fn fetch(&self, wants: &[Want]) -> Result<Vec<CommitId>> {
        if !self.remote.lacks_git() {
            if let Some(here) = self.unmoved(wants).await? {
                return Ok(here);
            }
            let access = self.remote.access().await?;
            let fetched = self.by_git.fetch(&access.url, access.password.as_ref(), wants).await;
            match fetched {
                Err(error) if self.is_without_git(&error).await? => {}
                Err(error) => return Err(self.reason(error).await),
                fetched => return fetched,
            }
        }
        self.by_api.fetch(&*self.remote, wants).await
    }

    /// Where the refs are, when all of them are where they were at the last fetch. The API says so in one call, which
    /// costs nothing of its limit while the answer is the same; `git` takes three, and a process on either side.
    async fn unmoved(&self, wants: &[Want]) -> Result<Option<Vec<CommitId>>> {
        let mut here = Vec::new();
        for want in wants {
            let Want::Ref(name) = want else { return Ok(None) };
            let (room, kept) = (self.by_git.room().clone(), want.kept()?);
            let Some(last) = blocking(move || Ok(room.has_kept(&kept))).await? else { return Ok(None) };
            // What the API does not tell, git may.
            match self.remote.find_ref(name).await {
                Ok(Some(now)) if now == last => here.push(last),
                _ => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    /// Fetches the two sides of a change, and as much history as it takes to be certain of their merge base.
    pub async fn fetch_change(&self, base: &Want, head: &Want) -> Result<Fetched> {
        if !self.remote.lacks_git() {
            let access = self.remote.access().await?;
            let fetched = self.by_git.fetch_change(&access.url, access.password.as_ref(), base, head).await;
            match fetched {
                Err(error) if self.is_without_git(&error).await? => {}
                Err(error) => return Err(self.reason(error).await),
                fetched => return fetched,
            }
        }
        self.by_api.fetch_change(&*self.remote, base, head).await
    }

    /// Reads what was fetched. Where that leaves out what the work looks for, it is fetched, and the work is done again from
    /// its beginning: so it answers what it would answer of the whole repository. git2 blocks, so it is done where that does
    /// no harm.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&LocalRepo) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let (work, lacks_git) = (Arc::new(work), self.remote.lacks_git());
        let (mut spent, mut gone) = (Spent::default(), BTreeSet::new());
        loop {
            let room = if lacks_git { self.by_api.room() } else { self.by_git.room() }.clone();
            let work = Arc::clone(&work);
            let (done, absent) = blocking(move || {
                let reader = room.reader()?;
                Ok((work(&reader), reader.absent()))
            })
            .await?;
            if !lacks_git {
                if let Err(Error::Git(_) | Error::Absent(_) | Error::Malformed(_)) = &done {
                    self.by_git.room().forget();
                }
                return done;
            }
            let absent: Vec<Absent> = absent.into_iter().filter(|one| !gone.contains(one)).collect();
            if absent.is_empty() {
                return done;
            }
            // What the other side does not have any more stays absent, and the work says what that means.
            gone.extend(self.by_api.get(&*self.remote, absent, &mut spent).await?);
        }
    }

    /// Where all of what was fetched lies; none where what nobody asked for is left out.
    pub fn whole(&self) -> Option<PathBuf> {
        (!self.remote.lacks_git()).then(|| self.by_git.room().dir.clone())
    }

    /// Whether an error means that git over HTTP is missing there, and not the repository.
    async fn is_without_git(&self, error: &Error) -> Result<bool> {
        match error {
            Error::Fetch(said) if says_nothing_there(said) => self.remote.is_without_git().await,
            _ => Ok(false),
        }
    }

    /// Why `git` was not let in: it is told that a repository is not there, and the API says which permission is missing.
    async fn reason(&self, error: Error) -> Error {
        match &error {
            Error::Fetch(said) if says_no_entry(said) => match self.remote.find_ref("refs/heads/main").await {
                Err(reason @ Error::Remote(_)) => reason,
                _ => error,
            },
            _ => error,
        }
    }
}

/// Whether this is what git says of an address where something else than git answers. A server that does speak git and
/// does not have the repository says so in words of its own, and git passes them on.
fn says_nothing_there(said: &str) -> bool {
    const SIGNS: [&str; 4] = ["' not found", "not valid: is this a git repository?", "error: 405", "error: 501"];
    !said.lines().any(|line| line.starts_with("remote:"))
        && said.lines().any(|line| line.starts_with("fatal:") && SIGNS.iter().any(|sign| line.contains(sign)))
}

/// Whether this is what git says where it is not let in. Whoever may not read a private repository is told that there is none.
fn says_no_entry(said: &str) -> bool {
    const SIGNS: [&str; 4] = ["' not found", "error: 403", "Authentication failed", "could not read Username"];
    said.lines().any(|line| line.starts_with("fatal:") && SIGNS.iter().any(|sign| line.contains(sign)))
}

/// Work that blocks. A panic in it goes on here.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(Error::io("reading was cut off")(std::io::Error::other(error))),
    }
}

/// What to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// A ref by its full name: `refs/heads/main`, `refs/pull/1/head`.
    Ref(String),
    /// A commit by its id.
    Commit(CommitId),
}

impl Want {
    fn source(&self) -> Result<String> {
        match self {
            Want::Commit(id) => Ok(id.to_string()),
            Want::Ref(name) if name.starts_with("refs/") && git2::Reference::is_valid_name(name) => Ok(name.clone()),
            Want::Ref(name) => Err(Error::Missing(format!("the ref {name:?}"))),
        }
    }

    /// Where it is kept. A hash, because `a` and `a/b` can't both be refs, but can be asked for one after the other.
    fn kept(&self) -> Result<String> {
        Ok(format!("refs/keep/{}", Digest::of(self.source()?)))
    }
}

/// A change whose two sides and merge base are in the mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub base: CommitId,
    pub head: CommitId,
    /// `None`: the two histories have nothing in common.
    pub merge_base: Option<CommitId>,
}

/// The folder of a mirror.
#[derive(Debug, Clone)]
struct Room {
    dir: PathBuf,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl Room {
    fn open(dir: PathBuf) -> Result<Self> {
        let dir = std::path::absolute(dir).map_err(Error::io("can't tell where the mirrors are"))?;
        let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = Arc::clone(locks.entry(dir.clone()).or_default());
        Ok(Self { dir, lock })
    }

    /// Held while something is fetched.
    async fn lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.lock.lock().await
    }

    /// Reads what was fetched so far. Open a new one after a fetch.
    fn reader(&self) -> Result<LocalRepo> {
        LocalRepo::open(&self.dir)
    }

    /// What a ref was when it was last fetched, if that can be read.
    fn has_kept(&self, kept: &str) -> Option<CommitId> {
        let reader = self.reader().ok()?;
        let id = reader.resolve(kept).ok()??;
        readable(&reader, &id).ok().map(|()| id)
    }

    /// Forgets what was fetched, so that all of it is fetched again: something of it could not be read.
    fn forget(&self) {
        let forgotten = git2::Repository::open_bare(&self.dir)
            .and_then(|repo| repo.references_glob("refs/keep/*")?.try_for_each(|kept| kept?.delete()));
        if let Err(error) = forgotten {
            tracing::warn!(mirror = %self.dir.display(), %error, "what can't be read can't be forgotten either");
        }
    }

    /// A change of which both commits are here, with enough of their history.
    fn has_change(&self, base: &Want, head: &Want) -> Option<Fetched> {
        let (Want::Commit(base), Want::Commit(head)) = (base, head) else { return None };
        let reader = self.reader().ok()?;
        let merge_base = reader.merge_base(base, head).ok()?;
        let here = [base, head].into_iter().chain(&merge_base).all(|id| readable(&reader, id).is_ok());
        here.then(|| Fetched { base: base.clone(), head: head.clone(), merge_base: merge_base.clone() })
    }

    /// Nobody else on the machine reads it: the repository may be a private one.
    fn init(&self) -> Result<()> {
        if self.dir.is_dir() {
            // One that an earlier version made, as far as it is ours to close.
            let _ = std::fs::set_permissions(&self.dir, Permissions::from_mode(0o700));
        } else if !self.dir.exists() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(self.io("make"))?;
        }
        if self.dir.join("HEAD").exists() {
            git2::Repository::open_bare(&self.dir)?;
            return Ok(());
        }
        let mut options = git2::RepositoryInitOptions::new();
        options.bare(true).mkpath(true).external_template(false).initial_head("none");
        around!("mirror.init", git2::Repository::init_opts(&self.dir, &options))?;
        Ok(())
    }

    /// Makes room for a new one in place of one that is broken.
    fn clear(&self, error: &Error) -> Result<()> {
        tracing::warn!(mirror = %self.dir.display(), %error, "the mirror is broken and is made again");
        let removed = match around!("mirror.remove", std::fs::remove_dir_all(&self.dir)) {
            Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => std::fs::remove_file(&self.dir),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        };
        removed.map_err(self.io("remove"))
    }

    fn io(&self, verb: &str) -> impl FnOnce(std::io::Error) -> Error {
        Error::io(format!("can't {verb} the mirror {}", self.dir.display()))
    }
}

/// Whether a commit and its root tree are really there: asking for a file that can't exist reads both.
fn readable(reader: &LocalRepo, id: &CommitId) -> Result<()> {
    reader.blob(id, &"\0".into()).map(drop)
}
