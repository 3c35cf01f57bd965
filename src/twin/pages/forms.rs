//! The forms of an open stage. What they do is in [`super::act`].

use std::fmt::Write as _;

use super::super::model::*;
use super::super::stage::{Prepared, Stage};
use super::super::state::State;
use super::pull::{counted, kind};
use super::{act, day, markdown, safe};

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

fn button(what: &str, word: &str) -> String {
    format!("<button name=\"do\" value=\"{what}\">{word}</button> ")
}

fn choices(all: &[Prepared]) -> String {
    all.iter().map(|one| format!("<option value=\"{}\">{}</option>", safe(&one.name), safe(&one.about))).collect()
}

/// The forms beside a pull request or issue, where visitors may act.
pub(super) fn taking_part(state: &State, repo: &Repo, issue: &Issue) -> String {
    let Some(stage) = state.stages.get(&repo.id) else { return String::new() };
    let action = format!("/{}/{}/{}/act", safe(&repo.full_name()), kind(issue), issue.number);
    let who = cast(state, repo, stage);
    let form = |inner: &str| format!("<form class=\"pad\" method=\"post\" action=\"{action}\">{inner}</form>");
    let mut buttons = button("comment", "Comment");
    if let Some(pull) = issue.pull.as_ref().filter(|_| issue.open) {
        buttons += &button("approve", "Approve");
        buttons += &button("request-changes", "Ask for changes");
        let queued = state.queue_method(repo, &pull.base_ref).is_some();
        buttons += &if queued { button("enqueue", "Add to the queue") } else { button("merge", "Merge") };
    }
    let merged = issue.pull.as_ref().is_some_and(|pull| pull.merged_at.is_some());
    buttons += &match (issue.open, merged) {
        (true, _) => button("close", "Close"),
        (false, false) => button("reopen", "Reopen"),
        (false, true) => String::new(),
    };
    let hint = if issue.pull.is_some() { "/status, or anything else" } else { "/resolve A REASON, or anything else" };
    let mut out = String::from("<section class=\"box\" id=\"take-part\"><h2>Take part</h2>");
    out += &form(&format!(
        "{who}<label class=\"block\">Your words <textarea name=\"body\" rows=\"3\" placeholder=\"{hint}\"></textarea></label>\
         {buttons}"
    ));
    if issue.pull.is_some() && issue.open && !stage.commits.is_empty() {
        out += &form(&format!(
            "<label>Push <select name=\"commit\">{}</select></label> {who}{}",
            choices(&stage.commits),
            button("push", "Push")
        ));
    }
    if issue.pull.is_some() {
        let (job, workflow) = (safe(&stage.job), safe(&stage.workflow));
        let (green, red) = (button("ci-green", "green"), button("ci-red", "red"));
        out += &form(&format!("CI (<code>{job}</code> of <code>{workflow}</code>) ends {green}{red}"));
    }
    out.push_str("</section>");
    out + &day::form(state, repo, &action)
}

/// What is worth trying, where the stage says so, with the form that begins it. Folded where something is under way.
pub(super) fn tries(state: &State, repo: &Repo, folded: bool) -> String {
    let Some(stage) = state.stages.get(&repo.id).filter(|stage| !stage.tries.is_empty()) else { return String::new() };
    let count = match stage.tries.len() {
        3 => "Three things".to_owned(),
        n => counted(n, "thing"),
    };
    let mut list = String::from("<ol>");
    for one in &stage.tries {
        let _ = write!(list, "<li>{}</li>", markdown::render(repo, one));
    }
    list.push_str("</ol>");
    if folded {
        return format!(
            "<details class=\"box tries\"><summary>{count} to try</summary><div class=\"md\">{list}</div></details>"
        );
    }
    let begin = begins(state, repo, stage);
    format!("<section class=\"box tries\"><h2>{count} to try</h2><div class=\"md\">{list}</div>{begin}</section>")
}

/// The form that begins a change that is made ready.
fn begins(state: &State, repo: &Repo, stage: &Stage) -> String {
    if stage.changes.is_empty() {
        return String::new();
    }
    let (over, open): (Vec<Prepared>, Vec<Prepared>) =
        stage.changes.iter().cloned().partition(|one| act::is_merged(state, repo.id, one).unwrap_or(false));
    let over: String = over
        .iter()
        .map(|one| {
            format!("<p class=\"pad\"><em>{}</em> is merged. Start anew to play it again.</p>", safe(&one.message))
        })
        .collect();
    if open.is_empty() {
        return over;
    }
    over + &format!(
        "<form class=\"pad\" id=\"begin\" method=\"post\" action=\"/{}/act\"><label>Begin <select name=\"change\">{}</select>\
         </label> {}{}</form>",
        safe(&repo.full_name()),
        choices(&open),
        cast(state, repo, stage),
        button("begin", "Begin the change")
    )
}

/// The forms of a repository: begin a change, open a pull request for a branch that was pushed, and the bad day.
pub(super) fn of_repo(state: &State, repo: &Repo) -> String {
    let Some(stage) = state.stages.get(&repo.id) else { return String::new() };
    let mut out = String::new();
    if stage.tries.is_empty() && !stage.changes.is_empty() {
        let _ = write!(out, "<section class=\"box\"><h2>Begin a change</h2>{}</section>", begins(state, repo, stage));
    }
    let free: String = free_branches(state, repo).map(|name| format!("<option>{}</option>", safe(&name))).collect();
    if !free.is_empty() {
        let _ = write!(
            out,
            "<section class=\"box\"><h2>Open a pull request</h2><form class=\"pad\" method=\"post\" action=\"/{}/act\">\
             <label>for <select name=\"branch\">{free}</select></label> <label>Title <input name=\"title\" required></label> \
             {}{}</form></section>",
            safe(&repo.full_name()),
            cast(state, repo, stage),
            button("open", "Open")
        );
    }
    out + &day::form(state, repo, &format!("/{}/act", safe(&repo.full_name())))
}

/// The branches that a pull request could be opened for.
fn free_branches(state: &State, repo: &Repo) -> impl Iterator<Item = String> {
    // It has its pull request, open or merged.
    let taken = |name: &str| {
        let mut pulls = repo.issues.values().filter_map(|issue| issue.pull.as_ref().map(|pull| (issue, pull)));
        pulls.any(|(issue, pull)| pull.head_ref == name && (issue.open || pull.merged_at.is_some()))
    };
    // Nobody but an App, or the queue, writes there: it is no change.
    let reserved = |name: &str| {
        let mut rulesets = repo.rulesets.values().filter(|ruleset| ruleset.rules.contains(&Rule::Update));
        rulesets.any(|ruleset| ruleset.include.contains(&format!("refs/heads/{name}")))
            || name.starts_with("gh-readonly-queue/")
    };
    let branches: Vec<String> = state.git(repo.id).map(|git| git.branches()).unwrap_or_default();
    branches.into_iter().filter(move |name| *name != repo.default_branch && !taken(name) && !reserved(name))
}
