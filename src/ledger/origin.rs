//! By what a new pull request is known as the continuation of an earlier change, and what it takes over.
//!
//! Closing a pull request and opening another with the same work must shake off nothing that stood against it. What
//! tells that it is the same work: the head commit, also where it is now among the commits of another; the branch; the
//! patch. Each is a key; under the key the ledger keeps, in the commit that has the records, a file a change (`origins/…/42`), so
//! that nobody's entry is written over. The files only find a change. What it is and hands down stands in its signed
//! records, and taking over only ever makes things tighter: a forged file grants nothing. One that is missing is made good by
//! what the bot remembers and by the anchors on the merge check, as far as those go.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::against::{Counted, Mark, raise, rejection_key, review_key};
use super::findings::Held;
use super::heal::Caught;
use super::memory::Handed;
use super::objection::Rejection;
use super::record::{By, Moment};
use super::state::{Frozen, Red, State, Stop};
use crate::finding::{GateName, Verdict, quoted};
use crate::flow::pipeline::{waits_for_human, words};
use crate::flow::{Phase, Stage};
use crate::ids::{ChangeNumber, CommitId, Digest, Person, RepoId};

/// Where the content of a change comes from, beside its head.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// None when the repository that had it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// The patch id of what is between base and head, whatever commits it is made of. None where it is not known, or
    /// as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    pub repo: RepoId,
    pub name: String,
}

/// In what a pull request is the same as an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    Head,
    Branch,
    Patch,
    /// One of its commits was a head.
    Commit,
}

pub fn head_key(head: &CommitId) -> Digest {
    Digest::of_parts(["head", head.as_str()])
}

fn patch_key(patch: &Digest) -> Digest {
    Digest::of_parts(["patch", patch.as_str()])
}

/// The keys of the commits that a change is made of.
pub fn commit_keys(commits: &[CommitId]) -> impl Iterator<Item = (Same, Digest)> {
    commits.iter().map(|commit| (Same::Commit, head_key(commit)))
}

impl Origin {
    /// The keys that a change with this head is found by.
    pub fn keys(&self, head: &CommitId) -> Vec<(Same, Digest)> {
        let mut keys = vec![(Same::Head, head_key(head))];
        if let Some(branch) = &self.branch {
            keys.push((Same::Branch, Digest::of_parts(["branch", &branch.repo.0.to_string(), &branch.name])));
        }
        keys.extend(self.patch.as_ref().map(|patch| (Same::Patch, patch_key(patch))));
        keys
    }
}

/// The folder of a key: in it a file for each change that had it, named by its number.
pub fn folder(key: &Digest) -> String {
    let (shard, rest) = key.as_str().split_at(2);
    format!("origins/{shard}/{rest}")
}

/// Whether the work of a change was merged into this base, or elsewhere with nothing against it.
pub fn is_merged(earlier: &State, base_ref: &str) -> bool {
    let there = earlier.subject.as_ref().is_some_and(|about| about.base_ref == base_ref);
    (there && earlier.merged.is_some()) || earlier.merged_green()
}

/// Whether another change, by its own records, has one of these keys and hands down by it to one that goes into this base.
/// A branch whose work was merged is free for other work, and so is what is built on its commits, while nothing of those is
/// only here (`spent`).
pub fn hands_down(earlier: &State, keys: &[(Same, Digest)], base_ref: &str, spent: bool) -> bool {
    let is_merged = is_merged(earlier, base_ref);
    let counts = |same: Same| match same {
        Same::Head | Same::Patch => true,
        Same::Branch => !is_merged,
        Same::Commit => !is_merged || !spent,
    };
    keys.iter().any(|(same, key)| earlier.origins.contains(key) && counts(*same))
}

/// The newest reds are taken over; there are as many heads as somebody likes to push.
const MOST_REDS: usize = 100;

