//! One pass over one change: read the world, decide, record, show.
//!
//! The races, and what is done about each:
//! - *the process dies anywhere*: the delivery is still in the inbox. The next pass reads the same world, finds what
//!   was recorded and decides only what is missing; what was shown is compared, not written again;
//! - *another replica records for the same change*: the append says so, and the pass begins again;
//! - *the ledger's answer is older than our last write* (replica lag): the anchor in our own merge check tells, and the
//!   pass is put off. Only when it stays so is the end of the chain taken for cut off.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

use super::memory::Kept;
use super::{App, installed, observe};
use crate::engine::people::May;
use crate::engine::world::{Law, Pull, Rival, World};
use crate::engine::{self, Decision, Happened, Order, command, merge_gate, phase_gate};
use crate::fact::{Button, Comment, Event, Fact, PullEvent};
use crate::gate::merge::{CHECK_NAME, Judgement};
use crate::gate::{Finding, GateName, Verdict};
use crate::github::calls::checks::CheckRun as Listed;
use crate::github::calls::comments::Reaction;
use crate::github::calls::pulls::Pull as Fetched;
use crate::github::{Error, Repo, webhook};
use crate::ids::{ChangeNumber, CommitId, RepoRef};
use crate::inbox::{Batch, Delivery, Handler, Item, Outcome};
use crate::ledger::store::StoreError;
use crate::ledger::{Anchor, Break, BreakKind, Ledger, LedgerError, Loaded, State};
use crate::policy::Policy;
use crate::repo::Mirror;
use crate::surface::sync::Memory as _;
use crate::surface::{self, Seen, sync};

pub(super) struct Passes {
    app: Arc<App>,
}

