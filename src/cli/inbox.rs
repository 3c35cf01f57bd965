//! `phasegate inbox`: deliveries, and those that failed too often. Payloads are never printed: they hold other
//! people's text.

use std::fmt::Write as _;
use std::str::FromStr as _;

use anyhow::{Context as _, bail};
use clap::{Subcommand, ValueEnum};
use serde::Serialize;
use sqlx::sqlite::SqliteConnectOptions;

use super::app::{self, Given};
use super::{Exit, out};
use crate::inbox::{DeliveryId, Entry, Filter, Inbox, State, Stats, Which};

/// List the deliveries, and give dead ones a new life
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List deliveries, the newest first
    List {
        /// Only those that failed too often and wait for `inbox retry`
        #[arg(long, conflicts_with = "state")]
        dead: bool,
        /// Only those in this state
        #[arg(long, value_enum)]
        state: Option<Shown>,
        /// At most so many
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
        /// Only those that arrived before this one: the last id of a page gives the next page
        #[arg(long, value_name = "ID")]
        before: Option<i64>,
        #[command(flatten)]
        common: Common,
    },
    /// Give dead deliveries a new life, with all their attempts
    #[command(override_usage = "phasegate inbox retry [OPTIONS] <ID>...\n       phasegate inbox retry [OPTIONS] --all")]
    Retry {
        /// Which; `inbox list --dead` shows the ids
        #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
        ids: Vec<i64>,
        /// All dead deliveries
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, clap::Args)]
struct Common {
    /// Where the inbox is: sqlite:FILE or postgres://… [default: sqlite:phasegate.db]
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database: Option<Given<String>>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shown {
    Ready,
    Running,
    Parked,
    Done,
    Dead,
}

impl From<Shown> for State {
    fn from(shown: Shown) -> Self {
        match shown {
            Shown::Ready => Self::Ready,
            Shown::Running => Self::Running,
            Shown::Parked => Self::Parked,
            Shown::Done => Self::Done,
            Shown::Dead => Self::Dead,
        }
    }
}

#[derive(Serialize)]
struct Listed {
    schema: &'static str,
    waiting: Waiting,
    deliveries: Vec<Row>,
}

/// How many there are of each, whatever was asked for.
#[derive(Serialize)]
struct Waiting {
    ready: u64,
    running: u64,
    parked: u64,
    dead: u64,
    oldest_seconds: u64,
}

impl From<Stats> for Waiting {
    fn from(stats: Stats) -> Self {
        let Stats { ready, running, parked, dead, oldest } = stats;
        Self { ready, running, parked, dead, oldest_seconds: oldest.as_secs() }
    }
}

/// A delivery without its payload, and without the headers that came with it.
#[derive(Serialize)]
struct Row {
    id: DeliveryId,
    guid: String,
    event: String,
    installation: Option<u64>,
    repository: Option<u64>,
    key: String,
    /// The repository and the change by their names, where they are known.
    about: Option<String>,
    state: State,
    attempts: u32,
    received_at: jiff::Timestamp,
    not_before: jiff::Timestamp,
    done_at: Option<jiff::Timestamp>,
    error: Option<String>,
}

impl From<Entry> for Row {
    fn from(entry: Entry) -> Self {
        Self {
            id: entry.id,
            guid: entry.guid,
            event: entry.event,
            installation: entry.installation.map(|id| id.0),
            repository: entry.repo.map(|id| id.0),
            key: entry.key,
            about: entry.meta["about"].as_str().map(str::to_owned),
            state: entry.state,
            attempts: entry.attempts,
            received_at: entry.received_at,
            not_before: entry.not_before,
            done_at: entry.done_at,
            error: entry.error,
        }
    }
}

#[derive(Serialize)]
struct Retried {
    schema: &'static str,
    retried: u64,
    /// Ids that are no dead delivery of this inbox.
    not_dead: Vec<i64>,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::List { dead, state, limit, before, common } => {
            let state = if *dead { Some(State::Dead) } else { state.map(State::from) };
            let filter = Filter { state, limit: *limit, before: before.map(DeliveryId), ..Filter::default() };
            list(&filter, common).await
        }
        Command::Retry { ids, common, .. } => retry(ids, common).await,
    }
}

