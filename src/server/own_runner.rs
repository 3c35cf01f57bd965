//! The server's own runner: runs that the records ask the server itself for.
//!
//! Whoever hosts a server says whose commands it may run ([`Runs`]); a policy alone can't. What is run is code of a change, on the
//! machine that has the App's key. So it is a process of its own with an environment of its own, in which the commands run behind
//! the same walls as anywhere, and without namespaces not at all: the server's files and processes are not to be seen by them.
//!
//! A run that is asked for is a delivery with a key of its own: it is on disk, holds up nobody's change, is taken up again where
//! the server died, and by nobody else meanwhile. What it comes to is a delivery for the change, or a note that it came to
//! nothing, stored with the answer. Half a log is none: it is read when the process has ended well.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::intake::delivery;
use super::ledger_branch;
use super::memory::Kept;
use super::observe;
use super::pass::Pass;
use super::proof::{self, Asking, LARGEST};
use super::route::{AS_FACT, Follows, Halt, KEPT, OWN_EVENT, Passes, written};
use super::{App, Way, apart};
use crate::fact::{Event, Fact};
use crate::finding::quoted;
use crate::gate::asked::{of_this, open};
use crate::gate::world::{AskedRun, Asks, Law, Offer};
use crate::ids::{ChangeNumber, Digest, RepoRef, Slug};
use crate::inbox::Delivery;
use crate::ledger::State;
use crate::ledger::state::Asked;
use crate::policy::{self, Network, Policy, RunGate, Source};
use crate::repo::Want;
use crate::runner::artefact::FILE;
use crate::runner::order::Order;
use crate::runner::{text, worktree};
use crate::surface::sync::Memory as _;

/// What a server runs itself, as whoever hosts it says.
#[derive(Debug, Clone)]
pub struct Runs {
    /// This program.
    pub program: PathBuf,
    /// Whose commands.
    pub repositories: Repositories,
    pub at_once: usize,
    /// How long one may take, with all that is run beside the commands.
    pub limit: Duration,
    /// What a policy may let its commands read.
    pub reads: Vec<PathBuf>,
    /// Whether a policy may give its commands the network.
    pub network: bool,
    /// What no command is to see: keys, the database, mirrors.
    pub hides: Vec<PathBuf>,
    /// All that the process is given of an environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// Variables of the server that lead to its programs, and are passed on. None is a secret.
#[rustfmt::skip]
pub const PASSED_ON: [&str; 13] = [
    "PATH", "HOME", "LANG", "LC_ALL", "TZ", "RUSTUP_HOME", "CARGO_HOME", "GOROOT", "JAVA_HOME", "VIRTUAL_ENV", "PYENV_ROOT",
    "NVM_DIR", "RUNNER_TOOL_CACHE",
];

/// Repositories by their names: `octo-org/lamp`, `octo-org/*`, `*` for all of them.
#[derive(Debug, Clone)]
pub struct Repositories(globset::GlobSet);

impl std::str::FromStr for Repositories {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |word: &str| format!("{word:?} names no repository: write OWNER/NAME, OWNER/* or *");
        let mut globs = Vec::new();
        for word in text.split([',', ' ', '\n']).filter(|word| !word.is_empty()) {
            match word {
                "*" => globs.push("*/*".to_owned()),
                _ if word.split('/').count() == 2 && !word.starts_with('/') && !word.ends_with('/') => {
                    // GitHub's names are the same in any case.
                    globs.push(word.to_lowercase());
                }
                _ => return Err(wrong(word)),
            }
        }
        policy::globs(&globs).map(Self).map_err(|error| error.to_string())
    }
}

impl Repositories {
    fn has(&self, slug: &Slug) -> bool {
        self.0.is_match(slug.to_string().to_lowercase())
    }
}

/// What the server needs to carry them out.
pub(super) struct Runner {
    runs: Runs,
    places: Semaphore,
    /// Where they lie, and what says that this process is alive.
    folder: PathBuf,
    _alive: File,
    stop: CancellationToken,
}

