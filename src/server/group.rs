//! One look at a merge queue's group: who is in it, what is in it, what ran on it; judge, record with each member, show.
//!
//! The races, and what is done about each:
//! - *the queue's list is older than the group* (replica lag): it is said that it is not known yet, and asked again;
//! - *the group is gone*: its branch tells, and nothing is written on a commit that nobody waits for;
//! - *a member moves on meanwhile*: what is recorded with it makes the group be looked at again, and the other way round.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::memory::Kept;
use super::pass::{LAG_TRIES, anchor_key};
use super::route::{Derived, Follows, Halt, Passes, derived};
use super::{ledger_branch, observe, runs};
use crate::fact::{Event, Fact};
use crate::gate::queue::{self, Content, Group, Listing, Member, Record};
use crate::gate::world::Law;
use crate::github::calls::queue::QueueEntry;
use crate::github::{Error, Repo};
use crate::ids::{ChangeNumber, CommitId, RepoRef};
use crate::inbox::Note;
use crate::ledger::record::{GroupMember, Grouped};
use crate::ledger::{About, Anchor, Body, BreakKind, By, Entry, Ledger, LedgerError, State};
use crate::policy::{Enforce, Policy};
use crate::repo::meaning::{Drift, Sides};
use crate::repo::{Compared, LocalRepo, Mirror, Reader as _, Want, touched};
use crate::surface::group::{self, Shown};
use crate::surface::sync::Memory as _;
use crate::surface::witness;

/// What a group is looked at by.
pub(super) fn fact(group: &Grouped) -> Fact {
    Fact::MergeGroup {
        head: group.head.clone(),
        base: group.base.clone(),
        base_ref: group.base_ref.clone(),
        head_ref: group.head_ref.clone(),
    }
}

fn group_memory(head: &CommitId) -> String {
    format!("group:{head}")
}

fn asked_enough(head: &CommitId) -> String {
    format!("group-asked:{head}")
}

/// The group that is looked at, as the queue tells of it.
struct Told {
    head: CommitId,
    base: CommitId,
    base_ref: String,
    head_ref: String,
}

/// The merge group on a branch of the queue's.
pub(super) fn of(head: &CommitId, branch: &str) -> Option<Fact> {
    let (base_ref, _, base) = queue::named(branch)?;
    Some(Fact::MergeGroup { head: head.clone(), base, base_ref: base_ref.to_owned(), head_ref: branch.to_owned() })
}

impl Passes {
    /// The merge group that something happened on, if it was on one's commit.
    pub(super) async fn group_at(&self, home: &RepoRef, fact: &Fact) -> Option<Fact> {
        let (head, branch) = match fact {
            // A fork may call its branches what it likes.
            Fact::Checks { owner: Some(owner), .. } if !owner.eq_ignore_ascii_case(home.slug.owner()) => return None,
            Fact::Checks { head, branch, .. } => (head, branch.clone()),
            Fact::Button { head, .. } => (head, None),
            _ => return None,
        };
        let branch = match branch.filter(|branch| queue::named(branch).is_some()) {
            Some(branch) => branch,
            None => Kept::new(&self.app.inbox, home.id).recall(&group_memory(head)).await?,
        };
        of(head, &branch)
    }

    pub(super) async fn group(&self, at: &RepoRef, events: &[(String, Event)], attempt: u32) -> Derived {
        let told = events.iter().rev().find_map(|(guid, event)| match &event.fact {
            Fact::MergeGroup { head, base, base_ref, head_ref } => {
                let (head, base) = (head.clone(), base.clone());
                Some((guid, Told { head, base, base_ref: base_ref.clone(), head_ref: head_ref.clone() }))
            }
            _ => None,
        });
        let Some((guid, told)) = told else { return Ok(Follows::default()) };
        let home = &self.at_home(at).await?;
        let repo = self.app.repo(home);
        let mirror = self.app.mirror(home)?;
        let Some(mut read) = observe::law(&mirror, home).await? else { return Ok(Follows::default()) };
        let memory = Kept::new(&self.app.inbox, home.id);
        let seen = memory.recall(&group_memory(&told.head)).await.is_some();
        if repo.branch_head(&told.head_ref).await?.as_ref() != Some(&told.head) {
            if seen || attempt >= LAG_TRIES {
                return Ok(Follows::default());
            }
            return Err(Halt::Again(anyhow::anyhow!("GitHub does not yet have the branch of {}", told.head.short())));
        }
        memory.keep(&group_memory(&told.head), &told.head_ref).await;
        let branch = self.app.ledger_at(ledger_branch::choose(&mut read, home, &repo, &memory).await?);
        let ledger = self.app.ledger(home, &branch);
        let look = Look {
            home,
            repo,
            mirror,
            memory,
            ledger: &ledger,
            law: read.law,
            tip: read.tip,
            app: self.app.id,
            known_as: self.app.known_as(),
            attempt,
            now: self.app.inbox.now(),
            told,
        };
        let server = self.app.hub.endpoint().server().trim_end_matches('/').to_owned();
        let Looked { members, note } = look.once(&server).await?;
        let number = |number: u64| derived(guid, home, number, Fact::Look { number });
        Ok(Follows { deliveries: members.into_iter().filter_map(number).collect(), notes: vec![note] })
    }
}

