//! A few pages, so that every `html_url` leads somewhere and the demo can be watched in a browser.
//!
//! All that people wrote is shown as text, or as Markdown that can neither run nor fetch anything; there is no script,
//! and the content security policy forbids any.

mod act;
mod markdown;
mod pull;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

pub(crate) use self::act::{Form, act, refused};
use super::model::*;
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

/// A whole page. With `next` it goes there by itself after a moment, when the bot has had its say.
fn shell(title: &str, body: &str, next: Option<&str>) -> String {
    let title = safe(title);
    let (refresh, note) = match next {
        Some(next) => (
            format!("<meta http-equiv=\"refresh\" content=\"2;url={}\">", safe(next)),
            "<p class=\"note\">Done. The bot is looking; this page comes again in a moment.</p>",
        ),
        None => (String::new(), ""),
    };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">{refresh}<title>{title}</title>\
         <style>{STYLE}</style></head><body><nav><a href=\"/\">twin</a></nav><main>{note}<h1>{title}</h1>{body}</main>\
         </body></html>"
    )
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
        _ => ("bad", "closed"),
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
    shell("Not found", "<p>There is no such page. <a href=\"/\">All repositories</a> are on the first one.</p>", None)
}

/// The page at a path, if there is one. Private repositories have none: pages ask nobody who they are.
///
/// With `fresh` a pull request's page comes again by itself.
pub(crate) fn page(state: &State, path: &str, fresh: bool) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let find = |owner: &str, name: &str| {
        state.repo_id(owner, name).and_then(|id| state.repos.get(&id)).filter(|repo| !repo.private)
    };
    match parts.as_slice() {
        [] => Some(home(state)),
        [login] => state.account(login).map(|account| account_page(state, account)),
        ["apps", slug] => {
            let app = state.apps.values().find(|app| app.slug == *slug)?;
            Some(shell(&app.name, &format!("<p>An App by {}.</p>", safe(&app.owner.login)), None))
        }
        [owner, name] | [owner, name, "tree" | "compare" | "labels", ..] => {
            find(owner, name).map(|repo| repo_page(state, repo))
        }
        [owner, name, "pull" | "issues", number] => {
            let repo = find(owner, name)?;
            let issue = repo.issues.get(&number.parse().ok()?)?;
            Some(pull::page(state, repo, issue, fresh))
        }
        [owner, name, "runs", id] => {
            let repo = find(owner, name)?;
            repo.check_runs.get(&id.parse().ok()?).map(|run| run_page(state, repo, run))
        }
        [owner, name, "actions", "runs", id, ..] => {
            let repo = find(owner, name)?;
            let run = repo.workflow_runs.get(&id.parse().ok()?)?;
            let jobs = run.jobs.iter().filter_map(|id| repo.check_runs.get(id));
            let rows = check_rows(state, repo, jobs);
            let body = format!(
                "<p>{} on {}</p><section class=\"box\">{rows}</section>",
                safe(&run.event),
                link(repo, &format!("/commit/{}", run.head_sha), &run.head_sha)
            );
            Some(shell(&run.path, &body, None))
        }
        [owner, name, "commit", sha] => find(owner, name).and_then(|repo| commit_page(state, repo, sha)),
        [owner, name, "blob" | "raw", rev, rest @ ..] => {
            let repo = find(owner, name)?;
            let git = state.git(repo.id).ok()?;
            let path = rest.join("/");
            let (id, ..) = git.entry(git.resolve(rev)?, &path)?;
            let blob = git.0.find_blob(id).ok()?;
            Some(shell(&path, &format!("<pre>{}</pre>", safe(&String::from_utf8_lossy(blob.content()))), None))
        }
        _ => None,
    }
}

fn home(state: &State) -> String {
    let mut body = String::from("<p>An embedded GitHub, for demos and tests. Nothing here leaves this machine.</p>");
    for repo in state.repos.values().filter(|repo| !repo.private) {
        let _ = write!(
            body,
            "<section class=\"box\"><header><b>{}</b></header>{}</section>",
            link(repo, "", &repo.full_name()),
            issue_list(repo)
        );
    }
    shell("Repositories", &body, None)
}

fn account_page(state: &State, account: &Account) -> String {
    let mut body = format!("<p>{}</p><ul>", account.kind.name());
    for repo in state.repos.values().filter(|repo| repo.owner.id == account.id && !repo.private) {
        let _ = write!(body, "<li>{}</li>", link(repo, "", &repo.full_name()));
    }
    body.push_str("</ul>");
    shell(&account.login, &body, None)
}

