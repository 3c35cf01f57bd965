//! Who is asking, and what they may do.
//!
//! People come with a personal token, Apps with a JWT signed by their key, installations with a token that lives an
//! hour. An installation token is measured by the installation's permissions, narrowed when it was made; a person by
//! their role.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;

use super::model::*;
use super::reply::Problem;
use super::state::State;

#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) grants: Grants,
    pub(crate) expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub(crate) enum Grants {
    User(u64),
    Installation(Scope),
}

/// What an installation token reaches.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) app: u64,
    /// 0 for the workflow token of GitHub Actions.
    pub(crate) installation: u64,
    pub(crate) permissions: Permissions,
    /// `None` means all that the installation has.
    pub(crate) repos: Option<BTreeSet<u64>>,
}

#[derive(Debug, Clone)]
pub(crate) enum Actor {
    Anonymous,
    User(Account),
    /// An App as itself, by JWT.
    App {
        app: u64,
        slug: String,
    },
    Installation {
        bot: Account,
        scope: Scope,
    },
}

impl Actor {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Anonymous => "anonymous".into(),
            Self::User(account) => account.login.clone(),
            Self::App { slug, .. } => format!("app:{slug}"),
            Self::Installation { bot, .. } => bot.login.clone(),
        }
    }

    pub(crate) fn app(&self) -> Option<u64> {
        match self {
            Self::App { app, .. } => Some(*app),
            Self::Installation { scope, .. } => Some(scope.app),
            _ => None,
        }
    }

    /// The account that what they do is shown under.
    pub(crate) fn account(&self) -> Result<Account, Problem> {
        match self {
            Self::User(account) | Self::Installation { bot: account, .. } => Ok(account.clone()),
            Self::Anonymous => Err(Problem::new(401, "Requires authentication")),
            Self::App { .. } => Err(Problem::not_for_integration()),
        }
    }

    /// Whose hourly quota a call is taken from, and how large it is.
    pub(crate) fn quota(&self) -> (String, u64) {
        match self {
            Self::Anonymous => ("anonymous".into(), 60),
            Self::User(account) => (format!("user:{}", account.id), 5_000),
            Self::App { app, .. } => (format!("app:{app}"), 5_000),
            Self::Installation { scope, .. } if scope.installation == 0 => {
                (format!("workflow:{:?}", scope.repos), 1_000)
            }
            Self::Installation { scope, .. } => (format!("installation:{}", scope.installation), 5_000),
        }
    }
}

/// An hour of calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    pub(crate) limit: u64,
    pub(crate) used: u64,
    pub(crate) resets_at: Timestamp,
}

impl Quota {
    pub(crate) fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

impl State {
    /// The quota a caller draws on, fresh when its hour is over.
    pub(crate) fn quota(&mut self, key: &str, limit: u64) -> &mut Quota {
        let now = self.now();
        let fresh = Quota { limit, used: 0, resets_at: now + SignedDuration::from_hours(1) };
        let quota = self.quotas.entry(key.to_owned()).or_insert(fresh);
        if quota.resets_at <= now {
            *quota = fresh;
        }
        quota
    }

    /// Reads an `Authorization` header (`Bearer` or `token`).
    pub(crate) fn actor(&self, authorization: Option<&str>) -> Result<Actor, Problem> {
        let Some(header) = authorization else { return Ok(Actor::Anonymous) };
        let (scheme, secret) = header.split_once(' ').ok_or_else(Problem::bad_credentials)?;
        if !scheme.eq_ignore_ascii_case("bearer") && !scheme.eq_ignore_ascii_case("token") {
            return Err(Problem::bad_credentials());
        }
        let secret = secret.trim();
        if secret.split('.').count() == 3 { self.app_by_jwt(secret) } else { self.actor_by_token(secret) }
    }

    pub(crate) fn actor_by_token(&self, secret: &str) -> Result<Actor, Problem> {
        let token = self.tokens.get(secret).ok_or_else(Problem::bad_credentials)?;
        if token.expires_at.is_some_and(|at| at <= self.now()) {
            return Err(Problem::bad_credentials());
        }
        match &token.grants {
            Grants::User(id) => Ok(Actor::User(self.accounts.get(id).ok_or_else(Problem::bad_credentials)?.clone())),
            Grants::Installation(scope) => {
                let app = self.apps.get(&scope.app).ok_or_else(Problem::bad_credentials)?;
                // An uninstalled App's tokens die with the installation.
                match self.installations.get(&scope.installation) {
                    None if scope.installation != 0 => return Err(Problem::bad_credentials()),
                    Some(one) if one.suspended_at.is_some() => return Err(Problem::suspended()),
                    _ => {}
                }
                Ok(Actor::Installation { bot: app.bot.clone(), scope: scope.clone() })
            }
        }
    }

