//! Why recovery goes where it goes, in a sentence: it follows from the gates that hold and the documents that are there.

use super::words::phase_of;
use super::{Action, State};
use crate::flow::{Phase, Stage};

/// The phase that a step of recovery leads to, and why there: `DESIGN: scope.md passed, and design.md is not there`. `None` of
/// any other step. `absent` tells of a phase whether its document is known not to be there.
pub fn why(state: &State, action: Action, absent: impl Fn(Phase) -> bool) -> Option<String> {
    if state.stage != Stage::ContextRecovering {
        return None;
    }
    let phase = phase_of(action.from(state.stage)?)?;
    let reason = match phase {
        // What is deployed after the merge waits for that where it is proven.
        Phase::Verify if state.proven() => "every gate before the merge holds, and it is not merged yet".to_owned(),
        phase => match behind(phase) {
            Some(behind) => format!("{behind}, and {}", lacks(state, phase, absent(phase))),
            None => lacks(state, phase, absent(phase)),
        },
    };
    Some(format!("{}: {reason}", phase.as_str().to_uppercase()))
}

/// The document of a phase, as people call it.
fn paper(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Expand => Some("scope.md"),
        Phase::Design => Some("design.md"),
        Phase::Analyze => Some("readiness.md"),
        _ => None,
    }
}

/// What has passed so that this phase can be worked on.
fn behind(phase: Phase) -> Option<String> {
    let before = phase.before().last()?;
    Some(match (phase, paper(before)) {
        (Phase::Deploy, _) => "everything is built and verified".to_owned(),
        (_, Some(paper)) => format!("{paper} passed"),
        (_, None) => format!("{} passed", before.as_str().to_uppercase()),
    })
}

/// What is open in this phase.
fn lacks(state: &State, phase: Phase, absent: bool) -> String {
    let passed_once = state.passed.contains_key(&phase);
    match (paper(phase), phase) {
        (Some(paper), _) if absent => format!("{paper} is not there"),
        (Some(paper), _) if passed_once => format!("{paper} or what it rests on is not what passed"),
        (Some(paper), _) => format!("{paper} has not passed"),
        (None, Phase::Build) if !passed_once => "the code is incomplete or not yet shown to work".to_owned(),
        (None, Phase::Deploy) => "it is not delivered yet".to_owned(),
        (None, _) if passed_once => format!("{} passed for other content", phase.as_str().to_uppercase()),
        (None, _) => format!("{} has not passed", phase.as_str().to_uppercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Actor;
    use crate::flow::pipeline::{Step, apply, settle};
    use crate::ids::Digest;

    /// A change in recovery, with these gates passed.
    fn recovering(passed: &[Phase]) -> State {
        let present = Phase::ALL.into_iter().map(|phase| (phase, Digest::of(phase.as_str()))).collect();
        let passed = passed.iter().map(|phase| (*phase, Digest::of(phase.as_str()))).collect();
        State { stage: Stage::ContextRecovering, passed, present, ..State::default() }
    }

    fn told(state: &State, deploys_now: bool, absent: &[Phase]) -> String {
        let steps = settle(state, deploys_now);
        let step = steps.first().expect("recovery goes somewhere");
        assert!(apply(state, &Step { action: step.action, actor: Actor::Bot }).is_ok());
        why(state, step.action, |phase| absent.contains(&phase)).expect("a step of recovery")
    }

    /// One row for each comment of the table's recoveries, in their order.
    #[test]
    fn each_phase_is_taken_up_for_its_own_reason() {
        use Phase as P;
        let to = |phase: Phase| -> Vec<Phase> { phase.before().collect() };
        let rows: &[(Vec<Phase>, &[Phase], &str)] = &[
            (vec![], &[P::Expand, P::Design], "EXPAND: scope.md is not there"),
            (vec![], &[P::Design], "EXPAND: scope.md has not passed"),
            (to(P::Design), &[P::Design], "DESIGN: scope.md passed, and design.md is not there"),
            (to(P::Design), &[], "DESIGN: scope.md passed, and design.md has not passed"),
            (to(P::Analyze), &[P::Analyze], "ANALYZE: design.md passed, and readiness.md is not there"),
            (to(P::Analyze), &[], "ANALYZE: design.md passed, and readiness.md has not passed"),
            (to(P::Build), &[], "BUILD: readiness.md passed, and the code is incomplete or not yet shown to work"),
            (to(P::Review), &[], "REVIEW: BUILD passed, and REVIEW has not passed"),
            (to(P::Reconcile), &[], "RECONCILE: REVIEW passed, and RECONCILE has not passed"),
            (to(P::Verify), &[], "VERIFY: RECONCILE passed, and VERIFY has not passed"),
            (to(P::Deploy), &[], "DEPLOY: everything is built and verified, and it is not delivered yet"),
        ];
        for (passed, absent, wanted) in rows {
            assert_eq!(told(&recovering(passed), true, absent), *wanted);
        }
        let before_the_merge = recovering(&to(P::Deploy));
        let again = "VERIFY: every gate before the merge holds, and it is not merged yet";
        assert_eq!(told(&before_the_merge, false, &[]), again);
    }

    #[test]
    fn what_went_stale_is_told_apart_from_what_never_passed() {
        let all: Vec<Phase> = Phase::ALL.into_iter().collect();
        let mut state = recovering(&all);
        let mut stale = |phase: Phase, wanted: &str| {
            state.present.insert(phase, Digest::of("another"));
            assert_eq!(told(&state, true, &[]), wanted);
        };
        stale(Phase::Review, "REVIEW: BUILD passed, and REVIEW passed for other content");
        stale(Phase::Build, "BUILD: readiness.md passed, and BUILD passed for other content");
        let out = "ANALYZE: design.md passed, and readiness.md or what it rests on is not what passed";
        stale(Phase::Analyze, out);
        stale(Phase::Expand, "EXPAND: scope.md or what it rests on is not what passed");
    }

    #[test]
    fn no_other_step_has_a_reason_of_recovery() {
        let state = State { stage: Stage::Designing, ..State::default() };
        assert_eq!(why(&state, Action::PassDesignGate, |_| false), None);
        assert_eq!(why(&recovering(&[]), Action::PassDesignGate, |_| false), None);
    }
}
