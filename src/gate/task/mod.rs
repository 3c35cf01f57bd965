//! A task's own word, and what it lacks: `STATE.md` as whoever works on it has left it.
//!
//! It is a claim. Which phase a task is in is on record elsewhere; here is only told whether the claim is in its form, and whether it
//! says what the phase has to leave behind.

pub mod change;
pub mod evidence;
pub mod leave;
pub mod look;
pub mod pass;
pub mod prompt;
pub mod review;
pub mod sheet;
pub mod shown;

pub use leave::lacks;
pub use sheet::{Field, STATE, Sheet, read};

use crate::finding::Finding;
use crate::flow::Actor;
use crate::flow::task::{State, apply};

/// A claim beside the one before it: whether its phase may follow, and whether the phase that was left has left behind what it has to.
/// Where there is none before it, the task begins.
pub fn follows(path: &str, before: Option<&Sheet>, sheet: &Sheet) -> Vec<Finding> {
    let state = State { stage: before.map_or_else(Default::default, |before| before.phase), left: None };
    match apply(state, sheet.phase, Actor::Agent) {
        Err(refusal) => {
            vec![Finding::error(&refusal.rule, refusal.says, refusal.next).at(path, sheet.line(Field::Phase))]
        }
        Ok((Some(_), after)) if state.stage.onward() == Some(after.stage) => lacks(path, sheet, state.stage),
        Ok(_) => Vec::new(),
    }
}
