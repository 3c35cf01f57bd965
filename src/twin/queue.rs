//! Merge queues: pull requests in line for a branch, each with a group of its own.
//!
//! The group of an entry is a real commit on a branch of the queue's, with everything ahead of it and itself. The checks
//! that the base requires decide on that commit: when the first in line has them all, its group's commit becomes the base;
//! when one has ended otherwise, the entry is out and everything behind it is built anew.

use git2::Oid;
use serde_json::json;

use super::admin::Admin;
use super::auth::Actor;
use super::git::{Change, Merged};
use super::model::*;
use super::reply::Problem;
use super::rules::Move;
use super::state::State;
use super::view::git::oid;
use super::{Error, Result as Admitted};

impl State {
    /// Puts a pull request at the end of its base's queue. Whatever else the base asks for is there already, unless the
    /// rules are gone around.
    pub(crate) fn enqueue(&mut self, repo: u64, number: u64, actor: &Actor, around: bool) -> Result<(), Problem> {
        let by = actor.account()?;
        let (issue, pull) = self.pull(repo, number)?;
        let about = self.repo(repo)?;
        let refused = |message: &str| Problem::new(422, message);
        if self.queue_method(about, &pull.base_ref).is_none() {
            return Err(refused("Merge queue is not enabled for the base branch"));
        }
        if !issue.open || pull.draft {
            return Err(refused("Pull request is not open, or is a draft"));
        }
        if about.queues.get(&pull.base_ref).is_some_and(|line| line.iter().any(|entry| entry.number == number)) {
            return Err(refused("Pull request is already in the merge queue"));
        }
        let unmet = self.unmet_before_queue(about, pull);
        if !around && !unmet.is_empty() {
            return Err(refused(&unmet.join("\n")));
        }
        let (base, head) = (pull.base_ref.clone(), pull.head_sha.clone());
        let (id, enqueued_at) = (self.new_id(), self.now());
        let entry = QueueEntry { id, number, head, by: by.clone(), enqueued_at, group: None };
        self.repo_mut(repo)?.queues.entry(base).or_default().push(entry);
        self.tell_pull(repo, number, "enqueued", &by, json!({}))?;
        self.advance_queues(repo)
    }

    /// Lets every queue of a repository go as far as it can.
    pub(crate) fn advance_queues(&mut self, repo: u64) -> Result<(), Problem> {
        let branches: Vec<String> = self.repo(repo)?.queues.keys().cloned().collect();
        for branch in branches {
            while self.advance(repo, &branch)? {}
        }
        Ok(())
    }

    /// One step; whether there may be another.
    fn advance(&mut self, repo: u64, branch: &str) -> Result<bool, Problem> {
        let line = self.line(repo, branch)?;
        // Who pushes to a pull request, closes it or aims it elsewhere takes it out.
        let gone = line.iter().position(|entry| {
            self.pull(repo, entry.number)
                .map_or(true, |(issue, pull)| !issue.open || pull.base_ref != branch || pull.head_sha != entry.head)
        });
        if let Some(at) = gone.filter(|_| !self.queue_ignores_pushes) {
            self.leave(repo, branch, at, "dequeued")?;
            return Ok(true);
        }
        let Some(tip) = self.git(repo)?.branch(branch) else { return Ok(false) };
        // The base was moved by something else: every group is built anew.
        let stale = |group: &QueueGroup| group.base != tip.to_string();
        if line.first().and_then(|entry| entry.group.as_ref()).is_some_and(stale) {
            self.destroy_from(repo, branch, 0, "invalidated")?;
            return Ok(true);
        }
        if let Some(at) = line.iter().position(|entry| entry.group.is_none()) {
            let ahead = at.checked_sub(1).and_then(|ahead| line.get(ahead)?.group.as_ref());
            let base = ahead.map_or(Ok(tip), |group| oid(&group.head))?;
            self.build(repo, branch, at, base)?;
            return Ok(true);
        }
        let Some((number, group)) = line.first().and_then(|entry| Some((entry.number, entry.group.clone()?))) else {
            return Ok(false);
        };
        let about = self.repo(repo)?;
        let (open, failing) = self.required_on(about, branch, &group.head);
        if failing {
            self.leave(repo, branch, 0, "dequeued")?;
        } else if !open {
            self.land(repo, branch, number, &group)?;
        }
        Ok(failing || !open)
    }

    fn line(&self, repo: u64, branch: &str) -> Result<Vec<QueueEntry>, Problem> {
        Ok(self.repo(repo)?.queues.get(branch).cloned().unwrap_or_default())
    }

