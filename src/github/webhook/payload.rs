//! What it says: a delivery's payload, as a fact.
//!
//! GitHub's payloads are large, differ between github.com and the Enterprise Servers, and grow. So the structs here
//! name only what the bot needs: that must be there and well-formed, everything else may be anything, and an action
//! that nobody has heard of yet never fails. A delivery we ignore is `Ok(None)`, which is different from one that we
//! ought to understand and can't, which is an error that the inbox keeps.
//!
//! Attacks and traps that show here:
//! - A comment that is *edited* into a command is never one: only `created` becomes [`Fact::Comment`].
//! - `sender` and `user` are null for deleted accounts; they become the ghost, who is marked as a bot and therefore
//!   approves nothing.
//! - `pull_requests` on a check run lists pull requests of *other* repositories of the fork network too: only those
//!   into this repository count.
//! - A deleted or new branch has an all-zero commit id, which is no commit.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::error::Category;

use crate::fact::{Button, Comment, Event, Fact, PullEvent};
use crate::ids::{CommitId, InstallationId, Malformed, Person, RepoId, RepoRef, Slug};

/// The installation of a delivery that names none: a repository's own webhook, or an event file in a workflow.
pub const NO_INSTALLATION: InstallationId = InstallationId(0);

/// The events that become facts. Every other one (`ping`, `star`, `fork`, `status`, …) is ignored on purpose.
pub const UNDERSTOOD: &[&str] = &[
    "check_run",
    "check_suite",
    "deployment_status",
    "installation",
    "installation_repositories",
    "issue_comment",
    "issues",
    "merge_group",
    "pull_request",
    "pull_request_review",
    "push",
    "repository",
    "workflow_run",
];

/// Actions of understood events that are ignored on purpose; besides these, pushes of tags are.
pub const IGNORED_ACTIONS: &[(&str, &str)] = &[
    ("issue_comment", "pinned"),
    ("issue_comment", "unpinned"),
    // The queue has thrown the group away: there is nothing left to judge.
    ("merge_group", "destroyed"),
];

/// A delivery that should have been understood. Names the event and the place, never the content at length.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the payload of {} {event:?} delivery is not as expected: {reason}", article(event))]
pub struct ParseError {
    pub event: String,
    pub reason: String,
}

/// Understands one delivery: `event` is the `X-GitHub-Event` header, `body` the verified raw bytes.
pub fn parse(event: &str, body: &[u8]) -> Result<Option<Event>, ParseError> {
    if !UNDERSTOOD.contains(&event) {
        return Ok(None);
    }
    understand(event, body)
        .map_err(|reason| ParseError { event: event.to_owned(), reason: reason.chars().take(300).collect() })
}

