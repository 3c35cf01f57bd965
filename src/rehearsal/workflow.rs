//! The bot as an Action: GitHub starts a run of it for what happened, as the workflow of the templates asks for.
//!
//! The runs are the real ones ([`crate::server::Once`]) on real event files; only the runner is played here. Tests with a
//! real workflow runner are in `tests/actions.rs`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use async_trait::async_trait;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{Bot, REPO, Rehearsal};
use crate::action::event;
use crate::github::{AppKey, Endpoint};
use crate::server::{Heard, Identity, Once, OnceConfig};
use crate::twin::{Happened, Level};

/// What the template's job may do with the workflow's own token.
pub const TOKEN: &[(&str, Level)] = &[
    ("contents", Level::Write),
    ("checks", Level::Write),
    ("issues", Level::Write),
    ("pull_requests", Level::Write),
    ("actions", Level::Read),
    ("deployments", Level::Read),
];

/// Runs may start runs, by what they write; but not for ever.
const MOST_RUNS: usize = 200;

/// What an event starts.
pub enum Starts {
    /// A run of the bot, on an event of this name.
    Run(&'static str),
    /// Nothing. The next scheduled run sees what came of it.
    Later,
    Nothing,
}

/// Who runs the workflows that the bot is in.
#[async_trait]
pub trait Runner: Send + Sync {
    /// Runs what this starts. Says whether the next scheduled run may see more of it.
    async fn hears(&self, on: &Rehearsal, happened: &Happened) -> anyhow::Result<bool>;

    /// The scheduled run.
    async fn scheduled(&self, on: &Rehearsal) -> anyhow::Result<()>;
}

/// Runs nothing but the bot, in this process.
pub(super) struct Here;

#[async_trait]
impl Runner for Here {
    async fn hears(&self, on: &Rehearsal, happened: &Happened) -> anyhow::Result<bool> {
        let payload = &happened.payload;
        if happened.event == "pull_request_review" {
            // The workflow for reviews does nothing but end, and that it ended starts the referee.
            let head = &payload["pull_request"]["head"];
            let ended = json!({ "id": 1, "head_sha": head["sha"], "head_branch": head["ref"] });
            let told = json!({ "action": "completed", "workflow_run": ended, "repository": payload["repository"] });
            return on.runs_or_fails("workflow_run", &told).await;
        }
        match starts(happened) {
            Starts::Run(name) => on.runs_or_fails(name, payload).await,
            Starts::Later => Ok(true),
            Starts::Nothing => Ok(false),
        }
    }

    async fn scheduled(&self, on: &Rehearsal) -> anyhow::Result<()> {
        let mut fails = true;
        for _ in 0..MOST_RUNS {
            fails = fails && on.runs_or_fails("schedule", &Value::Null).await?;
        }
        ensure!(!fails, "every scheduled run fails");
        Ok(())
    }
}

impl Rehearsal {
    /// From now on no run begins: each waits behind another.
    pub fn holds_runs(&self) {
        self.runs_wait.store(true, Ordering::SeqCst);
    }

    /// The runs that waited begin, those that are left and in the order that they are put into.
    pub async fn lets_runs_go(&self, arrange: impl FnOnce(&mut Vec<Happened>)) -> anyhow::Result<()> {
        let mut waiting: Vec<Happened> = self.admin.happened().into_iter().filter(|one| one.repo == REPO).collect();
        arrange(&mut waiting);
        self.runs_wait.store(false, Ordering::SeqCst);
        for one in waiting {
            if self.runner.hears(self, &one).await? {
                self.runner.scheduled(self).await?;
            }
            self.workflows_run().await?;
        }
        Ok(())
    }

    /// Every run that was started is over, and so are those that they started.
    pub(super) async fn workflows_run(&self) -> anyhow::Result<()> {
        if self.runs_wait.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut later = false;
        for _ in 0..MOST_RUNS {
            let happened: Vec<Happened> = self.admin.happened().into_iter().filter(|one| one.repo == REPO).collect();
            if happened.is_empty() && !later {
                return Ok(());
            }
            if happened.is_empty() {
                later = false;
                self.runner.scheduled(self).await?;
            }
            for one in happened {
                later |= self.runner.hears(self, &one).await?;
            }
        }
        bail!("workflows start each other without end")
    }

