//! The law, explored to its end: every step of the table by everybody, and every fact beside it, in any order.
//!
//! Each step is taken by the real [`apply`], [`beside`] and [`settle`]. Beside the state the model keeps what *truly*
//! happened (the last verdict of each gate and for which version, how often a gate failed), by rules of its own, and
//! holds the state against that. Versions have no names here, only which gates passed for the same one: that is
//! everything the law can see of them, and it makes the space finite without a bound on how often content changes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

use stateright::{Checker, Model, Property};

use super::*;
use crate::model::{Graph, documented, holds, print_of};

const GATES: usize = Phase::ALL.len();
/// The most versions that can be told apart: one of each gate, in the state and in truth, and the present one.
const VERSIONS: usize = 2 * GATES + 2;

/// One family of versions for each document, and one for the content.
fn family(phase: Phase) -> usize {
    (phase as usize).min(Phase::Build as usize)
}

static DIGESTS: LazyLock<Vec<Vec<Digest>>> = LazyLock::new(|| {
    let family = |family| (0..VERSIONS).map(|version| Digest::of(format!("{family} {version}"))).collect();
    (0..=family_of_content()).map(family).collect()
});

fn family_of_content() -> usize {
    family(Phase::Build)
}

fn digest(phase: Phase, version: u8) -> Digest {
    DIGESTS[family(phase)][usize::from(version)].clone()
}

fn version(phase: Phase, digest: &Digest) -> u8 {
    let found = DIGESTS[family(phase)].iter().position(|one| one == digest);
    u8::try_from(found.expect("a version of the model")).expect("few versions")
}

/// Where a change is. Version 0 is what is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
struct At {
    stage: Stage,
    mode: Mode,
    return_to: Option<Stage>,
    /// Whether there is any content yet.
    content: bool,
    passed: [Option<u8>; GATES],
    attempts: [u8; GATES],
    /// The last verdict of each gate, if it was a PASS, and for which version.
    truth: [Option<u8>; GATES],
    /// FAILs of each gate since its last PASS or a person's unblock.
    counted: [u8; GATES],
    /// The properties that the last step broke.
    broken: u8,
}

/// By hand, because it is done for every step: all of it in three numbers.
impl Hash for At {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let (mut versions, mut counts) = (0u128, 0u128);
        for gate in 0..GATES {
            let version = |of: Option<u8>| of.map_or(31, u128::from);
            versions = versions << 10 | version(self.passed[gate]) << 5 | version(self.truth[gate]);
            counts = counts << 16 | u128::from(self.attempts[gate]) << 8 | u128::from(self.counted[gate]);
        }
        let back = self.return_to.map_or(255, |stage| stage as u32);
        let rest = (self.stage as u32) << 24 | back << 16 | u32::from(self.broken) << 8;
        hasher.write_u128(versions);
        hasher.write_u128(counts);
        hasher.write_u32(rest | u32::from(self.content) << 1 | u32::from(self.mode == Mode::Stepped));
    }
}

impl At {
    fn real(&self) -> State {
        let by_phase = |of: &[Option<u8>; GATES]| -> BTreeMap<Phase, Digest> {
            Phase::ALL.iter().zip(of).filter_map(|(phase, at)| at.map(|at| (*phase, digest(*phase, at)))).collect()
        };
        let attempts = Phase::ALL.iter().zip(self.attempts).filter(|(_, fails)| *fails > 0);
        State {
            stage: self.stage,
            mode: self.mode,
            return_to: self.return_to,
            passed: by_phase(&self.passed),
            present: if self.content { by_phase(&[Some(0); GATES]) } else { BTreeMap::new() },
            attempts: attempts.map(|(phase, fails)| (*phase, fails)).collect(),
        }
    }

    /// What the law made of it. The truth stays what it was.
    fn becomes(&self, state: &State) -> At {
        let mut next = At { stage: state.stage, mode: state.mode, return_to: state.return_to, ..self.clone() };
        for (at, phase) in Phase::ALL.into_iter().enumerate() {
            next.passed[at] = state.passed.get(&phase).map(|bound| version(phase, bound));
            next.attempts[at] = state.fails(phase);
        }
        next
    }

    /// The same with other names for the versions: what is there now is 0, the others follow as they are met.
    fn renamed(mut self, present: &[u8; GATES]) -> At {
        let mut names = [[None; VERSIONS]; GATES];
        let mut used = [0u8; GATES];
        for phase in Phase::ALL {
            names[family(phase)][usize::from(present[phase as usize])] = Some(0);
        }
        for of in [&mut self.passed, &mut self.truth] {
            for phase in Phase::ALL {
                let Some(version) = &mut of[phase as usize] else { continue };
                let (family, name) = (family(phase), usize::from(*version));
                if names[family][name].is_none() {
                    used[family] += 1;
                    names[family][name] = Some(used[family]);
                }
                *version = names[family][name].unwrap_or_default();
            }
        }
        self
    }

