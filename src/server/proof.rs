//! What an answer of the trusted workflow has to be, whichever way it comes: of a run that GitHub says was started for the nonce,
//! and a log of that very content, by the same policy, with the policy's own commands. What was found is judged here again: of the
//! log's own verdict nothing is taken.
//!
//! Each refusal has a name.

use axum::http::StatusCode;

use super::asked::{path_of, title};
use super::route::Halt;
use crate::finding::{Finding, Severity, quoted};
use crate::gate::papers::Papers;
use crate::gate::{self, ran};
use crate::github::calls::actions::WorkflowRun;
use crate::github::oidc;
use crate::ids::{CommitId, Digest, RepoRef};
use crate::ledger::record::{Job, Ran};
use crate::ledger::state::Asked;
use crate::policy::{Earned, Policy, Proofs, RunGate, Start};
use crate::repo::{Mirror, Want};
use crate::runner::artefact::{self, Artefact, Expected, PolicyFrom, archive};
use crate::runner::proofs;

/// It is kept on the ledger, so it is to stay small. Ten thousand tests take a fifth of it.
pub(super) const LARGEST: usize = artefact::LARGEST;
/// Beside the log there is its page, and both are packed.
pub(super) const LARGEST_ARCHIVE: usize = 32 * 1024 * 1024;

/// Why an answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("The token is refused: {0}.")]
    Token(#[from] oidc::Refused),
    #[error("The token was used before.")]
    Replayed,
    #[error("The token is of {0}, and Phasegate is not installed there.")]
    Foreign(String),
    #[error("The job is of {found}, and the policy names {wanted}.")]
    WrongWorkflow { found: String, wanted: String },
    #[error("The job is of {0}, and no rule protects that branch: whoever can push could have changed the workflow.")]
    Unprotected(String),
    #[error("The policy of {0} does not take evidence from `actions`.")]
    NotWanted(String),
    #[error("GitHub tells something else of run {run}: {what}.")]
    OtherRun { run: u64, what: String },
    #[error("Nothing was asked for under this nonce on #{0}.")]
    Unasked(u64),
    #[error("No run of {0} is waited for on any open pull request.")]
    NotWaitedFor(String),
    #[error("This nonce was answered before, by run {0}.")]
    Answered(u64),
    #[error("The execution log is not taken. {0}")]
    Log(artefact::Refused),
    #[error("The execution log is of other content: {0}.")]
    OtherContent(String),
    #[error("The execution log has {0} bytes or more; at most {LARGEST} are taken.")]
    TooLarge(usize),
    #[error("{0}")]
    Archive(#[from] archive::Refused),
    #[error("The artefact's archive has {0} bytes or more; at most {LARGEST_ARCHIVE} are taken.")]
    LargeArchive(u64),
    #[error("GitHub tells something else of the artefact: {0}.")]
    OtherArtefact(String),
    #[error("The run has left {0} artefacts of that name, and it is not known which of them counts.")]
    Several(usize),
    #[error("The artefact is not there any more.")]
    Gone,
    #[error("The request names no change, or its nonce is no digest.")]
    NoNonce,
    #[error("This server takes no evidence.")]
    NoAddress,
    #[error("It can't be looked into now: {0}.")]
    NotNow(String),
}

impl Refused {
    /// What it is called.
    pub(super) fn name(&self) -> &'static str {
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
            Self::Unprotected(_) => "unprotected_ref",
            Self::NotWanted(_) => "not_wanted",
            Self::OtherRun { .. } => "other_run",
            Self::Unasked(_) | Self::NotWaitedFor(_) => "unasked",
            Self::Answered(_) => "answered",
            Self::Log(_) => "unreadable_log",
            Self::OtherContent(_) => "other_content",
            Self::TooLarge(_) => "too_large",
            Self::Archive(refused) => refused.name(),
            Self::LargeArchive(_) => "large_archive",
            Self::OtherArtefact(_) => "other_artefact",
            Self::Several(_) => "several_artefacts",
            Self::Gone => "gone",
            Self::NoNonce => "no_nonce",
            Self::NoAddress => "no_address",
            Self::NotNow(_) => "not_now",
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Token(oidc::Refused::NoKeys { .. }) | Self::NotNow(_) | Self::NoAddress => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Token(_) | Self::Replayed => StatusCode::UNAUTHORIZED,
            Self::Foreign(_)
            | Self::WrongWorkflow { .. }
            | Self::Unprotected(_)
            | Self::NotWanted(_)
            | Self::OtherRun { .. } => StatusCode::FORBIDDEN,
            Self::Unasked(_) | Self::NotWaitedFor(_) | Self::Answered(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) | Self::LargeArchive(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Log(_)
            | Self::OtherContent(_)
            | Self::Archive(_)
            | Self::OtherArtefact(_)
            | Self::Several(_)
            | Self::Gone => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NoNonce => StatusCode::BAD_REQUEST,
        }
    }

    pub(super) fn next(&self) -> String {
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
                "Let what `gates.verify.start` names start the workflow, and leave its `run-name` as the template for that has it."
                    .to_owned()
            }
            Self::Unprotected(_) => {
                "Protect the default branch with a ruleset, as the set-up has it, and say `/verify` for another run."
                    .to_owned()
            }
            Self::NotWanted(_) => "Add `actions` to `gates.verify.from` on the default branch.".to_owned(),
            Self::Unasked(_) | Self::Answered(_) => {
                "Nothing: another run counts. Who wants a new one says `/verify` on the pull request.".to_owned()
            }
            Self::NotWaitedFor(_) => {
                "Nothing, where that commit needs no evidence. Where a pull request waits for it now, run the workflow again that this one follows."
                    .to_owned()
            }
            Self::Log(refused) => refused.next().to_owned(),
            Self::OtherContent(_) => {
                "Check out what the inputs name, and let `phasegate run verify` write the log.".to_owned()
            }
            Self::TooLarge(_) | Self::LargeArchive(_) => {
                "Let the commands say less, or split the tests' reports.".to_owned()
            }
            Self::Archive(refused) => refused.next().to_owned(),
            Self::OtherArtefact(_) | Self::Several(_) | Self::Gone => {
                "Ask for another run, and let nobody run that one again or upload to it.".to_owned()
            }
            Self::NoNonce => {
                "Pass on the change and the nonce that the workflow was started with: `?change=N&nonce=…`.".to_owned()
            }
            Self::NoAddress => "Set PHASEGATE_PUBLIC_URL where the server runs.".to_owned(),
        }
    }
}

