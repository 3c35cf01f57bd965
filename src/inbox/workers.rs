//! Workers: claim, handle, answer, again.
//!
//! A handler may be stopped at any await: when the process dies, when its lease is lost, when the grace period of a
//! shutdown is over. So it has to be something that can be done again from the start, which the engine's passes are.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Batch, Delivery, Inbox, InboxError, Note};

/// What is done with a batch.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    async fn handle(&self, batch: &Batch) -> Outcome;
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Done, and this comes out of it. It is stored together with the answer.
    DoneWith {
        deliveries: Vec<Delivery>,
        notes: Vec<Note>,
    },
    /// It failed. Without a time, [`super::retry_delay`] sets one. `counts: false` is for what is nobody's fault, like a
    /// rate limit: it is no attempt, however often it happens.
    Retry {
        error: String,
        not_before: Option<Timestamp>,
        counts: bool,
    },
    /// Trying again is pointless.
    Bury {
        error: String,
    },
}

#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Goes before the worker's number in the lease, for people who look at the database.
    pub name: String,
    /// How long a dead worker's key stays shut.
    pub lease: Duration,
    /// How often a living worker renews its lease: well under `lease`.
    pub heartbeat: Duration,
    /// How often to look for the deliveries of other processes.
    pub poll: Duration,
    /// How long a shutdown waits for handlers.
    pub grace: Duration,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            name: format!("phasegate-{}", std::process::id()),
            lease: Duration::from_secs(60),
            heartbeat: Duration::from_secs(15),
            poll: Duration::from_secs(1),
            grace: Duration::from_secs(25),
        }
    }
}

/// Runs `n` workers until `shutdown` is cancelled. Then nothing new is claimed, what runs may finish within the grace
/// period, and what doesn't is given back.
pub async fn run_workers<H: Handler>(inbox: Inbox, n: usize, handler: Arc<H>, shutdown: CancellationToken) {
    run_workers_with(inbox, n, handler, shutdown, WorkerOptions::default()).await;
}

pub async fn run_workers_with<H: Handler>(
    inbox: Inbox,
    n: usize,
    handler: Arc<H>,
    shutdown: CancellationToken,
    options: WorkerOptions,
) {
    let mut workers = JoinSet::new();
    for number in 0..n.max(1) {
        let worker = Worker {
            inbox: inbox.clone(),
            name: format!("{}-{number}", options.name),
            handler: handler.clone(),
            shutdown: shutdown.clone(),
            options: options.clone(),
        };
        workers.spawn(worker.run());
    }
    while let Some(ended) = workers.join_next().await {
        if let Err(err) = ended {
            tracing::error!(%err, "a worker ended badly");
        }
    }
}

struct Worker<H> {
    inbox: Inbox,
    name: String,
    handler: Arc<H>,
    shutdown: CancellationToken,
    options: WorkerOptions,
}

/// How a handler's run ended.
enum Ended {
    Answered(Outcome),
    /// Someone else may have the key: say nothing.
    LostLease,
    /// The grace period is over.
    Stopped,
}

impl<H: Handler> Worker<H> {
    async fn run(self) {
        while !self.shutdown.is_cancelled() {
            match self.inbox.claim(&self.name, self.options.lease).await {
                Ok(Some(batch)) => self.work(batch).await,
                Ok(None) => self.rest().await,
                Err(err) => {
                    tracing::error!(worker = self.name, error = chain(&err), "can't claim work");
                    tokio::select! {
                        () = self.shutdown.cancelled() => {}
                        () = tokio::time::sleep(self.options.poll.max(Duration::from_millis(250))) => {}
                    }
                }
            }
        }
    }

    /// Waits until there may be something to do. A delivery that was stored after the claim looked has left its
    /// wake-up call behind, so none is slept through.
    async fn rest(&self) {
        let due = match self.inbox.next_due().await {
            Ok(Some(due)) => due.duration_since(self.inbox.now()).unsigned_abs(),
            _ => self.options.poll,
        };
        tokio::select! {
            () = self.shutdown.cancelled() => {}
            () = self.inbox.notified() => {}
            () = tokio::time::sleep(due.clamp(Duration::from_millis(5), self.options.poll)) => {}
        }
    }

