//! A clock that a test holds in its hands, for a server in a process of its own. Debug builds alone have it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// The machine's clock, put forward by as many milliseconds as a file says: whoever tests a process lets a lease run
/// out or a back-off pass for it, and nobody waits.
pub(crate) struct StagedClock(PathBuf);

impl StagedClock {
    /// The file that `PHASEGATE_CLOCK` names.
    pub(crate) fn named() -> Option<Arc<Self>> {
        std::env::var_os("PHASEGATE_CLOCK").map(|file| Arc::new(Self(file.into())))
    }

    fn time(&self) -> Timestamp {
        let ahead = std::fs::read_to_string(&self.0).ok().and_then(|text| text.trim().parse().ok());
        Timestamp::now() + SignedDuration::from_millis(ahead.unwrap_or_default())
    }
}

impl crate::inbox::Clock for StagedClock {
    fn now(&self) -> Timestamp {
        self.time()
    }
}

#[async_trait::async_trait]
impl crate::github::Clock for StagedClock {
    fn now(&self) -> Timestamp {
        self.time()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_as_far_ahead_as_it_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let clock = StagedClock(dir.path().join("clock"));
        let ahead = || clock.time().duration_since(Timestamp::now()).as_secs();
        assert!(ahead() < 60, "without a file it is the machine's");
        std::fs::write(&clock.0, "7200000\n").unwrap();
        assert!((7_100..=7_200).contains(&ahead()));
    }
}
