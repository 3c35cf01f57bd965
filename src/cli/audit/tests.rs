//! The audit of a ledger in a clone, after somebody who can push has been there.

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Repository, Signature};

use super::*;
use crate::engine::kit::Game;
use crate::ids::CommitId;
use crate::ledger::file_name;
use crate::ledger::local::LocalStore;
use crate::ledger::record::Prev;
use crate::ledger::store::NewFile;
use crate::ledger::unsigned::Unsigned;

const BRANCH: &str = "phasegate/ledger";

struct House {
    dir: tempfile::TempDir,
}

/// Records of a change that was merged by the book.
fn merged() -> Vec<Record> {
    let mut game = Game::merge();
    Game::green(&mut game).approved_by("mia").may_merge();
    game.merged();
    assert_eq!(audit(&game.records), Some(Vec::new()));
    game.records
}

/// Records of one that is still open.
fn open_still() -> Vec<Record> {
    let mut game = Game::merge();
    Game::green(&mut game);
    assert_eq!(audit(&game.records), None);
    game.records
}

fn path(change: u64, seq: u64) -> String {
    format!("{}/{}", folder(ChangeNumber(change)), file_name(seq))
}

impl House {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Repository::init(dir.path()).unwrap();
        Self { dir }
    }

    /// These records, as those of this change: each in a commit of its own.
    async fn records(&self, change: u64, records: &[Record]) {
        let store = LocalStore::new(self.dir.path(), BRANCH);
        let change = ChangeNumber(change);
        let mut last: Option<Digest> = None;
        for record in records {
            let prev = match last.take() {
                None => Prev::Begins { repo: record.repo, change },
                Some(digest) => Prev::Follows(digest),
            };
            let record = Record { change, prev, ..record.clone() };
            let (bytes, digest) = chain::seal_record(&record, &Unsigned).unwrap();
            let file = NewFile { path: path(change.0, record.seq), bytes };
            store.commit(store.head().await.unwrap().as_ref(), "append", &[file]).await.unwrap();
            last = Some(digest);
        }
    }

    /// Somebody writes or removes files.
    fn pushes(&self, files: &[(&str, Option<&str>)]) -> CommitId {
        let repo = Repository::open(self.dir.path()).unwrap();
        let name = format!("refs/heads/{BRANCH}");
        let tip = repo.find_reference(&name).unwrap().peel_to_commit().unwrap();
        let mut update = TreeUpdateBuilder::new();
        for (path, text) in files {
            match text {
                Some(text) => update.upsert(*path, repo.blob(text.as_bytes()).unwrap(), FileMode::Blob),
                None => update.remove(*path),
            };
        }
        let tree = repo.find_tree(update.create_updated(&repo, &tip.tree().unwrap()).unwrap()).unwrap();
        let who = Signature::now("mallory", "m@example.com").unwrap();
        CommitId::new(repo.commit(Some(&name), &who, &who, "tidy up", &tree, &[&tip]).unwrap().to_string()).unwrap()
    }

    async fn file(&self, path: &str) -> String {
        LocalStore::new(self.dir.path(), BRANCH).file(path).await.unwrap().unwrap()
    }

    async fn audits(&self, changes: &[u64]) -> anyhow::Result<Report> {
        let place = Place { repo: self.dir.path().to_owned(), github: None, branch: None, keys: Vec::new() };
        audited(&Args { changes: changes.to_vec(), place, form: Form { json: true } }).await
    }

    async fn report(&self) -> Report {
        self.audits(&[]).await.unwrap()
    }
}

/// What is found of a change, all of it by the one rule.
fn says(report: &Report, change: u64) -> Vec<&str> {
    let found = report.changes.get(&change).map(Vec::as_slice).unwrap_or_default();
    assert!(found.iter().all(|one| one.rule == "malformed_gate_record" && one.blocks()), "{found:?}");
    assert!(found.iter().all(|one| one.path.is_some() && one.next.ends_with('.')), "{found:?}");
    found.iter().map(|one| one.says.as_str()).collect()
}

#[tokio::test]
async fn an_honest_ledger_passes() {
    let house = House::new();
    house.records(7, &merged()).await;
    house.records(8, &open_still()).await;
    let report = house.report().await;
    assert_eq!((report.verdict, report.changes.len()), ("PASS", 0), "{:?}", report.changes);
    assert_eq!((report.audited, report.unfinished), (1, 1));
    assert_eq!(report.notes.len(), 1, "that signatures were not looked at: {:?}", report.notes);
    let refused = house.audits(&[8]).await.unwrap_err().to_string();
    assert!(refused.starts_with("#8 is not finished"), "{refused}");
}

