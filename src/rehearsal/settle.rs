//! Waiting for the bot without sleeping: until it has done with what reached it, or also with what did not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::StageClock;
use crate::inbox::Inbox;
use crate::server::Lookout;
use crate::twin::Admin;

/// A bot that is not in this process.
#[async_trait::async_trait]
pub trait Elsewhere: Send + Sync {
    /// Returns when every webhook was delivered and worked off, and what followed from that too.
    async fn settle(&self) -> anyhow::Result<()>;
}

/// How often everybody waits for the bot before they give up on it.
const MOST_WAITS: usize = 400;

/// A visitor is told after this long at the latest.
const VISITORS_WAIT: Duration = Duration::from_secs(10);

/// On a bad day, and when it ends, what it held up is made good; that is waited for longer.
const VISITORS_WAIT_ON_A_BAD_DAY: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(super) struct Settling {
    pub(super) admin: Admin,
    pub(super) inbox: Inbox,
    pub(super) lookout: Lookout,
    pub(super) clock: Arc<StageClock>,
    pub(super) app: u64,
    /// A bad day was met, and not all that it held up was made good yet.
    pub(super) rough: Arc<AtomicBool>,
}

impl Settling {
    /// Waits until every webhook was delivered and worked off, and what followed from that too.
    pub(super) async fn settled(&self) -> anyhow::Result<()> {
        loop {
            self.admin.wait_idle().await;
            self.inbox.settled().await?;
            // Working off may have made GitHub send more.
            let sent = self.admin.attempts(self.app);
            self.admin.wait_idle().await;
            if self.admin.attempts(self.app) == sent {
                let stats = self.inbox.stats().await?;
                if stats.ready + stats.running == 0 {
                    return Ok(());
                }
            }
        }
    }

    /// The same, and until what was put off, held back or lost is made good: time passes for what was put off, and the bot
    /// asks again for what GitHub could not deliver.
    pub(super) async fn wholly(&self) -> anyhow::Result<()> {
        let mut looks = 0;
        for _ in 0..MOST_WAITS {
            self.settled().await?;
            if self.admin.release() > 0 {
                continue;
            }
            if let Some(due) = self.inbox.next_due().await? {
                let wait = due.duration_since(self.inbox.now()).unsigned_abs();
                self.clock.put_forward(wait + Duration::from_millis(1));
                self.inbox.notify();
                continue;
            }
            if !self.admin.undelivered(self.app) {
                return Ok(());
            }
            // What fails again and again is asked for less and less often.
            self.clock.put_forward(Duration::from_secs(120 << looks.min(8)));
            looks += 1;
            if let Err(error) = self.lookout.catch_up().await {
                tracing::info!(error = format!("{error:#}"), "what was lost can't be asked for yet");
            }
        }
        anyhow::bail!("the bot does not come to an end: {:?}", self.inbox.stats().await?)
    }

    /// After a visitor has acted. On a bad day, and until all is made good that one held up, the stage's time passes for
    /// the bot, so that nobody waits ten minutes for its next look; and it goes on after the visitor was answered.
    /// Says whether all of it has happened.
    pub(super) async fn for_a_visitor(&self) -> bool {
        let bad = self.admin.day().is_some();
        let rough = self.rough.fetch_or(bad, Ordering::SeqCst) || bad;
        let most = if rough { VISITORS_WAIT_ON_A_BAD_DAY } else { VISITORS_WAIT };
        let on = self.clone();
        let work = tokio::spawn(async move {
            let ended = if rough { on.wholly().await } else { on.settled().await };
            // The next bad day may have begun meanwhile; it says so itself.
            if ended.is_ok() && !bad {
                on.rough.store(on.admin.day().is_some(), Ordering::SeqCst);
            }
            ended
        });
        match tokio::time::timeout(most, work).await {
            Ok(Ok(Ok(()))) => true,
            Ok(Ok(Err(error))) => {
                tracing::warn!(error = format!("{error:#}"), "the bot is not done with what a visitor did");
                false
            }
            _ => {
                tracing::warn!("the bot is not done yet with what a visitor did");
                false
            }
        }
    }
}
