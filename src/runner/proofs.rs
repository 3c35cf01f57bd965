//! What shows each criterion at runtime: the commands that readiness has for it, and what came of them.
//!
//! Tests say that the code does what its author asks of it. A proof runs the software itself, by a command that was agreed on before it
//! was built, and keeps what it said. Run on the base too, it shows whether it says anything about the change.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artefact::CommandRun;

/// What readiness asks for, with what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proofs {
    /// Whether what is found against them counts.
    pub demanded: bool,
    /// What is to be shown, by the documents at the head.
    pub asked: Asked,
    /// What came of each command in `asked.proofs`, in their order. None where a command of the gate failed before them.
    pub ran: Vec<Proved>,
}

impl Proofs {
    /// Each command with what came of it.
    pub fn each(&self) -> impl Iterator<Item = (&Proof, &Proved)> {
        self.asked.proofs.iter().zip(&self.ran)
    }
}

/// What is to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// The criteria of scope, in their order.
    pub criteria: Vec<Criterion>,
    /// The truths of readiness.
    pub truths: Vec<Truth>,
    /// The commands.
    pub proofs: Vec<Proof>,
    /// What is written as if it were asked for, and is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
    /// Where scope has its criteria, when there is no readiness that could say how they are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwritten: Option<u32>,
}

/// Something in readiness that nothing looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unread {
    /// Its line in readiness.
    pub line: u32,
    /// The command that it stands with.
    pub command: String,
    pub what: UnreadKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnreadKind {
    /// What the command is to print, which does not stand in code.
    Prints(String),
    /// The command goes on where nothing is.
    GoesOn,
    /// The command is too long.
    Long,
    /// There are too many commands before it.
    Many,
}