impl Runner {
    /// Makes room for runs below the data's folder, and clears away what servers that have ended left there.
    pub(super) fn new(runs: Runs, data: &Path, stop: CancellationToken) -> anyhow::Result<Self> {
        let all = std::path::absolute(data.join("runs"))?;
        let cant = || format!("there is no room for runs in {}", all.display());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&all).with_context(cant)?;
        for left in all.read_dir().with_context(cant)?.flatten() {
            let alive = File::open(left.path().join(ALIVE)).is_ok_and(|lock| !is_free(&lock));
            if !alive {
                worktree::remove(&left.path());
            }
        }
        let folder = all.join(uuid::Uuid::new_v4().simple().to_string());
        std::fs::DirBuilder::new().mode(0o700).create(&folder).with_context(cant)?;
        let alive = File::create(folder.join(ALIVE)).with_context(cant)?;
        rustix::fs::flock(&alive, FlockOperation::NonBlockingLockExclusive).with_context(cant)?;
        let mut runs = runs;
        runs.hides.extend([std::path::absolute(data)?, data.canonicalize().with_context(cant)?]);
        let places = Semaphore::new(runs.at_once.max(1));
        Ok(Self { runs, places, folder, _alive: alive, stop })
    }

    pub(super) fn at_once(&self) -> usize {
        self.runs.at_once.max(1)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        worktree::remove(&self.folder);
    }
}

/// Held for as long as the server that made the folder runs.
const ALIVE: &str = "alive";

fn is_free(lock: &File) -> bool {
    rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// After so many beginnings without an end nobody begins again: it may be what ends the server.
const MOST_TRIES: u32 = 3;
/// So long a run waits for its turn before it looks again.
const TURN: Duration = Duration::from_secs(5);
/// So long a process that was asked to end may take.
const END: Duration = Duration::from_secs(10);
/// What it has to say about why it did not run is short.
const MOST_WORDS: u64 = 64 * 1024;

/// What is remembered of a run that has not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fate {
    /// It was not its time; what is asked for then is the so-manieth.
    Later(u32),
    /// It came to nothing, and why.
    Nothing(String),
}

fn fate_key(nonce: &Digest) -> String {
    format!("own-run:{nonce}")
}

async fn fate(memory: &Kept, nonce: &Digest) -> Option<Fate> {
    serde_json::from_str(&memory.recall(&fate_key(nonce)).await?).ok()
}

impl App {
    /// Whether this policy's commands can be run here.
    pub(super) fn runs_for(&self, home: &RepoRef, policy: Option<&Policy>) -> Asks {
        let Way::Server = self.way else { return Asks::NoServer };
        let runner = self.runner.as_ref().map(|runner| &runner.runs).filter(|runs| runs.repositories.has(&home.slug));
        match (runner, policy) {
            (None, _) => Asks::NoRunner,
            (Some(runs), Some(policy)) => beyond(runs, policy).map_or(Asks::Yes, Asks::Beyond),
            (Some(_), None) => Asks::Yes,
        }
    }
}

/// What a policy gives its commands, and the host does not.
fn beyond(runs: &Runs, policy: &Policy) -> Option<String> {
    let wants = policy.gates.runs(RunGate::Verify);
    let online = wants.network == Network::Allow || (wants.audit_network == Network::Allow && !wants.audit.is_empty());
    if online && !runs.network {
        return Some("the network".to_owned());
    }
    // A link could lead anywhere. (That a policy's path has no `..` is seen to where it is read.)
    let lent = |path: &str| {
        let path = Path::new(path);
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        runs.reads.iter().any(|lent| path.starts_with(lent) && real.starts_with(lent))
    };
    if let Some(path) = wants.confine.read.iter().find(|path| !lent(path)) {
        return Some(format!("{} to read", quoted(path)));
    }
    let secret = wants.confine.secrets.first();
    secret.map(|name| format!("the secret {}", quoted(name)))
}

