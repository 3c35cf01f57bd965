//! Comments on issues and pull requests.
//!
//! A comment of ours is known by a marker: an HTML comment at its end that people don't see. A marker can be copied by
//! anyone, so only a comment that our own account wrote is ever taken for ours.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::{LONGEST_TEXT, fit, ghost, someone, text};
use crate::github::error::maybe;
use crate::github::wire::before;
use crate::github::{Error, Repo, Result};
use crate::ids::Person;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct IssueComment {
    pub id: u64,
    #[serde(default, deserialize_with = "text")]
    pub node_id: String,
    #[serde(default = "ghost", deserialize_with = "someone")]
    pub user: Person,
    #[serde(default, deserialize_with = "text")]
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Option<Timestamp>,
    #[serde(default)]
    pub html_url: String,
}

/// The hidden key of something that we write. Letters, digits and `-_:./#=@ ` only: nothing that could end the HTML
/// comment it stands in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Marker(String);

impl Marker {
    pub fn new(key: &str) -> Result<Self> {
        let fine = |c: char| c.is_ascii_alphanumeric() || "-_:./#=@ ".contains(c);
        if !key.is_empty() && key.len() <= 200 && key.chars().all(fine) && !key.contains("--") {
            Ok(Self(format!("<!-- {key} -->")))
        } else {
            Err(Error::malformed("a marker", format!("{key:?} can't be hidden in a comment")))
        }
    }

    /// As it stands in the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this text carries the marker, on a line of its own.
    pub fn is_in(&self, text: &str) -> bool {
        text.lines().any(|line| line.trim() == self.0)
    }

    /// The text with the marker at its end, cut so that both fit.
    pub fn put(&self, text: &str) -> String {
        if self.is_in(text) && text.chars().count() <= LONGEST_TEXT {
            return text.to_owned();
        }
        format!("{}\n\n{}", fit(text.trim_end(), LONGEST_TEXT - self.0.len() - 2), self.0)
    }
}

/// The reactions that GitHub knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    PlusOne,
    MinusOne,
    Laugh,
    Confused,
    Heart,
    Hooray,
    Rocket,
    Eyes,
}

impl Reaction {
    fn name(self) -> &'static str {
        match self {
            Self::PlusOne => "+1",
            Self::MinusOne => "-1",
            Self::Laugh => "laugh",
            Self::Confused => "confused",
            Self::Heart => "heart",
            Self::Hooray => "hooray",
            Self::Rocket => "rocket",
            Self::Eyes => "eyes",
        }
    }
}

/// A change to a text of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub at: Timestamp,
    /// Who it was, where that was not us.
    pub another: Option<String>,
}

