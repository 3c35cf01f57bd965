//! What a resolution asks for outside of the ledger: a person's files on the branch, an issue for each part of a change that
//! was split.
//!
//! Each is found again by what it is known by, so that a process that dies in between does it once: the commit names the head
//! that it is on top of, and an issue has a hidden marker with the record and its place in it.

use std::collections::BTreeMap;

use super::pass::Pass;
use super::route::Halt;
use crate::engine::Happened;
use crate::fault::around;
use crate::finding::quoted;
use crate::gate::world::World;
use crate::github::Error;
use crate::github::calls::comments::Marker;
use crate::github::calls::git::Addition;
use crate::github::calls::issues::Issue;
use crate::github::calls::pulls::Pull as Fetched;
use crate::ids::{BlobId, CommitId};
use crate::ledger::resolution::{Fix, Split};
use crate::ledger::{Loaded, State};
use crate::repo::{Filter, Mode, Reader as _, RepoPath, Result as RepoResult, blob_of};
use crate::surface::tasks;

/// What the comment about a fix is known by.
fn fix_marker(state: &State, fix: &Fix) -> Result<Marker, Error> {
    Marker::new(&format!("phasegate:fix:{}:{}", state.change.0, fix.record))
}

/// Why a fix is not there, where nothing more is known.
const REFUSED: &str = "GitHub does not let the bot commit it";
/// A fix is looked for among so many commits.
const MOST_COMMITS: usize = 200;