fn understand(event: &str, body: &[u8]) -> Result<Option<Event>, String> {
    if IGNORED_ACTIONS.iter().any(|(of, _)| *of == event) {
        let (head, HeadAlone { .. }) = read(body)?;
        if IGNORED_ACTIONS.contains(&(event, head.action.as_str())) {
            return Ok(None);
        }
    }
    let (head, fact) = match event {
        "installation" | "installation_repositories" => {
            let (head, payload): (_, Installed) = read(body)?;
            let repos = [payload.repositories, payload.repositories_added, payload.repositories_removed];
            let fact = Fact::Installation {
                id: InstallationId(head.installation.ok_or("no installation")?.id),
                action: head.action.clone(),
                repos: repos.into_iter().flatten().flatten().map(|repo| (repo.id, repo.full_name)).collect(),
            };
            (head, fact)
        }
        "pull_request" => {
            let (head, payload): (_, Pull) = read(body)?;
            let (pull, label) = (payload.pull_request, payload.label.and_then(|label| label.name));
            let before = payload.before.and_then(|before| CommitId::new(before).ok());
            let (what, sender) = (pull_event(&head.action), head.sender.clone());
            (head, Fact::Pull { number: pull.number, what, head: pull.head.sha, sender, label, before })
        }
        "pull_request_review" => {
            let (head, payload): (_, ReviewOf) = read(body)?;
            let (pull, sender) = (payload.pull_request.number, head.sender.clone());
            (head, Fact::Review { pull, sender, review: payload.review.map(|review| review.id) })
        }
        "issue_comment" => {
            let (head, payload) = read(body)?;
            let fact = comment(payload, &head.action, head.sender.clone())?;
            (head, fact)
        }
        "issues" => {
            let (head, payload): (_, Issue) = read(body)?;
            let (action, sender) = (head.action.clone(), head.sender.clone());
            (head, Fact::Issue { number: payload.issue.number, action, sender })
        }
        "check_run" => {
            let (head, payload): (_, Run) = read(body)?;
            let fact = check_run(payload, &head)?;
            (head, fact)
        }
        "check_suite" => {
            let (head, payload): (_, Suite) = read(body)?;
            let suite = payload.check_suite;
            let fact = match head.action.as_str() {
                // Only the suite's own App is told. It is every run of the suite that is asked for.
                "rerequested" => Fact::Button {
                    head: suite.head_sha,
                    run: 0,
                    run_name: String::new(),
                    button: Button::Rerequested,
                    sender: head.sender.clone(),
                    pulls: Vec::new(),
                },
                _ => Fact::Checks {
                    head: suite.head_sha,
                    app: suite.app.map(|app| app.id),
                    completed: None,
                    branch: suite.head_branch,
                    owner: None,
                },
            };
            (head, fact)
        }
        "workflow_run" => {
            let (head, payload): (_, Workflow) = read(body)?;
            let run = payload.workflow_run;
            let fact = match run.was_for() {
                Some(RunFor::Change(number)) => Fact::Look { number },
                Some(RunFor::Head(head)) => {
                    Fact::Checks { head, app: None, completed: None, branch: None, owner: None }
                }
                None => {
                    let owner = run.head_repository.and_then(|repo| repo.owner).map(|owner| owner.login);
                    Fact::Checks { head: run.head_sha, app: None, completed: None, branch: run.head_branch, owner }
                }
            };
            (head, fact)
        }
        "merge_group" => {
            let (head, payload): (_, Group) = read(body)?;
            let group = payload.merge_group;
            let branch = |name: String| name.strip_prefix("refs/heads/").map(str::to_owned).unwrap_or(name);
            let fact = Fact::MergeGroup {
                head: group.head_sha,
                base: group.base_sha,
                base_ref: branch(group.base_ref),
                head_ref: branch(group.head_ref),
            };
            (head, fact)
        }
        "push" => {
            let (head, push): (_, Push) = read(body)?;
            let Some(branch) = push.r#ref.strip_prefix("refs/heads/") else { return Ok(None) };
            let fact = Fact::Push {
                branch: branch.to_owned(),
                before: commit(push.before)?,
                after: commit(push.after)?,
                forced: push.forced.unwrap_or(false),
                sender: head.sender.clone(),
            };
            (head, fact)
        }
        "deployment_status" => {
            let (head, payload): (_, Deployed) = read(body)?;
            let status = payload.deployment_status;
            let urls = [status.environment_url, status.target_url, status.log_url];
            let fact = Fact::Deployment {
                commit: payload.deployment.sha,
                environment: status.environment.or(payload.deployment.environment).unwrap_or_default(),
                state: status.state,
                url: urls.into_iter().flatten().find(|url| !url.is_empty()),
            };
            (head, fact)
        }
        "repository" => {
            let (head, HeadAlone { .. }) = read(body)?;
            let template = head.repository.as_ref().is_some_and(|repo| repo.template_repository.is_some());
            let action = head.action.clone();
            (head, Fact::Repository { action, from_template: template })
        }
        other => return Err(format!("{other} is listed as understood and is not")),
    };
    let repo = match (head.repository, &fact) {
        (_, Fact::Installation { .. }) => None,
        (Some(repo), _) => Some(RepoRef {
            id: RepoId(repo.id),
            slug: repo.full_name.parse::<Slug>().map_err(malformed)?,
            installation: head.installation.map_or(NO_INSTALLATION, |installation| InstallationId(installation.id)),
            default_branch: repo.default_branch.unwrap_or_else(|| "main".to_owned()),
        }),
        (None, _) => return Err("no repository".into()),
    };
    Ok(Some(Event { repo, fact }))
}

