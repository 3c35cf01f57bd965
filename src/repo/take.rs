//! What a folder that was laid out has become, taken back as a tree.
//!
//! Whoever worked in the folder may have done anything to the repository in it: moved its head, set a filter, a hook, a file system
//! monitor. So that repository is not opened. The files are read into one of our own, which borrows the same objects, with nothing of
//! the folder's settings; and none of it is in the repository that it came from before somebody asks for it.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use git2::{IndexAddOption, ObjectType, Odb, Oid, Repository, Tree, TreeWalkMode, TreeWalkResult};

use super::local::{LocalRepo, commit_id};
use super::{Delta, Error, RepoPath, Result};
use crate::ids::CommitId;
use crate::policy::Sight;

/// A file with more bytes is not taken: no host of repositories takes it either.
pub const LARGEST_TAKEN: u64 = 100 * 1024 * 1024;
/// So many files may differ.
const MOST_TAKEN: usize = 20_000;

/// The content of a folder, apart from the repository that it is to go into.
pub struct Taken {
    own: Repository,
    tree: Oid,
    /// What differs from the commit that was laid out.
    pub deltas: Vec<Delta>,
    /// Repositories inside of it, whose files are nobody's here.
    pub nested: BTreeSet<String>,
    /// What was left there, or taken away, that is not in sight of whoever worked in it.
    pub outside: BTreeSet<RepoPath>,
}

/// Why a folder's content can't be taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    #[error("`{path}` has {bytes} bytes, and at most {LARGEST_TAKEN} are taken of a file")]
    TooLarge { path: String, bytes: u64 },
    #[error("{0} files differ, and at most {MOST_TAKEN} are taken")]
    TooMany(usize),
    #[error(transparent)]
    Repo(#[from] Error),
}

impl From<git2::Error> for TakeError {
    fn from(error: git2::Error) -> Self {
        Self::Repo(error.into())
    }
}

/// Takes what is in `folder`, where the part of `commit` that is in sight was laid out, of the repository with these objects. What is
/// not in sight is as it was in the commit. `own` is an empty folder, for as long as the result is there.
pub fn taken(
    folder: &Path,
    objects: &Path,
    commit: &CommitId,
    sight: &Sight,
    own: &Path,
) -> std::result::Result<Taken, TakeError> {
    let repo = Repository::init_bare(own).map_err(Error::from)?;
    let objects = objects.to_str().filter(|path| !path.contains('\n'));
    let objects =
        objects.ok_or_else(|| Error::Fetch("the path of the repository is not one line of text".to_owned()))?;
    let cant = || Error::io("can't set up the copy");
    std::fs::write(own.join("objects/info/alternates"), format!("{objects}\n")).map_err(cant())?;
    // As it was laid out, so it is taken back: byte for byte.
    std::fs::create_dir_all(own.join("info")).map_err(cant())?;
    let plain = "* -text !eol -ident !filter !working-tree-encoding\n";
    std::fs::write(own.join("info/attributes"), plain).map_err(cant())?;
    drop(repo);
    let repo = Repository::open_bare(own)?;
    repo.set_workdir(folder, false)?;
    let before = repo.find_commit(Oid::from_str(commit.as_str()).map_err(Error::from)?)?.tree()?;
    let mut outside = BTreeSet::new();
    if !sight.is_all() {
        let all = super::tree::Walk::new(&repo).list(before.id(), super::Filter::All)?;
        let unseen: Vec<super::Entry> =
            all.into_iter().filter(|entry| !sight.takes_in(entry.path.as_bytes())).collect();
        std::fs::write(own.join("info/exclude"), ignores(&repo, &unseen)?).map_err(cant())?;
        outside = in_the_way(folder, &unseen);
    }
    let mut index = repo.index()?;
    index.read_tree(&before)?;

    let mut too_large = None;
    let mut nested = BTreeSet::new();
    {
        let mut look = |path: &Path, _: &[u8]| -> i32 {
            let (skip, stop) = (1, -1);
            if path.components().any(|part| part.as_os_str() == "__pycache__") {
                return skip;
            }
            let there = folder.join(path);
            let bytes = path.as_os_str().as_bytes();
            let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes);
            if !sight.takes_in(bytes) {
                // That it is not there says nothing: it was not laid out.
                if there.symlink_metadata().is_ok() {
                    outside.insert(RepoPath::new(bytes));
                }
                return skip;
            }
            let Ok(about) = there.symlink_metadata() else { return 0 };
            if about.is_dir() {
                nested.insert(path.to_string_lossy().trim_end_matches('/').to_owned());
                return skip;
            }
            if about.is_file() && about.len() > LARGEST_TAKEN {
                too_large = Some((path.to_string_lossy().into_owned(), about.len()));
                return stop;
            }
            0
        };
        let updated = index.update_all(["*"], Some(&mut look));
        let added = updated.and_then(|()| index.add_all(["*"], IndexAddOption::DEFAULT, Some(&mut look)));
        if let Some((path, bytes)) = too_large {
            return Err(TakeError::TooLarge { path, bytes });
        }
        added?;
    }
    let tree = index.write_tree()?;
    let by = git2::Signature::new("phasegate", "phasegate@localhost", &git2::Time::new(0, 0))?;
    let deltas = {
        let parent = repo.find_commit(Oid::from_str(commit.as_str()).map_err(Error::from)?)?;
        let now = repo.commit(None, &by, &by, "what was left", &repo.find_tree(tree)?, &[&parent])?;
        use super::Reader as _;
        LocalRepo::open(own)?.diff(commit, &commit_id(now)?)?
    };
    drop(before);
    if deltas.len() > MOST_TAKEN {
        return Err(TakeError::TooMany(deltas.len()));
    }
    outside.extend(deltas.iter().map(|delta| &delta.path).filter(|path| !sight.takes_in(path.as_bytes())).cloned());
    Ok(Taken { own: repo, tree, deltas, nested, outside })
}

