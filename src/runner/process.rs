//! One command, from its start to the end of everything that it started.
//!
//! Promises: what it says comes in the order in which it said it; it ends, at the latest, a few seconds after its time; and
//! with [`Orphans`] nothing that it left behind outlives it. Without them, and on other systems than Linux, a process that
//! has left the command's group lives on. What escapes both is a program that grows faster than it is ended: that takes
//! the walls of a sandbox, which the plain form does not have.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::environ::Masks;
use super::output::{Output, Said};
use super::wall::{Enclosure, Line, Walls};

/// How long a command may take to end when it is asked to, before it is ended.
const GRACE: Duration = Duration::from_secs(2);
/// How long what it started may go on speaking after it has ended.
const ECHO: Duration = Duration::from_secs(1);

/// The program that reads the commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shell {
    program: PathBuf,
    arguments: &'static [&'static str],
}

impl Shell {
    /// bash where there is one on this path, which notices a failure in a pipe too.
    pub(crate) fn on(path: Option<&OsStr>) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let folders = std::env::split_paths(path.unwrap_or_default()).filter(|folder| folder.is_absolute());
        let is_program = |file: &PathBuf| {
            file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        };
        match folders.map(|folder| folder.join("bash")).find(is_program) {
            Some(program) => Self { program, arguments: &["-euo", "pipefail", "-c"] },
            None => Self { program: PathBuf::from("/bin/sh"), arguments: &["-eu", "-c"] },
        }
    }

    /// How a command is given to it, for people.
    pub(crate) fn shown(&self) -> String {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        format!("{name} {}", self.arguments.join(" "))
    }
}

pub(crate) struct Job<'a> {
    pub(crate) shell: &'a Shell,
    pub(crate) command: &'a str,
    /// What is looked for in what it says.
    pub(crate) prints: Option<&'a str>,
    pub(crate) folder: &'a Path,
    pub(crate) environment: &'a [(OsString, OsString)],
    pub(crate) deadline: Instant,
    pub(crate) masks: &'a Masks,
    pub(crate) orphans: Option<&'a Orphans>,
    /// The walls around it; none in the open.
    pub(crate) enclosure: Option<&'a Enclosure>,
    /// So many bytes it may say.
    pub(crate) most: u64,
}

/// What came of a command.
pub(crate) struct Done {
    pub(crate) ended: Ended,
    pub(crate) said: Said,
    /// The walls that stood around it; none in the open, and where it was not started.
    pub(crate) walls: Option<Walls>,
}

/// What a command had too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Memory,
    Output,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    OverLimit(Limit),
    NotStarted(String),
    /// Whoever asked for it wants no more.
    Interrupted,
}

/// Carries a command out. Everything that it says goes to `live` as it comes.
pub(crate) async fn carry_out(job: &Job<'_>, live: &mut (dyn FnMut(&[u8]) + Send), stop: &CancellationToken) -> Done {
    let mut output = Output::new(job.masks, job.prints);
    let mut keeper = Keeper::default();
    let ended = match start(job) {
        Ok(Started { child, pipe, told }) => {
            keeper.pipe = told;
            let mut heard = |chunk: &[u8]| {
                output.take(chunk);
                live(chunk);
            };
            let mut ear = Ear { pipe: Some(pipe), left: job.most, heard: &mut heard };
            let ended = watch(job, child, &mut ear, &mut keeper, stop).await;
            keeper.corrected(ended)
        }
        Err(error) => Ended::NotStarted(error.to_string()),
    };
    Done { ended, said: output.end(), walls: keeper.walls }
}

struct Started {
    child: Child,
    /// What it says.
    pipe: Receiver,
    /// What is told of its walls.
    told: Option<Receiver>,
}

