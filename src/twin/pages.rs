//! A few plain pages, so that every `html_url` leads somewhere. All that people wrote is shown as text.

use std::fmt::Write as _;

use super::model::*;
use super::state::State;
use super::view::checks::latest;

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

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    pre{white-space:pre-wrap;background:#f6f8fa;padding:.8rem;border-radius:6px}\
    .label{border:1px solid #888;border-radius:1em;padding:0 .6em;margin-right:.3em}\
    table{border-collapse:collapse}td,th{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top}";

fn shell(title: &str, body: &str) -> String {
    let title = safe(title);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style>\
         </head><body><nav><a href=\"/\">twin</a></nav><main><h1>{title}</h1>{body}</main></body></html>"
    )
}

pub(crate) fn not_found() -> String {
    shell("Not found", "<p>There is no such page. <a href=\"/\">All repositories</a> are on the first one.</p>")
}

/// The page at a path, if there is one. Private repositories have none: pages ask nobody who they are.
pub(crate) fn page(state: &State, path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let find = |owner: &str, name: &str| {
        state.repo_id(owner, name).and_then(|id| state.repos.get(&id)).filter(|repo| !repo.private)
    };
    match parts.as_slice() {
        [] => Some(home(state)),
        [login] => state.account(login).map(|account| account_page(state, account)),
        ["apps", slug] => {
            let app = state.apps.values().find(|app| app.slug == *slug)?;
            Some(shell(&app.name, &format!("<p>An App by {}.</p>", safe(&app.owner.login))))
        }
        [owner, name] | [owner, name, "tree" | "compare" | "labels", ..] => {
            find(owner, name).map(|repo| repo_page(state, repo))
        }
        [owner, name, "pull" | "issues", number] => {
            let repo = find(owner, name)?;
            let issue = repo.issues.get(&number.parse().ok()?)?;
            Some(issue_page(state, repo, issue))
        }
        [owner, name, "runs", id] => {
            let repo = find(owner, name)?;
            repo.check_runs.get(&id.parse().ok()?).map(|run| run_page(state, repo, run))
        }
        [owner, name, "actions", "runs", id, ..] => {
            let repo = find(owner, name)?;
            let run = repo.workflow_runs.get(&id.parse().ok()?)?;
            let rows: String = run
                .jobs
                .iter()
                .filter_map(|id| repo.check_runs.get(id))
                .map(|job| check_row(state, repo, job))
                .collect();
            Some(shell(
                &run.path,
                &format!("<p>{} on {}</p><table>{rows}</table>", safe(&run.event), safe(&run.head_sha)),
            ))
        }
        [owner, name, "commit", sha] => find(owner, name).and_then(|repo| commit_page(state, repo, sha)),
        [owner, name, "blob" | "raw", rev, rest @ ..] => {
            let repo = find(owner, name)?;
            let git = state.git(repo.id).ok()?;
            let path = rest.join("/");
            let (id, ..) = git.entry(git.resolve(rev)?, &path)?;
            let blob = git.0.find_blob(id).ok()?;
            Some(shell(&path, &format!("<pre>{}</pre>", safe(&String::from_utf8_lossy(blob.content())))))
        }
        _ => None,
    }
}

fn home(state: &State) -> String {
    let mut body =
        String::from("<p>An embedded GitHub, for demos and tests. Nothing here leaves this machine.</p><ul>");
    for repo in state.repos.values().filter(|repo| !repo.private) {
        let name = safe(&repo.full_name());
        let _ = write!(body, "<li><a href=\"/{name}\">{name}</a>{}</li>", pull_list(repo));
    }
    body.push_str("</ul>");
    shell("Repositories", &body)
}

fn account_page(state: &State, account: &Account) -> String {
    let mut body = format!("<p>{}</p><ul>", account.kind.name());
    for repo in state.repos.values().filter(|repo| repo.owner.id == account.id && !repo.private) {
        let name = safe(&repo.full_name());
        let _ = write!(body, "<li><a href=\"/{name}\">{name}</a></li>");
    }
    body.push_str("</ul>");
    shell(&account.login, &body)
}

fn pull_list(repo: &Repo) -> String {
    let name = safe(&repo.full_name());
    let mut list = String::from("<ul>");
    for issue in repo.issues.values().rev() {
        let (kind, word) = match &issue.pull {
            Some(pull) if pull.merged_at.is_some() => ("pull", "merged"),
            Some(pull) if pull.draft && issue.open => ("pull", "draft"),
            Some(_) => ("pull", if issue.open { "open" } else { "closed" }),
            None => ("issues", if issue.open { "issue, open" } else { "issue, closed" }),
        };
        let (number, title) = (issue.number, safe(&issue.title));
        let _ = write!(list, "<li><a href=\"/{name}/{kind}/{number}\">#{number} {title}</a> ({word})</li>");
    }
    list.push_str("</ul>");
    list
}

fn repo_page(state: &State, repo: &Repo) -> String {
    let clone = format!("{}.git", state.repo_html(repo));
    let body =
        format!("<p><code>git clone {}</code></p><h2>Pull requests and issues</h2>{}", safe(&clone), pull_list(repo));
    shell(&repo.full_name(), &body)
}

fn check_row(state: &State, repo: &Repo, run: &CheckRun) -> String {
    let app = state.apps.get(&run.app).map_or("", |app| app.name.as_str());
    format!(
        "<tr><td><a href=\"/{}/runs/{}\">{}</a></td><td>{}</td><td>{}</td><td>{}</td></tr>",
        safe(&repo.full_name()),
        run.id,
        safe(&run.name),
        safe(app),
        safe(run.conclusion.as_deref().unwrap_or(&run.status)),
        safe(run.title.as_deref().unwrap_or_default()),
    )
}

fn issue_page(state: &State, repo: &Repo, issue: &Issue) -> String {
    let mut body =
        format!("<p>by {} on <a href=\"/{1}\">{1}</a></p>", safe(&issue.user.login), safe(&repo.full_name()));
    if let Some(pull) = &issue.pull {
        let state_word = match (pull.merged_at, issue.open) {
            (Some(_), _) => "merged",
            (None, true) => "open",
            (None, false) => "closed",
        };
        let _ = write!(
            body,
            "<p>{state_word}: {} into {}, at <code>{}</code></p>",
            safe(&pull.head_ref),
            safe(&pull.base_ref),
            safe(&pull.head_sha)
        );
    }
    for label in issue.labels.iter().filter_map(|id| repo.labels.get(id)) {
        let _ = write!(body, "<span class=\"label\">{}</span>", safe(&label.name));
    }
    let _ = write!(body, "<pre>{}</pre>", safe(issue.body.as_deref().unwrap_or_default()));
    if let Some(pull) = &issue.pull {
        body.push_str("<h2>Checks</h2><table><tr><th>check</th><th>by</th><th>state</th><th>says</th></tr>");
        for run in latest(repo.check_runs.values().filter(|run| run.head_sha == pull.head_sha)) {
            body.push_str(&check_row(state, repo, run));
        }
        body.push_str("</table>");
        for review in &pull.reviews {
            let _ = write!(body, "<p>{}: {}</p>", safe(&review.user.login), safe(&review.state));
        }
    }
    body.push_str("<h2>Comments</h2>");
    for comment in repo.comments.values().filter(|comment| comment.issue == issue.number) {
        let (id, who, text) = (comment.id, safe(&comment.user.login), safe(&comment.body));
        let _ = write!(body, "<section id=\"issuecomment-{id}\"><p>{who}</p><pre>{text}</pre></section>");
    }
    shell(&format!("#{} {}", issue.number, issue.title), &body)
}

fn run_page(state: &State, repo: &Repo, run: &CheckRun) -> String {
    let body = format!(
        "<table>{}</table><pre>{}</pre><pre>{}</pre>",
        check_row(state, repo, run),
        safe(run.summary.as_deref().unwrap_or_default()),
        safe(run.text.as_deref().unwrap_or_default())
    );
    shell(&run.name, &body)
}

fn commit_page(state: &State, repo: &Repo, sha: &str) -> Option<String> {
    let git = state.git(repo.id).ok()?;
    let id = git.resolve(sha)?;
    let commit = git.0.find_commit(id).ok()?;
    let files = git.diff(commit.parent_ids().next(), id).ok()?;
    let mut body = format!("<pre>{}</pre>", safe(&String::from_utf8_lossy(commit.message_bytes())));
    for file in files {
        let (path, patch) = (safe(&file.path), safe(file.patch.as_deref().unwrap_or_default()));
        let _ = write!(body, "<h2>{path}</h2><pre>{patch}</pre>");
    }
    Some(shell(&id.to_string(), &body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_can_not_leave_its_place() {
        assert_eq!(safe("<script>\"'&"), "&lt;script&gt;&quot;&#39;&amp;");
    }
}
