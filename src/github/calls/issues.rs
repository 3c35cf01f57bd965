//! Issues and labels.

use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::comments::Marker;
use super::{LONGEST_TEXT, fit, ghost, somebody, someone, text};
use crate::github::error::maybe;
use crate::github::wire::before;
use crate::github::{Error, Repo, Result};
use crate::ids::Person;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Issue {
    pub number: u64,
    pub id: u64,
    #[serde(default)]
    pub node_id: String,
    /// `open` or `closed`.
    pub state: String,
    pub state_reason: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub title: String,
    #[serde(default, deserialize_with = "text")]
    pub body: String,
    #[serde(default = "ghost", deserialize_with = "someone")]
    pub user: Person,
    #[serde(default)]
    pub labels: Vec<Label>,
    /// Not told in lists.
    #[serde(default, deserialize_with = "somebody")]
    pub closed_by: Option<Person>,
    /// There for pull requests, which GitHub lists among the issues.
    #[serde(default)]
    pull_request: Option<Value>,
    pub created_at: Option<Timestamp>,
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
    #[serde(default)]
    pub html_url: String,
}

impl Issue {
    pub fn is_pull(&self) -> bool {
        self.pull_request.is_some()
    }
}

/// What to change about an issue or pull request; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueChange {
    pub title: Option<String>,
    pub body: Option<String>,
    pub state: Option<IssueState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueState {
    Open,
    Completed,
    NotPlanned,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Label {
    pub name: String,
    #[serde(default)]
    pub color: String,
    #[serde(default, deserialize_with = "text")]
    pub description: String,
}

/// Whether two names are one label: GitHub pays no regard to case.
pub fn same_label(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

impl Repo {
    pub async fn get_issue(&self, number: u64) -> Result<Issue> {
        self.fetch(self.get("/repos/{owner}/{repo}/issues/{number}", &[&number.to_string()])?).await
    }

    /// Opens an issue once, known by its marker as a comment is.
    pub async fn create_issue(&self, title: &str, body: &str, labels: &[&str], marker: &Marker) -> Result<Issue> {
        let request = self
            .request(Method::POST, "/repos/{owner}/{repo}/issues", &[])?
            .body(json!({ "title": fit(title, 250), "body": marker.put(body), "labels": labels }))
            .creates();
        let since = before(self.wire().clock.now(), Duration::from_secs(3600));
        self.wire().keyed(self.lane(), &request, || self.find_issue(marker, since)).await
    }

    /// Our issue with this marker, among those that changed since.
    pub async fn find_issue(&self, marker: &Marker, since: Timestamp) -> Result<Option<Issue>> {
        let login = self.hub().login().await?;
        let since = since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let request = self.get("/repos/{owner}/{repo}/issues", &[])?.query("state", "all").query("since", &since);
        let issues: Vec<Issue> = self.list(request, None).await?;
        Ok(issues.into_iter().find(|issue| issue.user.login == login && marker.is_in(&issue.body)))
    }

    /// Our issues with this marker among those with a label that changed since, open or closed, the first one first. A marker
    /// can be copied, so only what our own account wrote is ours.
    pub async fn labelled(&self, marker: &Marker, label: &str, since: Timestamp) -> Result<Vec<Issue>> {
        let login = self.hub().login().await?;
        let since = since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let request = self.get("/repos/{owner}/{repo}/issues", &[])?.query("state", "all").query("since", &since);
        let mut issues: Vec<Issue> = self.list(request.query("labels", label), None).await?;
        let ours = |issue: &Issue| issue.user.login == login && !issue.is_pull() && marker.is_in(&issue.body);
        issues.retain(ours);
        issues.sort_unstable_by_key(|issue| issue.number);
        Ok(issues)
    }

    pub async fn update_issue(&self, number: u64, change: &IssueChange) -> Result<Issue> {
        let mut body = Map::new();
        if let Some(title) = &change.title {
            body.insert("title".into(), fit(title, 250).into());
        }
        if let Some(text) = &change.body {
            body.insert("body".into(), fit(text, LONGEST_TEXT).into());
        }
        if let Some(state) = change.state {
            let (state, reason) = match state {
                IssueState::Open => ("open", "reopened"),
                IssueState::Completed => ("closed", "completed"),
                IssueState::NotPlanned => ("closed", "not_planned"),
            };
            body.insert("state".into(), state.into());
            body.insert("state_reason".into(), reason.into());
        }
        let request = self
            .request(Method::PATCH, "/repos/{owner}/{repo}/issues/{number}", &[&number.to_string()])?
            .body(Value::Object(body))
            .idempotent();
        self.fetch(request).await
    }

    /// Assigns people to an issue, beside those who are already. Whom GitHub does not let be assigned it leaves out.
    pub async fn add_assignees(&self, number: u64, people: &[String]) -> Result<Issue> {
        let route = "/repos/{owner}/{repo}/issues/{number}/assignees";
        let request = self
            .request(Method::POST, route, &[&number.to_string()])?
            .body(json!({ "assignees": people }))
            .idempotent();
        self.fetch(request).await
    }

    pub async fn list_labels(&self) -> Result<Vec<Label>> {
        self.list(self.get("/repos/{owner}/{repo}/labels", &[])?, None).await
    }

    /// Makes the repository have this label, looking as it should: created when missing, changed when it differs.
    pub async fn ensure_label(&self, name: &str, color: &str, description: &str) -> Result<Label> {
        let color = color.trim_start_matches('#').to_ascii_lowercase();
        let description = fit(description, 100);
        let find = || async {
            let request = self.get("/repos/{owner}/{repo}/labels/{label}", &[name])?;
            maybe(self.fetch::<Label>(request).await)
        };
        let found = match find().await? {
            Some(label) => label,
            None => {
                let request = self
                    .request(Method::POST, "/repos/{owner}/{repo}/labels", &[])?
                    .body(json!({ "name": name, "color": color, "description": description }));
                match self.wire().keyed(self.lane(), &request, find).await {
                    // Someone else made it between our look and our write.
                    Err(error @ Error::Unprocessable { .. }) => match find().await? {
                        Some(label) => label,
                        None => return Err(error),
                    },
                    result => result?,
                }
            }
        };
        if found.color.eq_ignore_ascii_case(&color) && found.description == description {
            return Ok(found);
        }
        let request = self
            .request(Method::PATCH, "/repos/{owner}/{repo}/labels/{label}", &[name])?
            .body(json!({ "color": color, "description": description }))
            .idempotent();
        self.fetch(request).await
    }

    /// Adds labels to an issue or pull request, keeping those it has; returns all it has then.
    pub async fn add_labels(&self, number: u64, labels: &[&str]) -> Result<Vec<Label>> {
        let route = "/repos/{owner}/{repo}/issues/{number}/labels";
        let request =
            self.request(Method::POST, route, &[&number.to_string()])?.body(json!({ "labels": labels })).idempotent();
        self.fetch(request).await
    }

    /// Takes a label off; one that is not there is no error.
    pub async fn remove_label(&self, number: u64, label: &str) -> Result<()> {
        let route = "/repos/{owner}/{repo}/issues/{number}/labels/{label}";
        let request = self.request(Method::DELETE, route, &[&number.to_string(), label])?.idempotent();
        maybe(self.call(&request).await).map(drop)
    }
}
