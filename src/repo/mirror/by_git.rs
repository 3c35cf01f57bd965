//! A mirror that the `git` program fills.
//!
//! History is fetched shallowly, and deepened only until the merge base of a change is certain; on a repository of a
//! hundred thousand commits that is the difference between a second and minutes.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::{Fetched, Room, Want, readable};
use crate::fault::around;
use crate::ids::CommitId;
use crate::repo::program::{check_url, git};
use crate::repo::{Error, LocalRepo, Reader as _, Result};

/// How deep to look, in turn; after the last the whole history is fetched.
const DEPTHS: [u32; 4] = [50, 250, 1_250, 6_250];
/// "All of it", as the mirror notes it down.
const COMPLETE: u32 = u32::MAX;
const TIME_LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Clone)]
pub(super) struct ByGit {
    room: Room,
}

impl ByGit {
    pub(super) fn new(room: Room) -> Self {
        Self { room }
    }

    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    fn reader(&self) -> Result<LocalRepo> {
        self.room.reader()
    }

    /// Fetches refs and commits, as deep as this mirror goes, and says which commits they are, in the same order.
    pub(super) async fn fetch(&self, url: &str, auth: Option<&SecretString>, wants: &[Want]) -> Result<Vec<CommitId>> {
        check_url(url)?;
        wants.iter().try_for_each(|want| want.source().map(drop))?;
        let _one_at_a_time = self.room.lock().await;
        let depth = self.depth();
        self.fetch_or_repair(url, auth, wants, depth).await
    }

    /// Fetches the two sides of a change, and as much history as it takes to be certain of their merge base.
    pub(super) async fn fetch_change(
        &self,
        url: &str,
        auth: Option<&SecretString>,
        base: &Want,
        head: &Want,
    ) -> Result<Fetched> {
        check_url(url)?;
        base.source().and(head.source())?;
        let _one_at_a_time = self.room.lock().await;
        // Commits that are here already need no network at all.
        if let Some(here) = self.room.has_change(base, head) {
            return Ok(here);
        }
        let wants = [base.clone(), head.clone()];
        let mut depth = self.depth();
        loop {
            let ids = self.fetch_or_repair(url, auth, &wants, depth).await?;
            let [base, head] = ids.as_slice() else { return Err(Error::Missing("a side of the change".into())) };
            match self.reader()?.merge_base(base, head) {
                Ok(merge_base) => return Ok(Fetched { base: base.clone(), head: head.clone(), merge_base }),
                Err(Error::Shallow) if depth != COMPLETE => {
                    depth = DEPTHS.iter().copied().find(|d| *d > depth).unwrap_or(COMPLETE);
                }
                Err(other) => return Err(other),
            }
        }
    }

    /// A mirror that can't be read or written is made again, once: it is a cache, and a disk that was full or a
    /// process that was killed must not stop a repository for good.
    async fn fetch_or_repair(
        &self,
        url: &str,
        auth: Option<&SecretString>,
        wants: &[Want],
        depth: u32,
    ) -> Result<Vec<CommitId>> {
        match self.fetch_once(url, auth, wants, depth).await {
            Err(error) if self.is_broken(&error).await => {
                self.room.clear(&error)?;
                self.fetch_once(url, auth, wants, depth).await
            }
            other => other,
        }
    }

    async fn fetch_once(
        &self,
        url: &str,
        auth: Option<&SecretString>,
        wants: &[Want],
        depth: u32,
    ) -> Result<Vec<CommitId>> {
        self.room.init()?;
        let mut args: Vec<String> = ["fetch", "--quiet", "--force", "--no-tags", "--no-write-fetch-head"]
            .into_iter()
            .chain(["--no-recurse-submodules", "--no-auto-maintenance"])
            .map(str::to_owned)
            .collect();
        match depth {
            COMPLETE if self.room.dir.join("shallow").exists() => args.push("--unshallow".into()),
            COMPLETE => {}
            _ => args.push(format!("--depth={depth}")),
        }
        args.extend(["--".to_owned(), url.to_owned()]);
        for want in wants {
            args.push(format!("+{}:{}", want.source()?, want.kept()?));
        }
        around!("mirror.fetch", git(&self.room.dir, &args, auth, TIME_LIMIT).await)?;
        around!("mirror.depth", self.note_depth(depth))?;
        let reader = self.reader()?;
        let mut ids = Vec::new();
        for want in wants {
            let id = reader.resolve(&want.kept()?)?.ok_or_else(|| Error::Missing(format!("{want:?}")))?;
            readable(&reader, &id)?;
            ids.push(id);
        }
        Ok(ids)
    }

