//! Other changes of the same work: what stands against them is taken over, and who rests on a change is told when it stands
//! differently.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::hands::is_gone;
use super::observe::{self, MadeOf};
use super::pass::{LAG_TRIES, Pass};
use super::route::Halt;
use super::unseen::Was;
use crate::fact::{Event, Fact, PullEvent};
use crate::gate::world::{Subject, World};
use crate::gate::{Finding, GateName, Verdict, only_waiting};
use crate::github::Error;
use crate::github::calls::checks::CheckRun as Listed;
use crate::github::calls::pulls::Pull as Fetched;
use crate::ids::{ChangeNumber, CommitId, Digest};
use crate::inbox::Note;
use crate::ledger::against::Against;
use crate::ledger::origin::{self, Same};
use crate::ledger::record::Grouped;
use crate::ledger::{Anchor, Anchors, Body, Break, BreakKind, Entry, State};
use crate::repo::{Landed, Want};
use crate::surface::sync::Memory as _;
use crate::surface::witness;

/// So many keys of a change are asked for at once; there are three for each head.
const MOST_KEYS: usize = 1_500;

/// So many commits are fetched at a time to see what they brought.
const MOST_FETCHED: usize = 20;

/// So many others are looked at without asking which of them are open.
const MOST_KIN: usize = 20;
/// So many keys of a change are looked up in the memory: head, branch, patch and its newest commits.
const MOST_REMEMBERED: usize = 100;

/// Other changes of the same work.
#[derive(Default)]
struct Related {
    /// Those that hand down.
    states: Vec<State>,
    /// Those whose records can't be proved, or are not all there.
    broken: BTreeSet<ChangeNumber>,
    /// How many more there are than can be read.
    unread: usize,
    /// Others have moved the ledger's branch more often than is looked into.
    unseen_moves: bool,
}

/// What GitHub has of another change's anchor.
enum Asked {
    Anchor(Anchor),
    None,
    /// There is no such pull request, so there never were records.
    NoPull,
}

impl Asked {
    fn anchor(self) -> Option<Anchor> {
        match self {
            Self::Anchor(anchor) => Some(anchor),
            _ => None,
        }
    }
}

fn kin_key(key: &Digest) -> String {
    format!("kin:{key}")
}

/// The keys by which a change can be found after these are recorded.
pub(super) fn keys_of(entries: &[Entry]) -> Vec<Digest> {
    let of = |entry: &Entry| match (&entry.body, &entry.about) {
        (Body::Subject { origin: Some(origin), .. }, Some(about)) => origin.keys(&about.head),
        _ => Vec::new(),
    };
    entries.iter().flat_map(of).map(|(_, key)| key).collect()
}

/// What others rest on and stands differently now.
#[derive(Default)]
pub(super) struct Moved {
    /// The heads whose other pull requests are to be looked at.
    pub(super) heads: BTreeSet<CommitId>,
    /// The merge groups that the change is in.
    pub(super) groups: Vec<Grouped>,
    /// Other changes of the same work, against which something stands now.
    pub(super) kin: BTreeSet<ChangeNumber>,
    /// That they were told, to be noted when they are: a look that dies before has told nobody.
    pub(super) told: Option<Note>,
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
    /// How bad it is: whoever shares its check may have worse to say now.
    #[serde(default)]
    bad: u8,
    /// What stands against it, in short.
    against: Digest,
}

/// From nothing at all to something that does not pass by waiting.
fn how_bad(findings: &[Finding]) -> u8 {
    let blocking = || findings.iter().filter(|finding| finding.blocks());
    match blocking().next() {
        None => 0,
        Some(_) if blocking().all(|finding| finding.rule == "MRG-10") => 1,
        Some(_) if only_waiting(findings) => 2,
        Some(_) => 3,
    }
}

impl Told {
    fn of(state: &State) -> Self {
        let Against { fails, blocks, stops, cheats, .. } = &state.against;
        let against = (fails, blocks, stops, &state.rejections, &state.objectors, cheats);
        let judged = state.gates.get(&GateName::Merge);
        Self {
            seq: state.seq,
            head: state.subject.as_ref().map(|about| about.head.clone()),
            verdict: judged.map(|judged| judged.verdict),
            bad: judged.map_or(0, |judged| how_bad(&judged.findings)),
            against: Digest::of(serde_json::to_vec(&against).unwrap_or_default()),
        }
    }

    fn nothing_against(state: &State) -> bool {
        let against = &state.against;
        against.fails.is_empty()
            && against.blocks.is_empty()
            && against.stops.is_empty()
            && against.cheats.is_empty()
            && state.rejections.is_empty()
            && state.objectors.is_empty()
    }
}