/// What a change takes over from another one of the same work. Only what it does not have yet: it is looked for again and
/// again, because the other one may go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inherited {
    pub from: ChangeNumber,
    /// The commit of its that is among the commits here, where it is known by that alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<CommitId>,
    /// It was let go, and is here again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub back: bool,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub operators: BTreeSet<Person>,
    /// FAILs of each gate.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fails: BTreeMap<Phase, BTreeSet<Mark>>,
    /// What was counted as one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<Phase, Counted>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub previews: BTreeMap<Phase, u32>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reds_at_pass: BTreeMap<Phase, u32>,
    /// Confirmed cheats.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub cheats: BTreeSet<Caught>,
    /// What verdicts have left undone.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub left: BTreeSet<String>,
    /// A stage that only a person leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejections: Vec<Rejection>,
    /// Reviews that asked for changes there, were taken over, and have been taken back there by their givers.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub withdrawn: BTreeSet<u64>,
    /// What reviewers found there and nobody has settled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Held>,
    /// Check runs on the head that were first seen with this content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Ran>,
    /// Jobs that ended red.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reds: BTreeSet<Red>,
    /// What is frozen there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Frozen>,
    /// What its commits have asked a person, and was asked there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub raised: BTreeSet<Digest>,
    /// Its slice, where that failed more often in a row, or owes an audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Handed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub stage: Stage,
    pub return_to: Option<Stage>,
    /// The records that brought it there.
    pub at: BTreeSet<Mark>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    pub stop: Stop,
    pub at: BTreeSet<Mark>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    pub run: u64,
    pub content: Digest,
}

/// What is there of the change that takes over.
pub struct Now<'a> {
    pub base_ref: &'a str,
    pub head: &'a CommitId,
    pub patch: Option<&'a Digest>,
    /// Its commits, as far as they were looked at.
    pub commits: &'a [CommitId],
    /// The check runs on its head.
    pub runs: &'a BTreeSet<u64>,
}

impl Now<'_> {
    fn has(&self, other: &State, commit: &CommitId) -> bool {
        other.origins.contains(&head_key(commit))
    }

    fn same_patch(&self, other: &State) -> bool {
        self.patch.is_some_and(|patch| other.origins.contains(&patch_key(patch)))
    }

    /// The newest commit of its that is in this one, if there is nothing else by which the two are the same.
    fn within(&self, other: &State) -> Option<CommitId> {
        if self.has(other, self.head) || self.same_patch(other) {
            return None;
        }
        self.commits.iter().find(|commit| self.has(other, commit)).cloned()
    }

    /// What of the other one stays frozen here, where nothing is yet: its commits or its patch are here, and so is its proof.
    /// Work that only has its branch's name begins anew, and what was merged is the base's.
    pub fn freeze<'o>(&self, other: &'o State, heir: Option<&State>) -> Option<&'o Frozen> {
        let shares = self.has(other, self.head)
            || self.same_patch(other)
            || self.commits.iter().any(|commit| self.has(other, commit));
        let free = heir.is_none_or(|heir| heir.frozen.is_none() && !heir.released.contains(&other.change));
        other.frozen.as_ref().filter(|_| shares && free && other.merged.is_none())
    }

    /// Whether those who worked on the other one have a hand in what is new here: its head or one of its commits is here
    /// now, or the same patch is. Who brings the same patch somewhere else later has none in what was here before. For
    /// another target, what was in the base before is new.
    fn brings_people(&self, other: &State, heir: &State) -> bool {
        let elsewhere = heir.subject.as_ref().is_some_and(|about| about.base_ref != self.base_ref);
        // What was let go, and counts again, comes back.
        let back = heir.released.contains(&other.change);
        let new = elsewhere || back || !heir.heads.contains_key(self.head);
        let patch = self.same_patch(other) && self.patch.is_some_and(|patch| !heir.origins.contains(&patch_key(patch)));
        new && (patch || self.has(other, self.head) || self.commits.iter().any(|commit| self.has(other, commit)))
    }
}

