//! The story that the demo plays: one change, from `/expand` to its merge and beyond.

use anyhow::{Context as _, ensure};
use serde::Serialize;
use serde_json::Value;

use super::{REPO, Rehearsal, papers};
use crate::gate::merge::CHECK_NAME;

/// One thing that somebody did, and what GitHub showed afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Beat {
    pub who: String,
    pub does: String,
    /// The phase's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The merge check: how it ended, and its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// What the merge button or the bot answered, where that is the point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What a gate found wrong, each at its line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Timeline {
    pub schema: &'static str,
    pub repository: String,
    pub change: u64,
    pub merged: bool,
    pub beats: Vec<Beat>,
}

struct Play<'a> {
    on: &'a Rehearsal,
    number: u64,
    beats: Vec<Beat>,
    tell: &'a mut dyn FnMut(&Beat),
}

impl Play<'_> {
    fn beat(&mut self, who: &str, does: &str, answer: Option<String>) -> anyhow::Result<()> {
        let run = self.on.run(&self.on.head(self.number)?, CHECK_NAME)?;
        let beat = Beat {
            who: who.to_owned(),
            does: does.to_owned(),
            label: self.on.label(self.number)?,
            merge: run.map(|run| format!("{}: {}", run.conclusion.unwrap_or_default(), run.title.unwrap_or_default())),
            answer,
            findings: Vec::new(),
        };
        self.tells(beat);
        Ok(())
    }

    /// The same with what the gate's check run says of the document's lines.
    fn beat_with_findings(&mut self, who: &str, does: &str, gate: &str) -> anyhow::Result<()> {
        let run = self.on.run(&self.on.head(self.number)?, gate)?.with_context(|| format!("there is no {gate}"))?;
        let findings: Vec<String> = run.annotations.iter().map(told).collect();
        ensure!(!findings.is_empty(), "{gate} says nothing of any line");
        let answer = Some(format!("{gate}: {}", run.title.unwrap_or_default()));
        let beat = Beat {
            who: who.to_owned(),
            does: does.to_owned(),
            label: self.on.label(self.number)?,
            merge: None,
            answer,
            findings,
        };
        self.tells(beat);
        Ok(())
    }

    fn tells(&mut self, beat: Beat) {
        (self.tell)(&beat);
        self.beats.push(beat);
    }

    fn last_answer(&self) -> anyhow::Result<Option<String>> {
        Ok(self.on.bot_comments(self.number)?.pop().map(|body| body.lines().next().unwrap_or_default().to_owned()))
    }

    /// The agent writes or repairs something, its CI runs, and the next label is there.
    async fn writes(&mut self, does: &str, files: &[(&str, &str)], label: &str) -> anyhow::Result<()> {
        let path = files.first().map_or("nothing", |(path, _)| path);
        let head = self.on.pushes("rover", BRANCH, &format!("{does} {path}"), files).await?;
        self.on.ci(&head, "success").await?;
        self.beat("rover", &format!("{does}s {path}; CI is green"), None)?;
        self.expect_label(label)
    }

    fn expect_label(&self, label: &str) -> anyhow::Result<()> {
        let now = self.on.label(self.number)?;
        ensure!(now.as_deref() == Some(label), "the label is {now:?}, not {label}");
        Ok(())
    }
}

/// An annotation as one line: where, and what.
fn told(note: &Value) -> String {
    let text = |field: &str| note[field].as_str().unwrap_or_default();
    format!("{}:{} {}", text("path"), note["start_line"], text("message").lines().next().unwrap_or_default())
}

const BRANCH: &str = "agent/dimmer";

