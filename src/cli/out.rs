//! The way to stdout and stderr.

use std::io::{self, Write};

use anyhow::Context as _;
use serde::Serialize;

use crate::actions::{self, Files, Level};

/// Prints a text for people. Its colours are left out where nobody sees them.
pub(super) fn text(text: &str) -> anyhow::Result<()> {
    written(anstream::stdout().lock(), text)
}

/// Prints a text for machines, as it is.
pub(super) fn raw(text: &str) -> anyhow::Result<()> {
    written(io::stdout().lock(), text)
}

/// Prints one JSON object.
pub(super) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value).context("can't write JSON")?;
    text.push('\n');
    raw(&text)
}

/// Says something on stderr. Nothing can be done when that fails.
pub(super) fn complain(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Passes on what another program says, as it comes. On a runner of GitHub's some lines would be orders, so there it is left out.
pub(super) fn passed_on(bytes: &[u8]) {
    if !actions::inside() {
        let _ = io::stderr().lock().write_all(bytes);
    }
}

/// The stream that speaks to the runner: stderr where stdout is an object's. It reads both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

/// Shows on the page of a step of GitHub Actions why it could not do its work: nobody opens a log to find out. It says
/// nothing elsewhere, and the error is the caller's to end with.
pub(super) fn not_done(error: &anyhow::Error, to: Stream) {
    if !actions::inside() {
        return;
    }
    let says = format!("{error:#}");
    let mark = actions::annotate(Level::Error, None, None, "Phasegate", &says);
    // A page that can't be written is no reason to hide what was to stand on it.
    let _ = match to {
        Stream::Out => raw(&mark),
        Stream::Err => written(io::stderr().lock(), &mark),
    };
    if let Err(error) = Files::from_env().append_summary(&page(&says)) {
        complain(&format!("warning: the job's summary could not be written: {error}\n"));
    }
}

/// A summary of what went wrong. Lines after the first are lines to copy.
fn page(says: &str) -> String {
    let (first, rest) = says.trim_end().split_once('\n').unwrap_or((says.trim_end(), ""));
    let mut page = format!("## Phasegate\n\n❌ {}\n", crate::surface::plain(first));
    if !rest.is_empty() {
        let rest: Vec<String> = rest.lines().map(plain).collect();
        let rest = rest.join("\n");
        // A fence of their own words can't end one that is longer.
        let longest = rest.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        page.push_str(&format!("\n{fence}text\n{rest}\n{fence}\n"));
    }
    page
}

/// A reader that has left wants no more, and the command's result stands.
fn written(mut to: impl Write, text: &str) -> anyhow::Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.context("can't write the result"),
    }
}

/// Text from elsewhere, fit for a terminal: no control characters, which could move the cursor or say what is not so,
/// and no marks that turn the reading direction.
pub(super) fn plain(text: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() || turns(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_has_left_is_no_error() {
        assert!(written(Gone, "more").is_ok());
    }

    #[test]
    fn what_went_wrong_is_a_page_with_lines_to_copy() {
        assert_eq!(page("no <b> here\n"), "## Phasegate\n\n❌ no <\u{200b}b> here\n");
        let page = page("add this:\n\n  run: [\"a\"]\n```\n<b>\x1b\n");
        let fenced = "\n````text\n\n  run: [\"a\"]\n```\n<b>\u{fffd}\n````\n";
        assert_eq!(page, format!("## Phasegate\n\n❌ add this:\n{fenced}"));
    }

    #[test]
    fn a_terminal_gets_no_orders() {
        assert_eq!(plain("a\x1b[2Jb\r\u{202e}c\n"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}");
        assert_eq!(plain("naïve – ✓"), "naïve – ✓");
    }
}
