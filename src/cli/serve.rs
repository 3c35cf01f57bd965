//! `phasegate serve`: the App server.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::app::{self, Given};
use super::{Exit, out};
use crate::repo;
use crate::server::{Answers, Config, PublicUrl, Server};

/// Run the App server
///
/// Takes APP_ID, PRIVATE_KEY or PRIVATE_KEY_PATH and WEBHOOK_SECRET from the environment, and GITHUB_API_URL for a
/// server other than github.com. Webhooks come in at /api/github/webhooks.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to listen [default: 127.0.0.1:3000, or that PORT of every address]
    #[arg(long, env = "LISTEN")]
    listen: Option<Given<SocketAddr>>,
    /// The port to listen on, at every address, where LISTEN says nothing
    #[arg(long, env = "PORT")]
    port: Option<Given<u16>>,
    /// The inbox's database: sqlite:FILE or postgres://… [default: sqlite:phasegate.db]
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database: Option<Given<String>>,
    /// Where mirrors of repositories are kept; it can be deleted at any time [default: phasegate-data]
    #[arg(long, env = "PHASEGATE_DATA")]
    data: Option<Given<PathBuf>>,
    /// How many changes are worked on at once, from 1 to 64 [default: 4]
    #[arg(long, env = "PHASEGATE_WORKERS", value_parser = workers)]
    workers: Option<Given<u16>>,
    /// Do not keep under GitHub's secondary rate limits by ourselves: for an Enterprise Server without any
    #[arg(long, env = "PHASEGATE_UNPACED", value_parser = clap::builder::FalseyValueParser::new())]
    unpaced: bool,
    /// Where people and GitHub's runners reach this server: comments and checks then link to a change's evidence page here, and
    /// evidence can come from `actions`
    #[arg(long, env = "PHASEGATE_PUBLIC_URL")]
    public_url: Option<Given<PublicUrl>>,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let filter = log_filter(app::variable("LOG_LEVEL").as_deref().unwrap_or("info"))?;
    // Colours only where somebody sees them.
    let colours = std::io::stderr().is_terminal() && app::variable("NO_COLOR").is_none();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    #[cfg(fault_points)]
    crate::fault::arm()?;
    let mut stop = StopSignal::new()?;
    let data = Given::get(args.data.as_ref()).cloned().unwrap_or_else(|| PathBuf::from("phasegate-data"));
    let config = Config {
        app: app::id()?,
        key: app::key()?,
        earlier_keys: app::earlier_keys()?,
        secrets: app::secrets()?,
        database: Given::get(args.database.as_ref()).cloned().unwrap_or_else(|| app::DATABASE.to_owned()),
        endpoint: app::endpoint()?,
        listen: listen(Given::get(args.listen.as_ref()).copied(), Given::get(args.port.as_ref()).copied()),
        data,
        workers: Given::get(args.workers.as_ref()).copied().unwrap_or(4).into(),
        paced: !args.unpaced,
        public_url: Given::get(args.public_url.as_ref()).cloned(),
        answers: Answers::AtPublicUrl,
    };
    repo::git_runs().await.context("the server needs git: install it, or put the folder that it is in on PATH")?;
    writable(&config.data)?;
    let server = start(config).await?;
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

async fn start(config: Config) -> anyhow::Result<Server> {
    #[cfg(fault_points)]
    if let Some(clock) = crate::server::StagedClock::named() {
        return Server::start_at(config, clock.clone(), clock).await;
    }
    Server::start(config).await
}

/// Without a place for its mirrors every pass would fail, later and one by one.
fn writable(data: &Path) -> anyhow::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data);
    let tried = made.and_then(|()| tempfile::tempfile_in(data).map(drop));
    tried.with_context(|| {
        let data = out::plain(&data.display().to_string());
        format!("PHASEGATE_DATA {data} can't be used: name a folder that may be written, or can be made")
    })
}

fn workers(text: &str) -> Result<Given<u16>, String> {
    let wrong = || "a number from 1 to 64 is needed".to_owned();
    let given: Given<u16> = text.parse().map_err(|_| wrong())?;
    match Given::get(Some(&given)) {
        Some(count) if !(1..=64).contains(count) => Err(wrong()),
        _ => Ok(given),
    }
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
pub(super) fn log_filter(text: &str) -> anyhow::Result<EnvFilter> {
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
