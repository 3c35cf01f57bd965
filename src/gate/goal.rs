//! Auto-ready goals: whether each criterion of the scope cites by what it is verified, `(verify: <test, command or metric>)`, so
//! that a run can hold its own result against the goal. It is measured and shown, and blocks nothing: whether a citation is
//! honest is for people to judge.

use super::Finding;
use super::paper::{ids, text};
use super::papers::SCOPE;

/// So many criteria without a citation are named.
const MOST_NAMED: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    pub criteria: usize,
    /// Those that cite nothing, by identifier.
    pub uncited: Vec<String>,
}

impl Goal {
    /// Of the criteria of a scope; none where there are none.
    pub fn of(criteria: &[String]) -> Option<Self> {
        let uncited = criteria.iter().filter(|text| !cites(text)).filter_map(|text| ids::leading(text)).collect();
        (!criteria.is_empty()).then_some(Self { criteria: criteria.len(), uncited })
    }

    /// As it is told at every look.
    pub fn line(&self) -> String {
        match self.uncited.len() {
            0 => format!("goal-ready: yes, each of {} criteria cites what verifies it", self.criteria),
            some => format!(
                "goal-ready: no, {some} of {} criteria cite nothing that verifies them ({})",
                self.criteria,
                self.named()
            ),
        }
    }

    fn named(&self) -> String {
        let named: Vec<&str> = self.uncited.iter().take(MOST_NAMED).map(String::as_str).collect();
        match self.uncited.len() - named.len() {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }

    /// `goal_not_auto_ready`.
    pub fn finding(&self) -> Option<Finding> {
        (!self.uncited.is_empty()).then(|| {
            Finding::warning(
                "goal_not_auto_ready",
                format!(
                    "{} of {} criteria cite nothing that verifies them: {}. A run can't hold its own result against them.",
                    self.uncited.len(),
                    self.criteria,
                    self.named()
                ),
                "Write `(verify: …)` with a test, a command or a metric behind each. This blocks nothing.",
            )
            .at(SCOPE, None)
        })
    }
}

/// Whether a criterion cites something: a test, a command or a metric, in brackets behind `verify:`.
fn cites(criterion: &str) -> bool {
    let lower = criterion.to_ascii_lowercase();
    let mut rest = lower.as_str();
    while let Some(at) = rest.find("(verify") {
        rest = rest[at + "(verify".len()..].trim_start();
        let Some(said) = rest.strip_prefix(':') else { continue };
        let end = closing(said);
        if text::says_something(said[..end].trim().trim_matches('`'), &[]) {
            return true;
        }
    }
    false
}

/// Where the bracket ends that is open already: commands have brackets of their own.
fn closing(said: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in said.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            _ => {}
        }
    }
    said.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(criteria: &[&str]) -> Goal {
        Goal::of(&criteria.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).expect("there are criteria")
    }

    #[test]
    fn a_goal_is_ready_where_each_criterion_cites_its_verifier() {
        let ready = goal(&[
            "AC-1: it is lit within 200 ms (verify: `cargo test lit(fast)`)",
            "AC-2: it goes out (Verify : tests/out.rs) at night",
            "AC-3: nobody is blinded (verify: it works)",
        ]);
        assert_eq!(ready.line(), "goal-ready: yes, each of 3 criteria cites what verifies it");
        assert_eq!(ready.finding(), None);
    }

    #[test]
    fn what_cites_nothing_is_named_and_blocks_nothing() {
        let goal = goal(&[
            "AC-1: it is lit (verify: test_lit)",
            "AC-2: it goes out",
            "AC-3: verify: by eye",
            "AC-4: it hums (verify: TBD)",
            "AC-5: it hums (verify: )",
            "AC-6: it hums (verify: ``)",
            "AC-7: it hums (verify)",
        ]);
        assert_eq!(goal.uncited, ["AC-2", "AC-3", "AC-4", "AC-5", "AC-6", "AC-7"]);
        let told = goal.finding().expect("six cite nothing");
        assert!(!told.blocks());
        assert_eq!(
            told.says,
            "6 of 7 criteria cite nothing that verifies them: AC-2, AC-3, AC-4, AC-5, AC-6, AC-7. A run can't hold its own result \
             against them."
        );
        assert_eq!(Goal::of(&[]), None);
    }

    #[test]
    fn many_are_counted() {
        let criteria: Vec<String> = (1..=40).map(|at| format!("AC-{at}: it shines")).collect();
        let line = Goal::of(&criteria).expect("there are criteria").line();
        assert!(line.ends_with("AC-9, AC-10 and 30 more)"), "{line}");
    }
}
