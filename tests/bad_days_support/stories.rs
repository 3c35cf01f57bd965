//! Two stories, each told the same way on a calm day and on a bad one.

use phasegate::rehearsal::{CHECK, MERGE_POLICY, REPO, Rehearsal, Setup, WORKFLOW, play};
use serde_json::json;

use super::picture::plain;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Story {
    /// The demo's change, in which everybody waits for the bot. Every beat is as on a calm day.
    Demo,
    /// Everything about a change is done before the bot gets to any of it.
    Hasty,
}

impl Story {
    pub(crate) fn setup(self) -> Setup {
        match self {
            Self::Demo => Setup::default(),
            Self::Hasty => Setup::with_policy(MERGE_POLICY),
        }
    }

    /// Plays it. Gives the change's number and what was seen on the way.
    pub(crate) async fn play(self, on: &Rehearsal) -> anyhow::Result<(u64, Vec<String>)> {
        match self {
            Self::Demo => {
                let timeline = play(on, &mut |_| {}).await?;
                let beats = timeline.beats.iter().map(|beat| plain(&format!("{beat:?}")));
                Ok((timeline.change, beats.collect()))
            }
            Self::Hasty => Ok((hasty(on).await?, Vec::new())),
        }
    }
}

async fn hasty(on: &Rehearsal) -> anyhow::Result<u64> {
    let admin = on.admin();
    let pushes =
        |message: &str, text: &str| admin.commit(REPO, "rover", "work", message, &[("src/lamp.py", Some(text))]);
    pushes("work", "def shine(): pass\n")?;
    let number = admin.open_pull(REPO, "rover", "Shine", "work", "main")?;
    admin.comment(REPO, "tim", number, "/status")?;
    let head = pushes("more work", "def shine():\n    return 1\n")?;
    admin.workflow_run(REPO, &head, WORKFLOW, "pull_request", &[(CHECK, Some("failure"))])?;
    admin.comment(REPO, "mia", number, "/help")?;
    let head = pushes("even more work", "def shine():\n    return 2\n")?;
    admin.workflow_run(REPO, &head, WORKFLOW, "pull_request", &[(CHECK, Some("success"))])?;
    let body = json!({ "event": "APPROVE", "body": "Looked at it." });
    admin.call_as("mia", "POST", &format!("/repos/{REPO}/pulls/{number}/reviews"), body)?;
    on.settle().await?;
    let merged = on.merges("ada", number).await?;
    anyhow::ensure!(merged.is_ok(), "the merge was refused: {merged:?}");
    Ok(number)
}
