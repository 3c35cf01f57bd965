//! Group commit: what comes in while a commit is under way shares the next one.
//!
//! A commit of SQLite at full synchronisation waits for the disk, and there is one writer. One commit a delivery would
//! make the disk the pace of a burst, and each of its deliveries would queue up against the workers by itself. So one
//! task stores what is waiting in one transaction, and each sender is answered after that commit: nothing is promised
//! earlier than before, and nobody waits for company.
//!
//! It is a task of its own, and not whoever came first, because a sender may go away at any moment (a connection that is
//! closed takes its request along) and must not take the others' deliveries with it. What was handed over is stored
//! even if nobody waits for the answer any more; it is a duplicate when it comes again.
//!
//! PostgreSQL has many writers and groups their commits itself, and two groups of different replicas that share GUIDs
//! could wait for each other there. Its deliveries are stored one by one.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::db::Db;
use super::{Clock, Delivery, InboxError, Put, insert};
use crate::fault::around;

/// So many share a commit; more than that come in at once only when the disk has fallen behind, and a claim must not
/// wait for all of them.
const MOST: usize = 128;

type Answer = Result<Put, InboxError>;

struct Waiting {
    delivery: Delivery,
    answer: oneshot::Sender<Answer>,
}

/// The way to the task that stores. It ends with the last of these.
#[derive(Clone)]
pub(super) struct Group(mpsc::Sender<Waiting>);

impl Group {
    pub(super) fn new(db: Db, clock: Arc<dyn Clock>) -> Self {
        let (sender, waiting) = mpsc::channel(MOST);
        tokio::spawn(store_all(db, clock, waiting));
        Self(sender)
    }

    /// Stores a delivery together with whatever else is waiting. When this returns, it is on disk.
    pub(super) async fn put(&self, delivery: Delivery) -> Answer {
        let (answer, stored) = oneshot::channel();
        let gone = || InboxError::Database(sqlx::Error::PoolClosed);
        self.0.send(Waiting { delivery, answer }).await.map_err(|_| gone())?;
        stored.await.unwrap_or_else(|_| Err(gone()))
    }
}

async fn store_all(db: Db, clock: Arc<dyn Clock>, mut waiting: mpsc::Receiver<Waiting>) {
    let mut group = Vec::with_capacity(MOST);
    while waiting.recv_many(&mut group, MOST).await > 0 {
        let deliveries: Vec<&Delivery> = group.iter().map(|waiting| &waiting.delivery).collect();
        let answers: Vec<Answer> = match store(&db, clock.now().as_millisecond(), &deliveries).await {
            Ok(puts) => puts.into_iter().map(Ok).collect(),
            // What is wrong with one of them was found before it was handed over: it is the database that failed.
            Err(error) => {
                let error = Arc::new(error);
                group.iter().map(|_| Err(InboxError::Group(Arc::clone(&error)))).collect()
            }
        };
        for (waiting, answer) in group.drain(..).zip(answers) {
            // Nobody may be waiting any more.
            let _ = waiting.answer.send(answer);
        }
    }
}

/// Stores deliveries that were checked, in one commit.
pub(super) async fn store(db: &Db, now: i64, deliveries: &[&Delivery]) -> Result<Vec<Put>, sqlx::Error> {
    let mut tx = db.begin().await?;
    let puts = insert(&mut tx, deliveries, now).await?;
    around!("inbox.put", tx.commit().await)?;
    Ok(puts)
}
