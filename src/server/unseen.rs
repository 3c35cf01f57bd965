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
use crate::github::calls::activity::{Activity, MOST_MOVES};
use crate::github::calls::pulls::Pull as Fetched;
use crate::github::store::GitHubStore;
use crate::ids::{ChangeNumber, CommitId, Digest};
use crate::ledger::escalation::Escalation;
use crate::ledger::{Anchor, Break, BreakKind, Ledger, LedgerError, State, chain};
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
        let owners = self.code_owners(world).await?;
        let Some(wanted) = self.notice(state, world, &owners) else { return Ok(None) };
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
        let moves = self.moves().await?;
        let mut lost = Lost { unseen: moves.unseen, ..Lost::default() };
        for one in moves.read {
            for (number, read) in self.as_it_was(&one).related(change, keys, BTreeSet::new()).await?.read {
                let anchor = read.ok().flatten().as_ref().map(Anchor::newest);
                lost.changes.entry(number).or_default().push((one.clone(), anchor));
            }
        }
        Ok(lost)
    }

    /// The same of one change.
    pub(super) async fn lost_of(&self, change: ChangeNumber) -> Result<Vec<Was>, Halt> {
        let mut all = Vec::new();
        for one in self.moves().await?.read {
            let read = match self.as_it_was(&one).load(change).await {
                Ok(loaded) => loaded.state,
                Err(LedgerError::Broken(_)) => None,
                Err(error) => return Err(error.into()),
            };
            if let Some(state) = &read {
                all.push((one, Some(Anchor::newest(state))));
            }
        }
        Ok(all)
    }

    /// Holds the records of a change against the newest anchor that is known, and against what they were each time that others
    /// moved the ledger's branch. Tells who took some away.
    pub(super) async fn held_against(
        &self,
        change: ChangeNumber,
        state: Option<&State>,
        newest: Option<&Anchor>,
        lost: &[Was],
    ) -> Result<Result<(), Break>, Halt> {
        let mut held = newest.map_or(Ok(()), |anchor| Ledger::hold_against(state, anchor));
        let seq = state.map_or(0, |state| state.seq);
        let mut whole = None;
        for (who, anchor) in lost.iter().filter_map(|(who, anchor)| Some((who, anchor.as_ref()?))) {
            if seq > anchor.seq && whole.is_none() {
                whole = match self.ledger.prove(change).await {
                    Ok(proven) => Some(proven),
                    Err(LedgerError::Broken(broken)) => return Ok(Err(broken)),
                    Err(error) => return Err(error.into()),
                };
            }
            let was = match whole.as_ref().filter(|_| seq > anchor.seq) {
                Some(whole) => chain::hold_against(whole, anchor),
                None => Ledger::hold_against(state, anchor),
            };
            if was.is_err() {
                self.tell_lost(who, change, true);
                held = held.and(was);
                break;
            }
        }
        Ok(held)
    }

    /// The ledger as the App had left it before somebody else moved its branch.
    fn as_it_was(&self, one: &Foreign) -> Ledger {
        let store = GitHubStore::as_it_was(self.repo.clone(), &self.branch, one.before.clone());
        Ledger::new(self.home.id, Arc::new(store), Arc::clone(&self.app.signer), Arc::clone(&self.app.keys))
    }

    /// How others moved the ledger's branch. It is asked once.
    async fn moves(&self) -> Result<Moves, Halt> {
        if self.app.remembers() {
            return Ok(Moves::default());
        }
        let key = format!("foreign:{}", self.branch);
        if let Some(known) = self.memory.recall(&key).await.and_then(|text| serde_json::from_str(&text).ok()) {
            return Ok(known);
        }
        let told = self.repo.name_activity(&self.branch).await?.unwrap_or_default();
        let mut moves = Moves::of(&told, &self.app.login);
        let mut there = Vec::new();
        for one in moves.read {
            if !self.repo.tree_of(&one.before).await.is_err_and(|error| error.is_not_found()) {
                there.push(one);
                continue;
            }
            self.app.tell(Word::Notice(format!(
                "{} the ledger's branch {}, and GitHub does not have {}, where it was, any more. What stood there against \
                 earlier changes is not known.",
                one.did(),
                self.branch,
                one.before
            )));
        }
        moves.read = there;
        if let Ok(text) = serde_json::to_string(&moves) {
            self.memory.keep(&key, &text).await;
        }
        Ok(moves)
    }

    /// Tells who took records away, or out of the index.
    pub(super) fn tell_lost(&self, who: &Foreign, change: ChangeNumber, broken: bool) {
        let (did, branch, was) = (who.did(), &self.branch, &who.before);
        self.app.tell(Word::Notice(match broken {
            true => format!(
                "{did} the ledger's branch {branch}, which was at {was}, and records of {change} are missing since. Bring them \
                 back from there, and see that nobody but Phasegate writes that branch."
            ),
            false => format!(
                "{did} the ledger's branch {branch}, which was at {was}, and its index does not name {change} any more. What \
                 stands against it is taken over all the same. See that nobody but Phasegate writes that branch."
            ),
        }));
    }
}

