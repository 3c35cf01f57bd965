//! Deliveries that GitHub never sent, or not like this.

use anyhow::{Context as _, bail, ensure};
use phasegate::github::webhook;
use secrecy::SecretString;
use serde::Deserialize;

use super::stage::Stage;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deliver {
    #[serde(default = "issue_comment")]
    event: String,
    #[serde(default)]
    guid: Option<String>,
    body: Body,
    #[serde(default)]
    signature: Signature,
    /// The status that the bot answers with.
    answer: u16,
}

fn issue_comment() -> String {
    "issue_comment".to_owned()
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Body {
    Text(String),
    /// Well-formed, but nested this deep.
    Deep(usize),
    /// So many bytes.
    Large(usize),
    /// The newest delivery of the same event, as GitHub sent it.
    Real,
    /// The same with one text replaced by another.
    Altered(String, String),
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
enum Signature {
    #[default]
    Good,
    None,
    /// Only the old header.
    Sha1,
    /// Made with another secret.
    Wrong,
    /// Of another body.
    Borrowed,
    /// Not even hexadecimal.
    Malformed,
    /// Two of them, the first a good one.
    Twice,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Replay {
    event: String,
    /// The first delivery of it whose text has this.
    with: String,
    /// Under a new guid, as someone who recorded it could.
    #[serde(default)]
    renamed: bool,
}

fn newest(stage: &Stage, event: &str) -> anyhow::Result<String> {
    let all = stage.on.admin().deliveries(stage.on.app().id);
    let found = all.iter().rev().find(|one| one.event == event);
    Ok(found.with_context(|| format!("no {event} was delivered yet"))?.payload.to_string())
}

fn secret(stage: &Stage) -> SecretString {
    SecretString::from(stage.on.app().webhook_secret.clone())
}

fn fresh_guid(stage: &mut Stage) -> String {
    stage.made += 1;
    format!("story-{}", stage.made)
}

pub(crate) async fn deliver(stage: &mut Stage, deliver: &Deliver) -> anyhow::Result<()> {
    let body = match &deliver.body {
        Body::Text(text) => text.clone(),
        Body::Deep(depth) => format!("{}1{}", "{\"a\":".repeat(*depth), "}".repeat(*depth)),
        Body::Large(bytes) => format!("\"{}\"", "x".repeat(bytes.saturating_sub(2))),
        Body::Real => newest(stage, &deliver.event)?,
        Body::Altered(from, to) => {
            let real = newest(stage, &deliver.event)?;
            ensure!(real.contains(from.as_str()), "the delivery has no {from:?}: {real}");
            real.replace(from.as_str(), to)
        }
    };
    let good = webhook::sign(&secret(stage), body.as_bytes());
    let signatures: Vec<(&str, String)> = match deliver.signature {
        Signature::Good => vec![("X-Hub-Signature-256", good)],
        Signature::None => Vec::new(),
        Signature::Sha1 => vec![("X-Hub-Signature", format!("sha1={}", &good[7..47]))],
        Signature::Wrong => {
            vec![("X-Hub-Signature-256", webhook::sign(&SecretString::from("a guess"), body.as_bytes()))]
        }
        Signature::Borrowed => {
            vec![("X-Hub-Signature-256", webhook::sign(&secret(stage), newest(stage, &deliver.event)?.as_bytes()))]
        }
        Signature::Malformed => vec![("X-Hub-Signature-256", "sha256=yes".to_owned())],
        Signature::Twice => vec![("X-Hub-Signature-256", good), ("X-Hub-Signature-256", "sha256=00".to_owned())],
    };
    let guid = deliver.guid.clone().unwrap_or_else(|| fresh_guid(stage));
    let status = post(stage, &deliver.event, &guid, body, &signatures).await?;
    ensure!(status == deliver.answer, "it was answered with {status}, not {}", deliver.answer);
    stage.settle().await
}

pub(crate) async fn replay(stage: &mut Stage, replay: &Replay) -> anyhow::Result<()> {
    let all = stage.on.admin().deliveries(stage.on.app().id);
    let found = all.iter().find(|one| one.event == replay.event && one.payload.to_string().contains(&replay.with));
    let Some(found) = found else { bail!("no {} with {:?} was delivered", replay.event, replay.with) };
    let guid = if replay.renamed { fresh_guid(stage) } else { found.guid.clone() };
    let status = send(stage, &found.event, &guid, &found.payload.to_string()).await?;
    ensure!((200..300).contains(&status), "it was answered with {status}");
    stage.settle().await
}

/// A delivery with a good signature; what it was answered with.
pub(crate) async fn send(stage: &Stage, event: &str, guid: &str, body: &str) -> anyhow::Result<u16> {
    let signature = webhook::sign(&secret(stage), body.as_bytes());
    post(stage, event, guid, body.to_owned(), &[("X-Hub-Signature-256", signature)]).await
}

async fn post(
    stage: &Stage,
    event: &str,
    guid: &str,
    body: String,
    signatures: &[(&str, String)],
) -> anyhow::Result<u16> {
    let url = stage.on.server().context("the bot is off stage")?.webhook_url();
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut request = client.post(url).header("X-GitHub-Event", event).header("X-GitHub-Delivery", guid);
    for (name, value) in signatures {
        request = request.header(*name, value);
    }
    Ok(request.header("Content-Type", "application/json").body(body).send().await?.status().as_u16())
}
