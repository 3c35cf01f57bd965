//! What workflow runs leave behind. Nothing runs here, so it is told what that is ([`Admin::artifact`]).
//!
//! As at GitHub the bytes lie elsewhere, under an address that says by itself who may have them: whoever comes there with a
//! token of the API too is sent away.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::http::{Incoming, Outgoing};
use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;
use super::super::view::node;
use super::super::{Admin, Result};
use crate::ids::Digest;

const READ: Access = Access::Repo(&[("actions", Level::Read)], Role::Read);

/// Where the bytes lie.
pub(crate) const ROOT: &str = "/_artifacts/";

/// So long they are kept, in days.
const KEPT_DAYS: i64 = 90;

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}/actions/runs/{id}/artifacts", access: READ, run: of_run },
    Route { method: "GET", path: "/repos/{owner}/{repo}/actions/artifacts/{id}/zip", access: READ, run: zip },
];

fn of_run(state: &mut State, call: &Call) -> Answer {
    let (repo, id) = (state.repo(call.repo)?, call.number("id"));
    let run = repo.workflow_runs.get(&id).ok_or_else(Problem::not_found)?;
    let fits = |one: &&Artifact| one.run == id && call.query("name").is_none_or(|name| name == one.name);
    // Newest first.
    let found = repo.artifacts.values().rev().filter(fits);
    Ok(Reply::Counted("artifacts", found.map(|one| told(state, repo, run, one)).collect()))
}

fn told(state: &State, repo: &Repo, run: &WorkflowRun, one: &Artifact) -> Value {
    let url = format!("{}/actions/artifacts/{}", state.repo_api(repo), one.id);
    let mut told = json!({
        "id": one.id, "node_id": node("A", one.id), "name": one.name, "size_in_bytes": one.bytes.len(), "url": url,
        "archive_download_url": format!("{url}/zip"), "expired": one.expired, "created_at": one.created_at,
        "updated_at": one.created_at, "expires_at": one.created_at + jiff::SignedDuration::from_hours(24 * KEPT_DAYS),
        "digest": format!("sha256:{}", Digest::of(&one.bytes)),
        "workflow_run": {
            "id": run.id, "repository_id": repo.id, "head_repository_id": run.head_repo,
            "head_branch": run.head_branch, "head_sha": run.head_sha,
        },
    });
    for (at, value) in &one.bent {
        if let Some(place) = told.pointer_mut(at) {
            *place = value.clone();
        }
    }
    told
}

fn zip(state: &mut State, call: &Call) -> Answer {
    let one = state.repo(call.repo)?.artifacts.get(&call.number("id")).ok_or_else(Problem::not_found)?;
    if one.expired {
        return Err(Problem::new(410, "Artifact has expired"));
    }
    // Another host, as far as there is one on this machine.
    let base = state.base.replace("//127.0.0.1:", "//localhost:");
    Ok(Reply::Elsewhere(format!("{base}{ROOT}{}?sig={}", one.id, one.key)))
}

impl State {
    /// Answers below [`ROOT`].
    pub(crate) fn serve_artifact(&self, incoming: &Incoming) -> Outgoing {
        let id = incoming.path.strip_prefix(ROOT).and_then(|id| id.parse::<u64>().ok());
        let kept = self.repos.values().find_map(|repo| repo.artifacts.get(&id?));
        let signed = kept.filter(|one| incoming.query == format!("sig={}", one.key));
        match signed {
            Some(one) if incoming.header("authorization").is_none() => {
                Outgoing::bytes("application/zip", one.bytes.to_vec())
            }
            _ => Outgoing::json(403, &json!({ "message": "Server failed to authenticate the request." })),
        }
    }
}

impl Admin {
    /// A workflow run leaves these bytes, packed or not. Answers the artefact's id.
    pub fn artifact(&self, repo: &str, run: u64, name: &str, bytes: &[u8]) -> Result<u64> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        state.repo(repo)?.workflow_runs.get(&run).ok_or_else(Problem::not_found)?;
        let (id, created_at) = (state.new_id(), state.tick());
        let one = Artifact {
            id,
            run,
            name: name.to_owned(),
            bytes: Arc::from(bytes),
            key: uuid::Uuid::new_v4().simple().to_string(),
            expired: false,
            created_at,
            bent: Vec::new(),
        };
        state.repo_mut(repo)?.artifacts.insert(id, one);
        Ok(id)
    }

    /// Its time is over.
    pub fn expire_artifact(&self, repo: &str, id: u64) -> Result<()> {
        self.artifact_mut(repo, id, |one| one.expired = true)
    }

    /// From now on the API tells something else of it, at this place.
    pub fn bend_artifact(&self, repo: &str, id: u64, at: &str, value: Value) -> Result<()> {
        self.artifact_mut(repo, id, |one| one.bent.push((at.to_owned(), value)))
    }

    fn artifact_mut(&self, repo: &str, id: u64, change: impl FnOnce(&mut Artifact)) -> Result<()> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        change(state.repo_mut(repo)?.artifacts.get_mut(&id).ok_or_else(Problem::not_found)?);
        Ok(())
    }
}
