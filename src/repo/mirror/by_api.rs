//! A mirror that is filled object by object, for where git over HTTP is missing.
//!
//! What comes over an API is put together again and written as the object that it is, so every reader above works as it
//! does on a repository that git made. It promises:
//!
//! - **an object is here under its own hash or not at all**. What can't be put together is an error that names it;
//! - **a tree is here with all the trees below it**: they are written from the leaves up;
//! - **history is cut where it says so**: a commit whose parents are not all here stands in git's `shallow` file before it
//!   is written, and is taken off it after they are. In between, and after a crash, more cuts are told than there are;
//! - **as little as possible is fetched**: history until the merge base is certain, the trees of the two sides and of that,
//!   the files that the change touches, and then what a reader looked for.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use futures::{StreamExt as _, TryStreamExt as _};
use git2::{ObjectType, Odb, Oid, Repository};

use super::{Fetched, Room, Want, blocking};
use crate::fault::around;
use crate::ids::{BlobId, CommitId};
use crate::repo::local::{cuts, parents_of};
use crate::repo::rebuild::{Tries, rebuild};
use crate::repo::remote::{Listing, Remote, Told};
use crate::repo::tree::written;
use crate::repo::{Absent, Delta, Error, Mode, Reader as _, Result, TreeId};

/// So many pages of a hundred commits: as many commits as git is asked for before it is asked for all. A change that parted
/// from its base before that costs more calls than it is worth.
const MOST_PAGES: usize = 60;

/// So many listings of trees. One is enough below a hundred thousand files, and each part of a larger tree takes one more.
const MOST_LISTINGS: usize = 500;

/// So many files: less than half of the calls that an installation has in an hour.
const MOST_FILES: usize = 2_000;

/// So many bytes of files; they are in memory once.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// So many files of a change are fetched before anybody asks. Of more it is waited which of them are looked at.
const AHEAD: usize = 500;

/// So many files are asked for at a time: GitHub lets nobody ask for more than a hundred things at once.
const AT_ONCE: usize = 8;

/// What one fetch, or one reading with all that it looks for, has asked for.
#[derive(Debug, Default)]
pub(super) struct Spent {
    pages: usize,
    listings: usize,
    files: usize,
    bytes: usize,
    tries: Tries,
    /// Commits that can't be put together.
    unproved: HashSet<CommitId>,
}

fn spend(counter: &mut usize, by: usize, what: &'static str, most: usize) -> Result<()> {
    *counter += by;
    if *counter > most { Err(Error::TooMuch { what, most }) } else { Ok(()) }
}

/// The history of one side, as far as it was asked for.
struct Side<'s> {
    tip: &'s CommitId,
    page: u32,
    more: bool,
    /// When the last commit of the last page was made.
    until: i64,
}

impl<'s> Side<'s> {
    fn of(tip: &'s CommitId) -> Self {
        Self { tip, page: 0, more: true, until: i64::MAX }
    }
}

#[derive(Debug, Clone)]
pub(super) struct ByApi {
    room: Room,
}

impl ByApi {
    pub(super) fn new(room: Room) -> Self {
        Self { room }
    }

    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    pub(super) async fn fetch(&self, remote: &dyn Remote, wants: &[Want]) -> Result<Vec<CommitId>> {
        wants.iter().try_for_each(|want| want.source().map(drop))?;
        let _one_at_a_time = self.room.lock().await;
        match self.fetch_once(remote, wants).await {
            Err(error) if is_broken(&error) => {
                self.room.clear(&error)?;
                self.fetch_once(remote, wants).await
            }
            fetched => fetched,
        }
    }

    async fn fetch_once(&self, remote: &dyn Remote, wants: &[Want]) -> Result<Vec<CommitId>> {
        self.room.init()?;
        let (mut spent, mut ids) = (Spent::default(), Vec::new());
        for want in wants {
            let id = resolve(remote, want).await?;
            if !self.has(id.as_str()).await? {
                self.next_page(remote, &mut Side::of(&id), &mut spent).await?;
            }
            self.tree_of(remote, &id, &mut spent).await?;
            ids.push(id);
        }
        Ok(ids)
    }

    pub(super) async fn fetch_change(&self, remote: &dyn Remote, base: &Want, head: &Want) -> Result<Fetched> {
        base.source().and(head.source())?;
        let _one_at_a_time = self.room.lock().await;
        if let Some(here) = self.room.has_change(base, head) {
            return Ok(here);
        }
        match self.change_once(remote, base, head).await {
            Err(error) if is_broken(&error) => {
                self.room.clear(&error)?;
                self.change_once(remote, base, head).await
            }
            fetched => fetched,
        }
    }

