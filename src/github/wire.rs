//! The one place that talks HTTP.
//!
//! Every call passes here, and in this order, because each step is there for a failure that was seen:
//! 1. the budget is asked, so that a limited installation does not make its limit worse;
//! 2. the token is taken from the installation's lane, minted once for all who wait for it;
//! 3. one exchange, without redirects to other hosts, with a time limit on the whole of it;
//! 4. a 401 makes the token be replaced once: it may have been revoked, or expired on GitHub's clock before ours.
//!    Nothing was done in that case, so a write may be sent again;
//! 5. the budget learns from the headers, the cache keeps what has an ETag;
//! 6. what failed for a moment is repeated, but only what may be: reading, and writes that leave the same behind
//!    however often they are made. Every other write goes through [`Wire::keyed`], which after an unclear answer
//!    (time-out, 5xx: it may have happened) looks for the write's key and writes again only if it is absent.
//!
//! octocrab carries the requests, but not its retries, its token cache, its ETag cache, its base address or its
//! headers: on Enterprise Servers and under limits each of these does the wrong thing. It is given whole addresses and
//! its bare service is used. Its service runs on the runtime it was made on: make a [`Wire`] inside the one that uses it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderValue, Method, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use octocrab::service::middleware::reqwest_connector::ReqwestConnector;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::answer::{Answer, Complaint, Reply, failure, next_link, redirected, refusal};
use super::budget::{Budget, SHORT_WAIT};
use super::client::Options;
use super::clock::{Clock, after, until};
use super::elsewhere::bounded;
use super::endpoint::Endpoint;
use super::error::{Error, Result};
use super::etag::Etags;
use super::request::{Repeat, Request};
use super::token::{Credentials, TokenSlot, Who};
use crate::fault::point;

const API_VERSION: &str = "2022-11-28";
/// GitHub allows 100 at once; others may share the installation.
const AT_ONCE: usize = 20;
const REPEATS: u32 = 3;
const KEYED_ATTEMPTS: u32 = 3;
const MOST_REDIRECTS: u32 = 3;
/// A list that is longer than this is an error, not a shortened list: a gate must not overlook page 101.
const MOST_PAGES: usize = 100;
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

pub(super) struct Wire {
    crab: Octocrab,
    /// The same connections, for what lies at other hosts.
    pub(super) http: reqwest::Client,
    pub(super) endpoint: Endpoint,
    pub(super) credentials: Credentials,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) app: Lane,
    pub(super) agent: HeaderValue,
    pub(super) paced: bool,
    pub(super) mark: Option<&'static str>,
    pub(super) buttons: bool,
}

/// All that belongs to one installation: nothing in it is shared with another.
pub(super) struct Lane {
    pub(super) who: Who,
    pub(super) budget: Budget,
    pub(super) token: TokenSlot,
    etags: Mutex<Etags>,
    slots: Semaphore,
    /// How often something was to be changed.
    pub(super) written: AtomicU64,
}

impl Lane {
    pub(super) fn new(who: Who, paced: bool) -> Self {
        Self {
            who,
            budget: if paced { Budget::new(who.label()) } else { Budget::unpaced(who.label()) },
            token: TokenSlot::default(),
            etags: Mutex::default(),
            slots: Semaphore::new(AT_ONCE),
            written: AtomicU64::new(0),
        }
    }
}

impl Wire {
    pub(super) fn new(endpoint: Endpoint, credentials: Credentials, options: Options) -> Result<Self> {
        let Options { clock, patience, user_agent, paced, mark, buttons } = options;
        let broken = |what: &str| Error::malformed("the client", what);
        // Proxies are taken from the environment by reqwest. No redirects: we follow the harmless ones ourselves.
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(patience.min(Duration::from_secs(10)))
            .timeout(patience)
            .build()
            .map_err(|_| broken("the HTTP client could not be set up"))?;
        let crab = OctocrabBuilder::new_empty()
            .with_service(ReqwestConnector::new(http.clone()))
            .with_auth(AuthState::None)
            .build()
            .unwrap_or_else(|never| match never {});
        let agent = HeaderValue::from_str(&user_agent).map_err(|_| broken("the user agent is not fit for a header"))?;
        Ok(Self {
            crab,
            http,
            endpoint,
            credentials,
            clock,
            app: Lane::new(Who::App, paced),
            agent,
            paced,
            mark,
            buttons,
        })
    }

