//! What a stop for a known reason asks: one of the conditions that an agent stops for, a third approach to one
//! failure, or a fourth cheat.
//! The pull request's comment and the issue say the same.

use crate::ledger::record::Condition;
use crate::ledger::resolution::Remedy;
use crate::ledger::state::Stop;

/// The words of such a stop.
pub(super) struct Words {
    /// What is wrong.
    pub wrong: &'static str,
    /// What is to be decided, behind "Decide" and with the change in place of `{}`.
    pub decide: &'static str,
    /// What it comes to that it goes on.
    pub go_on: &'static str,
    /// What it comes to that its scope changes.
    pub rescope: &'static str,
    pub remedy: Remedy,
    /// Why that one is recommended.
    pub why: &'static str,
}

/// The words of this stop; none where its reason stands for itself.
pub(super) fn words(stop: &Stop) -> Option<Words> {
    match stop.condition {
        Some(Condition::Unsafe) if stop.leaves_security() => Some(LEFT),
        Some(condition) => Some(of(condition)),
        None if stop.is_third_approach() => Some(Words {
            wrong: "two approaches to the same failure failed already, and this would be the third",
            decide: "what {} tries in place of a third approach to the same failure",
            go_on: "say what to try that was not tried, and go on",
            rescope: "leave out what fails",
            remedy: Remedy::RevisePlan,
            why: "what fails the same way again and again mostly lies in the design.",
        }),
        None => None,
    }
}

/// Of what is left of security nobody says that it is fine: it is mended.
const LEFT: Words = Words {
    wrong: "whoever built it leaves a finding of security",
    decide: "how {} goes on with a finding of security that whoever built it has left",
    go_on: "mend it, take it out of the verdict, and go on: the gate stays against it until then, and somebody approves what comes",
    rescope: "leave out what needs it, and take the finding out of the verdict",
    remedy: Remedy::ApproveOverride,
    why: "with the finding mended: security is never waived.",
};

fn of(condition: Condition) -> Words {
    match condition {
        Condition::Stuck => Words {
            wrong: "the same error stands after several approaches",
            decide: "what {} tries next, or what becomes of it",
            go_on: "say what to try that was not tried",
            rescope: "leave it out of the scope",
            remedy: Remedy::ApproveOverride,
            why: "with an approach that was not tried yet.",
        },
        Condition::Scope => Words {
            wrong: "it is much larger than its scope says",
            decide: "whether {} may be as large as it has become",
            go_on: "let it be that large",
            rescope: "cut the scope, and split off the rest",
            remedy: Remedy::AmendSpec,
            why: "a smaller change is judged sooner.",
        },
        Condition::Dependency => Words {
            wrong: "something that it depends on is not there, or does not do what it should",
            decide: "whether {} waits for what it depends on, or does without it",
            go_on: "it is there now, so go on",
            rescope: "do without it, and change the scope",
            remedy: Remedy::ApproveOverride,
            why: "as soon as it is there; (B) where nobody knows that it will be.",
        },
        Condition::HealExhausted => Words {
            wrong: "it was caught passing without having earned it once more than may be healed",
            decide: "what becomes of {}, which was caught passing without having earned it more often than may be healed",
            go_on: "let it be tried once more (nothing is waived: it is built honestly, and the next one stops it again)",
            rescope: "change the scope to what can be shown honestly",
            remedy: Remedy::AbandonTask,
            why: "what is not earned in so many tries is better begun anew, by somebody else.",
        },
        Condition::Unsafe => Words {
            wrong: "nobody knows whether it is safe",
            decide: "whether what {} does is safe, or what it does in its place",
            go_on: "say that it is safe, and why",
            rescope: "change the scope so that it is not needed",
            remedy: Remedy::AmendSpec,
            why: "unless somebody who knows says (A).",
        },
    }
}
