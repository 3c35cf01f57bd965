//! One bounded pass of an agent: a prompt in, an answer and what it did out.
//!
//! An agent is any program. It gets a copy of the content behind the walls that the commands of a gate have, nothing of the bot's
//! secrets, a prompt, and a time. It promises:
//!
//! - it ends, with whatever the agent started;
//! - whoever only looks can't write: that is the kernel's to refuse, and without such a wall nothing is run ([`NotRun::NoWall`]).
//!   What is different all the same is found, and thrown away;
//! - what the agent did is the files it left, whatever it told its own repository ([`crate::repo::taken`]), and it is in no repository
//!   of ours before somebody takes it over;
//! - what its [pack](crate::policy::Pack) leaves out is nowhere in its reach: its copy has objects of its own, without the history, and
//!   where nothing keeps the rest of the machine from it nothing is run;
//! - its [tools](Tools) are answered outside of the walls, and each call is in the report;
//! - its answer is data of a known form, or there is none: it is asked again with what is wrong, as often as it may be.
//!
//! It judges nothing ([`crate::gate::pass`]).

mod table;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::artefact::{CommandOutcome, CommandRun, Confinement};
use super::calls::Calls;
use super::environ::{Masks, is_given};
use super::process::{Job, Orphans, Shell};
use super::wall::{Confine, Enclosure, Limits, Wall, Walls};
use super::worktree::Worktree;
use super::{millis, reads, stood};
use crate::ids::{CommitId, Digest};
use crate::policy::{Agent, Network, Role, Sight};
use crate::repo::{TakeError, Taken, taken};
use table::Table;

pub use table::{Ear, MOST_CALLS, NoTurn, Seat, Tools};

/// An answer with more bytes is none.
pub const LARGEST_ANSWER: u64 = 1024 * 1024;
/// So many things that are wrong with an answer are told.
const MOST_WRONG: usize = 10;
/// So many paths are named.
const MOST_PATHS: usize = 1_000;

/// What is asked, of whom, and on which content.
pub struct Pass<'a> {
    pub role: Role,
    pub agent: &'a Agent,
    pub prompt: &'a str,
    /// The JSON Schema of the answer.
    pub schema: &'a Value,
    /// The repository's git folder.
    pub git_folder: &'a Path,
    pub commit: &'a CommitId,
    /// Where its copy is made.
    pub below: &'a Path,
    /// The environment of this process. The agent is given a part of it.
    pub environment: &'a [(OsString, OsString)],
    /// What it is not to see.
    pub hides: &'a [PathBuf],
    /// Variables that say what it is about.
    pub about: &'a [(&'static str, String)],
    /// When it has to be done, whatever its own time.
    pub until: Option<Instant>,
    /// Who answers its calls of tools.
    pub tools: Option<Arc<dyn Tools>>,
    /// The program by which it reaches them.
    pub program: Option<&'a Path>,
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// It may write nothing, and nothing here would keep it from that.
    #[error("nothing here would keep it from writing: {0}")]
    NoWall(String),
    /// It gets a part of the content, and nothing here would keep the rest from it.
    #[error("nothing here would keep from it what its pack leaves out: {0}")]
    NoPack(String),
    #[error("its pack lets nothing through of the {0} files that are there; a folder is written `src/**`")]
    EmptyPack(usize),
    #[error("the policy asks for all walls (`confine.required`), and here they can't be put up: {0}")]
    Unconfined(String),
    #[error(transparent)]
    Take(#[from] TakeError),
    #[error("{0:#}")]
    Ground(anyhow::Error),
}

/// One try of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Try {
    pub run: CommandRun,
    /// What was wrong with its answer, each in a sentence.
    pub wrong: Vec<String>,
}

/// What came of a pass, for the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    pub role: Role,
    pub tries: Vec<Try>,
    pub duration_ms: u64,
    pub confinement: Confinement,
    /// The digest of the answer that was taken.
    #[schemars(with = "Option<String>")]
    pub answer: Option<Digest>,
    /// The files that it left different, up to a thousand of them.
    pub changed: Vec<String>,
    /// They were thrown away, because it was to write nothing.
    pub discarded: bool,
    /// It made commits of its own, which are taken for their files alone.
    pub committed: bool,
    /// Repositories that it left inside, whose files are not taken.
    pub nested: Vec<String>,
    /// What it left outside of its pack, which is not taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// What it asked of its tools.
    #[serde(default, skip_serializing_if = "Calls::is_none")]
    pub calls: Calls,
}

/// What came of a pass.
pub struct Passed {
    pub report: Report,
    pub answer: Option<Value>,
    /// What it left; none for whoever was to write nothing.
    pub left: Option<Left>,
}

