//! What is frozen when BUILD passes, and what becomes of a change that touches it.

use phasegate::guard::Manifest;
use phasegate::ids::Digest;
use phasegate::rehearsal::{LEDGER, REPO, Rehearsal, Setup, papers};
use serde_json::Value;

use super::assert_merge;

const TEST: &str = "def test_shine(): assert shine() == 1\n";
const WEAKER: &str = "def test_shine(): pass\n";

/// A change with its documents, its code and a test, through BUILD.
async fn built(on: &Rehearsal) -> u64 {
    let mut files = papers::ALL.to_vec();
    files.extend(papers::CODE);
    files.extend([("src/lamp.py", "def shine(): return 1\n"), ("tests/test_lamp.py", TEST)]);
    let head = on.pushes("rover", "work", "all of it", &files).await.unwrap();
    let number = on.opens("rover", "Shine", "work").await.unwrap();
    on.says("ada", number, "/expand").await.unwrap();
    on.ci(&head, "success").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:review"));
    number
}

async fn pushes(on: &Rehearsal, files: &[(&str, &str)]) -> String {
    let head = on.pushes("rover", "work", "more", files).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    head
}

/// The records of manifests, oldest first.
fn frozen(on: &Rehearsal, number: u64) -> Vec<Value> {
    let records = on.records(number).unwrap().into_iter().map(|sealed| sealed["record"].clone());
    records.filter(|record| record["body"]["kind"] == "frozen").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_test_that_is_weakened_is_red_until_it_is_back() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = built(&on).await;
    let records = frozen(&on, number);
    assert_eq!(records.len(), 1, "{records:#?}");
    assert_eq!(records[0]["body"]["why"], "built");
    // The manifest stands beside the records, under its own digest.
    let digest = records[0]["body"]["manifest"].as_str().unwrap();
    let path = format!("changes/0/{number}/freeze/{digest}.json");
    let kept = on.admin().file(REPO, LEDGER, &path).unwrap().expect("the manifest is on the ledger");
    assert_eq!(Digest::of(&kept).as_str(), digest);
    let manifest = Manifest::parse(&kept).unwrap();
    assert!(manifest.files.contains_key(&"tests/test_lamp.py".into()), "{kept}");

    let head = pushes(&on, &[("tests/test_lamp.py", WEAKER), ("src/lamp.py", "def shine(): return 0\n")]).await;
    assert_merge(&on, number, "failure");
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:build"));
    let gate = on.run(&head, "phasegate/build").unwrap().unwrap();
    assert_eq!(gate.conclusion.as_deref(), Some("failure"));
    let note = gate.annotations.iter().find(|note| note["path"] == "tests/test_lamp.py").expect("a note in the file");
    assert_eq!(note["title"], "build_tampered:tests/test_lamp.py");
    let said = on.status_comment(number).unwrap().body;
    assert!(said.contains("`build_tampered:tests/test_lamp.py`") && said.contains("/refreeze REASON"), "{said}");
    assert!(said.contains("**Not as frozen at `"), "{said}");

    pushes(&on, &[("tests/test_lamp.py", TEST), ("src/lamp.py", "def shine(): return 1\n\n")]).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    assert_eq!(frozen(&on, number).len(), 1, "the same proof is one manifest");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entitled_person_refreezes_and_the_author_does_not() {
    let mut on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = built(&on).await;
    // What was frozen is on the ledger, and needs no database.
    on.loses_its_database().await.unwrap();
    pushes(&on, &[("tests/test_lamp.py", "def test_shine(): assert shine() == 2\n")]).await;
    assert_merge(&on, number, "failure");
    for login in ["rover", "ada"] {
        let asked = on.says(login, number, "/refreeze it is better so").await.unwrap();
        assert_eq!(on.reactions(asked).unwrap(), ["eyes", "confused"], "{login}");
    }
    assert_eq!(frozen(&on, number).len(), 1);
    on.says("mia", number, "/refreeze the scope says two").await.unwrap();
    let records = frozen(&on, number);
    assert_eq!(records.len(), 2, "{records:#?}");
    assert_eq!(records[1]["body"]["why"], "refrozen");
    assert_eq!(records[1]["by"]["person"]["person"]["login"], "mia");
    assert_ne!(records[0]["body"]["manifest"], records[1]["body"]["manifest"]);
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manifest_taken_off_the_ledger_is_a_failure_until_a_person_has_looked() {
    let mut on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = built(&on).await;
    let digest = frozen(&on, number)[0]["body"]["manifest"].as_str().unwrap().to_owned();
    let path = format!("changes/0/{number}/freeze/{digest}.json");
    on.rewrites_ledger("root", &[(&path, None)]).await.unwrap();
    on.loses_its_database().await.unwrap();
    pushes(&on, &[("tests/test_more.py", TEST)]).await;
    assert_merge(&on, number, "failure");
    let said = on.status_comment(number).unwrap().body;
    assert!(said.contains("`tripwire_missing`"), "{said}");
    on.says("mia", number, "/refreeze read the tests").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}
