//! The task flow: one task in nine phases.
//!
//! The table says which phase may follow which. A task that is blocked, or waits for a person, goes on only by a person's word, and
//! there where it was left; so its state remembers that beside the phase. What a phase has to show before it is left is for the
//! gates, not for the table.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::table::names;
use super::{Actor, Refusal};

/// Where a task stands, by the words of its `STATE.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    #[default]
    Intake,
    Shape,
    Implement,
    Verify,
    Review,
    Repair,
    Done,
    Blocked,
    NeedsUserDecision,
}

impl Stage {
    pub const ALL: [Self; 9] = [
        Self::Intake,
        Self::Shape,
        Self::Implement,
        Self::Verify,
        Self::Review,
        Self::Repair,
        Self::Done,
        Self::Blocked,
        Self::NeedsUserDecision,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            Self::Shape => "shape",
            Self::Implement => "implement",
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Repair => "repair",
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::NeedsUserDecision => "needs_user_decision",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.as_str() == text)
    }

    /// Whether a run of passes ends here.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Done) || self.is_waiting()
    }

    /// Whether a person may take it up again.
    pub fn is_waiting(self) -> bool {
        matches!(self, Self::Blocked | Self::NeedsUserDecision)
    }

    /// The phase that follows when it is done with this one.
    pub fn onward(self) -> Option<Self> {
        match self {
            Self::Intake => Some(Self::Shape),
            Self::Shape => Some(Self::Implement),
            Self::Implement | Self::Repair => Some(Self::Verify),
            Self::Verify => Some(Self::Review),
            Self::Review => Some(Self::Done),
            Self::Done | Self::Blocked | Self::NeedsUserDecision => None,
        }
    }

    /// The phases that may follow by whoever works on it, in the table's order.
    pub fn next(self) -> impl Iterator<Item = Self> {
        let own = TRANSITIONS.iter().filter(move |(action, from, _)| *from == self && *action != Action::Reopen);
        own.map(|(_, _, to)| *to)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

names! {
    /// What leads from one phase to another.
    Action {
        LockFrame,
        BeginWork,
        HandIn,
        VerifyPasses,
        VerifyFails,
        ReviewPasses,
        ReviewFails,
        VerifyAgain,
        Block,
        AskPerson,
        Reopen,
    }
}

/// `(action, from, to)`, as in every flow.
pub const TRANSITIONS: &[(Action, Stage, Stage)] = {
    use Action::*;
    use Stage::*;
    &[
        (LockFrame, Intake, Shape),
        (BeginWork, Shape, Implement),
        (Block, Shape, Blocked),
        (AskPerson, Shape, NeedsUserDecision),
        (HandIn, Implement, Verify),
        (Block, Implement, Blocked),
        (AskPerson, Implement, NeedsUserDecision),
        (VerifyPasses, Verify, Review),
        (VerifyFails, Verify, Repair),
        (Block, Verify, Blocked),
        (AskPerson, Verify, NeedsUserDecision),
        (ReviewPasses, Review, Done),
        (ReviewFails, Review, Repair),
        (AskPerson, Review, NeedsUserDecision),
        (VerifyAgain, Repair, Verify),
        (Block, Repair, Blocked),
        (AskPerson, Repair, NeedsUserDecision),
        // By a person, and only there where it was left.
        (Reopen, Blocked, Shape),
        (Reopen, Blocked, Implement),
        (Reopen, Blocked, Verify),
        (Reopen, Blocked, Repair),
        (Reopen, NeedsUserDecision, Shape),
        (Reopen, NeedsUserDecision, Implement),
        (Reopen, NeedsUserDecision, Verify),
        (Reopen, NeedsUserDecision, Review),
        (Reopen, NeedsUserDecision, Repair),
    ]
};

/// What a pass gained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Code or documents changed.
    Change,
    /// The phase moved.
    State,
    /// There is more evidence, or evidence of other content.
    Evidence,
    /// What is in the way is said more clearly.
    Blocker,
    /// Less speaks against it.
    Risk,
}