/// What stands in the folder where something is that was not laid out: at its place, or where a folder leads to it.
fn in_the_way(folder: &Path, unseen: &[super::Entry]) -> BTreeSet<RepoPath> {
    let mut found = BTreeSet::new();
    let mut free: HashSet<&[u8]> = HashSet::new();
    for entry in unseen {
        let path = entry.path.as_bytes();
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in slashes.chain([path.len()]) {
            let part = &path[..end];
            if free.contains(part) {
                continue;
            }
            match folder.join(OsStr::from_bytes(part)).symlink_metadata() {
                Ok(about) if about.is_dir() && end < path.len() => drop(free.insert(part)),
                Ok(_) => {
                    found.insert(RepoPath::new(part));
                    break;
                }
                // Nor is anything below it.
                Err(_) => break,
            }
        }
    }
    found
}

/// What the `.gitignore` files say that were not laid out, as one file for the root. Without them, what is built would be taken.
fn ignores(repo: &Repository, unseen: &[super::Entry]) -> Result<Vec<u8>> {
    let is_one = |entry: &&super::Entry| {
        let name = entry.path.as_bytes().rsplit(|byte| *byte == b'/').next();
        name == Some(b".gitignore") && entry.mode.is_file()
    };
    let mut rules = Vec::new();
    for entry in unseen.iter().filter(is_one) {
        let path = entry.path.as_bytes();
        let folder = &path[..path.len() - ".gitignore".len()];
        let blob = repo.find_blob(Oid::from_str(entry.blob.as_str())?)?;
        for line in blob.content().split(|byte| *byte == b'\n') {
            rules.extend(from_root(folder, line));
            rules.push(b'\n');
        }
    }
    Ok(rules)
}

/// A line of a `.gitignore` in a folder, as it reads in one at the root. `folder` ends with a slash, or is empty.
fn from_root(folder: &[u8], line: &[u8]) -> Vec<u8> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if folder.is_empty() || line.is_empty() || line.starts_with(b"#") {
        return line.to_vec();
    }
    let (not, body): (&[u8], &[u8]) = match line.strip_prefix(b"!") {
        Some(body) => (b"!", body),
        None => (b"", line),
    };
    let named = body.strip_suffix(b"/").unwrap_or(body);
    // Without a slash in it, it is for every folder below.
    let anywhere: &[u8] = if named.contains(&b'/') { b"" } else { b"**/" };
    let plain: Vec<u8> =
        folder.iter().flat_map(|byte| if b"*?[\\".contains(byte) { vec![b'\\', *byte] } else { vec![*byte] }).collect();
    [not, b"/", &plain, anywhere, body.strip_prefix(b"/").unwrap_or(body)].concat()
}