fn check_run(payload: Run, head: &Head) -> Result<Fact, String> {
    let button = match (head.action.as_str(), payload.requested_action) {
        ("rerequested", _) => Button::Rerequested,
        ("requested_action", Some(pressed)) => Button::Pressed(pressed.identifier),
        ("requested_action", None) => return Err("a pressed button without its identifier".into()),
        (action, _) => {
            let run = payload.check_run;
            let completed = (action == "completed").then_some(run.id);
            let branch = run.check_suite.and_then(|suite| suite.head_branch);
            let app = run.app.map(|app| app.id);
            return Ok(Fact::Checks { head: run.head_sha, app, completed, branch, owner: None });
        }
    };
    let run = payload.check_run;
    let here = head.repository.as_ref().map(|repo| repo.id);
    let pulls = run.pull_requests.unwrap_or_default();
    let ours = pulls.into_iter().filter(|pull| pull.repo().is_none_or(|repo| Some(repo) == here));
    Ok(Fact::Button {
        head: run.head_sha,
        run: run.id,
        run_name: run.name,
        button,
        sender: head.sender.clone(),
        pulls: ours.map(|pull| pull.number).collect(),
    })
}

fn comment(payload: Commented, action: &str, sender: Person) -> Result<Fact, String> {
    let (issue, comment) = (payload.issue, payload.comment);
    let author = person(comment.user);
    Ok(match action {
        "created" => Fact::Comment(Comment {
            number: issue.number,
            on_pull: issue.pull_request.is_some(),
            id: comment.id,
            author,
            body: comment.body.unwrap_or_default(),
            created_at: comment.created_at.ok_or("a comment without created_at")?,
        }),
        // Whatever else happened to it, it is not a new comment and so never a command.
        other => Fact::CommentChanged {
            number: issue.number,
            comment: comment.id,
            deleted: other == "deleted",
            author,
            sender,
        },
    })
}

fn pull_event(action: &str) -> PullEvent {
    match action {
        "opened" => PullEvent::Opened,
        "reopened" => PullEvent::Reopened,
        "synchronize" => PullEvent::Synchronize,
        "closed" => PullEvent::Closed,
        "edited" => PullEvent::Edited,
        "ready_for_review" => PullEvent::ReadyForReview,
        "converted_to_draft" => PullEvent::ConvertedToDraft,
        "labeled" => PullEvent::Labeled,
        "unlabeled" => PullEvent::Unlabeled,
        _ => PullEvent::Other,
    }
}

fn read<T: Payload>(body: &[u8]) -> Result<(Head, T), String> {
    let mut payload: T = serde_json::from_slice(body).map_err(|error| wrong_in(&error))?;
    Ok((payload.head(), payload))
}

/// What is wrong with a JSON text and where, for whoever sent it: without what stands there, which is other people's text,
/// and without the names that things have in here.
pub(crate) fn wrong_in(error: &serde_json::Error) -> String {
    let says = error.to_string();
    let field = |before: &str| says.strip_prefix(before)?.split('`').next().filter(|name| !name.is_empty());
    let what = match error.classify() {
        Category::Eof => "it ends too early".to_owned(),
        Category::Io | Category::Syntax if says.starts_with("recursion limit") => "it is nested too deeply".to_owned(),
        Category::Io | Category::Syntax => "it is no JSON".to_owned(),
        Category::Data => match (field("missing field `"), field("duplicate field `")) {
            (Some(name), _) => format!("the field `{name}` is missing"),
            (None, Some(name)) => format!("the field `{name}` is there twice"),
            (None, None) => "a field is of another kind than GitHub's, or holds what it can't".to_owned(),
        },
    };
    format!("{what}, at line {} column {}", error.line(), error.column())
}

