//! What a run is about, and which commit has the policy that it runs by.
//!
//! In GitHub Actions that is told by the event, and not by the checkout: of a pull request the merge with its base is
//! checked out, and the change that is judged is its head. The policy is the default branch's. Its commit is taken from
//! what GitHub itself made, the event and the merge commit that the event names; a branch of the checkout is believed only
//! where `origin` is the repository of the run, because a workflow may check a fork out.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::artefact::{ActionsRun, Subject};
use crate::ids::{CommitId, Slug};
use crate::repo::{LocalRepo, Reader as _};

/// GitHub sends no larger event.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// What is known of the surroundings of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Around {
    pub subject: Subject,
    pub run: Option<ActionsRun>,
    /// The default branch's commit; none outside of Actions, where nobody tells it.
    pub law: Option<CommitId>,
}

/// Why the surroundings could not be found out. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    #[error("the event of this run can't be read from {file} (`GITHUB_EVENT_PATH`): {why}")]
    Event { file: String, why: String },
    #[error(
        "{what}, which has the policy, is not in this checkout\n\
         Let the checkout fetch the whole history. In the workflow:\n\
         \n\
         \x20     - uses: actions/checkout@…\n\
         \x20       with:\n\
         \x20         fetch-depth: 0\n"
    )]
    NotFetched { what: String },
    #[error(
        "`origin` of this checkout is not {repository}, so its branch `{branch}` can't be taken for the default branch, \
         which has the policy\nCheck {repository} itself out, or name the commit with --base"
    )]
    Elsewhere { repository: Slug, branch: String },
    #[error(
        "{checkout} is checked out, and {head} was asked for\nLet the checkout take that: `ref: ${{{{ {from} }}}}`"
    )]
    OtherCheckout { checkout: String, head: String, from: &'static str },
    #[error(transparent)]
    Repo(#[from] crate::repo::Error),
}

#[derive(Debug, Default, Deserialize)]
struct Event {
    #[serde(default)]
    repository: Option<Repository>,
    #[serde(default)]
    pull_request: Option<Pull>,
    #[serde(default)]
    merge_group: Option<Group>,
    #[serde(default)]
    before: Option<CommitId>,
    /// Of a run that was asked for.
    #[serde(default)]
    inputs: Option<BTreeMap<String, Value>>,
    /// Of a run that another run's end has started: that other.
    #[serde(default)]
    workflow_run: Option<After>,
}

/// The run whose end has started this one.
#[derive(Debug, Deserialize)]
struct After {
    head_sha: CommitId,
    #[serde(default)]
    head_branch: Option<String>,
    #[serde(default)]
    head_repository: Option<Home>,
    /// Those of this repository's own branches; of a fork's GitHub tells none.
    #[serde(default)]
    pull_requests: Vec<Pull>,
}

#[derive(Debug, Deserialize)]
struct Home {
    owner: Owner,
}

#[derive(Debug, Deserialize)]
struct Owner {
    login: String,
}

/// What a run is for that another run's end has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct For {
    pub head: CommitId,
    /// `OWNER:NAME` of the branch that it is of.
    pub branch: String,
}

/// What this run is for, where another run's end has started it.
pub fn started_after(env: &dyn Fn(&str) -> Option<String>) -> Result<Option<For>, Lost> {
    if env("GITHUB_EVENT_NAME").as_deref() != Some("workflow_run") {
        return Ok(None);
    }
    let Some(file) = env("GITHUB_EVENT_PATH").filter(|file| !file.is_empty()) else { return Ok(None) };
    let lost = |why: &str| Lost::Event { file: file.clone(), why: why.to_owned() };
    let after = event(Path::new(&file))?.workflow_run.ok_or_else(|| lost("it has no `workflow_run`"))?;
    match (after.head_repository, after.head_branch) {
        (Some(home), Some(name)) => {
            Ok(Some(For { head: after.head_sha, branch: format!("{}:{name}", home.owner.login) }))
        }
        _ => Err(lost("the branch of the run that has ended is not told: it, or its repository, is gone")),
    }
}

/// What the App asks the trusted workflow to run.
struct Asked {
    change: u64,
    base: CommitId,
    head: CommitId,
}