impl Taken {
    /// One of its files; none where there is no such file.
    pub fn file(&self, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        let tree = self.own.find_tree(self.tree)?;
        let entry = match tree.get_path(Path::new(OsStr::from_bytes(path.as_bytes()))) {
            Ok(entry) => entry,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let plain = matches!(entry.filemode(), 0o100_644 | 0o100_755);
        if entry.kind() != Some(ObjectType::Blob) || !plain {
            return Ok(None);
        }
        Ok(Some(self.own.find_blob(entry.id())?.content().to_vec()))
    }

    /// With other bytes in one of its files.
    pub fn with(&mut self, path: &RepoPath, bytes: &[u8]) -> Result<()> {
        let tree = with_file(&self.own, &self.own.find_tree(self.tree)?, path, bytes)?;
        self.tree = tree;
        Ok(())
    }

    /// A commit of it after its parent, in the repository with this git folder. No branch is moved.
    pub fn commit(&self, git_folder: &Path, parent: &CommitId, message: &str, by: (&str, &str)) -> Result<CommitId> {
        let into = Repository::open(git_folder)?;
        let odb = into.odb()?;
        let tree = self.own.find_tree(self.tree)?;
        self.carry_over(&tree, &odb)?;
        let by = git2::Signature::now(by.0, by.1)?;
        let parent = into.find_commit(Oid::from_str(parent.as_str())?)?;
        let id = into.commit(None, &by, &by, message, &into.find_tree(self.tree)?, &[&parent])?;
        commit_id(id)
    }

    /// What the other repository does not have of a tree, the leaves first, so that nothing is there without what it names.
    fn carry_over(&self, tree: &Tree<'_>, to: &Odb<'_>) -> Result<()> {
        let from = self.own.odb()?;
        let mut missing: Vec<Oid> = Vec::new();
        tree.walk(TreeWalkMode::PreOrder, |_, entry| {
            let there = entry.kind() == Some(ObjectType::Commit) || to.exists(entry.id());
            if !there {
                missing.push(entry.id());
            }
            match there {
                true => TreeWalkResult::Skip,
                false => TreeWalkResult::Ok,
            }
        })?;
        for id in missing.into_iter().rev().chain([tree.id()]) {
            let object = from.read(id)?;
            to.write(object.kind(), object.data())?;
        }
        Ok(())
    }
}

/// A commit after another that differs in one file. No branch is moved.
pub fn committed(
    git_folder: &Path,
    parent: &CommitId,
    path: &RepoPath,
    bytes: &[u8],
    message: &str,
    by: (&str, &str),
) -> Result<CommitId> {
    let repo = Repository::open(git_folder)?;
    let parent = repo.find_commit(Oid::from_str(parent.as_str())?)?;
    let tree = with_file(&repo, &parent.tree()?, path, bytes)?;
    let by = git2::Signature::now(by.0, by.1)?;
    commit_id(repo.commit(None, &by, &by, message, &repo.find_tree(tree)?, &[&parent])?)
}

/// The tree with other bytes in one of its files.
fn with_file(repo: &Repository, tree: &Tree<'_>, path: &RepoPath, bytes: &[u8]) -> Result<Oid> {
    let mut index = git2::Index::new()?;
    index.read_tree(tree)?;
    let time = git2::IndexTime::new(0, 0);
    index.add(&git2::IndexEntry {
        ctime: time,
        mtime: time,
        dev: 0,
        ino: 0,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: repo.blob(bytes)?,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    })?;
    Ok(index.write_tree_to(repo)?)
}

/// The branch that is checked out in a working tree; none where none is.
pub fn branch_of(root: &Path) -> Result<Option<String>> {
    let repo = Repository::open(root)?;
    if repo.head_detached()? {
        return Ok(None);
    }
    let name = repo.find_reference("HEAD")?.symbolic_target().ok().flatten().map(str::to_owned);
    Ok(name)
}

/// Brings the branch that is checked out, and its files, from one commit to a later one. Nothing that is not committed is written
/// over, and a branch that has moved stays.
pub fn advance(root: &Path, from: &CommitId, to: &CommitId) -> Result<()> {
    let repo = Repository::open(root)?;
    let moved =
        || Error::Fetch("the branch that is checked out has moved in the meantime; nothing was written".to_owned());
    let (from, to) = (Oid::from_str(from.as_str())?, Oid::from_str(to.as_str())?);
    let branch = branch_of(root)?.ok_or_else(moved)?;
    if repo.refname_to_id(&branch)? != from {
        return Err(moved());
    }
    let target = repo.find_object(to, Some(ObjectType::Commit))?;
    repo.checkout_tree(&target, Some(git2::build::CheckoutBuilder::new().safe()))?;
    repo.reference_matching(&branch, to, true, from, "phasegate: one pass")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::Reader as _;
    use crate::repo::borrowed;
    use crate::repo::testing::Scratch;

    const FILE: u32 = 0o100_644;

    struct Laid {
        dir: tempfile::TempDir,
        objects: std::path::PathBuf,
    }

    impl Laid {
        fn folder(&self) -> std::path::PathBuf {
            self.dir.path().join("work")
        }
    }

    async fn laid(files: &[(&[u8], u32, &[u8])]) -> (Scratch, CommitId, Laid) {
        let repo = Scratch::new();
        let commit = repo.commit(&[], files);
        let from = repo.reader().common_folder();
        let laid = Laid { dir: tempfile::tempdir().unwrap(), objects: from.join("objects") };
        borrowed(&laid.folder(), &from, &commit, &[], std::time::Duration::from_secs(60)).await.unwrap();
        (repo, commit, laid)
    }

    fn take(copy: &Laid, commit: &CommitId, own: &Path) -> Taken {
        taken(&copy.folder(), &copy.objects, commit, &Sight::default(), own).unwrap()
    }

    fn paths(taken: &Taken) -> Vec<String> {
        taken.deltas.iter().map(|delta| delta.path.to_string()).collect()
    }

    #[tokio::test]
    async fn what_was_done_is_taken_and_lands_whole() {
        let files: &[(&[u8], u32, &[u8])] = &[
            (b"lamp.py", FILE, b"1\r\n"),
            (b"gone.py", FILE, b"2"),
            (b"same.py", FILE, b"3"),
            (b".gitignore", FILE, b"out/\n"),
            (b".gitattributes", FILE, b"*.py text eol=lf\n"),
            (b"__pycache__/x.pyc", FILE, b"4"),
        ];
        let (repo, commit, copy) = laid(files).await;
        let at = |path: &str| copy.folder().join(path);
        std::fs::write(at("lamp.py"), "5\r\n").unwrap();
        std::fs::remove_file(at("gone.py")).unwrap();
        std::fs::create_dir_all(at("new/deep")).unwrap();
        std::fs::write(at("new/deep/a.py"), "6").unwrap();
        std::fs::create_dir_all(at("out")).unwrap();
        std::fs::write(at("out/ignored"), "7").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("link")).unwrap();
        let own = tempfile::tempdir().unwrap();
        let taken = take(&copy, &commit, own.path());
        assert_eq!(paths(&taken), ["gone.py", "lamp.py", "link", "new/deep/a.py"]);
        let git = repo.reader().common_folder();
        let done = taken.commit(&git, &commit, "done", ("bot", "bot@localhost")).unwrap();
        let reader = repo.reader();
        let text = |path: &str| reader.blob(&done, &RepoPath::parse(path).unwrap()).unwrap().map(|blob| blob.bytes);
        assert_eq!(text("lamp.py").unwrap(), b"5\r\n", "byte for byte");
        assert_eq!(text("new/deep/a.py").unwrap(), b"6");
        assert_eq!(text("__pycache__/x.pyc").unwrap(), b"4", "what was not laid out is not gone");
        assert!(text("gone.py").is_none() && text("out/ignored").is_none());
        assert_eq!(text("link").unwrap(), b"/etc/passwd", "a link is its text, and not what it leads to");
        assert_eq!(reader.commit(&done).unwrap().parents, [commit]);
    }

