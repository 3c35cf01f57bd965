//! Where the trusted workflow answers: `POST /api/evidence?change=N&nonce=…`, with its job's token and the execution log.
//!
//! Anybody can run a workflow and have a token for it, so a good signature is where the questions begin. They go from the outside
//! to the inside: the token is GitHub's, for us and of now; it was not used before; it is of a repository that we are installed on,
//! by its ids; of the one file that the policy names, at the default branch; GitHub knows that run, at this attempt, and it was
//! started for this nonce; the ledger has asked for it and nobody has answered; and the log is of that very content, by the same
//! policy, with the policy's own commands. What was found is judged here again: of the log's own verdict nothing is taken.
//!
//! Each refusal has a name. One by a job of the repository itself is recorded there: somebody tried.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::{path_of, title};
use super::intake::{self, delivery};
use super::memory::Kept;
use super::route::{Halt, Passes};
use super::{App, Door, ledger_branch, observe};
use crate::fact::{Event, Fact};
use crate::finding::{Finding, quoted};
use crate::gate::papers::Papers;
use crate::gate::world::Law;
use crate::gate::{self, ran};
use crate::github::oidc::{self, Claims};
use crate::ids::{ChangeNumber, CommitId, Digest, RepoId, RepoRef, Slug};
use crate::inbox::Put;
use crate::ledger::State as Change;
use crate::ledger::record::{Job, Ran};
use crate::ledger::state::Asked;
use crate::policy::{Earned, Policy, Proofs, RunGate, Source};
use crate::repo::Want;
use crate::runner::artefact::{self, Artefact, Expected, PolicyFrom};
use crate::runner::proofs;

pub(super) const PATH: &str = "/api/evidence";

/// It is kept on the ledger, so it is to stay small. Ten thousand tests take a fifth of it.
const LARGEST: usize = 8 * 1024 * 1024;

#[derive(Debug, Deserialize)]
pub(super) struct Asks {
    change: u64,
    nonce: String,
}

/// Why an answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Refused {
    #[error("The token is refused: {0}.")]
    Token(#[from] oidc::Refused),
    #[error("The token was used before.")]
    Replayed,
    #[error("The token is of {0}, and Phasegate is not installed there.")]
    Foreign(String),
    #[error("The job is of {found}, and the policy names {wanted}.")]
    WrongWorkflow { found: String, wanted: String },
    #[error("The policy of {0} does not take evidence from `actions`.")]
    NotWanted(String),
    #[error("GitHub tells something else of run {run}: {what}.")]
    OtherRun { run: u64, what: String },
    #[error("Nothing was asked for under this nonce on #{0}.")]
    Unasked(u64),
    #[error("This nonce was answered before, by run {0}.")]
    Answered(u64),
    #[error("The execution log is not taken. {0}")]
    Log(artefact::Refused),
    #[error("The execution log is of other content: {0}.")]
    OtherContent(String),
    #[error("The execution log has {0} bytes or more; at most {LARGEST} are taken.")]
    TooLarge(usize),
    #[error("The nonce is no digest.")]
    NoNonce,
    #[error("This server takes no evidence.")]
    NoAddress,
    #[error("It can't be looked into now: {0}.")]
    NotNow(String),
}

