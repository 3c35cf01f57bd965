//! Deliveries that share a commit.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use futures::future::join_all;

use super::*;
use crate::inbox::db::Tx;

type Putting<'a> = Pin<Box<dyn Future<Output = Result<Put, InboxError>> + 'a>>;

/// Hands a delivery over, and does not wait for the answer.
async fn handed_over<'a>(inbox: &'a Inbox, delivery: &'a Delivery) -> Putting<'a> {
    let mut putting: Putting<'a> = Box::pin(inbox.put(delivery));
    assert!(futures::poll!(&mut putting).is_pending(), "the database is held, and it was stored");
    putting
}

/// Nobody else can write until this is let go.
async fn held(inbox: &Inbox) -> Tx {
    inbox.db.begin().await.unwrap()
}

/// A clock that no two readings of agree.
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        timestamp(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

both! {
    async fn many_at_once_are_each_stored_once(bench: Bench) {
        // Each guid comes three times.
        let deliveries: Vec<Delivery> = (0..150).map(|n| fact(&format!("g{}", n % 50), &format!("k{}", n % 7))).collect();
        let puts = join_all(deliveries.iter().map(|delivery| bench.inbox.put(delivery))).await;
        let ids: BTreeSet<DeliveryId> = puts
            .into_iter()
            .filter_map(|put| match put.unwrap() {
                Put::New(id) => Some(id),
                Put::Duplicate => None,
            })
            .collect();
        assert_eq!(ids.len(), 50);
        let all = bench.inbox.list(&Filter { limit: 1000, ..Filter::default() }).await.unwrap();
        assert_eq!(all.iter().map(|entry| entry.id).collect::<BTreeSet<_>>(), ids);
        let known: BTreeSet<String> = all.into_iter().map(|entry| entry.guid).collect();
        assert_eq!(known, (0..50).map(|n| format!("g{n}")).collect());
    }

    async fn one_that_is_malformed_harms_no_other(bench: Bench) {
        let (good, bad) = (fact("good", "k"), fact("bad", ""));
        let (good, bad) = tokio::join!(bench.inbox.put(&good), bench.inbox.put(&bad));
        assert!(matches!(good, Ok(Put::New(_))) && matches!(bad, Err(InboxError::Malformed("key"))));
    }
}

#[tokio::test]
async fn what_waits_shares_one_commit() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("inbox.db").display());
    let clock = Arc::new(Ticking(AtomicI64::new(1_800_000_000_000)));
    let inbox = Inbox::open_with(&url, Options { clock, ..Options::default() }).await.unwrap();
    let deliveries: Vec<Delivery> = (0..101).map(|n| fact(&format!("g{n}"), "k")).collect();
    let all = held(&inbox).await;
    let mut waiting = vec![handed_over(&inbox, &deliveries[0]).await];
    // The first is taken before the others are there.
    tokio::task::yield_now().await;
    for delivery in &deliveries[1..] {
        waiting.push(handed_over(&inbox, delivery).await);
    }
    all.rollback().await.unwrap();
    assert!(join_all(waiting).await.iter().all(|put| matches!(put, Ok(Put::New(_)))));
    // A commit has one time.
    let entries = inbox.list(&Filter { limit: 1000, ..Filter::default() }).await.unwrap();
    let commits: BTreeSet<Timestamp> = entries.iter().map(|entry| entry.received_at).collect();
    assert_eq!((entries.len(), commits.len()), (101, 2));
    // And within it they stand in the order in which they came.
    let guids: Vec<&str> = entries.iter().rev().map(|entry| entry.guid.as_str()).collect();
    assert_eq!(guids, deliveries.iter().map(|delivery| delivery.guid.as_str()).collect::<Vec<_>>());
    inbox.close().await;
}

#[tokio::test]
async fn a_sender_that_goes_away_takes_nothing_along() {
    let bench = Bench::sqlite().await;
    let all = held(&bench.inbox).await;
    let [gone, first, second] = ["gone", "first", "second"].map(|guid| fact(guid, "k"));
    // It is the first: in its place somebody could have been waiting for the commit on behalf of all.
    let leaves = handed_over(&bench.inbox, &gone).await;
    let waiting = [handed_over(&bench.inbox, &first).await, handed_over(&bench.inbox, &second).await];
    drop(leaves);
    all.rollback().await.unwrap();
    assert!(join_all(waiting).await.iter().all(|put| matches!(put, Ok(Put::New(_)))));
    assert_eq!(bench.inbox.put(&gone).await.unwrap(), Put::Duplicate, "what was handed over was kept");
    bench.clear_away().await;
}

#[tokio::test]
async fn a_commit_that_fails_is_told_to_each_and_the_next_one_goes_on() {
    let bench = Bench::sqlite().await;
    let mut all = held(&bench.inbox).await;
    let deliveries = ["a", "b", "c"].map(|guid| fact(guid, "k"));
    let mut waiting = Vec::new();
    for delivery in &deliveries {
        waiting.push(handed_over(&bench.inbox, delivery).await);
    }
    all.run("alter table inbox_deliveries rename to mislaid", vec![]).await.unwrap();
    all.commit().await.unwrap();
    let puts = join_all(waiting).await;
    assert!(puts.iter().all(|put| matches!(put, Err(InboxError::Group(_)))), "{puts:?}");
    let mut all = held(&bench.inbox).await;
    all.run("alter table mislaid rename to inbox_deliveries", vec![]).await.unwrap();
    all.commit().await.unwrap();
    for delivery in &deliveries {
        assert!(matches!(bench.inbox.put(delivery).await, Ok(Put::New(_))), "nothing of it was stored before");
    }
    bench.clear_away().await;
}

#[tokio::test]
async fn after_the_end_nothing_is_taken() {
    let bench = Bench::sqlite().await;
    bench.inbox.close().await;
    assert!(bench.inbox.put(&fact("late", "k")).await.is_err());
}
