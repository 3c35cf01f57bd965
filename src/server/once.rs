//! One run in a workflow: what happened is worked off by the same passes as a server's, and then it is over.
//!
//! There is no memory from one run to the next but the ledger. So a run is level-triggered: whatever started it, it reads
//! what was said on the change since the ledger's cursor, because GitHub cancels runs that wait behind another, and starts
//! none for what a workflow's token did.
//!
//! With an App's key the run speaks as that App, and its merge check can be required. With a workflow's own token it speaks
//! as GitHub Actions, like every other workflow that anybody may push: then all of it is advisory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, bail};
use jiff::SignedDuration;
use secrecy::SecretString;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::pass::Pass;
use super::route::{Halt, OWN_EVENT, Passes};
use super::{App, Way, intake};
use crate::engine::command;
use crate::fact::{Comment, Event, Fact};
use crate::finding::{Finding, Verdict};
use crate::gate::merge::CHECK_NAME;
use crate::gate::only_waiting;
use crate::gate::world::{ACTIONS_APP, ACTIONS_SLUG};
use crate::github::calls::comments::IssueComment;
use crate::github::calls::pulls::Pull as Fetched;
use crate::github::{AppKey, Credentials, Endpoint, Error, Hub, Keys, PublicKey, Repo};
use crate::ids::{CommitId, InstallationId, RepoId, RepoRef, Slug};
use crate::inbox::{self, Clock, Delivery, Inbox, SystemClock, run_workers};
use crate::ledger::record::{Body, By, ShownFiles};
use crate::ledger::unsigned::Unsigned;
use crate::ledger::{Entry, KeyRing, LedgerError, Signer, State};
use crate::surface::hindrance::Hindrance;
use crate::surface::{self, Seen, Surface, sync};

/// All that a run needs to know.
pub struct OnceConfig {
    pub identity: Identity,
    pub endpoint: Endpoint,
    pub slug: Slug,
    /// By what this run is known: the same where it is run again, and no other's. What it was told is noted once under it.
    pub run: String,
    /// A folder for the inbox and the mirrors. It can be thrown away afterwards.
    pub data: PathBuf,
    /// How long is waited for what fails and may not fail again.
    pub patience: Duration,
    pub paced: bool,
}

/// As whom a run speaks.
pub enum Identity {
    App {
        issuer: String,
        key: Arc<AppKey>,
        earlier_keys: Vec<PublicKey>,
    },
    /// A workflow's own token.
    Workflow {
        token: SecretString,
    },
}

impl Identity {
    pub fn is_advisory(&self) -> bool {
        matches!(self, Self::Workflow { .. })
    }
}

/// What every title begins with that is no gate's.
const ADVISORY: &str = "Advisory: ";

/// Where a change stands after it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    pub change: u64,
    pub head: Option<CommitId>,
    /// `merge` in the merge flow, else the phase that it is in.
    pub phase: String,
    pub verdict: Standing,
    /// Why, in a line: the merge check's title.
    pub reason: String,
    pub findings: Vec<Finding>,
}

/// What the merge check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Standing {
    Pass,
    Fail,
    /// Nothing is wrong, and something is still to come.
    Waiting,
    /// It is merged or closed.
    Over,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Heard {
    /// The changes that were looked at, in their order.
    pub changes: Vec<Told>,
    /// What could not be done, each with the change or the repository that it is about.
    pub faults: Vec<Fault>,
    /// What somebody is to know.
    pub notices: Vec<String>,
    /// The policy only observes, so nothing that was said holds anybody back.
    pub observing: bool,
}

/// A look that could not be finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub about: String,
    pub says: String,
    /// What hindered it, and would the next time too.
    pub hindrance: Option<Hindrance>,
}

/// What a pass has to say to the run that it is a part of.
#[derive(Debug)]
pub(crate) enum Word {
    Stands(Told),
    /// The policy only observes.
    Observes,
    /// Something that somebody is to know.
    Notice(String),
    /// What is kept under this key was hindered by something that stays.
    Hindered {
        key: String,
        by: Hindrance,
    },
}

