//! What visitors may do from a page: speak, review, play CI and merge as one of the cast.
//!
//! Only where the stage was opened to them ([`Admin::open_stage`](super::super::Admin::open_stage)): nobody signs in
//! here, so whoever reaches the page acts as whom they choose. What they do goes the way of the API, with that person's
//! rights; only CI, which has no person, is played.

use std::fmt::Write as _;

use serde_json::json;

use super::super::auth::Actor;
use super::super::bad_day::{BadDay, Switch, Weather};
use super::super::model::*;
use super::super::reply::Problem;
use super::super::route::{Request, parse_query};
use super::super::state::State;
use super::pull::kind;
use super::{safe, shell};

/// A form that came in.
pub(crate) struct Form<'a> {
    pub(crate) path: &'a str,
    pub(crate) body: &'a [u8],
    /// The `Origin` header. A browser always sends it with a form.
    pub(crate) origin: Option<&'a str>,
}

/// Why it was not done, in plain text or as a page.
pub(crate) fn refused(problem: &Problem, path: &str, as_page: bool) -> String {
    let message = problem.message.trim();
    let more = problem.errors.as_ref().map(ToString::to_string);
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
    shell("That was refused", &told, None)
}

/// Does what the form says. Gives where to go then.
pub(crate) fn act(state: &mut State, form: &Form<'_>) -> Result<String, Problem> {
    // Another site's page may not send forms here with the visitor's browser.
    let port = state.base.rsplit(':').next().unwrap_or_default().to_owned();
    let ours = |origin: &str| origin == state.base || origin == format!("http://localhost:{port}");
    if form.origin.is_some_and(|origin| !ours(origin)) {
        return Err(Problem::new(403, "This form came from another site."));
    }
    let fields = parse_query(&String::from_utf8_lossy(form.body));
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
    let parts: Vec<&str> = form.path.split('/').filter(|part| !part.is_empty()).collect();
    let (owner, name, number, run) = match parts.as_slice() {
        [owner, name, "act"] => (*owner, *name, None, None),
        [owner, name, "pull" | "issues", number, "act"] => (*owner, *name, Some(*number), None),
        [owner, name, "runs", run, "act"] => (*owner, *name, None, run.parse::<u64>().ok()),
        _ => return Err(Problem::not_found()),
    };
    let id = state.repo_id(owner, name).ok_or_else(Problem::not_found)?;
    let stage = state.stages.get(&id).ok_or_else(Problem::not_found)?.clone();
    let visitor = || {
        let login = stage.cast.iter().find(|login| *login == field("as")).ok_or_else(Problem::not_found)?;
        state.account(login).cloned().ok_or_else(Problem::not_found)
    };
    if let Some(run) = run {
        let by = visitor()?;
        state.press(id, run, field("press"), &by)?;
        return Ok(shown_at(state.repo(id)?, run));
    }
    let repo = format!("/repos/{owner}/{name}");
    let (method, path, body) = match (number, field("do")) {
        (None, "open") => {
            let base = state.repo(id)?.default_branch.clone();
            let body = json!({"title": field("title"), "head": field("branch"), "base": base});
            ("POST", format!("{repo}/pulls"), body)
        }
        (None, "bad-day") => {
            let number = |name: &str| field(name).parse::<u32>().ok();
            let one_in = Switch::ALL.into_iter().filter_map(|switch| Some((switch, number(&switch.name())?.max(1))));
            let day = BadDay { seed: field("seed").parse().unwrap_or_default(), one_in: one_in.collect() };
            if day.one_in.is_empty() {
                let names = Switch::ALL.map(Switch::name).join(", ");
                return Err(Problem::invalid(format!("Switch something on, once in so many: {names}.")));
            }
            state.calm();
            state.weather = Some(Weather::new(day));
            return Ok(format!("/{owner}/{name}"));
        }
        (None, "calm") => {
            state.calm();
            return Ok(format!("/{owner}/{name}"));
        }
        (Some(n), "comment") => ("POST", format!("{repo}/issues/{n}/comments"), json!({"body": field("body")})),
        (Some(n), "approve") => {
            let body = json!({"event": "APPROVE", "body": field("body")});
            ("POST", format!("{repo}/pulls/{n}/reviews"), body)
        }
        (Some(n), "request-changes") => {
            let body = json!({"event": "REQUEST_CHANGES", "body": field("body")});
            ("POST", format!("{repo}/pulls/{n}/reviews"), body)
        }
        (Some(n), "merge") => ("PUT", format!("{repo}/pulls/{n}/merge"), json!({})),
        (Some(n), "ci-green" | "ci-red") => {
            let end = if field("do") == "ci-green" { "success" } else { "failure" };
            let (_, pull) = state.pull(id, n.parse().map_err(|_| Problem::not_found())?)?;
            // On a merged one it is the merge commit that CI runs on.
            let (sha, event) = match &pull.merge_commit_sha {
                Some(merged) if pull.merged_at.is_some() => (merged.clone(), "push"),
                _ => (pull.head_sha.clone(), "pull_request"),
            };
            let by = state.repo(id)?.owner.clone();
            let jobs = [(stage.job.clone(), Some(end.to_owned()))];
            // What ended red is run again, as one would.
            let runs = state.repo(id)?.workflow_runs.values();
            let of_this = runs.filter(|run| run.head_sha == sha && run.path == stage.workflow).max_by_key(|run| run.id);
            match of_this.filter(|run| run.conclusion.as_deref() == Some("failure")).map(|run| run.id) {
                Some(red) => state.attempt(id, red, &jobs, &by)?,
                None => drop(state.record_workflow_run(id, &sha, &stage.workflow, event, &jobs, &by)?),
            }
            return Ok(format!("/{owner}/{name}/pull/{n}?fresh"));
        }
        _ => return Err(Problem::invalid("There is no such thing to do.")),
    };
    let account = visitor()?;
    state.about_to_write();
    let request = Request { method, path: &path, query: "", accept: "", body };
    let reply = state.answer(Actor::User(account), request)?;
    let number = match (number, super::super::http::whole(reply).1) {
        (Some(number), _) => number.to_owned(),
        (None, super::super::http::Told::Json(made)) => made["number"].to_string(),
        _ => return Ok(format!("/{owner}/{name}")),
    };
    Ok(format!("/{owner}/{name}/pull/{number}?fresh"))
}

