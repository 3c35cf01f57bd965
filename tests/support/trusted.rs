//! The trusted workflow of `templates/evidence`, played by the program itself: what the App asked for is checked out, run and
//! answered as the template's two jobs do it.

#![allow(dead_code, reason = "each suite plays its part of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use phasegate::rehearsal::{REPO, Rehearsal};
use serde_json::{Value, json};

pub(crate) const WORKFLOW: &str = ".github/workflows/phasegate-evidence.yml";
pub(crate) const FILE: &str = include_str!("../../templates/evidence/.github/workflows/phasegate-evidence.yml");

/// The same for a run that another workflow's end starts.
pub(crate) const AFTER: &str =
    include_str!("../../templates/evidence-after-ci/.github/workflows/phasegate-evidence.yml");

/// A run that the App has asked for, or that another run's end has started.
pub(crate) struct Trusted {
    pub(crate) run: u64,
    /// Where the App has started it.
    pub(crate) inputs: Value,
    /// What GitHub tells of the run whose end has started it.
    after: Option<Value>,
    folder: tempfile::TempDir,
}

fn succeeds(command: &mut Command) {
    let told = command.output().unwrap();
    assert!(told.status.success(), "{command:?}: {}", String::from_utf8_lossy(&told.stderr));
}

/// What a step of Actions does not inherit from whoever runs this test.
fn step(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phasegate"));
    command.args(args).current_dir(folder).env("GITHUB_ACTIONS", "true");
    for name in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_TOKEN", "PHASEGATE_URL", "CARGO_TARGET_DIR"] {
        command.env_remove(name);
    }
    command
}

impl Trusted {
    /// The newest one.
    pub(crate) fn asked(on: &Rehearsal) -> Self {
        let (run, inputs) = on.admin().dispatched(REPO, WORKFLOW).unwrap().pop().expect("a run that was asked for");
        Self::of(run, inputs)
    }

    fn of(run: u64, inputs: Value) -> Self {
        Self { run, inputs, after: None, folder: tempfile::tempdir().unwrap() }
    }

    /// One that starts because this run of the change's own CI has ended.
    pub(crate) fn after(on: &Rehearsal, ci: u64) -> Self {
        let path = format!("/repos/{REPO}/actions/runs/{ci}");
        let told = on.admin().call_as("ada", "GET", &path, Value::Null).unwrap();
        let run = on.admin().run_after(REPO, WORKFLOW, told["head_sha"].as_str().unwrap()).unwrap();
        Self { after: Some(told), ..Self::of(run, Value::Null) }
    }

    fn head(&self) -> &str {
        match &self.after {
            Some(ci) => ci["head_sha"].as_str().unwrap(),
            None => self.input("head"),
        }
    }

    /// What the runner hands to the steps, and which event it is.
    fn event(&self) -> (&'static str, PathBuf) {
        let file = self.folder.path().join("event.json");
        let (name, mut told) = match &self.after {
            Some(ci) => ("workflow_run", json!({ "action": "completed", "workflow_run": ci })),
            None => ("workflow_dispatch", json!({ "inputs": self.inputs })),
        };
        told["repository"] = json!({ "default_branch": "main" });
        std::fs::write(&file, told.to_string()).unwrap();
        (name, file)
    }

    pub(crate) fn input(&self, name: &str) -> &str {
        self.inputs[name].as_str().unwrap()
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("phasegate-verify")
    }

    /// The first job: it runs the commands.
    pub(crate) fn executes(&self, on: &Rehearsal) -> Output {
        self.executes_with(on, &BTreeMap::new())
    }