/// A run that knows who and where it is.
pub struct Once {
    app: Arc<App>,
    home: RepoRef,
    run: String,
    told: mpsc::UnboundedReceiver<Word>,
    patience: Duration,
}

impl Once {
    /// Asks GitHub who we are and where.
    pub async fn begin(config: OnceConfig) -> anyhow::Result<Self> {
        Self::begin_at(config, Arc::new(SystemClock), Arc::new(crate::github::SystemClock)).await
    }

    /// The same by other clocks, as for [`Server::start_at`](super::Server::start_at).
    pub async fn begin_at(
        config: OnceConfig,
        clock: Arc<dyn Clock>,
        waits: Arc<dyn crate::github::Clock>,
    ) -> anyhow::Result<Self> {
        let advisory = config.identity.is_advisory();
        let wait = (Arc::clone(&waits), config.patience);
        let credentials = match &config.identity {
            Identity::App { issuer, key, .. } => Credentials::App { issuer: issuer.clone(), key: Arc::clone(key) },
            Identity::Workflow { token } => Credentials::workflow(token.clone()),
        };
        let options = crate::github::Options {
            paced: config.paced,
            mark: advisory.then_some(ADVISORY),
            buttons: false,
            clock: waits,
            ..Default::default()
        };
        let hub =
            Hub::with_options(config.endpoint, credentials, options).context("the GitHub client can't be made")?;
        let (id, login, installation, signer, keys) = match config.identity {
            Identity::App { key, earlier_keys, .. } => {
                let me = patiently(&wait, || hub.app()).await;
                let me = me.context("GitHub does not say who this App is: check its id and its key")?;
                let installation = installed(&hub, &config.slug, &me.slug, &wait).await?;
                let keys: Keys = earlier_keys.into_iter().chain([key.public().clone()]).collect();
                let keys: Arc<dyn KeyRing> = Arc::new(keys);
                (me.id, format!("{}[bot]", me.slug), installation, key as Arc<dyn Signer>, keys)
            }
            Identity::Workflow { .. } => {
                let login = hub.login().await?.to_owned();
                let nobody: Arc<dyn Signer> = Arc::new(Unsigned);
                let actions = patiently(&wait, || hub.app_called(ACTIONS_SLUG, THE_TOKENS)).await;
                let actions = actions.context("GitHub does not say who Actions is")?;
                let id = actions.map_or(ACTIONS_APP, |actions| actions.id);
                if let Some(other) = another(&hub.repo(THE_TOKENS, config.slug.clone()), &login).await {
                    bail!(
                        "the token is that of `{other}`, and not the workflow's own. For a gate by that App give its id and key \
                         (`app-id` and `private-key`); for advice leave `github-token` out"
                    );
                }
                (id, login, THE_TOKENS, nobody, Arc::new(Unsigned) as Arc<dyn KeyRing>)
            }
        };
        let repo = hub.repo(installation, config.slug.clone());
        let known = patiently(&wait, || repo.get_repo()).await;
        let known = known.with_context(|| format!("{} can't be read", config.slug))?;
        let home = RepoRef {
            id: RepoId(known.id),
            slug: known.full_name.parse().context("GitHub gives a name that is none")?,
            installation,
            default_branch: known.default_branch,
        };
        let database = config.data.join("inbox.db");
        let options = inbox::Options { clock, ..inbox::Options::default() };
        let inbox = Inbox::open_with(&format!("sqlite:{}", database.display()), options).await?;
        let (told, listener) = mpsc::unbounded_channel();
        let app = App {
            hub,
            signer,
            keys,
            id,
            login,
            inbox,
            data: config.data,
            ledgers: Mutex::default(),
            way: Way::Workflow { advisory, told, first_wait: first_wait(config.patience) },
            answerable: false,
            runner: None,
            evidence: None,
        };
        Ok(Self { app: Arc::new(app), home, run: config.run, told: listener, patience: config.patience })
    }

    /// The repository, as GitHub knows it.
    pub fn home(&self) -> &RepoRef {
        &self.home
    }

    /// What there is to be done.
    pub fn inbox(&self) -> &Inbox {
        &self.app.inbox
    }

