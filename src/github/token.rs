//! With what we speak: as the App, as one of its installations, or with a token that a workflow was given.
//!
//! An installation's token lives for an hour. It is minted once however many calls wait for it (eight cold calls must
//! not mint eight tokens), replaced five minutes before its end, and thrown away when GitHub refuses it, but only by
//! the first who finds out. Nothing is assumed about a token's form or length.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::auth::AppKey;
use super::clock::{Clock, after};
use super::error::{Error, Result, Speaker};
use crate::ids::InstallationId;

/// Replaced this long before its end, so that no call is under way with a dying token.
const MARGIN: Duration = Duration::from_secs(5 * 60);

/// So long a refusal of the installation itself is believed: all that waits for it must not ask one after the other, with
/// calls that every installation needs.
const REFUSED_FOR: Duration = Duration::from_secs(60);

/// What the bot was given to prove who it is.
#[derive(Clone)]
pub enum Credentials {
    /// An App: `issuer` is its id or its client id.
    App { issuer: String, key: Arc<AppKey> },
    /// A ready token, such as a workflow's `GITHUB_TOKEN`; `login` is the account it speaks as.
    Token { token: SecretString, login: String },
}

impl Credentials {
    /// The token of a workflow run.
    pub fn workflow(token: SecretString) -> Self {
        Self::Token { token, login: "github-actions[bot]".to_owned() }
    }

    pub(super) fn speaker(&self) -> Speaker {
        match self {
            Self::App { .. } => Speaker::App,
            Self::Token { .. } => Speaker::Token,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::App { issuer, key } => write!(f, "App({issuer}, {key:?})"),
            Self::Token { login, .. } => write!(f, "Token({login}, …)"),
        }
    }
}

/// For whom a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Who {
    App,
    Installation(InstallationId),
}

impl Who {
    pub(super) fn label(self) -> String {
        match self {
            Self::App => "app".to_owned(),
            Self::Installation(id) => id.0.to_string(),
        }
    }
}

/// A token as GitHub mints it.
#[derive(Clone, Deserialize)]
pub(super) struct Token {
    #[serde(deserialize_with = "secret")]
    token: SecretString,
    expires_at: Timestamp,
}

fn secret<'de, D: serde::Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
    String::deserialize(from).map(SecretString::from)
}

/// Who is told of each token that is minted, before anybody speaks with it.
static TOLD: OnceLock<fn(&SecretString)> = OnceLock::new();

/// From now on, in this process: whoever keeps secrets out of a log has to know this one, which came by no setting.
pub(crate) fn tell_of_minted(told: fn(&SecretString)) {
    // Once is enough; whoever comes second wants the same.
    let _ = TOLD.set(told);
}

/// One installation's token.
#[derive(Default)]
pub(super) struct TokenSlot {
    // Held while minting: whoever comes meanwhile waits here and finds the new token, or the failure.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Token>,
    failed: Option<(Timestamp, Error)>,
}

fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::NotInstalled | Error::Suspended)
}

impl TokenSlot {
    pub(super) async fn get(
        &self,
        clock: &dyn Clock,
        mint: impl Future<Output = Result<Token>>,
    ) -> Result<SecretString> {
        let came = clock.now();
        let mut state = self.state.lock().await;
        if let Some(token) = state.current.as_ref().filter(|token| token.expires_at > after(came, MARGIN)) {
            return Ok(token.token.clone());
        }
        // It failed while we waited for it. In an outage, a queue of callers must not each try for themselves.
        if let Some((at, error)) = &state.failed
            && (*at > came || (is_refusal(error) && after(*at, REFUSED_FOR) > came))
        {
            return Err(error.clone());
        }
        match mint.await {
            Ok(token) => {
                let secret = token.token.clone();
                if let Some(told) = TOLD.get() {
                    told(&secret);
                }
                *state = State { current: Some(token), failed: None };
                Ok(secret)
            }
            Err(error) => {
                state.failed = Some((clock.now(), error.clone()));
                Err(error)
            }
        }
    }

    /// Forgets that there was none: the installation was let in again.
    pub(super) async fn let_in(&self) {
        self.state.lock().await.failed = None;
    }

    /// Forgets the token if it is still the one that was refused: a newer one stays.
    pub(super) async fn discard(&self, refused: &SecretString) {
        let mut state = self.state.lock().await;
        if state.current.as_ref().is_some_and(|token| token.token.expose_secret() == refused.expose_secret()) {
            state.current = None;
        }
    }
}
