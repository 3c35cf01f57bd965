//! The real `phasegate action`: a process for each event, as a runner of GitHub Actions starts it.
//!
//! It keeps nothing from one run to the next. When it is killed, nobody starts it again for the same event: what it left is seen
//! by the run that the schedule starts.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use phasegate::rehearsal::workflow::{Runner, Starts, starts};
use phasegate::rehearsal::{REPO, Rehearsal};
use phasegate::twin::Happened;
use serde_json::{Value, json};
use tokio::process::Command;

use super::bot::{PATIENCE, PHASEGATE, SIGABRT};
use super::plan::Kill;

/// The workflow for reviews, which does nothing but end. That it ended starts the referee.
const REVIEWS: &str = ".github/workflows/phasegate-review.yml";

/// The runs of one story.
pub(crate) struct Errands {
    folder: tempfile::TempDir,
    past: tokio::sync::Mutex<Past>,
}

/// A step is one event: the run that it starts, and those that follow where that was killed.
#[derive(Default)]
struct Past {
    planned: Vec<Kill>,
    struck: Vec<Kill>,
    /// What was passed in each step, in its order.
    passed: Vec<Vec<String>>,
    read: usize,
    log: String,
}

impl Errands {
    pub(crate) fn new(kills: &[Kill]) -> anyhow::Result<Arc<Self>> {
        let folder = tempfile::tempdir().context("no place for the runs' files")?;
        for name in ["faults", "temp"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        let past = Past { planned: kills.to_vec(), ..Past::default() };
        Ok(Arc::new(Self { folder, past: tokio::sync::Mutex::new(past) }))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The kills that struck, and what was passed in each step, in its order.
    pub(crate) async fn ended(&self) -> (Vec<Kill>, Vec<Vec<String>>) {
        let past = self.past.lock().await;
        (past.struck.clone(), past.passed.clone())
    }

    /// What all runs said.
    pub(crate) async fn said(&self) -> String {
        self.past.lock().await.log.clone()
    }

    /// A step: this event's run, and the schedule's after it until one of them lives to its end.
    async fn step(&self, on: &Rehearsal, event: &str, payload: &Value) -> anyhow::Result<()> {
        let mut past = self.past.lock().await;
        let step = past.passed.len();
        let (now, later) = past.planned.drain(..).partition(|kill: &Kill| kill.step == step);
        past.planned = later;
        let mut now: VecDeque<Kill> = Vec::into(now);
        let (mut event, mut payload) = (event, payload.clone());
        loop {
            self.aims_at(now.front())?;
            let ended = tokio::time::timeout(PATIENCE, self.run(on, event, &payload)).await.context("it hangs")??;
            let said = String::from_utf8_lossy(&ended.stderr);
            past.log += &format!("-- {event}\n{said}");
            let last = said.lines().last().and_then(|line| line.strip_prefix("killed at "));
            let Some(point) = last.filter(|_| ended.status.signal() == Some(SIGABRT)) else {
                ensure!(ended.status.success(), "a run on {event} ended with {}", ended.status);
                break;
            };
            let struck = now.pop_front_if(|kill| kill.point == point);
            past.struck.push(struck.with_context(|| format!("it was killed at {point}, and nobody asked for that"))?);
            (event, payload) = ("schedule", json!({ "schedule": "17,47 * * * *" }));
        }
        let text = std::fs::read_to_string(self.file("faults/passed"))?;
        let passed = text[past.read..].lines().map(str::to_owned).collect();
        past.passed.push(passed);
        past.read = text.len();
        Ok(())
    }

    /// The next kill is put where the process sees it. Each process counts its own passages.
    fn aims_at(&self, kill: Option<&Kill>) -> anyhow::Result<()> {
        let file = self.file("faults/kill");
        match kill {
            Some(Kill { point, passage, .. }) => std::fs::write(file, format!("1 {passage} {point}"))?,
            None if file.exists() => std::fs::remove_file(file)?,
            None => {}
        }
        Ok(())
    }

    /// One process.
    async fn run(&self, on: &Rehearsal, event: &str, payload: &Value) -> anyhow::Result<Output> {
        std::fs::write(self.file("event.json"), payload.to_string())?;
        // An end on purpose leaves no core behind.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -c 0; exec \"$0\" action", PHASEGATE]).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.folder.path());
        command.env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_REPOSITORY", REPO).env("GITHUB_REF", "refs/heads/main");
        command.env("GITHUB_EVENT_NAME", event).env("GITHUB_EVENT_PATH", self.file("event.json"));
        command.env("GITHUB_API_URL", on.api_url()).env("GITHUB_SERVER_URL", on.url());
        command.env("GITHUB_GRAPHQL_URL", format!("{}/api/graphql", on.url()));
        command.env("GITHUB_OUTPUT", self.file("outputs")).env("GITHUB_STEP_SUMMARY", self.file("summary"));
        command.env("RUNNER_TEMP", self.file("temp")).env("PHASEGATE_FAULTS", self.file("faults"));
        command.env("PHASEGATE_UNPACED", "true").env("NO_COLOR", "1");
        Ok(command.kill_on_drop(true).output().await?)
    }
}

#[async_trait]
impl Runner for Errands {
    async fn hears(&self, on: &Rehearsal, happened: &Happened) -> anyhow::Result<bool> {
        let payload = &happened.payload;
        if happened.event == "pull_request_review" {
            let head = payload["pull_request"]["head"]["sha"].as_str().unwrap_or_default();
            on.admin().workflow_run(REPO, head, REVIEWS, "pull_request_review", &[("noticed", Some("success"))])?;
            return Ok(false);
        }
        match starts(happened) {
            Starts::Run(name) => self.step(on, name, payload).await.map(|()| false),
            Starts::Later => Ok(true),
            Starts::Nothing => Ok(false),
        }
    }

    async fn scheduled(&self, on: &Rehearsal) -> anyhow::Result<()> {
        self.step(on, "schedule", &json!({ "schedule": "17,47 * * * *" })).await
    }
}
