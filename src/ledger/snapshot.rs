//! Context snapshots: what an agent that has forgotten everything needs to go on, one file an iteration.
//!
//! A snapshot (`iter-0007.md`) has a header, which says what is attempted, within which scope and how often it failed, and
//! three sections: evidence, which is only where things come from; consolidated context, which plans rest on; and issues.
//! There is one reader ([`read()`]) and one writer ([`write()`]), and what the writer writes the reader reads back as it was.
//!
//! - **Tolerant of decoration**: order, letter case, bullets, bold, `CRLF`, a byte order mark.
//! - **Strict in meaning**: each field once, in its form; whatever is not is a finding with its line.
//! - **Bounded**: a hostile file ends in an answer, quickly.
//!
//! The numbers in a header are counted by [`Fails`] alone, from gate runs. What a file says of them is a claim.

mod cap;
mod read;
mod write;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::finding::Verdict;
use crate::ids::ChangeNumber;

pub use cap::{Cap, NoCap};
pub use read::{Field, Item, Read, read, sentence};
pub use write::write;

/// A larger file is not read.
pub const LARGEST: usize = 64 * 1024;
/// So many facts has a section at most.
pub const MOST_FACTS: usize = 300;
/// So many issues are open at most.
pub const MOST_ISSUES: usize = 100;
/// The longest fact, issue or sentence.
pub const LONGEST: usize = 1_000;
/// So many FAILs of a gate in a row, on one slice, ask for a verifier's audit.
pub const FAILS_THAT_ASK: u32 = 3;

/// Where agents put theirs, on the branch of a change.
pub const FOLDER: &str = "agent/context/";

/// The name of a snapshot, as others refer to it.
pub fn name(iteration: u32) -> String {
    format!("iter-{iteration:04}")
}

/// The folder of a change's snapshots on its branch. Each change has its own: of two that write the same file, the second to be
/// merged would write over what the first has left, or not be merged at all.
pub fn folder_of(change: ChangeNumber) -> String {
    format!("{FOLDER}pr-{}/", change.0)
}

/// Where the snapshot of a change with this number belongs, on its branch.
pub fn path_of(change: ChangeNumber, iteration: u32) -> String {
    format!("{}{}.md", folder_of(change), name(iteration))
}

/// Where an agent may have put it as well.
pub fn beside(iteration: u32) -> String {
    format!("{FOLDER}{}.md", name(iteration))
}

/// Where the latest one stands as well, on the branch of a change, where the policy wants them there.
pub fn latest_of(change: ChangeNumber) -> String {
    format!("{}latest.md", folder_of(change))
}

/// The number of a snapshot of this change, by its path: in the folder of the change, or beside it.
pub fn number_of(path: &str, change: ChangeNumber) -> Option<u32> {
    named(path.strip_prefix(&folder_of(change)).or_else(|| path.strip_prefix(FOLDER))?)
}

/// The number of a file that is named as a snapshot is.
pub fn named(file: &str) -> Option<u32> {
    let digits = file.strip_prefix("iter-")?.strip_suffix(".md")?;
    let number = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
    (name(number) == format!("iter-{digits}")).then_some(number)
}

/// Which slice of work a snapshot is about. Its words may change, this does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SliceId(pub u32);

impl fmt::Display for SliceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S-{:04}", self.0)
    }
}

/// A fact's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FactId(pub u32);

impl fmt::Display for FactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "F-{:04}", self.0)
    }
}

/// An issue's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IssueId(pub u32);

impl fmt::Display for IssueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "I-{:04}", self.0)
    }
}

/// Which of the two gates of a slice was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Iteration,
    Exit,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Iteration => "iteration",
            Self::Exit => "exit",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// FAILs in a row on the present slice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fails {
    pub iteration: u32,
    pub exit: u32,
}

impl Fails {
    pub fn of(self, kind: Kind) -> u32 {
        match kind {
            Kind::Iteration => self.iteration,
            Kind::Exit => self.exit,
        }
    }

    /// After one more run of a gate: a PASS ends its row, a FAIL is one more. The other gate's stays.
    #[must_use]
    pub fn after(mut self, kind: Kind, verdict: Verdict) -> Self {
        let one = match kind {
            Kind::Iteration => &mut self.iteration,
            Kind::Exit => &mut self.exit,
        };
        *one = if verdict == Verdict::Pass { 0 } else { one.saturating_add(1) };
        self
    }

    pub fn any(self) -> bool {
        self != Self::default()
    }
}

/// The steps of the failure ladder, and what is to be done about an open issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Fix,
    ReScout,
    RePlan,
}

impl Action {
    pub const ALL: [Self; 3] = [Self::Fix, Self::ReScout, Self::RePlan];

