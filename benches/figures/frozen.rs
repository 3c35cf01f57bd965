//! What it takes to freeze a repository's tests and to look whether they are as they were, beside `git diff --name-only` between the
//! same two commits.
//!
//! The repository is made by `git fast-import` out of nothing but its size; three tenths of its files are tests. Three changes are
//! looked at: one that touches no test, one that edits twenty, and one that moves every test to where no runner looks.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

use crate::Size;
use crate::run::{Taken, git, phasegate, succeeds, timed};
use crate::stage::{self, Stage, when};
use crate::stats::{short, table};

/// A folder has so many files.
const EACH: usize = 100;
/// A package has so many folders, of which these are tests.
const FOLDERS: usize = 10;
const OF_TESTS: usize = 3;
/// A change touches so many files, but for the one that moves all tests.
const TOUCHED: usize = 20;

/// The path of a file, by its number.
fn path(at: usize) -> String {
    let folder = at / EACH % FOLDERS;
    let kind = if folder < OF_TESTS { "tests" } else { "lib" };
    format!("{}/{kind}/part_{folder}/module_{:02}.py", package(at), at % EACH)
}

fn package(at: usize) -> String {
    format!("packages/package_{:03}", at / EACH / FOLDERS)
}

fn text(at: usize, more: &str) -> String {
    format!("\"\"\"Part {at}.\"\"\"\n\n\ndef part_{at}(level):\n    return level + {at}{more}\n")
}

/// A repository of so many files with the three changes, packed.
fn repository(stage: &Stage, files: usize) -> anyhow::Result<TempDir> {
    let folder = stage.folder()?;
    let at = folder.path();
    succeeds(git(at).args(["init", "-q", "-b", "main"]))?;
    let mut import = git(at).args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn()?;
    let mut to = std::io::BufWriter::new(import.stdin.take().context("fast-import reads")?);
    let by = "committer figures <figures@example.com> 1767225600 +0000";
    write!(to, "commit refs/heads/main\nmark :1\n{by}\ndata 4\nbase\n")?;
    for number in 0..files {
        let text = text(number, "");
        write!(to, "M 100644 inline {}\ndata {}\n{text}\n", path(number), text.len())?;
    }
    let is_test = |number: &usize| number / EACH % FOLDERS < OF_TESTS;
    for (branch, tests) in [("built", false), ("edited", true)] {
        write!(to, "commit refs/heads/{branch}\n{by}\ndata 6\nchange\nfrom :1\n")?;
        let fitting: Vec<usize> = (0..files).filter(|number| is_test(number) == tests).collect();
        for number in fitting.iter().step_by((fitting.len() / TOUCHED).max(1)).take(TOUCHED) {
            let text = text(*number, " + 1");
            write!(to, "M 100644 inline {}\ndata {}\n{text}\n", path(*number), text.len())?;
        }
    }
    write!(to, "commit refs/heads/moved\n{by}\ndata 6\nchange\nfrom :1\n")?;
    for number in (0..files).step_by(EACH * FOLDERS) {
        writeln!(to, "R {package}/tests {package}/attic", package = package(number))?;
    }
    to.flush()?;
    drop(to);
    ensure!(import.wait()?.success(), "fast-import failed");
    succeeds(git(at).args(["gc", "--quiet"]))?;
    Ok(folder)
}

/// The most that a command ever had in memory, in MiB, by the word of GNU time.
fn peak(command: &Command, ends: &[i32]) -> anyhow::Result<f64> {
    let mut time = Command::new("/usr/bin/time");
    time.args(["--quiet", "--format", "%M"]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        time.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => time.env(name, value),
            None => time.env_remove(name),
        };
    }
    let told = time.stdin(Stdio::null()).stdout(Stdio::null()).output().context("GNU time does not start")?;
    let code = told.status.code().unwrap_or(-1);
    ensure!(ends.contains(&code), "{command:?} ended with {code}");
    let text = String::from_utf8_lossy(&told.stderr);
    let kib: f64 = text.lines().last().unwrap_or_default().trim().parse().context("no peak")?;
    Ok(kib / 1024.0)
}

struct Measured {
    what: &'static str,
    taken: Taken,
    peak: f64,
}

/// What is run, in this order: what is frozen first is checked afterwards.
fn commands(binary: &Path, at: &Path) -> Vec<(&'static str, Command, &'static [i32])> {
    let diff = |to: &str| {
        let mut command = git(at);
        command.args(["diff", "--name-only", "main", to]);
        command
    };
    let ours = |args: &[&str]| {
        let mut command = phasegate(binary, at);
        command.args(args);
        command
    };
    let manifest = ".git/manifest.json";
    let check = |head: &str| ours(&["guard", "check", manifest, "--base", "main", "--head", head]);
    vec![
        ("`git diff --name-only`, 20 files", diff("built"), &[0]),
        ("`phasegate guard freeze`", ours(&["guard", "freeze", "main", "--base", "main", "--out", manifest]), &[0]),
        ("`phasegate guard check`, no test touched", check("built"), &[0]),
        ("`phasegate guard check`, 20 tests edited", check("edited"), &[1]),
        ("`git diff --name-only`, all tests moved", diff("moved"), &[0]),
        ("`phasegate guard check`, all tests moved", check("moved"), &[1]),
    ]
}

pub(crate) fn figure(stage: &Stage, size: &Size) -> anyhow::Result<String> {
    let begun = when()?;
    let binary = stage::binary()?;
    let mut sizes: Vec<Vec<Measured>> = Vec::new();
    for files in size.frozen {
        let folder = repository(stage, files)?;
        let commands = commands(&binary, folder.path());
        let mut all: Vec<Measured> =
            commands.iter().map(|(what, ..)| Measured { what, taken: Taken::default(), peak: 0.0 }).collect();
        // The first time is for the file system's cache.
        for round in 0..=size.looks {
            for ((_, command, ends), measured) in commands.iter().zip(&mut all) {
                let took = timed(command, ends)?;
                if round > 0 {
                    measured.taken.push(took);
                }
            }
        }
        for ((_, command, ends), measured) in commands.iter().zip(&mut all) {
            measured.peak = peak(command, ends)?;
        }
        sizes.push(all);
    }
    let mut rows = Vec::new();
    for (nth, (files, all)) in size.frozen.iter().zip(&sizes).enumerate() {
        for (at, one) in all.iter().enumerate() {
            // Each is held against git's on the same two commits, or as near as there is one.
            let peer = &all[if at < 4 { 0 } else { 4 }];
            let growth = |value: fn(&Measured) -> f64| match nth.checked_sub(1).map(|before| &sizes[before][at]) {
                Some(before) => format!("{:.1}×", value(one) / value(before)),
                None => "–".to_owned(),
            };
            rows.push(vec![
                short(*files as f64),
                one.what.to_owned(),
                one.taken.wall.told(),
                short(one.taken.cpu.median()),
                format!("{:.2}×", one.taken.wall.median() / peer.taken.wall.median()),
                growth(|one| one.taken.wall.median()),
                short(one.peak),
                growth(|one| one.peak),
            ]);
        }
    }
    let head = ["files", "", "ms", "CPU, ms", "of git's", "than with a tenth", "peak, MiB", "than with a tenth"];
    Ok(format!("{}\n{}", table(&head, &rows), begun.told()?))
}
