//! The tokens of workflows' jobs, as Actions gives them out: signed by a key of its own, whose public half anybody may read.

use jiff::Timestamp;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::cast::token_key;
use super::http::{Incoming, Outgoing};
use super::reply::Problem;
use super::route::parse_query;
use super::state::State;
use super::{Admin, Error, Result};

/// Where an Enterprise Server has it.
pub(crate) const ROOT: &str = "/_services/token";

/// So long a token is good, in seconds.
const GOOD_FOR: i64 = 300;

fn encoding_key(at: usize) -> Result<EncodingKey> {
    EncodingKey::from_rsa_pem(token_key(at)?.as_bytes()).map_err(|_| Error::Key)
}

fn key_id(at: usize) -> String {
    format!("twin-{at}")
}

impl State {
    fn token_issuer(&self) -> String {
        format!("{}{ROOT}", self.base)
    }

    /// What the token of a run's job says.
    fn claims(&self, repo: u64, run: u64, audience: &str) -> std::result::Result<Value, Problem> {
        let about = self.repo(repo)?;
        let run = about.workflow_runs.get(&run).ok_or_else(Problem::not_found)?;
        let (slug, now) = (format!("{}/{}", about.owner.login, about.name), Timestamp::now().as_second());
        let branch = run.head_branch.clone().unwrap_or_default();
        let reference = format!("refs/heads/{branch}");
        let protected = self.rulesets_for(about, &reference, None).next().is_some();
        let file = format!("{slug}/{}@{reference}", run.path);
        Ok(json!({
            "jti": uuid::Uuid::new_v4().to_string(), "sub": format!("repo:{slug}:ref:{reference}"), "aud": audience,
            "iss": self.token_issuer(), "iat": now, "nbf": now - 60, "exp": now + GOOD_FOR,
            "repository": slug, "repository_id": about.id.to_string(),
            "repository_owner": about.owner.login, "repository_owner_id": about.owner.id.to_string(),
            "repository_visibility": if about.private { "private" } else { "public" },
            "run_id": run.id.to_string(), "run_number": run.run_number.to_string(),
            "run_attempt": run.attempt.to_string(), "actor": run.actor.login, "actor_id": run.actor.id.to_string(),
            "workflow": run.name, "workflow_ref": file, "workflow_sha": run.head_sha,
            "job_workflow_ref": file, "job_workflow_sha": run.head_sha, "ref": reference, "ref_type": "branch",
            "ref_protected": protected.to_string(), "sha": run.head_sha, "head_ref": "", "base_ref": "", "event_name": run.event,
            "runner_environment": "github-hosted",
        }))
    }

    fn signed(&self, claims: &Value, key: usize) -> Result<String> {
        let header = Header { kid: Some(key_id(key)), ..Header::new(Algorithm::RS256) };
        jsonwebtoken::encode(&header, claims, &encoding_key(key)?).map_err(|_| Error::Key)
    }

    /// Answers below [`ROOT`]: the keys to anybody, and a token to whoever runs a job.
    pub(crate) fn serve_tokens(&self, incoming: &Incoming) -> Outgoing {
        let not_found = || Outgoing::json(404, &Problem::not_found().json());
        match incoming.path.strip_prefix(ROOT) {
            Some("/.well-known/jwks") => {
                let key = encoding_key(self.token_key).and_then(|key| {
                    let mut key = Jwk::from_encoding_key(&key, Algorithm::RS256).map_err(|_| Error::Key)?;
                    key.common.key_id = Some(key_id(self.token_key));
                    Ok(key)
                });
                match key {
                    Ok(key) => Outgoing::json(200, &json!({ "keys": [key] })),
                    Err(_) => Outgoing::json(500, &json!({ "message": "Server Error" })),
                }
            }
            Some("/request") => {
                let wanted = incoming.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
                let known = wanted.and_then(|token| self.token_requests.get(token));
                let asked = parse_query(&incoming.query);
                let audience = asked.into_iter().find(|(name, _)| name == "audience").map(|(_, value)| value);
                match (known, audience) {
                    (Some((repo, run)), Some(audience)) => {
                        let token = self.claims(*repo, *run, &audience).map_err(Error::from);
                        match token.and_then(|claims| self.signed(&claims, self.token_key)) {
                            Ok(token) => Outgoing::json(200, &json!({ "count": token.len(), "value": token })),
                            Err(_) => not_found(),
                        }
                    }
                    _ => Outgoing::json(401, &json!({ "message": "Unauthorized" })),
                }
            }
            _ => not_found(),
        }
    }
}

impl Admin {
    /// Who signs the tokens.
    pub fn token_issuer(&self) -> String {
        self.state().token_issuer()
    }

    /// The claims of a token that a job of this run is given for this audience.
    pub fn token_claims(&self, repo: &str, run: u64, audience: &str) -> Result<Value> {
        let state = self.state();
        let repo = self.find(&state, repo)?;
        Ok(state.claims(repo, run, audience)?)
    }

    /// A token with these claims, right or wrong, signed by the present key.
    pub fn token_with(&self, claims: &Value) -> Result<String> {
        let state = self.state();
        state.signed(claims, state.token_key)
    }

    /// The same by a key that nobody publishes, under the present one's name.
    pub fn forged_token(&self, claims: &Value) -> Result<String> {
        let header = Header { kid: Some(key_id(self.state().token_key)), ..Header::new(Algorithm::RS256) };
        jsonwebtoken::encode(&header, claims, &encoding_key(9)?).map_err(|_| Error::Key)
    }

    /// What a job with `id-token: write` finds in its environment: the address and the token to ask with.
    pub fn token_request(&self, repo: &str, run: u64) -> Result<(String, String)> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        let token = uuid::Uuid::new_v4().simple().to_string();
        state.token_requests.insert(token.clone(), (repo, run));
        Ok((format!("{}{ROOT}/request?api-version=2.0", state.base), token))
    }

    /// From now on another key signs.
    pub fn replace_token_key(&self) {
        self.state().token_key += 1;
    }
}
