//! Brings an escalation's issue to what it is to be, and closes it when the escalation has ended.
//!
//! Every escalation has one issue, known by a hidden marker with the sequence number of the record that opened it. The
//! races, and what is done about each:
//!
//! - *a crash between the issue and the record that names it, or a lost database*: the marker is looked for among our own
//!   issues before one is opened. One of somebody else's that carries it is not ours;
//! - *somebody edits or closes it*: it is put right, as the one comment is. *Somebody deletes it*: another is opened;
//! - *the stop is lifted before the issue was recorded*: what was opened is found by its marker and closed;
//! - *two runs of a workflow open one each*: the first stays, and the other is closed with a word on where to answer;
//! - *somebody writes the marker into another issue of ours*: what is recorded for one escalation is never another's, or one
//!   answer would lift two stops.
//!
//! An incident has its issue in the same way. Nothing waits for it, so it stays closed when somebody closes it.

use serde::{Deserialize, Serialize};

use super::escalation::{LABEL, LABEL_ABOUT, LABEL_COLOR, Notice, closing};
use super::project::Label;
use super::sync::Memory;
use super::{incident, labels};
use crate::engine::Shown;
use crate::github::calls::comments::Marker;
use crate::github::calls::issues::{Issue, IssueChange, IssueState, same_label};
use crate::github::{Error, Repo, Result};
use crate::ids::{ChangeNumber, CommitId, Digest, Person};
use crate::ledger::escalation::{Ending, Escalation};
use crate::ledger::incident::Incident;
use crate::ledger::{Ledger, State};

/// What is remembered of an issue.
#[derive(Serialize, Deserialize)]
struct Kept {
    issue: u64,
    /// The digest of what we wrote.
    print: Digest,
    head: Option<CommitId>,
    content: Option<Digest>,
    since: jiff::Timestamp,
}

/// What became of the issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// It is the one that is recorded.
    Recorded,
    /// It is another one, to be recorded.
    New(u64),
    /// The repository has no issues.
    Disabled,
}

/// Our clock and GitHub's may differ by so much.
const CLOCKS_DIFFER: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

fn key(change: ChangeNumber, id: u64) -> String {
    format!("escalation:{}:{id}", change.0)
}

/// That an issue is one of ours. Losing it costs a repair that comes later, with the next look.
pub fn issue_key(issue: u64) -> String {
    format!("escalation-issue:{issue}")
}

fn done_key(change: ChangeNumber, seq: u64) -> String {
    format!("escalation-ended:{}:{seq}", change.0)
}

const NO_ISSUES: &str = "issues-disabled";

fn marker(change: ChangeNumber, id: u64) -> Result<Marker> {
    Marker::new(&format!("phasegate:escalation:{}:{id}", change.0))
}

fn print(notice: &Notice) -> Digest {
    Digest::of_parts([notice.title.as_str(), notice.body.as_str()])
}

async fn recall(state: &State, open: &Escalation, memory: &dyn Memory) -> Option<Kept> {
    let kept: Kept = serde_json::from_str(&memory.recall(&key(state.change, open.id)).await?).ok()?;
    (Some(kept.issue) == open.issue).then_some(kept)
}

/// Where issues are, and what is known of them.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub repo: &'a Repo,
    pub memory: &'a dyn Memory,
    pub ledger: &'a Ledger,
}

/// What is known when the issue of an escalation is brought up to date.
pub struct Known {
    /// None was ever opened.
    pub fresh: bool,
    /// Somebody did something to it.
    pub changed: bool,
    /// Nobody else shows this change at the same time.
    pub alone: bool,
}

