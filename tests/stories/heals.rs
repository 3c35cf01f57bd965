//! Whoever builds reports that the build is not honest, by a commit.

use phasegate::rehearsal::{REPO, Rehearsal};
use serde_json::Value;

use super::{assert_merge, green, kinds, merge_flow, merge_says, proposes, proves};

const REPORT: &str = "heal: it looks up the answer\n\nPhasegate-Heal: it looks up the answer\n";

fn reported(on: &Rehearsal, number: u64) -> Vec<Value> {
    let records = on.records(number).unwrap();
    records.into_iter().map(|one| one["record"].clone()).filter(|one| one["body"]["kind"] == "cheated").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reported_build_passes_no_gate_and_the_next_honest_one_does() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let head = on.pushes("rover", "work", REPORT, &[]).await.unwrap();
    let told = reported(&on, number);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((&told[0]["by"], &told[0]["body"]["reason"]), (&"bot".into(), &"it looks up the answer".into()));
    assert_eq!(told[0]["body"]["raised"]["commit"], head);
    // Green and approved it is not merged, and another look counts nothing.
    proves(&on, number).await;
    on.says("ada", number, "/status").await.unwrap();
    assert_merge(&on, number, "failure");
    let says = merge_says(&on, number);
    assert!(says.contains("reported_cheat") && says.contains(&format!("commit {}", &head[..12])), "{says}");
    assert!(on.status_comment(number).unwrap().body.contains("**Confirmed cheats: 1**"));
    // Made again on top of itself it is the same build.
    on.pushes("rover", "work", "nothing more", &[]).await.unwrap();
    assert_eq!(reported(&on, number).len(), 1);

    on.pushes("rover", "work", "honest", &[("src/lamp.py", "def shine():\n    return 9 + 1\n")]).await.unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "success");
    assert_eq!(reported(&on, number).len(), 1, "nothing is forgotten");
    on.merges("ada", number).await.unwrap().unwrap();
    assert!(on.incidents().unwrap().is_empty());
    on.end().await;
}

/// What was built over it before anybody looked is not what was reported. Going back to that is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_is_of_the_content_that_it_was_made_on() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let told = on.admin().quiet().commit(REPO, "rover", "work", REPORT, &[]).unwrap();
    on.pushes("rover", "work", "honest", &[("src/lamp.py", "def shine():\n    return 9 + 1\n")]).await.unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "success");
    assert!(!kinds(&on, number).contains(&"cheated".to_owned()));
    on.pushes("rover", "work", "back", &[("src/lamp.py", "def shine():\n    return 10\n")]).await.unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "failure");
    assert_eq!(reported(&on, number)[0]["body"]["raised"]["commit"], told);
    on.end().await;
}
