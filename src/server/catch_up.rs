//! What GitHub could not deliver is asked for again.
//!
//! GitHub sends nothing twice by itself, so a server that was down, or whose database was, would never hear of what
//! happened meanwhile. GitHub remembers every attempt for three days: of the deliveries that never arrived well, those
//! that the inbox does not have either are asked for again. They come in like any other, under the guid they had, so
//! two servers that ask for the same do no harm.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::Door;
use crate::github::calls::app::Delivery;
use crate::github::{Error, Hub};

/// How often, after the first time at the start.
const EVERY: Duration = Duration::from_mins(10);
/// GitHub forgets what is older.
const WINDOW: SignedDuration = SignedDuration::from_hours(3 * 24);
/// A later look begins so long before the last good one: an attempt may show in the list after its time.
const OVERLAP: SignedDuration = SignedDuration::from_hours(1);
/// After the first look, which leaves young attempts alone: what failed while the server was started again is young.
const SOON: Duration = Duration::from_secs(75);
/// A younger attempt may still be under way.
const YOUNG: SignedDuration = SignedDuration::from_mins(1);
/// The rest of a long outage comes with the next look, the oldest first.
const MOST: usize = 500;

/// Looks at the start, soon after it and then every ten minutes, until it is asked to stop.
pub(super) async fn run(hub: &Hub, door: &Door, stop: &CancellationToken) {
    let (mut seen, mut left) = (None, false);
    loop {
        let now = door.inbox.now();
        tokio::select! {
            asked = catch_up(hub, door, seen, now) => match asked {
                Ok(Asked { asked, more, until }) => {
                    (seen, left) = (Some(until), more);
                    if asked > 0 {
                        tracing::info!(asked, more, "webhooks that GitHub could not deliver were asked for again");
                    }
                }
                // What was not looked at is looked at next time.
                Err(error) => tracing::warn!(
                    error = format!("{error:#}"), again_in = ?EVERY,
                    "webhooks that GitHub could not deliver can't be asked for again"
                ),
            },
            () = stop.cancelled() => return,
        }
        // The first look alone sets it.
        let first = door.caught_up.set(()).is_ok();
        tokio::select! {
            () = tokio::time::sleep(if first || left { SOON } else { EVERY }) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// What a look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) asked: usize,
    /// There are more; they come with the next look.
    pub(super) more: bool,
    /// Everything before this has arrived.
    pub(super) until: Timestamp,
}

/// One look.
pub(super) async fn catch_up(hub: &Hub, door: &Door, seen: Option<Timestamp>, now: Timestamp) -> anyhow::Result<Asked> {
    let since = seen.map_or(now - WINDOW, |seen| (seen - OVERLAP).max(now - WINDOW));
    let attempts = hub.deliveries(since).await?;
    let mut open = missed(&attempts);
    let known = door.inbox.known(open.iter().map(|one| one.last.guid.as_str())).await?;
    open.retain(|one| !known.contains(&one.last.guid));
    let (due, asked) = due(&open, now);
    for one in due {
        tracing::debug!(guid = one.last.guid, event = one.last.event, "asked for again");
        match hub.redeliver(one.last.id).await {
            // One that GitHub does not have any more, or won't send, holds up none of the others.
            Err(Error::NotFound { .. } | Error::Unprocessable { .. } | Error::Conflict { .. }) => {
                tracing::warn!(guid = one.last.guid, event = one.last.event, "GitHub does not deliver it again");
            }
            asked => asked?,
        }
    }
    Ok(asked)
}

/// What is asked for now. What fails again, is not due yet or is too much for one look is still to be asked for: the next
/// look goes back to the oldest of all that.
fn due<'a>(open: &'a [Missed<'a>], now: Timestamp) -> (Vec<&'a Missed<'a>>, Asked) {
    let until = open.first().map_or(now, |one| one.first.delivered_at.min(now));
    let mut due: Vec<&Missed<'_>> = open.iter().filter(|one| one.is_due(now)).collect();
    let more = due.len() > MOST;
    due.truncate(MOST);
    let asked = Asked { asked: due.len(), more, until };
    (due, asked)
}

/// A delivery that never arrived, by its first and its last attempt.
struct Missed<'a> {
    first: &'a Delivery,
    last: &'a Delivery,
}

impl Missed<'_> {
    /// Each wait is as long as all before it together: what fails again and again is not asked for all the time.
    fn is_due(&self, now: Timestamp) -> bool {
        let tried_for = self.last.delivered_at.duration_since(self.first.delivered_at);
        now.duration_since(self.last.delivered_at) >= tried_for.max(YOUNG)
    }
}