    fn holds(&self, phase: Phase) -> bool {
        self.content && self.truth[phase as usize] == Some(0)
    }

    fn first_open(&self) -> Phase {
        Phase::ALL.into_iter().find(|phase| !self.holds(*phase)).unwrap_or(Phase::Deploy)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    Step(Action, Actor),
    Settle {
        deploys_now: bool,
    },
    /// The first content.
    Begin,
    /// Other code. 0: what was never there before; else the version that had this name.
    Push(u8),
    /// This document and those after it are others, and the code with them; or as they were before.
    Rewrite(Phase, bool),
    Renew(Phase),
    Retarget,
    Reopen,
    Drop,
    Stop {
        structural: bool,
    },
    Mode(Mode),
}

struct Law {
    bounds: Exploration,
    graph: Graph,
    /// The state that was taken last: many steps are tried from one.
    last: Mutex<Option<(At, State)>>,
    /// Where each state stands, by its print.
    stages: Mutex<HashMap<u64, Stage>>,
}

const COMPLETE: u8 = 1;
const RECOVERY: u8 = 2;
const THIRD_FAIL: u8 = 4;
const PERSON: u8 = 8;
const STALE: u8 = 16;
const PAUSE: u8 = 32;

/// The gate's verdict that an action is.
fn verdict(action: Action) -> Option<(Phase, bool)> {
    static VERDICTS: LazyLock<HashMap<Action, (Phase, bool)>> = LazyLock::new(|| {
        let both = |phase| [true, false].map(|pass| (verdict_action(phase, pass), (phase, pass)));
        let repaired = (Action::ReconcileRepaired, (Phase::Reconcile, true));
        Phase::ALL.into_iter().flat_map(both).chain([repaired]).collect()
    });
    VERDICTS.get(&action).copied()
}

/// Nobody but a person leads on from here.
fn closed_door(stage: Stage) -> bool {
    matches!(stage, Stage::BlockedOnGate | Stage::ReconcileBlocked | Stage::ComplexityBrakeTriggered)
}

/// Where a change stands between a gate's FAIL and its next try.
fn failed(phase: Phase) -> &'static [Stage] {
    use Stage as S;
    match phase {
        Phase::Expand => &[S::ExpandRetrying],
        Phase::Design => &[S::DesignRetrying],
        Phase::Analyze => &[S::AnalyzeRetrying],
        Phase::Build => &[S::BuildRetrying],
        Phase::Review => &[S::ReviewFixing, S::ReviewRetrying],
        Phase::Reconcile => &[S::ReconcileBlocked],
        Phase::Verify => &[S::VerifyFixing, S::VerifyRetrying],
        Phase::Deploy => &[S::DeployRetrying],
    }
}

fn worked_on(stage: Stage) -> Option<Phase> {
    Phase::ALL.into_iter().find(|phase| phase.stage() == stage)
}

impl Law {
    fn new(bounds: Exploration) -> Self {
        Self { bounds, graph: Graph::default(), last: Mutex::default(), stages: Mutex::default() }
    }

