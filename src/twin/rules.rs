//! Rulesets: what may happen to a branch, and whose check lets a pull request in.

use git2::Oid;
use globset::GlobBuilder;
use serde_json::{Value, json};

use super::auth::Actor;
use super::git::{Git, Merged};
use super::model::*;
use super::reply::Problem;
use super::state::State;
use super::view::checks::latest;
use super::view::git::oid;

/// The conclusions that let a required check pass. Neutral and skipped do: this is GitHub's rule, not a slip.
const PASSING: &[&str] = &["success", "neutral", "skipped"];

const THROUGH_THE_QUEUE: &str = "Changes must be made through the merge queue.";

/// A move of one ref: `None` is "does not exist".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    pub(crate) old: Option<Oid>,
    pub(crate) new: Option<Oid>,
}

impl Ruleset {
    fn covers(&self, repo: &Repo, refname: &str) -> bool {
        self.include.iter().any(|pattern| match pattern.as_str() {
            "~ALL" => true,
            "~DEFAULT_BRANCH" => refname == format!("refs/heads/{}", repo.default_branch),
            pattern => GlobBuilder::new(pattern)
                .literal_separator(true)
                .build()
                .is_ok_and(|glob| glob.compile_matcher().is_match(refname)),
        })
    }
}

impl State {
    /// The rulesets that cover a ref and that this actor can't bypass. Without an actor: all that cover it.
    pub(crate) fn rulesets_for<'a>(
        &'a self,
        repo: &'a Repo,
        refname: &'a str,
        actor: Option<&'a Actor>,
    ) -> impl Iterator<Item = &'a Ruleset> {
        repo.rulesets.values().filter(move |ruleset| {
            ruleset.covers(repo, refname) && !actor.is_some_and(|actor| self.bypasses(repo, ruleset, actor))
        })
    }

    fn bypasses(&self, repo: &Repo, ruleset: &Ruleset, actor: &Actor) -> bool {
        ruleset.bypass.iter().any(|bypass| match (bypass, actor) {
            // The workflow's token can't be a bypass actor.
            (Bypass::App(app), Actor::Installation { scope, .. }) => scope.app == *app && *app != ACTIONS_APP,
            (Bypass::Role(role), Actor::User(account)) => self.role(repo, account.id) >= *role,
            _ => false,
        })
    }

    /// The violations of a direct move of a ref, in GitHub's words. `git` must already have the new objects.
    pub(crate) fn violations(&self, repo: &Repo, git: &Git, actor: &Actor, refname: &str, step: Move) -> Vec<String> {
        let mut found = Vec::new();
        for rule in self.rulesets_for(repo, refname, Some(actor)).flat_map(|ruleset| &ruleset.rules) {
            let told = match (rule, step.old, step.new) {
                (Rule::Creation, None, Some(_)) => Some("Cannot create ref due to creations being restricted.".into()),
                (Rule::Update, Some(_), Some(_)) => Some("Cannot update this protected ref.".into()),
                (Rule::Deletion, Some(_), None) => Some("Cannot delete this protected ref.".into()),
                (Rule::NonFastForward, Some(old), Some(new)) if !git.is_ancestor(old, new) => {
                    Some("Cannot force-push to this branch".into())
                }
                (Rule::MergeQueue { .. }, Some(_), Some(_)) => Some(THROUGH_THE_QUEUE.into()),
                (Rule::PullRequest { .. }, Some(_), Some(_)) => {
                    Some("Changes must be made through a pull request.".into())
                }
                (Rule::RequiredChecks { checks, .. }, Some(_), Some(new)) => {
                    checks.iter().find_map(|check| self.unmet(repo, &new.to_string(), check))
                }
                _ => None,
            };
            found.extend(told);
        }
        found
    }

    /// Why a required check does not pass on a commit, if it does not.
    fn unmet(&self, repo: &Repo, sha: &str, required: &RequiredCheck) -> Option<String> {
        let fits = |app: u64| required.integration_id.is_none_or(|pinned| pinned == app);
        let at_head = repo.check_runs.values().filter(|run| run.head_sha == sha && run.name == required.context);
        let mut newest: Vec<&CheckRun> = Vec::new();
        for run in latest(at_head.filter(|run| fits(run.app))) {
            // Of one App, the newest run of the name speaks, whichever suite it stands in.
            match newest.iter_mut().find(|old| old.app == run.app) {
                Some(old) if old.id < run.id => *old = run,
                Some(_) => {}
                None => newest.push(run),
            }
        }
        let status = repo.statuses.iter().rev().find(|status| {
            let by = self.apps.values().find(|app| app.bot.id == status.creator.id).map(|app| app.id);
            let counts = required.integration_id.is_none_or(|pinned| by == Some(pinned));
            status.sha == sha && status.context == required.context && counts
        });
        let name = &required.context;
        if newest.is_empty() && status.is_none() {
            return Some(format!("Required status check \"{name}\" is expected."));
        }
        let runs_pass = newest.iter().all(|run| run.conclusion.as_deref().is_some_and(|end| PASSING.contains(&end)));
        let status_passes = status.is_none_or(|status| status.state == "success");
        if runs_pass && status_passes {
            return None;
        }
        let open = newest.iter().any(|run| run.status != "completed")
            || status.is_some_and(|status| status.state == "pending");
        let how = if open { "expected" } else { "failing" };
        Some(format!("Required status check \"{name}\" is {how}."))
    }

    /// Why a pull request may not be merged by this actor, one sentence a rule.
    pub(crate) fn merge_violations(&self, repo: &Repo, pull: &Pull, actor: Option<&Actor>) -> Vec<String> {
        let refname = format!("refs/heads/{}", pull.base_ref);
        let mut found = Vec::new();
        for rule in self.rulesets_for(repo, &refname, actor).flat_map(|ruleset| &ruleset.rules) {
            match rule {
                Rule::RequiredChecks { checks, strict } => {
                    found.extend(checks.iter().filter_map(|check| self.unmet(repo, &pull.head_sha, check)));
                    if *strict && self.behind(repo, pull) {
                        found.push("Head branch is out of date with the base branch.".into());
                    }
                }
                Rule::PullRequest { approvals } => {
                    let has = self.approvals(repo, pull);
                    if has < *approvals {
                        let s = if *approvals == 1 { "review is" } else { "reviews are" };
                        found.push(format!(
                            "At least {approvals} approving {s} required by reviewers with write access."
                        ));
                    }
                }
                Rule::Update => found.push("Cannot update this protected ref.".into()),
                Rule::MergeQueue { .. } => found.push(THROUGH_THE_QUEUE.into()),
                _ => {}
            }
        }
        found
    }

    /// What a pull request lacks before it may enter the queue.
    pub(crate) fn unmet_before_queue(&self, repo: &Repo, pull: &Pull) -> Vec<String> {
        let mut unmet = self.merge_violations(repo, pull, None);
        unmet.retain(|told| told != THROUGH_THE_QUEUE);
        unmet
    }

    /// How a branch's merge queue makes its commits, if it has one.
    pub(crate) fn queue_method(&self, repo: &Repo, branch: &str) -> Option<QueueMethod> {
        let refname = format!("refs/heads/{branch}");
        self.rulesets_for(repo, &refname, None).flat_map(|ruleset| &ruleset.rules).find_map(|rule| match rule {
            Rule::MergeQueue { method } => Some(*method),
            _ => None,
        })
    }

    /// Whether a required check is still awaited on a commit, and whether one has ended otherwise than green.
    pub(crate) fn required_on(&self, repo: &Repo, branch: &str, sha: &str) -> (bool, bool) {
        let refname = format!("refs/heads/{branch}");
        let rules = self.rulesets_for(repo, &refname, None).flat_map(|ruleset| &ruleset.rules);
        let checks = rules.filter_map(|rule| match rule {
            Rule::RequiredChecks { checks, .. } => Some(checks),
            _ => None,
        });
        let unmet: Vec<String> = checks.flatten().filter_map(|check| self.unmet(repo, sha, check)).collect();
        let failing = unmet.iter().any(|told| told.ends_with("is failing."));
        (!unmet.is_empty(), failing)
    }

    /// Approvals that still stand: the last word of each reviewer with write access that is not a mere comment.
    fn approvals(&self, repo: &Repo, pull: &Pull) -> u32 {
        let mut last: Vec<(u64, &str)> = Vec::new();
        for review in pull.reviews.iter().filter(|review| review.state != "COMMENTED") {
            last.retain(|(user, _)| *user != review.user.id);
            last.push((review.user.id, &review.state));
        }
        last.retain(|(user, state)| *state == "APPROVED" && self.role(repo, *user) >= Role::Write);
        last.len() as u32
    }

    fn behind(&self, repo: &Repo, pull: &Pull) -> bool {
        let read = || {
            let git = self.git(repo.id).ok()?;
            Some(!git.is_ancestor(git.branch(&pull.base_ref)?, oid(&pull.head_sha).ok()?))
        };
        read().unwrap_or(false)
    }

    /// GitHub's `mergeable` and `mergeable_state`.
    pub(crate) fn mergeable(
        &self,
        repo: &Repo,
        issue: &Issue,
        pull: &Pull,
    ) -> Result<(Option<bool>, &'static str), Problem> {
        let git = self.git(repo.id)?;
        let Some(base) = git.branch(&pull.base_ref) else { return Ok((None, "unknown")) };
        if !issue.open {
            return Ok((None, "unknown"));
        }
        if matches!(git.merge(base, oid(&pull.head_sha)?)?, Merged::Conflict) {
            return Ok((Some(false), "dirty"));
        }
        if pull.draft {
            return Ok((Some(true), "draft"));
        }
        if !self.merge_violations(repo, pull, None).is_empty() {
            return Ok((Some(true), "blocked"));
        }
        let runs = latest(repo.check_runs.values().filter(|run| run.head_sha == pull.head_sha));
        let red = runs.iter().any(|run| !run.conclusion.as_deref().is_some_and(|end| PASSING.contains(&end)));
        Ok((Some(true), if red { "unstable" } else { "clean" }))
    }

    /// `GET rules/branches/{branch}`.
    pub(crate) fn rules_json(&self, repo: &Repo, branch: &str) -> Vec<Value> {
        let refname = format!("refs/heads/{branch}");
        let mut told = Vec::new();
        for ruleset in self.rulesets_for(repo, &refname, None) {
            for rule in &ruleset.rules {
                let mut value = json!({
                    "type": rule.kind(), "ruleset_source_type": "Repository",
                    "ruleset_source": repo.full_name(), "ruleset_id": ruleset.id,
                });
                if let Some(parameters) = parameters(rule) {
                    value["parameters"] = parameters;
                }
                told.push(value);
            }
        }
        told
    }

    pub(crate) fn ruleset_json(&self, repo: &Repo, ruleset: &Ruleset) -> Value {
        let rules: Vec<_> = ruleset
            .rules
            .iter()
            .map(|rule| match parameters(rule) {
                Some(parameters) => json!({"type": rule.kind(), "parameters": parameters}),
                None => json!({"type": rule.kind()}),
            })
            .collect();
        let bypass: Vec<_> = ruleset
            .bypass
            .iter()
            .map(|bypass| match bypass {
                Bypass::App(id) => json!({"actor_id": id, "actor_type": "Integration", "bypass_mode": "always"}),
                Bypass::Role(role) => {
                    let id = match role {
                        Role::Admin => 5,
                        Role::Maintain => 2,
                        _ => 4,
                    };
                    json!({"actor_id": id, "actor_type": "RepositoryRole", "bypass_mode": "always"})
                }
            })
            .collect();
        json!({
            "id": ruleset.id, "name": ruleset.name, "target": "branch", "source_type": "Repository",
            "source": repo.full_name(), "enforcement": "active", "bypass_actors": bypass,
            "conditions": {"ref_name": {"include": ruleset.include, "exclude": []}}, "rules": rules,
        })
    }
}