impl Refused {
    /// What it is called.
    fn name(&self) -> &'static str {
        match self {
            Self::Token(oidc::Refused::Missing) => "no_token",
            Self::Token(oidc::Refused::Malformed(_)) => "malformed_token",
            Self::Token(oidc::Refused::Forged(_)) => "forged_token",
            Self::Token(oidc::Refused::Expired) => "expired_token",
            Self::Token(oidc::Refused::OtherAudience(_)) => "other_audience",
            Self::Token(oidc::Refused::OtherIssuer(_)) => "other_issuer",
            Self::Token(oidc::Refused::NoKeys { .. }) => "no_keys",
            Self::Replayed => "replayed_token",
            Self::Foreign(_) => "foreign_token",
            Self::WrongWorkflow { .. } => "wrong_workflow",
            Self::NotWanted(_) => "not_wanted",
            Self::OtherRun { .. } => "other_run",
            Self::Unasked(_) => "unasked",
            Self::Answered(_) => "answered",
            Self::Log(_) => "unreadable_log",
            Self::OtherContent(_) => "other_content",
            Self::TooLarge(_) => "too_large",
            Self::NoNonce => "no_nonce",
            Self::NoAddress => "no_address",
            Self::NotNow(_) => "not_now",
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Token(oidc::Refused::NoKeys { .. }) | Self::NotNow(_) | Self::NoAddress => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Token(_) | Self::Replayed => StatusCode::UNAUTHORIZED,
            Self::Foreign(_) | Self::WrongWorkflow { .. } | Self::NotWanted(_) | Self::OtherRun { .. } => {
                StatusCode::FORBIDDEN
            }
            Self::Unasked(_) | Self::Answered(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Log(_) | Self::OtherContent(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NoNonce => StatusCode::BAD_REQUEST,
        }
    }

    fn next(&self) -> String {
        match self {
            Self::Token(oidc::Refused::OtherAudience(ours)) => {
                format!(
                    "Ask for a token with the audience {ours}: PHASEGATE_URL of the workflow is this server's address."
                )
            }
            Self::Token(oidc::Refused::NoKeys { .. }) | Self::NotNow(_) => "Send it again in a moment.".to_owned(),
            Self::Token(_) | Self::Replayed => {
                "Answer from a job of the trusted workflow with `id-token: write`, once, with the token of that job."
                    .to_owned()
            }
            Self::Foreign(_) => "Install the App there, or run the workflow in a repository where it is.".to_owned(),
            Self::WrongWorkflow { .. } | Self::OtherRun { .. } => {
                "Let the App start the workflow, and leave its `run-name` as the template has it.".to_owned()
            }
            Self::NotWanted(_) => "Add `actions` to `gates.verify.from` on the default branch.".to_owned(),
            Self::Unasked(_) | Self::Answered(_) => {
                "Nothing: another run counts. Who wants a new one says `/verify` on the pull request.".to_owned()
            }
            Self::Log(refused) => refused.next().to_owned(),
            Self::OtherContent(_) => {
                "Check out what the inputs name, and let `phasegate run verify` write the log.".to_owned()
            }
            Self::TooLarge(_) => "Let the commands say less, or split the tests' reports.".to_owned(),
            Self::NoNonce => "Pass on the nonce that the workflow was started with.".to_owned(),
            Self::NoAddress => "Set PHASEGATE_PUBLIC_URL where the server runs.".to_owned(),
        }
    }

    fn answer(&self) -> (StatusCode, Json<Value>) {
        (self.status(), Json(json!({ "refused": self.name(), "says": self.to_string(), "next": self.next() })))
    }
}

impl From<Halt> for Refused {
    fn from(halt: Halt) -> Self {
        Self::NotNow(halt.to_string())
    }
}

pub(super) async fn take(
    State(door): State<Arc<Door>>,
    Query(asks): Query<Asks>,
    headers: HeaderMap,
    request: Request,
) -> (StatusCode, Json<Value>) {
    match taken(&door, &asks, &headers, request).await {
        Ok(says) => (StatusCode::ACCEPTED, Json(json!({ "says": says }))),
        Err(refused) => {
            tracing::warn!(change = asks.change, refused = refused.name(), "evidence was refused: {refused}");
            metrics::counter!("phasegate_evidence_total", "came_to" => refused.name()).increment(1);
            refused.answer()
        }
    }
}

async fn taken(door: &Door, asks: &Asks, headers: &HeaderMap, request: Request) -> Result<&'static str, Refused> {
    let (Some(issuer), Some(app)) = (&door.issuer, door.app.get()) else {
        return Err(if door.issuer.is_none() {
            Refused::NoAddress
        } else {
            Refused::NotNow("GitHub is not reached yet".into())
        });
    };
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let claims = issuer.prove(token.ok_or(oidc::Refused::Missing)?, app.inbox.now()).await?;
    let guid = format!("evidence/{}", Digest::of(&claims.jti));
    let not_now = |error: &dyn std::fmt::Display| Refused::NotNow(error.to_string());
    let known = door.inbox.known(std::iter::once(guid.as_str())).await.map_err(|error| not_now(&error))?;
    if !known.is_empty() {
        return Err(Refused::Replayed);
    }
    let home = home(app, &claims).await?;
    let looked = Looked { app: Arc::clone(app), home: home.clone(), claims, asks };
    let body = intake::body(door, request).await.map_err(|(status, _)| match status {
        StatusCode::PAYLOAD_TOO_LARGE => Refused::TooLarge(LARGEST + 1),
        _ => Refused::NotNow("the body did not come".to_owned()),
    });
    let fact = match looked.answer(body).await {
        Ok(fact) => fact,
        Err(refused) if looked.is_to_be_recorded(&refused) => {
            let what = format!("Evidence of run {} was refused ({}). {refused}", looked.claims.run_id, refused.name());
            let fact = Fact::Refused { number: asks.change, what };
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
struct Looked<'a> {
    app: Arc<App>,
    home: RepoRef,
    claims: Claims,
    asks: &'a Asks,
}

impl Looked<'_> {
    /// Whether somebody of the repository itself tried what nobody does by mistake.
    fn is_to_be_recorded(&self, refused: &Refused) -> bool {
        matches!(
            refused,
            Refused::WrongWorkflow { .. } | Refused::OtherRun { .. } | Refused::OtherContent(_) | Refused::Log(_)
        )
    }

    async fn answer(&self, body: Result<axum::body::Bytes, Refused>) -> Result<Fact, Refused> {
        let nonce = Digest::new(self.asks.nonce.as_str()).map_err(|_| Refused::NoNonce)?;
        let (policy, change) = self.read().await?;
        if !policy.gates.verify.has(Source::Actions) {
            return Err(Refused::NotWanted(self.home.slug.to_string()));
        }
        self.workflow(&policy)?;
        let asked = self.asked(change.as_ref(), &nonce)?;
        self.run(&asked).await?;
        let body = body?;
        if body.len() > LARGEST {
            return Err(Refused::TooLarge(body.len()));
        }
        let expected = Expected {
            gate: RunGate::Verify,
            repository: self.home.slug.clone(),
            head: asked.about.head.clone(),
            run: self.claims.run_id,
            attempt: self.attempt(),
        };
        let log = artefact::understand(&body, &expected).map_err(Refused::Log)?;
        let shows = self.shows(&policy, &asked).await?;
        same(&log, &policy, &asked, shows.as_ref()).map_err(Refused::OtherContent)?;
        let text = String::from_utf8(body.to_vec()).map_err(|error| Refused::NotNow(error.to_string()))?;
        let by = Job {
            run: self.claims.run_id,
            attempt: self.attempt(),
            workflow: self.claims.job_workflow_ref.clone(),
            sha: self.claims.job_workflow_sha.clone(),
            actor: self.claims.actor_id,
        };
        let tests = log.totals.ran();
        let ran = Ran { nonce, log: Digest::of(&text), tests, findings: judged(log, &policy) };
        Ok(Fact::Ran { number: self.asks.change, by, ran: Box::new(ran), log: text })
    }

    fn attempt(&self) -> u32 {
        u32::try_from(self.claims.run_attempt).unwrap_or(u32::MAX)
    }

    /// The law, and the change as it is recorded.
    async fn read(&self) -> Result<(Policy, Option<Change>), Refused> {
        let passes = Passes::new(Arc::clone(&self.app));
        let home = &passes.at_home(&self.home).await?;
        let (repo, memory) = (self.app.repo(home), Kept::new(&self.app.inbox, home.id));
        let not_now = |error: anyhow::Error| Refused::NotNow(error.to_string());
        let mirror = self.app.mirror(home).map_err(|error| not_now(error.into()))?;
        let read = observe::law(&mirror, home).await.map_err(not_now)?;
        let mut read = read.ok_or_else(|| Refused::NotWanted(self.home.slug.to_string()))?;
        let branch = self.app.ledger_at(ledger_branch::choose(&mut read, home, &repo, &memory).await?);
        let Law::Valid(policy) = read.law else { return Err(Refused::NotNow("the policy is invalid".to_owned())) };
        let loaded = self.app.ledger(home, &branch).load(ChangeNumber(self.asks.change)).await;
        Ok((*policy, loaded.map_err(|error| not_now(error.into()))?.state))
    }

    /// What is to be shown at runtime, by the documents of the content that was asked about.
    async fn shows(&self, policy: &Policy, asked: &Asked) -> Result<Option<proofs::Asked>, Refused> {
        if policy.proofs() == Proofs::Off {
            return Ok(None);
        }
        let not_now = |error: crate::repo::Error| Refused::NotNow(error.to_string());
        let mirror = self.app.mirror(&self.home).map_err(|error| Refused::NotNow(error.to_string()))?;
        let (base, head) = (asked.about.base.clone(), asked.about.head.clone());
        mirror.fetch(&[Want::Commit(base.clone()), Want::Commit(head.clone())]).await.map_err(not_now)?;
        let papers = mirror.read(move |reader| Papers::read(reader, &base, &base, &head)).await.map_err(not_now)?;
        Ok(gate::proofs::asked(&papers))
    }

    /// The one file, at the default branch, and called by nobody else.
    fn workflow(&self, policy: &Policy) -> Result<(), Refused> {
        let Claims { job_workflow_ref, workflow_ref, reference, event_name, .. } = &self.claims;
        let branch = format!("refs/heads/{}", self.home.default_branch);
        let wanted = format!("{}/{}@{branch}", self.home.slug, policy.gates.verify.workflow);
        // GitHub's names are the same in any case.
        for found in [job_workflow_ref, workflow_ref] {
            if !found.eq_ignore_ascii_case(&wanted) {
                return Err(Refused::WrongWorkflow { found: quoted(found), wanted: quoted(&wanted) });
            }
        }
        if *reference != branch || event_name != "workflow_dispatch" {
            let found = quoted(&format!("{event_name} on {reference}"));
            return Err(Refused::WrongWorkflow { found, wanted: quoted(&format!("workflow_dispatch on {branch}")) });
        }
        Ok(())
    }

    fn asked(&self, change: Option<&Change>, nonce: &Digest) -> Result<Asked, Refused> {
        let asked = change.and_then(|change| change.asked.iter().find(|asked| asked.nonce == *nonce));
        match asked {
            None => Err(Refused::Unasked(self.asks.change)),
            Some(Asked { answer: Some(answer), .. }) => Err(Refused::Answered(answer.by.run)),
            Some(asked) => Ok(asked.clone()),
        }
    }

    /// What GitHub knows of the run.
    async fn run(&self, asked: &Asked) -> Result<(), Refused> {
        let Claims { run_id, run_attempt, sha, .. } = &self.claims;
        let other = |what: String| Err(Refused::OtherRun { run: *run_id, what });
        let run = match self.app.repo(&self.home).workflow_run(*run_id).await {
            Ok(run) => run,
            Err(crate::github::Error::NotFound { .. }) => return other("there is no such run".to_owned()),
            Err(error) => return Err(Refused::NotNow(error.to_string())),
        };
        let title = title(self.asks.change, &asked.nonce);
        if path_of(&run) != asked.workflow || run.event != "workflow_dispatch" {
            return other(format!("it is of {}, on {}", quoted(path_of(&run)), quoted(&run.event)));
        }
        if run.run_attempt != *run_attempt {
            return other(format!("it is at attempt {}, and the token of {run_attempt}", run.run_attempt));
        }
        if run.head_sha != *sha || run.head_branch.as_deref() != Some(self.home.default_branch.as_str()) {
            return other(format!("it ran the file of {}", run.head_sha.short()));
        }
        if run.display_title != title {
            return other(format!("it is called {}, and not {}", quoted(&run.display_title), quoted(&title)));
        }
        Ok(())
    }
}

/// Whether a log is of what was asked for, by the policy that asks.
fn same(log: &Artefact, policy: &Policy, asked: &Asked, shows: Option<&proofs::Asked>) -> Result<(), String> {
    let short = |commit: &Option<CommitId>| commit.as_ref().map_or("none", |commit| commit.short()).to_owned();
    if log.policy.digest != policy.digest() || log.policy.from != PolicyFrom::Base {
        return Err("it was run by another policy than that of the default branch".to_owned());
    }
    if log.subject.checkout.as_ref() != Some(&asked.about.head) || log.subject.uncommitted {
        return Err(format!(
            "{} was checked out, and not {} as it is",
            short(&log.subject.checkout),
            asked.about.head.short()
        ));
    }
    if log.subject.base.as_ref() != Some(&asked.about.base) {
        return Err(format!("its base is {}, and not {}", short(&log.subject.base), asked.about.base.short()));
    }
    let runs = policy.gates.runs(RunGate::Verify);
    let commands = log.commands.iter().map(|command| (&command.command, command.audit));
    let wanted = runs.commands.iter().map(|command| (command, false));
    let wanted = wanted.chain(runs.audit.iter().map(|command| (command, true)));
    if !commands.eq(wanted) || log.promised != runs.reports {
        return Err("its commands or reports are not those of the policy".to_owned());
    }
    if log.proofs.as_ref().map(|proofs| &proofs.asked) != shows {
        return Err("what it was to show is not what the documents of this content ask for".to_owned());
    }
    Ok(())
}

/// What is found of a log by the policy. What the log says of itself counts for nothing here.
fn judged(mut log: Artefact, policy: &Policy) -> Vec<Finding> {
    let runs = policy.gates.runs(RunGate::Verify);
    log.confinement.required = runs.confine.required;
    log.timeout_s = runs.timeout.as_secs();
    let demanded = runs.earned == Earned::Demand;
    if let Some(earned) = &mut log.earned {
        earned.demanded = demanded;
    }
    if let Some(proofs) = &mut log.proofs {
        proofs.demanded = policy.proofs() == Proofs::Demand;
    }
    let mut findings = ran::judge(&log.facts());
    if log.earned.is_none() && demanded && !findings.iter().any(Finding::blocks) {
        findings.push(Finding::error(
            "VER-10",
            "It was not tried whether the green was earned: nothing was run on the base.",
            "Let the workflow check out the whole history (`fetch-depth: 0`), as the template does.",
        ));
    }
    findings
}

#[cfg(test)]
mod tests;