    fn real<T>(&self, at: &At, look: impl FnOnce(&State) -> T) -> T {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(known, _)| known != at) {
            *last = Some((at.clone(), at.real()));
        }
        look(&last.as_ref().expect("just set").1)
    }

    /// One step of the real law, with what is true after it.
    fn step(&self, at: &At, action: Action, actor: Actor) -> Option<At> {
        let state = self.real(at, |state| apply(state, &Step { action, actor })).ok()?;
        let mut next = at.becomes(&state);
        match verdict(action) {
            Some((phase, true)) => {
                next.truth[phase as usize] = Some(0);
                next.counted[phase as usize] = 0;
            }
            Some((phase, false)) => {
                next.truth[phase as usize] = None;
                next.counted[phase as usize] += 1;
            }
            None => {}
        }
        match action {
            Action::UnblockByUser => {
                if let Some(phase) = at.return_to.and_then(phase_of) {
                    next.counted[phase as usize] = 0;
                }
            }
            // Another round: the person who confirms it confirms the scope, and what comes after is shown anew.
            Action::ConfirmIteration => {
                next.counted = [0; GATES];
                next.truth[Phase::Analyze as usize..].fill(None);
                if at.content {
                    next.truth[Phase::Expand as usize] = Some(0);
                }
            }
            Action::IterateToDesign => next.truth[Phase::Design as usize] = None,
            _ => {}
        }
        next.broken = broken(at, &next, actor == Actor::Human);
        // A phase's work begins: on gates that passed, and on documents as they are.
        let detour = action.as_str().starts_with("ManualReconcile") || action == Action::ResolveReconcileBlock;
        if let Some(phase) = worked_on(next.stage).filter(|_| !detour) {
            let passed = |gate: Phase| next.truth[gate as usize].is_some();
            let strict = phase == Phase::Deploy;
            if !phase.before().all(|gate| next.holds(gate) || (passed(gate) && !gate.reads_documents() && !strict)) {
                next.broken |= STALE;
            }
        }
        if next.stage == Stage::VerifyGatePassed && !Phase::Deploy.before().all(|gate| next.holds(gate)) {
            next.broken |= STALE;
        }
        if at.stage == Stage::ContextRecovering && worked_on(next.stage).is_some_and(|to| to > next.first_open()) {
            next.broken |= RECOVERY;
        }
        Some(next.renamed(&[0; GATES]))
    }

    fn fact(&self, at: &At, fact: &Beside) -> At {
        let mut next = at.becomes(&self.real(at, |state| beside(state, fact)));
        match fact {
            Beside::Renewed { phase } if at.content && next.truth[*phase as usize].is_some() => {
                next.truth[*phase as usize] = Some(0);
            }
            Beside::Retargeted => next.truth = [None; GATES],
            _ => {}
        }
        next.broken = broken(at, &next, false);
        next
    }

    /// The content is now this, for each gate.
    fn content(&self, at: &At, present: [u8; GATES]) -> At {
        let now = Phase::ALL.into_iter().map(|phase| (phase, digest(phase, present[phase as usize]))).collect();
        let mut next = self.fact(at, &Beside::Content { present: now });
        next.content = true;
        let mut next = next.renamed(&present);
        next.broken = broken(at, &next, false);
        next
    }

    fn documents(from: Phase, back: bool) -> [u8; GATES] {
        const NEW: u8 = VERSIONS as u8 - 1;
        let mut present = [0; GATES];
        for phase in Phase::ALL {
            present[phase as usize] = match (phase.reads_documents(), back) {
                (true, _) if phase < from => 0,
                (_, true) => 1,
                (_, false) => NEW,
            };
        }
        present
    }

    fn play(&self, at: &At, one: Move) -> Option<At> {
        const NEW: u8 = VERSIONS as u8 - 1;
        Some(match one {
            Move::Step(action, actor) => self.step(at, action, actor)?,
            Move::Settle { deploys_now } => {
                let mut next = at.clone();
                let mut broken = 0;
                for Step { action, actor } in self.real(at, |state| settle(state, deploys_now)) {
                    next = self.step(&next, action, actor)?;
                    broken |= next.broken;
                }
                next.broken = broken;
                next
            }
            Move::Begin => self.content(at, [0; GATES]),
            Move::Push(code) => {
                let mut present = [0; GATES];
                present[Phase::Build as usize..].fill(if code == 0 { NEW } else { code });
                self.content(at, present)
            }
            Move::Rewrite(from, back) => self.content(at, Self::documents(from, back)),
            Move::Renew(phase) => self.fact(at, &Beside::Renewed { phase }).renamed(&[0; GATES]),
            Move::Retarget => self.fact(at, &Beside::Retargeted),
            Move::Reopen => self.fact(at, &Beside::Reopened),
            Move::Drop => self.fact(at, &Beside::Dropped),
            Move::Stop { structural } => self.fact(at, &Beside::Stopped { structural }),
            Move::Mode(mode) => self.fact(at, &Beside::Mode { mode }),
        })
    }

    /// What somebody who means well would do next.
    fn honest(one: Move) -> bool {
        match one {
            Move::Step(action, actor) => actor != Actor::Human && !matches!(verdict(action), Some((_, false))),
            Move::Settle { .. } | Move::Begin | Move::Push(_) | Move::Renew(_) => true,
            _ => false,
        }
    }

    /// The stages of all states, for those that this is true of.
    fn prints(&self, is: impl Fn(Stage) -> bool) -> HashSet<u64> {
        let stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        stages.iter().filter(|(_, stage)| is(**stage)).map(|(print, _)| *print).collect()
    }
}

