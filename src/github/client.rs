//! The client: a [`Hub`] for one App, a [`Repo`] for one of the repositories it is installed on.
//!
//! The typed calls are in [`super::calls`], by subject. They all go through the wire, so that budget, tokens and the
//! rules for repeating are the same for every one of them.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use http::Method;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OnceCell;

use super::answer::Answer;
use super::budget::Budget;
use super::clock::{Clock, SystemClock};
use super::endpoint::Endpoint;
use super::error::{Error, Result};
use super::request::Request;
use super::token::{Credentials, Who};
use super::wire::{Lane, Wire};
use crate::ids::{InstallationId, Slug};

/// What can be set about a client besides where GitHub is and who we are.
#[derive(Clone)]
pub struct Options {
    pub clock: Arc<dyn Clock>,
    /// The most that one exchange may take.
    pub patience: Duration,
    pub user_agent: String,
    /// Whether to keep under GitHub's secondary limits by ourselves. A server of one's own may have none.
    pub paced: bool,
    /// What the title of each check run of ours begins with.
    pub mark: Option<&'static str>,
    /// Whether somebody hears of the buttons on our check runs.
    pub buttons: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            patience: Duration::from_secs(30),
            user_agent: concat!("phasegate/", env!("CARGO_PKG_VERSION")).to_owned(),
            paced: true,
            mark: None,
            buttons: true,
        }
    }
}

/// GitHub, as one App (or one token) sees it. Cheap to clone; clones share tokens, budgets and caches.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    wire: Wire,
    lanes: Mutex<HashMap<InstallationId, Arc<Lane>>>,
    login: OnceCell<String>,
    lacks_graphql: AtomicBool,
    lacks_git: AtomicBool,
    /// Routes that were asked for in vain.
    missing: Mutex<BTreeSet<&'static str>>,
}

/// A part of GitHub that can be done without: what it would do is done in more steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Graphql,
    GitOverHttp,
}

impl Hub {
    /// Must be called on the tokio runtime that the client will be used on.
    pub fn new(endpoint: Endpoint, credentials: Credentials) -> Result<Self> {
        Self::with_options(endpoint, credentials, Options::default())
    }

    pub fn with_options(endpoint: Endpoint, credentials: Credentials, options: Options) -> Result<Self> {
        let wire = Wire::new(endpoint, credentials, options)?;
        Ok(Self(Arc::new(Inner {
            wire,
            lanes: Mutex::default(),
            login: OnceCell::new(),
            lacks_graphql: AtomicBool::new(false),
            lacks_git: AtomicBool::new(false),
            missing: Mutex::default(),
        })))
    }

    /// Whether this GitHub was seen to be without a part. Nothing is asked: every part is taken to be there until it
    /// proves not to be.
    pub fn lacks(&self, part: Part) -> bool {
        self.part(part).load(Ordering::Relaxed)
    }

    /// Remembers it for as long as this client lives. Only for what was proved: a bad day is not a missing part.
    pub(super) fn found_lacking(&self, part: Part) {
        if !self.part(part).swap(true, Ordering::Relaxed) {
            tracing::warn!(api = self.endpoint().api(), ?part, "this GitHub is without it; REST is used in its place");
        }
    }

    /// Says once that this GitHub has no such endpoint, so that a person can tell why something is not known.
    pub(super) fn found_missing(&self, route: &'static str) {
        if self.0.missing.lock().unwrap_or_else(PoisonError::into_inner).insert(route) {
            tracing::warn!(
                api = self.endpoint().api(),
                route,
                "this GitHub has no such endpoint; what it tells is not known"
            );
        }
    }

    fn part(&self, part: Part) -> &AtomicBool {
        match part {
            Part::Graphql => &self.0.lacks_graphql,
            Part::GitOverHttp => &self.0.lacks_git,
        }
    }

    /// A repository's client.
    pub fn repo(&self, installation: InstallationId, slug: Slug) -> Repo {
        Repo { hub: self.clone(), lane: self.lane(installation), slug, must_exist: false }
    }

    pub(super) fn lane(&self, installation: InstallationId) -> Arc<Lane> {
        let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes
            .entry(installation)
            .or_insert_with(|| Arc::new(Lane::new(Who::Installation(installation), self.wire().paced)));
        Arc::clone(lane)
    }

    /// Until when what can wait is to wait, for the sake of those who work there: see [`Budget::is_short_until`].
    pub fn is_short_until(&self, installation: InstallationId) -> Option<jiff::Timestamp> {
        self.lane(installation).budget.is_short_until(self.wire().clock.now())
    }

    /// A suspended installation was let in again.
    pub async fn let_in(&self, installation: InstallationId) {
        self.lane(installation).token.let_in().await;
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.0.wire.endpoint
    }

