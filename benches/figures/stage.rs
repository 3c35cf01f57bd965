//! What the figures share: the programs, the folder on disk, the twin, and the delivery that is sent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use phasegate::github::webhook;
use phasegate::rehearsal::{CI, EVENTS, LEDGER, MERGE_POLICY, PERMISSIONS, WORKFLOW};
use phasegate::twin::{Admin, AppHandle, NewApp, NewRepo, Options, Role, Twin};
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::runtime::Runtime;

use crate::load::Letter;
use crate::process::{Server, Tells};

const REPO: &str = "octo-org/lantern";
const SECRET: &str = "the secret of the benchmarks";
/// So many pull requests are open, and told of in turn.
const OPEN: usize = 8;

/// What `benches/run.sh` says in the environment.
pub(crate) fn given(name: &str) -> anyhow::Result<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).with_context(|| format!("{name} is not set: run benches/run.sh"))
}

/// When and under which load a figure was measured: those that are measured by themselves say so.
pub(crate) struct When {
    load: String,
}

fn load() -> anyhow::Result<String> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    Ok(load.split(' ').next().unwrap_or_default().to_owned())
}

/// A figure begins.
pub(crate) fn when() -> anyhow::Result<When> {
    Ok(When { load: load()? })
}

impl When {
    /// It has ended.
    pub(crate) fn told(&self) -> anyhow::Result<String> {
        let told = |name: &str| given(name).map(|value| value.display().to_string());
        let (date, commit) = (told("FIGURES_DATE")?, told("FIGURES_COMMIT")?);
        Ok(format!(
            "Measured on {date}, commit {commit}; load {} when it began and {} when it ended.",
            self.load,
            load()?
        ))
    }
}

/// The binary that is measured: the release as it is shipped, not what this client was built with.
pub(crate) fn binary() -> anyhow::Result<PathBuf> {
    given("PHASEGATE_RELEASE")
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) struct Stage {
    /// On a disk: what is kept there is waited for.
    folder: TempDir,
    twin: Option<(Twin, Runtime)>,
    api: String,
    pub(crate) app: AppHandle,
    pub(crate) letters: Vec<Letter>,
}

/// Whether the server finds a GitHub.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitHub {
    /// The twin answers, and what was stored is worked off.
    There,
    /// Nobody answers: webhooks are taken and kept, as in an outage.
    Away,
}

impl Stage {
    /// A repository with a policy and a few open pull requests, the App installed on it, and a delivery about each.
    pub(crate) fn new(within: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(within)?;
        // In threads of its own: it is not to stand in the way of the client.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let data = folder.path().join("twin");
        let options = Options { listen: ([127, 0, 0, 1], 0).into(), data };
        let twin = runtime.block_on(Twin::start(options))?;
        let admin = twin.admin().quiet();
        let (app, letters) = set_up(&admin)?;
        // What is measured is what a look costs, and not how long it waits for GitHub's next hour.
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                admin.new_hour();
            }
        });
        std::fs::write(folder.path().join("app.pem"), &app.pem)?;
        let api = twin.api_url();
        Ok(Self { folder, twin: Some((twin, runtime)), api, app, letters })
    }

    /// A new folder on the same disk.
    pub(crate) fn folder(&self) -> anyhow::Result<TempDir> {
        Ok(tempfile::tempdir_in(self.folder.path())?)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn app<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("APP_ID", self.app.id.to_string()).env("PRIVATE_KEY_PATH", self.folder.path().join("app.pem"));
        command.env("WEBHOOK_SECRET", SECRET)
    }

    /// `phasegate serve` as it is shipped, its inbox in this folder.
    pub(crate) async fn phasegate(&self, folder: &Path, github: GitHub) -> anyhow::Result<Server> {
        let mut command = Command::new(binary()?);
        command.args(["serve", "--listen", "127.0.0.1:0", "--unpaced"]);
        command.env("DATABASE_URL", format!("sqlite:{}", folder.join("inbox.db").display()));
        command.env("PHASEGATE_DATA", folder.join("mirrors")).env("LOG_LEVEL", "phasegate=info");
        // Nothing listens on the port of `discard`.
        let api = if github == GitHub::There { self.api.as_str() } else { "http://127.0.0.1:9" };
        Server::start(self.app(command.env("GITHUB_API_URL", api)), &Tells::Stderr).await
    }

    pub(crate) async fn probot(&self) -> anyhow::Result<Server> {
        let mut command = Command::new(given("PHASEGATE_NODE")?);
        command.arg(root().join("benches/peers/probot.mjs")).env("PROBOT", given("PHASEGATE_PROBOT")?);
        command.env("NODE_ENV", "production").env("LOG_LEVEL", "warn");
        Server::start(self.app(&mut command), &Tells::Stdout).await
    }

    pub(crate) fn end(mut self) {
        if let Some((twin, runtime)) = self.twin.take() {
            runtime.block_on(twin.shutdown());
        }
    }
}

fn set_up(admin: &Admin) -> anyhow::Result<(AppHandle, Vec<Letter>)> {
    admin.create_org("octo-org")?;
    admin.create_user("rover")?;
    let files = [("README.md", "# Lantern\n"), (WORKFLOW, CI), (phasegate::policy::PATH, MERGE_POLICY)];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec();
    let repo = admin.create_repo(REPO, NewRepo { private: false, files })?;
    admin.set_role(REPO, "rover", Role::Write)?;
    let app = admin.register_app(
        "octo-org",
        NewApp {
            name: "Phasegate".to_owned(),
            webhook_url: None,
            webhook_secret: SECRET.to_owned(),
            permissions: PERMISSIONS.iter().map(|(name, level)| ((*name).to_owned(), *level)).collect(),
            events: EVENTS.iter().map(|event| (*event).to_owned()).collect(),
        },
    )?;
    let installation = admin.install(app.id, REPO)?;
    admin.reserve_branch(REPO, LEDGER, app.id)?;
    let example = example()?;
    let mut letters = Vec::new();
    for open in 0..OPEN {
        let (branch, file) = (format!("agent/{open}"), format!("src/{open}.py"));
        let head = admin.commit(REPO, "rover", &branch, "an idea", &[(file.as_str(), Some("pass\n"))])?;
        let number = admin.open_pull(REPO, "rover", "An idea", &branch, "main")?;
        let mut body = example.clone();
        body["number"] = json!(number);
        body["pull_request"]["number"] = json!(number);
        body["pull_request"]["head"]["sha"] = json!(head);
        body["after"] = json!(head);
        body["repository"]["id"] = json!(repo.id);
        body["repository"]["full_name"] = json!(REPO);
        body["repository"]["default_branch"] = json!("main");
        body["installation"]["id"] = json!(installation);
        let body = body.to_string().into_bytes();
        let signature = webhook::sign(&SecretString::from(SECRET), &body);
        letters.push(Letter { event: "pull_request", body, signature });
    }
    Ok((app, letters))
}

/// GitHub's published example of a push to a pull request.
fn example() -> anyhow::Result<Value> {
    let all: Value = serde_json::from_str(&std::fs::read_to_string(given("PHASEGATE_WEBHOOK_EXAMPLES")?)?)?;
    let of = |list: &Value, field: &str, is: &str| -> Option<Value> {
        list.as_array()?.iter().find(|one| one[field] == is).cloned()
    };
    let pulls = of(&all, "name", "pull_request").context("no examples of pull_request")?;
    of(&pulls["examples"], "action", "synchronize").context("no example of synchronize")
}