    /// The same on a machine whose environment has this too.
    pub(crate) fn executes_with(&self, on: &Rehearsal, environment: &BTreeMap<String, String>) -> Output {
        let (place, url) = (self.folder.path().join("work"), format!("{}/{REPO}.git", on.url()));
        // Each attempt has a machine of its own.
        if place.exists() {
            std::fs::remove_dir_all(&place).unwrap();
            std::fs::remove_dir_all(self.log()).unwrap();
        }
        succeeds(Command::new("git").args(["clone", "-q", &url]).arg(&place));
        let pulls = "+refs/pull/*/head:refs/pulls/*";
        succeeds(Command::new("git").arg("-C").arg(&place).args(["fetch", "-q", "origin", pulls]));
        succeeds(Command::new("git").arg("-C").arg(&place).args(["checkout", "-q", self.head()]));
        let (name, event) = self.event();
        let main = on.admin().branch(REPO, "main").unwrap().unwrap();
        let attempt = on.admin().repo(REPO).unwrap().workflow_runs[&self.run].attempt;
        let out = self.log();
        step(&place, &["run", "verify", "--out", &out.display().to_string()])
            .env("GITHUB_EVENT_PATH", &event)
            .env("GITHUB_EVENT_NAME", name)
            .env("GITHUB_SHA", main)
            .env("GITHUB_REF", "refs/heads/main")
            .env("GITHUB_REPOSITORY", REPO)
            .env("GITHUB_RUN_ID", self.run.to_string())
            .env("GITHUB_RUN_ATTEMPT", attempt.to_string())
            .env("GITHUB_WORKFLOW_REF", format!("{REPO}/{WORKFLOW}@refs/heads/main"))
            .env("RUNNER_TEMP", self.folder.path())
            .envs(environment)
            .output()
            .unwrap()
    }

    /// The second job: it answers.
    pub(crate) async fn posts(&self, on: &Rehearsal) -> Output {
        match self.after {
            Some(_) => self.posts_with(on, &[]).await,
            None => self.posts_for(on, self.input("change"), self.input("nonce")).await,
        }
    }

    /// The same for what another run was asked for.
    pub(crate) async fn posts_for(&self, on: &Rehearsal, change: &str, nonce: &str) -> Output {
        self.posts_with(on, &["--change", change, "--nonce", nonce]).await
    }

    async fn posts_with(&self, on: &Rehearsal, args: &[&str]) -> Output {
        let (url, token) = on.admin().token_request(REPO, self.run).unwrap();
        let (log, server) = (self.log().display().to_string(), on.server_url());
        let mut post = step(self.folder.path(), &[&["post", "--log", &log], args].concat());
        let (name, event) = self.event();
        post.env("GITHUB_EVENT_NAME", name).env("GITHUB_EVENT_PATH", event);
        post.env("ACTIONS_ID_TOKEN_REQUEST_URL", url).env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", token);
        post.env("PHASEGATE_URL", server);
        let told = tokio::task::spawn_blocking(move || post.output()).await.unwrap().unwrap();
        on.settle().await.unwrap();
        told
    }

    /// Both, one after the other.
    pub(crate) async fn answers(&self, on: &Rehearsal) -> Output {
        self.executes(on);
        let told = self.posts(on).await;
        assert!(
            told.status.success(),
            "{}{}",
            String::from_utf8_lossy(&told.stdout),
            String::from_utf8_lossy(&told.stderr)
        );
        told
    }

    /// What the log of the first job says, to be bent.
    pub(crate) fn written(&self) -> Value {
        let text = std::fs::read_to_string(self.log().join("execution_log.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// The log of the first job, as the second one finds it.
    pub(crate) fn writes(&self, log: &Value) {
        std::fs::write(self.log().join("execution_log.json"), log.to_string()).unwrap();
    }
}

/// What the server answers to a token and a log that are brought by hand, for the run's change and nonce.
pub(crate) async fn brings(on: &Rehearsal, trusted: &Trusted, token: Option<&str>, log: &str) -> (u16, Value) {
    let (change, nonce) = (trusted.input("change"), trusted.input("nonce"));
    let url = format!("{}/api/evidence?change={change}&nonce={nonce}", on.server_url());
    let mut post = reqwest::Client::new().post(url).body(log.to_owned());
    if let Some(token) = token {
        post = post.bearer_auth(token);
    }
    let answer = post.send().await.unwrap();
    let told = (answer.status().as_u16(), answer.json().await.unwrap());
    on.settle().await.unwrap();
    told
}
