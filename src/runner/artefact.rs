//! The artefact of a run: a folder with `execution_log.json`, which says what was run, on what, and how it ended, and with
//! `evidence.html`, the same for people.
//!
//! It is written by an unprivileged job, beside code of the change, and read by a privileged one: a *claim*. What decides
//! is that job's own conclusion; the artefact is shown. [`read`] refuses one that is not what it should be, and [`Shown`]
//! is what may be shown of it.
//!
//! Fields are only ever added: a reader passes over those that it does not know, and a change of meaning is another
//! number in `schema`. `docs/schemas/run.schema.json` is made from these types.

pub mod archive;
mod earlier;
mod facts;
mod log;
mod read;
#[cfg(test)]
mod sample;
mod shown;

use std::fs::{Permissions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use facts::Facts;
pub use log::{Attempt, Environment, Summary, TestResult, TestRun};
pub use read::{Expected, Refused, read, understand};
#[cfg(test)]
pub(crate) use sample::sample;
pub(crate) use shown::shown_time;
pub use shown::{Shown, ShownCommand, ShownTest};

use crate::finding::{Finding, Verdict};
use crate::ids::{CommitId, Digest, Slug};
use crate::policy::RunGate;
use crate::runner::coverage::Coverage;
use crate::runner::earned::Earned;
use crate::runner::proofs::Proofs;
use crate::runner::screenshots::Screenshot;
use crate::runner::wall::{Open, Wall};

/// The name of this form.
pub const SCHEMA: &str = "phasegate/run@1";
/// The file in the artefact's folder.
pub const FILE: &str = "execution_log.json";
/// The same for people; nothing is read back from it.
pub const PAGE: &str = "evidence.html";

/// More than the longest that this version writes.
const MOST_BYTES: u64 = 48 * 1024 * 1024;
/// The largest that an App's server takes.
pub const LARGEST: usize = 8 * 1024 * 1024;
/// The largest that is written line by line.
const LARGEST_IN_LINES: usize = 1024 * 1024;

pub(super) const COMMIT: &str = "^([0-9a-f]{40}|[0-9a-f]{64})$";
pub(super) const DIGEST: &str = "^[0-9a-f]{64}$";

/// What a run of a gate's commands says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "phasegate/run@1")]
pub struct Artefact {
    /// `phasegate/run@1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// What was tested: the repository, `owner/name`, or the name of its folder where GitHub does not tell it.
    pub module_id: String,
    /// The commit that was tested; `uncommitted` where there is none.
    pub module_version: String,
    /// When it started.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub executed_at: Timestamp,
    /// The tests that were carried out, all of them.
    pub tests: Vec<TestRun>,
    /// Their counts.
    pub summary: Summary,
    /// Names of the tests that were skipped, all of them.
    pub skipped: Vec<String>,
    /// Attempts before this one that are known here, the oldest first.
    pub attempts: Vec<Attempt>,
    /// Where it ran.
    pub environment: Environment,
    /// The gate whose commands were run.
    pub gate: RunGate,
    /// `PASS` only where no finding is an error.
    pub verdict: Verdict,
    /// What was found, each with its rule.
    pub findings: Vec<Finding>,
    /// What it was run on.
    pub subject: Subject,
    /// By which policy.
    pub policy: PolicyRead,
    /// The run of GitHub Actions that it was part of; none elsewhere.
    #[serde(default)]
    pub run: Option<ActionsRun>,
    /// The version of Phasegate that wrote this.
    pub phasegate: String,
    /// How each command was given to the shell.
    pub shell: String,
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub started: Timestamp,
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub ended: Timestamp,
    pub duration_ms: u64,
    /// How long the commands might take together.
    pub timeout_s: u32,
    /// The walls around the commands.
    #[serde(default)]
    pub confinement: Confinement,
    /// The policy's commands, in their order, all of them.
    pub commands: Vec<CommandRun>,
    /// The policy's globs of reports.
    pub promised: Vec<String>,
    /// The reports that they match, and the globs that match none.
    pub reports: Vec<Report>,
    /// The counts of all reports that were read.
    pub totals: Counts,
    /// The tests that failed, the first hundred of them.
    pub failing: Vec<Failing>,
    /// How many more there are.
    pub failing_left_out: u64,
    /// Names of tests that passed, but not at the first try; the first hundred.
    pub flaky: Vec<String>,
    /// How many lines the commands reached; none where the policy does not ask for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// What the same commands say on other content; none where that was not asked for.
    #[serde(default)]
    pub earned: Option<Earned>,
    /// What shows the criteria at runtime, where a change has documents that say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proofs: Option<Proofs>,
    /// How many files of the content are tests by their paths, as the guard and the policy's `freeze.tests` know them; none where
    /// that was not looked at, or where tests may stand among the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_files: Option<u64>,
    /// Files that were to be judged, and that the commands wrote anew: tests, what decides how they are run, and what the change
    /// touches; the first hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<String>,
    /// Pictures that the commands left, the first twelve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub screenshots: Vec<Screenshot>,
}

/// The walls around the commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confinement {
    /// Whether all of them stood around each command. Where not, the run is *unconfined*.
    pub confined: bool,
    /// The policy asks for all of them.
    pub required: bool,
    /// Those that stood around each command.
    pub stand: Vec<Wall>,
    /// Those that did not, and why.
    pub open: Vec<Open>,
    /// Why there were none at all.
    #[serde(default)]
    pub why: Option<String>,
}

