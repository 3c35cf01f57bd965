//! The handle behind the scenes: makes things happen, silently where asked, and looks at what came of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, MutexGuard};

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::api::actions::Ran;
use super::auth::{Actor, Scope};
use super::bad_day::{BadDay, Switch, Weather};
use super::exchange::Exchange;
use super::feature::Feature;
use super::git::Change;
use super::http::{Told, whole};
use super::model::*;
use super::push::Pushed;
use super::reply::Problem;
use super::route::Request;
use super::stage::Stage;
use super::state::{Fault, State};
use super::{Result, Shared, exchange, lock};

/// Control of a running twin. Cheap to clone.
#[derive(Clone)]
pub struct Admin {
    shared: Shared,
    quiet: bool,
}

/// The state, with webhooks muted for as long as it is held by a quiet admin.
pub(crate) struct Held<'a> {
    state: MutexGuard<'a, State>,
}

impl Deref for Held<'_> {
    type Target = State;
    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.state.quiet = false;
    }
}

impl Admin {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared, quiet: false }
    }

    pub(crate) fn state(&self) -> Held<'_> {
        let mut state = lock(&self.shared);
        state.quiet = self.quiet;
        Held { state }
    }

    pub(crate) fn find(&self, state: &State, slug: &str) -> std::result::Result<u64, Problem> {
        let (owner, name) = slug.split_once('/').ok_or_else(Problem::not_found)?;
        state.repo_id(owner, name).ok_or_else(Problem::not_found)
    }

    /// The same control, but what it does sends no webhook: for stories about missed deliveries.
    pub fn quiet(&self) -> Self {
        Self { quiet: true, ..self.clone() }
    }

    /// Does what a person's API call would do, with their rights. `path` is below the API base and may have a query.
    pub fn call_as(&self, login: &str, method: &str, path: &str, body: Value) -> Result<Value> {
        let mut state = self.state();
        let account = state.account(login).ok_or_else(Problem::not_found)?.clone();
        call(&mut state, Actor::User(account), method, path, body)
    }

    /// Does what an App's API call would do on a repository it is installed on; as GitHub Actions on any.
    pub fn call_as_app(&self, app: u64, repo: &str, method: &str, path: &str, body: Value) -> Result<Value> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        let actor = app_actor(&state, app, repo)?;
        call(&mut state, actor, method, path, body)
    }

    /// Adds a commit to a branch as this person, who must be allowed to. A missing branch starts at the default one.
    /// `None` deletes a file. Answers the new commit.
    pub fn commit(
        &self,
        repo: &str,
        login: &str,
        branch: &str,
        message: &str,
        files: &[(&str, Option<&str>)],
    ) -> Result<String> {
        self.commit_onto(repo, login, branch, None, message, files)
    }

    /// As [`Admin::commit`], but on top of `onto` (a branch, tag or commit): a force-push when that is not the
    /// branch's head.
    pub fn commit_onto(
        &self,
        repo: &str,
        login: &str,
        branch: &str,
        onto: Option<&str>,
        message: &str,
        files: &[(&str, Option<&str>)],
    ) -> Result<String> {
        let mut state = self.state();
        let id = self.find(&state, repo)?;
        let account = state.account(login).ok_or_else(Problem::not_found)?.clone();
        let changes: Vec<Change> =
            files.iter().map(|(path, text)| ((*path).to_owned(), text.map(|text| text.as_bytes().to_vec()))).collect();
        let new = state.push_commit(id, &account, &Pushed { branch, onto, message, changes: &changes })?;
        Ok(new.to_string())
    }

    /// Opens a pull request and answers its number.
    pub fn open_pull(&self, repo: &str, login: &str, title: &str, head: &str, base: &str) -> Result<u64> {
        let body = json!({"title": title, "head": head, "base": base});
        let made = self.call_as(login, "POST", &format!("/repos/{repo}/pulls"), body)?;
        Ok(made["number"].as_u64().unwrap_or_default())
    }

    /// Says something on an issue or pull request and answers the comment's id.
    pub fn comment(&self, repo: &str, login: &str, number: u64, body: &str) -> Result<u64> {
        let path = format!("/repos/{repo}/issues/{number}/comments");
        let made = self.call_as(login, "POST", &path, json!({"body": body}))?;
        Ok(made["id"].as_u64().unwrap_or_default())
    }

    /// Switches a repository's issues on or off. Its pull requests go on.
    pub fn set_issues(&self, repo: &str, on: bool) -> Result<()> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        state.repo_mut(repo)?.has_issues = on;
        Ok(())
    }

    /// Somebody deletes an issue, with everything on it.
    pub fn delete_issue(&self, repo: &str, login: &str, number: u64) -> Result<()> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        let by = state.account(login).ok_or_else(Problem::not_found)?.clone();
        state.issue(repo, number)?;
        Ok(super::api::issues::delete(&mut state, repo, number, &by)?)
    }

    /// A branch ruleset. `include` has full ref patterns (`refs/heads/main`), `~DEFAULT_BRANCH` or `~ALL`.
    pub fn add_ruleset(
        &self,
        repo: &str,
        name: &str,
        include: &[&str],
        rules: Vec<Rule>,
        bypass: Vec<Bypass>,
    ) -> Result<u64> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        let id = state.new_id();
        let include = include.iter().map(|pattern| (*pattern).to_owned()).collect();
        let ruleset = Ruleset { id, name: name.to_owned(), include, rules, bypass };
        state.repo_mut(repo)?.rulesets.insert(id, ruleset);
        Ok(id)
    }

    /// The ruleset that reserves the ledger's branch for its App.
    pub fn reserve_branch(&self, repo: &str, branch: &str, app: u64) -> Result<u64> {
        let rules = vec![Rule::Creation, Rule::Update, Rule::Deletion, Rule::NonFastForward];
        self.add_ruleset(repo, branch, &[&format!("refs/heads/{branch}")], rules, vec![Bypass::App(app)])
    }

    /// Requires checks on the default branch, each pinned to an App where one is given.
    pub fn require_checks(&self, repo: &str, checks: &[(&str, Option<u64>)]) -> Result<u64> {
        let checks = checks
            .iter()
            .map(|(context, app)| RequiredCheck { context: (*context).to_owned(), integration_id: *app })
            .collect();
        let rules = vec![Rule::RequiredChecks { checks, strict: false }];
        self.add_ruleset(repo, "required checks", &["~DEFAULT_BRANCH"], rules, Vec::new())
    }

    /// From now on only those see it who were let in.
    pub fn make_private(&self, repo: &str) -> Result<()> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        state.repo_mut(repo)?.private = true;
        Ok(())
    }

    pub fn remove_ruleset(&self, repo: &str, id: u64) -> Result<()> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        state.repo_mut(repo)?.rulesets.remove(&id).ok_or_else(Problem::not_found)?;
        Ok(())
    }

    /// A workflow of GitHub Actions ran on a commit, and its jobs ended so (`None`: still running). Answers the id of
    /// the run; its jobs are check runs with the same ids.
    pub fn workflow_run(
        &self,
        repo: &str,
        head_sha: &str,
        path: &str,
        event: &str,
        jobs: &[(&str, Option<&str>)],
    ) -> Result<u64> {
        self.workflow_run_as(None, repo, head_sha, path, event, jobs)
    }

    /// An id for a run that begins before GitHub is told of it.
    pub fn new_run(&self) -> u64 {
        self.state().new_id()
    }

    /// The same under an id that was given out before.
    pub fn workflow_run_as(
        &self,
        id: Option<u64>,
        repo: &str,
        head_sha: &str,
        path: &str,
        event: &str,
        jobs: &[(&str, Option<&str>)],
    ) -> Result<u64> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        state.about_to_write();
        let jobs: Vec<_> = jobs.iter().map(|(name, end)| ((*name).to_owned(), end.map(str::to_owned))).collect();
        let actor = state.repo(repo)?.owner.clone();
        let run = state.record_workflow_run(
            repo,
            &Ran { id, sha: head_sha, path, event, asked: None, jobs: &jobs },
            &actor,
        )?;
        state.advance_queues(repo)?;
        Ok(run)
    }

    /// A run that somebody asked for comes to its end.
    pub fn end_run(&self, repo: &str, run: u64, conclusion: &str) -> Result<()> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        Ok(state.end_run(repo, run, conclusion)?)
    }

    /// The runs of a workflow's file that somebody asked for, oldest first: each with what it was given.
    pub fn dispatched(&self, repo: &str, path: &str) -> Result<Vec<(u64, Value)>> {
        let state = self.state();
        let repo = state.repo(self.find(&state, repo)?)?;
        let of_file =
            |asked: &&Dispatch| asked.workflow.as_ref().is_some_and(|file| path.ends_with(&format!("/{file}")));
        let asked = repo.dispatches.iter().filter(of_file).filter_map(|asked| Some((asked.run?, asked.inputs.clone())));
        Ok(asked.collect())
    }

    /// The end of a run on this commit starts another, of a file that waits for that. Answers its id.
    pub fn run_after(&self, repo: &str, path: &str, head: &str) -> Result<u64> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        state.about_to_write();
        Ok(state.begin_after(repo, path, head)?)
    }

    /// A workflow run is run again: another attempt of it, with these of its jobs.
    pub fn rerun(&self, repo: &str, run: u64, jobs: &[(&str, Option<&str>)]) -> Result<()> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        let jobs: Vec<_> = jobs.iter().map(|(name, end)| ((*name).to_owned(), end.map(str::to_owned))).collect();
        let actor = state.repo(repo)?.owner.clone();
        state.attempt(repo, run, &jobs, &actor)?;
        Ok(state.advance_queues(repo)?)
    }

    /// Posts a check run as any App that is installed, or as GitHub Actions. Answers its id.
    pub fn check_run_as(&self, app: u64, repo: &str, body: Value) -> Result<u64> {
        let made = self.call_as_app(app, repo, "POST", &format!("/repos/{repo}/check-runs"), body)?;
        Ok(made["id"].as_u64().unwrap_or_default())
    }

    pub fn commit_status(&self, repo: &str, login: &str, sha: &str, context: &str, state: &str) -> Result<()> {
        let body = json!({"state": state, "context": context});
        self.call_as(login, "POST", &format!("/repos/{repo}/statuses/{sha}"), body).map(drop)
    }

    /// Marks a pull request as a draft, or as ready for review.
    pub fn set_draft(&self, repo: &str, login: &str, number: u64, draft: bool) -> Result<()> {
        let mut state = self.state();
        let id = self.find(&state, repo)?;
        let account = state.account(login).ok_or_else(Problem::not_found)?.clone();
        Ok(super::graphql::draft_or_ready(&mut state, &Actor::User(account), (id, number), draft)?)
    }

    /// Presses a button of a check run. The button must be there, and the person must be able to write.
    pub fn press(&self, repo: &str, run: u64, identifier: &str, login: &str) -> Result<()> {
        let mut state = self.state();
        let id = self.find(&state, repo)?;
        let account = state.account(login).ok_or_else(Problem::not_found)?.clone();
        Ok(state.press(id, run, identifier, &account)?)
    }

    /// What a visitor who acts from a page waits for, before they are told that it is done: so that the next thing they
    /// do finds everything that followed from this one. It answers whether all of it has happened.
    pub fn settle_after_acts(&self, settles: impl Fn(Admin) -> BoxFuture<'static, bool> + Send + Sync + 'static) {
        self.state().settles = Some(Arc::new(settles));
    }

    /// Lets whoever reaches a repository's pages act as one of the cast there: for demos.
    pub fn open_stage(&self, repo: &str, stage: Stage) -> Result<()> {
        let mut state = self.state();
        let id = self.find(&state, repo)?;
        state.stages.insert(id, stage);
        Ok(())
    }

    /// From now on this GitHub is without something, as if it had never been built.
    pub fn without(&self, feature: Feature) {
        self.state().without.insert(feature);
    }

    /// Plays a failure on the next requests that match.
    pub fn inject(&self, fault: Fault) {
        self.state().faults.push(fault);
    }

    /// Forgets the failures that were not played. Says how many requests they would still have hit.
    pub fn clear_faults(&self) -> u32 {
        let faults = std::mem::take(&mut self.state().faults);
        faults.iter().fold(0, |left, fault| left.saturating_add(fault.times))
    }

    /// From now on GitHub has a bad day, until [`Admin::calm`].
    pub fn bad_day(&self, day: BadDay) {
        self.state().begin_day(day);
    }

    /// How often each switch struck on the last bad day that is over.
    pub fn past_day(&self) -> Option<BTreeMap<Switch, u64>> {
        self.state().past_day.clone()
    }

    /// Lets go the deliveries that are held back. Says how many there were.
    pub fn release(&self) -> usize {
        self.state().release()
    }

    /// The day is over: what was held back is let go. Says how often each switch struck.
    pub fn calm(&self) -> BTreeMap<Switch, u64> {
        self.state().calm()
    }

    /// How often each switch struck so far.
    pub fn struck(&self) -> BTreeMap<Switch, u64> {
        self.state().weather.as_ref().map(Weather::struck).unwrap_or_default()
    }

    /// The day that it is, when it is a bad one.
    pub fn day(&self) -> Option<BadDay> {
        self.state().weather.as_ref().map(|weather| weather.day().clone())
    }

    /// What GitHub's clock says. It may be ahead of the one that it goes by: moments whose order matters have a second each.
    pub fn time(&self) -> jiff::Timestamp {
        self.state().now()
    }

    /// Sets the clock that GitHub goes by. Without one it is the machine's.
    pub fn set_clock(&self, clock: impl Fn() -> jiff::Timestamp + Send + Sync + 'static) {
        self.state().clock = Arc::new(clock);
    }

    /// Leaves an installation this many REST calls of its hour.
    pub fn set_remaining(&self, installation: u64, remaining: u64) {
        let mut state = self.state();
        let quota = state.quota(&format!("installation:{installation}"), 5_000);
        quota.used = quota.limit.saturating_sub(remaining);
    }

    /// Everybody's hour of calls begins anew.
    pub fn new_hour(&self) {
        self.state().quotas.clear();
    }

    /// Waits until every webhook that was queued has been attempted.
    pub async fn wait_idle(&self) {
        let mut pending = lock(&self.shared).post.pending();
        // The sender lives as long as the twin; without it nothing is pending.
        let _ = pending.wait_for(|count| *count == 0).await;
    }

    /// What happened since this was last asked, as a workflow that is started by it gets it. The first call begins it.
    pub fn happened(&self) -> Vec<Happened> {
        self.state().bus.replace(Vec::new()).unwrap_or_default()
    }

    /// Says what is played here, for those who keep what was said.
    pub fn plays(&self, story: &str) {
        self.state().story = story.to_owned();
    }

    /// Every API request so far, in order. What an admin does is not among them.
    pub fn request_log(&self) -> Vec<Logged> {
        self.state().log.clone()
    }

    pub fn clear_log(&self) {
        self.state().log.clear();
    }

    /// Everything about a repository, as it is now.
    pub fn repo(&self, repo: &str) -> Result<Repo> {
        let state = self.state();
        Ok(state.repo(self.find(&state, repo)?)?.clone())
    }

    pub fn issue(&self, repo: &str, number: u64) -> Result<Issue> {
        let state = self.state();
        Ok(state.issue(self.find(&state, repo)?, number)?.clone())
    }

    /// The names of the labels on an issue or pull request, in alphabetical order.
    pub fn labels(&self, repo: &str, number: u64) -> Result<Vec<String>> {
        let state = self.state();
        let id = self.find(&state, repo)?;
        let (repo, issue) = (state.repo(id)?, state.issue(id, number)?);
        let names: BTreeSet<String> =
            issue.labels.iter().filter_map(|id| repo.labels.get(id)).map(|label| label.name.clone()).collect();
        Ok(names.into_iter().collect())
    }

    pub fn comments(&self, repo: &str, number: u64) -> Result<Vec<Comment>> {
        let state = self.state();
        let repo = state.repo(self.find(&state, repo)?)?;
        Ok(repo.comments.values().filter(|comment| comment.issue == number).cloned().collect())
    }

    /// All check runs on a commit, oldest first, superseded ones too.
    pub fn check_runs(&self, repo: &str, sha: &str) -> Result<Vec<CheckRun>> {
        let state = self.state();
        let repo = state.repo(self.find(&state, repo)?)?;
        Ok(repo.check_runs.values().filter(|run| run.head_sha == sha).cloned().collect())
    }

    /// How often a delivery to an App was attempted.
    pub fn attempts(&self, app: u64) -> usize {
        self.state().deliveries.values().filter(|one| one.app == app).count()
    }

    /// Whether something could not be delivered to an App, however often it was attempted.
    pub fn undelivered(&self, app: u64) -> bool {
        let state = self.state();
        let mut arrived: BTreeMap<&str, bool> = BTreeMap::new();
        for attempt in state.deliveries.values().filter(|one| one.app == app) {
            let fine = attempt.outcome.as_ref().is_some_and(|outcome| (200..300).contains(&outcome.status_code));
            *arrived.entry(&attempt.guid).or_default() |= fine;
        }
        arrived.values().any(|arrived| !arrived)
    }

    /// All delivery attempts to an App, oldest first.
    pub fn deliveries(&self, app: u64) -> Vec<Delivery> {
        self.state().deliveries.values().filter(|one| one.app == app).cloned().collect()
    }

    /// The head of a branch.
    pub fn branch(&self, repo: &str, branch: &str) -> Result<Option<String>> {
        let state = self.state();
        Ok(state.git(self.find(&state, repo)?)?.branch(branch).map(|id| id.to_string()))
    }

    /// A file at a revision, as text.
    pub fn file(&self, repo: &str, rev: &str, path: &str) -> Result<Option<String>> {
        let state = self.state();
        let git = state.git(self.find(&state, repo)?)?;
        let Some((id, ..)) = git.resolve(rev).and_then(|commit| git.entry(commit, path)) else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(git.0.find_blob(id)?.content()).into_owned()))
    }
}

