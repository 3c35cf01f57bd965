//! Where the trusted workflow answers: `POST /api/evidence?change=N&nonce=…`, with its job's token and the execution log. A run that the
//! App did not start knows no nonce. It answers with `?head=SHA&branch=OWNER:NAME`, and what is waited for there is looked up.
//!
//! Anybody can run a workflow and have a token for it, so a good signature is where the questions begin. They go from the outside
//! to the inside: the token is GitHub's, for us and of now; it was not used before; it is of a repository that we are installed on,
//! by its ids; of the one file that the policy names, at the default branch; GitHub knows that run, at this attempt, and it was
//! started for this nonce, or for this head; the ledger has asked for it and nobody has answered; and the log is of that very content, by the same
//! policy, with the policy's own commands ([`super::proof`]).
//!
//! Each refusal has a name. One by a job of the repository itself is recorded there: somebody tried.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::{has_answered, runs_for};
use super::intake::{self, delivery};
use super::memory::Kept;
use super::proof::{self, Asking, LARGEST, Refused, besides, note};
use super::route::Passes;
use super::{App, Door, ledger_branch, observe};
use crate::fact::{Event, Fact};
use crate::finding::{Finding, quoted};
use crate::gate::asked::open;
use crate::gate::world::Law;
use crate::github::oidc::{self, Claims};
use crate::ids::{ChangeNumber, CommitId, Digest, RepoId, RepoRef, Slug};
use crate::inbox::Put;
use crate::ledger::State as Change;
use crate::ledger::record::Job;
use crate::ledger::state::Asked;
use crate::policy::{Policy, Source};

pub(super) const PATH: &str = "/api/evidence";

/// What is answered, by the address.
#[derive(Debug, Deserialize)]
pub(super) struct Asks {
    change: Option<u64>,
    nonce: Option<String>,
    head: Option<String>,
    /// `OWNER:NAME` of the branch that it is the head of.
    branch: Option<String>,
}

/// The same, understood.
enum Names {
    Nonce { change: u64, nonce: Digest },
    Head { head: CommitId, branch: String },
}

impl Asks {
    fn read(self) -> Result<Names, Refused> {
        match self {
            Self { change: Some(change), nonce: Some(nonce), head: None, branch: None } => {
                let nonce = Digest::new(nonce.as_str()).map_err(|_| Refused::NoNonce)?;
                Ok(Names::Nonce { change, nonce })
            }
            Self { change: None, nonce: None, head: Some(head), branch: Some(branch) } => {
                let head = CommitId::new(head).map_err(|_| Refused::NoNonce)?;
                Ok(Names::Head { head, branch })
            }
            _ => Err(Refused::NoNonce),
        }
    }
}

fn answer(refused: &Refused) -> (StatusCode, Json<Value>) {
    (refused.status(), Json(json!({ "refused": refused.name(), "says": refused.to_string(), "next": refused.next() })))
}

pub(super) async fn take(
    State(door): State<Arc<Door>>,
    asks: Result<Query<Asks>, QueryRejection>,
    headers: HeaderMap,
    request: Request,
) -> (StatusCode, Json<Value>) {
    // What is asked about is in the address, or the request is incomplete.
    let Ok(Query(asks)) = asks else { return answer(&Refused::NoNonce) };
    let change = asks.change;
    match taken(&door, asks, &headers, request).await {
        Ok(says) => (StatusCode::ACCEPTED, Json(json!({ "says": says }))),
        Err(refused) => {
            tracing::warn!(change, refused = refused.name(), "evidence was refused: {refused}");
            metrics::counter!("phasegate_evidence_total", "came_to" => refused.name()).increment(1);
            answer(&refused)
        }
    }
}