impl Inherited {
    /// What this change, with these check runs on its head and going into `base_ref`, takes over from one of the related
    /// ones. None: nothing.
    pub fn of(earlier: &State, heir: &State, related: &[State], now: &Now<'_>) -> Option<Self> {
        let Now { base_ref, runs, .. } = now;
        // A run before the base was a change of its own is taken as it comes; one that went stale under the same base
        // does not become fresh by a new number.
        let same_base = earlier.subject.as_ref().is_some_and(|about| about.base_ref == *base_ref);
        let before = || heir.inherited.iter();
        let mut counted = earlier.against.counted.clone();
        let mut rejections = handed_down(earlier, &mut counted);
        // Each is taken once: whoever gave it may have lifted it here since.
        let taken = |one: &Rejection| before().flat_map(|taken| &taken.rejections).any(|old| old.is_again(one));
        rejections.retain(|one| one.on != Some(heir.change) && !taken(one));
        let withdrawn = heir.rejections.iter().filter(|one| one.standing && one.on == Some(earlier.change));
        let withdrawn = withdrawn.filter_map(|one| one.review).filter(|review| earlier.withdrawn.contains(review));
        let has =
            |phase: &Phase, thing: &str| heir.against.counted.get(phase).and_then(|mine| mine.get(thing)).copied();
        for (phase, things) in &mut counted {
            things.retain(|thing, times| has(phase, thing) < Some(*times));
        }
        counted.retain(|_, things| !things.is_empty());
        let (previews, reds_at_pass) = reds_of(earlier, heir, related).unwrap_or_default();
        let inherited = Self {
            from: earlier.change,
            within: now.within(earlier),
            back: false,
            operators: match now.brings_people(earlier, heir) {
                true => people(earlier, heir, related),
                false => BTreeSet::new(),
            },
            fails: open_fails(earlier, heir, related),
            counted,
            previews,
            reds_at_pass,
            cheats: earlier
                .against
                .cheats
                .difference(&heir.against.cheats)
                .filter(|one| one.mark.change != heir.change)
                .cloned()
                .collect(),
            left: earlier.against.left.difference(&heir.against.left).cloned().collect(),
            blocked: blocked(earlier, heir, related),
            stopped: stopped(earlier, heir, related),
            rejections,
            withdrawn: withdrawn.collect(),
            findings: earlier.findings.handed_down(earlier.change, &heir.findings),
            runs: earlier
                .ran_for
                .iter()
                .filter(|(run, _)| same_base && runs.contains(run) && !heir.ran_for.contains_key(run))
                .map(|(run, content)| Ran { run: *run, content: content.clone() })
                .collect(),
            reds: earlier
                .reds
                .iter()
                .rev()
                .take(MOST_REDS)
                .filter(|red| !heir.reds.contains(red) && !before().any(|taken| taken.reds.contains(red)))
                .cloned()
                .collect(),
            frozen: now.freeze(earlier, Some(heir)).cloned(),
            raised: earlier.raised.difference(&heir.raised).cloned().collect(),
            slice: slice_of(earlier, heir, related),
        };
        let inherited =
            Self { back: heir.released.contains(&earlier.change) && now.brings_people(earlier, heir), ..inherited };
        let nothing = Self { from: earlier.change, within: inherited.within.clone(), ..Self::nothing() };
        (inherited != nothing).then_some(inherited)
    }

    fn nothing() -> Self {
        Self {
            from: ChangeNumber(0),
            within: None,
            back: false,
            operators: BTreeSet::new(),
            fails: BTreeMap::new(),
            counted: BTreeMap::new(),
            previews: BTreeMap::new(),
            reds_at_pass: BTreeMap::new(),
            cheats: BTreeSet::new(),
            left: BTreeSet::new(),
            blocked: None,
            stopped: None,
            rejections: Vec::new(),
            withdrawn: BTreeSet::new(),
            findings: Vec::new(),
            runs: Vec::new(),
            reds: BTreeSet::new(),
            frozen: None,
            raised: BTreeSet::new(),
            slice: None,
        }
    }

