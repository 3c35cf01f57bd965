//! What visitors may do from a page: speak, review, push, play CI, merge, and spoil the day, as one of the cast.
//!
//! Only where the stage was opened to them ([`Admin::open_stage`](super::super::Admin::open_stage)): nobody signs in
//! here, so whoever reaches the page acts as whom they choose. What they do goes the way of the API or of a push, with
//! that person's rights; only CI, which has no person, is played.

use serde_json::{Value, json};

use super::super::api::actions::Ran;
use super::super::auth::Actor;
use super::super::git::Change;
use super::super::http::{Told, whole};
use super::super::model::*;
use super::super::push::Pushed;
use super::super::reply::Problem;
use super::super::route::{Request, parse_query};
use super::super::stage::{Prepared, Stage};
use super::super::state::State;
use super::pull::kind;
use super::{day, plain_page, safe};

/// A form that came in.
pub(crate) struct Form<'a> {
    pub(crate) path: &'a str,
    pub(crate) body: &'a [u8],
    /// The `Origin` header. A browser always sends it with a form.
    pub(crate) origin: Option<&'a str>,
}

/// Where to go when it is done.
pub(crate) struct Next {
    pub(crate) path: String,
    /// Something may follow from it that is to be seen there.
    pub(crate) waits: bool,
}

impl Next {
    /// The address, for a browser. With `fresh` the page comes again by itself.
    pub(crate) fn address(&self, fresh: bool) -> String {
        let (query, place) = (if fresh { "?fresh" } else { "" }, if self.waits { "#latest" } else { "" });
        format!("{}{query}{place}", self.path)
    }
}

/// Why it was not done, in plain text or as a page.
pub(crate) fn refused(problem: &Problem, path: &str, as_page: bool) -> String {
    let message = match problem.status {
        // GitHub's own words would leave a visitor alone with it.
        404 => "Not Found: GitHub says so of what is not there, and to whoever may not do it. Try as somebody else.",
        _ => problem.message.trim(),
    };
    let more = problem.errors.as_ref().map(in_words);
    if !as_page {
        return format!("refused: {message}\n{}", more.map(|more| format!("{more}\n")).unwrap_or_default());
    }
    let more = more.map(|more| format!("<pre>{}</pre>", safe(&more)));
    let told = format!(
        "<section class=\"box\"><div class=\"verdict bad\"><pre>{}</pre>{}</div></section>\
         <p><a href=\"{}\">Back</a></p>",
        safe(message),
        more.unwrap_or_default(),
        safe(path.strip_suffix("/act").unwrap_or("/"))
    );
    plain_page("That was refused", &told)
}

/// GitHub's details of a refusal, a line each.
fn in_words(errors: &Value) -> String {
    let line = |error: &Value| match (error.as_str(), error["message"].as_str()) {
        (Some(text), _) | (None, Some(text)) => text.to_owned(),
        (None, None) => {
            let parts = ["resource", "field", "code"].into_iter().filter_map(|key| error[key].as_str());
            parts.collect::<Vec<_>>().join(" ")
        }
    };
    let lines: Vec<String> = errors.as_array().into_iter().flatten().map(line).collect();
    lines.join("\n")
}

/// Where a form is, and what it says.
struct Asked<'a> {
    owner: &'a str,
    name: &'a str,
    repo: u64,
    stage: Stage,
    fields: Vec<(String, String)>,
}

impl Asked<'_> {
    fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str())
    }

    /// Whom the visitor acts as.
    fn visitor(&self, state: &State) -> Result<Account, Problem> {
        let login = self.stage.cast.iter().find(|login| *login == self.field("as")).ok_or_else(Problem::not_found)?;
        state.account(login).cloned().ok_or_else(Problem::not_found)
    }

    fn page(&self) -> Next {
        Next { path: format!("/{}/{}", self.owner, self.name), waits: false }
    }

    fn page_of(&self, state: &State, number: u64) -> Result<Next, Problem> {
        let kind = kind(state.issue(self.repo, number)?);
        Ok(Next { path: format!("/{}/{}/{kind}/{number}", self.owner, self.name), waits: true })
    }

    /// Does it over the API, as the visitor.
    fn call(&self, state: &mut State, method: &str, below: &str, body: Value) -> Result<Value, Problem> {
        let by = self.visitor(state)?;
        state.about_to_write();
        let path = format!("/repos/{}/{}{below}", self.owner, self.name);
        let reply = state.answer(Actor::User(by), Request { method, path: &path, query: "", accept: "", body })?;
        Ok(match whole(reply).1 {
            Told::Json(made) => made,
            _ => Value::Null,
        })
    }
}