impl Event {
    /// None where the inputs are others: any workflow may have some.
    fn asked(&self) -> Option<Asked> {
        let input = |name: &str| self.inputs.as_ref()?.get(name)?.as_str();
        let commit = |name: &str| CommitId::new(input(name)?).ok();
        Some(Asked { change: input("change")?.parse().ok()?, base: commit("base")?, head: commit("head")? })
    }
}

#[derive(Debug, Deserialize)]
struct Repository {
    default_branch: String,
}

#[derive(Debug, Deserialize)]
struct Pull {
    number: u64,
    base: End,
    head: End,
}

#[derive(Debug, Deserialize)]
struct End {
    sha: CommitId,
    r#ref: String,
}

#[derive(Debug, Deserialize)]
struct Group {
    base_sha: CommitId,
    base_ref: String,
    head_sha: CommitId,
}

/// Finds out what a run in this repository is about. With `named`, somebody has said where the policy is, and it is not
/// looked for.
pub fn around(repo: Option<&LocalRepo>, env: &dyn Fn(&str) -> Option<String>, named: bool) -> Result<Around, Lost> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    let checkout = repo.map(|repo| repo.revision("HEAD")).transpose()?.flatten();
    let uncommitted = repo.map(LocalRepo::is_modified).transpose()?.unwrap_or_default();
    let mut around = Around {
        subject: Subject { head: checkout.clone(), checkout, uncommitted, ..Subject::default() },
        ..Around::default()
    };
    if set("GITHUB_ACTIONS").as_deref() != Some("true") {
        return Ok(around);
    }
    let event = set("GITHUB_EVENT_PATH").map(|file| event(Path::new(&file))).transpose()?.unwrap_or_default();
    let id = set("GITHUB_RUN_ID").and_then(|id| id.parse().ok());
    around.run = id.map(|id| ActionsRun {
        id,
        attempt: set("GITHUB_RUN_ATTEMPT").and_then(|attempt| attempt.parse().ok()).unwrap_or(1),
        event: set("GITHUB_EVENT_NAME"),
        workflow: set("GITHUB_WORKFLOW_REF"),
    });
    let sha = set("GITHUB_SHA").and_then(|sha| CommitId::new(sha).ok());
    let subject = &mut around.subject;
    subject.repository = set("GITHUB_REPOSITORY").and_then(|slug| slug.parse().ok());
    if let Some(pull) = &event.pull_request {
        subject.change = Some(pull.number);
        (subject.base, subject.head) = (Some(pull.base.sha.clone()), Some(pull.head.sha.clone()));
    } else if let Some(group) = &event.merge_group {
        (subject.base, subject.head) = (Some(group.base_sha.clone()), Some(group.head_sha.clone()));
    } else if let Some(asked) =
        event.asked().filter(|_| set("GITHUB_EVENT_NAME").as_deref() == Some("workflow_dispatch"))
    {
        is_checked_out(subject, &asked.head, "inputs.head")?;
        subject.change = Some(asked.change);
        (subject.base, subject.head) = (Some(asked.base), Some(asked.head));
    } else if let Some(after) = &event.workflow_run {
        is_checked_out(subject, &after.head_sha, "github.event.workflow_run.head_sha")?;
        let pull = after.pull_requests.iter().find(|pull| pull.head.sha == after.head_sha);
        subject.change = pull.map(|pull| pull.number);
        subject.head = Some(after.head_sha.clone());
        subject.base = repo.map(|repo| parts_from(repo, &event, pull, &after.head_sha)).transpose()?.flatten();
    } else {
        // The first push of a branch comes from nowhere.
        subject.base = event.before.clone().filter(|before| before.as_str().contains(|c| c != '0'));
        subject.head = sha.clone().or(subject.head.take());
    }
    if let (Some(repo), false) = (repo, named) {
        around.law = Some(law(repo, &event, sha.as_ref(), set("GITHUB_REF"), around.subject.repository.as_ref())?);
    }
    Ok(around)
}

fn is_checked_out(subject: &Subject, head: &CommitId, from: &'static str) -> Result<(), Lost> {
    match subject.checkout.as_ref().filter(|checkout| *checkout != head) {
        None => Ok(()),
        Some(checkout) => {
            let (checkout, head) = (checkout.short().to_owned(), head.short().to_owned());
            Err(Lost::OtherCheckout { checkout, head, from })
        }
    }
}