#[tokio::test]
async fn the_end_that_was_cut_off_a_merged_change_is_found() {
    let house = House::new();
    let records = merged();
    house.records(7, &records).await;
    let at = records.iter().position(|record| matches!(record.body, Body::Merged { .. })).unwrap();
    let ends: Vec<String> = records[at..].iter().map(|record| path(7, record.seq)).collect();
    let by = house.pushes(&ends.iter().map(|path| (path.as_str(), None)).collect::<Vec<_>>());
    let report = house.report().await;
    assert_eq!((report.verdict, report.audited, report.unfinished), ("FAIL", 0, 1));
    let [said] = says(&report, 7)[..] else { panic!("{:?}", report.changes) };
    assert!(said.contains("took that away") && said.contains(by.short()), "{said}");
    assert_eq!(report.changes[&7][0].path.as_ref(), ends.first());
    assert!(report.changes[&7][0].next.contains(&format!("git revert {}", by.as_str())), "{:?}", report.changes);
    // Asked for by its number it is told, and not that it is not finished.
    assert_eq!(house.audits(&[7]).await.unwrap().verdict, "FAIL");
}

#[tokio::test]
async fn a_change_that_is_gone_altogether_is_found() {
    let house = House::new();
    house.records(7, &merged()).await;
    house.records(8, &open_still()).await;
    house.pushes(&[("changes/0/7", None)]);
    let report = house.report().await;
    assert_eq!((report.verdict, report.audited, report.unfinished), ("FAIL", 0, 1));
    let [said] = says(&report, 7)[..] else { panic!("{:?}", report.changes) };
    assert!(said.starts_with("Records 1 to "), "{said}");
    assert_eq!(house.audits(&[7]).await.unwrap().verdict, "FAIL");
    house.pushes(&[("changes", None), ("README", Some("nothing was here"))]);
    let report = house.report().await;
    assert_eq!((report.verdict, report.changes.keys().copied().collect::<Vec<_>>()), ("FAIL", vec![7, 8]));
}

#[tokio::test]
async fn a_stray_folder_is_found_and_ends_nothing() {
    let house = House::new();
    house.records(7, &merged()).await;
    let before = house.report().await;
    house.pushes(&[
        ("changes/0/9/notes.txt", Some("hello")),
        ("changes/0/10", Some("a file")),
        ("changes/00/7/0001.json", Some("{}")),
        ("changes/0/seven/0001.json", Some("{}")),
        ("changes/README", Some("hello")),
    ]);
    let report = house.report().await;
    assert_eq!((report.verdict, report.audited, report.unfinished), ("FAIL", before.audited, before.unfinished));
    assert_eq!(says(&report, 9), ["It has a folder and no records."]);
    assert_eq!(says(&report, 10), ["It has a folder and no records."]);
    assert!(report.changes[&7].iter().any(|one| one.says.starts_with("changes/00/7 is not where its records are")));
    assert!(
        report.notes.iter().any(|note| note.starts_with("changes/0/seven is no change's folder")),
        "{:?}",
        report.notes
    );
    for asked in [9, 11] {
        let refused = house.audits(&[asked]).await.unwrap_err().to_string();
        assert_eq!(refused, format!("the ledger on {BRANCH} has no records of #{asked}"));
    }
}

#[tokio::test]
async fn what_has_nothing_to_audit_keeps_nothing_of_the_others_back() {
    let house = House::new();
    house.records(7, &merged()).await;
    house.records(8, &open_still()).await;
    let report = house.audits(&[8, 7, 11]).await.unwrap();
    assert_eq!((report.audited, report.missed.len()), (1, 2), "{:?}", report.missed);
    assert!(report.missed[0].starts_with("#8 is not finished") && report.missed[1].ends_with("no records of #11"));
    // What stands against another is worse.
    house.pushes(&[("changes/0/7", None)]);
    let report = house.audits(&[7, 8]).await.unwrap();
    assert_eq!((report.verdict, report.missed.len()), ("FAIL", 1));
    let both = house.audits(&[8, 11]).await.unwrap_err().to_string();
    assert!(both.contains("#8 is not finished") && both.contains("no records of #11"), "{both}");
}

#[tokio::test]
async fn what_is_not_finished_is_proven_too() {
    let house = House::new();
    house.records(8, &open_still()).await;
    assert_eq!(house.report().await.verdict, "PASS");
    let second = path(8, 2);
    let altered = house.file(&second).await.replace("\"seq\":2", "\"seq\":3");
    house.pushes(&[(&second, Some(&altered))]);
    let report = house.report().await;
    assert_eq!(report.verdict, "FAIL");
    let [proof, history] = says(&report, 8)[..] else { panic!("{:?}", report.changes) };
    assert!(proof.starts_with("Its records can't be proved: record 2"), "{proof}");
    assert!(history.starts_with("Record 2 of it is not what was written first"), "{history}");
    assert_eq!(house.audits(&[8]).await.unwrap().verdict, "FAIL");
}

#[tokio::test]
async fn the_end_that_was_cut_off_an_unfinished_change_is_found() {
    let house = House::new();
    let records = open_still();
    house.records(8, &records).await;
    house.pushes(&[(&path(8, records.len() as u64), None)]);
    let report = house.report().await;
    assert_eq!((report.verdict, report.unfinished), ("FAIL", 1));
    assert_eq!(says(&report, 8).len(), 1);
}
