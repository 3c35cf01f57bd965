//! What may be shown of an artefact.

use super::{Artefact, CommandOutcome, CommandRun, Failing, PolicyFrom};
use crate::finding::{Verdict, quoted};
use crate::policy::RunGate;
use crate::runner::text;

/// An artefact in words, for a page or a terminal: every text in it is bounded and has no control characters. It is still
/// somebody else's text, so a page makes it harmless in its own way too (`surface::text::plain`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub gate: RunGate,
    pub verdict: Verdict,
    /// `12 tests: 11 passed, 1 failed`; none where no report was read.
    pub tests: Option<String>,
    pub commands: Vec<ShownCommand>,
    pub failing: Vec<ShownTest>,
    /// Tests that failed and are not listed.
    pub more: u64,
    pub flaky: Vec<String>,
    /// The commands are not the default branch's own.
    pub own_policy: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownCommand {
    pub text: String,
    pub passed: bool,
    /// It was not its turn any more.
    pub left_out: bool,
    /// `passed after 3.2 s`, `ended with exit status 1 after 3.2 s`.
    pub ended: String,
    /// The last lines of what it said.
    pub tail: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownTest {
    pub name: String,
    pub message: String,
    pub path: Option<String>,
    pub line: Option<u32>,
}

const MOST_TESTS: usize = 20;
const LONGEST_COMMAND: usize = 200;
const LONGEST_TAIL: usize = 4_000;

impl Artefact {
    pub fn shown(&self) -> Shown {
        let read = self.totals.tests > 0;
        let listed = self.failing.len().min(MOST_TESTS);
        Shown {
            gate: self.gate,
            verdict: self.verdict,
            tests: read.then(|| self.totals.shown()),
            commands: self.commands.iter().map(command).collect(),
            failing: self.failing.iter().take(listed).map(test).collect(),
            more: (self.failing.len() - listed) as u64 + self.failing_left_out,
            flaky: self.flaky.iter().take(MOST_TESTS).map(|name| text::line(name, 300)).collect(),
            own_policy: self.policy.from != PolicyFrom::Base,
        }
    }
}

fn command(command: &CommandRun) -> ShownCommand {
    let tail = command.output.as_ref().map(|output| text::block(&output.tail)).unwrap_or_default();
    ShownCommand {
        text: text::line(&command.command, LONGEST_COMMAND),
        passed: command.passed(),
        left_out: command.outcome == CommandOutcome::NotRun,
        ended: command.ending(),
        tail: text::tail(&tail, LONGEST_TAIL).to_owned(),
    }
}

fn test(test: &Failing) -> ShownTest {
    ShownTest {
        name: text::line(&test.name, 300),
        message: text::line(&test.message, 300),
        path: test.path.as_ref().map(|path| text::line(path, 300)),
        line: test.line,
    }
}

impl CommandRun {
    /// How it ended, as the end of a sentence.
    pub fn ending(&self) -> String {
        let after = shown_time(self.duration_ms);
        match (self.outcome, self.status, self.signal) {
            (CommandOutcome::Exited, Some(0), _) => format!("passed after {after}"),
            (CommandOutcome::Exited, Some(status), _) => format!("ended with exit status {status} after {after}"),
            (CommandOutcome::Signalled, _, Some(signal)) => format!("was ended by signal {signal} after {after}"),
            (CommandOutcome::TimedOut, ..) => format!("was not done after {after}, when the gate's time was over"),
            (CommandOutcome::OverLimit, ..) => {
                let why = self.why.as_deref().unwrap_or("it had more than it may");
                format!("was ended after {after}: {}", text::line(why, 200))
            }
            (CommandOutcome::NotStarted, ..) => {
                format!("could not be started: {}", quoted(&text::line(self.why.as_deref().unwrap_or("unknown"), 200)))
            }
            (CommandOutcome::NotRun, ..) => "was not run".to_owned(),
            (CommandOutcome::Exited | CommandOutcome::Signalled, ..) => format!("ended after {after}"),
        }
    }
}

/// `340 ms`, `3.2 s`, `4 min 10 s`
pub(crate) fn shown_time(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1000),
    }
}