    /// Works off what happened, and what follows from it.
    pub async fn work(self, facts: Vec<Fact>) -> anyhow::Result<Heard> {
        self.take(facts).await?;
        self.finish().await
    }

    /// Keeps what happened.
    pub async fn take(&self, facts: Vec<Fact>) -> anyhow::Result<()> {
        for (at, fact) in facts.into_iter().enumerate() {
            self.app.inbox.put(&self.delivery(at, fact)).await?;
        }
        Ok(())
    }

    /// Works off what is kept, and ends.
    pub async fn finish(mut self) -> anyhow::Result<Heard> {
        let inbox = self.app.inbox.clone();
        let stop = CancellationToken::new();
        let passes = Arc::new(Passes::new(Arc::clone(&self.app)));
        let workers = tokio::spawn(run_workers(inbox.clone(), WORKERS, passes, stop.clone()));
        let finished = tokio::time::timeout(self.patience, inbox.emptied()).await;
        stop.cancel();
        workers.await.context("the work ended badly")?;
        if let Ok(emptied) = finished {
            emptied?;
        }
        let mut heard = Heard::default();
        let (mut last, mut hindered) = (BTreeMap::new(), BTreeMap::new());
        while let Ok(word) = self.told.try_recv() {
            match word {
                Word::Stands(told) => drop(last.insert(told.change, told)),
                Word::Observes => heard.observing = true,
                Word::Notice(notice) if heard.notices.contains(&notice) => {}
                Word::Notice(notice) => heard.notices.push(notice),
                Word::Hindered { key, by } => drop(hindered.insert(key, by)),
            }
        }
        heard.changes = last.into_values().collect();
        for entry in inbox.list(&inbox::Filter { limit: 1000, ..inbox::Filter::default() }).await? {
            if entry.state != inbox::State::Done {
                let about = entry.meta.get("about").and_then(|about| about.as_str()).unwrap_or(&entry.key).to_owned();
                // GitHub tells of rules in several lines, and this goes into one.
                let says = entry.error.map(|says| says.split_whitespace().collect::<Vec<_>>().join(" "));
                let says = says.unwrap_or_else(|| out_of_time(self.patience));
                heard.faults.push(Fault { about, says, hindrance: hindered.get(&entry.key).cloned() });
            }
        }
        inbox.close().await;
        Ok(heard)
    }

    fn delivery(&self, at: usize, fact: Fact) -> Delivery {
        let event = Event { repo: Some(self.home.clone()), fact };
        intake::delivery(format!("run-{}-{at}", self.run), OWN_EVENT.to_owned(), &event)
    }
}

fn out_of_time(patience: Duration) -> String {
    format!(
        "there was no time left for it within {} seconds; the next scheduled run begins elsewhere. For more time set \
         PHASEGATE_PATIENCE in the job's env, and timeout-minutes above it",
        patience.as_secs()
    )
}

/// Whose token this is, where it is not the workflows' own. Where it can't be asked it is taken for that.
async fn another(repo: &Repo, expected: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Asked {
        viewer: Viewer,
    }
    #[derive(serde::Deserialize)]
    struct Viewer {
        login: String,
    }
    let asked: Asked = repo.graphql("query { viewer { login } }", serde_json::json!({})).await.ok()?;
    // GraphQL calls bots by their plain names in most places.
    let plain = |login: &str| login.trim_end_matches("[bot]").to_owned();
    Some(plain(&asked.viewer.login)).filter(|login| *login != plain(expected))
}

/// A workflow's token belongs to an installation that nobody tells of. It has to have a number, and 0 is none.
const THE_TOKENS: InstallationId = InstallationId(1);

/// So many changes are looked at at once.
const WORKERS: usize = 2;

/// After four tries an answer is not taken for a late one any more, and with this they are over in less than a quarter of
/// the time that there is.
fn first_wait(patience: Duration) -> Duration {
    (patience / 60).clamp(Duration::from_millis(100), Duration::from_secs(1))
}

