//! Brings GitHub to what the projection says, writing only where it differs.
//!
//! Every write can be repeated: a check run carries its key in `external_id`, a comment carries a hidden marker, a
//! reaction and a label are the same however often they are set. The [`Memory`] only saves calls and may be thrown
//! away at any time: what it does not know is looked up.
//!
//! The order is there for the races: a head that was superseded loses its green first, so that pushing back to it
//! finds nothing to merge on; the merge check comes last, when everything it rests on is shown.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::witness::{self, Witness, carried, speaks_for};
use super::{Check, Conclusion, Surface};
use crate::engine::Shown;
use crate::gate::merge::CHECK_NAME;
use crate::github::calls::checks::{
    Annotation, Buttons, CheckRun, Conclusion as Concluded, Level, Report, RunButton, Standing, Status, Verdict,
};
use crate::github::calls::comments::{IssueComment, Marker, Reaction};
use crate::github::calls::issues::Label;
use crate::github::{Error, Repo, Result};
use crate::ids::{ChangeNumber, CommitId, Digest};
use crate::ledger::face::OnFace;
use crate::ledger::{Anchor, Anchors, State};

/// A small store of what was written where. Losing it costs calls, never correctness.
#[async_trait]
pub trait Memory: Send + Sync {
    async fn recall(&self, key: &str) -> Option<String>;
    async fn keep(&self, key: &str, value: &str);
}

/// What is on GitHub now, as far as it has been read for this pass.
pub struct Present<'a> {
    pub repo: &'a Repo,
    pub memory: &'a dyn Memory,
    /// This App's id.
    pub app: u64,
    /// The number of the pull request that is the change's face.
    pub pull: u64,
    pub labels: &'a [Label],
    pub head: &'a CommitId,
    /// Every check run on the head.
    pub runs: &'a [CheckRun],
    /// Whether one of our comments was edited or deleted by somebody. Otherwise the one comment is as we left it.
    pub comment_changed: bool,
    /// Runs that somebody asked for again (0: all of them). GitHub waits for them to be completed once more, changed or
    /// not.
    pub again: &'a [u64],
    /// Nobody else shows this change at the same time. A run in a workflow can't know that: another may have been started.
    pub alone: bool,
}

/// The identifiers of the buttons on a run.
pub const EXPLAIN: &str = "explain";
pub const RERUN: &str = "rerun";

/// Writes the differences.
pub async fn sync(state: &State, surface: &Surface, present: &Present<'_>) -> Result<()> {
    // That an old head can't be read must not keep the new one from being shown; it is said at the end.
    let observes =
        surface.checks.iter().any(|check| check.name == CHECK_NAME && check.conclusion == Conclusion::Neutral);
    // Where we only observe, no head is to be held back, and an old one has nothing to lose.
    let flipped = if observes { Ok(()) } else { supersede(state, present).await };
    for check in &surface.checks {
        write_check(check, present).await?;
    }
    super::end::anchor(state, present).await?;
    super::labels::write(surface, present).await?;
    write_comment(state, surface, present).await?;
    write_replies(&surface.replies, present.repo, present.memory, present.alone).await?;
    for (comment, fine) in &surface.reactions {
        let reaction = if *fine { Reaction::Rocket } else { Reaction::Confused };
        react(present.repo, present.memory, *comment, reaction).await?;
    }
    flipped
}

