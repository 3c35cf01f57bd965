//! The schema as a table, and where each field's value comes from.

use git2::{ObjectType, Oid};
use serde_json::{Map, Value};

use super::super::auth::Actor;
use super::super::model::{Account, Level, QueueEntry, Role};
use super::super::reply::Problem;
use super::super::state::State;
use super::super::view::node as node_id;
use super::{Trouble, commit};

/// Something that fields can be asked of.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Query,
    Mutation,
    RateLimit,
    User(Account),
    Repository(u64),
    Ref { repo: u64, name: String, target: Oid },
    Object { repo: u64, id: Oid, kind: ObjectType },
    TreeEntry { repo: u64, name: String, path: String, id: Oid, kind: ObjectType, mode: i32 },
    Pull { repo: u64, number: u64 },
    Committed { repo: u64, id: Oid, branch: String },
    Drafted { repo: u64, number: u64, draft: bool },
    Queue { repo: u64, branch: String },
    QueueEntries(Vec<Node>),
    PageInfo,
    QueueEntry { repo: u64, position: u64, entry: QueueEntry },
    Enqueued { repo: u64, number: u64 },
    Comment { repo: u64, id: u64 },
    Issue { repo: u64, number: u64 },
}

impl Node {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Query => "Query",
            Self::Mutation => "Mutation",
            Self::RateLimit => "RateLimit",
            Self::User(_) => "Actor",
            Self::Repository(_) => "Repository",
            Self::Ref { .. } => "Ref",
            Self::Object { kind: ObjectType::Commit, .. } => "Commit",
            Self::Object { kind: ObjectType::Tree, .. } => "Tree",
            Self::Object { kind: ObjectType::Blob, .. } => "Blob",
            Self::Object { .. } => "Tag",
            Self::TreeEntry { .. } => "TreeEntry",
            Self::Pull { .. } => "PullRequest",
            Self::Committed { .. } => "CreateCommitOnBranchPayload",
            Self::Drafted { draft: false, .. } => "MarkPullRequestReadyForReviewPayload",
            Self::Drafted { draft: true, .. } => "ConvertPullRequestToDraftPayload",
            Self::Queue { .. } => "MergeQueue",
            Self::QueueEntries(_) => "MergeQueueEntryConnection",
            Self::PageInfo => "PageInfo",
            Self::QueueEntry { .. } => "MergeQueueEntry",
            Self::Enqueued { .. } => "EnqueuePullRequestPayload",
            Self::Comment { .. } => "IssueComment",
            Self::Issue { .. } => "Issue",
        }
    }
}

pub(crate) enum Out {
    Value(Value),
    Node(Node),
    Nodes(Vec<Node>),
}

