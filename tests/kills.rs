//! The real process, killed at one write after the other while a story runs, and started again: the end is that of the
//! calm run. See `docs/kills.md`.
//!
//! Usually each point is struck a few times, with one kill a step in a run of a story. `PHASEGATE_KILLS=all` kills at every
//! passage of every point, `PHASEGATE_KILLS=alone` at every passage with one kill a run, and
//! `PHASEGATE_KILLS='STORY STEP PASSAGE POINT'` at that one, as a failure names it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that can not go on has failed, and prints why")]

#[path = "kills_support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};

use anyhow::Context as _;
use libtest_mimic::{Arguments, Failed, Trial};
use phasegate::rehearsal::{Rehearsal, Setup};
use support::bot::{Bot, Dead};
use support::database::Database;
use support::errand::Errands;
use support::plan::{self, Kill, Passed};
use support::stories::{Story, acted};
use support::tally::Tally;
use support::{end, points};

/// So many runs of each story are played in the test command, and so often a point is struck at most.
const RUNS: usize = 3;
const MOST: usize = 4;

/// In these it is killed again while it recovers.
const NESTED: [Story; 3] = [Story::Merged, Story::Meddled, Story::Stopped];

/// So many runs of the Action's story are played: several kills a step.
const ERRANDS: usize = 2;

type Kills = Box<dyn Fn() -> Result<Vec<Kill>, String> + Send>;