impl Pass<'_> {
    /// Commits the files of a fix, where the branch is still where it was when they were given. Says whether that can't be done,
    /// which the next look makes a stop of.
    pub(super) async fn commit_fix(&self, pull: &Fetched, state: &State, world: &World) -> Result<bool, Halt> {
        let (Some(fix), Some(branch)) = (&state.fix, &world.pull.branch) else { return Ok(false) };
        if fix.head != pull.head.sha || !state.open || !world.bot_may_commit() {
            return Ok(false);
        }
        let message = tasks::fix_message(state, fix);
        let file =
            |(path, text): (&String, &String)| Addition { path: path.clone(), contents: text.clone().into_bytes() };
        let files: Vec<Addition> = fix.files.iter().map(file).collect();
        let written = self.repo.create_commit_on_branch(&branch.name, &fix.head, &message, &files);
        match around!("server.fix", written.await) {
            Ok(commit) => tracing::info!(change = pull.number, commit = commit.short(), "a fix was committed"),
            // The look at the new head tells of it.
            Err(Error::StaleHead) => tracing::info!(change = pull.number, "the branch has moved before the fix"),
            Err(error) if error.is_for_a_person() => {
                tracing::warn!(change = pull.number, %error, "a fix can't be committed here");
                self.tell_of_fix(pull, state, fix, &tasks::not_committed(fix, REFUSED)).await?;
                return Ok(true);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(false)
    }

    /// A fix that is not on the branch and will not be: GitHub has refused it, or the branch has moved before it was committed. It is
    /// told before that is recorded: whoever dies in between finds the comment by its marker.
    pub(super) async fn lost_fix(&self, pull: &Fetched, state: Option<&State>) -> Result<Option<Happened>, Halt> {
        let Some((state, fix)) = state.and_then(|state| Some((state, state.fix.as_ref()?))) else { return Ok(None) };
        if !pull.is_open() {
            return Ok(None);
        }
        let lost = |why: &str| Some(Happened::Unfixed { of: fix.record, why: why.to_owned() });
        if fix.head == pull.head.sha {
            if self.repo.find_comment(pull.number, &fix_marker(state, fix)?, None).await?.is_none() {
                return Ok(None);
            }
            return Ok(lost(REFUSED));
        }
        if self.has_fix(pull, state, fix).await? {
            return Ok(None);
        }
        self.tell_of_fix(pull, state, fix, &tasks::overtaken(fix, &pull.head.sha)).await?;
        Ok(lost("the branch moved before it was committed"))
    }

    /// Why files that somebody gives for the branch would be no fix there: a folder is where one belongs, one of its own folders is a
    /// file, or nothing would change.
    pub(super) async fn no_fix(
        &self,
        head: &CommitId,
        files: &BTreeMap<String, String>,
    ) -> Result<Option<String>, Halt> {
        let (head, files) = (head.clone(), files.clone());
        let found = self.mirror.read(move |reader| {
            let mut same = true;
            for (path, text) in &files {
                let Ok(own) = RepoPath::parse(path) else { continue };
                let there = reader.tree(&head, Filter::Under(&own))?;
                if there.iter().any(|entry| entry.path != own) {
                    return Ok(Some(format!("{} is a folder there", quoted(path))));
                }
                for (at, _) in path.match_indices('/') {
                    let Ok(above) = RepoPath::parse(&path[..at]) else { continue };
                    if reader.tree(&head, Filter::Under(&above))?.iter().any(|entry| entry.path == above) {
                        return Ok(Some(format!("{} is a file there, and no folder", quoted(&path[..at]))));
                    }
                }
                let blob = blob_of(text.as_bytes());
                same = same && there.iter().any(|entry| entry.mode == Mode::FILE && blob.as_ref() == Some(&entry.blob));
            }
            Ok(same.then(|| "all of it is there already, as it is given".to_owned()))
        });
        Ok(found.await?)
    }

    /// Whether the fix is among the commits that came since, or its files are there.
    async fn has_fix(&self, pull: &Fetched, state: &State, fix: &Fix) -> Result<bool, Halt> {
        let (from, to, message) = (fix.head.clone(), pull.head.sha.clone(), tasks::fix_message(state, fix));
        let blobs: Vec<_> = fix.files.iter().map(|(path, text)| (path.clone(), blob_of(text.as_bytes()))).collect();
        let there = self.mirror.read(move |reader| {
            let is_there = |(path, blob): &(String, Option<BlobId>)| -> RepoResult<bool> {
                let Ok(path) = RepoPath::parse(path) else { return Ok(false) };
                Ok(reader.blob(&to, &path)?.is_some_and(|found| blob_of(&found.bytes) == *blob))
            };
            let mut same = true;
            for one in &blobs {
                same = same && is_there(one)?;
            }
            // After a force-push the old head may be gone.
            let Ok(commits) = reader.commits_between(&from, &to, MOST_COMMITS) else { return Ok(same) };
            for commit in commits.iter().filter(|_| !same) {
                // Each write puts a name of its own behind it.
                if reader.commit(commit)?.message.starts_with(message.trim_end()) {
                    return Ok(true);
                }
            }
            Ok(same)
        });
        Ok(there.await?)
    }

    /// A comment about a fix, once.
    async fn tell_of_fix(&self, pull: &Fetched, state: &State, fix: &Fix, text: &str) -> Result<(), Halt> {
        let marker = fix_marker(state, fix)?;
        if self.repo.find_comment(pull.number, &marker, None).await?.is_none() {
            self.repo.create_comment(pull.number, text, &marker).await?;
        }
        Ok(())
    }

    /// Opens the issues of the parts of a change that was split, and records them. None: another writer was faster.
    pub(super) async fn open_parts(
        &self,
        pull: &Fetched,
        loaded: Loaded,
        world: &World,
    ) -> Result<Option<Loaded>, Halt> {
        let Some(state) = loaded.state.as_ref().filter(|state| state.split.is_some()) else { return Ok(Some(loaded)) };
        let Some(split) = state.split.clone() else { return Ok(Some(loaded)) };
        let issues = self.parts_of(state, &split).await?;
        let opened = [Happened::Split { of: split.record, issues }];
        let decision = self.decide(pull, &loaded, world, &opened).await?;
        self.record(loaded, decision).await
    }

    /// The issues of the parts, in the order of the tasks; none where the repository has no issues.
    async fn parts_of(&self, state: &State, split: &Split) -> Result<Vec<u64>, Halt> {
        let mut made: Vec<(String, u64)> = Vec::new();
        for (at, task) in split.tasks.iter().enumerate() {
            let marker = Marker::new(&format!("phasegate:part:{}:{}:{at}", state.change.0, split.record))?;
            let before = tasks::since(split);
            let found = self.repo.labelled(&marker, tasks::LABEL, before).await?;
            let issue = match found.into_iter().next() {
                Some(found) => found,
                None => match self.open_part(state, split, task, &made, &marker).await? {
                    Some(issue) => issue,
                    None => return Ok(Vec::new()),
                },
            };
            made.push((task.name.clone(), issue.number));
        }
        Ok(made.into_iter().map(|(_, number)| number).collect())
    }

    async fn open_part(
        &self,
        state: &State,
        split: &Split,
        task: &crate::ledger::resolution::NewTask,
        made: &[(String, u64)],
        marker: &Marker,
    ) -> Result<Option<Issue>, Halt> {
        tasks::ensure_label(&self.repo, &self.memory).await?;
        let body = tasks::body(state, split, task, made);
        match self.repo.create_issue(&tasks::title(task), &body, &[tasks::LABEL], marker).await {
            Ok(issue) => Ok(Some(issue)),
            // The repository has no issues. The record has the tasks.
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
