//! Other changes of the same work: what stands against them is taken over, and who rests on a change is told when it stands
//! differently.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::observe::{self, MadeOf};
use super::pass::Pass;
use super::route::Halt;
use crate::fact::{Event, Fact, PullEvent};
use crate::gate::world::World;
use crate::gate::{GateName, Verdict};
use crate::github::calls::pulls::Pull as Fetched;
use crate::ids::{ChangeNumber, CommitId, Digest};
use crate::ledger::State;
use crate::ledger::origin::{self, Same};
use crate::ledger::record::Grouped;
use crate::surface::sync::Memory as _;

/// So many keys of a change are asked for at once; there are three for each head.
const MOST_KEYS: usize = 1_500;

/// What others rest on and stands differently now.
#[derive(Default)]
pub(super) struct Moved {
    /// The heads whose other pull requests are to be looked at.
    pub(super) heads: BTreeSet<CommitId>,
    /// The merge groups that the change is in.
    pub(super) groups: Vec<Grouped>,
    /// Other changes of the same work, against which something stands now.
    pub(super) kin: BTreeSet<ChangeNumber>,
}

/// Events after which other pull requests with the same head may stand differently.
fn moves_heads(event: &Event) -> bool {
    use PullEvent as P;
    let Fact::Pull { what, .. } = &event.fact else { return false };
    matches!(what, P::Opened | P::Reopened | P::Closed | P::Synchronize | P::Edited)
}

/// What others were last told of a change.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    seq: u64,
    head: Option<CommitId>,
    verdict: Option<Verdict>,
    /// What stands against it, in short.
    against: Digest,
}

impl Told {
    fn of(state: &State) -> Self {
        let against =
            (&state.against.fails, &state.against.blocks, &state.against.stops, &state.rejections, &state.objectors);
        Self {
            seq: state.seq,
            head: state.subject.as_ref().map(|about| about.head.clone()),
            verdict: state.gates.get(&GateName::Merge).map(|judged| judged.verdict),
            against: Digest::of(serde_json::to_vec(&against).unwrap_or_default()),
        }
    }

    fn nothing_against(state: &State) -> bool {
        let against = &state.against;
        against.fails.is_empty()
            && against.blocks.is_empty()
            && against.stops.is_empty()
            && state.rejections.is_empty()
            && state.objectors.is_empty()
    }
}

