//! A mirror that is filled by an API, held against the repository that the API tells of.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use git2::{ObjectType, Oid, Repository};

use super::*;
use crate::ids::BlobId;
use crate::repo::testing::{File, Scratch};
use crate::repo::{Access, Filter, Hand, Listed, Listing, Mode, Page, Sealed, Told, TreeId};

/// An API over a real repository. It tells commits as GitHub does: in UTC, and without the line break at the end.
struct Api {
    repo: Mutex<Repository>,
    /// So many commits a page, and so many entries of a listing.
    page: usize,
    most: usize,
    asked: Mutex<BTreeMap<&'static str, usize>>,
    /// What is told in place of a file, of an entry's id, of a tree's id.
    lies: BTreeMap<String, String>,
    gone: Vec<String>,
    lacks_git: AtomicUsize,
    /// Where git finds nothing.
    nowhere: bool,
}

impl Api {
    fn of(scratch: &Scratch) -> Self {
        Self {
            repo: Mutex::new(Repository::open_bare(scratch.path()).unwrap()),
            page: 100,
            most: 100_000,
            asked: Mutex::default(),
            lies: BTreeMap::new(),
            gone: Vec::new(),
            lacks_git: AtomicUsize::new(1),
            nowhere: true,
        }
    }

    fn count(&self, what: &'static str) {
        *self.asked.lock().unwrap().entry(what).or_default() += 1;
    }

    /// How often it was asked for something, since the last time.
    fn asked(&self) -> Vec<(&'static str, usize)> {
        std::mem::take(&mut *self.asked.lock().unwrap()).into_iter().collect()
    }

    fn lie(&self, id: String) -> String {
        self.lies.get(&id).cloned().unwrap_or(id)
    }
}

fn told(repo: &Repository, id: Oid) -> Told {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let odb = repo.odb().unwrap();
    let raw = odb.read(id).unwrap();
    let commit = repo.find_commit(id).unwrap();
    let hand = |who: git2::Signature<'_>| Hand {
        name: text(who.name_bytes()),
        email: text(who.email_bytes()),
        at: who.when().seconds(),
        zone: None,
    };
    let sealed = repo.extract_signature(&id, None).ok();
    Told {
        id: CommitId::new(id.to_string()).unwrap(),
        tree: TreeId(commit.tree_id().to_string()),
        parents: crate::repo::local::parents_of(raw.data()).unwrap(),
        author: hand(commit.author()),
        committer: hand(commit.committer()),
        message: text(commit.message_raw_bytes()).trim_end_matches('\n').to_owned(),
        sealed: sealed.map(|(signature, payload)| Sealed { payload: text(&payload), signature: text(&signature) }),
    }
}

#[async_trait]
impl Remote for Api {
    async fn access(&self) -> Result<Access> {
        self.count("git");
        let end = if self.nowhere { "/nowhere" } else { "" };
        let url = format!("file://{}{end}", self.repo.lock().unwrap().path().display());
        Ok(Access { url, password: None })
    }

    fn lacks_git(&self) -> bool {
        self.lacks_git.load(Ordering::Relaxed) > 0
    }

