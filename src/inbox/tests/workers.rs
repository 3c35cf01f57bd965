use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::*;

/// Does with each delivery what its GUID says, and reports what it was given.
struct Script {
    seen: mpsc::UnboundedSender<String>,
    /// `wait` takes one permit.
    gate: Semaphore,
    tries: Mutex<HashMap<String, u32>>,
    dropped: mpsc::UnboundedSender<()>,
}

fn done_with(deliveries: Vec<Delivery>) -> Outcome {
    Outcome::DoneWith { deliveries, notes: Vec::new() }
}

struct TellsWhenDropped(mpsc::UnboundedSender<()>);

impl Drop for TellsWhenDropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[async_trait]
impl Handler for Script {
    async fn handle(&self, batch: &Batch) -> Outcome {
        let guid = guids(batch).join(" ");
        let tries = {
            let mut tries = self.tries.lock().unwrap();
            let n = tries.entry(guid.clone()).or_default();
            *n += 1;
            *n
        };
        self.seen.send(guid.clone()).unwrap();
        let word = guid.split('-').next().unwrap_or_default();
        match word {
            "panic" if tries == 1 => panic!("out of cheese"),
            "fail" if tries == 1 => Outcome::Retry { error: "no".to_owned(), not_before: None, counts: true },
            "limited" if tries == 1 => Outcome::Retry { error: "wait".to_owned(), not_before: None, counts: false },
            "bury" => Outcome::Bury { error: "nonsense".to_owned() },
            "fan" => done_with(vec![fact("derived-1", "x"), fact("derived-2", "y")]),
            "broken" => done_with(vec![fact("", "x")]),
            "wait" => {
                let _drop = TellsWhenDropped(self.dropped.clone());
                self.gate.acquire().await.unwrap().forget();
                Outcome::Done
            }
            _ => Outcome::Done,
        }
    }
}

struct Running {
    bench: Bench,
    script: Arc<Script>,
    seen: mpsc::UnboundedReceiver<String>,
    dropped: mpsc::UnboundedReceiver<()>,
    stop: CancellationToken,
    workers: tokio::task::JoinHandle<()>,
}

impl Running {
    fn start(bench: &Bench, n: usize, options: WorkerOptions) -> Self {
        let (tell, seen) = mpsc::unbounded_channel();
        let (tell_drop, dropped) = mpsc::unbounded_channel();
        let script = Script { seen: tell, gate: Semaphore::new(0), tries: Mutex::default(), dropped: tell_drop };
        let script = Arc::new(script);
        let stop = CancellationToken::new();
        let workers = run_workers_with(bench.inbox.clone(), n, script.clone(), stop.clone(), options);
        Self { bench: bench.clone(), script, seen, dropped, stop, workers: tokio::spawn(workers) }
    }

    async fn sees(&mut self) -> String {
        let next = tokio::time::timeout(MINUTE, self.seen.recv());
        next.await.expect("a worker should have come").unwrap()
    }

    async fn settles(&self, guid: &str, state: State) -> Entry {
        until(async || Some(self.bench.entry(guid).await).filter(|entry| entry.state == state)).await
    }

    async fn stops(self) {
        self.stop.cancel();
        tokio::time::timeout(MINUTE, self.workers).await.expect("the workers should stop").unwrap();
    }
}

/// Asks until there is an answer.
async fn until<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let answer = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(MINUTE, answer).await.expect("it should have come to this")
}

fn patient() -> WorkerOptions {
    // Only wake-up calls can wake these workers within a test's time.
    WorkerOptions { poll: 10 * MINUTE, heartbeat: 10 * MINUTE, ..WorkerOptions::default() }
}

