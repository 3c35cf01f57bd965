//! Check runs: how a verdict is shown, and what branch rules wait for.
//!
//! A run is written once: its key is its `external_id`, together with name and commit. Annotations are appended by
//! GitHub and not replaced, so a batch that may have arrived is counted before it is sent again.

use std::collections::BTreeSet;

use http::Method;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LONGEST_TEXT, fit, text};
use crate::github::request::Request;
use crate::github::{Error, Repo, Result};
use crate::ids::CommitId;

/// GitHub takes this many annotations a call.
const BATCH: usize = 50;
/// GitHub tells the runs of a commit's newest suites, this many, and not that there are more.
const MOST_SUITES: usize = 1_000;

/// A check run, anyone's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckRun {
    pub id: u64,
    pub name: String,
    pub head_sha: CommitId,
    #[serde(default, deserialize_with = "text")]
    pub external_id: String,
    pub status: Status,
    pub conclusion: Option<Conclusion>,
    /// Who made it. A check with the right name from the wrong App is a forgery.
    pub app: Option<RunApp>,
    pub check_suite: Option<SuiteId>,
    #[serde(default)]
    pub output: Output,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "text")]
    pub html_url: String,
    #[serde(default, deserialize_with = "text")]
    pub details_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RunApp {
    pub id: u64,
    #[serde(default, deserialize_with = "text")]
    pub slug: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct SuiteId {
    pub id: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Output {
    #[serde(default, deserialize_with = "text")]
    pub title: String,
    #[serde(default, deserialize_with = "text")]
    pub summary: String,
    #[serde(default, deserialize_with = "text")]
    pub text: String,
    #[serde(default)]
    pub annotations_count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Queued,
    InProgress,
    Completed,
    /// `waiting`, `requested`, `pending`, and whatever comes: not completed.
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    Success,
    Failure,
    /// Branch rules let it pass, as they do `skipped`.
    Neutral,
    Skipped,
    ActionRequired,
    Cancelled,
    TimedOut,
    Stale,
    StartupFailure,
    /// One that we don't know: it never passes.
    #[serde(other)]
    Unknown,
}

/// Where a run of ours stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Queued,
    InProgress,
    Completed(Verdict),
}

/// How a run of ours ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Success,
    Failure,
    /// Not yet: someone has to do something.
    ActionRequired,
    /// Branch rules let it pass: only for a policy that asks for no enforcement.
    Neutral,
}

/// What a run shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub standing: Standing,
    pub title: String,
    pub summary: String,
    pub text: Option<String>,
    pub details_url: Option<String>,
    pub annotations: Vec<Annotation>,
    pub buttons: Buttons,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    pub level: Level,
    pub title: String,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Notice,
    Warning,
    Failure,
}

/// An annotation as GitHub tells it.
#[derive(Deserialize)]
struct Told {
    path: String,
    start_line: u32,
    annotation_level: String,
    #[serde(default, deserialize_with = "text")]
    title: String,
    #[serde(default, deserialize_with = "text")]
    message: String,
}

impl Told {
    fn is(&self, one: &Annotation) -> bool {
        let sent = annotations(std::slice::from_ref(one));
        let same = |field: &str, told: &str| sent[0][field].as_str().is_some_and(|sent| sent.trim() == told.trim());
        sent[0]["start_line"] == self.start_line
            && same("path", &self.path)
            && same("annotation_level", &self.annotation_level)
            && same("title", &self.title)
            && same("message", &self.message)
    }
}

/// A button on a run, within GitHub's lengths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunButton {
    label: String,
    description: String,
    identifier: String,
}

impl RunButton {
    /// Label and identifier of 1 to 20 characters, description of 1 to 40.
    pub fn new(label: &str, description: &str, identifier: &str) -> Result<Self> {
        for (what, text, longest) in
            [("label", label, 20), ("description", description, 40), ("identifier", identifier, 20)]
        {
            let length = text.chars().count();
            if length == 0 || length > longest {
                return Err(Error::malformed(
                    "a button",
                    format!("the {what} {text:?} must have 1 to {longest} characters"),
                ));
            }
        }
        Ok(Self { label: label.into(), description: description.into(), identifier: identifier.into() })
    }

    pub fn identifier(&self) -> &str {
        &self.identifier
    }
}

/// At most three buttons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Buttons(Vec<RunButton>);

impl Buttons {
    pub fn new(buttons: Vec<RunButton>) -> Result<Self> {
        if buttons.len() > 3 {
            return Err(Error::malformed("a run's buttons", "GitHub takes at most three"));
        }
        Ok(Self(buttons))
    }
}

