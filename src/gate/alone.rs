//! What passes by itself: with nobody's approval, on the highest rung of autonomy.
//!
//! That it is green is not enough for that. Where one of these does not hold, the rung is lowered for this content and a person
//! decides, as if the change had said so itself: the tests held as much as before, no contract was edited, the last push changed
//! nothing but what a gate had asked for, a completeness critic misses nothing, and a verdict that is there can be read and leaves
//! nothing. What was left undone and is of security stops the change ([`super::residue`]); coverage is read where the tests are run
//! ([`super::ran`]).

use std::collections::BTreeSet;

use super::evidence::listed;
use super::review;
use super::review::findings::Critic;
use super::{Finding, merge, weakened};
use crate::finding::{Verdict, quoted};
use crate::gate::world::{Subject, World};
use crate::guard::wave::verdict::{Kind, Outcome};
use crate::guard::weaken::Edit;
use crate::ledger::record::Evidence;
use crate::ledger::state::State;
use crate::policy::{Autonomy, Completeness, Policy};

/// The rules, with one sentence each.
pub const RULES: &[(&str, &str)] = &[
    ("test_weakened", "No test got weaker, and none was edited that no parser reads."),
    ("test_edited", "No test that was there before was edited."),
    ("contract_edited", "No contract was edited."),
    ("loops_not_dry", "The last push changed nothing but what the gate that failed had asked for."),
    ("critic_open", "A completeness critic misses nothing."),
    ("malformed_gate_record", "What is left undone can be read."),
    ("residue_security", "No finding of security is left, or was."),
    ("residue_concurrency", "No risk of concurrency is left, or was."),
    ("residue_architecture", "No risk of architecture is left, or was."),
    ("gate_record_mismatch", "Whoever built it hands it in as done."),
    ("unread_header", "What its description declares can be read."),
];

/// So many gaps are told.
const MOST_GAPS: usize = 10;

/// The rung that holds for this content.
pub fn rung(policy: &Policy, state: &State, world: &World) -> Autonomy {
    match merge::autonomy(state, world) {
        Autonomy::Auto if !unmet(policy, state, world).is_empty() => Autonomy::Conservative,
        rung => rung,
    }
}

/// Why this content does not pass by itself, where nothing else lowers its rung. It holds back as far as a person is asked for it, so
/// these are warnings.
pub fn unmet(policy: &Policy, state: &State, world: &World) -> Vec<Finding> {
    let subject = world.subject.as_ref().filter(|_| merge::autonomy(state, world) == Autonomy::Auto);
    // Who asks for nothing is told so, and gets it.
    let Some(subject) = subject.filter(|_| !policy.merge.require.is_empty()) else { return Vec::new() };
    let declared = world.pull.header.unread.first().map(|(key, value)| {
        let says = format!(
            "What the description declares can't be read (`{}:` {}), so the change does not pass by itself.",
            key.as_str(),
            quoted(value)
        );
        Finding::warning("unread_header", says, or("Write a word that is known"))
    });
    let one = [
        declared,
        weaker(state, world),
        unjudged(state, subject),
        edited(state, subject),
        contracts(state, subject),
        loops(subject),
        unread(subject),
    ];
    one.into_iter()
        .flatten()
        .chain(left(subject))
        .chain(was_left(state, subject))
        .chain(critic(policy, state, world))
        .collect()
}

fn weaker(state: &State, world: &World) -> Option<Finding> {
    let files = weakened::files(state, world);
    let first = *files.first()?;
    let listed = listed(&files.into_iter().collect::<Vec<_>>());
    let says = format!("Tests got weaker, or could not be read ({listed}), so the change does not pass by itself.");
    Some(Finding::warning("test_weakened", says, or("Put back what they held")).at(first, None))
}

