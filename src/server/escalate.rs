//! The issues of escalations: opened, kept as they are to be, closed.
//!
//! An issue is opened between two appends: the one with the stop, and the one that names the issue. So what people are
//! shown afterwards links to it. Dying in between costs nothing: the next pass finds the issue by its marker.

use super::apart;
use super::pass::Pass;
use super::route::Halt;
use crate::engine::{Happened, merge_gate, phase_gate, task_gate};
use crate::fact::{Event, Fact};
use crate::gate::world::World;
use crate::github::calls::issues::{IssueChange, IssueState};
use crate::github::calls::pulls::Pull as Fetched;
use crate::ledger::{Loaded, State};
use crate::policy::{Approver, Policy};
use crate::repo::{Error as RepoError, OWNERS, Owners, Reader as _, RepoPath};
use crate::surface::Seen;
use crate::surface::escalation::{Notice, assignees, notice};
use crate::surface::issues::{self, Stands};

/// Whether somebody did something to this issue.
pub(super) fn touched(events: &[(String, Event)], issue: Option<u64>) -> bool {
    events.iter().any(|(_, event)| matches!(&event.fact, Fact::Issue { number, .. } if Some(*number) == issue))
}

impl Pass<'_> {
    /// What was done to the issue of the open escalation, and what it shows.
    pub(super) async fn on_the_issue(
        &self,
        state: &State,
        world: &World,
        events: &[(String, Event)],
    ) -> Result<Vec<Happened>, Halt> {
        let mut happened = Vec::new();
        let Some((open, issue)) = state.escalation.as_ref().and_then(|open| Some((open, open.issue?))) else {
            return Ok(happened);
        };
        let by = events.iter().find_map(|(guid, event)| match &event.fact {
            Fact::Issue { number, sender, .. } if *number == issue => Some((guid, sender)),
            _ => None,
        });
        let did = match by {
            _ if !self.app.remembers() => self.unseen_on_the_issue(open, state, world).await?,
            Some(_) => issues::meddled(open, state, &self.repo, &self.memory).await?.map(|did| (did, None)),
            None => None,
        };
        if let Some((did, who)) = did {
            let did = match did {
                "took the label off" => format!("took the label off the escalation issue #{issue}"),
                did => format!("{did} the escalation issue #{issue}"),
            };
            let who = by.map(|(_, sender)| sender.login.clone()).or(who).unwrap_or_else(|| "Somebody".to_owned());
            let what = format!("{who} {did}; it was put right.");
            happened.push(Happened::Tampered { what, told: by.map(|(told, _)| told.clone()) });
        }
        let said_there = |fact: &Fact| matches!(fact, Fact::Comment(comment) if comment.number == issue);
        if events.iter().any(|(_, event)| said_there(&event.fact))
            && let Some(shown) = issues::shown(open, state, &self.repo, &self.memory).await?
        {
            happened.push(Happened::Displayed { issue, shown });
        }
        Ok(happened)
    }

    /// The issue of the open escalation, as it is to be.
    pub(super) fn notice(&self, state: &State, world: &World, owners: &[Approver]) -> Option<Notice> {
        self.with_seen(state, world, owners, |seen| notice(state, seen))
    }

    /// What an issue is made of beside the records.
    pub(super) fn with_seen<T>(
        &self,
        state: &State,
        world: &World,
        owners: &[Approver],
        make: impl FnOnce(&Seen<'_>) -> T,
    ) -> T {
        let (merge, phase) = (merge_gate(state, world), phase_gate(state, world));
        let task = task_gate(state, world);
        let server = self.app.hub.endpoint().server().trim_end_matches('/').to_owned();
        let evidence = self.app.evidence_link(self.home, &self.branch, state.change);
        let seen = Seen {
            slug: &self.home.slug,
            server: &server,
            world,
            merge: &merge,
            phase: phase.as_ref(),
            task: task.as_ref(),
            no_issues: false,
            advisory: self.app.is_advisory(),
            evidence: &evidence,
            repo: self.home.id,
            owners,
        };
        make(&seen)
    }

    /// Opens, mends and closes issues. Answers the change as it is then, and whether the repository has no issues. None:
    /// another writer was faster.
    pub(super) async fn escalate(
        &self,
        pull: &Fetched,
        loaded: Loaded,
        world: &World,
        events: &[(String, Event)],
        before: u64,
    ) -> Result<Option<(Loaded, bool)>, Halt> {
        let Some(state) = &loaded.state else { return Ok(Some((loaded, false))) };
        let place = issues::Place { repo: &self.repo, memory: &self.memory, ledger: &self.ledger };
        issues::close(state, before, place).await?;
        if state.escalation.is_none() {
            return Ok(Some((loaded, false)));
        }
        let owners = self.code_owners(world).await?;
        let (Some(open), Some(notice)) = (&state.escalation, self.notice(state, world, &owners)) else {
            return Ok(Some((loaded, false)));
        };
        let (fresh, changed) = (open.id > before, touched(events, open.issue));
        let known = issues::Known { fresh, changed, alone: self.app.remembers() };
        let issue = match issues::open(state, open, &notice, known, place).await? {
            Stands::Recorded => return apart(|| self.remind(pull, loaded, world, &owners)).await,
            Stands::Disabled => return Ok(Some((loaded, true))),
            Stands::New(issue) => issue,
        };
        self.assign(issue, &owners).await?;
        let opened = [Happened::Escalated { id: open.id, issue }];
        let decision = self.decide(pull, &loaded, world, &opened).await?;
        match self.record(loaded, decision).await? {
            Some(loaded) => apart(|| self.remind(pull, loaded, world, &owners)).await,
            None => Ok(None),
        }
    }

    /// The code owners of what the change touches, by the default branch, where the policy asks for them.
    pub(super) async fn code_owners(&self, world: &World) -> Result<Vec<Approver>, Halt> {
        let wanted = self.policy().is_some_and(|policy| policy.escalation.code_owners);
        let Some(subject) = world.subject.as_ref().filter(|_| wanted) else { return Ok(Vec::new()) };
        let tip = self.tip.clone();
        let found = self.mirror.read(move |reader| {
            for path in OWNERS {
                match reader.blob(&tip, &RepoPath::from(path)) {
                    Ok(Some(blob)) => return Ok(Some(blob.bytes)),
                    // What is no plain file, or too large, names nobody.
                    Ok(None) | Err(RepoError::TooLarge { .. } | RepoError::NotAFile(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(None)
        });
        let Some(bytes) = found.await? else { return Ok(Vec::new()) };
        let paths: Vec<RepoPath> = subject.changed.iter().filter_map(|path| RepoPath::parse(path).ok()).collect();
        let owners = Owners::parse(&String::from_utf8_lossy(&bytes)).of(&paths);
        Ok(owners.iter().filter_map(|owner| Approver::new(owner)).collect())
    }

    /// Assigns the issue, once: between its opening and the record that names it. Who takes themselves off stays off.
    pub(super) async fn assign(&self, issue: u64, owners: &[Approver]) -> Result<(), Halt> {
        let fallback = Policy::default();
        let people = assignees(self.policy().unwrap_or(&fallback), owners);
        if people.is_empty() {
            return Ok(());
        }
        match self.repo.add_assignees(issue, &people).await {
            Ok(_) => Ok(()),
            // They are mentioned all the same.
            Err(error) if error.is_for_a_person() => {
                tracing::warn!(issue, %error, "nobody can be assigned");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Closes the pull request of a change that somebody gave up.
    pub(super) async fn close_given_up(&self, pull: &Fetched, state: &State) -> Result<(), Halt> {
        if state.given_up.is_some() && state.open && pull.is_open() {
            let closed = IssueChange { state: Some(IssueState::NotPlanned), ..IssueChange::default() };
            self.repo.update_issue(pull.number, &closed).await?;
            tracing::info!(change = pull.number, "a change was given up; it is closed");
        }
        Ok(())
    }
}
