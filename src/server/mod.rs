//! The App server: webhooks in, passes over changes, health and metrics.
//!
//! A delivery is proved (`intake`), is on disk before it is acknowledged, finds its change (`route`) and is worked off
//! by a `pass`: read the world (`observe`), decide, record, show. A pass can be stopped at any instruction and done
//! again.

mod answered;
mod asked;
mod catch_up;
mod copies;
mod delivered;
mod escalate;
mod evidence;
mod frozen;
mod group;
mod hands;
mod incident;
mod installed;
mod intake;
mod kin;
mod lease;
mod ledger_branch;
mod left;
mod memory;
mod observe;
mod once;
mod own_runner;
mod pass;
mod posted;
mod proof;
mod remembered;
mod remind;
mod repair;
mod resolve;
mod route;
mod runs;
mod show;
#[cfg(fault_points)]
mod staged;
mod task;
mod unguarded;
mod unseen;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use metrics::{describe_counter, describe_gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::{SetOnce, mpsc};
use tokio_util::sync::CancellationToken;

use crate::gate::world::ACTIONS_APP;
use crate::github::oidc;
use crate::github::store::GitHubStore;
use crate::github::{AppKey, Credentials, Endpoint, Error, Hub, Keys, PublicKey, Repo};
use crate::ids::RepoRef;
use crate::inbox::{self, Clock, Inbox, SystemClock, run_workers};
use crate::ledger::{KeyRing, Ledger, Signer, unsigned};
use crate::repo::Mirror;
use crate::surface::page::Painter;

use evidence::Address;
pub use evidence::PublicUrl;
use once::Word;
pub use once::{Fault, Heard, Identity, Once, OnceConfig, Standing, Told};
pub use own_runner::{PASSED_ON, Repositories, Runs};

#[cfg(fault_points)]
pub(crate) use staged::StagedClock;

/// Puts a future onto the heap. It is made in here and not where it is waited for: unoptimised, every future of a long chain
/// would lie on that one's stack as well.
#[inline(never)]
fn apart<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}

/// All that a server needs to know.
pub struct Config {
    /// The App's id (or client id), which it signs its tokens as.
    pub app: String,
    pub key: Arc<AppKey>,
    /// Keys that the App had before: what they signed on the ledger stays good.
    pub earlier_keys: Vec<PublicKey>,
    /// More than one while a secret is being replaced.
    pub secrets: Vec<SecretString>,
    pub database: String,
    pub endpoint: Endpoint,
    pub listen: SocketAddr,
    /// Where the mirrors of repositories are kept. It can be thrown away at any time.
    pub data: PathBuf,
    pub workers: usize,
    /// Whether to keep under GitHub's secondary limits by ourselves. A server of one's own may have none.
    pub paced: bool,
    /// Where people and workflows reach this server, if they do.
    pub public_url: Option<PublicUrl>,
    pub answers: Answers,
    /// What the server runs itself; none: nothing.
    pub runs: Option<Runs>,
}

/// Where the jobs of workflows answer, which is whom their tokens are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// At the public URL, if there is one.
    AtPublicUrl,
    /// Where it listens: nothing stands in front of it.
    WhereItListens,
}

/// What every pass shares. There is one only once GitHub has said who we are.
pub(crate) struct App {
    hub: Hub,
    signer: Arc<dyn Signer>,
    keys: Arc<dyn KeyRing>,
    /// The numeric id: whose check runs are ours.
    id: u64,
    /// The account that our comments carry.
    login: String,
    inbox: Inbox,
    data: PathBuf,
    ledgers: Mutex<HashMap<(RepoRef, String), Arc<Ledger>>>,
    way: Way,
    /// Whether runs of workflows can answer us.
    answerable: bool,
    /// What carries out runs here, where whoever hosts it wants that.
    runner: Option<own_runner::Runner>,
    /// Where this server shows pages of its own, and by which keys.
    evidence: Option<Address>,
}

/// How it came to be running.
pub(crate) enum Way {
    /// It stays, hears of everything, and remembers.
    Server,
    /// One run in a workflow: what was said meanwhile is read, what was shown is recorded, and what came of it is told.
    Workflow {
        advisory: bool,
        told: mpsc::UnboundedSender<Word>,
        /// How long is waited after a first failure; after the next ones thrice as long each.
        first_wait: Duration,
    },
}

