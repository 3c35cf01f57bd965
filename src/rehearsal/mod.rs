//! A rehearsal: the twin, the real server and a cast, so that a whole change can be played without an account.
//!
//! The demo plays on it, and so do the stories in `tests/`. Everything between the actors and the bot is real: git,
//! HTTP, signatures, the database. The verbs read as prose, and none of them sleeps: [`Rehearsal::settle`] returns when
//! every webhook was delivered and worked off.

mod clock;
pub mod papers;
mod props;
mod settle;
mod story;
mod visitors;
pub mod workflow;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::github::{AppKey, Endpoint, PublicKey};
use crate::server::{Answers, Config, PublicUrl, Runs, Server};
use crate::twin::{ACTIONS_APP, Admin, AppHandle, CheckRun, Feature, Level, NewApp, NewRepo, Options, Role, Twin};

use settle::Settling;

pub use clock::StageClock;
pub use props::LEDGER;
pub use settle::Elsewhere;
pub use story::{Beat, Timeline, play};
pub use visitors::{demo_stage, sandbox_stage};

/// The repository that everything happens in.
pub const REPO: &str = "octo-org/lantern";
/// The workflow whose job proves the change.
pub const WORKFLOW: &str = ".github/workflows/ci.yml";
/// That job's check run.
pub const CHECK: &str = "test";

/// A policy for the pipeline flow, with the one check that this repository has.
pub const PIPELINE_POLICY: &str = "\
version: 1
flow: pipeline
gates:
  verify:
    checks:
      - { name: test, workflow: .github/workflows/ci.yml }
    security:
      dependencies: { none: it has no dependencies }
      injection: { none: it has neither a page nor a query }
      authentication: { none: it is used by whoever holds it }
";

/// The same without phases.
pub const MERGE_POLICY: &str = "\
version: 1
flow: merge
gates:
  verify:
    checks:
      - { name: test, workflow: .github/workflows/ci.yml }
";

/// That workflow.
pub const CI: &str = "\
name: ci
on: [push, pull_request]
permissions: {}
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: make test
";

/// What the App may do, and hears. `deployments` is needed to hear of them.
pub const PERMISSIONS: &[(&str, Level)] = &[
    ("checks", Level::Write),
    ("pull_requests", Level::Write),
    ("issues", Level::Write),
    ("contents", Level::Write),
    ("actions", Level::Write),
    ("merge_queues", Level::Read),
    ("deployments", Level::Read),
    ("members", Level::Read),
];

pub const EVENTS: &[&str] = &[
    "pull_request",
    "pull_request_review",
    "issue_comment",
    "issues",
    "check_run",
    "check_suite",
    "workflow_run",
    "merge_group",
    "push",
    "installation",
    "installation_repositories",
    "deployment_status",
    "repository",
];

/// How the bot runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bot {
    /// As an App with a server.
    Server,
    /// As an Action with an App's key.
    Action,
    /// As an Action with the workflow's own token.
    Advisory,
}

/// How a rehearsal is set up.
pub struct Setup {
    /// The policy on the default branch; `None`: there is none.
    pub policy: Option<String>,
    /// The inbox's database. `None`: an SQLite file that goes with the rehearsal.
    pub database: Option<String>,
    /// Where the twin listens.
    pub listen: SocketAddr,
    /// More files on the default branch.
    pub files: Vec<(String, String)>,
    /// Permissions that the App is not given.
    pub lacks: &'static [&'static str],
    pub bot: Bot,
    /// Who runs its workflow; without one, this process does.
    pub runner: Option<Arc<dyn workflow::Runner>>,
    /// What this GitHub is without.
    pub without: &'static [Feature],
    /// Where people are told to reach the bot's own pages.
    pub public_url: Option<PublicUrl>,
    /// What the server runs itself.
    pub runs: Option<Runs>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            policy: Some(PIPELINE_POLICY.to_owned()),
            database: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            files: Vec::new(),
            lacks: &[],
            bot: Bot::Server,
            runner: None,
            without: &[],
            public_url: None,
            runs: None,
        }
    }
}

impl Setup {
    pub fn with_policy(policy: &str) -> Self {
        Self { policy: Some(policy.to_owned()), ..Self::default() }
    }
}

pub struct Rehearsal {
    clock: Arc<StageClock>,
    /// Whether [`Rehearsal::settle`] waits for what was put off, held back or lost.
    patient: AtomicBool,
    twin: Twin,
    admin: Admin,
    server: Option<Server>,
    bot: Bot,
    runner: Arc<dyn workflow::Runner>,
    elsewhere: Option<Arc<dyn Elsewhere>>,
    /// Whether runs wait, as for [`Rehearsal::holds_runs`].
    runs_wait: AtomicBool,
    app: AppHandle,
    earlier_keys: Vec<PublicKey>,
    database: String,
    public_url: Option<PublicUrl>,
    runs: Option<Runs>,
    data: TempDir,
}