    #[tokio::test]
    async fn nothing_of_it_is_in_the_repository_before_it_is_asked_for() {
        let (repo, commit, copy) = laid(&[(b"a", FILE, b"1")]).await;
        std::fs::write(copy.folder().join("a"), "not for keeps").unwrap();
        let own = tempfile::tempdir().unwrap();
        let taken = take(&copy, &commit, own.path());
        let blob = Oid::hash_object(ObjectType::Blob, b"not for keeps").unwrap();
        let there = || Repository::open_bare(repo.path()).unwrap().odb().unwrap().exists(blob);
        assert!(!there());
        taken.commit(&repo.reader().common_folder(), &commit, "kept", ("bot", "bot@localhost")).unwrap();
        assert!(there());
    }

    #[tokio::test]
    async fn what_was_done_to_the_repository_in_it_does_nothing() {
        let (_repo, commit, copy) = laid(&[(b"a", FILE, b"1"), (b"b", FILE, b"2")]).await;
        let git = copy.folder().join(".git");
        // It commits by itself, sets a filter and a program to be asked, and hides a change from git.
        let run = |args: &[&str]| {
            let mut git = std::process::Command::new("git");
            git.arg("-C").arg(copy.folder()).args(["-c", "user.name=x", "-c", "user.email=x@y"]).args(args);
            assert!(git.output().unwrap().status.success(), "{args:?}");
        };
        std::fs::write(copy.folder().join("a"), "own").unwrap();
        run(&["commit", "-qam", "by itself"]);
        run(&["update-index", "--assume-unchanged", "b"]);
        std::fs::write(copy.folder().join("b"), "hidden").unwrap();
        let proof = copy.dir.path().join("ran");
        let config = format!(
            "[filter \"x\"]\n clean = touch {0}\n[core]\n fsmonitor = touch {0}\n excludesFile = /dev/null\n",
            proof.display()
        );
        std::fs::write(git.join("config"), config).unwrap();
        std::fs::write(git.join("info/attributes"), "* filter=x\n").unwrap();
        std::fs::write(git.join("info/exclude"), "*\n").unwrap();
        std::fs::write(copy.folder().join("c"), "new").unwrap();
        let own = tempfile::tempdir().unwrap();
        assert_eq!(paths(&take(&copy, &commit, own.path())), ["a", "b", "c"]);
        assert!(!proof.exists());
        // Without any repository in it, too.
        std::fs::remove_dir_all(&git).unwrap();
        let own = tempfile::tempdir().unwrap();
        assert_eq!(paths(&take(&copy, &commit, own.path())), ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn a_repository_inside_of_it_is_left_out_and_named() {
        let (_repo, commit, copy) = laid(&[(b"a", FILE, b"1")]).await;
        let inner = Repository::init(copy.folder().join("inner")).unwrap();
        std::fs::write(copy.folder().join("inner/x"), "1").unwrap();
        let by = git2::Signature::now("x", "x@y").unwrap();
        let tree = inner.find_tree(inner.treebuilder(None).unwrap().write().unwrap()).unwrap();
        inner.commit(Some("HEAD"), &by, &by, "x", &tree, &[]).unwrap();
        let own = tempfile::tempdir().unwrap();
        let taken = take(&copy, &commit, own.path());
        assert_eq!((paths(&taken), taken.nested.len()), (Vec::new(), 1), "{:?}", taken.nested);
    }

    #[tokio::test]
    async fn one_of_its_files_is_read_and_written() {
        let (repo, commit, copy) = laid(&[(b"t/STATE.md", FILE, b"Phase: shape\n")]).await;
        std::fs::write(copy.folder().join("t/STATE.md"), "Phase: done\n").unwrap();
        let own = tempfile::tempdir().unwrap();
        let mut taken = take(&copy, &commit, own.path());
        let path = RepoPath::parse("t/STATE.md").unwrap();
        assert_eq!(taken.file(&path).unwrap().unwrap(), b"Phase: done\n");
        taken.with(&path, b"Phase: shape\nStatus: put back\n").unwrap();
        assert!(taken.file(&RepoPath::parse("t").unwrap()).unwrap().is_none(), "a folder is no file");
        let done = taken.commit(&repo.reader().common_folder(), &commit, "x", ("bot", "bot@localhost")).unwrap();
        let blob = repo.reader().blob(&done, &path).unwrap().unwrap();
        assert_eq!(blob.bytes, b"Phase: shape\nStatus: put back\n");
    }

    fn sight(hide: &[&str]) -> Sight {
        let hide = hide.iter().map(|&glob| glob.to_owned()).collect();
        Sight::of(&crate::policy::Pack { only: Vec::new(), hide }).unwrap()
    }

    #[tokio::test]
    async fn what_is_not_in_sight_is_nowhere_in_the_copy_and_stays_in_the_commit() {
        let repo = Scratch::new();
        let earlier = repo.commit(&[], &[(b"lamp.py", FILE, b"an earlier secret")]);
        let files: &[(&[u8], u32, &[u8])] = &[
            (b"lamp.py", FILE, b"1"),
            (b"gone.py", FILE, b"2"),
            (b"secret/key", FILE, b"hush"),
            (b"secret/.gitignore", FILE, b"*.log\n"),
            (b"build/.gitignore", FILE, b"/out/\n"),
        ];
        let commit = repo.commit(&[&earlier], files);
        let from = repo.reader().common_folder();
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("work");
        let sight = sight(&["secret/**", "**/.gitignore"]);
        let limit = std::time::Duration::from_secs(60);
        let (made, of) = crate::repo::packed(&folder, &from, &commit, &sight, limit).await.unwrap();
        assert_eq!((of, made.is_some()), (5, true));
        assert!(folder.join("lamp.py").exists() && !folder.join("secret").exists() && !folder.join("build").exists());
        let copy = Repository::open(&folder).unwrap();
        let odb = copy.odb().unwrap();
        for hidden in ["hush", "an earlier secret", "*.log\n"] {
            assert!(!odb.exists(Oid::hash_object(ObjectType::Blob, hidden.as_bytes()).unwrap()), "{hidden}");
        }
        let there = |commit: &CommitId| odb.exists(Oid::from_str(commit.as_str()).unwrap());
        assert!(!there(&commit) && !there(&earlier) && there(made.as_ref().unwrap()));
        assert!(!folder.join(".git/objects/info/alternates").exists());

        // What it does in sight is taken; what it does not see stays; what it puts there is told.
        std::fs::write(folder.join("lamp.py"), "3").unwrap();
        std::fs::remove_file(folder.join("gone.py")).unwrap();
        std::fs::create_dir_all(folder.join("build/out")).unwrap();
        std::fs::write(folder.join("build/out/x"), "ignored, though nobody sees by what").unwrap();
        let objects = from.join("objects");
        let take = |own: &Path| taken(&folder, &objects, &commit, &sight, own).unwrap();
        let own = tempfile::tempdir().unwrap();
        let left = take(own.path());
        assert_eq!((paths(&left), left.outside.len()), (vec!["gone.py".to_owned(), "lamp.py".to_owned()], 0));
        let done = left.commit(&from, &commit, "done", ("bot", "bot@localhost")).unwrap();
        let kept = repo.reader().blob(&done, &RepoPath::from("secret/key")).unwrap().unwrap();
        assert_eq!(kept.bytes, b"hush");
        for (path, named) in [("Secret/own", "Secret/own"), ("secret/key", "secret/key")] {
            let file = folder.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "mine").unwrap();
            let own = tempfile::tempdir().unwrap();
            let left = take(own.path());
            assert_eq!(left.outside.iter().map(ToString::to_string).collect::<Vec<_>>(), [named]);
            assert!(!paths(&left).contains(&named.to_owned()), "and it is not taken");
            std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
        }
        // A file in the place of a folder would take along what is in it.
        std::fs::write(folder.join("secret"), "a file").unwrap();
        let own = tempfile::tempdir().unwrap();
        assert_eq!(take(own.path()).outside.iter().map(ToString::to_string).collect::<Vec<_>>(), ["secret"]);
    }

    #[test]
    fn a_rule_of_a_folder_reads_the_same_from_the_root() {
        let of = |folder: &str, line: &str| String::from_utf8(from_root(folder.as_bytes(), line.as_bytes())).unwrap();
        for (folder, line, reads) in [
            ("", "out/", "out/"),
            ("a/", "", ""),
            ("a/", "# x", "# x"),
            ("a/", "*.log", "/a/**/*.log"),
            ("a/", "out/", "/a/**/out/"),
            ("a/", "/out/", "/a/out/"),
            ("a/", "!b/c", "!/a/b/c"),
            ("a[1]/", "x\r", "/a\\[1]/**/x"),
        ] {
            assert_eq!(of(folder, line), reads, "{folder} {line}");
        }
    }
}
