//! How much GitHub lets us ask, per installation.
//!
//! Three walls, in the order in which a call meets them:
//! 1. **Parked.** GitHub said "not before then". Until then every call of the installation is refused here, because
//!    calls made while limited prolong the limit and can get an App banned. A used-up hourly allowance parks only the
//!    resource it belongs to (REST and GraphQL count apart), a secondary limit everything.
//! 2. **Pace.** GitHub's secondary limits can't be read, only kept: 900 points a minute (reading 1, writing 5), 80
//!    things created a minute and 500 an hour. We stay under them by ourselves.
//! 3. **Concurrency**, which the caller bounds with a semaphore.
//!
//! Limits are obeyed in GitHub's order: `retry-after`, then `x-ratelimit-reset` when nothing remains, then at least a
//! minute, doubling. Times from headers are bounded, so that one absurd header does not park the bot for a year.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jiff::Timestamp;

use super::clock::{after, until};
use super::error::Error;

/// The longest that a call waits by itself; past this the work is parked by whoever asked.
pub(super) const SHORT_WAIT: Duration = Duration::from_secs(2);
/// An hourly window's length, and a little more for clocks that differ.
const LONGEST_PARK: Duration = Duration::from_secs(3660);
const FIRST_BACK_OFF: Duration = Duration::from_secs(60);

/// The hourly allowance of one resource, as GitHub last told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    pub limit: u64,
    pub remaining: u64,
    pub reset: Timestamp,
}

/// What a call costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    pub(super) resource: &'static str,
    pub(super) points: u32,
    /// An issue, a comment or the like comes into being.
    pub(super) creates: bool,
}

/// One installation's budget.
#[derive(Debug)]
pub struct Budget {
    installation: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    allowances: BTreeMap<String, Allowance>,
    parked: BTreeMap<String, Timestamp>,
    parked_wholly: Option<Timestamp>,
    strikes: u32,
    points: Pace,
    created_a_minute: Pace,
    created_an_hour: Pace,
}

impl Budget {
    pub(super) fn new(installation: impl Into<String>) -> Self {
        // Rate and burst together stay within GitHub's number for any window.
        let paces = [Pace::new(600, 60, 300), Pace::new(50, 60, 30), Pace::new(350, 3600, 150)];
        Self::with(installation, paces)
    }

    /// Obeys what it is told, but keeps to no pace of its own.
    pub(super) fn unpaced(installation: impl Into<String>) -> Self {
        Self::with(installation, [Pace::new(u32::MAX, 1, u32::MAX); 3])
    }