fn app_actor(state: &State, app: u64, repo: u64) -> std::result::Result<Actor, Problem> {
    let known = state.apps.get(&app).ok_or_else(Problem::not_found)?;
    let scope = if app == ACTIONS_APP {
        let repos = Some(BTreeSet::from([repo]));
        Scope { app, installation: 0, permissions: known.permissions.clone(), repos }
    } else {
        let one = state.installation_on(app, repo).ok_or_else(Problem::not_for_integration)?;
        Scope { app, installation: one.id, permissions: one.permissions.clone(), repos: None }
    };
    Ok(Actor::Installation { bot: known.bot.clone(), scope })
}

fn call(state: &mut State, actor: Actor, method: &str, path: &str, body: Value) -> Result<Value> {
    if method != "GET" {
        state.about_to_write();
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let answer = state.answer(actor, Request { method, path, query, accept: "", body }).map(whole);
    if exchange::wanted() {
        let (status, response) = match &answer {
            Ok((status, Told::Json(value))) => (*status, Some(Cow::Borrowed(value))),
            Ok((status, _)) => (*status, None),
            Err(problem) => (problem.status, Some(Cow::Owned(problem.json()))),
        };
        let raw = matches!(answer, Ok((_, Told::Raw(_))));
        let (bot, played, request, response) = (false, false, None, response.map(exchange::Body::Value));
        let told = Exchange::Rest { method, path, query, status, bot, played, raw, request, response };
        exchange::keep(&state.story, told);
    }
    Ok(match answer?.1 {
        Told::Json(value) => value,
        Told::Raw(bytes) => String::from_utf8_lossy(&bytes).into(),
        Told::Elsewhere(address) => address.into(),
        Told::Nothing => Value::Null,
    })
}
