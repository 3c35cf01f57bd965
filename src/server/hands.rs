//! Who had a hand in a change, since when the ground under it is as it is, and whose an issue is: what the look at a change
//! asks GitHub for only when it matters.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::pass::{LAG_TRIES, Pass};
use super::route::Halt;
use crate::engine::Target;
use crate::fact::{Event, Fact, PullEvent};
use crate::gate::world::{Sibling, World};
use crate::github::Error;
use crate::github::calls::activity::Activity;
use crate::github::calls::pulls::Pull as Fetched;
use crate::ids::{CommitId, Person};
use crate::ledger::State;

impl Pass<'_> {
    /// Those who pushed without our being told: before it was opened, while it was closed, or in a delivery that never
    /// came.
    pub(super) async fn pushers(
        &self,
        pull: &Fetched,
        state: Option<&State>,
        world: &World,
        events: &[(String, Event)],
    ) -> Result<Vec<Person>, Halt> {
        let told = |wanted: PullEvent| {
            events.iter().any(|(_, event)| matches!(&event.fact, Fact::Pull { what, .. } if *what == wanted))
        };
        let last = state.and_then(|state| state.subject.as_ref()).map(|about| &about.head);
        let unheard = last.is_none_or(|last| !told_of_all(last, &pull.head.sha, events));
        let reopened = state.is_some_and(|state| !state.open) || told(PullEvent::Reopened);
        let (Some(subject), Some(source)) = (&world.subject, &pull.head.repo) else { return Ok(Vec::new()) };
        if !pull.is_open() || !(unheard || reopened) {
            return Ok(Vec::new());
        }
        let repo = match source.full_name.parse() {
            Ok(slug) if pull.is_from_fork() => self.app.hub.repo(self.home.installation, slug),
            _ => self.repo.clone(),
        };
        let moves = repo.branch_activity(&pull.head.r#ref).await?.unwrap_or_default();
        let listed = |one: &Activity| one.after == pull.head.sha.as_str();
        if !moves.is_empty() && !moves.iter().any(listed) && self.attempt < LAG_TRIES {
            return Err(Halt::Again(anyhow::anyhow!("GitHub does not yet list who pushed {}", pull.head.sha.short())));
        }
        Ok(pushers(moves, &subject.about.base, state))
    }

    /// Since when the default branch, which is base and law, is where it is. It matters only where the content changed
    /// under the same head and target, and there is something that may have come before or after.
    pub(super) async fn settled(&self, world: &World, state: Option<&State>) -> Result<Option<Timestamp>, Halt> {
        let (Some(state), Some(now)) = (state, world.subject.as_ref().map(|subject| &subject.about)) else {
            return Ok(None);
        };
        let moved = state
            .subject
            .as_ref()
            .is_some_and(|old| old.head == now.head && old.base_ref == now.base_ref && old.content != now.content);
        let new = world.reviews.iter().any(|review| !state.reviewed.contains_key(&review.id))
            || world.checks.iter().any(|run| run.app != self.app.id && !state.ran_for.contains_key(&run.id));
        if !moved || !new || now.base_ref != self.home.default_branch {
            return Ok(None);
        }
        let last = self.repo.last_activity(&now.base_ref).await?;
        Ok(last.filter(|last| last.after == self.tip.as_str()).map(|last| last.timestamp))
    }

    /// Since when the pull request goes into its present base. It is asked for where it is not known, and where somebody
    /// may have changed it; there and back again leaves no other trace.
    pub(super) async fn based_since(
        &self,
        pull: &Fetched,
        state: Option<&State>,
        events: &[(String, Event)],
    ) -> Result<Option<Timestamp>, Halt> {
        let edited = events.iter().any(|(_, event)| matches!(&event.fact, Fact::Pull { what: PullEvent::Edited, .. }));
        let known = state.filter(|state| state.based_since.is_some()).and_then(|state| state.subject.as_ref());
        if !pull.is_open() || (known.is_some_and(|about| about.base_ref == pull.base.r#ref) && !edited) {
            return Ok(None);
        }
        self.asked_base(pull).await
    }

    /// The same, asked for in any case.
    pub(super) async fn asked_base(&self, pull: &Fetched) -> Result<Option<Timestamp>, Halt> {
        // A run of the very second in which it was opened is its own, or a sibling's, and those are asked about.
        let opened = pull.created_at.map(|at| at - SignedDuration::from_secs(1));
        Ok(self.repo.base_changes(pull.number).await?.into_iter().chain(opened).max())
    }

    /// Other pull requests of the same branch, open or not: a run for one of them lands on the same head.
    pub(super) async fn siblings(&self, pull: &Fetched, world: &World) -> Result<Vec<Sibling>, Halt> {
        let owner = pull.head.repo.as_ref().and_then(|repo| repo.full_name.split_once('/')).map(|(owner, _)| owner);
        let Some(owner) = owner else { return Ok(Vec::new()) };
        let mut siblings = Vec::new();
        for other in self.repo.pulls_from(&format!("{owner}:{}", pull.head.r#ref)).await? {
            let Some(opened) = other.created_at.filter(|_| other.number != pull.number) else { continue };
            let base_ref = other.base.r#ref;
            let covered = world.policy().is_some_and(|policy| policy.may_merge_into(&base_ref, &world.default_branch))
                && (base_ref == world.default_branch || self.repo.is_protected(&base_ref).await?)
                && self.repo.base_changes(other.number).await?.is_empty();
            let quiet_since = other.updated_at.filter(|_| other.closed_at.is_some());
            siblings.push(Sibling { number: other.number, base_ref, covered, opened, quiet_since });
        }
        Ok(siblings)
    }

    /// What stands behind a number that is to be linked.
    pub(super) async fn target(&self, number: u64) -> Result<Target, Halt> {
        match self.repo.get_issue(number).await {
            // One that was moved to another repository answers from there.
            Ok(issue) if issue.number != number => Ok(Target::Nothing),
            Ok(issue) if issue.is_pull() => Ok(Target::Pull),
            Ok(_) => Ok(Target::Issue { of: self.ledger.linked_to(number).await? }),
            Err(Error::NotFound { .. }) => Ok(Target::Nothing),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether every push between two heads was told, one following the other: a delivery may be lost under a newer one.
fn told_of_all(from: &CommitId, to: &CommitId, events: &[(String, Event)]) -> bool {
    let pushes: Vec<(&CommitId, &CommitId)> = events
        .iter()
        .filter_map(|(_, event)| match &event.fact {
            Fact::Pull { what: PullEvent::Synchronize, before: Some(before), head, .. } => Some((before, head)),
            _ => None,
        })
        .collect();
    let mut at = from;
    for _ in 0..=pushes.len() {
        if at == to {
            return true;
        }
        let Some((_, next)) = pushes.iter().find(|(before, _)| *before == at) else { return false };
        at = next;
    }
    false
}

/// Whose pushes the change is made of, beside its known operators: all since the branch was made, or since it was where
/// the base is now. (A long-lived branch was there when the work before this was merged. Only a plain push counts as
/// that: a force-push back to the base, and then forward again, hides nobody.)
fn pushers(moves: Vec<Activity>, base: &CommitId, state: Option<&State>) -> Vec<Person> {
    let mut people: BTreeMap<u64, Person> = BTreeMap::new();
    for one in moves {
        if one.activity_type == "branch_deletion" {
            break;
        }
        if one.after == base.as_str() && one.activity_type != "force_push" {
            break;
        }
        // Who merged another pull request into the branch wrote nothing of it. Who did is known from that one.
        if matches!(one.activity_type.as_str(), "pr_merge" | "merge_queue_merge") {
            continue;
        }
        let operator = state.is_some_and(|state| state.operators.iter().any(|known| known.id == one.actor.id));
        if !operator {
            people.insert(one.actor.id, one.actor);
        }
    }
    people.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_pushes_a_change_is_made_of() {
        let base = CommitId::new("a".repeat(40)).unwrap();
        let moved = |by: u64, kind: &str, after: &str| Activity {
            after: after.repeat(40),
            activity_type: kind.to_owned(),
            actor: Person { id: by, login: format!("p{by}"), bot: false },
            timestamp: jiff::Timestamp::UNIX_EPOCH,
        };
        let ids = |moves: Vec<Activity>| pushers(moves, &base, None).iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(ids(vec![moved(1, "push", "c"), moved(2, "branch_creation", "b")]), [1, 2]);
        assert_eq!(ids(vec![moved(1, "push", "c"), moved(2, "branch_creation", "a")]), [1], "it was made at the base");
        assert_eq!(ids(vec![moved(1, "pr_merge", "c"), moved(2, "push", "b")]), [2], "who merges writes nothing");
        assert_eq!(ids(vec![moved(1, "push", "c"), moved(2, "push", "a"), moved(3, "push", "9")]), [1]);
        let reset = vec![moved(1, "push", "c"), moved(1, "force_push", "a"), moved(3, "push", "9")];
        assert_eq!(ids(reset), [1, 3], "a reset to the base hides nobody");
        assert_eq!(ids(vec![moved(1, "branch_creation", "c"), moved(2, "branch_deletion", "0")]), [1]);
    }
}
