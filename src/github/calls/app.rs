//! What the App asks for itself: who it is, where it is installed, and which deliveries were missed.
//!
//! GitHub never redelivers by itself. So the bot pages through the deliveries of the last days, groups them by guid,
//! and asks for those again that never arrived well.

use http::Method;
use jiff::Timestamp;
use serde::Deserialize;

use super::rules::Repository;
use super::text;
use crate::github::error::maybe;
use crate::github::request::Request;
use crate::github::{Error, Hub, Result};
use crate::ids::{InstallationId, RepoId, Slug};

/// A busy App has many deliveries in three days; of more than 50,000 attempts only the newest are told.
const MOST_DELIVERY_PAGES: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct App {
    pub id: u64,
    pub slug: String,
    #[serde(default, deserialize_with = "text")]
    pub name: String,
    #[serde(default, deserialize_with = "text")]
    pub html_url: String,
    #[serde(default)]
    pub permissions: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    pub events: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Installation {
    pub id: u64,
    pub account: Option<Account>,
    pub suspended_at: Option<Timestamp>,
    #[serde(default)]
    pub permissions: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Account {
    pub login: String,
}

#[derive(Deserialize)]
struct Named {
    id: u64,
    full_name: String,
}

/// A delivery, as GitHub remembers it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Delivery {
    /// Of this attempt; what [`Hub::redeliver`] takes.
    pub id: u64,
    /// The same on every attempt: the `X-GitHub-Delivery` header.
    pub guid: String,
    pub delivered_at: Timestamp,
    #[serde(default)]
    pub redelivery: bool,
    /// `OK`, or what went wrong.
    #[serde(default, deserialize_with = "text")]
    pub status: String,
    #[serde(default)]
    pub status_code: u16,
    pub event: String,
    pub action: Option<String>,
    pub installation_id: Option<u64>,
    pub repository_id: Option<u64>,
}

impl Delivery {
    pub fn arrived(&self) -> bool {
        (200..300).contains(&self.status_code)
    }
}

impl Hub {
    pub async fn app(&self) -> Result<App> {
        self.wire().call(&self.wire().app, &Request::new(Method::GET, "/app", &[])?).await?.json()
    }

    pub async fn installations(&self) -> Result<Vec<Installation>> {
        self.wire().list(&self.wire().app, Request::new(Method::GET, "/app/installations", &[])?, None).await
    }

    /// What is publicly known of an App; none where there is no such App, or where this GitHub does not tell.
    pub async fn app_called(&self, slug: &str, installation: InstallationId) -> Result<Option<App>> {
        let request = Request::new(Method::GET, "/apps/{slug}", &[slug])?;
        match self.wire().call(&self.lane(installation), &request).await {
            Err(Error::NotFound { .. } | Error::NoEndpoint { .. } | Error::Forbidden { .. }) => Ok(None),
            answer => Ok(Some(answer?.json()?)),
        }
    }

    /// The installation that a repository belongs to; none when the App is not installed there.
    pub async fn installation_for(&self, repo: &Slug) -> Result<Option<InstallationId>> {
        Ok(self.installation_of(repo).await?.map(|installation| InstallationId(installation.id)))
    }

    /// The same with what is known of it.
    pub async fn installation_of(&self, repo: &Slug) -> Result<Option<Installation>> {
        let route = "/repos/{owner}/{repo}/installation";
        let request = Request::new(Method::GET, route, &[repo.owner(), repo.name()])?;
        maybe(self.wire().call(&self.wire().app, &request).await)?.map(|answer| answer.json()).transpose()
    }

    /// The repositories that an installation may see, by id and full name.
    pub async fn repositories(&self, installation: InstallationId) -> Result<Vec<(u64, String)>> {
        let request = Request::new(Method::GET, "/installation/repositories", &[])?;
        let all: Vec<Named> = self.wire().list(&self.lane(installation), request, Some("repositories")).await?;
        Ok(all.into_iter().map(|repo| (repo.id, repo.full_name)).collect())
    }

    /// A repository by its id, whatever it is called by now; none when the installation does not see it.
    pub async fn repository(&self, installation: InstallationId, id: RepoId) -> Result<Option<Repository>> {
        let request = Request::new(Method::GET, "/repositories/{id}", &[&id.0.to_string()])?;
        maybe(self.wire().call(&self.lane(installation), &request).await)?.map(|answer| answer.json()).transpose()
    }

    /// The attempts to deliver since then, newest first.
    pub async fn deliveries(&self, since: Timestamp) -> Result<Vec<Delivery>> {
        let mut all: Vec<Delivery> = Vec::new();
        let mut pages = 0;
        let request = Request::new(Method::GET, "/app/hook/deliveries", &[])?;
        self.wire()
            .pages(&self.wire().app, request, None, MOST_DELIVERY_PAGES, |page: Vec<Delivery>| {
                all.extend(page);
                pages += 1;
                pages < MOST_DELIVERY_PAGES && all.last().is_some_and(|oldest| oldest.delivered_at >= since)
            })
            .await?;
        all.retain(|delivery| delivery.delivered_at >= since);
        Ok(all)
    }

    /// Asks for a delivery again. Twice does no harm: the guid stays the same, and the inbox knows it.
    pub async fn redeliver(&self, delivery: u64) -> Result<()> {
        let route = "/app/hook/deliveries/{delivery}/attempts";
        let request = Request::new(Method::POST, route, &[&delivery.to_string()])?.idempotent();
        self.wire().call(&self.wire().app, &request).await.map(drop)
    }
}
