//! `act`, and a repository that it runs in.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use phasegate::rehearsal::workflow::{Runner, Starts, TOKEN, starts};
use phasegate::rehearsal::{Bot, REPO, Rehearsal};
use phasegate::twin::Happened;
use serde_json::{Value, json};
use tokio::process::Command;

/// The commit that the templates name where a release's will stand.
const UNRELEASED: &str = "0000000000000000000000000000000000000000";
const CHECKOUT: &str = "3d3c42e5aac5ba805825da76410c181273ba90b1";
const DOWNLOAD: &str = "3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c";
const UPLOAD: &str = "bbbca2ddaa5d8feaa63e36b76fdaad77386f024f";

pub(crate) const REFEREE: &str = ".github/workflows/phasegate.yml";
pub(crate) const GATES: &str = ".github/workflows/phasegate-gates.yml";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program that a variable names.
pub(crate) fn oracle(variable: &str) -> PathBuf {
    std::env::var_os(variable).map(PathBuf::from).unwrap_or_else(|| panic!("{variable} is not set: run tests/run.sh"))
}

/// A template's files.
pub(crate) fn template(name: &str) -> Vec<(String, String)> {
    let folder = root().join("templates").join(name);
    let names = [".github/phasegate.yml", REFEREE, GATES, ".github/workflows/phasegate-review.yml"];
    names.map(|name| (name.to_owned(), std::fs::read_to_string(folder.join(name)).unwrap())).to_vec()
}

/// The runner, with what it keeps.
pub(crate) struct Act {
    folder: tempfile::TempDir,
}

/// The GitHub that a run speaks to.
pub(crate) struct Place {
    pub(crate) slug: String,
    pub(crate) api: String,
    pub(crate) server: String,
    pub(crate) graphql: String,
    /// What is cloned.
    pub(crate) git: String,
    pub(crate) identity: Identity,
}

/// As whom it speaks.
pub(crate) enum Identity {
    /// The workflow's own token.
    Token(String),
    App {
        id: u64,
        pem: String,
    },
}

impl Place {
    pub(crate) fn of(on: &Rehearsal) -> anyhow::Result<Self> {
        Ok(Self {
            slug: REPO.to_owned(),
            api: on.api_url(),
            server: on.url(),
            graphql: format!("{}/api/graphql", on.url()),
            git: format!("{}/{REPO}.git", on.url()),
            identity: match on.bot() {
                Bot::Advisory => Identity::Token(on.admin().actions_token(REPO, TOKEN)?),
                Bot::Action | Bot::Server => Identity::App { id: on.app().id, pem: on.app().pem.clone() },
            },
        })
    }
}

/// What a run is started with.
pub(crate) struct Run<'a> {
    pub(crate) event: &'a str,
    pub(crate) workflow: &'a str,
    pub(crate) payload: Value,
    /// What is checked out: the default branch, or the commit that is tried.
    pub(crate) at: &'a str,
    pub(crate) id: u64,
}