    /// Makes a call, repeating it as far as that is harmless.
    pub(super) async fn call(&self, lane: &Lane, request: &Request) -> Result<Answer> {
        match lane.who {
            Who::App => self.as_app(request).await,
            Who::Installation(_) => self.repeating(request, || self.once(lane, request)).await,
        }
    }

    /// Makes a call with the App's own token, which is signed here and never refreshed.
    async fn as_app(&self, request: &Request) -> Result<Answer> {
        self.repeating(request, || async {
            self.admit(&self.app, request).await?;
            let token = match &self.credentials {
                Credentials::Token { token, .. } => token.clone(),
                Credentials::App { issuer, key } => {
                    key.jwt(issuer, self.clock.now()).map_err(|error| Error::malformed(request.route, error))?
                }
            };
            self.follow(&self.app, request, &token).await
        })
        .await
    }

    async fn repeating<F, Fut>(&self, request: &Request, attempt: F) -> Result<Answer>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<Answer>>,
    {
        let mut repeats = 0;
        loop {
            let error = match attempt().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let again = match &error {
                Error::Server { status, .. } => request.repeat == Repeat::Safe && matches!(status, 502..=504),
                Error::Timeout { .. } | Error::Transport { .. } => request.repeat == Repeat::Safe,
                Error::NotFound { .. } => request.must_exist,
                // Refused before anything was done, so any call may come back.
                Error::RateLimited { until: then, .. } => until(self.clock.now(), *then) <= SHORT_WAIT,
                _ => false,
            };
            if !again || repeats == REPEATS {
                return Err(error);
            }
            let wait = match &error {
                Error::RateLimited { until: then, .. } => until(self.clock.now(), *then),
                _ => jittered(Duration::from_millis(500) * 2u32.pow(repeats)),
            };
            tracing::debug!(route = request.route, %error, ?wait, "asking GitHub again");
            self.clock.sleep(wait).await;
            repeats += 1;
        }
    }

    /// Makes a write that must not happen twice. `find` looks for the write's key and returns what it made.
    pub(super) async fn keyed<T, F, Fut>(&self, lane: &Lane, request: &Request, find: F) -> Result<T>
    where
        T: DeserializeOwned,
        F: Fn() -> Fut,
        Fut: Future<Output = Result<Option<T>>>,
    {
        self.keyed_by(|| async { self.call(lane, request).await?.json() }, find).await
    }

