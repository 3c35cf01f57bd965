//! Repositories, their branches, commits and rules, and dispatches to them.

use git2::Oid;
use serde_json::{Value, json};

use super::super::auth::Actor;
use super::super::git::Git;
use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::state::State;

const METADATA: Access = Access::Repo(&[("metadata", Level::Read)], Role::Read);
const CONTENTS: Access = Access::Repo(&[("contents", Level::Read)], Role::Read);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}", access: METADATA, run: get },
    Route { method: "GET", path: "/repositories/{id}", access: METADATA, run: get },
    Route { method: "GET", path: "/repos/{owner}/{repo}/branches", access: CONTENTS, run: branches },
    Route { method: "GET", path: "/repos/{owner}/{repo}/branches/{branch*}", access: CONTENTS, run: branch },
    Route { method: "GET", path: "/repos/{owner}/{repo}/commits", access: CONTENTS, run: commits },
    Route { method: "GET", path: "/repos/{owner}/{repo}/commits/{ref*}", access: CONTENTS, run: commit },
    Route {
        method: "GET",
        path: "/repos/{owner}/{repo}/commits/{ref*}/pulls",
        access: Access::Repo(&[("pull_requests", Level::Read)], Role::Read),
        run: commit_pulls,
    },
    Route { method: "GET", path: "/repos/{owner}/{repo}/compare/{basehead*}", access: CONTENTS, run: compare },
    Route { method: "GET", path: "/repos/{owner}/{repo}/rules/branches/{branch*}", access: METADATA, run: rules },
    Route { method: "GET", path: "/repos/{owner}/{repo}/rulesets", access: METADATA, run: rulesets },
    Route { method: "GET", path: "/repos/{owner}/{repo}/rulesets/{id}", access: METADATA, run: ruleset },
    Route {
        method: "POST",
        path: "/repos/{owner}/{repo}/dispatches",
        access: Access::Repo(&[("contents", Level::Write)], Role::Write),
        run: dispatch,
    },
];

fn get(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let role = match &call.actor {
        Actor::User(account) => Some(state.role(repo, account.id)),
        _ => None,
    };
    Ok(Reply::Ok(state.full_repo_json(repo, role)))
}

fn branch_json(state: &State, repo: &Repo, git: &Git, name: &str, tip: Oid) -> Result<Value, Problem> {
    let refname = format!("refs/heads/{name}");
    let protected = state.rulesets_for(repo, &refname, None).next().is_some();
    let url = format!("{}/branches/{name}", state.repo_api(repo));
    Ok(json!({
        "name": name, "commit": state.commit_json(repo, git, tip)?, "protected": protected,
        "protection": {
            "enabled": protected,
            "required_status_checks": {"enforcement_level": "off", "contexts": [], "checks": []},
        },
        "protection_url": format!("{url}/protection"),
        "_links": {"self": url, "html": format!("{}/tree/{name}", state.repo_html(repo))},
    }))
}

fn branches(state: &mut State, call: &Call) -> Answer {
    let (repo, git) = (state.repo(call.repo)?, state.git(call.repo)?);
    let mut list = Vec::new();
    for reference in git.0.references_glob("refs/heads/*")? {
        let reference = reference?;
        let Some((name, tip)) =
            reference.name().ok().and_then(|n| n.strip_prefix("refs/heads/")).zip(reference.target())
        else {
            continue;
        };
        let url = format!("{}/commits/{tip}", state.repo_api(repo));
        let protected = state.rulesets_for(repo, &format!("refs/heads/{name}"), None).next().is_some();
        list.push(json!({"name": name, "commit": {"sha": tip.to_string(), "url": url}, "protected": protected}));
    }
    Ok(Reply::List(list))
}

fn branch(state: &mut State, call: &Call) -> Answer {
    let (repo, git, name) = (state.repo(call.repo)?, state.git(call.repo)?, call.param("branch"));
    let tip = git.branch(name).ok_or_else(|| Problem::new(404, "Branch not found"))?;
    Ok(Reply::Ok(branch_json(state, repo, &git, name, tip)?))
}

/// GitHub answers an unknown ref of a commit call with 422, not 404.
pub(crate) fn commit_of(git: &Git, rev: &str) -> Result<Oid, Problem> {
    git.resolve(rev).ok_or_else(|| Problem::invalid(format!("No commit found for SHA: {rev}")))
}

fn commits(state: &mut State, call: &Call) -> Answer {
    let (repo, git) = (state.repo(call.repo)?, state.git(call.repo)?);
    let start = commit_of(&git, call.query("sha").unwrap_or(&repo.default_branch))?;
    let mut list = Vec::new();
    for id in git.commits_between(None, start)?.into_iter().rev() {
        list.push(state.commit_json(repo, &git, id)?);
    }
    Ok(Reply::List(list))
}