    async fn change_once(&self, remote: &dyn Remote, base: &Want, head: &Want) -> Result<Fetched> {
        self.room.init()?;
        let mut spent = Spent::default();
        let (base, head) = (resolve(remote, base).await?, resolve(remote, head).await?);
        let merge_base = self.merge_base(remote, &base, &head, &mut spent).await?;
        for commit in [&base, &head].into_iter().chain(&merge_base) {
            self.tree_of(remote, commit, &mut spent).await?;
        }
        let fetched = Fetched { base, head, merge_base };
        let (room, of) = (self.room.clone(), fetched.clone());
        let touched = blocking(move || touched(&room, &of)).await?;
        if touched.len() <= AHEAD {
            // Those that are not there any more are missed when somebody looks for them.
            self.blobs(remote, touched, &mut spent).await?;
        }
        Ok(fetched)
    }

    /// Gets objects that a reader looked for. Answers those that can't be had.
    pub(super) async fn get(&self, remote: &dyn Remote, absent: Vec<Absent>, spent: &mut Spent) -> Result<Vec<Absent>> {
        let _one_at_a_time = self.room.lock().await;
        let (mut files, mut gone) = (Vec::new(), Vec::new());
        for one in absent {
            match one {
                Absent::Blob(id) => files.push(id),
                Absent::Tree(id) => match self.tree(remote, id.clone(), spent).await {
                    Err(Error::Missing(_)) => gone.push(Absent::Tree(id)),
                    had => had?,
                },
            }
        }
        gone.extend(self.blobs(remote, files, spent).await?.into_iter().map(Absent::Blob));
        Ok(gone)
    }

    /// Reads history from both sides until their merge base is certain.
    async fn merge_base(
        &self,
        remote: &dyn Remote,
        base: &CommitId,
        head: &CommitId,
        spent: &mut Spent,
    ) -> Result<Option<CommitId>> {
        let mut sides = [Side::of(head), Side::of(base)];
        loop {
            let (room, one, other) = (self.room.clone(), base.clone(), head.clone());
            match blocking(move || room.reader()?.merge_base(&one, &other)).await {
                Err(Error::Missing(_) | Error::Shallow) => {}
                found => return found,
            }
            // The one that was read less far back: a change is young, and its base has gone on.
            match sides.iter_mut().filter(|side| side.more).min_by_key(|side| std::cmp::Reverse(side.until)) {
                Some(side) => self.next_page(remote, side, spent).await?,
                None => {
                    let (room, one, other) = (self.room.clone(), base.clone(), head.clone());
                    let lacking = blocking(move || room.reader()?.lacks_history(&one, &other)).await?;
                    let failed = lacking.iter().find(|id| spent.unproved.contains(id));
                    return Err(failed.map_or(Error::Shallow, unproved));
                }
            }
        }
    }

    async fn next_page(&self, remote: &dyn Remote, side: &mut Side<'_>, spent: &mut Spent) -> Result<()> {
        spend(&mut spent.pages, 1, "pages of history", MOST_PAGES)?;
        side.page += 1;
        let page = remote.history(side.tip, side.page).await?;
        let page = page.ok_or_else(|| Error::Missing(format!("the commit {}", side.tip)))?;
        side.more = page.more && !page.commits.is_empty();
        side.until = page.commits.last().map_or(side.until, |last| last.committer.at);
        let (room, mut tries) = (self.room.clone(), std::mem::take(&mut spent.tries));
        let (tries, failed) = blocking(move || {
            let failed = keep_commits(&room, &page.commits, &mut tries)?;
            Ok((tries, failed))
        })
        .await?;
        spent.tries = tries;
        spent.unproved.extend(failed);
        if spent.unproved.contains(side.tip) {
            return Err(unproved(side.tip));
        }
        // Otherwise the rest of its history would be asked for, and it would still not be here.
        if !self.has(side.tip.as_str()).await? {
            return Err(Error::Missing(format!("the commit {}", side.tip)));
        }
        Ok(())
    }

    async fn tree_of(&self, remote: &dyn Remote, commit: &CommitId, spent: &mut Spent) -> Result<()> {
        let (room, id) = (self.room.clone(), commit.clone());
        let tree = blocking(move || Ok(room.reader()?.commit(&id)?.tree)).await?;
        self.tree(remote, tree, spent).await
    }

