//! The merge flow: no phases, only the gate. Its table says what can become of a pull request.
//!
//! The fold runs it: every record that means something here is a [`Told`], and [`follow`] finds the action in the table
//! that leads on from where the change stands. There is no other place that says where it stands.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::table::names;

names! {
    /// Where a change stands in the merge flow.
    Stage {
        Waiting,
        Mergeable,
        Merged,
        Closed,
    }
}

names! {
    /// What leads from one to another.
    Action {
        GateTurnsGreen,
        GateTurnsRed,
        Merge,
        MergeUnhindered,
        Bypass,
        CloseWaiting,
        CloseMergeable,
        Reopen,
    }
}

impl Default for Stage {
    fn default() -> Self {
        Self::ALL[0]
    }
}

/// `(action, from, to)`, as in every flow.
pub const TRANSITIONS: &[(Action, Stage, Stage)] = {
    use Action::*;
    use Stage::*;
    &[
        (GateTurnsGreen, Waiting, Mergeable),
        (GateTurnsRed, Mergeable, Waiting),
        (Merge, Mergeable, Merged),
        // `enforce: observe`, or the last proof came between the last look and the merge.
        (MergeUnhindered, Waiting, Merged),
        // Someone with the right to do so went around the gate. It is recorded, and an incident.
        (Bypass, Waiting, Merged),
        // A head that nobody had looked at yet was merged on the green of the one before it, or after a reopening.
        (Bypass, Mergeable, Merged),
        (Bypass, Closed, Merged),
        (CloseWaiting, Waiting, Closed),
        (CloseMergeable, Mergeable, Closed),
        (Reopen, Closed, Waiting),
    ]
};

/// What a record tells this flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Green,
    Red,
    Closed,
    Reopened,
    /// With the rules that stood against it, or without any.
    Merged {
        bypassed: bool,
    },
}

/// The action that this means where the change stands. None: it changes nothing here.
pub fn action(stage: Stage, told: Told) -> Option<Action> {
    let meant: &[Action] = match told {
        Told::Green => &[Action::GateTurnsGreen],
        Told::Red => &[Action::GateTurnsRed],
        Told::Closed => &[Action::CloseWaiting, Action::CloseMergeable],
        Told::Reopened => &[Action::Reopen],
        Told::Merged { bypassed: true } => &[Action::Bypass],
        Told::Merged { bypassed: false } => &[Action::Merge, Action::MergeUnhindered, Action::Bypass],
    };
    meant.iter().copied().find(|action| to(*action, stage).is_some())
}

/// Where the change stands after it.
pub fn follow(stage: Stage, told: Told) -> Stage {
    action(stage, told).and_then(|action| to(action, stage)).unwrap_or(stage)
}

fn to(action: Action, stage: Stage) -> Option<Stage> {
    TRANSITIONS.iter().find(|(of, from, _)| *of == action && *from == stage).map(|(_, _, to)| *to)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const TOLD: [Told; 6] = [
        Told::Green,
        Told::Red,
        Told::Closed,
        Told::Reopened,
        Told::Merged { bypassed: false },
        Told::Merged { bypassed: true },
    ];

    #[test]
    fn every_action_of_the_table_happens_and_nothing_else_does() {
        let mut seen = BTreeSet::new();
        for &stage in Stage::ALL {
            for told in TOLD {
                match action(stage, told) {
                    Some(action) => {
                        let to = follow(stage, told);
                        assert!(TRANSITIONS.contains(&(action, stage, to)));
                        seen.insert((action, stage, to));
                    }
                    None => assert_eq!(follow(stage, told), stage),
                }
            }
        }
        assert_eq!(seen, TRANSITIONS.iter().copied().collect());
    }

    #[test]
    fn what_is_merged_stays_merged() {
        for told in TOLD {
            assert_eq!(follow(Stage::Merged, told), Stage::Merged);
        }
        for &stage in Stage::ALL {
            assert_eq!(follow(stage, Told::Merged { bypassed: true }), Stage::Merged);
            assert_eq!(follow(stage, Told::Merged { bypassed: false }), Stage::Merged);
        }
    }
}