    /// [`Self::keyed`] for a write that is more than one request.
    ///
    /// A double is worse than a delay, and a list may lag behind a write: so after an unclear answer it looks twice,
    /// seconds apart, before it believes that nothing happened.
    pub(super) async fn keyed_by<T, W, Wrote, F, Found>(&self, write: W, find: F) -> Result<T>
    where
        W: Fn() -> Wrote,
        Wrote: Future<Output = Result<T>>,
        F: Fn() -> Found,
        Found: Future<Output = Result<Option<T>>>,
    {
        let mut attempt = 1;
        loop {
            let error = match write().await {
                Err(error) if error.is_transient() => error,
                result => return result,
            };
            if error.is_unclear() {
                for wait in [1, 3] {
                    self.clock.sleep(jittered(Duration::from_secs(wait))).await;
                    match find().await {
                        Ok(Some(found)) => return Ok(found),
                        Ok(None) => {}
                        // It can't be known now. The first error says so: the write may have happened.
                        Err(_) => return Err(error),
                    }
                }
            } else {
                self.clock.sleep(jittered(Duration::from_secs(1))).await;
            }
            if attempt == KEYED_ATTEMPTS {
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// Everything of a list: all pages, or an error. `field` names the array where the page is an object.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        lane: &Lane,
        request: Request,
        field: Option<&str>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.pages(lane, request, field, MOST_PAGES, |page: Vec<T>| {
            all.extend(page);
            true
        })
        .await?;
        Ok(all)
    }

    /// Pages of a list, for as long as `more` says so; an error when there are more than `most`.
    pub(super) async fn pages<T: DeserializeOwned>(
        &self,
        lane: &Lane,
        request: Request,
        field: Option<&str>,
        most: usize,
        mut more: impl FnMut(Vec<T>) -> bool,
    ) -> Result<()> {
        let route = request.route;
        let mut request = request.query("per_page", "100");
        for _ in 0..most {
            let answer = self.call(lane, &request).await?;
            let page = match field {
                None => answer.json::<Vec<T>>()?,
                Some(field) => {
                    let mut page: serde_json::Map<String, serde_json::Value> = answer.json()?;
                    let items = page.remove(field).ok_or_else(|| Error::malformed(route, format!("no {field:?}")))?;
                    serde_json::from_value(items).map_err(|error| Error::malformed(route, error))?
                }
            };
            if !more(page) {
                return Ok(());
            }
            match answer.next {
                Some(next) => request.path = next,
                None => return Ok(()),
            }
        }
        Err(Error::TooMany { route })
    }

    /// One call of an installation: admission, token, exchange, and once more when the token was refused.
    async fn once(&self, lane: &Lane, request: &Request) -> Result<Answer> {
        if !request.reads() {
            lane.written.fetch_add(1, Ordering::Relaxed);
        }
        self.admit(lane, request).await?;
        let token = self.token(lane).await?;
        match self.follow(lane, request, &token).await {
            Err(Error::Unauthorized { .. }) if matches!(self.credentials, Credentials::App { .. }) => {
                lane.token.discard(&token).await;
                let token = self.token(lane).await?;
                self.follow(lane, request, &token).await
            }
            result => result,
        }
    }

    async fn admit(&self, lane: &Lane, request: &Request) -> Result<()> {
        let wait = lane.budget.admit(self.clock.now(), request.cost())?;
        if !wait.is_zero() {
            self.clock.sleep(wait).await;
        }
        Ok(())
    }

    /// An exchange, and those that its redirects ask for. GitHub redirects for renamed repositories. Only path and
    /// query are followed, so a token never leaves for another host; and a redirect that would turn a write into a
    /// read is an error.
    async fn follow(&self, lane: &Lane, request: &Request, token: &SecretString) -> Result<Answer> {
        let mut path = request.path.clone();
        for _ in 0..=MOST_REDIRECTS {
            let known = (request.method == Method::GET).then(|| self.etags(lane).get(&path)).flatten();
            let etag = known.as_ref().map(|kept| kept.etag.as_str());
            let reply = {
                let _slot = lane.slots.acquire().await;
                self.exchange(request, &path, token, etag).await?
            };
            let complaint: Complaint = if reply.status.is_success() {
                Complaint::default()
            } else {
                serde_json::from_slice(&reply.body).unwrap_or_default()
            };
            let now = self.clock.now();
            let observed = lane.budget.observe(now, request.cost(), reply.status, &reply.headers, &complaint.message);
            if let Some(limited) = observed {
                tracing::warn!(installation = lane.who.label(), route = request.route, %limited, "limited by GitHub");
                return Err(limited);
            }
            match (reply.status, known) {
                (StatusCode::NOT_MODIFIED, Some(kept)) => {
                    let Reply { headers, .. } = reply;
                    return Ok(Answer { route: request.route, headers, body: kept.body, next: kept.next });
                }
                (status, _) if status.is_success() => {
                    let answer = self.accept(lane, request, &path, reply);
                    return bounded(request, answer);
                }
                (StatusCode::FOUND, _) if request.elsewhere.is_some() => {
                    return self.fetch_elsewhere(request, &reply).await;
                }
                (status, _) if status.is_redirection() => path = redirected(request, &reply)?,
                _ => return Err(refusal(request, &reply, complaint, self.credentials.speaker(), token)),
            }
        }
        Err(Error::malformed(request.route, "too many redirects"))
    }

    fn accept(&self, lane: &Lane, request: &Request, path: &str, reply: Reply) -> Answer {
        let next = next_link(&reply.headers);
        if request.method == Method::GET {
            let etag = reply.headers.get(header::ETAG).and_then(|etag| etag.to_str().ok());
            match etag {
                Some(etag) => self.etags(lane).keep(path, etag.to_owned(), reply.body.clone(), next.clone()),
                None => self.etags(lane).forget(path),
            }
        }
        Answer { route: request.route, headers: reply.headers, body: reply.body, next }
    }

    fn etags<'a>(&self, lane: &'a Lane) -> std::sync::MutexGuard<'a, Etags> {
        lane.etags.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One HTTP exchange, whole body included.
    async fn exchange(&self, request: &Request, path: &str, token: &SecretString, etag: Option<&str>) -> Result<Reply> {
        let broken = |what| Error::malformed(request.route, what);
        let address = if request.graphql { self.endpoint.graphql().to_owned() } else { self.endpoint.rest(path) };
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))
            .map_err(|_| broken("the token is not fit for a header"))?;
        bearer.set_sensitive(true);
        let mut builder = http::Request::builder()
            .method(request.method.clone())
            .uri(address)
            .header(header::AUTHORIZATION, bearer)
            .header(header::ACCEPT, "application/vnd.github+json")
            .header(header::USER_AGENT, self.agent.clone())
            .header("x-github-api-version", API_VERSION);
        if let Some(etag) = etag {
            builder = builder.header(header::IF_NONE_MATCH, etag);
        }
        let body = match &request.body {
            Some(body) => {
                builder = builder.header(header::CONTENT_TYPE, "application/json");
                body.to_string()
            }
            None => String::new(),
        };
        // Told also for an empty body: some proxies refuse a POST without a length.
        if request.method != Method::GET {
            builder = builder.header(header::CONTENT_LENGTH, body.len());
        }
        let built = builder.body(body).map_err(|_| broken("the address is not well-formed"))?;

