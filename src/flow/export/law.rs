//! The pipeline's law as a TLA+ module: the table with its guards, what happens beside it, and what must hold.
//!
//! Everything that is data in the engine (stages, transitions, gates and their limits, who may take which step, what
//! guards it) is printed from that data. What is code there is written once more, by hand, in `law.tla`; that both say
//! the same is shown by walking both and comparing every step (`tests/oracles/law.rs`, `pipeline::model`).

use std::fmt::Write as _;

use super::File;
use crate::flow::pipeline::{
    self, EXPLORATIONS, Exploration, GateEffect, Guard, detour, gate_effect, gate_passed, guard, needs_human, outer,
    phase_of, rests, verdict_action, waits_for_human,
};
use crate::flow::{Action, Mode, Phase, Stage, TRANSITIONS};

const MODULE: &str = "PhasegatePipelineLaw";
const BY_HAND: &str = include_str!("law.tla");

/// What every state must be, and what every step and every way must be.
const INVARIANTS: &[&str] =
    &["TypeOK", "CompleteIsProven", "ThirdFailBlocks", "PassesAreTrue", "DeliveryRestsOnProof", "WayOn", "HonestWork"];
const PROPERTIES: &[&str] = &["BeginsOnPasses", "RecoveryLandsEarly", "OnlyPersonUnblocks", "OnlyPersonContinues"];

/// The module, a configuration for each exploration, and one for the table alone, which breaks what the law keeps.
pub(super) fn files() -> Vec<File> {
    let mut files = vec![File { name: format!("{MODULE}.tla"), text: module() }];
    files.extend(EXPLORATIONS.iter().map(|one| File { name: slug(one.name) + ".cfg", text: bounded(one) }));
    files.push(File { name: "unguarded.cfg".to_owned(), text: unguarded() });
    files
}

fn slug(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}

fn module() -> String {
    BY_HAND.replace("@DATA@\n", &data()).replace("@STEPS@\n", &steps())
}

fn bounded(one: &Exploration) -> String {
    let mut out = constants(one);
    out.push_str("\nINVARIANTS\n");
    lines(&mut out, INVARIANTS);
    out.push_str("\nPROPERTIES\n");
    lines(&mut out, PROPERTIES);
    out
}

/// The table alone is unsafe: here TLC finds a way to the end around the gates.
fn unguarded() -> String {
    constants(&EXPLORATIONS[0]).replace("Guarded = TRUE", "Guarded = FALSE") + "\nINVARIANT CompleteIsProven\n"
}

/// The law, within these bounds.
pub(in crate::flow) fn constants(one: &Exploration) -> String {
    let truth = |is: bool| if is { "TRUE" } else { "FALSE" };
    let gates = |of: &[Phase]| set(of.iter().map(|gate| gate.as_str()));
    let modes = set(one.modes.iter().map(|mode| mode_name(*mode)));
    format!(
        "SPECIFICATION Spec\n\nCONSTANTS\n    Guarded = TRUE\n    Fails = {}\n    Others = {}\n    Rewrites = {}\n    \
         Pushes = {}\n    Modes = {modes}\n    Stops = {}\n    Beyond = {}\n",
        gates(one.fails),
        one.others,
        gates(one.rewrites),
        truth(one.pushes),
        truth(one.stops),
        truth(one.beyond),
    )
}

fn lines(out: &mut String, names: &[&str]) {
    for name in names {
        let _ = writeln!(out, "    {name}");
    }
}

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "auto",
        Mode::Stepped => "stepped",
    }
}

/// A gate's name in the module, which stands for its place in the order.
fn gate_name(phase: Phase) -> String {
    let mut name = phase.as_str().to_owned();
    name[..1].make_ascii_uppercase();
    name
}

