//! `phasegate snapshot`: the memory of a change, for agents and for people without GitHub at hand.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::status::{self, Place};
use super::{Exit, out, replay};
use crate::finding::{Finding, Verdict, verdict};
use crate::gate::memory;
use crate::ids::BlobId;
use crate::ledger::State;
use crate::ledger::memory::{Memory, gates_of};
use crate::ledger::snapshot::{self, Cap, Fails, LARGEST, SliceId, Snapshot};

/// Context snapshots of a change
///
/// What an agent needs to go on after it has forgotten everything. The ledger has one for each iteration; an agent adds to them by a
/// file in its branch, agent/context/pr-7/iter-0008.md (with the change's number), which is taken in when it follows from the latest.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the latest snapshot of a change
    Latest(status::Args),
    /// Write the next snapshot's file for an agent to fill in
    ///
    /// Everything of the latest is carried forward, the header as it has to be. A file that is there is never written over.
    New(New),
    /// Say what is wrong with a snapshot's file: in its form, and with --change whether it follows from the latest
    Validate(Validate),
}

#[derive(Debug, clap::Args)]
struct New {
    /// The change's number, or that of an issue or pull request that belongs to it
    #[arg(value_parser = replay::number)]
    change: u64,
    /// Begin another slice, or say what the first one is: one sentence
    #[arg(long, value_name = "WHAT")]
    slice: Option<String>,
    /// What may be touched: "WHY in: GLOBS out: GLOBS"
    #[arg(long, value_name = "CAP")]
    scope: Option<String>,
    /// Write over a file that is there: one of a change that was merged before, or a draft
    #[arg(long)]
    replace: bool,
    /// The working tree that the file is written into
    #[arg(long, default_value = ".", value_name = "PATH")]
    into: PathBuf,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct Validate {
    /// The file
    file: PathBuf,
    /// The change whose next snapshot it is to be
    #[arg(long, value_parser = replay::number, value_name = "N")]
    change: Option<u64>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Serialize)]
struct Latest<'s> {
    schema: &'static str,
    change: u64,
    name: String,
    /// Whether a verifier's audit is owed before anything else.
    audit_owed: bool,
    snapshot: &'s Snapshot,
}

#[derive(Debug, Serialize)]
struct Written {
    schema: &'static str,
    change: u64,
    path: String,
    slice: SliceId,
}

#[derive(Debug, Serialize)]
struct Checked {
    schema: &'static str,
    verdict: Verdict,
    file: String,
    findings: Vec<Finding>,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Latest(args) => latest(args).await,
        Command::New(args) => new(args).await,
        Command::Validate(args) => validate(args).await,
    }
}

async fn of(change: u64, place: &Place) -> anyhow::Result<State> {
    let args = status::Args { change, place: place.clone() };
    Ok(status::read(&args).await?.0)
}

fn remembered(state: &State) -> anyhow::Result<&Memory> {
    let Some(memory) = &state.memory else {
        bail!(
            "nothing is remembered of {}: its records are older than snapshots, or it has no policy yet",
            state.change
        )
    };
    Ok(memory)
}

async fn latest(args: &status::Args) -> anyhow::Result<Exit> {
    let (state, _) = status::read(args).await?;
    let memory = remembered(&state)?;
    let snapshot = &memory.latest;
    if args.place.json {
        let (schema, change, name) = ("phasegate/snapshot@1", state.change.0, snapshot.name());
        let audit_owed = state.audit_owed().is_some();
        out::json(&Latest { schema, change, name, audit_owed, snapshot })?;
    } else {
        out::text(&snapshot::write(snapshot))?;
    }
    Ok(if state.audit_owed().is_some() { Exit::Human } else { Exit::Fine })
}

/// The next snapshot, with nothing new in it but what was asked for.
fn next(memory: &Memory, args: &New) -> anyhow::Result<Snapshot> {
    let cap = match &args.scope {
        Some(text) => Some(Cap::declared(text).map_err(|why| anyhow::anyhow!("--scope is no scope cap: {why}"))?),
        None => None,
    };
    let latest = memory.latest.clone();
    let mut next = Snapshot {
        iteration: latest.iteration + 1,
        parent: Some(latest.iteration),
        resolved: Vec::new(),
        cap: cap.clone().unwrap_or(latest.cap),
        ..latest
    };
    if let Some(what) = &args.slice {
        let what = snapshot::line(what);
        if snapshot::sentence(&what).is_none() {
            bail!("--slice says nothing: {}", out::plain(&what));
        }
        next.slice = what;
        if memory.is_declared() {
            if cap.is_none() {
                bail!("another slice begins with its scope cap: give --scope \"WHY in: GLOBS out: GLOBS\"");
            }
            memory::may_begin(memory).map_err(|why| anyhow::anyhow!("{why} {}", memory::ENDS_A_ROW))?;
            next.slice_id = SliceId(memory.last_slice + 1);
            (next.fails, next.last) = (Fails::default(), None);
        }
    }
    if !next.cap.is_declared() {
        bail!("nobody has declared what is in the slice's scope: give --scope \"WHY in: GLOBS out: GLOBS\"");
    }
    Ok(next)
}

