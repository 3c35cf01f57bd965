//! Runs the commands that the policy names for a gate, and says what happened.
//!
//! It promises:
//!
//! - what is run is the policy's, word for word, each command by a shell that stops at the first failure;
//! - it ends: the gate has a time limit, and what a command started does not outlive it ([`Orphans`]);
//! - what is said of it is what was seen: exit statuses, a digest of every byte of output, the tests of JUnit reports and the lines of
//!   coverage reports that this run wrote itself ([`artefact`]);
//! - the commands get no token of the job, and none of its secrets is kept of what they say ([`WITHHELD`]);
//! - what the commands reach is what the walls around them leave ([`wall`]), and which of them stood is said.
//!
//! It judges nothing: whoever calls [`conclude`] brings the rules ([`crate::gate::ran`]).

pub mod artefact;
pub mod calls;
pub mod coverage;
pub mod earned;
mod environ;
mod junit;
mod lacks;
pub mod order;
mod output;
pub mod pass;
mod place;
mod process;
pub mod proofs;
pub mod reads;
mod reports;
pub mod rewritten;
pub mod screenshots;
mod search;
mod subject;
pub(crate) mod text;
pub mod wall;
pub mod worktree;
mod xml;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use environ::{WITHHELD, Withheld, is_given};
pub use output::LONGEST_TAIL;
pub use process::Orphans;
pub use subject::{Around, For, Lost, around, started_after};

use crate::finding::{Finding, bounded, verdict};
use crate::policy::{RunGate, Size, Timeout};
use artefact::{
    ActionsRun, Artefact, Attempt, CommandOutcome, CommandRun, Confinement, Facts, OutputKept, PolicyRead, SCHEMA,
    Subject, Summary,
};
use coverage::Coverage;
use earned::Earned;
use environ::Masks;
use process::{Done, Ended, Job, Limit, Shell};
use proofs::Proofs;
use reports::Before;
use screenshots::Screenshot;
use wall::{Enclosure, Open, Wall, Walls};

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The name of what is tested.
    pub module: String,
    pub gate: RunGate,
    pub commands: Vec<String>,
    /// What each of them is to print, where something is looked for; as many as there are commands, or none.
    pub prints: Vec<Option<String>>,
    /// They audit the dependencies.
    pub audits: bool,
    /// Globs of the reports that they write.
    pub reports: Vec<String>,
    /// Globs of the reports that say how much is covered.
    pub coverage: Vec<String>,
    /// Globs of the pictures that they leave.
    pub screenshots: Vec<String>,
    pub timeout: Timeout,
    /// Where.
    pub folder: PathBuf,
    /// That is a copy in which nothing was run before.
    pub fresh: bool,
    /// When everything that is run for the gate has to be done, with what is run beside this.
    pub until: Option<Instant>,
    /// The walls around the commands, or why there are none.
    pub walls: Result<Enclosure, String>,
    /// The policy asks for all of them.
    pub walls_required: bool,
    /// How much a command may say.
    pub output: Size,
    /// The environment of this process. The commands are given a part of it, and its secrets are hidden.
    pub environment: Vec<(OsString, OsString)>,
    /// Go on after a command that failed.
    pub keep_going: bool,
    pub subject: Subject,
    pub policy: PolicyRead,
    pub run: Option<ActionsRun>,
    /// Those before this one that are known.
    pub attempts: Vec<Attempt>,
}

/// Everything that is run for a gate takes at most so many times what its commands may take: they are run on other content too.
pub const TIMES: u32 = 5;

/// Who is told while it runs.
pub trait Watcher: Send {
    fn begins(&mut self, command: &str);
    /// A piece of what it says, as it comes.
    fn says(&mut self, bytes: &[u8]);
    fn ended(&mut self, command: &CommandRun);
    /// What follows is on other content.
    fn turns_to(&mut self, content: &str);
}