        point!(if !request.reads(), "github.{} {}.before", request.method, request.route);
        let outcome = async {
            let (head, body) = self.crab.execute(built).await?.into_parts();
            Ok::<_, octocrab::Error>((head, Limited::new(body, LARGEST_ANSWER).collect().await))
        };
        let result = match outcome.await {
            Ok((head, Ok(body))) => Ok(Reply { status: head.status, headers: head.headers, body: body.to_bytes() }),
            // The head has arrived, so the request was certainly received.
            Ok((_, Err(error))) => Err(failure(request, error.as_ref(), true)),
            Err(error) => Err(failure(request, &error, false)),
        };
        point!(if !request.reads(), "github.{} {}.after", request.method, request.route);
        let status = match &result {
            Ok(reply) => reply.status.as_u16().to_string(),
            Err(Error::Timeout { .. }) => "timeout".to_owned(),
            Err(_) => "error".to_owned(),
        };
        let labels = [("method", request.method.to_string()), ("route", request.route.to_owned()), ("status", status)];
        metrics::counter!("phasegate_github_requests_total", &labels).increment(1);
        result
    }

    /// The token to speak with on this lane.
    pub(super) async fn token(&self, lane: &Lane) -> Result<SecretString> {
        match (&self.credentials, lane.who) {
            (Credentials::Token { token, .. }, _) => Ok(token.clone()),
            (Credentials::App { .. }, Who::App) => {
                Err(Error::malformed("the App's token", "the App itself has no installation token"))
            }
            (Credentials::App { .. }, Who::Installation(id)) => {
                let mint = async {
                    let route = "/app/installations/{installation}/access_tokens";
                    // A second token does no harm, so minting may be repeated.
                    let request = Request::new(Method::POST, route, &[&id.0.to_string()])?.idempotent();
                    match self.as_app(&request).await {
                        // The installation is gone. That must not look as if the thing asked for were gone: a
                        // deleted comment or a person without a role would be a wrong conclusion.
                        Err(Error::NotFound { .. }) => Err(Error::NotInstalled),
                        Err(Error::Forbidden { message, .. }) if message.contains("suspended") => Err(Error::Suspended),
                        result => result?.json(),
                    }
                };
                lane.token.get(self.clock.as_ref(), mint).await
            }
        }
    }
}

/// Between half of a time and all of it, so that many who failed together don't come back together.
pub(super) fn jittered(time: Duration) -> Duration {
    let share = (uuid::Uuid::new_v4().as_u128() % 1000) as f64 / 2000.0;
    time.mul_f64(0.5 + share)
}

/// A point some time before now, for look-ups that need not read everything.
pub(super) fn before(now: Timestamp, time: Duration) -> Timestamp {
    now.checked_sub(time).unwrap_or_else(|_| after(now, Duration::ZERO))
}