/// Of a test that no parser reads nobody knows whether it still holds as much.
fn unjudged(state: &State, subject: &Subject) -> Option<Finding> {
    let all = subject.weakened.unjudged.iter();
    let open = all.filter(|(path, now)| !weakened::is_accepted(state, path, now));
    let edited: Vec<&str> = open.map(|(path, _)| path.as_str()).collect();
    let first = *edited.first()?;
    let says = format!(
        "Among the tests, files were edited or deleted that no parser reads ({}), so whether they hold as much is not known, and \
         the change does not pass by itself.",
        listed(&edited)
    );
    Some(Finding::warning("test_weakened", says, or("Put them back")).at(first, None))
}

/// Another value may be right, and it may be what the code happens to give: whoever wrote both can't be asked which.
fn edited(state: &State, subject: &Subject) -> Option<Finding> {
    let open = |one: &&Edit| !weakened::is_accepted(state, &one.path, &one.now);
    let edits: Vec<&Edit> = subject.weakened.edits.iter().filter(open).collect();
    let first = *edits.first()?;
    let paths: BTreeSet<&str> = edits.iter().map(|one| one.path.as_str()).collect();
    let says = format!(
        "Tests that were there before are not as they were ({}; the first: {}), so the change does not pass by itself. \
         `phasegate guard weaker` lists them all.",
        listed(&paths.into_iter().collect::<Vec<_>>()),
        first.says.trim_end_matches('.')
    );
    Some(
        Finding::warning("test_edited", says, or("Put them back, and write what is new beside them"))
            .at(&first.path, first.line),
    )
}

fn contracts(state: &State, subject: &Subject) -> Option<Finding> {
    let all = subject.contracts.iter();
    let open = all.filter(|(path, now)| !weakened::is_accepted(state, path, now));
    let edited: Vec<&str> = open.map(|(path, _)| path.as_str()).collect();
    let first = *edited.first()?;
    let says = format!("A contract was edited ({}), so the change does not pass by itself.", listed(&edited));
    Some(Finding::warning("contract_edited", says, or("Put it back")).at(first, None))
}

fn loops(subject: &Subject) -> Option<Finding> {
    let next = or("Take what nobody asked for into a change of its own");
    match &subject.beyond {
        None => {
            let says =
                "What was pushed since a gate failed can't be told any more, so the change does not pass by itself.";
            Some(Finding::warning("loops_not_dry", says, next))
        }
        Some(beyond) => {
            let paths: Vec<&str> = beyond.iter().map(String::as_str).collect();
            let first = *paths.first()?;
            let says = format!(
                "Since a gate failed, more was changed than it had asked for ({}), so the change does not pass by itself.",
                listed(&paths)
            );
            Some(Finding::warning("loops_not_dry", says, next).at(first, None))
        }
    }
}

fn unread(subject: &Subject) -> Option<Finding> {
    let path = subject.handed_in.iter().find_map(|one| one.read.is_err().then_some(&one.path))?;
    let says = "The verdict of whoever built it is not in its form, so nobody knows what is left, and the change does not pass by itself.";
    Some(Finding::warning("malformed_gate_record", says, or("Write it in its form, or take it out")).at(path, None))
}

/// What was answered once was answered for what was there then: whatever is pushed later under the same words is looked at.
fn left(subject: &Subject) -> impl Iterator<Item = Finding> {
    let read = subject.handed_in.iter().filter_map(|one| Some((one.path.as_str(), one.read.as_ref().ok()?)));
    read.filter(|(_, proposal)| proposal.weighed() != Outcome::Pass || !proposal.residue.is_empty()).map(
        |(path, proposal)| {
            let risk = Kind::ALL.into_iter().find(|kind| proposal.residue.iter().any(|left| left.kind == *kind));
            let (rule, says) = match risk {
                Some(kind) => (format!("residue_{}", kind.as_str()), format!("leaves {}", risk_of(kind.as_str()))),
                None => ("gate_record_mismatch".to_owned(), format!("is {}", proposal.outcome.as_str())),
            };
            let says = format!("The verdict of whoever built it {says}, so the change does not pass by itself.");
            Finding::warning(&rule, says, or("Mend it, and hand it in as `PASS` with nothing left")).at(path, None)
        },
    )
}