    /// Whether an error comes from the mirror's own state rather than from the remote or the network.
    async fn is_broken(&self, error: &Error) -> bool {
        const SIGNS: [&str; 8] = [
            "corrupt",
            "bad object",
            "unable to read",
            "bad tree",
            "missing blob",
            "missing tree",
            "did not send all necessary objects",
            ".lock': File exists",
        ];
        match error {
            Error::Git(_) | Error::Missing(_) | Error::Absent(_) | Error::Malformed(_) => true,
            Error::Io { error, .. } => error.kind() == std::io::ErrorKind::NotADirectory,
            Error::Fetch(said) => {
                // What the remote says is not evidence about us; what git says about our own history is.
                let mut own = said.lines().filter(|line| !line.starts_with("remote:"));
                let walk = ["rev-list", "--quiet", "--all"].map(str::to_owned);
                own.any(|line| SIGNS.iter().any(|sign| line.contains(sign)))
                    || matches!(git(&self.room.dir, &walk, None, TIME_LIMIT).await, Err(Error::Fetch(_)))
            }
            _ => false,
        }
    }

    /// How deep this mirror has had to go. Fetching less again would cut off history that others still need.
    fn depth(&self) -> u32 {
        let noted = std::fs::read_to_string(self.depth_file()).ok().and_then(|text| text.trim().parse().ok());
        noted.unwrap_or(DEPTHS[0]).max(DEPTHS[0])
    }

    fn note_depth(&self, depth: u32) -> Result<()> {
        if depth != self.depth() || !self.depth_file().exists() {
            std::fs::write(self.depth_file(), depth.to_string()).map_err(self.room.io("write to"))?;
        }
        Ok(())
    }

