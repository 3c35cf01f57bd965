//! The command line: one file a command, each thin. The work is done in the other rooms.
//!
//! Every command keeps the same manners:
//!
//! - results go to stdout, diagnostics to stderr; colours only where somebody sees them;
//! - a command that reports takes `--json` and then prints one object with a `schema` field;
//! - the exit code is one of [`Exit`], and a command that could not find out what it was asked never exits with 0;
//! - a reader that leaves early (`| head`) is no error: `out` is the only way to stdout, because `println!` would
//!   panic then;
//! - text from a repository, a database or GitHub is made harmless before a terminal sees it.
//!
//! A new command is a file here, a variant of `Command` and its name in `GROUPS`.

mod action;
mod agent;
mod app;
mod audit;
mod check;
mod config;
mod demo;
mod explain;
mod flow;
mod guard;
mod inbox;
mod key;
mod mcp;
mod next;
mod out;
mod post;
mod raise;
mod replay;
mod run;
mod serve;
mod snapshot;
mod status;
mod task;
mod twin;
mod wave;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::builder::Styles;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Fine = 0,
    /// A gate failed or a finding exists.
    Finding = 1,
    /// Wrong usage or configuration: what was asked could not be found out.
    Usage = 2,
    /// A human must decide.
    Human = 3,
    Bug = 70,
    /// A signal ended it before it was done; the shell's own number for that.
    Interrupted = 130,
}

impl Exit {
    /// Fine or a finding.
    pub fn found(finding: bool) -> Self {
        if finding { Self::Finding } else { Self::Fine }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// A referee for AI coding agents' pull requests: fixed phases, gates as check runs, merges only on evidence.
#[derive(Debug, Parser)]
#[command(name = "phasegate", version, max_term_width = 100, disable_help_subcommand = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 fine, 1 a finding exists, 2 wrong usage or configuration, \
                          3 a human must decide, 70 a bug, 130 interrupted.";

#[derive(Debug, Subcommand)]
enum Command {
    Action(action::Args),
    Agent(agent::Args),
    Audit(audit::Args),
    Check(check::Args),
    Config(config::Args),
    Demo(demo::Args),
    /// Say why a change is not merging, by its records: what to do first comes first
    ///
    /// With what was found, where, and by which rule. It exits as `phasegate status` does.
    Explain(status::Args),
    Flow(flow::Args),
    Guard(guard::Args),
    Inbox(inbox::Args),
    Key(key::Args),
    Mcp(mcp::Args),
    Next(next::Args),
    Post(post::Args),
    Replay(replay::Args),
    Run(run::Args),
    Serve(serve::Args),
    Snapshot(snapshot::Args),
    /// Say where a change stands, by its records
    ///
    /// Exits with 0 when it may merge or is merged, 1 when something stands against it, 3 when a person must decide, and also
    /// with 3 when its ledger is advisory: then anyone who can push a workflow could have written it, and it is no gate.
    Status(status::Args),
    Task(task::Args),
    Twin(twin::Args),
    Wave(wave::Args),
}

impl Command {
    async fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Action(args) => action::run(&args).await,
            Self::Agent(args) => agent::run(&args).await,
            Self::Audit(args) => audit::run(&args).await,
            Self::Check(args) => check::run(&args),
            Self::Config(args) => config::run(&args),
            Self::Demo(args) => demo::run(&args).await,
            Self::Explain(args) => explain::run(&args).await,
            Self::Flow(args) => flow::run(&args),
            Self::Guard(args) => guard::run(&args).await,
            Self::Inbox(args) => inbox::run(&args).await,
            Self::Key(args) => key::run(&args),
            Self::Mcp(args) => mcp::run(&args).await,
            Self::Next(args) => next::run(&args).await,
            Self::Post(args) => post::run(&args).await,
            Self::Replay(args) => replay::run(&args).await,
            Self::Run(args) => run::run(&args).await,
            Self::Serve(args) => serve::run(&args).await,
            Self::Snapshot(args) => snapshot::run(&args).await,
            Self::Status(args) => status::run(&args).await,
            Self::Task(args) => task::run(&args).await,
            Self::Twin(args) => twin::run(&args).await,
            Self::Wave(args) => wave::run(&args),
        }
    }
}