/// Flips the merge check of every head that is not the head any more, and of every head of a change that was closed
/// without a merge: whoever opens another pull request with it is not to begin with a green.
async fn supersede(state: &State, present: &Present<'_>) -> Result<()> {
    let Some(head) = state.subject.as_ref().map(|about| &about.head).filter(|_| state.merged.is_none()) else {
        return Ok(());
    };
    let (title, summary) = if state.open {
        let by = head.short();
        (
            format!("Superseded by {by}"),
            format!("This head was replaced by `{by}`. What was shown for this one counts no more."),
        )
    } else {
        let summary = format!("#{} was closed without a merge. What was shown for it counts no more.", present.pull);
        ("Closed without a merge".to_owned(), summary)
    };
    for old in state.heads.keys() {
        let key = format!("superseded:{}:{old}", state.change.0);
        let done = present.memory.recall(&key).await.as_deref() == Some("yes");
        if state.open && old == head {
            // It is the head again: what was flipped is judged anew, and may have to be flipped again.
            if done {
                present.memory.keep(&key, "no").await;
            }
            continue;
        }
        if done || state.face.superseded.contains(old) {
            continue;
        }
        let runs = present.repo.check_runs_of(present.app, old).await?;
        if let Some(run) = ours(&runs, present.app, CHECK_NAME) {
            let lets_pass =
                matches!(run.conclusion, Some(Concluded::Success | Concluded::Neutral | Concluded::Skipped));
            // Another change may have this head too, and speak for it now.
            let another = carried(run).first().is_some() && carried(run).of(state.change).is_none();
            // And whoever shares it is not to be held up by what was said of this one.
            if (lets_pass && !another) || speaks_for(run, present.pull) {
                let report = Report {
                    standing: Standing::Completed(Verdict::ActionRequired),
                    title: title.clone(),
                    summary: summary.clone(),
                    text: witness::text(run),
                    details_url: None,
                    annotations: Vec::new(),
                    buttons: Buttons::default(),
                };
                present.repo.update_check_run(run.id, &run.external_id, &report).await?;
            }
        }
        present.memory.keep(&key, "yes").await;
    }
    Ok(())
}

/// Our newest run of this name.
pub(super) fn ours<'r>(runs: &'r [CheckRun], app: u64, name: &str) -> Option<&'r CheckRun> {
    runs.iter()
        .filter(|run| run.name == name && run.app.as_ref().is_some_and(|made_by| made_by.id == app))
        .max_by_key(|run| run.id)
}

async fn write_check(check: &Check, present: &Present<'_>) -> Result<()> {
    let elsewhere;
    let runs = if check.head == *present.head {
        present.runs
    } else {
        elsewhere = present.repo.check_runs_of(present.app, &check.head).await?;
        &elsewhere
    };
    let mut found = ours(runs, present.app, &check.name);
    if check.only_if_there && found.is_none() {
        return Ok(());
    }
    let by_now;
    if found.is_none() && !present.alone {
        by_now = present.repo.check_runs_of(present.app, &check.head).await?;
        found = ours(&by_now, present.app, &check.name);
    }
    let mut report = report(check)?;
    let print = annotations_print(check);
    let witness = witness_on(check, found);
    let external_id = witness.as_ref().map_or(&check.external_id, |witness| &witness.external_id);
    if let Some(witness) = &witness {
        report.text = witness.text.clone();
        if witness.shared() {
            report.title = super::project::titled_for(present.pull, &report.title);
        }
    }
    let known = match found {
        Some(run) => present.memory.recall(&format!("annotations:{}", run.id)).await,
        None => None,
    };
    if let Some(run) = found {
        let again = present.again.iter().any(|asked| *asked == run.id || *asked == 0);
        // One that was asked for anew is not completed until somebody has spoken.
        let kept = |witness: &&Witness| witness::keeps_its_words(check, run, witness, present.pull);
        if let Some(witness) = witness.as_ref().filter(kept) {
            return match witness.is_on(run) {
                true => Ok(()),
                false => witness.put_on(run, &run.output.title, present.repo).await,
            };
        }
        let same_notes = match &known {
            Some(known) => *known == print,
            None => run.output.annotations_count == check.annotations.len() as u64,
        };
        let same = run.status == Status::Completed
            && run.conclusion == Some(concluded(check.conclusion))
            && run.output.title == report.title
            && run.output.summary.trim() == report.summary.trim()
            && witness.as_ref().map_or(run.external_id == *external_id, |witness| witness.is_on(run));
        if same && same_notes && !again {
            return Ok(());
        }
        if same_notes {
            let quiet = Report { annotations: Vec::new(), ..report };
            present.repo.update_check_run(run.id, external_id, &quiet).await?;
            return Ok(());
        }
    }
    // A replica that answers may not have heard of the run that we made a moment ago.
    let made = format!("made:{}:{}", check.name, check.head);
    let last = present.memory.recall(&made).await.and_then(|id| id.parse::<u64>().ok());
    let unseen = last.filter(|last| found.is_none_or(|run| run.id < *last));
    if let Some(unseen) = unseen
        && present.memory.recall(&format!("annotations:{unseen}")).await.as_ref() == Some(&print)
    {
        let quiet = Report { annotations: Vec::new(), ..report.clone() };
        match present.repo.update_check_run(unseen, external_id, &quiet).await {
            Err(Error::NotFound { .. }) => {}
            written => return written.map(drop),
        }
    }
    // One that was cut off between two batches is finished. Annotations can only be added to a run, never taken off: other
    // ones need a new run of the same name.
    let unfinished = match found {
        Some(run) if known.is_none() && unseen.is_none() => {
            lacks(run, &report, present.repo).await?.map(|rest| (run.id, rest))
        }
        _ => None,
    };
    let run = match unfinished {
        Some((id, rest)) => present.repo.update_check_run(id, external_id, &rest).await?,
        None => present.repo.create_check_run(&check.name, &check.head, external_id, &report).await?,
    };
    present.memory.keep(&made, &run.id.to_string()).await;
    present.memory.keep(&format!("annotations:{}", run.id), &print).await;
    Ok(())
}

