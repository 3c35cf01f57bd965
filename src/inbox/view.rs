//! Looking at the inbox: for the dashboard, the metrics and the person who repairs things.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::db::{Row, args};
use super::{Delivery, DeliveryId, Inbox, InboxError, duration_ms, timestamp};
use crate::fault::around;
use crate::ids::{InstallationId, RepoId};

/// Done deliveries are remembered at least this long. GitHub redelivers for three days.
const REMEMBER: Duration = Duration::from_hours(7 * 24);

/// So many are forgotten at once.
pub const MOST_PRUNED: u64 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits for a worker.
    Ready,
    /// In a worker's hands.
    Running,
    /// In back-off.
    Parked,
    Done,
    /// Failed too often; waits for [`Inbox::retry_dead`].
    Dead,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Parked => "parked",
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }

    fn parse(text: &str) -> Self {
        match text {
            "running" => Self::Running,
            "parked" => Self::Parked,
            "done" => Self::Done,
            "dead" => Self::Dead,
            _ => Self::Ready,
        }
    }
}

/// A delivery as it is listed, without its payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub id: DeliveryId,
    pub guid: String,
    pub event: String,
    pub installation: Option<InstallationId>,
    pub repo: Option<RepoId>,
    pub key: String,
    pub barrier: bool,
    pub state: State,
    pub attempts: u32,
    pub received_at: Timestamp,
    /// Not given out before this.
    pub not_before: Timestamp,
    pub done_at: Option<Timestamp>,
    /// The last failure.
    pub error: Option<String>,
    pub meta: serde_json::Value,
}

/// Which deliveries to list; the newest come first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    pub state: Option<State>,
    pub key: Option<String>,
    pub repo: Option<RepoId>,
    /// Only those that arrived before this one: give the last of a page to get the next.
    pub before: Option<DeliveryId>,
    pub limit: u32,
}

impl Default for Filter {
    fn default() -> Self {
        Self { state: None, key: None, repo: None, before: None, limit: 100 }
    }
}

/// How many there are of each, for the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Stats {
    pub ready: u64,
    pub running: u64,
    pub parked: u64,
    pub dead: u64,
    /// How long the oldest unfinished delivery has been here: ready, running or parked.
    pub oldest: Duration,
}

/// Which dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    One(DeliveryId),
    All,
}

const LIST: &str = "
    select id, guid, event, installation, repo, key, barrier, shown, attempts, received_at, not_before, done_at,
           error, meta
    from (select d.*, case
              when d.state <> 'open' then d.state
              when exists (select 1 from inbox_leases l
                           where l.key = d.key and l.token = d.token and l.until > $1) then 'running'
              when d.not_before > $1 then 'parked'
              else 'ready' end as shown
          from inbox_deliveries d
          where (cast($2 as text) is null or d.key = $2)
            and (cast($3 as bigint) is null or d.repo = $3)
            and d.id < $4
            and ($5 <> 'dead' or d.state = 'dead')) as listed
    where $5 = '' or shown = $5
    order by id desc limit $6";

/// The timer of a lease that has not run out is no work that waits: nobody is to be called for it.
const COUNT: &str = "
    select shown, count(*), min(received_at)
    from (select d.received_at, case
              when exists (select 1 from inbox_leases l
                           where l.key = d.key and l.token = d.token and l.until > $1) then 'running'
              when d.not_before > $1 then 'parked'
              else 'ready' end as shown
          from inbox_deliveries d
          where d.state = 'open' and not (d.not_before > $1 and d.key like '%/lease-%')) as waiting
    group by shown
    union all
    select 'dead', count(*), min(received_at) from inbox_deliveries where state = 'dead'";

impl Inbox {
    pub async fn list(&self, filter: &Filter) -> Result<Vec<Entry>, InboxError> {
        let mut tx = self.db.read().await?;
        let args = args![
            self.now_ms(),
            filter.key.as_deref(),
            filter.repo.map(|id| id.0.cast_signed()),
            filter.before.map_or(i64::MAX, |id| id.0),
            filter.state.map_or("", State::as_str),
            i64::from(filter.limit),
        ];
        let rows = tx.rows(LIST, args).await?;
        tx.commit().await?;
        Ok(rows.iter().map(entry).collect::<Result<_, _>>()?)
    }