/// Both of its outputs are one pipe, so that nothing changes places.
fn start(job: &Job<'_>) -> io::Result<Started> {
    let (reader, writer) = io::pipe()?;
    let mut told = None;
    let mut command = match job.enclosure {
        None => {
            let mut command = Command::new(&job.shell.program);
            command.args(job.shell.arguments).arg(job.command).current_dir(job.folder).stdin(Stdio::null());
            command
        }
        Some(enclosure) => {
            let program = job.shell.program.to_str().ok_or_else(|| io::Error::other("the shell's path is not text"))?;
            let words = [program].into_iter().chain(job.shell.arguments.iter().copied()).chain([job.command]);
            let order = enclosure.order(words.map(str::to_owned).collect(), job.folder);
            let (program, args) = order.map_err(io::Error::other)?;
            let (ours, theirs) = io::pipe()?;
            told = Some(Receiver::from_owned_fd(ours.into())?);
            let mut command = Command::new(program);
            command.args(args).stdin(theirs);
            command
        }
    };
    command.env_clear().envs(job.environment.iter().map(|(name, value)| (name, value)));
    command.stdout(writer.try_clone()?).stderr(writer);
    command.process_group(0).kill_on_drop(true);
    let child = command.spawn()?;
    // It holds our ends for writing: as long as they are open, the pipes have no end.
    drop(command);
    Ok(Started { child, pipe: Receiver::from_owned_fd(reader.into())?, told })
}

/// The reading end of the pipe, until there is nothing more to come.
struct Ear<'h> {
    pipe: Option<Receiver>,
    /// So many bytes are listened to.
    left: u64,
    heard: &'h mut (dyn FnMut(&[u8]) + Send),
}

impl Ear<'_> {
    /// Returns when nobody can speak any more, or too much was said: whether that is it.
    async fn listen(&mut self) -> bool {
        let mut buffer = vec![0; 64 * 1024];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut buffer).await {
                Ok(0) | Err(_) => self.pipe = None,
                Ok(read) => {
                    let taken = read.min(usize::try_from(self.left).unwrap_or(usize::MAX));
                    (self.heard)(&buffer[..taken]);
                    self.left -= taken as u64;
                    if taken < read {
                        self.pipe = None;
                        return true;
                    }
                }
            }
        }
        false
    }
}

/// What is told from inside of the walls.
#[derive(Default)]
struct Keeper {
    pipe: Option<Receiver>,
    /// The beginning of a line.
    text: Vec<u8>,
    group: Option<Pid>,
    walls: Option<Walls>,
    signal: Option<i32>,
    out_of_memory: bool,
    failed: Option<String>,
}

impl Keeper {
    /// Returns when there is nothing more to come.
    async fn listen(&mut self) {
        let mut buffer = [0; 4096];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut buffer).await {
                Ok(0) | Err(_) => self.pipe = None,
                Ok(read) => {
                    self.text.extend_from_slice(&buffer[..read]);
                    while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                        let line: Vec<u8> = self.text.drain(..=end).collect();
                        self.hear(&line);
                    }
                }
            }
        }
    }

    fn hear(&mut self, line: &[u8]) {
        match serde_json::from_slice(line) {
            Ok(Line::Group(group)) => self.group = Pid::from_raw(group),
            Ok(Line::Walls(walls)) => self.walls = Some(walls),
            Ok(Line::Signalled(signal)) => self.signal = Some(signal),
            Ok(Line::OutOfMemory) => self.out_of_memory = true,
            Ok(Line::Failed(why)) => self.failed = self.failed.take().or(Some(why)),
            Err(_) => {}
        }
    }

    /// How the command itself ended, where that is another end than that of the process which keeps it.
    fn corrected(&self, ended: Ended) -> Ended {
        match (ended, &self.failed, self.signal) {
            (Ended::Exited(_), Some(why), _) => Ended::NotStarted(why.clone()),
            (Ended::Exited(_), None, _) if self.out_of_memory => Ended::OverLimit(Limit::Memory),
            (Ended::Exited(_), None, Some(signal)) => Ended::Signalled(signal),
            (ended, ..) => ended,
        }
    }
}

