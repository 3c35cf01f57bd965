//! What people were shown, and what was heard of them, as far as the records tell.
//!
//! A server remembers since when its comment shows a head, and which old heads have lost their green. A run in a workflow
//! remembers nothing, and may be the only one that ever looks; so it records what it showed. Nothing is granted by it: a
//! command still binds to the head and the content that were shown when it was written.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::record::{About, Body, Record};
use super::state::State;
use crate::ids::{CommitId, Digest};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Face {
    /// When the first record was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// When the newest comment was written that held a command and was heard: the cursor of who reads comments himself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<OnFace>,
    /// Heads that are not the head any more, and have lost their green.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub superseded: BTreeSet<CommitId>,
    /// The newest record but for those of what was shown, where the newest is one of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<(u64, Digest)>,
}

/// What the one comment shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnFace {
    pub comment: u64,
    pub head: CommitId,
    pub content: Digest,
    /// On GitHub's clock.
    pub since: Timestamp,
    /// The files that it asks somebody to accept, and since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<(Digest, Timestamp)>,
    /// Whether the pull request was a draft then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
}

impl State {
    /// The newest record that says something of the change. What is shown names this one: that it was shown is no news to
    /// be shown.
    pub fn newest(&self) -> (u64, &Digest) {
        self.face.before.as_ref().map_or((self.seq, &self.tip), |(seq, tip)| (*seq, tip))
    }

    /// What a record adds, before it is the newest.
    pub(super) fn face(&mut self, record: &Record) {
        let before = (self.seq, self.tip.clone());
        match (&record.body, &record.about) {
            (Body::Shown { comment, since, files, draft }, Some(about)) => {
                let About { head, content, .. } = about;
                self.face.shown = Some(OnFace {
                    comment: *comment,
                    head: head.clone(),
                    content: content.clone(),
                    since: *since,
                    files: files.clone().map(|files| (files.print, files.since)),
                    draft: *draft,
                });
                self.face.superseded = self.heads.keys().filter(|old| *old != head).cloned().collect();
                self.face.before.get_or_insert(before);
                return;
            }
            (Body::Subject { .. }, Some(about)) => {
                self.face.superseded.remove(&about.head);
            }
            (Body::Command { written: Some(written), .. }, _) => {
                self.face.heard = self.face.heard.max(Some(*written));
            }
            // Its last head loses its green.
            (Body::Closed {}, _) => self.face.superseded.clear(),
            _ => {}
        }
        self.face.before = None;
    }
}
