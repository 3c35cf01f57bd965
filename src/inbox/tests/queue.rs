use std::collections::HashMap;
use std::sync::Mutex;

use super::*;

both! {
    async fn what_waits_for_an_installation_can_be_hurried(bench: Bench) {
        let other = Delivery { installation: Some(InstallationId(8)), ..fact("other", "b") };
        bench.arrives("waits", "a").await;
        bench.stored(&other).await;
        for _ in 0..2 {
            let batch = bench.claims_something().await;
            bench.inbox.postpone(&batch, "suspended", bench.inbox.now() + MINUTE).await.unwrap();
        }
        assert!(bench.claims().await.is_none());
        assert_eq!(bench.inbox.hurry(InstallationId(7)).await.unwrap(), 1);
        let batch = bench.claims_something().await;
        assert_eq!((guids(&batch), batch.items[0].attempt), (vec!["waits"], 1));
        assert!(bench.claims().await.is_none());
    }

    async fn what_is_claimed_is_what_was_put(bench: Bench) {
        let delivery = Delivery { barrier: true, ..fact("g", "k") };
        let id = bench.stored(&delivery).await;
        let batch = bench.claims_something().await;
        assert_eq!(batch.key, "k");
        let expected = Item {
            id,
            guid: delivery.guid,
            event: delivery.event,
            installation: delivery.installation,
            repo: delivery.repo,
            barrier: true,
            payload: delivery.payload,
            meta: delivery.meta,
            attempt: 1,
            received_at: bench.inbox.now(),
        };
        assert_eq!(batch.items, [expected]);
        assert!(bench.claims().await.is_none());
        bench.inbox.complete(&batch).await.unwrap();
        assert!(bench.claims().await.is_none());
        let none = Delivery { installation: None, repo: None, payload: Vec::new(), meta: json!(null), ..fact("n", "k") };
        bench.stored(&none).await;
        let batch = bench.claims_something().await;
        assert_eq!((batch.items[0].installation, batch.items[0].repo), (None, None));
        assert!(batch.items[0].payload.is_empty());
    }

    async fn a_guid_is_one_event_whatever_became_of_it(bench: Bench) {
        let inbox = &bench.inbox;
        bench.arrives("g", "k").await;
        let again = fact("g", "another key");
        assert_eq!(inbox.put(&again).await.unwrap(), Put::Duplicate, "ready");
        let batch = bench.claims_something().await;
        assert_eq!(inbox.put(&again).await.unwrap(), Put::Duplicate, "running");
        inbox.retry(&batch, "later", None).await.unwrap();
        assert_eq!(inbox.put(&again).await.unwrap(), Put::Duplicate, "parked");
        bench.later(20 * MINUTE);
        let batch = bench.claims_something().await;
        inbox.bury(&batch, "never").await.unwrap();
        assert_eq!(inbox.put(&again).await.unwrap(), Put::Duplicate, "dead");
        assert_eq!(inbox.retry_dead(Which::All).await.unwrap(), 1);
        let batch = bench.claims_something().await;
        inbox.complete(&batch).await.unwrap();
        assert_eq!(inbox.put(&again).await.unwrap(), Put::Duplicate, "done");
        assert!(bench.claims().await.is_none());
    }

    async fn parallel_puts_of_one_guid_store_it_once(bench: Bench) {
        let others = [bench.other_process().await, bench.other_process().await];
        let mut puts = tokio::task::JoinSet::new();
        for n in 0..60 {
            let inbox = [&bench.inbox, &others[0], &others[1]][n % 3].clone();
            puts.spawn(async move { (n % 4, inbox.put(&fact(&format!("g{}", n % 4), "k")).await.unwrap()) });
        }
        let mut new = HashMap::new();
        while let Some(put) = puts.join_next().await {
            let (guid, put) = put.unwrap();
            *new.entry(guid).or_insert(0) += usize::from(put != Put::Duplicate);
        }
        assert_eq!(new, HashMap::from([(0, 1), (1, 1), (2, 1), (3, 1)]));
        assert_eq!(bench.claims_something().await.items.len(), 4);
        for other in others {
            other.close().await;
        }
    }

    async fn what_waits_behind_a_long_backlog_is_found_the_oldest_first(bench: Bench) {
        let burst: Vec<Delivery> = (0..400).map(|at| fact(&format!("a{at}"), "a")).collect();
        bench.arrives("parent", "p").await;
        bench.inbox.complete_with(&bench.claims_something().await, &burst, &[]).await.unwrap();
        let held = bench.claims_something().await;
        assert_eq!((held.key.as_str(), held.items.len()), ("a", MAX_BATCH));
        for key in ["d", "b", "c"] {
            bench.arrives(key, key).await;
        }
        for key in ["d", "b", "c"] {
            assert_eq!(bench.claims_something().await.key, key);
        }
        assert!(bench.claims().await.is_none(), "the rest is behind one that is worked on");
        bench.inbox.complete(&held).await.unwrap();
        assert_eq!(bench.claims_something().await.key, "a");
    }

    async fn a_burst_is_one_batch_and_each_command_ends_its_own(bench: Bench) {
        for guid in ["a", "b"] {
            bench.arrives(guid, "k").await;
        }
        bench.command_arrives("c1", "k").await;
        bench.command_arrives("c2", "k").await;
        bench.arrives("d", "k").await;
        bench.command_arrives("c3", "k").await;
        bench.arrives("e", "k").await;
        let mut seen = Vec::new();
        while let Some(batch) = bench.claims().await {
            seen.push(guids(&batch).join(" "));
            bench.inbox.complete(&batch).await.unwrap();
        }
        assert_eq!(seen, ["a b c1", "c2", "d c3", "e"]);
    }

    async fn a_long_burst_comes_in_several_batches(bench: Bench) {
        let burst: Vec<_> = (0..MAX_BATCH + 20).map(|n| fact(&format!("g{n}"), "k")).collect();
        bench.inbox.put_many(&burst).await.unwrap();
        let first = bench.claims_something().await;
        assert_eq!(first.items.len(), MAX_BATCH);
        bench.inbox.complete(&first).await.unwrap();
        let second = bench.claims_something().await;
        assert_eq!(second.items.len(), 20);
        assert_eq!(second.items[0].guid, format!("g{MAX_BATCH}"));
    }

    async fn a_key_is_held_by_one_and_others_go_on_oldest_first(bench: Bench) {
        for (guid, key) in [("a1", "a"), ("b1", "b"), ("a2", "a"), ("c1", "c")] {
            bench.arrives(guid, key).await;
        }
        let a = bench.claims_something().await;
        assert_eq!(guids(&a), ["a1", "a2"]);
        bench.arrives("a3", "a").await;
        let b = bench.claims_something().await;
        let c = bench.claims_something().await;
        assert_eq!((guids(&b), guids(&c)), (vec!["b1"], vec!["c1"]));
        assert!(bench.claims().await.is_none(), "a3 waits for its key");
        bench.inbox.complete(&a).await.unwrap();
        assert_eq!(guids(&bench.claims_something().await), ["a3"]);
    }

    async fn a_worker_that_dies_loses_its_key_when_the_lease_ends(bench: Bench) {
        bench.arrives("a", "k").await;
        bench.command_arrives("c", "k").await;
        let dead = bench.claims_something().await;
        bench.later(MINUTE - Duration::from_millis(1));
        assert!(bench.claims().await.is_none(), "the lease still holds");
        bench.later(Duration::from_millis(1));
        let other = bench.other_process().await;
        let batch = other.claim("heir", MINUTE).await.unwrap().expect("the lease has ended");
        assert_eq!(guids(&batch), ["a", "c"]);
        assert_eq!(batch.items[0].attempt, 2, "a death counts as an attempt");
        for late in [
            bench.inbox.complete(&dead).await,
            bench.inbox.complete_with(&dead, &[fact("derived", "k2")], &[]).await.map(drop),
            bench.inbox.retry(&dead, "late", None).await,
            bench.inbox.bury(&dead, "late").await,
            bench.inbox.release(&dead).await,
            bench.inbox.extend(&dead, MINUTE).await,
        ] {
            assert!(lost(late));
        }
        assert_eq!(bench.entry("a").await.state, State::Running);
        assert_eq!(bench.inbox.stats().await.unwrap().running, 2, "and nothing was derived");
        other.complete(&batch).await.unwrap();
        assert!(lost(bench.inbox.complete(&dead).await));
        assert_eq!(bench.entry("a").await.state, State::Done);
        other.close().await;
    }

    async fn a_late_answer_counts_while_nobody_else_took_the_key(bench: Bench) {
        bench.arrives("a", "k").await;
        let batch = bench.claims_something().await;
        bench.later(2 * MINUTE);
        bench.inbox.complete(&batch).await.unwrap();
        assert!(bench.claims().await.is_none());
        assert!(lost(bench.inbox.complete(&batch).await), "but only once");
    }

    async fn a_lease_can_be_extended(bench: Bench) {
        bench.arrives("a", "k").await;
        let batch = bench.claims_something().await;
        bench.later(MINUTE / 2);
        bench.inbox.extend(&batch, MINUTE).await.unwrap();
        bench.later(MINUTE - Duration::from_millis(1));
        assert!(bench.claims().await.is_none());
        bench.later(Duration::from_millis(1));
        assert!(bench.claims().await.is_some());
    }

    async fn back_off_holds_nobody_up(bench: Bench) {
        bench.command_arrives("c1", "k").await;
        let batch = bench.claims_something().await;
        bench.inbox.retry(&batch, "GitHub is down", None).await.unwrap();
        assert_eq!(bench.entry("c1").await.state, State::Parked);
        assert!(bench.claims().await.is_none());
        bench.arrives("z", "another key").await;
        let batch = bench.claims_something().await;
        assert_eq!(guids(&batch), ["z"]);
        bench.inbox.complete(&batch).await.unwrap();
        bench.arrives("a", "k").await;
        let batch = bench.claims_something().await;
        assert_eq!(guids(&batch), ["a"]);
        bench.inbox.complete(&batch).await.unwrap();
        let due = bench.inbox.next_due().await.unwrap().expect("c1 is parked");
        let wait = due.duration_since(bench.inbox.now()).unsigned_abs();
        assert_eq!(wait, Duration::from_millis(duration_ms(retry_delay(1, "c1")).unsigned_abs()));
        bench.later(wait - Duration::from_millis(1));
        assert!(bench.claims().await.is_none());
        bench.later(Duration::from_millis(1));
        assert_eq!(bench.inbox.next_due().await.unwrap(), None);
        let batch = bench.claims_something().await;
        assert_eq!((guids(&batch), batch.items[0].attempt), (vec!["c1"], 2));
    }

    async fn a_failed_batch_comes_back_as_one(bench: Bench) {
        for guid in ["a", "b", "c"] {
            bench.arrives(guid, "k").await;
        }
        let batch = bench.claims_something().await;
        bench.inbox.retry(&batch, "no", None).await.unwrap();
        bench.later(20 * MINUTE);
        assert_eq!(guids(&bench.claims_something().await), ["a", "b", "c"]);
    }

    async fn too_many_failures_are_dead_letters_that_can_live_again(bench: Bench) {
        bench.arrives("a", "k").await;
        for attempt in 1..=8 {
            assert_ne!(bench.entry("a").await.state, State::Dead);
            let batch = bench.claims_something().await;
            assert_eq!(batch.items[0].attempt, attempt);
            bench.inbox.retry(&batch, &format!("failure {attempt}\0{}", "x".repeat(9000)), None).await.unwrap();
            bench.later(16 * MINUTE);
        }
        assert!(bench.claims().await.is_none());
        let dead = bench.inbox.dead().await.unwrap();
        assert_eq!((dead.len(), dead[0].attempts, dead[0].state), (1, 8, State::Dead));
        let error = dead[0].error.as_deref().unwrap();
        assert!(error.starts_with("failure 8\u{fffd}xxx") && error.ends_with('…') && error.chars().count() == 2001);
        assert_eq!(bench.inbox.retry_dead(Which::One(DeliveryId(dead[0].id.0 + 1))).await.unwrap(), 0);
        assert_eq!(bench.inbox.retry_dead(Which::One(dead[0].id)).await.unwrap(), 1);
        assert_eq!(bench.inbox.retry_dead(Which::All).await.unwrap(), 0);
        let batch = bench.claims_something().await;
        assert_eq!(batch.items[0].attempt, 1);
        assert_eq!(batch.items[0].payload, fact("a", "k").payload, "a dead letter keeps its payload");
        bench.inbox.complete(&batch).await.unwrap();
        assert_eq!(bench.entry("a").await.error, None);
    }

    async fn a_delivery_that_kills_its_worker_dies_in_the_end(bench: Bench) {
        bench.arrives("poison", "k").await;
        for _ in 0..8 {
            bench.claims_something().await;
            bench.later(MINUTE);
        }
        bench.arrives("fine", "k").await;
        assert_eq!(guids(&bench.claims_something().await), ["fine"]);
        let dead = bench.entry("poison").await;
        assert_eq!(dead.state, State::Dead);
        assert!(dead.error.unwrap().contains("8 times"));
        bench.later(MINUTE);
        bench.inbox.retry_dead(Which::All).await.unwrap();
        assert_eq!(guids(&bench.claims_something().await), ["poison", "fine"], "it may try again");
    }

    async fn what_failed_often_goes_alone(bench: Bench) {
        bench.arrives("bad", "k").await;
        for _ in 0..ALONE_AFTER {
            let batch = bench.claims_something().await;
            bench.inbox.retry(&batch, "no", None).await.unwrap();
            bench.later(16 * MINUTE);
        }
        bench.arrives("good", "k").await;
        let batch = bench.claims_something().await;
        assert_eq!(guids(&batch), ["bad"]);
        bench.inbox.bury(&batch, "hopeless").await.unwrap();
        assert_eq!(guids(&bench.claims_something().await), ["good"]);
    }

    async fn waiting_for_a_rate_limit_is_no_attempt(bench: Bench) {
        bench.arrives("a", "k").await;
        for _ in 0..20 {
            let batch = bench.claims_something().await;
            assert_eq!(batch.items[0].attempt, 1);
            let until = bench.inbox.now() + MINUTE;
            bench.inbox.postpone(&batch, "rate limited", until).await.unwrap();
            assert_eq!(bench.inbox.next_due().await.unwrap(), Some(until));
            assert!(bench.claims().await.is_none());
            bench.later(MINUTE);
        }
        let entry = bench.entry("a").await;
        assert_eq!((entry.state, entry.attempts, entry.error.as_deref()), (State::Ready, 0, Some("rate limited")));
    }

    async fn a_released_batch_is_claimable_at_once(bench: Bench) {
        bench.arrives("a", "k").await;
        let batch = bench.claims_something().await;
        bench.inbox.release(&batch).await.unwrap();
        assert_eq!(bench.claims_something().await.items[0].attempt, 1);
    }

    async fn a_fan_out_is_stored_with_its_parents_answer_or_not_at_all(bench: Bench) {
        bench.arrives("push", "repo").await;
        let batch = bench.claims_something().await;
        let derived = [fact("push/1", "change 1"), fact("push/2", "change 2"), fact("push", "repo")];
        let bad = [fact("push/3", "change 3"), fact("push/4", "")];
        let notes = [Note { namespace: "repo".to_owned(), key: "told".to_owned(), value: b"all".to_vec() }];
        let refused = bench.inbox.complete_with(&batch, &bad, &notes).await;
        assert!(matches!(refused, Err(InboxError::Malformed("key"))));
        assert_eq!(bench.inbox.stats().await.unwrap(), Stats { running: 1, ..Stats::default() });
        assert_eq!(bench.inbox.cache_get("repo", "told").await.unwrap(), None, "nothing was passed on");
        let puts = bench.inbox.complete_with(&batch, &derived, &notes).await.unwrap();
        assert!(matches!(puts[..], [Put::New(_), Put::New(_), Put::Duplicate]));
        assert_eq!(bench.entry("push").await.state, State::Done);
        assert_eq!(bench.inbox.cache_get("repo", "told").await.unwrap().as_deref(), Some(&b"all"[..]));
        assert_eq!(guids(&bench.claims_something().await), ["push/1"]);
        assert_eq!(guids(&bench.claims_something().await), ["push/2"]);
    }

    async fn a_caller_that_goes_away_in_the_middle_leaves_the_inbox_whole(bench: Bench) {
        // A webhook's sender may hang up at any moment, and its request is then dropped at whatever await it is at.
        for polls in 0..60 {
            let inbox = bench.inbox.clone();
            let delivery = fact(&format!("g{polls}"), "k");
            let mut put = Box::pin(async move { inbox.put(&delivery).await });
            for _ in 0..polls % 12 {
                if futures::poll!(&mut put).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            drop(put);
            bench.inbox.put(&fact(&format!("g{polls}"), "k")).await.unwrap();
        }
        assert_eq!(bench.claims_something().await.items.len(), 60);
    }

    async fn many_workers_keep_each_keys_order_and_never_meet(bench: Bench) {
        const KEYS: usize = 12;
        const EACH: usize = 15;
        let others = [bench.other_process().await, bench.other_process().await];
        let at_work: Arc<Mutex<HashMap<String, Vec<i64>>>> = Arc::default();
        let busy: Arc<Mutex<std::collections::HashSet<String>>> = Arc::default();
        let mut tasks = tokio::task::JoinSet::new();
        let putting = Arc::new(std::sync::atomic::AtomicUsize::new(3));
        for (n, inbox) in [&bench.inbox, &others[0], &others[1]].into_iter().cloned().enumerate() {
            let putting = putting.clone();
            tasks.spawn(async move {
                for i in 0..KEYS * EACH / 3 {
                    let key = format!("k{}", (i * 7 + n) % KEYS);
                    let guid = format!("{n}-{i}");
                    inbox.put(&Delivery { barrier: i % 5 == 0, ..fact(&guid, &key) }).await.unwrap();
                }
                putting.fetch_sub(1, Ordering::SeqCst);
            });
        }
        for worker in 0..9 {
            let inbox = [&bench.inbox, &others[0], &others[1]][worker % 3].clone();
            let (at_work, busy, putting) = (at_work.clone(), busy.clone(), putting.clone());
            tasks.spawn(async move {
                loop {
                    let over = putting.load(Ordering::SeqCst) == 0;
                    let Some(batch) = inbox.claim(&format!("w{worker}"), MINUTE).await.unwrap() else {
                        let stats = inbox.stats().await.unwrap();
                        if over && stats.ready + stats.running == 0 {
                            return;
                        }
                        tokio::task::yield_now().await;
                        continue;
                    };
                    assert!(busy.lock().unwrap().insert(batch.key.clone()), "two workers on {}", batch.key);
                    let last = batch.items.len() - 1;
                    assert!(batch.items[..last].iter().all(|item| !item.barrier), "a barrier inside a batch");
                    for item in &batch.items {
                        tokio::task::yield_now().await;
                        at_work.lock().unwrap().entry(batch.key.clone()).or_default().push(item.id.0);
                    }
                    assert!(busy.lock().unwrap().remove(&batch.key));
                    inbox.complete(&batch).await.unwrap();
                }
            });
        }
        let all = async {
            while let Some(ended) = tasks.join_next().await {
                ended.unwrap();
            }
        };
        tokio::time::timeout(2 * MINUTE, all).await.expect("the workers should come to an end");
        let at_work = std::mem::take(&mut *at_work.lock().unwrap());
        assert_eq!(at_work.values().map(Vec::len).sum::<usize>(), KEYS * EACH);
        let mut ids: Vec<_> = at_work.values().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), KEYS * EACH, "each delivery once");
        for other in others {
            other.close().await;
        }
    }

    async fn takeovers_and_late_answers_never_lock_each_other_out(bench: Bench) {
        // Every lease is over before its answer, back-off shuffles the heads, and nobody may fail but by a lost lease.
        let deliveries: Vec<_> = (0..40).map(|n| fact(&format!("g{n}"), &format!("k{}", n % 2))).collect();
        let options = Options { clock: bench.clock.clone(), max_attempts: u32::MAX };
        let inbox = Inbox::open_with(&bench.url, options).await.unwrap();
        inbox.put_many(&deliveries).await.unwrap();
        let kept = Arc::new(AtomicI64::new(0));
        let mut tasks = tokio::task::JoinSet::new();
        for worker in 0..8_u64 {
            let (bench, inbox, kept) = (bench.clone(), inbox.clone(), kept.clone());
            tasks.spawn(async move {
                for round in 0..40 {
                    let Some(batch) = inbox.claim("w", Duration::from_millis(2)).await.unwrap() else {
                        bench.later(Duration::from_millis(1));
                        continue;
                    };
                    bench.later(Duration::from_millis(worker % 3));
                    let answer = match (worker + round) % 5 {
                        0 => inbox.extend(&batch, Duration::from_millis(2)).await,
                        1 => inbox.complete(&batch).await,
                        2 => inbox.release(&batch).await,
                        _ => inbox.retry(&batch, "no", Some(inbox.now() + Duration::from_millis(worker))).await,
                    };
                    match answer {
                        Ok(()) => drop(kept.fetch_add(1, Ordering::SeqCst)),
                        Err(InboxError::LostLease { .. }) => {}
                        Err(err) => panic!("{err:?}"),
                    }
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
        assert!(kept.load(Ordering::SeqCst) > 0);
        inbox.close().await;
    }

    async fn many_workers_keep_the_order_of_what_was_there(bench: Bench) {
        let deliveries: Vec<_> = (0..160)
            .map(|n| Delivery { barrier: n % 3 == 0, ..fact(&format!("g{n}"), &format!("k{}", n % 8)) })
            .collect();
        bench.inbox.put_many(&deliveries).await.unwrap();
        let order: Arc<Mutex<HashMap<String, Vec<i64>>>> = Arc::default();
        let mut tasks = tokio::task::JoinSet::new();
        for worker in 0..8 {
            let (inbox, order) = (bench.inbox.clone(), order.clone());
            tasks.spawn(async move {
                while inbox.stats().await.unwrap().ready > 0 {
                    if let Some(batch) = inbox.claim(&format!("w{worker}"), MINUTE).await.unwrap() {
                        let ids = batch.items.iter().map(|item| item.id.0);
                        order.lock().unwrap().entry(batch.key.clone()).or_default().extend(ids);
                        inbox.complete(&batch).await.unwrap();
                    }
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
        let order = order.lock().unwrap();
        assert_eq!(order.values().map(Vec::len).sum::<usize>(), 160);
        for (key, ids) in order.iter() {
            assert!(ids.is_sorted(), "{key} out of order: {ids:?}");
        }
    }
}

#[test]
fn the_wait_grows_to_a_quarter_of_an_hour_and_is_always_the_same() {
    let minutes = |attempt| retry_delay(attempt, "some-guid").as_secs_f64() / 60.0;
    let base = [5.0, 15.0, 45.0, 135.0, 405.0, 900.0, 900.0, 900.0, 900.0, 900.0, 900.0];
    for (attempt, seconds) in (1..).zip(base) {
        let near = (0.8..=1.2).contains(&(minutes(attempt) * 60.0 / seconds));
        assert!(near && minutes(attempt) <= 15.0, "{attempt}: {}", minutes(attempt));
    }
    assert!(minutes(u32::MAX) <= 15.0);
    assert_eq!(retry_delay(3, "a"), retry_delay(3, "a"));
    assert_ne!(retry_delay(3, "a"), retry_delay(3, "b"));
}
