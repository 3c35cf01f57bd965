//! What a pass lets people see: the state it led to, or why nothing can be said.

use std::collections::BTreeSet;

use super::kin::Moved;
use super::pass::{Pass, Raced};
use super::route::Halt;
use super::{Standing, Told, Word, ledger_branch, observe};
use crate::engine::{command, merge_gate, phase_gate, task_gate};
use crate::fact::{Button, Event, Fact};
use crate::gate::Finding;
use crate::gate::people::May;
use crate::gate::world::{Law, World};
use crate::github::calls::checks::CheckRun as Listed;
use crate::github::calls::pulls::Pull as Fetched;
use crate::ids::ChangeNumber;
use crate::ledger::{Break, State};
use crate::policy::Policy;
use crate::surface::broken::Broken;
use crate::surface::{self, Seen, closed, sync};

fn is_comment(fact: &Fact, id: u64) -> bool {
    matches!(fact, Fact::Comment(comment) if comment.id == id)
}

impl Pass<'_> {
    pub(super) async fn show(
        &self,
        pull: &Fetched,
        listed: &[Listed],
        state: &State,
        world: &World,
        events: &[(String, Event)],
        (unheard, no_issues): (&BTreeSet<u64>, bool),
    ) -> Result<(), Halt> {
        let (merge, phase) = (merge_gate(state, world), phase_gate(state, world));
        let task = task_gate(state, world);
        let server = self.app.hub.endpoint().server().trim_end_matches('/').to_owned();
        let phase = phase.as_ref();
        let advisory = self.app.is_advisory();
        let evidence = self.app.evidence_link(self.home, &self.branch, state.change);
        let (slug, repo, merge) = (&self.home.slug, self.home.id, &merge);
        let seen = Seen {
            slug,
            server: &server,
            world,
            merge,
            phase,
            task: task.as_ref(),
            no_issues,
            advisory,
            evidence: &evidence,
            repo,
            owners: &[],
        };
        let mut surface = surface::project(state, &seen);
        surface.reactions.retain(|(comment, _)| !unheard.contains(comment));
        surface.reactions.extend(unheard.iter().map(|comment| (*comment, false)));
        if !self.app.remembers() {
            // What was said earlier has its reaction from the run that heard it.
            let now = |comment: u64| events.iter().any(|(_, event)| is_comment(&event.fact, comment));
            surface.reactions.retain(|(comment, _)| now(*comment));
        }
        let again: Vec<u64> = events
            .iter()
            .filter_map(|(_, event)| match &event.fact {
                Fact::Button { button: Button::Rerequested, run, .. } => Some(*run),
                _ => None,
            })
            .collect();
        let ours_changed = |fact: &Fact| match fact {
            Fact::CommentChanged { author, .. } => author.login == self.app.login,
            _ => false,
        };
        let present = sync::Present {
            repo: &self.repo,
            memory: &self.memory,
            app: self.app.id,
            pull: pull.number,
            labels: &pull.labels,
            head: &pull.head.sha,
            runs: listed,
            comment_changed: events.iter().any(|(_, event)| ours_changed(&event.fact)),
            again: &again,
            alone: self.app.remembers(),
        };
        sync::sync(state, &surface, &present).await?;
        self.tell(pull, state, &seen, &surface);
        Ok(())
    }

    /// `MRG-08`: a broken chain. Nothing is recorded on it; check, comment and answers say where it breaks.
    pub(super) async fn show_broken(
        &self,
        pull: &Fetched,
        listed: &[Listed],
        events: &[(String, Event)],
        place: &Break,
        no_records: bool,
    ) -> Result<Raced, Halt> {
        tracing::error!(change = pull.number, %place, "the ledger's chain is broken");
        let fallback = Policy::default();
        let commands = &self.policy().unwrap_or(&fallback).commands;
        let renamed_from = if no_records {
            let old = ledger_branch::last(&self.memory).await.filter(|old| *old != self.branch);
            Some(old.unwrap_or_else(|| "OLD".to_owned()))
        } else {
            None
        };
        let broken = Broken {
            change: ChangeNumber(pull.number),
            slug: &self.home.slug,
            branch: &self.branch,
            place,
            renamed_from,
            advisory: self.app.is_advisory(),
            repo: &self.repo,
            memory: &self.memory,
        };
        let finding = broken.finding();
        let shown = self.show_unrecorded(pull, listed, "The ledger's chain is broken", finding).await?;
        let problems = match &self.law {
            Law::Valid(_) => &[][..],
            Law::Invalid(problems) => problems,
        };
        broken.show_comment(problems).await?;
        for (_, event) in events {
            let Fact::Comment(comment) = &event.fact else { continue };
            let given = command::parse(&comment.body, |line| commands.strip(line));
            let Some(first) = given.iter().find(|given| given.spec.is_some()).filter(|_| !comment.author.bot) else {
                continue;
            };
            if May::Ask.allows(observe::standing(&self.repo, self.policy(), &comment.author).await?) {
                broken.answer(comment, &commands.written(&first.name)).await?;
            }
        }
        Ok(shown)
    }

    /// `MRG-07`: a pull request from the ledger's own branch. A record about it would be another head of it.
    pub(super) async fn show_ledger_as_head(&self, pull: &Fetched, listed: &[Listed]) -> Result<Raced, Halt> {
        let finding = Finding::error(
            "MRG-07",
            format!("`{}` is the ledger's branch: it belongs into no other branch.", self.branch),
            "Close this pull request.",
        );
        self.show_unrecorded(pull, listed, "This is the ledger's own branch", finding).await
    }

    /// What can only be shown, because nothing can be recorded. What is wrong with the policy comes first: it may be
    /// the cause.
    async fn show_unrecorded(
        &self,
        pull: &Fetched,
        listed: &[Listed],
        title: &str,
        finding: Finding,
    ) -> Result<Raced, Halt> {
        if !pull.is_open() {
            self.app.tell(Word::Notice(format!("#{} is closed. {title}: {}", pull.number, finding.says)));
            return Ok(Raced::No(Moved::default()));
        }
        let (title, mut findings) = match &self.law {
            Law::Valid(_) => (title, Vec::new()),
            Law::Invalid(problems) => ("The policy is not valid", problems.clone()),
        };
        findings.push(finding);
        let closed = closed::Closed {
            head: &pull.head.sha,
            title,
            findings: &findings,
            default_branch: &self.home.default_branch,
            observed: self.observes(),
        };
        closed::show_closed(&closed, listed, &self.repo, self.app.id).await?;
        if self.observes() {
            self.app.tell(Word::Observes);
        }
        self.app.tell(Word::Stands(Told {
            change: pull.number,
            head: Some(pull.head.sha.clone()),
            phase: "unknown".to_owned(),
            verdict: Standing::Fail,
            reason: title.to_owned(),
            findings,
        }));
        Ok(Raced::No(Moved::default()))
    }
}
