//! What `phasegate run verify` adds to the commands that it runs: a fresh copy of the head, walls, limits, the log, reports.
//!
//! The peer is the command itself, given to the same shell in a checkout that is there already.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use crate::Size;
use crate::stage::{self, Stage, when};
use crate::stats::{Rounds, short, table};

/// So many tests are in the report.
const TESTS: usize = 1_000;

struct Case {
    what: &'static str,
    command: &'static str,
    /// The rest of `gates.verify`.
    gate: &'static str,
}

const CASES: [Case; 5] = [
    Case { what: "`true`", command: "true", gate: "" },
    Case { what: "`sleep 1`", command: "sleep 1", gate: "" },
    Case {
        what: "a report of 1,000 tests",
        command: "cp tests/report.xml out.xml",
        gate: ", reports: [out.xml], earned: \"off\"",
    },
    Case {
        what: "`sleep 1`, and a report of 1,000 tests",
        command: "sleep 1; cp tests/report.xml out.xml",
        gate: ", reports: [out.xml], earned: \"off\"",
    },
    Case {
        what: "the same, and on the base too (`earned: demand`)",
        command: "sleep 1; cp tests/report.xml out.xml",
        gate: ", reports: [out.xml], earned: demand",
    },
];

/// A command of git's that must succeed, with nothing of who runs it.
pub(crate) fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for (name, value) in [("NAME", "figures"), ("EMAIL", "figures@example.com"), ("DATE", "2026-01-01T00:00:00Z")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    command
}

pub(crate) fn succeeds(command: &mut Command) -> anyhow::Result<()> {
    let told = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?} does not start"))?;
    ensure!(told.status.success(), "{command:?}: {}", String::from_utf8_lossy(&told.stderr));
    Ok(())
}

/// How long something took, in milliseconds: by the clock, and of the processors' time, which does not grow when others want them too.
#[derive(Clone, Copy)]
pub(crate) struct Took {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
}

/// What a command and all that it waited for took, by the word of the shell. It must end with one of these.
pub(crate) fn timed(command: &Command, ends: &[i32]) -> anyhow::Result<Took> {
    let mut shell = Command::new("bash");
    shell.args(["-c", "TIMEFORMAT='%3R %3U %3S'; time \"$@\" > /dev/null 2>&1 < /dev/null", "bash"]);
    shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let told = shell.output().context("bash does not start")?;
    let code = told.status.code().unwrap_or(-1);
    ensure!(ends.contains(&code), "{command:?} ended with {code}");
    let text = String::from_utf8_lossy(&told.stderr);
    let times: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().context("no times")?;
    let [wall, user, system] = times.as_slice() else { bail!("{text:?} are no times") };
    Ok(Took { wall: wall * 1000.0, cpu: (user + system) * 1000.0 })
}

/// Rounds of both.
#[derive(Clone, Default)]
pub(crate) struct Taken {
    pub(crate) wall: Rounds,
    pub(crate) cpu: Rounds,
}

impl Taken {
    pub(crate) fn push(&mut self, took: Took) {
        self.wall.push(took.wall);
        self.cpu.push(took.cpu);
    }
}

/// A repository with a policy and a change.
fn repository(folder: &Path, case: &Case) -> anyhow::Result<()> {
    let commit = |message: &str| -> anyhow::Result<()> {
        succeeds(git(folder).args(["add", "-A"]))?;
        succeeds(git(folder).args(["commit", "-qm", message]))
    };
    succeeds(git(folder).args(["init", "-q", "-b", "main"]))?;
    let checks = "checks: [{name: test, workflow: .github/workflows/ci.yml}]";
    let policy = format!("version: 1\ngates: {{verify: {{{checks}, run: [\"{}\"]{}}}}}\n", case.command, case.gate);
    std::fs::create_dir_all(folder.join(".github"))?;
    std::fs::write(folder.join(".github/phasegate.yml"), policy)?;
    let cases: String = (0..TESTS).map(|at| format!("<testcase name=\"test_{at}\" time=\"0.01\"/>\n")).collect();
    std::fs::create_dir_all(folder.join("tests"))?;
    std::fs::write(folder.join("tests/report.xml"), format!("<testsuite name=\"lamp\">\n{cases}</testsuite>\n"))?;
    std::fs::write(folder.join("lamp.py"), "level = 5\n")?;
    commit("base")?;
    succeeds(git(folder).args(["checkout", "-qb", "change"]))?;
    std::fs::write(folder.join("lamp.py"), "level = 6\n")?;
    commit("change")
}

/// `phasegate`, as somebody at a terminal runs it.
pub(crate) fn phasegate(binary: &Path, folder: &Path) -> Command {
    let mut command = Command::new(binary);
    command.current_dir(folder);
    for name in ["GITHUB_ACTIONS", "RUNNER_TEMP", "GITHUB_EVENT_PATH"] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn figure(stage: &Stage, size: &Size) -> anyhow::Result<String> {
    let begun = when()?;
    let binary: PathBuf = stage::binary()?;
    let mut rows = Vec::new();
    for case in &CASES {
        let folder = stage.folder()?;
        repository(folder.path(), case)?;
        let mut shell = Command::new("bash");
        shell.current_dir(folder.path()).args(["-euo", "pipefail", "-c", case.command]);
        let mut walled = phasegate(&binary, folder.path());
        walled.args(["run", "verify"]);
        let mut in_place = phasegate(&binary, folder.path());
        in_place.args(["run", "verify", "--in-place"]);
        let mut taken: [Taken; 3] = Default::default();
        // The first time is for the file system's cache.
        for round in 0..=size.starts {
            for (taken, command) in taken.iter_mut().zip([&shell, &walled, &in_place]) {
                // A report that was there before would be none of this run.
                let _ = std::fs::remove_file(folder.path().join("out.xml"));
                let took = timed(command, &[0])?;
                if round > 0 {
                    taken.push(took);
                }
            }
        }
        let bare = taken[0].wall.median();
        let mut row = vec![case.what.to_owned()];
        for (at, taken) in taken.iter().enumerate() {
            row.push(taken.wall.told());
            if at > 0 {
                row.push(short(taken.wall.median() - bare));
            }
            row.push(short(taken.cpu.median()));
        }
        rows.push(row);
    }
    let head = [
        "command",
        "by `bash -c`, ms",
        "CPU, ms",
        "by `phasegate run`, ms",
        "more",
        "CPU, ms",
        "`--in-place`, ms",
        "more",
        "CPU, ms",
    ];
    Ok(format!("{}\n{}", table(&head, &rows), begun.told()?))
}
