//! Git's own objects: refs, commits, trees and blobs.

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid};
use serde_json::{Value, json};

use super::super::git::Git;
use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::rules::Move;
use super::super::state::State;
use super::super::view::git::oid;
use super::super::view::{base64_lines, node};
use super::contents::{identity, obey};

const READ: Access = Access::Repo(&[("contents", Level::Read)], Role::Read);
const WRITE: Access = Access::Repo(&[("contents", Level::Write)], Role::Write);

pub(crate) const ROUTES: &[Route] = &[
    Route { method: "GET", path: "/repos/{owner}/{repo}/git/ref/{ref*}", access: READ, run: get_ref },
    Route { method: "GET", path: "/repos/{owner}/{repo}/git/matching-refs/{ref*}", access: READ, run: matching },
    Route { method: "POST", path: "/repos/{owner}/{repo}/git/refs", access: WRITE, run: create_ref },
    Route { method: "PATCH", path: "/repos/{owner}/{repo}/git/refs/{ref*}", access: WRITE, run: update_ref },
    Route { method: "DELETE", path: "/repos/{owner}/{repo}/git/refs/{ref*}", access: WRITE, run: delete_ref },
    Route { method: "GET", path: "/repos/{owner}/{repo}/git/commits/{sha}", access: READ, run: get_commit },
    Route { method: "POST", path: "/repos/{owner}/{repo}/git/commits", access: WRITE, run: create_commit },
    Route { method: "GET", path: "/repos/{owner}/{repo}/git/trees/{sha*}", access: READ, run: get_tree },
    Route { method: "POST", path: "/repos/{owner}/{repo}/git/trees", access: WRITE, run: create_tree },
    Route { method: "GET", path: "/repos/{owner}/{repo}/git/blobs/{sha}", access: READ, run: get_blob },
    Route { method: "POST", path: "/repos/{owner}/{repo}/git/blobs", access: WRITE, run: create_blob },
];

fn get_ref(state: &mut State, call: &Call) -> Answer {
    let name = format!("refs/{}", call.param("ref"));
    let id = state.git(call.repo)?.reference(&name).ok_or_else(Problem::not_found)?;
    Ok(Reply::Ok(state.ref_json(state.repo(call.repo)?, &name, id)))
}

fn matching(state: &mut State, call: &Call) -> Answer {
    let (repo, git) = (state.repo(call.repo)?, state.git(call.repo)?);
    let prefix = format!("refs/{}", call.param("ref"));
    let mut list = Vec::new();
    for reference in git.0.references()? {
        let reference = reference?;
        if let Some((name, id)) = reference.name().ok().filter(|name| name.starts_with(&prefix)).zip(reference.target())
        {
            list.push(state.ref_json(repo, name, id));
        }
    }
    Ok(Reply::List(list))
}

/// The commit a ref is to point at.
fn target(git: &Git, call: &Call) -> Result<Oid, Problem> {
    let id = oid(call.required("Reference", "sha")?)?;
    git.0.find_commit(id).map_err(|_| Problem::invalid("Object does not exist"))?;
    Ok(id)
}

fn create_ref(state: &mut State, call: &Call) -> Answer {
    let (git, by) = (state.git(call.repo)?, call.account()?);
    let name = call.required("Reference", "ref")?;
    if !name.starts_with("refs/") || name.matches('/').count() < 2 || !git2::Reference::is_valid_name(name) {
        return Err(Problem::invalid(format!("{name} is not a valid ref name.")));
    }
    let new = target(&git, call)?;
    if git.reference(name).is_some() {
        return Err(Problem::invalid("Reference already exists"));
    }
    let step = Move { old: None, new: Some(new) };
    obey(state, call, &git, name, step, 422)?;
    state.move_ref(call.repo, name, step, &by)?;
    Ok(Reply::Created(state.ref_json(state.repo(call.repo)?, name, new)))
}