/// What an agent left in its copy.
pub struct Left {
    pub taken: Taken,
    /// Goes with it.
    _own: TempDir,
}

/// Carries a pass out. None where it was stopped: it is as if nothing had been.
pub async fn carry_out(
    pass: &Pass<'_>,
    says: &mut (dyn FnMut(&[u8]) + Send),
    orphans: Option<&Orphans>,
    stop: &CancellationToken,
) -> Result<Option<Passed>, NotRun> {
    let clock = Instant::now();
    let user = super::wall::new_user();
    let sight = Sight::of(&pass.agent.pack).map_err(|error| NotRun::Ground(error.into()))?;
    let copy = match sight.is_all() {
        true => Worktree::of(pass.git_folder, (pass.commit, &[]), pass.below, user).await.map_err(NotRun::Ground)?,
        false => packed(pass, &sight, user).await?,
    };
    let given: Vec<(OsString, OsString)> =
        pass.environment.iter().filter(|(name, _)| is_given(name)).cloned().collect();
    let masks = Masks::of(pass.environment.iter().cloned());
    let mut found = reads::look(&given, &pass.agent.confine, copy.scratch());
    found.reads.retain(|path| !pass.hides.iter().any(|hidden| path.starts_with(hidden)));
    found.reads.extend(pass.program.map(Path::to_owned));
    let walls = Enclosure::around(confine(pass, &copy, found.reads, user), copy.folder());
    let mut environment = found.environment;
    reachable(&mut environment, pass.program);
    let place = Place::of(copy.scratch());
    let seat = Seat::new(pass.role, pass.commit.clone(), copy.folder().to_owned(), user, sight.clone());
    let (table, without) = laid(pass, seat, &place.socket);
    if table.is_some() {
        environment.push(("PHASEGATE_MCP".into(), place.socket.clone().into()));
    }
    environment.extend(place.variables());
    environment.push(("PHASEGATE_ROLE".into(), pass.role.as_str().into()));
    environment.extend(pass.about.iter().map(|(name, value)| ((*name).into(), value.into())));
    let asked_with = |number: usize| {
        let mut environment = environment.clone();
        environment.push(("PHASEGATE_TRY".into(), number.to_string().into()));
        environment
    };
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let shell = Shell::on(path);
    let deadline = clock + Duration::from_secs(pass.agent.timeout.as_secs().into());
    let deadline = pass.until.map_or(deadline, |until| deadline.min(until));
    let job = Job {
        shell: &shell,
        command: ":",
        prints: None,
        folder: copy.folder(),
        environment: &environment,
        deadline,
        masks: &masks,
        orphans,
        enclosure: walls.as_ref(),
        most: pass.agent.confine.output.bytes(),
    };
    needed(pass, &job, !sight.is_all(), stop).await?;

    let command = command(&pass.agent.command);
    let mut tries: Vec<Try> = Vec::new();
    let mut stood_around: Vec<Walls> = Vec::new();
    let mut answer = None;
    let validator = jsonschema::validator_for(pass.schema);
    let validator =
        validator.map_err(|error| NotRun::Ground(anyhow::anyhow!("the answer's schema is none: {error}")))?;
    for number in 1..=pass.agent.attempts() as usize {
        let environment = asked_with(number);
        let job = Job { command: &command, environment: &environment, ..job };
        let before = tries.last().map_or(&[][..], |one| &one.wrong);
        place.lay(pass.prompt, pass.schema, before).map_err(NotRun::Ground)?;
        let Some((run, walls)) = super::one(&job, false, pass.agent.confine.output, says, stop).await else {
            return Ok(None);
        };
        stood_around.extend(walls);
        let ended_well = run.passed();
        let read = if ended_well { place.answer(&validator) } else { Err(Vec::new()) };
        let wrong = read.as_ref().err().cloned().unwrap_or_default();
        answer = read.ok();
        tries.push(Try { run, wrong });
        // One that broke off has said nothing that it could put right.
        if answer.is_some() || !ended_well || Instant::now() >= deadline {
            break;
        }
    }
    let calls = match table {
        Some(table) => table.clear().await,
        None => Calls { without, ..Calls::default() },
    };
    let own = TempDir::new_in(pass.below).map_err(|error| NotRun::Ground(error.into()))?;
    let committed = copy.has_moved();
    let taken = taken(copy.folder(), copy.objects(), pass.commit, &sight, own.path())?;
    let changed: Vec<String> =
        taken.deltas.iter().take(MOST_PATHS).map(|delta| super::text::line(&delta.path.to_string(), 500)).collect();
    let looks = pass.role.is_read_only();
    let report = Report {
        role: pass.role,
        tries,
        duration_ms: millis(clock.elapsed()),
        confinement: stood(&walls.ok_or_else(no_walls), pass.agent.confine.required, &stood_around),
        answer: answer.as_ref().map(|(_, digest)| digest.clone()),
        discarded: looks && !changed.is_empty(),
        changed,
        committed,
        nested: taken.nested.iter().take(MOST_PATHS).cloned().collect(),
        outside: taken.outside.iter().take(MOST_PATHS).map(|path| super::text::line(&path.to_string(), 500)).collect(),
        calls,
    };
    let left = (!looks).then_some(Left { taken, _own: own });
    Ok(Some(Passed { report, answer: answer.map(|(value, _)| value), left }))
}