impl Report {
    /// The report with its first annotations.
    fn body(&self) -> Value {
        let mut output = self.heading();
        if let Some(text) = &self.text {
            output["text"] = fit(text, LONGEST_TEXT).into();
        }
        output["annotations"] = annotations(self.annotations.chunks(BATCH).next().unwrap_or_default());
        let mut body = json!({ "output": output, "actions": self.buttons });
        match self.standing {
            Standing::Queued => body["status"] = "queued".into(),
            Standing::InProgress => body["status"] = "in_progress".into(),
            Standing::Completed(verdict) => {
                body["status"] = "completed".into();
                body["conclusion"] = json!(verdict);
            }
        }
        if let Some(url) = &self.details_url {
            body["details_url"] = url.as_str().into();
        }
        body
    }

    /// Title and summary, which GitHub wants with every batch of annotations.
    fn heading(&self) -> Value {
        // An empty summary is refused.
        let summary = if self.summary.trim().is_empty() { &self.title } else { &self.summary };
        json!({ "title": fit(&self.title, 255), "summary": fit(summary, LONGEST_TEXT) })
    }
}

fn annotations(batch: &[Annotation]) -> Value {
    let one = |annotation: &Annotation| {
        let start = annotation.start_line.max(1);
        json!({
            "path": annotation.path,
            "start_line": start,
            "end_line": annotation.end_line.max(start),
            "annotation_level": annotation.level,
            "title": fit(&annotation.title, 255),
            // GitHub's limit here is 64 KB: bytes, and a character has up to four.
            "message": fit(&annotation.message, 16_000),
        })
    };
    batch.iter().map(one).collect()
}

impl Repo {
    /// All check runs on a commit, of all Apps and all attempts.
    pub async fn list_check_runs(&self, commit: &CommitId) -> Result<Vec<CheckRun>> {
        let route = "/repos/{owner}/{repo}/commits/{commit}/check-runs";
        let request = self.get(route, &[commit.as_str()])?.query("filter", "all");
        let runs = self.runs(request).await?;
        let suites: BTreeSet<u64> = runs.iter().filter_map(|run| run.check_suite).map(|suite| suite.id).collect();
        if suites.len() >= MOST_SUITES {
            return Err(Error::TooMany { route });
        }
        Ok(runs)
    }

    /// The runs of one App on a commit: however many others have made, these are few.
    pub async fn check_runs_of(&self, app: u64, commit: &CommitId) -> Result<Vec<CheckRun>> {
        let request = self
            .get("/repos/{owner}/{repo}/commits/{commit}/check-runs", &[commit.as_str()])?
            .query("app_id", &app.to_string())
            .query("filter", "all");
        self.runs(request).await
    }

    pub async fn get_check_run(&self, run: u64) -> Result<CheckRun> {
        let request = self.get("/repos/{owner}/{repo}/check-runs/{run}", &[&run.to_string()])?;
        Ok(self.unmarked(self.fetch(request).await?))
    }

    async fn runs(&self, request: Request) -> Result<Vec<CheckRun>> {
        let runs: Vec<CheckRun> = self.list(request, Some("check_runs")).await?;
        Ok(runs.into_iter().map(|run| self.unmarked(run)).collect())
    }

    /// What is sent for a run of ours: its title begins with our mark, and it has buttons only where somebody hears of them.
    fn marked(&self, mut body: Value) -> Value {
        if let (Some(mark), Some(title)) = (self.wire().mark, body.pointer("/output/title").and_then(Value::as_str)) {
            body["output"]["title"] = fit(&format!("{mark}{title}"), 255).into();
        }
        if !self.wire().buttons
            && let Some(body) = body.as_object_mut()
        {
            body.remove("actions");
        }
        body
    }

    /// A run with its title as it was given to us.
    fn unmarked(&self, mut run: CheckRun) -> CheckRun {
        if let Some(title) = self.wire().mark.and_then(|mark| run.output.title.strip_prefix(mark)) {
            run.output.title = title.to_owned();
        }
        run
    }

    /// Our run with this key, the newest if there are several.
    pub async fn find_check_run(&self, name: &str, commit: &CommitId, external_id: &str) -> Result<Option<CheckRun>> {
        let login = self.hub().login().await?;
        let slug = login.strip_suffix("[bot]").unwrap_or(login);
        let request = self
            .get("/repos/{owner}/{repo}/commits/{commit}/check-runs", &[commit.as_str()])?
            .query("check_name", name)
            .query("filter", "all");
        let runs = self.runs(request).await?;
        let ours = |run: &CheckRun| {
            let made_by_us = run.app.as_ref().is_some_and(|app| app.slug == slug);
            made_by_us && run.name == name && run.external_id == external_id && run.head_sha == *commit
        };
        Ok(runs.into_iter().filter(ours).max_by_key(|run| run.id))
    }