fn update_ref(state: &mut State, call: &Call) -> Answer {
    let (git, by) = (state.git(call.repo)?, call.account()?);
    let name = format!("refs/{}", call.param("ref"));
    let new = target(&git, call)?;
    let old = git.reference(&name).ok_or_else(|| Problem::invalid("Reference does not exist"))?;
    let force = call.body.get("force").and_then(Value::as_bool).unwrap_or(false);
    if !force && !git.is_ancestor(old, new) {
        return Err(Problem::invalid("Update is not a fast forward"));
    }
    let step = Move { old: Some(old), new: Some(new) };
    obey(state, call, &git, &name, step, 422)?;
    if old != new {
        state.move_ref(call.repo, &name, step, &by)?;
    }
    Ok(Reply::Ok(state.ref_json(state.repo(call.repo)?, &name, new)))
}

fn delete_ref(state: &mut State, call: &Call) -> Answer {
    let (git, by) = (state.git(call.repo)?, call.account()?);
    let name = format!("refs/{}", call.param("ref"));
    let old = git.reference(&name).ok_or_else(|| Problem::invalid("Reference does not exist"))?;
    let step = Move { old: Some(old), new: None };
    obey(state, call, &git, &name, step, 422)?;
    state.move_ref(call.repo, &name, step, &by)?;
    Ok(Reply::NoContent)
}

fn get_commit(state: &mut State, call: &Call) -> Answer {
    let git = state.git(call.repo)?;
    let id = oid(call.param("sha")).map_err(|_| Problem::not_found())?;
    Ok(Reply::Ok(state.git_commit_json(state.repo(call.repo)?, &git, id)?))
}

fn create_commit(state: &mut State, call: &Call) -> Answer {
    let (git, by) = (state.git(call.repo)?, call.account()?);
    let message = call.required("Commit", "message")?;
    let tree = oid(call.required("Commit", "tree")?)?;
    git.0.find_tree(tree).map_err(|_| Problem::invalid("Tree SHA does not exist"))?;
    let mut parents = Vec::new();
    for parent in call.body.get("parents").and_then(Value::as_array).into_iter().flatten() {
        let id = oid(parent.as_str().unwrap_or_default())?;
        git.0.find_commit(id).map_err(|_| Problem::invalid("Parent SHA does not exist or is not a commit object"))?;
        parents.push(id);
    }
    let (name, email) = identity(&by);
    let author = call.body.get("author");
    let field = |key: &str, otherwise: &str| {
        author.and_then(|who| who.get(key)).and_then(Value::as_str).unwrap_or(otherwise).to_owned()
    };
    let (name, email) = (field("name", &name), field("email", &email));
    let id = git.commit(tree, &parents, message, (&name, &email), (&name, &email))?;
    Ok(Reply::Created(state.git_commit_json(state.repo(call.repo)?, &git, id)?))
}

fn tree_json(state: &State, repo: &Repo, git: &Git, id: Oid, recursive: bool) -> Result<Value, Problem> {
    fn walk(git: &Git, api: &str, id: Oid, prefix: &str, recursive: bool, out: &mut Vec<Value>) -> Result<(), Problem> {
        for entry in git.0.find_tree(id)?.iter() {
            let path = format!("{prefix}{}", String::from_utf8_lossy(entry.name_bytes()));
            let (kind, mode) = (entry.kind(), format!("{:06o}", entry.filemode_raw()));
            let mut value = json!({"path": path, "mode": mode, "sha": entry.id().to_string()});
            match kind {
                Some(ObjectType::Tree) => {
                    value["type"] = "tree".into();
                    value["url"] = format!("{api}/git/trees/{}", entry.id()).into();
                    out.push(value);
                    if recursive {
                        walk(git, api, entry.id(), &format!("{path}/"), true, out)?;
                    }
                }
                Some(ObjectType::Commit) => {
                    value["type"] = "commit".into();
                    out.push(value);
                }
                _ => {
                    value["type"] = "blob".into();
                    value["size"] = git.0.find_blob(entry.id())?.size().into();
                    value["url"] = format!("{api}/git/blobs/{}", entry.id()).into();
                    out.push(value);
                }
            }
        }
        Ok(())
    }
    let api = state.repo_api(repo);
    let mut entries = Vec::new();
    walk(git, &api, id, "", recursive, &mut entries)?;
    Ok(json!({"sha": id.to_string(), "url": format!("{api}/git/trees/{id}"), "tree": entries, "truncated": false}))
}

