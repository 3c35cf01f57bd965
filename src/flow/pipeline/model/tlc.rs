//! The law in Rust and the law that is exported for TLC are the same one: from states all over the law, met on long random
//! ways on which everything may happen, TLC takes every step that the module has, and finds what the real law finds.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::flow::{Exported, FlowName, Format};

/// More than any exploration lets happen.
const EVERYTHING: Exploration = Exploration {
    name: "everything",
    fails: &Phase::ALL,
    others: 0,
    rewrites: &[Phase::Expand, Phase::Design, Phase::Analyze],
    pushes: true,
    modes: &[Mode::Auto, Mode::Stepped],
    stops: true,
    beyond: true,
};

const SEED: u64 = 0x5eed;
const WAYS: usize = 300;
const LENGTH: usize = 150;

/// A step as it is written in the module: its name, from where, to where.
type Edge = (String, String, String);

fn name(one: Move) -> &'static str {
    match one {
        Move::Step(action, _) => action.as_str(),
        Move::Settle { deploys_now: false } => "Settle",
        Move::Settle { deploys_now: true } => "SettleDeployed",
        Move::Begin => "Begin",
        Move::Push(0) => "PushNew",
        Move::Push(_) => "PushOlder",
        Move::Rewrite(_, false) => "RewriteNew",
        Move::Rewrite(_, true) => "RewriteOlder",
        Move::Renew(_) => "Renew",
        Move::Retarget => "Retarget",
        Move::Reopen => "Reopen",
        Move::Drop => "Drop",
        Move::Stop { structural: false } => "Stop",
        Move::Stop { structural: true } => "Brake",
        Move::Mode(_) => "ChangeMode",
    }
}

/// The state as a record of the module. There, 0 is no version and 1 the present one.
fn record(at: &At) -> String {
    let list = |of: &[u8; GATES]| of.map(|one| one.to_string()).join(", ");
    let versions = |of: &[Option<u8>; GATES]| list(&of.map(|version| version.map_or(0, |version| version + 1)));
    format!(
        "[stage |-> \"{}\", mode |-> \"{}\", back |-> \"{}\", content |-> {}, passed |-> <<{}>>, attempts |-> <<{}>>, \
         truth |-> <<{}>>, counted |-> <<{}>>]",
        at.stage,
        if at.mode == Mode::Auto { "auto" } else { "stepped" },
        at.return_to.map_or("none", Stage::as_str),
        if at.content { "TRUE" } else { "FALSE" },
        versions(&at.passed),
        list(&at.attempts),
        versions(&at.truth),
        list(&at.counted),
    )
}

/// A record as TLC prints it, with its fields in our order.
fn reordered(printed: &str) -> String {
    let flat = printed.replace("\\n", " ").replace("\\\"", "\"");
    let field = |name: &str| {
        let rest = flat.split(&format!("{name} |-> ")).nth(1).unwrap_or_else(|| panic!("no {name} in {flat}"));
        let end = if rest.starts_with("<<") { rest.find(">>").map(|at| at + 2) } else { rest.find([',', ' ']) };
        rest[..end.expect("the field has an end")].to_owned()
    };
    let fields = ["stage", "mode", "back", "content", "passed", "attempts", "truth", "counted"];
    format!("[{}]", fields.map(|name| format!("{name} |-> {}", field(name))).join(", "))
}

/// Every step that the real law takes from here.
fn steps(law: &Law, at: &At) -> Vec<(Move, At)> {
    let mut moves = Vec::new();
    law.actions(at, &mut moves);
    moves.into_iter().filter_map(|one| law.next_state(at, one).map(|next| (one, next))).collect()
}

/// Whether it leads on: most steps of a way are such, or no way would get far. On some ways FAILs are.
fn leads_on(one: Move, fails: bool) -> bool {
    match one {
        Move::Step(action, _) => {
            action != Action::DropSession && (fails || !matches!(verdict(action), Some((_, false))))
        }
        Move::Settle { .. } | Move::Begin | Move::Renew(_) => true,
        _ => false,
    }
}

/// States all over the law, from random ways: one of each kind.
fn met(law: &Law) -> Vec<At> {
    let mut random = SEED;
    let mut pick = |of: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % of as u64).expect("small")
    };
    let mut met = Vec::new();
    let mut kinds = HashSet::new();
    for way in 0..WAYS {
        let starts = law.init_states();
        let mut at = starts[way % starts.len()].clone();
        for _ in 0..LENGTH {
            let mut moves = Vec::new();
            law.actions(&at, &mut moves);
            if pick(6) > 0 {
                moves.retain(|one| leads_on(*one, way % 3 == 0));
            }
            // The first of them, in random order, that leads somewhere.
            let next = std::iter::from_fn(|| (!moves.is_empty()).then(|| moves.swap_remove(pick(moves.len()))))
                .find_map(|one| law.next_state(&at, one).filter(|next| *next != at));
            let Some(next) = next else { continue };
            at = next;
            let spent = Phase::ALL.into_iter().any(|phase| at.attempts[phase as usize] >= limit(phase));
            if kinds.insert((at.stage, at.return_to, at.first_open(), at.mode, spent)) {
                met.push(at.clone());
            }
        }
    }
    met
}

