//! Deliveries, on disk before they are acknowledged, and worked on one change at a time.
//!
//! What the room promises, and against what:
//!
//! - **Nothing is lost.** [`Inbox::put`] returns after the commit, and only then may a webhook be answered with 200:
//!   GitHub does not send a delivery again by itself. SQLite runs with `synchronous = full` for the same reason.
//! - **Nothing is done twice.** A GUID is stored once, whatever became of the first: a redelivery has the same GUID,
//!   and so has a delivery that was fetched while catching up. Done deliveries are remembered for at least a week.
//!   A dead letter alone is given a new life, when somebody asks for it ([`Inbox::retry_dead`], [`Inbox::revive`]).
//! - **One key, one worker.** A key is the change that a delivery is about. A worker holds a lease on the key, and the
//!   lease table's primary key makes a second holder impossible, in this process or another. Other keys go on.
//! - **A dead worker holds nobody up.** A lease runs out. Its token then fits nothing any more, so an answer that comes
//!   late is refused with [`InboxError::LostLease`] and changes nothing.
//! - **Bursts come as one.** A [`Batch`] is the run of due deliveries of one key, up to and including the first
//!   *barrier* (a command): facts between two commands are worked on in one pass, and no command is ever merged with
//!   another.
//! - **A failure waits aside.** A delivery in back-off does not hold up later ones of its key. After
//!   [`Options::max_attempts`] failures it is dead: kept, shown with its last error, and waiting for
//!   [`Inbox::retry_dead`]. A worker that dies counts as a failure too, because a delivery that kills the process would
//!   otherwise kill it for ever. One that failed [`ALONE_AFTER`] times is given out alone, so that it does not take
//!   its neighbours along.
//!
//! Leases are told by the clocks of the machines that share a PostgreSQL database. A clock that runs ahead by more
//! than a lease can take a key from a living worker; the token keeps the queue consistent even then, and the ledger's
//! compare-and-swap keeps the work so.
//!
//! Order is that of arrival as far as it is known: deliveries that are being stored at the same moment by several
//! connections may come out either way, as GitHub itself promises no order.

mod cache;
mod clock;
mod db;
mod group;
mod queue;
mod schema;
mod view;
mod workers;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;

pub use clock::{Clock, SystemClock};
pub use queue::{ALONE_AFTER, MAX_BATCH, retry_delay};
pub use view::{Entry, Filter, MOST_PRUNED, State, Stats, Which};
pub use workers::{Handler, Outcome, WorkerOptions, run_workers, run_workers_with};

use crate::fault::around;
use crate::ids::{InstallationId, RepoId};
use db::{Arg, Composed, Db, Tx, args};
use group::Group;

/// The number of a delivery in this inbox, in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct DeliveryId(pub i64);

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Something that arrived, or was derived from something that arrived, and has to be worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// What makes it one of a kind: `X-GitHub-Delivery`, or the parent's GUID with a suffix for a derived one.
    pub guid: String,
    /// `X-GitHub-Event`, or a word of our own.
    pub event: String,
    pub installation: Option<InstallationId>,
    pub repo: Option<RepoId>,
    /// What must not be worked on by two at once.
    pub key: String,
    /// A command: it ends its batch.
    pub barrier: bool,
    pub payload: Vec<u8>,
    /// Headers and whatever else should travel along. Kept after the work is done, unlike the payload.
    pub meta: serde_json::Value,
}

/// What became of a [`Inbox::put`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    New(DeliveryId),
    /// This GUID has been here before.
    Duplicate,
}

/// An entry of the cache that is kept together with the answer to a batch, and not before: whoever notes that something
/// was passed on, and dies before it was, would never pass it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub namespace: String,
    pub key: String,
    pub value: Vec<u8>,
}

/// A delivery in a worker's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub id: DeliveryId,
    pub guid: String,
    pub event: String,
    pub installation: Option<InstallationId>,
    pub repo: Option<RepoId>,
    pub barrier: bool,
    pub payload: Vec<u8>,
    pub meta: serde_json::Value,
    /// Which attempt this is; the first is 1.
    pub attempt: u32,
    pub received_at: Timestamp,
}

