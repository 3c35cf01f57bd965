//! `phasegate task`: a task's folder, begun and looked at.

pub(super) mod desk;
mod work;

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::check::{self, Told};
use super::run::law_of;
use super::{Exit, out};
use crate::finding::{Finding, Verdict, verdict};
use crate::flow::Actor;
use crate::flow::task::{Stage, listed};
use crate::gate::task::sheet::LARGEST;
use crate::gate::task::{self, STATE, Sheet};
use crate::ids::Person;
use crate::ledger::{Body, By, Entry};
use crate::policy::Policy;
use crate::repo::{LocalRepo, Reader as _, RepoPath};
use desk::Desk;

/// The task flow: one task, one folder, nine phases
///
/// `STATE.md` in the folder says which phase the task is in and what is claimed of it; `phasegate flow export task` prints which phase
/// may follow which.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write the files of a new task into a folder
    ///
    /// README.md, STATE.md, EVIDENCE.md and artifacts/. Nothing that is there is written over: where one of them is, none is written.
    Init {
        /// The folder; its name is the task's
        folder: PathBuf,
        /// What the task is called [default: the folder's name]
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
        /// Print `phasegate/task-init@1`
        #[arg(long)]
        json: bool,
    },
    /// Say what is wrong with a task's STATE.md, and what its phase still asks for
    ///
    /// Exits with 1 where something is missing or wrong, and with 3 where the task waits for a person. It reads the claim alone: whether
    /// what it claims was shown is for the gates.
    Check {
        /// The task's folder
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Hold it against the STATE.md of this commit, too: whether its phase may follow on the one there
        #[arg(long, value_name = "REV")]
        since: Option<String>,
        /// Print `phasegate/task@1`
        #[arg(long)]
        json: bool,
    },
    /// Let the policy's agent make one pass at a task
    ///
    /// It is asked by the phase, works on a copy of what is committed, and what it did becomes a commit on the branch that is checked out. The
    /// phase that it claims is held against the table and against what was shown: before `review` and `done` the policy's commands are run on it,
    /// and before `done` a reviewer looks. Exits with 0 where the pass gained something and nothing stands against it, with 1 where something
    /// does, and with 3 where the task waits for a person.
    Run {
        #[command(flatten)]
        working: Working,
    },
    /// Let it make passes until the task is done, waits for a person, or gains nothing
    ///
    /// Exits with 0 where the task is done, and with 3 where it waits for a person.
    Loop {
        #[command(flatten)]
        working: Working,
    },
    /// Take up a task that waits for a person, there where it was left
    Reopen {
        /// The task's folder
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// What was decided, or is there now
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

/// How a task is worked on.
#[derive(Debug, clap::Args)]
struct Working {
    /// The task's folder
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// The commit whose policy is taken [default: origin/HEAD, main, master]
    #[arg(long, value_name = "REV", conflicts_with = "policy")]
    base: Option<String>,
    /// Take this policy file instead
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Print `phasegate/task-run@1`
    #[arg(long)]
    json: bool,
}

/// The files of a new task, in the order in which they are written: the one that makes it a task comes last.
const FILES: [(&str, &str); 4] = [
    ("README.md", include_str!("../../templates/task/README.md")),
    ("EVIDENCE.md", include_str!("../../templates/task/EVIDENCE.md")),
    ("artifacts/.gitkeep", ""),
    (STATE, include_str!("../../templates/task/STATE.md")),
];

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Run { working } => passes(working, false).await,
        Command::Loop { working } => passes(working, true).await,
        Command::Reopen { folder, reason } => reopen(folder, reason).await,
        Command::Init { folder, title, json } => init(folder, title.as_deref(), *json),
        Command::Check { folder, since, json } => look(folder, since.as_deref(), *json),
    }
}

#[derive(Serialize)]
struct Begun {
    schema: &'static str,
    folder: String,
    files: Vec<String>,
}

fn init(folder: &Path, title: Option<&str>, json: bool) -> anyhow::Result<Exit> {
    let shown = folder.display().to_string();
    let named = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = named.file_name().map(|name| name.to_string_lossy().into_owned());
    let title = match title.map(str::to_owned).or(name) {
        Some(title) if title.trim().is_empty() || title.contains(['\n', '\r']) => bail!("a title is one line of text"),
        Some(title) => title.trim().to_owned(),
        None => bail!("{shown} has no name; give the task one with --title"),
    };
    if let Some(there) = FILES.iter().map(|(name, _)| folder.join(name)).find(|path| path.symlink_metadata().is_ok()) {
        bail!("{} is there already, and nothing was written; take another folder, or that file away", there.display());
    }
    let mut made = Made::default();
    let written = made.all(folder, &title);
    if let Err(error) = written {
        made.undo();
        return Err(error);
    }
    let files: Vec<String> = made.files.iter().map(|path| path.display().to_string()).collect();
    match json {
        true => out::json(&Begun { schema: "phasegate/task-init@1", folder: shown, files })?,
        false => {
            for file in &files {
                out::text(&format!("{}\n", out::plain(file)))?;
            }
        }
    }
    Ok(Exit::Fine)
}