impl Progress {
    pub const ALL: [Self; 5] = [Self::Change, Self::State, Self::Evidence, Self::Blocker, Self::Risk];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::State => "state",
            Self::Evidence => "evidence",
            Self::Blocker => "blocker",
            Self::Risk => "risk",
        }
    }
}

/// How agents are to go on with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drive {
    /// By one pass.
    Once,
    /// By one pass after the other, until it ends, waits for a person or gains nothing.
    Loop,
}

/// A task's place in the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct State {
    pub stage: Stage,
    /// Where it was left when it was blocked or somebody was asked. Nothing else remembers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Stage>,
}

/// What a step comes to: the action of the table, none where it stays, and the state after it.
pub type Step = (Option<Action>, State);

/// A claim of a phase, held against the table. To claim the present one moves nothing.
pub fn apply(state: State, to: Stage, by: Actor) -> Result<Step, Refusal> {
    let from = state.stage;
    if to == from {
        return Ok((None, state));
    }
    let Some((action, ..)) = TRANSITIONS.iter().copied().find(|(_, before, after)| (*before, *after) == (from, to))
    else {
        return Err(forbidden(state, to));
    };
    if action == Action::Reopen && (by != Actor::Human || state.left != Some(to)) {
        return Err(forbidden(state, to));
    }
    let left = to.is_waiting().then_some(from);
    Ok((Some(action), State { stage: to, left }))
}

/// A fact beside the table: what a task was done with is not what is there any more. It goes back to where that is found out.
pub fn returned(state: State) -> State {
    match state.stage {
        Stage::Done => State { stage: Stage::Verify, left: None },
        _ => state,
    }
}

fn forbidden(state: State, to: Stage) -> Refusal {
    let from = state.stage;
    let says = format!("`{to}` does not follow on `{from}`.");
    if from == Stage::Repair {
        // The one door past a second look.
        let next = "What was repaired is verified again: claim `verify`, or `blocked` or `needs_user_decision` with the reason.";
        return Refusal::new("TSK-08", says, next);
    }
    let next = match (from, state.left) {
        (Stage::Done, _) => "It is done. What is to be done beside it is a task of its own.".to_owned(),
        (_, Some(left)) if from.is_waiting() => {
            format!(
                "It waits for a person: by their word it goes on with `{left}`, where it was left, and nowhere else."
            )
        }
        _ if from.is_waiting() => {
            "It waits for a person, and nobody knows where it was left: begin it anew.".to_owned()
        }
        _ => format!("Claim {}.", listed(from.next())),
    };
    Refusal::new("TSK-01", says, next)
}

