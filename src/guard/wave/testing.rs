//! Small real repositories with workers in them.

use std::cell::Cell;
use std::collections::BTreeMap;

use git2::{Oid, Repository, Signature, Time};
use jiff::Timestamp;

use super::git::Target;
use super::{Looked, look};
use crate::finding::Finding;
use crate::ids::CommitId;
use crate::repo::LocalRepo;

/// The moment at which the tests look.
pub(crate) fn now() -> Timestamp {
    "2026-03-01T11:00:00Z".parse().unwrap()
}

/// A bare repository.
pub(crate) struct Yard {
    dir: tempfile::TempDir,
    repo: Repository,
    clock: Cell<i64>,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        Self { dir, repo, clock: Cell::new(1_700_000_000) }
    }

    pub(crate) fn reader(&self) -> LocalRepo {
        LocalRepo::open(self.dir.path()).unwrap()
    }

    /// A commit on top of others: the files of the first, and these.
    pub(crate) fn commit(&self, parents: &[&CommitId], files: &[(&str, &str)]) -> CommitId {
        let files: Vec<(&str, u32, &str)> = files.iter().map(|(path, text)| (*path, 0o100_644, *text)).collect();
        self.raw(parents, &files, &[])
    }

    /// The same with modes, and without these files.
    pub(crate) fn raw(&self, parents: &[&CommitId], files: &[(&str, u32, &str)], gone: &[&str]) -> CommitId {
        self.clock.set(self.clock.get() + 60);
        let by = Signature::new("ada", "ada@example.com", &Time::new(self.clock.get(), 0)).unwrap();
        let parents: Vec<git2::Commit<'_>> = parents.iter().map(|id| self.repo.find_commit(oid(id)).unwrap()).collect();
        let mut all: BTreeMap<String, (u32, Oid)> = BTreeMap::new();
        for parent in &parents {
            parent
                .tree()
                .unwrap()
                .walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
                    if entry.kind() == Some(git2::ObjectType::Blob) {
                        let mode = u32::try_from(entry.filemode()).unwrap();
                        all.insert(format!("{folder}{}", entry.name().unwrap()), (mode, entry.id()));
                    }
                    git2::TreeWalkResult::Ok
                })
                .unwrap();
        }
        for (path, mode, text) in files {
            all.insert((*path).to_owned(), (*mode, self.repo.blob(text.as_bytes()).unwrap()));
        }
        all.retain(|path, _| !gone.contains(&path.as_str()));
        let mut index = git2::Index::new().unwrap();
        for (path, (mode, id)) in all {
            let zero = git2::IndexTime::new(0, 0);
            index
                .add(&git2::IndexEntry {
                    ctime: zero,
                    mtime: zero,
                    dev: 0,
                    ino: 0,
                    mode,
                    uid: 0,
                    gid: 0,
                    file_size: 0,
                    id,
                    flags: 0,
                    flags_extended: 0,
                    path: path.into_bytes(),
                })
                .unwrap();
        }
        let tree = self.repo.find_tree(index.write_tree_to(&self.repo).unwrap()).unwrap();
        let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
        let message = format!("commit {}", self.clock.get());
        let id = self.repo.commit(None, &by, &by, &message, &tree, &parents).unwrap();
        CommitId::new(id.to_string()).unwrap()
    }

    pub(crate) fn point(&self, branch: &str, at: &CommitId) {
        self.reference(&format!("refs/heads/{branch}"), at);
    }

    pub(crate) fn reference(&self, name: &str, at: &CommitId) {
        self.repo.reference(name, oid(at), true, "test").unwrap();
    }

    pub(crate) fn drop_branch(&self, branch: &str) {
        self.repo.find_reference(&format!("refs/heads/{branch}")).unwrap().delete().unwrap();
    }

    /// Cuts the history behind a commit, as a shallow clone does.
    pub(crate) fn cut(&self, behind: &CommitId) {
        std::fs::write(self.dir.path().join("shallow"), format!("{behind}\n")).unwrap();
    }

    /// A worker's work on top of a commit: code, its verdict and its lessons.
    pub(crate) fn work(&self, task: &str, branch: &str, on: &CommitId) -> CommitId {
        self.work_with(task, branch, on, "PASS", "[]")
    }

    pub(crate) fn work_with(&self, task: &str, branch: &str, on: &CommitId, outcome: &str, residue: &str) -> CommitId {
        let code = self.commit(&[on], &[(&format!("src/{task}.rs"), "fn main() {}\n")]);
        let summary = summary(task, outcome, residue);
        let files =
            [(format!("tasks/{task}/SUMMARY.md"), summary), (format!("tasks/{task}/deltas.md"), "- one\n".into())];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let tip = self.commit(&[&code], &files);
        self.point(branch, &tip);
        tip
    }

    /// Looks at a ledger whose wave goes into `main`.
    pub(crate) fn look(&self, text: &str) -> Result<Looked, Vec<Finding>> {
        let repo = self.reader();
        let tip = repo.resolve("refs/heads/main").unwrap().unwrap();
        look("WAVE.md", text.as_bytes(), &repo, Target { name: "main".to_owned(), tip }, now())
    }
}

fn oid(id: &CommitId) -> Oid {
    Oid::from_str(id.as_str()).unwrap()
}

pub(crate) fn summary(task: &str, outcome: &str, residue: &str) -> String {
    format!(
        "# {task}\n\nDone.\n\n```yaml\ntask: {task}\noutcome: {outcome}\nevidence: 12 passed; coverage 81% (was 80%)\n\
         residue: {residue}\ndeltas: [one]\n```\n"
    )
}

/// A ledger out of its rows, each with five cells.
pub(crate) fn ledger(status: &str, base: &CommitId, rows: &[[&str; 5]]) -> String {
    let mut text = format!(
        "wave: parsers status: {status}\nbase: {base}\n\n### Roster\n\n| task | worker | branch | lease | fork-base |\n|---|---|---|---|---|\n"
    );
    for row in rows {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

/// `rule severity: says`, of each.
pub(crate) fn told(findings: &[Finding]) -> Vec<String> {
    let one = |finding: &Finding| {
        let severity = if finding.blocks() { "error" } else { "warning" };
        let place = finding.place().unwrap_or_default();
        format!("{} {severity} {place} {}", finding.rule, finding.says)
    };
    findings.iter().map(one).collect()
}
