//! From deliveries to passes: which change a delivery is about, and what becomes of a batch.
//!
//! A delivery that names a commit or a branch instead of a pull request is turned into one look a change; what is said
//! on a linked issue is handed to its change. Everything about one change then runs one after the other, by its key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::json;

use super::installed::{SUSPENDED, Whose, newest};
use super::intake::{BROKEN, delivery, group_key, matters};
use super::memory::Kept;
use super::observe::Read;
use super::pass::{LAG_TRIES, Pass, Raced, base_key, head_key, ledger_key};
use super::{App, Way, Word, apart, group, lease, ledger_branch, observe, own_runner};
use crate::fact::{Event, Fact, PullEvent};
use crate::gate::world::Law;
use crate::github::calls::issues::same_label;
use crate::github::calls::pulls::Pull as Fetched;
use crate::github::{Error, Repo, Speaker, webhook};
use crate::ids::{CommitId, RepoRef};
use crate::inbox::{Batch, Delivery, Handler, Item, Note, Outcome};
use crate::ledger::store::StoreError;
use crate::ledger::{Ledger, LedgerError};
use crate::policy::{self, Enforce, Policy};
use crate::surface::closed;
use crate::surface::hindrance::Hindrance;
use crate::surface::issues::issue_key;
use crate::surface::sync::Memory as _;

pub(super) struct Passes {
    pub(super) app: Arc<App>,
}

impl Passes {
    pub(super) fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

/// How a batch can end without being done.
pub(super) enum Halt {
    /// Not before then, through nobody's fault.
    Later(Timestamp, String),
    Again(anyhow::Error),
    /// GitHub's answer is older than what it has told us. It will have heard of it in a moment.
    Behind(String),
    /// There is no such installation.
    Gone(anyhow::Error),
    /// What has the repository's name is another one.
    Namesake(String),
    /// The installation is suspended. Somebody may let it in again.
    Suspended(String),
}

impl std::fmt::Display for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Later(_, why) | Self::Behind(why) | Self::Namesake(why) | Self::Suspended(why) => f.write_str(why),
            Self::Again(error) | Self::Gone(error) => write!(f, "{error:#}"),
        }
    }
}

impl Halt {
    pub(super) fn suspended() -> Self {
        Self::Suspended(Error::Suspended.to_string())
    }
}

impl<E: Into<anyhow::Error>> From<E> for Halt {
    fn from(error: E) -> Self {
        let error = error.into();
        for cause in error.chain() {
            match (cause.downcast_ref::<Error>(), of_store(cause)) {
                (Some(Error::RateLimited { until, .. }), _) | (_, Some(StoreError::Later { until })) => {
                    return Halt::Later(*until, error.to_string());
                }
                (Some(Error::Suspended), _) => return Halt::suspended(),
                (Some(Error::NotInstalled), _) => return Halt::Gone(error),
                _ => {}
            }
        }
        Halt::Again(error)
    }
}

