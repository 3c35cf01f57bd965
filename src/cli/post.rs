//! `phasegate post`: the second job of the trusted workflow. It runs nothing of the change, and says what the first one found.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::{Exit, app, out};
use crate::actions;
use crate::finding::quoted;
use crate::runner::{For, artefact, started_after};

/// Bring a run's execution log to the App that asked for it
///
/// It is for a job of GitHub Actions with `id-token: write`, which did not run anything of the change: the job's token proves to
/// the App which workflow it is. docs/evidence.md has the workflow.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder that `phasegate run` has written
    #[arg(long, value_name = "DIR", default_value = "phasegate-verify")]
    log: PathBuf,
    /// The change's number, which the workflow was started with. One that `workflow_run` has started has none
    #[arg(long, value_name = "N", requires = "nonce")]
    change: Option<u64>,
    /// The nonce that it was started with
    #[arg(long, value_name = "NONCE", requires = "change")]
    nonce: Option<String>,
    /// The address of the App's server
    #[arg(long, value_name = "URL", env = "PHASEGATE_URL")]
    to: String,
}

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long is waited after each try that came to nothing.
const WAITS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9), Duration::from_secs(27)];
/// More than the server takes.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What the server says.
#[derive(Debug, Default, Deserialize)]
struct Said {
    #[serde(default)]
    says: String,
    #[serde(default)]
    refused: Option<String>,
    #[serde(default)]
    next: Option<String>,
}

/// What one try came to.
enum Came {
    Taken(String),
    Refused(Said),
    /// It may go better another time.
    ToNothing(String),
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let done = posted(args).await;
    if let Err(error) = &done {
        out::not_done(error, out::Stream::Out);
    }
    done
}

async fn posted(args: &Args) -> anyhow::Result<Exit> {
    let to = args.to.trim().trim_end_matches('/');
    if to.is_empty() {
        bail!("PHASEGATE_URL is empty: make a variable of the repository with the address of the App's server");
    }
    let mut at = Url::parse(&format!("{to}/api/evidence"))
        .ok()
        .filter(|url| url.has_host() && ["http", "https"].contains(&url.scheme()))
        .with_context(|| format!("PHASEGATE_URL is no address: {}", quoted(to)))?;
    let about = about(args)?;
    at.query_pairs_mut().extend_pairs(&about);
    let log = read(args)?;
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("phasegate/", env!("CARGO_PKG_VERSION")))
        .build()
        .context("no TLS")?;
    let mut waits = WAITS.into_iter();
    loop {
        // Each try has a token of its own: one is good for a single use.
        let token = token(&client, to).await?;
        match post(&client, &at, &token, &log).await {
            Came::Taken(says) => {
                out::text(&format!("{}\n", out::plain(&says)))?;
                return Ok(Exit::Fine);
            }
            // An earlier try, or another run for the same nonce, was faster. Nothing is lost by it.
            Came::Refused(said) if said.refused.as_deref() == Some("answered") => {
                out::text(&format!("{}\n", out::plain(&said.says)))?;
                return Ok(Exit::Fine);
            }
            // Nobody has asked this run for anything: the end of another has started it, and that may be of any branch.
            Came::Refused(Said { says, refused: Some(refused), next })
                if refused == "unasked" && args.nonce.is_none() =>
            {
                out::text(&format!("{} {}\n", out::plain(&says), out::plain(&next.unwrap_or_default())))?;
                return Ok(Exit::Fine);
            }
            Came::Refused(Said { says, refused, next }) => {
                let next = next.map(|next| format!("\n{}", out::plain(&next))).unwrap_or_default();
                let name = refused.map(|name| format!(" ({})", out::plain(&name))).unwrap_or_default();
                bail!("the App refuses it{name}: {}{next}", out::plain(&says));
            }
            Came::ToNothing(why) => match waits.next() {
                Some(wait) => {
                    out::complain(&format!("{why}; it is tried again in {} s\n", wait.as_secs()));
                    tokio::time::sleep(wait).await;
                }
                None => bail!("the App at {} can't be reached: {why}", quoted(to)),
            },
        }
    }
}

/// What is answered, as the server's address has it.
fn about(args: &Args) -> anyhow::Result<Vec<(&'static str, String)>> {
    if let (Some(change), Some(nonce)) = (args.change, &args.nonce) {
        return Ok(vec![("change", change.to_string()), ("nonce", nonce.clone())]);
    }
    match started_after(&app::variable)? {
        Some(For { head, branch }) => Ok(vec![("head", head.to_string()), ("branch", branch)]),
        None => bail!(
            "it is not known what is answered: give --change and --nonce, which the App has started the workflow with, or let \
             the end of another workflow start it (`on: workflow_run`)"
        ),
    }
}

fn read(args: &Args) -> anyhow::Result<Vec<u8>> {
    let file = args.log.join(artefact::FILE);
    let says = || format!("there is no execution log: {} can't be read", out::plain(&file.display().to_string()));
    let mut bytes = Vec::new();
    std::fs::File::open(&file).with_context(says)?.take(MOST_BYTES).read_to_end(&mut bytes).with_context(says)?;
    Ok(bytes)
}

/// The job's own token, made for the server and nobody else.
async fn token(client: &reqwest::Client, audience: &str) -> anyhow::Result<SecretString> {
    #[derive(Deserialize)]
    struct Given {
        value: String,
    }
    let lacks = "this is no job that may have a token: it takes `permissions: { id-token: write }`";
    let url = app::variable("ACTIONS_ID_TOKEN_REQUEST_URL").context(lacks)?;
    let key = SecretString::from(app::variable("ACTIONS_ID_TOKEN_REQUEST_TOKEN").context(lacks)?);
    let mut url = Url::parse(&url).context("ACTIONS_ID_TOKEN_REQUEST_URL is no address")?;
    url.query_pairs_mut().append_pair("audience", audience);
    let asked = client.get(url).bearer_auth(key.expose_secret()).send().await;
    let given: Given = match asked.and_then(reqwest::Response::error_for_status) {
        Ok(answer) => answer.json().await.map_err(reqwest::Error::without_url).context("the token can't be read")?,
        Err(error) => return Err(error.without_url()).context("the runner gives no token"),
    };
    let token = SecretString::from(given.value);
    if actions::inside() {
        out::raw(&actions::mask(token.expose_secret()))?;
    }
    Ok(token)
}

async fn post(client: &reqwest::Client, at: &Url, token: &SecretString, log: &[u8]) -> Came {
    let sent = client.post(at.clone()).bearer_auth(token.expose_secret());
    let sent = sent.header("content-type", "application/json").body(log.to_vec()).send().await;
    let answer = match sent {
        Ok(answer) => answer,
        Err(error) => return Came::ToNothing(error.without_url().to_string()),
    };
    let status = answer.status();
    let said: Said = answer.json().await.unwrap_or_default();
    match status {
        StatusCode::ACCEPTED => Came::Taken(said.says),
        status if status.is_server_error() || said.says.is_empty() => {
            Came::ToNothing(format!("it answers {}: {}", status.as_u16(), said.says))
        }
        _ => Came::Refused(said),
    }
}