    /// Which of these guids have been here, whatever became of them.
    pub async fn known<'a>(&self, guids: impl Iterator<Item = &'a str>) -> Result<BTreeSet<String>, InboxError> {
        let mut tx = self.db.read().await?;
        let mut known = BTreeSet::new();
        for guid in guids {
            if let Some(row) = tx.row("select guid from inbox_deliveries where guid = $1", args![guid]).await? {
                known.insert(row.text(0)?);
            }
        }
        tx.commit().await?;
        Ok(known)
    }

    /// The dead letters, newest first.
    pub async fn dead(&self) -> Result<Vec<Entry>, InboxError> {
        self.list(&Filter { state: Some(State::Dead), limit: 1000, ..Filter::default() }).await
    }

    /// Gives dead letters a new life, with all their attempts, and says how many there were.
    pub async fn retry_dead(&self, which: Which) -> Result<u64, InboxError> {
        let mut tx = self.db.begin().await?;
        let only = match which {
            Which::One(id) => Some(id.0),
            Which::All => None,
        };
        let revived = tx
            .run(
                "update inbox_deliveries set state = 'open', attempts = 0, not_before = $1, token = null
                 where state = 'dead' and (cast($2 as bigint) is null or id = $2)",
                args![self.now_ms(), only],
            )
            .await?;
        around!("inbox.retry_dead", tx.commit().await)?;
        self.notify();
        Ok(revived)
    }

    /// Gives a dead letter a new life, as somebody had it delivered again, with what came now: what is kept may be what nobody
    /// could read. Says whether it was one.
    pub async fn revive(&self, delivery: &Delivery) -> Result<bool, InboxError> {
        let (now, guid) = (self.now_ms(), delivery.guid.as_str());
        let mut tx = self.db.begin().await?;
        let anew = "update inbox_deliveries set event = $1, key = $2, barrier = $3, payload = $4, meta = $5
                    where state = 'dead' and guid = $6";
        let barrier = i64::from(delivery.barrier);
        let (key, payload, meta) = (delivery.key.as_str(), delivery.payload.as_slice(), delivery.meta.to_string());
        tx.run(anew, args![delivery.event.as_str(), key, barrier, payload, meta.as_str(), guid]).await?;
        let sql = "update inbox_deliveries set state = 'open', attempts = 0, not_before = $1, token = null
                   where state = 'dead' and (guid = $2 or guid like $3 escape '\\')";
        // What followed from it is named after it.
        let escaped = guid.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let revived = tx.run(sql, args![now, guid, format!("{escaped}/%").as_str()]).await?;
        around!("inbox.revive", tx.commit().await)?;
        self.notify();
        Ok(revived > 0)
    }

    pub async fn stats(&self) -> Result<Stats, InboxError> {
        let now = self.now_ms();
        let mut tx = self.db.read().await?;
        let rows = tx.rows(COUNT, args![now]).await?;
        tx.commit().await?;
        let mut stats = Stats::default();
        let mut oldest = now;
        for row in rows {
            let (state, count) = (State::parse(&row.text(0)?), row.int(1)?.cast_unsigned());
            let of_state = match state {
                State::Ready => &mut stats.ready,
                State::Running => &mut stats.running,
                State::Parked => &mut stats.parked,
                State::Dead | State::Done => &mut stats.dead,
            };
            *of_state = count;
            if matches!(state, State::Ready | State::Running | State::Parked) {
                oldest = oldest.min(row.maybe_int(2)?.unwrap_or(now));
            }
        }
        stats.oldest = Duration::from_millis((now - oldest).cast_unsigned());
        Ok(stats)
    }

    /// Forgets done deliveries older than this, the oldest first and at most [`MOST_PRUNED`] at once: whoever puts one in
    /// meanwhile must not wait for long. Never one that could still be sent again, and never a dead letter. What is in the
    /// cache stays: losing it is a delay, but one that a change which rested for long would pay for. Says how many
    /// deliveries it forgot.
    pub async fn prune(&self, older_than: Duration) -> Result<u64, InboxError> {
        let before = self.now_ms() - duration_ms(older_than.max(REMEMBER));
        let mut tx = self.db.begin().await?;
        let sql = "delete from inbox_deliveries where id in
                   (select id from inbox_deliveries where state = 'done' and done_at < $1 order by done_at limit $2)";
        let gone = tx.run(sql, args![before, MOST_PRUNED.cast_signed()]).await?;
        around!("inbox.prune", tx.commit().await)?;
        Ok(gone)
    }
}

fn entry(row: &Row) -> Result<Entry, sqlx::Error> {
    Ok(Entry {
        id: DeliveryId(row.int(0)?),
        guid: row.text(1)?,
        event: row.text(2)?,
        installation: row.maybe_int(3)?.map(|id| InstallationId(id.cast_unsigned())),
        repo: row.maybe_int(4)?.map(|id| RepoId(id.cast_unsigned())),
        key: row.text(5)?,
        barrier: row.int(6)? != 0,
        state: State::parse(&row.text(7)?),
        attempts: u32::try_from(row.int(8)?).unwrap_or(u32::MAX),
        received_at: timestamp(row.int(9)?),
        not_before: timestamp(row.int(10)?),
        done_at: row.maybe_int(11)?.map(timestamp),
        error: row.maybe_text(12)?,
        meta: serde_json::from_str(&row.text(13)?).unwrap_or_default(),
    })
}
