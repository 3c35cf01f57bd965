//! A broken ledger, as people see it: nothing can be recorded, so nothing is done, and everybody who looks is told.
//!
//! There is no state to project from. What is written carries a marker, so that it is written once all the same.

use super::project::ADVISORY;
use super::sync::{Memory, comment_key, marker, react, write_replies};
use super::{Reply, plain};
use crate::fact::Comment;
use crate::gate::Finding;
use crate::github::calls::comments::Reaction;
use crate::github::{Error, Repo, Result};
use crate::ids::{ChangeNumber, Slug};
use crate::ledger::Break;

/// What is broken, and where it is shown.
pub struct Broken<'a> {
    pub change: ChangeNumber,
    pub slug: &'a Slug,
    /// The ledger's branch.
    pub branch: &'a str,
    pub place: &'a Break,
    /// There are no records at all where there were some: the branch they may have been on before.
    pub renamed_from: Option<String>,
    /// The records are signed by nobody, and nothing here is a gate.
    pub advisory: bool,
    pub repo: &'a Repo,
    pub memory: &'a dyn Memory,
}

impl Broken<'_> {
    /// `MRG-08`, with the way out.
    pub fn finding(&self) -> Finding {
        let says = match &self.renamed_from {
            Some(_) => format!(
                "The ledger can't be trusted: there are no records of this change on its branch `{}`, and there were ({}).",
                self.branch,
                self.at()
            ),
            None => {
                format!("The ledger can't be trusted: the chain of this change's records is broken at {}.", self.at())
            }
        };
        Finding::error("MRG-08", says, self.mend())
    }

    fn at(&self) -> String {
        if self.place.seq == 0 { format!("its checkpoint: {}", self.place.says) } else { self.place.to_string() }
    }

    /// How it is proven and mended, for whoever administers the repository.
    fn mend(&self) -> String {
        let renamed = match &self.renamed_from {
            Some(old) => format!(
                "If the ledger was given another branch in the policy, bring the records along: `git push origin \
                 {old}:{}`. Otherwise: ",
                self.branch
            ),
            None => String::new(),
        };
        let with = match self.advisory {
            true => "a token that may read the repository as `GITHUB_TOKEN`",
            false => "`APP_ID` and `PRIVATE_KEY_PATH` of the App",
        };
        format!(
            "{renamed}Somebody who may write the ledger's branch mends it. `phasegate replay {} --github {} --branch {}`, with {with} \
             set, shows where it breaks and when it is whole again. {}",
            self.change.0,
            self.slug,
            self.branch,
            self.place.mend(self.change, self.branch),
        )
    }

    /// The one comment. It shows no head, so no command that is written under it counts for one afterwards.
    pub async fn show_comment(&self, problems: &[Finding]) -> Result<()> {
        let marker = marker(self.change)?;
        let finding = self.finding();
        let says = |finding: &Finding| format!("❌ `{}` {}\n\n", finding.rule, plain(&finding.says));
        let all: String = problems.iter().chain([&finding]).map(says).collect();
        let (advisory, merge) = match self.advisory {
            true => (format!("_{ADVISORY}_\n\n"), "the merge check is red"),
            false => (String::new(), "it can't merge"),
        };
        let body = marker.put(&format!(
            "### Phasegate: the ledger can't be trusted\n\n{advisory}{all}Until it is whole again nothing is judged or \
             recorded for this change, no command is carried out, and {merge}. What stood here before counts for \
             nothing meanwhile; it comes back by itself.\n\n**Next:** {}",
            plain(&finding.next)
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
                plain(&self.at()),
                self.change.0
            ),
        };
        write_replies(std::slice::from_ref(&reply), self.repo, self.memory, true).await?;
        react(self.repo, self.memory, comment.id, Reaction::Confused).await
    }
}