/// Deliveries of one key, claimed together, to be answered for together. Never empty.
#[derive(Debug)]
pub struct Batch {
    pub key: String,
    pub items: Vec<Item>,
    token: String,
}

/// When and how often.
#[derive(Clone)]
pub struct Options {
    pub clock: Arc<dyn Clock>,
    /// The failure that makes a delivery dead.
    pub max_attempts: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), max_attempts: 8 }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// Never holds the URL, which may hold a password.
    #[error("the database URL can't be used: {0}")]
    Url(&'static str),
    /// Never holds the password.
    #[error("can't open {database}: {why}. Check {check}")]
    Open { database: String, why: String, check: &'static str },
    #[error("the inbox was made by a newer version (schema {found}, this one knows {known}): update phasegate")]
    Newer { found: i64, known: i64 },
    #[error("a delivery's {0} must not be empty, longer than 512 bytes or hold a NUL")]
    Malformed(&'static str),
    #[error("the lease on {key} was lost: another worker may have it")]
    LostLease { key: String },
    #[error("the inbox's database failed")]
    Database(#[from] sqlx::Error),
    /// The same, while it stored several deliveries in one commit: each of their senders is told.
    #[error("the inbox's database failed")]
    Group(#[source] Arc<sqlx::Error>),
}

/// The inbox. Clones share one pool and one wake-up call.
#[derive(Clone)]
pub struct Inbox {
    db: Db,
    /// Where deliveries share their commits.
    group: Option<Group>,
    options: Options,
    wake: Arc<Notify>,
    moved: Arc<Notify>,
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match self.db {
            Db::Sqlite(_) => "sqlite",
            Db::Postgres(_) => "postgres",
        };
        f.debug_struct("Inbox").field("engine", &engine).finish_non_exhaustive()
    }
}

impl Inbox {
    /// Opens the database at `postgres://…`, `sqlite:phasegate.db`, `sqlite::memory:` or a plain path, and brings its
    /// tables up to date.
    pub async fn open(url: &str) -> Result<Self, InboxError> {
        Self::open_with(url, Options::default()).await
    }

    pub async fn open_with(url: &str, options: Options) -> Result<Self, InboxError> {
        let db = Db::open(url).await?;
        schema::migrate(&db).await?;
        let group = match db {
            Db::Sqlite(_) => Some(Group::new(db.clone(), Arc::clone(&options.clock))),
            Db::Postgres(_) => None,
        };
        Ok(Self { db, group, options, wake: Arc::new(Notify::new()), moved: Arc::new(Notify::new()) })
    }

    /// Closes the connections, after the statements that are under way. Every clone is closed with it.
    pub async fn close(&self) {
        self.db.close().await;
    }

    /// After so many failures a delivery is dead.
    pub fn max_attempts(&self) -> u32 {
        self.options.max_attempts
    }

    /// The time by the inbox's clock.
    pub fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }

    /// Stores a delivery. When this returns, it is on disk, in a commit that it may share with others.
    pub async fn put(&self, delivery: &Delivery) -> Result<Put, InboxError> {
        check(delivery)?;
        let put = match &self.group {
            Some(group) => group.put(delivery.clone()).await?,
            None => group::store(&self.db, self.now_ms(), &[delivery]).await?.remove(0),
        };
        self.notify();
        Ok(put)
    }

    /// Stores several deliveries, all or none.
    pub async fn put_many(&self, deliveries: &[Delivery]) -> Result<Vec<Put>, InboxError> {
        deliveries.iter().try_for_each(check)?;
        let mut tx = self.db.begin().await?;
        let puts = insert(&mut tx, &deliveries.iter().collect::<Vec<_>>(), self.now_ms()).await?;
        around!("inbox.put_many", tx.commit().await)?;
        self.notify();
        Ok(puts)
    }

    /// Wakes a worker of this process. Stored deliveries do this by themselves.
    pub fn notify(&self) {
        self.wake.notify_one();
        self.moved.notify_waiters();
    }

    /// Returns when nothing is due and nothing is being worked on. Sees at once what this process does; for other
    /// processes' work, ask again.
    pub async fn settled(&self) -> Result<(), InboxError> {
        self.until(|stats| stats.ready + stats.running == 0).await
    }

    async fn until(&self, reached: impl Fn(&Stats) -> bool) -> Result<(), InboxError> {
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            // From here on a change is noticed, also one that comes before the wait.
            moved.as_mut().enable();
            if reached(&self.stats().await?) {
                return Ok(());
            }
            moved.await;
        }
    }

    /// Returns when nothing is left to be done, now or later. Sees at once what this process does.
    pub async fn emptied(&self) -> Result<(), InboxError> {
        self.until(|stats| stats.ready + stats.running + stats.parked == 0).await
    }

    /// Returns when there may be something to claim: something was stored, or [`Inbox::notify`] was called, since the
    /// last time anyone waited here. Other processes' deliveries don't wake anybody: poll as well.
    pub async fn notified(&self) {
        self.wake.notified().await;
    }
}

/// Whether a delivery can be stored.
fn check(delivery: &Delivery) -> Result<(), InboxError> {
    for (what, text) in [("guid", &delivery.guid), ("event", &delivery.event), ("key", &delivery.key)] {
        if text.is_empty() || text.len() > 512 || text.contains('\0') {
            return Err(InboxError::Malformed(what));
        }
    }
    Ok(())
}

/// So many deliveries go into one statement.
const MOST_ROWS: usize = 32;

/// Stores deliveries in a transaction of the caller's, who has checked them, in their order.
async fn insert(tx: &mut Tx, deliveries: &[&Delivery], now: i64) -> Result<Vec<Put>, sqlx::Error> {
    let mut puts = Vec::with_capacity(deliveries.len());
    let mut left = deliveries;
    while !left.is_empty() {
        // A power of two: then there is a handful of statements to be prepared, and not one for each count.
        let (rows, later) = left.split_at(1 << left.len().min(MOST_ROWS).ilog2());
        left = later;
        let stored = tx.rows(statement(rows.len()), rows.iter().flat_map(|one| values(one, now)).collect()).await?;
        let stored = stored.iter().map(|row| Ok((row.text(1)?, DeliveryId(row.int(0)?))));
        let mut stored = stored.collect::<Result<BTreeMap<String, DeliveryId>, sqlx::Error>>()?;
        // Of two with one GUID the first was stored.
        puts.extend(rows.iter().map(|one| stored.remove(&one.guid).map_or(Put::Duplicate, Put::New)));
    }
    Ok(puts)
}

fn statement(rows: usize) -> Composed {
    let row = |at: usize| {
        let value = |value: usize| format!("${}", at * VALUES + value);
        let values: Vec<String> = (1..=VALUES).chain([VALUES]).map(value).collect();
        format!("({})", values.join(", "))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    Composed(format!(
        "insert into inbox_deliveries
            (guid, event, installation, repo, key, barrier, payload, meta, not_before, received_at)
         values {}
         on conflict (guid) do nothing
         returning id, guid",
        rows.join(", ")
    ))
}

/// How many values a row has: its last is both the time from which it is due and that at which it came.
const VALUES: usize = 9;

fn values(delivery: &Delivery, now: i64) -> Vec<Arg> {
    args![
        delivery.guid.as_str(),
        delivery.event.as_str(),
        delivery.installation.map(|id| id.0.cast_signed()),
        delivery.repo.map(|id| id.0.cast_signed()),
        delivery.key.as_str(),
        i64::from(delivery.barrier),
        delivery.payload.as_slice(),
        delivery.meta.to_string().as_str(),
        now,
    ]
}

/// A time from the database. One that no calendar knows can only come from a hand edit, and is shown as the epoch.
fn timestamp(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Milliseconds of a time, never before it.
fn ceil_ms(at: Timestamp) -> i64 {
    let ms = at.as_millisecond();
    if timestamp(ms) < at { ms + 1 } else { ms }
}

fn duration_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}