    /// Builds the group of the entry at this place on top of `base`. One that can't be merged is out.
    fn build(&mut self, repo: u64, branch: &str, at: usize, base: Oid) -> Result<(), Problem> {
        let Some(entry) = self.line(repo, branch)?.into_iter().nth(at) else { return Ok(()) };
        let method = self.queue_method(self.repo(repo)?, branch).unwrap_or(QueueMethod::Merge);
        let git = self.git(repo)?;
        let head = oid(&entry.head)?;
        let Merged::Tree(tree) = git.merge(base, head)? else { return self.leave(repo, branch, at, "dequeued") };
        let (title, who) = (self.issue(repo, entry.number)?.title.clone(), ("GitHub", "noreply@github.com"));
        let commit = match method {
            QueueMethod::Merge => {
                let message = format!("Merge pull request #{} into {branch}\n\n{title}", entry.number);
                git.commit(tree, &[base, head], &message, who, who)?
            }
            QueueMethod::Squash => git.commit(tree, &[base], &format!("{title} (#{})", entry.number), who, who)?,
        };
        self.take_group(repo, branch, at, base, commit)
    }

    /// Puts a commit on the queue's own branch and asks for its checks.
    fn take_group(&mut self, repo: u64, branch: &str, at: usize, base: Oid, commit: Oid) -> Result<(), Problem> {
        let Some(entry) = self.line(repo, branch)?.into_iter().nth(at) else { return Ok(()) };
        let name = format!("gh-readonly-queue/{branch}/pr-{}-{base}", entry.number);
        let group = QueueGroup { branch: name.clone(), head: commit.to_string(), base: base.to_string() };
        if let Some(entry) = self.repo_mut(repo)?.queues.get_mut(branch).and_then(|line| line.get_mut(at)) {
            entry.group = Some(group.clone());
        }
        let refname = format!("refs/heads/{name}");
        let old = self.git(repo)?.reference(&refname);
        self.move_ref(repo, &refname, Move { old, new: Some(commit) }, &entry.by)?;
        self.tell_group(repo, branch, &group, "checks_requested", None, &entry.by)
    }

    fn tell_group(
        &mut self,
        repo: u64,
        branch: &str,
        group: &QueueGroup,
        action: &str,
        reason: Option<&str>,
        by: &Account,
    ) -> Result<(), Problem> {
        let commit = self.simple_commit_json(&self.git(repo)?, oid(&group.head)?)?;
        let mut fields = json!({"merge_group": {
            "head_sha": group.head, "head_ref": format!("refs/heads/{}", group.branch),
            "base_sha": group.base, "base_ref": format!("refs/heads/{branch}"), "head_commit": commit,
        }});
        if let Some(reason) = reason {
            fields["reason"] = reason.into();
        }
        self.emit(repo, "merge_group", Some(action), by, fields);
        Ok(())
    }

    /// The entry at this place is out; what is behind it is built anew.
    fn leave(&mut self, repo: u64, branch: &str, at: usize, reason: &str) -> Result<(), Problem> {
        self.destroy_from(repo, branch, at, reason)?;
        let Some(line) = self.repo_mut(repo)?.queues.get_mut(branch) else { return Ok(()) };
        let entry = line.remove(at);
        self.tell_pull(repo, entry.number, "dequeued", &entry.by, json!({"reason": "CI_FAILURE"}))
    }

    /// Takes the groups from this place on away.
    fn destroy_from(&mut self, repo: u64, branch: &str, at: usize, reason: &str) -> Result<(), Problem> {
        for place in (at..self.line(repo, branch)?.len()).rev() {
            let Some(entry) = self.repo_mut(repo)?.queues.get_mut(branch).and_then(|line| line.get_mut(place)) else {
                continue;
            };
            let by = entry.by.clone();
            if let Some(group) = entry.group.take() {
                self.destroy(repo, branch, &group, reason, &by)?;
            }
        }
        Ok(())
    }

    fn destroy(
        &mut self,
        repo: u64,
        branch: &str,
        group: &QueueGroup,
        reason: &str,
        by: &Account,
    ) -> Result<(), Problem> {
        let refname = format!("refs/heads/{}", group.branch);
        if let Some(old) = self.git(repo)?.reference(&refname) {
            self.move_ref(repo, &refname, Move { old: Some(old), new: None }, by)?;
        }
        self.tell_group(repo, branch, group, "destroyed", Some(reason), by)
    }