/// `type: field → type of its result`, where an empty type is a scalar.
const SCHEMA: &[(&str, &[(&str, &str)])] = &[
    ("Query", &[("repository", "Repository"), ("viewer", "Actor"), ("rateLimit", "RateLimit"), ("nodes", "Node")]),
    ("IssueComment", &[("id", ""), ("databaseId", ""), ("lastEditedAt", ""), ("editor", "Actor")]),
    ("Issue", &[("id", ""), ("databaseId", ""), ("lastEditedAt", ""), ("editor", "Actor")]),
    (
        "Mutation",
        &[
            ("createCommitOnBranch", "CreateCommitOnBranchPayload"),
            ("markPullRequestReadyForReview", "MarkPullRequestReadyForReviewPayload"),
            ("convertPullRequestToDraft", "ConvertPullRequestToDraftPayload"),
            ("enqueuePullRequest", "EnqueuePullRequestPayload"),
        ],
    ),
    ("RateLimit", &[("limit", ""), ("cost", ""), ("remaining", ""), ("used", ""), ("resetAt", "")]),
    ("Actor", &[("login", ""), ("id", ""), ("databaseId", "")]),
    (
        "Repository",
        &[
            ("id", ""),
            ("databaseId", ""),
            ("name", ""),
            ("nameWithOwner", ""),
            ("isPrivate", ""),
            ("url", ""),
            ("owner", "Actor"),
            ("defaultBranchRef", "Ref"),
            ("ref", "Ref"),
            ("object", "GitObject"),
            ("pullRequest", "PullRequest"),
            ("mergeQueue", "MergeQueue"),
        ],
    ),
    ("MergeQueue", &[("id", ""), ("entries", "MergeQueueEntryConnection")]),
    ("MergeQueueEntryConnection", &[("totalCount", ""), ("nodes", "MergeQueueEntry"), ("pageInfo", "PageInfo")]),
    ("PageInfo", &[("hasNextPage", ""), ("endCursor", "")]),
    (
        "MergeQueueEntry",
        &[
            ("id", ""),
            ("position", ""),
            ("state", ""),
            ("enqueuedAt", ""),
            ("enqueuer", "Actor"),
            ("headCommit", "Commit"),
            ("baseCommit", "Commit"),
            ("pullRequest", "PullRequest"),
        ],
    ),
    ("EnqueuePullRequestPayload", &[("clientMutationId", ""), ("mergeQueueEntry", "MergeQueueEntry")]),
    ("Ref", &[("id", ""), ("name", ""), ("prefix", ""), ("target", "GitObject")]),
    ("GitObject", &[("id", ""), ("oid", ""), ("abbreviatedOid", "")]),
    (
        "Commit",
        &[
            ("id", ""),
            ("oid", ""),
            ("abbreviatedOid", ""),
            ("url", ""),
            ("message", ""),
            ("messageHeadline", ""),
            ("committedDate", ""),
            ("tree", "Tree"),
        ],
    ),
    ("Tree", &[("id", ""), ("oid", ""), ("abbreviatedOid", ""), ("entries", "TreeEntry")]),
    (
        "Blob",
        &[
            ("id", ""),
            ("oid", ""),
            ("abbreviatedOid", ""),
            ("text", ""),
            ("byteSize", ""),
            ("isBinary", ""),
            ("isTruncated", ""),
        ],
    ),
    ("Tag", &[("id", ""), ("oid", ""), ("abbreviatedOid", "")]),
    (
        "TreeEntry",
        &[("name", ""), ("path", ""), ("type", ""), ("mode", ""), ("oid", ""), ("size", ""), ("object", "GitObject")],
    ),
    (
        "PullRequest",
        &[
            ("id", ""),
            ("databaseId", ""),
            ("number", ""),
            ("title", ""),
            ("body", ""),
            ("url", ""),
            ("state", ""),
            ("closed", ""),
            ("merged", ""),
            ("isDraft", ""),
            ("headRefOid", ""),
            ("headRefName", ""),
            ("baseRefOid", ""),
            ("baseRefName", ""),
            ("isCrossRepository", ""),
            ("mergeable", ""),
            ("createdAt", ""),
            ("updatedAt", ""),
            ("author", "Actor"),
            ("mergeCommit", "Commit"),
        ],
    ),
    ("CreateCommitOnBranchPayload", &[("clientMutationId", ""), ("commit", "Commit"), ("ref", "Ref")]),
    ("ConvertPullRequestToDraftPayload", &[("clientMutationId", ""), ("pullRequest", "PullRequest")]),
    ("MarkPullRequestReadyForReviewPayload", &[("clientMutationId", ""), ("pullRequest", "PullRequest")]),
];

/// The type of a field's result, if the type has the field.
pub(crate) fn result_type(on: &str, field: &str) -> Option<&'static str> {
    // People ask for a user by any of the names the interface goes by.
    let on = match on {
        "User" | "Bot" | "RepositoryOwner" => "Actor",
        other => other,
    };
    let (_, fields) = SCHEMA.iter().find(|(name, _)| *name == on)?;
    if field == "__typename" {
        return Some("");
    }
    fields.iter().find(|(name, _)| *name == field).map(|(_, result)| *result)
}

