//! The trusted workflow: the runs that the App asks for, and what people make of them.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use phasegate::rehearsal::{Bot, REPO};
use phasegate::server::{PASSED_ON, Runs};
use serde::Deserialize;
use serde_json::{Value, json};

use super::stage::Stage;
use super::trusted::{self, Trusted, WORKFLOW, brings};

/// What is on main where the policy takes evidence from the trusted workflow: the template itself, and a project with a test
/// runner in a few lines, for which each file of `tests` is a test. One that says that it is to be skipped is not run.
pub(crate) const FILES: [(&str, &str); 4] = [
    (WORKFLOW, trusted::FILE),
    ("test.sh", RUNNER),
    ("lamp.sh", "level=5\n"),
    ("tests/level.sh", ". ./lamp.sh\n[ \"$level\" = 5 ]\n"),
];

const RUNNER: &str = "\
status=0
{
  echo '<testsuites><testsuite name=\"lamp\">'
  for test in tests/*.sh; do
    if grep -q '^# skip' \"$test\"; then
      echo \"<testcase name=\\\"$test\\\"><skipped/></testcase>\"
    elif sh \"$test\" > /dev/null 2>&1; then
      echo \"<testcase name=\\\"$test\\\"/>\"
    else
      echo \"<testcase name=\\\"$test\\\"><failure type=\\\"AssertionError\\\" message=\\\"assertion failed\\\"/></testcase>\"
      status=1
    fi
  done
  echo '</testsuite></testsuites>'
} > out.xml
exit $status
";

/// `trusted` in a story's `policy`.
pub(crate) const POLICY: &str = "\
version: 1
flow: merge
gates: {verify: {from: [actions], run: [sh test.sh], reports: [out.xml]}}
";

/// `runner` in a story's `policy`: the server runs the commands itself.
pub(crate) const OWN: &str = "\
version: 1
flow: merge
gates: {verify: {from: [runner], run: [sh test.sh], reports: [out.xml]}}
";

/// What whoever hosts the stories' server lets it run.
pub(crate) fn runs() -> Runs {
    let passed = |name: &str| Some((name.into(), std::env::var_os(name)?));
    Runs {
        program: env!("CARGO_BIN_EXE_phasegate").into(),
        repositories: REPO.parse().unwrap(),
        at_once: 1,
        limit: std::time::Duration::from_mins(5),
        reads: Vec::new(),
        network: false,
        hides: Vec::new(),
        environment: PASSED_ON.into_iter().filter_map(passed).collect(),
    }
}

/// How a run answers. Without anything it is the newest one, and both jobs do as the template says.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Answers {
    /// A run that was named by `asked`.
    run: Option<String>,
    /// What the machine has in its environment.
    env: BTreeMap<String, String>,
    /// It answers what this other run was asked for.
    instead_of: Option<String>,
    /// What is changed in the log before it is brought: a JSON pointer, and what stands there then.
    log: BTreeMap<String, Value>,
    /// What is changed in the job's token.
    token: BTreeMap<String, Value>,
    /// A key that is not Actions' signs the token.
    forged: bool,
    /// The token is brought once more, with the same log.
    twice: bool,
    /// `taken`, or the refusal's name.
    ends: Option<String>,
}

/// Gives a name to the newest run that the App has asked for.
pub(crate) fn name(stage: &mut Stage, name: String) -> anyhow::Result<()> {
    ensure!(stage.on.bot() == Bot::Server, "only a server asks for runs: the story names its bot");
    stage.asked.insert(name, Trusted::asked(&stage.on));
    Ok(())
}

pub(crate) fn run(stage: &Stage, name: Option<&str>) -> anyhow::Result<u64> {
    match name {
        Some(name) => Ok(stage.asked.get(name).with_context(|| format!("no run is called {name:?}"))?.run),
        None => Ok(Trusted::asked(&stage.on).run),
    }
}

pub(crate) async fn answers(stage: &mut Stage, how: Answers) -> anyhow::Result<()> {
    let newest = Trusted::asked(&stage.on);
    let trusted = match &how.run {
        Some(name) => stage.asked.get(name).with_context(|| format!("no run is called {name:?}"))?,
        None => &newest,
    };
    trusted.executes_with(&stage.on, &how.env);
    let mut log = trusted.written();
    for (at, value) in &how.log {
        let place = log.pointer_mut(at).with_context(|| format!("the log has no {at}"))?;
        *place = bent(stage, value)?;
    }
    trusted.writes(&log);
    let wanted = how.ends.as_deref().unwrap_or("taken");
    let by_hand = how.forged || how.twice || !how.token.is_empty();
    let came =
        if by_hand { by_token(stage, trusted, &how, &log).await? } else { by_post(stage, trusted, &how).await? };
    ensure!(came == wanted, "it ended as {came}, not as {wanted}");
    stage.settle().await
}

/// The second job, as the template has it.
async fn by_post(stage: &Stage, trusted: &Trusted, how: &Answers) -> anyhow::Result<String> {
    let asked = match &how.instead_of {
        Some(other) => stage.asked.get(other).with_context(|| format!("no run is called {other:?}"))?,
        None => trusted,
    };
    let told = trusted.posts_for(&stage.on, asked.input("change"), asked.input("nonce")).await;
    let says = format!("{}{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    if says.contains("Taken: ") {
        return Ok("taken".to_owned());
    }
    match says.split_once("the App refuses it (").and_then(|(_, rest)| rest.split_once(')')) {
        Some((name, _)) => Ok(name.to_owned()),
        None if told.status.success() => Ok("answered".to_owned()),
        None => bail!("it said neither that it was taken nor why not: {says}"),
    }
}

/// A token that somebody has put together, or has kept.
async fn by_token(stage: &Stage, trusted: &Trusted, how: &Answers, log: &Value) -> anyhow::Result<String> {
    let admin = stage.on.admin();
    let mut claims = admin.token_claims(REPO, trusted.run, &stage.on.server_url())?;
    for (name, value) in &how.token {
        claims[name] = bent(stage, value)?;
    }
    let token = if how.forged { admin.forged_token(&claims)? } else { admin.token_with(&claims)? };
    let log = log.to_string();
    if how.twice {
        let (status, says) = brings(&stage.on, trusted, Some(&token), &log).await;
        ensure!(status == 202, "the first time it was refused: {says}");
    }
    let (status, says) = brings(&stage.on, trusted, Some(&token), &log).await;
    match says["refused"].as_str() {
        Some(name) => Ok(name.to_owned()),
        None if status == 202 => Ok("taken".to_owned()),
        None => bail!("it was answered with {status}: {says}"),
    }
}

/// `commit:NAME` is that commit, `past` two minutes ago in seconds.
fn bent(stage: &Stage, value: &Value) -> anyhow::Result<Value> {
    Ok(match value.as_str() {
        Some("past") => json!(jiff::Timestamp::now().as_second() - 120),
        Some(text) if text.starts_with("commit:") => json!(stage.commit(Some(&text[7..]))?),
        _ => value.clone(),
    })
}

/// Somebody starts the workflow by hand, with the inputs of a run that the App asked for and these in their place.
pub(crate) fn dispatches(stage: &mut Stage, who: &str, inputs: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let mut all = Trusted::asked(&stage.on).inputs;
    for (name, value) in inputs {
        all[name] = bent(stage, &json!(value))?;
    }
    let file = WORKFLOW.rsplit('/').next().unwrap_or_default();
    let path = format!("/repos/{REPO}/actions/workflows/{file}/dispatches");
    stage.call(who, "POST", &path, json!({ "ref": "main", "inputs": all })).map(drop)
}
