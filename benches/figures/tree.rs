//! How long the gates that read a repository take on a large one, beside `git status` on the same.
//!
//! The repository is made by `git fast-import` out of nothing but its size, so it is the same each time. A tenth of it are tests, and
//! its change touches twenty files. What the server does with a pull request's content is measured in this process: the same
//! functions, on the same repository.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, anyhow, ensure};
use phasegate::gate::papers::{self, Papers};
use phasegate::gate::{build, reconcile};
use phasegate::guard::{Scene, hold};
use phasegate::policy;
use phasegate::rehearsal::papers::{ALL, CODE};
use phasegate::repo::meaning::{self, ByPolicy, Sides};
use phasegate::repo::{LocalRepo, Reader as _, content_digest, touched};
use tempfile::TempDir;

use crate::Size;
use crate::run::{Taken, Took, git, phasegate, succeeds, timed};
use crate::stage::{self, Stage, when};
use crate::stats::{short, table};

const POLICY: &str = "\
version: 1
flow: pipeline
gates: {verify: {run: [\"true\"], checks: [{name: test, workflow: .github/workflows/ci.yml}]}}
";
const CI: &str = ".github/workflows/ci.yml";

/// A folder has so many files.
const EACH: usize = 100;
/// The change touches so many of them.
const TOUCHED: usize = 20;

/// The path of a file, by its number: each tenth folder is one of tests.
fn path(at: usize) -> String {
    let folder = at / EACH;
    let kind = if folder.is_multiple_of(10) { "tests" } else { "lib" };
    format!("packages/p{:03}/{kind}/f{:02}_{:02}.py", folder / 20, folder % 20, at % EACH)
}

fn text(at: usize, more: &str) -> String {
    let mut text = format!("\"\"\"Part {at}.\"\"\"\n\n");
    for line in 0..20 {
        let _ = writeln!(text, "def part_{at}_{line}(level):\n    return level + {line}{more}\n");
    }
    text
}

/// A repository of so many files, with papers, a policy, a workflow and a change, checked out.
fn repository(stage: &Stage, files: usize) -> anyhow::Result<TempDir> {
    let folder = stage.folder()?;
    let at = folder.path();
    succeeds(git(at).args(["init", "-q", "-b", "main"]))?;
    let mut import = git(at).args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn()?;
    let mut to = std::io::BufWriter::new(import.stdin.take().context("fast-import reads")?);
    let by = "committer figures <figures@example.com> 1767225600 +0000";
    write!(to, "commit refs/heads/main\nmark :1\n{by}\ndata 4\nbase\n")?;
    let fixed = [(".github/phasegate.yml", POLICY), (CI, phasegate::rehearsal::CI), ("Makefile", "test:\n\ttrue\n")];
    for (path, text) in fixed.into_iter().chain(ALL) {
        write!(to, "M 100644 inline {path}\ndata {}\n{text}\n", text.len())?;
    }
    for number in 0..files {
        let text = text(number, "");
        write!(to, "M 100644 inline {}\ndata {}\n{text}\n", path(number), text.len())?;
    }
    write!(to, "commit refs/heads/change\n{by}\ndata 6\nchange\nfrom :1\n")?;
    for number in 0..TOUCHED {
        let number = number * (files / TOUCHED) + 150;
        let text = text(number, " + 1");
        write!(to, "M 100644 inline {}\ndata {}\n{text}\n", path(number), text.len())?;
    }
    for (path, text) in CODE {
        write!(to, "M 100644 inline {path}\ndata {}\n{text}\n", text.len())?;
    }
    to.flush()?;
    drop(to);
    ensure!(import.wait()?.success(), "fast-import failed");
    succeeds(git(at).args(["checkout", "-q", "change"]))?;
    // As after a clone, and as git itself leaves it: packed, and with the index refreshed.
    succeeds(git(at).args(["gc", "--quiet"]))?;
    succeeds(git(at).args(["status"]))?;
    Ok(folder)
}

/// What a look of the server's at a pull request reads, once its objects are in the mirror.
fn look(at: &Path) -> anyhow::Result<Took> {
    let (begun, before) = (Instant::now(), on_cpu()?);
    let reader = LocalRepo::open(at.join(".git"))?;
    let commit = |name: &str| reader.revision(name)?.with_context(|| format!("no {name}"));
    let (tip, head) = (commit("main")?, commit("change")?);
    let policy = policy::parse(POLICY.as_bytes()).map_err(|problems| anyhow!("{problems:?}"))?;
    let base = reader.merge_base(&tip, &head)?.context("no base")?;
    let deltas = reader.diff(&base, &head)?;
    let content = content_digest(&deltas, &policy.digest(), &phasegate::repo::Written::new());
    let papers = Papers::read(&reader, &tip, &base, &head)?;
    let judged = papers::judge_all(&papers, &policy);
    let site = build::site(&reader, &base, &head, &papers)?.context("there is code")?;
    let built = build::judge(&site, &papers, &policy);
    let (drifted, _) = reconcile::look(&reader, &head, &site, &papers, &policy)?;
    let (different, paths) = (reader.diff(&tip, &head)?, touched(&deltas));
    let by_policy = ByPolicy { named: Some(&globset()?), commands: &["true".to_owned()] };
    let drift =
        meaning::drift(&reader, CI, by_policy, Sides { tip: &tip, base: &base, head: &head }, &different, &paths)?;
    let frozen = Scene::read(&reader, None, &base)?.manifest(&policy);
    let trips = hold(&frozen, &Scene::read(&reader, Some(&base), &head)?, &Default::default());
    let took = Took { wall: begun.elapsed().as_secs_f64() * 1000.0, cpu: on_cpu()? - before };
    let _ = std::hint::black_box((content, judged, built, drifted, drift, trips));
    Ok(took)
}

/// How long this thread has had a processor so far, in milliseconds.
fn on_cpu() -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e6)
}

fn globset() -> anyhow::Result<globset::GlobSet> {
    Ok(policy::globs::<&str>([])?)
}

pub(crate) fn figure(stage: &Stage, size: &Size) -> anyhow::Result<String> {
    let begun = when()?;
    let binary = stage::binary()?;
    let mut columns: Vec<Vec<Taken>> = Vec::new();
    let commands: [(&str, &[&str]); 5] = [
        ("`phasegate check expand design analyze`", &["check", "expand", "design", "analyze"]),
        ("`phasegate check build`", &["check", "build"]),
        ("`phasegate check reconcile`", &["check", "reconcile"]),
        ("`phasegate guard freeze`", &["guard", "freeze", "main", "--out", ".git/manifest.json"]),
        ("`phasegate guard check`", &["guard", "check", ".git/manifest.json"]),
    ];
    for files in size.files {
        let folder = repository(stage, files)?;
        let at = folder.path();
        // Where `phasegate run` makes its own.
        let temporary = tempfile::tempdir()?;
        let beside = temporary.path().join("beside");
        let worktree = |at: &Path| -> anyhow::Result<Took> {
            let took = timed(git(at).args(["worktree", "add", "-q", "--detach"]).arg(&beside), &[0])?;
            succeeds(git(at).args(["worktree", "remove", "--force"]).arg(&beside))?;
            Ok(took)
        };
        let mut rounds: Vec<Taken> = vec![Taken::default(); commands.len() + 4];
        // The first time is for the file system's cache.
        for round in 0..=size.looks {
            let mut times = vec![timed(git(at).arg("status"), &[0])?];
            for (_, args) in commands {
                // A gate may find something: that it has looked is what is measured.
                times.push(timed(phasegate(&binary, at).args(args), &[0, 1])?);
            }
            times.push(look(at)?);
            times.push(worktree(at)?);
            times.push(timed(phasegate(&binary, at).args(["run", "verify"]), &[0])?);
            if round > 0 {
                rounds.iter_mut().zip(times).for_each(|(rounds, took)| rounds.push(took));
            }
        }
        columns.push(rounds);
    }
    let names = ["`git status`"].into_iter().chain(commands.iter().map(|(name, _)| *name)).chain([
        "a look of the server's at a pull request, all gates",
        "`git worktree add`",
        "`phasegate run verify` of `true`: a fresh copy, and walls",
    ]);
    let rows: Vec<Vec<String>> = names
        .enumerate()
        .map(|(at, name)| {
            let mut row = vec![name.to_owned()];
            for column in &columns {
                row.push(column[at].wall.told());
                row.push(short(column[at].cpu.median()));
                row.push(format!("{:.2}×", column[at].cpu.median() / column[0].cpu.median()));
            }
            row
        })
        .collect();
    let [few, many] = size.files.map(|files| format!("{} files, ms", short(files as f64)));
    let of = "of `git status`'s";
    let head = ["", few.as_str(), "CPU, ms", of, many.as_str(), "CPU, ms", of];
    Ok(format!("{}\n{}", table(&head, &rows), begun.told()?))
}