/// What the ledger's branch had to say. The ledger passes it on as its own, so it is not among the causes of that.
fn of_store<'e>(cause: &'e (dyn std::error::Error + 'static)) -> Option<&'e StoreError> {
    cause.downcast_ref::<StoreError>().or(match cause.downcast_ref::<LedgerError>() {
        Some(LedgerError::Store(error)) => Some(error),
        _ => None,
    })
}

#[async_trait]
impl Handler for Passes {
    async fn handle(&self, batch: &Batch) -> Outcome {
        let mut events = Vec::new();
        for item in &batch.items {
            match understand(item) {
                // An echo of our own may have been taken before it was known who we are. Half of what we were about to write
                // when we died would look like somebody else's doing.
                Ok(event) => {
                    let event = event.filter(|event| matters(Some(&self.app), event));
                    events.extend(event.map(|event| (item.guid.clone(), event)));
                }
                Err(error) => return Outcome::Bury { error },
            }
        }
        let attempt = batch.items.iter().map(|item| item.attempt).max().unwrap_or(1);
        if batch.key.starts_with(BROKEN) {
            return ended(Ok(understood_now(batch, &events).into()), batch, attempt, self.app.inbox.now());
        }
        let result = match newest(&events) {
            // What a pass holds is much, and a worker's stack is small: it lies on the heap, step by step.
            Some(told) => apart(|| self.work_at(&told, batch, &events, attempt)).await,
            None => match self.installations(&events).await {
                Err(Halt::Gone(error)) if attempt >= LAG_TRIES => Ok(let_go(batch, &error)),
                result => result,
            },
        };
        if let (false, Err(Halt::Again(error))) = (self.app.remembers(), &result)
            && let Some(by) = hindrance(error)
        {
            // Nobody does anything about it within this run.
            self.app.tell(Word::Hindered { key: batch.key.clone(), by });
            return Outcome::Bury { error: format!("{error:#}") };
        }
        self.in_time(ended(result, batch, attempt, self.app.inbox.now()), attempt)
    }
}

/// What somebody has to give before it can be done.
fn hindrance(error: &anyhow::Error) -> Option<Hindrance> {
    error.chain().find_map(|cause| match of_store(cause) {
        // It is commits on a branch, and GraphQL does not tell what those take.
        Some(StoreError::NotPermitted(_)) => Some(Hindrance::Permission(Some("Contents: write".to_owned()))),
        Some(StoreError::Refused(says)) if says.to_lowercase().contains("rule violations") => Some(Hindrance::KeptOff),
        _ => {
            let lacks = cause.downcast_ref::<Error>()?.lacks_permission()?;
            Some(Hindrance::Permission(lacks.map(str::to_owned)))
        }
    })
}

impl Passes {
    /// A run does not wait as long as a server: what GitHub has not heard of yet, and what it says when it stays so, has
    /// to fit into its time.
    fn in_time(&self, outcome: Outcome, attempt: u32) -> Outcome {
        match (&self.app.way, outcome) {
            (Way::Workflow { first_wait, .. }, Outcome::Retry { error, not_before: None, counts: true }) => {
                let wait = *first_wait * 3_u32.saturating_pow(attempt.saturating_sub(1).min(8));
                Outcome::Retry { error, not_before: Some(self.app.inbox.now() + wait), counts: true }
            }
            (_, outcome) => outcome,
        }
    }

    /// Works off a batch under the installation that its repository is in.
    async fn work_at(&self, told: &RepoRef, batch: &Batch, events: &[(String, Event)], attempt: u32) -> Derived {
        let mut home = told.clone();
        let mut result = apart(|| self.work(&home, batch, events, attempt)).await;
        if let Err(halt) = result {
            // Who came last has not been tried as often as the others.
            let tried = batch.items.iter().map(|item| item.attempt).min().unwrap_or(1);
            result = match self.whose(told, halt, events, tried).await {
                Whose::Another(now) => {
                    home = now;
                    apart(|| self.work(&home, batch, events, attempt)).await
                }
                Whose::Nobodys(error) => Ok(let_go(batch, &error)),
                Whose::Same(halt) => Err(halt),
            };
        }
        if let (Err(Halt::Again(error)), Some(number)) = (&result, number(batch))
            // What hinders it does so the next time too, and in a workflow there is none.
            && (attempt >= FAULT_SHOWN || hindrance(error).is_some())
        {
            self.close_the_gate(&home, number, error, attempt).await;
        }
        result
    }

    async fn work(&self, home: &RepoRef, batch: &Batch, events: &[(String, Event)], attempt: u32) -> Derived {
        match number(batch) {
            Some(number) => self.change(home, number, events, attempt).await,
            None if own_runner::is_run(&batch.key) => self.run(home, events, attempt).await,
            None if lease::is_lease(&batch.key) => self.lease(home, events),
            None if batch.key.contains("/group-") => self.group(home, events, attempt).await,
            None => self.route(home, events).await,
        }
    }
}

/// Whether a pull request is one of a repository that only has the name of ours.
fn is_of_another(pull: &Fetched, home: &RepoRef) -> bool {
    pull.base.repo.as_ref().is_some_and(|base| base.id != home.id.0)
}

/// The pull requests of a branch that were closed with this head, which GitHub does not count to the commit: what a review
/// says on one of them stands against the same work under another number.
async fn closed_with(repo: &Repo, owner: &str, branch: &str, head: &CommitId) -> Result<Vec<u64>, Halt> {
    let pulls = repo.pulls_from(&format!("{owner}:{branch}")).await?;
    let closed = pulls.iter().filter(|pull| !pull.is_open() && !pull.is_merged() && pull.head.sha == *head);
    Ok(closed.map(|pull| pull.number).collect())
}

/// What could not be understood when it came, and can be now: the same, in the place where it belongs.
fn understood_now(batch: &Batch, events: &[(String, Event)]) -> Vec<Delivery> {
    let items: BTreeMap<&str, &Item> = batch.items.iter().map(|item| (item.guid.as_str(), item)).collect();
    let again = events.iter().filter_map(|(guid, event)| {
        let item = items.get(guid.as_str())?;
        Some(delivery(format!("{guid}/understood"), item.event.clone(), event))
    });
    again.collect()
}

/// The change that a batch is about, by its key.
fn number(batch: &Batch) -> Option<u64> {
    batch.key.rsplit_once('/').and_then(|(_, number)| number.parse().ok())
}

/// Nothing there is ours to look at any more. Should it be installed again, everything open is looked at.
fn let_go(batch: &Batch, error: &anyhow::Error) -> Follows {
    tracing::info!(key = batch.key, %error, "deliveries are let go");
    Follows::default()
}

/// What becomes of a batch.
fn ended(result: Derived, batch: &Batch, attempt: u32, now: Timestamp) -> Outcome {
    match result {
        Ok(Follows { deliveries, notes }) if deliveries.is_empty() && notes.is_empty() => Outcome::Done,
        Ok(Follows { deliveries, notes }) => Outcome::DoneWith { deliveries, notes },
        Err(Halt::Later(until, error)) => Outcome::Retry { error, not_before: Some(until), counts: false },
        Err(Halt::Suspended(error)) => Outcome::Retry { error, not_before: Some(now + SUSPENDED), counts: false },
        Err(Halt::Behind(error) | Halt::Namesake(error)) => {
            tracing::info!(key = batch.key, attempt, error, "GitHub is behind what it told");
            Outcome::Retry { error, not_before: None, counts: true }
        }
        Err(Halt::Again(error) | Halt::Gone(error)) => {
            tracing::warn!(key = batch.key, attempt, error = format!("{error:#}"), "a pass failed");
            Outcome::Retry { error: format!("{error:#}"), not_before: None, counts: true }
        }
    }
}

/// The name under which deliveries that we make ourselves are kept.
pub(super) const OWN_EVENT: &str = "phasegate";

#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Own {
    pub(super) repo: Option<RepoRef>,
    pub(super) fact: Fact,
}

