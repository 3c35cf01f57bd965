//! Why it isn't merging, in the order of what to do first.
//!
//! First what makes everything else idle: a policy that is none, records that are not whole, a base that nothing covers. Then what a
//! person has stopped, because nothing goes on before that is answered. Then what is wrong with the content, an earlier phase before
//! a later one: what mends it makes the later ones be looked at again. Then what only has to be waited for: what runs, and then what
//! people have to do, because they want to look at what is done. That the phases are not through follows from all of that. Warnings
//! last. Before a pipeline has begun, its beginning comes before everything that could be done meanwhile.

use std::collections::BTreeSet;

use super::{Finding, GateName, merge};
use crate::flow::pipeline::{phase_of, waits_for_human};
use crate::flow::{Phase, Stage};
use crate::ledger::State;
use crate::ledger::state::Judged;
use crate::policy::Commands;

/// What stands against merging a change by its records: of the gate of the phase that it is in, and of the merge gate.
/// There is nothing to be done about one that is not open, but for what is to be delivered.
pub fn against(state: &State) -> Vec<Finding> {
    let phase = state.pipeline.as_ref().and_then(|pipeline| pipeline.phase());
    let task = state.task.as_ref().map(|_| GateName::Task);
    let gates = phase.map(GateName::Phase).into_iter().chain(task).chain([GateName::Merge]);
    let told = |gate: &GateName| state.open || is_delivered(state) && *gate != GateName::Merge;
    let judged = gates.filter(told).filter_map(|gate| Some((gate, state.gates.get(&gate)?)));
    // What was counted for other content says nothing of this one.
    let present = state.subject.as_ref().filter(|_| state.open).map(|about| &about.content);
    let judged = judged.filter(|(gate, judged)| {
        *gate == GateName::Merge || present.is_none_or(|present| *present == judged.about.content)
    });
    let told = judged.flat_map(|(gate, judged)| {
        // A preview told of a moment: what stands in the content stands there still, and what was waited for may have come.
        // Documents are all content.
        let papers = [Phase::Expand, Phase::Design, Phase::Analyze].map(GateName::Phase).contains(&gate);
        let passing = is_preview(gate, judged) && !papers;
        judged.findings.iter().filter(move |one| !passing || one.path.is_some()).cloned().collect::<Vec<_>>()
    });
    // The run that an audit is owed for was judged before it was.
    let owed = merge::audit_owed(state, &Commands::default()).filter(|_| state.open);
    of_change(state, told.chain(owed), &Commands::default())
}

/// Whether it is merged, and DEPLOY still asks for something.
pub fn is_delivered(state: &State) -> bool {
    let phase = state.pipeline.as_ref().and_then(|pipeline| pipeline.phase());
    !state.open && state.merged.is_some() && phase == Some(Phase::Deploy)
}

/// Whether a phase's gate was only looked at, so that nothing was counted. The next look is on record only where it is red.
fn is_preview(gate: GateName, judged: &Judged) -> bool {
    judged.claimed.is_none() && gate != GateName::Merge
}

/// The phase that a change is in, where its gate waits: that is on record only when it has passed or failed.
pub fn unrecorded(state: &State) -> Option<Phase> {
    let phase = state.pipeline.as_ref().filter(|_| state.open).and_then(|pipeline| pipeline.phase())?;
    let head = state.subject.as_ref().map(|about| &about.head);
    let gate = GateName::Phase(phase);
    let counted = |judged: &Judged| Some(&judged.about.head) == head && !is_preview(gate, judged);
    let told = state.gates.get(&gate).is_some_and(counted);
    (!told && state.stopped.is_none()).then_some(phase)
}

/// Whether it is in a pipeline that nobody has begun.
pub fn not_begun(state: &State) -> bool {
    state.open && state.pipeline.as_ref().is_some_and(|pipeline| pipeline.stage == Stage::PreferencesConfigured)
}

/// The findings of a change in their order, with the beginning of its pipeline where that is to be made.
pub fn of_change(state: &State, findings: impl IntoIterator<Item = Finding>, commands: &Commands) -> Vec<Finding> {
    let mut all = first_things_first(findings);
    if not_begun(state) {
        all.retain(|one| !merge::only_of_the_phases(one));
        let next = format!("Somebody with write access says `{}`.", commands.written("expand"));
        let at = all.partition_point(|one| rank(one).0 <= Turn::Stopped);
        all.insert(at, Finding::waiting("MRG-01", "The pipeline has not begun.", next));
    }
    all
}

