//! The real process, from one life to the next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use phasegate::inbox::{Clock, Entry, Filter, Inbox, Options};
use phasegate::rehearsal::{Elsewhere, Rehearsal, StageClock};
use phasegate::twin::Admin;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::door::{Behind, Door};
use super::plan::Kill;

pub(crate) const PHASEGATE: &str = env!("CARGO_BIN_EXE_phasegate");

/// What nobody would wait for any longer. It is reached by what hangs, never by what is slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(200);

/// How soon to look again whether something has happened that nobody tells.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// How long it is dead before it is started again, by the clock that everybody goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dead {
    /// Its leases have run out then, and GitHub's attempts are old enough to be asked for again.
    ForTwoMinutes,
    ForAMoment,
}

/// The signal that a fault point ends the process with.
pub(crate) const SIGABRT: i32 = 6;

pub(crate) struct Bot {
    admin: Admin,
    app: u64,
    clock: Arc<StageClock>,
    dead: Dead,
    database: String,
    settings: Vec<(&'static str, OsString)>,
    faults: PathBuf,
    door: Door,
    http: reqwest::Client,
    log: Arc<Mutex<Vec<String>>>,
    life: tokio::sync::Mutex<Life>,
}

struct Life {
    running: Option<(Child, SocketAddr)>,
    /// Who reads what it says, to its end.
    reader: Option<JoinHandle<()>>,
    deaths: usize,
    /// How often it had looked for what it missed in the lives before, until it does in this one.
    looks: Option<usize>,
    /// How often everybody has waited for it: a step is all that happens in between.
    step: usize,
    /// The kills of the steps to come, and those of this step.
    planned: Vec<Kill>,
    now: VecDeque<Kill>,
    /// The one of the step before, which did not strike while anybody watched.
    late: Option<Kill>,
    struck: Vec<Kill>,
    /// What was passed in each step.
    passed: Vec<BTreeMap<String, u64>>,
    read: usize,
}

/// What became of a story's bot.
pub(crate) struct Ended {
    pub(crate) struck: Vec<Kill>,
    pub(crate) passed: Vec<BTreeMap<String, u64>>,
    pub(crate) inbox: Vec<Entry>,
}

/// What `/readyz` tells.
#[derive(Deserialize)]
struct Ready {
    ready: u64,
    running: u64,
    parked: u64,
    github: String,
}

impl Bot {
    /// A bot for a stage, that is to be killed here. It is started by whoever waits for it first.
    pub(crate) async fn new(on: &Rehearsal, kills: &[Kill], dead: Dead) -> anyhow::Result<Arc<Self>> {
        let door = Door::open().await?;
        on.admin().set_webhook_url(on.app().id, Some(&format!("http://{}/api/github/webhooks", door.address())))?;
        let (time, faults) = (on.data().join("clock"), on.data().join("faults"));
        std::fs::create_dir(&faults)?;
        on.clock().tell_in(time.clone())?;
        let given = |name: &str| std::env::var_os(name).unwrap_or_default();
        let bot = Self {
            admin: on.admin().clone(),
            app: on.app().id,
            clock: Arc::clone(on.clock()),
            dead,
            database: on.database().to_owned(),
            settings: vec![
                ("PATH", given("PATH")),
                ("TMPDIR", std::env::temp_dir().into()),
                ("APP_ID", on.app().id.to_string().into()),
                ("PRIVATE_KEY", on.app().pem.clone().into()),
                ("WEBHOOK_SECRET", on.app().webhook_secret.clone().into()),
                ("GITHUB_API_URL", on.api_url().into()),
                ("DATABASE_URL", on.database().into()),
                ("PHASEGATE_PUBLIC_URL", "https://phasegate.example".into()),
                ("PHASEGATE_DATA", on.data().join("mirrors").into()),
                ("PHASEGATE_CLOCK", time.into()),
                ("PHASEGATE_FAULTS", faults.clone().into()),
                ("PHASEGATE_UNPACED", "1".into()),
                ("LISTEN", "127.0.0.1:0".into()),
                ("NO_COLOR", "1".into()),
            ],
            faults,
            door,
            http: reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build()?,
            log: Arc::default(),
            life: tokio::sync::Mutex::new(Life {
                running: None,
                reader: None,
                deaths: 0,
                looks: None,
                step: 0,
                planned: kills.to_vec(),
                now: VecDeque::new(),
                late: None,
                struck: Vec::new(),
                passed: Vec::new(),
                read: 0,
            }),
        };
        bot.aims(&mut *bot.life.lock().await)?;
        Ok(Arc::new(bot))
    }

