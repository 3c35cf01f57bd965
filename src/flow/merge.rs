//! The merge flow: no phases, only the gate. Its table says what can become of a pull request.

/// `(action, from, to)`, as in every flow.
pub const TRANSITIONS: &[(&str, &str, &str)] = &[
    ("GateTurnsGreen", "Waiting", "Mergeable"),
    ("GateTurnsRed", "Mergeable", "Waiting"),
    ("Merge", "Mergeable", "Merged"),
    // Someone with the right to do so went around the gate. It is recorded, and an incident.
    ("Bypass", "Waiting", "Merged"),
    ("CloseWaiting", "Waiting", "Closed"),
    ("CloseMergeable", "Mergeable", "Closed"),
    ("Reopen", "Closed", "Waiting"),
];

pub const STATES: &[&str] = &["Waiting", "Mergeable", "Merged", "Closed"];