/// Who moved the ledger's branch, and the newest record of a change that was there then; none where it could not be read there
/// either.
pub(super) type Was = (Foreign, Option<Anchor>);

/// What others' moves took the ledger's branch away from.
#[derive(Default)]
pub(super) struct Lost {
    /// Each change, with the newest such move first.
    pub(super) changes: BTreeMap<ChangeNumber, Vec<Was>>,
    /// There are more moves than are looked into.
    pub(super) unseen: bool,
}

impl Foreign {
    fn did(&self) -> String {
        format!("{} {}", self.by, if self.deleted { "deleted" } else { "moved" })
    }
}

/// How others moved the ledger's branch.
#[derive(Default, Serialize, Deserialize)]
struct Moves {
    /// After these it was not as the App had left it; the newest first.
    read: Vec<Foreign>,
    /// There are more than are looked into.
    unseen: bool,
}

impl Moves {
    /// Of several of their moves in a row the first counts: what they moved on from after it was not the App's. Where the list
    /// ends in the middle of a row, its first is not on it, and nobody knows what that took away.
    fn of(moves: &[Activity], app: &str) -> Self {
        let theirs = |one: &Activity| one.actor.login != app;
        let is_cut = moves.len() >= MOST_MOVES && moves.last().is_some_and(theirs);
        let moves = if is_cut { &moves[..moves.len() - 1] } else { moves };
        let last = |at: usize| moves.get(at + 1).map_or(!is_cut, |one| !theirs(one));
        let after_ours = moves.iter().enumerate().filter(|(at, one)| theirs(one) && last(*at));
        let told = |one: &Activity| {
            let deleted = one.activity_type == "branch_deletion";
            Some(Foreign { before: commit(&one.before)?, by: one.actor.login.clone(), deleted })
        };
        let mut read: Vec<Foreign> = after_ours.filter_map(|(_, one)| told(one)).collect();
        let unseen = is_cut || read.len() > MOST_FOREIGN;
        read.truncate(MOST_FOREIGN);
        Self { read, unseen }
    }
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
            Moves::of(moves, "app").read.into_iter().map(short).collect::<Vec<_>>()
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
        let moves = Moves::of(&many, "app");
        assert_eq!((moves.read.len(), moves.unseen), (MOST_FOREIGN, true), "that there are more is not forgotten");
        let row: Vec<Activity> = (0..MOST_MOVES).map(|_| alternating[2].clone()).collect();
        let cut = Moves::of(&row, "app");
        assert!(cut.unseen && cut.read.is_empty(), "the first of the row is not on the list");
        assert!(!Moves::of(&row[1..], "app").unseen, "the whole list was told");
        let mut ours = row;
        ours[MOST_MOVES - 1] = alternating[1].clone();
        assert!(!Moves::of(&ours, "app").unseen, "the row begins on the list");
    }
}