    async fn work(&self, batch: Batch) {
        let span = tracing::info_span!("batch", key = batch.key, items = batch.items.len(), worker = self.name);
        let ended = tracing::Instrument::instrument(self.handle(&batch), span).await;
        let outcome = match ended {
            Ended::LostLease => {
                tracing::warn!(key = batch.key, "the lease was lost; stopped working on it");
                return;
            }
            Ended::Stopped => None,
            Ended::Answered(outcome) => Some(outcome),
        };
        // An answer that can't be stored is only lost time: the lease runs out and the batch is done again. But a
        // database that restarts is worth waiting for, within the lease.
        for pause in [100, 400, 1600, 6400, 0] {
            match self.answer(&batch, outcome.as_ref()).await {
                Ok(()) => return,
                Err(InboxError::LostLease { .. }) => {
                    tracing::warn!(key = batch.key, "the lease was lost before the answer was stored");
                    return;
                }
                // The derived deliveries can't be stored as they are: trying again won't help.
                Err(err @ InboxError::Malformed(_)) => {
                    let error = chain(&err);
                    tracing::error!(key = batch.key, error, "a derived delivery is malformed");
                    if let Err(err) = self.inbox.bury(&batch, &error).await {
                        tracing::error!(key = batch.key, error = chain(&err), "can't bury");
                    }
                    return;
                }
                Err(err) => {
                    tracing::error!(key = batch.key, error = chain(&err), "can't store the answer");
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
            }
        }
    }

    async fn handle(&self, batch: &Batch) -> Ended {
        // The call itself is inside the async block: a handler may panic before its first await.
        let run = AssertUnwindSafe(async { self.handler.handle(batch).await }).catch_unwind();
        let over = async {
            self.shutdown.cancelled().await;
            tokio::time::sleep(self.options.grace).await;
        };
        tokio::select! {
            biased;
            ended = run => Ended::Answered(ended.unwrap_or_else(|panic| {
                let error = format!("the handler panicked: {}", panic_text(&*panic));
                tracing::error!(key = batch.key, error, "a handler panicked");
                Outcome::Retry { error, not_before: None, counts: true }
            })),
            () = self.keep(batch) => Ended::LostLease,
            () = over => Ended::Stopped,
        }
    }

    /// Renews the lease again and again; returns when it is lost.
    async fn keep(&self, batch: &Batch) {
        loop {
            tokio::time::sleep(self.options.heartbeat).await;
            match self.inbox.extend(batch, self.options.lease).await {
                Ok(()) => {}
                Err(InboxError::LostLease { .. }) => return,
                Err(err) => tracing::warn!(key = batch.key, error = chain(&err), "can't renew the lease"),
            }
        }
    }

    async fn answer(&self, batch: &Batch, outcome: Option<&Outcome>) -> Result<(), InboxError> {
        let inbox = &self.inbox;
        match outcome {
            None => inbox.release(batch).await,
            Some(Outcome::Done) => inbox.complete(batch).await,
            Some(Outcome::DoneWith { deliveries, notes }) => {
                inbox.complete_with(batch, deliveries, notes).await.map(drop)
            }
            Some(Outcome::Retry { error, not_before, counts: true }) => inbox.retry(batch, error, *not_before).await,
            Some(Outcome::Retry { error, not_before, counts: false }) => {
                inbox.postpone(batch, error, not_before.unwrap_or_else(|| inbox.now() + UNTOLD)).await
            }
            Some(Outcome::Bury { error }) => inbox.bury(batch, error).await,
        }
    }
}

/// The wait for a rate limit that didn't say until when: GitHub asks for at least a minute.
const UNTOLD: Duration = Duration::from_secs(60);

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

/// An error with its causes, on one line.
fn chain(err: &InboxError) -> String {
    let mut text = err.to_string();
    let mut source = std::error::Error::source(err);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