/// The deliveries that never arrived, the oldest first.
fn missed(attempts: &[Delivery]) -> Vec<Missed<'_>> {
    let settled: BTreeSet<&str> = attempts.iter().filter(|one| settles(one)).map(|one| one.guid.as_str()).collect();
    let mut open: BTreeMap<&str, Missed<'_>> = BTreeMap::new();
    for one in attempts.iter().filter(|one| !settled.contains(one.guid.as_str())) {
        let missed = open.entry(&one.guid).or_insert(Missed { first: one, last: one });
        if one.delivered_at < missed.first.delivered_at {
            missed.first = one;
        }
        if one.delivered_at > missed.last.delivered_at {
            missed.last = one;
        }
    }
    let mut open: Vec<Missed<'_>> = open.into_values().collect();
    open.sort_by_key(|one| (one.first.delivered_at, one.first.id));
    open
}

/// It arrived, or was refused for good: a body that is too large or has no headers will not get better.
fn settles(attempt: &Delivery) -> bool {
    attempt.arrived() || matches!(attempt.status_code, 400 | 413)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-01T12:00:00Z".parse().unwrap()
    }

    fn attempt(id: u64, guid: &str, minutes_ago: i64, status_code: u16) -> Delivery {
        Delivery {
            id,
            guid: guid.to_owned(),
            delivered_at: now() - SignedDuration::from_mins(minutes_ago),
            redelivery: false,
            status: String::new(),
            status_code,
            event: "push".to_owned(),
            action: None,
            installation_id: None,
            repository_id: None,
        }
    }

    fn asked(attempts: &[Delivery]) -> Vec<u64> {
        missed(attempts).iter().filter(|one| one.is_due(now())).map(|one| one.last.id).collect()
    }

    #[test]
    fn only_what_never_arrived_is_asked_for_the_oldest_first() {
        let attempts = [
            attempt(9, "late", 5, 502),
            attempt(8, "mended", 6, 202),
            attempt(7, "large", 7, 413),
            attempt(6, "mended", 20, 0),
            attempt(5, "early", 30, 0),
            attempt(4, "fine", 31, 200),
        ];
        assert_eq!(asked(&attempts), [5, 9]);
    }

    #[test]
    fn an_attempt_that_may_be_under_way_is_left_alone() {
        assert_eq!(asked(&[attempt(1, "a", 0, 0)]), [0; 0]);
        assert_eq!(asked(&[attempt(1, "a", 1, 0)]), [1]);
    }

    #[test]
    fn what_fails_again_is_asked_for_less_and_less_often() {
        let tried = |last| asked(&[attempt(2, "a", last, 503), attempt(1, "a", last + 30, 503)]);
        assert_eq!(tried(29), [0; 0]);
        assert_eq!(tried(30), [2]);
    }

    #[test]
    fn a_long_outage_is_caught_up_in_parts() {
        let ago = |n: u64| 1_000 - i64::try_from(n).unwrap();
        let attempts: Vec<Delivery> = (1..=600).map(|n| attempt(n, &n.to_string(), ago(n), 0)).collect();
        let open = missed(&attempts);
        let (first, asked) = due(&open, now());
        assert_eq!((first.len(), first[0].last.id, first[499].last.id), (MOST, 1, 500));
        // The next look begins where the rest of it is, however long ago that was.
        assert_eq!(asked, Asked { asked: MOST, more: true, until: attempts[0].delivered_at });
        let (rest, asked) = due(&open[MOST..], now());
        assert_eq!((rest.len(), asked.more, asked.until), (100, false, attempts[MOST].delivered_at));
    }

    #[test]
    fn what_is_not_due_yet_is_not_forgotten() {
        let attempts = [attempt(2, "a", 100, 503), attempt(1, "a", 300, 503)];
        let open = missed(&attempts);
        let (asked, look) = due(&open, now());
        assert_eq!((asked.len(), look.until), (0, attempts[1].delivered_at));
        assert_eq!(due(&[], now()).1.until, now());
    }
}
