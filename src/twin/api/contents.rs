//! Files: read one or a folder at a revision, write one as a commit.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use git2::{ObjectType, Oid};
use serde_json::{Value, json};

use super::super::git::Git;
use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::rules::Move;
use super::super::state::State;
use super::super::view::base64_lines;

const READ: Access = Access::Repo(&[("contents", Level::Read)], Role::Read);
const WRITE: Access = Access::Repo(&[("contents", Level::Write)], Role::Write);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}/contents", access: READ, run: get },
    Route { method: "GET", path: "/repos/{owner}/{repo}/contents/{path*}", access: READ, run: get },
    Route { method: "PUT", path: "/repos/{owner}/{repo}/contents/{path*}", access: WRITE, run: put },
    Route { method: "DELETE", path: "/repos/{owner}/{repo}/contents/{path*}", access: WRITE, run: delete },
];

/// The name and address that a commit of this account carries.
pub(crate) fn identity(account: &Account) -> (String, String) {
    (account.login.clone(), format!("{}+{}@users.noreply.github.com", account.id, account.login))
}

fn entry_json(state: &State, repo: &Repo, rev: &str, path: &str, id: Oid, kind: &str, size: usize) -> Value {
    let (api, html) = (state.repo_api(repo), state.repo_html(repo));
    let url = format!("{api}/contents/{path}?ref={rev}");
    let (object, page) = match kind {
        "dir" => (format!("{api}/git/trees/{id}"), format!("{html}/tree/{rev}/{path}")),
        _ => (format!("{api}/git/blobs/{id}"), format!("{html}/blob/{rev}/{path}")),
    };
    json!({
        "name": path.rsplit('/').next().unwrap_or(path), "path": path, "sha": id.to_string(), "size": size,
        "url": url, "html_url": page, "git_url": object,
        "download_url": (kind != "dir").then(|| format!("{html}/raw/{rev}/{path}")), "type": kind,
        "_links": {"self": url, "git": object, "html": page},
    })
}

fn kind_of(kind: Option<ObjectType>, mode: i32) -> &'static str {
    match (kind, mode) {
        (Some(ObjectType::Tree), _) => "dir",
        (Some(ObjectType::Commit), _) => "submodule",
        (_, 0o120000) => "symlink",
        _ => "file",
    }
}

fn get(state: &mut State, call: &Call) -> Answer {
    let (repo, git) = (state.repo(call.repo)?, state.git(call.repo)?);
    let rev = call.query("ref").unwrap_or(&repo.default_branch);
    let commit = git.resolve(rev).ok_or_else(|| Problem::new(404, format!("No commit found for the ref {rev}")))?;
    let path = call.param("path").trim_matches('/');
    let (id, kind, mode) = git.entry(commit, path).ok_or_else(Problem::not_found)?;
    let raw = call.accept.contains(".raw");
    if kind == ObjectType::Tree {
        let mut list = Vec::new();
        for entry in git.0.find_tree(id)?.iter() {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            let below = if path.is_empty() { name } else { format!("{path}/{name}") };
            let size = git.0.find_blob(entry.id()).map(|blob| blob.size()).unwrap_or(0);
            let kind = kind_of(entry.kind(), entry.filemode());
            list.push(entry_json(state, repo, rev, &below, entry.id(), kind, size));
        }
        // A folder is answered whole: the contents call has no pages.
        return Ok(Reply::Ok(list.into()));
    }
    let blob = git.0.find_blob(id)?;
    if raw {
        return Ok(Reply::Raw(blob.content().to_vec()));
    }
    let mut value = entry_json(state, repo, rev, path, id, kind_of(Some(kind), mode), blob.size());
    // Above 1 MB the content is left out; the raw form still gives it.
    let fits = blob.size() <= 1024 * 1024;
    value["content"] = if fits { base64_lines(blob.content()) } else { String::new() }.into();
    value["encoding"] = if fits { "base64" } else { "none" }.into();
    if mode == 0o120000 {
        value["target"] = String::from_utf8_lossy(blob.content()).into();
    }
    Ok(Reply::Ok(value))
}

/// Refuses a move of a branch that breaks a rule, as the REST API tells it.
pub(crate) fn obey(
    state: &State,
    call: &Call,
    git: &Git,
    refname: &str,
    step: Move,
    status: u16,
) -> Result<(), Problem> {
    let violations = state.violations(state.repo(call.repo)?, git, &call.actor, refname, step);
    if violations.is_empty() {
        return Ok(());
    }
    Err(Problem::new(status, format!("Repository rule violations found\n\n{}\n\n", violations.join("\n"))))
}

fn write(state: &mut State, call: &Call, content: Option<Vec<u8>>) -> Answer {
    let by = call.account()?;
    let git = state.git(call.repo)?;
    let repo = state.repo(call.repo)?;
    let branch = call.text("branch").unwrap_or(&repo.default_branch).to_owned();
    let message = call.required("Commit", "message")?;
    let old = git.branch(&branch).ok_or_else(|| Problem::new(404, format!("Branch {branch} not found")))?;
    let path = call.param("path").to_owned();
    let existing = git.entry(old, &path);
    match (existing, call.text("sha")) {
        (Some(_), None) => return Err(Problem::invalid("Invalid request.\n\n\"sha\" wasn't supplied.")),
        (Some((id, ..)), Some(sha)) if id.to_string() != sha => {
            return Err(Problem::new(409, format!("{path} does not match {sha}")));
        }
        (None, _) if content.is_none() => return Err(Problem::not_found()),
        _ => {}
    }
    let created = existing.is_none();
    let gone = content.is_none();
    let tree = git.tree_with(Some(git.tree_of(old)?), &[(path.clone(), content)])?;
    let (name, email) = identity(&by);
    let new = git.commit(tree, &[old], message, (&name, &email), ("GitHub", "noreply@github.com"))?;
    let (refname, step) = (format!("refs/heads/{branch}"), Move { old: Some(old), new: Some(new) });
    obey(state, call, &git, &refname, step, 409)?;
    state.move_ref(call.repo, &refname, step, &by)?;
    let repo = state.repo(call.repo)?;
    let told = git.entry(new, &path).filter(|_| !gone).map(|(id, ..)| {
        let size = git.0.find_blob(id).map(|blob| blob.size()).unwrap_or(0);
        entry_json(state, repo, &branch, &path, id, "file", size)
    });
    let value = json!({"content": told, "commit": state.git_commit_json(repo, &git, new)?});
    Ok(if created { Reply::Created(value) } else { Reply::Ok(value) })
}

fn put(state: &mut State, call: &Call) -> Answer {
    let text: String = call.required("Content", "content")?.split_whitespace().collect();
    let content = STANDARD.decode(text).map_err(|_| Problem::invalid("content is not valid Base64"))?;
    write(state, call, Some(content))
}

fn delete(state: &mut State, call: &Call) -> Answer {
    write(state, call, None)
}