impl Pass<'_> {
    /// What the server's own runner does for this change.
    pub(super) async fn own_run(&self, state: Option<&State>) -> Offer {
        let waited_for = state.filter(|state| state.open).and_then(|state| open(state, Source::Runner));
        let run = match waited_for {
            Some(asked) => match fate(&self.memory, &asked.nonce).await {
                Some(Fate::Nothing(why)) => ended(asked, why),
                Some(Fate::Later(_)) | None => AskedRun::Unseen,
            },
            None => AskedRun::Unseen,
        };
        Offer { asks: self.app.runs_for(self.home, self.policy()), run }
    }

    /// Has the run that is waited for carried out, where that was not done yet.
    pub(super) async fn start_own(&self, state: &State, offer: &mut Offer) -> Result<(), Halt> {
        let Some(asked) = open(state, Source::Runner).filter(|_| state.open) else { return Ok(()) };
        let turn = match fate(&self.memory, &asked.nonce).await {
            Some(Fate::Nothing(why)) => {
                offer.run = ended(asked, why);
                return Ok(());
            }
            Some(Fate::Later(turn)) => turn,
            None => 0,
        };
        offer.run = AskedRun::Unseen;
        let wanted = self.policy().is_some_and(|policy| policy.gates.verify.has(Source::Runner));
        if wanted && offer.asks == Asks::Yes {
            // However often that is said, it is one.
            let (number, nonce) = (state.change.0, asked.nonce.clone());
            self.app.inbox.put(&ticket(self.home, number, nonce, turn)).await?;
        }
        Ok(())
    }
}

fn ended(asked: &Asked, why: String) -> AskedRun {
    let (run, page, ended) = (asked.number(), String::new(), Some("failure".to_owned()));
    AskedRun::Seen { run, page, ended, refused: Some(why) }
}

/// The delivery that has a run carried out. Behind the slash of its key is no number.
fn ticket(home: &RepoRef, number: u64, nonce: Digest, turn: u32) -> Delivery {
    let about = format!("{}#{number}, run {}", home.slug, nonce.short());
    let (guid, key) = (format!("run/{nonce}/{turn}"), format!("{}/run-{nonce}", home.id.0));
    let event = Event { repo: Some(home.clone()), fact: Fact::Run { number, nonce, turn } };
    Delivery {
        guid,
        event: OWN_EVENT.to_owned(),
        installation: Some(home.installation),
        repo: Some(home.id),
        key,
        barrier: true,
        payload: written(&event),
        meta: json!({ "about": about, KEPT: AS_FACT }),
    }
}

/// Whether a batch is a run to be carried out, by its key.
pub(super) fn is_run(key: &str) -> bool {
    key.contains("/run-")
}

/// What came of a process.
#[derive(Debug)]
enum Came {
    Log(Vec<u8>),
    Nothing(String),
    /// The server ends.
    Stopped,
}

impl Passes {
    /// Carries out a run that is asked for.
    pub(super) async fn run(&self, told: &RepoRef, events: &[(String, Event)], attempt: u32) -> Result<Follows, Halt> {
        let mut follows = Follows::default();
        for (_, event) in events {
            let Fact::Run { number, nonce, turn } = &event.fact else { continue };
            let one = apart(|| self.one_run(told, *number, nonce, *turn, attempt)).await?;
            follows.deliveries.extend(one.deliveries);
            follows.notes.extend(one.notes);
        }
        Ok(follows)
    }

