//! What is to be seen after a step.

use anyhow::{bail, ensure};
use phasegate::gate::merge::CHECK_NAME;
use phasegate::rehearsal::{Bot, REPO};
use serde::Deserialize;

use super::stage::Stage;
use super::{issue, ledger};

/// Whatever is named must hold, for the story's first pull request unless `on` names another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    on: Option<String>,
    /// How the merge check on the head ended; `none`: it has not been made.
    merge: Option<String>,
    /// What the merge check says, in its title or summary.
    #[serde(default)]
    merge_says: Texts,
    /// How the merge check ended on a commit that is not the head.
    merge_on: Option<(String, String)>,
    label: Option<String>,
    /// In the bot's one comment.
    #[serde(default)]
    comment_says: Texts,
    /// In the newest of the bot's answers.
    #[serde(default)]
    reply_says: Texts,
    /// How many answers the bot gave, beside its one comment.
    replies: Option<usize>,
    /// Neither in a comment of the bot's nor on its checks.
    #[serde(default)]
    nowhere: Texts,
    /// In some record of the change.
    #[serde(default)]
    ledger_has: Texts,
    #[serde(default)]
    ledger_lacks: Texts,
    /// No comment, no check, no record.
    #[serde(default)]
    silence: bool,
    merged: Option<bool>,
    /// How the bot's newest escalation stands: `open`, `closed`, `none`.
    asked: Option<String>,
    #[serde(default)]
    asked_says: Texts,
    dead_letters: Option<u64>,
    /// The bot is alive and nothing waits.
    #[serde(default)]
    healthy: bool,
}

/// One text or several.
#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Texts {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl Texts {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let (one, many): (Option<&str>, &[String]) = match self {
            Texts::None => (None, &[]),
            Texts::One(text) => (Some(text), &[]),
            Texts::Many(texts) => (None, texts),
        };
        one.into_iter().chain(many.iter().map(String::as_str))
    }
}

fn says(wanted: &Texts, stage: &Stage, whole: &str, what: &str) -> anyhow::Result<()> {
    for text in wanted.iter() {
        let text = stage.filled(text)?;
        ensure!(whole.contains(&text), "{what} does not say {text:?}, but {whole:?}");
    }
    Ok(())
}

pub(crate) async fn hold(stage: &Stage, expect: &Expect) -> anyhow::Result<()> {
    if let Some(wanted) = expect.dead_letters {
        let dead = inbox(stage).await?.dead;
        ensure!(dead == wanted, "{dead} dead letters, not {wanted}");
    }
    // Without a server nothing is kept, and a run that fails fails the story.
    if expect.healthy && stage.on.bot() == Bot::Server {
        let stats = inbox(stage).await?;
        ensure!(stats.ready + stats.running + stats.parked + stats.dead == 0, "something waits or died: {stats:?}");
    }
    let (stands, words) = issue::asked(stage)?;
    if let Some(wanted) = &expect.asked {
        ensure!(stands == wanted, "the escalation is {stands}, not {wanted}: {words}");
    }
    says(&expect.asked_says, stage, &words, "the escalation")?;
    let Ok(number) = stage.number(expect.on.as_deref()) else { return Ok(()) };
    let head = stage.on.head(number)?;
    let run = stage.on.run(&head, CHECK_NAME)?;
    let shown = match &run {
        None => String::new(),
        Some(run) => format!(
            "{}: {}\n{}",
            run.conclusion.as_deref().unwrap_or("open"),
            run.title.as_deref().unwrap_or_default(),
            run.summary.as_deref().unwrap_or_default()
        ),
    };
    if let Some(wanted) = &expect.merge {
        let found = run.as_ref().map_or("none", |run| run.conclusion.as_deref().unwrap_or("open"));
        ensure!(found == wanted, "the merge check is {found}, not {wanted}: {shown}");
    }
    says(&expect.merge_says, stage, &shown, "the merge check")?;
    if let Some((name, wanted)) = &expect.merge_on {
        let run = stage.on.run(&stage.commit(Some(name))?, CHECK_NAME)?;
        let found = run.and_then(|run| run.conclusion).unwrap_or_else(|| "none".to_owned());
        ensure!(found == *wanted, "the merge check on {name} is {found}, not {wanted}");
    }
    if let Some(wanted) = &expect.label {
        let found = stage.on.label(number)?.unwrap_or_else(|| "none".to_owned());
        ensure!(found == *wanted, "the label is {found}, not {wanted}");
    }
    let comments = stage.on.bot_comments(number)?;
    says(&expect.comment_says, stage, comments.first().map_or("", String::as_str), "the comment")?;
    let answers = comments.get(1..).unwrap_or_default();
    says(&expect.reply_says, stage, answers.last().map_or("", String::as_str), "the answer")?;
    if let Some(wanted) = expect.replies {
        ensure!(answers.len() == wanted, "{} answers, not {wanted}: {answers:?}", answers.len());
    }
    for text in expect.nowhere.iter() {
        let all = stage.bot_comments()?;
        let runs = stage.on.admin().check_runs(REPO, &head)?;
        let ours = runs.into_iter().filter(|run| run.app == stage.on.app().id);
        let written: Vec<String> = ours.flat_map(|run| [run.title, run.summary]).flatten().chain(all).collect();
        if let Some(found) = written.iter().find(|whole| whole.contains(text)) {
            bail!("{text:?} stands in {found:?}");
        }
    }
    let records = ledger::records(stage, number)?;
    for text in expect.ledger_has.iter() {
        let text = stage.filled(text)?;
        ensure!(records.iter().any(|record| record.contains(&text)), "no record has {text:?}: {records:#?}");
    }
    for text in expect.ledger_lacks.iter() {
        let found = records.iter().find(|record| record.contains(text));
        ensure!(found.is_none(), "a record has {text:?}: {found:?}");
    }
    if expect.silence {
        ensure!(comments.is_empty(), "the bot spoke: {comments:?}");
        ensure!(run.is_none(), "the bot made a check: {shown}");
        ensure!(records.is_empty(), "the bot recorded: {records:?}");
    }
    if let Some(wanted) = expect.merged {
        ensure!((stage.on.pull(number)?["merged"] == true) == wanted, "merged is not {wanted}: {shown}");
    }
    Ok(())
}

async fn inbox(stage: &Stage) -> anyhow::Result<phasegate::inbox::Stats> {
    match stage.on.server() {
        Some(server) => Ok(server.inbox().stats().await?),
        None => bail!("the bot is off stage"),
    }
}
