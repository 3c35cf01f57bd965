//! `phasegate task`: a task's folder, begun and looked at.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::check::{self, Told};
use super::{Exit, out};
use crate::finding::{Finding, Verdict, verdict};
use crate::flow::task::{Stage, listed};
use crate::gate::task::sheet::LARGEST;
use crate::gate::task::{self, STATE, Sheet};
use crate::repo::{LocalRepo, Reader as _, RepoPath};

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
}

/// The files of a new task, in the order in which they are written: the one that makes it a task comes last.
const FILES: [(&str, &str); 4] = [
    ("README.md", include_str!("../../templates/task/README.md")),
    ("EVIDENCE.md", include_str!("../../templates/task/EVIDENCE.md")),
    ("artifacts/.gitkeep", ""),
    (STATE, include_str!("../../templates/task/STATE.md")),
];

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
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
