//! The demo's story as a test: what it shows, what it costs, and that a second delivery of everything changes nothing.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::collections::BTreeMap;

use phasegate::rehearsal::{REPO, Rehearsal, Setup, play};
use phasegate::twin::Logged;

/// What the 15 beats may cost of the rate limit, to which an answer that has not changed (304) does not count; measured:
/// 313, and 82 that were free. They come to 31 passes, and each reads the default branch's tip, the pull request, its check
/// runs and its reviews, and the ledger. A new workflow run costs two more, a new head the question whose work it was, and
/// so does each look that would be green; a label that the repository has not seen yet one, a person one; the start asks
/// once for webhooks that were missed, the first look for who pushed and since when it has its base.
const MOST_REQUESTS: usize = 330;
/// What of it changes something; measured: 135. The 22 passes in which something happened cost a commit on the ledger, an
/// update of the comment and two check runs each (46 in all, two of them to anchor what came after the merge); a change of
/// phase takes a label off and puts one on (23); a label that is new is made (9); a command gets its reactions (8) and
/// sometimes an answer.
const MOST_WRITES: usize = 140;

fn table(requests: &[Logged]) -> String {
    let mut counted: BTreeMap<(bool, String, u16), usize> = BTreeMap::new();
    for request in requests {
        *counted.entry((request.is_write, request.kind(), request.status)).or_default() += 1;
    }
    let mut rows: Vec<_> = counted.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let row = |((write, kind, status), count): &((bool, String, u16), usize)| {
        format!("{count:>4}  {}  {status}  {kind}\n", if *write { "write" } else { "read " })
    };
    rows.iter().map(row).collect()
}

/// Everything that people can see of the repository, and the ledger.
#[derive(Debug, PartialEq)]
struct Picture {
    ledger: Option<String>,
    labels: Vec<String>,
    comments: Vec<(u64, String, Vec<String>)>,
    runs: Vec<String>,
}

fn picture(on: &Rehearsal, number: u64) -> Picture {
    let repo = on.admin().repo(REPO).unwrap();
    let comments = repo.comments.values().map(|comment| {
        let reactions = comment.reactions.iter().map(|reaction| reaction.content.clone()).collect();
        (comment.id, comment.body.clone(), reactions)
    });
    let runs = repo
        .check_runs
        .values()
        .map(|run| format!("{} {} {:?} {:?} {:?}", run.id, run.name, run.conclusion, run.title, run.external_id));
    Picture {
        ledger: on.ledger_head().unwrap(),
        labels: on.admin().labels(REPO, number).unwrap(),
        comments: comments.collect(),
        runs: runs.collect(),
    }
}

async fn a_change_goes_from_expand_to_its_merge(setup: Setup) {
    let on = Rehearsal::start(setup).await.unwrap();
    on.admin().clear_log();
    let timeline = play(&on, &mut |_| {}).await.unwrap();
    assert!(timeline.merged);
    let (requests, writes) = (on.requests(), on.writes());
    let counted = requests.iter().filter(|request| request.status != 304).count();
    eprintln!("the story cost {counted} requests, {} of them writes", writes.len());
    assert!(
        counted <= MOST_REQUESTS && writes.len() <= MOST_WRITES,
        "{counted} requests and {} writes are more than {MOST_REQUESTS} and {MOST_WRITES}:\n{}",
        writes.len(),
        table(&requests)
    );
    assert!(requests.iter().all(|request| request.status < 500), "{}", table(&requests));

    let before = picture(&on, timeline.change);
    let deliveries = on.deliveries();
    assert!(deliveries.len() > 50, "only {} deliveries", deliveries.len());
    everything_is_delivered_again(&on).await;
    assert_eq!(picture(&on, timeline.change), before);

    on.admin().clear_log();
    for (number, delivery) in deliveries.iter().enumerate() {
        let body = delivery.payload.to_string().into_bytes();
        let status = on.posts(&delivery.event, &format!("another-{number}"), body).await.unwrap();
        assert!(status == 200 || status == 202, "{}: {status}", delivery.event);
    }
    on.settle().await.unwrap();
    assert!(on.writes().is_empty(), "told anew, it wrote:\n{}", table(&on.writes()));
    assert_eq!(picture(&on, timeline.change), before);
    let stats = on.server().unwrap().inbox().stats().await.unwrap();
    assert_eq!((stats.dead, stats.parked), (0, 0));
    on.end().await;
}

/// GitHub's own redelivery: the same GUIDs.
async fn everything_is_delivered_again(on: &Rehearsal) {
    on.admin().clear_log();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let deliveries = on.deliveries();
    for delivery in &deliveries {
        let url = format!("{}/app/hook/deliveries/{}/attempts", on.api_url(), delivery.id);
        let answer = client.post(url).bearer_auth(on.app().jwt().unwrap()).header("User-Agent", "test").send().await;
        assert_eq!(answer.unwrap().status().as_u16(), 202);
    }
    on.settle().await.unwrap();
    let again = on.admin().deliveries(on.app().id).into_iter().filter(|delivery| delivery.redelivery).count();
    assert_eq!(again, deliveries.len());
    // The redeliveries themselves were asked for with the App's own token.
    let asked = |request: &Logged| request.path.ends_with("/attempts");
    let writes: Vec<Logged> = on.writes().into_iter().filter(|request| !asked(request)).collect();
    assert!(writes.is_empty(), "delivered again, it wrote:\n{}", table(&writes));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_goes_from_expand_to_its_merge_on_sqlite() {
    a_change_goes_from_expand_to_its_merge(Setup::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_goes_from_expand_to_its_merge_on_postgresql() {
    let database = Database::new().await;
    let setup = Setup { database: Some(database.url.clone()), ..Setup::default() };
    a_change_goes_from_expand_to_its_merge(setup).await;
    database.drop().await;
}

/// A PostgreSQL database of this test's own.
struct Database {
    server: String,
    name: String,
    url: String,
}

impl Database {
    async fn new() -> Self {
        let server = std::env::var("PHASEGATE_TEST_POSTGRES_URL").unwrap_or_else(|_| {
            panic!(
                "PHASEGATE_TEST_POSTGRES_URL is not set: run the tests through tests/run.sh, which starts PostgreSQL"
            )
        });
        let name = format!("story_{}", uuid::Uuid::new_v4().simple());
        let (front, _) = server.rsplit_once('/').expect("a PostgreSQL URL names a database");
        let url = format!("{front}/{name}");
        let database = Self { server, name, url };
        database.run("create").await;
        database
    }

    async fn run(&self, what: &str) {
        use sqlx::{Connection as _, Executor as _};
        let mut connection = sqlx::PgConnection::connect(&self.server).await.expect("PostgreSQL should be there");
        connection.execute(sqlx::AssertSqlSafe(format!("{what} database {}", self.name))).await.unwrap();
        connection.close().await.unwrap();
    }

    async fn drop(self) {
        self.run("drop").await;
    }
}