impl Confinement {
    /// What the commands could do for want of a wall, each as the end of a sentence that begins with "they".
    pub fn told(&self) -> Vec<String> {
        if let Some(why) = &self.why {
            return vec![format!("ran without any wall ({why})")];
        }
        self.open.iter().map(|Open { wall, why }| format!("{} ({why})", wall.without())).collect()
    }
}

/// What the commands were run on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// `owner/name`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub repository: Option<Slug>,
    /// The pull request's number.
    #[serde(default)]
    pub change: Option<u64>,
    /// The tip of the branch that it goes into.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("pattern" = COMMIT))]
    pub base: Option<CommitId>,
    /// The change's newest commit.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("pattern" = COMMIT))]
    pub head: Option<CommitId>,
    /// The commit that was checked out. For a pull request that is most often the merge of head and base.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("pattern" = COMMIT))]
    pub checkout: Option<CommitId>,
    /// Tracked files were not as in that commit.
    #[serde(default)]
    pub uncommitted: bool,
}

/// Where the commands come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyRead {
    /// The identity of what it says, as it is in the content digest.
    #[schemars(with = "String", extend("pattern" = DIGEST))]
    pub digest: Digest,
    pub from: PolicyFrom,
    /// The commit that it was read at; none for a file.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("pattern" = COMMIT))]
    pub commit: Option<CommitId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyFrom {
    /// The default branch, or the revision that was named.
    Base,
    /// The commit that was checked out, where there is no other branch.
    Checkout,
    /// A file that was named.
    File,
}

/// A run of GitHub Actions, or of a server's own runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionsRun {
    pub id: u64,
    pub attempt: u32,
    /// The event that started it.
    #[serde(default)]
    pub event: Option<String>,
    /// The workflow and the ref that its file was read at; `runner` is the server's own.
    #[serde(default)]
    pub workflow: Option<String>,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRun {
    /// Its exact text.
    pub command: String,
    pub outcome: CommandOutcome,
    /// Its exit status, where it exited.
    #[serde(default)]
    pub status: Option<i32>,
    /// The signal that ended it, where one did.
    #[serde(default)]
    pub signal: Option<i32>,
    /// Why it could not be started, or what it had too much of.
    #[serde(default)]
    pub why: Option<String>,
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub started: Option<Timestamp>,
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub ended: Option<Timestamp>,
    pub duration_ms: u64,
    /// What it said; none where it was not run.
    #[serde(default)]
    pub output: Option<OutputKept>,
    /// It audits the dependencies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audit: bool,
}

impl CommandRun {
    pub fn passed(&self) -> bool {
        self.outcome == CommandOutcome::Exited && self.status == Some(0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutcome {
    /// By itself, with a status.
    Exited,
    /// By a signal.
    Signalled,
    /// The gate's time was over.
    TimedOut,
    /// It had more memory, or said more, than it may.
    OverLimit,
    NotStarted,
    /// One before it had failed.
    NotRun,
}

/// What a command said, on both of its outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputKept {
    pub bytes: u64,
    /// SHA-256 of all of it.
    #[schemars(with = "String", extend("pattern" = DIGEST))]
    pub digest: Digest,
    /// Its last 64 KiB at most, without colours and secrets.
    pub tail: String,
    /// Whether the tail is all of it.
    pub whole: bool,
    /// Whether what the command is to print was in any of it; none where nothing was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<bool>,
}

/// A JUnit report, or a glob that matches none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The policy's glob.
    pub glob: String,
    pub state: ReportState,
    /// The file, as seen from the repository.
    #[serde(default)]
    pub path: Option<String>,
    /// Why it is stale or can't be read.
    #[serde(default)]
    pub why: Option<String>,
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("pattern" = DIGEST))]
    pub digest: Option<Digest>,
    pub bytes: u64,
    /// All zero where it was not read.
    pub counts: Counts,
}

impl Report {
    pub(crate) fn new(glob: &str, state: ReportState) -> Self {
        let (path, why, digest, counts) = (None, None, None, Counts::default());
        Self { glob: glob.to_owned(), state, path, why, digest, bytes: 0, counts }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportState {
    Read,
    /// The glob matches nothing.
    Missing,
    /// It was there before the commands were run.
    Stale,
    Unreadable,
}

/// Tests by how they ended. `tests` is the sum of `passed`, `failed`, `errors` and `skipped`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    pub tests: u64,
    pub passed: u64,
    /// An assertion did not hold.
    pub failed: u64,
    /// They could not be carried out.
    pub errors: u64,
    pub skipped: u64,
    /// Of those that passed: not at the first try.
    pub flaky: u64,
    /// What the reports say that they took.
    pub duration_ms: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, more: &Self) {
        let sum = |a: u64, b: u64| a.saturating_add(b);
        *self = Self {
            tests: sum(self.tests, more.tests),
            passed: sum(self.passed, more.passed),
            failed: sum(self.failed, more.failed),
            errors: sum(self.errors, more.errors),
            skipped: sum(self.skipped, more.skipped),
            flaky: sum(self.flaky, more.flaky),
            duration_ms: sum(self.duration_ms, more.duration_ms),
        };
    }

