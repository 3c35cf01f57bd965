//! Claiming work and answering for it.
//!
//! Locks are taken in one order, so that PostgreSQL never meets a deadlock between workers: rows of deliveries first,
//! the lease second, and nobody who has a lease row ever waits for a delivery. A claim takes delivery rows only where
//! it need not wait (`skip locked`); an answer takes all of its rows before the lease. On SQLite there is one writer
//! and nothing to order.

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::db::{Composed, Row, Tx, args};
use super::{
    Batch, Delivery, DeliveryId, Inbox, InboxError, Item, Note, Put, cache, ceil_ms, check, duration_ms, insert,
    timestamp,
};
use crate::fault::around;
use crate::ids::{InstallationId, RepoId};

/// A batch has at most this many deliveries; the rest of a burst comes with the next.
pub const MAX_BATCH: usize = 100;
/// A batch is cut before its payloads grow past this, unless a single one does. GitHub sends up to 25 MB each.
const MAX_BATCH_BYTES: i64 = 64 * 1024 * 1024;
/// A delivery that failed this many times is given out alone.
pub const ALONE_AFTER: u32 = 3;
/// Errors are for people to read; the whole of a page of HTML is not.
const MAX_ERROR: usize = 2000;

const FIRST_DELAY: Duration = Duration::from_secs(5);
const LAST_DELAY: Duration = Duration::from_mins(15);

/// How long to wait after the given failure (the first is 1): 5 s, 15 s, 45 s, … up to 15 minutes, give or take a
/// fifth. The jitter comes from the GUID, so that what failed together does not come back together, and the same
/// failure always waits for the same time.
pub fn retry_delay(attempt: u32, guid: &str) -> Duration {
    let steps = attempt.saturating_sub(1).min(8);
    let hash = Sha256::new().chain_update(attempt.to_be_bytes()).chain_update(guid).finalize();
    let jitter = f64::from(u16::from_be_bytes([hash[0], hash[1]])) / f64::from(u16::MAX);
    (FIRST_DELAY * 3_u32.pow(steps)).min(LAST_DELAY).mul_f64(0.8 + 0.4 * jitter).min(LAST_DELAY)
}

/// The oldest due delivery that is the head of a key which nobody works on.
const HEAD: &str = "
    select d.key from inbox_deliveries d
    where d.state = 'open' and d.not_before <= $1
      and not exists (select 1 from inbox_leases l where l.key = d.key and l.until > $1)
      and not exists (select 1 from inbox_deliveries e
                      where e.key = d.key and e.state = 'open' and e.not_before <= $1 and e.id < d.id)
    order by d.id limit 1";

/// The same on SQLite, among the first that wait. Its one writer must not go through all of a long backlog for each claim.
const NEAR: &str = "
    select key from (select id, key, not_before from inbox_deliveries where state = 'open' order by id limit 256)
    where not_before <= $1 and key not in (select key from inbox_leases where until > $1)
    order by id limit 1";

/// The same among all, from key to key: whatever waits behind one that is worked on is jumped over.
const FAR: &str = "
    with recursive keys (key) as (
        select min(key) from inbox_deliveries where state = 'open'
        union all
        select (select min(key) from inbox_deliveries where state = 'open' and key > keys.key)
        from keys where keys.key is not null
    )
    select key, (select min(id) from inbox_deliveries d
                 where d.key = keys.key and d.state = 'open' and d.not_before <= $1) as head
    from keys
    where key not in (select key from inbox_leases where until > $1) and head is not null
    order by head limit 1";

const TAKE_LEASE: &str = "
    insert into inbox_leases (key, token, worker, until) values ($1, $2, $3, $4)
    on conflict (key) do update set token = excluded.token, worker = excluded.worker, until = excluded.until
    where inbox_leases.until <= $5";

const DUE: &str = "
    select id, barrier, attempts, cast(length(payload) as bigint) from inbox_deliveries
    where key = $1 and state = 'open' and not_before <= $2
    order by id limit $3";

