//! A small store for things that can be found out again: ids of our comments and check runs, folded states, which
//! changes a commit belongs to. Any entry may be gone at any time, and nobody may be wrong because of it.

use super::db::{Tx, args};
use super::{Inbox, InboxError, Note};
use crate::fault::around;

impl Inbox {
    pub async fn cache_get(&self, namespace: &str, key: &str) -> Result<Option<Vec<u8>>, InboxError> {
        let mut tx = self.db.read().await?;
        let sql = "select value from inbox_cache where namespace = $1 and key = $2";
        let row = tx.row(sql, args![namespace, key]).await?;
        tx.commit().await?;
        Ok(row.map(|row| row.bytes(0)).transpose()?)
    }

    /// Every entry of a namespace, by its key.
    pub async fn cache_all(&self, namespace: &str) -> Result<Vec<(String, Vec<u8>)>, InboxError> {
        let mut tx = self.db.read().await?;
        let sql = "select key, value from inbox_cache where namespace = $1 order by key";
        let rows = tx.rows(sql, args![namespace]).await?;
        tx.commit().await?;
        rows.iter().map(|row| Ok((row.text(0)?, row.bytes(1)?))).collect()
    }

    pub async fn cache_put(&self, namespace: &str, key: &str, value: &[u8]) -> Result<(), InboxError> {
        let note = Note { namespace: namespace.to_owned(), key: key.to_owned(), value: value.to_vec() };
        let mut tx = self.db.begin().await?;
        keep(&mut tx, &note, self.now_ms()).await?;
        around!("inbox.cache_put", tx.commit().await)?;
        Ok(())
    }

    /// Forgets one entry, and says whether there was one.
    pub async fn cache_delete(&self, namespace: &str, key: &str) -> Result<bool, InboxError> {
        let mut tx = self.db.begin().await?;
        let sql = "delete from inbox_cache where namespace = $1 and key = $2";
        let gone = tx.run(sql, args![namespace, key]).await?;
        around!("inbox.cache_delete", tx.commit().await)?;
        Ok(gone > 0)
    }

    /// Forgets a whole namespace, and says how many entries it had.
    pub async fn cache_clear(&self, namespace: &str) -> Result<u64, InboxError> {
        let mut tx = self.db.begin().await?;
        let gone = tx.run("delete from inbox_cache where namespace = $1", args![namespace]).await?;
        around!("inbox.cache_clear", tx.commit().await)?;
        Ok(gone)
    }
}

/// Keeps one entry in a transaction of the caller's.
pub(super) async fn keep(tx: &mut Tx, note: &Note, now: i64) -> Result<(), InboxError> {
    tx.run(
        "insert into inbox_cache (namespace, key, value, at) values ($1, $2, $3, $4)
         on conflict (namespace, key) do update set value = excluded.value, at = excluded.at",
        args![note.namespace.as_str(), note.key.as_str(), note.value.as_slice(), now],
    )
    .await?;
    Ok(())
}
