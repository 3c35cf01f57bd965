//! State as GitHub's JSON: people, repositories, issues and pull requests.
//!
//! Each function carries every field that GitHub's OpenAPI description marks as required, so that a strict client
//! can't tell the difference. Links point at addresses that the twin serves.

pub(crate) mod checks;
pub(crate) mod git;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::model::*;
use super::reply::Problem;
use super::state::State;

/// An opaque node id, of the shape GitHub gives out.
pub(crate) fn node(prefix: &str, id: u64) -> String {
    format!("{prefix}_kwDO{}", URL_SAFE_NO_PAD.encode(id.to_be_bytes()))
}

pub(crate) fn base64_lines(bytes: &[u8]) -> String {
    let flat = STANDARD.encode(bytes);
    let mut lines = String::with_capacity(flat.len() + flat.len() / 60 + 1);
    for chunk in flat.as_bytes().chunks(60) {
        lines.extend(chunk.iter().map(|byte| char::from(*byte)));
        lines.push('\n');
    }
    lines
}

/// Links below a repository's API address, as `field: suffix`.
const REPO_LINKS: &[(&str, &str)] = &[
    ("archive_url", "{archive_format}{/ref}"),
    ("assignees_url", "assignees{/user}"),
    ("blobs_url", "git/blobs{/sha}"),
    ("branches_url", "branches{/branch}"),
    ("collaborators_url", "collaborators{/collaborator}"),
    ("comments_url", "comments{/number}"),
    ("commits_url", "commits{/sha}"),
    ("compare_url", "compare/{base}...{head}"),
    ("contents_url", "contents/{+path}"),
    ("contributors_url", "contributors"),
    ("deployments_url", "deployments"),
    ("downloads_url", "downloads"),
    ("events_url", "events"),
    ("forks_url", "forks"),
    ("git_commits_url", "git/commits{/sha}"),
    ("git_refs_url", "git/refs{/sha}"),
    ("git_tags_url", "git/tags{/sha}"),
    ("hooks_url", "hooks"),
    ("issue_comment_url", "issues/comments{/number}"),
    ("issue_events_url", "issues/events{/number}"),
    ("issues_url", "issues{/number}"),
    ("keys_url", "keys{/key_id}"),
    ("labels_url", "labels{/name}"),
    ("languages_url", "languages"),
    ("merges_url", "merges"),
    ("milestones_url", "milestones{/number}"),
    ("notifications_url", "notifications{?since,all,participating}"),
    ("pulls_url", "pulls{/number}"),
    ("releases_url", "releases{/id}"),
    ("stargazers_url", "stargazers"),
    ("statuses_url", "statuses/{sha}"),
    ("subscribers_url", "subscribers"),
    ("subscription_url", "subscription"),
    ("tags_url", "tags"),
    ("teams_url", "teams"),
    ("trees_url", "git/trees{/sha}"),
];

impl State {
    pub(crate) fn api(&self) -> String {
        format!("{}/api/v3", self.base)
    }

    pub(crate) fn repo_api(&self, repo: &Repo) -> String {
        format!("{}/repos/{}", self.api(), repo.full_name())
    }

    pub(crate) fn repo_html(&self, repo: &Repo) -> String {
        format!("{}/{}", self.base, repo.full_name())
    }

    pub(crate) fn user_json(&self, account: &Account) -> Value {
        let (api, login) = (self.api(), &account.login);
        let url = format!("{api}/users/{login}");
        let prefix = match account.kind {
            AccountKind::User => "U",
            AccountKind::Organization => "O",
            AccountKind::Bot => "BOT",
        };
        let html = match account.kind {
            AccountKind::Bot => format!("{}/apps/{}", self.base, login.trim_end_matches("[bot]")),
            _ => format!("{}/{login}", self.base),
        };
        json!({
            "login": login, "id": account.id, "node_id": node(prefix, account.id),
            "avatar_url": format!("{}/avatars/{}", self.base, account.id), "gravatar_id": "",
            "url": url, "html_url": html,
            "followers_url": format!("{url}/followers"), "following_url": format!("{url}/following{{/other_user}}"),
            "gists_url": format!("{url}/gists{{/gist_id}}"), "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
            "subscriptions_url": format!("{url}/subscriptions"), "organizations_url": format!("{url}/orgs"),
            "repos_url": format!("{url}/repos"), "events_url": format!("{url}/events{{/privacy}}"),
            "received_events_url": format!("{url}/received_events"),
            "type": account.kind.name(), "user_view_type": "public", "site_admin": false,
        })
    }

