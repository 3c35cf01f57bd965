//! Workflow runs, their jobs, and deployments.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::{ghost, someone, text};
use crate::github::{Repo, Result};
use crate::ids::{CommitId, Person};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WorkflowRun {
    pub id: u64,
    #[serde(default, deserialize_with = "text")]
    pub name: String,
    /// What its workflow's `run-name` makes of it.
    #[serde(default, deserialize_with = "text")]
    pub display_title: String,
    /// The workflow's file in the repository, with `@ref` on some servers.
    #[serde(default, deserialize_with = "text")]
    pub path: String,
    pub head_sha: CommitId,
    pub head_branch: Option<String>,
    /// None when the fork was deleted.
    pub head_repository: Option<HeadRepository>,
    pub repository: Option<HeadRepository>,
    /// What started it: `pull_request`, `push`, …
    #[serde(default)]
    pub event: String,
    #[serde(default, deserialize_with = "text")]
    pub status: String,
    pub conclusion: Option<String>,
    pub check_suite_id: Option<u64>,
    #[serde(default)]
    pub run_attempt: u64,
    pub workflow_id: Option<u64>,
    #[serde(default = "ghost", deserialize_with = "someone")]
    pub actor: Person,
    pub created_at: Option<Timestamp>,
    pub run_started_at: Option<Timestamp>,
    #[serde(default)]
    pub html_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HeadRepository {
    pub id: u64,
}

/// What a run has left.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Artifact {
    pub id: u64,
    pub name: String,
    pub size_in_bytes: u64,
    pub expired: bool,
    pub created_at: Option<Timestamp>,
    /// `sha256:…` of its archive, where the upload has told it.
    #[serde(default)]
    pub digest: Option<String>,
    pub workflow_run: Option<LeftBy>,
}

/// The run that has left it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LeftBy {
    pub id: u64,
    pub repository_id: u64,
    pub head_repository_id: u64,
    pub head_branch: Option<String>,
    pub head_sha: CommitId,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Job {
    pub id: u64,
    pub run_id: u64,
    #[serde(default)]
    pub run_attempt: u64,
    pub name: String,
    pub status: String,
    pub conclusion: Option<String>,
    pub head_sha: Option<CommitId>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "text")]
    pub html_url: String,
    #[serde(default)]
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Step {
    pub name: String,
    #[serde(default)]
    pub status: String,
    pub conclusion: Option<String>,
    #[serde(default)]
    pub number: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Deployment {
    pub id: u64,
    pub sha: CommitId,
    #[serde(default)]
    pub environment: String,
    #[serde(default, deserialize_with = "text")]
    pub task: String,
    #[serde(default = "ghost", deserialize_with = "someone")]
    pub creator: Person,
    pub created_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DeploymentStatus {
    pub id: u64,
    /// `success`, `failure`, `error`, `inactive`, `in_progress`, `queued` or `pending`.
    pub state: String,
    #[serde(default, deserialize_with = "text")]
    pub environment: String,
    #[serde(default, deserialize_with = "text")]
    pub environment_url: String,
    #[serde(default, deserialize_with = "text")]
    pub target_url: String,
    #[serde(default = "ghost", deserialize_with = "someone")]
    pub creator: Person,
    pub created_at: Option<Timestamp>,
}

impl Repo {
    /// The workflow runs on a commit. What a run and its jobs came to is told by Actions alone; their check runs can be
    /// written over. None: this GitHub does not tell.
    pub async fn workflow_runs_on(&self, commit: &CommitId) -> Result<Option<Vec<WorkflowRun>>> {
        let request = self.get("/repos/{owner}/{repo}/actions/runs", &[])?.query("head_sha", commit.as_str());
        let mut runs: Option<Vec<WorkflowRun>> = self.list_if_any(request, Some("workflow_runs")).await?;
        // Not every stand-in filters by it.
        runs.iter_mut().for_each(|runs| runs.retain(|run| run.head_sha == *commit));
        Ok(runs)
    }

    /// Runs of a workflow that such an event started, the newest hundred.
    pub async fn runs_of(&self, file: &str, event: &str) -> Result<Vec<WorkflowRun>> {
        #[derive(Deserialize)]
        struct Page {
            workflow_runs: Vec<WorkflowRun>,
        }
        let request = self.get("/repos/{owner}/{repo}/actions/workflows/{workflow}/runs", &[file])?;
        let request = request.query("event", event).query("per_page", "100");
        Ok(self.fetch::<Page>(request).await?.workflow_runs)
    }

    /// Asks a workflow to run the file of this branch. GitHub does not say which run that becomes.
    pub async fn dispatch(&self, file: &str, branch: &str, inputs: &BTreeMap<&str, String>) -> Result<()> {
        let route = "/repos/{owner}/{repo}/actions/workflows/{workflow}/dispatches";
        let request = self.request(Method::POST, route, &[file])?.body(json!({ "ref": branch, "inputs": inputs }));
        self.call(&request).await.map(drop)
    }

    pub async fn workflow_run(&self, run: u64) -> Result<WorkflowRun> {
        self.fetch(self.get("/repos/{owner}/{repo}/actions/runs/{run}", &[&run.to_string()])?).await
    }

    /// What a run has left under a name, in all its attempts.
    pub async fn artifacts(&self, run: u64, name: &str) -> Result<Vec<Artifact>> {
        let request = self.get("/repos/{owner}/{repo}/actions/runs/{run}/artifacts", &[&run.to_string()])?;
        let mut all: Vec<Artifact> = self.list(request.query("name", name), Some("artifacts")).await?;
        // Not every server filters by it.
        all.retain(|one| one.name == name);
        Ok(all)
    }

    /// An artefact's archive, of so many bytes at most.
    pub async fn artifact_zip(&self, artifact: u64, most: usize) -> Result<Bytes> {
        let route = "/repos/{owner}/{repo}/actions/artifacts/{artifact}/zip";
        let request = self.get(route, &[&artifact.to_string()])?.may_lie_elsewhere(most);
        Ok(self.call(&request).await?.body)
    }

    /// The jobs of all attempts: a green rerun does not hide the reds before it.
    pub async fn jobs(&self, run: u64) -> Result<Vec<Job>> {
        let request = self.get("/repos/{owner}/{repo}/actions/runs/{run}/jobs", &[&run.to_string()])?;
        self.list(request.query("filter", "all"), Some("jobs")).await
    }

    /// None: this GitHub does not tell.
    pub async fn deployments(&self, commit: &CommitId, environment: Option<&str>) -> Result<Option<Vec<Deployment>>> {
        let mut request = self.get("/repos/{owner}/{repo}/deployments", &[])?.query("sha", commit.as_str());
        if let Some(environment) = environment {
            request = request.query("environment", environment);
        }
        self.list_if_any(request, None).await
    }

    /// A deployment's statuses, newest first.
    pub async fn deployment_statuses(&self, deployment: u64) -> Result<Vec<DeploymentStatus>> {
        let route = "/repos/{owner}/{repo}/deployments/{deployment}/statuses";
        self.list(self.get(route, &[&deployment.to_string()])?, None).await
    }
}