    /// A tree with all below it. One that is too large for a listing is taken in parts.
    async fn tree(&self, remote: &dyn Remote, root: TreeId, spent: &mut Spent) -> Result<()> {
        let (mut todo, mut seen, mut above) = (vec![root], HashSet::new(), Vec::new());
        while let Some(id) = todo.pop() {
            if !seen.insert(id.clone()) || self.has(&id.0).await? {
                continue;
            }
            let whole = self.listing(remote, &id, true, spent).await?;
            if !whole.truncated {
                let room = self.room.clone();
                blocking(move || keep_trees(&room, &id, &whole)).await?;
                continue;
            }
            let one = self.listing(remote, &id, false, spent).await?;
            if one.truncated {
                return Err(Error::TooMuch { what: "entries of one folder", most: one.entries.len() });
            }
            todo.extend(one.entries.iter().filter(|entry| entry.mode.is_tree()).map(|entry| TreeId(entry.id.clone())));
            above.push((id, one));
        }
        let room = self.room.clone();
        blocking(move || {
            let odb = Repository::open_bare(&room.dir)?;
            let odb = odb.odb()?;
            // What was met later is below what was met before.
            above.iter().rev().try_for_each(|(id, listing)| keep_tree(&odb, id, &level(listing)?))
        })
        .await
    }

    async fn listing(&self, remote: &dyn Remote, id: &TreeId, whole: bool, spent: &mut Spent) -> Result<Listing> {
        spend(&mut spent.listings, 1, "listings of folders", MOST_LISTINGS)?;
        remote.tree(id, whole).await?.ok_or_else(|| Error::Missing(format!("the tree {id}")))
    }

    /// Gets files. Answers those that can't be had.
    async fn blobs(&self, remote: &dyn Remote, ids: Vec<BlobId>, spent: &mut Spent) -> Result<Vec<BlobId>> {
        spend(&mut spent.files, ids.len(), "files", MOST_FILES)?;
        let asked = ids.into_iter().map(|id| async move {
            let bytes = remote.blob(&id).await?;
            Ok::<_, Error>((id, bytes))
        });
        let mut answers = futures::stream::iter(asked).buffer_unordered(AT_ONCE);
        let mut gone = Vec::new();
        while let Some((id, bytes)) = answers.try_next().await? {
            let Some(bytes) = bytes else {
                gone.push(id);
                continue;
            };
            spend(&mut spent.bytes, bytes.len(), "bytes of files", MOST_BYTES)?;
            let room = self.room.clone();
            blocking(move || {
                let repo = Repository::open_bare(&room.dir)?;
                keep(&repo.odb()?, ObjectType::Blob, id.as_str(), &bytes, || format!("the file {id}"))
            })
            .await?;
        }
        Ok(gone)
    }

    async fn has(&self, id: &str) -> Result<bool> {
        let (room, id) = (self.room.clone(), id.to_owned());
        blocking(move || {
            let repo = Repository::open_bare(&room.dir)?;
            let odb = repo.odb()?;
            Ok(Oid::from_str(&id).is_ok_and(|id| odb.exists(id)))
        })
        .await
    }
}

async fn resolve(remote: &dyn Remote, want: &Want) -> Result<CommitId> {
    match want {
        Want::Commit(id) => Ok(id.clone()),
        Want::Ref(name) => remote.find_ref(name).await?.ok_or_else(|| Error::Missing(format!("the ref {name:?}"))),
    }
}

fn unproved(commit: &CommitId) -> Error {
    Error::Unproved(format!("the commit {commit}"))
}

/// What is wrong with the mirror itself. What the other side does not have, or tells wrongly, is not.
fn is_broken(error: &Error) -> bool {
    match error {
        Error::Git(_) | Error::Malformed(_) => true,
        Error::Io { error, .. } => error.kind() == std::io::ErrorKind::NotADirectory,
        _ => false,
    }
}

/// Writes an object, if it has this id.
fn keep(odb: &Odb<'_>, kind: ObjectType, id: &str, bytes: &[u8], what: impl Fn() -> String) -> Result<()> {
    if Oid::hash_object(kind, bytes)?.to_string() != id {
        return Err(Error::Unproved(what()));
    }
    around!("mirror.object", odb.write(kind, bytes))?;
    Ok(())
}

/// The files that a change touches, and those of them that its base has changed too, as far as they are not here.
fn touched(room: &Room, of: &Fetched) -> Result<Vec<BlobId>> {
    let Some(from) = &of.merge_base else { return Ok(Vec::new()) };
    let reader = room.reader()?;
    let (change, mut moved) = (reader.diff(from, &of.head)?, reader.diff(from, &of.base)?);
    let paths: HashSet<_> = change.iter().map(|delta| delta.path.clone()).collect();
    moved.retain(|delta| paths.contains(&delta.path));
    let repo = Repository::open_bare(&room.dir)?;
    let odb = repo.odb()?;
    let files = change.into_iter().chain(moved).flat_map(|Delta { old, new, .. }| [old, new]).flatten();
    let absent =
        files.filter(|(mode, id)| !mode.is_submodule() && !Oid::from_str(id.as_str()).is_ok_and(|id| odb.exists(id)));
    Ok(absent.map(|(_, id)| id).collect::<BTreeSet<_>>().into_iter().collect())
}