    fn app_by_jwt(&self, jwt: &str) -> Result<Actor, Problem> {
        #[derive(Deserialize)]
        struct Claims {
            iat: i64,
            exp: i64,
            iss: Issuer,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Issuer {
            Number(u64),
            Text(String),
        }
        const UNDECODABLE: &str = "A JSON web token could not be decoded";
        let undecodable = || Problem::new(401, UNDECODABLE);
        let mut validation = Validation::new(Algorithm::RS256);
        // The times are judged below, with GitHub's own messages.
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        let issuer = |claims: &Claims| match &claims.iss {
            Issuer::Number(id) => id.to_string(),
            Issuer::Text(text) => text.clone(),
        };
        for app in self.apps.values().filter(|app| !app.public_key.is_empty()) {
            let key = DecodingKey::from_rsa_der(&app.public_key);
            let Ok(data) = jsonwebtoken::decode::<Claims>(jwt, &key, &validation) else { continue };
            let claims = data.claims;
            // A story may have put this clock forward, and a caller on this machine may know only the machine's.
            let now = [self.now(), Timestamp::now()].map(Timestamp::as_second);
            let now = now.into_iter().find(|now| (claims.iat..claims.exp).contains(now)).unwrap_or(now[0]);
            let named = issuer(&claims);
            if named != app.id.to_string() && named != app.client_id {
                return Err(Problem::new(401, "'Issuer' claim ('iss') must be an Integer or a client ID"));
            }
            if claims.iat > now {
                return Err(Problem::new(
                    401,
                    "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
                ));
            }
            if claims.exp <= now {
                return Err(Problem::new(
                    401,
                    "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
                ));
            }
            // GitHub measures from its own clock and forgives a minute of drift.
            if claims.exp > now + 10 * 60 + 60 || claims.exp - claims.iat > 11 * 60 {
                return Err(Problem::new(401, "'Expiration time' claim ('exp') is too far in the future"));
            }
            return Ok(Actor::App { app: app.id, slug: app.slug.clone() });
        }
        Err(undecodable())
    }

    /// Can this actor see that the repository exists?
    pub(crate) fn sees(&self, actor: &Actor, repo: &Repo) -> bool {
        if !repo.private {
            return true;
        }
        match actor {
            Actor::Anonymous => false,
            Actor::User(account) => self.role(repo, account.id) >= Role::Read,
            Actor::App { app, .. } => self.installation_on(*app, repo.id).is_some(),
            Actor::Installation { scope, .. } => self.reaches(scope, repo.id),
        }
    }

    /// Is this repository within the token's installation and narrowing?
    pub(crate) fn reaches(&self, scope: &Scope, repo: u64) -> bool {
        let narrowed = scope.repos.as_ref().is_none_or(|repos| repos.contains(&repo));
        let installed = scope.installation == 0
            || self.installations.get(&scope.installation).is_some_and(|one| one.repos.contains(&repo));
        narrowed && installed
    }

    /// Demands one of these App permissions, or this role of a person.
    pub(crate) fn demand(
        &self,
        actor: &Actor,
        repo: &Repo,
        any_of: &[(&str, Level)],
        role: Role,
        writes: bool,
    ) -> Result<(), Problem> {
        match actor {
            Actor::Anonymous if writes => Err(Problem::new(401, "Requires authentication")),
            Actor::Anonymous if role > Role::Read => Err(Problem::new(401, "Requires authentication")),
            Actor::Anonymous => Ok(()),
            Actor::App { .. } => Err(Problem::not_for_integration()),
            Actor::User(account) => {
                let has = self.role(repo, account.id);
                if has >= role {
                    Ok(())
                } else if writes && has >= Role::Read && role > Role::Write {
                    Err(Problem::new(403, "Must have admin rights to Repository."))
                } else {
                    // GitHub hides what one may not write as if it were not there, unless it is plainly readable.
                    Err(if writes && role <= Role::Triage {
                        Problem::new(403, "Must have triage rights to Repository.")
                    } else {
                        Problem::not_found()
                    })
                }
            }
            Actor::Installation { scope, .. } => {
                if !self.reaches(scope, repo.id) {
                    // A public repository can be read by anyone; nothing more without an installation.
                    return if writes { Err(Problem::not_for_integration()) } else { Ok(()) };
                }
                let has = |name: &str, level: Level| {
                    name == "metadata" || scope.permissions.get(name).is_some_and(|given| *given >= level)
                };
                if any_of.iter().any(|(name, level)| has(name, *level)) { Ok(()) } else { Err(Problem::lacks(any_of)) }
            }
        }
    }

    /// Does this actor have write access to content: what a push needs.
    pub(crate) fn may_push(&self, actor: &Actor, repo: &Repo) -> bool {
        self.demand(actor, repo, &[("contents", Level::Write)], Role::Write, true).is_ok()
    }
}
