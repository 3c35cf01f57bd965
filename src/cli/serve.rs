//! `phasegate serve`: the App server.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::{Exit, app};
use crate::server::{Config, Server};

/// Run the App server
///
/// Takes APP_ID, PRIVATE_KEY or PRIVATE_KEY_PATH and WEBHOOK_SECRET from the environment, and GITHUB_API_URL for a
/// server other than github.com. Webhooks come in at /api/github/webhooks.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to listen [default: 127.0.0.1:3000, or that PORT of every address]
    #[arg(long, env = "LISTEN")]
    listen: Option<SocketAddr>,
    /// The port to listen on, at every address, where LISTEN says nothing
    #[arg(long, env = "PORT")]
    port: Option<u16>,
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
    let filter = log_filter(app::variable("LOG_LEVEL").as_deref().unwrap_or("info"))?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let mut stop = StopSignal::new()?;
    let server = Server::start(Config {
        app: app::id()?,
        key: app::key()?,
        earlier_keys: app::earlier_keys()?,
        secrets: app::secrets()?,
        database: args.database.clone(),
        endpoint: app::endpoint()?,
        listen: listen(args.listen, args.port),
        data: args.data.clone(),
        workers: args.workers.into(),
        paced: !args.unpaced,
    })
    .await?;
    let asked = CancellationToken::new();
    let hurried = async {
        stop.came().await;
        tracing::info!("stopping: what is being worked on is finished first; a second signal ends at once");
        asked.cancel();
        stop.came().await;
    };
    tokio::select! {
        ended = server.run_until(asked.cancelled()) => ended?,
        () = hurried => {
            tracing::warn!("ended at once: what was being worked on is taken up again at the next start");
        }
    }
    Ok(Exit::Fine)
}

/// On a platform that gives a port, it is the platform that stands in front.
fn listen(address: Option<SocketAddr>, port: Option<u16>) -> SocketAddr {
    match (address, port) {
        (Some(address), _) => address,
        (None, Some(port)) => SocketAddr::from(([0, 0, 0, 0], port)),
        (None, None) => SocketAddr::from(([127, 0, 0, 1], 3000)),
    }
}

/// A level, or what tracing calls directives. A single word that is no level would silence everything: it would be
/// taken for the name of a part.
fn log_filter(text: &str) -> anyhow::Result<EnvFilter> {
    // The one level of Probot's that tracing has no name for.
    let text = if text.trim().eq_ignore_ascii_case("fatal") { "error" } else { text.trim() };
    let wrong = || {
        format!(
            "LOG_LEVEL {text:?} is neither a level (trace, debug, info, warn, error, off) nor like `phasegate=debug`"
        )
    };
    let plain = text.chars().all(char::is_alphanumeric);
    if plain && text.parse::<tracing::level_filters::LevelFilter>().is_err() {
        bail!(wrong());
    }
    EnvFilter::try_new(text).with_context(wrong)
}

/// Ctrl-C, SIGTERM or the end of the terminal, from the moment this was made: one that comes earlier than anybody
/// waits for it is not lost.
pub(super) struct StopSignal([Signal; 3]);

impl StopSignal {
    pub(super) fn new() -> anyhow::Result<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_comes_before_port_and_port_before_the_default() {
        let given: SocketAddr = "127.0.0.1:8080".parse().unwrap();
        assert_eq!(listen(Some(given), Some(9)), given);
        assert_eq!(listen(None, Some(5000)), "0.0.0.0:5000".parse().unwrap());
        assert_eq!(listen(None, None), "127.0.0.1:3000".parse().unwrap());
    }

    #[test]
    fn a_log_level_is_understood_or_refused() {
        for (given, is) in
            [("info", "info"), ("WARN", "warn"), ("fatal", "error"), ("phasegate=debug", "phasegate=debug")]
        {
            assert_eq!(log_filter(given).unwrap().to_string(), is, "{given}");
        }
        for wrong in ["verbose", "silly", "phasegate=loud"] {
            let error = log_filter(wrong).unwrap_err().to_string();
            assert!(error.contains("LOG_LEVEL") && error.contains(wrong), "{error}");
        }
    }
}