/// Writes the commits that can be put together, and where the history is cut. Answers those that can't.
fn keep_commits(room: &Room, told: &[Told], tries: &mut Tries) -> Result<Vec<CommitId>> {
    let repo = Repository::open_bare(&room.dir)?;
    let odb = repo.odb()?;
    let (mut fresh, mut failed) = (Vec::new(), Vec::new());
    for one in told {
        match Oid::from_str(one.id.as_str()) {
            Ok(id) if odb.exists(id) => {}
            Ok(_) => match rebuild(one, tries) {
                Some(bytes) => fresh.push((&one.id, bytes)),
                None => failed.push(one.id.clone()),
            },
            Err(_) => failed.push(one.id.clone()),
        }
    }
    let arriving: HashSet<&CommitId> = fresh.iter().map(|(id, _)| *id).collect();
    let mut all = cuts(&repo)?;
    for (id, bytes) in &fresh {
        let reaches = |parent: &CommitId| {
            arriving.contains(parent) || Oid::from_str(parent.as_str()).is_ok_and(|parent| odb.exists(parent))
        };
        if !parents_of(bytes)?.iter().all(reaches) {
            all.insert(Oid::from_str(id.as_str())?);
        }
    }
    around!("mirror.cuts", write_cuts(room, &all))?;
    for (id, bytes) in &fresh {
        keep(&odb, ObjectType::Commit, id.as_str(), bytes, || format!("the commit {id}"))?;
    }
    // Others' parents may have come, now or before a crash.
    let mut still = HashSet::new();
    for cut in all {
        let Ok(commit) = odb.read(cut) else { continue };
        let here = |parent: &CommitId| Oid::from_str(parent.as_str()).is_ok_and(|parent| odb.exists(parent));
        if !parents_of(commit.data())?.iter().all(here) {
            still.insert(cut);
        }
    }
    around!("mirror.cuts", write_cuts(room, &still))?;
    Ok(failed)
}

/// Says where the history is cut, all at once: who reads half of it would take a cut for the beginning.
fn write_cuts(room: &Room, cuts: &HashSet<Oid>) -> Result<()> {
    let file = room.dir.join("shallow");
    if cuts.is_empty() {
        return match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(room.io("write to")(error)),
            _ => Ok(()),
        };
    }
    let mut lines: Vec<String> = cuts.iter().map(|cut| format!("{cut}\n")).collect();
    lines.sort();
    let beside: &Path = &room.dir.join("shallow.new");
    std::fs::write(beside, lines.concat()).and_then(|()| std::fs::rename(beside, file)).map_err(room.io("write to"))
}

type Level<'l> = Vec<(&'l str, Mode, Oid)>;

/// The entries of one tree.
fn level(listing: &Listing) -> Result<Level<'_>> {
    listing.entries.iter().map(|entry| Ok((entry.path.as_str(), entry.mode, entry_id(&entry.id)?))).collect()
}

fn entry_id(id: &str) -> Result<Oid> {
    Oid::from_str(id).map_err(|_| Error::Unproved(format!("the object {id:?}")))
}

fn keep_tree(odb: &Odb<'_>, id: &TreeId, entries: &Level<'_>) -> Result<()> {
    let bytes = written(entries.iter().map(|(name, mode, id)| (name.as_bytes(), *mode, *id)));
    keep(odb, ObjectType::Tree, &id.0, &bytes, || format!("the tree {id}"))
}

/// Writes a tree and all below it, the lowest first.
fn keep_trees(room: &Room, root: &TreeId, listing: &Listing) -> Result<()> {
    let mut levels: HashMap<&str, (TreeId, Level<'_>)> = HashMap::from([("", (root.clone(), Vec::new()))]);
    for entry in listing.entries.iter().filter(|entry| entry.mode.is_tree()) {
        levels.insert(&entry.path, (TreeId(entry.id.clone()), Vec::new()));
    }
    for entry in &listing.entries {
        let (folder, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        let (_, level) = levels.get_mut(folder).ok_or_else(|| Error::Unproved(format!("the tree {root}")))?;
        level.push((name, entry.mode, entry_id(&entry.id)?));
    }
    let mut levels: Vec<(&str, (TreeId, Level<'_>))> = levels.into_iter().collect();
    levels.sort_by_key(|(path, _)| std::cmp::Reverse(if path.is_empty() { 0 } else { path.matches('/').count() + 1 }));
    let repo = Repository::open_bare(&room.dir)?;
    let odb = repo.odb()?;
    levels.iter().try_for_each(|(_, (id, entries))| keep_tree(&odb, id, entries))
}
