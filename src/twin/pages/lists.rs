//! The pages that lead to others: everything, an account's, a repository's.

use std::fmt::Write as _;

use super::super::model::*;
use super::super::state::State;
use super::super::view::escape_path;
use super::{badge, forms, label, link, page_in, plain_page, pull, safe};

pub(super) fn home(state: &State) -> String {
    let mut body = String::from("<p>An embedded GitHub, for demos and tests. Nothing here leaves this machine.</p>");
    for repo in state.repos.values().filter(|repo| !repo.private) {
        let _ = write!(
            body,
            "<section class=\"box\"><h2>{}</h2>{}</section>",
            link(repo, "", &repo.full_name()),
            rows(repo, None)
        );
    }
    plain_page("Repositories", &body)
}

pub(super) fn account(state: &State, account: &Account) -> String {
    let mut body = format!("<p>{}</p><ul>", account.kind.name());
    for repo in state.repos.values().filter(|repo| repo.owner.id == account.id && !repo.private) {
        let _ = write!(body, "<li>{}</li>", link(repo, "", &repo.full_name()));
    }
    body.push_str("</ul>");
    plain_page(&account.login, &body)
}

/// Pull requests, issues, or both; newest first.
fn rows(repo: &Repo, pulls: Option<bool>) -> String {
    let listed: Vec<&Issue> =
        repo.issues.values().rev().filter(|issue| pulls.is_none_or(|pulls| issue.pull.is_some() == pulls)).collect();
    if listed.is_empty() {
        let what = match pulls {
            Some(true) => "No pull requests yet.",
            Some(false) => "No issues yet. The bot opens one where a person has to decide.",
            None => "No pull requests and issues yet.",
        };
        return format!("<p class=\"pad sub\">{what}</p>");
    }
    let mut list = String::from("<ul class=\"rows\">");
    for issue in listed {
        let to = format!("/{}/{}", pull::kind(issue), issue.number);
        let labels: String = issue.labels.iter().filter_map(|id| repo.labels.get(id)).map(label).collect();
        let _ = write!(
            list,
            "<li>{} <b>{}</b> {labels}<div class=\"sub\">#{} by {}</div></li>",
            badge(issue),
            link(repo, &to, &issue.title),
            issue.number,
            safe(&issue.user.login)
        );
    }
    list.push_str("</ul>");
    list
}

fn section(repo: &Repo, pulls: bool) -> String {
    let name = if pulls { "Pull requests" } else { "Issues" };
    format!("<section class=\"box\"><h2>{name}</h2>{}</section>", rows(repo, Some(pulls)))
}

/// Only the pull requests, or only the issues.
pub(super) fn only(state: &State, repo: &Repo, pulls: bool) -> String {
    let name = if pulls { "Pull requests" } else { "Issues" };
    let body = format!("<section class=\"box\">{}</section>", rows(repo, Some(pulls)));
    page_in(state, repo, name, &body, None)
}

pub(super) fn repo(state: &State, repo: &Repo) -> String {
    let clone = format!("{}.git", state.repo_html(repo));
    let (lists, files) = (format!("{}{}", section(repo, true), section(repo, false)), files(state, repo));
    let beside = format!("{}{files}", forms::of_repo(state, repo));
    let body = format!(
        "<p class=\"sub\"><code>git clone {}</code></p>{}<div class=\"columns\"><div>{lists}</div><aside>{beside}</aside></div>",
        safe(&clone),
        forms::tries(state, repo, false)
    );
    page_in(state, repo, &repo.full_name(), &body, None)
}

/// The files at the default branch's tip; not more than fit beside the lists.
fn files(state: &State, repo: &Repo) -> String {
    const MOST: usize = 40;
    let read = || {
        let git = state.git(repo.id).ok()?;
        let tree = git.0.find_commit(git.branch(&repo.default_branch)?).ok()?.tree().ok()?;
        let mut paths = Vec::new();
        tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
            if entry.kind() == Some(git2::ObjectType::Blob) && paths.len() <= MOST {
                paths.push(format!("{folder}{}", String::from_utf8_lossy(entry.name_bytes())));
            }
            // A folder that would not be shown is not looked into.
            if paths.len() > MOST { git2::TreeWalkResult::Skip } else { git2::TreeWalkResult::Ok }
        })
        .ok()?;
        Some(paths)
    };
    let Some(paths) = read().filter(|paths| !paths.is_empty()) else { return String::new() };
    let branch = &repo.default_branch;
    let mut out = format!("<section class=\"box\"><h2>Files on {}</h2><ul class=\"rows small\">", safe(branch));
    for path in paths.iter().take(MOST) {
        let path_escaped: Vec<String> = path.split('/').map(escape_path).collect();
        let to = format!("/blob/{}/{}", escape_path(branch), path_escaped.join("/"));
        let _ = write!(out, "<li>{}</li>", link(repo, &to, path));
    }
    if paths.len() > MOST {
        out.push_str("<li class=\"sub\">and more</li>");
    }
    out.push_str("</ul></section>");
    out
}
