//! What nobody told a run of, and what it reads for itself.
//!
//! A server hears of each edit, and remembers what it wrote and listed. A run remembers nothing, and the one that was started
//! for an edit may have been cancelled while it waited behind another: the next would put things right without a word.

use std::collections::BTreeMap;

use super::once::Word;
use super::pass::{LAG_TRIES, Pass};
use super::route::Halt;
use crate::engine::Happened;
use crate::fact::{Event, Fact};
use crate::gate::world::World;
use crate::github::calls::activity::Activity;
use crate::github::calls::pulls::Pull as Fetched;
use crate::ids::{ChangeNumber, CommitId};
use crate::ledger::escalation::Escalation;
use crate::ledger::{Break, BreakKind, Ledger, State, origin};
use crate::surface::sync::{self, Memory as _};
use crate::surface::{issues, witness};

/// So many of the heads that a branch has had are asked for our checks.
const MOST_HEADS: usize = 5;

/// So many moves of the ledger's branch by others are looked into, the newest first.
const MOST_FOREIGN: usize = 10;

impl Pass<'_> {
    /// What was done to our comment, and to the pull request, that no event of this run tells.
    pub(super) async fn unseen(
        &self,
        pull: &Fetched,
        state: &State,
        events: &[(String, Event)],
    ) -> Result<Vec<Happened>, Halt> {
        let Some(shown) = state.face.shown.as_ref().filter(|_| !self.app.remembers()) else { return Ok(Vec::new()) };
        let mut happened = Vec::new();
        // It was a draft with this very head when it was last shown, and is none now.
        if shown.draft && !pull.draft && shown.head == pull.head.sha {
            happened.push(Happened::Ready);
        }
        let told = |fact: &Fact| matches!(fact, Fact::CommentChanged { comment, .. } if *comment == shown.comment);
        if events.iter().any(|(_, event)| told(&event.fact)) {
            return Ok(happened);
        }
        let did = match self.repo.get_comment(shown.comment).await? {
            None if self.attempt < LAG_TRIES => {
                return Err(Halt::Behind(format!("GitHub does not have our comment {}", shown.comment)));
            }
            None => Some("Somebody deleted".to_owned()),
            Some(there) => self.repo.edited_by_another(&there.node_id).await?.map(|who| format!("{who} edited")),
        };
        happened.extend(did.map(|did| {
            let what = format!("{did} this comment; it was put right.");
            Happened::Tampered { what, told: None }
        }));
        Ok(happened)
    }

    /// What somebody did to the issue of the open escalation, and who, where that is known.
    pub(super) async fn unseen_on_the_issue(
        &self,
        open: &Escalation,
        state: &State,
        world: &World,
    ) -> Result<Option<(&'static str, Option<String>)>, Halt> {
        let Some(wanted) = self.notice(state, world) else { return Ok(None) };
        let found = issues::meddled_unseen(open, state, &wanted, &self.repo).await?;
        if let (Some(("deleted", _)), true) = (&found, self.attempt < LAG_TRIES) {
            return Err(Halt::Behind("GitHub does not have the issue of the escalation".to_owned()));
        }
        Ok(found)
    }

    /// Whether a change of which there are no records has had some: then the ledger was taken away, or cut. A server
    /// remembers; here our own comment tells, and the merge checks on the heads that its branch has had.
    pub(super) async fn was_recorded(&self, pull: &Fetched) -> Result<Result<(), Break>, Halt> {
        let change = ChangeNumber(pull.number);
        if self.repo.find_comment(pull.number, &sync::marker(change)?, None).await?.is_some() {
            let says = format!("it and all after it are missing; our own comment on #{} tells of them", pull.number);
            return Ok(Err(Break { seq: 1, kind: BreakKind::CutOff, says }));
        }
        let moves = match pull.is_from_fork() {
            false => self.repo.branch_activity(&pull.head.r#ref).await?.unwrap_or_default(),
            // A fork's branches are not ours to read.
            true => Vec::new(),
        };
        let mut heads: Vec<CommitId> = Vec::new();
        for one in
            moves.iter().flat_map(|one| [&one.after, &one.before]).filter_map(|id| CommitId::new(id.as_str()).ok())
        {
            let is_none = one.as_str().bytes().all(|digit| digit == b'0');
            if !is_none && one != pull.head.sha && !heads.contains(&one) && heads.len() < MOST_HEADS {
                heads.push(one);
            }
        }
        for head in heads {
            let runs = self.repo.check_runs_of(self.app.id, &head).await?;
            if let Some(anchor) = witness::anchors(&runs, self.app.id).of(change) {
                return Ok(Ledger::hold_against(None, anchor));
            }
        }
        Ok(Ok(()))
    }

    /// Changes that somebody else took out of the ledger's index, each with who it was. GitHub keeps who moved a branch, and
    /// nobody can change that. What lies more than 300 appends back is not seen any more.
    pub(super) async fn unlisted(&self) -> Result<BTreeMap<ChangeNumber, String>, Halt> {
        if self.app.remembers() {
            return Ok(BTreeMap::new());
        }
        let key = format!("unlisted:{}", self.branch);
        if let Some(known) = self.memory.recall(&key).await.and_then(|text| serde_json::from_str(&text).ok()) {
            return Ok(known);
        }
        let moves = self.repo.branch_activity(&self.branch).await?.unwrap_or_default();
        let foreign = moves.iter().filter(|one| one.actor.login != self.app.login).take(MOST_FOREIGN);
        let mut unlisted = BTreeMap::new();
        for Activity { before, after, actor, .. } in foreign {
            let (Some(before), Some(after)) = (commit(before), commit(after)) else { continue };
            for path in self.repo.removed_between(&before, &after).await? {
                if let Some(change) = origin::listed(&path) {
                    unlisted.entry(change).or_insert_with(|| actor.login.clone());
                }
            }
        }
        if let Ok(text) = serde_json::to_string(&unlisted) {
            self.memory.keep(&key, &text).await;
        }
        Ok(unlisted)
    }

    /// Tells of a change that counts though the index does not name it.
    pub(super) fn tell_unlisted(&self, who: &str, change: ChangeNumber) {
        self.app.tell(Word::Notice(format!(
            "{who} took {change} out of the index of the ledger's branch {}. What stands against it is taken over all the \
             same. Revert that commit, and let nobody but the App write there.",
            self.branch
        )));
    }
}

/// A commit; none where the branch was made or deleted.
fn commit(id: &str) -> Option<CommitId> {
    CommitId::new(id).ok().filter(|id| id.as_str().bytes().any(|digit| digit != b'0'))
}