impl Asked {
    /// The commands that show a criterion.
    pub fn of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Proof> {
        self.proofs.iter().filter(move |proof| proof.criteria.iter().any(|own| own == id))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Criterion {
    /// `AC-1`.
    pub id: String,
    /// Its line in readiness, where that has one; else where its Key Links begin.
    pub line: u32,
    /// It names a threshold under load, which is to be measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub load: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Truth {
    /// Its line in readiness.
    pub line: u32,
    /// How it begins.
    pub says: String,
    /// The criteria that it names: what shows them exercises it.
    pub criteria: Vec<String>,
}

/// A command that shows something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Its exact text.
    pub command: String,
    /// What its output has to contain.
    #[serde(default)]
    pub prints: Option<String>,
    /// Its line in readiness.
    pub line: u32,
    /// The criteria that it shows.
    pub criteria: Vec<String>,
    /// The line of the truth that it exercises.
    #[serde(default)]
    pub truth: Option<u32>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proved {
    pub run: CommandRun,
    /// The same on the base; none where there is no base, or where it was not asked for.
    #[serde(default)]
    pub on_base: Option<CommandRun>,
}

impl Proof {
    /// Whether a run of it shows what it is to show.
    pub fn is_shown_by(&self, run: &CommandRun) -> bool {
        run.passed() && self.prints.as_ref().is_none_or(|text| has_said(run, text))
    }
}

impl Proved {
    /// Whether what it is to show is shown without the change too, however else it may differ.
    pub fn is_idle(&self, proof: &Proof) -> bool {
        self.on_base.as_ref().is_some_and(|base| proof.is_shown_by(base))
    }

    pub fn says_something(&self) -> bool {
        self.run.output.as_ref().is_some_and(|output| !output.tail.trim().is_empty())
    }
}

/// Whether a command has said a text: several lines as lines that follow each other, one line as a part of one, between words.
/// Of an output that is not kept whole, whoever heard it knows.
fn has_said(run: &CommandRun, text: &str) -> bool {
    let Some(output) = &run.output else { return false };
    if let Some(said) = output.said.filter(|_| !output.whole) {
        return said;
    }
    let said: Vec<&str> = output.tail.lines().map(str::trim_end).collect();
    let wanted: Vec<&str> = text.lines().map(str::trim_end).collect();
    match &wanted[..] {
        [] => true,
        [one] => said.iter().any(|line| has_between_words(line, one.trim(), 0..line.len())),
        several => said.windows(several.len()).any(|lines| lines == several),
    }
}

/// `2` is in `level 2.`, and neither in `12` nor in `2.5`. It is looked for in a part of the line.
pub(super) fn has_between_words(line: &str, text: &str, within: Range<usize>) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let is_mark = |c: Option<char>| matches!(c, Some('.' | ','));
    // Whether a word or a number goes on over the edge.
    let goes_on = |own: Option<char>, mut beyond: std::str::Chars<'_>, back: bool| {
        let mut next = || if back { beyond.next_back() } else { beyond.next() };
        let (one, two) = (next(), next());
        is_word(own) && is_word(one) || is_digit(own) && is_mark(one) && is_digit(two)
    };
    let (first, last) = (text.chars().next(), text.chars().next_back());
    let inside = |at: &usize| within.contains(at) && at + text.len() <= within.end || text.is_empty();
    line.match_indices(text).filter(|(at, _)| inside(at)).any(|(at, _)| {
        let (before, after) = (line[..at].chars(), line[at + text.len()..].chars());
        !(goes_on(first, before, true) || goes_on(last, after, false))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::artefact::{CommandOutcome, OutputKept};

    fn ran(said: &str, status: i32) -> CommandRun {
        CommandRun {
            command: "dim 3".to_owned(),
            outcome: CommandOutcome::Exited,
            status: Some(status),
            signal: None,
            why: None,
            started: None,
            ended: None,
            duration_ms: 1,
            output: Some(OutputKept {
                bytes: said.len() as u64,
                digest: crate::ids::Digest::of(said),
                tail: said.to_owned(),
                whole: true,
                said: None,
            }),
            audit: false,
        }
    }

    fn proof(prints: Option<&str>) -> Proof {
        let (command, criteria) = ("dim 3".to_owned(), vec!["AC-1".to_owned()]);
        Proof { command, prints: prints.map(str::to_owned), line: 9, criteria, truth: None }
    }

    #[test]
    fn what_is_to_be_printed_is_looked_for_between_words() {
        let shown = |prints: &str, said: &str| proof(Some(prints)).is_shown_by(&ran(said, 0));
        assert!(shown("2", "level 2\n") && shown("2", "2") && shown("-> 2", "3 -> 2."));
        assert!(!shown("2", "12\n") && !shown("2", "2nd") && !shown("2", ""));
        assert!(!shown("2", "2.5") && !shown("2", "1,2") && shown("2", "1, 2.") && shown("2.5", "is 2.5."));
        assert!(shown("a\nb", "x\na  \nb\ny") && !shown("a\nb", "a\nx\nb"));
    }

    /// What is kept is the end of it; what was said before is known by who heard it.
    #[test]
    fn what_was_said_before_the_end_that_is_kept_counts() {
        let heard = |said: Option<bool>, whole: bool| {
            let mut run = ran("the end", 0);
            run.output.iter_mut().for_each(|output| (output.said, output.whole) = (said, whole));
            proof(Some("2")).is_shown_by(&run)
        };
        assert!(heard(Some(true), false));
        assert!(!heard(Some(false), false) && !heard(None, false));
        assert!(!heard(Some(true), true), "what is there is looked at");
    }

    #[test]
    fn an_exit_status_is_asked_for_in_any_case() {
        assert!(proof(None).is_shown_by(&ran("", 0)));
        assert!(!proof(None).is_shown_by(&ran("2", 1)) && !proof(Some("2")).is_shown_by(&ran("2", 1)));
    }

    #[test]
    fn what_is_shown_without_the_change_too_is_idle() {
        let on = |base: Option<CommandRun>| Proved { run: ran("2", 0), on_base: base }.is_idle(&proof(Some("2")));
        assert!(on(Some(ran("2", 0))) && on(Some(ran("2 at 10:14", 0))));
        assert!(!on(Some(ran("3", 0))) && !on(Some(ran("2", 1))) && !on(None));
    }
}
