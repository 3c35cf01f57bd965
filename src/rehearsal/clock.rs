//! The clock of the stage.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};

use crate::inbox::Clock;

/// The real clock, which can be put forward: what was put off comes due, and nobody has to wait for it.
#[derive(Default)]
pub struct StageClock {
    passed: AtomicI64,
    /// What the client waited through, which it does in no time. GitHub's clock goes with it; the inbox's does not, or the
    /// lease of one worker would run out while another waits.
    waited: AtomicI64,
    told_in: Mutex<Option<PathBuf>>,
}

impl StageClock {
    pub(super) fn on_github(&self) -> Timestamp {
        Clock::now(self) + SignedDuration::from_millis(self.waited.load(Ordering::SeqCst))
    }

    pub fn put_forward(&self, by: Duration) {
        let told_in = self.told_in.lock().unwrap_or_else(PoisonError::into_inner);
        self.passed.fetch_add(i64::try_from(by.as_millis()).unwrap_or_default(), Ordering::SeqCst);
        if let Some(file) = &*told_in
            && let Err(error) = self.write(file)
        {
            tracing::error!(error = format!("{error:#}"), "the time can't be told");
        }
    }

    /// From now on it is told in this file by how many milliseconds the clock is ahead of the machine's: for a process of
    /// its own, which can't be handed a clock.
    pub fn tell_in(&self, file: PathBuf) -> anyhow::Result<()> {
        let mut told_in = self.told_in.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(&file)?;
        *told_in = Some(file);
        Ok(())
    }

    /// In one step: whoever reads half of a number would see the time go back.
    fn write(&self, file: &std::path::Path) -> anyhow::Result<()> {
        let new = file.with_extension("new");
        std::fs::write(&new, self.passed.load(Ordering::SeqCst).to_string()).context("it can't be written")?;
        std::fs::rename(&new, file).context("it can't be put in its place")
    }
}

impl Clock for StageClock {
    fn now(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_millis(self.passed.load(Ordering::SeqCst))
    }
}

#[async_trait::async_trait]
impl crate::github::Clock for StageClock {
    fn now(&self) -> Timestamp {
        self.on_github()
    }

    async fn sleep(&self, time: Duration) {
        self.waited.fetch_add(i64::try_from(time.as_millis()).unwrap_or_default(), Ordering::SeqCst);
        tokio::task::yield_now().await;
    }
}