/// The phase whose gate may be claimed now: nobody has stopped the change, and it waits for no person and for no audit.
pub fn claimable(state: &State) -> Option<Phase> {
    let idle = state.stopped.is_some() || state.given_up.is_some() || state.audit_owed().is_some();
    let stage = state.pipeline.as_ref().map(|pipeline| pipeline.stage).filter(|_| state.open && !idle)?;
    // What holds was claimed.
    let holds = |phase: Phase| state.pipeline.as_ref().is_some_and(|pipeline| pipeline.holds(phase));
    phase_of(stage).filter(|phase| !waits_for_human(stage) && !holds(*phase))
}

/// The findings where the gate of the phase would pass: nothing goes on before somebody claims it.
pub fn to_claim(mut findings: Vec<Finding>, phase: Phase, commands: &Commands) -> Vec<Finding> {
    findings.retain(|one| !merge::only_of_the_phases(one));
    let says = format!("The {phase} gate {TO_CLAIM}");
    let next = format!("Say `{}` to claim it.", commands.written(phase.as_str()));
    let at = findings.partition_point(|one| rank(one).0 < Turn::Wrong);
    findings.insert(at, Finding::waiting("MRG-01", says, next));
    findings
}

/// How the finding ends that says so.
const TO_CLAIM: &str = "would pass, and nobody has claimed it.";

/// Whether the gate of the phase would pass, by what is told.
pub fn is_to_claim(findings: &[Finding]) -> bool {
    findings.iter().any(|one| one.rule == "MRG-01" && one.waiting && one.says.ends_with(TO_CLAIM))
}

/// What to do first comes first. What several gates say in the same words is said once.
pub fn first_things_first(findings: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let once = |one: &Finding| seen.insert((one.rule.clone(), one.path.clone(), one.line, one.says.clone()));
    let mut findings: Vec<Finding> = findings.into_iter().filter(once).collect();
    findings.sort_by_key(rank);
    findings
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Idle,
    Stopped,
    Tampered,
    Wrong,
    Runs,
    People,
    Follows,
    Told,
}

/// The phases' rules in their order. What the merge gate asks for stands with the phase that it is about.
const PHASES: [&[&str]; 9] = [
    &["EXP-"],
    &["DSN-"],
    &["ANL-"],
    &["BLD-"],
    &["BRK-"],
    &["REV-", "MRG-02", "MRG-03"],
    &["REC-"],
    &["VER-", "MRG-01"],
    &["DEP-"],
];