/// What was made so far, to be taken back where the rest can't be.
#[derive(Default)]
struct Made {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Made {
    fn all(&mut self, folder: &Path, title: &str) -> anyhow::Result<()> {
        let today = jiff::Zoned::now().date().to_string();
        for (name, text) in FILES {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                self.folder(parent)?;
            }
            let text = text.replace("{{title}}", title).replace("{{today}}", &today);
            let made = OpenOptions::new().write(true).create_new(true).open(&path);
            let mut file = made.with_context(|| format!("{} can't be made", path.display()))?;
            self.files.push(path.clone());
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_all())
                .with_context(|| format!("{} can't be written", path.display()))?;
        }
        Ok(())
    }

    fn folder(&mut self, folder: &Path) -> anyhow::Result<()> {
        let missing: Vec<&Path> =
            folder.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.is_dir()).collect();
        for path in missing.into_iter().rev() {
            fs::create_dir(path).with_context(|| format!("{} can't be made", path.display()))?;
            self.folders.push(path.to_owned());
        }
        Ok(())
    }

    fn undo(&self) {
        for file in self.files.iter().rev() {
            let _ = fs::remove_file(file);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    verdict: Verdict,
    path: String,
    /// As it is claimed; none where the file is not in its form.
    phase: Option<Stage>,
    /// The phases that may be claimed next by whoever works on it.
    next: Vec<Stage>,
    findings: Vec<Told>,
}

fn look(folder: &Path, since: Option<&str>, json: bool) -> anyhow::Result<Exit> {
    let file = if folder.is_file() { folder.to_owned() } else { folder.join(STATE) };
    let shown = file.display().to_string();
    let bytes = read(&file)?;
    let (phase, findings): (Option<Stage>, Vec<Finding>) = match task::read(&shown, &bytes) {
        Ok(sheet) => {
            let follows = match since {
                Some(since) => task::follows(&shown, before(&file, since)?.as_ref(), &sheet),
                None => Vec::new(),
            };
            // What is asked of a phase that may not be there helps nobody.
            let found = if follows.is_empty() { task::lacks(&shown, &sheet, sheet.phase) } else { follows };
            (Some(sheet.phase), found)
        }
        Err(findings) => (None, findings),
    };
    let verdict = verdict(&findings);
    let next: Vec<Stage> = phase.into_iter().flat_map(Stage::next).collect();
    let exit = match phase {
        Some(phase) if phase.is_waiting() => Exit::Human,
        _ => Exit::found(verdict == Verdict::Fail),
    };
    if json {
        let findings = findings.into_iter().map(Told::from).collect();
        out::json(&Report { schema: "phasegate/task@1", verdict, path: shown, phase, next, findings })?;
        return Ok(exit);
    }
    let mut text = match phase {
        Some(phase) => format!("{} {}", "TASK".bold(), phase),
        None => format!("{} {}", "TASK".bold(), check::coloured(Verdict::Fail)),
    };
    text.push('\n');
    text.push_str(&check::lines(&findings));
    match phase {
        Some(Stage::Done) => text.push_str("It is done.\n"),
        Some(phase) if phase.is_waiting() => {
            text.push_str("It waits for a person, and goes on where it was left.\n");
        }
        Some(phase) => {
            let way = if findings.is_empty() { "Next" } else { "Next, when that is there," };
            let _ = writeln!(text, "{way} it may be {}.", listed(phase.next()));
        }
        None => {}
    }
    out::text(&text)?;
    Ok(exit)
}

/// The claim as it is at a commit; none where there is none.
fn before(file: &Path, since: &str) -> anyhow::Result<Option<Sheet>> {
    let absolute = fs::canonicalize(file).with_context(|| format!("{} can't be read", file.display()))?;
    let folder = absolute.parent().context("it is in no folder")?;
    let repo = LocalRepo::around(folder)
        .context("this is not in a git repository, so there is no commit to hold it against")?;
    let root = repo.root().context("this repository has no working tree")?;
    let inside =
        absolute.strip_prefix(fs::canonicalize(root)?).context("it is outside of the repository's working tree")?;
    let path = RepoPath::new(inside.as_os_str().as_encoded_bytes());
    let Some(blob) = repo.blob(&check::revision(&repo, since)?, &path)? else { return Ok(None) };
    let read = task::read(&inside.display().to_string(), &blob.bytes);
    let wrong = |findings: Vec<Finding>| {
        let first = findings.first().map(|finding| format!(" ({})", finding.says)).unwrap_or_default();
        anyhow::anyhow!("the {STATE} at {since} is not in its form{first}, so what may follow on it is not known")
    };
    read.map(Some).map_err(wrong)
}

/// The file's bytes, no more than one over what is read.
fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let opened = fs::File::open(file).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            anyhow::anyhow!("there is no {}; `phasegate task init DIR` writes one", file.display())
        }
        _ => anyhow::Error::new(error).context(format!("{} can't be read", file.display())),
    })?;
    let mut bytes = Vec::new();
    let most = u64::try_from(LARGEST).unwrap_or(u64::MAX).saturating_add(1);
    opened.take(most).read_to_end(&mut bytes).with_context(|| format!("{} can't be read", file.display()))?;
    Ok(bytes)
}