    /// One run of the bot, on this event. While everybody is patient it may fail, as one does where GitHub does: then the
    /// next scheduled run has to see to it, and this says so.
    async fn runs_or_fails(&self, name: &str, payload: &Value) -> anyhow::Result<bool> {
        match self.run_on(name, payload).await {
            Ok(_) => Ok(false),
            Err(_) if self.patient.load(Ordering::SeqCst) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// One run of the bot, on this event.
    pub async fn run_on(&self, name: &str, payload: &Value) -> anyhow::Result<Heard> {
        let folder = tempfile::tempdir().context("no place for a run's files")?;
        let path = folder.path().join("event.json");
        std::fs::write(&path, payload.to_string())?;
        let identity = match self.bot {
            Bot::Advisory => Identity::Workflow { token: SecretString::from(self.admin.actions_token(REPO, TOKEN)?) },
            Bot::Server | Bot::Action => Identity::App {
                issuer: self.app.id.to_string(),
                key: Arc::new(AppKey::from_pem(&SecretString::from(self.app.pem.clone()))?),
                earlier_keys: self.earlier_keys.clone(),
            },
        };
        let slug = REPO.parse().context("the rehearsal's repository")?;
        let config = OnceConfig {
            identity,
            endpoint: Endpoint::new(&self.twin.api_url())?,
            slug,
            run: uuid::Uuid::new_v4().to_string(),
            data: folder.path().to_owned(),
            patience: Duration::from_secs(600),
            paced: false,
        };
        let slug = REPO.parse().context("the rehearsal's repository")?;
        let once = Once::begin_at(config, self.clock.clone(), self.clock.clone()).await?;
        let default_branch = once.home().default_branch.clone();
        let at = format!("refs/heads/{default_branch}");
        let told = event::Told { event: name, path: &path, slug: &slug, at: &at, default_branch: &default_branch };
        once.take(event::read(&told)?.facts).await?;
        let inbox = once.inbox().clone();
        // Time passes for what was put off. When the run is over its inbox is closed, and that ends this too.
        let passing = async {
            while inbox.settled().await.is_ok() {
                let Ok(Some(due)) = inbox.next_due().await else { return };
                self.clock.put_forward(due.duration_since(inbox.now()).unsigned_abs() + Duration::from_millis(1));
                inbox.notify();
            }
        };
        let (heard, ()) = tokio::join!(once.finish(), passing);
        let heard = heard?;
        if let Some(fault) = heard.faults.first() {
            bail!("a run on {name} could not look at {}: {}", fault.about, fault.says);
        }
        Ok(heard)
    }
}

/// As `templates/action` has it.
pub fn starts(happened: &Happened) -> Starts {
    let payload = &happened.payload;
    let by_bot = payload["sender"]["type"] == "Bot";
    match (happened.event.as_str(), payload["action"].as_str().unwrap_or_default()) {
        ("pull_request", action) if !by_bot || !action.contains("labeled") => Starts::Run("pull_request_target"),
        ("issue_comment", "created") if !by_bot => Starts::Run("issue_comment"),
        ("issue_comment", _) if !by_bot && payload["comment"]["user"]["type"] == "Bot" => Starts::Run("issue_comment"),
        ("issues", "edited" | "closed" | "deleted" | "transferred" | "unlabeled")
            if !by_bot && payload["issue"]["user"]["type"] == "Bot" =>
        {
            Starts::Run("issues")
        }
        ("workflow_run", "completed") => Starts::Run("workflow_run"),
        ("push", _) if payload["ref"] == "refs/heads/main" => Starts::Run("push"),
        // What Actions' own token posted starts nothing; what we posted ourselves is no news.
        ("check_run", "completed") if payload["check_run"]["app"]["slug"] == "github-actions" || !by_bot => {
            Starts::Later
        }
        ("deployment_status" | "issues" | "issue_comment" | "repository", _) if !by_bot => Starts::Later,
        _ => Starts::Nothing,
    }
}
