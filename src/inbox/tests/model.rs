//! Random stories, told to the inbox and to a model of it that fits on a page.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

use super::*;

const LEASE: i64 = 60_000;

#[derive(Debug, Clone)]
enum Step {
    Put {
        guid: u8,
        key: u8,
        barrier: bool,
    },
    Claim,
    /// The index picks among all batches that were ever claimed, also those answered for or expired.
    Complete {
        batch: usize,
    },
    FanOut {
        batch: usize,
        guid: u8,
        key: u8,
    },
    Retry {
        batch: usize,
        wait: i64,
    },
    Postpone {
        batch: usize,
        wait: i64,
    },
    Release {
        batch: usize,
    },
    Bury {
        batch: usize,
    },
    Extend {
        batch: usize,
    },
    RetryDead,
    Later {
        ms: i64,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let batch = || 0..8_usize;
    let wait = || prop_oneof![Just(0_i64), 1..90_000_i64];
    let step = prop_oneof![
        6 => (any::<u8>(), 0..3_u8, prop::bool::weighted(0.3))
            .prop_map(|(guid, key, barrier)| Step::Put { guid: guid % 40, key, barrier }),
        6 => Just(Step::Claim),
        2 => batch().prop_map(|batch| Step::Complete { batch }),
        1 => (batch(), any::<u8>(), 0..3_u8)
            .prop_map(|(batch, guid, key)| Step::FanOut { batch, guid: guid % 40, key }),
        3 => (batch(), wait()).prop_map(|(batch, wait)| Step::Retry { batch, wait }),
        1 => (batch(), wait()).prop_map(|(batch, wait)| Step::Postpone { batch, wait }),
        1 => batch().prop_map(|batch| Step::Release { batch }),
        1 => batch().prop_map(|batch| Step::Bury { batch }),
        1 => batch().prop_map(|batch| Step::Extend { batch }),
        1 => Just(Step::RetryDead),
        3 => (1..50_000_i64).prop_map(|ms| Step::Later { ms }),
    ];
    prop::collection::vec(step, 1..50)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    Done,
    Dead,
}

#[derive(Debug, Clone)]
struct ModelItem {
    guid: String,
    key: String,
    barrier: bool,
    attempts: u32,
    not_before: i64,
    fate: Fate,
    holder: Option<usize>,
}

/// Items in order of arrival; leases as key → (batch, until).
#[derive(Default)]
struct Model {
    now: i64,
    items: Vec<ModelItem>,
    leases: BTreeMap<String, (usize, i64)>,
    claims: usize,
}

const MAX_ATTEMPTS: u32 = 4;

impl Model {
    fn put(&mut self, guid: &str, key: &str, barrier: bool) -> bool {
        if self.items.iter().any(|item| item.guid == guid) {
            return false;
        }
        self.items.push(ModelItem {
            guid: guid.to_owned(),
            key: key.to_owned(),
            barrier,
            attempts: 0,
            not_before: self.now,
            fate: Fate::Open,
            holder: None,
        });
        true
    }

    fn free(&self, key: &str) -> bool {
        self.leases.get(key).is_none_or(|(_, until)| *until <= self.now)
    }

    fn claim(&mut self) -> Option<Vec<String>> {
        let due = |item: &ModelItem, now| item.fate == Fate::Open && item.not_before <= now;
        loop {
            let key = self.items.iter().find(|item| due(item, self.now) && self.free(&item.key))?.key.clone();
            let mut taken = Vec::new();
            for item in self.items.iter_mut().filter(|item| item.key == key && due(item, self.now)) {
                if item.attempts >= MAX_ATTEMPTS {
                    item.fate = Fate::Dead;
                    continue;
                }
                let alone = item.attempts >= ALONE_AFTER;
                if alone && !taken.is_empty() {
                    break;
                }
                item.attempts += 1;
                item.holder = Some(self.claims);
                taken.push(item.guid.clone());
                if alone || item.barrier {
                    break;
                }
            }
            if taken.is_empty() {
                self.leases.remove(&key);
                continue;
            }
            self.leases.insert(key, (self.claims, self.now + LEASE));
            self.claims += 1;
            return Some(taken);
        }
    }