fn data() -> String {
    let mut out = String::new();
    let mut define = |about: &str, name: &str, value: String| {
        if !about.is_empty() {
            let _ = writeln!(out, "\\* {about}");
        }
        let _ = writeln!(out, "{name} == {value}");
    };
    let stages = |is: &dyn Fn(Stage) -> bool| set(Stage::ALL.iter().filter(|one| is(**one)).map(|one| one.as_str()));
    let actions = |is: &dyn Fn(Action) -> bool| set(Action::ALL.iter().filter(|one| is(**one)).map(|one| one.as_str()));
    let gates = |of: &dyn Fn(Phase) -> String| format!("<<{}>>", Phase::ALL.map(of).join(", "));
    let by_stage = |of: &dyn Fn(Stage) -> Option<Phase>| {
        record(Stage::ALL.iter().map(|one| (one.as_str(), of(*one).map_or("0".to_owned(), gate_name))))
    };
    let by_action = |of: &dyn Fn(Action) -> Option<String>| {
        record(Action::ALL.iter().filter_map(|one| of(*one).map(|value| (one.as_str(), value))))
    };

    define("", "Stages", stages(&|_| true));
    define("", "Actions", actions(&|_| true));
    define("Where a change begins.", "Initial", quoted(pipeline::State::default().stage.as_str()));
    define("The gates. A gate is its place among them, and 0 is none.", "Gates", gates(&|gate| quoted(gate.as_str())));
    for (at, gate) in Phase::ALL.into_iter().enumerate() {
        define("", &gate_name(gate), (at + 1).to_string());
    }
    let documents: Vec<String> = Phase::ALL.into_iter().filter(|gate| gate.reads_documents()).map(gate_name).collect();
    define("The gates that read documents only.", "Documents", format!("{{{}}}", documents.join(", ")));
    define("How many FAILs of each gate block.", "Limit", gates(&|gate| pipeline::limit(gate).to_string()));
    define("In which stage each gate's work is done.", "WorkOf", gates(&|gate| quoted(gate.stage().as_str())));
    define("The gate that a stage belongs to.", "GateOf", by_stage(&phase_of));
    define("The gate that has just passed in a stage.", "PassedIn", by_stage(&gate_passed));
    define("The stages that only a person leaves.", "Closed", stages(&waits_for_human));
    define("The stages beyond the phases in which it may rest.", "Resting", stages(&rests));
    define("What only a person may do.", "Doors", actions(&needs_human));
    define("What begins no phase's work, though it leads to where it is done.", "Detours", actions(&detour));
    define("What leads into another round, or comes from one.", "Outer", actions(&outer));
    for (at, kind) in Guard::ALL.into_iter().filter(|kind| *kind != Guard::Free).enumerate() {
        let about = if at == 0 { "What guards an action." } else { "" };
        define(about, &format!("{kind:?}"), actions(&|action| guard(action) == kind));
    }
    let passes = |action| match gate_effect(action) {
        Some(GateEffect::Pass(gate)) => Some(gate_name(gate)),
        _ => None,
    };
    let fails = |action| match gate_effect(action) {
        Some(GateEffect::Fail(gate)) => Some(gate_name(gate)),
        _ => None,
    };
    define("What is recorded: a PASS or a FAIL, and of which gate.", "PassOf", by_action(&passes));
    define("", "FailOf", by_action(&fails));
    define("What truly is a gate's verdict.", "Verdicts", by_action(&|action| Some(verdict(action))));
    define("The table: where an action leads, from which stage.", "Leads", by_action(&|action| Some(leads(action))));
    out
}

/// Which gate's verdict an action truly is: told by the engine's way from the verdict to the action, not back.
fn verdict(action: Action) -> String {
    let of = |pass| Phase::ALL.into_iter().find(|gate| verdict_action(*gate, pass) == action);
    let repaired = (action == Action::ReconcileRepaired).then_some(Phase::Reconcile);
    let (gate, pass) = match (of(true).or(repaired), of(false)) {
        (Some(gate), _) => (gate_name(gate), "TRUE"),
        (None, Some(gate)) => (gate_name(gate), "FALSE"),
        (None, None) => ("0".to_owned(), "FALSE"),
    };
    format!("[gate |-> {gate}, pass |-> {pass}]")
}

