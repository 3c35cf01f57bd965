//! Merging: where the rules bite.

use serde_json::json;

use super::super::git::Merged;
use super::super::model::*;
use super::super::reply::{Answer, Problem, Reply};
use super::super::route::{Access, Call, Route};
use super::super::rules::Move;
use super::super::state::State;
use super::super::view::git::oid;
use super::contents::identity;

pub(crate) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/repos/{owner}/{repo}/pulls/{n}/merge",
        access: Access::Repo(&[("pull_requests", Level::Read)], Role::Read),
        run: merged,
    },
    Route {
        method: "PUT",
        path: "/repos/{owner}/{repo}/pulls/{n}/merge",
        access: Access::Repo(&[("contents", Level::Write)], Role::Write),
        run: merge,
    },
];

fn merged(state: &mut State, call: &Call) -> Answer {
    let (_, pull) = state.pull(call.repo, call.number("n"))?;
    if pull.merged_at.is_some() { Ok(Reply::NoContent) } else { Err(Problem::not_found()) }
}

fn merge(state: &mut State, call: &Call) -> Answer {
    let (id, number, by) = (call.repo, call.number("n"), call.account()?);
    let repo = state.repo(id)?;
    let (issue, pull) = state.pull(id, number)?;
    let refused = |message: &str| Problem::new(405, message);
    if !issue.open {
        return Err(refused("Pull Request is not mergeable"));
    }
    if pull.draft {
        return Err(refused("Pull Request is still a draft"));
    }
    if call.text("sha").is_some_and(|sha| sha != pull.head_sha) {
        return Err(Problem::new(409, "Head branch was modified. Review and try the merge again."));
    }
    let violations = state.merge_violations(repo, pull, Some(&call.actor));
    if !violations.is_empty() {
        return Err(refused(&format!("Repository rule violations found\n\n{}\n\n", violations.join("\n"))));
    }
    let git = state.git(id)?;
    let head = oid(&pull.head_sha)?;
    let base = git.branch(&pull.base_ref).ok_or_else(|| refused("Base branch does not exist"))?;
    let conflict = || refused("Pull Request is not mergeable");
    let (name, email) = identity(&by);
    let (author, committer) = ((name.as_str(), email.as_str()), ("GitHub", "noreply@github.com"));
    let owner = state.repos.get(&pull.head_repo).map_or("unknown", |head| head.owner.login.as_str());
    let told = |title: String, message: String| {
        let title = call.text("commit_title").map_or(title, str::to_owned);
        let message = call.text("commit_message").map_or(message, str::to_owned);
        if message.is_empty() { title } else { format!("{title}\n\n{message}") }
    };
    let tree = || match git.merge(base, head)? {
        Merged::Tree(tree) => Ok(tree),
        Merged::Conflict => Err(conflict()),
    };
    let new = match call.text("merge_method").unwrap_or("merge") {
        "merge" => {
            let title = format!("Merge pull request #{number} from {owner}/{}", pull.head_ref);
            git.commit(tree()?, &[base, head], &told(title, issue.title.clone()), author, committer)?
        }
        "squash" => {
            let title = format!("{} (#{number})", issue.title);
            git.commit(tree()?, &[base], &told(title, issue.body.clone().unwrap_or_default()), author, committer)?
        }
        "rebase" => git.rebase(base, head, committer)?.ok_or_else(conflict)?,
        _ => return Err(Problem::field("PullRequest", "merge_method", "invalid", None)),
    };
    let refname = format!("refs/heads/{}", pull.base_ref);
    let at = state.tick();
    let pull = state.pull_mut(id, number)?;
    pull.merged_at = Some(at);
    pull.merged_by = Some(by.clone());
    pull.merge_commit_sha = Some(new.to_string());
    // Closed before the base moves, so that the push does not find it merged a second time.
    let issue = state.issue_mut(id, number)?;
    issue.open = false;
    issue.closed_at = Some(at);
    state.tell_pull(id, number, "closed", &by, json!({}))?;
    state.move_ref(id, &refname, Move { old: Some(base), new: Some(new) }, &by)?;
    if let Some(last) = state.repo_mut(id)?.activities.last_mut() {
        last.kind = "pr_merge";
    }
    Ok(Reply::Ok(json!({"sha": new.to_string(), "merged": true, "message": "Pull Request successfully merged"})))
}
