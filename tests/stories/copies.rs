//! Snapshots on the branch of a change, where the policy wants them there.

use phasegate::rehearsal::{MERGE_POLICY, PIPELINE_POLICY, REPO, Rehearsal, Setup, papers};
use serde_json::json;

use super::{assert_merge, proposes, proves};

async fn copying(policy: &str) -> Rehearsal {
    let policy = format!("{policy}ledger: {{ snapshots: branch }}\n");
    Rehearsal::start(Setup::with_policy(&policy)).await.unwrap()
}

/// The snapshots of a change in a branch, by their names, with the copy of the latest.
fn copies(on: &Rehearsal, branch: &str, number: u64) -> Vec<(String, String)> {
    let folder = format!("agent/context/pr-{number}");
    (1..100)
        .map(|number| format!("iter-{number:04}.md"))
        .chain(["latest.md".to_owned()])
        .filter_map(|name| Some((name.clone(), on.admin().file(REPO, branch, &format!("{folder}/{name}")).unwrap()?)))
        .collect()
}

/// The same on the ledger.
fn snapshots(on: &Rehearsal, number: u64) -> Vec<(String, String)> {
    let folder = format!("changes/0/{number}/context");
    (1..100)
        .map(|number| format!("iter-{number:04}.md"))
        .chain(["latest.md".to_owned()])
        .filter_map(|name| {
            let text = on.admin().file(REPO, "phasegate/ledger", &format!("{folder}/{name}")).unwrap()?;
            Some((name.clone(), text))
        })
        .collect()
}

/// From the first push to the merge, with a copy after every gate run. Each commit of the bot's is checked once by CI, and nothing
/// that was passed or approved is asked for again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_snapshot_is_copied_to_the_branch_and_nothing_goes_stale() {
    let on = copying(PIPELINE_POLICY).await;
    let number = proposes(&on, "work").await;
    assert_eq!(copies(&on, "work", number), snapshots(&on, number));
    assert_eq!(copies(&on, "work", number).len(), 2, "the first one, and the latest");
    let head = on.head(number).unwrap();
    let commit = on.does("mia", "GET", &format!("/git/commits/{head}"), json!({})).await.unwrap();
    assert!(commit["author"]["name"].as_str().unwrap().ends_with("[bot]"), "{commit}");
    assert!(commit["message"].as_str().unwrap().starts_with("chore(context): iter-0001 of #"), "{commit}");

    on.says("ada", number, "/expand").await.unwrap();
    let all: Vec<(&str, &str)> = papers::ALL.iter().chain(&papers::CODE).copied().collect();
    on.pushes("rover", "work", "the dimmer", &all).await.unwrap();
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_eq!(copies(&on, "work", number), snapshots(&on, number));
    on.reviews("mia", number, "APPROVE").await.unwrap();
    let at = |label: &str| {
        assert_eq!(on.label(number).unwrap().as_deref(), Some(label), "{}", on.status_comment(number).unwrap().body)
    };
    // CI has told of what was pushed, and of the bot's commits on top of it nothing yet.
    at("phase:verified");
    assert_merge(&on, number, "success");
    let (head, known) = (on.head(number).unwrap(), snapshots(&on, number));
    assert_eq!(copies(&on, "work", number), known);
    // Its own commit was looked at, and there was nothing to say.
    on.ci(&head, "success").await.unwrap();
    at("phase:verified");
    assert_merge(&on, number, "success");
    assert_eq!((on.head(number).unwrap(), snapshots(&on, number)), (head, known));
    let by_bot = |record: &serde_json::Value| record["record"]["body"]["pushed_by"]["bot"] == true;
    assert!(!on.records(number).unwrap().iter().any(by_bot), "who keeps a copy works on nothing");
    on.merges("mia", number).await.unwrap().unwrap();
    assert_eq!(copies(&on, "main", number).len(), copies(&on, "work", number).len());
    on.end().await;
}

