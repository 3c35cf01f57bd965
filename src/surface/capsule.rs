//! What an agent needs to go on, in less than a kilobyte: where the change is, what may be done there and what not, what fails,
//! and where its memory is. It follows from the state and the findings alone.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::comment::cut;
use super::task;
use super::text::plain_to;
use crate::engine::command::COMMANDS;
use crate::engine::possible_names;
use crate::finding::Finding;
use crate::flow::pipeline::{limit, phase_of, waits_for_human, words};
use crate::flow::task::Stage as TaskStage;
use crate::flow::{Phase, Stage};
use crate::gate::aside::{AUDIT, ITERATION};
use crate::gate::first;
use crate::gate::papers::{PREFERENCES, SCOPE, document};
use crate::gate::people::May;
use crate::gate::task::prompt;
use crate::ledger::memory::Memory;
use crate::ledger::snapshot::{Action, Cap, Snapshot};
use crate::ledger::{State, snapshot_path};
use crate::policy::Commands;

/// Fewer bytes than a kilobyte, in text as in JSON.
pub const MOST_BYTES: usize = 1_023;
/// So many findings at first; fewer where they don't fit.
const MOST_FAILING: usize = 8;
/// What one of them may say, in bytes, at first and where it is too much.
const SAYS: usize = 220;
const SAYS_LESS: usize = 90;
/// What is to be done where something fails and no phase says more.
const MEND: &str = "mend what fails";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Capsule {
    pub schema: &'static str,
    pub change: u64,
    pub head: Option<String>,
    /// The stage, in words.
    pub phase: String,
    /// Why it was taken up again there, if it was.
    pub taken_up: Option<String>,
    /// What a person answered last to a stop, in their words.
    // An agent pays for the schema each time, and this explains itself.
    #[schemars(skip)]
    pub answered: Option<String>,
    pub slice: Option<String>,
    pub allowed: Vec<String>,
    pub forbidden: Vec<String>,
    pub failing: Vec<Failing>,
    /// How many more there are.
    pub more: usize,
    pub snapshot: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failing {
    pub rule: String,
    /// The file, and the line in it.
    pub at: Option<String>,
    pub says: String,
}

impl Capsule {
    /// The capsule of a change, with what stands against it now, first things first. `place` says where a file of the ledger is
    /// to be read.
    pub fn of(state: &State, findings: &[Finding], commands: &Commands, place: impl Fn(&str) -> String) -> Self {
        // What several gates say in the same words is one thing.
        let mut said = BTreeSet::new();
        // What the next gate would say of what nobody was to write yet is nothing to mend. Why it was stopped then is told.
        let paused = state.stopped.is_none()
            && state.pipeline.as_ref().is_some_and(|pipeline| pipeline.stage == Stage::SteppedModePaused);
        let findings = if paused { &[] } else { findings };
        let against: Vec<&Finding> =
            findings.iter().filter(|one| one.blocks() && said.insert((&one.path, one.line, &one.says))).collect();
        let shown = against.iter().take(MOST_FAILING);
        let mut capsule = Self {
            schema: "phasegate/next@1",
            change: state.change.0,
            head: state.subject.as_ref().map(|about| about.head.short().to_owned()),
            phase: stands(state),
            taken_up: state.taken_up().map(|one| short(140, &one.why)),
            answered: answered(state),
            slice: slice(state),
            allowed: allowed(state, commands),
            forbidden: forbidden(state),
            failing: shown.map(|finding| Failing::of(finding, SAYS)).collect(),
            more: against.len().saturating_sub(MOST_FAILING),
            snapshot: snapshot(state).map(|path| place(&path)),
        };
        if let Some(phase) = first::claimable(state).filter(|_| first::is_to_claim(findings)) {
            let command = commands.written(phase.as_str());
            capsule.allowed.retain(|one| *one != command && *one != short(60, &work(phase)));
            capsule.allowed.insert(0, format!("{command}: claim it"));
        }
        // Nothing fails, so there is nothing to mend.
        if capsule.failing.is_empty() {
            capsule.allowed.retain(|one| one != MEND);
        }
        capsule.fit(&against);
        capsule
    }

    /// Says less until it fits: of the findings first, the last ones before the first.
    fn fit(&mut self, against: &[&Finding]) {
        let fits = |one: &Self| one.text().len() <= MOST_BYTES && one.json().len() <= MOST_BYTES;
        while !fits(self) {
            if self.failing.len() > 2 {
                self.failing.pop();
                self.more += 1;
            } else if self.failing.iter().any(|one| one.says.len() > SAYS_LESS) {
                for (one, finding) in self.failing.iter_mut().zip(against) {
                    *one = Failing::of(finding, SAYS_LESS);
                }
            } else if self.failing.len() > 1 {
                self.failing.pop();
                self.more += 1;
            } else if self.taken_up.take().is_none()
                && self.answered.take().is_none()
                && self.allowed.pop().is_none()
                && self.forbidden.pop().is_none()
            {
                return;
            }
        }
    }

    /// As plain text, a line a thing.
    pub fn text(&self) -> String {
        let mut out = format!("change #{}", self.change);
        if let Some(head) = &self.head {
            let _ = write!(out, ", head {head}");
        }
        let _ = writeln!(out, "\nphase: {}", self.phase);
        if let Some(why) = &self.taken_up {
            let _ = writeln!(out, "taken up: {why}");
        }
        if let Some(answer) = &self.answered {
            let _ = writeln!(out, "answered: {answer}");
        }
        let _ = writeln!(out, "slice: {}", self.slice.as_deref().unwrap_or("none"));
        let list = |all: &[String]| if all.is_empty() { "nothing".to_owned() } else { all.join("; ") };
        let _ = writeln!(out, "allowed: {}\nforbidden: {}", list(&self.allowed), list(&self.forbidden));
        let _ = writeln!(out, "failing:{}", if self.failing.is_empty() { " nothing" } else { "" });
        for one in &self.failing {
            let at = one.at.as_ref().map(|at| format!(" {at}")).unwrap_or_default();
            let _ = writeln!(out, "- {}{at} {}", one.rule, one.says);
        }
        if self.more > 0 {
            let _ = writeln!(out, "- and {} more", self.more);
        }
        let _ = writeln!(out, "snapshot: {}", self.snapshot.as_deref().unwrap_or("none"));
        out
    }

    /// The same for a program.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Failing {
    fn of(finding: &Finding, most: usize) -> Self {
        let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
        let at = finding.path.as_ref().map(|path| format!("{}{line}", short(100, path)));
        // What is to be done is told, however much is wrong.
        let next = short(most / 2, &finding.next);
        let says = short(most.saturating_sub(next.len() + " -> ".len()), &finding.says);
        Self { rule: short(60, &finding.rule), at, says: format!("{says} -> {next}") }
    }
}

/// One line of so many bytes at most, that ends no block it stands in.
fn short(most: usize, text: &str) -> String {
    let text = cut(most, plain_to(most, &text.replace('`', "'")));
    // What makes a mark harmless stands behind it.
    match text.strip_suffix('…') {
        Some(begun) => format!("{}…", begun.trim_end_matches(['@', '<', '&', ']'])),
        None => text,
    }
}

/// What a person has decided, for whoever did not hear it: nobody else tells an agent that begins anew.
fn answered(state: &State) -> Option<String> {
    let word = state.last_word()?;
    let action = word.action.map(|action| format!(" {}", action.as_str())).unwrap_or_default();
    let issue = word.issue.map(|issue| format!(" in #{issue}")).unwrap_or_default();
    Some(format!("{}{issue}{action}: {}", short(40, word.by), short(180, word.says)))
}

/// The slice that is worked on.
fn slice(state: &State) -> Option<String> {
    let memory = state.memory.as_ref()?;
    let Snapshot { slice_id, slice, cap, fails, .. } = &memory.latest;
    let failed = match fails.any() {
        true => format!(", FAILs in a row: iteration {}, exit {}", fails.iteration, fails.exit),
        false => String::new(),
    };
    let words = match memory.is_declared() {
        true => format!(": {}; {}", short(80, slice), scope(cap)),
        false if memory.is_said() => format!(": {}; scope undeclared", short(80, slice)),
        false => " (not declared)".to_owned(),
    };
    Some(format!("{slice_id}{failed}{words}"))
}

/// The scope: all of its globs rather than all of its words.
fn scope(cap: &Cap) -> String {
    const MOST: usize = 120;
    let whole = short(MOST * 10, &cap.to_string());
    if whole.len() <= MOST {
        return whole;
    }
    let globs = short(MOST * 10, Cap { says: String::new(), ..cap.clone() }.to_string().trim());
    match MOST.checked_sub(globs.len() + 1).filter(|left| *left > 20) {
        Some(left) => format!("{} {globs}", short(left, &cap.says)),
        None => short(MOST + MOST / 2, &globs),
    }
}

/// Where the latest snapshot is.
fn snapshot(state: &State) -> Option<String> {
    state.snapshot().map(|latest| snapshot_path(state.change, latest.iteration))
}

fn stands(state: &State) -> String {
    let ended = match (&state.merged, state.open) {
        (Some(merged), _) => format!(", merged as {}", merged.commit.short()),
        (None, false) => ", closed".to_owned(),
        (None, true) => String::new(),
    };
    if let Some(task) = task::of(state) {
        return format!("task {}{ended}", task.state.stage);
    }
    let Some(pipeline) = &state.pipeline else { return format!("merge{ended}") };
    let why = state.lapsed.as_ref().map(|lapsed| format!(": nobody was heard of for {}", lapsed.lease));
    let stage = format!("{}{}{ended}", words(pipeline.stage), why.unwrap_or_default());
    match phase_of(pipeline.stage).map(|phase| (phase, pipeline.fails(phase))) {
        Some((phase, fails)) if fails > 0 => format!("{stage}, FAIL {fails} of {}", limit(phase)),
        _ => stage,
    }
}

/// What is to be worked on in a phase.
pub fn work(phase: Phase) -> String {
    match (document(phase), phase) {
        (Some(document), _) => format!("write {document}"),
        (None, Phase::Build) => "write code and tests".to_owned(),
        (None, Phase::Review) => "mend what reviewers found".to_owned(),
        (None, Phase::Reconcile) => "bring documents and code in step".to_owned(),
        (None, Phase::Deploy) => "write README.md and DELIVERY.md".to_owned(),
        (None, _) => MEND.to_owned(),
    }
}

/// What is to be written where no phase is at work.
fn beside(state: &State) -> Option<String> {
    let stage = state.pipeline.as_ref()?.stage;
    Some(match stage {
        Stage::Distilling => "write docs/input/distilled-TOPIC.md".to_owned(),
        Stage::AuditingStack => format!("write {AUDIT}: Findings, Recommendation"),
        Stage::Iterating => format!("write {ITERATION}"),
        Stage::IterationConfirmed if state.merged.is_some() => {
            format!("a pull request with Phasegate-Change: {}", state.change)
        }
        Stage::IterationConfirmed => {
            let next = state.round.as_ref().map(|round| format!(", Version: {}", round.version + 1));
            format!("write {SCOPE}{}", next.unwrap_or_default())
        }
        _ => return None,
    })
}

/// Whether a person has to decide before anything goes on.
fn waits(state: &State) -> bool {
    let stage = state.pipeline.as_ref().map(|pipeline| pipeline.stage);
    state.stopped.is_some()
        || state.given_up.is_some()
        || stage.is_some_and(|stage| {
            waits_for_human(stage) || matches!(stage, Stage::IterationProposed | Stage::SteppedModePaused)
        })
}

/// What is waited for. A stepped wait is anybody's to end who may write, by a command that has to be known.
fn wait(state: &State, commands: &Commands) -> String {
    let stage = state.pipeline.as_ref().map(|pipeline| pipeline.stage);
    let at = stage.filter(|_| state.stopped.is_none() && state.given_up.is_none());
    match state.escalation.as_ref().and_then(|open| open.issue) {
        _ if at == Some(Stage::SteppedModePaused) => {
            format!("wait: a person looks and says {}", commands.written("continue"))
        }
        _ if at == Some(Stage::IterationProposed) => {
            format!("wait: {} [CH-1 …] or {} WHY", commands.written("approve"), commands.written("reject"))
        }
        Some(issue) => format!("wait: a person decides in #{issue}"),
        None => "wait: a person decides".to_owned(),
    }
}

fn allowed(state: &State, commands: &Commands) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(audit) = state.audit_owed() {
        let written = commands.written("audit");
        if waits(state) {
            all.push(wait(state, commands));
        }
        all.push(match audit.facts.iter().next() {
            None => format!("{written}: hand in a verifier's report"),
            Some(fact) => format!("{written} promote {fact}: what plans may rest on"),
        });
        all.push(commands.written("explain"));
        return all;
    }
    if waits(state) {
        all.push(wait(state, commands));
    } else {
        let phase = state.pipeline.as_ref().and_then(|pipeline| phase_of(pipeline.stage));
        all.extend(phase.filter(|_| state.open || state.merged.is_some()).map(work));
        all.extend(beside(state));
        match task::of(state).filter(|_| state.open) {
            Some(task) => {
                all.extend(prompt::allowed(task.state.stage).iter().map(|one| (*one).to_owned()));
                all.push(format!(
                    "Phase: {}",
                    task.state.stage.next().map(TaskStage::as_str).collect::<Vec<_>>().join("|")
                ));
            }
            None if state.pipeline.is_none() && state.open => all.push(MEND.to_owned()),
            None => {}
        }
        if state.step_asked() {
            all.push(format!("{} {} WHY", commands.written("ladder"), Action::steps()));
        }
    }
    let agents = |name: &&&str| COMMANDS.iter().any(|spec| spec.name == **name && spec.may != May::Approve);
    let names = possible_names(state).unwrap_or_default();
    let waiting = waits(state);
    all.extend(names.iter().filter(agents).filter(|_| !waiting).map(|name| commands.written(name)));
    all.push(commands.written("explain"));
    all.into_iter().map(|one| short(60, &one)).collect()
}