async fn taken(door: &Door, asks: Asks, headers: &HeaderMap, request: Request) -> Result<&'static str, Refused> {
    let (Some(issuer), Some(app)) = (&door.issuer, door.app.get()) else {
        return Err(if door.issuer.is_none() {
            Refused::NoAddress
        } else {
            Refused::NotNow("GitHub is not reached yet".into())
        });
    };
    let token = headers.get("authorization").and_then(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token)
    });
    let claims = issuer.prove(token.ok_or(oidc::Refused::Missing)?, app.inbox.now()).await?;
    let guid = format!("evidence/{}", Digest::of(&claims.jti));
    let not_now = |error: &dyn std::fmt::Display| Refused::NotNow(error.to_string());
    let known = door.inbox.known(std::iter::once(guid.as_str())).await.map_err(|error| not_now(&error))?;
    if !known.is_empty() {
        return Err(Refused::Replayed);
    }
    let names = asks.read()?;
    let home = home(app, &claims).await?;
    let looked = Looked { app: Arc::clone(app), home: home.clone(), claims };
    let wanted = looked.wanted(names).await?;
    let body = intake::body(door, request).await.map_err(|(status, _)| match status {
        StatusCode::PAYLOAD_TOO_LARGE => Refused::TooLarge(LARGEST + 1),
        _ => Refused::NotNow("the body did not come".to_owned()),
    });
    let fact = match looked.answer(&wanted, body).await {
        Ok(fact) => fact,
        Err(refused) if looked.is_to_be_recorded(&refused) => {
            let fact = Fact::Refused { number: wanted.change, what: note(looked.claims.run_id, &refused) };
            let tried = delivery(format!("{guid}/refused"), "evidence".to_owned(), &Event { repo: Some(home), fact });
            door.inbox.put(&tried).await.map_err(|error| not_now(&error))?;
            return Err(refused);
        }
        Err(refused) => return Err(refused),
    };
    let answer = delivery(guid, "evidence".to_owned(), &Event { repo: Some(home), fact });
    match door.inbox.put(&answer).await.map_err(|error| not_now(&error))? {
        Put::New(_) => {
            metrics::counter!("phasegate_evidence_total", "came_to" => "taken").increment(1);
            Ok("Taken: it is judged on the pull request.")
        }
        Put::Duplicate => Err(Refused::Replayed),
    }
}

/// The repository of a token, by its ids.
async fn home(app: &App, claims: &Claims) -> Result<RepoRef, Refused> {
    let foreign = || Refused::Foreign(quoted(&claims.repository));
    let not_now = |error: crate::github::Error| Refused::NotNow(error.to_string());
    let slug: Slug = claims.repository.parse().map_err(|_| foreign())?;
    let installation = app.hub.installation_for(&slug).await.map_err(not_now)?.ok_or_else(foreign)?;
    let repo = app.hub.repository(installation, RepoId(claims.repository_id)).await.map_err(not_now)?;
    let repo = repo.filter(|repo| repo.owner.id == claims.repository_owner_id).ok_or_else(foreign)?;
    let slug: Slug = repo.full_name.parse().map_err(|_| foreign())?;
    Ok(RepoRef { id: RepoId(repo.id), slug, installation, default_branch: repo.default_branch })
}

/// An answer, and who gives it.
struct Looked {
    app: Arc<App>,
    home: RepoRef,
    claims: Claims,
}

/// What is answered: the law, the change as it is recorded, and the nonce.
struct Wanted {
    policy: Policy,
    change: u64,
    state: Option<Change>,
    nonce: Digest,
}

impl Looked {
    /// Whether somebody of the repository itself tried what nobody does by mistake.
    fn is_to_be_recorded(&self, refused: &Refused) -> bool {
        matches!(
            refused,
            Refused::WrongWorkflow { .. } | Refused::OtherRun { .. } | Refused::OtherContent(_) | Refused::Log(_)
        )
    }

    /// What the request is about.
    async fn wanted(&self, names: Names) -> Result<Wanted, Refused> {
        match names {
            Names::Nonce { change, nonce } => {
                let (policy, state) = self.read(change).await?;
                Ok(Wanted { policy, change, state, nonce })
            }
            Names::Head { head, branch } => {
                let pulls = self.app.repo(&self.home).list_open_pulls(Some(&branch)).await;
                let pulls = pulls.map_err(|error| Refused::NotNow(error.to_string()))?;
                for pull in pulls.into_iter().filter(|pull| pull.head.sha == head) {
                    let (policy, state) = self.read(pull.number).await?;
                    let waited_for = state.as_ref().and_then(|state| open(state, Source::Actions));
                    if let Some(asked) = waited_for.filter(|asked| asked.about.head == head) {
                        let nonce = asked.nonce.clone();
                        return Ok(Wanted { policy, change: pull.number, state, nonce });
                    }
                }
                Err(Refused::NotWaitedFor(head.short().to_owned()))
            }
        }
    }

    async fn answer(&self, wanted: &Wanted, body: Result<axum::body::Bytes, Refused>) -> Result<Fact, Refused> {
        let Wanted { policy, change, state, nonce } = wanted;
        if !policy.gates.verify.has(Source::Actions) {
            return Err(Refused::NotWanted(self.home.slug.to_string()));
        }
        self.workflow(policy)?;
        let (state, asked) = asked(*change, state.as_ref(), nonce)?;
        let (start, frozen) = (policy.gates.verify.start, state.frozen.is_some());
        let asking = Asking { home: &self.home, change: *change, asked, start, frozen };
        let beside = self.run(asking, state).await?;
        let by = Job {
            run: self.claims.run_id,
            attempt: self.attempt(),
            workflow: self.claims.job_workflow_ref.clone(),
            sha: self.claims.job_workflow_sha.clone(),
            actor: self.claims.actor_id,
        };
        let body = body?;
        let mirror = self.app.mirror(&self.home).map_err(|error| Refused::NotNow(error.to_string()))?;
        let shows = proof::shows(&mirror, policy, asked).await.map_err(|error| Refused::NotNow(error.to_string()))?;
        let (mut ran, log) = asking.judged(&body, policy, shows.as_ref(), &by)?;
        ran.findings.extend(beside);
        Ok(Fact::Ran { number: *change, by, ran: Box::new(ran), log })
    }