const CLAIM: &str = "
    update inbox_deliveries set token = $1, attempts = attempts + 1
    where key = $2 and id = $3";

const CLAIMED: &str = "
    select id, guid, event, installation, repo, barrier, payload, meta, attempts, received_at
    from inbox_deliveries where key = $1 and token = $2 and state = 'open' order by id";

const MINE: &str = "
    select id, attempts from inbox_deliveries where key = $1 and token = $2 and state = 'open' order by id";

/// What a retry does to a delivery's back-off and count.
struct Again<'a> {
    error: Option<&'a str>,
    not_before: i64,
    counts: bool,
}

impl Inbox {
    /// Takes the next work: all that is due for one key that nobody works on, up to its first barrier. The key is held
    /// for `lease`; a worker that needs longer calls [`Inbox::extend`] in time.
    pub async fn claim(&self, worker: &str, lease: Duration) -> Result<Option<Batch>, InboxError> {
        let max_attempts = i64::from(self.options.max_attempts);
        // A round fails only because another worker got further, so this ends long before its bound. The bound is there
        // because the worst that a wrong statement may do to a server is to make it poll.
        for _ in 0..64 {
            let now = self.now_ms();
            let mut tx = self.db.begin().await?;
            let Some(head) = head(&mut tx, now).await? else {
                tx.rollback().await?;
                return Ok(None);
            };
            let key = head.text(0)?;
            let token = uuid::Uuid::new_v4().to_string();
            let until = now.saturating_add(duration_ms(lease));
            let taken = tx.run(TAKE_LEASE, args![key.as_str(), token.as_str(), worker, until, now]).await?;
            if taken == 0 {
                // Another worker was quicker between the two statements. Its commit is visible now: look again.
                tx.rollback().await?;
                continue;
            }
            // Only what is seen after the lease is ours counts: the last holder's answer is in by now.
            let due = locked(&tx, DUE, "for update skip locked");
            let due = tx.rows(due, args![key.as_str(), now, MAX_BATCH as i64]).await?;
            let mut chosen = 0;
            let mut bytes = 0;
            for row in &due {
                let (id, barrier, attempts, size) = (row.int(0)?, row.int(1)? != 0, row.int(2)?, row.int(3)?);
                if attempts >= max_attempts {
                    // Only a worker that never answered leaves such a delivery behind.
                    let error = format!("the worker died or lost its lease {attempts} times while working on this");
                    kill(&mut tx, id, Some(&error)).await?;
                    continue;
                }
                let alone = attempts >= i64::from(ALONE_AFTER);
                if chosen > 0 && (alone || bytes + size > MAX_BATCH_BYTES) {
                    break;
                }
                tx.run(CLAIM, args![token.as_str(), key.as_str(), id]).await?;
                chosen += 1;
                bytes += size;
                if barrier || alone {
                    break;
                }
            }
            if chosen == 0 {
                tx.run("delete from inbox_leases where key = $1", args![key.as_str()]).await?;
                around!("inbox.give_up", tx.commit().await)?;
                continue;
            }
            let rows = tx.rows(CLAIMED, args![key.as_str(), token.as_str()]).await?;
            let items = rows.iter().map(item).collect::<Result<_, _>>()?;
            around!("inbox.claim", tx.commit().await)?;
            // There may be more, for another worker that sleeps.
            self.notify();
            return Ok(Some(Batch { key, items, token }));
        }
        Ok(None)
    }

    /// The batch is done.
    pub async fn complete(&self, batch: &Batch) -> Result<(), InboxError> {
        self.complete_with(batch, &[], &[]).await.map(drop)
    }