impl From<Halt> for Refused {
    fn from(halt: Halt) -> Self {
        Self::NotNow(halt.to_string())
    }
}

/// What is recorded of a refusal, and shown.
pub(super) fn note(run: u64, refused: &Refused) -> String {
    format!("{} ({}). {refused} {}", noted(run), refused.name(), refused.next())
}

/// How what is recorded of a run's refusal begins.
pub(super) fn noted(run: u64) -> String {
    format!("Evidence of run {run} was refused")
}

/// So many refusals of one run are recorded, and each once: a job has as many tokens as it asks for.
const MOST_OF_A_RUN: usize = 3;

/// Whether a refusal says nothing that is worth another record, beside these.
pub(super) fn is_known_well<'k>(what: &str, known: impl Iterator<Item = &'k String>) -> bool {
    let run = what.split(" (").next().unwrap_or(what);
    let of_it: Vec<&String> = known.filter(|one| one.split(" (").next() == Some(run)).collect();
    of_it.len() >= MOST_OF_A_RUN || of_it.iter().any(|one| *one == what)
}

/// What was asked for, where and on which change.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) home: &'a RepoRef,
    pub(super) change: u64,
    pub(super) asked: &'a Asked,
    /// What is to have started the run.
    pub(super) start: Start,
    /// Something of the change is frozen, and the run has to find that by the change's number. Our own runner is handed it.
    pub(super) frozen: bool,
}

