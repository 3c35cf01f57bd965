//! An agent that does what a script says. It has no rights that another agent would not have, and tells no truer tale.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::cli::{Exit, out};
use crate::gate::task::{self, Field};
use crate::policy::Timeout;

/// A script with more bytes is not read.
const LARGEST: u64 = 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    passes: Vec<Part>,
}

/// What is played at some of the passes: at the first for which everything fits that is named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    #[serde(default)]
    on: On,
    steps: Vec<Step>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct On {
    role: Option<String>,
    phase: Option<String>,
    pass: Option<u32>,
    r#try: Option<u32>,
}

impl On {
    fn fits(&self) -> bool {
        let is = |name: &str, wanted: Option<String>| wanted.is_none_or(|wanted| std::env::var(name) == Ok(wanted));
        is("PHASEGATE_ROLE", self.role.clone())
            && is("PHASEGATE_PHASE", self.phase.clone())
            && is("PHASEGATE_PASS", self.pass.map(|number| number.to_string()))
            && is("PHASEGATE_TRY", self.r#try.map(|number| number.to_string()))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Step {
    /// Writes a file, with its folders.
    Write { path: PathBuf, text: String },
    /// Adds to the end of a file.
    Append { path: PathBuf, text: String },
    /// Puts a text in the place of another, which has to be there once.
    Replace { path: PathBuf, find: String, with: String },
    /// Removes a file or a folder.
    Delete { path: PathBuf },
    /// Sets a field of a `STATE.md`.
    Field { path: PathBuf, name: String, to: String },
    /// Says something.
    Say { text: String },
    /// Runs a command with `sh -c`.
    Run { command: String },
    /// Does nothing for a time.
    Wait { time: String },
    /// Answers with this.
    Answer { with: Value },
    /// Answers with a text that need not be JSON.
    Prose { text: String },
    /// Ends with a status.
    Exit { status: u8 },
    /// Ends as by a fault of its own.
    Crash {},
    /// Does something that may be refused, and goes on.
    Attempt { step: Box<Step> },
}

pub(super) fn play(file: &Path) -> anyhow::Result<Exit> {
    let about = fs::metadata(file).with_context(|| format!("the script {} can't be read", file.display()))?;
    if about.len() > LARGEST {
        bail!("the script {} has more than {LARGEST} bytes", file.display());
    }
    let text = fs::read_to_string(file).with_context(|| format!("the script {} can't be read", file.display()))?;
    let script: Script = serde_yaml::from_str(&text)
        .map_err(|error| anyhow::anyhow!("{} is no script: {}", file.display(), error.to_string().trim()))?;
    let Some(part) = script.passes.iter().find(|part| part.on.fits()) else {
        let is = |name: &str| std::env::var(name).unwrap_or_else(|_| "none".to_owned());
        bail!(
            "the script {} has nothing for this pass (role {}, phase {}, pass {}, try {})\nAdd a part whose `on` fits, or one \
             without `on`",
            file.display(),
            is("PHASEGATE_ROLE"),
            is("PHASEGATE_PHASE"),
            is("PHASEGATE_PASS"),
            is("PHASEGATE_TRY"),
        );
    };
    for step in &part.steps {
        if let Some(exit) = step.done()? {
            return Ok(exit);
        }
    }
    Ok(Exit::Fine)
}

impl Step {
    /// How it ends by this step, if it does.
    fn done(&self) -> anyhow::Result<Option<Exit>> {
        match self {
            Self::Write { path, text } => {
                if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                    fs::create_dir_all(folder).with_context(|| format!("{} can't be made", folder.display()))?;
                }
                fs::write(path, text).with_context(|| format!("{} can't be written", path.display()))?;
            }
            Self::Append { path, text } => {
                let cant = || format!("{} can't be written", path.display());
                let mut file = fs::OpenOptions::new().append(true).create(true).open(path).with_context(cant)?;
                file.write_all(text.as_bytes()).with_context(cant)?;
            }
            Self::Replace { path, find, with } => {
                let text = read(path)?;
                let times = text.matches(find.as_str()).count();
                if times != 1 {
                    bail!("{} has the text that is to be replaced {times} times", path.display());
                }
                fs::write(path, text.replacen(find.as_str(), with, 1))
                    .with_context(|| format!("{} can't be written", path.display()))?;
            }
            Self::Delete { path } => {
                let gone = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
                gone.with_context(|| format!("{} can't be removed", path.display()))?;
            }
            Self::Field { path, name, to } => {
                let field = Field::ALL.into_iter().find(|field| field.as_str().eq_ignore_ascii_case(name));
                let field = field.with_context(|| format!("there is no field `{name}` in a STATE.md"))?;
                let sheet = task::read(&path.display().to_string(), read(path)?.as_bytes());
                let sheet = sheet.map_err(|found| {
                    let says = found.first().map(|finding| finding.says.clone()).unwrap_or_default();
                    anyhow::anyhow!("{} is not in its form: {says}", path.display())
                })?;
                fs::write(path, sheet.with(field, to))
                    .with_context(|| format!("{} can't be written", path.display()))?;
            }
            Self::Say { text } => out::text(&format!("{}\n", out::plain(text)))?,
            Self::Run { command } => {
                let status = Command::new("/bin/sh").arg("-c").arg(command).status().context("there is no sh")?;
                if !status.success() {
                    bail!("`{}` ended with {status}", out::plain(command));
                }
            }
            Self::Wait { time } => {
                let time =
                    Timeout::new(time).with_context(|| format!("`{time}` is no time such as `2s`, `5m` or `1h`"))?;
                std::thread::sleep(Duration::from_secs(time.as_secs().into()));
            }
            Self::Answer { with } => answer(&serde_json::to_string_pretty(with)?)?,
            Self::Prose { text } => answer(text)?,
            Self::Exit { status: 0 } => return Ok(Some(Exit::Fine)),
            Self::Exit { status } => std::process::exit((*status).into()),
            Self::Crash {} => std::process::abort(),
            Self::Attempt { step } => match step.done() {
                Ok(exit) => return Ok(exit),
                Err(error) => out::complain(&format!("refused: {}\n", out::plain(&format!("{error:#}")))),
            },
        }
        Ok(None)
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))
}

fn answer(text: &str) -> anyhow::Result<()> {
    let place = std::env::var_os("PHASEGATE_ANSWER").context("nobody waits for an answer (PHASEGATE_ANSWER)")?;
    fs::write(&place, text).context("the answer can't be written")
}