/// Plays it to the end. Every beat is checked: a story that does not go as told is an error.
pub async fn play(on: &Rehearsal, tell: &mut dyn FnMut(&Beat)) -> anyhow::Result<Timeline> {
    on.pushes("rover", BRANCH, "an idea", &[("docs/input/idea.md", "A dimmer would be nice.\n")]).await?;
    let number = on.opens("rover", "Add a dimmer", BRANCH).await?;
    let mut play = Play { on, number, beats: Vec::new(), tell };
    play.beat("rover", "opens a pull request", None)?;
    play.expect_label("phase:start")?;

    on.says("ada", number, "/expand a dimmer for the lantern").await?;
    play.beat("ada", "says /expand", None)?;
    play.expect_label("phase:expand")?;

    let refused = on.merges("ada", number).await?;
    ensure!(refused.is_err(), "an unproven change was merged");
    play.beat("ada", "tries to merge", refused.err())?;

    let unfinished = papers::SCOPE
        .replace("A level: a whole number from 0 to 10. It is not kept.", "TBD")
        .replace("- AC-2: dimming from level 0 stays at level 0, with zero errors.", "- It should feel smooth.");
    let scope = [("scaffolding/scope.md", unfinished.as_str()), ("scaffolding/log.md", papers::LOG)];
    let head = on.pushes("rover", BRANCH, "a first scope", &scope).await?;
    on.ci(&head, "success").await?;
    on.says("rover", number, "/expand").await?;
    play.beat_with_findings(
        "rover",
        "pushes an unfinished scope and claims /expand; the gate reads it",
        "phasegate/expand",
    )?;
    play.expect_label("phase:expand")?;

    play.writes("repair", &papers::of("scaffolding/scope.md"), "phase:design").await?;
    play.writes("write", &papers::of("scaffolding/design.md"), "phase:analyze").await?;
    play.writes("write", &papers::of("scaffolding/readiness.md"), "phase:build").await?;

    let head = on.pushes("rover", BRANCH, "the dimmer", &[("src/dimmer.py", "def dim(level): pass\n")]).await?;
    on.ci(&head, "failure").await?;
    on.says("rover", number, "/build").await?;
    play.beat_with_findings(
        "rover",
        "pushes code that does nothing, CI is red, and claims /build all the same; the gate reads it",
        "phasegate/build",
    )?;
    play.expect_label("phase:build")?;

    play.writes("repair", &papers::CODE, "phase:review").await?;

    on.says("ada", number, "/approve").await?;
    play.beat("ada", "says /approve, which is not hers to say", play.last_answer()?)?;

    on.reviews("mia", number, "APPROVE").await?;
    play.beat("mia", "approves; reconcile and verify follow", None)?;
    play.expect_label("phase:verified")?;
    ensure!(on.merge_check(number)?.as_deref() == Some("success"), "verified, but not green");

    let head =
        on.pushes("rover", BRANCH, "one more thing", &[("src/extra.py", "def extra():\n    return 1\n")]).await?;
    on.ci(&head, "success").await?;
    play.beat("rover", "pushes once more after the approval", None)?;
    ensure!(on.merge_check(number)?.as_deref() != Some("success"), "a stale approval was used");
    ensure!(on.merges("ada", number).await?.is_err(), "a stale approval let a merge through");

    on.reviews("mia", number, "APPROVE").await?;
    play.beat("mia", "looks at that too, and approves", None)?;
    play.expect_label("phase:verified")?;

    let merged = on.merges("ada", number).await?;
    let commit = match merged {
        Ok(commit) => commit,
        Err(why) => anyhow::bail!("the merge was refused: {why}"),
    };
    play.beat("ada", "merges", Some(format!("merged as {}", &commit[..12.min(commit.len())])))?;

    on.admin().workflow_run(REPO, &commit, super::WORKFLOW, "push", &[(super::CHECK, Some("success"))])?;
    on.settle().await?;
    play.beat("CI", "is green on the merge commit", None)?;
    play.expect_label("phase:complete")?;

    let beats = play.beats;
    Ok(Timeline {
        schema: "phasegate/demo@1",
        repository: REPO.to_owned(),
        change: number,
        merged: on.pull(number)?["merged"] == true,
        beats,
    })
}