/// Where what follows from a run's button is seen: the pull request, or the run where there is none.
fn shown_at(repo: &Repo, run: u64) -> String {
    let head = repo.check_runs.get(&run).map_or("", |run| run.head_sha.as_str());
    match repo.pulls_at(head).next() {
        Some((issue, _)) => format!("/{}/pull/{}?fresh", repo.full_name(), issue.number),
        None => format!("/{}/runs/{run}", repo.full_name()),
    }
}

/// A check run's buttons, where visitors may press them.
pub(super) fn buttons(state: &State, repo: &Repo, run: &CheckRun) -> String {
    let Some(stage) = state.stages.get(&repo.id).filter(|_| !run.actions.is_empty()) else { return String::new() };
    let action = format!("/{}/runs/{}/act", safe(&repo.full_name()), run.id);
    let mut out = format!("<form method=\"post\" action=\"{action}\">{}", cast(state, repo, stage));
    for one in &run.actions {
        let (id, about, label) = (safe(&one.identifier), safe(&one.description), safe(&one.label));
        let _ = write!(out, "<button name=\"press\" value=\"{id}\" title=\"{about}\">{label}</button> ");
    }
    out.push_str("</form>");
    out
}

fn cast(state: &State, repo: &Repo, stage: &Stage) -> String {
    let mut out = String::from("<label>as <select name=\"as\">");
    for login in &stage.cast {
        let role = state.account(login).map_or("", |account| state.role(repo, account.id).name());
        let _ = write!(out, "<option value=\"{0}\">{0} ({role})</option>", safe(login));
    }
    out.push_str("</select></label> ");
    out
}

/// The forms under a pull request or issue, where visitors may act.
pub(super) fn forms(state: &State, repo: &Repo, issue: &Issue) -> String {
    let Some(stage) = state.stages.get(&repo.id) else { return String::new() };
    let action = format!("/{}/{}/{}/act", safe(&repo.full_name()), kind(issue), issue.number);
    let button = |what: &str, word: &str| format!("<button name=\"do\" value=\"{what}\">{word}</button> ");
    let mut buttons = button("comment", "Comment");
    if issue.pull.is_some() && issue.open {
        buttons += &button("approve", "Approve");
        buttons += &button("request-changes", "Ask for changes");
        buttons += &button("merge", "Merge");
    }
    let mut out = format!(
        "<section class=\"box\"><header><b>Take part</b></header><form class=\"pad\" method=\"post\" \
         action=\"{action}\">{}<textarea name=\"body\" rows=\"3\" placeholder=\"/status, or anything else\"></textarea>\
         {buttons}</form>",
        cast(state, repo, stage)
    );
    if issue.pull.is_some() {
        let _ = write!(
            out,
            "<form class=\"pad\" method=\"post\" action=\"{action}\">CI (<code>{}</code> of <code>{}</code>) ends \
             {}{}</form>",
            safe(&stage.job),
            safe(&stage.workflow),
            button("ci-green", "green"),
            button("ci-red", "red")
        );
    }
    out.push_str("</section>");
    out
}

/// The form that opens a pull request, for a branch that was pushed.
pub(super) fn opening(state: &State, repo: &Repo) -> String {
    let Some(stage) = state.stages.get(&repo.id) else { return String::new() };
    // It has its pull request, open or merged.
    let taken = |name: &str| {
        let mut pulls = repo.issues.values().filter_map(|issue| issue.pull.as_ref().map(|pull| (issue, pull)));
        pulls.any(|(issue, pull)| pull.head_ref == name && (issue.open || pull.merged_at.is_some()))
    };
    // Nobody but an App writes there: it is no change.
    let reserved = |name: &str| {
        let mut rulesets = repo.rulesets.values().filter(|ruleset| ruleset.rules.contains(&Rule::Update));
        rulesets.any(|ruleset| ruleset.include.contains(&format!("refs/heads/{name}")))
    };
    let branches: Vec<String> = state.git(repo.id).map(|git| git.branches()).unwrap_or_default();
    let free: String = branches
        .iter()
        .filter(|name| **name != repo.default_branch && !taken(name) && !reserved(name))
        .map(|name| format!("<option>{}</option>", safe(name)))
        .collect();
    if free.is_empty() {
        return String::new();
    }
    format!(
        "<section class=\"box\"><header><b>Open a pull request</b></header><form class=\"pad\" method=\"post\" \
         action=\"/{}/act\">{}<label>for <select name=\"branch\">{free}</select></label> \
         <input name=\"title\" placeholder=\"Title\" required> <button name=\"do\" value=\"open\">Open</button>\
         </form></section>",
        safe(&repo.full_name()),
        cast(state, repo, stage)
    )
}