/// Does what the form says. Gives where to go then.
pub(crate) fn act(state: &mut State, form: &Form<'_>) -> Result<Next, Problem> {
    // Another site's page may not send forms here with the visitor's browser.
    let port = state.base.rsplit(':').next().unwrap_or_default().to_owned();
    let ours = |origin: &str| origin == state.base || origin == format!("http://localhost:{port}");
    if form.origin.is_some_and(|origin| !ours(origin)) {
        return Err(Problem::new(403, "This form came from another site."));
    }
    let parts: Vec<&str> = form.path.split('/').filter(|part| !part.is_empty()).collect();
    let parsed = |text: &str| text.parse::<u64>().map_err(|_| Problem::not_found());
    let (owner, name, number, run) = match parts.as_slice() {
        [owner, name, "act"] => (*owner, *name, None, None),
        [owner, name, "pull" | "issues", number, "act"] => (*owner, *name, Some(parsed(number)?), None),
        [owner, name, "runs", run, "act"] => (*owner, *name, None, Some(parsed(run)?)),
        _ => return Err(Problem::not_found()),
    };
    let repo = state.repo_id(owner, name).ok_or_else(Problem::not_found)?;
    let stage = state.stages.get(&repo).ok_or_else(Problem::not_found)?.clone();
    let asked = Asked { owner, name, repo, stage, fields: parse_query(&String::from_utf8_lossy(form.body)) };
    if let Some(run) = run {
        let by = asked.visitor(state)?;
        state.press(repo, run, asked.field("press"), &by)?;
        return shown_at(state, &asked, run);
    }
    match (number, asked.field("do")) {
        (_, "bad-day") => {
            let day = day::asked(&|name| asked.field(name).to_owned())?;
            state.begin_day(day);
            number.map_or_else(|| Ok(asked.page()), |number| asked.page_of(state, number))
        }
        (_, "calm") => {
            state.calm();
            number.map_or_else(|| Ok(asked.page()), |number| asked.page_of(state, number))
        }
        (None, "begin") => begin(state, &asked),
        (None, "open") => opened(state, &asked, asked.field("branch"), asked.field("title")),
        (Some(number), "push") => push(state, &asked, number),
        (Some(number), "enqueue") => {
            let actor = Actor::User(asked.visitor(state)?);
            state.demand(&actor, state.repo(repo)?, &[("pull_requests", Level::Write)], Role::Write, true)?;
            state.about_to_write();
            state.enqueue(repo, number, &actor, false)?;
            asked.page_of(state, number)
        }
        (Some(number), "ci-green") => ci(state, &asked, number, "success"),
        (Some(number), "ci-red") => ci(state, &asked, number, "failure"),
        (Some(number), what) => {
            let words = asked.field("body");
            let review =
                |event: &str| ("POST", format!("/pulls/{number}/reviews"), json!({"event": event, "body": words}));
            let turn = |to: &str| ("PATCH", format!("/issues/{number}"), json!({ "state": to }));
            let (method, below, body) = match what {
                "comment" => ("POST", format!("/issues/{number}/comments"), json!({ "body": words })),
                "approve" => review("APPROVE"),
                "request-changes" => review("REQUEST_CHANGES"),
                "merge" => ("PUT", format!("/pulls/{number}/merge"), json!({})),
                "close" => turn("closed"),
                "reopen" => turn("open"),
                _ => return Err(no_such_thing()),
            };
            asked.call(state, method, &below, body)?;
            asked.page_of(state, number)
        }
        (None, _) => Err(no_such_thing()),
    }
}

fn no_such_thing() -> Problem {
    Problem::invalid("There is no such thing to do.")
}

/// Where what follows from a run's button is seen: the pull request, or the run where there is none.
fn shown_at(state: &State, asked: &Asked<'_>, run: u64) -> Result<Next, Problem> {
    let repo = state.repo(asked.repo)?;
    let head = repo.check_runs.get(&run).map_or("", |run| run.head_sha.as_str());
    match repo.pulls_at(head).next() {
        Some((issue, _)) => asked.page_of(state, issue.number),
        None => Ok(Next { path: format!("/{}/runs/{run}", repo.full_name()), waits: false }),
    }
}

fn opened(state: &mut State, asked: &Asked<'_>, branch: &str, title: &str) -> Result<Next, Problem> {
    let base = state.repo(asked.repo)?.default_branch.clone();
    let made = asked.call(state, "POST", "/pulls", json!({"title": title, "head": branch, "base": base}))?;
    asked.page_of(state, made["number"].as_u64().unwrap_or_default())
}