async fn new(args: &New) -> anyhow::Result<Exit> {
    let state = of(args.change, &args.place).await?;
    let next = Snapshot { gates: gates_of(state.flow), ..next(remembered(&state)?, args)? };
    let path = snapshot::path_of(state.change, next.iteration);
    let file = args.into.join(&path);
    create(&file, &snapshot::write(&next), args.replace)?;
    if args.place.json {
        let (schema, change, slice) = ("phasegate/snapshot-new@1", state.change.0, next.slice_id);
        out::json(&Written { schema, change, path, slice })?;
    } else {
        out::text(&format!(
            "{path}\nFill in evidence, context and issues, then commit it. `phasegate snapshot validate {} --change {}` says what is wrong with it.\n",
            out::plain(&file.display().to_string()),
            state.change.0
        ))?;
    }
    Ok(Exit::Fine)
}

fn create(file: &Path, text: &str, replace: bool) -> anyhow::Result<()> {
    use std::io::Write as _;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("can't make the folder {}", folder.display()))?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    if replace {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let mut made = options.open(file).with_context(|| {
        format!(
            "can't make {}. Where one is there that this change has not written (a change that was merged before has left it, or it is a draft), \
             --replace writes over it",
            file.display()
        )
    })?;
    made.write_all(text.as_bytes()).with_context(|| format!("can't write {}", file.display()))
}

async fn validate(args: &Validate) -> anyhow::Result<Exit> {
    let shown = args.file.display().to_string();
    let there = std::fs::metadata(&args.file).with_context(|| format!("can't read {shown}"))?;
    if !there.is_file() {
        bail!("{shown} is no plain file");
    }
    if there.len() > LARGEST as u64 {
        let says = format!("It has {} bytes; a snapshot has at most {LARGEST}.", there.len());
        let findings = vec![Finding::error(
            "SNP-01",
            says,
            "Keep what plans rest on, and leave the rest to the files that it names.",
        )];
        return answer(args, shown, findings);
    }
    let bytes = std::fs::read(&args.file).with_context(|| format!("can't read {shown}"))?;
    let Ok(text) = String::from_utf8(bytes) else { bail!("{shown} is not UTF-8") };
    let name = args.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let path = shown.clone();
    let mut findings = match args.change {
        None => snapshot::read(&path, &text).findings,
        Some(change) => {
            let state = of(change, &args.place).await?;
            // The file is not in git yet; what it is named by there decides nothing here.
            let unnamed = BlobId::new("0".repeat(40))?;
            remembered(&state)?;
            memory::claim(&state, &path, &text, &unnamed).err().unwrap_or_default()
        }
    };
    if snapshot::named(&name).is_none() {
        let says = format!("The file is called {name}, and a snapshot iter-0008.md, by its number.");
        findings.push(Finding::error("SNP-02", says, "Rename it.").at(&path, None));
    }
    answer(args, shown, findings)
}

fn answer(args: &Validate, shown: String, findings: Vec<Finding>) -> anyhow::Result<Exit> {
    let verdict = verdict(&findings);
    if args.place.json {
        out::json(&Checked { schema: "phasegate/snapshot-check@1", verdict, file: shown, findings })?;
    } else {
        out::text(&told(&shown, args.change, &findings))?;
    }
    Ok(Exit::found(verdict == Verdict::Fail))
}

fn told(file: &str, change: Option<u64>, findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let place = finding.line.map(|line| format!("{line}: ")).unwrap_or_default();
        let _ = writeln!(
            text,
            "{} {}\n     → {}",
            finding.rule.red(),
            out::plain(&format!("{place}{}", finding.says)),
            out::plain(&finding.next)
        );
    }
    let _ = match (findings.is_empty(), change) {
        (true, Some(change)) => writeln!(text, "{} follows from the latest snapshot of #{change}.", out::plain(file)),
        (true, None) => {
            writeln!(text, "{} is a snapshot. Whether it follows from the latest one, --change says.", out::plain(file))
        }
        (false, _) => writeln!(text, "{} would not be taken in.", out::plain(file)),
    };
    text
}
