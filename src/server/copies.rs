//! What the bot keeps on the branch of a change, where the policy wants it there: copies of its snapshots, and its lines of the log.
//!
//! The ledger has all of it. This is for who works in a checkout, and nothing is read back: what the bot wrote is no part of the
//! content that was judged ([`State::snapshots_by_bot`], [`crate::ledger::diary::Diary::without_own`]), so that its own commit makes
//! nothing stale, is no gate run, and leads to no other commit.

use std::collections::BTreeMap;

use super::pass::Pass;
use super::route::Halt;
use crate::fault::around;
use crate::gate::papers::{self, LOG};
use crate::gate::world::{Subject, World};
use crate::github::Error;
use crate::github::calls::git::Addition;
use crate::github::calls::pulls::Pull as Fetched;
use crate::ids::{BlobId, ChangeNumber, CommitId};
use crate::ledger::State;
use crate::ledger::memory::Memory;
use crate::ledger::snapshot::{self, beside, folder_of, latest_of, path_of};
use crate::policy::{LogWrite, Snapshots};
use crate::repo::{Filter, Reader as _, RepoPath, blob_of};
use crate::surface::sync::Memory as _;

/// So many snapshots are written in one commit, the oldest first. The others follow when that one is looked at.
const MOST: usize = 20;

impl Pass<'_> {
    /// Commits what is not on the branch yet, where it is still where it was looked at.
    pub(super) async fn commit_copies(&self, pull: &Fetched, state: &State, world: &World) -> Result<(), Halt> {
        let looked_at = world.subject.as_ref().filter(|subject| subject.about.head == pull.head.sha);
        let may = state.open && world.bot_may_commit();
        let (Some(subject), Some(policy), Some(branch)) =
            (looked_at.filter(|_| may), world.policy(), &world.pull.branch)
        else {
            return Ok(());
        };
        let mut files = Vec::new();
        if let Some(memory) = state.memory.as_ref().filter(|_| policy.ledger.snapshots == Snapshots::Branch) {
            files.extend(self.uncopied(&pull.head.sha, state, memory).await?);
        }
        if policy.log.write == LogWrite::Commit && state.pipeline.is_some() {
            files.extend(self.log(subject, state).await?);
        }
        let refused = format!("uncopied:{}:{}", pull.head.sha, state.seq);
        if files.is_empty() || self.memory.recall(&refused).await.is_some() {
            return Ok(());
        }
        let message = message(&files, state.change);
        let written = self.repo.create_commit_on_branch(&branch.name, &pull.head.sha, &message, &files);
        match around!("server.copies", written.await) {
            Ok(commit) => tracing::info!(change = pull.number, commit = commit.short(), "copies were committed"),
            // Whatever moved it is looked at next, and then they are still missing.
            Err(Error::StaleHead) => tracing::debug!(change = pull.number, "the branch has moved before its copies"),
            // A rule of the repository's keeps the bot off the branch. The ledger has them.
            Err(error) if error.is_for_a_person() => {
                tracing::warn!(change = pull.number, %error, "copies can't be committed to the branch");
                self.memory.keep(&refused, &error.to_string()).await;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The snapshots that are missing at the head. What somebody else wrote in their place is theirs, and a gate says so.
    async fn uncopied(&self, head: &CommitId, state: &State, memory: &Memory) -> Result<Vec<Addition>, Halt> {
        let (change, latest) = (state.change, memory.latest.iteration);
        let there = self.copies(head, change).await?;
        let mut files = Vec::new();
        for (number, blob) in &memory.written {
            let path = path_of(change, *number);
            // An agent's own file, which was taken in, is brought back by who took it away.
            let theirs = memory.taken.contains_key(number) && !there.contains_key(&beside(*number));
            if there.contains_key(&path) || theirs || files.len() >= MOST {
                continue;
            }
            let text = match *number == latest {
                true => Some(snapshot::write(&memory.latest)),
                false => self.ledger.snapshot(change, *number).await?,
            };
            // What is not what was written is no snapshot.
            if let Some(text) = text.filter(|text| blob_of(text.as_bytes()).as_ref() == Some(blob)) {
                files.push(Addition { path, contents: text.into_bytes() });
            }
        }
        let alias = latest_of(change);
        if there.get(&alias) != memory.written.get(&latest) {
            files.push(Addition { path: alias, contents: snapshot::write(&memory.latest).into_bytes() });
        }
        Ok(files)
    }

    /// What stands in the places of snapshots at the head.
    async fn copies(&self, head: &CommitId, change: ChangeNumber) -> Result<BTreeMap<String, BlobId>, Halt> {
        let (head, folder) = (head.clone(), folder_of(change));
        let read = self.mirror.read(move |reader| {
            let beside = |path: &str| path.strip_prefix(snapshot::FOLDER).is_some_and(|name| !name.contains('/'));
            let under = RepoPath::from(snapshot::FOLDER.trim_end_matches('/'));
            let entries = reader.tree(&head, Filter::Under(&under))?.into_iter();
            let named = entries.map(|entry| (String::from_utf8_lossy(entry.path.as_bytes()).into_owned(), entry.blob));
            Ok(named.filter(|(path, _)| path.starts_with(&folder) || beside(path)).collect())
        });
        Ok(read.await?)
    }

    /// The log with the lines that are missing in it. One that is no text is left to who made it.
    async fn log(&self, subject: &Subject, state: &State) -> Result<Option<Addition>, Halt> {
        let head = subject.about.head.clone();
        let sheet = self.mirror.read(move |reader| papers::read_sheet(reader, &head, LOG)).await?;
        let Some(text) = sheet.as_ref().map_or(Some(""), |sheet| sheet.text()) else { return Ok(None) };
        let text = state.diary.appended_to(text, state.change, &subject.logged);
        Ok(text.map(|text| Addition { path: LOG.to_owned(), contents: text.into_bytes() }))
    }
}

fn message(files: &[Addition], change: ChangeNumber) -> String {
    let numbers: Vec<u32> = files.iter().filter_map(|file| snapshot::number_of(&file.path, change)).collect();
    let snapshots = match numbers.as_slice() {
        [] => files.iter().any(|file| file.path == latest_of(change)).then(|| "the latest snapshot".to_owned()),
        [one] => Some(snapshot::name(*one)),
        [first, .., last] => Some(format!("{} to {}", snapshot::name(*first), snapshot::name(*last))),
    };
    let log = files.iter().any(|file| file.path == LOG).then(|| "the log".to_owned());
    let which: Vec<String> = snapshots.into_iter().chain(log).collect();
    format!(
        "chore(context): {} of {change}\n\nWritten down by Phasegate, as the policy asks. Nothing that was judged is changed by it.",
        which.join(" and ")
    )
}