/// Where the work of another change was merged: green, and as it was merged it is among the commits here; or into the base.
pub(super) fn landed(other: &State, subject: &Subject, base_ref: &str) -> Option<Landed> {
    let merged = other.merged.as_ref().filter(|_| origin::is_merged(other, base_ref))?;
    let tip = subject.base_tip.clone();
    let came = other.merged_green() && subject.commits.contains(&merged.commit);
    Some(Landed { at: if came { merged.commit.clone() } else { tip.clone() }, tip })
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
        let news = told
            .as_ref()
            .is_none_or(|told| told.verdict != now.verdict || told.bad != now.bad || told.head != now.head);
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
        out.told = serde_json::to_string(&now).ok().map(|now| self.memory.note(&key, &now));
        Ok(out)
    }

    /// The other changes of the same work: those that had a head, a patch or a branch of its, and the open ones that are
    /// built on its head.
    async fn kin(&self, state: &State) -> Result<BTreeSet<ChangeNumber>, Halt> {
        let keys: Vec<Digest> = state.origins.iter().take(MOST_KEYS).cloned().collect();
        let mut kin = self.ledger.sharing(state.change, &keys).await?;
        for key in keys.iter().take(MOST_REMEMBERED) {
            kin.extend(self.remembered(key).await);
        }
        if kin.len() > MOST_KIN {
            // Only who is open has anything to take over.
            let open = self.repo.list_open_pulls(None).await?;
            let open: BTreeSet<ChangeNumber> = open.iter().map(|pull| ChangeNumber(pull.number)).collect();
            kin.retain(|number| open.contains(number));
        }
        if let Some(about) = &state.subject {
            let upon = self.repo.pulls_for_commit(&about.head).await?;
            kin.extend(upon.iter().filter(|other| other.is_open()).map(|other| ChangeNumber(other.number)));
        }
        kin.remove(&state.change);
        Ok(kin)
    }

    /// Other changes of the same work. They are looked for with each new head, and again before anything turns or stays
    /// green: what stood against them may be news. After the first head its branch is its own; what is pushed to it may
    /// still be somebody else's work. Another that is open with this very head is its rival (`MRG-10`), not its past: those
    /// are returned.
    pub(super) async fn relate(
        &self,
        pull: &Fetched,
        listed: &[Listed],
        world: &mut World,
        state: Option<&State>,
    ) -> Result<Vec<Fetched>, Halt> {
        let begun = state.filter(|state| state.subject.is_some());
        if world.subject.is_none() || !pull.is_open() {
            return Ok(Vec::new());
        }
        let made = self.made_of(world).await?;
        let mut commits = Vec::new();
        if let Some(subject) = &mut world.subject {
            made.into_subject(subject);
            commits.clone_from(&subject.commits);
        }
        let mut keys = world.origin().keys(&pull.head.sha);
        keys.retain(|(same, _)| begun.is_none() || *same != Same::Branch);
        let others = commits.iter().filter(|commit| **commit != pull.head.sha).cloned().collect::<Vec<_>>();
        keys.extend(origin::commit_keys(&others));
        let related = self.related(pull, listed, &keys, world).await?;
        let rival =
            |other: &State| other.open && other.subject.as_ref().is_some_and(|about| about.head == pull.head.sha);
        let mut twins = Vec::new();
        for other in related.states {
            let open = match begun.is_some() && rival(&other) {
                true => self.open_at(other.change, &pull.head.sha).await?,
                false => None,
            };
            match open {
                Some(open) => twins.push(open),
                None => world.earlier.push(other),
            }
        }
        (world.broken, world.unread) = (related.broken, related.unread);
        world.unseen_moves = related.unseen_moves;
        if let Some(state) = begun {
            world.landed = self.landed(pull, state, world).await?;
        }
        self.hold_inherited(world, state).await?;
        Ok(twins)
    }

    /// A pull request if it is open with this head, whatever its records say: nobody may have been told that it was closed.
    async fn open_at(&self, number: ChangeNumber, head: &CommitId) -> Result<Option<Fetched>, Halt> {
        match self.repo.get_pull(number.0).await {
            Ok(other) => Ok(Some(other).filter(|other| other.is_open() && other.head.sha == *head)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The other changes of the same work, each held against what is known of its length: that the newest records of a
    /// change are missing, or all of them with what names it, does not show on the ledger itself.
    async fn related(
        &self,
        pull: &Fetched,
        listed: &[Listed],
        keys: &[(Same, Digest)],
        world: &World,
    ) -> Result<Related, Halt> {
        let shown = witness::anchors(listed, self.app.id);
        let mut known: BTreeSet<ChangeNumber> = shown.changes().collect();
        for (_, key) in keys.iter().take(MOST_REMEMBERED) {
            known.extend(self.remembered(key).await);
        }
        let only: Vec<Digest> = keys.iter().map(|(_, key)| key.clone()).collect();
        let lost = self.lost(ChangeNumber(pull.number), &only).await?;
        known.extend(lost.changes.keys());
        let listed = match lost.changes.is_empty() {
            true => BTreeSet::new(),
            false => self.ledger.sharing(ChangeNumber(pull.number), &only).await?,
        };
        let found = self.ledger.related(ChangeNumber(pull.number), &only, known).await?;
        let (mut related, lawful) = (
            Related { unread: found.unread, unseen_moves: lost.unseen, ..Related::default() },
            self.policy().is_some(),
        );
        for (number, read) in found.read {
            let was = lost.changes.get(&number).map_or(&[][..], Vec::as_slice);
            let held = match read {
                Ok(state) => self.held(number, state, &shown, was).await?,
                Err(broken) => {
                    if let Some((who, _)) = was.first() {
                        self.tell_lost(who, number, true);
                    }
                    Err(broken)
                }
            };
            match held {
                Ok(Some(state)) => {
                    let spent = self.is_spent_here(&state, world).await?;
                    if origin::hands_down(&state, keys, &pull.base.r#ref, spent) {
                        if let Some((who, _)) = was.first().filter(|_| !listed.contains(&number)) {
                            self.tell_lost(who, number, false);
                        }
                        related.states.push(state);
                    }
                }
                Ok(None) => {}
                Err(broken) if broken.kind == BreakKind::CutOff && self.attempt < LAG_TRIES && lawful => {
                    return Err(Halt::Again(anyhow::anyhow!(
                        "the ledger's answer on {number} is older than our last write: {broken}"
                    )));
                }
                Err(broken) => {
                    tracing::warn!(%number, %broken, "an earlier change can't be read");
                    related.broken.insert(number);
                }
            }
        }
        Ok(related)
    }

    /// Whether another change was merged, and nothing of its commits that are in this one is only here.
    async fn is_spent_here(&self, other: &State, world: &World) -> Result<bool, Halt> {
        let Some(subject) = &world.subject else { return Ok(false) };
        let Some(landed) = landed(other, subject, &world.pull.base_ref) else { return Ok(false) };
        let theirs = subject.commits.iter().filter(|commit| other.origins.contains(&origin::head_key(commit)));
        self.is_spent(theirs.cloned().collect(), &subject.about.head, &landed).await
    }

    /// Whether nothing of what these commits brought is at a head and not where they landed. What is not at hand is fetched;
    /// what can't be had is not seen to be so.
    pub(super) async fn is_spent(
        &self,
        commits: Vec<CommitId>,
        head: &CommitId,
        landed: &Landed,
    ) -> Result<bool, Halt> {
        let ask = || {
            let (commits, head, landed) = (commits.clone(), head.clone(), landed.clone());
            self.mirror.read(move |reader| Ok(landed.has_all(reader, &commits, &head).ok()))
        };
        if let Some(known) = ask().await? {
            return Ok(known);
        }
        self.fetch_beside(&commits, std::slice::from_ref(&landed.tip)).await?;
        Ok(ask().await? == Some(true))
    }

    /// Fetches commits that were not at hand, with what lies between them and these tips, as far as they can be had.
    pub(super) async fn fetch_beside<'c>(
        &self,
        commits: impl IntoIterator<Item = &'c CommitId>,
        tips: &[CommitId],
    ) -> Result<(), Halt> {
        for commit in commits.into_iter().take(MOST_FETCHED).cloned().map(Want::Commit) {
            for tip in tips.iter().cloned().map(Want::Commit) {
                match self.mirror.fetch_change(&tip, &commit).await {
                    Err(error) if is_gone(&error) || self.attempt >= LAG_TRIES => {}
                    fetched => drop(fetched.map_err(anyhow::Error::from)?),
                }
            }
        }
        Ok(())
    }

    /// What the records of another change add up to, if they are all there. None: there is no such change.
    async fn held(
        &self,
        number: ChangeNumber,
        state: Option<State>,
        shown: &Anchors,
        was: &[Was],
    ) -> Result<Result<Option<State>, Break>, Halt> {
        let kept = self.kept_anchor(number).await;
        // What was merged hands down nothing that came after it.
        let asked = match kept.is_none() && state.as_ref().is_none_or(|state| state.merged.is_none()) {
            true => self.asked_anchor(number).await?,
            false => Asked::None,
        };
        let forged = state.is_none() && matches!(asked, Asked::NoPull) && shown.of(number).is_none();
        let newest = [shown.of(number).cloned(), kept, asked.anchor()];
        let newest = newest.into_iter().flatten().max_by_key(|anchor| anchor.seq);
        if let Err(broken) = self.held_against(number, state.as_ref(), newest.as_ref(), was).await? {
            return Ok(Err(broken));
        }
        let says = || "it and all after it are missing; the index names the change".to_owned();
        match state {
            None if !forged => Ok(Err(Break { seq: 1, kind: BreakKind::CutOff, says: says() })),
            state => Ok(Ok(state)),
        }
    }

    /// The anchor on the merge check of another change, of which the memory knows none: it may have been lost. It is asked
    /// for once.
    async fn asked_anchor(&self, number: ChangeNumber) -> Result<Asked, Halt> {
        const NO_PULL: &str = "no pull request";
        let key = format!("witness:{}", number.0);
        if let Some(told) = self.memory.recall(&key).await {
            let none = if told == NO_PULL { Asked::NoPull } else { Asked::None };
            return Ok(told.parse().map_or(none, Asked::Anchor));
        }
        let found = match self.repo.get_pull(number.0).await {
            Ok(other) => {
                let runs = self.repo.check_runs_of(self.app.id, &other.head.sha).await?;
                witness::anchors(&runs, self.app.id).of(number).cloned().map_or(Asked::None, Asked::Anchor)
            }
            Err(Error::NotFound { .. }) => Asked::NoPull,
            Err(error) => return Err(error.into()),
        };
        let told = match &found {
            Asked::Anchor(anchor) => anchor.to_string(),
            Asked::None => "none".to_owned(),
            Asked::NoPull => NO_PULL.to_owned(),
        };
        self.memory.keep(&key, &told).await;
        Ok(found)
    }

    /// The changes that were recorded with this key, as far as it is remembered.
    async fn remembered(&self, key: &Digest) -> BTreeSet<ChangeNumber> {
        let known = self.memory.recall(&kin_key(key)).await.unwrap_or_default();
        known.split(' ').filter_map(|number| number.parse().ok()).map(ChangeNumber).collect()
    }

    /// Keeps which change was recorded with these keys: the index says so too, where others can write.
    pub(super) async fn remember_kin(&self, change: ChangeNumber, keys: &[Digest]) {
        for key in keys {
            let mut known = self.remembered(key).await;
            if known.insert(change) {
                let numbers: Vec<String> = known.iter().map(|number| number.0.to_string()).collect();
                self.memory.keep(&kin_key(key), &numbers.join(" ")).await;
            }
        }
    }

    /// The changes that it was related to by their commits, and that were merged, so that nothing of those commits is only
    /// here; each with whether it was green. That they are not here any more is not enough: what is pushed away can be pushed
    /// back, and what was merged may be something else than what came here.
    async fn landed(&self, pull: &Fetched, state: &State, world: &World) -> Result<BTreeMap<ChangeNumber, bool>, Halt> {
        let Some(subject) = &world.subject else { return Ok(BTreeMap::new()) };
        let by_commits = |from: ChangeNumber| -> Option<Vec<CommitId>> {
            let all = state.inherited.iter().filter(|taken| taken.from == from);
            all.map(|taken| taken.within.clone()).collect()
        };
        let known: BTreeSet<ChangeNumber> = state.inherited.iter().map(|taken| taken.from).collect();
        let mut all = BTreeMap::new();
        // What hands down in this very look has something here; the two questions must not answer each other for ever.
        let hands_down = |from: &ChangeNumber| world.earlier.iter().any(|other| other.change == *from);
        for from in known.difference(&state.released).copied().filter(|from| !hands_down(from)) {
            let Some(commits) = by_commits(from) else { continue };
            let other = self.ledger.load(from).await.ok().and_then(|loaded| loaded.state);
            let Some(other) = other else { continue };
            let Some(landed) = landed(&other, subject, &pull.base.r#ref) else { continue };
            if self.is_spent(commits, &pull.head.sha, &landed).await? {
                all.insert(from, other.merged_green());
            }
        }
        Ok(all)
    }

    /// The patch and the commits of what is there. They cost a diff of every line, so they are kept for as long as head and
    /// base stay.
    async fn made_of(&self, world: &World) -> Result<MadeOf, Halt> {
        let Some(subject) = &world.subject else { return Ok(MadeOf::default()) };
        let key = format!("made-of:{}", world.pull.number);
        let of = format!("{}..{}", subject.about.base, subject.about.head);
        let kept = self.memory.recall(&key).await;
        let kept = kept.and_then(|kept| serde_json::from_str::<(String, MadeOf)>(&kept).ok());
        if let Some((_, made)) = kept.filter(|(known, _)| *known == of) {
            return Ok(made);
        }
        let made = match MadeOf::of(subject) {
            Some(made) => made,
            None => observe::made_of_again(&self.mirror, &subject.about.base, &subject.about.head).await?,
        };
        if let Ok(kept) = serde_json::to_string(&(&of, &made)) {
            self.memory.keep(&key, &kept).await;
        }
        Ok(made)
    }
}