/// What a step may never do, whoever takes it.
fn broken(at: &At, next: &At, human: bool) -> u8 {
    let mut broken = 0;
    if next.stage == Stage::PipelineComplete && !(next.holds(Phase::Review) && next.holds(Phase::Verify)) {
        broken |= COMPLETE;
    }
    let spent = |phase: Phase| next.counted[phase as usize] >= if phase == Phase::Reconcile { 4 } else { 3 };
    let goes_on = |phase: &Phase| !failed(*phase).contains(&next.stage) && !closed_door(next.stage);
    if Phase::ALL.into_iter().filter(|phase| spent(*phase)).any(|phase| goes_on(&phase)) {
        broken |= THIRD_FAIL;
    }
    // From one closed door to another is no way out.
    if closed_door(at.stage) && !closed_door(next.stage) && !human {
        broken |= PERSON;
    }
    if at.stage == Stage::SteppedModePaused && worked_on(next.stage).is_some() && !human {
        broken |= PAUSE;
    }
    // A pass that is on record is one that was given, for the version that it is on record for.
    if (0..GATES).any(|gate| next.passed[gate].is_some() && next.passed[gate] != next.truth[gate]) {
        broken |= STALE;
    }
    broken
}

fn unbroken<const WHAT: u8>(_: &Law, at: &At) -> bool {
    at.broken & WHAT == 0
}

impl Model for Law {
    type State = At;
    type Action = Move;

    fn init_states(&self) -> Vec<At> {
        let begins = |stage, mode| At {
            stage,
            mode,
            return_to: None,
            content: false,
            passed: [None; GATES],
            attempts: [0; GATES],
            truth: [None; GATES],
            counted: [0; GATES],
            broken: 0,
        };
        let mut first = vec![Stage::PreferencesConfigured];
        if self.bounds.beyond {
            first.push(State::default().stage);
        }
        let of = |mode: &Mode| first.iter().map(|stage| begins(*stage, *mode)).collect::<Vec<At>>();
        let begins: Vec<At> = self.bounds.modes.iter().flat_map(of).collect();
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        stages.extend(begins.iter().map(|at| (print_of(at), at.stage)));
        begins
    }

    fn actions(&self, at: &At, moves: &mut Vec<Move>) {
        let open: u8 = (0..GATES)
            .filter(|gate| !self.bounds.fails.contains(&Phase::ALL[*gate]))
            .map(|gate| at.counted[gate])
            .sum();
        for (action, _, _) in TRANSITIONS.iter().filter(|(_, from, _)| *from == at.stage) {
            if let Some((phase, false)) = verdict(*action)
                && !self.bounds.fails.contains(&phase)
                && open >= self.bounds.others
            {
                continue;
            }
            if !self.bounds.beyond && outer(*action) {
                continue;
            }
            // To the law an agent and the bot are the same, and a person is another only at a person's door.
            moves.push(Move::Step(*action, Actor::Agent));
            if needs_human(*action) {
                moves.push(Move::Step(*action, Actor::Human));
            }
        }
        moves.extend([Move::Settle { deploys_now: false }, Move::Settle { deploys_now: true }]);
        if !at.content {
            moves.push(Move::Begin);
        } else {
            let codes = at.passed[Phase::Build as usize..].iter().chain(&at.truth[Phase::Build as usize..]);
            let codes = codes.flatten().max().copied().unwrap_or_default();
            if self.bounds.pushes {
                moves.extend((0..=codes).map(Move::Push));
            }
            for from in self.bounds.rewrites {
                moves.extend([Move::Rewrite(*from, false), Move::Rewrite(*from, true)]);
            }
            moves.extend([Phase::Build, Phase::Review, Phase::Reconcile, Phase::Verify].map(Move::Renew));
            if self.bounds.pushes {
                moves.push(Move::Retarget);
            }
        }
        moves.extend([Move::Reopen, Move::Drop]);
        if self.bounds.stops {
            moves.extend([Move::Stop { structural: true }, Move::Stop { structural: false }]);
        }
        moves.extend(self.bounds.modes.iter().filter(|mode| **mode != at.mode).map(|mode| Move::Mode(*mode)));
    }