/// Opens the issue of an escalation, or brings it up to date.
pub async fn open(
    state: &State,
    open: &Escalation,
    notice: &Notice,
    known: Known,
    place: Place<'_>,
) -> anyhow::Result<Stands> {
    let Place { repo, memory, .. } = place;
    let marker = marker(state.change, open.id)?;
    let wanted = Notice { title: notice.title.clone(), body: marker.put(&notice.body) };
    let kept = recall(state, open, memory).await;
    let (head, content) = match &state.subject {
        Some(about) => (Some(about.head.clone()), Some(about.content.clone())),
        None => (None, None),
    };
    let untouched = kept.as_ref().filter(|_| !known.changed);
    if untouched.is_some_and(|kept| kept.print == print(&wanted) && kept.head == head && kept.content == content) {
        return Ok(Stands::Recorded);
    }
    let put_right = match (open.issue, untouched) {
        (Some(number), Some(_)) => match edit(repo, number, &IssueChange::of(&wanted)).await? {
            Some(there) => Some(relabel(repo, there, &label()).await?),
            None => None,
        },
        (Some(number), None) => match found(repo.get_issue(number).await)? {
            Some(there) => Some(mend(repo, there, &wanted, &label()).await?),
            None => None,
        },
        (None, _) => None,
    };
    let (stands, written) = match put_right {
        Some(there) => (Stands::Recorded, there),
        None => match found_or_made(state, &wanted, &Sought::escalation(open, &marker), &known, place).await? {
            Some(there) => (Stands::New(there.number), there),
            None => return Ok(Stands::Disabled),
        },
    };
    let since = match kept {
        // The same content of the same head has been shown since before this change of the issue.
        Some(kept) if kept.head == head && kept.content == content && kept.issue == written.number => kept.since,
        _ => written.updated_at.or(written.created_at).unwrap_or(jiff::Timestamp::MAX),
    };
    let kept = Kept { issue: written.number, print: print(&wanted), head, content, since };
    if let Ok(text) = serde_json::to_string(&kept) {
        memory.keep(&key(state.change, open.id), &text).await;
    }
    memory.keep(&issue_key(written.number), &state.change.0.to_string()).await;
    Ok(stands)
}

impl IssueChange {
    fn of(wanted: &Notice) -> Self {
        Self { title: Some(wanted.title.clone()), body: Some(wanted.body.clone()), state: None }
    }
}

fn found<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(there) => Ok(Some(there)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn edit(repo: &Repo, number: u64, change: &IssueChange) -> Result<Option<Issue>> {
    found(repo.update_issue(number, change).await)
}

fn labelled(issue: &Issue, label: &Label) -> bool {
    issue.labels.iter().any(|there| same_label(&there.name, &label.name))
}

fn label() -> Label {
    Label { name: LABEL.to_owned(), color: LABEL_COLOR, description: LABEL_ABOUT }
}

/// Sees to it that it has its label, and that this looks as it is to.
async fn relabel(repo: &Repo, mut there: Issue, label: &Label) -> Result<Issue> {
    if !labelled(&there, label) {
        there.labels = repo.add_labels(there.number, &[&label.name]).await?;
    }
    labels::mend(label, &there.labels, repo).await?;
    Ok(there)
}

/// Writes what differs.
async fn mend(repo: &Repo, there: Issue, wanted: &Notice, label: &Label) -> Result<Issue> {
    let there = relabel(repo, there, label).await?;
    let change = IssueChange {
        title: (there.title != wanted.title).then(|| wanted.title.clone()),
        body: (there.body != wanted.body).then(|| wanted.body.clone()),
        state: (there.state != "open").then_some(IssueState::Open),
    };
    if change == IssueChange::default() { Ok(there) } else { repo.update_issue(there.number, &change).await }
}

/// What an issue is known by.
struct Sought<'a> {
    marker: &'a Marker,
    label: Label,
    /// Since when what it is about is known.
    since: jiff::Timestamp,
    /// The one that is recorded.
    issue: Option<u64>,
    /// What is said in one that was opened beside it.
    instead: fn(u64) -> String,
}

impl<'a> Sought<'a> {
    fn escalation(open: &Escalation, marker: &'a Marker) -> Self {
        let instead =
            |first| format!("This was opened twice in the same moment. The question stands in #{first}; answer there.");
        Self { marker, label: label(), since: open.since, issue: open.issue, instead }
    }

    fn incident(open: &Incident, marker: &'a Marker) -> Self {
        let instead = |first| format!("This was opened twice in the same moment. It is told in #{first}.");
        Self { marker, label: incident::label(), since: open.since, issue: open.issue, instead }
    }
}

/// Our own issue with this marker: from before a crash, from before the memory was lost, or from another run. Whoever can
/// write can put the marker into any issue, so what is another's stays that one's.
async fn find(state: &State, sought: &Sought<'_>, place: Place<'_>) -> anyhow::Result<Option<Issue>> {
    let own = state.change.0.to_string();
    let since = sought.since.checked_sub(CLOCKS_DIFFER).unwrap_or(sought.since);
    for found in place.repo.labelled(sought.marker, &sought.label.name, since).await? {
        let number = found.number;
        let before = state.linked.contains(&number) && sought.issue != Some(number);
        let remembered = place.memory.recall(&issue_key(number)).await.is_some_and(|of| of != own);
        if before || remembered || place.ledger.linked_to(number).await?.is_some_and(|of| of != state.change) {
            continue;
        }
        return Ok(Some(found));
    }
    Ok(None)
}