    pub(crate) fn user_or_null(&self, account: Option<&Account>) -> Value {
        account.map_or(Value::Null, |account| self.user_json(account))
    }

    /// The whole profile, for `GET /users/{login}` and `GET /user`.
    pub(crate) fn profile_json(&self, account: &Account) -> Value {
        let mut user = self.user_json(account);
        let public = self.repos.values().filter(|repo| repo.owner.id == account.id && !repo.private).count();
        let more = json!({
            "name": account.login, "company": null, "blog": "", "location": null, "email": null, "hireable": null,
            "bio": null, "public_repos": public, "public_gists": 0, "followers": 0, "following": 0,
            "created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z",
        });
        merge(&mut user, more);
        user
    }

    /// An organization, as a webhook tells whose the repository is.
    pub(crate) fn organization_json(&self, account: &Account) -> Value {
        let url = format!("{}/orgs/{}", self.api(), account.login);
        json!({
            "login": account.login, "id": account.id, "node_id": node("O", account.id), "url": url,
            "repos_url": format!("{url}/repos"), "events_url": format!("{url}/events"),
            "hooks_url": format!("{url}/hooks"), "issues_url": format!("{url}/issues"),
            "members_url": format!("{url}/members{{/member}}"),
            "public_members_url": format!("{url}/public_members{{/member}}"),
            "avatar_url": format!("{}/avatars/{}", self.base, account.id), "description": null,
        })
    }

    /// A repository in few words: its names and its links.
    pub(crate) fn brief_repo_json(&self, repo: &Repo) -> Value {
        let (url, html) = (self.repo_api(repo), self.repo_html(repo));
        let mut value = json!({
            "id": repo.id, "node_id": node("R", repo.id), "name": repo.name, "full_name": repo.full_name(),
            "private": repo.private, "owner": self.user_json(&repo.owner), "html_url": html, "description": null,
            "fork": repo.fork_of.is_some(), "url": url,
        });
        for (field, suffix) in REPO_LINKS {
            value[*field] = format!("{url}/{suffix}").replace("/{/", "{/").into();
        }
        value
    }

    pub(crate) fn repo_json(&self, repo: &Repo) -> Value {
        let html = self.repo_html(repo);
        let open = repo.issues.values().filter(|issue| issue.open).count();
        let mut value = self.brief_repo_json(repo);
        let urls = json!({
            "git_url": format!("git:{}.git", html.trim_start_matches("http:")),
            "ssh_url": format!("git@localhost:{}.git", repo.full_name()), "clone_url": format!("{html}.git"),
            "svn_url": html, "homepage": null, "language": null, "forks": 0, "forks_count": 0,
            "stargazers_count": 0, "watchers": 0, "watchers_count": 0, "size": 1,
        });
        let more = json!({
            "default_branch": repo.default_branch, "open_issues": open, "open_issues_count": open,
            "is_template": false, "topics": [], "has_issues": repo.has_issues, "has_projects": true, "has_wiki": true,
            "has_pages": false, "has_downloads": true, "has_discussions": false, "archived": false,
            "disabled": false, "visibility": if repo.private { "private" } else { "public" }, "mirror_url": null,
            "license": null, "pushed_at": repo.pushed_at, "created_at": repo.created_at,
            "updated_at": repo.pushed_at, "allow_forking": true, "web_commit_signoff_required": false,
        });
        merge(&mut value, urls);
        merge(&mut value, more);
        value
    }