/// The commands as the help lists them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Try it", &["demo", "twin"]),
    ("Run it", &["serve", "action", "post", "inbox", "key"]),
    ("Rules", &["check", "guard", "wave", "run", "config", "flow"]),
    ("Tasks", &["task", "agent"]),
    ("Proof", &["status", "next", "explain", "snapshot", "mcp", "replay", "audit"]),
];

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let says = panic.payload_as_str().unwrap_or("no message");
        let report = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");
        let version = env!("CARGO_PKG_VERSION");
        out::complain(&format!(
            "phasegate {version}: a bug: {}{place}\nPlease report it: {report}\n",
            out::plain(says)
        ));
    }));
    #[cfg(target_os = "linux")]
    if let Some(order) = crate::runner::wall::order(std::env::args_os()) {
        return crate::runner::wall::inside::main(&order);
    }
    // Whoever started this may have files and connections open. What is run from here gets none of them.
    close_fds::set_fds_cloexec(3, &[]);
    guarded(|| run(std::env::args_os())).into()
}

/// What a thread may pile up. A look at a change goes deep, and a build without optimisation keeps all of it at once.
const STACK: usize = 8 * 1024 * 1024;

/// A panic ends as a bug. It is caught here and not in the hook, so that one in a server's task does not end the
/// server.
fn guarded(work: impl FnOnce() -> Exit) -> Exit {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Exit::Bug)
}

fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let parsed = grouped(Cli::command()).try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // The help is such an "error" too, and goes to stdout. A reader that has left misses nothing.
            let _ = error.print();
            if !error.use_stderr() {
                return Exit::Fine;
            }
            let says = error.to_string();
            out::not_done(&anyhow::anyhow!("{}", says.trim_start_matches("error: ")), out::Stream::Err);
            return Exit::Usage;
        }
    };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = match builder.enable_all().thread_stack_size(STACK).build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("can't start")),
    };
    let ended = runtime.block_on(cli.command.run());
    // What still runs was given up: nobody waits for it.
    runtime.shutdown_background();
    match ended {
        Ok(exit) => exit,
        Err(error) => failed(&error),
    }
}

/// What could not be done, with its causes, each on a line.
fn failed(error: &anyhow::Error) -> Exit {
    let styles = Styles::styled();
    let red = styles.get_error();
    let mut text = format!("{red}error:{red:#} ");
    for (depth, cause) in error.chain().enumerate() {
        let lead = if depth == 0 { "" } else { "  because: " };
        for line in cause.to_string().lines() {
            let _ = writeln!(text, "{lead}{}", out::plain(line));
        }
    }
    out::complain(&text);
    Exit::Usage
}

/// The help lists the commands by what they are for; clap can't group them by itself.
fn grouped(command: clap::Command) -> clap::Command {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or_default();
    let mut list = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(list, "{header}{group}:{header:#}");
        for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {literal}{:width$}{literal:#}  {about}", sub.get_name());
        }
        list.push('\n');
    }
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{list}{header}Options:{header:#}\n{{options}}\n\n\
         `phasegate COMMAND --help` says more about a command.{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        grouped(Cli::command()).debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group_of_the_help_and_every_name_there_is_a_command() {
        let mut commands: Vec<String> = Cli::command().get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        let mut listed: Vec<String> =
            GROUPS.iter().flat_map(|(_, names)| *names).map(|&name| name.to_owned()).collect();
        commands.sort();
        listed.sort();
        assert_eq!(commands, listed);
    }

    #[test]
    fn a_panic_is_a_bug() {
        assert_eq!(guarded(|| panic!("on purpose")), Exit::Bug);
        assert_eq!(guarded(|| Exit::Human), Exit::Human);
        assert_eq!(Exit::Bug as u8, 70);
    }
}