async fn watch(
    job: &Job<'_>,
    mut child: Child,
    ear: &mut Ear<'_>,
    keeper: &mut Keeper,
    stop: &CancellationToken,
) -> Ended {
    let first = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let tell = |group: Option<Pid>, signal: Signal| {
        if let Some(group) = group {
            // None is left, or it is nobody that we may end: both are fine.
            let _ = kill_process_group(group, signal);
        }
    };
    let ended = tokio::select! {
        heard = heard(&mut child, ear, keeper) => match heard {
            Heard::End(status) => of(status),
            Heard::TooMuch => Ended::OverLimit(Limit::Output),
        },
        () = sleep_until(job.deadline) => Ended::TimedOut,
        () = stop.cancelled() => Ended::Interrupted,
    };
    match ended {
        Ended::TimedOut | Ended::Interrupted => {
            // Behind walls the first process ends with the command, and must not end before it.
            tell(keeper.group.or(first), Signal::TERM);
            let _ = timeout(GRACE, heard(&mut child, ear, keeper)).await;
        }
        Ended::OverLimit(_) => {}
        // What it started may still have to write what it was told.
        _ => drop(timeout(ECHO, ear.listen()).await),
    }
    tell(first, Signal::KILL);
    tell(keeper.group, Signal::KILL);
    let _ = child.wait().await;
    if let Some(orphans) = job.orphans {
        orphans.end().await;
    }
    let _ = timeout(ECHO, async { tokio::join!(ear.listen(), keeper.listen()) }).await;
    ended
}

enum Heard {
    End(io::Result<ExitStatus>),
    TooMuch,
}

/// Waits for a command's end, and listens meanwhile. It may have closed its outputs, and work on.
async fn heard(child: &mut Child, ear: &mut Ear<'_>, keeper: &mut Keeper) -> Heard {
    loop {
        let (speaks, told) = (ear.pipe.is_some(), keeper.pipe.is_some());
        tokio::select! {
            status = child.wait() => return Heard::End(status),
            too_much = ear.listen(), if speaks => {
                if too_much {
                    return Heard::TooMuch;
                }
            }
            () = keeper.listen(), if told => {}
        }
    }
}

fn of(status: io::Result<ExitStatus>) -> Ended {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exited(code),
            (None, Some(signal)) => Ended::Signalled(signal),
            (None, None) => Ended::NotStarted(status.to_string()),
        },
        Err(error) => Ended::NotStarted(error.to_string()),
    }
}

/// The children of the commands, when a command has left them behind: they become children of this process, however they
/// were started, and can be found and ended.
///
/// Whoever makes one says that this process starts no other children than the commands of a gate: at the end of each, all
/// that there are then are ended, but for those that were there before. A shell that became this program has left those.
#[derive(Debug)]
pub struct Orphans {
    /// Their numbers are nobody else's: only we could take note of their end, and do not.
    before: Vec<Pid>,
}

