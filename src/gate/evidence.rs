//! Which greens count, and whose approvals.
//!
//! A check run with the right name proves nothing by itself. One of GitHub Actions counts only as a job of a workflow
//! run whose file, local actions and scripts are the default branch's own at this head: the workflow of a pull request
//! is the change's own file, so an agent can write any green it likes into it. One that was merely posted under
//! Actions' App never counts. One of another App counts when policy names that App. Commit statuses never do.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::engine::people::May;
use crate::engine::world::{ACTIONS_APP, CheckRun, Review, Subject};
use crate::ids::{BlobId, CommitId};
use crate::ledger::record::{By, Evidence};
use crate::ledger::state::State;
use crate::policy::{Check, MadeBy, Policy};

/// What a source of evidence came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    pub evidence: Vec<Evidence>,
    pub findings: Vec<Finding>,
}

impl Heard {
    pub fn failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.blocks() && !finding.waiting)
    }

    pub fn passed(&self) -> bool {
        !self.findings.iter().any(Finding::blocks)
    }
}

/// The checks that policy names, on this head.
pub fn checks(
    rule: &str,
    policy: &Policy,
    head: &CommitId,
    runs: &[CheckRun],
    subject: Option<&Subject>,
    accepted: &BTreeMap<String, BTreeSet<Option<BlobId>>>,
) -> Heard {
    let mut heard = Heard::default();
    if policy.gates.verify.checks.is_empty() {
        heard.findings.push(Finding::error(
            rule,
            "The policy names no check that could show that the change works.",
            "Name one under `gates.verify.checks` in .github/phasegate.yml on the default branch.",
        ));
    }
    for check in &policy.gates.verify.checks {
        one_check(rule, check, head, runs, subject, accepted, &mut heard);
    }
    heard
}

fn one_check(
    rule: &str,
    check: &Check,
    head: &CommitId,
    runs: &[CheckRun],
    subject: Option<&Subject>,
    accepted: &BTreeMap<String, BTreeSet<Option<BlobId>>>,
    heard: &mut Heard,
) {
    let mut counted = Vec::new();
    let mut discounts = BTreeSet::new();
    for run in runs.iter().filter(|run| run.name == check.name) {
        let discounted = discount(check, run, head, subject, accepted);
        heard.evidence.push(Evidence::Check {
            name: run.name.clone(),
            app: run.app,
            run: run.id,
            workflow_run: run.job_of.as_ref().map(|workflow| workflow.id),
            conclusion: run.conclusion.clone().unwrap_or_else(|| "running".to_owned()),
            head: head.clone(),
            discounted: discounted.clone(),
        });
        match discounted {
            None => counted.push(run),
            Some(why) => drop(discounts.insert(why)),
        }
    }
    let name = &check.name;
    let pending = counted.iter().any(|run| run.conclusion.is_none());
    let bad: BTreeSet<&str> = counted
        .iter()
        .filter_map(|run| run.conclusion.as_deref())
        .filter(|conclusion| *conclusion != "success")
        .collect();
    if let Some(conclusion) = bad.first() {
        let (says, next) = match *conclusion {
            "skipped" | "neutral" => (
                format!("`{name}` ended as {conclusion} on {}: it ran nothing, so it shows nothing.", head.short()),
                "Let it run for real on this head.".to_owned(),
            ),
            "cancelled" | "stale" => {
                (format!("`{name}` was {conclusion} on {}.", head.short()), "Run it again on this head.".to_owned())
            }
            _ => (
                format!("`{name}` ended as {conclusion} on {}.", head.short()),
                "Read its log, mend the change and push.".to_owned(),
            ),
        };
        heard.findings.push(Finding::error(rule, says, next));
    } else if pending {
        heard.findings.push(Finding::waiting(
            rule,
            format!("`{name}` is still running on {}.", head.short()),
            "Nothing to do: it is looked at again when it ends.",
        ));
    } else if counted.is_empty() {
        heard.findings.push(match discounts.first() {
            Some(why) => {
                Finding::error(rule, format!("`{name}` on {} does not count: {why}.", head.short()), remedy(check, why))
            }
            None => Finding::waiting(
                rule,
                format!("`{name}` has not run on {}.", head.short()),
                "It is looked at again when it has. If it never runs, check the workflow's triggers.",
            ),
        });
    }
}

const CHANGED_WORKFLOW: &str = "made by a changed workflow";

fn remedy(check: &Check, why: &str) -> String {
    if why.starts_with(CHANGED_WORKFLOW) {
        "Take the change to those files out or bring the branch up to date; or a maintainer who has read it says \
         /refreeze with a reason."
            .to_owned()
    } else {
        match check.made_by() {
            Some(MadeBy::Workflow(path)) => format!("Let a job of {path} make it."),
            Some(MadeBy::App(app)) => format!("Let the App with the id {app} make it."),
            None => "Say in the policy who makes it: `workflow` or `app`.".to_owned(),
        }
    }
}