/// That it is not left any more is said by whoever left it.
fn was_left(state: &State, subject: &Subject) -> impl Iterator<Item = Finding> {
    let proposals = subject.handed_in.iter().filter_map(|one| one.read.as_ref().ok());
    let now: BTreeSet<String> = proposals
        .flat_map(|proposal| proposal.residue.iter().map(|left| format!("residue_{}", left.kind.as_str())))
        .collect();
    state.against.left.iter().filter(move |rule| !now.contains(*rule)).map(|rule| {
        let kind = rule.strip_prefix("residue_").unwrap_or(rule);
        let says = format!(
            "An earlier verdict of this change left {}, and only whoever built it says that it is not left any more, so the change \
             does not pass by itself.",
            risk_of(kind)
        );
        let next = "Somebody who may approve, and neither wrote nor pushed to it, looks whether it is mended, and approves it.";
        Finding::warning(rule, says, next)
    })
}

fn risk_of(kind: &str) -> String {
    match kind == Kind::Security.as_str() {
        true => "a finding of security".to_owned(),
        false => format!("a risk of {kind}"),
    }
}

fn critic(policy: &Policy, state: &State, world: &World) -> Vec<Finding> {
    match review::findings::heard(policy, state, world).critic {
        Critic::Clean => Vec::new(),
        Critic::Silent if policy.gates.review.critic == Completeness::Off => Vec::new(),
        Critic::Silent => {
            let says = "Nobody has looked for what is missing, so the change does not pass by itself.";
            let next = or(
                "Let a critic that has no hand in it say `gaps: []`, or what is missing, in the `phasegate-review` block of \
                           a review",
            );
            vec![Finding::warning("critic_open", says, next)]
        }
        Critic::Open(all) => {
            let each = all.iter().flat_map(|(who, gaps)| gaps.iter().map(move |gap| (who, gap)));
            let told = each.take(MOST_GAPS).map(|(who, gap)| {
                let says = format!("`{who}` misses something: {}.", quoted(gap.trim_end_matches('.')));
                Finding::warning("critic_open", says, or("Add it, and let them look again"))
            });
            told.collect()
        }
    }
}

/// The rung in words, for whoever is asked because of it.
pub fn told(policy: &Policy, state: &State, world: &World) -> String {
    let (own, here) = (state.autonomy.as_str(), rung(policy, state, world).as_str());
    match own == here {
        true => format!("autonomy is {own}"),
        false => format!("autonomy is {own}, for this content {here} by {}", lowered_by(policy, state, world)),
    }
}

/// The rules that lower the rung.
fn lowered_by(policy: &Policy, state: &State, world: &World) -> String {
    let rules: BTreeSet<String> = match world.self_weakening().is_empty() {
        true => unmet(policy, state, world).into_iter().map(|finding| quoted(&finding.rule)).collect(),
        false => BTreeSet::from([quoted("self_weakening")]),
    };
    rules.into_iter().collect::<Vec<_>>().join(", ")
}

fn or(first: &str) -> String {
    format!("{first}; or somebody who may approve, and neither wrote nor pushed to it, approves it as it is.")
}

/// That it passed by itself, and the runs that showed it, where nobody's word is in what was counted.
pub fn by_itself(verdict: Verdict, rung: Autonomy, evidence: &[Evidence]) -> Option<Evidence> {
    let word = evidence.iter().any(|one| matches!(one, Evidence::Word { .. }));
    let runs: BTreeSet<String> = evidence.iter().filter_map(run).collect();
    let alone = verdict == Verdict::Pass && rung == Autonomy::Auto && !word && !runs.is_empty();
    alone.then(|| Evidence::Auto { runs: runs.into_iter().collect() })
}

fn run(evidence: &Evidence) -> Option<String> {
    match evidence {
        Evidence::Check { name, run, workflow_run, discounted: None, .. } => Some(match workflow_run {
            Some(of) => format!("{name}, workflow run {of}"),
            None => format!("{name}, check run {run}"),
        }),
        Evidence::Run { workflow, run, attempt, discounted: None, .. } => {
            Some(format!("{workflow}, run {run}, attempt {attempt}"))
        }
        _ => None,
    }
}
