//! Bad days of GitHub's: one story a switch, and seeded mixtures of all. The end is what it is on a calm day: nothing
//! twice, nothing lost. At the end stands the tally: what struck, how often, and in how many stories the end was the same.
//!
//! `PHASEGATE_BAD_DAYS=200` plays so many mixtures instead of the usual few, and `PHASEGATE_BAD_DAYS_FROM` is the first
//! seed of them.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that can not go on has failed, and prints why")]

#[path = "bad_days_support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};

use anyhow::{Context as _, ensure};
use libtest_mimic::{Arguments, Trial};
use phasegate::rehearsal::{Rehearsal, Setup};
use phasegate::twin::{BadDay, Switch};
use support::database::Database;
use support::picture;
use support::stories::Story;
use support::tally::Tally;

fn main() -> ExitCode {
    let _ = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "off".into()))
        .with_writer(std::io::stderr)
        .try_init();
    let tally = Arc::new(Mutex::new(Tally::default()));
    let mut trials = Vec::new();
    let mut add = |name: String, story: Story, day: BadDay, postgres: bool| {
        let tally = Arc::clone(&tally);
        trials.push(Trial::test(name, move || {
            let mut struck = BTreeMap::new();
            let ended = play(story, Some(&day), postgres, &mut struck).and_then(|bad| {
                compare(calm(story)?, &bad)?;
                // A switch that never struck has shown nothing. (In a mixture some may be rare.)
                let idle = day.one_in.keys().filter(|switch| !struck.contains_key(switch)).collect::<Vec<_>>();
                ensure!(idle.is_empty() || day.one_in.len() > 1, "{idle:?} never struck");
                Ok(())
            });
            tally.lock().unwrap().add(&struck, ended.is_ok());
            ended.map_err(|error| format!("{story:?} on {day:?}\nstruck: {struck:?}\n{error:#}").into())
        }));
    };
    for switch in Switch::ALL {
        add(format!("hasty::{}", switch.name()), Story::Hasty, alone(switch, Story::Hasty), false);
    }
    // The whole demo where what strikes depends most on what was there before.
    for switch in
        [Switch::Lost, Switch::Delayed, Switch::AnswerLost, Switch::PrimaryLimit, Switch::Lag, Switch::Conflict]
    {
        add(format!("demo::{}", switch.name()), Story::Demo, alone(switch, Story::Demo), false);
    }
    let number = |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (most, from) = (number("PHASEGATE_BAD_DAYS", 12), number("PHASEGATE_BAD_DAYS_FROM", 0));
    for seed in from..from + most {
        let story = if seed % 6 == 0 { Story::Demo } else { Story::Hasty };
        add(format!("mixed::{seed}"), story, BadDay::mixed(seed), false);
    }
    for (seed, story) in [(1001, Story::Hasty), (1002, Story::Hasty), (1003, Story::Hasty)] {
        add(format!("postgresql::{seed}"), story, BadDay::mixed(seed), true);
    }
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    let tally = tally.lock().unwrap();
    if tally.stories() > 1 {
        print!("{tally}");
    }
    conclusion.exit_code()
}

/// A day for one switch, so bad that it strikes in a short story too.
fn alone(switch: Switch, story: Story) -> BadDay {
    let one_in = match (switch, story) {
        (Switch::Conflict, _) => 2,
        (Switch::Lost | Switch::Doubled | Switch::Reordered | Switch::Delayed, _) => 3,
        (Switch::Lag, _) => 4,
        (_, Story::Demo) => 25,
        (_, Story::Hasty) => 10,
    };
    BadDay::only(7, switch, one_in)
}

/// How a story ends on a calm day; played once.
fn calm(story: Story) -> anyhow::Result<&'static [String]> {
    static ENDS: [OnceLock<Result<Vec<String>, String>>; 2] = [OnceLock::new(), OnceLock::new()];
    let end = &ENDS[usize::from(story == Story::Hasty)];
    let played = end.get_or_init(|| {
        play(story, None, false, &mut BTreeMap::new()).map_err(|error| format!("on a calm day: {error:#}"))
    });
    played.as_deref().map_err(|error| anyhow::anyhow!("{error}"))
}

fn compare(calm: &[String], bad: &[String]) -> anyhow::Result<()> {
    let missing: Vec<&String> = calm.iter().filter(|line| !bad.contains(line)).collect();
    let more: Vec<&String> = bad.iter().filter(|line| !calm.contains(line)).collect();
    let same = missing.is_empty() && more.is_empty() && calm.len() == bad.len();
    ensure!(same, "not the same end\n  on a calm day: {missing:#?}\n  on this day: {more:#?}");
    Ok(())
}

fn play(
    story: Story,
    day: Option<&BadDay>,
    postgres: bool,
    struck: &mut BTreeMap<Switch, u64>,
) -> anyhow::Result<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let database = if postgres { Some(Database::new().await?) } else { None };
        let setup = Setup { database: database.as_ref().map(|database| database.url.clone()), ..story.setup() };
        let on = Rehearsal::start(setup).await?;
        on.admin().plays(&format!("bad day of {story:?}"));
        on.everybody_is_patient(true);
        if let Some(day) = day {
            on.admin().bad_day(day.clone());
        }
        let played = story.play(&on).await;
        *struck = on.admin().calm();
        let (number, mut seen) = played?;
        on.settle().await?;
        let stats = on.server().context("the bot is gone")?.inbox().stats().await?;
        ensure!((stats.dead, stats.parked) == (0, 0), "{} dead letters, {} put off", stats.dead, stats.parked);
        seen.extend(picture::take(&on, story == Story::Demo, number).await?);
        on.end().await;
        if let Some(database) = database {
            database.drop().await?;
        }
        Ok(seen)
    })
}