fn prepared<'a>(all: &'a [Prepared], name: &str) -> Result<&'a Prepared, Problem> {
    let names = || all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = all.iter().find(|one| one.name == name);
    found.ok_or_else(|| Problem::invalid(format!("Nothing of that name is made ready; there is: {}.", names())))
}

fn changes(one: &Prepared) -> Vec<Change> {
    one.files.iter().map(|(path, text)| (path.clone(), text.as_ref().map(|text| text.clone().into_bytes()))).collect()
}

/// Whether the default branch has all of a change that is made ready: somebody has merged it.
pub(super) fn is_merged(state: &State, repo: u64, one: &Prepared) -> Result<bool, Problem> {
    let git = state.git(repo)?;
    let Some(tip) = git.branch(&state.repo(repo)?.default_branch) else { return Ok(false) };
    let tree = git.tree_of(tip)?;
    Ok(git.tree_with(Some(tree), &changes(one))? == tree)
}

/// A change that is made ready: a branch of its own, the commit, and its pull request.
fn begin(state: &mut State, asked: &Asked<'_>) -> Result<Next, Problem> {
    let by = asked.visitor(state)?;
    let one = prepared(&asked.stage.changes, asked.field("change"))?;
    if is_merged(state, asked.repo, one)? {
        let told = "It was merged, so there is nothing to change. Begin another one, or start anew to play it again.";
        return Err(Problem::invalid(told));
    }
    let git = state.git(asked.repo)?;
    let first = format!("{}/{}", by.login, one.name);
    let names = std::iter::once(first.clone()).chain((2_u32..).map(|n| format!("{first}-{n}")));
    let branch = names.into_iter().find(|name| git.branch(name).is_none()).ok_or_else(Problem::not_found)?;
    let pushed = Pushed { branch: &branch, onto: None, message: &one.message, changes: &changes(one) };
    state.push_commit(asked.repo, &by, &pushed)?;
    opened(state, asked, &branch, &one.message)
}

/// A commit that is made ready, on top of a pull request.
fn push(state: &mut State, asked: &Asked<'_>, number: u64) -> Result<Next, Problem> {
    let by = asked.visitor(state)?;
    let one = prepared(&asked.stage.commits, asked.field("commit"))?;
    let (issue, pull) = state.pull(asked.repo, number)?;
    if !issue.open {
        return Err(Problem::invalid("It is closed: a push would not reach it."));
    }
    let (repo, branch, changes) = (pull.head_repo, pull.head_ref.clone(), changes(one));
    let git = state.git(repo)?;
    let tip = git.branch(&branch).ok_or_else(Problem::not_found)?;
    let tree = git.tree_of(tip)?;
    if git.tree_with(Some(tree), &changes)? == tree {
        return Err(Problem::invalid("It has all of that already: there is nothing to push."));
    }
    let pushed = Pushed { branch: &branch, onto: None, message: &one.message, changes: &changes };
    state.push_commit(repo, &by, &pushed)?;
    asked.page_of(state, number)
}

/// CI ends: on the head, on the group while it is in a queue, or on the merge commit once it is merged.
fn ci(state: &mut State, asked: &Asked<'_>, number: u64, end: &str) -> Result<Next, Problem> {
    let (repo, stage) = (asked.repo, &asked.stage);
    let (_, pull) = state.pull(repo, number)?;
    let about = state.repo(repo)?;
    let group = about.queues.values().flatten().find(|entry| entry.number == number).and_then(|one| one.group.as_ref());
    let (sha, event) = match (&pull.merge_commit_sha, group) {
        (Some(merged), _) if pull.merged_at.is_some() => (merged.clone(), "push"),
        (_, Some(group)) => (group.head.clone(), "merge_group"),
        _ => (pull.head_sha.clone(), "pull_request"),
    };
    let by = about.owner.clone();
    let jobs = [(stage.job.clone(), Some(end.to_owned()))];
    // What ended red is run again, as one would.
    let runs = about.workflow_runs.values();
    let of_this = runs.filter(|run| run.head_sha == sha && run.path == stage.workflow).max_by_key(|run| run.id);
    let red = of_this.filter(|run| run.conclusion.as_deref() == Some("failure")).map(|run| run.id);
    state.about_to_write();
    match red {
        Some(red) => state.attempt(repo, red, &jobs, &by)?,
        None => drop(state.record_workflow_run(
            repo,
            &Ran { id: None, sha: &sha, path: &stage.workflow, event, asked: None, jobs: &jobs },
            &by,
        )?),
    }
    state.advance_queues(repo)?;
    asked.page_of(state, number)
}
