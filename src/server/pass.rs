//! One pass over one change: read the world, decide, record, show.
//!
//! The races, and what is done about each:
//! - *the process dies anywhere*: the delivery is still in the inbox. The next pass reads the same world, finds what
//!   was recorded and decides only what is missing; what was shown is compared, not written again;
//! - *another replica records for the same change*: the append says so, and the pass begins again;
//! - *the ledger's answer is older than our last write* (replica lag): the anchor in our own merge check tells, and the
//!   pass is put off. Only when it stays so is the end of the chain taken for cut off.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::kin::{self, Moved};
use super::memory::Kept;
use super::route::Halt;
use super::{App, apart, delivered, ledger_branch, observe, proof, runs};
use crate::engine::{self, Answer, Decision, Happened, Order, command, merge_gate};
use crate::fact::{Button, Comment, Event, Fact, PullEvent};
use crate::flow::Phase;
use crate::flow::pipeline::phase_of;
use crate::gate::aside::Aside;
use crate::gate::papers::Followed;
use crate::gate::people::May;
use crate::gate::world::{AskedRun, Asks, Beneath, CheckRun, Law, Pull, Rival, Subject, Untold, World};
use crate::gate::{GateName, Verdict, header};
use crate::github::calls::checks::CheckRun as Listed;
use crate::github::calls::comments::Reaction;
use crate::github::calls::issues::same_label;
use crate::github::calls::pulls::Pull as Fetched;
use crate::github::{Error, Repo};
use crate::ids::{ChangeNumber, CommitId, Person, RepoId, RepoRef};
use crate::ledger::incident::Breach;
use crate::ledger::origin::Branch;
use crate::ledger::record::Ran;
use crate::ledger::{Anchor, Break, BreakKind, Ledger, LedgerError, Loaded, State};
use crate::policy::{Enforce, Flow, Policy};
use crate::repo::{Mirror, Reader as _, Want};
use crate::surface::sync::Memory as _;
use crate::surface::{self, sync, witness};

pub(super) fn base_key(branch: &str) -> String {
    format!("base:{branch}")
}

pub(super) fn ledger_key(branch: &str) -> String {
    format!("ledger:{branch}")
}

pub(super) fn anchor_key(change: ChangeNumber) -> String {
    format!("anchor:{}", change.0)
}

pub(super) fn head_key(head: &CommitId) -> String {
    format!("head:{head}")
}

/// After so many tries an end that is missing is not lag any more.
pub(super) const LAG_TRIES: u32 = 4;

pub(super) enum Raced {
    Yes,
    No(Moved),
}

pub(super) struct Pass<'a> {
    pub(super) app: &'a App,
    pub(super) memory: Kept,
    pub(super) home: &'a RepoRef,
    pub(super) repo: Repo,
    pub(super) mirror: Mirror,
    pub(super) ledger: Arc<Ledger>,
    /// The branch that it is on.
    pub(super) branch: String,
    pub(super) law: Law,
    pub(super) tip: CommitId,
    pub(super) attempt: u32,
}

/// Something that was told and is not in what was read: a replica may not have heard of it. Nobody would look again.
fn unheard_of(world: &World, state: Option<&State>, events: &[(String, Event)]) -> Option<String> {
    let deployed = state.is_some_and(|state| state.pipeline.is_some());
    events.iter().find_map(|(_, event)| match &event.fact {
        Fact::Review { review: Some(id), .. } if !world.reviews.iter().any(|review| review.id == *id) => {
            Some(format!("review {id}"))
        }
        Fact::Checks { head, completed: Some(id), .. } if !world.checks_unread => {
            let ended = |runs: &[CheckRun]| runs.iter().any(|run| run.id == *id && run.conclusion.is_some());
            let listed = if *head == world.pull.head {
                ended(&world.checks)
            } else if deployed && world.pull.merged.as_ref() == Some(head) {
                ended(&world.merge_checks)
            } else {
                true
            };
            (!listed).then(|| format!("the end of check run {id}"))
        }
        _ => None,
    })
}

/// The base has all of a change that is said to be open: it was merged, and the replica that answers has not heard of it.
/// Taken as it is read, an empty change would lose every gate, and its merge would be recorded as one around them.
fn merged_unheard(pull: &Fetched, world: &World, state: Option<&State>) -> bool {
    let swallowed = world.subject.as_ref().is_some_and(|subject| subject.about.base == subject.about.head);
    let known = state.and_then(|state| state.subject.as_ref());
    pull.is_open() && swallowed && known.is_some_and(|about| about.head == pull.head.sha && about.base != about.head)
}