impl Passes {
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

/// How a batch can end without being done.
enum Halt {
    /// Not before then, through nobody's fault.
    Later(Timestamp, String),
    Again(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Halt {
    fn from(error: E) -> Self {
        let error = error.into();
        let until = error.chain().find_map(|cause| match cause.downcast_ref::<Error>() {
            Some(Error::RateLimited { until, .. }) => Some(*until),
            _ => match cause.downcast_ref::<StoreError>() {
                Some(StoreError::Later { until }) => Some(*until),
                _ => None,
            },
        });
        match until {
            Some(until) => Halt::Later(until, error.to_string()),
            None => Halt::Again(error),
        }
    }
}

#[async_trait]
impl Handler for Passes {
    async fn handle(&self, batch: &Batch) -> Outcome {
        let mut events = Vec::new();
        for item in &batch.items {
            match understand(item) {
                Ok(event) => events.extend(event.map(|event| (item.guid.clone(), event))),
                Err(error) => return Outcome::Bury { error },
            }
        }
        let attempt = batch.items.iter().map(|item| item.attempt).max().unwrap_or(1);
        let Some(repo) = events.iter().find_map(|(_, event)| event.repo.clone()).filter(installed) else {
            return Outcome::Done;
        };
        let result = match batch.key.rsplit_once('/').and_then(|(_, number)| number.parse::<u64>().ok()) {
            Some(number) => self.change(&repo, number, &events, attempt).await,
            None => self.route(&repo, &events).await,
        };
        match result {
            Ok(derived) if derived.is_empty() => Outcome::Done,
            Ok(derived) => Outcome::DoneWith(derived),
            Err(Halt::Later(until, error)) => Outcome::Retry { error, not_before: Some(until), counts: false },
            Err(Halt::Again(error)) => {
                tracing::warn!(key = batch.key, attempt, error = format!("{error:#}"), "a pass failed");
                Outcome::Retry { error: format!("{error:#}"), not_before: None, counts: true }
            }
        }
    }
}

/// The name under which deliveries that we make ourselves are kept.
const OWN_EVENT: &str = "phasegate";

#[derive(serde::Serialize, serde::Deserialize)]
struct Own {
    repo: RepoRef,
    fact: Fact,
}

fn understand(item: &Item) -> Result<Option<Event>, String> {
    if item.event == OWN_EVENT {
        let own: Own = serde_json::from_slice(&item.payload).map_err(|error| error.to_string())?;
        return Ok(Some(Event { repo: Some(own.repo), fact: own.fact }));
    }
    webhook::parse(&item.event, &item.payload).map_err(|error| error.to_string())
}

/// A fact for one change, derived from a delivery that named none.
fn derived(guid: &str, repo: &RepoRef, number: u64, fact: Fact) -> Option<Delivery> {
    let payload = serde_json::to_vec(&Own { repo: repo.clone(), fact: fact.clone() }).ok()?;
    let barrier = !matches!(fact, Fact::Look { .. });
    Some(Delivery {
        guid: format!("{guid}/{number}"),
        event: OWN_EVENT.to_owned(),
        installation: Some(repo.installation),
        repo: Some(repo.id),
        key: format!("{}/{number}", repo.id.0),
        barrier,
        payload,
        meta: Value::Null,
    })
}

type Derived = Result<Vec<Delivery>, Halt>;

impl Passes {
    /// Finds the changes that a fact without a number is about.
    async fn route(&self, home: &RepoRef, events: &[(String, Event)]) -> Derived {
        let repo = self.app.repo(home);
        let mut out: Vec<Delivery> = Vec::new();
        for (guid, event) in events {
            let (numbers, fact) = match &event.fact {
                Fact::Checks { head, .. } => (self.with_head(&repo, home, head).await?, None),
                Fact::Deployment { commit, .. } => (self.with_head(&repo, home, commit).await?, None),
                Fact::Button { head, button, .. } => {
                    let fact = matches!(button, Button::Pressed(_)).then(|| event.fact.clone());
                    (self.with_head(&repo, home, head).await?, fact)
                }
                // The base moved under these, and on the default branch the law may have.
                Fact::Push { branch, after: Some(_), .. } if self.is_base(home, branch).await => {
                    let pulls = repo.list_open_pulls(None).await?;
                    let all = *branch == home.default_branch;
                    let numbers = pulls.iter().filter(|pull| all || pull.base.r#ref == *branch);
                    (numbers.map(|pull| pull.number).collect(), None)
                }
                _ => (Vec::new(), None),
            };
            for number in numbers {
                let fact = fact.clone().unwrap_or(Fact::Look { number });
                out.extend(derived(guid, home, number, fact));
            }
        }
        // Several looks at one change are one look.
        let mut looks = BTreeSet::new();
        out.retain(|delivery| delivery.barrier || looks.insert(delivery.key.clone()));
        Ok(out)
    }

    /// Whether changes go into this branch. Agents push to their own all day, and nothing rests on those.
    async fn is_base(&self, home: &RepoRef, branch: &str) -> bool {
        let memory = Kept::new(&self.app.inbox, home.id);
        branch == home.default_branch || memory.recall(&base_key(branch)).await.is_some()
    }

    /// The pull requests with this head, or that were merged as it.
    async fn with_head(&self, repo: &Repo, home: &RepoRef, head: &CommitId) -> Result<Vec<u64>, Halt> {
        let memory = Kept::new(&self.app.inbox, home.id);
        if let Some(known) = memory.recall(&head_key(head)).await {
            return Ok(known.split(' ').filter_map(|number| number.parse().ok()).collect());
        }
        let pulls = repo.pulls_for_commit(head).await?;
        let about = |pull: &&Fetched| {
            pull.head.sha == *head || (!pull.is_open() && pull.merge_commit_sha.as_ref() == Some(head))
        };
        Ok(pulls.iter().filter(about).map(|pull| pull.number).collect())
    }

    async fn change(&self, home: &RepoRef, number: u64, events: &[(String, Event)], attempt: u32) -> Derived {
        let repo = self.app.repo(home);
        let mirror = Mirror::open(&self.app.data, &home.slug)?;
        let Some((law, tip)) = observe::law(&mirror, &repo, home).await? else { return Ok(Vec::new()) };
        let ledger_branch = match &law {
            Law::Valid(policy) => policy.ledger.branch.clone(),
            Law::Invalid(_) => Policy::default().ledger.branch,
        };
        let ledger = self.app.ledger(home, &ledger_branch);
        let pull = match repo.get_pull(number).await {
            Ok(pull) => pull,
            // An issue. If it was linked, what is said on it is said on its change.
            Err(Error::NotFound { .. }) => return self.linked(home, &ledger, number, events).await,
            Err(error) => return Err(error.into()),
        };
        let pass = Pass {
            app: &self.app,
            memory: Kept::new(&self.app.inbox, home.id),
            home,
            repo,
            mirror,
            ledger,
            law,
            tip,
            attempt,
        };
        for _ in 0..MOST_RACES {
            match pass.once(&pull, events).await? {
                Raced::Yes => tracing::info!(number, "the change moved on meanwhile; looking again"),
                Raced::No(others) => {
                    let guid = events.first().map_or("", |(guid, _)| guid.as_str());
                    let looks = others.into_iter().map(|number| derived(guid, home, number, Fact::Look { number }));
                    return Ok(looks.flatten().collect());
                }
            }
        }
        Err(Halt::Again(anyhow::anyhow!("the change moved on {MOST_RACES} times while it was being decided")))
    }

    /// Passes what happened on a linked issue on to its change.
    async fn linked(&self, home: &RepoRef, ledger: &Ledger, issue: u64, events: &[(String, Event)]) -> Derived {
        let Some(change) = ledger.alias(issue).await?.filter(|change| change.0 != issue) else {
            return Ok(Vec::new());
        };
        // The alias only finds the change. Whether the issue is linked stands in its records, which are signed.
        let linked = match ledger.load(change).await {
            Ok(loaded) => loaded.state.is_some_and(|state| state.linked.contains(&issue)),
            Err(LedgerError::Broken(_)) => false,
            Err(error) => return Err(error.into()),
        };
        if !linked {
            return Ok(Vec::new());
        }
        let comments = events.iter().filter(|(_, event)| matches!(event.fact, Fact::Comment(_)));
        Ok(comments.filter_map(|(guid, event)| derived(guid, home, change.0, event.fact.clone())).collect())
    }
}

fn base_key(branch: &str) -> String {
    format!("base:{branch}")
}

/// The anchor beside the one in the merge check, which stays behind on the old head when a new one is pushed.
fn anchor_key(change: ChangeNumber) -> String {
    format!("anchor:{}", change.0)
}

fn head_key(head: &CommitId) -> String {
    format!("head:{head}")
}

/// How often a pass begins again because another writer was faster.
const MOST_RACES: usize = 5;
/// After so many tries an end that is missing is not lag any more.
const LAG_TRIES: u32 = 4;

enum Raced {
    Yes,
    /// Done; and these other changes are to be looked at.
    No(Vec<u64>),
}

struct Pass<'a> {
    app: &'a App,
    memory: Kept,
    home: &'a RepoRef,
    repo: Repo,
    mirror: Mirror,
    ledger: Arc<Ledger>,
    law: Law,
    tip: CommitId,
    attempt: u32,
}

impl Pass<'_> {
    fn policy(&self) -> Option<&Policy> {
        match &self.law {
            Law::Valid(policy) => Some(policy),
            Law::Invalid(_) => None,
        }
    }

    async fn once(&self, pull: &Fetched, events: &[(String, Event)]) -> Result<Raced, Halt> {
        let change = ChangeNumber(pull.number);
        let listed = self.repo.list_check_runs(&pull.head.sha).await?;
        let loaded = match self.ledger.load(change).await {
            Ok(loaded) => loaded,
            Err(LedgerError::Broken(broken)) => return self.show_broken(pull, &listed, &broken).await,
            Err(error) => return Err(error.into()),
        };
        if let Err(broken) = self.anchored(change, loaded.state.as_ref(), &listed).await {
            if broken.kind == BreakKind::CutOff && self.attempt < LAG_TRIES {
                return Err(Halt::Again(anyhow::anyhow!("the ledger's answer is older than our last write: {broken}")));
            }
            return self.show_broken(pull, &listed, &broken).await;
        }
        let world = self.world(pull, &listed, loaded.state.as_ref()).await?;
        let happened = self.happened(loaded.state.as_ref(), events).await?;
        // What would become of it decides whether others with the same head are to be asked.
        let ahead = self.decide(pull, &loaded, &world, &happened).await?;
        let would = engine::ahead(loaded.change, loaded.state.as_ref(), &ahead)
            .map_err(|refusal| Halt::Again(anyhow::anyhow!("the engine contradicts itself: {refusal}")))?;
        let world = self.with_rivals(pull, world, would.as_ref()).await?;
        let decision =
            if world.rivals.is_empty() { ahead } else { self.decide(pull, &loaded, &world, &happened).await? };
        let Some(state) = self.record(loaded, decision).await? else { return Ok(Raced::Yes) };
        if let Some(state) = state {
            let anchor = Anchor { change, seq: state.seq, tip: state.tip.clone() };
            self.memory.keep(&anchor_key(change), &anchor.to_string()).await;
            self.show(pull, &listed, &state, &world, events).await?;
        }
        Ok(Raced::No(self.remember_head(pull).await))
    }

    /// The anchors in our own merge check and in memory, held against what the ledger says.
    async fn anchored(&self, change: ChangeNumber, state: Option<&State>, listed: &[Listed]) -> Result<(), Break> {
        let ours = |run: &&Listed| run.name == CHECK_NAME && run.app.as_ref().is_some_and(|app| app.id == self.app.id);
        let kept = self.memory.recall(&anchor_key(change)).await;
        let shown = listed.iter().filter(ours).map(|run| run.external_id.as_str());
        let anchors = shown.chain(kept.as_deref()).filter_map(|text| text.parse::<Anchor>().ok());
        match anchors.filter(|anchor| anchor.change == change).max_by_key(|anchor| anchor.seq) {
            Some(anchor) => Ledger::hold_against(state, &anchor),
            None => Ok(()),
        }
    }

    async fn world(&self, pull: &Fetched, listed: &[Listed], state: Option<&State>) -> Result<World, Halt> {
        let (repo, policy) = (&self.repo, self.policy());
        let merged = pull.merge_commit_sha.clone().filter(|_| pull.is_merged());
        let subject = if pull.is_open() {
            let tip = (&self.tip, self.home.default_branch.as_str());
            observe::content(&self.mirror, repo, &self.law, tip, &pull.base.r#ref, &pull.head.sha, state).await?
        } else {
            // What was merged or closed does not change any more. (Once merged, head and base have nothing between
            // them, so reading it afresh would show nothing.)
            state.and_then(observe::recorded)
        };
        let (merge_checks, deployments) = match (&merged, state.and_then(|state| state.pipeline.as_ref())) {
            (Some(commit), Some(_)) => {
                let listed = repo.list_check_runs(commit).await?;
                let runs = observe::checks(repo, &self.memory, &listed, policy).await?;
                (runs, observe::deployments(repo, commit).await?)
            }
            _ => (Vec::new(), Vec::new()),
        };
        let labels: Vec<String> = pull.labels.iter().map(|label| label.name.clone()).collect();
        let fallback = Policy::default();
        Ok(World {
            default_branch: self.home.default_branch.clone(),
            app: self.app.id,
            law: self.law.clone(),
            effective: policy.unwrap_or(&fallback).effective(&pull.head.r#ref, &labels),
            pull: Pull {
                number: pull.number,
                open: pull.is_open(),
                draft: pull.draft,
                merged,
                author: pull.user.clone(),
                head: pull.head.sha.clone(),
                base_ref: pull.base.r#ref.clone(),
            },
            subject,
            checks: observe::checks(repo, &self.memory, listed, policy).await?,
            merge_checks,
            deployments,
            reviews: observe::reviews(repo, policy, pull.number).await?,
            rivals: Vec::new(),
        })
    }

    /// Adds the other pull requests with this head, where they could matter: a red is red without them.
    async fn with_rivals(&self, pull: &Fetched, mut world: World, state: Option<&State>) -> Result<World, Halt> {
        let green = state.is_none_or(|state| merge_gate(state, &world).verdict == Verdict::Pass);
        if pull.is_open() && green {
            world.rivals = self.rivals(pull).await?;
        }
        Ok(world)
    }

    /// Other open pull requests with this head, each judged by its own record.
    async fn rivals(&self, pull: &Fetched) -> Result<Vec<Rival>, Halt> {
        let mut rivals = Vec::new();
        for other in self.repo.pulls_for_commit(&pull.head.sha).await? {
            if other.number == pull.number || !other.is_open() || other.head.sha != pull.head.sha {
                continue;
            }
            let state = self.ledger.load(ChangeNumber(other.number)).await.ok().and_then(|loaded| loaded.state);
            let green = state.is_some_and(|state| {
                let current = state.subject.as_ref().is_some_and(|about| about.head == pull.head.sha);
                let judged = state.gates.get(&GateName::Merge).filter(|judged| judged.about.head == pull.head.sha);
                // What it says of us is ours to say.
                let green = judged.is_some_and(|judged| {
                    judged.findings.iter().filter(|finding| finding.blocks()).all(|finding| finding.rule == "MRG-10")
                });
                current && green && state.open
            });
            rivals.push(Rival { number: other.number, base_ref: other.base.r#ref.clone(), green });
        }
        Ok(rivals)
    }

    async fn decide(
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

    /// The state after the decision is recorded. `None`: another writer was faster.
    async fn record(&self, loaded: Loaded, decision: Decision) -> Result<Option<Option<State>>, Halt> {
        if decision.entries.is_empty() {
            return Ok(Some(loaded.state));
        }
        match self.ledger.append(loaded, Timestamp::now(), decision.entries).await {
            Ok(appended) => Ok(Some(Some(appended.state))),
            Err(LedgerError::Moved) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps which pull requests have this head: checks name commits, not pull requests. Says which others have the
    /// head that this one has left, by a push or by being closed: it does not stand in their way any more.
    async fn remember_head(&self, pull: &Fetched) -> Vec<u64> {
        let key = format!("head-of:{}", pull.number);
        let now = if pull.is_open() { pull.head.sha.as_str() } else { "none" };
        let before = self.memory.recall(&key).await;
        let left = before.as_deref().filter(|before| *before != now).and_then(|before| CommitId::new(before).ok());
        if before.as_deref() != Some(now) {
            self.memory.keep(&key, now).await;
        }
        let others = match left {
            Some(left) => self.memory.recall(&head_key(&left)).await.unwrap_or_default(),
            None => String::new(),
        };
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
        others.split(' ').filter_map(|number| number.parse().ok()).filter(|number| *number != pull.number).collect()
    }

    /// What happened that the world does not show.
    async fn happened(&self, state: Option<&State>, events: &[(String, Event)]) -> Result<Vec<Happened>, Halt> {
        let mut happened = Vec::new();
        for (guid, event) in events {
            match &event.fact {
                Fact::Pull { what: PullEvent::Synchronize, sender, .. } => {
                    happened.push(Happened::Pushed(sender.clone()));
                }
                Fact::Pull { what: PullEvent::ReadyForReview, .. } => happened.push(Happened::Ready),
                Fact::Comment(comment) => happened.extend(self.orders(state, comment).await?),
                Fact::CommentChanged { comment, deleted, sender, .. } => {
                    if let Some(state) = state
                        && sync::is_status_comment(state, &self.memory, *comment).await
                    {
                        let did = if *deleted { "deleted" } else { "edited" };
                        let what = format!("{} {did} this comment; it was put right.", sender.login);
                        happened.push(Happened::Tampered(what));
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
                        created_at: Timestamp::now(),
                    };
                    for mut given in command::parse("/explain", |line| line.strip_prefix('/')) {
                        given.index = word;
                        let standing = observe::standing(&self.repo, self.policy(), sender).await?;
                        let order = Order { comment: comment.clone(), given, standing };
                        happened.push(Happened::Command(Box::new(order)));
                    }
                }
                _ => {}
            }
        }
        Ok(happened)
    }

    /// The commands of a comment. Whoever may give one sees at once that it was received.
    async fn orders(&self, state: Option<&State>, comment: &Comment) -> Result<Vec<Happened>, Halt> {
        let commands = self.policy().map(|policy| policy.commands.clone()).unwrap_or_default();
        let given = command::parse(&comment.body, |line| commands.strip(line));
        let done = |index| state.is_some_and(|state| state.commands.contains(&(comment.id, index)));
        if comment.author.bot || given.iter().all(|given| done(given.index)) {
            return Ok(Vec::new());
        }
        let standing = observe::standing(&self.repo, self.policy(), &comment.author).await?;
        let known = given.iter().any(|given| given.spec.is_some()) || May::Move.allows(standing);
        if known && May::Ask.allows(standing) {
            sync::react(&self.repo, &self.memory, comment.id, Reaction::Eyes).await?;
        }
        let order = |given| Happened::Command(Box::new(Order { comment: comment.clone(), given, standing }));
        Ok(given.into_iter().map(order).collect())
    }

    async fn show(
        &self,
        pull: &Fetched,
        listed: &[Listed],
        state: &State,
        world: &World,
        events: &[(String, Event)],
    ) -> Result<(), Halt> {
        let (merge, phase) = (merge_gate(state, world), phase_gate(state, world));
        let server = self.app.hub.endpoint().server().trim_end_matches('/').to_owned();
        let seen = Seen { slug: &self.home.slug, server: &server, world, merge: &merge, phase: phase.as_ref() };
        let surface = surface::project(state, &seen);
        let labels: Vec<String> = pull.labels.iter().map(|label| label.name.clone()).collect();
        let present = sync::Present {
            repo: &self.repo,
            memory: &self.memory,
            app: self.app.id,
            pull: pull.number,
            labels: &labels,
            runs: listed,
            comment_changed: events.iter().any(|(_, event)| matches!(event.fact, Fact::CommentChanged { .. })),
        };
        sync::sync(state, &surface, &present).await?;
        Ok(())
    }

    /// `MRG-08`: a broken chain. Nothing is recorded on it; the merge check says where it breaks.
    async fn show_broken(&self, pull: &Fetched, listed: &[Listed], broken: &Break) -> Result<Raced, Halt> {
        tracing::error!(change = pull.number, %broken, "the ledger's chain is broken");
        if !pull.is_open() {
            return Ok(Raced::No(Vec::new()));
        }
        let finding = Finding::error(
            "MRG-08",
            format!("The ledger's chain is broken at {broken}."),
            format!(
                "Restore the ledger's branch to the last commit before that; `phasegate replay {}` shows the place.",
                pull.number
            ),
        );
        let merge = Judgement { verdict: Verdict::Fail, findings: vec![finding], evidence: Vec::new() };
        sync::show_broken(&pull.head.sha, &merge, listed, &self.repo, self.app.id).await?;
        Ok(Raced::No(Vec::new()))
    }
}
