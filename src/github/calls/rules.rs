//! The repository itself, and the rules its branches are under.

use serde::Deserialize;
use serde_json::Value;

use crate::github::{Error, Repo, Result};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Repository {
    pub id: u64,
    pub full_name: String,
    pub default_branch: String,
    #[serde(default)]
    pub private: bool,
    #[serde(default)]
    pub archived: bool,
    pub has_issues: Option<bool>,
    #[serde(default)]
    pub fork: bool,
    #[serde(default)]
    pub html_url: String,
    /// `User` or `Organization`.
    pub owner: Owner,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Owner {
    pub id: u64,
    pub login: String,
    #[serde(default, rename = "type")]
    pub kind: String,
}

#[derive(Deserialize)]
struct Branch {
    #[serde(default)]
    protected: bool,
}

/// A rule that is in force on a branch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Rule {
    /// `required_status_checks`, `pull_request`, `non_fast_forward`, …
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub parameters: Value,
    pub ruleset_id: Option<u64>,
    pub ruleset_source: Option<String>,
    pub ruleset_source_type: Option<String>,
}

impl Rule {
    /// The checks that this rule requires, with the App each is pinned to. An unpinned check can be forged by anyone
    /// with write access.
    pub fn required_checks(&self) -> Vec<(String, Option<u64>)> {
        let checks = self.parameters.get("required_status_checks").and_then(Value::as_array);
        checks
            .filter(|_| self.kind == "required_status_checks")
            .into_iter()
            .flatten()
            .filter_map(|check| {
                Some((check.get("context")?.as_str()?.to_owned(), check.get("integration_id").and_then(Value::as_u64)))
            })
            .collect()
    }
}

impl Repo {
    pub async fn get_repo(&self) -> Result<Repository> {
        self.fetch(self.get("/repos/{owner}/{repo}", &[])?).await
    }

    /// Whether a branch is under branch protection or a ruleset: the answer's `protected` is about both. A branch that
    /// is not there is not.
    pub async fn is_protected(&self, branch: &str) -> Result<bool> {
        match self.fetch::<Branch>(self.get("/repos/{owner}/{repo}/branches/{branch*}", &[branch])?).await {
            Ok(branch) => Ok(branch.protected),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The active rules of all rulesets on a branch. Private repositories on free plans have none.
    pub async fn rules_for_branch(&self, branch: &str) -> Result<Vec<Rule>> {
        self.list(self.get("/repos/{owner}/{repo}/rules/branches/{branch*}", &[branch])?, None).await
    }
}
