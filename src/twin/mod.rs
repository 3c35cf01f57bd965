//! An embedded GitHub, narrow but real: for the demo and for stories that cross rooms.
//!
//! What it promises:
//! - **Real wires.** HTTP on a loopback port, real JWTs and tokens, signed webhooks, git over smart HTTP with bare
//!   repositories on disk. The product can't tell that it is not talking to a GitHub Enterprise Server.
//! - **Real refusals.** Permissions, rulesets, compare-and-swap and limits are enforced, not pretended: a merge that
//!   GitHub would refuse is refused here, with the same status and words. Where each behaviour is known from stands in
//!   `docs/twin.md`.
//! - **No waiting by sleeping.** [`Admin::wait_idle`] returns when every queued webhook has been attempted.
//! - **One thing at a time.** All state is behind one lock, held for a call and never across an await.
//!
//! It is reachable from the demo and the tests only: nothing that judges a change may use it.

mod admin;
mod api;
mod auth;
mod bad_day;
mod cast;
mod exchange;
mod feature;
mod git;
mod graphql;
mod hooks;
mod http;
mod model;
mod oidc;
mod pages;
mod presets;
mod push;
mod queue;
mod reply;
mod route;
mod rules;
mod smart_http;
mod stage;
mod state;
mod view;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use admin::Admin;
pub use bad_day::{BadDay, Switch};
pub use cast::{AppHandle, NewApp, NewRepo, RepoHandle, UserHandle};
pub use feature::Feature;
pub use model::*;
pub use presets::{PRESETS, Preset};
pub use stage::{Prepared, Stage};
pub use state::{Effect, Fault};

pub(crate) type Shared = Arc<Mutex<state::State>>;

/// Takes the lock. A panic in another call leaves whole data behind, so its poison is not passed on.
pub(crate) fn lock(shared: &Shared) -> MutexGuard<'_, state::State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why the twin, or something asked of it from inside, failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The twin answered as GitHub would have.
    #[error("GitHub would answer {status}: {message}")]
    Refused { status: u16, message: String },
    #[error("the twin can't start: {0}")]
    Io(#[from] std::io::Error),
    #[error("no key could be made")]
    Key,
}

pub type Result<T> = std::result::Result<T, Error>;

impl From<reply::Problem> for Error {
    fn from(problem: reply::Problem) -> Self {
        Self::Refused { status: problem.status, message: problem.message }
    }
}

impl From<git2::Error> for Error {
    fn from(error: git2::Error) -> Self {
        reply::Problem::from(error).into()
    }
}

#[derive(Debug, Clone)]
pub struct Options {
    /// Port 0 takes any free one.
    pub listen: SocketAddr,
    /// The folder for the bare repositories. It is made if it is not there.
    pub data: PathBuf,
}

/// A running twin. It stops serving when dropped.
pub struct Twin {
    url: String,
    shared: Shared,
    stop: DropGuard,
    server: JoinHandle<()>,
}

impl Twin {
    /// Serves from now until [`Twin::shutdown`] or until dropped.
    pub async fn start(options: Options) -> Result<Self> {
        tokio::fs::create_dir_all(&options.data).await?;
        let listener = tokio::net::TcpListener::bind(options.listen).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (post, letters) = hooks::Post::new();
        let shared = Arc::new(Mutex::new(state::State::new(url.clone(), options.data, post)));
        let stop = CancellationToken::new();
        let couriers = stop.clone().run_until_cancelled_owned(hooks::dispatch(shared.clone(), letters));
        tokio::spawn(couriers);
        let router = axum::Router::new().fallback(http::handle).with_state(shared.clone());
        let stopped = stop.clone().cancelled_owned();
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stopped).await {
                tracing::error!(%error, "the twin stopped serving");
            }
        });
        Ok(Self { url, shared, stop: stop.drop_guard(), server })
    }

    /// Where people and git go: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The REST base, for `GITHUB_API_URL`.
    pub fn api_url(&self) -> String {
        format!("{}/api/v3", self.url)
    }

    /// For `GITHUB_GRAPHQL_URL`.
    pub fn graphql_url(&self) -> String {
        format!("{}/api/graphql", self.url)
    }

    /// The handle that sets the scene and looks behind it.
    pub fn admin(&self) -> Admin {
        Admin::new(self.shared.clone())
    }

    /// Stops taking connections and lets running answers finish, for a while.
    pub async fn shutdown(self) {
        drop(self.stop);
        let abort = self.server.abort_handle();
        if tokio::time::timeout(Duration::from_secs(2), self.server).await.is_err() {
            abort.abort();
        }
    }
}
