//! Bad input, given to the real binary as a runner would give it: how it ends, what it says, and what it leaves behind.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use phasegate::rehearsal::workflow::TOKEN;
use phasegate::rehearsal::{Bot, CHECK, CI, MERGE_POLICY, PIPELINE_POLICY, REPO, Rehearsal, Setup, WORKFLOW};
use phasegate::surface::hindrance::PERMISSIONS;
use phasegate::twin::Level;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::act::{REFEREE, template};

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) rc: i32,
    out: String,
    err: String,
    /// What the runner was asked to hide.
    masked: Vec<String>,
    summary: String,
    outputs: String,
}

impl Ended {
    /// What an output was set to.
    pub(crate) fn output(&self, name: &str) -> &str {
        let mut lines = self.outputs.lines();
        lines.find(|line| line.starts_with(&format!("{name}<<"))).and_then(|_| lines.next()).unwrap_or_default()
    }

    /// It was not to be worked off: refused, with all of this said where people look, and nothing told to later steps.
    fn is_refused(&self, words: &[&str]) {
        assert_eq!(self.rc, 2, "{self:#?}");
        for word in words {
            let said = [&self.out, &self.err, &self.summary];
            assert!(said.iter().all(|text| text.contains(word)), "`{word}` is not everywhere: {self:#?}");
        }
        assert!(self.out.contains("::error title=Phasegate::") && self.outputs.is_empty(), "{self:#?}");
    }
}

/// A step, as the runner starts it.
pub(crate) struct Step<'a> {
    on: &'a Rehearsal,
    event: &'a str,
    at: &'a str,
    /// The workflow's token; none: the App's key.
    token: Option<String>,
    artefacts: Option<PathBuf>,
    mode: Option<&'a str>,
    /// Another address than the twin's, and how long is tried.
    api: Option<&'a str>,
    patience: &'a str,
    /// Variables besides; those that are none are not there.
    more: Vec<(&'a str, Option<&'a str>)>,
}

impl<'a> Step<'a> {
    pub(crate) fn on(on: &'a Rehearsal, event: &'a str) -> Self {
        let token = match on.bot() {
            Bot::Advisory => Some(on.admin().actions_token(REPO, TOKEN).unwrap()),
            Bot::Action | Bot::Server => None,
        };
        Self {
            on,
            event,
            at: "refs/heads/main",
            token,
            artefacts: None,
            mode: None,
            api: None,
            patience: "20",
            more: Vec::new(),
        }
    }

    /// By another way to the API.
    pub(crate) fn by(self, api: &'a str) -> Self {
        Self { api: Some(api), ..self }
    }

    pub(crate) async fn given(&self, payload: &Value) -> Ended {
        self.given_file(payload.to_string().as_bytes()).await
    }

