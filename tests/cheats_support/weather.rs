//! GitHub's own part in a story: it fails, limits, forgets, comes late.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::ensure;
use phasegate::twin::{BadDay, Effect, Fault, Switch};
use serde::Deserialize;

use super::stage::Stage;

/// The bot's next requests that match end like this.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Strikes {
    method: Option<String>,
    /// A part of the path; `/graphql` is where the ledger is read and written.
    path: String,
    with: With,
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum With {
    /// This status, and nothing was done.
    Refuse(u16),
    /// It is a write, it is done, and the answer is this status.
    Lose(u16),
    /// It is a write, it is done, and there is no answer.
    Hang,
    /// No answer, and nothing was done.
    Break,
    /// The hour's calls are used up.
    Primary(u16),
    /// The secondary limit, which says only so.
    Secondary(u16),
    /// The token is good no more.
    Expire,
    /// Another writer is faster.
    Rival,
}

/// A day on which each of these switches strikes once in so many.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Day {
    #[serde(default)]
    seed: u64,
    one_in: BTreeMap<Switch, u32>,
}

pub(crate) fn strikes(stage: &mut Stage, strike: Strikes) {
    let effect = match strike.with {
        With::Refuse(status) => Effect::Refuse(status),
        With::Lose(status) => Effect::Lose(status),
        With::Hang => Effect::Hang,
        With::Break => Effect::Break,
        With::Primary(status) => Effect::Primary { status },
        With::Secondary(status) => Effect::Secondary { status, retry_after: None },
        With::Expire => Effect::Expire,
        With::Rival => Effect::Rival,
    };
    stage.on.everybody_is_patient(true);
    let Strikes { method, path, times, .. } = strike;
    stage.on.admin().inject(Fault { method, path_contains: path, effect, times });
}

pub(crate) fn bad_day(stage: &mut Stage, day: Day) {
    stage.on.everybody_is_patient(true);
    stage.on.admin().bad_day(BadDay { seed: day.seed, one_in: day.one_in });
}

/// All is well again. What was to strike and did not has shown nothing.
pub(crate) async fn calm(stage: &mut Stage) -> anyhow::Result<()> {
    let planned = stage.on.admin().day();
    let struck = stage.on.admin().calm();
    for switch in planned.iter().flat_map(|day| day.one_in.keys()) {
        ensure!(struck.contains_key(switch), "{switch:?} never struck");
    }
    let left = stage.on.admin().clear_faults();
    ensure!(left == 0, "{left} requests were to be struck and never came");
    stage.settle().await?;
    stage.on.everybody_is_patient(false);
    Ok(())
}

/// So many hours go by.
pub(crate) async fn hours_pass(stage: &mut Stage, hours: u64) -> anyhow::Result<()> {
    stage.on.time_passes(Duration::from_secs(hours * 3600)).await
}