fn issue_list(repo: &Repo) -> String {
    if repo.issues.is_empty() {
        return "<p class=\"pad\">No pull requests and issues yet.</p>".to_owned();
    }
    let mut list = String::from("<ul class=\"rows\">");
    for issue in repo.issues.values().rev() {
        let to = format!("/{}/{}", pull::kind(issue), issue.number);
        let title = link(repo, &to, &format!("{} #{}", issue.title, issue.number));
        let labels: String = issue.labels.iter().filter_map(|id| repo.labels.get(id)).map(label).collect();
        let _ = write!(list, "<li>{} {title} {labels} by {}</li>", badge(issue), safe(&issue.user.login));
    }
    list.push_str("</ul>");
    list
}

fn repo_page(state: &State, repo: &Repo) -> String {
    let clone = format!("{}.git", state.repo_html(repo));
    let body = format!(
        "<p><code>git clone {}</code></p><section class=\"box\"><header><b>Pull requests and issues</b></header>{}\
         </section>{}",
        safe(&clone),
        issue_list(repo),
        act::opening(state, repo)
    );
    shell(&repo.full_name(), &body, None)
}

/// Check runs, each with what it says folded away.
fn check_rows<'a>(state: &State, repo: &Repo, runs: impl IntoIterator<Item = &'a CheckRun>) -> String {
    let mut out = String::from("<ul class=\"rows\">");
    for run in runs {
        let app = state.apps.get(&run.app).map_or("", |app| app.name.as_str());
        let end = run.conclusion.as_deref().unwrap_or(&run.status);
        let (class, mark) = match end {
            "success" => ("ok", "✓"),
            "failure" | "timed_out" | "startup_failure" => ("bad", "✗"),
            "action_required" => ("bad", "!"),
            "neutral" | "skipped" | "cancelled" | "stale" => ("wait", "–"),
            _ => ("wait", "•"),
        };
        let _ = write!(
            out,
            "<li><span class=\"{class}\">{mark}</span> <b>{}</b> <span class=\"{class}\">{}</span> \
             <span class=\"sub\">by {}</span>",
            link(repo, &format!("/runs/{}", run.id), &run.name),
            safe(&end.replace('_', " ")),
            safe(app)
        );
        let title = safe(run.title.as_deref().unwrap_or_default());
        match &run.summary {
            Some(summary) => {
                let said = markdown::render(summary);
                let _ = write!(out, "<details><summary>{title}</summary><div class=\"md\">{said}</div></details>");
            }
            None if title.is_empty() => {}
            None => {
                let _ = write!(out, "<div>{title}</div>");
            }
        }
        out.push_str(&notes(run));
        out.push_str(&act::buttons(state, repo, run));
        out.push_str("</li>");
    }
    out.push_str("</ul>");
    out
}

/// A run's annotations: where, and what.
fn notes(run: &CheckRun) -> String {
    if run.annotations.is_empty() {
        return String::new();
    }
    let mut out = String::from("<ul>");
    for note in &run.annotations {
        let text = |field: &str| safe(note[field].as_str().unwrap_or_default());
        let (path, line) = (text("path"), &note["start_line"]);
        let _ = write!(out, "<li><code>{path}:{line}</code> {} {}</li>", text("annotation_level"), text("message"));
    }
    out.push_str("</ul>");
    out
}

fn run_page(state: &State, repo: &Repo, run: &CheckRun) -> String {
    let bare = CheckRun { summary: None, ..run.clone() };
    let body = format!(
        "<p>on {}</p><section class=\"box\">{}<div class=\"md\">{}{}</div></section>",
        link(repo, &format!("/commit/{}", run.head_sha), &run.head_sha),
        check_rows(state, repo, [&bare]),
        markdown::render(run.summary.as_deref().unwrap_or_default()),
        markdown::render(run.text.as_deref().unwrap_or_default())
    );
    shell(&run.name, &body, None)
}

fn commit_page(state: &State, repo: &Repo, sha: &str) -> Option<String> {
    let git = state.git(repo.id).ok()?;
    let id = git.resolve(sha)?;
    let commit = git.0.find_commit(id).ok()?;
    let files = git.diff(commit.parent_ids().next(), id).ok()?;
    let mut body = format!("<pre>{}</pre>", safe(&String::from_utf8_lossy(commit.message_bytes())));
    for file in files {
        let (path, patch) = (safe(&file.path), safe(file.patch.as_deref().unwrap_or_default()));
        let _ = write!(body, "<section class=\"box\"><header><b>{path}</b></header><pre>{patch}</pre></section>");
    }
    Some(shell(&id.to_string(), &body, None))
}