/// `a`, `b` or `c`
pub fn listed(stages: impl Iterator<Item = Stage>) -> String {
    let mut names: Vec<String> = stages.map(|stage| format!("`{stage}`")).collect();
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} or {last}", names.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The transitions as they are asked for, in the words they are asked in.
    const ASKED: &str = "\
intake -> shape
shape -> implement | blocked | needs_user_decision
implement -> verify | blocked | needs_user_decision
verify -> review | repair | blocked | needs_user_decision
review -> done | repair | needs_user_decision
repair -> verify | blocked | needs_user_decision";

    fn asked() -> BTreeSet<(Stage, Stage)> {
        let stage = |word: &str| Stage::parse(word.trim()).unwrap_or_else(|| panic!("{word:?} is no phase"));
        let line = |line: &str| {
            let (from, to) = line.split_once(" -> ").unwrap();
            to.split(" | ").map(|to| (stage(from), stage(to))).collect::<Vec<_>>()
        };
        ASKED.lines().flat_map(line).collect()
    }

    fn every_state() -> Vec<State> {
        let left = |stage: Stage| {
            let all = Stage::ALL.into_iter().map(Some).chain([None]);
            all.filter(move |left| stage.is_waiting() || left.is_none()).map(move |left| State { stage, left })
        };
        Stage::ALL.into_iter().flat_map(left).collect()
    }

    #[test]
    fn whoever_works_on_it_has_just_the_transitions_that_are_asked_for() {
        for by in [Actor::Agent, Actor::Bot] {
            let mut taken = BTreeSet::new();
            for state in every_state() {
                for to in Stage::ALL {
                    match apply(state, to, by) {
                        Ok((None, after)) => assert_eq!((state.stage, after), (to, state)),
                        Ok((Some(action), after)) => {
                            assert!(TRANSITIONS.contains(&(action, state.stage, to)));
                            assert_eq!((after.stage, after.left), (to, to.is_waiting().then_some(state.stage)));
                            taken.insert((state.stage, to));
                        }
                        Err(refusal) => {
                            let rule = if state.stage == Stage::Repair { "TSK-08" } else { "TSK-01" };
                            assert_eq!(refusal.rule, rule, "{} to {to}", state.stage);
                        }
                    }
                }
            }
            assert_eq!(taken, asked());
        }
    }

    #[test]
    fn a_person_takes_it_up_where_it_was_left_and_nowhere_else() {
        let mut reopened = BTreeSet::new();
        for (from, waiting) in asked().into_iter().filter(|(_, to)| to.is_waiting()) {
            let (_, state) = apply(State { stage: from, left: None }, waiting, Actor::Agent).unwrap();
            for to in Stage::ALL.into_iter().filter(|to| *to != waiting) {
                let step = apply(state, to, Actor::Human);
                assert_eq!(step.is_ok(), to == from, "{from}, {waiting} and {to}");
                if let Ok((action, after)) = step {
                    assert_eq!((action, after), (Some(Action::Reopen), State { stage: from, left: None }));
                    reopened.insert((Action::Reopen, waiting, to));
                }
            }
        }
        let listed = TRANSITIONS.iter().filter(|(action, ..)| *action == Action::Reopen).copied();
        assert_eq!(reopened, listed.collect(), "every one in the table can happen");
    }

    #[test]
    fn what_is_forbidden_by_name_is_refused_with_what_may_follow() {
        let said = |from: &str, to: &str| {
            let state = State { stage: Stage::parse(from).unwrap(), left: None };
            apply(state, Stage::parse(to).unwrap(), Actor::Agent).unwrap_err().to_string()
        };
        assert_eq!(
            said("implement", "done"),
            "TSK-01: `done` does not follow on `implement`. Claim `verify`, `blocked` or `needs_user_decision`."
        );
        assert_eq!(
            said("shape", "done"),
            "TSK-01: `done` does not follow on `shape`. Claim `implement`, `blocked` or `needs_user_decision`."
        );
        assert!(
            said("repair", "done")
                .starts_with("TSK-08: `done` does not follow on `repair`. What was repaired is verified")
        );
        assert!(said("repair", "review").starts_with("TSK-08: "));
        assert!(said("verify", "implement").ends_with("Claim `review`, `repair`, `blocked` or `needs_user_decision`."));
        assert_eq!(said("intake", "blocked"), "TSK-01: `blocked` does not follow on `intake`. Claim `shape`.");
        assert!(said("done", "intake").contains("a task of its own"));
    }

    #[test]
    fn the_way_onward_is_the_first_of_each() {
        for stage in Stage::ALL {
            assert_eq!(stage.onward(), stage.next().next(), "{stage}");
        }
    }

    /// Nothing leads to `done` past a verify that is newer than the last repair.
    #[test]
    fn on_every_way_to_done_the_last_repair_was_verified_and_reviewed() {
        let mut open = vec![vec![State::default()]];
        let mut ended = 0;
        while let Some(way) = open.pop() {
            let at = *way.last().unwrap();
            if at.stage == Stage::Done {
                ended += 1;
                let place = |stage: Stage| way.iter().rposition(|state| state.stage == stage);
                assert!(place(Stage::Verify) < place(Stage::Review) && place(Stage::Repair) < place(Stage::Verify));
                continue;
            }
            for to in Stage::ALL.into_iter().filter(|_| way.len() < 10) {
                if let Ok((Some(_), after)) = apply(at, to, Actor::Human) {
                    open.push(way.iter().copied().chain([after]).collect());
                }
            }
        }
        assert!(ended > 20, "{ended}");
    }
}