/// Where a head parts from the branch that it goes into: that of its pull request, where it is told, else the default branch.
fn parts_from(repo: &LocalRepo, event: &Event, pull: Option<&Pull>, head: &CommitId) -> Result<Option<CommitId>, Lost> {
    let default = event.repository.as_ref().map(|repository| repository.default_branch.as_str());
    let Some(branch) = pull.map(|pull| pull.base.r#ref.as_str()).or(default) else { return Ok(None) };
    let tip = repo.resolve(&format!("refs/remotes/origin/{branch}"))?;
    let tip = tip.ok_or_else(|| Lost::NotFetched { what: format!("the branch `{branch}`") })?;
    Ok(repo.merge_base(&tip, head)?)
}

fn event(file: &Path) -> Result<Event, Lost> {
    let lost = |why: String| Lost::Event { file: file.display().to_string(), why };
    let opened = std::fs::File::open(file).map_err(|error| lost(error.to_string()))?;
    let mut bytes = Vec::new();
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| lost(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(lost(format!("it has more than {MOST_BYTES} bytes")));
    }
    serde_json::from_slice(&bytes).map_err(|error| lost(error.to_string()))
}

/// The commit of the default branch by which this run goes.
fn law(
    repo: &LocalRepo,
    event: &Event,
    sha: Option<&CommitId>,
    name: Option<String>,
    slug: Option<&Slug>,
) -> Result<CommitId, Lost> {
    let default = event.repository.as_ref().map(|repository| repository.default_branch.as_str());
    let is_default = |name: &str| default == Some(name.strip_prefix("refs/heads/").unwrap_or(name));
    let (commit, branch) = match (&event.pull_request, &event.merge_group) {
        (Some(pull), _) => {
            (merged_into(repo, sha, pull)?.or(Some(pull.base.sha.clone())), Some(pull.base.r#ref.as_str()))
        }
        (None, Some(group)) => (Some(group.base_sha.clone()), Some(group.base_ref.as_str())),
        (None, None) => (sha.cloned(), name.as_deref()),
    };
    if let (Some(commit), true) = (commit, branch.is_some_and(is_default)) {
        let there = repo.revision(commit.as_str())?;
        let what = || format!("the commit {} of `{}`", commit.short(), default.unwrap_or_default());
        return there.ok_or_else(|| Lost::NotFetched { what: what() });
    }
    // It goes into another branch, and of the default one the event tells no more than its name.
    let (found, branch) = match default {
        Some(branch) => (repo.resolve(&format!("refs/remotes/origin/{branch}"))?, branch),
        None => (repo.revision("origin/HEAD")?, "origin/HEAD"),
    };
    let found = found.ok_or_else(|| Lost::NotFetched { what: format!("the branch `{branch}`") })?;
    let own = |slug: &Slug| repo.origin().is_ok_and(|url| url.is_some_and(|url| is_of(&url, slug)));
    match slug {
        Some(slug) if !own(slug) => Err(Lost::Elsewhere { repository: slug.clone(), branch: branch.to_owned() }),
        _ => Ok(found),
    }
}

/// The base that GitHub has merged the change into for this run. It is newer than the event's own where the base went on
/// since. Only the commit that the event itself names is believed, and only if its second parent is the change's head.
fn merged_into(repo: &LocalRepo, sha: Option<&CommitId>, pull: &Pull) -> Result<Option<CommitId>, Lost> {
    let Some(sha) = sha else { return Ok(None) };
    if repo.revision(sha.as_str())?.is_none() {
        return Ok(None);
    }
    let parents = repo.commit(sha)?.parents;
    let [base, head] = parents.as_slice() else { return Ok(None) };
    let there = repo.revision(base.as_str())?.is_some();
    Ok((*head == pull.head.sha && there).then(|| base.clone()))
}

/// Whether a URL is that of a repository, however it is written.
fn is_of(url: &str, slug: &Slug) -> bool {
    let url = url.trim_end_matches('/').to_lowercase();
    let url = url.strip_suffix(".git").unwrap_or(&url);
    let slug = slug.to_string().to_lowercase();
    url.strip_suffix(slug.as_str()).is_some_and(|before| before.ends_with(['/', ':']))
}

#[cfg(test)]
mod tests;