    async fn given_file(&self, file: &[u8]) -> Ended {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("event.json"), file).unwrap();
        std::fs::create_dir(path("temp")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_phasegate"));
        command.arg("action").env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", folder.path());
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_EVENT_NAME", self.event).env("GITHUB_REF", self.at);
        command.env("GITHUB_EVENT_PATH", path("event.json")).env("GITHUB_REPOSITORY", REPO);
        let api = self.api.map_or_else(|| self.on.api_url(), str::to_owned);
        command.env("GITHUB_API_URL", api).env("GITHUB_SERVER_URL", self.on.url());
        command.env("GITHUB_GRAPHQL_URL", format!("{}/api/graphql", self.on.url()));
        command.env("GITHUB_OUTPUT", path("outputs")).env("GITHUB_STEP_SUMMARY", path("summary"));
        command
            .env("RUNNER_TEMP", path("temp"))
            .env("PHASEGATE_UNPACED", "true")
            .env("PHASEGATE_PATIENCE", self.patience);
        match &self.token {
            Some(token) => command.env("GITHUB_TOKEN", token),
            None => command.env("APP_ID", self.on.app().id.to_string()).env("PRIVATE_KEY", &self.on.app().pem),
        };
        if let Some(mode) = self.mode {
            command.env("PHASEGATE_MODE", mode);
        }
        if let Some(artefacts) = &self.artefacts {
            command.env("PHASEGATE_ARTIFACTS", artefacts);
        }
        for (name, value) in &self.more {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let ended = command.kill_on_drop(true).output().await.unwrap();
        // The runner takes these out of the log.
        let shown = |bytes: &[u8]| -> String {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            text.split_inclusive('\n').filter(|line| !line.starts_with("::add-mask::")).collect()
        };
        let all = String::from_utf8_lossy(&ended.stdout).into_owned();
        let masked = all.lines().filter_map(|line| line.strip_prefix("::add-mask::")).map(str::to_owned).collect();
        let left = std::fs::read_dir(path("temp")).unwrap().count();
        assert_eq!(left, 0, "it has left something in RUNNER_TEMP");
        let read = |name: &str| std::fs::read_to_string(path(name)).unwrap_or_default();
        Ended {
            rc: ended.status.code().unwrap_or(-1),
            out: shown(&ended.stdout),
            err: shown(&ended.stderr),
            masked,
            summary: read("summary"),
            outputs: read("outputs"),
        }
    }
}

/// Everything that a run can write.
#[derive(Debug, PartialEq)]
struct Picture {
    branches: Vec<Option<String>>,
    labels: Vec<Vec<String>>,
    comments: Vec<(u64, String)>,
    runs: Vec<String>,
    issues: usize,
}

fn picture(on: &Rehearsal) -> Picture {
    let repo = on.admin().repo(REPO).unwrap();
    let branch = |name: &str| on.admin().branch(REPO, name).unwrap();
    Picture {
        branches: vec![branch("phasegate/ledger"), branch("phasegate/ledger-advisory"), branch("main")],
        labels: repo.issues.keys().map(|number| on.admin().labels(REPO, *number).unwrap()).collect(),
        comments: repo.comments.values().map(|comment| (comment.id, comment.body.clone())).collect(),
        runs: repo.check_runs.values().map(|run| format!("{} {} {:?}", run.id, run.name, run.title)).collect(),
        issues: repo.issues.len(),
    }
}

/// A stage with a pull request that nobody has looked at.
pub(crate) async fn stage(bot: Bot, policy: Option<&str>) -> (Rehearsal, u64) {
    let setup = Setup { bot, policy: policy.map(str::to_owned), ..Setup::default() };
    let on = Rehearsal::start(setup).await.unwrap();
    on.admin().commit(REPO, "rover", "work", "work", &[("src/lamp.py", Some("def shine(): pass\n"))]).unwrap();
    let number = on.admin().open_pull(REPO, "rover", "Shine", "work", "main").unwrap();
    (on, number)
}

/// Takes all rules off the repository.
fn lift(on: &Rehearsal) {
    let rules: Vec<u64> = on.admin().repo(REPO).unwrap().rulesets.keys().copied().collect();
    rules.into_iter().for_each(|id| on.admin().remove_ruleset(REPO, id).unwrap());
}

/// The event of a pull request, as it is now.
pub(crate) fn pulled(on: &Rehearsal, number: u64, action: &str) -> Value {
    let pull = on.pull(number).unwrap();
    json!({ "action": action, "number": number, "repository": pull["base"]["repo"], "sender": pull["user"],
        "pull_request": pull })
}

#[tokio::test]
async fn an_event_file_that_is_none_is_refused_and_nothing_is_written() {
    let (on, number) = stage(Bot::Action, Some(MERGE_POLICY)).await;
    let before = picture(&on);
    let event = pulled(&on, number, "opened");
    let text = event.to_string();
    let target = Step::on(&on, "pull_request_target");
    target.given_file(b"").await.is_refused(&["event.json is empty", "GITHUB_EVENT_PATH"]);
    let half = &text.as_bytes()[..text.len() / 2];
    target.given_file(half).await.is_refused(&[
        "event.json is not the JSON of a pull_request_target event",
        "ends too early, at line 1",
        "again",
    ]);
    target
        .given_file(&vec![b' '; 25 * 1024 * 1024 + 1])
        .await
        .is_refused(&["event.json has more than", "GITHUB_EVENT_PATH"]);
    let mut foreign = event.clone();
    foreign["repository"]["full_name"] = "octo-org/other".into();
    target.given(&foreign).await.is_refused(&["octo-org/other", REPO, "GITHUB_EVENT_PATH"]);
    Step::on(&on, "star").given(&event).await.is_refused(&["`star`", "pull_request_target, issue_comment"]);
    // The workflow's file is the change's own there.
    Step::on(&on, "pull_request").given(&event).await.is_refused(&["`pull_request`", "`pull_request_target` instead"]);
    let elsewhere = Step { at: "refs/heads/work", ..Step::on(&on, "workflow_dispatch") };
    elsewhere.given(&json!({})).await.is_refused(&["refs/heads/work", "`main`"]);
    assert_eq!(picture(&on), before);
    on.end().await;
}

#[tokio::test]
async fn the_largest_event_and_one_of_a_fork_are_worked_off_like_any_other() {
    let (on, number) = stage(Bot::Action, Some(MERGE_POLICY)).await;
    let target = Step::on(&on, "pull_request_target");
    let mut event = pulled(&on, number, "opened");
    event["padding"] = "x".repeat(25 * 1000 * 1000).into();
    let ended = target.given(&event).await;
    assert_eq!((ended.rc, ended.output("verdict")), (0, "WAITING"), "{:?} {:?}", ended.out, ended.err);

    // The token that it made for itself came by no secret, so the runner would not hide it.
    let made = ended.masked.iter().filter(|masked| masked.starts_with("ghs_")).count();
    assert_eq!(made, 1, "{:?}", ended.masked.len());

    let fork = format!("eve/{}", on.admin().fork(REPO, "eve").unwrap().slug.rsplit('/').next().unwrap());
    on.admin().commit(&fork, "eve", "work", "work", &[("src/lamp.py", Some("def glow(): pass\n"))]).unwrap();
    let forked = on.admin().open_pull(REPO, "eve", "Glow", "eve:work", "main").unwrap();
    let ended = target.given(&pulled(&on, forked, "opened")).await;
    let told = (ended.rc, ended.output("verdict"), ended.output("change"));
    assert_eq!(told, (0, "WAITING", forked.to_string().as_str()), "{ended:#?}");
    assert_eq!(on.merge_check(forked).unwrap().as_deref(), Some("action_required"));
    assert!(!on.records(forked).unwrap().is_empty());
    on.end().await;
}

#[tokio::test]
async fn odd_variables_are_taken_for_what_they_mean_or_refused_by_their_name() {
    let (on, number) = stage(Bot::Action, Some(MERGE_POLICY)).await;
    let event = pulled(&on, number, "opened");
    let before = picture(&on);
    let with = |name, value| Step { more: vec![(name, value)], ..Step::on(&on, "pull_request_target") };
    for patience in ["0", "ten", "3601"] {
        let ended = with("PHASEGATE_PATIENCE", Some(patience)).given(&event).await;
        assert!(ended.rc == 2 && ended.err.contains("PHASEGATE_PATIENCE"), "{ended:#?}");
        let shown = [&ended.err, &ended.summary];
        assert!(shown.iter().all(|text| text.contains("seconds from 1 to 3600")), "{ended:#?}");
        assert!(
            ended.err.contains("::error title=Phasegate::"),
            "what the command line refuses is shown too: {ended:#?}"
        );
    }
    with("LOG_LEVEL", Some("loud")).given(&event).await.is_refused(&["LOG_LEVEL \"loud\"", "trace, debug"]);
    with("GITHUB_REF", None).given(&event).await.is_refused(&["GITHUB_REF"]);
    assert_eq!(picture(&on), before);
    let id = format!("{}\n", on.app().id);
    for (name, value) in [("PHASEGATE_PATIENCE", ""), ("APP_ID", &id), ("LOG_LEVEL", " Warn ")] {
        let ended = with(name, Some(value)).given(&event).await;
        assert_eq!((ended.rc, ended.output("verdict")), (0, "WAITING"), "{name}: {ended:#?}");
    }
    on.end().await;
}

/// A permission that is not given: what is given of it, and the line that is to be told.
type Lack = (&'static str, Option<Level>, &'static str);

/// Those that are missed by the first look, and whether nothing can be shown then: not even that it could not be finished.
const AT_ONCE: [(Lack, bool); 6] = [
    (("contents", None, "contents: write"), false),
    (("actions", None, "actions: read"), false),
    (("checks", None, "checks: write"), true),
    (("pull_requests", None, "pull-requests: write"), true),
    (("contents", Some(Level::Read), "contents: write"), false),
    (("checks", Some(Level::Read), "checks: write"), false),
];

/// Those that are missed by whoever asks people in an issue, and by whoever looks at what was merged.
const ASKING: [Lack; 2] = [("issues", None, "issues: write"), ("issues", Some(Level::Read), "issues: write")];
const MERGED: [Lack; 1] = [("deployments", None, "deployments: read")];

/// A run whose token lacks this says so, everywhere and with the line to add.
async fn is_told_the_line(on: &Rehearsal, event: &str, payload: &Value, (lacking, level, line): Lack) {
    let mut given: Vec<(&str, Level)> = TOKEN.iter().filter(|(name, _)| *name != lacking).copied().collect();
    given.extend(level.map(|level| (lacking, level)));
    let token = Some(on.admin().actions_token(REPO, &given).unwrap());
    let ended = Step { token, ..Step::on(on, event) }.given(payload).await;
    assert_eq!(ended.rc, 1, "without {lacking}: {ended:#?}");
    let next = format!("Add to the job's `permissions:` in the workflow: `{line}`");
    for said in [&ended.out, &ended.err, &ended.summary, &ended.outputs] {
        assert!(said.contains(&next), "without {lacking}: {ended:#?}");
    }
}

#[tokio::test]
async fn a_token_that_lacks_a_permission_is_told_the_line_and_then_it_is_made_good() {
    let (on, number) = stage(Bot::Advisory, Some(MERGE_POLICY)).await;
    let event = pulled(&on, number, "opened");
    on.admin()
        .workflow_run(REPO, &on.head(number).unwrap(), WORKFLOW, "pull_request", &[(CHECK, Some("success"))])
        .unwrap();
    let before = picture(&on);
    let (silent, told): (Vec<_>, Vec<_>) = AT_ONCE.into_iter().partition(|(_, silent)| *silent);
    for (lack, _) in silent {
        is_told_the_line(&on, "pull_request_target", &event, lack).await;
        assert_eq!(picture(&on), before, "without {lack:?}");
    }
    for (lack, _) in told {
        is_told_the_line(&on, "pull_request_target", &event, lack).await;
        assert_ne!(picture(&on).runs, before.runs, "without {lack:?}");
    }
    // With all of them the same run finishes what the others began, and nothing is there twice.
    let ended = Step::on(&on, "pull_request_target").given(&event).await;
    assert_eq!((ended.rc, ended.output("verdict")), (0, "WAITING"), "{ended:#?}");
    assert_eq!(on.bot_comments(number).unwrap().len(), 1);
    let head = on.head(number).unwrap();
    let ours = on.admin().check_runs(REPO, &head).unwrap().into_iter().filter(|run| run.name == "phasegate/merge");
    assert_eq!(ours.count(), 1);
    on.end().await;
}

/// There git is told that the repository is not there.
#[tokio::test]
async fn without_contents_on_a_private_repository_the_line_is_told_too() {
    let (on, number) = stage(Bot::Advisory, Some(MERGE_POLICY)).await;
    on.admin().make_private(REPO).unwrap();
    let event = pulled(&on, number, "opened");
    is_told_the_line(&on, "pull_request_target", &event, ("contents", None, "contents: write")).await;
    let ended = Step::on(&on, "pull_request_target").given(&event).await;
    assert_eq!((ended.rc, ended.output("verdict")), (0, "WAITING"), "{ended:#?}");
    on.end().await;
}

#[tokio::test]
async fn the_token_of_an_app_is_not_taken_for_the_workflows() {
    let (on, number) = stage(Bot::Advisory, Some(MERGE_POLICY)).await;
    let installed = on.admin().install(on.app().id, REPO).unwrap();
    let token = Some(on.admin().installation_token(installed).unwrap());
    let before = picture(&on);
    let ended = Step { token, ..Step::on(&on, "pull_request_target") }.given(&pulled(&on, number, "opened")).await;
    ended.is_refused(&["the token is that of `", "`app-id` and `private-key`"]);
    assert_eq!(picture(&on), before);
    on.end().await;
}

/// A required check that is neutral lets everybody through: whoever set up a gate is to know that it is none.
#[tokio::test]
async fn a_run_whose_policy_only_observes_says_that_it_holds_nobody_back() {
    let observing = format!("{MERGE_POLICY}enforce: observe\n");
    let (on, number) = stage(Bot::Action, Some(&observing)).await;
    let target = Step { mode: Some("enforcing"), ..Step::on(&on, "pull_request_target") };
    let ended = target.given(&pulled(&on, number, "opened")).await;
    assert_eq!(ended.rc, 0, "{ended:#?}");
    for said in [&ended.out, &ended.summary] {
        assert!(said.contains("holds nobody back") && said.contains("Take that line out"), "{ended:#?}");
    }
    let told: Value = serde_json::from_str(ended.output("json")).unwrap();
    assert_eq!(told["mode"], "observing");
    lift(&on);
    on.admin().commit(REPO, "root", "main", "enforce", &[(".github/phasegate.yml", Some(MERGE_POLICY))]).unwrap();
    let ended = target.given(&pulled(&on, number, "synchronize")).await;
    let told: Value = serde_json::from_str(ended.output("json")).unwrap();
    assert!(told["mode"] == "enforcing" && !ended.summary.contains("holds nobody back"), "{ended:#?}");
    on.end().await;
}

#[tokio::test]
async fn advice_that_only_observes_is_called_a_gate_nowhere() {
    let observing = format!("{MERGE_POLICY}enforce: observe\n");
    let (on, number) = stage(Bot::Advisory, Some(&observing)).await;
    let ended = Step::on(&on, "pull_request_target").given(&pulled(&on, number, "opened")).await;
    assert_eq!(ended.rc, 0, "{ended:#?}");
    for said in [&ended.out, &ended.summary] {
        assert!(said.contains("Take that line out") && said.contains("it says pass or fail"), "{ended:#?}");
        assert!(said.contains("a workflow's own token") && !said.contains("is a gate"), "{ended:#?}");
    }
    on.end().await;
}

#[tokio::test]
async fn of_a_lost_advisory_ledger_its_own_branch_and_no_app_are_named() {
    const LEDGER: &str = "phasegate/ledger-advisory";
    let (on, number) = stage(Bot::Advisory, Some(MERGE_POLICY)).await;
    let target = Step::on(&on, "pull_request_target");
    assert_eq!(target.given(&pulled(&on, number, "opened")).await.rc, 0);
    let delete = format!("/repos/{REPO}/git/refs/heads/{LEDGER}");
    on.admin().call_as("root", "DELETE", &delete, Value::Null).unwrap();
    let ended = target.given(&pulled(&on, number, "edited")).await;
    assert_eq!((ended.rc, ended.output("verdict")), (0, "FAIL"), "{ended:#?}");
    for word in [LEDGER, "--branch phasegate/ledger-advisory", "`GITHUB_TOKEN`"] {
        assert!(ended.summary.contains(word), "{word}: {ended:#?}");
    }
    assert!(!ended.summary.contains("the App"), "there is none: {ended:#?}");
    let ours = on.bot_comments(number).unwrap().remove(0);
    assert!(
        ours.contains("can't be trusted") && ours.contains("_Advisory: ") && !ours.contains("can't merge"),
        "{ours}"
    );
    // What the message sends people to says the same.
    let mut replay = assert_cmd::cargo::cargo_bin_cmd!("phasegate");
    let token = on.admin().actions_token(REPO, TOKEN).unwrap();
    replay.env_clear().env("GITHUB_TOKEN", token).env("GITHUB_API_URL", on.api_url());
    replay.args(["replay", "1", "--github", REPO, "--branch", LEDGER, "--json"]);
    let said = tokio::task::spawn_blocking(move || replay.output().unwrap()).await.unwrap();
    let report: Value = serde_json::from_slice(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    assert_eq!((said.status.code(), &report["findings"][0]["kind"]), (Some(1), &json!("cut_off")), "{report:#}");
    on.end().await;
}

#[tokio::test]
async fn a_permission_that_only_some_changes_need_is_told_when_it_comes_to_that() {
    let (on, number) = stage(Bot::Advisory, Some(PIPELINE_POLICY)).await;
    let target = Step::on(&on, "pull_request_target");
    assert_eq!(target.given(&pulled(&on, number, "opened")).await.rc, 0);
    drop(on.admin().happened());
    on.admin().comment(REPO, "mia", number, "/stop it leaks").unwrap();
    let said = on.admin().happened().into_iter().find(|one| one.event == "issue_comment").unwrap().payload;
    let asked = || on.admin().repo(REPO).unwrap().issues.len() - 1;
    for lack in ASKING {
        is_told_the_line(&on, "issue_comment", &said, lack).await;
        assert_eq!(asked(), 0);
    }
    // What the others began is finished, once.
    let ended = Step::on(&on, "issue_comment").given(&said).await;
    assert_eq!((ended.rc, ended.output("verdict"), asked()), (0, "FAIL", 1), "{ended:#?}");

    lift(&on);
    on.admin().call_as("root", "PUT", &format!("/repos/{REPO}/pulls/{number}/merge"), Value::Null).unwrap();
    for lack in MERGED {
        is_told_the_line(&on, "pull_request_target", &pulled(&on, number, "closed"), lack).await;
    }
    let ended = target.given(&pulled(&on, number, "closed")).await;
    assert_eq!((ended.rc, ended.output("verdict")), (0, "OVER"), "{ended:#?}");
    on.end().await;
}

/// What is stopped and can't be asked about is not left green.
#[tokio::test]
async fn a_look_that_lacks_a_permission_leaves_no_green_behind() {
    let (on, number) = stage(Bot::Advisory, Some(MERGE_POLICY)).await;
    let head = on.head(number).unwrap();
    on.admin().workflow_run(REPO, &head, WORKFLOW, "pull_request", &[(CHECK, Some("success"))]).unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    let shown = || on.merge_run(number).unwrap().conclusion;
    assert_eq!(shown().as_deref(), Some("success"));
    drop(on.admin().happened());
    on.admin().comment(REPO, "mia", number, "/stop it leaks").unwrap();
    let said = on.admin().happened().into_iter().find(|one| one.event == "issue_comment").unwrap().payload;
    is_told_the_line(&on, "issue_comment", &said, ASKING[0]).await;
    assert_eq!(shown().as_deref(), Some("action_required"), "it could not be finished");
    let says = on.merge_run(number).unwrap().summary.unwrap();
    assert!(says.contains("Add to the job's `permissions:` in the workflow: `issues: write`"), "{says}");
    for nothing in ["the App", "inbox", "goes on trying"] {
        assert!(!says.contains(nothing), "there is no such thing in a run: {nothing}: {says}");
    }
    on.end().await;
}

/// No waiting helps, so nobody waits; and GitHub's own words do not say what to do.
#[tokio::test]
async fn a_rule_that_keeps_the_records_off_their_branch_is_named() {
    for (bot, branch, next) in [
        (Bot::Action, "phasegate/ledger", "put the App on that rule's bypass list"),
        (Bot::Advisory, "phasegate/ledger-advisory", "leave that branch out of the rule"),
    ] {
        let (on, number) = stage(bot, Some(MERGE_POLICY)).await;
        lift(&on);
        on.admin().reserve_branch(REPO, branch, 123_456).unwrap();
        let ended = Step::on(&on, "pull_request_target").given(&pulled(&on, number, "opened")).await;
        assert_eq!(ended.rc, 1, "{ended:#?}");
        let check = on.merge_run(number).unwrap().summary.unwrap();
        for said in [&ended.out, &ended.err, &ended.summary, &check] {
            assert!(said.contains(next) && !said.contains("inbox") && !said.contains('\u{fffd}'), "{bot:?}: {said}");
        }
        on.end().await;
    }
}

/// No line of the template is there that no test has missed.
#[test]
fn every_permission_of_the_template_is_missed_once() {
    let missed = AT_ONCE.map(|(lack, _)| lack).into_iter().chain(ASKING).chain(MERGED);
    let missed: BTreeSet<&str> = missed.map(|(_, _, line)| line).collect();
    let known: BTreeSet<String> = PERMISSIONS.iter().map(|(name, level)| format!("{name}: {level}")).collect();
    assert_eq!(missed.into_iter().collect::<Vec<_>>(), known.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn the_permissions_that_are_named_are_those_of_the_template() {
    let files = template("advisory");
    let (_, workflow) = files.iter().find(|(path, _)| path == REFEREE).unwrap();
    let after = workflow.split("    permissions:\n").nth(1).unwrap();
    let lines = after.lines().take_while(|line| line.starts_with("      "));
    let lines: Vec<&str> = lines.map(|line| line.split('#').next().unwrap().trim()).collect();
    let known: Vec<String> = PERMISSIONS.iter().map(|(name, level)| format!("{name}: {level}")).collect();
    assert_eq!(lines, known);
    let played: Vec<String> = TOKEN.iter().map(|(name, _)| name.replace('_', "-")).collect();
    assert!(PERMISSIONS.iter().all(|(name, _)| played.iter().any(|one| one == name)) && played.len() == known.len());
}

#[tokio::test]
async fn an_app_that_lacks_a_permission_is_told_where_apps_get_them() {
    let setup = Setup { bot: Bot::Action, lacks: &["checks"], ..Setup::with_policy(MERGE_POLICY) };
    let on = Rehearsal::start(setup).await.unwrap();
    on.admin().commit(REPO, "rover", "work", "work", &[("src/lamp.py", Some("def shine(): pass\n"))]).unwrap();
    let number = on.admin().open_pull(REPO, "rover", "Shine", "work", "main").unwrap();
    let ended = Step::on(&on, "pull_request_target").given(&pulled(&on, number, "opened")).await;
    assert_eq!(ended.rc, 1, "{ended:#?}");
    for said in [&ended.out, &ended.err, &ended.summary] {
        assert!(
            said.contains("Give the App the permission `Checks: read`") && !said.contains("Add to the job"),
            "{ended:#?}"
        );
    }
    on.end().await;
}

#[tokio::test]
async fn advice_fits_who_it_is_given_to() {
    let (on, number) = stage(Bot::Advisory, Some(MERGE_POLICY)).await;
    let event = pulled(&on, number, "opened");
    let before = picture(&on);
    let of_no_app = |ended: &Ended| {
        for said in [&ended.out, &ended.err, &ended.summary] {
            assert!(!said.contains("App"), "there is none: {ended:#?}");
        }
    };
    let refused = Step { token: Some("ghs_nobodys".to_owned()), ..Step::on(&on, "pull_request_target") };
    let ended = refused.given(&event).await;
    ended.is_refused(&["the token is wrong or has run out", "`github.token`", "run that again"]);
    of_no_app(&ended);

    // A person's own token, in place of the workflow's: what it writes would not be known as the bot's.
    let token = Some(on.admin().create_user("reader").unwrap().token);
    let persons = Step { token, ..Step::on(&on, "pull_request_target") };
    persons.given(&event).await.is_refused(&["the token is a person's", "Leave `github-token` out"]);
    assert_eq!(picture(&on), before);

    // An environment that gives nothing turns no gate into advice.
    let gate = Step { mode: Some("enforcing"), ..Step::on(&on, "pull_request_target") };
    gate.given(&event).await.is_refused(&["the mode is `enforcing`", "`environment: phasegate`"]);
    let odd = Step { mode: Some("strict"), ..Step::on(&on, "pull_request_target") };
    odd.given(&event).await.is_refused(&["`enforcing` or `advisory`, and not `strict`"]);
    assert_eq!(picture(&on), before);

    // An address where nothing works.
    let broken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nowhere = format!("http://{}/api/v3", broken.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut one, _)) = broken.accept().await {
            let mut asked = [0; 4096];
            let _ = one.read(&mut asked).await;
            let answer = b"HTTP/1.1 500 Broken\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let _ = one.write_all(answer).await;
        }
    });
    for token in [Some("any".to_owned()), None] {
        let step = Step { token, api: Some(&nowhere), patience: "1", ..Step::on(&on, "pull_request_target") };
        let ended = step.given(&event).await;
        ended.is_refused(&["GitHub is out of order at", &nowhere, "Run the job again", "GITHUB_API_URL"]);
        assert!(!ended.summary.contains("check its id"), "{ended:#?}");
    }
    on.end().await;
}

#[tokio::test]
async fn without_a_policy_nobody_hears_anything_and_the_run_says_why() {
    let (on, number) = stage(Bot::Action, None).await;
    let before = picture(&on);
    let ended = Step::on(&on, "pull_request_target").given(&pulled(&on, number, "opened")).await;
    assert_eq!((ended.rc, ended.output("verdict")), (0, ""), "{ended:#?}");
    for said in [&ended.out, &ended.summary] {
        assert!(said.contains("has no .github/phasegate.yml on main") && said.contains("Add"), "{ended:#?}");
    }
    assert_eq!(picture(&on), before);
    on.end().await;
}

#[tokio::test]
async fn a_ledger_that_was_deleted_and_a_workflow_that_was_changed_are_red_and_say_what_to_do() {
    let (on, number) = stage(Bot::Action, Some(MERGE_POLICY)).await;
    let target = Step::on(&on, "pull_request_target");
    let ended = target.given(&pulled(&on, number, "opened")).await;
    assert_eq!(ended.rc, 0, "{ended:#?}");

    let weak = CI.replace("make test", "true");
    on.admin().commit(REPO, "rover", "work", "weaker", &[(WORKFLOW, Some(&weak))]).unwrap();
    let head = on.head(number).unwrap();
    on.admin().workflow_run(REPO, &head, WORKFLOW, "pull_request", &[(CHECK, Some("success"))]).unwrap();
    let ended = target.given(&pulled(&on, number, "synchronize")).await;
    assert_eq!((ended.rc, ended.output("verdict")), (0, "FAIL"), "{ended:#?}");
    for word in ["MRG-01", "made by a changed workflow", WORKFLOW, "/refreeze"] {
        assert!(ended.summary.contains(word) && ended.out.contains(word), "{word}: {ended:#?}");
    }

    lift(&on);
    let was = on.ledger_head().unwrap().unwrap();
    on.admin()
        .call_as("root", "DELETE", &format!("/repos/{REPO}/git/refs/heads/phasegate/ledger"), Value::Null)
        .unwrap();
    let ended = target.given(&pulled(&on, number, "edited")).await;
    assert_eq!((ended.rc, ended.output("verdict")), (0, "FAIL"), "{ended:#?}");
    for word in ["MRG-08", "`phasegate/ledger`", "phasegate replay 1", "revert that one"] {
        assert!(ended.summary.contains(word), "{word}: {ended:#?}");
    }
    let who = format!("root deleted the ledger's branch phasegate/ledger, which was at {was}");
    assert!(ended.summary.contains(&who) && ended.out.contains(&who), "{who}: {ended:#?}");
    assert_eq!(on.ledger_head().unwrap(), None, "no second ledger is begun in its place");
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("failure"));
    on.admin()
        .call_as("root", "PATCH", &format!("/repos/{REPO}/pulls/{number}"), json!({ "state": "closed" }))
        .unwrap();
    let ended = target.given(&pulled(&on, number, "closed")).await;
    let says = format!("#{number} is closed. The ledger's chain is broken");
    assert!(ended.rc == 0 && ended.summary.contains(&says) && ended.out.contains(&says), "{ended:#?}");
    on.end().await;
}

