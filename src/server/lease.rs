//! The timer of a lease: a delivery that waits in the inbox until the lease may have run out, and then has the change looked
//! at. It is kept like any other, so a restart loses none; what it comes to is decided by the look.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::Way;
use super::pass::Pass;
use super::route::{AS_FACT, Derived, Halt, KEPT, OWN_EVENT, Passes, derived, written};
use crate::engine::runs_out;
use crate::fact::{Event, Fact};
use crate::ids::RepoRef;
use crate::inbox::Delivery;
use crate::ledger::State;
use crate::surface::sync::Memory as _;

impl Pass<'_> {
    /// Has the change looked at when its lease may run out, where nothing does so before.
    pub(super) async fn set_lease(&self, state: &State) -> Result<(), Halt> {
        // A run of a workflow does not wait; the next one looks.
        let Way::Server = self.app.way else { return Ok(()) };
        let Some(until) = runs_out(state, self.policy()) else { return Ok(()) };
        let (now, key) = (self.app.inbox.now(), format!("lease:{}", state.change.0));
        // It has run out and others have the turn: then it is looked at again after as long.
        let again = self.policy().and_then(|policy| policy.agents.lease).map_or(0, |lease| i64::from(lease.as_secs()));
        // What waits for something else beyond its time is looked at when that comes.
        if until <= now && again == 0 {
            return Ok(());
        }
        let due = if until > now { until } else { now + SignedDuration::from_secs(again) };
        // One that is under way finds out what became of it meanwhile, and sets the next.
        let set = self.memory.recall(&key).await.and_then(|text| text.parse::<Timestamp>().ok());
        if set.is_some_and(|set| set > now && set <= due) {
            return Ok(());
        }
        self.app.inbox.put(&timer(self.home, state.change.0, due, "")).await?;
        self.memory.keep(&key, &due.to_string()).await;
        Ok(())
    }

    /// Has the change looked at when a risk ends that somebody answers for.
    pub(super) async fn set_risk(&self, state: &State) -> Result<(), Halt> {
        let Way::Server = self.app.way else { return Ok(()) };
        let (now, key) = (self.app.inbox.now(), format!("risk:{}", state.change.0));
        let Some(due) = state.risk_ends().filter(|due| state.open && *due > now) else { return Ok(()) };
        let set = due.to_string();
        if self.memory.recall(&key).await.as_ref() == Some(&set) {
            return Ok(());
        }
        self.app.inbox.put(&timer(self.home, state.change.0, due, RISK)).await?;
        self.memory.keep(&key, &set).await;
        Ok(())
    }
}

/// What the timer of a risk has behind its key: it waits longer than a lease, which it is not to hold up.
const RISK: &str = "-risk";

/// Behind the slash of its key is no number: it waits, and holds up nothing of the change.
fn timer(home: &RepoRef, number: u64, until: Timestamp, of: &str) -> Delivery {
    let event = Event { repo: Some(home.clone()), fact: Fact::Lease { number, until } };
    Delivery {
        guid: format!("lease{of}/{}/{number}/{}", home.id.0, until.as_millisecond()),
        event: OWN_EVENT.to_owned(),
        installation: Some(home.installation),
        repo: Some(home.id),
        key: format!("{}/lease-{number}{of}", home.id.0),
        barrier: true,
        payload: written(&event),
        meta: json!({ "about": format!("{}#{number}, lease", home.slug), KEPT: AS_FACT }),
    }
}

/// Whether a batch is the timer of a lease, by its key.
pub(super) fn is_lease(key: &str) -> bool {
    key.contains("/lease-")
}

impl Passes {
    /// Waits until it is time, and has the change looked at.
    pub(super) fn lease(&self, home: &RepoRef, events: &[(String, Event)]) -> Derived {
        let timers = events.iter().filter_map(|(guid, event)| match &event.fact {
            Fact::Lease { number, until } => Some((guid, *number, *until)),
            _ => None,
        });
        let timers: Vec<_> = timers.collect();
        let next = timers.iter().map(|(_, _, until)| *until).max();
        if let Some(until) = next.filter(|until| *until > self.app.inbox.now()) {
            return Err(Halt::Later(until, "a lease has not run out yet".to_owned()));
        }
        let looks = timers
            .into_iter()
            .filter_map(|(guid, number, until)| derived(guid, home, number, Fact::Lease { number, until }));
        Ok(looks.collect())
    }
}
