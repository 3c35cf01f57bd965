//! The page of a pull request or issue: what happened, what the checks say, and whether it may be merged.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;

use super::super::model::*;
use super::super::state::State;
use super::super::view::checks::latest;
use super::super::view::git::oid;
use super::diff::Diff;
use super::{badge, checks, forms, label, link, markdown, page_in, safe};

/// Something that happened, and when. Everything that happens takes the next id, so that ids tell what came first;
/// the clock of the twin has whole seconds, some of them ahead of time.
struct Moment {
    at: Timestamp,
    id: u64,
    html: String,
}

pub(super) fn page(state: &State, repo: &Repo, issue: &Issue, fresh: bool) -> String {
    let address = format!("/{}/{}/{}", repo.full_name(), kind(issue), issue.number);
    let title = format!("{} #{}", issue.title, issue.number);
    let diff = issue.pull.as_ref().and_then(|pull| Diff::of_pull(state, repo, pull));
    let mut body = head(repo, issue, diff.as_ref());
    if issue.pull.is_some() {
        body.push_str(&forms::tries(state, repo, issue.open));
    }
    body.push_str("<div class=\"columns\"><div>");
    body.push_str(&timeline(state, repo, issue));
    body.push_str("</div><aside>");
    let mut notes = BTreeMap::new();
    if let Some(pull) = &issue.pull {
        let runs = latest(repo.check_runs.values().filter(|run| run.head_sha == pull.head_sha));
        notes = checks::by_line(&runs);
        body.push_str(&merge_box(state, repo, issue, pull, (&runs, diff.as_ref())));
    }
    body.push_str(&forms::taking_part(state, repo, issue));
    body.push_str("</aside></div>");
    if let Some(diff) = &diff {
        let _ = write!(body, "<section id=\"files\"><h2>Files changed</h2>{}</section>", diff.html(&notes));
    }
    page_in(state, repo, &title, &body, fresh.then_some(address.as_str()))
}

/// What was said and done, in the order it happened.
fn timeline(state: &State, repo: &Repo, issue: &Issue) -> String {
    let mut moments: Vec<Moment> = comments(repo, issue).collect();
    if let Some(pull) = &issue.pull {
        moments.extend(pull.reviews.iter().map(|review| reviewed(repo, review)));
        moments.extend(commits(state, repo, pull).unwrap_or_default());
    }
    moments.extend(end(repo, issue));
    moments.sort_by_key(|moment| (moment.id, moment.at));
    let mut out = String::from("<section class=\"timeline\" aria-label=\"What happened\">");
    out.push_str(&said(
        &issue.user.login,
        &format!("opened this {}", clock(issue.created_at)),
        &markdown::render(repo, issue.body.as_deref().unwrap_or("_No description._")),
        "",
    ));
    let last = moments.len().saturating_sub(1);
    for (at, moment) in moments.iter().enumerate() {
        if at == last {
            out.push_str("<span id=\"latest\"></span>");
        }
        out.push_str(&moment.html);
    }
    out.push_str("</section>");
    out
}

pub(super) fn kind(issue: &Issue) -> &'static str {
    if issue.pull.is_some() { "pull" } else { "issues" }
}

fn head(repo: &Repo, issue: &Issue, diff: Option<&Diff>) -> String {
    let mut out = format!("<p class=\"sub\">{} by <b>{}</b>", badge(issue), safe(&issue.user.login));
    if let Some(pull) = &issue.pull {
        let _ = write!(
            out,
            " · <code>{}</code> into <code>{}</code> · head {}",
            safe(&pull.head_ref),
            safe(&pull.base_ref),
            link(repo, &format!("/commit/{}", pull.head_sha), &short(&pull.head_sha))
        );
    }
    if let Some(diff) = diff {
        let _ = write!(out, " · <a href=\"#files\">{} changed</a>", counted(diff.count(), "file"));
    }
    out.push_str("</p><p>");
    for one in issue.labels.iter().filter_map(|id| repo.labels.get(id)) {
        out.push_str(&label(one));
    }
    out.push_str("</p>");
    out
}

