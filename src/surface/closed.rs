//! The merge check where nothing can be said: nothing can be recorded, or a look can't be finished.

use super::hindrance::Hindrance;
use super::sync::{lacks, notes, ours};
use super::witness;
use crate::gate::Finding;
use crate::gate::merge::CHECK_NAME;
use crate::github::calls::checks::{Buttons, CheckRun, Report, Standing, Status, Verdict};
use crate::github::{Repo, Result, Speaker};
use crate::ids::CommitId;

/// A merge check for a change of which nothing can be recorded.
pub struct Closed<'a> {
    pub head: &'a CommitId,
    pub title: &'a str,
    pub findings: &'a [Finding],
    pub default_branch: &'a str,
    /// The policy only observes, so nobody is held back.
    pub observed: bool,
}

/// Shows on the merge check why nothing can be said. The anchor that the run carries stays as it is: it is the witness.
pub async fn show_closed(closed: &Closed<'_>, runs: &[CheckRun], repo: &Repo, app: u64) -> Result<()> {
    let one = |finding: &Finding| {
        format!("`{}` {}\n\n{}", finding.rule, super::plain(&finding.says), super::plain(&finding.next))
    };
    let (verdict, title) = observed(Verdict::Failure, closed.title, closed.observed);
    let found = ours(runs, app, CHECK_NAME);
    let report = Report {
        standing: Standing::Completed(verdict),
        title,
        summary: closed.findings.iter().map(one).collect::<Vec<_>>().join("\n\n"),
        text: found.and_then(witness::text),
        details_url: None,
        annotations: notes(&super::project::annotations(closed.findings, closed.default_branch)),
        buttons: Buttons::default(),
    };
    match found {
        Some(run)
            if run.status == Status::Completed
                && run.output.title == report.title
                && run.output.summary.trim() == report.summary.trim() =>
        {
            // It may have been cut off between two batches of annotations.
            match lacks(run, &report, repo).await? {
                Some(rest) => repo.update_check_run(run.id, &run.external_id, &rest).await.map(drop),
                None => Ok(()),
            }
        }
        // Annotations can't be taken off again, so they go on a run of their own; the witness goes with them.
        Some(run) if report.annotations.is_empty() => {
            repo.update_check_run(run.id, &run.external_id, &report).await.map(drop)
        }
        Some(run) => repo.create_check_run(CHECK_NAME, closed.head, &run.external_id, &report).await.map(drop),
        None => repo.create_check_run(CHECK_NAME, closed.head, "pg1-broken", &report).await.map(drop),
    }
}

/// While we only observe, nothing of ours holds anybody back.
fn observed(verdict: Verdict, title: &str, observed: bool) -> (Verdict, String) {
    if observed { (Verdict::Neutral, format!("Observing: {title}")) } else { (verdict, title.to_owned()) }
}

/// A look that can't be finished.
pub struct Fault<'a> {
    pub head: &'a CommitId,
    pub number: u64,
    /// What went wrong.
    pub says: &'a str,
    /// What hinders it until somebody gives something.
    pub hindrance: Option<Hindrance>,
    pub tried: Tried,
    /// The policy only observes, so nobody is held back.
    pub observed: bool,
}

/// Who tried to finish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// It tries again, until it gives up after so many times.
    ByAServer { given_up_after: Option<u32> },
    /// A run of the Action, which is over.
    ByARun(Speaker),
}

/// What an App may do is asked for there.
pub(super) const PERMISSIONS: &str =
    concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/install.md#1-register-the-app");

/// What the ledger's branch needs is said there.
pub(super) const RULES: &str =
    concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/install.md#4-protect-the-branches");

impl Fault<'_> {
    fn summary(&self) -> String {
        let (tried, next) = match self.tried {
            Tried::ByAServer { given_up_after } => self.by_a_server(given_up_after),
            Tried::ByARun(speaker) => (
                "The run that looked at it is over. Until the next one has finished nothing can be said of this change.".to_owned(),
                match &self.hindrance {
                    Some(hindrance) => format!("{}. {}.", hindrance.next(speaker), hindrance.again(speaker)),
                    None => "Run the job again; its summary and its log say more.".to_owned(),
                },
            ),
        };
        format!("{tried}\n\n{}\n\n→ {next}", super::plain(self.says))
    }

    fn by_a_server(&self, given_up_after: Option<u32>) -> (String, String) {
        let tried = match given_up_after {
            Some(times) => format!(
                "It tried {times} times and has given up; what it was told is kept. Until it is tried again, or something \
                 else happens here, nothing can be said of this change."
            ),
            None => {
                "It tried several times and goes on trying. Until then nothing can be said of this change.".to_owned()
            }
        };
        let next = match (&self.hindrance, given_up_after) {
            (Some(Hindrance::KeptOff), _) => format!(
                "A rule of the repository keeps the App off its ledger's branch. Under *Settings, Rules, Rulesets* put the App \
                 on that rule's bypass list, or leave the branch out of it; [docs/install.md]({RULES}) has the ruleset \
                 that is meant. Then `phasegate inbox retry --all` tries again what failed."
            ),
            (Some(Hindrance::Permission(needs)), _) => format!(
                "On the App's page give it {} (*Permissions & events*; [docs/install.md]({PERMISSIONS}) lists all that it \
                 needs), and accept that where it is installed. Then `phasegate inbox retry --all` tries again what failed.",
                needs
                    .as_ref()
                    .map_or("the permission that it lacks".to_owned(), |needs| format!("the permission `{needs}`"))
            ),
            (None, Some(_)) => {
                "`phasegate inbox list --dead` shows the deliveries. When the cause is gone, `phasegate inbox \
                                retry --all` tries them again."
                    .to_owned()
            }
            (None, None) => {
                "If it stays: `phasegate inbox list --dead` shows the deliveries, and `phasegate inbox retry \
                             --all` tries them again."
                    .to_owned()
            }
        };
        (tried, next)
    }
}

/// Closes the gate because a look can't be finished: what was green may not be any more, and nobody would know.
pub async fn show_fault(fault: &Fault<'_>, repo: &Repo, app: u64) -> Result<()> {
    let runs = repo.check_runs_of(app, fault.head).await?;
    let found = ours(&runs, app, CHECK_NAME);
    let (verdict, title) =
        observed(Verdict::ActionRequired, "Phasegate can't finish its look at this change", fault.observed);
    let report = Report {
        standing: Standing::Completed(verdict),
        title,
        summary: fault.summary(),
        text: found.and_then(witness::text),
        details_url: None,
        annotations: Vec::new(),
        buttons: Buttons::default(),
    };
    match found {
        Some(run) if run.output.title == report.title && run.output.summary.trim() == report.summary.trim() => Ok(()),
        Some(run) => repo.update_check_run(run.id, &run.external_id, &report).await.map(drop),
        None => {
            let key = format!("pg1-fault:{}", fault.number);
            repo.create_check_run(CHECK_NAME, fault.head, &key, &report).await.map(drop)
        }
    }
}
