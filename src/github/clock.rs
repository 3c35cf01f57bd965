//! Time, as something that tests can hold in their hands.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

/// Tells the time and waits. The client waits only through this.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
    async fn sleep(&self, time: Duration);
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// `from` and some time more; the end of time where that would be later still.
pub(super) fn after(from: Timestamp, time: Duration) -> Timestamp {
    from.checked_add(time).unwrap_or(Timestamp::MAX)
}

/// How long until `then`; nothing when it is past.
pub(super) fn until(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
pub(super) mod stopped {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A clock that stands still until someone sleeps on it or moves it.
    #[derive(Debug)]
    pub(in crate::github) struct StoppedClock {
        now: Mutex<Timestamp>,
        slept: Mutex<Duration>,
    }

    impl StoppedClock {
        pub(in crate::github) fn new() -> Arc<Self> {
            let now = "2026-11-01T12:00:00Z".parse().unwrap();
            Arc::new(Self { now: Mutex::new(now), slept: Mutex::default() })
        }

        pub(in crate::github) fn advance(&self, time: Duration) {
            let mut now = self.now.lock().unwrap();
            *now = after(*now, time);
        }

        /// How long the client has waited in all.
        pub(in crate::github) fn slept(&self) -> Duration {
            *self.slept.lock().unwrap()
        }
    }

    #[async_trait]
    impl Clock for StoppedClock {
        fn now(&self) -> Timestamp {
            *self.now.lock().unwrap()
        }

        async fn sleep(&self, time: Duration) {
            self.advance(time);
            *self.slept.lock().unwrap() += time;
            tokio::task::yield_now().await;
        }
    }
}
