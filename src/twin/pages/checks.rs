//! Check runs: how each ended, what it says, its annotations and its buttons.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::model::*;
use super::super::state::State;
use super::diff::{Diff, Note, Spot, spot};
use super::pull::counted;
use super::{forms, link, markdown, page_in, safe};

/// The class and the sign of a state or conclusion.
fn mark(end: &str) -> (&'static str, &'static str) {
    match end {
        "success" => ("ok", "✓"),
        "failure" | "timed_out" | "startup_failure" => ("bad", "✗"),
        "action_required" => ("bad", "!"),
        "neutral" | "skipped" | "cancelled" | "stale" => ("wait", "–"),
        _ => ("wait", "•"),
    }
}

/// Check runs, each with what it says folded away. What they say of a line is left to the diff where that shows it. The
/// buttons are there while something can follow from them.
pub(super) fn rows<'a>(
    state: &State,
    repo: &Repo,
    runs: impl IntoIterator<Item = &'a CheckRun>,
    (diff, buttons): (Option<&Diff>, bool),
) -> String {
    let mut out = String::from("<ul class=\"rows\">");
    for run in runs {
        let app = state.apps.get(&run.app).map_or("", |app| app.name.as_str());
        let end = run.conclusion.as_deref().unwrap_or(&run.status);
        let (class, mark) = mark(end);
        let _ = write!(
            out,
            "<li><span class=\"{class}\" aria-hidden=\"true\">{mark}</span> <b>{}</b> <span class=\"{class}\">{}</span> \
             <span class=\"sub\">by {}</span>",
            link(repo, &format!("/runs/{}", run.id), &run.name),
            safe(&end.replace('_', " ")),
            safe(app)
        );
        let title = safe(run.title.as_deref().unwrap_or_default());
        match &run.summary {
            Some(summary) => {
                let said = markdown::render(repo, summary);
                let _ = write!(out, "<details><summary>{title}</summary><div class=\"md\">{said}</div></details>");
            }
            None if title.is_empty() => {}
            None => {
                let _ = write!(out, "<div>{title}</div>");
            }
        }
        out.push_str(&notes(run, diff));
        if buttons {
            out.push_str(&forms::buttons(state, repo, run));
        }
        out.push_str("</li>");
    }
    out.push_str("</ul>");
    out
}

/// A run's annotations: where, and what. Those that stand in the diff are only counted.
fn notes(run: &CheckRun, diff: Option<&Diff>) -> String {
    let in_diff = |note: &&serde_json::Value| diff.is_some_and(|diff| spot(note).is_some_and(|spot| diff.shows(&spot)));
    let (shown, listed): (Vec<_>, Vec<_>) = run.annotations.iter().partition(in_diff);
    let mut out = String::new();
    if !listed.is_empty() {
        out.push_str("<ul class=\"notes\">");
        for note in listed {
            let text = |field: &str| safe(note[field].as_str().unwrap_or_default());
            let (path, line) = (text("path"), &note["start_line"]);
            let _ = write!(out, "<li><code>{path}:{line}</code> {} {}</li>", text("annotation_level"), text("message"));
        }
        out.push_str("</ul>");
    }
    if !shown.is_empty() {
        let count = counted(shown.len(), "finding");
        let _ = write!(out, "<p class=\"notes\"><a href=\"#files\">{count} in the diff below</a></p>");
    }
    out
}

/// What runs say of lines, by the line.
pub(super) fn by_line<'a>(runs: &[&'a CheckRun]) -> BTreeMap<Spot, Vec<Note<'a>>> {
    let mut found: BTreeMap<Spot, Vec<Note<'a>>> = BTreeMap::new();
    for run in runs {
        for note in &run.annotations {
            let text = |field: &str| note[field].as_str().unwrap_or_default();
            let Some(spot) = spot(note) else { continue };
            found.entry(spot).or_default().push(Note {
                check: &run.name,
                level: text("annotation_level"),
                title: text("title"),
                message: text("message"),
            });
        }
    }
    found
}

pub(super) fn run_page(state: &State, repo: &Repo, run: &CheckRun) -> String {
    let bare = CheckRun { summary: None, ..run.clone() };
    let body = format!(
        "<p class=\"sub\">on {}</p><section class=\"box\">{}<div class=\"md\">{}{}</div></section>",
        link(repo, &format!("/commit/{}", run.head_sha), &run.head_sha),
        rows(state, repo, [&bare], (None, true)),
        markdown::render(repo, run.summary.as_deref().unwrap_or_default()),
        markdown::render(repo, run.text.as_deref().unwrap_or_default())
    );
    page_in(state, repo, &run.name, &body, None)
}

pub(super) fn workflow_page(state: &State, repo: &Repo, run: &WorkflowRun) -> String {
    let jobs = run.jobs.iter().filter_map(|id| repo.check_runs.get(id));
    let body = format!(
        "<p class=\"sub\">{} on {}</p><section class=\"box\">{}</section>",
        safe(&run.event),
        link(repo, &format!("/commit/{}", run.head_sha), &run.head_sha),
        rows(state, repo, jobs, (None, true))
    );
    page_in(state, repo, &run.path, &body, None)
}