/// Does a fragment on this type apply to this node?
pub(crate) fn fits(node: &Node, on: &str) -> bool {
    match node {
        Node::Object { .. } if on == "GitObject" => true,
        Node::User(account) => on == "Actor" || on == "RepositoryOwner" || on == account.kind.name(),
        _ => on == "Node" || node.type_name() == on,
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn value(value: impl Into<Value>) -> Result<Out, Trouble> {
    Ok(Out::Value(value.into()))
}

fn nullable(node: Option<Node>) -> Result<Out, Trouble> {
    Ok(node.map_or(Out::Value(Value::Null), Out::Node))
}

pub(crate) fn resolve(
    state: &mut State,
    actor: &Actor,
    node: &Node,
    field: &str,
    arguments: &Map<String, Value>,
) -> Result<Out, Trouble> {
    if field == "__typename" {
        return value(match node {
            Node::User(account) => account.kind.name(),
            node => node.type_name(),
        });
    }
    match node {
        Node::Query => query(state, actor, field, arguments),
        Node::Mutation => {
            let input = arguments.get("input").cloned().unwrap_or(Value::Null);
            match field {
                "createCommitOnBranch" => commit::create(state, actor, &input).map(Out::Node),
                "enqueuePullRequest" => commit::enqueue(state, actor, &input).map(Out::Node),
                _ => commit::set_draft(state, actor, &input, field == "convertPullRequestToDraft").map(Out::Node),
            }
        }
        Node::RateLimit => {
            let (key, limit) = actor.quota();
            let quota = *state.quota(&format!("{key}:graphql"), limit);
            match field {
                "limit" => value(quota.limit),
                "cost" => value(1),
                "remaining" => value(quota.remaining()),
                "used" => value(quota.used),
                _ => value(quota.resets_at.to_string()),
            }
        }
        Node::User(account) => match field {
            "login" => value(account.login.trim_end_matches("[bot]")),
            "databaseId" => value(account.id),
            _ => value(node_id("U", account.id)),
        },
        Node::Repository(id) => repository(state, actor, *id, field, arguments),
        Node::Ref { repo, name, target } => match field {
            "name" => value(name.as_str()),
            "prefix" => value("refs/heads/"),
            "target" => Ok(Out::Node(Node::Object { repo: *repo, id: *target, kind: ObjectType::Commit })),
            _ => value(node_id("REF", *repo)),
        },
        Node::Object { repo, id, kind } => object(state, *repo, *id, *kind, field),
        Node::TreeEntry { repo, name, path, id, kind, mode } => match field {
            "name" => value(name.as_str()),
            "path" => value(path.as_str()),
            "type" => value(kind.str()),
            "mode" => value(*mode),
            "oid" => value(id.to_string()),
            "size" => value(state.git(*repo)?.0.find_blob(*id).map(|blob| blob.size()).unwrap_or(0)),
            // A submodule's commit is not in this repository.
            _ => nullable((*kind != ObjectType::Commit).then_some(Node::Object { repo: *repo, id: *id, kind: *kind })),
        },
        Node::Pull { repo, number } => pull(state, *repo, *number, field),
        Node::Committed { repo, id, branch } => match field {
            "commit" => Ok(Out::Node(Node::Object { repo: *repo, id: *id, kind: ObjectType::Commit })),
            "ref" => Ok(Out::Node(Node::Ref { repo: *repo, name: branch.clone(), target: *id })),
            _ => value(Value::Null),
        },
        Node::Queue { repo, branch } => queue(state, *repo, branch, field),
        Node::QueueEntries(entries) => match field {
            "totalCount" => value(entries.len()),
            "nodes" => Ok(Out::Nodes(entries.clone())),
            _ => Ok(Out::Node(Node::PageInfo)),
        },
        Node::PageInfo => match field {
            "hasNextPage" => value(false),
            _ => value(Value::Null),
        },
        Node::QueueEntry { repo, position, entry } => queue_entry(*repo, *position, entry, field),
        Node::Enqueued { repo, number } => match field {
            "mergeQueueEntry" => {
                let queues = &state.repo(*repo)?.queues;
                let found = queues.values().find_map(|line| {
                    let at = line.iter().position(|entry| entry.number == *number)?;
                    line.get(at).map(|entry| (at as u64 + 1, entry.clone()))
                });
                nullable(found.map(|(position, entry)| Node::QueueEntry { repo: *repo, position, entry }))
            }
            _ => value(Value::Null),
        },
        Node::Comment { repo, id } => {
            let comment = state.repo(*repo)?.comments.get(id);
            written(node_id("IC", *id), *id, comment.and_then(|comment| comment.edited.as_ref()), field)
        }
        Node::Issue { repo, number } => {
            let issue = state.issue(*repo, *number)?;
            written(node_id("I", issue.id), issue.id, issue.edited.as_ref(), field)
        }
        Node::Drafted { repo, number, .. } => match field {
            "pullRequest" => Ok(Out::Node(Node::Pull { repo: *repo, number: *number })),
            _ => value(Value::Null),
        },
    }
}

/// What is asked of a text that somebody wrote.
fn written(node: String, id: u64, edited: Option<&(jiff::Timestamp, Account)>, field: &str) -> Result<Out, Trouble> {
    match field {
        "databaseId" => value(id),
        "lastEditedAt" => value(edited.map_or(Value::Null, |(at, _)| at.to_string().into())),
        "editor" => nullable(edited.map(|(_, by)| Node::User(by.clone()))),
        _ => value(node),
    }
}

/// Finds a repository that the actor can see.
pub(crate) fn visible(state: &State, actor: &Actor, owner: &str, name: &str) -> Result<u64, Trouble> {
    let found = state.repo_id(owner, name).filter(|id| state.repos.get(id).is_some_and(|repo| state.sees(actor, repo)));
    let message = format!("Could not resolve to a Repository with the name '{owner}/{name}'.");
    found.ok_or_else(|| Trouble::new("NOT_FOUND", message))
}

fn query(state: &State, actor: &Actor, field: &str, arguments: &Map<String, Value>) -> Result<Out, Trouble> {
    match field {
        "repository" => {
            let id = visible(state, actor, text(arguments, "owner"), text(arguments, "name"))?;
            Ok(Out::Node(Node::Repository(id)))
        }
        "viewer" => Ok(Out::Node(Node::User(actor.account()?))),
        "nodes" => {
            let ids: Vec<&str> = arguments
                .get("ids")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let seen = state.repos.values().filter(|repo| state.sees(actor, repo));
            let comments = seen.flat_map(|repo| repo.comments.keys().map(move |id| (repo.id, *id)));
            let comments = comments.filter(|(_, id)| ids.contains(&node_id("IC", *id).as_str()));
            let seen = state.repos.values().filter(|repo| state.sees(actor, repo));
            let issues = seen.flat_map(|repo| repo.issues.values().map(move |issue| (repo.id, issue)));
            let issues = issues.filter(|(_, issue)| ids.contains(&node_id("I", issue.id).as_str()));
            let issues = issues.map(|(repo, issue)| Node::Issue { repo, number: issue.number });
            Ok(Out::Nodes(comments.map(|(repo, id)| Node::Comment { repo, id }).chain(issues).collect()))
        }
        _ => Ok(Out::Node(Node::RateLimit)),
    }
}

fn repository(
    state: &State,
    actor: &Actor,
    id: u64,
    field: &str,
    arguments: &Map<String, Value>,
) -> Result<Out, Trouble> {
    let repo = state.repo(id)?;
    let may = |permission: &'static str| {
        state.demand(actor, repo, &[(permission, Level::Read)], Role::Read, false).map_err(Trouble::from)
    };
    match field {
        "id" => value(node_id("R", id)),
        "databaseId" => value(id),
        "name" => value(repo.name.as_str()),
        "nameWithOwner" => value(repo.full_name()),
        "isPrivate" => value(repo.private),
        "url" => value(state.repo_html(repo)),
        "owner" => Ok(Out::Node(Node::User(repo.owner.clone()))),
        "defaultBranchRef" | "ref" => {
            may("contents")?;
            let name = match field {
                "ref" => text(arguments, "qualifiedName").trim_start_matches("refs/heads/").to_owned(),
                _ => repo.default_branch.clone(),
            };
            let target = state.git(id)?.branch(&name);
            nullable(target.map(|target| Node::Ref { repo: id, name, target }))
        }
        "object" => {
            may("contents")?;
            let git = state.git(id)?;
            let expression = match arguments.get("oid").and_then(Value::as_str) {
                Some(oid) => oid,
                None => text(arguments, "expression"),
            };
            let found = match expression.split_once(':') {
                Some((rev, path)) => git
                    .resolve(rev)
                    .and_then(|commit| git.entry(commit, path.trim_matches('/')))
                    .map(|(id, kind, _)| (id, kind)),
                None => match git.resolve(expression) {
                    Some(commit) => Some((commit, ObjectType::Commit)),
                    None => Oid::from_str(expression)
                        .and_then(|id| git.0.find_object(id, None).map(|found| (id, found.kind())))
                        .ok()
                        .and_then(|(id, kind)| kind.map(|kind| (id, kind))),
                },
            };
            nullable(found.map(|(oid, kind)| Node::Object { repo: id, id: oid, kind }))
        }
        "mergeQueue" => {
            may("merge_queues")?;
            let branch = match text(arguments, "branch") {
                "" => repo.default_branch.clone(),
                branch => branch.trim_start_matches("refs/heads/").to_owned(),
            };
            let there = state.queue_method(repo, &branch).is_some() || repo.queues.contains_key(&branch);
            nullable(there.then_some(Node::Queue { repo: id, branch }))
        }
        _ => {
            may("pull_requests")?;
            let number = arguments.get("number").and_then(Value::as_u64).unwrap_or_default();
            let missing = format!("Could not resolve to a PullRequest with the number of {number}.");
            state.pull(id, number).map_err(|_| Trouble::new("NOT_FOUND", missing))?;
            Ok(Out::Node(Node::Pull { repo: id, number }))
        }
    }
}

fn queue(state: &mut State, repo: u64, branch: &str, field: &str) -> Result<Out, Trouble> {
    if field != "entries" {
        return value(node_id("MQ", repo));
    }
    let lags = state.queue_lag > 0;
    state.queue_lag = state.queue_lag.saturating_sub(1);
    let line = state.repo(repo)?.queues.get(branch).filter(|_| !lags);
    let place =
        |(at, entry): (usize, &QueueEntry)| Node::QueueEntry { repo, position: at as u64 + 1, entry: entry.clone() };
    Ok(Out::Node(Node::QueueEntries(line.into_iter().flatten().enumerate().map(place).collect())))
}

fn queue_entry(repo: u64, position: u64, entry: &QueueEntry, field: &str) -> Result<Out, Trouble> {
    let commit = |sha: Option<&String>| {
        let id = sha.and_then(|sha| Oid::from_str(sha).ok());
        nullable(id.map(|id| Node::Object { repo, id, kind: ObjectType::Commit }))
    };
    match field {
        "id" => value(node_id("MQE", entry.id)),
        "position" => value(position),
        "state" => value(if entry.group.is_some() { "AWAITING_CHECKS" } else { "QUEUED" }),
        "enqueuedAt" => value(entry.enqueued_at.to_string()),
        "enqueuer" => Ok(Out::Node(Node::User(entry.by.clone()))),
        "headCommit" => commit(entry.group.as_ref().map(|group| &group.head)),
        "baseCommit" => commit(entry.group.as_ref().map(|group| &group.base)),
        _ => Ok(Out::Node(Node::Pull { repo, number: entry.number })),
    }
}

fn object(state: &State, repo: u64, id: Oid, kind: ObjectType, field: &str) -> Result<Out, Trouble> {
    let git = state.git(repo)?;
    let oid = id.to_string();
    match (kind, field) {
        (_, "oid") => value(oid),
        (_, "abbreviatedOid") => value(&oid[..7]),
        (_, "id") => value(format!("{}_{oid}", node_id("O", repo))),
        (ObjectType::Commit, _) => {
            let commit = git.0.find_commit(id).map_err(Problem::from)?;
            let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
            match field {
                "url" => value(format!("{}/commit/{oid}", state.repo_html(state.repo(repo)?))),
                "message" => value(message),
                "messageHeadline" => value(message.lines().next().unwrap_or_default()),
                "tree" => Ok(Out::Node(Node::Object { repo, id: commit.tree_id(), kind: ObjectType::Tree })),
                _ => value(jiff::Timestamp::from_second(commit.time().seconds()).unwrap_or_default().to_string()),
            }
        }
        (ObjectType::Tree, _) => {
            let tree = git.0.find_tree(id).map_err(Problem::from)?;
            let entries = tree.iter().map(|entry| {
                let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
                let kind = entry.kind().unwrap_or(ObjectType::Blob);
                Node::TreeEntry { repo, path: name.clone(), name, id: entry.id(), kind, mode: entry.filemode() }
            });
            Ok(Out::Nodes(entries.collect()))
        }
        _ => {
            let blob = git.0.find_blob(id).map_err(Problem::from)?;
            let binary = blob.is_binary() || std::str::from_utf8(blob.content()).is_err();
            // GitHub gives at most 512,000 bytes of text.
            let truncated = blob.size() > 512_000;
            match field {
                "byteSize" => value(blob.size()),
                "isBinary" => value(binary),
                "isTruncated" => value(truncated),
                _ if binary => value(Value::Null),
                _ => value(String::from_utf8_lossy(&blob.content()[..blob.size().min(512_000)])),
            }
        }
    }
}

fn pull(state: &State, repo: u64, number: u64, field: &str) -> Result<Out, Trouble> {
    let (issue, pull) = state.pull(repo, number)?;
    match field {
        "id" => value(node_id("PR", pull.id)),
        "databaseId" => value(pull.id),
        "number" => value(number),
        "title" => value(issue.title.as_str()),
        "body" => value(issue.body.as_deref().unwrap_or_default()),
        "url" => value(format!("{}/pull/{number}", state.repo_html(state.repo(repo)?))),
        "state" => value(match (issue.open, pull.merged_at) {
            (true, _) => "OPEN",
            (false, Some(_)) => "MERGED",
            (false, None) => "CLOSED",
        }),
        "closed" => value(!issue.open),
        "merged" => value(pull.merged_at.is_some()),
        "isDraft" => value(pull.draft),
        "headRefOid" => value(pull.head_sha.as_str()),
        "headRefName" => value(pull.head_ref.as_str()),
        "baseRefOid" => value(pull.base_sha.as_str()),
        "baseRefName" => value(pull.base_ref.as_str()),
        "isCrossRepository" => value(pull.head_repo != repo),
        "mergeable" => value(match state.mergeable(state.repo(repo)?, issue, pull)?.0 {
            Some(true) => "MERGEABLE",
            Some(false) => "CONFLICTING",
            None => "UNKNOWN",
        }),
        "createdAt" => value(issue.created_at.to_string()),
        "updatedAt" => value(issue.updated_at.to_string()),
        "author" => Ok(Out::Node(Node::User(issue.user.clone()))),
        _ => {
            let id = pull.merge_commit_sha.as_deref().and_then(|sha| Oid::from_str(sha).ok());
            nullable(id.map(|id| Node::Object { repo, id, kind: ObjectType::Commit }))
        }
    }
}