/// Why a run does not count, if it does not.
fn discount(
    check: &Check,
    run: &CheckRun,
    head: &CommitId,
    subject: Option<&Subject>,
    accepted: &BTreeMap<String, BTreeSet<Option<BlobId>>>,
) -> Option<String> {
    match check.made_by()? {
        MadeBy::App(app) if run.app == app => None,
        MadeBy::App(app) => Some(format!("it comes from the App {}, not from {app}", run.app)),
        MadeBy::Workflow(_) if run.app != ACTIONS_APP => {
            Some(format!("it comes from the App {}, not from GitHub Actions", run.app))
        }
        MadeBy::Workflow(path) => match &run.job_of {
            None => Some("it is no job of a workflow run; anyone with write access can post such a check".to_owned()),
            Some(workflow) if workflow.path != path => Some(format!("it is a job of {}, not of {path}", workflow.path)),
            Some(workflow) if workflow.head != *head => {
                Some(format!("its workflow run was for {}", workflow.head.short()))
            }
            Some(_) => {
                let drift = subject.and_then(|subject| subject.drift.get(path));
                let Some(drift) = drift else {
                    return Some("it is not known whether its workflow is the default branch's own".to_owned());
                };
                let strange: Vec<&str> = drift
                    .iter()
                    .filter(|(path, blob)| !accepted.get(*path).is_some_and(|seen| seen.contains(*blob)))
                    .map(|(path, _)| path.as_str())
                    .collect();
                (!strange.is_empty())
                    .then(|| format!("{CHANGED_WORKFLOW} ({} not as on the default branch)", listed(&strange)))
            }
        },
    }
}

/// A few names, and how many more there are.
pub fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(3).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(3) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Approvals of this content by entitled people who are not operators, and who asks for changes.
pub fn reviews(policy: &Policy, state: &State, reviews: &[Review]) -> Approvals {
    let mut approvals = Approvals::default();
    let Some(about) = &state.subject else { return approvals };
    let operator = |id: u64| state.operators.iter().any(|person| person.id == id);

    // A person's newest review is the one that holds. Remarks without a verdict leave the earlier one standing.
    let mut latest: BTreeMap<u64, &Review> = BTreeMap::new();
    for review in reviews.iter().filter(|review| review.state != "COMMENTED" && review.state != "PENDING") {
        latest.insert(review.by.id, review);
    }
    for review in latest.into_values() {
        let of_commit = || review.commit.as_ref().and_then(|commit| state.heads.get(commit));
        let for_this = state.reviewed.get(&review.id).or_else(of_commit) == Some(&about.content);
        let self_approved = operator(review.by.id);
        let discounted = if review.state == "CHANGES_REQUESTED" {
            (!May::Move.allows(review.standing)).then(|| "they have no write access".to_owned())
        } else if review.state != "APPROVED" {
            Some("it was dismissed".to_owned())
        } else if review.by.bot {
            Some("bots never approve".to_owned())
        } else if !May::Approve.allows(review.standing) {
            Some(format!("their role is {}; approving is for {}", review.standing.role.as_str(), May::Approve.who()))
        } else if self_approved && !policy.people.solo {
            Some("they wrote or pushed to this change".to_owned())
        } else if !for_this {
            Some("it is for other content than this".to_owned())
        } else {
            None
        };
        match (&discounted, review.state.as_str()) {
            (None, "CHANGES_REQUESTED") => approvals.against.push(review.by.login.clone()),
            (None, _) => approvals.count(&review.by.login),
            (Some(why), "APPROVED") => {
                approvals.discounted.push((review.by.login.clone(), why.clone()));
            }
            _ => {}
        }
        approvals.evidence.push(Evidence::Review {
            by: review.by.clone(),
            role: review.standing.role.as_str().to_owned(),
            review: Some(review.id),
            commit: review.commit.clone().unwrap_or_else(|| about.head.clone()),
            state: review.state.clone(),
            self_approved: self_approved && discounted.is_none(),
            discounted,
        });
    }
    for approval in state.approvals.iter().filter(|approval| approval.content == about.content) {
        let By::Person { person, role } = &approval.by else { continue };
        // They may have pushed since.
        let late_operator = operator(person.id) && !approval.self_approved;
        approvals.evidence.push(Evidence::Review {
            by: person.clone(),
            role: role.clone(),
            review: None,
            commit: approval.head.clone(),
            state: "APPROVED".to_owned(),
            self_approved: approval.self_approved,
            discounted: late_operator.then(|| "they wrote or pushed to this change".to_owned()),
        });
        if late_operator {
            approvals.discounted.push((person.login.clone(), "they wrote or pushed to this change".to_owned()));
        } else {
            approvals.count(&person.login);
        }
    }
    approvals
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    pub evidence: Vec<Evidence>,
    /// Logins of those whose approval counts.
    pub by: BTreeSet<String>,
    /// Logins of those who ask for changes.
    pub against: Vec<String>,
    /// Approvals that do not count, and why.
    pub discounted: Vec<(String, String)>,
}

impl Approvals {
    fn count(&mut self, login: &str) {
        self.by.insert(login.to_owned());
    }

    /// Says who approved in vain, for a finding.
    pub fn in_vain(&self) -> String {
        self.discounted.iter().map(|(who, why)| format!(" `{who}`'s approval does not count: {why}.")).collect()
    }
}
