//! The evidence page of a change, for a browser.
//!
//! GitHub shows the source of an HTML file, so a server that people can reach shows the page itself. Who may see it is who
//! may read the comment that links to it: the address has a key that nobody can guess, made with the webhook's secret. What
//! is shown is made anew of records that are proven at that moment, and never the file on the ledger's branch, which somebody
//! with write access could have written.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use hmac::{Hmac, Mac as _};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;
use tokio::sync::Semaphore;

use super::memory::Kept;
use super::{App, Door, ledger_branch};
use crate::ids::{ChangeNumber, Digest, RepoId, RepoRef, Slug};
use crate::ledger::{Body, Break, Ledger, LedgerError, Record};
use crate::policy::Policy;
use crate::runner::artefact::Artefact;
use crate::surface::page;

pub(super) const PATH: &str = "/changes/{owner}/{repo}/{number}/{key}/evidence.html";

/// Where people reach this server with a browser, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "an http or https address is needed, without credentials, query or fragment, such as https://gate.example.com".to_owned()
        };
        let url = Url::parse(text).map_err(|_| wrong())?;
        let bare =
            url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
        let known = matches!(url.scheme(), "http" | "https") && url.host().is_some() && bare;
        if known { Ok(Self(url.as_str().trim_end_matches('/').to_owned())) } else { Err(wrong()) }
    }
}

/// Where this server's pages are, and the secret that their keys are made with.
pub(super) struct Address {
    url: PublicUrl,
    secret: SecretString,
}

impl Address {
    /// None where people can't reach it, or where there is no secret.
    pub(super) fn new(url: Option<PublicUrl>, secrets: &[SecretString]) -> Option<Self> {
        let secret = secrets.iter().find(|secret| !secret.expose_secret().is_empty())?.clone();
        Some(Self { url: url?, secret })
    }

    fn of(&self, slug: &Slug, change: ChangeNumber) -> String {
        let key = hex::encode(mac(&self.secret, slug, change.0).finalize().into_bytes());
        format!("{}/changes/{slug}/{}/{key}/evidence.html", self.url.0, change.0)
    }
}

/// What a page's key is made of. No webhook's body begins so, and none is signed for it.
fn mac(secret: &SecretString, slug: &Slug, change: u64) -> Hmac<Sha256> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).expect("HMAC takes a key of any length");
    mac.update(format!("phasegate/evidence-page@1\n{}\n{change}", slug.to_string().to_lowercase()).as_bytes());
    mac
}

/// Whether a key opens a change's page. While the secret is being replaced, links made with the old one go on.
fn opens(secrets: &[SecretString], slug: &Slug, change: u64, key: &str) -> bool {
    let mut given = [0; 32];
    if hex::decode_to_slice(key, &mut given).is_err() {
        return false;
    }
    let secrets = secrets.iter().filter(|secret| !secret.expose_secret().is_empty());
    // No short circuit: the time taken does not tell which secret is the good one.
    secrets.fold(false, |found, secret| found | mac(secret, slug, change).verify_slice(&given).is_ok())
}

impl App {
    /// Where a change's page is: on this server where people can reach it, else its source on the ledger's branch.
    pub(super) fn evidence_link(&self, repo: &RepoRef, branch: &str, change: ChangeNumber) -> String {
        match &self.evidence {
            Some(address) => address.of(&repo.slug, change),
            None => page::source(self.hub.endpoint().server().trim_end_matches('/'), &repo.slug, branch, change),
        }
    }
}

/// A page is made anew after so long, and so many are kept meanwhile: whoever has a link can ask as often as they like.
const FRESH: Duration = Duration::from_secs(10);
const MOST_KEPT: usize = 64;
/// So many are made at once, and for so long one is waited for.
const AT_ONCE: usize = 4;
const PATIENCE: Duration = Duration::from_secs(20);

/// When each was made, and what it was.
type Recent = HashMap<(Slug, u64), (Instant, Arc<str>)>;

/// The pages that were asked for just now.
pub(super) struct Shelf {
    kept: Mutex<Recent>,
    places: Semaphore,
}

impl Default for Shelf {
    fn default() -> Self {
        Self { kept: Mutex::default(), places: Semaphore::new(AT_ONCE) }
    }
}

impl Shelf {
    fn get(&self, of: &(Slug, u64)) -> Option<Arc<str>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(of).filter(|(made, _)| made.elapsed() < FRESH).map(|(_, page)| Arc::clone(page))
    }

    fn keep(&self, of: (Slug, u64), page: &Arc<str>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, (made, _)| made.elapsed() < FRESH);
        if kept.len() < MOST_KEPT {
            kept.insert(of, (Instant::now(), Arc::clone(page)));
        }
    }
}

/// What comes of asking for a page.
enum Asked {
    Page(Arc<str>),
    /// There are no such records, or the App is not there any more.
    Nothing,
    Broken(Break),
}

