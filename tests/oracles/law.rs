//! The pipeline's law, checked by TLC: what the exploration in Rust proves (`docs/model.md`) is proved once more, by a
//! checker that nobody here wrote, on the module that `phasegate flow export` writes. That both walk the same states is
//! seen here by their numbers, and in `src/flow/pipeline/model/tlc.rs` step by step.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::phasegate;
use super::tlc::{Walked, exported, tlc, way};

const MODULE: &str = "PhasegatePipelineLaw.tla";

fn configuration(exploration: &str) -> String {
    exploration.to_lowercase().replace(' ', "-") + ".cfg"
}

/// Every property holds, in as many states, by as many steps, and as deep as in Rust.
fn walks(exploration: &str) {
    let folder = exported("pipeline");
    let said = tlc(folder.path(), &configuration(exploration), MODULE);
    assert_eq!(Walked::by(&said), Walked::in_rust(exploration), "{exploration}");
}

#[test]
fn tlc_walks_the_law_of_content() {
    walks("content");
}

/// These are small. `tests/tlc.sh` walks the large ones too.
#[test]
fn tlc_walks_stops_rounds_and_fails() {
    for exploration in ["stops", "rounds of one content", "FAILs of EXPAND", "FAILs of RECONCILE"] {
        walks(exploration);
    }
}

/// The properties can fail: the table alone leads to the end around every gate that counts. TLC names each step.
#[test]
fn the_table_without_its_guards_is_unsafe() {
    let folder = exported("pipeline");
    let said = tlc(folder.path(), "unguarded.cfg", MODULE);
    assert!(said.contains("Invariant CompleteIsProven is violated."), "{said}");
    let table: Value = serde_json::from_str(&phasegate(&["flow", "export", "pipeline"])).unwrap();
    let mut at = "PreferencesConfigured";
    let way = way(&said);
    for step in &way {
        let leads = |edge: &&Value| edge["action"] == **step && edge["from"] == at;
        let edge = table["transitions"].as_array().unwrap().iter().find(leads);
        at = edge.unwrap_or_else(|| panic!("{step} from {at} is not in the table: {way:?}"))["to"].as_str().unwrap();
    }
    assert_eq!(at, "PipelineComplete", "{way:?}");
    for proof in ["PassReviewGate", "PassVerifyGate"] {
        assert!(!way.contains(&proof), "{way:?}");
    }
}

/// A guard, what stands in its place when it is taken out, in which exploration that is seen, and by which property.
struct Mutation {
    what: &'static str,
    guard: &'static str,
    instead: &'static str,
    exploration: &'static str,
    property: &'static str,
}

const MUTATIONS: &[Mutation] = &[
    Mutation {
        what: "an agent may take a person's decisions",
        guard: "    /\\ a \\in Doors => by = \"person\"\n",
        instead: "",
        exploration: "stops",
        property: "OnlyPersonUnblocks",
    },
    Mutation {
        what: "an agent may go on from a pause",
        guard: "a \\in Doors => by",
        instead: "a \\in Doors \\ {\"ResumeToDesign\"} => by",
        exploration: "stops",
        property: "OnlyPersonContinues",
    },
    Mutation {
        what: "a gate may be tried for ever",
        guard: "    /\\ a \\in Tries => ~Spent(s, GateOf[s.stage])\n",
        instead: "",
        exploration: "FAILs of EXPAND",
        property: "ThirdFailBlocks",
    },
    Mutation {
        what: "a fact between the third FAIL and its block leads around it",
        guard: "IF g # 0 /\\ Spent(s, g) /\\ s.stage \\notin Closed\n",
        instead: "IF FALSE\n",
        exploration: "FAILs of EXPAND",
        property: "ThirdFailBlocks",
    },
    Mutation {
        what: "recovery may be asked to land anywhere",
        guard: "    /\\ a \\in Recovers => to = WorkOf[EarliestOpen(s)] \\/ \
                (EarliestOpen(s) = Deploy /\\ to = WorkOf[Verify])\n",
        instead: "",
        exploration: "content",
        property: "RecoveryLandsEarly",
    },
    Mutation {
        what: "a FAIL leaves the pass of before on record",
        guard: "[] FailsOf[a] # 0 -> [@ EXCEPT ![FailsOf[a]] = 0]",
        instead: "[] FailsOf[a] # 0 -> @",
        exploration: "stops",
        property: "PassesAreTrue",
    },
    Mutation {
        what: "VERIFY may pass on gates that passed for something else",
        guard: "    /\\ Passes[a] = Verify => \\A g \\in Before(Verify) : Holds(s, g)\n",
        instead: "",
        exploration: "content",
        property: "DeliveryRestsOnProof",
    },
    Mutation {
        what: "a phase may begin on gates that never passed",
        guard: "n \\in {m \\in {Recorded(s, a, to)} : MayBegin(m, a)}",
        instead: "n \\in {Recorded(s, a, to)}",
        exploration: "rounds of one content",
        property: "BeginsOnPasses",
    },
    Mutation {
        what: "a round may be rejected, and with it the change called complete, whatever is there now",
        guard: "    /\\ a \\in Delivered => Proven(s)\n",
        instead: "",
        exploration: "rounds of one content",
        property: "CompleteIsProven",
    },
    Mutation {
        what: "only a person may take up what was dropped",
        guard: "a \\in Doors => by",
        instead: "a \\in Doors \\cup {\"StartContextRecovery\"} => by",
        exploration: "FAILs of EXPAND",
        property: "HonestWork",
    },
    Mutation {
        what: "nobody may take up what was dropped",
        guard: "    /\\ a \\in Doors => by",
        instead: "    /\\ a # \"StartContextRecovery\"\n    /\\ a \\in Doors => by",
        exploration: "FAILs of EXPAND",
        property: "WayOn",
    },
];

/// Each guard is there for something: without it, TLC names the property, and a way there. And each property has one.
#[test]
fn one_guard_less_is_one_property_broken() {
    let folder = exported("pipeline");
    let law = fs::read_to_string(folder.path().join(MODULE)).unwrap();
    for mutation in MUTATIONS {
        let what = mutation.what;
        assert_eq!(law.matches(mutation.guard).count(), 1, "{what}: the guard is not there, or more than once");
        fs::write(folder.path().join(MODULE), law.replace(mutation.guard, mutation.instead)).unwrap();
        let said = tlc(folder.path(), &configuration(mutation.exploration), MODULE);
        let violated = format!("{} is violated.", mutation.property);
        assert!(said.contains(&violated), "{what}: not {violated:?} in\n{said}");
        assert!(way(&said).len() >= 2, "{what}: no way there\n{said}");
    }
    let shown: BTreeSet<&str> = MUTATIONS.iter().map(|mutation| mutation.property).collect();
    assert_eq!(shown, properties(folder.path()).iter().map(String::as_str).collect());
}

/// What a configuration asks TLC to check, but for the types.
fn properties(folder: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(folder.join("content.cfg")).unwrap();
    let (_, checked) = text.split_once("INVARIANTS").unwrap();
    checked.split_whitespace().filter(|word| !["PROPERTIES", "TypeOK"].contains(word)).map(str::to_owned).collect()
}
