//! Git objects as GitHub's JSON.

use git2::Oid;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::git::{FileDiff, Git};
use super::super::model::{Pull, Repo};
use super::super::reply::Problem;
use super::super::state::State;
use super::node;

/// How large a pull request is.
#[derive(Default)]
pub(crate) struct Size {
    pub(crate) commits: usize,
    pub(crate) additions: usize,
    pub(crate) deletions: usize,
    pub(crate) files: usize,
}

fn when(time: git2::Time) -> String {
    Timestamp::from_second(time.seconds()).map(|at| at.to_string()).unwrap_or_default()
}

fn person(who: &git2::Signature<'_>) -> Value {
    json!({
        "name": String::from_utf8_lossy(who.name_bytes()), "email": String::from_utf8_lossy(who.email_bytes()),
        "date": when(who.when()),
    })
}

/// What is told of a commit's signature. Nobody's keys are known here.
fn verification(git: &Git, id: Oid) -> Value {
    let (reason, signature, payload) = match git.0.extract_signature(&id, None) {
        Ok((signature, payload)) => {
            let text = |buf: git2::Buf| String::from_utf8_lossy(&buf).into_owned();
            ("unknown_key", Some(text(signature)), Some(text(payload)))
        }
        Err(_) => ("unsigned", None, None),
    };
    json!({"verified": false, "reason": reason, "signature": signature, "payload": payload, "verified_at": null})
}

/// The lossy text of a commit's message, without the line breaks at its end.
fn message(commit: &git2::Commit<'_>) -> String {
    String::from_utf8_lossy(commit.message_bytes()).trim_end_matches('\n').to_owned()
}

impl State {
    /// The account behind a commit's e-mail address, of the form the twin gives out.
    fn author_of(&self, who: &git2::Signature<'_>) -> Value {
        let email = String::from_utf8_lossy(who.email_bytes()).into_owned();
        let login = email.strip_suffix("@users.noreply.github.com").and_then(|front| front.split('+').next_back());
        self.user_or_null(login.and_then(|login| self.account(login)))
    }

    /// `GET commits/{ref}`.
    pub(crate) fn commit_json(&self, repo: &Repo, git: &Git, id: Oid) -> Result<Value, Problem> {
        let commit = git.0.find_commit(id)?;
        let (api, html) = (self.repo_api(repo), self.repo_html(repo));
        let url = format!("{api}/commits/{id}");
        let parents: Vec<_> = commit
            .parent_ids()
            .map(|id| json!({"sha": id.to_string(), "url": format!("{api}/commits/{id}"), "html_url": format!("{html}/commit/{id}")}))
            .collect();
        Ok(json!({
            "sha": id.to_string(), "node_id": node("C", repo.id), "url": url,
            "html_url": format!("{html}/commit/{id}"), "comments_url": format!("{url}/comments"),
            "commit": {
                "author": person(&commit.author()), "committer": person(&commit.committer()),
                "message": message(&commit), "comment_count": 0, "url": format!("{api}/git/commits/{id}"),
                "tree": {"sha": commit.tree_id().to_string(), "url": format!("{api}/git/trees/{}", commit.tree_id())},
                "verification": verification(git, id),
            },
            "author": self.author_of(&commit.author()), "committer": self.author_of(&commit.committer()),
            "parents": parents,
        }))
    }

    /// `GET git/commits/{sha}`.
    pub(crate) fn git_commit_json(&self, repo: &Repo, git: &Git, id: Oid) -> Result<Value, Problem> {
        let commit = git.0.find_commit(id)?;
        let (api, html) = (self.repo_api(repo), self.repo_html(repo));
        let parents: Vec<_> = commit
            .parent_ids()
            .map(|id| json!({"sha": id.to_string(), "url": format!("{api}/git/commits/{id}"), "html_url": format!("{html}/commit/{id}")}))
            .collect();
        Ok(json!({
            "sha": id.to_string(), "node_id": node("C", repo.id), "url": format!("{api}/git/commits/{id}"),
            "html_url": format!("{html}/commit/{id}"), "author": person(&commit.author()),
            "committer": person(&commit.committer()), "message": message(&commit),
            "tree": {"sha": commit.tree_id().to_string(), "url": format!("{api}/git/trees/{}", commit.tree_id())},
            "parents": parents, "verification": verification(git, id),
        }))
    }