/// The exported module, with these states to begin with, and one step from each of them.
fn one_step(folder: &Path, from: &[At]) -> PathBuf {
    let files = Exported::of(FlowName::Pipeline).files(Format::Tla);
    let module = files.iter().find(|file| file.name == "PhasegatePipelineLaw.tla").expect("the law's module");
    let once = |text: String, old: &str, new: &str| {
        assert_eq!(text.matches(old).count(), 1, "{old:?} is not there once");
        text.replace(old, new)
    };
    let text = once(module.text.clone(), "EXTENDS Naturals,", "EXTENDS TLC, Naturals,");
    let text = once(text, "Taken(a) == ", "Taken(a) == IF TLCGet(\"level\") > 1 THEN {} ELSE ");
    let mut met = String::from("Begun == {\n");
    for (at, one) in from.iter().enumerate() {
        let _ = writeln!(met, "    {}{}", record(one), if at + 1 < from.len() { "," } else { "" });
    }
    let text = once(text, "\nNext == ", &format!("\n{met}}}\nInitBegun == change \\in Begun\nNext == "));
    let text = text.replace("== /\\ Guarded", "== /\\ Guarded /\\ TLCGet(\"level\") = 1");
    std::fs::write(folder.join(&module.name), text).unwrap();
    let constants =
        crate::flow::export::constants(&EVERYTHING).replace("SPECIFICATION Spec", "INIT InitBegun\nNEXT Next");
    std::fs::write(folder.join("everything.cfg"), constants).unwrap();
    folder.join(&module.name)
}

/// The steps that TLC took: its graph has a line for each state, and one for each step, with the step's name.
fn walked(folder: &Path, module: &Path) -> BTreeSet<Edge> {
    let jar = std::env::var_os("PHASEGATE_TLA2TOOLS").unwrap_or_else(|| {
        panic!("PHASEGATE_TLA2TOOLS is not set: run the tests through tests/run.sh, which fetches TLC")
    });
    let said = Command::new("java")
        .current_dir(folder)
        // TLC puts its own modules there: where it is shared, two of them write the same file.
        .arg(format!("-Djava.io.tmpdir={}", folder.display()))
        .args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-cp"])
        .arg(jar)
        .args(["tlc2.TLC", "-deadlock", "-workers", "1", "-dump", "dot,actionlabels", "walked.dot"])
        .args(["-config", "everything.cfg"])
        .arg(module)
        .output()
        .expect("java starts");
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(said.contains("No error has been found"), "{said}");
    let graph = std::fs::read_to_string(folder.join("walked.dot")).unwrap();
    let mut states: HashMap<&str, String> = HashMap::new();
    let mut taken: Vec<(&str, &str, &str)> = Vec::new();
    for line in graph.lines() {
        let Some((head, label)) = line.split_once(" [label=\"") else { continue };
        match head.split_once(" -> ") {
            Some((from, to)) => taken.push((label.split('"').next().unwrap_or_default(), from, to)),
            None if label.starts_with("change = ") => {
                states.insert(head, reordered(label));
            }
            None => {}
        }
    }
    taken.into_iter().map(|(name, from, to)| (name.to_owned(), states[from].clone(), states[to].clone())).collect()
}

#[test]
fn every_step_is_the_same_in_tla() {
    let law = Law::new(EVERYTHING);
    let met = met(&law);
    let mut ours = BTreeSet::new();
    let (mut names, mut stages) = (BTreeSet::new(), BTreeSet::new());
    for at in &met {
        stages.insert(at.stage);
        for (one, next) in steps(&law, at) {
            assert_eq!(next.broken, 0, "{one:?} from {at:?}");
            names.insert(name(one));
            ours.insert((name(one).to_owned(), record(at), record(&next)));
        }
    }
    // What was never tried was not compared.
    assert_eq!(stages.len(), Stage::ALL.len(), "only {stages:?}");
    let rare: Vec<_> = Action::ALL.iter().filter(|action| !names.contains(action.as_str())).collect();
    // Nothing pauses before VERIFY: reconcile leads there by itself.
    assert_eq!(rare, [&Action::ResumeToVerify], "never taken");
    assert_eq!(names.len(), Action::ALL.len() - 1 + 14, "{names:?}");

    assert!(met.len() > 800, "only {} states", met.len());
    let folder = tempfile::tempdir().unwrap();
    let module = one_step(folder.path(), &met);
    let theirs = walked(folder.path(), &module);
    let differ = |from: &BTreeSet<Edge>, of: &BTreeSet<Edge>| {
        of.difference(from).take(3).map(|edge| format!("{edge:#?}")).collect::<Vec<_>>().join("\n")
    };
    assert!(
        ours == theirs,
        "seed {SEED:#x}\nonly in Rust: {}\nonly in TLA+: {}",
        differ(&theirs, &ours),
        differ(&ours, &theirs)
    );
}