    async fn one_run(
        &self,
        told: &RepoRef,
        number: u64,
        nonce: &Digest,
        turn: u32,
        attempt: u32,
    ) -> Result<Follows, Halt> {
        let later = |why: &str, wait: Duration| Halt::Later(self.app.inbox.now() + wait, why.to_owned());
        // Whoever turned it off meanwhile has turned it off.
        let place = match &self.app.runner {
            Some(runner) => match runner.places.try_acquire() {
                Ok(place) => Some((runner, place)),
                Err(_) => return Err(later("other runs come first", TURN)),
            },
            None => None,
        };
        let home = &self.at_home(told).await?;
        let (repo, memory) = (self.app.repo(home), Kept::new(&self.app.inbox, home.id));
        let mirror = self.app.mirror(home)?;
        let note = |fate: &Fate, deliveries: Vec<Delivery>| -> Result<Follows, Halt> {
            let notes = vec![memory.note(&fate_key(nonce), &serde_json::to_string(fate)?)];
            Ok(Follows { deliveries, notes })
        };
        // It is asked for again when its time has come.
        let not_now = || note(&Fate::Later(turn + 1), Vec::new());
        let Some(mut read) = observe::law(&mirror, home).await? else { return not_now() };
        let branch = self.app.ledger_at(ledger_branch::choose(&mut read, home, &repo, &memory).await?);
        let Law::Valid(policy) = read.law else { return not_now() };
        let ledger = self.app.ledger(home, &branch);
        let state = ledger.load(ChangeNumber(number)).await?.state;
        let wanted = |asked: &&Asked| asked.nonce == *nonce && asked.source() == Source::Runner;
        let asked = state.as_ref().and_then(|state| state.asked.iter().find(wanted));
        let (Some(state), Some(asked)) = (&state, asked.filter(|asked| asked.answer.is_none())) else {
            return Ok(Follows::default());
        };
        let follows = |guid: &str, fact: Fact| {
            delivery(format!("run/{nonce}/{turn}/{guid}"), OWN_EVENT.to_owned(), &event(home, fact))
        };
        let nothing = |why: String| note(&Fate::Nothing(why), vec![follows("over", Fact::Look { number })]);
        // Other content has a run of its own, and what is closed has none.
        let of_now = state.open && of_this(state, Source::Runner).any(|one| one.nonce == *nonce);
        let offered = policy.gates.verify.has(Source::Runner) && self.app.runs_for(home, Some(&policy)) == Asks::Yes;
        let Some((runner, _place)) = place.filter(|_| of_now && offered) else { return not_now() };
        if attempt > MOST_TRIES {
            return nothing(format!("The run was begun {MOST_TRIES} times on this server, and came to no end."));
        }
        let (base, head) = (asked.about.base.clone(), asked.about.head.clone());
        mirror.fetch_change(&Want::Commit(base.clone()), &Want::Commit(head.clone())).await?;
        let Some(folder) = mirror.whole() else {
            let why = "Nothing was run: this GitHub has no git over HTTP, so the content can't be laid out.";
            return nothing(why.to_owned());
        };
        // One that is not as it was recorded is the tripwire's to tell of.
        let frozen = match &state.frozen {
            Some(frozen) => ledger.manifest(frozen.of, &frozen.manifest).await?,
            None => None,
        };
        let frozen =
            frozen.filter(|text| state.frozen.as_ref().is_some_and(|frozen| Digest::of(text) == frozen.manifest));
        let order = Order {
            repository: home.slug.clone(),
            change: number,
            base,
            head,
            law: read.tip.clone(),
            frozen,
            run: asked.number(),
            hides: runner.runs.hides.clone(),
        };
        tracing::info!(change = number, head = order.head.short(), "the commands run");
        let came = runner.carried_out(&order, &folder).await?;
        let log = match came {
            Came::Log(log) => log,
            Came::Nothing(why) => {
                tracing::warn!(change = number, head = order.head.short(), why, "a run came to nothing");
                metrics::counter!("phasegate_runs_total", "came_to" => "nothing").increment(1);
                return nothing(why);
            }
            Came::Stopped => return Err(later("the server ends", Duration::ZERO)),
        };
        let shows = proof::shows(&mirror, &policy, asked).await?;
        let by = asked.own_job(read.tip);
        let asking = Asking { home, change: number, asked, start: policy.gates.verify.start, frozen: false };
        match asking.judged(&log, &policy, shows.as_ref(), &by) {
            Ok((ran, log)) => {
                metrics::counter!("phasegate_runs_total", "came_to" => "log").increment(1);
                Ok(vec![follows("ran", Fact::Ran { number, by, ran: Box::new(ran), log })].into())
            }
            Err(refused) => {
                tracing::error!(change = number, %refused, "a log of our own is not taken");
                nothing(format!("The run's log is not taken. {refused}"))
            }
        }
    }
}