fn parameters(rule: &Rule) -> Option<Value> {
    match rule {
        Rule::RequiredChecks { checks, strict } => {
            let checks: Vec<_> = checks
                .iter()
                .map(|check| match check.integration_id {
                    Some(id) => json!({"context": check.context, "integration_id": id}),
                    None => json!({"context": check.context}),
                })
                .collect();
            Some(json!({
                "required_status_checks": checks, "strict_required_status_checks_policy": strict,
                "do_not_enforce_on_create": true,
            }))
        }
        Rule::PullRequest { approvals } => Some(json!({
            "required_approving_review_count": approvals, "dismiss_stale_reviews_on_push": false,
            "require_code_owner_review": false, "require_last_push_approval": false,
            "required_review_thread_resolution": false,
        })),
        Rule::Update => Some(json!({"update_allows_fetch_and_merge": false})),
        Rule::MergeQueue { method } => Some(json!({
            "merge_method": match method {
                QueueMethod::Merge => "MERGE",
                QueueMethod::Squash => "SQUASH",
            },
            "grouping_strategy": "ALLGREEN", "check_response_timeout_minutes": 60, "max_entries_to_build": 5,
            "max_entries_to_merge": 5, "min_entries_to_merge": 1, "min_entries_to_merge_wait_minutes": 5,
        })),
        _ => None,
    }
}
