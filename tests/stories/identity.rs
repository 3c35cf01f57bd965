//! The same work under another number, and who had a hand in it.

use phasegate::gate::merge::CHECK_NAME;
use phasegate::ids::ChangeNumber;
use phasegate::ledger::Anchors;
use phasegate::rehearsal::{MERGE_POLICY, REPO, Rehearsal, Setup};
use phasegate::twin::{Effect, Fault, Role};

use super::{assert_merge, green, kinds, merge_flow, proposes, proves};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stood_against_the_earlier_number_outlives_the_database() {
    let mut on = merge_flow().await;
    let first = green(&on, "work").await;
    on.says("root", first, "/stop it leaks the key").await.unwrap();
    on.closes("rover", first).await.unwrap();
    on.loses_its_database().await.unwrap();
    let second = on.opens("rover", "Shine again", "work").await.unwrap();
    on.reviews("mia", second, "APPROVE").await.unwrap();
    assert_merge(&on, second, "failure");
    assert!(on.status_comment(second).unwrap().body.contains(&format!("Carries on from #{first}: it is stopped")));

    // And the third takes it over from the second, which has it from the first.
    on.closes("rover", second).await.unwrap();
    let third = on.opens("rover", "Shine once more", "work").await.unwrap();
    assert!(on.status_comment(third).unwrap().body.contains(&format!("Carries on from #{second}: it is stopped")));
    on.says("mia", third, "/unblock it does not").await.unwrap();
    on.ci(&on.head(third).unwrap(), "success").await.unwrap();
    on.reviews("mia", third, "APPROVE").await.unwrap();
    assert_merge(&on, third, "success");
    on.end().await;
}

/// A harmless pull request is opened first, and then gets what was rejected on another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_is_moved_into_another_pull_request_brings_along_what_stood_against_it() {
    let on = merge_flow().await;
    let first = green(&on, "work").await;
    let head = on.head(first).unwrap();
    on.says("root", first, "/stop it leaks the key").await.unwrap();
    on.closes("rover", first).await.unwrap();
    on.pushes("ada", "other", "harmless", &[("src/harmless.py", "pass\n")]).await.unwrap();
    let second = on.opens("ada", "Something harmless", "other").await.unwrap();
    assert!(!kinds(&on, second).contains(&"inherited".to_owned()), "{:?}", kinds(&on, second));
    on.force_pushes("ada", "other", &head).await.unwrap();
    assert!(on.status_comment(second).unwrap().body.contains(&format!("Carries on from #{first}: it is stopped")));
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", second, "APPROVE").await.unwrap();
    assert_merge(&on, second, "failure");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_whose_work_was_merged_is_free_for_other_work() {
    let on = merge_flow().await;
    let first = green(&on, "work").await;
    on.merges("ada", first).await.unwrap().expect("it is green");
    on.pushes("rover", "work", "next", &[("src/next.py", "pass\n")]).await.unwrap();
    let second = on.opens("ada", "The next thing", "work").await.unwrap();
    assert!(!kinds(&on, second).contains(&"inherited".to_owned()), "{:?}", kinds(&on, second));
    on.end().await;
}