    /// A commit as webhooks and suites tell it.
    pub(crate) fn simple_commit_json(&self, git: &Git, id: Oid) -> Result<Value, Problem> {
        let commit = git.0.find_commit(id)?;
        let brief = |who: git2::Signature<'_>| json!({"name": String::from_utf8_lossy(who.name_bytes()), "email": String::from_utf8_lossy(who.email_bytes())});
        Ok(json!({
            "id": id.to_string(), "tree_id": commit.tree_id().to_string(), "message": message(&commit),
            "timestamp": when(commit.time()), "author": brief(commit.author()), "committer": brief(commit.committer()),
        }))
    }

    /// A commit of a push, with the files it touched.
    pub(crate) fn pushed_commit_json(&self, repo: &Repo, git: &Git, id: Oid) -> Result<Value, Problem> {
        let mut value = self.simple_commit_json(git, id)?;
        let parent = git.0.find_commit(id)?.parent_ids().next();
        let files = git.diff(parent, id)?;
        let of = |wanted: &[&str]| -> Vec<&str> {
            files.iter().filter(|file| wanted.contains(&file.status)).map(|file| file.path.as_str()).collect()
        };
        value["url"] = format!("{}/commit/{id}", self.repo_html(repo)).into();
        value["distinct"] = true.into();
        value["added"] = of(&["added", "renamed", "copied"]).into();
        value["removed"] = of(&["removed"]).into();
        value["modified"] = of(&["modified"]).into();
        Ok(value)
    }

    pub(crate) fn file_json(&self, repo: &Repo, commit: Oid, file: &FileDiff) -> Value {
        let (api, html) = (self.repo_api(repo), self.repo_html(repo));
        let mut value = json!({
            "sha": file.blob.map(|id| id.to_string()), "filename": file.path, "status": file.status,
            "additions": file.additions, "deletions": file.deletions, "changes": file.additions + file.deletions,
            "blob_url": format!("{html}/blob/{commit}/{}", file.path),
            "raw_url": format!("{html}/raw/{commit}/{}", file.path),
            "contents_url": format!("{api}/contents/{}?ref={commit}", file.path),
        });
        if let Some(patch) = &file.patch {
            value["patch"] = patch.clone().into();
        }
        if let Some(previous) = &file.previous {
            value["previous_filename"] = previous.clone().into();
        }
        value
    }

    pub(crate) fn ref_json(&self, repo: &Repo, name: &str, id: Oid) -> Value {
        let api = self.repo_api(repo);
        json!({
            "ref": name, "node_id": node("REF", repo.id), "url": format!("{api}/git/{name}"),
            "object": {"sha": id.to_string(), "type": "commit", "url": format!("{api}/git/commits/{id}")},
        })
    }

    /// What `GET pulls/{n}/files` lists: from the merge base to the head.
    pub(crate) fn pull_files(&self, repo: &Repo, pull: &Pull) -> Result<(Oid, Vec<FileDiff>), Problem> {
        let git = self.git(repo.id)?;
        let (head, base) = (oid(&pull.head_sha)?, oid(&pull.base_sha)?);
        let files = git.diff(git.merge_base(base, head), head)?;
        Ok((head, files))
    }

    pub(crate) fn pull_size(&self, repo: &Repo, pull: &Pull) -> Result<Size, Problem> {
        let (head, files) = self.pull_files(repo, pull)?;
        let git = self.git(repo.id)?;
        Ok(Size {
            commits: git.commits_between(git.merge_base(oid(&pull.base_sha)?, head), head)?.len(),
            additions: files.iter().map(|file| file.additions).sum(),
            deletions: files.iter().map(|file| file.deletions).sum(),
            files: files.len(),
        })
    }
}

/// A whole object id, or the 422 that GitHub answers to anything else.
pub(crate) fn oid(text: &str) -> Result<Oid, Problem> {
    match Oid::from_str(text) {
        Ok(id) if text.len() == 40 => Ok(id),
        _ => Err(Problem::invalid("The sha parameter must be exactly 40 characters and contain only [0-9a-f].")),
    }
}