/// What an agent does to the copies: without them its branch gets them again, edited ones are refused and don't change anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_are_put_back_and_an_edited_one_is_refused() {
    let on = copying(MERGE_POLICY).await;
    let own = on.pushes("rover", "work", "work", &[("src/lamp.py", "def shine():\n    return 10\n")]).await.unwrap();
    let number = on.opens("rover", "Shine", "work").await.unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "success");
    let known = snapshots(&on, number);
    assert_eq!(copies(&on, "work", number), known);

    // The agent has not pulled, and pushes over it.
    on.force_pushes("rover", "work", &own).await.unwrap();
    assert_eq!(copies(&on, "work", number), known, "they are back");
    assert_eq!(snapshots(&on, number), known, "and nothing was run anew");
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_merge(&on, number, "success");

    let (name, text) = &known[1];
    let path = format!("agent/context/pr-{number}/{name}");
    let edited = text.replace("FAILs (this Slice ID): 0", "FAILs (this Slice ID): 7");
    assert_ne!(*text, edited);
    on.pushes("rover", "work", "I know better", &[(path.as_str(), edited.as_str())]).await.unwrap();
    let comment = on.status_comment(number).unwrap().body;
    assert!(comment.contains("`SNP-04`") && comment.contains(name), "{comment}");
    assert_ne!(on.merge_run(number).unwrap().conclusion.as_deref(), Some("success"));
    assert_eq!(copies(&on, "work", number)[1].1, edited, "what somebody wrote is theirs to take away");
    on.pushes("rover", "work", "as it was", &[(path.as_str(), text.as_str())]).await.unwrap();
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_merge(&on, number, "success");
    on.ci(&on.head(number).unwrap(), "failure").await.unwrap();
    assert_merge(&on, number, "failure");
    on.end().await;
}

/// Each change has a folder of its own: the second one to be merged meets nothing of the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_changes_do_not_meet_in_their_copies() {
    let on = copying(MERGE_POLICY).await;
    let mut numbers = Vec::new();
    for name in ["lamp", "dimmer"] {
        let file = format!("src/{name}.py");
        on.pushes("rover", name, name, &[(file.as_str(), "def shine():\n    return 10\n")]).await.unwrap();
        numbers.push((on.opens("rover", name, name).await.unwrap(), name));
    }
    for (number, name) in numbers {
        proves(&on, number).await;
        assert_merge(&on, number, "success");
        let there = copies(&on, name, number);
        on.merges("mia", number).await.unwrap().unwrap();
        assert_eq!(copies(&on, "main", number), there);
    }
    on.end().await;
}

fn log(on: &Rehearsal, branch: &str) -> String {
    on.admin().file(REPO, branch, "scaffolding/log.md").unwrap().unwrap_or_default()
}

/// By policy the bot writes each gate run into the log, and that makes nothing stale either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_policy_the_log_is_written_and_nothing_goes_stale() {
    let on =
        Rehearsal::start(Setup::with_policy(&format!("{PIPELINE_POLICY}log: {{ write: commit }}\n"))).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let pushed: Vec<(&str, &str)> = papers::ALL.iter().chain(&papers::CODE).copied().collect();
    on.pushes("rover", "work", "the dimmer", &pushed).await.unwrap();
    let written = log(&on, "work");
    let before = papers::of("scaffolding/log.md").first().map_or("", |(_, text)| text).trim_end();
    assert!(written.starts_with(before) && written.contains(": EXPAND PASS on "), "{written}");
    assert!(!on.status_comment(number).unwrap().body.contains("What belongs into"), "it is there");
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    let (written, head) = (log(&on, "work"), on.head(number).unwrap());
    for (at, what) in
        [": BUILD PASS on ", ": REVIEW PASS on ", ": RECONCILE PASS on ", ": VERIFY PASS on "].iter().enumerate()
    {
        assert_eq!(written.matches(what).count(), 1, "{at}: {written}");
    }
    on.ci(&head, "success").await.unwrap();
    assert_eq!((log(&on, "work"), on.head(number).unwrap()), (written.clone(), head), "it is written once");
    assert_merge(&on, number, "success");
    // A line of one's own is content.
    let own = format!("{written}- We tried another lamp.\n");
    on.pushes("rover", "work", "a note", &[("scaffolding/log.md", own.as_str())]).await.unwrap();
    assert_ne!(on.merge_run(number).unwrap().conclusion.as_deref(), Some("success"));
    on.end().await;
}
