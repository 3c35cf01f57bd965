//! The way to stdout and stderr.

use std::io::{self, Write};

use anyhow::Context as _;
use serde::Serialize;

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
    fn a_terminal_gets_no_orders() {
        assert_eq!(plain("a\x1b[2Jb\r\u{202e}c\n"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}");
        assert_eq!(plain("naïve – ✓"), "naïve – ✓");
    }
}
