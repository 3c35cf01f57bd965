//! What follows when a branch moves, however it was moved: by `git push`, the API, or a merge.
//!
//! The order is GitHub's as far as it can be seen: the `push` is told first, then pull requests follow their head,
//! then those whose commits arrived in their base are closed as merged. Apps that write checks get a suite.

use git2::Oid;
use serde_json::json;

use super::api::contents::identity;
use super::auth::Actor;
use super::git::Change;
use super::model::*;
use super::reply::Problem;
use super::rules::Move;
use super::state::State;
use super::view::git::oid;

const NOTHING: &str = "0000000000000000000000000000000000000000";

fn told(id: Option<Oid>) -> String {
    id.map_or_else(|| NOTHING.to_owned(), |id| id.to_string())
}

/// A commit that somebody wants to push.
pub(crate) struct Pushed<'a> {
    pub(crate) branch: &'a str,
    /// What it is to stand on; the branch, or the default one, where nothing is said.
    pub(crate) onto: Option<&'a str>,
    pub(crate) message: &'a str,
    pub(crate) changes: &'a [Change],
}

impl State {
    /// Makes a commit and pushes it as this person, whom the rules must let.
    pub(crate) fn push_commit(&mut self, repo: u64, by: &Account, pushed: &Pushed<'_>) -> Result<Oid, Problem> {
        let (about, git) = (self.repo(repo)?, self.git(repo)?);
        let actor = Actor::User(by.clone());
        if !self.may_push(&actor, about) {
            let told = format!("Permission to {}.git denied to {}.", about.full_name(), by.login);
            return Err(Problem::new(403, told));
        }
        let old = git.branch(pushed.branch);
        let parent = match pushed.onto {
            Some(rev) => git.resolve(rev),
            None => old.or_else(|| git.branch(&about.default_branch)),
        };
        let parent = parent.ok_or_else(Problem::not_found)?;
        let tree = git.tree_with(Some(git.tree_of(parent)?), pushed.changes)?;
        let (name, email) = identity(by);
        let new = git.commit(tree, &[parent], pushed.message, (&name, &email), (&name, &email))?;
        let (refname, step) = (format!("refs/heads/{}", pushed.branch), Move { old, new: Some(new) });
        let violations = self.violations(about, &git, &actor, &refname, step);
        if !violations.is_empty() {
            return Err(Problem::new(422, violations.join("\n")));
        }
        self.about_to_write();
        self.move_ref(repo, &refname, step, by)?;
        self.advance_queues(repo)?;
        Ok(new)
    }

    /// Moves a ref and lets everything follow. The rules have been asked before.
    pub(crate) fn move_ref(&mut self, repo: u64, refname: &str, step: Move, by: &Account) -> Result<(), Problem> {
        let git = self.git(repo)?;
        match step.new {
            Some(new) => git.set_ref(refname, new)?,
            None => git.delete_ref(refname)?,
        }
        self.repo_mut(repo)?.pushed_at = self.now();
        self.tell_push(repo, refname, step, by)?;
        let Some(branch) = refname.strip_prefix("refs/heads/") else { return Ok(()) };
        self.note_activity(repo, refname, step, by)?;
        if let Some(new) = step.new {
            self.open_suites(repo, branch, new, by)?;
        }
        self.follow_heads(repo, branch, step, by)?;
        if let Some(new) = step.new {
            self.notice_merged(repo, branch, step.old, new, by)?;
        }
        Ok(())
    }

    fn note_activity(&mut self, repo: u64, refname: &str, step: Move, by: &Account) -> Result<(), Problem> {
        let git = self.git(repo)?;
        let kind = match (step.old, step.new) {
            (_, None) => "branch_deletion",
            (None, Some(_)) => "branch_creation",
            (Some(old), Some(new)) if !git.is_ancestor(old, new) => "force_push",
            _ => "push",
        };
        let (id, before, after) = (self.new_id(), told(step.old), told(step.new));
        let one = Activity { id, before, after, refname: refname.to_owned(), at: self.now(), kind, actor: by.clone() };
        self.repo_mut(repo)?.activities.push(one);
        Ok(())
    }

