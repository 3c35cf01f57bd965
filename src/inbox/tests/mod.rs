//! Every story here is told twice, on SQLite and on PostgreSQL.

mod group;
mod model;
mod queue;
mod view;
mod workers;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

/// Defines a test on each engine.
macro_rules! both {
    ($($(#[$attr:meta])* async fn $name:ident($bench:ident: Bench) $body:block)*) => {
        $(
            mod $name {
                #[allow(unused_imports)]
                use super::*;

                async fn story($bench: Bench) $body

                $(#[$attr])*
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    let bench = Bench::sqlite().await;
                    story(bench.clone()).await;
                    bench.clear_away().await;
                }

                $(#[$attr])*
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn postgres() {
                    let bench = Bench::postgres().await;
                    story(bench.clone()).await;
                    bench.clear_away().await;
                }
            }
        )*
    };
}
pub(super) use both;

/// A clock that only moves when told to.
#[derive(Debug)]
struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// An inbox of this test's own, and its clock.
#[derive(Clone)]
struct Bench {
    inbox: Inbox,
    url: String,
    clock: Arc<TestClock>,
    /// PostgreSQL: the server and the schema to drop.
    schema: Option<(String, String)>,
    _dir: Option<Arc<tempfile::TempDir>>,
}

impl Bench {
    async fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("inbox.db").display());
        Self::at(url, None, Some(Arc::new(dir))).await
    }

    async fn postgres() -> Self {
        let server = std::env::var("PHASEGATE_TEST_POSTGRES_URL").unwrap_or_else(|_| {
            panic!(
                "PHASEGATE_TEST_POSTGRES_URL is not set: run the tests through tests/run.sh, which starts PostgreSQL"
            )
        });
        let schema = format!("t{}", uuid::Uuid::new_v4().simple());
        admin(&server, format!("create schema {schema}")).await;
        let url = format!("{server}{}options[search_path]={schema}", if server.contains('?') { '&' } else { '?' });
        Self::at(url, Some((server, schema)), None).await
    }

    async fn at(url: String, schema: Option<(String, String)>, dir: Option<Arc<tempfile::TempDir>>) -> Self {
        let clock = Arc::new(TestClock(AtomicI64::new(1_800_000_000_000)));
        let inbox = Inbox::open_with(&url, Options { clock: clock.clone(), ..Options::default() }).await.unwrap();
        Self { inbox, url, clock, schema, _dir: dir }
    }

    /// Another process on the same database, with the same time.
    async fn other_process(&self) -> Inbox {
        let options = Options { clock: self.clock.clone(), ..Options::default() };
        Inbox::open_with(&self.url, options).await.unwrap()
    }

    fn later(&self, by: Duration) {
        self.clock.0.fetch_add(duration_ms(by), Ordering::SeqCst);
    }

    async fn clear_away(self) {
        self.inbox.close().await;
        if let Some((server, schema)) = self.schema {
            admin(&server, format!("drop schema {schema} cascade")).await;
        }
    }

    async fn arrives(&self, guid: &str, key: &str) -> DeliveryId {
        self.stored(&fact(guid, key)).await
    }

    async fn command_arrives(&self, guid: &str, key: &str) -> DeliveryId {
        self.stored(&Delivery { barrier: true, ..fact(guid, key) }).await
    }

    async fn stored(&self, delivery: &Delivery) -> DeliveryId {
        match self.inbox.put(delivery).await.unwrap() {
            Put::New(id) => id,
            Put::Duplicate => panic!("{} was there already", delivery.guid),
        }
    }

    async fn claims(&self) -> Option<Batch> {
        self.inbox.claim("test", MINUTE).await.unwrap()
    }

    async fn claims_something(&self) -> Batch {
        self.claims().await.expect("there should be something to claim")
    }

    /// The state, attempts and error of a delivery.
    async fn entry(&self, guid: &str) -> Entry {
        let all = self.inbox.list(&Filter { limit: 10_000, ..Filter::default() }).await.unwrap();
        all.into_iter().find(|entry| entry.guid == guid).expect("no such delivery")
    }
}

async fn admin(server: &str, sql: String) {
    use sqlx::{Connection as _, Executor as _};
    let mut connection = sqlx::PgConnection::connect(server).await.expect("the test's PostgreSQL should be there");
    connection.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
    connection.close().await.unwrap();
}

fn fact(guid: &str, key: &str) -> Delivery {
    Delivery {
        guid: guid.to_owned(),
        event: "pull_request".to_owned(),
        installation: Some(InstallationId(7)),
        repo: Some(RepoId(u64::MAX)),
        key: key.to_owned(),
        barrier: false,
        payload: format!("\0\u{ff}{guid}").into_bytes(),
        meta: json!({"x-github-event": "pull_request", "odd": "\0é"}),
    }
}

fn guids(batch: &Batch) -> Vec<&str> {
    batch.items.iter().map(|item| item.guid.as_str()).collect()
}

fn lost(result: Result<(), InboxError>) -> bool {
    matches!(result, Err(InboxError::LostLease { .. }))
}