    /// With the counts that only a single repository is told with.
    pub(crate) fn full_repo_json(&self, repo: &Repo, role: Option<Role>) -> Value {
        let mut value = self.repo_json(repo);
        merge(
            &mut value,
            json!({
                "network_count": 0, "subscribers_count": 0, "allow_merge_commit": true, "allow_squash_merge": true,
                "allow_rebase_merge": true, "allow_auto_merge": false, "delete_branch_on_merge": false,
            }),
        );
        if let Some(role) = role {
            value["permissions"] = json!({
                "admin": role >= Role::Admin, "maintain": role >= Role::Maintain, "push": role >= Role::Write,
                "triage": role >= Role::Triage, "pull": role >= Role::Read,
            });
        }
        value
    }

    pub(crate) fn label_json(&self, repo: &Repo, label: &Label) -> Value {
        json!({
            "id": label.id, "node_id": node("LA", label.id),
            "url": format!("{}/labels/{}", self.repo_api(repo), escape_path(&label.name)), "name": label.name,
            "description": label.description, "color": label.color, "default": false,
        })
    }

    pub(crate) fn labels_json(&self, repo: &Repo, issue: &Issue) -> Vec<Value> {
        issue.labels.iter().filter_map(|id| repo.labels.get(id)).map(|label| self.label_json(repo, label)).collect()
    }