    /// As an issue names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::ReScout => "re-scout",
            Self::RePlan => "re-plan",
        }
    }

    /// As the ladder names it.
    pub fn step(self) -> &'static str {
        match self {
            Self::Fix => "fix-forward",
            Self::ReScout => "re-scout",
            Self::RePlan => "re-plan",
        }
    }

    /// All of them, to choose from.
    pub fn steps() -> String {
        Self::ALL.map(Self::step).join("|")
    }

    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim().trim_end_matches(['.', ',', ';', ':']).to_ascii_lowercase().replace([' ', '_'], "-");
        match word.as_str() {
            "fix" | "fix-forward" | "fixforward" => Some(Self::Fix),
            "re-scout" | "rescout" => Some(Self::ReScout),
            "re-plan" | "replan" => Some(Self::RePlan),
            _ => None,
        }
    }

    /// The step that follows by itself after so many FAILs in a row: what is known is mended, what failed again was not
    /// understood, and what failed three times was planned wrongly.
    pub fn after(fails: u32) -> Self {
        match fails {
            0 | 1 => Self::Fix,
            2 => Self::ReScout,
            _ => Self::RePlan,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fact {
    pub id: FactId,
    pub text: String,
}

/// An unresolved failure, risk or unknown, with the one thing that is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Open {
    pub id: IssueId,
    pub text: String,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Resolved {
    pub id: IssueId,
    pub text: String,
    /// The check or the evidence that closed it.
    pub by: String,
}

/// The gates of a slice, by name. None: the flow has no such gate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gates {
    pub iteration: Vec<String>,
    pub exit: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Snapshot {
    pub iteration: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    pub slice_id: SliceId,
    /// The smallest coherent change that is attempted, in one sentence.
    pub slice: String,
    pub cap: Cap,
    pub gates: Gates,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<(Kind, Verdict)>,
    pub fails: Fails,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Fact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Fact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Open>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<Resolved>,
}

impl Snapshot {
    pub fn name(&self) -> String {
        name(self.iteration)
    }

    /// Whether plans may rest on this fact.
    pub fn is_consolidated(&self, id: FactId) -> bool {
        self.context.iter().any(|fact| fact.id == id)
    }

    pub fn is_evidence(&self, id: FactId) -> bool {
        self.evidence.iter().any(|fact| fact.id == id)
    }
}

/// A line of somebody's words as it is kept: what nobody sees and what would end the line is taken out.
pub fn line(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let clean: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !hidden(*c)).collect();
    let words: Vec<&str> = clean.split(' ').filter(|word| !word.is_empty()).collect();
    // The beginning of what nobody sees: all behind it would be gone.
    words.join(" ").replace("<!--", "< !--")
}

/// What people decide that stays in the context, in small letters.
const DECISIONS: [&str; 2] = ["amendspec", "reviseplan"];

/// Whether a text has the mark of what a person gave: `(given: AMEND_SPEC by mia)`. Only records write it.
pub fn is_marked_as_given(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !matches!(c, '*' | '_' | '`')).collect();
    let mut lower = plain.to_lowercase().replace('：', ":");
    // As GitHub shows them.
    for colon in ["&#58;", "&#x3a;", "&#058;", "&#x03a;", "&colon;"] {
        lower = lower.replace(colon, ":");
    }
    let by = |said: &str| {
        let said = said.split([')', ']', '）']).next().unwrap_or_default();
        let mut words = said.split_whitespace();
        let decision = words.next().is_some_and(|word| {
            let word: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
            DECISIONS.contains(&word.as_str())
        });
        decision || words.any(|word| word == "by") && words.next().is_some()
    };
    lower.match_indices("given").any(|(at, word)| {
        let rest = lower[at + word.len()..].trim_start();
        rest.strip_prefix(':').is_some_and(by)
    })
}

/// The same text without that mark.
pub fn without_mark(text: &str) -> String {
    let mut out = text.to_owned();
    while is_marked_as_given(&out) {
        let Some(at) = out.to_ascii_lowercase().find("given") else {
            return out.replace([':', '：'], ";");
        };
        out.replace_range(at..at + "given".len(), "said");
    }
    out
}

/// The facts that a text cites, each by its number.
pub fn cited(text: &str) -> Vec<FactId> {
    ids(text, "F-").into_iter().map(FactId).collect()
}

/// The numbers behind a prefix such as `F-`, where they stand as a word.
///
/// Letter case has no meaning, as it has none for the reader of snapshots, and neither has the kind of dash.
fn ids(text: &str, prefix: &str) -> Vec<u32> {
    let dash =
        |c: char| if matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}') { '-' } else { c };
    let text: String = text.chars().map(dash).collect::<String>().to_ascii_uppercase();
    let mut found = Vec::new();
    for (at, _) in text.match_indices(prefix) {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_')) {
            continue;
        }
        let rest = &text[at + prefix.len()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = rest[digits..].chars().next();
        if (4..=6).contains(&digits) && !after.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            found.extend(rest[..digits].parse::<u32>().ok());
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests;