/// The report with those annotations only that a run still lacks, where it has a part of them and no others.
pub(super) async fn lacks(run: &CheckRun, report: &Report, repo: &Repo) -> Result<Option<Report>> {
    if run.output.annotations_count >= report.annotations.len() as u64 {
        return Ok(None);
    }
    let lacking = repo.lacking(run.id, &report.annotations).await?;
    Ok(lacking.map(|annotations| Report { annotations, ..report.clone() }))
}

/// The merge check carries the anchors of all changes with this head.
fn witness_on(check: &Check, found: Option<&CheckRun>) -> Option<Witness> {
    let own: Anchor = check.external_id.parse().ok().filter(|_| check.name == CHECK_NAME)?;
    let there = found.map(carried).unwrap_or_default();
    Some(Witness::of(there.with(Anchors::read(&check.external_id)), own.change))
}

fn annotations_print(check: &Check) -> String {
    let parts = check
        .annotations
        .iter()
        .map(|note| format!("{}\0{}\0{}\0{}\0{}", note.path, note.line, note.failure, note.title, note.message));
    Digest::of_parts(parts).to_string()
}

fn verdict(conclusion: Conclusion) -> Verdict {
    match conclusion {
        Conclusion::Success => Verdict::Success,
        Conclusion::Failure => Verdict::Failure,
        Conclusion::ActionRequired => Verdict::ActionRequired,
        Conclusion::Neutral => Verdict::Neutral,
    }
}

fn concluded(conclusion: Conclusion) -> Concluded {
    match conclusion {
        Conclusion::Success => Concluded::Success,
        Conclusion::Failure => Concluded::Failure,
        Conclusion::ActionRequired => Concluded::ActionRequired,
        Conclusion::Neutral => Concluded::Neutral,
    }
}

pub(super) fn notes(annotations: &[super::Annotation]) -> Vec<Annotation> {
    let note = |note: &super::Annotation| Annotation {
        path: note.path.clone(),
        start_line: note.line,
        end_line: note.line,
        level: if note.failure { Level::Failure } else { Level::Warning },
        title: note.title.clone(),
        message: note.message.clone(),
    };
    annotations.iter().map(note).collect()
}

fn report(check: &Check) -> Result<Report> {
    let annotations = notes(&check.annotations);
    let buttons = Buttons::new(vec![
        RunButton::new("Explain", "What stands against merging", EXPLAIN)?,
        RunButton::new("Re-run", "Look at everything again", RERUN)?,
    ])?;
    Ok(Report {
        standing: Standing::Completed(verdict(check.conclusion)),
        title: check.title.clone(),
        summary: check.summary.clone(),
        text: None,
        details_url: None,
        annotations,
        buttons,
    })
}

/// What is remembered of the one comment.
#[derive(Serialize, Deserialize)]
struct Kept {
    id: u64,
    /// The digest of what we wrote.
    print: Digest,
    head: CommitId,
    #[serde(default)]
    content: Option<Digest>,
    since: jiff::Timestamp,
    /// The files that it asks somebody to accept, and since when.
    #[serde(default)]
    files: Option<(Digest, jiff::Timestamp)>,
}

pub(super) fn comment_key(change: ChangeNumber) -> String {
    format!("comment:{}", change.0)
}

pub fn marker(change: ChangeNumber) -> Result<Marker> {
    Marker::new(&format!("phasegate:status:{}", change.0))
}