impl Asking<'_> {
    /// Whether GitHub tells of a run that it was started for this: the one file, by the kind of start that the policy names, at the
    /// default branch of this very repository, and under this nonce, or for this head.
    pub(super) fn is_answered_by(&self, run: &WorkflowRun) -> Result<(), Refused> {
        let other = |what: String| Err(Refused::OtherRun { run: run.id, what });
        let title = title(self.start, self.change, self.asked);
        if path_of(run) != self.asked.workflow || run.event != self.start.event() {
            return other(format!("it is of {}, on {}", quoted(path_of(run)), quoted(&run.event)));
        }
        if run.head_branch.as_deref() != Some(self.home.default_branch.as_str()) {
            let branch = run.head_branch.as_deref().unwrap_or("none");
            return other(format!("it ran the file of {} at {}", quoted(branch), run.head_sha.short()));
        }
        for repository in [&run.repository, &run.head_repository] {
            if repository.as_ref().map(|repository| repository.id) != Some(self.home.id.0) {
                return other("it is of another repository".to_owned());
            }
        }
        if run.display_title != title {
            return other(format!("it is called {}, and not {}", quoted(&run.display_title), quoted(&title)));
        }
        Ok(())
    }

    /// What a log of this job comes to. With it, the log's text as it is kept.
    pub(super) fn judged(
        &self,
        log: &[u8],
        policy: &Policy,
        shows: Option<&proofs::Asked>,
        by: &Job,
    ) -> Result<(Ran, String), Refused> {
        if log.len() > LARGEST {
            return Err(Refused::TooLarge(log.len()));
        }
        let expected = Expected {
            gate: RunGate::Verify,
            repository: self.home.slug.clone(),
            head: self.asked.about.head.clone(),
            run: by.run,
            attempt: by.attempt,
        };
        let understood = artefact::understand(log, &expected).map_err(Refused::Log)?;
        same(&understood, policy, self.asked, shows).map_err(Refused::OtherContent)?;
        let text = String::from_utf8(log.to_vec()).map_err(|error| Refused::NotNow(error.to_string()))?;
        let (nonce, tests) = (self.asked.nonce.clone(), understood.totals.ran());
        let unknown = (self.frozen && understood.subject.change != Some(self.change)).then(unfrozen);
        let mut findings = judged(understood, policy);
        findings.extend(unknown);
        Ok((Ran { nonce, log: Digest::of(&text), tests, findings }, text))
    }
}

/// `VER-11`, of a run that could not look up what is frozen.
fn unfrozen() -> Finding {
    Finding::error(
        "VER-11",
        "The run did not know which pull request it is for, so what is frozen was not run without tests that came later.",
        "Let the App start the workflow: `gates.verify.start: app`.",
    )
}

/// `VER-13`: what other runs came to that were started for the same. Whoever can write can end one before it tells of a red, and
/// start another in its place.
pub(super) fn besides(runs: &[WorkflowRun], answering: u64) -> Option<Finding> {
    let others: Vec<String> = runs.iter().filter(|run| run.id != answering).map(|run| run.id.to_string()).collect();
    let says = match others.as_slice() {
        [] => return None,
        [one] => format!("Run {one} was started for the same, and what it came to was not told."),
        many => format!("Runs {} were started for the same, and what they came to was not told.", many.join(", ")),
    };
    let next = "Look into Actions why: who can write can cancel a run before it tells of a red.";
    Some(Finding::warning("VER-13", says, next))
}

/// What is to be shown at runtime, by the documents of the content that was asked about.
pub(super) async fn shows(
    mirror: &Mirror,
    policy: &Policy,
    asked: &Asked,
) -> crate::repo::Result<Option<proofs::Asked>> {
    if policy.proofs() == Proofs::Off {
        return Ok(None);
    }
    let (base, head) = (asked.about.base.clone(), asked.about.head.clone());
    mirror.fetch(&[Want::Commit(base.clone()), Want::Commit(head.clone())]).await?;
    let papers = mirror.read(move |reader| Papers::read(reader, &base, &base, &head)).await?;
    Ok(gate::proofs::asked(&papers))
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
    if log.coverage.is_none() != runs.coverage.is_empty() {
        return Err("whether it says how much is covered is not as the policy asks".to_owned());
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
    let left_out = log.earned.is_none() && !findings.iter().any(Finding::blocks);
    // Here there is a base, and what was not held against it is not known.
    let unheld = findings.iter_mut().filter(|finding| left_out && finding.rule == "coverage_decreased");
    unheld.for_each(|finding| finding.severity = Severity::Error);
    if left_out && demanded {
        findings.push(Finding::error(
            "VER-10",
            "It was not tried whether the green was earned: nothing was run on the base.",
            "Let the workflow check out the whole history (`fetch-depth: 0`), as the template does.",
        ));
    }
    findings
}

#[cfg(test)]
pub(super) mod tests;