    fn depth_file(&self) -> PathBuf {
        self.room.dir.join("phasegate-depth")
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;
    use crate::repo::testing::Scratch;
    use crate::repo::{Filter, RepoPath};

    fn open(dir: &Path) -> ByGit {
        ByGit::new(Room::open(dir.join("7.git")).unwrap())
    }

    fn want(name: &str) -> Want {
        Want::Ref(name.into())
    }

    /// A line of commits on top of another.
    fn grow(repo: &Scratch, from: &CommitId, count: usize, name: &str) -> CommitId {
        let mut tip = from.clone();
        for i in 0..count {
            tip = repo.text(&[&tip], &[("a", "1"), (name, &i.to_string())]);
        }
        tip
    }

    #[tokio::test]
    async fn nobody_else_reads_a_mirror() {
        let remote = Scratch::new();
        remote.point("refs/heads/main", &remote.text(&[], &[("a", "0")]));
        let dir = tempfile::tempdir().unwrap();
        let mirror = open(&dir.path().join("data"));
        let mode = || std::fs::metadata(&mirror.room.dir).unwrap().permissions().mode() & 0o777;
        mirror.fetch(&remote.url(), None, &[want("refs/heads/main")]).await.unwrap();
        assert_eq!(mode(), 0o700);
        std::fs::set_permissions(&mirror.room.dir, Permissions::from_mode(0o755)).unwrap();
        mirror.fetch(&remote.url(), None, &[want("refs/heads/main")]).await.unwrap();
        assert_eq!(mode(), 0o700, "one from before");
    }

    #[tokio::test]
    async fn history_is_deepened_until_the_merge_base_is_certain() {
        let remote = Scratch::new();
        let start = remote.text(&[], &[("a", "0")]);
        let fork = grow(&remote, &start, 30, "before");
        let base = grow(&remote, &fork, 120, "main");
        let head = grow(&remote, &fork, 3, "change");
        remote.point("refs/heads/main", &base);
        remote.point("refs/pull/1/head", &head);
        let dir = tempfile::tempdir().unwrap();
        let mirror = open(dir.path());

        let ids =
            mirror.fetch(&remote.url(), None, &[want("refs/heads/main"), want("refs/pull/1/head")]).await.unwrap();
        assert_eq!(ids, [base.clone(), head.clone()]);
        let reader = mirror.reader().unwrap();
        assert!(matches!(reader.merge_base(&base, &head), Err(Error::Shallow)), "fifty commits are not enough");
        assert!(matches!(reader.is_ancestor(&start, &base), Err(Error::Shallow)), "unknown is not no");
        assert!(reader.is_ancestor(&start, &head).unwrap());

        let fetched = mirror
            .fetch_change(&remote.url(), None, &want("refs/heads/main"), &want("refs/pull/1/head"))
            .await
            .unwrap();
        assert_eq!(fetched, Fetched { base: base.clone(), head: head.clone(), merge_base: Some(fork.clone()) });
        assert_eq!(mirror.depth(), 250, "no deeper than needed, and noted for the next time");
        let reader = mirror.reader().unwrap();
        assert_eq!(reader.diff(&fork, &head).unwrap().len(), 2);
        assert_eq!(reader.commit(&fork).unwrap().parents.len(), 1);

        // By their ids, and without the remote when they are here.
        let (base_want, head_want) = (Want::Commit(base.clone()), Want::Commit(head.clone()));
        let again = mirror.fetch_change("file:///nowhere", None, &base_want, &head_want).await.unwrap();
        assert_eq!(again, fetched);
        let other = tempfile::tempdir().unwrap();
        let fresh = open(other.path());
        assert_eq!(fresh.fetch_change(&remote.url(), None, &base_want, &head_want).await.unwrap(), fetched);
    }

    #[tokio::test]
    async fn a_cut_merge_base_behind_a_shortcut_is_not_believed() {
        // The head merges an old commit directly: in fifty commits of history that old one looks like the merge base,
        // while the real one is further down the long way.
        let remote = Scratch::new();
        let old = grow(&remote, &remote.text(&[], &[("a", "0")]), 5, "x");
        let fork = grow(&remote, &old, 10, "y");
        let long = grow(&remote, &fork, 80, "z");
        let head = remote.text(&[&long, &old], &[("a", "1"), ("merged", "1")]);
        let base = remote.text(&[&fork], &[("a", "1"), ("on-main", "1")]);
        let dir = tempfile::tempdir().unwrap();
        let mirror = open(dir.path());
        let fetched = mirror.fetch_change(&remote.url(), None, &Want::Commit(base), &Want::Commit(head)).await.unwrap();
        assert_eq!(fetched.merge_base, Some(fork));
    }

    #[tokio::test]
    async fn histories_without_anything_in_common_are_fetched_to_their_ends() {
        let remote = Scratch::new();
        let base = grow(&remote, &remote.text(&[], &[("a", "0")]), 60, "x");
        let head = grow(&remote, &remote.text(&[], &[("b", "0")]), 60, "y");
        let dir = tempfile::tempdir().unwrap();
        let mirror = open(dir.path());
        let fetched = mirror.fetch_change(&remote.url(), None, &Want::Commit(base), &Want::Commit(head)).await.unwrap();
        assert_eq!(fetched.merge_base, None);
    }

    #[tokio::test]
    async fn a_branch_is_followed_also_backwards_and_through_renames_that_clash() {
        let remote = Scratch::new();
        let one = remote.text(&[], &[("a", "1")]);
        let two = remote.text(&[&one], &[("a", "2")]);
        remote.point("refs/heads/x", &two);
        remote.point("refs/heads/y/z", &one);
        let dir = tempfile::tempdir().unwrap();
        let mirror = open(dir.path());
        let url = remote.url();
        assert_eq!(mirror.fetch(&url, None, &[want("refs/heads/x")]).await.unwrap(), [two]);
        remote.point("refs/heads/x", &one);
        assert_eq!(
            mirror.fetch(&url, None, &[want("refs/heads/x"), want("refs/heads/y/z")]).await.unwrap(),
            [one.clone(), one]
        );
        for bad in ["main", "refs/heads/../x", "refs/heads/a:b", "--upload-pack=/bin/true"] {
            assert!(matches!(mirror.fetch(&url, None, &[want(bad)]).await, Err(Error::Missing(_))), "{bad}");
        }
        let error = mirror.fetch(&url, None, &[want("refs/heads/none")]).await.unwrap_err();
        assert!(error.to_string().contains("couldn't find remote ref"), "{error}");
        assert!(matches!(mirror.fetch("ext::true", None, &[]).await, Err(Error::Url(_))));
    }

    #[tokio::test]
    async fn a_broken_mirror_is_made_again() {
        let remote = Scratch::new();
        let first = remote.text(&[], &[("a", "1")]);
        remote.point("refs/heads/main", &first);
        let breakages: [fn(&Path); 6] = [
            |dir| std::fs::write(dir.join("HEAD"), "garbage").unwrap(),
            |dir| std::fs::write(dir.join("config"), "[garbage").unwrap(),
            |dir| std::fs::write(dir.join("shallow"), "garbage").unwrap(),
            |dir| std::fs::remove_dir_all(dir.join("objects")).unwrap(),
            |dir| {
                // Every object is cut short.
                let mut open = vec![dir.join("objects")];
                while let Some(here) = open.pop() {
                    for entry in std::fs::read_dir(here).unwrap() {
                        let path = entry.unwrap().path();
                        if path.is_dir() {
                            open.push(path);
                        } else {
                            std::fs::remove_file(&path).unwrap();
                            std::fs::write(&path, "").unwrap();
                        }
                    }
                }
            },
            |dir| {
                std::fs::remove_dir_all(dir).unwrap();
                std::fs::write(dir, "a file in its place").unwrap();
            },
        ];
        for (i, break_it) in breakages.into_iter().enumerate() {
            let dir = tempfile::tempdir().unwrap();
            let mirror = open(dir.path());
            let wants = [want("refs/heads/main")];
            mirror.fetch(&remote.url(), None, &wants).await.unwrap();
            break_it(&mirror.room.dir);
            let second = remote.text(&[&first], &[("a", &i.to_string())]);
            remote.point("refs/heads/main", &second);
            let ids = mirror.fetch(&remote.url(), None, &wants).await.unwrap_or_else(|e| panic!("{i}: {e}"));
            assert_eq!(ids.as_slice(), std::slice::from_ref(&second), "{i}");
            let reader = mirror.reader().unwrap();
            assert_eq!(reader.tree(&second, Filter::All).unwrap().len(), 1);
            assert!(reader.blob(&second, &RepoPath::from("a")).unwrap().is_some(), "{i}");
        }
    }

    #[tokio::test]
    async fn one_mirror_for_a_repository_and_one_fetch_at_a_time() {
        let remote = Scratch::new();
        let tip = grow(&remote, &remote.text(&[], &[("a", "1")]), 5, "x");
        remote.point("refs/heads/main", &tip);
        let dir = tempfile::tempdir().unwrap();
        let fetches = (0..6).map(|_| {
            let (mirror, url) = (open(dir.path()), remote.url());
            tokio::spawn(async move { mirror.fetch(&url, None, &[want("refs/heads/main")]).await.unwrap() })
        });
        for fetch in fetches.collect::<Vec<_>>() {
            assert_eq!(fetch.await.unwrap().first(), Some(&tip));
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
