//! The merge check on a merge group's commit.
//!
//! A queue takes a group out as soon as a required check on it has ended otherwise than green, and waits for one that still
//! runs. So what only waits is a run that is not completed here, where on a head it would be `action_required`.

use super::project::{clip, headline};
use super::sync::ours;
use super::text::{Links, items};
use crate::gate::merge::{CHECK_NAME, Judgement};
use crate::gate::{Verdict, only_waiting};
use crate::github::calls::checks::{Buttons, CheckRun, Conclusion, Report, Standing, Status, Verdict as Concluded};
use crate::github::{Repo, Result};
use crate::ids::{CommitId, Slug};

/// What is to be seen of a group.
pub struct Shown<'a> {
    pub slug: &'a Slug,
    pub server: &'a str,
    pub default_branch: &'a str,
    pub head: &'a CommitId,
    pub members: &'a [(u64, CommitId)],
    pub judgement: &'a Judgement,
    /// The policy only observes, so nobody is held back.
    pub observed: bool,
}

impl Shown<'_> {
    pub fn report(&self) -> Report {
        let Judgement { verdict, findings, .. } = self.judgement;
        let all: Vec<String> = self.members.iter().map(|(number, _)| format!("#{number}")).collect();
        let (all, what) = (all.join(", "), headline(findings));
        let (standing, title) = match (verdict, self.observed) {
            (Verdict::Pass, false) => (Standing::Completed(Concluded::Success), format!("May merge: {all}")),
            (Verdict::Pass, true) => {
                (Standing::Completed(Concluded::Neutral), format!("Observing: it would be allowed to merge: {all}"))
            }
            (Verdict::Fail, true) => {
                (Standing::Completed(Concluded::Neutral), format!("Observing: it would be stopped. {what}"))
            }
            (Verdict::Fail, false) if only_waiting(findings) => (Standing::InProgress, format!("Not yet: {what}")),
            (Verdict::Fail, false) => (Standing::Completed(Concluded::Failure), format!("May not merge: {what}")),
        };
        let links = Links {
            server: self.server.to_owned(),
            slug: self.slug.clone(),
            head: self.head.clone(),
            default_branch: self.default_branch.to_owned(),
            merged_into: None,
        };
        let mut summary = match all.is_empty() {
            true => "A merge group of which it is not known who is in it.\n".to_owned(),
            false => "A merge group of:\n".to_owned(),
        };
        for (number, head) in self.members {
            let about = format!("#{number} ");
            let red = findings.iter().any(|finding| finding.blocks() && finding.says.starts_with(&about));
            let stands = if red { "does not hold, see below" } else { "passed its own gate with this head" };
            summary.push_str(&format!("- #{number} at `{}`: {stands}\n", head.short()));
        }
        if findings.is_empty() {
            summary.push_str("\nEach member and the group's own commit are proved.\n");
        } else {
            summary.push_str(&format!("\n{}", items(findings, usize::MAX, &links)));
        }
        Report {
            standing,
            title: clip(&title),
            summary,
            text: None,
            details_url: None,
            annotations: Vec::new(),
            buttons: Buttons::default(),
        }
    }
}

/// Brings the check on the group's commit to that. `runs` is every check run there. (One that was asked for anew is not
/// completed, so it is written again.)
pub async fn show(shown: &Shown<'_>, runs: &[CheckRun], repo: &Repo, app: u64) -> Result<()> {
    let report = shown.report();
    let key = format!("pg1-group:{}", shown.head);
    let Some(run) = ours(runs, app, CHECK_NAME) else {
        return repo.create_check_run(CHECK_NAME, shown.head, &key, &report).await.map(drop);
    };
    let (open, same) = match report.standing {
        Standing::Completed(verdict) => {
            let ends = |end: Option<Conclusion>| {
                matches!(
                    (verdict, end),
                    (Concluded::Success, Some(Conclusion::Success))
                        | (Concluded::Failure, Some(Conclusion::Failure))
                        | (Concluded::Neutral, Some(Conclusion::Neutral))
                )
            };
            (false, run.status == Status::Completed && ends(run.conclusion))
        }
        _ => (true, run.status == Status::InProgress),
    };
    if same && run.output.title == report.title && run.output.summary.trim() == report.summary.trim() {
        return Ok(());
    }
    // A run that has ended can't begin again: another one of the same name speaks in its place.
    if open && run.status == Status::Completed {
        return repo.create_check_run(CHECK_NAME, shown.head, &key, &report).await.map(drop);
    }
    repo.update_check_run(run.id, &key, &report).await.map(drop)
}