    /// Tests that were carried out.
    pub fn ran(&self) -> u64 {
        self.tests.saturating_sub(self.skipped)
    }

    /// `12 tests: 10 passed (1 at a later try), 1 failed, 1 skipped`
    pub fn shown(&self) -> String {
        let tests = if self.tests == 1 { "1 test".to_owned() } else { format!("{} tests", self.tests) };
        let again = if self.flaky > 0 { format!(" ({} at a later try)", self.flaky) } else { String::new() };
        let mut parts = vec![format!("{} passed{again}", self.passed)];
        for (count, what) in [(self.failed, "failed"), (self.errors, "broke"), (self.skipped, "skipped")] {
            parts.extend((count > 0).then(|| format!("{count} {what}")));
        }
        format!("{tests}: {}", parts.join(", "))
    }
}

/// A test that did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failing {
    pub kind: FailingKind,
    /// With its class before it.
    pub name: String,
    pub suite: String,
    /// Why, in a line.
    pub message: String,
    /// What was said about it, the beginning of it.
    pub details: String,
    /// The file of the repository in which it failed, where that is known.
    #[serde(default)]
    pub path: Option<String>,
    #[serde(default)]
    pub line: Option<u32>,
    /// The report that has it.
    pub report: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailingKind {
    Failed,
    Error,
}

impl Artefact {
    /// As it is written: the same for the same run, and readable where it is not so large that nobody reads it.
    pub fn text(&self) -> anyhow::Result<String> {
        let mut text = serde_json::to_string_pretty(self).context("can't write JSON")?;
        if text.len() > LARGEST_IN_LINES {
            text = serde_json::to_string(self).context("can't write JSON")?;
        }
        text.push('\n');
        // The older form of a workflow command is read anywhere in a line, also in a file that somebody prints.
        Ok(text.replace("##[", "##\\u005b"))
    }

    /// Puts it into a folder with its page, each as a whole or not at all. Whoever may read the folder may read them.
    pub fn write(&self, folder: &Path, page: &str) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("can't make the folder {}", folder.display()))?;
        // The log comes last: where it is, its page is too.
        put(folder, PAGE, page)?;
        put(folder, FILE, &self.text()?)
    }

    /// How many lines were reached, on the head and on the base, where that was asked for.
    fn covered(&self) -> impl Iterator<Item = &Coverage> {
        self.coverage.iter().chain(self.earned.iter().filter_map(|earned| earned.on_base.coverage.as_ref()))
    }

    /// The JSON Schema of the file.
    pub fn schema_of() -> serde_json::Value {
        schemars::schema_for!(Artefact).to_value()
    }
}

fn put(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let cant = || format!("can't write {name} into {}", folder.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(cant)?;
    file.write_all(text.as_bytes()).with_context(cant)?;
    file.as_file().set_permissions(Permissions::from_mode(0o644)).with_context(cant)?;
    file.persist(folder.join(name)).with_context(cant)?;
    Ok(())
}

fn gone(folder: &Path, name: &str) -> anyhow::Result<()> {
    match std::fs::remove_file(folder.join(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("can't remove the earlier {name} of {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// A folder that is ready for an artefact.
#[derive(Debug)]
pub struct Prepared {
    /// The attempts that are known there.
    pub attempts: Vec<Attempt>,
    /// Nobody else prepares the folder while this is open.
    pub held: std::fs::File,
}

/// Makes a folder ready for an artefact: it can be written into, and one of an earlier run is noted and taken out of it, so that it
/// can't be taken for this one's. Says which attempts are known there, of the same gate by the same policy on the same content,
/// whatever commit has it now and whatever else was run meanwhile: a rerun does not erase them.
pub fn prepare(
    folder: &Path,
    gate: RunGate,
    subject: &Subject,
    policy: &Digest,
    is_content: impl Fn(&CommitId) -> bool,
) -> anyhow::Result<Prepared> {
    let shown = folder.display();
    let cant = || format!("the result can't be written into {shown}; name another folder with --out");
    std::fs::create_dir_all(folder).and_then(|()| tempfile::NamedTempFile::new_in(folder)).with_context(cant)?;
    // Two at once would each forget what the other came to.
    let held = std::fs::File::open(folder).with_context(cant)?;
    match held.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            bail!("another run writes into {shown} now; wait for its end, or name another folder with --out")
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(cant),
    }
    let same =
        |commit: &CommitId| !subject.uncommitted && (subject.head.as_ref() == Some(commit) || is_content(commit));
    let attempts = earlier::put_aside(folder, gate, policy, same)
        .with_context(|| format!("can't put the earlier {FILE} of {shown} aside; name another folder with --out"))?;
    Ok(Prepared { attempts, held })
}
