//! How long a worker holds a task, and what became of it: the lease cell, which is the state of its row.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::cell::{Digits, Wrong, shown};
use super::verdict::Outcome;

/// How long a lease holds: whole seconds, from a minute to [`LONGEST_LEASE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term(u32);

const SHORTEST: u32 = 60;
/// A lease without an end is no lease: a dead worker would hold its task for ever.
pub const LONGEST_LEASE: SignedDuration = SignedDuration::from_hours(7 * 24);
const UNITS: [(char, u32); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

impl Term {
    /// `2h`, `1d12h`, `45m`: larger units first, each at most once.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut rest, mut sum) = (text, 0_u32);
        for (unit, seconds) in UNITS {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, behind) = rest.split_at(digits);
            let Some(behind) = behind.strip_prefix([unit, unit.to_ascii_uppercase()]) else { continue };
            sum = number.parse::<u32>().ok()?.checked_mul(seconds)?.checked_add(sum)?;
            rest = behind;
        }
        let longest = u32::try_from(LONGEST_LEASE.as_secs()).unwrap_or(u32::MAX);
        (rest.is_empty() && (SHORTEST..=longest).contains(&sum)).then_some(Self(sum))
    }

    pub fn seconds(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        for (unit, seconds) in UNITS {
            if rest >= seconds {
                write!(f, "{}{unit}", rest / seconds)?;
                rest %= seconds;
            }
        }
        Ok(())
    }
}

/// A moment as RFC 3339 writes it: to the second, with its offset.
pub fn moment(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is = |at: usize, one: u8| bytes.get(at).is_some_and(|byte| byte.eq_ignore_ascii_case(&one));
    let date = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18].into_iter().all(digit);
    let marks = is(4, b'-') && is(7, b'-') && is(10, b'T') && is(13, b':') && is(16, b':');
    let rest = text.get(19..).filter(|_| date && marks)?;
    let zone = match rest.strip_prefix('.') {
        Some(part) => {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            part.get(digits..).filter(|_| (1..=9).contains(&digits))?
        }
        None => rest,
    };
    let offset = |zone: &[u8]| match zone {
        [b'+' | b'-', h, t, b':', m, n] => [h, t, m, n].into_iter().all(u8::is_ascii_digit),
        _ => false,
    };
    (zone.eq_ignore_ascii_case("z") || offset(zone.as_bytes())).then(|| text.parse().ok()).flatten()
}

/// What the lease cell says, and with it the state of the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lease {
    /// `2h since 2026-03-01T10:00:00Z`: held for that long.
    Since { at: Timestamp, term: Term },
    /// `until 2026-03-01T12:00:00Z`: held until then.
    Until(Timestamp),
    /// `released`: nobody holds it.
    Released,
    /// `done 0123abc`: handed in with the branch at this commit.
    Done(Digits),
    /// `stopped HARD-STOP` or `stopped ESCALATE`: a person has to decide.
    Stopped(Stop),
}

/// The outcomes that stop a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    HardStop,
    Escalate,
}

impl Stop {
    pub fn outcome(self) -> Outcome {
        match self {
            Self::HardStop => Outcome::HardStop,
            Self::Escalate => Outcome::Escalate,
        }
    }

    pub fn of(outcome: Outcome) -> Option<Self> {
        match outcome {
            Outcome::HardStop => Some(Self::HardStop),
            Outcome::Escalate => Some(Self::Escalate),
            Outcome::Pass | Outcome::RiskAccepted => None,
        }
    }
}

/// Where a task stands by its lease and the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// Anyone may take it: nobody holds it, or whoever did is taken for dead.
    Ready,
    Held,
    Done,
    Stopped,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "READY",
            Self::Held => "HELD",
            Self::Done => "DONE",
            Self::Stopped => "STOPPED",
        }
    }
}

impl Lease {
    pub const FORM: &'static str = "`2h since 2026-03-01T10:00:00Z`, `until 2026-03-01T12:00:00Z`, `released`, `done COMMIT`, \
                                    `stopped HARD-STOP` or `stopped ESCALATE`";

    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let wrong = |why: &str| {
            let says = format!("The lease is {}: {why}.", shown(text));
            Wrong::new(says, format!("Write {}.", Self::FORM))
        };
        let words: Vec<&str> = text.split_ascii_whitespace().take(4).collect();
        let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
        match words.as_slice() {
            [] => Err(wrong("nobody can tell who holds the task, and how long")),
            [word] if is(word, "released") => Ok(Self::Released),
            [word] if is(word, "done") => Err(wrong("it does not say at which commit")),
            [word, tip] if is(word, "done") => {
                Digits::parse(tip).map(Self::Done).ok_or_else(|| wrong("a commit is 7 to 40 hexadecimal digits"))
            }
            [word] if is(word, "stopped") => Err(wrong("it does not say by which outcome")),
            [word, outcome] if is(word, "stopped") => Outcome::parse(outcome)
                .and_then(Stop::of)
                .map(Self::Stopped)
                .ok_or_else(|| wrong("only HARD-STOP and ESCALATE stop a task")),
            [word, at] if is(word, "until") => {
                moment(at).map(Self::Until).ok_or_else(|| wrong("its end is no moment of RFC 3339"))
            }
            [term, word, at] if is(word, "since") => {
                let term = Term::parse(term).ok_or_else(|| wrong("a term is `45m`, `2h` or `1d12h`, from 1m to 7d"))?;
                let at = moment(at).ok_or_else(|| wrong("its beginning is no moment of RFC 3339"))?;
                // Behind the end of the calendar there is no end of a lease.
                let _ = ends(at, term).ok_or_else(|| wrong("it has no end"))?;
                Ok(Self::Since { at, term })
            }
            [_] if Term::parse(text.trim()).is_some() => Err(wrong("it does not say since when")),
            _ => Err(wrong("it has none of the forms")),
        }
    }

    /// When it runs out; none where it does not.
    pub fn ends(&self) -> Option<Timestamp> {
        match self {
            Self::Since { at, term } => ends(*at, *term),
            Self::Until(at) => Some(*at),
            Self::Released | Self::Done(_) | Self::Stopped(_) => None,
        }
    }

    pub fn state(&self, now: Timestamp) -> State {
        match self {
            Self::Released => State::Ready,
            Self::Done(_) => State::Done,
            Self::Stopped(_) => State::Stopped,
            Self::Since { .. } | Self::Until(_) => {
                if self.ends().is_some_and(|end| now < end) {
                    State::Held
                } else {
                    State::Ready
                }
            }
        }
    }
}

fn ends(at: Timestamp, term: Term) -> Option<Timestamp> {
    at.checked_add(SignedDuration::from_secs(i64::from(term.seconds()))).ok()
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Since { at, term } => write!(f, "{term} since {at}"),
            Self::Until(at) => write!(f, "until {at}"),
            Self::Released => f.write_str("released"),
            Self::Done(tip) => write!(f, "done {tip}"),
            Self::Stopped(stop) => write!(f, "stopped {}", stop.outcome().as_str()),
        }
    }
}