fn leads(action: Action) -> String {
    let rows = TRANSITIONS.iter().filter(|(of, _, _)| *of == action);
    let ways: Vec<String> = rows.map(|(_, from, to)| format!("{from} |-> \"{to}\"")).collect();
    format!("[{}]", ways.join(", "))
}

/// One definition an action, so that TLC names each step of a way it found.
fn steps() -> String {
    let mut out = String::new();
    for action in Action::ALL {
        let _ = writeln!(out, "{action} == change' \\in Taken(\"{action}\")");
    }
    out.push_str("\nSteps ==\n");
    for action in Action::ALL {
        let _ = writeln!(out, "    \\/ {action}");
    }
    out.push('\n');
    out
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn set<'a>(of: impl Iterator<Item = &'a str>) -> String {
    wrapped("{", of.map(quoted), "}")
}

fn record<'a>(of: impl Iterator<Item = (&'a str, String)>) -> String {
    wrapped("[", of.map(|(name, value)| format!("{name} |-> {value}")), "]")
}

/// A list that a person can read: as many on a line as fit.
fn wrapped(open: &str, items: impl Iterator<Item = String>, close: &str) -> String {
    const WIDTH: usize = 110;
    let items: Vec<String> = items.collect();
    let one_line = format!("{open}{}{close}", items.join(", "));
    if one_line.len() < WIDTH - 12 {
        return one_line;
    }
    let mut out = format!("{open}\n");
    let mut line = String::from("   ");
    for (at, item) in items.iter().enumerate() {
        let comma = if at + 1 < items.len() { "," } else { "" };
        if line.len() > 3 && line.len() + item.len() + 2 > WIDTH {
            let _ = writeln!(out, "{line}");
            line = String::from("   ");
        }
        let _ = write!(line, " {item}{comma}");
    }
    let _ = write!(out, "{line}{close}");
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_module_has_every_step_of_the_table() {
        let text = module();
        assert!(!text.contains('\r') && text.is_ascii());
        for gap in ["@DATA@", "@STEPS@"] {
            assert!(BY_HAND.contains(gap) && !text.contains(gap), "{gap}");
        }
        let table = text.split("\nLeads == ").nth(1).and_then(|rest| rest.split("\n---").next()).unwrap();
        for (action, from, to) in TRANSITIONS {
            let row = table.split(&format!(" {action} |-> [")).nth(1).and_then(|rest| rest.split(']').next()).unwrap();
            assert!(row.split(", ").any(|way| way == format!("{from} |-> \"{to}\"")), "{action} from {from}: {row}");
        }
        assert_eq!(table.matches(" |-> \"").count(), TRANSITIONS.len());
        for action in Action::ALL {
            assert!(text.contains(&format!("\n{action} == change' \\in Taken(\"{action}\")\n")), "{action}");
            assert!(text.contains(&format!("\n    \\/ {action}\n")), "{action}");
        }
    }

    #[test]
    fn every_exploration_has_a_configuration_of_its_own() {
        let files = files();
        let names: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names.len(), files.len());
        assert_eq!(files.len(), EXPLORATIONS.len() + 2);
        for file in files.iter().filter(|file| file.name.ends_with(".cfg")) {
            let checks: Vec<&str> = INVARIANTS.iter().chain(PROPERTIES).copied().collect();
            let all = checks.iter().all(|name| file.text.contains(&format!("    {name}\n")));
            assert_eq!(all, file.name != "unguarded.cfg", "{}", file.name);
        }
        for name in INVARIANTS.iter().chain(PROPERTIES) {
            assert!(BY_HAND.contains(&format!("\n{name} ==")), "{name}");
        }
    }
}
