//! Pages, so that every `html_url` leads somewhere and the demo can be watched, and played with, in a browser.
//!
//! All that people wrote is shown as text, or as Markdown that can neither run nor fetch anything; there is no script,
//! and the content security policy forbids any.

mod act;
mod checks;
mod day;
mod diff;
mod forms;
mod lists;
mod markdown;
mod pull;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub(crate) use self::act::{Form, Next, act, refused};
use super::model::*;
use super::route::unescape;
use super::state::State;

/// Text made safe for HTML, in content and in attributes.
fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

const STYLE: &str = include_str!("style.css");

/// A whole page. `crumbs` stand above its title. With `next` it goes there by itself after a moment, when the bot has had
/// its say.
fn shell(title: &str, crumbs: &str, body: &str, next: Option<&str>) -> String {
    let title = safe(title);
    let (refresh, note) = match next {
        Some(next) => (
            format!("<meta http-equiv=\"refresh\" content=\"2;url={}\">", safe(next)),
            "<p class=\"banner\" role=\"status\">Done. The bot is looking; this page comes again in a moment.</p>",
        ),
        None => (String::new(), ""),
    };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">{refresh}<title>{title}</title>\
         <style>{STYLE}</style></head><body><nav aria-label=\"Site\"><a href=\"/\"><b>twin</b></a> \
         <span>an embedded GitHub</span>{crumbs}</nav><main>{note}<h1>{title}</h1>{body}</main></body></html>"
    )
}

/// A page that belongs to no repository.
fn plain_page(title: &str, body: &str) -> String {
    shell(title, "", body, None)
}

/// A page of a repository: its lists are one step away, and a bad day is said.
fn page_in(state: &State, repo: &Repo, title: &str, body: &str, next: Option<&str>) -> String {
    let count = |pulls: bool| repo.issues.values().filter(|one| one.open && one.pull.is_some() == pulls).count();
    let crumbs = format!(
        "<span class=\"crumbs\">{} {} {}</span>",
        link(repo, "", &repo.full_name()),
        link(repo, "/pulls", &format!("Pull requests {}", count(true))),
        link(repo, "/issues", &format!("Issues {}", count(false)))
    );
    shell(title, &crumbs, &format!("{}{body}", day::banner(state, repo)), next)
}

/// A link below a repository; the text is shown as it is.
fn link(repo: &Repo, below: &str, text: &str) -> String {
    format!("<a href=\"/{}{}\">{}</a>", safe(&repo.full_name()), safe(below), safe(text))
}

fn badge(issue: &Issue) -> String {
    let (class, word) = match &issue.pull {
        Some(pull) if pull.merged_at.is_some() => ("done", "merged"),
        Some(pull) if pull.draft && issue.open => ("wait", "draft"),
        _ if issue.open => ("ok", "open"),
        Some(_) => ("bad", "closed"),
        None => ("done", "closed"),
    };
    format!("<span class=\"badge {class}\">{word}</span>")
}

/// A label in its colour, with ink that can be read on it.
fn label(label: &Label) -> String {
    let hex = |at: usize| label.color.get(at..at + 2).and_then(|two| u32::from_str_radix(two, 16).ok());
    let (back, ink) = match (label.color.len(), hex(0), hex(2), hex(4)) {
        (6, Some(r), Some(g), Some(b)) => {
            let light = (299 * r + 587 * g + 114 * b) / 1000 > 140;
            (format!("#{r:02x}{g:02x}{b:02x}"), if light { "#1f2328" } else { "#fff" })
        }
        _ => ("#ededed".to_owned(), "#1f2328"),
    };
    format!(
        "<span class=\"label\" style=\"background:{back};color:{ink}\" title=\"{}\">{}</span>",
        safe(label.description.as_deref().unwrap_or_default()),
        safe(&label.name)
    )
}