/// An artefact as a run of the gates leaves it.
fn artefact(head: &str, run: u64) -> Value {
    json!({
        "schema": "phasegate/run@1", "module_id": REPO, "module_version": head, "executed_at": "2026-01-01T00:00:00Z",
        "tests": [], "summary": { "total": 0, "passed": 0, "failed": 0 }, "skipped": [], "attempts": [],
        "environment": { "os": "Debian", "kernel": "6.12", "arch": "x86_64", "cpus": 2, "variables": [] }, "gate": "verify", "verdict": "PASS", "findings": [],
        "subject": { "repository": REPO, "head": head }, "policy": { "from": "base", "digest": "0".repeat(64) },
        "run": { "id": run, "attempt": 1 }, "phasegate": "0.1.0", "shell": "sh -c",
        "started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:00:01Z", "duration_ms": 1000, "timeout_s": 3600,
        "commands": [{ "command": "make test", "outcome": "exited", "status": 0, "duration_ms": 1000,
            "started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:00:01Z" }],
        "promised": [], "reports": [], "totals": { "tests": 0, "passed": 0, "failed": 0, "errors": 0, "skipped": 0, "flaky": 0, "duration_ms": 0 }, "failing": [], "failing_left_out": 0, "flaky": [],
    })
}

#[tokio::test]
async fn artefacts_that_are_missing_of_another_run_or_escape_are_not_shown_and_decide_nothing() {
    let (on, number) = stage(Bot::Action, Some(MERGE_POLICY)).await;
    let head = on.head(number).unwrap();
    let run = on.admin().workflow_run(REPO, &head, WORKFLOW, "pull_request", &[(CHECK, Some("failure"))]).unwrap();
    let event = json!({ "action": "completed", "repository": pulled(&on, number, "")["repository"],
        "sender": { "id": 1, "login": "rover" },
        "workflow_run": { "id": run, "run_attempt": 1, "head_sha": head, "head_branch": "work",
            "path": ".github/workflows/phasegate-gates.yml" } });
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("phasegate-verify");
    let file = place.join("execution_log.json");
    let secret = folder.path().join("secret.json");
    std::fs::write(&secret, artefact(&head, run).to_string()).unwrap();
    let write = |value: Value| {
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(&file, value.to_string()).unwrap();
    };
    let mut outside = artefact(&head, run);
    outside["failing"] = json!([{ "kind": "failed", "name": "t", "suite": "s", "message": "m", "details": "",
        "path": "../../etc/passwd", "line": 1, "report": "junit.xml" }]);
    let link = |to: &Path, at: &Path| std::os::unix::fs::symlink(to, at).unwrap();
    type Case<'c> = (&'c str, Box<dyn Fn() + 'c>, &'c [&'c str]);
    let cases: Vec<Case<'_>> = vec![
        ("missing", Box::new(|| ()), &["left nothing to show", "`if: always()`"]),
        (
            "of another run",
            Box::new(|| write(artefact(&head, run + 1))),
            &["is of the run", "take the artefact of that run"],
        ),
        (
            "a link",
            Box::new(|| {
                std::fs::remove_file(&file).unwrap();
                link(&secret, &file);
            }),
            &["`execution_log.json` of the artefact is a link, and not a plain file", "Look at what the change does"],
        ),
        (
            "a folder that is a link",
            Box::new(|| {
                std::fs::remove_dir_all(&place).unwrap();
                link(folder.path(), &place);
            }),
            &["is a link, and not a plain file"],
        ),
        (
            "a path that leads out",
            Box::new(|| {
                std::fs::remove_file(&place).unwrap();
                write(outside.clone());
            }),
            &["`../../etc/passwd` is not a path inside the artefact"],
        ),
        (
            "good",
            Box::new(|| write(artefact(&head, run))),
            &["verify, as its run tells it", "What counts is how the job ended"],
        ),
    ];
    let step = Step { artefacts: Some(folder.path().to_owned()), ..Step::on(&on, "workflow_run") };
    for (what, make, words) in cases {
        make();
        let ended = step.given(&event).await;
        assert_eq!((ended.rc, ended.output("verdict")), (0, "FAIL"), "{what}: {ended:#?}");
        for word in words {
            assert!(ended.summary.contains(word), "{what}: `{word}` is missing: {ended:#?}");
        }
        assert_eq!(ended.summary.contains("as its run tells it"), what == "good", "{what}: {ended:#?}");
    }
    on.end().await;
}
