//! `phasegate config`: the policy file, checked without any network.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Subcommand;

use super::{Exit, out};
use crate::policy::{self, Policy, Report};

/// Check the policy file, or print its schema
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check a policy file and print every mistake with its line
    Check {
        /// The file; `-` reads stdin
        #[arg(default_value = policy::PATH)]
        file: PathBuf,
        /// Print `phasegate/config-check@1`
        #[arg(long)]
        json: bool,
    },
    /// Print the policy file's JSON Schema, for editors
    Schema,
}

/// More than a policy may have, so that one that is too large is called so, and no more than that is read.
const ENOUGH: u64 = 1024 * 1024;

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Check { file, json } => check(file, *json),
        Command::Schema => {
            out::json(&Policy::schema())?;
            Ok(Exit::Fine)
        }
    }
}

fn check(file: &Path, json: bool) -> anyhow::Result<Exit> {
    // One with the other end is in nobody's way, where the policy is at its place.
    let meant = Path::new(policy::MISNAMED);
    let file = if file == Path::new(policy::PATH) && !file.exists() && meant.exists() { meant } else { file };
    let (name, bytes) = read(file)?;
    let (_, mut problems) = policy::inspect(&bytes);
    if file.ends_with(meant) {
        problems.insert(0, policy::misnamed());
    }
    // Beside the policy stand the workflows of its repository.
    if let Some(root) = root(file) {
        let workflow = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        problems.extend(policy::unrun(&bytes, &workflow));
    }
    let report = Report::new(&problems);
    if json {
        out::json(&report)?;
    } else if report.passed() {
        let listed = policy::render_problems(&name, &bytes, &problems);
        out::text(&format!("{listed}{name}: the policy is valid.\n"))?;
    } else {
        let count = problems.iter().filter(|problem| problem.is_error()).count();
        let mistakes = if count == 1 { "1 mistake".to_owned() } else { format!("{count} mistakes") };
        let listed = policy::render_problems(&name, &bytes, &problems);
        out::text(&format!("{listed}{name}: {mistakes}. Nothing turns green until the policy is valid.\n"))?;
    }
    Ok(Exit::found(!report.passed()))
}

/// The repository that a policy at its place is of.
fn root(file: &Path) -> Option<&Path> {
    let folder = file.ends_with(policy::PATH).then(|| file.parent()?.parent())??;
    Some(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
}

fn read(file: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        io::stdin().lock().take(ENOUGH).read_to_end(&mut bytes).context("can't read stdin")?;
        return Ok(("stdin".to_owned(), bytes));
    }
    let name = out::plain(&file.display().to_string());
    let opened = File::open(file).with_context(|| {
        format!("can't read {name}; run this at the top of the repository, or name the policy file (`-` reads stdin)")
    })?;
    opened.take(ENOUGH).read_to_end(&mut bytes).with_context(|| format!("can't read {name}"))?;
    Ok((name, bytes))
}