impl Repo {
    /// All comments on an issue or pull request, oldest first; `since` counts the last change.
    pub async fn list_comments(&self, number: u64, since: Option<Timestamp>) -> Result<Vec<IssueComment>> {
        let mut request = self.get("/repos/{owner}/{repo}/issues/{number}/comments", &[&number.to_string()])?;
        if let Some(since) = since {
            request = request.query("since", &since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
        self.list(request, None).await
    }

    /// A comment as it is now; none when it was deleted.
    pub async fn get_comment(&self, comment: u64) -> Result<Option<IssueComment>> {
        let request = self.get("/repos/{owner}/{repo}/issues/comments/{comment}", &[&comment.to_string()])?;
        maybe(self.fetch(request).await)
    }

    /// Which of these comments nobody has edited since they were written. REST tells the time of the last change in whole
    /// seconds, so an edit within the first second does not show there. None: this GitHub can't tell.
    pub async fn unedited(&self, comments: &[IssueComment]) -> Result<Option<BTreeSet<u64>>> {
        #[derive(Deserialize)]
        struct Asked {
            nodes: Vec<Option<Told>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Told {
            database_id: Option<u64>,
            last_edited_at: Option<Timestamp>,
        }
        let mut unedited = BTreeSet::new();
        for part in comments.chunks(100) {
            let ids: Vec<&str> = part.iter().map(|comment| comment.node_id.as_str()).collect();
            let query = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { databaseId lastEditedAt } } }";
            let asked: Asked = match self.graphql(query, json!({ "ids": ids })).await {
                Err(Error::NoEndpoint { .. }) => return Ok(None),
                asked => asked?,
            };
            let told = asked.nodes.into_iter().flatten().filter(|told| told.last_edited_at.is_none());
            unedited.extend(told.filter_map(|told| told.database_id));
        }
        Ok(Some(unedited))
    }

    /// Who changed the text of a comment or an issue of ours last, if that was not us. None also where this GitHub can't tell.
    pub async fn edited_by_another(&self, node: &str) -> Result<Option<String>> {
        Ok(self.last_edit(node).await?.and_then(|edit| edit.another))
    }

    /// The last change to the text of a comment or an issue of ours. None also where this GitHub can't tell.
    pub async fn last_edit(&self, node: &str) -> Result<Option<Edit>> {
        #[derive(Deserialize)]
        struct Asked {
            nodes: Vec<Option<Told>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Told {
            last_edited_at: Option<Timestamp>,
            editor: Option<Editor>,
        }
        #[derive(Deserialize)]
        struct Editor {
            #[serde(rename = "__typename")]
            kind: String,
            login: String,
        }
        let query = "query($ids: [ID!]!) { nodes(ids: $ids) { \
                     ... on IssueComment { lastEditedAt editor { __typename login } } \
                     ... on Issue { lastEditedAt editor { __typename login } } } }";
        let asked: Asked = match self.graphql(query, json!({ "ids": [node] })).await {
            Err(Error::NoEndpoint { .. }) => return Ok(None),
            asked => asked?,
        };
        let mut told = asked.nodes.into_iter().flatten();
        let Some((at, editor)) = told.find_map(|told| Some((told.last_edited_at?, told.editor))) else {
            return Ok(None);
        };
        // There a bot is called without its suffix, and a person may be called the same.
        let login = self.hub().login().await?;
        let is_ours = |editor: &Editor| editor.kind == "Bot" && login.strip_suffix("[bot]") == Some(&editor.login);
        let another = match editor {
            Some(editor) if is_ours(&editor) => None,
            Some(editor) => Some(editor.login),
            None => Some("Somebody".to_owned()),
        };
        Ok(Some(Edit { at, another }))
    }

    /// Our comment with this marker.
    pub async fn find_comment(
        &self,
        number: u64,
        marker: &Marker,
        since: Option<Timestamp>,
    ) -> Result<Option<IssueComment>> {
        let comments = self.our_comments(number, since).await?;
        Ok(comments.into_iter().find(|comment| marker.is_in(&comment.body)))
    }

    /// What our own account wrote there, oldest first.
    pub async fn our_comments(&self, number: u64, since: Option<Timestamp>) -> Result<Vec<IssueComment>> {
        let login = self.hub().login().await?;
        let mut comments = self.list_comments(number, since).await?;
        comments.retain(|comment| comment.user.login == login);
        Ok(comments)
    }

    /// Writes a comment once: after an unclear answer its marker is looked for before anything is written again.
    pub async fn create_comment(&self, number: u64, body: &str, marker: &Marker) -> Result<IssueComment> {
        let request = self
            .request(Method::POST, "/repos/{owner}/{repo}/issues/{number}/comments", &[&number.to_string()])?
            .body(json!({ "body": marker.put(body) }))
            .creates();
        // Only what was written since can be ours; clocks may differ.
        let since = before(self.wire().clock.now(), Duration::from_secs(3600));
        self.wire().keyed(self.lane(), &request, || self.find_comment(number, marker, Some(since))).await
    }

    pub async fn update_comment(&self, comment: u64, body: &str) -> Result<IssueComment> {
        let request = self
            .request(Method::PATCH, "/repos/{owner}/{repo}/issues/comments/{comment}", &[&comment.to_string()])?
            .body(json!({ "body": fit(body, LONGEST_TEXT) }))
            .idempotent();
        self.fetch(request).await
    }

    /// Takes away a comment of ours. One that is gone already is not missed.
    pub async fn delete_comment(&self, comment: u64) -> Result<()> {
        let route = "/repos/{owner}/{repo}/issues/comments/{comment}";
        let request = self.request(Method::DELETE, route, &[&comment.to_string()])?.idempotent();
        match self.call(&request).await {
            Err(Error::NotFound { .. }) => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// GitHub keeps one reaction of a kind for an account, so this may be repeated.
    pub async fn react(&self, comment: u64, reaction: Reaction) -> Result<()> {
        let route = "/repos/{owner}/{repo}/issues/comments/{comment}/reactions";
        let request = self
            .request(Method::POST, route, &[&comment.to_string()])?
            .body(json!({ "content": reaction.name() }))
            .idempotent();
        self.call(&request).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_survives_a_text_that_is_too_long() {
        let marker = Marker::new("phasegate:change=7 seq=12").unwrap();
        let put = marker.put(&"🦀".repeat(70_000));
        assert!(put.chars().count() <= LONGEST_TEXT && marker.is_in(&put));
        assert_eq!(marker.put(&marker.put("hi")), marker.put("hi"));
        assert!(!marker.is_in(&format!("quoted: {}", marker.as_str())));
    }

    #[test]
    fn a_marker_cant_end_its_html_comment() {
        for bad in ["", "a-->b", "a--b", "a\nb", "<x>", "é"] {
            assert!(Marker::new(bad).is_err(), "{bad:?}");
        }
    }
}