    /// Makes a run once. The key is `external_id` with name and commit: give every new run its own.
    pub async fn create_check_run(
        &self,
        name: &str,
        commit: &CommitId,
        external_id: &str,
        report: &Report,
    ) -> Result<CheckRun> {
        let mut body = report.body();
        body["name"] = name.into();
        body["head_sha"] = commit.as_str().into();
        body["external_id"] = external_id.into();
        let route = "/repos/{owner}/{repo}/check-runs";
        let request = self.request(Method::POST, route, &[])?.body(self.marked(body));
        let find = || self.find_check_run(name, commit, external_id);
        let run = self.unmarked(self.wire().keyed(self.lane(), &request, find).await?);
        let shown = report.annotations.len().min(BATCH) as u64;
        self.append_annotations(run, report, shown).await
    }

    /// Changes a run of ours. A completed run can't go back to running: make a new one of the same name.
    /// The report's annotations are added to those the run has.
    pub async fn update_check_run(&self, run: u64, external_id: &str, report: &Report) -> Result<CheckRun> {
        let first = report.annotations.len().min(BATCH) as u64;
        let had = if first == 0 { 0 } else { self.get_check_run(run).await?.output.annotations_count };
        let mut body = report.body();
        body["external_id"] = external_id.into();
        let changed = self.patch_run(run, body, had, first).await?;
        self.append_annotations(changed, report, had + first).await
    }

    /// Which of these annotations a run of ours lacks. None of an answer where it has others: they can't be taken off again.
    pub async fn lacking(&self, run: u64, wanted: &[Annotation]) -> Result<Option<Vec<Annotation>>> {
        let request = self.get("/repos/{owner}/{repo}/check-runs/{run}/annotations", &[&run.to_string()])?;
        let mut there: Vec<Told> = self.list(request, None).await?;
        let mut lacking = wanted.to_vec();
        lacking.retain(|one| match there.iter().position(|told| told.is(one)) {
            Some(place) => {
                there.swap_remove(place);
                false
            }
            None => true,
        });
        Ok(there.is_empty().then_some(lacking))
    }

    /// Changes what a run of ours is known by; with a title, a summary and a text these too, and nothing else of it. (GitHub
    /// takes no text without the others.)
    pub async fn rename_check_run(
        &self,
        run: u64,
        external_id: &str,
        output: Option<(&str, &str, &str)>,
    ) -> Result<CheckRun> {
        let mut body = json!({ "external_id": external_id });
        if let Some((title, summary, text)) = output {
            body["output"] = json!({
                "title": fit(title, 255), "summary": fit(summary, LONGEST_TEXT), "text": fit(text, LONGEST_TEXT),
            });
        }
        self.patch_run(run, body, 0, 0).await
    }

    async fn append_annotations(&self, mut run: CheckRun, report: &Report, mut shown: u64) -> Result<CheckRun> {
        for batch in report.annotations.chunks(BATCH).skip(1) {
            let mut output = report.heading();
            output["annotations"] = annotations(batch);
            if let Some(text) = &report.text {
                output["text"] = fit(text, LONGEST_TEXT).into();
            }
            run = self.patch_run(run.id, json!({ "output": output }), shown, batch.len() as u64).await?;
            shown += batch.len() as u64;
        }
        Ok(run)
    }

    async fn patch_run(&self, run: u64, body: Value, had: u64, added: u64) -> Result<CheckRun> {
        let route = "/repos/{owner}/{repo}/check-runs/{run}";
        let request = self.request(Method::PATCH, route, &[&run.to_string()])?.body(self.marked(body));
        if added == 0 {
            return Ok(self.unmarked(self.fetch(request.idempotent()).await?));
        }
        let find = || async {
            let now = self.get_check_run(run).await?;
            Ok((now.output.annotations_count >= had + added).then_some(now))
        };
        Ok(self.unmarked(self.wire().keyed(self.lane(), &request, find).await?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buttons_keep_githubs_lengths() {
        let button = RunButton::new("Approve", "Approve this phase", "approve").unwrap();
        assert!(RunButton::new(&"é".repeat(20), "x", "x").is_ok(), "characters, not bytes");
        assert!(RunButton::new(&"x".repeat(21), "x", "x").is_err());
        assert!(RunButton::new("x", &"x".repeat(41), "x").is_err());
        assert!(RunButton::new("x", "x", "").is_err());
        assert!(Buttons::new(vec![button.clone(); 3]).is_ok());
        assert!(Buttons::new(vec![button; 4]).is_err());
    }

    #[test]
    fn an_unknown_status_or_conclusion_is_no_success() {
        let run: CheckRun = serde_json::from_value(json!({
            "id": 1, "name": "n", "head_sha": "5bd5f196a46b8222fb7484f05faba41a73cf34bd", "external_id": null,
            "status": "in_2031", "conclusion": "excellent", "app": null, "output": {"title": null, "summary": null},
        }))
        .unwrap();
        assert_eq!((run.status, run.conclusion), (Status::Other, Some(Conclusion::Unknown)));
    }
}
