//! `phasegate serve`: the App server.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use super::{Exit, app};
use crate::server::{Config, Server};

/// Run the App server
///
/// Takes APP_ID, PRIVATE_KEY or PRIVATE_KEY_PATH and WEBHOOK_SECRET from the environment, and GITHUB_API_URL for a
/// server other than github.com. Webhooks come in at /api/github/webhooks.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to listen
    #[arg(long, env = "LISTEN", default_value = "127.0.0.1:3000")]
    listen: SocketAddr,
    /// The inbox's database: sqlite:FILE or postgres://…
    #[arg(long, env = "DATABASE_URL", default_value = "sqlite:phasegate.db", hide_env_values = true)]
    database: String,
    /// Where mirrors of repositories are kept; it can be deleted at any time
    #[arg(long, env = "PHASEGATE_DATA", default_value = "phasegate-data")]
    data: PathBuf,
    /// How many changes are worked on at once
    #[arg(long, env = "PHASEGATE_WORKERS", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,
    /// Do not keep under GitHub's secondary rate limits by ourselves: for an Enterprise Server without any
    #[arg(long, env = "PHASEGATE_UNPACED")]
    unpaced: bool,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let filter = EnvFilter::try_from_env("LOG_LEVEL").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let mut stop = StopSignal::new()?;
    let server = Server::start(Config {
        app: app::id()?,
        key: app::key()?,
        secrets: app::secrets()?,
        database: args.database.clone(),
        endpoint: app::endpoint()?,
        listen: args.listen,
        data: args.data.clone(),
        workers: args.workers.into(),
        paced: !args.unpaced,
    })
    .await?;
    stop.came().await;
    tracing::info!("stopping: what is being worked on is finished first");
    server.drain().await;
    Ok(Exit::Fine)
}

/// Ctrl-C, SIGTERM or the end of the terminal, from the moment this was made: one that comes earlier than anybody
/// waits for it is not lost.
pub(super) struct StopSignal([tokio::signal::unix::Signal; 3]);

impl StopSignal {
    pub(super) fn new() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).context("can't wait for signals");
        Ok(Self([listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?, listen(SignalKind::hangup())?]))
    }

    pub(super) async fn came(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