    /// GitHub's own, unreliable, idea of how someone belongs to a repository.
    pub(crate) fn association(&self, repo: &Repo, account: &Account) -> &'static str {
        if repo.owner.id == account.id {
            "OWNER"
        } else if self
            .teams
            .get(&repo.owner.id)
            .is_some_and(|teams| teams.iter().any(|team| team.members.contains_key(&account.id)))
        {
            "MEMBER"
        } else if repo.roles.contains_key(&account.id) {
            "COLLABORATOR"
        } else {
            "NONE"
        }
    }

    pub(crate) fn issue_json(&self, repo: &Repo, issue: &Issue) -> Value {
        let (api, html) = (self.repo_api(repo), self.repo_html(repo));
        let url = format!("{api}/issues/{}", issue.number);
        let comments = repo.comments.values().filter(|comment| comment.issue == issue.number).count();
        let mut value = json!({
            "url": url, "repository_url": api, "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"), "events_url": format!("{url}/events"),
            "html_url": format!("{html}/issues/{}", issue.number), "id": issue.id,
            "node_id": node("I", issue.id), "number": issue.number, "title": issue.title,
            "user": self.user_json(&issue.user), "labels": self.labels_json(repo, issue),
            "state": if issue.open { "open" } else { "closed" }, "state_reason": issue.state_reason,
            "locked": false, "assignee": self.user_or_null(issue.assignees.first()),
            "assignees": issue.assignees.iter().map(|one| self.user_json(one)).collect::<Vec<_>>(),
            "milestone": null, "comments": comments, "created_at": issue.created_at,
            "updated_at": issue.updated_at, "closed_at": issue.closed_at,
            "author_association": self.association(repo, &issue.user), "active_lock_reason": null,
            "body": issue.body, "timeline_url": format!("{url}/timeline"), "performed_via_github_app": null,
            "reactions": rollup(&url, &[]),
        });
        if let Some(pull) = &issue.pull {
            let page = format!("{html}/pull/{}", issue.number);
            value["html_url"] = page.clone().into();
            value["draft"] = pull.draft.into();
            value["pull_request"] = json!({
                "url": format!("{api}/pulls/{}", issue.number), "html_url": page,
                "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"),
                "merged_at": pull.merged_at,
            });
        }
        value
    }

    pub(crate) fn comment_json(&self, repo: &Repo, comment: &Comment) -> Value {
        let (api, html) = (self.repo_api(repo), self.repo_html(repo));
        let url = format!("{api}/issues/comments/{}", comment.id);
        let kind = match repo.issues.get(&comment.issue).and_then(|issue| issue.pull.as_ref()) {
            Some(_) => "pull",
            None => "issues",
        };
        let reactions = rollup(&url, &comment.reactions);
        let via = comment.via_app.and_then(|id| self.apps.get(&id)).map(|app| self.app_json(app));
        json!({
            "url": url, "html_url": format!("{html}/{kind}/{}#issuecomment-{}", comment.issue, comment.id),
            "issue_url": format!("{api}/issues/{}", comment.issue), "id": comment.id,
            "node_id": node("IC", comment.id), "user": self.user_json(&comment.user),
            "created_at": comment.created_at, "updated_at": comment.updated_at,
            "author_association": self.association(repo, &comment.user), "body": comment.body,
            "reactions": reactions, "performed_via_github_app": via,
        })
    }

    pub(crate) fn reaction_json(&self, reaction: &Reaction) -> Value {
        json!({
            "id": reaction.id, "node_id": node("REA", reaction.id), "user": self.user_json(&reaction.user),
            "content": reaction.content, "created_at": reaction.created_at,
        })
    }

    /// A pull request as lists tell it.
    pub(crate) fn pull_json(&self, repo: &Repo, issue: &Issue) -> Result<Value, Problem> {
        let pull = issue.pull.as_ref().ok_or_else(Problem::not_found)?;
        let (api, html) = (self.repo_api(repo), self.repo_html(repo));
        let (url, issue_url) = (format!("{api}/pulls/{}", issue.number), format!("{api}/issues/{}", issue.number));
        let page = format!("{html}/pull/{}", issue.number);
        let statuses = format!("{api}/statuses/{}", pull.head_sha);
        // A fork that was deleted is null; whose it was is still told.
        let side = |repo: Option<&Repo>, owner: &Account, name: &str, sha: &str| {
            let owner = repo.map_or(owner, |repo| &repo.owner);
            json!({
                "label": format!("{}:{name}", owner.login), "ref": name, "sha": sha, "user": self.user_json(owner),
                "repo": repo.map(|r| self.repo_json(r)),
            })
        };
        let link = |href: &str| json!({"href": href});
        let mut labels = self.labels_json(repo, issue);
        for label in labels.iter_mut().filter(|label| label["description"].is_null()) {
            // The OpenAPI description knows no null here, though issues have it.
            label["description"] = "".into();
        }
        Ok(json!({
            "url": url, "id": pull.id, "node_id": node("PR", pull.id), "html_url": page,
            "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"), "issue_url": issue_url,
            "number": issue.number, "state": if issue.open { "open" } else { "closed" }, "locked": false,
            "title": issue.title, "user": self.user_json(&issue.user), "body": issue.body,
            "created_at": issue.created_at, "updated_at": issue.updated_at, "closed_at": issue.closed_at,
            "merged_at": pull.merged_at, "merge_commit_sha": pull.merge_commit_sha,
            "assignee": self.user_or_null(issue.assignees.first()),
            "assignees": issue.assignees.iter().map(|one| self.user_json(one)).collect::<Vec<_>>(),
            "requested_reviewers": [], "requested_teams": [], "labels": labels,
            "milestone": null, "draft": pull.draft, "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"),
            "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
            "comments_url": format!("{issue_url}/comments"), "statuses_url": statuses,
            "head": side(self.repos.get(&pull.head_repo), &pull.head_owner, &pull.head_ref, &pull.head_sha),
            "base": side(Some(repo), &repo.owner, &pull.base_ref, &pull.base_sha),
            "_links": {
                "self": link(&url), "html": link(&page), "issue": link(&issue_url),
                "comments": link(&format!("{issue_url}/comments")),
                "review_comments": link(&format!("{url}/comments")),
                "review_comment": link(&format!("{api}/pulls/comments{{/number}}")),
                "commits": link(&format!("{url}/commits")), "statuses": link(&statuses),
            },
            "author_association": self.association(repo, &issue.user), "auto_merge": null,
            "active_lock_reason": null,
        }))
    }

    /// A single pull request, with its size and whether it can be merged.
    pub(crate) fn full_pull_json(&self, repo: &Repo, issue: &Issue) -> Result<Value, Problem> {
        let pull = issue.pull.as_ref().ok_or_else(Problem::not_found)?;
        let mut value = self.pull_json(repo, issue)?;
        let size = self.pull_size(repo, pull)?;
        let (mergeable, state) = self.mergeable(repo, issue, pull)?;
        merge(
            &mut value,
            json!({
                "merged": pull.merged_at.is_some(), "mergeable": mergeable, "rebaseable": mergeable,
                "mergeable_state": state, "merged_by": self.user_or_null(pull.merged_by.as_ref()),
                "comments": repo.comments.values().filter(|one| one.issue == issue.number).count(),
                "review_comments": 0, "maintainer_can_modify": false, "commits": size.commits,
                "additions": size.additions, "deletions": size.deletions, "changed_files": size.files,
            }),
        );
        Ok(value)
    }

    pub(crate) fn review_json(&self, repo: &Repo, issue: &Issue, review: &Review) -> Value {
        let page = format!("{}/pull/{}#pullrequestreview-{}", self.repo_html(repo), issue.number, review.id);
        let pull = format!("{}/pulls/{}", self.repo_api(repo), issue.number);
        json!({
            "id": review.id, "node_id": node("PRR", review.id), "user": self.user_json(&review.user),
            "body": review.body, "state": review.state, "html_url": page, "pull_request_url": pull,
            "author_association": self.association(repo, &review.user),
            "_links": {"html": {"href": page}, "pull_request": {"href": pull}},
            "submitted_at": review.submitted_at, "commit_id": review.commit_id,
        })
    }

    pub(crate) fn permissions_json(permissions: &Permissions) -> Value {
        permissions.iter().map(|(name, level)| (name.clone(), Value::from(level.name()))).collect()
    }

    pub(crate) fn app_json(&self, app: &App) -> Value {
        json!({
            "id": app.id, "slug": app.slug, "client_id": app.client_id, "node_id": node("A", app.id),
            "owner": self.user_json(&app.owner), "name": app.name, "description": "",
            "external_url": format!("{}/apps/{}", self.base, app.slug),
            "html_url": format!("{}/apps/{}", self.base, app.slug), "created_at": app.created_at,
            "updated_at": app.created_at, "permissions": Self::permissions_json(&app.permissions),
            // Whatever is about its installation an App hears without asking for it.
            "events": app.events.iter().filter(|event| !event.starts_with("installation")).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn installation_json(&self, one: &Installation) -> Value {
        let api = self.api();
        let app = self.apps.get(&one.app);
        json!({
            "id": one.id, "account": self.user_json(&one.account), "repository_selection": "selected",
            "access_tokens_url": format!("{api}/app/installations/{}/access_tokens", one.id),
            "repositories_url": format!("{api}/installation/repositories"),
            "html_url": format!("{}/settings/installations/{}", self.base, one.id), "app_id": one.app,
            "client_id": app.map(|app| app.client_id.clone()),
            "app_slug": app.map_or("", |app| app.slug.as_str()), "target_id": one.account.id,
            "target_type": one.account.kind.name(), "permissions": Self::permissions_json(&one.permissions),
            "events": app.map(|app| app.events.clone()).unwrap_or_default(), "created_at": one.created_at,
            "updated_at": one.created_at, "single_file_name": null, "has_multiple_single_files": false,
            "single_file_paths": [], "suspended_by": one.suspended_at.map(|_| self.user_json(&one.account)),
            "suspended_at": one.suspended_at,
        })
    }
}

/// The reactions GitHub knows.
pub(crate) const REACTIONS: &[&str] = &["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

/// How many of each reaction there are.
fn rollup(url: &str, given: &[Reaction]) -> Value {
    let mut told = json!({"url": format!("{url}/reactions"), "total_count": given.len()});
    for content in REACTIONS {
        told[*content] = given.iter().filter(|one| one.content == *content).count().into();
    }
    told
}

/// Lays the second object's fields over the first's.
pub(crate) fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

/// Percent-encodes what may not stand in a path segment.
pub(crate) fn escape_path(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