impl Rehearsal {
    /// Raises the curtain: a repository with a protected `main`, the App installed, its server listening.
    ///
    /// The cast: `mia` maintains, `ada` writes and drives the agent, `rover` is the agent's account, `tim` triages,
    /// `eve` reads, `root` administers.
    pub async fn start(setup: Setup) -> anyhow::Result<Self> {
        let mut rehearsal = Self::stage(setup).await?;
        match rehearsal.bot {
            Bot::Server => rehearsal.start_server().await?,
            // From now on it is noted what workflows are started by.
            Bot::Action | Bot::Advisory => drop(rehearsal.admin.happened()),
        }
        rehearsal.install().await?;
        Ok(rehearsal)
    }

    /// The stage alone: no bot is there yet, and the App is not installed.
    pub async fn stage(setup: Setup) -> anyhow::Result<Self> {
        let data = tempfile::tempdir().context("no place for the rehearsal's files")?;
        let twin = Twin::start(Options { listen: setup.listen, data: data.path().join("twin") })
            .await
            .with_context(|| format!("the twin can't listen on {}", setup.listen))?;
        let admin = twin.admin();
        setup.without.iter().for_each(|feature| admin.without(*feature));
        admin.create_org("octo-org")?;
        let mut files = vec![
            ("README.md".to_owned(), papers::README.to_owned()),
            ("DELIVERY.md".to_owned(), papers::DELIVERY.to_owned()),
            (WORKFLOW.to_owned(), CI.to_owned()),
        ];
        files.extend(setup.policy.map(|policy| (crate::policy::PATH.to_owned(), policy)));
        files.extend(setup.files);
        for (login, _) in CAST {
            admin.create_user(login)?;
        }
        admin.create_repo(REPO, NewRepo { private: false, files })?;
        for (login, role) in CAST {
            admin.set_role(REPO, login, *role)?;
        }
        let app = admin.register_app(
            "octo-org",
            NewApp {
                name: "Phasegate".to_owned(),
                webhook_url: None,
                webhook_secret: "the rehearsal's secret".to_owned(),
                permissions: PERMISSIONS
                    .iter()
                    .filter(|(name, _)| !setup.lacks.contains(name))
                    .map(|(name, level)| ((*name).to_owned(), *level))
                    .collect(),
                events: EVENTS.iter().map(|event| (*event).to_owned()).collect(),
            },
        )?;
        let database = setup.database.unwrap_or_else(|| format!("sqlite:{}", data.path().join("inbox.db").display()));
        let clock: Arc<StageClock> = Arc::default();
        let on_github = Arc::clone(&clock);
        admin.set_clock(move || on_github.on_github());
        let patient = AtomicBool::new(false);
        Ok(Self {
            clock,
            patient,
            twin,
            admin,
            server: None,
            bot: setup.bot,
            runner: setup.runner.unwrap_or_else(|| Arc::new(workflow::Here)),
            elsewhere: None,
            runs_wait: AtomicBool::new(false),
            app,
            earlier_keys: Vec::new(),
            database,
            public_url: setup.public_url,
            runs: setup.runs,
            data,
        })
    }

    /// Installs the App on the repository, whose `main` then asks for its check.
    pub async fn install(&self) -> anyhow::Result<()> {
        if self.bot != Bot::Advisory {
            self.admin.install(self.app.id, REPO)?;
            self.admin.reserve_branch(REPO, LEDGER, self.app.id)?;
        }
        self.admin.require_checks(REPO, &[(crate::gate::merge::CHECK_NAME, Some(self.bot_id()))])?;
        self.settle().await
    }

    /// The bot runs elsewhere: in a process of its own, which somebody else starts and ends.
    pub fn runs_elsewhere(&mut self, bot: Arc<dyn Elsewhere>) {
        self.elsewhere = Some(bot);
    }

    /// The clock that everybody here goes by.
    pub fn clock(&self) -> &Arc<StageClock> {
        &self.clock
    }

    /// Starts the bot (again), on the same database and the same keys.
    pub async fn start_server(&mut self) -> anyhow::Result<()> {
        let config = Config {
            app: self.app.id.to_string(),
            key: Arc::new(AppKey::from_pem(&SecretString::from(self.app.pem.clone()))?),
            earlier_keys: self.earlier_keys.clone(),
            secrets: vec![SecretString::from(self.app.webhook_secret.clone())],
            database: self.database.clone(),
            endpoint: Endpoint::new(&self.twin.api_url())?,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data: self.data.path().join("mirrors"),
            workers: 4,
            paced: false,
            public_url: self.public_url.clone(),
            answers: Answers::WhereItListens,
            runs: self.runs.clone(),
        };
        let server = Server::start_at(config, self.clock.clone(), self.clock.clone()).await?;
        self.admin.set_webhook_url(self.app.id, Some(&server.webhook_url()))?;
        server.caught_up().await;
        let settling = self.settling(&server);
        // Whoever acts from a page finds the bot done with it.
        self.admin.settle_after_acts(move |_| {
            let settling = settling.clone();
            Box::pin(async move { settling.for_a_visitor().await })
        });
        self.server = Some(server);
        Ok(())
    }

