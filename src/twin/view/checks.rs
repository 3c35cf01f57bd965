//! Checks, workflow runs, statuses and deployments as GitHub's JSON.

use serde_json::{Value, json};

use super::super::model::*;
use super::super::state::State;
use super::{merge, node};

/// The worst conclusion of a suite's runs decides the suite's.
fn worst(conclusions: &[&str]) -> &'static str {
    const ORDER: &[&str] =
        &["action_required", "timed_out", "failure", "startup_failure", "cancelled", "stale", "success", "neutral"];
    ORDER.iter().find(|one| conclusions.contains(one)).copied().unwrap_or("skipped")
}

impl State {
    /// Status and conclusion of a suite, from the newest run of each name.
    pub(crate) fn suite_outcome(repo: &Repo, suite: &CheckSuite) -> (&'static str, Option<&'static str>) {
        let runs = latest(repo.check_runs.values().filter(|run| run.suite == suite.id));
        if runs.is_empty() {
            return ("queued", None);
        }
        if runs.iter().all(|run| run.status == "completed") {
            let conclusions: Vec<_> = runs.iter().filter_map(|run| run.conclusion.as_deref()).collect();
            return ("completed", Some(worst(&conclusions)));
        }
        let started = runs.iter().any(|run| run.status != "queued");
        (if started { "in_progress" } else { "queued" }, None)
    }

