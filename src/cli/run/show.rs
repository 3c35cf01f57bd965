//! What is seen of a run while it goes on, and at its end: on a terminal, and in the log of GitHub Actions.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use owo_colors::OwoColorize as _;

use crate::actions::{self, Annotation, Level, Stopped};
use crate::cli::out;
use crate::finding::{Finding, Severity, Verdict};
use crate::runner::Watcher;
use crate::runner::artefact::{Artefact, CommandOutcome, CommandRun, FILE, shown_time};
use crate::runner::text;

/// Everything goes to one stream, in its order: with `--json` to stderr, because stdout is the object's.
pub(super) struct Live {
    actions: bool,
    errors: bool,
    /// While a command speaks in Actions: what keeps its words from being orders to the runner.
    stopped: Option<Stopped>,
    /// Whether the last that it said ended its line.
    at_start: bool,
}

impl Live {
    pub(super) fn new(actions: bool, errors: bool) -> Self {
        Self { actions, errors, stopped: None, at_start: true }
    }

    /// A reader that has left wants no more, and the run goes on: its result stands.
    fn write(&self, bytes: &[u8]) {
        let _ = if self.errors {
            io::stderr().lock().write_all(bytes)
        } else {
            let mut stdout = io::stdout().lock();
            stdout.write_all(bytes).and_then(|()| stdout.flush())
        };
    }

    /// Our own words. Colours stay away where nobody sees them.
    fn say(&self, text: &str) {
        let _ = if self.errors {
            anstream::stderr().lock().write_all(text.as_bytes())
        } else {
            let mut stdout = anstream::stdout().lock();
            stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        };
    }

    /// A line of ours with somebody else's words in it.
    fn safe(&self, line: &str) -> String {
        if self.actions { actions::line(line) } else { out::plain(line) }
    }

    /// The verdict, and what stands against it.
    pub(super) fn result(&self, artefact: &Artefact, folder: &Path) {
        let mut text = String::new();
        let end = match artefact.verdict {
            Verdict::Pass => "PASS".green().to_string(),
            Verdict::Fail => "FAIL".red().to_string(),
        };
        let gate = artefact.gate.as_str().to_uppercase();
        let tests = if artefact.totals.tests > 0 { format!("  {}", artefact.totals.shown()) } else { String::new() };
        let _ = writeln!(text, "{} {end}{tests}", gate.bold());
        for finding in &artefact.findings {
            let rule = match finding.severity {
                Severity::Error => finding.rule.red().to_string(),
                Severity::Warning => format!("{} (warning)", finding.rule).yellow().to_string(),
            };
            let place = finding.place().map(|place| format!("{place}: ")).unwrap_or_default();
            let _ = writeln!(text, "  {rule} {}", self.safe(&format!("{place}{}", finding.says)));
            let _ = writeln!(text, "         {}", self.safe(&finding.next).dimmed());
        }
        let file = folder.join(FILE);
        let here = std::env::current_dir().unwrap_or_default();
        let near = file.strip_prefix(here).unwrap_or(&file);
        let _ = writeln!(text, "{}", self.safe(&format!("artefact: {}", near.display())).dimmed());
        self.say(&text);
        if self.actions {
            let all = artefact.findings.iter().map(annotation).collect();
            let commands: String = actions::within_limits(all).iter().map(Annotation::command).collect();
            self.write(commands.as_bytes());
        }
    }
}

fn annotation(finding: &Finding) -> Annotation {
    let level = if finding.blocks() { Level::Error } else { Level::Warning };
    Annotation {
        level,
        path: finding.path.clone(),
        line: finding.line,
        title: finding.rule.clone(),
        message: format!("{}\n{}", finding.says, finding.next),
    }
}

impl Watcher for Live {
    fn turns_to(&mut self, content: &str) {
        self.say(&format!("{}\n", format!("{}:", self.safe(content)).dimmed()));
    }

    fn begins(&mut self, command: &str) {
        let shown = text::line(command, 200);
        self.at_start = true;
        if self.actions {
            let stopped = Stopped::new();
            self.write(format!("{}{}", actions::group(&shown), stopped.begins()).as_bytes());
            self.stopped = Some(stopped);
        } else {
            self.say(&format!("{} {}\n", "$".dimmed(), out::plain(&shown).bold()));
        }
    }

    fn says(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.at_start = *last == b'\n';
            self.write(bytes);
        }
    }

    fn ended(&mut self, command: &CommandRun) {
        if !self.at_start {
            self.write(b"\n");
            self.at_start = true;
        }
        if let Some(stopped) = self.stopped.take() {
            self.write(format!("{}{}", stopped.ends(), actions::END_GROUP).as_bytes());
        }
        let shown = self.safe(&text::line(&command.command, 200));
        let line = match command.outcome {
            CommandOutcome::NotRun => format!("{} {shown} {}\n", "·".dimmed(), "(not run)".dimmed()),
            _ if command.passed() => {
                let time = format!("({})", shown_time(command.duration_ms));
                format!("{} {shown} {}\n", "✓".green(), time.dimmed())
            }
            _ => format!("{} {shown} {}\n", "✗".red(), self.safe(&command.ending())),
        };
        self.say(&line);
    }
}
