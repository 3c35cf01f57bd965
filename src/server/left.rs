//! What a run of the trusted workflow has left, taken from GitHub itself.
//!
//! As an Action nothing stays that a run could answer. So its log waits as an artefact, and whichever look comes first after the run
//! has ended takes it: the event that tells of it, any other, or the schedule. There is no token of a job here; what GitHub tells of
//! the run is all, and it has to tell all of it: the one file, byte for byte as it is on the default branch, started for this nonce,
//! in its newest attempt, of this repository; and one artefact of the one name, which that run made. Then the log is judged as
//! one that was posted ([`super::proof`]).
//!
//! What is refused is recorded once for each attempt, and not fetched again.

use std::sync::Arc;

use super::asked::{Looked, known};
use super::pass::Pass;
use super::proof::{self, Asking, LARGEST, LARGEST_ARCHIVE, Refused, besides, note, noted};
use super::route::Halt;
use crate::engine::{Answer, Happened};
use crate::finding::quoted;
use crate::gate::asked::open;
use crate::gate::world::World;
use crate::github::Error;
use crate::github::calls::actions::{Artifact, WorkflowRun};
use crate::ids::{CommitId, Digest, RepoId};
use crate::ledger::State;
use crate::ledger::record::Job;
use crate::policy::{Policy, Source};
use crate::repo::{Reader as _, RepoPath, Want};
use crate::runner::artefact::archive;
use crate::runner::proofs;

/// What the template's upload calls it.
const NAME: &str = "phasegate-verify";

/// What came of looking for a log.
enum Came {
    Answer(Box<Answer>),
    /// It has left nothing.
    Nothing,
    Refused(Refused),
}

/// What a refusal is recorded under: it is told once for each attempt.
fn told(run: &WorkflowRun) -> String {
    format!("run-{}-{}", run.id, run.run_attempt)
}

impl Pass<'_> {
    /// What the run that is waited for has left, where it can't have answered.
    pub(super) async fn left(
        &self,
        state: Option<&State>,
        looked: &Looked,
        world: &mut World,
    ) -> Result<Vec<Happened>, Halt> {
        let asked = state.and_then(|state| open(state, Source::Actions)).filter(|_| !self.app.remembers());
        let (Some(state), Some(asked)) = (state, asked) else { return Ok(Vec::new()) };
        let is_told = |run: &WorkflowRun| state.tampering_told.contains(&told(run));
        let tried = |run: &WorkflowRun, refused: &Refused| Happened::Tampered {
            what: note(run.id, refused),
            told: Some(told(run)),
        };
        let others = looked.others.iter().filter(|(run, _)| !is_told(run));
        let mut happened: Vec<Happened> = others.map(|(run, refused)| tried(run, refused)).collect();
        let asking = Asking {
            home: self.home,
            change: state.change.0,
            asked,
            start: self.start(),
            frozen: state.frozen.is_some(),
        };
        for (at, run) in looked.runs.iter().enumerate() {
            if run.status != "completed" {
                world.asked_run = known(run, None);
                break;
            }
            let came = if is_told(run) { None } else { Some(self.came(asking, run).await?) };
            let why = match came {
                Some(Came::Answer(mut answer)) => {
                    answer.ran.findings.extend(besides(&looked.runs, run.id));
                    happened.push(Happened::Ran(answer));
                    break;
                }
                Some(Came::Nothing) => None,
                Some(Came::Refused(refused)) => {
                    tracing::warn!(change = asking.change, refused = refused.name(), "evidence was refused: {refused}");
                    happened.push(tried(run, &refused));
                    Some(note(run.id, &refused))
                }
                None => {
                    let begins = noted(run.id);
                    let why = state.tampered.iter().rev().find(|what| what.starts_with(&begins));
                    Some(why.cloned().unwrap_or(begins + "."))
                }
            };
            // What the newest came to is what is told, as long as no other is on its way.
            if at == 0 {
                world.asked_run = known(run, why);
            }
        }
        Ok(happened)
    }

    async fn came(&self, asking: Asking<'_>, run: &WorkflowRun) -> Result<Came, Halt> {
        let Some(policy) = self.policy().filter(|policy| policy.gates.verify.has(Source::Actions)) else {
            return Ok(Came::Nothing);
        };
        if let Err(what) = self.ran_our_file(&asking.asked.workflow, &run.head_sha).await? {
            return Ok(Came::Refused(Refused::OtherRun { run: run.id, what }));
        }
        let artifacts = match self.repo.artifacts(run.id, NAME).await {
            Err(Error::NotFound { .. } | Error::NoEndpoint { .. }) => return Ok(Came::Nothing),
            artifacts => artifacts?,
        };
        let artifact = match the_one(&artifacts, run, self.home.id) {
            Ok(Some(artifact)) => artifact,
            Ok(None) => return Ok(Came::Nothing),
            Err(refused) => return Ok(Came::Refused(refused)),
        };
        let bytes = match self.repo.artifact_zip(artifact.id, LARGEST_ARCHIVE).await {
            Err(Error::NotFound { .. }) => return Ok(Came::Refused(Refused::Gone)),
            Err(Error::TooLarge { most, .. }) => return Ok(Came::Refused(Refused::LargeArchive(most as u64 + 1))),
            bytes => bytes?,
        };
        let shows = proof::shows(&self.mirror, policy, asking.asked).await?;
        Ok(match answer(asking, (policy, shows.as_ref()), run, artifact, &bytes) {
            Ok(answer) => Came::Answer(Box::new(answer)),
            Err(refused) => Came::Refused(refused),
        })
    }

    /// Whether a commit has the workflow's file as the default branch has it now. That a run tells the default branch's name is
    /// not enough: a tag may bear the same.
    async fn ran_our_file(&self, workflow: &str, at: &CommitId) -> Result<Result<(), String>, Halt> {
        let tip = self.tip.clone();
        if *at == tip {
            return Ok(Ok(()));
        }
        let gone = format!("the commit {} that it ran is not there", at.short());
        match self.mirror.fetch(&[Want::Commit(at.clone())]).await {
            Err(crate::repo::Error::Missing(_)) => return Ok(Err(gone)),
            fetched => drop(fetched?),
        }
        let (path, ran) = (RepoPath::from(workflow), at.clone());
        let same = self.mirror.read(move |reader| {
            let ours = reader.blob(&tip, &path)?;
            Ok(ours.is_some() && ours == reader.blob(&ran, &path)?)
        });
        let same = same.await?;
        Ok(match same {
            true => Ok(()),
            false => Err(format!("it ran the file of {}, which is not that of the default branch", at.short())),
        })
    }
}