fn event(home: &RepoRef, fact: Fact) -> Event {
    Event { repo: Some(home.clone()), fact }
}

impl Runner {
    /// Lets a process of its own do it, in a folder that goes with it.
    async fn carried_out(&self, order: &Order, mirror: &Path) -> anyhow::Result<Came> {
        let place = Place(self.folder.join(order.run.to_string()));
        // One that was cut off in this very process may have left it.
        worktree::remove(&place.0);
        std::fs::DirBuilder::new().mode(0o711).create(&place.0).context("there is no room for a run")?;
        let (asked, out) = (place.0.join("asked.json"), place.0.join("out"));
        std::fs::write(&asked, serde_json::to_vec(order)?).context("there is no room for a run")?;
        let mut command = Command::new(&self.runs.program);
        command.args(["run", "verify"].map(OsStr::new));
        for (name, path) in [("--dir", mirror), ("--asked", &asked), ("--out", &out)] {
            command.arg(name).arg(path);
        }
        // Nothing of the server's own environment: that has its secrets.
        command.env_clear().envs(self.runs.environment.iter().cloned()).env("TMPDIR", &place.0);
        command.current_dir(&place.0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        // What a terminal says to the server is not said to it.
        command.kill_on_drop(true).process_group(0);
        let mut child = command.spawn().context("the runner can't be started")?;
        let said = child.stderr.take().map(|pipe| tokio::spawn(words(pipe)));
        // Whoever waits for a child would close it.
        let lifeline = child.stdin.take();
        let ended = tokio::select! {
            ended = child.wait() => Some(ended?),
            () = tokio::time::sleep(self.runs.limit) => None,
            () = self.stop.cancelled() => None,
        };
        let Some(ended) = ended else {
            // It ends its commands and clears up when nobody holds the other end any more.
            drop(lifeline);
            if tokio::time::timeout(END, child.wait()).await.is_err() {
                child.kill().await?;
            }
            if self.stop.is_cancelled() {
                return Ok(Came::Stopped);
            }
            let limit = self.runs.limit.as_secs();
            return Ok(Came::Nothing(format!(
                "The run took longer than the {limit} seconds that this server gives it, and was ended."
            )));
        };
        let said = match said {
            Some(said) => said.await.unwrap_or_default(),
            None => String::new(),
        };
        if !matches!(ended.code(), Some(0 | 1)) {
            let said = text::line(said.trim().strip_prefix("error: ").unwrap_or(said.trim()), 500);
            let said = if said.is_empty() { "it said nothing".to_owned() } else { quoted(&said) };
            return Ok(Came::Nothing(format!("The run came to no result ({ended}): {said}.")));
        }
        let mut log = Vec::new();
        match File::open(out.join(FILE)) {
            Ok(file) => drop(file.take(LARGEST as u64 + 1).read_to_end(&mut log).context("the log can't be read")?),
            Err(error) => return Ok(Came::Nothing(format!("The run has left no log ({error})."))),
        }
        Ok(Came::Log(log))
    }
}

/// A run's folder, which goes with it.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        worktree::remove(&self.0);
    }
}

/// All that is said, and the beginning of it is kept.
async fn words(mut pipe: impl AsyncRead + Unpin) -> String {
    let mut said = Vec::new();
    let _ = (&mut pipe).take(MOST_WORDS).read_to_end(&mut said).await;
    let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&said).into_owned()
}

#[cfg(test)]
mod tests;