/// Somebody who can write to the ledger's branch points the index at what is not so, or at nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_index_neither_breaks_nor_grants_anything() {
    let on = merge_flow().await;
    let first = green(&on, "work").await;
    let mut forged = Vec::new();
    let head = on.admin().commit_onto(REPO, "rover", "other", Some("main"), "other", &[("b.py", Some("b\n"))]).unwrap();
    on.settle().await.unwrap();
    let origin = phasegate::ledger::origin::Origin::default();
    for (_, key) in origin.keys(&head.parse().unwrap()) {
        for name in [first.to_string(), "9999".to_owned(), "no number".to_owned()] {
            forged.push(format!("{}/{name}", phasegate::ledger::origin::folder(&key)));
        }
    }
    let files: Vec<(&str, Option<&str>)> = forged.iter().map(|path| (path.as_str(), Some("x\n"))).collect();
    on.rewrites_ledger("root", &files).await.unwrap();
    let second = on.opens("rover", "Something else", "other").await.unwrap();
    assert!(!kinds(&on, second).contains(&"inherited".to_owned()));
    proves(&on, second).await;
    assert_merge(&on, second, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_pushed_before_it_was_opened_is_known_without_a_delivery() {
    let on = merge_flow().await;
    on.admin().quiet().commit(REPO, "mia", "work", "early", &[("src/early.py", Some("print(1)\n"))]).unwrap();
    on.admin().quiet().commit(REPO, "rover", "work", "late", &[("src/late.py", Some("print(2)\n"))]).unwrap();
    let number = on.opens("rover", "Shine", "work").await.unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "action_required");
    assert!(on.merge_run(number).unwrap().summary.unwrap().contains("wrote or pushed"));

    // Whoever pushes while it is closed, too.
    on.closes("rover", number).await.unwrap();
    on.admin().quiet().commit(REPO, "root", "work", "meanwhile", &[("src/more.py", Some("print(3)\n"))]).unwrap();
    on.reopens("rover", number).await.unwrap();
    on.reviews("root", number, "APPROVE").await.unwrap();
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_merge(&on, number, "action_required");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_github_does_not_list_pushes_the_look_goes_on() {
    for status in [404, 403] {
        let on = merge_flow().await;
        on.admin().inject(Fault {
            method: Some("GET".to_owned()),
            path_contains: format!("/repos/{REPO}/activity"),
            effect: Effect::Refuse(status),
            times: 100,
        });
        let number = green(&on, "work").await;
        on.merges("ada", number).await.unwrap().expect("it is green");
        on.end().await;
    }
}

/// Whoever pushed it could approve it themselves, so another approval has to stand beside theirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_of_which_nobody_tells_takes_one_more_approval() {
    let on = merge_flow().await;
    on.admin().inject(Fault {
        method: Some("GET".to_owned()),
        path_contains: format!("/repos/{REPO}/activity"),
        effect: Effect::Refuse(404),
        times: 1000,
    });
    let number = green(&on, "work").await;
    on.admin().quiet().commit(REPO, "mia", "work", "slipped in", &[("src/slipped.py", Some("pass\n"))]).unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "action_required");
    let summary = on.merge_run(number).unwrap().summary.unwrap();
    assert!(summary.contains("1 of 2 approvals") && summary.contains("GitHub did not tell by whom"), "{summary}");
    // It stays so when the next push is told.
    on.pushes("rover", "work", "and more", &[("src/more.py", "pass\n")]).await.unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "action_required");
    on.reviews("root", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");

    // Nor is anything else theirs to decide; and the way out is to answer for it under another number.
    on.says("root", number, "/stop it leaks the key").await.unwrap();
    on.says("mia", number, "/unblock it does not").await.unwrap();
    let said = on.bot_comments(number).unwrap();
    let refused = |body: &str| body.contains("CMD-07") && body.contains("another pull request");
    assert!(said.iter().any(|one| refused(one)), "{said:#?}");
    on.closes("rover", number).await.unwrap();
    let second = on.opens("rover", "Shine again", "work").await.unwrap();
    on.says("mia", second, "/unblock it does not").await.unwrap();
    proves(&on, second).await;
    assert_merge(&on, second, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_pushed_to_a_fork_is_known_too() {
    let on = merge_flow().await;
    let fork = on.admin().fork(REPO, "rover").unwrap().slug;
    on.admin().set_role(&fork, "mia", Role::Write).unwrap();
    on.admin().commit(&fork, "mia", "work", "early", &[("src/early.py", Some("print(1)\n"))]).unwrap();
    let number = on.opens("rover", "Shine", "rover:work").await.unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "action_required");
    assert!(on.merge_run(number).unwrap().summary.unwrap().contains("`mia`'s approval does not count: they wrote"));
    on.reviews("root", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

/// A long-lived branch: who worked on what was merged before has no hand in what comes next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushes_that_were_merged_before_make_no_operators() {
    let policy = format!("{MERGE_POLICY}branches: [stable]\n");
    let on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    on.pushes("mia", "develop", "first", &[("src/one.py", "pass\n")]).await.unwrap();
    let first = on.opens("rover", "Release one", "develop").await.unwrap();
    on.ci(&on.head(first).unwrap(), "success").await.unwrap();
    on.reviews("root", first, "APPROVE").await.unwrap();
    on.merges("ada", first).await.unwrap().expect("root had no hand in it");
    on.pushes("rover", "develop", "second", &[("src/two.py", "pass\n")]).await.unwrap();
    let second = on.opens("rover", "Release two", "develop").await.unwrap();
    proves(&on, second).await;
    assert_merge(&on, second, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_head_with_two_pull_requests_anchors_both_and_then_is_silent() {
    let policy = format!("{MERGE_POLICY}branches: [stable]\n");
    let on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    super::rivals::stable(&on).await;
    let first = proposes(&on, "work").await;
    let second = on.opens_into("rover", "Shine on stable", "work", "stable").await.unwrap();
    let head = on.head(first).unwrap();
    let anchored = |on: &Rehearsal| {
        let run = on.run(&head, CHECK_NAME).unwrap().unwrap();
        let anchors = Anchors::read(&run.external_id.unwrap());
        for number in [first, second] {
            let anchor = anchors.of(ChangeNumber(number)).unwrap_or_else(|| panic!("#{number} has no anchor"));
            assert_eq!(anchor.seq, on.records(number).unwrap().len() as u64, "#{number}");
        }
    };
    anchored(&on);
    // Looked at in turn, with nothing new, nothing is written.
    looks_again(&on, &[first, second, first, second]).await;
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", first, "APPROVE").await.unwrap();
    anchored(&on);
    looks_again(&on, &[second, first, second]).await;
    on.reviews("mia", second, "APPROVE").await.unwrap();
    assert_merge(&on, first, "success");
    anchored(&on);
    looks_again(&on, &[first, second, first]).await;
    assert_merge(&on, first, "success");
    on.end().await;
}

/// The pull requests' openings are told again, each on its own, under new names.
async fn looks_again(on: &Rehearsal, numbers: &[u64]) {
    on.admin().clear_log();
    for number in numbers {
        let opened = |delivery: &&phasegate::twin::Delivery| {
            delivery.event == "pull_request"
                && delivery.action.as_deref() == Some("opened")
                && delivery.payload["number"] == *number
        };
        let delivery = on.deliveries().iter().find(opened).cloned().unwrap();
        let guid = uuid::Uuid::new_v4().to_string();
        on.posts(&delivery.event, &guid, delivery.payload.to_string().into_bytes()).await.unwrap();
        on.settle().await.unwrap();
    }
    assert!(on.requests().len() > numbers.len(), "nobody looked");
    assert!(on.writes().is_empty(), "told again, it wrote {:#?}", on.writes());
}