/// The artefact of a run's newest attempt.
fn the_one<'a>(artifacts: &'a [Artifact], run: &WorkflowRun, home: RepoId) -> Result<Option<&'a Artifact>, Refused> {
    let other = |what: String| Err(Refused::OtherArtefact(what));
    let one = match artifacts {
        [] => return Ok(None),
        [one] => one,
        // Another attempt must not take the place of one that has left its result.
        several => return Err(Refused::Several(several.len())),
    };
    let Some(by) = &one.workflow_run else { return other("not which run has left it".to_owned()) };
    if by.id != run.id || by.head_sha != run.head_sha || by.head_branch != run.head_branch {
        return other(format!("it is of run {} at {}", by.id, by.head_sha.short()));
    }
    if by.repository_id != home.0 || by.head_repository_id != home.0 {
        return other("it is of another repository".to_owned());
    }
    if one.created_at.is_none() || run.run_started_at.is_none() || one.created_at < run.run_started_at {
        return other(format!("it is older than attempt {} of the run", run.run_attempt));
    }
    if one.expired {
        return Err(Refused::Gone);
    }
    if one.size_in_bytes > LARGEST_ARCHIVE as u64 {
        return Err(Refused::LargeArchive(one.size_in_bytes));
    }
    Ok(Some(one))
}

/// What an artefact's archive answers.
fn answer(
    asking: Asking<'_>,
    (policy, shows): (&Policy, Option<&proofs::Asked>),
    run: &WorkflowRun,
    artifact: &Artifact,
    bytes: &[u8],
) -> Result<Answer, Refused> {
    // Who keeps it is not who tells of it.
    let sum = artifact.digest.as_deref().and_then(|digest| digest.strip_prefix("sha256:"));
    if sum.is_some_and(|sum| sum != Digest::of(bytes).as_str()) {
        return Err(Refused::OtherArtefact(format!("its digest is {}", quoted(sum.unwrap_or_default()))));
    }
    let by = Job {
        run: run.id,
        attempt: u32::try_from(run.run_attempt).unwrap_or(u32::MAX),
        workflow: format!("{}/{}@refs/heads/{}", asking.home.slug, asking.asked.workflow, asking.home.default_branch),
        sha: run.head_sha.clone(),
        actor: run.actor.id,
    };
    let log = archive::log(bytes, LARGEST as u64)?;
    let (ran, log) = asking.judged(&log, policy, shows, &by)?;
    Ok(Answer { by, ran, log: Arc::from(log) })
}

#[cfg(test)]
mod tests;
