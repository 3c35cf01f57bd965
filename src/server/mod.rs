//! The App server: webhooks in, passes over changes, health and metrics.
//!
//! A delivery is proved (`intake`), is on disk before it is acknowledged, finds its change (`route`) and is worked off
//! by a `pass`: read the world (`observe`), decide, record, show. A pass can be stopped at any instruction and done
//! again.

mod hands;
mod intake;
mod memory;
mod observe;
mod pass;
mod route;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::github::store::GitHubStore;
use crate::github::{AppKey, Credentials, Endpoint, Hub, Keys, Repo};
use crate::ids::{InstallationId, RepoRef};
use crate::inbox::{self, Clock, Inbox, SystemClock, run_workers};
use crate::ledger::Ledger;

/// All that a server needs to know.
pub struct Config {
    /// The App's id (or client id), which it signs its tokens as.
    pub app: String,
    pub key: Arc<AppKey>,
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
}

/// What every request and every pass shares.
pub(crate) struct App {
    hub: Hub,
    key: Arc<AppKey>,
    /// The numeric id: whose check runs are ours.
    id: u64,
    /// The account that our comments carry.
    login: String,
    secrets: Vec<SecretString>,
    inbox: Inbox,
    data: PathBuf,
    ledgers: Mutex<HashMap<(RepoRef, String), Arc<Ledger>>>,
    metrics: PrometheusHandle,
}

impl App {
    fn repo(&self, repo: &RepoRef) -> Repo {
        self.hub.repo(repo.installation, repo.slug.clone())
    }

    /// The one ledger of a repository: appends of several changes meet in it and share their commits.
    fn ledger(&self, repo: &RepoRef, branch: &str) -> Arc<Ledger> {
        let mut ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        let ledger = ledgers.entry((repo.clone(), branch.to_owned())).or_insert_with(|| {
            let store = GitHubStore::new(self.repo(repo), branch);
            let keys: Keys = [self.key.public().clone()].into_iter().collect();
            Arc::new(Ledger::new(repo.id, Arc::new(store), self.key.clone(), Arc::new(keys)))
        });
        Arc::clone(ledger)
    }
}

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
    inbox: Inbox,
}

impl Server {
    /// Opens the inbox, asks GitHub who we are, and begins to listen and to work.
    pub async fn start(config: Config) -> anyhow::Result<Self> {
        Self::start_at(config, Arc::new(SystemClock)).await
    }

    /// The same by another clock, which tells when something that failed is due again.
    pub async fn start_at(config: Config, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let options = inbox::Options { clock, ..inbox::Options::default() };
        let inbox = Inbox::open_with(&config.database, options).await.context("the inbox can't be opened")?;
        let credentials = Credentials::App { issuer: config.app.clone(), key: Arc::clone(&config.key) };
        let options = crate::github::Options { paced: config.paced, ..Default::default() };
        let hub =
            Hub::with_options(config.endpoint, credentials, options).context("the GitHub client can't be made")?;
        let me =
            hub.app().await.context("GitHub does not know this App: check APP_ID, the private key and the API URL")?;
        let app = Arc::new(App {
            login: format!("{}[bot]", me.slug),
            hub,
            key: config.key,
            id: me.id,
            secrets: config.secrets,
            inbox: inbox.clone(),
            data: config.data,
            ledgers: Mutex::default(),
            metrics: metrics()?,
        });
        let listener =
            TcpListener::bind(config.listen).await.with_context(|| format!("can't listen on {}", config.listen))?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let running = tokio::spawn(run(app, listener, config.workers, stop.clone()));
        tracing::info!(%address, app = me.slug, "listening");
        Ok(Self { address, stop, running, inbox })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where GitHub is to send its webhooks.
    pub fn webhook_url(&self) -> String {
        format!("http://{}{}", self.address, intake::PATH)
    }

    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Takes nothing new, finishes what is being worked on, and ends.
    pub async fn drain(self) {
        self.stop.cancel();
        if let Err(error) = self.running.await {
            tracing::error!(%error, "the server ended badly");
        }
        self.inbox.close().await;
    }
}

async fn run(app: Arc<App>, listener: TcpListener, workers: usize, stop: CancellationToken) {
    let handler = Arc::new(route::Passes::new(Arc::clone(&app)));
    let work = run_workers(app.inbox.clone(), workers, handler, stop.clone());
    let serve = async {
        let until = stop.clone();
        let served = axum::serve(listener, intake::router(app)).with_graceful_shutdown(async move {
            until.cancelled().await;
        });
        if let Err(error) = served.await {
            tracing::error!(%error, "the listener failed");
            stop.cancel();
        }
    };
    tokio::join!(work, serve);
}

/// The process has one recorder; a second server in the same process (tests, the demo) shares it.
fn metrics() -> anyhow::Result<PrometheusHandle> {
    static HANDLE: Mutex<Option<PrometheusHandle>> = Mutex::new(None);
    let mut handle = HANDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*handle {
        return Ok(handle.clone());
    }
    let made = PrometheusBuilder::new().install_recorder().context("metrics can't be recorded")?;
    Ok(handle.insert(made).clone())
}

/// Deliveries that come from nowhere in particular have no installation; then nothing can be asked or written.
pub(crate) fn installed(repo: &RepoRef) -> bool {
    repo.installation != InstallationId(0)
}
