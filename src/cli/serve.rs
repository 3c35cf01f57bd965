//! `phasegate serve`: the App server.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::app::{self, Given};
use super::{Exit, out};
use crate::policy::Timeout;
use crate::repo;
use crate::server::{Answers, Config, PASSED_ON, PublicUrl, Repositories, Runs, Server};

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
    #[command(flatten)]
    runs: RunArgs,
}

/// What the server runs itself.
#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Run the commands of these repositories here, where their policies take evidence from `runner`: OWNER/NAME, OWNER/* or *,
    /// with commas between them [default: none]
    #[arg(long = "runner", env = "PHASEGATE_RUNNER", value_name = "REPOSITORIES")]
    repositories: Option<Given<Repositories>>,
    /// How many runs at once, from 1 to 64 [default: 1]
    #[arg(long = "runner-at-once", env = "PHASEGATE_RUNNER_AT_ONCE", value_name = "COUNT", value_parser = workers)]
    at_once: Option<Given<u16>>,
    /// How long one run may take with all that belongs to it: `90s`, `20m` or `2h`, up to a day [default: 1h]
    #[arg(long = "runner-timeout", env = "PHASEGATE_RUNNER_TIMEOUT", value_name = "TIME", value_parser = timeout)]
    timeout: Option<Given<Timeout>>,
    /// What policies may let their commands read of this machine besides its programs: paths, with colons between them
    #[arg(long = "runner-read", env = "PHASEGATE_RUNNER_READ", value_name = "PATHS")]
    read: Option<Given<String>>,
    /// Let policies give their commands this machine's network
    #[arg(long = "runner-network", env = "PHASEGATE_RUNNER_NETWORK", value_parser = clap::builder::FalseyValueParser::new())]
    network: bool,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    log("info")?;
    #[cfg(fault_points)]
    crate::fault::arm()?;
    let mut stop = StopSignal::new()?;
    let data = Given::get(args.data.as_ref()).cloned().unwrap_or_else(|| PathBuf::from("phasegate-data"));
    let database = Given::get(args.database.as_ref()).cloned().unwrap_or_else(|| app::DATABASE.to_owned());
    let config = Config {
        runs: runs(&args.runs, &database)?,
        app: app::id()?,
        key: app::key()?,
        earlier_keys: app::earlier_keys()?,
        secrets: app::secrets()?,
        database,
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

fn timeout(text: &str) -> Result<Given<Timeout>, String> {
    let text = text.trim();
    match Timeout::new(text) {
        None if !text.is_empty() => Err("a time such as 90s, 20m or 2h is needed, up to a day".to_owned()),
        given => Ok(given.into()),
    }
}

/// What is run here, and what of it is kept from the commands.
fn runs(args: &RunArgs, database: &str) -> anyhow::Result<Option<Runs>> {
    let Some(repositories) = Given::get(args.repositories.as_ref()).cloned() else { return Ok(None) };
    if !cfg!(target_os = "linux") {
        bail!(
            "PHASEGATE_RUNNER: commands of others run on a server behind walls alone, and those are a matter of Linux"
        );
    }
    let read = Given::get(args.read.as_ref()).cloned().unwrap_or_default();
    let reads: Vec<PathBuf> = std::env::split_paths(&read).filter(|path| !path.as_os_str().is_empty()).collect();
    if let Some(path) = reads.iter().find(|path| !path.is_absolute()) {
        let path = out::plain(&path.display().to_string());
        bail!("PHASEGATE_RUNNER_READ: {path} is no absolute path");
    }
    let passed = |name: &str| Some((OsString::from(name), std::env::var_os(name)?));
    Ok(Some(Runs {
        // Also where its file is replaced meanwhile.
        program: PathBuf::from("/proc/self/exe"),
        repositories,
        at_once: Given::get(args.at_once.as_ref()).copied().unwrap_or(1).into(),
        limit: Duration::from_secs(Given::get(args.timeout.as_ref()).copied().unwrap_or_default().as_secs().into()),
        reads,
        network: args.network,
        hides: secrets_here(database)?,
        environment: PASSED_ON.into_iter().filter_map(passed).collect(),
    }))
}

/// The files of this server that have its secrets.
fn secrets_here(database: &str) -> anyhow::Result<Vec<PathBuf>> {
    let named = ["PRIVATE_KEY_PATH", "PREVIOUS_KEYS_PATH"].into_iter().filter_map(app::variable);
    let file = (!database.starts_with("postgres")).then(|| {
        let file = database.strip_prefix("sqlite:").unwrap_or(database);
        file.split('?').next().unwrap_or(file).trim_start_matches("//").to_owned()
    });
    let files = file.into_iter().flat_map(|file| ["", "-wal", "-shm"].map(|end| format!("{file}{end}")));
    let mut hides = Vec::new();
    for path in named.chain(files) {
        let path = std::path::absolute(&path)?;
        // Where a link leads has to be kept too.
        hides.extend(path.canonicalize().ok().filter(|real| *real != path));
        hides.push(path);
    }
    Ok(hides)
}

/// On a platform that gives a port, it is the platform that stands in front.
fn listen(address: Option<SocketAddr>, port: Option<u16>) -> SocketAddr {
    match (address, port) {
        (Some(address), _) => address,
        (None, Some(port)) => SocketAddr::from(([0, 0, 0, 0], port)),
        (None, None) => SocketAddr::from(([127, 0, 0, 1], 3000)),
    }
}

/// From now on tells on stderr what LOG_LEVEL asks for, or this much.
pub(super) fn log(level: &str) -> anyhow::Result<()> {
    let filter = log_filter(app::variable("LOG_LEVEL").as_deref().unwrap_or(level))?;
    // Colours only where somebody sees them.
    let colours = std::io::stderr().is_terminal() && app::variable("NO_COLOR").is_none();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    Ok(())
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
    fn a_database_that_is_a_file_is_hidden_with_what_belongs_to_it() {
        for url in ["sqlite:/srv/no-such/inbox.db", "sqlite:///srv/no-such/inbox.db?mode=rwc", "/srv/no-such/inbox.db"]
        {
            let hides = secrets_here(url).unwrap();
            for file in ["inbox.db", "inbox.db-wal", "inbox.db-shm"] {
                assert!(hides.contains(&Path::new("/srv/no-such").join(file)), "{url}: {hides:?}");
            }
        }
        assert!(secrets_here("sqlite:inbox.db").unwrap().iter().all(|path| path.is_absolute()));
        let elsewhere = secrets_here("postgres://u:p@h/db").unwrap();
        assert!(!elsewhere.iter().any(|path| path.to_string_lossy().contains("u:p")), "{elsewhere:?}");
    }

    #[test]
    fn a_run_may_take_a_time_that_is_understood_or_refused() {
        let taken = |text: &str| timeout(text).map(|given| Given::get(Some(&given)).map(|time| time.as_secs()));
        assert_eq!(taken(" 20m "), Ok(Some(1200)));
        assert_eq!(taken(""), Ok(None));
        assert!(taken("20").is_err() && taken("2d").is_err());
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