    fn with(installation: impl Into<String>, [points, created_a_minute, created_an_hour]: [Pace; 3]) -> Self {
        let state = State {
            allowances: BTreeMap::new(),
            parked: BTreeMap::new(),
            parked_wholly: None,
            strikes: 0,
            points,
            created_a_minute,
            created_an_hour,
        };
        Self { installation: installation.into(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks to make a call. `Ok` says how long to wait first (at most [`SHORT_WAIT`] for the pace, and the call is
    /// then paid for); an error says until when not to come back.
    pub(super) fn admit(&self, now: Timestamp, cost: Cost) -> Result<Duration, Error> {
        let mut state = self.state();
        state.parked.retain(|_, until| *until > now);
        if let Some(until) = state.parked_wholly {
            if until > now {
                return Err(Error::RateLimited { until, secondary: true });
            }
            state.parked_wholly = None;
        }
        if let Some(until) = state.parked.get(cost.resource) {
            return Err(Error::RateLimited { until: *until, secondary: false });
        }
        let mut paces = vec![(state.points, f64::from(cost.points))];
        if cost.creates {
            paces.extend([(state.created_a_minute, 1.0), (state.created_an_hour, 1.0)]);
        }
        let wait = paces.iter().map(|(pace, units)| pace.wait(now, *units)).max().unwrap_or_default();
        if wait > SHORT_WAIT {
            return Err(Error::RateLimited { until: after(now, wait), secondary: true });
        }
        state.points.pay(now, f64::from(cost.points));
        if cost.creates {
            state.created_a_minute.pay(now, 1.0);
            state.created_an_hour.pay(now, 1.0);
        }
        Ok(wait)
    }

    /// Learns from an answer. `Some` when the answer is a refusal because of a limit.
    pub(super) fn observe(
        &self,
        now: Timestamp,
        cost: Cost,
        status: StatusCode,
        headers: &HeaderMap,
        message: &str,
    ) -> Option<Error> {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
        let remaining = number("x-ratelimit-remaining");
        let reset = number("x-ratelimit-reset")
            .and_then(|seconds| Timestamp::from_second(i64::try_from(seconds).ok()?).ok())
            .map(|reset| reset.clamp(after(now, Duration::from_secs(1)), after(now, LONGEST_PARK)));
        let named = headers.get("x-ratelimit-resource").and_then(|value| value.to_str().ok());
        let resource = named
            .filter(|name| name.len() <= 40 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
            .unwrap_or(cost.resource);

        let mut state = self.state();
        if let (Some(limit), Some(remaining), Some(reset)) = (number("x-ratelimit-limit"), remaining, reset) {
            state.allowances.insert(resource.to_owned(), Allowance { limit, remaining, reset });
            let labels = [("installation", self.installation.clone()), ("resource", resource.to_owned())];
            metrics::gauge!("phasegate_github_rate_remaining", &labels).set(remaining as f64);
            metrics::gauge!("phasegate_github_rate_limit", &labels).set(limit as f64);
        }
        if let (Some(0), Some(reset)) = (remaining, reset) {
            state.parked.insert(resource.to_owned(), reset);
        }

        let refused = matches!(status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS);
        if !refused {
            if status.is_success() && state.parked_wholly.is_none() {
                state.strikes = 0;
            }
            return None;
        }
        let limited = |until, secondary| Some(Error::RateLimited { until, secondary });
        let message = message.to_ascii_lowercase();
        if let Some(seconds) = number("retry-after") {
            let until = after(now, Duration::from_secs(seconds.max(1)).min(LONGEST_PARK));
            let secondary = remaining != Some(0);
            state.park(until, secondary, resource);
            limited(until, secondary)
        } else if let (Some(0), Some(reset)) = (remaining, reset) {
            limited(reset, false)
        } else if status == StatusCode::TOO_MANY_REQUESTS
            || message.contains("rate limit")
            || message.contains("abuse detection")
        {
            let until = after(now, (FIRST_BACK_OFF * 2u32.pow(state.strikes.min(6))).min(LONGEST_PARK));
            state.strikes += 1;
            state.park(until, true, resource);
            limited(until, true)
        } else {
            None
        }
    }

    /// GraphQL says that it is limited inside an answer of status 200: treated as any other limit.
    pub(super) fn limited_in_body(&self, now: Timestamp, cost: Cost, headers: &HeaderMap) -> Error {
        self.observe(now, cost, StatusCode::TOO_MANY_REQUESTS, headers, "rate limit")
            .unwrap_or(Error::RateLimited { until: after(now, FIRST_BACK_OFF), secondary: true })
    }

    /// What GitHub last told, by resource.
    pub fn allowances(&self) -> BTreeMap<String, Allowance> {
        self.state().allowances.clone()
    }

    /// Until when what can wait is to wait: of the hour's calls less than a quarter is left, and that is for those who work.
    pub fn is_short_until(&self, now: Timestamp) -> Option<Timestamp> {
        let state = self.state();
        let core = state.allowances.get("core").filter(|core| core.remaining < core.limit / 4)?;
        Some(core.reset).filter(|reset| *reset > now)
    }

    /// Until when the installation is refused as a whole.
    pub fn parked_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.state().parked_wholly.filter(|until| *until > now)
    }
}

impl State {
    fn park(&mut self, until: Timestamp, wholly: bool, resource: &str) {
        if wholly {
            self.parked_wholly = Some(self.parked_wholly.map_or(until, |earlier| earlier.max(until)));
        } else {
            self.parked.insert(resource.to_owned(), until);
        }
    }
}

/// A steady rate with a burst (the "generic cell rate algorithm": one number of state).
#[derive(Debug, Clone, Copy)]
struct Pace {
    unit: f64,
    burst: f64,
    /// When everything paid for so far will have been due.
    due: Option<Timestamp>,
}

impl Pace {
    fn new(units: u32, seconds: u32, burst: u32) -> Self {
        let unit = f64::from(seconds) / f64::from(units);
        Self { unit, burst: f64::from(burst) * unit, due: None }
    }

    fn ahead(&self, now: Timestamp) -> f64 {
        self.due.map_or(0.0, |due| until(now, due).as_secs_f64())
    }

    fn wait(&self, now: Timestamp, units: f64) -> Duration {
        Duration::from_secs_f64((self.ahead(now) + units * self.unit - self.burst).max(0.0))
    }

    fn pay(&mut self, now: Timestamp, units: f64) {
        self.due = Some(after(now, Duration::from_secs_f64(self.ahead(now) + units * self.unit)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Cost = Cost { resource: "core", points: 1, creates: false };
    const COMMENT: Cost = Cost { resource: "core", points: 5, creates: true };
    const QUERY: Cost = Cost { resource: "graphql", points: 1, creates: false };

    fn noon() -> Timestamp {
        "2026-11-01T12:00:00Z".parse().unwrap()
    }

    fn later(seconds: u64) -> Timestamp {
        after(noon(), Duration::from_secs(seconds))
    }

    fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn retry_after_comes_first_and_parks_the_whole_installation() {
        let budget = Budget::new("1");
        let told = headers(&[("retry-after", "30".into()), ("x-ratelimit-remaining", "4000".into())]);
        let error = budget.observe(noon(), READ, StatusCode::FORBIDDEN, &told, "You have exceeded…");
        assert_eq!(error, Some(Error::RateLimited { until: later(30), secondary: true }));
        for cost in [READ, COMMENT, QUERY] {
            assert!(budget.admit(later(29), cost).is_err());
        }
        assert!(budget.admit(later(30), READ).is_ok());
    }

    #[test]
    fn the_last_quarter_of_an_hour_is_not_for_what_can_wait() {
        let budget = Budget::new("1");
        assert_eq!(budget.is_short_until(noon()), None);
        for (remaining, short) in [("1250", None), ("1249", Some(later(600)))] {
            let told = headers(&[
                ("x-ratelimit-limit", "5000".into()),
                ("x-ratelimit-remaining", remaining.into()),
                ("x-ratelimit-reset", later(600).as_second().to_string()),
            ]);
            assert_eq!(budget.observe(noon(), READ, StatusCode::OK, &told, ""), None);
            assert_eq!(budget.is_short_until(noon()), short);
            assert!(budget.admit(noon(), READ).is_ok(), "whoever works may");
        }
        assert_eq!(budget.is_short_until(later(600)), None, "a new hour");
    }

    #[test]
    fn a_used_up_allowance_parks_its_own_resource_until_the_reset() {
        let budget = Budget::new("1");
        let reset = later(600).as_second().to_string();
        let told = headers(&[
            ("x-ratelimit-limit", "5000".into()),
            ("x-ratelimit-remaining", "0".into()),
            ("x-ratelimit-reset", reset),
            ("x-ratelimit-resource", "core".into()),
        ]);
        // Known from the last good answer, before GitHub has to refuse anything.
        assert_eq!(budget.observe(noon(), READ, StatusCode::OK, &told, ""), None);
        assert_eq!(budget.admit(later(1), READ), Err(Error::RateLimited { until: later(600), secondary: false }));
        assert!(budget.admit(later(1), QUERY).is_ok(), "GraphQL has its own allowance");
        let refused = budget.observe(noon(), READ, StatusCode::FORBIDDEN, &told, "API rate limit exceeded");
        assert_eq!(refused, Some(Error::RateLimited { until: later(600), secondary: false }));
        assert!(budget.admit(later(600), READ).is_ok());
        assert_eq!(budget.allowances()["core"].limit, 5000);
    }

    #[test]
    fn without_headers_it_waits_a_minute_and_then_twice_as_long() {
        let budget = Budget::new("1");
        let text = "You have exceeded a secondary rate limit. Please wait a few minutes";
        let none = HeaderMap::new();
        let mut now = noon();
        for seconds in [60, 120, 240, 480] {
            let Some(Error::RateLimited { until: then, secondary: true }) =
                budget.observe(now, READ, StatusCode::FORBIDDEN, &none, text)
            else {
                panic!()
            };
            assert_eq!(until(now, then).as_secs(), seconds);
            now = then;
        }
        assert!(budget.admit(now, READ).is_ok());
        budget.observe(now, READ, StatusCode::OK, &none, "");
        budget.observe(now, READ, StatusCode::TOO_MANY_REQUESTS, &none, "");
        assert_eq!(budget.parked_until(now), Some(after(now, Duration::from_secs(60))), "a success forgives");
    }

    #[test]
    fn an_ordinary_refusal_is_no_limit_and_absurd_times_are_bounded() {
        let budget = Budget::new("1");
        let text = "Resource not accessible by integration";
        assert_eq!(budget.observe(noon(), READ, StatusCode::FORBIDDEN, &HeaderMap::new(), text), None);
        for (name, value) in [("retry-after", "99999999999"), ("retry-after", "18446744073709551615")] {
            let told = headers(&[(name, value.into())]);
            let Some(Error::RateLimited { until: then, .. }) =
                budget.observe(noon(), READ, StatusCode::TOO_MANY_REQUESTS, &told, "")
            else {
                panic!()
            };
            assert!(until(noon(), then) <= LONGEST_PARK);
        }
    }

    #[test]
    fn creating_stays_under_githubs_pace_in_every_minute() {
        let budget = Budget::new("1");
        let (mut now, mut made) = (noon(), Vec::new());
        while now < later(3600) {
            match budget.admit(now, COMMENT) {
                Ok(wait) => {
                    now = after(now, wait);
                    made.push(now);
                }
                Err(Error::RateLimited { until, .. }) => now = until,
                Err(other) => panic!("{other}"),
            }
        }
        let within = |from: Timestamp, seconds| {
            made.iter().filter(|at| **at >= from && **at < after(from, Duration::from_secs(seconds))).count()
        };
        let busiest = made.iter().map(|from| within(*from, 60)).max().unwrap();
        assert!((30..=80).contains(&busiest), "{busiest} in one minute");
        assert!((400..=500).contains(&made.len()), "{} in one hour", made.len());
    }

    #[test]
    fn what_remains_is_exported() {
        let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
        let told = headers(&[
            ("x-ratelimit-limit", "5000".into()),
            ("x-ratelimit-remaining", "4321".into()),
            ("x-ratelimit-reset", later(600).as_second().to_string()),
            ("x-ratelimit-resource", "core".into()),
        ]);
        metrics::with_local_recorder(&recorder, || {
            Budget::new("77").observe(noon(), READ, StatusCode::OK, &told, "");
        });
        let shown = recorder.handle().render();
        let line = "phasegate_github_rate_remaining{installation=\"77\",resource=\"core\"} 4321";
        assert!(shown.contains(line), "{shown}");
    }
}