fn get_tree(state: &mut State, call: &Call) -> Answer {
    let git = state.git(call.repo)?;
    let rev = call.param("sha");
    // A tree's id, or anything that names a commit.
    let id = match git.resolve(rev) {
        Some(commit) => git.tree_of(commit)?,
        None => oid(rev).map_err(|_| Problem::not_found())?,
    };
    // Any value asks for it, "0" and "false" too.
    let recursive = call.query("recursive").is_some();
    Ok(Reply::Ok(tree_json(state, state.repo(call.repo)?, &git, id, recursive)?))
}

fn create_tree(state: &mut State, call: &Call) -> Answer {
    let git = state.git(call.repo)?;
    let invalid = |message: &str| Problem::invalid(message.to_owned());
    let base = match call.text("base_tree") {
        Some(sha) => match git.resolve(sha) {
            Some(commit) => git.tree_of(commit)?,
            None => oid(sha)?,
        },
        None => git.empty_tree()?,
    };
    let base = git.0.find_tree(base).map_err(|_| invalid("base_tree is not a valid tree oid"))?;
    let entries = call.body.get("tree").and_then(Value::as_array).ok_or_else(|| invalid("Invalid tree info"))?;
    let mut update = TreeUpdateBuilder::new();
    for entry in entries {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let path = text("path").ok_or_else(|| invalid("tree.path is missing"))?;
        let unsafe_path = path.is_empty() || path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git"));
        if unsafe_path {
            return Err(invalid("tree.path contains a malformed path component"));
        }
        let mode = match text("mode").unwrap_or("100644") {
            "100644" => FileMode::Blob,
            "100755" => FileMode::BlobExecutable,
            "120000" => FileMode::Link,
            "040000" => FileMode::Tree,
            "160000" => FileMode::Commit,
            _ => return Err(invalid("tree.mode is not a valid mode")),
        };
        match (text("content"), entry.get("sha")) {
            (Some(content), _) => {
                update.upsert(path, git.0.blob(content.as_bytes())?, mode);
            }
            (None, Some(Value::Null)) => {
                if base.get_path(std::path::Path::new(path)).is_ok() {
                    update.remove(path);
                }
            }
            (None, Some(sha)) => {
                let id = oid(sha.as_str().unwrap_or_default())?;
                if git.0.find_object(id, None).is_err() {
                    return Err(invalid("tree.sha is not a valid object"));
                }
                update.upsert(path, id, mode);
            }
            (None, None) => return Err(invalid("Must supply either tree.sha or tree.content")),
        }
    }
    let id = update.create_updated(&git.0, &base)?;
    Ok(Reply::Created(tree_json(state, state.repo(call.repo)?, &git, id, false)?))
}

fn get_blob(state: &mut State, call: &Call) -> Answer {
    let (repo, git) = (state.repo(call.repo)?, state.git(call.repo)?);
    let id = oid(call.param("sha"))?;
    let blob = git.0.find_blob(id)?;
    if call.accept.contains(".raw") {
        return Ok(Reply::Raw(blob.content().to_vec()));
    }
    Ok(Reply::Ok(json!({
        "sha": id.to_string(), "node_id": node("B", repo.id), "size": blob.size(),
        "url": format!("{}/git/blobs/{id}", state.repo_api(repo)), "content": base64_lines(blob.content()),
        "encoding": "base64",
    })))
}

fn create_blob(state: &mut State, call: &Call) -> Answer {
    use base64::Engine as _;
    let git = state.git(call.repo)?;
    let content = call.required("Blob", "content")?;
    let bytes = match call.text("encoding") {
        Some("base64") => {
            let flat: String = content.split_whitespace().collect();
            let decoded = base64::engine::general_purpose::STANDARD.decode(flat);
            decoded.map_err(|_| Problem::invalid("content is not valid Base64"))?
        }
        _ => content.as_bytes().to_vec(),
    };
    let id = git.0.blob(&bytes)?;
    let url = format!("{}/git/blobs/{id}", state.repo_api(state.repo(call.repo)?));
    Ok(Reply::Created(json!({"sha": id.to_string(), "url": url})))
}