/// What every request shares. It stands open from the first moment, whether GitHub can be reached or not: a webhook
/// that is not taken is not sent again.
pub(crate) struct Door {
    secrets: Vec<SecretString>,
    inbox: Inbox,
    metrics: PrometheusHandle,
    app: SetOnce<Arc<App>>,
    /// Set when it was first looked for webhooks that were missed.
    caught_up: SetOnce<()>,
    /// Why GitHub has not said yet who we are.
    waits: Mutex<Option<String>>,
    places: intake::Places,
    /// Who signs the tokens of those who bring evidence; none where nobody can.
    issuer: Option<oidc::Issuer>,
    pages: evidence::Shelf,
}

impl App {
    fn repo(&self, repo: &RepoRef) -> Repo {
        self.hub.repo(repo.installation, repo.slug.clone())
    }

    /// What is in a repository, as far as it was fetched.
    fn mirror(&self, repo: &RepoRef) -> crate::repo::Result<Mirror> {
        Mirror::open(&self.data, repo.id, Arc::new(self.repo(repo)))
    }

    /// The one ledger of a repository: appends of several changes meet in it and share their commits.
    fn ledger(&self, repo: &RepoRef, branch: &str) -> Arc<Ledger> {
        let mut ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        let ledger = ledgers.entry((repo.clone(), branch.to_owned())).or_insert_with(|| {
            let store = GitHubStore::new(self.repo(repo), branch);
            let ledger = Ledger::new(repo.id, Arc::new(store), self.signer.clone(), self.keys.clone());
            Arc::new(ledger.with_pages(Arc::new(self.painter(repo, branch))))
        });
        Arc::clone(ledger)
    }

    fn painter(&self, repo: &RepoRef, branch: &str) -> Painter {
        let server = self.hub.endpoint().server().trim_end_matches('/').to_owned();
        Painter { server, slug: repo.slug.clone(), branch: branch.to_owned(), advisory: self.is_advisory() }
    }

    /// Where the records are, of a ledger that the policy puts on this branch. What is advisory has a branch of its own: its
    /// records are signed by nobody, and must never be taken for records that are.
    fn ledger_at(&self, branch: String) -> String {
        if self.is_advisory() { branch + unsigned::ADVISORY } else { branch }
    }

    fn is_advisory(&self) -> bool {
        matches!(self.way, Way::Workflow { advisory: true, .. })
    }

    /// What the gates know us by.
    fn known_as(&self) -> u64 {
        if self.is_advisory() { ACTIONS_APP } else { self.id }
    }

    /// Whether runs can be asked for: something stays that they can answer, or what they leave is fetched later.
    fn takes_evidence(&self) -> bool {
        self.answerable || !self.remembers()
    }

    /// Whether what is not on the ledger is known by the next time.
    fn remembers(&self) -> bool {
        matches!(self.way, Way::Server)
    }

    fn tell(&self, word: Word) {
        if let Way::Workflow { told: listener, .. } = &self.way {
            // Nobody listens any more only when the run is over.
            let _ = listener.send(word);
        }
    }
}

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<anyhow::Result<()>>,
    door: Arc<Door>,
}

/// Looks for webhooks that GitHub could not deliver.
#[derive(Clone)]
pub struct Lookout {
    door: Arc<Door>,
}

impl Lookout {
    /// Has the changes looked at that are to be brought to mind by now.
    pub async fn remind(&self) -> anyhow::Result<usize> {
        remind::look(&self.door).await
    }

    /// See [`Server::catch_up`].
    pub async fn catch_up(&self) -> anyhow::Result<usize> {
        let app = self.door.app.wait().await;
        Ok(catch_up::catch_up(&app.hub, &self.door, None, self.door.inbox.now()).await?.asked)
    }
}

impl Server {
    /// Opens the inbox and begins to listen. Who we are is asked of GitHub meanwhile, and work begins with its answer.
    pub async fn start(config: Config) -> anyhow::Result<Self> {
        Self::start_at(config, Arc::new(SystemClock), Arc::new(crate::github::SystemClock)).await
    }