fn main() -> ExitCode {
    if !phasegate::fault::BUILT_IN {
        println!("a release build has no fault points: run this in a debug build");
        return ExitCode::FAILURE;
    }
    let arguments = Arguments::from_args();
    let tally = Arc::new(Mutex::new(Tally::default()));
    let mut trials = vec![
        Trial::test("points::each_is_passed_in_a_story", || Ok(each_is_passed()?)),
        Trial::test("points::each_has_its_kill", || Ok(each_has_its_kill()?)),
    ];
    let mut add = |name: String, run: fn(&[Kill], &Mutex<Tally>) -> Result<(), Failed>, kills: Kills| {
        let tally = Arc::clone(&tally);
        trials.push(Trial::test(name, move || run(&kills()?, &tally)));
    };
    match std::env::var("PHASEGATE_KILLS").as_deref() {
        // Only a calm run tells how many there are.
        Ok(which @ ("all" | "alone")) => {
            let every = plan::every(&passed().unwrap());
            let alone = |every: Vec<Kill>| every.into_iter().map(|kill| vec![kill]).collect();
            let runs: Vec<Vec<Kill>> = if which == "all" { plan::together(every) } else { alone(every) };
            for (at, run) in runs.into_iter().enumerate() {
                add(format!("{which}::{:?}::{}", run[0].story, at + 1), strikes, Box::new(move || Ok(run.clone())));
            }
            for point in ["webhook.received", "github.POST /graphql.after"] {
                let kill = Kill { story: Story::Missed, step: 1, point: point.to_owned(), passage: 1 };
                add(format!("real_time::{point}"), strikes_in_real_time, Box::new(move || Ok(vec![kill.clone()])));
            }
        }
        Ok(one) => {
            let kill: Kill = one.parse().unwrap();
            add(format!("one::{kill}"), strikes, Box::new(move || Ok(vec![kill.clone()])));
        }
        Err(_) => {
            for story in NESTED {
                add(format!("nested::{story:?}"), strikes_twice, Box::new(move || twice(story)));
            }
            for run in 0..ERRANDS {
                add(format!("Acted::{}", run + 1), strikes_errands, Box::new(move || Ok(errands()?.swap_remove(run))));
            }
            for story in Story::ALL.into_iter().filter(|story| story.is_served()) {
                for run in 0..RUNS {
                    add(format!("{story:?}::{}", run + 1), strikes, Box::new(move || some(story, run)));
                }
            }
            add("postgresql::Stopped".to_owned(), strikes_on_postgresql, Box::new(|| of_the_inbox(Story::Stopped)));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let mut tally = tally.lock().unwrap();
    if tally.runs > 1
        && let Ok(passed) = passed()
    {
        let passages = |name: String| (plan::passages(&passed, &name), name);
        tally.passages = points::all().unwrap().into_iter().map(passages).map(|(n, name)| (name, n)).collect();
        print!("{tally}");
    }
    // One that was planned and did not strike has failed by then; this is about those that nobody planned.
    let whole = tally.runs > 1 && conclusion.num_filtered_out == 0 && conclusion.num_failed == 0;
    let unstruck = if whole { tally.unstruck(points::on_the_road().unwrap()) } else { Vec::new() };
    unstruck.iter().for_each(|point| println!("{point} was never struck"));
    if unstruck.is_empty() { conclusion.exit_code() } else { ExitCode::FAILURE }
}

/// The kills of one run, as they are in the test command.
fn some(story: Story, run: usize) -> Result<Vec<Kill>, String> {
    let runs = plan::together(plan::some(&served()?, RUNS, MOST)?);
    Ok(runs.into_iter().filter(|kills| kills[0].story == story).nth(run).unwrap_or_default())
}

/// The kills of the runs of the Action's story.
fn errands() -> Result<Vec<Vec<Kill>>, String> {
    Ok(plan::each(Story::Acted, &calm(Story::Acted)?.order, ERRANDS))
}

/// Two kills in every step.
fn twice(story: Story) -> Result<Vec<Kill>, String> {
    let steps = &calm(story)?.passed;
    let mut kills = plan::anywhere(story, steps, 1);
    // What is passed again, it is killed at as soon as it is.
    kills.extend(plan::anywhere(story, steps, 2).into_iter().map(|kill| Kill { passage: 1, ..kill }));
    Ok(kills)
}

/// One kill in every step, at the inbox.
fn of_the_inbox(story: Story) -> Result<Vec<Kill>, String> {
    let mut steps = calm(story)?.passed.clone();
    steps.iter_mut().for_each(|points| points.retain(|point, _| point.starts_with("inbox.")));
    Ok(plan::anywhere(story, &steps, 3))
}

/// How a story goes when nobody disturbs it.
struct Calm {
    end: Vec<String>,
    passed: Vec<BTreeMap<String, u64>>,
    /// In their order, where a step is one process.
    order: Vec<Vec<String>>,
}

/// Played once.
fn calm(story: Story) -> Result<&'static Calm, String> {
    static CALM: [OnceLock<Result<Calm, String>>; Story::ALL.len()] = [const { OnceLock::new() }; Story::ALL.len()];
    let at = Story::ALL.iter().position(|one| *one == story).unwrap_or_default();
    let played = CALM[at].get_or_init(|| {
        play(story, &[], false, Dead::ForTwoMinutes).map(|Played { passed, order, end, .. }| Calm {
            end,
            passed,
            order,
        })
    });
    played.as_ref().map_err(|error| format!("in peace: {error}"))
}

/// What all stories pass.
fn passed() -> Result<Passed, String> {
    std::thread::scope(|scope| {
        let plays = Story::ALL.map(|story| scope.spawn(move || Ok((story, calm(story)?.passed.clone()))));
        let ended = plays.into_iter().map(|play| play.join().unwrap_or_else(|_| Err("a calm run panicked".to_owned())));
        ended.collect()
    })
}

/// What the stories pass in which a server plays.
fn served() -> Result<Passed, String> {
    let mut passed = passed()?;
    passed.retain(|story, _| story.is_served());
    Ok(passed)
}

/// A point that no story passes has shown nothing.
fn each_is_passed() -> Result<(), String> {
    let passed = passed()?;
    let mut failures = Vec::new();
    let all = points::all().map_err(|error| format!("{error:#}"))?;
    failures.extend(points::unnamed_writes().map_err(|error| format!("{error:#}"))?);
    for point in &all {
        let beside = points::BESIDE_THE_ROAD.iter().find(|(name, _)| point.starts_with(name));
        match (plan::passages(&passed, point), beside) {
            (0, None) => failures.push(format!("{point} is passed in no story: tell one, or say why not")),
            (1.., Some(_)) => failures.push(format!("{point} is passed after all: it is no exception")),
            _ => {}
        }
    }
    // The page has them all, and no others.
    let page = include_str!("../docs/kills.md");
    let told: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    for point in all.iter().filter(|point| plan::passages(&passed, point) > 0 && !told.contains(&point.as_str())) {
        failures.push(format!("{point} is not in the table of docs/kills.md"));
    }
    for name in told.iter().filter(|name| !all.contains(**name) && !name.ends_with('*')) {
        failures.push(format!("{name} is in docs/kills.md and not in the code"));
    }
    for (name, why) in points::BESIDE_THE_ROAD {
        if !page.contains(&format!("| `{name}*` | {why} |")) {
            failures.push(format!("docs/kills.md does not say why no story passes {name}"));
        }
    }
    let named = passed.values().flatten().flat_map(BTreeMap::keys);
    failures.extend(named.filter(|name| !all.contains(*name)).map(|name| format!("{name} was not found in the code")));
    failures.sort();
    failures.dedup();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// A point that nobody kills it at has shown nothing either.
fn each_has_its_kill() -> Result<(), String> {
    let mut kills = plan::some(&served()?, RUNS, MOST)?;
    kills.extend(errands()?.into_iter().flatten());
    let planned: BTreeSet<&String> = kills.iter().map(|kill| &kill.point).collect();
    let road = points::on_the_road().map_err(|error| format!("{error:#}"))?;
    let left: Vec<&String> = road.iter().filter(|point| !planned.contains(point)).collect();
    if left.is_empty() { Ok(()) } else { Err(format!("no kill is planned at {left:?}")) }
}

/// Kills it at all of these, in one run. When the end is another one, each is tried alone, and told.
fn strikes(kills: &[Kill], tally: &Mutex<Tally>) -> Result<(), Failed> {
    let Some(story) = kills.first().map(|kill| kill.story) else { return Ok(()) };
    tally.lock().unwrap().runs += 1;
    let mut failures = Vec::new();
    let left: Vec<Kill> = match survives(story, kills, false, Dead::ForTwoMinutes) {
        Ok(struck) => {
            struck.iter().for_each(|kill| tally.lock().unwrap().add(&kill.point, true));
            kills.iter().filter(|kill| !struck.contains(kill)).cloned().collect()
        }
        Err(error) => {
            failures.push(error);
            kills.to_vec()
        }
    };
    for kill in left {
        let survived = alone(&kill);
        tally.lock().unwrap().add(&kill.point, survived.is_ok());
        failures.extend(survived.err());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n").into()) }
}

/// The Action is killed at every point that it passes.
fn strikes_errands(kills: &[Kill], tally: &Mutex<Tally>) -> Result<(), Failed> {
    strikes(kills, tally)?;
    let steps: BTreeSet<usize> = kills.iter().map(|kill| kill.step).collect();
    let told = format!("{} kills in {} events, all survived", kills.len(), steps.len());
    tally.lock().unwrap().beside("action", told);
    if kills.len() > steps.len() { Ok(()) } else { Err("most of its points were not passed".into()) }
}

/// How deliveries come together to batches is another thing in every run, so a passage may be missing; then it is the one
/// before it.
fn alone(kill: &Kill) -> Result<(), String> {
    for passage in (1..=kill.passage).rev() {
        let kill = Kill { passage, ..kill.clone() };
        if !survives(kill.story, std::slice::from_ref(&kill), false, Dead::ForTwoMinutes)?.is_empty() {
            return Ok(());
        }
    }
    Err(format!("{kill} was never passed"))
}

/// Kills it, and again while it makes good what that left behind.
fn strikes_twice(kills: &[Kill], tally: &Mutex<Tally>) -> Result<(), Failed> {
    let Some(story) = kills.first().map(|kill| kill.story) else { return Ok(()) };
    let struck = survives(story, kills, false, Dead::ForTwoMinutes)?;
    let steps = |kills: &[Kill]| kills.iter().map(|kill| kill.step).fold(BTreeMap::new(), count);
    let again = steps(&struck).into_values().filter(|kills| *kills > 1).count();
    tally
        .lock()
        .unwrap()
        .beside("nested", format!("{} kills, {again} of them while it recovered, all survived", struck.len()));
    if again == 0 { Err("it was never killed while it recovered".into()) } else { Ok(()) }
}

fn count(mut counts: BTreeMap<usize, usize>, step: usize) -> BTreeMap<usize, usize> {
    *counts.entry(step).or_default() += 1;
    counts
}

fn strikes_on_postgresql(kills: &[Kill], tally: &Mutex<Tally>) -> Result<(), Failed> {
    let Some(story) = kills.first().map(|kill| kill.story) else { return Ok(()) };
    let struck = survives(story, kills, true, Dead::ForTwoMinutes)?;
    tally.lock().unwrap().beside("postgresql", format!("{} kills, all survived", struck.len()));
    if struck.len() * 2 < kills.len() { Err("most of the kills did not strike".into()) } else { Ok(()) }
}

/// Nobody puts the clock forward: the lease runs out, and the look that comes by itself asks for what was missed.
fn strikes_in_real_time(kills: &[Kill], tally: &Mutex<Tally>) -> Result<(), Failed> {
    let Some(story) = kills.first().map(|kill| kill.story) else { return Ok(()) };
    let struck = survives(story, kills, false, Dead::ForAMoment)?;
    tally.lock().unwrap().beside("real time", format!("{} kills, all survived", struck.len()));
    if struck.is_empty() { Err("it was not killed".into()) } else { Ok(()) }
}

/// Plays a story with these kills, and compares its end with that of the calm run. Gives those that struck.
fn survives(story: Story, kills: &[Kill], postgres: bool, dead: Dead) -> Result<Vec<Kill>, String> {
    let calm = calm(story)?;
    let played = play(story, kills, postgres, dead);
    let ended = played.and_then(|Played { struck, end, .. }| {
        end::compare(&calm.end, &end).map_err(|error| format!("{error:#}"))?;
        Ok(struck)
    });
    let told = || kills.iter().map(|kill| format!("  {kill}\n")).collect::<String>();
    ended.map_err(|error| format!("killed at\n{}{error}", told()))
}

/// How a story was played: the kills that struck, what was passed in each step, and the end.
struct Played {
    struck: Vec<Kill>,
    passed: Vec<BTreeMap<String, u64>>,
    order: Vec<Vec<String>>,
    end: Vec<String>,
}

/// Plays a story with these kills.
fn play(story: Story, kills: &[Kill], postgres: bool, dead: Dead) -> Result<Played, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let played = runtime.block_on(async {
        if !story.is_served() {
            return play_errands(story, kills).await;
        }
        let database = if postgres { Some(Database::new().await?) } else { None };
        let setup = Setup { database: database.as_ref().map(|database| database.url.clone()), ..story.setup() };
        let mut on = Rehearsal::stage(setup).await?;
        let bot = Bot::new(&on, kills, dead).await?;
        on.runs_elsewhere(bot.clone());
        let told = async {
            let changes = story.play(&on, &bot).await?;
            let ended = bot.ends().await?;
            let end = end::of(&on, &changes, &ended.inbox).await?;
            anyhow::Ok(Played { struck: ended.struck, passed: ended.passed, order: Vec::new(), end })
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

/// Plays a story in which each event starts a process of its own.
async fn play_errands(story: Story, kills: &[Kill]) -> anyhow::Result<Played> {
    let errands = Errands::new(kills)?;
    let on = Rehearsal::start(Setup { runner: Some(errands.clone()), ..story.setup() }).await?;
    let told = async {
        let changes = acted(&on).await?;
        let (struck, order) = errands.ended().await;
        let end = end::of(&on, &changes, &[]).await?.iter().map(|line| end::without_the_unkept(line)).collect();
        let counted = |points: &Vec<String>| {
            let mut counts = BTreeMap::new();
            points.iter().for_each(|point| *counts.entry(point.clone()).or_default() += 1);
            counts
        };
        anyhow::Ok(Played { struck, passed: order.iter().map(counted).collect(), order, end })
    };
    let told = match told.await {
        Ok(told) => Ok(told),
        Err(error) => Err(error.context(format!("{story:?}\n{}", errands.said().await))),
    };
    on.end().await;
    told
}
