//! Who had a hand in a change, since when the ground under it is as it is, and whose an issue is: what the look at a change
//! asks GitHub for only when it matters.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::kin::landed;
use super::pass::{LAG_TRIES, Pass};
use super::route::Halt;
use crate::engine::Target;
use crate::fact::{Event, Fact, PullEvent};
use crate::gate::evidence::AFTERMATH;
use crate::gate::world::{Sibling, Subject, Untold, World};
use crate::github::calls::activity::Activity;
use crate::github::calls::pulls::Pull as Fetched;
use crate::github::{Error, Repo};
use crate::ids::{ChangeNumber, CommitId, Person};
use crate::ledger::State;
use crate::ledger::origin;
use crate::repo::{Ground, Landed, merged_in};

/// A move of the branch.
#[derive(Clone)]
struct Move {
    before: String,
    after: String,
    by: Person,
    /// As GitHub's list calls it; what a delivery tells is a push, until the list says otherwise.
    kind: String,
    /// When; only the list tells.
    at: Option<Timestamp>,
}

/// The head of another change that was merged into the branch.
#[derive(Clone)]
struct Part {
    head: CommitId,
    /// Those who have a hand in it.
    people: BTreeSet<u64>,
}

impl Pass<'_> {
    /// Those who have a hand in the change by moving its branch. Deliveries tell of each push while it is open. GitHub's
    /// list tells of pushes that nobody told of (before it was opened, while it was closed, in a delivery that never
    /// came), and what a push was: another pull request that was merged into the branch brings its own people, and
    /// bringing the branch up to date is not writing it. Where neither tells, it was somebody unknown.
    pub(super) async fn pushers(
        &self,
        pull: &Fetched,
        state: Option<&State>,
        world: &World,
        events: &[(String, Event)],
    ) -> Result<Vec<Person>, Halt> {
        let told: Vec<Move> = events.iter().filter_map(|(_, event)| told_move(&event.fact)).collect();
        let known = |person: &Person| state.is_some_and(|state| state.operators.iter().any(|one| one.id == person.id));
        let Some(subject) = world.subject.as_ref().filter(|_| pull.is_open()) else {
            return Ok(told.into_iter().map(|one| one.by).collect());
        };
        let is_reopening = |fact: &Fact| matches!(fact, Fact::Pull { what: PullEvent::Reopened, .. });
        let last = state.and_then(|state| state.subject.as_ref());
        let unheard = last.is_none_or(|last| !told_of_all(&last.head, &pull.head.sha, events));
        // What brought the branch up to date with one base may be work for another, or for one that was set back.
        let retargeted = last.is_some_and(|last| {
            let about = &subject.about;
            last.base_ref != about.base_ref || last.head == about.head && last.base != about.base
        });
        let reopened =
            state.is_some_and(|state| !state.open) || events.iter().any(|(_, event)| is_reopening(&event.fact));
        let mut people: Vec<Person> = told.iter().filter(|one| known(&one.by)).map(|one| one.by.clone()).collect();
        if told.is_empty() && !unheard && !reopened && !retargeted {
            return Ok(people);
        }
        let source = pull.head.repo.as_ref().filter(|_| pull.is_from_fork()).map(|fork| fork.full_name.parse());
        let repo = match source {
            Some(Ok(slug)) => self.app.hub.repo(self.home.installation, slug),
            _ => self.repo.clone(),
        };
        let listed = match &pull.head.repo {
            Some(_) => repo.branch_activity(&pull.head.r#ref).await?.unwrap_or_default(),
            // A fork that is gone tells nothing any more.
            None => Vec::new(),
        };
        let here = |one: &Activity| one.after == pull.head.sha.as_str();
        if !listed.is_empty() && !listed.iter().any(here) && self.attempt < LAG_TRIES {
            return Err(Halt::Again(anyhow::anyhow!("GitHub does not yet list who pushed {}", pull.head.sha.short())));
        }
        let mut moves: Vec<Move> = told;
        if !listed.iter().any(here) && !is_told(last.map(|last| &last.head), &pull.head.sha, events) {
            moves.push(untold_move(last.map_or(&subject.about.base, |last| &last.head), &pull.head.sha));
        }
        moves.retain(|one| !listed.iter().any(|other| other.before == one.before && other.after == one.after));
        moves.extend(since(listed, &subject.about.base));
        moves.retain(|one| !known(&one.by) || is_merge(one));
        // Whose change it is has a hand in it whatever they pushed.
        let (authors, moves): (Vec<Move>, Vec<Move>) =
            moves.into_iter().partition(|one| one.by.id == pull.user.id && !is_merge(one));
        people.extend(authors.into_iter().map(|one| one.by));
        let work = self.work(pull, moves, subject).await?;
        let work = self.unmerged(work, pull, subject).await?;
        let (merges, pushes): (Vec<Move>, Vec<Move>) = work.into_iter().partition(is_merge);
        if !merges.is_empty() {
            people.extend(self.hands_in_parts(&repo, pull, &merges).await?.into_iter().filter(|one| !known(one)));
        }
        people.extend(pushes.into_iter().map(|one| one.by));
        let mut seen = BTreeSet::new();
        people.retain(|person| seen.insert(person.id));
        Ok(people)
    }

    /// The moves that did more than bring the branch up to date. What is not at hand is fetched: a head that was pushed over
    /// before anybody looked, or history that goes further back than this change needed. What can't be had was not seen to
    /// be harmless.
    async fn work(&self, pull: &Fetched, moves: Vec<Move>, subject: &Subject) -> Result<Vec<Move>, Halt> {
        let mut tips = vec![subject.base_tip.clone()];
        if subject.base_tip != self.tip {
            tips.push(self.tip.clone());
        }
        let (mut work, unsure) = self.judged(moves, &tips, &[]).await?;
        let (more, unsure): (Vec<Move>, Vec<Move>) =
            unsure.into_iter().partition(|one| work.iter().any(|other| other.by.id == one.by.id));
        work.extend(more);
        if !unsure.is_empty() {
            let sides: BTreeSet<CommitId> =
                unsure.iter().flat_map(|one| [&one.before, &one.after]).filter_map(|id| commit(id)).collect();
            self.fetch_beside(&sides, &tips).await?;
            let (more, unknown) = self.judged(unsure, &tips, &[]).await?;
            work.extend(more.into_iter().chain(unknown));
        }
        let parts = self.parts(pull, &work, subject).await?;
        if !parts.is_empty() {
            let (more, unknown) = self.judged(work, &tips, &parts).await?;
            work = more.into_iter().chain(unknown).collect();
        }
        Ok(work)
    }

    /// The moves that did more than take in their ground, and those of which it is not known.
    async fn judged(
        &self,
        moves: Vec<Move>,
        tips: &[CommitId],
        parts: &[Part],
    ) -> Result<(Vec<Move>, Vec<Move>), Halt> {
        let (tips, parts) = (tips.to_vec(), parts.to_vec());
        let judged = self.mirror.read(move |reader| {
            let (mut work, mut unsure) = (Vec::new(), Vec::new());
            for one in moves.iter().cloned() {
                let others = parts.iter().filter(|part| !part.people.contains(&one.by.id));
                let parts = others.map(|part| part.head.clone()).collect();
                let ground = Ground { tips: tips.clone(), parts };
                let after = commit(&one.after);
                match after.map(|after| ground.is_all_of(reader, commit(&one.before).as_ref(), &after)) {
                    Some(Ok(true)) => {}
                    Some(Ok(false)) | None => work.push(one),
                    Some(Err(_)) => unsure.push(one),
                }
            }
            Ok((work, unsure))
        });
        Ok(judged.await?)
    }

    /// Other changes that these pushes merged in: the lower of a stack. Who worked on one comes with its commits (decision
    /// 110), so whoever else brought them here has written nothing.
    async fn parts(&self, pull: &Fetched, pushes: &[Move], subject: &Subject) -> Result<Vec<Part>, Halt> {
        let sides = pushes.iter().filter(|one| !is_merge(one)).map(|one| (commit(&one.before), commit(&one.after)));
        let sides: Vec<_> = sides.filter_map(|(before, after)| Some((before?, after?))).collect();
        if sides.is_empty() {
            return Ok(Vec::new());
        }
        let merged = self.mirror.read(move |reader| {
            Ok(sides.iter().flat_map(|(from, to)| merged_in(reader, from, to).unwrap_or_default()).collect())
        });
        let merged: BTreeSet<CommitId> = merged.await?;
        let mut parts = Vec::new();
        for head in merged.into_iter().take(MOST_PARTS) {
            for other in self.ledger.sharing(ChangeNumber(pull.number), &[origin::head_key(&head)]).await? {
                let state = self.ledger.load(other).await.ok().and_then(|loaded| loaded.state);
                let Some(state) = state.filter(|state| state.heads.contains_key(&head)) else { continue };
                // What was merged green was reviewed.
                let reviewed = match landed(&state, subject, &pull.base.r#ref).filter(|_| state.merged_green()) {
                    Some(landed) => self.is_spent(vec![head.clone()], &subject.about.head, &landed).await?,
                    None => false,
                };
                let people =
                    if reviewed { BTreeSet::new() } else { state.operators.iter().map(|one| one.id).collect() };
                parts.push(Part { head: head.clone(), people });
            }
        }
        Ok(parts)
    }

    /// The moves that this change is made of. What was on the branch before an earlier change of it was merged green into the
    /// same base belongs to that one, while nothing of either is only here.
    async fn unmerged(&self, moves: Vec<Move>, pull: &Fetched, subject: &Subject) -> Result<Vec<Move>, Halt> {
        let Some(owner) = owner(pull).filter(|_| !moves.is_empty()) else { return Ok(moves) };
        let all = self.repo.pulls_from(&format!("{owner}:{}", pull.head.r#ref)).await?;
        let is_other = |one: &&Fetched| one.number != pull.number && one.base.r#ref == pull.base.r#ref;
        let mut before: Vec<(Timestamp, u64)> =
            all.iter().filter(is_other).filter_map(|one| Some((one.merged_at?, one.number))).collect();
        before.sort_unstable();
        let (head, landed) = (&subject.about.head, Landed::in_base(&subject.base_tip));
        let mut left = Vec::new();
        let mut released: BTreeMap<u64, bool> = BTreeMap::new();
        for one in moves {
            let part_of = one.at.and_then(|at| before.iter().find(|(merged, _)| at < *merged));
            let (Some((_, number)), Some(after)) = (part_of, commit(&one.after)) else {
                left.push(one);
                continue;
            };
            let is_released = match released.get(number) {
                Some(known) => *known,
                None => {
                    let state = self.ledger.load(ChangeNumber(*number)).await.ok().and_then(|loaded| loaded.state);
                    let about = state.filter(State::merged_green).and_then(|state| state.subject);
                    let known = match about {
                        Some(about) => self.is_spent(vec![about.head], head, &landed).await?,
                        None => false,
                    };
                    released.insert(*number, known);
                    known
                }
            };
            if !is_released || !self.is_spent(vec![after], head, &landed).await? {
                left.push(one);
            }
        }
        Ok(left)
    }

    /// Who wrote what came in by merging other pull requests into the branch. Nobody, where such a one was green: it was
    /// proved and reviewed as it is. Of one that was looked at, those who worked on it; of one that was not, whoever
    /// merged their own, which is a push by another name.
    async fn hands_in_parts(&self, repo: &Repo, pull: &Fetched, moves: &[Move]) -> Result<Vec<Person>, Halt> {
        let parts = repo.merged_into(&pull.head.r#ref).await?;
        let mut people = Vec::new();
        for one in moves {
            let is_it = |part: &&Fetched| part.merge_commit_sha.as_ref().is_some_and(|sha| sha.as_str() == one.after);
            let Some(part) = parts.iter().find(is_it) else {
                people.extend((one.kind == "pr_merge").then(|| one.by.clone()));
                continue;
            };
            let state = match pull.is_from_fork() {
                true => None,
                false => self.ledger.load(ChangeNumber(part.number)).await.ok().and_then(|loaded| loaded.state),
            };
            match state {
                Some(state) if state.merged_green() => {}
                Some(state) => people.extend(state.operators),
                None => people.extend((part.user.id == one.by.id).then(|| one.by.clone())),
            }
        }
        Ok(people)
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
            || world.checks.iter().any(|run| !world.is_ours(run) && !state.ran_for.contains_key(&run.id));
        if !moved || !new || now.base_ref != self.home.default_branch {
            return Ok(None);
        }
        let last = self.repo.last_activity(&now.base_ref).await?;
        Ok(last.filter(|last| last.after == self.tip.as_str()).map(|last| last.timestamp))
    }

    /// Adds since when the pull request goes into its present base. It is asked for where it is not known, and where
    /// somebody may have changed it; there and back again leaves no other trace.
    pub(super) async fn based_since(
        &self,
        pull: &Fetched,
        state: Option<&State>,
        world: &mut World,
        events: &[(String, Event)],
    ) -> Result<(), Halt> {
        let edited = events.iter().any(|(_, event)| matches!(&event.fact, Fact::Pull { what: PullEvent::Edited, .. }));
        let known = state.filter(|state| state.based_since.is_some()).and_then(|state| state.subject.as_ref());
        if !pull.is_open() || (known.is_some_and(|about| about.base_ref == pull.base.r#ref) && !edited) {
            return Ok(());
        }
        self.ask_base(pull, world).await
    }

    /// The same, asked for in any case.
    pub(super) async fn ask_base(&self, pull: &Fetched, world: &mut World) -> Result<(), Halt> {
        let Some(changes) = self.repo.base_changes(pull.number).await? else {
            world.untold.insert(Untold::PullEvents);
            return Ok(());
        };
        // A run of the very second in which it was opened is its own, or a sibling's, and those are asked about.
        let opened = pull.created_at.map(|at| at - SignedDuration::from_secs(1));
        world.based_since = changes.into_iter().chain(opened).max();
        Ok(())
    }

    /// Other pull requests of the same branch, open or not: a run for one of them lands on the same head.
    pub(super) async fn siblings(&self, pull: &Fetched, world: &World) -> Result<Vec<Sibling>, Halt> {
        let Some(owner) = owner(pull) else { return Ok(Vec::new()) };
        let mut siblings = Vec::new();
        for other in self.repo.pulls_from(&format!("{owner}:{}", pull.head.r#ref)).await? {
            let Some(opened) = other.created_at.filter(|_| other.number != pull.number) else { continue };
            let quiet_since = other.updated_at.filter(|_| other.closed_at.is_some());
            // No run of this one can be that one's any more, and a long-lived branch has many of those.
            if quiet_since.zip(pull.created_at).is_some_and(|(quiet, mine)| quiet + AFTERMATH < mine) {
                continue;
            }
            let base_ref = other.base.r#ref;
            let covered = world.policy().is_some_and(|policy| policy.may_merge_into(&base_ref, &world.default_branch))
                && (base_ref == world.default_branch || self.repo.is_protected(&base_ref).await?)
                && self.repo.base_changes(other.number).await?.is_some_and(|changes| changes.is_empty());
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

/// Whether it was told how the head came to be where it is. Whoever opens a pull request answers for what is there then.
fn is_told(last: Option<&CommitId>, here: &CommitId, events: &[(String, Event)]) -> bool {
    let opened = |fact: &Fact| match fact {
        Fact::Pull { what: PullEvent::Opened, head, .. } => told_of_all(head, here, events),
        _ => false,
    };
    match last {
        Some(last) => told_of_all(last, here, events),
        None => events.iter().any(|(_, event)| opened(&event.fact)),
    }
}

/// A move, or several, of which nobody told.
fn untold_move(before: &CommitId, after: &CommitId) -> Move {
    let (before, after) = (before.to_string(), after.to_string());
    Move { before, after, by: Person::unknown(), kind: "push".to_owned(), at: None }
}

/// Of so many commits that were merged in it is asked whether they are other changes, and so many of those are read.
const MOST_PARTS: usize = 10;

/// Whose repository the branch is in.
fn owner(pull: &Fetched) -> Option<&str> {
    pull.head.repo.as_ref().and_then(|repo| repo.full_name.split_once('/')).map(|(owner, _)| owner)
}

/// A commit by its id. Where a branch was made or deleted, one side is all zeros, and none.
fn commit(id: &str) -> Option<CommitId> {
    CommitId::new(id).ok().filter(|id| id.as_str().bytes().any(|b| b != b'0'))
}

/// Whether the other side has no such commit (any more), or none that can be held against the base.
pub(super) fn is_gone(error: &crate::repo::Error) -> bool {
    match error {
        crate::repo::Error::Missing(_) | crate::repo::Error::Crosswise => true,
        crate::repo::Error::Fetch(said) => said.contains("not our ref"),
        _ => false,
    }
}

fn told_move(fact: &Fact) -> Option<Move> {
    match fact {
        Fact::Pull { what: PullEvent::Synchronize, before, head, sender, .. } => Some(Move {
            before: before.as_ref().map(ToString::to_string).unwrap_or_default(),
            after: head.to_string(),
            by: sender.clone(),
            kind: "push".to_owned(),
            at: None,
        }),
        _ => None,
    }
}

/// Another pull request was merged into the branch.
fn is_merge(one: &Move) -> bool {
    matches!(one.kind.as_str(), "pr_merge" | "merge_queue_merge")
}

/// The moves that the change is made of: all since the branch was made, or since it was where the base is now. (A
/// long-lived branch was there when the work before this was merged. Only a plain push counts as that: a force-push back
/// to the base, and then forward again, hides nobody.)
fn since(listed: Vec<Activity>, base: &CommitId) -> Vec<Move> {
    let begins = |one: &Activity| {
        one.activity_type == "branch_deletion" || (one.after == base.as_str() && one.activity_type != "force_push")
    };
    let moves = listed.into_iter().take_while(|one| !begins(one));
    let told = |one: Activity| Move {
        before: one.before,
        after: one.after,
        by: one.actor,
        kind: one.activity_type,
        at: Some(one.timestamp),
    };
    moves.map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_pushes_a_change_is_made_of() {
        let base = CommitId::new("a".repeat(40)).unwrap();
        let moved = |by: u64, kind: &str, after: &str| Activity {
            before: "9".repeat(40),
            after: after.repeat(40),
            activity_type: kind.to_owned(),
            actor: Person { id: by, login: format!("p{by}"), bot: false },
            timestamp: jiff::Timestamp::UNIX_EPOCH,
        };
        let ids = |moves: Vec<Activity>| since(moves, &base).iter().map(|one| one.by.id).collect::<Vec<_>>();
        assert_eq!(ids(vec![moved(1, "push", "c"), moved(2, "branch_creation", "b")]), [1, 2]);
        assert_eq!(ids(vec![moved(1, "push", "c"), moved(2, "branch_creation", "a")]), [1], "it was made at the base");
        assert_eq!(ids(vec![moved(1, "push", "c"), moved(2, "push", "a"), moved(3, "push", "9")]), [1]);
        let reset = vec![moved(1, "push", "c"), moved(1, "force_push", "a"), moved(3, "push", "9")];
        assert_eq!(ids(reset), [1, 1, 3], "a reset to the base hides nobody");
        assert_eq!(ids(vec![moved(1, "branch_creation", "c"), moved(2, "branch_deletion", "0")]), [1]);
    }
}