/// In a delivery's `meta`: how it is kept.
pub(super) const KEPT: &str = "kept";
pub(super) const AS_FACT: &str = "fact";

/// An event as it is kept.
pub(super) fn written(event: &Event) -> Vec<u8> {
    #[derive(serde::Serialize)]
    struct Own<'e> {
        repo: Option<&'e RepoRef>,
        fact: &'e Fact,
    }
    let own = Own { repo: event.repo.as_ref(), fact: &event.fact };
    serde_json::to_vec(&own).expect("a fact is plain data, and memory takes all of it")
}

/// What could not be understood when it came is kept as it came; so is what an earlier version has kept.
fn understand(item: &Item) -> Result<Option<Event>, String> {
    if item.event == OWN_EVENT || item.meta[KEPT] == AS_FACT {
        let own: Own = serde_json::from_slice(&item.payload).map_err(|error| error.to_string())?;
        return Ok(Some(Event { repo: own.repo, fact: own.fact }));
    }
    webhook::parse(&item.event, &item.payload).map_err(|error| error.to_string())
}

/// A fact for one change, derived from a delivery that named none.
pub(super) fn derived(guid: &str, repo: &RepoRef, number: u64, fact: Fact) -> Option<Delivery> {
    let payload = serde_json::to_vec(&Own { repo: Some(repo.clone()), fact: fact.clone() }).ok()?;
    let barrier = !matches!(fact, Fact::Look { .. } | Fact::Checks { .. });
    Some(Delivery {
        guid: format!("{guid}/{number}"),
        event: OWN_EVENT.to_owned(),
        installation: Some(repo.installation),
        repo: Some(repo.id),
        key: format!("{}/{number}", repo.id.0),
        barrier,
        payload,
        meta: json!({ "about": format!("{}#{number}", repo.slug) }),
    })
}