/// A copy of what its pack lets through.
async fn packed(pass: &Pass<'_>, sight: &Sight, user: Option<u32>) -> Result<Worktree, NotRun> {
    let (copy, of) =
        Worktree::packed(pass.git_folder, pass.commit, sight, pass.below, user).await.map_err(NotRun::Ground)?;
    copy.ok_or(NotRun::EmptyPack(of))
}

/// Lays its tools, where there are some; or says why there are none.
fn laid(pass: &Pass<'_>, seat: Seat, socket: &Path) -> (Option<Table>, Option<String>) {
    let Some(tools) = pass.tools.clone() else { return (None, None) };
    match Table::lay(tools, Arc::new(seat), socket) {
        Ok(table) => (Some(table), None),
        Err(error) => (None, Some(error.to_string())),
    }
}

/// Puts the program by which it reaches its tools at the end of the search path: what is there under the same name comes first.
fn reachable(environment: &mut [(OsString, OsString)], program: Option<&Path>) {
    let Some(folder) = program.and_then(Path::parent) else { return };
    if let Some((_, path)) = environment.iter_mut().find(|(name, _)| name == OsStr::new("PATH")) {
        let all = std::env::split_paths(path).chain([folder.to_owned()]);
        if let Ok(joined) = std::env::join_paths(all) {
            *path = joined;
        }
    }
}

/// What it may read and write.
fn confine(pass: &Pass<'_>, copy: &Worktree, reads: Vec<PathBuf>, user: Option<u32>) -> Confine {
    let (confine, folder) = (&pass.agent.confine, copy.folder().to_owned());
    let network = pass.agent.network == Network::Allow;
    // Who answers for names is often written where nothing else is to be seen.
    let names = network.then(|| Path::new("/etc/resolv.conf").canonicalize().ok()).flatten();
    // With a pack its copy has objects of its own: these have everything that ever was.
    let objects = copy.borrows().map(Path::to_owned);
    let reads = reads.into_iter().chain(objects).chain(names);
    let (writes, reads) = match pass.role.is_read_only() {
        true => (Vec::new(), reads.chain([folder]).collect()),
        false => (vec![folder], reads.collect()),
    };
    Confine {
        writes,
        reads,
        hides: pass.hides.to_vec(),
        scratch: copy.scratch().to_owned(),
        user,
        network,
        limits: Limits {
            memory: confine.memory.bytes(),
            processes: confine.processes.into(),
            file: confine.file.bytes(),
        },
    }
}

fn no_walls() -> String {
    "walls are a matter of Linux".to_owned()
}

/// The walls that it can't do without, tried on a command that does nothing.
async fn needed(pass: &Pass<'_>, job: &Job<'_>, packed: bool, stop: &CancellationToken) -> Result<(), NotRun> {
    let looks = pass.role.is_read_only();
    if !looks && !packed && !pass.agent.confine.required {
        return Ok(());
    }
    let none = |why: String| if looks { NotRun::NoWall(why) } else { NotRun::NoPack(why) };
    let walls = match job.enclosure {
        Some(_) => super::process::carry_out(job, &mut |_| {}, stop).await.walls,
        None => None,
    };
    let Some(walls) = walls else { return Err(none(no_walls())) };
    let why: Vec<String> = walls.open.iter().map(|open| format!("{} ({})", open.wall.without(), open.why)).collect();
    let why = format!("they {}", why.join("; they "));
    if (looks || packed) && !walls.stand.iter().any(|wall| matches!(wall, Wall::Files | Wall::LandlockFiles)) {
        return Err(none(why));
    }
    // Without a root folder of its own nothing that lies in a folder which it may read is hidden.
    if packed
        && !walls.stand.contains(&Wall::Files)
        && let Some(shown) = pass.hides.iter().find(|path| job.enclosure.is_some_and(|walls| walls.shows(path)))
    {
        return Err(NotRun::NoPack(format!("{} lies where it may read, and {why}", shown.display())));
    }
    if pass.agent.confine.required && !walls.open.is_empty() {
        return Err(NotRun::Unconfined(why));
    }
    Ok(())
}