    async fn is_without_git(&self) -> Result<bool> {
        self.lacks_git.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    async fn find_ref(&self, name: &str) -> Result<Option<CommitId>> {
        self.count("ref");
        let found = self.repo.lock().unwrap().refname_to_id(name).ok();
        Ok(found.map(|id| CommitId::new(id.to_string()).unwrap()))
    }

    async fn history(&self, from: &CommitId, page: u32) -> Result<Option<Page>> {
        self.count("history");
        let repo = self.repo.lock().unwrap();
        let Ok(from) = repo.find_commit(Oid::from_str(from.as_str()).unwrap()) else { return Ok(None) };
        let mut walk = repo.revwalk().unwrap();
        walk.set_sorting(git2::Sort::TIME).unwrap();
        walk.push(from.id()).unwrap();
        let all: Vec<Oid> = walk.map(|id| id.unwrap()).collect();
        let pages: Vec<&[Oid]> = all.chunks(self.page).collect();
        let at = page as usize - 1;
        let commits = pages.get(at).map(|ids| ids.iter().map(|id| told(&repo, *id)).collect()).unwrap_or_default();
        Ok(Some(Page { commits, more: at + 1 < pages.len() }))
    }

    async fn tree(&self, id: &TreeId, recursive: bool) -> Result<Option<Listing>> {
        self.count("tree");
        let repo = self.repo.lock().unwrap();
        let (mut entries, mut open) = (Vec::new(), vec![(String::new(), Oid::from_str(&id.0).unwrap())]);
        if self.gone.contains(&id.0) {
            return Ok(None);
        }
        while let Some((at, id)) = open.pop() {
            let Ok(tree) = repo.find_tree(id) else { return Ok(None) };
            for entry in &tree {
                let path = format!("{at}{}", String::from_utf8_lossy(entry.name_bytes()));
                let mode = Mode::new(entry.filemode_raw() as u32);
                if recursive && mode.is_tree() {
                    open.push((format!("{path}/"), entry.id()));
                }
                entries.push(Listed { path, mode, id: self.lie(entry.id().to_string()) });
            }
        }
        let truncated = recursive && entries.len() > self.most;
        entries.truncate(if truncated { self.most } else { usize::MAX });
        Ok(Some(Listing { entries, truncated }))
    }

    async fn blob(&self, id: &BlobId) -> Result<Option<Vec<u8>>> {
        self.count("blob");
        if let Some(lie) = self.lies.get(id.as_str()) {
            return Ok(Some(lie.clone().into_bytes()));
        }
        if self.gone.iter().any(|gone| gone == id.as_str()) {
            return Ok(None);
        }
        let found =
            self.repo.lock().unwrap().find_blob(Oid::from_str(id.as_str()).unwrap()).ok().map(|b| b.content().to_vec());
        Ok(found)
    }
}

struct Stage {
    repo: Scratch,
    api: Arc<Api>,
    mirror: Mirror,
    dir: tempfile::TempDir,
}

fn stage(repo: Scratch, set: impl FnOnce(&mut Api)) -> Stage {
    let mut api = Api::of(&repo);
    set(&mut api);
    let (api, dir) = (Arc::new(api), tempfile::tempdir().unwrap());
    let mirror = Mirror::open(dir.path(), RepoId(7), api.clone()).unwrap();
    Stage { repo, api, mirror, dir }
}

fn id(text: Oid) -> CommitId {
    CommitId::new(text.to_string()).unwrap()
}

/// A commit of these bytes, whatever they are.
fn raw(repo: &Scratch, bytes: impl AsRef<[u8]>) -> CommitId {
    let repo = Repository::open_bare(repo.path()).unwrap();
    id(repo.odb().unwrap().write(ObjectType::Commit, bytes.as_ref()).unwrap())
}

/// The headers of a commit of this tree on these parents, at a time of their own.
fn headers(repo: &Scratch, tree: Oid, parents: &[&CommitId], zones: (&str, &str)) -> String {
    let clock = repo.tick();
    let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
    let (by, put) = zones;
    format!(
        "tree {tree}\n{parents}author Ada <ada@example.com> {clock} {by}\ncommitter Bob B. <b@example.com> {} {put}\n",
        clock + 7
    )
}

const SIGNATURE: &str =
    "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEzBAABCAAdFiEE\n =abcd\n -----END PGP SIGNATURE-----\n";

fn a_tree(repo: &Scratch, text: &str) -> Oid {
    let at = repo.text(&[], &[("a", text)]);
    let repo = Repository::open_bare(repo.path()).unwrap();
    repo.find_commit(Oid::from_str(at.as_str()).unwrap()).unwrap().tree_id()
}

#[tokio::test]
async fn commits_of_every_make_come_back_byte_for_byte() {
    let repo = Scratch::new();
    let tree = a_tree(&repo, "1");
    let mut tip = repo.text(&[], &[("a", "1")]);
    let mut all = vec![tip.clone()];
    let mut add = |bytes: String| {
        tip = raw(&repo, bytes);
        all.push(tip.clone());
    };
    let zones = [
        ("+0000", "+0000"),
        ("+0530", "-0345"),
        ("+1400", "-1200"),
        ("-0000", "-0000"),
        ("+0053", "+0053"),
        ("+0100", "+0200"),
        ("-0000", "+0845"),
    ];
    let endings = ["\n", "", "\n\n"];
    for (at, zones) in zones.into_iter().enumerate() {
        let ending = endings[at % endings.len()];
        add(format!("{}\nwork {at}\n\nmore é{ending}", headers(&repo, tree, &[], zones)));
    }
    let plain = || headers(&repo, tree, &[], ("+0200", "+0200"));
    add(format!("{}\n", plain()));
    add(format!("{}{SIGNATURE}\nsigned\n", plain()));
    add(format!("{}{SIGNATURE} \n\nsigned, with an empty line\n", plain()));
    add(format!("{}{SIGNATURE}\nsigned, and it just ends", plain()));
    add(format!("{}{SIGNATURE}encoding UTF-8\n\nsigned, in the middle\n", plain()));
    add(format!("{}encoding UTF-8\n{SIGNATURE}\nsigned, at the end\n", plain()));
    let merge = raw(&repo, format!("{}\nall\n", headers(&repo, tree, &all.iter().collect::<Vec<_>>(), zones[1])));

    let on = stage(repo, |_| {});
    assert_eq!(on.mirror.fetch(&[Want::Commit(merge.clone())]).await.unwrap().first(), Some(&merge));
    let (mine, theirs) = (on.mirror.by_api.room().reader().unwrap(), on.repo.reader());
    for commit in all.iter().chain([&merge]) {
        assert_eq!(mine.commit(commit).unwrap(), theirs.commit(commit).unwrap());
        assert!(mine.is_ancestor(commit, &merge).unwrap());
    }
    assert!(!on.mirror.by_api.room().dir.join("shallow").exists(), "all of it is here");
}

#[tokio::test]
async fn a_commit_that_can_not_be_put_together_is_named_where_it_is_needed_and_nowhere_else() {
    let repo = Scratch::new();
    let tree = a_tree(&repo, "1");
    let old = raw(&repo, [headers(&repo, tree, &[], ("+0000", "+0000")).as_bytes(), b"\nf\xfcr\n"].concat());
    let fork = repo.text(&[&old], &[("a", "1")]);
    let base = repo.text(&[&fork], &[("a", "1"), ("b", "1")]);
    let head = repo.text(&[&fork], &[("a", "2")]);
    let latin = raw(&repo, [headers(&repo, tree, &[&fork], ("+0000", "+0000")).as_bytes(), b"\nf\xfcr\n"].concat());
    let above = repo.text(&[&latin], &[("a", "3")]);
    let on = stage(repo, |_| {});
    let want = |id: &CommitId| Want::Commit(id.clone());

    // Behind the merge base it matters to nobody, and the cut is told.
    let fetched = on.mirror.fetch_change(&want(&base), &want(&head)).await.unwrap();
    assert_eq!(fetched.merge_base.as_ref(), Some(&fork));
    let reader = on.mirror.by_api.room().reader().unwrap();
    assert!(matches!(reader.is_ancestor(&old, &head), Err(Error::Missing(_))));
    assert!(matches!(reader.is_ancestor(&base, &head), Err(Error::Shallow)));
    // As the head, and on the way to it.
    for change in [&latin, &above] {
        let error = on.mirror.fetch_change(&want(&base), &want(change)).await.unwrap_err();
        assert!(matches!(error, Error::Unproved(_)), "{error}");
        let says = error.to_string();
        assert!(says.contains(latin.as_str()) && says.contains("git over HTTP"), "{says}");
    }
    let odb = Repository::open_bare(&on.mirror.by_api.room().dir).unwrap();
    let odb = odb.odb().unwrap();
    let kept = |id: &CommitId| odb.exists(Oid::from_str(id.as_str()).unwrap());
    assert!(!kept(&latin) && !kept(&old) && kept(&above));
}

/// Fifty commits, a change that parted from the thirtieth, and files of every kind.
fn a_project() -> (Scratch, CommitId, CommitId, CommitId) {
    let repo = Scratch::new();
    let (mut tip, mut line) = (None, Vec::new());
    for n in 0..50 {
        let n = n.to_string();
        let files: [File<'_>; 9] = [
            (b"moved/from", 0o100_644, b"1\n2\n3\n4\n5\n6\n7\n"),
            (b"a-b", 0o100_755, b"#!/bin/sh\n"),
            (b"a.b", 0o120_000, b"a-b"),
            (b"a/deep/er/file", 0o100_644, b"x\n"),
            (b"n", 0o100_644, n.as_bytes()),
            (b"sub", 0o160_000, b"1234567890123456789012345678901234567890"),
            (b"old/name", 0o100_644, b"one\ntwo\nthree\nfour\nfive\n"),
            (b"both", 0o100_644, b"top\n1\n2\n3\n4\n5\n6\n7\nbottom\n"),
            (b"picture", 0o100_644, b"\x00\xff\x01"),
        ];
        tip = Some(repo.commit(&tip.iter().collect::<Vec<_>>(), &files));
        line.extend(tip.clone());
    }
    let (fork, tip) = (line[29].clone(), line[49].clone());
    let change: [File<'_>; 8] = [
        (b"moved/from", 0o100_644, b"1\n2\n3\n4\n5\n6\n7\n"),
        (b"a-b", 0o100_755, b"#!/bin/sh\n"),
        (b"a/deep/er/file", 0o100_644, b"changed\n"),
        (b"n", 0o100_644, b"29"),
        (b"sub", 0o160_000, b"1234567890123456789012345678901234567890"),
        (b"new/name", 0o100_644, b"one\ntwo\nthree\nfour\nfive\nsix\n"),
        (b"both", 0o100_644, b"TOP\n1\n2\n3\n4\n5\n6\n7\nbottom\n"),
        (b"picture", 0o100_644, b"\x00\xff\x02"),
    ];
    let head = repo.commit(&[&fork], &change);
    let base: [File<'_>; 10] = [
        (b"moved/to", 0o100_644, b"1\n2\n3\n4\n5\n6\n7\n8\n"),
        (b"a-b", 0o100_755, b"#!/bin/sh\n"),
        (b"a.b", 0o120_000, b"a-b"),
        (b"a/deep/er/file", 0o100_644, b"x\n"),
        (b"sub", 0o160_000, b"1234567890123456789012345678901234567890"),
        (b"picture", 0o100_644, b"\x00\xff\x01"),
        (b"n", 0o100_644, b"50"),
        (b"old/name", 0o100_644, b"zero\none\ntwo\nthree\nfour\nfive\n"),
        (b"both", 0o100_644, b"top\n1\n2\n3\n4\n5\n6\n7\nBOTTOM\n"),
        (b"elsewhere", 0o100_644, b"nobody looks\n"),
    ];
    let base = repo.commit(&[&tip], &base);
    (repo, base, head, fork)
}

type Seen =
    (Vec<crate::repo::Delta>, Option<Digest>, Option<Vec<crate::repo::Delta>>, Vec<CommitId>, Vec<crate::repo::Entry>);

/// What the readers above make of a change.
fn seen(reader: &LocalRepo, base: &CommitId, head: &CommitId) -> Result<Seen> {
    let fork = reader.merge_base(base, head)?.ok_or(Error::Shallow)?;
    Ok((
        reader.diff(&fork, head)?,
        reader.patch_id(&fork, head)?,
        reader.brings(base, head)?,
        reader.commits_between(&fork, head, 100)?,
        reader.tree(head, Filter::All)?,
    ))
}

#[tokio::test]
async fn a_change_reads_as_it_does_by_git_and_costs_what_it_touches() {
    let (repo, base, head, fork) = a_project();
    repo.point("refs/heads/main", &base);
    let on = stage(repo, |api| api.page = 10);
    let want = (Want::Ref("refs/heads/main".into()), Want::Commit(head.clone()));
    let fetched = on.mirror.fetch_change(&want.0, &want.1).await.unwrap();
    assert_eq!(fetched, Fetched { base: base.clone(), head: head.clone(), merge_base: Some(fork.clone()) });
    // A page of the change, three of its base until they meet; a listing of each tree; nine contents of the change's files,
    // and two that the base has made of them.
    assert_eq!(on.api.asked(), [("blob", 11), ("history", 4), ("ref", 1), ("tree", 3)]);
    let reader = on.mirror.by_api.room().reader().unwrap();
    assert!(matches!(reader.is_ancestor(&head, &base), Err(Error::Shallow)), "a cut history is not a whole one");

    let (one, other) = (base.clone(), head.clone());
    let mine = on.mirror.read(move |reader| seen(reader, &one, &other)).await.unwrap();
    assert_eq!(mine, seen(&on.repo.reader(), &base, &head).unwrap());
    assert!(mine.1.is_some() && mine.2.is_some(), "there is a patch, and it merges");
    // What has come and gone on a side may have been renamed, and is compared line by line.
    assert_eq!(on.api.asked(), [("blob", 3)]);
    // And again it costs nothing.
    let want = (Want::Commit(base.clone()), Want::Commit(head.clone()));
    assert_eq!(on.mirror.fetch_change(&want.0, &want.1).await.unwrap(), fetched);
    assert_eq!(on.api.asked(), []);
}

#[tokio::test]
async fn what_a_reader_looks_for_is_fetched_whatever_it_makes_of_the_error() {
    let (repo, base, head, _) = a_project();
    let on = stage(repo, |_| {});
    on.mirror.fetch_change(&Want::Commit(base.clone()), &Want::Commit(head.clone())).await.unwrap();
    on.api.asked();
    let at = base.clone();
    let quiet =
        move |reader: &LocalRepo| Ok(reader.blob(&at, &"elsewhere".into()).ok().flatten().map(|blob| blob.bytes));
    assert_eq!(on.mirror.read(quiet).await.unwrap().as_deref(), Some("nobody looks\n".as_bytes()));
    assert_eq!(on.api.asked(), [("blob", 1)]);
    // The tree of a commit that was only passed by.
    let old = on.repo.reader().commit(&head).unwrap().parents[0].clone();
    let old = on.repo.reader().commit(&old).unwrap().parents[0].clone();
    let (from, to) = (old.clone(), head.clone());
    let deltas = on.mirror.read(move |reader| reader.diff(&from, &to)).await.unwrap();
    assert_eq!(deltas, on.repo.reader().diff(&old, &head).unwrap());
    assert_eq!(on.api.asked(), [("tree", 1)]);
    // The reader itself says what it is that it lacks.
    let reader = on.mirror.by_api.room().reader().unwrap();
    let error = reader.blob(&old, &"n".into()).unwrap_err();
    assert!(matches!(&error, Error::Absent(absent) if absent.len() == 1), "{error}");
}

#[tokio::test]
async fn what_is_gone_at_the_other_side_stays_absent_and_is_asked_for_once() {
    let (repo, base, head, _) = a_project();
    let blob = repo.reader().blob(&base, &"elsewhere".into()).unwrap().unwrap().id;
    let on = stage(repo, |api| api.gone.push(blob.to_string()));
    on.mirror.fetch_change(&Want::Commit(base.clone()), &Want::Commit(head)).await.unwrap();
    on.api.asked();
    let at = base.clone();
    let read = |at: CommitId| on.mirror.read(move |reader| reader.blob(&at, &"elsewhere".into()).map(drop));
    assert!(matches!(read(at.clone()).await, Err(Error::Absent(_))));
    assert_eq!(on.api.asked(), [("blob", 1)]);
    let swallowed = on.mirror.read(move |reader| Ok(reader.blob(&at, &"elsewhere".into()).is_err())).await;
    assert!(swallowed.unwrap());
    let nobody = Want::Commit(CommitId::new("1".repeat(40)).unwrap());
    assert!(matches!(on.mirror.fetch(&[nobody]).await, Err(Error::Missing(_))));
    assert!(matches!(on.mirror.fetch(&[Want::Ref("refs/heads/none".into())]).await, Err(Error::Missing(_))));
}

#[tokio::test]
async fn a_tree_that_is_too_large_for_one_listing_is_taken_in_parts() {
    let (repo, base, head, _) = a_project();
    for most in [1, 3, 8] {
        let on = stage(Scratch::at(repo.path()), |api| api.most = most);
        on.mirror.fetch_change(&Want::Commit(base.clone()), &Want::Commit(head.clone())).await.unwrap();
        let reader = on.mirror.by_api.room().reader().unwrap();
        for at in [&base, &head] {
            assert_eq!(reader.tree(at, Filter::All).unwrap(), on.repo.reader().tree(at, Filter::All).unwrap());
        }
    }
}

#[tokio::test]
async fn nothing_is_kept_under_an_id_that_is_not_its_own() {
    let (repo, base, head, _) = a_project();
    let reader = repo.reader();
    let file = reader.blob(&head, &"n".into()).unwrap().unwrap().id.to_string();
    let other = reader.blob(&head, &"both".into()).unwrap().unwrap().id.to_string();
    // Another file where this one was asked for; and a tree that names another file.
    for lie in ["somebody else's bytes".to_owned(), other] {
        let on = stage(Scratch::at(repo.path()), |api| drop(api.lies.insert(file.clone(), lie)));
        let (base, head) = (Want::Commit(base.clone()), Want::Commit(head.clone()));
        let error = match on.mirror.fetch_change(&base, &head).await {
            Ok(fetched) => {
                let read = on.mirror.read(move |reader| reader.blob(&fetched.head, &"n".into()));
                read.await.map(drop).unwrap_err()
            }
            Err(error) => error,
        };
        assert!(matches!(error, Error::Unproved(_)), "{error}");
        let kept = Repository::open_bare(&on.mirror.by_api.room().dir).unwrap();
        assert!(!kept.odb().unwrap().exists(Oid::from_str(&file).unwrap()));
    }
}

#[tokio::test]
async fn an_end_is_put_to_what_is_asked_for_one_by_one() {
    let repo = Scratch::new();
    let mut tip = repo.text(&[], &[("a", "0")]);
    let start = tip.clone();
    for n in 0..70 {
        tip = repo.text(&[&tip], &[("a", &n.to_string())]);
    }
    let on = stage(repo, |api| api.page = 1);
    let error = on.mirror.fetch_change(&Want::Commit(start), &Want::Commit(tip)).await.unwrap_err();
    assert!(matches!(error, Error::TooMuch { what: "pages of history", most: 60 }), "{error}");
    assert!(error.to_string().contains("git over HTTP"), "{error}");
}

#[tokio::test]
async fn a_change_made_crosswise_is_refused_as_by_git() {
    let repo = Scratch::new();
    let root = repo.text(&[], &[("a", "0")]);
    let (one, two) = (repo.text(&[&root], &[("a", "1")]), repo.text(&[&root], &[("a", "0"), ("b", "2")]));
    let base = repo.text(&[&one, &two], &[("a", "1"), ("b", "2")]);
    let head = repo.text(&[&two, &one], &[("a", "1"), ("b", "3")]);
    let on = stage(repo, |_| {});
    let error = on.mirror.fetch_change(&Want::Commit(base), &Want::Commit(head)).await.unwrap_err();
    assert!(matches!(error, Error::Crosswise), "{error}");
}

#[tokio::test]
async fn histories_with_nothing_in_common_are_read_to_their_ends() {
    let repo = Scratch::new();
    let base = repo.text(&[&repo.text(&[], &[("a", "0")])], &[("a", "1")]);
    let head = repo.text(&[&repo.text(&[], &[("b", "0")])], &[("b", "1")]);
    let on = stage(repo, |api| api.page = 1);
    let fetched = on.mirror.fetch_change(&Want::Commit(base), &Want::Commit(head)).await.unwrap();
    assert_eq!(fetched.merge_base, None);
    assert!(!on.mirror.by_api.room().dir.join("shallow").exists());
}

#[tokio::test]
async fn a_mirror_that_is_broken_or_was_left_half_done_is_mended() {
    let (repo, base, head, fork) = a_project();
    let on = stage(repo, |_| {});
    let (base, head) = (Want::Commit(base), Want::Commit(head));
    on.mirror.fetch_change(&base, &head).await.unwrap();
    let dir = on.mirror.by_api.room().dir.clone();
    // Killed after the commits were written, and before the cuts that are none any more were taken off.
    std::fs::write(dir.join("shallow"), format!("{fork}\n")).unwrap();
    let Want::Commit(tip) = &head else { unreachable!() };
    assert!(on.mirror.fetch_change(&base, &Want::Commit(tip.clone())).await.unwrap().merge_base.is_some());
    for breakage in [("HEAD", "garbage"), ("config", "[garbage")] {
        std::fs::write(dir.join(breakage.0), breakage.1).unwrap();
        assert_eq!(on.mirror.fetch_change(&base, &head).await.unwrap().merge_base, Some(fork.clone()));
    }
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::write(&dir, "a file in its place").unwrap();
    assert_eq!(on.mirror.fetch_change(&base, &head).await.unwrap().merge_base, Some(fork.clone()));
    let mode = std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "nobody else reads it");
    assert_eq!(std::fs::read_dir(on.dir.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn the_api_is_asked_where_git_finds_something_else_than_git() {
    for (said, nothing) in [
        ("fatal: repository 'http://127.0.0.1:4711/mia/lamp.git/' not found", true),
        ("fatal: http://127.0.0.1:1/o/r.git/info/refs not valid: is this a git repository?", true),
        ("error: RPC failed\nfatal: unable to access 'http://x/': The requested URL returned error: 501", true),
        ("remote: Repository not found.\nfatal: repository 'https://github.com/o/r.git/' not found", false),
        ("fatal: unable to access 'http://x/': The requested URL returned error: 503", false),
        ("fatal: unable to access 'http://x/': Could not resolve host: x", false),
        ("fatal: couldn't find remote ref refs/heads/none", false),
        ("remote: x ' not found", false),
    ] {
        assert_eq!(says_nothing_there(said), nothing, "{said}");
    }
    let repo = Scratch::new();
    let tip = repo.text(&[], &[("a", "0")]);
    repo.point("refs/heads/main", &tip);
    // Git says of a folder that is none: "does not appear to be a git repository". That is no answer of a server.
    let on = stage(repo, |api| api.lacks_git = AtomicUsize::new(0));
    assert!(matches!(on.mirror.fetch(&[Want::Ref("refs/heads/main".into())]).await, Err(Error::Fetch(_))));
    assert_eq!(on.api.lacks_git.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_panic_in_a_reader_is_not_swallowed() {
    let (repo, base, head, _) = a_project();
    let on = stage(repo, |_| {});
    on.mirror.fetch_change(&Want::Commit(base), &Want::Commit(head)).await.unwrap();
    let mirror = on.mirror.clone();
    let panicked = tokio::spawn(async move { mirror.read(|_| -> Result<()> { panic!("as told") }).await.map(drop) });
    assert!(panicked.await.unwrap_err().is_panic());
}

#[tokio::test]
async fn git_is_asked_only_when_a_ref_has_moved() {
    let (repo, base, head, _) = a_project();
    repo.point("refs/heads/main", &base);
    let on = stage(repo, |api| (api.lacks_git, api.nowhere) = (AtomicUsize::new(0), false));
    let main = [Want::Ref("refs/heads/main".into())];
    assert_eq!(on.mirror.fetch(&main).await.unwrap(), std::slice::from_ref(&base));
    assert_eq!(on.api.asked(), [("git", 1)], "nothing is here yet: there is nothing to ask the API for");
    assert_eq!(on.mirror.fetch(&main).await.unwrap(), [base]);
    assert_eq!(on.api.asked(), [("ref", 1)]);
    on.repo.point("refs/heads/main", &head);
    assert_eq!(on.mirror.fetch(&main).await.unwrap(), std::slice::from_ref(&head));
    assert_eq!(on.api.asked(), [("git", 1), ("ref", 1)]);
    // A commit that somebody wants has no place that it could have moved from.
    assert_eq!(on.mirror.fetch(&[main[0].clone(), Want::Commit(head.clone())]).await.unwrap(), [head.clone(), head]);
    assert_eq!(on.api.asked(), [("git", 1), ("ref", 1)]);
}

#[tokio::test]
async fn what_can_not_be_read_is_fetched_again_though_nothing_has_moved() {
    let (repo, base, ..) = a_project();
    repo.point("refs/heads/main", &base);
    let on = stage(repo, |api| (api.lacks_git, api.nowhere) = (AtomicUsize::new(0), false));
    let main = [Want::Ref("refs/heads/main".into())];
    on.mirror.fetch(&main).await.unwrap();
    let read = async || {
        let at = base.clone();
        on.mirror.read(move |reader| reader.tree(&at, Filter::All).map(drop)).await
    };
    read().await.unwrap();
    let objects = on.mirror.by_git.room().dir.join("objects");
    std::fs::remove_dir_all(&objects).unwrap();
    std::fs::create_dir_all(objects.join("pack")).unwrap();
    assert!(read().await.is_err());
    on.mirror.fetch(&main).await.unwrap();
    read().await.unwrap();
}