fn rank(finding: &Finding) -> (Turn, usize) {
    let rule = finding.rule.as_str();
    let place = PHASES.iter().position(|starts| starts.iter().any(|start| rule.starts_with(start)));
    let turn = match (rule, finding.blocks(), finding.waiting) {
        (_, false, _) => Turn::Told,
        _ if merge::only_of_the_phases(finding) => Turn::Follows,
        ("MRG-04" | "MRG-07" | "MRG-08" | "MRG-10" | "MRG-11" | "MRG-12", ..) => Turn::Idle,
        ("MRG-05", ..) | ("MRG-06", _, false) => Turn::Stopped,
        // Codes of the guard are words. What a person has to answer comes first.
        (rule, _, false) if rule.starts_with(|c: char| c.is_ascii_lowercase()) => Turn::Tampered,
        (_, _, false) => Turn::Wrong,
        ("MRG-02" | "MRG-03", ..) => Turn::People,
        (rule, ..) if rule.starts_with("REV-") => Turn::People,
        (_, _, true) => Turn::Runs,
    };
    (turn, place.unwrap_or(PHASES.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_first_comes_first_and_once() {
        let error = |rule: &str| Finding::error(rule, "no", "mend");
        let waits = |rule: &str| Finding::waiting(rule, "not yet", "wait");
        let all = [
            Finding::warning("BLD-01", "unconfined", "look"),
            Finding::waiting("MRG-01", "The pipeline is not through: the review gate has not passed.", "read on"),
            waits("MRG-03"),
            waits("REV-01"),
            waits("MRG-01"),
            waits("BLD-02"),
            error("MRG-01"),
            error("VER-01").at("src/a.rs", Some(3)),
            error("VER-01").at("src/a.rs", Some(9)),
            error("VER-01").at("src/a.rs", Some(3)),
            error("MRG-02"),
            error("BLD-04"),
            error("MRG-05"),
            error("build_tampered:tests/a.rs"),
            error("MRG-07"),
            waits("MRG-05"),
        ];
        let told: Vec<String> = first_things_first(all)
            .iter()
            .map(|one| format!("{}{}", one.rule, one.line.map(|line| format!(":{line}")).unwrap_or_default()))
            .collect();
        let expected = [
            "MRG-07",
            "MRG-05",
            "MRG-05",
            "build_tampered:tests/a.rs",
            "BLD-04",
            "MRG-02",
            "MRG-01",
            "VER-01:3",
            "VER-01:9",
            "BLD-02",
            "MRG-01",
            "MRG-03",
            "REV-01",
            "MRG-01",
            "BLD-01",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn before_a_pipeline_has_begun_that_is_the_first_thing() {
        let mut game = crate::engine::kit::Game::pipeline();
        let told = |game: &crate::engine::kit::Game| -> Vec<(String, String)> {
            against(game.now()).into_iter().map(|one| (one.says, one.next)).collect()
        };
        let first = told(&game);
        assert_eq!(first[0].0, "The pipeline has not begun.");
        assert!(first[0].1.contains("`/expand`"), "{first:?}");
        assert!(!first.iter().any(|(says, _)| says.contains("not through")), "{first:?}");
        assert_eq!(unrecorded(game.now()), None);

        // Then it is the last: what its check says is to be done.
        game.until_reviewing();
        let then = told(&game);
        let (says, next) = then.iter().rfind(|(says, _)| says.contains("not through")).unwrap();
        assert!(says.contains("review") && next.contains("`phasegate/review`") && !next.contains("/status"), "{next}");
        assert_eq!(unrecorded(game.now()), Some(Phase::Review));
        game.review("mia", crate::ids::Role::Maintain, "CHANGES_REQUESTED");
        assert_eq!(unrecorded(game.now()), None, "a FAIL is on record");
    }

    /// Merged is not delivered: what DEPLOY found is told, and nothing of merging.
    #[test]
    fn what_is_still_to_be_delivered_is_told() {
        let mut game = crate::engine::kit::Game::pipeline();
        game.until_reviewing();
        game.review("mia", crate::ids::Role::Maintain, "CHANGES_REQUESTED");
        let mut state = game.now().clone();
        let mut judged = state.gates[&GateName::Phase(Phase::Review)].clone();
        judged.findings = vec![Finding::error("DEP-02", "no way back", "write it").at("DELIVERY.md", Some(3))];
        let commit = judged.about.head.clone();
        state.gates.insert(GateName::Phase(Phase::Deploy), judged);
        state.open = false;
        assert_eq!(against(&state), []);
        state.merged = Some(crate::ledger::state::Merged { commit, bypassed: BTreeSet::new() });
        state.pipeline.as_mut().unwrap().stage = Stage::Deploying;
        assert_eq!(against(&state).iter().map(|one| one.rule.as_str()).collect::<Vec<_>>(), ["DEP-02"]);
    }

    /// What a preview waited for may have come since, and nothing is recorded then.
    #[test]
    fn a_preview_is_not_told_as_the_present() {
        let mut game = crate::engine::kit::Game::pipeline();
        game.until_reviewing();
        game.review("mia", crate::ids::Role::Maintain, "CHANGES_REQUESTED");
        let mut state = game.now().clone();
        let judged = state.gates.get_mut(&GateName::Phase(Phase::Review)).unwrap();
        judged.findings = vec![
            Finding::error("BLD-02", "`test` has not run.", "wait"),
            Finding::error("BLD-07", "stray", "move it").at("src/a.py", None),
        ];
        let told = |state: &State| -> Vec<String> {
            let all = against(state).into_iter().map(|one| one.rule);
            all.filter(|rule| rule.starts_with("BLD-")).collect()
        };
        assert_eq!(told(&state), ["BLD-02", "BLD-07"]);
        assert_eq!(unrecorded(&state), None);
        state.gates.get_mut(&GateName::Phase(Phase::Review)).unwrap().claimed = None;
        assert_eq!(told(&state), ["BLD-07"]);
        assert_eq!(unrecorded(&state), Some(Phase::Review));
    }

    /// What was counted for other content is not told of this one, and the audit that a FAIL asks for is.
    #[test]
    fn what_is_told_is_of_the_present_content() {
        let mut game = crate::engine::kit::Game::pipeline();
        game.without("scaffolding/scope.md").says("ada", crate::ids::Role::Write, "/expand").done();
        let rules = |state: &State| against(state).into_iter().map(|one| one.rule).collect::<BTreeSet<_>>();
        for _ in 0..2 {
            game.says("ada", crate::ids::Role::Write, "/expand").done();
            assert!(rules(game.now()).contains("EXP-01") && !rules(game.now()).contains("MRG-06"));
        }
        game.says("ada", crate::ids::Role::Write, "/expand").done();
        assert!(rules(game.now()).contains("MRG-06"), "{:?}", rules(game.now()));
        let mut state = game.now().clone();
        state.subject.as_mut().unwrap().content = crate::ids::Digest::of("other content");
        assert!(!rules(&state).contains("EXP-01") && rules(&state).contains("MRG-06"), "{:?}", rules(&state));
    }
}
