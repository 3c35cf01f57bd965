//! `next`, `status` and `explain` of a task, and of a pass that is about none.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::answer::Refused;
use crate::cli::status::Place;
use crate::cli::task::desk::recorded;
use crate::finding::Finding;
use crate::flow::task::Stage;
use crate::gate::task::prompt::{allowed, forbidden, updates};
use crate::gate::task::sheet::LARGEST;
use crate::gate::task::{self, Field, STATE, Sheet};
use crate::policy::Role;
use crate::repo::{Below, LocalRepo, ReadBelow, RepoPath};

/// Fewer bytes than a kilobyte.
const MOST_BYTES: usize = 1_023;
const MOST_FAILING: usize = 4;
const SAYS: usize = 120;
/// So many findings are told.
const MOST_FOUND: usize = 20;

/// A task, and where it stands.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Task {
    /// Its folder, from the root.
    pub(in crate::cli) folder: String,
    /// By its records; where there are none, as it is claimed.
    pub(in crate::cli) stage: Stage,
    pub(in crate::cli) pass: Option<u32>,
    /// What the last pass lacked.
    pub(in crate::cli) lacked: Vec<Finding>,
}

/// Who asks, about what, and where that lies.
pub(super) struct Desk {
    pub(super) role: Role,
    pub(super) task: Option<Task>,
    /// The content that is worked on, in words.
    pub(super) on: String,
    pub(super) below: Below,
    /// Whom what is written there belongs to.
    pub(super) owner: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Next {
    schema: &'static str,
    role: String,
    task: Option<String>,
    phase: Option<String>,
    allowed: Vec<String>,
    forbidden: Vec<String>,
    write: String,
    next: Vec<String>,
    failing: Vec<Failing>,
    more: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Failing {
    rule: String,
    says: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Status {
    schema: &'static str,
    role: String,
    task: Option<String>,
    phase: Option<String>,
    /// What `STATE.md` says now.
    claims: Option<String>,
    pass: Option<u32>,
    on: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Explained {
    schema: &'static str,
    role: String,
    task: Option<String>,
    phase: Option<String>,
    findings: Vec<Finding>,
    more: usize,
}

impl Desk {
    /// The desk of a task in a clone. Where it stands is looked up anew: the claim moves, and so do the records.
    pub(super) async fn of_clone(place: &Place, folder: &Path, role: Role) -> Result<Self, Refused> {
        let next = "Start the server with `--task DIR`, the folder of a task in the working tree.";
        let wrong = |says: String| Refused::new(says, next);
        let absolute = folder.canonicalize().map_err(|_| wrong(format!("There is no folder {}.", folder.display())))?;
        let repo = place.here().and_then(|here| LocalRepo::around(here).ok());
        let root = repo.as_ref().and_then(LocalRepo::root).and_then(|root| root.canonicalize().ok());
        let (Some(repo), Some(root)) = (repo, root) else {
            return Err(wrong("There is no working tree of git here.".to_owned()));
        };
        let inside = absolute.strip_prefix(&root).ok().and_then(Path::to_str).filter(|path| !path.is_empty());
        let inside = inside.ok_or_else(|| wrong(format!("{} is no folder of this working tree.", folder.display())))?;
        let below = Below::open(&root).map_err(|error| wrong(format!("The working tree can't be read: {error}.")))?;
        let head = repo.resolve("HEAD").ok().flatten();
        let changed = if repo.is_modified().unwrap_or(true) { ", with what is not committed yet" } else { "" };
        let on = head.map_or_else(|| "no commit yet".to_owned(), |head| format!("{}{changed}", head.short()));
        let known = recorded(&repo, inside).await.map_err(Refused::from)?;
        let mut desk = Self { role, task: None, on, below, owner: None };
        let claimed = desk.sheet(inside)?.ok().map_or(Stage::Intake, |sheet| sheet.phase);
        let (stage, pass, lacked) = match known {
            Some(task) => (task.state.stage, Some(task.passes), task.lacked),
            None => (claimed, None, Vec::new()),
        };
        desk.task = Some(Task { folder: inside.to_owned(), stage, pass, lacked });
        Ok(desk)
    }

    /// What the task claims now, or what is wrong with it.
    pub(super) fn sheet(&self, folder: &str) -> Result<Result<Sheet, Vec<Finding>>, Refused> {
        let path = format!("{folder}/{STATE}");
        match self.below.read(&RepoPath::from(path.as_str()), LARGEST as u64) {
            Ok(ReadBelow::Bytes(bytes)) => Ok(task::read(&path, &bytes)),
            _ => Err(Refused::new(
                format!("There is no plain file {path} that could be read."),
                "A task has one: put it back as it was, or name the folder of a task.",
            )),
        }
    }

    fn about(&self) -> (String, Option<String>, Option<String>) {
        let task = self.task.as_ref();
        (self.role.to_string(), task.map(|task| task.folder.clone()), task.map(|task| task.stage.to_string()))
    }

    pub(super) fn next(&self) -> Next {
        let (role, task, phase) = self.about();
        let owned = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let answer = "your answer, by the schema in `PHASEGATE_SCHEMA`, into the file that `PHASEGATE_ANSWER` names";
        let schema = "phasegate/task-next@1";
        let (failing, more) = (Vec::new(), 0);
        let mut next = match &self.task {
            Some(task) if !self.role.is_read_only() => Next {
                allowed: owned(allowed(task.stage)),
                forbidden: owned(forbidden(task.stage)),
                write: format!("in {STATE}: {}", updates(task.stage)),
                next: task.stage.next().map(|stage| stage.to_string()).collect(),
                failing: task.lacked.iter().take(MOST_FAILING).map(Failing::of).collect(),
                more: task.lacked.len().saturating_sub(MOST_FAILING),
                ..Next { schema, role, task: Some(task.folder.clone()), phase, ..Next::nothing() }
            },
            _ => Next {
                allowed: owned(match self.role.is_read_only() {
                    true => &["read the content", "run what only reads"][..],
                    false => &["what the prompt asks"],
                }),
                forbidden: owned(match self.role.is_read_only() {
                    true => &["write anything but your answer"][..],
                    false => &["commit: leave the files, they become one commit"],
                }),
                write: answer.to_owned(),
                next: Vec::new(),
                failing,
                more,
                schema,
                role,
                task,
                phase,
            },
        };
        next.fit();
        next
    }

    pub(super) fn status(&self) -> Result<Status, Refused> {
        let (role, task, phase) = self.about();
        let claims = match &self.task {
            Some(task) => self.sheet(&task.folder)?.ok().map(|sheet| sheet.phase.to_string()),
            None => None,
        };
        let pass = self.task.as_ref().and_then(|task| task.pass);
        Ok(Status { schema: "phasegate/task-status@1", role, task, phase, claims, pass, on: self.on.clone() })
    }

    /// What the last pass lacked, and what the phase still asks for by the claim as it is now.
    pub(super) fn explain(&self) -> Result<Explained, Refused> {
        let (role, task, phase) = self.about();
        let mut findings = Vec::new();
        if let Some(task) = &self.task {
            findings.extend(task.lacked.iter().cloned());
            match self.sheet(&task.folder)? {
                Ok(sheet) => {
                    let path = format!("{}/{STATE}", task.folder);
                    let now = task::lacks(&path, &sheet, task.stage);
                    findings.extend(now.into_iter().filter(|one| !task.lacked.iter().any(|old| old.says == one.says)));
                }
                Err(wrong) => findings.extend(wrong),
            }
        }
        let more = findings.len().saturating_sub(MOST_FOUND);
        findings.truncate(MOST_FOUND);
        Ok(Explained { schema: "phasegate/task-explain@1", role, task, phase, findings, more })
    }
}

impl Next {
    fn nothing() -> Self {
        Self {
            schema: "",
            role: String::new(),
            task: None,
            phase: None,
            allowed: Vec::new(),
            forbidden: Vec::new(),
            write: String::new(),
            next: Vec::new(),
            failing: Vec::new(),
            more: 0,
        }
    }

    /// Says less until it fits: of what fails first, the last ones before the first.
    fn fit(&mut self) {
        let size = |one: &Self| serde_json::to_string(one).map_or(0, |text| text.len());
        while size(self) > MOST_BYTES {
            if self.failing.pop().is_some() {
                self.more += 1;
            } else if self.allowed.pop().is_none() && self.forbidden.pop().is_none() {
                return;
            }
        }
    }
}

impl Failing {
    fn of(finding: &Finding) -> Self {
        let cut = |text: &str| text.chars().take(SAYS).collect::<String>();
        Self { rule: finding.rule.clone(), says: format!("{} -> {}", cut(&finding.says), cut(&finding.next)) }
    }
}

/// What a task is held to, where its claim can be read.
pub(super) fn plan(sheet: &Sheet) -> Vec<String> {
    task::shown::plan(sheet).map(str::to_owned).collect()
}

/// Whether the plan is said at all.
pub(super) fn has_plan(sheet: &Sheet) -> bool {
    sheet.says(Field::ValidationPlan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desk(role: Role, stage: Stage, lacked: usize) -> (tempfile::TempDir, Desk) {
        let dir = tempfile::tempdir().unwrap();
        let one = Finding::error("TSK-12", "x".repeat(400), "y".repeat(400));
        let task =
            Task { folder: "tasks/T-123-light-the-lamp".to_owned(), stage, pass: Some(3), lacked: vec![one; lacked] };
        let below = Below::open(dir.path()).unwrap();
        (dir, Desk { role, task: Some(task), on: "abc".to_owned(), below, owner: None })
    }

    #[test]
    fn what_is_next_is_said_in_less_than_a_kilobyte() {
        for stage in Stage::ALL {
            for lacked in [0, 1, 30] {
                let (_dir, desk) = desk(Role::Main, stage, lacked);
                let next = desk.next();
                let text = serde_json::to_string(&next).unwrap();
                assert!(text.len() <= MOST_BYTES, "{stage}: {} bytes", text.len());
                assert_eq!(next.failing.len() + next.more, lacked, "{stage}");
                assert_eq!(next.next, stage.next().map(|stage| stage.to_string()).collect::<Vec<_>>());
                assert_eq!(next.allowed.len(), allowed(stage).len(), "{stage}: all of it has room");
            }
        }
    }

    #[test]
    fn who_looks_is_told_to_answer() {
        let (_dir, desk) = desk(Role::Reviewer, Stage::Review, 0);
        let next = desk.next();
        assert!(next.write.contains("PHASEGATE_ANSWER") && next.next.is_empty(), "{next:?}");
        assert_eq!(next.forbidden, ["write anything but your answer"]);
    }
}
