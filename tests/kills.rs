//! The real process, killed at one write after the other while a story runs, and started again: the end is that of the
//! calm run. See `docs/kills.md`.
//!
//! Usually each point is struck a few times, with one kill a step in a run of a story. `PHASEGATE_KILLS=all` kills at every
//! passage of every point, `PHASEGATE_KILLS=alone` at every passage with one kill a run.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that can not go on has failed, and prints why")]

#[path = "kills_support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};

use anyhow::Context as _;
use libtest_mimic::{Arguments, Failed, Trial};
use phasegate::rehearsal::{Rehearsal, Setup};
use support::bot::Bot;
use support::database::Database;
use support::plan::{self, Kill, Passed};
use support::stories::Story;
use support::tally::Tally;
use support::{end, points};

/// So many runs of each story are played in the test command, and so often a point is struck at most.
const RUNS: usize = 4;
const MOST: usize = 4;

fn main() -> ExitCode {
    assert!(phasegate::fault::BUILT_IN, "a release build has no fault points: run this in a debug build");
    let arguments = Arguments::from_args();
    let tally = Arc::new(Mutex::new(Tally::default()));
    let mut trials = vec![Trial::test("points::each_is_passed_in_a_story", || Ok(each_is_passed()?))];
    let mut add = |name: String, run: Box<dyn Fn() -> Result<Vec<Kill>, String> + Send>| {
        let tally = Arc::clone(&tally);
        trials.push(Trial::test(name, move || strikes(&run()?, &tally)));
    };
    match std::env::var("PHASEGATE_KILLS").as_deref() {
        // Only a calm run tells how many there are.
        Ok(which @ ("all" | "alone")) => {
            let every = plan::every(&passed().unwrap());
            let runs = if which == "all" { plan::together(every) } else { every.into_iter().map(|kill| vec![kill]).collect() };
            for (at, run) in runs.into_iter().enumerate() {
                add(format!("{which}::{:?}::{}", run[0].story, at + 1), Box::new(move || Ok(run.clone())));
            }
        }
        _ => {
            for story in Story::ALL {
                for run in 0..RUNS {
                    add(format!("{story:?}::{}", run + 1), Box::new(move || some(story, run)));
                }
            }
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let mut tally = tally.lock().unwrap();
    if tally.runs > 1 && let Ok(passed) = passed() {
        tally.passages = points::all().unwrap().into_iter().map(|name| (name.clone(), plan::passages(&passed, &name))).collect();
        print!("{tally}");
    }
    conclusion.exit_code()
}

/// The kills of one run, as they are in the test command.
fn some(story: Story, run: usize) -> Result<Vec<Kill>, String> {
    let kills = plan::some(&passed()?, |_| RUNS, MOST);
    let runs = plan::together(kills).into_iter().filter(|kills| kills[0].story == story);
    Ok(runs.into_iter().nth(run).unwrap_or_default())
}

/// How a story goes when nobody disturbs it.
struct Calm {
    end: Vec<String>,
    passed: Vec<BTreeMap<String, u64>>,
}

/// All stories, each played once in peace.
fn calm() -> Result<&'static BTreeMap<Story, Calm>, String> {
    static CALM: OnceLock<Result<BTreeMap<Story, Calm>, String>> = OnceLock::new();
    let played = CALM.get_or_init(|| {
        std::thread::scope(|scope| {
            let plays = Story::ALL.map(|story| {
                scope.spawn(move || play(story, &[], false).map(|(_, passed, end)| (story, Calm { end, passed })))
            });
            let ended = plays.into_iter().map(|play| play.join().unwrap_or_else(|_| Err("a calm run panicked".to_owned())));
            ended.collect()
        })
    });
    played.as_ref().map_err(Clone::clone)
}

fn passed() -> Result<Passed, String> {
    Ok(calm()?.iter().map(|(story, calm)| (*story, calm.passed.clone())).collect())
}

/// A point that no story passes has shown nothing.
fn each_is_passed() -> Result<(), String> {
    let passed = passed()?;
    let mut failures = Vec::new();
    let all = points::all().map_err(|error| format!("{error:#}"))?;
    for point in &all {
        let beside = points::BESIDE_THE_ROAD.iter().find(|(name, _)| point.starts_with(name));
        match (plan::passages(&passed, point), beside) {
            (0, None) => failures.push(format!("{point} is passed in no story: tell one, or say why not")),
            (1.., Some(_)) => failures.push(format!("{point} is passed after all: it is no exception")),
            _ => {}
        }
    }
    let named = passed.values().flatten().flat_map(BTreeMap::keys);
    failures.extend(named.filter(|name| !all.contains(*name)).map(|name| format!("{name} was not found in the code")));
    failures.sort();
    failures.dedup();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Kills it at all of these, in one run. When the end is another one, each is tried alone, and told.
fn strikes(kills: &[Kill], tally: &Mutex<Tally>) -> Result<(), Failed> {
    let Some(story) = kills.first().map(|kill| kill.story) else { return Ok(()) };
    let calm = &calm()?[&story].end;
    let ended = play(story, kills, false).and_then(|(struck, _, end)| {
        end::compare(calm, &end).map_err(|error| format!("{error:#}"))?;
        Ok(struck)
    });
    tally.lock().unwrap().runs += 1;
    let mut failures = Vec::new();
    let left: Vec<Kill> = match ended {
        Ok(struck) => {
            struck.iter().for_each(|kill| tally.lock().unwrap().add(&kill.point, true));
            kills.iter().filter(|kill| !struck.contains(kill)).cloned().collect()
        }
        Err(error) => {
            failures.push(format!("{kills:#?}\n{error}"));
            kills.to_vec()
        }
    };
    for kill in left {
        let survived = alone(&kill, calm);
        tally.lock().unwrap().add(&kill.point, survived.is_ok());
        failures.extend(survived.err().map(|error| format!("alone, {kill:?}\n{error}")));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n").into()) }
}

/// How deliveries come together to batches is another thing in every run, so a passage may be missing; then it is the one
/// before it.
fn alone(kill: &Kill, calm: &[String]) -> Result<(), String> {
    for passage in (1..=kill.passage).rev() {
        let kill = Kill { passage, ..kill.clone() };
        let (struck, _, end) = play(kill.story, std::slice::from_ref(&kill), false)?;
        end::compare(calm, &end).map_err(|error| format!("{error:#}"))?;
        if !struck.is_empty() {
            return Ok(());
        }
    }
    Err("it was never passed".to_owned())
}

type Played = (Vec<Kill>, Vec<BTreeMap<String, u64>>, Vec<String>);

/// Plays a story with these kills. Gives those that struck, what was passed in each step, and the end.
fn play(story: Story, kills: &[Kill], postgres: bool) -> Result<Played, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let played = runtime.block_on(async {
        let database = if postgres { Some(Database::new().await?) } else { None };
        let setup = Setup { database: database.as_ref().map(|database| database.url.clone()), ..story.setup() };
        let mut on = Rehearsal::stage(setup).await?;
        let bot = Bot::new(&on, kills).await?;
        on.runs_elsewhere(bot.clone());
        let told = async {
            let changes = story.play(&on, &bot).await?;
            let ended = bot.ends().await?;
            let end = end::of(&on, &changes, &ended.inbox).await?;
            anyhow::Ok((ended.struck, ended.passed, end))
        };
        let told = told.await.with_context(|| format!("{story:?}\n{}", bot.said()));
        on.end().await;
        if let Some(database) = database {
            database.drop().await?;
        }
        told
    });
    played.map_err(|error| format!("{error:#}"))
}