    /// The next life begins.
    async fn begin(&self, life: &mut Life) -> anyhow::Result<()> {
        self.door.put(Behind::Starting);
        life.looks = Some(self.looks());
        // An end on purpose leaves no core behind.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -c 0; exec \"$0\" serve", PHASEGATE]);
        command.env_clear().envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().context("the process can't be started")?;
        let mut lines = BufReader::new(process.stderr.take().context("it has no stderr")?).lines();
        let (log, (told, address)) = (Arc::clone(&self.log), oneshot::channel());
        log.lock().unwrap().push(format!("-- life {}", life.deaths + 1));
        life.reader = Some(tokio::spawn(async move {
            let mut told = Some(told);
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(address) =
                    line.split_once("listening address=").and_then(|(_, rest)| rest.trim().parse().ok())
                    && let Some(told) = told.take()
                {
                    let _ = told.send(address);
                }
                log.lock().unwrap().push(line);
            }
        }));
        // It may be ended before it listens.
        match address.await {
            Ok(address) => {
                self.door.put(Behind::Bot(address));
                life.running = Some((process, address));
                Ok(())
            }
            Err(_) => {
                let status = process.wait().await?;
                self.buried(life, status).await
            }
        }
    }

    /// It is over with a life: was it to be?
    async fn buried(&self, life: &mut Life, status: ExitStatus) -> anyhow::Result<()> {
        self.door.put(Behind::Nobody);
        life.running = None;
        // Its last words may be on their way still.
        if let Some(reader) = life.reader.take() {
            reader.await.context("what it said could not be read")?;
        }
        let log = self.log.lock().unwrap();
        let last: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix("killed at ")).collect();
        let told = last.last().filter(|_| last.len() == life.deaths + 1 && status.signal() == Some(SIGABRT));
        let Some(&point) = told else { bail!("the process ended by itself: {status}") };
        let late = life.late.take_if(|late| late.point == point);
        let struck = late.or_else(|| life.now.pop_front_if(|now| now.point == point));
        life.struck.push(struck.with_context(|| format!("it was killed at {point}, and nobody asked for that"))?);
        drop(log);
        life.deaths += 1;
        self.points_at(life)
    }

    /// The step's kills are aimed at.
    fn aims(&self, life: &mut Life) -> anyhow::Result<()> {
        let step = life.step;
        (life.now, life.planned) = {
            let (now, planned) = life.planned.drain(..).partition(|kill: &Kill| kill.step == step);
            let now: Vec<Kill> = now;
            (now.into(), planned)
        };
        self.points_at(life)
    }

    /// The next kill is put where the process sees it.
    fn points_at(&self, life: &Life) -> anyhow::Result<()> {
        let (kill, new) = (self.faults.join("kill"), self.faults.join("new"));
        match life.now.front() {
            Some(Kill { point, passage, .. }) => {
                std::fs::write(&new, format!("{}-{} {passage} {point}", life.step, life.deaths))?;
                std::fs::rename(new, kill)?;
            }
            None if kill.exists() => std::fs::remove_file(kill)?,
            None => {}
        }
        Ok(())
    }

    /// A step is over.
    fn steps(&self, life: &mut Life) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(self.faults.join("passed"))?;
        let mut passed: BTreeMap<String, u64> = BTreeMap::new();
        for point in text[life.read..].lines() {
            *passed.entry(point.to_owned()).or_default() += 1;
        }
        life.read = text.len();
        // What is due by the clock comes in any step but the first.
        if life.step > 0 {
            passed.retain(|point, _| !point.starts_with("inbox.prune."));
        }
        life.passed.push(passed);
        life.step += 1;
        life.late = life.now.pop_front();
        self.aims(life)
    }

    /// Whether it lives; what is dead is found now, and rises after a while.
    async fn lives(&self, life: &mut Life) -> anyhow::Result<bool> {
        if let Some((process, _)) = &mut life.running {
            let Some(status) = process.try_wait()? else { return Ok(true) };
            self.buried(life, status).await?;
        }
        if self.dead == Dead::ForTwoMinutes {
            self.clock.put_forward(Duration::from_secs(120));
        }
        self.begin(life).await?;
        Ok(false)
    }

    /// One look: whether nothing is left to do.
    async fn is_settled(&self) -> anyhow::Result<bool> {
        let mut life = self.life.lock().await;
        if !self.lives(&mut life).await? {
            return Ok(false);
        }
        let Some((process, address)) = &mut life.running else { return Ok(false) };
        tokio::select! {
            () = self.admin.wait_idle() => {}
            _ = process.wait() => return Ok(false),
        }
        let sent = self.admin.attempts(self.app);
        let answer = self.http.get(format!("http://{address}/readyz")).send().await;
        // It is dying, then.
        let Ok(answer) = answer else { return Ok(false) };
        let Ok(Ready { ready, running, parked, github }) = answer.json().await else { return Ok(false) };
        if ready + running > 0 || github != "known" {
            return Ok(false);
        }
        // The last of what it begins with is to look for what it missed.
        if life.looks.is_some_and(|before| self.looks() == before) {
            return Ok(false);
        }
        life.looks = None;
        if parked > 0 {
            // Time passes for what was put off.
            self.clock.put_forward(Duration::from_secs(10));
            return Ok(false);
        }
        let settled = self.lost().await?.is_empty() && self.admin.attempts(self.app) == sent;
        if settled {
            self.steps(&mut life)?;
        }
        Ok(settled)
    }

    fn looks(&self) -> usize {
        let log = self.admin.request_log();
        log.iter().filter(|one| one.method == "GET" && one.path.starts_with("/app/hook/deliveries")).count()
    }

    /// The deliveries that did not arrive however often they were tried, and that the inbox does not have either.
    async fn lost(&self) -> anyhow::Result<BTreeSet<String>> {
        let mut arrived: BTreeMap<String, bool> = BTreeMap::new();
        for attempt in self.admin.deliveries(self.app) {
            let fine = attempt.outcome.is_some_and(|outcome| (200..300).contains(&outcome.status_code));
            *arrived.entry(attempt.guid).or_default() |= fine;
        }
        let mut lost: BTreeSet<String> = arrived.into_iter().filter(|(_, fine)| !fine).map(|(guid, _)| guid).collect();
        if !lost.is_empty() {
            let inbox = self.inbox().await?;
            let known = inbox.known(lost.iter().map(String::as_str)).await?;
            inbox.close().await;
            lost.retain(|guid| !known.contains(guid));
        }
        Ok(lost)
    }

    async fn inbox(&self) -> anyhow::Result<Inbox> {
        let options = Options { clock: Arc::clone(&self.clock) as Arc<dyn Clock>, ..Options::default() };
        Ok(Inbox::open_with(&self.database, options).await?)
    }

    /// Ends its last life, when all is done.
    pub(crate) async fn ends(&self) -> anyhow::Result<Ended> {
        loop {
            self.settle().await?;
            let mut life = self.life.lock().await;
            let Some((process, _)) = &mut life.running else { continue };
            process.start_kill()?;
            let status = process.wait().await?;
            // It may have passed its point with the very last thing it did.
            if status.signal() == Some(SIGABRT) {
                self.buried(&mut life, status).await?;
                continue;
            }
            self.door.put(Behind::Nobody);
            life.running = None;
            let lost = self.lost().await?;
            ensure!(lost.is_empty(), "deliveries are lost: {lost:?}");
            let inbox = self.inbox().await?;
            let kept = inbox.list(&Filter { limit: 10_000, ..Filter::default() }).await?;
            inbox.close().await;
            let (struck, passed) = (std::mem::take(&mut life.struck), std::mem::take(&mut life.passed));
            return Ok(Ended { struck, passed, inbox: kept });
        }
    }

    /// Its copies of repositories are damaged, as by a disk that was full.
    pub(crate) fn breaks_the_mirror(&self, on: &Rehearsal) -> anyhow::Result<()> {
        for mirror in std::fs::read_dir(on.data().join("mirrors"))? {
            std::fs::write(mirror?.path().join("HEAD"), "garbage")?;
        }
        Ok(())
    }

    /// Somebody sends it something of their own, again and again until it is answered.
    pub(crate) async fn hears(&self, on: &Rehearsal, event: &str, guid: &str, body: &[u8]) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let request = self.http.post(format!("http://{}/api/github/webhooks", self.door.address()));
            let request = request.header("X-Hub-Signature-256", on.signature(body));
            let request = request.header("X-GitHub-Event", event).header("X-GitHub-Delivery", guid);
            match request.body(body.to_vec()).send().await {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                _ => ensure!(begun.elapsed() < PATIENCE, "{guid} is not taken"),
            }
            self.lives(&mut *self.life.lock().await).await?;
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Returns when something is put off, and nothing else is left to do.
    pub(crate) async fn waits(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let mut life = self.life.lock().await;
            if self.lives(&mut life).await?
                && let Some((_, address)) = &life.running
                && let Ok(answer) = self.http.get(format!("http://{address}/readyz")).send().await
                && let Ok(Ready { ready: 0, running: 0, parked: 1.., .. }) = answer.json().await
            {
                return Ok(());
            }
            drop(life);
            ensure!(begun.elapsed() < PATIENCE, "nothing is put off");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// What it said in all its lives.
    pub(crate) fn said(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }
}

#[async_trait::async_trait]
impl Elsewhere for Bot {
    async fn settle(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        while !self.is_settled().await? {
            if begun.elapsed() > PATIENCE {
                bail!("the bot does not come to an end");
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }
}
