//! API calls: what each event of a change's life costs by the twin's log of requests, beside the least that it could.
//!
//! The least is derived, not measured. It believes every delivery, misses none, and has in memory what it recorded; what
//! is left are the writes without which nobody sees anything, and the reads of what no delivery tells.

use anyhow::{Context as _, anyhow};
use phasegate::rehearsal::{MERGE_POLICY, Rehearsal, Setup, play};

use crate::Size;
use crate::stats::{Rounds, table};

/// A call that can't be done without.
type Needed = (&'static str, &'static str);

const RAN: Needed = ("GET …/commits/…/check-runs", "what ran on this head before, as the head of another branch, say");
const JOBS: Needed =
    ("GET …/actions/runs/…/jobs", "whose job it was, by Actions' own word; a check run says what its maker likes");
const ROLE: Needed = ("GET …/collaborators/…/permission", "what somebody may do stands in no delivery");
const OTHERS: Needed = ("GET …/commits/…/pulls", "before a head turns green: who else has it");
const RECORD: Needed = ("POST /graphql", "the decision, a commit on the ledger that names the head it expects");
const NEW_CHECK: Needed = ("POST …/check-runs", "a new head has no verdict yet");
const CHECK: Needed = ("PATCH …/check-runs/…", "the verdict, and the newest record's digest beside it");
const NEW_COMMENT: Needed = ("POST …/issues/…/comments", "the one comment, or an answer");
const COMMENT: Needed = ("PATCH …/issues/comments/…", "the one comment shows another state");

/// What happens in the life of a change, in the merge flow, with the calls that each takes at least.
const LIFE: [(&str, &[Needed]); 8] = [
    ("opened", &[RAN, RECORD, NEW_CHECK, NEW_COMMENT]),
    ("CI runs and is red", &[JOBS, RECORD, CHECK, COMMENT]),
    ("a push", &[RAN, RECORD, NEW_CHECK, COMMENT]),
    ("CI runs and is green", &[JOBS, RECORD, CHECK, COMMENT]),
    ("a remark that is no command", &[]),
    ("the command `/status`", &[ROLE, RECORD, CHECK, NEW_COMMENT]),
    ("an approving review", &[ROLE, OTHERS, RECORD, CHECK, COMMENT]),
    ("merged", &[RECORD, CHECK, COMMENT]),
];

/// What something cost.
#[derive(Default)]
struct Cost {
    webhooks: Rounds,
    calls: Rounds,
    /// Reads whose answer had not changed: GitHub does not count them.
    unchanged: Rounds,
    writes: Rounds,
}

impl Cost {
    /// What was asked since the log was cleared; it is cleared again.
    fn add(&mut self, on: &Rehearsal, deliveries: usize) {
        let requests = on.requests();
        self.webhooks.push((on.deliveries().len() - deliveries) as f64);
        self.calls.push(requests.len() as f64);
        self.unchanged.push(requests.iter().filter(|request| request.status == 304).count() as f64);
        self.writes.push(on.writes().len() as f64);
        on.admin().clear_log();
    }

    fn row(&self, what: &str, least: Option<usize>) -> Vec<String> {
        let whole = |rounds: &Rounds| format!("{:.0}", rounds.median());
        let least = least.map_or_else(|| "–".to_owned(), |least| least.to_string());
        let calls = format!("**{}**", whole(&self.calls));
        vec![what.to_owned(), whole(&self.webhooks), calls, whole(&self.unchanged), whole(&self.writes), least]
    }
}

/// One change, from its first commit to its merge. `seen` is told after each event of [`LIFE`].
async fn live(on: &Rehearsal, branch: &str, seen: &mut impl FnMut(usize)) -> anyhow::Result<()> {
    let file = format!("src/{branch}.py");
    on.pushes("rover", branch, "an idea", &[(file.as_str(), "1\n")]).await?;
    on.admin().clear_log();
    let number = on.opens("rover", "An idea", branch).await?;
    seen(0);
    on.ci(&on.head(number)?, "failure").await?;
    seen(1);
    let head = on.pushes("rover", branch, "better", &[(file.as_str(), "2\n")]).await?;
    seen(2);
    on.ci(&head, "success").await?;
    seen(3);
    on.says("eve", number, "Nice.").await?;
    seen(4);
    on.says("ada", number, "/status").await?;
    seen(5);
    on.reviews("mia", number, "APPROVE").await?;
    seen(6);
    on.merges("ada", number).await?.map_err(|why| anyhow!("it could not be merged: {why}"))?;
    seen(7);
    Ok(())
}

pub(crate) async fn figure(size: &Size) -> anyhow::Result<String> {
    let mut events: [Cost; LIFE.len()] = Default::default();
    let (mut first, mut later, mut story) = (Cost::default(), Cost::default(), Cost::default());
    for _ in 0..size.lives {
        let on = Rehearsal::start(Setup::with_policy(MERGE_POLICY)).await?;
        on.admin().clear_log();
        let before = on.deliveries().len();
        live(&on, "first", &mut |_| {}).await?;
        first.add(&on, before);
        // What a repository costs once is paid now.
        let before = on.deliveries().len();
        let (mut at, mut calls) = (before, 0);
        live(&on, "later", &mut |event| {
            calls += on.requests().len();
            events[event].add(&on, at);
            at = on.deliveries().len();
        })
        .await?;
        later.webhooks.push((at - before) as f64);
        later.calls.push(calls as f64);
        on.end().await;

        let on = Rehearsal::start(Setup::default()).await?;
        on.admin().clear_log();
        let before = on.deliveries().len();
        let timeline = play(&on, &mut |_| {}).await?;
        story.add(&on, before);
        anyhow::ensure!(timeline.merged, "the story did not go as told");
        on.end().await;
    }
    let mut rows: Vec<Vec<String>> =
        LIFE.iter().zip(&events).map(|((what, least), cost)| cost.row(what, Some(least.len()))).collect();
    let sum = |of: fn(&Cost) -> &Rounds| events.iter().map(|cost| of(cost).median()).sum::<f64>();
    later.unchanged.push(sum(|cost| &cost.unchanged));
    later.writes.push(sum(|cost| &cost.writes));
    let least = LIFE.iter().map(|(_, least)| least.len()).sum();
    rows.push(later.row("all of this change", Some(least)));
    rows.push(first.row("the same, as a repository's first change", None));
    rows.push(story.row("the demo's story, in the pipeline flow", None));
    let head = ["what happens", "webhooks", "calls", "of them unchanged (304)", "of them writes", "least"];
    Ok(format!("{}\n{}", table(&head, &rows), needed()?))
}

/// The calls that can't be done without, and why.
fn needed() -> anyhow::Result<String> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (call, why) in [RECORD, NEW_CHECK, CHECK, NEW_COMMENT, COMMENT, RAN, JOBS, ROLE, OTHERS] {
        let needs = |(_, least): &&(&str, &[Needed])| least.iter().any(|one| one.0 == call);
        let events: Vec<&str> = LIFE.iter().filter(needs).map(|(what, _)| *what).collect();
        let events = Some(events).filter(|events| !events.is_empty()).context("a call that nothing needs")?;
        rows.push(vec![format!("`{call}`"), why.to_owned(), events.join(", ")]);
    }
    Ok(table(&["call", "why there is no way around it", "at"], &rows))
}