both! {
    async fn a_delivery_wakes_a_sleeping_worker(bench: Bench) {
        let mut running = Running::start(&bench, 3, patient());
        for guid in ["a", "b", "c"] {
            bench.arrives(guid, guid).await;
            assert_eq!(running.sees().await, guid);
            running.settles(guid, State::Done).await;
        }
        running.stops().await;
    }

    async fn another_processs_delivery_is_found_by_looking(bench: Bench) {
        let options = WorkerOptions { poll: Duration::from_millis(10), ..patient() };
        let mut running = Running::start(&bench, 1, options);
        let other = bench.other_process().await;
        other.put(&fact("a", "k")).await.unwrap();
        assert_eq!(running.sees().await, "a");
        running.stops().await;
        other.close().await;
    }

    async fn what_is_derived_is_worked_on_too(bench: Bench) {
        let mut running = Running::start(&bench, 2, patient());
        bench.arrives("fan-out", "k").await;
        assert_eq!(running.sees().await, "fan-out");
        let mut derived = [running.sees().await, running.sees().await];
        derived.sort();
        assert_eq!(derived, ["derived-1", "derived-2"]);
        running.settles("derived-1", State::Done).await;
        running.settles("derived-2", State::Done).await;
        running.stops().await;
    }

    async fn a_panic_is_a_failure_and_the_worker_lives_on(bench: Bench) {
        let mut running = Running::start(&bench, 1, patient());
        bench.arrives("panic-1", "k").await;
        assert_eq!(running.sees().await, "panic-1");
        let entry = running.settles("panic-1", State::Parked).await;
        assert_eq!((entry.attempts, entry.error.as_deref()), (1, Some("the handler panicked: out of cheese")));
        bench.arrives("fine", "k").await;
        assert_eq!(running.sees().await, "fine");
        running.settles("fine", State::Done).await;
        bench.later(MINUTE);
        bench.inbox.notify();
        assert_eq!(running.sees().await, "panic-1");
        running.settles("panic-1", State::Done).await;
        running.stops().await;
    }

    async fn every_answer_is_carried_out(bench: Bench) {
        let mut running = Running::start(&bench, 1, patient());
        for guid in ["fail-1", "limited-1", "bury-1", "broken-1"] {
            bench.arrives(guid, guid).await;
            assert_eq!(running.sees().await, guid);
        }
        assert_eq!(running.settles("fail-1", State::Parked).await.attempts, 1);
        let limited = running.settles("limited-1", State::Parked).await;
        assert_eq!((limited.attempts, limited.not_before), (0, bench.inbox.now() + MINUTE));
        assert_eq!(running.settles("bury-1", State::Dead).await.error.as_deref(), Some("nonsense"));
        assert!(running.settles("broken-1", State::Dead).await.error.unwrap().contains("guid"));
        running.stops().await;
    }

    async fn a_long_handler_keeps_its_lease(bench: Bench) {
        let options = WorkerOptions { heartbeat: Duration::from_millis(5), ..patient() };
        let mut running = Running::start(&bench, 1, options);
        bench.arrives("wait-1", "k").await;
        assert_eq!(running.sees().await, "wait-1");
        for _ in 0..5 {
            bench.later(Duration::from_secs(59));
            let want = bench.inbox.now().as_millisecond() + 60_000;
            until(async || {
                let mut tx = bench.inbox.db.read().await.unwrap();
                let lease = tx.row("select until from inbox_leases", args![]).await.unwrap().unwrap().int(0).unwrap();
                tx.rollback().await.unwrap();
                (lease == want).then_some(())
            })
            .await;
            assert!(bench.claims().await.is_none());
        }
        running.script.gate.add_permits(1);
        assert_eq!(running.settles("wait-1", State::Done).await.attempts, 1);
        running.stops().await;
    }

    async fn a_worker_that_lost_its_lease_stops_and_says_nothing(bench: Bench) {
        // Another process takes the key between two heartbeats.
        let options = WorkerOptions { heartbeat: Duration::from_millis(100), ..patient() };
        let mut running = Running::start(&bench, 1, options);
        bench.arrives("wait-1", "k").await;
        assert_eq!(running.sees().await, "wait-1");
        let other = bench.other_process().await;
        let stolen = until(async || {
            bench.later(MINUTE);
            other.claim("thief", 100_000 * MINUTE).await.unwrap()
        })
        .await;
        let dropped = tokio::time::timeout(MINUTE, running.dropped.recv());
        dropped.await.expect("the handler should be stopped").unwrap();
        running.stops().await;
        assert_eq!(bench.entry("wait-1").await.state, State::Running);
        other.complete(&stolen).await.unwrap();
        other.close().await;
    }

    async fn on_shutdown_what_runs_may_finish_and_nothing_new_begins(bench: Bench) {
        let mut running = Running::start(&bench, 2, patient());
        bench.arrives("wait-1", "a").await;
        bench.arrives("wait-2", "b").await;
        running.sees().await;
        running.sees().await;
        running.stop.cancel();
        bench.arrives("late", "c").await;
        running.script.gate.add_permits(2);
        let workers = tokio::time::timeout(MINUTE, &mut running.workers);
        workers.await.expect("the workers should stop").unwrap();
        assert_eq!(bench.entry("wait-1").await.state, State::Done);
        assert_eq!(bench.entry("wait-2").await.state, State::Done);
        assert_eq!(bench.entry("late").await.state, State::Ready);
        assert!(running.seen.try_recv().is_err());
    }

    async fn when_the_grace_is_over_the_rest_is_given_back(bench: Bench) {
        let mut running = Running::start(&bench, 1, WorkerOptions { grace: Duration::ZERO, ..patient() });
        bench.arrives("wait-1", "a").await;
        running.sees().await;
        running.stops().await;
        let batch = bench.claims_something().await;
        assert_eq!((guids(&batch), batch.items[0].attempt), (vec!["wait-1"], 1), "as if nothing had been");
    }
}
