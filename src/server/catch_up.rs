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
use crate::github::Hub;
use crate::github::calls::app::Delivery;

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
    let mut seen = None;
    loop {
        let now = door.inbox.now();
        tokio::select! {
            asked = catch_up(hub, door, seen, now) => match asked {
                Ok(asked) => {
                    seen = Some(now);
                    if asked > 0 {
                        tracing::info!(asked, "webhooks that GitHub could not deliver were asked for again");
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
            () = tokio::time::sleep(if first { SOON } else { EVERY }) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// One look; says how many were asked for.
pub(super) async fn catch_up(hub: &Hub, door: &Door, seen: Option<Timestamp>, now: Timestamp) -> anyhow::Result<usize> {
    let since = seen.map_or(now - WINDOW, |seen| (seen - OVERLAP).max(now - WINDOW));
    let attempts = hub.deliveries(since).await?;
    let missed = missed(&attempts, now);
    if missed.is_empty() {
        return Ok(0);
    }
    let known = door.inbox.known(missed.iter().map(|one| one.guid.as_str())).await?;
    let mut asked = 0;
    for delivery in missed.iter().filter(|one| !known.contains(&one.guid)) {
        tracing::debug!(guid = delivery.guid, event = delivery.event, "asked for again");
        hub.redeliver(delivery.id).await?;
        asked += 1;
    }
    Ok(asked)
}

/// The last attempt of each delivery that never arrived and is due again, the oldest first.
fn missed(attempts: &[Delivery], now: Timestamp) -> Vec<&Delivery> {
    let settled: BTreeSet<&str> = attempts.iter().filter(|one| settles(one)).map(|one| one.guid.as_str()).collect();
    let mut open: BTreeMap<&str, (&Delivery, &Delivery)> = BTreeMap::new();
    for one in attempts.iter().filter(|one| !settled.contains(one.guid.as_str())) {
        let (first, last) = open.entry(&one.guid).or_insert((one, one));
        if one.delivered_at < first.delivered_at {
            *first = one;
        }
        if one.delivered_at > last.delivered_at {
            *last = one;
        }
    }
    let mut due: Vec<(&Delivery, &Delivery)> = open
        .into_values()
        .filter(|(first, last)| {
            // Each wait is as long as all before it together: what fails again and again is not asked for all the time.
            let tried_for = last.delivered_at.duration_since(first.delivered_at);
            now.duration_since(last.delivered_at) >= tried_for.max(YOUNG)
        })
        .collect();
    due.sort_by_key(|(first, _)| (first.delivered_at, first.id));
    due.truncate(MOST);
    due.into_iter().map(|(_, last)| last).collect()
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
        missed(attempts, now()).iter().map(|one| one.id).collect()
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
        let attempts: Vec<Delivery> =
            (1..=600).map(|n| attempt(n, &n.to_string(), 1_000 - i64::try_from(n).unwrap(), 0)).collect();
        let asked = asked(&attempts);
        assert_eq!((asked.len(), asked[0], asked[499]), (MOST, 1, 500));
    }
}