pub(super) fn counted(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

fn short(sha: &str) -> String {
    sha.chars().take(12).collect()
}

fn clock(at: Timestamp) -> String {
    format!("<time>{}</time>", at.strftime("%H:%M:%S UTC"))
}

/// A box with a head line: who did what.
fn said(who: &str, what: &str, html: &str, foot: &str) -> String {
    let text = if html.is_empty() { String::new() } else { format!("<div class=\"md\">{html}</div>") };
    format!("<section class=\"box\"><header><b>{}</b> {what}</header>{text}{foot}</section>", safe(who))
}

fn comments<'a>(repo: &'a Repo, issue: &'a Issue) -> impl Iterator<Item = Moment> + 'a {
    repo.comments.values().filter(|comment| comment.issue == issue.number).map(|comment| {
        let mut what = format!("commented {}", clock(comment.created_at));
        if comment.updated_at > comment.created_at {
            let _ = write!(what, ", last edited {}", clock(comment.updated_at));
        }
        let mut foot = String::new();
        if !comment.reactions.is_empty() {
            foot.push_str("<footer>");
            for one in &comment.reactions {
                let _ = write!(foot, "<span title=\"{}\">{}</span> ", safe(&one.user.login), face(&one.content));
            }
            foot.push_str("</footer>");
        }
        let html = said(&comment.user.login, &what, &markdown::render(repo, &comment.body), &foot);
        let html = html.replacen("<section ", &format!("<section id=\"issuecomment-{}\" ", comment.id), 1);
        Moment { at: comment.created_at, id: comment.id, html }
    })
}

fn face(reaction: &str) -> &'static str {
    match reaction {
        "+1" => "👍",
        "-1" => "👎",
        "laugh" => "😄",
        "confused" => "😕",
        "heart" => "❤️",
        "hooray" => "🎉",
        "rocket" => "🚀",
        "eyes" => "👀",
        _ => "•",
    }
}

fn reviewed(repo: &Repo, review: &Review) -> Moment {
    let (mark, word) = match review.state.as_str() {
        "APPROVED" => ("ok", "✓ approved"),
        "CHANGES_REQUESTED" => ("bad", "✗ asked for changes on"),
        "DISMISSED" => ("wait", "(dismissed) reviewed"),
        _ => ("wait", "reviewed"),
    };
    let commit = link(repo, &format!("/commit/{}", review.commit_id), &short(&review.commit_id));
    let what = format!("<span class=\"{mark}\">{word}</span> {commit} {}", clock(review.submitted_at));
    let html = said(&review.user.login, &what, &markdown::render(repo, &review.body), "");
    Moment { at: review.submitted_at, id: review.id, html }
}

fn line(at: Timestamp, id: u64, html: &str) -> Moment {
    Moment { at, id, html: format!("<p class=\"event\">{html} {}</p>", clock(at)) }
}

fn commits(state: &State, repo: &Repo, pull: &Pull) -> Option<Vec<Moment>> {
    let git = state.git(repo.id).ok()?;
    let head = oid(&pull.head_sha).ok()?;
    let base = git.merge_base(oid(&pull.base_sha).ok()?, head);
    let mut found = Vec::new();
    // It came with the push that brought it or a commit on top of it, whatever its own clock says.
    let came = |id: &str| state.repos.get(&pull.head_repo)?.activities.iter().find(|one| one.after == id);
    let mut with = None;
    for id in git.commits_between(base, head).ok()?.into_iter().rev() {
        let commit = git.0.find_commit(id).ok()?;
        with = came(&id.to_string()).or(with);
        let message = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
        let written = Timestamp::from_second(commit.time().seconds()).ok()?;
        let (at, order) = with.map_or((written, 0), |push| (push.at, push.id));
        let author = commit.author();
        let who = String::from_utf8_lossy(author.name_bytes()).into_owned();
        let to = link(repo, &format!("/commit/{id}"), &short(&id.to_string()));
        found.push(line(at, order, &format!("<b>{}</b> committed {to} {}", safe(&who), safe(&message))));
    }
    found.reverse();
    Some(found)
}