/// What is forbidden in every phase of a pipeline.
pub const DELETE: &str = "to delete from scaffolding/ or docs/input/";
/// What is forbidden in every change that is open.
pub const MERGE: &str = "to merge before phasegate/merge is green";

/// What is forbidden because it comes after a phase.
pub fn ahead(phase: Phase) -> Option<String> {
    let next = Phase::ALL.into_iter().find(|next| *next > phase)?;
    Some(format!("to claim {} or later", next.as_str().to_uppercase()))
}

fn forbidden(state: &State) -> Vec<String> {
    let mut all = Vec::new();
    if waits(state) {
        all.push("to go on before they have".to_owned());
    }
    if state.audit_owed().is_some() {
        all.push("anything else before the audit (SNP-10)".to_owned());
    }
    if state.memory.as_ref().is_some_and(Memory::is_declared) {
        all.push("work outside of the slice's scope".to_owned());
    }
    if let Some(task) = task::of(state).filter(|_| state.open && !waits(state)) {
        all.extend(prompt::forbidden(task.state.stage).iter().map(|one| (*one).to_owned()));
    }
    if let Some(phase) = state.pipeline.as_ref().and_then(|pipeline| phase_of(pipeline.stage)) {
        all.extend(ahead(phase));
    }
    if let Some(frozen) = state.frozen.as_ref().filter(|frozen| frozen.files > 0) {
        all.push(format!("to change what is frozen since {} ({} files)", frozen.head.short(), frozen.files));
    }
    let stage = state.pipeline.as_ref().map(|pipeline| pipeline.stage);
    if stage == Some(Stage::AuditingStack) {
        all.push(format!("to edit {PREFERENCES}"));
    }
    let next = state.round.as_ref().filter(|_| stage == Some(Stage::IterationConfirmed));
    if let Some(left) = next.and_then(|round| round.left_out()).filter(|_| state.merged.is_none()) {
        all.push(format!("what was not accepted: {left}"));
    }
    if state.pipeline.is_some() {
        all.push(DELETE.to_owned());
    }
    if state.open {
        all.push(MERGE.to_owned());
    } else if state.merged.is_none() {
        all.insert(0, "to go on: the pull request is closed".to_owned());
    }
    all.into_iter().map(|one| short(80, &one)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::kit::*;
    use crate::ids::Role;
    use crate::ledger::state::Recovered;

    fn of(game: &Game, findings: &[Finding]) -> Capsule {
        Capsule::of(game.now(), findings, &Commands::default(), |path| format!("phasegate/ledger:{path}"))
    }

    #[test]
    fn it_says_what_an_agent_needs_to_go_on() {
        let mut game = Game::pipeline();
        game.until_designing();
        let finding =
            Finding::error("DSN-03", "Nothing is said of storage.", "Say it.").at("scaffolding/design.md", Some(12));
        let warning = Finding::warning("DSN-09", "a hint", "look");
        let text = of(&game, &[finding, warning]).text();
        let head = game.now().subject.clone().unwrap().head;
        let wanted = format!(
            "change #7, head {}\nphase: DESIGN\nslice: S-0001 (not declared)\nallowed: write scaffolding/design.md; /design; /reconcile; /drop; \
             /stop; /explain\nforbidden: to claim ANALYZE or later; to delete from scaffolding/ or docs/input/; to merge before \
             phasegate/merge is green\nfailing:\n- DSN-03 scaffolding/design.md:12 Nothing is said of storage. -> Say it.\n\
             snapshot: phasegate/ledger:changes/0/7/context/iter-0002.md\n",
            head.short()
        );
        assert_eq!(text, wanted);
    }

    #[test]
    fn what_waits_for_a_person_is_not_for_an_agent_to_go_on_with() {
        let mut game = Game::pipeline();
        game.until_building().says("ada", Role::Write, "/stop it leaks").done();
        let capsule = of(&game, &[]);
        assert_eq!(capsule.allowed, ["wait: a person decides", "/explain"]);
        assert_eq!(capsule.forbidden[0], "to go on before they have");
        assert!(capsule.text().contains("failing: nothing"), "{}", capsule.text());
        game.asked_in(12);
        assert_eq!(of(&game, &[]).allowed[0], "wait: a person decides in #12");
    }

    #[test]
    fn a_slice_in_words_is_told_before_its_scope_is_declared() {
        let mut game = Game::pipeline();
        game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand Parse dates with a zone").done();
        let told =
            |game: &Game| of(game, &[]).text().lines().find(|line| line.starts_with("slice:")).unwrap().to_owned();
        assert!(told(&game).ends_with(": Parse dates with a zone; scope undeclared"), "{}", told(&game));
        game.says("ada", Role::Write, "/slice \"Parse dates\" --scope \"The parser. in: src/**\"").done();
        assert!(told(&game).ends_with(": Parse dates; The parser. in: src/** out: none"), "{}", told(&game));
    }

    #[test]
    fn after_a_fail_it_asks_how_it_goes_on() {
        let mut game = Game::pipeline();
        game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand").done();
        game.says("ada", Role::Write, "/expand").done();
        let asked = "/ladder fix-forward|re-scout|re-plan WHY";
        assert_eq!(of(&game, &[]).allowed[1], asked);
        game.says("ada", Role::Write, "/ladder fix-forward it is missing").done();
        assert!(!of(&game, &[]).allowed.iter().any(|one| one == asked));
    }

    #[test]
    fn a_change_that_is_over_says_so_and_nothing_is_to_be_mended_where_nothing_fails() {
        let mut game = Game::merge();
        game.look();
        assert!(of(&game, &game.findings()).allowed.iter().any(|one| one == MEND));
        assert!(!of(&game, &[]).allowed.iter().any(|one| one == MEND));
        let mut state = game.now().clone();
        state.open = false;
        let capsule = Capsule::of(&state, &[], &Commands::default(), str::to_owned);
        assert_eq!((capsule.phase.as_str(), capsule.allowed), ("merge, closed", vec!["/explain".to_owned()]));
        assert_eq!(capsule.forbidden[0], "to go on: the pull request is closed");
    }

    #[test]
    fn of_a_long_scope_the_globs_are_told() {
        let mut game = Game::pipeline();
        let why =
            "The parser of dates with all of its zones, without what other people do beside it, and without its tables";
        game.says(
            "ada",
            Role::Write,
            &format!("/slice \"Parse dates\" --scope \"{why}. in: src/parser/**, tests/** out: src/gen/**\""),
        )
        .done();
        let slice = of(&game, &[]).slice.unwrap();
        assert!(
            slice.ends_with("… in: src/parser/**, tests/** out: src/gen/**") && slice.contains("The parser"),
            "{slice}"
        );
    }

    #[test]
    fn a_change_without_phases_has_one_too() {
        let mut game = Game::merge();
        game.red();
        let capsule = of(&game, &game.findings());
        assert_eq!((capsule.phase.as_str(), capsule.allowed[0].as_str()), ("merge", "mend what fails"));
        assert!(capsule.failing.iter().any(|one| one.says.contains(TEST)), "{capsule:?}");
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![".{0,400}", "[`@<]{0,40}", "(🦀|é|\\PC){0,300}"]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_always_under_a_kilobyte(
            stage in proptest::sample::select(Stage::ALL),
            fails in 0u8..4,
            frozen in any::<bool>(),
            why in proptest::option::of(any_text()),
            prefix in "/[a-z]{0,20}",
            says in any_text(),
            globs in proptest::collection::vec("[a-z/*'é]{1,60}", 0..12),
            found in proptest::collection::vec((any_text(), any_text(), any_text(), any_text(), any::<u32>()), 0..40),
        ) {
            let mut game = Game::pipeline();
            let state = game.until_reviewing().now();
            let mut state = state.clone();
            if let Some(pipeline) = &mut state.pipeline {
                pipeline.stage = stage;
                pipeline.attempts = Phase::ALL.into_iter().map(|phase| (phase, fails)).collect();
            }
            if !frozen {
                state.frozen = None;
            }
            if let Some(memory) = &mut state.memory {
                memory.latest.slice.clone_from(&says);
                memory.latest.cap = Cap { says, within: globs.clone(), without: globs };
            }
            state.recovered = why.map(|why| Recovered { phase: Phase::Build, why, record: 9 });
            let findings: Vec<Finding> = found
                .into_iter()
                .map(|(rule, says, next, path, line)| Finding::error(&rule, says, next).at(path, Some(line)))
                .collect();
            let commands = Commands { prefix: prefix.clone() };
            let place = |path: &str| format!("https://{}/octo/demo/blob/phasegate/ledger/{path}", "g".repeat(80));
            let capsule = Capsule::of(&state, &findings, &commands, place);
            prop_assert!(capsule.text().len() <= MOST_BYTES, "{}", capsule.text());
            prop_assert!(capsule.json().len() <= MOST_BYTES, "{}", capsule.json());
            prop_assert!(!capsule.text().contains('`'));
            prop_assert_eq!(capsule.failing.is_empty(), findings.is_empty() || stage == Stage::SteppedModePaused);
            prop_assert!(capsule.failing.len() + capsule.more <= findings.len());
            prop_assert_eq!(&capsule, &Capsule::of(&state, &findings, &commands, place));
        }
    }
}