struct Look<'a> {
    home: &'a RepoRef,
    repo: Repo,
    mirror: Mirror,
    memory: Kept,
    ledger: &'a Ledger,
    law: Law,
    tip: CommitId,
    app: u64,
    known_as: u64,
    attempt: u32,
    now: Timestamp,
    told: Told,
}

/// What a look at a group came to.
struct Looked {
    /// The changes that are to be looked at: something was recorded with them.
    members: BTreeSet<u64>,
    /// That they are, to be noted when they are. What was recorded does not tell: the look that did it may have died.
    note: Note,
}

/// How often recording begins again because another writer was faster.
const MOST_RACES: usize = 5;

impl Look<'_> {
    fn policy(&self) -> Option<&Policy> {
        match &self.law {
            Law::Valid(policy) => Some(policy),
            Law::Invalid(_) => None,
        }
    }

    /// Looks, records, shows.
    async fn once(&self, server: &str) -> Result<Looked, Halt> {
        let Told { head, base, base_ref, head_ref } = &self.told;
        let (listing, entries) = self.listing().await?;
        let mut group = Group {
            law: self.law.clone(),
            app: self.known_as,
            head: head.clone(),
            base_ref: base_ref.clone(),
            listed: listing,
            members: Vec::new(),
            content: Content::Unreadable("nothing was read yet".to_owned()),
            checks: Vec::new(),
            workflow_runs: Default::default(),
            checks_unread: false,
            drift: BTreeMap::new(),
        };
        self.content(&mut group, entries).await?;
        let (listed, unread) = runs::listed(&self.repo, self.app, head).await?;
        let ran = runs::on(&self.repo, &self.memory, head, &listed, self.policy()).await?;
        (group.checks, group.workflow_runs, group.checks_unread) = (ran.checks, ran.workflow_runs, unread);
        let judgement = queue::judge(&group);
        let mut grouped = queue::grouped(&group, base, head_ref, &judgement);
        // Where nobody is known to be in it, it is kept with the one that its branch names.
        if let (true, Some((_, named, _))) = (group.members.is_empty(), queue::named(head_ref)) {
            let known = self.ledger.load(ChangeNumber(named)).await.ok().and_then(|loaded| loaded.state);
            let about = known.and_then(|state| state.subject);
            let member = |about: About| GroupMember { change: ChangeNumber(named), head: about.head };
            grouped.members.extend(about.map(member));
        }
        let recorded = self.record(&grouped).await?;
        let looked = self.looked(&grouped, recorded).await;
        let members: Vec<(u64, CommitId)> =
            group.members.iter().map(|member| (member.number, member.head.clone())).collect();
        let shown = Shown {
            slug: &self.home.slug,
            server,
            default_branch: &self.home.default_branch,
            head,
            members: &members,
            judgement: &judgement,
            observed: self.policy().is_some_and(|policy| policy.enforce == Enforce::Observe),
        };
        group::show(&shown, &listed, &self.repo, self.app).await?;
        match &group.listed {
            Listing::Unknown { why, settled: false } => {
                Err(Halt::Again(anyhow::anyhow!("it is not known who is in {}: {why}", head.short())))
            }
            _ => Ok(looked),
        }
    }

    /// Whom the group's verdict is news to: whoever it was recorded with now, and all of them where nobody was told yet.
    async fn looked(&self, grouped: &Grouped, recorded: Vec<u64>) -> Looked {
        let key = format!("group-told:{}", self.told.head);
        let now = grouped.meaning().to_string();
        let mut members: BTreeSet<u64> = recorded.into_iter().collect();
        if self.memory.recall(&key).await.as_ref() != Some(&now) {
            members.extend(grouped.members.iter().map(|member| member.change.0));
        }
        Looked { members, note: self.memory.note(&key, &now) }
    }

    /// The entries up to the one that this group is for; or why they are not known.
    async fn listing(&self) -> Result<(Listing, Vec<QueueEntry>), Halt> {
        let Told { head, base_ref, head_ref, .. } = &self.told;
        let entries = match self.repo.merge_queue(base_ref).await {
            Ok(entries) => entries,
            Err(Error::Forbidden { .. } | Error::NotFound { .. } | Error::NoEndpoint { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let named = queue::named(head_ref).filter(|(base, ..)| base == base_ref).map(|(_, number, _)| number);
        let why = match (entries, named) {
            (_, None) => format!("its branch, {head_ref}, does not name a member"),
            (None, _) => "the queue's list can't be read".to_owned(),
            (Some(entries), Some(number)) => {
                let entry = entries.iter().find(|entry| entry.number == number);
                let other = entries.iter().find(|entry| entry.group.as_ref() == Some(head));
                match (entry, other) {
                    (Some(entry), Some(other)) if entry == other => {
                        let position = entry.position;
                        let ahead = entries.into_iter().filter(|entry| entry.position <= position).collect();
                        return Ok((Listing::Known, ahead));
                    }
                    (_, Some(other)) => {
                        format!("its branch names #{number}, and the queue has this commit for #{}", other.number)
                    }
                    (Some(_), None) => format!("the queue has another commit for #{number}"),
                    (None, None) => format!("#{number} is not in the queue"),
                }
            }
        };
        let key = asked_enough(head);
        let settled = self.attempt >= LAG_TRIES || self.memory.recall(&key).await.is_some();
        if settled {
            self.memory.keep(&key, "yes").await;
        }
        Ok((Listing::Unknown { why, settled }, Vec::new()))
    }

    /// What is in the group's commit, and who of the queue brings it.
    async fn content(&self, group: &mut Group, entries: Vec<QueueEntry>) -> Result<(), Halt> {
        let Told { head, base, base_ref, .. } = &self.told;
        let fetch = |from: Want, to: &CommitId| {
            let to = Want::Commit(to.clone());
            async move {
                match self.mirror.fetch_change(&from, &to).await {
                    Ok(fetched) => Ok(Ok(fetched)),
                    Err(error @ (crate::repo::Error::Missing(_) | crate::repo::Error::Crosswise)) => {
                        Ok(Err(error.to_string()))
                    }
                    Err(error) => Err(Halt::from(error)),
                }
            }
        };
        let root = match fetch(observe::branch(base_ref), head).await? {
            Ok(fetched) => fetched.merge_base,
            Err(why) => {
                group.content = Content::Unreadable(why);
                None
            }
        };
        let entries = match &root {
            Some(root) => self.not_yet_in(root.clone(), entries).await?,
            None => entries,
        };
        for entry in entries {
            let record = self.state_of(&entry).await?;
            let (mut from, mut files) = (None, Vec::new());
            if let Some(root) = &root
                && let Ok(fetched) = fetch(Want::Commit(root.clone()), &entry.head).await?
                && let Some(at) = fetched.merge_base
            {
                let (at_, to) = (at.clone(), entry.head.clone());
                files = self.mirror.read(move |reader| reader.diff(&at_, &to)).await?;
                from = Some(at);
            }
            group.members.push(Member { number: entry.number, head: entry.head, record, base: from, files });
        }
        let Some(root) = root else { return Ok(()) };
        let stands = fetch(Want::Commit(base.clone()), head).await?;
        if !stands.is_ok_and(|fetched| fetched.merge_base.as_ref() == Some(base)) {
            group.content = Content::Unreadable(format!("it does not stand on {}", base.short()));
            return Ok(());
        }
        if let Some(gone) = group.members.iter().find(|member| member.base.is_none()) {
            group.content = Content::Unreadable(format!("#{} has nothing in common with the base", gone.number));
            return Ok(());
        }
        let heads: Vec<CommitId> = group.members.iter().map(|member| member.head.clone()).collect();
        let (tip, head, policy) = (self.tip.clone(), head.clone(), self.policy().cloned());
        let read = self.mirror.read(move |reader| {
            let content = content(reader, &root, &heads, &head)?;
            let drift = drift(reader, policy.as_ref(), &tip, &root, &head)?;
            Ok((content, drift))
        });
        let (content, drift) = read.await?;
        (group.content, group.drift) = (content, drift);
        Ok(())
    }

    /// Entries whose group is in the base branch already are through, and only not off the list yet.
    async fn not_yet_in(&self, root: CommitId, entries: Vec<QueueEntry>) -> Result<Vec<QueueEntry>, Halt> {
        let kept = self.mirror.read(move |reader| {
            // What is not here is in no history that was fetched.
            let is_in = |group: &CommitId| reader.is_ancestor(group, &root).unwrap_or(false);
            let left = entries.iter().filter(|entry| !entry.group.as_ref().is_some_and(is_in));
            Ok(left.cloned().collect())
        });
        Ok(kept.await?)
    }

    /// What the ledger says of a member, held against the anchors that are known.
    async fn state_of(&self, entry: &QueueEntry) -> Result<Record, Halt> {
        let change = ChangeNumber(entry.number);
        let state = match self.ledger.load(change).await {
            Ok(loaded) => loaded.state,
            Err(LedgerError::Broken(broken)) => return Ok(Record::Broken(broken.to_string())),
            Err(error) => return Err(error.into()),
        };
        let runs = self.repo.check_runs_of(self.app, &entry.head).await?;
        let shown = witness::anchors(&runs, self.app).of(change).cloned();
        let kept = self.memory.recall(&anchor_key(change)).await.and_then(|text| text.parse::<Anchor>().ok());
        let newest = [shown, kept].into_iter().flatten().max_by_key(|anchor| anchor.seq);
        match newest.map_or(Ok(()), |anchor| Ledger::hold_against(state.as_ref(), &anchor)) {
            Ok(()) => Ok(state.map_or(Record::Nothing, |state| Record::State(Box::new(state)))),
            Err(broken) if broken.kind == BreakKind::CutOff && self.attempt < LAG_TRIES => {
                Err(Halt::Again(anyhow::anyhow!("the ledger's answer is older than our last write: {broken}")))
            }
            Err(broken) => Ok(Record::Broken(broken.to_string())),
        }
    }

    /// Records the verdict with each member that is known, where it is news.
    async fn record(&self, grouped: &Grouped) -> Result<Vec<u64>, Halt> {
        let mut recorded = Vec::new();
        for member in &grouped.members {
            if self.record_with(member.change, grouped).await? {
                recorded.push(member.change.0);
            }
        }
        Ok(recorded)
    }

    async fn record_with(&self, change: ChangeNumber, grouped: &Grouped) -> Result<bool, Halt> {
        for _ in 0..MOST_RACES {
            let loaded = match self.ledger.load(change).await {
                Ok(loaded) => loaded,
                Err(LedgerError::Broken(_)) => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            let Some(state) = &loaded.state else { return Ok(false) };
            if state.groups.iter().any(|known| known.same(grouped)) {
                return Ok(false);
            }
            let body = Body::Grouped(Box::new(grouped.clone()));
            let entry = Entry::new(By::Bot, state.subject.clone(), body);
            match self.ledger.append(loaded, self.now, vec![entry]).await {
                Ok(appended) => {
                    let State { change, seq, tip, .. } = &appended.state;
                    let anchor = Anchor { change: *change, seq: *seq, tip: tip.clone() };
                    self.memory.keep(&anchor_key(*change), &anchor.to_string()).await;
                    return Ok(true);
                }
                Err(LedgerError::Moved) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Halt::Again(anyhow::anyhow!("#{} moved on {MOST_RACES} times while its group was recorded", change.0)))
    }
}

fn content(reader: &LocalRepo, root: &CommitId, heads: &[CommitId], head: &CommitId) -> crate::repo::Result<Content> {
    Ok(match reader.merge_and_compare(root, heads, head)? {
        Compared::Differs(paths) if paths.is_empty() => {
            Content::Members { base: root.clone(), files: reader.diff(root, head)? }
        }
        Compared::Differs(paths) => Content::Strange(paths.iter().map(ToString::to_string).collect()),
        Compared::Conflict(head) => Content::Unreadable(format!("{} can't be merged", head.short())),
    })
}

fn drift(
    reader: &LocalRepo,
    policy: Option<&Policy>,
    tip: &CommitId,
    root: &CommitId,
    head: &CommitId,
) -> crate::repo::Result<BTreeMap<String, Drift>> {
    let Some(policy) = policy else { return Ok(BTreeMap::new()) };
    let paths = touched(&reader.diff(root, head)?);
    observe::drift(reader, policy, Sides { tip, base: root, head }, &paths)
}
