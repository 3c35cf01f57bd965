//! A merge queue: every member is proved with the head it entered with, and so is the commit that they make together.

use std::time::Duration;

use phasegate::gate::merge::CHECK_NAME;
use phasegate::rehearsal::{MERGE_POLICY, REPO, Rehearsal, Setup, WORKFLOW};
use phasegate::twin::{Effect, Fault, QueueMethod};

use super::{assert_merge, kinds, merge_flow, proves};

/// A change of one file that may merge.
async fn green(on: &Rehearsal, branch: &str, files: &[(&str, &str)]) -> u64 {
    on.pushes("rover", branch, "work", files).await.unwrap();
    let number = on.opens("rover", branch, branch).await.unwrap();
    proves(on, number).await;
    assert_merge(on, number, "success");
    number
}

/// Two changes that may merge, into a `main` with a queue.
async fn two(on: &Rehearsal) -> (u64, u64) {
    on.queues(QueueMethod::Merge).unwrap();
    (green(on, "one", &[("src/one.py", "one = 1\n")]).await, green(on, "two", &[("src/two.py", "two = 2\n")]).await)
}

async fn carrying() -> Rehearsal {
    let policy = format!("{MERGE_POLICY}merge: {{ queue: carry }}\n");
    Rehearsal::start(Setup::with_policy(&policy)).await.unwrap()
}

#[track_caller]
fn assert_group(on: &Rehearsal, commit: &str, stands: &str, says: &str) {
    let run = on.group_run(commit).unwrap();
    let told = format!("{} {:?} {:?}", run.status, run.title, run.summary);
    assert_eq!(run.conclusion.as_deref().unwrap_or(&run.status), stands, "{told}");
    assert!(told.contains(says), "{says:?} is not in {told}");
}

fn merged(on: &Rehearsal, number: u64) -> bool {
    on.pull(number).unwrap()["merged"] == true
}