    /// The account that the App's comments and runs carry, `NAME[bot]`; asked once.
    ///
    /// A key in a comment can be copied by anyone. Only what this account wrote is taken for ours.
    pub async fn login(&self) -> Result<&str> {
        let find = || async {
            match &self.wire().credentials {
                Credentials::Token { login, .. } => Ok(login.clone()),
                Credentials::App { .. } => Ok(format!("{}[bot]", self.app().await?.slug)),
            }
        };
        self.0.login.get_or_try_init(find).await.map(String::as_str)
    }

    pub(super) fn wire(&self) -> &Wire {
        &self.0.wire
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hub({}, {:?})", self.endpoint().api(), self.wire().credentials)
    }
}

/// One repository, through its installation.
#[derive(Clone)]
pub struct Repo {
    hub: Hub,
    lane: Arc<Lane>,
    slug: Slug,
    must_exist: bool,
}

impl Repo {
    /// The same repository, for reading what was just heard of: "not found" is then taken for a replica that lags
    /// behind, and asked again for a few seconds before it is believed.
    #[must_use]
    pub fn expect_exists(&self) -> Self {
        Self { must_exist: true, ..self.clone() }
    }

    pub fn slug(&self) -> &Slug {
        &self.slug
    }

    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// What GitHub lets this installation ask.
    pub fn budget(&self) -> &Budget {
        &self.lane.budget
    }

    /// What `git` needs to read and write this repository.
    pub async fn git_auth(&self) -> Result<GitAuth> {
        let url = format!("{}/{}.git", self.hub.endpoint().server(), self.slug);
        Ok(GitAuth { url, password: self.wire().token(&self.lane).await? })
    }

    pub(super) fn wire(&self) -> &Wire {
        self.hub.wire()
    }

    pub(super) fn lane(&self) -> &Lane {
        &self.lane
    }

    /// How often something was to be changed so far, here and wherever else this installation is.
    pub fn written(&self) -> u64 {
        self.lane.written.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// A request below `/repos/{owner}/{repo}`: the route's first two places are this repository's.
    pub(super) fn request(&self, method: Method, route: &'static str, parts: &[&str]) -> Result<Request> {
        let mut all = vec![self.slug.owner(), self.slug.name()];
        all.extend(parts);
        Request::new(method, route, &all)
    }

    pub(super) fn get(&self, route: &'static str, parts: &[&str]) -> Result<Request> {
        Ok(self.request(Method::GET, route, parts)?.must_exist(self.must_exist))
    }

    pub(super) async fn call(&self, request: &Request) -> Result<Answer> {
        self.wire().call(&self.lane, request).await
    }

    pub(super) async fn fetch<T: serde::de::DeserializeOwned>(&self, request: Request) -> Result<T> {
        self.call(&request).await?.json()
    }

    pub(super) async fn list<T: serde::de::DeserializeOwned>(
        &self,
        request: Request,
        field: Option<&str>,
    ) -> Result<Vec<T>> {
        self.wire().list(&self.lane, request, field).await
    }

    /// A list that every repository has, if only an empty one. None: this GitHub has no such list at all. The two answers
    /// look alike, so it is asked whether the repository is there.
    pub(super) async fn list_if_any<T: serde::de::DeserializeOwned>(
        &self,
        request: Request,
        field: Option<&str>,
    ) -> Result<Option<Vec<T>>> {
        let route = request.route;
        match self.list(request, field).await {
            Err(Error::NotFound { .. } | Error::NoEndpoint { .. }) => {
                self.get_repo().await?;
                self.hub.found_missing(route);
                Ok(None)
            }
            listed => listed.map(Some),
        }
    }
}

impl fmt::Debug for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Repo({}, installation {})", self.slug, self.lane.who.label())
    }
}

/// How `git` reaches a repository over HTTP. The password dies with the installation's token, within the hour.
#[derive(Clone)]
pub struct GitAuth {
    /// Holds no credentials: those would end up in process lists and in `.git/config`.
    pub url: String,
    password: SecretString,
}

impl GitAuth {
    pub const USERNAME: &'static str = "x-access-token";

    pub fn password(&self) -> &SecretString {
        &self.password
    }

    /// For git's `http.extraHeader`, to be given through the environment (`GIT_CONFIG_…`), never as an argument.
    pub fn header(&self) -> SecretString {
        let pair = format!("{}:{}", Self::USERNAME, self.password.expose_secret());
        let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
        SecretString::from(format!("Authorization: Basic {encoded}"))
    }
}

impl fmt::Debug for GitAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GitAuth({}, …)", self.url)
    }
}