impl Act {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let action = folder.path().join("phasegate");
        std::fs::create_dir_all(action.join(".github/action")).unwrap();
        for name in ["action.yml", ".github/action/find.sh", ".github/action/run.sh", ".github/action/checksums.txt"] {
            std::fs::copy(root().join(name), action.join(name)).unwrap();
        }
        std::fs::create_dir(folder.path().join("summaries")).unwrap();
        // The runner throws a step's summary away: what the binary wrote there is kept, by the run.
        let keeping = format!(
            "#!/bin/sh\n'{}' \"$@\"\nrc=$?\ncp \"$GITHUB_STEP_SUMMARY\" \"{}/$GITHUB_RUN_ID.md\"\nexit $rc\n",
            env!("CARGO_BIN_EXE_phasegate"),
            folder.path().join("summaries").display()
        );
        let binary = folder.path().join("keeping.sh");
        std::fs::write(&binary, keeping).unwrap();
        std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    /// What stands on the page of a run.
    pub(crate) fn summary(&self, id: u64) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("summaries/{id}.md"))).unwrap()
    }

    /// What stands on the pages of all runs.
    pub(crate) fn summaries(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.folder.path().join("summaries")).unwrap();
        files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
    }

    pub(crate) fn artifacts(&self) -> PathBuf {
        self.folder.path().join("artifacts")
    }

    /// Runs a workflow to its end.
    pub(crate) async fn run(&self, at: &Place, run: &Run<'_>) -> anyhow::Result<Output> {
        let work = tempfile::tempdir_in(self.folder.path())?;
        let checkout = work.path().join("repository");
        git(work.path(), &["clone", "--quiet", &at.git, "repository"]).await?;
        git(&checkout, &["fetch", "--quiet", "origin", run.at]).await?;
        git(&checkout, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]).await?;
        // The runner reads the repository's name out of its address.
        git(&checkout, &["remote", "set-url", "origin", &format!("https://github.com/{}.git", at.slug)]).await?;
        let event = work.path().join("event.json");
        std::fs::write(&event, run.payload.to_string())?;
        let stand_ins = root().join("tests/actions/stand-ins");
        let local = |name: &str, commit: &str, folder: &Path| format!("{name}@{commit}={}", folder.display());
        let temp = work.path().join("temp");
        std::fs::create_dir(&temp)?;
        let act = oracle("PHASEGATE_ACT");
        let mut command = Command::new(&act);
        command.current_dir(&checkout).env("HOME", work.path()).env_remove("GITHUB_TOKEN").env_remove("GITHUB_ACTIONS");
        command.arg(run.event).arg("-e").arg(&event).args(["-W", run.workflow, "-P", "ubuntu-latest=-self-hosted"]);
        command.args(["--defaultbranch", "main", "--action-offline-mode"]);
        for one in [
            local("phasegate/phasegate", UNRELEASED, &self.folder.path().join("phasegate")),
            local("actions/checkout", CHECKOUT, &stand_ins.join("checkout")),
            local("actions/download-artifact", DOWNLOAD, &stand_ins.join("download-artifact")),
            local("actions/upload-artifact", UPLOAD, &stand_ins.join("upload-artifact")),
        ] {
            command.args(["--local-repository", &one]);
        }
        for (name, value) in [
            ("GITHUB_API_URL", at.api.as_str()),
            ("GITHUB_SERVER_URL", &at.server),
            ("GITHUB_RUN_ID", &run.id.to_string()),
            ("GITHUB_GRAPHQL_URL", &at.graphql),
            ("PHASEGATE_BIN", &self.folder.path().join("keeping.sh").display().to_string()),
            ("PHASEGATE_TEST_GIT", &at.git),
            ("PHASEGATE_TEST_ARTIFACTS", &self.artifacts().display().to_string()),
            ("PHASEGATE_UNPACED", "true"),
            ("RUNNER_TEMP", &temp.display().to_string()),
        ] {
            command.args(["--env", &format!("{name}={value}")]);
        }
        match &at.identity {
            Identity::Token(token) => command.args(["-s", "GITHUB_TOKEN"]).env("GITHUB_TOKEN", token),
            Identity::App { id, pem } => command
                .args(["--var", &format!("PHASEGATE_APP_ID={id}")])
                .args(["-s", "PHASEGATE_PRIVATE_KEY"])
                .env("PHASEGATE_PRIVATE_KEY", pem),
        };
        let ran = command.kill_on_drop(true).output().await;
        ran.with_context(|| format!("act does not start ({}): run tests/run.sh, which brings it", act.display()))
    }

    /// A run of the referee that has to end well.
    pub(crate) async fn referees(&self, at: &Place, event: &str, payload: Value, id: u64) -> anyhow::Result<()> {
        let run = Run { event, workflow: REFEREE, payload, at: "main", id };
        let ended = self.run(at, &run).await?;
        ensure!(ended.status.success(), "the referee's run on {event} failed:\n{}", said(&ended));
        Ok(())
    }

    /// The gates of a head, told to GitHub as Actions would.
    async fn gates(&self, on: &Rehearsal, payload: &Value) -> anyhow::Result<()> {
        let head = payload["pull_request"]["head"]["sha"].as_str().context("a pull request without a head")?;
        let id = on.admin().new_run();
        let run = Run { event: "pull_request", workflow: GATES, payload: payload.clone(), at: head, id };
        let ended = self.run(&Place::of(on)?, &run).await?;
        let conclusion = if ended.status.success() { "success" } else { "failure" };
        on.admin().workflow_run_as(Some(id), REPO, head, GATES, "pull_request", &[("verify", Some(conclusion))])?;
        Ok(())
    }
}

/// What a run printed.
pub(crate) fn said(ended: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr))
}

pub(crate) async fn git(at: &Path, args: &[&str]) -> anyhow::Result<()> {
    let ended = Command::new("git").arg("-C").arg(at).args(args).output().await?;
    ensure!(ended.status.success(), "git {args:?}: {}", said(&ended));
    Ok(())
}

#[async_trait]
impl Runner for Act {
    async fn hears(&self, on: &Rehearsal, happened: &Happened) -> anyhow::Result<bool> {
        let mut payload = happened.payload.clone();
        if let Some(payload) = payload.as_object_mut() {
            payload.remove("installation");
        }
        let action = payload["action"].as_str().unwrap_or_default();
        if happened.event == "pull_request" && ["opened", "synchronize", "reopened"].contains(&action) {
            self.gates(on, &payload).await?;
        }
        if happened.event == "pull_request_review" {
            // The workflow for reviews does nothing but end.
            let head = payload["pull_request"]["head"]["sha"].as_str().unwrap_or_default().to_owned();
            let path = ".github/workflows/phasegate-review.yml";
            on.admin().workflow_run(REPO, &head, path, "pull_request_review", &[("noticed", Some("success"))])?;
            return Ok(false);
        }
        match starts(happened) {
            Starts::Run("push") | Starts::Nothing => Ok(false),
            Starts::Run(name) => {
                self.referees(&Place::of(on)?, name, payload, on.admin().new_run()).await.map(|()| false)
            }
            Starts::Later => Ok(true),
        }
    }

    async fn scheduled(&self, on: &Rehearsal) -> anyhow::Result<()> {
        let payload = json!({ "schedule": "17,47 * * * *" });
        self.referees(&Place::of(on)?, "schedule", payload, on.admin().new_run()).await
    }
}