    /// This and what was taken over from the same change later.
    #[must_use]
    pub fn and(mut self, later: &Self) -> Self {
        self.operators.extend(later.operators.iter().cloned());
        for (phase, marks) in &later.fails {
            self.fails.entry(*phase).or_default().extend(marks);
        }
        raise(&mut self.previews, &later.previews);
        raise(&mut self.reds_at_pass, &later.reds_at_pass);
        self.cheats.extend(later.cheats.iter().cloned());
        self.left.extend(later.left.iter().cloned());
        self.blocked = later.blocked.clone().or(self.blocked);
        self.stopped = later.stopped.clone().or(self.stopped);
        self.frozen = later.frozen.clone().or(self.frozen);
        self.slice = later.slice.clone().or(self.slice);
        let over = |one: &Rejection| later.withdrawn.iter().any(|review| one.review == Some(*review));
        self.rejections.retain(|one| !over(one) && !later.rejections.iter().any(|newer| newer.renews(one)));
        self.rejections.extend(later.rejections.iter().cloned());
        self.findings.extend(later.findings.iter().cloned());
        self.raised.extend(later.raised.iter().cloned());
        self
    }

    /// What was taken over, in a few words each.
    pub fn says(&self) -> Vec<String> {
        let mut says = Vec::new();
        says.extend(self.fails.iter().map(|(phase, fails)| match fails.len() {
            1 => format!("1 FAIL at {phase}"),
            fails => format!("{fails} FAILs at {phase}"),
        }));
        let reds = self.previews.iter().chain(&self.reds_at_pass).filter(|(_, reds)| **reds > 0);
        says.extend(reds.map(|(phase, reds)| match reds {
            1 => format!("1 red push at {phase}"),
            reds => format!("{reds} red pushes at {phase}"),
        }));
        says.extend((!self.cheats.is_empty()).then(|| match self.cheats.len() {
            1 => "1 confirmed cheat".to_owned(),
            cheats => format!("{cheats} confirmed cheats"),
        }));
        says.extend(self.blocked.as_ref().map(|blocked| format!("it waits for a person ({})", words(blocked.stage))));
        says.extend(self.stopped.as_ref().map(|at| format!("it is stopped ({})", quoted(&at.stop.reason))));
        says.extend(self.rejections.iter().filter_map(|rejection| match &rejection.by {
            By::Person { person, .. } => Some(format!("{} is against this content", person.login)),
            By::Bot | By::Workflow(_) | By::Runner(_) => None,
        }));
        says.extend(self.findings.iter().map(|held| format!("{}'s finding {} is open", held.by.login, held.key())));
        says.extend(self.frozen.as_ref().map(|frozen| format!("{} files are frozen", frozen.files)));
        let owed = self.slice.as_ref().filter(|slice| slice.audit.is_some());
        says.extend(owed.map(|slice| format!("an audit of {} is owed", slice.slice_id)));
        if !self.operators.is_empty() {
            let logins: Vec<&str> = self.operators.iter().map(|person| person.login.as_str()).collect();
            says.push(format!("{} worked on it", logins.join(", ")));
        }
        says
    }
}

/// Those who worked on it, whoever else brings them along too: when one of two ways is gone, the other is still there. Whom
/// it has from another related change is that one's to bring.
fn people(earlier: &State, heir: &State, related: &[State]) -> BTreeSet<Person> {
    let direct = |from: ChangeNumber| from == heir.change || related.iter().any(|one| one.change == from);
    let through =
        earlier.inherited.iter().filter(|taken| !earlier.released.contains(&taken.from) && !direct(taken.from));
    let mut people: BTreeSet<Person> = through.flat_map(|taken| taken.operators.iter().cloned()).collect();
    people.extend(earlier.own.iter().cloned());
    // Who was let go comes back with what comes back.
    let taken =
        heir.inherited.iter().filter(|taken| taken.from == earlier.change && !heir.released.contains(&taken.from));
    let taken = taken.flat_map(|taken| &taken.operators);
    for known in heir.own.iter().chain(taken) {
        people.remove(known);
    }
    // Of whom nobody knows who it is, nobody is brought along: whoever brings the work here answers for it.
    people.retain(|one| !one.is_unknown());
    people
}