/// `phasegate/task-run@1`
#[derive(Serialize)]
struct Worked<'a> {
    schema: &'static str,
    /// The number of its records, on the branch that they are on.
    change: u64,
    ledger: &'static str,
    folder: &'a str,
    phase: Stage,
    /// Why it waits, where it does.
    why: Option<&'a str>,
    passes: Vec<work::Told>,
}

async fn passes(working: &Working, again: bool) -> anyhow::Result<Exit> {
    let root = LocalRepo::around(
        fs::canonicalize(&working.folder)
            .with_context(|| format!("there is no folder {}", working.folder.display()))?,
    );
    let repo = root.with_context(|| format!("{} is in no git repository", working.folder.display()))?;
    let law = law_of(&repo, working.base.as_deref(), working.policy.as_deref())?;
    let mut desk = Desk::open(&working.folder, &law).await?;
    let from = work::From { base: working.base.as_deref(), policy: working.policy.as_deref() };
    let mut told: Vec<work::Told> = Vec::new();
    loop {
        let pass = work::pass(&mut desk, &law, from).await?;
        if !working.json {
            out::text(&shown(&pass))?;
        }
        let go_on = again && pass.may_go_on();
        told.push(pass);
        if !go_on {
            break;
        }
    }
    let task = desk.task()?;
    let stage = task.state.stage;
    let last = told.last();
    let exit = match stage {
        _ if last.is_some_and(|last| last.interrupted) => Exit::Interrupted,
        Stage::Done => Exit::Fine,
        stage if stage.is_waiting() => Exit::Human,
        _ if again => Exit::Finding,
        _ => Exit::found(last.is_some_and(|last| last.findings.iter().any(Finding::blocks))),
    };
    if working.json {
        let (change, folder, why) = (desk.number()?, desk.folder.as_str(), task.why.as_deref());
        out::json(&Worked {
            schema: "phasegate/task-run@1",
            change,
            ledger: desk::BRANCH,
            folder,
            phase: stage,
            why,
            passes: told,
        })?;
        return Ok(exit);
    }
    let mut text = format!("{} {} {}\n", "TASK".bold(), out::plain(&desk.folder), stage);
    if let Some(why) = task.why.as_deref().filter(|_| stage.is_waiting()) {
        let _ = writeln!(text, "It waits for a person: {}", out::plain(&why.replace('\n', " ")));
        let _ = writeln!(
            text,
            "`phasegate task reopen {} --reason TEXT` takes it up where it was left.",
            out::plain(&desk.folder)
        );
    }
    out::text(&text)?;
    Ok(exit)
}

/// One pass, for people.
fn shown(pass: &work::Told) -> String {
    let Some(number) = pass.pass else { return check::lines(&pass.findings) };
    let gained: Vec<&str> = pass.gained.iter().map(|one| one.as_str()).collect();
    let gained = if gained.is_empty() { "nothing".to_owned() } else { gained.join(", ") };
    let way = match pass.from == pass.to {
        true => format!("stays in {}", pass.to),
        false => format!("{} → {}", pass.from, pass.to),
    };
    let mut text = format!("{} {number}: {way}; gained: {gained}", "PASS".bold());
    if let Some(commit) = &pass.commit {
        let _ = write!(text, "; {}", commit.short());
    }
    text.push('\n');
    text.push_str(&check::lines(&pass.findings));
    text
}

async fn reopen(folder: &Path, reason: &str) -> anyhow::Result<Exit> {
    let reason: Vec<&str> = reason.split_whitespace().collect();
    let reason = reason.join(" ");
    if reason.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
        bail!("say in a few words what was decided, or what is there now: --reason TEXT");
    }
    let mut desk = Desk::open(folder, &Policy::default()).await?;
    let state = desk.task()?.state;
    let Some(to) = state.left.filter(|_| state.stage.is_waiting()) else {
        bail!("the task is in `{}`, and waits for nobody; `phasegate task run {}` goes on", state.stage, desk.folder);
    };
    let person = Person { id: 0, login: desk::name(&desk.root), bot: false };
    let by = By::Person { person, role: "here".to_owned() };
    let body = Body::TaskMoved { to, actor: Actor::Human, why: Some(reason), frame: None };
    desk.append(vec![Entry::new(by, None, body)]).await?;
    work::put_back(&desk, to)?;
    out::text(&format!("{} {} {to}\n", "TASK".bold(), out::plain(&desk.folder)))?;
    Ok(Exit::Fine)
}