impl Orphans {
    /// None where the system can't do that.
    #[cfg(target_os = "linux")]
    pub fn adopt() -> Option<Self> {
        let before = children();
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok().map(|()| Self { before })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn adopt() -> Option<Self> {
        None
    }

    /// Ends those that are there, and those that they leave behind, until there are none.
    #[cfg(target_os = "linux")]
    async fn end(&self) {
        use rustix::process::{WaitOptions, kill_process, waitpid};
        // Each round makes the children of those that were ended ours. A program that starts others faster than they are
        // found is given up after a second.
        for _ in 0..100 {
            let mut found = children();
            found.retain(|child| !self.before.contains(child));
            if found.is_empty() {
                return;
            }
            for child in found {
                // Only we can take note of its end, so its number is nobody else's yet.
                let _ = kill_process(child, Signal::KILL);
                let _ = waitpid(Some(child), WaitOptions::NOHANG);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    #[cfg(not(target_os = "linux"))]
    async fn end(&self) {}
}

/// The processes whose parent is this one.
#[cfg(target_os = "linux")]
fn children() -> Vec<Pid> {
    let own = std::process::id().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_ours = |number: &i32| {
        let stat = std::fs::read(format!("/proc/{number}/stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        // `1 (name) S 0 …`: the name is the process's own choice, brackets and all.
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        parent == Some(own.as_str())
    };
    numbers.filter(is_ours).filter_map(Pid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(command: &str, limit: Duration) -> (Ended, Said) {
        let shell = Shell::on(std::env::var_os("PATH").as_deref());
        let dir = tempfile::tempdir().unwrap();
        let environment = [("PATH", std::env::var_os("PATH").unwrap()), ("LAMP", "on".into())]
            .map(|(name, value)| (OsString::from(name), value));
        let job = Job {
            shell: &shell,
            command,
            prints: None,
            folder: dir.path(),
            environment: &environment,
            deadline: Instant::now() + limit,
            masks: &Masks::default(),
            // Other tests of this process have children, too. `tests/run_gate.rs` has what they end.
            orphans: None,
            enclosure: None,
            most: MOST,
        };
        let mut live = Vec::new();
        let Done { ended, said, .. } =
            carry_out(&job, &mut |chunk| live.extend_from_slice(chunk), &CancellationToken::new()).await;
        assert_eq!(live.len() as u64, said.bytes, "all of it is passed on");
        (ended, said)
    }

    /// Whether a process runs no more; it may still wait for somebody to take note of its end. What was sent to it was sent,
    /// and is seen by the system a moment later.
    fn is_over(number: &str) -> bool {
        let ended = || {
            let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ") || stat.contains(") X ")
        };
        let until = std::time::Instant::now() + Duration::from_secs(120);
        while !ended() && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        number.parse::<u32>().is_ok() && ended()
    }

    const LONG: Duration = Duration::from_secs(60);
    const MOST: u64 = 100_000;

    #[tokio::test]
    async fn one_that_says_too_much_is_ended() {
        let (ended, said) = run("trap '' TERM; yes", LONG).await;
        assert_eq!((ended, said.bytes), (Ended::OverLimit(Limit::Output), MOST));
    }

    #[tokio::test]
    async fn a_command_ends_as_it_ends() {
        for (command, ended) in [
            ("true", Ended::Exited(0)),
            ("exit 7", Ended::Exited(7)),
            ("kill -9 $$", Ended::Signalled(9)),
            ("false; true", Ended::Exited(1)),
            ("echo $nothing_of_that_name", Ended::Exited(1)),
            ("no-such-program", Ended::Exited(127)),
            // There is no input to wait for.
            ("read line; true", Ended::Exited(1)),
        ] {
            assert_eq!(run(command, LONG).await.0, ended, "{command}");
        }
    }

    #[tokio::test]
    async fn a_failure_in_a_pipe_is_one_and_sh_does_where_there_is_no_bash() {
        let bash = Shell::on(std::env::var_os("PATH").as_deref());
        assert_eq!(bash.shown(), "bash -euo pipefail -c");
        assert_eq!(run("false | true", LONG).await.0, Ended::Exited(1));
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(Shell::on(Some(empty.path().as_os_str())).shown(), "sh -eu -c");
        assert_eq!(Shell::on(None).shown(), "sh -eu -c");
    }

    #[tokio::test]
    async fn what_is_said_keeps_its_order_and_the_environment_is_the_one_that_is_given() {
        let (ended, said) = run("echo 1; echo 2 >&2; echo 3; echo \"$LAMP ${HOME-none}\" >&2", LONG).await;
        assert_eq!((ended, said.tail.as_str()), (Ended::Exited(0), "1\n2\n3\non none\n"));
    }

    #[tokio::test]
    async fn one_that_can_not_be_started_says_why() {
        let shell = Shell { program: "/no/such/shell".into(), arguments: &["-c"] };
        let job = Job {
            shell: &shell,
            command: "true",
            prints: None,
            folder: Path::new("/"),
            environment: &[],
            deadline: Instant::now() + LONG,
            masks: &Masks::default(),
            orphans: None,
            enclosure: None,
            most: MOST,
        };
        let ended = carry_out(&job, &mut |_| {}, &CancellationToken::new()).await.ended;
        assert!(matches!(&ended, Ended::NotStarted(why) if why.contains("No such file")), "{ended:?}");
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_ended_with_its_group() {
        // A child that ignores the request holds the pipe open, as the shell itself does.
        let (ended, said) =
            run("trap 'echo asked' TERM; (trap '' TERM; sleep 600) & echo $!; wait", Duration::from_millis(300)).await;
        assert_eq!(ended, Ended::TimedOut);
        assert!(said.tail.ends_with("asked\n"), "{}", said.tail);
        assert!(is_over(said.tail.lines().next().unwrap()));
    }

    #[tokio::test]
    async fn what_a_command_leaves_in_its_group_does_not_outlive_it() {
        let (ended, said) = run("sleep 600 & echo $!", LONG).await;
        assert_eq!(ended, Ended::Exited(0));
        assert!(is_over(said.tail.trim()));
    }
}
