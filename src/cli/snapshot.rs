//! `phasegate snapshot`: the memory of a change, for agents and for people without GitHub at hand.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use schemars::JsonSchema;
use serde::Serialize;

use super::status::{self, Form, Place};
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
    #[command(flatten)]
    form: Form,
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
    #[command(flatten)]
    form: Form,
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

/// What became of the next snapshot's file.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Written {
    pub(super) schema: &'static str,
    pub(super) change: u64,
    pub(super) path: String,
    #[schemars(with = "u32")]
    pub(super) slice: SliceId,
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

pub(super) fn remembered(state: &State) -> anyhow::Result<&Memory> {
    let Some(memory) = &state.memory else {
        bail!(
            "nothing is remembered of {}: its records are older than snapshots, or it has no policy yet",
            state.change
        )
    };
    Ok(memory)
}

async fn latest(args: &status::Args) -> anyhow::Result<Exit> {
    let (state, _) = status::read(args.change, &args.place).await?;
    let memory = remembered(&state)?;
    let snapshot = &memory.latest;
    if args.form.json {
        let (schema, change, name) = ("phasegate/snapshot@1", state.change.0, snapshot.name());
        let audit_owed = state.audit_owed().is_some();
        out::json(&Latest { schema, change, name, audit_owed, snapshot })?;
    } else {
        out::text(&snapshot::write(snapshot))?;
    }
    Ok(if state.audit_owed().is_some() { Exit::Human } else { Exit::Fine })
}

/// The next snapshot, with nothing new in it but the slice and the scope cap that were asked for.
pub(super) fn next(state: &State, slice: Option<&str>, scope: Option<&str>) -> anyhow::Result<Snapshot> {
    let memory = remembered(state)?;
    let cap = match scope {
        Some(text) => Some(Cap::declared(text).map_err(|why| anyhow::anyhow!("--scope is no scope cap: {why}"))?),
        None => None,
    };
    let latest = memory.latest.clone();
    let mut next = Snapshot {
        iteration: latest.iteration + 1,
        parent: Some(latest.iteration),
        resolved: Vec::new(),
        cap: cap.clone().unwrap_or(latest.cap),
        gates: gates_of(state.flow),
        ..latest
    };
    if let Some(what) = slice {
        let what = snapshot::line(what);
        if snapshot::sentence(&what).is_none() {
            bail!("--slice says nothing: {}", out::plain(&what));
        }
        next.slice = what;
        if memory.is_declared() {
            if cap.is_none() {
                bail!(
                    "another slice begins with its scope cap: give it (--scope \"WHY in: GLOBS out: GLOBS\", or `scope` of the tool)"
                );
            }
            memory::may_begin(memory).map_err(|why| anyhow::anyhow!("{why} {}", memory::ENDS_A_ROW))?;
            next.slice_id = SliceId(memory.last_slice + 1);
            (next.fails, next.last) = (Fails::default(), None);
        }
    }
    // While an audit is owed files bring facts and the report, and move nothing: the cap stays what it was.
    match (state.audit_owed(), scope) {
        (Some(_), Some(_)) => {
            bail!("an audit is owed, and no file moves the scope before its report is taken in: leave the scope out")
        }
        (None, _) if !next.cap.is_declared() => {
            bail!(
                "nobody has declared what is in the slice's scope: give it (--scope \"WHY in: GLOBS out: GLOBS\", or `scope` of the tool)"
            )
        }
        _ => {}
    }
    Ok(next)
}

async fn new(args: &New) -> anyhow::Result<Exit> {
    let (state, _) = status::read(args.change, &args.place).await?;
    let next = next(&state, args.slice.as_deref(), args.scope.as_deref())?;
    let written = create(&args.into, &state, &next, args.replace)?;
    let (path, file) = (&written.path, args.into.join(&written.path));
    if args.form.json {
        out::json(&written)?;
    } else {
        out::text(&format!(
            "{path}\nFill in evidence, context and issues, then commit it. `phasegate snapshot validate {} --change {}` says what is wrong with it.\n",
            out::plain(&file.display().to_string()),
            state.change.0
        ))?;
    }
    Ok(Exit::Fine)
}

/// Writes the next snapshot's file below this folder.
pub(super) fn create(into: &Path, state: &State, next: &Snapshot, replace: bool) -> anyhow::Result<Written> {
    use std::io::Write as _;
    let path = snapshot::path_of(state.change, next.iteration);
    let file = &into.join(&path);
    no_link(into, &path)?;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("can't make the folder {}", folder.display()))?;
    }
    if std::fs::symlink_metadata(file).is_ok_and(|there| !there.is_file()) {
        bail!("{} is there and is no plain file: take it away", file.display());
    }
    let folder = file.parent().unwrap_or(into);
    let unwritten = || format!("can't write {}", file.display());
    let mut made = tempfile::NamedTempFile::new_in(folder).with_context(unwritten)?;
    made.write_all(snapshot::write(next).as_bytes()).with_context(unwritten)?;
    made.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644)).with_context(unwritten)?;
    if replace {
        made.persist(file).map_err(|error| error.error).with_context(unwritten)?;
    } else {
        made.persist_noclobber(file).map_err(|error| error.error).with_context(|| {
            format!(
                "can't make {}. Where one is there that this change has not written (a change that was merged before has left it, or it is a draft), \
                 it is written over only when that is asked for (--replace, or `replace: true` of the tool)",
                file.display()
            )
        })?;
    }
    Ok(Written { schema: "phasegate/snapshot-new@1", change: state.change.0, path, slice: next.slice_id })
}

/// Refuses a way that leads through a link: what is behind it may be anywhere.
fn no_link(into: &Path, path: &str) -> anyhow::Result<()> {
    let mut way = into.to_owned();
    for part in path.split('/') {
        way.push(part);
        if std::fs::symlink_metadata(&way).is_ok_and(|there| there.is_symlink()) {
            bail!("{} is a link, and a snapshot is a file of the working tree: take the link away", way.display());
        }
    }
    Ok(())
}

/// What is wrong with the text of a change's next snapshot, which is to stand at this path.
pub(super) fn wrong(state: &State, path: &str, text: &str) -> anyhow::Result<Vec<Finding>> {
    remembered(state)?;
    // The file is not in git yet; what it is named by there decides nothing here.
    let unnamed = BlobId::new("0".repeat(40))?;
    Ok(memory::claim(state, path, text, &unnamed).err().unwrap_or_default())
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
            let (state, _) = status::read(change, &args.place).await?;
            wrong(&state, &path, &text)?
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
    if args.form.json {
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