/// `a` or `an`, as the name of an event wants it.
pub(crate) fn article(event: &str) -> &'static str {
    if event.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// The same for a value of ours.
fn unquoted(error: &str) -> String {
    match (error.find('"'), error.rfind('"')) {
        (Some(first), Some(last)) if first < last => format!("{}…{}", &error[..=first], &error[last..]),
        _ => error.to_owned(),
    }
}

fn malformed(error: Malformed) -> String {
    unquoted(&error.to_string())
}

fn commit(id: String) -> Result<Option<CommitId>, String> {
    if !id.is_empty() && id.bytes().all(|digit| digit == b'0') {
        return Ok(None);
    }
    CommitId::new(id).map(Some).map_err(malformed)
}

/// An account as GitHub writes it, as a person: nobody at all becomes the ghost.
pub(in crate::github) fn person(account: Option<Account>) -> Person {
    match account {
        Some(account) => {
            let bot = account.kind.as_deref() == Some("Bot") || account.login.ends_with("[bot]");
            Person { id: account.id, login: account.login, bot }
        }
        // GitHub's own stand-in for deleted accounts.
        None => Person { id: 10137, login: "ghost".to_owned(), bot: true },
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(in crate::github) struct Account {
    id: u64,
    login: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// What every delivery may have in common.
struct Head {
    action: String,
    sender: Person,
    repository: Option<Repository>,
    installation: Option<HasId>,
}

/// What an event says. It is read in one go with its head: a payload may be large, and reading it is a good part of what a
/// delivery costs.
trait Payload: DeserializeOwned {
    /// Takes the head out.
    fn head(&mut self) -> Head;
}

macro_rules! payload {
    (struct $name:ident { $($field:ident: $kind:ty,)* }) => {
        #[derive(Deserialize)]
        struct $name {
            action: Option<String>,
            #[serde(default, deserialize_with = "account_or_nobody")]
            sender: Option<Account>,
            repository: Option<Repository>,
            installation: Option<HasId>,
            $($field: $kind,)*
        }

        impl Payload for $name {
            fn head(&mut self) -> Head {
                Head {
                    action: self.action.take().unwrap_or_default(),
                    sender: person(self.sender.take()),
                    repository: self.repository.take(),
                    installation: self.installation.take(),
                }
            }
        }
    };
}

payload! {
    struct HeadAlone {}
}

/// A sender that has no id or login is nobody we could hold to anything.
fn account_or_nobody<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Account>, D::Error> {
    Ok(Account::deserialize(serde_json::Value::deserialize(from)?).ok())
}

#[derive(Deserialize)]
struct Repository {
    id: u64,
    full_name: String,
    default_branch: Option<String>,
    template_repository: Option<serde::de::IgnoredAny>,
}

#[derive(Clone, Copy, Deserialize)]
struct HasId {
    id: u64,
}

#[derive(Deserialize)]
struct HasNumber {
    number: u64,
}

#[derive(Deserialize)]
struct RepoName {
    id: u64,
    full_name: String,
}

payload! {
    struct Installed {
        repositories: Option<Vec<RepoName>>,
        repositories_added: Option<Vec<RepoName>>,
        repositories_removed: Option<Vec<RepoName>>,
    }
}

payload! {
    struct Pull {
        pull_request: PullBody,
        label: Option<HasName>,
        before: Option<String>,
    }
}

#[derive(Deserialize)]
struct HasName {
    name: Option<String>,
}

#[derive(Deserialize)]
struct PullBody {
    number: u64,
    head: HasSha,
}

#[derive(Deserialize)]
struct HasSha {
    sha: CommitId,
}

payload! {
    struct ReviewOf {
        pull_request: HasNumber,
        review: Option<HasId>,
    }
}

payload! {
    struct Issue {
        issue: HasNumber,
    }
}

payload! {
    struct Commented {
        issue: CommentedIssue,
        comment: CommentBody,
    }
}

#[derive(Deserialize)]
struct CommentedIssue {
    number: u64,
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct CommentBody {
    id: u64,
    #[serde(default, deserialize_with = "account_or_nobody")]
    user: Option<Account>,
    body: Option<String>,
    created_at: Option<jiff::Timestamp>,
}

payload! {
    struct Run {
        check_run: RunBody,
        requested_action: Option<Pressed>,
    }
}

#[derive(Deserialize)]
struct Pressed {
    identifier: String,
}

#[derive(Deserialize)]
struct RunBody {
    id: u64,
    #[serde(default)]
    name: String,
    head_sha: CommitId,
    app: Option<HasId>,
    pull_requests: Option<Vec<RunPull>>,
    #[serde(default)]
    check_suite: Option<SuiteBranch>,
}

#[derive(Deserialize)]
struct SuiteBranch {
    #[serde(default)]
    head_branch: Option<String>,
}

#[derive(Deserialize)]
struct RunPull {
    number: u64,
    base: Option<RunPullBase>,
}

impl RunPull {
    fn repo(&self) -> Option<u64> {
        Some(self.base.as_ref()?.repo.as_ref()?.id)
    }
}

#[derive(Deserialize)]
struct RunPullBase {
    repo: Option<HasId>,
}

payload! {
    struct Suite {
        check_suite: SuiteBody,
    }
}

#[derive(Deserialize)]
struct SuiteBody {
    head_sha: CommitId,
    app: Option<HasId>,
    #[serde(default)]
    head_branch: Option<String>,
}

payload! {
    struct Workflow {
        workflow_run: HasHeadSha,
    }
}

#[derive(Deserialize)]
struct HasHeadSha {
    head_sha: CommitId,
    #[serde(default)]
    head_branch: Option<String>,
    #[serde(default)]
    head_repository: Option<Owned>,
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    display_title: Option<String>,
}

impl HasHeadSha {
    /// What the trusted workflow ran for, by its title. Whoever writes such a title has it looked at, and no more.
    fn was_for(&self) -> Option<RunFor> {
        let named = self.display_title.as_deref()?.strip_prefix("Phasegate verify ")?;
        match self.event.as_deref()? {
            "workflow_dispatch" => {
                let number = named.strip_prefix('#')?.split(' ').next()?.parse().ok();
                number.filter(|number| *number > 0).map(RunFor::Change)
            }
            "workflow_run" => CommitId::new(named).ok().map(RunFor::Head),
            _ => None,
        }
    }
}

enum RunFor {
    Change(u64),
    Head(CommitId),
}

#[derive(Deserialize)]
struct Owned {
    #[serde(default)]
    owner: Option<HasLogin>,
}

#[derive(Deserialize)]
struct HasLogin {
    login: String,
}

payload! {
    struct Group {
        merge_group: GroupBody,
    }
}

#[derive(Deserialize)]
struct GroupBody {
    head_sha: CommitId,
    base_sha: CommitId,
    head_ref: String,
    base_ref: String,
}

payload! {
    struct Push {
        r#ref: String,
        before: String,
        after: String,
        forced: Option<bool>,
    }
}

payload! {
    struct Deployed {
        deployment: DeploymentBody,
        deployment_status: StatusBody,
    }
}

#[derive(Deserialize)]
struct DeploymentBody {
    sha: CommitId,
    environment: Option<String>,
}

#[derive(Deserialize)]
struct StatusBody {
    state: String,
    environment: Option<String>,
    environment_url: Option<String>,
    target_url: Option<String>,
    log_url: Option<String>,
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
