//! What people and agents will try, played against the real engine: a story a file in `tests/cheats/`, each with its
//! honest twin. Every file is a test. At the end stands the tally: caught, missed, honest changes wrongly stopped.
//!
//! `docs/cheats.md` says how a story is written.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that can not go on has failed, and prints why")]

#[path = "cheats_support/mod.rs"]
mod support;

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Trial};
use support::story::Story;
use support::tally::{Result as Played, Tally};

fn main() -> ExitCode {
    let _ = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "off".into()))
        .with_writer(std::io::stderr)
        .try_init();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cheats");
    let tally = Arc::new(Mutex::new(Tally::default()));
    let mut trials = Vec::new();
    for path in support::story::files(&folder) {
        let tally = Arc::clone(&tally);
        let name = path.strip_prefix(&folder).unwrap_or(&path).with_extension("").display().to_string();
        trials.push(Trial::test(name.replace(['/', '\\'], "::"), move || {
            let story = Story::read(&path)?;
            let played = play(&story);
            let failed = played.failure();
            tally.lock().unwrap().add(&story, &played);
            failed.map_or(Ok(()), |why| Err(why.into()))
        }));
    }
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    let tally = tally.lock().unwrap();
    // A runner that gives each test a process of its own sees one story a time: nothing to add up.
    if tally.stories() > 1 {
        print!("{tally}");
    }
    conclusion.exit_code()
}

/// Plays both halves, each on a stage of its own.
fn play(story: &Story) -> Played {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let half = |steps| {
        story.bots().into_iter().find_map(|bot| {
            let played = runtime.block_on(support::stage::play(story, steps, bot));
            played.err().map(|error| format!("with the bot as {bot:?}: {error:#}"))
        })
    };
    Played { cheat: half(&story.cheat), honest: half(&story.honest) }
}