fn commit(state: &mut State, call: &Call) -> Answer {
    let (repo, git) = (state.repo(call.repo)?, state.git(call.repo)?);
    let id = commit_of(&git, call.param("ref"))?;
    if call.accept.contains("vnd.github.sha") {
        return Ok(Reply::Raw(id.to_string().into_bytes()));
    }
    let mut value = state.commit_json(repo, &git, id)?;
    let files = git.diff(git.0.find_commit(id)?.parent_ids().next(), id)?;
    let (added, deleted): (usize, usize) =
        files.iter().fold((0, 0), |(a, d), file| (a + file.additions, d + file.deletions));
    value["stats"] = json!({"total": added + deleted, "additions": added, "deletions": deleted});
    value["files"] = files.iter().map(|file| state.file_json(repo, id, file)).collect();
    Ok(Reply::Ok(value))
}

/// The open pull requests that have the commit, and the merged ones that brought it.
fn commit_pulls(state: &mut State, call: &Call) -> Answer {
    let (repo, git) = (state.repo(call.repo)?, state.git(call.repo)?);
    let id = commit_of(&git, call.param("ref"))?;
    let on_default = git.branch(&repo.default_branch).is_some_and(|tip| git.is_ancestor(id, tip));
    let mut list = Vec::new();
    for issue in repo.issues.values() {
        let Some(pull) = &issue.pull else { continue };
        let (Ok(head), Ok(base)) = (Oid::from_str(&pull.head_sha), Oid::from_str(&pull.base_sha)) else { continue };
        // Of a head in a fork the repository itself has no branch, and it is not told.
        if pull.head_repo != call.repo && issue.open {
            continue;
        }
        let within = git.is_ancestor(id, head) && !git.is_ancestor(id, base);
        let brought = pull.merge_commit_sha.as_deref() == Some(&id.to_string());
        if (within && (issue.open || pull.merged_at.is_some())) || (on_default && brought) {
            list.push(state.pull_json(repo, issue)?);
        }
    }
    Ok(Reply::List(list))
}

fn compare(state: &mut State, call: &Call) -> Answer {
    let (repo, git) = (state.repo(call.repo)?, state.git(call.repo)?);
    let spec = call.param("basehead");
    let (base, head) = spec.split_once("...").ok_or_else(Problem::not_found)?;
    let plain = |rev: &str| rev.split_once(':').map_or(rev, |(_, branch)| branch).to_owned();
    let base = git.resolve(&plain(base)).ok_or_else(Problem::not_found)?;
    let head = git.resolve(&plain(head)).ok_or_else(Problem::not_found)?;
    let fork =
        git.merge_base(base, head).ok_or_else(|| Problem::new(404, "No common ancestor between the two commits."))?;
    let (ahead, behind) = git.0.graph_ahead_behind(head, base)?;
    let status = match (ahead, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let mut commits = Vec::new();
    for id in git.commits_between(Some(base), head)? {
        commits.push(state.commit_json(repo, &git, id)?);
    }
    // GitHub lists at most 300 files of a comparison.
    let files = git.diff(Some(fork), head)?;
    let files: Vec<_> = files.iter().take(300).map(|file| state.file_json(repo, head, file)).collect();
    let (url, html) =
        (format!("{}/compare/{spec}", state.repo_api(repo)), format!("{}/compare/{spec}", state.repo_html(repo)));
    Ok(Reply::Ok(json!({
        "url": url, "html_url": html, "permalink_url": html, "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"), "base_commit": state.commit_json(repo, &git, base)?,
        "merge_base_commit": state.commit_json(repo, &git, fork)?, "status": status, "ahead_by": ahead,
        "behind_by": behind, "total_commits": commits.len(), "commits": commits, "files": files,
    })))
}

fn rules(state: &mut State, call: &Call) -> Answer {
    Ok(Reply::List(state.rules_json(state.repo(call.repo)?, call.param("branch"))))
}

fn rulesets(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    Ok(Reply::List(repo.rulesets.values().map(|one| state.ruleset_json(repo, one)).collect()))
}

fn ruleset(state: &mut State, call: &Call) -> Answer {
    let repo = state.repo(call.repo)?;
    let one = repo.rulesets.get(&call.number("id")).ok_or_else(Problem::not_found)?;
    Ok(Reply::Ok(state.ruleset_json(repo, one)))
}

fn dispatch(state: &mut State, call: &Call) -> Answer {
    let event_type = call.required("RepositoryDispatch", "event_type")?.to_owned();
    let sender = call.account()?;
    let payload = call.body.get("client_payload").cloned().unwrap_or(Value::Null);
    let at = state.now();
    state.repo_mut(call.repo)?.dispatches.push(Dispatch {
        run: None,
        workflow: None,
        event_type: Some(event_type),
        reference: None,
        inputs: payload,
        sender,
        at,
    });
    Ok(Reply::NoContent)
}