/// A look at a merge group, derived from something that it rests on.
pub(super) fn derived_group(guid: &str, repo: &RepoRef, fact: &Fact) -> Option<Delivery> {
    let Fact::MergeGroup { head, .. } = fact else { return None };
    let payload = serde_json::to_vec(&Own { repo: Some(repo.clone()), fact: fact.clone() }).ok()?;
    Some(Delivery {
        guid: format!("{guid}/group-{head}"),
        event: OWN_EVENT.to_owned(),
        installation: Some(repo.installation),
        repo: Some(repo.id),
        key: group_key(repo.id, head),
        barrier: false,
        payload,
        meta: json!({ "about": format!("{}, merge group {}", repo.slug, head.short()) }),
    })
}

/// What follows from a batch. It is stored with the answer, all of it or nothing.
#[derive(Default)]
pub(super) struct Follows {
    pub(super) deliveries: Vec<Delivery>,
    pub(super) notes: Vec<Note>,
}

impl From<Vec<Delivery>> for Follows {
    fn from(deliveries: Vec<Delivery>) -> Self {
        Self { deliveries, notes: Vec::new() }
    }
}

impl FromIterator<Delivery> for Follows {
    fn from_iter<T: IntoIterator<Item = Delivery>>(deliveries: T) -> Self {
        deliveries.into_iter().collect::<Vec<_>>().into()
    }
}

pub(super) type Derived = Result<Follows, Halt>;

