//! The surface's memory, kept in the inbox's cache. It may be thrown away at any time.

use async_trait::async_trait;

use crate::ids::{Person, RepoId};
use crate::inbox::Inbox;
use crate::surface::sync::Memory;

/// More people than this do not push to one branch before it is a pull request.
const MOST_PUSHERS: usize = 50;

static PUSHES: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

pub(super) struct Kept {
    inbox: Inbox,
    repo: RepoId,
}

impl Kept {
    pub(super) fn new(inbox: &Inbox, repo: RepoId) -> Self {
        Self { inbox: inbox.clone(), repo }
    }

    /// Notes who pushed to a branch. When it becomes a pull request, they are its operators: GitHub tells of a push
    /// only while it happens.
    pub(super) async fn pushed(&self, branch: &str, by: &Person) {
        // Pushes come in side by side, and each reads what the other writes.
        let _one_at_a_time = PUSHES.lock().await;
        let mut known = self.pushers(branch).await;
        if known.len() < MOST_PUSHERS && !known.iter().any(|person| person.id == by.id) {
            known.push(by.clone());
            if let Ok(text) = serde_json::to_string(&known) {
                self.keep(&format!("pushers:{branch}"), &text).await;
            }
        }
    }

    /// Forgets who pushed to a branch that is gone: the next of its name is another one.
    pub(super) async fn branch_is_gone(&self, branch: &str) {
        self.keep(&format!("pushers:{branch}"), "[]").await;
    }

    /// Those who are known to have pushed to a branch.
    pub(super) async fn pushers(&self, branch: &str) -> Vec<Person> {
        let known = self.recall(&format!("pushers:{branch}")).await;
        known.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn namespace(&self) -> String {
        format!("surface/{}", self.repo.0)
    }
}

#[async_trait]
impl Memory for Kept {
    async fn recall(&self, key: &str) -> Option<String> {
        match self.inbox.cache_get(&self.namespace(), key).await {
            Ok(found) => found.and_then(|bytes| String::from_utf8(bytes).ok()),
            Err(error) => {
                tracing::warn!(%error, key, "the cache can't be read");
                None
            }
        }
    }

    async fn keep(&self, key: &str, value: &str) {
        if let Err(error) = self.inbox.cache_put(&self.namespace(), key, value.as_bytes()).await {
            tracing::warn!(%error, key, "the cache can't be written");
        }
    }
}