/// Asks again for what failed and may not fail again, while there is time.
async fn patiently<T, F>(
    (clock, patience): &(Arc<dyn crate::github::Clock>, Duration),
    ask: impl Fn() -> F,
) -> crate::github::Result<T>
where
    F: Future<Output = crate::github::Result<T>>,
{
    let (mut wait, mut waited) = (first_wait(*patience), Duration::ZERO);
    loop {
        match ask().await {
            Err(error) if error.is_transient() && waited + wait < *patience => {
                tracing::warn!(%error, again_in = ?wait, "GitHub does not answer");
                clock.sleep(wait).await;
                waited += wait;
                wait *= 3;
            }
            answer => return answer,
        }
    }
}

async fn installed(
    hub: &Hub,
    slug: &Slug,
    app: &str,
    wait: &(Arc<dyn crate::github::Clock>, Duration),
) -> anyhow::Result<InstallationId> {
    let found = patiently(wait, || hub.installation_of(slug)).await;
    let found = found.context("GitHub does not say where this App is installed")?;
    let found = found.with_context(|| {
        format!("the App {app} is not installed on {slug}: install it there, on its page under Install App")
    })?;
    anyhow::ensure!(found.suspended_at.is_none(), "the App {app} is suspended on {slug}: unsuspend it there");
    Ok(InstallationId(found.id))
}

/// A change of which nothing is recorded is taken to have begun so long ago at most: what was said earlier was said to
/// somebody else.
const BEGAN: SignedDuration = SignedDuration::from_hours(1);

impl Pass<'_> {
    /// What was said on a change, and on the issues that belong to it, since the newest of it that is recorded. What the run
    /// was started with is taken as it was told.
    pub(super) async fn with_unheard(
        &self,
        pull: &Fetched,
        state: Option<&State>,
        events: &[(String, Event)],
    ) -> Result<Vec<(String, Event)>, Halt> {
        if self.app.remembers() {
            return Ok(events.to_vec());
        }
        let now = self.app.inbox.now();
        let began = state.and_then(|state| state.face.began).unwrap_or(now);
        let began = began.checked_sub(BEGAN).unwrap_or(began);
        let since = state.and_then(|state| state.face.heard).unwrap_or(began).max(began);
        let told: BTreeSet<u64> = events.iter().filter_map(|(_, event)| comment_of(&event.fact)).collect();
        let mut places = vec![(pull.number, true)];
        if let Some(state) = state {
            let asked = state.escalation.as_ref().and_then(|open| open.issue);
            places.extend(state.linked.iter().copied().chain(asked).map(|number| (number, number == pull.number)));
        }
        places.sort_unstable();
        places.dedup_by_key(|(number, _)| *number);
        let mut found: Vec<Comment> = Vec::new();
        for (number, on_pull) in places {
            let comments = match self.repo.list_comments(number, Some(since)).await {
                // An issue that was deleted, or moved elsewhere.
                Err(Error::NotFound { .. }) if !on_pull => continue,
                comments => comments?,
            };
            let mut unheard: Vec<IssueComment> =
                comments.into_iter().filter(|one| !told.contains(&one.id) && may_be_a_word(one)).collect();
            let done =
                |one: &IssueComment| state.is_some_and(|state| state.commands.iter().any(|(id, _)| *id == one.id));
            unheard.retain(|one| !done(one));
            if unheard.is_empty() {
                continue;
            }
            let unedited = self.repo.unedited(&unheard).await?;
            for comment in unheard {
                match unedited.as_ref().map(|unedited| unedited.contains(&comment.id)) {
                    Some(true) if !is_changed(&comment) => found.push(said(comment, number, on_pull)),
                    known => self.app.tell(Word::Notice(unheard_of(&comment, number, known.is_some()))),
                }
            }
        }
        found.sort_by_key(|comment| (comment.created_at, comment.id));
        let repo = Some(self.home.clone());
        let mut all: Vec<(String, Event)> = found
            .into_iter()
            .map(|comment| {
                (format!("comment-{}", comment.id), Event { repo: repo.clone(), fact: Fact::Comment(comment) })
            })
            .collect();
        all.extend(events.iter().cloned());
        // A comment that the run was started with may be older than one that was found.
        all.sort_by_key(|(_, event)| match &event.fact {
            Fact::Comment(comment) => Some(comment.created_at),
            _ => None,
        });
        Ok(all)
    }
}

