//! What started the run: the event's name and its file.
//!
//! Only events that run the default branch's own workflow file are taken. In the others (`pull_request`, a push to any
//! other branch, …) the change brings the file along, so whatever a run says there, its author could have made it say.

use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

use crate::fact::Fact;
use crate::github::webhook::{self, article, wrong_in};
use crate::ids::{CommitId, Slug};

/// GitHub sends no larger event; whoever writes the file may.
const LARGEST: u64 = 25 * 1024 * 1024;

/// What started a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Empty: it is nothing that anything here depends on.
    pub facts: Vec<Fact>,
    /// The workflow run that ended, where that started this one.
    pub after: Option<WorkflowRun>,
}

/// A workflow run that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WorkflowRun {
    pub id: u64,
    #[serde(default = "first")]
    pub run_attempt: u64,
    pub head_sha: CommitId,
    /// Its workflow's file.
    #[serde(default)]
    pub path: String,
}

fn first() -> u64 {
    1
}

/// An event that can't be worked off. Each says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEvent {
    #[error("{0} is not set: this command is for a step of GitHub Actions, whose runner sets it")]
    Unset(&'static str),
    #[error("the event file {path} can't be read ({why}): GITHUB_EVENT_PATH is the runner's to set")]
    Unreadable { path: String, why: String },
    #[error("the event file {0} is empty: GITHUB_EVENT_PATH must name the file that the runner wrote")]
    Empty(String),
    #[error(
        "the event file {path} has more than {LARGEST} bytes, and GitHub sends no event of that size: GITHUB_EVENT_PATH must name the \
         file that the runner wrote"
    )]
    TooLarge { path: String },
    #[error(
        "the event file {path} is not the JSON of {} {event} event: {why}. Run the job again; if it stays so, look at what \
         writes GITHUB_EVENT_PATH",
        article(event)
    )]
    Malformed { path: String, event: String, why: String },
    #[error(
        "a run on `{event}` executes the workflow file of the change itself, so it could say anything; start the workflow on \
         `{instead}` instead"
    )]
    OfTheChange { event: String, instead: &'static str },
    #[error(
        "this run was started on {at}, and only the default branch `{default}` holds a workflow that is not the change's; \
         start it there"
    )]
    Elsewhere { at: String, default: String },
    #[error(
        "this run on `pull_request_target` executes the workflow file of {at}, as servers from before December 2025 do for a pull \
         request into that branch, and only the file of the default branch `{default}` is not the change's. Leave such pull \
         requests to the schedule, which looks at them too: `branches: [{default}]` under `pull_request_target`"
    )]
    OfTheBase { at: String, default: String },
    #[error("`{0}` is not an event that Phasegate understands; start the workflow on some of: {KNOWN}")]
    Unknown(String),
    #[error("the event is one of {told}, and this run is one of {here}: GITHUB_EVENT_PATH is another run's")]
    Foreign { told: String, here: String },
}

/// The events of the templates, for messages.
const KNOWN: &str = "pull_request_target, issue_comment, issues, workflow_run, check_run, check_suite, schedule, \
    workflow_dispatch, push";

/// What the runner tells of the run.
#[derive(Debug, Clone)]
pub struct Told<'a> {
    /// `GITHUB_EVENT_NAME`
    pub event: &'a str,
    /// `GITHUB_EVENT_PATH`
    pub path: &'a Path,
    /// `GITHUB_REPOSITORY`
    pub slug: &'a Slug,
    /// `GITHUB_REF`
    pub at: &'a str,
    pub default_branch: &'a str,
}

/// What it is read as; none where a run of it is the change's own.
fn read_as(event: &str) -> Option<&str> {
    match event {
        "pull_request_target" => Some("pull_request"),
        "issue_comment" | "issues" | "workflow_run" | "check_run" | "check_suite" | "push" => Some(event),
        _ => None,
    }
}

/// Events whose runs have the change's own workflow file, each with the one to use in its place.
const OF_THE_CHANGE: &[(&str, &str)] = &[
    ("pull_request", "pull_request_target"),
    ("pull_request_review", "workflow_run"),
    ("pull_request_review_comment", "workflow_run"),
    ("merge_group", "workflow_run"),
    ("deployment_status", "schedule"),
];