    /// The same by other clocks: the inbox's tells when something that failed is due again, the client's is the one that
    /// it waits by.
    pub async fn start_at(
        config: Config,
        clock: Arc<dyn Clock>,
        waits: Arc<dyn crate::github::Clock>,
    ) -> anyhow::Result<Self> {
        let options = inbox::Options { clock, ..inbox::Options::default() };
        let inbox = Inbox::open_with(&config.database, options).await.context("the inbox can't be opened")?;
        let credentials = Credentials::App { issuer: config.app.clone(), key: Arc::clone(&config.key) };
        let options = crate::github::Options { clock: waits, paced: config.paced, ..Default::default() };
        let hub = Hub::with_options(config.endpoint.clone(), credentials, options)
            .context("the GitHub client can't be made")?;
        let listener =
            TcpListener::bind(config.listen).await.with_context(|| format!("can't listen on {}", config.listen))?;
        let address = listener.local_addr()?;
        let audience = match config.answers {
            Answers::AtPublicUrl => config.public_url.as_ref().map(|url| url.as_str().to_owned()),
            Answers::WhereItListens => Some(format!("http://{address}")),
        };
        let issuer = match audience {
            Some(audience) => Some(oidc::Issuer::new(&config.endpoint.token_issuer(), &audience).context("no TLS")?),
            None => None,
        };
        let door = Arc::new(Door {
            issuer,
            secrets: config.secrets.clone(),
            inbox,
            metrics: metrics()?,
            app: SetOnce::new(),
            caught_up: SetOnce::new(),
            places: intake::Places::default(),
            pages: evidence::Shelf::default(),
            waits: Mutex::default(),
        });
        let stop = CancellationToken::new();
        let runner =
            config.runs.clone().map(|runs| own_runner::Runner::new(runs, &config.data, stop.clone())).transpose()?;
        tracing::info!(%address, "listening");
        let running = tokio::spawn(run(Arc::clone(&door), listener, hub, (config, runner), stop.clone()));
        Ok(Self { address, stop, running, door })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where GitHub is to send its webhooks.
    pub fn webhook_url(&self) -> String {
        format!("http://{}{}", self.address, intake::PATH)
    }

    pub fn inbox(&self) -> &Inbox {
        &self.door.inbox
    }

    /// Returns when GitHub has said who we are, work has begun, and what it could not deliver before was asked for again
    /// (or that failed once).
    pub async fn caught_up(&self) {
        self.door.caught_up.wait().await;
    }

    /// Looks now for webhooks that GitHub could not deliver, besides the looks that come by themselves. Says how many were
    /// asked for again.
    pub async fn catch_up(&self) -> anyhow::Result<usize> {
        self.lookout().catch_up().await
    }

    /// A handle that can do the same while the server is in other hands.
    pub fn lookout(&self) -> Lookout {
        Lookout { door: Arc::clone(&self.door) }
    }

    /// Runs until it is asked to stop, then takes nothing new and finishes what is being worked on. An error: GitHub
    /// says that it does not know this App.
    pub async fn run_until(mut self, asked: impl Future<Output = ()>) -> anyhow::Result<()> {
        let ended = tokio::select! {
            ended = &mut self.running => ended,
            () = asked => {
                self.stop.cancel();
                (&mut self.running).await
            }
        };
        self.door.inbox.close().await;
        ended.context("the server ended badly")?
    }

    /// Stops it now.
    pub async fn drain(self) {
        if let Err(error) = self.run_until(async {}).await {
            tracing::error!(error = format!("{error:#}"), "the server ended badly");
        }
    }
}

async fn run(
    door: Arc<Door>,
    listener: TcpListener,
    hub: Hub,
    (config, runner): (Config, Option<own_runner::Runner>),
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let work = async {
        let me = tokio::select! {
            me = introduced(&hub, &door) => me,
            () = stop.cancelled() => return Ok(()),
        };
        // Without work there is no use in a door: whoever looks after it is to see that it ended.
        let me = me.inspect_err(|_| stop.cancel())?;
        tracing::info!(app = me.slug, "GitHub knows this App");
        // Runs take places of their own, and none from those who look at changes.
        let workers = config.workers + runner.as_ref().map_or(0, own_runner::Runner::at_once);
        let keys: Keys = config.earlier_keys.into_iter().chain([config.key.public().clone()]).collect();
        let app = Arc::new(App {
            login: format!("{}[bot]", me.slug),
            hub: hub.clone(),
            signer: config.key,
            keys: Arc::new(keys),
            id: me.id,
            inbox: door.inbox.clone(),
            data: config.data,
            ledgers: Mutex::default(),
            way: Way::Server,
            answerable: door.issuer.is_some(),
            runner,
            evidence: Address::new(config.public_url, &config.secrets),
        });
        // It is set here alone, so it was not set before.
        let _ = door.app.set(Arc::clone(&app));
        tidy(&door.inbox).await;
        tokio::join!(
            run_workers(door.inbox.clone(), workers, Arc::new(route::Passes::new(app)), stop.clone()),
            catch_up::run(&hub, &door, &stop),
            remind::run(&door, &stop),
            keep_tidy(&door.inbox, &stop),
        );
        Ok(())
    };
    let serve = async {
        let until = stop.clone();
        let served = axum::serve(listener, intake::router(Arc::clone(&door))).with_graceful_shutdown(async move {
            until.cancelled().await;
        });
        match until_the_door_closes(served.into_future(), &stop).await {
            Some(Err(error)) => {
                tracing::error!(%error, "the listener failed");
                stop.cancel();
            }
            Some(Ok(())) => {}
            None => tracing::info!("connections that had still not sent their request are let go"),
        }
    };
    tokio::join!(work, serve).0
}

/// How often done deliveries are forgotten, and how soon again where there are more.
const TIDY_EVERY: Duration = Duration::from_hours(1);
const TIDY_ON: Duration = Duration::from_secs(1);

/// Forgets deliveries that were done long enough ago. Says whether there are more.
async fn tidy(inbox: &Inbox) -> bool {
    match inbox.prune(Duration::ZERO).await {
        Ok(gone) => gone == inbox::MOST_PRUNED,
        Err(error) => {
            tracing::warn!(%error, "what is done can't be forgotten; the database grows");
            false
        }
    }
}

async fn keep_tidy(inbox: &Inbox, stop: &CancellationToken) {
    let mut wait = TIDY_ON;
    loop {
        tokio::select! {
            () = tokio::time::sleep(wait) => wait = if tidy(inbox).await { TIDY_ON } else { TIDY_EVERY },
            () = stop.cancelled() => return,
        }
    }
}

/// So long after the stop requests may still come to their end. Whoever has not sent one by then never will.
const DOOR_CLOSES: Duration = Duration::from_secs(10);

/// What it comes to; none where it had not ended some time after the stop.
async fn until_the_door_closes<T>(served: impl Future<Output = T>, stop: &CancellationToken) -> Option<T> {
    let closed = async {
        stop.cancelled().await;
        tokio::time::sleep(DOOR_CLOSES).await;
    };
    tokio::select! {
        done = served => Some(done),
        () = closed => None,
    }
}

/// GitHub is asked again after so long, and then after twice as long, up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Asks GitHub who we are until it answers. An error only when it clearly says that it does not know us.
async fn introduced(hub: &Hub, door: &Door) -> anyhow::Result<crate::github::calls::app::App> {
    let mut wait = FIRST_WAIT;
    loop {
        let error = match hub.app().await {
            Ok(me) => return Ok(me),
            Err(error @ (Error::Unauthorized { .. } | Error::NotFound { .. })) => {
                return Err(anyhow::Error::new(error).context(
                    "GitHub does not know this App: check APP_ID, the private key, the API URL and this machine's clock",
                ));
            }
            Err(error) => error,
        };
        let pause = match &error {
            Error::RateLimited { until, .. } => {
                Duration::try_from(until.duration_since(jiff::Timestamp::now())).unwrap_or_default().max(FIRST_WAIT)
            }
            _ => wait,
        };
        tracing::error!(
            %error, api = hub.endpoint().api(), again_in = ?pause,
            "GitHub can't say who we are. Webhooks are kept on disk meanwhile; if it stays so, check the API URL and the network"
        );
        *door.waits.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        tokio::time::sleep(pause).await;
        wait = LONGEST_WAIT.min(wait * 2);
    }
}

/// The process has one recorder; a second server in the same process (tests, the demo) shares it.
fn metrics() -> anyhow::Result<PrometheusHandle> {
    static HANDLE: Mutex<Option<PrometheusHandle>> = Mutex::new(None);
    let mut handle = HANDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*handle {
        return Ok(handle.clone());
    }
    let made = PrometheusBuilder::new().install_recorder().context("metrics can't be recorded")?;
    describe_gauge!("phasegate_github_rate_limit", "GitHub's rate limit of an installation");
    describe_gauge!("phasegate_github_rate_remaining", "What is left of it");
    describe_counter!("phasegate_github_requests_total", "Requests to GitHub");
    describe_counter!("phasegate_webhooks_total", "Webhooks that came in, by the status they were answered with");
    describe_counter!("phasegate_evidence_total", "Answers of workflows, by what came of them");
    describe_counter!("phasegate_runs_total", "Runs of the server's own runner, by what came of them");
    describe_gauge!("phasegate_inbox", "Deliveries in the inbox");
    describe_gauge!("phasegate_inbox_oldest_seconds", "How long the oldest unfinished delivery has waited");
    Ok(handle.insert(made).clone())
}