async fn create(wanted: &Notice, sought: &Sought<'_>, repo: &Repo, memory: &dyn Memory) -> Result<Option<Issue>> {
    let label = &sought.label;
    // Where it failed before, it is asked first: it costs nothing while nothing changed.
    let failed = memory.recall(NO_ISSUES).await.as_deref() == Some("yes");
    if failed && repo.get_repo().await?.has_issues == Some(false) {
        return Ok(None);
    }
    labels::ensure(label, repo, memory).await?;
    match repo.create_issue(&wanted.title, &wanted.body, &[&label.name], sought.marker).await {
        Ok(issue) => {
            if failed {
                memory.keep(NO_ISSUES, "no").await;
            }
            relabel(repo, issue, label).await.map(Some)
        }
        Err(Error::NotFound { .. }) => {
            memory.keep(NO_ISSUES, "yes").await;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Of two issues that were opened at the same moment the first stays. GitHub lets nobody but people delete the other.
async fn first(
    made: Issue,
    wanted: &Notice,
    state: &State,
    sought: &Sought<'_>,
    place: Place<'_>,
) -> anyhow::Result<Issue> {
    let found = find(state, sought, place).await?;
    let Some(first) = found.filter(|first| first.number < made.number) else { return Ok(made) };
    let body = (sought.instead)(first.number);
    let away = IssueChange { body: Some(body), state: Some(IssueState::NotPlanned), ..IssueChange::default() };
    place.repo.update_issue(made.number, &away).await?;
    Ok(mend(place.repo, first, wanted, &sought.label).await?)
}

/// The issue that is there by its marker, or a new one. None: the repository has no issues.
async fn found_or_made(
    state: &State,
    wanted: &Notice,
    sought: &Sought<'_>,
    known: &Known,
    place: Place<'_>,
) -> anyhow::Result<Option<Issue>> {
    let before = if known.fresh { None } else { find(state, sought, place).await? };
    if let Some(there) = before {
        return Ok(Some(mend(place.repo, there, wanted, &sought.label).await?));
    }
    Ok(match create(wanted, sought, place.repo, place.memory).await? {
        Some(there) if known.alone => Some(there),
        Some(there) => Some(first(there, wanted, state, sought, place).await?),
        None => None,
    })
}

/// Closes the issues of escalations that have ended, each with one last comment. `since`: the newest record of before
/// this pass; what opened and ended after it never had an issue.
pub async fn close(state: &State, since: u64, place: Place<'_>) -> anyhow::Result<()> {
    let Place { repo, memory, .. } = place;
    for one in &state.escalated {
        let Some(end) = &one.ended else { continue };
        let done = done_key(state.change, end.seq);
        if memory.recall(&done).await.is_some() {
            continue;
        }
        let issue = match one.issue {
            Some(number) => found(repo.get_issue(number).await)?,
            None if one.id > since => None,
            None => find(state, &Sought::escalation(one, &marker(state.change, one.id)?), place).await?,
        };
        // Somebody may have closed it a moment earlier; what was decided is said all the same.
        if let Some(issue) = issue {
            let marker = Marker::new(&format!("phasegate:escalation-end:{}:{}", state.change.0, end.seq))?;
            if repo.find_comment(issue.number, &marker, None).await?.is_none() {
                repo.create_comment(issue.number, &closing(state, one, end), &marker).await?;
            }
            if issue.state == "open" {
                let as_done = matches!(end.how, Ending::Lifted | Ending::Rescoped | Ending::Replanned);
                let closed = if as_done { IssueState::Completed } else { IssueState::NotPlanned };
                repo.update_issue(issue.number, &IssueChange { state: Some(closed), ..IssueChange::default() }).await?;
            }
            // Should the same stop stand again, what is there is read first.
            memory.keep(&key(state.change, one.id), "closed").await;
        }
        memory.keep(&done, "yes").await;
    }
    Ok(())
}

/// What somebody did to the issue, as far as it is not put right already.
pub async fn meddled(
    open: &Escalation,
    state: &State,
    repo: &Repo,
    memory: &dyn Memory,
) -> Result<Option<&'static str>> {
    let Some(number) = open.issue else { return Ok(None) };
    let kept = recall(state, open, memory).await;
    let Some(there) = found(repo.get_issue(number).await)? else { return Ok(Some("deleted")) };
    let same = kept.is_none_or(|kept| kept.print == Digest::of_parts([there.title.as_str(), there.body.as_str()]));
    Ok(match same {
        _ if there.state != "open" => Some("closed"),
        false => Some("edited"),
        true if !labelled(&there, &label()) => Some("took the label off"),
        true => None,
    })
}

/// The same where nothing is remembered and nobody told: what it is to be, by the records, tells. And who, where that is
/// known.
pub async fn meddled_unseen(
    open: &Escalation,
    state: &State,
    wanted: &Notice,
    repo: &Repo,
) -> Result<Option<(&'static str, Option<String>)>> {
    let Some(number) = open.issue else { return Ok(None) };
    let Some(there) = found(repo.get_issue(number).await)? else { return Ok(Some(("deleted", None))) };
    if there.state != "open" {
        return Ok(Some(("closed", None)));
    }
    if there.title != wanted.title {
        return Ok(Some(("edited", repo.edited_by_another(&there.node_id).await?)));
    }
    // It may only be older than what it is to be by now.
    if there.body != marker(state.change, open.id)?.put(&wanted.body)
        && let Some(who) = repo.edited_by_another(&there.node_id).await?
    {
        return Ok(Some(("edited", Some(who))));
    }
    Ok((!labelled(&there, &label())).then_some(("took the label off", None)))
}

/// The head that the issue shows, and since when. Where it is not remembered: as long as the content is what it was when
/// the stop came, the issue has shown it from its beginning; then it says so itself, from when we wrote it there.
pub async fn shown(open: &Escalation, state: &State, repo: &Repo, memory: &dyn Memory) -> Result<Option<Shown>> {
    let Some(number) = open.issue else { return Ok(None) };
    if let Some(kept) = recall(state, open, memory).await {
        return Ok(kept.head.map(|head| Shown { head, content: kept.content, since: kept.since, files: None }));
    }
    let (Some(about), Some(now)) = (&open.about, &state.subject) else { return Ok(None) };
    let Some(there) = found(repo.get_issue(number).await)? else { return Ok(None) };
    if about != now {
        let named = there.body.rsplit("Head `").next().and_then(|rest| rest.split('`').next());
        let edit = repo.last_edit(&there.node_id).await?.filter(|edit| edit.another.is_none());
        let (Some(edit), true) = (edit, named == Some(now.head.short())) else { return Ok(None) };
        return Ok(Some(Shown { head: now.head.clone(), content: None, since: edit.at, files: None }));
    }
    let (head, content) = (about.head.clone(), Some(about.content.clone()));
    Ok(there.created_at.map(|since| Shown { head, content, since, files: None }))
}

/// What became of the issue of an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It is open, as it is recorded.
    Open,
    /// It is another one, to be recorded.
    New(u64),
    /// Somebody has closed it: they, where GitHub tells.
    Closed(Option<Person>),
    /// The repository has no issues.
    Disabled,
}

/// Opens the issue of an incident, or looks whether somebody has closed it. One that is deleted is opened anew: nobody has
/// taken note of it by that.
pub async fn tell(
    state: &State,
    open: &Incident,
    notice: &Notice,
    known: Known,
    place: Place<'_>,
) -> anyhow::Result<Told> {
    let marker = Marker::new(&format!("phasegate:incident:{}:{}", state.change.0, open.id))?;
    let sought = Sought::incident(open, &marker);
    let wanted = Notice { title: notice.title.clone(), body: marker.put(&notice.body) };
    let own = state.change.0.to_string();
    if let Some(number) = open.issue {
        if !known.changed && place.memory.recall(&issue_key(number)).await.as_ref() == Some(&own) {
            return Ok(Told::Open);
        }
        if let Some(there) = found(place.repo.get_issue(number).await)? {
            if there.state != "open" {
                return Ok(Told::Closed(there.closed_by));
            }
            mend(place.repo, there, &wanted, &sought.label).await?;
            place.memory.keep(&issue_key(number), &own).await;
            return Ok(Told::Open);
        }
    }
    let Some(there) = found_or_made(state, &wanted, &sought, &known, place).await? else { return Ok(Told::Disabled) };
    place.memory.keep(&issue_key(there.number), &own).await;
    Ok(Told::New(there.number))
}