    /// Applies an answer to the items of a batch, unless its lease went to another.
    fn answer(&mut self, batch: usize, key: &str, mut each: impl FnMut(&mut ModelItem)) -> bool {
        if self.leases.get(key).is_none_or(|(holder, _)| *holder != batch) {
            return false;
        }
        self.leases.remove(key);
        for item in self.items.iter_mut().filter(|item| item.holder == Some(batch) && item.fate == Fate::Open) {
            item.holder = None;
            each(item);
        }
        true
    }

    fn states(&self) -> BTreeMap<String, (State, u32)> {
        let state = |item: &ModelItem| match item.fate {
            Fate::Done => State::Done,
            Fate::Dead => State::Dead,
            Fate::Open => match self.leases.get(&item.key) {
                Some((holder, until)) if item.holder == Some(*holder) && *until > self.now => State::Running,
                _ if item.not_before > self.now => State::Parked,
                _ => State::Ready,
            },
        };
        self.items.iter().map(|item| (item.guid.clone(), (state(item), item.attempts))).collect()
    }
}

async fn tell(bench: &Bench, inbox: &Inbox, story: Vec<Step>) -> Result<(), TestCaseError> {
    let mut tx = inbox.db.begin().await.unwrap();
    for table in ["delete from inbox_deliveries", "delete from inbox_leases"] {
        tx.run(table, args![]).await.unwrap();
    }
    tx.commit().await.unwrap();
    let mut model = Model { now: inbox.now_ms(), ..Model::default() };
    let mut batches: Vec<Batch> = Vec::new();
    // Without a batch to speak of, an answer is skipped.
    let pick = |batches: &Vec<Batch>, n: usize| (!batches.is_empty()).then(|| batches.len() - 1 - n % batches.len());
    for step in story {
        let told = format!("{step:?}");
        let kept = |result: Result<(), InboxError>| match result {
            Ok(()) => true,
            Err(InboxError::LostLease { .. }) => false,
            Err(err) => panic!("{told}: {err:?}"),
        };
        match step {
            Step::Put { guid, key, barrier } => {
                let (guid, key) = (format!("g{guid}"), format!("k{key}"));
                let put = inbox.put(&Delivery { barrier, ..fact(&guid, &key) }).await.unwrap();
                prop_assert_eq!(put != Put::Duplicate, model.put(&guid, &key, barrier), "{}", told);
            }
            Step::Claim => {
                let batch = inbox.claim("w", Duration::from_millis(LEASE.unsigned_abs())).await.unwrap();
                let got = batch.as_ref().map(|batch| guids(batch).into_iter().map(str::to_owned).collect::<Vec<_>>());
                prop_assert_eq!(got, model.claim());
                batches.extend(batch);
            }
            Step::Complete { batch } => {
                let Some(n) = pick(&batches, batch) else { continue };
                let real = kept(inbox.complete(&batches[n]).await);
                prop_assert_eq!(real, model.answer(n, &batches[n].key, |item| item.fate = Fate::Done), "{}", told);
            }
            Step::FanOut { batch, guid, key } => {
                let Some(n) = pick(&batches, batch) else { continue };
                let (guid, key) = (format!("g{guid}"), format!("k{key}"));
                let real = kept(inbox.complete_with(&batches[n], &[fact(&guid, &key)], &[]).await.map(drop));
                let modelled = model.answer(n, &batches[n].key, |item| item.fate = Fate::Done);
                if modelled {
                    model.put(&guid, &key, false);
                }
                prop_assert_eq!(real, modelled, "{}", told);
            }
            Step::Retry { batch, wait } => {
                let Some(n) = pick(&batches, batch) else { continue };
                let at = timestamp(model.now + wait);
                let real = kept(inbox.retry(&batches[n], "failed", Some(at)).await);
                let at = model.now + wait;
                let modelled = model.answer(n, &batches[n].key, |item| {
                    if item.attempts >= MAX_ATTEMPTS {
                        item.fate = Fate::Dead;
                    } else {
                        item.not_before = at;
                    }
                });
                prop_assert_eq!(real, modelled, "{}", told);
            }
            Step::Postpone { batch, wait } => {
                let Some(n) = pick(&batches, batch) else { continue };
                let at = model.now + wait;
                let real = kept(inbox.postpone(&batches[n], "limited", timestamp(at)).await);
                let modelled = model.answer(n, &batches[n].key, |item| {
                    item.attempts -= 1;
                    item.not_before = at;
                });
                prop_assert_eq!(real, modelled, "{}", told);
            }
            Step::Release { batch } => {
                let Some(n) = pick(&batches, batch) else { continue };
                let real = kept(inbox.release(&batches[n]).await);
                let now = model.now;
                let modelled = model.answer(n, &batches[n].key, |item| {
                    item.attempts -= 1;
                    item.not_before = now;
                });
                prop_assert_eq!(real, modelled, "{}", told);
            }
            Step::Bury { batch } => {
                let Some(n) = pick(&batches, batch) else { continue };
                let real = kept(inbox.bury(&batches[n], "buried").await);
                prop_assert_eq!(real, model.answer(n, &batches[n].key, |item| item.fate = Fate::Dead), "{}", told);
            }
            Step::Extend { batch } => {
                let Some(n) = pick(&batches, batch) else { continue };
                let real = kept(inbox.extend(&batches[n], Duration::from_millis(LEASE.unsigned_abs())).await);
                let until = model.now + LEASE;
                let lease = model.leases.get_mut(&batches[n].key).filter(|(holder, _)| *holder == n);
                prop_assert_eq!(real, lease.map(|lease| lease.1 = until).is_some(), "{}", told);
            }
            Step::RetryDead => {
                let revived = inbox.retry_dead(Which::All).await.unwrap();
                let now = model.now;
                let mut count = 0;
                for item in model.items.iter_mut().filter(|item| item.fate == Fate::Dead) {
                    *item = ModelItem { fate: Fate::Open, attempts: 0, not_before: now, holder: None, ..item.clone() };
                    count += 1;
                }
                prop_assert_eq!(revived, count);
            }
            Step::Later { ms } => {
                bench.later(Duration::from_millis(ms.unsigned_abs()));
                model.now += ms;
            }
        }
        let listed = inbox.list(&Filter { limit: 1000, ..Filter::default() }).await.unwrap();
        let states: BTreeMap<_, _> = listed.into_iter().map(|e| (e.guid, (e.state, e.attempts))).collect();
        prop_assert_eq!(states, model.states(), "after {}", told);
        let due = model.items.iter().filter(|item| item.fate == Fate::Open && item.not_before > model.now);
        let due = due.map(|item| timestamp(item.not_before)).min();
        prop_assert_eq!(inbox.next_due().await.unwrap(), due);
    }
    Ok(())
}

both! {
    async fn random_stories_go_as_the_model_says(bench: Bench) {
        let options = Options { clock: bench.clock.clone(), max_attempts: MAX_ATTEMPTS };
        let inbox = Inbox::open_with(&bench.url, options).await.unwrap();
        // The seed is fixed, so that a failure is the same everywhere; PROPTEST_RNG_SEED sets another.
        let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2026);
        let config = Config { cases: 60, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() };
        let handle = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            let told = TestRunner::new(config).run(&steps(), |story| handle.block_on(tell(&bench, &inbox, story)));
            handle.block_on(inbox.close());
            if let Err(err) = told {
                panic!("seed {seed}: {err}");
            }
        })
        .await
        .unwrap();
    }
}
