//! What an agent asked of its tools: each call, in few bytes, in the order in which they came.

use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{millis, text};
use crate::ids::Digest;

/// So many calls of a pass are kept, the first ones; of the others only how many there were.
pub const MOST_KEPT: usize = 500;
/// So many characters of a call's arguments are kept.
const MOST_SAID: usize = 300;
const LONGEST_NAME: usize = 60;

/// What was asked in a pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    pub total: u64,
    pub refused: u64,
    /// Bytes that were answered.
    pub bytes: u64,
    pub kept: Vec<Call>,
    /// How many more calls there were than are kept.
    pub left_out: u64,
    /// Why there were no tools, where there were to be some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
}

impl Calls {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// Milliseconds after the pass began.
    pub after_ms: u64,
    #[serde(flatten)]
    pub asked: Asked,
    pub outcome: Outcome,
    /// Bytes that were answered.
    pub bytes: u64,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    pub tool: String,
    /// As JSON, or the beginning of it.
    pub arguments: String,
    /// The digest of all of it, where that is the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub digest: Option<Digest>,
}

impl Asked {
    pub fn of(tool: &str, arguments: &serde_json::Value) -> Self {
        let whole = arguments.to_string();
        let is_long = whole.chars().count() > MOST_SAID;
        Self {
            tool: text::line(tool, LONGEST_NAME),
            arguments: text::line(&whole, MOST_SAID),
            digest: is_long.then(|| Digest::of(&whole)),
        }
    }
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The pass was over before it was answered.
    Open,
    Answered,
    Refused,
}

/// The record of a pass while it goes on. It is in the memory of whoever runs the pass, and nowhere in reach of the agent.
#[derive(Debug)]
pub struct Kept {
    begun: Instant,
    calls: Mutex<Calls>,
}

impl Kept {
    pub fn begin() -> Self {
        Self { begun: Instant::now(), calls: Mutex::default() }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call came. It is on record before anything is done for it. Answers its place there, if it has one, and how many came so far.
    pub fn begins(&self, asked: Asked) -> (Option<usize>, u64) {
        let after_ms = millis(self.begun.elapsed());
        let mut calls = self.calls();
        calls.total += 1;
        let total = calls.total;
        if calls.kept.len() >= MOST_KEPT {
            calls.left_out += 1;
            return (None, total);
        }
        calls.kept.push(Call { after_ms, asked, outcome: Outcome::Open, bytes: 0 });
        (Some(calls.kept.len() - 1), total)
    }

    /// It was answered, or refused, with so many bytes.
    pub fn ends(&self, place: Option<usize>, refused: bool, bytes: usize) {
        let mut calls = self.calls();
        calls.refused += u64::from(refused);
        calls.bytes = calls.bytes.saturating_add(bytes as u64);
        if let Some(call) = place.and_then(|place| calls.kept.get_mut(place)) {
            call.outcome = if refused { Outcome::Refused } else { Outcome::Answered };
            call.bytes = bytes as u64;
        }
    }

    pub(super) fn taken(&self) -> Calls {
        self.calls().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_long_is_known_by_its_digest() {
        let short = Asked::of("read", &json!({ "path": "a\u{1b}[2J\nb" }));
        assert_eq!((short.digest.as_ref(), short.arguments.contains('\u{1b}')), (None, false), "{short:?}");
        let text = "x".repeat(5_000);
        let long = Asked::of(&"n".repeat(500), &json!({ "seen": text }));
        assert!(long.arguments.chars().count() <= MOST_SAID && long.tool.chars().count() <= LONGEST_NAME);
        assert_eq!(long.digest, Some(Digest::of(json!({ "seen": text }).to_string())));
    }

    #[test]
    fn more_calls_than_are_kept_are_counted() {
        let kept = Kept::begin();
        for number in 0..MOST_KEPT + 7 {
            let (place, total) = kept.begins(Asked::of("ls", &json!({})));
            assert_eq!(total, number as u64 + 1);
            if number != 3 {
                kept.ends(place, number % 2 == 1, 10);
            }
        }
        let calls = kept.taken();
        assert_eq!((calls.total, calls.kept.len(), calls.left_out), (MOST_KEPT as u64 + 7, MOST_KEPT, 7));
        assert_eq!((calls.bytes, calls.kept[3].outcome), ((MOST_KEPT as u64 + 6) * 10, Outcome::Open));
        assert_eq!((calls.kept[0].outcome, calls.kept[1].outcome), (Outcome::Answered, Outcome::Refused));
        let text = serde_json::to_string(&calls).unwrap();
        assert_eq!(serde_json::from_str::<Calls>(&text).unwrap(), calls);
    }
}
