//! A broken ledger, as people see it: nothing can be recorded, so nothing is done, and everybody who looks is told.
//!
//! There is no state to project from. What is written carries a marker, so that it is written once all the same.

use super::sync::{Memory, comment_key, marker, ours, react, write_replies};
use super::{Reply, plain};
use crate::fact::Comment;
use crate::gate::merge::CHECK_NAME;
use crate::github::calls::checks::{Buttons, CheckRun, Conclusion, Report, Standing, Verdict};
use crate::github::calls::comments::Reaction;
use crate::github::{Error, Repo, Result};
use crate::ids::{ChangeNumber, CommitId, Slug};
use crate::ledger::Break;

/// What is broken, and where it is shown.
pub struct Broken<'a> {
    pub change: ChangeNumber,
    pub slug: &'a Slug,
    /// The ledger's branch.
    pub branch: &'a str,
    pub place: &'a Break,
    pub repo: &'a Repo,
    pub memory: &'a dyn Memory,
}

impl Broken<'_> {
    fn says(&self) -> String {
        format!("`MRG-08` The ledger can't be trusted: the chain of this change's records is broken at {}.", self.at())
    }

    fn at(&self) -> String {
        if self.place.seq == 0 {
            format!("its checkpoint: {}", plain(&self.place.says))
        } else {
            plain(&self.place.to_string())
        }
    }

    /// How it is proven and mended, for whoever administers the repository.
    fn mend(&self) -> String {
        format!(
            "Somebody who may write the ledger's branch mends it. `phasegate replay {} --github {}`, with `APP_ID` and \
             `PRIVATE_KEY_PATH` of the App set, proves where it breaks and shows when it is whole again. {}",
            self.change.0,
            self.slug,
            plain(&self.place.mend(self.change, self.branch)),
        )
    }

    /// The merge check of the head. The anchor that a run carries stays as it is: it is the witness.
    pub async fn show_check(&self, head: &CommitId, runs: &[CheckRun], app: u64) -> Result<()> {
        let report = Report {
            standing: Standing::Completed(Verdict::Failure),
            title: "The ledger's chain is broken".to_owned(),
            summary: format!("{}\n\n→ {}", self.says(), self.mend()),
            text: None,
            details_url: None,
            annotations: Vec::new(),
            buttons: Buttons::default(),
        };
        match ours(runs, app, CHECK_NAME) {
            Some(run)
                if run.conclusion == Some(Conclusion::Failure)
                    && run.output.title == report.title
                    && run.output.summary.trim() == report.summary.trim() =>
            {
                Ok(())
            }
            Some(run) => self.repo.update_check_run(run.id, &run.external_id, &report).await.map(drop),
            None => self.repo.create_check_run(CHECK_NAME, head, "pg1-broken", &report).await.map(drop),
        }
    }

    /// The one comment. It shows no head, so no command that is written under it counts for one afterwards.
    pub async fn show_comment(&self) -> Result<()> {
        let marker = marker(self.change)?;
        let body = marker.put(&format!(
            "### Phasegate: the ledger can't be trusted\n\n❌ {}\n\nUntil it is whole again nothing is judged or \
             recorded for this change, no command is carried out, and it can't merge. What stood here before counts for \
             nothing meanwhile; it comes back by itself.\n\n**Next:** {}",
            self.says(),
            self.mend()
        ));
        let there = self.repo.find_comment(self.change.0, &marker, None).await?;
        match there {
            Some(there) if there.body == body => return Ok(()),
            Some(there) => match self.repo.update_comment(there.id, &body).await {
                Err(Error::NotFound { .. }) => self.repo.create_comment(self.change.0, &body, &marker).await?,
                updated => updated?,
            },
            None => self.repo.create_comment(self.change.0, &body, &marker).await?,
        };
        // What was remembered of it is not so any more: it is read again when the ledger is whole.
        self.memory.keep(&comment_key(self.change), "broken").await;
        Ok(())
    }

    /// Says that a comment's commands were not carried out: 😕 on each, an answer to each person once an hour.
    pub async fn answer(&self, comment: &Comment, written: &str) -> Result<()> {
        react(self.repo, self.memory, comment.id, Reaction::Eyes).await?;
        let hour = comment.created_at.as_second().div_euclid(3600);
        let reply = Reply {
            on: comment.number,
            key: format!("broken:{}:{}:{hour}", self.change.0, comment.author.id),
            since: comment.created_at,
            body: format!(
                "`MRG-08` `{}` was not done: the ledger of #{} is broken at {}, so nothing can be recorded.\n\nSay it \
                 again when Phasegate's comment on #{} shows where the change stands; until then that comment says how \
                 to mend it.",
                plain(written),
                self.change.0,
                self.at(),
                self.change.0
            ),
        };
        write_replies(std::slice::from_ref(&reply), self.repo, self.memory).await?;
        react(self.repo, self.memory, comment.id, Reaction::Confused).await
    }
}