/// Reads what started the run.
pub fn read(told: &Told<'_>) -> Result<Started, BadEvent> {
    let event = told.event;
    if let Some((_, instead)) = OF_THE_CHANGE.iter().find(|(name, _)| *name == event) {
        return Err(BadEvent::OfTheChange { event: event.to_owned(), instead });
    }
    let needs_ref = matches!(event, "schedule" | "workflow_dispatch" | "push" | "pull_request_target");
    if told.at.is_empty() && needs_ref {
        return Err(BadEvent::Unset("GITHUB_REF"));
    }
    let on_default = told.at == format!("refs/heads/{}", told.default_branch);
    if matches!(event, "schedule" | "workflow_dispatch") {
        // A dispatch runs the file of the branch that it is given.
        return match on_default {
            true => Ok(Started { facts: vec![Fact::LookAround], after: None }),
            false => Err(elsewhere(told)),
        };
    }
    let Some(read_as) = read_as(event) else { return Err(BadEvent::Unknown(plain(event))) };
    if event == "push" && !on_default {
        return Err(elsewhere(told));
    }
    if event == "pull_request_target" && !on_default {
        // Today GitHub runs the default branch's file whatever the base is, and says so in GITHUB_REF. Older servers run that
        // of the base, which may be a branch that anybody writes to.
        return Err(BadEvent::OfTheBase { at: plain(told.at), default: told.default_branch.to_owned() });
    }
    let bytes = bytes(told.path)?;
    let path = || plain(&told.path.display().to_string());
    let malformed = |why: String| BadEvent::Malformed { path: path(), event: event.to_owned(), why };
    let of: Whose = serde_json::from_slice(&bytes).map_err(|error| malformed(wrong_in(&error)))?;
    if of.repository.full_name.to_lowercase() != told.slug.to_string().to_lowercase() {
        return Err(BadEvent::Foreign { told: plain(&of.repository.full_name), here: told.slug.to_string() });
    }
    let parsed = webhook::parse(read_as, &bytes).map_err(|error| malformed(error.reason))?;
    let after = match event {
        "workflow_run" => {
            let ended: Ended = serde_json::from_slice(&bytes).map_err(|error| malformed(wrong_in(&error)))?;
            Some(ended.workflow_run)
        }
        _ => None,
    };
    Ok(Started { facts: parsed.into_iter().map(|event| event.fact).collect(), after })
}

fn elsewhere(told: &Told<'_>) -> BadEvent {
    BadEvent::Elsewhere { at: plain(told.at), default: told.default_branch.to_owned() }
}

#[derive(Deserialize)]
struct Whose {
    repository: Named,
}

#[derive(Deserialize)]
struct Named {
    full_name: String,
}

#[derive(Deserialize)]
struct Ended {
    workflow_run: WorkflowRun,
}

fn bytes(path: &Path) -> Result<Vec<u8>, BadEvent> {
    let name = || plain(&path.display().to_string());
    let unreadable = |error: std::io::Error| BadEvent::Unreadable { path: name(), why: error.to_string() };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    match bytes.len() as u64 {
        0 => Err(BadEvent::Empty(name())),
        size if size > LARGEST => Err(BadEvent::TooLarge { path: name() }),
        _ => Ok(bytes),
    }
}