/// FAILs that neither it nor any other change of the same work has settled.
fn open_fails(earlier: &State, heir: &State, related: &[State]) -> BTreeMap<Phase, BTreeSet<Mark>> {
    let mut open = BTreeMap::new();
    for (phase, marks) in &earlier.against.fails {
        let known = heir.against.fails.get(phase);
        let news = marks.iter().copied().filter(|mark| {
            let settled = related.iter().chain([heir]).any(|one| one.against.has_settled(*phase, *mark));
            !settled && mark.change != heir.change && known.is_none_or(|known| !known.contains(mark))
        });
        let news: BTreeSet<Mark> = news.collect();
        if !news.is_empty() {
            open.insert(*phase, news);
        }
    }
    open
}

/// Those that no person has lifted, under whatever number, and that it does not know.
fn unlifted(marks: &BTreeSet<Mark>, known: &BTreeSet<Mark>, heir: &State, related: &[State]) -> BTreeSet<Mark> {
    let lifted = |mark: &Mark| related.iter().chain([heir]).any(|one| one.against.has_lifted(*mark));
    marks.difference(known).copied().filter(|mark| mark.change != heir.change && !lifted(mark)).collect()
}

fn blocked(earlier: &State, heir: &State, related: &[State]) -> Option<Blocked> {
    let at = unlifted(&earlier.against.blocks, &heir.against.blocks, heir, related);
    let pipeline = earlier.pipeline.as_ref().filter(|pipeline| waits_for_human(pipeline.stage) && !at.is_empty())?;
    Some(Blocked { stage: pipeline.stage, return_to: pipeline.return_to, at })
}

fn stopped(earlier: &State, heir: &State, related: &[State]) -> Option<Stopped> {
    let at = unlifted(&earlier.against.stops, &heir.against.stops, heir, related);
    let stop = earlier.stopped.clone().filter(|_| !at.is_empty())?;
    Some(Stopped { stop, at })
}

/// The row of FAILs of its slice. What was taken over once is not taken again: it may have ended here since.
fn slice_of(earlier: &State, heir: &State, related: &[State]) -> Option<Handed> {
    let handed = earlier.hands_down_slice(heir.memory.as_ref())?;
    let taken = |by: &State| {
        let mut from = by.inherited.iter().filter(|taken| taken.from == earlier.change);
        from.any(|taken| taken.slice.as_ref() == Some(&handed))
    };
    (!related.iter().chain([heir]).any(taken)).then_some(handed)
}

type Reds = (BTreeMap<Phase, u32>, BTreeMap<Phase, u32>);

/// Red pushes, where they are more than its own. Somebody may have looked at them since they were taken over, by it or
/// by another change of the same work: then they are not taken again.
fn reds_of(earlier: &State, heir: &State, related: &[State]) -> Option<Reds> {
    let reds = (earlier.previews.clone(), earlier.reds_at_pass.clone());
    let taken = |by: &State| {
        let mut from = by.inherited.iter().filter(|taken| taken.from == earlier.change);
        from.any(|taken| (&taken.previews, &taken.reds_at_pass) == (&reds.0, &reds.1))
    };
    if related.iter().chain([heir]).any(taken) {
        return None;
    }
    let more = |theirs: &BTreeMap<Phase, u32>, mine: &BTreeMap<Phase, u32>| {
        theirs.iter().any(|(phase, count)| mine.get(phase) < Some(count))
    };
    (more(&reds.0, &heir.previews) || more(&reds.1, &heir.reds_at_pass)).then_some(reds)
}