/// The program with its arguments as they are, whatever a shell would make of them, and the prompt as its input.
fn command(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    format!("exec {} < \"$PHASEGATE_PROMPT\"", quoted.join(" "))
}

/// The files by which an agent is asked, and answers: in its home, which nobody else has.
struct Place {
    prompt: PathBuf,
    schema: PathBuf,
    answer: PathBuf,
    socket: PathBuf,
}

impl Place {
    fn of(scratch: &Path) -> Self {
        let file = |name: &str| scratch.join(name);
        Self {
            prompt: file("prompt.md"),
            schema: file("answer.schema.json"),
            answer: file("answer.json"),
            socket: file("mcp.sock"),
        }
    }

    fn variables(&self) -> [(OsString, OsString); 3] {
        [("PHASEGATE_PROMPT", &self.prompt), ("PHASEGATE_SCHEMA", &self.schema), ("PHASEGATE_ANSWER", &self.answer)]
            .map(|(name, path)| (name.into(), path.into()))
    }

    /// What it is asked, with what was wrong before, and no answer yet.
    fn lay(&self, prompt: &str, schema: &Value, wrong: &[String]) -> anyhow::Result<()> {
        use std::fmt::Write as _;
        let mut text = format!("{}\n\n## Your answer\n\n", prompt.trim_end());
        let (schema_file, answer_file) = (self.schema.display(), self.answer.display());
        let _ = writeln!(text, "At the end write JSON by the schema in `{schema_file}` into the file `{answer_file}`.");
        if !wrong.is_empty() {
            text.push_str(
                "\nYour last answer was not taken. What you have done is still there; write the answer again.\n\n",
            );
            for one in wrong {
                let _ = writeln!(text, "- {one}");
            }
        }
        for (path, text) in [(&self.prompt, text), (&self.schema, serde_json::to_string_pretty(schema)?)] {
            clear(path)?;
            fs::write(path, text)?;
        }
        clear(&self.answer)
    }

    /// The answer and its digest, or what is wrong with it.
    fn answer(&self, validator: &jsonschema::Validator) -> Result<(Value, Digest), Vec<String>> {
        let text = self.text().map_err(|wrong| vec![wrong])?;
        let value: Value = serde_json::from_slice(&text)
            .map_err(|error| vec![format!("What the answer's file has is no JSON: {error}.")])?;
        let wrong: Vec<String> = validator
            .iter_errors(&value)
            .take(MOST_WRONG)
            .map(|error| {
                let at = error.instance_path().to_string();
                let at = if at.is_empty() { String::new() } else { format!("`{at}`: ") };
                super::text::line(&format!("{at}{error}."), 500)
            })
            .collect();
        if wrong.is_empty() { Ok((value, Digest::of(&text))) } else { Err(wrong) }
    }

    /// Its bytes. The file is the agent's: it may be a link, a pipe, or without an end.
    fn text(&self) -> Result<Vec<u8>, String> {
        let none = "There is no answer: write it into the file that `PHASEGATE_ANSWER` names, as JSON by the schema in the file \
                    that `PHASEGATE_SCHEMA` names.";
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(&self.answer);
        let file = file.map_err(|_| none.to_owned())?;
        if !file.metadata().is_ok_and(|about| about.is_file()) {
            return Err("The answer's file is no plain file.".to_owned());
        }
        let mut bytes = Vec::new();
        let read = file.take(LARGEST_ANSWER + 1).read_to_end(&mut bytes);
        if read.is_err() || bytes.len() as u64 > LARGEST_ANSWER {
            return Err(format!("The answer has more than {LARGEST_ANSWER} bytes."));
        }
        Ok(bytes)
    }
}

/// Takes away what lies at a place of ours: a folder, a link, whatever an agent has put there.
fn clear(path: &Path) -> anyhow::Result<()> {
    match path.symlink_metadata() {
        Ok(about) if about.is_dir() => {
            super::worktree::remove(path);
            Ok(())
        }
        Ok(_) => Ok(fs::remove_file(path)?),
        Err(_) => Ok(()),
    }
}

/// Whether it ended as it should.
impl Try {
    pub fn ended_well(&self) -> bool {
        self.run.passed()
    }

    /// How it ended where it did not, for people.
    pub fn how(&self) -> String {
        match (self.run.outcome, self.run.status, self.run.signal) {
            (CommandOutcome::TimedOut, ..) => "its time was over".to_owned(),
            (CommandOutcome::OverLimit | CommandOutcome::NotStarted, ..) => {
                self.run.why.clone().unwrap_or_else(|| "it could not go on".to_owned())
            }
            (_, Some(status), _) => format!("it ended with status {status}"),
            (_, _, Some(signal)) => format!("signal {signal} ended it"),
            _ => "it was not run".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