    /// The first in line goes in: the base becomes its group's commit.
    fn land(&mut self, repo: u64, branch: &str, number: u64, group: &QueueGroup) -> Result<(), Problem> {
        let Some(line) = self.repo_mut(repo)?.queues.get_mut(branch) else { return Ok(()) };
        let by = line.remove(0).by;
        let (old, new) = (oid(&group.base)?, oid(&group.head)?);
        let at = self.tick();
        let pull = self.pull_mut(repo, number)?;
        pull.merged_at = Some(at);
        pull.merged_by = Some(by.clone());
        pull.merge_commit_sha = Some(group.head.clone());
        self.close_pull(repo, number, &by)?;
        self.move_ref(repo, &format!("refs/heads/{branch}"), Move { old: Some(old), new: Some(new) }, &by)?;
        if let Some(last) = self.repo_mut(repo)?.activities.last_mut() {
            last.kind = "pr_merge";
        }
        self.destroy(repo, branch, group, "merged", &by)
    }
}

impl Admin {
    /// The default branch is merged into through a queue from now on.
    pub fn require_queue(&self, repo: &str, method: QueueMethod) -> Admitted<u64> {
        let rules = vec![Rule::MergeQueue { method }];
        self.add_ruleset(repo, "merge queue", &["~DEFAULT_BRANCH"], rules, Vec::new())
    }

    /// Somebody puts a pull request into the queue. Answers its group's commit.
    pub fn enqueue(&self, repo: &str, login: &str, number: u64) -> Admitted<String> {
        self.put_in_line(repo, login, number, false)
    }

    /// The same past everything that the base asks for. A stage's device: on GitHub it takes rules that somebody lifted.
    pub fn enqueue_anyway(&self, repo: &str, login: &str, number: u64) -> Admitted<String> {
        self.put_in_line(repo, login, number, true)
    }

    fn put_in_line(&self, repo: &str, login: &str, number: u64, around: bool) -> Admitted<String> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        let account = state.account(login).ok_or_else(Problem::not_found)?.clone();
        let actor = Actor::User(account);
        state.demand(&actor, state.repo(repo)?, &[("pull_requests", Level::Write)], Role::Write, true)?;
        state.enqueue(repo, number, &actor, around)?;
        let queues = &state.repo(repo)?.queues;
        let entry = queues.values().flatten().find(|entry| entry.number == number);
        let group = entry.and_then(|entry| entry.group.as_ref());
        Ok(group.map(|group| group.head.clone()).ok_or_else(|| Problem::new(409, "It can't be merged"))?)
    }

    /// The queue of a branch, first in line first.
    pub fn queue(&self, repo: &str, branch: &str) -> Admitted<Vec<QueueEntry>> {
        let state = self.state();
        let id = self.find(&state, repo)?;
        Ok(state.line(id, branch)?)
    }

    /// The next so many times that a queue's list is asked for, it is told as it was before anybody came: replica lag.
    pub fn queue_lags(&self, times: u32) {
        self.state().queue_lag = times;
    }

    /// A push does not take a pull request out of the queue any more. A stage's device: GitHub takes it out.
    pub fn queue_ignores_pushes(&self, ignores: bool) {
        self.state().queue_ignores_pushes = ignores;
    }

    /// The group of a pull request gets more files than its members bring. A stage's device: nobody can push to a queue's
    /// branches on GitHub.
    pub fn slip_into_group(&self, repo: &str, number: u64, files: &[(&str, &str)]) -> Admitted<String> {
        let mut state = self.state();
        let id = self.find(&state, repo)?;
        let queues = state.repo(id)?.queues.clone();
        let found = queues.into_iter().find_map(|(branch, line)| {
            let at = line.iter().position(|entry| entry.number == number)?;
            Some((branch, at, line.get(at)?.group.clone()?))
        });
        let (branch, at, group) = found.ok_or_else(|| Error::from(Problem::not_found()))?;
        let git = state.git(id)?;
        let changes: Vec<Change> =
            files.iter().map(|(path, text)| ((*path).to_owned(), Some(text.as_bytes().to_vec()))).collect();
        let (base, old) = (oid(&group.base)?, git.0.find_commit(oid(&group.head)?)?);
        let tree = git.tree_with(Some(old.tree_id()), &changes)?;
        let parents: Vec<Oid> = old.parent_ids().collect();
        let who = ("GitHub", "noreply@github.com");
        let commit = git.commit(tree, &parents, old.message().unwrap_or_default(), who, who)?;
        state.take_group(id, &branch, at, base, commit)?;
        Ok(commit.to_string())
    }
}