impl Pass<'_> {
    /// What others rest on and stands differently than when they were last told. That is remembered, not taken from the
    /// records: the look that made them may have failed after it, or been another process.
    pub(super) async fn moved(&self, pull: &Fetched, state: &State, events: &[(String, Event)]) -> Result<Moved, Halt> {
        let key = format!("told:{}", pull.number);
        let told = self.memory.recall(&key).await.and_then(|kept| serde_json::from_str::<Told>(&kept).ok());
        let now = Told::of(state);
        if told.as_ref() == Some(&now) && !events.iter().any(|(_, event)| moves_heads(event)) {
            return Ok(Moved::default());
        }
        let mut out = Moved::default();
        let news = told.as_ref().is_none_or(|told| told.verdict != now.verdict || told.head != now.head);
        if news || events.iter().any(|(_, event)| moves_heads(event)) {
            let last = told.as_ref().and_then(|told| told.head.clone());
            out.heads = [Some(pull.head.sha.clone()), last].into_iter().flatten().collect();
        }
        if told.as_ref().is_none_or(|told| told.seq != now.seq) && state.merged.is_none() {
            let heads = [told.as_ref().and_then(|told| told.head.clone()), now.head.clone()];
            let is_in = |group: &&Grouped| heads.iter().flatten().any(|head| group.has(state.change, head));
            out.groups = state.groups.iter().filter(is_in).cloned().collect();
        }
        let harmless = Told::nothing_against(state);
        if told.as_ref().map_or(!harmless, |told| told.against != now.against) {
            out.kin = self.kin(state).await?;
        }
        if let Ok(now) = serde_json::to_string(&now) {
            self.memory.keep(&key, &now).await;
        }
        Ok(out)
    }

    /// The other changes of the same work: those that had a head, a patch or a branch of its, and the open ones that are
    /// built on its head.
    async fn kin(&self, state: &State) -> Result<BTreeSet<ChangeNumber>, Halt> {
        let keys: Vec<Digest> = state.origins.iter().take(MOST_KEYS).cloned().collect();
        let mut kin = self.ledger.sharing(state.change, &keys).await?;
        if let Some(about) = &state.subject {
            let upon = self.repo.pulls_for_commit(&about.head).await?;
            kin.extend(upon.iter().filter(|other| other.is_open()).map(|other| ChangeNumber(other.number)));
        }
        kin.remove(&state.change);
        Ok(kin)
    }

    /// Other changes of the same work. They are looked for with each new head, and again before anything turns or stays
    /// green: what stood against them may be news. After the first head its branch is its own; what is pushed to it may
    /// still be somebody else's work. Another that is open with this very head is its rival (`MRG-10`), not its past.
    pub(super) async fn relate(&self, pull: &Fetched, world: &mut World, state: Option<&State>) -> Result<(), Halt> {
        let begun = state.filter(|state| state.subject.is_some());
        if world.subject.is_none() || !pull.is_open() {
            return Ok(());
        }
        let (patch, commits) = self.made_of(world).await?;
        if let Some(subject) = &mut world.subject {
            (subject.patch, subject.commits) = (patch, commits.clone());
        }
        let mut keys = world.origin().keys(&pull.head.sha);
        keys.retain(|(same, _)| begun.is_none() || *same != Same::Branch);
        let others = commits.iter().filter(|commit| **commit != pull.head.sha).cloned().collect::<Vec<_>>();
        keys.extend(origin::commit_keys(&others));
        let found = self.ledger.earlier(ChangeNumber(pull.number), &keys, &pull.base.r#ref).await?;
        let rival =
            |other: &State| other.open && other.subject.as_ref().is_some_and(|about| about.head == pull.head.sha);
        world.earlier = found.states.into_iter().filter(|other| begun.is_none() || !rival(other)).collect();
        world.broken = found.broken;
        if let Some(state) = begun {
            world.landed = self.landed(pull, state, &commits).await?;
        }
        Ok(())
    }

    /// The changes that it was related to by commits which are not in it any more, because they were merged into its base.
    /// That they are not in it is not enough: what is pushed away can be pushed back.
    async fn landed(
        &self,
        pull: &Fetched,
        state: &State,
        commits: &[CommitId],
    ) -> Result<BTreeSet<ChangeNumber>, Halt> {
        let gone = |commit: &CommitId| pull.head.sha != *commit && !commits.contains(commit);
        let by_commits = |from: ChangeNumber| {
            let mut all = state.inherited.iter().filter(|taken| taken.from == from);
            all.all(|taken| taken.within.as_ref().is_some_and(gone))
        };
        let known: BTreeSet<ChangeNumber> = state.inherited.iter().map(|taken| taken.from).collect();
        let mut landed = BTreeSet::new();
        for from in known.difference(&state.released).copied().filter(|from| by_commits(*from)) {
            let other = self.ledger.load(from).await.ok().and_then(|loaded| loaded.state);
            let here = |other: &State| other.subject.as_ref().is_some_and(|about| about.base_ref == pull.base.r#ref);
            if other.is_some_and(|other| other.merged.is_some() && here(&other)) {
                landed.insert(from);
            }
        }
        Ok(landed)
    }

    /// The patch and the commits of what is there. They cost a diff of every line, so they are kept for as long as head and
    /// base stay.
    async fn made_of(&self, world: &World) -> Result<MadeOf, Halt> {
        let Some(subject) = &world.subject else { return Ok((None, Vec::new())) };
        let key = format!("made-of:{}", world.pull.number);
        let of = format!("{}..{}", subject.about.base, subject.about.head);
        let kept = self.memory.recall(&key).await;
        let kept = kept.and_then(|kept| serde_json::from_str::<(String, MadeOf)>(&kept).ok());
        if let Some((_, made)) = kept.filter(|(known, _)| *known == of) {
            return Ok(made);
        }
        let made = match (&subject.patch, subject.commits.as_slice()) {
            (None, []) => observe::made_of_again(&self.mirror, &subject.about.base, &subject.about.head).await?,
            (patch, commits) => (patch.clone(), commits.to_vec()),
        };
        if let Ok(kept) = serde_json::to_string(&(&of, &made)) {
            self.memory.keep(&key, &kept).await;
        }
        Ok(made)
    }
}