fn bypassed(on: &Rehearsal, number: u64) -> String {
    let records = on.records(number).unwrap();
    records.iter().map(ToString::to_string).find(|record| record.contains("\"bypassed\"")).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_members_go_through() {
    let on = merge_flow().await;
    let (one, two) = two(&on).await;
    assert!(on.merges("ada", one).await.unwrap().is_err(), "there is a queue");
    on.enqueues("ada", one).await.unwrap().unwrap();
    on.enqueues("ada", two).await.unwrap().unwrap();
    let (first, second) = (on.group(one).unwrap(), on.group(two).unwrap());
    assert_group(&on, &first, "in_progress", "`test` has not run on");
    assert_group(&on, &second, "in_progress", &format!("#{one} at"));
    on.group_ci(&second, "success").await.unwrap();
    assert_group(&on, &second, "success", &format!("May merge: #{one}, #{two}"));
    assert!(!merged(&on, one) && !merged(&on, two), "the first in line is not proved yet");
    on.group_ci(&first, "success").await.unwrap();
    assert!(merged(&on, one) && merged(&on, two));
    assert_eq!(on.admin().branch(REPO, "main").unwrap(), Some(second));
    for number in [one, two] {
        assert!(bypassed(&on, number).contains("\"bypassed\":[]"), "{}", bypassed(&on, number));
        assert!(kinds(&on, number).contains(&"grouped".to_owned()));
        assert!(!on.status_comment(number).unwrap().body.contains("around the gate"));
    }
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_squashes_is_judged_by_its_content() {
    let on = merge_flow().await;
    on.queues(QueueMethod::Squash).unwrap();
    let number = green(&on, "one", &[("src/one.py", "one = 1\n")]).await;
    on.lands("root", "elsewhere", &[("docs/other.md", "Other.\n")]).await.unwrap();
    on.enqueues("ada", number).await.unwrap().unwrap();
    on.group_ci(&on.group(number).unwrap(), "success").await.unwrap();
    assert!(merged(&on, number));
    assert!(bypassed(&on, number).contains("\"bypassed\":[]"));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_red_member_fails_its_group_and_every_one_behind_it() {
    let on = merge_flow().await;
    let (one, two) = two(&on).await;
    on.reviews("mia", one, "REQUEST_CHANGES").await.unwrap();
    let first = on.admin().enqueue_anyway(REPO, "ada", one).unwrap();
    on.settle().await.unwrap();
    assert_group(&on, &first, "failure", &format!("#{one} is not green"));
    assert!(on.group(one).is_err(), "it is out of the queue");
    let told = on.status_comment(one).unwrap().body;
    assert!(told.contains(&format!("**Merge queue, group `{}` may not merge**", &first[..12])), "{told}");
    on.enqueues("ada", two).await.unwrap().unwrap();
    on.group_ci(&on.group(two).unwrap(), "success").await.unwrap();
    assert!(merged(&on, two) && !merged(&on, one), "the other one is none the worse for it");
    on.end().await;
}

/// GitHub takes it out; should it not, the group has not what the queue says it has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_after_entering() {
    let on = merge_flow().await;
    let (one, _) = two(&on).await;
    on.enqueues("ada", one).await.unwrap().unwrap();
    let old = on.group(one).unwrap();
    on.pushes("rover", "one", "more", &[("src/more.py", "pass\n")]).await.unwrap();
    assert!(on.group(one).is_err(), "it is out of the queue");
    on.group_ci(&old, "success").await.unwrap();
    assert!(!merged(&on, one));

    proves(&on, one).await;
    on.enqueues("ada", one).await.unwrap().unwrap();
    let group = on.group(one).unwrap();
    on.admin().queue_ignores_pushes(true);
    on.pushes("rover", "one", "even more", &[("src/evil.py", "pass\n")]).await.unwrap();
    proves(&on, one).await;
    assert_merge(&on, one, "success");
    on.group_ci(&group, "success").await.unwrap();
    assert_group(&on, &group, "failure", "Unknown content: `src/evil.py`");
    assert!(!merged(&on, one));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_after_entering() {
    let on = merge_flow().await;
    let (one, two) = two(&on).await;
    on.enqueues("ada", one).await.unwrap().unwrap();
    on.enqueues("ada", two).await.unwrap().unwrap();
    let (first, second) = (on.group(one).unwrap(), on.group(two).unwrap());
    on.group_ci(&second, "success").await.unwrap();
    assert_group(&on, &second, "success", "May merge");
    on.says("mia", one, "/stop it burns").await.unwrap();
    assert_group(&on, &first, "failure", "MRG-05");
    assert!(on.group(one).is_err(), "the stopped one is out");
    let anew = on.group(two).unwrap();
    assert_ne!(anew, second, "what was behind it is built anew");
    on.group_ci(&anew, "success").await.unwrap();
    assert!(merged(&on, two) && !merged(&on, one));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ci_that_is_red_on_the_group() {
    let on = merge_flow().await;
    let (one, _) = two(&on).await;
    on.enqueues("ada", one).await.unwrap().unwrap();
    let group = on.group(one).unwrap();
    on.group_ci(&group, "failure").await.unwrap();
    assert_group(&on, &group, "failure", "`test` ended as failure");
    assert!(on.group(one).is_err() && !merged(&on, one));
    assert_merge(&on, one, "success");
    on.end().await;
}

/// What is green for a pull request with the group's commit is no proof of the group.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_run_for_the_group_counts() {
    let on = merge_flow().await;
    let (one, _) = two(&on).await;
    on.enqueues("ada", one).await.unwrap().unwrap();
    let group = on.group(one).unwrap();
    on.ci(&group, "success").await.unwrap();
    assert_group(&on, &group, "failure", "it ran for a pull request");
    assert!(!merged(&on, one));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_members_have_shown_carries_the_group() {
    let on = carrying().await;
    let (one, two) = two(&on).await;
    on.lands("root", "elsewhere", &[("docs/other.md", "Other.\n")]).await.unwrap();
    on.enqueues("ada", one).await.unwrap().unwrap();
    on.enqueues("ada", two).await.unwrap().unwrap();
    assert!(merged(&on, one) && merged(&on, two));
    assert!(bypassed(&on, two).contains("\"bypassed\":[]"));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_members_with_one_file_are_not_carried() {
    let on = carrying().await;
    on.queues(QueueMethod::Merge).unwrap();
    let long = |a: &str, z: &str| format!("{a}\n{}{z}\n", "middle\n".repeat(20));
    on.lands("root", "a long file", &[("src/long.txt", &long("a", "z"))]).await.unwrap();
    let one = green(&on, "one", &[("src/long.txt", &long("A", "z"))]).await;
    let two = green(&on, "two", &[("src/long.txt", &long("a", "Z"))]).await;
    // Both are in line before the first is looked at.
    let quiet = on.admin().quiet();
    quiet.enqueue(REPO, "ada", one).unwrap();
    on.enqueues("ada", two).await.unwrap().unwrap();
    let group = on.group(two).unwrap();
    assert_group(&on, &group, "in_progress", &format!("`src/long.txt` is changed by #{one} and #{two}"));
    on.group_ci(&group, "success").await.unwrap();
    assert_group(&on, &group, "success", "May merge");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_lags_is_asked_for_again() {
    let on = merge_flow().await;
    let (one, _) = two(&on).await;
    on.admin().queue_lags(2);
    on.enqueues("ada", one).await.unwrap().unwrap();
    let group = on.group(one).unwrap();
    assert_group(&on, &group, "in_progress", &format!("#{one} is not in the queue"));
    for _ in 0..3 {
        on.time_passes(Duration::from_secs(3600)).await.unwrap();
    }
    assert_group(&on, &group, "in_progress", "`test` has not run on");
    on.group_ci(&group, "success").await.unwrap();
    assert!(merged(&on, one));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_never_has_it_fails() {
    let on = merge_flow().await;
    let (one, _) = two(&on).await;
    on.admin().queue_lags(100);
    on.enqueues("ada", one).await.unwrap().unwrap();
    let group = on.group(one).unwrap();
    for _ in 0..8 {
        on.time_passes(Duration::from_secs(3600)).await.unwrap();
    }
    assert_group(&on, &group, "failure", "It is not known who is in this group");
    assert!(on.group(one).is_err() && !merged(&on, one));
    let stats = on.server().unwrap().inbox().stats().await.unwrap();
    assert_eq!((stats.dead, stats.parked), (0, 0));
    on.end().await;
}

/// A branch with the queue's kind of name, for a pull request that is not in line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_member_is_never_green() {
    let on = merge_flow().await;
    let (one, two) = two(&on).await;
    on.enqueues("ada", one).await.unwrap().unwrap();
    let base = on.admin().branch(REPO, "main").unwrap().unwrap();
    let branch = format!("gh-readonly-queue/main/pr-{two}-{base}");
    let files = [("src/two.py", Some("two = 2\n"))];
    let head = on.admin().commit_onto(REPO, "ada", &branch, Some("main"), "group", &files).unwrap();
    let group = serde_json::json!({
        "head_sha": head, "head_ref": format!("refs/heads/{branch}"), "base_sha": base, "base_ref": "refs/heads/main",
    });
    let mut told = on.deliveries().into_iter().rfind(|one| one.event == "merge_group").unwrap().payload;
    told["merge_group"] = group;
    assert_eq!(on.posts("merge_group", "made-up", told.to_string().into_bytes()).await.unwrap(), 202);
    on.group_ci(&head, "success").await.unwrap();
    for _ in 0..8 {
        on.time_passes(Duration::from_secs(3600)).await.unwrap();
    }
    assert_group(&on, &head, "failure", &format!("#{two} is not in the queue"));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delivered_twice_and_backwards_it_ends_the_same_and_writes_nothing() {
    let on = merge_flow().await;
    let (one, two) = two(&on).await;
    on.enqueues("ada", one).await.unwrap().unwrap();
    on.enqueues("ada", two).await.unwrap().unwrap();
    on.group_ci(&on.group(two).unwrap(), "success").await.unwrap();
    let again = |how: &'static str| {
        let on = &on;
        async move {
            on.admin().clear_log();
            for (at, delivery) in on.deliveries().iter().rev().enumerate() {
                let body = delivery.payload.to_string().into_bytes();
                on.posts(&delivery.event, &format!("{how}-{at}"), body).await.unwrap();
            }
            on.settle().await.unwrap();
            assert!(on.writes().is_empty(), "{how}: {:?}", on.writes());
        }
    };
    again("while they wait").await;
    on.group_ci(&on.group(one).unwrap(), "success").await.unwrap();
    assert!(merged(&on, one) && merged(&on, two));
    again("after the merge").await;
    on.end().await;
}

/// The look at the group fails after it has recorded its verdict, and is done again: then the verdict is no news.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_are_looked_at_though_the_look_at_their_group_was_cut_off() {
    let on = merge_flow().await;
    let (one, _) = two(&on).await;
    on.admin().inject(Fault {
        method: Some("POST".to_owned()),
        path_contains: "/check-runs".to_owned(),
        effect: Effect::Refuse(500),
        times: u32::MAX,
    });
    on.enqueues("ada", one).await.unwrap().unwrap();
    let group = on.group(one).unwrap();
    assert!(kinds(&on, one).contains(&"grouped".to_owned()) && on.group_run(&group).is_err());
    on.admin().clear_faults();
    on.time_passes(Duration::from_secs(60)).await.unwrap();
    assert_group(&on, &group, "in_progress", "`test` has not run on");
    // Its own check is the witness of its newest record.
    let witness = on.merge_run(one).unwrap().external_id.unwrap();
    let newest = format!("pg1:{one}:{}:", on.records(one).unwrap().len());
    assert!(witness.starts_with(&newest), "{witness} is not {newest}");
    on.end().await;
}

/// The rules are taken away while the group is red, and its commit is put on `main` by hand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_past_a_red_group_is_a_bypass() {
    let on = merge_flow().await;
    let (one, _) = two(&on).await;
    on.enqueues("ada", one).await.unwrap().unwrap();
    let group = on.group(one).unwrap();
    on.group_ci(&group, "failure").await.unwrap();
    for ruleset in on.admin().repo(REPO).unwrap().rulesets.into_values() {
        if !ruleset.include.iter().any(|name| name.contains("ledger")) {
            on.admin().remove_ruleset(REPO, ruleset.id).unwrap();
        }
    }
    on.force_pushes("root", "main", &group).await.unwrap();
    assert!(merged(&on, one));
    assert!(bypassed(&on, one).contains("\"bypassed\":[\"MRG-09\"]"), "{}", bypassed(&on, one));
    on.end().await;
}

/// A workflow that a person has accepted for one member is accepted in the group, as exactly that file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_accepted_for_a_member_is_accepted_in_its_group() {
    let on = merge_flow().await;
    on.queues(QueueMethod::Merge).unwrap();
    let other = "on: [pull_request, merge_group]\njobs: {test: {runs-on: x, steps: [{run: make all}]}}\n";
    on.pushes("rover", "one", "work", &[(WORKFLOW, other)]).await.unwrap();
    let one = on.opens("rover", "one", "one").await.unwrap();
    on.says("mia", one, "/refreeze read it").await.unwrap();
    proves(&on, one).await;
    on.enqueues("ada", one).await.unwrap().unwrap();
    on.group_ci(&on.group(one).unwrap(), "success").await.unwrap();
    assert!(merged(&on, one), "{:?}", on.run(&on.group(one).unwrap_or_default(), CHECK_NAME));
    on.end().await;
}