/// Its rejections, and the reviews that ask for changes: those belong to their pull request, where they stand for whatever
/// is pushed, and for the next one they are a rejection that does. One that was counted is counted for the next as well.
fn handed_down(earlier: &State, counted: &mut BTreeMap<Phase, Counted>) -> Vec<Rejection> {
    let from = |rejection: &Rejection| rejection.on.or(Some(earlier.change));
    let mut all: Vec<Rejection> =
        earlier.rejections.iter().map(|one| Rejection { on: from(one), ..one.clone() }).collect();
    for objector in earlier.objectors.values() {
        let By::Person { person, .. } = &objector.by else { continue };
        let rejection = Rejection {
            by: objector.by.clone(),
            content: Digest::of(""),
            reason: format!("asked for changes on {}", earlier.change),
            standing: true,
            on: Some(earlier.change),
            review: objector.review,
            said: objector.at.map(|at| Moment { at, comment: 0 }),
        };
        let (review, told) = (review_key(person.id, objector.review), rejection_key(&rejection, earlier.change));
        for things in counted.values_mut() {
            if let Some(times) = things.get(&review).copied() {
                things.insert(told.clone(), times);
            }
        }
        all.push(rejection);
    }
    all
}

impl State {
    /// Whether it was merged with nothing against it. (Into a branch that the policy does not cover nothing is green, and
    /// nobody is held back either.)
    pub fn merged_green(&self) -> bool {
        let green = self.gates.get(&GateName::Merge).is_some_and(|judged| judged.verdict == Verdict::Pass);
        green && self.merged.as_ref().is_some_and(|merged| merged.bypassed.is_empty())
    }

    /// Takes over what stands against another change of the same work. Nothing in here makes anything looser, but that a
    /// reviewer has approved there what they had asked to be changed there.
    pub(super) fn inherit(&mut self, taken: &Inherited, seq: u64) {
        if taken.back && self.released.remove(&taken.from) {
            let before: Vec<Inherited> = self.inherited.iter().filter(|one| one.from == taken.from).cloned().collect();
            self.operators.extend(before.iter().flat_map(|one| one.operators.clone()));
            for one in before.into_iter().flat_map(|one| one.rejections) {
                if !self.rejections.iter().any(|own| own.is_again(&one)) {
                    self.rejections.push(one);
                }
            }
        }
        self.operators.extend(taken.operators.iter().cloned());
        raise(&mut self.previews, &taken.previews);
        raise(&mut self.reds_at_pass, &taken.reds_at_pass);
        self.against.cheats.extend(taken.cheats.iter().cloned());
        self.against.left.extend(taken.left.iter().cloned());
        if let Some(Stopped { stop, at }) = &taken.stopped {
            self.stop(stop.clone().on(taken.from));
            self.against.stops.extend(at);
        }
        for rejection in &taken.rejections {
            if !self.rejections.iter().any(|own| own.is_again(rejection)) {
                self.rejections.retain(|own| !rejection.renews(own));
                self.rejections.push(rejection.clone());
            }
        }
        self.rejections
            .retain(|one| !one.standing || one.review.is_none_or(|review| !taken.withdrawn.contains(&review)));
        self.findings.take_over(&taken.findings);
        for ran in &taken.runs {
            self.ran_for.entry(ran.run).or_insert_with(|| ran.content.clone());
        }
        self.reds.extend(taken.reds.iter().cloned());
        self.raised.extend(taken.raised.iter().cloned());
        if self.frozen.is_none() {
            self.frozen.clone_from(&taken.frozen);
        }
        for (phase, things) in &taken.counted {
            self.against.count(*phase, things);
        }
        for (phase, marks) in &taken.fails {
            self.against.fails.entry(*phase).or_default().extend(marks);
        }
        if let Some(blocked) = &taken.blocked {
            self.against.blocks.extend(&blocked.at);
            if let Some(pipeline) = self.pipeline.as_mut().filter(|pipeline| !waits_for_human(pipeline.stage)) {
                pipeline.stage = blocked.stage;
                pipeline.return_to = blocked.return_to;
            }
        }
        self.hold(seq);
        self.inherited.push(taken.clone());
    }
}
