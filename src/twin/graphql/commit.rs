//! The mutations: a commit that only lands on the expected head, and moving a pull request in and out of draft.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::api::contents::identity;
use super::super::auth::Actor;
use super::super::git::Change;
use super::super::model::{Level, Role};
use super::super::reply::Problem;
use super::super::rules::Move;
use super::super::state::State;
use super::super::view::node as node_id;
use super::Trouble;
use super::schema::{Node, visible};

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn invalid(field: &str) -> Trouble {
    let message = format!("Variable $input of type CreateCommitOnBranchInput! was provided invalid value for {field}");
    Trouble::new("UNPROCESSABLE", message)
}

/// The files to write and to delete. Deletions of what is not there are refused, as GitHub does.
fn changes(input: &Value, there: impl Fn(&str) -> bool, head: &str) -> Result<Vec<Change>, Trouble> {
    let list = |name: &str| input.pointer(&format!("/fileChanges/{name}")).and_then(Value::as_array);
    let mut changes: Vec<Change> = Vec::new();
    for deletion in list("deletions").into_iter().flatten() {
        let path = text(deletion, "/path").ok_or_else(|| invalid("fileChanges.deletions.path"))?;
        if !there(path) {
            let message = format!("A path was requested for deletion which does not exist as of commit oid `{head}`");
            return Err(Trouble::new("UNPROCESSABLE", message));
        }
        changes.push((path.to_owned(), None));
    }
    for addition in list("additions").into_iter().flatten() {
        let path = text(addition, "/path").ok_or_else(|| invalid("fileChanges.additions.path"))?;
        let bad = path.is_empty() || path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git"));
        if bad {
            return Err(Trouble::new("UNPROCESSABLE", format!("A path was specified with an invalid value: {path}")));
        }
        let contents = text(addition, "/contents").ok_or_else(|| invalid("fileChanges.additions.contents"))?;
        let contents = STANDARD.decode(contents).map_err(|_| invalid("fileChanges.additions.contents"))?;
        changes.retain(|(old, _)| old != path);
        changes.push((path.to_owned(), Some(contents)));
    }
    Ok(changes)
}

/// `createCommitOnBranch`: compare-and-swap on the branch's head. The lock makes it a true one.
pub(crate) fn create(state: &mut State, actor: &Actor, input: &Value) -> Result<Node, Trouble> {
    let slug = text(input, "/branch/repositoryNameWithOwner").ok_or_else(|| invalid("branch"))?;
    let branch = text(input, "/branch/branchName").ok_or_else(|| invalid("branch"))?;
    let branch = branch.trim_start_matches("refs/heads/");
    let expected = text(input, "/expectedHeadOid").ok_or_else(|| invalid("expectedHeadOid"))?;
    let headline = text(input, "/message/headline").ok_or_else(|| invalid("message.headline"))?;
    let (owner, name) = slug.split_once('/').unwrap_or((slug, ""));
    let id = visible(state, actor, owner, name)?;
    let by = actor.account()?;
    state.demand(actor, state.repo(id)?, &[("contents", Level::Write)], Role::Write, true)?;
    let git = state.git(id)?;
    let missing = || Trouble::new("NOT_FOUND", format!("No such branch: {branch}"));
    let head = git.branch(branch).ok_or_else(missing)?;
    if head.to_string() != expected {
        // Two spaces, as GitHub writes it.
        let message = format!("Expected branch to point to \"{expected}\" but it did not.  Pull and try again.");
        return Err(Trouble::new("STALE_DATA", message));
    }
    let changes = changes(input, |path| git.entry(head, path).is_some(), expected)?;
    if let Actor::Installation { scope, .. } = actor
        && scope.permissions.get("workflows").is_none_or(|given| *given < Level::Write)
        && let Some((path, _)) = changes.iter().find(|(path, _)| path.starts_with(".github/workflows/"))
    {
        let told = "refusing to allow a GitHub App to create or update workflow";
        return Err(Trouble::new("FORBIDDEN", format!("{told} `{path}` without `workflows` permission")));
    }
    let message = match text(input, "/message/body").filter(|body| !body.is_empty()) {
        Some(body) => format!("{headline}\n\n{body}"),
        None => headline.to_owned(),
    };
    let (name, email) = identity(&by);
    let build = || {
        let tree = git.tree_with(Some(git.tree_of(head)?), &changes)?;
        git.commit(tree, &[head], &message, (&name, &email), ("GitHub", "noreply@github.com"))
    };
    let new = build().map_err(Problem::from)?;
    let (refname, step) = (format!("refs/heads/{branch}"), Move { old: Some(head), new: Some(new) });
    let violations = state.violations(state.repo(id)?, &git, actor, &refname, step);
    if !violations.is_empty() {
        let message = format!("Repository rule violations found\n\n{}\n\n", violations.join("\n"));
        return Err(Trouble::new("UNPROCESSABLE", message));
    }
    state.move_ref(id, &refname, step, &by)?;
    Ok(Node::Committed { repo: id, id: new, branch: branch.to_owned() })
}

/// The pull request that an input names by its id.
fn named(state: &State, actor: &Actor, input: &Value) -> Result<(u64, u64), Trouble> {
    let wanted = text(input, "/pullRequestId").unwrap_or_default();
    let unknown =
        || Trouble::new("NOT_FOUND", format!("Could not resolve to a node with the global id of '{wanted}'."));
    let found = state.repos.values().filter(|repo| state.sees(actor, repo)).find_map(|repo| {
        let issue = repo
            .issues
            .values()
            .find(|issue| issue.pull.as_ref().is_some_and(|pull| node_id("PR", pull.id) == wanted))?;
        Some((repo.id, issue.number))
    });
    found.ok_or_else(unknown)
}

/// `enqueuePullRequest`: at the end of the queue, if all is there that the base asks for.
pub(crate) fn enqueue(state: &mut State, actor: &Actor, input: &Value) -> Result<Node, Trouble> {
    let (repo, number) = named(state, actor, input)?;
    state.demand(actor, state.repo(repo)?, &[("pull_requests", Level::Write)], Role::Write, true)?;
    state.enqueue(repo, number, actor, false)?;
    Ok(Node::Enqueued { repo, number })
}

/// `markPullRequestReadyForReview`, and `convertPullRequestToDraft` the other way.
pub(crate) fn set_draft(state: &mut State, actor: &Actor, input: &Value, draft: bool) -> Result<Node, Trouble> {
    let (repo, number) = named(state, actor, input)?;
    draft_or_ready(state, actor, (repo, number), draft)?;
    Ok(Node::Drafted { repo, number, draft })
}

pub(crate) fn draft_or_ready(
    state: &mut State,
    actor: &Actor,
    (repo, number): (u64, u64),
    draft: bool,
) -> Result<(), Problem> {
    let by = actor.account()?;
    let (issue, pull) = state.pull(repo, number)?;
    // The author may, and whoever can write.
    let role = if issue.user.id == by.id { Role::Read } else { Role::Write };
    let was_draft = pull.draft;
    state.demand(actor, state.repo(repo)?, &[("pull_requests", Level::Write)], role, true)?;
    if was_draft != draft {
        state.pull_mut(repo, number)?.draft = draft;
        let action = if draft { "converted_to_draft" } else { "ready_for_review" };
        state.tell_pull(repo, number, action, &by, json!({}))?;
    }
    Ok(())
}