impl Passes {
    /// Finds the changes that a fact without a number is about.
    async fn route(&self, home: &RepoRef, events: &[(String, Event)]) -> Derived {
        let repo = self.app.repo(home);
        let mut out: Vec<(bool, Delivery)> = Vec::new();
        for (guid, event) in events {
            if event.fact == Fact::LookAround {
                out.extend(self.look_around(guid, home).await?.into_iter().map(|delivery| (true, delivery)));
                continue;
            }
            let group = self.group_at(home, &event.fact).await;
            let of_group = group.as_ref().and_then(|group| derived_group(guid, home, group));
            out.extend(of_group.map(|delivery| (true, delivery)));
            let (numbers, fact) = match &event.fact {
                // A group has no pull request of its own. What was merged as it is known here.
                Fact::Checks { head, .. } | Fact::Button { head, .. } if group.is_some() => {
                    (self.known_with(home, head).await.unwrap_or_default(), None)
                }
                // What completed goes along: the look has to find it.
                Fact::Checks { head, completed, branch, owner, .. } => {
                    let mut numbers = self.with_head(&repo, home, head).await?;
                    if let (false, Some(branch)) = (self.app.remembers(), branch) {
                        let owner = owner.as_deref().unwrap_or(home.slug.owner());
                        numbers.extend(closed_with(&repo, owner, branch, head).await?);
                    }
                    (numbers, completed.map(|_| event.fact.clone()))
                }
                Fact::Deployment { commit, .. } => (self.with_head(&repo, home, commit).await?, None),
                Fact::Button { head, .. } => (self.with_head(&repo, home, head).await?, Some(event.fact.clone())),
                // Somebody else wrote on the ledger's branch, or took it away.
                Fact::Push { branch, .. } if self.is_ledger(home, branch).await => {
                    let pulls = repo.list_open_pulls(None).await?;
                    (pulls.iter().map(|pull| pull.number).collect(), None)
                }
                // The base moved under these, and on the default branch the law may have.
                Fact::Push { branch, after: Some(_), .. } if self.is_base(home, branch).await => {
                    let pulls = repo.list_open_pulls(None).await?;
                    let all = *branch == home.default_branch;
                    let numbers = pulls.iter().filter(|pull| all || pull.base.r#ref == *branch);
                    (numbers.map(|pull| pull.number).collect(), None)
                }
                // Its default branch may be another now, and with it the law; or it can be written to again.
                Fact::Repository { .. } => {
                    let pulls = repo.list_open_pulls(None).await?;
                    (pulls.iter().map(|pull| pull.number).collect(), None)
                }
                _ => (Vec::new(), None),
            };
            for number in numbers {
                let is_look = fact.is_none();
                let fact = fact.clone().unwrap_or(Fact::Look { number });
                out.extend(derived(guid, home, number, fact).map(|delivery| (is_look, delivery)));
            }
        }
        // Several looks at one change are one look.
        let mut looks = BTreeSet::new();
        out.retain(|(is_look, delivery)| !is_look || looks.insert(delivery.key.clone()));
        Ok(out.into_iter().map(|(_, delivery)| delivery).collect())
    }

    /// Whether changes go into this branch. Agents push to their own all day, and nothing rests on those.
    async fn is_base(&self, home: &RepoRef, branch: &str) -> bool {
        let memory = Kept::new(&self.app.inbox, home.id);
        branch == home.default_branch || memory.recall(&base_key(branch)).await.is_some()
    }

    async fn is_ledger(&self, home: &RepoRef, branch: &str) -> bool {
        let memory = Kept::new(&self.app.inbox, home.id);
        branch == self.app.ledger_at(Policy::default().ledger.branch)
            || memory.recall(&ledger_key(branch)).await.is_some()
    }

    /// Looks at the other pull requests that have one of these heads: a check belongs to a commit, so what became of
    /// one of them is something that the others rest on.
    async fn rivals_of(
        &self,
        home: &RepoRef,
        number: u64,
        heads: &BTreeSet<CommitId>,
        guid: &str,
    ) -> Result<Vec<Delivery>, Halt> {
        let repo = self.app.repo(home);
        let mut others = BTreeSet::new();
        for head in heads {
            others.extend(self.with_head(&repo, home, head).await?);
        }
        others.remove(&number);
        Ok(others.into_iter().filter_map(|number| derived(guid, home, number, Fact::Look { number })).collect())
    }

    /// The pull requests with this head, or that were merged as it.
    async fn with_head(&self, repo: &Repo, home: &RepoRef, head: &CommitId) -> Result<Vec<u64>, Halt> {
        // What is remembered of a run's own looks is not all that there is.
        if let Some(known) = self.known_with(home, head).await.filter(|_| self.app.remembers()) {
            return Ok(known);
        }
        let pulls = repo.pulls_for_commit(head).await?;
        let about = |pull: &&Fetched| {
            pull.head.sha == *head || (!pull.is_open() && pull.merge_commit_sha.as_ref() == Some(head))
        };
        let found: Vec<u64> = pulls.iter().filter(about).map(|pull| pull.number).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        // A head in a fork is not always told of there.
        let open = repo.list_open_pulls(None).await?;
        Ok(open.iter().filter(|pull| pull.head.sha == *head).map(|pull| pull.number).collect())
    }

    async fn known_with(&self, home: &RepoRef, head: &CommitId) -> Option<Vec<u64>> {
        let known = Kept::new(&self.app.inbox, home.id).recall(&head_key(head)).await?;
        Some(known.split(' ').filter_map(|number| number.parse().ok()).collect())
    }

    /// The repository with the default branch that it has now, where the law is. A delivery tells of the one that it had
    /// then, and may be late. What was asked for once is believed as long as deliveries say the same.
    pub(super) async fn at_home(&self, told: &RepoRef) -> Result<RepoRef, Halt> {
        let memory = Kept::new(&self.app.inbox, told.id);
        if memory.recall(DEFAULT_BRANCH).await.as_ref() == Some(&told.default_branch) {
            return Ok(told.clone());
        }
        let default_branch = self.app.repo(told).get_repo().await?.default_branch;
        memory.keep(DEFAULT_BRANCH, &default_branch).await;
        Ok(RepoRef { default_branch, ..told.clone() })
    }

    /// Looks at a change until nobody else has moved it on meanwhile. Whoever did may have done so by another policy or for
    /// another head: each look reads both anew.
    async fn change(&self, told: &RepoRef, number: u64, events: &[(String, Event)], attempt: u32) -> Derived {
        for _ in 0..MOST_RACES {
            if let Some(follows) = apart(|| self.look(told, number, events, attempt)).await? {
                return Ok(follows);
            }
            tracing::info!(number, "the change moved on meanwhile; looking again");
        }
        Err(Halt::Again(anyhow::anyhow!("the change moved on {MOST_RACES} times while it was being decided")))
    }

    /// One look at a change, and what follows from it. Nothing, where the change moved on meanwhile.
    async fn look(
        &self,
        told: &RepoRef,
        number: u64,
        events: &[(String, Event)],
        attempt: u32,
    ) -> Result<Option<Follows>, Halt> {
        let home = &self.at_home(told).await?;
        let repo = self.app.repo(home);
        let memory = Kept::new(&self.app.inbox, home.id);
        // People edit and close issues all day; those of escalations are known.
        let issue =
            events.iter().all(|(_, event)| matches!(event.fact, Fact::Issue { number: of, .. } if of == number));
        if issue && self.app.remembers() && memory.recall(&issue_key(number)).await.is_none() {
            return Ok(Some(Follows::default()));
        }
        let mirror = self.app.mirror(home)?;
        let Some(mut read) = observe::law(&mirror, home).await? else {
            self.app.tell(Word::Notice(format!(
                "{} has no {} on {}, so nothing is judged and nobody hears anything. Add one there: the templates have \
                 some to begin with.",
                home.slug,
                policy::PATH,
                home.default_branch
            )));
            return Ok(Some(Follows::default()));
        };
        let branch = self.app.ledger_at(ledger_branch::choose(&mut read, home, &repo, &memory).await?);
        let ledger = self.app.ledger(home, &branch);
        // What was just said of a pull request may not have reached the replica that answers.
        let known = events.iter().any(|(_, event)| match &event.fact {
            Fact::Pull { .. } | Fact::Review { .. } => true,
            Fact::Comment(comment) => comment.on_pull && comment.number == number,
            _ => false,
        });
        let asked = if known { repo.expect_exists() } else { repo.clone() };
        let pull = match asked.get_pull(number).await {
            Ok(pull) => pull,
            // An issue. If it was linked, what is said on it is said on its change.
            Err(Error::NotFound { .. }) => return self.linked(home, &ledger, number, events).await.map(Some),
            Err(error) => return Err(error.into()),
        };
        if is_of_another(&pull, home) {
            return Err(Halt::Namesake(format!("{} is another repository by now", home.slug)));
        }
        let default_branch = pull.base.repo.as_ref().and_then(|base| base.default_branch.as_ref());
        if let Some(now) = default_branch.filter(|now| **now != home.default_branch) {
            memory.keep(DEFAULT_BRANCH, now).await;
            return Err(Halt::Behind(format!("the default branch is {now} by now, and what was told is older")));
        }
        if attempt < LAG_TRIES && is_behind(&pull, events) {
            return Err(Halt::Behind(format!("pull request #{number} is not yet as it was told")));
        }
        let pass =
            Pass { app: &self.app, memory, home, repo, mirror, ledger, branch, law: read.law, tip: read.tip, attempt };
        let Raced::No(moved) = apart(|| pass.once(&pull, events)).await? else { return Ok(None) };
        let guid = events.last().map_or("", |(guid, _)| guid.as_str());
        let mut out = self.rivals_of(home, number, &moved.heads, guid).await?;
        let kin = moved.kin.iter().map(|other| other.0);
        out.extend(kin.filter_map(|number| derived(guid, home, number, Fact::Look { number })));
        let groups = moved.groups.iter().map(group::fact);
        out.extend(groups.filter_map(|group| derived_group(guid, home, &group)));
        Ok(Some(Follows { deliveries: out, notes: moved.told.into_iter().collect() }))
    }

    /// A look that fails again and again must not leave a green behind that nobody looks after.
    async fn close_the_gate(&self, told: &RepoRef, number: u64, error: &anyhow::Error, attempt: u32) {
        let Ok(home) = &self.at_home(told).await else { return };
        let repo = self.app.repo(home);
        let Ok(pull) = repo.get_pull(number).await else { return };
        if !pull.is_open() || is_of_another(&pull, home) {
            return;
        }
        let mirror = self.app.mirror(home);
        let read = match mirror {
            Ok(mirror) => observe::law(&mirror, home).await.ok(),
            Err(_) => None,
        };
        let observed = match read {
            // Without a policy nobody hears anything, not even this.
            Some(None) => return,
            Some(Some(Read { law: Law::Valid(policy), .. })) => policy.enforce == Enforce::Observe,
            _ => false,
        };
        let says = format!("{error:#}");
        let given_up_after = Some(attempt).filter(|attempt| *attempt >= self.app.inbox.max_attempts());
        let fault = closed::Fault {
            head: &pull.head.sha,
            number,
            says: &says,
            hindrance: hindrance(error),
            tried: match &self.app.way {
                Way::Workflow { advisory: true, .. } => closed::Tried::ByARun(Speaker::Token),
                Way::Workflow { advisory: false, .. } => closed::Tried::ByARun(Speaker::App),
                Way::Server => closed::Tried::ByAServer { given_up_after },
            },
            observed,
        };
        if let Err(error) = closed::show_fault(&fault, &repo, self.app.id).await {
            tracing::warn!(number, %error, "that a look can't be finished can't be shown either");
        }
    }

    /// Passes what happened on a linked issue on to its change.
    async fn linked(&self, home: &RepoRef, ledger: &Ledger, issue: u64, events: &[(String, Event)]) -> Derived {
        let Some(change) = ledger.linked_to(issue).await? else { return Ok(Follows::default()) };
        let told = events.iter().filter(|(_, event)| matches!(event.fact, Fact::Comment(_) | Fact::Issue { .. }));
        Ok(told.filter_map(|(guid, event)| derived(guid, home, change.0, event.fact.clone())).collect())
    }
}

/// Whether a pull request is still as it was before something that was told of it. Without this a push that a replica has
/// not heard of would be looked at as if it had not happened, and nobody would look again. (A late delivery can look the
/// same, after which it was moved back; that costs a few tries.)
fn is_behind(pull: &Fetched, events: &[(String, Event)]) -> bool {
    let told = |wanted: &dyn Fn(&PullEvent, &CommitId, Option<&CommitId>) -> bool| {
        events.iter().any(|(_, event)| match &event.fact {
            Fact::Pull { what, head, before, .. } => wanted(what, head, before.as_ref()),
            _ => false,
        })
    };
    let here = &pull.head.sha;
    let left = told(&|what, head, before| *what == PullEvent::Synchronize && before == Some(here) && head != here);
    let came = told(&|what, head, _| *what == PullEvent::Synchronize && head == here);
    let closed = told(&|what, _, _| *what == PullEvent::Closed);
    let reopened = told(&|what, _, _| *what == PullEvent::Reopened);
    (left && !came)
        || (closed && !reopened && pull.is_open())
        || (reopened && !closed && !pull.is_open())
        || has_other_labels(pull, events)
}

/// Whether a pull request does not have a label that somebody put on, or has one that somebody took off. What we do to
/// labels ourselves is told too, and is often over when it is looked at.
fn has_other_labels(pull: &Fetched, events: &[(String, Event)]) -> bool {
    let told = |wanted: PullEvent| {
        events.iter().filter_map(move |(_, event)| match &event.fact {
            Fact::Pull { what, label: Some(label), sender, .. } if *what == wanted => Some((label, sender)),
            _ => None,
        })
    };
    let differs = |(did, undid): (PullEvent, PullEvent), there: bool| {
        told(did).any(|(label, sender)| {
            !sender.bot
                && pull.labels.iter().any(|one| same_label(&one.name, label)) == there
                && !told(undid).any(|(other, _)| same_label(other, label))
        })
    };
    differs((PullEvent::Labeled, PullEvent::Unlabeled), false)
        || differs((PullEvent::Unlabeled, PullEvent::Labeled), true)
}

/// Under this the default branch is remembered.
const DEFAULT_BRANCH: &str = "default-branch";
/// From this try on people are shown that a look can't be finished.
pub(super) const FAULT_SHOWN: u32 = 2;
/// How often a pass begins again because another writer was faster.
const MOST_RACES: usize = 5;

#[cfg(test)]
mod tests;
