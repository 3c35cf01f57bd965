//! What stands in a cell of the roster: each a type of its own, read strictly, and written in one form.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::finding::quoted;
use crate::ids::CommitId;

/// A cell that can't be what its column asks for: what is wrong, and what to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    pub says: String,
    pub next: String,
}

impl Wrong {
    pub(super) fn new(says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { says: says.into(), next: next.into() }
    }
}

/// Control characters, and those that hide or reorder what a person reads.
pub(super) fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{e0000}'..='\u{e0fff}')
}

/// Somebody's own words as code, on one line, with nothing hidden in them.
pub(super) fn harmless(text: &str) -> String {
    let letter = |c: char| if c.is_control() || is_hidden(c) { '\u{fffd}' } else { c };
    quoted(&text.chars().map(letter).collect::<String>())
}

/// The same, and short: for a message.
pub(super) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    harmless(&short)
}

macro_rules! word {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

word!(
    /// The name of a wave.
    WaveName
);
word!(
    /// The id of a task. It names a folder too, so it has nothing in it that a path could trip over.
    TaskId
);
word!(
    /// Who works on a task.
    Worker
);
word!(
    /// A branch, as git takes its name.
    Branch
);

fn is_word(text: &str, most: usize, more: &[u8]) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || more.contains(&byte);
    text.len() <= most && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.bytes().all(fine)
}

impl WaveName {
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        if is_word(text, 64, b"._-") {
            return Ok(Self(text.to_owned()));
        }
        let says = format!("The wave's name is {}.", shown(text));
        Err(Wrong::new(says, "Take letters, digits, `.`, `_` and `-`, a letter or digit first, at most 64."))
    }
}

impl TaskId {
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        if is_word(text, 100, b"._-") && !text.ends_with('.') {
            return Ok(Self(text.to_owned()));
        }
        let says = format!("The task is {}, which is no id.", shown(text));
        Err(Wrong::new(says, "Take letters, digits, `.`, `_` and `-`, a letter or digit first, at most 100."))
    }
}

impl Worker {
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        if is_word(text, 100, b"._-@/[]") {
            return Ok(Self(text.to_owned()));
        }
        let says = format!("The worker is {}, which is no name.", shown(text));
        Err(Wrong::new(says, "Take letters, digits and `._-@/[]`, a letter or digit first, at most 100."))
    }
}

/// The longest name of a branch: some systems keep it as a file's.
const LONGEST_BRANCH: usize = 200;

impl Branch {
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        match not_a_branch(text) {
            None => Ok(Self(text.to_owned())),
            Some(why) => {
                let says = format!("The branch is {}: {why}.", shown(text));
                Err(Wrong::new(says, "Write the name that `git branch` prints, such as `wave/parser`."))
            }
        }
    }
}

/// Why git, or the table, can't have this as a branch's name. The rules are those of `git check-ref-format --branch`.
fn not_a_branch(text: &str) -> Option<&'static str> {
    let bad = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    let part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    match text {
        "" => Some("there is none"),
        "HEAD" | "@" => Some("git means something else by that"),
        _ if text.len() > LONGEST_BRANCH => Some("it is longer than 200 bytes"),
        _ if text.contains(['|', '`']) => Some("a table can't carry `|` and backticks"),
        _ if text.chars().any(bad) => Some("git allows no space and none of `~^:?*[\\` in it"),
        _ if text.starts_with("refs/") => Some("it is a ref and not the name of a branch"),
        _ if text.starts_with('-') => Some("git takes it for an option"),
        _ if text.contains("..") || text.contains("@{") => Some("git allows no `..` and no `@{` in it"),
        _ if text.ends_with('.') => Some("git allows no `.` at its end"),
        _ if text.split('/').any(part) => {
            Some("a part of it is empty, begins with `.` or ends with `.lock`, which git does not allow")
        }
        _ => None,
    }
}

/// The first digits of a commit's id: 7 to 40 of them, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Digits(String);

impl Digits {
    /// Case has no meaning in a number.
    pub fn parse(text: &str) -> Option<Self> {
        let fine = (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        fine.then(|| Self(text.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this commit's id begins so.
    pub fn begin(&self, id: &CommitId) -> bool {
        id.as_str().starts_with(&self.0)
    }

    /// Whether both may be the beginning of one id.
    pub fn agree(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }
}

impl From<&CommitId> for Digits {
    fn from(id: &CommitId) -> Self {
        Self(id.as_str().chars().take(40).collect())
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the fork-base cell says: the echo of `git rev-parse HEAD`, or that it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Echo {
    /// Nothing at all.
    Missing,
    /// `pending`, or `step-0 pending` where the worktree comes from a pool: not pasted yet.
    Pending { pool: bool },
    /// The echo from before the worker was spawned.
    Fresh(Digits),
    /// `step-0 0123abc`: the echo of a pooled worktree after its worker's first step, the merge of the base.
    Synced(Digits),
}

impl Echo {
    pub const FORM: &'static str =
        "what `git -C WORKTREE rev-parse HEAD` prints, `step-0` and that for a pooled worktree, or `pending`";

    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let wrong = |why: &str| {
            let says = format!("The fork-base is {}: {why}.", shown(text));
            Wrong::new(says, format!("Write {}.", Self::FORM))
        };
        let words: Vec<&str> = text.split_ascii_whitespace().take(3).collect();
        let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
        let commit = |text: &str| Digits::parse(text).ok_or_else(|| wrong("a commit is 7 to 40 hexadecimal digits"));
        match words.as_slice() {
            [] | ["-"] => Ok(Self::Missing),
            [word] if is(word, "pending") => Ok(Self::Pending { pool: false }),
            [word] if is(word, "step-0") => Err(wrong("the commit behind `step-0` is not there")),
            [word, behind] if is(word, "step-0") && is(behind, "pending") => Ok(Self::Pending { pool: true }),
            [word, behind] if is(word, "step-0") => commit(behind).map(Self::Synced),
            [one] if one.bytes().all(|byte| byte.is_ascii_hexdigit()) => commit(one).map(Self::Fresh),
            [_] => Err(wrong("a tick or a word is no evidence")),
            _ => Err(wrong("it has none of the forms")),
        }
    }
}

impl fmt::Display for Echo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("-"),
            Self::Pending { pool: false } => f.write_str("pending"),
            Self::Pending { pool: true } => f.write_str("step-0 pending"),
            Self::Fresh(digits) => write!(f, "{digits}"),
            Self::Synced(digits) => write!(f, "step-0 {digits}"),
        }
    }
}

macro_rules! as_text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}
as_text!(super::lease::Lease, Echo);
