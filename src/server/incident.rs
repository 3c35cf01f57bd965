//! The issues of incidents: opened once, and noted when somebody has closed them.
//!
//! As that of an escalation, an issue is opened between two appends: the one with the incident, and the one that names the
//! issue. Dying in between costs nothing: the next pass finds the issue by its marker.

use super::escalate::touched;
use super::observe;
use super::pass::Pass;
use super::route::Halt;
use crate::engine::Happened;
use crate::fact::{Event, Fact};
use crate::gate::world::World;
use crate::github::calls::pulls::Pull as Fetched;
use crate::ids::Person;
use crate::ledger::incident::Incident;
use crate::ledger::{By, Loaded, State};
use crate::surface::incident::notice;
use crate::surface::issues::{self, Told};

impl Pass<'_> {
    /// Sees to the issues of the incidents that nobody has taken note of. None: another writer was faster.
    pub(super) async fn tell_incidents(
        &self,
        pull: &Fetched,
        loaded: Loaded,
        world: &World,
        events: &[(String, Event)],
        before: u64,
    ) -> Result<Option<Loaded>, Halt> {
        let Some(state) = loaded.state.as_ref().filter(|_| !self.observes()) else { return Ok(Some(loaded)) };
        let mut happened = Vec::new();
        for one in state.incidents.iter().filter(|one| one.noted.is_none()) {
            happened.extend(self.tell_incident(state, one, world, events, before).await?);
        }
        if happened.is_empty() {
            return Ok(Some(loaded));
        }
        let decision = self.decide(pull, &loaded, world, &happened).await?;
        self.record(loaded, decision).await
    }

    async fn tell_incident(
        &self,
        state: &State,
        one: &Incident,
        world: &World,
        events: &[(String, Event)],
        before: u64,
    ) -> Result<Option<Happened>, Halt> {
        let Some(notice) = self.with_seen(state, world, &[], |seen| notice(state, one, seen)) else { return Ok(None) };
        let (fresh, changed) = (one.id > before, touched(events, one.issue));
        let known = issues::Known { fresh, changed, alone: self.app.remembers() };
        let place = issues::Place { repo: &self.repo, memory: &self.memory, ledger: &self.ledger };
        Ok(match issues::tell(state, one, &notice, known, place).await? {
            Told::Open | Told::Disabled => None,
            Told::New(issue) => {
                self.assign(issue, &[]).await?;
                tracing::warn!(change = state.change.0, issue, "the gate was gone around; an incident was opened");
                Some(Happened::IncidentShown { of: one.id, issue })
            }
            Told::Closed(who) => {
                let by = self.closed_by(one, events, who).await?;
                Some(Happened::IncidentNoted { of: one.id, by })
            }
        })
    }

    /// Who closed an incident's issue, as it was told or as GitHub has it. Where neither is known, nobody is named.
    async fn closed_by(&self, one: &Incident, events: &[(String, Event)], known: Option<Person>) -> Result<By, Halt> {
        let sender = events.iter().rev().find_map(|(_, event)| match &event.fact {
            Fact::Issue { number, action, sender } if Some(*number) == one.issue && action == "closed" => Some(sender),
            _ => None,
        });
        let Some(person) = sender.cloned().or(known).filter(|person| !person.bot) else { return Ok(By::Bot) };
        let role = observe::standing(&self.repo, self.policy(), &person).await?.role.as_str().to_owned();
        Ok(By::Person { person, role })
    }
}