    /// The batch is done, these deliveries come out of it, and this is known from now on: all of it or nothing.
    pub async fn complete_with(
        &self,
        batch: &Batch,
        derived: &[Delivery],
        notes: &[Note],
    ) -> Result<Vec<Put>, InboxError> {
        derived.iter().try_for_each(check)?;
        let now = self.now_ms();
        let mut tx = self.db.begin().await?;
        for (id, _) in self.give_back(&mut tx, batch).await? {
            // The payload is dropped: nobody needs it again, and a busy server would keep gigabytes of them.
            tx.run(
                "update inbox_deliveries set state = 'done', token = null, error = null, done_at = $2, payload = $3
                 where id = $1",
                args![id, now, &b""[..]],
            )
            .await?;
        }
        let puts = insert(&mut tx, &derived.iter().collect::<Vec<_>>(), now).await?;
        for note in notes {
            cache::keep(&mut tx, note, now).await?;
        }
        around!("inbox.complete", tx.commit().await)?;
        self.notify();
        Ok(puts)
    }

    /// The batch failed, and is to be tried again: at `not_before`, or after [`retry_delay`]. Deliveries that have
    /// failed too often die instead. All of a batch comes back at the same time, so that it is one batch again.
    pub async fn retry(&self, batch: &Batch, error: &str, not_before: Option<Timestamp>) -> Result<(), InboxError> {
        let not_before = not_before.map_or_else(|| self.next_try(batch), ceil_ms);
        let tx = self.again(batch, Again { error: Some(error), not_before, counts: true }).await?;
        around!("inbox.retry", tx.commit().await)?;
        self.notify();
        Ok(())
    }

    /// Nothing is wrong with the batch, but it has to wait (a rate limit, say). Does not count as an attempt.
    pub async fn postpone(&self, batch: &Batch, why: &str, not_before: Timestamp) -> Result<(), InboxError> {
        let again = Again { error: Some(why), not_before: ceil_ms(not_before), counts: false };
        let tx = self.again(batch, again).await?;
        around!("inbox.postpone", tx.commit().await)?;
        self.notify();
        Ok(())
    }

    /// Gives the batch back untouched, for any worker to claim at once.
    pub async fn release(&self, batch: &Batch) -> Result<(), InboxError> {
        let tx = self.again(batch, Again { error: None, not_before: self.now_ms(), counts: false }).await?;
        around!("inbox.release", tx.commit().await)?;
        self.notify();
        Ok(())
    }

    /// The batch can't be worked on by anybody: it goes to the dead letters at once.
    pub async fn bury(&self, batch: &Batch, error: &str) -> Result<(), InboxError> {
        let error = shown(error);
        let mut tx = self.db.begin().await?;
        for (id, _) in self.give_back(&mut tx, batch).await? {
            kill(&mut tx, id, Some(&error)).await?;
        }
        around!("inbox.bury", tx.commit().await)?;
        self.notify();
        Ok(())
    }

    /// What waits for an installation is due now. Says how many deliveries that are.
    pub async fn hurry(&self, installation: InstallationId) -> Result<u64, InboxError> {
        let mut tx = self.db.begin().await?;
        let sql = "update inbox_deliveries set not_before = $1
                   where state = 'open' and not_before > $1 and installation = $2";
        let hurried = tx.run(sql, args![self.now_ms(), installation.0.cast_signed()]).await?;
        around!("inbox.hurry", tx.commit().await)?;
        self.notify();
        Ok(hurried)
    }

    /// Holds the key for `lease` from now on.
    pub async fn extend(&self, batch: &Batch, lease: Duration) -> Result<(), InboxError> {
        let until = self.now_ms().saturating_add(duration_ms(lease));
        let mut tx = self.db.begin().await?;
        let sql = "update inbox_leases set until = $3 where key = $1 and token = $2";
        let held = tx.run(sql, args![batch.key.as_str(), batch.token.as_str(), until]).await?;
        around!("inbox.extend", tx.commit().await)?;
        if held == 1 { Ok(()) } else { Err(InboxError::LostLease { key: batch.key.clone() }) }
    }