    /// The pull requests a check is shown on. Empty for heads in forks, as on GitHub.
    fn check_pulls(&self, repo: &Repo, sha: &str) -> Vec<Value> {
        let brief = |repo: &Repo| json!({"id": repo.id, "url": self.repo_api(repo), "name": repo.name});
        repo.pulls_at(sha)
            .filter(|(_, pull)| pull.head_repo == repo.id)
            .map(|(issue, pull)| {
                json!({
                    "url": format!("{}/pulls/{}", self.repo_api(repo), issue.number), "id": pull.id,
                    "number": issue.number,
                    "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": brief(repo)},
                    "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": brief(repo)},
                })
            })
            .collect()
    }

    pub(crate) fn check_run_json(&self, repo: &Repo, run: &CheckRun) -> Value {
        let url = format!("{}/check-runs/{}", self.repo_api(repo), run.id);
        let html = format!("{}/runs/{}", self.repo_html(repo), run.id);
        json!({
            "id": run.id, "name": run.name, "node_id": node("CR", run.id), "head_sha": run.head_sha,
            "external_id": run.external_id.clone().unwrap_or_default(), "url": url, "html_url": html,
            "details_url": run.details_url.clone().unwrap_or(html.clone()), "status": run.status,
            "conclusion": run.conclusion, "started_at": run.started_at, "completed_at": run.completed_at,
            "output": {
                "title": run.title, "summary": run.summary, "text": run.text,
                "annotations_count": run.annotations.len(), "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": {"id": run.suite}, "app": self.apps.get(&run.app).map(|app| self.app_json(app)),
            "pull_requests": self.check_pulls(repo, &run.head_sha),
        })
    }

    /// A suite as its runs tell it in a webhook.
    pub(crate) fn brief_suite_json(&self, repo: &Repo, suite: &CheckSuite) -> Value {
        let (status, conclusion) = Self::suite_outcome(repo, suite);
        json!({
            "id": suite.id, "node_id": node("CS", suite.id), "head_branch": suite.head_branch,
            "head_sha": suite.head_sha, "status": status, "conclusion": conclusion,
            "url": format!("{}/check-suites/{}", self.repo_api(repo), suite.id), "before": null,
            "after": suite.head_sha, "pull_requests": self.check_pulls(repo, &suite.head_sha),
            "app": self.apps.get(&suite.app).map(|app| self.app_json(app)), "created_at": suite.created_at,
            "updated_at": suite.updated_at,
        })
    }

    pub(crate) fn suite_json(&self, repo: &Repo, suite: &CheckSuite) -> Value {
        let mut value = self.brief_suite_json(repo, suite);
        let more = json!({
            "rerequestable": true, "runs_rerequestable": true,
            "latest_check_runs_count": repo.check_runs.values().filter(|run| run.suite == suite.id).count(),
            "check_runs_url": format!("{}/check-suites/{}/check-runs", self.repo_api(repo), suite.id),
            "head_commit": self.head_commit(repo, &suite.head_sha),
        });
        merge(&mut value, more);
        value
    }

    fn head_commit(&self, repo: &Repo, sha: &str) -> Value {
        let read = || {
            let git = self.git(repo.id).ok()?;
            self.simple_commit_json(&git, git2::Oid::from_str(sha).ok()?).ok()
        };
        read().unwrap_or(Value::Null)
    }

    pub(crate) fn workflow_run_json(&self, repo: &Repo, run: &WorkflowRun) -> Value {
        let (api, html) = (self.repo_api(repo), self.repo_html(repo));
        let url = format!("{api}/actions/runs/{}", run.id);
        json!({
            "id": run.id, "name": run.name, "node_id": node("WFR", run.id), "check_suite_id": run.suite,
            "check_suite_node_id": node("CS", run.suite), "head_branch": run.head_branch, "head_sha": run.head_sha,
            "path": run.path, "run_number": run.run_number, "run_attempt": run.attempt, "event": run.event,
            "display_title": run.title, "status": run.status, "conclusion": run.conclusion,
            "workflow_id": run.workflow, "url": url, "html_url": format!("{html}/actions/runs/{}", run.id),
            "pull_requests": self.check_pulls(repo, &run.head_sha), "created_at": run.created_at,
            "updated_at": run.updated_at, "run_started_at": run.started_at, "actor": self.user_json(&run.actor),
            "triggering_actor": self.user_json(&run.actor), "jobs_url": format!("{url}/jobs"),
            "logs_url": format!("{url}/logs"), "check_suite_url": format!("{api}/check-suites/{}", run.suite),
            "artifacts_url": format!("{url}/artifacts"), "cancel_url": format!("{url}/cancel"),
            "rerun_url": format!("{url}/rerun"), "previous_attempt_url": null,
            "workflow_url": format!("{api}/actions/workflows/{}", run.workflow),
            "head_commit": self.head_commit(repo, &run.head_sha), "repository": self.brief_repo_json(repo),
            "head_repository": self.repos.get(&run.head_repo).map(|head| self.brief_repo_json(head)),
            "referenced_workflows": [],
        })
    }

    pub(crate) fn job_json(&self, repo: &Repo, workflow: &WorkflowRun, (id, job): (&u64, &Job)) -> Value {
        let (api, html) = (self.repo_api(repo), self.repo_html(repo));
        json!({
            "id": id, "run_id": workflow.id, "run_url": format!("{api}/actions/runs/{}", workflow.id),
            "run_attempt": job.attempt, "node_id": node("CR", *id), "head_sha": workflow.head_sha,
            "url": format!("{api}/actions/jobs/{id}"),
            "html_url": format!("{html}/actions/runs/{}/job/{id}", workflow.id), "status": job.status,
            "conclusion": job.conclusion, "created_at": job.started_at, "started_at": job.started_at,
            "completed_at": job.completed_at, "name": job.name, "steps": [],
            "check_run_url": format!("{api}/check-runs/{id}"), "labels": ["ubuntu-latest"], "runner_id": 1,
            "runner_name": "GitHub Actions 1", "runner_group_id": 1, "runner_group_name": "GitHub Actions",
            "workflow_name": workflow.name, "head_branch": workflow.head_branch,
        })
    }

    pub(crate) fn status_json(&self, repo: &Repo, status: &CommitStatus) -> Value {
        json!({
            "url": format!("{}/statuses/{}", self.repo_api(repo), status.sha),
            "avatar_url": format!("{}/avatars/{}", self.base, status.creator.id), "id": status.id,
            "node_id": node("SC", status.id), "state": status.state, "description": status.description,
            "target_url": status.target_url, "context": status.context, "created_at": status.created_at,
            "updated_at": status.created_at, "creator": self.user_json(&status.creator),
        })
    }

    pub(crate) fn deployment_json(&self, repo: &Repo, one: &Deployment) -> Value {
        let api = self.repo_api(repo);
        let url = format!("{api}/deployments/{}", one.id);
        let updated = one.statuses.last().map_or(one.created_at, |status| status.created_at);
        json!({
            "url": url, "id": one.id, "node_id": node("DE", one.id), "sha": one.sha, "ref": one.reference,
            "task": one.task, "payload": one.payload, "original_environment": one.environment,
            "environment": one.environment, "description": one.description, "creator": self.user_json(&one.creator),
            "created_at": one.created_at, "updated_at": updated, "statuses_url": format!("{url}/statuses"),
            "repository_url": api, "transient_environment": false, "production_environment": false,
        })
    }

    pub(crate) fn deployment_status_json(&self, repo: &Repo, one: &Deployment, status: &DeploymentStatus) -> Value {
        let api = self.repo_api(repo);
        let url = format!("{api}/deployments/{}", one.id);
        json!({
            "url": format!("{url}/statuses/{}", status.id), "id": status.id, "node_id": node("DES", status.id),
            "state": status.state, "creator": self.user_json(&status.creator), "description": status.description,
            "environment": status.environment, "environment_url": status.environment_url,
            "log_url": status.log_url, "target_url": status.log_url, "created_at": status.created_at,
            "updated_at": status.created_at, "deployment_url": url, "repository_url": api,
        })
    }
}

/// Of runs of the same App and name in one suite, the newest. This is GitHub's `filter=latest`.
pub(crate) fn latest<'a>(runs: impl Iterator<Item = &'a CheckRun>) -> Vec<&'a CheckRun> {
    let mut kept: Vec<&CheckRun> = Vec::new();
    for run in runs {
        match kept.iter_mut().find(|old| old.suite == run.suite && old.name == run.name) {
            Some(old) if old.id < run.id => *old = run,
            Some(_) => {}
            None => kept.push(run),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_spoils_a_suite() {
        assert_eq!(worst(&["success", "failure", "skipped"]), "failure");
        assert_eq!(worst(&["skipped", "success"]), "success");
        assert_eq!(worst(&["skipped"]), "skipped");
    }
}
