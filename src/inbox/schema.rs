//! The tables, and how they come to be.
//!
//! Each entry of [`MIGRATIONS`] is applied once, in order, inside one transaction that only one process can be in.
//! Released entries are never edited: a change is a new entry. Names start with `inbox_`, so that the tables can live
//! in a database that is used for other things too.

use super::InboxError;
use super::db::{Composed, Db, args};
use crate::fault::around;

/// `{id}` and `{bytes}` are spelled differently by the two engines.
const MIGRATIONS: &[&[&str]] = &[&[
    // `state` is open, done or dead. An open delivery is running while its token is that of a live lease on its key,
    // parked while `not_before` is ahead, and ready otherwise: a worker that dies needs nobody to clean up after it.
    "create table inbox_deliveries (
        id {id},
        guid text not null,
        event text not null,
        installation bigint,
        repo bigint,
        key text not null,
        barrier bigint not null,
        payload {bytes} not null,
        meta text not null,
        state text not null default 'open',
        attempts bigint not null default 0,
        not_before bigint not null,
        token text,
        error text,
        received_at bigint not null,
        done_at bigint
    )",
    "create unique index inbox_deliveries_guid on inbox_deliveries (guid)",
    "create index inbox_deliveries_open on inbox_deliveries (id) where state = 'open'",
    "create index inbox_deliveries_key on inbox_deliveries (key, id) where state = 'open'",
    "create index inbox_deliveries_due on inbox_deliveries (not_before) where state = 'open'",
    "create index inbox_deliveries_dead on inbox_deliveries (id) where state = 'dead'",
    "create index inbox_deliveries_done on inbox_deliveries (done_at) where state = 'done'",
    // One row for each key that is being worked on. The primary key is what makes two workers on one key impossible.
    "create table inbox_leases (
        key text primary key,
        token text not null,
        worker text not null,
        until bigint not null
    )",
    "create table inbox_cache (
        namespace text not null,
        key text not null,
        value {bytes} not null,
        at bigint not null,
        primary key (namespace, key)
    )",
    "create index inbox_cache_at on inbox_cache (at)",
]];

/// Any constant will do, as long as it stays the same: processes that start together queue up behind it.
const LOCK: i64 = 0x7068_6173_6567_6174;

pub(super) async fn migrate(db: &Db) -> Result<(), InboxError> {
    let mut tx = db.begin().await?;
    let (id, bytes) = if tx.is_postgres() {
        tx.rows("select 1::bigint from pg_advisory_xact_lock($1)", args![LOCK]).await?;
        ("bigint generated always as identity primary key", "bytea")
    } else {
        // Without `autoincrement` the id of the newest row could be given out again after it was pruned.
        ("integer primary key autoincrement", "blob")
    };
    tx.run("create table if not exists inbox_schema (version bigint not null)", args![]).await?;
    let found = match tx.row("select max(version) from inbox_schema", args![]).await? {
        Some(row) => row.maybe_int(0)?.unwrap_or(0),
        None => 0,
    };
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Err(InboxError::Newer { found, known });
    }
    for (version, statements) in (1_i64..).zip(MIGRATIONS).filter(|(version, _)| *version > found) {
        for statement in *statements {
            tx.run(Composed(statement.replace("{id}", id).replace("{bytes}", bytes)), args![]).await?;
        }
        tx.run("insert into inbox_schema (version) values ($1)", args![version]).await?;
    }
    around!("inbox.migrate", tx.commit().await)?;
    Ok(())
}
