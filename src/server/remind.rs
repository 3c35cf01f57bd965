//! Stops that nobody answers are brought to mind, three times at most.
//!
//! When the next reminder is due is kept in the inbox's cache, and looked for now and then; then the change is looked at, and
//! whoever looks finds by the records and the clock that it is time. A lost cache costs a reminder until the next look at the
//! change. A run in a workflow has nobody who waits: it reminds when it comes.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::Door;
use super::pass::Pass;
use super::route::{Halt, derived};
use crate::engine::Happened;
use crate::fact::Fact;
use crate::gate::world::World;
use crate::github::calls::comments::Marker;
use crate::github::calls::pulls::Pull as Fetched;
use crate::ids::RepoRef;
use crate::inbox::Put;
use crate::ledger::{Loaded, State};
use crate::policy::Approver;
use crate::surface::escalation::{MOST_REMINDERS, reminder};

/// Where the times are kept.
const NAMESPACE: &str = "reminders";

/// When a change is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Due {
    repo: RepoRef,
    number: u64,
    at: Timestamp,
}

fn key(repo: &RepoRef, number: u64) -> String {
    format!("{}/{number}", repo.id.0)
}

/// The reminder that is due, and when the next one is. They come one by one, a whole time after each other: where nobody was there
/// to give them, the first one comes late, and the others after it.
fn due(state: &State, every: SignedDuration, now: Timestamp) -> Option<(Option<u32>, Option<Timestamp>)> {
    let open = state.escalation.as_ref()?;
    let number = open.reminded + 1;
    if number > MOST_REMINDERS {
        return Some((None, None));
    }
    let last = open.reminded_at.unwrap_or(open.since);
    let at = last.checked_add(every).ok();
    if at.is_none_or(|at| at > now) {
        return Some((None, at));
    }
    let next = (number < MOST_REMINDERS).then(|| now.checked_add(every).ok()).flatten();
    Some((Some(number), next))
}

/// How often it is looked for what is due.
const EVERY: Duration = Duration::from_mins(1);

/// Looks for what is due every minute, until it is asked to stop.
pub(super) async fn run(door: &Door, stop: &CancellationToken) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.cancelled() => return,
        }
        match look(door).await {
            Ok(0) => {}
            Ok(looks) => tracing::info!(looks, "changes that wait for an answer are looked at"),
            Err(error) => tracing::warn!(error = format!("{error:#}"), "who waits for an answer can't be looked for"),
        }
    }
}

impl Pass<'_> {
    /// Reminds where it is time, and keeps when the next time is. Answers the change as it is then. None: another writer was
    /// faster.
    pub(super) async fn remind(
        &self,
        pull: &Fetched,
        loaded: Loaded,
        world: &World,
        owners: &[Approver],
    ) -> Result<Option<(Loaded, bool)>, Halt> {
        let policy = self.policy().filter(|policy| policy.escalation.remind.after().is_some());
        let (Some(state), Some(policy)) = (&loaded.state, policy) else { return Ok(Some((loaded, false))) };
        let every = policy.escalation.remind.after().unwrap_or(SignedDuration::MAX);
        let (Some(open), Some((due, next))) = (&state.escalation, due(state, every, self.app.inbox.now())) else {
            return Ok(Some((loaded, false)));
        };
        self.wait_until(pull.number, next).await?;
        let Some((issue, come)) = open.issue.zip(due) else { return Ok(Some((loaded, false))) };
        let marker = Marker::new(&format!("phasegate:escalation-reminder:{}:{}:{come}", state.change.0, open.id))?;
        if self.repo.find_comment(issue, &marker, None).await?.is_none() {
            self.repo.create_comment(issue, &reminder(state, open, policy, owners, come), &marker).await?;
        }
        let reminded = [Happened::Reminded { of: open.id, number: come }];
        let decision = self.decide(pull, &loaded, world, &reminded).await?;
        Ok(self.record(loaded, decision).await?.map(|loaded| (loaded, false)))
    }

    /// Keeps when the change is to be looked at again, where that is news.
    async fn wait_until(&self, number: u64, next: Option<Timestamp>) -> Result<(), Halt> {
        if !self.app.remembers() {
            return Ok(());
        }
        let (inbox, key) = (&self.app.inbox, key(self.home, number));
        let due = next.map(|at| Due { repo: self.home.clone(), number, at });
        let wanted = due.map(|due| serde_json::to_vec(&due)).transpose()?.unwrap_or_default();
        let kept = inbox.cache_get(NAMESPACE, &key).await?.unwrap_or_default();
        if kept != wanted {
            inbox.cache_put(NAMESPACE, &key, &wanted).await?;
        }
        Ok(())
    }
}

/// Has the changes looked at whose time has come. However often that is asked, it is one look. Says how many.
pub(super) async fn look(door: &Door) -> anyhow::Result<usize> {
    let now = door.inbox.now();
    let mut looks = 0;
    for (key, value) in door.inbox.cache_all(NAMESPACE).await? {
        let Ok(due) = serde_json::from_slice::<Due>(&value) else { continue };
        if due.at > now {
            continue;
        }
        let guid = format!("remind/{}/{}", due.repo.id.0, due.at.as_second());
        let look = derived(&guid, &due.repo, due.number, Fact::Look { number: due.number });
        let Some(look) = look else { continue };
        match door.inbox.put(&look).await? {
            Put::New(_) => looks += 1,
            // It was looked at, and nothing came of it: the stop is over.
            Put::Duplicate => door.inbox.cache_put(NAMESPACE, &key, &[]).await?,
        }
    }
    Ok(looks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kit::Game;
    use crate::ids::Role;

    /// One by one, a whole time after each other, however late the first one comes; and three at most.
    #[test]
    fn reminders_come_one_by_one() {
        let mut game = Game::merge();
        game.says("ada", Role::Write, "/stop it leaks").asked_in(12);
        let mut state = game.now().clone();
        let every = SignedDuration::from_mins(10);
        let since = state.escalation.as_ref().unwrap().since;
        let after = |minutes: i64| since.checked_add(SignedDuration::from_mins(minutes)).unwrap();
        assert_eq!(due(&state, every, after(9)), Some((None, Some(after(10)))));
        // Nobody was there for an hour.
        assert_eq!(due(&state, every, after(60)), Some((Some(1), Some(after(70)))));
        let open = state.escalation.as_mut().unwrap();
        (open.reminded, open.reminded_at) = (1, Some(after(60)));
        assert_eq!(due(&state, every, after(61)), Some((None, Some(after(70)))));
        assert_eq!(due(&state, every, after(70)), Some((Some(2), Some(after(80)))));
        let open = state.escalation.as_mut().unwrap();
        (open.reminded, open.reminded_at) = (2, Some(after(70)));
        assert_eq!(due(&state, every, after(80)), Some((Some(3), None)));
        state.escalation.as_mut().unwrap().reminded = 3;
        assert_eq!(due(&state, every, after(900)), Some((None, None)));
        // What was recorded before the time was noted counts from the stop.
        let open = state.escalation.as_mut().unwrap();
        (open.reminded, open.reminded_at) = (1, None);
        assert_eq!(due(&state, every, after(20)), Some((Some(2), Some(after(30)))));
        state.escalation = None;
        assert_eq!(due(&state, every, after(900)), None);
    }
}
