//! What nobody told a run of, and what it reads for itself.
//!
//! A server hears of each edit, and remembers what it wrote and listed. A run remembers nothing, and the one that was started
//! for an edit may have been cancelled while it waited behind another: the next would put things right without a word.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::once::Word;
use super::pass::{LAG_TRIES, Pass};
use super::route::Halt;
use crate::engine::Happened;
use crate::fact::{Event, Fact};
use crate::gate::world::World;
use crate::github::calls::activity::Activity;
use crate::github::calls::pulls::Pull as Fetched;
use crate::github::store::GitHubStore;
use crate::ids::{ChangeNumber, CommitId, Digest};
use crate::ledger::escalation::Escalation;
use crate::ledger::{Anchor, Break, BreakKind, Ledger, LedgerError, State};
use crate::surface::sync::{self, Memory as _};
use crate::surface::{issues, witness};

/// So many of the heads that a branch has had are asked for our checks.
const MOST_HEADS: usize = 5;

/// So many times that others moved the ledger's branch are looked into, the newest first.
const MOST_FOREIGN: usize = 20;

/// Somebody else moved the ledger's branch on from what the App had made of it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Foreign {
    /// Where it was.
    before: CommitId,
    by: String,
    /// They deleted it.
    deleted: bool,
}

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

    /// What the records of other changes with one of these keys were when somebody else moved the ledger's branch: by a commit,
    /// by moving it back, or by deleting it. GitHub keeps who moved a branch and from where, and nobody can change that. What
    /// lies more than 300 appends back is not seen any more.
    pub(super) async fn lost(&self, change: ChangeNumber, keys: &[Digest]) -> Result<Lost, Halt> {
        let mut lost = Lost::default();
        for (one, was) in self.as_it_was(&mut lost.unread).await? {
            for (number, read) in was.related(change, keys, BTreeSet::new()).await?.read {
                lost.add(number, &one, read.ok().flatten().as_ref());
            }
        }
        Ok(lost)
    }

    /// The same of one change.
    pub(super) async fn lost_of(&self, change: ChangeNumber) -> Result<Option<(Foreign, Anchor)>, Halt> {
        let mut lost = Lost::default();
        for (one, was) in self.as_it_was(&mut 0).await? {
            let read = match was.load(change).await {
                Ok(loaded) => loaded.state,
                Err(LedgerError::Broken(_)) => None,
                Err(error) => return Err(error.into()),
            };
            if let Some(state) = &read {
                lost.add(change, &one, Some(state));
            }
        }
        Ok(lost.changes.remove(&change).and_then(|(by, anchor)| Some((by, anchor?))))
    }

    /// The ledger as the App had left it, each time that somebody else moved its branch.
    async fn as_it_was(&self, unread: &mut usize) -> Result<Vec<(Foreign, Ledger)>, Halt> {
        let (foreign, more) = self.foreign().await?;
        *unread = more;
        if more > 0 {
            self.app.tell(Word::Notice(format!(
                "Others than the App have moved the ledger's branch {} more than {MOST_FOREIGN} times, and further back it is \
                 not looked. Let nobody but the App write that branch.",
                self.branch
            )));
        }
        let mut all = Vec::new();
        for one in foreign {
            if self.repo.tree_of(&one.before).await.is_err_and(|error| error.is_not_found()) {
                self.app.tell(Word::Notice(format!(
                    "{} the ledger's branch {}, and GitHub does not have {}, where it was, any more. What stood there against \
                     earlier changes is not known.",
                    one.did(),
                    self.branch,
                    one.before
                )));
                continue;
            }
            let store = GitHubStore::as_it_was(self.repo.clone(), &self.branch, one.before.clone());
            let ledger =
                Ledger::new(self.home.id, Arc::new(store), Arc::clone(&self.app.signer), Arc::clone(&self.app.keys));
            all.push((one, ledger));
        }
        Ok(all)
    }

    /// Where the App's ledger was each time that somebody else moved its branch, and how many more times there are. Of several
    /// of their moves in a row the first counts: what they moved on from after it was not the App's.
    async fn foreign(&self) -> Result<(Vec<Foreign>, usize), Halt> {
        if self.app.remembers() {
            return Ok((Vec::new(), 0));
        }
        let key = format!("foreign:{}", self.branch);
        if let Some(known) = self.memory.recall(&key).await.and_then(|text| serde_json::from_str(&text).ok()) {
            return Ok(known);
        }
        let moves = self.repo.name_activity(&self.branch).await?.unwrap_or_default();
        let found = foreign(&moves, &self.app.login);
        if let Ok(text) = serde_json::to_string(&found) {
            self.memory.keep(&key, &text).await;
        }
        Ok(found)
    }

    /// Tells who took records away, or out of the index.
    pub(super) fn tell_lost(&self, who: &Foreign, change: ChangeNumber, broken: bool) {
        let (did, branch, was) = (who.did(), &self.branch, &who.before);
        self.app.tell(Word::Notice(match broken {
            true => format!(
                "{did} the ledger's branch {branch}, which was at {was}, and records of {change} are missing since. Bring them \
                 back from there, and let nobody but the App write that branch."
            ),
            false => format!(
                "{did} the ledger's branch {branch}, which was at {was}, and its index does not name {change} any more. What \
                 stands against it is taken over all the same. Let nobody but the App write that branch."
            ),
        }));
    }
}

