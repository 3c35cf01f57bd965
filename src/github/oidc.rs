//! The tokens by which a workflow's job says who it is.
//!
//! GitHub signs them, and anybody can ask for one in a workflow of their own: a good signature proves whose job it was, and
//! nothing more. So what the claims must be is for the caller to say; here it is only proved that they are the claims.
//!
//! The keys are fetched from the issuer, which is configuration, and never from an address that a token names. They are kept for an
//! hour. A token that names an unknown key has them fetched again, because keys are replaced; but not more often than once a
//! minute, because anybody can write a token that names one.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::{Deserialize, Deserializer};
use tokio::sync::Mutex;

use crate::ids::CommitId;

/// What a job's token says. GitHub writes numbers as text there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Claims {
    /// Of this token alone.
    pub jti: String,
    #[serde(deserialize_with = "number")]
    pub repository_id: u64,
    #[serde(deserialize_with = "number")]
    pub repository_owner_id: u64,
    pub repository: String,
    /// The file of the job: `owner/name/.github/workflows/file.yml@refs/heads/main`.
    pub job_workflow_ref: String,
    pub job_workflow_sha: CommitId,
    /// The file that called it, or the same.
    pub workflow_ref: String,
    #[serde(rename = "ref")]
    pub reference: String,
    /// `true` where a rule says what may be pushed there.
    #[serde(default)]
    pub ref_protected: String,
    pub sha: CommitId,
    #[serde(deserialize_with = "number")]
    pub run_id: u64,
    #[serde(deserialize_with = "number")]
    pub run_attempt: u64,
    pub event_name: String,
    #[serde(deserialize_with = "number")]
    pub actor_id: u64,
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let plain = !text.is_empty() && text.len() <= 16 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain).ok_or_else(|| serde::de::Error::custom("not a number"))
}

/// Why a token is not taken. None of these has a part of the token in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("there is no token: `Authorization: Bearer …` is missing")]
    Missing,
    #[error("it is no token of a workflow's job: {0}")]
    Malformed(&'static str),
    #[error("it is not signed by a key of {0}")]
    Forged(String),
    #[error("it has expired, or is not good yet")]
    Expired,
    #[error("it was made for somebody else, not for {0}")]
    OtherAudience(String),
    #[error("it is by another issuer than {0}")]
    OtherIssuer(String),
    #[error("the keys of {issuer} can't be had: {why}")]
    NoKeys { issuer: String, why: String },
}

/// Nobody has that many keys at once.
const MOST_KEYS: usize = 64;
const MOST_BYTES: usize = 256 * 1024;
/// No token of a job is as long.
const LONGEST: usize = 16 * 1024;
const KEPT_FOR: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);
const NOT_BEFORE: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(10);
/// How far two clocks may be apart, in seconds.
const LEEWAY: u64 = 60;

/// Who signs the tokens, and for whom they have to be.
pub struct Issuer {
    url: String,
    audience: String,
    client: reqwest::Client,
    keys: Mutex<Fetched>,
}

#[derive(Default)]
struct Fetched {
    keys: HashMap<String, DecodingKey>,
    /// When they came.
    at: Option<Timestamp>,
    /// When they were last asked for, whatever came of it.
    tried: Option<Timestamp>,
}

impl Fetched {
    /// Whether they are to be fetched before this key is looked up.
    fn are_due(&self, key: &str, now: Timestamp) -> bool {
        let after =
            |at: Option<Timestamp>, long: jiff::SignedDuration| at.is_none_or(|at| now.duration_since(at) >= long);
        let wanted = after(self.at, KEPT_FOR) || !self.keys.contains_key(key);
        wanted && after(self.tried, NOT_BEFORE)
    }
}

impl Issuer {
    pub fn new(url: &str, audience: &str) -> Result<Self, reqwest::Error> {
        // A redirect could lead anywhere.
        let client = reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("phasegate/", env!("CARGO_PKG_VERSION")))
            .build()?;
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { url, audience: audience.to_owned(), client, keys: Mutex::default() })
    }

    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// The claims of a token, if it is by this issuer, for us, and of now.
    pub async fn prove(&self, token: &str, now: Timestamp) -> Result<Claims, Refused> {
        if token.len() > LONGEST {
            return Err(Refused::Malformed("it is too long"));
        }
        let header = decode_header(token).map_err(|_| Refused::Malformed("its head can't be read"))?;
        if header.alg != Algorithm::RS256 {
            return Err(Refused::Malformed("it is not signed by RS256"));
        }
        let key = header.kid.filter(|kid| kid.len() <= 200).ok_or(Refused::Malformed("it names no key"))?;
        let key = self.key(&key, now).await?;
        self.claims(token, &key)
    }

    fn claims(&self, token: &str, key: &DecodingKey) -> Result<Claims, Refused> {
        use jsonwebtoken::errors::ErrorKind as Kind;
        let mut wanted = Validation::new(Algorithm::RS256);
        wanted.set_issuer(&[&self.url]);
        wanted.set_audience(&[&self.audience]);
        wanted.set_required_spec_claims(&["exp", "iss", "aud"]);
        wanted.validate_nbf = true;
        wanted.leeway = LEEWAY;
        decode(token, key, &wanted).map(|token| token.claims).map_err(|error| match error.kind() {
            Kind::InvalidSignature => Refused::Forged(self.url.clone()),
            Kind::ExpiredSignature | Kind::ImmatureSignature => Refused::Expired,
            Kind::InvalidAudience => Refused::OtherAudience(self.audience.clone()),
            Kind::InvalidIssuer => Refused::OtherIssuer(self.url.clone()),
            _ => Refused::Malformed("its claims are not those of a job"),
        })
    }

    async fn key(&self, key: &str, now: Timestamp) -> Result<DecodingKey, Refused> {
        // One fetch at a time: who waits here finds what it brought.
        let mut known = self.keys.lock().await;
        let mut why = None;
        if known.are_due(key, now) {
            known.tried = Some(now);
            match self.fetch().await {
                Ok(keys) => (known.keys, known.at) = (keys, Some(now)),
                Err(error) => why = Some(error),
            }
        }
        match (known.keys.get(key), why) {
            (Some(key), _) => Ok(key.clone()),
            (None, Some(why)) => Err(Refused::NoKeys { issuer: self.url.clone(), why }),
            (None, None) => Err(Refused::Forged(self.url.clone())),
        }
    }

    async fn fetch(&self) -> Result<HashMap<String, DecodingKey>, String> {
        let url = format!("{}/.well-known/jwks", self.url);
        let asked = self.client.get(&url).send().await.and_then(reqwest::Response::error_for_status);
        let mut answer = asked.map_err(|error| error.without_url().to_string())?;
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| error.without_url().to_string())? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_BYTES {
                return Err("they are too long".to_owned());
            }
        }
        let set: JwkSet = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        let named = set.keys.iter().take(MOST_KEYS).filter_map(|key| {
            let kid = key.common.key_id.clone()?;
            // Others may be there for other uses.
            Some((kid, DecodingKey::from_jwk(key).ok()?))
        });
        Ok(named.collect())
    }
}