pub(super) async fn show(
    State(door): State<Arc<Door>>,
    Path((owner, repo, number, key)): Path<(String, String, u64, String)>,
) -> Response {
    let nothing = || told(StatusCode::NOT_FOUND, "There is no such page.\n");
    let Ok(slug) = format!("{owner}/{repo}").parse::<Slug>() else { return nothing() };
    // Before anything is asked of anybody.
    if !opens(&door.secrets, &slug, number, &key) {
        return nothing();
    }
    let Some(app) = door.app.get().filter(|app| app.evidence.is_some()) else {
        return match door.app.get() {
            Some(_) => nothing(),
            None => told(StatusCode::SERVICE_UNAVAILABLE, "GitHub is not reached yet; try it again.\n"),
        };
    };
    let of = (slug, number);
    if let Some(page) = door.pages.get(&of) {
        return shown(&page);
    }
    let made = async {
        let _place = door.pages.places.acquire().await.context("no page is made any more")?;
        app.page(&of.0, ChangeNumber(number)).await
    };
    match tokio::time::timeout(PATIENCE, made).await {
        Ok(Ok(Asked::Page(page))) => {
            door.pages.keep(of, &page);
            shown(&page)
        }
        Ok(Ok(Asked::Nothing)) => nothing(),
        Ok(Ok(Asked::Broken(broken))) => {
            let says =
                format!("The ledger's chain is broken at {broken}. The check phasegate/merge says what to do.\n");
            told(StatusCode::CONFLICT, &says)
        }
        Ok(Err(error)) => {
            tracing::warn!(error = format!("{error:#}"), slug = %of.0, number, "a page can't be made");
            told(StatusCode::BAD_GATEWAY, "The records can't be read now; try it again.\n")
        }
        Err(_) => told(StatusCode::SERVICE_UNAVAILABLE, "It takes too long now; try it again.\n"),
    }
}

impl App {
    /// A change's page, of records that are proven now.
    async fn page(&self, slug: &Slug, change: ChangeNumber) -> anyhow::Result<Asked> {
        let Some(installation) = self.hub.installation_for(slug).await? else { return Ok(Asked::Nothing) };
        let known = self.hub.repo(installation, slug.clone()).get_repo().await?;
        let (id, default_branch) = (RepoId(known.id), known.default_branch);
        let home = RepoRef { id, slug: slug.clone(), installation, default_branch };
        let last = ledger_branch::last(&Kept::new(&self.inbox, id)).await;
        let branch = self.ledger_at(last.unwrap_or_else(|| Policy::default().ledger.branch));
        let ledger = self.ledger(&home, &branch);
        match ledger.prove(change).await {
            Ok(proven) => Ok(match &proven.state {
                Some(state) => {
                    let logs = logs(&ledger, change, &proven.records).await?;
                    Asked::Page(self.painter(&home, &branch).paint(state, &proven.records, &logs).into())
                }
                None => Asked::Nothing,
            }),
            Err(LedgerError::Broken(broken)) => Ok(Asked::Broken(broken)),
            Err(error) => Err(error.into()),
        }
    }
}

/// So many execution logs are on a page; what is older stands on the ledger.
const MOST_LOGS: usize = 3;

/// The newest execution logs that the records name, the oldest of them first. One that is not as it was written is left out.
async fn logs(ledger: &Ledger, change: ChangeNumber, records: &[Record]) -> Result<Vec<Artefact>, LedgerError> {
    let named = records.iter().rev().filter_map(|record| match &record.body {
        Body::Ran(ran) => Some(&ran.log),
        _ => None,
    });
    let mut logs = Vec::new();
    for digest in named.take(MOST_LOGS) {
        let text = ledger.log(change, digest).await?.filter(|text| Digest::of(text) == *digest);
        logs.extend(text.and_then(|text| serde_json::from_str::<Artefact>(&text).ok()));
    }
    logs.reverse();
    Ok(logs)
}

/// Nobody but who asked is to have it, and a browser is to do nothing with it but show it.
fn guarded() -> [(HeaderName, String); 5] {
    let policy = format!(
        "{}; frame-ancestors 'none'; sandbox allow-popups allow-popups-to-escape-sandbox",
        page::content_security_policy()
    );
    [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
        (REFERRER_POLICY, "no-referrer".to_owned()),
        (HeaderName::from_static("x-robots-tag"), "noindex, nofollow".to_owned()),
    ]
}

fn shown(page: &str) -> Response {
    (guarded(), [(CONTENT_TYPE, "text/html; charset=utf-8")], page.to_owned()).into_response()
}

fn told(status: StatusCode, says: &str) -> Response {
    (status, guarded(), [(CONTENT_TYPE, "text/plain; charset=utf-8")], says.to_owned()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(texts: &[&str]) -> Vec<SecretString> {
        texts.iter().map(|text| SecretString::from((*text).to_owned())).collect()
    }

    #[test]
    fn a_key_opens_one_change_of_one_repository() {
        let url: PublicUrl = "https://gate.example.test/pg/".parse().unwrap();
        let slug: Slug = "Octo/lamp".parse().unwrap();
        let address = Address::new(Some(url), &secrets(&["", "old"])).unwrap();
        let link = address.of(&slug, ChangeNumber(42));
        let rest = link.strip_prefix("https://gate.example.test/pg/changes/Octo/lamp/42/").unwrap();
        let key = rest.strip_suffix("/evidence.html").unwrap();
        assert!(opens(&secrets(&["new", "old"]), &slug, 42, key), "{key}");
        assert!(opens(&secrets(&["old"]), &"octo/lamp".parse().unwrap(), 42, key), "GitHub does not tell cases apart");
        assert!(!opens(&secrets(&["old"]), &slug, 43, key));
        assert!(!opens(&secrets(&["old"]), &"octo/lam".parse().unwrap(), 42, key));
        assert!(!opens(&secrets(&["new"]), &slug, 42, key));
        assert!(!opens(&secrets(&[""]), &slug, 42, key) && !opens(&secrets(&["old"]), &slug, 42, &key[..62]));
        assert!(Address::new(Some("http://[::1]:3000".parse().unwrap()), &secrets(&[""])).is_none());
    }

    #[test]
    fn an_address_is_one_that_links_can_begin_with() {
        let good: PublicUrl = "http://127.0.0.1:3000".parse().unwrap();
        assert_eq!(good, PublicUrl("http://127.0.0.1:3000".to_owned()));
        for bad in
            ["gate.example.test", "ftp://gate.example.test", "https://a:b@gate.example.test", "https://x.test/?a", ""]
        {
            assert!(bad.parse::<PublicUrl>().is_err(), "{bad}");
        }
    }
}