    fn next_state(&self, at: &At, one: Move) -> Option<At> {
        // What a broken rule leads to is not followed further.
        if at.broken != 0 {
            return None;
        }
        let next = self.play(at, one)?;
        let (from, to) = (print_of(at), print_of(&next));
        if from != to {
            self.graph.note(from, to, Self::honest(one));
            self.stages.lock().unwrap_or_else(PoisonError::into_inner).insert(to, next.stage);
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![
            Property::always("nothing is complete without review and verify of what is there", unbroken::<COMPLETE>),
            Property::always("recovery lands no later than the earliest gate that does not hold", unbroken::<RECOVERY>),
            Property::always("the third FAIL of a gate blocks", unbroken::<THIRD_FAIL>),
            Property::always("nothing but a person leaves a block or the brake", unbroken::<PERSON>),
            Property::always("a stale pass is never used", unbroken::<STALE>),
            Property::always("nothing but a person goes on from a pause", unbroken::<PAUSE>),
        ];
        all.push(Property::sometimes("a change is completed", |_: &Law, at: &At| at.stage == Stage::PipelineComplete));
        if self.bounds.stops || !self.bounds.fails.is_empty() {
            all.push(Property::sometimes("a change is blocked", |_: &Law, at: &At| at.stage == Stage::BlockedOnGate));
        }
        if self.bounds.stops {
            let braked = |_: &Law, at: &At| at.stage == Stage::ComplexityBrakeTriggered;
            all.push(Property::sometimes("the brake is pulled", braked));
        }
        if self.bounds.modes.contains(&Mode::Stepped) {
            all.push(Property::sometimes("a change pauses", |_: &Law, at: &At| at.stage == Stage::SteppedModePaused));
        }
        if self.bounds.pushes {
            all.push(Property::sometimes("two gates passed for versions that are gone", |_: &Law, at: &At| {
                at.passed.contains(&Some(1)) && at.passed.contains(&Some(2))
            }));
        }
        all
    }
}

/// Explores, and fails with everything that was found.
fn explore(name: &str) {
    let bounds = EXPLORATIONS.iter().find(|one| one.name == name).expect("an exploration of this name");
    let name = format!("law: {name}");
    let checker = Law::new(*bounds).checker().spawn_bfs().join();
    let law = checker.model();
    let mut found = holds(&name, &checker);
    let complete = law.prints(|stage| stage == Stage::PipelineComplete);
    let stuck = law.graph.stuck(&complete, false);
    if !stuck.is_empty() {
        found.push(format!("FAILS `every state has a way on` ({name}): {}", words_of(law, &stuck)));
    }
    // Honest work alone gets to where a person is asked, or to the end.
    let asks = |stage| rests(stage) || closed_door(stage) || stage == Stage::SteppedModePaused;
    let stuck = law.graph.stuck(&law.prints(asks), true);
    if !stuck.is_empty() {
        let property = "honest work gets on by itself until a person is asked";
        found.push(format!("FAILS `{property}` ({name}): {}", words_of(law, &stuck)));
    }
    if found.is_empty() {
        found.extend(documented(&name, &checker));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn words_of(law: &Law, stuck: &HashSet<u64>) -> String {
    let stages = law.stages.lock().unwrap_or_else(PoisonError::into_inner);
    let stages: std::collections::BTreeSet<Stage> =
        stuck.iter().filter_map(|print| stages.get(print)).copied().collect();
    format!("{} states, at {stages:?}", stuck.len())
}

#[test]
fn law_content() {
    explore("content");
}

#[test]
fn law_documents() {
    explore("documents");
}

#[test]
fn law_pauses() {
    explore("pauses");
}

#[test]
fn law_stops() {
    explore("stops");
}

#[test]
fn law_rounds() {
    explore("rounds");
    explore("rounds of one content");
}

#[test]
fn law_fails() {
    for gate in ["EXPAND", "DESIGN", "ANALYZE", "BUILD", "RECONCILE", "DEPLOY"] {
        explore(&format!("FAILs of {gate}"));
    }
}

#[test]
fn law_fixes_of_review() {
    explore("FAILs of REVIEW");
}

#[test]
fn law_fixes_of_verify() {
    explore("FAILs of VERIFY");
}

/// The table alone, without a guard: every stage is reached, by every transition.
#[test]
fn the_bare_table() {
    struct Table;
    impl Model for Table {
        type State = Stage;
        type Action = (Action, Stage);

        fn init_states(&self) -> Vec<Stage> {
            vec![State::default().stage]
        }

        fn actions(&self, at: &Stage, steps: &mut Vec<(Action, Stage)>) {
            let from = TRANSITIONS.iter().filter(|(_, from, _)| from == at);
            steps.extend(from.map(|(action, _, to)| (*action, *to)));
        }

        fn next_state(&self, _: &Stage, (_, to): (Action, Stage)) -> Option<Stage> {
            Some(to)
        }

        fn properties(&self) -> Vec<Property<Self>> {
            vec![Property::always("it is a stage", |_, _| true)]
        }
    }
    let checker = Table.checker().spawn_bfs().join();
    assert_eq!(checker.unique_state_count(), Stage::ALL.len());
    assert_eq!(checker.state_count(), TRANSITIONS.len() + 1);
    assert_eq!(documented("law: the bare table", &checker), None);
}

mod tlc;