    fn tell_push(&mut self, id: u64, refname: &str, step: Move, by: &Account) -> Result<(), Problem> {
        let (git, repo) = (self.git(id)?, self.repo(id)?);
        let forced = match (step.old, step.new) {
            (Some(old), Some(new)) => !git.is_ancestor(old, new),
            _ => false,
        };
        let default = git.branch(&repo.default_branch);
        let mut commits = match step.new {
            // A new branch's commits are told from where it left the default branch.
            Some(new) => git.commits_between(step.old.or(default.filter(|tip| *tip != new)), new)?,
            None => Vec::new(),
        };
        // GitHub tells at most 2,048 commits of a push.
        commits.truncate(2_048);
        let commits =
            commits.into_iter().map(|one| self.pushed_commit_json(repo, &git, one)).collect::<Result<Vec<_>, _>>()?;
        let head = step.new.map(|new| self.pushed_commit_json(repo, &git, new)).transpose()?;
        let html = self.repo_html(repo);
        let compare = match (step.old, step.new) {
            (Some(old), Some(new)) => format!("{html}/compare/{old}...{new}"),
            (_, at) => format!("{html}/commit/{}", told(at)),
        };
        let fields = json!({
            "ref": refname, "before": told(step.old), "after": told(step.new), "created": step.old.is_none(),
            "deleted": step.new.is_none(), "forced": forced, "base_ref": null, "compare": compare,
            "commits": commits, "head_commit": head,
            "pusher": {"name": by.login, "email": format!("{}@users.noreply.github.com", by.login)},
        });
        self.emit(id, "push", None, by, fields);
        Ok(())
    }

    /// Every installed App that may write checks gets a suite for a pushed commit, and is asked to fill it.
    fn open_suites(&mut self, repo: u64, branch: &str, head: Oid, by: &Account) -> Result<(), Problem> {
        let apps: Vec<u64> = self
            .installations
            .values()
            .filter(|one| one.repos.contains(&repo) && one.permissions.get("checks") >= Some(&Level::Write))
            .map(|one| one.app)
            .collect();
        for app in apps {
            let before = self.repo(repo)?.suites.len();
            let suite = self.suite_for(repo, app, &head.to_string(), Some(branch))?;
            if self.repo(repo)?.suites.len() > before {
                self.tell_suite(repo, suite, "requested", by, Some(app))?;
            }
        }
        Ok(())
    }

    /// The App's suite on a commit, made when it is not there.
    pub(crate) fn suite_for(&mut self, repo: u64, app: u64, sha: &str, branch: Option<&str>) -> Result<u64, Problem> {
        if let Some(found) = self.repo(repo)?.suites.values().find(|one| one.app == app && one.head_sha == sha) {
            return Ok(found.id);
        }
        self.new_suite(repo, app, sha, branch)
    }

    /// A suite of its own, as each workflow run has.
    pub(crate) fn new_suite(&mut self, repo: u64, app: u64, sha: &str, branch: Option<&str>) -> Result<u64, Problem> {
        let (id, at) = (self.new_id(), self.now());
        let repo = self.repo_mut(repo)?;
        let head_branch = branch
            .map(str::to_owned)
            .or_else(|| repo.pulls_at(sha).find(|(_, p)| p.head_repo == repo.id).map(|(_, p)| p.head_ref.clone()))
            .or_else(|| {
                let groups = repo.queues.values().flatten().filter_map(|entry| entry.group.as_ref());
                groups.into_iter().find(|group| group.head == sha).map(|group| group.branch.clone())
            });
        let suite = CheckSuite { id, app, head_sha: sha.to_owned(), head_branch, created_at: at, updated_at: at };
        repo.suites.insert(id, suite);
        Ok(id)
    }

