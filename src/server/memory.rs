//! The surface's memory, kept in the inbox's cache. It may be thrown away at any time.

use async_trait::async_trait;

use crate::ids::RepoId;
use crate::inbox::{Inbox, Note};
use crate::surface::sync::Memory;

pub(super) struct Kept {
    inbox: Inbox,
    repo: RepoId,
}

impl Kept {
    pub(super) fn new(inbox: &Inbox, repo: RepoId) -> Self {
        Self { inbox: inbox.clone(), repo }
    }

    /// An entry that is to be kept with the answer to a batch, and not before.
    pub(super) fn note(&self, key: &str, value: &str) -> Note {
        Note { namespace: self.namespace(), key: key.to_owned(), value: value.as_bytes().to_vec() }
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