    /// When the earliest delivery in back-off becomes due.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, InboxError> {
        let mut tx = self.db.read().await?;
        let sql = "select min(not_before) from inbox_deliveries where state = 'open' and not_before > $1";
        let row = tx.row(sql, args![self.now_ms()]).await?;
        tx.commit().await?;
        Ok(row.map(|row| row.maybe_int(0)).transpose()?.flatten().map(timestamp))
    }

    fn next_try(&self, batch: &Batch) -> i64 {
        let delay = batch.items.first().map_or(FIRST_DELAY, |head| retry_delay(head.attempt, &head.guid));
        self.now_ms().saturating_add(duration_ms(delay))
    }

    /// Gives the batch back, to be committed by the caller.
    async fn again(&self, batch: &Batch, again: Again<'_>) -> Result<Tx, InboxError> {
        let error = again.error.map(shown);
        let mut tx = self.db.begin().await?;
        for (id, attempts) in self.give_back(&mut tx, batch).await? {
            if again.counts && attempts >= i64::from(self.options.max_attempts) {
                kill(&mut tx, id, error.as_deref()).await?;
            } else {
                tx.run(
                    "update inbox_deliveries
                     set token = null, attempts = $2, not_before = $3, error = coalesce($4, error)
                     where id = $1",
                    args![id, attempts - i64::from(!again.counts), again.not_before, error.as_deref()],
                )
                .await?;
            }
        }
        Ok(tx)
    }

    /// Gives up the lease, and says which deliveries were held under it with their attempts. The caller decides their
    /// fate in the same transaction. With an old token this is where it ends.
    async fn give_back(&self, tx: &mut Tx, batch: &Batch) -> Result<Vec<(i64, i64)>, InboxError> {
        let (key, token) = (batch.key.as_str(), batch.token.as_str());
        let mine = tx.rows(locked(tx, MINE, "for update"), args![key, token]).await?;
        let held = tx.run("delete from inbox_leases where key = $1 and token = $2", args![key, token]).await?;
        if held == 0 {
            return Err(InboxError::LostLease { key: batch.key.clone() });
        }
        Ok(mine.iter().map(|row| Ok((row.int(0)?, row.int(1)?))).collect::<Result<_, sqlx::Error>>()?)
    }
}

async fn head(tx: &mut Tx, now: i64) -> Result<Option<Row>, sqlx::Error> {
    if tx.is_postgres() {
        return tx.row(locked(tx, HEAD, "for update of d skip locked"), args![now]).await;
    }
    match tx.row(NEAR, args![now]).await? {
        Some(head) => Ok(Some(head)),
        None => tx.row(FAR, args![now]).await,
    }
}

fn locked(tx: &Tx, sql: &str, lock: &str) -> Composed {
    if tx.is_postgres() { Composed(format!("{sql} {lock}")) } else { Composed(sql.to_owned()) }
}

async fn kill(tx: &mut Tx, id: i64, error: Option<&str>) -> Result<(), sqlx::Error> {
    let sql = "update inbox_deliveries set state = 'dead', token = null, error = coalesce($2, error) where id = $1";
    tx.run(sql, args![id, error]).await.map(drop)
}

/// An error as it is kept: without the NULs that PostgreSQL refuses, and not too long.
fn shown(error: &str) -> String {
    let error = error.trim().replace('\0', "\u{fffd}");
    match error.char_indices().nth(MAX_ERROR) {
        Some((end, _)) => format!("{}…", &error[..end]),
        None => error,
    }
}

fn item(row: &Row) -> Result<Item, sqlx::Error> {
    Ok(Item {
        id: DeliveryId(row.int(0)?),
        guid: row.text(1)?,
        event: row.text(2)?,
        installation: row.maybe_int(3)?.map(|id| InstallationId(id.cast_unsigned())),
        repo: row.maybe_int(4)?.map(|id| RepoId(id.cast_unsigned())),
        barrier: row.int(5)? != 0,
        payload: row.bytes(6)?,
        meta: serde_json::from_str(&row.text(7)?).unwrap_or_default(),
        attempt: u32::try_from(row.int(8)?).unwrap_or(u32::MAX),
        received_at: timestamp(row.int(9)?),
    })
}