/// The head that the bot's comment shows, and since when. Where it is not remembered, the comment itself tells, and
/// its last change stands for the beginning: later than the truth, so that it refuses rather than lets through.
pub async fn shown(state: &State, repo: &Repo, memory: &dyn Memory, pull: u64) -> Result<Option<Shown>> {
    if let Some(kept) = recall_comment(state, memory).await {
        return Ok(Some(Shown { head: kept.head, content: kept.content, since: kept.since, files: kept.files }));
    }
    if let Some(OnFace { head, content, since, files, .. }) = on_record(state) {
        return Ok(Some(Shown { head, content: Some(content), since, files }));
    }
    let Some(comment) = repo.find_comment(pull, &marker(state.change)?, None).await? else { return Ok(None) };
    let named = comment.body.rsplit("Head `").next().and_then(|rest| rest.split('`').next());
    let head = state.heads.keys().find(|head| Some(head.short()) == named).cloned();
    let since = comment.updated_at.unwrap_or(comment.created_at);
    Ok(head.map(|head| Shown { head, content: None, since, files: None }))
}

/// What is recorded to be shown, while it is the present content.
fn on_record(state: &State) -> Option<OnFace> {
    let about = state.subject.as_ref()?;
    state.face.shown.clone().filter(|shown| shown.head == about.head && shown.content == about.content)
}

/// What the comment shows after [`sync`], where that is not on record.
pub async fn news(state: &State, memory: &dyn Memory, draft: bool) -> Option<OnFace> {
    let Kept { id, head, content, since, files, .. } = recall_comment(state, memory).await?;
    let shown = OnFace { comment: id, head, content: content?, since, files, draft };
    let about = state.subject.as_ref()?;
    let present = state.open && shown.head == about.head && shown.content == about.content;
    let old = state.heads.keys().filter(|head| **head != shown.head);
    let all_flipped = old.into_iter().all(|head| state.face.superseded.contains(head));
    (present && (state.face.shown.as_ref() != Some(&shown) || !all_flipped)).then_some(shown)
}

async fn recall_comment(state: &State, memory: &dyn Memory) -> Option<Kept> {
    serde_json::from_str(&memory.recall(&comment_key(state.change)).await?).ok()
}

async fn write_comment(state: &State, surface: &Surface, present: &Present<'_>) -> Result<()> {
    let marker = marker(state.change)?;
    let body = marker.put(&surface.comment);
    let print = Digest::of(&body);
    let kept = recall_comment(state, present.memory).await;
    let head = state.subject.as_ref().map(|about| about.head.clone());
    let content = state.subject.as_ref().map(|about| about.content.clone());
    let untouched = kept.as_ref().filter(|_| !present.comment_changed);
    if untouched.is_some_and(|kept| kept.print == print && Some(&kept.head) == head.as_ref()) {
        return Ok(());
    }
    let there = match (untouched, &kept) {
        (Some(_), _) => None,
        (None, Some(kept)) => present.repo.get_comment(kept.id).await?,
        // Whoever rewrote it may have taken its marker away.
        (None, None) => match &state.face.shown {
            Some(shown) => present.repo.get_comment(shown.comment).await?,
            None => present.repo.find_comment(present.pull, &marker, None).await?,
        },
    };
    let id = untouched.map(|kept| kept.id).or(there.as_ref().map(|there| there.id));
    let updated = match (id, there) {
        (_, Some(there)) if there.body == body => Some(there),
        (Some(id), _) => match present.repo.update_comment(id, &body).await {
            // It was deleted and nobody told us.
            Err(Error::NotFound { .. }) => None,
            updated => Some(updated?),
        },
        (None, _) => None,
    };
    let written = match updated {
        Some(updated) => updated,
        None => {
            // Where the one we knew is gone, another server may have written a new one.
            let other = if id.is_some() { present.repo.find_comment(present.pull, &marker, None).await? } else { None };
            match other {
                Some(other) => present.repo.update_comment(other.id, &body).await?,
                None => create_comment(present.repo, present.pull, &body, &marker, present.alone).await?,
            }
        }
    };
    let Some(head) = head else { return Ok(()) };
    let now = written.updated_at.unwrap_or(written.created_at);
    let kept = kept.filter(|kept| kept.id == written.id);
    let recorded = on_record(state);
    let since = match (&kept, &recorded) {
        // The same content of the same head has been shown since before this change of the comment.
        (Some(kept), _) if kept.head == head && kept.content == content => kept.since,
        (None, Some(recorded)) => recorded.since,
        _ => now,
    };
    let listed = kept
        .map_or_else(|| recorded.and_then(|recorded| recorded.files), |kept| kept.files)
        .filter(|(files, _)| Some(files) == surface.files.as_ref());
    let files = listed.or_else(|| Some((surface.files.clone()?, now)));
    let kept = Kept { id: written.id, print, head, content, since, files };
    if let Ok(text) = serde_json::to_string(&kept) {
        present.memory.keep(&comment_key(state.change), &text).await;
    }
    Ok(())
}

