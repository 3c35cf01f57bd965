//! The App's credentials, as the environment gives them.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use secrecy::SecretString;
use zeroize::Zeroizing;

use super::out;
use crate::github::{AppKey, Credentials, Endpoint, Hub, PublicKey, Repo};
use crate::ids::{InstallationId, RepoId, Slug};

pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The inbox's database, where nothing else is said.
pub(super) const DATABASE: &str = "sqlite:phasegate.db";

/// An argument that a variable can give too. Empty counts as not given, as it does for [`variable`].
#[derive(Debug, Clone)]
pub(super) struct Given<T>(Option<T>);

impl<T> From<Option<T>> for Given<T> {
    fn from(given: Option<T>) -> Self {
        Self(given)
    }
}

impl<T> Given<T> {
    pub(super) fn get(given: Option<&Self>) -> Option<&T> {
        given.and_then(|given| given.0.as_ref())
    }
}

impl<T: FromStr> FromStr for Given<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        let text = text.trim();
        if text.is_empty() { Ok(Self(None)) } else { text.parse().map(|value| Self(Some(value))) }
    }
}

/// `APP_ID`: the App's id or client id. Whoever copied it may have copied a line's end too.
pub(super) fn given_id() -> Option<String> {
    variable("APP_ID").map(|id| id.trim().to_owned())
}

/// The same, where there has to be one.
pub(super) fn id() -> anyhow::Result<String> {
    given_id().context("APP_ID is not set: the number (or client id) on the App's settings page")
}

/// `PRIVATE_KEY_PATH`, or `PRIVATE_KEY` with the key itself (real line ends or `\n`).
pub(super) fn key() -> anyhow::Result<Arc<AppKey>> {
    let pem = match (variable("PRIVATE_KEY"), variable("PRIVATE_KEY_PATH").map(PathBuf::from)) {
        (Some(pem), _) => Zeroizing::new(pem).replace("\\n", "\n"),
        (None, Some(path)) => std::fs::read_to_string(&path)
            .with_context(|| format!("PRIVATE_KEY_PATH {} can't be read", path.display()))?,
        (None, None) => bail!("neither PRIVATE_KEY nor PRIVATE_KEY_PATH is set: the App's private key, as PEM"),
    };
    let key = AppKey::from_pem(&SecretString::from(pem)).context("the private key is not one that can be used")?;
    Ok(Arc::new(key))
}

/// The keys that the App had before. What they signed on the ledger stays good; public halves are enough.
/// `PREVIOUS_KEYS` has them as text, one PEM after the other, `PREVIOUS_KEYS_PATH` names a PEM file or a folder of `.pem` files.
pub(super) fn earlier_keys() -> anyhow::Result<Vec<PublicKey>> {
    let mut keys = Vec::new();
    if let Some(text) = variable("PREVIOUS_KEYS").map(Zeroizing::new) {
        let text = Zeroizing::new(text.replace("\\n", "\n"));
        for (at, pem) in pems(&text).enumerate() {
            keys.push(PublicKey::from_pem(pem).with_context(|| format!("PREVIOUS_KEYS: number {} is no key", at + 1))?);
        }
        if keys.is_empty() {
            bail!(
                "PREVIOUS_KEYS has no key: it is PEM text, with its BEGIN and END lines; `phasegate key FILE` prints the public half"
            );
        }
    }
    keys.extend(earlier_key_files()?);
    Ok(keys)
}

/// Each PEM in a text.
fn pems(text: &str) -> impl Iterator<Item = &str> {
    const BEGIN: &str = "-----BEGIN ";
    let starts: Vec<usize> = text.match_indices(BEGIN).map(|(at, _)| at).collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &text[start..end])
}

fn earlier_key_files() -> anyhow::Result<Vec<PublicKey>> {
    let Some(path) = variable("PREVIOUS_KEYS_PATH").map(PathBuf::from) else { return Ok(Vec::new()) };
    let unreadable = || format!("PREVIOUS_KEYS_PATH {} can't be read", path.display());
    if !path.metadata().with_context(unreadable)?.is_dir() {
        return Ok(vec![public_key(&path)?]);
    }
    let mut files = Vec::new();
    for entry in path.read_dir().with_context(unreadable)? {
        files.push(entry.with_context(unreadable)?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "pem"));
    files.sort();
    files.iter().map(|file| public_key(file)).collect()
}

/// The public half of the key in a PEM file, which may hold either half.
pub(super) fn public_key(file: &Path) -> anyhow::Result<PublicKey> {
    let name = out::plain(&file.display().to_string());
    let pem = std::fs::read_to_string(file).map(Zeroizing::new);
    let pem = pem.with_context(|| format!("can't read the key {name}"))?;
    PublicKey::from_pem(&pem).with_context(|| format!("{name} is no key"))
}

/// `WEBHOOK_SECRET`; while it is being replaced, `WEBHOOK_SECRET_OLD` is accepted too.
pub(super) fn secrets() -> anyhow::Result<Vec<SecretString>> {
    let Some(secret) = variable("WEBHOOK_SECRET") else {
        bail!("WEBHOOK_SECRET is not set: without it anyone could send events");
    };
    Ok([Some(secret), variable("WEBHOOK_SECRET_OLD")].into_iter().flatten().map(SecretString::from).collect())
}

/// `GITHUB_API_URL` and its companions; github.com without them.
pub(super) fn endpoint() -> anyhow::Result<Endpoint> {
    Endpoint::from_env(variable).context("GITHUB_API_URL, GITHUB_GRAPHQL_URL or GITHUB_SERVER_URL is wrong")
}

/// A repository on GitHub to read: as the App where one is named, else by the token of the environment.
pub(super) async fn reader(slug: &Slug) -> anyhow::Result<(Repo, RepoId)> {
    let as_app = variable("APP_ID").is_some();
    let credentials = match variable("GITHUB_TOKEN") {
        Some(token) if !as_app => Credentials::workflow(SecretString::from(token)),
        _ => Credentials::App { issuer: id()?, key: key()? },
    };
    let hub = Hub::new(endpoint()?, credentials)?;
    let installation = match as_app {
        true => hub.installation_for(slug).await?.with_context(|| format!("the App is not installed on {slug}"))?,
        false => InstallationId(0),
    };
    let repo = hub.repo(installation, slug.clone());
    let id = RepoId(repo.get_repo().await.with_context(|| format!("{slug} can't be read"))?.id);
    Ok((repo, id))
}