/// Text of others, fit for a message of one line.
fn plain(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;

    fn slug() -> Slug {
        "octo/garden".parse().unwrap()
    }

    fn started(event: &str, body: &[u8]) -> Result<Started, BadEvent> {
        started_at(event, body, "refs/heads/main")
    }

    fn started_at(event: &str, body: &[u8], at: &str) -> Result<Started, BadEvent> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("event.json");
        fs::write(&path, body).unwrap();
        read(&Told { event, path: &path, slug: &slug(), at, default_branch: "main" })
    }

    fn of(more: Value) -> Vec<u8> {
        let mut body = json!({
            "repository": { "id": 7, "full_name": "octo/garden", "default_branch": "main" },
            "sender": { "id": 1, "login": "mia" },
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body.to_string().into_bytes()
    }

    #[test]
    fn a_run_of_the_changes_own_workflow_is_refused_and_told_what_to_use() {
        for (event, instead) in OF_THE_CHANGE {
            let error = started(event, &of(json!({}))).unwrap_err().to_string();
            assert!(error.contains(event) && error.contains(instead), "{error}");
        }
        let error = started_at("workflow_dispatch", &of(json!({})), "refs/heads/agent").unwrap_err().to_string();
        assert!(error.contains("refs/heads/agent") && error.contains("`main`"), "{error}");
        let pushed = of(json!({ "ref": "refs/heads/agent", "before": "0".repeat(40), "after": "a".repeat(40) }));
        assert!(matches!(started_at("push", &pushed, "refs/heads/agent"), Err(BadEvent::Elsewhere { .. })));
        // Into another branch, on a server that runs the file of that one.
        let error = started_at("pull_request_target", &of(json!({})), "refs/heads/release").unwrap_err().to_string();
        assert!(error.contains("refs/heads/release") && error.contains("`branches: [main]`"), "{error}");
    }

    #[test]
    fn files_that_are_no_events_are_named_with_what_is_wrong() {
        let says = |body: &[u8]| started("issue_comment", body).unwrap_err().to_string();
        assert!(says(b"").contains("is empty"));
        assert!(says(b"{\"repository\": {\"id\": 7, ").contains("ends too early, at line 1"));
        assert!(says(b"not json").contains("no JSON"));
        assert!(says(&of(json!({ "action": "created" }))).contains("is not the JSON of an issue_comment event"));
        // No names of ours, whatever is wrong.
        let pull = |head: Value| of(json!({ "action": "opened", "pull_request": { "number": "x", "head": head } }));
        for (bent, says) in [
            (of(json!({ "action": "opened", "pull_request": { "number": 3, "head": null } })), "of another kind"),
            (pull(json!({ "sha": "a".repeat(40) })), "of another kind"),
            (of(json!({ "action": "opened", "pull_request": { "head": {} } })), "the field `sha` is missing"),
            (of(json!({ "action": "opened", "pull_request": { "head": { "sha": "no" } } })), "or holds what it can't"),
        ] {
            let error = started("pull_request_target", &bent).unwrap_err().to_string();
            let ours = ["struct", "u64", "HasSha", "invalid type", "expected"];
            assert!(error.contains(says) && !ours.iter().any(|word| error.contains(word)), "{error}");
        }
        assert!(says(&vec![b' '; LARGEST as usize + 1]).contains("has more than"));
        let unknown = started("star\u{1b}[2J", &of(json!({}))).unwrap_err().to_string();
        assert!(unknown.contains("pull_request_target") && !unknown.contains('\u{1b}'), "{unknown}");
        let foreign = json!({ "repository": { "id": 8, "full_name": "octo/other" } });
        assert!(says(&of(foreign)).contains("octo/other"));
        let path = Path::new("/nowhere/event.json");
        let told = Told { event: "issue_comment", path, slug: &slug(), at: "refs/heads/main", default_branch: "main" };
        assert!(read(&told).unwrap_err().to_string().contains("/nowhere/event.json"));
    }

    #[test]
    fn what_is_understood_becomes_a_fact() {
        let pull = json!({ "action": "opened", "number": 3,
            "pull_request": { "number": 3, "head": { "sha": "a".repeat(40) } } });
        let started_by = started("pull_request_target", &of(pull)).unwrap();
        assert!(matches!(started_by.facts.as_slice(), [Fact::Pull { number: 3, .. }]), "{started_by:?}");
        assert_eq!(started("schedule", b"").unwrap().facts, [Fact::LookAround]);
        let run = json!({ "action": "completed",
            "workflow_run": { "id": 12, "run_attempt": 2, "head_sha": "b".repeat(40), "head_branch": "work" } });
        let ended = started("workflow_run", &of(run)).unwrap();
        let after = ended.after.unwrap();
        assert_eq!((after.id, after.run_attempt), (12, 2));
        assert!(matches!(ended.facts.as_slice(), [Fact::Checks { .. }]));
    }
}