    fn attempt(&self) -> u32 {
        u32::try_from(self.claims.run_attempt).unwrap_or(u32::MAX)
    }

    /// The law, and the change as it is recorded.
    async fn read(&self, change: u64) -> Result<(Policy, Option<Change>), Refused> {
        let passes = Passes::new(Arc::clone(&self.app));
        let home = &passes.at_home(&self.home).await?;
        let (repo, memory) = (self.app.repo(home), Kept::new(&self.app.inbox, home.id));
        let not_now = |error: anyhow::Error| Refused::NotNow(error.to_string());
        let mirror = self.app.mirror(home).map_err(|error| not_now(error.into()))?;
        let read = observe::law(&mirror, home).await.map_err(not_now)?;
        let mut read = read.ok_or_else(|| Refused::NotWanted(self.home.slug.to_string()))?;
        let branch = self.app.ledger_at(ledger_branch::choose(&mut read, home, &repo, &memory).await?);
        let Law::Valid(policy) = read.law else { return Err(Refused::NotNow("the policy is invalid".to_owned())) };
        let loaded = self.app.ledger(home, &branch).load(ChangeNumber(change)).await;
        Ok((*policy, loaded.map_err(|error| not_now(error.into()))?.state))
    }

    /// The one file, at the default branch, and called by nobody else.
    fn workflow(&self, policy: &Policy) -> Result<(), Refused> {
        let Claims { job_workflow_ref, workflow_ref, reference, ref_protected, event_name, .. } = &self.claims;
        let branch = format!("refs/heads/{}", self.home.default_branch);
        let wanted = format!("{}/{}@{branch}", self.home.slug, policy.gates.verify.workflow);
        // GitHub's names are the same in any case.
        for found in [job_workflow_ref, workflow_ref] {
            if !found.eq_ignore_ascii_case(&wanted) {
                return Err(Refused::WrongWorkflow { found: quoted(found), wanted: quoted(&wanted) });
            }
        }
        let event = policy.gates.verify.start.event();
        if *reference != branch || event_name != event {
            let found = quoted(&format!("{event_name} on {reference}"));
            return Err(Refused::WrongWorkflow { found, wanted: quoted(&format!("{event} on {branch}")) });
        }
        if ref_protected != "true" {
            return Err(Refused::Unprotected(quoted(reference)));
        }
        Ok(())
    }

    /// What GitHub knows of the run, and of others that were started for the same.
    async fn run(&self, asking: Asking<'_>, state: &Change) -> Result<Option<Finding>, Refused> {
        let Claims { run_id, run_attempt, sha, .. } = &self.claims;
        let other = |what: String| Err(Refused::OtherRun { run: *run_id, what });
        let repo = self.app.repo(&self.home);
        let run = match repo.workflow_run(*run_id).await {
            Ok(run) => run,
            Err(crate::github::Error::NotFound { .. }) => return other("there is no such run".to_owned()),
            Err(error) => return Err(Refused::NotNow(error.to_string())),
        };
        asking.is_answered_by(&run)?;
        if run.run_attempt != *run_attempt {
            return other(format!("it is at attempt {}, and the token of {run_attempt}", run.run_attempt));
        }
        if run.head_sha != *sha {
            return other(format!("it ran the file of {}", run.head_sha.short()));
        }
        if has_answered(state, *run_id, *run_attempt) {
            return other(format!("attempt {run_attempt} of it has answered before"));
        }
        let beside = runs_for(&repo, asking.start, state, asking.asked).await;
        Ok(besides(&beside.map_err(|error| Refused::NotNow(error.to_string()))?, *run_id))
    }
}

fn asked<'c>(change: u64, state: Option<&'c Change>, nonce: &Digest) -> Result<(&'c Change, &'c Asked), Refused> {
    // What the server's own runner is asked for is nobody else's to answer.
    let is_meant = |asked: &&Asked| asked.nonce == *nonce && asked.source() == Source::Actions;
    match state.and_then(|state| Some((state, state.asked.iter().find(is_meant)?))) {
        None => Err(Refused::Unasked(change)),
        Some((_, Asked { answer: Some(answer), .. })) => Err(Refused::Answered(answer.by.run)),
        Some(found) => Ok(found),
    }
}