async fn list(filter: &Filter, common: &Common) -> anyhow::Result<Exit> {
    let inbox = open(common).await?;
    let entries = inbox.list(filter).await.context("can't list the inbox")?;
    let stats = inbox.stats().await.context("can't count the inbox")?;
    inbox.close().await;
    let deliveries: Vec<Row> = entries.into_iter().map(Row::from).collect();
    let listed = Listed { schema: "phasegate/inbox@1", waiting: stats.into(), deliveries };
    if common.json {
        out::json(&listed)?
    } else {
        out::text(&table(&listed))?
    }
    Ok(Exit::Fine)
}

fn table(listed: &Listed) -> String {
    let mut text = String::new();
    if !listed.deliveries.is_empty() {
        let _ = writeln!(text, "{:>8}  {:7}  {:>5}  {:20}  {:28}  KEY", "ID", "STATE", "TRIES", "RECEIVED", "EVENT");
    }
    for row in &listed.deliveries {
        let (event, key) = (out::plain(&row.event), out::plain(row.about.as_ref().unwrap_or(&row.key)));
        let received = row.received_at.strftime("%Y-%m-%dT%H:%M:%SZ");
        let (id, state, tries) = (row.id.0, row.state.as_str(), row.attempts);
        let _ = writeln!(text, "{id:>8}  {state:7}  {tries:>5}  {received:20}  {event:28}  {key}");
        if let Some(error) = row.error.as_deref().filter(|_| row.state != State::Done) {
            let line: String = error.lines().next().unwrap_or_default().chars().take(200).collect();
            let _ = writeln!(text, "{:>8}  last failure: {}", "", out::plain(&line));
        }
    }
    let Waiting { ready, running, parked, dead, .. } = listed.waiting;
    let _ = writeln!(text, "{ready} ready, {running} running, {parked} parked, {dead} dead.");
    if dead > 0 {
        text.push_str("`phasegate inbox retry ID` gives a dead one a new life, once its cause is mended.\n");
    }
    text
}

/// Retries these, or all when there are none.
async fn retry(ids: &[i64], common: &Common) -> anyhow::Result<Exit> {
    let inbox = open(common).await?;
    let mut report = Retried { schema: "phasegate/inbox-retry@1", retried: 0, not_dead: Vec::new() };
    if ids.is_empty() {
        report.retried = inbox.retry_dead(Which::All).await.context("can't write to the inbox")?;
    }
    for id in ids {
        match inbox.retry_dead(Which::One(DeliveryId(*id))).await.context("can't write to the inbox")? {
            0 => report.not_dead.push(*id),
            revived => report.retried += revived,
        }
    }
    inbox.close().await;
    if common.json {
        out::json(&report)?;
    } else {
        let deliveries = if report.retried == 1 { "delivery is" } else { "deliveries are" };
        let mut text = format!("{} {deliveries} ready again.\n", report.retried);
        for id in &report.not_dead {
            let _ = writeln!(text, "{id} is no dead delivery; `phasegate inbox list --dead` shows those.");
        }
        out::text(&text)?;
    }
    Ok(Exit::found(!report.not_dead.is_empty()))
}

/// Opens an inbox that is there. The server makes a new one; somebody who looks has mistyped its name.
async fn open(common: &Common) -> anyhow::Result<Inbox> {
    let url = Given::get(common.database.as_ref()).map_or(app::DATABASE, String::as_str);
    let path = url.strip_prefix("sqlite:").map_or_else(
        || (!url.contains(':')).then(|| url.into()),
        |_| SqliteConnectOptions::from_str(url).ok().map(|options| options.get_filename().to_owned()),
    );
    if let Some(path) = path.filter(|path| !path.exists()) {
        let path = out::plain(&path.display().to_string());
        bail!("there is no inbox at {path}; name it with --database or DATABASE_URL, as for the server");
    }
    Ok(Inbox::open(url).await?)
}