/// Whether nothing that is known so far stands against merging it.
fn is_green(state: Option<&State>, world: &World) -> bool {
    state.is_none_or(|state| merge_gate(state, world).verdict == Verdict::Pass)
}

impl Pass<'_> {
    pub(super) fn policy(&self) -> Option<&Policy> {
        match &self.law {
            Law::Valid(policy) => Some(policy),
            Law::Invalid(_) => None,
        }
    }

    /// The policy only observes, so nobody is held back.
    pub(super) fn observes(&self) -> bool {
        self.policy().is_some_and(|policy| policy.enforce == Enforce::Observe)
    }

    pub(super) async fn once(&self, pull: &Fetched, events: &[(String, Event)]) -> Result<Raced, Halt> {
        let change = ChangeNumber(pull.number);
        let written = self.repo.written();
        let (listed, unread) = self.check_runs(&pull.head.sha).await?;
        if pull.head.r#ref == self.branch && !pull.is_from_fork() {
            return apart(|| self.show_ledger_as_head(pull, &listed)).await;
        }
        let loaded = match self.ledger.load(change).await {
            Ok(loaded) => loaded,
            Err(LedgerError::Broken(broken)) => {
                return apart(|| self.show_broken(pull, &listed, events, &broken, false)).await;
            }
            Err(error) => return Err(error.into()),
        };
        if let Err(broken) = self.anchored(pull, loaded.state.as_ref(), &listed).await? {
            // Under an invalid policy the branch may be the wrong one; that is said at once.
            if broken.kind == BreakKind::CutOff && self.attempt < LAG_TRIES && self.policy().is_some() {
                return Err(Halt::Again(anyhow::anyhow!("the ledger's answer is older than our last write: {broken}")));
            }
            let none = broken.kind == BreakKind::CutOff && loaded.state.is_none();
            return apart(|| self.show_broken(pull, &listed, events, &broken, none)).await;
        }
        let events = &apart(|| self.with_unheard(pull, loaded.state.as_ref(), events)).await?;
        if loaded.state.is_none() && !pull.is_open() && !self.ended_under_the_law(pull, events).await? {
            return Ok(Raced::No(Moved::default()));
        }
        let asked_run = apart(|| self.asked_run(loaded.state.as_ref())).await?;
        let mut world = World {
            checks_unread: unread,
            asked_run: asked_run.seen.clone(),
            ..apart(|| self.world(pull, &listed, loaded.state.as_ref())).await?
        };
        if let Some(missing) = unheard_of(&world, loaded.state.as_ref(), events).filter(|_| self.attempt < LAG_TRIES) {
            return Err(Halt::Behind(format!("GitHub does not list {missing} yet, of which it told")));
        }
        if self.attempt < LAG_TRIES && merged_unheard(pull, &world, loaded.state.as_ref()) {
            return Err(Halt::Behind(format!("pull request #{} is in its base and not yet merged", pull.number)));
        }
        // What comes with a new head, or with another target, may be somebody else's work, and who asks for a look may know
        // of something.
        let new = loaded.state.as_ref().is_none_or(|state| {
            let elsewhere = state.subject.as_ref().is_some_and(|about| about.base_ref != pull.base.r#ref);
            elsewhere || !state.heads.contains_key(&pull.head.sha)
        });
        let asked = new || events.iter().any(|(_, event)| matches!(event.fact, Fact::Look { .. }));
        let twins = match asked {
            true => apart(|| self.relate(pull, &listed, &mut world, loaded.state.as_ref())).await?,
            false => Vec::new(),
        };
        world.settled = self.settled(&world, loaded.state.as_ref()).await?;
        apart(|| self.based_since(pull, loaded.state.as_ref(), &mut world, events)).await?;
        let left = apart(|| self.left(loaded.state.as_ref(), &asked_run, &mut world)).await?;
        let mut happened = apart(|| self.happened(pull, loaded.state.as_ref(), &world, events)).await?;
        happened.extend(left);
        happened.extend(apart(|| self.lost_fix(pull, loaded.state.as_ref())).await?);
        let before = loaded.state.clone();
        // What would become of it decides whether others with the same head are to be asked.
        let ahead = self.decide(pull, &loaded, &world, &happened).await?;
        let would = engine::ahead(loaded.change, loaded.state.as_ref(), &ahead)
            .map_err(|refusal| Halt::Again(anyhow::anyhow!("the engine contradicts itself: {refusal}")))?;
        let mut world = apart(|| self.with_rivals(pull, world, would.as_ref(), &twins)).await?;
        if !asked && is_green(would.as_ref(), &world) {
            for twin in apart(|| self.relate(pull, &listed, &mut world, loaded.state.as_ref())).await? {
                self.add_rival(&twin, &mut world).await;
            }
        }
        let rebased = world.based_since > would.as_ref().and_then(|state| state.based_since);
        let alone = world.rivals.is_empty()
            && world.siblings.is_empty()
            && (asked
                || (world.earlier.is_empty() && world.broken.is_empty() && world.unread == 0 && !world.unseen_moves));
        let decision = if alone && !rebased { ahead } else { self.decide(pull, &loaded, &world, &happened).await? };
        let unheard = decision.unheard.clone();
        let Some(loaded) = apart(|| self.record(loaded, decision)).await? else { return Ok(Raced::Yes) };
        let newest = before.as_ref().map_or(0, |state| state.seq);
        let Some(loaded) = apart(|| self.open_parts(pull, loaded, &world)).await? else { return Ok(Raced::Yes) };
        let Some((loaded, no_issues)) = apart(|| self.escalate(pull, loaded, &world, events, newest)).await? else {
            return Ok(Raced::Yes);
        };
        let Some(loaded) = apart(|| self.tell_incidents(pull, loaded, &world, events, newest)).await? else {
            return Ok(Raced::Yes);
        };
        let state = loaded.state;
        if let Some(state) = &state {
            apart(|| self.start_asked(before.as_ref(), state, &mut world)).await?;
            apart(|| self.start_own(state, &mut world.runner)).await?;
            if let Raced::Yes = apart(|| self.start_pass(state, &world)).await? {
                return Ok(Raced::Yes);
            }
            apart(|| self.show(pull, &listed, state, &world, events, (&unheard, no_issues))).await?;
            if !apart(|| self.is_newest(pull, state, self.repo.written() > written)).await? {
                return Ok(Raced::Yes);
            }
            self.close_given_up(pull, state).await?;
            apart(|| self.commit_repair(pull, state, &world)).await?;
            if apart(|| self.commit_fix(pull, state, &world)).await? {
                return Ok(Raced::Yes);
            }
            apart(|| self.commit_copies(pull, state, &world)).await?;
            self.set_lease(state).await?;
            self.set_risk(state).await?;
            self.watch_rules(pull.number, &world).await?;
        }
        self.remember_head(pull).await;
        match &state {
            Some(state) => Ok(Raced::No(apart(|| self.moved(pull, state, events)).await?)),
            None => Ok(Raced::No(Moved::default())),
        }
    }

    /// Whether a pull request of which nothing is recorded was merged just now, past a policy that was there already.
    /// Whatever else ended without us is none of our business, whoever says something there.
    async fn ended_under_the_law(&self, pull: &Fetched, events: &[(String, Event)]) -> Result<bool, Halt> {
        let told = |fact: &Fact| matches!(fact, Fact::Pull { what: PullEvent::Closed, .. });
        let merged = pull.merge_commit_sha.as_ref().filter(|_| pull.is_merged());
        match merged.filter(|_| events.iter().any(|(_, event)| told(&event.fact))) {
            Some(merged) => Ok(observe::was_law(&self.mirror, &pull.head.sha, merged).await?),
            None => Ok(false),
        }
    }

    async fn check_runs(&self, commit: &CommitId) -> Result<(Vec<Listed>, bool), Halt> {
        Ok(runs::listed(&self.repo, self.app.id, commit).await?)
    }

    /// The newest anchor that is known, held against what the ledger says. It stands in our own merge check; on a head
    /// that has none yet, the memory or the head before it has one.
    async fn anchored(
        &self,
        pull: &Fetched,
        state: Option<&State>,
        listed: &[Listed],
    ) -> Result<Result<(), Break>, Halt> {
        let change = ChangeNumber(pull.number);
        let read = |runs: &[Listed]| witness::anchors(runs, self.app.id).of(change).cloned();
        let mut newest = [read(listed), self.kept_anchor(change).await].into_iter().flatten().max_by_key(|one| one.seq);
        let last = state.and_then(|state| state.subject.as_ref()).map(|about| &about.head);
        if let (None, Some(last)) = (&newest, last.filter(|last| **last != pull.head.sha)) {
            newest = read(&self.repo.check_runs_of(self.app.id, last).await?);
        }
        let lost = self.lost_of(change).await?;
        if newest.is_none() && lost.is_empty() && state.is_none() && !self.app.remembers() {
            return self.was_recorded(pull).await;
        }
        self.held_against(change, state, newest.as_ref(), &lost).await
    }

    /// The anchor of the last record that was made here.
    pub(super) async fn kept_anchor(&self, change: ChangeNumber) -> Option<Anchor> {
        self.memory.recall(&anchor_key(change)).await.and_then(|text| text.parse().ok())
    }

    async fn world(&self, pull: &Fetched, listed: &[Listed], state: Option<&State>) -> Result<World, Halt> {
        let (repo, policy) = (&self.repo, self.policy());
        let merged = pull.merge_commit_sha.clone().filter(|_| pull.is_merged());
        let continues = self.continues(pull, state).await?;
        let subject = if pull.is_open() {
            let tip = (&self.tip, self.home.default_branch.as_str());
            let own = state.and_then(|state| state.round.clone()).filter(|round| round.accepted.is_some());
            let round = own.map(|round| Followed::Round(Box::new(round)));
            let round = round.or_else(|| continues.as_ref().map(|(_, followed)| followed.clone()));
            let known = (state, self.frozen(state).await?, round);
            observe::content(&self.mirror, &self.law, tip, pull, known).await?
        } else {
            // What was merged or closed does not change any more. (Once merged, head and base have nothing between
            // them, so reading it afresh would show nothing.)
            state.and_then(observe::recorded)
        };
        let mut subject = subject;
        let piped = state.is_some_and(|state| state.pipeline.is_some());
        if let (Some(subject), Some(merged), Some(policy), true) = (&mut subject, &merged, policy, piped) {
            // The papers may follow in a pull request of their own.
            let at = if pull.base.r#ref == self.home.default_branch { &self.tip } else { merged };
            let found = delivered::delivered(&self.mirror, policy, at, merged).await?;
            subject.documents.extend(found.map(|found| (Phase::Deploy, found)));
        }
        let mut untold = BTreeSet::new();
        let (merge_checks, deployments) = match (&merged, state.and_then(|state| state.pipeline.as_ref())) {
            (Some(commit), Some(_)) => {
                let (listed, _) = self.check_runs(commit).await?;
                let runs = runs::on(repo, &self.memory, commit, &listed, policy).await?;
                let deployments = observe::deployments(repo, commit).await?;
                untold.extend(runs.untold.then_some(Untold::WorkflowRuns));
                untold.extend(deployments.is_none().then_some(Untold::Deployments));
                (runs.checks, deployments.unwrap_or_default())
            }
            _ => (Vec::new(), Vec::new()),
        };
        let ran = runs::on(repo, &self.memory, &pull.head.sha, listed, policy).await?;
        untold.extend(ran.untold.then_some(Untold::WorkflowRuns));
        let beneath = apart(|| self.beneath(subject.as_ref(), state)).await?;
        let labels: Vec<String> = pull.labels.iter().map(|label| label.name.clone()).collect();
        let mut standings = BTreeMap::new();
        let reviews = observe::reviews(repo, policy, pull.number, &mut standings).await?;
        let content = subject.as_ref().map(|subject| &subject.about.content);
        observe::approvers(repo, policy, state, content, &mut standings).await?;
        let fallback = Policy::default();
        let (base, default) = (&pull.base.r#ref, &self.home.default_branch);
        let named = base != default && policy.is_some_and(|policy| policy.may_merge_into(base, default));
        // Rules change without a word to us, so it is asked each time, where it can matter.
        let base_protected = base == default || (named && pull.is_open() && repo.is_protected(base).await?);
        Ok(World {
            default_branch: self.home.default_branch.clone(),
            app: self.app.known_as(),
            law: self.law.clone(),
            effective: policy.unwrap_or(&fallback).effective(&pull.head.r#ref, &labels),
            pull: Pull {
                number: pull.number,
                open: pull.is_open(),
                draft: pull.draft,
                merged,
                merged_by: pull.merged_by.clone(),
                merged_at: pull.merged_at,
                author: pull.user.clone(),
                head: pull.head.sha.clone(),
                base_ref: pull.base.r#ref.clone(),
                fork: pull.is_from_fork(),
                branch: pull
                    .head
                    .repo
                    .as_ref()
                    .map(|repo| Branch { repo: RepoId(repo.id), name: pull.head.r#ref.clone() }),
                header: header::read(&pull.body),
            },
            subject,
            checks: ran.checks,
            workflow_runs: ran.workflow_runs,
            beneath,
            checks_unread: false,
            merge_checks,
            deployments,
            untold,
            reviews,
            standings,
            settled: None,
            based_since: None,
            asks: if self.app.takes_evidence() { Asks::Yes } else { Asks::NoAddress },
            // What a workflow's own token pushes starts no workflow.
            commits: !self.app.is_advisory(),
            asked_run: AskedRun::Unseen,
            aside: self.aside(pull, state).await?,
            continues,
            runner: self.own_run(state).await,
            siblings: Vec::new(),
            rivals: Vec::new(),
            base_protected,
            earlier: Vec::new(),
            broken: BTreeSet::new(),
            unread: 0,
            unseen_moves: false,
            ledger: self.branch.clone(),
            landed: BTreeMap::new(),
        })
    }

    /// What was run on the heads below, as far back as somebody has counted something there.
    async fn beneath(&self, subject: Option<&Subject>, state: Option<&State>) -> Result<Vec<Beneath>, Halt> {
        let (Some(subject), Some(state)) = (subject, state) else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for head in &subject.beneath {
            if state.heads.get(head) != Some(&subject.about.content) {
                break;
            }
            let (listed, unread) = self.check_runs(head).await?;
            let runs = runs::on(&self.repo, &self.memory, head, &listed, self.policy()).await?;
            if unread || runs.untold {
                break;
            }
            let counted = runs.checks.iter().any(|run| state.ran_for.contains_key(&run.id) && run.conclusion.is_some());
            all.push(Beneath { head: head.clone(), checks: runs.checks, workflow_runs: runs.workflow_runs });
            if counted {
                break;
            }
        }
        Ok(all)
    }

    /// The change whose confirmed round this says it is the work of: by the message of its head, or by its text. Once that is on
    /// record, nobody asks again.
    async fn continues(&self, pull: &Fetched, state: Option<&State>) -> Result<Option<(ChangeNumber, Followed)>, Halt> {
        let piped = self.policy().is_some_and(|policy| policy.flow == Flow::Pipeline);
        if !pull.is_open() || !piped || state.is_some_and(|state| state.round.is_some()) {
            return Ok(None);
        }
        let head = pull.head.sha.clone();
        let by_head = match self.mirror.fetch(&[Want::Commit(head.clone())]).await {
            Err(crate::repo::Error::Missing(_)) => None,
            fetched => {
                drop(fetched?);
                self.mirror.read(move |reader| Ok(observe::belongs_to(&reader.commit(&head)?.message))).await?
            }
        };
        let named = by_head.or_else(|| observe::belongs_to(&pull.body));
        let Some(of) = named.filter(|of| of.0 != pull.number) else { return Ok(None) };
        let state = self.ledger.load(of).await.ok().and_then(|loaded| loaded.state);
        let round = state.filter(|state| state.merged.is_some()).and_then(|state| state.round);
        let confirmed = round.filter(|round| round.accepted.is_some()).map(|round| Followed::Round(Box::new(round)));
        Ok(Some((of, confirmed.unwrap_or(Followed::Nothing(of)))))
    }

    /// What lies beside the phases, while the change is between them: at the head, and after the merge on the branch that it went
    /// into, as that is now.
    async fn aside(&self, pull: &Fetched, state: Option<&State>) -> Result<Option<Aside>, Halt> {
        let stage = state.and_then(|state| state.pipeline.as_ref()).map(|pipeline| pipeline.stage);
        let flow = self.policy().is_some_and(|policy| policy.flow == Flow::Pipeline);
        if !stage.map_or(state.is_none() && flow, |stage| phase_of(stage).is_none()) {
            return Ok(None);
        }
        let at = match pull.merge_commit_sha.as_ref().filter(|_| pull.is_merged()) {
            Some(_) if pull.base.r#ref == self.home.default_branch => self.tip.clone(),
            Some(merged) => merged.clone(),
            None => pull.head.sha.clone(),
        };
        match self.mirror.fetch(&[Want::Commit(at.clone())]).await {
            Err(crate::repo::Error::Missing(_)) => return Ok(None),
            fetched => drop(fetched?),
        }
        let begun = match state.and_then(|state| state.subject.as_ref()).map(|about| about.base.clone()) {
            Some(base) => match self.mirror.fetch(&[Want::Commit(base.clone())]).await {
                Err(crate::repo::Error::Missing(_)) => None,
                fetched => {
                    drop(fetched?);
                    Some(base)
                }
            },
            None => None,
        };
        Ok(Some(self.mirror.read(move |reader| Aside::read(reader, &at, begun.as_ref())).await?))
    }

    /// Adds the other pull requests with this head, where they could matter: a red is red without them.
    async fn with_rivals(
        &self,
        pull: &Fetched,
        mut world: World,
        state: Option<&State>,
        twins: &[Fetched],
    ) -> Result<World, Halt> {
        if pull.is_open() && is_green(state, &world) {
            self.add_rivals(pull, &mut world).await?;
            for twin in twins {
                self.add_rival(twin, &mut world).await;
            }
            let by_pull = |run: &CheckRun| run.job_of.as_ref().is_some_and(|run| run.event.starts_with("pull_request"));
            let beneath = world.beneath.iter().flat_map(|below| &below.checks);
            if world.checks.iter().chain(beneath).any(by_pull) {
                world.siblings = self.siblings(pull, &world).await?;
                // That it went into another base and back may not have reached us.
                self.ask_base(pull, &mut world).await?;
            }
        }
        Ok(world)
    }

    /// Adds the other open pull requests with this head.
    async fn add_rivals(&self, pull: &Fetched, world: &mut World) -> Result<(), Halt> {
        let mut others = self.repo.pulls_for_commit(&pull.head.sha).await?;
        // A head in a fork is not always told of there. What was looked at with this head before is known here; where nothing
        // is remembered, the ledger's index finds it (`relate`).
        let known = self.memory.recall(&head_key(&pull.head.sha)).await.unwrap_or_default();
        for number in known.split(' ').filter_map(|number| number.parse::<u64>().ok()) {
            if number != pull.number && others.iter().all(|other| other.number != number) {
                match self.repo.get_pull(number).await {
                    Ok(other) => others.push(other),
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        for other in others {
            if other.number != pull.number && other.is_open() && other.head.sha == pull.head.sha {
                self.add_rival(&other, world).await;
            }
        }
        Ok(())
    }

    /// Adds one, judged by its own record.
    async fn add_rival(&self, other: &Fetched, world: &mut World) {
        if world.rivals.iter().any(|rival| rival.number == other.number) {
            return;
        }
        let head = &other.head.sha;
        let state = self.ledger.load(ChangeNumber(other.number)).await.ok().and_then(|loaded| loaded.state);
        let green = state.is_some_and(|state| {
            let current = state.subject.as_ref().is_some_and(|about| about.head == *head);
            let judged = state.gates.get(&GateName::Merge).filter(|judged| judged.about.head == *head);
            // What it says of us is ours to say.
            let green = judged.is_some_and(|judged| {
                judged.findings.iter().filter(|finding| finding.blocks()).all(|finding| finding.rule == "MRG-10")
            });
            current && green && state.open
        });
        world.rivals.push(Rival { number: other.number, base_ref: other.base.r#ref.clone(), green });
    }

    pub(super) async fn decide(
        &self,
        pull: &Fetched,
        loaded: &Loaded,
        world: &World,
        happened: &[Happened],
    ) -> Result<Decision, Halt> {
        let has_commands = happened.iter().any(|one| matches!(one, Happened::Command(_)));
        let shown = match &loaded.state {
            Some(state) if has_commands => sync::shown(state, &self.repo, &self.memory, pull.number).await?,
            _ => None,
        };
        engine::decide(loaded.change, loaded.state.as_ref(), world, happened, shown.as_ref())
            .map_err(|refusal| Halt::Again(anyhow::anyhow!("the engine contradicts itself: {refusal}")))
    }

    /// The change after the decision is recorded. `None`: another writer was faster.
    pub(super) async fn record(&self, loaded: Loaded, decision: Decision) -> Result<Option<Loaded>, Halt> {
        if decision.entries.is_empty() {
            return Ok(Some(loaded));
        }
        let keys = kin::keys_of(&decision.entries);
        match self.ledger.append(loaded, self.app.inbox.now(), decision.entries).await {
            Ok(appended) => {
                let State { change, seq, tip, .. } = &appended.state;
                let anchor = Anchor { change: *change, seq: *seq, tip: tip.clone() };
                self.memory.keep(&anchor_key(*change), &anchor.to_string()).await;
                self.remember_kin(*change, &keys).await;
                Ok(Some(appended.loaded()))
            }
            Err(LedgerError::Moved) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps which pull requests have this head: checks name commits, not pull requests.
    async fn remember_head(&self, pull: &Fetched) {
        if self.policy().is_some() {
            ledger_branch::remember(&self.memory, &self.branch).await;
        }
        if pull.base.r#ref != self.home.default_branch {
            self.memory.keep(&base_key(&pull.base.r#ref), "seen").await;
        }
        let commits = [Some(&pull.head.sha), pull.merge_commit_sha.as_ref().filter(|_| pull.is_merged())];
        for commit in commits.into_iter().flatten() {
            let key = head_key(commit);
            let known = self.memory.recall(&key).await.unwrap_or_default();
            if !known.split(' ').any(|number| number == pull.number.to_string()) {
                self.memory.keep(&key, format!("{known} {}", pull.number).trim()).await;
            }
        }
    }

    /// What happened that the world does not show.
    async fn happened(
        &self,
        pull: &Fetched,
        state: Option<&State>,
        world: &World,
        events: &[(String, Event)],
    ) -> Result<Vec<Happened>, Halt> {
        let mut happened: Vec<Happened> = self.relabelled(pull, state, events).into_iter().collect();
        if let Some(state) = state {
            happened.extend(self.on_the_issue(state, world, events).await?);
            happened.extend(self.unseen(pull, state, events).await?);
            happened.extend(self.unreached(state).await);
        }
        // Nobody but a lease, a risk that is accepted until a day and a task asks how late it is.
        let accepted = state.is_some_and(|state| state.risk_ends().is_some());
        // And a task's passes, which have their time.
        let task = state.is_some_and(|state| state.task.is_some());
        if accepted || task || self.policy().is_some_and(|policy| policy.agents.lease.is_some()) {
            happened.push(Happened::Now { at: self.app.inbox.now() });
        }
        let pushers = self.pushers(pull, state, world, events).await?.into_iter();
        // What the App itself pushes is in the record that made it do so, and nobody who works on the change was heard of.
        let own = |person: &Person| person.bot && person.login == self.app.login && !self.app.is_advisory();
        happened.extend(pushers.filter(|person| !own(person)).map(Happened::Pushed));
        for (guid, event) in events {
            match &event.fact {
                // It claims what was there then; what was pushed since is nobody's claim.
                Fact::Pull { what: PullEvent::ReadyForReview, head, .. } if *head == pull.head.sha => {
                    happened.push(Happened::Ready);
                }
                Fact::Comment(comment) => {
                    let orders = self.orders(state, world, comment).await?;
                    // A command has a record of its own.
                    if orders.is_empty() {
                        happened.push(Happened::Spoke(comment.author.clone()));
                    }
                    happened.extend(orders);
                    happened.extend(self.noted(state, world, comment).await?);
                }
                Fact::CommentChanged { comment, deleted, sender, .. } => {
                    if let Some(state) = state
                        && sync::is_tampered(state, &self.repo, &self.memory, *comment).await?
                    {
                        let did = if *deleted { "deleted" } else { "edited" };
                        let what = format!("{} {did} this comment; it was put right.", sender.login);
                        happened.push(Happened::Tampered { what, told: Some(guid.clone()) });
                    }
                }
                Fact::Ran { by, ran, log, .. } => {
                    let (by, ran, log) = (by.clone(), Ran::clone(ran), Arc::from(log.as_str()));
                    happened.push(Happened::Ran(Box::new(Answer { by, ran, log })));
                }
                Fact::Unguarded { branch, since, seen, .. } => {
                    let (branch, since, seen) = (branch.clone(), *since, *seen);
                    happened.push(Happened::Unguarded(Breach::Unguarded { branch, since, seen }));
                }
                Fact::Refused { what, .. } => {
                    let now = happened.iter().filter_map(|one| match one {
                        Happened::Tampered { what, .. } => Some(what),
                        _ => None,
                    });
                    let known = state.iter().flat_map(|state| &state.tampered).chain(now);
                    if !proof::is_known_well(what, known) {
                        happened.push(Happened::Tampered { what: what.clone(), told: Some(guid.clone()) });
                    }
                }
                Fact::Button { button: Button::Pressed(which), sender, .. } if which == sync::EXPLAIN => {
                    // A press is a command without a comment; its delivery names it, so a second press is another one.
                    let word = u32::from_str_radix(&crate::ids::Digest::of(guid).as_str()[..8], 16).unwrap_or(0);
                    let comment = Comment {
                        number: state.map_or(0, |state| state.change.0),
                        on_pull: true,
                        id: 0,
                        author: sender.clone(),
                        body: "/explain".to_owned(),
                        created_at: self.app.inbox.now(),
                    };
                    for mut given in command::parse("/explain", |line| line.strip_prefix('/')) {
                        given.index = word;
                        let standing = observe::standing(&self.repo, self.policy(), sender).await?;
                        let order = Order { comment: comment.clone(), given, standing, target: None, no_fix: None };
                        happened.push(Happened::Command(Box::new(order)));
                    }
                }
                _ => {}
            }
        }
        Ok(happened)
    }

    /// What is said on the issue of the stop that is open, without a command.
    async fn noted(&self, state: Option<&State>, world: &World, comment: &Comment) -> Result<Option<Happened>, Halt> {
        let open = state.and_then(|state| state.escalation.as_ref()).filter(|open| open.issue == Some(comment.number));
        let Some(open) = open.filter(|_| !comment.author.bot) else { return Ok(None) };
        let commands = self.policy().map(|policy| policy.commands.clone()).unwrap_or_default();
        let said = !command::parse(&comment.body, |line| commands.strip(line)).is_empty();
        if said || open.noted.contains(&comment.id) || open.noted.len() >= engine::MOST_NOTES {
            return Ok(None);
        }
        let standing = match world.standings.get(&comment.author.id) {
            Some(standing) => *standing,
            None => observe::standing(&self.repo, self.policy(), &comment.author).await?,
        };
        Ok(Some(Happened::Noted(comment.clone(), standing)))
    }

    /// Somebody moved our label, and it is still where they put it.
    fn relabelled(&self, pull: &Fetched, state: Option<&State>, events: &[(String, Event)]) -> Option<Happened> {
        let prefix =
            self.policy().map_or_else(|| Policy::default().labels.prefix, |policy| policy.labels.prefix.clone());
        // A team may have labels of its own that begin like ours.
        let ours = surface::our_labels(&prefix);
        let is_ours = |label: &str| ours.iter().any(|one| same_label(one, label));
        let (told, who) = events.iter().rev().find_map(|(guid, event)| match &event.fact {
            Fact::Pull { label: Some(label), sender, .. } if is_ours(label) => Some((guid.clone(), &sender.login)),
            _ => None,
        })?;
        let wanted = surface::label(state?, &prefix).map(|label| label.name);
        let wanted: Vec<&str> = wanted.as_deref().into_iter().collect();
        let there: Vec<&str> =
            pull.labels.iter().map(|label| label.name.as_str()).filter(|label| is_ours(label)).collect();
        if there.len() == wanted.len() && there.iter().zip(&wanted).all(|(one, other)| same_label(one, other)) {
            return None;
        }
        let named = |labels: &[&str]| match labels {
            [] => "none".to_owned(),
            labels => {
                labels.iter().map(|label| format!("`{}`", label.replace('`', "'"))).collect::<Vec<_>>().join(", ")
            }
        };
        let what = format!("{who} changed the label from {} to {}; it was put right.", named(&wanted), named(&there));
        Some(Happened::Tampered { what, told: Some(told) })
    }

    /// The commands of a comment. Whoever may give one sees at once that it was received.
    async fn orders(&self, state: Option<&State>, world: &World, comment: &Comment) -> Result<Vec<Happened>, Halt> {
        let commands = self.policy().map(|policy| policy.commands.clone()).unwrap_or_default();
        let given = command::parse(&comment.body, |line| commands.strip(line));
        let done = |index| state.is_some_and(|state| state.commands.contains(&(comment.id, index)));
        if comment.author.bot || given.iter().all(|given| done(given.index)) {
            return Ok(Vec::new());
        }
        let standing = match world.standings.get(&comment.author.id) {
            Some(standing) => *standing,
            None => observe::standing(&self.repo, self.policy(), &comment.author).await?,
        };
        let known = given.iter().any(|given| given.spec.is_some()) || May::Move.allows(standing);
        if known && May::Ask.allows(standing) {
            sync::react(&self.repo, &self.memory, comment.id, Reaction::Eyes).await?;
        }
        let mut orders = Vec::new();
        for given in given {
            let target = match given.links_to().filter(|_| May::Move.allows(standing)) {
                Some(number) => Some(self.target(number).await?),
                None => None,
            };
            let files = engine::fix_of(&given).filter(|_| May::Move.allows(standing));
            let no_fix = match (files, &world.subject) {
                (Some(files), Some(subject)) => self.no_fix(&subject.about.head, &files).await?,
                _ => None,
            };
            orders.push(Happened::Command(Box::new(Order {
                comment: comment.clone(),
                given,
                standing,
                target,
                no_fix,
            })));
        }
        Ok(orders)
    }
}
