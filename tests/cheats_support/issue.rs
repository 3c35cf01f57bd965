//! What people do to issues: to their own, and to the bot's.

use anyhow::Context as _;
use phasegate::rehearsal::REPO;
use serde::Deserialize;
use serde_json::{Value, json};

use super::stage::Stage;

/// Other words for an issue.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rewords {
    on: String,
    title: Option<String>,
    text: Option<String>,
}

pub(crate) fn rewords(stage: &mut Stage, who: &str, rewords: &Rewords) -> anyhow::Result<()> {
    let mut body = json!({});
    if let Some(title) = &rewords.title {
        body["title"] = stage.filled(title)?.into();
    }
    if let Some(text) = &rewords.text {
        body["body"] = stage.filled(text)?.into();
    }
    let number = stage.number(Some(&rewords.on))?;
    stage.call(who, "PATCH", &format!("/repos/{REPO}/issues/{number}"), body).map(drop)
}

/// Labels put on and taken off.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Labels {
    #[serde(default)]
    add: Vec<String>,
    #[serde(default)]
    remove: Vec<String>,
    on: Option<String>,
}

pub(crate) fn labels(stage: &mut Stage, who: &str, labels: &Labels) -> anyhow::Result<()> {
    let path = format!("/repos/{REPO}/issues/{}/labels", stage.number(labels.on.as_deref())?);
    if !labels.add.is_empty() {
        stage.call(who, "POST", &path, json!({ "labels": labels.add }))?;
    }
    for label in &labels.remove {
        stage.call(who, "DELETE", &format!("{path}/{}", label.replace(':', "%3A")), Value::Null)?;
    }
    Ok(())
}

/// How the newest escalation stands: `none`, `open` or `closed`, and what it says.
pub(crate) fn asked(stage: &Stage) -> anyhow::Result<(&'static str, String)> {
    let Some(issue) = stage.on.escalations()?.pop() else { return Ok(("none", String::new())) };
    let body = issue.body.context("an escalation says something")?;
    Ok((if issue.open { "open" } else { "closed" }, format!("{}\n{body}", issue.title)))
}