fn end(repo: &Repo, issue: &Issue) -> Option<Moment> {
    if let Some((pull, at, by)) =
        issue.pull.as_ref().and_then(|pull| Some((pull, pull.merged_at?, pull.merged_by.as_ref()?)))
    {
        let commit = pull.merge_commit_sha.as_deref().unwrap_or_default();
        let to = link(repo, &format!("/commit/{commit}"), &short(commit));
        let order = repo.activities.iter().find(|one| one.after == commit).map_or(u64::MAX, |push| push.id);
        return Some(line(at, order, &format!("<b>{}</b> merged this as {to}", safe(&by.login))));
    }
    let at = issue.closed_at.filter(|_| !issue.open)?;
    let reason = issue.state_reason.as_deref().map(|reason| format!(" as {}", safe(&reason.replace('_', " "))));
    Some(line(at, u64::MAX, &format!("closed{}", reason.unwrap_or_default())))
}

/// What stands beside a pull request: the checks of its head, and why it may or may not be merged.
fn merge_box(
    state: &State,
    repo: &Repo,
    issue: &Issue,
    pull: &Pull,
    (runs, diff): (&[&CheckRun], Option<&Diff>),
) -> String {
    let (mark, title, why) = verdict(state, repo, issue, pull);
    let mut out = String::from("<section class=\"box\" id=\"merge\"><h2>Checks on the head</h2>");
    let _ = write!(out, "<div class=\"verdict {mark}\"><b>{title}</b>");
    if !why.is_empty() {
        out.push_str("<ul>");
        for line in why {
            let _ = write!(out, "<li>{}</li>", safe(&line));
        }
        out.push_str("</ul>");
    }
    out.push_str("</div>");
    if let Some(place) = in_line(repo, pull, issue.number) {
        out.push_str(&place);
    }
    if runs.is_empty() {
        out.push_str("<p class=\"pad sub\">None yet.</p>");
    }
    out.push_str(&checks::rows(state, repo, runs.iter().copied(), (diff, issue.open)));
    out.push_str("</section>");
    out
}

/// Its place in the merge queue, and the commit that is proved there.
fn in_line(repo: &Repo, pull: &Pull, number: u64) -> Option<String> {
    let line = repo.queues.get(&pull.base_ref)?;
    let at = line.iter().position(|entry| entry.number == number)?;
    let group = line.get(at)?.group.as_ref();
    let group = group.map(|group| link(repo, &format!("/commit/{}", group.head), &short(&group.head)));
    Some(format!("<p class=\"pad\">In the merge queue at place {}, as {}.</p>", at + 1, group.unwrap_or_default()))
}

fn verdict(state: &State, repo: &Repo, issue: &Issue, pull: &Pull) -> (&'static str, &'static str, Vec<String>) {
    if pull.merged_at.is_some() {
        return ("done", "Merged", Vec::new());
    }
    if !issue.open {
        return ("wait", "Closed", Vec::new());
    }
    let refused = "Merging is refused";
    match state.mergeable(repo, issue, pull) {
        Ok((_, "dirty")) => ("bad", refused, vec!["It conflicts with the base branch.".to_owned()]),
        Ok((_, "draft")) => ("wait", refused, vec!["It is still a draft.".to_owned()]),
        Ok((_, "blocked")) => ("bad", refused, state.merge_violations(repo, pull, None)),
        Ok((Some(true), _)) => ("ok", "It may be merged", Vec::new()),
        _ => ("wait", refused, vec!["It can't be told whether it merges.".to_owned()]),
    }
}