    /// Stops the bot as SIGTERM would.
    pub async fn stop_server(&mut self) {
        if let Some(server) = self.server.take() {
            server.drain().await;
        }
    }

    /// Time goes by: what was put off until then is worked off.
    pub async fn time_passes(&self, by: Duration) -> anyhow::Result<()> {
        self.clock.put_forward(by);
        if let Some(server) = &self.server {
            server.lookout().remind().await?;
            server.inbox().notify();
        }
        self.settle().await
    }

    /// The bot's database is lost, and it starts again without.
    pub async fn loses_its_database(&mut self) -> anyhow::Result<()> {
        self.stop_server().await;
        let file = self.database.strip_prefix("sqlite:").context("only a file can be lost")?;
        for suffix in ["", "-wal", "-shm"] {
            match std::fs::remove_file(format!("{file}{suffix}")) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        self.start_server().await
    }

    /// The App gets another key and its old one is deleted; the bot starts again with the new one, and with the old
    /// one's public half when it was kept.
    pub async fn changes_key(&mut self, kept: bool) -> anyhow::Result<()> {
        self.stop_server().await;
        if kept {
            self.earlier_keys.push(PublicKey::from_pem(&self.app.pem)?);
        }
        self.app.pem = self.admin.change_key(self.app.id)?;
        self.start_server().await
    }

    /// Ends the rehearsal.
    pub async fn end(mut self) {
        self.stop_server().await;
        self.twin.shutdown().await;
    }

    /// Control over the twin itself.
    pub fn admin(&self) -> &Admin {
        &self.admin
    }

    pub fn app(&self) -> &AppHandle {
        &self.app
    }

    pub fn url(&self) -> String {
        self.twin.url()
    }

    pub fn api_url(&self) -> String {
        self.twin.api_url()
    }

    /// A folder that goes with the rehearsal.
    pub fn data(&self) -> &std::path::Path {
        self.data.path()
    }

    /// Where the inbox is kept.
    pub fn database(&self) -> &str {
        &self.database
    }

    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// Waits until every webhook was delivered and worked off, and what followed from that too.
    pub async fn settle(&self) -> anyhow::Result<()> {
        if let Some(bot) = &self.elsewhere {
            return bot.settle().await;
        }
        match &self.server {
            Some(server) if self.patient.load(Ordering::SeqCst) => self.settling(server).wholly().await,
            Some(server) => self.settling(server).settled().await,
            None if self.bot == Bot::Server => Ok(()),
            None => self.workflows_run().await,
        }
    }

    /// From now on everybody waits until the bot has also made good what was put off, held back or lost: time passes for
    /// what was put off, and the bot asks again for what GitHub could not deliver.
    pub fn everybody_is_patient(&self, patient: bool) {
        self.patient.store(patient, Ordering::SeqCst);
    }

    fn settling(&self, server: &Server) -> Settling {
        Settling {
            admin: self.admin.clone(),
            inbox: server.inbox().clone(),
            lookout: server.lookout(),
            clock: Arc::clone(&self.clock),
            app: self.app.id,
            rough: Arc::default(),
        }
    }

    /// Where the bot's server is, which has to be running.
    pub fn server_url(&self) -> String {
        self.server.as_ref().map(|server| format!("http://{}", server.address())).unwrap_or_default()
    }

    /// Someone commits to a branch, and everything that follows has happened.
    pub async fn pushes(
        &self,
        login: &str,
        branch: &str,
        message: &str,
        files: &[(&str, &str)],
    ) -> anyhow::Result<String> {
        let files: Vec<(&str, Option<&str>)> = files.iter().map(|(path, text)| (*path, Some(*text))).collect();
        let head = self.admin.commit(REPO, login, branch, message, &files)?;
        self.settle().await?;
        Ok(head)
    }

    /// Someone opens a pull request into `main`.
    pub async fn opens(&self, login: &str, title: &str, branch: &str) -> anyhow::Result<u64> {
        let number = self.admin.open_pull(REPO, login, title, branch, "main")?;
        self.settle().await?;
        Ok(number)
    }

    /// Someone reads the page: a second goes by. Within one of GitHub's seconds it is not known whether a person saw what
    /// they speak of.
    pub fn is_read(&self) {
        let ahead = self.admin.time().duration_since(self.clock.on_github());
        let ahead = Duration::try_from(ahead).unwrap_or_default();
        self.clock.put_forward(ahead + Duration::from_secs(1));
    }

    /// Someone has read the page, and comments.
    pub async fn says(&self, login: &str, number: u64, text: &str) -> anyhow::Result<u64> {
        self.is_read();
        let comment = self.admin.comment(REPO, login, number, text)?;
        self.settle().await?;
        Ok(comment)
    }

    /// The repository's CI ran on a commit, as a job of its own workflow.
    pub async fn ci(&self, head: &str, conclusion: &str) -> anyhow::Result<()> {
        self.admin.workflow_run(REPO, head, WORKFLOW, "pull_request", &[(CHECK, Some(conclusion))])?;
        self.settle().await
    }

    /// Someone has read the page, and reviews: `APPROVE` or `REQUEST_CHANGES`.
    pub async fn reviews(&self, login: &str, number: u64, verdict: &str) -> anyhow::Result<()> {
        self.is_read();
        let body = json!({ "event": verdict, "body": "Looked at it." });
        self.admin.call_as(login, "POST", &format!("/repos/{REPO}/pulls/{number}/reviews"), body)?;
        self.settle().await
    }

    /// Someone tries to merge; what GitHub says when it refuses.
    pub async fn merges(&self, login: &str, number: u64) -> anyhow::Result<Result<String, String>> {
        self.merges_by("merge", login, number).await
    }

    /// The same by another method: `squash` or `rebase`.
    pub async fn merges_by(&self, method: &str, login: &str, number: u64) -> anyhow::Result<Result<String, String>> {
        let path = format!("/repos/{REPO}/pulls/{number}/merge");
        let answer = self.admin.call_as(login, "PUT", &path, json!({ "merge_method": method }));
        self.settle().await?;
        Ok(match answer {
            Ok(answer) => Ok(answer["sha"].as_str().unwrap_or_default().to_owned()),
            Err(crate::twin::Error::Refused { message, .. }) => Err(message),
            Err(error) => return Err(error.into()),
        })
    }

    /// The commit at the head of a pull request.
    pub fn head(&self, number: u64) -> anyhow::Result<String> {
        let pull = self.pull(number)?;
        Ok(pull["head"]["sha"].as_str().unwrap_or_default().to_owned())
    }

    pub fn pull(&self, number: u64) -> anyhow::Result<Value> {
        Ok(self.admin.call_as("eve", "GET", &format!("/repos/{REPO}/pulls/{number}"), Value::Null)?)
    }

    /// The change's label, if it has exactly one of ours.
    pub fn label(&self, number: u64) -> anyhow::Result<Option<String>> {
        let labels = self.admin.labels(REPO, number)?;
        let mut ours = labels.into_iter().filter(|label| label.starts_with("phase:"));
        let first = ours.next();
        anyhow::ensure!(ours.next().is_none(), "more than one label of ours");
        Ok(first)
    }

    /// What the bot wrote on a pull request or issue: the one comment first, then its answers.
    pub fn bot_comments(&self, number: u64) -> anyhow::Result<Vec<String>> {
        let login = match self.bot {
            Bot::Advisory => "github-actions[bot]".to_owned(),
            Bot::Server | Bot::Action => format!("{}[bot]", self.app.slug),
        };
        let comments = self.admin.comments(REPO, number)?;
        Ok(comments.into_iter().filter(|comment| comment.user.login == login).map(|comment| comment.body).collect())
    }

    /// The bot's newest run of this name on a commit.
    pub fn run(&self, head: &str, name: &str) -> anyhow::Result<Option<CheckRun>> {
        let runs = self.admin.check_runs(REPO, head)?;
        let ours = runs.into_iter().filter(|run| run.app == self.bot_id() && run.name == name);
        Ok(ours.max_by_key(|run| run.id))
    }

    pub fn bot(&self) -> Bot {
        self.bot
    }

    /// The App that the bot speaks as.
    pub fn bot_id(&self) -> u64 {
        match self.bot {
            Bot::Advisory => ACTIONS_APP,
            Bot::Server | Bot::Action => self.app.id,
        }
    }

    /// How the merge check on a pull request's head ended.
    pub fn merge_check(&self, number: u64) -> anyhow::Result<Option<String>> {
        let run = self.run(&self.head(number)?, crate::gate::merge::CHECK_NAME)?;
        Ok(run.and_then(|run| run.conclusion))
    }
}

const CAST: &[(&str, Role)] = &[
    ("root", Role::Admin),
    ("mia", Role::Maintain),
    ("ada", Role::Write),
    ("rover", Role::Write),
    ("tim", Role::Triage),
    ("eve", Role::Read),
];