fn comment_of(fact: &Fact) -> Option<u64> {
    match fact {
        Fact::Comment(comment) => Some(comment.id),
        Fact::CommentChanged { comment, .. } => Some(*comment),
        _ => None,
    }
}

fn may_be_a_word(comment: &IssueComment) -> bool {
    !comment.user.bot && command::may_hold_one(&comment.body)
}

fn is_changed(comment: &IssueComment) -> bool {
    comment.updated_at.is_some_and(|updated| updated != comment.created_at)
}

/// What somebody edited since may have been something else when it was written. Where nobody can tell, it may have been too.
fn unheard_of(comment: &IssueComment, number: u64, known: bool) -> String {
    let who = &comment.user.login;
    if known {
        format!("A comment of {who} on #{number} was edited before it was read, so it is no command. Say it again.")
    } else {
        format!("Whether a comment of {who} on #{number} was edited since can't be told here, so it is no command.")
    }
}

fn said(comment: IssueComment, number: u64, on_pull: bool) -> Comment {
    let IssueComment { id, user, body, created_at, .. } = comment;
    Comment { number, on_pull, id, author: user, body, created_at }
}

impl Pass<'_> {
    /// Tells where a change stands that was looked at and shown.
    pub(super) fn tell(&self, pull: &Fetched, state: &State, seen: &Seen<'_>, surface: &Surface) {
        let phase = match &state.pipeline {
            Some(pipeline) => pipeline.phase().map_or_else(|| "start".to_owned(), |phase| phase.to_string()),
            None => "merge".to_owned(),
        };
        let shown = surface.checks.iter().find(|check| check.name == CHECK_NAME);
        let verdict = match seen.merge.verdict {
            _ if !state.open => Standing::Over,
            Verdict::Pass => Standing::Pass,
            Verdict::Fail if only_waiting(&seen.merge.findings) => Standing::Waiting,
            Verdict::Fail => Standing::Fail,
        };
        let reason = shown.map_or_else(|| surface::standing(state, seen), |check| check.title.clone());
        let mut findings: Vec<Finding> = seen.phase.iter().flat_map(|(_, judged)| judged.findings.clone()).collect();
        let more = seen.merge.findings.iter().filter(|one| !findings.iter().any(|said| said.says == one.says)).cloned();
        let more: Vec<Finding> = more.collect();
        findings.extend(more.into_iter().filter(|_| state.open));
        let head = Some(pull.head.sha.clone());
        if self.observes() {
            self.app.tell(Word::Observes);
        }
        self.app.tell(Word::Stands(Told { change: pull.number, head, phase, verdict, reason, findings }));
    }

    /// Whether what was shown is the newest, and records what the comment shows, for those who come after.
    ///
    /// A run in a workflow knows of no other that looks at the same change, and the slower of two would write what it saw
    /// over what is so by now. Whoever wrote last is to have shown the newest record: so each that wrote something looks
    /// behind it whether its record still is, and else looks again at everything.
    pub(super) async fn is_newest(&self, pull: &Fetched, state: &State, wrote: bool) -> Result<bool, Halt> {
        if self.app.remembers() {
            return Ok(true);
        }
        let news = sync::news(state, &self.memory, pull.draft).await;
        if news.is_none() && !wrote {
            return Ok(true);
        }
        let loaded = self.ledger.load(state.change).await?;
        if loaded.state.as_ref().is_none_or(|now| now.seq != state.seq) {
            return Ok(false);
        }
        let Some(shown) = news else { return Ok(true) };
        let about = state.subject.clone();
        let files = shown.files.map(|(print, since)| ShownFiles { print, since });
        let body = Body::Shown { comment: shown.comment, since: shown.since, files, draft: shown.draft };
        let entry = Entry::new(By::Bot, about, body);
        match self.ledger.append(loaded, self.app.inbox.now(), vec![entry]).await {
            Ok(_) => Ok(true),
            Err(LedgerError::Moved) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
