//! The exported tables, read by the tools that they are written for.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::{ask, oracle, phasegate};

/// States, edges and what can be reached, counted by ourselves.
struct Table {
    states: usize,
    edges: Vec<(String, String)>,
    initial: String,
}

fn table(flow: &str) -> Table {
    let json: Value = serde_json::from_str(&phasegate(&["flow", "export", flow, "--format", "json"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let edges = json["transitions"].as_array().unwrap();
    Table {
        states: json["states"].as_array().unwrap().len(),
        edges: edges.iter().map(|edge| (text(&edge["from"]), text(&edge["to"]))).collect(),
        initial: text(&json["initial"]),
    }
}

impl Table {
    fn reachable(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::from([self.initial.as_str()]);
        loop {
            let more: Vec<&str> = self
                .edges
                .iter()
                .filter(|(from, _)| found.contains(from.as_str()))
                .map(|(_, to)| to.as_str())
                .collect();
            let before = found.len();
            found.extend(more);
            if found.len() == before {
                return found;
            }
        }
    }
}

/// TLC, the model checker of TLA+, parses the module, finds every state in `Stages`, and walks exactly the table: each
/// reachable state once, and one step for each transition out of one.
#[test]
fn the_model_checker_walks_the_whole_table() {
    let jar = oracle("PHASEGATE_TLA2TOOLS");
    for (flow, module) in [("pipeline", "PhasegatePipeline"), ("merge", "PhasegateMerge")] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join(format!("{module}.tla")),
            phasegate(&["flow", "export", flow, "--format", "tla"]),
        )
        .unwrap();
        std::fs::write(dir.path().join(format!("{module}.cfg")), "SPECIFICATION Spec\nINVARIANT TypeOK\n").unwrap();
        // Ends (`Complete`, `merged`) are no deadlocks: -deadlock says not to look for those.
        let said = ask(
            Command::new("java")
                .current_dir(dir.path())
                .args(["-XX:+UseSerialGC", "-Xmx256m", "-cp"])
                .arg(&jar)
                .args(["tlc2.TLC", "-deadlock", "-workers", "1", "-config"])
                .arg(format!("{module}.cfg"))
                .arg(format!("{module}.tla")),
            "",
        );
        assert!(said.contains("No error has been found"), "{said}");
        let table = table(flow);
        let reachable = table.reachable();
        let steps = table.edges.iter().filter(|(from, _)| reachable.contains(from.as_str())).count();
        let wanted =
            format!("{} states generated, {} distinct states found, 0 states left", steps + 1, reachable.len());
        assert!(said.contains(&wanted), "{flow}: not {wanted:?} in\n{said}");
        assert_eq!(reachable.len(), table.states, "{flow}: a state that nothing leads to");
    }
}

/// Graphviz lays the graph out, with as many nodes and edges as the table has.
#[test]
fn graphviz_draws_every_edge() {
    for flow in ["pipeline", "merge"] {
        let drawn = ask(Command::new("dot").arg("-Tplain"), &phasegate(&["flow", "export", flow, "--format", "dot"]));
        let count = |what: &str| drawn.lines().filter(|line| line.split(' ').next() == Some(what)).count();
        let table = table(flow);
        assert_eq!((count("node"), count("edge")), (table.states, table.edges.len()), "{flow}");
    }
}