    /// Pull requests follow their head branch, and close when it is gone.
    fn follow_heads(&mut self, head_repo: u64, branch: &str, step: Move, by: &Account) -> Result<(), Problem> {
        let mut followers = Vec::new();
        for repo in self.repos.values() {
            for issue in repo.issues.values().filter(|issue| issue.open) {
                if issue.pull.as_ref().is_some_and(|pull| pull.head_repo == head_repo && pull.head_ref == branch) {
                    followers.push((repo.id, issue.number));
                }
            }
        }
        for (repo, number) in followers {
            match step.new {
                Some(new) => {
                    self.fetch_head(repo, number, head_repo, branch)?;
                    let base_ref = self.pull(repo, number)?.1.base_ref.clone();
                    let base = self.git(repo)?.branch(&base_ref);
                    let pull = self.pull_mut(repo, number)?;
                    let before = std::mem::replace(&mut pull.head_sha, new.to_string());
                    if let Some(base) = base {
                        pull.base_sha = base.to_string();
                    }
                    let more = json!({"before": before, "after": new.to_string()});
                    self.tell_pull(repo, number, "synchronize", by, more)?;
                }
                None => self.close_pull(repo, number, by)?,
            }
        }
        Ok(())
    }

    /// Keeps `refs/pull/N/head` in the base repository at the head, wherever that lives.
    pub(crate) fn fetch_head(&self, repo: u64, number: u64, head_repo: u64, branch: &str) -> Result<(), Problem> {
        let (git, target) = (self.git(repo)?, format!("refs/pull/{number}/head"));
        if repo == head_repo {
            let tip = git.branch(branch).ok_or_else(Problem::not_found)?;
            git.set_ref(&target, tip)?;
        } else {
            git.bring(&self.git_path(head_repo), &format!("refs/heads/{branch}"), &target)?;
        }
        Ok(())
    }

    /// A pull request whose commits arrive in its base by any other way is merged, too.
    fn notice_merged(
        &mut self,
        repo: u64,
        branch: &str,
        old: Option<Oid>,
        new: Oid,
        by: &Account,
    ) -> Result<(), Problem> {
        let git = self.git(repo)?;
        let mut arrived = Vec::new();
        for issue in self.repo(repo)?.issues.values().filter(|issue| issue.open) {
            let Some(pull) = issue.pull.as_ref().filter(|pull| pull.base_ref == branch) else { continue };
            let head = oid(&pull.head_sha)?;
            if git.is_ancestor(head, new) && !old.is_some_and(|old| git.is_ancestor(head, old)) {
                arrived.push(issue.number);
            }
        }
        for number in arrived {
            let merged_at = Some(self.now());
            let pull = self.pull_mut(repo, number)?;
            pull.merged_at = merged_at;
            pull.merged_by = Some(by.clone());
            pull.merge_commit_sha = Some(new.to_string());
            self.close_pull(repo, number, by)?;
        }
        Ok(())
    }

    pub(crate) fn close_pull(&mut self, repo: u64, number: u64, by: &Account) -> Result<(), Problem> {
        let (at, now) = (self.tick(), self.now());
        let issue = self.issue_mut(repo, number)?;
        issue.open = false;
        issue.updated_at = now;
        issue.closed_at = Some(at);
        self.tell_pull(repo, number, "closed", by, json!({}))
    }

    /// Sends a `pull_request` webhook with the pull request as it is now.
    pub(crate) fn tell_pull(
        &mut self,
        repo: u64,
        number: u64,
        action: &str,
        by: &Account,
        more: serde_json::Value,
    ) -> Result<(), Problem> {
        let (about, issue) = (self.repo(repo)?, self.issue(repo, number)?);
        let mut fields = json!({"number": number, "pull_request": self.full_pull_json(about, issue)?});
        super::view::merge(&mut fields, more);
        self.emit(repo, "pull_request", Some(action), by, fields);
        Ok(())
    }
}