/// Whether a comment is the one that shows where the change stands, and is not as we left it. What has been put right
/// already is no news, however often it is told.
pub async fn is_tampered(state: &State, repo: &Repo, memory: &dyn Memory, comment: u64) -> Result<bool> {
    let kept = recall_comment(state, memory).await;
    if kept.as_ref().is_some_and(|kept| kept.id != comment) {
        return Ok(false);
    }
    // Who remembers nothing knows its number from the records.
    let recorded = state.face.shown.as_ref().is_some_and(|shown| shown.comment == comment);
    Ok(match (kept, repo.get_comment(comment).await?) {
        (Some(_), None) => true,
        (Some(kept), Some(there)) => Digest::of(&there.body) != kept.print,
        (None, None) => recorded,
        // It may have been put right since.
        (None, Some(there)) if recorded => repo.edited_by_another(&there.node_id).await?.is_some(),
        // What it was is not remembered; that it is ours, its marker tells.
        (None, Some(there)) => marker(state.change)?.is_in(&there.body),
    })
}

/// Our clock and GitHub's may differ by so much.
const CLOCKS_DIFFER: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

/// An answer that the memory does not know may be there all the same: from before a crash, from before the memory was
/// lost, from another server. So it is looked for first, with one reading for all answers on an issue or pull request.
pub(super) async fn write_replies(
    replies: &[super::Reply],
    repo: &Repo,
    memory: &dyn Memory,
    alone: bool,
) -> Result<()> {
    let mut there: BTreeMap<u64, Vec<IssueComment>> = BTreeMap::new();
    for reply in replies {
        let key = format!("reply:{}", reply.key);
        if memory.recall(&key).await.is_some() {
            continue;
        }
        let marker = Marker::new(&format!("phasegate:reply:{}", reply.key))?;
        let ours = match there.entry(reply.on) {
            Entry::Occupied(read) => read.into_mut(),
            // They come in the order of their records, so none that follows is older.
            Entry::Vacant(unread) => {
                let since = reply.since.checked_sub(CLOCKS_DIFFER).ok();
                unread.insert(repo.our_comments(reply.on, since).await?)
            }
        };
        let id = match ours.iter().find(|comment| marker.is_in(&comment.body)) {
            Some(there) => there.id,
            None => create_comment(repo, reply.on, &reply.body, &marker, alone).await?.id,
        };
        memory.keep(&key, &id.to_string()).await;
    }
    Ok(())
}

/// Writes a comment. Of two that were written at the same moment the first stays, and says this.
async fn create_comment(repo: &Repo, on: u64, body: &str, marker: &Marker, alone: bool) -> Result<IssueComment> {
    let made = repo.create_comment(on, body, marker).await?;
    if alone {
        return Ok(made);
    }
    match repo.find_comment(on, marker, made.created_at.checked_sub(CLOCKS_DIFFER).ok()).await? {
        Some(first) if first.id < made.id => {
            repo.delete_comment(made.id).await?;
            repo.update_comment(first.id, &marker.put(body)).await
        }
        _ => Ok(made),
    }
}

/// Sets a reaction once. One that can't be set (a deleted comment, a server without them) is not missed.
pub async fn react(repo: &Repo, memory: &dyn Memory, comment: u64, reaction: Reaction) -> Result<()> {
    if comment == 0 {
        return Ok(());
    }
    let key = format!("reaction:{comment}:{reaction:?}");
    if memory.recall(&key).await.is_some() {
        return Ok(());
    }
    match repo.react(comment, reaction).await {
        // A wave of the hand: where there is no comment any more, no right to it or no such thing, nothing is lost.
        Ok(())
        | Err(
            Error::NotFound { .. } | Error::NoEndpoint { .. } | Error::Forbidden { .. } | Error::Unprocessable { .. },
        ) => {
            memory.keep(&key, "set").await;
            Ok(())
        }
        Err(error) => Err(error),
    }
}