/// What others' moves took the ledger's branch away from.
#[derive(Default)]
pub(super) struct Lost {
    /// Each change with who moved it last, and the newest record that was there; none where it could not be read there either.
    pub(super) changes: BTreeMap<ChangeNumber, (Foreign, Option<Anchor>)>,
    /// How many moves are not looked into.
    pub(super) unread: usize,
}

impl Lost {
    fn add(&mut self, change: ChangeNumber, by: &Foreign, state: Option<&State>) {
        let anchor = state.map(Anchor::newest);
        let seq = |anchor: &Option<Anchor>| anchor.as_ref().map(|anchor| anchor.seq);
        let (who, newest) = self.changes.entry(change).or_insert_with(|| (by.clone(), None));
        if seq(&anchor) > seq(newest) {
            (*who, *newest) = (by.clone(), anchor);
        }
    }
}

impl Foreign {
    fn did(&self) -> String {
        format!("{} {}", self.by, if self.deleted { "deleted" } else { "moved" })
    }
}

/// Those moves, newest first, after which the branch was not as the App had left it; and how many more there are.
fn foreign(moves: &[Activity], app: &str) -> (Vec<Foreign>, usize) {
    let theirs = |one: &Activity| one.actor.login != app;
    let after_ours = moves.iter().enumerate().filter(|(at, one)| theirs(one) && !moves.get(at + 1).is_some_and(theirs));
    let told = |one: &Activity| {
        let deleted = one.activity_type == "branch_deletion";
        Some(Foreign { before: commit(&one.before)?, by: one.actor.login.clone(), deleted })
    };
    let mut all: Vec<Foreign> = after_ours.filter_map(|(_, one)| told(one)).collect();
    let more = all.len().saturating_sub(MOST_FOREIGN);
    all.truncate(MOST_FOREIGN);
    (all, more)
}

/// A commit; none where the branch was made or deleted.
fn commit(id: &str) -> Option<CommitId> {
    CommitId::new(id).ok().filter(|id| id.as_str().bytes().any(|digit| digit != b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Person;

    #[test]
    fn of_moves_by_others_the_first_counts() {
        let moved = |by: &str, kind: &str, before: &str| Activity {
            before: before.repeat(40),
            after: "f".repeat(40),
            activity_type: kind.to_owned(),
            actor: Person { id: 1, login: by.to_owned(), bot: false },
            timestamp: jiff::Timestamp::UNIX_EPOCH,
        };
        let told = |moves: &[Activity]| {
            let short = |one: Foreign| (one.before.short()[..1].to_owned(), one.by, one.deleted);
            foreign(moves, "app").0.into_iter().map(short).collect::<Vec<_>>()
        };
        let one = |at: &str, by: &str, deleted| (at.to_owned(), by.to_owned(), deleted);
        let deleted = [
            moved("app", "push", "4"),
            moved("app", "branch_creation", "0"),
            moved("eve", "branch_deletion", "3"),
            moved("eve", "push", "2"),
            moved("app", "push", "1"),
            moved("app", "branch_creation", "0"),
        ];
        assert_eq!(told(&deleted), [one("2", "eve", false)], "what eve deleted is what she had made of it");
        let plain = [deleted[2].clone(), deleted[4].clone()];
        assert_eq!(told(&plain), [one("3", "eve", true)]);
        let alternating = [moved("eve", "push", "5"), moved("app", "push", "4"), moved("bob", "force_push", "3")];
        assert_eq!(told(&alternating), [one("5", "eve", false), one("3", "bob", false)]);
        assert!(told(&[moved("bob", "branch_creation", "0")]).is_empty(), "there was none before");
        let many: Vec<Activity> = (0..=MOST_FOREIGN).flat_map(|_| alternating[1..].to_vec()).collect();
        let (read, more) = foreign(&many, "app");
        assert_eq!((read.len(), more), (MOST_FOREIGN, 1), "that there are more is not forgotten");
    }
}