/// The rules that a run is judged by.
pub type Judge = fn(&Facts<'_>) -> Vec<Finding>;

/// What came of a plan.
#[derive(Debug, Clone)]
pub struct Carried {
    started: Timestamp,
    ended: Timestamp,
    duration_ms: u64,
    shell: String,
    environment: artefact::Environment,
    confinement: Confinement,
    commands: Vec<CommandRun>,
    read: reports::Read,
    coverage: Option<Coverage>,
    screenshots: Vec<Screenshot>,
}

impl Carried {
    /// What there is where nothing could be run.
    pub fn empty() -> Self {
        let at = Timestamp::UNIX_EPOCH;
        Self {
            started: at,
            ended: at,
            duration_ms: 0,
            shell: String::new(),
            environment: artefact::Environment::default(),
            confinement: Confinement::default(),
            commands: Vec::new(),
            read: reports::Read::default(),
            coverage: None,
            screenshots: Vec::new(),
        }
    }

    /// Whether any test was carried out.
    pub fn ran_any(&self) -> bool {
        self.read.totals.ran() > 0
    }

    /// Whether a command failed, and no test was told of.
    pub fn is_empty_handed(&self) -> bool {
        self.read.totals.tests == 0 && !self.commands.iter().all(CommandRun::passed)
    }

    /// Takes another run's tests and commands to this one's. What both have is this one's.
    pub fn join(&mut self, other: Self) {
        self.duration_ms = self.duration_ms.saturating_add(other.duration_ms);
        self.commands.extend(other.commands);
        let known: HashSet<String> = self.read.tests.iter().map(|test| test.run.name.clone()).collect();
        self.read.tests.extend(other.read.tests.into_iter().filter(|test| !known.contains(&test.run.name)));
        self.read.totals.add(&other.read.totals);
    }

    /// What came of each command, for whoever asks for nothing else.
    pub fn into_commands(self) -> Vec<CommandRun> {
        self.commands
    }

    /// Whether each command passed.
    pub fn has_passed(&self) -> bool {
        self.commands.iter().all(CommandRun::passed)
    }

    /// Takes what the audit of the dependencies came to.
    pub fn audited(&mut self, audit: Self) {
        self.ended = self.ended.max(audit.ended);
        self.duration_ms = self.duration_ms.saturating_add(audit.duration_ms);
        self.commands.extend(audit.commands);
        let Confinement { confined, stand, open, why, .. } = audit.confinement;
        let own = &mut self.confinement;
        own.confined &= confined;
        // Those that stood around each command.
        own.stand.retain(|wall| stand.contains(wall));
        own.open.extend(open);
        own.open.sort();
        own.open.dedup();
        own.why = own.why.take().or(why);
    }

    /// Notes that the dependencies were not audited, because something failed before.
    pub fn not_audited(&mut self, commands: &[String]) {
        self.commands.extend(commands.iter().map(|command| not_run(command, true)));
    }

    /// Whether each command passed, and tests ran of which none failed.
    pub fn is_green(&self) -> bool {
        self.commands.iter().all(CommandRun::passed) && self.read.totals.ran() > 0 && self.read.failed() == 0
    }
}

/// Carries a plan out. None when it was stopped: what was not finished says nothing.
pub async fn carry_out(
    plan: &Plan,
    watcher: &mut dyn Watcher,
    orphans: Option<&Orphans>,
    stop: &CancellationToken,
) -> Option<Carried> {
    let masks = Masks::of(plan.environment.iter().cloned());
    let environment: Vec<(OsString, OsString)> =
        plan.environment.iter().filter(|(name, _)| is_given(name)).cloned().collect();
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let shell = Shell::on(path);
    let before = Before::note(&plan.folder, &plan.reports, plan.fresh);
    let covered = Before::note(&plan.folder, &plan.coverage, plan.fresh);
    let pictures = Before::note(&plan.folder, &plan.screenshots, plan.fresh);
    let (started, clock) = (now(), Instant::now());
    let deadline = clock + Duration::from_secs(plan.timeout.as_secs().into());
    let deadline = plan.until.map_or(deadline, |until| deadline.min(until));

    let (mut commands, mut walls): (Vec<CommandRun>, Vec<Walls>) = (Vec::new(), Vec::new());
    for (at, command) in plan.commands.iter().enumerate() {
        let failed = commands.iter().any(|before| !before.passed());
        if (failed && !plan.keep_going) || Instant::now() >= deadline {
            let left_out = not_run(command, plan.audits);
            watcher.ended(&left_out);
            commands.push(left_out);
            continue;
        }
        watcher.begins(command);
        let (folder, environment, masks) = (&plan.folder, &environment, &masks);
        let (enclosure, most) = (plan.walls.as_ref().ok(), plan.output.bytes());
        let prints = plan.prints.get(at).and_then(Option::as_deref);
        let shell = &shell;
        let job = Job { shell, command, prints, folder, environment, deadline, masks, orphans, enclosure, most };
        let (done, stood) = one(&job, plan.audits, plan.output, &mut |bytes| watcher.says(bytes), stop).await?;
        walls.extend(stood);
        watcher.ended(&done);
        commands.push(done);
    }
    Some(Carried {
        started,
        ended: now().max(started),
        duration_ms: millis(clock.elapsed()),
        shell: shell.shown(),
        environment: environ::described(&environment),
        confinement: stood(&plan.walls, plan.walls_required, &walls),
        commands,
        read: reports::read(&plan.folder, &plan.reports, &before, &masks),
        coverage: coverage::read(&plan.folder, &plan.coverage, &covered, &masks),
        screenshots: screenshots::read(&plan.folder, &plan.screenshots, &pictures, &masks),
    })
}

/// What was looked at beside the commands on the head.
#[derive(Debug, Default)]
pub struct Beside {
    /// The same commands on other content.
    pub earned: Option<Earned>,
    /// What shows the criteria at runtime.
    pub proofs: Option<Proofs>,
    /// How many files are tests by their paths, where that says something.
    pub test_files: Option<u64>,
    /// Files that the commands wrote anew.
    pub rewritten: Vec<String>,
}

/// What is said of it, and of what was looked at beside it.
pub fn conclude(plan: &Plan, carried: Carried, beside: Beside, judge: Judge) -> Artefact {
    let Beside { earned, proofs, test_files, rewritten } = beside;
    let Carried { started, ended, duration_ms, shell, environment, confinement, commands, read, coverage, screenshots } =
        carried;
    let mut artefact = Artefact {
        schema: SCHEMA.to_owned(),
        module_id: plan.module.clone(),
        module_version: plan.subject.checkout.as_ref().map_or_else(|| "uncommitted".to_owned(), |id| id.to_string()),
        executed_at: started,
        summary: Summary::of(&read.totals),
        tests: read.tests.into_iter().map(|listed| listed.run).collect(),
        skipped: read.skipped,
        attempts: plan.attempts.clone(),
        environment,
        gate: plan.gate,
        verdict: crate::finding::Verdict::Fail,
        findings: Vec::new(),
        subject: plan.subject.clone(),
        policy: plan.policy.clone(),
        run: plan.run.clone(),
        phasegate: env!("CARGO_PKG_VERSION").to_owned(),
        shell,
        started,
        ended,
        duration_ms,
        timeout_s: plan.timeout.as_secs(),
        confinement,
        commands,
        promised: plan.reports.clone(),
        reports: read.reports,
        totals: read.totals,
        failing: read.failing,
        failing_left_out: read.failing_left_out,
        flaky: read.flaky,
        coverage,
        earned,
        proofs,
        test_files,
        rewritten,
        screenshots,
    };
    artefact.findings = bounded(judge(&artefact.facts()));
    artefact.verdict = verdict(&artefact.findings);
    artefact
}

/// What is to be said of the walls: one counts where it stood around each command.
fn stood(enclosure: &Result<Enclosure, String>, required: bool, walls: &[Walls]) -> Confinement {
    let stood = |wall: &Wall| walls.iter().all(|walls| walls.stand.contains(wall));
    let stand: Vec<Wall> = walls.first().map_or(&[][..], |first| &first.stand).iter().copied().filter(stood).collect();
    let mut open: Vec<Open> = walls.iter().flat_map(|walls| walls.open.clone()).collect();
    open.sort();
    open.dedup();
    let confined = !stand.is_empty() && open.is_empty();
    let why = enclosure.as_ref().err().cloned();
    Confinement { confined, required, stand, open, why }
}

async fn one(
    job: &Job<'_>,
    audit: bool,
    most: Size,
    says: &mut (dyn FnMut(&[u8]) + Send),
    stop: &CancellationToken,
) -> Option<(CommandRun, Option<Walls>)> {
    let (started, clock) = (now(), Instant::now());
    let Done { ended, said, walls } = process::carry_out(job, says, stop).await;
    let (outcome, status, signal, why) = match ended {
        Ended::Exited(status) => (CommandOutcome::Exited, Some(status), None, None),
        Ended::Signalled(signal) => (CommandOutcome::Signalled, None, Some(signal), None),
        Ended::TimedOut => (CommandOutcome::TimedOut, None, None, None),
        Ended::OverLimit(Limit::Memory) => {
            let why = "its processes together had more memory than the policy allows".to_owned();
            (CommandOutcome::OverLimit, None, None, Some(why))
        }
        Ended::OverLimit(Limit::Output) => {
            let why = format!("it said more than {most}");
            (CommandOutcome::OverLimit, None, None, Some(why))
        }
        Ended::NotStarted(why) => (CommandOutcome::NotStarted, None, None, Some(text::line(&why, 300))),
        Ended::Interrupted => return None,
    };
    let output::Said { bytes, digest, tail, whole, said } = said;
    let done = CommandRun {
        command: job.command.to_owned(),
        outcome,
        status,
        signal,
        why,
        started: Some(started),
        ended: Some(now().max(started)),
        duration_ms: millis(clock.elapsed()),
        output: Some(OutputKept { bytes, digest, tail, whole, said }),
        audit,
    };
    Some((done, walls))
}

fn not_run(command: &str, audit: bool) -> CommandRun {
    CommandRun {
        command: command.to_owned(),
        outcome: CommandOutcome::NotRun,
        status: None,
        signal: None,
        why: None,
        started: None,
        ended: None,
        duration_ms: 0,
        output: None,
        audit,
    }
}

/// To the millisecond, which is as much as anybody reads.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