pub(crate) fn not_found() -> String {
    plain_page("Not found", "<p>There is no such page. <a href=\"/\">All repositories</a> are on the first one.</p>")
}

/// The page at a path, if there is one. Private repositories have none: pages ask nobody who they are.
///
/// With `fresh` a pull request's page comes again by itself.
pub(crate) fn page(state: &State, path: &str, fresh: bool) -> Option<String> {
    let parts: Vec<String> =
        path.split('/').filter(|part| !part.is_empty()).map(|part| unescape(part, false)).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let find = |owner: &str, name: &str| {
        state.repo_id(owner, name).and_then(|id| state.repos.get(&id)).filter(|repo| !repo.private)
    };
    match parts.as_slice() {
        [] => Some(lists::home(state)),
        [login] => state.account(login).map(|account| lists::account(state, account)),
        ["apps", slug] => {
            let app = state.apps.values().find(|app| app.slug == *slug)?;
            Some(plain_page(&app.name, &format!("<p>An App by {}.</p>", safe(&app.owner.login))))
        }
        ["settings", "installations", id] => {
            let one = state.installations.get(&id.parse().ok()?)?;
            let app = state.apps.get(&one.app)?;
            Some(plain_page(&app.name, &format!("<p>Installed for {}.</p>", safe(&one.account.login))))
        }
        [owner, name, "pulls"] => find(owner, name).map(|repo| lists::only(state, repo, true)),
        [owner, name, "issues"] => find(owner, name).map(|repo| lists::only(state, repo, false)),
        [owner, name] | [owner, name, "tree" | "compare" | "labels", ..] => {
            find(owner, name).map(|repo| lists::repo(state, repo))
        }
        [owner, name, "pull" | "issues", number, ..] => {
            let repo = find(owner, name)?;
            let issue = repo.issues.get(&number.parse().ok()?)?;
            Some(pull::page(state, repo, issue, fresh))
        }
        [owner, name, "runs", id] => {
            let repo = find(owner, name)?;
            repo.check_runs.get(&id.parse().ok()?).map(|run| checks::run_page(state, repo, run))
        }
        [owner, name, "actions", "runs", id, ..] => {
            let repo = find(owner, name)?;
            repo.workflow_runs.get(&id.parse().ok()?).map(|run| checks::workflow_page(state, repo, run))
        }
        [owner, name, "commit", sha] => find(owner, name).and_then(|repo| commit_page(state, repo, sha)),
        [owner, name, "blob" | "raw", rest @ ..] => {
            let repo = find(owner, name)?;
            let git = state.git(repo.id).ok()?;
            // A branch may have slashes in its name, as the path has.
            let (path, id) = (1..rest.len()).find_map(|at| {
                let path = rest[at..].join("/");
                let (id, ..) = git.entry(git.resolve(&rest[..at].join("/"))?, &path)?;
                Some((path, id))
            })?;
            let blob = git.0.find_blob(id).ok()?;
            let text = format!("<pre>{}</pre>", safe(&String::from_utf8_lossy(blob.content())));
            Some(page_in(state, repo, &path, &text, None))
        }
        _ => None,
    }
}

fn commit_page(state: &State, repo: &Repo, sha: &str) -> Option<String> {
    let git = state.git(repo.id).ok()?;
    let id = git.resolve(sha)?;
    let commit = git.0.find_commit(id).ok()?;
    let files = git.diff(commit.parent_ids().next(), id).ok()?;
    let message = safe(&String::from_utf8_lossy(commit.message_bytes()));
    let who = safe(&String::from_utf8_lossy(commit.author().name_bytes()));
    let body = format!(
        "<p class=\"sub\">by <b>{who}</b></p><pre>{message}</pre><section><h2>Files changed</h2>{}</section>",
        diff::Diff::of(files).html(&BTreeMap::new())
    );
    Some(page_in(state, repo, &format!("Commit {}", id.to_string().get(..12).unwrap_or_default()), &body, None))
}
